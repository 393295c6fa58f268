"""Files of questions: plain, of benchmarks and of tracks."""

from __future__ import annotations

import bz2
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from rageval.errors import InputError
from rageval.files.kinds import kind_of
from rageval.files.opening import BOM
from rageval.files.questions import read_questions
from rageval.records import Question
from test_answers_files import stream

CRAG = {"interaction_id": "i", "query": "q?", "answer": "a", "search_results": [{"page_result": "<html>"}]}
LIVE = {"Index": 3, "Question": "q?", "Answer": "a"}
FRESH = {"query_id": "77", "query_title": "Title", "query_text": "text", "answer_text": "a", "nuggets": []}


def read(*records: Any) -> list[Question]:
    return list(read_questions(stream(*records)))


def refused(*records: Any) -> str:
    with pytest.raises(InputError) as error:
        read(*records)
    return str(error.value)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"id": 1, "question": "q?"}, Question("1", "q?")),
        ({"id": "r1", "title": "a narrative"}, Question("r1", "a narrative")),
        ({"query_id": 1, "question": "q?"}, Question("1", "q?")),
        ({"query_id": "1", "question": "q?", "answer": "a"}, Question("1", "q?", ("a",))),
        ({"query_id": "1", "question": "q?", "answer": ["a", 2]}, Question("1", "q?", ("a", "2"))),
        ({"query_id": "1", "question": "q?", "answer": None}, Question("1", "q?")),
        (FRESH, Question("77", "Title text", ("a",))),
        (LIVE, Question("3", "q?", ("a",))),
        (CRAG, Question("i", "q?", ("a",))),
    ],
)
def test_every_format_gives_the_same_question(record: dict[str, Any], expected: Question) -> None:
    assert read(record) == [expected]


@pytest.mark.parametrize(
    "config",
    [
        {"question": {"premise": "direct"}, "user": {"expertise": "novice"}},
        '{"premise": "direct", "expertise": "novice"}',
        {
            "question_categories": [{"categorization_name": "premise", "category_name": "direct"}],
            "user": [{"expertise": "novice"}],
        },
    ],
)
def test_facts_of_the_liverag_benchmark(config: Any) -> None:
    record = LIVE | {"Supporting_Documents": [{"doc_id": "<u>"}, {}], "Session": "Both", "ACS": -0.5}
    record |= {"IRT-diff": 4.25, "IRT-disc": 1.5}
    record |= {"DataMorgana_Config": config, "Answer_Claims": {"direct": ["x"]}}
    expected = {
        "premise": "direct",
        "expertise": "novice",
        "session": "Both",
        "documents": "2",
        "mean_correctness": "-0.5",
        "difficulty": "4.25",  # the higher, the harder
        "discrimination": "1.5",
    }
    assert dict(read(record)[0].facts) == expected
    del record["ACS"], record["IRT-diff"]
    record |= {
        "ACS [-2 : 1]": -0.5,
        "IRT-diff [-6 : 6]": 4.25,
        "Supporting_Documents": [{"doc_id": "<u>", "content": "text"}, {}],
    }
    (question,) = read(record)
    assert dict(question.facts) == expected
    assert question.documents == (("<u>", "text"),)


@pytest.mark.parametrize("key", ["request_id", "topic_id", "id"])
def test_topics_of_tracks_have_a_request_behind_the_title(key: str) -> None:
    topic = {key: 7, "title": "T", "background": "B", "problem_statement": "P", "original_background": "O"}
    topic |= {"limit": 2000, "word_limit": 250, "collection_ids": ["c"]}
    facts = (("limit", "2000"), ("word_limit", "250"))
    assert read(topic) == [Question("7", "T", (), facts, request="B\nP")]
    assert read(topic | {"background": None})[0].request == "P"
    assert read({key: "7", "title": "T"})[0] == Question("7", "T")
    assert "expected one id of the topic, found" in refused(topic | {"topic_id": "7", "id": "8"})
    assert "missing required field `title`" in refused({"id": 1, "title": "T"}, {"id": 2})


NARRATIVE = {"id": "213", "narrative": "I want to know why.", "sub_narratives": ["Since when?", "How?"]}


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_a_list_of_questions_is_read_and_its_lines_are_told(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "narratives.json"
    records = [NARRATIVE, NARRATIVE | {"id": "214"}]
    path.write_bytes(BOM + json.dumps(records, indent=indent).encode())
    assert [question.query_id for question in read_questions(path)] == ["213", "214"]
    assert kind_of(path).name == "questions"  # type: ignore[union-attr]
    text = json.dumps([*records, {"id": "215", "narrative": 3}], indent=indent)
    path.write_text(text)
    line = text[: text.index('{"id": "215"' if indent is None else '"215"')].count("\n")
    with pytest.raises(InputError, match=f"narratives.json:{3 if indent is None else line}: expected TREC"):
        list(read_questions(path))
    path.write_text(text[:-1])
    with pytest.raises(InputError, match=r"narratives.json:1: expected a list of questions, found no valid"):
        list(read_questions(path))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"7 no tab", "expected 2 columns separated by a tab, found 1"),
        (b"7\ta\tb", "found 3"),
        (b"7\t ", "expected 2 columns, found nothing in one"),
        (b"\ttext", "found nothing in one"),
        (b"7\ta\x00", "byte 4 is the control byte 0x00"),
        (b"7\t\xe9", "byte 3 is 0xe9, which is not UTF-8"),
        (b"x" * 1025 + b"\tb", "expected an id of 1 to 1,024 bytes in `id`, found 1,025 characters"),
        (b"7\t" + b"x" * 2**20, "a line of more than 1,048,576 bytes"),
        (b"1\tagain", "a second question 1, the first is in line 1"),
    ],
)
def test_bad_topics_are_refused_with_their_line(line: bytes, message: str) -> None:
    error = refused(b"1\tgood", b"", line)
    assert error.startswith("file.jsonl:3: ")
    assert message in error


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        (
            CRAG,
            b"{",
            "expected CRAG questions {interaction_id, query, answer, alt_ans, …}, found no valid JSON",
        ),
        (CRAG, {"interaction_id": 1, "query": "q"}, "missing required field `answer`"),
        (CRAG, CRAG | {"alt_ans": "b"}, "expected `array`, got `str` in alt_ans"),
        (CRAG, CRAG | {"alternative_answers": "[b]"}, "expected a list in JSON in alternative_answers"),
        (CRAG, CRAG, "a second question i, the first is in line 1"),
        (CRAG, LIVE, "found LiveRAG benchmark questions; put each format in its own file"),
        (LIVE, LIVE | {"Index": None}, "got `null` in Index"),
        (LIVE, LIVE | {"DataMorgana_Config": "{"}, "expected an object in JSON in DataMorgana_Config"),
        (
            {"id": 1, "question": "q"},
            {"id": 2, "title": "q"},
            "expected LiveRAG questions as in the lines before",
        ),
        ({"query_id": 1, "question": "q"}, {"query_id": 2}, "missing required field `question`"),
        (
            {"query_id": 1, "question": "q"},
            {"query_id": 2, "question": 3},
            "expected `str`, got `int` in question",
        ),
        ({"query_id": 1, "question": "q"}, {"query_id": [], "question": ""}, "got `array` in query_id"),
        (
            {"query_id": 1, "question": "q"},
            {"query_id": 2, "question": "", "answer": {}},
            "got `object` in answer",
        ),
        ({"query_id": 1, "question": "q"}, b'{"query_id": 2, "question": "\xe9"}', "which is not UTF-8"),
        (
            {"query_id": 1, "question": "q"},
            b'{"query_id": 2, "question": "", "x": "\xe9"}',
            "which is not UTF-8",
        ),
        ({"query_id": 1, "question": "q"}, b'[{"query_id": 2}]', "expected `object`, got `array`"),
    ],
)
def test_bad_lines_are_refused_with_their_number(good: Any, bad: Any, message: str) -> None:
    error = refused(good, b"", bad)
    assert error.startswith("file.jsonl:3: ")
    assert message in error


@pytest.mark.nightly
def test_a_large_file_of_crag_needs_little_memory(tmp_path: Path) -> None:
    page = {"page_result": random.Random(7).randbytes(150_000).hex()}  # as large as in the real file
    pages = bz2.compress(b', "search_results": ' + json.dumps([page] * 3).encode() + b"}\n")
    with (tmp_path / "crag.jsonl.bz2").open("wb") as stream:
        for index in range(30):
            start = json.dumps({"interaction_id": index, "query": "q", "answer": "a"})
            stream.write(bz2.compress(start.removesuffix("}").encode()) + pages)
    tracemalloc.start()
    count = sum(1 for _ in read_questions(tmp_path / "crag.jsonl.bz2"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 30
    assert peak < 9 * 2**20  # of 27 MB


@pytest.mark.parametrize("later", [{"title": "fall"}, {"request_id": None, "title": "fall"}])
def test_a_later_topic_without_an_id_is_told(later: dict[str, Any]) -> None:
    with pytest.raises(
        InputError, match=r":2: .*expected the id of a topic, one of request_id, topic_id, id"
    ):
        read({"request_id": "a", "title": "spring"}, later)
