"""Where a run's text can be cut: where rows of another query begin; and how finely."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rageval.files.lines import RUN, first_is_tabbed
from rageval.files.packing import packing_of
from rageval.files.trec import Reading

HEAD = 2**16  # bytes in which the first row of a file is looked for
_FAR = 2**24  # a query with more bytes than this is not looked through for its end
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Grain:
    """How finely to cut: for so many workers, into parts of no fewer bytes, and about no more."""

    width: int
    smallest: int
    largest: int

    def parts_of(self, size: int) -> int:
        """Into how many parts: one for each worker, two, …"""
        return min(self.width * max(1, -(-size // (self.width * self.largest))), size // self.smallest)


def border(blocks: Iterable[bytes], at: int, reading: Reading) -> int | None:
    """The first byte behind `at`, and behind at least one whole line, where another query begins.

    The blocks are the text from `at` on.
    """
    rest, position, previous = b"", at, None
    first = True  # the line that `at` lies in, of which only a part is seen
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            query = b"" if first else _query(line, reading)
            if previous and query and query != previous and not _means_something(line):
                return position
            previous, first = query or previous, False
            position += len(line) + 1
        if len(rest) > reading.limits.line or position - at >= _FAR:
            return None
    return None


def tabs_part(head: bytes, reading: Reading) -> bool | None:
    """What the first row says of the whole file, given how the file begins; None if that shows no row."""
    whole = head[: head.rfind(b"\n") + 1].removeprefix(_BOM)
    return first_is_tabbed(whole, RUN.width, reading.comments)


def _query(line: bytes, reading: Reading) -> bytes:
    """The first word of a line; nothing for a comment.

    An id that holds a blank is cut short, so that two queries may be taken for one, but never one for two.
    """
    if reading.comments == "skip" and line.startswith(b"#"):
        return b""
    words: Sequence[bytes] = line.split(None, 1)
    return words[0] if words else b""


def _means_something(line: bytes) -> bool:
    """Whether this would be no id at the beginning of a file; no part begins so."""
    return line.startswith(_BOM) or packing_of(line) is not None
