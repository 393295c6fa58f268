"""Agreement beyond chance: closed forms, published examples, slow twins, and the command."""

from __future__ import annotations

import json
import math
import random
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from rageval.agreement import (
    COEFFICIENTS,
    agreement,
    gwet,
    kappa,
    krippendorff,
    observed,
    table_of,
    tau_ap,
    tau_b,
    weights,
)
from rageval.cli import main

pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30)


def tabled(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    one, other = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    levels = np.unique(np.concatenate((one, other)))
    return table_of(one, other, levels), levels


def slow_kappa(rows: list[tuple[int, int]], power: int) -> float:
    spread = max(max(row) for row in rows) - min(min(row) for row in rows)
    if not spread:
        return math.nan
    far = (lambda a, b: float(a != b)) if not power else (lambda a, b: (abs(a - b) / spread) ** power)
    seen = sum(far(a, b) for a, b in rows) / len(rows)
    chance = sum(far(a, b) for a, _ in rows for _, b in rows) / len(rows) ** 2
    return 1 - seen / chance if chance else math.nan


def slow_alpha(rows: list[tuple[int, int]]) -> float:
    values = [value for row in rows for value in row]
    seen = sum(a != b for a, b in rows) / len(rows)
    every = list(combinations(values, 2))
    chance = sum(a != b for a, b in every) / len(every)
    return 1 - seen / chance if chance else math.nan


@given(pairs)
@pytest.mark.parametrize(("kind", "power"), [("none", 0), ("linear", 1), ("quadratic", 2)])
def test_kappa_equals_its_slow_twin(kind: str, power: int, rows: list[tuple[int, int]]) -> None:
    table, levels = tabled(rows)
    assert kappa(table, weights(levels, kind)) == pytest.approx(slow_kappa(rows, power), nan_ok=True)


@given(pairs)
def test_alpha_equals_its_slow_twin(rows: list[tuple[int, int]]) -> None:
    table, levels = tabled(rows)
    assert krippendorff(table, weights(levels)) == pytest.approx(slow_alpha(rows), nan_ok=True)


@given(pairs, st.sampled_from(list(COEFFICIENTS)))
def test_the_two_judges_may_change_places(rows: list[tuple[int, int]], name: str) -> None:
    table, levels = tabled(rows)
    w = weights(levels, "linear")
    assert COEFFICIENTS[name](table, w) == pytest.approx(COEFFICIENTS[name](table.T, w), nan_ok=True)


def test_perfect_agreement_is_1_and_perfect_disagreement_is_not() -> None:
    same, opposite = np.diag([5.0, 5.0]), np.array([[0.0, 5.0], [5.0, 0.0]])
    w = weights(np.array([0.0, 1.0]))
    for coefficient in (observed, kappa, gwet, krippendorff):
        assert coefficient(same, w) == 1.0
        assert coefficient(opposite, w) < 0.06
    assert kappa(opposite, w) == -1.0


def test_the_paradox_that_gwet_was_made_for() -> None:
    """Nearly all items have one grade: agreement is 94 %, kappa below 0 (Gwet 2008)."""
    table, w = np.array([[118.0, 5.0], [2.0, 0.0]]), weights(np.array([0.0, 1.0]))
    assert observed(table, w) == 118 / 125
    assert kappa(table, w) < 0
    assert gwet(table, w) == pytest.approx(0.941, abs=5e-4)


def test_weighted_gwet_by_hand() -> None:
    w = weights(np.array([0.0, 1.0, 2.0]), "quadratic")
    table = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [0.0, 0.0, 3.0]])
    pi = (np.array([3, 4, 3]) + np.array([2, 4, 4])) / 20
    expected = (3 + 4 * 0.75) / 6 * sum(share * (1 - share) for share in pi)
    assert gwet(table, w) == pytest.approx((0.95 - expected) / (1 - expected))


@pytest.mark.parametrize("seed", range(5))
def test_tau_b_equals_scipys(seed: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = random.Random(seed)
    one, other = (np.array([float(rng.randint(0, 5)) for _ in range(12)]) for _ in range(2))
    assert tau_b(one, other) == pytest.approx(stats.kendalltau(one, other).statistic)


def test_tau_ap_punishes_errors_at_the_top() -> None:
    truth = np.array([4.0, 3.0, 2.0, 1.0])
    top, bottom = np.array([3.0, 4.0, 2.0, 1.0]), np.array([4.0, 3.0, 1.0, 2.0])
    assert tau_ap(truth, truth) == 1.0
    assert tau_ap(truth, -truth) == -1.0
    assert tau_ap(truth, top) == pytest.approx(2 / 3 * (0 + 1 + 1) - 1)
    assert tau_ap(truth, bottom) == pytest.approx(2 / 3 * (1 + 1 + 2 / 3) - 1)


def test_intervals_hold_the_value_and_shrink_with_queries() -> None:
    rng = random.Random(1)
    rows = [
        (grade, grade if rng.random() < 0.8 else rng.randint(0, 3))
        for grade in [rng.randint(0, 3) for _ in range(400)]
    ]
    one, other = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    widths = []
    for number in (40, 400):
        found = agreement(one[:number], other[:number], [str(at) for at in range(number)])
        assert all(each.low <= each.value <= each.high for each in found)
        widths.append(found[1].high - found[1].low)
    assert widths[1] < widths[0] / 2


def judgements(folder: Path, name: str, labels: dict[tuple[str, str], str | None], judge: str) -> str:
    rows = [
        {"query_id": query, "run_id": run, "judge": judge}
        | ({"label": label} if label else {"status": "refused"})
        for (query, run), label in labels.items()
    ]
    (folder / name).write_text("\n".join(map(json.dumps, rows)))
    return str(folder / name)


def test_the_command_says_everything(tmp_path: Path) -> None:
    gold = {("1", "a"): "perfect", ("2", "a"): "missing", ("1", "b"): "incorrect", ("2", "b"): "incorrect"}
    said = gold | {("2", "b"): "missing", ("3", "b"): None}
    files = judgements(tmp_path, "judged", said, "m"), judgements(tmp_path, "gold", gold, "people")
    found = json.loads(CliRunner().invoke(main, ["agree", *files, "--format", "json"]).output)
    assert found["compared"] == 4
    assert found["failed"] == found["only_judged"] == 1
    assert found["bias"] == 0.25
    assert found["labels"] == ["incorrect", "missing", "perfect"]
    assert found["confusion"] == [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    assert found["tau_b"] == 1.0
    assert found["coefficients"]["agreement"]["value"] == 0.75
    shown = CliRunner().invoke(main, ["agree", *files, "--format", "table"]).output
    assert "the judge is more generous by 0.250 on average" in shown
    assert "1 of the judge's judgements failed (20.0%)" in shown


def test_files_that_cannot_be_compared(tmp_path: Path) -> None:
    one = judgements(tmp_path, "one", {("1", "a"): "perfect"}, "m")
    other = judgements(tmp_path, "other", {("2", "a"): "perfect"}, "m")
    outcome = CliRunner().invoke(main, ["agree", one, other])
    assert outcome.exit_code == 2
    assert "nothing was judged in both files (1 and 1 judgements)" in outcome.output
    Path(one).write_text('{"query_id": "1", "run_id": "a", "label": "x"}\n' * 2)
    outcome = CliRunner().invoke(main, ["agree", one, other])
    assert outcome.exit_code == 2
    assert "one:2: judged before by" in outcome.output
