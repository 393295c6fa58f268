"""Files of nuggets, of UMBRELA's judgements and of the nuggetizer's metrics."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval.errors import InputError
from rageval.files.nuggets import read_metrics, read_nuggets, write_nuggets
from rageval.files.retrieved import read_umbrela
from rageval.records import Nugget
from test_answers_files import IDS, TEXTS, stream

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


@pytest.mark.slow
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


def test_judgements_of_umbrela_without_ids_say_what_is_needed() -> None:
    record = {"query": "how long?", "passage": "long", "judgment": 1}
    message = refused("umbrela", UMBRELA, record)
    assert message.startswith("file.jsonl:2: expected UMBRELA judgements")
    assert (
        "no `qid` and `docid` to identify what is judged; put `qid` and `docid` next to the texts" in message
    )
    assert "no `docid` to" in refused("umbrela", record | {"qid": 1})


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
