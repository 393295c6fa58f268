"""Answers of the TREC RAG tracks: 2024 with everything at the top level, 2025 and 2026 with `metadata`."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from rageval.counting import length
from rageval.files.citations import identifiers, positions, resolved
from rageval.files.forms import Form, Id, Unfit, has, identifier
from rageval.files.limits import Limits
from rageval.records import Answer, Sentence


class Part(msgspec.Struct):
    """A sentence and what it cites, strongest first."""

    text: str
    citations: list[Id]


class Rag24(msgspec.Struct):
    """A line of 2024."""

    run_id: Id
    topic_id: Id
    references: list[Id]
    answer: list[Part]
    topic: str = ""


class Metadata25(msgspec.Struct, omit_defaults=True):
    """What a line of 2025 says about itself; `run_desc` is what tells 2026 from it."""

    run_id: Id
    narrative_id: Id
    narrative: str = ""
    prompt: str = ""
    run_desc: Any | UnsetType = UNSET


class Metadata26(msgspec.Struct):
    """What a line of 2026 says about itself."""

    run_id: Id
    narrative_id: Id
    run_desc: str
    narrative: str = ""
    prompt: str = ""


class Rag25(msgspec.Struct):
    """A line of 2025."""

    metadata: Metadata25
    references: list[Id]
    answer: list[Part]


class Rag26(msgspec.Struct):
    """A line of 2026."""

    metadata: Metadata26
    references: list[Id]
    answer: list[Part]


def _from_24(line: Rag24, limits: Limits) -> Answer:
    references = identifiers(line.references, "references", limits)
    return Answer(
        identifier(line.topic_id, "topic_id", limits),
        identifier(line.run_id, "run_id", limits),
        _sentences(line.answer, references),
        references,
        question=line.topic,
    )


def _from_25(line: Rag25, limits: Limits) -> Answer:
    if line.metadata.run_desc is not UNSET:
        raise Unfit("`run_desc` is a field of TREC RAG 2026")
    return _from_metadata(line, limits)


def _from_metadata(line: Rag25 | Rag26, limits: Limits) -> Answer:
    references = identifiers(line.references, "references", limits)
    return Answer(
        identifier(line.metadata.narrative_id, "metadata.narrative_id", limits),
        identifier(line.metadata.run_id, "metadata.run_id", limits),
        _sentences(line.answer, references),
        references,
        question=line.metadata.narrative,
        prompt=line.metadata.prompt,
    )


def _sentences(parts: list[Part], references: tuple[str, ...]) -> tuple[Sentence, ...]:
    cited = resolved((part.citations for part in parts), references)
    return tuple(Sentence(part.text, docs) for part, docs in zip(parts, cited, strict=True))


def record_24(answer: Answer, **extra: str) -> dict[str, Any]:
    """An answer as a line of 2024."""
    return {
        "run_id": answer.run_id,
        "topic_id": answer.query_id,
        "topic": answer.question,
        "references": answer.references,
        "response_length": length((sentence.text for sentence in answer.sentences), "nfkc"),
        "answer": _parts(answer),
        **extra,
    }


def record_25(answer: Answer, **extra: str) -> dict[str, Any]:
    """An answer as a line of 2025; `extra` (team_id, type) goes into its metadata."""
    metadata = {"team_id": "", "run_id": answer.run_id, "narrative_id": answer.query_id}
    metadata |= {"narrative": answer.question} if answer.question else {}
    return _record(metadata, answer, extra)


def record_26(answer: Answer, **extra: str) -> dict[str, Any]:
    """An answer as a line of 2026; `extra` (team_id, run_desc) goes into its metadata."""
    metadata = {"team_id": "", "narrative_id": answer.query_id, "narrative": answer.question}
    return _record(metadata | {"run_id": answer.run_id, "run_desc": ""}, answer, extra)


def _record(metadata: dict[str, str], answer: Answer, extra: dict[str, str]) -> dict[str, Any]:
    metadata |= {"prompt": answer.prompt} if answer.prompt else {}
    return {"metadata": metadata | extra, "references": answer.references, "answer": _parts(answer)}


def _parts(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"text": sentence.text, "citations": positions(sentence.citations, answer)}
        for sentence in answer.sentences
    ]


_REST = "references, answer: [{text, citations}]}"
RAG24 = Form(
    "TREC RAG 2024 answers", f"{{run_id, topic_id, topic, {_REST}", has("topic_id", "answer"), Rag24, _from_24
)
RAG25 = Form(
    "TREC RAG 2025 answers",
    f"{{metadata: {{team_id, run_id, narrative_id}}, {_REST}",
    has("metadata"),
    Rag25,
    _from_25,
)
RAG26 = Form(
    "TREC RAG 2026 answers",
    f"{{metadata: {{team_id, run_id, run_desc, narrative_id, narrative}}, {_REST}",
    lambda record: isinstance(record.get("metadata"), dict) and "run_desc" in record["metadata"],
    Rag26,
    _from_metadata,
)
