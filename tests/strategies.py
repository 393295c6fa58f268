"""Inputs made to find something: those of `check_measure`, and some that only these tests need.

Everything is built from a `random.Random`, so that hypothesis (through `randoms`) and plain loops over
seeds draw from the same well.
"""

from __future__ import annotations

import random

from hypothesis import strategies as st

from laws_of_some import SOME_LAWS
from rageval.testing._inputs import run_and_qrels
from rageval.testing._laws import LAWS
from rageval.testing._run_cases import RunCase


def case(rng: random.Random) -> RunCase:
    """Few documents and nuggets, so that nearly every draw has ties."""
    return RunCase(*run_and_qrels(rng))


RUN_LAWS = LAWS[RunCase] | SOME_LAWS
cases = st.randoms(use_true_random=False).map(case)
cutoffs = st.sampled_from([1, 2, 3, 4, 5, 10, 1000, None])
ALPHAS = ("0", "0.25", "0.5", "0.75", "1")

# Decays of m/10 in lowest terms: up to nine nuggets, two different multisets of counts never gain the same
# (the highest count's share would have to be a multiple of 10), so exact and rounded gains tie alike.
NON_DYADIC = ("0.1", "0.3", "0.7", "0.9")
WORD_BORDERS = (7, 8, 9, 15, 16, 17, 23, 24, 25, 100)
# '～' and '𝔘' stand the other way round in UTF-16; 'é' composed and decomposed are two ids.
TAILS = ("", "0", "00", "1", "A", "a", "~", "#", "%20", "é", "e\u0301", "文", "～", "𝔘")


def near_ids(rng: random.Random, count: int) -> list[str]:
    """Ids that agree up to the border of an eight-byte word, or nearly, and differ in what follows."""
    stem = "x" * (rng.choice(WORD_BORDERS) - 1)
    return [stem + tail for tail in rng.sample(TAILS, count)]


def mask_case(rng: random.Random) -> RunCase:
    """One query whose documents support equally many nuggets each, so that the ideal is full of ties."""
    nuggets = [f"n{index}" for index in range(rng.randint(5, 8))]
    size = rng.choice((2, 3, 4, 4))
    docs = near_ids(rng, rng.randint(3, 9))
    chosen = {doc: set(rng.sample(nuggets, size)) for doc in docs}
    judged = {n: {doc: rng.choice((1, 2)) for doc in docs if n in chosen[doc]} for n in nuggets}
    levels = rng.choice((1, 2, 50))
    ranked = rng.sample(docs, rng.randint(1, len(docs)))
    run = {doc: float(rng.randrange(levels)) for doc in ranked}
    return RunCase({"q": run}, {"q": {n: grades for n, grades in judged.items() if grades}})


mask_cases = st.randoms(use_true_random=False).map(mask_case)
