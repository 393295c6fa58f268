"""An asynchronous stream for people who do not write `async`: its own loop, in a thread of its own.

A loop of its own also works where one is running already, as in a notebook. Items are handed over some at a
time, because waking another thread costs more than making many an item.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from typing import Generic, TypeVar, cast

Item = TypeVar("Item")

_AHEAD = 64  # lots of items made before somebody takes them
_LOT, _LATEST = 64, 0.02  # items handed over at once, and the seconds that one of them may wait for others
_GLANCE = 0.5  # seconds after which a waiting thread looks up, because not every system lets Ctrl-C wake it


def in_a_thread(make: Callable[[], AsyncGenerator[Item, None]]) -> Iterator[Item]:
    """The items of the stream that `make` makes; leaving early lets the stream end in good order."""
    bridge = _Bridge(make)
    bridge.start()
    try:
        yield from bridge.items()
    finally:
        bridge.stop()
    bridge.raise_what_ended_it()


class _Bridge(Generic[Item]):
    def __init__(self, make: Callable[[], AsyncGenerator[Item, None]]) -> None:
        self._make = make
        self._made: queue.SimpleQueue[list[Item] | None] = queue.SimpleQueue()  # None: no more
        self._lot: list[Item] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="rageval-judging", daemon=True)
        self._ready = threading.Event()
        self._left = False  # by who takes the items

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()

    def items(self) -> Iterator[Item]:
        while (found := self._take()) is not None:
            yield from found

    def stop(self) -> None:
        """Wait for the stream to end, after telling it to if it has not."""
        if self._thread.is_alive() and not self._loop.is_closed():
            self._left = True
            with suppress(RuntimeError):  # it ended by itself in this very moment
                self._loop.call_soon_threadsafe(self._task.cancel)
        while self._thread.is_alive():
            self._thread.join(_GLANCE)

    def raise_what_ended_it(self) -> None:
        if self._error is not None:
            raise self._error

    def _take(self) -> list[Item] | None:
        while True:
            try:
                found = self._made.get(timeout=_GLANCE)
            except queue.Empty:
                continue
            if self._made.qsize() == _AHEAD // 2:
                self._make_more()
            return found

    def _make_more(self) -> None:
        with suppress(RuntimeError):  # the stream is at its end already
            self._loop.call_soon_threadsafe(self._room.set)

    def _run(self) -> None:
        try:
            asyncio.run(self._drive())
        except BaseException as error:
            if not (self._left and isinstance(error, asyncio.CancelledError)):
                self._error = error
        finally:
            self._ready.set()
            self._made.put(None)

    async def _drive(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = cast("asyncio.Task[None]", asyncio.current_task())
        self._room = asyncio.Event()
        self._ready.set()
        stream = self._make()
        try:
            async for item in stream:
                self._lot.append(item)
                if len(self._lot) == 1:
                    self._loop.call_later(_LATEST, self._hand_over)
                if len(self._lot) >= _LOT:
                    self._hand_over()
                if self._made.qsize() >= _AHEAD:
                    await self._wait_for_room()
        finally:
            self._hand_over()
            await stream.aclose()

    def _hand_over(self) -> None:
        if self._lot:
            self._made.put(self._lot)
            self._lot = []

    async def _wait_for_room(self) -> None:
        self._room.clear()
        if self._made.qsize() >= _AHEAD:  # taken in the meantime, nobody would wake this up
            await self._room.wait()
