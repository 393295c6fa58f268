"""The benchmark's data, drawn from fixed seeds: runs, judgements, and the same run as other people write it.

    python benchmarks/workloads.py S M files     # prints the folder of each; what is there is kept

Queries are drawn in blocks, each from its own seed, so memory stays small.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from timing import default_data_folder

FORMAT = 2  # raise it when the bytes written change
BLOCK = 250
SEED = 7


@dataclass(frozen=True)
class Workload:
    """How much to draw. Topics have 1 + Binomial(nuggets - 1, nugget_share) nuggets each."""

    queries: int
    depth: int
    nuggets: int
    judged: int  # documents judged for one nugget, on average
    nugget_share: float = 1.0
    runs: int = 1
    pool: int = 0  # documents that may be judged in a query; 0: half as many again as for one nugget

    @property
    def pooled(self) -> int:
        return self.pool or self.judged * 3 // 2


WORKLOADS = {
    "S": Workload(672, depth=100, nuggets=12, judged=20, nugget_share=0.2),
    "M": Workload(1000, depth=1000, nuggets=10, judged=100),
    "L": Workload(10_000, depth=1000, nuggets=20, judged=25),
    "R": Workload(300, depth=100, nuggets=20, judged=40, runs=75),
    "D": Workload(1000, depth=1000, nuggets=10, judged=100, pool=1536),  # 1,000 judged documents a query
}


@dataclass(frozen=True)
class Files:
    """Where a workload lies."""

    folder: Path

    @property
    def nugget_qrels(self) -> Path:
        return self.folder / "nugget.qrels"

    @property
    def plain_qrels(self) -> Path:
        return self.folder / "plain.qrels"

    def run(self, number: int = 0) -> Path:
        return self.folder / f"run{number:02d}.trec"


def draw(workload: Workload, files: Files) -> None:
    """Write a workload's files."""
    import rows  # numpy, which only drawing needs
    from collection import draw_topics, rank_documents

    with ExitStack() as stack:
        nugget_qrels = stack.enter_context(files.nugget_qrels.open("wb"))
        plain_qrels = stack.enter_context(files.plain_qrels.open("wb"))
        runs = [stack.enter_context(files.run(number).open("wb")) for number in range(workload.runs)]
        for first in range(0, workload.queries, BLOCK):
            topics = draw_topics(workload, first, min(BLOCK, workload.queries - first))
            nugget_qrels.write(rows.nugget_qrels(topics))
            plain_qrels.write(rows.plain_qrels(topics))
            for number, run in enumerate(runs):
                run.write(rows.run(topics, rank_documents(topics, workload.depth, number), number))


Fields = list[str]
# A line of a run as people write it; all keep order and ties of the scores as they are.
LINES: dict[str, Callable[[Fields], str]] = {
    "17 digits": lambda row: " ".join([*row[:4], repr(float(row[4]) / 7), row[5]]) + "\n",
    "exponents": lambda row: " ".join([*row[:4], f"{float(row[4]):.7e}", row[5]]) + "\n",
    "padded": lambda row: f"{row[0]:<12} Q0 {row[2]:<36} {row[3]:>6} {row[4]:>12} {row[5]}\n",
    "tabs": lambda row: "\t".join(row) + "\n",
    "CRLF": lambda row: " ".join(row) + "\r\n",
    "UTF-8": lambda row: " ".join([*row[:2], utf8(row[2]), *row[3:]]) + "\n",
    "unsorted": lambda row: " ".join(row) + "\n",
    "apart": lambda row: " ".join(row) + "\n",
}


def utf8(document: str) -> str:
    return document.replace("clueweb", "клюweb")


def rewrite(name: str, source: Files, files: Files) -> None:
    """Write a run, and its judgements, in another of the ways in which people do."""
    rng = random.Random(SEED)
    rows = (line.split() for line in source.run().read_text().splitlines())
    queries = [list(ranked) for _, ranked in groupby(rows, key=lambda row: row[0])]
    if name == "unsorted":
        for ranked in queries:
            rng.shuffle(ranked)
    if name == "apart":  # as they stand where runs of several machines were sorted by rank
        queries = [list(ranks) for ranks in zip(*queries, strict=True)]
    with files.run().open("w", encoding="utf-8", newline="") as run:
        run.writelines(LINES[name](row) for ranked in queries for row in ranked)
    if name == "UTF-8":
        files.nugget_qrels.write_text(utf8(source.nugget_qrels.read_text()), encoding="utf-8")
    else:
        files.nugget_qrels.symlink_to(source.nugget_qrels)


def judgements(answers: int, nuggets: int, wrong: float = 0.0) -> Iterator[str]:
    """Yield lines as `rageval judge` writes them, of 20 systems; a share of the labels may be `wrong`."""
    rng, errors = random.Random(SEED), random.Random(SEED + 1)
    labels = ("support", "partial_support", "not_support")
    for answer in range(answers):
        query, system = divmod(answer, 20)
        for nugget in range(nuggets):
            label = rng.choice(labels)
            row = {
                "aspect": f"n{nugget}",
                "importance": "vital" if 2 * nugget < nuggets else "okay",
                "item_id": "answer",
                "judge": "openai:some-model@3f2a9c",
                "label": errors.choice(labels) if errors.random() < wrong else label,
                "latency": round(rng.random(), 3),
                "query_id": f"2024-{query}",
                "rubric": "nugget-assignment/1",
                "run_id": f"system-{system}",
                "status": "ok",
                "usage": {"input_tokens": 812, "output_tokens": 14},
            }
            yield json.dumps(row) + "\n"


def write_judgements(folder: Path) -> None:
    """Write a million judgements of answers, as they come and shuffled, and 100,000 of two judges."""
    lines = list(judgements(50_000, nuggets=20))
    (folder / "together.jsonl").write_text("".join(lines))
    random.Random(SEED).shuffle(lines)
    (folder / "scattered.jsonl").write_text("".join(lines))
    (folder / "gold.jsonl").write_text("".join(judgements(5_000, nuggets=20)))
    (folder / "judge.jsonl").write_text("".join(judgements(5_000, nuggets=20, wrong=0.2)))


def write_log(folder: Path) -> None:
    """Write 20,000 records of an evaluation by ragas, each with five of 5,000 passages."""
    rng = random.Random(SEED)
    words = [f"word{number}" for number in range(3000)]
    passages = [" ".join(rng.choices(words, k=60)) for _ in range(5000)]
    with (folder / "log.jsonl").open("w") as log:
        for number in range(20_000):
            record = {
                "user_input": f"Question {number}: {' '.join(rng.choices(words, k=12))}?",
                "response": " ".join(rng.choices(words, k=60)),
                "reference": " ".join(rng.choices(words, k=10)),
                "retrieved_contexts": rng.sample(passages, 5),
                "faithfulness": round(rng.random(), 3),
                "answer_relevancy": round(rng.random(), 3),
            }
            log.write(json.dumps(record) + "\n")


def ensure(name: str, data: Path) -> Path:
    """Return the folder of a workload, made unless the same one is there already."""
    if name == "files":
        source = Files(ensure("M", data))
        for form in LINES:
            once(data / form, lambda folder, form=form: rewrite(form, source, Files(folder)), form)
        return data
    if name == "answers":
        return once(data / name, write_judgements, name)
    if name == "log":
        return once(data / name, write_log, name)
    workload = WORKLOADS[name]
    return once(data / name, lambda folder: draw(workload, Files(folder)), asdict(workload))


def once(folder: Path, make: Callable[[Path], None], what: object) -> Path:
    """Let a folder be made, unless its stamp says that it is what is wanted."""
    stamp, text = folder / "workload.json", json.dumps({"format": FORMAT, "what": what})
    if not stamp.exists() or stamp.read_text() != text:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        stamp.write_text(text)  # last: an interrupted folder has no stamp and is made again
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description="Generate the benchmark's workloads.")
    parser.add_argument("names", nargs="+", choices=[*WORKLOADS, "files", "answers", "log"], metavar="NAME")
    parser.add_argument("--data", type=Path, default=default_data_folder(), help="folder to write to")
    options = parser.parse_args()
    for name in options.names:
        print(ensure(name, options.data))


if __name__ == "__main__":
    main()
