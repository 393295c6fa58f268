"""Several runs at a time, each in a process of its own; the judgements are shared, not copied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from rageval.errors import UsageError

Item = TypeVar("Item")
Result = TypeVar("Result")

_work: tuple[Callable[[Any], Any], list[Any]] | None = None


def each_in_a_process(task: Callable[[Item], Result], items: Iterable[Item], jobs: int) -> Iterator[Result]:
    """The results in the order of the items. Forked processes inherit the task and the items."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    global _work
    if "fork" not in multiprocessing.get_all_start_methods():
        raise UsageError("--jobs needs an operating system that can fork; leave it out")
    _work = task, list(items)
    try:
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
            yield from pool.map(_run, range(len(_work[1])))
    finally:
        _work = None


def _run(at: int) -> Any:
    if _work is None:
        raise RuntimeError("the process was started without its work")
    task, items = _work
    return task(items[at])
