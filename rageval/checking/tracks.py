"""What each track asks of a file of answers, as data: a new track is a block of its own in here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from rageval.checking._report_rules import (
    EveryTopic,
    RanksOnce,
    SameWayToCite,
    UsualLimit,
    are_responses,
    citations_match,
    cites_listed,
    cites_something,
    confidences_within,
    kinds_of_citations,
    one_topic,
    references_are_cited,
    report_says_something,
    topic_matches,
)
from rageval.checking._rules import (
    ID,
    LIST,
    NUMBER,
    OBJECT,
    TEXT,
    OneAnswerATopic,
    OneWayToCite,
    Path,
    Record,
    Remark,
    Rule,
    SameEverywhere,
    Topics,
    Watch,
    Watches,
    are_sentences,
    at_most_citations,
    at_most_references,
    citations_lead_somewhere,
    citations_not_repeated,
    error,
    field,
    fields,
    no_blanks,
    no_control_characters,
    no_other_fields,
    no_reference_twice,
    references_are_texts,
    references_match,
    response_length_agrees,
    says_something,
    shown,
    use_all_references,
    warning,
    within_length,
)
from rageval.checking.findings import ERROR, WARNING
from rageval.errors import UsageError

_SEGMENT = r"msmarco_v2\.1_doc_\d+_\d+#\d+_\d+"
_SEGMENTS = "ids of MS MARCO V2.1 segments (msmarco_v2.1_doc_00_1#2_3)"


@dataclass(frozen=True, slots=True)
class Allowed:
    """What repairs aim at: how many references, words (by a rule of `counting`) and citations a sentence.

    `ids`: citations may be ids, not only positions; `says_length`: records hold their `response_length`.
    """

    references: int | None
    words: int
    counting: str
    citations: int | None = None
    ids: bool = True
    says_length: bool = False


@dataclass(frozen=True, slots=True)
class AllowedInReports:
    """What repairs of reports aim at: how many words (at white space) and citations a sentence.

    `references` are to be there, or to be what is cited, or nobody asks.
    """

    words: int | None = None
    citations: int | None = None
    references: Literal["there", "cited", ""] = ""


@dataclass(frozen=True, slots=True)
class Track:
    """A track: its name, what its records are called, its rules; `bounds` where repairs are possible.

    `form` is the form of answers (`rageval.files.answers.FORMS`) that its records have at the least; records
    that are lines of tabs have `columns` instead. Where topics have limits of length, longer reports are a
    warning, or with --strict-length an error; `limit` is that of a topic of which nothing else says it.
    """

    name: str
    title: str
    form: str
    rules: tuple[Rule, ...]
    watches: Watches
    bounds: Allowed | AllowedInReports | None = None
    topic: Path = ()
    limit: UsualLimit | None = None
    columns: tuple[str, ...] = ()


# TREC RAG 2024: everything at the top level, at most 20 references and 400 words, citations by position.

_TOPICS_24 = 301
_REFERENCES_24 = 20
_BOUNDS_24 = Allowed(references=_REFERENCES_24, words=400, counting="nfkc", ids=False, says_length=True)

_RULES_24 = (
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
    references_are_texts,
    at_most_references(_REFERENCES_24),
    references_match(_SEGMENT, _SEGMENTS),
    no_reference_twice,
    are_sentences,
    says_something,
    no_control_characters,
    citations_lead_somewhere(ids=False),
    citations_not_repeated(WARNING),
    use_all_references,
    within_length(_BOUNDS_24.words, _BOUNDS_24.counting),
    response_length_agrees(_BOUNDS_24.counting),
)


def _watches_24(topics: Topics | None) -> tuple[Watch, ...]:
    """Return the rules on all records together."""
    return (
        OneAnswerATopic(("topic_id",), ("topic",), topics, _TOPICS_24, level=ERROR),
        SameEverywhere(("run_id",)),
    )


_RAG24 = Track("rag24", "TREC RAG 2024 answers", "rag24", _RULES_24, _watches_24, _BOUNDS_24)


# TREC RAG 2025: `metadata`, at most 100 references and 400 words, citations by position or by id.

_TOPICS_25 = 105
_REFERENCES_25 = 100
_BOUNDS_25 = Allowed(references=_REFERENCES_25, words=400, counting="nfkc")

_RULES_25 = (
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
    references_are_texts,
    at_most_references(_REFERENCES_25),
    references_match(_SEGMENT, _SEGMENTS, WARNING),
    no_reference_twice,
    are_sentences,
    says_something,
    no_control_characters,
    citations_lead_somewhere(ids=True),
    citations_not_repeated(WARNING),
    use_all_references,
    within_length(_BOUNDS_25.words, _BOUNDS_25.counting),
)


def _watches_25(topics: Topics | None) -> tuple[Watch, ...]:
    """Return the rules on all records together."""
    return (
        OneAnswerATopic(("metadata", "narrative_id"), ("metadata", "narrative"), topics, _TOPICS_25),
        SameEverywhere(("metadata", "run_id")),
        SameEverywhere(("metadata", "team_id"), WARNING),
        OneWayToCite(),
    )


_RAG25 = Track("rag25", "TREC RAG 2025 answers", "rag25", _RULES_25, _watches_25, _BOUNDS_25)


# TREC RAG 2026: more `metadata`, at most 1,024 words and three citations a sentence, strongest first.

_TOPICS_26 = 119
_CITATIONS_26 = 3
_BOUNDS_26 = Allowed(references=None, words=1024, counting="split", citations=_CITATIONS_26)

_RULES_26 = (
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
    references_are_texts,
    references_match(r"shard_\d+_\d+", "ids of ClimbMix documents (shard_00000_1)", WARNING),
    no_reference_twice,
    are_sentences,
    says_something,
    no_control_characters,
    citations_lead_somewhere(ids=True),
    citations_not_repeated(),
    at_most_citations(_CITATIONS_26),
    use_all_references,
    within_length(_BOUNDS_26.words, _BOUNDS_26.counting),
)


def _watches_26(topics: Topics | None) -> tuple[Watch, ...]:
    """Return the rules on all records together."""
    return (
        OneAnswerATopic(("metadata", "narrative_id"), ("metadata", "narrative"), topics, _TOPICS_26),
        SameEverywhere(("metadata", "run_id")),
        SameEverywhere(("metadata", "team_id"), WARNING),
        SameEverywhere(("metadata", "run_desc"), WARNING),
        OneWayToCite(),
    )


# The form is that of 2025: what it has more, its rules ask for.
_RAG26 = Track("rag26", "TREC RAG 2026 answers", "rag25", _RULES_26, _watches_26, _BOUNDS_26)


# LiveRAG: a line for each of 500 questions, with the passages and the prompt the answer was made from.

_QUESTIONS = 500
_URN = re.compile(r"<urn:uuid:[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}>")


def _passages_are_whole(record: Record) -> Iterator[Remark]:
    """Require that every passage has its text and the documents it is from."""
    found = record.get("passages")
    if isinstance(found, list) and not found:
        yield warning("`passages` is empty: faithfulness cannot be judged")
    for at, passage in enumerate(found if isinstance(found, list) else []):
        if not isinstance(passage, dict):
            yield error(f"expected {{passage, doc_IDs}} as passages[{at}], found {shown(passage)}")
            continue
        text = passage.get("passage")
        if not isinstance(text, str) or not text.strip():
            yield error(f"expected a text as passages[{at}].passage, found {shown(text)}")
        yield from _documents(at, passage.get("doc_IDs"))


def _documents(at: int, docs: Any) -> Iterator[Remark]:
    if not isinstance(docs, list) or not docs:
        yield error(f"expected a list of ids as passages[{at}].doc_IDs, found {shown(docs)}")
        return
    for doc in docs:
        if not isinstance(doc, str):
            yield error(f"expected ids in texts as passages[{at}].doc_IDs, found {shown(doc)}")
        elif not _URN.fullmatch(doc):
            yield warning(f"expected <urn:uuid:…> as passages[{at}].doc_IDs, found {shown(doc)}")


_RULES_LIVERAG = (
    fields(
        field("id", NUMBER),
        field("question", TEXT),
        field("passages", LIST),
        field("final_prompt", TEXT),
        field("answer", TEXT),
    ),
    no_other_fields("", "id question passages final_prompt answer"),
    _passages_are_whole,
)


def _watches_liverag(topics: Topics | None) -> tuple[Watch, ...]:
    """Return the rules on all records together."""
    return (OneAnswerATopic(("id",), ("question",), topics, _QUESTIONS),)


_LIVERAG = Track("liverag", "LiveRAG answers", "liverag", _RULES_LIVERAG, _watches_liverag)


# Reports, as RAGTIME, DRAGUN, BioGen and the Auto-Judge kit share them (hltcoe/rag-run-validator): JSON of
# the right types, and every topic. What is cited is not compared with the references.

_TOPIC = ("metadata", "topic_id")
_OF_REPORTS = (
    field("metadata", OBJECT),
    field("metadata.team_id", TEXT),
    field("metadata.run_id", TEXT),
    field("metadata.topic_id", TEXT),
)
_SAID_OF_REPORTS = (
    no_other_fields("", "metadata responses answer references documents"),
    no_blanks("metadata.run_id"),
    one_topic,
    are_responses,
    no_control_characters,
    citations_not_repeated(WARNING),
)


def _watches_of_reports(expected: int | None, again: str = ERROR) -> Watches:
    def watches(topics: Topics | None) -> tuple[Watch, ...]:
        return (
            OneAnswerATopic(_TOPIC, (), topics, expected, again=again),
            SameEverywhere(("metadata", "run_id"), WARNING),
            SameEverywhere(("metadata", "team_id"), WARNING),
            SameWayToCite(),
        )

    return watches


_REPORT = Track(
    "report",
    "reports",
    "report",
    (
        fields(*_OF_REPORTS, field("references", LIST)),
        references_are_texts,
        *_SAID_OF_REPORTS,
        report_says_something,
        cites_listed,
    ),
    _watches_of_reports(None, again=WARNING),
    AllowedInReports(references="there"),
    _TOPIC,
    lambda topic: None,
)


# RAGTIME 2025: also what task it is for, and references that are what is cited. Topics come in pairs, the odd
# one short, the even one long, of which only the odd ones are judged; the scorer cuts what is longer.

_SHORT, _LONG = 2_000, 10_000
_UUIDS = r"[^-_]+(-[^-_]+){4}_.+"


def _limit_ragtime(topic: str) -> int | None:
    if not topic.isascii() or not topic.isdigit():
        return None
    return _SHORT if int(topic[-1]) % 2 else _LONG


_RAGTIME25 = Track(
    "ragtime25",
    "RAGTIME 2025 reports",
    "report",
    (
        fields(*_OF_REPORTS, field("metadata.task", TEXT), field("references", LIST)),
        references_are_texts,
        *_SAID_OF_REPORTS,
        says_something,
        confidences_within(0, 100),
        references_are_cited,
        citations_match(_UUIDS, "ids of RAGTIME1 documents (five parts with `-`, then `_` and more)"),
        cites_something,
    ),
    _watches_of_reports(None),
    AllowedInReports(references="cited"),
    _TOPIC,
    _limit_ragtime,
)


# DRAGUN 2025: reports on 30 documents, in 250 words, with up to three segments a sentence, and no references.
# After its guidelines; its own script was not seen.

_WORDS, _CITED = 250, 3
_DOCUMENT = r"msmarco_v2\.1_doc_\d+_\d+"
_TOPICS_DRAGUN = 30

_DRAGUN25 = Track(
    "dragun25",
    "DRAGUN 2025 reports",
    "report",
    (
        fields(
            *_OF_REPORTS,
            field("metadata.type", TEXT, required=False, among=("manual", "automatic")),
            field("metadata.use_starter_kit", NUMBER, required=False),
        ),
        topic_matches("metadata.topic_id", _DOCUMENT, "the id of a document (msmarco_v2.1_doc_00_1)"),
        *_SAID_OF_REPORTS,
        says_something,
        within_length(_WORDS, "split"),
        at_most_citations(_CITED),
        citations_match(_SEGMENT, _SEGMENTS),
    ),
    _watches_of_reports(_TOPICS_DRAGUN),
    AllowedInReports(_WORDS, _CITED),
)


# DRAGUN 2025, questions: lines of tabs, ten questions a topic, the most important one first.

_RANKS, _LONGEST_QUESTION = 10, 300
_COLUMNS = ("topic_id", "team_id", "run_id", "rank", "question")


def _question_is_short(record: Record) -> Iterator[Remark]:
    """Require that a question is no longer than the track takes."""
    if (found := len(record["question"])) > _LONGEST_QUESTION:
        yield error(f"expected at most {_LONGEST_QUESTION} characters a question, found {found:,}")


def _watches_questions(topics: Topics | None) -> tuple[Watch, ...]:
    return (
        EveryTopic(("topic_id",), topics, _TOPICS_DRAGUN),
        RanksOnce(_RANKS),
        SameEverywhere(("run_id",)),
        SameEverywhere(("team_id",), WARNING),
    )


_DRAGUN25_QUESTIONS = Track(
    "dragun25-questions",
    "DRAGUN 2025 questions",
    "",
    (
        fields(*(field(name, TEXT) for name in _COLUMNS)),
        topic_matches("topic_id", _DOCUMENT, "the id of a document (msmarco_v2.1_doc_00_1)"),
        no_blanks("run_id"),
        _question_is_short,
    ),
    _watches_questions,
    columns=_COLUMNS,
)


# BioGen 2025. Task B: reports of 250 words with up to three PMIDs a sentence, and no references. Task A:
# sentences that are given, with up to three new documents that support and three that contradict each.

_BIOGEN25_B = Track(
    "biogen25-b",
    "BioGen 2025 answers of task B",
    "report",
    (
        fields(*_OF_REPORTS),
        *_SAID_OF_REPORTS,
        says_something,
        within_length(_WORDS, "split"),
        at_most_citations(_CITED),
        citations_match(r"(PMID:?)?\d+", "PMIDs"),
    ),
    _watches_of_reports(None),
    AllowedInReports(_WORDS, _CITED),
)


def _watches_biogen_a(topics: Topics | None) -> tuple[Watch, ...]:
    return (
        OneAnswerATopic(("metadata", "qa_id"), ("metadata", "question"), topics, None),
        SameEverywhere(("metadata", "run_id"), WARNING),
        SameEverywhere(("metadata", "team_id"), WARNING),
    )


_BIOGEN25_A = Track(
    "biogen25-a",
    "BioGen 2025 answers of task A",
    "report",
    (
        fields(
            field("metadata", OBJECT),
            field("metadata.team_id", TEXT),
            field("metadata.run_id", TEXT),
            field("metadata.qa_id", TEXT),
            field("answer", LIST),
        ),
        no_other_fields("", "metadata answer"),
        no_blanks("metadata.run_id"),
        one_topic,
        kinds_of_citations(_CITED),
        says_something,
        no_control_characters,
    ),
    _watches_biogen_a,
)


_TRACKS = {
    track.name: track
    for track in (
        *(_RAG24, _RAG25, _RAG26, _LIVERAG, _REPORT, _RAGTIME25, _DRAGUN25, _DRAGUN25_QUESTIONS),
        *(_BIOGEN25_A, _BIOGEN25_B),
    )
}


def track_named(name: str | Track) -> Track:
    """Return the track of this name; a track as it is."""
    if isinstance(name, Track):
        return name
    if name not in _TRACKS:
        raise UsageError(f"track {name!r}: expected one of {', '.join([*_TRACKS, 'run'])}")
    return _TRACKS[name]
