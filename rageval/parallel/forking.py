"""Items a process of its own each; what they share is inherited, not copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from rageval.errors import RagevalError, UsageError

Item = TypeVar("Item")
Result = TypeVar("Result")

_work: tuple[Callable[[Any], Any], Sequence[Any]] | None = None


class WorkerDied(RagevalError):
    """A process ended before its unit of work did: killed, or out of memory."""


def each_in_a_process(task: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> Iterator[Result]:
    """The results in the order of the items. Forked processes inherit the task and the items."""
    import multiprocessing
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor

    global _work
    if "fork" not in multiprocessing.get_all_start_methods():
        raise UsageError("--jobs needs an operating system that can fork; leave it out")
    _work = task, items
    done = 0
    try:
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
            try:
                for result in pool.map(_run, range(len(items))):
                    done += 1
                    yield result
            except KeyboardInterrupt:  # of this process alone: the others would work on, and be waited for
                for process in [*pool._processes.values()]:
                    process.terminate()
                raise
    except BrokenExecutor as error:
        raise WorkerDied(died(str(items[done]))) from error
    finally:
        _work = None


def died(unit: str) -> str:
    """What to say when nobody is left who could."""
    return (
        f"{unit}: a process that scored this, or a part beside it, was ended from outside (out of memory?);"
        " try again with fewer of them"
    )


def _run(at: int) -> Any:
    if _work is None:
        raise RuntimeError("the process was started without its work")
    task, items = _work
    return task(items[at])
