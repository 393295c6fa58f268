"""What is said of a pair beside its p: how many queries it needs, what could be found; no contradiction."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval.cli import main
from rageval.comparison.comparisons import compare_runs
from rageval.comparison.results import Comparison, Pair, Settings
from rageval.statistics.agreement import agreement
from rageval.statistics.power import detectable, fewest, needed, needed_between
from reasons import why


def compared(gains: list[float], **options: object) -> tuple[Pair, Comparison]:
    """A run whose values are `gains` above another's, as reciprocal ranks of 1 and less."""
    qrels = {f"q{index:03d}": {"a": 1} for index in range(len(gains))}

    def run(values: list[float]) -> dict[str, dict[str, float]]:
        """`a` at rank 1 or 2: 1 or a half."""
        return {query: {"a": 1.0, "b": 0.0 if value > 0.5 else 2.0}
                for query, value in zip(qrels, values, strict=True)}  # fmt: skip

    one = run([0.5 + max(gain, 0) for gain in gains])
    other = run([0.5 + max(-gain, 0) for gain in gains])
    comparison = compare_runs(
        "rr", {"one": one, "other": other}, qrels, Settings(baseline="other", **options)
    )  # type: ignore[arg-type]
    return comparison.pairs[0], comparison


class TestNeeded:
    def test_the_ends_are_what_the_ends_of_the_interval_need(self) -> None:
        least, most = needed_between(0.02, 0.1, 0.02, 50)
        assert (least, most) == (needed(0.1, 0.02, 50), needed(0.02, 0.02, 50))
        assert needed_between(-0.1, -0.02, 0.02, 50) == (least, most)
        assert needed_between(-0.02, 0.1, 0.02, 50) == (least, None)
        assert needed_between(0.0, 0.1, 0.02, 50) == (least, None)
        assert needed_between(0.0, 0.0, 0.0, 50) == (None, None)

    def test_a_test_of_signs_needs_enough_that_differ(self) -> None:
        """With 2 of 50 that differ, 6 do at 150."""
        assert needed_between(0.1, 0.4, 0.01, 50, differ=2) == (150, 150)
        assert needed_between(0.1, 0.4, 0.01, 50, differ=50)[0] == 6

    def test_the_range_holds_the_true_number(self) -> None:
        """At a true .3 of a standard deviation, 90 queries are needed; a point would say 28 to 1,371."""
        rng, covered = np.random.default_rng(0), 0
        for _ in range(300):
            drawn = rng.normal(0.3, 1, 50)
            error = float(drawn.std(ddof=1)) / 50**0.5
            half = 2.0095752344892093 * error  # t of 49
            least, most = needed_between(float(drawn.mean()) - half, float(drawn.mean()) + half, error, 50)
            covered += least is not None and least <= 90 and (most is None or most >= 90)
        assert 0.92 < covered / 300 < 0.98

    def test_it_is_printed_as_a_range(self, tmp_path: Path) -> None:
        pair, _ = compared([1.0] * 10 + [0.0] * 40)
        assert pair.needed_least is not None
        assert pair.needed_most is not None
        assert pair.needed == f"{pair.needed_least} … {pair.needed_most}"
        undecided, _ = compared([1.0] * 4 + [-1.0] * 3 + [0.0] * 40)
        assert undecided.needed_most is None
        assert undecided.needed == f"{undecided.needed_least:,} or more"
        same, _ = compared([0.0] * 10)
        assert same.needed == "-"


class TestDetectable:
    @pytest.mark.parametrize(("level", "number"), [(0.8, 4), (0.9, 5), (0.95, 6), (0.99, 8), (0.999, 11)])
    def test_so_many_differences_of_one_sign_are_the_first_that_tell(self, level: float, number: int) -> None:
        assert fewest(level) == number
        assert 2.0 ** (1 - number) <= 1 - level < 2.0 ** (2 - number)

    @pytest.mark.parametrize(("differ", "is_reachable"), [(3, False), (5, False), (6, True)])
    def test_ties_put_every_difference_out_of_reach(self, differ: int, is_reachable: bool) -> None:
        """10 queries, most of them ties: promised with power .8, it was found in .054 of samples."""
        pair, comparison = compared([1.0] * differ + [0.0] * (10 - differ))
        assert (pair.detectable == pair.detectable) is is_reachable
        remark = f"rr: no difference is detectable in 1 of 1 pair: {differ} queries differ, 6 are needed"
        assert (remark in map(str, comparison.remarks)) is not is_reachable
        if is_reachable:
            # The test alone would decide; the interval of so few differences includes 0.
            assert pair.p <= 0.05
            assert (pair.verdict, pair.low <= 0) == ("undecided", True)

    def test_students_t_counts_no_signs(self) -> None:
        pair, _ = compared([1.0] * 3 + [0.0] * 7, test="t")
        error = float(np.std([0.5] * 3 + [0.0] * 7, ddof=1)) / 10**0.5
        assert pair.detectable == pytest.approx(detectable(error, 10))

    def test_every_format_says_it(self, tmp_path: Path) -> None:
        for name, place in (("one", 1), ("other", 2)):
            rows = [
                f"q{index} Q0 {doc} 0 {score} r\n"
                for index in range(10)
                for doc, score in (("a", 1.0), ("b", 2.0 if place == 2 and index < 3 else 0.5))
            ]
            (tmp_path / name).write_text("".join(rows))
        (tmp_path / "qrels").write_text("".join(f"q{index} 0 a 1\n" for index in range(10)))
        words = [str(tmp_path / name) for name in ("one", "other", "qrels")]

        def compare_in(style: str) -> Result:
            result = CliRunner().invoke(main, ["compare", *words, "-m", "rr", "--details", "--format", style])
            assert result.exit_code == 0, result.output
            return result

        for style in ("table", "md"):
            assert "not reachable" in compare_in(style).stdout
            assert "3 queries differ, 6 are needed" in compare_in(style).stderr
        (row,) = csv.DictReader(io.StringIO(compare_in("csv").stdout))
        assert (row["detectable"], row["needed_most"]) == ("", "")
        (pair,) = json.loads(compare_in("json").stdout)["pairs"]
        assert (pair["detectable"], pair["needed_most"]) == (None, None)
        assert int(row["needed_least"]) == pair["needed_least"] >= 20


class TestNoContradiction:
    @settings(max_examples=150, deadline=None)
    @given(
        st.integers(0, 12), st.integers(0, 12), st.integers(0, 40), st.sampled_from(["randomization", "t"])
    )
    @pytest.mark.slow
    def test_an_interval_leaves_out_0_only_where_the_test_does(
        self, up: int, down: int, ties: int, test: str
    ) -> None:
        if up + down + ties < 2:
            return
        pair, _ = compared([1.0] * up + [-1.0] * down + [0.0] * ties, test=test)
        if pair.low > 0 or pair.high < 0:
            assert pair.p <= 0.05
            assert pair.is_significant

    def test_most_of_them_ties(self) -> None:
        """Resampling alone says [.02, .2] of these, and the test p .07."""
        pair, _ = compared([1.0] * 6 + [-1.0] + [0.0] * 42)
        assert pair.p == pytest.approx(0.0703125, abs=0.005)
        assert (pair.low, pair.verdict) == (0, "undecided")
        assert pair.high > 0.05

    def test_among_many_pairs_the_reason_is_given(self) -> None:
        qrels = {f"q{index:03d}": {"a": 1} for index in range(30)}
        runs = {
            f"r{run}": {
                query: {"a": 1.0, "b": 2.0 if index < 9 * (run == 0) or (index == 29 and run) else 0.0}
                for index, query in enumerate(qrels)
            }
            for run in range(6)
        }
        comparison = compare_runs("rr", runs, qrels, Settings(all_pairs=True, adjust="holm"))
        contradictions = [
            pair
            for pair in comparison.pairs
            if pair.verdict == "undecided" and (pair.low > 0 or pair.high < 0)
        ]
        assert contradictions
        assert all("the interval is of this pair alone, where p is" in why(pair) for pair in contradictions)


def test_skewed_differences_are_said_to_be() -> None:
    rng = np.random.default_rng(1)
    qrels = {f"q{index:03d}": {f"d{doc}": 1 for doc in range(10)} for index in range(60)}

    def run(scores: list[int]) -> dict[str, dict[str, float]]:
        return {query: {**{f"d{doc}": 9.0 for doc in range(number)}, "x": 1.0}
                for query, number in zip(qrels, scores, strict=True)}  # fmt: skip

    for gains, is_skewed in (([10] * 5 + [4] * 55, True), (rng.choice([4, 5, 6], 60).tolist(), False)):
        losses = [5] * 60 if is_skewed else [4] * 60
        comparison = compare_runs("recall", {"one": run(gains), "other": run(losses)}, qrels)
        (pair,) = comparison.pairs
        assert pair.p < 0.05
        assert (pair.low <= 0 <= pair.high) is is_skewed
        plain = "higher" if pair.difference > 0 else "lower"
        assert pair.verdict == ("undecided" if is_skewed else plain)
        assert why(pair).startswith("differences are skewed") is is_skewed
        remark = "differences are skewed in 1 of 1 pair"
        assert any(remark in text for text in map(str, comparison.remarks)) is is_skewed
        assert not any(
            "--test t" in text or "cannot be small enough" in text for text in map(str, comparison.remarks)
        )


@pytest.mark.nightly
def test_agreement_of_ten_queries_is_as_wide_as_of_any_ten_queries() -> None:
    """The plain percentile held the truth in .86 to .90."""
    rng, covered = np.random.default_rng(3), 0
    names = [f"q{index // 12}" for index in range(120)]
    for _ in range(300):
        easy = np.repeat(rng.beta(6, 2, 10), 12)  # how often they agree differs by query
        same = rng.random(120) < easy
        one = rng.integers(0, 2, 120).astype(float)
        kappa = agreement(one, np.where(same, one, 1 - one), names, resamples=400)[0]
        covered += kappa.low <= 0.75 <= kappa.high
    assert 0.915 < covered / 300 < 0.98
