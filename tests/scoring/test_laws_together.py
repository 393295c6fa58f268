"""Many measures in one call equal each alone, and files, dicts and the command line are of one mind."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import oracle
import rageval
from oracle import NOVELTY
from our_measures import OF_RUNS
from rageval.cli import main
from strategies import ALPHAS, NON_DYADIC, RunCase, case, cases, mask_case, mask_cases

pytestmark = pytest.mark.slow

TOLERANCE = 1e-12
HASH_SEEDS = ("0", "1", "2", "3", "4")
RUN_ROW, QRELS_ROW = "{0} Q0 {1} 0 {2!r} tag", "{0} {1} {2} {3}"

ks = st.sampled_from([None, 1, 2, 3, 5, 20, 50])
alphas = st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.9, 1.0])
parameters = st.fixed_dictionaries({}, optional={"alpha": alphas, "rel": st.sampled_from([0, 1, 2])})


@st.composite
def measures(draw: st.DrawFn) -> rageval.Measure:
    """Any measure, with any cut-off and some parameters it has."""
    measure = draw(st.sampled_from(list(OF_RUNS.values())))
    k = draw(ks)
    given = {name: value for name, value in draw(parameters).items() if name in measure.declared}
    return measure(**given) if k is None else measure(**given) @ k


some_cases = st.one_of(cases, mask_cases)


@given(st.lists(measures(), min_size=2, max_size=12, unique=True), some_cases)
def test_measures_in_one_call_equal_each_alone(chosen: list[rageval.Measure], drawn: RunCase) -> None:
    together = rageval.evaluate(chosen, drawn.run, drawn.qrels)
    assert list(together) == [str(measure) for measure in chosen]
    for measure in chosen:
        alone = rageval.evaluate(measure, drawn.run, drawn.qrels)[measure]
        assert together[measure].by_query == alone.by_query
        assert together[measure].value == alone.value


@given(st.lists(measures(), min_size=1, max_size=6, unique=True), some_cases, some_cases)
def test_an_evaluator_does_not_remember_another_run(
    chosen: list[rageval.Measure], drawn: RunCase, other: RunCase
) -> None:
    queries = list(drawn.qrels)
    runs = [drawn.run, dict(zip(queries, other.run.values(), strict=False)), drawn.run]
    evaluator = rageval.Evaluator(chosen, drawn.qrels)
    for run in runs:
        fresh = rageval.evaluate(chosen, run, drawn.qrels)
        for measure, score in evaluator.evaluate(run).items():
            assert score.by_query == fresh[measure].by_query


@pytest.mark.parametrize("alpha", NON_DYADIC)
@given(mask_cases, ks)
def test_novelty_measures_equal_the_oracle_where_sums_round(
    alpha: str, drawn: RunCase, k: int | None
) -> None:
    for name in (function.__name__ for function in NOVELTY):
        measure = OF_RUNS[name](alpha=alpha)
        measure = measure if k is None else measure @ k
        values = rageval.evaluate(measure, drawn.run, drawn.qrels)[measure].by_query
        expected = oracle.evaluate(name, drawn.run, drawn.qrels, k, alpha=Fraction(alpha))
        assert values == pytest.approx(expected, rel=0, abs=TOLERANCE), measure


def run_rows(run: oracle.Run) -> list[str]:
    return [RUN_ROW.format(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]


def qrels_rows(qrels: oracle.Qrels) -> list[str]:
    return [
        QRELS_ROW.format(query, nugget, doc, grade)
        for query, judged in qrels.items()
        for nugget, docs in judged.items()
        for doc, grade in docs.items()
    ]


def in_any_order(rows: list[str], rng: random.Random) -> str:
    """The rows as a file's text; those of one query stand anywhere."""
    return "".join(f"{row}\n" for row in rng.sample(rows, len(rows)))


def by_rank(run: oracle.Run, rng: random.Random) -> str:
    """All first rows, then all second rows, and so on: no query's rows are neighbours."""
    rows = [run_rows({query: docs}) for query, docs in run.items()]
    deepest = max(map(len, rows))
    return "".join(f"{own[index]}\n" for index in range(deepest) for own in rows if index < len(own))


def many(seed: int, queries: int = 40) -> RunCase:
    """Random cases side by side, as one case whose queries never share a name."""
    rng = random.Random(seed)
    run: oracle.Run = {}
    qrels: oracle.Qrels = {}
    for number in range(queries):
        drawn = rng.choice((case, mask_case))(rng)
        run |= {f"{number}.{query}".replace(" ", "_"): docs for query, docs in drawn.run.items()}
        qrels |= {f"{number}.{query}": judged for query, judged in drawn.qrels.items()}
    return RunCase(run, qrels)


EVERYTHING = [f"{name}@{k}" for name in OF_RUNS for k in (1, 3, 10)] + list(OF_RUNS)
EVERYTHING += [f"alpha_ndcg(alpha={alpha})@5" for alpha in ALPHAS + NON_DYADIC]
EVERYTHING += ["coverage(rel=2)@3", "recall(rel=2)@3", "ndcg(dcg=exp_log2)@5", "nrbp(beta=0.8)"]


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, float]]:
    drawn = many(seed=1)
    scores = rageval.evaluate(EVERYTHING, drawn.run, drawn.qrels)
    return {name: score.by_query for name, score in scores.items()}


@pytest.mark.parametrize("arrange", [by_rank, lambda run, rng: in_any_order(run_rows(run), rng)])
@pytest.mark.parametrize("seed", range(3))
def test_files_with_scattered_rows_equal_dicts(
    expected, arrange: Callable[[oracle.Run, random.Random], str], seed: int, tmp_path: Path
) -> None:
    drawn, rng = many(seed=1), random.Random(seed)
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_text(arrange(drawn.run, rng), encoding="utf-8")
    qrels.write_text(in_any_order(qrels_rows(drawn.qrels), rng), encoding="utf-8")
    scores = rageval.evaluate(EVERYTHING, run, qrels)
    assert {name: score.by_query for name, score in scores.items()} == expected


def test_the_command_line_equals_dicts(expected, tmp_path: Path) -> None:
    drawn = many(seed=1)
    files = [tmp_path / "run", tmp_path / "qrels"]
    files[0].write_text("\n".join(run_rows(drawn.run)), encoding="utf-8")
    files[1].write_text("\n".join(qrels_rows(drawn.qrels)), encoding="utf-8")
    words = [*map(str, files), *(word for name in EVERYTHING for word in ("-m", name))]
    outcome = CliRunner().invoke(main, [*words, "-q", "--format", "json"])
    assert outcome.exit_code == 0, outcome.stderr
    results = json.loads(outcome.stdout)["results"]
    assert {result["measure"]: result["by_query"] for result in results} == expected


def test_neither_the_hash_seed_nor_the_order_of_rows_changes_a_digit(tmp_path: Path) -> None:
    """Five processes with five hash seeds, each with the rows in another order."""
    drawn = many(seed=2, queries=15)
    outputs = {printed(drawn, seed, tmp_path) for seed in HASH_SEEDS}
    assert len(outputs) == 1
    assert len(outputs.pop()) == len(EVERYTHING) * (len(drawn.qrels) + 1)


def printed(drawn: RunCase, hash_seed: str, folder: Path) -> tuple[str, ...]:
    """What the command prints with all digits, sorted: queries come in the order of the judgements."""
    rng = random.Random(hash_seed)
    files = [folder / f"run{hash_seed}", folder / f"qrels{hash_seed}"]
    files[0].write_text(in_any_order(run_rows(drawn.run), rng), encoding="utf-8")
    files[1].write_text(in_any_order(qrels_rows(drawn.qrels), rng), encoding="utf-8")
    chosen = rng.sample(EVERYTHING, len(EVERYTHING))
    words = [*map(str, files), "-q", "-p", "17", *(word for name in chosen for word in ("-m", name))]
    process = subprocess.run(
        [sys.executable, "-m", "rageval", *words],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert process.returncode == 0, process.stderr
    return tuple(sorted(process.stdout.splitlines()))
