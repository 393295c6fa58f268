"""`check_measure` passes measures of answers that are right, and finds planted faults with small examples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import pytest

import rageval
from our_measures import OF_ANSWERS
from rageval import Assessment, MeasureError
from rageval.measures.scales import Scale
from rageval.testing import check_measure
from rageval.testing._answer_cases import AnswerCase
from rageval.testing._laws import LAWS

SPELLED = (
    *("v", "v_strict", "w", "nugget_recall(importance=okay)", "nugget_f(beta=1)", "rubric_score(floor=zero)"),
    *("missing", "hallucination", "crag_share(label=acceptable)", "correctness_share(level=-1)"),
    *("faithfulness_share(level=0)", "citation_precision(citations=micro)", "citation_recall(citations=all)"),
    *("rank_score(invalid=query)", "length(rule=nonspace)", "audit_share(label=partially_relevant)"),
    *("lexical_recall(importance=weighted)", "nugget_recall(over=pool)", "crag_share(over=pool)"),
)
# A nugget whose judgement failed is one by which the answer was to be judged: it is counted, not left out.
COUNTS = "nugget_count"
OURS = [
    *(measure for name, measure in OF_ANSWERS.items() if name != COUNTS and measure.argument == "Assessment"),
    *map(rageval.parse_measure, SPELLED),
]


@pytest.mark.parametrize("measure", OURS, ids=str)
@pytest.mark.slow
def test_our_own_pass(measure: rageval.Measure) -> None:
    check_measure(measure, cases=8)


def test_a_count_of_what_was_to_be_judged_is_told_from_a_grade() -> None:
    with pytest.raises(AssertionError, match="a judgement that failed is as one that was left out"):
        check_measure(OF_ANSWERS[COUNTS], cases=8)


TONE = Scale("tone", ("tone",), {"kind": 1.0, "plain": 0.5, "rude": 0.0}, worst="rude", best="kind")


@rageval.measure(limits=(0.0, 1.0))
def kindest(answer: Assessment) -> float:
    """What the kindest judgement on a scale of one's own says."""
    return max((judgement.grade for judgement in answer.judged(TONE)), default=math.nan)


@rageval.measure(better="lower")
def words_a_nugget(answer: Assessment, *, rule: Literal["nfkc", "split"] = "nfkc") -> float:
    """Words for each nugget that is supported; undefined without any."""
    supported = sum(nugget.grade == 1 for nugget in answer.judged("nugget support"))
    return answer.length(rule) / supported if supported else math.nan


@pytest.mark.parametrize("measure", [kindest, words_a_nugget, words_a_nugget(rule="split")], ids=str)
@pytest.mark.slow
def test_somebody_elses_pass(measure: rageval.Measure) -> None:
    check_measure(measure, cases=20)


def supported(answer: Assessment) -> float:
    nuggets = answer.judged("nugget support")
    return sum(nugget.grade == 1 for nugget in nuggets) / len(nuggets) if nuggets else math.nan


def first(answer: Assessment) -> float:
    return next((nugget.grade for nugget in answer.judged("nugget support")), math.nan)


def added_up_as_they_come(answer: Assessment) -> float:
    total = 0.0
    for nugget in answer.judged("lexical"):
        total += nugget.grade / 3
    return total if answer.judged("lexical") else math.nan


def nothing_is_0(answer: Assessment) -> float:
    nuggets = answer.judged("nugget support")
    return sum(nugget.grade == 1 for nugget in nuggets) / len(nuggets) if nuggets else 0.0


def failed_is_0(answer: Assessment) -> float:
    nuggets = answer.judged("nugget support", failed=True)
    return sum(nugget.grade == 1 for nugget in nuggets) / len(nuggets) if nuggets else math.nan


def knows_names(answer: Assessment) -> float:
    nuggets = answer.judged("nugget support")
    return float(answer.run_id > "p" or answer.query_id > "q2") if nuggets else math.nan


asked: list[str] = []


def remembers(answer: Assessment) -> float:
    asked.append(answer.query_id)
    return len(asked) / 1000 if answer.judged("nugget support") else math.nan


def one_half(answer: Assessment) -> float:
    return 0.5 if answer.judged("audit") else math.nan


FAULTS: dict[str, tuple[Callable[..., float], dict[str, Any], str]] = {
    "more than its limits": (supported, {"limits": (0.0, 0.5)}, "is between its limits"),
    "the first that comes": (first, {}, "the order of judgements changes no digit"),
    "sums in the order of rows": (added_up_as_they_come, {}, "the order of judgements changes no digit"),
    "nothing judged is 0": (nothing_is_0, {}, "where nothing is judged it is undefined"),
    "a failed judgement is a grade": (failed_is_0, {}, "a judgement that failed is as one that was left out"),
    "names": (knows_names, {}, "names change nothing"),
    "a state": (remembers, {}, "breaks a law"),
    "low is good": (
        supported,
        {"better": "lower"},
        "the best judgements are never worse|what is missing taken for the best is never worse",
    ),
    "labels that it does not count": (
        one_half,
        {"labels": lambda parameters: ("relevant",)},
        "it is the share of the labels it declares",
    ),
    "weights that it does not know": (
        supported,
        {"weighs": lambda parameters, judgement: float(judgement.importance == "vital")},
        "what weighs nothing changes nothing",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    function, facts, words = FAULTS[fault]
    measure = rageval.measure(**facts)(function)
    with pytest.raises(AssertionError, match=words) as caught:
        check_measure(measure)
    assert "\njudged = [" in str(caught.value)
    assert "\nanswers = [" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS[AnswerCase])
def test_every_law_is_broken_by_some_fault(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A law that nothing breaks might be none: each is tried alone here, on all faults."""
    if name in ("parses_back", "a_pooled_share_is_between_the_shares"):
        return  # below
    monkeypatch.setitem(LAWS, AnswerCase, {name: LAWS[AnswerCase][name]})
    for function, facts, _ in FAULTS.values():
        try:
            check_measure(rageval.measure(**facts)(function), cases=10)
        except AssertionError:
            return
    pytest.fail(f"{name}: nothing breaks it")


@pytest.mark.slow
def test_the_example_is_small() -> None:
    with pytest.raises(AssertionError) as caught:
        check_measure(rageval.measure(limits=(0.0, 0.5))(supported))
    line, *_, values, judged, answers = str(caught.value).splitlines()
    assert line == "supported breaks a law: is between its limits"
    given: dict[str, Any] = {}
    exec("\n".join((values, judged, answers)), given)
    assert [len(given[name]) for name in ("values", "judged", "answers")] == [1, 1, 0]
    assert given["judged"][0]["label"] == "support"


def test_what_the_function_raises_is_an_error_of_the_measure() -> None:
    @rageval.measure
    def fails(answer: Assessment) -> float:
        return 1 / len(answer.judged("nugget support"))

    with pytest.raises(MeasureError, match="ZeroDivisionError") as caught:
        check_measure(fails)
    assert "\njudged = [" in str(caught.value)


def test_judgements_that_another_measure_looks_at_cannot_be_changed() -> None:
    @rageval.measure
    def clears(answer: Assessment) -> float:
        answer.judged("correctness").clear()
        return 0.0

    judged = [{"query_id": "q", "run_id": "r", "aspect": "correctness", "grade": 2}]
    scores = rageval.evaluate_answers([clears, "correctness"], judged)["r"]
    assert scores["correctness"].value == 2.0


def test_a_measure_of_answers_that_does_not_say_so_is_told_how() -> None:
    @rageval.measure
    def unsaid(answer) -> float:  # type: ignore[no-untyped-def]
        return 0.0

    judged = [{"query_id": "q", "run_id": "r", "aspect": "correctness", "grade": 2}]
    with pytest.raises(
        MeasureError, match=r"unsaid scores a run .* its first argument as rageval\.Assessment"
    ):
        rageval.evaluate_answers([unsaid], judged)
    with pytest.raises(MeasureError, match=r"not judged answers$"):
        rageval.evaluate_answers("recall", judged)
    with pytest.raises(MeasureError, match="<lambda>: expected a function with a name"):
        rageval.measure(lambda answer: 0.0)


def test_a_name_that_is_taken_is_refused() -> None:
    @rageval.measure
    def crag_score(answer: Assessment) -> float:
        """Not the one that is known."""
        return math.nan

    with pytest.raises(MeasureError, match="crag_score: rageval has a measure of this name"):
        check_measure(crag_score)


@pytest.mark.slow
def test_pooling_that_is_none_breaks_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rageval.scoring.scores.pooled", lambda values: 1.5)
    with pytest.raises(AssertionError, match="a pooled share is between the shares"):
        check_measure(rageval.parse_measure("nugget_recall"))
