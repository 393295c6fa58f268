"""The language that says where fields stand."""

from __future__ import annotations

from typing import Any

import pytest

from rageval.errors import InputError
from rageval.logs.paths import path_of, value_at_path

RECORD: dict[str, Any] = {
    "a": {
        "b.c": [{"t": "x", "n": 1}, {"n": 2}, {"t": "z"}],
        "text": '{"q": ["r"]}',
        "list": "['a', \"b's\"]",
    },
    "joined": "one; two;  ",
    "rows": [[{"v": 1}], [], [{"v": 2}, {"v": 3}]],
    "": "nameless",
    'a"b': "quoted",
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ('a["b.c"][].t', ["x", None, "z"]),
        ('a["b.c"][1].n', 2),
        ('a["b.c"][9].n', None),
        ("rows[][].v", [[1], [], [2, 3]]),
        ("rows[2][0].v", 2),
        ("a.text|json", {"q": ["r"]}),
        ("a.text|json.q[]", ["r"]),
        ("a.text|json.q[0]", "r"),
        ("a.list|literal", ["a", "b's"]),
        ("a.list|literal[1]", "b's"),
        ('joined|split("; ")', ["one", "two"]),
        ("none.at.all", None),
        ("joined.x", None),
        ("none[].x", None),
        ('[""]', "nameless"),
        ('["a\\"b"]', "quoted"),
        ("none|json", None),
    ],
)
def test_what_stands_at_a_path(path: str, expected: Any) -> None:
    assert value_at_path(RECORD, path_of(path), "here") == expected


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a[].x", r"here: expected a list for \[\], found"),
        ("joined|json", "here: expected JSON in a text"),
        ("joined|literal", "here: expected a list of quoted texts"),
        ('rows|split(";")', "here: expected a text to split"),
    ],
)
def test_what_stands_there_is_something_else(path: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        value_at_path(RECORD, path_of(path), "here")
