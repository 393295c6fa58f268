"""Nuggets: what a good answer holds. AutoNuggetizer's, TREC RAG 2026's, FreshStack's, and rubrics.

The scores that the nuggetizer printed for a run are read here, too, to compare with.

>>> print(*write_nuggets([Nugget("q1", "0", "It rains.", "vital")], {"q1": "What is the weather?"}))
{"query":"What is the weather?","qid":"q1","nuggets":[{"text":"It rains.","importance":"vital"}]}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Literal

import msgspec

from rageval.errors import InputError
from rageval.files.jsonl import Id, RecordForm, Unfit, has, identifier, once, read_forms
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source
from rageval.records import Nugget

__all__ = ["Nugget", "read_nuggets", "write_nuggets"]


class _ListedNugget(msgspec.Struct):
    """A nugget of a list; some files name it, in most its place does."""

    text: str
    importance: Literal["vital", "okay", "failed"] | None = None
    nugget_id: Id | None = None
    id: Id | None = None
    mapped_sub_narrative: str | None = None


class _NuggetList(msgspec.Struct):
    """A line of AutoNuggetizer, and of the development data of TREC RAG 2026."""

    qid: Id
    nuggets: list[_ListedNugget]


class _Criterion(msgspec.Struct):
    """What a rubric asks for, or with a negative weight warns of."""

    criterion: str
    weight: float
    axis: str | None = None


class _Rubrics(msgspec.Struct):
    """A line of rubrics."""

    qid: Id
    rubrics: list[_Criterion]


class _FreshStackNugget(msgspec.Struct):
    """A nugget of a FreshStack question."""

    text: str
    id: Id = msgspec.field(name="_id")


class _FreshStackNuggets(msgspec.Struct):
    """A FreshStack question with its nuggets."""

    query_id: Id
    nuggets: list[_FreshStackNugget]


def _from_list(line: _NuggetList, limits: Limits) -> list[Nugget]:
    query = identifier(line.qid, "qid", limits)
    nuggets = []
    for at, nugget in enumerate(line.nuggets):
        given = nugget.nugget_id if nugget.nugget_id is not None else nugget.id
        name = str(at) if given is None else identifier(given, f"nuggets[{at}].id", limits)
        importance = None if nugget.importance == "failed" else nugget.importance
        nuggets.append(Nugget(query, name, nugget.text, importance, group=nugget.mapped_sub_narrative))
    return _distinct(nuggets)


def _from_rubrics(line: _Rubrics, limits: Limits) -> list[Nugget]:
    query = identifier(line.qid, "qid", limits)
    return [
        Nugget(query, str(at), criterion.criterion, weight=criterion.weight, group=criterion.axis)
        for at, criterion in enumerate(line.rubrics)
    ]


def _from_freshstack(line: _FreshStackNuggets, limits: Limits) -> list[Nugget]:
    query = identifier(line.query_id, "query_id", limits)
    return _distinct(
        [Nugget(query, identifier(nugget.id, "nuggets._id", limits), nugget.text) for nugget in line.nuggets]
    )


def _distinct(nuggets: list[Nugget]) -> list[Nugget]:
    seen: set[str] = set()
    for nugget in nuggets:
        if nugget.nugget_id in seen:
            raise Unfit(f"expected a different id for every nugget, found {nugget.nugget_id!r} twice")
        seen.add(nugget.nugget_id)
    return nuggets


LISTS = RecordForm(
    "nuggets", "{qid, nuggets: [{text, importance}]}", has("qid", "nuggets"), _NuggetList, _from_list
)
RUBRICS = RecordForm(
    "rubrics", "{qid, rubrics: [{criterion, weight, axis}]}", has("qid", "rubrics"), _Rubrics, _from_rubrics
)
FRESHSTACK = RecordForm(
    "FreshStack questions",
    "{query_id, nuggets: [{_id, text}]}",
    has("query_id", "nuggets"),
    _FreshStackNuggets,
    _from_freshstack,
)


def read_nuggets(source: Source, limits: Limits = DEFAULT) -> Iterator[Nugget]:
    """Read the nuggets (or the criteria of rubrics) of a file, query by query.

    A nugget without an id is called after its place, from 0; an importance that "failed" is None. A data set
    that holds nuggets may stand for a file.
    """
    if callable(content := getattr(source, "nuggets", None)):
        yield from content()
        return
    records = read_forms(source, (LISTS, RUBRICS, FRESHSTACK), "nuggets", limits)
    for _, nuggets in once(records, source, _query):
        yield from nuggets


def _query(nuggets: list[Nugget]) -> str | None:
    return f"list of nuggets for query {nuggets[0].query_id}" if nuggets else None


def write_nuggets(nuggets: Iterable[Nugget], questions: Mapping[str, str] | None = None) -> Iterator[str]:
    """Write lines of AutoNuggetizer, one a query; `questions` are the texts of the queries.

    The nuggets of a query stand together. An importance of None is left out, an id written only where
    it is not the nugget's place.
    """
    seen: set[str] = set()
    for query, together in groupby(nuggets, key=lambda nugget: nugget.query_id):
        if query in seen:
            raise InputError(f"query {query!r}: its nuggets are scattered, expected them together; sort them")
        seen.add(query)
        listed = [_record(at, nugget) for at, nugget in enumerate(together)]
        record = {"query": (questions or {}).get(query, ""), "qid": query, "nuggets": listed}
        yield msgspec.json.encode(record).decode()


def _record(at: int, nugget: Nugget) -> dict[str, Any]:
    if nugget.weight is not None:
        raise InputError(
            f"nugget {nugget.nugget_id!r} of query {nugget.query_id!r}: has a weight, for which the format of"
            " AutoNuggetizer has no place; expected nuggets with an importance"
        )
    record: dict[str, Any] = {"text": nugget.text}
    record |= {"importance": nugget.importance} if nugget.importance is not None else {}
    record |= {"nugget_id": nugget.nugget_id} if nugget.nugget_id != str(at) else {}
    return record | ({"mapped_sub_narrative": nugget.group} if nugget.group is not None else {})


_SCORES = ("strict_vital_score", "strict_all_score", "vital_score", "all_score")


class _Metrics(msgspec.Struct):
    """A line: the four scores of a query, or of `all`."""

    qid: Id
    strict_vital_score: float
    strict_all_score: float
    vital_score: float
    all_score: float


_Named = tuple[str, dict[str, float]]


def _from_metrics(line: _Metrics, limits: Limits) -> _Named:
    return identifier(line.qid, "qid", limits), {name: getattr(line, name) for name in _SCORES}


_METRICS: RecordForm[_Named] = RecordForm(
    "metrics", f"{{qid, {', '.join(_SCORES)}}}", has("qid", "strict_vital_score"), _Metrics, _from_metrics
)


def read_metrics(source: Source, limits: Limits = DEFAULT) -> dict[str, dict[str, float]]:
    """Read {query: {score: value}} of one run, with the means under `all`."""
    records = read_forms(source, (_METRICS,), "metrics of the nuggetizer", limits)
    return dict(item for _, item in once(records, source, lambda item: f"line for query {item[0]}"))
