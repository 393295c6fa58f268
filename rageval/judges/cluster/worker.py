"""One worker as it is seen from where the job was begun: requests go there in lots, outcomes come back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, TypeVar

from rageval.judges.base import Lost, Reply, Request, Transient
from rageval.judges.cluster.asker import Numbered
from rageval.judges.gate import backoff

SILENCE = 60.0  # seconds without a sign of life after which a worker counts as lost
_PARTING = 2.0  # seconds for a last word
Item = TypeVar("Item")


class Worker:
    """A worker that has an `Asker`; made and used within one event loop."""

    def __init__(self, address: str, asker: Any) -> None:
        self.address = address
        self._asker = asker
        self._loop = asyncio.get_running_loop()
        self._asked = 0
        self._waiting: dict[int, tuple[float, asyncio.Future[Reply]]] = {}  # since when, by number
        self._lot: list[tuple[int, Request]] = []
        self._filled = asyncio.Event()
        self._failures = 0  # in a row
        self._rests_until = 0.0

    @property
    def busy_since(self) -> float | None:
        """When the oldest call under way began."""
        return next((since for since, _ in self._waiting.values()), None)

    @property
    def burden(self) -> tuple[bool, int, int]:
        """Who has least is asked next; but one whose calls fail at once would get all, so it has to rest."""
        return self._loop.time() < self._rests_until, len(self._waiting), self._asked

    async def ask(self, request: Request) -> Reply:
        """The reply by way of this worker; raises what the model raises there."""
        number = self._asked = self._asked + 1
        future: asyncio.Future[Reply] = self._loop.create_future()
        self._waiting[number] = self._loop.time(), future
        self._lot.append((number, request))
        self._filled.set()
        try:
            return await future
        finally:
            self._waiting.pop(number, None)

    async def serve(self) -> str:
        """Carry requests there and outcomes back until the worker is gone; why it is."""
        carrying = [asyncio.create_task(self._give()), asyncio.create_task(self._take())]
        try:
            ended, _ = await asyncio.wait(carrying, return_when=asyncio.FIRST_COMPLETED)
            error = ended.pop().exception()
            return f"{error}" or type(error).__name__
        finally:
            for task in carrying:
                task.cancel()
            await asyncio.gather(*carrying, return_exceptions=True)

    def lose(self, why: str) -> None:
        """Let every call under way fail."""
        for _, future in self._waiting.values():
            if not future.done():
                future.set_exception(Lost(why))

    async def dismiss(self) -> None:
        """End its calls, if it still listens."""
        with suppress(Exception):
            async with asyncio.timeout(_PARTING):
                await self._asker.stop()

    async def _give(self) -> None:
        while True:
            await self._filled.wait()
            self._filled.clear()
            lot, self._lot = self._lot, []
            await _heard(self._asker.give(lot))

    async def _take(self) -> None:
        while True:
            came: list[Numbered] = await _heard(self._asker.take())
            for number, outcome in came:
                self._settle(number, outcome)

    def _settle(self, number: int, outcome: Reply | Exception) -> None:
        failed = isinstance(outcome, Transient) and not outcome.throttled
        self._failures = self._failures + 1 if failed else 0
        self._rests_until = self._loop.time() + backoff(self._failures) if failed else 0.0
        _, future = self._waiting.get(number, (0.0, None))
        if future is None or future.done():
            return
        if isinstance(outcome, Reply):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)


async def _heard(answer: Awaitable[Item]) -> Item:
    """The worker's answer; `TimeoutError` if it is silent."""
    async with asyncio.timeout(SILENCE):
        return await answer
