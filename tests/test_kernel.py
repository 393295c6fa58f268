"""The compiled part against plain Python: the same orders, whatever the judgements, and no crash."""

from __future__ import annotations

import itertools
import math
import os
import random
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any

import pytest

import rageval
from kernel_topics import (
    NAMES,
    NUGGETS,
    Documents,
    columns_of,
    drawn,
    fuzz,
    fuzz_sums,
    greedy,
    orders,
    ranked,
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


@pytest.mark.some(3)
@needed
@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])
def test_sums_that_are_rounded_at_every_step_would_break_ties_otherwise(alpha: float) -> None:
    rng = random.Random(f"ties {alpha}")
    topics = [drawn(rng) for _ in range(100)]
    exact = found_in(topics, alpha, 1, None)
    assert exact == [greedy(topic, table(alpha, 60), 1, None) for topic in topics]
    assert exact != [greedy(topic, table(alpha, 60), 1, None, add=sum_step_by_step) for topic in topics]


def sum_step_by_step(terms: list[float]) -> float:
    total = 0.0
    for term in terms:
        total += term
    return total


@needed
def test_sums_halfway_between_two_numbers_are_rounded_as_fsum_does() -> None:
    """Tables of few bits far apart: what falls on the half and beside it."""
    rng = random.Random(7)
    assert compiled.kernel is not None
    for _ in range(300):
        worth = sorted(2.0 ** -rng.choice((0, 1, 51, 52, 53, 54, 105, 106, 107)) for _ in range(60))[::-1]
        topics = [drawn(rng, 12) for _ in range(4)]
        order = orders(compiled.kernel.ideal_orders(*columns_of(topics), array("d", worth), NUGGETS, 1, -1))
        assert order == [greedy(topic, worth, 1, None) for topic in topics]


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


@needed
@pytest.mark.parametrize("by_nuggets", [True, False])
def test_sums_over_many_rankings_are_those_of_fsum(by_nuggets: bool) -> None:
    """Gains and discounts of many bits, also where nothing is found, a nugget is seen often, or k cuts."""
    assert compiled.kernel is not None
    rng = random.Random(3)
    topics = [drawn(rng) for _ in range(40)]
    first, borders, rank, document = ranked(rng, topics)
    judged, discount = (
        columns_of(topics),
        array("d", [0.0, *(1 / math.log2(1 + index) for index in range(1, 31))]),
    )
    for k, rel, alpha in ((-1, 1, 0.3), (5, 2, 0.5), (1, 0, 0.9), (0, 1, 0.1)):
        worth = table(alpha, 30)
        nugget = judged.nugget if by_nuggets else array("i")
        sums = compiled.kernel.gain_sums(
            *(first, borders, rank, document, judged.begin, nugget, judged.grade, worth, discount),
            *(NUGGETS, rel, k),
        )
        expected = []
        for number, (start, end) in enumerate(itertools.pairwise(borders)):
            pairs, seen, terms = list(topics[number % 40].values()), dict.fromkeys(range(NUGGETS), 0), []
            for index in range(start, end):
                grades = pairs[document[index]]
                gain = worth[max(grade for _, grade in grades)] if grades else 0.0
                if by_nuggets:
                    supported = [nugget for nugget, grade in grades if grade >= rel]
                    gain = math.fsum([worth[seen[nugget]] for nugget in supported])
                    seen |= {nugget: seen[nugget] + 1 for nugget in supported}
                if k < 0 or rank[index] <= k:
                    terms.append(gain * discount[rank[index]])
            expected.append(math.fsum(terms))
        assert memoryview(sums).cast("d").tolist() == expected


SUM_NAMES = ["first", "borders", "rank", "document", "begin", "nugget", "grade", "worth", "discount"]
SUM_LIES: list[tuple[str, Any, str]] = [
    ("first", array("q", [-1]), "first: expected numbers"),
    ("first", array("q", [3]), "first: expected numbers"),
    ("first", array("q", [2]), "document: expected numbers"),
    ("first", array("q", [0, 0]), "borders: expected one number more"),
    ("borders", array("q", [0, 3]), "borders: expected places"),
    ("borders", array("q", [2, 1]), "borders: expected places"),
    ("borders", array("q", [-1, 2]), "borders: expected places"),
    ("rank", array("i", [1]), "rank, document: expected columns of one length"),
    ("rank", array("i", [0, 1]), "discount: expected a value for every rank"),
    ("rank", array("i", [1, 3]), "discount: expected a value for every rank"),
    ("document", array("i", [-1, 1]), "document: expected numbers"),
    ("document", array("i", [0, 2]), "document: expected numbers"),
    ("begin", array("q"), "begin: expected one number more"),
    ("begin", array("q", [0, 2, 4]), "begin: expected places"),
    ("begin", array("q", [-1, 2, 3]), "begin: expected places"),
    ("begin", array("q", [0, 2, 1]), "begin: expected places"),
    ("nugget", array("i", [0, 1]), "nugget, grade: expected columns of one length"),
    ("nugget", array("i", [0, NUGGETS, 0]), "nugget: expected numbers"),
    ("nugget", array("i", [0, -1, 0]), "nugget: expected numbers"),
    ("worth", array("d", [1.0]), "worth: expected a value for every time"),
    ("discount", array("d", [0.0, 1.0]), "discount: expected a value for every rank"),
]


@needed
@pytest.mark.parametrize(
    ("name", "column", "message"), SUM_LIES, ids=[f"{index}-{lie[0]}" for index, lie in enumerate(SUM_LIES)]
)
def test_columns_of_rankings_that_lie_are_refused(name: str, column: Any, message: str) -> None:
    assert compiled.kernel is not None
    judged = columns_of([{"a": [(0, 1), (1, 1)], "b": [(0, 1)]}])
    right = [array("q", [0]), array("q", [0, 2]), array("i", [1, 2]), array("i", [0, 1])]
    right += [judged.begin, judged.nugget, judged.grade, table(0.5, 2), array("d", [0.0, 1.0, 0.5])]
    assert memoryview(compiled.kernel.gain_sums(*right, NUGGETS, 1, -1)).cast("d").tolist() == [2.25]
    right[SUM_NAMES.index(name)] = column
    with pytest.raises(ValueError, match=message):
        compiled.kernel.gain_sums(*right, NUGGETS, 1, -1)
    grades = [*right[:5], array("i"), array("i", [1, 2, 2]), *right[7:]]
    if name == "worth":
        with pytest.raises(ValueError, match="worth: expected a value for every grade"):
            compiled.kernel.gain_sums(*grades, NUGGETS, 1, -1)


@needed
def test_it_is_what_evaluations_use(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    assert compiled.kernel is not None
    real = compiled.kernel.ideal_orders
    monkeypatch.setattr(
        compiled.kernel, "ideal_orders", lambda *given: called.append(given[-1]) or real(*given)
    )
    qrels = {"q": {"n": {"a": 1, "b": 1}}, "r": {"n": {"a": 1}}}
    rageval.evaluate("alpha_ndcg@1, alpha_ndcg@1, nrbp, alpha_ndcg", {"q": {"a": 1.0}}, qrels)
    assert called == [1, 2]  # once for all queries, and once deeper; never twice


def run(kernel: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RAGEVAL_KERNEL": kernel, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "rageval", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)


def test_the_variable_turns_it_off_and_version_says_so() -> None:
    assert run("0", "--version").stdout == f"rageval {rageval.__version__} (plain Python: RAGEVAL_KERNEL=0)\n"
    others = {"with the compiled part", "plain Python: nothing was compiled"}
    assert run("", "--version").stdout in {f"rageval {rageval.__version__} ({text})\n" for text in others}


def test_what_another_version_compiled_is_not_used() -> None:
    code = (
        "import sys, types\n"
        "other = types.ModuleType('rageval._kernel'); other.INTERFACE = -1\n"
        "import rageval\n"
        "sys.modules['rageval._kernel'] = rageval._kernel = other\n"
        "from rageval.kernel import in_use, kernel\n"
        "print(kernel, in_use)"
    )
    environment = {**os.environ, "RAGEVAL_KERNEL": "", "PYTHONPATH": str(ROOT)}
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert process.stdout == "None plain Python: what was compiled is of another version\n"


@pytest.mark.slow
def test_outputs_with_and_without_it_are_the_same() -> None:
    measures = "alpha_ndcg@10,alpha_ndcg(alpha=0.3)@5,alpha_ndcg,nrbp,err_ia@20"
    files = ["examples/data/run.trec", "examples/data/qrels.nugget"]
    one, other = (run(kernel, *files, "-m", measures, "--format", "json", "--by-query") for kernel in "10")
    assert one.returncode == other.returncode == 0, one.stderr
    assert one.stdout == other.stdout


LIES: list[tuple[str, Any, str]] = [
    ("topics", array("q"), "one number more"),
    ("topics", array("q", [0, 99]), "topics: expected places"),
    ("topics", array("q", [0, 2, 1]), "topics: expected places"),
    ("topics", array("q", [-1, 2]), "topics: expected places"),
    ("begin", array("q", [0, 2, -1]), "begin: expected places"),
    ("begin", array("q", [0, 2, 2**62]), "begin: expected places"),
    ("begin", array("q", [0, 2]), "than there are documents"),
    ("nugget", array("i", [0, NUGGETS, 0]), "nugget: expected numbers"),
    ("nugget", array("i", [-1, 1, 0]), "nugget: expected numbers"),
    ("nugget", array("i", [1, 1, 0]), "nugget: expected numbers"),
    ("grade", array("i", [1, 1]), "one length"),
    ("id_ends", array("q", [0, 2**63 - 1, 2]), "id_ends: expected places"),
    ("id_ends", array("q", [1, 0, 2]), "id_ends: expected places"),
    ("id_ends", array("q", [-1, 1, 2]), "id_ends: expected places"),
    ("id_ends", array("q", [0, 1, 3]), "id_ends: expected places"),
    ("id_ends", array("q", [0, 1]), "id_ends: expected one number more"),
    ("worth", array("d", [1.0]), "worth: expected a value for every rank"),
    ("worth", array("d", [1.0, float("nan")]), "worth: expected numbers"),
    ("worth", array("d", [0.5, 1.0]), "worth: expected numbers"),
    ("worth", array("d", [0.5, -1.0]), "worth: expected numbers"),
    ("topics", array("i", [0, 2]), "topics: expected items of 8 bytes"),
    ("worth", array("q", [1, 0]), "worth: expected items"),
    ("ids", "text", "bytes-like"),
    ("begin", memoryview(bytes(32))[1:25].cast("q"), "begin: is not aligned"),
]


@needed
@pytest.mark.parametrize(
    ("name", "column", "message"), LIES, ids=[f"{index}-{lie[0]}" for index, lie in enumerate(LIES)]
)
def test_columns_that_lie_are_refused(name: str, column: Any, message: str) -> None:
    assert compiled.kernel is not None
    right = [*columns_of([{"a": [(0, 1), (1, 1)], "b": [(0, 1)]}]), table(0.5, 2)]
    assert orders(compiled.kernel.ideal_orders(*right, NUGGETS, 1, -1)) == [[0, 1]]
    right[NAMES.index(name)] = column
    with pytest.raises((ValueError, TypeError), match=message):
        compiled.kernel.ideal_orders(*right, NUGGETS, 1, -1)


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


@needed
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="it takes all addresses for itself")
def test_where_there_is_no_memory_it_says_so() -> None:
    code = (
        "import resource; from kernel_topics import columns_of, table; from rageval.kernel import kernel\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "try: kernel.ideal_orders(*columns_of([{'a': [(0, 1)]}]), table(0.5, 1), 2**31 - 1, 1, -1)\n"
        "except MemoryError: print('none')"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert process.stdout == "none\n", process.stderr
