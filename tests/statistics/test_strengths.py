"""Strengths by other programs, derivatives by differences, and how often intervals hold the truth."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from rageval.errors import UsageError
from rageval.statistics.strengths import (
    GamesPlayed,
    Ties,
    _of_davidson,
    _of_half,
    _share_of_first,
    is_confounded,
    strengths_of,
)
from simulations import benchmark

ROOT = Path(__file__).parents[2]
Float = NDArray[np.float64]
NUMBER, GAMES = 5, 400


def played(seed: int, lead: float = 0.7, systems: int = NUMBER, games: int = GAMES) -> GamesPlayed:
    """Games with ties and a lead, whoever is shown first: some pairs more often in one order."""
    rng = np.random.default_rng(seed)
    strength = np.linspace(0.8, -0.8, systems)
    first = rng.choice(systems, games, p=np.linspace(2, 1, systems) / (1.5 * systems))
    second = (first + rng.integers(1, systems, games)) % systems
    share = 1 / (1 + np.exp(strength[second] - strength[first] - lead))
    outcome = np.where(rng.random(games) < 0.2, 0.5, (rng.random(games) < share).astype(float))
    return GamesPlayed(systems, first, second, outcome, np.arange(games) // 5, in_order=True)


def centered(values: Float) -> Float:
    return values - values.mean()


@pytest.mark.parametrize("seed", range(4))
def test_half_without_an_order_is_a_logit_of_statsmodels(seed: int) -> None:
    api = pytest.importorskip("statsmodels.api")
    games = played(seed)._replace(in_order=False)
    design = np.eye(NUMBER)[games.first] - np.eye(NUMBER)[games.second]
    model = api.GLM(games.outcome, design[:, 1:], family=api.families.Binomial())
    fitted = model.fit(tol=1e-14, maxiter=200, cov_type="cluster", cov_kwds={"groups": games.cluster})
    table = strengths_of(games)
    assert table.strength == pytest.approx(centered(np.append(0, fitted.params)), abs=1e-6)
    # Its sandwich is not the jackknife, which is a little wider.
    contrast = np.eye(NUMBER)[1:].T - 1 / NUMBER  # [system, parameter]: of the mean 0
    error = np.sqrt(np.diag(contrast @ fitted.cov_params() @ contrast.T))
    half = (table.high - table.low) / 2 / 1.9905  # Student's t of 79 degrees
    assert ((error < half) & (half < 1.05 * error)).all()


@pytest.mark.parametrize("seed", range(4))
def test_half_with_an_order_is_the_share_over_both_of_a_logit_with_a_lead(seed: int) -> None:
    """Of two systems, by statsmodels with the place as a covariate."""
    api = pytest.importorskip("statsmodels.api")
    games = played(seed, systems=2, games=60)
    sign = np.where(games.first == 0, 1.0, -1.0)
    # The last row is the game between equals, half won.
    design = np.stack((np.append(sign, 0), np.ones(61)), axis=1)
    model = api.GLM(np.append(games.outcome, 0.5), design, family=api.families.Binomial())
    difference, lead = model.fit(tol=1e-14, maxiter=200).params
    ahead, behind = (1 / (1 + math.exp(-difference - turn * lead)) for turn in (1, -1))
    share = (ahead + behind) / 2
    table = strengths_of(games)
    assert table.strength[0] - table.strength[1] == pytest.approx(math.log(share / (1 - share)), abs=1e-6)
    assert table.lead == pytest.approx(lead, abs=1e-6)


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_davidson_is_a_loglinear_model_of_statsmodels(seed: int, in_order: bool) -> None:
    """Counts of wins, losses and ties of each ordered pair (Critchlow and Fligner, 1991)."""
    api = pytest.importorskip("statsmodels.api")
    games = played(seed)._replace(in_order=in_order)
    pairs = sorted({*zip(games.first.tolist(), games.second.tolist(), strict=True)})
    rows, counts = [], []
    for index, (first, second) in enumerate(pairs):
        inside = (games.first == first) & (games.second == second)
        for outcome, weights in ((1.0, (1, 0)), (0.0, (0, 1)), (0.5, (0.5, 0.5))):
            strength = weights[0] * np.eye(NUMBER)[first] + weights[1] * np.eye(NUMBER)[second]
            cell = np.eye(len(pairs) + 1)[index]
            rows.append([*strength[1:], weights[0], float(outcome == 0.5), *cell])
            counts.append(float((games.outcome[inside] == outcome).sum()))
    for won in (1.0, 0.0):  # the game between equals, half won
        rows.append([*np.zeros(NUMBER - 1), won, 0.0, *np.eye(len(pairs) + 1)[-1]])
        counts.append(0.5)
    keep = [column for column in range(len(rows[0])) if in_order or column != NUMBER - 1]
    with np.errstate(divide="ignore"):
        model = api.GLM(counts, np.array(rows)[:, keep], family=api.families.Poisson())
        fitted = model.fit(tol=1e-13, maxiter=300)
    table = strengths_of(games, "davidson")
    expected = centered(np.append(0, fitted.params[: NUMBER - 1]))
    assert table.strength == pytest.approx(expected, abs=1e-6)
    if in_order:
        assert table.lead == pytest.approx(fitted.params[NUMBER - 1], abs=1e-6)


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_slopes_are_those_of_the_equations(ties: Ties) -> None:
    """By differences, beside ties and a lead."""
    games = played(3)
    model = {"half": _of_half, "davidson": _of_davidson}[ties]
    point = np.append(np.linspace(0.8, -0.8, NUMBER), [0.4, -0.3] if ties == "davidson" else [0.4])

    def equations(values: Float) -> Float:
        local, total = model(games, values), np.zeros(len(point))
        np.add.at(total, local.parameter, local.score)
        return total

    local, slope = model(games, point), np.zeros((len(point), len(point)))
    np.add.at(slope, (local.parameter[:, :, None], local.parameter[:, None, :]), local.slope)
    for index, step in enumerate(1e-6 * np.eye(len(point))):
        differences = (equations(point - step) - equations(point + step)) / 2e-6
        assert slope[:, index] == pytest.approx(differences, abs=1e-5)


@pytest.mark.parametrize("lead", [-2.0, 0.0, 0.5, 6.0])
def test_over_both_orders_the_share_is_that_of_the_strengths(lead: float) -> None:
    difference = np.linspace(-8, 8, 33)
    both = (_share_of_first(difference, lead)[0] + _share_of_first(difference, -lead)[0]) / 2
    assert both == pytest.approx(1 / (1 + np.exp(-difference)), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_in_both_orders_the_lead_changes_no_strength(seed: int) -> None:
    games = played(seed, lead=0.0)
    turned = games._replace(first=games.second, second=games.first, outcome=1 - games.outcome)
    # As many games more of each pair in the other order, of which whoever is first wins more often.
    moved = turned._replace(outcome=np.where(np.arange(GAMES) % 3, turned.outcome, 1.0))
    columns = (np.concatenate(both) for both in zip(games[1:5], moved[1:5], strict=True))
    both = GamesPlayed(NUMBER, *columns, in_order=True)._replace(cluster=np.arange(2 * GAMES))
    plain = strengths_of(both._replace(in_order=False))
    table = strengths_of(both)
    assert table.strength == pytest.approx(plain.strength, abs=1e-9)
    assert table.lead > 0.2
    assert (table.high - table.low < plain.high - plain.low).all()  # what the place decides is no noise


def test_a_fixed_order_does_not_put_the_weaker_first() -> None:
    """The weaker is always shown first, to a judge that favors it by more than what parts the two."""
    rng = np.random.default_rng(0)
    first, second = np.tile([0, 0, 1], 400), np.tile([1, 2, 2], 400)
    strength = np.array([-0.4, 0.0, 0.4])
    share = _share_of_first(strength[first] - strength[second], 1.5)[0]
    games = GamesPlayed(3, first, second, (rng.random(1200) < share).astype(float), np.arange(1200), True)
    raw, table = strengths_of(games._replace(in_order=False)), strengths_of(games)
    assert raw.strength[0] > raw.strength[2]
    assert table.strength[0] < table.strength[2]
    assert ((table.low <= strength) & (strength <= table.high)).all()


def test_two_systems_in_one_order_are_refused() -> None:
    games = GamesPlayed(2, np.zeros(30, int), np.ones(30, int), np.arange(30) % 2 / 1.0, np.arange(30), True)
    assert is_confounded(games)
    with pytest.raises(UsageError, match="in one order only"):
        strengths_of(games)
    assert strengths_of(games._replace(in_order=False)).strength.tolist() == [0, 0]


def test_where_the_place_decides_all_are_equal_and_it_is_not_certain() -> None:
    """In both orders whoever is first wins: what the judge prefers is the place."""
    first = np.arange(40) % 2
    table = strengths_of(GamesPlayed(2, first, 1 - first, np.ones(40), np.arange(40), True))
    assert table.strength.tolist() == [0, 0]
    assert table.high[0] > 0.05
    assert (table.rank_low.tolist(), table.rank_high.tolist()) == ([1, 1], [2, 2])


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_games_of_a_cluster_count_as_little_as_one(ties: Ties) -> None:
    """Each game four times, in one cluster: as if it were one."""
    games = played(2)._replace(cluster=np.arange(GAMES))
    columns = (np.repeat(column, 4) for column in games[1:5])
    fourfold = GamesPlayed(NUMBER, *columns, in_order=True)
    one, four = strengths_of(games, ties), strengths_of(fourfold, ties)
    assert four.strength == pytest.approx(one.strength, abs=0.01)  # but for the game between equals
    assert four.high - four.low == pytest.approx(one.high - one.low, rel=0.02)


def test_names_of_clusters_and_order_of_games_change_nothing() -> None:
    games = played(4)
    order = np.random.default_rng(5).permutation(GAMES)
    columns = (column[order] for column in games[1:4])
    mixed = GamesPlayed(NUMBER, *columns, 1000 - games.cluster[order], in_order=True)
    for one, other in zip(strengths_of(games), strengths_of(mixed), strict=True):
        assert one == pytest.approx(other, abs=1e-9)


@pytest.fixture(name="worlds", scope="module")
def simulated_battles() -> ModuleType:
    """The simulation that the benchmark runs at full length."""
    return benchmark("battles")


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [
        (8, 50, "drawn", 0.1, 1.0),
        (8, 50, "fixed order", 0.3, 1.0),
        (8, 50, "both orders", 1, 1.0, "davidson"),
        (8, 50, "drawn", 0.1, 1.0, "half", 0.4, 0.5, "ahead"),
    ],
)
def test_intervals_hold_the_truth(worlds: ModuleType, world: tuple[object, ...]) -> None:
    """Of 100 replays of 8 systems; those of one replay hang together, so that the error is about .01."""
    _, _, mean, least = worlds.measured(100, worlds.World(*world))
    assert 0.91 < mean < 0.99
    assert least > 0.86
