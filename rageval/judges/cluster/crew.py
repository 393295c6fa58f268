"""The workers of a cluster, who come and go: each call is given to the one that has least to do."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from rageval.clusters import asking_for_rageval, connecting, require_rageval
from rageval.errors import UsageError
from rageval.judges.base import Fatal, Reply, Request
from rageval.judges.cluster.asker import Asker, Wanted
from rageval.judges.cluster.worker import Worker

PATIENCE = 10.0  # seconds that a cluster may take to answer
ALONE = 60.0  # seconds to wait for a worker while there is none
LOOK = 1.0  # seconds between looks at who is there
GRACE = 1.0  # seconds that the first worker waits for the others
DEATHS = 3  # in a row, without a reply between them: then it is the model that kills


class Crew:
    """Those who ask; made, used and closed within one event loop."""

    def __init__(self, cluster: str, wanted: Wanted) -> None:
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
        """The reply by way of some worker; `Lost` if the worker went away."""
        worker = await self._next()
        try:
            reply = await worker.ask(request)
        except Fatal as error:
            raise Fatal(f"{error}; so says the worker {worker.address} of its own environment") from None
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
        """The worker that has least to do, as soon as there is one."""
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
            asyncio.get_running_loop().call_later(GRACE, self._ready.set)
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
