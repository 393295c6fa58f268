"""Nuggets: what a good answer holds. AutoNuggetizer's, TREC RAG 2026's, FreshStack's, banks, and rubrics.

The scores that the nuggetizer printed for a run are read here, too, to compare with.

>>> print(*write_nuggets([Nugget("q1", "0", "It rains.", "vital")], {"q1": "What is the weather?"}))
{"query":"What is the weather?","qid":"q1","nuggets":[{"text":"It rains.","importance":"vital"}]}
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Literal

import msgspec

from rageval.errors import InputError
from rageval.files.banks import NuggetBank, bank_forms, distinct, left_out
from rageval.files.jsonl import Id, RecordForm, has, identifier, once, one_a_line, read_forms
from rageval.files.opening import Limits, Source, name_of, start_of
from rageval.files.questions import read_table
from rageval.records import Nugget
from rageval.text import visible

__all__ = ["Nugget", "read_banks", "read_intent_weights", "read_nuggets", "write_banks", "write_nuggets"]

_IN_A_FOLDER = re.compile(r"\.jsonl?(\.(gz|bz2|xz|zst))?$")


class _ListedNugget(msgspec.Struct):
    """A nugget of a list; some files name it, in most its place does."""

    text: str
    importance: Literal["vital", "okay", "failed"] | None = None
    nugget_id: Id | None = None
    id: Id | None = None
    mapped_sub_narrative: str | None = None
    source: str | None = None


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


def _from_list(line: _NuggetList, limits: Limits) -> NuggetBank:
    query = identifier(line.qid, "qid", limits)
    nuggets = []
    for at, nugget in enumerate(line.nuggets):
        given = nugget.nugget_id if nugget.nugget_id is not None else nugget.id
        name = str(at) if given is None else identifier(given, f"nuggets[{at}].id", limits)
        importance = None if nugget.importance == "failed" else nugget.importance
        facts = () if nugget.source is None else (("source", nugget.source),)
        group = nugget.mapped_sub_narrative
        nuggets.append(Nugget(query, name, nugget.text, importance, group=group, facts=facts))
    return NuggetBank(query, distinct(nuggets))


def _from_rubrics(line: _Rubrics, limits: Limits) -> NuggetBank:
    query = identifier(line.qid, "qid", limits)
    criteria = (
        Nugget(query, str(at), criterion.criterion, weight=criterion.weight, group=criterion.axis)
        for at, criterion in enumerate(line.rubrics)
    )
    return NuggetBank(query, tuple(criteria))


def _from_freshstack(line: _FreshStackNuggets, limits: Limits) -> NuggetBank:
    query = identifier(line.query_id, "query_id", limits)
    return NuggetBank(
        query,
        distinct(
            [
                Nugget(query, identifier(nugget.id, "nuggets._id", limits), nugget.text)
                for nugget in line.nuggets
            ]
        ),
    )


_LISTS = RecordForm(
    "nuggets", "{qid, nuggets: [{text, importance}]}", has("qid", "nuggets"), _NuggetList, _from_list
)
_RUBRICS = RecordForm(
    "rubrics", "{qid, rubrics: [{criterion, weight, axis}]}", has("qid", "rubrics"), _Rubrics, _from_rubrics
)
_FRESHSTACK = RecordForm(
    "FreshStack questions",
    "{query_id, nuggets: [{_id, text}]}",
    has("query_id", "nuggets"),
    _FreshStackNuggets,
    _from_freshstack,
)


def read_nuggets(source: Source, remarks: list[str] | None = None) -> Iterator[Nugget]:
    """Read the nuggets (or the criteria of rubrics) of a file, or of the files of a folder, query by query.

    A nugget without an id is called after its place, from 0, or in NuggetBank v3 after the digest of its
    question; an importance that "failed" is None. What the rules of v3 leave out is added to `remarks`, or
    warned of, in one sentence. A data set that holds nuggets may stand for a file.
    """
    if callable(content := getattr(source, "nuggets", None)):
        yield from content()
        return
    banks = []
    for _, bank in numbered_banks(source):
        yield from bank.nuggets
        banks.append(bank._replace(record={}, nuggets=()))
    if (said := left_out(banks)) is None:
        return
    if remarks is None:
        warnings.warn(f"{name_of(source)}: {said}", stacklevel=2)
    else:
        remarks.append(f"{visible(name_of(source))}: {said}")


def read_banks(source: Source) -> Iterator[NuggetBank]:
    """Read banks of nuggets with their whole records: NuggetBank v3, NeuCLIR's older form, DRAGUN's rubrics.

    The other formats of nuggets are read, too, without a record.
    """
    for _, bank in numbered_banks(source):
        yield bank


def numbered_banks(source: Source) -> Iterator[tuple[int, NuggetBank]]:
    """Read (line, nuggets) of every query; the files of a folder one after the other."""
    first: dict[str, str] = {}
    for each in _files_of(source):
        forms = (*bank_forms(name_of(each)), _LISTS, _RUBRICS, _FRESHSTACK)
        lines = one_a_line(each, "nuggets")
        records = read_forms(lines, forms, "nuggets")
        for line, bank in once(records, each, lambda bank: f"list of nuggets for query {bank.query_id}"):
            if first.setdefault(bank.query_id, name_of(each)) != name_of(each):
                raise InputError(
                    f"{name_of(each)}:{line}: query {visible(bank.query_id)} has nuggets in"
                    f" {visible(first[bank.query_id])}, too; expected them in one file"
                )
            yield line, bank


def _files_of(source: Source) -> list[Source]:
    """Return the files of nuggets in a folder, by name; a file as it is."""
    if not isinstance(source, str | os.PathLike) or not os.path.isdir(source):
        return [source]
    found = sorted(
        entry.path for entry in os.scandir(source) if entry.is_file() and _IN_A_FOLDER.search(entry.name)
    )
    if not found:
        raise InputError(f"{name_of(source)}: expected files of nuggets (*.json, *.jsonl), found none")
    return list(found)


def write_banks(banks: Iterable[NuggetBank]) -> Iterator[str]:
    """Write banks as JSON lines, each with all that was read of it, known here or not."""
    for bank in banks:
        if not bank.record:
            raise InputError(
                f"nuggets of query {bank.query_id!r}: have no record of a bank; write them with write_nuggets"
            )
        yield msgspec.json.encode(bank.record).decode()


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
    fits = nugget.importance in ("vital", "okay", None) and not nugget.references
    odd = "a weight" if nugget.weight is not None else "answers" if nugget.answers else ""
    if odd or not fits:
        raise InputError(
            f"nugget {nugget.nugget_id!r} of query {nugget.query_id!r}: has"
            f" {odd or 'references, or an importance of another kind'}, for which the format of"
            " AutoNuggetizer has no place; expected nuggets that are vital or okay"
        )
    record: dict[str, Any] = {"text": nugget.text}
    record |= {"importance": nugget.importance} if nugget.importance is not None else {}
    record |= {"nugget_id": nugget.nugget_id} if nugget.nugget_id != str(at) else {}
    record |= {"mapped_sub_narrative": nugget.group} if nugget.group is not None else {}
    return dict(nugget.facts) | record


_HEAVIEST = 10**6
_BY_IMPORTANCE = {"vital": 1.0, "okay": 0.5}


def read_intent_weights(source: Source) -> dict[str, dict[str, float]]:
    """Read {query: {nugget: weight}} of lines `query_id nugget weight`, or of a file of nuggets.

    A nugget weighs what its file says, or else 1 if it is vital and ½ if it is okay.
    """
    is_bank = callable(getattr(source, "nuggets", None)) or start_of(source).lstrip().startswith(b"{")
    found: dict[str, dict[str, float]] = {}
    for where, query, nugget, said in (_weights_of_nuggets if is_bank else _weights_of_lines)(source):
        if nugget in found.setdefault(query, {}):
            raise InputError(
                f"{where}: nugget {visible(nugget)} of query {visible(query)} has a weight already"
            )
        found[query][nugget] = weight_of(said, where)
    return found


def weight_of(said: object, where: str) -> float:
    """Return the weight of a nugget among those of its query; `InputError` if it can be none."""
    try:
        weight = float(str(said))
    except ValueError:
        weight = float("nan")
    if not 0 <= weight <= _HEAVIEST:
        raise InputError(
            f"{where}: expected a weight from 0 to {_HEAVIEST:,}, found {visible(str(said))!r:.80}"
        )
    return weight


def _weights_of_lines(source: Source) -> Iterator[tuple[str, str, str, str]]:
    for line, (query, nugget, weight) in read_table(source, "query_id nugget weight"):
        yield f"{name_of(source)}:{line}", query, nugget, weight


def _weights_of_nuggets(source: Source) -> Iterator[tuple[str, str, str, float]]:
    for nugget in read_nuggets(source):
        where = f"{name_of(source)}: nugget {visible(nugget.nugget_id)} of query {visible(nugget.query_id)}"
        if nugget.weight is None and nugget.importance is None:
            raise InputError(f"{where}: expected a weight, or an importance (vital, okay), found neither")
        said = _BY_IMPORTANCE.get(nugget.importance or "") if nugget.weight is None else nugget.weight
        if said is None:
            raise InputError(
                f"{where}: expected it to be vital or okay, found {visible(str(nugget.importance))!r:.80}"
            )
        yield where, nugget.query_id, nugget.nugget_id, said


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


def read_metrics(source: Source) -> dict[str, dict[str, float]]:
    """Read {query: {score: value}} of one run, with the means under `all`."""
    records = read_forms(source, (_METRICS,), "metrics of the nuggetizer")
    return dict(item for _, item in once(records, source, lambda item: f"line for query {item[0]}"))
