"""Streaming a large CRAG and a large corpus, beside a plain loop that unpacks and parses the same file.

    python benchmarks/datasets.py --lines 200000 --documents 120000

Needs `pip install -e '.[datasets]'`. Ends with 1 if an aim is missed: the time of the loop, and memory that
does not grow with the file.
"""

from __future__ import annotations

import argparse
import bz2
import json
import random
import subprocess
import sys
from pathlib import Path

import timing
from timing import Command, default_data_folder, exit_with, markdown, megabytes, seconds, verdict

AIM = 1.1
MOST_MEGABYTES = 300.0
PAGE = 1500  # characters of a page; real ones have a hundred times as many
OURS = (
    "import sys; from pathlib import Path; from rageval.datasets.{module} import {what}\n"
    "from rageval.files.opening import DEFAULT\n"
    "print(sum(1 for _ in {what}([Path(sys.argv[1])], DEFAULT)))"
)
LOOPS = {
    "crag": "import bz2, json, sys\nprint(sum(1 for line in bz2.open(sys.argv[1]) if json.loads(line)))",
    "freshstack": "import sys; from pyarrow import parquet\n"
    "print(sum(len(batch.to_pylist()) for batch in parquet.ParquetFile(sys.argv[1]).iter_batches()))",
}


def generate_crag(path: Path, lines: int) -> None:
    """CRAG's lines with five short pages each; words are drawn, so that they pack as text does."""
    rng = random.Random(11)
    words = [f"w{rng.randrange(10**6)}" for _ in range(5000)]
    pages = [" ".join(rng.choices(words, k=PAGE // 7)) for _ in range(997)]
    with bz2.open(path, "wt", encoding="utf-8", compresslevel=1) as out:
        for index in range(lines):
            results = [
                {
                    "page_name": f"p{page}",
                    "page_url": "https://example.org/",
                    "page_snippet": "",
                    "page_result": text,
                }
                for page, text in enumerate(rng.sample(pages, 5))
            ]
            line = {
                "interaction_id": f"00000000-0000-4000-8000-{index:012d}",
                "query_time": "03/10/2024, 23:19:21 PT",
                "domain": rng.choice(("finance", "music", "movie", "sports", "open")),
                "question_type": "simple",
                "static_or_dynamic": "static",
                "query": f"what is {index}?",
                "answer": str(index),
                "alt_ans": [],
                "split": index % 2,
                "search_results": results,
            }
            out.write(json.dumps(line) + "\n")


def generate_corpus(path: Path, documents: int) -> None:
    """A corpus of FreshStack's largest size, in one parquet file as the hub keeps it."""
    import pyarrow
    from pyarrow import parquet

    rng = random.Random(12)
    words = [f"w{rng.randrange(10**6)}" for _ in range(5000)]
    schema = pyarrow.schema(
        [("_id", pyarrow.string()), ("text", pyarrow.string()), ("title", pyarrow.string())]
    )
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, documents, 1000):
            rows = [
                {
                    "_id": f"repo/src/file{index}.py_0_{index}",
                    "text": " ".join(rng.choices(words, k=300)),
                    "title": "",
                }
                for index in range(start, min(start + 1000, documents))
            ]
            writer.write_table(pyarrow.Table.from_pylist(rows, schema))


def generate(crag: Path, lines: int, corpus: Path, documents: int) -> None:
    if not crag.exists():
        generate_crag(crag, lines)
    if not corpus.exists():
        generate_corpus(corpus, documents)


def compare(name: str, what: str, path: Path, rounds: int) -> tuple[str, ...]:
    """A row of the table: both times, their ratio, both peaks."""
    commands: dict[str, Command] = {
        "rageval": [sys.executable, "-c", OURS.format(module=name, what=what), str(path)],
        "loop": [sys.executable, "-c", LOOPS[name], str(path)],
    }
    timing.take_turns(commands, rounds=1)
    samples = timing.take_turns(commands, rounds)
    ours, loop = samples["rageval"], samples["loop"]
    if len({sample.output for sample in (*ours, *loop)}) > 1:
        raise SystemExit(f"{name}: the two count different things")
    ratio = timing.median_ratio(ours, loop, seconds)
    peak = timing.median(ours, megabytes)
    times = f"{timing.median(ours, seconds):.2f} / {timing.median(loop, seconds):.2f}"
    peaks = f"{peak:.0f} / {timing.median(loop, megabytes):.0f}"
    small = "met" if peak <= MOST_MEGABYTES else "over"
    return f"{name} {what}", times, f"{ratio:.2f}", verdict(ratio, AIM), peaks, small


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the streaming of data sets.")
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--documents", type=int, default=120_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=default_data_folder())
    parser.add_argument("--generate", action="store_true", help="only make the files")
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    crag = options.data / f"crag-{options.lines}.jsonl.bz2"
    corpus = options.data / f"corpus-{options.documents}.parquet"
    if options.generate:
        generate(crag, options.lines, corpus, options.documents)
        return 0
    if not crag.exists() or not corpus.exists():  # in a process of its own, so that this one stays small
        subprocess.run([sys.executable, *sys.argv, "--generate"], check=True)
    rows = [
        compare("crag", "questions", crag, options.rounds),
        compare("freshstack", "documents", corpus, options.rounds),
    ]
    header = ("what", "time, s, rageval / loop", "ratio", "aim", "peak, MB", f"{MOST_MEGABYTES:.0f} MB")
    print(markdown(header, rows))
    return int(any("over" in row[3] or row[5] == "over" for row in rows))


if __name__ == "__main__":
    exit_with(main)
