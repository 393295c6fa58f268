"""Small inputs made to find something: many ties, equal-sized nugget sets, ids that nearly agree.

Everything is built from a `random.Random`, so that the same seed draws the same inputs.
"""

from __future__ import annotations

import random

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, dict[str, int]]]

# Around the borders of eight-byte words, composed and decomposed, in several scripts, prefixes of others.
_IDS = [
    "d",
    "d0",
    "d00",
    "1",
    "01",
    "é",
    "e\u0301",
    "文書",
    "x" * 7,
    "x" * 8,
    "x" * 9,
    "x" * 16,
    "x" * 17,
    "x" * 99,
]
_IDS += [
    "clueweb12-0000tw-05-12114",
    "clueweb12-0000tw-05-12115",
    "a#b",
    "a b".replace(" ", "_"),
    "Z",
    "z",
    "~",
    "!",
]


def run_and_qrels(rng: random.Random) -> tuple[Run, Qrels]:
    """Return what has something in common: few documents and nuggets, so that nearly every draw has ties."""
    queries = [f"q{number}" for number in range(rng.randint(1, 3))]
    qrels = {query: _draw_judgements(rng) for query in queries}
    run = {query: _ranking(rng, qrels[query]) for query in queries if rng.random() < 0.9}
    if rng.random() < 0.3:
        run["only_in_run"] = {"d": 1.0}
    if not set(run) & set(qrels):
        run[queries[0]] = _ranking(rng, qrels[queries[0]])
    return run, qrels


def _draw_judgements(rng: random.Random) -> dict[str, dict[str, int]]:
    """Return one query's: by nugget, the grades of documents."""
    docs = rng.sample(_IDS, rng.randint(1, 7))
    nuggets = [f"n{number}" for number in range(rng.randint(1, 6))]
    if rng.random() < 0.5:  # sets of one size: the greedy ideal must choose among equals
        size = rng.randint(1, len(nuggets))
        chosen = {doc: set(rng.sample(nuggets, size)) for doc in docs}
    else:
        chosen = {doc: {nugget for nugget in nuggets if rng.random() < 0.5} for doc in docs}
    judged: dict[str, dict[str, int]] = {}
    for nugget in nuggets:
        judged[nugget] = {doc: rng.choice((1, 1, 2)) for doc in docs if nugget in chosen[doc]}
        for doc in docs:
            if doc not in judged[nugget] and rng.random() < 0.3:
                judged[nugget][doc] = rng.choice((0, 0, -1, -2))
    kept = {nugget: judged[nugget] for nugget in nuggets if judged[nugget]}
    return kept or {"n0": {docs[0]: 0}}


def _ranking(rng: random.Random, judged: dict[str, dict[str, int]]) -> dict[str, float]:
    """Return some of the judged documents and some others, on few levels of scores or on many."""
    judged_docs = sorted({doc for docs in judged.values() for doc in docs})
    docs = rng.sample(judged_docs, rng.randint(1, len(judged_docs))) + rng.sample(
        ["u1", "u2", "x" * 10], rng.randint(0, 3)
    )
    rng.shuffle(docs)
    levels = rng.choice((1, 2, 3, 50))
    return {doc: rng.randrange(levels) / 4 - 1 for doc in docs}
