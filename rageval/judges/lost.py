"""Batches whose ids never came back: was what was intended accepted? Until that is known, nothing is bought.

A reply that is lost on its way, or a process that is killed before it comes, leaves an intent in the store.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rageval.errors import JudgeFailed
from rageval.judges.base import BatchModel, Unclear
from rageval.judges.batches import Batch

LOOKS = 3  # for a batch, before it is taken not to be there: a provider may list it a little later


async def looked_for(model: BatchModel, intent: Batch, known: Collection[str]) -> str | None:
    """The id of what was intended, None if it is not at the provider; `Unclear` if that cannot be said."""
    finder: Any = model
    if not hasattr(finder, "find"):
        raise Unclear(f"{model.name} does not look for batches", later=False)
    found: str | None = await finder.find(intent.id, intent.keys, intent.created, known)
    return found


def wait_or_fail(intent: Batch, unclear: Unclear) -> str:
    """What to say while it is not clear yet; `JudgeFailed` if it never will be."""
    said = f"the id of a batch of {len(intent.keys):,} requests was lost ({intent.created}): {unclear}"
    if unclear.later:
        return f"{said} (--rebuy does not wait, and may pay twice)"
    raise JudgeFailed(
        f"{said}; nothing is bought twice: if the provider's own page shows no such batch, run the same"
        " command with --rebuy"
    )
