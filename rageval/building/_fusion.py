"""Several runs made one: min–max normalised sums as FreshStack's, and reciprocal rank fusion.

Sums are exact: scores are taken for the shortest decimals that say them, which is what stands in a file, and
added up as fractions. So two documents tie if and only if their sums are equal, in whichever order the runs
come; and where two different sums are nearer to each other than 64-bit floats can tell, the lower one is
moved down until they are told apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby

from rageval.errors import UsageError
from rageval.scoring.runs import Run

MINMAX, RRF = "minmax", "rrf"
DEPTH, K = 100, 60
_Ranking = Mapping[str, float]


def fused(
    runs: Iterable[Run], method: str = MINMAX, depth: int = DEPTH, k: int = K, name: str = "fusion"
) -> Run:
    """Fuse runs into one: the documents in the top `depth` of any, by the sum of what each run gives them.

    A run gives nothing to a document that it lacks.

    Parameters
    ----------
    runs
        The runs.
    method
        `minmax` maps the scores of a run, so that the best of its top `depth` has 1 and the last 0 (all have
        1 if they are equal). `rrf` gives 1 / (k + rank), for equal scores the mean over all their orders.
    depth
        How much of each run counts.
    k
        The constant of `rrf`.
    name
        The name of the fused run.

    Returns
    -------
    Run
        The fused run.

    Examples
    --------
    >>> one, other = Run.from_dict({"q": {"a": 3, "b": 2, "c": 1}}), Run.from_dict({"q": {"b": 9, "d": 7}})
    >>> {doc: score for _, doc, score in fused([one, other])}
    {'b': 1.5, 'a': 1.0, 'c': 0.0, 'd': 0.0}
    """
    if method not in _METHODS:
        raise UsageError(f"fusion {method!r}: expected one of {', '.join(_METHODS)}")
    if depth < 1 or k < 0:
        raise UsageError(f"depth={depth!r}, k={k!r}: expected a depth from 1 and a k from 0")
    tables = [_by_query(run) for run in runs]
    queries = sorted({query for table in tables for query in table})
    fusions = {
        query: _fused([table[query] for table in tables if query in table], _METHODS[method], depth, k)
        for query in queries
    }
    return Run.from_dict(fusions, name)


def _ranked_groups(ranking: _Ranking, depth: int) -> Iterator[tuple[int, float, list[str]]]:
    """(documents before, score, documents) of each group of equal scores that begins in the top `depth`."""
    before = 0
    rows = sorted(ranking.items(), key=lambda row: -row[1])
    for score, group in groupby(rows, key=lambda row: row[1]):
        if before >= depth:
            return
        docs = [doc for doc, _ in group]
        yield before, score, docs
        before += len(docs)


def run_lines(run: Run) -> Iterator[str]:
    """Yield the run as lines of a TREC file, best first; scores in full: unequal ones stay unequal."""

    score = {(row.query_id, row.doc_id): row.score for row in run}
    names = {name for row in score for name in row}
    separator = "\t" if any(" " in name for name in names) else " "
    for query, docs in run.ranked():
        for rank, doc in enumerate(docs, 1):
            yield separator.join((query, "Q0", doc, str(rank), repr(score[query, doc]), run.name))


def _by_query(run: Run) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for row in run:
        table.setdefault(row.query_id, {})[row.doc_id] = row.score
    return table


_Weights = Mapping[str, Fraction]


def _fused(
    rankings: Sequence[_Ranking], weigh: Callable[[_Ranking, int, int], _Weights], depth: int, k: int
) -> dict[str, float]:
    """{document: score} of one query, best first."""
    weights = [weigh(ranking, depth, k) for ranking in rankings]
    shares = {weight.denominator for found in weights for weight in found.values()}
    common = math.lcm(*shares)  # adding whole numbers is much faster than adding fractions
    total: dict[str, int] = {}
    for found in weights:
        for doc, weight in found.items():
            total[doc] = total.get(doc, 0) + weight.numerator * (common // weight.denominator)
    return dict(_as_floats(total, common))


def _as_floats(total: Mapping[str, int], common: int) -> Iterator[tuple[str, float]]:
    """Yield sums as floats of the same order, equal only where the sums are."""
    above, least = None, math.inf
    for doc, value in sorted(total.items(), key=lambda row: -row[1]):
        if value != above:
            above, least = value, min(value / common, math.nextafter(least, -math.inf))
        yield doc, least


def _minmax(ranking: _Ranking, depth: int, k: int) -> dict[str, Fraction]:
    """Return what a document has above the last one, as a share of what the first one has."""
    scores = {doc: Fraction(repr(score)) for _, score, docs in _ranked_groups(ranking, depth) for doc in docs}
    high, low = max(scores.values()), min(scores.values())
    if high == low:
        return dict.fromkeys(scores, Fraction(1))
    return {doc: (score - low) / (high - low) for doc, score in scores.items()}


def _reciprocal(ranking: _Ranking, depth: int, k: int) -> dict[str, Fraction]:
    """1 / (k + rank), averaged over the ranks that equal scores share; beyond `depth` it is 0."""
    weights: dict[str, Fraction] = {}
    for before, _, docs in _ranked_groups(ranking, depth):
        ranks = range(before + 1, min(before + len(docs), depth) + 1)
        weight = sum((Fraction(1, k + rank) for rank in ranks), Fraction(0)) / len(docs)
        weights |= dict.fromkeys(docs, weight)
    return weights


_METHODS: dict[str, Callable[[_Ranking, int, int], dict[str, Fraction]]] = {MINMAX: _minmax, RRF: _reciprocal}
