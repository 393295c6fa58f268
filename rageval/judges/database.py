"""The file behind the store: opened safely, whatever disk it is on, or refused with a reason."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from rageval.errors import InputError, OutputError, RagevalError
from rageval.judges.stored import checksum

BUSY = 30.0  # seconds to wait for another process to finish its transaction
MEMORY = ":memory:"
_OURS = 0x52616745  # application_id: tells our files from other SQLite databases
_SWITCHES = 50
_PRIVATE = 0o600
_NETWORK = ("nfs", "cifs", "smb", "9p", "afs", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "fuse.sshfs")

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
)


def default_path() -> Path:
    """Where judgements are kept: `RAGEVAL_STORE`, or a file in the user's cache folder."""
    told = os.environ.get("RAGEVAL_STORE")
    return Path(told).expanduser() if told else _cache_folder() / "rageval" / "judgements.sqlite"


def _cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def open_database(path: str, read_only: bool = False) -> sqlite3.Connection:
    """A connection to the store, of the newest form and known to be writable; `RagevalError` if not."""
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
    """Where what was in a store is kept now that its file is gone; empty if nowhere."""
    beside = f"{path}.rescued-{secrets.token_hex(4)}"
    try:
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
    """A connection without transactions of its own, which several threads may use in turns."""
    connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False, uri=uri)
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
        if not isinstance(error, sqlite3.OperationalError) or Path(f"{path}-wal").exists():
            raise
        connection = connect(f"{address}?immutable=1", uri=True)
    return connection


def _checked(connection: sqlite3.Connection, path: str) -> sqlite3.Connection:
    """The connection, if the file is empty or a store that this rageval can read."""
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
    """A write-ahead log where it works; on network disks, or where it does not take, the slower journal."""
    wanted = "DELETE" if on_network(path) else "WAL"
    taken = _switched(connection, wanted)
    if taken not in (wanted.lower(), "memory"):
        taken = _switched(connection, "DELETE")
    connection.execute(f"PRAGMA synchronous={'NORMAL' if taken == 'wal' else 'FULL'}")


def _switched(connection: sqlite3.Connection, mode: str) -> str:
    """The journal mode that is in force after asking for one; SQLite does not wait here when it is busy."""
    tries = 0
    while True:
        try:
            return str(connection.execute(f"PRAGMA journal_mode={mode}").fetchone()[0]).lower()
        except sqlite3.OperationalError as error:
            tries += 1
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or tries > _SWITCHES:
                raise
            time.sleep(0.02)


def on_network(path: str, mounts: str = "/proc/self/mounts") -> bool:
    """Whether the file is on a network disk, where two machines would corrupt a write-ahead log."""
    try:
        lines = Path(mounts).read_text(errors="surrogateescape").splitlines()
    except OSError:
        return False
    place = os.path.realpath(path)
    found = [(folder.replace(r"\040", " "), kind) for _, folder, kind, *_ in map(str.split, lines)]
    around = [(len(folder), kind) for folder, kind in found if _is_within(place, folder)]
    return bool(around) and max(around)[1].startswith(_NETWORK)


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
    """All or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def insert_reply(connection: sqlite3.Connection, key: str, *columns: str) -> None:
    """Within a transaction: write a row, or replace all of one but its key, whose index may be damaged."""
    *_, answer, created, job = columns
    connection.execute(
        "INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
        " model = excluded.model, endpoint = excluded.endpoint, request = excluded.request,"
        " reply = excluded.reply, created = excluded.created, job = excluded.job,"
        " checksum = excluded.checksum",
        (key, *columns, checksum(key, answer, created, job)),
    )


_ELSEWHERE = "name a store you may write with --store or RAGEVAL_STORE"
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; make room and run the same command again",
    sqlite3.SQLITE_READONLY: f"cannot be written; {_ELSEWHERE}",
    sqlite3.SQLITE_PERM: f"cannot be written; {_ELSEWHERE}",
    sqlite3.SQLITE_CANTOPEN: f"cannot be opened; {_ELSEWHERE}",
    sqlite3.SQLITE_BUSY: f"another process has kept it locked for {BUSY:.0f} s; try again later",
    sqlite3.SQLITE_IOERR: "the disk reports an error; is it full, or gone?",
}


@contextmanager
def explained(path: str) -> Iterator[None]:
    """SQLite's and the system's errors in the words of somebody who looks at the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        found = _in_our_words(path, error)
        if found is None:
            raise
        raise found from error
    except RagevalError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: the store cannot be opened ({error.strerror}); {_ELSEWHERE}") from error


def _in_our_words(path: str, error: sqlite3.DatabaseError) -> RagevalError | None:
    """What a user can do something about; None for what is a bug of ours."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return InputError(f"{path}: is not a store of judgements; name another file")
    if code == sqlite3.SQLITE_CORRUPT:
        return InputError(f"{path}: is damaged; export what can be read and import it into a new store")
    if code not in _REASONS:
        return None
    return OutputError(f"{path}: {_REASONS[code]} (what was acknowledged before is kept)")
