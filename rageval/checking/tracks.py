"""What each track asks of a file of answers, as data, and what it would refuse in one.

A new track is a block of its own in here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from rageval.checking.findings import (
    ERROR,
    WARNING,
    Finding,
    Tally,
    Validation,
    error,
    excerpt,
    value_facts,
    warning,
)
from rageval.checking.rules import (
    ID,
    LIST,
    NUMBER,
    OBJECT,
    TEXT,
    EveryTopic,
    OneAnswerATopic,
    OneWayToCite,
    Path,
    RanksOnce,
    Record,
    Rule,
    SameEverywhere,
    SameWayToCite,
    Topics,
    UsualLimit,
    Watch,
    Watches,
    WithinLimit,
    at_most_citations,
    at_most_references,
    check_references,
    check_references_cited,
    check_responses,
    check_sentences,
    citations_lead_somewhere,
    citations_match,
    citations_not_repeated,
    cites_listed,
    cites_something,
    confidences_within,
    field,
    fields,
    kinds_of_citations,
    no_blanks,
    no_control_characters,
    no_other_fields,
    no_reference_twice,
    one_topic,
    references_match,
    report_says_something,
    response_length_agrees,
    says_something,
    topic_matches,
    use_all_references,
    within_length,
)
from rageval.errors import UsageError
from rageval.files.answers import FORMS
from rageval.files.jsonl import explained, plain_json, repeated_keys, stretches
from rageval.files.opening import Source

_SEGMENT = r"msmarco_v2\.1_doc_\d+_\d+#\d+_\d+"
_SEGMENTS = "msmarco_segments"


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
    check_references,
    at_most_references(_REFERENCES_24),
    references_match(_SEGMENT, _SEGMENTS),
    no_reference_twice(),
    check_sentences,
    says_something(),
    no_control_characters,
    citations_lead_somewhere(ids=False),
    citations_not_repeated,
    use_all_references,
    within_length(_BOUNDS_24.words, _BOUNDS_24.counting),
    response_length_agrees(_BOUNDS_24.counting),
)

_RAG24 = Track(
    "rag24",
    "TREC RAG 2024 answers",
    "rag24",
    _RULES_24,
    lambda topics: (
        OneAnswerATopic(("topic_id",), ("topic",), topics, _TOPICS_24, level=ERROR),
        SameEverywhere(("run_id",)),
    ),
    _BOUNDS_24,
)


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
    check_references,
    at_most_references(_REFERENCES_25),
    references_match(_SEGMENT, _SEGMENTS, WARNING),
    no_reference_twice(),
    check_sentences,
    says_something(),
    no_control_characters,
    citations_lead_somewhere(ids=True),
    citations_not_repeated,
    use_all_references,
    within_length(_BOUNDS_25.words, _BOUNDS_25.counting),
)

_RAG25 = Track(
    "rag25",
    "TREC RAG 2025 answers",
    "rag25",
    _RULES_25,
    lambda topics: (
        OneAnswerATopic(("metadata", "narrative_id"), ("metadata", "narrative"), topics, _TOPICS_25),
        SameEverywhere(("metadata", "run_id")),
        SameEverywhere(("metadata", "team_id"), WARNING),
        OneWayToCite(),
    ),
    _BOUNDS_25,
)


# TREC RAG 2026, by the guidelines of 2026-07-29: more `metadata`, which may have more fields; at most 1,024
# words and three citations a sentence, strongest first. What the guidelines do not forbid is a warning: a
# document cited or listed twice, and an answer without sentences. A sentence must have a text.

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
    check_references,
    references_match(r"shard_\d+_\d+", "climbmix_documents", WARNING),
    no_reference_twice(WARNING),
    check_sentences,
    says_something(WARNING, ERROR),
    no_control_characters,
    citations_lead_somewhere(ids=True),
    citations_not_repeated,
    at_most_citations(_CITATIONS_26),
    use_all_references,
    within_length(_BOUNDS_26.words, _BOUNDS_26.counting),
)


# The form is that of 2025: what it has more, its rules ask for.
_RAG26 = Track(
    "rag26",
    "TREC RAG 2026 answers",
    "rag25",
    _RULES_26,
    lambda topics: (
        OneAnswerATopic(
            ("metadata", "narrative_id"), ("metadata", "narrative"), topics, _TOPICS_26, level=ERROR
        ),
        SameEverywhere(("metadata", "run_id")),
        SameEverywhere(("metadata", "team_id"), WARNING),
        SameEverywhere(("metadata", "run_desc"), WARNING),
        OneWayToCite(),
    ),
    _BOUNDS_26,
)


# LiveRAG: a line for each of 500 questions, with the passages and the prompt the answer was made from.

_QUESTIONS = 500
_URN = re.compile(r"<urn:uuid:[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}>")


def _check_passages(record: Record) -> Iterator[Finding]:
    """Require that every passage has its text and the documents it is from."""
    passages = record.get("passages")
    if isinstance(passages, list) and not passages:
        yield warning("empty_passages")
    for index, passage in enumerate(passages if isinstance(passages, list) else []):
        place = f"passages[{index}]"
        if not isinstance(passage, dict):
            yield error("unexpected_value", field=place, expected="passage", **value_facts(passage))
            continue
        text, docs = passage.get("passage"), passage.get("doc_IDs")
        if not isinstance(text, str) or not text.strip():
            yield error("unexpected_value", field=f"{place}.passage", expected="text", **value_facts(text))
        place = f"{place}.doc_IDs"
        if not isinstance(docs, list) or not docs:
            yield error("unexpected_value", field=place, expected="ids", **value_facts(docs))
            continue
        for doc in docs:
            if not isinstance(doc, str):
                yield error("unexpected_value", field=place, expected="texts", **value_facts(doc))
            elif not _URN.fullmatch(doc):
                yield warning("unexpected_value", field=place, expected="urn", **value_facts(doc))


_RULES_LIVERAG = (
    fields(
        field("id", NUMBER),
        field("question", TEXT),
        field("passages", LIST),
        field("final_prompt", TEXT),
        field("answer", TEXT),
    ),
    no_other_fields("", "id question passages final_prompt answer"),
    _check_passages,
)

_LIVERAG = Track(
    "liverag",
    "LiveRAG answers",
    "liverag",
    _RULES_LIVERAG,
    lambda topics: (OneAnswerATopic(("id",), ("question",), topics, _QUESTIONS),),
)


# Reports, as RAGTIME, DRAGUN, BioGen and the Auto-Judge kit share them (hltcoe/rag-run-validator): JSON of
# the right types, and every topic. What is cited is not compared with the references.

_TOPIC = ("metadata", "topic_id")
_OF_REPORTS = (
    field("metadata", OBJECT),
    field("metadata.team_id", TEXT),
    field("metadata.run_id", TEXT),
    field("metadata.topic_id", TEXT),
)
_REPORT_RULES = (
    no_other_fields("", "metadata responses answer references documents"),
    no_blanks("metadata.run_id"),
    one_topic,
    check_responses,
    no_control_characters,
    citations_not_repeated,
)


def _watches_of_reports(expected: int | None, repeat_level: str = ERROR) -> Watches:
    def watches(topics: Topics | None) -> tuple[Watch, ...]:
        return (
            OneAnswerATopic(_TOPIC, (), topics, expected, repeat_level=repeat_level),
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
        check_references,
        *_REPORT_RULES,
        report_says_something,
        cites_listed,
    ),
    _watches_of_reports(None, repeat_level=WARNING),
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
        check_references,
        *_REPORT_RULES,
        says_something(),
        confidences_within(0, 100),
        check_references_cited,
        citations_match(_UUIDS, "ragtime_documents"),
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
        topic_matches("metadata.topic_id", _DOCUMENT, "msmarco_document"),
        *_REPORT_RULES,
        says_something(),
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


def _question_is_short(record: Record) -> Iterator[Finding]:
    """Require that a question is no longer than the track takes."""
    if (length := len(record["question"])) > _LONGEST_QUESTION:
        yield error("long_question", number=length, limit=_LONGEST_QUESTION)


_DRAGUN25_QUESTIONS = Track(
    "dragun25-questions",
    "DRAGUN 2025 questions",
    "",
    (
        fields(*(field(name, TEXT) for name in _COLUMNS)),
        topic_matches("topic_id", _DOCUMENT, "msmarco_document"),
        no_blanks("run_id"),
        _question_is_short,
    ),
    lambda topics: (
        EveryTopic(("topic_id",), topics, _TOPICS_DRAGUN),
        RanksOnce(_RANKS),
        SameEverywhere(("run_id",)),
        SameEverywhere(("team_id",), WARNING),
    ),
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
        *_REPORT_RULES,
        says_something(),
        within_length(_WORDS, "split"),
        at_most_citations(_CITED),
        citations_match(r"(PMID:?)?\d+", "pmids"),
    ),
    _watches_of_reports(None),
    AllowedInReports(_WORDS, _CITED),
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
        says_something(),
        no_control_characters,
    ),
    lambda topics: (
        OneAnswerATopic(("metadata", "qa_id"), ("metadata", "question"), topics, None),
        SameEverywhere(("metadata", "run_id"), WARNING),
        SameEverywhere(("metadata", "team_id"), WARNING),
    ),
)
_TRACKS = {
    track.name: track
    for track in (
        *(_RAG24, _RAG25, _RAG26, _LIVERAG, _REPORT, _RAGTIME25, _DRAGUN25, _DRAGUN25_QUESTIONS),
        *(_BIOGEN25_A, _BIOGEN25_B),
    )
}


OF_TABLES, OF_RUNS = "answers", "run"  # answers without a form of a track's, and rankings: not read by rules
TRACKS = (*_TRACKS, OF_TABLES, OF_RUNS)  # all that can be named
OF_STEPS = "steps"  # trajectories of agents, which no leaderboard takes


def track_named(name: str | Track) -> Track:
    """Return the track of this name; a track as it is."""
    if isinstance(name, Track):
        return name
    if name not in _TRACKS:
        raise UsageError(f"track {name!r}: expected one of {', '.join(TRACKS)}")
    return _TRACKS[name]


def columns_named(name: str) -> tuple[str, ...]:
    """Return the columns of a track whose records are lines of tabs; none of another."""
    return () if name in (OF_TABLES, OF_RUNS) else track_named(name).columns


_Lines = Iterator[tuple[int, bytes]]


def validate_answers(
    source: Source,
    track: Track,
    topics: Topics | None = None,
    strict_length: bool = False,
) -> Validation:
    """Return the findings of a file of answers; memory grows with the topics, not with the file."""
    watches = track.watches(topics)
    if track.limit is not None:
        watches += (WithinLimit(track.topic, track.limit, topics, strict_length),)
    tally = Tally("question" if track.columns else "answer")
    return Validation(_findings_of_answers(source, track, watches, tally), tally)


def numbered_lines(source: Source) -> _Lines:
    """Yield (number, line without its end) of every line."""
    for first, text in stretches(source, "JSON lines"):
        lines = text.split(b"\n")
        if not lines[-1]:
            lines.pop()
        yield from enumerate(lines, first)


def _findings_of_answers(
    source: Source, track: Track, watches: tuple[Watch, ...], tally: Tally
) -> Iterator[Finding]:
    number = 0
    for number, line in numbered_lines(source):
        if not line.strip():
            continue
        # Lines that cannot be read are counted, too: they are answers that somebody meant to hand in.
        tally.count += 1
        record = row_of(line, track) if track.columns else _decode_record(line, track)
        if isinstance(record, Finding):
            yield record.in_line(number)
            continue
        for rule in track.rules:
            yield from (finding.in_line(number) for finding in rule(record))
        for watch in watches:
            yield from (finding.in_line(number) for finding in watch.see(number, record))
    for watch in watches:
        yield from (finding.in_line(number) for finding in watch.end())


def _decode_record(line: bytes, track: Track) -> Record | Finding:
    """Return the record, or what is wrong with the line."""
    try:
        record: Any = msgspec.json.decode(plain_json(line))
    except (ValueError, RecursionError) as fault:
        return error("unreadable_line", reason=explained(fault, line, track.title).reason)
    # JSON takes the last of two equal keys, so that half of an answer may be gone without a word.
    for _, key in repeated_keys(line):
        return error("repeated_key", key=excerpt(key))
    if not isinstance(record, dict):
        return error("not_an_object", track=track.title, **value_facts(record))
    if not FORMS[track.form].fits(record):
        fitting = {name: form for name, form in FORMS.items() if form.fits(record)}
        answers = "answer" in record or any(form.is_own for form in fitting.values())
        other = next(iter(fitting), "") if answers else ""
        # Of another track's form: one line says so in place of a dozen that say what is not there.
        if other:
            return error(
                "answers_of_another_form",
                track=track.title,
                form=fitting[other].name,
                has_track=any(track_form.form == other for track_form in _TRACKS.values()),
            )
    return record


def row_of(line: bytes, track: Track) -> Record | Finding:
    """Return the columns by name, or what is wrong with the line."""
    try:
        # Files from Windows end lines with both.
        columns = line.removesuffix(b"\r").decode().split("\t")
    except UnicodeDecodeError as fault:
        return error("unreadable_line", reason=explained(fault, line, track.title).reason)
    if len(columns) != len(track.columns):
        return error("number_of_columns", columns=track.columns, number=len(columns))
    return {name: column.strip() for name, column in zip(track.columns, columns, strict=True)}
