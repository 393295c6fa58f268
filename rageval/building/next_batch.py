"""Which documents to judge next: those whose grade can still change which of two runs is better.

What two runs differ by lies between bounds, whatever the unjudged documents are (`measures.bounds`). Where
these leave out 0 the pair is decided, and asks for nothing more. In the others a document counts by what its
grade moves the difference (`comparison.next_documents`), summed over the pairs; of those alike, the one
nearest to a top.

A mean over documents that were chosen like this is no estimate: what is printed of it are the bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nsmallest
from itertools import combinations
from operator import itemgetter
from typing import Self

from rageval.building.pools import Pool, pool_lines
from rageval.comparison.next_documents import Apart, Moves, PairBounds
from rageval.errors import InputError, UsageError
from rageval.measures.base import Measure
from rageval.measures.ranking import Topic
from rageval.scoring.evaluation import Evaluator
from rageval.scoring.runs import Documents, Order
from rageval.scoring.sources import RunSource
from rageval.text import visible

_IN_MEMORY = 2**26  # bytes of ids
_ROUNDING = 1e-9  # far more than what adding up differences of so many runs loses


@dataclass(frozen=True, slots=True)
class NextBatch:
    """What to judge next, and how far the pairs of runs are decided by what is judged.

    `pool` holds the documents, `left` how many could still matter, these among them; `pairs` are all pairs
    with the bounds of their difference, over all `queries`.
    """

    pool: Pool
    left: int
    pairs: list[Apart]
    queries: int

    @property
    def undecided(self) -> list[Apart]:
        """The pairs of which either may be better."""
        return [pair for pair in self.pairs if not pair.is_decided]

    def pool_lines(self) -> Iterator[str]:
        """Yield the documents as lines of a pool."""
        return pool_lines(self.pool)

    def lines(self) -> Iterator[str]:
        """Yield in words how far it is."""
        decided = len(self.pairs) - len(self.undecided)
        yield f"{decided:,} of {len(self.pairs):,} pairs are decided for any grades of the unjudged documents"
        for pair in self.pairs:
            yield (
                f"{visible(pair.run)} − {visible(pair.other)}: between {pair.low:+.4f} and {pair.high:+.4f}"
                f" over {self.queries:,} queries{'' if pair.is_decided else ', undecided'}"
            )
        chosen = sum(map(len, self.pool.values()))
        if not self.undecided:
            yield "no unjudged document can change that; you can stop judging"
        elif not chosen:
            yield "no unjudged document of these runs can decide the others; judging more does not help"
        else:
            can = f"{self.left:,} unjudged documents can change an undecided pair"
            yield f"{can}; {chosen:,} of them come next"


def next_batch(
    measure: Measure,
    sources: Sequence[RunSource],
    evaluator: Evaluator,
    number: int,
    depth: int | None = None,
) -> NextBatch:
    """Return the unjudged documents that matter most for which run is better.

    Parameters
    ----------
    measure
        By which runs are compared; its bounds have to be known.
    sources
        Two runs or more.
    evaluator
        Knows the judgements there are; made with `bounds=True`.
    number
        How many documents.
    depth
        Only documents above this rank (default: above the measure's cut-off, while there are any).

    Returns
    -------
    NextBatch
        The documents, and the pairs with the bounds of their differences.
    """
    if not evaluator.rules.bounds:  # it would not know what is judged not relevant
        raise UsageError("expected an evaluator with bounds=True")
    if len(sources) < 2:
        raise UsageError(f"expected two runs or more, found {len(sources)}")
    names = [source.name for source in sources]
    values = {source.name: evaluator.score(source)[measure].by_query for source in sources}
    queries, topics = list(next(iter(values.values()))), evaluator.topics
    beside = PairBounds(measure, combinations(names, 2))
    with Rankings(evaluator, sources) as rankings:
        for query in queries:
            here = {run: value[query] for run, value in values.items()}
            beside.add(topics[query], rankings.of(query), here)
        pairs = beside.found()
        unsure = [pair for pair in pairs if not pair.is_decided]
        highest = max(1, evaluator.qrels.highest)
        weigh = partial(_weightiest, measure, rankings, topics, unsure, highest, number)
        best, left = weigh(depth or measure.k)
        # What is below a cut-off may be relevant, too, which recall divides by.
        if not best and depth is None:
            best, left = weigh(None)
    chosen: Pool = {}
    for _, (query, doc), ranks in best:
        chosen.setdefault(query, {})[doc] = ranks
    return NextBatch(chosen, left, pairs, len(queries))


_Weight = tuple[float, int]  # minus what it moves, so that the weightiest is the first; and its best rank
_Weighed = tuple[_Weight, tuple[str, str], dict[str, int]]  # with the query, the document, and its ranks


def _weightiest(
    measure: Measure,
    rankings: Rankings,
    topics: Mapping[str, Topic],
    pairs: Sequence[Apart],
    highest: int | float,
    number: int,
    k: int | None,
) -> tuple[list[_Weighed], int]:
    """Return the weightiest unjudged documents above a rank, and how many of them move anything.

    What moves nothing, as what stands in both tops of a precision, is looked at where nothing else is left.
    """
    runs = [(pair.run, pair.other) for pair in pairs]
    best: list[_Weighed] = []
    moving = still = 0
    for query in dict.fromkeys(query for pair in pairs for query in sorted(pair.open)):
        topic, ranked = topics[query], rankings.of(query)
        near = dict.fromkeys(run for pair in pairs if query in pair.open for run in (pair.run, pair.other))
        pool: dict[str, dict[str, int]] = {}
        for run in near:
            for rank, doc in enumerate(ranked[run][:k], 1):
                if doc not in topic.numbers:
                    pool.setdefault(doc, {})[run] = rank
        if not pool:
            continue
        if not len(topic):
            raise InputError(f"query {visible(query)}: expected some judgement of it")
        moves = Moves(measure, ranked, topic, pool, runs, highest)
        weighed: list[_Weighed] = []
        least = -best[-1][0][0] if len(best) == number else 0.0
        for doc, ranks in pool.items():
            about = moves.about(doc)
            # Nearly all are far below the weightiest: only those that are near them are summed exactly.
            if about > _ROUNDING and about * (1 + _ROUNDING) + _ROUNDING < least:
                moving += 1
                continue
            most = moves.of(doc).most
            moving, still = moving + (most > 0), still + (most == 0)
            weighed.append(((-most, min(ranks.values())), (query, doc), ranks))
        best = nsmallest(number, [*best, *weighed], key=itemgetter(0, 1))
    return [each for each in best if each[0][0] or not moving], moving or still


class Rankings:
    """What every run ranks for a query, best first, as far as it counts.

    Runs are read one after the other, and asked for query by query: the ids lie in a temporary file, once
    they are too many for memory.

    Parameters
    ----------
    evaluator
        Its rules say in what order documents are, and how deep.
    sources
        The runs.
    """

    def __init__(self, evaluator: Evaluator, sources: Iterable[RunSource]) -> None:
        from tempfile import SpooledTemporaryFile

        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        self._places: dict[str, dict[str, tuple[int, int]]] = {}  # by run and query where ids begin, and end
        order, depth = Order(evaluator.rules.ties), evaluator.rules.depth
        for source in sources:
            self._places[source.name] = source.each(lambda queries: self._put(queries, order, depth))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def of(self, query: str) -> dict[str, list[str]]:
        """Return the documents of one query, of each run."""
        found = {}
        for run, places in self._places.items():
            first, last = places.get(query, (0, 0))
            self._file.seek(first)
            ids = self._file.read(last - first).decode("utf-8", "surrogatepass")
            found[run] = ids.split("\n") if ids else []
        return found

    def _put(
        self, queries: Iterable[Documents], order: Order, depth: int | None
    ) -> dict[str, tuple[int, int]]:
        places = {}
        for found in queries:
            ids = b"\n".join([found.docs[row] for row in found.ranked(order).rows[:depth]])
            first = self._file.tell()
            self._file.write(ids)
            places[found.query.decode("utf-8", "surrogatepass")] = first, first + len(ids)
        return places
