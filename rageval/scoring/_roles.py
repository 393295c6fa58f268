"""What an argument may be, told by a look at it: a measure, a run, judgements, scores."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from rageval.errors import RagevalError
from rageval.files.judgements import JudgementTable
from rageval.files.kinds import kind_of, kind_of_records
from rageval.files.objects import column_names
from rageval.files.start import ANSWERS, EITHER, JUDGED_ANSWERS, JUDGED_DOCUMENTS, RUNS
from rageval.measures.base import Measure
from rageval.measures.foreign import ForeignMeasure
from rageval.measures.parsing import parse_measures
from rageval.records import is_frame
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import Run
from rageval.scoring.scores import Scores
from rageval.scoring.sources import RunSource
from rageval.table import Displayed

_MEASURES, _SCORES, _PAGE = "measures", "scores", "page"
_OF_DOCUMENTS = frozenset({RUNS, JUDGED_DOCUMENTS})
_OF_ANSWERS = frozenset({JUDGED_ANSWERS, ANSWERS})
_UNKNOWN: frozenset[str] = frozenset()
# What each parameter takes; judges and rubrics may have names that are measures', too.
_ACCEPTED = {
    "measures": frozenset({_MEASURES}),
    "run": frozenset({RUNS}),
    "runs": frozenset({RUNS}),
    "qrels": frozenset({JUDGED_DOCUMENTS}),
    "candidate": frozenset({RUNS}) | _OF_ANSWERS,
    "judgements": _OF_ANSWERS,
    "answers": _OF_ANSWERS,
    "scores": frozenset({_SCORES}),
    "path": frozenset({_PAGE}),
    "rubric": frozenset({_MEASURES}),
    "judges": frozenset({_MEASURES}),
}
_NOUNS = {
    frozenset({_MEASURES}): "a measure",
    frozenset({RUNS}): "a run",
    frozenset({JUDGED_DOCUMENTS}): "judgements of documents",
    _OF_DOCUMENTS: "a run or judgements of documents",
    frozenset({_SCORES}): "scores",
    frozenset({_PAGE}): "the name of a page",
}
# Columns of frames and keys of records, PyTerrier's names among them.
_DOCUMENT, _SCORE, _GRADE = {"doc_id", "docno"}, {"score"}, {"relevance", "label"}


def misplaced(given: Mapping[str, Any]) -> str:
    """Return which argument stands in the place of another; nothing where that cannot be told."""
    roles_by_name = {name: _roles(value) for name, value in given.items()}
    for name, roles in roles_by_name.items():
        if not roles or roles & _ACCEPTED[name]:
            continue
        # Another parameter takes such a thing, and got something else.
        if any(
            roles & _ACCEPTED[other] and not theirs & _ACCEPTED[other]
            for other, theirs in roles_by_name.items()
            if other != name
        ):
            return f"found {_NOUNS.get(roles, 'answers, or judgements of them')} as {name}"
    return ""


def _roles(given: Any) -> frozenset[str]:
    """Return what an argument may be; nothing where that cannot be told."""
    match given:
        case Measure() | ForeignMeasure():
            return frozenset({_MEASURES})
        case Run() | RunSource():
            return frozenset({RUNS})
        case Qrels():
            return frozenset({JUDGED_DOCUMENTS})
        case JudgementTable():
            return _OF_ANSWERS
        case Scores() | Displayed():
            return frozenset({_SCORES})
        case str() | os.PathLike():
            return _roles_of_word(given)
        case Mapping():
            first = next(iter(given.values()), None)
            if not isinstance(first, Mapping):  # {name: run}, {name: scores}, or one record
                return _roles_of_record(given) if "query_id" in given else _roles(first)
            # Of {query: {document: number}} nobody can tell which of the two it is.
            return frozenset({_SCORES}) if isinstance(first, Scores) else _OF_DOCUMENTS
        case list() | tuple() if given:
            is_record = isinstance(given[0], Mapping) or hasattr(given[0], "_fields")
            return _roles_of_record(given[0]) if is_record else _roles(given[0])
    return _roles_of_columns(column_names(given)) if is_frame(given) else _UNKNOWN


def _roles_of_word(word: str | os.PathLike[str]) -> frozenset[str]:
    name = os.fspath(word)
    if name.lower().endswith((".html", ".htm")):
        return frozenset({_PAGE})
    try:
        if not os.path.isfile(name):
            is_measure = isinstance(word, str) and bool(parse_measures(word))
            return frozenset({_MEASURES}) if is_measure else _UNKNOWN
        kind = kind_of(name)
    except (OSError, RagevalError, ValueError):
        return _UNKNOWN
    return _roles_of_kind(kind)


def _roles_of_kind(kind: Any) -> frozenset[str]:
    if kind is None:
        return _UNKNOWN
    if kind.holds == EITHER:
        return _OF_DOCUMENTS
    return _OF_ANSWERS if kind.holds in _OF_ANSWERS else frozenset({kind.holds})


def _roles_of_record(record: Any) -> frozenset[str]:
    if not isinstance(record, Mapping):
        return _roles_of_columns(record._fields)
    return _roles_of_columns(record) or _roles_of_kind(kind_of_records([record]))


def _roles_of_columns(names: Any) -> frozenset[str]:
    columns = set(map(str, names))
    if columns & _DOCUMENT:
        graded, scored = bool(columns & _GRADE), bool(columns & _SCORE)
        return frozenset({JUDGED_DOCUMENTS if graded else RUNS}) if graded != scored else _OF_DOCUMENTS
    return _OF_ANSWERS if columns & {"run_id", "answer", "grade", "label", "nuggets"} else _UNKNOWN
