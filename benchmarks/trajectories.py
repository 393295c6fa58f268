"""How long a file of steps takes, as a multiple of `json.loads` on its lines, and what is kept of it.

    python benchmarks/trajectories.py [STEPS]

Time is that of the processor, so that other programs count little; each number is the least of three rounds.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import process_time

import rageval
from rageval.files.steps import read_steps
from rageval.trajectories import read_trajectories

STEPS_OF_QUERY, FOUND, JUDGED = 20, 10, 5
MEASURES = "seen_recall@5, seen_recall, searches, cost"


def write(folder: Path, steps: int) -> None:
    """Write trajectories of 20 steps, of which every second one is a search that returns 10 documents."""
    rng = random.Random(54)
    with (folder / "steps.jsonl").open("w") as lines, (folder / "qrels").open("w") as qrels:
        for query in range(steps // STEPS_OF_QUERY):
            qrels.writelines(f"q{query} 0 doc{doc} 1\n" for doc in rng.sample(range(1000), JUDGED))
            for number in range(STEPS_OF_QUERY):
                step = {"query_id": f"q{query}", "run_id": "agent", "step": number}
                if number % 2:
                    docs = [f"doc{doc}" for doc in rng.sample(range(1000), FOUND)]
                    step |= {"kind": "search", "tool": "bm25", "query": f"what about {number}", "docs": docs}
                else:
                    step |= {"kind": "model", "input_tokens": rng.randint(100, 900), "output_tokens": 40}
                    step |= {"cost": 0.0021, "seconds": 1.4}
                lines.write(json.dumps(step) + "\n")


def least(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the least processor time of some rounds."""
    times = []
    for _ in range(rounds):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def kept(work: Callable[[], object]) -> int:
    """Return the bytes that a result takes, and those that were needed beside it while it was made."""
    tracemalloc.start()
    result = work()
    size, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    print(f"kept {size / 2**20:.0f} MiB, at most {peak / 2**20:.0f} MiB")
    return size


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, steps)
        path, qrels = folder / "steps.jsonl", folder / "qrels"
        size = path.stat().st_size

        def loads() -> None:
            with path.open() as lines:
                for line in lines:
                    json.loads(line)

        plain = least(loads)
        reading = least(lambda: read_steps(path))
        scoring = least(lambda: rageval.evaluate(MEASURES, read_trajectories(path)["agent"], qrels))
        print(f"{steps:,} steps, {size / 2**20:.0f} MiB: json.loads {plain:.1f} s of the processor")
        print(f"read_steps {reading / plain:.2f} times that, with scores of {MEASURES} {scoring / plain:.2f}")
        write(folder, steps // 10)  # memory is traced slowly
        print(f"{steps // 10:,} steps, {path.stat().st_size / 2**20:.0f} MiB: ", end="")
        kept(lambda: read_steps(path))


if __name__ == "__main__":
    main()
