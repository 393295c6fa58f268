"""Every id of `rageval datasets` loads files of the published shape: from a loopback server, or imported."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

import datasets_samples as samples
import rageval
from datasets_server import File, Server, serving
from rageval.cli import main
from rageval.datasets import _evouna, catalogue, download, import_files, load
from rageval.datasets.catalogue import Source, Spec

PEOPLE = {f"answer_{name}": f"It was {name}." for name in _evouna.SYSTEMS}
PEOPLE_QUESTION = {"question": "Who?", "golden_answer": "Bo/Al", "improper": False, **PEOPLE}
PEOPLE_QUESTION |= {f"judge_{name}": name == "gpt4" for name in _evouna.SYSTEMS}
ASSIGNED = {"text": "a", "importance": "vital", "assignment": "support"}
# NIST's own lines have NaN in fields that nobody reads.
SUPPORT = (
    '{"topic_id": "1", "run_id": "A.x", "sentences": [{"sentenceID": 0, "text": "One.", "prediction": NaN,'
    ' "citations": [{"citationID": 0, "reference": "d1", "support": "2", "predicted": NaN}]}, {"sentenceID":'
    ' 1, "text": "Two.", "citations": [{"reference": "d2", "support": "0"}]}]}\n'
)
BANK = {
    "query_id": "1", "title_query": "Why?", "format_version": "v3",
    "nugget_bank": {"Who?": {"question": "Who?", "query_id": "1", "answers": {
        "Bo": {"answer": "Bo", "references": [{"doc_id": "d1"}]}}}},
}  # fmt: skip
RUBRIC = {
    "topic_id": "1",
    "rubrics": [{"question_id": "1-1", "question": "Who?", "importance": "A: Have to Know",
                 "short_answers": [{"answer_id": "1-1-1", "short_answer": "Bo"}]}],
}  # fmt: skip
MEDICAL = {
    "question_id": 1, "question": "Safe?",
    "machine_generated_answers": {"M1": {"is_answer_accurate": "yes", "answer_sentences": []}},
}  # fmt: skip


def line(record: object) -> bytes:
    return json.dumps(record).encode() + b"\n"


def task_3() -> bytes:
    return samples.tar_bz2({"crag_task_3.jsonl": samples.jsonl(samples.CRAG)})


def part_of_task_3(name: str) -> bytes:
    number = int(name[-1]) - (1 if "v4" in name else 0)
    return samples.in_parts(task_3(), 4)[number]


# What a file holds, by the id of its dataset and its name; the first that fits.
SHAPES: dict[str, Callable[[str], bytes]] = {
    "freshstack/* test-*.parquet": lambda _: samples.parquet(samples.FRESHSTACK_QUERIES),
    "freshstack/* train-*.parquet": lambda _: samples.parquet(samples.FRESHSTACK_DOCS),
    "liverag/* *.parquet": lambda _: samples.parquet(samples.LIVERAG),
    "crag/* *.jsonl.bz2": lambda _: samples.crag_bz2(),
    "crag/* *.part?": part_of_task_3,
    "evouna/* *.json": lambda _: json.dumps([PEOPLE_QUESTION]).encode(),
    "coveragebench/* questions": lambda _: line({"topic_id": "1", "query": "Why?", "nuggets": ["a"]}),
    "coveragebench/* *nuggets*": lambda _: b"1 1 a fact of one\n1 2 another\n",
    "coveragebench/* *qrels": lambda _: b"1 1 d1 1\n1 2 d2 0\n",
    "medaesqa judgements": lambda _: json.dumps([MEDICAL]).encode(),
    "trec-dragun/* *topics.jsonl": lambda _: line({"docid": "msmarco_v2.1_doc_1_2", "title": "News"}),
    "trec-dragun/* nuggets": lambda _: json.dumps(RUBRIC).encode(),
    "trec-dragun/* *.csv": lambda _: b"topic_id,run_tag,answer_id,auto_assessment\n1,r,1-1-1,supports\n",
    "trec-ragtime/* *eng.jsonl": lambda _: line({"topic_id": "1", "title": "Why?", "limit": 2000}),
    "trec-ragtime/* nuggets": lambda _: line(BANK),
    "trec-rag/*sub-narratives *.json": lambda _: json.dumps(
        [{"id": "1", "narrative": "Why?", "sub_narratives": [{"text": "Who?"}]}]
    ).encode(),
    "trec-rag/* *queries.jsonl": lambda _: line({"id": "1", "title": "Why?"}),
    "trec-rag/* *topics*": lambda _: b"1\tWhy?\n2\tWho?\n",
    "trec-rag/* *queries.tsv": lambda _: b"1\tWhy?\n2\tWho?\n",
    "trec-rag/* nugget_assignment*": lambda _: line(
        {"qid": "1", "query": "Why?", "run_id": "A.x", "answer_text": "One.", "nuggets": [ASSIGNED]}
    ),
    "trec-rag/* *support_labels*": lambda _: SUPPORT.encode(),
    "trec-rag/* *citation_judgments*": lambda _: SUPPORT.encode(),
    "trec-rag/* *nuggets.jsonl": lambda _: line(
        {"qid": "1", "nuggets": [{"text": "a", "importance": "vital", "mapped_sub_narrative": "Who?"}]}
    ),
    "trec-rag/* *rubrics.jsonl": lambda _: line(
        {"qid": "1", "domain": "d", "rubrics": [{"criterion": "c", "weight": -2, "axis": "a"}]}
    ),
    "* *qrels*": lambda _: b"1 Q0 d1 3\n1 0 d2 -1\n",
}
IDS = [spec.id for _, spec in catalogue.all_datasets()]


def name_of(source: Source) -> str:
    return source.name or source.match or source.role


def content_of(spec: Spec, source: Source) -> bytes:
    asked = f"{spec.id} {name_of(source)}"
    shape = next((make for pattern, make in SHAPES.items() if fnmatch.fnmatchcase(asked, pattern)), None)
    assert shape is not None, f"{asked}: say in SHAPES what its publishers put there"
    return shape(name_of(source))


@pytest.fixture(name="server", autouse=True)
def _server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAGEVAL_ALLOW_HTTP", "1")
    monkeypatch.setattr(
        download, "Transport", partial(download.Transport, timeout=5, attempts=2, pause=lambda _: None)
    )
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        published = {
            source.name: content_of(spec, source)
            for _, spec in catalogue.all_datasets()
            for source in spec.files
            if source.sha256
        }
        catalog = samples.at_loopback(server, published)
        monkeypatch.setattr(catalogue, "benchmarks", lambda: catalog)
        yield server


def publish(server: Server, spec: Spec, folder: Path) -> None:
    """Put the files where they are published; what has no address is imported."""
    for source in spec.files:
        content = content_of(spec, source)
        if source.repo:
            name = source.match.replace("*", "00000-of-00001")
            server.on_hub(source.repo, f"{source.folder}/{name}", content)
        elif source.url.startswith(catalogue.HUB):
            repo, path = re.fullmatch(r".*/datasets/(.+)/resolve/main/(.+)", source.url).groups()
            server.on_hub(repo, path, content, listed=False)
        elif source.url:
            server.files[source.url.removeprefix(server.url)] = File(content)
        else:
            path = folder / source.role
            path.write_bytes(content)
            import_files(spec.id, [path], role=source.role)


@pytest.mark.slow
@pytest.mark.parametrize("dataset", IDS)
def test_it_has_what_it_says(server: Server, tmp_path: Path, dataset: str) -> None:
    (spec,) = (spec for _, spec in catalogue.all_datasets() if spec.id == dataset)
    publish(server, spec, tmp_path)
    loaded = load(dataset, accept_license=True)
    for what in spec.holds:
        if what == "answers":
            assert any(question.gold for question in loaded.questions())
        else:
            assert list(getattr(loaded, what)()), what
    if "judgements" in spec.holds and dataset.startswith("trec-rag"):
        measure = "v_strict" if "nuggets" in dataset else "citation_precision"
        # By the table of the labels: one nugget of one, and one sentence of two.
        (score,) = rageval.evaluate_answers(measure, dataset)["A.x"].values()
        assert score.value == (1.0 if measure == "v_strict" else 0.5)


@pytest.mark.parametrize(
    ("dataset", "cited"),
    [
        ("trec-rag/2024", "arXiv:2411.08275"),
        ("trec-rag/2024/nuggets", "arXiv:2411.09607"),
        ("trec-rag/2024/support", "arXiv:2504.15205"),
        ("trec-rag/2024/raggy-dev", "arXiv:2406.16828"),
        ("trec-rag/2025", "arXiv:2603.09891"),
        ("trec-rag/2025/support", "arXiv:2603.09891"),
        ("trec-rag/2026", "no overview is published yet"),
    ],
)
def test_what_is_cited_is_of_its_year(dataset: str, cited: str) -> None:
    page = CliRunner().invoke(main, ["datasets", "show", dataset]).stdout.partition("to cite\n")[2]
    assert cited in page
    assert page.count("@") == 1
