"""The store of replies: what was once paid for is never paid for again.

One SQLite file that any number of processes may use at the same time. A reply is found by the key of its
question; each is one transaction, so that whatever ends the process, nothing acknowledged is lost. Replies
are text there, as in the JSON lines that stores exchange. Batches that a provider works on for hours are kept
from before they are handed over until they are taken: an intent is written before a provider is told, because
a reply can be lost, or who waits for it be killed, when the batch is already there to be paid.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from rageval.errors import InputError, OutputError, Place, RagevalError, StoreLost, UsageError
from rageval.files.writing import make_kept_folder
from rageval.judges.base import (
    ENGINE_FACTS,
    FILTERED,
    OK,
    REFUSED,
    SCHEMA_FORM,
    TRUNCATED,
    Reply,
    Request,
    Usage,
    as_json,
)
from rageval.text import visible

# --- The file behind the store: opened safely, whatever disk it is on, or refused with a reason.
#
# And the claims in it: while one process asks a question, no other process pays for the same answer. A claim
# belongs to an owner, and an owner shows that it is alive by counting up its beat. Whoever waits for a claim
# watches the beat by its own steady clock, so that no wall clock, set right or wrong, takes part.

_BUSY = 30.0  # seconds to wait for another process to finish its transaction
MEMORY = ":memory:"
_OURS = 0x52616745  # application_id: tells our files from other SQLite databases
_SWITCHES = 50
_PRIVATE = 0o600
_NETWORK = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "afs",
    "afpfs",
    "webdav",
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "glusterfs",
    "fuse.sshfs",
)

MIGRATIONS = (
    """
    CREATE TABLE replies (
        key TEXT PRIMARY KEY, model TEXT NOT NULL, endpoint TEXT NOT NULL, request TEXT NOT NULL,
        reply TEXT NOT NULL, created TEXT NOT NULL, job TEXT NOT NULL, checksum TEXT NOT NULL);
    CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE owners (owner TEXT PRIMARY KEY, beat INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE batches (
        id TEXT PRIMARY KEY, provider TEXT NOT NULL, keys TEXT NOT NULL, state TEXT NOT NULL,
        created TEXT NOT NULL);
    """,
    """
    CREATE TABLE spending (
        job TEXT PRIMARY KEY, owner TEXT NOT NULL, calls INTEGER NOT NULL, spent REAL NOT NULL,
        held REAL NOT NULL, active INTEGER NOT NULL) WITHOUT ROWID;
    """,
    "",  # files of this version may hold one more table, which is not read
)
BEAT = 10.0  # seconds between the beats of an owner
PATIENCE = 60.0  # seconds without a beat after which an owner is dead


def open_database(path: str, read_only: bool = False) -> sqlite3.Connection:
    """Connect to the store, of the newest form and known to be writable; `RagevalError` if not."""
    with explained(path):
        if path != MEMORY and os.path.exists(path) and not os.path.isfile(path):
            raise InputError(
                at=Place(path),
                problem="is not a regular file",
                expected="a store of judgements or a new file",
            )
        if read_only:
            connection = _open_to_read(path)
            try:
                _require_readable(connection, path)
                if not _pragma_number(connection, "user_version"):
                    raise InputError(at=Place(path), problem="is empty", expected="a store of judgements")
            except BaseException:
                connection.close()
                raise
            return connection
        if path != MEMORY:
            make_kept_folder(Path(path).parent, 0o700)
            with suppress(FileExistsError):  # or SQLite would make it for everybody to read
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _PRIVATE))
        connection = connect(path)
        try:
            _require_readable(connection, path)
            # A write-ahead log does not work on network disks, and not on every file system.
            journal = "DELETE" if on_network(path) else "WAL"
            taken = _switch_journal(connection, journal)
            # A file system without shared memory refuses WAL silently and answers with the old mode.
            if taken not in (journal.lower(), "memory"):
                taken = _switch_journal(connection, "DELETE")
            # With NORMAL a loss of power cannot corrupt a WAL; the other journal needs a sync a commit.
            connection.execute(f"PRAGMA synchronous={'NORMAL' if taken == 'wal' else 'FULL'}")
            # One transaction, which also shows that the file can be written.
            with transaction(connection):
                _require_readable(connection, path)  # again: another process may just have made the file
                for script in MIGRATIONS[_pragma_number(connection, "user_version") :]:
                    for statement in filter(str.strip, script.split(";")):
                        connection.execute(statement)
                connection.execute(f"PRAGMA application_id={_OURS}")
                connection.execute(f"PRAGMA user_version={len(MIGRATIONS)}")
            # Nobody else reads what was asked and answered, unless a group was let in to write.
            with suppress(OSError):
                status = os.stat(path)
                mode = stat.S_IMODE(status.st_mode)
                if (
                    os.name == "posix"
                    and status.st_uid == os.geteuid()
                    and mode & 0o077
                    and not mode & stat.S_IWGRP
                ):
                    for name in (path, f"{path}-wal", f"{path}-shm"):
                        if os.path.exists(name):
                            os.chmod(name, _PRIVATE)
        except BaseException:
            connection.close()
            raise
        return connection


def rescue_store(connection: sqlite3.Connection, path: str) -> str:
    """Return where what was in a store is kept now that its file is gone; empty if nowhere."""
    copy_path = f"{path}.rescued-{secrets.token_hex(4)}"
    try:
        # Made first, with private rights: VACUUM INTO takes an empty file, and would make one for everybody
        # to read.
        os.close(os.open(copy_path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _PRIVATE))
        connection.execute("VACUUM INTO ?", (copy_path,))
        with closing(connect(copy_path)) as copy:
            for table in ("claims", "owners", "spending"):  # nobody asks anything on the copy
                copy.execute(f"DELETE FROM {table}")
    except (OSError, sqlite3.Error):
        with suppress(OSError):
            os.unlink(copy_path)
        return ""
    return copy_path


def connect(path: str, uri: bool = False) -> sqlite3.Connection:
    """Connect without transactions of its own, so that several threads may use it in turns."""
    connection = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False, uri=uri)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")  # a damaged row is no error
    return connection


def _open_to_read(path: str) -> sqlite3.Connection:
    """Also from a folder where nothing may be written, as long as no other process is writing."""
    if not os.path.isfile(path):
        raise InputError(at=Place(path), problem="there is no such store of judgements")
    address = Path(path).absolute().as_uri()
    connection = connect(f"{address}?mode=ro", uri=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        connection.close()
        # A write-ahead log that is there may hold replies which `immutable` would not see.
        if not isinstance(error, sqlite3.OperationalError) or Path(f"{path}-wal").exists():
            raise
        connection = connect(f"{address}?immutable=1", uri=True)
    return connection


def _require_readable(connection: sqlite3.Connection, path: str) -> sqlite3.Connection:
    """Return the connection, if the file is empty or a store that this rageval can read."""
    filled = _pragma_number(connection, "schema_version")  # first: another process may be filling it just now
    if filled and _pragma_number(connection, "application_id") != _OURS:
        raise InputError(
            at=Place(path), problem="is a database, but not a store of judgements", remedy="name another file"
        )
    # In place of a table, each could make any number of rows.
    query = "SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger') OR sql LIKE '%VIRTUAL%' LIMIT 1"
    if other := connection.execute(query).fetchone():
        raise InputError(
            at=Place(path),
            problem=f"is no store of judgements: it holds {visible(str(other[0]))[:80]}, which is no table",
            remedy="name another file",
        )
    if (version := _pragma_number(connection, "user_version")) > len(MIGRATIONS):
        raise InputError(
            at=Place(path),
            problem=f"was written by a newer rageval (store version {version})",
            expected=f"at most version {len(MIGRATIONS)}",
            remedy="update rageval or name another file",
        )
    return connection


def _pragma_number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _switch_journal(connection: sqlite3.Connection, mode: str) -> str:
    """Ask for a journal mode and return the one in force; SQLite does not wait here when it is busy."""
    tries = 0
    while True:
        try:
            return str(connection.execute(f"PRAGMA journal_mode={mode}").fetchone()[0]).lower()
        except sqlite3.OperationalError as error:
            tries += 1
            # The low byte is the primary code; extended ones (BUSY_SNAPSHOT, …) are kinds of it.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or tries > _SWITCHES:
                raise
            time.sleep(0.02)


def on_network(path: str, mounts: str = "/proc/self/mounts") -> bool:
    """Tell whether the file is on a network disk, where two machines would corrupt a write-ahead log."""
    place = os.path.realpath(path)
    if sys.platform == "win32":  # the letter of a share's drive is resolved, too
        return re.match(r"\\\\(?![?.]\\)|\\\\\?\\UNC\\", place) is not None
    mounted = _mounted(mounts)
    # The innermost mount that holds the file is the one with the longest name.
    around = [
        (len(folder), kind)
        for folder, kind in mounted
        if place == folder or place.startswith(folder.rstrip("/") + "/")
    ]
    return bool(around) and max(around)[1].startswith(_NETWORK)


def _mounted(mounts: str) -> list[tuple[str, str]]:
    """Return each folder that a disk is mounted at, and the kind of its file system; none if unknown."""
    try:
        if sys.platform == "darwin":  # which lists `//me@host/share on /Volumes/share (smbfs, nodev)`
            done = subprocess.run(["/sbin/mount"], capture_output=True, timeout=5, check=True)
            return re.findall(r"(?m)^.*? on (/.*) \((\w+)", done.stdout.decode("utf-8", "surrogateescape"))
        lines = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except (OSError, subprocess.SubprocessError):
        return []
    return [(folder.replace(r"\040", " "), kind) for _, folder, kind, *_ in map(str.split, lines)]


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do all that is within, or nothing."""
    # Takes the write lock at once: a transaction that begins by reading could find its snapshot outdated when
    # it wants to write, and fail without waiting.
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk, for one, has rolled it back already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


_ELSEWHERE = "name a store you may write with --store or RAGEVAL_STORE"
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and run the same command again",
    sqlite3.SQLITE_READONLY: f"cannot be written; {_ELSEWHERE}",
    sqlite3.SQLITE_PERM: f"cannot be written; {_ELSEWHERE}",
    sqlite3.SQLITE_CANTOPEN: f"cannot be opened; {_ELSEWHERE}",
    sqlite3.SQLITE_BUSY: f"another process has kept it locked for {_BUSY:.0f} s; try again later",
    sqlite3.SQLITE_IOERR: "the disk reports an error; is it full, or gone?",
}


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Explain SQLite's and the system's errors in the words of somebody who looks at the file."""
    try:
        yield
    except UnicodeDecodeError as error:  # of SQLite's own message, which repeats what is damaged
        raise _damaged(path) from error
    except sqlite3.DatabaseError as error:
        # The low byte is the primary code, whatever the extended one says.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        explanation: RagevalError | None = None  # else it is a bug of ours
        if code == sqlite3.SQLITE_NOTADB:
            explanation = InputError(
                at=Place(path), problem="is not a store of judgements", remedy="name another file"
            )
        else:
            # A head that no SQLite writes, and a table that is gone, are errors without a code of their own.
            is_ruined = str(error).startswith(("unsupported file format", "no such "))
            if code == sqlite3.SQLITE_CORRUPT or is_ruined:
                explanation = _damaged(path)
            elif code in _REASONS:
                explanation = OutputError(f"{path}: {_REASONS[code]} (replies stored before are kept)")
        if explanation is None:
            raise
        raise explanation from error
    except RagevalError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: the store cannot be opened ({error.strerror}); {_ELSEWHERE}") from error


def _damaged(path: str) -> InputError:
    return InputError(
        at=Place(path), problem="is damaged", remedy="export what can be read and import it into a new store"
    )


def place() -> str:
    """Name where process numbers mean the same: this machine, and this container of it."""
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
        self._beats_seen: dict[str, tuple[int, float]] = {}  # owner -> (its beat, when it was first seen so)
        self._last_beat = clock() - BEAT

    def take(self, key: str) -> bool:
        """Make the key this owner's, within a transaction; False while a living owner has it."""
        if key in self._mine:
            return True
        row = self._connection.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
        if row and not self.is_dead(row[0]):
            return False
        if row:
            self._drop_owner(row[0])
        self.beat()
        self._connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (key, self.owner))
        return True

    def took(self, keys: Iterable[str]) -> None:
        """Remember keys that were taken, after the transaction."""
        self._mine.update(keys)

    def has(self, key: str) -> bool:
        """Tell whether the key is this owner's."""
        return key in self._mine

    def give(self, key: str) -> None:
        """Free the key, within a transaction."""
        self._connection.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self.owner))

    def gave(self, keys: Iterable[str]) -> None:
        """Forget keys that were given back, after the transaction."""
        self._mine.difference_update(keys)

    def beat(self) -> None:
        """Show that this owner is alive, if it is time to."""
        if self._clock() - self._last_beat < BEAT:
            return
        self._connection.execute(
            "INSERT INTO owners VALUES (?, 1) ON CONFLICT (owner) DO UPDATE SET beat = beat + 1",
            (self.owner,),
        )
        self._last_beat = self._clock()

    def leave(self) -> None:
        """Free everything of this owner."""
        self._drop_owner(self.owner)
        self._mine.clear()

    def _drop_owner(self, owner: str) -> None:
        self._connection.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        self._connection.execute("DELETE FROM owners WHERE owner = ?", (owner,))
        self._beats_seen.pop(owner, None)

    def is_near(self, owner: str) -> bool:
        """Tell whether the owner is a process of this machine, where the system knows whether it is there."""
        return owner.rsplit(":", 2)[0] == self._place and os.name == "posix"

    def beat_of(self, owner: str) -> int:
        """Return how often the owner has shown that it is alive."""
        row = self._connection.execute("SELECT beat FROM owners WHERE owner = ?", (owner,)).fetchone()
        return row[0] if row else 0

    def is_dead(self, owner: str) -> bool:
        """Tell whether its process is gone, or its beat has not moved for as long as one may be patient."""
        if self.is_near(owner):  # elsewhere a signal may not ask, or may kill
            try:
                os.kill(int(owner.rsplit(":", 2)[1]), 0)
            except ProcessLookupError:
                return True
            except OSError:
                pass
        beat, now = self.beat_of(owner), self._clock()
        before, since = self._beats_seen.get(owner, (None, now))
        if beat != before:
            self._beats_seen[owner] = (beat, now)
            return False
        return now - since > PATIENCE


# --- What a request and a reply are as text, in columns and in the lines that stores exchange.
STORABLE = (OK, REFUSED, TRUNCATED, FILTERED)  # all that a model has said; an error says nothing
_OF_SECRETS = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)(_|$)", re.IGNORECASE)
_SHORTEST_SECRET = 16  # what is shorter might be a word of the reply


def request_as_record(request: Request) -> dict[str, Any]:
    """Return everything of the request, so that its key can be checked anywhere."""
    fields_of = {name: getattr(request, name) for name in _FIELDS[Request]}
    return {name: value for name, value in fields_of.items() if name not in _LATER or value != _LATER[name]}


def reply_as_record(reply: Reply) -> dict[str, Any]:
    """Return the reply without its empty fields."""
    return {
        **{name: value for name in _FIELDS[Reply] if (value := getattr(reply, name))},
        "usage": {name: value for name in _FIELDS[Usage] if (value := getattr(reply.usage, name))},
    }


def request_of(record: Mapping[str, Any]) -> Request:
    """Return the request of a record; `ValueError` if it is none."""
    fields = _known_fields(Request, record)
    turns = fields.pop("turns", ())
    if not all(
        isinstance(turn, list | tuple) and [type(text) for text in turn] == [str] * 2 for turn in turns
    ):
        raise ValueError(f"expected turns as pairs of texts, found {turns!r:.80}")
    return Request(**fields, turns=tuple(map(tuple, turns)))


def reply_of(record: Mapping[str, Any]) -> Reply:
    """Return the reply of a record; `ValueError` if it is none."""
    fields = _known_fields(Reply, record)
    fields["usage"] = Usage(**_known_fields(Usage, fields.get("usage", {})))
    fields["dropped"] = tuple(fields.get("dropped", ()))
    return Reply(**fields)


def _known_fields(kind: type[Any], record: Any) -> dict[str, Any]:
    """Return what this version knows of a record, which a newer one may have written; checks the types."""
    if not isinstance(record, Mapping):
        raise ValueError(f"expected a {kind.__name__.lower()} as an object, found {record!r:.80}")
    fields = {name: record[name] for name in _FIELDS[kind] if name in record}
    for name, value in fields.items():
        if not isinstance(value, _TYPES[name]) or isinstance(value, bool):
            raise ValueError(f"expected another type in {name}, found {value!r:.80}")
    return fields


_NUMBER = (int, float)
_TYPES: dict[str, Any] = {
    **dict.fromkeys(
        ("system", "user", "name", "form", "status", "text", "detail", "served", "request_id"), str
    ),
    **dict.fromkeys(("max_tokens", "sample", "input", "output", "cached", "reasoning"), int),
    **dict.fromkeys(("schema", "usage", "sent", "sampling", "engine"), Mapping),
    "temperature": (*_NUMBER, type(None)),
    "latency": _NUMBER,
    **dict.fromkeys(("dropped", "turns"), (list, tuple)),
}
_FIELDS = {
    kind: tuple(field.name for field in fields(kind) if field.name in _TYPES)
    for kind in (Request, Reply, Usage)
}
# Of later versions: not written where they say nothing, so that older ones read what they know.
_LATER: dict[str, Any] = {"turns": (), "sampling": {}, "form": SCHEMA_FORM}


def secrets_in(environment: Mapping[str, str]) -> list[str]:
    """Find the keys a process was given, as they would look in JSON."""
    return [
        as_json(value)[1:-1]
        for name, value in environment.items()
        if _OF_SECRETS.search(name) and len(value) >= _SHORTEST_SECRET
    ]


def without(text: str, secrets: list[str]) -> str:
    """Strike every secret out of the text."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def engine_text(facts: Mapping[str, Any]) -> str:
    """Write what computed a reply.

    >>> engine_text({"version": "0.11.0", "engine": "vllm", "dtype": "bfloat16"})
    'vllm 0.11.0 bfloat16'
    """
    return " ".join(visible(str(facts[name])) for name in ENGINE_FACTS if facts.get(name))


def refuse_credentials(endpoint: str) -> str:
    """Return the endpoint, unless it holds a password: an endpoint is stored and shown.

    >>> refuse_credentials("https://api.example/v1")
    'https://api.example/v1'
    """
    if "@" in endpoint.partition("://")[2].partition("/")[0]:
        raise UsageError("the base URL holds a user name or password; give the key in the environment")
    return endpoint


# --- The store.

_PAGE = 500  # keys read at a time, so that a long export holds no other process up
_HEAD = ("key", "model", "endpoint", "created")
_ADDED, _SAME, _CONFLICT = "added", "same", "conflict"
_AT_ONCE = 500  # replies a transaction
INTENDED, OPEN, DONE, FAILED = "intended", "open", "done", "failed"
_Access = Callable[..., AbstractContextManager[sqlite3.Connection]]


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
        # A connection of SQLite's is for one thread at a time; the lock is taken again within a transaction.
        self._lock = threading.RLock()
        # A provider may quote the key back in an error; it must not reach the file.
        self._secrets = secrets_in(os.environ)
        self._connection = open_database(self.path, read_only)
        (self._usual_sync,) = self._connection.execute("PRAGMA synchronous").fetchone()
        # To see later whether the file of this name is still this one.
        self._file = None if read_only or self.path == MEMORY else os.stat(self.path)
        self._loss: str | None = None
        # Two processes on one store must not pay for the same question twice: whoever asks claims it first.
        self._claims = Claims(self._connection, clock)
        self.batches = _StoredBatches(self.writing, self.reading)
        self.owner = self._claims.owner
        self.is_near, self.is_dead = self._claims.is_near, self._claims.is_dead
        self.beat_of = self._claims.beat_of

    @property
    def damaged(self) -> int:
        """How many rows were met that were not as they had been written."""
        return len(self._damaged)

    def get(self, key: str, job: str | None = None) -> Reply | None:
        """Return the reply to the question with this key; with `job` only what this very job has asked."""
        row = self._reply_row("reply, created, job, checksum", key)
        if row is None or (job is not None and row[2] != job):
            return None
        return self._reply_of_row(key, *row)

    def put(
        self, key: str, request: Request, reply: Reply, model: str = "", endpoint: str = "", job: str = ""
    ) -> Reply:
        """Keep a reply, in place of an older one, and end the claim on it; the reply as it is kept."""
        if reply.status not in STORABLE:
            # An error of the network kept as a reply would never be asked again.
            raise ValueError(f"a reply that is {reply.status!r} is to be asked for again, not stored")
        try:
            record = reply_as_record(reply)
            text = as_json(record)
            # What is JSON and of these types will be a reply again.
            _known_fields(Reply, record), _known_fields(Usage, record["usage"])
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            raise Unstorable(f"a reply cannot be stored: {visible(str(error))}") from error
        answer = without(text, self._secrets)
        stored = (as_json(request_as_record(request)), answer, _now(), job)
        with self.writing() as connection:
            _insert_reply(connection, key, model, refuse_credentials(endpoint), *stored)
            self._claims.give(key)
        self._claims.gave([key])
        # Where a secret was cut out, everybody sees the reply as it is kept, now and later.
        return reply if answer == text else reply_of(json.loads(answer))

    def claim(self, key: str) -> bool:
        """Tell whether this process may ask: True makes the question its own, False: another one asks."""
        return self._claims.has(key) or bool(self.claim_all([key]))

    def claim_all(self, keys: Iterable[str]) -> list[str]:
        """Claim all; return those that this process may ask, and that are its own from now on."""
        with self.writing():
            taken = [key for key in keys if self._claims.take(key)]
        # Only after the transaction: what was rolled back was never taken.
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
            # Commits go to a log that is not synced each time, which would slow down thousands of replies a
            # minute. What was written is moved into the file, synced; what is being read may stay behind.
            with self.reading() as connection:
                if not connection.in_transaction:
                    # Passive: it waits for no reader, and does what can be done now.
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def rows(self) -> Iterator[StoredReply]:
        """Yield every stored reply that is as it was written, by key."""
        return filter(None, map(self._stored, self._keys_from("")))

    def export(self) -> Iterator[str]:
        """Write the store as lines of JSON, by key, to exchange and to archive."""
        for stored in self.rows():
            head = {name: getattr(stored, name) for name in _HEAD}
            body = {"request": request_as_record(stored.request), "reply": reply_as_record(stored.reply)}
            yield as_json({**head, **body})

    def import_(self, lines: Iterable[str]) -> Imported:
        """Take over exported replies; what differs from a reply already here is listed, not taken."""
        imported = Imported()
        return _import_rows(self, _read_lines(lines, imported), imported)

    def merge(self, other: str | Path) -> Imported:
        """Take over the replies of another store."""
        # Opened to be read: a store of somebody else's must not change by being merged.
        with Store(other, read_only=True) as source:
            imported = _import_rows(self, source.rows())
            imported.damaged += [f"{source.damaged} rows of {other}"] if source.damaged else []
        return imported

    def stats(self) -> dict[str, Any]:
        """Count how much there is of what; reads every row once, to count the damaged ones."""
        by_model: Counter[str] = Counter()
        by_status: Counter[str] = Counter()
        by_engine: Counter[str] = Counter()
        for row in self.rows():
            by_model[row.model] += 1
            by_status[row.reply.status] += 1
            if row.reply.engine:
                by_engine[engine_text(row.reply.engine)] += 1
        with self.reading() as connection:
            rows, claims = connection.execute(
                "SELECT (SELECT count(*) FROM replies), (SELECT count(*) FROM claims)"
            ).fetchone()
        whole = sum(by_status.values())
        counts = {"replies": whole, "damaged": rows - whole, "claims": claims}
        kinds = {"models": dict(by_model), "statuses": dict(by_status), "engines": dict(by_engine)}
        return {"path": self.path, **counts, **kinds}

    def show(self, key: str) -> StoredReply | None:
        """Find a stored reply with its question; `key` may be shortened as long as it is the only one."""
        if not key.isascii():  # half a character could not even be looked for
            return None
        # Two are enough to see that a shortened key is not the only one.
        keys = list(islice(self._keys_from(key), 2))
        matching = [full_key for full_key in keys if full_key.startswith(key)]
        return self._stored(matching[0]) if len(matching) == 1 else None

    def take_over(self, replies: Iterable[StoredReply]) -> list[str]:
        """Keep what is new, in one transaction; what has become of each."""
        outcomes = []
        with self.writing() as connection:
            for stored in replies:
                here = self.get(stored.key)
                if here is not None:
                    is_same = (here.status, here.text) == (stored.reply.status, stored.reply.text)
                    outcomes.append(_SAME if is_same else _CONFLICT)
                    continue
                columns = as_json(request_as_record(stored.request)), as_json(reply_as_record(stored.reply))
                _insert_reply(
                    connection, stored.key, stored.model, stored.endpoint, *columns, stored.created, ""
                )
                outcomes.append(_ADDED)
        return outcomes

    def close(self) -> None:
        """Give back all claims and close the file."""
        with self._lock:
            try:
                # A store that is lost has no claims to give back.
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
        """Hand out the connection, for this thread alone, errors explained."""
        with self._lock, explained(self.path):
            yield self._connection

    @contextmanager
    def writing(self, durably: bool = False) -> Iterator[sqlite3.Connection]:
        """Hand it out in a transaction; what is written `durably` survives a loss of power at once."""
        if self.read_only:
            raise OutputError(f"{self.path}: was opened read-only, so no reply can be stored")
        with self._lock:
            # SQLite has no transactions within transactions.
            if self._connection.in_transaction:  # one of several that share it, and explains errors
                yield self._connection
                return
        with self.reading() as connection:
            # SQLite writes happily into a deleted file; replies that were paid for would be gone.
            if self._file is not None:
                if self._loss is None and not _is_same(self.path, self._file):
                    # The open connection still sees the deleted file: what is in it is copied out.
                    where = rescue_store(self._connection, self.path)
                    if where:
                        rest = f"its content is in {where}: continue with --store {where}, or move it back"
                    elif not os.path.isdir(os.path.dirname(self.path) or os.curdir):
                        rest = "its folder is gone: if you moved it, continue with --store and its new path"
                    else:
                        rest = "its content could not be copied, and judging stopped"
                    self._loss = f"{self.path}: the store was deleted or replaced while it was in use; {rest}"
                if self._loss is not None:
                    raise StoreLost(self._loss)
            if durably:
                # The id of a batch that is lost with the power cannot be found again, and the batch would be
                # bought twice.
                connection.execute("PRAGMA synchronous=FULL")
            try:
                with transaction(connection):
                    yield connection
            finally:
                if durably:
                    connection.execute(f"PRAGMA synchronous={self._usual_sync}")

    def together(self) -> AbstractContextManager[Any]:
        """Make all that is written within one transaction."""
        return nullcontext() if self.read_only else self.writing()

    def _keys_from(self, key: str) -> Iterator[str]:
        """Yield the keys from this one on, in order, some at a time."""
        equal = "="
        while True:
            # By pages rather than one cursor, so that writing goes on meanwhile and a long export blocks
            # nobody.
            query = (
                f"SELECT key FROM replies WHERE key >{equal} ? AND typeof(key) = 'text'"
                f" ORDER BY key LIMIT {_PAGE}"
            )
            with self.reading() as connection:
                page = [stored for (stored,) in connection.execute(query, (key,))]
            if not page:
                return
            yield from page
            key, equal = page[-1], ""

    def _reply_row(self, columns: str, key: str) -> Any:
        """Return the row of a key; None if there is none, or SQLite cannot make sense of it."""
        with self.reading() as connection:
            try:
                return connection.execute(f"SELECT {columns} FROM replies WHERE key = ?", (key,)).fetchone()
            except sqlite3.DatabaseError as error:
                # The low byte is the kind of error; a damaged page costs its row, anything else is an error
                # of all.
                if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
                    raise
        self._damaged.add(key)
        return None

    def _stored(self, key: str) -> StoredReply | None:
        row = self._reply_row("reply, created, job, checksum, model, endpoint, request", key)
        reply = self._reply_of_row(key, *row[:4]) if row else None
        if row is None or reply is None:
            return None
        created, (model, endpoint, asked) = row[1], row[4:]
        try:
            _require_texts(created, model, endpoint, asked)
            stored = StoredReply(key, model, endpoint, request_of(json.loads(asked)), reply, created)
            # The key is a digest of the question: a row whose question was changed belongs to no key.
            genuine = stored.is_genuine()
        except (TypeError, ValueError, RecursionError):
            genuine = False
        if not genuine:
            self._damaged.add(key)
        return stored if genuine else None

    def _reply_of_row(self, key: str, answer: str, created: str, job: str, written: str) -> Reply | None:
        """Return the reply, if the row is as it was written; a damaged row is as good as none."""
        try:
            if _checksum(key, answer, created, job) == written:
                return reply_of(json.loads(answer))
        except (TypeError, ValueError, RecursionError):
            pass
        self._damaged.add(key)
        return None


def _require_texts(*cells: Any) -> None:
    """`ValueError` where a cell is of another type: SQLite keeps any value in any column."""
    if not all(isinstance(cell, str) for cell in cells):
        raise ValueError("expected text")


class Unstorable(ValueError):
    """A reply that a store could not give back: a plug-in's, with something else than text and numbers."""


def _insert_reply(connection: sqlite3.Connection, key: str, *columns: str) -> None:
    """Within a transaction: write a row, or replace all of one but its key, whose index may be damaged."""
    *_, answer, created, job = columns
    connection.execute(
        "INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
        " model = excluded.model, endpoint = excluded.endpoint, request = excluded.request,"
        " reply = excluded.reply, created = excluded.created, job = excluded.job,"
        " checksum = excluded.checksum",
        (key, *columns, _checksum(key, answer, created, job)),
    )


def default_path() -> Path:
    """Return where judgements are kept: `RAGEVAL_STORE`, or a file in the user's cache folder."""
    configured = os.environ.get("RAGEVAL_STORE")
    if configured:
        return Path(configured).expanduser()
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "rageval" / "judgements.sqlite"


def _is_same(path: str, file: os.stat_result) -> bool:
    """Whether the file under this path is still the one."""
    try:
        now = os.stat(path)
    except FileNotFoundError:
        return False
    except OSError:  # a disk that is away for a moment says so when something is written
        return True
    # File systems over a network may give one file several numbers.
    return os.path.samestat(now, file) or on_network(path)


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply with the question, who was asked, and when."""

    key: str
    model: str
    endpoint: str
    request: Request
    reply: Reply
    created: str

    def is_genuine(self) -> bool:
        """Tell whether the question is the one that the key belongs to."""
        return not self.model or self.request.key(self.model, self.endpoint) == self.key


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _from_line(line: str) -> StoredReply:
    """Return what a line says; `ValueError` with the reason if it is not a stored reply."""
    record = json.loads(line)
    try:
        head = {name: record[name] for name in _HEAD}
        stored = StoredReply(**head, request=request_of(record["request"]), reply=reply_of(record["reply"]))
    except (TypeError, KeyError) as error:
        raise ValueError(f"not a stored reply: {error}") from error
    if not all(isinstance(value, str) for value in head.values()):
        raise ValueError("not a stored reply: expected text as key, model, endpoint and created")
    # A line may have been edited; what would not be stored is not imported either.
    if stored.reply.status not in STORABLE:
        raise ValueError(f"expected a reply that is {', '.join(STORABLE)}, found {stored.reply.status!r:.80}")
    if not stored.is_genuine():
        raise ValueError("the request does not match its key; was the line edited?")
    return stored


def _checksum(*columns: str) -> str:
    """Tell a row that was read as it was written from one that was not."""
    return hashlib.blake2b("\n".join(columns).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(slots=True)
class Imported:
    """What has become of the replies: taken, here already, different from the one here, or unreadable."""

    added: int = 0
    same: int = 0
    conflicts: list[str] = field(default_factory=list)  # keys
    damaged: list[str] = field(default_factory=list)  # where, and what is wrong
    torn: bool = False  # the last line was cut off, as a copy that was interrupted leaves it

    def count(self, key: str, outcome: str) -> None:
        """Count one more reply."""
        self.added += outcome == _ADDED
        self.same += outcome == _SAME
        if outcome == _CONFLICT:
            self.conflicts.append(key)


def _import_rows(store: Store, rows: Iterable[StoredReply], imported: Imported | None = None) -> Imported:
    """Hand replies to a store, several a transaction."""
    imported = imported or Imported()
    remaining = iter(rows)
    # A transaction a reply would take a hundred times as long, one for all would keep others waiting.
    while some := list(islice(remaining, _AT_ONCE)):
        for stored, outcome in zip(some, store.take_over(some), strict=True):
            imported.count(stored.key, outcome)
    return imported


def _read_lines(lines: Iterable[str], imported: Imported) -> Iterator[StoredReply]:
    # A last line that is cut off is an interrupted copy, and no damage.
    trouble = None  # of the line before: only when another follows was it not the last one
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if trouble:
            imported.damaged.append(trouble)
        trouble = None
        try:
            yield _from_line(line)
        except (ValueError, RecursionError) as error:
            trouble = f"line {number}: {error}"
            cut = not line.rstrip().endswith("}")
    if trouble and cut:
        imported.torn = True
    elif trouble:
        imported.damaged.append(trouble)


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """What was handed to a provider at once, by the keys of its questions."""

    id: str
    provider: str
    keys: tuple[str, ...]
    state: str
    created: str


class _StoredBatches:
    """The batches in a store."""

    def __init__(self, writing: _Access, reading: _Access) -> None:
        self._writing = writing
        self._reading = reading

    def add(self, id: str, provider: str, keys: Iterable[str], state: str = OPEN) -> None:
        """Keep a batch that the provider has accepted, or is about to be told."""
        with self._writing(durably=True) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO batches VALUES (?, ?, ?, ?, ?)",
                # Kept before the provider is told (INTENDED): if the answer is lost, the batch can be looked
                # for.
                (id, provider, json.dumps(list(keys)), state, _now()),
            )

    def accepted(self, intent: str, id: str) -> None:
        """Note that the provider has accepted what was intended, under this id."""
        with self._writing(durably=True) as connection:
            connection.execute("UPDATE batches SET id = ?, state = ? WHERE id = ?", (id, OPEN, intent))

    def drop(self, intent: str) -> None:
        """Drop what was intended, which the provider has not accepted."""
        with self._writing() as connection:
            connection.execute("DELETE FROM batches WHERE id = ? AND state = ?", (intent, INTENDED))

    def mark(self, id: str, state: str) -> None:
        """Say what has become of a batch."""
        with self._writing() as connection:
            changed = connection.execute("UPDATE batches SET state = ? WHERE id = ?", (state, id)).rowcount
        if not changed:
            raise UsageError(f"there is no batch {id!r} in this store")

    def all(self, state: str | None = None) -> list[StoredBatch]:
        """Return the batches, oldest first; with `state` only those that are in it."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT * FROM batches WHERE state = coalesce(?, state) ORDER BY created, id", (state,)
            ).fetchall()
        return list(map(_stored_batch, rows))


def _stored_batch(row: Sequence[Any]) -> StoredBatch:
    """Return a batch of a row; `InputError` if somebody changed it, as nobody knows what was bought then."""
    try:
        _require_texts(*row)
        id, provider, keys, state, created = row
        return StoredBatch(id, provider, msgspec.json.decode(keys, type=tuple[str, ...]), state, created)
    except (ValueError, RecursionError):
        raise InputError(
            problem=f"the store holds a damaged batch ({visible(repr(row[0]))[:80]})",
            remedy="use a copy of the store that is whole, or another one with --store",
        ) from None
