"""Rules on an answer of a track (fields, references, sentences, citations), and on all answers together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as of_its_own
from typing import Any, NamedTuple, Protocol

import msgspec

from rageval.checking.findings import ERROR, WARNING, counted
from rageval.files.opening import quoted
from rageval.records import Question
from rageval.text import RULES

Record = dict[str, Any]

Path = tuple[str, ...]

MISSING: Any = object()


class Remark(NamedTuple):
    """What is wrong with a record."""

    level: str
    message: str


Rule = Callable[[Record], Iterator[Remark]]


def error(message: str) -> Remark:
    """Make a remark on what the track refuses."""
    return Remark(ERROR, message)


def warning(message: str) -> Remark:
    """Make a remark on what the track accepts, and the author should know."""
    return Remark(WARNING, message)


def shown(value: Any) -> str:
    """Return a value of a file as a message may show it: short, and with nothing a terminal would obey."""
    if isinstance(value, str):
        return quoted(value.encode("utf-8", "surrogatepass"))
    try:
        return quoted(msgspec.json.encode(value))[1:-1]
    except (OverflowError, RecursionError):
        return "something too large to show"


def value_at(record: Record, path: Path) -> Any:
    """Return the value under nested keys, or MISSING."""
    value: Any = record
    for key in path:
        value = value.get(key, MISSING) if isinstance(value, dict) else MISSING
    return value


def id_at(record: Record, path: Path) -> str | None:
    """Return the id under nested keys as text; None if there is none."""
    value = value_at(record, path)
    return str(value) if isinstance(value, str) or is_number(value) else None


def is_number(value: Any) -> bool:
    """Tell whether it is a whole number, which true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_id(value: Any) -> bool:
    return _is_text(value) or is_number(value)


TEXT, ID, NUMBER = (_is_text, "a text"), (_is_id, "an id (text or number)"), (is_number, "a whole number")
LIST = (lambda value: isinstance(value, list), "a list")
OBJECT = (lambda value: isinstance(value, dict), "an object")


@dataclass(frozen=True, slots=True)
class Field:
    """A field by its path, its kind, and whether it must be there and say something."""

    path: Path
    kind: tuple[Callable[[Any], bool], str]
    required: bool = True
    filled: bool = True
    among: tuple[str, ...] = ()


def field(path: str, kind: tuple[Callable[[Any], bool], str], **rules: Any) -> Field:
    """Return the field under this dotted path."""
    return Field(tuple(path.split(".")), kind, **rules)


def fields(*expected: Field) -> Rule:
    """Require that required fields are there, and all of their kind."""

    def rule(record: Record) -> Iterator[Remark]:
        for one in expected:
            parent = value_at(record, one.path[:-1])
            # A field within an object that is missing would be the same fault said twice.
            if isinstance(parent, dict):  # if not, the parent's own rule has said so
                yield from _field(one, parent.get(one.path[-1], MISSING))

    return rule


def _field(one: Field, value: Any) -> Iterator[Remark]:
    name = f"`{'.'.join(one.path)}`"
    is_kind, kind = one.kind
    if value is MISSING:
        if one.required:
            yield error(f"{name} is missing, expected {kind}")
    elif not is_kind(value):
        yield error(f"expected {kind} as {name}, found {shown(value)}")
    elif one.filled and isinstance(value, str) and not value.strip():
        # Blanks alone say as little as nothing, and pass every parser.
        yield (error if one.required else warning)(f"{name} is empty")
    elif one.among and value not in one.among:
        yield error(f"expected {' or '.join(one.among)} as {name}, found {shown(value)}")


def no_other_fields(path: str, known: str) -> Rule:
    """Warn of a field that the track does not know: perhaps a misspelt one."""
    keys = set(known.split())
    parent = tuple(path.split(".")) if path else ()

    def rule(record: Record) -> Iterator[Remark]:
        found = value_at(record, parent)
        for key in found if isinstance(found, dict) else ():
            if key not in keys:
                yield warning(
                    f"unknown field {shown(key)}{f' in `{path}`' if path else ''}; known are {known}"
                )

    return rule


def no_blanks(path: str) -> Rule:
    """Warn of white space in an id, which parts columns in the files made of it."""
    keys = tuple(path.split("."))

    def rule(record: Record) -> Iterator[Remark]:
        value = value_at(record, keys)
        if isinstance(value, str) and value.strip() and any(map(str.isspace, value)):
            yield warning(f"white space in `{path}`: {shown(value)}; files of columns part there")

    return rule


def references_of(record: Record) -> list[Any]:
    """Return the list as it is; empty if there is none."""
    found = record.get("references")
    return found if isinstance(found, list) else []


def references_are_texts(record: Record) -> Iterator[Remark]:
    """Require that every reference is an id in a text."""
    for at, reference in enumerate(references_of(record)):
        if not isinstance(reference, str) or not reference.strip():
            yield error(f"expected the id of a document as references[{at}], found {shown(reference)}")


def at_most_references(limit: int) -> Rule:
    """Require no more references than the track takes."""

    def rule(record: Record) -> Iterator[Remark]:
        count = len(references_of(record))
        if count > limit:
            yield error(f"expected at most {limit} references, found {count:,}")

    return rule


def references_match(pattern: str, what: str, level: str = ERROR) -> Rule:
    """Require that references look like ids of the track's collection; tell together those that do not."""
    fits = re.compile(pattern).fullmatch

    def rule(record: Record) -> Iterator[Remark]:
        odd = [found for found in references_of(record) if isinstance(found, str) and not fits(found)]
        if odd:
            more = f" and {len(odd) - 1:,} more" if len(odd) > 1 else ""
            yield Remark(level, f"expected {what} as references, found {shown(odd[0])}{more}")

    return rule


def no_reference_twice(record: Record) -> Iterator[Remark]:
    """Require that no document stands in the list twice."""
    first: dict[str, int] = {}
    for at, reference in enumerate(references_of(record)):
        if isinstance(reference, str) and first.setdefault(reference, at) != at:
            yield error(
                f"references[{at}] is references[{first[reference]}] again: {shown(reference)};"
                " --fix removes it and re-indexes the citations"
            )


_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def parts_of(record: Record) -> tuple[str, Any]:
    """Return what the sentences of a record are called, and what stands there."""
    key = "responses" if "responses" in record and "answer" not in record else "answer"
    return key, record.get(key)


def sentences_of(record: Record) -> Iterator[tuple[str, Record]]:
    """Yield (place, sentence) of every sentence that is one."""
    key, found = parts_of(record)
    for at, sentence in enumerate(found if isinstance(found, list) else []):
        if isinstance(sentence, dict):
            yield f"{key}[{at}]", sentence


def texts_of(record: Record) -> Iterator[tuple[str, str]]:
    """Yield (place, text) of every sentence that has a text."""
    for at, sentence in sentences_of(record):
        if isinstance(sentence.get("text"), str):
            yield at, sentence["text"]


def citations_of(record: Record) -> Iterator[tuple[str, list[Any]]]:
    """Yield (place, citations) of every sentence that has a list of them, or a dictionary with numbers."""
    for at, sentence in sentences_of(record):
        if isinstance(sentence.get("citations"), list | dict):
            yield at, list(sentence["citations"])


def are_sentences(record: Record) -> Iterator[Remark]:
    """Require that the answer is a list of objects with a text and a list of citations."""
    found = record.get("answer")
    for at, sentence in enumerate(found if isinstance(found, list) else []):
        if not isinstance(sentence, dict):
            yield error(f"expected {{text, citations}} as answer[{at}], found {shown(sentence)}")
            continue
        for key, kind, name in (("text", str, "a text"), ("citations", list, "a list")):
            if key not in sentence:
                yield error(f"answer[{at}].{key} is missing, expected {name}")
            elif not isinstance(sentence[key], kind):
                yield error(f"expected {name} as answer[{at}].{key}, found {shown(sentence[key])}")


def says_something(record: Record) -> Iterator[Remark]:
    """Require that the answer is not empty, and no sentence of it."""
    if not isinstance(parts_of(record)[1], list):
        return
    texts = list(texts_of(record))
    if not any(text.strip() for _, text in texts):
        yield error("the answer is empty")
        return
    for at, text in texts:
        if not text.strip():
            yield warning(f"{at}.text is empty")


def _length_of(record: Record, counting: str) -> int:
    """Count the words of the answer, by the rule of the track."""
    return sum(RULES[counting](text) for _, text in texts_of(record))


def within_length(limit: int, counting: str) -> Rule:
    """Require that the answer is no longer than the track takes."""

    def rule(record: Record) -> Iterator[Remark]:
        words = _length_of(record, counting)
        if words > limit:
            yield error(f"expected at most {limit:,} words ({counting}), found {words:,}")

    return rule


def response_length_agrees(counting: str) -> Rule:
    """Warn where the record says another length than is counted; the track corrects it."""

    def rule(record: Record) -> Iterator[Remark]:
        said, words = record.get("response_length"), _length_of(record, counting)
        if is_number(said) and said != words:
            yield warning(f"`response_length` says {said}, counted {words} words ({counting})")

    return rule


def no_control_characters(record: Record) -> Iterator[Remark]:
    """Warn of characters that only a terminal obeys: they do not belong in an answer."""
    for at, text in texts_of(record):
        found = _CONTROL.search(text)
        if found:
            yield warning(f"{at}.text holds the control character U+{ord(found.group()):04X}")


def document_cited(citation: Any, references: list[Any], known: frozenset[str]) -> str | None:
    """Return the document that a citation, a position or an id, leads to; None if it leads nowhere."""
    if is_number(citation):
        found = references[citation] if 0 <= citation < len(references) else None
        return found if isinstance(found, str) else None
    return citation if isinstance(citation, str) and citation in known else None


def known_documents(references: list[Any]) -> frozenset[str]:
    """Return the references that are ids."""
    return frozenset(found for found in references if isinstance(found, str))


def _cited_documents(record: Record) -> set[str]:
    """Return every document that some sentence cites."""
    references = references_of(record)
    known = known_documents(references)
    found = (
        document_cited(citation, references, known) for _, cited in citations_of(record) for citation in cited
    )
    return {doc for doc in found if doc is not None}


def citations_lead_somewhere(ids: bool) -> Rule:
    """Require that each citation is a position in the references, or (with `ids`) one of them."""

    def rule(record: Record) -> Iterator[Remark]:
        references = references_of(record)
        known = known_documents(references)
        for at, cited in citations_of(record):
            for citation in cited:
                problem = _nowhere(citation, references, known, ids)
                if problem:
                    yield error(f"{at} cites {shown(citation)}, {problem}")

    return rule


def _nowhere(citation: Any, references: list[Any], known: frozenset[str], ids: bool) -> str | None:
    """Say why a citation leads nowhere; None if it does not."""
    count = len(references)
    if is_number(citation):
        if 0 <= citation < count:
            return None
        return f"expected a position from 0 to {count - 1}" if count else "and there are no references"
    if not ids or not isinstance(citation, str):
        return "expected a position in the references" + (", or an id out of them" if ids else ", a number")
    return None if citation in known else "which is not among the references"


def citations_not_repeated(level: str = ERROR) -> Rule:
    """Require that no sentence cites a document twice."""

    def rule(record: Record) -> Iterator[Remark]:
        references = references_of(record)
        known = known_documents(references)
        for at, cited in citations_of(record):
            seen: set[str] = set()
            for citation in cited:
                doc = document_cited(citation, references, known)
                if doc in seen:
                    yield Remark(level, f"{at} cites {shown(doc)} more than once")
                    break
                seen |= {doc} if doc is not None else set()

    return rule


def at_most_citations(limit: int) -> Rule:
    """Require that no sentence cites more documents than the track takes."""

    def rule(record: Record) -> Iterator[Remark]:
        for at, cited in citations_of(record):
            if len(cited) > limit:
                yield error(f"{at} has {len(cited):,} citations, expected at most {limit}")

    return rule


def use_all_references(record: Record) -> Iterator[Remark]:
    """Warn of references that no sentence cites."""
    references = known_documents(references_of(record))
    idle = len(references - _cited_documents(record))
    if idle:
        yield warning(f"{idle:,} of {len(references):,} references are cited by no sentence")


Topics = Mapping[str, Question]
_LISTED = 10


class Watch(Protocol):
    """Sees every record with its line, and has a last word."""

    def see(self, line: int, record: Record) -> Iterator[Remark]:
        """Yield what is wrong with this record, seen with those before."""

    def end(self) -> Iterator[Remark]:
        """Yield what is wrong with all of them."""


@dataclass
class OneAnswerATopic:
    """Every topic is a known one and is answered once; `text` is where records repeat the topic's text.

    `level` is that of another text than the topic's, `again` that of a second answer.
    """

    topic: Path
    text: Path
    topics: Topics | None
    expected: int | None
    level: str = WARNING
    again: str = ERROR
    first: dict[str, int] = of_its_own(default_factory=dict)

    def see(self, line: int, record: Record) -> Iterator[Remark]:
        topic = id_at(record, self.topic)
        if topic is None:
            return
        if self.topics is not None and topic not in self.topics:
            yield error(f"unknown topic {shown(topic)}")
        # setdefault returns the line of the first answer, which is this one or is not.
        elif self.first.setdefault(topic, line) != line:
            where = f"the first is in line {self.first[topic]}"
            yield Remark(self.again, f"a second answer to topic {shown(topic)}, {where}")
        elif self.topics is not None:
            yield from self._text(self.topics[topic].text, record)

    def _text(self, expected: str, record: Record) -> Iterator[Remark]:
        found = value_at(record, self.text)
        if isinstance(found, str) and found.strip() and found.strip() != expected.strip():
            name = ".".join(self.text)
            yield Remark(self.level, f"`{name}` is not the text of the topic: {shown(found)}")

    def end(self) -> Iterator[Remark]:
        if self.topics is None:
            # Without topics their number alone is known: it can be told that some are missing, not which.
            if self.expected is not None and len(self.first) != self.expected:
                yield warning(f"answers to {counted(len(self.first), 'topic')}, expected {self.expected}")
            return
        missing = [topic for topic in self.topics if topic not in self.first]
        if missing:
            listed = ", ".join(map(shown, missing[:_LISTED])) + (", …" if len(missing) > _LISTED else "")
            yield error(f"no answer to {len(missing):,} of {len(self.topics):,} topics: {listed}")


@dataclass
class SameEverywhere:
    """A field that says the same in every record of a run."""

    path: Path
    level: str = ERROR
    value: Any = MISSING
    line: int = 0

    def see(self, line: int, record: Record) -> Iterator[Remark]:
        value = value_at(record, self.path)
        if value is MISSING:
            return
        # The first record sets what the others are held against; it may be the wrong one, which its line
        # number tells.
        if self.value is MISSING:
            self.value, self.line = value, line
        elif value != self.value:
            name = ".".join(self.path)
            yield Remark(
                self.level,
                f"`{name}` is {shown(value)}, expected {shown(self.value)} as in line {self.line}",
            )

    def end(self) -> Iterator[Remark]:
        return iter(())


@dataclass
class OneWayToCite:
    """A file cites by position or by id; the tracks' own validators take one of the two."""

    ids: bool | None = None
    line: int = 0
    said: bool = False

    def see(self, line: int, record: Record) -> Iterator[Remark]:
        for _, cited in citations_of(record):
            for citation in cited:
                if not is_number(citation) and not isinstance(citation, str):
                    continue
                is_id = isinstance(citation, str)
                if self.ids is None:
                    self.ids, self.line = is_id, line
                # Said once: a file that mixes them does so in most of its lines.
                elif is_id != self.ids and not self.said:
                    self.said = True
                    before, now = ("ids", "positions") if self.ids else ("positions", "ids")
                    yield warning(f"cites by {now}, line {self.line} by {before}; expected one way in a file")

    def end(self) -> Iterator[Remark]:
        return iter(())


Watches = Callable[[Topics | None], tuple[Watch, ...]]
