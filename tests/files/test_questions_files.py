"""Files of questions: plain, of benchmarks and of tracks."""

from __future__ import annotations

import bz2
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval.errors import InputError
from rageval.files.kinds import kind_of
from rageval.files.opening import BOM
from rageval.files.questions import read_questions, write_questions
from rageval.judges.material import Material, _answer_data
from rageval.records import Answer, Question
from test_answers_files import IDS, TEXTS, stream

SAMPLES = Path(__file__).parents[2] / "examples/data/answers"
KIDDIE = Path(__file__).parents[1] / "golden/trec/reports/kiddie.topics.jsonl"
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


def test_what_else_a_plain_record_says_in_a_word_is_a_fact() -> None:
    line = b'{"query_id": 1, "hops": 2, "question": "q?", "share": 1.50, "hard": true, "topic": "a \\"b\\"",'
    line += b' "list": [1], "object": {"a": 1}, "none": null, "essay": "' + b"x" * 1025 + b'"}'
    (question,) = read(line)
    assert len(read({"query_id": 1, "question": "q?", "essay": "x" * 1024})[0].facts) == 1
    assert question.facts == (("hops", "2"), ("share", "1.50"), ("hard", "true"), ("topic", 'a "b"'))


@given(
    st.lists(st.tuples(IDS, TEXTS, st.lists(TEXTS, max_size=3), st.dictionaries(TEXTS, TEXTS)), min_size=1)
)
def test_plain_questions_come_back(drawn: list[Any]) -> None:
    expected = [
        Question(f"{index}{name}", text, tuple(gold), tuple(facts.items()))
        for index, (name, text, gold, facts) in enumerate(drawn)
        if not {"query_id", "question", "answer"} & set(facts)
    ]
    lines = [
        {"query_id": question.query_id, "question": question.text, "answer": list(question.gold)}
        | dict(question.facts)
        for question in expected
    ]
    assert not lines or read(*lines) == expected


@pytest.mark.parametrize(
    "more",
    [
        {"alt_ans": ["b", "c", "a"]},
        {"alternative_answers": '["b", "c"]'},
        {"alternative_answers": ["b", "c"]},
        {"alt_ans": ["b"], "alternative_answers": '["c", "b"]'},
    ],
)
def test_alternatives_of_crag(more: dict[str, Any]) -> None:
    assert read(CRAG | more)[0].gold == ("a", "b", "c")


def test_facts_of_crag() -> None:
    facts = {"domain": "music", "question_type": "set", "static_or_dynamic": "static", "popularity": "head"}
    facts |= {"split": 1, "query_time": "03/10/2024, 23:19:21 PT"}
    assert dict(read(CRAG | facts)[0].facts) == {key: str(value) for key, value in facts.items()}
    assert read(CRAG | {"popularity": None})[0].facts == ()
    assert read(CRAG | {"answer": 4})[0].gold == ("4",)


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
    record |= {"DataMorgana_Config": config, "Answer_Claims": {"direct": ["x"]}}
    expected = {
        "premise": "direct",
        "expertise": "novice",
        "session": "Both",
        "documents": "2",
        "difficulty": "-0.5",
    }
    assert dict(read(record)[0].facts) == expected
    del record["ACS"]
    record |= {"ACS [-2 : 1]": -0.5, "Supporting_Documents": [{"doc_id": "<u>", "content": "text"}, {}]}
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


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"sub_narratives": [{"text": "Since when?", "importance": "vital"}, {"text": " "}, "How?"]},
        {"narrative_id": 213},
        {"title": "T", "question": "Why?"},
    ],
)
def test_narratives_have_smaller_needs_in_them(more: dict[str, Any]) -> None:
    facts = tuple((name, text) for name, text in more.items() if name in ("title", "question"))
    expected = Question("213", "I want to know why.", (), facts, sub_narratives=("Since when?", "How?"))
    assert read(NARRATIVE | more) == [expected]
    plain = expected._replace(facts=())
    assert read(*map(json.loads, write_questions([plain]))) == [plain]


def test_a_narrative_may_have_no_parts_and_plain_questions_may() -> None:
    assert read({"narrative_id": 7, "narrative": "N."}) == [Question("7", "N.")]
    plain = {"query_id": "1", "question": "q", "sub_narratives": ["a"]}
    assert read(plain) == [Question("1", "q", sub_narratives=("a",))]
    # Where a topic has a title, and a narrative without parts, the title is what is asked.
    assert read({"id": "1", "title": "T", "narrative": "N."}) == [
        Question("1", "T", (), (("narrative", "N."),))
    ]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"sub_narratives": "a"}, "expected `array | null`, got `str` in sub_narratives"),
        ({"sub_narratives": ["a", 3]}, "got `int` in sub_narratives[1]"),
        ({"sub_narratives": [{"topic": "a"}]}, "missing required field `text` in sub_narratives[0]"),
        ({"narrative": None}, "expected `str`, got `null` in narrative"),
        ({"id": None}, "expected the id of a topic, one of narrative_id, id, found none"),
        ({"narrative_id": "1"}, "expected one id of the topic, found narrative_id '1' and id '213'"),
    ],
)
def test_narratives_say_what_was_expected(bad: dict[str, Any], message: str) -> None:
    error = refused(NARRATIVE | bad)
    assert error.startswith("file.jsonl:1: expected TREC narratives {id or narrative_id, narrative, ")
    assert message in error


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


def test_topics_of_the_kit_are_read_and_shown_to_judges() -> None:
    questions = list(read_questions(KIDDIE))
    assert [question.query_id for question in questions][:3] == ["leaf", "cloud", "bee"]
    assert questions[0].text == "fall leaf color change chlorophyll"
    assert questions[0].request.startswith("This is for a child who loves collecting leaves")
    material = Material([], {questions[0].query_id: questions[0], "plain": Question("plain", "Why?")})
    shown = [_answer_data(Answer(query, "r", ()), material, ["request"]) for query in ("leaf", "plain")]
    assert shown == [{"request": questions[0].request}, {"request": "Why?"}]


def test_topics_in_two_columns() -> None:
    lines = b"\xef\xbb\xbf2024-1\twhy so?\r\n\n7\tand\xc2\xa0now "
    assert read(lines) == [Question("2024-1", "why so?"), Question("7", "and\xa0now")]


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


def test_samples_have_their_answers_and_facts() -> None:
    crag = list(read_questions(SAMPLES / "crag.jsonl"))
    assert crag[0].gold == ("chlorophyll breaks down", "the green pigment breaks down")
    assert [dict(question.facts).get("popularity") for question in crag] == [
        "head",
        "torso",
        "tail",
        "",
        None,
    ]
    questions = list(read_questions(SAMPLES / "liverag.questions.jsonl"))
    assert [question.query_id for question in questions] == list("01234")


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


def test_unknown_first_lines() -> None:
    assert refused({"x": 1}).startswith("file.jsonl:1: expected questions, one of: plain questions")
    assert refused(b"").startswith("file.jsonl: is empty")


@pytest.mark.slow
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
