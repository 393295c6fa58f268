"""Questions: what is asked, the answers that are right, and the facts by which scores can be sliced.

Read as TREC hands topics out (`id<TAB>text`), as CRAG, LiveRAG and FreshStack publish them, or plain.
What is known of queries besides their text may also stand in judgements, or in tables of two columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rageval import hooks
from rageval.errors import InputError, Place
from rageval.files.jsonl import (
    Id,
    RecordForm,
    Unfit,
    as_line,
    first_record,
    has,
    identifier,
    once,
    read_forms,
    read_records,
    unlisted,
)
from rageval.files.kinds import is_gold_table
from rageval.files.opening import (
    Limits,
    Source,
    _bad_bytes,
    first_bytes,
    is_columnar,
    name_of,
)
from rageval.files.retrieved import QUESTIONS as CANDIDATES
from rageval.files.synonyms import field_of
from rageval.files.trec import read_columns
from rageval.records import Question
from rageval.text import problem_of_id, visible

__all__ = [
    "Question",
    "fields_of",
    "read_facts",
    "read_groups",
    "read_questions",
    "read_weights",
    "write_questions",
]


def _from_topic(line: bytes, limits: Limits) -> Question:
    content = line.removesuffix(b"\r")
    problem = _bad_bytes(content, limits)
    if problem:
        raise Unfit(problem.found, expected=problem.expected, remedy=problem.remedy)
    columns = [column.strip() for column in content.decode().split("\t")]
    if len(columns) != 2:
        raise Unfit(expected="2 columns separated by a tab", found=f"{len(columns)}")
    if not all(columns):
        raise Unfit(expected="2 columns", found="nothing in one")
    return Question(identifier(columns[0], "id", limits), columns[1])


def _topic_line(line: bytes) -> bytes:
    if not line.strip():
        raise Unfit(problem="nothing")  # blank lines are skipped
    return line


_TOPICS: RecordForm[Question] = RecordForm(
    "topics", "id<TAB>text", lambda _: False, bytes, _from_topic, _topic_line
)


_Word = str | int | float


class _CragQuestion(msgspec.Struct):
    """A line of CRAG. `search_results`, nearly all of its bytes, is not declared and so never built."""

    interaction_id: Id
    query: str
    answer: _Word
    alt_ans: list[_Word] = []
    alternative_answers: str | list[_Word] | None = None
    domain: _Word | None = None
    question_type: _Word | None = None
    static_or_dynamic: _Word | None = None
    popularity: _Word | None = None
    split: _Word | None = None
    query_time: _Word | None = None


class _SupportingDocument(msgspec.Struct):
    """A document that holds the answer."""

    doc_id: str = ""
    content: str = ""


class _LiveRagQuestion(msgspec.Struct):
    """A record of the benchmark that LiveRAG released, as JSON."""

    index: Id = msgspec.field(name="Index")
    question: str = msgspec.field(name="Question")
    answer: str = msgspec.field(name="Answer")
    documents: list[_SupportingDocument] | None = msgspec.field(default=None, name="Supporting_Documents")
    session: str | None = msgspec.field(default=None, name="Session")
    config: Any = msgspec.field(default=None, name="DataMorgana_Config")
    # How well the systems answered on average; how hard that makes a question (the higher, the harder) and
    # how well it tells systems apart, by item response theory. The Parquet file has bounds in the names.
    correct: float | None = msgspec.field(default=None, name="ACS")
    correct_bounded: float | None = msgspec.field(default=None, name="ACS [-2 : 1]")
    hard: float | None = msgspec.field(default=None, name="IRT-diff")
    hard_bounded: float | None = msgspec.field(default=None, name="IRT-diff [-6 : 6]")
    telling: float | None = msgspec.field(default=None, name="IRT-disc")


class _FreshStackQuestion(msgspec.Struct):
    """A FreshStack question; what is asked is title and text."""

    query_id: Id
    query_title: str
    query_text: str
    answer_text: str = ""


def words(value: _Word | list[_Word] | None) -> tuple[str, ...]:
    """Return one answer, several or none, as texts."""
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def _from_crag(line: _CragQuestion, limits: Limits) -> Question:
    facts = ("domain", "question_type", "static_or_dynamic", "popularity", "split", "query_time")
    name, others = identifier(line.interaction_id, "interaction_id", limits), line.alternative_answers
    if isinstance(others, str):
        # The example that CRAG ships has them as JSON inside a text.
        try:
            others = msgspec.json.decode(others or "[]", type=list[_Word])
        except ValueError:
            raise Unfit(expected="a list in JSON - at `$.alternative_answers`") from None
    return Question(
        name,
        line.query,
        # The main answer first, each once: alternatives often repeat it.
        tuple(dict.fromkeys((str(line.answer), *words(line.alt_ans), *words(others)))),
        tuple((name, str(value)) for name in facts if (value := getattr(line, name)) is not None),
    )


def _from_liverag(line: _LiveRagQuestion, limits: Limits) -> Question:
    facts = dict(_categories(line.config))
    facts |= {"session": line.session} if line.session is not None else {}
    facts |= {"documents": str(len(line.documents))} if line.documents is not None else {}
    numbers = {
        "mean_correctness": line.correct if line.correct is not None else line.correct_bounded,
        "difficulty": line.hard if line.hard is not None else line.hard_bounded,
        "discrimination": line.telling,
    }
    facts |= {name: str(number) for name, number in numbers.items() if number is not None}
    return Question(
        identifier(line.index, "Index", limits),
        line.question,
        (line.answer,),
        tuple(facts.items()),
        tuple((document.doc_id, document.content) for document in line.documents or () if document.content),
    )


def _categories(config: Any) -> Iterator[tuple[str, str]]:
    """Yield the categories a question was made for: `{name: category}`, nested or as a list of pairs."""
    if isinstance(config, str):
        try:
            config = msgspec.json.decode(config)
        except ValueError:
            raise Unfit(expected="an object in JSON - at `$.DataMorgana_Config`") from None
    # Releases have it as an object, as a list of pairs, or as either of these in a text.
    for part in config if isinstance(config, list) else [config]:
        if not isinstance(part, dict):
            continue
        if isinstance(part.get("categorization_name"), str) and isinstance(part.get("category_name"), str):
            yield part["categorization_name"], part["category_name"]
            continue
        for name, value in part.items():
            if isinstance(value, str):
                yield name, value
            elif isinstance(value, dict | list):
                yield from _categories(value)


def _from_freshstack(line: _FreshStackQuestion, limits: Limits) -> Question:
    gold = (line.answer_text,) if line.answer_text else ()
    # As FreshStack's own evaluator joins them for retrieval.
    text = f"{line.query_title} {line.query_text}"
    return Question(identifier(line.query_id, "query_id", limits), text, gold)


_CRAG = RecordForm(
    "CRAG questions",
    "{interaction_id, query, answer, alt_ans, …}",
    # Results of CRAG-MM have these two, as well.
    lambda record: {"interaction_id", "query"} <= record.keys() and "is_miss" not in record,
    _CragQuestion,
    _from_crag,
)
_LIVERAG = RecordForm(
    "LiveRAG benchmark questions",
    "{Index, Question, Answer, …}",
    has("Question", "Answer"),
    _LiveRagQuestion,
    _from_liverag,
)
_FRESHSTACK = RecordForm(
    "FreshStack questions",
    "{query_id, query_title, query_text, …}",
    has("query_id", "query_title"),
    _FreshStackQuestion,
    _from_freshstack,
)


_Fields = dict[str, msgspec.Raw]  # a field that is not asked for is never built
_LONGEST_FACT = 1024
_Gold = _Word | list[_Word] | None


def _keyed(name: str, query: str, question: str) -> RecordForm[Question]:
    """Return the form of plain questions, by the names that a track gives to the two main fields."""

    def build_question(fields: _Fields, limits: Limits) -> Question:
        asked = identifier(_field_value(fields, query, str | int), query, limits)
        text = _field_value(fields, question, str)
        # As in tables: what people call the right answer, where nothing is called an answer.
        called = next(
            (key for key in ("answer", *(key for key in fields if field_of(key) == "gold")) if key in fields),
            "answer",
        )
        gold = words(_field_value(fields, called, _Gold, None))
        facts = tuple(_facts(fields, {query, question, called, _SUB_NARRATIVES}))
        return Question(asked, text, gold, facts, sub_narratives=_sub_narratives(fields))

    return RecordForm(name, f"{{{query}, {question}, …}}", has(query, question), _Fields, build_question)


_SUB_NARRATIVES = "sub_narratives"


class _SubNarrative(msgspec.Struct):
    """A smaller need in a narrative, as NIST's file has it: with what else is known of it."""

    text: str


def _sub_narratives(fields: _Fields) -> tuple[str, ...]:
    """Return the smaller needs in a need for information: texts, or objects with a `text`."""
    given = _field_value(fields, _SUB_NARRATIVES, list[str | _SubNarrative] | None, None) or ()
    texts = (part if isinstance(part, str) else part.text for part in given)
    return tuple(text for text in texts if text.strip())


_TOPIC_IDS = ("request_id", "topic_id", "id")
_NARRATIVE_IDS = ("narrative_id", "id")
_REQUEST = ("background", "problem_statement")
_NO_FACTS = {*_TOPIC_IDS, "title", "answer", *_REQUEST, "original_background", _SUB_NARRATIVES}


def _topic_id(fields: _Fields, names: tuple[str, ...], limits: Limits) -> str:
    """Return the id of a topic, which stands under one of these names, or under several."""
    keys = (key for key in names if key in fields and bytes(fields[key]) != b"null")
    given = {key: _field_value(fields, key, str | int) for key in keys}
    named = {key: identifier(value, key, limits) for key, value in given.items()}
    if not named:
        raise Unfit(expected=f"the id of a topic, one of {', '.join(names)}", found="none")
    # Tracks renamed the id from year to year, and some files have both names.
    if len(set(named.values())) > 1:
        shown = " and ".join(f"{key} {name[:60]!r}" for key, name in named.items())
        raise Unfit(expected="one id of the topic", found=shown)
    return next(iter(named.values()))


def _from_request(fields: _Fields, limits: Limits) -> Question:
    """Return the question that a topic's title asks, with the request behind it."""
    name = _topic_id(fields, _TOPIC_IDS, limits)
    request = [text for key in _REQUEST if (text := _field_value(fields, key, str | None, None))]
    title, gold = _field_value(fields, "title", str), words(_field_value(fields, "answer", _Gold, None))
    facts = tuple(_facts(fields, _NO_FACTS))
    return Question(
        name, title, gold, facts, request="\n".join(request), sub_narratives=_sub_narratives(fields)
    )


def _from_narrative(fields: _Fields, limits: Limits) -> Question:
    """Return the question that a person tells as a narrative, with the smaller needs in it."""
    name = _topic_id(fields, _NARRATIVE_IDS, limits)
    facts = tuple(_facts(fields, {*_NARRATIVE_IDS, "narrative", _SUB_NARRATIVES}))
    return Question(
        name, _field_value(fields, "narrative", str), facts=facts, sub_narratives=_sub_narratives(fields)
    )


_TOPICS_IN_JSON: RecordForm[Question] = RecordForm(
    "TREC topics",
    "{request_id, topic_id or id, title, background, problem_statement, …}",
    lambda record: "title" in record and any(key in record for key in _TOPIC_IDS),
    _Fields,
    _from_request,
)


# Some files of narratives have a question or a title beside them; what is asked is the narrative, as whoever
# has its parts sees it.
_NARRATIVES: RecordForm[Question] = RecordForm(
    "TREC narratives",
    "{id or narrative_id, narrative, sub_narratives: [text or {text}], …}",
    lambda record: (
        "narrative" in record
        and any(key in record for key in _NARRATIVE_IDS)
        and (_SUB_NARRATIVES in record or record.keys().isdisjoint(("question", "title")))
    ),
    _Fields,
    _from_narrative,
)

# A record is of the first form it fits.
QUESTION_FORMS: tuple[RecordForm[Question], ...] = (
    _keyed("plain questions", "query_id", "question"),
    _CRAG,
    _LIVERAG,
    _FRESHSTACK,
    _NARRATIVES,
    _keyed("LiveRAG questions", "id", "question"),
    _TOPICS_IN_JSON,
    CANDIDATES,
    _TOPICS,
)


def read_questions(source: Source) -> Iterator[Question]:
    """Read questions: plain, of LiveRAG, CRAG, FreshStack or TREC's tracks (JSON, or lines of `id<TAB>text`).

    Records stand one a line, or in a list.

    What else a plain record says in a word (a text of up to 1,024 characters, a number, true or false)
    becomes a fact. A dataset that holds questions may stand for a file.
    """
    if callable(content := getattr(source, "questions", None)):
        yield from content()
        return
    records = read_forms(unlisted(source, "questions"), QUESTION_FORMS, "questions")
    for _, question in once(records, source, lambda question: f"question {question.query_id}"):
        yield question


_OWN = ("query_id", "question", "answer", "id", "title", "interaction_id", "query", _SUB_NARRATIVES)


def write_questions(questions: Iterable[Question]) -> Iterator[str]:
    """Yield a line for each question, with its right answers and facts.

    >>> list(write_questions([Question("q", "Where?", ("Oslo",))]))
    ['{"answer":["Oslo"],"query_id":"q","question":"Where?"}']
    """
    return map(as_line, map(question_record, questions))


def question_record(question: Question) -> dict[str, Any]:
    """Return the record of a question in a file of questions."""
    facts = {name: value for name, value in question.facts if value and name not in _OWN}
    more = {"answer": list(question.gold)} if question.gold else {}
    more |= {_SUB_NARRATIVES: list(question.sub_narratives)} if question.sub_narratives else {}
    return facts | {"query_id": question.query_id, "question": question.text} | more


def _field_value(fields: _Fields, key: str, kind: Any, *default: Any) -> Any:
    """Return the field, which must be of this kind."""
    if key not in fields or (default and bytes(fields[key]) == b"null"):
        if default:
            return default[0]
        raise msgspec.ValidationError(f"Object missing required field `{key}`")
    try:
        return msgspec.json.decode(fields[key], type=kind)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        raise msgspec.ValidationError(f"{what} - at `$.{key}{place or '`'}") from None


def _facts(fields: _Fields, names: set[str]) -> Iterator[tuple[str, str]]:
    for key, raw in fields.items():
        # Raw: what is not asked for is never built, and large objects are skipped by their first sign.
        written = bytes(raw)
        if key in names or written.startswith((b"{", b"[")) or written == b"null":
            continue
        # Numbers stay as they are written: 2.0 and 2 may be two categories.
        text = msgspec.json.decode(raw) if written.startswith(b'"') else written.decode()
        if len(text) <= _LONGEST_FACT:
            yield key, text


_IDS = ("query_id", "qid", "interaction_id", "topic_id", "narrative_id", "request_id", "id")


def _questions_of(source: Source) -> Iterable[Question] | None:
    """Return the questions of a dataset, or of a file that is not JSON lines with ids of queries."""
    if callable(content := getattr(source, "questions", None)):
        questions: Iterable[Question] = content()
        return questions
    if is_columnar(source):
        return None
    start = first_bytes(source).lstrip()
    record = first_record(start)
    if not start or (record and not record.keys().isdisjoint(_IDS)):
        return None
    is_asked = any(form.fits(record) for form in QUESTION_FORMS) if record else not start.startswith(b"{")
    # What is no question at all is refused as a record without an id.
    return hooks.questions_in(source, []).values() if is_asked or is_gold_table(source) else None


def read_facts(source: Source, fields: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Read {query: {field: value}} of JSON lines of any kind, of questions in any form, or of a dataset."""
    questions = _questions_of(source)
    if questions is not None:
        return {
            question.query_id: {name: value for name, value in question.facts if name in fields}
            for question in questions
        }
    names = [name for name in fields if name not in _IDS]
    facts: dict[str, dict[str, str]] = {}
    for line, record in read_records(source, dict[str, msgspec.Raw], "a record {query_id, …}"):
        try:
            values = {name: msgspec.json.decode(record[name]) for name in (*_IDS, *names) if name in record}
        except (msgspec.DecodeError, RecursionError) as error:  # a number too large, say
            raise InputError(
                at=Place(name_of(source), line), expected="text or a number as a field", cause=str(error)
            ) from None
        # In this order: a record may hold several ids, of which the first is that of the query.
        query = next((values[name] for name in _IDS if values.get(name) is not None), None)
        if query is None:
            raise InputError(
                at=Place(name_of(source), line), expected=f"one of the keys {', '.join(_IDS)}", found="none"
            )
        if (problem := problem_of_id(str(query))) is not None:
            raise problem.located(Place(name_of(source), line))
        facts_of_query = facts.setdefault(str(query), {})
        for field in names:
            value = values.get(field)
            # A query may stand in many lines, such as judgements; all must say the same.
            if value is not None and facts_of_query.setdefault(field, str(value)) != str(value):
                raise InputError(
                    at=Place(name_of(source), line),
                    problem=f"{field} of query {visible(str(query))} is {visible(str(value))!r}, and"
                    f" {visible(facts_of_query[field])!r} before",
                    expected="one value",
                )
    return facts


_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def read_answerable(source: Source) -> dict[str, bool]:
    """Read {query: whether it can be answered}, the field `answerable`, of the questions that say it."""
    answerable = {}
    for query, facts in read_facts(source, ("answerable",)).items():
        word = facts.get("answerable")
        if word is not None and word.lower() not in _TRUTH:
            raise InputError(
                at=Place(name_of(source)),
                problem=f"answerable of query {visible(query)} is {visible(word)!r:.80}",
                expected="true or false",
            )
        if word is not None:
            answerable[query] = _TRUTH[word.lower()]
    return answerable


def fields_of(source: Source) -> list[str]:
    """Return the fields of the first record, for saying which there are."""
    questions = _questions_of(source)
    if questions is not None:
        first = next(iter(questions), None)
        return [name for name, _ in first.facts] if first is not None else []
    for _, record in read_records(source, dict[str, msgspec.Raw], "a JSON object"):
        return [name for name in record if name not in _IDS]
    return []


def read_groups(source: Source) -> dict[str, str]:
    """Read {query: group} of lines `query_id group`."""
    groups: dict[str, str] = {}
    for line, (query, group) in read_columns(source, "query_id group"):
        if groups.setdefault(query, group) != group:
            raise InputError(
                at=Place(name_of(source), line),
                problem=f"query {visible(query)} already has a group: {visible(groups[query])}",
            )
    return groups


def read_weights(source: Source, columns: str = "group weight") -> dict[str, float]:
    """Read {group: weight} of lines `group weight`, or other names with numbers from 0 to 1."""
    weights: dict[str, float] = {}
    noun = columns.split()[-1]
    for line, (group, text) in read_columns(source, columns):
        try:
            weight = float(text)
        except ValueError:
            # NaN is refused by the next line, with the same words as a number out of range.
            weight = float("nan")
        if not 0 <= weight <= 1:
            raise InputError(
                at=Place(name_of(source), line), expected=f"a {noun} from 0 to 1", found=f"{visible(text)!r}"
            )
        if group in weights:
            raise InputError(
                at=Place(name_of(source), line), problem=f"{visible(group)} already has a {noun}"
            )
        weights[group] = weight
    return weights
