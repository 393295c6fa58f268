"""The public names: what `from rageval import …` promises."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest

import rageval
import rageval.measures
from rageval.measures import builtin

PROMISED = [
    "Assessment",
    "Evaluator",
    "Hit",
    "InputError",
    "Measure",
    "MeasureError",
    "NothingJudged",
    "Qrels",
    "RagevalError",
    "Ranking",
    "Run",
    "Scores",
    "Share",
    "Topic",
    "__version__",
    "alpha_ndcg",
    "compare",
    "coverage",
    "evaluate",
    "evaluate_answers",
    "judge",
    "measure",
    "ndcg",
    "parse_measure",
    "read_judgements",
    "read_qrels",
    "read_run",
    "recall",
]


def test_the_public_names_are_these_and_they_exist() -> None:
    assert sorted(rageval.__all__) == PROMISED
    assert len(PROMISED) <= 30
    for name in PROMISED:
        assert getattr(rageval, name) is not None
    assert set(PROMISED) <= set(dir(rageval))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        rageval.evalute  # noqa: B018


def test_every_measure_bears_its_name() -> None:
    for name, measure in builtin().items():
        assert getattr(rageval.measures, name) is measure
        assert str(measure) == name
        assert name in rageval.measures.__all__


@pytest.mark.parametrize("module", [rageval, rageval.measures])
def test_type_checkers_see_every_public_name(module: ModuleType) -> None:
    """They read `__all__` only where it is written out, and find what is imported for them."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body
    (block,) = (
        node for node in tree if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    imported = {name.name for node in block.body if isinstance(node, ast.ImportFrom) for name in node.names}
    (written,) = (
        node.value for node in tree if isinstance(node, ast.Assign) and "__all__" in ast.unparse(node)
    )
    names = ast.literal_eval(written)
    assert names == sorted(module.__all__)
    defined = {node.name for node in tree if isinstance(node, ast.FunctionDef)} | {"__version__"}
    assert set(names) <= imported | defined
    for name in names:
        assert getattr(module, name) is not None
    assert "import *" not in ast.unparse(block)
