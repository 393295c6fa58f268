"""Markdown out of what was not written as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def plain(text: str) -> str:
    """Text of which nothing but `code` is taken for a mark."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_<\[])", r"\\\1", part) for part in parts)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |" for cells in lines)


def fenced(text: str, language: str) -> str:
    """Text as it stands, marked up as a language."""
    return f"```{language}\n{text}\n```"


def toctree(names: Iterable[str], *options: str) -> str:
    """The pages below this one."""
    return "\n".join(["```{toctree}", *options, "", *names, "```"])
