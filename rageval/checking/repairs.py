"""Repairs that invent nothing: what stands twice or leads nowhere goes, and what points is turned along.

A citation leads to the same document after a repair as before it, or is gone and was said to be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from rageval.checking.findings import Finding, excerpt, fixed, value_facts
from rageval.checking.rules import document_cited, is_confidence, is_number, known_documents
from rageval.checking.tracks import Allowed, AllowedInReports, Track, numbered_lines, track_named
from rageval.errors import UsageError
from rageval.files.opening import Source
from rageval.files.writing import whole_file
from rageval.text import RULES

_Fields = dict[str, msgspec.Raw]  # what is not repaired stays byte for byte


@dataclass
class _Sentence:
    """A sentence under repair: its fields, its text, and (citation as written, document) of what it cites."""

    fields: _Fields
    text: str
    cited: list[tuple[Any, str | None]]


@dataclass
class _Draft:
    """An answer under repair, and what was done to it."""

    references: list[str]
    parts: list[_Sentence]
    bounds: Allowed
    done: list[Finding] = field(default_factory=list)


def _repaired(line: bytes, bounds: Allowed) -> tuple[bytes, list[Finding]]:
    """Return the line after repair, and what was changed; leave a line of another shape to the validator."""
    try:
        record: _Fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        references = msgspec.json.decode(record["references"], type=list[str])
        documents = known_documents(references)
        parts = []
        for fields in msgspec.json.decode(record["answer"], type=list[_Fields]):
            text = msgspec.json.decode(fields["text"], type=str)
            citations = msgspec.json.decode(fields["citations"], type=list[Any])
            cited = [(citation, document_cited(citation, references, documents)) for citation in citations]
            parts.append(_Sentence(fields, text, cited))
    except (ValueError, KeyError, RecursionError):
        return line, []
    draft = _Draft(references, parts, bounds)
    # In this order: a sentence that goes takes its citations along, and then references are idle that were
    # not.
    for step in (_drop_citations, _trim, _drop_references, _update_positions):
        step(draft)
    changed: dict[str, Any] = {}
    # Only then: what was not repaired stays byte for byte.
    if draft.done:
        changed["references"] = draft.references
        changed["answer"] = [
            part.fields | {"citations": [written for written, _ in part.cited]} for part in draft.parts
        ]
    # Counted anew, as sentences may have gone.
    words = sum(RULES[draft.bounds.counting](part.text) for part in draft.parts)
    if draft.bounds.says_length and bytes(record.get("response_length", b"")) != str(words).encode():
        draft.done.append(fixed("set_length", number=words))
        changed["response_length"] = words
    return (msgspec.json.encode(record | changed) if changed else line), draft.done


def _drop_citations(draft: _Draft) -> None:
    """Drop citations that lead nowhere, stand twice, or are too many: the first are the strongest."""
    most = draft.bounds.citations
    for index, part in enumerate(draft.parts):
        kept: dict[str, Any] = {}
        place = f"answer[{index}]"
        for written, doc in part.cited:
            # One that leads nowhere cannot be turned, as nobody knows what was meant.
            value = value_facts(written)
            if doc is None:
                draft.done.append(fixed("dropped_lost_citation", field=place, **value))
            elif doc in kept:
                draft.done.append(fixed("dropped_repeated_citation", field=place, **value))
            elif most is not None and len(kept) == most:
                draft.done.append(fixed("dropped_surplus_citation", field=place, limit=most, **value))
            else:
                kept[doc] = written
        part.cited = [(written, doc) for doc, written in kept.items()]


def _trim(draft: _Draft) -> None:
    """Drop whole sentences from the end until the answer is short enough; no answer is emptied for it."""
    count = RULES[draft.bounds.counting]
    words = sum(count(part.text) for part in draft.parts)
    # Without its first sentence the answer would be empty, which says something else than too long.
    if not draft.parts or count(draft.parts[0].text) > draft.bounds.words:
        return
    while words > draft.bounds.words:
        part = draft.parts.pop()
        words -= count(part.text)
        place = f"answer[{len(draft.parts)}]"
        draft.done.append(fixed("dropped_sentence", field=place, words=words, text=excerpt(part.text)))


def _drop_references(draft: _Draft) -> None:
    """Drop references that appear twice; where there are still too many, the last ones that nothing cites."""
    kept = list(dict.fromkeys(draft.references))
    if len(kept) < len(draft.references):
        draft.done.append(fixed("dropped_repeated_references", number=len(draft.references) - len(kept)))
    cited = {doc for part in draft.parts for _, doc in part.cited}
    limit = draft.bounds.references
    surplus = len(kept) - limit if limit is not None else 0
    if surplus > 0:
        # The last ones: references come best first. What is cited stays, though there be too many.
        idle = [doc for doc in kept if doc not in cited][-surplus:]
        if idle:
            draft.done.append(fixed("dropped_uncited_references", number=len(idle), limit=limit))
        dropped = set(idle)
        kept = [doc for doc in kept if doc not in dropped]
    draft.references = kept


def _update_positions(draft: _Draft) -> None:
    """Point every citation to the place its document has now, by id only where the track takes ids."""
    place = {doc: index for index, doc in enumerate(draft.references)}
    turned = 0
    for part in draft.parts:
        for index, (written, doc) in enumerate(part.cited):
            if doc is not None and not (isinstance(written, str) and draft.bounds.ids):
                # An id that becomes a position is turned, too; a position that stays is not.
                turned += written != place[doc]
                part.cited[index] = (place[doc], doc)
    if turned:
        draft.done.append(fixed("turned_citations", number=turned))


class _ReportDraft:
    """A report under repair, what of it has changed, and what was done to it.

    `ValueError` or `KeyError` where it is of another shape.
    """

    def __init__(self, record: _Fields) -> None:
        self.key = "responses" if "responses" in record else "answer"
        self.parts = msgspec.json.decode(record[self.key], type=list[dict[str, Any]])
        self.metadata = msgspec.json.decode(record["metadata"], type=dict[str, Any])
        self.has_references = "references" in record
        self.references = msgspec.json.decode(record.get("references", b"[]"), type=list[str])
        self.changed: dict[str, Any] = {}
        self.done: list[Finding] = []
        for part in self.parts:
            cited = part["citations"]
            numbers = cited.values() if isinstance(cited, dict) else ()
            is_list = isinstance(cited, list | dict) and all(map(is_confidence, numbers))
            if not is_list or not isinstance(part["text"], str):
                # Taken by who calls: a line of another shape is left as it is.
                raise ValueError

    def name_topic(self) -> None:
        """Call the topic by a text."""
        if is_number(topic := self.metadata.get("topic_id")):
            self.changed["metadata"] = self.metadata | {"topic_id": str(topic)}
            self.done.append(fixed("wrote_topic_as_text", topic=str(topic)))

    def cite(self, most: int | None) -> None:
        """Make positions ids; let go what leads nowhere, stands twice, or is weaker than the most allowed."""
        for index, part in enumerate(self.parts):
            cited = part["citations"]
            kept: dict[str, float] | list[str]
            if isinstance(cited, dict):
                # Sorting is stable, so of equals the first in the file stay; in the order of the file, not
                # of strength.
                strongest = set(sorted(cited, key=cited.__getitem__, reverse=True)[:most])
                kept = {doc: number for doc, number in cited.items() if doc in strongest}
            else:
                docs = [
                    doc if isinstance(doc, str) else document_cited(doc, self.references, frozenset())
                    for doc in cited
                ]
                kept = list(dict.fromkeys(doc for doc in docs if doc is not None))[:most]
            if kept == cited:
                continue
            part["citations"] = kept
            self.changed[self.key] = self.parts
            turned = sum(map(is_number, cited)) if isinstance(cited, list) else 0
            self.done.append(
                fixed(
                    "kept_citations",
                    field=f"{self.key}[{index}]",
                    number=len(kept),
                    total=len(cited),
                    positions=turned,
                )
            )

    def trim(self, most: int | None) -> None:
        """Let whole sentences go from the end, until the report is short enough; empty none for it."""
        words = [len(part["text"].split()) for part in self.parts]
        if most is None or not words or words[0] > most:
            return
        total = sum(words)
        while total > most:
            text = self.parts.pop()["text"]
            total -= words.pop()
            self.changed[self.key] = self.parts
            place = f"{self.key}[{len(words)}]"
            self.done.append(fixed("dropped_sentence", field=place, words=total, text=excerpt(text)))

    def refer(self, aim: str) -> None:
        """Let the references be there, or be what is cited."""
        cited = dict.fromkeys(doc for part in self.parts for doc in part["citations"])
        listed = frozenset(self.references)
        kept = [doc for doc in dict.fromkeys(self.references) if doc in cited]
        # What was there stays in its order; what is new follows as it is cited.
        equal = [*kept, *(doc for doc in cited if doc not in listed)]
        if (aim and not self.has_references) or (aim == "cited" and equal != self.references):
            self.changed["references"] = equal
            self.done.append(fixed("made_references", number=len(equal)))


def repaired(line: bytes, bounds: Allowed | AllowedInReports) -> tuple[bytes, list[Finding]]:
    """Return the line after repair, and what was changed; leave a line of another shape to the validator."""
    if isinstance(bounds, Allowed):
        return _repaired(line, bounds)
    try:
        record: _Fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        draft = _ReportDraft(record)
    except (ValueError, KeyError, RecursionError):
        return line, []
    draft.name_topic()
    draft.cite(bounds.citations)
    draft.trim(bounds.words)
    draft.refer(bounds.references)
    return (msgspec.json.encode(record | draft.changed) if draft.changed else line), draft.done


def write_repaired(source: Source, out: Path, track: str | Track) -> Iterator[Finding]:
    """Write the copy while the changes are iterated over; put it in its place after the last of them."""
    rules = track_named(track)
    if rules.bounds is None:
        raise UsageError(f"--fix: nothing of {rules.title} can be repaired automatically")
    with whole_file(out) as stream:
        for number, line in numbered_lines(source):
            content, changes = repaired(line, rules.bounds) if line.strip() else (line, [])
            stream.write(content + b"\n")
            yield from (change.in_line(number) for change in changes)
