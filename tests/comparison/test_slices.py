"""Scores by what is known of the queries: slices with their intervals, means over groups, weights."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rageval
from rageval import InputError, evaluate_answers, recall
from rageval.comparison.estimates import slices
from rageval.comparison.intervals import FEW, bootstrap
from rageval.scoring.scores import checked_weights, groups_by
from test_bad_input import Outcome, command, process

Row = dict[str, Any]
LABELS = ("perfect", "acceptable", "missing", "incorrect")
WORTH = dict(zip(LABELS, (1.0, 0.5, 0.0, -1.0), strict=True))
KINDS = {
    "simple": ("perfect",) * 12 + ("incorrect",) * 10,
    "set": ("acceptable", "missing"),
    "one": ("perfect",),
}
JUDGED: list[Row] = [
    {
        "query_id": f"{kind} {index}",
        "run_id": "r",
        "label": label,
        "question_type": kind,
        "year": 2024 + index % 2,
        "fast": index % 3 == 0,
    }
    for kind, labels in KINDS.items()
    for index, label in enumerate(labels)
]
GROUPS = {row["query_id"]: row["question_type"] for row in JUDGED}


def mean(labels: Iterable[str]) -> float:
    values = [WORTH[label] for label in labels]
    return math.fsum(values) / len(values)


def write(name: str, records: Iterable[Mapping[str, Any]]) -> None:
    Path(name).write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("judged", JUDGED)


def sliced(*options: str, measure: str = "crag_score") -> Outcome:
    outcome = command("judged", "-m", measure, *options)
    assert outcome.code == 0, outcome
    return outcome


class TestIntervals:
    def test_the_same_every_time(self) -> None:
        values = np.random.default_rng(1).random(50)
        assert bootstrap(recall, values) == bootstrap(recall, values.copy())

    @given(st.lists(st.floats(-1, 2), min_size=2, max_size=30))
    def test_it_is_never_a_point_and_within_the_values_or_their_scale(self, values: list[float]) -> None:
        low, high = bootstrap(recall, np.array(values))
        assert low < high
        least, most = min(values), max(values)
        if most <= 1:
            assert min(least, 0 if least >= 0 else -1) - 1e-12 <= low <= high <= 1 + 1e-12
        if len({round(value, 6) for value in values}) == len(values) > 2:
            assert least - 1e-12 <= low <= np.mean(values) <= high <= most + 1e-12

    @pytest.mark.slow
    def test_it_holds_the_mean_and_shrinks_with_the_root_of_n(self) -> None:
        widths = []
        for number in (100, 1600):
            values = np.random.default_rng(2).normal(size=number)
            low, high = bootstrap(recall, values)
            assert low < values.mean() < high
            widths.append(high - low)
        assert widths[1] == pytest.approx(widths[0] / 4, rel=0.25)
        assert widths[0] == pytest.approx(2 * 1.96 / 10, rel=0.2)

    @pytest.mark.parametrize("values", [[], [0.5], [np.nan], [0.5, np.nan, np.nan]])
    def test_fewer_than_two_values_say_nothing(self, values: list[float]) -> None:
        assert all(map(math.isnan, bootstrap(recall, np.array(values))))

    def test_undefined_values_are_left_out(self) -> None:
        values = np.array([0.0, 1.0, 0.5, 0.25])
        assert bootstrap(recall, np.array([0.0, np.nan, 1.0, 0.5, np.nan, 0.25])) == bootstrap(recall, values)

    @pytest.mark.slow
    def test_many_queries_and_many_resamples(self) -> None:
        low, high = bootstrap(recall, np.arange(30_000.0))
        assert 14_500 < low < 14_999.5 < high < 15_500


class TestSlices:
    SCORE = evaluate_answers("crag_score", JUDGED)["r"]["crag_score"]

    def test_a_row_a_value_in_their_order(self) -> None:
        slices_of_score = slices(self.SCORE, "question_type", GROUPS)
        assert [slice_.name for slice_ in slices_of_score] == ["one", "set", "simple"]
        assert [slice_.queries for slice_ in slices_of_score] == [1, 2, 22]
        assert [slice_.value for slice_ in slices_of_score] == [
            mean(KINDS[slice_.name]) for slice_ in slices_of_score
        ]
        assert [slice_.is_small for slice_ in slices_of_score] == [True, True, False]
        assert FEW == 20
        one, pair, many = slices_of_score
        assert math.isnan(one.low)
        assert (pair.low, pair.high) == (0.0, 0.5)
        assert many.low < many.value < many.high

    def test_undefined_queries_are_not_counted(self) -> None:
        judged = [
            {**row, "status": "error", "label": None} if row["query_id"] == "set 0" else row for row in JUDGED
        ]
        score = evaluate_answers("crag_score", judged, on_missing="skip")["r"]["crag_score"]
        (slice_,) = (
            candidate for candidate in slices(score, "question_type", GROUPS) if candidate.name == "set"
        )
        assert (slice_.value, slice_.queries) == (0.0, 1)

    def test_facts_must_be_known_of_every_query(self) -> None:
        facts = {"1": {"domain": "sports"}, "2": {"year": "2024"}}
        assert groups_by(facts, "domain", ["1"], "file", ["domain"]) == {"1": "sports"}
        with pytest.raises(InputError, match="file: has no domain for 1 of 2 queries, such as '2'"):
            groups_by(facts, "domain", ["1", "2"], "file", ["domain", "year"])
        with pytest.raises(
            InputError,
            match=r"there is no field 'domian'; expected one of domain, year; did you mean domain",
        ):
            groups_by(facts, "domian", ["1"], "file", ["domain", "year"])


class TestMeansOfGroups:
    def test_every_group_counts_the_same(self) -> None:
        score = evaluate_answers("crag_score", JUDGED, groups=GROUPS)["r"]["crag_score"]
        assert score.value == pytest.approx(sum(map(mean, KINDS.values())) / 3)

    def test_traffic_weighs_the_means_of_the_slices(self) -> None:
        weights = {"simple": 0.85, "set": 0.1, "one": 0.05}
        score = evaluate_answers("crag_score", JUDGED, groups=GROUPS, weights=weights)["r"]["crag_score"]
        assert score.value == pytest.approx(
            sum(weight * mean(KINDS[kind]) for kind, weight in weights.items())
        )

    @pytest.mark.parametrize(
        ("weights", "expected"),
        [
            ({"simple": 0.5, "set": 0.4}, "found a sum of 0.9"),
            ({"simple": 0.5, "set": 0.5}, "'one' has no weight"),
            ({"simple": 0.5, "set": 0.3, "one": 0.1, "x\x1b": 0.1}, "'x.*1b' has a weight but no query"),
            ({"simple": 1.5, "set": -0.5, "one": 0}, "weights from 0"),
            ({}, "sum of 0"),
            ({"simple": math.nan, "set": 0.5, "one": 0.5}, "weights"),
        ],
    )
    def test_weights_that_do_not_fit(self, weights: dict[str, float], expected: str) -> None:
        with pytest.raises(InputError, match=f"traffic: .*{expected}"):
            checked_weights(weights, GROUPS, "traffic")

    def test_a_group_that_weighs_nothing_needs_no_query(self) -> None:
        weights = {"simple": 0.5, "set": 0.3, "one": 0.2, "elsewhere": 0.0}
        assert checked_weights(weights, GROUPS, "traffic") == weights

    def test_from_the_command_line(self) -> None:
        Path("traffic").write_text("simple 0.85\nset 0.10\n\none\t0.05\n")
        Path("kinds").write_text("".join(f"{query}\t{kind}\n" for query, kind in GROUPS.items()))
        expected = 0.85 * mean(KINDS["simple"]) + 0.1 * mean(KINDS["set"]) + 0.05
        for group_by in ([], ["--group-by", "question_type"], ["--group-by", "kinds"]):
            outcome = sliced("--weights", "traffic", *group_by, "-p", "12", "--format", "ir_measures")
            assert outcome.out == f"crag_score\t{expected:.12f}\n"


def as_records(text: str) -> list[Row]:
    results: list[Row] = json.loads(text)["results"]
    return results


class TestCommand:
    def test_json_has_the_mean_and_its_slices(self) -> None:
        (record,) = as_records(sliced("--by", "question_type", "--format", "json").out)
        assert record["value"] == pytest.approx(mean(label for labels in KINDS.values() for label in labels))
        assert [row["name"] for row in record["slices"]] == ["one", "set", "simple"]
        assert record["slices"][0] == {
            "field": "question_type",
            "name": "one",
            "value": 1.0,
            "low": None,
            "high": None,
            "queries": 1,
            "undefined": 0,
            "small": True,
            "basis": "judge",
            "corrected_from": "",
            "drawn": "",
            "reasons": [],
        }
        assert record["slices"][2]["value"] == pytest.approx(mean(KINDS["simple"]))
        assert record["slices"][2]["small"] is False

    def test_json_lines_have_a_line_a_measure_with_its_slices(self) -> None:
        lines = sliced(
            "--by", "question_type", "--format", "jsonl", measure="crag_score accuracy"
        ).out.splitlines()
        assert [json.loads(line)["measure"] for line in lines] == ["crag_score", "crag_share"]
        assert [len(json.loads(line)["slices"]) for line in lines] == [3, 3]

    def test_several_fields_of_any_kind(self) -> None:
        (record,) = as_records(sliced("--by", "question_type, year,fast", "--format", "json").out)
        counts = {(row["field"], row["name"]): row["queries"] for row in record["slices"]}
        assert counts["year", "2024"] == 11 + 1 + 1
        assert counts["year", "2025"] == 11 + 1
        by_field = {field: sum(n for (name, _), n in counts.items() if name == field) for field, _ in counts}
        assert by_field == {"question_type": 25, "year": 25, "fast": 25}

    def test_csv_and_the_lines_for_people(self) -> None:
        table = list(csv.DictReader(io.StringIO(sliced("--by", "question_type", "--format", "csv").out)))
        assert [line["slice"] for line in table] == [
            f"question_type={kind}" for kind in ("one", "set", "simple")
        ]
        assert [line["n"] for line in table] == ["1", "2", "22"]
        lines = sliced("--by", "question_type").out.splitlines()
        assert lines[0].endswith("n=1*, by an unnamed judge")
        assert lines[2].endswith("n=22, by an unnamed judge")
        lines = sliced("--by", "question_type", "--format", "table").out.splitlines()
        assert [line.rstrip().endswith("*") for line in lines[2:5]] == [True, True, False]
        assert lines[-2] == "* fewer than 20 queries"
        assert lines[-1].startswith("by an unnamed judge: crag_score (")

    @pytest.mark.parametrize("style", ["md", "latex"])
    def test_tables_show_how_many_queries_a_slice_has(self, style: str) -> None:
        out = sliced("--by", "question_type", "--format", style).out
        assert "22" in out
        assert "question" in out

    @pytest.mark.slow
    def test_facts_of_the_questions(self) -> None:
        bare = [{key: row[key] for key in ("query_id", "run_id", "label")} for row in JUDGED]
        expected = sliced("--by", "question_type").out
        write(
            "questions",
            [{"query_id": query, "question": "?", "question_type": kind} for query, kind in GROUPS.items()],
        )
        write("judged", bare)
        assert sliced("--by", "question_type", "--questions", "questions").out == expected
        outcome = process(
            "-",
            "-m",
            "crag_score",
            "--by",
            "question_type",
            "--questions",
            "questions",
            stdin=Path("judged").read_bytes(),
        )
        assert outcome.out == expected

    def test_questions_of_crag(self) -> None:
        write(
            "questions",
            [
                {"interaction_id": query, "query": "?", "question_type": kind, "search_results": [{}]}
                for query, kind in GROUPS.items()
            ],
        )
        write("judged", [{key: row[key] for key in ("query_id", "run_id", "label")} for row in JUDGED])
        (record,) = as_records(
            sliced("--by", "question_type", "--questions", "questions", "--format", "json").out
        )
        assert [row["queries"] for row in record["slices"]] == [1, 2, 22]

    def test_every_system_has_its_rows(self) -> None:
        write("judged", [row | {"run_id": run} for row in JUDGED for run in ("a", "b")])
        assert [line.split("\t")[0] for line in sliced("--by", "question_type").out.splitlines()] == list(
            "aaabbb"
        )


TOPICS = {"langchain": 3, "yolo": 2, "godot": 1}
RUN = {
    f"{topic}-{index}": {"d1": 2.0, "d2": 1.0} for topic, number in TOPICS.items() for index in range(number)
}
QRELS = {
    query: {"n1": {"d1": 1}, "n2": {"d2" if query.endswith("0") else "d9": 1}, "n3": {"d9": 1}}
    for query in RUN
}


class TestFreshStack:
    """The average of its leaderboard: the mean over topics of each topic's mean."""

    def expected(self) -> float:
        coverage = {query: (2 if query.endswith("0") else 1) / 3 for query in RUN}
        means = [
            sum(coverage[f"{topic}-{index}"] for index in range(number)) / number
            for topic, number in TOPICS.items()
        ]
        return sum(means) / len(means)

    def test_groups_average_alike_in_python(self) -> None:
        groups = {query: query.rpartition("-")[0] for query in RUN}
        score = rageval.evaluate("coverage@20", RUN, QRELS, groups=groups)["coverage@20"]
        assert score.value == pytest.approx(self.expected())
        assert score.value != pytest.approx(rageval.evaluate("coverage@20", RUN, QRELS)["coverage@20"].value)

    def test_with_a_file_and_with_a_field(self) -> None:
        Path("run").write_text(
            "".join(f"{q} Q0 {d} 1 {s} t\n" for q, docs in RUN.items() for d, s in docs.items())
        )
        Path("qrels").write_text(
            "".join(
                f"{q} {n} {d} 1\n" for q, judged in QRELS.items() for n, docs in judged.items() for d in docs
            )
        )
        Path("topics").write_text("".join(f"{query}\t{query.rpartition('-')[0]}\n" for query in RUN))
        write("questions", [{"query_id": query, "topic": query.rpartition("-")[0]} for query in RUN])
        for options in (["--group-by", "topics"], ["--group-by", "topic", "--questions", "questions"]):
            outcome = command("run", "qrels", "-m", "coverage@20", "-p", "12", *options)
            assert outcome.code == 0, outcome
            assert float(outcome.out.split()[-1]) == pytest.approx(self.expected(), abs=1e-11)

    def test_slices_of_a_run(self) -> None:
        self.test_with_a_file_and_with_a_field()
        outcome = command(
            "run",
            "qrels",
            "-m",
            "coverage@20",
            "--by",
            "topic",
            "--questions",
            "questions",
            "--format",
            "json",
        )
        (record,) = as_records(outcome.out)
        assert {row["name"]: row["queries"] for row in record["slices"]} == TOPICS
        assert sum(row["value"] for row in record["slices"]) / 3 == pytest.approx(self.expected())
