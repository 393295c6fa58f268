"""What asking live and asking in batches have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from rageval.errors import OutputError, StoreLost, UsageError
from rageval.judges.base import Model, Request
from rageval.judges.budget import Budget
from rageval.judges.claims import BEAT
from rageval.judges.gate import FIRST_PAUSE, LONGEST_PAUSE
from rageval.judges.store import Store
from rageval.judges.stored import refuse_credentials

Shard = tuple[int, int]  # this share, counted from 0, of so many


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
    first_pause: float = FIRST_PAUSE
    longest_pause: float = LONGEST_PAUSE


USUAL = Patience()
GRACE = 2.0  # seconds that calls under way may take to come back once the job is to end
_TIDYING = 10.0  # seconds that may be spent on closing connections


def check(model: Model, budget: Budget, shard: Shard | None) -> None:
    """What would only fail after a call that was paid for."""
    refuse_credentials(model.endpoint)
    budget.check_prices(model.name)
    if shard is not None and not 0 <= shard[0] < shard[1]:
        raise UsageError(f"shard={shard!r}: expected a share, counted from 0, and the number of shares")


def shared(
    requests: Iterable[tuple[int, Request]], model: Model, shard: Shard | None
) -> Iterator[tuple[int, str, Request]]:
    """Number, key and request of what is in this share: keys are random, so the shares are about equal."""
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
