"""The steps of agents: JSON lines, one step a line; those of one answer are a trajectory.

    {"query_id":"q1","run_id":"a","step":3,"kind":"search","query":"…","docs":["d7","d2"],"cost":0.0021}

A trajectory is all steps of a `run_id`, `query_id` and `repeat`, ordered by `step`; those of one number ran
beside each other, and keep the order of the file. `docs` are ids in their order, or objects with an `id` or
`docid`. What is not stated is not known, and is not 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from rageval.errors import InputError, Place
from rageval.files.jsonl import Id, Unfit, identifier, read_batches, read_records
from rageval.files.opening import Limits, Source, limits_of, name_of
from rageval.records import Step

_KINDS = frozenset({"search", "read", "tool", "model", "answer"})
_Amount = Annotated[float, msgspec.Meta(ge=0)]
EXPECTED = "a step {query_id, kind, docs, …}"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Step]).decode
_canonical = msgspec.json.Encoder(order="sorted").encode


def is_step(record: dict[str, Any]) -> bool:
    """Return whether a record is a step: it has a kind of step, or a number and a kind that is misspelled.

    >>> is_step({"query_id": "q", "kind": "search"}), is_step({"query_id": "q", "kind": "judged"})
    (True, False)
    """
    kind = record.get("kind")
    return "query_id" in record and isinstance(kind, str) and (kind in _KINDS or "step" in record)


class _ExpectedCall(msgspec.Struct, gc=False):
    """A call of a tool that is right for a question."""

    kind: Literal["search", "read", "tool"] = "tool"
    tool: str = ""
    query: str = ""
    arguments: Any = None


class _QuestionLine(msgspec.Struct, gc=False):
    """What is read of a question."""

    query_id: Id
    expected_calls: list[_ExpectedCall] | None = None


class _ReturnedDocument(msgspec.Struct, gc=False):
    """A document that a step returned, where more than its id is stated."""

    id: Id | None = None
    docid: Id | None = None


class StepLine(msgspec.Struct, gc=False):
    """What is read of a line."""

    query_id: Id
    kind: Literal["search", "read", "tool", "model", "answer"]
    run_id: Id = ""
    repeat: Id = ""
    step: int | None = None
    tool: str = ""
    query: str = ""
    arguments: Any = None
    docs: list[Id | _ReturnedDocument] = []
    status: Literal["ok", "error"] = "ok"
    input_tokens: _Amount | None = None
    output_tokens: _Amount | None = None
    cost: _Amount | None = None
    seconds: _Amount | None = None


class StepsOfAnswer(NamedTuple):
    """The steps by which a system came to one answer, encoded: files hold millions of them."""

    query_id: str
    run_id: str
    repeat: str
    encoded: bytes

    @property
    def steps(self) -> list[Step]:
        """The steps, in their order, decoded each time."""
        return _decode(self.encoded)


def read_steps(source: Source) -> list[StepsOfAnswer]:
    """Read all trajectories of a file, in the order of their first lines.

    Steps are encoded as soon as the lines of another trajectory begin.
    """
    # Several encodings of a trajectory whose lines lie apart.
    encodings: dict[tuple[str, str, str], list[bytes]] = {}
    name = name_of(source)
    for key, lines in groupby(_steps(source), key=itemgetter(0)):
        encodings.setdefault(key, []).append(_encode(_in_order([step for _, step in lines], name)))
    return [StepsOfAnswer(*key, _whole(parts, name)) for key, parts in encodings.items()]


def read_expected_calls(source: Source) -> dict[str, tuple[Step, ...]]:
    """Read the calls of tools that questions expect (`expected_calls`), by question."""
    limits, name = limits_of(source), name_of(source)
    calls: dict[str, tuple[Step, ...]] = {}
    for number, line in read_records(source, _QuestionLine, "a question {query_id, expected_calls, …}"):
        try:
            query = identifier(line.query_id, "query_id", limits)
        except Unfit as error:
            raise error.parts.located(Place(name, number)) from None
        calls[query] = tuple(
            Step(call.kind, request=_request(call.query, call.arguments), tool=call.tool)
            for call in line.expected_calls or ()
        )
    return calls


def _whole(encodings: list[bytes], name: str) -> bytes:
    if len(encodings) == 1:
        return encodings[0]
    return _encode(_in_order([step for encoding in encodings for step in _decode(encoding)], name))


def _steps(source: Source) -> Iterator[tuple[tuple[str, str, str], Step]]:
    """Yield the query, the run and the repeat of each line, and its step."""
    limits, name = limits_of(source), name_of(source)
    # Nearly every line is of the same trajectory as the line before.
    checked = lru_cache(maxsize=1)(partial(_key, limits=limits))
    for numbers, lines in read_batches(source, StepLine, EXPECTED):
        for number, line in zip(numbers, lines, strict=True):
            try:
                yield checked(line.query_id, line.run_id, line.repeat), _step(line, limits)
            except Unfit as error:
                raise error.parts.located(Place(name, number)) from None


def _key(query: Id, run: Id, repeat: Id, limits: Limits) -> tuple[str, str, str]:
    run_id = identifier(run, "run_id", limits) if run != "" else ""
    return identifier(query, "query_id", limits), run_id, str(repeat)


def _step(line: StepLine, limits: Limits) -> Step:
    return Step(
        line.kind,
        _documents(line.docs, limits),
        _request(line.query, line.arguments),
        line.tool,
        line.status,
        line.input_tokens,
        line.output_tokens,
        line.cost,
        line.seconds,
        line.step,
    )


def _in_order(steps: list[Step], name: str) -> list[Step]:
    """Return steps in the order of their numbers; without these, in that of the file."""
    numbers = [step.number for step in steps]
    if None not in numbers:
        return sorted(steps, key=attrgetter("number"))
    if numbers.count(None) < len(numbers):
        raise InputError(
            at=Place(name),
            problem="some steps of a trajectory have a number (`step`), and others do not",
            remedy="number all of them, or none",
        )
    return steps


def _request(query: str, arguments: Any) -> str:
    return query if arguments is None else canonical(arguments)


def canonical(arguments: Any) -> str:
    """Return the arguments of a call as one text: equal ones are the same text, also as JSON within a text.

    >>> canonical({"k": 5, "query": "x"}) == canonical('{"query": "x", "k": 5}')
    True
    """
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments)
        except (ValueError, RecursionError):
            return str(arguments)
    return _canonical(arguments).decode()


def _documents(docs: list[Any], limits: Limits) -> tuple[str, ...]:
    """Return the ids of documents, each once."""
    if not docs:
        return ()
    try:
        text = "".join(docs)
    except TypeError:  # numbers or objects
        text = ""
    # Nearly always plain ids, which one look at all of them together shows.
    is_plain = text.isascii() and text.isprintable() and " " not in text and "" not in docs
    if is_plain and text and max(map(len, docs)) <= limits.id:
        return tuple(dict.fromkeys(docs))
    return tuple(dict.fromkeys(identifier(_id_of(doc), "docs", limits) for doc in docs))


def _id_of(doc: Id | _ReturnedDocument) -> Id:
    if not isinstance(doc, _ReturnedDocument):
        return doc
    name = doc.docid if doc.id is None else doc.id
    if name is None:
        raise Unfit(expected="an id of each document", found="an object without id or docid")
    return name
