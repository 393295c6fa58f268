"""Units of work on a Dask cluster: on this machine, under SLURM, on Kubernetes; whatever has an address."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import pickle
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Self, TypeVar

from rageval.clusters import asking_for_rageval, connecting, require_rageval
from rageval.errors import UsageError
from rageval.parallel.forking import WorkerDied, died

Unit = TypeVar("Unit")
Result = TypeVar("Result")
PATIENCE = 10  # seconds that a cluster may take to answer
RETURN = 120  # seconds that one that was lost may take to come back, with a worker
PAUSE = 0.5  # seconds between two tries to reach it
ROUNDS = 5  # how often units are sent out if the scheduler forgets them: it was restarted
_LOG = logging.getLogger("distributed.client")
_CANCELLED = (concurrent.futures.CancelledError, asyncio.CancelledError)
_KILLED, _FORGOTTEN = object(), object()


class OnDask:
    """The workers of a cluster. What is shared is unpacked by one of them and handed on to the others.

    Dask itself repeats the units of a worker that died; where the scheduler was restarted we do, those
    without a result. A unit has one result, however often it was done.
    What is shared is a task, too, and not scattered: data scattered to workers that died are lost, and units
    wait for them without end.
    """

    inherits = False

    def __init__(self, address: str) -> None:
        self._address = address
        with connecting(address):
            self._client = self._connected(PATIENCE)
        try:
            self._require_rageval()
        except BaseException:
            self._client.close()
            raise
        self.width = max(1, sum(self._client.nthreads().values()))

    def _require_rageval(self) -> None:
        for worker, found in self._client.run(asking_for_rageval(), on_error="return").items():
            try:
                require_rageval(found)
            except UsageError as error:
                raise UsageError(f"--dask {self._address}: the worker {worker}: {error}") from None
            except OSError:  # it went away; Dask does without it
                continue

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        _LOG.removeFilter(_unsaid)

    def results(
        self, task: Callable[[Any, Unit], Result], shared: Any, units: Sequence[Unit]
    ) -> Iterator[Result]:
        """The results in the order of the units."""
        futures = self._sent(task, shared, units)
        rounds = 1
        for at, unit in enumerate(units):
            found = _outcome(futures[at])
            if found is _KILLED:  # or it only stood in line behind the unit that kills
                _settled(futures)
                futures[at : at + 1] = self._sent(task, shared, [unit])
                found = _outcome(futures[at])
            while found is _FORGOTTEN and rounds < ROUNDS:
                rounds += 1
                self._return(unit)
                futures[at:] = self._sent(task, shared, units[at:])
                found = _outcome(futures[at])
            if found is _KILLED or found is _FORGOTTEN:
                raise WorkerDied(died(str(unit)))
            yield found

    def _connected(self, seconds: float) -> Any:
        from distributed import Client

        return Client(self._address, timeout=seconds, set_as_default=False)

    def _return(self, unit: Any) -> None:
        """Wait until the cluster answers again and has a worker; what it still knows of us is forgotten."""
        _LOG.addFilter(_unsaid)  # tracebacks of a client that is closed while it looks for its scheduler
        end = time.monotonic() + RETURN
        while (left := end - time.monotonic()) > 0:
            self._client.close(timeout=PAUSE)
            try:
                self._client = self._connected(min(left, PATIENCE))
                self._client.wait_for_workers(1, timeout=max(PAUSE, end - time.monotonic()))
            except OSError:  # what distributed calls a timeout is one, too
                time.sleep(PAUSE)
            else:
                return
        raise WorkerDied(
            f"{unit}: the cluster at {self._address} was lost before this was done, and was not back with a"
            f" worker within {RETURN:,} s; start it, and then this command, again"
        )

    def _sent(self, task: Callable[..., Any], shared: Any, units: Sequence[Any]) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is shared may be large
            share = self._client.submit(pickle.loads, pickle.dumps(shared), pure=False)
        return [self._client.submit(task, share, unit, pure=False) for unit in units]


def _unsaid(_: logging.LogRecord) -> bool:
    return False


def _outcome(future: Any) -> Any:
    """The result of a unit, or why there is none."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        return future.result()
    except KilledWorker:
        return _KILLED
    except (*_CANCELLED, CommClosedError):  # the scheduler was lost before or while it handed the result over
        return _FORGOTTEN


def _settled(futures: list[Any]) -> None:
    """Wait until nothing is under way."""
    for future in futures:
        with suppress(*_CANCELLED):
            future.exception()
