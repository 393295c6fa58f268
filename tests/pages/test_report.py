"""`rageval report`: what a report holds, and that it can be read back."""

from __future__ import annotations

import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import rageval
from rageval.cli import main
from rageval.comparison import Settings
from rageval.errors import InputError
from rageval.files.kinds import kind_of
from rageval.pages._parts import (
    CLOSING,
    FORMAT,
    OPENING,
    as_block,
    packed,
    pairs_packed,
    pairs_unpacked,
    unpacked,
)
from rageval.pages.evidence import fitting
from rageval.pages.page import _breakable, page, read_report
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


def test_a_report_holds_the_very_numbers_of_score_and_compare(tmp_path: Path) -> None:
    report = reported(tmp_path, *RUNS, "-m", MEASURES)
    scores = json.loads(rageval_(*RUNS, "-m", MEASURES, "-q", "--format", "json").stdout)["results"]
    compared = json.loads(rageval_("compare", *RUNS, "-m", MEASURES, "--format", "json").stdout)
    ids = report["queries"]["ids"]
    for score in scores:
        column = report["queries"]["values"][score["measure"]][score["run"]]
        assert dict(zip(ids, column, strict=True)) == score["by_query"]
    cells = {(cell["run"], cell["measure"]): cell for cell in report["cells"]}
    for value in compared["values"]:
        cell = cells[value["run"], value["measure"]]
        assert {key: cell[key] for key in ("value", "low", "high", "signature")} == {
            key: value[key] for key in ("value", "low", "high", "signature")
        }
    assert report["comparison"]["pairs"] == compared["pairs"]
    assert report["comparison"]["signature"] == compared["signature"]
    assert cells["run.trec", "recall@10"]["better_than"] == ["baseline.trec"]
    cited = rageval_("compare", *RUNS, "-m", MEASURES, "--format", "cite").stdout
    assert report["citing"].strip() == cited.strip()


def test_the_documents_of_a_query_are_those_of_the_run_and_support_what_the_judgements_say(
    tmp_path: Path,
) -> None:
    report = reported(tmp_path, *RUNS, "-m", MEASURES)
    qrels = {(q.query_id, q.doc_id, q.iteration) for q in rageval.read_qrels(RUNS[2]) if q.relevance > 0}
    ranked: dict[str, list[tuple[float, str]]] = {}
    for query, doc, score in rageval.read_run(RUNS[0]):
        ranked.setdefault(query, []).append((-score, doc))
    assert report["matrices"].keys() == set(report["queries"]["ids"])
    for query, matrix in report["matrices"].items():
        docs = [matrix["columns"][index] for index in matrix["rankings"]["run.trec"]]
        assert docs == [doc for _, doc in sorted(ranked[query])][:10]
        cells = {
            (query, matrix["columns"][c["column"]], matrix["rows"][c["row"]]["id"]) for c in matrix["cells"]
        }
        shown = {fact for fact in qrels if fact[0] == query and fact[1] in matrix["columns"]}
        assert cells == shown


def test_evidence_of_judged_documents_stands_beside_them(tmp_path: Path) -> None:
    query, doc, _, nugget = next(q for q in rageval.read_qrels(RUNS[2]) if q.relevance > 0)
    run = tmp_path / "one.run"
    run.write_text(f"{query} Q0 {doc} 1 2.0 t\n")
    words = {"item_id": doc, "aspect": nugget, "evidence": "so it says", "reason": "as asked"}
    notes = lines(tmp_path, "notes.jsonl", [{**judgement(query, "documents", "support"), **words}])
    nuggets = [{"text": "It rains.", "importance": "vital", "id": nugget}]
    bank = lines(tmp_path, "bank.jsonl", [{"qid": query, "query": "?", "nuggets": nuggets}])
    report = reported(tmp_path, str(run), RUNS[2], "-m", "recall@10", "--evidence", notes, "--nuggets", bank)
    matrix = report["matrices"][query]
    assert {"evidence": "so it says", "reason": "as asked"}.items() <= matrix["cells"][0].items()
    row = matrix["rows"][matrix["cells"][0]["row"]]
    assert row == {"id": nugget, "text": "It rains.", "importance": "vital"}
    assert report["comparison"] is None  # of one run there is nothing to compare, but an interval


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


def test_the_nuggets_of_assignments_are_rows_and_vital_ones_are_marked(tmp_path: Path) -> None:
    matrix = reported(tmp_path, ASSIGNED, "-m", "v_strict")["matrices"]["2024-901"]
    assert next((row["id"], row["importance"]) for row in matrix["rows"]) == (
        "chlorophyll breaks down",
        "vital",
    )
    assert [cell["label"] for cell in matrix["cells"]][:3] == ["support", "support", "partial_support"]


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


def test_what_rageval_wrote_is_told_from_judgements_by_its_first_key() -> None:
    assert str(kind_of(io.BytesIO(b'\xef\xbb\xbf{\n  "compared": 4'))) == "results"
    assert kind_of(io.BytesIO(b'{"query_id": "q", "results": 1}')) is None


def test_show_prints_the_means_as_a_table_or_everything(tmp_path: Path) -> None:
    reported(tmp_path, *RUNS, "-m", MEASURES, "--title", "Mine")
    page_ = str(tmp_path / "report.html")
    assert "run.trec" in rageval_("report", "show", page_, "--format", "table").stdout
    assert json.loads(rageval_("report", "show", page_, "--format", "json").stdout)["title"] == "Mine"


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


def test_provenance_has_hashes_the_command_and_a_time_that_can_be_fixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    reported(tmp_path, *RUNS, "-m", MEASURES)
    once = (tmp_path / "report.html").read_bytes()
    report = reported(tmp_path, *RUNS, "-m", MEASURES)["provenance"]
    assert (tmp_path / "report.html").read_bytes() == once
    assert report["made"] == "1970-01-02T00:00:00Z"
    assert report["command"].startswith("rageval report ")
    assert f"-m {MEASURES}" in report["command"]
    for given, path in zip(report["inputs"], RUNS, strict=True):
        content = Path(path).read_bytes()
        assert (given["bytes"], given["sha256"]) == (len(content), sha256(content).hexdigest())


def test_the_policy_names_the_scripts_and_the_style_and_nothing_else(tmp_path: Path) -> None:
    reported(tmp_path, *RUNS, "-m", MEASURES)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe" not in policy
    assert len(re.findall("sha256-", policy)) == 2
    outside = text.partition(OPENING)[0] + text.partition(OPENING)[2].partition(CLOSING)[2]
    markup = re.sub(r"<(script|style)>.*?</\1>", "", outside, flags=re.DOTALL)
    assert not re.findall(r"""\s(?:src|style|on\w+)=""", markup)
    assert all(address.startswith("#") for address in re.findall(r'href="([^"]*)"', markup))


def test_nothing_in_the_block_can_end_it() -> None:
    text = "</script><script>alert(1)</script><!-- ]]> \u2028 &amp; \ud800"
    block = as_block({"title": text})
    assert not set("<>&") & set(block)
    assert block.isascii()
    assert json.loads(block)["title"] == text


def test_columns_are_exact_and_damaged_ones_are_told() -> None:
    values = np.array([0.1, 1 / 3, -0.0, 5e-324, np.nan])
    assert unpacked(packed(values)) == [0.1, 1 / 3, -0.0, 5e-324, None]
    for bad in ("AAA", "!!!!", "AAAA"):
        with pytest.raises(rageval.errors.InputError, match="base64"):
            unpacked(bad)


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
    assert len(reported(tmp_path, *RUNS, "-m", MEASURES, "--queries", "2")["matrices"]) == 2


def test_a_verdict_under_every_completion_stands_in_the_report(tmp_path: Path) -> None:
    report = reported(tmp_path, *RUNS, "-m", "coverage@10", "--bounds")
    assert report["comparison"]["pairs"][0]["every_completion"]
    assert len(report["cells"][0]["bounds"]) == 2


def test_measures_that_are_sums_have_a_place_but_no_test(tmp_path: Path) -> None:
    report = reported(tmp_path, *RUNS, "-m", "recall@10,NumRet")
    cells = {cell["measure"]: cell for cell in report["cells"]}
    assert (cells["NumRet"]["value"], cells["NumRet"]["low"]) == (300.0, None)
    assert {pair["measure"] for pair in report["comparison"]["pairs"]} == {"recall@10"}
    assert "NumRet: not compared: it is a sum over queries, not a mean" in [
        remark["text"] for remark in report["remarks"]
    ]


def test_pooled_shares_have_an_interval_but_no_test(tmp_path: Path) -> None:
    report = reported(tmp_path, *RUNS, "-m", "recall@10,recall(over=pool)@10")
    cells = {cell["measure"]: cell for cell in report["cells"] if cell["run"] == report["runs"][0]}
    pooled, mean = cells["recall(over=pool)@10"], cells["recall@10"]
    assert pooled["low"] < pooled["value"] < pooled["high"]
    assert pooled["value"] != mean["value"]
    assert {pair["measure"] for pair in report["comparison"]["pairs"]} == {"recall@10"}
    assert any(
        remark["text"].startswith("recall(over=pool)@10: not compared: it is pooled")
        for remark in report["remarks"]
    )


@pytest.mark.slow
def test_without_the_template_engine_the_extra_is_named(tmp_path: Path) -> None:
    code = "import sys; sys.modules['jinja2'] = None\nfrom rageval.cli import main; main()"
    words = ["report", *RUNS, "-m", MEASURES, "-o", str(tmp_path / "r.html")]
    result = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert result.returncode == 2
    assert "pip install 'rageval[report]'" in result.stderr


def test_pairs_are_read_back_and_damaged_ones_are_told() -> None:
    pairs = [{"run": "a", "p": 0.5}, {"run": "b", "p": None}]
    report = {"comparison": {"signature": "s", "pairs": pairs}}
    small = pairs_packed(report)
    assert small["comparison"]["pairs"] == {"fields": ["run", "p"], "rows": [["a", 0.5], ["b", None]]}
    assert pairs_unpacked(small) == pairs_unpacked(report) == report
    odd = {"comparison": {"pairs": [*pairs, {"run": "c"}]}}
    assert pairs_packed(odd) == odd, "files of older versions may lack a key"
    for bad in ({"fields": ["run"], "rows": [["a", 1]]}, {"rows": []}, {"fields": 1, "rows": [[1]]}):
        with pytest.raises(rageval.errors.InputError, match="pairs are damaged"):
            pairs_unpacked({"comparison": {"pairs": bad}})


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


def test_names_break_after_signs_only() -> None:
    assert _breakable("recall(of=<b>)@5") == "recall(<wbr>of=<wbr>&lt;b&gt;)<wbr>@5"
    assert _breakable("a\x1b_b") == "a\\x1b_<wbr>b"
