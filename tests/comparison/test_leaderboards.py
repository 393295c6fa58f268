"""`rageval label agree --leaderboards`: the numbers of the field to 1e-9, intervals, and what has none."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from rageval.comparison.leaderboards import (
    _bootstrap_intervals,
    compare_judges,
    compare_leaderboards,
)
from rageval.errors import InputError
from rageval.files.scores import LeaderboardRow, read_leaderboard, write_leaderboard
from rageval.statistics import SEED
from rageval.statistics.bootstrap import draws
from rageval.statistics.rankings import nearer, tau_b
from test_bad_input import assert_refused, command

GOLDEN = Path(__file__).parents[1] / "golden" / "leaderboards"
TRUTH, JUDGE = str(GOLDEN / "truth.txt"), str(GOLDEN / "judge.txt")


def board(values: np.ndarray, measure: str = "m", means: bool = True) -> list[LeaderboardRow]:
    """Topics by runs."""
    rows = [
        LeaderboardRow(f"r{run}", f"q{topic}", measure, float(value))
        for run, column in enumerate(values.T)
        for topic, value in enumerate(column)
    ]
    every = [
        LeaderboardRow(f"r{run}", "all", measure, float(value)) for run, value in enumerate(values.mean(0))
    ]
    return [*rows, *(every if means else ())]


def test_the_numbers_of_the_field() -> None:
    expected = json.loads((GOLDEN / "expected.json").read_text())
    (agreement,) = json.loads(
        command("label", "agree", "--leaderboards", TRUTH, JUDGE, "--format", "json").out
    )
    value = {name: of["value"] for name, of in agreement["coefficients"].items()}
    assert value["tau_b"] == pytest.approx(expected["kendall"], abs=1e-9)
    assert value["rho"] == pytest.approx(expected["spearman"], abs=1e-9)
    assert value["pearson"] == pytest.approx(expected["pearson"], abs=1e-9)
    assert value["tau_ap"] == pytest.approx(0.44, abs=1e-9)
    assert value["tau_ap of the judge"] == pytest.approx(0.34, abs=1e-9)
    assert value["tau_ap mean"] == pytest.approx(expected["tauap_b"], abs=1e-9)
    assert value["tau_b@4"] == pytest.approx(expected["kendall@4"], abs=1e-9)
    assert value["rbo(p=0.9)"] == pytest.approx(expected["rbo_ext(p=0.9)"], abs=1e-9)
    assert all(of["low"] is of["high"] is None for of in agreement["coefficients"].values())
    assert [row["text"] for row in agreement["remarks"]] == [
        "equal in the judge, for RBO by name: run3, run4",
        "neither has rows of topics, so there are no intervals",
    ]


@pytest.mark.slow
def test_intervals_over_topics_hold_the_value_and_both_are_drawn_alike() -> None:
    generator = np.random.default_rng(5)
    truth = np.linspace(0, 1, 6) + generator.normal(0, 0.4, (30, 6))
    judge = truth + generator.normal(0, 0.3, (30, 6))
    (agreement,) = compare_leaderboards(board(truth), board(judge))
    assert agreement.topics == 30
    for coefficient in agreement.coefficients:
        assert coefficient.low <= coefficient.value <= coefficient.high
        assert coefficient.low < coefficient.high
    (same,) = compare_leaderboards(board(truth), board(truth, "other"))
    assert all(
        (coefficient.value, coefficient.low, coefficient.high) == pytest.approx((1, 1, 1))
        for coefficient in same.coefficients
    )
    (shifted,) = compare_leaderboards(board(truth[::-1]), board(judge[::-1]))
    assert agreement["tau_b"].value == shifted["tau_b"].value
    assert agreement["rho"].value == pytest.approx(stats.spearmanr(truth.mean(0), judge.mean(0)).statistic)


@pytest.mark.nightly
def test_intervals_hold_what_is_seen_on_average_over_samples_of_topics() -> None:
    """Quantiles of resamples alone may lie below what was seen, as rankings agree less in a resample."""
    generator = np.random.default_rng(11)

    def world() -> list[np.ndarray]:
        truth = 0.02 * np.arange(12) + generator.normal(0, 0.15, (20, 12))
        return [truth, 0.5 * truth + generator.normal(0, 0.1, (20, 12))]

    def seen(tables: list[np.ndarray]) -> float:
        return tau_b(*(table.mean(axis=0) for table in tables))

    average = np.mean([seen(world()) for _ in range(400)])
    covered = 0
    for _ in range(40):
        tables = world()
        value = seen(tables)
        low, high = _bootstrap_intervals(tables, {"tau_b": tau_b}, {"tau_b": value}, [])["tau_b"]
        assert low <= value <= high
        covered += low <= average <= high
    assert covered >= 34


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda rows: [row for row in rows if row.query_id == "all"], "the judge has no rows of topics"),
        (lambda rows: [row for row in rows if row.query_id in ("all", "q1", "q2")], "2, fewer than 6"),
        (
            lambda rows: [
                row._replace(value=row.value + (0.1 if row.query_id == "all" else 0)) for row in rows
            ],
            "in the judge, 'all' is not the mean of the topics",
        ),
        (
            lambda rows: [row._replace(value=math.nan) if row[:2] == ("r1", "q3") else row for row in rows],
            "some topics have no value for some runs",
        ),
    ],
    ids=["only all", "few topics", "pooled", "undefined"],
)
def test_where_there_can_be_no_interval_none_is_printed(change, reason: str) -> None:  # type: ignore[no-untyped-def]
    rows = board(np.random.default_rng(2).random((12, 4)))
    (agreement,) = compare_leaderboards(rows, change(rows))
    assert all(
        math.isnan(coefficient.low) and math.isnan(coefficient.high) for coefficient in agreement.coefficients
    )
    assert any(
        reason in note and note.endswith("so there are no intervals") for note in map(str, agreement.remarks)
    )


@pytest.mark.slow
def test_a_constant_side_is_undefined_and_never_0() -> None:
    values = np.random.default_rng(2).random((8, 4))
    (agreement,) = compare_leaderboards(board(values), board(np.full((8, 4), 0.5)))
    assert all(math.isnan(coefficient.value) for coefficient in agreement.coefficients)
    assert "the judge is constant: no correlation is defined" in map(str, agreement.remarks)


@pytest.mark.slow
def test_runs_of_one_only_are_said_and_measures_paired_by_name() -> None:
    values = np.random.default_rng(2).random((8, 4))
    extra = [LeaderboardRow("lonely", "all", "m", 1.0), *board(values, "n")]
    agreements = compare_leaderboards(
        [*board(values), *extra], [*board(values, means=False), *board(values, "n")]
    )
    assert [(agreement.truth, agreement.judge) for agreement in agreements] == [("m", "m"), ("n", "n")]
    assert "only in the truth, and left out: lonely" in map(str, agreements[0].remarks)
    assert "the judge has no row 'all' for all runs; using means of topics" in map(str, agreements[0].remarks)
    with pytest.raises(InputError, match="2 runs are in both leaderboards; expected 3 or more"):
        compare_leaderboards(board(values[:, :2]), board(values))


@pytest.mark.slow
def test_of_measures_of_ours_less_may_be_better() -> None:
    values = np.random.default_rng(2).random((8, 5))
    (agreement,) = compare_leaderboards(board(values, "hole@10"), board(-values, "quality"))
    assert agreement["tau_b"].value == agreement["tau_ap"].value == 1.0
    assert "hole@10: lower is better" in map(str, agreement.remarks)


def test_the_command_says_which_form_it_cannot_tell_and_what_does_not_belong(tmp_path: Path) -> None:
    untold = tmp_path / "untold"
    untold.write_text("a m q1 1\nb m q1 2\nc m q1 3\n")
    assert_refused(command("label", "agree", "--leaderboards", str(untold), str(untold)), "use --form tot")
    result = command("label", "agree", "--leaderboards", str(untold), str(untold), "--form", "tot")
    assert result.code == 0
    leaderboard = tmp_path / "known"
    leaderboard.write_text("a q1 m 3\nb q1 m 2\nc q1 m 1\na all m 3\nb all m 2\nc all m 1\n")
    refusal = command("label", "agree", "--leaderboards", str(untold), str(leaderboard))
    # Topics of the one tell the columns of the other.
    assert "tau_b -1.0000 - - " in " ".join(refusal.out.split())
    for words, text in [
        (
            ("--leaderboards", TRUTH, JUDGE, "--near-misses", "linear"),
            "--near-misses: --leaderboards takes only",
        ),
        (("--leaderboards", TRUTH, JUDGE, TRUTH), "is named twice"),
        ((TRUTH, JUDGE, "--form", "tot"), "--form: applies to leaderboards"),
        ((TRUTH,), "expected JUDGED and GOLD"),
        (("--leaderboards", TRUTH, JUDGE, "-m", "map"), "map: is in neither leaderboard; expected one of"),
        (("--leaderboards", TRUTH, JUDGE, "--at", "2"), "--at '2': expected whole numbers from 3"),
        (("--leaderboards", TRUTH, "nowhere"), "nowhere"),
    ]:
        assert_refused(command("label", "agree", *words), text)


def test_it_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = command("label", "agree", "--leaderboards", TRUTH, JUDGE, "--format", "table")
    assert max(map(len, result.out.splitlines())) <= 80
    assert "tau_b                0.5521" in result.out


@pytest.mark.slow
class TestSeveralJudges:
    """Several judges beside one truth, and which of two is nearer to it."""

    @pytest.fixture
    def files(self, tmp_path: Path) -> list[str]:
        generator = np.random.default_rng(4)
        truth = np.linspace(0, 0.4, 8) + generator.normal(0, 0.2, (30, 8))
        noisy = {"a": 0.1, "b": 1.2, "c": 0.15}
        tables = {"truth": truth}
        tables |= {name: truth + generator.normal(0, noise, truth.shape) for name, noise in noisy.items()}
        for name, table in tables.items():
            lines = write_leaderboard(board(table), "tot")
            (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
        return [str(tmp_path / f"{name}.txt") for name in tables]

    def test_each_is_as_it_is_alone_and_pairs_are_tested(self, files: list[str]) -> None:
        output = command("label", "agree", "--leaderboards", *files, "--format", "json").out
        (agreement,) = json.loads(output)
        assert list(agreement["judges"]) == ["a.txt", "b.txt", "c.txt"]
        for path in files[1:]:
            (alone,) = json.loads(
                command("label", "agree", "--leaderboards", files[0], path, "--format", "json").out
            )
            assert agreement["judges"][Path(path).name] == alone
        pairs = {(entry["one"], entry["other"]): entry for entry in agreement["pairs"]}
        assert {pair: entry["nearer"] for pair, entry in pairs.items()} == {
            ("a.txt", "b.txt"): "a.txt",
            ("a.txt", "c.txt"): "",
            ("b.txt", "c.txt"): "c.txt",
        }
        for (one, other), entry in pairs.items():
            values = [agreement["judges"][name]["coefficients"]["tau_b"]["value"] for name in (one, other)]
            assert entry["difference"] == pytest.approx(values[0] - values[1])
            assert entry["low"] < entry["difference"] < entry["high"]
            assert entry["p"] <= entry["adjusted"] <= 1

    def test_the_order_of_the_judges_turns_the_sign_alone(self, files: list[str]) -> None:
        truth, *judges = (read_leaderboard(path) for path in files)
        (agreement,) = compare_judges(truth, dict(zip("abc", judges, strict=True)))
        (turned,) = compare_judges(truth, dict(zip("cba", judges[::-1], strict=True)))
        other = {(pair.other, pair.one): pair for pair in turned.pairs}
        for pair in agreement.pairs:
            same = other[pair.one, pair.other]
            assert (pair.p, pair.adjusted, pair.nearer) == (same.p, same.adjusted, same.nearer)
            assert pair.difference == -same.difference

    def test_a_measure_of_which_less_is_better_is_turned(self, files: list[str]) -> None:
        truth, good, bad = (read_leaderboard(path) for path in files[:3])
        lower = [row._replace(measure="hole@10", value=-row.value) for row in good]
        (agreement,) = compare_judges(truth, {"good": lower, "bad": bad}, ["m"])
        assert agreement.pairs[0].nearer == "good"

    def test_runs_that_one_lacks_are_left_out_of_all(self, files: list[str]) -> None:
        truth, one, other, _ = (read_leaderboard(path) for path in files)
        short = [row for row in other if row.run_id != "r7"]
        (agreement,) = compare_judges(truth, {"one": one, "short": short})
        assert agreement.runs == agreement.judges["one"].runs == 7
        assert "in one, but not in all others, so left out: r7" in map(str, agreement.remarks)

    def test_without_topics_there_is_no_test_and_a_note(self, files: list[str]) -> None:
        truth, one, other, _ = (read_leaderboard(path) for path in files)
        means = [row for row in other if row.query_id == "all"]
        (agreement,) = compare_judges(truth, {"one": one, "means": means})
        assert math.isnan(agreement.pairs[0].p)
        assert agreement.pairs[0].nearer == ""
        assert any(note.endswith("so there is no test") for note in map(str, agreement.remarks))
        (same,) = compare_judges(truth, {"one": one, "copy": one})
        assert math.isnan(same.pairs[0].p)
        assert any(
            "all samples of the topics give the same difference" in note for note in map(str, same.remarks)
        )

    def test_the_option_twice_and_a_file_twice_are_refused(self, files: list[str]) -> None:
        pair = ["--leaderboards", *files[:2]]
        assert_refused(command("label", "agree", *pair, *pair), "given twice", "TRUTH JUDGE JUDGE")
        assert_refused(command("label", "agree", *pair, files[1]), "is named twice")


WORLDS = {  # scatter of the truth and of judges, how much judges lean, and how far runs lie apart
    "alike": (0.2, 0.3, 0.0, 0.1),
    "leaning": (0.2, 0.3, 0.12, 0.1),
    "exact": (0.2, 0.02, 0.12, 0.1),
    "close and alike": (0.05, 1.0, 0.0, 0.02),
    "close and exact": (0.2, 0.02, 0.12, 0.02),
}


def worlds(kind: str, topics: int, runs: int, number: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Worlds in which neither judge is nearer: what one does, the other does to the reversed runs."""
    generator = np.random.default_rng(7)
    scatter, noise, lean, gap = WORLDS[kind]
    for _ in range(number):
        truth = gap * (np.arange(runs) - (runs - 1) / 2) + generator.normal(0, scatter, (topics, runs))
        leaning = generator.normal(0, lean, runs)
        one, other = (truth + generator.normal(0, noise, truth.shape) for _ in range(2))
        yield truth, one + leaning, other - leaning[::-1]


@pytest.mark.nightly
@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize(("topics", "runs"), [(10, 5), (40, 5), (40, 8)])
def test_a_judge_is_seldom_called_nearer_that_is_not(kind: str, topics: int, runs: int) -> None:
    number = 1000
    p = [nearer(*world).p for world in worlds(kind, topics, runs, number)]
    assert np.mean(np.array(p) < 0.05) <= 0.055 + 1.5 * math.sqrt(0.055 * 0.945 / number)


def slow_nearer(tables: tuple[np.ndarray, ...], resamples: int) -> tuple[float, float]:
    """The mean of the difference over resamples, and its p, a topic and a resample at a time."""
    topics = len(tables[0])
    picked = list(draws(topics, resamples, SEED))
    differences = []
    for rows in picked:
        truth, one, other = (table[rows].mean(axis=0) for table in tables)
        differences.append(stats.kendalltau(truth, one).statistic - stats.kendalltau(truth, other).statistic)
    mean = float(np.mean(differences))
    squares = []
    for topic in range(topics):
        products = [
            ((rows == topic).sum() - 1) * (difference - mean)
            for rows, difference in zip(picked, differences, strict=True)
        ]
        squares.append(float(np.mean(products)) ** 2)
    error = math.sqrt(topics / (topics - 1) * math.fsum(squares) + np.var(differences) / 10)
    freedom = math.fsum(squares) ** 2 / math.fsum(square**2 for square in squares) - 1
    return mean, float(2 * stats.t.sf(abs(mean) / error, freedom))


def test_nearer_is_as_its_formula_says() -> None:
    for tables in worlds("leaning", 12, 5, 3):
        comparison = nearer(*tables, resamples=200)
        mean, p = slow_nearer(tables, 200)
        agrees = mean * comparison.difference > 0
        assert comparison.p == pytest.approx(p if agrees else 1.0)
        assert (comparison.low > 0 or comparison.high < 0) == (comparison.p < 0.05)
        assert comparison.low < min(mean, comparison.difference)
        assert max(mean, comparison.difference) < comparison.high


@pytest.mark.slow
def test_a_judge_that_is_nearer_is_mostly_called_so() -> None:
    generator = np.random.default_rng(3)
    detected = 0
    for _ in range(20):
        truth = np.linspace(-0.2, 0.2, 20) + generator.normal(0, 0.2, (50, 20))
        good, bad = (truth + generator.normal(0, noise, truth.shape) for noise in (0.2, 1.2))
        detected += nearer(truth, good, bad, resamples=200).p < 0.05
    assert detected >= 16
