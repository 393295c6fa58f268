"""CoverageBench, RAGTIME, DRAGUN and MedAESQA: files of their forms, redrawn, imported, counted, scored."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rageval.datasets import import_files, load, register
from rageval.datasets.catalogue import all_datasets, find_listed
from rageval.datasets.exports import checked
from rageval.errors import InputError, UsageError
from rageval.records import Nugget, Qrel
from test_bad_input import assert_refused, command

CAST = "coveragebench/cast2020"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def written(name: str, content: object) -> Path:
    path = Path(name)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def put_cast(topics: int = 25) -> None:
    """As CoverageBench has them: topics with lists of texts, nuggets in three fields, the nugget in qrels."""
    rows = [
        {"topic_id": f"{number}_1", "query": f"topic {number}?", "nuggets": ["a", "b"]}
        for number in range(topics)
    ]
    lines = [f"{number}_1 {num} a fact, and\ta tab\n" for number in range(topics) for num in (1, 2)]
    judged = [
        f"{number}_1 {num} MARCO_{number}{num} {num - 1}\n" for number in range(topics) for num in (1, 2)
    ]
    import_files(CAST, [written("t.jsonl", "\n".join(map(json.dumps, rows)))], role="questions")
    import_files(CAST, [written("n.tsv", "".join(lines))], role="nuggets")
    import_files(CAST, [written("q", "".join(judged))], role="qrels")


def counts(dataset: str) -> dict[str, tuple[float | None, float]]:
    return {count.what: (count.expected, count.value) for count in checked(load(dataset))}


def test_every_collection_is_listed_with_its_topics() -> None:
    ids = {spec.id: spec.expected for benchmark, spec in all_datasets() if benchmark.name == "coveragebench"}
    assert len(ids) == 7
    assert sum(expected["questions"] for expected in ids.values()) == 334
    assert find_listed("trec-dragun/2025")[1].expected == {
        "questions": 30,
        "nuggets": 236,
        "nugget_answers": 551,
        "labels": 14326,
    }


def test_coverage_is_judged_by_nugget_and_scored_so() -> None:
    put_cast()
    dataset = load(CAST)
    assert next(dataset.questions()).text == "topic 0?"
    assert next(dataset.nuggets()) == Nugget("0_1", "1", "a fact, and\ta tab")
    assert sorted(dataset.qrels())[1] == Qrel("0_1", "MARCO_02", 1, "2")
    assert counts(CAST)["questions"] == (25, 25)
    assert command("datasets", "check", CAST).code == 0
    run = written("run", "".join(f"{number}_1 Q0 MARCO_{number}2 1 1 t\n" for number in range(25)))
    assert command(run, CAST, "-m", "coverage@20", "--format", "trec").out.split()[-1] == "0.5000"


def test_too_few_topics_differ_from_what_is_expected() -> None:
    put_cast(24)
    result = command("datasets", "check", CAST)
    assert result.code == 1
    assert re.search(r"^questions +25 +24 +differs$", result.out, re.MULTILINE)


def test_ragtime_requests_and_banks() -> None:
    requests = [
        {
            "topic_id": str(number),
            "title": f"T {number}",
            "background": "b",
            "problem_statement": "p",
            "limit": 2000,
        }
        for number in (301, 303)
    ]
    banks = [
        {
            "format_version": "v3",
            "query_id": str(number),
            "title_query": "T",
            "nugget_bank": {
                "Who?": {
                    "question": "Who?",
                    "query_id": str(number),
                    "question_id": "x",
                    "answers": {"A": {"answer": "A", "references": [{"doc_id": "d1"}]}},
                }
            },
        }
        for number in (301, 303)
    ]
    name = "trec-ragtime/2025"
    import_files(name, [written("ragtime25_main_eng.jsonl", "\n".join(map(json.dumps, requests)))])
    import_files(name, [written("2025.mlir.qrels", "301 0 d1 1\n303 0 d2 0\n")])
    import_files(name, [written("banks.jsonl", "\n".join(map(json.dumps, banks)))], role="nuggets")
    question = next(load(name).questions())
    assert (question.query_id, question.text) == ("301", "T 301")
    assert dict(question.facts)["problem_statement"] == "p"
    numbers = counts(name)
    assert numbers["questions_with_nuggets"] == (34, 2)
    assert numbers["nuggets"] == (1086, 2)
    assert numbers["nugget_answers"] == (None, 2)


def test_dragun_articles_rubrics_and_labels() -> None:
    topic = "msmarco_v2.1_doc_00_10"
    rubric = {
        "topic_id": topic,
        "rubrics": [
            {
                "question_id": f"{topic}-1",
                "question": "Who owns it?",
                "importance": "A: Have to Know",
                "short_answers": [{"answer_id": f"{topic}-1-{n}", "answer": "x"} for n in (1, 2)],
            }
        ],
    }
    name = "trec-dragun/2025"
    article = {"docid": topic, "title": "News", "url": "u", "body": "long"}
    import_files(name, [written("trec-2025-dragun-topics.jsonl", article)])
    import_files(name, [written("rubrics.json", rubric)], role="nuggets")
    rows = [f"{topic},{run},{topic}-1-1,{label}" for run, label in (("r", "supports"), ("s", "none"))]
    labels = "\n".join(["topic_id,run_tag,answer_id,auto_assessment", *rows, ""])
    import_files(name, [written("auto_report_assessments.csv", labels)])
    assert next(load(name).questions()).text == "News"
    numbers = counts(name)
    assert (numbers["nuggets"], numbers["nugget_answers"], numbers["labels"]) == (
        (236, 1),
        (551, 2),
        (14326, 2),
    )
    assert next(load(name).judgements())["auto_assessment"] == "supports"
    with pytest.raises(InputError, match="expected columns topic_id"):
        import_files(name, [written("other.csv", "a,b\n1,2\n")], role="judgements")


def test_medaesqa_has_questions_and_judgements_in_one_file() -> None:
    answer = {"is_answer_accurate": "yes", "answer_sentences": []}
    rows = [
        {
            "question_id": number,
            "question": f"Q {number}?",
            "machine_generated_answers": {"M1": answer, "M2": answer},
        }
        for number in (1, 2)
    ]
    import_files("medaesqa", [written("medaesqa_v1.json", rows)], role="judgements")
    assert [question.text for question in load("medaesqa").questions()] == ["Q 1?", "Q 2?"]
    assert counts("medaesqa")["labels"] == (1200, 4)
    assert [row["system"] for row in load("medaesqa").judgements()] == ["M1", "M2", "M1", "M2"]
    broken = [{"question_id": 1, "machine_generated_answers": {"M1": 5}}]
    with pytest.raises(InputError, match="expected an object for M1"):
        import_files("medaesqa", [written("broken.json", broken)], role="judgements")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("q1 1\n", "n.tsv:1: expected 'qid num text'"),
        ("q1 1 a\nq1 1 b\n", "n.tsv:2: a second nugget 1 of q1"),
    ],
)
def test_bad_nuggets_are_not_taken(lines: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_files(CAST, [written("n.tsv", lines)], role="nuggets")
    assert command("datasets", "export", CAST, "nuggets").code == 2


def test_what_nobody_could_look_at_is_said_and_not_fetched() -> None:
    assert_refused(command("datasets", "fetch", CAST), f"rageval datasets import {CAST} PATH --as questions")
    shown = command("datasets", "show", CAST).out
    assert "note       what its files are called on the hub, and their sizes, was not seen" in shown
    assert f"qrels      rageval datasets import {CAST} PATH --as qrels" in shown
    Path("folder").mkdir()
    with pytest.raises(InputError, match=r"the file names of .* are not known"):
        import_files(CAST, ["folder"])
    with pytest.raises(UsageError, match="which part of"):
        import_files(CAST, [written("x", "a")])


class TestBesideIrDatasets:
    def test_register_never_overwrites(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import ir_datasets

        theirs = ir_datasets.Dataset()
        there = {**ir_datasets.registry._registered, "medaesqa": theirs}
        monkeypatch.setattr(ir_datasets.registry, "_registered", there)
        assert "medaesqa" in register()
        assert ir_datasets.registry["medaesqa"] is theirs
        put_cast()
        ours = ir_datasets.load(CAST)
        assert next(iter(ours.qrels_iter()))[:4] == ("0_1", "MARCO_01", 0, "1")
        assert next(iter(ours.queries_iter())).text == "topic 0?"
        assert "also       medaesqa, of ir_datasets\n" in command("datasets", "show", "medaesqa").out

    @pytest.mark.parametrize(("text", "grade", "code"), [("one", 1, 0), ("another", 1, 1), ("one", 2, 1)])
    def test_check_compares_topics_and_judgements(
        self, monkeypatch: pytest.MonkeyPatch, text: str, grade: int, code: int
    ) -> None:
        import ir_datasets
        from ir_datasets.formats import BaseQrels, BaseQueries, GenericQuery, TrecQrel

        class Queries(BaseQueries):
            def queries_iter(self) -> list[GenericQuery]:
                return [GenericQuery("1", text)]

            def queries_cls(self) -> type[GenericQuery]:
                return GenericQuery

        class Qrels(BaseQrels):
            def qrels_iter(self) -> list[TrecQrel]:
                return [TrecQrel("1", "d", grade, "0")]

            def qrels_cls(self) -> type[TrecQrel]:
                return TrecQrel

        name, other = "trec-rag/2025", "msmarco-segment-v2.1/trec-rag-2025"
        import_files(name, [written("trec_rag_2025_queries.jsonl", {"id": "1", "title": "one"})])
        import_files(name, [written("2025-rag-qrels.txt", "1 0 d 1\n")])
        result = command("datasets", "check", name)
        assert f"{other}: not compared" in result.out
        there = {**ir_datasets.registry._registered, other: ir_datasets.Dataset(Queries(), Qrels())}
        monkeypatch.setattr(ir_datasets.registry, "_registered", there)
        result = command("datasets", "check", name)
        rows = [line.split() for line in result.out.splitlines() if f"as in {other}" in line]
        same = [row[4:] for row in rows]
        assert (same == [["1", "1"], ["1", "1"]]) == (code == 0)
        assert sum("differs" in row for row in rows) == code
        assert f"also       {other}, of ir_datasets\n" in command("datasets", "show", name).out
