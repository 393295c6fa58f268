"""The runs that were handed in: which are valid, whose they are, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rageval.checking.findings import ERROR
from rageval.errors import InputError
from rageval.files.answers import read_answers
from rageval.files.jsonl import as_line
from rageval.files.questions import read_questions
from rageval.files.whole import text_of_whole
from rageval.judges.material import DOCUMENTS
from rageval.records import Answer
from rageval.text import compatible, visible
from rageval.track._apart import read_apart
from rageval.track._listing import Entry, EntryLimits, entries_in
from rageval.track._reader import MOST, EntryFinding, EntryJob, EntryRead

OF_NO_RUN = (DOCUMENTS, "nuggets", "gold", "")  # run ids of judgements that are of no run
_LONGEST = 100  # characters of a run's name
_SHOWN = 3


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


def checked(
    folder: Path,
    track: str,
    topics: Any,
    judged: Iterable[str] | None = None,
    teams: Path | None = None,
    limits: EntryLimits = EntryLimits(),  # noqa: B008 (a tuple of numbers)
) -> tuple[list[Submission], list[_Said]]:
    """Return every entry with whether it is valid, and what was found in it.

    `judged` are the topics of the qrels: a run that has none of them is not valid. `teams` is a file that
    says under which names entries are listed.
    """
    # Once, and not while a run is read: what is wrong with the topics is no participant's fault.
    known = None if topics is None else {each.query_id: each for each in read_questions(topics)}
    entries = entries_in(folder, limits)
    names = {} if teams is None else read_teams(teams, [each.name for each in entries])
    job = EntryJob(str(folder), track, known, None if judged is None else frozenset(judged), limits, ())
    reading = read_apart(job, [each for each in entries if not each.problem])
    read = [_refused(each.problem) if each.problem else next(reading) for each in entries]
    run_of = [names.get(each.name, found.run) for each, found in zip(entries, read, strict=True)]
    for problems in (_bad_names(read, run_of), _claimed_twice(entries, read, run_of, names)):
        for at, message in problems.items():
            read[at] = _with(read[at], message)
    submissions = [_submission(*each) for each in zip(entries, read, run_of, strict=True)]
    said = [
        _Said(each.name, *one) for each, found in zip(entries, read, strict=True) for one in _kept(found.said)
    ]
    return submissions, said


def _refused(problem: str) -> EntryRead:
    return EntryRead(errors=1, said=[EntryFinding(1, ERROR, problem)])


def _with(found: EntryRead, message: str) -> EntryRead:
    """Return the same with one error more."""
    return msgspec.structs.replace(
        found, errors=found.errors + 1, said=[*found.said, EntryFinding(1, ERROR, message)]
    )


def _kept(said: Sequence[EntryFinding]) -> Sequence[EntryFinding]:
    """Return so many findings, with the one that makes a file invalid."""
    return said if len(said) <= MOST else [*said[: MOST - 1], said[-1]]


def _submission(entry: Entry, found: EntryRead, run: str) -> Submission:
    first = next((each.message for each in found.said if each.level == ERROR), "")
    valid = not found.errors
    return Submission(
        entry.name,
        "" if _problem_of(run) else run,
        valid,
        found.errors,
        found.warnings,
        found.topics,
        entry.sha256,
        first,
    )


def _bad_names(read: Sequence[EntryRead], names: Sequence[str]) -> dict[int, str]:
    """Return what is wrong with names of valid entries, by their places."""
    found = {}
    for at, (each, name) in enumerate(zip(read, names, strict=True)):
        if not each.errors and (problem := _problem_of(name)):
            found[at] = f"{problem}; write another as the run's name"
    return found


def _problem_of(name: str) -> str:
    if len(name) > _LONGEST:
        return f"a name of {len(name):,} characters ({visible(name[:20])}…), at most {_LONGEST} are shown"
    if visible(name) != name:
        return f"the name {visible(name)} holds control characters"
    if name.casefold() in OF_NO_RUN:
        return f"the name {name!r} is what judgements of no run are called"
    return ""


def _claimed_twice(
    entries: Sequence[Entry], read: Sequence[EntryRead], names: Sequence[str], given: Mapping[str, str]
) -> dict[int, str]:
    """Return what to say of entries that claim the name of another, by their places.

    Nobody can tell from the files whose name it is: none of them counts, unless the organiser gave it to one.
    """
    claims: dict[str, list[int]] = {}
    for at, (each, name) in enumerate(zip(read, names, strict=True)):
        if not each.errors:
            claims.setdefault(_alike(name), []).append(at)
    found = {}
    for places in claims.values():
        owner = next((entries[at].name for at in places if entries[at].name in given), None)
        if len(places) < 2:
            continue
        for at in places:
            mine, name = entries[at].name, visible(names[at])
            if owner is not None and mine != owner:
                found[at] = f"claims the name {name}, which --teams gives to {visible(owner)}"
            elif owner is None:
                others = [visible(entries[other].name) for other in places[: _SHOWN + 1] if other != at]
                left = len(places) - 1 - _SHOWN
                more = f" and {left:,} more" if left > 0 else ""
                found[at] = (
                    f"claims the name {name}, as {', '.join(others[:_SHOWN])}{more} does: none of them counts"
                    " until the organiser says whose it is, in a file for --teams with the line"
                    f" '{mine}<TAB>{name}'"
                )
    return found


def _alike(name: str) -> str:
    """Return what names have in common that a reader, or a disk, takes for the same."""
    return compatible(name).casefold()


def read_teams(path: Path, files: Sequence[str]) -> dict[str, str]:
    """Read under which names entries are listed: lines of a file, a tab and a name; each once."""
    known = set(files)
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
                f"{shown}:{number}: expected a file, a tab and the name it is listed under, found"
                f" {visible(line[:80])!r}"
            )
        if file not in known:
            raise InputError(f"{shown}:{number}: there is no file {visible(file[:80])} in the folder of runs")
        if problem := _problem_of(name):
            raise InputError(f"{shown}:{number}: {problem}; expected another")
        for what, key in (("file", file), ("name", _alike(name))):
            if before := first.get(f"{what} {key}"):
                raise InputError(
                    f"{shown}:{number}: a second line of this {what}, the first is line {before}; expected"
                    " each file and each name once"
                )
            first[f"{what} {key}"] = number
        names[file] = name
    return names


def answers_of(folder: Path, submissions: Iterable[Submission]) -> Iterator[Answer]:
    """Yield the answers of valid entries, each under the name that its entry is listed under."""
    for each in submissions:
        for answer in read_answers(str(folder / each.file)):
            yield answer._replace(run_id=each.run)


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
