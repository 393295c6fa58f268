"""What runs on a worker: it asks a model from there, and keeps what comes until it is fetched.

The model is made here: its keys are those of the worker's environment, and an address such as 127.0.0.1 is
the worker's own. It works in a thread of its own, so that a model that blocks does not silence the worker.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import traceback
import weakref
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rageval.errors import MissingPackage, UsageError
from rageval.judges.base import Fatal, Model, Reply, Request, Transient, Unreachable
from rageval.judges.models import model_named
from rageval.judges.stored import as_json, reply_as_record, reply_of, secrets_in, without

PULSE = 5.0  # seconds without news after which a worker says that there are none
Outcome = Reply | Exception
Numbered = tuple[int, Outcome]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The model that is to be asked, and how it is named in the store: a worker must mean the same."""

    spec: str
    name: str
    endpoint: str
    options: tuple[tuple[str, float], ...] = ()  # for who makes the model


class Asker:
    """An actor of Dask: requests are given to it some at a time, outcomes are taken from it as they come."""

    def __init__(self, wanted: Wanted) -> None:
        self._model = made(wanted)
        self._secrets = secrets_in(os.environ)
        self._came: list[Numbered] = []
        self._news = asyncio.Event()  # of the worker's loop
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_run, args=(self._loop,), name="rageval-asking", daemon=True).start()
        weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)

    async def give(self, lot: Sequence[tuple[int, Request]]) -> None:
        """Begin to ask."""
        workers_loop = asyncio.get_running_loop()
        for number, request in lot:
            asyncio.run_coroutine_threadsafe(self._ask(number, request, workers_loop), self._loop)

    async def take(self) -> list[Numbered]:
        """What has come since the last time; after a while also if nothing has."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PULSE):
                await self._news.wait()
        self._news.clear()
        came, self._came = self._came, []
        return came

    async def stop(self) -> None:
        """Leave no call and no connection behind."""
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_end(self._model), self._loop))
        self._news.set()  # nobody is to be kept waiting

    async def _ask(self, number: int, request: Request, workers_loop: asyncio.AbstractEventLoop) -> None:
        came = await outcome(self._model.ask(request), self._secrets)
        workers_loop.call_soon_threadsafe(self._keep, number, came)

    def _keep(self, number: int, came: Outcome) -> None:
        self._came.append((number, came))
        self._news.set()


def made(wanted: Wanted) -> Model:
    """The model, if the worker means the same by its name; errors are of a kind that can travel."""
    try:
        model = model_named(wanted.spec, **dict(wanted.options))
    except MissingPackage as error:
        raise UsageError(str(error)) from None
    if (model.name, model.endpoint) != (wanted.name, wanted.endpoint):
        raise UsageError(
            f"would ask {model.name} at {model.endpoint}, and not {wanted.name} at {wanted.endpoint}: name"
            " the address in the judge, or set the same base URL everywhere"
        )
    return model


async def outcome(asked: Coroutine[Any, Any, Reply], secrets: list[str]) -> Outcome:
    """What comes of a call, without the worker's secrets, and without tracebacks that could hold some."""
    try:
        said = as_json(reply_as_record(await asked))
        return reply_of(json.loads(without(said, secrets)))
    except Transient as error:
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
