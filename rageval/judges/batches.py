"""Batches that a provider works on for hours: their ids are kept before anybody waits for them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime

from rageval.errors import UsageError

OPEN, DONE, FAILED = "open", "done", "failed"
_Access = Callable[[], AbstractContextManager[sqlite3.Connection]]


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

    def add(self, id: str, provider: str, keys: Iterable[str]) -> None:
        """Keep the id of a batch that the provider has just accepted."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO batches VALUES (?, ?, ?, ?, ?)",
                (id, provider, json.dumps(list(keys)), OPEN, now),
            )

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
