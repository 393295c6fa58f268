"""Bounds over the unjudged documents, against all completions: every set of nuggets for each of them."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import rageval
from rageval.cli import main
from rageval.comparison.comparisons import _certain_ruling
from rageval.errors import MeasureError, UsageError
from rageval.measures import bounds
from rageval.measures.base import Measure
from rageval.measures.bounds import Ends, Retrieved
from rageval.measures.ranking import Topic, discounted, logarithmic
from rageval.scoring.qrels import Qrels
from rageval.scoring.scorers import bounds_of as declared

Judged = dict[str, dict[str, int]]
REACHED = [
    *("coverage", "strec", "recall", "all_gold", "p", "success", "rr", "ap", "ndcg", "alpha_dcg"),
    *("alpha_dcg(alpha=1)", "err_ia", "err_ia(normalize=none)", "nrbp", "p_ia"),
]
HELD = ["alpha_ndcg", "alpha_ndcg(ideal=exact)", "alpha_ndcg(alpha=0.9)", "nerr_ia", "nnrbp"]
SLACK = 1e-9


def measure(name: str, k: int | None) -> Measure:
    parsed = rageval.parse_measure(name if k is None else f"{name}@{k}")
    assert isinstance(parsed, Measure)
    return parsed


def topic(rng: random.Random) -> Judged:
    """Three nuggets and five documents that are judged, two that are not."""
    return {n: {d: int(rng.random() < 0.4) for d in "abcde"} for n in "123"[: rng.randint(1, 3)]}


def completions(judged: Judged, docs: set[str]) -> Iterator[Judged]:
    """Every way to judge these documents."""
    cells = [(nugget, doc) for nugget in judged for doc in sorted(docs)]
    for says in product((0, 1), repeat=len(cells)):
        completed = {nugget: dict(grades) for nugget, grades in judged.items()}
        for (nugget, doc), grade in zip(cells, says, strict=True):
            completed[nugget][doc] = grade
        yield completed


def unjudged(ranking: list[str]) -> set[str]:
    """Also those below the cut-off: if they are relevant there is more to find."""
    return set(ranking) - set("abcde")


def difference(
    m: Measure, topic: Topic, docs: tuple[list[str], list[str]], values: tuple[float, float]
) -> Ends:
    one, other = (Retrieved.of(ranking, topic, m.k, m.parameters) for ranking in docs)
    return declared(m).difference(one, other, values, m.parameters)


def values(m: Measure, ranking: list[str], judged: list[Judged]) -> list[float]:
    run = {
        str(index): {doc: -float(rank) for rank, doc in enumerate(ranking)} for index in range(len(judged))
    }
    scores = rageval.evaluate(m, run, {str(index): judged_query for index, judged_query in enumerate(judged)})
    return list(scores[m].by_query.values())


def drawn(seed: int) -> tuple[random.Random, Judged, list[str]]:
    rng = random.Random(seed)
    return rng, topic(rng), rng.sample([*"abcde", "u", "v"], rng.randint(2, 7))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * name.endswith("(ideal=exact)"))
        for name in REACHED + HELD
    ],
)
def test_every_completion_lies_within_and_the_ends_are_reached(name: str) -> None:
    tight = 0
    for seed in range(10):
        rng, judged, ranking = drawn(seed)
        m = measure(name, rng.choice([1, 2, 3, 5, None]))
        truth = values(m, ranking, list(completions(judged, unjudged(ranking))))
        run = {"q": {doc: -float(rank) for rank, doc in enumerate(ranking)}}
        score = rageval.evaluate(m, run, {"q": judged}, bounds=True)[m]
        assert score.bounds is not None
        low, high = score.bounds
        assert low - SLACK <= min(truth), (name, seed)
        assert high + SLACK >= max(truth), (name, seed)
        if name in REACHED or len(truth) == 1:
            assert (low, high) == pytest.approx((min(truth), max(truth)), abs=1e-12), (name, seed)
        tight += high - low < 0.75
    assert tight >= 3


@pytest.mark.slow
@settings(max_examples=200)
@given(
    st.lists(st.sampled_from([None, (), (0,)]), min_size=1, max_size=60), st.integers(0, 3), st.integers(0, 5)
)
def test_the_walk_over_open_places_ends_where_trying_each_number_ends(
    ranks_of_relevant: list[tuple[int, ...] | None], more: int, others: int
) -> None:
    """Average precision with x of the open places relevant, summed anew for each x: the same bits."""
    relevant = [place for place, nuggets in enumerate(ranks_of_relevant) if nuggets]
    open_ = [place for place, nuggets in enumerate(ranks_of_relevant) if nuggets is None]
    judged = Topic.of({"n": {f"d{index}": 1 for index in range(len(relevant) + more)}})
    total = len(relevant) + more

    def value(places: list[int], total: int) -> float:
        return math.fsum(number / (place + 1) for number, place in enumerate(sorted(places), 1)) / max(
            total, 1
        )

    number = range(len(open_) + 1)
    most = max(value([*relevant, *open_[:x]], total + x) for x in number)
    top = bounds._Top(
        judged, 1, None, ranks_of_relevant, [0] * len(ranks_of_relevant), len(ranks_of_relevant), others, {}
    )
    for more_or_less in (
        others,
        others + 7,
        0,
    ):  # what was made for one number of others is kept for the next
        least = min(value([*relevant, *open_[len(open_) - x :]], total + more_or_less + x) for x in number)
        assert bounds.AP.ends(top._replace(others=more_or_less), {}) == (least, most)


@pytest.mark.parametrize("name", ["alpha_dcg@2", "alpha_ndcg(ideal=exact)@2"])
def test_the_least_difference_is_reached(name: str) -> None:
    """Both rankings hold the same unjudged document, so that one completion counts for both."""
    judged = {"1": dict.fromkeys("cd", 1), "2": dict.fromkeys("acd", 1), "3": {"c": 1}}
    judged = {nugget: {doc: grades.get(doc, 0) for doc in "abcde"} for nugget, grades in judged.items()}
    m, one, other = measure(name, None), ["e", "u", "b"], ["a", "u", "c"]
    both = list(completions(judged, {"u"}))
    gaps = [a - b for a, b in zip(values(m, one, both), values(m, other, both), strict=True)]
    as_is = values(m, one, [judged])[0], values(m, other, [judged])[0]
    assert difference(m, Topic.of(judged), (one, other), as_is).low == pytest.approx(min(gaps), abs=1e-12)


@pytest.mark.slow
@pytest.mark.some(7)
@pytest.mark.parametrize("name", REACHED + HELD)
def test_differences_lie_within_their_bounds_under_every_common_completion(name: str) -> None:
    for seed in range(10):
        rng, judged, one = drawn(seed)
        other = rng.sample([*"abcde", "u", "v"], rng.randint(2, 7))
        m = measure(name, rng.choice([1, 2, 3, 5]))
        both = list(completions(judged, unjudged(one) | unjudged(other)))
        gaps = [a - b for a, b in zip(values(m, one, both), values(m, other, both), strict=True)]
        as_is = values(m, one, [judged])[0], values(m, other, [judged])[0]
        topic = Topic.of(judged)
        low, high = difference(m, topic, (one, other), as_is)
        assert low - SLACK <= min(gaps), (name, seed)
        assert high + SLACK >= max(gaps), (name, seed)
        if name in ("coverage", "recall", "p", "success", "ndcg", "alpha_dcg"):
            assert (low, high) == pytest.approx((min(gaps), max(gaps)), abs=1e-12), (name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coverage", "recall", "ndcg", "alpha_dcg", "alpha_ndcg"])
def test_a_verdict_holds_under_every_completion_of_all_queries(name: str) -> None:
    """Two queries, completed independently; both verdicts and undecided ones must turn up."""
    seen = set()
    for seed in range(24):
        rng = random.Random(seed)
        m = measure(name, 3)
        qrels = {query: topic(rng) for query in "xy"}
        runs = [{query: rng.sample([*"abcde", "u"], 4) for query in "xy"} for _ in range(2)]
        judged = {query: list(completions(qrels[query], _open(runs, query))) for query in "xy"}
        tables = [[values(m, run[query], judged[query]) for query in "xy"] for run in runs]
        gaps = [[a - b for a, b in zip(*query, strict=True)] for query in zip(*tables, strict=True)]
        least, most = (sum(map(end, gaps)) / 2 for end in (min, max))
        by_query = [{query: values(m, run[query], [qrels[query]])[0] for query in "xy"} for run in runs]
        topics = {query: Topic.of(judged) for query, judged in qrels.items()}
        ruling = _certain_ruling(m, topics, (runs[0], by_query[0]), (runs[1], by_query[1]))
        seen.add(ruling)
        if ruling == "higher":
            assert least > 0
        elif ruling == "lower":
            assert most < 0
        elif name != "alpha_ndcg":
            assert least <= 1e-9
            assert most >= -1e-9
    assert seen == {"higher", "lower", "undecided"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ndcg", "ndcg(dcg=exp_log2)"])
def test_grades_that_nobody_gave_yet_reach_the_ends_of_ndcg(name: str) -> None:
    """Of one run and of the difference of two; no grade is above the highest of all judgements."""
    for seed in range(12):
        rng = random.Random(seed)
        m = measure(name, rng.choice([1, 2, 3, 5, None]))
        grades = {doc: rng.choice([0, 0, 1, 3]) if seed else 0 for doc in "abc"}
        one, other = (rng.sample([*"abcuvw"], rng.randint(2, 5)) for _ in range(2))
        elsewhere = {"n": {"x": 3}}  # another query has the highest grade

        def completed(*rankings: list[str], grades: dict[str, int] = grades) -> list[Judged]:
            open_ = sorted({doc for ranking in rankings for doc in ranking} - {*"abc"})
            return [
                {"n": {**grades, **dict(zip(open_, say, strict=True))}}
                for say in product(range(4), repeat=len(open_))
            ]

        truth = values(m, one, completed(one))
        result = rageval.evaluate(
            m, {"q": {doc: -float(rank) for rank, doc in enumerate(one)}, "r": {"x": 1.0}},
            {"q": {"n": grades}, "r": elsewhere}, bounds=True,
        )[m].bounds  # fmt: skip
        assert result is not None
        ends = [2 * end - 1 for end in result]  # the mean with the query whose value is 1
        assert ends == pytest.approx([min(truth), max(truth)], abs=1e-12), seed
        both = completed(one, other)
        gaps = [a - b for a, b in zip(values(m, one, both), values(m, other, both), strict=True)]
        topics = Qrels.from_dict({"q": {"n": grades}, "r": elsewhere})
        as_is = values(m, one, [{"n": grades}])[0], values(m, other, [{"n": grades}])[0]
        assert difference(m, topics.topics[0], (one, other), as_is) == pytest.approx(
            (min(gaps), max(gaps)), abs=1e-12
        ), seed


def test_ndcg_of_many_unjudged_documents_takes_no_time() -> None:
    judged = {"n": {f"d{index}": index % 4 for index in range(400)}}
    docs = [name for index in range(400) for name in (f"d{index}", f"u{index}")]
    low, high = bounds_of("ndcg@100", " ".join(docs), judged)
    assert 0 < low < high <= 1
    # a grade that is huge is one level, not as many as it counts
    assert bounds_of("ndcg@2", "a u", {"n": {"a": 1, "b": 10**6}})[1] == pytest.approx(0.38685, abs=1e-5)


def _open(runs: list[dict[str, list[str]]], query: str) -> set[str]:
    return {doc for run in runs for doc in run[query]} - set("abcde")


def test_other_measures_and_rules_are_refused() -> None:
    run, qrels = {"q": {"a": 1.0}}, {"q": {"a": 1}}
    with pytest.raises(MeasureError, match=r"no bounds are known \(only for alpha_ndcg"):
        rageval.evaluate("map_ia", run, qrels, bounds=True)
    with pytest.raises(MeasureError, match="no bounds are known"):
        rageval.evaluate("alpha_dcg(normalize=independent)", run, qrels, bounds=True)
    for rules in ({"ties": "expected"}, {"judged_only": True}, {"compat": "ndeval"}):
        with pytest.raises(UsageError, match="bounds"):
            rageval.evaluate("recall", run, qrels, bounds=True, **rules)


def write(folder: Path) -> list[str]:
    """`a` found what is there; `b` found other things, nobody knows how good; `c` the like of `b` below."""
    runs = {"a": "x y", "b": "u v", "c": "z x"}
    for name, docs in runs.items():
        lines = [f"{q} Q0 {d} 1 {-index} t\n" for q in "12" for index, d in enumerate(docs.split())]
        (folder / f"{name}.run").write_text("".join(lines))
    (folder / "qrels").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q in "12" for d, g in zip("xyz", (1, 1, 0), strict=True))
    )
    return [str(folder / f"{name}.run") for name in runs] + [str(folder / "qrels")]


def test_score_prints_bounds_and_compare_the_verdict_over_all_completions(tmp_path: Path) -> None:
    words = [*write(tmp_path), "--nothing-judged", "zero"]
    outcome = CliRunner().invoke(main, [*words, "-m", "recall@2", "--bounds", "--format", "json"])
    output = {result["run"]: result["bounds"] for result in json.loads(outcome.stdout)["results"]}
    assert output == {"a.run": [1, 1], "b.run": [0, 0.5], "c.run": [0.5, 0.5]}
    assert "b.run: recall@2: from 0.0000 to 0.5000 for any grades of the unjudged documents" in outcome.stderr
    outcome = CliRunner().invoke(
        main, ["compare", *words, "-m", "recall@2 p@2", "--bounds", "--baseline", "a.run", "--format", "json"]
    )
    certain = {(p["run"], p["measure"]): p["every_completion"] for p in json.loads(outcome.stdout)["pairs"]}
    assert certain == {
        ("b.run", "recall@2"): "undecided",
        ("b.run", "p@2"): "undecided",
        ("c.run", "recall@2"): "lower",
        ("c.run", "p@2"): "lower",
    }
    table = CliRunner().invoke(main, ["compare", *words, "-m", "recall@2", "--bounds", "--format", "md"])
    assert "every completion" in table.stdout


def bounds_of(name: str, run: str, judged: Judged) -> tuple[float, ...]:
    ranking = {"q": {doc: -float(rank) for rank, doc in enumerate(run.split())}}
    result = rageval.evaluate(name, ranking, {"q": judged}, bounds=True).scores[0].bounds
    assert result is not None
    return result


def test_where_nothing_is_known_to_be_relevant_everything_is_open() -> None:
    for name in ("recall@2", "coverage@2", "strec@2", "alpha_ndcg@2", "alpha_ndcg(ideal=exact)@2", "ap"):
        low, high = bounds_of(name, "a u", {"n": {"a": 0}})
        assert (low, high >= (0.5 if name == "ap" else 0.63)) == (0, True), name


def test_the_greedy_ideal_may_be_beaten_and_the_exact_one_not() -> None:
    """Greedy takes dZ first; the run's dA dB is better, also when u turns out to be nothing."""
    judged = {"1": {"dA": 1, "dZ": 1}, "2": {"dA": 1}, "3": {"dB": 1, "dZ": 1}, "4": {"dB": 1}}
    assert bounds_of("alpha_ndcg@2", "dA dB", judged) == pytest.approx((1.1070681006,) * 2)
    assert bounds_of("alpha_ndcg@3", "dA dB u", judged)[1] >= 1.107
    assert bounds_of("alpha_ndcg(ideal=exact)@3", "dA dB u", judged)[1] == 1


def test_a_document_that_both_retrieve_is_the_same_in_both() -> None:
    """u may have nugget 2, and then both have it: only nugget 1 can tell the two apart."""
    judged = {"1": {"b": 1, "a": 0}, "2": {"c": 1, "a": 0}}
    result = Topic.of(judged)
    assert difference(measure("coverage@2", None), result, (["a", "u"], ["b", "u"]), (0.0, 0.5)) == (-0.5, 0)


def test_too_many_unjudged_documents_leave_the_looser_bound() -> None:
    judged = {"1": {"a": 1}}
    result = Topic.of(judged)
    m = measure("alpha_dcg", None)
    for number, certain in ((10, True), (11, False)):
        shared = [f"u{index}" for index in range(number)]
        low, _ = difference(m, result, (["a", *shared], ["a", *shared]), (1.0, 1.0))
        assert (low == 0) is certain


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(10))
def test_the_smallest_ideal_is_that_of_a_greedy_order(seed: int) -> None:
    """With four documents greedy finds the best of all orders in these ten draws."""
    rng = random.Random(seed)
    judged = {str(n): {f"d{d}": int(rng.random() < 0.6) for d in range(4)} for n in range(4)}
    m = measure("alpha_dcg", 3)
    best = max(values(m, list(order), [judged])[0] for order in permutations([f"d{d}" for d in range(4)]))
    ours = discounted(Topic.of(judged).ideal(3, 0.5), logarithmic)
    assert ours == pytest.approx(best)


@pytest.mark.parametrize(
    ("judged", "ranking", "ends"),
    [
        ({"a": 1, "b": 1, "c": 0, "d": 0, "e": 0}, "acdeu", ((1 + 2 / 5) / 3, 1 / 2)),
        ({"a": 1, "b": 1, "c": 0, "d": 1}, "abcu", (2 / 3, (2 + 3 / 4) / 4)),
    ],
)
def test_one_more_relevant_document_may_lower_or_raise_average_precision(
    judged: dict[str, int], ranking: str, ends: tuple[float, float]
) -> None:
    """Where the unjudged u is relevant it is found, and there is one more to find."""
    run = {"q": {doc: -float(index) for index, doc in enumerate(ranking)}}
    assert rageval.evaluate("ap", run, {"q": judged}, bounds=True)["ap"].bounds == pytest.approx(ends)
