"""Where units of work are done: an engine takes units and gives their results, in their order.

There are three: processes of this machine, any executor of `concurrent.futures`' kind, and a Dask cluster (on
this machine, under SLURM, on Kubernetes; whatever has an address).
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
_KEPT = 2  # things sent that a worker remembers: what it works on, and what it is about to
PATIENCE = 10  # seconds that a cluster may take to answer
RETURN = 120  # seconds that one that was lost may take to come back, with a worker
PAUSE = 0.5  # seconds between two tries to reach it
ROUNDS = 5  # how often units are sent out if the scheduler forgets them: it was restarted
_work: tuple[Callable[[Any], Any], Sequence[Any]] | None = None


class WorkerDied(RagevalError):
    """A process ended before its unit of work did: killed, or out of memory."""


class Engine(Protocol):
    """Workers, `width` of them; `inherits` says whether they see the memory of this process."""

    width: int
    inherits: bool

    def results(
        self, task: Callable[[_Shared, _Unit], _Result], shared: _Shared, units: Sequence[_Unit]
    ) -> Iterator[_Result]:
        """Yield `task(shared, unit)` of every unit; `shared` reaches each worker as seldom as can be."""


def paired(units: Iterable[_Unit], results: Iterable[_Result]) -> Iterator[tuple[_Unit, _Result]]:
    """Yield each unit and its result, of which there has to be one, whatever an engine of somebody's does."""
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
        return each_in_a_process(partial(task, shared), units, self.width)


@contextmanager
def processes(jobs: int) -> Iterator[Engine]:
    """Yield processes of this machine: forked, or begun afresh where that cannot be done, or is not safe.

    On a Mac the system's libraries have threads of their own, which a fork would leave half way.

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
    # A terminal sends Ctrl-C to all processes: it is left to the one that began the others.
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
    """Any executor of `concurrent.futures`' kind: processes, threads, MPI, or somebody else's cluster."""

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
        """Pack what is shared with each unit; a worker unpacks it once."""
        # Packed once here, not once for each unit; and unpacked once by each worker, which knows it by its
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
    """Something packed for the way, and a name that it has alone."""

    name: bytes
    content: bytes

    @classmethod
    def of(cls, thing: Any) -> _Parcel:
        """Return the thing, packed."""
        content = pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)
        return cls(hashlib.blake2b(content, digest_size=16).digest(), content)


_unpacked: OrderedDict[bytes, Any] = OrderedDict()


def _unpacked_and_done(parcel: _Parcel, unit: Any) -> Any:
    content = _unpacked.get(parcel.name)
    if content is None:
        content = _unpacked[parcel.name] = pickle.loads(parcel.content)
        # The oldest goes: a worker must not keep the judgements of every job that it ever served.
        while len(_unpacked) > _KEPT:
            _unpacked.popitem(last=False)
    task, shared = content
    return task(shared, unit)


def each_in_a_process(
    task: Callable[[_Unit], _Result], items: Sequence[_Unit], jobs: int
) -> Iterator[_Result]:
    """Yield the results in the order of the items. Forked processes inherit the task and the items."""
    import multiprocessing

    global _work
    # A global that forked children inherit: nothing is pickled, and memory is shared until somebody writes.
    _work = task, items
    done = 0
    try:
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), _signals_now) as pool:
            try:
                # Children get numbers only, and find the items in what they inherited.
                with _signals_later():
                    results = pool.map(_run, range(len(items)))
                for result in results:
                    done += 1
                    yield result
            except KeyboardInterrupt:  # of this process alone: the others would work on, and be waited for
                _terminate(pool)
                raise
    except BrokenExecutor as error:
        raise WorkerDied(_describe_death(str(items[done]))) from error
    finally:
        # Whatever is forked later is not to inherit what is done with.
        _work = None


@contextmanager
def _signals_later() -> Iterator[None]:
    """Within, let signals wait: one between a fork and its being noted would leave a process nobody ends."""
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _describe_death(unit: str) -> str:
    """Return what to say when nobody is left who could."""
    return (
        f"{unit}: a process that scored this, or a part beside it, was ended from outside (out of memory?);"
        " try again with fewer of them"
    )


def _signals_now() -> None:
    """Take signals in a process that was forked while they waited, which it inherits."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))


def _run(position: int) -> Any:
    if _work is None:
        raise RuntimeError("the process was started without its work")
    task, items = _work
    return task(items[position])


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
