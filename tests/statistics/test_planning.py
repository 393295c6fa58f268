"""How many labels a claim needs, and at which looks labeling may stop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rageval.errors import TooFewLabels, UsageError
from rageval.statistics.correction import corrected
from rageval.statistics.power import labels_needed


def pilot(number: int, of: int, seed: int = 0) -> tuple[list[float], dict[int, float]]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=of)
    return (truth + rng.normal(0, 1, of)).tolist(), dict(enumerate(truth[:number].tolist()))


def test_the_plan_is_the_formula() -> None:
    from scipy.stats import chi2

    judged, people = pilot(50, 1000)
    correction = corrected(judged, people, paired=True)
    e, d = np.array(judged[:50]), np.array(list(people.values()))
    rest = ((d - d.mean() - correction.slope * (e - e.mean())) ** 2).sum() / chi2.ppf(0.2, 48)
    expected = (0.15 / 1.959964) ** 2 - d.var(ddof=1) / 1000 + rest / 1000
    assert labels_needed(judged, people, 0.15, paired=True) == math.ceil(rest / expected + 4)


def test_a_plan_needs_more_labels_for_less_and_says_what_is_impossible() -> None:
    judged, people = pilot(50, 1000)
    plans = [labels_needed(judged, people, width, paired=True) for width in (0.4, 0.2, 0.1, 0.05, 0.01)]
    assert plans[0] == 50  # never fewer than there are
    possible = [plan for plan in plans if plan is not None]
    assert possible == sorted(possible)
    assert plans[-2:] == [None, None]  # ± .06 is what all 1,000 would have
    assert labels_needed(judged, people, 0.01, paired=True, population="set") is not None


def test_where_nothing_differs_the_rule_of_three_plans() -> None:
    labels = labels_needed([0.0] * 2000, dict.fromkeys(range(30), 0.0), 0.02, paired=True)
    assert labels == math.ceil(-math.log(0.05) / 0.02) + 2


def test_the_same_answers_need_no_labels() -> None:
    judged, people = pilot(40, 1000)
    judged[500:] = [0.0] * 500
    every = labels_needed(judged, people | dict.fromkeys(range(500, 540), 0.0), 0.1, paired=True)
    some = labels_needed(judged, people, 0.1, paired=True, same=range(500, 1000))
    assert some is not None
    assert every is not None
    assert some < 0.6 * every


def test_mistakes_are_explained() -> None:
    judged, people = pilot(29, 100)
    with pytest.raises(TooFewLabels, match=r"the pilot has 29 labels \(30 are needed\)"):
        labels_needed(judged, people, 0.1, paired=True)
    with pytest.raises(UsageError, match="above 0"):
        labels_needed(*pilot(30, 100), 0.0, paired=True)
