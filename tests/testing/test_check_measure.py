"""`check_measure` passes what is right, and finds each planted fault with a small example."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rageval
from our_measures import OF_RUNS
from rageval import MeasureError, Ranking, Share
from rageval.measures.bounds import Bounds, Ends
from rageval.measures.ties import Ties
from rageval.testing import check_measure
from rageval.testing._laws import LAWS
from rageval.testing._run_cases import RunCase

OURS = [
    *OF_RUNS.values(),
    *(measure(over="pool") for measure in OF_RUNS.values() if measure.gives_shares),
    *(
        rageval.parse_measure(name)
        for name in ("alpha_ndcg(ideal=exact)", "coverage(rel=2)@2", "recall(rel=0)")
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("measure", OURS, ids=str)
def test_our_own_pass(measure: rageval.Measure) -> None:
    check_measure(measure, cases=8)


@rageval.measure(limits=(0.0, 1.0))
def rank_biased(ranking: Ranking, *, k: int | None = None, rel: int = 1) -> float:
    """Rank-biased precision with p = 0.8 (Moffat and Zobel, 2008)."""
    return math.fsum(0.2 * 0.8 ** (hit.rank - 1) for hit in ranking.hits(k, rel))


@rageval.measure(better="lower")
def first_rank(ranking: Ranking, *, rel: int = 1) -> float:
    """Rank of the first relevant document, undefined without any."""
    return next((hit.rank for hit in ranking.hits(None, rel)), math.nan)


@rageval.measure(better="neither", sees="judged", aggregate="sum")
def retrieved(ranking: Ranking) -> int:
    """How many documents were retrieved."""
    return ranking.retrieved


@pytest.mark.slow
@pytest.mark.parametrize("measure", [rank_biased, rank_biased @ 2, first_rank, retrieved], ids=str)
def test_somebody_elses_pass(measure: rageval.Measure) -> None:
    check_measure(measure, cases=20)


def half(ranking: Ranking, *, k: int | None = None) -> float:
    return 1.0 if ranking.hits(k) else 0.0


asked: list[str] = []


def remembers(ranking: Ranking) -> float:
    asked.append(ranking.topic.query_id)
    return len(set(asked)) / 100


def knows_names(ranking: Ranking) -> float:
    return float(sum(ranking.topic.ids[hit.document] > "d" for hit in ranking.hits()))


def counts_nuggets_by_number(ranking: Ranking) -> float:
    return float(sum(0 in hit.nuggets for hit in ranking.hits()))


def looks_deeper(ranking: Ranking, *, k: int | None = None) -> float:
    return len(ranking.hits(k)) / (1 + ranking.retrieved)


def sees_more_than_it_says(ranking: Ranking, *, k: int | None = None) -> float:
    return len(ranking.hits(k)) / (1 + len(ranking.topic))


def rounds(ranking: Ranking) -> float:
    numbers = sorted(ranking.topic.documents_of().items())  # nuggets by number, which is the order of rows
    return sum(1 / (3 + count) for _, count in numbers)


def of_one_half(ranking: Ranking) -> Share:
    return Share(len(ranking.hits()), max(1, ranking.relevant()) * 2)


def upside_down(ranking: Ranking) -> float:
    return next((float(hit.rank) for hit in ranking.hits()), 99.0)


def reorders(ranking: Ranking) -> float:
    ranking.topic.grades.sort()
    return 0.0


def fails(ranking: Ranking) -> float:
    return 1 / len(ranking.hits())


def endless(ranking: Ranking) -> float:
    return math.inf


def never(*_: Any, **__: Any) -> float:
    return 0.0


def certain(*_: Any) -> Ends:
    return Ends(0.0, 0.0)


FAULTS: dict[str, tuple[Callable[..., float], dict[str, Any], str]] = {
    "more than its limits": (half, {"limits": (0.0, 0.5)}, "is between its limits"),
    "a state": (remembers, {}, "each query is scored alone|row order|other measures|only in the run"),
    "names of documents": (knows_names, {}, "renaming documents in order changes no digit"),
    "a nugget's number": (counts_nuggets_by_number, {}, "nugget names|row order|each query is scored alone"),
    "grades that others need": (reorders, {}, "leaves other measures as they are"),
    "the depth of the run": (looks_deeper, {}, "nothing below k matters"),
    "what it does not declare to see": (
        sees_more_than_it_says,
        {"sees": "relevant"},
        "judging a document 0|is the same beside other measures",
    ),
    "sums in the order of nuggets": (rounds, {}, "nugget names change no digit|row order changes no digit"),
    "low is good": (upside_down, {}, "relevant documents first are never worse"),
    "high is good": (half, {"better": "lower"}, "relevant documents first are never worse"),
    "a wrong mean over ties": (
        half,
        {"ties": Ties(never)},
        "ties in expectation are the mean over all orders",
    ),
    "bounds that hold nothing": (half, {"bounds": Bounds(certain)}, "whatever is unjudged it is within"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    function, facts, words = FAULTS[fault]
    measure = rageval.measure(**facts)(function)
    with pytest.raises(AssertionError, match=words) as caught:
        check_measure(measure)
    assert "\nrun = {" in str(caught.value)
    assert "\nqrels = {" in str(caught.value)


@pytest.mark.slow
def test_the_example_is_small() -> None:
    measure = rageval.measure(limits=(0.0, 0.5))(half)
    with pytest.raises(AssertionError) as caught:
        check_measure(measure)
    first, *_, values, run, qrels = str(caught.value).splitlines()
    assert first == "half@3 breaks a law: is between its limits"
    given: dict[str, Any] = {}
    exec("\n".join((values, run, qrels)), given)
    assert [len(given[name]) for name in ("values", "run", "qrels")] == [1, 1, 1]
    assert [len(docs) for docs in given["run"].values()] == [1]
    assert [len(grades) for nuggets in given["qrels"].values() for grades in nuggets.values()] == [1]


@pytest.mark.parametrize(("function", "words"), [(fails, "ZeroDivisionError"), (endless, "returned inf")])
def test_what_the_function_raises_is_an_error_of_the_measure(
    function: Callable[..., float], words: str
) -> None:
    with pytest.raises(MeasureError, match=words) as caught:
        check_measure(rageval.measure(function))
    assert "\nrun = {" in str(caught.value)


def test_the_hits_that_all_measures_share_cannot_be_changed() -> None:
    def takes_one(ranking: Ranking) -> float:
        ranking.hits().pop()  # type: ignore[attr-defined]
        return 0.0

    measures = [rageval.measure(takes_one), rageval.recall]
    with pytest.raises(MeasureError, match=r"'pop' at test_check_measure\.py:\d+\)"):
        rageval.evaluate(measures, {"q": {"a": 1.0}}, {"q": {"a": 1}})


def positional(ranking: Ranking, rel: int = 1) -> float:
    return 0.0


def of_a_list(ranking: Ranking, *, weights: list[int] = [1, 2]) -> float:  # noqa: B006
    return 0.0


def of_a_flag(ranking: Ranking, *, log: Path = Path()) -> float:
    return 0.0


def text(ranking: Ranking) -> str:
    return "0.5"


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (positional, r"'rel' is before the star, .* write def positional\(ranking, \*, rel=…\)"),
        (of_a_list, r"weights=\[1, 2\] is not a valid parameter; expected a number or a word"),
        (of_a_flag, r"log=.* is not a valid parameter; expected a number or a word"),
        (text, "returned '0.5' for the query 'q', expected a number"),
    ],
)
def test_what_is_declared_wrong_is_said(function: Callable[..., float], words: str) -> None:
    with pytest.raises(MeasureError, match=words):
        rageval.evaluate([rageval.measure(function)], {"q": {"a": 1.0}}, {"q": {"a": 1}})


def test_what_is_no_measure_of_ours_is_refused() -> None:
    for what in ("recall", rageval.parse_measure("Rprec")):
        with pytest.raises(MeasureError, match="expected a measure, made with @rageval"):
            check_measure(what)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["recall", "crag_score", "hit_rate", "accuracy"])
def test_a_name_that_is_taken_is_refused(name: str) -> None:
    def another(ranking: Ranking) -> float:
        return float(len(ranking.hits()) > 0)

    another.__name__ = name
    measure = rageval.measure(another)
    message = f"{name}: rageval has a measure of this name"
    with pytest.raises(MeasureError, match=message):
        check_measure(measure)
    with pytest.raises(MeasureError, match=message):
        rageval.evaluate([measure], {"q": {"a": 1.0}}, {"q": {"a": 1}})


@pytest.mark.slow
def test_the_same_seed_gives_the_same_example() -> None:
    messages = []
    for _ in range(2):
        with pytest.raises(AssertionError) as caught:
            check_measure(rageval.measure(looks_deeper), seed=7)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_every_law_that_must_hold_was_broken_by_some_fault_or_is_tried_elsewhere() -> None:
    """A law that nothing breaks might be none."""
    words = "|".join(words for *_, words in FAULTS.values())
    elsewhere = {
        "parses_back",  # test_measure_objects
        "increasing_maps_of_scores_change_no_digit",  # of the reader, not of measures: test_laws
        "a_pooled_share_is_between_the_shares",  # below
    }
    broken = {law for law in LAWS[RunCase] if any(part in law.replace("_", " ") for part in words.split("|"))}
    assert broken | elsewhere == set(LAWS[RunCase])


def test_pooling_that_is_none_breaks_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rageval.scoring.scores.pooled", lambda shares: 1.5)
    with pytest.raises(AssertionError, match="a pooled share is between the shares"):
        check_measure(rageval.measure(of_one_half))
