"""Measures of citations: how many there are, and whether they support the answer (TREC RAG)."""

from __future__ import annotations

import math
from typing import Literal

from rageval.errors import InputError, Place, UsageError
from rageval.measures.assessment import Assessment, Judgement, mean, share
from rageval.measures.base import NEITHER, measure
from rageval.measures.ranking import Share
from rageval.measures.scales import CITATION, Scale
from rageval.text import visible

# without the answers, one that cites nothing looks like one that nobody judged
_GIVE_THE_ANSWERS = "an answer that cites nothing has nothing to judge: give the answers (--answers FILE)"


@measure(better=NEITHER, limits=(0.0, math.inf))
def citations(answer: Assessment, *, count: Literal["distinct", "all"] = "distinct") -> float:
    """How much an answer cites: the documents, or all citations.

    Formula:
        citations = |documents that any sentence cites|

    With `count=all` it is the sum, over the sentences, of what each cites.

    Range: 0 upwards; undefined for an unknown answer. Many are neither good nor bad.

    Parameters:
        count: documents, each once (`distinct`), or `all` citations, also those without a reference

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
    cited_docs = [doc for cited in answer.cited for doc in cited]
    return float(len(cited_docs) if count == "all" else len(set(cited_docs) - {None}))


@measure(lacking=_GIVE_THE_ANSWERS, papers=("thakur2025support",))
def citation_precision(
    answer: Assessment,
    *,
    citations: Literal["first", "all", "micro", "every"] = "first",
    credit: Literal["weighted", "full"] = "weighted",
) -> Share:
    """Support of the cited sentences by what they cite (TREC RAG, weighted precision).

    Formula:
        citation_precision = Σ v ÷ |sentences that cite|, over cited sentences

        v: of a sentence: full support 1, partial ½, none 0; a citation without a reference is worth 0

    Range: 0 to 1; undefined for an answer that cites nothing.

    Parameters:
        citations: a sentence is worth what its `first` citation is (the track's rule), or the mean of `all`
            its citations, or that of the worst of them (`every`, so that with credit=full all must support
            it); `micro` is the mean over citations, whatever their sentences
        credit: `full` gives nothing for partial support (RAGDoll's "hard" values)

    Peers: RAGDoll leaves unjudged citations out of both sums, and has 0 for an answer without
    judged citations (`--compat ragdoll`).

    Example: three sentences; the first cites two documents, of which one supports it, the last cites nothing.

    >>> import rageval
    >>> rows = [("0", "a", "full_support"), ("0", "b", "no_support"), ("1", "a", "full_support")]
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": doc, "aspect": sentence, "label": label,
    ...            "sentences": 3} for sentence, doc, label in rows]
    >>> names = [f"citation_precision(citations={which})" for which in ("first", "all", "micro")]
    >>> [round(score.value, 3) for score in rageval.evaluate_answers(names, judged)["r"].values()]
    [1.0, 0.75, 0.667]
    """
    cited = _citations(answer, CITATION, credit)
    values = (
        [grade for grades in cited for grade in grades]
        if citations == "micro"
        else [_sentence_value(grades, citations) for grades in cited]
    )
    defined = [value for value in values if not math.isnan(value)]
    return share(math.fsum(defined), len(defined))


@measure(lacking=_GIVE_THE_ANSWERS, papers=("thakur2025support",))
def citation_recall(
    answer: Assessment,
    *,
    citations: Literal["first", "all", "every"] = "first",
    credit: Literal["weighted", "full"] = "weighted",
) -> Share:
    """Support of all sentences by what they cite, those without citations being worth 0 (TREC RAG).

    Formula:
        citation_recall = Σ v ÷ |sentences of the answer|

        v: of a sentence, as in `citation_precision`

    Range: 0 to 1; undefined for an answer without sentences. How many sentences an answer has is read from
    the answers (`--answers FILE`) or from the key `sentences` of its judgements.

    Parameters:
        citations, credit: see `citation_precision`

    Peers: as for `citation_precision`; a sentence with unjudged citations only is left out, too.

    >>> import rageval
    >>> rows = [("0", "a", "full_support"), ("0", "b", "no_support"), ("1", "a", "full_support")]
    >>> judged = [{"query_id": "q", "run_id": "r", "item_id": doc, "aspect": sentence, "label": label,
    ...            "sentences": 3} for sentence, doc, label in rows]
    >>> names = [f"citation_recall(citations={which})" for which in ("first", "all")]
    >>> [round(score.value, 3) for score in rageval.evaluate_answers(names, judged)["r"].values()]
    [0.667, 0.5]
    """
    values = [_sentence_value(grades, citations) for grades in _citations(answer, CITATION, credit)]
    defined = [value for value in values if not math.isnan(value)]
    unknown = len(values) - len(defined)
    return share(math.fsum(defined), sentences_of(answer, len(values)) - unknown)


def _citations(answer: Assessment, scale: Scale, credit: str = "weighted") -> list[list[float]]:
    """Return the grades of the citations of each sentence that cites; NaN where a grade is missing."""
    sentences = [
        [judgement.grade for judgement in judged] for judged in judgements_by_sentence(answer, scale).values()
    ]
    if credit == "full":
        return [[grade if grade != grade else float(grade == 1) for grade in grades] for grades in sentences]
    return sentences


def judgements_by_sentence(answer: Assessment, scale: Scale) -> dict[str, list[Judgement]]:
    """Return the judgements of the citations of each sentence that cites, with NaN for a missing grade.

    Where the answer is known, a sentence's citations are in its order, each document once. A citation without
    a reference has grade 0. Where the answer is not known, only what was judged counts as cited.
    """
    judged = answer.judged(scale, failed=True)
    sentences: dict[str, list[Judgement]] = {}
    if answer.cited is None:
        for judgement in judged:
            sentences.setdefault(judgement.aspect, []).append(judgement)
        return sentences
    for judgement in judged:
        aspect = judgement.aspect
        # Another answer's judgement, or sentences are counted from 1.
        if not (
            aspect.isdigit()
            and int(aspect) < len(answer.cited)
            and judgement.item in answer.cited[int(aspect)]
        ):
            raise InputError(
                at=Place(f"run {visible(answer.run_id)}, query {visible(answer.query_id)}"),
                problem=f"the judgements hold sentence {visible(aspect)!r} citing"
                f" {visible(judgement.item)!r}, the answer does not",
                expected="judgements of these answers, with sentences counted from 0",
            )
    # By the answer and not by the judgements: a citation that nobody judged is missing, not away.
    by_pair = {(judgement.aspect, judgement.item): judgement for judgement in judged}
    for number, docs in enumerate(answer.cited):
        if docs:
            name = str(number)
            sentences[name] = []
            for place, doc in enumerate(docs):
                if doc is None:  # it leads nowhere, and each that does so counts
                    sentences[name].append(Judgement(0.0, None, None, math.nan, name, ""))
                elif doc not in docs[:place]:
                    sentences[name].append(by_pair.get((name, doc)) or answer.absent(scale, name, doc))
    return sentences


def _sentence_value(grades: list[float], which: str) -> float:
    """Return what a sentence is worth: its first citation, the worst, or the mean of all that are known."""
    if which == "first":
        return grades[0]
    defined = [grade for grade in grades if not math.isnan(grade)]
    if which == "all":
        return mean(defined)
    worst = min(defined, default=math.nan)  # nothing is worse than 0, whatever the others are
    return worst if len(defined) == len(grades) or worst == 0 else math.nan


def sentences_of(answer: Assessment, citing: int) -> int:
    """Return how many sentences the answer has; `citing` is how many of them are known to cite something."""
    count = answer.sentences
    # Where all that was asked failed, as of an answer that failed itself, there may be no sentences to count.
    if count is None and answer.was_judged and sum(answer.lost.values()) < citing:
        raise UsageError(
            f"{answer.asker}: the number of sentences in the answer to query {visible(answer.query_id)} is"
            " unknown; give the answers (--answers FILE), or the key 'sentences' in the judgements"
        )
    if count is None:
        return citing  # of what was never judged nothing else is known
    if count < citing:
        raise InputError(
            at=Place(f"run {visible(answer.run_id)}, query {visible(answer.query_id)}"),
            problem=f"has {count:,} sentences, and {citing:,} that cite",
            expected="the sentences of one answer",
        )
    return count
