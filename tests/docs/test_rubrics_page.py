"""What the page about rubrics shows, beside a server on this machine; its tables leave nothing out."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from fair_judge import saying, write_lines
from forked import run_line
from llm_server import Asked, LlmServer, Saying
from rageval.cli.rubrics import _Source
from rageval.judges.base import ITEM_WAYS, WAYS
from rageval.judges.foreign import SOURCES
from rageval.judges.rubric import RubricFile, rubric_named, rubric_names
from rageval.judges.verdicts import READS
from snippets import ROOT

PAGE = (ROOT / "docs/rubrics.md").read_text(encoding="utf-8")


def brief(asked: Asked) -> Saying:
    """Near where a number is asked for, else brief for whoever is asked about."""
    if "##final score" in asked.body["messages"][-1]["content"]:
        return saying(asked, "##final score: 2")
    return saying(asked, '{"evidence": "", "reason": "r", "label": "brief"}')


@pytest.mark.slow
def test_step_by_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(ROOT / "examples")
    write_lines(passages=[{"id": "d1", "text": "Near."}], questions=[{"query_id": "q", "question": "?"}])
    for name in ("passages", "questions"):
        Path(name).rename(f"{name}.jsonl")
    Path("run.trec").write_text("q Q0 d1 1 1 r\n")
    Path("rageval").write_text(f'#!/bin/sh\nexec {sys.executable} -m rageval "$@"\n')
    Path("rageval").chmod(0o755)
    own = {"PYTHONPATH": str(ROOT), "RAGEVAL_STORE": "store.sqlite", "OPENAI_API_KEY": "sk-" + "0" * 30}
    own["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    with LlmServer(brief) as server:
        environment = os.environ | own | {"OPENAI_BASE_URL": server.openai}
        for kind, text in re.findall(r"^```(sh|toml|yaml)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
            if kind != "sh":
                Path(text.split()[1]).write_text(text)
                continue
            for line in text.splitlines():
                process = run_line(line, tmp_path, environment)
                assert process.returncode == 0, (line, process.stderr)
    assert "+unfenced" in Path("near.jsonl").read_text()
    assert '"brief"' in Path("brief.jsonl").read_text()


def test_its_tables_leave_nothing_out() -> None:
    names = [field.name for field in msgspec.structs.fields(RubricFile) if field.name != "lenient"]
    documented = [*names, *READS, *WAYS, *ITEM_WAYS, *SOURCES]
    assert [name for name in documented if f"`{name}`" not in PAGE and f"[{name}]`" not in PAGE] == [
        name for name in ("follows", "departs", "prompt") if f"`{name}`" not in PAGE
    ]
    assert sorted(SOURCES) == sorted(get_args(_Source))


def test_whatever_an_original_is_of_stands_beside_it() -> None:
    """Every rubric of ours on whose scale an imported prompt judges has its row among the differences."""
    scales = {
        *("relevance", "relevance-2025", "nugget-assignment", "nugget-importance", "crag-auto", "liverag"),
        "criterion",
    }
    scales |= {"relevance-2025", "citation-support", "pairwise", "listwise", "crag", "nuggetize-iterative"}
    assert scales <= set(rubric_names())
    assert [name for name in scales if f"| `{name}` |" not in PAGE] == []


def test_what_it_says_to_have_changed_has() -> None:
    changed = (ROOT / "tests/golden/store-0.1/rubrics").iterdir()
    said_there = PAGE.partition("### Changes since 0.1")[2]
    assert {f"`{path.stem}`" for path in changed} <= set(re.findall(r"`[\w-]+`", said_there))


def test_ours_all_have_a_fence() -> None:
    assert not any(rubric_named(name).file.unfenced for name in rubric_names())
    assert {rubric_named(name).file.reads for name in rubric_names()} == {"schema"}
