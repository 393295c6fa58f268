"""Which documents to judge next: those whose grade can still change which of two runs is better.

What two runs differ by lies between bounds, whatever the unjudged documents are (`measures.bounds`). Where
these leave out 0 the pair is decided, and asks for nothing more. In the others a document counts by what its
grade moves the difference (`comparison.next_documents`), summed over the pairs; of those alike, the one
nearest to a top.

A mean over documents that were chosen like this is no estimate: what is printed of it are the bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from rageval.building.pools import Pool, pool_lines
from rageval.comparison.next_documents import Apart, Grades, apart, moved
from rageval.errors import InputError, UsageError
from rageval.measures.base import Measure
from rageval.scoring.evaluation import Evaluator
from rageval.scoring.sources import RunSource
from rageval.text import visible


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
        yield f"{decided:,} of {len(self.pairs):,} pairs are decided, whatever the unjudged documents are"
        for pair in self.pairs:
            yield (
                f"{visible(pair.run)} − {visible(pair.other)}: between {pair.low:+.4f} and {pair.high:+.4f}"
                f" over {self.queries:,} queries{'' if pair.is_decided else ', undecided'}"
            )
        chosen = sum(map(len, self.pool.values()))
        if not self.undecided:
            yield "nothing that is left can change that: no more has to be judged"
        elif not chosen:
            yield "no unjudged document of these runs can decide the others: judging more does not help"
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
    rankings = {source.name: evaluator.rankings(source) for source in sources}
    values = {source.name: evaluator.score(source)[measure].by_query for source in sources}
    pairs = [
        apart(
            measure,
            evaluator.topics,
            (one, other),
            (rankings[one], rankings[other]),
            (values[one], values[other]),
        )
        for one, other in combinations(names, 2)
    ]
    unsure = [pair for pair in pairs if not pair.is_decided]
    pool = _candidates(rankings, unsure, evaluator, depth or measure.k)
    if not pool and depth is None:  # what is below a cut-off may be relevant, too, which recall divides by
        pool = _candidates(rankings, unsure, evaluator, None)
    runs = [(pair.run, pair.other) for pair in unsure]
    judged = _by_query(evaluator, pool)
    much = moved(measure, rankings, judged, pool, runs, max(1, evaluator.qrels.highest)) if pool else {}

    def order(place: tuple[str, str]) -> tuple[float, int, str, str]:
        query, doc = place
        return -much[place].most, min(pool[query][doc].values()), query, doc

    # What moves nothing, as what stands in both tops of a precision, is looked at where nothing else is left.
    best = sorted([place for place in much if much[place].most] or much, key=order)
    chosen: Pool = {}
    for query, doc in best[:number]:
        chosen.setdefault(query, {})[doc] = pool[query][doc]
    return NextBatch(chosen, len(best), pairs, len(next(iter(values.values()))))


def _candidates(
    rankings: Mapping[str, Mapping[str, Sequence[str]]],
    pairs: Sequence[Apart],
    evaluator: Evaluator,
    k: int | None,
) -> Pool:
    """Return the unjudged documents near the top of these runs, of queries that are not settled."""
    places = dict.fromkeys(
        (query, run) for pair in pairs for query in sorted(pair.open) for run in (pair.run, pair.other)
    )
    pool: Pool = {}
    for query, run in places:
        for rank, doc in enumerate(rankings[run].get(query, ())[:k], 1):
            if doc not in evaluator.topics[query].numbers:
                pool.setdefault(query, {}).setdefault(doc, {})[run] = rank
    return pool


def _by_query(evaluator: Evaluator, pool: Pool) -> Grades:
    found: Grades = {}
    for row in evaluator.qrels:
        if row.query_id in pool:
            nuggets = found.setdefault(row.query_id, {})
            nuggets.setdefault(row.iteration, {})[row.doc_id] = row.relevance
    if missing := next((query for query in pool if query not in found), None):
        raise InputError(f"query {visible(missing)}: expected some judgement of it")
    return found
