"""Changes one operator, constant or condition at a time and asks whether some test notices.

    python tests/mutation.py measures scoring statistics --sample 60
    python tests/mutation.py rageval/measures/_sets.py --tests -m 'not nightly'

First the tests run on unchanged code, all in one process (pip install coverage), and it is noted which of
them run which line: if one fails there, nothing else is tried. Each mutant is then a copy of the package with
one change. The tests that run its line come first, the quickest before the others, and all of them where it
survives. What no test kills is printed as `file:line  before -> after`, and explained in
`tests/survivors.md`. With `--killers FILE` each mutant and the two tests that notice it first become a line
of a file; what it has is not tried again, so that a long draw can go on where it was stopped.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PARSING = threading.Lock()  # Python 3.11 counts how deep it parses in one place for all threads
SLOWER = 10  # a mutant whose tests take so many times as long loops for ever, and counts as killed
START = 60  # seconds beside, for reading and importing
FIRST = 80  # tests that are tried before all others that run a line
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutant(NamedTuple):
    """The change of one field of one node of a file."""

    file: Path
    line: int
    node: int
    field: str
    new: object
    in_function: bool

    def apply(self) -> tuple[str, str]:
        """The text of the changed file, and what was changed."""
        with PARSING:
            return self._applied()

    def _applied(self) -> tuple[str, str]:
        tree = ast.parse(self.file.read_text(encoding="utf-8"))
        node = list(ast.walk(tree))[self.node]
        before = ast.unparse(node)
        _set(node, self.field, copy.deepcopy(self.new))
        return ast.unparse(tree), f"{before[:60]}  ->  {ast.unparse(node)[:60]}"


def mutants(file: Path) -> Iterator[Mutant]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    skipped = _annotations_and_docstrings(tree)
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    within = {id(inner) for body in bodies for line in body for inner in ast.walk(line)}
    for index, node in enumerate(ast.walk(tree)):
        if id(node) not in skipped:
            for field, new in _changes(node):
                yield Mutant(file, getattr(node, "lineno", 0), index, field, new, id(node) in within)


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


class Trace:
    """Which tests run which line, and how long each takes; tests that differ in parameters are one."""

    def __init__(self) -> None:
        import coverage

        self.coverage = coverage.Coverage(data_file=None, source=[str(ROOT / "rageval")])
        self.seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        name = item.nodeid.partition("[")[0]
        self.coverage.switch_context(name)
        start = time.perf_counter()
        done = yield
        self.seconds[name] += time.perf_counter() - start
        self.coverage.switch_context("")
        return done

    def run(self, asked: list[str]) -> dict[str, object]:
        self.coverage.start()
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", *asked], plugins=[self])
        self.coverage.stop()
        if code:
            sys.exit(
                "the tests fail without any change, so they would kill every mutant; expected them to pass"
            )
        data = self.coverage.get_data()
        files = {
            str(Path(file).relative_to(ROOT)): {
                line: [name for name in names if name]
                for line, names in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        return {"seconds": self.seconds, "lines": files}


class Tried:
    """Copies of the project, one a job, in which mutants take their turns."""

    def __init__(self, jobs: int, trace: dict[str, dict[str, object]], asked: list[str] | None) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.seconds: dict[str, float] = trace["seconds"]  # type: ignore[assignment]
        self.lines: dict[str, dict[str, list[str]]] = trace["lines"]  # type: ignore[assignment]
        self.asked = asked
        self.clock = count(1_000_000_000)
        self.places: queue.Queue[Path] = queue.Queue()
        left_out = shutil.ignore_patterns(".git", "__pycache__", "build", "site", "*.egg-info", ".*_cache")
        for job in range(jobs):
            place = Path(self.folder.name) / str(job)
            shutil.copytree(ROOT, place, ignore=left_out)
            self.places.put(place)
        if self._failed(place, ["tests/test_kernel.py"] if asked is None else asked):
            sys.exit("the tests fail in a copy without any change; expected them to pass there, too")

    def killers(self, mutant: Mutant) -> tuple[str, list[str]]:
        """Return whether those that run the line ("near") or others ("all") noticed, and two of them."""
        name = mutant.file.relative_to(ROOT)
        lines = self.lines.get(str(name), {})
        if mutant.in_function:
            tests_found = set(lines.get(str(mutant.line), []))
        else:  # it runs when the module is loaded, by whichever test is the first to do so
            tests_found = {test for tests in lines.values() for test in tests}
        near = sorted(tests_found, key=lambda test: (f"/{name.parts[1]}/" not in test, self.seconds[test]))
        near = near or [f"tests/{name.parts[1]}"]
        place = self.places.get()
        text = (place / name).read_text(encoding="utf-8")
        try:
            self._write(place / name, mutant.apply()[0])
            for tests in (near[:FIRST], near[FIRST:]):
                if tests and (failed := self._failed(place, tests)):
                    return "near", failed
            failed = [] if self.asked is None else self._failed(place, self.asked)
            return "all" if failed else "", failed
        finally:
            self._write(place / name, text)
            self.places.put(place)

    def _write(self, place: Path, text: str) -> None:
        place.write_text(text, encoding="utf-8")
        # Compiled files are known by the second and the size of their source: no two texts share a second.
        os.utime(place, (next(self.clock),) * 2)

    def _failed(self, place: Path, tests: list[str]) -> list[str]:
        words = [sys.executable, "-m", "pytest", "--maxfail=2", "-q", "-p", "no:cacheprovider", *tests]
        environment = os.environ | {"PYTHONPATH": str(place), "PYTHONPYCACHEPREFIX": str(place / "compiled")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        seconds = sum(self.seconds.get(test, 0.0) for test in tests) or sum(self.seconds.values())
        with contextlib.suppress(subprocess.TimeoutExpired):
            longest = START + SLOWER * seconds
            process = subprocess.run(
                words, cwd=place, env=environment, capture_output=True, encoding="utf-8", timeout=longest
            )
            named = re.findall(r"(?m)^(?:FAILED|ERROR) ([^\s\[]+)", process.stdout)
            return named or ["a process that ended"] * (process.returncode != 0)
        return ["a process that did not end"]


def noticed(tried: Tried, kept: Path | None, mutant: Mutant) -> str:
    """By which tests a mutant is killed, from the file if it is there."""
    key = f"{mutant.file.relative_to(ROOT)}:{mutant.line}:{mutant.node}:{mutant.field}"
    if kept is None:
        return tried.killers(mutant)[0]
    rows = map(json.loads, kept.read_text(encoding="utf-8").splitlines() if kept.exists() else ())
    for row in rows:
        if row["mutant"] == key:
            return str(row["which"])
    which, names = tried.killers(mutant)
    with kept.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"mutant": key, "which": which, "tests": names}) + "\n")
    return which


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="+", help="files, or folders of the package")
    parser.add_argument("--tests", nargs="+", default=[], metavar="WORD", help="what pytest is told")
    parser.add_argument("--near", action="store_true", help="leave out tests that do not run the line")
    parser.add_argument("--trace", type=Path, help="keep here which tests run which line, or read it")
    parser.add_argument("--killers", type=Path, help="keep here which tests notice what, and go on with it")
    parser.add_argument("--without", nargs="+", default=[], metavar="FOLDER", help="leave these folders out")
    parser.add_argument("--seed", type=int, default=0, help="by which a sample is drawn")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int, help="try only so many mutants a path, drawn by the seed")
    options = parser.parse_args()
    if options.trace and options.trace.exists():
        trace = json.loads(options.trace.read_text(encoding="utf-8"))
    else:
        trace = json.loads(json.dumps(Trace().run(options.tests)))
        if options.trace:
            options.trace.write_text(json.dumps(trace), encoding="utf-8")
    tried = Tried(options.jobs, trace, None if options.near else options.tests)
    for path in options.paths:
        place = ROOT / "rageval" / path if (ROOT / "rageval" / path).exists() else Path(path).resolve()
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        left_out = [ROOT / "rageval" / folder for folder in options.without]
        files = [file for file in files if not any(file.is_relative_to(folder) for folder in left_out)]
        chosen = [mutant for file in files for mutant in mutants(file)]
        if options.sample and options.sample < len(chosen):
            chosen = random.Random(options.seed).sample(chosen, options.sample)
        with ThreadPoolExecutor(options.jobs) as pool:
            killers = list(pool.map(partial(noticed, tried, options.killers), chosen))
        for mutant, killer in zip(chosen, killers, strict=True):
            if not killer:
                print(f"{mutant.file.relative_to(ROOT)}:{mutant.line}  {mutant.apply()[1]}")
        killed = sum(map(bool, killers))
        print(
            f"{path}: {len(chosen)} mutants, {killed} killed ({killed / len(chosen):.1%}),"
            f" {killers.count('all')} of them by tests that do not run the line",
            flush=True,
        )


if __name__ == "__main__":
    main()
