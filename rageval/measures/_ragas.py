"""Measures of ragas: claims beside texts and beside claims, and contexts in the order of their retrieval.

Judgements of the rubric `ragas-support` say whether a text supports a claim: a claim of the answer (aspect
`response:3`) or of the gold answer (`gold:2`), beside all contexts as one text (item `*`), the gold answer
(item `gold`) or the answer (item `answer`). Those of `ragas-match` say whether the claims of the other side
hold it. Those of `ragas-context` say whether a context (its id), at a place counted from 0 (the aspect), is
useful.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from rageval.errors import InputError, Place
from rageval.measures._claims import _ANSWER, _GOLD, _OWN, _absent, _share, _Verdict
from rageval.measures.assessment import Assessment, share
from rageval.measures.base import measure
from rageval.measures.ranking import Share
from rageval.measures.scales import CONTEXT, MATCH, TEXT_SUPPORT, Scale
from rageval.text import visible

_CONTEXTS = "*"  # all contexts as one text, as all citations of a sentence together are
_SIDES = ((_OWN, _GOLD), (_GOLD, _ANSWER))  # whose claims, and the other side's text


@measure(papers=("es2024ragas",))
def ragas_faithfulness(answer: Assessment) -> Share:
    """Share of the answer's claims that the contexts support (ragas' Faithfulness).

    Formula:
        ragas_faithfulness = |claims of the answer that the contexts support| / |claims of the answer|

    All contexts are one text here: several may support a claim together (for `claim_faithfulness` one must).

    Range: 0 to 1; undefined for an answer without claims, or without contexts.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "ragas-support", "item_id": "*",
    ...            "aspect": f"response:{at}", "label": label}
    ...           for at, label in enumerate(["supported", "not_supported"])]
    >>> rageval.evaluate_answers("ragas_faithfulness", judged)["r"]["ragas_faithfulness"].value
    0.5
    """
    return _share(answer, _verdicts(answer, TEXT_SUPPORT, _OWN, _CONTEXTS))


@measure(papers=("es2024ragas",))
def ragas_context_recall(answer: Assessment) -> Share:
    """Share of the gold answer's claims that the contexts support (ragas' ContextRecall).

    Formula:
        ragas_context_recall = |claims of gold that the contexts support| / |claims of gold|

    Range: 0 to 1; undefined without claims of gold, or without contexts.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "ragas-support", "item_id": "*",
    ...            "aspect": f"gold:{at}", "label": label}
    ...           for at, label in enumerate(["supported", "not_supported"])]
    >>> rageval.evaluate_answers("ragas_context_recall", judged)["r"]["ragas_context_recall"].value
    0.5
    """
    return _share(answer, _verdicts(answer, TEXT_SUPPORT, _GOLD, _CONTEXTS))


@measure
def ragas_factual_correctness(
    answer: Assessment, *, part: Literal["f1", "precision", "recall"] = "f1"
) -> Share:
    """F1 of the claims that the answer shares with the gold answer, each beside a text (FactualCorrectness).

    Formula:
        precision = TP / (TP + FP)
        recall = TP / (TP + FN)
        ragas_factual_correctness = 2·TP / (2·TP + FP + FN), their F1

        TP, FP: claims of the answer that the gold answer supports, and does not
        FN: claims of the gold answer that the answer does not support

    As in ragas, recall divides claims of the answer by a sum of claims of both; `answer_recall` does not.

    Range: 0 to 1; undefined where either has no claims.

    Parameters:
        part: the `f1`, or its `precision` or `recall` alone (ragas' mode)

    Peers: ragas rounds the value to two decimals, and has a number for what is undefined.

    >>> import rageval
    >>> rows = [("response:0", "gold", "supported"), ("response:1", "gold", "not_supported"),
    ...         ("gold:0", "answer", "supported")]
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "ragas-support", "item_id": item,
    ...            "aspect": aspect, "label": label} for aspect, item, label in rows]
    >>> round(rageval.evaluate_answers("ragas_factual_correctness", judged)["r"].scores[0].value, 4)
    0.6667
    """
    return _shared_claims(answer, TEXT_SUPPORT, part)


@measure(papers=("es2024ragas",))
def ragas_answer_correctness(answer: Assessment) -> Share:
    """F1 of the claims that the answer shares with the gold answer, list beside list (AnswerCorrectness).

    Formula:
        ragas_answer_correctness = 2·TP / (2·TP + FP + FN)

        TP, FP: claims of the answer that claims of the gold answer hold, and do not
        FN: claims of the gold answer that no claims of the answer hold

    This is AnswerCorrectness with the weights 1 and 0. By default, a quarter of ragas' value is the cosine
    of two embeddings; `token_f1` compares the words of both texts without a model.

    Range: 0 to 1; undefined where either has no claims.

    Peers: ragas has 1 for what is undefined.

    >>> import rageval
    >>> rows = [("response:0", "gold", "matched"), ("response:1", "gold", "unmatched"),
    ...         ("gold:0", "answer", "matched"), ("gold:1", "answer", "unmatched")]
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "ragas-match", "item_id": item,
    ...            "aspect": aspect, "label": label} for aspect, item, label in rows]
    >>> rageval.evaluate_answers("ragas_answer_correctness", judged)["r"].scores[0].value
    0.5
    """
    return _shared_claims(answer, MATCH, "f1")


@measure(papers=("es2024ragas",))
def ragas_context_precision(answer: Assessment) -> float:
    """Average precision of the contexts by their order, useful ones being relevant (ragas' ContextPrecision).

    Formula:
        ragas_context_precision = Σ P@i · v_i ÷ Σ v_i over the places i; 0 where no context is useful

        v_i: 1 if the context at place i is useful for the gold answer, else 0
        P@i: the mean of v_1 to v_i

    It divides by the useful contexts among those retrieved, not by all there are: it is no `ap`, and adding
    a useful context at the end can lower it.

    Range: 0 to 1; undefined without contexts. Where judgements failed, `worst` and `best` are the least and
    the greatest value of all completions.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "ragas-context", "item_id": f"d{at}",
    ...            "aspect": str(at), "label": label}
    ...           for at, label in enumerate(["not_useful", "useful"])]
    >>> rageval.evaluate_answers("ragas_context_precision", judged)["r"].scores[0].value
    0.5
    """
    verdicts = _context_verdicts(answer)
    if answer.skips:
        verdicts = [verdict for verdict in verdicts if verdict is not None]
    return _end_of_precision(verdicts, is_best=answer.stand_in() == 1)


def _shared_claims(answer: Assessment, scale: Scale, part: Literal["f1", "precision", "recall"]) -> Share:
    """Return what two sides have in common of their claims, by TP, FP and FN."""
    own, gold = (_share(answer, _verdicts(answer, scale, *pair)) for pair in _SIDES)
    if math.isnan(own) or math.isnan(gold):
        return share(0, 0)
    shared, missed = own.part, gold.whole - gold.part
    if part == "precision":
        return own
    if part == "recall":
        return Share(shared, shared + missed)
    return Share(2 * shared, own.whole + shared + missed)


def _verdicts(answer: Assessment, scale: Scale, side: str, item: str) -> list[_Verdict]:
    """Return what was said of one side's claims beside an item; None where that is not known."""
    others = dict(_SIDES)
    items = {_CONTEXTS} if scale is TEXT_SUPPORT else set()
    by_item: dict[str, dict[str, _Verdict]] = {item: {}}
    for judgement in answer.judged(scale, needs="open", failed=True):
        kind = judgement.aspect.partition(":")[0]
        if kind not in others or judgement.item not in {others[kind], *items}:
            raise InputError(
                at=_place(answer),
                problem=f"is about aspect {visible(judgement.aspect)[:80]!r} of item"
                f" {visible(judgement.item)[:80]!r}",
                expected="a claim of the answer (response:0, …) beside gold, or a claim of gold (gold:0, …)"
                " beside answer; by ragas-support, either beside *, too",
            )
        if kind == side:
            verdict = None if math.isnan(judgement.grade) else judgement.grade == 1
            by_item.setdefault(judgement.item, {})[judgement.aspect] = verdict
    verdicts = by_item[item]
    # A claim that was judged beside another text only is missing beside this one, where others were judged.
    for claim in dict.fromkeys(claim for claims in by_item.values() for claim in claims):
        if verdicts and claim not in verdicts:
            verdicts[claim] = _absent(answer, claim, item, scale)
    return [*verdicts.values()]


def _context_verdicts(answer: Assessment) -> list[_Verdict]:
    """Return of each context, in the order of retrieval, whether it is useful; None where nobody knows."""
    verdicts: dict[int, _Verdict] = {}
    for judgement in answer.judged(CONTEXT, needs="open", failed=True):
        place = int(judgement.aspect) if judgement.aspect.isdecimal() else -1
        if place < 0 or place in verdicts:
            raise InputError(
                at=_place(answer),
                problem=f"has a context at place {visible(judgement.aspect)[:80]!r}",
                expected="one context at each place, which is the aspect and is counted from 0",
            )
        verdicts[place] = None if math.isnan(judgement.grade) else judgement.grade == 1
    last = max(verdicts, default=-1)
    return [
        verdicts[place] if place in verdicts else _absent(answer, str(place), _CONTEXTS, CONTEXT)
        for place in range(last + 1)
    ]


def _end_of_precision(verdicts: Sequence[_Verdict], *, is_best: bool) -> float:
    """Return the greatest average precision of all completions, or the least; NaN of nothing."""
    end = max if is_best else min
    sums = {0: 0.0}  # by how many are useful so far: the greatest (least) sum of precisions
    for place, verdict in enumerate(verdicts, 1):
        sums_there: dict[int, list[float]] = {}
        for useful, total in sums.items():
            if verdict is not True:
                sums_there.setdefault(useful, []).append(total)
            if verdict is not False:
                sums_there.setdefault(useful + 1, []).append(total + (useful + 1) / place)
        sums = {useful: end(totals) for useful, totals in sums_there.items()}
    return end(total / useful if useful else 0.0 for useful, total in sums.items()) if verdicts else math.nan


def _place(answer: Assessment) -> Place:
    return Place(f"run {visible(answer.run_id)}, query {visible(answer.query_id)}")
