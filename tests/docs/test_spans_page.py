"""What the page about spans shows, step by step."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from rageval.cli import main
from snippets import ROOT, blocks

PAGE = (ROOT / "docs/spans.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)


def test_step_by_step() -> None:
    printed, texts = "", 0
    for kind, text in re.findall(r"^```(sh|text)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        if kind == "text":
            texts += 1
            assert printed == text
            continue
        for line in text.splitlines():
            name, *words = shlex.split(line)
            if name == "cat":
                printed = Path(words[0]).read_text("utf-8")
                continue
            done = CliRunner().invoke(main, words)
            assert done.exit_code == 0, (line, done.output)
            printed = done.stdout
    assert texts == 3


def test_in_python() -> None:
    (block,) = blocks("python", PAGE)
    exec(block, {})
    assert Path("spans.jsonl").exists()
