"""Measures of answers by their nuggets: how much of a good answer's content is there, and at what length.

How good the nuggets themselves are, by what people say of a sample (FreshStack, section 5.2), is here, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from rageval.errors import InputError
from rageval.measures.assessment import Assessment, Judgement, grades, share
from rageval.measures.base import HIGHER, LOWER, NEITHER, Between, measure
from rageval.measures.ranking import Share
from rageval.measures.scales import AUDIT, HALLUCINATED, LACKING, REDUNDANT, SUPPORT, Scale
from rageval.text import visible

# What a vital nugget counts, one that is okay, and one of which nobody says.
_COUNTED: dict[str, dict[str | None, float]] = {
    "all": {"vital": 1.0, "okay": 1.0, None: 1.0},
    "vital": {"vital": 1.0, "okay": 0.0, None: 0.0},
    "okay": {"vital": 0.0, "okay": 1.0, None: 0.0},
    "weighted": {"vital": 1.0, "okay": 0.5, None: 0.0},
}
_ALLOWANCE = 100.0  # non-space characters a nugget, TREC 2003


def by_importance(parameters: Mapping[str, Any], judgement: Judgement) -> float:
    """Return what a judgement counts by the parameter `importance`."""
    return counts(parameters["importance"], judgement)


@measure(weighs=by_importance, papers=("pradeep2025great",))
def nugget_recall(
    answer: Assessment,
    *,
    importance: Literal["all", "vital", "okay", "weighted"] = "all",
    credit: Literal["strict", "partial"] = "strict",
) -> Share:
    """Share of the nuggets that the answer supports (AutoNuggetizer; TREC RAG).

    Formula:
        nugget_recall = Σ w·s ÷ Σ w, over the nuggets of the query

        s: 1 for support; ½ for partial support if credit=partial, else 0; 0 for none
        w: 1 for the nuggets that importance names, 0 for the others;
           weighted: 1 for a vital nugget, ½ for an okay one

    Range: 0 to 1; undefined (left out, counted) for a query without such nuggets. A nugget without an
    importance, where others have one, is missing, except for importance=all.

    Short names: `v_strict a_strict v a w` are vital/strict (TREC RAG's headline), all/strict, vital/partial,
    all/partial and weighted/partial.

    Peers: nuggetizer counts a query without vital nuggets as 0, and a nugget that could not be judged as not
    supported (`--compat nuggetizer`); open-rag-eval's fixed weights give a perfect answer 0.8 where there are
    no okay nuggets.

    Example: two vital nuggets, one supported and one partly; one okay nugget, not supported.

    >>> import rageval
    >>> nuggets = [("a", "vital", "support"), ("b", "vital", "partial_support"), ("c", "okay", "not_support")]
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": aspect, "importance": importance, "label": label}
    ...           for aspect, importance, label in nuggets]
    >>> scores = rageval.evaluate_answers("v_strict a_strict v a w", judged)["r"]
    >>> [round(score.value, 4) for score in scores.values()]
    [0.5, 0.3333, 0.75, 0.5, 0.6]
    """
    nuggets = _weighted_counts(answer, SUPPORT, importance)
    if credit == "strict":
        return share(sum([w for w, nugget in nuggets if nugget.grade == 1]), sum([w for w, _ in nuggets]))
    return share(sum([w * nugget.grade for w, nugget in nuggets]), sum([w for w, _ in nuggets]))


@measure(limits=(0.0, math.inf))
def nugget_density(answer: Assessment, *, rule: Literal["nfkc", "split"] = "nfkc") -> float:
    """Supported nuggets per 100 words of the answer.

    Formula:
        nugget_density = 100 · |nuggets with full support| / words

    Range: 0 upwards; undefined for an answer without words, or of unknown length (give `--answers`).

    Parameters:
        rule: how words are counted, see `length`

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": "n", "label": "support"}]
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": "It is safe to drink."}]
    >>> rageval.evaluate_answers("nugget_density", judged, answers=answers)["r"]["nugget_density"].value
    20.0
    """
    nuggets = answer.judged(SUPPORT)
    if not nuggets or not (words := answer.length(rule)):
        return math.nan
    return 100 * sum(nugget.grade == 1 for nugget in nuggets) / words


@measure(typeset="Nugget $F$", papers=("voorhees2003overview",))
def nugget_f(answer: Assessment, *, beta: Annotated[float, Between(0.0, 1000.0)] = 5.0) -> float:
    """F of vital nugget recall and a length-based precision (TREC 2003 QA track, definition questions).

    Formula:
        recall = |vital nuggets supported| / |vital nuggets|
        allowance = 100 · |nuggets supported, vital or okay|
        precision = 1 if length ≤ allowance, else 1 − (length − allowance) / length
        nugget_f = (β² + 1) · precision · recall / (β² · precision + recall)

        length: in characters that are no white space

    Range: 0 to 1; undefined without vital nuggets, or for an answer of unknown length (give `--answers`).

    Parameters:
        beta: how many times recall counts as much as precision; 5 in 2003, 3 later

    Example: one of two vital nuggets in 125 characters, of which 100 are allowed: recall ½, precision 0.8.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": aspect, "importance": "vital", "label": label}
    ...           for aspect, label in [("a", "support"), ("b", "not_support")]]
    >>> answers = [{"query_id": "q", "run_id": "r", "answer": "x" * 125}]
    >>> scores = rageval.evaluate_answers("nugget_f(beta=1)", judged, answers=answers)["r"]
    >>> round(scores["nugget_f(beta=1)"].value, 6) == round(2 * 0.8 * 0.5 / (0.8 + 0.5), 6)
    True
    """
    nuggets = answer.judged(SUPPORT, needs="importance")
    vital = [nugget for nugget in nuggets if nugget.importance == "vital"]
    if not vital or math.isnan(length := answer.length("nonspace")):
        return math.nan
    recall = sum(nugget.grade == 1 for nugget in vital) / len(vital)
    # Length stands for precision: each nugget that is there allows so many characters.
    allowance = _ALLOWANCE * sum(nugget.grade == 1 for nugget in nuggets)
    precision = 1.0 if length <= allowance else allowance / length
    below = beta**2 * precision + recall
    return (beta**2 + 1) * precision * recall / below if below else 0.0


@measure(
    weighs=lambda parameters, judgement: max(judgement.weight, 0.0),
    limits=lambda parameters: (0.0 if parameters["floor"] == "zero" else -math.inf, 1.0),
)
def rubric_score(
    answer: Assessment,
    *,
    floor: Literal["none", "zero"] = "none",
    credit: Literal["strict", "partial"] = "partial",
) -> Share:
    """Weight of the criteria that an answer meets, over all positive weight (TREC RAG 2026 rubrics).

    Formula:
        rubric_score = Σ w·s ÷ Σ_{w>0} w

        s: 1 met, ½ partly (0 if credit=strict), 0 not
        w: the weight of a criterion; a negative one is a fault

    Range: at most 1, below 0 where faults outweigh; undefined where no criterion has a positive weight.

    Parameters:
        floor: `zero` raises a negative value to 0
        credit: `strict` gives nothing for a criterion that is partly met

    Peers: RAGDoll's ternary score is this, its binary score this with credit=strict; a verdict that it could
    not read counts as not met there (`--on-missing worst`, where no weight is negative).

    Judgements carry the criterion's `weight`, or the file of nuggets (`--nuggets`) does; without it there is
    no score, as a fault would count in favor.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": aspect, "weight": weight, "label": "support"}
    ...           for aspect, weight in [("names the dose", 3), ("invents a source", -1)]]
    >>> round(rageval.evaluate_answers("rubric_score", judged)["r"]["rubric_score"].value, 4)
    0.6667
    """
    criteria = answer.judged(SUPPORT, needs="weight")
    won = math.fsum([criterion.weight * _credited(criterion, credit) for criterion in criteria])
    # Faults have weights below 0: they lose points, and none can be won by them.
    to_win = math.fsum([max(criterion.weight, 0.0) for criterion in criteria])
    return share(max(won, 0.0) if floor == "zero" else won, to_win)


def _credited(criterion: Judgement, credit: str) -> float:
    return float(criterion.grade == 1) if credit == "strict" else criterion.grade


def _clipped(values: list[float]) -> float:
    return min(max(math.fsum(values) / len(values), 0.0), 1.0)


@measure(
    aggregate=_clipped, limits=(-math.inf, 1.0), typeset="HealthBench score", papers=("arora2025healthbench",)
)
def healthbench_score(answer: Assessment, *, credit: Literal["strict", "partial"] = "strict") -> float:
    """HealthBench's score: points won, of all points to win, clipped after the mean (Arora et al., 2025).

    Formula:
        s = Σ points of the criteria met  ÷  Σ positive points
        healthbench_score = min(1, max(0, mean of s over the examples))

    Range: 0 to 1 of the set; of an example at most 1, below 0 where faults outweigh. Undefined where no
    criterion has positive points. `rubric_score(floor=zero)` clips every example, which makes a bad one look
    better.

    Parameters:
        credit: a criterion that is partly met is not met (`strict`: HealthBench knows two verdicts), or wins
            half of its points (`partial`)

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": str(at), "weight": weight, "label": label}
    ...           for at, (weight, label) in enumerate([(7, "support"), (5, "not_support"), (10, "support"),
    ...                                                 (-6, "support")])]
    >>> rageval.evaluate_answers("healthbench_score", judged)["r"]["healthbench_score"].value
    0.5
    """
    criteria = answer.judged(SUPPORT, needs="weight")
    won = [criterion.weight * _credited(criterion, credit) for criterion in criteria]
    return share(math.fsum(won), math.fsum([max(criterion.weight, 0.0) for criterion in criteria]))


def _weighted_counts(answer: Assessment, scale: Scale, importance: str) -> list[tuple[float, Judgement]]:
    """Return (weight, judgement) as `weighted` does, the weights of equal judgements added up."""
    counted = answer.counted(scale, needs=None if importance == "all" else "importance")
    weights = _COUNTED[importance]
    try:
        return [(weights[judgement.importance] * number, judgement) for judgement, number in counted]
    except KeyError:  # an importance of somebody's own, which is counted or refused by its nugget
        return weighted(answer, scale, importance)


def weighted(answer: Assessment, scale: Scale, importance: str) -> list[tuple[float, Judgement]]:
    """Return (weight, judgement) of the judgements on a scale: what each counts by its importance."""
    judged = answer.judged(scale, needs=None if importance == "all" else "importance")
    weights = _COUNTED[importance]
    if {judgement.importance for judgement in judged} <= weights.keys():
        return [(weights[judgement.importance], judgement) for judgement in judged]
    return [(counts(importance, judgement), judgement) for judgement in judged]


def counts(importance: str, judgement: Judgement) -> float:
    """Return what a judgement counts in a measure of nuggets of this importance."""
    count = _COUNTED[importance].get(judgement.importance)
    if count is None and importance != "all":
        raise InputError(
            problem=f"nugget {visible(str(judgement.aspect))!r} has the importance"
            f" {visible(str(judgement.importance))!r}, which cannot be weighed here",
            expected="vital or okay",
        )
    return 1.0 if count is None else count


_BETTER = {"relevant": HIGHER, "partially_relevant": NEITHER, "non_relevant": LOWER}


@measure(peers={"freshstack": "precision"}, weighs=lambda *_: 1.0, papers=("thakur2025freshstack",))
def bank_precision(answer: Assessment) -> Share:
    """Share of the nuggets that are neither minor nor redundant (FreshStack, eq. 2).

    Formula:
        bank_precision = (N − Σ B) / N

        N: nuggets
        B: 1 for a minor or redundant one

    Range: 0 to 1. Judgements: one row a nugget (`item_id`), aspect `redundant`, grade 0 or 1.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "llm", "item_id": nugget, "aspect": "redundant", "grade": grade}
    ...           for nugget, grade in [("n1", 0), ("n2", 0), ("n3", 1), ("n4", 0)]]
    >>> rageval.evaluate_answers("bank_precision", judged)["llm"]["bank_precision"].value
    0.75
    """
    bad = grades(answer.judged(REDUNDANT))
    return share(len(bad) - sum(bad), len(bad))


@measure(peers={"freshstack": "recall"}, papers=("thakur2025freshstack",))
def bank_recall(answer: Assessment) -> float:
    """Share of the key ideas that the nuggets cover (FreshStack, eq. 3).

    Formula:
        bank_recall = (N − Σ B) / (N − Σ B + C)

        N, B: as in `bank_precision`
        C: missing nuggets

    Range: 0 to 1; undefined where nothing is good and nothing lacking. Judgements: as for `bank_precision`,
    and one row a question, aspect `lacking`, its grade the number of nuggets one would have to add.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "llm", "item_id": nugget, "aspect": "redundant", "grade": grade}
    ...           for nugget, grade in [("n1", 0), ("n2", 0), ("n3", 1), ("n4", 0)]]
    >>> judged += [{"query_id": "q", "run_id": "llm", "aspect": "lacking", "grade": 1}]
    >>> rageval.evaluate_answers("bank_recall", judged)["llm"]["bank_recall"].value
    0.75
    """
    bad, lacking = grades(answer.judged(REDUNDANT)), grades(answer.judged(LACKING))
    # What people say is lacking stands in no bank, so it is counted beside those that are good.
    good = len(bad) - sum(bad)
    expected = good + sum(lacking)  # without end where a failed count is taken for the worst
    return good / expected if lacking and expected else math.nan


@measure(peers={"freshstack": "groundedness"}, weighs=lambda *_: 1.0, papers=("thakur2025freshstack",))
def bank_groundedness(answer: Assessment) -> Share:
    """Share of the nuggets without made-up content (FreshStack, eq. 4).

    Formula:
        bank_groundedness = (N − Σ A) / N

        N: nuggets
        A: 1 for one with hallucinated content

    Range: 0 to 1. Judgements: one row a nugget (`item_id`), aspect `hallucinated`, grade 0 or 1.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "llm", "item_id": nugget, "aspect": "hallucinated",
    ...            "grade": grade} for nugget, grade in [("n1", 0), ("n2", 1)]]
    >>> rageval.evaluate_answers("bank_groundedness", judged)["llm"]["bank_groundedness"].value
    0.5
    """
    made_up = grades(answer.judged(HALLUCINATED))
    return share(len(made_up) - sum(made_up), len(made_up))


@measure(
    better=lambda parameters: _BETTER[parameters["label"]],
    weighs=lambda *_: 1.0,
    papers=("thakur2025freshstack",),
)
def audit_share(
    answer: Assessment, *, label: Literal["relevant", "partially_relevant", "non_relevant"] = "relevant"
) -> Share:
    """Share of judged pairs that an auditor gave this label (FreshStack, Table 5).

    Formula:
        audit_share = |pairs with the label| / |pairs audited|, a question

    Range: 0 to 1. The mean is over questions; over pairs it would weigh questions by their pairs.
    Low is good for `non_relevant`; for `partially_relevant` neither is.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": "llm", "item_id": doc, "aspect": "n1", "label": label}
    ...           for doc, label in [("d1", "relevant"), ("d2", "partially relevant"), ("d3", "relevant")]]
    >>> round(rageval.evaluate_answers("audit_share", judged)["llm"]["audit_share"].value, 4)
    0.6667
    """
    audited = answer.judged(AUDIT)
    return share(sum(pair.label == label for pair in audited), len(audited))
