"""What the store of replies costs beside a bare SQLite loop that writes and reads the same rows.

    python benchmarks/store.py
    python benchmarks/store.py --filled 1000000    what a store of so many replies takes

The bare loop keeps a key and two texts, one transaction each, in the same journal mode. What the store does
besides: claims, checksums, JSON, and striking out secrets. Ends with 1 if an aim is missed.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from rageval.judges.base import Reply, Request, Usage
from rageval.judges.store import Store, as_json, connect, reply_as_record, request_as_record
from timing import MEGABYTE, PEAK_UNIT, markdown, verdict

SYSTEM = "Judge whether the text between the fences supports the claim. " * 10
SCHEMA = {"type": "object", "properties": {"label": {"type": "string", "enum": ["support", "none"]}}}
REPLY = Reply("ok", '{"label": "none"}', "", Usage(100, 20), "served", "req_1", 0.05, {"mode": "json_schema"})
AT_ONCE = 32  # replies a transaction, as the scheduler writes them when many come together
AIMS = {"write": 4.0, "write together": 4.0, "read": 6.0}
Work = Callable[[], object]


def asked(count: int, first: int = 0) -> list[tuple[str, Request]]:
    requests = [
        Request(SYSTEM, f"Text {index}. " + "It was a bright cold day. " * 20, SCHEMA)
        for index in range(first, first + count)
    ]
    return [(request.key("m", "https://e"), request) for request in requests]


def ours(folder: Path, rows: list[tuple[str, Request]]) -> Iterator[tuple[str, Work]]:
    with Store(folder / "ours.sqlite") as store, Store(folder / "together.sqlite") as together:

        def keep(store: Store, some: list[tuple[str, Request]]) -> None:
            for key, request in some:
                store.claim(key)
                store.put(key, request, REPLY, "m", "https://e")

        def keep_together() -> None:
            for index in range(0, len(rows), AT_ONCE):
                with together.together():
                    keep(together, rows[index : index + AT_ONCE])

        yield "write", lambda: keep(store, rows)
        yield "write together", keep_together
        yield "read", lambda: [store.get(key) for key, _ in rows]


def bare(folder: Path, rows: list[tuple[str, Request]]) -> Iterator[tuple[str, Work]]:
    texts = [(key, as_json(request_as_record(asked)), as_json(reply_as_record(REPLY))) for key, asked in rows]
    with (
        closing(connect(str(folder / "bare.sqlite"))) as one,
        closing(connect(str(folder / "more.sqlite"))) as more,
    ):
        for connection in (one, more):
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("CREATE TABLE replies (key TEXT PRIMARY KEY, request TEXT, reply TEXT)")

        def insert(connection: sqlite3.Connection, at_once: int) -> None:
            for index in range(0, len(texts), at_once):
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT INTO replies VALUES (?, ?, ?)", texts[index : index + at_once])
                connection.execute("COMMIT")

        query = "SELECT reply FROM replies WHERE key = ?"
        yield "write", lambda: insert(one, 1)
        yield "write together", lambda: insert(more, AT_ONCE)
        yield "read", lambda: [one.execute(query, (key,)).fetchone() for key, _ in rows]


def times(
    make: Callable[..., Iterator[tuple[str, Work]]], rows: list[tuple[str, Request]]
) -> dict[str, float]:
    taken = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, work in make(Path(folder), rows):
            start = time.perf_counter()
            work()
            taken[name] = time.perf_counter() - start
    return taken


def filled(count: int) -> None:
    """Fill a store, and print the seconds and the memory of what is done with all of it."""
    table = []
    with tempfile.TemporaryDirectory() as folder:
        path, other = Path(folder) / "filled.sqlite", Path(folder) / "merged.sqlite"

        def fill() -> None:
            with Store(path) as store:
                for start in range(0, count, AT_ONCE):
                    with store.together():
                        for key, request in asked(min(AT_ONCE, count - start), start):
                            store.put(key, request, REPLY, "m", "https://e")

        def resume() -> None:
            with Store(path) as store:
                for start in range(0, count, AT_ONCE):
                    for key, _ in asked(min(AT_ONCE, count - start), start):
                        assert store.get(key) is not None

        def stats() -> None:
            with Store(path, read_only=True) as store:
                assert store.stats()["replies"] == count

        def merge() -> None:
            with Store(other) as store:
                assert store.merge(path).added == count

        for work in (fill, resume, stats, merge):
            start, processor = time.perf_counter(), time.process_time()
            work()
            seconds, processor = time.perf_counter() - start, time.process_time() - processor
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE * PEAK_UNIT
            row = (
                work.__name__,
                f"{seconds:,.0f}",
                f"{processor:,.0f}",
                f"{count / processor:,.0f}",
                f"{peak:,.0f}",
            )
            table.append(row)
            print(*row, flush=True)
        print(f"{path.stat().st_size / MEGABYTE:,.0f} MB on disk")
    print(markdown(("", "seconds", "processor", "rows/s of it", "peak, MB"), table))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the store beside a bare SQLite loop.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--filled", type=int)
    options = parser.parse_args()
    if options.filled:
        filled(options.filled)
        return 0
    rows = asked(options.rows)
    rounds = [(times(ours, rows), times(bare, rows)) for _ in range(options.rounds)]
    table = []
    for name, aim in AIMS.items():
        ratio = statistics.median(mine[name] / plain[name] for mine, plain in rounds)
        speeds = [
            options.rows / statistics.median(taken[column][name] for taken in rounds) for column in (0, 1)
        ]
        table.append((name, *(f"{speed:,.0f}" for speed in speeds), f"{ratio:.1f}", verdict(ratio, aim)))
    print(markdown(("", "store, rows/s", "SQLite, rows/s", "time ratio", "aim"), table))
    return int(any("over" in row[-1] for row in table))


if __name__ == "__main__":
    sys.exit(main())
