"""How often 95 % intervals of position bias hold the truth, simulated where the truth is known.

    python benchmarks/positions.py [--replays 1000]

A judge puts answers in the order of what it sees of their quality, `sees` places off (standard deviation),
and then moves the answer shown first 0, ½ (every second time one), 1 or 5 places up, as far as the list goes.
The truth is how much better the place given to the first one is than the middle, over 20,000 queries. Orders
are drawn, or those of a balanced square with who is which in it drawn for each query: as many calls each.
`spread` is the standard deviation of the lead over the replays, `plain` that of the mean place given. Of
pairs, asked in both orders, the judge lets the first one win with some probability whatever it sees. Ends
with 1 when an interval holds less than .93 or more than .97 of the truths. With 1,000 replays the error of a
figure is .007. Takes five minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.statistics.preferences import bias_in_lists, bias_in_pairs
from timing import Row, markdown

Float = NDArray[np.float64]
Int = NDArray[np.int64]
STEPS = (0.0, 0.5, 1.0, 5.0)
WINS = (0.0, 0.05, 0.2)  # how often the first one of a pair wins whatever is seen
SIZES = ((10, 20, 3.0), (10, 50, 3.0), (6, 20, 3.0), (6, 20, 1.0))  # answers, queries, sees
LEAST, MOST = 0.93, 0.97
FEW_DRAWS = 1_000


class Rankings(NamedTuple):
    """Rows: an answer to a query, where it was shown and put."""

    query: Int
    answer: Int
    shown: Int
    given: Float


def orders(rng: np.random.Generator, queries: int, answers: int, is_balanced: bool) -> Int:
    """[query, ranking, place] = the answer that is shown there; as many rankings by either design."""
    turned = range(answers)
    first = np.array(
        [(place + 1) // 2 if place % 2 else (answers - place // 2) % answers for place in turned]
    )
    square = np.array([(first + shift) % answers for shift in turned])
    if answers % 2:
        square = np.concatenate((square, square[:, ::-1]))
    if not is_balanced:
        shape = queries, len(square), answers
        return rng.permuted(np.broadcast_to(np.arange(answers), shape), axis=2)
    return rng.permuted(np.broadcast_to(np.arange(answers), (queries, answers)), axis=1)[:, square]


def judged(rng: np.random.Generator, order: Int, steps: float, sees: float) -> Rankings:
    """What the judge makes of answers, of which number 0 is the best one, shown in these orders."""
    queries, rankings, answers = order.shape
    place = (order + rng.normal(0, sees, order.shape)).argsort(-1).argsort(-1).astype(np.float64)
    moved = np.floor(steps) + (rng.random((queries, rankings)) < steps % 1)
    place[:, :, 0] -= moved + (moved > 0) / 2  # between two others: before the one that stood there
    given = place.argsort(-1).argsort(-1) + 1.0
    query = np.broadcast_to(np.arange(queries)[:, None, None], order.shape)
    shown = np.broadcast_to(np.arange(1, answers + 1), order.shape)
    return Rankings(query.ravel(), (query * answers + order).ravel(), shown.ravel(), given.ravel())


class ListFigures(NamedTuple):
    """The lead of the first place; how often its interval held it, that of every place; how far apart."""

    truth: float
    first: float
    every: float
    spread: float
    plain: float


def coverage_in_lists(
    answers: int, queries: int, steps: float, is_balanced: bool, replays: int, sees: float
) -> ListFigures:
    """Replay a judge of lists."""
    rng = np.random.default_rng((answers, queries, int(2 * steps), is_balanced))
    large = judged(rng, orders(rng, 20_000, answers, False), steps, sees)
    truth = (answers + 1) / 2 - np.bincount(large.shown - 1, large.given) / np.bincount(large.shown - 1)
    covered, leads, plain = [], [], []
    for _ in range(replays):
        bias = bias_in_lists(
            *judged(rng, orders(rng, queries, answers, is_balanced), steps, sees), resamples=FEW_DRAWS
        )
        if bias is None:
            raise RuntimeError("places cannot be told from answers")
        covered.append([p.low <= lead <= p.high for p, lead in zip(bias.places, truth, strict=True)])
        leads.append([place.lead for place in bias.places])
        plain.append([place.given for place in bias.places])
    spread, of_plain = (float(np.std(column, axis=0).mean()) for column in (leads, plain))
    return ListFigures(
        float(truth[0]), float(np.mean(covered, axis=0)[0]), float(np.mean(covered)), spread, of_plain
    )


def coverage_in_pairs(queries: int, wins: float, replays: int) -> tuple[float, float]:
    """Replay a judge of pairs: how often intervals hold the truth, and how wide they are."""
    rng = np.random.default_rng((queries, int(100 * wins)))
    covered, width = 0, 0.0
    for _ in range(replays):
        better = rng.random((queries, 3)) < rng.random((queries, 1))  # of three pairs a query, alike
        by_first = np.stack((better, ~better)) ^ (rng.random((2, queries, 3)) < 0.2)  # and may be mistaken
        by_first |= rng.random((2, queries, 3)) < wins
        query = np.broadcast_to(np.arange(queries)[:, None], (queries, 3))
        one = np.broadcast_to([0, 0, 1], (queries, 3))
        other = np.broadcast_to([1, 2, 2], (queries, 3))
        rows = (np.stack(column).ravel() for column in ((query, query), (one, other), (other, one)))
        bias = bias_in_pairs(*rows, by_first.ravel().astype(np.float64), resamples=FEW_DRAWS)
        if bias is None:
            raise RuntimeError("no pairs in both orders")
        covered += bias.low <= 0.5 + wins / 2 <= bias.high
        width += bias.high - bias.low
    return covered / replays, width / replays


def lists(replays: int) -> Iterator[Row]:
    """Yield a row a world of lists."""
    for answers, queries, sees in SIZES:
        for steps in STEPS:
            for is_balanced in (False, True):
                result = coverage_in_lists(answers, queries, steps, is_balanced, replays, sees)
                design = "balanced" if is_balanced else "random"
                numbers = (f"{number:.3f}" for number in result)
                yield str(answers), str(queries), f"{sees:g}", f"{steps:g}", design, *numbers


def pairs(replays: int) -> Iterator[Row]:
    """Yield a row a world of pairs."""
    for queries in (50, 200):
        for wins in WINS:
            coverage, width = coverage_in_pairs(queries, wins, replays)
            yield str(queries), f"{wins:g}", f"{coverage:.3f}", f"{width:.3f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Simulate judges with a known position bias.")
    parser.add_argument("--replays", type=int, default=1000)
    replays = parser.parse_args().replays
    of_lists, of_pairs = list(lists(replays)), list(pairs(replays))
    head = (
        "answers",
        "queries",
        "sees",
        "steps",
        "orders",
        "lead of the first",
        "held",
        "held at all places",
    )
    print(markdown((*head, "spread", "plain"), of_lists))
    print("", markdown(("queries", "for the first", "held", "width"), of_pairs), "", sep="\n")
    print(f"{replays:,} replays a cell.")
    coverages = [*(float(row[7]) for row in of_lists), *(float(row[2]) for row in of_pairs)]
    return int(min(coverages) < LEAST or max(coverages) > MOST)


if __name__ == "__main__":
    sys.exit(main())
