"""Measures of citations: how many there are, does what is cited support what is said (TREC RAG)."""

from __future__ import annotations

import math
from typing import Literal

from rageval.errors import InputError, UsageError
from rageval.measures.assessment import Assessment, Judgement, mean, share
from rageval.measures.base import NEITHER, measure
from rageval.measures.ranking import Share
from rageval.measures.scales import CITATION
from rageval.text import visible

# without the answers, one that cites nothing looks like one that nobody judged
_GIVE_THE_ANSWERS = "an answer that cites nothing has nothing to judge: give the answers (--answers FILE)"


@measure(better=NEITHER)
def citations(answer: Assessment, *, count: Literal["distinct", "all"] = "distinct") -> float:
    """How much an answer cites: the documents, or all citations.

    Formula:
        citations = |documents that any sentence cites|, or Σ over sentences of |its citations|

    Range: 0 upwards; undefined for an answer that is not known. Many are neither good nor bad.

    Parameters:
        count: documents, each once (`distinct`), or `all` citations, also those that lead nowhere

    >>> import rageval
    >>> said = [{"text": "Yes.", "citations": ["d1", "d2"]}, {"text": "Indeed.", "citations": ["d1"]}]
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": said, "references": ["d1", "d2"]}]
    >>> scores = rageval.evaluate_answers("citations, citations(count=all)", answers=answers)["r"]
    >>> [score.value for score in scores.values()]
    [2.0, 3.0]
    """
    answer.require_answers()
    if answer.cited is None:
        return math.nan
    found = [doc for cited in answer.cited for doc in cited]
    return float(len(found) if count == "all" else len(set(found) - {None}))


@measure(lacking=_GIVE_THE_ANSWERS)
def citation_precision(answer: Assessment, *, citations: Literal["first", "all", "micro"] = "first") -> Share:
    """Support of the cited sentences by what they cite (TREC RAG, weighted precision).

    Formula:
        citation_precision = Σ value of the sentence / |sentences that cite|, over cited sentences
        value: full support 1, partial ½, none 0; a citation that leads nowhere is worth 0

    Range: 0 to 1; undefined for an answer that cites nothing.

    Parameters:
        citations: a sentence is worth what its `first` citation is (the track's rule), or the mean of `all`
            its citations; `micro` is the mean over citations, whatever their sentences

    Example: three sentences; the first cites two documents, of which one supports it, the last cites nothing.

    >>> import rageval
    >>> rows = [("0", "a", "full_support"), ("0", "b", "no_support"), ("1", "a", "full_support")]
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": doc, "aspect": sentence, "label": label,
    ...            "sentences": 3} for sentence, doc, label in rows]
    >>> names = [f"citation_precision(citations={which})" for which in ("first", "all", "micro")]
    >>> [round(score.value, 3) for score in rageval.evaluate_answers(names, judged)["r"].values()]
    [1.0, 0.75, 0.667]
    """
    cited = _citations(answer)
    values = (
        [grade for grades in cited for grade in grades]
        if citations == "micro"
        else [_value(grades, citations) for grades in cited]
    )
    known = [value for value in values if not math.isnan(value)]
    return share(math.fsum(known), len(known))


@measure(lacking=_GIVE_THE_ANSWERS)
def citation_recall(answer: Assessment, *, citations: Literal["first", "all"] = "first") -> Share:
    """Support of all sentences by what they cite, those without citations being worth 0 (TREC RAG).

    Formula:
        citation_recall = Σ value of the sentence / |sentences of the answer|

    Range: 0 to 1; undefined for an answer without sentences. How many sentences an answer has is read from
    the answers (`--answers FILE`) or from the key `sentences` of its judgements.

    Parameters:
        citations: see `citation_precision`

    >>> import rageval
    >>> rows = [("0", "a", "full_support"), ("0", "b", "no_support"), ("1", "a", "full_support")]
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": doc, "aspect": sentence, "label": label,
    ...            "sentences": 3} for sentence, doc, label in rows]
    >>> names = [f"citation_recall(citations={which})" for which in ("first", "all")]
    >>> [round(score.value, 3) for score in rageval.evaluate_answers(names, judged)["r"].values()]
    [0.667, 0.5]
    """
    values = [_value(grades, citations) for grades in _citations(answer)]
    known = [value for value in values if not math.isnan(value)]
    unknown = len(values) - len(known)
    return share(math.fsum(known), _sentences(answer, len(values)) - unknown)


def _citations(answer: Assessment) -> list[list[float]]:
    """Return the grades of the citations of each sentence that cites; NaN where a grade is missing."""
    judged = answer.judged(CITATION, failed=True)
    if answer.cited is None:
        sentences: dict[str, list[float]] = {}
        for judgement in judged:
            sentences.setdefault(judgement.aspect, []).append(judgement.grade)
        return list(sentences.values())
    for judgement in judged:
        _refuse_stranger(answer, answer.cited, judgement)
    grades = {(judgement.aspect, judgement.item): judgement.grade for judgement in judged}
    return [
        [_grade(answer, grades, str(number), doc) for doc in _once(docs)]
        for number, docs in enumerate(answer.cited)
        if docs
    ]


def _once(docs: tuple[str | None, ...]) -> list[str | None]:
    """Return each document once, and everything that leads nowhere."""
    return [doc for at, doc in enumerate(docs) if doc is None or doc not in docs[:at]]


def _grade(answer: Assessment, grades: dict[tuple[str, str], float], sentence: str, doc: str | None) -> float:
    """Return the grade of a citation: one that leads nowhere is 0, one that was not judged is missing."""
    if doc is None:
        return 0.0
    grade = grades.get((sentence, doc))
    return answer.missing("absent") if grade is None else grade


def _refuse_stranger(
    answer: Assessment, cited: tuple[tuple[str | None, ...], ...], judgement: Judgement
) -> None:
    """Refuse a citation that the answer does not have: it is another answer's, or sentences count from 1."""
    number = judgement.aspect
    if not (number.isdigit() and int(number) < len(cited) and judgement.item in cited[int(number)]):
        raise InputError(
            f"run {visible(answer.run_id)}, query {visible(answer.query_id)}: the judgements hold"
            f" sentence {visible(number)!r} citing {visible(judgement.item)!r}, the answer does not;"
            " expected judgements of these answers, with sentences counted from 0"
        )


def _value(grades: list[float], which: str) -> float:
    """Return what a sentence is worth: its first citation, or the mean of all whose grade is known."""
    return grades[0] if which == "first" else mean([grade for grade in grades if not math.isnan(grade)])


def _sentences(answer: Assessment, citing: int) -> int:
    """Return how many sentences the answer has; `citing` is how many of them are known to cite something."""
    count = answer.sentences
    if count is None and answer.was_judged:
        raise UsageError(
            f"citation_recall: it is not known how many sentences the answer to query"
            f" {visible(answer.query_id)} has;"
            " give the answers (--answers FILE), or the key 'sentences' in the judgements"
        )
    if count is None:
        return citing  # of what was never judged nothing else is known
    if count < citing:
        raise InputError(
            f"run {visible(answer.run_id)}, query {visible(answer.query_id)}: has"
            f" {count:,} sentences, and {citing:,} that cite; expected the sentences of one answer"
        )
    return count
