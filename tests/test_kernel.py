"""The compiled part against plain Python: the same orders, whatever the judgements, and no crash."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_topics import (
    NUGGETS,
    Documents,
    columns_of,
    drawn,
    fuzz,
    fuzz_sums,
    greedy,
    orders,
    scribbled,
    table,
)
from rageval import kernel as compiled
from rageval.measures.ranking import Topic
from rageval.scoring.qrels import Qrels

ROOT = Path(__file__).parents[1]
ALPHAS = [0.0, 0.05, *(tenths / 10 for tenths in range(1, 10)), 1 / 3, 0.95, 1.0]
needed = pytest.mark.skipif(compiled.kernel is None, reason="the compiled part is not in use")


def found_in(topics: list[Documents], alpha: float, rel: int, k: int | None) -> list[list[int]]:
    assert compiled.kernel is not None
    columns = columns_of(topics)
    return orders(
        compiled.kernel.ideal_orders(*columns, table(alpha, 60), NUGGETS, rel, -1 if k is None else k)
    )


@pytest.mark.slow
@needed
@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_order_is_the_greedy_one_of_sums_rounded_once(alpha: float) -> None:
    rng = random.Random(f"orders {alpha}")
    for k in (None, 1, 4, 10, 0):
        for rel in (1, 2, 0):
            topics = [drawn(rng) for _ in range(25)]
            expected = [greedy(topic, table(alpha, 60), rel, k) for topic in topics]
            assert found_in(topics, alpha, rel, k) == expected


@pytest.mark.slow
def test_judgements_give_the_gains_that_the_heap_gives() -> None:
    """Many queries at once, asked for deeper and deeper, at other alphas and grades between."""
    rng = random.Random(11)
    drawn_ones = {f"q{number}": drawn(rng) for number in range(80)}
    judged: dict[str, dict[str, dict[str, int]]] = {}
    for query, topic in drawn_ones.items():
        for name, pairs in topic.items():
            for nugget, grade in pairs:
                name = name.replace("\0", "z")
                judged.setdefault(query, {}).setdefault(f"n{nugget}", {})[name] = grade
    topics = Qrels.from_dict(judged).topics
    for k in (2, 3, 1, 9, None, 4):
        for alpha in (0.5, 0.3, 1.0):
            for rel in (1, 2):
                for topic in topics:
                    assert topic.ideal(k, alpha, rel) == Topic.of(judged[topic.query_id]).ideal(k, alpha, rel)


def run(kernel: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RAGEVAL_KERNEL": kernel, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "rageval", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)


@pytest.mark.slow
def test_outputs_with_and_without_it_are_the_same() -> None:
    measures = "alpha_ndcg@10,alpha_ndcg(alpha=0.3)@5,alpha_ndcg,nrbp,err_ia@20"
    files = ["examples/data/run.trec", "examples/data/qrels.nugget"]
    one, other = (run(kernel, *files, "-m", measures, "--format", "json", "--by-query") for kernel in "10")
    assert one.returncode == other.returncode == 0, one.stderr
    assert one.stdout == other.stdout


@pytest.mark.slow
@needed
def test_hostile_columns_end_in_an_error_or_a_result() -> None:
    assert compiled.kernel is not None
    results, errors = fuzz(compiled.kernel.ideal_orders, 1, 1500)
    assert results > 300
    assert errors > 300
    scribbled(compiled.kernel.ideal_orders, 1, 20)
    results, errors = fuzz_sums(compiled.kernel.gain_sums, 1, 500)
    assert results > 100
    assert errors > 100
