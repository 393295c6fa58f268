"""Banks of nuggets: NuggetBank v3, NeuCLIR's older form, and DRAGUN's rubrics, a file or a line a topic.

They are read by the rules of Auto-ARGUE: an answer that no document states is left out, and then a question
without answers. What is left out is counted, so that it can be said; the record itself is kept as it was
read, and written back without loss.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from rageval.files.jsonl import Id, RecordForm, Unfit, has, identifier
from rageval.files.opening import Limits
from rageval.records import Nugget, NuggetAnswer, Reference

__all__ = ["SCORED", "NuggetBank", "bank_forms", "is_older_bank", "left_out"]

SCORED = ("OR", "AND")  # what measures know to take together
_AGGREGATORS = (*SCORED, "NOT", "SUM")
_LONGEST_SHOWN = 60
_LARGEST = 10**6  # of a number that says how important something is
_Importance = str | int | float | None


class NuggetBank(NamedTuple):
    """The nuggets of a query, the record they are from, and how much of it was left out.

    `unsupported` answers have no reference, `unanswered` questions no answer that has one.
    """

    query_id: str
    nuggets: tuple[Nugget, ...]
    record: Mapping[str, Any] = {}
    unsupported: int = 0
    unanswered: int = 0


def left_out(banks: Iterable[NuggetBank]) -> str | None:
    """Return what Auto-ARGUE's rules leave out of some banks, in a sentence; None if it is nothing."""
    found = list(banks)
    answers, questions = sum(bank.unsupported for bank in found), sum(bank.unanswered for bank in found)
    if not answers:
        return None
    more = f", and with them {questions:,} questions that have no other" if questions else ""
    return f"{answers:,} answers without a reference are left out{more}, as Auto-ARGUE does"


class _Offsets(msgspec.Struct):
    """Where in a document."""

    start_offset: int
    end_offset: int
    encoding: str | None = None


class _Reference(msgspec.Struct):
    """A document that states something."""

    doc_id: Id
    collection: str | None = None
    text: str | None = None
    offsets: _Offsets | None = None


class _Answer(msgspec.Struct):
    """An answer to a question."""

    answer: str
    references: list[_Reference] | None = None
    importance: _Importance = None


class _Question(msgspec.Struct):
    """A nugget that asks."""

    question: str
    query_id: Id | None = None
    question_id: Id | None = None
    answers: dict[str, _Answer] | None = None
    aggregator_type: str | None = None
    sub_nuggets: list[dict[str, Any]] | dict[str, dict[str, Any]] | None = None
    references: list[_Reference] | None = None
    importance: _Importance = None


class _Claim(msgspec.Struct):
    """A nugget that states."""

    claim: str
    query_id: Id | None = None
    claim_id: Id | None = None
    aggregator_type: str | None = None
    sub_nuggets: list[dict[str, Any]] | dict[str, dict[str, Any]] | None = None
    references: list[_Reference] | None = None
    importance: _Importance = None


class _Bank(msgspec.Struct):
    """A bank, whose nuggets are looked at one by one, so that an error can name the one it is in."""

    query_id: Id
    title_query: str
    nugget_bank: dict[str, dict[str, Any]] | None = None
    claim_bank: dict[str, dict[str, Any]] | None = None


_Fields = dict[str, Any]


def _from_v3(record: _Fields, limits: Limits) -> NuggetBank:
    bank = msgspec.convert(record, _Bank)
    query = identifier(bank.query_id, "query_id", limits)
    asked = [_nugget(fields, key, query, limits) for key, fields in (bank.nugget_bank or {}).items()]
    claims = [_nugget(fields, key, query, limits) for key, fields in (bank.claim_bank or {}).items()]
    kept = list(map(_supported, asked))
    return NuggetBank(
        query,
        distinct([nugget for nugget in kept if nugget.answers] + claims),
        record,
        sum(len(nugget.answers) for nugget in asked) - sum(len(nugget.answers) for nugget in kept),
        sum(not nugget.answers for nugget in kept),
    )


def _supported(question: Nugget) -> Nugget:
    """Return a question with those of its answers only that some document states."""
    return question._replace(answers=tuple(answer for answer in question.answers if answer.references))


def _nugget(fields: _Fields, key: str, query: str, limits: Limits) -> Nugget:
    """Return a nugget, which an error names by its key."""
    try:
        return _claim(fields, key, query, limits) if "claim" in fields else _question(fields, query, limits)
    except Unfit as error:
        raise Unfit(f"{_shown(key)}: {_without_path(error)}") from None


def _question(fields: _Fields, query: str, limits: Limits) -> Nugget:
    asked = msgspec.convert(fields, _Question)
    digest = hashlib.md5(asked.question.encode(), usedforsecurity=False).hexdigest()
    given = digest if asked.question_id is None else identifier(asked.question_id, "question_id", limits)
    answers = tuple(
        NuggetAnswer(
            answer.answer, _references(answer.references, limits), importance=_word_of(answer.importance)
        )
        for answer in (asked.answers or {}).values()
    )
    nugget = _common(asked, Nugget(query, given, asked.question, answers=answers), limits)
    return nugget._replace(sub_nuggets=_sub_nuggets(asked.sub_nuggets, query, limits))


def _claim(fields: _Fields, key: str, query: str, limits: Limits) -> Nugget:
    said = msgspec.convert(fields, _Claim)
    given = identifier(key if said.claim_id is None else said.claim_id, "claim_id", limits)
    nugget = _common(said, Nugget(query, given, said.claim), limits)
    return nugget._replace(sub_nuggets=_sub_nuggets(said.sub_nuggets, query, limits))


def _common(said: _Question | _Claim, nugget: Nugget, limits: Limits) -> Nugget:
    """Return the nugget with what questions and claims both say."""
    if said.query_id is not None and str(said.query_id) != nugget.query_id:
        found = _shown(str(said.query_id))
        raise Unfit(f"expected a nugget of query {_shown(nugget.query_id)}, found one of {found}")
    weight = None if isinstance(said.importance, str) else said.importance
    if weight is not None and abs(weight) > _LARGEST:
        raise Unfit(f"expected a number up to {_LARGEST:,} as `importance`, found one far from it")
    return nugget._replace(
        importance=said.importance if isinstance(said.importance, str) else None,
        weight=None if weight is None else float(weight),
        aggregator=_aggregator(said.aggregator_type),
        references=_references(said.references, limits),
    )


def _sub_nuggets(
    found: list[_Fields] | dict[str, _Fields] | None, query: str, limits: Limits
) -> tuple[Nugget, ...]:
    by_key = found if isinstance(found, dict) else {str(at): sub for at, sub in enumerate(found or ())}
    return tuple(_nugget(fields, key, query, limits) for key, fields in by_key.items())


def _aggregator(name: str | None) -> str:
    upper = (name or "OR").upper()
    known = "OR" if upper == "DEFAULT" else upper
    if known not in _AGGREGATORS:
        raise Unfit(f"expected one of {', '.join(_AGGREGATORS)} as `aggregator_type`, found {_shown(known)}")
    return known


def _references(found: list[_Reference] | None, limits: Limits) -> tuple[Reference, ...]:
    return tuple(_reference(reference, limits) for reference in found or ())


def _reference(found: _Reference, limits: Limits) -> Reference:
    doc, at = identifier(found.doc_id, "doc_id", limits), found.offsets
    given = Reference(doc, found.text or "", collection=found.collection or "")
    if at is None:
        return given
    if not 0 <= at.start_offset <= at.end_offset:
        raise Unfit(
            f"expected offsets from 0, the end behind the start, found {at.start_offset} to {at.end_offset}"
        )
    return given._replace(start=at.start_offset, end=at.end_offset, encoding=at.encoding or "")


def _word_of(importance: _Importance) -> str | None:
    return None if importance is None else str(importance)


def _shown(text: str) -> str:
    return repr(text[:_LONGEST_SHOWN])


def _without_path(error: Unfit) -> str:
    """Return what is wrong, and where in the nugget, which nobody is to take for a path in the record."""
    return str(error).replace(" - at `$.", " in `").replace(" - at `$`", "")


def distinct(nuggets: list[Nugget]) -> tuple[Nugget, ...]:
    """Return nuggets of a query, whose ids must differ."""
    seen: set[str] = set()
    for nugget in nuggets:
        if nugget.nugget_id in seen:
            raise Unfit(f"expected a different id for every nugget, found {_shown(nugget.nugget_id)} twice")
        seen.add(nugget.nugget_id)
    return tuple(nuggets)


def _from_older(query: str | None) -> Callable[[_Fields, Limits], NuggetBank]:
    """Return how a file of the older form is built, which names its query only in its own name."""

    def build(record: _Fields, limits: Limits) -> NuggetBank:
        if query is None:
            raise Unfit("nothing says which query they are of: call the file nuggets_QUERY.json")
        name = identifier(query, "the name of the file", limits)
        asked = [
            _nugget(
                {"question": text, "aggregator_type": how, "answers": _older_answers(answers)},
                text,
                name,
                limits,
            )
            for text, (how, answers) in record.items()
        ]
        kept = list(map(_supported, asked))
        lost = sum(len(nugget.answers) for nugget in asked) - sum(len(nugget.answers) for nugget in kept)
        nuggets = distinct([nugget for nugget in kept if nugget.answers])
        return NuggetBank(name, nuggets, record, lost, sum(not nugget.answers for nugget in kept))

    return build


def _older_answers(answers: _Fields) -> _Fields:
    """Return {answer: documents} as v3 has it."""
    documents = {text: msgspec.convert(found, list[Id]) for text, found in answers.items()}
    return {
        text: {"answer": text, "references": [{"doc_id": doc} for doc in found]}
        for text, found in documents.items()
    }


def is_older_bank(record: _Fields) -> bool:
    """Return whether a record is {question: [AND or OR, {answer: [document]}]}."""
    return bool(record) and all(
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], dict)
        for value in record.values()
    )


class _ShortAnswer(msgspec.Struct):
    """An answer that a report should give; what was published may lack the text."""

    answer_id: Id
    answer: str = ""
    short_answer: str = ""


class _RubricQuestion(msgspec.Struct):
    """A question that a report should answer."""

    question_id: Id
    short_answers: list[_ShortAnswer]
    question: str = ""
    importance: str | None = None


class _DragunRubric(msgspec.Struct):
    """What a report on a topic should answer."""

    topic_id: Id
    rubrics: list[_RubricQuestion]


_LETTER = re.compile(r"([A-Z])(?::|$)")


def _from_dragun(record: _Fields, limits: Limits) -> NuggetBank:
    rubric = msgspec.convert(record, _DragunRubric)
    query = identifier(rubric.topic_id, "topic_id", limits)
    nuggets = []
    for question in rubric.rubrics:
        answers = tuple(
            NuggetAnswer(
                answer.answer or answer.short_answer,
                answer_id=identifier(answer.answer_id, "answer_id", limits),
            )
            for answer in question.short_answers
        )
        letter = _LETTER.match(question.importance or "")
        nuggets.append(
            Nugget(
                query,
                identifier(question.question_id, "question_id", limits),
                question.question,
                letter[1] if letter else question.importance,
                answers=answers,
            )
        )
    return NuggetBank(query, distinct(nuggets), record)


_V3 = RecordForm(
    "NuggetBank v3",
    "{query_id, title_query, nugget_bank: {question: {question, query_id, answers}}, claim_bank}",
    lambda record: "query_id" in record and ("nugget_bank" in record or "claim_bank" in record),
    _Fields,
    _from_v3,
)
_DRAGUN = RecordForm(
    "rubrics of DRAGUN",
    "{topic_id, rubrics: [{question_id, importance, short_answers: [{answer_id}]}]}",
    has("topic_id", "rubrics"),
    _Fields,
    _from_dragun,
)
_PACKED = re.compile(r"\.(gz|bz2|xz|zst)$")
_OF_A_QUERY = re.compile(r"nuggets?[_-](.+)\.json")


def bank_forms(name: str) -> tuple[RecordForm[NuggetBank], ...]:
    """Return the forms of banks in a file of this name, which in the older form says what query it is of."""
    found = _OF_A_QUERY.fullmatch(_PACKED.sub("", PurePath(name).name))
    older: RecordForm[NuggetBank] = RecordForm(
        "nuggets of NeuCLIR",
        "{question: [AND or OR, {answer: [document]}]}",
        is_older_bank,
        _Fields,
        _from_older(found[1] if found else None),
    )
    return _V3, _DRAGUN, older
