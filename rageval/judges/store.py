"""The store of replies: what was once paid for is never paid for again.

One SQLite file that any number of processes may use at the same time. A reply is found by the key of its
question; each is one transaction, so that whatever ends the process, nothing acknowledged is lost.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from rageval.errors import OutputError, RagevalError, StoreLost
from rageval.judges.base import Reply, Request
from rageval.judges.batches import Batches
from rageval.judges.claims import Claims
from rageval.judges.database import (
    MEMORY,
    default_path,
    explained,
    insert_reply,
    on_network,
    open_database,
    rescued,
    transaction,
)
from rageval.judges.exchange import ADDED, CONFLICT, SAME, Imported, import_lines, import_rows
from rageval.judges.stored import (
    STORABLE,
    Stored,
    as_json,
    checksum,
    line_of,
    refuse_credentials,
    reply_as_record,
    reply_of,
    request_as_record,
    request_of,
    secrets_in,
    without,
)

_PAGE = 500  # keys read at a time, so that a long export holds no other process up


class Store:
    """Replies by key, in one file; opened to be written unless `read_only`."""

    def __init__(
        self,
        path: str | Path | None = None,
        read_only: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = str(path or default_path())
        self.read_only = read_only
        self._damaged: set[str] = set()
        self._lock = threading.RLock()
        self._secrets = secrets_in(os.environ)
        self._connection = open_database(self.path, read_only)
        (self._usual_sync,) = self._connection.execute("PRAGMA synchronous").fetchone()
        self._file = None if read_only or self.path == MEMORY else os.stat(self.path)
        self._loss: str | None = None
        self._claims = Claims(self._connection, clock)
        self.batches = Batches(self.writing, self.reading)
        self.owner = self._claims.owner
        self.is_near, self.is_dead = self._claims.is_near, self._claims.is_dead
        self.beat_of = self._claims.beat_of

    @property
    def damaged(self) -> int:
        """How many rows were met that were not as they had been written."""
        return len(self._damaged)

    def get(self, key: str, job: str | None = None) -> Reply | None:
        """The reply to the question with this key; with `job` only what this very job has asked."""
        row = self._row("reply, created, job, checksum", key)
        if row is None or (job is not None and row[2] != job):
            return None
        return self._read(key, *row)

    def put(
        self, key: str, request: Request, reply: Reply, model: str = "", endpoint: str = "", job: str = ""
    ) -> Reply:
        """Keep a reply, in place of an older one, and end the claim on it; the reply as it is kept."""
        if reply.status not in STORABLE:
            raise ValueError(f"a reply that is {reply.status!r} is to be asked for again, not stored")
        said = as_json(reply_as_record(reply))
        answer = without(said, self._secrets)
        stored = (as_json(request_as_record(request)), answer, _now(), job)
        with self.writing() as connection:
            insert_reply(connection, key, model, refuse_credentials(endpoint), *stored)
            self._claims.give(key)
        self._claims.gave([key])
        return reply if answer == said else reply_of(json.loads(answer))

    def claim(self, key: str) -> bool:
        """Whether this process may ask: True makes the question its own, False: another one asks."""
        return self._claims.has(key) or bool(self.claim_all([key]))

    def claim_all(self, keys: Iterable[str]) -> list[str]:
        """Those of the questions that this process may ask, and that are its own from now on."""
        with self.writing():
            taken = [key for key in keys if self._claims.take(key)]
        self._claims.took(taken)
        return taken

    def release(self, *keys: str) -> None:
        """Let others ask those of the questions that were this process's."""
        mine = [key for key in keys if self._claims.has(key)]
        if mine:
            with self.writing():
                for key in mine:
                    self._claims.give(key)
            self._claims.gave(mine)

    def beat(self) -> None:
        """Show other processes that the owner of these claims is alive; often enough is every ten seconds.

        What was written before is then safe from a loss of power, too.
        """
        if not self.read_only:
            with self.writing():
                self._claims.beat()
            self._sync()

    def rows(self) -> Iterator[Stored]:
        """Every stored reply that is as it was written, by key."""
        return filter(None, map(self._stored, self._keys_from("")))

    def export(self) -> Iterator[str]:
        """The store as lines of JSON, by key."""
        return map(line_of, self.rows())

    def import_(self, lines: Iterable[str]) -> Imported:
        """Take over exported replies; what differs from a reply already here is listed, not taken."""
        return import_lines(self, lines)

    def merge(self, other: str | Path) -> Imported:
        """Take over the replies of another store."""
        with Store(other, read_only=True) as source:
            found = import_rows(self, source.rows())
            found.damaged += [f"{source.damaged} rows of {other}"] if source.damaged else []
        return found

    def stats(self) -> dict[str, Any]:
        """How much there is of what; reads every row once, to count the damaged ones."""
        by_model: Counter[str] = Counter()
        by_status: Counter[str] = Counter()
        for row in self.rows():
            by_model[row.model] += 1
            by_status[row.reply.status] += 1
        with self.reading() as connection:
            rows, claims = connection.execute(
                "SELECT (SELECT count(*) FROM replies), (SELECT count(*) FROM claims)"
            ).fetchone()
        whole = sum(by_status.values())
        counts = {"replies": whole, "damaged": rows - whole, "claims": claims}
        return {"path": self.path, **counts, "models": dict(by_model), "statuses": dict(by_status)}

    def show(self, key: str) -> Stored | None:
        """A stored reply with its question; `key` may be shortened as long as it is the only one."""
        if not key.isascii():  # half a character could not even be looked for
            return None
        found = list(islice(self._keys_from(key), 2))
        matching = [known for known in found if known.startswith(key)]
        return self._stored(matching[0]) if len(matching) == 1 else None

    def take_over(self, replies: Iterable[Stored]) -> list[str]:
        """Keep what is new, in one transaction; what has become of each."""
        with self.writing() as connection:
            return [self._take_over(connection, stored) for stored in replies]

    def close(self) -> None:
        """Give back all claims and close the file."""
        with self._lock:
            try:
                if not self.read_only and self._loss is None:
                    with self.writing():
                        self._claims.leave()
            finally:
                self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except RagevalError:
            if error is None:  # else a full disk would hide what came first
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone, errors explained."""
        with self._lock, explained(self.path):
            yield self._connection

    @contextmanager
    def writing(self, durably: bool = False) -> Iterator[sqlite3.Connection]:
        """The connection in a transaction; what is written `durably` survives a loss of power at once."""
        if self.read_only:
            raise OutputError(f"{self.path}: was opened only to be read, so nothing may be asked and stored")
        with self.reading() as connection:
            if connection.in_transaction:  # one of several that share it
                yield connection
                return
            self._require_file()
            if durably:
                connection.execute("PRAGMA synchronous=FULL")
            try:
                with transaction(connection):
                    yield connection
            finally:
                if durably:
                    connection.execute(f"PRAGMA synchronous={self._usual_sync}")

    def _require_file(self) -> None:
        """`StoreLost` if what is written would be nowhere: no transaction of SQLite's would say so."""
        if self._file is None:
            return
        if self._loss is None and not _is_same(self.path, self._file):
            where = rescued(self._connection, self.path)
            self._loss = f"{self.path}: the store was deleted or replaced while it was in use; " + (
                f"what was in it is kept in {where}: go on with --store {where}, or put it back in its place"
                if where
                else "what was in it is lost, and nothing more is asked"
            )
        if self._loss is not None:
            raise StoreLost(self._loss)

    def _sync(self) -> None:
        """Move what was written from the log into the file, synced; what is being read may stay behind."""
        with self.reading() as connection:
            if not connection.in_transaction:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def together(self) -> AbstractContextManager[Any]:
        """All that is written within is one transaction."""
        return nullcontext() if self.read_only else self.writing()

    def _take_over(self, connection: sqlite3.Connection, stored: Stored) -> str:
        here = self.get(stored.key)
        if here is not None:
            alike = (here.status, here.text) == (stored.reply.status, stored.reply.text)
            return SAME if alike else CONFLICT
        request, reply = as_json(request_as_record(stored.request)), as_json(reply_as_record(stored.reply))
        insert_reply(
            connection, stored.key, stored.model, stored.endpoint, request, reply, stored.created, ""
        )
        return ADDED

    def _keys_from(self, key: str) -> Iterator[str]:
        """The keys from this one on, in order, some at a time."""
        equal = "="
        while True:
            query = f"SELECT key FROM replies WHERE key >{equal} ? ORDER BY key LIMIT {_PAGE}"
            with self.reading() as connection:
                page = [found for (found,) in connection.execute(query, (key,))]
            if not page:
                return
            yield from page
            key, equal = page[-1], ""

    def _row(self, columns: str, key: str) -> Any:
        """The row of a key; None if there is none, or SQLite cannot make sense of it."""
        with self.reading() as connection:
            try:
                return connection.execute(f"SELECT {columns} FROM replies WHERE key = ?", (key,)).fetchone()
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
                    raise
        self._damaged.add(key)
        return None

    def _stored(self, key: str) -> Stored | None:
        row = self._row("reply, created, job, checksum, model, endpoint, request", key)
        reply = self._read(key, *row[:4]) if row else None
        if row is None or reply is None:
            return None
        created, (model, endpoint, asked) = row[1], row[4:]
        try:
            stored = Stored(key, model, endpoint, request_of(json.loads(asked)), reply, created)
            genuine = stored.is_genuine()
        except (TypeError, ValueError):
            genuine = False
        if not genuine:
            self._damaged.add(key)
        return stored if genuine else None

    def _read(self, key: str, answer: str, created: str, job: str, written: str) -> Reply | None:
        """The reply, if the row is as it was written; a damaged row is as good as none."""
        try:
            if checksum(key, answer, created, job) == written:
                return reply_of(json.loads(answer))
        except (TypeError, ValueError):
            pass
        self._damaged.add(key)
        return None


def _is_same(path: str, file: os.stat_result) -> bool:
    """Whether the file under this path is still the one."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    except OSError:  # a disk that is away for a moment says so when something is written
        return True
    return os.path.samestat(found, file) or on_network(path)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
