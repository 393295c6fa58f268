"""Measures of citations: does what is cited support what is said (TREC RAG)."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from rageval.errors import InputError, UsageError
from rageval.measures.base import Values, measure
from rageval.tables.graded import Float, Graded, Int, quotient
from rageval.tables.grades import ABSENT
from rageval.tables.scales import CITATION
from rageval.text import visible

# without the answers, one that cites nothing looks like one that nobody judged
_GIVE_THE_ANSWERS = "an answer that cites nothing has nothing to judge: give the answers (--answers FILE)"


@measure(lacking=_GIVE_THE_ANSWERS)
def citation_precision(graded: Graded, *, citations: Literal["first", "all", "micro"] = "first") -> Values:
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
    cited = _citations(graded, "citation_precision")
    if citations == "micro":
        known = ~np.isnan(cited.grade)
        return graded.ratio(cited.query[known], cited.grade[known])
    query, value = _by_sentence(cited, citations)
    known = ~np.isnan(value)
    return graded.ratio(query[known], value[known])


@measure(lacking=_GIVE_THE_ANSWERS)
def citation_recall(graded: Graded, *, citations: Literal["first", "all"] = "first") -> Values:
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
    query, value = _by_sentence(_citations(graded, "citation_recall"), citations)
    known = ~np.isnan(value)
    total = _sentences(graded, graded.sum(query)) - graded.sum(query, ~known)
    return quotient(graded.sum(query[known], value[known]), total)


class _Citations(NamedTuple):
    """One row a citation, those of a sentence together and in their order; NaN where the grade is missing."""

    query: Int
    sentence: Int
    grade: Float


def _citations(graded: Graded, measure: str) -> _Citations:
    found = graded.on(CITATION, measure, whole=True)
    cited = graded.cited()
    judged = np.isin(found.query, list(cited), invert=True)
    sentence = found.query * len(graded.grades.aspects) + found.aspect
    order = np.flatnonzero(judged)[np.argsort(sentence[judged], kind="stable")]
    rows = _Citations(found.query[order], sentence[order], found.grade[order])
    if not cited:
        return rows
    grades = {
        (query, aspect, item): grade
        for query, aspect, item, grade in zip(
            *(column.tolist() for column in (found.query, found.aspect, found.item, found.grade)), strict=True
        )
    }
    _refuse_strangers(graded, grades, cited)
    answered = _as_cited(graded, grades, cited)
    return _Citations(*(np.concatenate(pair) for pair in zip(rows, answered, strict=True)))


def _as_cited(
    graded: Graded,
    grades: dict[tuple[int, int, int], float],
    cited: dict[int, tuple[tuple[str | None, ...], ...]],
) -> _Citations:
    """The citations as the answers have them: one that leads nowhere is 0, one not judged is missing."""
    g = graded.grades
    rows: list[tuple[int, int, float]] = []
    sentence = len(g.queries) * (len(g.aspects) + 1)
    for query, sentences in sorted(cited.items()):
        for number, docs in enumerate(sentences):
            sentence += 1
            aspect = g.aspects.find(str(number))
            for doc in (doc for at, doc in enumerate(docs) if doc is None or doc not in docs[:at]):
                grade = 0.0 if doc is None else grades.get((query, aspect, g.items.find(doc)))
                rows.append((query, sentence, graded.fill(ABSENT) if grade is None else grade))
    columns = np.array(rows, np.float64).reshape(-1, 3)
    return _Citations(columns[:, 0].astype(np.int64), columns[:, 1].astype(np.int64), columns[:, 2])


def _refuse_strangers(
    graded: Graded,
    grades: dict[tuple[int, int, int], float],
    cited: dict[int, tuple[tuple[str | None, ...], ...]],
) -> None:
    """A judgement of a citation that the answer does not have belongs to another answer, or counts from 1."""
    g = graded.grades
    queries, aspects, items, runs = g.queries.words, g.aspects.words, g.items.words, g.runs.words
    for query, aspect, item in grades:
        number = aspects[aspect]
        if query in cited and not (
            number.isdigit() and int(number) < len(cited[query]) and items[item] in cited[query][int(number)]
        ):
            raise InputError(
                f"run {visible(runs[graded.run])}, query {visible(queries[query])}: the judgements hold"
                f" sentence {visible(number)!r} citing {visible(items[item])!r}, the answer does not;"
                " expected judgements of these answers, with sentences counted from 0"
            )


def _by_sentence(cited: _Citations, which: str) -> tuple[Int, Float]:
    """The query and the value of every sentence that cites."""
    begin = np.flatnonzero(np.diff(cited.sentence, prepend=-1))
    if which == "first" or not len(begin):
        return cited.query[begin], cited.grade[begin]
    known = ~np.isnan(cited.grade)
    total = np.add.reduceat(np.where(known, cited.grade, 0.0), begin)
    return cited.query[begin], quotient(total, np.add.reduceat(known, begin, dtype=np.float64))


def _sentences(graded: Graded, citing: Float) -> Float:
    """How many sentences each answer has; `citing` is how many of them are known to cite something."""
    count = np.where(graded.answered, np.nan, citing)  # of what was never judged nothing else is known
    for (run, at), facts in graded.grades.facts.items():
        number = len(facts.cited) if facts.cited is not None else facts.sentences
        if run == graded.run and number is not None:
            count[at] = number
    lost, wrong = np.flatnonzero(np.isnan(count)), np.flatnonzero(count < citing)
    names = graded.grades.queries.words
    if len(lost):
        raise UsageError(
            f"citation_recall: it is not known how many sentences the answer to query"
            f" {visible(names[int(lost[0])])} has;"
            " give the answers (--answers FILE), or the key 'sentences' in the judgements"
        )
    if len(wrong):
        at = int(wrong[0])
        raise InputError(
            f"run {visible(graded.grades.runs.words[graded.run])}, query {visible(names[at])}: has"
            f" {count[at]:g} sentences, and {citing[at]:g} that cite; expected the sentences of one answer"
        )
    return count
