"""Engines: each takes units of work and yields their results in order.

There are three: processes of this machine, an executor as in `concurrent.futures`, and a Dask cluster (on
this machine, under SLURM, on Kubernetes, or at any other address).
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import signal
import sys
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

from rageval.errors import MissingPackage, RagevalError, UsageError
from rageval.version import __version__

if TYPE_CHECKING:
    from rageval.typing import Executor


_Shared = TypeVar("_Shared")
_Unit = TypeVar("_Unit")
_Result = TypeVar("_Result")
_NONE, _KILLED, _FORGOTTEN = object(), object(), object()
_KEPT = 2  # parcels that a worker keeps: of this job and the next
PATIENCE = 10  # seconds that a cluster may take to answer
RETURN = 120  # seconds that a lost cluster may take to return with a worker
PAUSE = 0.5  # seconds between two tries to reach it
ROUNDS = 5  # how often units are submitted if the scheduler was restarted and lost them
_work: tuple[Callable[[Any], Any], Sequence[Any]] | None = None


class WorkerDied(RagevalError):
    """A process that was killed or ran out of memory before its unit of work was done."""


class Engine(Protocol):
    """A number of workers, its `width`; `inherits` says whether they see the memory of this process."""

    width: int
    inherits: bool

    def results(
        self, task: Callable[[_Shared, _Unit], _Result], shared: _Shared, units: Sequence[_Unit]
    ) -> Iterator[_Result]:
        """Yield `task(shared, unit)` of every unit; `shared` is sent to each worker as rarely as possible."""


def paired(units: Iterable[_Unit], results: Iterable[_Result]) -> Iterator[tuple[_Unit, _Result]]:
    """Yield each unit with its result; raise `UsageError` if an engine gives more results, or fewer."""
    for unit, result in zip_longest(units, results, fillvalue=_NONE):
        if unit is _NONE or result is _NONE:
            number = "more" if unit is _NONE else "fewer"
            raise UsageError(f"the engine gave {number} results than there are units; expected one of each")
        yield cast("_Unit", unit), cast("_Result", result)


class Forked:
    """Processes of this machine, which inherit everything."""

    inherits = True

    def __init__(self, jobs: int) -> None:
        self.width = jobs

    def results(
        self, task: Callable[[_Shared, _Unit], _Result], shared: _Shared, units: Sequence[_Unit]
    ) -> Iterator[_Result]:
        """Do the units in a pool of processes made for this call."""
        return results_of_forked(partial(task, shared), units, self.width)


@contextmanager
def processes(jobs: int) -> Iterator[Engine]:
    """Yield processes of this machine: forked, or spawned where forking is impossible or unsafe.

    On macOS, system libraries have threads of their own, which do not survive a fork.

    Parameters
    ----------
    jobs
        How many.

    Yields
    ------
    Engine
        The processes, which end with the block.
    """
    import multiprocessing

    if "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin":
        yield Forked(jobs)
        return
    # A terminal sends Ctrl-C to all processes: only the one that started the others acts on it.
    ignoring = (signal.signal, (signal.SIGINT, signal.SIG_IGN))
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), *ignoring) as pool:
        try:
            yield OnExecutor(pool)
        except KeyboardInterrupt:  # the others would work on, and be waited for
            _terminate(pool)
            raise


def _terminate(pool: ProcessPoolExecutor) -> None:
    # Private in concurrent.futures, whose own way to end a pool is to wait for what is under way.
    for process in [*pool._processes.values()]:
        process.terminate()


class OnExecutor:
    """An executor as in `concurrent.futures`: processes, threads, MPI, or a cluster of another package."""

    inherits = False

    def __init__(self, executor: Executor) -> None:
        if not callable(getattr(executor, "submit", None)):
            raise UsageError(f"executor: expected something with submit(), found {executor!r:.80}")
        self._executor = executor
        # Private in concurrent.futures, but the only place that says how many workers there are.
        self.width = int(getattr(executor, "_max_workers", None) or 2)

    def results(
        self, task: Callable[[_Shared, _Unit], _Result], shared: _Shared, units: Sequence[_Unit]
    ) -> Iterator[_Result]:
        """Yield the results in order; each worker unpickles what is shared once."""
        # Pickled once here, not once for each unit, and unpickled once by each worker, which knows it by its
        # digest.
        parcel = _Parcel.of((task, shared))
        futures = [self._executor.submit(_unpacked_and_done, parcel, unit) for unit in units]
        try:
            for unit, future in zip(units, futures, strict=True):
                try:
                    yield future.result()
                except BrokenExecutor as error:
                    raise WorkerDied(_describe_death(str(unit))) from error
        finally:
            for future in futures:
                future.cancel()


@dataclass(frozen=True, slots=True)
class _Parcel:
    """A pickled object and its digest as a unique name."""

    name: bytes
    content: bytes

    @classmethod
    def of(cls, value: Any) -> _Parcel:
        """Return an object, pickled."""
        content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        return cls(hashlib.blake2b(content, digest_size=16).digest(), content)


_unpacked: OrderedDict[bytes, Any] = OrderedDict()


def _unpacked_and_done(parcel: _Parcel, unit: Any) -> Any:
    content = _unpacked.get(parcel.name)
    if content is None:
        content = _unpacked[parcel.name] = pickle.loads(parcel.content)
        # A worker must not keep the judgements of every job that it ever served.
        while len(_unpacked) > _KEPT:
            _unpacked.popitem(last=False)
    task, shared = content
    return task(shared, unit)


def results_of_forked(
    task: Callable[[_Unit], _Result], units: Sequence[_Unit], jobs: int
) -> Iterator[_Result]:
    """Yield the results of the units in their order, from forked processes, which inherit task and units."""
    global _work
    # A global that forked children inherit: nothing is pickled, and memory is shared until somebody writes.
    _work = task, units
    done = 0
    try:
        for result in _pooled(len(units), jobs):
            done += 1
            yield result
    except BrokenExecutor as error:
        raise WorkerDied(_describe_death(str(units[done]))) from error
    finally:
        # Processes that are forked later must not inherit work that is finished.
        _work = None


def _pooled(number: int, jobs: int) -> Iterator[Any]:
    """Yield the results of this number of units from a pool of forked processes."""
    import multiprocessing

    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), _unblock_signals) as pool:
        try:
            # Children get numbers only, and find the units in what they inherited.
            with _block_signals():
                results = pool.map(_run, range(number))
            yield from results
        except KeyboardInterrupt:  # of this process alone: the others would work on, and be waited for
            _terminate(pool)
            raise


@contextmanager
def _block_signals() -> Iterator[None]:
    """Block the signals that end a process: one right after a fork would leave a child that nobody ends."""
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _describe_death(unit: str) -> str:
    """Return the message for a unit whose process died."""
    return (
        f"{unit}: a process that scored this, or a part beside it, was ended from outside (out of memory?);"
        " try again with fewer of them"
    )


def _unblock_signals() -> None:
    """Unblock the signals in a forked process, which inherits that they are blocked."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))


def _run(position: int) -> Any:
    if _work is None:
        raise RuntimeError("the process was started without its work")
    task, units = _work
    return task(units[position])


class OnDask:
    """The workers of a cluster. What is shared is unpacked by one of them and handed on to the others.

    Dask itself repeats the units of a worker that died; where the scheduler was restarted we do, those
    without a result. A unit has one result, however often it was done.
    What is shared is a task, too, and not scattered: data scattered to workers that died are lost, and units
    wait for them without end.
    """

    inherits = False

    def __init__(self, address: str) -> None:
        try:
            from distributed.comm.addressing import parse_address
            from distributed.comm.registry import get_backend
        except ImportError:
            raise MissingPackage("distributed", "--dask", extra="dask") from None
        self._address = address
        try:
            get_backend(parse_address(address)[0])
            self._client = self._connect(PATIENCE)
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(
                f"--dask {address}: no cluster answers there ({error!s:.100}); expected the address that"
                " 'dask scheduler' prints, such as tcp://10.0.0.1:8786"
            ) from error
        try:
            # A task that workers cannot import would kill them.
            def version() -> Any:  # within a function, so that it travels as code and not as a name
                return import_module("rageval.version").__version__

            for worker, theirs in self._client.run(version, on_error="return").items():
                # A worker that went away in between gives an OSError; Dask does without it.
                if not isinstance(theirs, OSError) and theirs != __version__:
                    raise UsageError(
                        f"--dask {self._address}: the worker {worker}: expected rageval {__version__} there"
                        f" as well, found {theirs!s:.100}"
                    )
        except BaseException:
            self._client.close()
            raise
        self.width = max(1, sum(self._client.nthreads().values()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        logging.getLogger("distributed.client").removeFilter(_never)

    def results(
        self, task: Callable[[_Shared, _Unit], _Result], shared: _Shared, units: Sequence[_Unit]
    ) -> Iterator[_Result]:
        """Yield the results in the order of the units."""
        futures = self._submit_units(task, shared, units)
        rounds = 1
        for position, unit in enumerate(units):
            outcome = _outcome(futures[position])
            if outcome is _KILLED:  # or it only stood in line behind the unit that kills
                # Wait for the others, then try this unit alone: if it kills again, it was the one.
                for future in futures:
                    with suppress(*_cancelled()):
                        future.exception()
                futures[position : position + 1] = self._submit_units(task, shared, [unit])
                outcome = _outcome(futures[position])
            while outcome is _FORGOTTEN and rounds < ROUNDS:
                rounds += 1
                self._await_return(unit)
                # Results before this one were taken already, so nothing is done twice that has a result.
                futures[position:] = self._submit_units(task, shared, units[position:])
                outcome = _outcome(futures[position])
            if outcome is _KILLED or outcome is _FORGOTTEN:
                raise WorkerDied(_describe_death(str(unit)))
            yield outcome

    def _connect(self, seconds: float) -> Any:
        from distributed import Client

        return Client(self._address, timeout=seconds, set_as_default=False)

    def _await_return(self, unit: Any) -> None:
        """Wait until the cluster answers again and has a worker; what it still knows of us is forgotten."""
        # It logs tracebacks of a client that is closed while it looks for its scheduler.
        logging.getLogger("distributed.client").addFilter(_never)
        end = time.monotonic() + RETURN
        while (left := end - time.monotonic()) > 0:
            with suppress(OSError):  # one that lost its scheduler may not close in time
                self._client.close(timeout=PAUSE)
            try:
                self._client = self._connect(min(left, PATIENCE))
                self._client.wait_for_workers(1, timeout=max(PAUSE, end - time.monotonic()))
            except OSError:  # what distributed calls a timeout is one, too
                time.sleep(PAUSE)
            else:
                return
        raise WorkerDied(
            f"{unit}: the cluster at {self._address} was lost before this was done and did not"
            f" return within {RETURN:,} s; restart it, then run this command again"
        )

    def _submit_units(self, task: Callable[..., Any], shared: Any, units: Sequence[Any]) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is shared may be large
            # A task whose result is the shared object: Dask repeats it if the worker that holds it dies.
            share = self._client.submit(pickle.loads, pickle.dumps(shared), pure=False)
        return [self._client.submit(task, share, unit, pure=False) for unit in units]


def _never(_: logging.LogRecord) -> bool:
    return False


def _cancelled() -> tuple[type[BaseException], ...]:
    """Return the errors of a task that was canceled, which have two unrelated types."""
    from asyncio import CancelledError as Asynchronous

    return CancelledError, Asynchronous


def _outcome(future: Any) -> Any:
    """Return the result of a unit, or why there is none."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        return future.result()
    except KilledWorker:
        return _KILLED
    except (*_cancelled(), CommClosedError):  # the scheduler was lost before it had handed the result over
        return _FORGOTTEN
