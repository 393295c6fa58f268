"""Tables of answers, and plain answers, as they are handed in: of one system, to topics that there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rageval.checking.findings import Finding, Tally, Validation, error, excerpt, warning
from rageval.checking.tracks import OF_TABLES, Track
from rageval.files.answers import read_answers
from rageval.files.kinds import is_answer_table, kind_of, wrong_kind
from rageval.files.opening import Source
from rageval.files.questions import read_questions
from rageval.files.start import ANSWERS
from rageval.judges.material import gathered
from rageval.logs.rows import folded
from rageval.logs.tables import read_table
from rageval.records import Answer, Question

_LISTED = 5  # questions in a finding


def topics_in(source: Source, track: str | Track) -> dict[str, Question]:
    """Read what was asked, by id; of tables of answers it may be a table, too, with the right ones."""
    if track != OF_TABLES:
        return {question.query_id: question for question in read_questions(source)}
    return dict(gathered([], source, every_question=False).questions)


class AnswersRead(NamedTuple):
    """The answers of a file, by ids of topics; the questions that no topic is; how many rows it has."""

    answers: list[Answer]
    strange: list[Question]
    rows: int


def answers_in(source: Source, topics: Mapping[str, Question] | None = None) -> AnswersRead:
    """Read a table of answers, or answers.

    An answer is to the topic of its id, unless the two are other questions; else to that of its question.
    """
    kind = kind_of(source)
    # Of a table whose columns are called otherwise its reader says what they may be called.
    if is_answer_table(source) or (kind is not None and kind.name == "table"):
        log, _ = read_table(source)
        answers, asked = log.answers, {question.query_id: question.text for question in log.questions}
    else:
        if kind is not None and kind.holds != ANSWERS:
            raise wrong_kind(source, kind, "answers, or a table of them")
        answers = list(read_answers(source))
        asked = {answer.query_id: answer.question for answer in answers}
    if topics is None:
        return AnswersRead(answers, [], len(answers))
    by_text = {_text_key(topic.text): name for name, topic in topics.items() if topic.text}
    topic_of_query, unmatched = {}, []
    for query, text in asked.items():
        topic = topics.get(query)
        if topic is not None and (not text or not topic.text or _text_key(text) == _text_key(topic.text)):
            topic_of_query[query] = query
        elif text and _text_key(text) in by_text:
            topic_of_query[query] = by_text[_text_key(text)]
        else:
            unmatched.append(Question(query, text))
    matched = [
        answer._replace(query_id=topic_of_query[answer.query_id])
        for answer in answers
        if answer.query_id in topic_of_query
    ]
    return AnswersRead(matched, unmatched, len(answers))


def _text_key(question: str) -> str:
    return folded(question).casefold()


def validate_tables(source: Source, topics: Mapping[str, Question] | None = None) -> Validation:
    """Return the findings of a table of answers, or of answers, of one system."""
    tally = Tally("answer")
    return Validation(_findings_of_table(source, topics, tally), tally)


def _findings_of_table(
    source: Source, topics: Mapping[str, Question] | None, tally: Tally
) -> Iterator[Finding]:
    read = answers_in(source, topics)
    tally.count = read.rows
    # A table does not say in which of its lines an answer stands: all is said of its first.
    systems = list(dict.fromkeys(answer.run_id for answer in read.answers))
    if len(systems) > 1:
        yield error("several_systems", 1, number=len(systems), examples=_examples(systems))
    if read.strange:
        unknown = [question.text or question.query_id for question in read.strange]
        yield error("answers_to_unknown_questions", 1, number=len(unknown), examples=_examples(unknown))
    elif not read.answers:
        yield error("no_answers", 1)
    first: set[tuple[str, str]] = set()
    repeated: dict[str, None] = {}
    for answer in read.answers:
        if (answer.run_id, answer.query_id) in first:
            repeated[answer.query_id] = None
        first.add((answer.run_id, answer.query_id))
    if repeated:
        yield error("repeated_answers", 1, number=len(repeated), examples=_examples(list(repeated)))
    answered = {query for _, query in first}
    lacking = [query for query in topics or () if query not in answered]
    if lacking and read.answers:
        number, total = len(lacking), len(topics or ())
        yield warning("unanswered_questions", 1, number=number, total=total, examples=_examples(lacking))


def _examples(names: list[str]) -> tuple[str, ...]:
    return tuple(map(excerpt, names[:_LISTED]))
