"""One small case each of what comparing decides on the way, worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from rageval.comparison import GateSettings, gate, leaderboards, passport
from rageval.comparison.arena import position_remarks
from rageval.comparison.corrections import CorrectedMeasure, correction_remarks
from rageval.comparison.margins import Margin
from rageval.core.remark import Remark
from rageval.errors import InputError, MissingJudgements, UsageError
from rageval.files.scores import BaselineHeader
from rageval.scoring.answers import read_judgements
from rageval.statistics.rankings import tau_b
from rageval.views import plots


def test_the_error_that_bounds_amount_to_is_that_of_student() -> None:
    settings = GateSettings(margin=0.1)
    for units, freedom in ((11, 10), (2, 1), (1, 1)):
        reach = 0.02 * t.ppf(settings.level, freedom)
        for names in ({"queries": units}, {"queries": 40, "labels": units}):
            pair = SimpleNamespace(**{"labels": None, **names})
            tested: Any = SimpleNamespace(pair=pair, clusters=None)
            assert gate._error(tested, -reach, reach, settings) == (units, pytest.approx(0.02, rel=1e-9))
        tested = SimpleNamespace(pair=SimpleNamespace(queries=40, labels=None), clusters=units)
        assert gate._error(tested, 0.0, 2 * reach, settings) == (units, pytest.approx(0.02, rel=1e-9))


@pytest.mark.parametrize(("low", "verdict"), [(-0.1, gate.INCONCLUSIVE), (-0.099, gate.SHIP)])
def test_a_loss_of_just_the_margin_is_not_ruled_out_by_a_bound_at_it(low: float, verdict: str) -> None:
    pair: Any = SimpleNamespace(
        queries=40, labels=None, difference=0.02, low=low, high=0.15, reasons=(), basis="judge"
    )
    part: Any = SimpleNamespace(field="", name="")
    tested = gate._Tested(part, "rr", pair, (0.5, 0.52), 1.0, True, ("judge", ""), Margin(0.1))
    assert gate._decide(tested, 0.9, 0.9, GateSettings(margin=0.1)).verdict == verdict


@pytest.mark.parametrize("missing", [1, 2])
def test_a_baseline_may_lack_judgements_of_one_question_in_fifty(missing: int) -> None:
    queries = [f"q{index}" for index in range(50)]
    between = dict.fromkeys(queries[:missing], (0.0, 1.0))
    score = SimpleNamespace(
        measure="rr", query_ids=queries, between=between, people=None, by_query=dict.fromkeys(queries, 0.5)
    )
    scores: Any = SimpleNamespace(scores=(score,))
    header = BaselineHeader(measures={}, questions=0)
    if missing == 1:
        assert [line.between for line in gate.baseline_of(gate.GateSide(scores, header), "today").lines] == [
            {"rr": (0.0, 1.0)},
            *[{}] * 49,
        ]
    else:
        with pytest.raises(MissingJudgements, match="missing in 2 of 50 questions, more than 2%"):
            gate.baseline_of(gate.GateSide(scores, header), "today")


def test_leaderboards_are_compared_by_the_measures_that_are_named() -> None:
    assert leaderboards._measure_pairs({"ap": 1, "rr": 1}, {"judge": 1}, ["ap"]) == [("ap", "judge")]
    assert leaderboards._measure_pairs({"ap": 1, "rr": 1}, {"ap": 1, "rr": 1}, ["rr"]) == [("rr", "rr")]
    assert leaderboards._measure_pairs({"ap": 1}, {"judge": 1, "other": 1}, []) == [
        ("ap", "judge"),
        ("ap", "other"),
    ]


@pytest.mark.parametrize(("other", "name"), [("ap", "ap"), ("judge", "ap and judge")])
def test_too_few_runs_are_told_by_both_measures(other: str, name: str) -> None:
    with pytest.raises(InputError, match=f"^{name}: 1 runs are in both"):
        leaderboards._compare_boards("ap", {"a": {"q": 1.0}}, other, {"a": {"q": 1.0}}, ())


def test_topics_are_drawn_and_not_runs() -> None:
    """Every topic ranks the four runs alike, so that all samples of topics give the same coefficient."""
    level = np.linspace(0, 3, 20)[:, None]
    tables = [level + np.arange(4.0), 3 - level + 2 * np.arange(4.0)]
    remarks: list[Remark] = []
    assert leaderboards._bootstrap_intervals(tables, {"tau_b": tau_b}, {"tau_b": 1.0}, remarks) == {}
    assert str(remarks[-1]) == "no interval, because all samples of the topics give the same value: tau_b"


def test_labels_that_failed_are_told_where_some_did() -> None:
    judged = read_judgements([{"query_id": "q", "run_id": "r", "rubric": "crag", "label": "perfect"}])
    measure = CorrectedMeasure("r", "crag_score", "kind", 1.0, 1.0, 0.9, 1.0)
    assert list(correction_remarks([measure], judged)) == []
    remarks = correction_remarks([measure._replace(failed=2)], judged)
    assert list(map(str, remarks)) == ["r: crag_score: 2 labels failed"]


def test_the_second_column_is_a_nugget_where_a_query_has_several(tmp_path: Path) -> None:
    def aspects(text: str, named: bool | None = None) -> list[str]:
        (tmp_path / "qrels").write_text(text)
        return [line.aspect for line in passport._qrels_rows(str(tmp_path / "qrels"), named)[2]]

    one, two = "q n1 d 1\n", "q n1 d 1\nq n2 e 1\n"
    assert aspects(one) == ["0"]
    assert aspects(one, True) == ["n1"]
    assert aspects(two) == ["n1", "n2"]
    assert aspects("q 1 d 1\nq 2 e 1\n") == ["0", "0"]  # numbers that say nothing of documents


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("first", "second", "sentences"),
    [
        ("abc", "ab", ["not compared: 1 only in the first file, 0 only in the second"]),
        ("ab", "abc", ["not compared: 0 only in the first file, 1 only in the second"]),
        ("ab", "ab", []),
    ],
)
def test_judgements_of_one_file_alone_are_told(
    first: str, second: str, sentences: list[str], tmp_path: Path
) -> None:
    for name, docs in (("first", first), ("second", second)):
        (tmp_path / name).write_text("".join(f"q 0 {doc} {doc == 'a':d}\n" for doc in docs))
    figures = passport.passport(*(passport.read(str(tmp_path / name)) for name in ("first", "second")))
    assert [sentence for sentence in figures.sentences() if sentence.startswith("not compared")] == sentences


def judged_lines(path: Path, number: int, **last: Any) -> str:
    rows = [
        {
            **{"query_id": f"q{index // 10}", "run_id": "r", "aspect": f"n{index % 10}", "judge": "j"},
            **{"label": "support", "latency": index / 7, "usage": {"input": 5, "output": index % 2}},
        }
        for index in range(number)
    ]
    rows[-1] |= last
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_what_lines_say_alike_is_held_once(tmp_path: Path) -> None:
    judged = passport.read(judged_lines(tmp_path / "judged", 3000))
    assert len(judged) == 3000
    assert len(set(map(id, judged.values()))) == 2  # they differ in their usage
    assert passport.passport(judged, judged).facts["tokens"] == 3000 * 5 + 1500


def test_odd_ids_are_told_with_their_line(tmp_path: Path) -> None:
    path = judged_lines(tmp_path / "judged", 20, run_id=" r")
    with pytest.raises(InputError, match=r"judged:20: expected"):
        passport.read(path)
    path = judged_lines(tmp_path / "judged", 20, aspect=" a", query_id=7)
    assert ("7", "r", "answer", " a") in passport.read(path)


def test_several_judges_of_runs_are_a_table_each_and_one_of_pairs() -> None:
    """A run without a value in the truth is left out; three topics are no test."""
    truth = [
        leaderboards.LeaderboardRow(f"r{run}", f"q{topic}", "m", 0.1 * run + 0.01 * (run * topic % 3))
        for run in range(5)
        for topic in range(3)
    ]
    gap = leaderboards.LeaderboardRow("r5", "all", "m", math.nan)
    judges = {name: [*truth, gap._replace(value=0.4)] for name in ("one", "other")}
    (agreement,) = leaderboards.compare_judges([*truth, gap], judges)
    assert agreement.judges["one"].runs == 5
    (lacking,) = (remark for remark in agreement.judges["one"].remarks if remark.code == "runs_without_value")
    assert lacking.facts["examples"] == ("r5",)
    columns = [column.name for column in agreement.tables()[1].columns]
    assert columns == ["judge", "other", "difference", "low", "high", "p", "p (Holm)", "nearer"]
    assert [row[:3] for row in agreement.tables()[1].rows] == [["one", "other", 0.0]]


def test_where_orders_are_unknown_nothing_more_is_said_of_them() -> None:
    orders = {"pairs": None, "lists": [], "rankings": 3, "games": 0, "unknown": 0, "orders": 1}
    assert list(map(str, position_remarks(orders))) == [
        "the effect of position is unknown: each answer was shown at one position only"
    ]
    assert list(map(str, position_remarks(orders | {"unknown": 2}))) == [
        "2 of 3 rankings and games do not record the order in which answers were shown (`shown`)"
    ]


def test_the_size_of_a_figure_ends_at_40_inches_and_a_page_is_seven_wide() -> None:
    assert plots.checked_size("page") == plots.Size(7.0, None)
    assert plots.checked_size((40.0, 1)) == plots.Size(40.0, 1)
    with pytest.raises(UsageError, match="from 1 to 40, as in 5x3"):
        plots.checked_size("40.5x3")


def test_the_color_of_a_difference_says_which_run_is_better() -> None:
    first, other, neither = (
        plots._colour_of(*case) for case in ((1, "higher"), (1, "lower"), (1, "neither"))
    )
    assert (first, other, neither) == ("#0072B2", "#E69F00", "#999999")
