"""What runs elsewhere: the workflows name what is there, ask for no more than they need, and hide nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40}")  # a tag can be moved to other code, a commit cannot
MAY_SIGN = {("release.yml", "publish"): {"id-token"}, ("site.yml", "deploy"): {"id-token", "pages"}}


def steps(path: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def test_there_are_workflows() -> None:
    assert [path.name for path in WORKFLOWS] == ["release.yml", "site.yml", "tests.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_no_more_than_it_needs(path: Path) -> None:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert found["permissions"] == {"contents": "read"}
    for name, job in found["jobs"].items():
        assert job["timeout-minutes"], name
        may = MAY_SIGN.get((path.name, name), set())
        assert set(job.get("permissions", {})) == may
        # what may sign or publish runs nothing of ours, nor of who sent us a change
        assert not may or not [step for step in job["steps"] if "run" in step or "checkout" in step["uses"]]
    # what somebody wrote (a title, a branch) never gets into a script
    assert not [step for step in steps(path) if "${{" in step.get("run", "")]


def test_what_others_wrote_is_named_by_its_commit() -> None:
    said: dict[str, set[tuple[str, str]]] = {}
    for path in (*WORKFLOWS, ROOT / "action.yml"):
        for line in path.read_text(encoding="utf-8").splitlines():
            word, _, version = line.partition("uses:")[2].partition("#")
            if word.strip() and not word.strip().startswith("./"):
                assert PINNED.fullmatch(word.strip()), line
                assert re.fullmatch(r" v\d+\.\d+\.\d+", version), line
                said.setdefault(word.strip().partition("@")[0], set()).add((word.strip(), version))
        for step in steps(path) if path in WORKFLOWS else ():
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
    assert {name for name, found in said.items() if len(found) != 1} == set()  # one version everywhere


def test_a_release_has_every_kind_of_package() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    systems = jobs["wheels"]["strategy"]["matrix"]["os"]
    kinds = ("ubuntu-latest", "ubuntu-24.04-arm", "macos-latest", "macos-15-intel", "windows-latest")
    assert set(systems) == set(kinds)
    kept = [step["with"]["path"] for step in jobs["source"]["steps"] if "upload" in step.get("uses", "")]
    assert [path.strip() for path in kept[0].split()] == ["dist/*.tar.gz", "dist/*-py3-none-any.whl"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["cibuildwheel"]["archs"] == "auto64"  # numpy is not built for less
    assert jobs["publish"]["needs"] == ["source", "wheels"]
    assert jobs["publish"]["steps"][-1]["with"] == {"attestations": True}


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


def test_the_container_is_made_of_what_a_wheel_is_made_of_in_ten_lines() -> None:
    """And of nothing else that lies in a checkout; `test_packages.py` installs from just these files."""
    lines = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 10
    copied = {name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]}
    assert copied == {"rageval", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r'"/src\[([\w,]+)\]"', "\n".join(lines))
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()
    (python,) = re.findall(r"python:(\d\.\d+)-slim", lines[1])
    assert python in ("3.11", "3.12", "3.13", "3.14")
    assert "USER nobody" in lines  # and not root
