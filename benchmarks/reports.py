"""Reports of 50 runs on 119 topics, 30 sentences each, read and scored: beside the same as answers of 2025.

    python benchmarks/reports.py --rounds 3

Judgements and measure (`official:support`) are the same; only the form of what was judged differs: reports
cite by id, or by id with confidences, answers by position. Ends with 1 where reports take more than 1.2 of
the time.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

from timing import (
    Command,
    add_rageval_option,
    conditions,
    cpu,
    default_data_folder,
    exit_with,
    markdown,
    median,
    median_ratio,
    megabytes,
    seconds,
    take_turns,
    verdict,
    warm_up,
)

AIM = 1.2
TOPICS, RUNS, SENTENCES = 119, 50, 30
LABELS = ("full_support", "partial_support", "no_support")
ANSWERS = "rag25"
FORMS = (ANSWERS, "report", "confidences")


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=default_data_folder())
    add_rageval_option(parser)
    options = parser.parse_args()
    folder = options.data / "reports"
    if not (folder / "judged.jsonl").exists():
        generate(folder)
    judged = str(folder / "judged.jsonl")
    commands: dict[str, Command] = {
        f"rageval, {form}": [
            *(options.rageval, judged, "--answers", str(folder / f"{form}.jsonl"), "-m", "official:support"),
            *("--format", "csv"),
        ]
        for form in FORMS
    }
    samples = take_turns(warm_up(commands), options.rounds)
    today = samples[f"rageval, {ANSWERS}"]
    if len({citations[0].output for citations in samples.values()}) > 1:
        print("the forms print different values")
        return 1
    rows, missed = [], 0
    for name, citations in samples.items():
        ratio = median_ratio(citations, today, cpu)
        missed += ratio > AIM
        numbers = [median(citations, seconds), median(citations, cpu), ratio]
        texts = [f"{number:.3f}" for number in numbers]
        rows.append([name, *texts, verdict(ratio, AIM), f"{median(citations, megabytes):.0f}"])
    print(conditions(options.rounds), "\n")
    print(markdown(["form", "wall, s", "CPU, s", f"of {ANSWERS}", "aim", "peak, MB"], rows))
    return 1 if missed else 0


def generate(folder: Path) -> None:
    """Write the same reports in each form, and judgements of every citation."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(17)
    words = [f"w{rng.randrange(10**5)}" for _ in range(3000)]
    files = {form: (folder / f"{form}.jsonl").open("w") for form in FORMS}
    with (folder / "unfinished").open("w") as judged:
        for run in range(RUNS):
            for topic in range(TOPICS):
                texts = [" ".join(rng.choices(words, k=15)) for _ in range(SENTENCES)]
                docs = [
                    f"msmarco_v2.1_doc_{rng.randrange(60):02}_{rng.randrange(10**9)}#{index}"
                    for index in range(20)
                ]
                cited = [rng.sample(docs, rng.randrange(1, 4)) for _ in texts]
                for form in FORMS:
                    files[form].write(json.dumps(_record(form, run, topic, texts, docs, cited)) + "\n")
                for index, citations in enumerate(cited):
                    for doc in citations:
                        judged.write(
                            json.dumps(_judgement(run, topic, index, doc, rng.choice(LABELS))) + "\n"
                        )
    for file in files.values():
        file.close()
    (folder / "unfinished").rename(folder / "judged.jsonl")


def _record(
    form: str, run: int, topic: int, texts: list[str], docs: list[str], cited: list[list[str]]
) -> dict[str, Any]:
    metadata = {"team_id": "us", "run_id": f"run{run}"}
    if form == ANSWERS:
        places = [[docs.index(doc) for doc in citations] for citations in cited]
        parts = [
            {"text": text, "citations": citations} for text, citations in zip(texts, places, strict=True)
        ]
        return {"metadata": metadata | {"narrative_id": str(topic)}, "references": docs, "answer": parts}
    weighed = [{doc: 100 - index for index, doc in enumerate(citations)} for citations in cited]
    ways: list[Any] = list(weighed if form == "confidences" else cited)
    parts = [{"text": text, "citations": citations} for text, citations in zip(texts, ways, strict=True)]
    return {"metadata": metadata | {"topic_id": str(topic)}, "responses": parts, "references": docs}


def _judgement(run: int, topic: int, sentence: int, doc: str, label: str) -> dict[str, Any]:
    place = {"query_id": str(topic), "run_id": f"run{run}", "item_id": doc, "aspect": str(sentence)}
    return {**place, "label": label, "rubric": "citation-support", "judge": "m"}


if __name__ == "__main__":
    exit_with(main)
