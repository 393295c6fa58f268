"""FreshStack's evaluation: five topics, oracle against inference settings, fusion, the leaderboard line.

With the real data, `"freshstack/langchain/oct-2024"` stands where the judgements of a topic are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import rageval
from rageval.building import fused

DATA = Path(__file__).parent / "data" / "freshstack"
TOPICS = ("langchain", "yolo", "laravel", "angular", "godot")
SETTINGS = {"inference: question": "question", "oracle: nuggets": "nuggets"}
OFFICIAL = "official:freshstack"  # alpha_ndcg@10, coverage@20 and recall@50
LEADERBOARD = {"alpha_ndcg_10": "alpha_ndcg@10", "coverage_20": "coverage@20", "recall_50": "recall@50"}


def runs(topic: str, setting: str) -> Iterator[rageval.Run]:
    """Both retrievers, and their fusion: the sum of normalised scores of the top 100."""
    found = [rageval.read_run(DATA / f"{topic}.{name}.{setting}.trec") for name in ("bm25", "dense")]
    for name, run in zip(("bm25", "dense"), found, strict=True):
        yield rageval.Run.from_records(run, name)
    yield fused(found, depth=100, name="fusion")


def main() -> None:
    entries: dict[str, dict[str, dict[str, float]]] = {}
    for title, setting in SETTINGS.items():
        table: dict[str, dict[str, rageval.Scores]] = {}
        for topic in TOPICS:
            for run in runs(topic, setting):
                scores = rageval.evaluate(OFFICIAL, run, DATA / f"{topic}.nugget")
                table.setdefault(run.name, {})[topic] = scores
        print(f"{title:<20}" + "".join(f"{topic:>20}" for topic in (*TOPICS, "average")))
        for name, of_topic in table.items():
            entry = {
                topic: {key: scores[measure].value for key, measure in LEADERBOARD.items()}
                for topic, scores in of_topic.items()
            }
            entry["average"] = {
                key: sum(values[key] for values in entry.values()) / len(TOPICS) for key in LEADERBOARD
            }
            cells = (" ".join(f"{value:.3f}" for value in values.values()) for values in entry.values())
            print(f"  {name:<18}" + "".join(f"{cell:>20}" for cell in cells))
            entries[f"{name} ({setting})"] = entry
    best = max(entries, key=lambda name: entries[name]["average"]["alpha_ndcg_10"])
    print(f"\nThe leaderboard's line of {best}:")
    rounded = {key: round(value, 3) for key, value in entries[best]["average"].items()}
    print(json.dumps({"info": {"name": best}, "datasets": {"average": rounded}}))


if __name__ == "__main__":
    main()
