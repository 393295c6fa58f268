"""What the pages about spans, about who lost what, about agents and conversations show step by step."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from rageval.cli import main
from snippets import ROOT, blocks

PAGES = ("spans", "diagnose", "agents", "conversations")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))


def page(name: str) -> str:
    return (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")


@pytest.mark.some(3)
@pytest.mark.parametrize("name", PAGES)
def test_step_by_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in ("agents", "conversations"):  # with a table that is folded
        monkeypatch.setenv("COLUMNS", "80")
    printed, stderr, texts = "", "", 0
    for kind, text in re.findall(r"^```(sh|text)\n(.*?)^```", page(name), re.DOTALL | re.MULTILINE):
        if kind == "text":
            texts += 1
            assert printed == text
            continue
        for line in text.splitlines():
            program, *words = shlex.split(line)
            if program == "cat":
                printed = Path(words[0]).read_text("utf-8")
                continue
            result = CliRunner().invoke(main, words)
            assert result.exit_code == 0, (line, result.output)
            printed, stderr = result.stdout, stderr + result.stderr
    assert texts
    for line in re.findall(r"^    (\d.*)$", page(name), re.MULTILINE):  # what it says on the way
        assert line in stderr


def test_the_commands_about_steps_on_the_page_of_imports_run() -> None:
    part = page("import").partition("## Steps of agents\n")[2].partition("\n## ")[0]
    commands = [line for block in blocks("sh", part) for line in block.splitlines()]
    assert commands
    for command in commands:
        result = CliRunner().invoke(main, shlex.split(command)[1:])
        assert result.exit_code == 0, (command, result.output)


def test_the_python_code_about_agents_runs() -> None:
    pieces = blocks("python", page("agents"))
    assert len(pieces) == 2
    for piece in pieces:
        # As a program of its own, whose functions are annotated with what it imports.
        exec(piece, {"__name__": "agents"})


@pytest.mark.parametrize("name", ["spans", "diagnose"])
def test_the_python_code_of_the_page_writes_spans(name: str) -> None:
    (block,) = blocks("python", page(name))
    exec(block, {})
    assert Path("spans.jsonl").exists()
