"""What the page about building shows, step by step, beside a server on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from building_samples import by_rule, write_samples
from rageval.testing import LlmServer
from test_readme import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/building.md").read_text(encoding="utf-8")


def test_step_by_step(tmp_path: Path) -> None:
    write_samples(tmp_path)
    (tmp_path / "rageval").write_text(f'#!/bin/sh\nexec {sys.executable} -m rageval "$@"\n')
    (tmp_path / "rageval").chmod(0o755)
    own = {"PYTHONPATH": str(ROOT), "RAGEVAL_STORE": str(tmp_path / "store.sqlite")}
    environment = os.environ | own | {"OPENAI_API_KEY": "sk-" + "0" * 30}
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    printed = ""
    with LlmServer(by_rule) as server:
        environment["OPENAI_BASE_URL"] = server.openai
        for kind, text in re.findall(r"^```(sh|text)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
            if kind == "text":
                assert printed == text
                continue
            for line in text.splitlines():
                done = subprocess.run(
                    line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
                )
                assert done.returncode == 0, (line, done.stderr)
                printed = done.stdout
    assert server.requests
    for name in ("queries.tsv", "qrels.nugget", "nuggets.jsonl"):
        assert (tmp_path / "mine" / name).stat().st_size
        assert (tmp_path / "by-hand" / name).stat().st_size
