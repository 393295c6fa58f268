"""Files of nuggets, of UMBRELA's judgements and of the nuggetizer's metrics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval.errors import InputError
from rageval.files.nuggets import read_metrics, read_nuggets, write_nuggets
from rageval.files.retrieved import read_umbrela
from rageval.records import Nugget, Qrel
from test_answers_files import IDS, TEXTS, stream

SAMPLES = Path(__file__).parents[2] / "examples/data/answers"
VITAL = {"text": "It rains.", "importance": "vital"}
LIST = {"qid": 7, "nuggets": [VITAL]}
RUBRICS = {
    "qid": 7,
    "domain": "science",
    "rubrics": [{"criterion": "Says so.", "weight": 2, "axis": "Explicit"}],
}
FRESH = {
    "query_id": "77",
    "query_title": "T",
    "nuggets": [{"_id": "77_n", "text": "x", "relevant_corpus_ids": []}],
}
UMBRELA = {"qid": 7, "docid": "d", "query": "?", "passage": "!", "judgment": 3, "model": "m"}
METRICS = {"qid": 7, "strict_vital_score": 1, "strict_all_score": 0.5, "vital_score": 1.0, "all_score": 0.75}
READERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "nuggets": (read_nuggets, LIST),
    "rubrics": (read_nuggets, RUBRICS),
    "freshstack": (read_nuggets, FRESH),
    "umbrela": (read_umbrela, UMBRELA),
    "metrics": (read_metrics, METRICS),
}


def refused(kind: str, *records: Any) -> str:
    with pytest.raises(InputError) as error:
        list(READERS[kind][0](stream(*records)))
    return str(error.value)


def nuggets(*records: Any) -> list[Nugget]:
    return list(read_nuggets(stream(*records)))


def test_nuggets_of_the_nuggetizer() -> None:
    bank = nuggets(
        {"query": "q", "qid": 7, "nuggets": [VITAL, {"text": "y", "importance": "failed"}, {"text": "z"}]}
    )
    assert bank == [Nugget("7", "0", "It rains.", "vital"), Nugget("7", "1", "y"), Nugget("7", "2", "z")]


def test_nuggets_of_trec_rag_2026_belong_to_sub_narratives() -> None:
    line = {"qid": "7", "nuggets": [VITAL | {"mapped_sub_narrative": '"Weather"', "source": "post-edit"}]}
    nugget = Nugget("7", "0", "It rains.", "vital", group='"Weather"', facts=(("source", "post-edit"),))
    assert nuggets(line) == [nugget]
    assert nuggets(*map(str.encode, write_nuggets([nugget]))) == [nugget]


@pytest.mark.parametrize("key", ["nugget_id", "id"])
def test_a_nugget_is_called_as_the_file_calls_it(key: str) -> None:
    assert nuggets({"qid": 7, "nuggets": [VITAL | {key: 5}]}) == [Nugget("7", "5", "It rains.", "vital")]


def test_rubrics_have_weights_that_may_be_negative() -> None:
    line = RUBRICS | {"rubrics": [*RUBRICS["rubrics"], {"criterion": "Lies.", "weight": -0.5}]}
    assert nuggets(line) == [
        Nugget("7", "0", "Says so.", weight=2.0, group="Explicit"),
        Nugget("7", "1", "Lies.", weight=-0.5),
    ]


def test_nuggets_of_freshstack() -> None:
    assert nuggets(FRESH) == [Nugget("77", "77_n", "x")]


@given(st.data())
def test_nuggets_written_are_read_again(data: st.DataObject) -> None:
    group = st.one_of(st.none(), TEXTS)
    importance = st.sampled_from(["vital", "okay", None])
    names = st.lists(st.one_of(IDS, st.sampled_from("0123")), min_size=1, unique=True, max_size=3)
    written = [
        Nugget(query, name, data.draw(TEXTS), data.draw(importance), None, data.draw(group))
        for query in data.draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
        for name in data.draw(names)
    ]
    lines = [line.encode() for line in write_nuggets(written)]
    assert nuggets(*lines) == written


def test_nuggets_that_cannot_be_written() -> None:
    first, other = Nugget("1", "0", "x"), Nugget("2", "0", "y")
    with pytest.raises(InputError, match="not together"):
        list(write_nuggets([first, other, first]))
    with pytest.raises(InputError, match="has a weight"):
        list(write_nuggets([first._replace(weight=1.0)]))


def test_the_samples_are_read() -> None:
    assert len(list(read_nuggets(SAMPLES / "nuggets.jsonl"))) == 12
    weights = [bank.weight for bank in read_nuggets(SAMPLES / "rubrics.jsonl")]
    assert weights == [5.0, -3.0] * 5


@pytest.mark.parametrize(
    "record",
    [
        UMBRELA,
        {"query": {"qid": 7, "text": "?"}, "passage": {"docid": "d", "doc": {}}, "judgment": 3},
        {"query": {"text": "?"}, "qid": "7", "passage": {"docid": "d"}, "judgment": 3},
    ],
)
def test_judgements_of_umbrela(record: dict[str, Any]) -> None:
    assert list(read_umbrela(stream(record))) == [Qrel("7", "d", 3)]


def test_judgements_of_umbrela_without_ids_say_what_is_needed() -> None:
    record = {"query": "how long?", "passage": "long", "judgment": 1}
    message = refused("umbrela", UMBRELA, record)
    assert message.startswith("file.jsonl:2: expected UMBRELA judgements")
    assert (
        "no `qid` and `docid` to identify what is judged; put `qid` and `docid` next to the texts" in message
    )
    assert "no `docid` to" in refused("umbrela", record | {"qid": 1})


def test_metrics_by_query() -> None:
    metrics = read_metrics(stream(METRICS, METRICS | {"qid": "all", "all_score": 0.25}))
    assert metrics["7"] == {key: float(value) for key, value in METRICS.items() if key != "qid"}
    assert metrics["all"]["all_score"] == 0.25
    assert "file.jsonl:2: a second line for query 7, the first is in line 1" in refused(
        "metrics", METRICS, METRICS
    )


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "file.jsonl:1: expected"),
        (b"[]", "file.jsonl:1: expected"),
        (b'{"x": 1}', "file.jsonl:1: expected"),
        (b'{"qid": "\xe9"}', "file.jsonl:1: byte 10 is 0xe9, which is not UTF-8"),
        (b"\n", "file.jsonl: is empty"),
    ],
)
def test_bad_files_are_refused_with_the_reason(kind: str, line: bytes, message: str) -> None:
    assert refused(kind, line).startswith(message)


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (
            "nuggets",
            {"nuggets": [VITAL | {"importance": "Vital"}]},
            "invalid enum value 'Vital' in nuggets[0]",
        ),
        ("nuggets", {"nuggets": [{"importance": "okay"}]}, "field `text` in nuggets[0]"),
        ("nuggets", {"nuggets": {}}, "expected `array`, got `object` in nuggets"),
        ("nuggets", {"qid": ""}, "expected an id of 1 to 1,024 bytes in `qid`, found nothing"),
        ("nuggets", {"nuggets": [VITAL | {"id": "a"}] * 2}, "found 'a' twice"),
        ("nuggets", {"nuggets": [VITAL | {"id": 1}, VITAL]}, "found '1' twice"),
        ("rubrics", {"rubrics": [{"criterion": "x"}]}, "field `weight` in rubrics[0]"),
        ("rubrics", {"rubrics": [{"criterion": "x", "weight": "2"}]}, "expected `float`, got `str`"),
        ("freshstack", {"nuggets": [{"_id": 1}]}, "found nuggets; put each format in its own file"),
        ("umbrela", {"judgment": 4}, "`int` <= 3"),
        ("umbrela", {"judgment": -1}, "`int` >= 0"),
        ("umbrela", {"judgment": None}, "expected `int`, got `null`"),
        ("umbrela", {"judgment": "2"}, "expected `int`, got `str`"),
        ("umbrela", {"docid": "a\nb"}, "without control characters in `docid`"),
        ("metrics", {"all_score": None}, "expected `float`, got `null`"),
    ],
)
def test_bad_fields_are_named(kind: str, change: dict[str, Any], message: str) -> None:
    error = refused(kind, READERS[kind][1], b"", READERS[kind][1] | {"qid": 8} | change)
    assert error.startswith("file.jsonl:3: expected")
    assert message in error


def test_a_second_list_for_a_query_and_another_format() -> None:
    assert "file.jsonl:2: a second list of nuggets for query 7, the first is in line 1" in refused(
        "nuggets", LIST, LIST
    )
    assert "expected nuggets as in the lines before, found rubrics" in refused("nuggets", LIST, RUBRICS)


def test_keys_that_are_not_known_are_skipped() -> None:
    line = json.dumps(LIST | {"extra": {"deep": [1, {"x": None}]}}).encode()
    assert nuggets(line) == nuggets(LIST)
