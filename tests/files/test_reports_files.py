"""Reports: every way to cite, names of topics, passages; written back whole and in other forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rageval
from rageval.checking import diagnose, validate
from rageval.core.remark import Remark
from rageval.errors import InputError, UsageError
from rageval.files.answers import Report, read_answers, read_reports, write_reports
from rageval.judges.material import gathered, tasks
from rageval.judges.rubric import rubric_named
from rageval.records import Answer, Sentence
from test_answers_files import stream

GOLDEN = Path(__file__).parents[1] / "golden/trec/reports"
RUNS = [path.name for path in sorted(GOLDEN.glob("*.jsonl")) if "topics" not in path.name]


def report(*citations: Any, **changes: Any) -> dict[str, Any]:
    metadata = {"team_id": "us", "run_id": "r", "topic_id": "7"}
    sentences = [{"text": f"S{index}.", "citations": cited} for index, cited in enumerate(citations)]
    return {"metadata": metadata, "responses": sentences} | changes


def cited(*citations: Any, **changes: Any) -> list[tuple[str | None, ...]]:
    (answer,) = read_answers(stream(report(*citations, **changes)))
    return [sentence.citations for sentence in answer.sentences]


def refused(*records: Any) -> str:
    with pytest.raises(InputError) as error:
        list(read_answers(stream(*records)))
    return str(error.value)


@pytest.mark.parametrize("name", RUNS)
def test_published_files_are_written_back_with_every_key(name: str) -> None:
    reports = list(read_reports(GOLDEN / name))
    lines = list(write_reports(reports))
    want = [json.dumps(json.loads(line)) for line in (GOLDEN / name).read_text().splitlines()]
    assert [json.dumps(json.loads(line)) for line in lines] == want  # the order of keys, too
    assert list(read_reports(stream(*map(str.encode, lines)))) == reports


@pytest.mark.parametrize("name", [name for name in RUNS if name != "invalid.jsonl"])
def test_published_files_are_known_and_scored(name: str) -> None:
    assert not diagnose(GOLDEN / name)
    answers = list(read_answers(GOLDEN / name))
    assert answers == [record.answer for record in read_reports(GOLDEN / name)]
    for answer in answers:
        assert {doc for sentence in answer.sentences for doc in sentence.citations} <= {*answer.references}
    judged = [
        {"query_id": answer.query_id, "run_id": answer.run_id, "label": "perfect"} for answer in answers
    ]
    assert rageval.evaluate_answers("crag_score", judged, answers=[GOLDEN / name])


def test_the_three_ways_to_cite() -> None:
    assert cited(["b", "a"], ["a"]) == [("b", "a"), ("a",)]
    assert cited({"a": 0.5, "b": 70, "c": 0.5, "d": 1e300}, {}) == [("d", "b", "a", "c"), ()]
    assert cited([1, 0], [2], [-1], references=["a", "b"]) == [("b", "a"), (None,), (None,)]
    assert cited(["x"], None, references=["a"]) == [("x",), ()]  # as the shared validator takes it


@pytest.mark.parametrize("other", [[0], {"a": 1}])
def test_a_file_cites_in_one_way(other: Any) -> None:
    second = report(other) | {"metadata": {"run_id": "r", "topic_id": "8"}}
    message = refused(report(["a"]), report([], {}) | {"metadata": {"run_id": "s", "topic_id": 7}}, second)
    assert message.startswith("file.jsonl:3: expected reports")
    assert "the lines before by id; use one of them in a file" in message
    list(read_answers(stream(second)))  # nothing is remembered from one file to the next


def test_a_topic_of_several_names_is_one() -> None:
    for key in ("topic_id", "narrative_id", "request_id"):
        for topic in (7, "7"):
            (answer,) = read_answers(stream(report(metadata={"run_id": "r", key: topic})))
            assert answer.query_id == "7"
    agreeing = report(metadata={"topic_id": "7", "request_id": 7})
    assert [answer.query_id for answer in read_answers(stream(agreeing))] == ["7"]
    message = refused(report(metadata={"topic_id": "7", "request_id": "8"}))
    assert "expected one topic in `metadata`, found topic_id '7' and request_id '8'" in message
    rag25 = {"metadata": {"run_id": "r", "narrative_id": 7, "topic_id": "7"}, "references": [], "answer": []}
    assert [answer.query_id for answer in read_answers(stream(rag25))] == ["7"]
    for desc in ({}, {"run_desc": "d"}):
        two = rag25 | {"metadata": {"run_id": "r", "narrative_id": 7, "topic_id": 8, **desc}}
        assert "expected one topic in `metadata`, found topic_id '8' and narrative_id '7'" in refused(two)
    assert "expected one of topic_id, narrative_id, request_id" in refused(report(metadata={"run_id": "r"}))


def test_documents_are_passages_that_a_judge_is_shown() -> None:
    documents = {
        "d1": {"id": "d1", "text": "Rain falls.", "title": "Rain", "url": "u"},
        "d2": {"text": "Dry."},
    }
    (answer,) = read_answers(stream(report(["d1"], documents=documents)))
    assert answer.passages == (("d1", "Rain\nRain falls."), ("d2", "Dry."))
    judging_tasks = tasks(
        rubric_named("citation-support"), gathered([stream(report(["d1"], documents=documents))])
    )
    assert [task.data for task in judging_tasks] == [{"sentence": "S0.", "passage": "Rain\nRain falls."}]
    rag25 = {"metadata": {"run_id": "r", "narrative_id": 7}, "references": [], "answer": []}
    (answer,) = read_answers(stream(rag25 | {"documents": documents}))
    assert answer.passages[1] == ("d2", "Dry.")


def test_a_record_with_references_and_answer_stays_of_trec_rag() -> None:
    rag25 = {"metadata": {"run_id": "r", "narrative_id": 7}, "references": ["a"], "answer": []}
    assert [record.form for record in read_reports(stream(rag25))] == ["rag25"]
    rag26 = rag25 | {"metadata": {"run_id": "r", "narrative_id": 7, "run_desc": ""}}
    assert [record.form for record in read_reports(stream(rag26))] == ["rag26"]
    kit = {"metadata": {"run_id": "r", "topic_id": 7}, "answer": [{"text": "x", "citations": ["a"]}]}
    assert [record.form for record in read_reports(stream(kit))] == ["report"]
    assert "not in both" in refused(report(["a"], answer=[]))


def test_other_forms_and_back_lose_nothing_of_ids() -> None:
    own = report(["b", "a"], [], references=["a", "b"], documents={"a": {"text": "A"}}, own={"x": [1]})
    own["metadata"]["task"] = "english"
    (there,) = read_reports(stream(*map(str.encode, write_reports([Report(own, "report")], "rag25"))))
    assert there.form == "rag25"
    assert there.answer == Report(own, "report").answer
    (line,) = write_reports([there], "report")
    assert json.loads(line) == own


def test_what_another_form_cannot_say_is_said() -> None:
    remarks: list[Remark] = []
    with_numbers = Report(report({"a": 1, "b": 2}), "report")
    (line,) = write_reports([with_numbers], "rag26", remarks)
    assert json.loads(line)["answer"][0]["citations"] == ["b", "a"]
    assert json.loads(line)["references"] == ["b", "a"]
    assert [*map(str, remarks)] == ["1 report written as rag26 loses the confidences of citations"]
    rag26 = {
        "metadata": {"run_id": "r", "narrative_id": 7, "run_desc": "BM25"},
        "references": ["a"],
        "answer": [{"text": "x", "citations": [0, 5]}],
    }
    with pytest.warns(UserWarning, match="loses citations without a reference"):
        (line,) = write_reports([Report(rag26, "rag26")], "report")
    assert json.loads(line)["metadata"] == {"run_id": "r", "run_desc": "BM25", "topic_id": "7"}
    assert json.loads(line)["responses"] == [{"text": "x", "citations": ["a"]}]
    with pytest.warns(UserWarning, match="loses `run_desc`"):
        (line,) = write_reports([Report(rag26, "rag26")], "rag25")
    assert json.loads(line)["answer"] == rag26["answer"]
    with pytest.raises(UsageError, match="expected one of report, rag26, rag25"):
        list(write_reports([], "liverag"))
    with pytest.raises(InputError, match="expected one topic"):
        list(write_reports([Report(report(metadata={"topic_id": 1, "qa_id": 2}), "report")], "rag25"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (report({"a": "0.5"}), "expected `float | null`, got `str` in responses[0].citations[...]"),
        (report({"a": True}), "expected `float | null`, got `bool`"),
        (json.dumps(report({"a": 1})).replace("1}", "NaN}").encode(), "confidence of 'a', found none"),
        (json.dumps(report({"a": 1})).replace("1}", "Infinity}").encode(), "found Infinity in responses"),
        (json.dumps(report({"a": 1})).replace("1}", "1e999}").encode(), "out of range"),
        (json.dumps(report({"a": 1})).replace("1}", "1" + "0" * 400 + "}").encode(), "out of range"),
        (json.dumps(report({"a": 1})).replace('"a": 1', '"a": 1, "a": 2').encode(), "'a' appears twice"),
        (report({"": 1}), "`citations`, found nothing"),
        (report(["a", 0]), "cites by position and by id"),
        (report([None]), "got `null` in responses[0].citations[0]"),
        (report(metadata={"topic_id": "7\t8"}), "without control characters"),
        (b'{"metadata": {"topic_id": "7"}, "responses": ' + b"[" * 9999, "nested too deeply"),
    ],
)  # fmt: skip
def test_bad_reports_are_explained(line: Any, message: str) -> None:
    assert message in refused(line)


@pytest.mark.slow
def test_very_many_citations() -> None:
    many = {f"d{index}": index % 7 for index in range(10**5)}
    line = report(many, references=[])
    (answer,) = read_answers(stream(line))
    assert answer.sentences[0].citations[:2] == ("d6", "d13")
    assert len(answer.references) == 10**5
    (finding,) = validate(stream(line), "report")
    assert "cites 'd0', which is not among the references; nor are 99,999 more" in finding.message


@given(st.permutations(range(3)), st.permutations("abc"), st.lists(st.integers(0, 2), min_size=3, max_size=3))
@settings(max_examples=20)
def test_order_of_keys_breaks_ties_and_nothing_else(lines: Any, order: Any, numbers: list[int]) -> None:
    by_id = dict(zip("abc", numbers, strict=True))
    records = [
        report({key: by_id[key] for key in order}, metadata={"topic_id": str(index)}) for index in range(3)
    ]
    answers = {
        answer.query_id: answer for answer in read_answers(stream(*(records[index] for index in lines)))
    }
    want = tuple(sorted(order, key=lambda key: -by_id[key]))
    assert {answer.sentences[0].citations for answer in answers.values()} == {want}
    assert answers["0"] == Answer("0", "file.jsonl", (Sentence("S0.", want),), want)
