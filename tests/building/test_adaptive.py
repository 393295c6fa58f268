"""What to judge next: bounds that the truth never leaves, and documents that do not matter left alone."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval import evaluate
from rageval.building.adaptive import next_batch
from rageval.cli import main
from rageval.measures.parsing import parse_measure
from rageval.scoring.evaluation import Evaluator
from rageval.scoring.runs import Run
from rageval.scoring.sources import run_source

QUERIES = [f"q{at}" for at in range(4)]
DOCS = [f"d{at}" for at in range(12)]


def world(seed: int) -> tuple[dict[tuple[str, str], int], dict[str, Any]]:
    rng = random.Random(seed)
    truth = {(query, doc): rng.choice([0, 0, 1]) for query in QUERIES for doc in DOCS}
    runs = {}
    for name, luck in (("good", 1.5), ("bad", 0.2), ("other", 0.4)):
        runs[name] = {
            query: {doc: rng.random() + luck * truth[query, doc] for doc in rng.sample(DOCS, 8)}
            for query in QUERIES
        }
    return truth, runs


def judged(truth: dict[tuple[str, str], int], places: set[tuple[str, str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for query, doc in places:
        found.setdefault(query, {})[doc] = truth[query, doc]
    return found


def batch_of(measure: Any, runs: dict[str, Any], qrels: Any, number: int) -> Any:
    sources = [run_source(Run.from_dict(run, name)) for name, run in runs.items()]
    return next_batch(
        measure, sources, Evaluator([measure], qrels, nothing_judged="zero", bounds=True), number
    )


@settings(max_examples=30)
@given(
    st.integers(0, 10**6), st.sampled_from(["p@3", "ap", "recall@4", "rr@5", "ndcg@4"]), st.integers(6, 20)
)
@pytest.mark.slow
def test_pairs_are_decided_as_all_judgements_would_decide_them(seed: int, name: str, number: int) -> None:
    truth, runs = world(seed)
    del runs["other"]
    found = {(query, doc) for run in runs.values() for query, docs in run.items() for doc in docs}
    truth = {place: grade for place, grade in truth.items() if place in found}
    measure: Any = parse_measure(name)
    truth |= {(query, "known"): 1 for query in QUERIES}
    whole = {
        run: evaluate(name, ranking, judged(truth, set(truth))).scores[0].value
        for run, ranking in runs.items()
    }
    places = {(query, "known") for query in QUERIES}
    while True:
        batch = batch_of(measure, runs, judged(truth, places), number)
        for pair in batch.pairs:
            assert pair.low - 1e-9 <= whole[pair.run] - whole[pair.other] <= pair.high + 1e-9
        fresh = {(query, doc) for query, docs in batch.pool.items() for doc in docs}
        assert len(fresh) == min(number, batch.left)
        assert not fresh & places
        if not fresh:
            break
        places |= fresh
    for pair in batch.undecided:  # everything is judged
        assert pair.high - pair.low <= 1e-9


def test_what_stands_in_both_tops_cannot_turn_a_precision_round() -> None:
    runs = {"one": {"q": {"a": 3.0, "b": 2.0}}, "two": {"q": {"b": 3.0, "c": 2.0}}}
    batch = batch_of(parse_measure("p@2"), runs, {"q": {"z": 1}}, 9)
    assert list(batch.pool["q"]) == ["a", "c", "b"]  # what stands in both comes last
    # a document judged for each is one that no grade of the other can outweigh
    batch = batch_of(parse_measure("p@2"), runs, {"q": {"z": 1, "a": 1, "c": 0}}, 9)
    assert batch.pool == {}
    assert batch.undecided == []


def test_the_weightiest_comes_first() -> None:
    runs = {"one": {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "two": {"q": {"x": 3.0}}}
    batch = batch_of(parse_measure("rr"), runs, {"q": {"z": 1}}, 2)
    assert {doc for docs in batch.pool.values() for doc in docs} == {"a", "x"}
    assert batch.left == 4


def run(*words: object, code: int = 0) -> Any:
    done = CliRunner().invoke(main, list(map(str, words)), prog_name="rageval")
    assert done.exit_code == code, done.output
    return done


def test_the_command_lists_documents_until_pairs_are_decided(tmp_path: Path) -> None:
    (tmp_path / "a.trec").write_text("q Q0 a 1 3 x\nq Q0 b 2 2 x\n")
    (tmp_path / "b.trec").write_text("q Q0 b 1 3 x\nq Q0 c 2 2 x\n")
    (tmp_path / "j.qrels").write_text("q 0 z 1\n")
    words = ("pool", "next", tmp_path / "a.trec", tmp_path / "b.trec", "--judged", tmp_path / "j.qrels")
    done = run(*words, "-m", "p@2")
    assert [json.loads(line)["doc_id"] for line in done.stdout.splitlines()] == ["a", "c", "b"]
    assert "0 of 1 pairs are decided" in done.stderr
    assert "a.trec − b.trec: between -0.5000 and +0.5000" in done.stderr
    (tmp_path / "j.qrels").write_text("q 0 a 1\nq 0 c 0\n")
    done = run(*words, "-m", "p@2", "-o", tmp_path / "more.jsonl")
    assert "1 of 1 pairs are decided" in done.stdout
    assert (tmp_path / "more.jsonl").read_text() == ""


@pytest.mark.parametrize(
    ("more", "said"),
    [(("-m", "err_ia@10"), "no bounds are known"), (("-m", "p@2 ap"), "one measure"), ((), "Missing option")],
)
def test_what_cannot_be_bounded_is_refused(tmp_path: Path, more: tuple[str, ...], said: str) -> None:
    for name in "ab":
        (tmp_path / name).write_text("q Q0 a 1 3 x\n")
    (tmp_path / "j").write_text("q 0 z 1\n")
    assert (
        said
        in run(
            "pool", "next", tmp_path / "a", tmp_path / "b", "--judged", tmp_path / "j", *more, code=2
        ).output
    )


def test_one_run_is_no_pair(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("q Q0 a 1 3 x\n")
    (tmp_path / "j").write_text("q 0 z 1\n")
    assert (
        "two runs"
        in run("pool", "next", tmp_path / "a", "--judged", tmp_path / "j", "-m", "ap", code=2).output
    )
