"""Check files: what their track refuses, what is suspicious in them, and what it does to which measure.

    from rageval.checking import diagnose, validate

    validate("answers.jsonl", "rag25", topics="topics.jsonl")
    diagnose("run.trec", "qrels.nugget")

Both give `Findings`, a table in a terminal and in a notebook. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rageval.checking.findings import Finding, Findings, counted

if TYPE_CHECKING:
    from rageval.typing import FileLike

__all__ = ["Finding", "Findings", "diagnose", "validate"]


def validate(source: FileLike, track: str, *, topics: FileLike | None = None) -> Findings:
    """Return what the track (such as `rag25`, or `run` for runs) would refuse in a file.

    `topics` is a file with the questions: answers to others are findings, and so are those that lack one.

    >>> import io
    >>> validate(io.BytesIO(b"q1 Q0 d1 1 0.9 r\\nq1 Q0 d1 2 0.8 r\\n"), "run").errors
    1
    """
    from rageval.checking.answers import validate as validate_answers
    from rageval.checking.runs import validate_run
    from rageval.checking.tracks import track_named
    from rageval.files.opening import name_of
    from rageval.files.questions import read_questions

    known = None if topics is None else {each.query_id: each.text for each in read_questions(topics)}
    if track == "run":
        found = validate_run(source, known)
    else:
        found = validate_answers(source, track_named(track), known)
    name = name_of(source)
    return Findings([each._replace(source=name) for each in found], str(found.tally))


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
