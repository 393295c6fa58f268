"""Hostile servers, a sample: each kind alone at one of the two APIs, and some mixed (all: `make hostile`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hostile_servers
from hostile_servers import KINDS, LIE, alone, items, mixed, outcomes
from llm_server import Saying
from model_checks import environment

pytestmark = pytest.mark.slow

pytest.importorskip("openai")
pytest.importorskip("anthropic")

HERE = Path(__file__).parents[1]
FLOOD = """
from hostile_servers import KINDS, items, outcomes, peak
from rageval.judges.asking import Patience

patience = Patience(tries=1, deadline=120.0, total=600.0, away=600.0, first_pause=0.01, longest_pause=0.02)
outcomes("{provider}", items(4), KINDS["no end"].answer)
before = peak()
for kind in ("a bomb", "a bomb in a bomb", "no end", "no end, in chunks", "a page of complaints"):
    more = {{"concurrency": 8, "timeout": 120.0, "patience": patience}}
    found = outcomes("{provider}", items(8), KINDS[kind].answer, **more)
    assert {{row["status"] for row in found}} == {{"error"}}, kind
print(peak() - before)
"""


@pytest.fixture(autouse=True)
def _environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, tmp_path)


@pytest.mark.parametrize("name", KINDS)
def test_what_becomes_of_an_item(name: str) -> None:
    """It is missing with a status, or has the right verdict; others are judged; nothing else is raised."""
    provider = ("openai", "anthropic")[[*KINDS].index(name) % 2]
    assert alone(provider, name) in KINDS[name].outcomes


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_third_of_all_answers_is_hostile(provider: str) -> None:
    counts = mixed(provider, 60)
    assert counts["ok"] > 40


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_lie_that_comes_properly_would_be_believed(provider: str) -> None:
    """Else the tests above could not fail."""
    judgements = outcomes(provider, items(1), lambda asked: Saying(body=hostile_servers.body(asked, LIE)))
    assert [row["label"] for row in judgements] == ["perfect"]


@pytest.mark.nightly
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_memory_does_not_grow_with_what_is_sent(provider: str) -> None:
    """Eight at a time, each of 64 MiB and more; a call may hold 4 MiB of it, now and then twice."""
    more = {"PYTHONPATH": str(HERE), "OPENAI_API_KEY": "no-key-at-all", "ANTHROPIC_API_KEY": "no-key-at-all"}
    result = subprocess.run(
        [sys.executable, "-c", FLOOD.format(provider=provider)],
        capture_output=True,
        text=True,
        env=os.environ | more,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) < 150
