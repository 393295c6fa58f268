"""TREC runs and (nugget) qrels: files in, columns of rows out, everything checked on the way.

This is the plain reader: whatever the compiled one does not understand comes here, and all messages are made
here. An ordinary stretch of lines is cut and checked as a whole; one that is unusual or wrong is read line by
line (`files.lines`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from rageval.errors import InputError
from rageval.files.limits import DEFAULT, Limits
from rageval.files.lines import QRELS, RUN, Kind, first_is_tabbed, grade, read_lines, refuse_bom
from rageval.files.opening import Source, chunks, name_of

COMMENTS = ("error", "skip", "data")
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_TEXT = bytes({9, 10, *range(32, 127), *range(128, 256)})  # bytes that a line may hold, or end with
Columns = Sequence[Sequence[Any]]


class Reading(NamedTuple):
    """How to read: what a line that begins with `#` is, and the limits.

    `tabbed`: whether fields are parted by tabs in lines that can be read both ways; unless it is known, the
    first row of the file says so.
    """

    comments: str = "error"
    limits: Limits = DEFAULT
    tabbed: bool | None = None


PLAIN = Reading()


class RunRows(NamedTuple):
    """Rows of a run, a list a column, and the number of the line of each; no ranks in what has none."""

    source: str
    lines: Sequence[int]
    queries: Sequence[bytes]
    docs: Sequence[bytes]
    scores: Sequence[float]
    ranks: Sequence[bytes] | None = None


class QrelsRows(NamedTuple):
    """Rows of judgements, a list a column, and the number of the line of each."""

    source: str
    lines: Sequence[int]
    queries: Sequence[bytes]
    docs: Sequence[bytes]
    nuggets: Sequence[bytes]
    grades: Sequence[int]


class Text(NamedTuple):
    """Whole lines, with the number of the first, or of each where they were put in another order."""

    content: bytes
    lines: Sequence[int] | int = 1


def run_rows(source: Source, reading: Reading = PLAIN) -> Iterator[RunRows]:
    """Read the rows of a run, a stretch a chunk."""
    return run_rows_of(texts(source, reading), name_of(source), reading)


def qrels_rows(source: Source, reading: Reading = PLAIN) -> Iterator[QrelsRows]:
    """Read the rows of a judgement file, a stretch a chunk."""
    return qrels_rows_of(texts(source, reading), name_of(source), reading)


def run_rows_of(given: Iterable[Text], name: str, reading: Reading) -> Iterator[RunRows]:
    """Read the rows of a run out of its text."""
    for lines, (query, _, doc, rank, scores, _) in _stretches(given, RUN, name, reading):
        yield RunRows(name, lines, query, doc, scores, rank)


def qrels_rows_of(given: Iterable[Text], name: str, reading: Reading) -> Iterator[QrelsRows]:
    """Read the rows of judgements out of their text."""
    for lines, (query, nugget, doc, grades) in _stretches(given, QRELS, name, reading):
        yield QrelsRows(name, lines, query, doc, nugget, grades)


def texts(source: Source, reading: Reading) -> Iterator[Text]:
    """Read whole lines, a chunk at a time; nothing that is no text of lines."""
    name, line = name_of(source), 1
    for content in chunks(source, reading.limits):
        if line == 1:
            content = _without_bom(content, name)
        yield Text(content, line)
        line += content.count(b"\n")


def told_apart(given: Iterable[Text], kind: Kind, reading: Reading) -> tuple[Iterator[Text], Reading]:
    """Return the same texts, and how to read them: whether tabs part the fields, as the first row says."""
    if reading.tabbed is not None:
        return iter(given), reading
    seen: list[Text] = []
    rest = iter(given)
    tabbed = None
    for text in rest:
        seen.append(text)
        tabbed = first_is_tabbed(text.content, kind.width, reading.comments)
        if tabbed is not None:
            break
    return chain(seen, rest), reading._replace(tabbed=bool(tabbed))


def _stretches(
    given: Iterable[Text], kind: Kind, name: str, reading: Reading
) -> Iterator[tuple[Sequence[int], Columns]]:
    """Read line numbers and columns, a stretch a text that holds rows."""
    rows = 0
    given, reading = told_apart(given, kind, reading)
    for text in given:
        lines, columns = stretch(text, kind, name, reading)
        if lines:
            rows += len(lines)
            yield lines, columns
    if not rows:
        raise empty(name, kind)


def empty(name: str, kind: Kind) -> InputError:
    """Return the error for a file without rows."""
    expected = f"lines of {kind.width} columns ({' '.join(kind.columns)})"
    return InputError(f"{name}: is empty, expected {expected}")


def stretch(text: Text, kind: Kind, name: str, reading: Reading) -> tuple[Sequence[int], Columns]:
    """Return the number of each line with a row, and the rows' columns; `InputError` if one is wrong."""
    content, first = text
    if isinstance(first, int):
        refuse_bom(content, name, first)
    if not content.strip(b" \t\n"):
        return [], []
    columns = ordinary(content, kind, reading)
    if columns is not None:
        count = len(columns[0])
        return range(first, first + count) if isinstance(first, int) else first[:count], columns
    lines = content.split(b"\n")
    numbers = range(first, first + len(lines)) if isinstance(first, int) else first
    limits = reading.limits
    found, rows = read_lines(
        zip(numbers, lines, strict=False), kind, name, reading.comments, limits, bool(reading.tabbed)
    )
    columns = list(zip(*rows, strict=True))
    return found, with_numbers(columns, kind, limits) or [] if columns else []


def ordinary(content: bytes, kind: Kind, reading: Reading) -> Columns | None:
    """Return the columns of lines that are all as most are, or None if that is not plain to see."""
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n")
    if content.count(b"\n") * 2 * kind.width > len(content) + 1:
        return None  # some lines are too short to hold all fields
    if content.translate(None, _TEXT) or not (content.isascii() or _is_utf8(content)):
        return None
    if b"#" in content and reading.comments != "data" and (content.startswith(b"#") or b"\n#" in content):
        return None
    columns = _evenly_parted(content, kind.width) or _parted(content, kind.width, bool(reading.tabbed))
    if columns is None or _too_long(content, columns, kind, reading.limits):
        return None
    return with_numbers(columns, kind, reading.limits)


def _evenly_parted(content: bytes, width: int) -> Columns | None:
    """Return the columns if single blanks, or single tabs, part all fields; None where it is otherwise.

    The whole text is cut at once: then every seventh piece of a run has to be the end of a line.
    """
    if b"\t" in content:
        if b" " in content:
            return None
        content = content.replace(b"\t", b" ")
    content = content.removesuffix(b"\n")
    pieces = content.replace(b"\n", b" \n ").split(b" ")
    ends = content.count(b"\n")
    if pieces[width :: width + 1].count(b"\n") < ends or len(pieces) != (ends + 1) * (width + 1) - 1:
        return None
    if b"" in pieces:
        return None
    return [pieces[at :: width + 1] for at in range(width)]


def _parted(content: bytes, width: int, tabbed: bool) -> Columns | None:
    """Return the columns of lines that all have as many fields as they should; None where one has not."""
    lines = content.removesuffix(b"\n").split(b"\n")
    by_tabs = tabbed and b" " in content
    try:
        columns = list(zip(*map(_parts if by_tabs else bytes.split, lines), strict=True))
    except ValueError:
        return None
    return columns if len(columns) == width and (not by_tabs or all(map(all, columns))) else None


def _parts(line: bytes) -> list[bytes]:
    return [part.strip(b" ") for part in line.split(b"\t")]


def _too_long(content: bytes, columns: Columns, kind: Kind, limits: Limits) -> bool:
    if len(content) > limits.line and len(max(content.split(b"\n"), key=len)) > limits.line:
        return True
    return any(max(map(len, columns[at])) > limits.id for at in kind.ids)


def with_numbers(columns: Columns, kind: Kind, limits: Limits) -> Columns | None:
    """Return the columns, that of scores or grades as numbers; None if one is none."""
    words = columns[kind.number]
    numbers = _scores(words) if kind is RUN else _grades(words, limits.grade)
    if numbers is None:
        return None
    return [*columns[: kind.number], numbers, *columns[kind.number + 1 :]]


def _scores(words: Sequence[bytes]) -> list[float] | None:
    """Return finite decimal numbers: `float` takes nothing else of these characters."""
    if b"".join(words).translate(None, b"0123456789+-.eE"):
        return None
    try:
        scores = list(map(float, words))
    except ValueError:
        return None
    return scores if max(scores) < float("inf") and min(scores) > -float("inf") else None


def _grades(words: Sequence[bytes], largest: int) -> list[int] | None:
    number = {}
    for word in set(words):
        found = grade(word, largest)
        if found is None:
            return None
        number[word] = found
    return [number[word] for word in words]


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _without_bom(text: bytes, name: str) -> bytes:
    if text.startswith(_UTF16_BOMS):
        raise InputError(
            f"{name}:1: the file is UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8"
        )
    return text.removeprefix(_UTF8_BOM)
