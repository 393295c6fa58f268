"""What the page about judging shows, step by step, beside a server on this machine."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from fair_judge import data_in, fair, saying, schema_in
from forked import run_line
from llm_server import Asked, LlmServer, Saying
from test_readme import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/judging.md").read_text(encoding="utf-8")


def polite(asked: Asked) -> Saying:
    """Fair, and full of praise for everybody's manners."""
    if "polite" in str(schema_in(asked)):
        assert set(data_in(asked)) == {"question", "answer"}
        return saying(asked, '{"evidence": "", "reason": "r", "label": "polite"}')
    return fair(asked)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    own = {"PYTHONPATH": str(ROOT), "RAGEVAL_STORE": str(tmp_path / "store.sqlite"), "COLUMNS": "200"}
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "sk-" + "0" * 30)
    return os.environ | own | keys


def test_step_by_step(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "rageval").write_text(f'#!/bin/sh\nexec {sys.executable} -m rageval "$@"\n')
    (tmp_path / "rageval").chmod(0o755)
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    printed = ""
    with LlmServer(polite) as server:
        environment |= {"OPENAI_BASE_URL": server.openai, "ANTHROPIC_BASE_URL": server.anthropic}
        for kind, text in re.findall(r"^```(sh|text|toml)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
            if kind == "text":
                assert printed == text
            elif kind == "toml":
                (tmp_path / text.split()[1]).write_text(text)
            else:
                for line in text.splitlines():
                    process = run_line(line, tmp_path, environment)
                    assert process.returncode == 0, (line, process.stderr)
                    printed = process.stdout
    assert server.requests
    assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "judged.jsonl").read_text()


def test_the_page_names_every_way_a_judgement_may_fail() -> None:
    from rageval.files.judgements import FAILED

    assert [status for status in FAILED if f"`{status}`" not in PAGE and f"an `{status}`" not in PAGE] == []
