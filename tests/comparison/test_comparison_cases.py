"""One small case each of what comparing decides on the way, worked out by hand."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from rageval.comparison import GateSettings, arena, gate, leaderboards, passport, until
from rageval.comparison.arena import said_of
from rageval.comparison.corrections import CorrectedMeasure, remarks
from rageval.errors import InputError
from rageval.measures.parsing import parse_measure
from rageval.scoring.answers import read_judgements


def test_a_claim_is_known_by_its_text_whatever_the_order_of_its_keys() -> None:
    text = '{"a": 1, "é": 2}'
    assert until._digest({"é": 2, "a": 1}) == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_systems_that_are_alike_are_right_on_half_of_the_drawn_questions() -> None:
    table = until._apart(0.0, 2, np.random.default_rng(0), 4000)
    assert table.mean(axis=1) == pytest.approx([0.5, 0.5], abs=0.03)
    # A question on which neither answers by itself is the same to both, and half of the others are.
    alike = 0.5 + 0.5 * (1 - until._OWN) ** 2
    assert (table[0] == table[1]).mean() == pytest.approx(alike, abs=0.03)


def test_the_first_rule_of_a_forecast_looks_once_at_the_end() -> None:
    claim, looks = until._RULES["all"]
    values = np.array([np.ones(60), np.zeros(60)])
    assert until._end(values, until.Rule(60, claim, looks, 0.05), False) == (1.0, True)
    claim, looks = until._RULES["5 looks"]
    assert until._end(values, until.Rule(60, claim, looks, 0.05), False) == (0.4, True)


@pytest.mark.parametrize(("measure", "sign"), [("crag_score", 1), ("hallucination", -1)])
def test_a_value_is_turned_so_that_more_is_better_and_none_where_it_may_change(
    measure: str, sign: int
) -> None:
    ends = {"worst": {"a": {"q": 0.5, "r": 0.0}}, "best": {"a": {"q": 0.5, "r": 1.0}}}
    job: Any = SimpleNamespace(
        runs=None,
        until=SimpleNamespace(measure=parse_measure(measure)),
        _of_answers=lambda rows, systems, end: ends[end],
    )
    (values,) = until._Job.values(job, [], ["q", "r", "s"], ["a"]).values()
    assert values[0] == sign * 0.5
    assert all(map(math.isnan, values[1:]))


@pytest.mark.parametrize(
    ("judged", "is_decided", "said"),
    [
        (4, True, "4 of 10 questions judged, 40 calls: decided, 60 calls saved"),
        (10, False, "10 of 10 questions judged, 40 calls: undecided, and none is left"),
        (4, False, "4 of 10 questions judged, 40 calls, at best 60 saved; look 2 of 5"),
    ],
)
def test_the_line_of_a_job_says_how_it_stands(judged: int, is_decided: bool, said: str) -> None:
    plan = SimpleNamespace(questions=10, systems=("a", "b"), of_several=False, looks=5)
    ledger: Any = SimpleNamespace(
        plan=plan, calls_at_most=100, calls=40, judged=judged, is_decided=is_decided, left=()
    )
    assert until._progress(ledger, {"a": [1.0], "b": [0.0]}) == said


def test_rankings_of_unknown_order_are_no_different_ones() -> None:
    place = {"place": 1, "lead": 0.1, "low": 0.0, "high": 0.2, "answers": 9}
    found = {"pairs": None, "lists": [place], "rankings": 6, "unknown": 2, "games": 0, "orders": 4}
    assert not any("different" in text for text in said_of(found))
    assert any("6 rankings (3 different)" in text for text in said_of(found | {"orders": 3}))


def test_the_error_that_bounds_amount_to_is_that_of_student() -> None:
    settings = GateSettings(margin=0.1)
    for units, freedom in ((11, 10), (2, 1), (1, 1)):
        reach = 0.02 * t.ppf(settings.level, freedom)
        for known in ({"queries": units}, {"queries": 40, "labels": units}):
            pair = SimpleNamespace(**{"labels": None, **known})
            tested: Any = SimpleNamespace(pair=pair, clusters=None)
            assert gate._error(tested, -reach, reach, settings) == (units, pytest.approx(0.02, rel=1e-9))
        tested = SimpleNamespace(pair=SimpleNamespace(queries=40, labels=None), clusters=units)
        assert gate._error(tested, 0.0, 2 * reach, settings) == (units, pytest.approx(0.02, rel=1e-9))


def test_settings_of_a_gate_can_be_kept_by_what_they_are() -> None:
    one, other = (GateSettings(margin=0.1, fail_under={"rr": 0.5}, clusters={"q": "c"}) for _ in range(2))
    assert len({one, other}) == 1


def test_strengths_have_an_interval_where_samples_of_queries_agree_that_they_are_finite() -> None:
    place = {"rubric": "pairwise"}
    rows = [
        place | {"query_id": f"q{at}", "aspect": str(game), "run_id": run, "label": label}
        for at in range(12)
        for game in (0, 1)
        for run, label in zip("ab", ("win", "loss") if game or at % 3 else ("loss", "win"), strict=True)
    ]
    first, second = arena.strengths(arena.games(read_judgements(rows)), resamples=50)
    assert first.system == "a"
    assert first.low < first.strength < first.high
    assert second.low < second.strength < second.high


def test_leaderboards_are_compared_by_the_measures_that_are_named() -> None:
    assert leaderboards._pairs({"ap": 1, "rr": 1}, {"judge": 1}, ["ap"]) == [("ap", "judge")]
    assert leaderboards._pairs({"ap": 1, "rr": 1}, {"ap": 1, "rr": 1}, ["rr"]) == [("rr", "rr")]
    assert leaderboards._pairs({"ap": 1}, {"judge": 1, "other": 1}, []) == [("ap", "judge"), ("ap", "other")]


@pytest.mark.parametrize(("other", "name"), [("ap", "ap"), ("judge", "ap and judge")])
def test_too_few_runs_are_told_by_both_measures(other: str, name: str) -> None:
    with pytest.raises(InputError, match=f"^{name}: 1 runs are in both"):
        leaderboards._compared("ap", {"a": {"q": 1.0}}, other, {"a": {"q": 1.0}}, ())


def test_labels_that_failed_are_told_where_some_did() -> None:
    judged = read_judgements([{"query_id": "q", "run_id": "r", "rubric": "crag", "label": "perfect"}])
    each = CorrectedMeasure("r", "crag_score", "kind", 1.0, 1.0, 0.9, 1.0)
    assert list(remarks([each], judged)) == []
    assert list(remarks([each._replace(failed=2)], judged)) == ["r: crag_score: 2 human labels failed"]


def test_the_second_column_is_a_nugget_where_a_query_has_several(tmp_path: Path) -> None:
    def aspects(text: str, named: bool | None = None) -> list[str]:
        (tmp_path / "qrels").write_text(text)
        return [line["aspect"] for _, line in passport._of_qrels(str(tmp_path / "qrels"), named)]

    one, two = "q n1 d 1\n", "q n1 d 1\nq n2 e 1\n"
    assert aspects(one) == ["0"]
    assert aspects(one, True) == ["n1"]
    assert aspects(two) == ["n1", "n2"]
    assert aspects("q 1 d 1\nq 2 e 1\n") == ["0", "0"]  # numbers that say nothing of documents
