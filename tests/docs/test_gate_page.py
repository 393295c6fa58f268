"""The page of the gate: what it shows is printed, its tests run, its action has the inputs."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from click.testing import CliRunner

import rageval.cli.gate
import rageval.judges.panel  # noqa: F401
from rageval.cli import main
from rageval.policy import read_policy
from snippets import ROOT, blocks

pytestmark = pytest.mark.slow
pytest_plugins = ["pytester"]

PAGE = (ROOT / "docs/gate.md").read_text(encoding="utf-8")
FOLDER = ROOT / "examples/data/gate"


def test_what_is_blocked_prints_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (block,) = (block for block in blocks("text", PAGE) if block.startswith("$ rageval gate"))
    command, _, expected = block.partition("\n")
    result = CliRunner().invoke(main, shlex.split(command.removeprefix("$ rageval ")))
    assert (result.exit_code, result.stdout) == (1, expected)


def test_init_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    judged = {"run_id": "r", "label": "perfect", "rubric": "crag"}
    text = "".join(f"{json.dumps({'query_id': f'q{index}', **judged})}\n" for index in range(30))
    for name in ("v1.jsonl", "v2.jsonl"):
        Path(name).write_text(text, encoding="utf-8")
    (block,) = (block for block in blocks("text", PAGE) if block.startswith("$ rageval init"))
    result = CliRunner().invoke(main, ["init"])
    assert (result.exit_code, result.stdout) == (0, block.partition("\n")[2])
    for line in result.stdout.splitlines()[1:]:
        assert CliRunner().invoke(main, shlex.split(line.partition("rageval ")[2])).exit_code == 0


def test_the_suites_of_the_page_run(pytester: pytest.Pytester) -> None:
    shutil.copytree(FOLDER, pytester.path, dirs_exist_ok=True)
    suites = [block for block in blocks("python", PAGE) if "def test_" in block]
    assert len(suites) == 2
    Path("test_page.py").write_text("\n".join(suites))
    plugin = [] if entry_points(group="pytest11", name="rageval") else ["-p", "rageval.pytest_plugin"]
    result = pytester.runpytest_inprocess("-q", *plugin)
    assert "241 passed" in result.stdout.str()
    assert "ship: same.run" in result.stdout.str()


def test_lines_of_a_baseline_are_such_and_the_policy_is_one(tmp_path: Path) -> None:
    lines = (FOLDER / "baseline.jsonl").read_text().splitlines()
    (shown,) = blocks("json", PAGE)
    assert shown.splitlines() == lines[:2]
    (policy,) = blocks("toml", PAGE)
    (tmp_path / "rageval.toml").write_text(policy)
    parsed = read_policy(str(tmp_path / "rageval.toml"))
    assert parsed is not None
    assert parsed.section("gate").keys() == {"measures", "margin", "baseline"}


def test_the_action_and_the_hooks_are_called_as_they_are() -> None:
    action, hooks = blocks("yaml", PAGE)
    inputs = re.findall(r"^  ([\w-]+):$", (ROOT / "action.yml").read_text(), re.MULTILINE)
    assert set(re.findall(r"^    ([\w-]+):", action, re.MULTILINE)) <= set(inputs)
    there = re.findall(r"^- id: (\S+)", (ROOT / ".pre-commit-hooks.yaml").read_text(), re.MULTILINE)
    assert re.findall(r"- id: (\S+)", hooks) == there
