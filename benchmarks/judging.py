"""Judging at scale, with an engine that waits instead of computing: Ray beside its bare pipeline, and files.

    python benchmarks/judging.py [--requests 100000] [--milliseconds 2] [--kill] [--only ray|files]

Two Ray nodes on this machine have one worker each, whose engine takes so many milliseconds a request. The
bare pipeline reads the same requests from Parquet and writes JSON lines. Memory is the driver's at its peak:
run it with fewer requests to see what of it grows. `--kill` also kills a worker, then a driver, and loses a
file of replies: it counts what was lost, and what was computed twice. Needs the extras ray, judges, parquet.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from timing import markdown

MILLISECONDS, LOG, PIDS = "BENCHMARK_MILLISECONDS", "BENCHMARK_LOG", "BENCHMARK_PIDS"
BATCH = 64
RUNS = 10
# Runs a program in this process, and writes its peak of memory.
MEASURED = """
import resource, sys
place, *sys.argv = sys.argv[1:]
try:
    if sys.argv[0] == "bare":
        import judging
        judging.bare(sys.argv[1], sys.argv[2])
    else:
        from rageval.__main__ import main
        main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    open(place, "w").write(f"{used.ru_maxrss / 1024} {used.ru_utime + used.ru_stime}")
"""


class Engine:
    """Takes its time, and says the last label."""

    batch_size = BATCH

    def __init__(self, model: str = "") -> None:
        self._seconds = float(os.environ[MILLISECONDS]) / 1000
        Path(os.environ[PIDS], str(os.getpid())).touch()

    def generate(self, batch: Sequence[Mapping[str, Any]]) -> list[str]:
        time.sleep(self._seconds * len(batch))
        with Path(os.environ[LOG]).open("a") as file:
            file.write(f"{len(batch)}\n")
        return [reply(request) for request in batch]


def reply(request: Mapping[str, Any]) -> str:
    labels = request["response_format"]["json_schema"]["schema"]["properties"]["label"]["enum"]
    return json.dumps({"evidence": "", "reason": "It reads like that. " * 5, "label": labels[-1]})


class BareEngine(Engine):
    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        requests = [json.loads(parameters) for parameters in batch["parameters"]]
        return {"key": batch["key"], "text": self.generate(requests)}


def bare(requests: str, replies: str) -> None:
    """The pipeline that people write: requests of a file through a pool, replies to a file."""
    import ray.data

    ray.init(logging_level="ERROR", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    pool = ray.data.ActorPoolStrategy(min_size=1, max_size=2)
    answered = ray.data.read_parquet(requests).map_batches(
        BareEngine, batch_size=BATCH, compute=pool, num_cpus=1
    )
    with Path(replies).open("w") as file:
        for batch in answered.iter_batches(batch_size=None, batch_format="pyarrow"):
            file.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())


def write_material(folder: Path, count: int) -> None:
    draws = random.Random(1)
    words = [f"word{number}" for number in range(2000)]
    with (folder / "questions.jsonl").open("w") as file:
        for query in range(count // RUNS):
            question = {"query_id": f"q{query}", "question": " ".join(draws.choices(words, k=12))}
            file.write(json.dumps(question | {"answer": f"gold {query}"}) + "\n")
    with (folder / "answers.jsonl").open("w") as file:
        for query in range(count // RUNS):
            for run in range(RUNS):
                answer = " ".join(draws.choices(words, k=80)) + f" {query} {run}"
                file.write(
                    json.dumps({"query_id": f"q{query}", "run_id": f"r{run}", "answer": answer}) + "\n"
                )


class Bench:
    """Runs programs in a folder with material, on a cluster."""

    def __init__(self, folder: Path, count: int, environment: Mapping[str, str]) -> None:
        self.folder, self.count, self.environment = folder, count, environment
        self.rows: list[tuple[str, ...]] = []
        write_material(folder, count)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", MEASURED, "used", *words]
        return subprocess.Popen(command, cwd=self.folder, env=dict(self.environment))

    def run(self, name: str, *words: str) -> float:
        """Run to the end; the seconds."""
        Path(self.environment[LOG]).write_text("")
        start = time.perf_counter()
        code = self.start(*words).wait()
        seconds = time.perf_counter() - start
        memory, processor = map(float, (self.folder / "used").read_text().split())
        speed = self.count / seconds
        self.rows.append((name, f"{seconds:,.0f}", f"{processor:,.0f}", f"{speed:,.0f}", f"{memory:,.0f}"))
        print(*self.rows[-1], f"exit {code}", sep=" | ", flush=True)
        return seconds

    def judge(self, store: str, *more: str) -> tuple[str, ...]:
        words = ("rageval", "judge", "crag", "answers.jsonl", "--questions", "questions.jsonl", "--quiet")
        return (*words, "--judge", "vllm:m", "--canaries", "0", "--store", store, *more)

    def through_ray(self, store: str) -> tuple[str, ...]:
        engine = ("--engine", "ray", "--engine-class", "judging:Engine")
        return self.judge(store, *engine, "-o", "judged.jsonl")

    def computed(self) -> int:
        return sum(map(int, Path(self.environment[LOG]).read_text().split()))

    def stored(self, store: str) -> int:
        path = self.folder / store
        if not path.exists():
            return 0
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(path)) as connection:
            return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])
        return 0


def answer_file(folder: Path, requests: str, replies: str) -> float:
    start = time.perf_counter()
    with (folder / requests).open() as lines, (folder / replies).open("w") as file:
        for line in lines:
            request = json.loads(line)
            choice = {"finish_reason": "stop", "message": {"content": reply(request["body"])}}
            body = {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}
            response = {"status_code": 200, "request_id": "r", "body": body}
            result = {"id": "v", "custom_id": request["custom_id"], "response": response, "error": None}
            file.write(json.dumps(result) + "\n")
    return time.perf_counter() - start


def by_files(bench: Bench) -> None:
    out = ("--requests-out", "out.jsonl")
    bench.run("requests out, JSON lines", *bench.judge("files.sqlite", *out))
    answer_file(bench.folder, "out.jsonl", "in.jsonl")
    bench.run(
        "replies in, JSON lines",
        *bench.judge("files.sqlite", "--replies-in", "in.jsonl", "-o", "judged.jsonl"),
    )
    bench.run("the same again: all is stored", *bench.judge("files.sqlite", *out))
    bench.run("requests out, Parquet", *bench.judge("none.sqlite", "--requests-out", "out.parquet"))


def by_ray(bench: Bench) -> None:
    plain = bench.run(
        "bare pipeline of Ray Data",
        "bare",
        str(bench.folder / "out.parquet"),
        str(bench.folder / "bare.jsonl"),
    )
    ours = bench.run("--engine ray", *bench.through_ray("ray.sqlite"))
    repeat = bench.run("the same again: all is stored", *bench.through_ray("ray.sqlite"))
    print(
        f"beside the bare pipeline --engine ray takes {ours / plain - 1:+.0%} time, and"
        f" {(ours - repeat) / plain - 1:+.0%} without reading what is stored"
    )


def with_kills(bench: Bench) -> None:
    total, pids = bench.count, Path(bench.environment[PIDS])

    def wait_for(store: str, share: float) -> None:
        while bench.stored(store) < share * total:
            time.sleep(0.2)

    for path in pids.iterdir():
        path.unlink()
    Path(bench.environment[LOG]).write_text("")
    process = bench.start(*bench.through_ray("worker.sqlite"))
    wait_for("worker.sqlite", 0.3)
    os.kill(int(next(pids.iterdir()).name), signal.SIGKILL)
    code = process.wait()
    print(
        f"a worker killed: exit {code}, stored {bench.stored('worker.sqlite'):,} of {total:,}, computed twice"
        f" {bench.computed() - total:,}",
        flush=True,
    )
    Path(bench.environment[LOG]).write_text("")
    process = bench.start(*bench.through_ray("driver.sqlite"))
    wait_for("driver.sqlite", 0.4)
    process.kill()
    process.wait()
    before = bench.stored("driver.sqlite")
    time.sleep(5)
    code = bench.start(*bench.through_ray("driver.sqlite")).wait()
    print(
        f"the driver killed at {before:,} stored: then exit {code}, stored {bench.stored('driver.sqlite'):,},"
        f" computed twice {bench.computed() - total:,}",
        flush=True,
    )
    whole = (bench.folder / "in.jsonl").read_text().splitlines(keepends=True)
    (bench.folder / "part.jsonl").write_text("".join(whole[: total // 2]) + whole[total // 2][:100])
    code = bench.start(
        *bench.judge("lost.sqlite", "--replies-in", "part.jsonl", "--requests-out", "rest.jsonl")
    ).wait()
    rest = len((bench.folder / "rest.jsonl").read_text().splitlines())
    print(f"half of the file of replies lost: stored {bench.stored('lost.sqlite'):,}, to ask again {rest:,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--milliseconds", type=float, default=2.0)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--only", choices=("ray", "files"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pids").mkdir()
        own = {
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])]),
            "RAY_USAGE_STATS_ENABLED": "0",
            "OPENAI_API_KEY": "none",
            MILLISECONDS: str(options.milliseconds),
            LOG: str(folder / "log"),
            PIDS: str(folder / "pids"),
        }
        os.environ.update(own)
        bench = Bench(folder, options.requests, os.environ)
        by_files(bench)
        if options.only != "files":
            from ray.cluster_utils import Cluster

            memory = {"object_store_memory": 10**9}
            nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **memory})
            for _ in range(2):
                nodes.add_node(num_cpus=1, **memory)
            os.environ["RAY_ADDRESS"] = nodes.address
            by_ray(bench)
            if options.kill:
                with_kills(bench)
            nodes.shutdown()
        print(markdown(("", "seconds", "of the driver's processor", "requests/s", "MB"), bench.rows))


if __name__ == "__main__":
    main()
