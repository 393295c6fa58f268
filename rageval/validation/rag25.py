"""TREC RAG 2025: `metadata`, at most 100 references and 400 words, citations by position or by id."""

from __future__ import annotations

from rageval.validation import citations, references, sentences
from rageval.validation.fields import ID, LIST, OBJECT, TEXT, field, fields, no_blanks, no_other_fields
from rageval.validation.findings import WARNING
from rageval.validation.tracks import SEGMENT, SEGMENTS, Bounds, Track
from rageval.validation.watches import OneAnswerATopic, OneWayToCite, SameEverywhere, Topics, Watch

TOPICS = 105
REFERENCES = 100
BOUNDS = Bounds(references=REFERENCES, words=400, counting="nfkc")

RULES = (
    fields(
        field("metadata", OBJECT),
        field("metadata.team_id", ID),
        field("metadata.run_id", ID),
        field("metadata.narrative_id", ID),
        field("metadata.type", TEXT, required=False, among=("manual", "automatic")),
        field("metadata.narrative", TEXT, required=False),
        field("metadata.prompt", TEXT, required=False),
        field("references", LIST),
        field("answer", LIST),
    ),
    no_other_fields("", "metadata references answer"),
    no_other_fields("metadata", "team_id run_id narrative_id type narrative prompt"),
    no_blanks("metadata.run_id"),
    references.are_texts,
    references.at_most(REFERENCES),
    references.match(SEGMENT, SEGMENTS, WARNING),
    references.no_duplicates,
    sentences.are_sentences,
    sentences.says_something,
    sentences.no_control_characters,
    citations.lead_somewhere(ids=True),
    citations.not_repeated(WARNING),
    citations.use_all_references,
    sentences.within_length(BOUNDS.words, BOUNDS.counting),
)


def watches(topics: Topics | None) -> tuple[Watch, ...]:
    """The rules on all records together."""
    return (
        OneAnswerATopic(("metadata", "narrative_id"), ("metadata", "narrative"), topics, TOPICS),
        SameEverywhere(("metadata", "run_id")),
        SameEverywhere(("metadata", "team_id"), WARNING),
        OneWayToCite(),
    )


TRACK = Track("rag25", "TREC RAG 2025 answers", RULES, watches, BOUNDS)
