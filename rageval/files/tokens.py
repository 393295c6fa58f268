"""Lines and fields of a chunk of text found with numpy: where each field starts, where it ends.

This is the fast road, for what real files look like. Whatever is unusual makes `tokenise` return None,
and `files.lines` reads the chunk line by line: same result, or the error message.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]


class Fields(NamedTuple):
    """Start and end of every field (lines x fields), each line's number, and how many lines there are."""

    start: Int
    end: Int
    line: Int
    lines: int


TAB, NEWLINE, SPACE, HASH = 9, 10, 32, 35


def tokenise(text: bytes, width: int) -> Fields | None:
    """Fields of lines that all have `width` fields, or None if that is not plain to see.

    `text` ends with a newline; lines are numbered from 0. Fields are parted by single blanks, by single
    tabs (then ids may hold spaces), or by runs of blanks.
    """
    if not text.isascii() and not _is_utf8(text):
        return None
    if b"\x7f" in text:
        return None
    buffer = np.frombuffer(text, np.uint8)
    separator = np.flatnonzero(buffer <= SPACE)
    fields = _singly_separated(buffer, separator, width) or _separated_by_runs(buffer, separator, width)
    if fields is None:
        return None
    if (buffer[fields.start[:, 0]] == HASH).any():  # a comment, or an id that begins like one
        return None
    return fields


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _singly_separated(buffer: NDArray[np.uint8], separator: Int, width: int) -> Fields | None:
    """The usual case: each separator ends one field, every `width`-th ends a line."""
    lines, more = divmod(len(separator), width)
    if more or not lines:
        return None
    kind = buffer[separator]
    newline = kind == NEWLINE
    if not newline[width - 1 :: width].all() or np.count_nonzero(newline) != lines:
        return None  # a line with more fields and one with fewer
    if not (newline | _is_blank(kind)).all() or separator[0] == 0 or np.diff(separator).min(initial=2) < 2:
        return None
    start = np.empty_like(separator)
    start[0] = 0
    np.add(separator[:-1], 1, out=start[1:])
    return Fields(start.reshape(-1, width), separator.reshape(-1, width), np.arange(lines), lines)


def _separated_by_runs(buffer: NDArray[np.uint8], separator: Int, width: int) -> Fields | None:
    """Columns padded with several blanks, and blank lines. Tabs mixed with spaces need a closer look."""
    kind = buffer[separator]
    newline = kind == NEWLINE
    tabs = int((kind == TAB).sum())
    if tabs and tabs + int(newline.sum()) != len(kind):
        return _separated_by_tabs(buffer, separator[kind != SPACE], width)
    if not (newline | _is_blank(kind)).all():
        return None
    gap = np.diff(separator, prepend=-1) > 1  # a field lies before this separator
    end = separator[gap]
    start = np.concatenate(([-1], separator[:-1]))[gap] + 1
    if len(end) % width:
        return None
    fields_so_far = np.cumsum(gap)[newline]
    a_line = np.diff(fields_so_far, prepend=0)
    if not np.isin(a_line, (0, width)).all():
        return None
    return Fields(start.reshape(-1, width), end.reshape(-1, width), np.flatnonzero(a_line), len(a_line))


def _separated_by_tabs(buffer: NDArray[np.uint8], separator: Int, width: int) -> Fields | None:
    """Ids may hold spaces where every line has exactly the tabs that part its fields."""
    fields = _singly_separated(buffer, separator, width)
    if fields is None:
        return None
    start, end = fields.start, fields.end
    if (buffer[start] == SPACE).any() or (buffer[end - 1] == SPACE).any():
        return None
    if (buffer[separator].reshape(-1, width)[:, :-1] != TAB).any():
        return None
    return fields


def _is_blank(kind: NDArray[np.uint8]) -> NDArray[np.bool_]:
    blank: NDArray[np.bool_] = (kind == SPACE) | (kind == TAB)
    return blank
