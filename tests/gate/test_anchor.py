"""A gate over many versions: the anchor that stays, and the history whose intervals hold over all looks."""

from __future__ import annotations

import importlib
import itertools
import json
import math
import random
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from click.testing import CliRunner, Result
from scipy.special import stdtrit

import rageval
from rageval.cli import main
from rageval.comparison.gate import GateReport, GateSettings, gate
from rageval.comparison.trend import Version, level_of_look, trend
from sides import side
from snippets import ROOT

N = 200


def falling(steps: int) -> list[list[float]]:
    """Versions, each of which loses 3 more of 200 answers than the one before."""
    chance = random.Random(5)
    order = chance.sample(range(N), N)
    return [[0.0 if at in order[: 3 * step] else 1.0 for at in range(N)] for step in range(steps + 1)]


def held(versions: list[list[float]], now: int, **settings: Any) -> GateReport:
    sides = [side(versions[at], date=f"day {at}") for at in (now, now - 1, 0)]
    return gate(sides[0], sides[1], GateSettings(0.03, **settings), None, sides[2])


@pytest.mark.slow
def test_ten_small_losses_do_not_pass_beside_an_anchor() -> None:
    versions = falling(10)
    alone = [
        gate(side(now), side(before), GateSettings(0.03)).verdict
        for before, now in itertools.pairwise(versions)
    ]
    assert "block" not in alone
    last = held(versions, 10)
    assert last.verdict == "block"
    assert [(each.against, each.verdict) for each in last.decisions][1] == ("anchor", "block")
    assert last.decisions[1].margin == 0.06
    assert "anchor:0.06" in last.signature
    assert "anchor of day 0" in last.headline
    assert last.overall == [last.decisions[0]]
    # With a margin of its own it may fall so far.
    assert held(versions, 10, anchor_margin=0.5).decisions[1].verdict == "ship"


def test_all_that_blocks_is_one_family() -> None:
    versions = falling(10)
    far = gate(side(versions[10]), side(versions[0]), GateSettings(0.06)).decisions[0]
    both = held(versions, 10)
    near, anchored = both.decisions
    # Of two p the smaller one counts twice.
    assert far.adjusted == far.p
    assert anchored.adjusted == pytest.approx(2 * far.p)
    assert near.adjusted == pytest.approx(max(near.p, 2 * far.p))


def version(values: list[float], name: str = "v", **more: Any) -> Version:
    return Version(name, "", {"m": {f"q{at}": value for at, value in enumerate(values)}}, **more)


def test_the_interval_of_a_look_is_students_with_the_floor_and_its_share_of_the_error() -> None:
    chance = random.Random(2)
    first = [chance.random() for _ in range(40)]
    later = [[value - 0.1 * chance.random() for value in first] for _ in range(3)]
    rules = {"m": ("m",)}
    found = trend([version(values, rules=rules) for values in (first, *later)])
    assert len(found.looks) == 4
    for look, values in enumerate(later, 1):
        apart = [now - before for now, before in zip(values, first, strict=True)]
        mean = sum(apart) / 40
        variance = sum((each - mean) ** 2 for each in apart) / 39 / 40
        level = 1 - 0.05 / (look * (look + 1))
        unseen = -math.log(1 - level) / NormalDist().inv_cdf((1 + level) / 2)
        half = stdtrit(39, (1 + level) / 2) * math.sqrt(variance + (unseen / 40) ** 2)
        shown = found.looks[look]
        assert shown.difference == pytest.approx(mean)
        assert (shown.high - shown.low) / 2 == pytest.approx(half)
    # What was shown stays as it was when another version comes.
    assert trend([version(values, rules=rules) for values in (first, *later[:2])]).looks == found.looks[:3]
    assert sum(1 - level_of_look(look) for look in range(1, 10_000)) == pytest.approx(0.05, abs=1e-4)


def test_what_was_made_otherwise_has_no_interval() -> None:
    one = version([1.0, 0.0] * 9, rules={"m": ("m",)})
    judged = version([1.0, 0.0] * 9, rules={"m": ("m",)}, judges=frozenset({"x"}))
    other = version([1.0, 0.0] * 9, rules={"m": ("m", "rel:2")})
    shown = trend([one, judged, other, one]).looks
    assert [bool(look.why) for look in shown] == [False, True, True, False]
    assert shown[3].low < 0 < shown[3].high  # no width of 0 from a sample


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


def test_the_command_shows_both_and_writes_the_trend(files: Path) -> None:
    shown = done("gate", "--history", "v1.json", "v2.json", "v3.json", "--md", "h.md", "--json", "h.json")
    assert shown.exit_code == 0
    assert shown.stdout.count("rr ") == 3
    assert "rr: -0.500 [" in shown.stderr
    assert json.loads(Path("h.json").read_text())["trend"]["looks"][2]["high"] < 0
    assert "| `rr` | `v3.run` |" in Path("h.md").read_text()
    words = ("gate", "v3.run", "qrels", "-m", "rr", "--baseline", "v2.json", "--margin", ".03")
    both = done(*words, "--anchor", "v1.json", "--history", "v1.json", "--history", "v2.json", "--md", "g.md")
    assert both.exit_code == 1
    assert "  anchor " in both.stdout
    assert "| `rr` | `v3.run` | `now` |" in Path("g.md").read_text()
    report = rageval.gate("v3.run", "qrels", "rr", baseline="v2.json", margin=0.03, anchor="v1.json")
    assert [each.against for each in report.decisions] == ["", "anchor"]


HELD = ("v3.run", "qrels", "--baseline", "v1.json", "--margin", ".1")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--history", "v1.json"), "two or more baselines"),
        ((*HELD, "-m", "rr", "--anchor", "qrels"), "baseline"),
        ((*HELD, "-m", "rr", "--anchor-margin", "1"), "--anchor"),
        ((*HELD, "-m", "p@1", "--history", "v1.json"), "has no values"),
    ],
)
def test_what_cannot_be_held_against_it_is_an_error(files: Path, words: tuple[str, ...], why: str) -> None:
    refused = done("gate", *words)
    assert refused.exit_code == 2
    assert why in refused.stderr


@pytest.mark.nightly
def test_all_intervals_of_a_history_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    bench = importlib.import_module("gate")
    assert min(share for _, share in bench.histories(60)) >= 0.88
