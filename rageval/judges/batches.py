"""Asking in batches: half the price, for replies that may take a day.

What the store does not hold is handed over in batches. The intent to is stored before the provider is told,
and the batch's id before anybody waits for it: who is stopped in between finds them there, and so does any
other process. Where the id never came back, the provider is looked through for the batch, and nothing in it
is handed over again unless it was not accepted. What has no reply when its batch has ended goes into the next
one, a few times.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from rageval.errors import BudgetReached, JudgeFailed, OutputError, UsageError
from rageval.judges.asking import (
    DEFAULT_PATIENCE,
    GRACE,
    Job,
    JobProgress,
    OnReply,
    Patience,
    backoff,
    close,
    iterate_in_thread,
    keep_beating,
    never_stop,
    refuse_unpayable,
    sane,
    with_keys,
)
from rageval.judges.base import (
    ENDED,
    ERROR,
    BatchModel,
    Fatal,
    Lost,
    Reply,
    Request,
    Transient,
    Unclear,
    Unreachable,
    Usage,
)
from rageval.judges.budget import Budget, Reservation
from rageval.judges.store import DONE, FAILED, INTENDED, OPEN, STORABLE, Store, StoredBatch, Unstorable

_HALF = 0.5  # of the price of live calls, at both providers
ROUNDS = 3  # batches that a request may be in
_AT_ONCE = 1000  # claims a transaction
_TIDYING = 10.0  # seconds that may be spent on it
_Item = TypeVar("_Item")
LOOKS = 3  # for a batch, before it is taken not to be there: a provider may list it a little later


def ask_in_batches(
    requests: Iterable[tuple[int, Request]],
    model: BatchModel,
    store: Store,
    *,
    budget: Budget | None = None,
    refresh: bool = False,
    rebuy: bool = False,
    poll_every: float = 60.0,
    progress: JobProgress | None = None,
    patience: Patience = DEFAULT_PATIENCE,
    on_reply: OnReply = never_stop,
) -> Iterator[tuple[int, Reply]]:
    """Yield the reply to each numbered request, in their order, once all batches have ended.

    As `asking.ask_all`, but for batches: those that an earlier process left open are waited
    for, and nothing in them is handed over again, unless `refresh` asks for everything once more. `rebuy`
    hands over again what may be in a batch that cannot be found. What has no reply after `ROUNDS` batches has
    the status `error`. `on_reply` is told of stored replies; nothing that is handed over can be
    taken back.
    """
    if not hasattr(model, "submit"):
        raise UsageError(f"the model {model.name} takes no batches; ask it live")
    budget = budget or Budget()
    refuse_unpayable(model, budget)
    job = _BatchJob(
        model, store, budget, refresh, progress or JobProgress(quiet=True), patience, rebuy, on_reply
    )
    return iterate_in_thread(lambda: job.stream(with_keys(requests, model), poll_every))


@dataclass(eq=False)
class _BatchJob(Job):
    """One go at a list of requests, within one event loop."""

    _model: BatchModel
    _rebuys: bool = False
    _on_reply: OnReply = never_stop
    _requests: dict[str, Request] = field(init=False, default_factory=dict)
    _unsettled: dict[str, Request] = field(init=False, default_factory=dict)
    _reserved: dict[str, Reservation] = field(init=False, default_factory=dict)
    _rounds: Counter[str] = field(init=False, default_factory=Counter)
    _failed: dict[str, Reply] = field(init=False, default_factory=dict)  # after the last round
    _own: set[str] = field(init=False, default_factory=set)  # ids of batches handed over here, and of intents
    _looks: Counter[str] = field(init=False, default_factory=Counter)  # by intent
    _taken: set[str] = field(init=False, default_factory=set)  # ids of batches whose replies were taken here
    _no_money: BudgetReached | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._who = f"{self._model.name} {self._model.endpoint}".strip()

    async def stream(
        self, requests: Iterator[tuple[int, str, Request]], poll_every: float
    ) -> AsyncGenerator[tuple[int, Reply], None]:
        """Yield the replies, in the order of the requests."""
        order = []
        for number, key, request in requests:
            order.append((number, key))
            if key in self._requests:
                continue
            self._requests[key] = request
            stored = self._store.get(key, self._job)
            if stored is None:
                self._unsettled[key] = request
            else:
                self._on_reply(number, stored, True)
        self._tally.total, self._tally.stored = (
            len(self._requests),
            len(self._requests) - len(self._unsettled),
        )
        self._beating = beating = asyncio.create_task(keep_beating(self._store, self._show))
        try:
            await self._work(poll_every)
            for number, key in order:
                lost = Reply(ERROR, detail="the stored reply is damaged; ask again")
                yield number, self._failed.get(key) or self._store.get(key, self._job) or lost
        finally:
            # No claim and no connection stays behind; a batch that is still open will cost what it may.
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            with suppress(OutputError), self._store.together():
                for reserved in self._reserved.values():
                    self._budget.settle(reserved, None, self._model.name)
                self._budget.close()
            await close(self._model)
            self._show()
            self._progress.close(self._tally)

    async def _work(self, poll_every: float) -> None:
        """Until everything is settled: take what has ended, hand over what is left, wait."""
        self._budget.open(self._store)
        # Before anything new: money for batches that are out already is spent, whatever the limit is now.
        with self._store.together():
            for key in self._unsettled.keys() & self._covered():
                self._reserved[key] = self._budget.commit(self._unsettled[key], self._model.name, _HALF)
        while self._unsettled:
            # Batches whose ids never came back, unless another process is looking for them.
            for intent in self._open(INTENDED):
                mine = self._store.claim_all(intent.keys)
                try:
                    if len(mine) == len(intent.keys) and intent in self._store.batches.all(INTENDED):
                        await self._look_for(intent)
                finally:
                    self._store.release(*mine)
            for batch in self._open():
                if await self._retry(partial(self._model.state, batch.id)) == ENDED:
                    await self._store_batch(batch)
            # Between looking and handing over, others may have stored replies; asking for those again would
            # cost twice.
            for key in [*self._unsettled]:
                reply = self._store.get(key, self._job)
                if reply is not None:
                    del self._unsettled[key]
                    self._tally.stored += 1
                    self._unreserve([key])  # who has stored the reply has counted what it cost
            if self._unsettled and self._no_money is None:
                await self._hand_over()
            if not self._unsettled:
                return
            if self._no_money is not None and not self._covered():
                raise self._no_money
            self._show()
            await asyncio.wait([self._beating], timeout=poll_every)
            # The heartbeat ends only with an error, which is raised here.
            if self._beating.done():  # which it is only without a store
                self._beating.result()

    def _covered(self) -> set[str]:
        """Return what is in a batch, or may be."""
        return {key for batch in [*self._open(), *self._open(INTENDED)] for key in batch.keys}

    def _open(self, state: str = OPEN) -> list[StoredBatch]:
        """Return the batches, or what was intended to be one, that something asked here is waited for in."""
        batches = (batch for batch in self._store.batches.all(state) if batch.provider == self._who)
        return [
            batch
            for batch in batches
            if batch.id not in self._taken
            and (self._job is None or batch.id in self._own)
            and not self._unsettled.keys().isdisjoint(batch.keys)
        ]

    async def _hand_over(self) -> None:
        """Whatever is in no batch and nobody else hands over now, as far as the budget reaches."""
        # Claim what is in no batch, so that only this process hands it over.
        covered = self._covered()
        left = [key for key in self._unsettled if key not in covered]
        mine: list[str] = []
        for start in range(0, len(left), _AT_ONCE):
            mine += self._store.claim_all(left[start : start + _AT_ONCE])
        # A batch stored between the first look and the claim covers keys that we now hold; give those back.
        covered = self._covered()  # again, as others wait from now on
        covered |= {key for key in mine if self._store.get(key, self._job) is not None}
        self._store.release(*(key for key in mine if key in covered))
        free = [key for key in mine if key not in covered]
        with self._store.together():
            todo = [(key, self._unsettled[key]) for key in free if self._reserve(key)]
        # What the budget does not reach is somebody else's to ask.
        self._store.release(*({*free} - {key for key, _ in todo}))
        try:
            while todo:
                await self._retry(lambda: _shield(self._submit_first(todo)))
        finally:
            # Not what may be in a batch after all: that is paid for, whether its id came back or not.
            self._unreserve({key for key, _ in todo} - self._covered())
            self._store.release(*(key for key, _ in todo))

    def _unreserve(self, keys: Iterable[str]) -> None:
        """Release what was not handed over, or what somebody else has paid for."""
        with self._store.together():
            for key in keys:
                if key in self._reserved:
                    self._budget.settle(self._reserved.pop(key), Usage(), self._model.name)

    def _reserve(self, key: str) -> bool:
        if self._no_money is not None or key in self._reserved:
            return self._no_money is None
        try:
            reservation = self._budget.reserve(self._unsettled[key], self._model.name, _HALF)
        except BudgetReached as error:
            self._no_money = error
            return False
        if reservation is not None:
            self._reserved[key] = reservation
        return reservation is not None

    async def _submit_first(self, todo: list[tuple[str, Request]]) -> None:
        """Hand over one batch of the first of these and keep its id; if that is lost, what was intended."""
        size = self._model.batch_limit
        if hasattr(self._model, "fitting"):  # a model that knows how long a batch may be
            size = max(1, self._model.fitting(todo))
        keys = [key for key, _ in todo[:size]]
        finder: Any = self._model if hasattr(self._model, "find") else None
        intent = finder.intent() if finder else f"intent-{secrets.token_hex(16)}"
        self._own.add(intent)
        # Stored before it is sent. If the answer or this process is lost in between, the intent says what to
        # look for.
        self._store.batches.add(intent, self._who, keys, INTENDED)
        try:
            batch = await (finder.submit(todo[:size], intent) if finder else self._model.submit(todo[:size]))
        # Nobody knows whether it was accepted: the intent stays, and is looked for; nothing in it is sent
        # again.
        except Lost as error:
            self._progress.say(f"{error}: checking whether a batch of {len(keys):,} requests was accepted")
        except (Transient, Fatal) as error:
            # Refused before anything was accepted, so there is nothing at the provider to tidy away.
            nothing_was_sent = isinstance(error, Unreachable) or getattr(error, "throttled", False)
            await self._give_up(intent, tidy=not nothing_was_sent)
            raise
        else:
            self._record_batch(intent, batch, keys)
        # Only what was handed over, or may have been, leaves the list; after an error above it is tried
        # again.
        del todo[:size]
        self._store.release(*keys)
        self._tally.calls += len(keys)

    def _record_batch(self, intent: str, batch: str, keys: Collection[str]) -> None:
        self._own.add(batch)
        self._store.batches.accepted(intent, batch)
        self._progress.say(f"batch {batch}: {len(keys):,} requests; it continues if this command stops")

    async def _give_up(self, intent: str, tidy: bool = True) -> None:
        """Note that what was intended did not come to be."""
        self._store.batches.drop(intent)
        if tidy and hasattr(self._model, "abandon"):
            await _try_briefly(self._model.abandon(intent))

    async def _look_for(self, intent: StoredBatch) -> None:
        """Take a batch that is found for what was intended; after some looks there is none."""
        known_ids = [batch.id for batch in self._store.batches.all() if batch.provider == self._who]
        finder: Any = self._model
        batch_id: str | None
        try:
            if not hasattr(finder, "find"):
                raise Unclear(f"{finder.name} does not look for batches", later=False)
            batch_id = await self._retry(
                lambda: finder.find(intent.id, intent.keys, intent.created, known_ids)
            )
        except Unclear as unclear:
            if not self._rebuys:
                size = f"{len(intent.keys):,} requests"
                message = f"the id of a batch of {size} was lost ({intent.created}): {unclear}"
                if not unclear.later:
                    raise JudgeFailed(
                        f"{message}; it is not sent twice: if the provider's page shows no such batch, run"
                        " the same command with --rebuy"
                    ) from unclear
                if not self._looks[intent.id]:
                    self._progress.say(f"{message} (--rebuy does not wait, but may pay twice)")
                self._looks[intent.id] = 1
                return
            batch_id = None
        self._looks[intent.id] += 1
        if batch_id is not None:
            self._record_batch(intent.id, batch_id, intent.keys)
        elif self._rebuys or self._looks[intent.id] >= LOOKS:
            await self._give_up(intent.id)
            self._unreserve(intent.keys)

    async def _store_batch(self, batch: StoredBatch) -> None:
        """Store the replies of a batch that has ended; what has none is free for the next batch."""
        replies = await self._retry(lambda: self._replies(batch))
        for key in batch.keys:
            if key in self._unsettled:
                self._settle(
                    key, replies.get(key) or Reply(ERROR, detail=f"no reply in the batch {batch.id}")
                )
        self._taken.add(batch.id)
        if self._requests.keys() >= set(batch.keys):  # else somebody else will want the rest
            self._store.batches.mark(batch.id, DONE if replies else FAILED)
            # The provider is to keep no copy of what was asked; if that fails, no judgement is any worse.
            if hasattr(self._model, "forget"):
                await _try_briefly(self._model.forget(batch.id))

    async def _replies(self, batch: StoredBatch) -> dict[str, Reply]:
        """Return what the batch says, the replies stored at once; of several to one request the first."""
        replies: dict[str, Reply] = {}
        who = (self._model.name, self._model.endpoint)
        async for key, reply in self._model.results(batch.id):
            is_answered = key in replies and replies[key].status in STORABLE
            if key in self._unsettled and not is_answered:
                if reply.status in STORABLE:
                    try:
                        reply = self._store.put(key, self._requests[key], reply, *who, job=self._budget.job)
                    except Unstorable as error:  # it is asked again, as what has no reply
                        reply = Reply(ERROR, detail=str(error))
                replies[key] = reply
        return replies

    def _settle(self, key: str, reply: Reply) -> None:
        """Store what has become of a request in one batch."""
        reserved = self._reserved.pop(key, None)
        if reserved is not None:
            self._budget.settle_reply(reserved, reply, self._model.name)
        else:
            self._budget.pay(reply.usage, self._model.name, _HALF)
        self._rounds[key] += 1
        if reply.status not in STORABLE:
            self._tally.troubles["in a batch"] += 1
            if self._rounds[key] < ROUNDS:
                return
            self._failed[key] = reply
        del self._unsettled[key]
        self._count_reply(reply)

    async def _retry(self, work: Callable[[], Awaitable[_Item]]) -> _Item:
        """Return what comes of the work, tried again after failures that pass."""
        tries, loop = 0, asyncio.get_running_loop()
        until = loop.time() + self._patience.away
        while True:
            try:
                done = await work()
                self._budget.answering.add(self._model.name)
                return done
            except Fatal as error:
                raise JudgeFailed(f"{error} ({self._resume_hint()})") from error
            except Transient as error:
                tries += 1
                self._tally.troubles["throttled" if error.throttled else "no answer"] += 1
                is_away = isinstance(error, Unreachable)
                if is_away and self._model.name not in self._budget.answering:
                    raise JudgeFailed(f"{error} ({self._resume_hint()})") from error
                if loop.time() >= until if is_away else tries >= self._patience.tries:
                    raise JudgeFailed(f"{error} (after {tries} tries; {self._resume_hint()})") from error
                pause = sane(error.retry_after, self._patience.longest_pause)
            await asyncio.sleep(pause or backoff(tries, self._patience.first_pause))

    def _resume_hint(self) -> str:
        return f"replies and open batches are stored in {self._store.path}; run the same command to continue"


async def _try_briefly(work: Awaitable[None]) -> None:
    """Do what may as well be left undone."""
    with suppress(Transient, Fatal, TimeoutError):
        async with asyncio.timeout(_TIDYING):
            await work


async def _shield(work: Awaitable[_Item]) -> _Item:
    """Return the outcome of work that should not stop half done: when told to stop, it has a moment left."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=GRACE)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
