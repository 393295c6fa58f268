"""Judging by the workers of a Dask cluster, with one store, one budget and one gate.

This process stays the only one that reads and writes the store, reserves from the budget and closes the gate;
workers do nothing but calls. So everything that holds for one process holds for a cluster: no limit can be
exceeded by workers that do not know of one another, a server that asks for a pause is left alone by all of
them, and who dies takes along nothing but the calls it had under way.

The model is made on the workers: its keys are those of their environment, and an address such as 127.0.0.1 is
the worker's own. It works in a thread of its own, so that a model that blocks does not silence the worker.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import threading
import traceback
import weakref
from collections.abc import Awaitable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from rageval.clusters import asking_for_rageval, connecting, require_rageval
from rageval.errors import MissingPackage, UsageError
from rageval.judges._asking import backoff
from rageval.judges._database import as_json, reply_as_record, reply_of, secrets_in, without
from rageval.judges.base import Fatal, Lost, Model, Reply, Request, Transient, Unreachable
from rageval.judges.models import model_named

PULSE = 5.0  # seconds without news after which a worker says that there are none
_Outcome = Reply | Exception
_Numbered = tuple[int, _Outcome]
SILENCE = 60.0  # seconds without a sign of life after which a worker counts as lost
_PARTING = 2.0  # seconds for a last word
_Item = TypeVar("_Item")
PATIENCE = 10.0  # seconds that a cluster may take to answer
ALONE = 60.0  # seconds to wait for a worker while there is none
LOOK = 1.0  # seconds between looks at who is there
_GRACE = 1.0  # seconds that the first worker waits for the others
DEATHS = 3  # in a row, without a reply between them: then it is the model that kills


class OnCluster:
    """The model of a spec, asked by the workers of the Dask cluster at this address.

    The cluster is joined when the first request is asked, and left by `aclose`.
    """

    def __init__(self, who: str | Model, cluster: str, **options: float) -> None:
        if not isinstance(who, str):
            raise UsageError(
                f"the model {who.name} is an object of this process, but on a cluster ({cluster}) every"
                " worker makes its own: name the judge, such as openai:MODEL"
            )
        model = model_named(who, **options)  # only for its name: nothing is asked from here
        self.name, self.endpoint = model.name, model.endpoint
        self._cluster = cluster
        self._wanted = WantedModel(who, self.name, self.endpoint, (*options.items(),))
        self._crew: asyncio.Task[Crew] | None = None

    async def ask(self, request: Request) -> Reply:
        """Return the reply by way of some worker."""
        if self._crew is None:
            self._crew = asyncio.create_task(_joined(self._cluster, self._wanted))
        # A call that is cancelled must not cancel the joining that all others wait for.
        crew = await asyncio.shield(self._crew)
        return await crew.ask(request)

    async def aclose(self) -> None:
        """Leave the cluster."""
        joining, self._crew = self._crew, None
        if joining is None:
            return
        joining.cancel()  # if it has not come to an end
        await asyncio.wait([joining])
        if not joining.cancelled() and joining.exception() is None:
            await joining.result().close()


async def _joined(cluster: str, wanted: WantedModel) -> Crew:
    crew = Crew(cluster, wanted)
    await crew.join()
    return crew


@dataclass(frozen=True, slots=True)
class WantedModel:
    """The model that is to be asked, and how it is named in the store: a worker must mean the same."""

    spec: str
    name: str
    endpoint: str
    options: tuple[tuple[str, float], ...] = ()  # for who makes the model


class Asker:
    """An actor of Dask: requests are given to it some at a time, outcomes are taken from it as they come."""

    def __init__(self, wanted: WantedModel) -> None:
        self._model = _made(wanted)
        self._secrets = secrets_in(os.environ)
        self._came: list[_Numbered] = []
        self._news = asyncio.Event()  # of the worker's loop
        self._loop = asyncio.new_event_loop()
        # A loop of its own: the worker's loop also answers the scheduler, which takes a silent worker for
        # dead.
        threading.Thread(target=_run, args=(self._loop,), name="rageval-asking", daemon=True).start()
        # The worker forgets the actor when the job ends, however it ends; the thread must end with it.
        weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)

    async def give(self, lot: Sequence[tuple[int, Request]]) -> None:
        """Begin to ask."""
        workers_loop = asyncio.get_running_loop()
        for number, request in lot:
            # Calls run on the asking loop; what comes is handed back to the worker's, which alone touches
            # `_came`.
            asyncio.run_coroutine_threadsafe(self._ask(number, request, workers_loop), self._loop)

    async def take(self) -> list[_Numbered]:
        """Return what has come since the last time; after a while also if nothing has."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PULSE):
                await self._news.wait()
        self._news.clear()
        # Swapped, not cleared: nothing that comes meanwhile is lost.
        came, self._came = self._came, []
        return came

    async def stop(self) -> None:
        """Leave no call and no connection behind."""
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_end(self._model), self._loop))
        self._news.set()  # nobody is to be kept waiting

    async def _ask(self, number: int, request: Request, workers_loop: asyncio.AbstractEventLoop) -> None:
        came = await _outcome(self._model.ask(request), self._secrets)
        workers_loop.call_soon_threadsafe(self._keep, number, came)

    def _keep(self, number: int, came: _Outcome) -> None:
        self._came.append((number, came))
        self._news.set()


def _made(wanted: WantedModel) -> Model:
    """Return the model, if the worker means the same by its name; errors are of a kind that can travel."""
    try:
        model = model_named(wanted.spec, **dict(wanted.options))
    except MissingPackage as error:
        raise UsageError(str(error)) from None
    # The store files replies by name and endpoint: another model under the same name would be mixed up with
    # it.
    if (model.name, model.endpoint) != (wanted.name, wanted.endpoint):
        raise UsageError(
            f"would ask {model.name} at {model.endpoint}, and not {wanted.name} at {wanted.endpoint}: name"
            " the address in the judge, or set the same base URL everywhere"
        )
    return model


async def _outcome(asked: Coroutine[Any, Any, Reply], secrets: list[str]) -> _Outcome:
    """Return what comes of a call, without the worker's secrets or tracebacks that could hold some."""
    try:
        said = as_json(reply_as_record(await asked))
        return reply_of(json.loads(without(said, secrets)))
    except Transient as error:
        # Rebuilt from plain parts: an SDK's errors may hold keys, or fail to be pickled.
        kind = Unreachable if isinstance(error, Unreachable) else Transient
        return kind(without(str(error), secrets), error.retry_after, error.throttled)
    except Fatal as error:
        return Fatal(without(str(error), secrets))
    except Exception:  # a bug of the model: it is told where the job was begun
        return RuntimeError(without(traceback.format_exc(), secrets))


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _end(model: Model) -> None:
    calls = asyncio.all_tasks() - {asyncio.current_task()}
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    if hasattr(model, "aclose"):
        await model.aclose()


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
        """Return the reply by way of this worker; raises what the model raises there."""
        # Never used again, so a late outcome cannot settle another call.
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
            # Neither ends but by an error, and either's error means that the worker is gone.
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
            # Whatever has gathered while the last lot was on its way travels together.
            lot, self._lot = self._lot, []
            await _heard(self._asker.give(lot))

    async def _take(self) -> None:
        while True:
            came: list[_Numbered] = await _heard(self._asker.take())
            for number, outcome in came:
                self._settle(number, outcome)

    def _settle(self, number: int, outcome: Reply | Exception) -> None:
        failed = isinstance(outcome, Transient) and not outcome.throttled
        self._failures = self._failures + 1 if failed else 0
        self._rests_until = self._loop.time() + backoff(self._failures) if failed else 0.0
        _, future = self._waiting.get(number, (0.0, None))
        # Cancelled meanwhile.
        if future is None or future.done():
            return
        if isinstance(outcome, Reply):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)


async def _heard(answer: Awaitable[_Item]) -> _Item:
    """Return the worker's answer; `TimeoutError` if it is silent."""
    async with asyncio.timeout(SILENCE):
        return await answer


class Crew:
    """Those who ask; made, used and closed within one event loop."""

    def __init__(self, cluster: str, wanted: WantedModel) -> None:
        self._cluster = cluster
        self._wanted = wanted
        self._workers: dict[str, Worker] = {}
        self._jobs: dict[str, asyncio.Task[None]] = {}  # by worker, from before it begins until it goes
        self._ready = asyncio.Event()  # enough have begun, or nobody will
        self._trouble: Exception | None = None  # what ends the job
        self._deaths, self._last_death = 0, -math.inf
        self._was_anybody = False

    async def join(self) -> None:
        """Connect to the cluster; `UsageError` if none answers."""
        with connecting(self._cluster):
            from distributed import Client

            how = {"asynchronous": True, "timeout": PATIENCE, "set_as_default": False}
            self._client = Client(self._cluster, **how)
            try:
                await self._client
            except BaseException:
                await self._client.close()
                raise
        self._watching = asyncio.create_task(self._watch())

    async def ask(self, request: Request) -> Reply:
        """Return the reply by way of some worker; `Lost` if the worker went away."""
        worker = await self._next()
        try:
            reply = await worker.ask(request)
        except Fatal as error:
            raise Fatal(f"{error}; so says the worker {worker.address} of its own environment") from None
        # Only deaths in a row, with no reply between them, end the job.
        self._deaths = 0
        return reply

    async def close(self) -> None:
        """Leave no call on the workers, and no connection."""
        workers, tasks = [*self._workers.values()], [self._watching, *self._jobs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(worker.dismiss() for worker in workers))
        await self._client.close()

    async def _next(self) -> Worker:
        """Return the worker that has least to do, as soon as there is one."""
        while self._trouble is None and not (self._workers and self._ready.is_set()):
            if not self._workers:
                self._ready.clear()
            try:
                async with asyncio.timeout(ALONE):
                    await self._ready.wait()
            except TimeoutError:
                self._end(self._deserted())
        if self._trouble is not None:
            raise self._trouble
        return min(self._workers.values(), key=lambda worker: worker.burden)

    def _deserted(self) -> Exception:
        if self._was_anybody:
            return Fatal(f"no worker is left in the cluster {self._cluster}, and none came in {ALONE:g} s")
        return UsageError(
            f"--dask {self._cluster}: no worker there has begun within {ALONE:g} s; start some with"
            f" 'dask worker {self._cluster}', or wait until those that are there have time"
        )

    async def _watch(self) -> None:
        """Engage who comes, and forget who went."""
        with self._client.as_current():  # else an actor would not find its client
            while self._trouble is None:
                try:
                    there = {*await self._client.nthreads()}
                except OSError as error:
                    self._end(Fatal(f"the cluster {self._cluster} does not answer any more: {error}"))
                    return
                for address, job in [*self._jobs.items()]:
                    if job.done() or address not in there:
                        job.cancel()
                        del self._jobs[address]
                for address in there - self._jobs.keys():
                    self._jobs[address] = asyncio.create_task(self._engage(address))
                await asyncio.sleep(LOOK)

    async def _engage(self, address: str) -> None:
        """All that one worker does, until it goes."""
        try:
            said = await self._client.run(asking_for_rageval(), workers=[address], on_error="return")
            require_rageval(said.get(address))
            where: dict[str, Any] = {"workers": [address], "allow_other_workers": False}
            asker = await self._client.submit(Asker, self._wanted, actor=True, pure=False, **where)
        except Exception as error:
            if not isinstance(error, OSError) and address in await self._client.nthreads():
                self._end(UsageError(f"--dask {self._cluster}: the worker {address}: {error}"))
            return  # it went away; if not, the next look finds it again
        worker = self._workers[address] = Worker(address, asker)
        self._was_anybody = True
        if len(self._workers) >= len(self._jobs):
            self._ready.set()
        else:  # the first one is not to get everything
            asyncio.get_running_loop().call_later(_GRACE, self._ready.set)
        why = "it went away"
        try:
            why = await worker.serve()
        finally:
            self._gone(worker, f"{self._wanted.name}: its worker was lost ({address}: {why})")

    def _gone(self, worker: Worker, why: str) -> None:
        """Without this worker; if they die one after the other while they ask, nobody is to ask any more."""
        del self._workers[worker.address]
        since = worker.busy_since
        if since is not None and since > self._last_death:  # else it went together with the last one
            self._deaths, self._last_death = self._deaths + 1, asyncio.get_running_loop().time()
        if self._deaths >= DEATHS:
            said = "workers in a row were lost while they asked; their logs say whether the model kills them"
            self._end(Fatal(f"{why}; {DEATHS} {said}, or whether memory is short"))
        worker.lose(why)

    def _end(self, trouble: Exception) -> None:
        """Let all that wait for a worker fail."""
        self._trouble = self._trouble or trouble
        self._ready.set()


__all__ = ["OnCluster"]
