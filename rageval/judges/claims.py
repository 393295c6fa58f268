"""Claims: while one process asks a question, no other process pays for the same answer.

A claim belongs to an owner, and an owner shows that it is alive by counting up its beat. Whoever waits for a
claim watches the beat by its own steady clock, so that no wall clock, set right or wrong, takes part.
"""

from __future__ import annotations

import os
import secrets
import socket
import sqlite3
import time
from collections.abc import Callable, Iterable

BEAT = 10.0  # seconds between the beats of an owner
PATIENCE = 60.0  # seconds without a beat after which an owner is dead


def place() -> str:
    """Where process numbers mean the same: this machine, and this container of it."""
    try:
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


class Claims:
    """The claims of one owner, in a database that others share."""

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], float] = time.monotonic) -> None:
        self._connection = connection
        self._clock = clock
        self._place = place()
        self.owner = f"{self._place}:{os.getpid()}:{secrets.token_hex(8)}"
        self._mine: set[str] = set()
        self._seen: dict[str, tuple[int, float]] = {}  # owner -> (its beat, when it was first seen so)
        self._beaten = clock() - BEAT

    def take(self, key: str) -> bool:
        """Within a transaction: make the key this owner's; False while a living owner has it."""
        if key in self._mine:
            return True
        row = self._connection.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
        if row and not self.is_dead(row[0]):
            return False
        if row:
            self._bury(row[0])
        self.beat()
        self._connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (key, self.owner))
        return True

    def took(self, keys: Iterable[str]) -> None:
        """After the transaction."""
        self._mine.update(keys)

    def has(self, key: str) -> bool:
        """Whether the key is this owner's."""
        return key in self._mine

    def give(self, key: str) -> None:
        """Within a transaction: the key is free again."""
        self._connection.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self.owner))

    def gave(self, keys: Iterable[str]) -> None:
        """After the transaction."""
        self._mine.difference_update(keys)

    def beat(self) -> None:
        """Show that this owner is alive, if it is time to."""
        if self._clock() - self._beaten < BEAT:
            return
        self._connection.execute(
            "INSERT INTO owners VALUES (?, 1) ON CONFLICT (owner) DO UPDATE SET beat = beat + 1",
            (self.owner,),
        )
        self._beaten = self._clock()

    def leave(self) -> None:
        """Everything of this owner is free again."""
        self._bury(self.owner)
        self._mine.clear()

    def _bury(self, owner: str) -> None:
        self._connection.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        self._connection.execute("DELETE FROM owners WHERE owner = ?", (owner,))
        self._seen.pop(owner, None)

    def is_near(self, owner: str) -> bool:
        """Whether the owner is a process of this machine, of which the system says whether it is there."""
        return owner.rsplit(":", 2)[0] == self._place and os.name == "posix"

    def beat_of(self, owner: str) -> int:
        """How often the owner has shown that it is alive."""
        row = self._connection.execute("SELECT beat FROM owners WHERE owner = ?", (owner,)).fetchone()
        return row[0] if row else 0

    def is_dead(self, owner: str) -> bool:
        """Its process is gone, or its beat has not moved for as long as one may be patient."""
        if self._has_ended(owner):
            return True
        beat, now = self.beat_of(owner), self._clock()
        before, since = self._seen.get(owner, (None, now))
        if beat != before:
            self._seen[owner] = (beat, now)
            return False
        return now - since > PATIENCE

    def _has_ended(self, owner: str) -> bool:
        if not self.is_near(owner):  # elsewhere a signal may not ask, or may kill
            return False
        try:
            os.kill(int(owner.rsplit(":", 2)[1]), 0)
        except ProcessLookupError:
            return True
        except OSError:
            pass
        return False
