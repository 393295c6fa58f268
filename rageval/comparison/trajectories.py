"""What agents found along the way, and where documents were lost: means with the intervals of all means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rageval.comparison.estimates import estimate_means
from rageval.core.estimate import Estimate
from rageval.measures import seen_recall, unseen, used_recall
from rageval.measures import uncited as uncited_share
from rageval.measures.base import Measure
from rageval.scoring.scores import Scores
from rageval.scoring.trajectories import Trajectories

if TYPE_CHECKING:
    from rageval.comparison.results import Settings

LOSSES = (unseen, uncited_share, used_recall)  # they add up to 1
_POINTS = 20  # of a curve
_END = 0.95  # of the trajectories end within the last point: a few very long ones would flatten the curve


class RecallCurve(NamedTuple):
    """The recall of a system within budgets: an estimate for each of the `budgets`, of searches or cost."""

    run: str
    by: str
    budgets: tuple[float, ...]
    estimates: tuple[Estimate, ...]


def recall_curves(subject: Trajectories, results: Sequence[Scores], settings: Settings) -> list[RecallCurve]:
    """Return the recall of each system by searches, and by cost if all its model steps state it."""
    curves: list[RecallCurve] = []
    for by in ("searches", "cost"):
        amounts = {scores.run: subject.agents[scores.run].amounts(by) for scores in results}
        runs = [run for run, stated in amounts.items() if stated]
        budgets = _budgets([amount for run in runs for amount in amounts[run]], by == "searches")
        if not budgets:
            continue
        measures = [
            seen_recall @ int(budget) if by == "searches" else seen_recall(cost=budget) for budget in budgets
        ]
        table = estimates_of(subject, runs, measures, settings)
        curves += [RecallCurve(run, by, budgets, estimates) for run, estimates in table.items()]
    return curves


def estimates_of(
    subject: Trajectories, runs: Sequence[str], measures: Sequence[Measure], settings: Settings
) -> dict[str, tuple[Estimate, ...]]:
    """Return the estimate of each of these systems by measures of trajectories, other than the subject's.

    A system without a value, as there are too few labels, is not among them.
    """
    if not runs or subject.evaluator.qrels.undecided:  # every value is a range
        return {}
    results = subject.scored_by(measures, runs).score().results
    columns = [
        estimate_means([scores.scores[index] for scores in results], settings)
        for index in range(len(measures))
    ]
    rows = zip(*columns, strict=True)
    return {
        scores.run: estimates
        for scores, estimates in zip(results, rows, strict=True)
        if all(estimate.is_defined for estimate in estimates)
    }


def _budgets(amounts: Sequence[float], is_whole: bool) -> tuple[float, ...]:
    """Return evenly spaced budgets, up to one that nearly all trajectories keep.

    >>> _budgets([1, 3, 3], True), len(_budgets([0.1, 0.2], False))
    ((1, 2, 3), 20)
    """
    if not any(amounts):
        return ()
    rank = math.ceil(_END * len(amounts)) - 1
    # Of hundreds of trajectories few may have searched at all.
    end = sorted(amounts)[rank] or max(amounts)
    even = (end * number / _POINTS for number in range(1, _POINTS + 1))
    return tuple(dict.fromkeys(map(math.ceil, even) if is_whole else even))
