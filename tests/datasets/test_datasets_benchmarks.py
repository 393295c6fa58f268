"""Every benchmark, fetched from its true layout and read: questions, documents, judgements, nuggets."""

from __future__ import annotations

import bz2
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

import datasets_samples as samples
import rageval
from datasets_server import File, Server, serving
from rageval.cli import main
from rageval.datasets import _evouna, catalogue, download, fetch, home, load
from rageval.datasets.exports import checked, exported
from rageval.errors import InputError, OutputError, UsageError
from rageval.files.nuggets import read_nuggets
from rageval.files.opening import File as Source
from rageval.files.questions import read_questions
from rageval.records import Nugget, Qrel

FRESHSTACK = "freshstack/langchain/oct-2024"
CRAG = "crag/task-1-2/dev-v4"
CRAG_FILE = "crag_task_1_and_2_dev_v4.jsonl.bz2"
CRAG_PATH = f"facebookresearch/CRAG/refs/heads/main/data/{CRAG_FILE}"
TASK_3 = "crag/task-3/dev-v5"
quick = partial(download.Transport, timeout=5, attempts=2, pause=lambda seconds: None)


@pytest.fixture(name="server", autouse=True)
def _server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAGEVAL_ALLOW_HTTP", "1")
    monkeypatch.setattr(download, "Transport", quick)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def put_crag(server: Server, monkeypatch: pytest.MonkeyPatch, content: bytes) -> File:
    """CRAG on GitHub, its hash in the catalogue."""
    catalog = samples.at_loopback(server, {CRAG_FILE: content})
    monkeypatch.setattr(catalogue, "benchmarks", lambda: catalog)
    return samples.put_on_github(server, CRAG_PATH, content)


def put_task_3(server: Server, monkeypatch: pytest.MonkeyPatch, archive: bytes) -> None:
    names = [f"crag_task_3_dev_v5.tar.bz2.part{number}" for number in range(4)]
    parts = dict(zip(names, samples.in_parts(archive, 4), strict=True))
    catalog = samples.at_loopback(server, parts)
    monkeypatch.setattr(catalogue, "benchmarks", lambda: catalog)
    for name, part in parts.items():
        samples.put_on_github(server, f"facebookresearch/CRAG/refs/heads/main/data/{name}", part)


class TestFreshStack:
    @pytest.fixture(autouse=True)
    def _there(self, server: Server) -> None:
        samples.put_freshstack(server)

    def test_questions_and_nuggets_are_those_of_the_files_module(self, tmp_path: Path) -> None:
        path = tmp_path / "questions.jsonl"
        path.write_bytes(samples.jsonl(samples.FRESHSTACK_QUERIES))
        dataset = load(FRESHSTACK)
        assert list(dataset.questions()) == list(read_questions(path))
        assert list(dataset.nuggets()) == list(read_nuggets(path))

    def test_scoring_fetches_no_documents(self, server: Server) -> None:
        list(load(FRESHSTACK).qrels())
        assert not [path for path in server.paths() if "corpus" in path]

    def test_documents_by_id(self, server: Server) -> None:
        store = load(FRESHSTACK).document_store()
        assert not store.built()
        assert store.get("repo/chains.py_3_368").text == "def chains_3():\n\treturn 3"
        assert set(store.get_many(["repo/chains.py_3_368", "repo/größe.py_0_368", "nowhere"])) == {
            "repo/chains.py_3_368",
            "repo/größe.py_0_368",
        }
        assert store.count() == len(samples.FRESHSTACK_DOCS)
        assert store.get("repo/chains.py_3_368", "doc_id") == "repo/chains.py_3_368"
        with pytest.raises(KeyError):
            store.get("nowhere")

    def test_it_is_fetched_once(self, server: Server) -> None:
        fetch(FRESHSTACK)
        asked = len(server.asked)
        fetch(FRESHSTACK)
        list(load(FRESHSTACK).qrels())
        assert len(server.asked) == asked
        fetch(FRESHSTACK, ["questions"], again=True)
        assert len(server.asked) > asked

    def test_what_table_3_counts(self) -> None:
        counts = {count.what: count for count in checked(load(FRESHSTACK))}
        assert (counts["questions"].expected, counts["questions"].value) == (203, 5)
        assert (counts["documents"].expected, counts["documents"].value) == (49514, 45)
        assert counts["nuggets_per_question"].value == 9 / 5
        assert counts["relevant_per_nugget"].value == 18 / 9
        assert counts["relevant_per_question"].value == (9 + 5) / 5
        assert not any(count.agrees for count in counts.values() if count.expected is not None)

    def test_a_shard_that_is_lost_on_the_way(self, server: Server) -> None:
        """What arrived before stays, and is not fetched again."""
        lost = "/datasets/freshstack/corpus-oct-2024/resolve/main/langchain/train-00001-of-00002.parquet"
        file = server.files.pop(lost)
        with pytest.raises(
            InputError, match=r"404.*\n.*rageval datasets import freshstack/langchain/oct-2024"
        ):
            fetch(FRESHSTACK)
        assert home.kept_paths(home.folder_of(FRESHSTACK), "documents") is None
        server.files[lost] = file
        before = len(server.asked)
        fetch(FRESHSTACK)
        assert len([path for path in server.paths()[before:] if path.startswith("/cdn/")]) == 1

    def test_conflicting_lists_count_as_in_freshstacks_loader(self, server: Server) -> None:
        row = samples.FRESHSTACK_QUERIES[0] | {
            "nuggets": [
                {"_id": "n", "text": "t", "relevant_corpus_ids": ["a", "b"], "non_relevant_corpus_ids": ["a"]}
            ]
        }
        name = "langchain/test-00000-of-00001.parquet"
        server.on_hub("freshstack/queries-jun-2025", name, samples.parquet([row]))
        qrels = list(load("freshstack/langchain/jun-2025").qrels())
        assert {qrel.doc_id: qrel.relevance for qrel in qrels} == {"a": 0, "b": 1}

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (b"PAR1 and then nothing", "is damaged or not a Parquet file"),
            (b"<html>sorry</html>", "found no valid JSON"),
            (
                samples.parquet([{"query_id": 1, "query_title": "t", "query_text": "t", "nuggets": 7}]),
                "nuggets",
            ),
        ],
    )
    def test_what_is_no_question(self, server: Server, content: bytes, expected: str) -> None:
        server.on_hub("freshstack/queries-jul-2025", "godot/test-00000-of-00001.parquet", content)
        for what in ("qrels", "nuggets"):
            with pytest.raises(InputError, match=expected):
                list(getattr(load("freshstack/godot/jul-2025"), what)())

    def test_a_listing_without_the_files(self, server: Server) -> None:
        server.files["/api/datasets/freshstack/queries-aug-2025/tree/main/godot"] = File(
            b'[{"type":"file","oid":"0","size":3,"path":"godot/readme.md"}]'
        )
        with pytest.raises(InputError, match=r"expected files test-\*\.parquet, found readme\.md"):
            list(load("freshstack/godot/aug-2025").qrels())
        server.files["/api/datasets/freshstack/queries-sep-2025/tree/main/godot"] = File(b"<html>")
        with pytest.raises(InputError, match="expected the hub's list of files"):
            list(load("freshstack/godot/sep-2025").qrels())

    def test_a_busy_hub_is_asked_again(self, server: Server) -> None:
        listing = server.files["/api/datasets/freshstack/queries-oct-2024/tree/main/langchain"]
        listing.refusals = [(429, {"Retry-After": "1"})]
        assert len(list(load(FRESHSTACK).questions())) == 5
        listing.refusals = [(503, {})] * 5
        fetched = len(server.asked)
        with pytest.raises(InputError, match=r"answers 503 \(2 times\)"):
            fetch(FRESHSTACK, ["questions"], again=True)
        assert len(server.asked) == fetched + 2
        assert len(list(load(FRESHSTACK).questions())) == 5

    @pytest.mark.slow
    def test_two_processes_download_once(self, server: Server) -> None:
        for path, file in server.files.items():
            if path.startswith("/cdn/"):
                file.pause, file.block = 0.04, 500
        words = [sys.executable, "-m", "rageval", "datasets", "fetch", FRESHSTACK]
        both = [
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in "12"
        ]
        ends = [(process.communicate(timeout=60), process.returncode) for process in both]
        assert [code for _, code in ends] == [0, 0], ends
        assert len([path for path in server.paths() if path.startswith("/cdn/")]) == 3
        assert len([path for path in server.paths() if path.startswith("/api/")]) == 2
        assert any("waiting for another process" in err for (_, err), _ in ends)

    @pytest.mark.slow
    def test_a_bomb_of_parquet(self, server: Server) -> None:
        """Rows of one text, which parquet keeps once, that swell to more than 200 times the file's size."""
        rows = [
            samples.FRESHSTACK_QUERIES[0] | {"query_id": str(number), "query_text": "x" * 10**6}
            for number in range(70)
        ]
        content = samples.parquet(rows, 70)
        assert len(content) < 200_000
        server.on_hub("freshstack/queries-feb-2025", "godot/test-00000-of-00001.parquet", content)
        with pytest.raises(InputError, match="a decompression bomb"):
            list(load("freshstack/godot/feb-2025").questions())


class TestCrag:
    def test_terms_come_first(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        put_crag(server, monkeypatch, samples.crag_bz2())
        with pytest.raises(UsageError, match=r"(?s)CC BY-NC|NonCommercial.*--accept-license"):
            list(load(CRAG).questions())
        assert server.asked == []
        assert len(list(load(CRAG, accept_license=True).questions())) == 5
        assert len(list(load(CRAG).questions())) == 5

    def test_questions_splits_and_facts(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        put_crag(server, monkeypatch, samples.crag_bz2())
        everything = list(load(CRAG, accept_license=True).questions())
        assert everything[1].gold == ("writer 1", "w. 1")
        assert dict(everything[1].facts)["question_type"] == "set"
        parts = [list(load(f"{CRAG}/split-{split}").questions()) for split in "01"]
        assert [question.query_id[-1] for question in parts[0]] == ["0", "2", "4"]
        assert sorted(parts[0] + parts[1]) == sorted(everything)
        assert len([path for path in server.paths() if "/media/" in path]) == 1

    def test_a_file_with_a_published_digest_is_fetched_again_if_asked(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put_crag(server, monkeypatch, samples.crag_bz2())
        fetch(CRAG, ["questions"], accept_license=True)
        assert len([path for path in server.paths() if "/media/" in path]) == 1
        fetch(CRAG, ["questions"], again=True)
        assert len([path for path in server.paths() if "/media/" in path]) == 2

    def test_pages(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        put_crag(server, monkeypatch, samples.crag_bz2())
        pages = list(load(CRAG, accept_license=True).documents())
        assert len(pages) == 10
        assert pages[3].doc_id == "00000000-0000-4000-8000-000000000001/1"
        assert (pages[3].text, pages[3].url) == ("<html>1 1</html>", "https://example.org/1/1")
        assert len(list(load(f"{CRAG}/split-1").documents())) == 4
        assert load(CRAG).document_store().get(pages[3].doc_id) == pages[3]

    def test_counts_by_domain_and_type(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        put_crag(server, monkeypatch, samples.crag_bz2())
        counts = {count.what: count for count in checked(load(CRAG, accept_license=True))}
        assert (counts["questions"].expected, counts["questions"].value) == (2706, 5)
        assert counts["domain music"].value == 2
        assert counts["question_type set"].value == 2
        assert counts["split 1"].value == 2

    @pytest.mark.parametrize("kept", [0.3, 0.9])
    def test_a_truncated_bz2(self, server: Server, monkeypatch: pytest.MonkeyPatch, kept: float) -> None:
        """The server has only a piece of it, and calls that the file."""
        content = samples.crag_bz2()
        put_crag(server, monkeypatch, content)
        for file in server.files.values():
            file.content = file.content[: int(len(content) * kept)]
        with pytest.raises(InputError, match="expected"):
            list(load(CRAG, accept_license=True).questions())
        assert home.kept_paths(home.folder_of(CRAG), "questions") is None

    def test_a_file_cut_short_on_disk(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        """It no longer counts as being there."""
        put_crag(server, monkeypatch, samples.crag_bz2())
        list(load(CRAG, accept_license=True).questions())
        path = home.folder_of(CRAG) / CRAG_FILE
        path.write_bytes(path.read_bytes()[:100])
        assert len(list(load(CRAG).questions())) == 5
        assert path.read_bytes() == samples.crag_bz2()

    @pytest.mark.parametrize("seed", range(3))
    def test_interrupted_at_random_bytes(
        self, server: Server, monkeypatch: pytest.MonkeyPatch, seed: int
    ) -> None:
        rng = random.Random(seed)
        content = samples.crag_bz2()
        file = put_crag(server, monkeypatch, content)
        file.cuts = [rng.randrange(1, len(content) // 4) for _ in range(3)]
        file.block = 50
        assert len(list(load(CRAG, accept_license=True).questions())) == 5
        assert len([path for path in server.paths() if "/media/" in path]) == 4

    def test_task_3_in_parts(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        """A tar.bz2 in parts; what its members say of where they belong does not matter."""
        members = {
            "../../escape.jsonl": samples.jsonl(samples.CRAG),
            "./._crag.jsonl": b"resource fork",
            "/etc/readme.txt": b"read me",
        }
        put_task_3(server, monkeypatch, samples.tar_bz2(members))
        dataset = load(TASK_3, accept_license=True)
        assert list(dataset.questions()) == list(read_questions_of(samples.CRAG))
        assert len(list(dataset.documents())) == 10
        assert not list(Path(os.environ["IR_DATASETS_HOME"]).parent.rglob("*escape*"))

    @pytest.mark.slow
    def test_a_bomb_in_task_3(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        put_task_3(server, monkeypatch, samples.tar_bz2({"crag.jsonl": b" " * 80_000_000}))
        with pytest.raises(InputError, match="a decompression bomb"):
            list(load(TASK_3, accept_license=True).questions())

    @pytest.mark.parametrize(
        ("archive", "expected"),
        [
            (samples.tar_bz2({"readme.txt": b"x"}), r"expected a file \*\.jsonl in the archive, found none"),
            (bz2.compress(b"no tar" * 1000), "is damaged or not a tar.bz2"),
            (samples.tar_bz2({"c.jsonl": samples.jsonl(samples.CRAG)})[:-30], "is truncated or damaged"),
            (b"BZh91AY&SY but no more than that", "is truncated or damaged"),
        ],
    )
    def test_what_is_no_archive(
        self, server: Server, monkeypatch: pytest.MonkeyPatch, archive: bytes, expected: str
    ) -> None:
        put_task_3(server, monkeypatch, archive)
        with pytest.raises(InputError, match=expected):
            list(load(TASK_3, accept_license=True).questions())


def read_questions_of(rows: list[dict[str, object]]) -> Iterator[object]:
    from rageval.files.jsonl import in_memory

    return read_questions(in_memory(rows, "rows"))


class TestLiveRag:
    @pytest.fixture(autouse=True)
    def _there(self, server: Server) -> None:
        name = "LiveRAG_banchmark_20250910.parquet"
        server.on_hub("LiveRAG/Benchmark", name, samples.parquet(samples.LIVERAG), listed=False)

    def test_questions(self) -> None:
        question = list(load("liverag/benchmark").questions())[1]
        assert (question.query_id, question.gold) == ("1", ("It is 1.",))
        facts = dict(question.facts)
        assert (facts["difficulty"], facts["mean_correctness"]) == ("1.0", "0.1")
        assert facts["answer-type-categorization"] == "factoid"
        assert question.documents[1] == ("<urn:uuid:00000000-1111-4222-8333-000000000001>", "Fact 1 is 1.")

    def test_claims_documents_and_judgements(self) -> None:
        dataset = load("liverag/benchmark")
        assert list(dataset.nuggets())[2:4] == [
            Nugget("1", "0", "Fact 1 exists.", group="direct"),
            Nugget("1", "1", "It is known.", group="useful"),
        ]
        assert [doc.text for doc in dataset.documents()] == ["Fact 0 is 0.", "Fact 1 is 1."]
        assert len(list(dataset.qrels())) == 7


def _asked_of(systems: Sequence[str], question: str, gold: str, right: Collection[str]) -> dict[str, object]:
    answers = {f"answer_{name}": f"It was {name}." for name in systems}
    verdicts = {f"judge_{name}": name in right for name in systems}
    return {"question": question, "golden_answer": gold, **answers, **verdicts, "improper": False}


EVOUNA = (
    _asked_of(_evouna.SYSTEMS, "Who was it?", "David Seville/Ross Bagdasarian", ("gpt4",)),
    {"question": "Bad?", "golden_answer": "x", "improper": True, "answer_fid": "x", "judge_fid": True},
    _asked_of(("fid",), "Where?", "Oslo", ("fid",)),
)


class TestEvouna:
    @pytest.fixture(autouse=True)
    def _there(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        content = json.dumps(EVOUNA).encode()
        catalog = samples.at_loopback(server, {"TQ.json": content})
        monkeypatch.setattr(catalogue, "benchmarks", lambda: catalog)
        (source,) = next(
            spec for spec_there in catalog for spec in spec_there.datasets if spec.id == "evouna/tq"
        ).files
        server.files[source.url.removeprefix(server.url)] = File(content)

    def test_questions_with_all_right_answers(self) -> None:
        questions = list(load("evouna/tq").questions())
        assert [(question.query_id, question.gold) for question in questions] == [
            ("0", ("David Seville", "Ross Bagdasarian")),
            ("2", ("Oslo",)),
        ]

    def test_what_people_said_of_which_answer(self) -> None:
        dataset = load("evouna/tq")
        labels = {(row["query_id"], row["run_id"]): row["label"] for row in dataset.judgements()}
        answers = {(response.query_id, response.run_id): response.text for response in dataset.responses()}
        assert labels.keys() == answers.keys()
        assert (len(labels), labels["0", "gpt4"], labels["0", "fid"]) == (6, "perfect", "incorrect")
        assert answers["2", "fid"] == "It was fid."
        assert {row["judge"] for row in dataset.judgements()} == {"person:evouna"}

    def test_parts_as_lines_that_judge_and_agree_read(self) -> None:
        dataset = load("evouna/tq")
        answers = [json.loads(line) for line in exported(dataset, "responses")]
        assert answers[0] == {"query_id": "0", "run_id": "fid", "answer": "It was fid."}
        assert json.loads(next(exported(dataset, "judgements")))["label"] == "incorrect"

    def test_another_file_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "TQ.json"
        path.write_text(json.dumps([{"question": "Who?", "golden_answer": ["a"]}]))
        with pytest.raises(InputError, match="expected EVOUNA questions"):
            list(_evouna.questions([Source(str(path))]))


class TestTrecRag:
    TOPICS = b"rag-1\tI wonder why leaves fall.\nrag-2\tAnd [where] they go?\n"
    QRELS = b"rag-1 0 msmarco_v2.1_doc_00_1#0_2 3\nrag-1 0 msmarco_v2.1_doc_00_1#1_2 0\n"

    @pytest.fixture(autouse=True)
    def _there(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        catalog = samples.at_loopback(server, {})
        monkeypatch.setattr(catalogue, "benchmarks", lambda: catalog)

    def test_topics_from_the_second_mirror_and_judgements(self, server: Server) -> None:
        server.files["/trec.nist.gov/data/rag/topics.rag24.test.txt"] = File(self.TOPICS)
        server.files["/trec.nist.gov/data/rag/2024-retrieval-qrels.txt"] = File(self.QRELS)
        dataset = load("trec-rag/2024")
        assert [question.query_id for question in dataset.questions()] == ["rag-1", "rag-2"]
        assert sorted(dataset.qrels())[0] == Qrel("rag-1", "msmarco_v2.1_doc_00_1#0_2", 3, "0")

    def test_passages_are_those_of_ir_datasets(self) -> None:
        with pytest.raises(InputError, match=r"'msmarco-segment-v2\.1', which ir_datasets .* does not have"):
            load("trec-rag/2024").documents()
        with pytest.raises(InputError, match="Scoring needs no documents"):
            load("trec-rag/2024").document_store()

    def test_passages_of_a_collection_that_is_registered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import ir_datasets
        from ir_datasets.formats import BaseDocs, GenericDoc

        class Segments(BaseDocs):
            def docs_iter(self) -> list[GenericDoc]:
                return [GenericDoc("msmarco_v2.1_doc_00_1#0_2", "Leaves fall.")]

            def docs_store(self) -> dict[str, GenericDoc]:
                return {doc.doc_id: doc for doc in self.docs_iter()}

        registered = {"msmarco-segment-v2.1": ir_datasets.Dataset(Segments())}
        monkeypatch.setattr(ir_datasets, "load", lambda name: registered[name])
        dataset = load("trec-rag/2024")
        assert [doc.text for doc in dataset.documents()] == ["Leaves fall."]
        assert dataset.document_store().get("msmarco_v2.1_doc_00_1#0_2").text == "Leaves fall."

    def test_2025_with_sub_narratives(self, server: Server) -> None:
        record = {
            "id": "14",
            "narrative": "A long one.",
            "sub_narratives": [{"text": "One?"}, {"text": "Two?"}],
        }
        name = "trec25_narratives_final_w_questions_w_sub_narratives_edit_20250822.json"
        server.files[f"/trec.nist.gov/data/rag/{name}"] = File(json.dumps([record], indent=2).encode())
        (question,) = load("trec-rag/2025/sub-narratives").questions()
        assert (question.query_id, question.text) == ("14", "A long one.")
        assert question.sub_narratives == ("One?", "Two?")

    def test_2026_nuggets_and_rubrics(self, server: Server) -> None:
        pinned = "82923fab027487719f3ee8b3e47af18382ceb54b/trec-rag-2026/development-data/"
        base = f"/raw.githubusercontent.com/TREC-RAG/trec-rag-data/{pinned}"
        nuggets = b'{"qid":"14","nuggets":[{"text":"t","mapped_sub_narrative":"s","importance":"vital"}]}\n'
        rubrics = b'{"qid":"r1","domain":"d","rubrics":[{"criterion":"c","weight":-2,"axis":"a"}]}\n'
        server.files[f"{base}rag25-dev-nuggets/rag25-dev-nuggets.jsonl"] = File(nuggets)
        server.files[f"{base}researchrubrics-dev-rubrics/research-rubrics-dev-rubrics.jsonl"] = File(rubrics)
        assert list(load("trec-rag/2026/rag25-dev").nuggets()) == [Nugget("14", "0", "t", "vital", group="s")]
        (criterion,) = load("trec-rag/2026/research-rubrics-dev").nuggets()
        assert (criterion.text, criterion.weight, criterion.group) == ("c", -2, "a")

    SUPPORT = (
        '{"topic_id": "rag-1", "run_id": "A.x", "sentences": [{"sentenceID": 0, "text": "One.", "citations":'
        ' [{"citationID": 0, "reference": "d1", "support": "2"}]}, {"sentenceID": 1, "text": "Two.",'
        ' "citations": []}, {"sentenceID": 2, "text": "Three.", "citations": [{"citationID": 0, "reference":'
        ' "d2", "support": "1"}, {"citationID": 1, "reference": "d3", "support": "-1"}]}, {"sentenceID": 3,'
        ' "text": "Four.", "citations": [{"citationID": 0, "reference": "d2", "support": "-1"}]}]}\n'
    )
    NUGGETS = (
        '{"qid": "rag-1", "query": "Why?", "run_id": "A.x", "response_length": 2, "answer_text": "One two.",'
        ' "nuggets": [{"text": "a", "importance": "vital", "assignment": "support"}, {"text": "b",'
        ' "importance": "vital", "assignment": "partial_support"}, {"text": "c", "importance": "okay",'
        ' "assignment": "not_support"}]}\n'
    )

    def test_labels_of_assessors_give_the_numbers_of_the_organizers(self, server: Server) -> None:
        (source,) = (
            file
            for benchmark in catalogue.benchmarks()
            for spec in benchmark.datasets
            for file in spec.files
            if spec.id == "trec-rag/2024/support" and file.role == "judgements"
        )
        server.files[source.url.removeprefix(server.url)] = File(self.SUPPORT.encode())
        server.files["/trec.nist.gov/data/rag/nugget_assignment.20241218.jsonl"] = File(self.NUGGETS.encode())
        # Of RAGDoll: first citations, those that nobody judged left out of both sums.
        names = ["citation_precision", "citation_recall", "citation_precision(credit=full)"]
        scores = rageval.evaluate_answers(names, "trec-rag/2024/support", compat="ragdoll")["A.x"]
        assert [score.value for score in scores.values()] == pytest.approx([1.5 / 2, 1.5 / 3, 1 / 2])
        # Of the nuggetizer: strict and not, of vital nuggets and of all.
        names = ["v_strict", "v", "a_strict", "a"]
        scores = rageval.evaluate_answers(names, "trec-rag/2024/nuggets")["A.x"]
        assert [score.value for score in scores.values()] == pytest.approx([1 / 2, 1.5 / 2, 1 / 3, 1.5 / 3])
        (answer,) = load("trec-rag/2024/nuggets").responses()
        assert (answer.query_id, answer.run_id, answer.text) == ("rag-1", "A.x", "One two.")

    def test_ids_stand_for_labels(self, server: Server) -> None:
        place = "/trec.nist.gov/data/rag/nugget_assignment.20241218.jsonl"
        server.files[place] = File(self.NUGGETS.encode())
        result = CliRunner().invoke(main, ["trec-rag/2024/nuggets", "-m", "v_strict"])
        assert result.stdout.split()[-1] == "0.5000", result.output
        result = CliRunner().invoke(main, ["trec-rag/2024/nuggets"])
        assert "so nugget_recall" in result.stderr
        agree = ["label", "agree", "trec-rag/2024/nuggets", "trec-rag/2024/nuggets", "--format", "json"]
        result = CliRunner().invoke(main, agree)
        assert "1.0" in result.stdout, result.output
        result = CliRunner().invoke(main, ["trec-rag/2026", "-m", "v_strict"])
        assert result.exit_code == 2
        assert "this dataset has no qrels" in result.stderr

    def test_what_a_data_set_has_not(self) -> None:
        with pytest.raises(InputError, match="trec-rag/2026: this dataset has no qrels; it has questions"):
            load("trec-rag/2026").qrels()


def test_no_address_names_a_branch() -> None:
    """What a branch holds changes, and moves; where a digest is known, this is noticed."""
    branches = re.compile("/(main|master|HEAD|refs/heads)/")
    named = [
        f"{spec.id}: {url}"
        for benchmark in catalogue.benchmarks()
        for spec in benchmark.datasets
        for source in spec.files
        for url in (source.url, *source.mirrors)
        if branches.search(url)
        and not source.sha256
        and spec.id != "liverag/benchmark"  # whose file has its date in its name
    ]
    assert not named, named


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_one_may_not_write_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="IR_DATASETS_HOME="):
        list(load(FRESHSTACK).qrels())


@pytest.mark.skipif("RAGEVAL_REAL_CRAG" not in os.environ, reason="RAGEVAL_REAL_CRAG names no file")
def test_the_real_crag() -> None:
    from rageval.datasets import import_files

    import_files(CRAG, [os.environ["RAGEVAL_REAL_CRAG"]])
    assert all(count.agrees for count in checked(load(CRAG)))


@pytest.mark.skipif(
    "RAGEVAL_REAL_FRESHSTACK" not in os.environ, reason="RAGEVAL_REAL_FRESHSTACK is no folder"
)
@pytest.mark.parametrize("topic", ["langchain", "yolo", "laravel", "angular", "godot"])
def test_the_real_freshstack(topic: str) -> None:
    """A folder with a folder for each topic, holding the files of both repositories."""
    from rageval.datasets import import_files

    dataset = f"freshstack/{topic}/oct-2024"
    import_files(dataset, [os.environ["RAGEVAL_REAL_FRESHSTACK"]])
    assert all(count.agrees for count in checked(load(dataset)))
