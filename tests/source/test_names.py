"""What things are called: nouns of the field for values, verbs for functions, and one meaning a name."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from sources import PACKAGE, nodes

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

# Words that say that something happened to a value, and not what the value is.
IDIOM = {
    "found": "the noun of what was found: comparison, match, rows",
    "said": "remarks, words, text",
    "told": "kind, notes",
    "each": "the singular of what is looped over",
    "at": "index, rank, position, place",
    "known": "names, declared, defined",
    "beside": "other, sibling, or what stands there",
    "held": "labels, kept values by their noun",
    "wanted": "expected, requested",
    "made": "what it is",
    "gone": "missing, removed",
    "again": "repeat, is_second",
    "apart": "differences, distances",
    "above": "upper, minimum",
    "begun": "started, start",
    "placed": "positions",
    "worded": "text",
}
FUNCTIONS = re.compile(
    r"(^|_)(said|told|beside|held|above|worded|mended|turned|moved|noted|apart|whom|strangers|odd|mind|gone"
    r"|alike|put_together|way|ways|sorted_out|handed_on|set_apart|passed_over|in_words)(_|$)"
)
# Names that are promised: keys of files, fields of JSON, options and parameters of Python.
FIELDS = {
    "cli/datasets.py:again": "an option",
    "datasets/home.py:again": "an option",
    "comparison/citations.py:found": "a parameter of Python",
    "comparison/leaderboards.py:at": "a parameter of Python",
    "comparison/losses.py:found": "a field of JSON",
    "errors.py:at": "a parameter of Python",
    "errors.py:found": "a parameter of Python",
    "files/jsonl.py:found": "the parameter of InputError",
    "files/judgements.py:said": "what a judge said, by row",
    "files/scores.py:known": "a key of files",
    "judges/foreign.py:again": "a key of rubrics",
    "judges/offline.py:found": "a public field",
    "judges/rubric.py:again": "a key of rubrics",
    "judges/rubric.py:each": "a key of rubrics",
    "measures/covering.py:found": "a public field",
    "options.py:above": "a bound that is excluded",
    "published/__init__.py:beside": "a key of files",
    "published/__init__.py:found": "a public field",
    "views/remarks.py:known": "a fact of a remark",
}
# How many values and helpers of a file of tests still have such a name. These may fall, and not rise.
LEFT: dict[str, int] = {
    "tests/changed_types.py": 5,
    "tests/cli/test_changed_types.py": 8,
    "tests/judges/test_judge_ending.py": 2,
    "tests/judges/test_models_openai.py": 1,
    "tests/laws/test_stated_sizes.py": 16,
    "tests/cli/test_changed_files.py": 14,
    "tests/cli/test_odd_words.py": 1,
    "tests/source/test_declared_words.py": 5,
    "tests/source/test_downstream.py": 3,
    "tests/source/test_layers.py": 9,
    "tests/source/test_lowest.py": 8,
    "tests/source/test_one_place.py": 5,
    "tests/source/test_packages.py": 4,
    "tests/source/test_public_names.py": 1,
    "tests/source/test_reach.py": 4,
    "tests/source/test_sentences.py": 6,
    "tests/source/test_systems.py": 8,
    "tests/source/test_versions.py": 3,
    "tests/source/test_workflows.py": 3,
}
# What these count may fall, and not rise.
MOST_PRIVATE = 21.8  # private functions in 1,000 lines
MOST_MEANINGS = 333  # names that stand for more than three annotated types
MOST_SHARED = 57  # names of functions, but methods of protocols, that stand in four files and more


def all_nodes(folder: Path = PACKAGE) -> Iterator[tuple[str, ast.AST]]:
    """Each node of each file; those of other folders are not kept."""
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        of_file = nodes(path) if folder == PACKAGE else ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        yield from ((name, node) for node in of_file)


def stored(node: ast.AST) -> str | None:
    """The name that a node stores, or that a parameter has."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.id if isinstance(node, ast.Name) else node.attr
    return None


@cache
def names() -> list[tuple[str, int, str]]:
    """Each name that is stored, and each parameter and attribute of a class: file, line, name."""
    every = ((path, getattr(node, "lineno", 0), stored(node)) for path, node in all_nodes())
    return [(path, line, name) for path, line, name in every if name]


@cache
def functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    return [
        (path, node) for path, node in all_nodes() if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def methods_of_protocols() -> set[str]:
    """The names of methods that each class of a protocol must have."""
    return {
        node.name
        for _, kind in all_nodes()
        if isinstance(kind, ast.ClassDef) and "Protocol" in map(ast.unparse, kind.bases)
        for node in kind.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_no_value_is_called_by_what_happened_to_it() -> None:
    wrong = [
        f"{path}:{line}: {name}; better: {IDIOM[name.lstrip('_')]}"
        for path, line, name in names()
        if name.lstrip("_") in IDIOM and f"{path}:{name}" not in FIELDS
    ]
    assert wrong == []


def test_every_promised_name_is_there() -> None:
    there = {f"{path}:{name}" for path, _, name in names()}
    assert FIELDS.keys() - there == set()


def test_no_function_is_called_by_what_happened() -> None:
    # The name of a law that `check_measure` prints.
    law = "is_the_same_beside_other_measures"
    wrong = [f"{path}: {node.name}" for path, node in functions() if FUNCTIONS.search(node.name)]
    assert [name for name in wrong if not name.endswith(law)] == []


@pytest.mark.parametrize("folder", ["tests", "benchmarks"])
def test_no_value_or_helper_of_tests_is_called_by_what_happened_to_it(folder: str) -> None:
    """The name of a test is a sentence, which may say what happened."""
    wrong: dict[str, list[str]] = defaultdict(list)
    for path, node in all_nodes(ROOT / folder):
        name = stored(node)
        if name and name.lstrip("_") in IDIOM:
            wrong[f"{folder}/{path}"].append(f"{node.lineno}: {name}; better: {IDIOM[name.lstrip('_')]}")
        function = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else "test_"
        if FUNCTIONS.search(function) and not function.startswith("test_"):
            wrong[f"{folder}/{path}"].append(f"{node.lineno}: {function}")
    assert {path: lines for path, lines in wrong.items() if len(lines) > LEFT.get(path, 0)} == {}


def test_few_functions_are_private() -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py"))
    private = sum(node.name.startswith("_") and not node.name.startswith("__") for _, node in functions())
    assert 1000 * private / lines <= MOST_PRIVATE


def test_few_functions_of_one_name_stand_in_many_files() -> None:
    files: dict[str, set[str]] = defaultdict(set)
    required = methods_of_protocols()
    for path, node in functions():
        if not node.name.startswith("__") and node.name not in required:
            files[node.name].add(path)
    shared = Counter({name: len(paths) for name, paths in files.items() if len(paths) >= 4})
    listed = ", ".join(f"{name} ({count})" for name, count in reversed(shared.most_common()))
    assert len(shared) <= MOST_SHARED, (
        f"{len(shared)} names of functions stand in four files or more, at most {MOST_SHARED} may: give the"
        f" function that is new a name that says more, or rename one of these: {listed}"
    )


def test_few_names_stand_for_many_types() -> None:
    types: dict[str, set[str]] = defaultdict(set)
    for _, node in all_nodes():
        if isinstance(node, ast.arg) and node.annotation is not None:
            types[node.arg].add(ast.unparse(node.annotation))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            types[node.target.id].add(ast.unparse(node.annotation))
    many = sorted(((len(some), name) for name, some in types.items() if len(some) > 3), reverse=True)
    shown = ", ".join(f"{name} ({count})" for count, name in many[:20])
    assert len(many) <= MOST_MEANINGS, (
        f"{len(many)} names stand for more than three types, at most {MOST_MEANINGS} may: give what is new a"
        f" name of its own; most stand for: {shown}"
    )
