"""Rows of strings as a Markdown table that reads well in a terminal too."""

from __future__ import annotations

from collections.abc import Sequence

Row = Sequence[str]


def markdown(header: Row, rows: Sequence[Row]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(line(row, widths) for row in (header, rule, *rows))


def line(row: Row, widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"


def verdict(value: float, aim: float | None) -> str:
    """`≤ 0.45 ok`, `≤ 0.45 over`, or nothing where there is no aim."""
    if aim is None:
        return ""
    return f"≤ {aim:g} {'ok' if value <= aim else 'over'}"
