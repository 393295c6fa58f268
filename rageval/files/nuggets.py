"""Nuggets: what a good answer holds. AutoNuggetizer's, TREC RAG 2026's, FreshStack's, banks, and rubrics.

Banks are NuggetBank v3, RAGTIME 2026's, NeuCLIR's older form and DRAGUN's rubrics, a file or a line a topic.
They are read whole, with answers that no document states, and written back without loss; Auto-ARGUE leaves
such answers out, and then questions without answers (`supported`), which is done where its judgements are
scored. The scores that the nuggetizer printed for a run are read here, too, to compare with.

>>> print(*write_nuggets([Nugget("q1", "0", "It rains.", "vital")], {"q1": "What is the weather?"}))
{"query":"What is the weather?","qid":"q1","nuggets":[{"text":"It rains.","importance":"vital"}]}
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

import msgspec

from rageval.core.remark import Remark, Scope
from rageval.errors import InputError, Place
from rageval.files.jsonl import Id, RecordForm, Unfit, has, identifier, once, one_a_line, read_forms
from rageval.files.opening import Limits, Source, name_of, start_of
from rageval.files.trec import read_columns
from rageval.records import Nugget, NuggetAnswer, Reference
from rageval.text import visible

__all__ = [
    "SCORED",
    "TIERS",
    "Nugget",
    "NuggetBank",
    "bank_forms",
    "is_older_bank",
    "nuggets_without_reference",
    "read_banks",
    "read_intent_weights",
    "read_nuggets",
    "supported",
    "write_banks",
    "write_nuggets",
]

SCORED = ("OR", "AND")  # what measures know to take together
_AGGREGATORS = (*SCORED, "NOT", "SUM")
TIERS = {
    "mandatory": "vital",
    "optional": "okay",
}  # RAGDoll's criteria are made of nuggets
_LONGEST_SHOWN = 60
_LARGEST = 10**6  # of a number that says how important something is
_Importance = str | int | float | None


class NuggetBank(NamedTuple):
    """The nuggets of a query, and the record they are from."""

    query_id: str
    nuggets: tuple[Nugget, ...]
    record: Mapping[str, Any] = {}


def supported(nugget: Nugget) -> Nugget | None:
    """Return a question with those of its answers that some document states; None if there are none.

    This is Auto-ARGUE's rule. Claims have no answers, and stay as they are.
    """
    kept = tuple(answer for answer in nugget.answers if answer.references)
    return nugget._replace(answers=kept) if kept or not nugget.answers else None


def nuggets_without_reference(nuggets: Iterable[Nugget], name: str | None = None) -> Remark | None:
    """Return a remark on what Auto-ARGUE's rule leaves out of the banks of a file; None if it is nothing.

    Answers of DRAGUN's rubrics, which have ids, are known by no reference.
    """
    answers = questions = 0
    for nugget in nuggets:
        lacking = [answer for answer in nugget.answers if not answer.references and not answer.answer_id]
        answers += len(lacking)
        questions += bool(lacking) and len(lacking) == len(nugget.answers)
    if not answers:
        return None
    about, counts = Scope(file=name), {"answers": answers, "questions": questions}
    return Remark("answers_without_reference", about, counts)


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
    return NuggetBank(query, distinct(asked + claims), record)


def _nugget(fields: _Fields, key: str, query: str, limits: Limits) -> Nugget:
    """Return a nugget, which an error names by its key."""
    try:
        if "claim" not in fields:
            asked = msgspec.convert(fields, _Question)
            # NuggetBank's own id of a question that names none.
            digest = hashlib.md5(asked.question.encode(), usedforsecurity=False).hexdigest()
            given = (
                digest if asked.question_id is None else identifier(asked.question_id, "question_id", limits)
            )
            answers = tuple(
                NuggetAnswer(
                    answer.answer,
                    _references(answer.references, limits),
                    importance=None if answer.importance is None else str(answer.importance),
                )
                for answer in (asked.answers or {}).values()
            )
            nugget = _common(asked, Nugget(query, given, asked.question, answers=answers), limits)
            return nugget._replace(sub_nuggets=_sub_nuggets(asked.sub_nuggets, query, limits))
        claim = msgspec.convert(fields, _Claim)
        given = identifier(key if claim.claim_id is None else claim.claim_id, "claim_id", limits)
        nugget = _common(claim, Nugget(query, given, claim.claim), limits)
        return nugget._replace(sub_nuggets=_sub_nuggets(claim.sub_nuggets, query, limits))
    except msgspec.ValidationError as error:
        # Where it is in the nugget nobody is to take for a path in the record.
        problem = str(error).replace(" - at `$.", " in `").replace(" - at `$`", "")
        raise Unfit(f"{_quote_text(key)}: {problem}") from None


def _common(fields: _Question | _Claim, nugget: Nugget, limits: Limits) -> Nugget:
    """Return the nugget with what questions and claims both say."""
    if fields.query_id is not None and str(fields.query_id) != nugget.query_id:
        other = _quote_text(str(fields.query_id))
        raise Unfit(expected=f"a nugget of query {_quote_text(nugget.query_id)}", found=f"one of {other}")
    # A word names a class, and a number is a weight.
    weight = None if isinstance(fields.importance, str) else fields.importance
    if weight is not None and abs(weight) > _LARGEST:
        raise Unfit(expected=f"a number up to {_LARGEST:,} as `importance`", found="one out of range")
    aggregator = (fields.aggregator_type or "OR").upper()
    aggregator = "OR" if aggregator == "DEFAULT" else aggregator
    if aggregator not in _AGGREGATORS:
        raise Unfit(
            expected=f"one of {', '.join(_AGGREGATORS)} as `aggregator_type`", found=_quote_text(aggregator)
        )
    return nugget._replace(
        importance=fields.importance if isinstance(fields.importance, str) else None,
        weight=None if weight is None else float(weight),
        aggregator=aggregator,
        references=_references(fields.references, limits),
    )


def _sub_nuggets(
    sub_nuggets: list[_Fields] | dict[str, _Fields] | None, query: str, limits: Limits
) -> tuple[Nugget, ...]:
    by_key = (
        sub_nuggets
        if isinstance(sub_nuggets, dict)
        else {str(index): sub for index, sub in enumerate(sub_nuggets or ())}
    )
    return tuple(_nugget(fields, key, query, limits) for key, fields in by_key.items())


def _references(given: list[_Reference] | None, limits: Limits) -> tuple[Reference, ...]:
    references = []
    for fields in given or ():
        doc, place = identifier(fields.doc_id, "doc_id", limits), fields.offsets
        reference = Reference(doc, fields.text or "", collection=fields.collection or "")
        if place is not None:
            start, end = place.start_offset, place.end_offset
            if not 0 <= start <= end:
                raise Unfit(
                    expected="offsets from 0, with the end after the start", found=f"{start} to {end}"
                )
            reference = reference._replace(start=start, end=end, encoding=place.encoding or "")
        references.append(reference)
    return tuple(references)


def _quote_text(text: str) -> str:
    return repr(text[:_LONGEST_SHOWN])


def distinct(nuggets: list[Nugget]) -> tuple[Nugget, ...]:
    """Return nuggets of a query, whose ids must differ."""
    seen: set[str] = set()
    for nugget in nuggets:
        if nugget.nugget_id in seen:
            raise Unfit(
                expected="a different id for every nugget", found=f"{_quote_text(nugget.nugget_id)} twice"
            )
        seen.add(nugget.nugget_id)
    return tuple(nuggets)


def _from_older(query: str | None) -> Callable[[_Fields, Limits], NuggetBank]:
    """Return how a file of the older form is built, which names its query only in its own name."""

    def build_bank(record: _Fields, limits: Limits) -> NuggetBank:
        if query is None:
            raise Unfit("the query of these nuggets is unknown", remedy="name the file nuggets_QUERY.json")
        name = identifier(query, "the name of the file", limits)
        asked = []
        for text, (how, answers) in record.items():
            # {answer: documents}, turned into what v3 has.
            documents = {answer: msgspec.convert(docs, list[Id]) for answer, docs in answers.items()}
            given = {
                answer: {"answer": answer, "references": [{"doc_id": doc} for doc in docs]}
                for answer, docs in documents.items()
            }
            fields = {"question": text, "aggregator_type": how, "answers": given}
            asked.append(_nugget(fields, text, name, limits))
        return NuggetBank(name, distinct(asked), record)

    return build_bank


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
        # Some files explain the letter behind a colon.
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


class _RagtimeAnswer(msgspec.Struct):
    """An answer with the ids of documents that state it."""

    answer: str
    references: list[Id | _Reference] | None = None


class _RagtimeNugget(msgspec.Struct):
    """A question of a bank that is a list."""

    question: str
    aggregator_type: Literal["AND", "OR"] | None = None
    answers: list[_RagtimeAnswer] | None = None
    importance: _Importance = None


class _RagtimeMetadata(msgspec.Struct):
    """Which topic a bank is of."""

    topic_id: Id


class _RagtimeBank(msgspec.Struct):
    """A line of the nuggetization task of RAGTIME 2026."""

    metadata: _RagtimeMetadata
    nugget_bank: list[_RagtimeNugget]


def _from_ragtime(record: _Fields, limits: Limits) -> NuggetBank:
    """Return the bank as NuggetBank v3 has it, where questions and answers are by their texts."""
    bank = msgspec.convert(record, _RagtimeBank)
    query = str(bank.metadata.topic_id)
    questions: dict[str, Any] = {}
    for nugget in bank.nugget_bank:
        answers: dict[str, Any] = {}
        for answer in nugget.answers or ():
            listed = [
                {"doc_id": given} if not isinstance(given, _Reference) else msgspec.to_builtins(given)
                for given in answer.references or ()
            ]
            if answer.answer in answers:
                raise Unfit(expected="each answer once", found=f"{answer.answer[:80]!r} twice")
            answers[answer.answer] = {"answer": answer.answer, "references": listed}
        if nugget.question in questions:
            raise Unfit(expected="each question once", found=f"{nugget.question[:80]!r} twice")
        questions[nugget.question] = {
            "question": nugget.question,
            "query_id": query,
            "aggregator_type": nugget.aggregator_type,
            "importance": nugget.importance,
            "answers": answers,
        }
    return _from_v3({"query_id": query, "title_query": "", "nugget_bank": questions}, limits)._replace(
        record=record
    )


_RAGTIME26 = RecordForm(
    "nuggets of RAGTIME 2026",
    "{metadata: {topic_id}, nugget_bank: [{question, aggregator_type, answers: [{answer, references}]}]}",
    lambda record: "metadata" in record and isinstance(record.get("nugget_bank"), list),
    _Fields,
    _from_ragtime,
)
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
    match = _OF_A_QUERY.fullmatch(_PACKED.sub("", PurePath(name).name))
    older: RecordForm[NuggetBank] = RecordForm(
        "nuggets of NeuCLIR",
        "{question: [AND or OR, {answer: [document]}]}",
        is_older_bank,
        _Fields,
        _from_older(match[1] if match else None),
    )
    return _RAGTIME26, _V3, _DRAGUN, older


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


class _RagdollCriterion(msgspec.Struct):
    """What a good answer holds, by RAGDoll, which gives mandatory criteria 5 and others 2."""

    text: str
    weight: float | None = None
    tier: str | None = None
    type: str | None = None
    source_nugget: Id | None = None


class _RagdollRubric(msgspec.Struct):
    """A line of RAGDoll's rubrics."""

    qid: Id
    criteria: list[_RagdollCriterion | str]
    status: str = "completed"


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
    for index, nugget in enumerate(line.nuggets):
        given = nugget.nugget_id if nugget.nugget_id is not None else nugget.id
        name = str(index) if given is None else identifier(given, f"nuggets[{index}].id", limits)
        importance = None if nugget.importance == "failed" else nugget.importance
        facts = () if nugget.source is None else (("source", nugget.source),)
        group = nugget.mapped_sub_narrative
        nuggets.append(Nugget(query, name, nugget.text, importance, group=group, facts=facts))
    return NuggetBank(query, distinct(nuggets))


def _from_rubrics(line: _Rubrics, limits: Limits) -> NuggetBank:
    query = identifier(line.qid, "qid", limits)
    criteria = (
        Nugget(query, str(index), criterion.criterion, weight=criterion.weight, group=criterion.axis)
        for index, criterion in enumerate(line.rubrics)
    )
    return NuggetBank(query, tuple(criteria))


def _from_ragdoll(line: _RagdollRubric, limits: Limits) -> NuggetBank:
    if line.status != "completed":
        raise Unfit(expected="a rubric with the status 'completed'", found=f"{line.status[:80]!r}")
    query = identifier(line.qid, "qid", limits)
    nuggets = []
    for index, given in enumerate(line.criteria):
        criterion = _RagdollCriterion(given) if isinstance(given, str) else given
        source = criterion.source_nugget
        nuggets.append(
            Nugget(
                query,
                str(index),
                criterion.text,
                TIERS.get(criterion.tier or ""),
                weight=criterion.weight,
                group=criterion.type,
                facts=() if source is None else (("source_nugget", str(source)),),
            )
        )
    return NuggetBank(query, tuple(nuggets))


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
_RAGDOLL = RecordForm(
    "RAGDoll rubrics",
    "{qid, criteria: [{text, weight}]}",
    lambda record: "qid" in record and isinstance(record.get("criteria"), list),
    _RagdollRubric,
    _from_ragdoll,
)
_FRESHSTACK = RecordForm(
    "FreshStack questions",
    "{query_id, nuggets: [{_id, text}]}",
    has("query_id", "nuggets"),
    _FreshStackNuggets,
    _from_freshstack,
)


def read_nuggets(source: Source) -> Iterator[Nugget]:
    """Read the nuggets (or the criteria of rubrics) of a file, or of the files of a folder, query by query.

    A nugget without an id is called after its place, from 0, or in NuggetBank v3 after the digest of its
    question; an importance that "failed" is None. A dataset that holds nuggets may stand for a file.
    """
    if callable(content := getattr(source, "nuggets", None)):
        yield from content()
        return
    for _, bank in numbered_banks(source):
        yield from bank.nuggets


def read_banks(source: Source) -> Iterator[NuggetBank]:
    """Read banks of nuggets with their whole records: NuggetBank v3, NeuCLIR's older form, DRAGUN's rubrics.

    The other formats of nuggets are read, too, without a record.
    """
    for _, bank in numbered_banks(source):
        yield bank


def numbered_banks(source: Source) -> Iterator[tuple[int, NuggetBank]]:
    """Read (line, nuggets) of every query; the files of a folder one after the other."""
    files: list[Source] = [source]
    if isinstance(source, str | os.PathLike) and os.path.isdir(source):
        with os.scandir(source) as entries:
            named = [entry.path for entry in entries if entry.is_file() and _IN_A_FOLDER.search(entry.name)]
        files = [*sorted(named)]
        if not files:
            raise InputError(
                at=Place(name_of(source)), expected="files of nuggets (*.json, *.jsonl)", found="none"
            )
    first: dict[str, str] = {}
    for file in files:
        # The older form names its query in the name of the file only.
        forms = (*bank_forms(name_of(file)), _LISTS, _RUBRICS, _RAGDOLL, _FRESHSTACK)
        lines = one_a_line(file, "nuggets")
        records = read_forms(lines, forms, "nuggets")
        for line, bank in once(records, file, lambda bank: f"list of nuggets for query {bank.query_id}"):
            if first.setdefault(bank.query_id, name_of(file)) != name_of(file):
                raise InputError(
                    at=Place(name_of(file), line),
                    problem=f"query {visible(bank.query_id)} has nuggets in {visible(first[bank.query_id])},"
                    " too",
                    remedy="put them in one file",
                )
            yield line, bank


def write_banks(banks: Iterable[NuggetBank]) -> Iterator[str]:
    """Write banks as JSON lines, each with all that was read of it, known here or not."""
    for bank in banks:
        if not bank.record:
            raise InputError(
                at=Place(f"nuggets of query {bank.query_id!r}"),
                problem="have no record of a bank",
                remedy="write them with write_nuggets",
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
            raise InputError(
                at=Place(f"query {query!r}"),
                problem="its nuggets are not together",
                remedy="sort them by query",
            )
        seen.add(query)
        listed = [_nugget_record(position, nugget) for position, nugget in enumerate(together)]
        record = {"query": (questions or {}).get(query, ""), "qid": query, "nuggets": listed}
        yield msgspec.json.encode(record).decode()


def _nugget_record(position: int, nugget: Nugget) -> dict[str, Any]:
    fits = nugget.importance in ("vital", "okay", None) and not nugget.references
    unsupported = "a weight" if nugget.weight is not None else "answers" if nugget.answers else ""
    if unsupported or not fits:
        raise InputError(
            at=Place(f"nugget {nugget.nugget_id!r} of query {nugget.query_id!r}"),
            problem=f"has {unsupported or 'references, or an importance of another kind'}, for which the"
            " format of AutoNuggetizer has no field",
            expected="nuggets that are vital or okay",
        )
    record: dict[str, Any] = {"text": nugget.text}
    record |= {"importance": nugget.importance} if nugget.importance is not None else {}
    record |= {"nugget_id": nugget.nugget_id} if nugget.nugget_id != str(position) else {}
    record |= {"mapped_sub_narrative": nugget.group} if nugget.group is not None else {}
    return dict(nugget.facts) | record


_HEAVIEST = 10**6
_BY_IMPORTANCE = {"vital": 1.0, "okay": 0.5}


def read_intent_weights(source: Source) -> dict[str, dict[str, float]]:
    """Read {query: {nugget: weight}} of lines `query_id nugget weight`, or of a file of nuggets.

    A nugget weighs what its file says, or else 1 if it is vital and ½ if it is okay.
    """
    is_bank = callable(getattr(source, "nuggets", None)) or start_of(source).lstrip().startswith(b"{")
    weights: dict[str, dict[str, float]] = {}
    rows: Iterable[Sequence[Any]] = _weights_of_nuggets(source) if is_bank else ()
    if not is_bank:
        lines = read_columns(source, "query_id nugget weight")
        rows = ((f"{name_of(source)}:{line}", *words) for line, words in lines)
    for where, query, nugget, weight in rows:
        if nugget in weights.setdefault(query, {}):
            raise InputError(
                at=where, problem=f"nugget {visible(nugget)} of query {visible(query)} already has a weight"
            )
        weights[query][nugget] = weight_of(weight, where)
    return weights


def weight_of(given: object, where: Place) -> float:
    """Return the weight of a nugget among those of its query; `InputError` if it can be none."""
    try:
        weight = float(str(given))
    except ValueError:
        weight = float("nan")
    if not 0 <= weight <= _HEAVIEST:
        raise InputError(
            at=where, expected=f"a weight from 0 to {_HEAVIEST:,}", found=f"{visible(str(given))!r:.80}"
        )
    return weight


def _weights_of_nuggets(source: Source) -> Iterator[tuple[Place, str, str, float]]:
    for nugget in read_nuggets(source):
        inside = f"nugget {visible(nugget.nugget_id)} of query {visible(nugget.query_id)}"
        where = Place(name_of(source), inside=inside)
        if nugget.weight is None and nugget.importance is None:
            raise InputError(at=where, expected="a weight, or an importance (vital, okay)", found="neither")
        weight = _BY_IMPORTANCE.get(nugget.importance or "") if nugget.weight is None else nugget.weight
        if weight is None:
            raise InputError(
                at=where, expected="vital or okay", found=f"{visible(str(nugget.importance))!r:.80}"
            )
        yield where, nugget.query_id, nugget.nugget_id, weight


_SCORES = ("strict_vital_score", "strict_all_score", "vital_score", "all_score")


class _Metrics(msgspec.Struct):
    """A line: the four scores of a query, or of `all`."""

    qid: Id
    strict_vital_score: float
    strict_all_score: float
    vital_score: float
    all_score: float


_Named = tuple[str, dict[str, float]]


_METRICS: RecordForm[_Named] = RecordForm(
    "metrics",
    f"{{qid, {', '.join(_SCORES)}}}",
    has("qid", "strict_vital_score"),
    _Metrics,
    lambda line, limits: (
        identifier(line.qid, "qid", limits),
        {name: getattr(line, name) for name in _SCORES},
    ),
)


def read_metrics(source: Source) -> dict[str, dict[str, float]]:
    """Read {query: {score: value}} of one run, with the means under `all`."""
    records = read_forms(source, (_METRICS,), "metrics of the nuggetizer")
    return dict(item for _, item in once(records, source, lambda item: f"line for query {item[0]}"))
