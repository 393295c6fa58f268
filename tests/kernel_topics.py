"""Judgements as the compiled part takes them, drawn at random; what it should find; and its fuzzer.

python tests/kernel_topics.py 60        # seconds: hostile columns, which must end in an error or a result
"""

from __future__ import annotations

import math
import random
import sys
import threading
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

Documents = dict[str, list[tuple[int, int]]]  # (nugget, grade) of each document
NUGGETS = 12
NAMES = ["topics", "begin", "nugget", "grade", "ids", "id_ends", "worth"]


class Columns(NamedTuple):
    """The arguments of `ideal_orders` up to the table of what nuggets are worth."""

    topics: Any
    begin: Any
    nugget: Any
    grade: Any
    ids: Any
    id_ends: Any


def drawn(rng: random.Random, most: int = 25) -> Documents:
    """Draw a topic: few nuggets and many documents that support the same ones, ids that begin alike."""
    nuggets = rng.randint(1, NUGGETS)
    share = rng.choice((0.15, 0.5, 0.9))
    ends = ("", "\0", "\0\0", "é", "￿", "\U0001f600", "x" * 9)
    ids = {f"{'d' * rng.choice((0, 1, 9))}{rng.randrange(30)}{rng.choice(ends)}" for _ in range(most)}
    return {
        name: [(n, rng.choice((0, 1, 1, 2))) for n in range(nuggets) if rng.random() < share]
        for name in rng.sample(sorted(ids), rng.randint(0, len(ids)))
    }


def columns_of(topics: list[Documents]) -> Columns:
    """Return the columns that hold these topics."""
    columns = Columns(*(array(kind) for kind in "qqiiBq"))
    columns.topics.append(0)
    columns.begin.append(0)
    columns.id_ends.append(0)
    for topic in topics:
        for name, pairs in topic.items():
            columns.nugget.extend(nugget for nugget, _ in pairs)
            columns.grade.extend(grade for _, grade in pairs)
            columns.begin.append(len(columns.nugget))
            columns.ids.frombytes(name.encode("utf-8", "surrogatepass"))
            columns.id_ends.append(len(columns.ids))
        columns.topics.append(len(columns.begin) - 1)
    return columns


def table(alpha: float, depth: int) -> array[float]:
    """Return what a nugget is worth that 0, 1, … documents above support."""
    return array("d", [(1.0 - alpha) ** seen for seen in range(depth)])


def greedy(
    topic: Documents, worth: Sequence[float], rel: int, k: int | None, add: Callable[[Any], float] = math.fsum
) -> list[int]:
    """Return the documents of the greedy ideal ranking, every gain reckoned anew at every rank."""
    left = {
        (name.encode("utf-8", "surrogatepass"), number): [n for n, grade in pairs if grade >= rel]
        for number, (name, pairs) in enumerate(topic.items())
    }
    left = {document: nuggets for document, nuggets in left.items() if nuggets}
    seen: dict[int, int] = dict.fromkeys(range(NUGGETS), 0)
    order: list[int] = []
    while left and (k is None or len(order) < k):
        best = max(left, key=lambda document: (add([worth[seen[n]] for n in left[document]]), document))
        for nugget in left.pop(best):
            seen[nugget] += 1
        order.append(best[1])
    return order


def orders(columns: tuple[bytes, bytes]) -> list[list[int]]:
    """Return what the compiled part has found, as a list a topic."""
    documents, ends = memoryview(columns[0]).cast("i"), list(memoryview(columns[1]).cast("q"))
    return [documents[first:last].tolist() for first, last in zip([0, *ends], ends, strict=False)]


ODD = (0, 1, -1, 2, 7, 2**15, 2**31 - 1, -(2**31), 2**31, 2**32 + 1, 2**60, 2**63 - 1, -(2**63))


def ranked(rng: random.Random, topics: list[Documents], deepest: int = 30) -> list[Any]:
    """Return rankings of documents of these topics: where each topic's begin, borders, ranks, documents."""
    first, borders, rank, document = (array(kind) for kind in "qqii")
    borders.append(0)
    begin = columns_of(topics).topics
    for number in [*range(len(topics)), *range(len(topics))]:
        documents = rng.sample(range(len(topics[number])), rng.randint(0, len(topics[number])))
        first.append(begin[number])
        document.extend(documents)
        rank.extend(sorted(rng.sample(range(1, deepest), len(documents))))
        borders.append(len(document))
    return [first, borders, rank, document]


def hostile(rng: random.Random, given: Sequence[Any]) -> list[Any]:
    """Return columns of which some lie."""
    changed_columns: list[Any] = [array(column.typecode, column) for column in given]
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        column = changed_columns[rng.randrange(len(changed_columns))]
        if not isinstance(column, array) or not column:
            continue
        how, index = rng.randrange(5), rng.randrange(len(column))
        if how == 0:
            del column[index:]
        elif how == 1:
            column.extend(column[:index])
        elif how == 2 and column.typecode == "d":
            column[index] = rng.choice((math.nan, math.inf, -1.0, 2.0, -0.0, 5e-324))
        elif how == 3 and column.typecode in "qi":
            value = rng.choice(ODD)
            low, high = (-(2**31), 2**31 - 1) if column.typecode == "i" else (-(2**63), 2**63 - 1)
            column[index] = min(max(value, low), high)
        else:
            column[index] = rng.randrange(3)
    if rng.random() < 0.1:
        odd = (None, 3, b"", b"abc", "text", memoryview(b"12345678" * 9)[1:-7].cast("q"), array("f", [1.0]))
        changed_columns[rng.randrange(len(changed_columns))] = rng.choice(odd)
    return [exactly(column) if isinstance(column, array) else column for column in changed_columns]


def exactly(column: Any) -> Any:
    """Return the column in memory that ends where it ends, as arrays do not: tools see it left."""
    return memoryview(column.tobytes()).cast(column.typecode)


def fuzz_sums(gain_sums: Any, seed: int, rounds: int) -> tuple[int, int]:
    """Call with columns that lie; return how often there was a result, and how often a clean error."""
    rng, results, errors = random.Random(seed), 0, 0
    for _ in range(rounds):
        topics = [drawn(rng, 8) for _ in range(rng.randrange(5))]
        judged = columns_of(topics)
        nugget = rng.choice((judged.nugget, array("i")))
        tables = table(rng.random(), rng.choice((30, 3))), table(0.5, 30)
        arguments = hostile(rng, [*ranked(rng, topics), judged.begin, nugget, judged.grade, *tables])
        try:
            sums = gain_sums(
                *arguments, rng.choice((NUGGETS, 3)), rng.choice((1, -(2**31))), rng.choice((-1, 3))
            )
        except (ValueError, TypeError, OverflowError, MemoryError, BufferError):
            errors += 1
            continue
        results += 1
        assert len(sums) == 8 * len(arguments[0])
    return results, errors


def fuzz(ideal_orders: Any, seed: int, rounds: int) -> tuple[int, int]:
    """Call with columns that lie; return how often there was a result, and how often a clean error."""
    rng, results, errors = random.Random(seed), 0, 0
    for _ in range(rounds):
        topics = [drawn(rng, 8) for _ in range(rng.randrange(5))]
        arguments = hostile(rng, [*columns_of(topics), table(rng.random(), 30)])
        last = [
            rng.choice((NUGGETS, NUGGETS, 0, -1, 3)),
            rng.choice((1, 1, 0, -(2**31))),
            rng.choice((-1, 3, 0)),
        ]
        try:
            orders_found = orders(ideal_orders(*arguments, *last))
        except (ValueError, TypeError, OverflowError, MemoryError, BufferError):
            errors += 1
            continue
        results += 1
        begin = arguments[0]
        for number, order in enumerate(orders_found):
            assert len(set(order)) == len(order)
            assert set(order) <= set(range(begin[number + 1] - begin[number]))
    return results, errors


def scribbled(ideal_orders: Any, seed: int, rounds: int) -> None:
    """Call while another thread writes into the columns."""
    rng = random.Random(seed)
    columns = columns_of([drawn(rng) for _ in range(60)])
    kept, ended = [array(column.typecode, column) for column in columns], threading.Event()

    def scribble() -> None:
        other = random.Random(seed + 1)
        while not ended.is_set():
            column, right = other.choice(list(zip(columns, kept, strict=True)))
            index = other.randrange(len(column))
            column[index] = other.choice((right[index], right[index], 0, 1, 2, 100))

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        for _ in range(rounds):
            with suppress(ValueError):
                orders(ideal_orders(*columns, table(0.3, 30), NUGGETS, 1, -1))
    finally:
        ended.set()
        thread.join()


def main(seconds: float) -> None:
    """Fuzz so long."""
    from rageval.kernel import kernel

    if kernel is None:
        sys.exit("the compiled part is not there")
    until, seed, results, errors = time.monotonic() + seconds, 0, 0, 0
    while time.monotonic() < until:
        for more in (fuzz(kernel.ideal_orders, seed, 2000), fuzz_sums(kernel.gain_sums, seed, 2000)):
            results, errors = results + more[0], errors + more[1]
        seed += 1
        scribbled(kernel.ideal_orders, seed, 50)
    print(f"{results:,} results, {errors:,} clean errors, {seed} seeds")


if __name__ == "__main__":
    main(float(sys.argv[1]))
