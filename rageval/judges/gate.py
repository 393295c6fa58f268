"""The gate every call goes through: how many at a time, and when nobody may go.

It narrows when a server complains and widens slowly when it does not. When one call is told to wait all wait,
and then a single one goes ahead to see. A failure that says nothing of the others concerns its own call only,
until several came in a row.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque

LONGEST_PAUSE = 120.0  # seconds; a server that asks for more is asked again anyway
FIRST_PAUSE = 1.0  # seconds
_TOLERATED = 4  # failures in a row, unless a server asks for a pause
_SLACK = 0.01  # seconds by which a timer may be early


def backoff(attempt: int, first: float = FIRST_PAUSE, longest: float = 60.0) -> float:
    """Seconds to wait after so many failures in a row: doubling, and each a little different."""
    return min(longest, first * 2.0 ** min(attempt - 1, 30)) * random.uniform(0.75, 1.25)


def sane(seconds: float | None, longest: float = LONGEST_PAUSE) -> float | None:
    """What a server may ask for as a pause; None for what cannot be meant.

    >>> sane(3.0), sane(1e9), sane(-1.0), sane(float("nan"))
    (3.0, 120.0, None, None)
    """
    if seconds is None or math.isnan(seconds) or seconds < 0:
        return None
    return min(seconds, longest)


class Gate:
    """At most `most` calls at a time, fewer after complaints; made and used within one event loop."""

    def __init__(
        self, most: int, first_pause: float = FIRST_PAUSE, longest_pause: float = LONGEST_PAUSE
    ) -> None:
        self._most = self._width = float(most)
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._inside = 0
        self._failures = 0  # in a row, of whatever calls
        self.rounds = 0  # pauses in a row after which the call that went ahead failed, too
        self._is_probing = False
        self._opens = self._narrowed = self._paused = -math.inf

    @property
    def width(self) -> int:
        """How many calls may be under way now."""
        return 1 if self._is_probing else int(self._width)

    async def __aenter__(self) -> float:
        """Wait for one's turn; when the call begins."""
        if self._waiting or not self._has_room():
            await self._turn()
        else:
            self._inside += 1
        return self._loop.time()

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def went_well(self, begun: float) -> None:
        """A call that began then was answered: it may become a little wider."""
        self._failures = 0
        if begun >= self._paused:
            self._is_probing = False
            self.rounds = 0
            self._width = min(self._most, self._width + 1 / self._width)
            self._let_in()

    def complained(self, begun: float, pause: float | None, throttled: bool) -> None:
        """A call that began then was sent away: half as wide, once for all that began before, and a pause."""
        wanted = sane(pause, self._longest_pause)
        self._failures += 1
        if not throttled and not wanted and self._failures <= _TOLERATED and not self._is_probing:
            return
        now = self._loop.time()
        if throttled and begun >= self._narrowed:
            self._width = max(1.0, self._width / 2)
            self._narrowed = now
        if begun >= self._paused:
            self.rounds += 1
            self._paused = now
        if not wanted:  # no word of when, or "at once" from a server that has just refused
            wanted = backoff(self.rounds, self._first_pause, self._longest_pause)
        self._close_for(wanted * random.uniform(1.0, 1.1))

    def _close_for(self, seconds: float) -> None:
        self._is_probing = True
        self._opens = max(self._opens, self._loop.time() + seconds)
        self._loop.call_at(self._opens, self._let_in)

    def _has_room(self) -> bool:
        return self._inside < self.width and not self.is_closed

    @property
    def is_closed(self) -> bool:
        """Whether nobody may go; also who is inside should look again before the call."""
        return self._loop.time() + _SLACK < self._opens

    async def _turn(self) -> None:
        turn = self._loop.create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # let in and cancelled at the same moment
                self._leave()
            raise

    def _leave(self) -> None:
        self._inside -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._has_room():
            turn = self._waiting.popleft()
            if not turn.done():
                self._inside += 1
                turn.set_result(None)
