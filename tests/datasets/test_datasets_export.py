"""Round trips: what is exported is what ir_datasets exports, and scores the same in every tool."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import datasets_samples as samples
from datasets_server import serving
from rageval.cli import main
from rageval.datasets import import_files, load, register
from rageval.datasets.exports import exported
from rageval.errors import UsageError
from rageval.files.nuggets import read_nuggets
from rageval.files.questions import read_questions

FRESHSTACK = "freshstack/langchain/oct-2024"
CRAG = "crag/task-1-2/dev-v4"
WITHOUT_SPACES = "freshstack/yolo/oct-2024"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAGEVAL_ALLOW_HTTP", "1")
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        samples.put_freshstack(server)
        text = json.dumps(samples.FRESHSTACK_QUERIES).replace("docs with space", "docs")
        name = "yolo/test-00000-of-00001.parquet"
        server.on_hub("freshstack/queries-oct-2024", name, samples.parquet(json.loads(text)))
        yield


def theirs(dataset: str, what: str, style: str, fields: list[str] | None = None) -> str:
    """What `ir_datasets export` writes, in a process that knows us."""
    import ir_datasets
    from ir_datasets.commands import export

    register()
    out = io.StringIO()
    arguments = argparse.Namespace(dataset=dataset, format=style, fields=fields, out=out)
    getattr(export, f"main_{what}")(ir_datasets.load(dataset), arguments)
    return out.getvalue()


def ours(dataset: str, what: str, *options: str) -> str:
    result = CliRunner().invoke(main, ["datasets", "export", dataset, what, *options])
    assert result.exit_code == 0, result.output
    return result.stdout


class TestQrels:
    def test_are_what_ir_datasets_writes(self) -> None:
        assert ours(WITHOUT_SPACES, "qrels") == theirs(WITHOUT_SPACES, "qrels", "trec")

    @pytest.mark.parametrize("style", ["tsv", "jsonl"])
    def test_other_forms(self, style: str) -> None:
        assert ours(WITHOUT_SPACES, "qrels", "--format", style) == theirs(WITHOUT_SPACES, "qrels", style)


class TestQueriesAndDocuments:
    def test_queries_are_what_ir_datasets_writes(self, tmp_path: Path) -> None:
        written = ours(FRESHSTACK, "queries")
        assert written == theirs(FRESHSTACK, "queries", "tsv", ["query_id", "text"])
        assert ours(FRESHSTACK, "queries", "--format", "jsonl") == theirs(FRESHSTACK, "queries", "jsonl")
        path = tmp_path / "topics.tsv"
        path.write_text(written, encoding="utf-8")
        assert [question.query_id for question in read_questions(path)] == [
            f"7600000{number}" for number in range(5)
        ]

    @pytest.mark.parametrize("style", ["tsv", "jsonl"])
    def test_documents_are_what_ir_datasets_writes(self, style: str) -> None:
        assert ours(FRESHSTACK, "docs", "--format", style) == theirs(FRESHSTACK, "docs", style)

    def test_crag(self, tmp_path: Path) -> None:
        path = tmp_path / "crag.jsonl"
        path.write_bytes(samples.jsonl(samples.CRAG))
        import_files(CRAG, [path])
        assert ours(CRAG, "docs") == theirs(CRAG, "docs", "jsonl")
        assert ours(CRAG, "queries", "--format", "jsonl") == theirs(CRAG, "queries", "jsonl")


class TestAnswersAndNuggets:
    def test_nuggets_are_read_back(self, tmp_path: Path) -> None:
        path = tmp_path / "nuggets.jsonl"
        path.write_text(ours(FRESHSTACK, "nuggets"), encoding="utf-8")
        assert list(read_nuggets(path)) == list(load(FRESHSTACK).nuggets())

    def test_rubrics_are_read_back(self, tmp_path: Path) -> None:
        path = tmp_path / "rubrics.jsonl"
        line = '{"qid":"r1","domain":"d","rubrics":[{"criterion":"c","weight":-2,"axis":"a"}]}\n'
        path.write_text(line + line.replace("r1", "r2"), encoding="utf-8")
        topics = tmp_path / "topics.tsv"
        topics.write_text("r1\tone\nr2\ttwo\n", encoding="utf-8")
        dataset = "trec-rag/2026/research-rubrics-dev"
        import_files(dataset, [path], role="nuggets")
        import_files(dataset, [topics], role="questions")
        exported = tmp_path / "again.jsonl"
        exported.write_text(ours(dataset, "nuggets"), encoding="utf-8")
        assert list(read_nuggets(exported)) == list(load(dataset).nuggets())

    def test_answers_are_read_back_as_questions(self, tmp_path: Path) -> None:
        path = tmp_path / "crag.jsonl"
        path.write_bytes(samples.jsonl(samples.CRAG))
        import_files(CRAG, [path])
        exported = tmp_path / "answers.jsonl"
        exported.write_text(ours(CRAG, "answers"), encoding="utf-8")
        expected = {question.query_id: question for question in load(CRAG).questions()}
        for question in read_questions(exported):
            original = expected.pop(question.query_id)
            assert (question.text, question.gold) == (original.text, original.gold)
            assert dict(question.facts) == dict(original.facts)
        assert not expected


def test_what_a_data_set_has_not_is_not_exported() -> None:
    result = CliRunner().invoke(main, ["datasets", "export", "trec-rag/2026", "answers"], prog_name="rageval")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "trec-rag/2026: this dataset has no answers; it has questions" in result.stderr


def test_a_style_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="--format trec: docs are written as jsonl or tsv"):
        exported(load(FRESHSTACK), "docs", "trec")
