"""What a track costs: 40 runs of 100 topics, 15 nuggets each, judged offline, from files to the archive.

    python benchmarks/track.py

Everything is made up: answers are sentences, some of which say a nugget. The aim is two minutes on two cores;
giving the command again, when nothing changed, is measured, too. Ends with 1 when the aim is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

AIM = 120.0  # seconds
_TEXT = """
river bridge market winter engine signal garden harbour copper letter village teacher window forest metal
planet doctor island museum railway customs factory senator library pilot glacier orchard turbine vaccine
"""
_WORDS = _TEXT.split()


def draw(folder: Path, runs: int, topics: int, nuggets: int, seed: int = 0) -> None:
    """Write topics, nuggets and runs in the form of TREC RAG 2025."""
    generator = random.Random(seed)
    names = [str(index) for index in range(1, topics + 1)]
    facts = {
        topic: [" ".join(generator.choices(_WORDS, k=6)) + f" {index}" for index in range(nuggets)]
        for topic in names
    }
    (folder / "runs").mkdir(parents=True)
    lines = "".join(f"{topic}\tWhat about {facts[topic][0]}?\n" for topic in names)
    (folder / "topics.tsv").write_text(lines)
    with (folder / "nuggets.jsonl").open("w") as stream:
        for topic in names:
            bank = [
                {"text": text, "importance": ("vital", "okay")[index % 2]}
                for index, text in enumerate(facts[topic])
            ]
            stream.write(json.dumps({"qid": topic, "query": "", "nuggets": bank}) + "\n")
    for run in range(runs):
        skill = generator.uniform(0.2, 0.8)
        with (folder / "runs" / f"run-{run:02}.jsonl").open("w") as stream:
            for topic in names:
                stream.write(
                    json.dumps(_answer(generator, f"run-{run:02}", topic, facts[topic], skill)) + "\n"
                )


def _answer(
    generator: random.Random, run: str, topic: str, facts: list[str], skill: float
) -> dict[str, object]:
    """Return an answer of about 250 words that says a share of the facts."""
    documents = [f"msmarco_v2.1_doc_00_{topic}#{index}_{index}" for index in range(20)]
    parts = []
    for fact in facts:
        text = fact if generator.random() < skill else " ".join(generator.choices(_WORDS, k=7))
        padding = " ".join(generator.choices(_WORDS, k=9))
        cited = sorted(generator.sample(range(len(documents)), 2))
        parts.append({"text": f"The {text} {padding}.", "citations": cited})
    used = {index for part in parts for index in part["citations"]}
    kept = [index for index in range(len(documents)) if index in used]
    place = {index: number for number, index in enumerate(kept)}
    for part in parts:
        part["citations"] = [place[index] for index in part["citations"]]
    metadata = {"team_id": "team", "run_id": run, "narrative_id": topic}
    return {"metadata": metadata, "references": [documents[index] for index in kept], "answer": parts}


def timed(folder: Path) -> dict[str, float]:
    """Return the seconds of each stage, and of the whole once more when nothing changed."""
    from rageval.track import TrackPlan, organize
    from rageval.track.stages import STAGES

    taken = {}
    for stage in (*STAGES, "again"):
        plan = TrackPlan(
            folder / "runs",
            folder / "out",
            "rag25",
            topics=str(folder / "topics.tsv"),
            nuggets=str(folder / "nuggets.jsonl"),
            rubrics=("nugget-assignment",),
            judges=("lexical",),
            measures="lexical_recall",
            stage="archive" if stage == "again" else stage,
        )
        begin = time.perf_counter()
        organize(plan)
        taken[stage] = time.perf_counter() - begin
    return taken


def main() -> int:
    """Print a table of the stages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--nuggets", type=int, default=15)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        draw(folder, words.runs, words.topics, words.nuggets)
        taken = timed(folder)
        pages = [path.stat().st_size for path in (folder / "out" / "pages").iterdir()]
        archive = (folder / "out" / "board.tar.gz").stat().st_size
    whole = sum(seconds for stage, seconds in taken.items() if stage != "again")
    print(f"{words.runs} runs, {words.topics} topics, {words.nuggets} nuggets each\n")
    print("| stage | seconds |\n| --- | ---: |")
    for stage, seconds in {**taken, "whole": whole}.items():
        print(f"| {stage} | {seconds:.1f} |")
    print(f"\n{len(pages)} pages of {sum(pages) / 1e6:.1f} MB, an archive of {archive / 1e6:.1f} MB")
    return 0 if whole <= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
