"""The source of the package as Python parses it, once for all tests that look at it."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "rageval"


def parsed(path: Path) -> ast.Module:
    module = nodes(path)[0]
    assert isinstance(module, ast.Module)
    return module


def nodes(path: Path) -> list[ast.AST]:
    """All nodes of a module of the package, itself first."""
    return _nodes_of_all()[path]


@cache
def _nodes_of_all() -> dict[Path, list[ast.AST]]:
    """A million nodes, which are kept, and taken out of what is looked at for garbage."""
    gc.collect()
    gc.disable()
    paths = sorted(PACKAGE.rglob("*.py"))
    nodes_by_path = {path: list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in paths}
    gc.freeze()
    gc.enable()
    return nodes_by_path
