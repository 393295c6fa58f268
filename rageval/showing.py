"""Show objects: as a table that fits a terminal, in a notebook, in LaTeX, in CSV, as a DataFrame."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from rageval.errors import MissingPackage, UsageError
from rageval.text import parted_at_formulas, visible

if TYPE_CHECKING:
    import pandas


Grid = Sequence[Sequence[str]]  # the first row is the header
_SHORTEST = 12  # characters that are left of a name
_SHORTEST_TOGETHER = 6  # and where that keeps a table in one piece


def table_lines(
    grid: Grid, labels: int, width: int | None = None, *, together: bool = False
) -> Iterator[str]:
    """Yield columns for reading; the first `labels` columns are text, the others numbers.

    What is wider than `width` is cut into several tables, each with the text columns. Names are shortened
    where they leave no room for one number beside them; to keep all `together`, for all numbers.
    """
    shown = [[visible(cell) for cell in row] for row in grid]
    if width is None:
        yield from _drawn(shown, labels)
        return
    repeated = labels if together or labels < len(grid[0]) else 1
    _shorten_labels(shown, repeated, width, together)
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for number, columns in enumerate(_fitting(widths, repeated, width)):
        if number:
            yield ""
        yield from _drawn([[row[at] for at in columns] for row in shown], min(labels, len(columns)))


def _drawn(shown: Grid, labels: int) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for at, row in enumerate(shown):
        cells = [
            cell.ljust(width) if column < labels else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
        if at == 0:
            yield "  ".join("─" * width for width in widths)


def _shorten_labels(shown: list[list[str]], labels: int, width: int, together: bool) -> None:
    """Leave out the middle of names, the longest first, until there is room beside them."""
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    names, numbers = widths[:labels], widths[labels:]
    beside = sum(numbers) + 2 * (len(numbers) - 1) if together else max(numbers, default=0)
    shortest = _SHORTEST_TOGETHER if together else _SHORTEST
    while (excess := sum(names) + 2 * labels + beside - width) > 0 and max(names) > shortest:
        widest = names.index(max(names))
        least = max(names) - 1 if together else 0  # one by one, so that all names give as much
        names[widest] = max(shortest, least, names[widest] - excess)
    for row in shown:
        row[:labels] = map(shortened, row, names)


def shortened(name: str, room: int) -> str:
    """Return a name with its middle left out, where there is no room for all of it."""
    if len(name) <= room:
        return name
    return f"{name[: (room - 1) // 2]}…{name[len(name) - room // 2 :]}"


def _fitting(widths: Sequence[int], labels: int, width: int) -> Iterator[list[int]]:
    """Yield the columns of each table: the text, and as many numbers as fit beside it."""
    first = list(range(labels))
    columns = first
    for column in range(labels, len(widths)):
        if columns != first and sum(widths[at] + 2 for at in [*columns, column]) - 2 > width:
            yield columns
            columns = first
        columns = [*columns, column]
    yield columns


class Latex(str):
    """Text that is LaTeX already, and stands in a table as it is."""

    __slots__ = ()


def latex_lines(grid: Grid, labels: int) -> Iterator[str]:
    """Yield a LaTeX tabular for booktabs; cells that are `Latex` stand in it as they are."""
    head, *body = grid
    yield f"\\begin{{tabular}}{{{'l' * labels}{'r' * (len(head) - labels)}}}"
    yield "\\toprule"
    yield " & ".join(map(latex_text, head)) + r" \\"
    yield "\\midrule"
    for row in body:
        yield " & ".join(map(latex_text, row)) + r" \\"
    yield "\\bottomrule"
    yield "\\end{tabular}"


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
    yield from (f"\\par{{\\footnotesize {latex_typeset(each)}}}" for each in notes)
    if caption:
        yield "\\end{table}"


def label_of(usual: str, label: str | None, caption: str | None) -> str:
    """Return what a table is labelled: what was said, or the usual."""
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
    return Latex("".join(_formula(part) if at % 2 else latex_text(part) for at, part in enumerate(parts)))


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
    parted = re.sub(_LIGATURE, "{}\\g<0>", "".join(map(_latex, visible(cell))))
    return "{}" + parted if re.match(_AFTER_ROW, parted) else parted


def _latex(character: str) -> str:
    return _LATEX.get(character, character)


class Displayed:
    """What people look at: `_grid` has a header and rows, of which the first `_labels` columns are text.

    A terminal sees the first `_most` rows, and how many there are more; every other form has all of them.
    """

    __slots__ = ()
    _labels = 1
    _most: int | None = None

    def _title(self) -> str:
        """Return what stands above the table."""
        raise NotImplementedError

    def _grid(self) -> Grid:
        """Return what is shown."""
        raise NotImplementedError

    def _records(self) -> Iterable[dict[str, Any]]:
        """Return the rows of the DataFrame, at full precision."""
        raise NotImplementedError

    def _beneath(self) -> Iterable[str]:
        """Return what should be known beside the table."""
        return getattr(self, "remarks", ())

    def __str__(self) -> str:
        head, *rows = self._grid()
        shown = [head, *rows[: self._most]]
        more = [f"… and {len(rows) - len(shown) + 1:,} more"] * (len(rows) >= len(shown))
        from shutil import get_terminal_size

        width = get_terminal_size().columns
        lines = table_lines(shown, self._labels, width, together=True)
        beneath = (part for each in self._beneath() for part in _wrapped(each, width))
        return "\n".join([*_wrapped(self._title(), width), *lines, *more, *beneath])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = [[_html(cell) for cell in row] for row in self._grid()]
        rows = ["".join(f"<th>{cell}</th>" for cell in head)]
        rows += ["".join(f"<td>{cell}</td>" for cell in row) for row in body]
        inner = "".join(f"<tr>{row}</tr>" for row in rows)
        beneath = "".join(f"<p>{_html(each)}</p>" for each in self._beneath())
        return f"<table><caption>{_html(self._title())}</caption>{inner}</table>{beneath}"

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
        tabular = latex_lines(self._latex_grid(), self._labels)
        return "\n".join(
            latex_table(
                tabular,
                self._title().replace("$", r"\$") if caption is None else caption,
                label_of(f"tab:{type(self).__name__.lower()}", label, caption),
            )
        )

    def _latex_grid(self) -> Grid:
        """Return what is shown in LaTeX, where that is not what is shown elsewhere."""
        return self._grid()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame, at full precision."""
        return frame(self._records())


def _wrapped(text: str, width: int) -> list[str]:
    """Return text in lines of this width; what has no blanks stays in one piece."""
    from textwrap import wrap

    return wrap(visible(text), width, break_long_words=False, break_on_hyphens=False) or [""]


def frame(records: Iterable[dict[str, Any]], columns: Sequence[str] | None = None) -> pandas.DataFrame:
    """Return records as a DataFrame of pandas."""
    try:
        import pandas
    except ImportError:
        raise MissingPackage("pandas", "to_pandas()", extra="pandas") from None
    return pandas.DataFrame(list(records), columns=columns)


def _html(text: str) -> str:
    """Return text as HTML shows it."""
    from html import escape

    return escape(visible(text))


# This is the one way in which cells of CSV and of tables with tabs are written, so that no spreadsheet
# computes anything. What other programs read back as data (runs, qrels, topics, lines of trec_eval) is no
# table for people, and is written as it is.
# What begins a formula, whatever white space (or an apostrophe that is ours) stands before it.
_FORMULA = r"[\s']*([^\s'])"
_BEGINS = frozenset("=+-@\u2212")


def csv_line(cells: Sequence[str], numbers: Sequence[str] = ()) -> str:
    """Write a line of CSV: text that a spreadsheet would compute is quoted, numbers stand as they are.

    >>> csv_line(["=1+1", "a,b"], ["-0.5"])
    '"\\'=1+1","a,b",-0.5'
    """
    written = []
    for shown in map(_text, cells):
        # Also the semicolon: where a comma is the decimal point, spreadsheets part cells by it.
        if any(character in shown for character in ",;\"'\n") or shown != shown.strip():
            shown = '"' + shown.replace('"', '""') + '"'
        written.append(shown)
    return ",".join([*written, *numbers])


def tab_line(cells: Sequence[str], numbers: Sequence[str] = ()) -> str:
    """Write a line with tabs between cells: text that a spreadsheet would compute begins with an apostrophe.

    >>> tab_line(["=1+1", "a,b"], ["-0.5"])
    "'=1+1\\ta,b\\t-0.5"
    """
    written = []
    for shown in map(_text, cells):
        # A quotation mark at the start would begin a cell that takes in the cells and lines behind it.
        written.append('"' + shown.replace('"', '""') + '"' if shown.startswith('"') else shown)
    return "\t".join([*written, *numbers])


def _text(cell: str) -> str:
    """Return a cell no spreadsheet takes for a formula and no terminal for a command.

    An apostrophe stands before what would be one, as before an apostrophe that stands there itself.
    """
    from unicodedata import normalize

    shown = visible(cell)
    # Spreadsheets run formulas that they find in a file, which may start programs.
    first = re.match(_FORMULA, cell)
    # Full-width signs such as ＝ are taken for the plain ones by some of them.
    if (first and normalize("NFKC", first[1])[0] in _BEGINS) or cell[:1] in ("\t", "\r"):
        shown = "'" + shown
    return shown
