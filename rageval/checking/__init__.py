"""Check files: what their track refuses, what is suspicious in them, and what it does to which measure.

    from rageval.checking import diagnose, validate

    validate("answers.jsonl", "rag25", topics="topics.jsonl")
    diagnose("run.trec", "qrels.nugget")

Both give `Findings`, a table in a terminal and in a notebook. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rageval.checking.findings import Finding, Findings, Validation, counted

if TYPE_CHECKING:
    from rageval.checking.tracks import Track
    from rageval.files.trec import Reading
    from rageval.typing import FileLike

__all__ = ["Finding", "Findings", "diagnose", "validate"]


def validate(
    source: FileLike, track: str | Track, topics: FileLike | Mapping[str, str] | None = None
) -> Findings:
    """Return what the track (such as `rag25`, or `run` for runs) would refuse in a file.

    `topics` are the questions, a file or `{id: text}`: answers to others are findings, and so are those that
    lack one.

    >>> import io
    >>> validate(io.BytesIO(b"q1 Q0 d1 1 0.9 r\\nq1 Q0 d1 2 0.8 r\\n"), "run").errors
    1
    """
    from rageval.files.opening import name_of
    from rageval.files.questions import read_questions

    if topics is not None and not isinstance(topics, Mapping):
        topics = {each.query_id: each.text for each in read_questions(topics)}
    found, name = validation(source, track, topics), name_of(source)
    return Findings([each._replace(source=name) for each in found], str(found.tally))


def validation(
    source: FileLike,
    track: str | Track,
    topics: Mapping[str, str] | None = None,
    reading: Reading | None = None,
) -> Validation:
    """Return the findings of `validate` one by one, however many there are."""
    from rageval.checking._answers import validate_answers
    from rageval.checking._runs import validate_run
    from rageval.checking.tracks import track_named
    from rageval.files.trec import PLAIN

    how = reading or PLAIN
    if track == "run":
        return validate_run(source, topics, how)
    return validate_answers(source, track_named(track), topics, how.limits)


def diagnose(
    *files: str | os.PathLike[str],
    topics: Sequence[str | os.PathLike[str]] = (),
    corpus: Sequence[str | os.PathLike[str]] = (),
    cutoffs: Sequence[int] = (10, 20, 50),
) -> Findings:
    """Return what is suspicious in files of any kind, each by itself and all together.

    What a file is is told by its first line, but for `topics` and the documents of a `corpus`. `cutoffs` are
    those of the measures whose depth the runs should have.
    """
    from rageval.checking import diagnosing

    every: list[tuple[str, str | None]] = [(os.fspath(path), None) for path in files]
    every += [(os.fspath(path), diagnosing.TOPICS) for path in topics]
    every += [(os.fspath(path), diagnosing.CORPUS) for path in corpus]
    return Findings(diagnosing.diagnose(every, cutoffs), counted(len(every), "file"))
