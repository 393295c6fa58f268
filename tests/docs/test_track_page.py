"""What the page about tracks shows, step by step, in a folder of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from test_readme import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/track.md").read_text(encoding="utf-8")


def test_step_by_step(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "rageval").write_text(f'#!/bin/sh\nexec {sys.executable} -m rageval "$@"\n')
    (tmp_path / "rageval").chmod(0o755)
    own = {"PYTHONPATH": str(ROOT), "RAGEVAL_STORE": str(tmp_path / "store.sqlite")}
    environment = os.environ | own | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    printed = ""
    for kind, text in re.findall(r"^```(sh|text|python)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        if kind == "text":
            assert printed == text
            continue
        lines = [f"{sys.executable} -c '{text}'"] if kind == "python" else text.splitlines()
        for line in lines:
            done = subprocess.run(
                line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, (line, done.stderr)
            printed = done.stdout
    assert (tmp_path / "published" / "track.tar.gz").stat().st_size
    assert (tmp_path / "label.html").stat().st_size
