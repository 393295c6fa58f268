"""Laws of fusion and of pools: orders that must not matter, ties that must be kept, toys done by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval import Run, read_run
from rageval.building.pools import (
    _METHODS,
    _ranked_groups,
    contributions,
    fused,
    holes,
    pool_lines,
    pooled,
    read_pool,
    run_lines,
    size,
    unjudged,
)
from rageval.errors import UsageError

DOCS = "abcdefgh"
RANKING = st.dictionaries(st.sampled_from(DOCS), st.integers(0, 3), min_size=1)
RUNS = st.lists(st.fixed_dictionaries({"q": RANKING}), min_size=1, max_size=4)
METHOD = st.sampled_from(list(_METHODS))
DEPTH = st.integers(1, 9)


def table(run: Run) -> dict[tuple[str, str], float]:
    return {(row.query_id, row.doc_id): row.score for row in run}


def runs(rankings: list[dict[str, dict[str, float]]]) -> list[Run]:
    return [Run.from_dict(ranking, f"run{index}") for index, ranking in enumerate(rankings)]


def exact(
    rankings: list[dict[str, dict[str, int]]], method: str, depth: int, k: int = 60
) -> dict[str, Fraction]:
    """The definition, document by document, in fractions."""
    total: dict[str, Fraction] = {}
    for ranking in rankings:
        scores = ranking["q"]
        ordered = sorted(scores.values(), reverse=True)
        last = ordered[min(depth, len(ordered)) - 1]
        for doc, score in scores.items():
            if score < last:
                continue
            if method == "minmax":
                same = ordered[0] == last
                share = Fraction(0) if same else Fraction(score - last, ordered[0] - last)
            else:
                places = [place for place, other in enumerate(ordered, 1) if other == score]
                share = sum(Fraction(1, k + place) for place in places if place <= depth) / Fraction(
                    len(places)
                )
            total[doc] = total.get(doc, Fraction(0)) + share
    return total


@given(RUNS, METHOD, DEPTH)
def test_fusion_is_its_definition_and_ties_are_exactly_those_of_the_sums(
    rankings: list[dict[str, dict[str, int]]], method: str, depth: int
) -> None:
    scores = {doc: score for (_, doc), score in table(fused(runs(rankings), method, depth)).items()}
    expected = exact(rankings, method, depth)
    assert scores.keys() == expected.keys()
    for one in expected:
        assert math.isclose(scores[one], float(expected[one]), abs_tol=1e-12)
        for other in expected:
            assert (scores[one] == scores[other]) == (expected[one] == expected[other])
            assert (scores[one] > scores[other]) == (expected[one] > expected[other])


@given(RUNS, METHOD, st.randoms())
def test_the_order_of_runs_changes_nothing(
    rankings: list[dict[str, dict[str, int]]], method: str, random: object
) -> None:
    shuffled = list(rankings)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert list(run_lines(fused(runs(shuffled), method))) == list(run_lines(fused(runs(rankings), method)))


@given(RUNS, DEPTH)
def test_reciprocal_ranks_know_only_the_order(rankings: list[dict[str, dict[str, int]]], depth: int) -> None:
    bent = [{"q": {doc: math.exp(score) - 7 for doc, score in ranking["q"].items()}} for ranking in rankings]
    assert table(fused(runs(bent), "rrf", depth)) == table(fused(runs(rankings), "rrf", depth))


@given(RUNS, st.integers(1, 1000), st.integers(-50, 50))
def test_minmax_forgets_scale_and_origin(
    rankings: list[dict[str, dict[str, int]]], scale: int, origin: int
) -> None:
    first = {"q": {doc: scale * score + origin for doc, score in rankings[0]["q"].items()}}
    assert table(fused(runs([first, *rankings[1:]]))) == table(fused(runs(rankings)))


def test_decimals_are_what_the_file_says_they_are() -> None:
    # In binary, 0.3 − 0.2 and 0.2 − 0.1 differ: a and b would be told apart by noise.
    one, other = {"q": {"a": 0.3, "b": 0.2, "c": 0.1}}, {"q": {"b": 0.2, "c": 0.3, "d": 0.1}}
    scores = table(fused(runs([one, other])))
    assert scores["q", "a"] == scores["q", "b"] == scores["q", "c"] == 1.0


def test_sums_too_near_for_a_float_stay_apart() -> None:
    tiny = 1e-30
    one, other = {"q": {"a": 1.0, "b": tiny, "c": 0.0}}, {"q": {"b": 1.0, "a": 0.0, "c": 0.0}}
    scores = table(fused(runs([one, other])))
    assert scores["q", "b"] > scores["q", "a"]
    assert scores["q", "b"] - scores["q", "a"] <= math.ulp(1.0)


def test_equal_scores_share_their_places_and_what_lies_beyond_the_depth_is_nothing() -> None:
    run = Run.from_dict({"q": {"a": 9, "b": 5, "c": 5, "d": 1}})
    scores = {doc: score for (_, doc), score in table(fused([run], "rrf", depth=2, k=0)).items()}
    assert scores == {"a": 1.0, "b": 1 / 4, "c": 1 / 4}
    assert [docs for _, _, docs in _ranked_groups({"a": 9, "b": 5, "c": 5, "d": 1}, 2)] == [["a"], ["b", "c"]]


def test_a_run_with_one_score_gives_nothing() -> None:
    """As `fusion` of freshstack 0.0.6: (s - min) / (max - min + 1e-8)."""
    assert table(fused(runs([{"q": {"a": 7, "b": 7}}]))) == {("q", "a"): 0.0, ("q", "b"): 0.0}


@given(RUNS, METHOD)
def test_a_fused_run_is_read_back_as_it_was(rankings: list[dict[str, dict[str, int]]], method: str) -> None:
    from tempfile import TemporaryDirectory

    run = fused(runs(rankings), method)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fused.trec"
        path.write_text("\n".join(run_lines(run)) + "\n")
        assert table(read_run(path)) == table(run)


def test_ids_with_spaces_are_parted_by_tabs(tmp_path: Path) -> None:
    run = fused([Run.from_dict({"a question": {"a doc": 1.0, "b": 0.5}})])
    (tmp_path / "fused").write_text("\n".join(run_lines(run)) + "\n")
    assert table(read_run(tmp_path / "fused")) == table(run)


def test_what_cannot_be_fused_is_refused() -> None:
    with pytest.raises(UsageError, match="expected one of minmax, rrf"):
        fused([], "borda")
    with pytest.raises(UsageError, match="a depth from 1"):
        fused([], depth=0)


@given(RUNS, DEPTH)
def test_a_pool_is_the_union_of_the_tops_and_remembers_where_from(
    rankings: list[dict[str, dict[str, int]]], depth: int
) -> None:
    named = {run.name: run for run in runs(rankings)}
    pool = pooled(named, depth)
    for name, ranking in zip(named, rankings, strict=True):
        order = sorted(ranking["q"], key=lambda doc: (ranking["q"][doc], doc), reverse=True)
        ranks = {doc: sources[name] for doc, sources in pool["q"].items() if name in sources}
        assert ranks == {doc: rank for rank, doc in enumerate(order[:depth], 1)}
    assert all(pool["q"].values())
    parts = contributions(pool)
    assert sum(new for _, _, new in parts.values()) == len(pool["q"])
    sizes = [size(pooled(named, depth_tried)).documents for depth_tried in range(1, 9)]
    assert sizes == sorted(sizes)


def test_a_run_that_comes_later_adds_behind() -> None:
    first, second = runs([{"q": {"a": 2, "b": 1}}, {"q": {"c": 3, "a": 1}}])
    before, after = pooled({"1": first}), pooled({"1": first, "2": second})
    assert list(after["q"])[: len(before["q"])] == list(before["q"])


def test_contributions_by_hand() -> None:
    tables = runs([{"q": {"a": 2, "b": 1}}, {"q": {"b": 3, "c": 1}}, {"q": {"c": 1}}])
    pool = pooled({run.name: run for run in tables})
    assert contributions(pool) == {"run0": (2, 1, 2), "run1": (2, 0, 1), "run2": (1, 0, 0)}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_contributions_add_up_in_every_order(order: tuple[int, ...]) -> None:
    tables = runs([{"q": {"a": 2, "b": 1}}, {"q": {"b": 3, "c": 1}}, {"q": {"c": 1}}])
    pool = pooled({tables[index].name: tables[index] for index in order})
    assert sum(new for _, _, new in contributions(pool).values()) == 3


def test_a_pool_is_read_back(tmp_path: Path) -> None:
    pool = pooled({"a run": Run.from_dict({"q": {"d 1": 2.0, "d2": 1.0}})})
    (tmp_path / "pool").write_text("\n".join(pool_lines(pool)) + "\n")
    assert read_pool(tmp_path / "pool") == pool


def test_holes_by_hand() -> None:
    run = Run.from_dict({"q": {"a": 4, "b": 3, "c": 2, "d": 1}, "unjudged query": {"x": 1}})
    judged = {"q": {"a", "c"}}
    assert unjudged(run, judged, 3) == {"q": {"b": {"run": 2}}}
    unjudged_there = holes(run, judged, 4)
    assert (
        unjudged_there.documents,
        unjudged_there.unjudged,
        unjudged_there.queries,
        unjudged_there.share,
    ) == (4, 2, 1, 0.5)
    assert holes(run, {}, 4).share == 0.0
