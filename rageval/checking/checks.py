"""Check a file by the rules of a track, or any files for what is suspicious."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rageval.checking import doctor
from rageval.checking.findings import Findings, Tally, Validation, error
from rageval.checking.runs import validate_run
from rageval.checking.steps import validate_steps
from rageval.checking.tables import topics_in, validate_tables
from rageval.checking.tracks import OF_RUNS, OF_STEPS, OF_TABLES, track_named, validate_answers
from rageval.errors import UsageError
from rageval.files.answers import FORMS
from rageval.files.kinds import NO_DATA, all_rows, kind_of, start_of_file
from rageval.files.opening import name_of
from rageval.files.start import JUDGED_DOCUMENTS
from rageval.files.trec import PLAIN
from rageval.records import Question
from rageval.text import count_noun

if TYPE_CHECKING:
    from rageval.checking.tracks import Track
    from rageval.files.start import Kind
    from rageval.files.trec import Reading
    from rageval.typing import FileLike


def validate(
    source: FileLike,
    track: str | Track,
    topics: FileLike | Mapping[str, str] | None = None,
    strict_length: bool = False,
) -> Findings:
    """Return the errors and warnings of a file by the rules of a track.

    Parameters
    ----------
    source
        The file: a run, answers, reports or questions, whichever the track takes.
    track
        The name of a track (`rag25`, ...), `run` for any run, `steps` for trajectories, or `answers` for
        tables of answers.
    topics
        The questions of the track, a file or `{id: text}`. With them, answers to other questions and missing
        answers are findings, too.
    strict_length
        Reports longer than their topic allows are errors, not warnings.

    Returns
    -------
    Findings
        The findings by line; those that concern the whole file come last.

    Raises
    ------
    UsageError
        If there is no such track, or if `strict_length` is set and topics of the track have no length limit.
    InputError
        If the file cannot be read.

    Examples
    --------
    >>> import io
    >>> validate(io.BytesIO(b"q1 Q0 d1 1 0.9 r\\nq1 Q0 d1 2 0.8 r\\n"), "run").errors
    1
    """
    result = validation(source, track, topics, strict_length=strict_length)
    name = name_of(source)
    return Findings([finding.in_file(name) for finding in result], str(result.tally))


# Kinds of records that no track takes, by keys that no answer has.
_FOREIGN = {"plan", "baseline", "manifest", "results", "judged", "judgements", "assignments", "nuggets"}
_FOREIGN |= {"umbrela", "pool", "spans", "chunks", "metrics"}


def _is_foreign(source: FileLike, kind: Kind, reading: Reading) -> bool:
    """Tell whether a file holds lines of the right sort, JSON or columns, and yet nothing that is checked."""
    if kind in NO_DATA:
        return True
    start = start_of_file(source, reading)
    if not kind.is_json:
        # A run of which the first line is short is a run.
        return kind.holds == JUDGED_DOCUMENTS and all_rows(start, kind)
    return kind.name in _FOREIGN and not any(form.fits(start.record) for form in FORMS.values())


def validation(
    source: FileLike,
    track: str | Track,
    topics: FileLike | Mapping[str, str | Question] | None = None,
    reading: Reading | None = None,
    strict_length: bool = False,
) -> Validation:
    """Return the findings of `validate` one by one, however many there are."""
    how = reading or PLAIN
    questions = None
    if isinstance(topics, Mapping):
        given = topics.items()
        questions = {name: Question(name, it) if isinstance(it, str) else it for name, it in given}
    elif topics is not None:
        # With their limits, where a file says them.
        questions = topics_in(topics, track)
    rules = None if track in (OF_RUNS, OF_STEPS, OF_TABLES) else track_named(track)
    if strict_length and (rules is None or rules.limit is None):
        name = track if rules is None else rules.name
        raise UsageError(f"--strict-length: topics of {name} have no length of their own; leave it out")
    if track == OF_TABLES:
        return validate_tables(source, questions)
    if track == OF_STEPS:
        return validate_steps(source, questions)
    kind, wants_json = kind_of(source, how), rules is not None and not rules.columns
    # Every line would be wrong, and none would say why.
    # A table may be a run in wrong columns, of which each line tells.
    is_other = kind is not None and kind.name != "table" and kind.is_json != wants_json
    if kind is not None and (is_other or _is_foreign(source, kind, how)):
        expected = "run" if rules is None else "answers" if wants_json else "questions"
        of_track = None if rules is None else rules.name
        other = error("other_kind", 1, kind=kind.description, expected=expected, track=of_track)
        return Validation(iter([other]), Tally("line"))
    if rules is None:
        return validate_run(source, questions, how)
    return validate_answers(source, rules, questions, strict_length)


def diagnose(
    *files: str | os.PathLike[str],
    topics: Sequence[str | os.PathLike[str]] = (),
    corpus: Sequence[str | os.PathLike[str]] = (),
    cutoffs: Sequence[int] = (10, 20, 50),
) -> Findings:
    """Return what is suspicious in files of any kind, alone and combined.

    The kind of a file is detected from its first line, except for `topics` and the documents of a `corpus`.
    `cutoffs` are those of the measures for which the runs should be deep enough.
    """
    every: list[tuple[str, str | None]] = [(os.fspath(path), None) for path in files]
    every += [(os.fspath(path), doctor.TOPICS) for path in topics]
    every += [(os.fspath(path), doctor.CORPUS) for path in corpus]
    return Findings(doctor.diagnose(every, cutoffs), count_noun(len(every), "file"))
