"""Sentences stand in `rageval/views/`: the words of values, and what is printed beside numbers.

A sentence is a text with three lower-case words or more. Errors have theirs where they are raised, options
where they are declared, and pages in their own package. What is left elsewhere is counted.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache

import pytest

from sources import PACKAGE, parsed

pytestmark = pytest.mark.slow

# A word stands by itself: it is no part of a name, a path, an option, a pattern or mark-up.
WORD = re.compile(r"(?<![\w.:/@=\-\[{\\(%$#|<])[a-z][a-z'’]*(?![\w/@=\-\]}_|(])")
FEWEST = 3
SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE)\b")

HERE = {"views", "pages"}
# What reads and what refuses is told what is expected, for its error.
REFUSING = re.compile(r"_?(read|refuse|require|required|wrong|problem|explained|split|in_order)(_|$)")
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef

# What is no sentence of ours, or none that is printed: by file, or by function (of the module: "").
ALLOWED = {
    # prompts, and the words that are looked for in replies
    "comparison/gate.py:_describe_draw": "how labels were drawn, for an error",
    "building/audit.py:": "keys that people fill in",
    "building/collection.py:": "a prompt",
    "judges/_exact.py": "patterns of answers",
    "judges/base.py:describe_fences": "a prompt",
    "judges/foreign.py": "published prompts, and how ours differ, as their rubrics have it",
    "judges/judge.py:_read_reply": "a prompt",
    "judges/models/_openai.py:": "a prompt",
    "judges/models/_openai.py:_Choices.questions": "a prompt",
    "judges/models/_remote.py:with_schema": "a prompt",
    "judges/offline.py:": "frequent words of English",
    "judges/panel.py:": "attacks on a judge, and what a rubric needs, for an error",
    "judges/panel.py:_canary_target": "a prompt",
    "judges/rubric.py:": "a prompt",
    "judges/store.py:explained": "the beginning of an error of SQLite",
    "judges/verdicts.py:": "patterns of replies",
    "testing/_answer_cases.py:": "an invented answer",
    "testing/_run_cases.py": "ids of invented documents",
    # what files hold: keys, names of columns, details of a judgement that failed
    "checking/tracks.py:": "fields of tracks",
    "comparison/gate.py:_Common.counts": "keys of JSON",
    "comparison/leaderboards.py:": "a field of bundles",
    "comparison/leaderboards.py:_coefficient_functions": "keys of JSON",
    "judges/batches.py:_BatchJob.stream": "the detail of a failed judgement",
    "judges/batches.py:_BatchJob._settle": "the detail of a failed judgement",
    "judges/batches.py:_BatchJob._store_batch": "the detail of a failed judgement",
    "judges/cascade.py:hand_on_unsure": "the detail of a failed judgement",
    "judges/exchange.py:": "the detail of a failed judgement",
    "judges/exchange.py:ReplyFiles._read": "why a line was left out",
    "judges/exchange.py:_line_records": "why a line was left out",
    "judges/judge.py:_combine_outcomes": "the detail of a judgement",
    "judges/models/_anthropic.py:AnthropicMessages._read_result": "the detail of a failed judgement",
    "judges/models/_openai.py:OpenAIChat._fetch_results": "the detail of a failed judgement",
    "judges/models/_openai.py:OpenAIDecisions._negotiate": "the detail of a failed judgement",
    "judges/votes.py:voted": "the detail of a failed judgement",
    "track/leaderboard.py:": "a citation file",
    "track/submissions.py:": "a program",
    # parts of errors that are made in another function
    "building/collection.py:_ask_for_texts": "what an error calls a file",
    "checking/doctor.py:": "names of kinds of files",
    "checking/doctor.py:DiagnosedRows.__init__": "what an error expects",
    "checking/runs.py:": "what an error expects",
    "comparison/losses.py:by_right_answers": "what an error calls a source",
    "judges/budget.py:_read_prices": "what an error expects",
    "judges/models/_remote.py:_fatal_remedy": "what to do about an error of a server",
    "scoring/_roles.py": "what an error calls an argument",
    "scoring/answers.py:_complaint": "an error",
    "track/leaderboard.py:_in_order": "what an error calls a file",
    "track/verification.py:": "the name of a step, a key of JSON",
    "track/verification.py:_Verification._recompute_standings": "the name of a step, a key of JSON",
    "track/verification.py:_Verification._compare_digests": "what an error calls a file",
    "track/plan.py:": "what an error calls a file",
    "track/publication.py:publish": "a command line",
}
# How many sentences are left in other packages and files; to be moved to `views`.
LEFT = {
    **{"cli": 126, "files": 55, "track": 16, "measures": 29, "judges": 14, "names.py": 13, "logs": 12},
    **{"pytest_plugin.py": 4, "pytest_gates.py": 8, "errors.py": 6, "building": 4, "datasets": 4},
    "kernel.py": 3,
    **{"precommit.py": 2, "published": 2, "statistics": 1, "subjects.py": 4},
    **{"interop.py": 1, "table.py": 1},
}


def text_in(node: ast.AST) -> str | None:
    """Return a text, with a mark for each value in it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
    return None


def is_sentence(text: str) -> bool:
    return len(WORD.findall(text)) >= FEWEST and not SQL.match(text)


def name_of(node: ast.AST) -> str:
    return str(getattr(node, "id", getattr(node, "attr", "")))


@cache
def modules() -> dict[str, ast.Module]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return {str(path.relative_to(PACKAGE)): parsed(path) for path in paths}


@cache
def errors() -> frozenset[str]:
    """Return the names of all classes of errors."""
    known = {name for name in dir(builtins) if name.endswith(("Error", "Exception"))}
    found = [each for tree in modules().values() for each in classes(tree)]
    while more := {each.name for each in found if known & set(map(name_of, each.bases))} - known:
        known |= more
    return frozenset(known)


def is_error(node: ast.AST) -> bool:
    """Return whether a node raises, makes or words an error."""
    if isinstance(node, ast.Call):
        return name_of(node.func) in errors() or REFUSING.match(name_of(node.func)) is not None
    return isinstance(node, ast.Raise | ast.Assert)


def assigned(*nodes: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield each (target, value)."""
    for node in nodes:
        if isinstance(node, ast.Assign):
            yield from ((target, node.value) for target in node.targets)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            yield node.target, node.value
        elif isinstance(node, ast.For | ast.comprehension):
            yield node.target, node.iter


def names_in(*nodes: ast.AST) -> set[str]:
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def parts_of_errors(scope: ast.AST) -> list[ast.AST]:
    """Return what the errors of a scope are made of: their arguments, and what these are assigned from."""
    parts = [node for node in ast.walk(scope) if is_error(node)]
    left = [(names_in(target), value) for target, value in assigned(*ast.walk(scope))]
    names = names_in(*parts)
    while more := [value for targets, value in left if targets & names]:
        left = [(targets, value) for targets, value in left if not targets & names]
        parts += more
        names |= names_in(*more)
    return parts


def classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def errors_of(tree: ast.Module) -> set[int]:
    """Return the nodes that errors of a module are made of, with the functions that make texts for them."""
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    nested = {id(inner) for node in functions for inner in ast.walk(node) if inner is not node}
    outer = [node for node in functions if id(node) not in nested]
    calls = {
        name_of(inner.func)
        for node in ast.walk(tree)
        if is_error(node)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call) and inner is not node
    }
    makers = [node for node in functions if node.name in calls]
    parts = [part for function in outer for part in parts_of_errors(function)]
    names = names_in(*parts, *makers)
    parts += [value for target, value in assigned(*tree.body) if names_in(target) & names]
    return set(map(id, [*parts, *makers]))


def sentences_in(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield the line, function and text of each sentence that is neither of an error nor of an option."""
    skipped = errors_of(tree)

    def walk(node: ast.AST, owner: str) -> Iterator[tuple[int, str, str]]:
        if id(node) in skipped or is_of_programmers(node):
            return
        if isinstance(node, FUNCTIONS | ast.ClassDef):
            owner = f"{owner}.{node.name}".strip(".")
        text = text_in(node)
        if text is not None and is_sentence(text):
            yield node.lineno, owner, text  # type: ignore[attr-defined]
        for inner in ast.iter_child_nodes(node):
            # The pieces of an f-string are no texts by themselves.
            if not (isinstance(node, ast.JoinedStr) and isinstance(inner, ast.Constant)):
                yield from walk(inner, owner)

    yield from walk(tree, "")


def is_of_programmers(node: ast.AST) -> bool:
    """Return whether a node is a docstring, the help of an option, a pattern, or the `repr` of an object."""
    if isinstance(node, ast.Expr):
        return text_in(node.value) is not None
    if isinstance(node, ast.Subscript):
        return name_of(node.value) == "Annotated"
    if isinstance(node, ast.Call):
        return name_of(getattr(node.func, "value", node)) == "re"
    return isinstance(node, FUNCTIONS) and node.name == "__repr__"


@cache
def sentences() -> list[tuple[str, int, str, str]]:
    """Return the path, line, function and text of each sentence outside of `views`."""
    return [
        (path, *found)
        for path, tree in modules().items()
        if path.partition("/")[0] not in HERE
        for found in sentences_in(tree)
    ]


def is_allowed(path: str, owner: str) -> bool:
    return path in ALLOWED or f"{path}:{owner}" in ALLOWED


def test_sentences_stand_in_views() -> None:
    left: dict[str, list[str]] = {}
    for path, line, owner, text in sentences():
        if not is_allowed(path, owner):
            left.setdefault(path.partition("/")[0], []).append(f"{path}:{line} {owner}: {text[:90]!r}")
    counts = {room: len(texts) for room, texts in left.items()}
    more = {room: texts for room, texts in left.items() if len(texts) > LEFT.get(room, 0)}
    assert more == {}, "move these to rageval/views, or use them in an error"
    assert counts == LEFT, "fewer are left: lower the number"


def test_every_exception_is_needed() -> None:
    used = {name for path, _, owner, _ in sentences() for name in (path, f"{path}:{owner}")}
    assert ALLOWED.keys() - used == set()


def test_a_new_sentence_is_seen() -> None:
    tree = ast.parse(
        "def table(number):\n"
        "    note = f'{number} pairs are not shown here'\n"
        "    return [Column('value'), note]\n"
        "def check(number):\n"
        "    problem = f'{number} pairs are not in the file'\n"
        "    raise InputError(problem, remedy='save it once again')\n"
    )
    assert [text for _, _, text in sentences_in(tree)] == ["\0 pairs are not shown here"]
