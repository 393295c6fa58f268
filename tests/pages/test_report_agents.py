"""A report on agents: their steps, recall curves and losses, and how long it may become."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rageval
from commands import run_checked, write_jsonl
from rageval.pages.evidence import STEPS
from rageval.pages.page import read_report
from rageval.trajectories import read_trajectories
from report_pages import ATTACKING_RUNS, Open, browser_, opened_, pages_, shown, texts, until  # noqa: F401

AGENTS = Path(__file__).parents[2] / "examples/data/agents"
FILES = [str(AGENTS / name) for name in ("steps.jsonl", "qrels.nugget")]
ANSWERS = ["--answers", str(AGENTS / "answers.jsonl")]


def reported(folder: Path, *words: str) -> dict[str, Any]:
    run_checked("report", *words, "-o", str(folder / "report.html"))
    return read_report(folder / "report.html")


def test_a_query_has_every_step_as_the_file_has_it(tmp_path: Path) -> None:
    report = reported(tmp_path, *FILES, *ANSWERS, "-m", "seen_recall")
    rows = [json.loads(line) for line in Path(FILES[0]).read_text(encoding="utf-8").splitlines()]
    names = ("kind", "tool", "query", "input_tokens", "output_tokens", "cost", "seconds")
    for query, matrix in report["matrices"].items():
        for run, record in matrix["trajectories"].items():
            own = [row for row in rows if (row["query_id"], row["run_id"]) == (query, run)]
            expected = [{name: row[name] for name in names if name in row} for row in own]
            assert [
                {name: step[name] for name in names if name in step} for step in record["steps"]
            ] == expected
            docs = [
                [matrix["columns"][number] for number in step.get("docs", ())] for step in record["steps"]
            ]
            assert docs == [row.get("docs", []) for row in own]
            assert record["answer"] == f"An answer to {query}."
            ids = {doc for row in own for doc in row.get("docs", ()) if doc[-2] != "x"}
            assert {matrix["columns"][number] for number in record["seen"]} == ids
            assert record["cost"] == pytest.approx(sum(row.get("cost", 0) for row in own))
        assert [matrix["columns"][number][-1] for number in matrix["relevant"]] == ["a", "b", "c", "d"]


def test_losses_are_the_cells_of_compare_and_python_has_the_same_page(tmp_path: Path) -> None:
    measures = "unseen,uncited,used_recall"
    report = reported(tmp_path, *FILES, *ANSWERS, "-m", measures)
    cells = [{name: cell[name] for name in report["losses"][0]} for cell in report["cells"]]
    assert report["losses"] == cells
    agents = read_trajectories(FILES[0], ANSWERS[1])
    scores = rageval.evaluate(measures, agents, FILES[1])
    rageval.report(scores, tmp_path / "python.html", runs=agents, qrels=FILES[1])
    python = read_report(tmp_path / "python.html")
    for matrix in report["matrices"].values():  # Python is not given the texts
        for record in matrix["trajectories"].values():
            del record["answer"]
    for name in ("curves", "losses", "matrices"):
        assert python[name] == report[name]
    assert reported(tmp_path, *FILES, "-m", "seen_recall")["losses"] == [], "nobody knows what is cited"


@pytest.mark.slow
def test_many_and_long_trajectories_leave_the_page_small(tmp_path: Path) -> None:
    def step(query: int, number: int) -> dict[str, Any]:
        docs = [f"document-{number}-{rank}" for rank in range(30)]
        docs[29] = "gold"
        place = {"query_id": f"q{query}", "run_id": "a", "kind": "search"}
        return {**place, "query": "word " * 100, "docs": docs}

    steps = [step(query, number) for query in range(60) for number in range(100 if query else 2000)]
    (tmp_path / "qrels").write_text("".join(f"q{query} 0 gold 1\n" for query in range(60)))
    words = [write_jsonl(tmp_path / "steps", steps), str(tmp_path / "qrels"), "-m", "seen_recall"]
    report = reported(tmp_path, *words)
    assert (tmp_path / "report.html").stat().st_size < 2_000_000
    assert 1 < len(report["matrices"]) < 60
    matrix = report["matrices"]["q0"]
    record = matrix["trajectories"]["a"]
    assert (len(record["steps"]), record["more"], record["searches"]) == (STEPS, 2000 - STEPS, 2000)
    first = record["steps"][0]
    assert (len(first["docs"]), first["more"], len(first["query"])) == (21, 9, 240)
    assert matrix["columns"][first["docs"][-1]] == "gold", "what is relevant is shown wherever it stood"
    assert len(reported(tmp_path, *words, "--queries", "2")["matrices"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 400])
def test_steps_curves_and_losses_are_shown(pages: dict[str, Path], opened: Open, width: int) -> None:
    tab, report = (
        opened(pages["agents"], viewport={"width": width, "height": 900}),
        read_report(pages["agents"]),
    )
    tab.evaluate("location.hash = 'q=constructor'")
    until(tab, "document.getElementById('query-title').textContent === 'Query constructor'")
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert len(texts(tab, ".agent")) == len(ATTACKING_RUNS)
    last = tab.query_selector_all(".agent")[report["runs"].index("__proto__")].text_content()
    for text in (
        "the first of 2 trajectories · 4 steps · 2 searches · 1,200 tokens in · 30 out · cost 0.002",
    ):
        assert text in last
    for text in (
        "Found 3 of 3 relevant documents, cited 1 of these.",
        "in parallel",
        "✗ failed",
        "✓ __proto__",
    ):
        assert text in last
    assert "Not found: constructor." in tab.text_content("#query-body")
    losses = {(share["run"], share["measure"]): share["value"] for share in report["losses"]}
    names = ("unseen", "uncited", "used_recall")
    in_order = [shown(losses[run, name]) for run in report["runs"] for name in names]
    assert texts(tab, "#losses .value") == in_order
    drawn = tab.inner_html("#curves")
    tab.select_option("#curve-by", label="cost")
    assert tab.inner_html("#curves") != drawn
    assert tab.locator("#curves .band").count() == tab.locator("#curves .curve[d]").count() == 3
    tab.evaluate("location.hash = 'q=__proto__'")
    until(tab, "document.getElementById('query-title').textContent === 'Query __proto__'")
    assert "No trajectory: __proto__." in tab.text_content("#query-body")
