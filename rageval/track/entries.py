"""Entries of a track: what lies in its folder, looked at before it is opened, and the process that reads it.

The process validates each file, says what it found, and may fail without harm: `submissions` starts it,
tells it what to read on standard input, and takes a line of JSON for each file.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import stat
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rageval.checking.checks import validation
from rageval.checking.findings import ERROR, Finding, error
from rageval.checking.tables import answers_in
from rageval.checking.tracks import OF_RUNS, OF_TABLES, columns_named
from rageval.core.remark import Scope
from rageval.errors import InputError, Place
from rageval.files.answers import read_answers
from rageval.files.kinds import tag_of
from rageval.files.opening import assigned
from rageval.files.whole import open_regular
from rageval.records import Question
from rageval.scoring.sources import read_run
from rageval.text import problem_of_id, visible

# What lies in the folder of a track, looked at before anything is opened.

_MEGABYTE = 10**6
_REPARSE_POINT = 0x400  # what Windows marks links and junctions with
_KINDS = (
    (stat.S_ISLNK, "link"),
    (stat.S_ISFIFO, "fifo"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)


class EntryLimits(NamedTuple):
    """Limits for one entry of a track.

    Parameters
    ----------
    size
        Bytes of a file.
    seconds
        Seconds of processor time for reading it; each megabyte adds one more.
    memory
        Bytes of memory for reading it.
    """

    size: int = 2**30
    seconds: int = 60
    memory: int = 4 * 2**30

    def changed(self, assignments: tuple[str, ...]) -> EntryLimits:
        """Return the limits after `NAME=NUMBER` words, as typed on the command line (`size=4G`)."""
        return self._replace(**assigned(assignments, self._fields))

    def seconds_for(self, size: int) -> int:
        """Return how long a file of this size may take."""
        return self.seconds + size // _MEGABYTE


class Entry(NamedTuple):
    """Something in the folder: its name from there, its size and digest, or why it is not opened."""

    name: str
    size: int = 0
    sha256: str = ""
    problem: Finding | None = None


def entries_in(folder: Path, limits: EntryLimits) -> list[Entry]:
    """Return all entries, by name; names that begin with a dot are ignored.

    Each is checked before it is opened. Only files are opened, and links are not followed.
    """
    if not os.path.isdir(folder):  # of a name that is too long, too
        raise InputError(
            at=Place(visible(str(folder))), problem="no such folder", expected="a folder of runs"
        )
    entries: list[Entry] = []
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            with os.scandir(folder / inside) as scan:
                names = [item.name for item in scan if not item.name.startswith(".")]
        except OSError as fault:
            if not inside:
                raise InputError(
                    at=Place(visible(str(folder))), problem=f"cannot be read: {fault.strerror}"
                ) from None
            entries.append(Entry(inside, problem=error("unreadable_folder", 1, reason=fault.strerror)))
            continue
        if inside and not names:
            entries.append(Entry(inside, problem=error("empty_folder", 1)))
        for base in names:
            name = f"{inside}/{base}" if inside else base
            if visible(base) != base:
                entries.append(Entry(visible(name), problem=error("hostile_file_name", 1)))
                continue
            looked_at = _inspect(folder / name, name, limits)
            if looked_at is None:
                waiting.append(name)
            else:
                entries.append(looked_at)
    if not entries:
        raise InputError(at=Place(visible(str(folder))), problem="has no files", expected="runs")
    return sorted(entries, key=lambda entry: entry.name)


def _inspect(path: Path, name: str, limits: EntryLimits) -> Entry | None:
    """Return what this is; None for a folder, whose files are entries of their own."""
    try:
        status = os.lstat(path)
        # Windows tells junctions apart from folders by this only.
        is_reparsed = bool(getattr(status, "st_file_attributes", 0) & _REPARSE_POINT)
        for is_kind, kind in _KINDS:
            if is_kind(status.st_mode) or (is_kind is stat.S_ISLNK and is_reparsed):
                return Entry(name, problem=error("no_ordinary_file", 1, kind=kind))
        if stat.S_ISDIR(status.st_mode):
            return None
        if status.st_size > limits.size:
            too_large = error("too_many_bytes", 1, number=status.st_size, limit=limits.size)
            return Entry(name, status.st_size, problem=too_large)
        with open_regular(path) as stream:
            return Entry(name, status.st_size, hashlib.file_digest(stream, "sha256").hexdigest())
    except OSError as fault:
        return Entry(name, problem=error("unopened_file", 1, reason=fault.strerror or str(fault)))


# The process that reads entries.

READY = b"ready"
MOST = 100  # findings of a file that are kept
_LONGEST = 500  # characters of a text in a finding
_OPEN_FILES = 64


class EntryFinding(NamedTuple):
    """What was found in a line of an entry, as it passes from one process to the other."""

    line: int
    level: str
    code: str
    facts: dict[str, Any]

    @classmethod
    def of(cls, finding: Finding) -> EntryFinding:
        """Return what passes of a finding."""
        facts = {name: _short(fact) for name, fact in finding.facts.items()}
        return cls(finding.line, finding.level, finding.code, facts)

    @property
    def message(self) -> str:
        """The finding in words."""
        return str(_short(Finding(self.code, Scope(line=self.line), self.facts, self.level).message))


class EntryRead(msgspec.Struct, frozen=True):
    """The result for an entry: its name, the number of topics, the findings."""

    run: str = ""
    errors: int = 0
    warnings: int = 0
    topics: int = 0
    findings: list[EntryFinding] = []
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
        # Ctrl-C reaches all processes of a terminal; the one that started this one ends it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _set("RLIMIT_AS", job.limits.memory)
        _set("RLIMIT_FSIZE", job.limits.size)  # rows that are not in order are sorted in temporary files
        _set("RLIMIT_NOFILE", _OPEN_FILES)
        _set("RLIMIT_CORE", 0)
        for name, size in job.entries:
            # Of this file alone: the limit is of all that the process takes, and it has read others.
            _set("RLIMIT_CPU", int(time.process_time()) + 1 + job.limits.seconds_for(size))
            try:
                result = read(Path(job.folder, name), name, job)
            except MemoryError:
                tell(msgspec.json.encode(EntryRead(no_memory=True)))
                os._exit(0)  # what is left of this process is not worth much
            except Exception as fault:  # a fault of ours is no reason to stop the others
                result = refused(error("failed_reader", 1, fault=type(fault).__name__))
            tell(msgspec.json.encode(result))


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
    findings: list[EntryFinding] = []
    errors = warnings = 0
    run, topics = "", 0
    try:
        open_regular(path).close()
        result = validation(str(path), job.track, job.topics)
        for finding in result:
            # The first error is kept however many warnings came before it.
            if len(findings) < MOST or (finding.level == ERROR and not errors):
                findings.append(EntryFinding.of(finding))
            errors = result.errors
        errors, warnings = result.errors, result.warnings
        if not errors:
            run, topics = _run_and_topics(path, job)
    except InputError as fault:
        errors += 1
        # Only the first line, and without the organizer's path, as participants read it.
        reason = str(fault.problems[0]).replace(str(path), name)
        findings.append(EntryFinding.of(error("refused_entry", 1, reason=reason)))
    except OSError as fault:
        errors += 1
        reason = fault.strerror or type(fault).__name__
        findings.append(EntryFinding.of(error("unreadable_file", 1, reason=reason)))
    return EntryRead(run, errors, warnings, topics, findings)


def refused(finding: Finding) -> EntryRead:
    """Return the result for an entry that was not read."""
    return EntryRead(errors=1, findings=[EntryFinding.of(finding)])


def _short(fact: Any) -> Any:
    if not isinstance(fact, str):
        return fact
    short = fact if len(fact) <= _LONGEST else fact[:_LONGEST] + "…"
    return short.encode("utf-8", "backslashreplace").decode()


def _run_and_topics(path: Path, job: EntryJob) -> tuple[str, int]:
    """Return what a valid run is called, and how many topics it has."""
    if job.track == OF_RUNS:
        topics = {query for query, _ in read_run(str(path)).ranked()}
        if job.judged is not None and not topics & job.judged:
            theirs, asked = (min(names, default="") for names in (topics, job.judged))
            raise InputError(
                problem=f"none of its {len(topics):,} topics, such as {visible(theirs)!r}, is judged",
                expected=f"topics such as {visible(asked)!r}",
            )
        # What it calls itself counts if that is a name.
        tag = tag_of(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return tag if tag and problem_of_id(tag) is None else path.name, len(topics)
    if columns := columns_named(job.track):
        rows = [line.split("\t") for line in path.read_text("utf-8-sig").splitlines() if line.strip()]
        place, topic = columns.index("run_id"), columns.index("topic_id")
        return rows[0][place].strip(), len({row[topic].strip() for row in rows})
    runs: dict[str, int] = {}
    for answer in answers_in(str(path)).answers if job.track == OF_TABLES else read_answers(str(path)):
        runs[answer.run_id] = runs.get(answer.run_id, 0) + 1
    # The leaderboard has a row a file, so a file is of one run.
    if len(runs) != 1:
        shown = ", ".join(map(visible, list(runs)[:3])) or "none"
        raise InputError(problem=f"has answers of {len(runs)} runs ({shown})", expected="one run per file")
    return next(iter(runs.items()))
