"""Where a file goes, the id of a data set goes, too; what cannot take one says why here."""

from __future__ import annotations

import bz2
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from commands import run_command
from every_command import leaves
from rageval.cli._options import FileOrId
from rageval.datasets import dataset
from rageval.datasets._records import Document
from rageval.datasets.dataset import _CONTENT, Dataset
from rageval.records import Nugget, Qrel, Question

ID = "my/bench"
CONTENTS: dict[str, list[Any]] = {
    "questions": [
        Question("q1", "who?", ("he", "him"), (("domain", "music"),)),
        Question("q2", "why?", ("so",), (("domain", "film"),)),
    ],
    "documents": [Document("d1", "He did."), Document("d2", "So it was.", "Why")],
    "qrels": [Qrel("q1", "d1", 1, "n1"), Qrel("q2", "d2", 1, "n1")],
    "nuggets": [Nugget("q1", "n1", "He.", "vital"), Nugget("q2", "n1", "So.", "okay")],
}
OUTPUTS = {"output", "values", "plot", "out", "disagreements", "requests_out"}
OUTPUTS |= {"save_baseline", "md", "junit", "json"}
# Options that take a file and no id: what is of a user's own machine, or made by rageval.
NO_IDS = {
    "judgements": "what people, or another judge, said of these very runs",
    "citation": "how the organizers want to be cited",
    "teams": "under which names the organizers list files",
    "policy": "rules of a project, which a person names",
    **dict.fromkeys(("anchor", "baseline"), "what rageval gate --save-baseline wrote"),
    "pilot": "what a judge said of some systems before",
    "replies_in": "what an engine replied to requests of rageval",
    "weights": "shares of traffic, which no data set has",
    "names": "files of runs, which bear the names",
    "claims": "what a judge took answers apart into",
    "chunks": "how a retriever cuts texts, which no data set has",
    "sources": "the texts before they are cut, which no data set has",
    "quotes": "judgements with quotes, which a judge made",
    "evidence": "judgements with quotes, which a judge made",
    "store": "the store of replies",
    "rubric": "a rubric is not data",
    "runs": "what a system retrieved: a run",
    "labeled": "what people wrote into a sample of this collection",
    "against": "the folder of a collection, or a file of judgements",
    "prices": "prices of models",
    "examples": "what a prompt shows as examples",
    "tokenizer": "how a model counts its tokens",
    "gold_chosen": "how people's labels were chosen: a plan, or chances",
}
OF_BUILD = {"corpus", "nuggets"}  # of the whole `build`: its manifest keeps the sha256 of each file


class _Documents:
    def get_many(self, ids: Any) -> dict[str, Document]:
        return {doc.doc_id: doc for doc in CONTENTS["documents"] if doc.doc_id in set(ids)}


@pytest.fixture(name="dataset", autouse=True)
def _dataset(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    fake = Dataset(ID, (*_CONTENT, "answers"), lambda what: iter(CONTENTS[what]), store=_Documents)
    load = dataset.load
    monkeypatch.setattr(dataset, "load", lambda name: fake if name == ID else load(name))
    return fake


def done(*words: object) -> str:
    result = run_command(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def file_options() -> Iterator[tuple[str, click.Option]]:
    for name, command in leaves().items():
        for option in command.params:
            if isinstance(option, click.Option) and "FILE" in (option.metavar or ""):
                yield name, option


def test_every_option_that_takes_a_file_takes_an_id_or_says_why_not() -> None:
    taken = 0
    for name, option in file_options():
        option_name = str(option.name)
        if isinstance(option.type, FileOrId):
            assert option.metavar == "FILE|ID", (name, option_name)
            taken += 1
        elif (option.metavar or "").startswith("FIELD|"):
            continue  # a field, a file, or an id: rageval.cli._inputs
        elif not (name == "collection build" and option_name in OF_BUILD):
            assert option_name in NO_IDS or option_name in OUTPUTS, f"{name} --{option_name}"
    assert taken >= 25


def jsonl(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(name="judged")
def _judged(tmp_path: Path) -> Path:
    rows = [{"query_id": q, "run_id": "r", "aspect": "n1", "label": "support"} for q in ("q1", "q2")]
    return jsonl(tmp_path / "judged.jsonl", *rows)


class TestScoring:
    def test_questions_and_nuggets(self, judged: Path) -> None:
        printed = done(judged, "-m", "v_strict", "--nuggets", ID, "--by", "domain", "--questions", ID)
        assert "domain=film" in printed
        assert "domain=music" in printed
        assert done(judged, "-m", "a_strict", "--group-by", "domain", "--questions", ID)

    def test_a_field_of_the_data_set_that_the_judgements_are_of(self, tmp_path: Path) -> None:
        path = tmp_path / "run"
        path.write_text("q1 Q0 d1 1 2 t\nq2 Q0 d1 1 2 t\n")
        assert "domain=music" in done(path, ID, "-m", "rr", "--by", "domain")
        assert "0.5000" in done(path, ID, "-m", "rr", "--group-by", "domain")

    def test_the_only_field_of_a_data_set(self, judged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert "music" in done(judged, "-m", "a_strict", "--by", ID)
        more = [
            question._replace(facts=(*question.facts, ("year", "1"))) for question in CONTENTS["questions"]
        ]
        monkeypatch.setitem(CONTENTS, "questions", more)
        refused = run_command(judged, "-m", "a_strict", "--by", ID)
        assert refused.exit_code == 2
        assert f"with --questions {ID}; it has: domain, year" in refused.stderr

    def test_right_answers_are_answers_of_a_run(self, tmp_path: Path) -> None:
        rows = [{"query_id": q, "run_id": ID, "label": "perfect"} for q in ("q1", "q2")]
        path = jsonl(tmp_path / "gold.jsonl", *rows)
        assert "1.5000" not in done(path, "-m", "length", "--answers", ID)
        assert "1.0000" in done(path, "-m", "length", "--answers", ID)

    def test_a_report(self, judged: Path, tmp_path: Path) -> None:
        pytest.importorskip("jinja2")
        page = tmp_path / "page.html"
        words = ["report", judged, "-m", "v_strict", "--nuggets", ID, "--questions", ID, "--by", "domain"]
        done(*words, "-o", page)
        assert "who?" in page.read_text()


class TestJudging:
    def test_questions_and_gold_answers(self, tmp_path: Path) -> None:
        answers = jsonl(tmp_path / "a.jsonl", {"query_id": "q1", "run_id": "r", "answer": "he"})
        result = run_command("judge", "crag", answers, "--questions", ID, "--judge", "exact")
        assert result.exit_code == 3, result.output
        assert "r answered 1 of 2 questions" in result.stderr
        right, lost = map(json.loads, result.stdout.splitlines())
        assert (right["label"], lost["status"]) == ("perfect", "error")

    def test_nuggets_and_passages(self, tmp_path: Path) -> None:
        path = tmp_path / "run"
        path.write_text("q1 Q0 d1 1 2 t\nq2 Q0 d2 1 2 t\n")
        words = ["judge", "nugget-support", "--run", path, "--passages", ID, "--questions", ID]
        printed = done(*words, "--nuggets", ID, "--judge", "openai:m@http://127.0.0.1:9/v1", "--dry-run")
        assert "2 calls" in printed
        assert "He did." in printed

    def test_support_of_a_pool(self, tmp_path: Path) -> None:
        pool = jsonl(tmp_path / "pool", {"query_id": "q2", "doc_id": "d2", "from": {"r": 1}})
        words = ["collection", "support", pool, "--questions", ID, "--nuggets", ID, "--corpus", ID]
        assert (
            run_command(*words, "--judge", "exact").exit_code == 2
        )  # which cannot judge this: everything was read
        assert "pool" not in run_command(*words, "--judge", "exact").stderr


def test_topics_of_a_track(tmp_path: Path) -> None:
    line = {"metadata": {"team_id": "t", "narrative_id": "q1", "run_id": "r"}, "references": [], "answer": []}
    path = jsonl(tmp_path / "a.jsonl", line)
    printed = run_command("validate", path, "--track", "rag26", "--topics", ID).stdout
    assert "q2" in printed


@pytest.mark.slow
def test_runs_of_a_track(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one").write_text("q1 Q0 d1 1 2 t\nq2 Q0 d1 1 2 t\n")
    words = ["track", tmp_path / "runs", "--track", "run", "--topics", ID, "--qrels", ID, "-m", "rr"]
    assert "t 0.5000 " in " ".join(done(*words, "-o", tmp_path / "out").split())
    assert "who?" in (tmp_path / "out/pages/topic-q1.html").read_text()
    assert "nothing to do" in done(*words, "-o", tmp_path / "out")


def test_what_is_neither_is_said(judged: Path) -> None:
    for words in (("--nuggets", "no/file.jsonl"), ("--questions", "no/file.jsonl", "--by", "x")):
        result = run_command(judged, "-m", "a_strict", *words)
        assert result.exit_code == 2
        assert "no/file.jsonl" in result.stderr


class TestDoctor:
    def test_it_goes_on_after_a_file_that_nobody_knows(self, tmp_path: Path) -> None:
        (tmp_path / "what").write_text("this is no file of ours, is it?\n")
        (tmp_path / "run").write_text("q1 Q0 d1 1 2 t\nq9 Q0 d9 1 2 t\n")
        result = run_command("doctor", tmp_path / "what", tmp_path / "run", "--topics", ID, "--corpus", ID)
        assert result.exit_code == 2
        assert f"{tmp_path / 'what'}:1: error: cannot tell what this is" in result.stdout
        assert f"queries that are not in '{ID}': 1, first 'q9'" in result.stdout
        assert f"documents that are not in '{ID}'" in result.stdout
        assert "1 error and" in result.stdout

    @pytest.mark.slow
    def test_crag_as_it_is_published(self, tmp_path: Path) -> None:
        page = {"page_name": "p", "page_url": "u", "page_snippet": "", "page_result": "x" * 2**21}
        asked = {"query": "who?", "answer": "he", "alt_ans": [], "search_results": [page]}
        lines = [json.dumps({"interaction_id": f"q{number}", **asked}) + "\n" for number in (1, 2)]
        path = tmp_path / "crag.jsonl.bz2"
        path.write_bytes(bz2.compress("".join(lines).encode()))
        assert done("doctor", path) == "nothing suspicious in 1 file\n"

    def test_fractions_of_the_same_documents_for_every_topic_are_judgements(self, tmp_path: Path) -> None:
        (tmp_path / "qrels").write_text(
            "".join(f"q{number} 0 d{doc} 0.5\n" for number in (1, 2) for doc in (1, 2))
        )
        assert done("doctor", tmp_path / "qrels").startswith("nothing suspicious")
        (tmp_path / "run").write_text("q1 Q0 d1 1 2 t\nq2 Q0 d2 1 2 t\n")
        assert "1.0000" in done(tmp_path / "run", tmp_path / "qrels", "-m", "ndcg@1")
