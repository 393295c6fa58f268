"""Lines and fields of a chunk of text found with numpy: where each field starts, where it ends.

This is the fast road, for what real files look like. Whatever is unusual makes `tokenise` return None,
and `files.lines` reads the chunk line by line: same result, or the error message.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
Fields = tuple[Int, Int, Int]  # start and end of every field, both (lines x fields), and each line's number

TAB, NEWLINE, SPACE, HASH = 9, 10, 32, 35


def tokenise(text: bytes, width: int) -> Fields | None:
    """Fields of lines that all have `width` fields, or None if that is not plain to see.

    `text` ends with a newline; lines are numbered from 0. Fields are parted by single blanks, by single tabs (then ids may hold
    spaces), or by runs of blanks.
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
    if (buffer[fields[0][:, 0]] == HASH).any():  # a comment, or an id that begins like one
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
    if len(separator) % width:
        return None
    kind = buffer[separator].reshape(-1, width)
    if (kind[:, -1] != NEWLINE).any() or not _only_blanks(kind[:, :-1]):
        return None  # a line with more fields and one with fewer, or a control byte
    end = separator.reshape(-1, width)
    start = np.empty_like(end)
    start.flat[0] = 0
    start.flat[1:] = separator[:-1] + 1
    if (end <= start).any():
        return None
    return start, end, np.arange(len(end))


def _separated_by_runs(buffer: NDArray[np.uint8], separator: Int, width: int) -> Fields | None:
    """Columns padded with several blanks, and blank lines. Tabs mixed with spaces need a closer look."""
    kind = buffer[separator]
    newline = kind == NEWLINE
    tabs = int((kind == TAB).sum())
    if tabs and tabs + int(newline.sum()) != len(kind):
        return _separated_by_tabs(buffer, separator[kind != SPACE], width)
    if not _only_blanks(kind[~newline]):
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
    return start.reshape(-1, width), end.reshape(-1, width), np.flatnonzero(a_line)


def _separated_by_tabs(buffer: NDArray[np.uint8], separator: Int, width: int) -> Fields | None:
    """Ids may hold spaces where every line has exactly the tabs that part its fields."""
    fields = _singly_separated(buffer, separator, width)
    if fields is None:
        return None
    start, end, _ = fields
    if (buffer[start] == SPACE).any() or (buffer[end - 1] == SPACE).any():
        return None
    if (buffer[separator].reshape(-1, width)[:, :-1] != TAB).any():
        return None
    return fields


def _only_blanks(kind: NDArray[np.uint8]) -> bool:
    return bool(((kind == SPACE) | (kind == TAB)).all())
