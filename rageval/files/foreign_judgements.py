"""Judgements of answers as tracks and other tools write them, turned into rows of ours.

Auto-ARGUE's judgements of reports, RAGDoll's and TREC's support, RAGDoll's battles and graded rubrics,
DRAGUN's stances and similar questions, MedAESQA's (BioGen's) sentences, RAGChecker's claims. A file is known
by its content. What nobody could judge becomes a row that failed, never a grade. Which of a bank's questions
a report answers is read as what was matched: only the bank says what answers a question needs.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from rageval.errors import InputError, Place
from rageval.files.jsonl import (
    Id,
    RecordForm,
    Unfit,
    explained,
    has,
    identifier,
    input_error_of,
    pair_aspect,
    plain_json,
    read_forms,
    repeated_in,
    repeated_key,
)
from rageval.files.nuggets import TIERS
from rageval.files.opening import BOM, Limits, Source, chunks, limits_of, name_of, quoted
from rageval.text import visible

Row = dict[str, Any]  # the keys of a line of judgements
_Cited = tuple[tuple[str, ...], ...]
_AT_ONCE = 10_000  # rows
_DONE = "completed"  # the status of what RAGDoll judged


class Match(NamedTuple):
    """A question of a bank, and those of its answers that a sentence states; None where that is not known.

    `attested`: whether the document that it cites says what the sentence says, None where that is not known.
    """

    question: str | None
    answers: tuple[str, ...]
    attested: bool | None = None


class JudgedLine(NamedTuple):
    """Rows of one stretch of a file, and of answers that stand there whole what each sentence cites.

    `cited` and `texts`, of sentences, are by run and query; `recorded` are answers of which there is a
    record, and be it that it is empty. Of a report that was matched with a bank of questions, `matched` says
    with what; `unknown` counts kinds of judgement that no measure knows. `failed` names what failed, and
    may have been asked again.
    """

    rows: list[Row]
    cited: Mapping[tuple[str, str], _Cited] = {}
    recorded: Sequence[tuple[str, str]] = ()
    texts: Mapping[tuple[str, str], Sequence[str]] = {}
    matched: Mapping[tuple[str, str], tuple[Match, ...]] = {}
    unknown: Mapping[str, int] = {}
    failed: str | None = None


class _Supported(msgspec.Struct):
    """A citation with its support: 2 full, 1 partial, 0 none, −1 not judged."""

    support: Literal["2", "1", "0", "-1", 2, 1, 0, -1]
    reference: Id | None = None


class _SupportedSentence(msgspec.Struct):
    """A sentence with its citations, in their order."""

    citations: list[_Supported] = []


class _SupportedAnswer(msgspec.Struct):
    """A line of RAGDoll's: one answer."""

    run_id: Id
    sentences: list[_SupportedSentence]
    narrative_id: Id | None = None
    topic_id: Id | None = None
    qid: Id | None = None
    query_id: Id | None = None


_SUPPORT = {"2": "full_support", "1": "partial_support", "0": "no_support"}


def _from_support(line: _SupportedAnswer, limits: Limits) -> JudgedLine:
    given = {name: getattr(line, name) for name in ("topic_id", "narrative_id", "qid", "query_id")}
    names = {str(value) for value in given.values() if value is not None}
    if len(names) != 1:
        raise Unfit(expected="one topic_id or narrative_id", found=", ".join(sorted(names)) or "none")
    place = {"query_id": identifier(names.pop(), "topic_id", limits)}
    place |= {"run_id": identifier(line.run_id, "run_id", limits), "rubric": "citation-support"}
    rows: list[Row] = []
    cited = []
    for number, sentence in enumerate(line.sentences):
        # What a sentence cites twice counts once, so that both must be judged alike.
        grades: dict[str, str] = {}
        for position, citation in enumerate(sentence.citations):
            named = f"citation-{position}" if citation.reference is None else citation.reference
            doc, support = identifier(named, "reference", limits), str(citation.support)
            if grades.setdefault(doc, support) != support:
                raise Unfit(problem=f"sentence {number} cites {doc!r:.80} twice, with two kinds of support")
        rows += [
            place | {"item_id": doc, "aspect": str(number)} | _verdict_row(_SUPPORT, support)
            for doc, support in grades.items()
        ]
        cited.append(tuple(grades))
    return JudgedLine(rows, {(place["run_id"], place["query_id"]): tuple(cited)})


def _verdict_row(labels: Mapping[str, str], answer: str) -> Row:
    """Return label and status: what is not among the labels was not judged."""
    return {"label": labels[answer]} if answer in labels else {"status": "error"}


class _Battle(msgspec.Struct):
    """A comparison of RAGDoll's arena: two answers to one question."""

    qid: Id
    assistant_a_run_id: Id
    assistant_b_run_id: Id
    judge_verdict: str | None = None
    preferred_run_id: Id | None = None
    provider: str | None = None
    judging_model: str | None = msgspec.field(name="model", default=None)
    status: str = _DONE


# What the first answer shown and the second get. A tie of two bad answers is a tie to RAGDoll, too.
_OUTCOMES = {"a": ("win", "loss"), "b": ("loss", "win")}
_OUTCOMES |= dict.fromkeys(
    ("tie", "tie (bothbad)", "tie (both bad)", "both good", "both bad"), ("tie", "tie")
)
_NAMES_VERDICTS = "A, B, Tie, Tie (bothbad), Both Good or Both Bad"


def _from_battle(line: _Battle, limits: Limits) -> JudgedLine:
    query = identifier(line.qid, "qid", limits)
    first = identifier(line.assistant_a_run_id, "assistant_a_run_id", limits)
    second = identifier(line.assistant_b_run_id, "assistant_b_run_id", limits)
    if first == second:
        raise Unfit(expected="two systems", found=f"{first[:80]!r} as both")
    verdict = (line.judge_verdict or "").strip().lower() if line.status == _DONE else ""
    outcomes = _OUTCOMES.get(verdict)
    if verdict and outcomes is None:
        raise Unfit(
            expected=f"{_NAMES_VERDICTS} as `judge_verdict`", found=f"{(line.judge_verdict or '')[:80]!r}"
        )
    shown = [first, second]
    if outcomes is not None and line.preferred_run_id is not None:
        won = {"win": first, "loss": second}.get(outcomes[0])
        if str(line.preferred_run_id) != won:
            raise Unfit(
                expected=f"{won!r:.80} as `preferred_run_id`, by the verdict",
                found=f"{str(line.preferred_run_id)[:80]!r}",
            )
    aspect = pair_aspect(first, second)
    place = {"query_id": query, "aspect": aspect, "shown": shown, "rubric": "pairwise"}
    judge = ":".join(name for name in (line.provider, line.judging_model) if name)
    labels = outcomes or (None, None)
    rows: list[Row] = [
        place | {"run_id": run, "judge": judge} | ({"status": "error"} if label is None else {"label": label})
        for run, label in zip(shown, labels, strict=True)
    ]
    return JudgedLine(rows, failed=None if outcomes else f"{query} {aspect}")


class _GradedCriterion(msgspec.Struct):
    """A criterion of a rubric, and whether the answer meets it."""

    weight: float | None = None
    tier: str | None = None
    verdict: str | None = None


class _GradedRubric(msgspec.Struct):
    """A line of RAGDoll's graded rubrics: one answer."""

    qid: Id
    run_id: Id
    criteria: list[_GradedCriterion]
    response_length: float | None = None
    status: str = _DONE


_MET = {"satisfied": "support", "partially_satisfied": "partial_support", "not_satisfied": "not_support"}


def _from_graded_rubric(line: _GradedRubric, limits: Limits) -> JudgedLine:
    query, run = identifier(line.qid, "qid", limits), identifier(line.run_id, "run_id", limits)
    place = {"query_id": query, "run_id": run, "rubric": "rubric"}
    rows: list[Row] = []
    for number, criterion in enumerate(line.criteria):
        verdict = (criterion.verdict or "").strip().lower().replace(" ", "_")
        row = place | {"aspect": str(number), "weight": criterion.weight}
        row["importance"] = TIERS.get(criterion.tier or "")
        # RAGDoll writes `failed` where it could not read a verdict.
        given = "" if line.status != _DONE or verdict == "failed" else verdict
        rows.append(row | _checked_verdict(_MET, given, "verdict"))
    return JudgedLine(rows, recorded=[(run, query)])


class _Evidence(msgspec.Struct):
    """What a cited document says to a sentence."""

    cited_pmid: Id
    evidence_relation: str | None = None


class _JudgedSentence(msgspec.Struct):
    """A sentence of MedAESQA."""

    answer_sentence_relevance: str | None = None
    citation_assessment: list[_Evidence] | None = None


class _MachineAnswer(msgspec.Struct):
    """An answer of MedAESQA."""

    answer_sentences: list[_JudgedSentence]
    is_answer_accurate: str | None = None


class _MedicalQuestion(msgspec.Struct):
    """A question of MedAESQA with the answers of all systems."""

    question_id: Id
    machine_generated_answers: dict[str, _MachineAnswer]


_ACCURACY = {"yes": "accurate", "no": "inaccurate"}
_SENTENCES = {name: name for name in ("required", "borderline", "unnecessary", "inappropriate", "unlabelled")}
_EVIDENCE = {"supporting": "supports", "contradicting": "contradicts"}
_EVIDENCE |= {"neutral": "neutral", "not relevant": "none", "not_relevant": "none", "irrelevant": "none"}


def _from_medaesqa(line: _MedicalQuestion, limits: Limits) -> JudgedLine:
    query = identifier(line.question_id, "question_id", limits)
    rows: list[Row] = []
    cited: dict[tuple[str, str], _Cited] = {}
    for name, answer in line.machine_generated_answers.items():
        run = identifier(name, "machine_generated_answers", limits)
        place = {"query_id": query, "run_id": run}
        accurate = (answer.is_answer_accurate or "").lower()
        rows.append(
            place
            | {"rubric": "answer-accuracy"}
            | _checked_verdict(_ACCURACY, accurate, "is_answer_accurate")
        )
        documents = []
        for number, sentence in enumerate(answer.answer_sentences):
            sentence_place = place | {"aspect": str(number)}
            category = (sentence.answer_sentence_relevance or "unlabelled").lower()
            relevance = _checked_verdict(_SENTENCES, category, "answer_sentence_relevance")
            rows.append(sentence_place | {"rubric": "sentence-relevance"} | relevance)
            stances: dict[str, Row] = {}
            for citation in sentence.citation_assessment or ():
                doc = identifier(citation.cited_pmid, "cited_pmid", limits)
                row = _checked_verdict(
                    _EVIDENCE, (citation.evidence_relation or "").lower(), "evidence_relation"
                )
                if stances.setdefault(doc, row) != row:
                    raise Unfit(problem=f"sentence {number} cites {doc!r:.80} twice, with two relations")
            rows += [
                sentence_place | {"rubric": "citation-stance", "item_id": doc} | row
                for doc, row in stances.items()
            ]
            documents.append(tuple(stances))
        cited[run, query] = tuple(documents)
    return JudgedLine(rows, cited)


def _checked_verdict(labels: Mapping[str, str], answer: str, what: str) -> Row:
    """Return the label; nothing said is a judgement that is not there, anything else is an error."""
    if answer and answer not in labels:
        raise Unfit(expected=f"one of {', '.join(labels)} as `{what}`", found=f"{answer[:80]!r}")
    return _verdict_row(labels, answer)


class _Retrieved(msgspec.Struct):
    """A passage of RAGChecker's."""

    doc_id: Id | None = None


class _Checked(msgspec.Struct):
    """What RAGChecker says of an answer: lists of labels by claim, and of these by passage."""

    query_id: Id
    answer2response: list[str | None] | None = None
    response2answer: list[str | None] | None = None
    retrieved2response: list[list[str | None]] | None = None
    retrieved2answer: list[list[str | None]] | None = None
    retrieved_context: list[_Retrieved] = []
    run_id: Id = "run"


class _CheckedFile(msgspec.Struct):
    """RAGChecker's results, one object a file."""

    results: list[_Checked]


_ENTAILMENTS = {name: name for name in ("entailment", "neutral", "contradiction")}
_OF_CLAIMS = (
    "RAGChecker's results {results: [{query_id, answer2response, response2answer, retrieved2response, …}]}"
)


def _from_ragchecker(line: _Checked, limits: Limits) -> JudgedLine:
    query, run = identifier(line.query_id, "query_id", limits), identifier(line.run_id, "run_id", limits)
    place = {"query_id": query, "run_id": run, "rubric": "entailment"}
    rows: list[Row] = []
    # Claims of the response are held against the gold answer, those of gold against the response.
    for name, claim, item in (("answer2response", "response", "gold"), ("response2answer", "gold", "answer")):
        labels = getattr(line, name)
        if labels is None:
            raise Unfit(
                problem=f"Object missing required field `{name}`", expected="results that were checked"
            )
        for number, label in enumerate(labels):
            verdict = _checked_verdict(_ENTAILMENTS, (label or "").lower(), "label")
            rows.append(place | {"item_id": item, "aspect": f"{claim}:{number}"} | verdict)
    for name, claim in (("retrieved2response", "response"), ("retrieved2answer", "gold")):
        for number, by_passage in enumerate(getattr(line, name) or ()):
            for passage, label in zip(_passages(line, len(by_passage), limits), by_passage, strict=True):
                verdict = _checked_verdict(_ENTAILMENTS, (label or "").lower(), "label")
                rows.append(place | {"item_id": passage, "aspect": f"{claim}:{number}"} | verdict)
    return JudgedLine(rows, recorded=[(run, query)])


def _passages(line: _Checked, number: int, limits: Limits) -> list[str]:
    """Return the ids of the passages, their places where there are none."""
    given = [passage.doc_id for passage in line.retrieved_context]
    if given and len(given) != number:
        raise Unfit(expected=f"{len(given)} labels, one per passage", found=f"{number}")
    # Ids of which some are missing, or stand twice, tell passages apart no better than their places do.
    if not given or None in given or len(set(given)) < len(given):
        return [f"passage:{position}" for position in range(number)]
    names = [identifier(name, "doc_id", limits) for name in given if name is not None]
    if {"gold", "answer"} & set(names):
        raise Unfit(expected="passage ids other than 'gold' and 'answer', which name the answers")
    return names


_OF_SUPPORT: RecordForm[JudgedLine] = RecordForm(
    "labels of support",
    "{topic_id or narrative_id, run_id, sentences: [{citations: [{support, reference}]}]}",
    lambda record: "run_id" in record and isinstance(record.get("sentences"), list),
    _SupportedAnswer,
    _from_support,
)
_MEDAESQA: RecordForm[JudgedLine] = RecordForm(
    "MedAESQA",
    "{question_id, machine_generated_answers: {NAME: {is_answer_accurate, answer_sentences}}}",
    has("question_id", "machine_generated_answers"),
    _MedicalQuestion,
    _from_medaesqa,
)


class _Provenance(msgspec.Struct):
    """Of what a judgement is."""

    doc_id: Id | None = None


class _MatchedNugget(msgspec.Struct):
    """A question with the answers that a sentence gives."""

    question_text: str
    matched_answer: list[str] | str | None = None


class _AnyResponse(msgspec.Struct):
    """What was said: the fields of all kinds."""

    doc_id: Id | None = None
    is_relevant: bool | None = None
    is_attested: bool | None = None
    matched_nuggets: list[_MatchedNugget] | None = None


class _Judgement(msgspec.Struct):
    """A judgement of a sentence, or of a document that it cites."""

    judgment_type_id: str
    response: dict[str, Any] | None = None
    provenance: _Provenance | None = None


class _CitedDocument(msgspec.Struct):
    """A document that is cited."""

    doc_id: Id


class _Segment(msgspec.Struct):
    """A sentence of a report."""

    text: str = ""
    citations: list[_CitedDocument] = []
    judgments: list[_Judgement] = []


class _JudgedReport(msgspec.Struct):
    """A line of Auto-ARGUE's."""

    report: dict[str, Any]
    judgments: list[_Segment] | None = None
    sentence_judgments: list[_Segment] | None = None


_RELEVANCE, _ATTESTED = "CITED_DOCUMENT_RELEVANCE", "SENTENCE_ATTESTED"
_MATCHED = "SENTENCE_ANSWERS_QUESTION"
_ARGUE_TOPICS = ("topic_id", "request_id", "narrative_id")


def _from_argue(line: _JudgedReport, limits: Limits) -> JudgedLine:
    metadata = line.report.get("metadata")
    facts = metadata if isinstance(metadata, dict) else {}
    topics = {str(facts[key]) for key in _ARGUE_TOPICS if facts.get(key) is not None}
    if len(topics) != 1:
        raise Unfit(expected="one topic in `report.metadata`", found=", ".join(sorted(topics)) or "none")
    query = identifier(topics.pop(), "report.metadata.topic_id", limits)
    run = identifier(str(facts.get("run_id", "")), "report.metadata.run_id", limits)
    segments = line.sentence_judgments if line.judgments is None else line.judgments
    rows: list[Row] = []
    matched: list[Match] = []
    unknown: dict[str, int] = {}
    place = {"query_id": query, "run_id": run}
    for number, segment in enumerate(segments or ()):
        sentence_place = place | {"aspect": str(number)}
        attested: dict[str, bool | None] = {}
        # All that is attested first: a match says by which document, which may be judged behind it.
        for judgement in segment.judgments:
            _add_judgement(judgement, segment, sentence_place, rows, attested, unknown, limits)
        for judgement in segment.judgments:
            if judgement.judgment_type_id == _MATCHED:
                matched += _matches(judgement, attested)
    cited = tuple(
        tuple(
            dict.fromkeys(
                identifier(citation.doc_id, "citations.doc_id", limits) for citation in segment.citations
            )
        )
        for segment in segments or ()
    )
    texts = [segment.text for segment in segments or ()]
    here = run, query
    whole = {here: tuple(matched)}
    return JudgedLine(rows, {here: cited}, texts={here: texts}, matched=whole, unknown=unknown)


def _add_judgement(
    judgement: _Judgement,
    segment: _Segment,
    sentence_place: Row,
    rows: list[Row],
    attested: dict[str, bool | None],
    unknown: dict[str, int],
    limits: Limits,
) -> None:
    """Make a row of a judgement, or note that no measure knows its kind."""
    kind = judgement.judgment_type_id
    if kind == _MATCHED:
        return
    response = msgspec.convert(judgement.response or {}, _AnyResponse)
    if kind == _RELEVANCE:
        verdict = {True: "relevant", False: "not_relevant", None: ""}[response.is_relevant]
        row = {"rubric": "citation-relevance", "item_id": _document(judgement, response, segment, limits)}
        rows.append(sentence_place | row | _verdict_row(_OF_RELEVANCE, verdict))
    elif kind == _ATTESTED:
        doc = _document(judgement, response, segment, limits)
        attested[doc] = response.is_attested
        verdict = {True: "2", False: "0", None: ""}[response.is_attested]
        rows.append(
            sentence_place | {"rubric": "citation-support", "item_id": doc} | _verdict_row(_SUPPORT, verdict)
        )
    else:
        unknown[kind] = unknown.get(kind, 0) + 1
        # One yes or no among the fields is the verdict; of several nobody knows which.
        answers = [value for value in (judgement.response or {}).values() if isinstance(value, bool)]
        yes = ("yes" if answers[0] else "no") if len(answers) == 1 else ""
        row = {"rubric": "argue-other", "aspect": f"{kind} {sentence_place['aspect']}"}
        given = None if judgement.provenance is None else judgement.provenance.doc_id
        row["item_id"] = "answer" if given is None else identifier(given, "provenance.doc_id", limits)
        rows.append(sentence_place | row | _verdict_row(_YES, yes))


_OF_RELEVANCE = {name: name for name in ("relevant", "not_relevant")}
_YES = {name: name for name in ("yes", "no")}


def _document(judgement: _Judgement, response: _AnyResponse, segment: _Segment, limits: Limits) -> str:
    """Return the document that a judgement is of: the one it names, or the only one that is cited."""
    given = response.doc_id
    if given is None and judgement.provenance is not None:
        given = judgement.provenance.doc_id
    if given is None and len(segment.citations) == 1:
        given = segment.citations[0].doc_id
    if given is None:
        raise Unfit(
            problem=f"a judgement {judgement.judgment_type_id} that names no document (provenance.doc_id)"
        )
    return identifier(given, "provenance.doc_id", limits)


def _matches(judgement: _Judgement, attested: Mapping[str, bool | None]) -> Iterator[Match]:
    """Yield the questions that a sentence answers."""
    given = None if judgement.provenance is None else judgement.provenance.doc_id
    # With one document there is nothing to choose, and files often do not name it.
    is_attested = next(iter(attested.values())) if len(attested) == 1 else attested.get(str(given))
    if judgement.response is None:
        yield Match(None, (), is_attested)
        return
    for nugget in msgspec.convert(judgement.response, _AnyResponse).matched_nuggets or ():
        answers = nugget.matched_answer
        texts = (answers,) if isinstance(answers, str) else tuple(answers or ())
        yield Match(nugget.question_text, texts, is_attested)


_ARGUE: RecordForm[JudgedLine] = RecordForm(
    "judgements of Auto-ARGUE",
    "{report: {metadata}, judgments or sentence_judgments: [{text, citations, judgments: [{…}]}]}",
    lambda record: "report" in record and ("judgments" in record or "sentence_judgments" in record),
    _JudgedReport,
    _from_argue,
)
_BATTLES: RecordForm[JudgedLine] = RecordForm(
    "RAGDoll battles",
    "{qid, assistant_a_run_id, assistant_b_run_id, judge_verdict}",
    has("qid", "assistant_a_run_id", "assistant_b_run_id"),
    _Battle,
    _from_battle,
)
_GRADED_RUBRICS: RecordForm[JudgedLine] = RecordForm(
    "RAGDoll graded rubrics",
    "{qid, run_id, criteria: [{weight, verdict}]}",
    lambda record: {"qid", "run_id"} <= record.keys() and isinstance(record.get("criteria"), list),
    _GradedRubric,
    _from_graded_rubric,
)
_FORMS = (_OF_SUPPORT, _MEDAESQA, _ARGUE, _BATTLES, _GRADED_RUBRICS)

_LABEL = ("annotation", "auto_assessment", "assessment", "label")
_STANCES = {name: name for name in ("supports", "partial", "none", "contradicts")}
_SIMILAR = {
    name: name.replace("-", "_") for name in ("very-similar", "similar", "different", "very-different")
}
_COMPOUND = {"true": "compound", "false": "single", "compound": "compound", "not-compound": "single"}


class _Table(NamedTuple):
    """A kind of table of DRAGUN's: its rubric, the columns of item and aspect, and what labels mean."""

    rubric: str
    item: tuple[str, ...]
    aspect: tuple[str, ...]
    label: tuple[str, ...]
    labels: Mapping[str, str]


_TABLES = (
    _Table("stance", (), ("answer_id",), _LABEL, _STANCES),
    _Table("question-similarity", ("run_question_rank",), ("rubric_question_rank",), _LABEL, _SIMILAR),
    _Table(
        "compound-question",
        ("run_question_rank", "rank"),
        (),
        ("compound_question", "auto_compound_question_assessment"),
        _COMPOUND,
    ),
)
_PLACE = (("topic_id",), ("run_tag",))


def _column(names: Sequence[str], header: Sequence[str]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _table_of(header: Sequence[str]) -> _Table | None:
    """Return the kind of table that has these columns."""
    for table in _TABLES:
        needed = [*_PLACE, table.label, *(names for names in (table.item, table.aspect) if names)]
        if all(_column(names, header) is not None for names in needed):
            return table
    return None


_ANNOTATIONS = ("topic_id", "annotation_job", "annotation")  # columns of RAGTIME's, between tabs
_NAME = re.compile(r"(\.judgments)?\.tsv(\.\w+)?$")


def _is_annotations(line: bytes) -> bool:
    columns = line.decode("utf-8", "replace").strip().lower().split("\t")
    return set(_ANNOTATIONS) <= set(columns)


_OF_LONG = (
    (b'"machine_generated_answers"', b'"question_id"'),
    (b'"report"', b'"responses"', b'"metadata"'),
    (b'"sentences"', b'"support"', b'"run_id"'),
    (b'"assistant_a_run_id"', b'"assistant_b_run_id"'),
    (b'"criteria"', b'"verdict"', b'"run_id"'),
)


def is_judged(start: bytes) -> bool:
    """Return whether a file that begins so holds judgements in a form that is read here.

    >>> is_judged(b"topic_id,run_tag,answer_id,annotation"), is_judged(b'{"query_id": "q", "label": "yes"}')
    (True, False)
    """
    text = start.removeprefix(BOM).lstrip()
    if text.startswith(b"["):
        return b'"machine_generated_answers"' in text
    if _is_of_claims(text):
        return True
    line = text.partition(b"\n")[0]
    if not line.startswith(b"{"):
        return is_judged_table(line)
    try:
        record = msgspec.json.decode(plain_json(line), type=dict[str, Any])
    except (ValueError, RecursionError):  # the beginning of a long line
        return any(all(key in text for key in keys) for keys in _OF_LONG)
    return any(form.fits(record) for form in _FORMS)


def is_judged_table(line: bytes) -> bool:
    """Return whether a line is the header of such a table, with commas or tabs."""
    if b"\t" in line:
        return _is_annotations(line[:1000])
    text = line[:1000].decode("utf-8", "replace").rstrip("\r")
    try:
        header = [name.strip().lower() for name in next(csv.reader([text]), [])]
    except csv.Error:  # no header of a table
        return False
    return b"," in line and _table_of(header) is not None


def _is_of_claims(text: bytes) -> bool:
    """Return whether a text begins as RAGChecker's results do: one object, over many lines or in one."""
    keys = (b'"answer2response"', b'"retrieved2response"', b'"gt_answer"')
    return text.startswith(b"{") and b'"results"' in text[:200] and any(key in text for key in keys)


def read_judged(source: Source, start: bytes) -> Iterator[tuple[Sequence[int], JudgedLine]]:
    """Read (the line of each row, rows) of a file that begins with `start`; see `is_judged`."""
    text = start.removeprefix(BOM).lstrip()
    if _is_of_claims(text):
        seen: set[tuple[str, str]] = set()
        for result in _decode_file(source, _CheckedFile, _OF_CLAIMS).results:
            with _located_errors(source, f"query {result.query_id}"):
                judged = _from_ragchecker(result, limits_of(source))
                if judged.recorded[0] in seen:
                    raise Unfit(expected="each query once", found="it twice")
            seen.update(judged.recorded)
            yield [1] * len(judged.rows), judged
    elif text.startswith(b"{"):
        yield from _last_tries(read_forms(source, _FORMS, "judgements"))
    elif text.startswith(b"["):
        for question in _decode_file(source, list[_MedicalQuestion], _MEDAESQA.expected):
            with _located_errors(source):
                judged = _from_medaesqa(question, limits_of(source))
            yield [1] * len(judged.rows), judged
    elif _is_annotations(text.partition(b"\n")[0]):
        yield from _of_annotations(source)
    else:
        yield from _of_table(source)


def _last_tries(
    lines: Iterator[tuple[int, JudgedLine]],
) -> Iterator[tuple[Sequence[int], JudgedLine]]:
    """Yield lines with the line of each row, without failures that were followed by another try.

    RAGDoll appends to its file when it is started again, and then asks again what failed.
    """
    failures: dict[str, tuple[int, JudgedLine]] = {}
    for line, judged in lines:
        if judged.failed is not None:
            failures[judged.failed] = line, judged
            continue
        if failures and judged.rows:
            failures.pop(f"{judged.rows[0]['query_id']} {judged.rows[0].get('aspect')}", None)
        yield [line] * len(judged.rows), judged
    for line, judged in failures.values():
        yield [line] * len(judged.rows), judged


def _whole(source: Source) -> bytes:
    """Return a file that is not a file of lines, and so is read at once."""
    longest, name = limits_of(source).record, name_of(source)
    parts, size = [], 0
    for part in chunks(source, longest):
        parts.append(part)
        size += len(part)
        # Looked at while it arrives, so that what is far too long is never held.
        if size > longest:
            raise InputError(
                at=Place(name, 1),
                problem=f"more than {longest:,} bytes at once",
                remedy="raise the limit with --limit record=…",
            )
    return b"".join(parts).removeprefix(BOM)


_T = TypeVar("_T")


def _decode_file(source: Source, kind: type[_T], expected: str) -> _T:
    """Return what a file of one JSON value holds."""
    text = plain_json(_whole(source))
    if (key := repeated_in(text)) is not None:
        raise repeated_key(visible(key)[:80]).located(Place(name_of(source), 1))
    try:
        return msgspec.json.decode(text, type=kind)
    except (ValueError, RecursionError) as error:
        raise explained(error, text, expected).located(Place(name_of(source), 1)) from None


@contextmanager
def _located_errors(source: Source, inside: str = "") -> Iterator[None]:
    """Make of what a form complains of an `InputError`."""
    try:
        yield
    except msgspec.ValidationError as error:
        raise input_error_of(error).located(Place(name_of(source), 1, visible(inside))) from None


def _read_cells(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of a table, the first of them its header."""
    name, content = name_of(source), _whole(source)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        position = error.start + 1
        raise InputError(
            at=Place(name, 1), problem=f"byte {position} is not UTF-8", remedy="convert it (iconv -t UTF-8)"
        ) from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    begin, columns = 1, 0
    try:
        for cells in reader:
            # A cell may hold line ends: a row is named by the line in which it begins.
            line, begin = begin, reader.line_num + 1
            if not any(cells):
                continue
            columns = columns or len(cells)
            if len(cells) != columns:
                raise InputError(at=Place(name, line), expected=f"{columns} columns", found=f"{len(cells)}")
            yield line, cells
    except csv.Error as error:
        raise InputError(at=Place(name, begin), expected=f"a table ({visible(str(error))})") from None


def _of_table(source: Source) -> Iterator[tuple[Sequence[int], JudgedLine]]:
    name, read = name_of(source), None
    lines: list[int] = []
    rows: list[Row] = []
    for line, cells in _read_cells(source, ","):
        if read is None:
            header = [column.strip().lower() for column in cells]
            table = _table_of(header)
            if table is None:
                raise InputError(
                    at=Place(name, line), expected="a table of DRAGUN's", found=quoted(str(cells).encode())
                )
            read = _reader_of(table, header, limits_of(source))
            continue
        try:
            rows.append(read(cells))
        except msgspec.ValidationError as error:
            raise input_error_of(error).located(Place(name, line)) from None
        lines.append(line)
        # Tables may be long, so that rows leave in stretches.
        if len(rows) == _AT_ONCE:
            yield lines, JudgedLine(rows)
            lines, rows = [], []
    yield lines, JudgedLine(rows)


def _of_annotations(source: Source) -> Iterator[tuple[Sequence[int], JudgedLine]]:
    """Read what assessors of RAGTIME found in the reports of the run that the file is called after."""
    name = name_of(source)
    run = identifier(_NAME.sub("", PurePath(name).name), "the name of the file", limits_of(source))
    matched: dict[tuple[str, str], list[Match]] = {}
    header: list[str] = []
    first = 1
    for line, cells in _read_cells(source, "\t"):
        if not header:
            header = [column.strip().lower() for column in cells]
            continue
        first = min(first, line)
        try:
            row = dict(zip(header, cells, strict=True))
            query = identifier(row["topic_id"].strip(), "topic_id", limits_of(source))
            annotation = msgspec.json.decode(row["annotation"], type=_Annotation)
        except (ValueError, RecursionError) as error:
            raise InputError(
                at=Place(name, line), expected="`annotation` as JSON", found=str(error)
            ) from None
        of_topic = matched.setdefault((run, query), [])
        of_topic += [Match(question, (answer,)) for question, answer in annotation.nugget_mentioned]
    yield [], JudgedLine([], matched={place: tuple(matches) for place, matches in matched.items()})


class _Annotation(msgspec.Struct):
    """What an assessor noted: pairs of a question and one of its answers."""

    nugget_mentioned: list[tuple[str, str]] = []


def _reader_of(table: _Table, header: Sequence[str], limits: Limits) -> Callable[[Sequence[str]], Row]:
    """Return what makes a row of the cells of a line."""
    query, run, label = (_column(names, header) for names in (*_PLACE, table.label))
    item, aspect = _column(table.item, header), _column(table.aspect, header)

    def read_row(cells: Sequence[str]) -> Row:
        given = cells[label or 0].strip().lower()
        row = {
            "query_id": identifier(cells[query or 0].strip(), header[query or 0], limits),
            "run_id": identifier(cells[run or 0].strip(), header[run or 0], limits),
            "rubric": table.rubric,
        }
        if item is not None:
            row["item_id"] = identifier(cells[item].strip(), header[item], limits)
        if aspect is not None:
            row["aspect"] = identifier(cells[aspect].strip(), header[aspect], limits)
        return row | _checked_verdict(table.labels, given, header[label or 0])

    return read_row
