"""For which comparisons p is adjusted: pairs of each measure, of all measures, or one measure alone."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.comparison import Settings
from rageval.errors import UsageError
from rageval.statistics.significance import holm

MEASURES = "rr, p@3, recall@3"


@pytest.fixture(name="runs", scope="module")
def _runs() -> tuple[dict[str, dict[str, dict[str, float]]], dict[str, dict[str, int]]]:
    rng = random.Random(7)
    qrels = {f"q{q}": {f"d{d}": int(d < 2) for d in range(6)} for q in range(20)}
    shift = {"a": 0.0, "b": 0.3, "c": 0.6}
    runs = {
        name: {q: {d: rng.random() + more * grade for d, grade in docs.items()} for q, docs in qrels.items()}
        for name, more in shift.items()
    }
    return runs, qrels


def compared(runs: tuple[object, object], **settings: object) -> rageval.comparison.Comparison:
    return rageval.compare(MEASURES, *runs, all_pairs=True, draws=200, resamples=100, **settings)


def test_holm_over_measures_is_holm_over_all_their_pairs(runs: tuple[object, object]) -> None:
    found = compared(runs, family="measures")
    expected = holm(np.array([pair.p for pair in found.pairs]))
    assert [pair.adjusted for pair in found.pairs] == pytest.approx(expected.tolist())
    assert {pair.family for pair in found.pairs} == {"all pairs of 3 measures"}
    assert "family:measures" in found.signature
    alone = compared(runs)
    assert all(one.adjusted >= other.adjusted for one, other in zip(found.pairs, alone.pairs, strict=True))
    assert {pair.family for pair in alone.pairs} == {"all pairs, each measure by itself"}
    assert "family" not in alone.signature


def test_the_primary_measure_alone_is_tested(runs: tuple[object, object]) -> None:
    found, alone = compared(runs, primary="P@3"), compared(runs)
    for pair, other in zip(found.pairs, alone.pairs, strict=True):
        if pair.measure == "p@3":
            assert (pair.p, pair.adjusted, pair.verdict) == (other.p, other.adjusted, other.verdict)
            assert pair.family == "all pairs"
        else:
            assert pair.verdict == "described"
            assert pair.why == "p@3 alone is tested"
            assert (pair.difference, pair.low, pair.high) == (other.difference, other.low, other.high)
            assert np.isnan([pair.p, pair.adjusted]).all()
            assert not pair.is_significant
            assert pair.better_run is None
    assert "primary:p@3" in found.signature
    assert any(pair.is_significant for pair in found.pairs)


def test_what_does_not_go_together_is_refused(runs: tuple[object, object]) -> None:
    for wrong, other in (({"adjust": "none"}, "adjust='none'"), ({"primary": "rr"}, "primary")):
        with pytest.raises(UsageError) as caught:
            Settings(family="measures", **wrong)  # type: ignore[arg-type]
        said = "family='measures' is Holm over all measures; leave it out, or "
        assert str(caught.value) == said + other
    with pytest.raises(UsageError, match="is not measured; use one of rr, p@3, recall@3"):
        compared(runs, primary="ndcg")


def test_the_command_says_it(tmp_path: Path, runs: tuple[object, object]) -> None:
    found, qrels = runs
    for name, queries in found.items():  # type: ignore[attr-defined]
        rows = (f"{q} Q0 {d} 1 {score} {name}\n" for q, docs in queries.items() for d, score in docs.items())
        (tmp_path / name).write_text("".join(rows))
    rows = (f"{q} 0 {d} {grade}\n" for q, docs in qrels.items() for d, grade in docs.items())  # type: ignore[attr-defined]
    (tmp_path / "qrels").write_text("".join(rows))
    words = ["compare", *(str(tmp_path / name) for name in ("a", "b", "qrels")), "-m", "rr,p@3"]
    quick = ["--draws", "200", "--resamples", "100"]
    done = CliRunner().invoke(main, [*words, *quick, "--family", "measures"])
    assert done.exit_code == 0
    assert "Holm over one pair of 2 measures" in done.stdout
    done = CliRunner().invoke(main, [*words, *quick, "--primary", "rr"])
    assert "described" in done.stdout
    assert "primary:rr" in done.stdout
