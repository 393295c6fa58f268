"""The steps of agents: JSON lines, one step a line; those of one answer are a trajectory.

    {"query_id":"q1","run_id":"a","step":3,"kind":"search","query":"…","docs":["d7","d2"],"cost":0.0021}

A trajectory is all steps of a `run_id`, `query_id` and `repeat`, ordered by `step`; those of one number ran
beside each other, and keep the order of the file. `docs` are ids in their order, or objects with an `id` or
`docid`. What is not stated is not known, and is not 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from rageval.errors import InputError, Place
from rageval.files.jsonl import Id, Unfit, identifier, read_batches, read_records
from rageval.files.opening import Limits, Source, limits_of, name_of
from rageval.records import Step

_KINDS = frozenset({"search", "read", "tool", "model", "answer"})
_Amount = Annotated[float, msgspec.Meta(ge=0)]
_Fields = tuple[Any, ...]
EXPECTED = "a step {query_id, kind, docs, …}"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Step]).decode
_docs_of = attrgetter("docs")
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


class _DocsOfStep(msgspec.Struct, array_like=True, gc=False):
    """The first fields of a `Step`; decoding leaves the others unread."""

    kind: str
    docs: list[str]


_decode_docs = msgspec.msgpack.Decoder(list[_DocsOfStep]).decode


class StepLine(msgspec.Struct, gc=False):
    """What is read of a line."""

    query_id: Id
    kind: Literal["search", "read", "tool", "model", "answer"]
    run_id: Id = ""
    repeat: Id = ""
    conversation_id: Id | None = None
    step: int | None = None
    tool: str = ""
    query: str = ""
    arguments: Any = None
    docs: Any = ()
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
    conversation_id: str = ""

    @property
    def seen(self) -> list[str]:
        """The documents in the order of first seeing, each once."""
        return list(dict.fromkeys(chain.from_iterable(map(_docs_of, _decode_docs(self.encoded)))))

    @property
    def steps(self) -> list[Step]:
        """The steps, in their order, decoded each time."""
        return _decode(self.encoded)


def read_steps(source: Source) -> list[StepsOfAnswer]:
    """Read all trajectories of a file, in the order of their first lines.

    Steps are encoded as soon as the lines of another trajectory begin.
    """
    limits, name = limits_of(source), name_of(source)
    # Several encodings of a trajectory whose lines lie apart.
    encodings: dict[tuple[str, str, str], list[bytes]] = {}
    steps: list[_Fields] = []
    current, ids = None, ("", "", "")
    conversations: dict[str, str] = {}
    for numbers, lines in read_batches(source, StepLine, EXPECTED):
        for number, line in zip(numbers, lines, strict=True):
            try:
                if (key := (line.query_id, line.run_id, line.repeat)) != current:
                    if steps:
                        encodings.setdefault(ids, []).append(_encoded(steps, name))
                    current, ids, steps = key, _checked(*key, limits), []
                    if line.conversation_id is not None:
                        conversations.setdefault(ids[0], str(line.conversation_id))
                steps.append(_fields_of(line, limits))
            except Unfit as error:
                raise error.parts.located(Place(name, number)) from None
    if steps:
        encodings.setdefault(ids, []).append(_encoded(steps, name))
    return [
        StepsOfAnswer(*ids, _whole(parts, name), conversations.get(ids[0], ""))
        for ids, parts in encodings.items()
    ]


def _checked(query: Id, run: Id, repeat: Id, limits: Limits) -> tuple[str, str, str]:
    run_id = identifier(run, "run_id", limits) if run != "" else ""
    return identifier(query, "query_id", limits), run_id, str(repeat)


def _fields_of(line: StepLine, limits: Limits) -> _Fields:
    """Return the fields of a `Step`: a plain tuple, which takes less time to make."""
    return (
        line.kind,
        _documents(line.docs, limits) if line.docs else (),
        line.query if line.arguments is None else canonical(line.arguments),
        line.tool,
        line.status,
        line.input_tokens,
        line.output_tokens,
        line.cost,
        line.seconds,
        line.step,
    )


def _whole(encodings: list[bytes], name: str) -> bytes:
    if len(encodings) == 1:
        return encodings[0]
    return _encoded([step for encoding in encodings for step in _decode(encoding)], name)


def _encoded(steps: Sequence[_Fields], name: str) -> bytes:
    """Return steps in the order of their numbers; without these, in that of the file."""
    numbers = [step[-1] for step in steps]
    if None not in numbers:
        return _encode(sorted(steps, key=itemgetter(-1)))
    if numbers.count(None) < len(numbers):
        raise InputError(
            at=Place(name),
            problem="some steps of a trajectory have a number (`step`), and others do not",
            remedy="number all of them, or none",
        )
    return _encode(steps)


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


def _documents(docs: Any, limits: Limits) -> tuple[str, ...]:
    """Return the ids of documents, each once."""
    if docs.__class__ is not list:
        raise Unfit(expected="a list in `docs`", found=f"{docs!r:.80}")
    try:
        text = "".join(docs)
    except TypeError:  # numbers or objects
        text = ""
    # Nearly always plain ids, which one look at all of them together shows.
    is_plain = text.isascii() and text.isprintable() and " " not in text and "" not in docs
    if is_plain and text and max(map(len, docs)) <= limits.id:
        return tuple(dict.fromkeys(docs))
    return tuple(dict.fromkeys(identifier(_id_of(doc), "docs", limits) for doc in docs))


def _id_of(doc: Any) -> Id:
    name = doc
    if isinstance(doc, dict):
        name = doc["id"] if doc.get("id") is not None else doc.get("docid")
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise Unfit(expected="ids, or objects with id or docid, in `docs`", found=f"{doc!r:.80}")
    return name
