"""Changes one operator, constant or condition at a time and asks whether some test notices.

    python tests/mutation.py rageval/measures rageval/scoring --jobs 2
    python tests/mutation.py rageval/measures --tests QUICK.py --then THOROUGH.py

Each mutant is a copy of the package with one change, tested in a process of its own; those that no test
kills are printed as `file:line  before -> after`, and explained in `tests/survivors.md`.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST = 600  # seconds; a mutant that takes longer loops for ever, and counts as killed
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


def mutants(tree: ast.Module) -> Iterator[tuple[int, ast.Module, str]]:
    """(line, changed tree, description) of every single change."""
    nodes = list(ast.walk(tree))
    skipped = _annotations_and_docstrings(tree)
    for index, node in enumerate(nodes):
        if id(node) in skipped:
            continue
        for field, new in _changes(node):
            changed = copy.deepcopy(tree)
            twin = list(ast.walk(changed))[index]
            before = ast.unparse(twin)
            _set(twin, field, new)
            yield getattr(node, "lineno", 0), changed, f"{before[:60]}  ->  {ast.unparse(twin)[:60]}"


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
        yield "op", SWAPS[type(node.op)]()
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield "ops", [SWAPS[type(node.ops[0])](), *node.ops[1:]]
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "value", node.value + 1
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "value", not node.value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not | ast.Invert):
        yield "", None
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "test", ast.UnaryOp(ast.Not(), node.test)


def _set(node: ast.AST, field: str, new: object) -> None:
    if field:
        setattr(node, field, new)
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else node.op
        if not isinstance(node.op, ast.UAdd):
            node.operand = ast.UnaryOp(node.op, node.operand)


def _annotations_and_docstrings(tree: ast.Module) -> set[int]:
    skipped: set[int] = set()
    for node in ast.walk(tree):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            parts.append(node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts.append(node)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
            parts.append(node)
        for part in filter(None, parts):
            skipped |= {id(inner) for inner in ast.walk(part)}
    return skipped


def survives(file: Path, tree: ast.Module, tests: list[str]) -> bool:
    """Whether all tests pass on a copy of the package that holds the changed module."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("rageval", "examples", "docs"):
            shutil.copytree(ROOT / name, Path(folder) / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "tests", Path(folder) / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, folder)
        (Path(folder) / file.relative_to(ROOT)).write_text(ast.unparse(tree), encoding="utf-8")
        words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        environment = os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--tests", nargs="+", default=["tests"])
    parser.add_argument("--then", nargs="+", default=[], help="tests for what survives the others")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int, help="try only so many mutants, drawn at random")
    options = parser.parse_args()
    files = [
        file for path in options.paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])
    ]
    found = [
        (file.resolve(), *mutant)
        for file in files
        for mutant in mutants(ast.parse(file.read_text(encoding="utf-8")))
    ]
    if options.sample and options.sample < len(found):
        found = random.Random(0).sample(found, options.sample)
    whole = files[0].resolve()
    rounds = [options.tests, *([options.then] if options.then else [])]
    unchanged = ast.parse(whole.read_text(encoding="utf-8"))
    if not all(survives(whole, unchanged, tests) for tests in rounds):
        sys.exit("the tests fail without any change, so they would kill every mutant; expected them to pass")
    survived = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        alive = pool.map(lambda mutant: all(survives(mutant[0], mutant[2], tests) for tests in rounds), found)
        for (file, line, _, change), living in zip(found, alive, strict=True):
            if living:
                survived += 1
                print(f"{file.relative_to(ROOT)}:{line}  {change}", flush=True)
    print(f"{len(found)} mutants, {len(found) - survived} killed ({1 - survived / len(found):.1%})")


if __name__ == "__main__":
    main()
