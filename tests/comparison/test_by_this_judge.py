"""A claim that rests on a judge alone says so, at every door and in every format; one of people does not."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import rageval
from commands import run_checked, write_jsonl

BY, BASIS, ERROR = "by openai:model", "judge:openai:model", "this ignores judge errors"
QUERIES = [f"q{number}" for number in range(40)]


def crag(judge: str | None) -> list[dict[str, Any]]:
    """Answers of which one system's are plainly better."""
    judge_field = {} if judge is None else {"judge": judge}
    return [
        {
            "query_id": query,
            "run_id": run,
            "label": label,
            "rubric": "crag",
            "domain": "ab"[index % 2],
            **judge_field,
        }
        for index, query in enumerate(QUERIES)
        for run, label in (("good", "perfect" if index % 8 else "missing"), ("bad", "incorrect"))
    ]


def test_no_door_says_significantly_better_of_a_judge_alone(tmp_path: Path) -> None:
    judged = write_jsonl(tmp_path / "judged.jsonl", crag("openai:model"))
    for style in ("table", "md", "latex"):
        out = run_checked("compare", judged, "-m", "crag_score", "--format", style).stdout
        for line in out.splitlines():
            assert "significantly better" not in line or BY in line


def test_the_verdict_of_each_format_is_the_same_claim(tmp_path: Path) -> None:
    judged = write_jsonl(tmp_path / "judged.jsonl", crag("openai:model"))
    (pair,) = json.loads(run_checked("compare", judged, "-m", "hallucination", "--format", "json").stdout)[
        "pairs"
    ]
    assert (pair["verdict"], pair["basis"], pair["better_run"]) == (f"worse {BY}", BASIS, "good")
    scores = rageval.evaluate_answers("crag_score", crag("openai:model"))
    comparison = rageval.compare(scores)
    assert comparison.pairs[0].verdict == f"lower {BY}"
    assert comparison.pairs[0].is_significant
    assert BY in repr(comparison)
    assert BY in comparison._repr_html_()
    assert BY in comparison.to_latex()
    assert comparison.to_pandas()["verdict"].tolist() == [f"lower {BY}"]
    assert comparison.as_dict()["basis"] == {"crag_score": BASIS}


@pytest.mark.slow
def test_the_page_says_it_of_runs_comparisons_and_slices(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for judge, is_said in (("openai:model", True), ("person:ann", False)):
        judged = write_jsonl(tmp_path / "judged.jsonl", crag(judge))
        run_checked("report", judged, "-m", "crag_score", "--by", "domain", "-o", page)
        html = page.read_text()
        shown = html[html.index("<body>") : html.index("<script")]
        assert shown.count("By openai:model: crag_score (this ignores judge errors") == 3 * is_said
        assert (f"lower {BY}" in shown) == is_said
        assert ("significantly better by openai:model than" in shown) == is_said


@pytest.mark.slow
def test_a_figure_says_it(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    scores = rageval.evaluate_answers("crag_score", crag("openai:model"))
    for figure in (rageval.compare(scores).plot(), scores["good"].plot()):
        assert BY in figure.axes[0].get_title()
    people = rageval.evaluate_answers("crag_score", crag("person:ann"))
    assert BY not in rageval.compare(people).plot().axes[0].get_title()


# --- who is a judge


def test_counts_of_words_claim_no_more_than_they_are() -> None:
    rows = [
        {"query_id": query, "run_id": run, "grade": grade, "rubric": "token-f1", "judge": "token_f1"}
        for query in QUERIES
        for run, grade in (("good", 0.9), ("bad", 0.1))
    ]
    assert rageval.compare(rageval.evaluate_answers("token_f1", rows)).pairs[0].verdict == "no winner"
    answers = [
        {"query_id": query, "run_id": run, "question": "?", "answer": text}
        for query in QUERIES
        for run, text in (("long", "one two three"), ("short", "one"))
    ]
    scores = rageval.evaluate_answers("length", crag("m"), answers=answers)
    assert {str(row["length"].basis) for row in scores.values()} == {"words"}


# --- documents that a model judged


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    (tmp_path / "good.run").write_text(
        "".join(f"{q} Q0 a 1 2.0 good\n{q} Q0 b 2 1.0 good\n" for q in QUERIES)
    )
    (tmp_path / "bad.run").write_text("".join(f"{q} Q0 b 1 2.0 bad\n{q} Q0 a 2 1.0 bad\n" for q in QUERIES))
    return [str(tmp_path / "good.run"), str(tmp_path / "bad.run")]


def verdict(*words: str) -> tuple[str, str]:
    (pair,) = json.loads(run_checked("compare", *words, "-m", "rr", "--format", "json").stdout)["pairs"]
    values = json.loads(run_checked("score", *words, "-m", "rr", "--format", "json").stdout)["results"]
    return pair["verdict"], values[0]["signature"]


def test_a_collection_that_models_judged_says_so_in_its_manifest(runs: list[str], tmp_path: Path) -> None:
    text = "".join(f"{query} n1 a 1\n" for query in QUERIES)
    (tmp_path / "qrels.nugget").write_text(text)
    qrels = str(tmp_path / "qrels.nugget")
    digest = hashlib.sha256(text.encode()).hexdigest()
    manifest = {"files": {"qrels.nugget": digest}, "steps": {"support": {"models": ["openai:model"]}}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert verdict(*runs, qrels)[0] == f"lower {BY}"
    assert "judge:openai:model" in verdict(*runs, qrels)[1]
    assert rageval.compare("rr", runs, qrels).pairs[0].verdict == f"lower {BY}"
    (tmp_path / "qrels.nugget").write_text(text + "q0 n2 b 0\n")  # other judgements than those
    assert verdict(*runs, qrels)[0] == "lower"
    (tmp_path / "manifest.json").write_text('{"files": ["qrels.nugget"]}')
    assert verdict(*runs, qrels)[0] == "lower"


def test_data_sets_know_which_models_judged_them() -> None:
    from rageval.datasets.dataset import load

    assert load("freshstack/langchain/oct-2024").judges == ("gpt-4o",)
    assert load("trec-rag/2024/umbrela").judges == ("UMBRELA",)
    assert load("trec-rag/2024").judges == ()

    class Judged:
        judges = ("model",)

        def qrels_iter(self) -> list[dict[str, Any]]:
            return [{"query_id": query, "doc_id": "a", "relevance": 1} for query in QUERIES]

    named = {name: {q: {"a": a, "b": 1.5} for q in QUERIES} for name, a in (("good", 2.0), ("bad", 1.0))}
    assert rageval.compare("rr", named, Judged()).pairs[0].verdict == "lower by model"
