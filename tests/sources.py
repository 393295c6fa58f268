"""The source of the package as Python parses it, once for all tests that look at it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "rageval"


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """All nodes of a module; looked at by several tests, and slow to walk."""
    return list(ast.walk(parsed(path)))
