"""Several runs at a time, each in a process of its own; the judgements are shared, not copied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from rageval.errors import UsageError

Item = TypeVar("Item")
Result = TypeVar("Result")

_task: Callable[[Any], Any] | None = None


def each_in_a_process(task: Callable[[Item], Result], items: Iterable[Item], jobs: int) -> Iterator[Result]:
    """The results in the order of the items. The task is inherited by forked processes."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    global _task
    if "fork" not in multiprocessing.get_all_start_methods():
        raise UsageError("--jobs needs an operating system that can fork; leave it out")
    _task = task
    try:
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
            yield from pool.map(_run, items)
    finally:
        _task = None


def _run(item: Any) -> Any:
    if _task is None:
        raise RuntimeError("the process was started without its task")
    return _task(item)
