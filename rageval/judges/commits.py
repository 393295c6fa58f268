"""What many calls want of the store, done in one transaction a round of the event loop.

A reply still counts as stored only when its transaction has ended; but replies that came at the same time
share one, because a transaction costs more than what is written in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from rageval.judges.store import Store

Item = TypeVar("Item")


class Commits:
    """Work on a store, done together; used within one event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[Callable[[], Any], asyncio.Future[Any], bool]] = []

    async def do(self, work: Callable[[], Item], even_if_left: bool = False) -> Item:
        """What the work returns, once it is written; left undone if nobody waits, unless `even_if_left`."""
        if not self._waiting:
            self._loop.call_soon(self._commit)
        future: asyncio.Future[Item] = self._loop.create_future()
        self._waiting.append((work, future, even_if_left))
        return await future

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        wanted = [(work, future) for work, future, always in waiting if always or not future.done()]
        try:
            with self._store.together():
                results = [work() for work, _ in wanted]
        except Exception as error:
            for _, future in wanted:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), result in zip(wanted, results, strict=True):
            if not future.done():
                future.set_result(result)
