"""What asking live and asking in batches have in common.

How long to go on, how far a job is, the gate that every call goes through, and the thread in which all of it
happens: an asynchronous stream for people who do not write `async`.
"""

from __future__ import annotations

import asyncio
import math
import queue
import random
import shutil
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TextIO, TypeVar, cast

from rageval.errors import OutputError, StoreLost, UsageError
from rageval.judges._database import BEAT, refuse_credentials
from rageval.judges.base import OK, Model, Reply, Request
from rageval.judges.spending import Budget
from rageval.judges.store import Store
from rageval.text import visible

Shard = tuple[int, int]  # this share, counted from 0, of so many
# Told of each reply as it comes, and whether it was in the store before; True: ask nothing more.
Hear = Callable[[int, Reply, bool], bool]
_LONGEST_PAUSE = 120.0  # seconds; a server that asks for more is asked again anyway
_FIRST_PAUSE = 1.0  # seconds
_TOLERATED = 4  # failures in a row, unless a server asks for a pause
_SLACK = 0.01  # seconds by which a timer may be early
_ON_TERMINAL, _ELSEWHERE = 0.2, 30.0  # seconds between two lines
_Item = TypeVar("_Item")

_AHEAD = 64  # lots of items made before somebody takes them
_LOT, _LATEST = 64, 0.02  # items handed over at once, and the seconds that one of them may wait for others
_GLANCE = 0.5  # seconds after which a waiting thread looks up, because not every system lets Ctrl-C wake it


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to go on asking.

    A request is given up, with the status `error`, after so many `tries` or `total` seconds; being throttled
    is no try, and neither is a server that is away. A model that has answered once is given up after `away`
    seconds without an answer; one that has never answered, as soon as nobody is there.
    """

    tries: int = 6
    deadline: float = 300.0  # seconds for one try, whatever the model itself allows
    total: float = 1800.0
    away: float = 240.0
    first_pause: float = _FIRST_PAUSE
    longest_pause: float = _LONGEST_PAUSE


USUAL = Patience()
GRACE = 2.0  # seconds that calls under way may take to come back once the job is to end
_TIDYING = 10.0  # seconds that may be spent on closing connections


def check(model: Model, budget: Budget, shard: Shard | None) -> None:
    """Refuse what would only fail after a call that was paid for."""
    refuse_credentials(model.endpoint)
    budget.check_prices(model.name)
    if shard is not None and not 0 <= shard[0] < shard[1]:
        raise UsageError(f"shard={shard!r}: expected a share, counted from 0, and the number of shares")


def shared(
    requests: Iterable[tuple[int, Request]], model: Model, shard: Shard | None
) -> Iterator[tuple[int, str, Request]]:
    """Yield number, key and request of what is in this share: keys are random, so shares are about equal."""
    for number, request in requests:
        key = request.key(model.name, model.endpoint)
        if shard is None or int(key[:16], 16) % shard[1] == shard[0]:
            yield number, key, request


async def close(model: Model) -> None:
    """Leave no connection behind; one that cannot be closed in time holds nobody up."""
    if hasattr(model, "aclose"):
        with suppress(TimeoutError):
            async with asyncio.timeout(_TIDYING):
                await model.aclose()


async def keep_beating(store: Store, show: Callable[[], None]) -> None:
    """Show other processes that this one is alive, and people how far it is, until cancelled.

    `StoreLost` if there is no store any more.
    """
    while True:
        await asyncio.sleep(BEAT / 2)
        show()
        try:
            store.beat()
        except StoreLost:
            raise
        except OutputError:
            pass  # whoever needs the store for more will say so


def backoff(attempt: int, first: float = _FIRST_PAUSE, longest: float = 60.0) -> float:
    """Return the seconds to wait after so many failures in a row: doubling, and each a little different."""
    return min(longest, first * 2.0 ** min(attempt - 1, 30)) * random.uniform(0.75, 1.25)


def sane(seconds: float | None, longest: float = _LONGEST_PAUSE) -> float | None:
    """Return what a server may ask for as a pause; None for what cannot be meant.

    >>> sane(3.0), sane(1e9), sane(-1.0), sane(float("nan"))
    (3.0, 120.0, None, None)
    """
    if seconds is None or math.isnan(seconds) or seconds < 0:
        return None
    return min(seconds, longest)


def hear_nothing(number: int, reply: Reply, was_stored: bool) -> bool:
    """Go on, whatever the replies are."""
    return False


class CallGate:
    """At most `most` calls at a time, fewer after complaints; made and used within one event loop."""

    def __init__(
        self, most: int, first_pause: float = _FIRST_PAUSE, longest_pause: float = _LONGEST_PAUSE
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
        """Become a little wider, as a call that began then was answered."""
        self._failures = 0
        if begun >= self._paused:
            self._is_probing = False
            self.rounds = 0
            self._width = min(self._most, self._width + 1 / self._width)
            self._let_in()

    def complained(self, begun: float, pause: float | None, throttled: bool) -> None:
        """Become half as wide, once for all calls that began before then, and pause: one was sent away."""
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


@dataclass(slots=True)
class JobTally:
    """What a job has come to so far."""

    total: int | None = None
    stored: int = 0  # replies that were there already
    answered: int = 0  # requests that were asked, and are settled
    failed: Counter[str] = field(default_factory=Counter)  # of these, what holds no verdict, by status
    calls: int = 0
    spent: float = 0.0
    unpriced: int = 0
    troubles: Counter[str] = field(default_factory=Counter)  # tries that failed, by kind
    guessed: int = 0  # calls whose usage is not known, taken to be the most it can be

    @property
    def done(self) -> int:
        """Requests that are settled."""
        return self.stored + self.answered

    @property
    def share(self) -> str:
        """So many of so many."""
        return f"{self.done:,}/{self.total:,}" if self.total else f"{self.done:,}/?"


class JobProgress:
    """Shows a tally on stderr, unless `quiet`; `total` is for jobs that cannot say how much there is."""

    def __init__(
        self,
        total: int | None = None,
        quiet: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total = total
        self._quiet = quiet
        self._stream = stream or sys.stderr
        self._clock = clock
        self._moves = not quiet and self._stream.isatty()
        self._begun = self._shown = clock()
        self._wrote, self._width = False, 0

    def update(self, tally: JobTally) -> None:
        """Show how far it is, if it is time to."""
        now = self._clock()
        if not self._quiet and now - self._shown >= (_ON_TERMINAL if self._moves else _ELSEWHERE):
            self._shown = now
            self._write(line(tally, now - self._begun), moving=self._moves)

    def close(self, tally: JobTally) -> None:
        """Show how far it came, if anything was asked or shown."""
        if not self._quiet and (tally.calls or self._wrote):
            self._write(line(tally, self._clock() - self._begun), moving=False)

    def say(self, message: str) -> None:
        """Write a line by itself."""
        if not self._quiet:
            self._write(message, moving=False)

    def _write(self, text: str, moving: bool) -> None:
        self._wrote = True
        text = text[: shutil.get_terminal_size().columns - 1] if moving else text
        # With blanks: not every terminal of Windows obeys what would clear the line.
        before = f"\r{'':{self._width}}\r" if self._moves else ""
        self._width = len(text) if moving else 0
        try:
            self._stream.write(f"{before}{text}{'' if moving else chr(10)}")
            self._stream.flush()
        except (OSError, ValueError):  # nobody is reading any more; the job goes on
            self._quiet = True


def line(tally: JobTally, seconds: float) -> str:
    """Write the tally as a line.

    >>> line(JobTally(total=1000, stored=100, answered=300, calls=310, spent=0.5), 60.0)
    '400/1,000 answered, 100 from the store, 5.0/s, $0.50, 2:00 left'
    """
    rate = tally.answered / seconds if seconds > 0 else 0.0
    parts = [f"{tally.share} answered"]
    parts += [f"{tally.stored:,} from the store"] * bool(tally.stored)
    parts += [f"{rate:.1f}/s"] * bool(rate)
    parts += [_money(tally)] * bool(tally.calls)
    parts += [f"without a verdict: {_kinds(tally.failed)}"] * bool(tally.failed)
    parts += [f"tried again: {_kinds(tally.troubles)}"] * bool(tally.troubles)
    if rate and tally.total:
        parts.append(f"{_span(max(0, tally.total - tally.done) / rate)} left")
    return ", ".join(parts)


def _money(tally: JobTally) -> str:
    unpriced = f" and {tally.unpriced:,} calls without a price" if tally.unpriced else ""
    guessed = f" (at most: the usage of {tally.guessed:,} calls is not known)" if tally.guessed else ""
    return f"${tally.spent:,.2f}{guessed}{unpriced}"


def _kinds(troubles: Counter[str]) -> str:
    return ", ".join(f"{count:,} {visible(kind)}" for kind, count in troubles.most_common(3))


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@dataclass(eq=False)
class Job:
    """One go at many requests, within one event loop: what live ones and those in batches share."""

    _model: Model
    _store: Store
    _budget: Budget
    _is_refreshing: bool
    _progress: JobProgress
    _patience: Patience

    def __post_init__(self) -> None:
        self._job = self._budget.job if self._is_refreshing else None
        self._tally = JobTally(self._progress.total)

    def _counted(self, reply: Reply) -> Reply:
        """Return the reply, which settles its request."""
        self._tally.answered += 1
        if reply.status != OK:
            self._tally.failed[reply.status] += 1
        self._show()
        return reply

    def _show(self) -> None:
        self._tally.spent, self._tally.unpriced = self._budget.spent, self._budget.unpriced
        self._tally.guessed = self._budget.guessed
        self._progress.update(self._tally)


def in_a_thread(make: Callable[[], AsyncGenerator[_Item, None]]) -> Iterator[_Item]:
    """Yield the items of the stream that `make` makes; leaving early lets the stream end in good order."""
    bridge = _Bridge(make)
    bridge.start()
    try:
        yield from bridge.items()
    finally:
        bridge.stop()
    bridge.raise_what_ended_it()


class _Bridge(Generic[_Item]):
    def __init__(self, make: Callable[[], AsyncGenerator[_Item, None]]) -> None:
        self._make = make
        self._made: queue.SimpleQueue[list[_Item] | None] = queue.SimpleQueue()  # None: no more
        self._lot: list[_Item] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="rageval-judging", daemon=True)
        self._ready = threading.Event()
        self._left = False  # by who takes the items

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()

    def items(self) -> Iterator[_Item]:
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

    def _take(self) -> list[_Item] | None:
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
