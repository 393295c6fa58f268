"""Every measure on every small input: three documents, four nuggets, all rankings of one to three documents."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import permutations, product

from oracle import MEASURES, NOVELTY, RIGHT, VARIANTS, Nuggets, Qrels, Query, Run

DOCS, NUGGETS, CUTOFFS = "abc", ("n0", "n1", "n2", "n3"), (1, 2, 3, 4)
TOLERANCE = 1e-12
ORDERS = [order for length in (1, 2, 3) for order in permutations(DOCS, length)]
MASKS = range(2 ** len(NUGGETS))
ASSIGNMENTS = list(product(MASKS, repeat=len(DOCS)))
WITHOUT_ALPHA = [*(set(MEASURES) - {function.__name__ for function in NOVELTY}), "ndcg(dcg=exp_log2)"]
WITHOUT_ALPHA += ["coverage(denominator=attainable)"]
FUNCTIONS: dict[str, Callable[..., float]] = {**MEASURES, **VARIANTS}


def judgements(masks: tuple[int, ...], *, with_zeros: bool) -> dict[str, dict[str, int]]:
    """Who supports what. Rows of grade 0 list nuggets nobody supports, and judge documents without any."""
    judged: dict[str, dict[str, int]] = {}
    for (doc, mask), (at, nugget) in product(zip(DOCS, masks, strict=True), enumerate(NUGGETS)):
        grade = mask >> at & 1
        if grade or with_zeros:
            judged.setdefault(nugget, {})[doc] = grade
    return judged


def everything(*, with_zeros: bool) -> tuple[Run, Qrels]:
    """One query for each assignment and order."""
    run: Run = {}
    qrels: Qrels = {}
    for number, masks in enumerate(ASSIGNMENTS):
        for at, order in enumerate(ORDERS):
            qrels[f"{number}.{at}"] = judgements(masks, with_zeros=with_zeros)
            run[f"{number}.{at}"] = {doc: -float(rank) for rank, doc in enumerate(order)}
    return run, {query: judged for query, judged in qrels.items() if judged}


@cache
def kind(masks: tuple[int, ...]) -> tuple[int, ...]:
    """The assignment with its nuggets renamed into a standard order: 330 kinds stand for all 4,096."""
    columns = sorted(tuple(mask >> at & 1 for mask in masks) for at in range(len(NUGGETS)))
    return tuple(sum(column[doc] << at for at, column in enumerate(columns)) for doc in range(len(DOCS)))


KINDS = sorted(set(map(kind, ASSIGNMENTS)))


class Remembering(Query):
    """An oracle's query that finds each ideal once: a shorter greedy ideal begins a longer one."""

    known: dict[tuple[Nuggets, Fraction], list[Fraction]]

    def __init__(self, masks: tuple[int, ...], order: tuple[str, ...], *, with_zeros: bool) -> None:
        ranking = {doc: -float(rank) for rank, doc in enumerate(order)}
        super().__init__(ranking, judgements(masks, with_zeros=with_zeros), 1, RIGHT)
        self._ideals: dict[Fraction, list[Fraction]] = {}

    def ideal(self, alpha: Fraction, k: int | None) -> list[Fraction]:
        if alpha not in self._ideals:
            self._ideals[alpha] = super().ideal(alpha, None)
        return self._ideals[alpha][:k]
