"""The mid-p of flipped signs: against all patterns, the binomial, and how often it is small by chance."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from rageval.comparison import Settings, compare
from rageval.measures.parsing import parse_measure
from rageval.scoring.scores import Score, Scores
from rageval.statistics.samples import Float
from rageval.statistics.significance import sign_flip


def p_of(differences: Any, **options: Any) -> float:
    drawn = np.asarray(differences, np.float64)
    sums = np.column_stack((drawn, np.zeros(len(drawn))))
    return float(sign_flip(sums, np.array([[0, 1]]), **options).p[0])


def by_all_patterns(differences: Float) -> float:
    """Every pattern of signs; one as far away as what was seen counts half."""
    flipped = np.abs(np.array(list(product((1, -1), repeat=len(differences)))) @ differences)
    total = differences.sum()
    further, equal = (flipped > abs(total) + 1e-9).mean(), (np.abs(flipped - abs(total)) <= 1e-9).mean()
    wins = int((differences * np.sign(total) > 0).sum())
    return float(max(further + equal / 2, 2.0 ** (1 - wins)))


def mcnemar(wins: int, losses: int, ties: int) -> float:
    fewer, differ = min(wins, losses), wins + losses
    exact = min(2 * binom.cdf(fewer, differ, 0.5), 1)
    mid = max(2 * binom.cdf(fewer - 1, differ, 0.5) + binom.pmf(fewer, differ, 0.5), 2.0 ** (1 - differ))
    return float(exact if ties < 2 or wins == losses else mid)


def right_or_wrong(wins: int, losses: int, ties: int) -> Float:
    return np.repeat([0.3, -0.3, 0.0], [wins, losses, ties])


@pytest.mark.parametrize("seed", range(30))
def test_it_counts_what_is_as_far_away_by_half(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = rng.integers(-2, 4, int(rng.integers(3, 9))) / 4 if seed % 2 else rng.normal(0.2, 1, 7)
    if drawn.sum():
        assert p_of([*drawn[drawn != 0], 0.0, 0.0]) == pytest.approx(by_all_patterns(drawn[drawn != 0]))


@pytest.mark.parametrize(
    ("wins", "losses", "ties"),
    [(5, 0, 20), (6, 0, 20), (9, 2, 2), (9, 2, 1), (11, 3, 0), (4, 4, 9), (14, 5, 11), (2, 10, 18)],
)
def test_of_two_values_it_is_mcnemars(wins: int, losses: int, ties: int) -> None:
    assert p_of(right_or_wrong(wins, losses, ties)) == pytest.approx(mcnemar(wins, losses, ties), rel=1e-12)


@pytest.mark.parametrize(("wins", "losses", "ties"), [(22, 9, 60), (15, 5, 20), (20, 20, 3), (28, 12, 0)])
def test_draws_find_it_too(wins: int, losses: int, ties: int) -> None:
    expected = mcnemar(wins, losses, ties)
    p = p_of(right_or_wrong(wins, losses, ties), draws=40_000)
    assert p == pytest.approx(expected, abs=4 * np.sqrt(expected / 40_000) + 1e-4)


def test_six_wins_are_needed_however_many_tie() -> None:
    for ties in (20, 60):
        assert p_of(right_or_wrong(5, 0, ties)) >= 2 / 2**5
        assert p_of(right_or_wrong(6, 0, ties), draws=40_000) == pytest.approx(2 / 2**6, abs=0.004)


def test_one_of_the_ties_counts_as_the_smallest_of_wins() -> None:
    """So p is as small as without halving, had one more query been won."""
    for wins, losses in ((9, 2), (12, 4), (13, 6)):
        assert p_of(right_or_wrong(wins, losses, 2)) == pytest.approx(
            p_of(right_or_wrong(wins + 1, losses, 0))
        )


def test_a_thousand_wins_are_no_proof_beyond_all_doubt() -> None:
    assert p_of(right_or_wrong(1100, 0, 9), draws=100) > 0


def test_what_has_no_value_does_not_tie() -> None:
    """Two runs differ on all 12 queries that both answer; 18 more have no value for one of them."""
    values = np.column_stack(
        (np.repeat([1.0, 0.0, np.nan], [10, 2, 18]), np.repeat([0.0, 1.0, 0.5], [10, 2, 18]))
    )
    measure, queries = parse_measure("recall"), [f"q{index}" for index in range(30)]
    runs = [Scores(name, (Score(measure, queries, column, 0, "made up"),))
            for name, column in zip("ab", values.T, strict=True)]  # fmt: skip
    (pair,) = compare(runs, Settings(all_pairs=True, resamples=100)).pairs
    assert pair.p == pytest.approx(mcnemar(10, 2, 0))


CHANCES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98, 1.0)


@pytest.mark.slow
def test_equal_systems_that_are_right_or_wrong_are_called_different_no_more_often_than_said() -> None:
    """Added up over all outcomes: as many queries, of which each differs with this chance."""
    for queries in (5, 8, 11, 16, 17, 24, 30):
        small = {
            differ: [
                p_of(right_or_wrong(wins, differ - wins, queries - differ)) <= 0.05
                for wins in range(differ + 1)
            ]
            for differ in range(queries + 1)
        }
        wrong = [binom.pmf(range(differ + 1), differ, 0.5) @ small[differ] for differ in range(queries + 1)]
        for chance in CHANCES:
            assert binom.pmf(range(queries + 1), queries, chance) @ wrong <= 0.0525


def test_of_a_fixed_number_that_differ_it_is_below_the_level_a_little_too_often() -> None:
    """As the docstring says: the level holds over all numbers, not for each."""
    wrong = {
        differ: sum(
            binom.pmf(wins, differ, 0.5)
            for wins in range(differ + 1)
            if p_of(right_or_wrong(wins, differ - wins, 2)) <= 0.05
        )
        for differ in range(1, 29)
    }
    assert max(wrong, key=wrong.__getitem__) == 16
    assert wrong[16] == pytest.approx(0.0768, abs=1e-4)
    assert sum(share <= 0.05 for share in wrong.values()) > 14
