"""Which pairs of answers to compare, where not all of them are: few, balanced, and where ranks touch.

One battle after another is drawn. Queries take turns, in an order that is drawn for each turn. Of a query's
pairs that were not drawn yet, that one is taken

1. which joins systems that no chain of battles joins, so that k − 1 battles join k systems,
2. whose systems have had the fewest battles, in sum,
3. which has had the fewest itself,

and of several, one at random. Shown first is the system that has stood second more often, of equals the one
that did so in this pair, or one at random. The first n battles of a draw are those of a draw of n, by the
same seed.

Given judgements of battles, a draw prefers pairs of systems whose intervals of ranks overlap (`touching`):
the others are decided. It counts battles anew, but repeats none. Strengths stay right, for each game is as
fair as any other, whichever pair it is spent on.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from rageval.errors import UsageError

_Pair = tuple[str, str]  # in the order of names


class Battle(NamedTuple):
    """A query, and the systems whose answers are shown first and second."""

    query: str
    first: str
    second: str

    @property
    def pair(self) -> _Pair:
        """The two systems, in the order of their names."""
        return min(self.first, self.second), max(self.first, self.second)


def touching(ranks: Mapping[str, tuple[int, int]]) -> frozenset[_Pair]:
    """Return the pairs of systems whose intervals of ranks overlap.

    >>> sorted(touching({"a": (1, 1), "b": (2, 3), "c": (3, 4), "d": (4, 4)}))
    [('b', 'c'), ('c', 'd')]
    """
    return frozenset(
        (one, other)
        for one, other in combinations(sorted(ranks), 2)
        if ranks[one][0] <= ranks[other][1] and ranks[other][0] <= ranks[one][1]
    )


def number_of_battles(share_or_number: float, answered: Mapping[str, Sequence[str]]) -> int:
    """Return how many battles these are: a share of all pairs below 1, else a number of them.

    >>> number_of_battles(0.1, {"q": "abcde", "r": "abcde"}), number_of_battles(3, {"q": "abcde"})
    (2, 3)
    """
    pairs = sum(math.comb(len(systems), 2) for systems in answered.values())
    # A share that is not a whole number of pairs is rounded; no pair at all is no draw.
    return max(1, round(share_or_number * pairs)) if share_or_number < 1 else int(share_or_number)


@dataclass
class _Drawing:
    """What was drawn so far, by which the next battle is chosen."""

    rng: random.Random
    open_pairs: dict[str, set[_Pair]]
    group: dict[str, str]  # of systems that battles join
    battles: Counter[str] = field(default_factory=Counter)
    battles_of_pair: Counter[_Pair] = field(default_factory=Counter)
    ahead: Counter[str] = field(default_factory=Counter)  # more often first than second
    shown: Counter[tuple[str, str]] = field(default_factory=Counter)  # pairs in this order

    def joins(self, pair: _Pair) -> bool:
        """Return whether a battle of this pair joins systems that none joins."""
        return self.group[pair[0]] != self.group[pair[1]]

    def connect(self, pair: _Pair) -> None:
        """Note that the systems of a pair have met."""
        name, other = (self.group[system] for system in pair)
        self.group = {system: name if group == other else group for system, group in self.group.items()}

    def draw_one(self, query: str, pairs: Iterable[_Pair]) -> Battle:
        """Draw one of these pairs of a query."""
        battles, battles_of_pair = self.battles, self.battles_of_pair
        drawn = min(
            sorted(pairs),
            key=lambda pair: (
                not self.joins(pair),
                battles[pair[0]] + battles[pair[1]],
                battles_of_pair[pair],
                self.rng.random(),
            ),
        )
        self.open_pairs[query].discard(drawn)
        self.connect(drawn)
        orders = (drawn, drawn[::-1])
        first, second = min(
            orders,
            key=lambda order: (
                self.ahead[order[0]] - self.ahead[order[1]],
                self.shown[order],
                self.rng.random(),
            ),
        )
        battles.update(drawn)
        self.shown[first, second] += 1
        battles_of_pair[drawn] += 1
        self.ahead[first] += 1
        self.ahead[second] -= 1
        return Battle(query, first, second)


def draw_battles(
    answered: Mapping[str, Sequence[str]],
    number: int,
    seed: int = 0,
    *,
    judged: Collection[Battle] = (),
    preferred: Collection[_Pair] | None = None,
) -> list[Battle]:
    """Draw so many battles of the systems that answered each query; UsageError if there are not so many.

    `judged` are not drawn again. Of `preferred` pairs all are drawn before any other.

    >>> battles = draw_battles({query: "abcd" for query in ("1", "2", "3")}, 6)
    >>> len({battle.pair for battle in battles}), sorted(Counter(battle.query for battle in battles).values())
    (6, [2, 2, 2])
    """
    open_pairs = {query: set(combinations(sorted(systems), 2)) for query, systems in answered.items()}
    for battle in judged:
        open_pairs.get(battle.query, set()).discard(battle.pair)
    there = sum(map(len, open_pairs.values()))
    if number > there:
        raise UsageError(f"{number:,} pairs of answers to draw: expected at most {there:,}, which there are")
    systems = sorted({system for some in answered.values() for system in some})
    drawing = _Drawing(random.Random(f"battles/{seed}"), open_pairs, {system: system for system in systems})
    for battle in judged:
        if {battle.first, battle.second} <= drawing.group.keys():
            drawing.connect(battle.pair)
    drawn: list[Battle] = []
    turns = [preferred, None] if preferred is not None else [None]
    for some in turns:
        for battle in _turns(drawing, some):
            if len(drawn) == number:
                return drawn
            drawn.append(battle)
    return drawn


def _turns(drawing: _Drawing, preferred: Collection[_Pair] | None) -> Iterator[Battle]:
    """Yield battles as long as there are any: a turn is one of each query that has one."""

    def open_in(query: str) -> set[_Pair]:
        there = drawing.open_pairs[query]
        return there if preferred is None else {pair for pair in there if pair in preferred}

    queries = sorted(drawing.open_pairs)
    while turn := [query for query in drawing.rng.sample(queries, len(queries)) if open_in(query)]:
        while turn:
            # Queries that can join systems come first, as long as any can.
            joining = (query for query in turn if any(map(drawing.joins, open_in(query))))
            query = next(joining, turn[0]) if len({*drawing.group.values()}) > 1 else turn[0]
            turn.remove(query)
            yield drawing.draw_one(query, open_in(query))
