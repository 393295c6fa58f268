"""LiveRAG and RAGtifier: three judge prompts, one of them without gold, gold documents over k, Table 1."""

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
# RAGtifier's Table 1, in %: correctness 1 and 2, faithfulness 0 and 1, of single- and multi-hop questions.
TABLE_1 = {
    "Simple Prompt": ((10.0, 89.6, 8.4, 91.6), (6.0, 91.2, 5.2, 92.0)),
    "TrustRAG": ((15.3, 80.9, 14.8, 80.9), (14.7, 83.3, 17.3, 80.7)),
    "Astute": ((17.0, 77.1, 15.7, 78.3), (35.5, 62.0, 36.6, 60.4)),
    "InstructRAG": ((4.2, 94.5, 3.4, 95.3), (5.6, 92.9, 5.1, 93.4)),
    "IterDRAG": ((3.4, 94.5, 4.2, 93.6), (3.8, 93.6, 3.8, 93.6)),
}
SHARES = (
    "correctness_share(level=1), correctness_share(level=2), faithfulness_share(level=0), faithfulness_share"
)


def of_shares(shares: tuple[float, ...]) -> list[float]:
    """The four shares again, in %, out of a thousand answers with such grades; the others are graded -1."""
    judged = []
    for aspect, low, middle, high in (("correctness", 1, *shares[:2]), ("faithfulness", 0, *shares[2:])):
        grades = [low] * round(10 * middle) + [low + 1] * round(10 * high)
        for at, grade in enumerate(grades + [-1] * (1000 - len(grades))):
            judged.append({"query_id": str(at), "run_id": "r", "aspect": aspect, "grade": grade})
    return [100 * score.value for score in rageval.evaluate_answers(SHARES, judged)["r"].values()]


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
            found: dict[str, list[float]] = {}
            for said in judged_by([rule_judge()], rubric, material, settings):
                if said["run_id"] != "gold":  # the other side of a comparison with the gold answer
                    name = "wins against gold" if " | " in said["aspect"] else said["aspect"]
                    found.setdefault(name, []).append(said["grade"])
            measured[rubric.name] = {name: sum(grades) / len(grades) for name, grades in found.items()}
    for prompt in PROMPTS:
        print(f"{prompt:<18}", ", ".join(f"{name} {value:.2f}" for name, value in measured[prompt].items()))
    for name, value in measured["liverag-blind"].items():
        print(f"{name} without gold {value:.2f}, with gold {measured['liverag'][name]:.2f}")

    hops = {record["id"]: record["hops"] for record in map(json.loads, questions.read_text().splitlines())}
    print("\nEvery gold document in the top k (all_gold@k)")
    files = (DATA / "liverag" / name for name in ("run", "qrels"))
    for score in rageval.evaluate("all_gold@1,all_gold@2,all_gold@5", *files).values():
        groups = score.by_group({str(query): kind for query, kind in hops.items()})
        print(f"  {score.measure}", ", ".join(f"{kind} {each.mean():.2f}" for kind, each in groups.items()))

    print("\nRAGtifier's Table 1, recomputed from grades with its shares (single-hop | multi-hop)")
    for system, rows in TABLE_1.items():
        cells = (" ".join(f"{share:5.1f}" for share in of_shares(row)) for row in rows)
        print(f"  {system:<14}" + " | ".join(cells))


if __name__ == "__main__":
    main()
