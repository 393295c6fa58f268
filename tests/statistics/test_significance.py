"""What significance may not depend on: how many runs are compared, how a test is computed, the scale."""

from __future__ import annotations

import json
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval.cli import main
from rageval.comparison import Comparison, Pair, Settings, compare
from rageval.measures.parsing import parse_measure
from rageval.scoring.scores import Score, Scores
from rageval.statistics import significance
from rageval.statistics.samples import AT_ONCE, Float
from rageval.statistics.significance import _chernoff, _exact_sign_flip, _signs, holm, max_t, sign_flip
from reasons import why

LARGEST = 125  # relevant documents a query, so that recall is any number of 125ths


def pairs_of(runs: int) -> Any:
    return np.array(list(combinations(range(runs), 2)))


def scored(columns: Float) -> list[Scores]:
    """A run for each column of values a query."""
    queries = [f"q{index:03d}" for index in range(len(columns))]
    measure = parse_measure("recall")
    return [
        Scores(f"run{index:03d}", (Score(measure, queries, column, 0, "made up"),))
        for index, column in enumerate(columns.T)
    ]


def compared(columns: Float, **options: Any) -> dict[str, Pair]:
    """Every run against the first."""
    comparison = compare(scored(columns), Settings(baseline="run000", resamples=100, **options))
    return {pair.run: pair for pair in comparison.pairs}


def files(folder: Path, columns: Float) -> list[str]:
    """The same as files: runs whose recall is what is asked for, and judgements."""
    names = []
    for index, column in enumerate(columns.T):
        lines = [
            f"q{query:03d} Q0 {f'd{rank}' if rank < round(value * LARGEST) else f'x{rank}'} 1 {-rank} t\n"
            for query, value in enumerate(column.tolist())
            for rank in range(max(round(value * LARGEST), 1))
        ]
        names.append(f"run{index:03d}")
        (folder / names[-1]).write_text("".join(lines))
    rows = [f"q{query:03d} 0 d{doc} 1\n" for query in range(len(columns)) for doc in range(LARGEST)]
    (folder / "qrels").write_text("".join(rows))
    return [str(folder / name) for name in [*names, "qrels"]]


def command(*words: str) -> Any:
    result = CliRunner().invoke(main, ["compare", *words, "-m", "recall", "--format", "json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), result.stderr


def near(values: Float, runs: int, seed: int = 1) -> Float:
    """Runs that hardly differ: queries of some difficulty, and a little noise."""
    rng = np.random.default_rng(seed)
    return np.clip(values[:, None] + rng.normal(0, 0.02, (len(values), runs)), 0, 1)


class TestHowManyRunsThereAre:
    """A run that loses 0.584 on 25 of 25 queries is lower, whatever else lies in the folder."""

    DIFFICULTY = np.random.default_rng(7).uniform(0.65, 0.95, 25)

    def columns(self, runs: int) -> Float:
        columns = near(self.DIFFICULTY, runs)
        columns[:, -1] = columns[:, 0] - 0.584
        return np.round(columns * LARGEST) / LARGEST

    @pytest.mark.slow
    @pytest.mark.parametrize("runs", [2, 3, 32, 33, 60])
    def test_at_the_command_line(self, runs: int, tmp_path: Path) -> None:
        outcome, _ = command(*files(tmp_path, self.columns(runs)), "--resamples", "100", "--all-pairs")
        worst = f"run{runs - 1:03d}"
        lost = [pair for pair in outcome["pairs"] if pair["other"] == worst and pair["run"] == "run000"]
        assert [(pair["verdict"], pair["p"], pair["wins"]) for pair in lost] == [("higher", 2 / 2**25, 25)]
        assert lost[0]["adjusted"] <= len(outcome["pairs"]) * 2 / 2**25

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("runs", "queries", "adjust"),
        [
            *product((2, 33), (25, 50), ("holm", "max_t")),
            pytest.param(200, 25, "holm", marks=pytest.mark.nightly),
            pytest.param(200, 50, "max_t", marks=pytest.mark.nightly),
        ],
    )
    def test_in_python_the_worst_run_is_lower_among_however_many(
        self, runs: int, queries: int, adjust: str
    ) -> None:
        columns = np.concatenate((self.columns(runs), self.columns(runs)))[:queries]
        comparison = compare(scored(columns), Settings(adjust=adjust, resamples=100, draws=1000))
        worst = next(pair for pair in comparison.pairs if f"run{runs - 1:03d}" in (pair.run, pair.other))
        assert (worst.verdict, why(worst)) == ("lower", "")
        assert worst.p == pytest.approx(2 / 2**queries)

    def test_a_pair_has_one_p_in_every_folder(self) -> None:
        many = near(np.random.default_rng(3).uniform(0.2, 0.8, 40), 8)
        for queries in (12, 40):
            alone = compared(many[:queries, :2])["run001"]
            assert compared(many[:queries])["run001"].p == alone.p


@pytest.mark.some(4)
@pytest.mark.parametrize("queries", [22, 40])
@pytest.mark.parametrize("runs", [3, 33])
def test_22_to_0_is_never_less_than_18_to_2(queries: int, runs: int) -> None:
    columns = np.full((queries, runs), 0.4)
    columns[:, 3:] = near(np.full(queries, 0.4), runs - 3)
    columns[:22, 1] += np.repeat([0.1, 0.0, -0.1], [18, 2, 2])
    columns[:22, 2] += 0.5
    small, large = (compared(columns)[name] for name in ("run001", "run002"))
    assert (small.wins, small.ties, small.losses) == (18, queries - 20, 2)
    assert (large.wins, large.ties, large.losses) == (22, queries - 22, 0)
    assert large.p <= small.p
    assert large.adjusted <= small.adjusted
    assert large.verdict == "higher"


# With few queries all signs are tried, with many they are drawn.
GROWING = st.integers(2, 60).flatmap(
    lambda queries: st.tuples(
        st.lists(st.integers(-8, 12), min_size=queries, max_size=queries),
        st.lists(st.integers(0, 9), min_size=queries, max_size=queries),
        st.integers(3, 9),
    )
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(GROWING)
def test_where_every_difference_grows_or_stays_p_does_not(example: tuple[list[int], list[int], int]) -> None:
    """For a mean difference above 0; alone, and by Holm among 3 to 9 runs."""
    before, growth, runs = (np.array(part) for part in example)
    if before.sum() <= 0:
        before = before - before.min()
    rng = np.random.default_rng(int(before.sum()))
    columns = rng.integers(20, 40, (len(before), int(runs))) / 64
    columns[:, 1] = columns[:, 0] + before / 64
    columns[:, 2] = columns[:, 0] + (before + growth) / 64
    comparison = compared(columns, draws=200, test="randomization", adjust="holm")
    assert comparison["run002"].p <= comparison["run001"].p
    assert comparison["run002"].adjusted <= comparison["run001"].adjusted


@pytest.mark.slow
@pytest.mark.parametrize("runs", [2, 20, 200])
@pytest.mark.parametrize("queries", [25, 31, 50, 120])
def test_in_order_among_many_runs_too(runs: int, queries: int) -> None:
    """A run for each step by which differences grow, from nothing to far beyond what draws can tell."""
    rng = np.random.default_rng(queries)
    begin = rng.normal(0.01, 0.3, queries)
    steps = np.linspace(0, 0.8, runs - 1) * rng.random(queries)[:, None]
    columns = np.column_stack((np.zeros(queries), begin[:, None] + steps))
    pairs = np.stack((np.arange(1, runs), np.zeros(runs - 1, np.int64)), axis=1)
    rising = columns.sum(axis=0)[1:] > 0
    p = sign_flip(columns, pairs, 1000).p[rising]
    assert (np.diff(p) <= 1e-12 * p[:-1]).all()
    assert (np.diff(holm(p)) <= 1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_in_order_where_one_way_of_computing_p_ends_and_another_begins(seed: int) -> None:
    """By small steps: from few differences to more, from losses to ties, from a few draws to many."""
    rng = np.random.default_rng(seed)
    begin = np.zeros(40)
    begin[:19] = rng.normal(0, 1, 19)
    begin[:19] += 0.01 - begin[:19].mean()
    ladder = [begin]
    for query in rng.permutation(40).tolist() * 4:
        step = ladder[-1].copy()
        step[query] = max(step[query], 0) if step[query] < 0 else step[query] + rng.uniform(0, 0.1)
        ladder.append(step)
    columns = np.column_stack((np.zeros(40), *ladder))
    pairs = np.stack((np.arange(1, columns.shape[1]), np.zeros(len(ladder), np.int64)), axis=1)
    p = sign_flip(columns, pairs, 200, seed).p[columns.sum(axis=0)[1:] > 0]
    assert p[0] > 0.5 > 0.005 > p[-1]
    assert (np.diff(p) <= 1e-12 * p[:-1]).all()


@pytest.mark.slow
def test_a_second_look_never_leads_above_the_p_that_a_first_one_leaves_alone() -> None:
    """Else a larger difference, looked at twice, could end above a smaller one, looked at once."""
    columns = np.column_stack((np.random.default_rng(9).normal(0.35, 1, (40, 400)), np.zeros(40)))
    flipped = sign_flip(columns, np.stack((np.arange(400), np.full(400, 400)), axis=1), 100, 5)
    is_second = flipped.draws > 100
    assert 10 < is_second.sum() < 300
    assert flipped.p[is_second].max() <= flipped.p[~is_second & ~flipped.at_floor].min() == 3 / 101


def test_a_second_look_has_draws_enough_for_the_p_that_is_small_enough_for_all_pairs() -> None:
    """20 draws of 160 reach a sum with p 1/8, which a level of 75 % and two pairs ask for."""
    one, other = np.where(np.arange(64) < 44, 1.0, -1.0), np.tile([1.0, -1.0], 32)
    columns = np.column_stack((one, other, np.zeros(64)))
    flipped = sign_flip(columns, np.array([(0, 2), (1, 2)]), draws=100, level=0.75)
    assert flipped.draws.tolist() == [160, 100]
    assert flipped.p[0] < 0.01 < flipped.p[1] == 1


def test_a_second_look_finds_what_a_first_one_with_so_many_draws_would() -> None:
    """Of each pair that is looked at again, in its own columns."""
    columns = np.column_stack([np.where(np.arange(64) < ahead, 1.0, -1.0) for ahead in (32, 42, 43)])
    columns[:, 0] = 0
    pairs = np.array([(1, 0), (2, 0)])
    flipped = sign_flip(columns, pairs, draws=100)
    assert (flipped.draws > 700).all()
    assert flipped.p.tolist() == sign_flip(columns, pairs, draws=int(flipped.draws[0])).p.tolist()
    assert 3 / 101 > flipped.p[0] > flipped.p[1] > 2 / flipped.draws[1]


class TestWhatPIs:
    @pytest.mark.slow
    @settings(max_examples=150, deadline=None)
    @given(st.lists(st.integers(-1000, 1500), min_size=1, max_size=14))
    def test_chernoffs_bound_is_never_too_small(self, differences: list[int]) -> None:
        drawn = np.array(differences) / 1000
        assert _chernoff(drawn[:, None])[0] >= _exact_sign_flip(drawn) * (1 - 1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(8))
    def test_draws_find_what_all_signs_give(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Within five standard errors of so many draws, of which there are more where p is small."""
        rng = np.random.default_rng(seed)
        columns = rng.normal(np.linspace(0, 0.4, 12), 0.4, (26, 12))
        pairs = pairs_of(12)
        exact = sign_flip(columns, pairs).p
        monkeypatch.setattr(significance, "_EXACT", 0)
        drawn = sign_flip(columns, pairs)
        is_resolved = ~drawn.at_floor
        hits = exact[is_resolved] * drawn.draws[is_resolved]
        assert (np.abs(drawn.p[is_resolved] * drawn.draws[is_resolved] - hits) <= 5 * np.sqrt(hits) + 5).all()
        decisive = (exact > 1e-4) & (exact < 0.005)
        assert decisive.any()
        assert (drawn.draws[decisive] > 26_000).all()  # 20 of them where p × 66 is 0.05
        assert (drawn.p >= exact)[exact * drawn.draws < 0.1].all()

    @pytest.mark.slow
    @pytest.mark.parametrize("alpha", [0.05, 0.01, 0.002, 0.0002])
    def test_no_p_comes_up_too_often(self, alpha: float) -> None:
        """No step from one way of computing p to the next makes it too small: 5 % are below 0.05, …"""
        times = 20_000
        values = np.random.default_rng(17).exponential(1, (36, times)) * np.random.default_rng(18).choice(
            [-1.0, 1.0], (36, times)
        )
        pairs = np.stack((np.arange(times), np.full(times, times)), axis=1)
        p = sign_flip(np.column_stack((values, np.zeros(36))), pairs, 499, 3, level=1 - 0.05 * times / 40).p
        assert (p <= alpha).mean() <= alpha + 4 * np.sqrt(alpha / times)

    def test_where_resolution_decides_the_claim_says_so(self, tmp_path: Path) -> None:
        columns = np.full((5, 3), 0.2)
        columns[:, 1] = [0.4, 0.48, 0.56, 0.8, 0.96]
        columns[:, 2] = [0.24, 0.16, 0.24, 0.16, 0.24]
        outcome, stderr = command(*files(tmp_path, columns), "--baseline", "run000", "--adjust", "holm")
        first, second = outcome["pairs"]
        assert (first["verdict"], first["p"], first["wins"]) == ("undecided", 2 / 2**5, 5)
        assert why(first) == (
            "p cannot be below 0.062 where no more than 5 queries differ; Holm over 2 pairs makes it 0.12;"
            " more queries can help"
        )
        assert (second["verdict"], why(second)) == ("undecided", "")
        assert "recall: p cannot be small enough in 1 of 2 pairs; see why" in stderr

    @pytest.mark.slow
    @pytest.mark.parametrize("adjust", ["holm", "max_t"])  # of one pair, the same
    def test_where_draws_decide_the_claim_says_so(self, adjust: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(significance, "_WORK", 0)
        columns = np.random.default_rng(3).normal((0, 0.35), 0.3, (40, 2))
        wide = compared(columns, draws=100, level=0.9995, adjust=adjust)["run001"]
        assert wide.verdict == "undecided"
        assert why(wide) == (
            "p is at its floor of 0.00084, a bound: none of 100 draws reached the difference; more"
            " --draws can help"
        )
        assert compared(columns, draws=100_000, level=0.9995, adjust=adjust)["run001"].verdict == "higher"


class TestSignsFlippedTogether:
    @pytest.mark.parametrize("seed", range(4))
    def test_every_pattern_of_signs(self, seed: int) -> None:
        """Of few queries all are tried: here by hand, in units of each pair's own size."""
        values = np.random.default_rng(seed).normal(0, 1, (6, 4))
        values[:, 3] = values[:, 2] + values[:, 3] / 50
        gaps = np.array([values[:, i] - values[:, j] for i, j in pairs_of(4)]).T
        size = np.sqrt((gaps**2).sum(axis=0))
        drawn = np.array([np.abs(np.array(signs) @ gaps / size) for signs in product((1, -1), repeat=6)])
        seen = np.abs(gaps.sum(axis=0) / size)
        # Each beside those that differ no more than it; never below a larger one.
        alone = [(drawn[:, seen <= pattern].max(axis=1) >= pattern - 1e-12).mean() for pattern in seen]
        expected = [
            max(p for p, other in zip(alone, seen, strict=True) if other >= pattern) for pattern in seen
        ]
        assert max_t(values, pairs_of(4)).p == pytest.approx(expected)
        assert max_t(np.tile(values, (3, 1)), pairs_of(4), 4000).p.max() <= 1

    @pytest.mark.some(3)
    @pytest.mark.parametrize("factor", [0.001, 7.3, 1000.0])
    @pytest.mark.parametrize("queries", [8, 40])
    def test_scaling_all_differences_changes_nothing(self, factor: float, queries: int) -> None:
        columns = near(np.random.default_rng(2).random(queries), 9)
        columns[:, 4] += 0.03
        before, after = (compared(values, adjust="max_t") for values in (columns, factor * columns))
        p = [pair.adjusted for pair in before.values()]
        assert p == pytest.approx([pair.adjusted for pair in after.values()], rel=1e-12)
        assert [pair.verdict for pair in before.values()] == [pair.verdict for pair in after.values()]

    def test_a_pair_that_varies_more_does_not_hide_the_others(self) -> None:
        """Near-copies with a small, sure difference beside two wild runs."""
        rng = np.random.default_rng(11)
        base = rng.random(30)
        columns = near(base, 8, seed=4)
        columns[:, 7] += 0.02
        columns = np.column_stack((columns, base + rng.normal(0, 0.3, 30), base + rng.normal(0, 0.3, 30)))
        assert compared(columns, adjust="max_t")["run007"].verdict == "higher"

    @pytest.mark.slow
    def test_a_baseline_named_beforehand_is_cheaper(self) -> None:
        columns = near(np.random.default_rng(6).random(30), 12)
        columns[:, 3] += 0.008
        named = compared(columns, adjust="max_t")
        comparison = compare(scored(columns), Settings(all_pairs=True, adjust="max_t", resamples=100))
        everything = {pair.other: pair for pair in comparison.pairs if pair.run == "run000"}
        assert all(named[run].adjusted <= everything[run].adjusted for run in named)
        assert named["run003"].adjusted < everything["run003"].adjusted

    def test_undefined_values_and_clusters(self) -> None:
        """A query that one run lacks adds nothing to its pairs, and stays for the others."""
        columns = near(np.random.default_rng(8).random(40), 4)
        columns[:, 1] += 0.05
        columns[:12, 3] = np.nan
        gappy = compared(columns, adjust="max_t")
        assert gappy["run001"].adjusted == pytest.approx(
            compared(columns[:, :3], adjust="max_t")["run001"].adjusted, abs=0.01
        )
        clusters = {f"q{index:03d}": f"c{index // 10}" for index in range(40)}
        few = compared(columns, adjust="max_t", clusters=clusters)["run001"]
        assert (few.p, few.verdict) == (2 / 2**4, "undecided")
        assert few.adjusted >= few.p
        assert "no more than" in why(few)


def family_wise(world: Any, runs: int, times: int = 300) -> dict[str, float]:
    """How often something is claimed where nothing is."""
    rng = np.random.default_rng(29)
    alarms = dict.fromkeys(("holm", "max_t"), 0)
    for _ in range(times):
        values = world(rng, 25, runs)
        alarms["holm"] += bool((holm(sign_flip(values, pairs_of(runs)).p) <= 0.05).any())
        alarms["max_t"] += bool((max_t(values, pairs_of(runs), 199).p <= 0.05).any())
    return {name: count / times for name, count in alarms.items()}


def near_copies(rng: np.random.Generator, queries: int, runs: int) -> Float:
    """All but two runs are one base with a little noise; two know nothing but how hard a query is."""
    hardness = rng.random((queries, 1))
    base = hardness + rng.normal(0, 0.3, (queries, 1))
    return np.hstack(
        (base + rng.normal(0, 0.02, (queries, runs - 2)), hardness + rng.normal(0, 0.3, (queries, 2)))
    )


def equal_runs(rng: np.random.Generator, queries: int, runs: int) -> Float:
    drawn: Float = rng.random((queries, 1)) + rng.normal(0, 0.3, (queries, runs))
    return drawn


@pytest.mark.nightly
def test_false_alarms_among_near_copies() -> None:
    share = family_wise(near_copies, 10)
    error = 3 * np.sqrt(0.05 * 0.95 / 300)
    assert max(share["holm"], share["max_t"]) <= 0.05 + error
    assert share["max_t"] > share["holm"] / 2


@pytest.mark.nightly
def test_false_alarms_among_runs_that_are_alike() -> None:
    share = family_wise(equal_runs, 8)
    assert max(share.values()) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert share["max_t"] >= 0.02


def test_a_comparison_is_the_same_every_time() -> None:
    columns = near(np.random.default_rng(1).random(45), 6)
    first, second = (compare(scored(columns), Settings(adjust="max_t", resamples=100)) for _ in range(2))
    assert isinstance(first, Comparison)
    assert first == second


def test_chernoffs_bound_of_a_sum_of_1_is_no_exception() -> None:
    assert _chernoff(np.full((50, 1), 0.02))[0] == pytest.approx(2 / 2**50, rel=1e-6)


@pytest.mark.parametrize("begin", [0, 1, 39])
@pytest.mark.parametrize("width", [7, AT_ONCE // 3])
def test_signs_are_those_of_one_stream_wherever_they_begin_and_however_many_at_once(
    begin: int, width: int
) -> None:
    whole = np.where(np.random.default_rng(5).random((40, 7)) < 0.5, -1.0, 1.0)
    for _ in range(2):  # the second time from what is kept
        assert np.array_equal(np.vstack([*_signs(7, 40, 5, width, begin)]), whole[begin:])


class TestNoAdjustedPIsBelowItsOwn:
    """Adjusted for several pairs, a difference is no surer than by itself, whatever was drawn."""

    @pytest.mark.some(6)
    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize("adjust", ["max_t", "holm"])
    def test_of_a_comparison(self, seed: int, adjust: str) -> None:
        draw = np.random.default_rng(seed)
        queries, runs = int(draw.integers(4, 60)), int(draw.integers(2, 5))
        columns = draw.normal(0.5, 0.2, (queries, runs)) + 0.1 * np.arange(runs)
        # Few queries that differ have an exact p, and values in steps tie.
        columns = np.where(draw.random((queries, 1)) < 0.5, columns, columns[:, :1]) if seed % 2 else columns
        columns = np.round(columns, 1) if seed % 3 == 0 else columns
        for baseline in ("run000", "best"):
            how = Settings(baseline=baseline, resamples=100, draws=200, seed=seed, adjust=adjust)
            for pair in compare(scored(columns), how).pairs:
                assert pair.adjusted >= pair.p, (pair.run, pair.other)
