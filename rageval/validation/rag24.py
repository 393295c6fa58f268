"""TREC RAG 2024: everything at the top level, at most 20 references and 400 words, citations by position."""

from __future__ import annotations

from rageval.validation import citations, references, sentences
from rageval.validation.fields import ID, LIST, NUMBER, TEXT, field, fields, no_blanks, no_other_fields
from rageval.validation.findings import ERROR, WARNING
from rageval.validation.tracks import SEGMENT, SEGMENTS, Bounds, Track
from rageval.validation.watches import OneAnswerATopic, SameEverywhere, Topics, Watch

TOPICS = 301
REFERENCES = 20
BOUNDS = Bounds(references=REFERENCES, words=400, counting="nfkc", ids=False, says_length=True)

RULES = (
    fields(
        field("run_id", ID),
        field("topic_id", ID),
        field("topic", TEXT),
        field("references", LIST),
        field("response_length", NUMBER),
        field("answer", LIST),
    ),
    no_other_fields("", "run_id topic_id topic references response_length answer"),
    no_blanks("run_id"),
    references.are_texts,
    references.at_most(REFERENCES),
    references.match(SEGMENT, SEGMENTS),
    references.no_duplicates,
    sentences.are_sentences,
    sentences.says_something,
    sentences.no_control_characters,
    citations.lead_somewhere(ids=False),
    citations.not_repeated(WARNING),
    citations.use_all_references,
    sentences.within_length(BOUNDS.words, BOUNDS.counting),
    sentences.response_length_agrees(BOUNDS.counting),
)


def watches(topics: Topics | None) -> tuple[Watch, ...]:
    """The rules on all records together."""
    return (
        OneAnswerATopic(("topic_id",), ("topic",), topics, TOPICS, level=ERROR),
        SameEverywhere(("run_id",)),
    )


TRACK = Track("rag24", "TREC RAG 2024 answers", RULES, watches, BOUNDS)
