"""The runs that were handed in: which are valid, whose they are, and what is wrong with the others."""

from __future__ import annotations

import hashlib
import json
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import msgspec

from rageval.checking.findings import ERROR, Finding, error, warning
from rageval.checking.tables import answers_in, topics_in
from rageval.checking.tracks import OF_TABLES
from rageval.errors import InputError, OutputError, Place
from rageval.files.answers import NO_ANSWER, read_answers, write_answers
from rageval.files.jsonl import Count, as_line, read_records
from rageval.files.questions import write_questions
from rageval.files.whole import text_of_whole
from rageval.files.writing import write_lines
from rageval.judges.material import DOCUMENTS, gathered
from rageval.logs.readers import stem_of
from rageval.records import Answer, Question
from rageval.text import compatible, visible
from rageval.track.entries import (
    MOST,
    READY,
    Entry,
    EntryFinding,
    EntryJob,
    EntryLimits,
    EntryRead,
    entries_in,
    refused,
)
from rageval.track.plan import ANSWERS_FILE, QUESTIONS_FILE, TrackPlan, source_of
from rageval.track.values import some_of

# Entries are read by processes of their own, so that one that kills or stops its reader harms no other.

_PATIENCE = 3  # times its seconds that a file may take on a machine that is busy with something else
_TOGETHER = 100  # entries that a process reads; so that work is linear when each of them ends one
_START = 30  # seconds that a process may take to begin
# With the modules that this process has, and nothing from the folder it stands in.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from rageval.track.entries import main; main()"
)
_Line = bytes | None


def read_in_processes(job: EntryJob, entries: Sequence[Entry]) -> Iterator[EntryRead]:
    """Yield the result for each entry, in their order.

    One process reads many entries. If it dies or runs out of memory, the entry it was reading is read again
    by its own process: earlier entries may have used the memory.
    """
    position, alone = 0, False
    while position < len(entries):
        batch = entries[position : position + (1 if alone else _TOGETHER)]
        done = 0
        for result in _read_batch(job, batch):
            if isinstance(result, EntryRead):
                done += 1
                alone = False
                yield result
                continue
            # Time is each entry's own, so that nothing would be different if it was read alone.
            if done == 0 or result.is_certain:
                done += 1
                alone = False
                yield refused(result.finding)
            else:
                alone = True
        position += done


class _Lost(NamedTuple):
    """Why an entry was not read; `is_certain` if it was no matter of the entries before."""

    finding: Finding
    is_certain: bool = False


def _read_batch(job: EntryJob, entries: Sequence[Entry]) -> Iterator[EntryRead | _Lost]:
    """Yield what a process says of these; the last may be that it was lost."""
    listed = tuple((entry.name, entry.size) for entry in entries)
    process = _start_reader()
    printed = process.stdout
    assert process.stdin is not None
    assert printed is not None
    lines: SimpleQueue[_Line] = SimpleQueue()

    def hand_on() -> None:
        with printed:
            for line in printed:
                lines.put(line)
        lines.put(None)

    try:
        # By a thread, as a pipe cannot be waited for with a limit of time on every system.
        threading.Thread(target=hand_on, daemon=True).start()
        with suppress(OSError):  # it ended already, which is seen where its lines end
            process.stdin.write(pickle.dumps(job._replace(entries=listed), pickle.HIGHEST_PROTOCOL))
            process.stdin.close()
        # It read nothing before it has begun, so that no entry is at fault if it does not begin.
        first_line: _Line = None
        with suppress(Empty):
            first_line = lines.get(timeout=_START)
        if first_line != READY + b"\n":
            raise OutputError(
                "the process that reads the runs did not start; is the Python installation complete?"
            )
        for entry in entries:
            seconds = job.limits.seconds_for(entry.size)
            try:
                line = lines.get(timeout=_PATIENCE * seconds)
            except Empty:
                yield _Lost(error("late_reader", 1, seconds=seconds), is_certain=True)
                return
            if not line or not line.endswith(b"\n"):  # it ended, perhaps within a line
                code = process.wait()
                if sys.platform != "win32" and code == -signal.SIGXCPU:
                    yield _Lost(error("late_reader", 1, seconds=seconds), is_certain=True)
                    return
                yield _Lost(error("crashed_reader", 1, code=code))
                return
            result = msgspec.json.decode(line, type=EntryRead)
            if result.no_memory:
                yield _Lost(error("too_much_memory", 1, limit=job.limits.memory))
                return
            yield result
    finally:
        process.kill()
        process.wait()
        with suppress(OSError):  # it did not read to the end
            process.stdin.close()


def _start_reader() -> subprocess.Popen[bytes]:
    # Not `-m`, which would take modules from the working directory; `-I` alone would lack what only this
    # process knows of (PYTHONPATH, packages of the user).
    path = json.dumps([folder for folder in sys.path if folder])
    options = ["-I", "-B", *(["-X", "utf8"] if sys.flags.utf8_mode else [])]
    try:
        return subprocess.Popen(
            [sys.executable, *options, "-c", _PROGRAM, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise OutputError(f"cannot start a process to read the runs: {error.strerror}") from error


OF_NO_RUN = (DOCUMENTS, "nuggets", "gold", "")  # run ids of judgements that are of no run
_LONGEST = 100  # characters of a run's name
_SHOWN = 20  # and of one that is longer
_START_OF_NAME, _DIGITS = 80, 16  # of a file's name, and of its digest, where no shorter name is left


class Submission(msgspec.Struct, frozen=True):
    """A submitted file. `first` is the first error of one that is not valid."""

    file: str
    run: str
    valid: bool
    errors: Count
    warnings: Count
    topics: Count
    sha256: str
    first: str = ""


class _FindingLine(NamedTuple):
    """A line of what a check found."""

    file: str
    line: int
    level: str
    message: str
    code: str
    facts: dict[str, Any]


def checked(
    folder: Path,
    track: str,
    topics: Any,
    judged: Iterable[str] | None,
    teams: Path | None,
    limits: EntryLimits,
) -> tuple[list[Submission], list[_FindingLine]]:
    """Return every entry with whether it is valid, and its findings.

    `judged` are the topics of the qrels: a run that has none of them is not valid. `teams` is a file with the
    names to list entries under.
    """
    # Once, and not while a run is read: what is wrong with the topics is no participant's fault.
    asked = None if topics is None else topics_in(topics, track)
    entries = entries_in(folder, limits)
    names = {} if teams is None else read_teams(teams, [entry.name for entry in entries])
    job = EntryJob(str(folder), track, asked, None if judged is None else frozenset(judged), limits, ())
    reading = read_in_processes(job, [entry for entry in entries if not entry.problem])
    read = [next(reading) if entry.problem is None else refused(entry.problem) for entry in entries]
    run_of = [names.get(entry.name, result.run) for entry, result in zip(entries, read, strict=True)]
    for index, (result, run) in enumerate(zip(read, run_of, strict=True)):
        problem = _problem_of(run)
        if not result.errors and problem is not None:
            findings = [*result.findings, EntryFinding.of(problem)]
            read[index] = msgspec.structs.replace(result, errors=1, findings=findings)
    claimed, run_of = run_of, _distinct_names(entries, read, run_of, names)
    for index, (result, run, name) in enumerate(zip(read, claimed, run_of, strict=True)):
        # Most tables name no system, so that there it is no news.
        if run != name and track != OF_TABLES:
            findings = [*result.findings, EntryFinding.of(warning("claimed_name", 1, run=run, name=name))]
            read[index] = msgspec.structs.replace(result, warnings=result.warnings + 1, findings=findings)
    submissions, lines = [], []
    for entry, result, run in zip(entries, read, run_of, strict=True):
        first = next((finding.message for finding in result.findings if finding.level == ERROR), "")
        name = run if _problem_of(run) is None else ""
        counts = result.errors, result.warnings, result.topics
        submissions.append(Submission(entry.name, name, not result.errors, *counts, entry.sha256, first))
        # So many, with the one that makes a file invalid.
        kept = (
            result.findings
            if len(result.findings) <= MOST
            else [*result.findings[: MOST - 1], result.findings[-1]]
        )
        lines += [
            _FindingLine(
                entry.name, finding.line, finding.level, finding.message, finding.code, finding.facts
            )
            for finding in kept
        ]
    return submissions, lines


def _problem_of(name: str, is_given: bool = False) -> Finding | None:
    """Return what is wrong with the name of a run, which a file of teams gave, or the run itself."""
    if len(name) > _LONGEST:
        start = name[:_SHOWN]
        return error("long_name", 1, number=len(name), name=start, limit=_LONGEST, is_given=is_given)
    if visible(name) != name:
        return error("hostile_name", 1, name=name, is_given=is_given)
    if name.casefold() in OF_NO_RUN:
        return error("reserved_name", 1, name=name, is_given=is_given)
    return None


def _distinct_names(
    entries: Sequence[Entry], read: Sequence[EntryRead], runs: Sequence[str], given: Collection[str]
) -> list[str]:
    """Return the names to list entries under: those that claim one name are called after their files.

    Nobody can tell from the files whose name it is, and no entry takes another off the leaderboard. Names
    that the organizer gave stay.
    """

    def after_file(entry: Entry) -> Iterator[str]:
        """Yield names after the file, the last of which nobody else has."""
        if entry.name not in given:
            folder, slash, file = entry.name.rpartition("/")
            stem = stem_of(file)  # known endings of tables, else the last one
            if stem == file:
                stem = file.rpartition(".")[0] or file
            digest = hashlib.sha256(entry.name.encode()).hexdigest()[:_DIGITS]
            start = entry.name[:_START_OF_NAME]
            names = f"{folder}{slash}{stem}", entry.name, f"{start}-{digest}"
            yield from (name for name in names if not _problem_of(name))

    names = list(runs)
    more = [after_file(entry) for entry in entries]
    claims: dict[str, list[int]] = {}
    for index, (result, name) in enumerate(zip(read, names, strict=True)):
        if not result.errors:
            claims.setdefault(_comparable_name(name), []).append(index)
    waiting = list(claims)
    while waiting:
        name = waiting.pop()
        places = claims[name]
        if len(places) < 2:
            continue
        claims[name] = []
        for index in places:
            after = next(more[index], None)
            if after is not None:
                names[index] = after
                waiting.append(_comparable_name(after))
            claims.setdefault(_comparable_name(names[index]), []).append(index)
    return names


def _comparable_name(name: str) -> str:
    """Return what names have in common that a reader, or a disk, takes for the same."""
    return compatible(name).casefold()


def read_teams(path: Path, files: Sequence[str]) -> dict[str, str]:
    """Read the names to list entries under: lines with a file, a tab and a name; each once."""
    expected_files = set(files)
    names: dict[str, str] = {}
    first: dict[str, int] = {}
    shown = visible(str(path))
    text = text_of_whole(path, "a list of teams").removeprefix("\ufeff")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        file, _, name = (part.strip() for part in line.partition("\t"))
        if not file or not name or "\t" in name:
            raise InputError(
                at=Place(shown, number),
                expected="a file, a tab and the name to list it under",
                found=f"{visible(line[:80])!r}",
            )
        if file not in expected_files:
            raise InputError(
                at=Place(shown, number), problem=f"no file {visible(file[:80])} in the folder of runs"
            )
        if problem := _problem_of(name, is_given=True):
            raise InputError(at=Place(shown, number), problem=problem.message)
        for what, key in (("file", file), ("name", _comparable_name(name))):
            if before := first.get(f"{what} {key}"):
                raise InputError(
                    at=Place(shown, number),
                    problem=f"a second line of this {what}, the first is line {before}",
                    expected="each file and each name once",
                )
            first[f"{what} {key}"] = number
        names[file] = name
    return names


def answers_of(plan: TrackPlan, submissions: Iterable[Submission]) -> Iterator[Answer]:
    """Yield the answers of valid entries, each under the name that its entry is listed under."""
    if plan.is_of_tables:
        yield from read_answers(str(plan.out / ANSWERS_FILE))
        return
    for submission in submissions:
        for answer in read_answers(str(plan.folder / submission.file)):
            yield answer._replace(run_id=submission.run)


def write_tables(plan: TrackPlan, submissions: Sequence[Submission], say: Callable[[str], None]) -> list[str]:
    """Write what valid tables hold together as answers and questions; return the names of the files."""
    paths = [str(plan.folder / submission.file) for submission in submissions]
    asked: Mapping[str, Question]
    if plan.topics is not None:
        asked = topics_in(source_of(plan, "topics"), plan.track)
    else:
        material = gathered(paths)
        asked = material.questions
        for remark in material.remarks:
            say(f"validate: {remark}")
    answers_found: list[Answer] = []
    lacking = []
    for submission, path in zip(submissions, paths, strict=True):
        read = answers_in(path, asked)
        if read.strange:  # with topics it would not be valid
            query = visible(read.strange[0].text or read.strange[0].query_id)[:80]
            raise InputError(
                at=Place(visible(submission.file)),
                problem=f"no table has the question of {query!r}",
                remedy="add --topics FILE",
            )
        # What was asked stands in the file of questions.
        answers = [answer._replace(run_id=submission.run, question="") for answer in read.answers]
        answered = {answer.query_id for answer in answers}
        lost = [
            Answer(query, submission.run, (), error=NO_ANSWER) for query in asked if query not in answered
        ]
        answers_found += [*answers, *lost]
        if lost:
            lacking.append(f"{visible(submission.run)} ({len(lost):,})")
    if lacking:
        say(f"validate: questions that a run does not answer count as failed: {some_of(lacking)}")
    write_lines(plan.out / ANSWERS_FILE, write_answers(answers_found, "plain"))
    write_lines(plan.out / QUESTIONS_FILE, write_questions(asked.values()))
    return [ANSWERS_FILE, QUESTIONS_FILE]


def lines_of(submissions: Iterable[Submission]) -> Iterator[str]:
    """Yield a line a file."""
    return (as_line(msgspec.to_builtins(submission)) for submission in submissions)


def read_submissions(path: Path) -> list[Submission]:
    """Return what `lines_of` wrote; `InputError` if somebody changed it to something else."""
    return [submission for _, submission in read_records(str(path), Submission, "a submitted file")]


def finding_lines(findings: Sequence[Any]) -> Iterator[str]:
    """Yield a line a finding."""
    return (as_line(finding._asdict()) for finding in findings)
