"""Strengths of systems compared side by side: closed forms, another optimiser, the truth, the command."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from rageval import InputError, RagevalError, read_judgements
from rageval.cli import main
from rageval.comparison.arena import (
    Games,
    _Strength,
    games,
    has_rankings,
    outcome_matrix,
    strength_remarks,
    strengths,
    strengths_by_people,
)
from rageval.core.remark import Scope
from rageval.errors import TooFewLabels, UsageError
from rageval.scoring.gold import Gold, drawn
from rageval.statistics.strengths import GamesPlayed, Ties, strengths_of
from test_bad_input import HOSTILE, assert_refused, command, process

Row = dict[str, Any]
Game = tuple[str, str, str]  # the two systems, and what the first one got
Float = NDArray[np.float64]
MODELS: list[Ties] = ["half", "davidson"]
OTHER = {"win": "loss", "tie": "tie", "loss": "win"}


def rows(played: Iterable[Game]) -> list[Row]:
    """Each game a query of its own."""
    return [
        {"query_id": f"q{index}", "run_id": system, "aspect": "game", "label": label}
        for index, (first, second, outcome) in enumerate(played)
        for system, label in ((first, outcome), (second, OTHER[outcome]))
    ]


def score(first: str, second: str, wins: int, ties: int, losses: int) -> list[Game]:
    return [
        (first, second, label) for label, n in zip(OTHER, (wins, ties, losses), strict=True) for _ in range(n)
    ]


def played(outcomes: Iterable[Game]) -> Games:
    return games(read_judgements(rows(outcomes)))


def by_name(fitted: Iterable[_Strength]) -> dict[str, _Strength]:
    return {strength.system: strength for strength in fitted}


def table_of(wins: Float, ties: Float | None = None) -> GamesPlayed:
    """Games with these counts, each of a query of its own; nobody says who was shown first."""
    ties = np.zeros_like(wins) if ties is None else ties
    games = [
        (i, j, outcome)
        for i, j in combinations(range(len(wins)), 2)
        for outcome, number in ((1.0, wins[i, j]), (0.0, wins[j, i]), (0.5, ties[i, j]))
        for _ in range(round(number))
    ]
    first, second, outcome = np.array(games).T
    return GamesPlayed(len(wins), first.astype(int), second.astype(int), outcome, np.arange(len(games)))


def theta(outcomes: Iterable[Game], ties: Ties = "half") -> dict[str, float]:
    return {name: strength.strength for name, strength in by_name(strengths(played(outcomes), ties)).items()}


class TestClosedForms:
    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize(("wins", "losses"), [(1, 1), (3, 1), (1, 8), (997, 3), (10**4, 1)])
    def test_two_systems_differ_by_the_log_of_wins_over_losses(
        self, wins: int, losses: int, model: Ties
    ) -> None:
        values = strengths_of(table_of(np.array([[0.0, wins], [losses, 0.0]])), model).strength
        assert values[0] - values[1] == pytest.approx(math.log(wins / losses), abs=1e-6)
        assert values.sum() == pytest.approx(0, abs=1e-12)

    @pytest.mark.parametrize("ties", [1, 5, 200])
    def test_two_systems_that_tie(self, ties: int) -> None:
        """With a chance of their own, ties say nothing of who is stronger; else they are half a win."""
        games = table_of(np.array([[0.0, 6], [2, 0.0]]), np.array([[0.0, ties], [ties, 0.0]]))
        for model, odds in (("davidson", 6 / 2), ("half", (6 + ties / 2) / (2 + ties / 2))):
            values = strengths_of(games, model).strength  # type: ignore[arg-type]
            assert values[0] - values[1] == pytest.approx(math.log(odds), abs=1e-8)

    @pytest.mark.parametrize("model", MODELS)
    def test_three_systems_with_equal_schedules(self, model: Ties) -> None:
        """Where the strengths are ln 1, ln 2, ln 4 and all expectations come true, they are found."""
        strength = np.array([1.0, 2.0, 4.0])
        wins = 30 * strength[:, None] / (strength[:, None] + strength[None])
        np.fill_diagonal(wins, 0)
        values = strengths_of(table_of(wins), model).strength
        assert np.exp(values - values[0]) == pytest.approx(strength, abs=1e-8)

    def test_three_systems_with_ties_after_davidson(self) -> None:
        strength = np.array([1.0, 4.0, 0.25])
        root = np.sqrt(strength[:, None] * strength[None])
        below = strength[:, None] + strength[None] + root
        wins, ties = 42 * strength[:, None] / below, 42 * root / below
        np.fill_diagonal(wins, 0)
        np.fill_diagonal(ties, 0)
        values = strengths_of(table_of(wins, ties), "davidson").strength
        assert np.exp(values - values[0]) == pytest.approx(strength, abs=1e-8)

    @pytest.mark.parametrize("model", MODELS)
    def test_a_circle_of_wins_makes_all_equal(self, model: Ties) -> None:
        values = theta([("a", "b", "win"), ("b", "c", "win"), ("c", "a", "win")], model)
        assert list(values.values()) == pytest.approx([0, 0, 0], abs=1e-9)


def slow_likelihood(point: Sequence[float], wins: Float, ties: Float) -> float:
    """Minus the logarithm of how likely these outcomes are, a game at a time."""
    theta, nu, total = point[:-1], math.exp(point[-1]), 0.0
    for i, j in combinations(range(len(wins)), 2):
        one, other = math.exp(theta[i]), math.exp(theta[j])
        below = one + other + nu * math.sqrt(one * other)
        total += wins[i, j] * math.log(one / below) + wins[j, i] * math.log(other / below)
        total += ties[i, j] * math.log(nu * math.sqrt(one * other) / below)
    return -total


@pytest.mark.parametrize("seed", range(8))
def test_another_optimiser_agrees(seed: int) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    generator = np.random.default_rng(seed)
    number = int(generator.integers(2, 6))
    wins = generator.integers(1, 9, (number, number)).astype(float)
    ties = np.triu(generator.integers(0, 5, (number, number)).astype(float), 1)
    ties[0, 1] += 1
    np.fill_diagonal(wins, 0)
    ties += ties.T
    optimum = optimize.minimize(slow_likelihood, np.zeros(number + 1), (wins, ties), method="BFGS", tol=1e-10)
    expected = optimum.x[:-1] - optimum.x[:-1].mean()
    assert strengths_of(table_of(wins, ties), "davidson").strength == pytest.approx(expected, abs=2e-4)


class TestGames:
    MIXED = (*score("a", "b", 9, 3, 6), *score("b", "c", 8, 4, 5), *score("c", "a", 4, 2, 9))

    @pytest.mark.slow
    def test_what_is_told_of_each(self) -> None:
        fitted = by_name(strengths(played(self.MIXED)))
        assert [strength.games for strength in (fitted["a"], fitted["b"], fitted["c"])] == [33, 35, 32]
        assert fitted["a"].win_rate == (9 + 9 + 5 / 2) / 33
        assert all(strength.low <= strength.strength <= strength.high for strength in fitted.values())
        in_order = [strength.strength for strength in strengths(played(self.MIXED))]
        assert in_order == sorted(in_order, reverse=True)

    def test_the_order_of_rows_does_not_matter(self) -> None:
        judged = rows(self.MIXED)
        first = by_name(strengths(games(read_judgements(judged))))
        for seed in range(3):
            mixed = random.Random(seed).sample(judged, len(judged))
            repeat = by_name(strengths(games(read_judgements(mixed))))
            for name, strength in first.items():
                assert repeat[name].strength == pytest.approx(strength.strength, abs=1e-9)
                assert (repeat[name].games, repeat[name].win_rate) == (strength.games, strength.win_rate)

    def test_sides_may_be_told_in_either_order(self) -> None:
        turned = [(second, first, OTHER[outcome]) for first, second, outcome in self.MIXED]
        one, other = theta(self.MIXED), theta(turned)
        assert {name: other[name] for name in one} == pytest.approx(one, abs=1e-9)

    @pytest.mark.slow
    def test_the_same_interval_every_time(self) -> None:
        assert strengths(played(self.MIXED)) == strengths(played(self.MIXED))

    def test_outcomes_of_each_pair(self) -> None:
        table = played(self.MIXED)
        places = {name: number for number, name in enumerate(table.systems)}
        assert table.outcomes()[places["a"], places["b"]].tolist() == [9, 3, 6]
        assert table.outcomes()[places["b"], places["a"]].tolist() == [6, 3, 9]
        assert table.outcomes()[places["a"], places["c"]].tolist() == [9, 2, 4]
        assert table.outcomes().sum() == 2 * len(table) == 2 * len(self.MIXED)

    def test_a_comparison_that_failed_is_not_played(self) -> None:
        lost = [{"query_id": "lost", "run_id": run, "aspect": "game", "status": "error"} for run in "ab"]
        assert len(games(read_judgements(rows(self.MIXED) + lost))) == len(self.MIXED)

    def test_a_matrix_of_means(self) -> None:
        table = outcome_matrix([np.array([0.1 + 0.2, 1.0, np.nan]), np.array([0.3, 0.0, 1.0])])
        assert table[0, 1].tolist() == [1, 1, 0]
        assert table[1, 0].tolist() == [0, 1, 1]


class TestWhoNeverLost:
    """A bound in place of a strength, and all others keep theirs."""

    CORE = (*score("a", "b", 9, 3, 6), *score("b", "c", 8, 4, 5), *score("c", "a", 4, 2, 9))

    @pytest.mark.parametrize("model", MODELS)
    def test_others_keep_their_strengths(self, model: Ties) -> None:
        alone = by_name(strengths(played(self.CORE), model))
        games = [*self.CORE, *score("top", "a", 20, 0, 0), *score("last", "a", 0, 0, 20)]
        rows = strengths(played(games), model)
        assert [row.system for row in rows] == ["top", *alone, "last"]
        fitted = by_name(rows)
        for name, strength in alone.items():
            assert fitted[name].strength == pytest.approx(strength.strength, abs=1e-9)
            assert fitted[name].low == pytest.approx(strength.low, abs=0.05)
        top, last = fitted["top"], fitted["last"]
        assert all(math.isnan(value) for value in (top.strength, top.high, last.strength, last.low))
        assert top.low > alone["a"].strength + 1 > alone["a"].strength - 1 > last.high
        assert top.win_rate == 1

    @pytest.mark.slow
    def test_the_bound_is_where_so_many_wins_have_a_chance_of_one_in_forty(self) -> None:
        """The opponent has a strength for certain: 20,000 games."""
        games = [*score("a", "b", 10_000, 0, 10_000), *score("top", "a", 20, 0, 0)]
        (top, *_) = strengths(played(games))
        chance = 1 / (1 + math.exp(-top.low))
        assert chance**20 == pytest.approx(0.025, rel=0.01)

    def test_games_of_a_query_are_one(self) -> None:
        """Twenty wins in twenty queries say more than twenty wins in five."""
        base = rows([*score("a", "b", 50, 0, 50)])
        bounds = []
        for queries in (20, 5):
            more = [
                {**row, "query_id": f"x{index // 2 % queries}", "aspect": str(index // 2)}
                for index, row in enumerate(rows(score("top", "a", 20, 0, 0)))
            ]
            bounds.append(strengths(games(read_judgements([*base, *more])))[0].low)
        assert bounds[0] > bounds[1] + 1

    @pytest.mark.parametrize(
        "outcomes", [score("a", "b", 20, 0, 0), score("a", "b", 20, 0, 0) + score("b", "c", 20, 0, 0)]
    )
    def test_without_any_upset_all_are_bounds_from_one_of_them(self, outcomes: list[Game]) -> None:
        fitted = strengths(played(outcomes))
        assert [row.system for row in fitted] == sorted(row.system for row in fitted)
        assert sum(row.strength == 0 for row in fitted) == 1
        assert [(row.rank_low, row.rank_high) for row in fitted] == [
            (place, place) for place in range(1, len(fitted) + 1)
        ]

    def test_a_few_wins_decide_no_rank(self) -> None:
        fitted = strengths(played([*self.CORE, ("top", "a", "win"), ("top", "b", "win")]))
        assert (fitted[0].rank_low, fitted[0].rank_high) == (1, 4)

    def test_who_met_only_the_winner_has_nothing(self) -> None:
        outcomes = [*self.CORE, *score("top", "a", 20, 0, 0), *score("top", "aside", 20, 0, 0)]
        fitted = strengths(played(outcomes))
        assert fitted[-1].system == "aside"
        assert all(math.isnan(value) for value in (fitted[-1].strength, fitted[-1].low, fitted[-1].high))
        codes = {remark.code: remark.about.systems for remark in strength_remarks(fitted)}
        assert codes == {"never_lost": ("top",), "not_comparable": ("aside",)}

    def test_nothing_but_ties_is_known_as_badly_as_nothing_but_wins(self) -> None:
        for ties in (7, 70):
            fitted = by_name(strengths(played(score("a", "b", 0, ties, 0))))
            assert fitted["a"].strength == 0
            assert fitted["a"].high > 2 / ties

    def test_ties_alone_do_not_hold_a_loser_up_by_davidson(self) -> None:
        """With a ν to choose, wins and ties without a loss are likeliest at an infinite distance."""
        outcomes = score("a", "b", 3, 1, 0) + score("b", "c", 5, 2, 0)
        assert sum(row.strength == row.strength for row in strengths(played(outcomes), "davidson")) == 1
        assert all(row.strength == row.strength for row in strengths(played(outcomes), "half"))

    @pytest.mark.parametrize("model", MODELS)
    def test_ties_alone_tell_of_equals(self, model: Ties) -> None:
        """Where others settle ν, nothing is likelier than that those who only tie are equal."""
        fitted = theta(score("a", "b", 6, 2, 3) + score("b", "c", 0, 5, 0), model)
        assert fitted["a"] - fitted["b"] > 0.1
        assert fitted["c"] == pytest.approx(fitted["b"], abs=1e-6)


class TestWhatCannotBeSaid:
    def test_systems_that_no_game_joins(self) -> None:
        with pytest.raises(UsageError, match=r"joins these groups of systems: c, d, e \| a, b;"):
            strengths(played(score("a", "b", 1, 0, 1) + score("c", "d", 1, 0, 1) + score("d", "e", 2, 0, 0)))

    @pytest.mark.parametrize("labels", [("win", "win"), ("loss", "loss"), ("tie", "win"), ("tie", "loss")])
    def test_sides_that_contradict_each_other(self, labels: tuple[str, str]) -> None:
        judged = rows([("a", "b", "win")])
        for row, label in zip(judged, labels, strict=True):
            row["label"] = label
        with pytest.raises(InputError, match="judgements:2: the two sides of a comparison disagree"):
            games(read_judgements(judged))

    def test_one_side_or_three(self) -> None:
        judged = rows([("a", "b", "win")])
        with pytest.raises(
            InputError, match="expected two systems in the comparison 'game' of query q0, found 1"
        ):
            games(read_judgements(judged[:1]))
        third = {**judged[0], "run_id": "c"}
        with pytest.raises(InputError, match="found 3"):
            games(read_judgements([*judged, third]))

    def test_nobody_plays_himself(self) -> None:
        sides = [
            {"query_id": "q", "run_id": "a", "item_id": item, "aspect": "game", "label": label}
            for item, label in (("1", "win"), ("2", "loss"))
        ]
        with pytest.raises(InputError, match="two systems"):
            games(read_judgements(sides))

    def test_judgements_without_comparisons_are_refused(self) -> None:
        with pytest.raises(RagevalError):
            games(read_judgements([{"query_id": "q", "run_id": "r", "label": "perfect"}]))


def simulated(generator: np.random.Generator, truth: Float, nu: float, queries: int) -> Games:
    number = len(truth)
    first, second = (np.array(side) for side in zip(*combinations(range(number), 2), strict=True))
    first, second = np.tile(first, queries), np.tile(second, queries)
    query = np.repeat(np.arange(queries), len(first) // queries)
    one, other = np.exp(truth[first]), np.exp(truth[second])
    below = one + other + nu * np.sqrt(one * other)
    drawn = generator.random(len(first)) * below
    outcome = np.where(drawn < one, 1.0, np.where(drawn < one + other, 0.0, 0.5))
    return Games(tuple("abc"[:number]), query, first, second, outcome)


def test_strengths_come_near_the_truth_with_more_queries() -> None:
    truth = np.array([0.6, 0.0, -0.6])
    width = []
    for queries in (30, 480):
        fitted = by_name(strengths(simulated(np.random.default_rng(5), truth, 0.5, queries), "davidson"))
        width.append(fitted["b"].high - fitted["b"].low)
    assert width[1] == pytest.approx(width[0] / 4, rel=0.4)
    assert fitted["a"].strength == pytest.approx(0.6, abs=0.15)


class TestElo:
    """Ragnarök cuts each update to a whole number: the ratings of fair games drain away."""

    FAIR = tuple(("a", "b", ("win", "loss")[index % 2]) for index in range(2000))

    def test_fair_games_lose_nearly_all_points(self) -> None:
        ratings = played(self.FAIR).elo()
        assert sum(played(self.FAIR[:2]).elo().values()) < 2000
        assert sum(ratings.values()) < 20

    @pytest.mark.slow
    def test_strengths_lose_nothing(self) -> None:
        fitted = by_name(strengths(played(self.FAIR)))
        assert fitted["a"].strength == pytest.approx(0, abs=1e-9)
        assert fitted["a"].win_rate == 0.5

    def test_the_order_of_games_matters_to_it(self) -> None:
        wins_first = score("a", "b", 50, 0, 0) + score("a", "b", 0, 0, 50)
        losses_first = wins_first[50:] + wins_first[:50]
        assert played(wins_first).elo() != played(losses_first).elo()
        assert theta(wins_first) == pytest.approx(theta(losses_first))

    def test_one_game_moves_points_as_worked_by_hand(self) -> None:
        assert played([("a", "b", "win")]).elo() == {"a": 1002, "b": 997}  # 5 · (1 − ½), cut
        assert played([("a", "b", "tie")]).elo() == {"a": 1000, "b": 1000}


MIXED = rows(TestGames.MIXED)
RANKED = [
    {"query_id": query, "run_id": run, "aspect": order, "grade": int(place)}
    for query, order, places in (("1", "x", "123"), ("1", "y", "213"), ("2", "x", "132"))
    for run, place in zip("abc", places, strict=True)
]


@pytest.fixture(name="folder")
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(MIXED)
    return tmp_path


def write(judged: Iterable[Row], name: str = "judged") -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in judged), encoding="utf-8")


def remarks_of_games(times: int = 1) -> str:
    """What should be known of the games, each played so often in as many queries."""
    met = (("a", "b", 18), ("a", "c", 15), ("b", "c", 17))
    lines = [
        f"{one} and {other} met in {number * times:,} of {50 * times:,} queries; the others are left out"
        for one, other, number in met
    ]
    total = f"{50 * times:,}"
    lines.append(
        f"{total} of {total} rankings and games do not record the order in which answers were shown (`shown`)"
    )
    return "".join(f"rageval: {line}\n" for line in lines)


@pytest.mark.usefixtures("folder")
class TestCommand:
    @pytest.mark.slow
    def test_csv_has_the_strengths_that_python_computes(self) -> None:
        outcome = command("arena", "judged", "--format", "csv")
        table = list(csv.DictReader(io.StringIO(outcome.out)))
        assert (outcome.code, outcome.err) == (0, remarks_of_games())
        assert list(table[0]) == [
            *("system", "strength", "low", "high", "rank_low", "rank_high", "win_rate", "games"),
            *("signature", "basis"),
        ]
        fitted = by_name(strengths(played(TestGames.MIXED)))
        assert {line["system"]: float(line["strength"]) for line in table} == pytest.approx(
            {name: strength.strength for name, strength in fitted.items()}, abs=5e-5
        )

    @pytest.mark.slow
    def test_json_lists_the_best_system_first(self) -> None:
        (first, *_) = json.loads(command("arena", "judged", "--format", "json").out)
        assert first["system"] == "a"
        assert first["games"] == 33

    @pytest.mark.slow
    @pytest.mark.parametrize("style", ["table", "md", "latex", "csv", "json"])
    @pytest.mark.parametrize("option", [[], ["--matrix"], ["--compat", "ragnarok"]])
    def test_every_format_prints_a_line_a_system_and_the_same_remarks(
        self, style: str, option: list[str]
    ) -> None:
        outcome = command("arena", "judged", "--format", style, *option)
        assert (outcome.code, outcome.err) == (0, remarks_of_games())
        assert outcome.out.count("\n") >= 4

    def test_a_matrix_counts_wins_ties_and_losses(self) -> None:
        lines = command("arena", "judged", "--matrix", "--format", "csv").out.splitlines()
        assert [line.removesuffix(",judge") for line in lines] == [
            *("wins-ties-losses,a,b,c,basis", "a,,9-3-6,9-2-4", "b,6-3-9,,8-4-5", "c,4-2-9,5-4-8,")
        ]

    def test_rankings_are_recognized_and_split_into_games(self) -> None:
        write(RANKED)
        assert has_rankings(read_judgements(RANKED))
        assert not has_rankings(read_judgements(MIXED))
        lines = command("arena", "judged", "--format", "csv").out.splitlines()
        expected = {
            "a": ((1 + 2 / 3) / 2 + 1) / 2,
            "b": ((2 / 3 + 1) / 2 + 1 / 3) / 2,
            "c": (1 / 3 + 2 / 3) / 2,
        }
        assert lines[0] == "system,rank_score,queries,basis"
        assert lines[1:] == [f"{name},{value:.4f},2,judge" for name, value in expected.items()]
        lines = command("arena", "judged", "--matrix", "--format", "csv").out.splitlines()
        assert lines[1:] == [f"{row},judge" for row in ("a,,1-1-0,2-0-0", "b,0-1-1,,1-0-1", "c,0-0-2,1-0-1,")]

    @pytest.mark.slow
    def test_standard_input_is_read_as_a_file(self) -> None:
        expected = command("arena", "judged").out
        assert process("arena", "-", stdin=Path("judged").read_bytes()).out == expected

    @pytest.mark.slow
    def test_standard_input_longer_than_a_buffer(self) -> None:
        many = [row | {"query_id": f"{row['query_id']}-{index}"} for index in range(40) for row in MIXED]
        write(many)
        expected = command("arena", "judged", "--matrix").out
        outcome = process("arena", "-", "--matrix", stdin=Path("judged").read_bytes())
        assert (outcome.out, outcome.err) == (expected, remarks_of_games(40))

    @pytest.mark.slow
    @pytest.mark.parametrize("names", [("1", "2", "3"), ("nan", "inf", "1e999"), ("1e5", "-0", "0x1")])
    def test_json_keeps_names_as_they_are(self, names: tuple[str, ...]) -> None:
        write({**row, "run_id": names["abc".index(row["run_id"])]} for row in MIXED)
        for option in ([], ["--matrix"], ["--compat", "ragnarok"]):
            out = command("arena", "judged", "--format", "json", *option).out
            parsed = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
            key = "wins-ties-losses" if "--matrix" in option else "system"
            assert {record[key] for record in parsed} == set(names)

    @pytest.mark.slow
    @pytest.mark.parametrize("style", ["table", "md", "latex", "csv", "json"])
    @pytest.mark.parametrize("option", [[], ["--matrix"], ["--compat", "ragnarok"]])
    def test_names_never_reach_the_output_raw(self, style: str, option: list[str]) -> None:
        write({**row, "run_id": f"=1\x1b[31m\u202e,{row['run_id']}"} for row in MIXED)
        outcome = command("arena", "judged", "--format", style, *option)
        assert outcome.code == 0
        assert not HOSTILE.search(outcome.out + outcome.err)
        if style == "csv":
            table = list(csv.reader(io.StringIO(outcome.out)))
            assert len({len(line) for line in table}) == 1
            assert not [cell for line in table for cell in line if cell.startswith(("=", "+", "@"))]

    def test_ties_by_davidson_are_another_strength(self) -> None:
        half, davidson = (
            json.loads(command("arena", "judged", "--ties", ties, "--format", "json").out) for ties in MODELS
        )
        assert half[0]["strength"] != davidson[0]["strength"]
        for rows_of_model, ties in ((half, "half"), (davidson, "davidson")):
            assert rows_of_model[0]["signature"].startswith(f"strength|ties:{ties}|order:unknown|interval:")
        write([{**row, "judge": "person:kim"} for row in MIXED], "people")
        outcome = command("arena", "judged", "--gold", "people", "--ties", "davidson")
        assert_refused(outcome, "a tie is half a win; leave out --ties davidson")

    def test_clusters_decide_the_interval_and_stand_in_the_signature(self) -> None:
        write([{**row, "conversation_id": f"c{int(row['query_id'][1:]) // 10}"} for row in MIXED])
        outputs = [
            json.loads(command("arena", "judged", "--format", "json", *more).out)
            for more in ((), ("--cluster", "none"))
        ]
        together, alone = ({row["system"]: row for row in rows_of_output} for rows_of_output in outputs)
        assert "|units:conversation_id|" in together["a"]["signature"]
        assert "units" not in alone["a"]["signature"]
        assert together["a"]["strength"] == alone["a"]["strength"]
        assert together["a"]["high"] > alone["a"]["high"]  # five clusters, and Student's t of four

    def test_islands_and_contradictions(self) -> None:
        write(rows([*score("a", "b\x1b", 1, 0, 0), *score("c", "d", 1, 0, 0)]))
        outcome = command("arena", "judged")
        assert_refused(outcome, "no comparison joins", "a, b\\x1b | c, d")
        write([*MIXED, {**MIXED[0], "query_id": "x"}, {**MIXED[1], "query_id": "x", "label": "win"}])
        assert_refused(command("arena", "judged"), "judged:102: the two sides of a comparison disagree")

    @pytest.mark.parametrize(
        "text", ["", "{}", "[]", "a b c d", "q Q0 d 1 1 t", '{"query_id": "q"}', "\x00", "{"]
    )
    def test_files_that_are_something_else(self, text: str) -> None:
        Path("judged").write_text(text + "\n")
        assert_refused(command("arena", "judged"), "judged")
        assert_refused(command("arena", "nowhere"), "nowhere: no such file")
        assert_refused(command("arena"))

    def test_judgements_of_something_else(self) -> None:
        write([{"query_id": "q", "run_id": "r", "label": "perfect"}])
        assert_refused(command("arena", "judged"), "judged")


def test_a_system_that_is_not_in_every_list_is_said_and_stands_last(tmp_path: Path) -> None:
    rows = [
        {"query_id": f"q{index}", "run_id": run, "grade": place, "aspect": "l", "rubric": "listwise"}
        for index in range(20)
        for place, run in enumerate(("C", "A", "B") if index < 3 else ("A", "B"), 1)
    ]
    path = tmp_path / "l.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = CliRunner().invoke(main, ["arena", str(path), "--format", "json"])
    assert [row["system"] for row in json.loads(result.stdout)] == ["A", "B", "C"]
    assert "C is in 3 of 20 lists" in result.stderr


@pytest.mark.parametrize("rubric", [{"rubric": "listwise"}, {}])
def test_of_lists_of_which_nobody_knows_the_order_a_limit_of_bias_is_not_met(
    rubric: dict[str, str], tmp_path: Path
) -> None:
    rows = [
        {"query_id": f"q{index}", "run_id": run, "grade": place, "aspect": "l", **rubric}
        for index in range(20)
        for place, run in enumerate("ABC", 1)
    ]
    path = tmp_path / "l.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert CliRunner().invoke(main, ["arena", str(path), "--max-bias", "0.1"]).exit_code == 1


def judged_by(judge: str, seed: int = 0) -> list[Row]:
    """Four systems in both orders; whoever is first wins more often, and d nearly always but against c."""
    rng = random.Random(seed)
    strengths_by_name = {"a": 0.3, "b": 0.0, "c": -0.3, "top": 9.0}
    judged = []
    for query in range(60):
        for pair in combinations(strengths_by_name, 2):
            for first, second in (pair, pair[::-1]):
                lead = strengths_by_name[first] - strengths_by_name[second] + 0.8
                label = "win" if rng.random() < 1 / (1 + math.exp(-lead)) else "loss"
                if "top" in pair:
                    label = "win" if first == "top" else "loss"
                judged += [
                    {"query_id": f"q{query}", "run_id": run, "aspect": f"{first} | {second}",
                     "label": outcome, "judge": judge, "shown": [first, second]}
                    for run, outcome in ((first, label), (second, OTHER[label]))
                ]  # fmt: skip
    return judged


def test_people_who_say_what_the_judge_says_change_no_strength() -> None:
    """Beside a lead of the first, and one who never lost; without labels the same strengths are printed."""
    judged = read_judgements(judged_by("gpt"))
    alone = {row.system: row for row in strengths(games(judged))}
    rows, _ = strengths_by_people(judged, Gold(drawn("uniform"), read_judgements(judged_by("person:kim"))))
    assert [row.system for row in rows] == list(alone) == ["top", "a", "b", "c"]
    for row in rows[1:]:
        assert row.judged == alone[row.system].strength
        assert row.strength == pytest.approx(row.judged, abs=1e-9)
    top = rows[0]
    assert math.isnan(top.strength)
    assert math.isnan(top.judged)
    assert 2 < top.low < 5
    assert 2 < alone["top"].low < 5


def test_labels_show_who_is_better_where_the_judge_saw_one_order_only() -> None:
    """The judge's own strength is unknown then, and alone it is refused."""
    judged = [{**row, "shown": ["a", "b"], "judge": "gpt"} for row in rows(score("a", "b", 30, 5, 10))]
    people = [{**row, "judge": "person:kim"} for row in rows(score("a", "b", 12, 5, 28))]
    with pytest.raises(UsageError, match="in one order only"):
        strengths(games(read_judgements(judged)))
    gold = Gold(drawn("uniform"), read_judgements(people))
    (first, second), _ = strengths_by_people(read_judgements(judged), gold)
    assert (first.system, second.system) == ("b", "a")
    assert math.isnan(first.judged)
    assert first.games == 45


def test_labels_that_are_hardly_a_uniform_draw_are_remarked_on() -> None:
    """The judge has the first system win every labeled comparison, and lose nearly all others."""
    games_played = rows([("a", "b", "win")] * 19 + [("a", "b", "loss")] * 40 + [("a", "b", "win")])
    judged = read_judgements([row | {"judge": "gpt"} for row in games_played])
    labels = read_judgements([row | {"judge": "person:kim"} for row in games_played[:40]])
    _, remarks = strengths_by_people(judged, Gold(drawn("uniform"), labels))
    (doubt,) = (remark for remark in remarks if remark.code == "labels_hardly_uniform")
    assert doubt.about == Scope(("a", "b"))
    with pytest.raises(TooFewLabels, match="so the labels are not a random draw"):
        strengths_by_people(judged, Gold(drawn(), labels))
