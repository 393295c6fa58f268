"""Tables: typed columns of values, and the printers that write them, one a format.

Numbers stay numbers until a printer writes them. A printer knows no measure and no claim: what is bold, which
letters stand beside a number and on what it rests was decided where the table was made.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar
from unicodedata import normalize

from rageval.errors import MissingPackage, UsageError
from rageval.text import parted_at_formulas, visible

if TYPE_CHECKING:
    import pandas

    from rageval.hooks import Hook

_Shown = TypeVar("_Shown")
_Record = TypeVar("_Record")

# The kinds of columns. A word in a column of numbers ("not reachable") is written as it is.
TEXT, NUMBER, COUNT, P, INTERVAL, TALLY = "text", "number", "count", "p", "interval", "tally"
BRIEF = "brief"  # a number without zeros at its end


class Column(NamedTuple):
    """The name and kind of a column, and how its values are written.

    `sign` is that of Python's formats: `+` writes every sign, `z` drops the minus of what rounds to 0. A p
    has four places, or two digits if it is small. `none` is written for a missing value, `nan` for an
    undefined one (Python's own word if None). `latex_head`, text with formulas, is the head in LaTeX. A
    column `is_for_programs` if formats that people read leave it out.
    """

    name: str
    kind: str = TEXT
    places: int = 4
    sign: str = ""
    none: str = ""
    nan: str | None = None
    latex_head: str = ""
    is_for_programs: bool = False

    def written(self, value: Any, *, plain: bool = False) -> str:
        """Return a value as text; `plain` for a program, which reads no thousands' commas."""
        if isinstance(value, str):
            return value
        if isinstance(value, Marked):
            return self.written(value.value, plain=plain)
        if value is None:
            return self.none
        if value != value and self.nan is not None:
            return self.nan
        match self.kind:
            case "number":  # the first, as most are, and tables are long
                return f"{value:{self.sign}.{self.places}f}"
            case "count":
                digits = "d" if isinstance(value, int) else ".0f"  # a whole number may be beyond any float
                return f"{value:{digits}}" if plain else f"{value:,{digits}}"
            case "p":
                if plain:
                    return f"{value:.6g}"
                return f"{value:.1e}" if value < 0.001 else f"{value:.4f}"
            case "interval":
                return f"[{', '.join(f'{end:{self.sign}.{self.places}f}' for end in value)}]"
            case "brief":
                return f"{value:,.{self.places}f}".rstrip("0").rstrip(".")
            case "tally":
                return "-".join(map(str, value))
        return str(value)

    def read(self, value: Any) -> str:
        """Return a value as text, with all that stands beside it."""
        if not isinstance(value, Marked):
            return self.written(value)
        letters = f" > {','.join(value.letters)}" if value.letters else ""
        return f"{self.written(value.value)}{_addition(value, self)}{value.note}{letters}"


class Marked(NamedTuple):
    """A value with its interval, a `small` text, a note and the letters of the runs that it beats.

    `small` and `typeset`, which LaTeX prints in place of the value, are texts with formulas.
    """

    value: Any
    interval: tuple[float, float] | None = None
    small: str = ""
    note: str = ""
    letters: Sequence[str] = ()
    is_bold: bool = False
    typeset: str = ""


class Table(NamedTuple):
    """Columns and rows. The first `label_columns` name what a row is about.

    Label columns are aligned left, the others right. A table that is cut to fit a terminal repeats its label
    columns. A terminal that is too narrow gets the table `narrow` instead, and so does a file if the table is
    wider than `widest`.
    """

    columns: Sequence[Column]
    rows: Iterable[Sequence[Any]]
    label_columns: int = 1
    title: str = ""
    notes: Sequence[str] = ()
    narrow: Table | None = None
    widest: int | None = None


def table_of(
    cells: Iterable[tuple[Column, Callable[[_Record], Any]]],
    records: Iterable[_Record],
    label_columns: int = 1,
    title: str = "",
) -> Table:
    """Return a table with a row for each record; `cells` are the columns, and what each shows of a record.

    >>> table_of([(Column("name"), str.lower), (Column("length", COUNT), len)], ["A", "Bc"]).rows
    [['a', 1], ['bc', 2]]
    """
    columns, shows = zip(*cells, strict=True)
    return Table(columns, [[show(record) for show in shows] for record in records], label_columns, title)


class Prose(str):
    """A sentence, which a terminal breaks where a line is full; plain `str` stays one line."""

    __slots__ = ()


class Headline(Prose):
    """The result in a sentence, which a terminal prints in bold."""

    __slots__ = ()


class Good(str):
    """Text of a good result, which a terminal prints in green."""

    __slots__ = ()


class Bad(str):
    """Text of a bad result, which a terminal prints in red."""

    __slots__ = ()


class Code(str):
    """Text to be copied as it stands, such as a signature."""

    __slots__ = ()


def finite(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with None for what is not a number or has no end, of which JSON has none."""
    return {name: or_none(value) for name, value in record.items()}


def or_none(value: Any) -> Any:
    """Return None for a number that is not finite, and all else as it is."""
    # Only a float can be inf or NaN, and inf - inf is NaN, too.
    return None if isinstance(value, float) and value - value != 0 else value


def as_json(value: Any, *, indent: int | None = 2) -> str:
    """Return JSON that is ASCII and holds no NaN, whoever reads it."""
    import json

    return json.dumps(value, indent=indent, ensure_ascii=True, allow_nan=False)


# --- printers


Parts = Iterable[Table | str]


class Printer:
    """How a format writes a result: for people its parts, tables and what is said between them."""

    def result(self, parts: Any, data: Any, records: Any, record: Any) -> Iterator[str]:
        """Yield the lines of a result, as `lines` says it."""
        for part in parts():
            yield from self.table(part) if isinstance(part, Table) else self.text(part)

    def table(self, table: Table) -> Iterator[str]:
        """Yield the lines of a table."""
        raise NotImplementedError

    def text(self, text: str) -> Iterator[str]:
        """Yield the lines of what is said between tables."""
        raise NotImplementedError


class _Terminal(Printer):
    """Columns for reading, in as many tables as the width asks for."""

    def table(self, table: Table) -> Iterator[str]:
        width = terminal_width()
        limit = width or table.widest
        shown = _shown(table)
        widths = (max(map(len, column)) + 2 for column in zip(*shown, strict=True))
        if table.narrow is not None and limit and sum(widths) - 2 > limit:
            table = table.narrow
            shown = _shown(table)
        if table.title:
            yield visible(table.title)
        yield from _draw_table(shown, table.label_columns, width, paint=in_color())
        for note in table.notes:
            yield from self.text(Prose(note))

    def text(self, text: str) -> Iterator[str]:
        if isinstance(text, Headline) and in_color():
            yield from (painted(text, line) for line in wrapped(visible(text)))
        elif isinstance(text, Prose):
            yield from wrapped(visible(text))
        elif isinstance(text, Code):
            yield from wrapped(visible(text), "|")
        else:
            yield visible(text)


class _Markdown(Printer):
    def table(self, table: Table) -> Iterator[str]:
        if table.title:
            yield from (md_line(table.title), "")
        head, *body = _grid(table)
        yield f"| {' | '.join(map(md_text, head))} |"
        marks = [" --- "] * table.label_columns + [" ---: "] * (len(head) - table.label_columns)
        yield f"|{'|'.join(marks)}|"
        yield from (f"| {' | '.join(map(md_text, row))} |" for row in body)
        if table.notes:
            yield from ("", *map(md_line, table.notes))

    def text(self, text: str) -> Iterator[str]:
        yield md_code(text) if isinstance(text, Code) else md_line(text)


class _Latex(Printer):
    """A tabular for booktabs; what is `Latex` already stands as it is."""

    def table(self, table: Table) -> Iterator[str]:
        yield from self.text(table.title)
        columns, rows = _without_program_columns(table)
        yield f"\\begin{{tabular}}{{{'l' * table.label_columns}{'r' * (len(columns) - table.label_columns)}}}"
        yield "\\toprule"
        heads = (
            latex_typeset(column.latex_head) if column.latex_head else latex_text(column.name)
            for column in columns
        )
        yield " & ".join(heads) + r" \\"
        yield "\\midrule"
        for row in rows:
            yield " & ".join(map(_latex_cell, row, columns)) + r" \\"
        yield "\\bottomrule"
        yield "\\end{tabular}"
        for note in table.notes:  # not as comments: who reads the paper is to see them
            yield from self.text(note)

    def text(self, text: str) -> Iterator[str]:
        if isinstance(text, Latex):
            yield text
        elif text:
            yield f"% {visible(text)}" if isinstance(text, Code) else _par(latex_text(text))


class _Html(Printer):
    """A table without looks, for a page that has its own."""

    def table(self, table: Table) -> Iterator[str]:
        columns, rows = _without_program_columns(table)
        title = f"<caption>{html_text(table.title)}</caption>" if table.title else ""
        yield f"<table>{title}" + _html_row("th", (html_text(column.name) for column in columns))
        yield from (_html_row("td", cells) for cells in self.cells(columns, rows))
        yield "</table>"
        for note in table.notes:
            yield from self.text(note)

    def cells(self, columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> Iterator[list[str]]:
        """Yield the cells of each row."""
        for row in rows:
            yield [*map(_html_cell, row, columns)]

    def text(self, text: str) -> Iterator[str]:
        shown = html_text(text)
        if shown:
            yield f"<p><code>{shown}</code></p>" if isinstance(text, Code) else f"<p>{shown}</p>"


class _Rows(Printer):
    """A line a row, for programs and spreadsheets."""

    def __init__(self, joint: str, cell: Callable[[str], str]) -> None:
        self._joint, self._cell = joint, cell

    def result(self, parts: Any, data: Any, records: Any, record: Any) -> Iterator[str]:
        yield from self.table(data())

    def table(self, table: Table) -> Iterator[str]:
        yield self._joint.join(self._cell(column.name) for column in table.columns)
        for row in table.rows:
            yield self._joint.join(map(self._shown, row, table.columns))

    def _shown(self, value: Any, column: Column) -> str:
        if isinstance(value, str):
            return self._cell(value)
        text = column.written(value, plain=True)
        return self._cell(text) if column.kind == TEXT else text


class _JsonLines(Printer):
    """An object a row, whose numbers have every digit."""

    def result(self, parts: Any, data: Any, records: Any, record: Any) -> Iterator[str]:
        rows = records() if records else records_of(data())
        yield from (as_json(row, indent=None) for row in rows)


class _Json(Printer):
    """One object with everything, or a list of all rows."""

    def result(self, parts: Any, data: Any, records: Any, record: Any) -> Iterator[str]:
        yield as_json(record() if record else list(records() if records else records_of(data())))


def records_of(table: Table) -> Iterator[dict[str, Any]]:
    """Yield the rows as records; what is not defined is None."""
    for row in table.rows:
        values = (value.value if isinstance(value, Marked) else value for value in row)
        yield finite(dict(zip([column.name for column in table.columns], values, strict=True)))


def lines(
    style: str,
    parts: Callable[[], Parts],
    data: Callable[[], Table] | None = None,
    records: Callable[[], Iterable[Mapping[str, Any]]] | None = None,
    record: Callable[[], Any] | None = None,
) -> Iterator[str]:
    """Yield the lines of a result in one of `FORMATS`; only what the format needs is made.

    Parameters
    ----------
    style
        The format.
    parts
        What people read: tables, and what is said between them.
    data
        What spreadsheets read: one table.
    records
        A record for each line of JSON lines (default: the rows of `data`).
    record
        Everything as one object, for JSON (default: a list of the records).
    """
    yield from PRINTERS[style].result(parts, data, records, record)


def _without_program_columns(table: Table) -> tuple[list[Column], Iterator[list[Any]]]:
    """Return the columns and rows without the columns for programs."""
    kept = [index for index, column in enumerate(table.columns) if not column.is_for_programs]
    return [table.columns[index] for index in kept], ([row[index] for index in kept] for row in table.rows)


def _grid(table: Table) -> list[list[str]]:
    """Return a table as text, for reading; the first row is the head."""
    columns, rows = _without_program_columns(table)
    return [[column.name for column in columns], *(list(map(Column.read, columns, row)) for row in rows)]


def _addition(cell: Marked, column: Column) -> str:
    """Return the interval, and what is small, each behind a blank."""
    shown = f" {cell.small}" if cell.small else ""
    if cell.interval is None:
        return shown
    low, high = (f"{end:{column.sign}.{column.places}f}" for end in cell.interval)
    return f" [{low}, {high}]{shown}"


# --- the terminal

_SHORTEST = 12  # characters that are left of a name
_SHORTEST_TOGETHER = 6  # and where that keeps a table in one piece
_NARROWEST = 40  # columns: a terminal that says it has fewer is not believed


_is_into_file = False


@contextmanager
def into_file() -> Iterator[None]:
    """Within, write tables as into a file, also where somebody is looking at the terminal."""
    global _is_into_file
    before, _is_into_file = _is_into_file, True
    try:
        yield
    finally:
        _is_into_file = before


def on_terminal() -> bool:
    """Return whether somebody is looking."""
    return not _is_into_file and sys.stdout is not None and sys.stdout.isatty()


# What a terminal is told before a text, by the text's kind; none of it is in a file or a pipe.
_PAINT = {Headline: "1", Good: "32", Bad: "31"}


def in_color() -> bool:
    """Return whether somebody is looking at a terminal with colors, and wants them (https://no-color.org)."""
    return on_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(text: str, shown: str) -> str:
    """Return what is shown of a text in the color of its kind."""
    code = _PAINT.get(type(text))
    return shown if code is None else f"\x1b[{code}m{shown}\x1b[0m"


def terminal_width() -> int | None:
    """Return how many characters fit on a line, where somebody is looking or COLUMNS says it."""
    # In a pipe or a file no line is cut: whoever reads it there may search for whole names.
    if _is_into_file or (not os.environ.get("COLUMNS") and not on_terminal()):
        return None
    import shutil

    # Some terminals say 0 or 1.
    return max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def wrapped(text: str, between: str = " ") -> Iterator[str]:
    """Cut a line for the terminal, where `between` stands; what is not looked at stays one line."""
    width = terminal_width()
    line = ""
    for part in text.split(between):
        longer = f"{line}{between}{part}" if line else part
        # What parts the words stays at the end of the line, and needs its place there.
        if line and width is not None and len(longer) + len(between.strip()) > width:
            yield line + between.rstrip()
            line = part
        else:
            line = longer
    yield line


def _shown(table: Table) -> list[list[str]]:
    """Return a table as text that a terminal does not obey."""
    return [[_shown_cell(cell) for cell in row] for row in _grid(table)]


def _shown_cell(cell: str) -> str:
    """Return a cell without what a terminal obeys; it stays of its kind where that has a color."""
    kind = type(cell)
    return kind(visible(cell)) if kind in _PAINT else visible(cell)


def drawn(table: Table, width: int | None = None, *, together: bool = False) -> Iterator[str]:
    """Yield columns for reading: labels, then what stands right.

    What is wider than `width` is cut into several tables, each with the labels. Names are shortened where
    they leave no space for one number next to them; to keep all `together`, for all numbers.
    """
    return _draw_table(_shown(table), table.label_columns, width, together)


def _draw_table(
    shown: list[list[str]], labels: int, width: int | None, together: bool = False, *, paint: bool = False
) -> Iterator[str]:
    if width is None:
        yield from columns(shown, labels, is_ruled=True, paint=paint)
        return
    repeated = labels if together or labels < len(shown[0]) else 1
    _shorten_labels(shown, repeated, width, together)
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for number, kept in enumerate(_column_groups(widths, repeated, width)):
        if number:
            yield ""
        yield from columns(
            [[row[index] for index in kept] for row in shown],
            min(labels, len(kept)),
            is_ruled=True,
            paint=paint,
        )


def columns(
    shown: Sequence[Sequence[str]],
    labels: int | None = None,
    *,
    is_ruled: bool = False,
    paint: bool = False,
) -> Iterator[str]:
    """Yield rows of text in columns; labels (by default all) stand left, and the head may be ruled off.

    To `paint` is to color results, for a terminal.
    """
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for index, row in enumerate(shown):
        cells = [
            cell.ljust(width) if labels is None or column < labels else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        cells[-1] = cells[-1].rstrip()
        if paint:  # last, as colors take no place on the screen
            cells = list(map(painted, row, cells))
        yield "  ".join(cells).rstrip()
        if index == 0 and is_ruled:
            yield "  ".join("─" * width for width in widths)


def _shorten_labels(shown: list[list[str]], labels: int, width: int, together: bool) -> None:
    """Leave out the middle of names, the longest first, until there is room beside them."""
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    names, numbers = widths[:labels], widths[labels:]
    numbers_width = sum(numbers) + 2 * (len(numbers) - 1) if together else max(numbers, default=0)
    shortest = _SHORTEST_TOGETHER if together else _SHORTEST
    while (excess := sum(names) + 2 * labels + numbers_width - width) > 0 and max(names) > shortest:
        widest = names.index(max(names))
        least = max(names) - 1 if together else 0  # one by one, so that all names give as much
        names[widest] = max(shortest, least, names[widest] - excess)
    for row in shown:
        row[:labels] = map(shortened, row, names)


def shortened(name: str, room: int) -> str:
    """Return a name with its middle left out, if it is too long."""
    if len(name) <= room:
        return name
    return f"{name[: (room - 1) // 2]}…{name[len(name) - room // 2 :]}"


def _column_groups(widths: Sequence[int], labels: int, width: int) -> Iterator[list[int]]:
    """Yield the columns of each table: the text, and as many numbers as fit beside it."""
    first = list(range(labels))
    columns = first
    for column in range(labels, len(widths)):
        if columns != first and sum(widths[index] + 2 for index in [*columns, column]) - 2 > width:
            yield columns
            columns = first
        columns = [*columns, column]
    yield columns


# --- Markdown

# An underscore within a word means nothing; an address is a link where it stands, even without brackets.
# Brackets mean something before what they are joined to: `[0.1, 0.2]` stays as it is.
_MD = r"[\\`*~|$^<&]|\](?=[(\[\]:{])|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=[wW])\."
_MD_BLOCK = r"([-+=#>])|(\d+)([.)])"
_MD_ENTITIES = {"<": "&lt;", "&": "&amp;"}


def md_text(text: str) -> str:
    """Write text as Markdown shows it: no link, no picture, no HTML, no mark-up."""
    # Names of files and queries come from others, and must not become links or HTML in somebody's README.
    return re.sub(_MD, lambda match: _MD_ENTITIES.get(match[0], "\\" + match[0]), visible(text))


def md_code(text: str) -> str:
    """Write text as code, to be copied as it stands."""
    shown = visible(text)
    # A backtick would end the code early.
    return md_text(shown) if "`" in shown else f"`{shown}`"


def md_line(text: str) -> str:
    """Write a line of text for itself, which begins no list, no heading and no quotation."""
    shown = md_text(text).lstrip()
    block = re.match(_MD_BLOCK, shown)
    if block is None:
        return shown
    return "\\" + shown if block[1] else f"{block[2]}\\{shown[len(block[2]) :]}"


# --- LaTeX


class Latex(str):
    """Text that is LaTeX already, and stands in a table as it is."""

    __slots__ = ()


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}
_LIGATURE = r"(?<=-)-|(?<=')'|(?<=`)`|(?<=[!?])`|(?<=,),"  # two characters that print as one
_LATIN = 0x17F  # the last character of Latin Extended-A, which pdfLaTeX prints
_AFTER_ROW = r"\s*[\[*]"  # at the end of the row before, it would be an option of that


def _latex_cell(cell: Any, column: Column) -> str:
    if not isinstance(cell, Marked):
        return latex_text(column.written(cell))
    shown = latex_typeset(cell.typeset) if cell.typeset else latex_text(column.written(cell))
    if cell.is_bold:
        shown = Latex(f"\\textbf{{{shown}}}")
    letters = f"$^{{\\mathrm{{{','.join(cell.letters)}}}}}$" if cell.letters else ""
    addition = _addition(cell, column).strip()
    small = f" {{\\footnotesize {latex_typeset(addition).removeprefix('{}')}}}" if addition else ""
    return f"{shown}{letters}{small}{latex_text(cell.note)}"


def latex_table(tabular: Iterable[str], caption: str, label: str, notes: Iterable[str] = ()) -> Iterator[str]:
    """Yield a table with its caption, label and notes; an empty caption leaves the tabular alone.

    Caption and notes are text, with formulas between dollar signs.
    """
    if not re.fullmatch(r"[A-Za-z0-9_:./+-]+", label):
        raise UsageError(
            f"label {visible(label)!r}: expected letters, digits and any of : . _ / + -, as in tab:runs"
        )
    tabular = list(tabular)
    if any(ord(character) > _LATIN for character in "".join([*tabular, caption])):
        yield "% holds characters that pdfLaTeX may lack; LuaLaTeX and XeLaTeX print them"
    if caption:
        yield from ("\\begin{table}", "\\centering", f"\\caption{{{latex_typeset(caption)}}}")
        yield f"\\label{{{label}}}"
    yield from tabular
    yield from (_par(latex_typeset(note)) for note in notes)
    if caption:
        yield "\\end{table}"


def _par(text: str) -> str:
    return f"\\par{{\\footnotesize {text}}}"


def label_of(usual: str, label: str | None, caption: str | None) -> str:
    """Return what a table is labeled: what was said, or the usual."""
    if label is not None and caption == "":
        raise UsageError(
            f"label {visible(label)!r}: an empty caption leaves the tabular alone, which has no label; leave"
            " out one of the two"
        )
    return usual if label is None else label


def latex_typeset(text: str) -> Latex:
    r"""Return text with formulas between dollar signs as LaTeX prints it.

    >>> print(latex_typeset(r"$\alpha$-nDCG of a_b, 5 \$"))
    $\alpha$-nDCG of a\_b, 5 \$
    """
    parts = parted_at_formulas(text)
    return Latex(
        "".join(_formula(part) if index % 2 else latex_text(part) for index, part in enumerate(parts))
    )


def _formula(part: str) -> str:
    """Return a formula; as text, where its braces would end what it stands in, or swallow it."""
    depths = list(accumulate((brace == "{") - (brace == "}") for brace in re.sub(r"\\[{}]", "", part)))
    if not part.strip() or min(depths) < 0 or depths[-1]:
        return latex_text(f"${part}$")
    # What is written out elsewhere would be a command here.
    shown = "".join(character if visible(character) == character else " " for character in part)
    return "$" + re.sub(r"(?<!\\)[%#&]", r"\\\g<0>", shown) + "$"


def latex_text(cell: str) -> str:
    """Text as LaTeX prints it."""
    if isinstance(cell, Latex):
        return cell
    shown = "".join(_LATEX.get(character, character) for character in visible(cell))
    parted = re.sub(_LIGATURE, "{}\\g<0>", shown)
    return "{}" + parted if re.match(_AFTER_ROW, parted) else parted


# --- HTML


def html_text(text: str) -> str:
    """Return text as HTML shows it."""
    from html import escape

    return escape(visible(text))


class _Scale(NamedTuple):
    """From where to where the intervals of a column reach; from 0 or to 0, where their signs are written."""

    low: float
    high: float
    has_zero: bool

    @classmethod
    def of_column(cls, column: Column, cells: Iterable[Any]) -> _Scale | None:
        """Return the scale of a column; None where no interval has two ends."""
        ends = [point for cell in cells for point in _points_of(cell)]
        has_zero = column.sign.startswith("+")
        ends += [0.0] * (has_zero and bool(ends))
        return cls(min(ends), max(ends), has_zero) if ends and min(ends) < max(ends) else None

    def bar(self, cell: Any) -> str:
        """Return a small picture of an interval: a line with a dot, and a mark at 0."""
        points = _points_of(cell)
        if not points:
            return ""
        middle, left, right = map(self._place, points)
        zero = f'<path d="M{self._place(0.0)} 0v12" stroke="#999"/>' if self.has_zero else ""
        return (
            '<svg width="80" height="12" viewBox="0 0 80 12" aria-hidden="true"'
            f' style="vertical-align:middle;margin-left:.5em">{zero}<path d="M{left} 6H{right}"'
            f' stroke="currentColor" stroke-width="2"/><circle cx="{middle}" cy="6" r="3"'
            ' fill="currentColor"/></svg>'
        )

    def _place(self, value: float) -> str:
        return f"{4 + 72 * (value - self.low) / (self.high - self.low):.1f}"


def _points_of(cell: Any) -> tuple[float, ...]:
    """Return a cell's value and the ends of its interval; nothing where one of them is no finite number."""
    if not isinstance(cell, Marked) or cell.interval is None:
        return ()
    points = (cell.value, *cell.interval)
    return points if all(isinstance(point, int | float) and math.isfinite(point) for point in points) else ()


class _Notebook(_Html):
    """A table of a notebook: intervals are small bars, too."""

    def cells(self, columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> Iterator[list[str]]:
        rows = list(rows)
        scales = [
            _Scale.of_column(column, (row[index] for row in rows)) for index, column in enumerate(columns)
        ]
        for row, texts in zip(rows, super().cells(columns, rows), strict=True):
            yield [
                text + (scale.bar(cell) if scale else "")
                for text, cell, scale in zip(texts, row, scales, strict=True)
            ]


def _html_row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>"


def _html_cell(cell: Any, column: Column) -> str:
    shown = html_text(column.written(cell))
    if not isinstance(cell, Marked):
        return shown
    shown = f"<b>{shown}</b>" if cell.is_bold else shown
    letters = f"<sup>{html_text(','.join(cell.letters))}</sup>" if cell.letters else ""
    return shown + letters + html_text(_addition(cell, column) + cell.note)


# --- cells that a spreadsheet may open
#
# What other programs read back as data (runs, qrels, topics, lines of trec_eval) is no table for people, and
# is written as it is.

# What begins a formula, whatever white space (or an apostrophe that is ours) stands before it.
_SPREADSHEET = r"[\s']*([^\s'])"
_BEGINS = frozenset("=+-@\u2212")


def csv_cell(text: str) -> str:
    """Return a cell of CSV that no spreadsheet computes.

    >>> csv_cell("=1+1"), csv_cell("a,b")
    ('"\\'=1+1"', '"a,b"')
    """
    shown = _no_formula(text)
    # Also the semicolon: where a comma is the decimal point, spreadsheets part cells by it.
    if any(character in shown for character in ",;\"'\n") or shown != shown.strip():
        shown = '"' + shown.replace('"', '""') + '"'
    return shown


def tab_cell(text: str) -> str:
    """Return a cell between tabs that no spreadsheet computes.

    >>> tab_cell("=1+1"), tab_cell("a,b")
    ("'=1+1", 'a,b')
    """
    shown = _no_formula(text)
    # A quotation mark at the start would begin a cell that takes in the cells and lines behind it.
    return '"' + shown.replace('"', '""') + '"' if shown.startswith('"') else shown


def _no_formula(cell: str) -> str:
    """Return a cell no spreadsheet takes for a formula and no terminal for a command.

    An apostrophe stands before what would be one, as before an apostrophe that stands there itself.
    """
    shown = visible(cell)
    # Spreadsheets run formulas that they find in a file, which may start programs.
    first = re.match(_SPREADSHEET, cell)
    # Full-width signs such as ＝ are taken for the plain ones by some of them.
    if (first and normalize("NFKC", first[1])[0] in _BEGINS) or cell[:1] in ("\t", "\r"):
        shown = "'" + shown
    return shown


PRINTERS: dict[str, Printer] = {
    "table": _Terminal(),
    "md": _Markdown(),
    "latex": _Latex(),
    "html": _Html(),
    "csv": _Rows(",", csv_cell),
    "tsv": _Rows("\t", tab_cell),
    "json": _Json(),
    "jsonl": _JsonLines(),
}
FORMATS = tuple(PRINTERS)


# --- objects that people look at


class Display(Generic[_Shown]):
    """What an object shows: its table, all of its tables, and sentences."""

    def __init__(self, shown: _Shown) -> None:
        self.shown = shown

    def table(self) -> Table:
        """Return the table, with its title."""
        raise NotImplementedError

    def tables(self) -> list[Table]:
        """Return all tables."""
        return [self.table()]

    def sentences(self) -> list[str]:
        """Return what should be known besides."""
        return []


def fitted(parts: Iterable[Table | str]) -> str:
    """Return tables, and what is said between them, as wide as the terminal is."""
    from shutil import get_terminal_size

    width = get_terminal_size().columns
    lines = (drawn(part, width) if isinstance(part, Table) else _wrap(part, width) for part in parts)
    return "\n".join(chain.from_iterable(lines)).rstrip("\n")


class Displayed:
    """What people look at: the table of its `_display`, in a terminal, a notebook, LaTeX, a DataFrame.

    A terminal sees the first `_most` rows, and how many there are more; every other form has all of them.
    """

    __slots__ = ()
    _most: ClassVar[int | None] = None
    _display: ClassVar[Hook[[Any], Any]]

    def _table(self) -> Table:
        """Return what is shown, with its title."""
        table: Table = self._display(self).table()
        return table

    def tables(self) -> list[Table]:
        """Return it as tables; their numbers have every digit."""
        tables: list[Table] = self._display(self).tables()
        return tables

    def _records(self) -> Iterable[dict[str, Any]]:
        """Return the rows of the DataFrame, at full precision."""
        names = [column.name for column in self._table().columns]
        return (dict(zip(names, row, strict=True)) for row in self._table().rows)

    def _beneath(self) -> Iterable[str]:
        """Return what should be known beside the table."""
        return map(str, getattr(self, "remarks", ()))

    def __str__(self) -> str:
        from shutil import get_terminal_size

        table = self._table()
        rows = list(table.rows)
        shown = rows[: self._most]
        more = [f"… and {len(rows) - len(shown):,} more"] * (len(rows) > len(shown))
        width = get_terminal_size().columns
        body = drawn(table._replace(rows=shown), width, together=True)
        beneath = (part for note in self._beneath() for part in _wrap(note, width))
        return "\n".join([*_wrap(table.title, width), *body, *more, *beneath])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(_Notebook().table(self._table()._replace(notes=list(self._beneath()))))

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        """Return the table in LaTeX, for booktabs.

        Parameters
        ----------
        caption
            What stands above it: text, with formulas between dollar signs. Without one it is what the object
            is; an empty one leaves out all but the tabular.
        label
            By what a text refers to it.

        Returns
        -------
        str
            The table, each name in it as text that LaTeX prints and does not obey.
        """
        table = self._table()
        return "\n".join(
            latex_table(
                PRINTERS["latex"].table(table._replace(title="")),
                table.title.replace("$", r"\$") if caption is None else caption,
                label_of(f"tab:{type(self).__name__.lower()}", label, caption),
            )
        )

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame, at full precision."""
        return frame(self._records())


def _wrap(text: str, width: int) -> list[str]:
    """Return text in lines of this width; what has no blanks stays in one piece."""
    return wrap(visible(text), width, break_long_words=False, break_on_hyphens=False) or [""]


def frame(records: Iterable[dict[str, Any]], columns: Sequence[str] | None = None) -> pandas.DataFrame:
    """Return records as a DataFrame of pandas."""
    try:
        import pandas
    except ImportError:
        raise MissingPackage("pandas", "to_pandas()", extra="pandas") from None
    return pandas.DataFrame(list(records), columns=columns)
