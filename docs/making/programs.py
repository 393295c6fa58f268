"""The example programs, each with what it prints."""

from __future__ import annotations

import ast
from pathlib import Path

PROGRAMS = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def everything() -> str:
    """Every program of the folder `examples`; the tests hold what they print against the same files."""
    return "\n".join(section(path) for path in PROGRAMS)


def section(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    title, _, rest = (ast.get_docstring(ast.parse(text)) or path.stem).partition("\n")
    body = text.partition('"""\n\n')[2].removeprefix("from __future__ import annotations\n\n")
    printed = (path.parent / "expected" / f"{path.stem}.txt").read_text(encoding="utf-8")
    return (
        f"## {path.stem.replace('_', ' ')}\n\n{title}\n{rest}\n\n"
        f"```{{code-block}} python\n:caption: examples/{path.name}\n\n{body}```\n\n"
        f"```{{code-block}} text\n:caption: prints\n\n{printed}```\n"
    )
