"""Where units of work are done: an engine takes units and gives their results, in their order."""

from __future__ import annotations

import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any, Protocol, TypeVar, cast

from rageval.errors import UsageError
from rageval.parallel.forking import WorkerDied, died, each_in_a_process

Unit = TypeVar("Unit")
Result = TypeVar("Result")
_NONE = object()
_KEPT = 2  # things sent that a worker remembers: what it works on, and what it is about to


class Engine(Protocol):
    """Workers, `width` of them; `inherits` says whether they see the memory of this process."""

    width: int
    inherits: bool

    def results(
        self, task: Callable[[Any, Unit], Result], shared: Any, units: Sequence[Unit]
    ) -> Iterator[Result]:
        """`task(shared, unit)` of every unit; `shared` reaches each worker once, or as seldom as can be."""


def paired(units: Iterable[Unit], results: Iterable[Result]) -> Iterator[tuple[Unit, Result]]:
    """Each unit and its result, of which there has to be one, whatever an engine of somebody's does."""
    for unit, result in zip_longest(units, results, fillvalue=_NONE):
        if unit is _NONE or result is _NONE:
            found = "more" if unit is _NONE else "fewer"
            raise UsageError(f"the engine gave {found} results than there are units; expected one of each")
        yield cast("Unit", unit), cast("Result", result)


class Forked:
    """Processes of this machine, which inherit everything."""

    inherits = True

    def __init__(self, jobs: int) -> None:
        self.width = jobs

    def results(
        self, task: Callable[[Any, Unit], Result], shared: Any, units: Sequence[Unit]
    ) -> Iterator[Result]:
        """In a pool of processes made for this call."""
        return each_in_a_process(partial(task, shared), units, self.width)


class OnExecutor:
    """Any executor of `concurrent.futures`' kind: processes, threads, MPI, or somebody else's cluster."""

    inherits = False

    def __init__(self, executor: Any) -> None:
        if not callable(getattr(executor, "submit", None)):
            raise UsageError(f"executor: expected something with submit(), found {executor!r:.80}")
        self._executor = executor
        self.width = int(getattr(executor, "_max_workers", None) or 2)

    def results(
        self, task: Callable[[Any, Unit], Result], shared: Any, units: Sequence[Unit]
    ) -> Iterator[Result]:
        """What is shared goes with each unit, packed; a worker unpacks it once."""
        from concurrent.futures import BrokenExecutor

        parcel = Parcel.of((task, shared))
        futures = [self._executor.submit(_unpacked_and_done, parcel, unit) for unit in units]
        try:
            for unit, future in zip(units, futures, strict=True):
                try:
                    yield future.result()
                except BrokenExecutor as error:
                    raise WorkerDied(died(str(unit))) from error
        finally:
            for future in futures:
                future.cancel()


@dataclass(frozen=True, slots=True)
class Parcel:
    """Something packed for the way, and a name that it has alone."""

    name: bytes
    content: bytes

    @classmethod
    def of(cls, thing: Any) -> Parcel:
        """The thing, packed."""
        content = pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)
        return cls(hashlib.blake2b(content, digest_size=16).digest(), content)


_unpacked: OrderedDict[bytes, Any] = OrderedDict()


def _unpacked_and_done(parcel: Parcel, unit: Any) -> Any:
    found = _unpacked.get(parcel.name)
    if found is None:
        found = _unpacked[parcel.name] = pickle.loads(parcel.content)
        while len(_unpacked) > _KEPT:
            _unpacked.popitem(last=False)
    task, shared = found
    return task(shared, unit)
