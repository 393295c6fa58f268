"""What models, servers and files may say: nothing of it makes a traceback, a broken file, or a long wait."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval.counting import length
from rageval.judges.evidence import is_quoted
from rageval.judges.exact import first_stage, folded
from rageval.judges.models import short
from rageval.judges.models.lexical import lexical_evidence
from rageval.text import compatible, mended

MARKS = st.text(
    st.sampled_from("a\u0301\u0323\u3099\uff9e\u0344\u1100\u1161\u11a8\u00bd\U0001f642\u034f–"), max_size=30
)


@given(MARKS)
def test_compatible_forms_are_unicodes_own(text: str) -> None:
    assert compatible(text) == unicodedata.normalize("NFKC", text)


def test_long_runs_that_hold_no_marks_are_left_as_they_are() -> None:
    assert compatible("–" * 100 + "\U0001f642" * 100) == "–" * 100 + "\U0001f642" * 100


@given(st.text(st.characters() | st.characters(categories=["Cs"])))
def test_what_is_mended_can_be_written_and_nothing_else_changes(text: str) -> None:
    assert mended(text).encode().decode() == mended(text)
    assert len(mended(text)) == len(text)
    assert all(a == b or "\ud800" <= b <= "\udfff" for a, b in zip(mended(text), text, strict=True))


@given(st.text("ab -.", max_size=8), st.text("ab -.", min_size=1, max_size=3))
def test_whole_words_are_what_a_pattern_finds(text: str, wanted: str) -> None:
    if folded(wanted):
        pattern = rf"(?<!\w){re.escape(folded(wanted))}(?!\w)"
        assert short.contains(text, [wanted]) == bool(re.search(pattern, folded(text)))


# Texts that take a reader the square of their length who is not careful, by what they are made of.
HOSTILE: dict[str, Callable[[int], str]] = {
    "marks": lambda size: "a" + "\u0301" * (size // 2) + "\u0323" * (size // 2),
    "half-width marks": lambda size: "a" + "\uff9e" * (size // 2) + "\u0323" * (size // 2),
    "alternating marks": lambda size: "\u0301\u0323" * (size // 2),
    "long ligatures": lambda size: "\ufdfa" * (size // 18),
    "pieces": lambda size: "a…" * (size // 2),
    "blanks": lambda size: "a" + " " * size + "b",
    "digits": lambda size: "1," * (size // 2),
    "one number": lambda size: "9" * size,
    "dashes": lambda size: "1-" * (size // 2),
    "ends": lambda size: "." * size,
    "quotes": lambda size: "'" * size,
    "hyphens": lambda size: "a-" * (size // 2),
    "one word": lambda size: "ings" * (size // 4),
}
READERS: dict[str, Callable[[str], Any]] = {
    "evidence": lambda text: is_quoted(text, text + "x"),
    "evidence in pieces": lambda text: is_quoted(text, text[::-1]),
    "first stage": lambda text: first_stage(text, [text + "x", "y"]),
    "exact": lambda text: short.exact(text, [text + "x"]),
    "contains": lambda text: short.contains(text, ["ab", text[: len(text) // 2] + "z"]),
    "number": lambda text: short.number(text, ["1", text[:100]]),
    "token_f1": lambda text: short.token_f1(text, [text, "x"]),
    "lexical": lambda text: lexical_evidence("a fact of 1 kind", text),
    "nugget": lambda text: lexical_evidence(text, "a fact of 1 kind"),
    "length": lambda text: [length([text], rule) for rule in ("nfkc", "split")],
}
SIZE = 160_000


def seconds(read: Callable[[str], Any], text: str) -> float:
    before = time.process_time()
    read(text)
    return time.process_time() - before


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("reader", READERS)
def test_eight_times_the_text_takes_about_eight_times_as_long(reader: str, text: str) -> None:
    """Sixty-four times if it were the square; what is done in a blink needs no comparison."""
    long = seconds(READERS[reader], HOSTILE[text](SIZE))
    if long > 0.5:
        assert long < 24 * min(seconds(READERS[reader], HOSTILE[text](SIZE // 8)) for _ in range(3))
