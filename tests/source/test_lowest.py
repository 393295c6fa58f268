"""The lowest versions that are declared are those that are tested: see .ci/run."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from lowest import BUILT_WITH, constraints

pytest.importorskip("packaging")
from packaging.requirements import Requirement

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
NIGHTLY = {"ray"}  # too large for every run; its lowest version is the one its tests were written for


def test_every_dependency_has_a_lowest_version_that_is_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = dict(line.split("==") for line in constraints())
    for extra, requirements in {"": project["dependencies"], **project["optional-dependencies"]}.items():
        if extra in BUILT_WITH:
            continue
        for requirement in map(Requirement, requirements):
            assert pinned[requirement.name] in requirement.specifier, requirement
            assert {one.operator for one in requirement.specifier} == {">="}
    script = (ROOT / ".ci/run").read_text()
    assert "tests/lowest.py" in script
    for extra in project["optional-dependencies"].keys() - BUILT_WITH - NIGHTLY:
        assert extra in script.split("EXTRAS=")[1].split("\n")[0], f"the lowest versions of {extra} are tried"


def test_other_pythons_are_tried_where_they_are() -> None:
    workflow = (ROOT / ".github/workflows/tests.yml").read_text()
    assert 'python: ["3.11", "3.12", "3.13", "3.14"]' in workflow


def test_a_file_of_tests_needs_no_more_than_dev_brings() -> None:
    """One that cannot be imported ends the tests before the first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    known = {*sys.stdlib_module_names, "rageval", "setuptools", "markdown_it", "yaml"}
    known |= {"pytrec_eval", "a_package_that_is_not_there"}  # of ir_measures, and in a text
    for requirement in map(Requirement, [*project["dependencies"], *extras["dev"]]):
        of = [Requirement(each) for extra in requirement.extras for each in extras[extra]]
        known |= {each.name.replace("-", "_") for each in (requirement, *of)}
    files = [path for path in (ROOT / "tests").rglob("*.py") if not {"golden", "faults"} & {*path.parts}]
    known |= (
        {path.stem for path in files}
        | {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
        | {"benchmarks"}
    )
    lacking = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        tested = set(re.findall(r"importorskip\([\"']([\w]+)", text))  # skipped where it is not there
        for name in re.findall(r"(?m)^(?:import (\w+)|from (\w+)[\w.]* import)", text):
            if (found := name[0] or name[1]) not in known | tested:
                lacking.append(f"{path.relative_to(ROOT)}: {found}")
    assert lacking == []


def test_what_each_extra_weighs_is_said() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = re.findall(
        r"(?m)^\| `?([\w ]+?)`? \| (\d+) \| (\d+) \|", (ROOT / "docs/installing.md").read_text("utf-8")
    )
    assert [name for name, *_ in said] == [
        "the core",
        *sorted(project["optional-dependencies"].keys() - BUILT_WITH),
    ]
    # ours, what we ask for, and pytrec_eval, which ir_measures asks for
    assert int(said[0][1]) == len(project["dependencies"]) + 2
