"""How many lines a module reaches by its imports, within functions too, which is what a change may meet.

What is asked for by a hook (`rageval.hooks`) is not reached, as few need it.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from sources import PACKAGE, nodes, parsed
from test_layers import HEAVY

pytestmark = pytest.mark.slow

NOT_CODE = {
    *(tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENDMARKER, tokenize.COMMENT),
}
LIMITS = {"rageval.cli.score": 19_500, "rageval.cli.compare": 25_000, "rageval.scoring.evaluation": 12_000}


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {dotted(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def lines_of_code(name: str) -> int:
    text = MODULES[name].read_text(encoding="utf-8")
    code = {
        number
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in NOT_CODE
        for number in range(token.start[0], token.end[0] + 1)
    }
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in nodes(MODULES[name]):
        if isinstance(node, owners) and ast.get_docstring(node, clean=False) is not None:
            code -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(code)


@cache
def homes(package: str) -> dict[str, str]:
    """Where the names of a lazy package are: `_HOMES = {module: names}` in its `__init__.py`."""
    found: dict[str, str] = {}
    for node in parsed(MODULES[package]).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id == "_HOMES":
            for module, names in ast.literal_eval(node.value).items():  # type: ignore[union-attr]
                found |= dict.fromkeys(names.split(), f"{package}.{module}")
    return found


@cache
def imports(name: str) -> set[str]:
    for_types = {
        id(inner)
        for node in nodes(MODULES[name])
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    found = set[str]()
    for node in nodes(MODULES[name]):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                of_package = homes(node.module) if node.module in MODULES else {}
                found.add(of_package.get(alias.name, whole if whole in MODULES else node.module))
    # The public face has all names, and nobody reaches everything through it.
    return {other for other in found if other in MODULES} - {"rageval", name}


def reached(start: str) -> set[str]:
    seen, left = set[str](), [start]
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            left += imports(name)
            package = name.rpartition(".")[0]
            left += [package] if package in MODULES and package != "rageval" else []
    return seen


@pytest.mark.parametrize("start", LIMITS)
def test_a_module_reaches_no_more_lines_than_it_may(start: str) -> None:
    lines = {name: lines_of_code(name) for name in reached(start)}
    largest = sorted(lines, key=lambda name: -lines[name])[:20]
    assert sum(lines.values()) <= LIMITS[start], f"{start} reaches {sum(lines.values())} lines: {largest}"


def test_what_a_lazy_package_has_counts() -> None:
    assert "rageval.comparison.estimates" in reached("rageval.cli.score")
    assert homes("rageval.comparison")["cite"] == "rageval.comparison.citations"


# What a function may import: what the plain command must not load, what else is slow to load, and parts of
# Python that not every system has; and modules of ours that load one of these.
SLOW = HEAVY | {
    *("aiohttp", "backports", "compression", "dask", "gzip", "html", "httpx", "importlib", "markupsafe"),
    *("fcntl", "msvcrt", "polars", "ray", "resource", "vllm"),
}


def imports_in_functions(name: str) -> Iterator[tuple[str, str]]:
    """What functions of a module import: the line, and the module."""
    for function in nodes(MODULES[name]):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        whole = f"{node.module}.{alias.name}"
                        yield f"{name}:{node.lineno}", whole if whole in MODULES else str(node.module)
                elif isinstance(node, ast.Import):
                    yield from ((f"{name}:{node.lineno}", alias.name) for alias in node.names)


def test_functions_import_only_what_is_slow_to_load() -> None:
    """A light module at the top costs nothing, and a reader sees at once what a file uses."""
    late = {place: module for name in MODULES for place, module in imports_in_functions(name)}
    light = {place: module for place, module in late.items() if module.partition(".")[0] not in SLOW}
    assert len(light) <= 30, (
        f"{len(light)} imports in functions; put new ones at the top of the file: {light}"
    )
    assert all(module in MODULES for module in light.values()), light
