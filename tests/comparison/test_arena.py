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
    strengths,
    strengths_by_people,
)
from rageval.core.remark import Scope
from rageval.errors import TooFewLabels, UsageError
from rageval.scoring.gold import Gold, drawn
from rageval.statistics import bootstrap
from rageval.statistics.preferences import bradley_terry
from test_bad_input import HOSTILE, assert_refused, command, process

Row = dict[str, Any]
Game = tuple[str, str, str]  # the two systems, and what the first one got
Float = NDArray[np.float64]
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


def theta(outcomes: Iterable[Game]) -> dict[str, float]:
    table = played(outcomes)
    return dict(zip(table.systems, bradley_terry(*table.counts()).tolist(), strict=True))


class TestClosedForms:
    @pytest.mark.parametrize(("wins", "losses"), [(1, 1), (3, 1), (1, 8), (997, 3), (10**6, 1)])
    def test_two_systems_differ_by_the_log_of_wins_over_losses(self, wins: int, losses: int) -> None:
        strengths = bradley_terry(np.array([[0.0, wins], [losses, 0.0]]), np.zeros((2, 2)))
        assert strengths[0] - strengths[1] == pytest.approx(math.log(wins / losses), abs=1e-6)
        assert strengths.sum() == pytest.approx(0, abs=1e-12)

    @pytest.mark.parametrize("ties", [1, 5, 200])
    def test_two_systems_that_tie(self, ties: int) -> None:
        """Ties say nothing of who is stronger: the odds of winning stay wins to losses."""
        counts = np.array([[0.0, 6], [2, 0.0]]), np.array([[0.0, ties], [ties, 0.0]])
        strengths = bradley_terry(*counts)
        assert strengths[0] - strengths[1] == pytest.approx(math.log(6 / 2), abs=1e-8)

    def test_three_systems_with_equal_schedules(self) -> None:
        """Where the strengths are ln 1, ln 2, ln 4 and all expectations come true, they are found."""
        strength = np.array([1.0, 2.0, 4.0])
        wins = 30 * strength[:, None] / (strength[:, None] + strength[None])
        np.fill_diagonal(wins, 0)
        strengths = bradley_terry(wins, np.zeros((3, 3)))
        assert np.exp(strengths - strengths[0]) == pytest.approx(strength, abs=1e-8)

    def test_three_systems_with_ties_after_davidson(self) -> None:
        strength, nu = np.array([1.0, 3.0, 0.5]), 0.8
        root = np.sqrt(strength[:, None] * strength[None])
        below = strength[:, None] + strength[None] + nu * root
        wins, ties = 50 * strength[:, None] / below, 50 * nu * root / below
        np.fill_diagonal(wins, 0)
        np.fill_diagonal(ties, 0)
        strengths = bradley_terry(wins, ties)
        assert np.exp(strengths - strengths[0]) == pytest.approx(strength, abs=1e-8)

    def test_a_circle_of_wins_makes_all_equal(self) -> None:
        values = theta([("a", "b", "win"), ("b", "c", "win"), ("c", "a", "win")])
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
    assert bradley_terry(wins, ties) == pytest.approx(expected, abs=2e-4)


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
        first = by_name(strengths(games(read_judgements(judged)), resamples=20))
        for seed in range(3):
            mixed = random.Random(seed).sample(judged, len(judged))
            repeat = by_name(strengths(games(read_judgements(mixed)), resamples=20))
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


class TestWhatCannotBeSaid:
    @pytest.mark.parametrize(
        ("outcomes", "groups"),
        [
            (score("a", "b", 3, 0, 0), ("a", "b")),
            (score("a", "b", 1, 0, 1) + score("c", "d", 1, 0, 1), ("a, b", "c, d")),
            (score("a", "b", 1, 0, 1) + score("a", "c", 2, 0, 0), ("a, b", "c")),
            (
                score("a", "b", 1, 0, 1) + score("a", "c", 2, 0, 0) + score("c", "d", 0, 1, 0),
                ("a, b",),
            ),
        ],
    )
    def test_groups_that_never_met_have_no_strengths(
        self, outcomes: list[Game], groups: tuple[str, ...]
    ) -> None:
        with pytest.raises(UsageError, match="no finite strengths") as error:
            strengths(played(outcomes))
        for group in groups:
            assert f" {group} " in f" {str(error.value).replace(';', ' ;').replace(':', ' :')} "

    @pytest.mark.parametrize(
        "outcomes",
        [
            score("a", "b", 3, 1, 0),
            score("a", "b", 3, 1, 0) + score("b", "c", 5, 2, 0),
            score("a", "b", 3, 1, 0) + score("b", "c", 5, 2, 0) + score("a", "c", 4, 0, 0),
        ],
    )
    def test_ties_alone_do_not_hold_a_loser_up(self, outcomes: list[Game]) -> None:
        """With a ν to choose, wins and ties without a loss are likeliest at an infinite distance."""
        with pytest.raises(UsageError, match="no finite strengths"):
            strengths(played(outcomes), resamples=5)

    def test_ties_alone_tell_of_equals(self) -> None:
        """Where others settle ν, nothing is likelier than that those who only tie are equal."""
        fitted = by_name(strengths(played(score("a", "b", 6, 2, 3) + score("b", "c", 0, 5, 0)), resamples=5))
        assert fitted["a"].strength - fitted["b"].strength > 0.1
        assert fitted["c"].strength == pytest.approx(fitted["b"].strength, abs=1e-6)

    def test_nothing_but_ties(self) -> None:
        with pytest.raises(UsageError, match="no finite strengths"):
            strengths(played(score("a", "b", 0, 7, 0)))

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


@pytest.mark.nightly
def test_intervals_hold_the_truth() -> None:
    """200 small tournaments; 19 of 20 intervals should, and fewer than 85 % would be no chance."""
    truth = np.array([0.6, 0.0, -0.6])
    generator = np.random.default_rng(3)
    inside = 0
    for _ in range(200):
        fitted = by_name(strengths(simulated(generator, truth, 0.5, 30), resamples=40))
        inside += fitted["a"].low <= truth[0] <= fitted["a"].high
    spread = math.sqrt(0.95 * 0.05 / 200)
    assert 0.95 - 0.03 - 3 * spread < inside / 200 < 0.95 + 3 * spread  # 40 resamples are a little narrow


@pytest.mark.slow
def test_intervals_are_widened_for_few_queries_as_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten queries, plain percentiles hold the truth in .86 to .90 of cases."""
    played = simulated(np.random.default_rng(4), np.array([0.6, 0.0, -0.6]), 0.5, 10)
    widened = {strength.system: strength.high - strength.low for strength in strengths(played, resamples=400)}
    monkeypatch.setattr(bootstrap, "expanded", lambda level, units: [np.array([0.025]), np.array([0.975])])
    plain = {strength.system: strength.high - strength.low for strength in strengths(played, resamples=400)}
    assert all(widened[system] > 1.1 * plain[system] for system in "abc")


@pytest.mark.slow
def test_strengths_come_near_the_truth_with_more_queries() -> None:
    truth = np.array([0.6, 0.0, -0.6])
    width = []
    for queries in (30, 480):
        fitted = by_name(strengths(simulated(np.random.default_rng(5), truth, 0.5, queries), resamples=400))
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
        fitted = by_name(strengths(played(self.FAIR), resamples=5))
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
        assert list(table[0]) == ["system", "strength", "low", "high", "win_rate", "games", "basis"]
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

    def test_islands_and_contradictions(self) -> None:
        write(rows(score("a", "b\x1b", 1, 0, 0)))
        outcome = command("arena", "judged")
        assert_refused(outcome, "no finite strengths", "a | b\\x1b")
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
