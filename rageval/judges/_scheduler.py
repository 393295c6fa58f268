"""Asking a model many requests at once, so that every reply is paid for once and none that came is lost.

What the store holds is not asked. Everything else is claimed in the store, so that no other process pays for
it too, fits into the budget, passes the gate, and is stored before anybody sees it. A job that is stopped, by
whatever, goes on where it was when the same requests are asked again.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from rageval.errors import JudgeFailed, OutputError, UsageError
from rageval.judges._asking import (
    GRACE,
    USUAL,
    CallGate,
    Hear,
    Job,
    JobProgress,
    Patience,
    Shard,
    backoff,
    check,
    close,
    hear_nothing,
    in_a_thread,
    keep_beating,
    shared,
)
from rageval.judges._database import STORABLE
from rageval.judges.base import ERROR, Fatal, Lost, Model, Reply, Request, Transient, Unreachable, Usage
from rageval.judges.spending import Budget, Reservation
from rageval.judges.store import Store, Unstorable

_HELD = 10_000  # replies kept back, at most, until the one before them comes
_WAITING = 256  # requests besides those under way: before the gate, or until another process has the reply
_OTHERS = 5  # requests that have to fail in a row before it is the model that is gone
_STORED_IN_A_ROW = 64  # looked up before calls that are under way get a moment
_FIRST_LOOK, _LAST_LOOK = 0.05, 1.0  # seconds between looks for the reply that another process pays for
_Item = TypeVar("_Item")


class _Enough(Exception):
    """Whoever hears the replies wants no more of them for now."""


def ask_all(
    requests: Iterable[tuple[int, Request]],
    model: Model,
    store: Store,
    *,
    concurrency: int = 16,
    budget: Budget | None = None,
    refresh: bool = False,
    shard: Shard | None = None,
    progress: JobProgress | None = None,
    patience: Patience = USUAL,
    hear: Hear = hear_nothing,
) -> Iterator[tuple[int, Reply]]:
    """Yield the reply to each numbered request, in their order; the same, however long each took.

    A reply that is not `ok` is returned as it is; one with the status `error` is not stored, so that the next
    job asks again. `refresh` asks for everything once more, and `shard` leaves out what is not in this share.
    `hear` is told of each reply as it comes. When it wants no more, calls under way come back, and the
    requests that were not asked are left out.
    Raises `JudgeFailed` if the model cannot be asked any further and `BudgetReached` if no call may follow;
    what was under way then is stored first.
    """
    if concurrency < 1:
        raise UsageError(f"concurrency={concurrency!r}: expected at least 1")
    budget = budget or Budget()
    check(model, budget, shard)
    job = _LiveJob(model, store, budget, refresh, progress or JobProgress(quiet=True), patience, hear)
    return in_a_thread(lambda: job.stream(shared(requests, model, shard), concurrency, _size(requests)))


def _size(requests: Any) -> int | None:
    """How many there are, if that can be said."""
    return len(requests) if hasattr(requests, "__len__") else None


@dataclass(eq=False)
class _LiveJob(Job):
    """One go at a stream of requests, within one event loop."""

    _hear: Hear = hear_nothing
    _ahead: deque[tuple[int, asyncio.Task[Reply] | Reply]] = field(init=False, default_factory=deque)
    # By key: the same question is asked once.
    _tasks: dict[str, asyncio.Task[Reply]] = field(init=False, default_factory=dict)
    _flying: set[asyncio.Task[Any]] = field(init=False, default_factory=set)  # whose call is under way
    _failing: set[str] = field(init=False, default_factory=set)  # keys that failed since the last reply
    _trouble: BaseException | None = field(init=False, default=None)  # what ends the job
    _stored_in_a_row: int = field(init=False, default=0)

    async def stream(
        self, requests: Iterator[tuple[int, str, Request]], concurrency: int, total: int | None
    ) -> AsyncGenerator[tuple[int, Reply], None]:
        """Yield the replies, in the order of the requests."""
        patience = self._patience
        self._gate = CallGate(concurrency, patience.first_pause, patience.longest_pause)
        self._commits = _Commits(self._store)
        self._settled, self._fewer = asyncio.Event(), asyncio.Event()
        self._last_heard = asyncio.get_running_loop().time()
        self._tally.total = self._tally.total or total
        self._budget.open(self._store)
        beating = asyncio.create_task(keep_beating(self._store, self._show))
        beating.add_done_callback(self._beaten)
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
            await self._end(beating)

    def _reply_or_task(self, number: int, key: str, request: Request) -> asyncio.Task[Reply] | Reply:
        # The same question twice is asked once.
        if key in self._tasks:
            return self._tasks[key]
        found = self._stored(key)
        if found is not None:
            self._stored_in_a_row += 1
            self._tell(number, found, was_stored=True)
            return found
        task = self._tasks[key] = asyncio.create_task(self._replied(number, key, request))
        task.add_done_callback(lambda done: self._done(key, done))
        return task

    def _must_yield(self) -> bool:
        """Whether the first reply is there, or so many are kept back that it has to be waited for."""
        first = self._ahead[0][1]
        return len(self._ahead) >= _HELD or isinstance(first, Reply) or first.done()

    def _tell(self, number: int, reply: Reply, was_stored: bool = False) -> None:
        """Let whoever hears the replies decide whether to go on."""
        if self._trouble is None and self._hear(number, reply, was_stored):
            self._stop(_Enough())

    async def _first(self) -> tuple[int, Reply] | None:
        """Return the next reply, None for a request that is left out.

        Raise what ends the job, once no call is under way any more.
        """
        number, found = self._ahead.popleft()
        if isinstance(found, Reply):
            return number, found
        if not found.done():
            await asyncio.wait([found])
        if self._trouble is not None and (found.cancelled() or found.exception()):
            # Calls under way are paid for: wait for them before the trouble is raised, so that they are
            # stored.
            while self._flying:
                await asyncio.wait(self._flying)
            if isinstance(self._trouble, _Enough):
                return None
            raise self._trouble
        return number, found.result()

    def _stored(self, key: str) -> Reply | None:
        found = self._store.get(key, self._job)
        if found is not None:
            self._tally.stored += 1
            self._show()
        return found

    async def _replied(self, number: int, key: str, request: Request) -> Reply:
        try:
            reply = await self._asked(key, request)
            self._tell(number, reply)
            return reply
        except Exception as error:
            self._stop(error)
            raise
        finally:
            self._store.release(key)

    async def _asked(self, key: str, request: Request) -> Reply:
        """Return the reply to a request, from another process that asks it now or from the model."""
        loop = asyncio.get_running_loop()
        tries, pause, look, until = 0, 0.0, _FIRST_LOOK, loop.time() + self._patience.total
        while self._trouble is None:
            async with self._gate as begun:
                # Claim within the gate: between a look at the store and the call no other process may begin
                # the same call.
                mine, found = await self._commits.do(partial(self._claimed, key))
                if found is not None:
                    return found
                # Another process asks it now: look again, less and less often; its waiting is no failure of
                # ours.
                if not mine:
                    pause, look = look, min(2 * look, _LAST_LOOK)
                    until = loop.time() + self._patience.total
                elif self._gate.is_closed:  # by a call that came back after this one was let in
                    pause = 0.0
                else:
                    try:
                        return await self._called(key, request, begun)
                    except Transient as error:
                        self._note(key, error)
                        # A refusal or an absent server says nothing of this request, so it costs none of its
                        # tries.
                        tries += not (error.throttled or isinstance(error, Unreachable))
                        if tries >= self._patience.tries or loop.time() > until:
                            return self._counted(Reply(ERROR, detail=str(error)))
                        # The gate itself makes everybody wait after a refusal.
                        pause = 0.0 if error.throttled else backoff(max(tries, 1), self._patience.first_pause)
            await asyncio.sleep(pause)
        raise asyncio.CancelledError

    def _claimed(self, key: str) -> tuple[bool, Reply | None]:
        """Whether this job may ask, and the reply if another one has it already."""
        # Claim first, look second: the other order could miss a reply stored in between, and pay twice.
        mine = self._store.claim(key)
        return mine, self._stored(key) if mine else None

    async def _called(self, key: str, request: Request, begun: float) -> Reply:
        """Make one call and store its outcome; what is not known about its cost is taken to be the most."""
        reservation = await self._reserved(request)
        flying: Any = asyncio.current_task()
        self._flying.add(flying)
        # Which of the three is called at the end depends on how far the call came: a call that never left
        # costs nothing, one without an answer the most it can cost, one with an answer what it says.
        settle = partial(self._budget.settle, reservation, Usage(), self._model.name)
        unknown = partial(self._budget.settle, reservation, None, self._model.name)
        try:
            reply = await self._model_says(request, begun)
            settle = partial(self._budget.settle_reply, reservation, reply, self._model.name)
            self._heard()
            self._gate.went_well(begun)
            if reply.status in STORABLE:
                who = (self._model.name, self._model.endpoint, self._budget.job)
                put = partial(self._store.put, key, request, reply, *who)
                try:
                    # Even if the job is being stopped: the reply is paid for.
                    reply = await self._commits.do(put, even_if_left=True)
                except Unstorable as error:
                    raise JudgeFailed(f"{self._model.name}: {error} ({self._way_on()})") from error
            return self._counted(reply)
        except Transient as error:
            settle = settle if error.throttled or isinstance(error, Unreachable) else unknown
            raise
        except asyncio.CancelledError:
            settle = unknown
            raise
        finally:
            self._flying.discard(flying)
            self._settled.set()
            settle()

    async def _model_says(self, request: Request, begun: float) -> Reply:
        self._tally.calls += 1
        seconds = self._patience.deadline
        try:
            async with asyncio.timeout(seconds):
                # Fences are drawn for each call, after all data is known: no data can contain them.
                reply = await self._model.ask(request.fenced())
        except TimeoutError:
            error = Transient(f"{self._model.name}: no answer within {seconds:g} seconds")
        except Transient as found:
            error = found
        except Fatal as found:
            raise JudgeFailed(f"{found} ({self._way_on()})") from found
        else:
            if isinstance(reply, Reply):
                return reply
            raise JudgeFailed(
                f"{self._model.name}: expected a Reply from its ask(), found {type(reply).__name__}"
                f" ({self._way_on()})"
            )
        # An answer that is lost on the way is no complaint of the server's, and slows nobody down.
        if not isinstance(error, Lost):
            self._gate.complained(begun, error.retry_after, error.throttled)
        raise error

    async def _reserved(self, request: Request) -> Reservation:
        """Leave from the budget, which may have to wait for what others really cost."""
        while (found := self._budget.reserve(request, self._model.name)) is None:
            self._settled.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_LOOK):
                    await self._settled.wait()
        return found

    def _note(self, key: str, error: Transient) -> None:
        """Count a failed try; `JudgeFailed` if nobody is there, or nobody has been for long enough."""
        self._tally.troubles["throttled" if error.throttled else _kind(error, self._model.name)] += 1
        self._failing.add(key)
        self._show()
        is_away = isinstance(error, Unreachable)
        if is_away and self._model.name not in self._budget.answering:
            raise JudgeFailed(f"{error} ({self._way_on()})") from error
        silence = asyncio.get_running_loop().time() - self._last_heard
        if silence >= self._patience.away and (is_away or len(self._failing) >= _OTHERS):
            raise JudgeFailed(
                f"{error} (nothing but failures for {silence:,.0f} seconds; {self._way_on()})"
            ) from error

    def _heard(self) -> None:
        """Note that the model has answered."""
        self._last_heard = asyncio.get_running_loop().time()
        self._budget.answering.add(self._model.name)
        self._failing.clear()

    def _way_on(self) -> str:
        return f"what was answered is stored in {self._store.path}: the same command goes on from there"

    def _stop(self, error: BaseException) -> None:
        """End the job: at once, but for the calls under way."""
        if self._trouble is None:
            self._trouble = error
            for task in self._tasks.values():
                if task not in self._flying:
                    task.cancel()

    def _beaten(self, beating: asyncio.Task[None]) -> None:
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

    async def _end(self, beating: asyncio.Task[None]) -> None:
        """Leave no call, no claim and no connection behind; what is under way and paid for may still land."""
        beating.cancel()
        if self._tasks:
            self._stop(asyncio.CancelledError())
            await self._let_land()
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(beating, *tasks, return_exceptions=True)
        await close(self._model)
        with suppress(OutputError):  # what came first is to be told
            self._budget.close()
        if self._store.damaged:
            self._progress.say(f"{self._store.damaged:,} damaged rows in {self._store.path} were asked again")
        self._show()
        self._progress.close(self._tally)

    async def _let_land(self) -> None:
        if self._flying:
            self._progress.say(
                f"stopping: {len(self._flying):,} calls under way may come back within {GRACE:g} seconds"
            )
            await asyncio.wait([*self._flying], timeout=GRACE)


def _kind(error: Transient, model: str) -> str:
    """Return the first words of an error, without what differs from call to call.

    >>> _kind(Transient("openai:m: 503: try later"), "openai:m"), _kind(Transient("no answer from x"), "m")
    ('503', 'no answer')
    """
    said = re.split(r"[:(]| from | within ", str(error).removeprefix(f"{model}: "), maxsplit=1)
    return said[0].strip()[:40] or "failed"


class _Commits:
    """Work on a store, done together; used within one event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[Callable[[], Any], asyncio.Future[Any], bool]] = []

    async def do(self, work: Callable[[], _Item], even_if_left: bool = False) -> _Item:
        """Return what the work does, once it is written; leave it if nobody waits, unless `even_if_left`."""
        if not self._waiting:
            self._loop.call_soon(self._commit)
        future: asyncio.Future[_Item] = self._loop.create_future()
        self._waiting.append((work, future, even_if_left))
        return await future

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        wanted = [(work, future) for work, future, always in waiting if always or not future.done()]
        try:
            with self._store.together():
                outcomes = [_outcome(work) for work, _ in wanted]
        except Exception as error:
            outcomes = [(None, error)] * len(wanted)
        for (_, future), (result, trouble) in zip(wanted, outcomes, strict=True):
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
    # A reply that is no text or no plain value is refused before anything of it is written. Those beside it
    # are paid for and must be kept.
    except Unstorable as error:
        return None, error
