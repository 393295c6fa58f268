"""Entries are read by processes of their own, so that one that kills or stops its reader harms no other."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO

import msgspec

from rageval.checking.findings import ERROR
from rageval.errors import OutputError
from rageval.track._listing import Entry
from rageval.track._reader import READY, EntryFinding, EntryJob, EntryRead

_PATIENCE = 3  # times its seconds that a file may take on a machine that is busy with something else
_TOGETHER = 100  # entries that a process reads; so that work is linear when each of them ends one
_START = 30  # seconds that a process may take to begin
# With the modules that this process has, and nothing from the folder it stands in.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from rageval.track._reader import main; main()"
)
_Line = bytes | None


def read_apart(job: EntryJob, entries: Sequence[Entry]) -> Iterator[EntryRead]:
    """Yield what came of each entry, in their order.

    One process reads many. After it died, or ran out of memory, the entry it was at is read by a process of
    its own: the memory may have been that of the entries before.
    """
    at, alone = 0, False
    while at < len(entries):
        batch = entries[at : at + (1 if alone else _TOGETHER)]
        done = 0
        for found in _batch(job, batch):
            if isinstance(found, EntryRead):
                done += 1
                alone = False
                yield found
                continue
            # Time is each entry's own, so that nothing would be different if it was read alone.
            if done == 0 or found.is_certain:
                done += 1
                alone = False
                yield EntryRead(errors=1, said=[EntryFinding(1, ERROR, found.reason)])
            else:
                alone = True
        at += done


class _Lost(msgspec.Struct, frozen=True):
    """Why an entry was not read; `is_certain` if it was no matter of the entries before."""

    reason: str
    is_certain: bool = False


def _batch(job: EntryJob, entries: Sequence[Entry]) -> Iterator[EntryRead | _Lost]:
    """Yield what a process says of these; the last may be that it was lost."""
    listed = tuple((each.name, each.size) for each in entries)
    process = _started()
    assert process.stdin is not None
    assert process.stdout is not None
    lines: SimpleQueue[_Line] = SimpleQueue()
    try:
        threading.Thread(target=_taken, args=(process.stdout, lines), daemon=True).start()
        _tell(process.stdin, pickle.dumps(job._replace(entries=listed), pickle.HIGHEST_PROTOCOL))
        _await(lines)
        for each in entries:
            seconds = job.limits.seconds_for(each.size)
            try:
                line = lines.get(timeout=_PATIENCE * seconds)
            except Empty:
                yield _Lost(_late(seconds), is_certain=True)
                return
            if not line or not line.endswith(b"\n"):  # it ended, perhaps within a line
                yield _died(process.wait(), seconds)
                return
            found = msgspec.json.decode(line, type=EntryRead)
            if found.no_memory:
                yield _Lost(
                    f"takes more than {job.limits.memory:,} bytes of memory to read (--limit memory=…)"
                )
                return
            yield found
    finally:
        process.kill()
        process.wait()
        with suppress(OSError):  # it did not read to the end
            process.stdin.close()


def _started() -> subprocess.Popen[bytes]:
    # Not `-m`, which would take modules from the working directory; `-I` alone would lack what only this
    # process knows of (PYTHONPATH, packages of the user).
    path = json.dumps([each for each in sys.path if each])
    options = ["-I", "-B", *(["-X", "utf8"] if sys.flags.utf8_mode else [])]
    try:
        return subprocess.Popen(
            [sys.executable, *options, "-c", _PROGRAM, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise OutputError(f"no process can be started to read the runs: {error.strerror}") from error


def _tell(stream: IO[bytes], job: bytes) -> None:
    with suppress(OSError):  # it ended already, which is seen where its lines end
        stream.write(job)
        stream.close()


def _await(lines: SimpleQueue[_Line]) -> None:
    """Wait until the process has begun; it read nothing yet, so that no entry is at fault if it does not."""
    with suppress(Empty):
        if lines.get(timeout=_START) == READY + b"\n":
            return
    raise OutputError("the process that reads the runs did not begin; is this a whole Python?")


def _taken(stream: IO[bytes], lines: SimpleQueue[_Line]) -> None:
    """Hand lines on, and None at the end."""
    with stream:
        for line in stream:
            lines.put(line)
    lines.put(None)


def _late(seconds: int) -> str:
    return f"took more than {seconds:,} s to read (--limit seconds=…)"


def _died(code: int, seconds: int) -> _Lost:
    if sys.platform != "win32" and code == -signal.SIGXCPU:
        return _Lost(_late(seconds), is_certain=True)
    how = f"signal {-code}" if code < 0 else f"code {code}"
    return _Lost(f"ended the process that read it ({how})")
