"""Judged answers that are wrong are refused, as runs are: exit code, file and line, no traceback."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rageval.views.scores import SLICE_FORMATS
from test_bad_input import CONTROLS, ENOUGH_MEMORY, HOSTILE, PEAK_MEMORY, RAGEVAL, Outcome, command, process

Row = dict[str, Any]
STYLES = ("trec", "ir_measures", "ndeval", "json", "jsonl", "csv", "md", "latex", "table")
RUN, QRELS = "q1 Q0 d1 1 9 t\nq1 Q0 d2 2 8 t\n", "q1 n1 d1 1\nq1 n2 d2 1\n"


def judged(query: str = "1", run: str = "r", **fields: Any) -> Row:
    return {"query_id": query, "run_id": run, "aspect": "0"} | fields


GOOD = [judged("1", label="perfect"), judged("2", label="missing"), judged("3", label="incorrect")]


def lines(rows: Iterable[Row]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").write_text(RUN)
    Path("qrels").write_text(QRELS)
    Path("good").write_bytes(lines(GOOD))


def score(
    text: bytes | Iterable[Row] = lines(GOOD), measure: str = "crag_score", *options: object
) -> Outcome:
    """Score a file that is called `judged` in messages."""
    Path("judged").write_bytes(text if isinstance(text, bytes) else lines(text))
    return command("judged", "-m", measure, *options)


def assert_refused(outcome: Outcome, *expected: str, code: int = 2) -> None:
    assert outcome.code == code, outcome
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    assert outcome.err.startswith("rageval: ")
    for text in expected:
        assert text in outcome.err


def test_the_file_is_right_as_long_as_nothing_is_changed() -> None:
    assert score() == Outcome(0, f"{'crag_score':<22}\tall\t0.0000\n", "")


BAD_LINES: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"perfect\n", "found no valid JSON"),
    "half a record": (b'{"query_id": "9", "run_id"\n', "found no valid JSON"),
    "single quotes": (b"{'query_id': '9'}\n", "found no valid JSON"),
    "a comma at the end": (b'{"query_id": "9", "run_id": "r", "label": "perfect",}\n', "found no valid JSON"),
    "two records in a line": (lines(GOOD[:2]).replace(b"\n", b" ") + b"\n", "found no valid JSON"),
    "NaN": (b'{"query_id": "9", "run_id": "r", "grade": NaN}\n', "without a grade"),
    "Infinity": (b'{"query_id": "9", "run_id": "r", "grade": Infinity}\n', "found Infinity in grade"),
    "an array": (b'["9", "r", "perfect"]\n', "got `array`"),
    "a number": (b"9\n", "got `int`"),
    "null": (b"null\n", "got `null`"),
    "no query": (b'{"run_id": "r", "label": "perfect"}\n', "missing required field `query_id`"),
    "no run": (b'{"query_id": "9", "label": "perfect"}\n', "missing required field `run_id`"),
    "a query that is a list": (lines([judged("9", label="perfect") | {"query_id": ["9"]}]), "in query_id"),
    "a query that is null": (lines([judged("9", label="perfect") | {"query_id": None}]), "in query_id"),
    "a query that is a fraction": (lines([judged("9", label="perfect") | {"query_id": 9.5}]), "in query_id"),
    "a label that is a number": (lines([judged("9", label=1)]), "in label"),
    "a grade that is text": (lines([judged("9", grade="1")]), "in grade"),
    "a grade that is true": (lines([judged("9", grade=True)]), "in grade"),
    "a weight that is text": (lines([judged("9", label="perfect", weight="2")]), "in weight"),
    "an importance nobody knows": (lines([judged("9", label="perfect", importance="high")]), "in importance"),
    "a status nobody knows": (lines([judged("9", status="failed")]), "in status"),
    "a failure with a label": (
        lines([judged("9", status="error", label="perfect")]),
        "status 'error' with a grade",
    ),
    "a failure with a grade": (
        lines([judged("9", status="refused", grade=0)]),
        "status 'refused' with a grade",
    ),
    "nothing said": (lines([judged("9")]), "status 'ok' without a grade; expected a label or a grade"),
    "repaired, nothing said": (lines([judged("9", status="repaired")]), "status 'repaired' without a grade"),
    "a grade beyond all": (lines([judged("9", grade=1e7)]), "expected a grade from -1,000,000 to 1,000,000"),
    "a grade beyond floats": (b'{"query_id": "9", "run_id": "r", "grade": 1e999}\n', "expected"),
    "Latin-1": (
        '{"query_id": "é", "run_id": "r", "label": "perfect"}\n'.encode("latin-1"),
        "0xe9, which is not UTF-8",
    ),
    "a NUL byte": (b'{"query_id": "\x00", "run_id": "r", "label": "perfect"}\n', "found no valid JSON"),
    "NUL bytes alone": (b"\x00\x00\x00\n", "found no valid JSON"),
    "an escape sequence": (
        b'{"query_id": "\x1b[31m", "run_id": "r", "label": "perfect"}\n',
        "found no valid JSON",
    ),
    "half a surrogate": (b'{"query_id": "\\ud800", "run_id": "r", "label": "perfect"}\n', "expected"),
    "a raw surrogate": (b'{"query_id": "\xed\xa0\x80", "run_id": "r", "label": "perfect"}\n', "not UTF-8"),
    "deep nesting": (b'{"query_id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "expected"),
    "deep nesting elsewhere": (
        b'{"query_id": "9", "run_id": "r", "label": "perfect", "raw": '
        + b"[" * 100_000
        + b"]" * 100_000
        + b"}\n",
        "nested too deeply",
    ),
    "a number of thousands of digits": (
        b'{"query_id": ' + b"9" * 5000 + b', "run_id": "r", "label": "perfect"}\n',
        "expected",
    ),
    "a long id": (lines([judged("9" * 1025, label="perfect")]), "expected at most 1,024"),
    "a long id of few characters": (lines([judged("文" * 342, label="perfect")]), "1,02"),
    "a long label": (lines([judged("9", label="x" * 5000)]), "expected at most 200"),
    "a run": (b"q1 Q0 d1 1 9 t\n", "found no valid JSON"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line(name: str) -> None:
    text, expected = BAD_LINES[name]
    assert_refused(score(lines(GOOD) + text), "judged:4: ", expected)
    outcome = score(lines(GOOD[:1]) + b"\n" + text + lines(GOOD[1:]))
    assert_refused(outcome, "judged:3: ", expected)
    assert len(outcome.err) < 2000


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"label": "prefect"},
            "expected one of perfect, acceptable, missing, incorrect, accurate for CRAG,"
            " found label 'prefect'",
        ),
        ({"label": "support"}, "found label 'support'"),
        ({"label": ""}, "found label ''"),
        ({"label": "perfect", "grade": 0.5}, "label 'perfect' with grade 0.5, which is worth 1"),
        ({"grade": 2}, "found grade 2.0"),
        ({"grade": 0.25}, "found grade 0.25"),
    ],
)
def test_labels_and_grades_of_another_scale(fields: Row, expected: str) -> None:
    outcome = score([*GOOD, judged("4", **fields)])
    assert_refused(outcome, "judged:4: ", expected)


@pytest.mark.parametrize(
    ("measure", "aspect", "grade", "expected"),
    [
        (
            "correctness",
            "correctness",
            2.5,
            "expected a number from -1 to 2 for correctness, found grade 2.5",
        ),
        (
            "faithfulness",
            "faithfulness",
            1.1,
            "expected a number from -1 to 1 for faithfulness, found grade 1.1",
        ),
        ("rank_score", "order", 0, "expected a whole number from 1 for positions, found grade 0.0"),
        ("rank_score", "order", 1.5, "expected a whole number from 1 for positions, found grade 1.5"),
        ("bank_recall", "redundant", 2, "expected a whole number from 0 to 1"),
    ],
)
def test_grades_out_of_range(measure: str, aspect: str, grade: float, expected: str) -> None:
    rows = [judged(str(number), aspect=aspect, grade=1) for number in range(3)]
    rows += (
        [judged(str(number), aspect="lacking", grade=1) for number in range(3)]
        if measure == "bank_recall"
        else []
    )
    outcome = score([*rows, judged("x", aspect=aspect, grade=grade)], measure)
    assert_refused(outcome, f"judged:{len(rows) + 1}: ", expected)


def test_a_judgement_twice_names_both_lines() -> None:
    outcome = score([*GOOD, GOOD[1] | {"label": "perfect"}])
    assert_refused(outcome, "judged:4: query 2, run r, item answer, aspect 0 was judged before, in judged:2")
    Path("more").write_bytes(lines([GOOD[2]]))
    Path("judged").write_bytes(lines(GOOD))
    assert_refused(command("judged", "more", "-m", "crag_score"), "more:1: query 3", "in judged:3")
    assert score([row | {"judge": judge} for row in GOOD for judge in "AB"]).code == 0
    assert score([row | {"item_id": item} for row in GOOD for item in "AB"]).code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "empty",
    [b"", b"\n\n", b" \t \n", b"\xef\xbb\xbf", gzip.compress(b""), lzma.compress(b"\n")],
    ids=["nothing", "lines", "blanks", "mark", "gzip", "xz"],
)
def test_files_that_hold_nothing(empty: bytes) -> None:
    assert_refused(score(empty), "judged: is empty")
    assert_refused(score(lines(GOOD), "crag_score", "--answers", "nothing"), "nothing: no such file")
    Path("nothing").write_bytes(empty)
    assert_refused(score(lines(GOOD), "crag_score", "--answers", "nothing"), "nothing: is empty")
    Path("judged").write_bytes(empty)
    for words in (["good", "judged"], ["judged", "good"]):
        assert_refused(command(*words, "-m", "crag_score"), "judged: is empty")


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_unicode_encodings(codec: str) -> None:
    assert_refused(score(lines(GOOD).decode().encode(codec)), "judged:1: ")
    Path("answers").write_bytes(b'{"query_id": "1", "run_id": "r", "answer": "x"}\n'.decode().encode(codec))
    assert_refused(score(lines(GOOD), "crag_score", "--answers", "answers"), "answers:1: ")


def test_an_empty_file_beside_others_is_not_passed_over() -> None:
    Path("empty").write_bytes(b"")
    for words in (["good", "empty"], ["empty", "good"]):
        outcome = command(*words, "-m", "crag_score")
        assert (outcome.code, outcome.out) == (2, "")


@pytest.mark.parametrize(
    "odd", [b"\xef\xbb\xbf" + lines(GOOD), lines(GOOD).replace(b"\n", b"\r\n"), b"\n\n" + lines(GOOD) + b"\n"]
)
def test_what_is_unusual_and_right(odd: bytes) -> None:
    assert score(odd) == score()
    assert score(gzip.compress(odd)) == score()
    assert score(bz2.compress(odd)) == score()


@pytest.mark.slow
@pytest.mark.parametrize("packer", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_that_breaks_off(packer: Callable[[bytes], bytes]) -> None:
    packed = packer(lines(judged(str(number), label="perfect") for number in range(30_000)))
    assert_refused(score(packed[: len(packed) // 2]), "judged: is truncated or damaged after ")


def test_a_json_array_in_place_of_lines() -> None:
    for text in (json.dumps(GOOD), json.dumps(GOOD, indent=2), "[\n" + json.dumps(GOOD[0]) + "\n]"):
        assert_refused(score(text.encode()), "judged:1: looks like a JSON array; expected JSON lines")
    assert_refused(score(json.dumps(GOOD[0], indent=2).encode()), "judged:")


OTHER_FILES: dict[str, tuple[Row, str]] = {
    "nuggets": ({"query": "?", "qid": "1", "nuggets": [{"text": "n", "importance": "vital"}]}, "nuggets"),
    "questions": ({"query_id": "1", "question": "?"}, "questions"),
    "CRAG's questions": (
        {"interaction_id": "1", "query": "?", "answer": "x", "domain": "d"},
        "questions",
    ),
    "metrics": (
        {"qid": "1", "strict_vital_score": 1, "strict_all_score": 1, "vital_score": 1, "all_score": 1},
        "nuggetizer's metrics",
    ),
    "rubrics": ({"qid": "1", "rubrics": [{"criterion": "c", "weight": 1}]}, "nuggets or rubrics"),
    "something else": ({"a": 1, "b": 2}, "something else (keys a, b)"),
    "nothing": ({}, "something else"),
}


@pytest.mark.parametrize("kind", OTHER_FILES)
def test_a_file_of_another_kind(kind: str) -> None:
    record, name = OTHER_FILES[kind]
    assert_refused(score([record]), f"judged:1: holds {name}", "expected judgements {query_id, run_id,")
    assert_refused(score([*GOOD, record]), "judged:4: ")


def test_answers_alone_hold_no_judgements() -> None:
    answers = [{"query_id": "1", "run_id": "r", "answer": "Paris"}]
    assert_refused(score(answers), "crag_score", "no judgements of CRAG")
    assert score(answers, "length").out.endswith("\t1.0000\n")


class TestMeasuresAndFiles:
    def test_judged_answers_beside_runs(self) -> None:
        for words in (["good", "run"], ["run", "qrels", "good"], ["good", "qrels"]):
            assert_refused(command(*words, "-m", "crag_score"), "found both", "score them in two commands")

    @pytest.mark.parametrize(
        "measure", ["crag_score", "v_strict", "length", "win_rate", "rank_score", "citation_recall"]
    )
    def test_a_measure_of_answers(self, measure: str) -> None:
        assert_refused(command("run", "qrels", "-m", measure), "answers")
        assert_refused(command("run", "qrels", "-m", f"recall@5 {measure}"), "answers")

    @pytest.mark.parametrize(
        "measure", ["crag_score@10", "v_strict@1", "nugget_recall(importance=vital)@5", "a@3"]
    )
    def test_a_cutoff_nobody_asked_for(self, measure: str) -> None:
        assert_refused(score(lines(GOOD), measure))
        assert "takes no cut-off" in score(lines(GOOD), "nugget_recall@5").err

    @pytest.mark.parametrize(
        ("measure", "expected"),
        [
            ("crag_scor", "did you mean crag_score"),
            (
                "nugget_recall(importance=vitl)",
                "expected one of all, vital, okay, weighted; did you mean vital?",
            ),
            ("nugget_recall(credit=full)", "expected one of strict, partial"),
            ("nugget_f(beta=-1)", "expected a number from 0 to 1000"),
            ("nugget_f(beta=nan)", "expected a number"),
            ("correctness_share(level=9)", "expected a number from -1 to 2"),
            ("crag_score(rel=1)", "crag_score has no parameter 'rel'; it takes none"),
            ("", "no measure named"),
        ],
    )
    def test_a_measure_that_does_not_exist(self, measure: str, expected: str) -> None:
        assert_refused(score(lines(GOOD), measure), expected)

    @pytest.mark.parametrize(
        "measure",
        [
            *("v_strict", "rubric_score", "citation_precision", "rank_score", "win_rate", "audit_share"),
            *("correctness", "bank_recall"),
        ],
    )
    def test_nothing_to_compute_it_from(self, measure: str) -> None:
        outcome = score([row | {"rubric": "crag"} for row in GOOD], measure)
        assert_refused(outcome, "judged holds no judgements of", "labels there: perfect, missing, incorrect")

    def test_lengths_of_answers_that_are_not_there(self) -> None:
        assert_refused(score(lines(GOOD), "length"), "needs the answers; give them (--answers FILE)")

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "options",
        [
            *(["--depth", "5"], ["--rel", "2"], ["--judged-only"], ["--dedup", "first"]),
            *(["--provider", "pytrec_eval"], ["--compat", "ndeval"], ["--compat", "trec_eval"]),
            *(["--ties", "rank"], ["--ties", "trec"], ["-c"], ["--zero-rel", "skip"], ["--rel", "0"]),
            *(
                ["--on-missing", "zero"],
                ["--by", "domain"],
                ["--group-by", "nowhere"],
                ["--weights", "nowhere"],
            ),
            *(["--questions", "nowhere", "--by", "domain"], ["--answers", "run"], ["--answers", "good"]),
            *(
                ["--fail-under", "crag_score"],
                ["--fail-under", "crag_score=high"],
                ["--fail-under", "ndcg=1"],
            ),
        ],
        ids=" ".join,
    )
    def test_options_that_make_no_sense(self, options: list[str]) -> None:
        outcome = score(lines(GOOD), "crag_score", *options)
        assert (outcome.code, outcome.out) == (2, "")
        assert "Traceback" not in outcome.err

    @pytest.mark.parametrize(
        "options",
        [
            *(["--compat", "nuggetizer"], ["--answers", "good"], ["--weights", "good"]),
            ["--on-missing", "worst"],
        ],
    )
    def test_options_of_answers_with_runs(self, options: list[str]) -> None:
        assert_refused(command("run", "qrels", "-m", "recall", *options), "judged answers")

    def test_a_gate(self) -> None:
        assert score(lines(GOOD), "crag_score", "--fail-under", "crag_score=0").code == 0
        outcome = score(lines(GOOD), "accuracy", "--fail-under", "truthfulness=0.1")
        assert outcome.code == 1
        assert "crag_score is 0.0000, below 0.1" in outcome.err

    def test_answers_whose_queries_nobody_judged(self) -> None:
        Path("answers").write_bytes(lines([{"query_id": "77", "run_id": "r", "answer": "x"}]))
        outcome = score(lines(GOOD), "crag_score", "--answers", "answers", "--format", "json")
        (record,) = json.loads(outcome.out)["results"]
        assert (record["value"], record["queries"]) == (0.0, 3)

    def test_an_answer_twice(self) -> None:
        Path("answers").write_bytes(lines([{"query_id": "1", "run_id": "r", "answer": "x"}] * 2))
        assert_refused(
            score(lines(GOOD), "crag_score", "--answers", "answers"),
            "answers:2: a second answer of run r to query 1, the first is in line 1",
        )
        Path("answers").write_bytes(lines([{"query_id": "1", "run_id": "r", "answer": "x"}]))
        outcome = score(lines(GOOD), "length", "--answers", "answers", "--answers", "answers")
        assert outcome.code in (0, 2)
        assert "Traceback" not in outcome.err


FAILING = [*GOOD, judged("4", status="error"), judged("5", status="refused"), judged("6", status="error")]
ABSENT = [judged("1", "s", label="perfect")]


class TestMissing:
    def test_is_told_with_counts_by_status_and_system_and_with_bounds(self) -> None:
        outcome = score([*FAILING, *ABSENT], "crag_score accuracy", "--on-missing", "error")
        assert_refused(
            outcome,
            "r: 3 judgements that crag_score needs are missing (2 error, 1 refused);",
            " its value lies between -0.5000 and 0.5000",
            "s: 5 judgements that crag_score needs are missing (5 absent)",
            "its value lies between -0.6667 and 1.0000",
            "--on-missing skip, worst or best",
            code=3,
        )
        assert "crag_share" in outcome.err
        assert score(FAILING) == score(FAILING, "crag_score", "--on-missing", "error")

    @pytest.mark.parametrize(
        ("policy", "value", "undefined"), [("skip", 0.0, 3), ("worst", -0.5, 0), ("best", 0.5, 0)]
    )
    def test_other_policies(self, policy: str, value: float, undefined: int) -> None:
        outcome = score(FAILING, "crag_score", "--on-missing", policy, "--format", "json")
        (record,) = json.loads(outcome.out)["results"]
        assert outcome.code == 0
        assert (record["value"], record["undefined"], record["missing"]) == (value, undefined, 3)
        assert record["lost"] == {"error": 2, "refused": 1}
        assert record["bounds"] == [-0.5, 0.5]
        assert f"on_missing:{policy}" in record["signature"]
        assert "3 judgements are missing (2 error, 1 refused); from -0.5000 to 0.5000" in outcome.err

    def test_when_everything_failed_there_is_no_number(self) -> None:
        rows = [judged(str(number), status="refused") for number in range(4)]
        assert_refused(score(rows), "4 judgements", "(4 refused)", "between -1.0000", "1.0000", code=3)
        outcome = score(rows, "crag_score", "--on-missing", "skip", "--format", "json")
        (record,) = json.loads(outcome.out)["results"]
        assert (record["value"], record["queries"], record["undefined"]) == (None, 0, 4)
        assert score(rows, "crag_score", "--on-missing", "skip").out.split()[-1] == "nan"
        assert score(rows, "crag_score", "--on-missing", "skip", "--fail-under", "crag_score=-1").code == 1

    def test_many_systems_are_counted(self) -> None:
        rows = [judged("1", f"run {number}", status="error") for number in range(30)]
        outcome = score(rows)
        assert_refused(outcome, "… and 20 more", code=3)
        assert outcome.err.count("\n") == 12

    def test_judgements_one_system_lacks(self) -> None:
        assert_refused(score([*GOOD, *ABSENT]), "s: 2 judgements", "(2 absent)", code=3)
        assert score([*GOOD, *ABSENT], "crag_score", "--compat", "nuggetizer").code == 0


def with_domains(*domains: str) -> list[Row]:
    return [row | {"domain": domain} for row, domain in zip(GOOD, domains, strict=False)]


class TestSlices:
    def test_an_unknown_field_names_those_there_are(self) -> None:
        outcome = score(with_domains("a", "b", "c"), "crag_score", "--by", "domian")
        assert_refused(outcome, "there is no field 'domian'", "domain", "did you mean domain?")
        Path("questions").write_bytes(lines([{"query_id": "1", "question": "?", "year": 1}]))
        outcome = score(lines(GOOD), "crag_score", "--by", "domain", "--questions", "questions")
        assert_refused(outcome, "questions: there is no field 'domain'; expected one of question, year")

    def test_queries_without_the_field(self) -> None:
        outcome = score([*with_domains("a", "b"), GOOD[2]], "crag_score", "--by", "domain")
        assert_refused(outcome, "has no domain for 1 of 3 queries, such as '3'")
        Path("questions").write_bytes(
            lines([{"query_id": f"0{number}", "question": "?", "year": 1} for number in range(4)])
        )
        outcome = score(lines(GOOD), "crag_score", "--by", "year", "--questions", "questions")
        assert_refused(outcome, "has none of the 3 queries, such as '1'", "queries there: 00, 01, 02, …")

    def test_a_field_that_contradicts_itself(self) -> None:
        rows = with_domains("a", "b", "c") + [row | {"run_id": "s", "domain": "z"} for row in GOOD]
        assert_refused(
            score(rows, "crag_score", "--by", "domain"), "judged:4: domain of query 1 is 'z', and 'a' before"
        )

    @pytest.mark.parametrize("option", ["--by", "--group-by"])
    def test_a_file_of_groups(self, option: str) -> None:
        for text, expected in (
            (b"1 a\n2 b\n", "'3'"),
            (b"1 a\n2 b\n3\n", "groups:3: expected 2 columns"),
            (b"1 a\n2 b\n1 b\n3 c\n", "groups:3: query 1 already has a group: a"),
            (b"1 a\n2 \xff\n3 c\n", "groups:2: expected UTF-8"),
            (b"", "'1'"),
        ):
            Path("groups").write_bytes(text)
            assert_refused(score(lines(GOOD), "crag_score", option, "groups"), expected)
        Path("groups").write_bytes(b"1 a\n2 b\n3 c\n4 unused\n")
        assert score(lines(GOOD), "crag_score", option, "groups").code == 0

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("a 0.5\nb 0.4\n", "weights: expected weights from 0 that sum to 1, found a sum of 0.9"),
            ("a 0.5\nb 0.5\n", "weights: 'c' has no weight; expected a weight for each of a, b, c"),
            ("a 0.5\nb 0.2\nc 0.2\nd 0.1\n", "weights: 'd' has a weight but no query"),
            ("a 0.5\nb 0.2\nc x\n", "weights:3: expected a weight from 0 to 1, found 'x'"),
            ("a 0.5\nb nan\nc 0.5\n", "weights:2: expected a weight from 0 to 1, found 'nan'"),
            ("a 1.5\nb -0.5\nc 0\n", "weights:1: expected a weight from 0 to 1, found '1.5'"),
            ("a 0.5\na 0.2\nc 0.3\n", "weights:2: a already has a weight"),
            ("a 0.5 x\n", "weights:1: expected 2 columns"),
            ("", "weights"),
        ],
    )
    def test_weights(self, text: str, expected: str) -> None:
        Path("weights").write_text(text)
        rows = with_domains("a", "b", "c")
        assert_refused(score(rows, "crag_score", "--group-by", "domain", "--weights", "weights"), expected)

    @pytest.mark.slow
    def test_standard_input_cannot_be_read_again(self) -> None:
        for option in ("--by", "--group-by"):
            outcome = process(
                "-", "-m", "crag_score", option, "domain", stdin=lines(with_domains("a", "b", "c"))
            )
            assert_refused(outcome, "the 'domain' of the queries is unknown; give --questions FILE")

    def test_questions_that_are_none(self) -> None:
        for text, expected in (
            (b"{", "questions:1: "),
            (b"", "questions: is empty"),
            (b'{"domain": "a"}', "questions:1: expected one of the keys"),
        ):
            Path("questions").write_bytes(text)
            assert_refused(
                score(lines(GOOD), "crag_score", "--by", "domain", "--questions", "questions"), expected
            )

    @pytest.mark.parametrize("fields", [",", " ", ", ,"])
    def test_no_field_at_all(self, fields: str) -> None:
        outcome = score(with_domains("a", "b", "c"), "crag_score", "--by", fields)
        assert outcome.code == 2 or outcome == score()


EVIL = [*CONTROLS, "\x1b[31m", "\x07", "\x00", "\x7f", "\r", "\n"]


class TestHostileText:
    @pytest.mark.parametrize("style", STYLES)
    def test_ids_never_reach_the_output_raw(self, style: str) -> None:
        control = "".join(EVIL)
        rows = [
            judged(f"q{control}1", f"r{control}{run}", judge=f"{judge}{control}", label="perfect")
            for run in "ab"
            for judge in "AB"
        ]
        outcome = score(rows, "crag_score", "-q", "--format", style)
        assert outcome.code == 0, outcome
        assert not HOSTILE.search(outcome.out + outcome.err)
        assert outcome.out.count("\n") < 60

    @pytest.mark.slow
    @pytest.mark.parametrize("control", EVIL, ids=ascii)
    @pytest.mark.parametrize("style", [style for style in STYLES if style in SLICE_FORMATS])
    def test_names_of_slices_neither(self, control: str, style: str) -> None:
        rows = [row | {"domain": f"d{control}{index}"} for index, row in enumerate(GOOD)]
        outcome = score(rows, "crag_score", "--by", "domain", "--format", style)
        assert outcome.code == 0, outcome
        assert not HOSTILE.search(outcome.out + outcome.err)
        assert outcome.out.count("domain") == 3

    @pytest.mark.slow
    @pytest.mark.some(3)
    @pytest.mark.parametrize("control", EVIL, ids=ascii)
    def test_errors_neither(self, control: str) -> None:
        evil = f"x{control}y"
        Path("weights").write_text("a 0.5\nb 0.5\n")
        Path("answers").write_bytes(
            lines(
                [
                    {
                        "query_id": "1",
                        "run_id": "r",
                        "answer": [{"text": evil, "citations": ["d"]}],
                        "references": ["d"],
                    }
                ]
            )
        )
        outcomes = [
            score([*GOOD, judged("4", label=evil)]),
            score([*GOOD, judged("4", label="perfect", status=evil)]),
            score([*GOOD, judged(evil, evil, item_id=evil, aspect=evil, label="missing")] * 2),
            score([judged("4", evil, status="error")]),
            score([{evil: 1}]),
            score([row | {evil: 1} for row in GOOD], "crag_score", "--by", "domain"),
            score([row | {"domain": evil} for row in GOOD[:2]] + GOOD[2:], "crag_score", "--by", "domain"),
            score(
                [row | {"domain": evil + str(index)} for index, row in enumerate(GOOD * 2)],
                "crag_score",
                "--by",
                "domain",
            ),
            score(
                [row | {"domain": evil} for row in GOOD],
                "crag_score",
                "--group-by",
                "domain",
                "--weights",
                "weights",
            ),
            score(
                [row | {"query_id": evil + row["query_id"]} for row in GOOD], "crag_score", "--by", "domain"
            ),
            score(
                [judged("1", item_id=evil, aspect=evil, label="full_support")],
                "citation_recall",
                "--answers",
                "answers",
            ),
            score([judged(evil, label="full_support")], "citation_recall"),
            score(
                [
                    judged("1", aspect=evil, label="support"),
                    judged("1", "s", aspect="other", label="support"),
                ],
                "a_strict",
            ),
        ]
        for outcome in outcomes:
            assert "Traceback" not in outcome.err
            assert not HOSTILE.search(outcome.out + outcome.err)
        assert [outcome.code for outcome in outcomes] == [2, 2, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2, 3]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "name", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", '="x",y', "a,b", 'a"b']
    )
    def test_a_spreadsheet_computes_nothing(self, name: str) -> None:
        rows = [row | {"run_id": name, "domain": name, name: name} for row in GOOD]
        for options in (["-q"], ["--by", "domain"], ["--by", name] if "," not in name else ["-q"]):
            outcome = score(rows, "crag_score", "--format", "csv", *options)
            assert outcome.code == 0, outcome
            table = list(csv.reader(io.StringIO(outcome.out)))
            assert len({len(row) for row in table}) == 1
            texts = [cell for row in table for cell in row[:3]]
            assert any(name in text for text in texts)
            assert not [text for text in texts if text.startswith(("=", "+", "-", "@"))]

    def test_latex_and_markdown(self) -> None:
        rows = [row | {"domain": r"a\b&c%d$e#f_g{h}i~j^k"} for row in GOOD]
        shown = r"domain=a\textbackslash{}b\&c\%d\$e\#f\_g\{h\}i\textasciitilde{}j\textasciicircum{}k"
        assert shown in score(rows, "crag_score", "--by", "domain", "--format", "latex").out
        rows = [row | {"domain": "a|b<i>*"} for row in GOOD]
        assert r"| domain=a\|b&lt;i>\* |" in score(rows, "crag_score", "--by", "domain", "--format", "md").out

    def test_json_says_what_it_is(self) -> None:
        name = 'd\u202e\x9b"\\'
        outcome = score(
            [row | {"domain": name} for row in GOOD], "crag_score", "--by", "domain", "--format", "json"
        )
        assert json.loads(outcome.out)["results"][0]["slices"][0]["name"] == name


class TestSize:
    def measured(self, *words: object) -> tuple[Outcome, int]:
        """The outcome and the peak of memory, of a grandchild."""
        line = [sys.executable, "-c", PEAK_MEMORY, *RAGEVAL, *map(str, words)]
        result = subprocess.run(line, capture_output=True, text=True, check=False)
        out, _, peak = result.stdout.rpartition("KiB ")
        return Outcome(result.returncode, out, result.stderr), int(peak)

    @pytest.mark.nightly
    @pytest.mark.some(2)
    @pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other units")
    @pytest.mark.parametrize("before", [b"", lines(GOOD)], ids=["first", "fourth"])
    def test_a_line_of_a_hundred_megabytes(self, before: bytes) -> None:
        long = b'{"query_id": "9", "run_id": "r", "label": "perfect", "raw": "'
        packed = gzip.compress(before + long) + gzip.compress(b"x" * 2**20, 1) * 100
        Path("judged").write_bytes(packed)
        outcome, peak = self.measured("judged", "-m", "crag_score", "--limit", "ratio=100000")
        number = before.count(b"\n") + 1
        assert_refused(outcome, f"judged:{number}: a line of more than 67,108,864 bytes", "--limit record")
        assert peak < 2 * ENOUGH_MEMORY

    def test_limits_can_be_raised(self) -> None:
        assert score([*GOOD, judged("9" * 2000, label="perfect")], "crag_score", "--limit", "id=4k").code == 0
        assert_refused(
            score(lines(GOOD), "crag_score", "--limit", "record=20"), "judged:1: a line of more than 20 bytes"
        )

    @pytest.mark.slow
    def test_many_queries_and_systems(self) -> None:
        rows = [judged(str(number // 50), f"r{number % 50}", label="perfect") for number in range(20_000)]
        assert score(rows).code == 0
