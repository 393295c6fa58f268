"""Answers of RAG systems, in every format: told by the first record, read one by one, written back.

The formats are those of the TREC RAG tracks (2024 with everything at the top level, 2025 and 2026 with
`metadata`), the report that RAGTIME, DRAGUN, BioGen, iKAT and the Auto-Judge kit share, that of the LiveRAG
challenge, and plain ones for people without a track. In files citations are positions in a list of
references, or ids out of it, or ids with a confidence; for everybody else they are ids, strongest first.
An answer of no characters is an answer. One that is null is none: the system failed to give it.

Reports can also be read and written with every key. Claims of answers have lines of their own.

>>> answer = Answer("q1", "mine", (Sentence("It rains.", ("d2",)),), ("d1", "d2"))
>>> print(*write_answers([answer], "plain"))
{"query_id":"q1","run_id":"mine","answer":[{"text":"It rains.","citations":["d2"]}],"references":["d1","d2"]}
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from rageval.core.remark import Remark
from rageval.errors import InputError, Place, UsageError
from rageval.files.jsonl import Id, RecordForm, Unfit, has, identifier, once, read_forms
from rageval.files.opening import DEFAULT, Limits, Source, name_of
from rageval.records import AMOUNTS, Answer, ClaimList, Sentence
from rageval.text import length, visible

__all__ = [
    "FORMS",
    "NO_ANSWER",
    "Answer",
    "ClaimList",
    "Report",
    "Sentence",
    "read_answers",
    "read_claims",
    "read_reports",
    "write_answers",
    "write_claims",
    "write_reports",
]

NO_ANSWER = "no answer"  # why an answer is missing, where nothing else is known
_ERROR = "error"
_Amount = Annotated[float, msgspec.Meta(ge=0)]


def _cited_documents(
    parts: Iterable[Sequence[Id | None]], references: tuple[str, ...]
) -> Iterator[tuple[str | None, ...]]:
    """Yield what each part cites: a number is a position from 0, a text an id; None if it leads nowhere.

    >>> list(_cited_documents([[1, "a"], [2, -1, "c"]], ("a", "b")))
    [('b', 'a'), (None, None, None)]
    """
    ids = frozenset(references)
    for citations in parts:
        yield tuple(_resolved(citation, references, ids) for citation in citations)


def _resolved(citation: Id | None, references: tuple[str, ...], ids: frozenset[str]) -> str | None:
    if isinstance(citation, int):
        # -1 is how tracks write a citation that leads nowhere; Python would take it for the last.
        return references[citation] if 0 <= citation < len(references) else None
    return citation if citation in ids else None


def _require_reference(cited: str, answer: Answer) -> str:
    """Return the cited document, which must be among the references."""
    # A position cannot be made up, and to leave the citation out would change the score.
    if cited not in answer.references:
        raise InputError(
            at=Place(f"answer of run {answer.run_id!r} to query {answer.query_id!r}"),
            problem=f"cites {cited!r}, which is not among its references",
            remedy="add it to them",
        )
    return cited


def _identifiers(values: Sequence[str] | Sequence[Id], what: str, limits: Limits) -> tuple[str, ...]:
    """Return ids as text."""
    return tuple(identifier(value, what, limits) for value in values)


class _TrecSentence(msgspec.Struct):
    """A sentence and what it cites, strongest first."""

    text: str
    citations: list[Id]


class _Document(msgspec.Struct):
    """A text the system saw, as the Auto-Judge kit keeps it beside a report."""

    text: str | None = None
    title: str | None = None


class _Rag24(msgspec.Struct):
    """A line of 2024."""

    run_id: Id
    topic_id: Id
    references: list[Id]
    answer: list[_TrecSentence] | None
    topic: str = ""


class _Metadata25(msgspec.Struct, omit_defaults=True):
    """What a line of 2025 says about itself; `run_desc` is what tells 2026 from it."""

    run_id: Id
    narrative_id: Id
    narrative: str = ""
    prompt: str = ""
    topic_id: Id | None = None
    request_id: Id | None = None
    run_desc: Any | UnsetType = UNSET


class _Metadata26(msgspec.Struct):
    """What a line of 2026 says about itself."""

    run_id: Id
    narrative_id: Id
    run_desc: str
    narrative: str = ""
    prompt: str = ""
    topic_id: Id | None = None
    request_id: Id | None = None


class _Rag25(msgspec.Struct):
    """A line of 2025, beside which the Auto-Judge kit keeps the texts."""

    metadata: _Metadata25
    references: list[Id]
    answer: list[_TrecSentence] | None
    documents: dict[str, _Document] | None = None


class _Rag26(msgspec.Struct):
    """A line of 2026."""

    metadata: _Metadata26
    references: list[Id]
    answer: list[_TrecSentence] | None
    documents: dict[str, _Document] | None = None


def _from_24(line: _Rag24, limits: Limits) -> Answer:
    references = _identifiers(line.references, "references", limits)
    return Answer(
        identifier(line.topic_id, "topic_id", limits),
        identifier(line.run_id, "run_id", limits),
        _trec_sentences(line.answer, references),
        references,
        question=line.topic,
        error=NO_ANSWER if line.answer is None else "",
    )


def _from_25(line: _Rag25, limits: Limits) -> Answer:
    # 2025 and 2026 differ by this key; a file that mixes them was put together of two.
    if line.metadata.run_desc is not UNSET:
        raise Unfit(problem="`run_desc` is a field of TREC RAG 2026")
    return _from_metadata(line, limits)


def _from_metadata(line: _Rag25 | _Rag26, limits: Limits) -> Answer:
    references = _identifiers(line.references, "references", limits)
    metadata = line.metadata
    named = {
        "narrative_id": metadata.narrative_id,
        "topic_id": metadata.topic_id,
        "request_id": metadata.request_id,
    }
    return Answer(
        identifier(topic_of(named), "metadata.narrative_id", limits),
        identifier(metadata.run_id, "metadata.run_id", limits),
        _trec_sentences(line.answer, references),
        references,
        _document_texts(line.documents or {}, limits),
        question=metadata.narrative,
        prompt=metadata.prompt,
        error=NO_ANSWER if line.answer is None else "",
    )


def _trec_sentences(parts: list[_TrecSentence] | None, references: tuple[str, ...]) -> tuple[Sentence, ...]:
    parts = parts or []
    cited = _cited_documents((part.citations for part in parts), references)
    return tuple(Sentence(part.text, docs) for part, docs in zip(parts, cited, strict=True))


def _record_24(answer: Answer, **extra: str) -> dict[str, Any]:
    """Return an answer as a line of 2024."""
    return {
        "run_id": answer.run_id,
        "topic_id": answer.query_id,
        "topic": answer.question,
        "references": answer.references,
        "response_length": length((sentence.text for sentence in answer.sentences), "nfkc"),
        "answer": _trec_parts(answer),
        **extra,
    }


def _record_25(answer: Answer, **extra: str) -> dict[str, Any]:
    """Return an answer as a line of 2025; `extra` (team_id, type) goes into its metadata."""
    metadata = {"team_id": "", "run_id": answer.run_id, "narrative_id": answer.query_id}
    metadata |= {"narrative": answer.question} if answer.question else {}
    return _metadata_record(metadata, answer, extra)


def _record_26(answer: Answer, **extra: str) -> dict[str, Any]:
    """Return an answer as a line of 2026; `extra` (team_id, run_desc) goes into its metadata."""
    metadata = {"team_id": "", "narrative_id": answer.query_id, "narrative": answer.question}
    return _metadata_record(metadata | {"run_id": answer.run_id, "run_desc": ""}, answer, extra)


def _metadata_record(metadata: dict[str, str], answer: Answer, extra: dict[str, str]) -> dict[str, Any]:
    metadata |= {"prompt": answer.prompt} if answer.prompt else {}
    return {"metadata": metadata | extra, "references": answer.references, "answer": _trec_parts(answer)}


def _trec_parts(answer: Answer) -> list[dict[str, Any]]:
    """Return sentences that cite by position in the answer's references; -1 leads nowhere.

    >>> _trec_parts(Answer("q", "r", (Sentence("It rains.", ("b", None)),), references=("a", "b")))
    [{'text': 'It rains.', 'citations': [1, -1]}]
    """
    return [
        {
            "text": sentence.text,
            "citations": [
                -1 if cited is None else answer.references.index(_require_reference(cited, answer))
                for cited in sentence.citations
            ],
        }
        for sentence in answer.sentences
    ]


_REST = "references, answer: [{text, citations}]}"
_RAG24 = RecordForm(
    "TREC RAG 2024 answers",
    f"{{run_id, topic_id, topic, {_REST}",
    has("topic_id", "answer"),
    _Rag24,
    _from_24,
    write=_record_24,
)
_RAG25 = RecordForm(
    "TREC RAG 2025 answers",
    f"{{metadata: {{team_id, run_id, narrative_id}}, {_REST}",
    lambda record: "metadata" in record and not is_report(record),
    _Rag25,
    _from_25,
    write=_record_25,
)
_RAG26 = RecordForm(
    "TREC RAG 2026 answers",
    f"{{metadata: {{team_id, run_id, run_desc, narrative_id, narrative}}, {_REST}",
    lambda record: isinstance(record.get("metadata"), dict) and "run_desc" in record["metadata"],
    _Rag26,
    _from_metadata,
    write=_record_26,
)


class _ReportSentence(msgspec.Struct, gc=False):
    """A sentence and what it cites: ids, ids with confidences, or positions; BioGen's task A names it so."""

    text: str
    citations: list[Id] | dict[str, float | None] | None = None
    supported_citations: list[Id] | None = None


class _ReportMetadata(msgspec.Struct):
    """What a report says about itself; its topic goes by several names."""

    run_id: Id = ""
    topic_id: Id | None = None
    narrative_id: Id | None = None
    request_id: Id | None = None
    qa_id: Id | None = None
    narrative: str | None = None
    prompt: str | None = None


class _Report(msgspec.Struct):
    """A line of reports."""

    metadata: _ReportMetadata
    responses: list[_ReportSentence] | UnsetType | None = UNSET
    answer: list[_ReportSentence] | UnsetType | None = UNSET
    references: list[Id] | dict[str, float] | None = None
    documents: dict[str, _Document] | None = None
    turn_id: Id | None = None  # in place of a topic: iKAT's reports are of turns


TOPIC_KEYS = ("topic_id", "narrative_id", "request_id", "qa_id")  # in `metadata`; they name one thing


def topic_of(named: Mapping[str, Id | None]) -> str:
    """Return the topic by whatever name the metadata call it; several names must agree.

    >>> topic_of({"narrative_id": 7, "topic_id": "7"})
    '7'
    """
    topics = {key: str(named[key]) for key in TOPIC_KEYS if named.get(key) is not None}
    if not topics:
        raise Unfit(expected=f"one of {', '.join(TOPIC_KEYS[:3])} in `metadata`", found="none")
    if len(set(topics.values())) > 1:
        shown = " and ".join(f"{key} {value[:60]!r}" for key, value in topics.items())
        raise Unfit(expected="one topic in `metadata`", found=shown)
    return next(iter(topics.values()))


def is_report(record: Mapping[str, Any]) -> bool:
    """Return whether a record is a report; answers of TREC RAG 2025 and 2026 have `metadata`, too."""
    metadata = record.get("metadata")
    if not isinstance(metadata, dict):
        return False
    named = {key for key in TOPIC_KEYS if key in metadata}
    of_rag = "references" in record and (not named or "narrative_id" in named)
    return "responses" in record or ("answer" in record and not of_rag)


class _Reports:
    """Makes answers of the reports of one file, which all cite in one way."""

    def __init__(self) -> None:
        self._cites: str | None = None

    def build(self, line: _Report, limits: Limits) -> Answer:
        """Return the answer that a report is."""
        given = [parts for parts in (line.responses, line.answer) if parts is not UNSET]
        present = [parts for parts in given if parts is not None]
        # Both or neither: nobody could tell which sentences were meant.
        if not given or len(present) > 1:
            raise Unfit(expected="the sentences in `responses` or in `answer`, not in both")
        metadata = line.metadata
        parts = present[0] if present else None
        references = _identifiers(_strongest_first(line.references or ()), "references", limits)
        sentences = tuple(Sentence(part.text, self._cited(part, references)) for part in parts or ())
        cited = dict.fromkeys(doc for part in sentences for doc in part.citations)
        listed = frozenset(references)
        more = _identifiers(
            [doc for doc in cited if doc is not None and doc not in listed], "citations", limits
        )
        named = {key: getattr(metadata, key) for key in TOPIC_KEYS}
        has_topic = any(value is not None for value in named.values())
        topic = topic_of(named) if has_topic or line.turn_id is None else line.turn_id
        return Answer(
            identifier(topic, "the topic of metadata", limits),
            identifier(metadata.run_id, "metadata.run_id", limits) if metadata.run_id != "" else "",
            sentences,
            # Reports may cite what they do not list; positions below then still hold.
            references + more,
            _document_texts(line.documents or {}, limits),
            metadata.narrative or "",
            metadata.prompt or "",
            error=NO_ANSWER if parts is None else "",
        )

    def _cited(self, part: _ReportSentence, references: tuple[str, ...]) -> tuple[str | None, ...]:
        """Return what a sentence cites, strongest first."""
        citations = part.supported_citations if part.citations is None else part.citations
        if not citations:
            return ()
        # A number may be an id or a position; only all of them together tell.
        kinds = set(map(type, citations))
        if not isinstance(citations, dict) and len(kinds) > 1:
            raise Unfit(problem="cites by position and by id", remedy="use one of them in a file")
        way = "id and confidence" if isinstance(citations, dict) else _BY_POSITION if int in kinds else "id"
        if self._cites not in (None, way):
            raise Unfit(
                problem=f"cites by {way}, the lines before by {self._cites}",
                remedy="use one of them in a file",
            )
        self._cites = way
        if isinstance(citations, dict):
            confidences = {doc: number for doc, number in citations.items() if number is not None}
            if len(confidences) < len(citations):
                doc = next(doc for doc in citations if doc not in confidences)
                raise Unfit(expected=f"a number as the confidence of {visible(doc)!r}", found="none")
            return tuple(sorted(confidences, key=confidences.__getitem__, reverse=True))  # ties as they stand
        if way == _BY_POSITION:
            # No id is known here, as this file cites by position.
            return tuple(_resolved(citation, references, frozenset()) for citation in citations)
        return tuple(map(str, citations))


_BY_POSITION = "position"


def _strongest_first(references: list[Id] | dict[str, float] | tuple[()]) -> Sequence[Id]:
    """Return references as a list; some reports give each a score."""
    if isinstance(references, dict):
        return [doc for doc, _ in sorted(references.items(), key=lambda scored: -scored[1])]
    return references


def _document_texts(documents: Mapping[str, _Document], limits: Limits) -> tuple[tuple[str, str], ...]:
    """Return the texts that a system saw, with their titles, by id."""
    return tuple(
        (
            identifier(doc, "documents", limits),
            f"{document.title}\n{document.text}" if document.title else document.text,
        )
        for doc, document in documents.items()
        if document.text is not None
    )


def _report_record(answer: Answer, **extra: str) -> dict[str, Any]:
    """Return an answer as a report, which cites by id; `extra` (team_id, task) goes into its metadata."""
    metadata = {"team_id": "", "run_id": answer.run_id, "topic_id": answer.query_id}
    metadata |= {"narrative": answer.question} if answer.question else {}
    metadata |= {"prompt": answer.prompt} if answer.prompt else {}
    # A citation that leads nowhere has no id, and so no place in a report.
    responses = [
        {"text": sentence.text, "citations": [doc for doc in sentence.citations if doc is not None]}
        for sentence in answer.sentences
    ]
    record: dict[str, Any] = {
        "metadata": metadata | extra,
        "responses": responses,
        "references": answer.references,
    }
    texts = {doc: {"id": doc, "text": text} for doc, text in answer.passages}
    return record | ({"documents": texts} if texts else {})


class _LivePassage(msgspec.Struct):
    """A text the system saw, and the documents it is from."""

    passage: str
    docs: list[Id] = msgspec.field(default=[], name="doc_IDs")


class _LiveRag(msgspec.Struct):
    """A line of the LiveRAG challenge. It does not name its run."""

    id: Id
    answer: str | None
    passages: list[_LivePassage]
    question: str = ""
    final_prompt: str = ""


class _PlainSentence(msgspec.Struct):
    """A sentence and what it cites."""

    text: str
    citations: list[Id | None] = []


class _PlainPassage(msgspec.Struct):
    """A text the system saw."""

    id: Id
    text: str


class _Plain(msgspec.Struct):
    """A line of plain answers."""

    query_id: Id
    answer: str | list[_PlainSentence] | UnsetType | None = UNSET
    run_id: Id = ""
    question: str = ""
    prompt: str = ""
    references: list[Id] | None = None
    passages: list[_PlainPassage] = []
    repeat: Id = ""
    conversation_id: Id | None = None
    place: Any = msgspec.field(default=None, name="turn")  # of the query in its conversation
    status: Any = None  # people add keys of their own: `error` alone means something here
    reason: Any = None
    input_tokens: _Amount | None = None
    output_tokens: _Amount | None = None
    cost: _Amount | None = None
    seconds: _Amount | None = None
    confidence: _Amount | None = None


def _from_liverag(line: _LiveRag, limits: Limits) -> Answer:
    # A passage of no document is known by its text alone.
    passages = tuple(
        (doc, passage.passage)
        for passage in line.passages
        for doc in _identifiers(passage.docs, "passages.doc_IDs", limits) or ("",)
    )
    return Answer(
        identifier(line.id, "id", limits),
        "",
        () if line.answer is None else (Sentence(line.answer),),
        tuple(dict.fromkeys(doc for doc, _ in passages if doc)),
        passages,
        line.question,
        line.final_prompt,
        error=NO_ANSWER if line.answer is None else "",
    )


def _from_plain(line: _Plain, limits: Limits) -> Answer:
    parts = [_PlainSentence(line.answer)] if isinstance(line.answer, str) else line.answer or []
    if line.status != _ERROR and line.answer is UNSET:
        raise Unfit(problem="Object missing required field `answer`")
    if line.confidence is not None and line.confidence > 1:
        raise Unfit(
            expected="a confidence from 0 to 1",
            found=f"{line.confidence:g}",
            remedy="divide percentages by 100",
        )
    error = ""
    if line.status == _ERROR or line.answer is None:
        if any(part.text for part in parts):
            raise Unfit(
                problem="found a text in an answer with the status `error`", remedy="remove one of them"
            )
        error = line.reason.strip() or NO_ANSWER if isinstance(line.reason, str) else NO_ANSWER
    passages = tuple(
        (identifier(passage.id, "passages.id", limits), passage.text) for passage in line.passages
    )
    # A number points into what is listed, and be it an empty list.
    listed = line.references is not None or bool(passages)
    references = (
        tuple(doc for doc, _ in passages)
        if line.references is None
        else _identifiers(line.references, "references", limits)
    )
    return Answer(
        identifier(line.query_id, "query_id", limits),
        identifier(line.run_id, "run_id", limits) if line.run_id != "" else "",
        ()
        if error
        else tuple(
            Sentence(part.text, docs)
            for part, docs in zip(parts, _cited(parts, references, listed), strict=True)
        ),
        references,
        passages,
        line.question,
        line.prompt,
        identifier(line.repeat, "repeat", limits) if line.repeat != "" else "",
        error,
        **{name: getattr(line, name) for name in AMOUNTS},
        conversation_id="" if line.conversation_id is None else str(line.conversation_id),
        turn="" if line.place is None else str(line.place),
    )


def _cited(
    parts: list[_PlainSentence], references: tuple[str, ...], listed: bool
) -> Iterator[tuple[str | None, ...]]:
    """Yield what the sentences cite; without a list to point into, numbers are ids like any other."""
    if listed:
        yield from _cited_documents((part.citations for part in parts), references)
        return
    for part in parts:
        yield tuple(None if cited is None else str(cited) for cited in part.citations)


def _liverag_record(answer: Answer, **extra: str) -> dict[str, Any]:
    """Return an answer as a line of LiveRAG, which knows no run and no citations."""
    number = answer.query_id
    # Ids are numbers there; one that begins with a zero would lose it.
    is_number = number.isascii() and number.isdigit() and (number == "0" or number[0] != "0")
    return {
        "id": int(number) if is_number else number,
        "question": answer.question,
        "passages": [{"passage": text, "doc_IDs": [doc] if doc else []} for doc, text in answer.passages],
        "final_prompt": answer.prompt,
        "answer": answer.text,
        **extra,
    }


def _plain_record(answer: Answer, **extra: str | float) -> dict[str, Any]:
    """Return an answer as a line of plain answers; citations are ids."""
    ids = tuple([doc for doc, _ in answer.passages])
    record: dict[str, Any] = {"query_id": answer.query_id, "run_id": answer.run_id}
    for name, value in (
        ("repeat", answer.repeat),
        ("conversation_id", answer.conversation_id),
        ("turn", answer.turn),
        ("question", answer.question),
        ("prompt", answer.prompt),
    ):
        if value:
            record[name] = value
    # The null tells it from a judgement, which has a status, too.
    if answer.error:
        record |= {"answer": None, "status": _ERROR, "reason": answer.error}
    else:
        record["answer"] = _plain_parts(answer)
    if answer.references != ids:
        record["references"] = answer.references
    if ids:
        record["passages"] = [{"id": doc, "text": text} for doc, text in answer.passages]
    record |= answer.amounts
    record |= extra
    return record


def _plain_parts(answer: Answer) -> str | list[dict[str, Any]]:
    # A text alone is read as one sentence that cites nothing.
    if len(answer.sentences) == 1 and not answer.sentences[0].citations:
        return answer.sentences[0].text
    listed = bool(answer.references or answer.passages)
    return [
        {
            "text": sentence.text,
            "citations": [
                _require_reference(cited, answer) if listed and cited is not None else cited
                for cited in sentence.citations
            ],
        }
        for sentence in answer.sentences
    ]


_LIVERAG = RecordForm(
    "LiveRAG answers",
    "{id, question, passages: [{passage, doc_IDs}], final_prompt, answer}",
    has("id", "answer"),
    _LiveRag,
    _from_liverag,
    write=_liverag_record,
)
_PLAIN = RecordForm(
    "plain answers",
    "{query_id, run_id, answer: text or [{text, citations}], passages: [{id, text}]}",
    lambda record: "query_id" in record and ("answer" in record or record.get("status") == _ERROR),
    _Plain,
    _from_plain,
    write=_plain_record,
)


_REPORT = RecordForm(
    "reports",
    "{metadata: {team_id, run_id, topic_id}, responses: [{text, citations}], references}",
    is_report,
    _Report,
    lambda line, limits: _Reports().build(line, limits),
    write=_report_record,
    is_own=True,
)


# By the name that `write_answers` knows, where it is written, too; a record is of the first form it fits.
FORMS: dict[str, RecordForm[Answer]] = {
    "plain": _PLAIN,  # first: people add keys of their own, which may be a track's
    "rag24": _RAG24,
    "report": _REPORT,
    "rag26": _RAG26,
    "rag25": _RAG25,
    "liverag": _LIVERAG,
}


def answer_forms() -> tuple[RecordForm[Answer], ...]:
    """Return the forms for reading a file, of which reports must all cite in one way."""
    one_file = replace(_REPORT, build=_Reports().build)
    return tuple(one_file if form is _REPORT else form for form in FORMS.values())


def read_answers(source: Source) -> Iterator[Answer]:
    """Read answers: of TREC RAG 2024, 2025 or 2026, reports, of LiveRAG, or plain ones; one format a file.

    Citations become document ids; one that leads nowhere is None. An answer that is null, or that has the
    status `error`, has an `error` that says why. An answer that names no run is of the run that is called
    after the file. A second answer of a run to a query is an error, unless it is another
    `repeat`. Of a dataset that stands for a file the first right answer to each question is read, as of a
    run that bears the id of the dataset.
    """
    name = name_of(source)
    if callable(content := getattr(source, "questions", None)):
        for asked in content():
            if asked.gold:
                yield Answer(asked.query_id, name, (Sentence(asked.gold[0]),), question=asked.text)
        return
    # What is called <stdin> or <stream> lies in no folder.
    run = name if name.startswith("<") else Path(name).name
    records = read_forms(source, answer_forms(), "answers")
    for _, answer in once(records, source, _answer_place):
        yield answer if answer.run_id else answer._replace(run_id=run)


def write_answers(answers: Iterable[Answer], form: str, **extra: str | float) -> Iterator[str]:
    """Write each answer as a line of `form`: rag24, rag25, rag26, report, liverag or plain.

    What a format has no place for is left out (passages in TREC RAG's, citations and the run in LiveRAG's,
    repeats in all but plain ones). An answer that failed can only be written as a plain one: left out, or
    empty, it would be scored as something else.
    `extra` fields go where the format keeps what is said about a run: `team_id`, `run_desc`, `type`.
    """
    record_of = FORMS[form].write if form in FORMS else None
    if record_of is None:
        names = [name for name, answer_form in FORMS.items() if answer_form.write is not None]
        raise UsageError(f"form {form!r}: expected one of {', '.join(names)}")
    for answer in answers:
        if answer.error and form != "plain":
            raise InputError(
                at=Place(_answer_place(answer)),
                problem=f"failed ({visible(answer.error)[:80]}), which {FORMS[form].name} have no field for",
                remedy="write plain answers, or remove it",
            )
        yield msgspec.json.encode(record_of(answer, **extra)).decode()


def _answer_place(answer: Answer) -> str:
    run = f" of run {answer.run_id}" if answer.run_id else ""
    repeat = f", repeat {answer.repeat}" if answer.repeat else ""
    return f"answer{run} to query {answer.query_id}{repeat}"


_Record = dict[str, Any]
_REPORT_FORMS = ("report", "rag26", "rag25")  # those with `metadata`, which can be turned into one another


@dataclass(frozen=True)
class Report:
    """A report, or an answer of TREC RAG 2025 or 2026: the whole record, and which of the forms it has."""

    record: Mapping[str, Any]
    form: str

    @property
    def answer(self) -> Answer:
        """The answer that it is; `InputError` if the record cannot be scored."""
        form = FORMS[self.form]
        try:
            return form.build(msgspec.convert(self.record, form.struct), DEFAULT)
        except (msgspec.ValidationError, RecursionError) as error:
            raise InputError(expected=form.expected, cause=str(error)) from None


def read_reports(source: Source) -> Iterator[Report]:
    """Read reports, and answers of TREC RAG 2025 and 2026, with all that stands in their lines.

    Nothing but the form is checked, so that a file can be read that its track would refuse.
    """
    forms = tuple(_unchanged_form(name) for name in _REPORT_FORMS)
    for _, report in read_forms(source, forms, "reports"):
        yield report


def _unchanged_form(name: str) -> RecordForm[Report]:
    form = FORMS[name]
    return RecordForm(form.name, form.shape, form.fits, _Record, lambda record, _: Report(record, name))


def write_reports(
    reports: Iterable[Report], form: str | None = None, remarks: list[Remark] | None = None
) -> Iterator[str]:
    """Write reports as JSON lines with every key that was read, or in another `form`: report, rag25, rag26.

    What the other form has no place for is left out, and said in `remarks`, or warned of, at the end.

    >>> import io
    >>> line = b'{"metadata":{"topic_id":"7","team":"us"},"responses":[{"text":"x","citations":{"d":0.5}}]}'
    >>> (report,) = read_reports(io.BytesIO(line))
    >>> next(iter(write_reports([report]))) == line.decode()
    True
    """
    if form is not None and form not in _REPORT_FORMS:
        raise UsageError(f"form {form!r}: expected one of {', '.join(_REPORT_FORMS)}")
    lost: dict[str, int] = {}
    for report in reports:
        record, losses = (
            (report.record, []) if form in (None, report.form) else _convert_report(report, str(form))
        )
        for what in losses:
            lost[what] = lost.get(what, 0) + 1
        yield msgspec.json.encode(record).decode()
    for what, number in lost.items():
        remark = Remark("lost_in_reports", facts={"number": number, "form": str(form), "lost": what})
        if remarks is None:
            warnings.warn(str(remark), stacklevel=2)
        else:
            remarks.append(remark)


def _convert_report(report: Report, form: str) -> tuple[_Record, list[str]]:
    """Return the record in another form, and what it loses by that."""
    answer = report.answer  # which tells that all is of the right shape
    record = dict(report.record)
    given = record.pop("metadata")
    metadata = {key: value for key, value in given.items() if key not in TOPIC_KEYS}
    metadata["topic_id" if form == "report" else "narrative_id"] = topic_of(given)
    losses = ["`run_desc`, by which 2026 is told"] if form == "rag25" and metadata.pop("run_desc", "") else []
    # What a form asks for and another may lack is there, and empty.
    metadata = ({"narrative": "", "run_desc": ""} if form == "rag26" else {}) | metadata
    parts = record.pop("responses", None)
    parts = record.pop("answer", None) if parts is None else parts
    if "report" in (form, report.form):  # else both cite in the same ways
        converted, lost = [], dict[str, None]()
        for part, sentence in zip(parts, answer.sentences, strict=True):
            ids = [doc for doc in sentence.citations if doc is not None]
            if len(ids) < len(sentence.citations):
                lost["citations without a reference"] = None
            elif ids and isinstance(part.get("citations"), dict):
                lost["the confidences of citations"] = None
            converted.append({**part, "citations": ids})
        parts, losses = converted, [*losses, *lost]
    whole = {"metadata": metadata, "responses" if form == "report" else "answer": parts}
    return whole | record | {"references": answer.references}, losses


class _ClaimLine(msgspec.Struct):
    """The claims of one answer, in their order; those of the gold answer are of the run `gold`."""

    query_id: Id
    claims: list[str]
    run_id: Id = "run"


_CLAIMS: RecordForm[ClaimList] = RecordForm(
    "claims",
    "{query_id, run_id, claims: [text]}",
    has("query_id", "claims"),
    _ClaimLine,
    lambda line, limits: ClaimList(
        identifier(line.query_id, "query_id", limits),
        identifier(line.run_id, "run_id", limits),
        tuple(line.claims),
    ),
)


def read_claims(source: Source) -> Iterator[ClaimList]:
    """Read the claims of answers and of gold answers, one list each."""
    records = read_forms(source, (_CLAIMS,), "claims")
    for _, claimed in once(
        records, source, lambda claimed: f"list for run {claimed.run_id}, query {claimed.query_id}"
    ):
        yield claimed


def write_claims(claims: Iterable[ClaimList]) -> Iterator[str]:
    r"""Write lines of claims.

    >>> print(*write_claims([ClaimList("q", "ours", ("It rains.",)), ClaimList("q", "gold", ())]), sep="\n")
    {"query_id":"q","run_id":"ours","claims":["It rains."]}
    {"query_id":"q","run_id":"gold","claims":[]}
    """
    for claim_list in claims:
        record = {"query_id": claim_list.query_id, "run_id": claim_list.run_id, "claims": claim_list.texts}
        yield msgspec.json.encode(record).decode()
