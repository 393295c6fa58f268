"""Every measure on every small input: three documents, four nuggets, all rankings of one to three documents.

All inputs are queries of one run, so that this tests at the same time what is done for many at once: 4,950 of
them, as nuggets in another order are other inputs of the same value, and all 61,440 with EXHAUSTIVE=1 (`make
release-check`).
"""

from __future__ import annotations

import os
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import log2

import numpy as np
import pytest

import rageval
from oracle import MEASURES, NOVELTY, RIGHT, VARIANTS, Qrels, Query, Run, dcg, optimum
from rageval import alpha_ndcg
from strategies import ALPHAS

pytestmark = pytest.mark.nightly

DOCS, NUGGETS, CUTOFFS = "abc", ("n0", "n1", "n2", "n3"), (1, 2, 3, 4)
TOLERANCE = 1e-12
HALF = Fraction(1, 2)
ORDERS = [order for length in (1, 2, 3) for order in permutations(DOCS, length)]
Masks = tuple[int, ...]  # for each document, the nuggets it supports, as bits
ASSIGNMENTS: list[Masks] = list(product(range(2 ** len(NUGGETS)), repeat=len(DOCS)))

FUNCTIONS = {**MEASURES, **VARIANTS}
WITH_ALPHA = [*(f.__name__ for f in NOVELTY), "alpha_dcg(normalize=independent)", "err_ia(normalize=none)"]
WITHOUT_ALPHA = [name for name in FUNCTIONS if name not in WITH_ALPHA]
Config = tuple[str, int, str | None]  # a measure, its cut-off, its alpha
NOVELTY_CONFIGS: list[Config] = list(product(WITH_ALPHA, CUTOFFS, ALPHAS))
OTHER_CONFIGS: list[Config] = list(product(WITHOUT_ALPHA, CUTOFFS, [None]))


def judgements(masks: Masks, *, zeros: bool) -> dict[str, dict[str, int]]:
    """Who supports what. Rows of grade 0 list nuggets nobody supports, and judge documents without any."""
    judged: dict[str, dict[str, int]] = {}
    for (doc, mask), (index, nugget) in product(zip(DOCS, masks, strict=True), enumerate(NUGGETS)):
        grade = mask >> index & 1
        if grade or zeros:
            judged.setdefault(nugget, {})[doc] = grade
    return judged


@cache
def everything(assignments: tuple[Masks, ...], *, zeros: bool) -> tuple[Run, Qrels]:
    """A query for each assignment and order; without zeros the empty assignment has no judgements."""
    run: Run = {}
    qrels: Qrels = {}
    for number, masks in enumerate(assignments):
        judged = judgements(masks, zeros=zeros)
        for index, order in enumerate(ORDERS if judged else ()):
            qrels[f"{number}.{index}"] = judged
            run[f"{number}.{index}"] = {doc: -float(rank) for rank, doc in enumerate(order)}
    return run, qrels


@cache
def kind(masks: Masks) -> Masks:
    """The assignment with its nuggets in a standard order: 330 kinds stand for all 4,096."""
    columns = sorted(tuple(mask >> index & 1 for mask in masks) for index in range(len(NUGGETS)))
    return tuple(
        sum(column[doc] << index for index, column in enumerate(columns)) for doc in range(len(DOCS))
    )


KINDS = sorted(set(map(kind, ASSIGNMENTS)))
TRIED = tuple(ASSIGNMENTS if os.environ.get("EXHAUSTIVE") else KINDS)


class Remembering(Query):
    """Finds each ideal once: it is the same for all runs, and a shorter greedy ideal begins a longer one."""

    def __init__(self, masks: Masks, *, zeros: bool = True) -> None:
        super().__init__({}, judgements(masks, zeros=zeros), 1, RIGHT)
        self._ideals: dict[Fraction, list[Fraction]] = {}

    def ideal(self, alpha: Fraction, k: int | None) -> list[Fraction]:
        if alpha not in self._ideals:
            self._ideals[alpha] = super().ideal(alpha, None)
        return self._ideals[alpha][:k]


def of_kind(masks: Masks, configs: list[Config], *, zeros: bool) -> np.ndarray:
    """The oracle's values: a row a config, a column an order."""
    q = Remembering(masks, zeros=zeros)
    values = np.empty((len(configs), len(ORDERS)))
    for column, order in enumerate(ORDERS):
        q.ranking = list(order)
        for row, (name, k, alpha) in enumerate(configs):
            given = {} if alpha is None else {"alpha": Fraction(alpha)}
            values[row, column] = FUNCTIONS[name](q, k, **given)
    return values


def spelled(config: Config) -> str:
    name, k, alpha = config
    measure = rageval.parse_measure(name)
    return str((measure if alpha is None else measure(alpha=alpha)) @ k)


def largest_difference(configs: list[Config], *, zeros: bool) -> float:
    run, qrels = everything(TRIED, zeros=zeros)
    scores = rageval.evaluate([spelled(config) for config in configs], run, qrels)
    values = np.stack([scores[spelled(config)].values for config in configs])
    tables = {masks: of_kind(masks, configs, zeros=zeros) for masks in KINDS}
    expected = np.hstack([tables[kind(masks)] for masks in TRIED if zeros or any(masks)])
    assert values.shape == expected.shape == (len(configs), len(qrels))
    return float(np.abs(values - expected).max())


@pytest.mark.parametrize("k", CUTOFFS)
def test_novelty_measures_equal_the_oracle_on_every_small_case(k: int) -> None:
    configs = [config for config in NOVELTY_CONFIGS if config[1] == k]
    assert largest_difference(configs, zeros=True) <= TOLERANCE


@pytest.mark.parametrize("zeros", [True, False])
def test_all_other_measures(zeros: bool) -> None:
    assert largest_difference(OTHER_CONFIGS, zeros=zeros) <= TOLERANCE


@pytest.fixture(scope="module")
def at_half() -> dict[int, np.ndarray]:
    """alpha_ndcg at alpha ½, for each cut-off: a row an assignment, a column an order."""
    scores = rageval.evaluate([alpha_ndcg @ k for k in CUTOFFS], *everything(tuple(ASSIGNMENTS), zeros=True))
    return {k: scores[alpha_ndcg @ k].values.reshape(len(ASSIGNMENTS), len(ORDERS)) for k in CUTOFFS}


@pytest.mark.parametrize("k", CUTOFFS)
def test_the_best_order_gets_the_optimum_over_the_greedy_ideal(at_half, k: int) -> None:
    ratio = {}
    for masks in KINDS:
        q = Remembering(masks)
        ratio[masks] = optimum(q, k) / dcg(q.ideal(HALF, k)) if any(masks) else 0.0
    expected = np.array([ratio[kind(masks)] for masks in ASSIGNMENTS])
    assert np.abs(at_half[k].max(axis=1) - expected).max() <= TOLERANCE


@pytest.mark.parametrize(("k", "above_1"), [(1, 0), (2, 96), (3, 48), (4, 48)])
def test_how_often_alpha_ndcg_is_above_1(at_half, k: int, above_1: int) -> None:
    assert int((at_half[k] > 1 + TOLERANCE).sum()) == above_1
    assert at_half[k].max() <= 1 / (1 - (1 - 1 / k) ** k) + TOLERANCE


def test_the_worst_of_two_ranks(at_half) -> None:
    """Two documents with two nuggets each, against a third that has one of each, and a larger id."""
    assert at_half[2].max() == pytest.approx((2 + 2 / log2(3)) / (2 + 1.5 / log2(3)), abs=1e-15)
