"""How much of a judge's verdicts may be kept: exact tails, and how often the bound breaks."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval.errors import TooFewLabels
from rageval.statistics.selective import keep, labels_needed


def tail(wrong: int, labels: int, error: float) -> float:
    """P(Bin(labels, error) ≤ wrong), term by term."""
    return math.fsum(
        math.comb(labels, index) * error**index * (1 - error) ** (labels - index)
        for index in range(wrong + 1)
    )


@pytest.mark.parametrize(("error", "wrong"), [(0.05, 0), (0.05, 2), (0.1, 0), (0.1, 3), (0.02, 1), (0.3, 0)])
def test_labels_needed_is_the_least_number(error: float, wrong: int) -> None:
    number = labels_needed(error, wrong=wrong)
    assert tail(wrong, number, error) <= 0.05 < tail(wrong, number - 1, error)


def slow_keep(doubts: list[float], wrong: dict[int, bool], error: float) -> float | None:
    """The doubt that is kept, step after step, from the definition."""
    most_needed = labels_needed(error, wrong=2)
    enough = most_needed if len(wrong) >= most_needed else labels_needed(error)
    kept = None
    for step in range(1, 21):
        most = sorted(doubts)[max(0, len(doubts) * step // 20 - 1)]
        inside = [bad for index, bad in wrong.items() if doubts[index] <= most]
        if len(inside) < enough:
            continue
        if tail(sum(inside), len(inside), error) > 0.05:
            return kept
        kept = most
    return kept


@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.1, 0.2]), st.floats(0, 0.6))
def test_it_is_its_definition(seed: int, error: float, slope: float) -> None:
    draw = random.Random(seed)
    doubts = [round(draw.random() / 2, 2) for _ in range(300)]
    wrong = {index: draw.random() < doubts[index] * slope for index in draw.sample(range(300), 150)}
    kept = keep(doubts, wrong, error)
    assert (None if kept is None else kept.doubt) == slow_keep(doubts, wrong, error)
    if kept is not None:
        inside = [bad for index, bad in wrong.items() if doubts[index] <= kept.doubt]
        assert (kept.labels, kept.wrong) == (len(inside), sum(inside))
        assert kept.share == sum(doubt <= kept.doubt for doubt in doubts) / 300


def test_too_few_labels_and_nothing_kept() -> None:
    doubts = [index / 400 for index in range(200)]
    with pytest.raises(TooFewLabels, match="expected 59 or more"):
        keep(doubts, dict.fromkeys(range(58), False), 0.05)
    assert keep(doubts, dict.fromkeys(range(59), False), 0.05) is not None
    assert keep(doubts, dict.fromkeys(range(200), True), 0.05) is None


@pytest.mark.slow
@pytest.mark.some(2)
@pytest.mark.parametrize("share", [0.06, 0.1])
def test_a_judge_that_is_wrong_everywhere_is_seldom_kept(share: float) -> None:
    """Whatever the doubt says: kept verdicts that err more than 5 % in no more than 5 % of draws."""
    draw, replays, number = random.Random(3), 600, 1_000
    broken = 0
    for _ in range(replays):
        doubts = [draw.random() / 2 for _ in range(number)]
        truth = [draw.random() < share for _ in range(number)]
        labels = draw.sample(range(number), 200)
        kept = keep(doubts, {index: truth[index] for index in labels}, 0.05)
        broken += kept is not None
    error = math.sqrt(0.05 * 0.95 / replays)
    assert broken / replays <= 0.05 + 1.5 * error
