"""How often the gate is wrong: fewer pairs than benchmarks/gate.py draws, always the same ones."""

from __future__ import annotations

import importlib.util
import sys
from functools import lru_cache

import pytest

from rageval.statistics import bootstrap
from snippets import ROOT

pytestmark = pytest.mark.slow
sys.path.append(str(ROOT / "benchmarks"))  # where benchmarks/gate.py has its worlds
SPEC = importlib.util.spec_from_file_location("benchmarks_gate", ROOT / "benchmarks" / "gate.py")
assert SPEC is not None and SPEC.loader is not None  # noqa: PT018
bench = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench)
MARGIN = bench.MARGIN


@pytest.fixture(autouse=True)
def same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_times", lru_cache(64)(bootstrap._times))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("world", "questions", "difference", "block", "ship"),
    [
        ("binary", 200, 0.0, (0, 0.1), (0.18, 0.42)),
        ("binary", 200, -2 * MARGIN, (0.6, 0.84), (0, 0.02)),
        ("binary", 50, -MARGIN, (0.04, 0.16), (0, 0.1)),
        ("graded", 50, -MARGIN, (0.12, 0.32), (0, 0.1)),
    ],
)
def test_wrong_verdicts_are_rare_and_losses_are_seen(
    world: str, questions: int, difference: float, block: tuple[float, float], ship: tuple[float, float]
) -> None:
    blocked, shipped = bench.rates(world, questions, difference, 150)
    assert block[0] <= blocked <= block[1]
    assert ship[0] <= shipped <= ship[1]


@pytest.mark.nightly
def test_twelve_slices_block_no_more_often_than_one_would() -> None:
    blocked, alone = bench.slices_blocked(12, 40, 50)
    assert blocked <= 0.1
    assert alone >= 0.15  # without Holm
