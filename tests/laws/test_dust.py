"""Rounding decides nothing: values that are off by 1e-12 give the same p, verdict, direction and marks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from rageval.cli.compare import compare as command
from rageval.comparison.comparisons import compare
from rageval.comparison.results import Comparison, Settings
from rageval.errors import UsageError
from rageval.measures import builtin
from rageval.scoring.scores import Score, Scores
from reasons import why

_OPTIONS: dict[str, Any] = {option.name or "": option.type for option in command.params}
TESTS, ADJUSTMENTS = (_OPTIONS[name].choices for name in ("test", "adjust"))
QUERIES = 20


def settings() -> Iterator[Settings]:
    """Every test with every adjustment that goes with it."""
    for test in TESTS:
        for adjust in ADJUSTMENTS:
            try:
                yield Settings(all_pairs=True, test=test, adjust=adjust, draws=999, resamples=200)
            except UsageError:
                continue


def scored(table: np.ndarray[Any, Any]) -> list[Scores]:
    """Return runs with these values of recall@3, a column a run."""
    ids = [f"q{index:02d}" for index in range(len(table))]
    measure = builtin()["recall"] @ 3
    return [
        Scores(name, (Score(measure, ids, column.tolist(), 0, "s"),))
        for name, column in zip("abcd", table.T, strict=True)
    ]


def worlds(rng: np.random.Generator) -> Iterator[np.ndarray[Any, Any]]:
    """Counts of three, differences that are all alike, equal runs, and a few differences."""
    hits = rng.integers(0, 4, (QUERIES, 4)) / 3
    yield hits
    yield np.column_stack((hits[:, 0], 1 - hits[:, 0], hits[:, 1], hits[:, 1]))
    yield np.column_stack((np.full(QUERIES, 1 / 3), np.full(QUERIES, 2 / 3), hits[:, 2], np.zeros(QUERIES)))
    few = np.tile(hits[:, :1], 4)
    few[:7, 1], few[:5, 2] = few[:7, 0] / 3 + 0.3, 1.0
    yield few


def facts_of(comparison: Comparison) -> list[Any]:
    return [
        (pair.run, pair.other, pair.verdict, why(pair), pair.better_run, pair.wins, pair.ties, pair.losses)
        for pair in comparison.pairs
    ]


@pytest.mark.slow
@pytest.mark.some(5)
@pytest.mark.parametrize("how", list(settings()), ids=lambda how: f"{how.test}-{how.adjust}")
@pytest.mark.parametrize("queries", [QUERIES, 2 * QUERIES])
def test_dust_changes_no_verdict_p_or_mark(how: Settings, queries: int) -> None:
    rng = np.random.default_rng(7)
    for table in worlds(rng):
        table = np.tile(table, (queries // QUERIES, 1))
        plain = compare(scored(table), how)
        for _ in range(3):
            off = compare(scored(np.abs(table + rng.choice([-1e-12, 0.0, 1e-12], table.shape))), how)
            assert facts_of(off) == facts_of(plain)
            for name in ("p", "adjusted"):
                ours, theirs = (
                    [getattr(pair, name) for pair in comparison.pairs] for comparison in (off, plain)
                )
                assert ours == pytest.approx(theirs, rel=1e-6, nan_ok=True)
            assert [cell.is_best for cell in off.cells] == [cell.is_best for cell in plain.cells]
            # In LaTeX letters and bold stand for all that is claimed.
            assert off.to_latex(places=3) == plain.to_latex(places=3)


@pytest.mark.some(5)
@pytest.mark.parametrize("how", list(settings()), ids=lambda how: f"{how.test}-{how.adjust}")
def test_a_verdict_has_the_direction_of_wins_or_is_none(how: Settings) -> None:
    """A claim never says higher where the mean difference is not: of gains that are rare, and of dust."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        rare = np.where(rng.random((60, 1)) < 0.1, 0.9, 0.0)
        table = np.column_stack((rare, np.full(60, 0.1), rng.random(60), rng.random(60) * 0.9))
        for pair in compare(scored(table), how).pairs:
            if pair.is_significant:
                assert pair.verdict == ("higher" if pair.difference > 0 else "lower")
                assert pair.better_run == (pair.run if pair.difference > 0 else pair.other)


@pytest.mark.slow
def test_recall_at_3_has_the_p_of_its_counts() -> None:
    """Thirds are no binary fractions: 2/3 − 1/3 and 1 − 2/3 are the same difference all the same."""
    rng = np.random.default_rng(1)
    for how in settings():
        for _ in range(10):
            counts = rng.integers(0, 4, (QUERIES, 4))
            thirds = compare(scored(counts / 3), how)
            sums = compare(scored((counts / 3 * 3).round() / 4), how)  # quarters are exact
            for one, other in zip(thirds.pairs, sums.pairs, strict=True):
                assert one.p == pytest.approx(other.p, rel=1e-9, nan_ok=True)
                assert one.adjusted == pytest.approx(other.adjusted, rel=1e-9, nan_ok=True)
