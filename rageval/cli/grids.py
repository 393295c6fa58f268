"""Rows of cells as people and programs read them: a terminal's table, Markdown, LaTeX, CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from unicodedata import normalize

from rageval.text import visible

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


def table_width(grid: Grid) -> int:
    """How many characters wide the table is."""
    return sum(max(len(visible(cell)) for cell in column) + 2 for column in zip(*grid, strict=True)) - 2


def md_lines(grid: Grid, labels: int) -> Iterator[str]:
    """A Markdown table."""
    head, *body = grid
    yield "| " + " | ".join(map(md_text, head)) + " |"
    yield "|" + "|".join([" --- "] * labels + [" ---: "] * (len(head) - labels)) + "|"
    for row in body:
        yield "| " + " | ".join(map(md_text, row)) + " |"


def latex_lines(grid: Grid, labels: int) -> Iterator[str]:
    """A LaTeX tabular for booktabs."""
    head, *body = grid
    yield f"\\begin{{tabular}}{{{'l' * labels}{'r' * (len(head) - labels)}}}"
    yield "\\toprule"
    yield " & ".join(map(latex_text, head)) + r" \\"
    yield "\\midrule"
    for row in body:
        yield " & ".join(map(latex_text, row)) + r" \\"
    yield "\\bottomrule"
    yield "\\end{tabular}"


def csv_line(cells: Sequence[str], numbers: Sequence[str] = ()) -> str:
    """A line of CSV; text that a spreadsheet would compute is quoted, numbers stand as they are."""
    return ",".join([*map(_csv, cells), *numbers])


# What begins a formula, whatever white space (or an apostrophe that is ours) stands before it.
_FORMULA = re.compile(r"[\s']*([^\s'])")
_BEGINS = frozenset("=+-@\u2212")


def _csv(cell: str) -> str:
    """A cell no spreadsheet takes for a formula and no terminal for a command.

    An apostrophe stands before what would be one, as before an apostrophe that stands there itself.
    """
    shown = visible(cell)
    first = _FORMULA.match(cell)
    if (first and normalize("NFKC", first[1])[0] in _BEGINS) or cell[:1] in ("\t", "\r"):
        shown = "'" + shown
    if any(character in shown for character in ",;\"'\n") or shown != shown.strip():
        shown = '"' + shown.replace('"', '""') + '"'
    return shown


# An underscore within a word means nothing; an address is a link where it stands, even without brackets.
# Brackets mean something before what they are joined to: `[0.1, 0.2]` stays as it is.
_MD = re.compile(r"[\\`*~|$^<&]|\](?=[(\[\]:{])|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=[wW])\.")
_MD_BLOCK = re.compile(r"([-+=#>])|(\d+)([.)])")
_MD_ENTITIES = {"<": "&lt;", "&": "&amp;"}


def md_text(text: str) -> str:
    """Text as Markdown shows it: no link, no picture, no HTML, no mark-up."""
    return _MD.sub(lambda found: _MD_ENTITIES.get(found[0], "\\" + found[0]), visible(text))


def md_code(text: str) -> str:
    """Text as code, to be copied as it stands."""
    shown = visible(text)
    return md_text(shown) if "`" in shown else f"`{shown}`"


def md_line(text: str) -> str:
    """A line of text for itself, which begins no list, no heading and no quotation."""
    shown = md_text(text).lstrip()
    block = _MD_BLOCK.match(shown)
    if block is None:
        return shown
    return "\\" + shown if block[1] else f"{block[2]}\\{shown[len(block[2]) :]}"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}
_LIGATURE = re.compile(r"(?<=-)-|(?<=')'|(?<=`)`|(?<=[!?])`|(?<=,),")  # two characters that print as one
_AFTER_ROW = re.compile(r"\s*[\[*]")  # at the end of the row before, it would be an option of that


def latex_text(cell: str) -> str:
    """Text as LaTeX prints it."""
    parted = _LIGATURE.sub("{}\\g<0>", "".join(map(_latex, visible(cell))))
    return "{}" + parted if _AFTER_ROW.match(parted) else parted


def _latex(character: str) -> str:
    return _LATEX.get(character, character)
