"""Show objects: as a table that fits a terminal, in a notebook, in LaTeX, as a DataFrame."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rageval.errors import MissingPackage
from rageval.text import visible

if TYPE_CHECKING:
    import pandas

Grid = Sequence[Sequence[str]]  # the first row is the header


def table_lines(grid: Grid, labels: int) -> Iterator[str]:
    """Columns for reading; the first `labels` columns are text, the others numbers."""
    shown = [[visible(cell) for cell in row] for row in grid]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for at, row in enumerate(shown):
        cells = [
            cell.ljust(width) if column < labels else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
        if at == 0:
            yield "  ".join("─" * width for width in widths)


def latex_lines(grid: Grid, labels: int) -> Iterator[str]:
    """Yield a LaTeX tabular for booktabs."""
    head, *body = grid
    yield f"\\begin{{tabular}}{{{'l' * labels}{'r' * (len(head) - labels)}}}"
    yield "\\toprule"
    yield " & ".join(map(latex_text, head)) + r" \\"
    yield "\\midrule"
    for row in body:
        yield " & ".join(map(latex_text, row)) + r" \\"
    yield "\\bottomrule"
    yield "\\end{tabular}"


_SHORTEST = 6  # characters of a name that is cut
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
_AFTER_ROW = r"\s*[\[*]"  # at the end of the row before, it would be an option of that


def latex_text(cell: str) -> str:
    """Text as LaTeX prints it."""
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

    def __str__(self) -> str:
        head, *rows = self._grid()
        shown = [head, *rows[: self._most]]
        more = [f"… and {len(rows) - len(shown) + 1:,} more"] * (len(rows) >= len(shown))
        return "\n".join(
            [visible(self._title()), *table_lines(_fitting(shown, self._labels), self._labels), *more]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = [[_html(cell) for cell in row] for row in self._grid()]
        rows = ["".join(f"<th>{cell}</th>" for cell in head)]
        rows += ["".join(f"<td>{cell}</td>" for cell in row) for row in body]
        inner = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><caption>{_html(self._title())}</caption>{inner}</table>"

    def to_latex(self) -> str:
        """Return the table as a LaTeX tabular for booktabs."""
        return "\n".join(latex_lines(self._grid(), self._labels))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame, at full precision."""
        return frame(self._records())


def _fitting(grid: Grid, labels: int) -> Grid:
    """Cut the longest names until the table fits the terminal."""
    from shutil import get_terminal_size

    shown = [[visible(cell) for cell in row] for row in grid]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    over = sum(widths) + 2 * (len(widths) - 1) - get_terminal_size().columns
    while over > 0 and max(widths[:labels]) > _SHORTEST:
        widths[widths.index(max(widths[:labels]))] -= 1
        over -= 1
    cut = [
        [
            cell if len(cell) <= width else cell[: width - 1] + "…"
            for cell, width in zip(row[:labels], widths, strict=False)
        ]
        for row in shown
    ]
    return [names + row[labels:] for names, row in zip(cut, shown, strict=True)]


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
