"""The file behind the store: opened safely, whatever disk it is on, or refused with a reason.

And the claims in it: while one process asks a question, no other process pays for the same answer. A claim
belongs to an owner, and an owner shows that it is alive by counting up its beat. Whoever waits for a claim
watches the beat by its own steady clock, so that no wall clock, set right or wrong, takes part.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from rageval.errors import InputError, OutputError, RagevalError, UsageError
from rageval.judges.base import (
    FILTERED,
    OK,
    REFUSED,
    SCHEMA_FORM,
    TRUNCATED,
    Reply,
    Request,
    Usage,
)

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
    """
    CREATE TABLE ledgers (
        key TEXT PRIMARY KEY, topic TEXT NOT NULL, ledger TEXT NOT NULL, opened TEXT NOT NULL) WITHOUT ROWID;
    """,
)
BEAT = 10.0  # seconds between the beats of an owner
PATIENCE = 60.0  # seconds without a beat after which an owner is dead


def open_database(path: str, read_only: bool = False) -> sqlite3.Connection:
    """Connect to the store, of the newest form and known to be writable; `RagevalError` if not."""
    with explained(path):
        if path != MEMORY and os.path.exists(path) and not os.path.isfile(path):
            raise InputError(f"{path}: is no ordinary file, expected a store of judgements or a new place")
        if read_only:
            connection = _open_to_read(path)
            try:
                _checked(connection, path)
                if not _number(connection, "user_version"):
                    raise InputError(f"{path}: is empty, expected a store of judgements")
            except BaseException:
                connection.close()
                raise
            return connection
        if path != MEMORY:
            Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):  # or SQLite would make it for everybody to read
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _PRIVATE))
        connection = connect(path)
        try:
            _checked(connection, path)
            _choose_journal(connection, path)
            _migrate(connection, path)
            _keep_private(path)
        except BaseException:
            connection.close()
            raise
        return connection


def _keep_private(path: str) -> None:
    """Let nobody else read what was asked and answered, unless a group was let in to write."""
    with suppress(OSError):
        found = os.stat(path)
        mode = stat.S_IMODE(found.st_mode)
        if os.name == "posix" and found.st_uid == os.geteuid() and mode & 0o077 and not mode & stat.S_IWGRP:
            for name in (path, f"{path}-wal", f"{path}-shm"):
                if os.path.exists(name):
                    os.chmod(name, _PRIVATE)


def rescued(connection: sqlite3.Connection, path: str) -> str:
    """Return where what was in a store is kept now that its file is gone; empty if nowhere."""
    beside = f"{path}.rescued-{secrets.token_hex(4)}"
    try:
        # Made first, with private rights: VACUUM INTO takes an empty file, and would make one for everybody
        # to read.
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR, _PRIVATE))
        connection.execute("VACUUM INTO ?", (beside,))
        with closing(connect(beside)) as copy:
            for table in ("claims", "owners", "spending"):  # nobody asks anything on the copy
                copy.execute(f"DELETE FROM {table}")
    except (OSError, sqlite3.Error):
        with suppress(OSError):
            os.unlink(beside)
        return ""
    return beside


def connect(path: str, uri: bool = False) -> sqlite3.Connection:
    """Connect without transactions of its own, so that several threads may use it in turns."""
    connection = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False, uri=uri)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")  # a damaged row is no error
    return connection


def _open_to_read(path: str) -> sqlite3.Connection:
    """Also from a folder where nothing may be written, as long as no other process is writing."""
    if not os.path.isfile(path):
        raise InputError(f"{path}: there is no such store of judgements")
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


def _checked(connection: sqlite3.Connection, path: str) -> sqlite3.Connection:
    """Return the connection, if the file is empty or a store that this rageval can read."""
    filled = _number(connection, "schema_version")  # first: another process may be filling it just now
    if filled and _number(connection, "application_id") != _OURS:
        raise InputError(f"{path}: is a database, but not a store of judgements; name another file")
    if (version := _number(connection, "user_version")) > len(MIGRATIONS):
        raise InputError(
            f"{path}: was written by a newer rageval (store version {version}, expected at most"
            f" {len(MIGRATIONS)}); update rageval or name another file"
        )
    return connection


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _choose_journal(connection: sqlite3.Connection, path: str) -> None:
    """Choose a write-ahead log, or the slower journal on network disks and where the log does not work."""
    wanted = "DELETE" if on_network(path) else "WAL"
    taken = _switched(connection, wanted)
    # A file system without shared memory refuses WAL silently and answers with the old mode.
    if taken not in (wanted.lower(), "memory"):
        taken = _switched(connection, "DELETE")
    # With NORMAL a loss of power cannot corrupt a WAL; the other journal needs a sync a commit.
    connection.execute(f"PRAGMA synchronous={'NORMAL' if taken == 'wal' else 'FULL'}")


def _switched(connection: sqlite3.Connection, mode: str) -> str:
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
    found = _mounted_on_a_mac() if sys.platform == "darwin" else _mounted(mounts)
    # The innermost mount that holds the file is the one with the longest name.
    around = [(len(folder), kind) for folder, kind in found if _is_within(place, folder)]
    return bool(around) and max(around)[1].startswith(_NETWORK)


def _mounted(mounts: str) -> list[tuple[str, str]]:
    """Return each folder that a disk is mounted at, and the kind of its file system, as Linux lists them."""
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    return [(folder.replace(r"\040", " "), kind) for _, folder, kind, *_ in map(str.split, lines)]


def _mounted_on_a_mac() -> list[tuple[str, str]]:
    """Return the same as macOS lists them: `//me@host/share on /Volumes/share (smbfs, nodev)`."""
    try:
        done = subprocess.run(["/sbin/mount"], capture_output=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return re.findall(r"(?m)^.*? on (/.*) \((\w+)", done.stdout.decode("utf-8", "surrogateescape"))


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    """Brings the file to the newest form, in one transaction that also shows that it can be written."""
    with transaction(connection):
        _checked(connection, path)  # again: another process may just have made the file
        for script in MIGRATIONS[_number(connection, "user_version") :]:
            for statement in filter(str.strip, script.split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id={_OURS}")
        connection.execute(f"PRAGMA user_version={len(MIGRATIONS)}")


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
    sqlite3.SQLITE_FULL: "the disk is full; make room and run the same command again",
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
        found = _in_our_words(path, error)
        if found is None:
            raise
        raise found from error
    except RagevalError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: the store cannot be opened ({error.strerror}); {_ELSEWHERE}") from error


def _damaged(path: str) -> InputError:
    return InputError(f"{path}: is damaged; export what can be read and import it into a new store")


def _in_our_words(path: str, error: sqlite3.DatabaseError) -> RagevalError | None:
    """Return what a user can do something about; None for what is a bug of ours."""
    # The low byte is the primary code, whatever the extended one says.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return InputError(f"{path}: is not a store of judgements; name another file")
    # A head that no SQLite writes, and a table that is gone, are errors without a code of their own.
    is_ruined = str(error).startswith(("unsupported file format", "no such "))
    if code == sqlite3.SQLITE_CORRUPT or is_ruined:
        return _damaged(path)
    if code not in _REASONS:
        return None
    return OutputError(f"{path}: {_REASONS[code]} (what was acknowledged before is kept)")


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
        self._seen: dict[str, tuple[int, float]] = {}  # owner -> (its beat, when it was first seen so)
        self._beaten = clock() - BEAT

    def take(self, key: str) -> bool:
        """Make the key this owner's, within a transaction; False while a living owner has it."""
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
        if self._clock() - self._beaten < BEAT:
            return
        self._connection.execute(
            "INSERT INTO owners VALUES (?, 1) ON CONFLICT (owner) DO UPDATE SET beat = beat + 1",
            (self.owner,),
        )
        self._beaten = self._clock()

    def leave(self) -> None:
        """Free everything of this owner."""
        self._bury(self.owner)
        self._mine.clear()

    def _bury(self, owner: str) -> None:
        self._connection.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        self._connection.execute("DELETE FROM owners WHERE owner = ?", (owner,))
        self._seen.pop(owner, None)

    def is_near(self, owner: str) -> bool:
        """Tell whether the owner is a process of this machine, where the system knows whether it is there."""
        return owner.rsplit(":", 2)[0] == self._place and os.name == "posix"

    def beat_of(self, owner: str) -> int:
        """Return how often the owner has shown that it is alive."""
        row = self._connection.execute("SELECT beat FROM owners WHERE owner = ?", (owner,)).fetchone()
        return row[0] if row else 0

    def is_dead(self, owner: str) -> bool:
        """Tell whether its process is gone, or its beat has not moved for as long as one may be patient."""
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


# What a request and a reply are as text, in columns and in the lines that stores exchange.
STORABLE = (OK, REFUSED, TRUNCATED, FILTERED)  # all that a model has said; an error says nothing
_OF_SECRETS = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)(_|$)", re.IGNORECASE)
_SHORTEST_SECRET = 16  # what is shorter might be a word of the reply


def as_json(value: Any) -> str:
    """Write compact text without anything that a database or a terminal could stumble over."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _filled(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that say something."""
    return {field.name: value for field in fields(record) if (value := getattr(record, field.name))}


def request_as_record(request: Request) -> dict[str, Any]:
    """Return everything of the request, so that its key can be checked anywhere."""
    said = {field.name: getattr(request, field.name) for field in fields(request) if field.name in _TYPES}
    return {name: value for name, value in said.items() if name not in _LATER or value != _LATER[name]}


def reply_as_record(reply: Reply) -> dict[str, Any]:
    """Return the reply without its empty fields."""
    return {**_filled(reply), "usage": _filled(reply.usage)}


def request_of(record: Mapping[str, Any]) -> Request:
    """Return the request of a record; `ValueError` if it is none."""
    known = _known(Request, record)
    turns = known.pop("turns", ())
    if not all(
        isinstance(turn, list | tuple) and [type(text) for text in turn] == [str] * 2 for turn in turns
    ):
        raise ValueError(f"expected turns as pairs of texts, found {turns!r:.80}")
    return Request(**known, turns=tuple(map(tuple, turns)))


def reply_of(record: Mapping[str, Any]) -> Reply:
    """Return the reply of a record; `ValueError` if it is none."""
    known = _known(Reply, record)
    known["usage"] = Usage(**_known(Usage, known.get("usage", {})))
    known["dropped"] = tuple(known.get("dropped", ()))
    return Reply(**known)


def _known(kind: type[Any], record: Any) -> dict[str, Any]:
    """Return what this version knows of a record, which a newer one may have written; checks the types."""
    if not isinstance(record, Mapping):
        raise ValueError(f"expected a {kind.__name__.lower()} as an object, found {record!r:.80}")
    names = [field.name for field in fields(kind) if field.name in _TYPES]
    known = {name: record[name] for name in names if name in record}
    for name, value in known.items():
        if not isinstance(value, _TYPES[name]) or isinstance(value, bool):
            raise ValueError(f"expected another type in {name}, found {value!r:.80}")
    return known


_NUMBER = (int, float)
_TYPES: dict[str, Any] = {
    **dict.fromkeys(
        ("system", "user", "name", "form", "status", "text", "detail", "served", "request_id"), str
    ),
    **dict.fromkeys(("max_tokens", "sample", "input", "output", "cached", "reasoning"), int),
    **dict.fromkeys(("schema", "usage", "sent", "sampling"), Mapping),
    "temperature": (*_NUMBER, type(None)),
    "latency": _NUMBER,
    **dict.fromkeys(("dropped", "turns"), (list, tuple)),
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


def refuse_credentials(endpoint: str) -> str:
    """Return the endpoint, unless it holds a password: an endpoint is stored and shown.

    >>> refuse_credentials("https://api.example/v1")
    'https://api.example/v1'
    """
    if "@" in endpoint.partition("://")[2].partition("/")[0]:
        raise UsageError("the base URL holds a user name or password; give the key in the environment")
    return endpoint
