"""What a measure of runs sees: one query's ranking, met with the judgements of the query.

    @rageval.measure
    def first_find(ranking, *, rel: int = 1):
        "1 if the very first document is relevant."
        return len(ranking.hits(1, rel))

A `Ranking` knows where judged documents stand, a `Topic` what is judged at all. Nuggets and documents are
numbers; which ones does not matter, only where they are the same.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from heapq import heapify, heappop, heapreplace
from itertools import compress, pairwise
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from rageval.errors import MeasureError

# The pieces that formulas of several families share: gains, discounts, shares, means.

Nuggets = tuple[int, ...]
Gains = list[tuple[int, float]]  # (rank, gain), best first
Discount = Callable[[int], float]  # what a rank is worth


def gained(documents: Sequence[Nuggets], alpha: float, weights: Sequence[float] | None = None) -> list[float]:
    """Return what each document gains: (1−α)^c for each of its nuggets, c documents above supporting it, too.

    With weights, each nugget gains so many times as much.

    >>> gained([(1, 2), (2,), (2, 3)], alpha=0.5)
    [2.0, 0.5, 1.25]
    """
    # Powers are made once, to the next power of two above what is needed, so that the cache has few sizes.
    worth = novelties(2 ** len(documents).bit_length(), alpha)
    seen: dict[int, int] = {}
    gains = []
    for nuggets in documents:
        terms = []
        for nugget in nuggets:
            earlier = seen.get(nugget, 0)
            seen[nugget] = earlier + 1
            terms.append(worth[earlier] if weights is None else worth[earlier] * weights[nugget])
        # Summed exactly: whatever order nuggets stand in, equal gains have equal bits, and ties stay ties.
        gains.append(math.fsum(terms))
    return gains


def gain(nuggets: Nuggets, seen: Mapping[int, int], alpha: float, weight_of: Callable[[int], float]) -> float:
    """Return Σ weight · (1−α)^seen over the nuggets, exactly and rounded once: equal gains, equal bits."""
    return math.fsum([weight_of(n) * novelty(seen.get(n, 0), alpha) for n in nuggets])


def novelty(seen: int, alpha: float) -> float:
    """Return (1−α)^seen: what a nugget is worth that so many documents above support."""
    return (1.0 - alpha) ** seen


@lru_cache(maxsize=64)
def novelties(times: int, alpha: float) -> list[float]:
    """Return what a nugget is worth that was seen 0, 1, … times, so many numbers."""
    return [novelty(seen, alpha) for seen in range(times)]


def ratio(part: float, whole: float) -> float:
    """Return part / whole, and 0 where there is nothing to divide by."""
    return part / whole if whole > 0 else 0.0


def discounted(gains: Gains, discount: Callable[[int], float]) -> float:
    """Return Σ gain · discount(rank), the exact sum rounded once."""
    return math.fsum([gain * discount(rank) for rank, gain in gains])


@lru_cache(maxsize=10_000)
def logarithmic(rank: int) -> float:
    """Return 1/log2(1 + rank)."""
    return 1 / math.log2(1 + rank)


def reciprocal(rank: int) -> float:
    """Return 1/rank."""
    return 1 / rank


@lru_cache(maxsize=64)  # one function for one β: what is summed by it is found again by it
def geometric(beta: float) -> Callable[[int], float]:
    """Return the discount β^(rank − 1): of readers who go on to the next document with probability β."""
    return lambda rank: beta ** (rank - 1)


def graded_gains(documents: Iterable[tuple[int, int | float]], dcg: str) -> Gains:
    """Return (rank, gain) of (rank, grade): the grade itself, or 2^grade − 1 with `exp_log2`."""
    return [(rank, graded_gain(grade, dcg)) for rank, grade in documents]


def graded_gain(grade: int | float, dcg: str) -> float:
    """Return what a grade gains: itself, or 2^grade − 1 with `exp_log2`; nothing below 0."""
    return float(max(grade, 0)) if dcg == "log2" else 2.0 ** max(grade, 0) - 1


@lru_cache(maxsize=4096)
def always_there(depth: int, alpha: float, discount: Discount) -> float:
    """Return Σ (1−α)^(i−1) · discount(i): the gain of a nugget that every document supports."""
    terms = []
    worth = 1.0
    for rank in range(1, depth + 1):
        # Where α is 1, or after so many factors that nothing is left.
        if not worth:
            break
        terms.append(worth * discount(rank))
        worth *= 1 - alpha
    return math.fsum(terms)


class Share(float):
    """A part of a whole: a number that remembers both, so that shares can be pooled over queries.

    It is 0 where there is nothing to divide by. A measure whose function is annotated with it, `-> Share`,
    has the option `over`: the mean of the queries' shares, or one share of all that the queries hold.

    >>> found = Share(3, 4)
    >>> found, found.part, found.whole, Share(0, 0)
    (0.75, 3, 4, 0.0)
    """

    __slots__ = ("part", "whole")
    part: float
    whole: float

    def __new__(cls, part: float, whole: float) -> Self:
        """Take both; `MeasureError` for a part of less than nothing."""
        # Nothing of nothing is a share, which weighs nothing where shares are pooled.
        if not (0 < whole < math.inf and math.isfinite(part)) and not part == whole == 0:
            raise MeasureError(f"Share({part!r:.80}, {whole!r:.80}): expected a number, and a whole above 0")
        share = super().__new__(cls, part / whole if whole else 0.0)
        share.part, share.whole = part, whole
        return share

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.part, self.whole)


_T = TypeVar("_T")
_ANYTHING = -(2**31)  # below any grade


class Hit(NamedTuple):
    """A judged document in a ranking.

    It has its `rank`, its `grade` (the highest over its nuggets), and the `nuggets` it supports.
    """

    rank: int
    document: int
    grade: int | float
    nuggets: Nuggets


class Sums(Protocol):
    """Sums over many rankings, found at once and to the same bits as one by one: a number a ranking.

    None where they are to be found one by one.
    """

    def gains(self, k: int | None, alpha: float, rel: int, discount: Discount) -> Sequence[float]:
        """Return Σ gain · discount(rank) of each ranking, to rank k, its gains as of `Ranking.gains`."""

    def dcg(self, k: int | None, dcg: str) -> Sequence[float] | None:
        """Return Σ gain / log2(1 + rank) of each ranking, to rank k, its gains as of `graded_gains`."""

    def found(self, k: int | None, rel: int) -> Sequence[int] | None:
        """Return how many documents of the top k are relevant."""


class Judgements(NamedTuple):
    """The judgements of all queries under one another.

    The (nugget, grade) pairs of document i stand from pairs[i] to pairs[i + 1], by nugget; no grade is below
    `floor`. `names` gives the ids of documents, from one number to another, when somebody needs them;
    `order` those of the greedy ideal ranking of a query (its number, k, alpha, rel), and `ideals` the sums of
    the ideal rankings of all queries, where somebody knows a faster way to them than is found here; `highest`
    the highest grade there is; `fractional` says that some grade is no whole number.
    """

    pairs: Sequence[int]
    nugget: Sequence[int]
    grade: Sequence[int | float]
    names: Callable[[int, int], Sequence[str]]
    order: Callable[[int, int | None, float, int], Sequence[int]] | None = None
    floor: int = _ANYTHING
    highest: Callable[[], int | float] = lambda: 1
    fractional: bool = False
    ideals: Sums | None = None


class Topic:
    """The judgements of one query: nuggets, documents, and which document supports which nugget.

    Judged documents are numbered from 0. `listed` is the number of nuggets in the judgements, also of those
    that no document supports.

    >>> topic = Topic.of({"n1": {"a": 1, "b": 1}, "n2": {"a": 2, "c": 0}})
    >>> topic.listed, topic.relevant(), topic.attainable(), topic.relevant(rel=2)
    (2, 2, 2, 1)
    """

    def __init__(
        self,
        query_id: str,
        listed: int,
        documents: tuple[int, int],
        judgements: Judgements,
        number: int = 0,
        weights: Sequence[float] | None = None,
    ) -> None:
        """Take the documents from one number to another out of the judgements of all queries.

        `number` is that of the query; `weights` are those of its nuggets, of mean 1, None where all are
        alike.
        """
        self.query_id = query_id
        self.listed = listed
        self._first, self._last = documents
        self._all = judgements
        self._number = number
        self.weights = weights
        self._kept: dict[Any, Any] = {}
        self._ideals: dict[tuple[float, int], tuple[float, Gains]] = {}  # how deep, and the gains

    @classmethod
    def of(
        cls, nuggets: Mapping[str, Mapping[str, int | float]], weights: Mapping[str, float] | None = None
    ) -> Self:
        """Make a topic of `{nugget: {document: grade}}`, and perhaps of what each nugget weighs."""
        documents: dict[str, list[tuple[int, int | float]]] = {}
        for number, grades in enumerate(nuggets.values()):
            for document, grade in grades.items():
                documents.setdefault(document, []).append((number, grade))
        # The pairs of document i stand from begin[i] to begin[i + 1]: three flat columns in place of a list
        # of lists.
        begin, pairs = [0], []
        for grades_by_nugget in documents.values():
            pairs += grades_by_nugget
            begin.append(len(pairs))
        names = list(documents)
        columns = begin, [nugget for nugget, _ in pairs], [grade for _, grade in pairs]
        judgements = Judgements(
            *columns,
            lambda first, last: names,
            highest=lambda: max(columns[2], default=1),
            fractional=any(isinstance(grade, float) for grade in columns[2]),
        )
        weighed = None if weights is None else of_mean_1([weights[name] for name in nuggets])
        return cls("", len(nuggets), (0, len(names)), judgements, weights=weighed)

    def __len__(self) -> int:
        """Return how many documents are judged."""
        return self._last - self._first

    @cached_property
    def ids(self) -> Sequence[str]:
        """The ids of the judged documents."""
        return self._all.names(self._first, self._last)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each judged document, by its id."""
        return {name: number for number, name in enumerate(self.ids)}

    @cached_property
    def lowest(self) -> int | float:
        """The lowest grade there is; 0 without judgements."""
        return min(self._grades_of_pairs, default=0)

    @property
    def fractional(self) -> bool:
        """Whether some grade, of this query or another, is no whole number."""
        return self._all.fractional

    @property
    def highest(self) -> int | float:
        """The highest grade of any query's documents, 1 at least: what nobody judged has no more."""
        return max(1, self._all.highest())

    @cached_property
    def grades(self) -> list[int | float]:
        """The grade of each judged document: the highest that any nugget gives it."""
        grade = self._grades_of_pairs
        # One nugget a document, as in plain qrels: the column is what is asked for.
        if len(grade) == len(self):
            return grade
        pairs = self._all.pairs[self._first : self._last + 1]
        return [max(grade[first - pairs[0] : last - pairs[0]]) for first, last in pairwise(pairs)]

    def grade(self, document: int) -> int | float:
        """Return the grade of a judged document: the highest that any nugget gives it."""
        pairs, position = self._all.pairs, self._first + document
        return max(self._all.grade[pairs[position] : pairs[position + 1]])

    def nuggets_of(self, document: int, rel: int = 1) -> Nuggets:
        """Return the nuggets that a document supports."""
        pairs, position = self._all.pairs, self._first + document
        first, last = pairs[position], pairs[position + 1]
        nuggets = self._all.nugget[first:last]
        if self._all_support(rel):
            return tuple(nuggets)
        grades = self._all.grade[first:last]
        return tuple([n for n, grade in zip(nuggets, grades, strict=True) if grade >= rel])

    def nuggets_of_all(self, documents: Sequence[int], rel: int = 1) -> list[Nuggets]:
        """Return the nuggets that each of the documents supports."""
        # Asked for many, all are looked up once and kept for every further run; for a few that would be
        # waste.
        if 4 * len(documents) > len(self):  # worth to be kept for those who ask next
            return list(map(self.supported(rel).__getitem__, documents))
        if not self._all_support(rel):
            if self.listed == 1:  # as in judgements without nuggets
                grades = self.grades
                return [(0,) if grades[position] >= rel else () for position in documents]
            return [self.nuggets_of(document, rel) for document in documents]
        pairs, nugget, begin = self._all.pairs, self._all.nugget, self._first
        return [
            tuple(nugget[pairs[begin + position] : pairs[begin + position + 1]]) for position in documents
        ]

    def supported(self, rel: int = 1) -> list[Nuggets]:
        """Return what each judged document supports; nothing, for documents that are not relevant."""
        return self.keep(("supported", rel), lambda: self._supported(rel))

    def relevant(self, rel: int = 1) -> int:
        """Return how many documents are relevant: some nugget gives them this grade."""
        if self._all.floor >= rel:
            return len(self)
        counts = None if self._all.ideals is None else self._all.ideals.found(None, rel)
        if counts is not None:
            return counts[self._number]
        return self.keep(("relevant", rel), lambda: len([grade for grade in self.grades if grade >= rel]))

    def best_grades(self, k: int | None = None) -> list[tuple[int, int | float]]:
        """Return (rank, grade) of the documents with a grade above 0, the best first, to rank k."""
        best = self.keep(
            "best grades", lambda: sorted([grade for grade in self.grades if grade > 0], reverse=True)
        )
        return list(enumerate(best[:k], 1))

    def documents_of(self, rel: int) -> Mapping[int, int]:
        """Return, for each nugget that any document supports, how many do."""
        return self.keep(("documents", rel), lambda: self._count(rel))

    def attainable(self, rel: int = 1) -> int:
        """Return how many nuggets some document supports."""
        return len(self.documents_of(rel))

    def weight(self, nuggets: Collection[int]) -> float:
        """Return the total weight of these nuggets: their number, if all weigh the same."""
        weights = self.weights
        return len(nuggets) if weights is None else math.fsum([weights[nugget] for nugget in nuggets])

    def weight_of(self, nugget: int) -> float:
        """Return the weight of one nugget."""
        return 1.0 if self.weights is None else self.weights[nugget]

    def global_gains(self) -> list[float]:
        """Return for each judged document Σ weight · grade over its nuggets; grades below 0 gain nothing."""
        return self.keep("global gains", self._global_gains)

    def best_dcg(self, k: int | None) -> float:
        """Return Σ gain / log2(1 + rank) of the documents by global gain, the best first, to rank k."""
        best = self.keep("best gains", lambda: sorted(self.global_gains(), reverse=True))
        return discounted(list(enumerate(best[:k], 1)), logarithmic)

    def ideal(self, k: int | None, alpha: float, rel: int = 1) -> Gains:
        """Return the gains of the greedy ideal ranking, to rank k.

        It takes, rank by rank, the document of largest gain; of equal ones the last by id, by code
        points, which is the order of UTF-8's bytes.

        >>> Topic.of({"n1": {"a": 1, "b": 1}, "n2": {"a": 1}, "n3": {"c": 1}}).ideal(None, alpha=0.5)
        [(1, 2.0), (2, 1.0), (3, 0.5)]
        """
        if self._all.order is None or self.weights is not None:  # the compiled part knows no weights
            # Taken out while it goes deeper: another thread that wants it meanwhile begins one of its own.
            key = "greedy", alpha, rel
            greedy = self._kept.pop(key, None) or _Greedy(self.kinds(rel), alpha, self.weights)
            gains = greedy.gains(k)
            self._kept[key] = greedy
            return gains
        depth, gains = self._ideals.get((alpha, rel), (0.0, []))
        # The compiled part orders to a depth; a deeper question asks again, a shallower one is a prefix.
        if depth < (math.inf if k is None else k):
            order = self._all.order(self._number, k, alpha, rel)
            gains = list(enumerate(gained(self.nuggets_of_all(order, rel), alpha), 1))
            self._ideals[alpha, rel] = math.inf if k is None else max(k, len(order)), gains
        return gains if k is None or k >= len(gains) else gains[:k]

    def ideal_sum(self, k: int | None, alpha: float, rel: int, discount: Discount) -> float:
        """Return Σ gain · discount(rank) of the greedy ideal ranking, to rank k."""
        if self._all.ideals is not None and self.weights is None:
            return self._all.ideals.gains(k, alpha, rel, discount)[self._number]
        key = "ideal sum", k, alpha, rel, discount
        return self.keep(key, lambda: discounted(self.ideal(k, alpha, rel), discount))

    def ideal_dcg(self, k: int | None, dcg: str) -> float:
        """Return Σ gain / log2(1 + rank) of the documents by grade, the best first, to rank k."""
        sums = None if self._all.ideals is None else self._all.ideals.dcg(k, dcg)
        if sums is not None:
            return sums[self._number]
        best = self.best_grades(k)
        k = len(best)  # what is deeper adds nothing
        return self.keep(("ideal dcg", k, dcg), lambda: discounted(graded_gains(best, dcg), logarithmic))

    def kinds(self, rel: int = 1) -> dict[Nuggets, list[int]]:
        """Return, for each set of nuggets that documents support, which do, in the order that breaks ties."""
        supported = self.supported(rel)
        relevant = [document for document, nuggets in enumerate(supported) if nuggets]
        # The last id first, as the greedy ideal breaks ties.
        relevant.sort(key=self.ids.__getitem__, reverse=True)
        kinds: dict[Nuggets, list[int]] = {}
        for place, document in enumerate(relevant):
            kinds.setdefault(supported[document], []).append(place)
        return kinds

    @property
    def _pairs(self) -> tuple[list[int], list[int | float]]:
        """The nugget and the grade of each pair of the query."""
        pairs = slice(self._all.pairs[self._first], self._all.pairs[self._last])
        return list(self._all.nugget[pairs]), self._grades_of_pairs

    @property
    def _grades_of_pairs(self) -> list[int | float]:
        return list(self._all.grade[self._all.pairs[self._first] : self._all.pairs[self._last]])

    def _all_support(self, rel: int) -> bool:
        """Whether nothing has a lower grade, as where judgements that nobody asks for are not kept."""
        return self._all.floor >= rel or self.lowest >= rel

    def _supported(self, rel: int) -> list[Nuggets]:
        if not self._all_support(rel):
            return [self.nuggets_of(document, rel) for document in range(len(self))]
        begin = self._all.pairs[self._first : self._last + 1]
        first = begin[0]
        nugget = list(self._all.nugget[first : begin[-1]])
        if len(nugget) == len(self):
            # zip of one list makes tuples of one each, in C.
            return list(zip(nugget))
        return [tuple(nugget[one - first : next_ - first]) for one, next_ in pairwise(begin)]

    def _global_gains(self) -> list[float]:
        pairs = self._all.pairs[self._first : self._last + 1]
        nugget, grade = self._pairs
        terms = [self.weight_of(n) * max(g, 0) for n, g in zip(nugget, grade, strict=True)]
        return [math.fsum(terms[first - pairs[0] : last - pairs[0]]) for first, last in pairwise(pairs)]

    def _count(self, rel: int) -> dict[int, int]:
        count: dict[int, int] = {}
        for nugget, grade in zip(*self._pairs, strict=True):
            if grade >= rel:
                count[nugget] = count.get(nugget, 0) + 1
        return count

    def keep(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return what `make` makes of the judgements alone, made once for all runs."""
        if key not in self._kept:
            self._kept[key] = make()
        kept: _T = self._kept[key]
        return kept


class Ranking:
    """One query's ranked documents, met with its judgements: the argument of a measure of runs.

    >>> topic = Topic.of({"n1": {"a": 1, "b": 1}, "n2": {"a": 1}})
    >>> ranking = Ranking.of(["a", "x", "b"], topic)
    >>> ranking.hits()
    (Hit(rank=1, document=0, grade=1, nuggets=(0, 1)), Hit(rank=3, document=1, grade=1, nuggets=(0,)))
    >>> ranking.gains(k=10, alpha=0.5)
    [(1, 2.0), (3, 0.5)]
    """

    def __init__(
        self,
        topic: Topic,
        ranks: Sequence[int],
        documents: Sequence[int],
        retrieved: int,
        sums: Sums | None = None,
        place: int = 0,
    ) -> None:
        """Take the ranks (ascending) and numbers of the judged documents among those retrieved.

        `sums` are of many rankings, among which this one has the `place`.
        """
        self.topic = topic
        self._sums = sums
        self._place = place
        self.retrieved = retrieved
        self.ranks = ranks
        self.documents = documents
        self._hits: dict[int | None, tuple[Hit, ...]] = {}

    @property
    def query_id(self) -> str:
        """The query."""
        return self.topic.query_id

    @classmethod
    def of(cls, ids: Sequence[str], topic: Topic) -> Self:
        """Make a ranking of document ids, best first."""
        numbered = [(rank, topic.numbers.get(name)) for rank, name in enumerate(ids, 1)]
        judged = [(rank, document) for rank, document in numbered if document is not None]
        return cls(topic, [rank for rank, _ in judged], [document for _, document in judged], len(ids))

    def hits(self, k: int | None = None, rel: int | None = 1) -> tuple[Hit, ...]:
        """Return the relevant documents among the top k, best first; with `rel=None` all judged ones."""
        # All measures of a query share them: a tuple, so that none can change what the others see.
        if rel not in self._hits:
            self._hits[rel] = tuple(self._all_hits(rel))
        hits = self._hits[rel]
        # Usually the run is no deeper than the cut-off, and nothing has to be copied.
        if k is None or not hits or hits[-1].rank <= k:
            return hits
        return hits[: bisect_right(hits, k, key=lambda hit: hit.rank)]

    def graded(self, k: int | None = None) -> tuple[Hit, ...]:
        """Return the documents with a grade above 0 among the top k, best first, whether whole or not."""
        if not self.topic.fractional:
            return self.hits(k)
        return tuple([hit for hit in self.hits(k, rel=None) if hit.grade > 0])

    def gains(self, k: int | None, alpha: float, rel: int = 1) -> Gains:
        """Return (rank, gain) of the relevant documents in the top k.

        A document gains (1−α)^c for each nugget it supports that c documents above it support.
        """
        inside = len(self.ranks) if k is None else bisect_right(self.ranks, k)
        supported = self.topic.nuggets_of_all(self.documents[:inside], rel)
        gains = gained([nuggets for nuggets in supported if nuggets], alpha, self.topic.weights)
        return list(zip(compress(self.ranks, supported), gains, strict=True))

    def gain_sum(self, k: int | None, alpha: float, rel: int, discount: Discount) -> float:
        """Return Σ gain · discount(rank) of the relevant documents in the top k, gains as of `gains`."""
        if self._sums is not None:
            return self._sums.gains(k, alpha, rel, discount)[self._place]
        return discounted(self.gains(k, alpha, rel), discount)

    def dcg(self, k: int | None, dcg: str) -> float:
        """Return Σ gain / log2(1 + rank) of the documents in the top k, gains as of `graded_gains`."""
        sums = None if self._sums is None else self._sums.dcg(k, dcg)
        if sums is not None:
            return sums[self._place]
        gains = graded_gains([(hit.rank, hit.grade) for hit in self.graded(k)], dcg)
        return discounted(gains, logarithmic)

    def found(self, k: int | None, rel: int = 1) -> int:
        """Return how many documents of the top k are relevant: as many as `hits` returns."""
        counts = None if self._sums is None else self._sums.found(k, rel)
        return len(self.hits(k, rel)) if counts is None else counts[self._place]

    def ideal(self, k: int | None, alpha: float, rel: int = 1) -> Gains:
        """Return (rank, gain) of the greedy ideal ranking of the query, to rank k."""
        return self.topic.ideal(k, alpha, rel)[:]  # other measures of the query are given the same list

    def nuggets(self, rel: int | None = None) -> int:
        """Return how many nuggets the query has; with `rel`, how many of them some document supports."""
        return self.topic.listed if rel is None else self.topic.attainable(rel)

    def weight(self, rel: int | None = None) -> float:
        """Return the total weight of the query's nuggets; with `rel`, of those that some document supports.

        It is their number, where all weigh the same.
        """
        if self.topic.weights is None:
            return self.nuggets(rel)
        return self.topic.weight(range(self.topic.listed) if rel is None else self.topic.documents_of(rel))

    def relevant(self, rel: int = 1) -> int:
        """Return how many documents are relevant to the query, retrieved or not."""
        return self.topic.relevant(rel)

    def depth(self, k: int | None = None) -> int:
        """Return how many documents the top k holds."""
        return self.retrieved if k is None else min(k, self.retrieved)

    def _all_hits(self, rel: int | None) -> Iterable[Hit]:
        topic, documents = self.topic, self.documents
        supported = topic.nuggets_of_all(documents, 1 if rel is None else rel)
        # The list of all grades pays if most of it is asked for.
        grade = topic.grades.__getitem__ if 2 * len(documents) > len(topic) else topic.grade
        # In C as far as it goes: this is done for each run and each query.
        columns = zip(self.ranks, documents, map(grade, documents), supported, strict=True)
        hits = map(partial(tuple.__new__, Hit), columns)  # as Hit(...), three times as fast
        return hits if rel is None or topic._all_support(rel) else (hit for hit in hits if hit.nuggets)


def of_mean_1(weights: Sequence[float]) -> list[float] | None:
    """Return weights so that their mean is 1, None where all are alike: they are then no weights at all.

    >>> of_mean_1([3.0, 1.0, 2.0]), of_mean_1([0.2, 0.2])
    ([1.5, 0.5, 1.0], None)
    """
    if len(set(weights)) <= 1:
        return None
    total = math.fsum(weights)
    return [weight / total * len(weights) for weight in weights]


class Blend(float):
    """A number made of several shares: it remembers them, so that each can be pooled before they are blended.

    It is undefined where one of them is (NaN). A measure whose function is annotated with it, `-> Blend`, has
    the option `over`, as one of shares has. The rules are `f1`, 2PR/(P+R) of two shares, `mean`, and `trust`:
    the mean of that of two shares, a third, and the F1 of two more.

    >>> found = Blend("f1", Share(1, 2), Share(1, 1))
    >>> round(found, 4), found.shares
    (0.6667, (0.5, 1.0))
    """

    __slots__ = ("rule", "shares")
    rule: str
    shares: tuple[float, ...]

    def __new__(cls, rule: str, *shares: float) -> Self:
        """Take a rule by its name and the shares, NaN for one that is undefined."""
        if rule not in BLENDS:
            raise MeasureError(f"Blend({rule!r:.80}): expected one of {', '.join(BLENDS)}")
        are_shares = all(isinstance(share, Share) or share != share for share in shares)
        if not are_shares or len(shares) != _BLENDED.get(rule, len(shares) or 1):
            raise MeasureError(
                f"Blend({rule!r}, {shares!r:.80}): expected shares, or NaN; two of them for f1, five"
                " for trust"
            )
        undefined = any(share != share for share in shares)
        blend = super().__new__(cls, math.nan if undefined else BLENDS[rule](shares))
        blend.rule, blend.shares = rule, shares
        return blend

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rule, *self.shares)


def _f1(shares: Sequence[float]) -> float:
    one, other = shares
    return 2 * one * other / (one + other) if one + other > 0 else 0.0


def _mean_of(shares: Sequence[float]) -> float:
    return math.fsum(shares) / len(shares)


BLENDS: dict[str, Callable[[Sequence[float]], float]] = {
    "f1": _f1,
    "mean": _mean_of,
    "trust": lambda shares: _mean_of([_mean_of(shares[:2]), shares[2], _f1(shares[3:])]),
}
_BLENDED = {"f1": 2, "trust": 5}  # how many shares a rule takes


def pooled(values: Iterable[float], as_one: bool = False) -> float:
    """Return one share of all that these shares hold, Σ parts / Σ wholes; of blends, that of such shares.

    What is undefined is left out, and NaN is what is made of nothing. `as_one` of them it weighs no more than
    each of them does, on average: so are repeats of a query pooled, before queries are.

    >>> pooled([Share(1, 2), Share(0, 2)]), pooled([Blend("mean", Share(1, 2), Share(1, 1))])
    (0.25, 0.75)
    """
    items = list(values)
    blends = [value for value in items if isinstance(value, Blend)]
    if blends:
        # Each share by itself: the F1 of pooled shares is no pooled F1.
        columns = zip(*(blend.shares for blend in blends), strict=True)
        return Blend(blends[0].rule, *(pooled(column, as_one) for column in columns))
    shares = [value for value in items if isinstance(value, Share)]
    if not shares:
        return math.nan
    number = len(shares) if as_one else 1
    part, whole = (
        math.fsum(column) for column in zip(*((one.part, one.whole) for one in shares), strict=True)
    )
    return Share(part / number, whole / number)


class _Greedy:
    """The greedy ideal ranking, as deep as anybody has asked for yet.

    Gains only fall, so a gain that was right some ranks ago is not below today's: only the document on top
    of the heap is reckoned again, until one stays there. Documents with the same nuggets gain the same now
    and for ever, so only the first of each kind waits in the heap.
    """

    def __init__(
        self, kinds: dict[Nuggets, list[int]], alpha: float, weights: Sequence[float] | None = None
    ) -> None:
        self._alpha = alpha
        self._weights = weights
        self._left = {nuggets: places[:0:-1] for nuggets, places in kinds.items()}  # the next one last
        self._seen = dict.fromkeys((nugget for nuggets in kinds for nugget in nuggets), 0)
        self._worth = {nugget: self._minus(nugget) for nugget in self._seen}
        minus = self._worth.__getitem__
        # Least first, as heaps are: minus what a document gains, and its place among equals.
        self._heap = [
            (math.fsum(map(minus, nuggets)), places[0], nuggets) for nuggets, places in kinds.items()
        ]
        heapify(self._heap)
        self._gains: Gains = []

    def gains(self, k: int | None) -> Gains:
        """Return (rank, gain) to rank k."""
        heap, minus = self._heap, self._worth.__getitem__
        while heap and (k is None or len(self._gains) < k):
            before, place, nuggets = heap[0]
            now = math.fsum(map(minus, nuggets))
            # It gains what it did; the others gained less, and gains only fall.
            if now == before:
                self._take_best(now, nuggets)
            else:
                heapreplace(heap, (now, place, nuggets))
        return self._gains if k is None else self._gains[:k]

    def _take_best(self, now: float, nuggets: Nuggets) -> None:
        self._gains.append((len(self._gains) + 1, -now))
        for nugget in nuggets:
            self._seen[nugget] += 1
            self._worth[nugget] = self._minus(nugget)
        left = self._left[nuggets]
        if left:  # it gains less by now; that is reckoned when it is on top
            heapreplace(self._heap, (now, left.pop(), nuggets))
        else:
            heappop(self._heap)

    def _minus(self, nugget: int) -> float:
        """Return minus what a nugget is worth by now, (1−α)^seen times its weight."""
        worth = -novelty(self._seen[nugget], self._alpha)
        return worth if self._weights is None else worth * self._weights[nugget]
