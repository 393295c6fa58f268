"""Rows of cells as people and programs read them: a terminal's table, Markdown, LaTeX, CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    yield "| " + " | ".join(map(_md, head)) + " |"
    yield "|" + "|".join([" --- "] * labels + [" ---: "] * (len(head) - labels)) + "|"
    for row in body:
        yield "| " + " | ".join(map(_md, row)) + " |"


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


def _csv(cell: str) -> str:
    """A cell no spreadsheet takes for a formula and no terminal for a command."""
    shown = visible(cell)
    if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
        shown = "'" + shown
    if any(character in shown for character in ",\"'\n"):
        shown = '"' + shown.replace('"', '""') + '"'
    return shown


def _md(cell: str) -> str:
    return visible(cell).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}


def latex_text(cell: str) -> str:
    """Text as LaTeX prints it."""
    return "".join(_LATEX.get(character, character) for character in visible(cell))
