"""What a model replies: read strictly, repaired where no meaning changes, else invalid and never a grade."""

from __future__ import annotations

import ast
import json
import re
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval.judges.rubric import rubric_named, rubric_names
from rageval.judges.verdicts import KINDS, LONGEST, Invalid, RubricScale, read_object

SUPPORT = RubricScale({"support": 1.0, "partial_support": 0.5, "not_support": 0.0}, {})
GRADES = RubricScale({}, {"correctness": (-1.0, 2.0), "faithfulness": (-1.0, 1.0)})
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=8), plain, max_size=5)


@pytest.mark.slow
@given(objects)
def test_an_object_is_read_as_it_is(record: dict[str, object]) -> None:
    assert read_object(json.dumps(record)) == (record, False)
    assert read_object("\n " + json.dumps(record, indent=2, ensure_ascii=False) + "\n") == (record, False)


@pytest.mark.slow
@given(objects)
def test_a_fence_is_taken_off(record: dict[str, object]) -> None:
    for word in ("", "json", "JSON"):
        assert read_object(f"```{word}\n{json.dumps(record)}\n```") == (record, True)


@given(objects)
def test_python_is_understood(record: dict[str, object]) -> None:
    parsed, _ = read_object(repr(record))
    assert parsed == record


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2, ], }', {"a": [1, 2]}),
        ('{"a": "x,]", "b": "y,}",}', {"a": "x,]", "b": "y,}"}),
        ('```json\n{"a": [1,\n],\n}\n```', {"a": [1]}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ("""{'a': "it's"}""", {"a": "it's"}),
    ],
)
def test_repairs_that_change_no_meaning(text: str, expected: dict[str, object]) -> None:
    assert read_object(text) == (expected, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "",
        "perfect",
        "2",
        '"perfect"',
        "[]",
        '{"label": "perfect"} {"label": "incorrect"}',
        '{"label": "perfect"}\n{"label": "perfect"}',
        'The verdict is {"label": "perfect"}',
        '{"label": "perfect"} I hope this helps.',
        '```json\n{"label": "perfect"}\n```\n```json\n{"label": "incorrect"}\n```',
        '{"label": "perfect", "label": "incorrect"}',
        "{'label': 'perfect', 'label': 'incorrect'}",
        '{"grade": NaN}',
        '{"grade": Infinity}',
        '{"label": "perfect"',
        "{'a': __import__('os')}",
        "{'a': 1 + 1}",
        "{1: 2}",
        "{'a': {1, 2}}",
        "{'a': b'x'}",
        "{{}}",
        "{[]: 1}",
        "{'a': 1_000}",
        "{'a': u'x'}",
        "{'a': '\\N{BULLET}'}",
        "{'a': '\\x4'}",
        "{'a': '\\U00110000'}",
        "{'a': 'x' 'y'}",
        "{'a': True1}",
        "{'a': (1, 2)}",
        '{"a": {"b": 1, "b": 1}}',
        "{'a': [{'b': 1, 'b': 1}]}",
        '{"a\\ud800": 1, "a\\udfff": 2}',
        '{"a": 1' + "0" * 5000 + "}",
        '{"a":' * 51 + "1" + "}" * 51,
        "[" * 100_000,
        '{"a":' * 100_000,
        " " * 10 + "x" * (LONGEST + 1),
    ],
)
def test_what_is_not_one_object_is_invalid(text: str) -> None:
    with pytest.raises(Invalid):
        read_object(text)


LETTERS = [*"{}[]:,'\"\\ \n`0123.-+eEuUxNTrueFalsn", "\ud800", "\\ud83d", "\\udc00", "```", "None", "true"]
SOUP = st.lists(st.sampled_from(LETTERS)).map("".join)
WRAPPED = SOUP | SOUP.map('{{"a": "{}"}}'.format) | SOUP.map("{{'a': '{}'}}".format)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.none() | st.booleans()


@pytest.mark.slow
@settings(max_examples=500)
@given(WRAPPED)
def test_whatever_is_said_is_read_or_invalid(text: str) -> None:
    """What is read can be written to any file, and reads as `json` or as Python reads it."""
    try:
        parsed, repaired = read_object(text)
    except Invalid as error:
        str(error)
        return
    assert json.loads(json.dumps(parsed, ensure_ascii=False).encode()) == parsed
    if not repaired:
        assert parsed == replace_halves(json.loads(text.strip()))


def replace_halves(value: object) -> object:
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(re.sub("[\ud800-\udfff]", "\ufffd", text))


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=8), st.recursive(NUMBERS | st.text(), st.lists, max_leaves=5)))
def test_python_reads_as_python_does(record: dict[str, object]) -> None:
    for text in (repr(record), repr(record).replace("]", ",\n]"), repr(record).replace(", ", " ,\n\t")):
        try:
            expected = ast.literal_eval(text)
        except SyntaxError:
            continue
        assert read_object(text)[0] == replace_halves(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"{'a': '\n\t\x41\u00e9\U0001f642\101\\\'\"'}", "\n\tA\u00e9\U0001f642A\\'\""),
        (r"{'a': '\ud83d\ude42 \ud800'}", "\U0001f642 \ufffd"),
        (r"{'a': '\d \/'}", r"\d \/"),
        ("{'a': 'one\\\ntwo'}", "onetwo"),
        (r'{"a": "\ud83d\ude42 \ud800 \\ud800"}', "\U0001f642 \ufffd \\ud800"),
        ('{"a": "\ud800"}', "\ufffd"),
        ("{'a': -.5}", -0.5),
        ("{'a': +1.}", 1.0),
        ("{'a': 1.e3}", 1000.0),
        ('{"a": "\\u0000"}', "\x00"),
    ],
)
def test_what_backslashes_and_points_mean(text: str, expected: object) -> None:
    assert read_object(text)[0] == {"a": expected}


ENDLESS = {
    "quotes": lambda size: '{"a": "' + '\\"' * (size // 2),
    "backslashes": lambda size: '{"a": "' + "\\" * size,
    "strings": lambda size: '"a"' * (size // 3) + ",",
    "single": lambda size: "{'a': '" + "\\'" * (size // 2),
    "mixed": lambda size: "{" + "'\"" * (size // 2),
    "commas": lambda size: "{" + ", " * (size // 2),
    "blanks": lambda size: "{," + " " * size + "x,",
    "lines": lambda size: "```" + "\n" * size + "x```",
    "fences": lambda size: "```\n" * (size // 4) + "```",
    "blanks of fences": lambda size: "```" + " \n" * (size // 2) + "x",
    "deep": lambda size: "[" * size,
    "deep objects": lambda size: '{"a":' * (size // 5),
    "deep python": lambda size: "{'a':" * (size // 5),
    "minus": lambda size: "{'a': " + "-" * size + "1}",
    "digits": lambda size: "{'a': " + "1" * size + "}",
    "words": lambda size: "{'a': " + "True" * (size // 4) + "}",
    "keys": lambda size: "{" + ",".join(f"'{number}':0" for number in range(size // 9)) + ",}",
    "escapes": lambda size: "{'a': '" + "\\x41" * (size // 4) + "'}",
}


def seconds(text: str) -> float:
    """The least processor time of three goes at a text."""
    times = []
    for _ in range(3):
        before = time.process_time()
        with suppress(Invalid):
            read_object(text)
        times.append(time.process_time() - before)
    return min(times)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_eight_times_the_text_takes_about_eight_times_as_long(name: str) -> None:
    """Sixty-four times if it were quadratic; what is done in a blink needs no comparison."""
    long = seconds(ENDLESS[name](LONGEST - 20))
    assert long < 0.1 or long < 24 * seconds(ENDLESS[name](LONGEST // 8))


GOOD = {"id": "n1", "evidence": "", "label": "support"}


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([GOOD], "missing: n2"),
        ([GOOD, GOOD], "stands twice"),
        ([GOOD, GOOD | {"id": "n3"}], "unknown: n3"),
        ([GOOD, GOOD | {"id": "n2"}, GOOD | {"id": "n3"}], "unknown: n3"),
        (
            [GOOD, GOOD | {"id": "n2", "label": "supports"}],
            "expected one of support, partial_support, not_support",
        ),
        ([GOOD, GOOD | {"id": "n2", "label": 1}], "found 1"),
        ([GOOD, GOOD | {"id": "n2", "label": None}], "found None"),
        ([GOOD, {"id": "n2"}], "found None"),
        ([GOOD, "n2"], "expected an object with an id"),
        ([GOOD, GOOD | {"id": 2}], "expected an object with an id"),
        ({"n1": "support", "n2": "support"}, "expected a list"),
        (None, "expected a list"),
        ([GOOD, GOOD | {"id": "n2", "evidence": 5}], "evidence: expected text"),
    ],
)
def test_a_list_of_verdicts_must_hold_each_once(verdicts: object, expected: str) -> None:
    with pytest.raises(Invalid, match=expected):
        KINDS["labels"].read({"verdicts": verdicts}, SUPPORT, ("n1", "n2"))


@pytest.mark.parametrize("value", [2.1, -1.1, "2", None, True, [2], 1e400])
def test_a_number_off_the_scale_is_never_clipped(value: object) -> None:
    with pytest.raises(Invalid, match="correctness: expected a number from -1 to 2"):
        KINDS["grades"].read({"correctness": value, "faithfulness": 0}, GRADES, ())


@pytest.mark.parametrize("ranking", [["a1"], ["a1", "a1"], ["a1", "a3"], "a1 a2", ["a1", "a2", "a2"], [1, 2]])
def test_a_ranking_must_be_a_permutation(ranking: object) -> None:
    with pytest.raises(Invalid):
        KINDS["permutation"].read({"ranking": ranking}, SUPPORT, ("a1", "a2"))


def test_a_matrix_says_something_of_every_pair() -> None:
    reply = {"documents": [{"id": "d2", "supports": ["n2"]}, {"id": "d1", "supports": []}]}
    verdicts = KINDS["matrix"].read(
        reply, RubricScale({"support": 1.0, "not_support": 0.0}, {}), ("d1", "d2", "", "n1", "n2")
    )
    assert {v.id: v.label for v in verdicts} == {
        "d1\tn1": "not_support",
        "d1\tn2": "not_support",
        "d2\tn1": "not_support",
        "d2\tn2": "support",
    }


@pytest.mark.parametrize(
    "documents",
    [
        [{"id": "d1", "supports": []}],
        [{"id": "d1", "supports": ["n1"]}, {"id": "d2", "supports": ["n3"]}],
        [{"id": "d1", "supports": ["n1", "n1"]}, {"id": "d2", "supports": []}],
        [{"id": "d1", "supports": "n1"}, {"id": "d2", "supports": []}],
    ],
)
def test_a_matrix_that_is_not_whole(documents: object) -> None:
    with pytest.raises(Invalid):
        KINDS["matrix"].read({"documents": documents}, SUPPORT, ("d1", "d2", "", "n1", "n2"))


@pytest.mark.parametrize("texts", [["a", "A "], ["a", ""], ["a", 1], "a", None])
def test_nuggets_must_be_different_texts(texts: object) -> None:
    with pytest.raises(Invalid):
        KINDS["texts"].read({"nuggets": texts}, SUPPORT, ())


@pytest.mark.parametrize("name", rubric_names())
def test_every_rubric_asks_for_what_it_can_read(name: str) -> None:
    """The schema that is sent is strict: closed objects, every property required."""
    rubric = rubric_named(name)
    ids = ("d1", "", "n1") if rubric.file.kind == "matrix" else ("n1", "n2")
    data = dict.fromkeys(rubric.file.sees, "text")
    request = rubric.request(data, ids)
    stack = [dict(request.schema)]
    while stack:
        schema = stack.pop()
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
            stack += schema["properties"].values()
        if "items" in schema:
            stack.append(schema["items"])
    assert rubric.file.follows
    assert rubric.file.departs
