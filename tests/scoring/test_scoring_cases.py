"""One small case each of what scoring decides on the way, worked out by hand."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest

import rageval
from rageval.files.trec import RunRows
from rageval.measures.base import POOL
from rageval.measures.parsing import parse_measure
from rageval.measures.ranking import Share
from rageval.scoring._roles import JUDGED_DOCUMENTS, RUNS, _roles
from rageval.scoring.answers import _taken_for
from rageval.scoring.arguments import items_of
from rageval.scoring.evaluation import Evaluator, Runs
from rageval.scoring.gold import Draw, _against_chances
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import _together
from rageval.scoring.scores import SpreadOfAnswers, groups_by
from rageval.scoring.sources import run_source


@pytest.mark.parametrize(("labeled", "is_doubtful"), [(50, False), (65, False), (80, True), (20, True)])
def test_chances_are_doubtful_where_far_more_or_fewer_are_labeled(labeled: int, is_doubtful: bool) -> None:
    """Of 100 chances of a half 50 are expected, give or take 5: 65 are three errors away, 80 are six."""
    chances = {f"q{index}": 0.5 for index in range(100)}
    draw = _against_chances(Draw(how="stated", chances=chances), list(chances)[:labeled], "gold")
    assert bool(draw.doubt) == is_doubtful
    if labeled == 80:
        p = math.erfc(6 / math.sqrt(2))
        assert f"add up to 50 labels, but there are 80 (p {p:.1e})" in str(draw.doubt)


def test_of_a_pooled_share_that_is_missing_one_part_is_missing() -> None:
    measure = parse_measure("accuracy")
    assert _taken_for("best", measure) == 1.0
    pooled = measure(over=POOL)
    best, worst = _taken_for("best", pooled), _taken_for("worst", pooled)
    assert isinstance(best, Share)
    assert isinstance(worst, Share)
    assert (best.part, best.whole, worst.part, worst.whole) == (1.0, 1.0, 0.0, 1.0)


def test_an_answer_as_a_whole_may_be_called_otherwise_by_people() -> None:
    judged = [
        {"query_id": f"q{index}", "run_id": "r", "label": "perfect", "judge": "m:x"} for index in range(30)
    ]
    people = [
        {
            **row,
            "aspect": "the answer",
            "judge": "person:kim",
            "label": "incorrect" if index % 2 else "perfect",
        }
        for index, row in enumerate(judged)
    ]
    score = rageval.evaluate_answers("crag_score", judged, gold=people, gold_chosen="uniform")["r"][
        "crag_score"
    ]
    assert score.people is not None
    assert (len(score.people.values), score.people.partly) == (30, frozenset())


@pytest.mark.parametrize(("labels", "is_said"), [(("perfect", "perfect"), False), (("perfect", None), True)])
def test_groups_without_a_value_are_named_and_only_these(
    labels: tuple[str | None, ...], is_said: bool
) -> None:
    rows = [
        {"query_id": f"q{index}", "run_id": "r", **({"label": label} if label else {"status": "error"})}
        for index, label in enumerate(labels)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = rageval.evaluate_answers(
            "crag_score", rows, on_missing="skip", groups={"q0": "a", "q1": "b"}
        )["r"]
    remarks = [remark for remark in map(str, scores.remarks) if "groups have no value" in remark]
    assert (
        remarks
        == ["r: crag_score: 1 of 2 groups have no value (b), so the mean is over the others"][:is_said]
    )


def test_a_topic_of_gains_of_which_all_are_0_has_nothing_relevant() -> None:
    qrels = {"q1": {"d1": 0.5}, "q2": {"d1": 0.0}}
    run = {query: {"d1": 1.0} for query in qrels}
    scores = rageval.evaluate("ndcg", run, qrels, zero_rel="skip")
    assert scores["ndcg"].by_query == {"q1": 1.0}


@pytest.mark.parametrize(("number", "named"), [(3, "g0, g1, g2"), (4, "g0, g1, g2, …")])
def test_of_more_than_three_groups_without_a_value_the_first_three_are_named(number: int, named: str) -> None:
    queries = [f"q{index}" for index in range(number + 1)]
    rows: list[dict[str, str]] = [{"query_id": query, "run_id": "r", "status": "error"} for query in queries]
    rows[-1] = {"query_id": queries[-1], "run_id": "r", "label": "perfect"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = rageval.evaluate_answers(
            "crag_score", rows, on_missing="skip", groups={query: f"g{query[1:]}" for query in queries}
        )["r"]
    beginning = f"{number} of {number + 1} groups have no value ({named}), so"
    assert sum(beginning in remark for remark in map(str, scores.remarks)) == 1


@pytest.mark.parametrize(("number", "named"), [(3, "0, 1, 2"), (4, "0, 1, 2, …")])
def test_of_more_than_three_queries_there_the_first_three_are_named(number: int, named: str) -> None:
    facts = {str(index): {"domain": "sports"} for index in range(number)}
    with pytest.raises(rageval.InputError) as caught:
        groups_by(facts, "domain", ["x"], "file", ["domain"])
    assert str(caught.value).endswith(f"(queries there: {named})")


class Frame(dict[str, list[Any]]):
    """As much of a DataFrame as is looked at."""

    @property
    def columns(self) -> list[str]:
        return list(self)


@pytest.mark.parametrize(
    ("what", "column", "rows"),
    [
        ("answers", "answer", [{"query_id": "q", "answer": "Oslo"}, {"query_id": "r", "answer": None}]),
        ("answers", "text", [{"query_id": "q", "text": "Oslo"}, {"query_id": "r"}]),
        ("judgements", "answer", [{"query_id": "q", "answer": "Oslo"}, {"query_id": "r"}]),
    ],
)
def test_a_gap_is_null_only_among_answers(what: str, column: str, rows: list[dict[str, str | None]]) -> None:
    assert items_of(Frame({"query_id": ["q", "r"], column: ["Oslo", None]}), what) == rows


def test_answers_and_judges_add_less_to_a_mean_the_more_there_are() -> None:
    """Answers .06 and judges .03 / 2, a third of it of three answers; one judge is within the answers."""
    assert SpreadOfAnswers(0.1, 0.06, 0.03, 10, 3, 2, "").of_mean == pytest.approx(0.075 / 3)
    assert SpreadOfAnswers(0.1, 0.06, math.nan, 10, 3, 1, "").of_mean == pytest.approx(0.02)


def test_a_nugget_without_documents_is_listed_and_a_document_of_grade_0_is_no_nugget() -> None:
    run = {"q": {"a": 1.0}}
    for judged, listed in (
        ({"n1": {"a": 1}, "n2": {}}, 2),
        ({"n1": {"a": 1}, "b": 0}, 2),  # the document is of the nugget that stands for none
        ({"n1": {"a": 1}, "n2": {}, "b": 0}, 3),
    ):
        scores = rageval.evaluate("coverage(denominator=listed)", run, {"q": judged})
        assert scores.scores[0].value == pytest.approx(1 / listed)


def test_what_is_missing_in_a_column_of_nuggets_names_none() -> None:
    columns = [["q", "q", "r"], ["a", "b", "a"], [1, 2, 1], ["n", None, "n"]]
    qrels = Qrels._from_named(columns, "nugget_id", (), "frame")
    assert sorted((row.query_id, row.iteration, row.doc_id, row.relevance) for row in qrels) == [
        ("q", "0", "b", 2),
        ("q", "n", "a", 1),
        ("r", "n", "a", 1),
    ]


@pytest.mark.parametrize("ranks", [(None, [b"1"]), ([b"1"], None), ([b"1"], [b"2"])])
def test_rows_put_together_have_ranks_if_all_had(ranks: tuple[list[bytes] | None, ...]) -> None:
    stretches = [
        RunRows("run", [line], [b"q"], [b"d%d" % line], [1.0], given) for line, given in enumerate(ranks)
    ]
    (joined,) = _together(stretches)
    assert list(joined.docs) == [b"d0", b"d1"]
    assert joined.ranks is None if None in ranks else list(joined.ranks or ()) == [b"1", b"2"]


@pytest.mark.parametrize(("fields", "role"), [("doc_id score", RUNS), ("doc_id relevance", JUDGED_DOCUMENTS)])
def test_records_of_documents_are_told_by_what_they_give_them(fields: str, role: str) -> None:
    record = {"query_id": "q", **dict.fromkeys(fields.split(), 1)}
    assert _roles([record]) == {role}


def test_every_mean_and_difference_may_find_that_labels_were_chosen() -> None:
    """One measure of two systems: two means and a difference."""
    judged = [
        {"query_id": f"q{index}", "run_id": run, "label": "accurate", "rubric": "crag", "judge": judge}
        for index in range(6)
        for run in "ab"
        for judge in ("m", "person:ann")
    ]
    asked, people = (
        [row for row in judged if (row["judge"] == "m") is is_model] for is_model in (True, False)
    )
    for scores in rageval.evaluate_answers("crag_score", asked, gold=people, gold_chosen="uniform").values():
        assert [score.people and score.people.tests for score in scores.scores] == [3]


def test_without_a_cutoff_no_share_of_documents_is_unjudged() -> None:
    for measure, unjudged in (("ap", None), ("ap@2", 0.5)):
        runs = Runs(Evaluator(measure, {"q": {"a": 1, "b": 0}}), [run_source({"q": {"a": 1.0, "c": 0.5}})])
        assert runs.fingerprint(runs.score().results[0]).unjudged == unjudged
