"""Batches that a provider works on for hours: kept from before they are handed over until they are taken.

An intent is written before a provider is told, because a reply can be lost, or who waits for it be killed,
when the batch is already there to be paid. Its place is taken by the batch once its id is known.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime

from rageval.errors import UsageError

INTENDED, OPEN, DONE, FAILED = "intended", "open", "done", "failed"
_Access = Callable[..., AbstractContextManager[sqlite3.Connection]]


@dataclass(frozen=True, slots=True)
class Batch:
    """What was handed to a provider at once, by the keys of its questions."""

    id: str
    provider: str
    keys: tuple[str, ...]
    state: str
    created: str


class Batches:
    """The batches in a store."""

    def __init__(self, writing: _Access, reading: _Access) -> None:
        self._writing = writing
        self._reading = reading

    def add(self, id: str, provider: str, keys: Iterable[str], state: str = OPEN) -> None:
        """Keep a batch that the provider has accepted, or is about to be told."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._writing(durably=True) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO batches VALUES (?, ?, ?, ?, ?)",
                (id, provider, json.dumps(list(keys)), state, now),
            )

    def accepted(self, intent: str, id: str) -> None:
        """The provider has accepted what was intended, under this id."""
        with self._writing(durably=True) as connection:
            connection.execute("UPDATE batches SET id = ?, state = ? WHERE id = ?", (id, OPEN, intent))

    def drop(self, intent: str) -> None:
        """The provider has not accepted what was intended."""
        with self._writing() as connection:
            connection.execute("DELETE FROM batches WHERE id = ? AND state = ?", (intent, INTENDED))

    def mark(self, id: str, state: str) -> None:
        """Say what has become of a batch."""
        with self._writing() as connection:
            changed = connection.execute("UPDATE batches SET state = ? WHERE id = ?", (state, id)).rowcount
        if not changed:
            raise UsageError(f"there is no batch {id!r} in this store")

    def all(self, state: str | None = None) -> list[Batch]:
        """The batches, oldest first; with `state` only those that are in it."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT * FROM batches WHERE state = coalesce(?, state) ORDER BY created, id", (state,)
            ).fetchall()
        return [Batch(id, who, tuple(json.loads(keys)), now, when) for id, who, keys, now, when in rows]
