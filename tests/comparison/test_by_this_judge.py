"""A claim that rests on a judge alone says so, by every command, in every format; one of people does not."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval
from commands import run_checked, write_jsonl
from rageval.cli import main
from rageval.core.basis import Basis
from rageval.core.judge import parse_judge

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


def pairwise(judge: str) -> list[dict[str, Any]]:
    rows = []
    for index, query in enumerate(QUERIES):
        labels = ("win", "loss") if index % 4 else ("loss", "win")
        for run, label in zip(("good", "bad"), labels, strict=True):
            place = {"query_id": query, "run_id": run, "aspect": "good-bad", "label": label}
            rows.append({**place, "judge": judge, "rubric": "pairwise"})
    return rows


def commands() -> Iterator[Any]:
    """Every command that makes a claim of judged answers, in each of its formats."""
    for style in ("table", "md", "latex", "csv", "json"):
        yield pytest.param("crag", ["compare", "-m", "crag_score", "--format", style], id=f"compare {style}")
        yield pytest.param("pairwise", ["arena", "--format", style], id=f"arena {style}")
        yield pytest.param("pairwise", ["arena", "--matrix", "--format", style], id=f"matrix {style}")
        yield pytest.param("pairwise", ["compare", "-m", "win_rate", "--format", style], id=f"wins {style}")
    for style in ("trec", "table", "md", "latex", "csv", "json", "jsonl"):
        words = ["score", "-m", "crag_score", "--by", "domain", "--format", style]
        yield pytest.param("crag", words, id=f"slices {style}")
    for style in ("table", "json", "jsonl"):
        yield pytest.param("crag", ["score", "-m", "crag_score", "--format", style], id=f"score {style}")
    yield pytest.param("crag", ["score", "--require", "crag_score>=0.1"], id="require")
    yield pytest.param("crag", ["score", "--fail-under", "crag_score=0.1"], id="fail-under")


FILES: dict[str, Callable[[str], list[dict[str, Any]]]] = {"crag": crag, "pairwise": pairwise}


@pytest.mark.slow
@pytest.mark.some(7)
@pytest.mark.parametrize(("kind", "words"), list(commands()))
def test_every_command_says_it_in_every_format(kind: str, words: list[str], tmp_path: Path) -> None:
    judged = write_jsonl(tmp_path / "judged.jsonl", FILES[kind]("openai:model"))
    people = write_jsonl(tmp_path / "people.jsonl", FILES[kind]("person:ann"))
    for file, is_said in ((judged, True), (people, False)):
        outcome = CliRunner().invoke(main, [*words, str(file)])
        assert outcome.exit_code in (0, 1), outcome.output
        gates = {"--require", "--fail-under"} & set(words)
        text = outcome.stderr if gates else outcome.stdout
        assert (BY in text or BASIS in text) == is_said
        if words[-1] in ("table", "md", "latex"):
            assert (ERROR in text.replace("\n", " ").replace("\\", "")) == is_said


def test_no_command_says_significantly_better_of_a_judge_alone(tmp_path: Path) -> None:
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


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("judge", "is_said"),
    [
        ("openai:model@3f2a", True),
        ("exact", True),  # a right answer in other words is wrong to it
        ("number", True),
        (None, True),  # nobody says who it was
        ("majority:person:a+openai:model", True),
        ("majority:person:a+person:b", False),
        ("person:a", False),
        ("human", False),
        ("personality-7b", True),
    ],
)
def test_who_is_a_judge(judge: str | None, is_said: bool) -> None:
    comparison = rageval.compare(rageval.evaluate_answers("crag_score", crag(judge)))
    assert (" by " in comparison.pairs[0].verdict) == is_said
    assert Basis.of([judge or ""]).is_judge == is_said
    assert parse_judge(judge or "").is_person != is_said


def test_a_person_beside_a_model_makes_no_claim_of_people(tmp_path: Path) -> None:
    rows = crag("openai:model") + crag("person:ann")
    assert (
        str(rageval.compare(rageval.evaluate_answers("crag_score", rows)).pairs[0].basis)
        == f"{BASIS}+person:ann"
    )


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


def test_what_is_no_claim_says_nothing() -> None:
    rows = [row | {"label": "perfect" if int(row["query_id"][1:]) % 2 else "missing"} for row in crag("m")]
    comparison = rageval.compare(rageval.evaluate_answers("crag_score", rows))
    assert comparison.pairs[0].verdict == "identical by m"  # people might tell them apart
    one = rageval.evaluate_answers("crag_score", crag("m")[:6])
    assert rageval.compare(one).pairs[0].verdict == "undecided"


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


def test_umbrela_is_a_judge_of_documents(runs: list[str], tmp_path: Path) -> None:
    rows = [{"qid": query, "docid": "a", "judgment": 2} for query in QUERIES]
    text, signature = verdict(*runs, write_jsonl(tmp_path / "umbrela.jsonl", rows))
    assert text == "lower by UMBRELA"
    assert "|judge:UMBRELA|" in signature


def test_plain_judgements_are_of_nobody_in_particular(runs: list[str], tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("".join(f"{query} 0 a 1\n" for query in QUERIES))
    text, signature = verdict(*runs, str(tmp_path / "qrels"))
    assert (text, "judge" in signature) == ("lower", False)


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


def test_the_same_ranking_is_the_same_whoever_judges(runs: list[str], tmp_path: Path) -> None:
    shutil.copy(runs[0], tmp_path / "copy.run")
    rows = [{"qid": query, "docid": "a", "judgment": 2} for query in QUERIES]
    umbrela = write_jsonl(tmp_path / "umbrela.jsonl", rows)
    assert verdict(runs[0], str(tmp_path / "copy.run"), umbrela)[0] == "identical"
