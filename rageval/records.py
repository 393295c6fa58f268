"""What a person holds in the hand: a retrieved document, a judgement, an answer, a nugget, a question.

The fields bear ir_measures' names, so its records and ours can be used for one another.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Literal, NamedTuple

__all__ = [
    "Answer",
    "Nugget",
    "NuggetAnswer",
    "Qrel",
    "Question",
    "Reference",
    "ScoredDoc",
    "Sentence",
    "Step",
]


class ScoredDoc(NamedTuple):
    """One document a system retrieved for a query."""

    query_id: str
    doc_id: str
    score: float


class Qrel(NamedTuple):
    """One judgement: how well a document supports a nugget (`iteration`) of a query."""

    query_id: str
    doc_id: str
    relevance: int | float
    iteration: str = "0"


class Sentence(NamedTuple):
    """One sentence of an answer, with the documents it cites, strongest first.

    A citation that leads nowhere (an index out of range, an id that is no reference) is None.
    """

    text: str
    citations: tuple[str | None, ...] = ()


AMOUNTS = ("input_tokens", "output_tokens", "cost", "seconds", "confidence")  # of an answer
_amounts_of = attrgetter(*AMOUNTS)


class Answer(NamedTuple):
    """What one system answers to one query. A text without citations is one sentence.

    `references` are the documents the answer may cite, `passages` the texts it was made from, by id;
    `question` and `prompt` are what was asked, where the file says so; `repeat` tells several answers of one
    system to one query apart. `error` says why there is no answer, where the system failed to give one.
    `confidence` is how sure the system is that the answer is right, from 0 to 1. What nobody stated of that
    and of tokens, cost and seconds is None, which is not 0. Where the query is a `turn` of a conversation,
    `conversation_id` names this.

    >>> empty, failed = Answer("q", "mine", (Sentence(""),)), Answer("q", "mine", (), error="timeout")
    >>> empty.status, failed.status
    ('empty', 'error')
    """

    query_id: str
    run_id: str
    sentences: tuple[Sentence, ...]
    references: tuple[str, ...] = ()
    passages: tuple[tuple[str, str], ...] = ()
    question: str = ""
    prompt: str = ""
    repeat: str = ""
    error: str = ""
    input_tokens: float | None = None
    output_tokens: float | None = None
    cost: float | None = None
    seconds: float | None = None
    confidence: float | None = None
    conversation_id: str = ""
    turn: str = ""

    @property
    def amounts(self) -> dict[str, float]:
        """What is stated of tokens, cost, seconds and confidence, by name."""
        stated = _amounts_of(self)
        if stated.count(None) == len(stated):
            return {}
        return {name: amount for name, amount in zip(AMOUNTS, stated, strict=True) if amount is not None}

    @property
    def text(self) -> str:
        """The whole answer."""
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def status(self) -> Literal["ok", "empty", "error"]:
        """`ok`, `empty` for an answer of no characters, `error` where the system failed."""
        return "error" if self.error else "ok" if self.text else "empty"


class Step(NamedTuple):
    """One step of an agent that answers a query.

    `kind` is `search`, `read`, `tool`, `model` or `answer`; `docs` are the documents that it returned, in
    their order; `request` is what a tool was asked: the query of a search, or its arguments as JSON. What
    nobody stated of tokens, cost and seconds is None, which is not 0. Steps of one `number` ran in parallel.
    """

    kind: str
    docs: tuple[str, ...] = ()
    request: str = ""
    tool: str = ""
    status: str = "ok"
    input_tokens: float | None = None
    output_tokens: float | None = None
    cost: float | None = None
    seconds: float | None = None
    number: int | None = None


class Reference(NamedTuple):
    """Where something is stated: in a document, or there from `start` to `end`, counted in `encoding`."""

    doc_id: str
    text: str = ""
    start: int | None = None
    end: int | None = None
    encoding: str = ""
    collection: str = ""


class NuggetAnswer(NamedTuple):
    """An answer to the question that a nugget asks, with what states it; some files name it."""

    text: str
    references: tuple[Reference, ...] = ()
    answer_id: str = ""
    importance: str | None = None


class Nugget(NamedTuple):
    """An atomic fact that a good answer holds, or a criterion with a weight that may be negative.

    `group` is the sub-narrative it belongs to, or the axis of a rubric; `facts` are what else a file says of
    it. A nugget with `answers` is a question, to which by its `aggregator` one of them is the answer (OR) or
    all are (AND); NOT and SUM are read, and never scored. A claim has `references` of its own.
    """

    query_id: str
    nugget_id: str
    text: str
    importance: str | None = None
    weight: float | None = None
    group: str | None = None
    answers: tuple[NuggetAnswer, ...] = ()
    aggregator: str = "OR"
    references: tuple[Reference, ...] = ()
    sub_nuggets: tuple[Nugget, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def statement(self) -> str:
        """What an answer must say, as a judge is told it: the text, with the answers to what it asks.

        >>> answers = NuggetAnswer("in 1450"), NuggetAnswer("in the 15th century")
        >>> Nugget("q", "n", "When was it built?", answers=answers).statement
        'When was it built? (one of: in 1450; in the 15th century)'
        """
        if not self.answers:
            return self.text
        how = "all of" if self.aggregator == "AND" else "one of"
        return f"{self.text} ({how}: {'; '.join(answer.text for answer in self.answers)})"


class PassageParts(NamedTuple):
    """A passage in its parts: its text, and what a collection keeps beside it."""

    segment: str
    title: str = ""
    url: str = ""
    headings: str = ""

    @property
    def whole(self) -> str:
        """The text below its title, if it has one."""
        return f"{self.title}\n{self.segment}" if self.title else self.segment


BESIDE = PassageParts._fields[1:]  # what may stand beside a text


class Question(NamedTuple):
    """A question, the answers that are right, and what is known about it (domain, type, …).

    `documents` are the texts that hold the answer, by id, where a benchmark names them; `request` is what a
    track says beside a title: who asks, and what for. `sub_narratives` are the smaller needs in a need for
    information, where a track separates them.
    """

    query_id: str
    text: str
    gold: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    documents: tuple[tuple[str, str], ...] = ()
    request: str = ""
    sub_narratives: tuple[str, ...] = ()


class Span(NamedTuple):
    """A stretch of a source that holds a nugget: gold that does not depend on how the source is cut.

    `start` and `end` count code points of the source, the end is exclusive; `also` are the other places where
    the same text stands. `sha256` is of the text there, `quote` the text itself. One that is `wide` holds the
    nugget somewhere, nobody knows where. A nugget that no stretch holds has no `doc_id`.
    """

    query_id: str
    nugget_id: str
    doc_id: str = ""
    start: int = 0
    end: int = 0
    quote: str = ""
    sha256: str = ""
    also: tuple[tuple[int, int], ...] = ()
    grade: int = 1
    wide: bool = False

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Every place where the text stands."""
        return ((self.start, self.end), *self.also)


class Chunk(NamedTuple):
    """A piece of a source, as a retriever returns it: where it stands, or its text, or both."""

    chunk_id: str
    doc_id: str
    start: int | None = None
    end: int | None = None
    text: str | None = None


class ClaimList(NamedTuple):
    """What one answer claims, in its order; the gold answer's run is called `gold`."""

    query_id: str
    run_id: str
    texts: tuple[str, ...]


def is_frame(given: object) -> bool:
    """Return whether something is a DataFrame of pandas or polars, a table of pyarrow, or alike.

    Not imported and not asked: a lazy frame may compute its columns.
    """
    return hasattr(type(given), "columns") or "columns" in getattr(given, "__dict__", ())
