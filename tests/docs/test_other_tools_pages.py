"""The pages for people who come from other tools: every number in their tables is computed again."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import ir_measures
import pytest
from click.testing import CliRunner

import rageval as package
from rageval.cli import main
from rageval.errors import MissingJudgements
from rageval.testing import ScriptedModel
from snippets import ROOT, blocks
from spoilt_logs import loaded
from test_missing import deepeval, mlflow_scorer, promptfoo, ragas

GOLDEN = ROOT / "tests/golden"
TREC = GOLDEN / "trec_eval"
RANX = json.loads((GOLDEN / "ranx/printed.json").read_text(encoding="utf-8"))
IN_RANX = {
    "recip_rank": "mrr",
    "ndcg_cut_10": "ndcg@10",
    "P_10": "precision@10",
    "recall_100": "recall@100",
    "success_10": "hit_rate@10",
    "Rprec": "r-precision",
}
IN_IR_MEASURES = {"map": "AP", "recip_rank": "RR", "ndcg": "nDCG", "bpref": "Bpref"} | {
    "ndcg_cut_10": "nDCG@10",
    "P_10": "P@10",
    "recall_100": "R@100",
    "success_10": "Success@10",
    "Rprec": "Rprec",
    "iprec_at_recall_0.10": "IPrec@0.1",
}


def page(name: str) -> str:
    return (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")


def rows(text: str, heading: str, table: int = 0) -> list[list[str]]:
    """Cells of a table below a heading, without its head."""
    part = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    table_rows = re.findall(r"(?:^\|.*\n)+", part, re.MULTILINE)[table].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table_rows]


def rageval(*words: object) -> str:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.stdout


def value(*words: object) -> str:
    """The only number that is printed."""
    return rageval(*words).split("\t")[-1].strip()


def number(cell: str) -> str:
    return cell.partition(" ")[0]


def by_trec_eval(name: str) -> dict[tuple[str, str], str]:
    lines = (line.split("\t") for line in (TREC / name).read_text().splitlines())
    return {(measure.strip(), topic): printed.strip() for measure, topic, printed in lines}


def by_ir_measures(measure: str, run: Path) -> str:
    asked = ir_measures.parse_measure(measure)
    qrels, ranked = ir_measures.read_trec_qrels(str(TREC / "qrels.test")), ir_measures.read_trec_run(str(run))
    return f"{ir_measures.calc_aggregate([asked], qrels, ranked)[asked]:.4f}"


def test_the_numbers_of_four_tools() -> None:
    printed, table = by_trec_eval("out.test.a"), rows(page("from-trec-eval"), "The same numbers")
    assert len(table) == 6
    for cell, *shown_values in table:
        name = cell.strip("`")
        of_ranx = RANX["results.test"].get(IN_RANX.get(name, name))
        assert shown_values == [
            printed[name, "all"],
            by_ir_measures(IN_IR_MEASURES[name], TREC / "results.test"),
            "–" if of_ranx is None else f"{of_ranx:.4f}",
            value(TREC / "results.test", TREC / "qrels.test", "-m", name),
        ]


def test_where_a_topic_is_missing(tmp_path: Path) -> None:
    trunc, qrels = TREC / "results.trunc", TREC / "qrels.test"
    with pytest.raises(ValueError, match="too many values"):
        by_ir_measures("AP", trunc)
    six = tmp_path / "six.run"
    six.write_text("".join(" ".join(line.split()[:6]) + "\n" for line in trunc.read_text().splitlines()))
    printed = by_trec_eval("out.test.aqc")
    present = [float(printed["map", topic]) for topic in ("301", "303")]  # 302 is the one that is not there
    expected = [
        [printed["map", "all"], f"{sum(present) / 2:.4f}"],
        [by_ir_measures("AP", six), "–"],
        [f"{RANX['results.trunc, made comparable']['map']:.4f}", "–"],
        [value(trunc, qrels, "-m", "map"), value(trunc, qrels, "-m", "map", "--intersection")],
    ]
    table = rows(page("from-trec-eval"), "Where results differ")
    assert [[number(cell) for cell in shown_values] for _, *shown_values in table] == expected


def test_equal_scores_are_ordered_as_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 b 1\n")
    (tmp_path / "run").write_text("q Q0 a 1 1.0 r\nq Q0 b 2 1.0 r\n")
    assert value(tmp_path / "run", tmp_path / "qrels", "-m", "mrr") == "1.0000"
    assert (RANX["equal scores, a first"]["mrr"], RANX["equal scores, b first"]["mrr"]) == (0.5, 1.0)
    assert "reciprocal rank of 0.5 if `a` comes first, and 1.0 if `b` does" in page("from-trec-eval")


@pytest.mark.slow
def test_the_spellings_and_options_side_by_side_are_read() -> None:
    files = [TREC / "results.test", TREC / "qrels.test"]
    table = {you: command for you, *_, command in rows(page("from-trec-eval"), "Commands side by side")}
    assert {value(*files, "-m", spelt) for spelt in ("map", "AP", "ap")} == {"0.1785"}
    assert {value(*files, "-m", spelt) for spelt in ("P.10", "P_10", "P@10", "precision@10")} == {"0.3000"}
    assert {value(*files, "-m", spelt) for spelt in ("hit_rate@10", "mrr@10")} == {"0.6667", "0.3889"}
    for spelt, command in {"hits@10": "hit_rate@10", "f1@10": "not offered", "P@10-l2": "(rel=2)"}.items():
        result = CliRunner().invoke(main, [str(files[0]), str(files[1]), "-m", spelt])
        assert (result.exit_code, command in result.stderr) == (2, True), result.output
    of_ranx = RANX["results.test"]
    for spelt in ("map", "mrr", "hit_rate@10", "ndcg@10", "precision@10", "recall@100", "r-precision"):
        assert value(*files, "-m", spelt) == f"{of_ranx[spelt]:.4f}"
    assert value(*files, "-m", "P@10", "-l", "2") == value(*files, "-m", "P(rel=2)@10")
    for option in re.findall(r"`(-\w)\b", " ".join(table.values())):
        more = {"-l": ["2"], "-M": ["100"]}.get(option, [])
        rageval(*files, *(["-m", "map"] if option == "-m" else [option, *more, "-m", "map"]))
    assert rageval(*files, "-m", "official").count("\n") >= 25


def test_what_ranx_printed_is_the_file_described() -> None:
    digest = hashlib.sha256((GOLDEN / "ranx/printed.json").read_bytes()).hexdigest()
    assert f"{digest}  printed.json" in (GOLDEN / "ranx/README.md").read_text(encoding="utf-8")


def inspect(value: Any) -> None:
    value["samples"][4]["scores"]["grades"]["value"]["complete"] = math.nan  # as `Score.unscored` has it


def inspect_without_a_number(value: Any) -> None:
    value["samples"][4]["scores"]["grades"]["value"]["complete"] = "GRADE?"


def of_promptfoo(log: Any) -> float:
    return mean(float(row["success"]) for row in log["results"]["results"])


def metrics(log: Any) -> list[dict[str, Any]]:
    return [metric for case in log["testRunData"]["testCases"] for metric in case["metricsData"]]


def of_deepeval(log: Any) -> float:
    return mean(float(metric["success"]) for metric in metrics(log))


def average_of_deepeval(log: Any) -> float:
    return mean(metric["score"] for metric in metrics(log) if "score" in metric)


def of_inspect(log: Any) -> float:
    values = [sample["scores"]["grades"]["value"]["complete"] for sample in log["samples"]]
    return mean(0.0 if isinstance(value, str) else value for value in values if str(value) != "nan")


def of_mlflow(log: Any) -> float:
    assessments = [assessment for trace in log for assessment in trace["info"]["assessments"]]
    values = [
        assessment["feedback"]["value"]
        for assessment in assessments
        if assessment["assessment_name"] == "key_fact"
    ]
    return mean(float(assessment) for assessment in values if assessment is not None)


def of_ragas(log: Any) -> float:
    return mean(row["faithfulness"] for row in log if row["faithfulness"] is not None)


def of_nemo(log: Any) -> float:
    return mean(row["faithfulness"] or 0.0 for row in log)


TOOLS: list[tuple[str, Callable[[Any], None], str, Callable[[Any], float]]] = [
    ("promptfoo/results.json", promptfoo, "has-key-fact", of_promptfoo),
    ("deepeval/latest_test_run.json", deepeval, "Key_fact", of_deepeval),
    ("deepeval/latest_test_run.json", deepeval, "Key_fact", average_of_deepeval),
    ("inspect/log.json", inspect, "complete", of_inspect),
    ("inspect/log.json", inspect_without_a_number, "complete", of_inspect),
    ("mlflow/traces.jsonl", mlflow_scorer, "key_fact", of_mlflow),
    ("ragas/result.jsonl", ragas, "faithfulness", of_ragas),
    ("ragas/result.jsonl", ragas, "faithfulness", of_nemo),
]


@pytest.mark.parametrize("number", range(len(TOOLS)))
def test_one_question_of_five(number: int, tmp_path: Path) -> None:
    table = rows(page("failed-judgements"), "One question of five")
    assert len(table) == len(TOOLS)
    _, before, after, _, ours = table[number]
    name, fail, aspect, theirs = TOOLS[number]
    log = loaded(name)
    if before:
        assert f"{theirs(log):.2f}" == before
    fail(log)
    assert f"{theirs(log):.2f}" == after
    path = tmp_path / "log"
    path.write_text("\n".join(map(json.dumps, log if isinstance(log, list) else [log])))
    code, stderr = scored(path, aspect)
    ends = re.search(r"its value lies between (\S+) and (\S+)", stderr)
    assert ends
    assert (code, f"{float(ends[1]):.2f}–{float(ends[2]):.2f}") == (3, ours)


def scored(log: Path, aspect: str) -> tuple[int, str]:
    """What scoring an imported log ends with, and says."""
    judged = str(log.parent / "judged.jsonl")
    result = CliRunner().invoke(main, ["import", str(log), "--only", "judged", "-o", judged])
    if result.exit_code == 0:
        result = CliRunner().invoke(main, [judged, "-m", f"grade(aspect={aspect})"])
    return result.exit_code, result.stderr


def test_one_verdict_of_five(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))
    claims, came, supported = 5, 1, 1
    unsupported = came - supported
    table = rows(page("failed-judgements"), "One verdict of five")
    assert [verdicts for _, verdicts, _ in table] == [
        f"{supported / came:.1f}",
        f"{supported / came:.1f}",
        f"{1 - unsupported / claims:.1f}",
        f"{1 - (unsupported + claims - came) / claims:.1f}",
        "–",
    ]
    nuggets = [{"text": f"fact {index}", "importance": "vital"} for index in range(claims)]
    model = ScriptedModel(lambda _: '{"verdicts": [{"id": "n1", "evidence": "so", "label": "support"}]}')
    judged = package.judge(
        "nugget-assignment",
        [{"query_id": "q", "run_id": "r", "answer": "It is so."}],
        model,
        nuggets=[{"qid": "q", "query": "Is it?", "nuggets": nuggets}],
        questions=[{"query_id": "q", "question": "Is it?"}],
        canaries=0,
    )
    assert (model.calls, len(judged.failed), len(judged)) == (3, 5, 5)
    with pytest.raises(MissingJudgements, match=r"its value lies between 0\.0000 and 1\.0000"):
        judged.score("nugget_recall")


def test_the_commands_of_the_page_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("sh", page("failed-judgements"))
    first, second = (shlex.split(line)[1:] for line in block.splitlines())
    rageval(*first)
    result = CliRunner().invoke(main, second)
    assert (result.exit_code, [result.stderr]) == (3, blocks("text", page("failed-judgements")))


def value_of_the_tool(name: str, aspect: str) -> float:
    """What stands in the log as its summary, or the mean over what it holds."""
    log = loaded(name)
    if name.startswith("promptfoo"):
        summary = log["results"]["prompts"][0]["metrics"]
        return float(summary["namedScores"][aspect] / summary["namedScoresCount"][aspect])
    if name.startswith("deepeval"):
        (summary,) = log["testRunData"]["metricsScores"]
        assert summary["passes"] / (summary["passes"] + summary["fails"]) == mean(summary["scores"])
        return mean(summary["scores"])
    if name.startswith("inspect"):
        (summary,) = [entry for entry in log["results"]["scores"] if entry["name"] == aspect]
        (metric,) = summary["metrics"].values()
        return float(metric["value"])
    if name.startswith("mlflow"):
        return of_mlflow(log)
    return mean(row[aspect] for row in log if row[aspect] is not None)


@pytest.mark.parametrize("number", range(6))
def test_the_same_numbers_from_the_logs(number: int, tmp_path: Path) -> None:
    table = rows(page("from-ragas"), "The same numbers")
    assert len(table) == 6
    name, measure, theirs, ours, why = (cell.strip("`") for cell in table[number])
    aspect = measure.partition("=")[2].rstrip(")")
    assert f"{value_of_the_tool(name, aspect):.4f}" == theirs
    assert bool(why) == (ours != theirs)
    judged = tmp_path / "judged.jsonl"
    rageval("import", ROOT / "tests/golden/logs" / name, "--only", "judged", "-o", judged)
    if ours != "–":
        assert value(judged, "-m", measure) == ours
        return
    result = CliRunner().invoke(main, [str(judged), "-m", measure])
    ends = re.search(r"its value lies between (\S+ and \S+)", result.stderr)
    assert ends
    assert result.exit_code == 3
    assert f"between {ends[1]}" in why
    skipped = re.search(r"skip` gives (\S+)", why)
    assert value(judged, "-m", measure, "--on-missing", "skip") == (skipped[1] if skipped else theirs)


def test_what_is_named_for_other_tools_is_there() -> None:
    text = page("from-ragas")
    last = [cells[-1] for cells in rows(text, "Metrics side by side")]
    names = {name for cell in last for name in re.findall(r"`([a-z_@1]+)`", cell)}
    measures, rubrics = names - {"claims", "entailment", "criterion", "exact", "contains"}, rageval("rubrics")
    assert len(measures) == 7
    for name in measures:
        assert rageval("measures", name.removesuffix("@k"))
    assert all(f"\n{name} " in rubrics for name in ("claims", "entailment", "criterion"))


def test_three_commands_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))
    (block,) = blocks("sh", page("from-ragas"))
    printed = [rageval(*shlex.split(line)[1:]) for line in block.splitlines()]
    assert [printed[1]] == blocks("text", page("from-ragas"))
    assert Path("baseline.jsonl").read_text().count("\n") == 6  # the header, and five questions
