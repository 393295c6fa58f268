"""A gate over many versions: each is held against the one before, and against an anchor that stays."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rageval
from rageval.cli import main
from rageval.comparison.gate import GateReport, GateSettings, gate
from sides import side

N = 200


def falling(steps: int) -> list[list[float]]:
    """Versions, each of which loses 3 more of 200 answers than the one before."""
    chance = random.Random(5)
    order = chance.sample(range(N), N)
    return [[0.0 if index in order[: 3 * step] else 1.0 for index in range(N)] for step in range(steps + 1)]


def gate_with_anchor(versions: list[list[float]], now: int, **settings: Any) -> GateReport:
    sides = [side(versions[version], date=f"day {version}") for version in (now, now - 1, 0)]
    return gate(sides[0], sides[1], GateSettings(0.03, **settings), None, sides[2])


@pytest.mark.slow
def test_ten_small_losses_do_not_pass_beside_an_anchor() -> None:
    versions = falling(10)
    alone = [
        gate(side(now), side(before), GateSettings(0.03)).verdict
        for before, now in itertools.pairwise(versions)
    ]
    assert "block" not in alone
    last = gate_with_anchor(versions, 10)
    assert last.verdict == "block"
    assert [(decision.against, decision.verdict) for decision in last.decisions][1] == ("anchor", "block")
    assert last.decisions[1].margin == 0.06
    assert "anchor:0.06" in last.signature
    assert "anchor of day 0" in last.headline
    assert last.overall == [last.decisions[0]]
    # With a margin of its own it may fall so far.
    assert gate_with_anchor(versions, 10, anchor_margin=0.5).decisions[1].verdict == "ship"


def test_all_that_blocks_is_one_family() -> None:
    versions = falling(10)
    far = gate(side(versions[10]), side(versions[0]), GateSettings(0.06)).decisions[0]
    both = gate_with_anchor(versions, 10)
    near, anchored = both.decisions
    # Of two p the smaller one counts twice.
    assert far.adjusted == far.p
    assert anchored.adjusted == pytest.approx(2 * far.p)
    assert near.adjusted == pytest.approx(max(near.p, 2 * far.p))


@pytest.fixture(name="files")
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("".join(f"q{q} 0 d0 1\n" for q in range(60)))
    for name, lost in (("v1", 0), ("v2", 2), ("v3", 30)):
        rows = (f"q{q} Q0 d{int(q < lost)} 1 1 {name}\nq{q} Q0 x{q} 2 0.5 {name}\n" for q in range(60))
        Path(f"{name}.run").write_text("".join(rows))
        saved = done("gate", f"{name}.run", "qrels", "-m", "rr", "--save-baseline", f"{name}.json")
        assert saved.exit_code == 0
    return tmp_path


def done(*words: str) -> Result:
    return CliRunner().invoke(main, words, prog_name="rageval")


def test_the_command_shows_both(files: Path) -> None:
    words = ("gate", "v3.run", "qrels", "-m", "rr", "--baseline", "v2.json", "--margin", ".03")
    both = done(*words, "--anchor", "v1.json", "--md", "g.md")
    assert both.exit_code == 1
    assert "  anchor " in both.stdout
    assert "| `rr`, `anchor` | 1.0000 → 0.5000 |" in Path("g.md").read_text()
    report = rageval.gate("v3.run", "qrels", "rr", baseline="v2.json", margin=0.03, anchor="v1.json")
    assert [decision.against for decision in report.decisions] == ["", "anchor"]


OPTIONS = ("v3.run", "qrels", "--baseline", "v1.json", "--margin", ".1")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((*OPTIONS, "-m", "rr", "--anchor", "qrels"), "baseline"),
        ((*OPTIONS, "-m", "rr", "--anchor-margin", "1"), "--anchor"),
    ],
)
def test_what_cannot_be_held_against_it_is_an_error(files: Path, words: tuple[str, ...], why: str) -> None:
    refused = done("gate", *words)
    assert refused.exit_code == 2
    assert why in refused.stderr
