"""The compiled order of lines that lie apart is that of plain Python: the same lines, the same numbers."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval.files import trec
from rageval.files.trec import RUN, Text
from rageval.kernel import kernel as compiled

pytestmark = pytest.mark.skipif(compiled is None, reason="the compiled part is not in use")
kernel: Any = compiled

PARTS = [b"q", b"q1", b"q 1", b"", b" ", b"\t", b"d", b"Q0", b"1", b"\r"]


@given(
    st.lists(st.lists(st.sampled_from(PARTS), max_size=7)), st.integers(0, 40), st.booleans(), st.booleans()
)
def test_the_compiled_order_is_that_of_plain_python(
    drawn: list[list[bytes]], cut: int, tabbed: bool, by_tabs: bool
) -> None:
    lines = [(b"\t" if by_tabs else b" ").join(parts) for parts in drawn]
    first, last = (b"".join(line + b"\n" for line in some) for some in (lines[:cut], lines[cut:]))
    texts = [Text(first, 1), Text(last.removesuffix(b"\n"), range(cut + 7, cut + 7 + len(lines) + 1))]
    (plain,) = trec._sorted(texts, RUN.width, tabbed)
    ordered = list(trec._compiled_sorted(texts, RUN.width, tabbed))
    assert [number for text in ordered for number in text.lines] == list(plain.lines)
    assert b"".join(text.content for text in ordered) == (plain.content + b"\n" if plain.lines else b"")


def test_lines_are_handed_out_by_whole_queries() -> None:
    reader = kernel.apart_new(bytes(16), 6, False)
    kernel.apart_feed(reader, b"a 1\nb 1\n\na 2\n", 1)
    kernel.apart_feed(reader, b"b 2\nc 1", array("q", [9, 8]))
    parts = [kernel.apart_next(reader, 1) for _ in range(4)]
    assert [text for text, _ in parts] == [b"a 1\na 2\n", b"b 1\nb 2\n", b"c 1\n", b""]
    assert [list(array("q", numbers)) for _, numbers in parts] == [[1, 4], [2, 9], [8], []]
    with pytest.raises(RuntimeError, match="nothing more can be taken"):
        kernel.apart_feed(reader, b"d 1", 7)


def test_wrong_numbers_of_lines_are_refused() -> None:
    with pytest.raises(ValueError, match="a seed of 16 bytes"):
        kernel.apart_new(b"", 6, False)
    for which, message in ((array("i", [1]), "items of 8 bytes"), ("x", "bytes-like"), (2**64, "too big")):
        with pytest.raises((TypeError, OverflowError), match=message):
            kernel.apart_feed(kernel.apart_new(bytes(16), 6, False), b"a 1", which)
    reader = kernel.apart_new(bytes(16), 6, False)
    with pytest.raises(ValueError, match="one for every line"):
        kernel.apart_feed(reader, b"a 1\nb 1\n", array("q", [1]))
    with pytest.raises(RuntimeError, match="a line was not taken"):
        kernel.apart_next(reader, 1)
