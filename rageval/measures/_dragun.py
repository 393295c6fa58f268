"""DRAGUN's measures: what reports say to the answers that readers need, and what questions are asked."""

from __future__ import annotations

import math
from typing import Literal

from rageval.measures.assessment import Assessment, share
from rageval.measures.base import LOWER, measure
from rageval.measures.ranking import Share
from rageval.measures.scales import COMPOUND, SIMILARITY, STANCE


@measure(typeset="DRAGUN support")
def dragun_support(answer: Assessment) -> Share:
    """Weight of the expected answers that a report supports, of all the weight there is (DRAGUN 2025).

    Formula:
        dragun_support = Σ_q w_q · (Σ_a s_a ÷ n_q)  ÷  Σ_q w_q, over the rubric's questions q

        s: 1 for an answer that is supported, ½ in part, 0 for one that is not there or contradicted
        n: how many short answers the question has
        w: 4, 2, 1 by its importance A, B, C

    Range: 0 to 1; undefined for a topic without a rubric. The rubric is given with `--nuggets`, or each
    judgement has the `weight` w_q / n_q of its answer.

    Peers: DRAGUN's `utils/score.py` takes a label that it does not know for one that is not there.

    >>> import rageval
    >>> labels = [("a1", 2, "supports"), ("a2", 2, "partial"), ("b1", 1, "contradicts")]
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "stance", "aspect": answer, "weight": weight,
    ...            "label": label} for answer, weight, label in labels]
    >>> scores = rageval.evaluate_answers("dragun_support, dragun_contradiction", judged)["r"]
    >>> [score.value for score in scores.values()]
    [0.6, 0.2]
    """
    return _stance(answer, 1)


@measure(better=LOWER, typeset="DRAGUN contradiction")
def dragun_contradiction(answer: Assessment) -> Share:
    """Weight of the expected answers that a report contradicts, of all the weight there is (DRAGUN 2025).

    Formula:
        dragun_contradiction = Σ_q w_q · (Σ_a s_a ÷ n_q)  ÷  Σ_q w_q, over the rubric's questions q

        s: 1 for an answer that is contradicted, else 0
        n, w: as in `dragun_support`

    Range: 0 to 1; undefined for a topic without a rubric. It is never netted with what is supported.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "rubric": "stance", "aspect": answer, "weight": 1,
    ...            "label": label} for answer, label in [("a1", "none"), ("a2", "contradicts")]]
    >>> rageval.evaluate_answers("dragun_contradiction", judged)["r"]["dragun_contradiction"].value
    0.5
    """
    return _stance(answer, -1)


def _stance(answer: Assessment, sign: int) -> Share:
    judged = [(max(each.weight, 0.0), each.grade) for each in answer.judged(STANCE, needs="weight")]
    said = math.fsum([weight * max(sign * grade, 0.0) for weight, grade in judged])
    return share(said, math.fsum([weight for weight, _ in judged]))


@measure(typeset="DRAGUN questions")
def dragun_questions(answer: Assessment, *, compound: Literal["zero", "counted"] = "zero") -> Share:
    """Weight of the rubric's questions that a run asks, of all the weight there is (DRAGUN 2025, task 1).

    Formula:
        dragun_questions = Σ_q w_q · max_r s(q, r)  ÷  Σ_q w_q, over the rubric's q and the run's questions r

        s: 1 for questions that are very similar, ½ similar, 0 different or very different
        w: 4, 2, 1 by importance

    Range: 0 to 1; undefined for a topic without a rubric, which is given with `--nuggets`.

    Parameters:
        compound: a question that asks several things at once is worth `zero`, as in the track, or is
            `counted` as if it were one

    >>> import rageval
    >>> place = {"query_id": "q", "run_id": "r"}
    >>> pairs = [("1", "1", "similar"), ("2", "1", "very-similar"), ("1", "2", "different"),
    ...          ("2", "2", "very-different")]
    >>> judged = [place | {"rubric": "question-similarity", "item_id": own, "aspect": asked, "weight": 1,
    ...                    "label": label} for own, asked, label in pairs]
    >>> judged += [place | {"rubric": "compound-question", "item_id": own, "label": label}
    ...            for own, label in [("1", "single"), ("2", "compound")]]
    >>> names = ["dragun_questions", "dragun_questions(compound=counted)"]
    >>> [score.value for score in rageval.evaluate_answers(names, judged)["r"].values()]
    [0.25, 0.5]
    """
    judged = answer.judged(SIMILARITY, needs="weight", failed=True)
    worth: dict[str, float] = {}
    if compound == "zero":
        for each in answer.judged(COMPOUND, failed=True):
            said = (each.grade, worth.get(each.item, 1.0))
            worth[each.item] = 0.0 if 0.0 in said else said[0] + said[1] - 1  # NaN where one is missing
        for item in {each.item for each in judged} - worth.keys():
            worth[item] = answer.absent(COMPOUND, "0", item).grade
    best: dict[str, tuple[float, float]] = {}
    for each in judged:
        value = each.grade * worth.get(each.item, 1.0) if each.grade else 0.0
        if value == value:
            weight, most = best.get(each.aspect, (max(each.weight, 0.0), 0.0))
            best[each.aspect] = weight, max(most, value)
    asked = math.fsum([weight * most for weight, most in best.values()])
    return share(asked, math.fsum([weight for weight, _ in best.values()]))
