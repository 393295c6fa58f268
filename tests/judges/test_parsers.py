"""How the sources of prompts read replies: their good, bad and odd ones, and hostile ones in little time."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval.judges.verdicts import LONGEST, PARSERS, Invalid, ReplyRules, RubricScale, Verdict, require_quick

GRADES = ReplyRules(
    RubricScale({"unrelated": 0.0, "related": 1.0, "relevant": 2.0, "perfect": 3.0}, {}),
    {"0": "unrelated", "1": "related", "2": "relevant", "3": "perfect"},
)
SCRIPT = ReplyRules(
    RubricScale({"accurate": 1.0, "incorrect": -1.0}, {}), {"1": "accurate", "0": "incorrect"}
)
LABELS = ReplyRules(RubricScale({"support": 1.0, "partial_support": 0.5, "not_support": 0.0}, {}))
LENIENT = ReplyRules(LABELS.scale, unreadable="not_support", lenient=True)
TEXTS = ReplyRules(RubricScale({}, {}, 3), is_list=True)
SUPPORT = ReplyRules(
    RubricScale({"full": 1.0, "part": 0.5, "none": 0.0}, {}),
    {"Full Support": "full", "Partial Support": "part", "No Support": "none"},
)
IDS = ("n1", "n2", "n3")


def read(name: str, text: str, rules: ReplyRules, ids: tuple[str, ...] = ("",)) -> list[Verdict]:
    return PARSERS[name].read(text, rules, ids)


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ("##final score: 2", 2),
        ("##Final Score:3\n", 3),
        ("## final score = 0", 0),
        ("M: 3\nT: 2\n##final score: 1", 1),  # the phrase comes before any other number
        ("##final score: 1\nNo: ##final score: 2", 2),  # its last place
        ('{"O": 3, "M": 1}', 3),
        ("{'o': 1}", 1),
        ("The relevance category is 2.", 2),
        ("it falls into the category 1", 1),
        ("score of  3", 3),
        ("The answer is 2 I think", 2),
        ("2", 2),
        ("1 or 3", 3),
        ("##final score: 10", 1),  # no border behind the digit
        ("I'd go for 7, no 1", 1),  # "o" and a digit, as in {"o": 1}
        ("from 0 to 3: ##final score: 1", 3),  # an "o" before a digit comes before the phrase
        ("2024", 2),
    ],
)
def test_umbrelas_score(reply: str, grade: int) -> None:
    (verdict,) = read("score-line", reply, GRADES)
    assert verdict.grade == grade


@pytest.mark.parametrize("reply", ["", "none", "##final score: ", "4 5 6 7 8 9", "٢", "final score: two"])
def test_no_score_of_umbrelas(reply: str) -> None:
    with pytest.raises(Invalid, match="expected a score from 0 to 3"):
        read("score-line", reply, GRADES)


@pytest.mark.parametrize(
    ("reply", "label", "reason"),
    [
        ('{"score": 1, "explanation": "so"}', "accurate", "so"),
        ('{"explanation": "it says "so"", "score" : 0}', "incorrect", 'it says "so"", "score'),
        ('{"score": 1} Wait, no! {"score": 0, "explanation": "x"}', "incorrect", "x"),
        ('I say {"score": 1', None, None),  # no closing brace
        ('{"score": 0} {"score": 1', "incorrect", None),
        ('{"a": {"score": 1}}', "accurate", None),  # from the first opening brace to the first closing one
        ('{"score": "1"}', None, None),
        ('{"score": 2}', None, None),
        ('{"score": 01}', "accurate", None),
        ('{"score": 1.9}', "accurate", None),
        ('{"Score": 1}', None, None),
        ('"score": 1', None, None),
        ("", None, None),
    ],
)
def test_the_score_of_crags_script(reply: str, label: str | None, reason: str | None) -> None:
    if label is None:
        with pytest.raises(Invalid):
            read("last-object", reply, SCRIPT)
    else:
        (verdict,) = read("last-object", reply, SCRIPT)
        assert (verdict.label, verdict.reason) == (label, reason)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "support",
        "[support]",
        "Labels: ['support']",
        "['support'",
        "[1, 2, 3]",
        "[None]",
        "[f'x']",
        "__import__('os')",
        "[" * 5000,
        "-" * 40_000 + "1",
        "1" * 10_000,
        "(" * 300 + ")" * 300,
        "['" + "x" * 60_000 + "']",
        "\x00",
        "['\ud800'",
    ],
)
def test_no_list(reply: str) -> None:
    for rules in (LABELS, LENIENT, TEXTS):
        with pytest.raises(Invalid):
            read("json-list", reply, rules, IDS)


def test_a_list_that_is_too_short_or_says_something_else() -> None:
    odd = "['support', 'Supported', 'partial_support', 'support']"
    with pytest.raises(Invalid, match="expected 3 labels, found 4"):
        read("json-list", odd, LABELS, IDS)
    with pytest.raises(Invalid, match="found 'supported'"):
        read("json-list", "['support', 'Supported', 'support']", LABELS, IDS)
    lenient = read("json-list", odd, LENIENT, IDS)
    assert [verdict.label for verdict in lenient] == ["support", "not_support", "partial_support"]
    assert [verdict.id for verdict in read("json-list", "['support']", LENIENT, IDS)] == ["n1"]
    for reply in ("'support'", "{'a': 1, 'b': 2, 'c': 3}"):  # its program goes over letters, and over keys
        assert {verdict.label for verdict in read("json-list", reply, LENIENT, IDS)} == {"not_support"}
        with pytest.raises(Invalid, match="expected a list of texts"):
            read("json-list", reply, LABELS, IDS)


@pytest.mark.parametrize(
    ("tags", "reply", "label"),
    [
        (("", ""), "Full Support", "full"),
        (("", ""), "I would say partial   support.", "part"),
        (("", ""), "No Support, not Full Support", "full"),  # in the order of the values, as its source looks
        (("<s>", "</s>"), "<think>Full Support?</think><s> No\nSupport </s>", "none"),
        (("<s>", "</s>"), "<S>full support</S>", "full"),
        (("<s>", "</s>"), "Full Support", None),
        (("<s>", "</s>"), "<s>Full</s>", None),
        (("", ""), "", None),
    ],
)
def test_labels_between_tags(tags: tuple[str, str], reply: str, label: str | None) -> None:
    rules = ReplyRules(SUPPORT.scale, SUPPORT.values, tags)
    if label is None:
        with pytest.raises(Invalid, match="expected one of"):
            read("tagged", reply, rules)
    else:
        assert read("tagged", reply, rules)[0].label == label


@pytest.mark.parametrize(
    "reply", ["", "[1]", "[1] > [2] > [2]", "[1] > [2] > [4]", "1 2 3 3", "0 1 2", "9" * 99]
)
def test_no_ranking_but_the_source_makes_one(reply: str) -> None:
    rules = ReplyRules(RubricScale({}, {}))
    with pytest.raises(Invalid, match="expected each number from 1 to 3 once"):
        read("ranking", reply, rules, IDS)
    verdicts = read("ranking", reply, ReplyRules(rules.scale, lenient=True), IDS)
    assert sorted(verdict.id for verdict in verdicts) == [*IDS]


def test_a_pattern_of_ones_own() -> None:
    rules = ReplyRules(GRADES.scale, GRADES.values, patterns=[r"(?i)grade:\s*+(\d)", r"^([0-3])$"])
    assert read("pattern", "Grade: 1, no, GRADE:  3.", rules)[0].grade == 3
    assert read("pattern", "2", rules)[0].grade == 2
    for reply in ("grade", "grade: 9", "x" * 10_001):
        with pytest.raises(Invalid):
            read("pattern", reply, rules)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+b",
        "(a|b)*c",
        "(.*)",
        r"(\w+)\s",
        "(?:a?){30}(b)",
        r"(x)\1",
        "(?=(x))",
        "((?:ab|cd|e){1,8})",
        "a(b",
        "",
        "(a)(b)",
        f"({'x' * 501})",
        r"(?:a++)++(b)",
        f"(b){'a?' * 10}",
    ],
)
def test_a_pattern_that_a_reply_could_keep_busy_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"expected|not allowed|no regular|write \*\+"):
        require_quick(pattern)


HOSTILE = [
    "o" + " " * 1000,
    "a" * 2000,
    "{" * 1000,
    '"score"' + " " * 500,
    "final score" + " " * 500,
    "[",
    "[[A",
]
HOSTILE += ['"explanation": "', "``", "</think>", "9", "category " * 100, "\\", "'", "(", "-", "x is ", "🙂"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PARSERS if name != "pattern"])
def test_no_reply_keeps_a_parser_busy(name: str) -> None:
    """What went over a text again for each of its letters would be at it for hours."""
    rules = {"json-list": LABELS, "last-object": SCRIPT, "tagged": SUPPORT}.get(name, GRADES)
    for piece in HOSTILE:
        text = (piece * (LONGEST // len(piece) + 1))[:LONGEST]
        for reply in (text, f"{text}\n2", f"x{text}"):
            with suppress(Invalid):
                assert all(verdict.grade is not None for verdict in read(name, reply, rules, IDS))


@pytest.mark.slow
@settings(max_examples=300)
@given(
    st.lists(
        st.sampled_from([*"{}[]()<>'\"\\:;= \n01239.o", "score", "```", "python", "final", "is"]), max_size=40
    )
)
def test_whatever_is_said_is_read_or_invalid(pieces: list[str]) -> None:
    for name, rules in (
        ("score-line", GRADES),
        ("last-object", SCRIPT),
        ("json-list", LABELS),
        ("json-list", LENIENT),
        ("tagged", SUPPORT),
        ("ranking", ReplyRules(RubricScale({}, {}), lenient=True)),
    ):
        try:
            verdicts = read(name, "".join(pieces), rules, IDS)
        except Invalid:
            continue
        assert all(verdict.grade is not None for verdict in verdicts)
