"""LiveRAG and RAGtifier: three judge prompts, one of them without gold, and gold documents over k."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from data.rule_judge import rule_judge

import rageval
from rageval.judges import Rubric, Settings, gathered, judged_by, rubric_named

DATA = Path(__file__).parent / "data"
PROMPTS = ("liverag", "simple-comparison", "crag-style")


def blind(rubric: Rubric) -> Rubric:
    """The same rubric for a judge that sees neither the gold answer nor its passage."""
    sees = [name for name in rubric.file.sees if not name.startswith("gold")]
    return Rubric("liverag-blind", msgspec.structs.replace(rubric.file, sees=sees, judged_as="liverag"))


def main() -> None:
    answers, questions = DATA / "liverag" / "answers.jsonl", DATA / "liverag" / "questions.jsonl"
    material = gathered([answers], questions=questions)
    rubrics = [*map(rubric_named, PROMPTS), blind(rubric_named("liverag"))]
    measured: dict[str, dict[str, float]] = {}
    with TemporaryDirectory() as folder:
        settings = Settings(store=f"{folder}/store.sqlite")
        for rubric in rubrics:
            results: dict[str, list[float]] = {}
            for row in judged_by([rule_judge()], rubric, material, settings):
                if row["run_id"] != "gold":  # the other side of a comparison with the gold answer
                    name = "wins against gold" if " | " in row["aspect"] else row["aspect"]
                    results.setdefault(name, []).append(row["grade"])
            measured[rubric.name] = {name: sum(grades) / len(grades) for name, grades in results.items()}
    for prompt in PROMPTS:
        print(f"{prompt:<18}", ", ".join(f"{name} {value:.2f}" for name, value in measured[prompt].items()))
    for name, value in measured["liverag-blind"].items():
        print(f"{name} without gold {value:.2f}, with gold {measured['liverag'][name]:.2f}")

    hops = {record["id"]: record["hops"] for record in map(json.loads, questions.read_text().splitlines())}
    print("\nEvery gold document in the top k (all_gold@k)")
    files = (DATA / "liverag" / name for name in ("run", "qrels"))
    for score in rageval.evaluate("all_gold@1,all_gold@2,all_gold@5", *files).values():
        groups = score.by_group({str(query): kind for query, kind in hops.items()})
        print(
            f"  {score.measure}",
            ", ".join(f"{kind} {group_queries.mean():.2f}" for kind, group_queries in groups.items()),
        )


if __name__ == "__main__":
    main()
