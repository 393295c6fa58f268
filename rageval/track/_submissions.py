"""The runs that were handed in: which are valid, whose they are, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rageval.checking import validation
from rageval.checking.findings import ERROR
from rageval.checking.tracks import track_named
from rageval.errors import InputError
from rageval.files.answers import read_answers
from rageval.files.jsonl import as_line
from rageval.files.opening import BOM, head
from rageval.files.questions import read_questions
from rageval.files.trec import RUN
from rageval.records import Question
from rageval.text import problem_of_id, visible
from rageval.track._ledger import digest

OF_RUNS = "run"  # the track whose submissions are rankings
_MOST = 100  # findings of a file that are kept


class Submission(msgspec.Struct, frozen=True):
    """A file that was handed in. `first` is the first error of one that is not valid."""

    file: str
    run: str
    valid: bool
    errors: int
    warnings: int
    topics: int
    sha256: str
    first: str = ""


class _Said(NamedTuple):
    """A line of what a check found."""

    file: str
    line: int
    level: str
    message: str


def files_in(folder: Path) -> list[Path]:
    """Return the files that were handed in, by name; those whose names begin with a dot are none."""
    if not folder.is_dir():
        raise InputError(f"{visible(str(folder))}: no such folder; expected one of runs")
    found = [
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    if not found:
        raise InputError(f"{visible(str(folder))}: holds no files, expected runs")
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def checked(folder: Path, track: str, topics: Any) -> tuple[list[Submission], list[_Said]]:
    """Return every file with whether it is valid, and what was found in it."""
    # Once, and not while a run is read: what is wrong with the topics is no participant's fault.
    known = None if topics is None else {each.query_id: each for each in read_questions(topics)}
    found: list[Submission] = []
    said: list[_Said] = []
    owners: dict[str, str] = {}
    for path in files_in(folder):
        name = path.relative_to(folder).as_posix()
        one, findings = _checked(path, name, track, known)
        # Scores are kept by the run's name; the second would take the place of the first.
        if one.valid and one.run in owners:
            message = f"a second run called {visible(one.run)}, the first is {visible(owners[one.run])}"
            one = msgspec.structs.replace(one, valid=False, errors=one.errors + 1, first=message)
            findings.append(_Said(name, 1, ERROR, message))
        if one.valid:
            owners[one.run] = name
        found.append(one)
        said += findings[:_MOST]
    return found, said


def _checked(
    path: Path, name: str, track: str, topics: Mapping[str, Question] | None
) -> tuple[Submission, list[_Said]]:
    said: list[_Said] = []
    errors = warnings = 0
    run, number = "", 0
    try:
        result = validation(str(path), track, topics)
        for finding in result:
            # The first error is kept however many warnings came before it.
            if len(said) < _MOST or (finding.level == ERROR and not errors):
                said.append(_Said(name, finding.line, finding.level, finding.message))
            errors = result.errors
        errors, warnings = result.errors, result.warnings
        if not errors:
            run, number = _named(path, track)
    except InputError as error:
        errors += 1
        # Only the first line, and without the organiser's path, as participants read it.
        said.append(_Said(name, 1, ERROR, str(error).split("\n")[0].replace(str(path), name)))
    first = next((each.message for each in said if each.level == ERROR), "")
    return Submission(name, run, not errors, errors, warnings, number, digest(path), first), said


def _named(path: Path, track: str) -> tuple[str, int]:
    """Return what a valid run is called, and how many topics it has."""
    if track == OF_RUNS:
        from rageval.scoring.sources import read_run

        return _tag(path) or path.name, len(dict(read_run(str(path)).ranked()))
    if columns := track_named(track).columns:
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
    """Return what a run calls itself: the last column of its first line; nothing of a run in JSON."""
    lines = [line for line in head(str(path)).removeprefix(BOM).splitlines() if line.strip()]
    columns = lines[0].split(b"\t") if RUN.is_tabbed(lines[0]) else lines[0].split()
    tag = columns[-1].strip().decode("utf-8", "replace") if len(columns) == RUN.width else ""
    return tag if tag and problem_of_id(tag) is None else ""


def lines_of(submissions: Iterable[Submission]) -> Iterator[str]:
    """Yield a line a file."""
    return (as_line(msgspec.to_builtins(each)) for each in submissions)


def read_submissions(path: Path) -> list[Submission]:
    """Return what `lines_of` wrote."""
    decode = msgspec.json.Decoder(Submission).decode
    return [decode(line) for line in path.read_bytes().splitlines()]


def finding_lines(said: Sequence[Any]) -> Iterator[str]:
    """Yield a line a finding."""
    return (as_line(each._asdict()) for each in said)
