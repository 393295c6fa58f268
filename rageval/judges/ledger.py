"""What the jobs on one store spend together: a limit holds for all that ask at the same time.

Each job keeps a row of what it has spent and what its calls under way may cost. A job counts the rows of all
if it found somebody at work when it began, and of those that have begun since; one that begins when nobody is
at work begins a new account. A job whose process is killed stays in the account, with its calls under way
taken as paid.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rageval.judges.store import Store


@dataclass(frozen=True, slots=True)
class Others:
    """What other jobs on the store have come to: calls made, dollars spent or promised.

    `may_be_over`: all of it may be of jobs on other machines that ended before this one began.
    """

    calls: int = 0
    money: float = 0.0
    may_be_over: bool = False


class Ledger:
    """The account of one job on one store, which the job may open several times."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._before: set[str] = set()  # jobs in the account that this one found
        self._has_company = False  # whether somebody was at work when this one began
        self._unsure: dict[str, int] = {}  # owners on other machines, with the beat that was found
        self._has_begun = False

    def open(self, store: Store) -> None:
        """Begin to work, for the first time or again."""
        self._store = store
        store.beat()
        if not self._has_begun:
            with store.writing() as connection:
                self._join(connection)
            self._has_begun = True

    @contextmanager
    def turn(self) -> Iterator[Others]:
        """What others have come to; none of them spends while this lasts."""
        with self._store.writing() as connection:
            if self._unsure:
                self._look_again()
            rows = connection.execute("SELECT job, calls, spent + held FROM spending").fetchall()
            left_out = {self._job} if self._has_company else {self._job, *self._before}
            counted = [row for row in rows if row[0] not in left_out]
            yield Others(sum(row[1] for row in counted), sum(row[2] for row in counted), bool(self._unsure))

    def keep(self, calls: int, spent: float, held: float, is_at_work: bool = True) -> None:
        """Say what this job has come to."""
        row = (self._job, self._store.owner, calls, spent, held, is_at_work)
        with self._store.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO spending VALUES (?, ?, ?, ?, ?, ?)", row)

    def _join(self, connection: sqlite3.Connection) -> None:
        """Enter the account of those at work; if nobody is, begin a new one."""
        rows = connection.execute("SELECT job, owner, active FROM spending WHERE job != ?", (self._job,))
        found = rows.fetchall()
        owners = {owner for _, owner, is_at_work in found if is_at_work and not self._store.is_dead(owner)}
        self._before = {job for job, *_ in found}
        self._has_company = bool(owners)
        near = {owner for owner in owners if self._store.is_near(owner)}
        if not near:
            self._unsure = {owner: self._store.beat_of(owner) for owner in owners}
        if not owners:
            connection.execute("DELETE FROM spending WHERE job != ?", (self._job,))

    def _look_again(self) -> None:
        """Whether those on other machines were at work, or had ended without a word, when this job began."""
        if any(self._store.beat_of(owner) != beat for owner, beat in self._unsure.items()):
            self._unsure = {}
        else:
            self._unsure = {
                owner: beat for owner, beat in self._unsure.items() if not self._store.is_dead(owner)
            }
            self._has_company = bool(self._unsure)
