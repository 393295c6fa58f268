"""The public names: what `from rageval import …` promises."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

import rageval
import rageval.measures
from declared import require_same
from rageval import typing as public
from rageval.measures import builtin

PROMISED = [
    "Assessment",
    "Evaluator",
    "InputError",
    "Measure",
    "MeasureError",
    "Qrels",
    "RagevalError",
    "Ranking",
    "Run",
    "Score",
    "Scores",
    "Share",
    "UsageError",
    "__version__",
    "alpha_ndcg",
    "compare",
    "coverage",
    "demo",
    "evaluate",
    "evaluate_answers",
    "gate",
    "judge",
    "measure",
    "ndcg",
    "parse_measure",
    "read_judgements",
    "read_qrels",
    "read_run",
    "recall",
    "report",
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


def test_type_checkers_see_every_measure() -> None:
    """Each is annotated with its family in the one list, so that editors complete it."""
    tree = ast.parse(Path(str(rageval.measures.__file__)).read_text(encoding="utf-8")).body
    annotated = [
        node.target.id
        for node in tree
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is None
    ]
    assert annotated == list(builtin())
    assert set(annotated) < set(rageval.measures.__all__)


@pytest.mark.parametrize("module", [rageval])
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


NAMES = Path(__file__).parents[1] / "golden" / "public_names.txt"
OPTIONS = {
    "rageval.evaluate": public.RunOptions,
    "rageval.evaluate_answers": public.AnswerOptions,
    "rageval.comparison.Settings": public.ComparisonOptions,
    "rageval.judges.Settings": public.JudgeOptions,
}
PAGE = Path(__file__).parents[2] / "docs" / "promises.md"
ROOMS = (
    *("measures", "comparison", "judges", "datasets", "building", "checking", "testing", "parallel"),
    *("errors", "logs", "spans", "track", "trajectories", "autojudge", "records"),
)


def test_what_is_public_is_what_is_listed() -> None:
    """A change of the list is a change of what is promised; `docs/promises.md` says when it may be made."""
    names = [
        f"{home.__name__}.{name}"
        for home in (rageval, *(importlib.import_module(f"rageval.{room}") for room in ROOMS))
        for name in sorted(home.__all__)
    ]
    options = [f"{name}({key}=)" for name, known in OPTIONS.items() for key in sorted(known.__annotations__)]
    listed = NAMES.read_text(encoding="utf-8").split()
    require_same(listed, names + options, "tests/golden/public_names.txt")
    assert listed == names + options, "sort tests/golden/public_names.txt"


def test_the_page_of_what_is_public_names_every_public_room() -> None:
    page = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`rageval\.(\w+)`", page))
    assert {*ROOMS, "interop", "typing"} <= named
    assert named - {*ROOMS, "interop", "typing"} <= {"models", "rubrics"}  # groups of entry points
    for room in ROOMS:
        module = importlib.import_module(f"rageval.{room}")
        for name in module.__all__:
            assert getattr(module, name) is not None


@pytest.mark.slow
def test_every_public_package_is_there_once_rageval_is_imported() -> None:
    """Whatever was not imported before."""
    packages = sorted({*ROOMS, "interop", "typing"})
    assert set(packages) <= set(dir(rageval))
    code = (
        "import sys\nfor name in sys.argv[1:]:\n"
        " for module in [module for module in sys.modules if module.startswith('rageval')]:\n"
        "  del sys.modules[module]\n"
        " import rageval\n"
        " assert getattr(rageval, name).__name__ == 'rageval.' + name"
    )
    subprocess.run([sys.executable, "-c", code, *packages], check=True)


# Class names that mean two things yet. This list only ever gets shorter.
TWICE = {"Settings", "Options"}  # of judging and of comparing; of each command


def test_one_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for path in sorted(Path(str(rageval.__file__)).parent.rglob("*.py")):
        for name in re.findall(r"^ *class (\w+)[:(]", path.read_text(encoding="utf-8"), re.MULTILINE):
            places[name].append(path.name)
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert set(twice) <= TWICE, {name: files for name, files in twice.items() if name not in TWICE}


def test_the_tour_of_the_house_leads_to_rooms_that_are_there() -> None:
    tour = (PAGE.parent / "architecture.md").read_text(encoding="utf-8")
    root = Path(str(rageval.__file__)).parent
    named = set(re.findall(r"`([\w/]+\.(?:py|c)|(?:\w+/)+)`", tour))
    assert len(named) > 40
    lost = {name for name in named if not (root / name).exists() and not (root.parent / name).exists()}
    assert not lost
    rooms = {path.name for path in root.iterdir() if (path / "__init__.py").exists()}
    assert rooms - set(re.findall(r"(\w+)(?=[/`])", tour)) <= {"testing"}
