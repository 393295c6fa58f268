"""What the page about human labels shows, step by step; and its pictures are of what it speaks of."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from forked import run_line
from snippets import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/labeling.md").read_text(encoding="utf-8")
DATA = ROOT / "examples/data/labeling"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name, module in (("rageval", "-m rageval"), ("python", "")):
        (tmp_path / name).write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
        (tmp_path / name).chmod(0o755)
    own = {"PYTHONPATH": str(ROOT), "RAGEVAL_STORE": str(tmp_path / "store.sqlite"), "COLUMNS": "200"}
    return os.environ | own | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}


def test_step_by_step(tmp_path: Path, environment: dict[str, str]) -> None:
    printed = stderr = ""
    for kind, text in re.findall(r"^```(sh|py|text)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        if kind == "text":
            assert printed == text
            continue
        if kind == "py":
            (tmp_path / "page.py").write_text(text, encoding="utf-8")
            text = "python page.py"
        for line in text.splitlines():
            process = run_line(line, tmp_path, environment)
            assert process.returncode == 0, (line, process.stderr)
            printed, stderr = process.stdout, stderr + process.stderr
    for line in re.findall(r"^    (\d.*)$", PAGE, re.MULTILINE):  # what it says on the way
        assert line in stderr
    assert "sealed" in (tmp_path / "kim.html").read_text(encoding="utf-8")


def test_the_example_is_what_its_generator_writes(tmp_path: Path) -> None:
    for name in ("generate.py", "person.py"):
        (tmp_path / name).write_bytes((DATA / name).read_bytes())
    subprocess.run([sys.executable, str(tmp_path / "generate.py")], check=True, timeout=60)
    for name in ("answers.jsonl", "questions.jsonl"):
        assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()


def test_pictures_are_there_and_small() -> None:
    for name in re.findall(r"\]\((images/[\w.-]+)\)", PAGE):
        assert 5_000 < (ROOT / "docs" / name).stat().st_size < 120_000
