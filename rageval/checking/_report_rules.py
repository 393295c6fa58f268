"""Rules on reports: their topic, their sentences, what they cite in one of three ways, and their length."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rageval.checking._rules import (
    MISSING,
    Path,
    Record,
    Remark,
    Rule,
    Topics,
    citations_of,
    error,
    id_at,
    is_number,
    references_of,
    says_something,
    sentences_of,
    shown,
    texts_of,
    value_at,
    warning,
)
from rageval.checking.findings import ERROR, WARNING
from rageval.errors import InputError
from rageval.text import compatible, visible

_NAMES = ("topic_id", "narrative_id", "request_id", "qa_id")


def one_topic(record: Record) -> Iterator[Remark]:
    """Require that the names of the topic that a record has agree."""
    found = {key: name for key in _NAMES if (name := id_at(record, ("metadata", key))) is not None}
    if len(set(found.values())) > 1:
        said = " and ".join(f"{key} {shown(name)}" for key, name in found.items())
        yield error(f"expected one topic in `metadata`, found {said}")


def report_says_something(record: Record) -> Iterator[Remark]:
    """Warn of a report that is empty, or a sentence of it, which the shared schema takes."""
    yield from (warning(remark.message) for remark in says_something(record))


def are_responses(record: Record) -> Iterator[Remark]:
    """Require a list of sentences, each an object with a text and citations: ids, or ids with numbers."""
    if "responses" in record and "answer" in record:
        yield error("expected the sentences as `responses`, or as `answer`, and not as both")
        return
    key = "responses" if "answer" not in record else "answer"
    found = record.get(key, MISSING)
    if found is MISSING:
        yield error("`responses` is missing, expected a list")
    elif not isinstance(found, list):
        yield error(f"expected a list as `{key}`, found {shown(found)}")
    elif key == "answer":
        yield warning("the sentences stand as `answer`, expected `responses`")
    for at, part in enumerate(found if isinstance(found, list) else []):
        if isinstance(part, dict):
            yield from _text(f"{key}[{at}]", part)
            yield from _citations(f"{key}[{at}]", part)
        else:
            yield error(f"expected {{text, citations}} as {key}[{at}], found {shown(part)}")


def _text(where: str, part: Record) -> Iterator[Remark]:
    if "text" not in part:
        yield error(f"{where}.text is missing, expected a text")
    elif not isinstance(part["text"], str):
        yield error(f"expected a text as {where}.text, found {shown(part['text'])}")


def _citations(where: str, part: Record) -> Iterator[Remark]:
    expected = "a list of ids, or {id: number}"
    found = part.get("citations", MISSING)
    if found is MISSING:
        yield error(f"{where}.citations is missing, expected {expected}")
    elif isinstance(found, list):
        for doc in found:
            if not isinstance(doc, str) or not doc.strip():
                yield error(f"{where} cites {shown(doc)}, expected an id in a text")
    elif isinstance(found, dict):
        for doc, number in found.items():
            if not is_confidence(number):
                yield error(f"{where} cites {shown(doc)} with {shown(number)}, expected a number")
    else:
        yield error(f"expected {expected} as {where}.citations, found {shown(found)}")


def is_confidence(value: Any) -> bool:
    """Tell whether it is a number, which true and false are not."""
    return is_number(value) or isinstance(value, float)


def confidences_within(low: float, high: float) -> Rule:
    """Warn of confidences outside the track's range, all together."""

    def rule(record: Record) -> Iterator[Remark]:
        parts = ((at, part.get("citations")) for at, part in sentences_of(record))
        every = ((at, *pair) for at, found in parts if isinstance(found, dict) for pair in found.items())
        odd = [row for row in every if is_confidence(row[2]) and not low <= row[2] <= high]
        if odd:
            at, doc, number = odd[0]
            more = f"; {len(odd) - 1:,} more are outside" if len(odd) > 1 else ""
            yield warning(f"{at} cites {shown(doc)} with {shown(number)}, expected {low:g} to {high:g}{more}")

    return rule


def cites_listed(record: Record) -> Iterator[Remark]:
    """Warn of citations that are no reference, all together; the shared schema takes them."""
    if not isinstance(record.get("references"), list):
        return
    listed = set(filter(_is_text, references_of(record)))
    cited = ((at, doc) for at, found in citations_of(record) for doc in found if isinstance(doc, str))
    lost = [(at, doc) for at, doc in cited if doc not in listed]
    if lost:
        more = f"; nor are {len(lost) - 1:,} more" if len(lost) > 1 else ""
        yield warning(f"{lost[0][0]} cites {shown(lost[0][1])}, which is not among the references{more}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def references_are_cited(record: Record) -> Iterator[Remark]:
    """Require that the references are what is cited: all of it, and nothing else."""
    if not isinstance(record.get("references"), list):
        return
    listed = dict.fromkeys(filter(_is_text, references_of(record)))
    cited = dict.fromkeys(doc for _, found in citations_of(record) for doc in found if isinstance(doc, str))
    for what, lost in (
        ("references are cited by no sentence", [doc for doc in listed if doc not in cited]),
        ("cited documents are no references", [doc for doc in cited if doc not in listed]),
    ):
        if lost:
            yield error(f"{len(lost):,} {what}, the first {shown(lost[0])}; expected the same in both")


def cites_something(record: Record) -> Iterator[Remark]:
    """Warn of sentences that cite nothing."""
    counts = [len(cited) for _, cited in citations_of(record)]
    if 0 in counts:
        yield warning(f"{counts.count(0):,} of {len(counts):,} sentences cite nothing")


def citations_match(pattern: str, what: str) -> Rule:
    """Warn of ids that do not look like those of the track's collection; tell together those that do not."""
    fits = re.compile(pattern).fullmatch

    def rule(record: Record) -> Iterator[Remark]:
        cited = dict.fromkeys(doc for _, found in citations_of(record) for doc in found)
        odd = [doc for doc in cited if isinstance(doc, str) and not fits(doc)]
        if odd:
            more = f" and {len(odd) - 1:,} more" if len(odd) > 1 else ""
            yield warning(f"expected {what} as citations, found {shown(odd[0])}{more}")

    return rule


def topic_matches(path: str, pattern: str, what: str) -> Rule:
    """Require that the topic's id looks like those of the track."""
    fits, keys = re.compile(pattern).fullmatch, tuple(path.split("."))

    def rule(record: Record) -> Iterator[Remark]:
        found = value_at(record, keys)
        if isinstance(found, str) and not fits(found):
            yield error(f"expected {what} as `{path}`, found {shown(found)}")

    return rule


_KINDS = {"supported_citations": True, "contradicted_citations": True, "existing_supported_citations": False}


def kinds_of_citations(limit: int) -> Rule:
    """Require what BioGen's task A asks of a sentence: few new citations of two kinds, none that it had."""

    def rule(record: Record) -> Iterator[Remark]:
        for at, part in sentences_of(record):
            yield from _text(at, part)
            for key, required in _KINDS.items():
                yield from _kind(at, part, key, limit if required else None)
            had, new = part.get("existing_supported_citations"), part.get("supported_citations")
            for doc in new if isinstance(new, list) else ():
                if isinstance(had, list) and doc in had:
                    yield error(f"{at}.supported_citations has {shown(doc)}, which it had already")

    return rule


def _kind(at: str, part: Record, key: str, limit: int | None) -> Iterator[Remark]:
    found = part.get(key, MISSING)
    if found is MISSING:
        if limit is not None:
            yield error(f"{at}.{key} is missing, expected a list of ids")
    elif not isinstance(found, list) or not all(isinstance(doc, str) and doc.strip() for doc in found):
        yield error(f"expected a list of ids as {at}.{key}, found {shown(found)}")
    elif limit is not None and len(found) > limit:
        yield error(f"{at}.{key} has {len(found):,} ids, expected at most {limit}")


@dataclass
class SameWayToCite:
    """A file cites by id, or by id with confidences; what is wrong in itself tells of no way."""

    way: str | None = None
    line: int = 0

    def see(self, line: int, record: Record) -> Iterator[Remark]:
        """Compare each sentence with the first one that cites."""
        for at, part in sentences_of(record):
            found = part.get("citations")
            is_list = isinstance(found, list) and all(map(_is_text, found))
            is_dict = isinstance(found, dict) and all(map(is_confidence, found.values()))
            if not found or not (is_list or is_dict):
                continue
            way = "id" if is_list else "id and confidence"
            if self.way is None:
                self.way, self.line = way, line
            elif way != self.way:
                yield error(
                    f"{at} cites by {way}, line {self.line} by {self.way}; expected one way in a file"
                )
                return

    def end(self) -> Iterator[Remark]:
        """Say nothing more."""
        return iter(())


def _nfkc_characters(texts: list[str]) -> int:
    return len(compatible(" ".join(texts)))


def _words(texts: list[str]) -> int:
    return sum(len(text.split()) for text in texts)


UsualLimit = Callable[[str], int | None]  # of a topic of which nothing says how long its report may be


@dataclass
class WithinLimit:
    """No report is longer than its topic allows, by characters (`limit`) or words (`word_limit`)."""

    topic: Path
    usual: UsualLimit
    topics: Topics | None
    is_error: bool
    limits: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the limits once, so that a bad one is told of the topics and not of every report."""
        for name, topic in (self.topics or {}).items():
            said = {key: _limit(name, key, value) for key, value in topic.facts if key in _COUNTED}
            self.limits[name] = said

    def see(self, line: int, record: Record) -> Iterator[Remark]:
        """Count by every limit there is."""
        topic = id_at(record, self.topic) or ""
        limits = self.limits.get(topic) or _own_limit(record)
        if not limits and (usual := self.usual(topic)) is not None:
            limits = {"limit": usual}
        texts = [text for _, text in texts_of(record)]
        for key, limit in limits.items():
            count, unit = _COUNTED[key]
            if (found := count(texts)) > limit:
                level = ERROR if self.is_error else WARNING
                yield Remark(level, f"expected at most {limit:,} {unit}, found {found:,}")

    def end(self) -> Iterator[Remark]:
        """Say nothing more."""
        return iter(())


_COUNTED: dict[str, tuple[Callable[[list[str]], int], str]] = {
    "limit": (_nfkc_characters, "characters (NFKC)"),
    "word_limit": (_words, "words (split)"),
}


def _limit(topic: str, key: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > len("1000000000"):
        found = visible(value[:80])
        raise InputError(
            f"topic {visible(topic[:80])!r}: expected a whole number as `{key}`, found {found!r}"
        )
    return int(value)


def _own_limit(record: Record) -> dict[str, int]:
    """Return the limit that the record repeats from its topic."""
    found = value_at(record, ("metadata", "limit"))
    return {"limit": found} if is_number(found) else {}


@dataclass
class RanksOnce:
    """Each topic has every rank once."""

    ranks: int
    seen: dict[str, dict[str, int]] = field(default_factory=dict)

    def see(self, line: int, record: Record) -> Iterator[Remark]:
        """Look for ranks that do not exist, or stand twice."""
        topic, rank = record["topic_id"], record["rank"]
        before = self.seen.setdefault(topic, {})
        if rank not in map(str, range(1, self.ranks + 1)):
            yield error(f"expected a rank from 1 to {self.ranks}, found {shown(rank)}")
        elif before.setdefault(rank, line) != line:
            yield error(f"rank {rank} of topic {shown(topic)} stands in line {before[rank]}, too")

    def end(self) -> Iterator[Remark]:
        """Look for ranks that are not there."""
        for topic, ranks in self.seen.items():
            if len(ranks) < self.ranks:
                lost = next(rank for rank in range(1, self.ranks + 1) if str(rank) not in ranks)
                yield error(
                    f"topic {shown(topic)} has {len(ranks)} of {self.ranks} questions, no rank {lost}"
                )


@dataclass
class EveryTopic:
    """Every topic is there, and no other; a topic may have several lines."""

    topic: Path
    topics: Topics | None
    expected: int | None
    seen: set[str] = field(default_factory=set)

    def see(self, line: int, record: Record) -> Iterator[Remark]:
        """Look for topics that do not exist."""
        topic = id_at(record, self.topic) or ""
        if self.topics is not None and topic not in self.topics and topic not in self.seen:
            yield error(f"unknown topic {shown(topic)}")
        self.seen.add(topic)

    def end(self) -> Iterator[Remark]:
        """Look for topics that are not there."""
        if self.topics is None:
            if self.expected is not None and len(self.seen) != self.expected:
                yield warning(f"{len(self.seen):,} topics, expected {self.expected}")
            return
        lost = [topic for topic in self.topics if topic not in self.seen]
        if lost:
            yield error(f"nothing on {len(lost):,} of {len(self.topics):,} topics, such as {shown(lost[0])}")
