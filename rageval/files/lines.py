"""Lines of columns one by one: what is unusual but right is read, what is wrong is explained.

This is the specification of TREC's lines. `files.trec` reads ordinary stretches of them as a whole, and the
compiled reader does, too; both hand over whatever they do not understand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from rageval.errors import InputError
from rageval.files.limits import DEFAULT, Limits

SCORE = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
GRADE = re.compile(rb"[+-]?\d{1,7}", re.ASCII)
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_SHOWN_ERRORS = 10
_BOM = b"\xef\xbb\xbf"


class Kind(NamedTuple):
    """A format of lines and columns: its name, its columns, which of them are ids, where the number is."""

    name: str
    columns: tuple[str, ...]
    ids: tuple[int, ...]
    number: int

    @property
    def width(self) -> int:
        return len(self.columns)


RUN = Kind("run", ("qid", "Q0", "docid", "rank", "score", "tag"), (0, 2), 4)
QRELS = Kind("qrels", ("qid", "nugget", "docid", "grade"), (0, 1, 2), 3)


class Findings:
    """What is wrong with a file: the first ten in full, the others as a count."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.count = 0

    def add(self, message: str) -> None:
        self.count += 1
        if len(self.shown) < _SHOWN_ERRORS:
            self.shown.append(message)

    def raise_if_any(self) -> None:
        if self.count:
            more = self.count - len(self.shown)
            raise InputError("\n".join([*self.shown, *([f"… and {more:,} more such lines"] if more else [])]))


def refuse_bom(text: bytes, name: str, first_line: int) -> None:
    """`InputError` if a line begins with a byte-order mark, which would become part of an id."""
    if _BOM[:1] not in text:  # looked for first, being one byte: that is ten times as fast
        return
    at = 0 if text.startswith(_BOM) else text.find(b"\n" + _BOM) + 1
    if at or text.startswith(_BOM):
        line = first_line + text.count(b"\n", 0, at)
        raise InputError(
            f"{name}:{line}: begins with a byte-order mark, expected one at the file's start at most (were"
            " files joined by cat?); take it out: sed -i '2,$s/^\\xEF\\xBB\\xBF//'"
        )


def read_lines(
    lines: Iterable[tuple[int, bytes]],
    kind: Kind,
    source: str,
    comments: str = "error",
    limits: Limits = DEFAULT,
    tabbed: bool = False,
) -> tuple[list[int], list[list[bytes]]]:
    """Return number and fields of every line, given each with its number; `InputError` if one is wrong."""
    numbers: list[int] = []
    rows: list[list[bytes]] = []
    findings = Findings()
    for number, ended in lines:
        content = ended.removesuffix(b"\r")
        if _holds_nothing(content, comments):
            continue
        found = spans_of(content, kind, tabbed)
        problem = problem_in(content, found, kind, comments, limits)
        if problem:
            findings.add(f"{source}:{number}: {problem}")
        else:
            numbers.append(number)
            rows.append([content[left:right] for left, right in found])
    findings.raise_if_any()
    return numbers, rows


def score(text: bytes) -> float | None:
    """One score, or None if it is no finite decimal number in ASCII."""
    if not SCORE.fullmatch(text):
        return None
    number = float(text)
    return number if abs(number) != float("inf") else None


def grade(text: bytes, largest: int) -> int | None:
    """One grade, or None."""
    if not GRADE.fullmatch(text):
        return None
    number = int(text)
    return number if abs(number) <= largest else None


def first_is_tabbed(text: bytes, width: int, comments: str) -> bool | None:
    """Whether tabs part the fields of the first row, which decides for its file; None if there is no row."""
    begin = 0
    while begin < len(text):  # line by line, as the first mostly tells
        end = text.find(b"\n", begin)
        end = len(text) if end < 0 else end
        content = text[begin:end].removesuffix(b"\r")
        if not _holds_nothing(content, comments):
            return is_tabbed(content, width)
        begin = end + 1
    return None


def _holds_nothing(content: bytes, comments: str) -> bool:
    return not content.strip(b" \t") or (comments == "skip" and content.startswith(b"#"))


def spans_of(content: bytes, kind: Kind, tabbed: bool) -> list[tuple[int, int]]:
    """Start and end of every field of a line, in a file whose fields tabs part, or blanks."""
    found = _by_blanks(content)
    if _has_tabs(content, kind.width) and (tabbed or len(found) != kind.width):
        return _by_tabs(content)
    return found


def is_tabbed(content: bytes, width: int) -> bool:
    """Whether tabs part the fields of this line, so that ids may hold spaces."""
    return _has_tabs(content, width) and all(part.strip(b" ") for part in content.split(b"\t"))


def _has_tabs(content: bytes, width: int) -> bool:
    return content.count(b"\t") == width - 1


def _by_tabs(content: bytes) -> list[tuple[int, int]]:
    """Spans of the fields, without the blanks around them."""
    spans = []
    start = 0
    for part in content.split(b"\t"):
        left = start + len(part) - len(part.lstrip(b" "))
        spans.append((left, max(left, start + len(part.rstrip(b" ")))))
        start += len(part) + 1
    return spans


def _by_blanks(content: bytes) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(rb"[^ \t]+", content)]


def problem_in(
    content: bytes, found: list[tuple[int, int]], kind: Kind, comments: str, limits: Limits
) -> str | None:
    """What is wrong with a line, or None."""
    return (
        bad_bytes(content, limits)
        or _comment(content, comments)
        or _bad_shape(content, found, kind)
        or _bad_value([content[left:right] for left, right in found], kind, limits)
    )


def bad_bytes(content: bytes, limits: Limits) -> str | None:
    """What is wrong with the bytes of a line: too many, control bytes, not UTF-8."""
    if len(content) > limits.line:
        return f"a line of more than {limits.line:,} bytes; raise the limit with --limit line=…"
    control = _CONTROL.search(content)
    if control:
        at, byte = control.start() + 1, control.group()[0]
        if byte == 13:
            return f"byte {at} is a carriage return inside the line; expected lines that end in \\n or \\r\\n"
        return f"byte {at} is the control byte 0x{byte:02x}; expected text (is the file binary, or UTF-16?)"
    try:
        content.decode()
    except UnicodeDecodeError as error:
        byte = content[error.start]
        return (
            f"byte {error.start + 1} is 0x{byte:02x}, which is not UTF-8; convert the file (iconv -t UTF-8)"
        )
    return None


def _comment(content: bytes, comments: str) -> str | None:
    if content.startswith(b"#") and comments != "data":
        return (
            "begins with '#': say --comments skip if this is a comment,"
            " or --comments data if ids begin with '#'"
        )
    return None


def _bad_shape(content: bytes, found: list[tuple[int, int]], kind: Kind) -> str | None:
    expected = " ".join(kind.columns)
    if len(found) != kind.width:
        hint = "; ids with spaces need a tab-separated file" if len(found) > kind.width else ""
        return f"expected {kind.width} columns ({expected}), found {len(found)}: {quoted(content)}{hint}"
    empty = [kind.columns[at] for at, (left, right) in enumerate(found) if left == right]
    return (
        f"expected {kind.width} columns ({expected}), found nothing in {empty[0]}: {quoted(content)}"
        if empty
        else None
    )


def _bad_value(values: list[bytes], kind: Kind, limits: Limits) -> str | None:
    for at in kind.ids:
        if len(values[at]) > limits.id:
            column = kind.columns[at]
            return (
                f"a {column} of {len(values[at]):,} bytes, expected at most {limits.id:,}; see --limit id=…"
            )
    text = values[kind.number]
    if kind.columns[kind.number] == "score":
        if score(text) is None:
            return f"expected a finite decimal number as score, found {quoted(text)}"
    elif grade(text, limits.grade) is None:
        largest = f"{limits.grade:,}"
        return f"expected a whole number from -{largest} to {largest} as grade, found {quoted(text)}"
    return None


def quoted(content: bytes, longest: int = 80) -> str:
    """The text as an error message may show it: short, and with nothing a terminal would obey."""
    text = content[: 4 * longest].decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= longest else text[:longest] + "…")
