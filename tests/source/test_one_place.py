"""What is known of a measure is declared with it: no other module of the package decides by its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from rageval.measures import builtin
from rageval.measures.base import About, Facts
from sources import PACKAGE, parsed

pytestmark = pytest.mark.slow

FAMILIES = {"rageval.measures", *(f"rageval.measures.{path.stem}" for path in PACKAGE.glob("measures/*.py"))}
NAMES = set(builtin())
SPELLED = re.compile(r"(\w+)(?:\([^()]*\))?(?:@\d+)?")
NAMING = ("measures",)  # where measures are

# Words that are something else, too, or what a command or a judge is about; and where.
MEANT = {
    "judged": "",  # a word
    "p": "",  # of a test
    "success": "logs/",  # what inspect says of a log that is whole
    "grade": "",  # the field of a judgement
    "length": "",  # of a text
    "calibration_error": "comparison/reliability.py",  # whose bins a diagram shows
    "citations": "",  # of a sentence
    **dict.fromkeys(
        ("calls", "cost", "input_tokens", "output_tokens", "searches", "seconds"), ""
    ),  # fields of records
    "kept": "",  # what a filter leaves
    # What a provider says of a batch, a benchmark of a run, and RAGDoll of a judgement.
    "completed": (
        "judges/models/",
        "logs/_agent_tools.py",
        "files/foreign_judgements.py",
        "files/nuggets.py",
    ),
    "rank_score": "cli/arena.py",  # what it prints
    "win_rate": "cli/arena.py",
    "token_f1": "judges/",  # a judge
    "uncited": ("judges/", "comparison/trajectories.py"),  # a statement
    # Of which losses consist, and of what a curve is, along budgets that only a comparison knows.
    **dict.fromkeys(("seen_recall", "unseen", "used_recall"), "comparison/trajectories.py"),
    "agreement": ("comparison/", "statistics/", "views/"),  # of judges
    "answer_": "datasets/_evouna.py",  # what keys of that file begin with
    **dict.fromkeys(("alpha_ndcg", "ndcg", "hole"), "testing/_run_cases.py"),  # witnesses beside any measure
}


def knowing(tree: ast.Module) -> Iterator[str]:
    """The measures that a module knows by name: it imports them, looks them up, or holds their names."""
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)) if module in FAMILIES:
                yield from (alias.name for alias in node.names if alias.name in NAMES)
            case ast.Attribute(value=ast.Name(id="rageval" | "measures"), attr=name) if name in NAMES:
                yield name
            case ast.Constant(value=str(text)) if id(node) not in texts:
                spelled = SPELLED.fullmatch(text)
                if spelled and spelled[1] in NAMES:
                    yield spelled[1]
                elif len(text) > 3 and text.endswith("_") and any(known.startswith(text) for known in NAMES):
                    yield text


def modules() -> list[str]:
    paths = (path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")))
    return [path.as_posix() for path in paths if path.parts[0] not in NAMING and path.name != "__init__.py"]


@cache
def known_in(module: str) -> set[str]:
    return set(knowing(parsed(PACKAGE / module)))


def test_no_other_module_knows_a_measure_by_name() -> None:
    found = {}
    for module in modules():
        meant = {word for word, where in MEANT.items() if module.startswith(where)}
        found[module] = known_in(module) - meant
    known = {module: names for module, names in found.items() if names}
    assert known == {}, "declare it with the measure: rageval.measures.base.Facts"


def test_every_exception_is_needed() -> None:
    found = {module: known_in(module) for module in modules()}
    for word, where in MEANT.items():
        assert any(word in words for module, words in found.items() if module.startswith(where)), word


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("if measure.name == 'alpha_ndcg': pass", {"alpha_ndcg"}),
        ("if measure.name in ('coverage', 'hole'): pass", {"coverage", "hole"}),
        ("if str(measure).startswith('citation_'): pass", {"citation_"}),
        ("from rageval.measures._sets import recall", {"recall"}),
        ("from rageval.measures import recall as r", {"recall"}),
        ("from rageval import measures\nmeasures.ndcg @ 10", {"ndcg"}),
        ("wanted = 'alpha_ndcg@10', 'coverage(rel=2)'", {"alpha_ndcg", "coverage"}),
        ("table = {'crag_share': 1}", {"crag_share"}),
        ("'''ndcg'''\nsay('expected something like alpha_ndcg@10')\nself.recall = pair.p = judged", set()),
    ],
)
def test_it_would_be_found(source: str, known: set[str]) -> None:
    assert set(knowing(ast.parse(source))) == known


def test_the_facts_that_can_be_said_are_those_that_are_kept() -> None:
    assert list(Facts.__annotations__) == list(About._fields)
