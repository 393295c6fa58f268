"""TREC RAG 2026: more `metadata`, at most 1,024 words and three citations a sentence, strongest first."""

from __future__ import annotations

from rageval.validation import citations, references, sentences
from rageval.validation.fields import ID, LIST, OBJECT, TEXT, field, fields, no_blanks, no_other_fields
from rageval.validation.findings import WARNING
from rageval.validation.tracks import Bounds, Track
from rageval.validation.watches import OneAnswerATopic, OneWayToCite, SameEverywhere, Topics, Watch

CITATIONS = 3
BOUNDS = Bounds(references=None, words=1024, counting="split", citations=CITATIONS)

RULES = (
    fields(
        field("metadata", OBJECT),
        field("metadata.team_id", ID),
        field("metadata.narrative_id", ID),
        field("metadata.narrative", TEXT),
        field("metadata.run_id", ID),
        field("metadata.run_desc", TEXT),
        field("references", LIST),
        field("answer", LIST),
    ),
    no_other_fields("", "metadata references answer"),
    no_blanks("metadata.run_id"),
    references.are_texts,
    references.match(r"shard_\d+_\d+", "ids of ClimbMix documents (shard_00000_1)", WARNING),
    references.no_duplicates,
    sentences.are_sentences,
    sentences.says_something,
    sentences.no_control_characters,
    citations.lead_somewhere(ids=True),
    citations.not_repeated(),
    citations.at_most(CITATIONS),
    citations.use_all_references,
    sentences.within_length(BOUNDS.words, BOUNDS.counting),
)


def watches(topics: Topics | None) -> tuple[Watch, ...]:
    """The rules on all records together."""
    return (
        OneAnswerATopic(("metadata", "narrative_id"), ("metadata", "narrative"), topics, None),
        SameEverywhere(("metadata", "run_id")),
        SameEverywhere(("metadata", "team_id"), WARNING),
        SameEverywhere(("metadata", "run_desc"), WARNING),
        OneWayToCite(),
    )


TRACK = Track("rag26", "TREC RAG 2026 answers", RULES, watches, BOUNDS)
