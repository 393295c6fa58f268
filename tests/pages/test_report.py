"""`rageval report`: what a report holds, and that it can be read back."""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import rageval
from rageval.cli import main
from rageval.comparison import Settings
from rageval.errors import InputError
from rageval.pages._parts import (
    CLOSING,
    FORMAT,
    OPENING,
)
from rageval.pages.evidence import fitting
from rageval.pages.page import page, read_report
from rageval.pages.report import PageInputs, _most_telling, finished, measured
from test_readme import ROOT, blocks

DATA = ROOT / "examples/data"
PAGE = (ROOT / "docs/report.md").read_text(encoding="utf-8")
RUNS = [str(DATA / name) for name in ("run.trec", "baseline.trec", "qrels.nugget")]
CRAG = str(DATA / "answers/crag.judged.jsonl")
CRAG_QUESTIONS = str(DATA / "answers/crag.jsonl")
ASSIGNED = str(DATA / "answers/assignments.jsonl")
MEASURES = "alpha_ndcg@10,recall@10"


def rageval_(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, list(words), prog_name="rageval")
    assert result.exit_code == code, result.output
    return result


def reported(folder: Path, *words: str) -> dict[str, Any]:
    place = folder / "report.html"
    rageval_("report", *words, "-o", str(place))
    return read_report(place)


def lines(folder: Path, name: str, records: list[dict[str, Any]]) -> str:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def judgement(query: str, run: str, label: str, judge: str = "a", **more: Any) -> dict[str, Any]:
    place = {"query_id": query, "run_id": run, "item_id": "answer", "aspect": "0"}
    return {**place, "label": label, "status": "ok", "judge": judge, "rubric": "crag", **more}


def test_answers_bring_slices_verdicts_and_what_the_judge_did(tmp_path: Path) -> None:
    options = ["--by", "domain", "--questions", CRAG_QUESTIONS]
    report = reported(tmp_path, CRAG, "-m", "crag_score", *options)
    by = json.loads(rageval_(CRAG, "-m", "crag_score", *options, "--format", "json").stdout)["results"]
    expected = [{"run": r["run"], "measure": r["measure"], **s} for r in by for s in r["slices"]]
    assert report["slices"] == expected
    assert report["spending"][0]["judgements"] == 10
    query = report["queries"]["ids"][0]
    assert report["queries"]["texts"][query] == "why do leaves change colour in autumn?"
    matrix = report["matrices"][query]
    assert matrix["columns"] == ["ours", "theirs"]
    assert [cell["label"] for cell in matrix["cells"]] == ["perfect", "perfect"]


def test_gold_brings_agreement_confusion_and_disagreements_with_both_reasons(tmp_path: Path) -> None:
    mine = [
        judgement(f"q{number}", run, "perfect", reason="looks good")
        for number in range(6)
        for run in ("r", "s")
    ]
    people = [{**record, "judge": "p", "reason": "it is right"} for record in mine]
    people[0] |= {"label": "incorrect", "reason": "it is wrong"}
    people[1]["label"], people[2]["label"] = "accurate", "Perfect"  # other words for the same grade
    mine[0] |= {"usage": {"input": 1000, "output": 10}, "judge": "openai:gpt-4o-mini@1234"}
    mine = [{**record, "judge": "openai:gpt-4o-mini@1234"} for record in mine]
    files = lines(tmp_path, "mine.jsonl", mine), lines(tmp_path, "gold.jsonl", people)
    report = reported(tmp_path, files[0], "-m", "crag_score", "--gold", files[1])
    (pair,) = report["judging"]
    agreed = json.loads(rageval_("label", "agree", *files, "--parting", "5", "--format", "json").stdout)
    assert [item["query"] for item in agreed["parting"]] == ["q0"]
    assert pair["coefficients"] == agreed["coefficients"]
    assert (pair["confusion"], pair["labels"]) == (agreed["confusion"], agreed["labels"])
    assert pair["disagreements"] == 1
    assert pair["listed"][0]["judge"] == {"label": "perfect", "reason": "looks good"}
    assert pair["listed"][0]["other"] == {"label": "incorrect", "reason": "it is wrong"}
    (spent,) = report["spending"]
    assert (spent["calls"], spent["input"], spent["output"]) == (1, 1000, 10)
    assert spent["cost"] == pytest.approx(1000 * 0.15e-6 + 10 * 0.6e-6)


def test_several_judges_are_compared_with_one_another(tmp_path: Path) -> None:
    records = [judgement(f"q{number}", "r", "perfect", judge) for number in range(4) for judge in ("a", "b")]
    records[1]["label"] = "missing"
    report = reported(tmp_path, lines(tmp_path, "both.jsonl", records), "-m", "crag_score")
    assert [(p["judge"], p["other"], p["disagreements"]) for p in report["judging"]] == [("a", "b", 1)]


def test_failed_judgements_are_missing_and_counted(tmp_path: Path) -> None:
    records = [judgement(f"q{number}", "r", "perfect") for number in range(4)]
    failed = {key: value for key, value in judgement("q4", "r", "").items() if key != "label"}
    records.append({**failed, "status": "refused", "detail": "I will not."})
    file = lines(tmp_path, "some.jsonl", records)
    report = reported(tmp_path, file, "-m", "crag_score", "--on-missing", "skip")
    assert report["spending"][0]["statuses"] == {"ok": 4, "refused": 1}
    assert report["cells"][0]["lost"] == {"refused": 1}
    cell = report["matrices"]["q4"]["cells"][0]
    assert (cell["status"], cell["detail"]) == ("refused", "I will not.")
    assert "label" not in cell


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*RUNS, "-m", MEASURES], "-o FILE.html"),
        ([*RUNS, "-o", "{}/r.html"], "no measure named"),
        ([*RUNS, "-m", MEASURES, "--format", "json", "-o", "{}/r.html"], "rageval report show"),
        ([*RUNS, "-m", MEASURES, "--gold", CRAG, "-o", "{}/r.html"], "expected a judgement of a document"),
        (["{}/scores.json", "-o", "{}/r.html"], "results that rageval wrote as JSON"),
        (["{}/strangers.jsonl", "-m", "crag_score", "-o", "{}/strangers.jsonl"], "is also an input"),
        (["show"], "found 0"),
        (["show", "{}/scores.json"], "has no report"),
        (["show", "{}/nothing.html"], "cannot be read"),
        (["show", "{}/damaged.html"], "damaged"),
        (["show", "{}/other.html"], "expected a report of format"),
        (
            [CRAG, "-m", "crag_score", "--gold", "{}/strangers.jsonl", "-o", "{}/r.html"],
            "has no labels for the",
        ),
        ([*RUNS, "-m", MEASURES, "-o", "{}/nowhere/r.html"], "no such folder"),
    ],
)
def test_what_a_user_can_get_wrong_is_told_with_the_way_out(
    tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "scores.json").write_text('{"results": [{"run": 1}]}')
    (tmp_path / "damaged.html").write_text(OPENING + '{"format":' + CLOSING)
    (tmp_path / "other.html").write_text(OPENING + '{"format": "other"}' + CLOSING)
    lines(tmp_path, "strangers.jsonl", [judgement("nobody", "knows", "perfect")])
    result = rageval_("report", *(word.format(tmp_path) for word in words), code=2)
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "r.html").exists()


_OTHER_VALUES: list[Any] = [
    None,
    True,
    7,
    10**400,
    0.5,
    math.nan,
    "text",
    "\ud800",
    [],
    [None],
    {},
    {"a": [0]},
]


def _with_other_values(value: Any) -> Iterator[Any]:
    """Yield a value of JSON with another value in each of its places in turn, and without each of its keys.

    Of a list its first item stands for all.
    """
    yield from _OTHER_VALUES
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from (value | {key: changed} for changed in _with_other_values(inner))
    elif isinstance(value, list) and value:
        yield from ([changed, *value[1:]] for changed in _with_other_values(value[0]))


@pytest.mark.slow
def test_a_page_with_anything_else_in_it_is_read_or_refused(tmp_path: Path) -> None:
    reported(tmp_path, *RUNS, "-m", MEASURES)
    path = tmp_path / "report.html"
    _, _, rest = path.read_text(encoding="utf-8").partition(OPENING)
    report = json.loads(rest.partition(CLOSING)[0])
    read = ("runs", "measures", "title", "cells", "comparison", "queries")
    for name in read:
        for changed in _with_other_values(report[name]):
            block = json.dumps(report | {name: changed})
            path.write_text(f"{OPENING}{block}{CLOSING}", encoding="utf-8")
            for style in ("table", "json"):
                result = CliRunner().invoke(main, ["report", "show", str(path), "--format", style])
                problem = "".join(traceback.format_exception(result.exception)[-3:])
                assert result.exit_code in (0, 2), (name, style, str(changed)[:200], problem)
                assert result.exit_code == 0 or "report.html: " in result.stderr, (name, changed)


@pytest.mark.parametrize(
    "change",
    [
        {"queries": ["q1"]},
        {"queries": {"ids": ["q1"]}},
        {"queries": {"values": {"rr": {"run": "not base64"}}}},
        {"comparison": {"pairs": {"fields": ["run"], "rows": [[1, 2]]}}},
        {"comparison": ["pairs"]},
        {"cells": [{"run": "a", "measure": "rr"}]},
        {"runs": None},
    ],
)
def test_a_damaged_page_is_told_with_its_file(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    report = {"format": FORMAT, "title": "Mine", "runs": ["a"], "measures": ["rr"], "cells": []} | change
    path.write_text(f"{OPENING}{json.dumps(report)}{CLOSING}", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"report\.html: (its (numbers|pairs) are damaged|expected a column)"
    ):
        read_report(path)


def test_the_queries_that_are_looked_at_are_those_that_tell_most() -> None:
    qrels = {query: {"a": 1} for query in ("same", "differ", "bad")}
    runs = [
        {"same": {"a": 1.0}, "differ": {"a": 1.0}, "bad": {"b": 1.0}},
        {"same": {"a": 1.0}, "differ": {"b": 1.0}, "bad": {"b": 1.0}},
    ]
    results = [rageval.evaluate("rr", run, qrels) for run in runs]
    assert _most_telling(results, 1) == ["differ"]
    assert _most_telling(results[:1], 1) == ["bad"]


def test_what_was_found_is_kept_as_far_as_it_fits() -> None:
    matrices = {str(number): {"cells": ["x" * 100]} for number in range(10)}
    assert list(fitting(matrices, 400)) == ["0", "1", "2"]
    assert list(fitting(matrices, 1)) == ["0"]


def test_details_says_how_many_queries_are_kept(tmp_path: Path) -> None:
    assert len(reported(tmp_path, *RUNS, "-m", MEASURES, "--details", "2")["matrices"]) == 2


def test_measures_that_are_sums_have_a_place_but_no_test(tmp_path: Path) -> None:
    report = reported(tmp_path, *RUNS, "-m", "recall@10,NumRet")
    cells = {cell["measure"]: cell for cell in report["cells"]}
    assert (cells["NumRet"]["value"], cells["NumRet"]["low"]) == (300.0, None)
    assert {pair["measure"] for pair in report["comparison"]["pairs"]} == {"recall@10"}
    assert "NumRet: not compared: it is a sum over queries, not a mean" in [
        remark["text"] for remark in report["remarks"]
    ]


@pytest.mark.slow
def test_without_the_template_engine_the_extra_is_named(tmp_path: Path) -> None:
    code = "import sys; sys.modules['jinja2'] = None\nfrom rageval.cli import main; main()"
    words = ["report", *RUNS, "-m", MEASURES, "-o", str(tmp_path / "r.html")]
    result = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert result.returncode == 2
    assert "pip install 'rageval[report]'" in result.stderr


@pytest.mark.slow
def test_a_page_of_twenty_runs_and_a_thousand_queries_stays_small() -> None:
    rng = np.random.default_rng(7)
    qrels = {f"query-{number:05d}": {"a": 1} for number in range(1000)}
    one = rageval.evaluate("ndcg@10,rr,ap,recall@10", {query: {"a": 1.0} for query in qrels}, qrels)
    results = [_redrawn(one, f"run-{number}", rng) for number in range(20)]
    settings = Settings(draws=100, resamples=100, all_pairs=True)
    text = page(finished(measured(results, settings), results, PageInputs(title="Large")))
    assert len(text.encode()) < 1_500_000


def _redrawn(scores: rageval.Scores, run: str, rng: np.random.Generator) -> rageval.Scores:
    from dataclasses import replace

    drawn = tuple(
        replace(score, numbers=rng.random(len(score.query_ids)).tolist()) for score in scores.scores
    )
    return replace(scores, run=run, scores=drawn)


def test_the_program_on_the_page_about_reports_makes_the_page_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", "nowhere")
    (program,), (expected,) = blocks("py", PAGE), blocks("text", PAGE)
    exec(compile(program, "report.md", "exec"), {})
    assert capsys.readouterr().out == expected
    by_python = read_report("trace.html")
    command = next(
        line for block in blocks("sh", PAGE) for line in block.splitlines() if "trace.html" in line
    )
    rageval_(*shlex.split(command)[1:])
    by_command = read_report("trace.html")
    kept = by_python.keys() - {"provenance"}
    assert {name: by_python[name] for name in kept} == {name: by_command[name] for name in kept}


@pytest.mark.slow
def test_the_commands_on_the_page_about_reports_run(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    commands = [line for block in blocks("sh", PAGE) for line in block.splitlines() if "pip" not in line]
    assert len(commands) == 3
    for command in commands:
        script = f'rageval() {{ "{sys.executable}" -m rageval "$@"; }}; {command}'
        result = subprocess.run(
            ["sh", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stderr
