"""Agreement beyond chance: closed forms, published examples, slow twins, and the command."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from rageval.cli import main
from rageval.statistics.agreement import (
    _COEFFICIENTS,
    _gwet,
    _kappa,
    _observed,
    _weights,
    agreement,
    alpha,
    table_of,
)
from rageval.statistics.rankings import tau_ap, tau_b

pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30)


def tabled(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    one, other = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    levels, table = table_of(one, other)
    return table, levels


def slow_kappa(rows: list[tuple[int, int]], power: int) -> float:
    spread = max(max(row) for row in rows) - min(min(row) for row in rows)
    if not spread:
        return math.nan
    far = (lambda a, b: float(a != b)) if not power else (lambda a, b: (abs(a - b) / spread) ** power)
    seen = sum(far(a, b) for a, b in rows) / len(rows)
    chance = sum(far(a, b) for a, _ in rows for _, b in rows) / len(rows) ** 2
    return 1 - seen / chance if chance else math.nan


@pytest.mark.slow
@given(pairs)
@pytest.mark.parametrize(("kind", "power"), [("none", 0), ("linear", 1), ("quadratic", 2)])
def test_kappa_equals_its_slow_twin(kind: str, power: int, rows: list[tuple[int, int]]) -> None:
    table, levels = tabled(rows)
    assert _kappa(table, _weights(levels, kind)) == pytest.approx(slow_kappa(rows, power), nan_ok=True)


@given(pairs, st.sampled_from(list(_COEFFICIENTS)))
def test_the_two_judges_may_change_places(rows: list[tuple[int, int]], name: str) -> None:
    table, levels = tabled(rows)
    w = _weights(levels, "linear")
    assert _COEFFICIENTS[name](table, w) == pytest.approx(_COEFFICIENTS[name](table.T, w), nan_ok=True)


def test_perfect_agreement_is_1_and_perfect_disagreement_is_not() -> None:
    same, opposite = np.diag([5.0, 5.0]), np.array([[0.0, 5.0], [5.0, 0.0]])
    w = _weights(np.array([0.0, 1.0]))
    for coefficient in (_observed, _kappa, _gwet):
        assert coefficient(same, w) == 1.0
        assert coefficient(opposite, w) < 0.06
    assert _kappa(opposite, w) == -1.0


def test_the_paradox_that_gwet_was_made_for() -> None:
    """Nearly all items have one grade: agreement is 94 %, kappa below 0 (Gwet 2008)."""
    table, w = np.array([[118.0, 5.0], [2.0, 0.0]]), _weights(np.array([0.0, 1.0]))
    assert _observed(table, w) == 118 / 125
    assert _kappa(table, w) < 0
    assert _gwet(table, w) == pytest.approx(0.941, abs=5e-4)


def test_weighted_gwet_by_hand() -> None:
    w = _weights(np.array([0.0, 1.0, 2.0]), "quadratic")
    table = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [0.0, 0.0, 3.0]])
    pi = (np.array([3, 4, 3]) + np.array([2, 4, 4])) / 20
    expected = (3 + 4 * 0.75) / 6 * sum(share * (1 - share) for share in pi)
    assert _gwet(table, w) == pytest.approx((0.95 - expected) / (1 - expected))


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


@pytest.mark.slow
def test_intervals_hold_the_value_and_shrink_with_queries() -> None:
    rng = random.Random(1)
    rows = [
        (grade, grade if rng.random() < 0.8 else rng.randint(0, 3))
        for grade in [rng.randint(0, 3) for _ in range(400)]
    ]
    one, other = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    widths = []
    for number in (40, 400):
        coefficients = agreement(one[:number], other[:number], [str(index) for index in range(number)])
        assert all(coefficient.low <= coefficient.value <= coefficient.high for coefficient in coefficients)
        widths.append(coefficients[1].high - coefficients[1].low)
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
    labels = gold | {("2", "b"): "missing", ("3", "b"): None}
    files = judgements(tmp_path, "judged", labels, "m"), judgements(tmp_path, "gold", gold, "people")
    agreement_of_command = json.loads(
        CliRunner().invoke(main, ["label", "agree", *files, "--format", "json"]).output
    )
    assert agreement_of_command["compared"] == 4
    assert agreement_of_command["failed"] == agreement_of_command["only_judged"] == 1
    assert agreement_of_command["bias"] == 0.25
    assert agreement_of_command["labels"] == ["incorrect", "missing", "perfect"]
    assert agreement_of_command["confusion"] == [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    assert agreement_of_command["tau_b"] == 1.0
    assert agreement_of_command["coefficients"]["agreement"]["value"] == 0.75
    shown = CliRunner().invoke(main, ["label", "agree", *files, "--format", "table"]).output
    assert "the judge is more generous by 0.250 on average" in shown
    assert "1 of the judge's judgements failed (20.0%)" in shown


def test_answers_that_people_judged_in_part_are_counted(tmp_path: Path) -> None:
    """Three answers of ten nuggets: people judged two of the first, all of the second, none of the third."""
    rows = [
        {"query_id": f"q{answer}", "run_id": "a", "aspect": f"n{nugget}", "label": "support"}
        for answer in range(3)
        for nugget in range(10)
    ]
    for name, rows_of_file in (("judged", rows), ("gold", [*rows[:2], *rows[10:20]])):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows_of_file))
    files = str(tmp_path / "judged"), str(tmp_path / "gold")
    record = json.loads(CliRunner().invoke(main, ["label", "agree", *files, "--format", "json"]).output)
    counts = {name: record[name] for name in ("compared", "queries", "answers", "partly", "of")}
    assert counts == {"compared": 12, "queries": 2, "answers": 2, "partly": 1, "of": 20}
    for style in ("table", "md"):
        shown = CliRunner().invoke(main, ["label", "agree", *files, "--format", style]).output
        assert "2 answers, 1 of which were judged in part: 12 of their 20 judgements are in both" in shown


def test_files_that_cannot_be_compared(tmp_path: Path) -> None:
    one = judgements(tmp_path, "one", {("1", "a"): "perfect"}, "m")
    other = judgements(tmp_path, "other", {("2", "a"): "perfect"}, "m")
    outcome = CliRunner().invoke(main, ["label", "agree", one, other])
    assert outcome.exit_code == 2
    assert "no judgement is in both files (1 and 1 judgements)" in outcome.stderr
    Path(one).write_text('{"query_id": "1", "run_id": "a", "label": "x"}\n' * 2)
    outcome = CliRunner().invoke(main, ["label", "agree", one, other])
    assert outcome.exit_code == 2
    assert "one:2: already judged by" in outcome.stderr


def shown(*words: str) -> str:
    outcome = CliRunner().invoke(main, ["label", "agree", *words, "--format", "table"])
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


def test_every_label_has_its_rates_and_its_agreement(tmp_path: Path) -> None:
    gold = {(str(index), "a"): "perfect" if index < 3 else "missing" for index in range(4)}
    labels = gold | {("0", "a"): "missing"}
    files = judgements(tmp_path, "judged", labels, "m"), judgements(tmp_path, "gold", gold, "people")
    by_label = json.loads(CliRunner().invoke(main, ["label", "agree", *files, "--format", "json"]).output)[
        "by_label"
    ]
    assert by_label == {
        "missing": {"judge": 0.5, "gold": 0.25, "agreement": 2 / 3},
        "perfect": {"judge": 0.5, "gold": 0.75, "agreement": 0.8},
    }


@pytest.mark.slow
def test_systems_are_ranked_by_a_measure_and_topic_by_topic(tmp_path: Path) -> None:
    systems = "abc"
    gold = {
        (query, run): ("perfect", "missing", "incorrect")[index]
        for query in "12"
        for index, run in enumerate(systems)
    }
    labels = gold | {("1", "a"): "incorrect", ("1", "c"): "perfect"}
    files = judgements(tmp_path, "judged", labels, "m"), judgements(tmp_path, "gold", gold, "people")
    for options in ([], ["-m", "crag_score"]):
        words = ["label", "agree", *files, "--format", "json", *options]
        rankings = json.loads(CliRunner().invoke(main, words).output)
        assert (rankings["tau_per_topic"], rankings["topics"]) == (0.0, 2)
        assert rankings["tau_b"] is None  # all three systems are worth the same by one of the judges
    rankings = json.loads(
        CliRunner().invoke(main, ["label", "agree", *files, "--format", "json", "-m", "hallucination"]).output
    )
    assert rankings["ranked_by"] == "hallucination"
    assert rankings["tau_b"] == pytest.approx(0.5)


def test_a_judge_who_likes_long_answers(tmp_path: Path) -> None:
    gold = {(str(index), "a"): "acceptable" for index in range(6)}
    labels = {key: "perfect" if index >= 3 else "missing" for index, key in enumerate(gold)}
    answers = [
        {"query_id": query, "run_id": run, "answer": "x " * (index + 1)}
        for index, (query, run) in enumerate(gold)
    ]
    (tmp_path / "answers").write_text("\n".join(map(json.dumps, answers)))
    files = judgements(tmp_path, "judged", labels, "m"), judgements(tmp_path, "gold", gold, "people")
    expected = tau_b(np.array([-0.5] * 3 + [0.5] * 3), np.arange(6.0))
    assert f"that are too high: tau_b {expected:.3f}" in shown(*files, "--answers", str(tmp_path / "answers"))
    assert "its length" not in shown(*files)


def test_a_judge_who_likes_what_is_shown_first(tmp_path: Path) -> None:
    rows = []
    for query in "12":
        for aspect in ("a | b", "b | a"):
            first, _, second = aspect.partition(" | ")
            winner = first if query == "1" else "a"
            rows += [
                {
                    "query_id": query,
                    "run_id": run,
                    "aspect": aspect,
                    "label": "win" if run == winner else "loss",
                }
                for run in (first, second)
            ]
    (tmp_path / "judged").write_text("\n".join(map(json.dumps, rows)))
    passport = shown(str(tmp_path / "judged"), str(tmp_path / "judged"))
    assert (
        "of 2 pairs shown in both orders 50.0% keep their verdict; the answer shown first wins 75.0%"
        in passport
    )


@pytest.mark.parametrize(
    ("judge", "runs", "kin"),
    [
        ("openai:gpt-4o@12345678", ("my-gpt-4o-rag", "bm25"), "my-gpt-4o-rag"),
        ("anthropic:claude-x", ("Claude-RAG", "gpt"), "Claude-RAG"),
        ("person", ("gpt", "claude"), None),
    ],
)
def test_a_judge_among_its_own_kind(
    tmp_path: Path, judge: str, runs: tuple[str, str], kin: str | None
) -> None:
    gold = {("1", run): "perfect" for run in runs}
    files = judgements(tmp_path, "judged", gold, judge), judgements(tmp_path, "gold", gold, "people")
    passport = shown(*files)
    assert ("of the judge's own family" in passport) == (kin is not None)
    assert kin is None or f"which it may prefer: {kin}\n" in passport


def test_what_was_spent(tmp_path: Path) -> None:
    row = {"query_id": "1", "run_id": "a", "label": "perfect", "judge": "openai:gpt-4o-mini@1234abcd"}
    usage = {"input": 1_000_000, "output": 100_000}
    for name, also in (("judged", {"usage": usage}), ("gold", {})):
        (tmp_path / name).write_text(json.dumps(row | also))
    assert "1,100,000 tokens were used, 0.2100 USD" in shown(str(tmp_path / "judged"), str(tmp_path / "gold"))
    (tmp_path / "judged").write_text(json.dumps(row | {"usage": usage, "judge": "openai:unheard-of"}))
    assert "1,100,000 tokens were used\n" in shown(str(tmp_path / "judged"), str(tmp_path / "gold"))


def test_alpha_of_several_judges_is_krippendorffs() -> None:
    """His example of four judges and twelve units (2011): nominal .743, interval .849."""
    nan = float("nan")
    by_judge = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
    grades = np.array(by_judge, np.float64).T
    units = [str(unit) for unit in range(12)]
    nominal, interval = (alpha(grades, units, kind) for kind in ("none", "quadratic"))
    assert round(nominal.value, 3) == 0.743
    assert round(interval.value, 3) == 0.849
    assert nominal.low < nominal.value < nominal.high <= 1
    same = alpha(np.ones((4, 3)), units[:4])
    assert same.value != same.value
