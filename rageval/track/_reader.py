"""The process that reads entries: it validates each file, says what it found, and may fail without harm.

`_apart` starts it, tells it what to read on standard input, and takes a line of JSON for each file.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from rageval.checking import validation
from rageval.checking.findings import ERROR
from rageval.checking.tracks import track_named
from rageval.errors import InputError
from rageval.files.answers import read_answers
from rageval.files.kinds import tag_of
from rageval.files.whole import open_regular
from rageval.records import Question
from rageval.scoring.sources import read_run
from rageval.text import problem_of_id, visible
from rageval.track._listing import EntryLimits

OF_RUNS = "run"  # the track whose submissions are rankings
READY = b"ready"
MOST = 100  # findings of a file that are kept
_LONGEST = 500  # characters of a finding
_OPEN_FILES = 64


class EntryFinding(NamedTuple):
    """What was found in a line of an entry."""

    line: int
    level: str
    message: str


class EntryRead(msgspec.Struct, frozen=True):
    """What came of an entry: what it is called, how many topics it has, what was found."""

    run: str = ""
    errors: int = 0
    warnings: int = 0
    topics: int = 0
    said: list[EntryFinding] = []
    no_memory: bool = False


class EntryJob(NamedTuple):
    """What the process needs to know: by whose rules files are read, and within what limits."""

    folder: str
    track: str
    topics: Mapping[str, Question] | None
    judged: frozenset[str] | None  # topics of the qrels
    limits: EntryLimits
    entries: tuple[tuple[str, int], ...]  # name and size


def main() -> None:
    """Read what standard input names; write a line for each file."""
    job: EntryJob = pickle.load(sys.stdin.buffer)
    # Whatever else prints goes nowhere, so that it is not taken for a line.
    with os.fdopen(os.dup(1), "wb") as results:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

        def tell(line: bytes) -> None:
            results.write(line + b"\n")
            results.flush()

        tell(READY)
        _limit(job.limits)
        for name, size in job.entries:
            _limit_time(job.limits.seconds_for(size))
            try:
                found = read(Path(job.folder, name), name, job)
            except MemoryError:
                tell(msgspec.json.encode(EntryRead(no_memory=True)))
                os._exit(0)  # what is left of this process is not worth much
            except Exception as error:  # a fault of ours is no reason to stop the others
                text = f"reading it failed ({type(error).__name__}); please report this as a fault of rageval"
                found = EntryRead(errors=1, said=[EntryFinding(1, ERROR, text)])
            tell(msgspec.json.encode(found))


def _limit(limits: EntryLimits) -> None:
    """Limit memory, files and what is written, where the system can."""
    import signal

    # Ctrl-C reaches all processes of a terminal; the one that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _set("RLIMIT_AS", limits.memory)
    _set("RLIMIT_FSIZE", limits.size)  # rows that are not in order are sorted in temporary files
    _set("RLIMIT_NOFILE", _OPEN_FILES)
    _set("RLIMIT_CORE", 0)


def _limit_time(seconds: int) -> None:
    """Let the next file take so long, from now on."""
    _set("RLIMIT_CPU", int(time.process_time()) + 1 + seconds)


def _set(name: str, limit: int) -> None:
    """Set a limit of this process; Windows has none, and macOS knows some that it does not keep."""
    try:
        import resource
    except ImportError:
        return
    what = getattr(resource, name, None)
    if what is None:
        return
    _, most = resource.getrlimit(what)
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    with suppress(OSError, ValueError):
        resource.setrlimit(what, (limit, most))


def read(path: Path, name: str, job: EntryJob) -> EntryRead:
    """Return what is in a file, and what is wrong with it."""
    said: list[EntryFinding] = []
    errors = warnings = 0
    run, topics = "", 0
    try:
        open_regular(path).close()
        result = validation(str(path), job.track, job.topics)
        for finding in result:
            # The first error is kept however many warnings came before it.
            if len(said) < MOST or (finding.level == ERROR and not errors):
                said.append(_said(finding.line, finding.level, finding.message))
            errors = result.errors
        errors, warnings = result.errors, result.warnings
        if not errors:
            run, topics = _named(path, job)
    except InputError as error:
        errors += 1
        # Only the first line, and without the organiser's path, as participants read it.
        said.append(_said(1, ERROR, str(error).split("\n")[0].replace(str(path), name)))
    except OSError as error:
        errors += 1
        said.append(_said(1, ERROR, f"cannot be read: {error.strerror or type(error).__name__}"))
    return EntryRead(run, errors, warnings, topics, said)


def _said(line: int, level: str, message: str) -> EntryFinding:
    short = message if len(message) <= _LONGEST else message[:_LONGEST] + "…"
    return EntryFinding(line, level, short.encode("utf-8", "backslashreplace").decode())


def _named(path: Path, job: EntryJob) -> tuple[str, int]:
    """Return what a valid run is called, and how many topics it has."""
    if job.track == OF_RUNS:
        topics = {query for query, _ in read_run(str(path)).ranked()}
        if job.judged is not None and not topics & job.judged:
            theirs, asked = (min(names, default="") for names in (topics, job.judged))
            raise InputError(
                f"none of its {len(topics):,} topics, such as {visible(theirs)!r}, is judged; expected some"
                f" such as {visible(asked)!r}"
            )
        return _tag(path) or path.name, len(topics)
    if columns := track_named(job.track).columns:
        rows = [line.split("\t") for line in path.read_text("utf-8-sig").splitlines() if line.strip()]
        place, topic = columns.index("run_id"), columns.index("topic_id")
        return rows[0][place].strip(), len({row[topic].strip() for row in rows})
    runs: dict[str, int] = {}
    for answer in read_answers(str(path)):
        runs[answer.run_id] = runs.get(answer.run_id, 0) + 1
    # The leaderboard has a row a file, so a file is of one run.
    if len(runs) != 1:
        shown = ", ".join(map(visible, list(runs)[:3])) or "none"
        raise InputError(f"holds answers of {len(runs)} runs ({shown}), expected one run a file")
    return next(iter(runs.items()))


def _tag(path: Path) -> str:
    """Return what a run calls itself, if that is a name."""
    tag = tag_of(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return tag if tag and problem_of_id(tag) is None else ""
