"""The lowest versions that are declared are those that are tested: see .ci/run."""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from lowest import BUILT_WITH, constraints

ROOT = Path(__file__).parents[2]


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
    for extra in project["optional-dependencies"].keys() - BUILT_WITH:
        assert extra in script.split("EXTRAS=")[1].split("\n")[0], f"the lowest versions of {extra} are tried"


def test_other_pythons_are_tried_where_they_are() -> None:
    script = (ROOT / ".ci/run").read_text()
    assert "for version in 3.11 3.12 3.13 3.14" in script
