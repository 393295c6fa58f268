"""What the page about building shows, step by step, beside a server on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from building_samples import by_rule, write_samples
from llm_server import LlmServer
from test_readme import ROOT
from walking import Walk

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/building.md").read_text(encoding="utf-8")


def test_step_by_step(tmp_path: Path) -> None:
    write_samples(tmp_path)
    with LlmServer(by_rule) as server:
        key = {"OPENAI_API_KEY": "sk-" + "0" * 30, "OPENAI_BASE_URL": server.openai}
        Walk(tmp_path, key).along(PAGE)
    assert server.requests
    for name in ("queries.tsv", "qrels.nugget", "nuggets.jsonl"):
        assert (tmp_path / "mine" / name).stat().st_size
        assert (tmp_path / "by-hand" / name).stat().st_size
