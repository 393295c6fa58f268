"""Asking a model many requests at once, so that every reply is paid for once and none that came is lost.

What the store holds is not asked. Everything else is claimed in the store, so that no other process pays for
it too, fits into the budget, passes the gate, and is stored before anybody sees it. A job that is stopped, by
whatever, goes on where it was when the same requests are asked again.

First stands what asking in batches needs, too: how long to go on, how far a job is, the gate that every call
goes through, and the thread in which all of it happens: an asynchronous stream for people who do not write
`async`.
"""

from __future__ import annotations

import asyncio
import math
import queue
import random
import re
import shutil
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TextIO, TypeVar, cast

from rageval.errors import BudgetReached, JudgeFailed, OutputError, StoreLost, UsageError
from rageval.judges.base import ERROR, OK, Fatal, Lost, Model, Reply, Request, Transient, Unreachable, Usage
from rageval.judges.budget import Budget, Reservation
from rageval.judges.store import BEAT, STORABLE, Store, Unstorable, refuse_credentials
from rageval.text import visible

# Called with the number of a request, its reply, and whether the store had it; True stops asking.
OnReply = Callable[[int, Reply, bool], bool]
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


DEFAULT_PATIENCE = Patience()
GRACE = 2.0  # seconds that calls under way may take to come back once the job is to end
_TIDYING = 10.0  # seconds that may be spent on closing connections


def refuse_unpayable(model: Model, budget: Budget) -> None:
    """Refuse, before any call is paid for, credentials in the address and a budget without prices."""
    refuse_credentials(model.endpoint)
    budget.check_prices(model.name)


def with_keys(requests: Iterable[tuple[int, Request]], model: Model) -> Iterator[tuple[int, str, Request]]:
    """Yield each number, the key of its request, and the request."""
    for number, request in requests:
        yield number, request.key(model.name, model.endpoint), request


async def close(model: Model) -> None:
    """Leave no connection behind; one that cannot be closed in time holds nobody up."""
    if hasattr(model, "aclose"):
        with suppress(TimeoutError):
            async with asyncio.timeout(_TIDYING):
                await model.aclose()


async def keep_beating(store: Store, show: Callable[[], None]) -> None:
    """Show other processes that this one is alive, and people how far it is, until canceled.

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


def never_stop(number: int, reply: Reply, was_stored: bool) -> bool:
    """Return False, so that asking goes on."""
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
            turn = self._loop.create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():  # let in and cancelled at the same moment
                    self._inside -= 1
                    self._let_in()
                raise
        else:
            self._inside += 1
        return self._loop.time()

    async def __aexit__(self, *_: object) -> None:
        self._inside -= 1
        self._let_in()

    def widen(self, start_time: float) -> None:
        """Become a little wider, as a call that began then was answered."""
        self._failures = 0
        if start_time >= self._paused:
            self._is_probing = False
            self.rounds = 0
            self._width = min(self._most, self._width + 1 / self._width)
            self._let_in()

    def narrow(self, start_time: float, pause: float | None, throttled: bool) -> None:
        """Become half as wide, once for all calls that began before then, and pause: one was sent away."""
        delay = sane(pause, self._longest_pause)
        self._failures += 1
        if not throttled and not delay and self._failures <= _TOLERATED and not self._is_probing:
            return
        now = self._loop.time()
        if throttled and start_time >= self._narrowed:
            self._width = max(1.0, self._width / 2)
            self._narrowed = now
        if start_time >= self._paused:
            self.rounds += 1
            self._paused = now
        if not delay:  # no word of when, or "at once" from a server that has just refused
            delay = backoff(self.rounds, self._first_pause, self._longest_pause)
        # Nobody goes until then; one call goes ahead of the others.
        self._is_probing = True
        self._opens = max(self._opens, self._loop.time() + delay * random.uniform(1.0, 1.1))
        self._loop.call_at(self._opens, self._let_in)

    def _has_room(self) -> bool:
        return self._inside < self.width and not self.is_closed

    @property
    def is_closed(self) -> bool:
        """Whether nobody may go; also who is inside should look again before the call."""
        return self._loop.time() + _SLACK < self._opens

    def _let_in(self) -> None:
        while self._waiting and self._has_room():
            turn = self._waiting.popleft()
            if not turn.done():
                self._inside += 1
                turn.set_result(None)


@dataclass(slots=True)
class JobTally:
    """The counts and costs of a job so far."""

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
    """Shows a tally on stderr, unless `quiet`."""

    def __init__(
        self,
        quiet: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quiet = quiet
        self._stream = stream or sys.stderr
        self._clock = clock
        # A notebook's stream is no terminal, and yet writes over a line that begins with a carriage return.
        is_notebook = type(self._stream).__module__.startswith("ipykernel.")
        self._moves = not quiet and (is_notebook or self._stream.isatty())
        self._started = self._shown = clock()
        self._wrote, self._width = False, 0

    def update(self, tally: JobTally) -> None:
        """Show how far it is, if it is time to."""
        now = self._clock()
        if not self._quiet and now - self._shown >= (_ON_TERMINAL if self._moves else _ELSEWHERE):
            self._shown = now
            self._write_line(line(tally, now - self._started), moving=self._moves)

    def close(self, tally: JobTally) -> None:
        """Show how far it came, if anything was asked or shown."""
        if not self._quiet and (tally.calls or self._wrote):
            self._write_line(line(tally, self._clock() - self._started), moving=False)

    def say(self, message: str) -> None:
        """Write a line by itself."""
        if not self._quiet:
            self._write_line(message, moving=False)

    def _write_line(self, text: str, moving: bool) -> None:
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
    if tally.calls:
        unpriced = f" and {tally.unpriced:,} calls without a price" if tally.unpriced else ""
        guessed = f" (at most: the usage of {tally.guessed:,} calls is not known)" if tally.guessed else ""
        parts.append(f"${tally.spent:,.2f}{guessed}{unpriced}")
    for what, troubles in (("without a verdict", tally.failed), ("tried again", tally.troubles)):
        if troubles:
            kinds = (f"{count:,} {visible(kind)}" for kind, count in troubles.most_common(3))
            parts.append(f"{what}: {', '.join(kinds)}")
    if rate and tally.total:
        minutes, rest = divmod(round(max(0, tally.total - tally.done) / rate), 60)
        hours, minutes = divmod(minutes, 60)
        parts.append(f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left")
    return ", ".join(parts)


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
        self._tally = JobTally()

    def _count_reply(self, reply: Reply) -> Reply:
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


def iterate_in_thread(make: Callable[[], AsyncGenerator[_Item, None]]) -> Iterator[_Item]:
    """Yield the items of the stream that `make` returns, which runs in a thread; closing this closes it."""
    bridge = _Bridge(make)
    bridge.start()
    try:
        yield from bridge.items()
    finally:
        bridge.stop()
    bridge.raise_what_ended_it()


class _Bridge(Generic[_Item]):
    """Runs a stream in a thread with a loop of its own, and hands its items over some at a time."""

    def __init__(self, make: Callable[[], AsyncGenerator[_Item, None]]) -> None:
        self._make = make
        self._lots: queue.SimpleQueue[list[_Item] | None] = queue.SimpleQueue()  # None: no more
        self._lot: list[_Item] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="rageval-judging", daemon=True)
        self._ready = threading.Event()
        self._left = False  # by who takes the items

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()

    def items(self) -> Iterator[_Item]:
        while True:
            try:
                lot = self._lots.get(timeout=_GLANCE)
            except queue.Empty:
                continue
            if self._lots.qsize() == _AHEAD // 2:
                with suppress(RuntimeError):  # the stream is at its end already
                    self._loop.call_soon_threadsafe(self._room.set)
            if lot is None:
                return
            yield from lot

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

    def _run(self) -> None:
        try:
            asyncio.run(self._drive())
        except BaseException as error:
            if not (self._left and isinstance(error, asyncio.CancelledError)):
                self._error = error
        finally:
            self._ready.set()
            self._lots.put(None)

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
                if self._lots.qsize() >= _AHEAD:
                    self._room.clear()
                    if self._lots.qsize() >= _AHEAD:  # taken in the meantime, nobody would wake this up
                        await self._room.wait()
        finally:
            self._hand_over()
            await stream.aclose()

    def _hand_over(self) -> None:
        if self._lot:
            self._lots.put(self._lot)
            self._lot = []


# --- Asking live.

_MOST_WAITING = 10_000  # replies kept back, at most, until the one before them comes
_WAITING = 256  # requests besides those under way: before the gate, or until another process has the reply
_OTHERS = 5  # requests that have to fail in a row before it is the model that is gone
_STORED_IN_A_ROW = 64  # looked up before calls that are under way get a moment
_FIRST_LOOK, _LAST_LOOK = 0.05, 1.0  # seconds between looks for the reply that another process pays for


class _StopRequested(Exception):
    """The `on_reply` callback returned True."""


def ask_all(
    requests: Iterable[tuple[int, Request]],
    model: Model,
    store: Store,
    *,
    concurrency: int = 16,
    budget: Budget | None = None,
    refresh: bool = False,
    progress: JobProgress | None = None,
    patience: Patience = DEFAULT_PATIENCE,
    on_reply: OnReply = never_stop,
) -> Iterator[tuple[int, Reply]]:
    """Yield (number, reply) in the order of the requests, whatever order the replies arrive in.

    A reply that is not `ok` is yielded as it is. One with the status `error` is not stored, so the next job
    asks again. `refresh` asks every request again. `on_reply` is called with each reply as it arrives. If it
    returns True, calls under way finish, and requests that were not asked are left out.
    Raises `JudgeFailed` if the model cannot be asked any more, and `BudgetReached` if another call would
    exceed the budget; replies to calls under way are stored first.
    """
    if concurrency < 1:
        raise UsageError(f"concurrency={concurrency!r}: expected at least 1")
    budget = budget or Budget()
    refuse_unpayable(model, budget)
    job = _LiveJob(model, store, budget, refresh, progress or JobProgress(quiet=True), patience, on_reply)
    total = len(requests) if isinstance(requests, Sized) else None
    return iterate_in_thread(lambda: job.stream(with_keys(requests, model), concurrency, total))


@dataclass(eq=False)
class _LiveJob(Job):
    """One go at a stream of requests, within one event loop."""

    _on_reply: OnReply = never_stop
    _ahead: deque[tuple[int, asyncio.Task[Reply] | Reply]] = field(init=False, default_factory=deque)
    # By key: the same question is asked once.
    _tasks: dict[str, asyncio.Task[Reply]] = field(init=False, default_factory=dict)
    _flying: set[asyncio.Task[Any]] = field(init=False, default_factory=set)  # whose call is under way
    # By key: the leave for a call that is about to be made.
    _reservations: dict[str, Reservation] = field(init=False, default_factory=dict)
    _failing: set[str] = field(init=False, default_factory=set)  # keys that failed since the last reply
    _trouble: BaseException | None = field(init=False, default=None)  # what ends the job
    _stored_in_a_row: int = field(init=False, default=0)

    async def stream(
        self, requests: Iterator[tuple[int, str, Request]], concurrency: int, total: int | None
    ) -> AsyncGenerator[tuple[int, Reply], None]:
        """Yield the replies, in the order of the requests."""
        patience = self._patience
        self._gate = CallGate(concurrency, patience.first_pause, patience.longest_pause)
        self._commits = _Commits(self._store, self._budget)
        self._settled, self._fewer = asyncio.Event(), asyncio.Event()
        self._last_heard = asyncio.get_running_loop().time()
        self._tally.total = total
        self._budget.open(self._store, self._commits.soon)
        beating = asyncio.create_task(keep_beating(self._store, self._show))
        beating.add_done_callback(self._stop_without_store)
        try:
            for number, key, request in requests:
                self._ahead.append((number, self._reply_or_task(number, key, request)))
                # Stored replies never wait for anything: without a break they would keep the loop from the
                # calls under way.
                if self._stored_in_a_row >= _STORED_IN_A_ROW:
                    self._stored_in_a_row = 0
                    await asyncio.sleep(0)
                # Requests may be more than memory holds: no more tasks than can soon be asked.
                while len(self._tasks) >= _WAITING + concurrency:
                    self._fewer.clear()
                    await self._fewer.wait()
                # Replies are yielded in the order of the requests, so one that is late holds back those
                # behind it; only so many of them are kept.
                while self._ahead and self._must_yield():
                    if (first := await self._first()) is not None:
                        yield first
                # The job ends, but replies that are paid for still come out below.
                if self._trouble is not None:
                    break
            while self._ahead:
                if (first := await self._first()) is not None:
                    yield first
        finally:
            beating.cancel()
            if self._tasks:
                self._stop(asyncio.CancelledError())
                if self._flying:
                    self._progress.say(
                        f"stopping: {len(self._flying):,} calls in progress may finish within"
                        f" {GRACE:g} seconds"
                    )
                    await asyncio.wait([*self._flying], timeout=GRACE)
            tasks = [*self._tasks.values()]
            for task in tasks:
                task.cancel()
            try:
                await asyncio.gather(beating, *tasks, return_exceptions=True)
                await close(self._model)
            finally:
                with suppress(OutputError):  # what came first is to be told
                    self._budget.close()
            if self._store.damaged:
                self._progress.say(
                    f"{self._store.damaged:,} damaged rows in {self._store.path} were asked again"
                )
            self._show()
            self._progress.close(self._tally)

    def _reply_or_task(self, number: int, key: str, request: Request) -> asyncio.Task[Reply] | Reply:
        # The same question twice is asked once.
        if key in self._tasks:
            if self._tally.total is not None:
                self._tally.total -= 1
            return self._tasks[key]
        stored = self._stored(key)
        if stored is not None:
            self._stored_in_a_row += 1
            self._tell(number, stored, was_stored=True)
            return stored
        task = self._tasks[key] = asyncio.create_task(self._run_request(number, key, request))
        task.add_done_callback(lambda done: self._done(key, done))
        return task

    def _must_yield(self) -> bool:
        """Whether the first reply is there, or so many are kept back that it has to be waited for."""
        first = self._ahead[0][1]
        return len(self._ahead) >= _MOST_WAITING or isinstance(first, Reply) or first.done()

    def _tell(self, number: int, reply: Reply, was_stored: bool = False) -> None:
        """Pass a reply to `on_reply`, and stop asking if it returns True."""
        if self._trouble is None and self._on_reply(number, reply, was_stored):
            self._stop(_StopRequested())

    async def _first(self) -> tuple[int, Reply] | None:
        """Return the next reply, None for a request that is left out.

        Raise what ends the job, once no call is under way any more.
        """
        number, awaited = self._ahead.popleft()
        if isinstance(awaited, Reply):
            return number, awaited
        if not awaited.done():
            await asyncio.wait([awaited])
        if self._trouble is not None and (awaited.cancelled() or awaited.exception()):
            # Calls under way are paid for: wait for them before the trouble is raised, so that they are
            # stored.
            while self._flying:
                await asyncio.wait(self._flying)
            if isinstance(self._trouble, _StopRequested):
                return None
            raise self._trouble
        return number, awaited.result()

    def _stored(self, key: str) -> Reply | None:
        reply = self._store.get(key, self._job)
        if reply is not None:
            self._tally.stored += 1
            self._show()
        return reply

    async def _run_request(self, number: int, key: str, request: Request) -> Reply:
        try:
            reply = await self._get_reply(key, request)
            self._tell(number, reply)
            return reply
        except Exception as error:
            self._stop(error)
            raise
        finally:
            self._withdraw(key)
            self._store.release(key)

    async def _get_reply(self, key: str, request: Request) -> Reply:
        """Return the reply to a request, from another process that asks it now or from the model."""
        loop = asyncio.get_running_loop()
        tries, pause, look, until = 0, 0.0, _FIRST_LOOK, loop.time() + self._patience.total
        while self._trouble is None:
            async with self._gate as start_time:
                # Claim within the gate: between a look at the store and the call no other process may begin
                # the same call.
                mine, stored = await self._commits.do(partial(self._claim_or_find, key, request))
                if stored is not None:
                    return stored
                # Another process asks it now: look again, less and less often; its waiting is no failure of
                # ours.
                if not mine:
                    pause, look = look, min(2 * look, _LAST_LOOK)
                    until = loop.time() + self._patience.total
                elif self._gate.is_closed:  # by a call that came back after this one was let in
                    self._withdraw(key)
                    pause = 0.0
                else:
                    try:
                        return await self._call_model(key, request, start_time)
                    except Transient as error:
                        self._note(key, error)
                        # A refusal or an absent server says nothing of this request, so it costs none of its
                        # tries.
                        tries += not (error.throttled or isinstance(error, Unreachable))
                        if tries >= self._patience.tries or loop.time() > until:
                            return self._count_reply(Reply(ERROR, detail=str(error)))
                        # The gate itself makes everybody wait after a refusal.
                        pause = 0.0 if error.throttled else backoff(max(tries, 1), self._patience.first_pause)
            await asyncio.sleep(pause)
        raise asyncio.CancelledError

    def _claim_or_find(self, key: str, request: Request) -> tuple[bool, Reply | None]:
        """Whether this job may ask, and the reply if another one has it already."""
        # Claim first, look second: the other order could miss a reply stored in between, and pay twice.
        mine = self._store.claim(key)
        stored = self._stored(key) if mine else None
        if mine and stored is None and not self._gate.is_closed:
            self._reserve(key, request)
        return mine, stored

    async def _call_model(self, key: str, request: Request, start_time: float) -> Reply:
        """Make one call and store its outcome; what is not known about its cost is taken to be the most."""
        # What other calls really cost may leave enough for this one.
        while key not in self._reservations:
            settled = self._settled  # before the look: what is settled during it is not to be missed
            await self._commits.do(partial(self._reserve, key, request))
            if key not in self._reservations:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LAST_LOOK):
                        await settled.wait()
        reservation = self._reservations.pop(key)
        flying: Any = asyncio.current_task()
        self._flying.add(flying)
        # Which of the three is called at the end depends on how far the call came: a call that never left
        # costs nothing, one without an answer the most it can cost, one with an answer what it says.
        settle = partial(self._budget.settle, reservation, Usage(), self._model.name)
        unknown = partial(self._budget.settle, reservation, None, self._model.name)
        try:
            reply = await self._ask_model(request, start_time)
            settle = partial(self._budget.settle_reply, reservation, reply, self._model.name)
            # It is there: whatever failed before, and whoever fails next.
            self._last_heard = asyncio.get_running_loop().time()
            self._budget.answering.add(self._model.name)
            self._failing.clear()
            self._gate.widen(start_time)
            if reply.status in STORABLE:
                who = (self._model.name, self._model.endpoint, self._budget.job)
                put = partial(self._store.put, key, request, reply, *who)
                try:
                    # Even if the job is being stopped: the reply is paid for.
                    reply = await self._commits.do(put, even_if_left=True)
                except Unstorable as error:
                    raise JudgeFailed(f"{self._model.name}: {error} ({self._resume_hint()})") from error
            return self._count_reply(reply)
        except Transient as error:
            settle = settle if error.throttled or isinstance(error, Unreachable) else unknown
            raise
        except asyncio.CancelledError:
            settle = unknown
            raise
        finally:
            self._flying.discard(flying)
            settle()
            self._tell_waiting()

    async def _ask_model(self, request: Request, start_time: float) -> Reply:
        self._tally.calls += 1
        seconds = self._patience.deadline
        try:
            async with asyncio.timeout(seconds):
                # Fences are drawn for each call, after all data is known: no data can contain them.
                reply = await self._model.ask(request.fenced())
        except TimeoutError:
            error = Transient(f"{self._model.name}: no answer within {seconds:g} seconds")
        except Transient as failure:
            error = failure
        except Fatal as failure:
            raise JudgeFailed(f"{failure} ({self._resume_hint()})") from failure
        else:
            if isinstance(reply, Reply):
                return reply
            raise JudgeFailed(
                f"{self._model.name}: expected a Reply from its ask(), found {type(reply).__name__}"
                f" ({self._resume_hint()})"
            )
        # An answer that is lost on the way is no complaint of the server's, and slows nobody down.
        if not isinstance(error, Lost):
            self._gate.narrow(start_time, error.retry_after, error.throttled)
        raise error

    def _reserve(self, key: str, request: Request) -> None:
        """Keep the leave for a call, if the budget gives it now, where whoever ends the call finds it."""
        try:
            reservation = self._budget.reserve(request, self._model.name)
        except BudgetReached:
            if not self._reservations:  # else one of them may be given back
                raise
        else:
            if reservation is not None:
                self._reservations[key] = reservation

    def _withdraw(self, key: str) -> None:
        """Give back the leave for a call that is not made."""
        if (reservation := self._reservations.pop(key, None)) is not None:
            self._budget.withdraw(reservation, self._model.name)
            self._tell_waiting()

    def _tell_waiting(self) -> None:
        """Let those who wait for the budget look again; another event is for what is settled from now on."""
        self._settled.set()
        self._settled = asyncio.Event()

    def _note(self, key: str, error: Transient) -> None:
        """Count a failed try; `JudgeFailed` if nobody is there, or nobody has been for long enough."""
        self._tally.troubles["throttled" if error.throttled else _kind_of_error(error, self._model.name)] += 1
        self._failing.add(key)
        self._show()
        is_away = isinstance(error, Unreachable)
        if is_away and self._model.name not in self._budget.answering:
            raise JudgeFailed(f"{error} ({self._resume_hint()})") from error
        silence = asyncio.get_running_loop().time() - self._last_heard
        # Of a few questions all that are left have to fail.
        others = min(_OTHERS, len(self._tasks))
        if silence >= self._patience.away and (is_away or len(self._failing) >= others):
            raise JudgeFailed(
                f"{error} (only failures for {silence:,.0f} seconds; {self._resume_hint()})"
            ) from error

    def _resume_hint(self) -> str:
        return f"replies are stored in {self._store.path}; run the same command to continue"

    def _stop(self, error: BaseException) -> None:
        """End the job: at once, but for the calls under way."""
        if self._trouble is None:
            self._trouble = error
            for task in self._tasks.values():
                if task not in self._flying:
                    task.cancel()

    def _stop_without_store(self, beating: asyncio.Task[None]) -> None:
        """Without a store nothing under way can be kept either."""
        if not beating.cancelled() and (error := beating.exception()) is not None:
            self._stop(error)
            for task in self._flying:
                task.cancel()

    def _done(self, key: str, task: asyncio.Task[Reply]) -> None:
        del self._tasks[key]
        self._fewer.set()
        if not task.cancelled():
            task.exception()  # or Python would complain that nobody looked


def _kind_of_error(error: Transient, model: str) -> str:
    """Return the first words of an error, without what differs from call to call.

    >>> _kind_of_error(Transient("openai:m: 503: try later"), "openai:m")
    '503'
    >>> _kind_of_error(Transient("no answer from x"), "m")
    'no answer'
    """
    words = re.split(r"[:(]| from | within ", str(error).removeprefix(f"{model}: "), maxsplit=1)
    return words[0].strip()[:40] or "failed"


class _Commits:
    """Work on a store and its ledger, done together; used within one event loop."""

    def __init__(self, store: Store, budget: Budget) -> None:
        self._store, self._budget = store, budget
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[Callable[[], Any], asyncio.Future[Any], bool]] = []
        self._is_due = False

    def soon(self) -> None:
        """Write what is to be written, once for all who ask before the loop's next turn."""
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._commit)

    async def do(self, work: Callable[[], _Item], even_if_left: bool = False) -> _Item:
        """Return what the work does, once it is written; leave it if nobody waits, unless `even_if_left`."""
        self.soon()
        future: asyncio.Future[_Item] = self._loop.create_future()
        self._waiting.append((work, future, even_if_left))
        return await future

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._is_due = False
        pending = [(work, future) for work, future, always in waiting if always or not future.done()]
        try:
            with self._store.together(), self._budget.turn():
                outcomes = [_outcome(work) for work, _ in pending]
        except Exception as error:
            outcomes = [(None, error)] * len(pending)
        for (_, future), (result, trouble) in zip(pending, outcomes, strict=True):
            if future.done():
                continue
            if trouble is None:
                future.set_result(result)
            else:
                future.set_exception(trouble)


def _outcome(work: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """Return the result of work on a store, or why it cannot be done; raise what the store itself suffers."""
    try:
        return work(), None
    # A reply that is no text or no plain value is refused before anything of it is written, and so is a call
    # that no budget is left for. The replies beside them are paid for and must be kept.
    except (Unstorable, BudgetReached) as error:
        return None, error
