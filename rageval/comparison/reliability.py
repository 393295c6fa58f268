"""How often answers of a confidence are correct: the bins of a reliability diagram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rageval.core.basis import Basis
from rageval.files.judgements import JudgementTable
from rageval.measures import calibration_error
from rageval.measures.scales import CRAG
from rageval.measures.together import Outcomes
from rageval.scoring.answers import evaluate_all
from rageval.scoring.assessments import on
from rageval.scoring.rules import Rules
from rageval.statistics import LEVEL
from rageval.statistics.bootstrap import wilson
from rageval.statistics.outcomes import reliability

_BINS, _SMALLEST = 10, 5  # answers of a bin


class ReliabilityBins(NamedTuple):
    """Bins of about equally many answers of a system, from the least to the most confident.

    Of each bin the number of answers, their mean confidence, the share that is correct, and its Wilson
    interval.
    """

    run: str
    answers: Sequence[float]
    confidence: Sequence[float]
    correct: Sequence[float]
    intervals: Sequence[tuple[float, float]]
    basis: Basis


def reliability_bins(
    table: JudgementTable, runs: Sequence[str], level: float = LEVEL
) -> Iterator[ReliabilityBins]:
    """Yield the bins of each system whose answers state a confidence and are judged."""
    stated = any("confidence" in facts.amounts for facts in table.facts.values())
    if not stated or not on(table, CRAG):
        return
    for scores in evaluate_all([calibration_error], table, Rules(on_missing="skip")):
        score = scores.scores[0]
        rows = [row for value in score.numbers if isinstance(value, Outcomes) for row in value.rows]
        if not rows or scores.run not in runs:
            continue
        numbers, hits, weights = np.array(rows, np.float64).T
        size = max(int(weights.sum()) // _BINS, _SMALLEST)
        bins = np.array(reliability(numbers, hits, weights[None, :], size))[:, 0]
        sizes, shares, means = bins[:, bins[0] > 0].tolist()
        whole = [
            (round(share * size), max(round(size), 1)) for share, size in zip(shares, sizes, strict=True)
        ]
        intervals = [wilson(count, number, level) for count, number in whole]
        yield ReliabilityBins(scores.run, sizes, means, shares, intervals, score.basis)
