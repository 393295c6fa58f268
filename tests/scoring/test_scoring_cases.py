"""One small case each of what scoring decides on the way, worked out by hand."""

from __future__ import annotations

import math

import pytest

from rageval.measures.base import POOL
from rageval.measures.parsing import parse_measure
from rageval.measures.ranking import Share
from rageval.scoring.answers import _taken_for
from rageval.scoring.gold import Draw, _against_chances


@pytest.mark.parametrize(("labelled", "is_doubtful"), [(50, False), (65, False), (80, True), (20, True)])
def test_chances_are_doubtful_where_far_more_or_fewer_are_labelled(labelled: int, is_doubtful: bool) -> None:
    """Of 100 chances of a half 50 are expected, give or take 5: 65 are three errors away, 80 are six."""
    chances = {f"q{at}": 0.5 for at in range(100)}
    draw = _against_chances(Draw(how="stated", chances=chances), list(chances)[:labelled], "gold")
    assert bool(draw.doubt) == is_doubtful
    if labelled == 80:
        p = math.erfc(6 / math.sqrt(2))
        assert f"add up to 50 labelled queries, and 80 are labelled (p {p:.1e})" in draw.doubt


def test_of_a_pooled_share_that_is_missing_one_part_is_missing() -> None:
    measure = parse_measure("accuracy")
    assert _taken_for("best", measure) == 1.0
    pooled = measure(over=POOL)
    best, worst = _taken_for("best", pooled), _taken_for("worst", pooled)
    assert isinstance(best, Share)
    assert isinstance(worst, Share)
    assert (best.part, best.whole, worst.part, worst.whole) == (1.0, 1.0, 0.0, 1.0)
