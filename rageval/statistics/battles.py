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
the others are decided. It counts battles anew, but repeats none, and keeps places balanced. Strengths stay
right, for each game is as fair as any other, whichever pair it is spent on.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from rageval.errors import UsageError

Pairing = tuple[str, str]  # in the order of names


class Battle(NamedTuple):
    """A query, and the systems whose answers are shown first and second."""

    query: str
    first: str
    second: str

    @property
    def pair(self) -> Pairing:
        """The two systems, in the order of their names."""
        return min(self.first, self.second), max(self.first, self.second)


def pairs_among(systems: Iterable[str]) -> list[Pairing]:
    """Return all pairs of these systems."""
    return list(combinations(sorted(systems), 2))


def touching(ranks: Mapping[str, tuple[int, int]]) -> frozenset[Pairing]:
    """Return the pairs of systems whose intervals of ranks overlap.

    >>> sorted(touching({"a": (1, 1), "b": (2, 3), "c": (3, 4), "d": (4, 4)}))
    [('b', 'c'), ('c', 'd')]
    """
    return frozenset(
        (one, other)
        for one, other in pairs_among(ranks)
        if ranks[one][0] <= ranks[other][1] and ranks[other][0] <= ranks[one][1]
    )


class BattleDraw(NamedTuple):
    """Battles in the order they were drawn, of so many pairs; `judged` is a digest of what came before."""

    order: tuple[Battle, ...]
    pairs: int
    seed: int
    judged: str = ""

    def __str__(self) -> str:
        """Return what signatures say of it."""
        return f"{len(self.order)}/{self.pairs}@{self.seed}" + (f"+{self.judged}" if self.judged else "")


def number_of_battles(share_or_number: float, pairs: int) -> int:
    """Return how many battles these are: a share of all pairs if below 1, else a whole number of them.

    >>> number_of_battles(0.1, 24), number_of_battles(3, 24)
    (2, 3)
    """
    if share_or_number < 1:
        # No pair at all is no draw.
        return max(1, round(share_or_number * pairs))
    if share_or_number % 1:
        raise UsageError(
            f"battles {share_or_number:g}: expected a share of all pairs, below 1, or a whole number of them"
        )
    return int(share_or_number)


@dataclass
class _Drawing:
    """What was drawn so far, by which the next battle is chosen."""

    rng: random.Random
    open_pairs: dict[str, set[Pairing]]
    group: dict[str, str]  # of systems that battles join
    played: Counter[str] = field(default_factory=Counter)
    battles_of_pair: Counter[Pairing] = field(default_factory=Counter)
    ahead: Counter[str] = field(default_factory=Counter)  # more often first than second
    shown: Counter[tuple[str, str]] = field(default_factory=Counter)  # pairs in this order

    def joins(self, pair: Pairing) -> bool:
        """Return whether a battle of this pair joins systems that none joins."""
        return self.group[pair[0]] != self.group[pair[1]]

    def connect(self, pair: Pairing) -> None:
        """Note that the systems of a pair have met."""
        name, other = (self.group[system] for system in pair)
        self.group = {system: name if group == other else group for system, group in self.group.items()}

    def draw_one(self, query: str, pairs: Iterable[Pairing]) -> Battle:
        """Draw one of these pairs of a query."""
        played, battles_of_pair = self.played, self.battles_of_pair
        drawn = min(
            sorted(pairs),
            key=lambda pair: (
                not self.joins(pair),
                played[pair[0]] + played[pair[1]],
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
        played.update(drawn)
        battles_of_pair[drawn] += 1
        self.show(first, second)
        return Battle(query, first, second)

    def show(self, first: str, second: str) -> None:
        """Note who was shown first."""
        self.shown[first, second] += 1
        self.ahead[first] += 1
        self.ahead[second] -= 1


def draw_battles(
    candidates: Mapping[str, Iterable[Pairing]],
    number: int,
    seed: int = 0,
    *,
    judged: Collection[Battle] = (),
    preferred: Collection[Pairing] | None = None,
) -> list[Battle]:
    """Draw so many battles of each query's candidates; UsageError if there are not so many.

    `judged` are not drawn again. Of `preferred` pairs all are drawn before any other.

    >>> battles = draw_battles({query: pairs_among("abcd") for query in ("1", "2", "3")}, 6)
    >>> len({battle.pair for battle in battles}), sorted(Counter(battle.query for battle in battles).values())
    (6, [2, 2, 2])
    """
    open_pairs = {query: set(pairs) for query, pairs in candidates.items()}
    systems = sorted({system for pairs in open_pairs.values() for pair in pairs for system in pair})
    for battle in judged:
        open_pairs.get(battle.query, set()).discard(battle.pair)
    there = sum(map(len, open_pairs.values()))
    if number > there:
        raise UsageError(f"{number:,} pairs of answers to draw: expected at most {there:,}, which there are")
    drawing = _Drawing(random.Random(f"battles/{seed}"), open_pairs, {system: system for system in systems})
    for battle in judged:
        if {battle.first, battle.second} <= drawing.group.keys():
            drawing.connect(battle.pair)
            drawing.show(battle.first, battle.second)
    drawn: list[Battle] = []
    turns = [preferred, None] if preferred is not None else [None]
    for some in turns:
        for battle in _turns(drawing, some):
            if len(drawn) == number:
                return drawn
            drawn.append(battle)
    return drawn


def _turns(drawing: _Drawing, preferred: Collection[Pairing] | None) -> Iterator[Battle]:
    """Yield battles as long as there are any: a turn is one of each query that has one."""

    def open_in(query: str) -> set[Pairing]:
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
