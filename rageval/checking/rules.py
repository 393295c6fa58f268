"""Rules on an answer or a report of a track, and on all of a file together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as of_its_own
from typing import Any

from rageval.checking.findings import ERROR, WARNING, Finding, error, excerpt, value_facts, warning
from rageval.errors import InputError, Place
from rageval.records import Question
from rageval.text import RULES, compatible, visible

Record = dict[str, Any]
Path = tuple[str, ...]
MISSING: Any = object()


Rule = Callable[[Record], Iterator[Finding]]


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


# What a value may be, and the name of that for findings.
TEXT, NUMBER = (_is_text, "text"), (is_number, "number")
ID = (lambda value: _is_text(value) or is_number(value), "id")
LIST = (lambda value: isinstance(value, list), "list")
OBJECT = (lambda value: isinstance(value, dict), "object")


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

    def rule(record: Record) -> Iterator[Finding]:
        for one in expected:
            parent = value_at(record, one.path[:-1])
            # A field within an object that is missing would be the same fault said twice.
            if not isinstance(parent, dict):  # the parent's own rule has said so
                continue
            value = parent.get(one.path[-1], MISSING)
            name = ".".join(one.path)
            is_kind, kind = one.kind
            if value is MISSING:
                if one.required:
                    yield error("missing_field", field=name, expected=kind)
            elif not is_kind(value):
                yield error("unexpected_value", field=name, expected=kind, **value_facts(value))
            elif one.filled and isinstance(value, str) and not value.strip():
                # Blanks alone say as little as nothing, and pass every parser.
                yield (error if one.required else warning)("empty_field", field=name)
            elif one.among and value not in one.among:
                yield error("unknown_value", field=name, choices=one.among, **value_facts(value))

    return rule


def no_other_fields(path: str, fields: str) -> Rule:
    """Warn of a field that the track does not know: perhaps a misspelt one."""
    names = tuple(fields.split())
    parent = tuple(path.split(".")) if path else ()

    def rule(record: Record) -> Iterator[Finding]:
        value = value_at(record, parent)
        for key in value if isinstance(value, dict) else ():
            if key not in names:
                yield warning("unknown_field", field=excerpt(key), parent=path, fields=names)

    return rule


def no_blanks(path: str) -> Rule:
    """Warn of white space in an id, which parts columns in the files made of it."""
    keys = tuple(path.split("."))

    def rule(record: Record) -> Iterator[Finding]:
        value = value_at(record, keys)
        if isinstance(value, str) and value.strip() and any(map(str.isspace, value)):
            yield warning("blanks_in_id", field=path, value=excerpt(value))

    return rule


def references_of(record: Record) -> list[Any]:
    """Return the list as it is; empty if there is none."""
    references = record.get("references")
    return references if isinstance(references, list) else []


def check_references(record: Record) -> Iterator[Finding]:
    """Require that every reference is an id in a text."""
    for index, reference in enumerate(references_of(record)):
        if not isinstance(reference, str) or not reference.strip():
            place = f"references[{index}]"
            yield error("unexpected_value", field=place, expected="document", **value_facts(reference))


def at_most_references(limit: int) -> Rule:
    """Require no more references than the track takes."""

    def rule(record: Record) -> Iterator[Finding]:
        count = len(references_of(record))
        if count > limit:
            yield error("too_many_references", number=count, limit=limit)

    return rule


def references_match(pattern: str, expected: str, level: str = ERROR) -> Rule:
    """Require that references look like ids of the track's collection; tell together those that do not."""
    fits = re.compile(pattern).fullmatch

    def rule(record: Record) -> Iterator[Finding]:
        foreign = [
            reference
            for reference in references_of(record)
            if isinstance(reference, str) and not fits(reference)
        ]
        if foreign:
            yield error(
                "foreign_references", number=len(foreign), example=excerpt(foreign[0]), expected=expected
            ).of_level(level)

    return rule


def no_reference_twice(level: str = ERROR) -> Rule:
    """Require that no document stands in the list twice."""

    def rule(record: Record) -> Iterator[Finding]:
        first: dict[str, int] = {}
        for index, reference in enumerate(references_of(record)):
            if isinstance(reference, str) and first.setdefault(reference, index) != index:
                yield error(
                    "repeated_reference",
                    position=index,
                    first=first[reference],
                    document=excerpt(reference),
                ).of_level(level)

    return rule


# All but tab and line ends, and the signs that turn the direction in which text is written.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def parts_of(record: Record) -> tuple[str, Any]:
    """Return what the sentences of a record are called, and what stands there."""
    key = "responses" if "responses" in record and "answer" not in record else "answer"
    return key, record.get(key)


def sentences_of(record: Record) -> Iterator[tuple[str, Record]]:
    """Yield (place, sentence) of every sentence that is one."""
    key, sentences = parts_of(record)
    for index, sentence in enumerate(sentences if isinstance(sentences, list) else []):
        if isinstance(sentence, dict):
            yield f"{key}[{index}]", sentence


def texts_of(record: Record) -> Iterator[tuple[str, str]]:
    """Yield (place, text) of every sentence that has a text."""
    for place, sentence in sentences_of(record):
        if isinstance(sentence.get("text"), str):
            yield place, sentence["text"]


def citations_of(record: Record) -> Iterator[tuple[str, list[Any]]]:
    """Yield (place, citations) of every sentence that has a list of them, or a dictionary with numbers."""
    for place, sentence in sentences_of(record):
        if isinstance(sentence.get("citations"), list | dict):
            yield place, list(sentence["citations"])


def check_sentences(record: Record) -> Iterator[Finding]:
    """Require that the answer is a list of objects with a text and a list of citations."""
    sentences = record.get("answer")
    for index, sentence in enumerate(sentences if isinstance(sentences, list) else []):
        if not isinstance(sentence, dict):
            place = f"answer[{index}]"
            yield error("unexpected_value", field=place, expected="sentence", **value_facts(sentence))
            continue
        for key, kind, name in (("text", str, "text"), ("citations", list, "list")):
            place = f"answer[{index}].{key}"
            if key not in sentence:
                yield error("missing_field", field=place, expected=name)
            elif not isinstance(sentence[key], kind):
                yield error("unexpected_value", field=place, expected=name, **value_facts(sentence[key]))


def says_something(answer: str = ERROR, sentence: str = WARNING) -> Rule:
    """Require that the answer is not empty, and no sentence of it; each at a level of its own."""

    def rule(record: Record) -> Iterator[Finding]:
        if not isinstance(parts_of(record)[1], list):
            return
        texts = list(texts_of(record))
        if not any(text.strip() for _, text in texts):
            yield error("empty_answer").of_level(answer)
            # Of an answer without sentences there is nothing more; one of blank sentences has these, too.
            texts = texts if sentence == ERROR else []
        for place, text in texts:
            if not text.strip():
                yield warning("empty_field", field=f"{place}.text").of_level(sentence)

    return rule


def within_length(limit: int, counting: str) -> Rule:
    """Require that the answer is no longer than the track takes."""

    def rule(record: Record) -> Iterator[Finding]:
        words = sum(RULES[counting](text) for _, text in texts_of(record))
        if words > limit:
            yield error("too_long", number=words, limit=limit, unit=counting)

    return rule


def response_length_agrees(counting: str) -> Rule:
    """Warn where the record says another length than is counted; the track corrects it."""

    def rule(record: Record) -> Iterator[Finding]:
        stated = record.get("response_length")
        words = sum(RULES[counting](text) for _, text in texts_of(record))
        if is_number(stated) and stated != words:
            yield warning("wrong_length", number=words, stated=stated, unit=counting)

    return rule


def no_control_characters(record: Record) -> Iterator[Finding]:
    """Warn of characters that only a terminal obeys: they do not belong in an answer."""
    for place, text in texts_of(record):
        match = _CONTROL.search(text)
        if match:
            character = f"U+{ord(match.group()):04X}"
            yield warning("control_character", field=f"{place}.text", character=character)


def document_cited(citation: Any, references: list[Any], documents: frozenset[str]) -> str | None:
    """Return the document that a citation, a position or an id, leads to; None if it leads nowhere."""
    if is_number(citation):
        doc = references[citation] if 0 <= citation < len(references) else None
        return doc if isinstance(doc, str) else None
    return citation if isinstance(citation, str) and citation in documents else None


def known_documents(references: list[Any]) -> frozenset[str]:
    """Return the references that are ids."""
    return frozenset(reference for reference in references if isinstance(reference, str))


def citations_lead_somewhere(ids: bool) -> Rule:
    """Require that each citation is a position in the references, or (with `ids`) one of them."""

    def rule(record: Record) -> Iterator[Finding]:
        references = references_of(record)
        documents, count = known_documents(references), len(references)
        for place, citations in citations_of(record):
            for citation in citations:
                value = value_facts(citation)
                if is_number(citation):
                    if not 0 <= citation < count:
                        yield error("citation_of_no_position", field=place, references=count, **value)
                elif not ids or not isinstance(citation, str):
                    yield error("citation_of_wrong_type", field=place, takes_ids=ids, **value)
                elif citation not in documents:
                    yield error("citation_of_no_reference", field=place, document=excerpt(citation))

    return rule


def citations_not_repeated(record: Record) -> Iterator[Finding]:
    """Warn of sentences that cite a document twice."""
    references = references_of(record)
    documents = known_documents(references)
    for place, citations in citations_of(record):
        seen: set[str] = set()
        for citation in citations:
            doc = document_cited(citation, references, documents)
            if doc is not None and doc in seen:
                yield warning("repeated_citation", field=place, document=excerpt(doc))
                break
            seen |= {doc} if doc is not None else set()


def at_most_citations(limit: int) -> Rule:
    """Require that no sentence cites more documents than the track takes."""

    def rule(record: Record) -> Iterator[Finding]:
        for place, citations in citations_of(record):
            if len(citations) > limit:
                yield error("too_many_citations", field=place, number=len(citations), limit=limit)

    return rule


def use_all_references(record: Record) -> Iterator[Finding]:
    """Warn of references that no sentence cites."""
    references = references_of(record)
    documents = known_documents(references)
    cited = {
        document_cited(citation, references, documents)
        for _, citations in citations_of(record)
        for citation in citations
    }
    idle = len(documents - cited)
    if idle:
        yield warning("uncited_references", number=idle, total=len(documents))


Topics = Mapping[str, Question]
_LISTED = 10


class Watch:
    """Sees every record with its line, and has a last word."""

    def see(self, line: int, record: Record) -> Iterator[Finding]:
        """Yield what is wrong with this record, seen with those before."""
        raise NotImplementedError

    def end(self) -> Iterator[Finding]:
        """Yield what is wrong with all of them; nothing, for most rules."""
        return iter(())


@dataclass
class OneAnswerATopic(Watch):
    """Every topic is a known one and is answered once; `text` is where records repeat the topic's text.

    `level` is that of another text than the topic's, `repeat_level` that of a second answer.
    """

    topic: Path
    text: Path
    topics: Topics | None
    expected: int | None
    level: str = WARNING
    repeat_level: str = ERROR
    first: dict[str, int] = of_its_own(default_factory=dict)

    def see(self, line: int, record: Record) -> Iterator[Finding]:
        """Look for topics that do not exist, second answers, and other texts of topics."""
        topic = id_at(record, self.topic)
        if topic is None:
            return
        if self.topics is not None and topic not in self.topics:
            yield error("unknown_topic", topic=excerpt(topic))
        # setdefault returns the line of the first answer, which is this one or is not.
        elif self.first.setdefault(topic, line) != line:
            yield error(
                "second_answer_to_topic", topic=excerpt(topic), first_line=self.first[topic]
            ).of_level(self.repeat_level)
        elif self.topics is not None:
            text, expected = value_at(record, self.text), self.topics[topic].text
            if isinstance(text, str) and text.strip() and text.strip() != expected.strip():
                name = ".".join(self.text)
                yield error("other_text_of_topic", field=name, text=excerpt(text)).of_level(self.level)

    def end(self) -> Iterator[Finding]:
        """Look for topics that have no answer."""
        if self.topics is None:
            # Without topics their number alone is known: it can be told that some are missing, not which.
            if self.expected is not None and len(self.first) != self.expected:
                yield warning("number_of_answers", number=len(self.first), expected=self.expected)
            return
        missing = [topic for topic in self.topics if topic not in self.first]
        if missing:
            examples = tuple(map(excerpt, missing[:_LISTED]))
            total = len(self.topics)
            yield error("unanswered_topics", number=len(missing), total=total, examples=examples)


@dataclass
class SameEverywhere(Watch):
    """A field that says the same in every record of a run."""

    path: Path
    level: str = ERROR
    value: Any = MISSING
    line: int = 0

    def see(self, line: int, record: Record) -> Iterator[Finding]:
        """Compare the field with that of the first record."""
        value = value_at(record, self.path)
        if value is MISSING:
            return
        # The first record sets what the others are held against; it may be the wrong one, which its line
        # number tells.
        if self.value is MISSING:
            self.value, self.line = value, line
        elif value != self.value:
            expected = value_facts(self.value)
            yield error(
                "changed_value",
                field=".".join(self.path),
                **value_facts(value),
                expected=expected["value"],
                is_expected_text=expected["is_text"],
                first_line=self.line,
            ).of_level(self.level)


@dataclass
class OneWayToCite(Watch):
    """A file cites by position or by id; the tracks' own validators take one of the two."""

    ids: bool | None = None
    line: int = 0
    is_reported: bool = False

    def see(self, line: int, record: Record) -> Iterator[Finding]:
        """Compare each citation with the first one."""
        for _, citations in citations_of(record):
            for citation in citations:
                if not is_number(citation) and not isinstance(citation, str):
                    continue
                is_id = isinstance(citation, str)
                if self.ids is None:
                    self.ids, self.line = is_id, line
                # Said once: a file that mixes them does so in most of its lines.
                elif is_id != self.ids and not self.is_reported:
                    self.is_reported = True
                    yield warning("ids_and_positions", is_by_id=is_id, first_line=self.line)


Watches = Callable[[Topics | None], tuple[Watch, ...]]


# Rules on reports: their topic, their sentences, what they cite in one of three ways, and their length.

_NAMES = ("topic_id", "narrative_id", "request_id", "qa_id")


def one_topic(record: Record) -> Iterator[Finding]:
    """Require that the names of the topic that a record has agree."""
    topics = {key: name for key in _NAMES if (name := id_at(record, ("metadata", key))) is not None}
    if len(set(topics.values())) > 1:
        yield error("several_topics", topics=tuple((key, excerpt(name)) for key, name in topics.items()))


def report_says_something(record: Record) -> Iterator[Finding]:
    """Warn of a report that is empty, or a sentence of it, which the shared schema takes."""
    yield from (finding.of_level(WARNING) for finding in says_something()(record))


def check_responses(record: Record) -> Iterator[Finding]:
    """Require a list of sentences, each an object with a text and citations: ids, or ids with numbers."""
    if "responses" in record and "answer" in record:
        yield error("two_lists_of_sentences")
        return
    key = "responses" if "answer" not in record else "answer"
    sentences = record.get(key, MISSING)
    if sentences is MISSING:
        yield error("missing_field", field="responses", expected="list")
    elif not isinstance(sentences, list):
        yield error("unexpected_value", field=key, expected="list", **value_facts(sentences))
    elif key == "answer":
        yield warning("sentences_in_answer")
    for index, sentence in enumerate(sentences if isinstance(sentences, list) else []):
        place = f"{key}[{index}]"
        if isinstance(sentence, dict):
            yield from _check_text(place, sentence)
            yield from _check_citations(place, sentence)
        else:
            yield error("unexpected_value", field=place, expected="sentence", **value_facts(sentence))


def _check_text(sentence_place: str, sentence: Record) -> Iterator[Finding]:
    place = f"{sentence_place}.text"
    if "text" not in sentence:
        yield error("missing_field", field=place, expected="text")
    elif not isinstance(sentence["text"], str):
        yield error("unexpected_value", field=place, expected="text", **value_facts(sentence["text"]))


def _check_citations(sentence_place: str, sentence: Record) -> Iterator[Finding]:
    place = f"{sentence_place}.citations"
    citations = sentence.get("citations", MISSING)
    if citations is MISSING:
        yield error("missing_field", field=place, expected="citations")
    elif not isinstance(citations, list | dict):
        yield error("unexpected_value", field=place, expected="citations", **value_facts(citations))
    else:
        for doc in citations:
            if not isinstance(doc, str) or not doc.strip():
                yield error("citation_not_text", field=sentence_place, **value_facts(doc))
            elif isinstance(citations, dict) and not is_confidence(citations[doc]):
                facts = value_facts(citations[doc])
                yield error("confidence_not_number", field=sentence_place, document=excerpt(doc), **facts)


def is_confidence(value: Any) -> bool:
    """Tell whether it is a number, which true and false are not."""
    return is_number(value) or isinstance(value, float)


def confidences_within(low: float, high: float) -> Rule:
    """Warn of confidences outside the track's range, all together."""

    def rule(record: Record) -> Iterator[Finding]:
        every = (
            (place, *pair)
            for place, sentence in sentences_of(record)
            if isinstance(citations := sentence.get("citations"), dict)
            for pair in citations.items()
        )
        outside = [row for row in every if is_confidence(row[2]) and not low <= row[2] <= high]
        if outside:
            place, doc, value = outside[0]
            yield warning(
                "confidence_outside_range",
                field=place,
                document=excerpt(doc),
                **value_facts(value),
                low=low,
                high=high,
                number=len(outside),
            )

    return rule


def cites_listed(record: Record) -> Iterator[Finding]:
    """Warn of citations that are no reference, all together; the shared schema takes them."""
    if not isinstance(record.get("references"), list):
        return
    listed = set(filter(_is_text, references_of(record)))
    cited = (
        (place, doc) for place, citations in citations_of(record) for doc in citations if isinstance(doc, str)
    )
    lost = [(place, doc) for place, doc in cited if doc not in listed]
    if lost:
        place, doc = lost[0]
        yield warning("unlisted_citations", field=place, document=excerpt(doc), number=len(lost))


def check_references_cited(record: Record) -> Iterator[Finding]:
    """Require that the references are what is cited: all of it, and nothing else."""
    if not isinstance(record.get("references"), list):
        return
    listed = dict.fromkeys(filter(_is_text, references_of(record)))
    cited = dict.fromkeys(
        doc for _, citations in citations_of(record) for doc in citations if isinstance(doc, str)
    )
    idle = [doc for doc in listed if doc not in cited]
    if idle:
        yield error("references_not_cited", number=len(idle), example=excerpt(idle[0]))
    lost = [doc for doc in cited if doc not in listed]
    if lost:
        yield error("citations_not_in_references", number=len(lost), example=excerpt(lost[0]))


def cites_something(record: Record) -> Iterator[Finding]:
    """Warn of sentences that cite nothing."""
    counts = [len(citations) for _, citations in citations_of(record)]
    if 0 in counts:
        yield warning("sentences_without_citation", number=counts.count(0), total=len(counts))


def citations_match(pattern: str, expected: str) -> Rule:
    """Warn of ids that do not look like those of the track's collection; tell together those that do not."""
    fits = re.compile(pattern).fullmatch

    def rule(record: Record) -> Iterator[Finding]:
        cited = dict.fromkeys(doc for _, citations in citations_of(record) for doc in citations)
        foreign = [doc for doc in cited if isinstance(doc, str) and not fits(doc)]
        if foreign:
            yield warning(
                "foreign_citations", number=len(foreign), example=excerpt(foreign[0]), expected=expected
            )

    return rule


def topic_matches(path: str, pattern: str, expected: str) -> Rule:
    """Require that the topic's id looks like those of the track."""
    fits, keys = re.compile(pattern).fullmatch, tuple(path.split("."))

    def rule(record: Record) -> Iterator[Finding]:
        topic = value_at(record, keys)
        if isinstance(topic, str) and not fits(topic):
            yield error("unexpected_value", field=path, expected=expected, **value_facts(topic))

    return rule


_KINDS = {"supported_citations": True, "contradicted_citations": True, "existing_supported_citations": False}


def kinds_of_citations(limit: int) -> Rule:
    """Require what BioGen's task A asks of a sentence: few new citations of two kinds, none that it had."""

    def rule(record: Record) -> Iterator[Finding]:
        for sentence_place, part in sentences_of(record):
            yield from _check_text(sentence_place, part)
            for key, is_new in _KINDS.items():
                ids, place = part.get(key, MISSING), f"{sentence_place}.{key}"
                if ids is MISSING:
                    if is_new:
                        yield error("missing_field", field=place, expected="ids")
                elif not isinstance(ids, list) or not all(isinstance(d, str) and d.strip() for d in ids):
                    yield error("unexpected_value", field=place, expected="ids", **value_facts(ids))
                elif is_new and len(ids) > limit:
                    yield error("too_many_ids", field=place, number=len(ids), limit=limit)
            had, new = part.get("existing_supported_citations"), part.get("supported_citations")
            for doc in new if isinstance(new, list) else ():
                if isinstance(had, list) and doc in had:
                    yield error(
                        "repeated_id", field=f"{sentence_place}.supported_citations", **value_facts(doc)
                    )

    return rule


@dataclass
class SameWayToCite(Watch):
    """A file cites by id, or by id with confidences; what is wrong in itself tells of no way."""

    has_confidences: bool | None = None
    line: int = 0

    def see(self, line: int, record: Record) -> Iterator[Finding]:
        """Compare each sentence with the first one that cites."""
        for place, part in sentences_of(record):
            citations = part.get("citations")
            is_list = isinstance(citations, list) and all(map(_is_text, citations))
            # What is neither is a fault of its own, which another rule has told.
            is_dict = isinstance(citations, dict) and all(map(is_confidence, citations.values()))
            if not citations or not (is_list or is_dict):
                continue
            if self.has_confidences is None:
                self.has_confidences, self.line = is_dict, line
            elif is_dict != self.has_confidences:
                yield error("mixed_confidences", field=place, has_confidences=is_dict, first_line=self.line)
                return


UsualLimit = Callable[[str], int | None]  # of a topic of which nothing says how long its report may be


@dataclass
class WithinLimit(Watch):
    """No report is longer than its topic allows, by characters (`limit`) or words (`word_limit`)."""

    topic: Path
    usual: UsualLimit
    topics: Topics | None
    is_error: bool
    limits: dict[str, dict[str, int]] = of_its_own(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the limits once, so that a bad one is told of the topics and not of every report."""
        for name, topic in (self.topics or {}).items():
            limits = self.limits[name] = {}
            for key, value in topic.facts:
                if key not in _COUNTED:
                    continue
                # `isdigit` takes digits of all scripts, and `int` a million of them takes minutes.
                if not value.isascii() or not value.isdigit() or len(value) > len("1000000000"):
                    raise InputError(
                        at=Place(f"topic {visible(name[:80])!r}"),
                        expected=f"a whole number as `{key}`",
                        found=f"{visible(value[:80])!r}",
                    )
                limits[key] = int(value)

    def see(self, line: int, record: Record) -> Iterator[Finding]:
        """Count by every limit there is."""
        topic = id_at(record, self.topic) or ""
        limits = self.limits.get(topic, {})
        # Some records repeat the limit from their topic.
        if not limits and is_number(own := value_at(record, ("metadata", "limit"))):
            limits = {"limit": own}
        if not limits and (usual := self.usual(topic)) is not None:
            limits = {"limit": usual}
        texts = [text for _, text in texts_of(record)]
        for key, limit in limits.items():
            count, unit = _COUNTED[key]
            if (number := count(texts)) > limit:
                level = ERROR if self.is_error else WARNING
                yield error("too_long", number=number, limit=limit, unit=unit).of_level(level)


_COUNTED: dict[str, tuple[Callable[[list[str]], int], str]] = {
    "limit": (lambda texts: len(compatible(" ".join(texts))), "characters"),
    "word_limit": (lambda texts: sum(len(text.split()) for text in texts), "split"),
}


@dataclass
class RanksOnce(Watch):
    """Each topic has every rank once."""

    ranks: int
    seen: dict[str, dict[str, int]] = of_its_own(default_factory=dict)

    def see(self, line: int, record: Record) -> Iterator[Finding]:
        """Look for ranks that do not exist, or stand twice."""
        topic, rank = record["topic_id"], record["rank"]
        before = self.seen.setdefault(topic, {})
        if rank not in map(str, range(1, self.ranks + 1)):
            yield error("unknown_rank", rank=excerpt(rank), ranks=self.ranks)
        elif before.setdefault(rank, line) != line:
            yield error("repeated_rank", rank=rank, topic=excerpt(topic), first_line=before[rank])

    def end(self) -> Iterator[Finding]:
        """Look for ranks that are not there."""
        for topic, ranks in self.seen.items():
            if len(ranks) < self.ranks:
                lost = next(rank for rank in range(1, self.ranks + 1) if str(rank) not in ranks)
                yield error(
                    "missing_ranks", topic=excerpt(topic), number=len(ranks), ranks=self.ranks, rank=lost
                )


@dataclass
class EveryTopic(Watch):
    """Every topic is there, and no other; a topic may have several lines."""

    topic: Path
    topics: Topics | None
    expected: int | None
    seen: set[str] = of_its_own(default_factory=set)

    def see(self, line: int, record: Record) -> Iterator[Finding]:
        """Look for topics that do not exist."""
        topic = id_at(record, self.topic) or ""
        if self.topics is not None and topic not in self.topics and topic not in self.seen:
            yield error("unknown_topic", topic=excerpt(topic))
        self.seen.add(topic)

    def end(self) -> Iterator[Finding]:
        """Look for topics that are not there."""
        if self.topics is None:
            if self.expected is not None and len(self.seen) != self.expected:
                yield warning("number_of_topics", number=len(self.seen), expected=self.expected)
            return
        lost = [topic for topic in self.topics if topic not in self.seen]
        if lost:
            total, example = len(self.topics), excerpt(lost[0])
            yield error("topics_without_rows", number=len(lost), total=total, example=example)
