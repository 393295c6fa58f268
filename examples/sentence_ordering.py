"""Sentence clustering and reordering: judge answers listwise over permutations.

In the paper a model writes an answer from the ordered sentences. Here the ordered sentences are the answer,
and the rule-based judge prefers answers that address the question early.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from data.orders import bags_of_words, clusters, nearness_to, orders, within
from data.rule_judge import rule_judge

import rageval
from rageval.comparison.arena import outcome_matrix
from rageval.judges import Material, Settings, judged_by, rubric_named
from rageval.records import Answer, Question, Sentence

DATA = Path(__file__).parent / "data" / "sentences.jsonl"
SEED = 2024


def answers(record: dict[str, list[str]], of_sentences: bool) -> Iterator[tuple[str, list[str]]]:
    """(strategy, sentences in its order): of clusters (RQ1), or within them, nearest cluster first (RQ2)."""
    texts, rng = record["sentences"], random.Random(f"{SEED}/{record['id']}")
    vectors = bags_of_words([*texts, record["question"]])
    nearness = nearness_to(vectors[-1], vectors[:-1])
    orders_found = orders(clusters(vectors[:-1]), nearness, rng)
    if not of_sentences:
        for name, ordered in orders_found.items():
            yield name, [texts[index] for cluster in ordered for index in cluster]
        return
    for name, sort in within(nearness, rng).items():
        yield name, [texts[index] for cluster in orders_found["D nearest first"] for index in sort(cluster)]


def judged(
    records: list[dict[str, list[str]]], of_sentences: bool, balanced: bool
) -> dict[str, rageval.Scores]:
    """Every strategy's points, (N + 1 − i) / N for place i among N, over permutations of the answers."""
    written = [
        Answer(str(record["id"]), name, tuple(map(Sentence, texts)))
        for record in records
        for name, texts in answers(record, of_sentences)
    ]
    questions = {str(record["id"]): Question(str(record["id"]), record["question"]) for record in records}
    material = Material(written, questions, permutations=10, balanced=balanced, seed=SEED)
    with TemporaryDirectory() as folder:
        settings = Settings(store=f"{folder}/store.sqlite")
        judgements = list(judged_by([rule_judge()], rubric_named("listwise"), material, settings))
    return dict(sorted(rageval.evaluate_answers("rank_score", judgements).items()))


def main() -> None:
    records = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    for title, of_sentences in (("RQ1: order of clusters", False), ("RQ2: order within clusters", True)):
        random_orders, design = (judged(records, of_sentences, balanced) for balanced in (False, True))
        matrix = outcome_matrix([np.array(s["rank_score"].values) for s in random_orders.values()])
        print(f"{title}\n{'':<18}10 random  balanced  wins-ties-losses against the others")
        for index, (name, scores) in enumerate(random_orders.items()):
            duels = ("-".join(map(str, cell)) for other, cell in enumerate(matrix[index]) if other != index)
            points = (scores["rank_score"].value, design[name]["rank_score"].value)
            print(f"  {name:<16}" + "".join(f"{point:9.3f} " for point in points) + " " + " ".join(duels))


if __name__ == "__main__":
    main()
