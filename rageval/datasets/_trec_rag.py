"""The topics, nuggets, rubrics and judgements of the TREC RAG track, as the organisers publish them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rageval.datasets import _reading
from rageval.datasets._reading import Reader
from rageval.datasets._records import TopicQuery
from rageval.files.nuggets import read_nuggets
from rageval.files.opening import File
from rageval.files.questions import read_questions
from rageval.records import Nugget, Qrel, Question


def questions(paths: Sequence[File]) -> Iterator[Question]:
    """Yield the topics: lines of `id<TAB>text`, or JSON."""
    for path in paths:
        yield from read_questions(_reading.lines(path, ()))


def nuggets(paths: Sequence[File]) -> Iterator[Nugget]:
    """Yield the nuggets, or the criteria of the rubrics."""
    for path in paths:
        yield from read_nuggets(_reading.lines(path, ()))


def qrels(paths: Sequence[File]) -> Iterator[Qrel]:
    """Yield the judgements of the passages, by query and document."""
    from rageval.scoring.sources import read_qrels

    for path in paths:
        yield from read_qrels(path)


READER = Reader(
    {"questions": questions, "nuggets": nuggets, "qrels": qrels},
    query=TopicQuery,
    as_query=lambda question: TopicQuery(question.query_id, question.text),
)
