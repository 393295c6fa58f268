"""The texts that documents are looked for with: the question and its variants (FreshStack, section 3.4).

Those of the inference setting know the question only, those of the oracle setting its answer. They go into
the pool for judging; systems are then scored on the question alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rageval.errors import InputError
from rageval.files.opening import Source
from rageval.files.questions import read_questions
from rageval.records import Nugget, Question

QUESTION, SUB_QUESTIONS, CLOSED_BOOK = "question", "sub-questions", "closed-book"
ANSWER, NUGGETS = "answer", "nuggets"
INFERENCE, ORACLE = (QUESTION, SUB_QUESTIONS, CLOSED_BOOK), (ANSWER, NUGGETS)
SETTINGS = (*INFERENCE, *ORACLE)
WRITTEN = (SUB_QUESTIONS, CLOSED_BOOK)  # by a model, by the rubrics of these names
Topics = dict[str, dict[str, str]]  # setting -> query -> text


def topics(
    questions: Iterable[Question],
    nuggets: Mapping[str, Sequence[Nugget]],
    written: Mapping[str, Mapping[str, Sequence[str]]],
) -> Topics:
    """The text of every setting for every question that has one; several texts are put behind one another."""
    found: Topics = {setting: {} for setting in SETTINGS}
    for question in questions:
        query = question.query_id
        texts: dict[str, Sequence[str]] = {
            QUESTION: [question.text],
            ANSWER: question.gold[:1],
            NUGGETS: [nugget.text for nugget in nuggets.get(query, ())],
            **{setting: written.get(setting, {}).get(query, ()) for setting in WRITTEN},
        }
        for setting, parts in texts.items():
            if parts:
                found[setting][query] = " ".join(parts)
    return found


def topic_lines(texts: Mapping[str, str]) -> Iterator[str]:
    """Lines `id<TAB>text`, which every retriever reads; line ends and tabs within a text become spaces."""
    for query, text in texts.items():
        yield f"{query}\t{' '.join(text.split())}"


def read_topics(source: Source) -> dict[str, str]:
    """{query: text} of such lines."""
    return {question.query_id: question.text for question in read_questions(source)}


def setting_of(word: str) -> tuple[str, str]:
    """(setting, path) of a word of the command line: `answer=bm25.trec`, or a path of the question's runs.

    >>> setting_of("answer=runs/bm25.trec"), setting_of("runs/a=b.trec")
    (('answer', 'runs/bm25.trec'), ('question', 'runs/a=b.trec'))
    """
    setting, _, path = word.partition("=")
    return (setting, path) if path and "/" not in setting else (QUESTION, word)


def require_answers(questions: Iterable[Question]) -> None:
    """`InputError` if nothing is known to be a right answer."""
    if not any(question.gold for question in questions):
        raise InputError("the questions have no answers, which nuggets are written from; expected `answer`")
