"""What to judge next: bounds that the truth never leaves, and documents that do not matter left alone."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval import compare, evaluate
from rageval.building.next_batch import next_batch
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
    assert list(batch.pool["q"]) == ["a", "c"]
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
    words = ("collection", "next", tmp_path / "a.trec", tmp_path / "b.trec", "--judged", tmp_path / "j.qrels")
    done = run(*words, "-m", "p@2")
    assert [json.loads(line)["doc_id"] for line in done.stdout.splitlines()] == ["a", "c"]
    assert "0 of 1 pairs are decided" in done.stderr
    assert "a.trec − b.trec: between -0.5000 and +0.5000" in done.stderr
    (tmp_path / "j.qrels").write_text("q 0 a 1\nq 0 c 0\n")
    done = run(*words, "-m", "p@2", "-o", tmp_path / "more.jsonl")
    assert "1 of 1 pairs are decided" in done.stdout
    assert (tmp_path / "more.jsonl").read_text() == ""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("-m", "map_ia@10"), "no bounds are known"),
        (("-m", "p@2 ap"), "one rageval measure"),
        ((), "Missing option"),
    ],
)
def test_what_cannot_be_bounded_is_refused(tmp_path: Path, more: tuple[str, ...], said: str) -> None:
    for name in "ab":
        (tmp_path / name).write_text("q Q0 a 1 3 x\n")
    (tmp_path / "j").write_text("q 0 z 1\n")
    assert (
        said
        in run(
            "collection", "next", tmp_path / "a", tmp_path / "b", "--judged", tmp_path / "j", *more, code=2
        ).output
    )


@pytest.fixture
def chosen(tmp_path: Path) -> Path:
    """Two runs, and judgements of which two were asked for: `a` of them, and `c`, which is none of ours."""
    for query in "pqr":
        for name, docs in (("a", "a b"), ("b", "b c")):
            with (tmp_path / f"{name}.trec").open("a") as file:
                file.writelines(f"{query} Q0 {doc} 1 {-at} x\n" for at, doc in enumerate(docs.split()))
    qrels = tmp_path / "j.qrels"
    qrels.write_text("".join(f"{query} 0 z 1\n" for query in "pqr"))
    words = ("collection", "next", tmp_path / "a.trec", tmp_path / "b.trec", "--judged", qrels, "-m", "p@2")
    before = qrels.read_bytes()
    asked = [json.loads(line) for line in run(*words, "-n", 4).stdout.splitlines()]
    assert qrels.read_bytes() == before  # every tool reads it as before
    with qrels.open("a") as file:
        file.writelines(f"{row['query_id']} 0 {row['doc_id']} {int(row['doc_id'] == 'a')}\n" for row in asked)
    return tmp_path


def signature_of(folder: Path, qrels: str = "j.qrels", **rules: Any) -> str:
    score = evaluate("p@2", folder / "a.trec", folder / qrels, nothing_judged="zero", **rules).scores[0]
    assert (score.bounds is not None) == ("pool:adaptive" in score.signature)
    return score.signature


def test_judgements_that_were_chosen_by_others_say_so_and_come_with_bounds(chosen: Path) -> None:
    with pytest.warns(UserWarning, match=r"j.qrels: documents were chosen .* \(p@2 of a.trec, b.trec\)"):
        assert "|pool:adaptive|" in signature_of(chosen)
    done = run(chosen / "a.trec", chosen / "j.qrels", "-m", "p@2", "--format", "json")
    (found,) = json.loads(done.stdout)["results"]
    assert "pool:adaptive" in found["signature"]
    assert found["bounds"][0] == found["value"] < found["bounds"][1]
    assert "documents were chosen by earlier judgements" in done.stderr
    # judgements of other documents, and those without the note, are as ever
    other = chosen / "other.qrels"
    other.write_text("p 0 z 1\np 0 b 1\n")
    for path in (other, chosen / "copy"):
        shutil.copy(chosen / "j.qrels.adaptive.jsonl", f"{other}.adaptive.jsonl")
        shutil.copy(other if path == other else chosen / "j.qrels", path) if path != other else None
        assert "pool" not in signature_of(chosen, path.name)


@pytest.mark.parametrize("kernel", ["0", "1"])
def test_low_grades_that_were_asked_for_count_as_judged(
    chosen: Path, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only documents that are not relevant were asked for: a reader that needs no such grades sees them."""
    monkeypatch.setattr("rageval.scoring.sources.kernel", None) if kernel == "0" else None
    rows = (chosen / "j.qrels").read_text().splitlines()
    (chosen / "j.qrels").write_text("\n".join(row for row in rows if not row.endswith("a 1")) + "\n")
    with pytest.warns(UserWarning, match="were chosen"):
        assert "|pool:adaptive|" in signature_of(chosen)


def test_nothing_is_tested_on_them_and_bounds_alone_decide(chosen: Path) -> None:
    words = ("compare", chosen / "a.trec", chosen / "b.trec", chosen / "j.qrels", "-m", "p@2")
    rows = (chosen / "j.qrels").read_text().splitlines()
    kept = [row for row in rows if row == "p 0 a 1" or not row.endswith("a 1")]
    (chosen / "j.qrels").write_text("\n".join(kept) + "\n")
    (pair,) = json.loads(run(*words, "--format", "json").stdout)["pairs"]
    assert (pair["verdict"], pair["every_completion"]) == ("refused", "undecided")
    assert pair["p"] is pair["low"] is pair["detectable"] is None
    asked = run("collection", "next", *words[1:3], "--judged", words[3], "-m", "p@2").stdout
    with (chosen / "j.qrels").open("a") as file:
        for row in map(json.loads, asked.splitlines()):
            file.write(f"{row['query_id']} 0 {row['doc_id']} {int(row['doc_id'] == 'a')}\n")
    (pair,) = json.loads(run(*words, "--format", "json").stdout)["pairs"]
    assert (pair["verdict"], pair["every_completion"]) == ("refused", "lower")  # b.trec, of the two
    compared = compare("p@2", [chosen / "a.trec", chosen / "b.trec"], chosen / "j.qrels")
    assert "a.trec: p@2: from 0.5000 to 1.0000 for any grades of the unjudged documents" in compared.remarks
    (found,) = compared.pairs
    assert (found.verdict, found.every_completion) == ("refused", "lower")
    done = run("collection", "next", *words[1:3], "--judged", words[3], "-m", "p@2")
    assert "1 of 1 pairs are decided" in done.stderr
    assert "you can stop judging" in done.stderr
    assert done.stdout == ""
    assert "only bounds are valid" in run("report", *words[1:], "-o", chosen / "r.html").stderr
    assert "&#34;refused&#34;" in (page := (chosen / "r.html").read_text()) or '"refused"' in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("{0}/a.trec {0}/j.qrels -m map_ia", "no bounds are known"),
        ("{0}/a.trec {0}/j.qrels -m p@2 --ties expected", "leave out ties"),
        ("{0}/a.trec {0}/j.qrels -m p@2 --judged-only", "leave out ties='expected', judged_only"),
        ("{0}/a.trec {0}/j.qrels -m p@2 --compat trec_eval", "only bounds are valid"),
        ("gate {0}/a.trec {0}/j.qrels -m p@2 --save-baseline {0}/base", "nothing is gated"),
        ("compare {0}/a.trec {0}/b.trec {0}/j.qrels -m p@2 --gold {0}/gold", "leave out the human labels"),
    ],
)
def test_what_knows_no_bounds_is_refused_on_them(chosen: Path, words: str, said: str) -> None:
    (chosen / "gold").write_text("p 0 a 1\n")
    done = run(*words.format(chosen).split(), code=2)
    assert said in done.output
    assert "documents were chosen by earlier judgements" in done.output


@pytest.mark.parametrize("line", ["{", "[]", '{"query_id": "p"}', '{"query_id": "p", "doc_id": "a\\n"}'])
def test_a_note_that_cannot_be_read_is_an_error(chosen: Path, line: str) -> None:
    (chosen / "j.qrels.adaptive.jsonl").write_text(f"{line}\n")
    assert (
        "j.qrels.adaptive.jsonl:1: " in run(chosen / "a.trec", chosen / "j.qrels", "-m", "p@2", code=2).output
    )


def test_beside_what_is_no_file_nothing_can_be_noted(chosen: Path) -> None:
    words = [
        "collection",
        "next",
        str(chosen / "a.trec"),
        str(chosen / "b.trec"),
        "--judged",
        "-",
        "-m",
        "p@2",
    ]
    done = CliRunner().invoke(main, words, input="p 0 z 1\n", prog_name="rageval")
    assert (done.exit_code, "in a local file" in done.output) == (2, True)


def test_qrels_of_a_job_that_stopped_are_such_too(tmp_path: Path) -> None:
    row = {"query_id": "p", "run_id": "documents", "item_id": "a", "grade": 1, "claim": "k", "judge": "m"}
    ledger = {"ledger": {"said": "ndcg@5: good > bad"}}
    (tmp_path / "judged").write_text(f"{json.dumps({**row, **ledger})}\n")
    (tmp_path / "run").write_text("p Q0 a 1 1 x\n")
    assert "add -o FILE" in run("collection", "qrels", tmp_path / "judged", code=2).output
    run("collection", "qrels", tmp_path / "judged", "-o", tmp_path / "q")
    done = run(tmp_path / "run", tmp_path / "q", "-m", "ndcg@5", "--format", "json")
    assert "ndcg@5: good > bad" in done.stderr
    assert "pool:adaptive" in json.loads(done.stdout)["results"][0]["signature"]


def test_one_run_is_no_pair(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("q Q0 a 1 3 x\n")
    (tmp_path / "j").write_text("q 0 z 1\n")
    assert (
        "two runs"
        in run("collection", "next", tmp_path / "a", "--judged", tmp_path / "j", "-m", "ap", code=2).output
    )
