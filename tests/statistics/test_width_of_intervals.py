"""No interval from a sample is a point: where nothing was seen to differ, something still may."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import run_checked
from rageval import recall
from rageval.comparison import Comparison, Settings, compare
from rageval.comparison.intervals import bootstrap
from rageval.measures.parsing import parse_measure
from rageval.scoring.scores import Score, Scores
from rageval.statistics.agreement import agreement
from rageval.statistics.bootstrap import intervals, ranges_of
from rageval.statistics.correction import corrected, peoples_interval
from rageval.statistics.samples import Float, Sample

OF_25 = 0.1331922  # Wilson's upper end of 0 of 25: z²/(25 + z²)


def judged(folder: Path, **labels: list[str]) -> str:
    """A file of judgements: the labels of each system's answers."""
    path = folder / "judged.jsonl"
    rows = [
        {"query_id": f"q{index:03d}", "run_id": run, "label": label, "rubric": "crag"}
        for run, given in labels.items()
        for index, label in enumerate(given)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def compared(columns: Float, **options: Any) -> Comparison:
    queries = [f"q{index:03d}" for index in range(len(columns))]
    measure = parse_measure("recall")
    results = [
        Scores(f"run{index}", (Score(measure, queries, column, 0, "made up"),))
        for index, column in enumerate(columns.T)
    ]
    return compare(results, Settings(resamples=200, all_pairs=True, **options))


def sample(values: Float, unit: Any = None) -> Sample:
    columns = np.asarray(values, np.float64).reshape(len(values), -1)
    units = np.arange(len(columns)) if unit is None else np.asarray(unit)
    return Sample(tuple(map(str, range(len(columns)))), columns, units)


class TestNoHallucinationOf25:
    def test_compare_gives_an_interval_to_a_mean_of_zero(self, tmp_path: Path) -> None:
        mixed = ["perfect"] * 15 + ["missing"] * 10
        path = judged(tmp_path, one=["perfect"] * 25, other=mixed)
        result = run_checked("compare", path, "-m", "hallucination,crag_score", "--format", "json")
        comparison = json.loads(result.stdout)
        cells = {(cell["run"], cell["measure"]): cell for cell in comparison["values"]}
        for run in ("one", "other"):
            cell = cells[run, "crag_share(label=incorrect)"]
            assert (cell["value"], cell["low"], cell["high"]) == (0, 0, pytest.approx(OF_25))
        perfect = cells["one", "crag_score"]
        assert (perfect["value"], perfect["low"], perfect["high"]) == (1, pytest.approx(1 - 2 * OF_25), 1)
        pair = next(pair for pair in comparison["pairs"] if "share" in pair["measure"])
        assert (pair["difference"], pair["verdict"]) == (0, "identical by an unnamed judge")
        assert pair["low"] == -pair["high"] == pytest.approx(-0.126, abs=0.001)
        assert "fewer than 6 values of one, other differ from the most common one" in result.stderr

    def test_slices_and_reports(self, tmp_path: Path) -> None:
        path = judged(tmp_path, one=["perfect"] * 25)
        facts = tmp_path / "questions.jsonl"
        rows = [{"query_id": f"q{index:03d}", "query": "?", "domain": "all"} for index in range(25)]
        facts.write_text("".join(json.dumps(row) + "\n" for row in rows))
        words = [path, "-m", "hallucination", "--by", "domain", "--questions", str(facts)]
        assert "[0.0000, 0.1332]" in run_checked(*words).stdout
        page = tmp_path / "report.html"
        run_checked("report", path, "-m", "hallucination", "-o", str(page))
        (cell,) = json.loads(run_checked("report", "show", str(page), "--format", "json").stdout)["cells"]
        assert (cell["low"], cell["high"]) == (0, pytest.approx(OF_25))

    @pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
    def test_the_level_counts(self, level: float) -> None:
        low, high = intervals(sample(np.zeros(25)), level)
        z = {0.8: 1.2815515655, 0.95: 1.9599639845, 0.99: 2.5758293035}[level]
        assert (low[0], high[0]) == (0, pytest.approx(z**2 / (25 + z**2)))


class TestWhereItEnds:
    @pytest.mark.slow
    @settings(max_examples=80, deadline=None)
    @given(
        st.integers(2, 40),
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=4),
        st.integers(0, 10**6),
    )
    def test_never_a_point_and_never_beyond_the_scale(
        self, queries: int, values: list[float], seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        columns = np.where(rng.random((queries, 3)) < 0.1, rng.choice(values, (queries, 3)), values[0])
        comparison = compared(columns)
        for cell in comparison.cells:
            assert 0 <= cell.low < cell.high <= 1
            assert cell.low <= cell.value <= cell.high
        for pair in comparison.pairs:
            assert -1 <= pair.low < pair.high <= 1
            assert pair.low <= pair.difference <= pair.high

    @pytest.mark.parametrize(("constant", "low", "high"), [(0.5, 0.374, 0.626), (-1.0, -1, -0.734)])
    def test_of_scales_with_other_ends(self, constant: float, low: float, high: float) -> None:
        assert bootstrap(recall, np.full(25, constant)) == pytest.approx((low, high), abs=0.001)

    def test_of_measures_without_a_scale(self) -> None:
        """A gain of 12 on 25 of 25 queries: on others it may be 0, or as much more."""
        comparison = compared(np.full((25, 2), 12.0))
        (pair,) = comparison.pairs
        assert pair.high == -pair.low == pytest.approx(12 * 0.1262, abs=0.001)
        assert [cell.high - 12 for cell in comparison.cells] == pytest.approx([12 * 0.1262] * 2, abs=0.001)

    @pytest.mark.parametrize("number", [0, 1])
    def test_of_one_query_there_is_none(self, number: int) -> None:
        assert np.isnan(bootstrap(recall, np.zeros(number))).all()
        comparison = compared(np.array([[0.5, 0.25]]))
        assert all(
            np.isnan(estimate.low) and np.isnan(estimate.high)
            for estimate in (*comparison.cells, *comparison.pairs)
        )

    def test_clusters_count_not_queries(self) -> None:
        """50 answers on 5 pages without a fault say as much as 5 pages, not as 50 answers."""
        unit = np.repeat(np.arange(5), 10)
        alone, together = intervals(sample(np.zeros(50))), intervals(sample(np.zeros(50), unit))
        assert alone.high[0] == pytest.approx(3.8415 / (50 + 3.8415), abs=1e-4)
        assert together.low[0] == 0
        assert 0.8 < together.high[0] <= 1
        one_of_many = np.zeros(400)
        one_of_many[0] = 1
        by_page = intervals(sample(one_of_many, np.repeat(np.arange(40), 10)))
        assert 0.05 < by_page.high[0] < 0.12

    def test_ordinary_values_are_left_as_they_are(self) -> None:
        """Few queries with values of their own, or many that differ: no floor, and no remark."""
        rng = np.random.default_rng(1)
        for values in (rng.random(5), np.where(np.arange(30) < 7, rng.random(30), 0.0)):
            low, high = bootstrap(recall, values)
            assert values.min() <= low < high <= values.max()
        assert not any("coarse" in remark for remark in compared(rng.random((12, 3))).remarks)

    def test_rankings_that_are_the_same_differ_by_nothing(self, tmp_path: Path) -> None:
        """That is no estimate; that two other rankings had the same values is one."""
        lines = [f"q{index} Q0 d{rank} 1 {-rank} t\n" for index in range(30) for rank in range(3)]
        (tmp_path / "a").write_text("".join(lines))
        (tmp_path / "b").write_text("".join(lines))
        (tmp_path / "c").write_text("".join(line.replace("d2", "d9") for line in lines))
        (tmp_path / "qrels").write_text("".join(f"q{index} 0 d{index % 2} 1\n" for index in range(30)))
        paths = [str(tmp_path / name) for name in ("a", "b", "c", "qrels")]
        result = run_checked("compare", *paths, "-m", "rr", "--all-pairs", "--format", "json")
        pairs = {pair["run"] + pair["other"]: pair for pair in json.loads(result.stdout)["pairs"]}
        assert (pairs["ab"]["low"], pairs["ab"]["high"], pairs["ab"]["verdict"]) == (0, 0, "identical")
        assert pairs["ac"]["verdict"] == "identical"
        assert pairs["ac"]["low"] == -pairs["ac"]["high"] == pytest.approx(-0.104, abs=0.001)


def coverage(values: Float, truth: float, **options: Any) -> float:
    low, high = intervals(sample(values), resamples=400, **options)
    return float(((low <= truth) & (truth <= high)).mean())


RARE = [(10, 0.05), (25, 0.05), (50, 0.05), (200, 0.05), (10, 0.2), (25, 0.2), (30, 0.96), (50, 0.96)]


@pytest.mark.slow
@pytest.mark.parametrize(("queries", "share"), RARE)
def test_rare_events_are_covered(queries: int, share: float) -> None:
    """Resampling alone holds 5 % in 39, 73, 91 and 98 % of samples of 10, 25, 50 and 200."""
    times = 1000
    rng = np.random.default_rng(queries)
    assert coverage((rng.random((queries, times)) < share).astype(float), share) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("queries", [7, 15, 25, 50])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.35])
def test_values_that_seldom_differ_are_covered(queries: int, share: float) -> None:
    """Most are 0, the others anything between -0.5 and 1, as differences of two runs that are much alike."""
    times = 600
    rng = np.random.default_rng(queries)
    values = np.where(rng.random((queries, times)) < share, rng.uniform(-0.5, 1, (queries, times)), 0.0)
    assert coverage(values, share / 4) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / times)


class TestPeopleAndJudges:
    def test_30_perfect_labels(self, tmp_path: Path) -> None:
        """People found nothing wrong in 30 of 200 answers, nor did the judge: not 1.0000 [1.0000, 1.0000]."""
        path = judged(tmp_path, one=["perfect"] * 200)
        gold = tmp_path / "gold.jsonl"
        gold.write_text("".join(Path(path).read_text().splitlines(keepends=True)[:30]))
        words = (
            "label",
            "correct",
            path,
            "--gold",
            str(gold),
            "-m",
            "crag_score,hallucination",
            "--format",
            "json",
        )
        result = run_checked(*words)
        mean, share = json.loads(result.stdout)["results"]
        assert (mean["people"], mean["people_high"]) == (1, 1)
        assert mean["people_low"] == pytest.approx(0.7730, abs=1e-4)  # from -1 to 1
        assert (mean["value"], mean["high"]) == (1, 1)
        assert 0.7 < mean["low"] < 0.81
        assert (share["people_low"], share["people_high"]) == (0, pytest.approx(0.1135, abs=1e-4))
        assert share["value"] == share["low"] == 0
        assert 0.02 < share["high"] < 0.15
        assert result.stderr.count("coarse: fewer than 6 of the labeled values differ") == 2

    @pytest.mark.slow
    @pytest.mark.parametrize("labels", [30, 50, 100, 200])
    @pytest.mark.parametrize("judge", [(1.0, 0.0), (0.95, 0.08)])
    def test_corrected_means_near_the_end_are_covered(self, labels: int, judge: tuple[float, float]) -> None:
        """At a true .96, intervals without a floor held .63, .82, .89 and .93."""
        times, rng, covered, people_held = 150, np.random.default_rng(labels), 0, 0
        for _ in range(times):
            truth = rng.random(600) < 0.96
            judged = rng.random(600) < np.where(truth, *judge)
            some = truth[:labels].astype(float)
            correction = corrected(judged.astype(float), dict(enumerate(some)), paired=False, within=(0, 1))
            covered += correction.low <= 0.96 <= correction.high
            low, high = peoples_interval(some)
            people_held += low <= 0.96 <= high
        least = 0.95 - 3 * np.sqrt(0.95 * 0.05 / times)
        assert min(covered, people_held) / times >= least

    @pytest.mark.some(2)
    @pytest.mark.parametrize("kind", ["none", "quadratic"])
    def test_two_judges_who_always_agree(self, kind: str) -> None:
        """On 30 of 30 queries; and 60 judgements of 3 queries are 3 queries."""
        grades = np.tile([0.0, 1.0, 2.0], 10)
        coefficients = {
            coefficient.name: coefficient
            for coefficient in agreement(grades, grades, list(map(str, range(30))), kind)
        }
        assert (
            {coefficient.value for coefficient in coefficients.values()}
            == {coefficient.high for coefficient in coefficients.values()}
            == {1.0}
        )
        assert coefficients["agreement"].low == pytest.approx(0.8957, abs=0.001)
        lower = [coefficients[name].low for name in ("kappa", "gwet")]
        assert max(lower) < coefficients["agreement"].low
        assert min(lower) > 0.6
        few = agreement(np.tile(grades, 2), np.tile(grades, 2), list("abc" * 20), kind)
        assert few[0].low == 0
        assert all(np.isnan(coefficient.low) for coefficient in agreement(grades, grades, ["q"] * 30, kind))

    @pytest.mark.slow
    def test_agreement_that_seldom_fails_is_covered(self) -> None:
        """Two judges of two labels, half of each, who differ on 4 %: agreement .96, kappa .92."""
        times, rng = 120, np.random.default_rng(3)
        covered = {"agreement": 0, "kappa": 0}
        for _ in range(times):
            one = (rng.random(40) < 0.5).astype(float)
            other = np.where(rng.random(40) < 0.04, 1 - one, one)
            for coefficient in agreement(one, other, list(map(str, range(40))), resamples=200):
                if coefficient.name in covered:
                    covered[coefficient.name] += (
                        coefficient.low
                        <= {"agreement": 0.96, "kappa": 0.92}[coefficient.name]
                        <= coefficient.high
                    )
        assert min(covered.values()) / times >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / times)

    def test_the_passport_says_so(self, tmp_path: Path) -> None:
        path = judged(tmp_path, one=["perfect", "missing"] * 15)
        result = run_checked("label", "agree", path, path)
        assert "coarse: they differ in 0 of 30 queries" in result.stdout
        for name in ("agreement", "kappa", "gwet"):
            (line,) = [line for line in result.stdout.splitlines() if re.match(rf"\W*{name}\b", line)]
            assert line.count("1.000") == 2, "the value and its upper end"
        facts = json.loads(run_checked("label", "agree", path, path, "--format", "json").stdout)
        assert facts["queries_that_differ"] == 0

    @pytest.mark.slow
    def test_an_arena_in_which_every_query_says_the_same(self, tmp_path: Path) -> None:
        """One win each, 20 times: an interval as wide as the rule of three has it, and never a point."""
        rows = [
            {"query_id": f"q{query}", "run_id": run, "aspect": game, "label": label}
            for query in range(20)
            for game in ("first", "second")
            for run, label in zip("ab", ("win", "loss") if game == "first" else ("loss", "win"), strict=True)
        ]
        path = tmp_path / "games.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        result = run_checked("arena", str(path), "--format", "json")
        arena = json.loads(result.stdout)
        assert [row["strength"] for row in arena] == [0, 0]
        assert all(row["low"] < -0.3 < 0.3 < row["high"] for row in arena)


@pytest.mark.parametrize("limits", [(0.0, np.inf), (-np.inf, 1.0)])
def test_a_scale_without_an_end_gives_an_interval_that_ends(limits: tuple[float, float]) -> None:
    """Of values most of which are one: as wide as what was seen, never narrower than of a scale of 1."""
    values = np.array([[0.0] * 18 + [0.5, 1.0]]).T
    sample = Sample(tuple(map(str, range(20))), values, np.arange(20))
    low, high = intervals(sample, seed=1, scale=ranges_of(values, limits))
    assert np.isfinite([low, high]).all()
    assert low[0] < values.mean() < high[0]
    assert ranges_of(values, limits).span[0] == 1.0
