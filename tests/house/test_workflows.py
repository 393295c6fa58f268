"""What runs elsewhere: the workflows name what is there, ask for no more than they need, and hide nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
KNOWN = {  # whose steps are used, and in which version
    *("actions/checkout@v4", "actions/setup-python@v5", "actions/upload-artifact@v4"),
    *("actions/download-artifact@v4", "actions/upload-pages-artifact@v3", "actions/deploy-pages@v4"),
    *("pypa/cibuildwheel@v3.2", "pypa/gh-action-pypi-publish@release/v1"),
}


def steps(path: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def test_there_are_workflows() -> None:
    assert [path.name for path in WORKFLOWS] == ["release.yml", "site.yml", "tests.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_no_more_than_it_needs(path: Path) -> None:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert found["permissions"]["contents"] == "read"
    for name, job in found["jobs"].items():
        assert job["timeout-minutes"], name
        assert set(job.get("permissions", {})) <= {"id-token"}
    assert {step["uses"] for step in steps(path) if "uses" in step} <= KNOWN
    # what somebody wrote (a title, a branch) never gets into a script
    assert not [step for step in steps(path) if "${{" in step.get("run", "")]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_script_names_is_there(path: Path) -> None:
    bash = shutil.which("bash")
    for step in steps(path):
        script = step.get("run")
        if script is None:
            continue
        for name in re.findall(r"(?:^|\s)((?:tests|\.ci)/[\w./]+)", script):
            assert (ROOT / name).exists(), name
        for target in re.findall(r"\bmake (\w+)", script):
            assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
        for extra in re.findall(r"\.\[([\w,]+)\]", script):
            project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
            assert all(f"\n{name} = [" in project for name in extra.split(","))
        if bash is not None:
            assert subprocess.run([bash, "-n", "-c", script], capture_output=True).returncode == 0


def test_every_python_that_is_promised_is_tried() -> None:
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    tried = matrix["jobs"]["systems"]["strategy"]["matrix"]
    assert tried["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert {name.partition("-")[0] for name in tried["os"]} == {"ubuntu", "macos", "windows"}
