"""Runs that are larger than memory may be: streams, and queries in any order."""

from __future__ import annotations

import gzip
import io
import random
import subprocess
import sys
from pathlib import Path

import pytest

import rageval
from rageval.errors import InputError
from rageval.files import opening
from rageval.files.trec import RUN, Text
from rageval.scoring import sources
from rageval.scoring.sources import RunSource
from test_parallel import MEASURES, QRELS, lines, numbers
from test_parts import parquet

EVALUATOR = rageval.Evaluator(MEASURES, QRELS)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little counts as much."""
    monkeypatch.setattr(sources, "_SHARE", 300)
    monkeypatch.setattr(opening, "_IN_MEMORY", 100)


@pytest.fixture
def scattered(tmp_path: Path) -> Path:
    rows = lines(60)
    random.Random(5).shuffle(rows)
    (tmp_path / "run").write_text("".join(rows))
    return tmp_path / "run"


def test_a_table_on_disk_as_in_memory(scattered: Path, tmp_path: Path) -> None:
    rows = scattered.read_text().splitlines()
    (tmp_path / "table").mkdir()
    table = parquet(tmp_path / "table/run", rows, 20)
    assert numbers(EVALUATOR.evaluate(table)) == numbers(EVALUATOR.evaluate(rageval.read_run(table)))
    parquet(table, [*rows, rows[3]], 20)
    with pytest.raises(InputError, match=rf"run:{len(rows) + 1}: document \S+ is ranked twice .* in line 4;"):
        EVALUATOR.evaluate(table)


LINES = [
    "q1 Q0 d1 1 3 t",
    "q2 Q0 d1 1 3 t",
    "",
    "q1 Q0 d2 2 2 t",
    " \t",
    "q2 Q0 d2 2 2 t",
    "  q1 Q0 d3 3 1 t",
]


@pytest.mark.parametrize("shares", [1, 7])
@pytest.mark.parametrize("tabbed", [False, True])
def test_lines_keep_their_content_and_their_numbers(tabbed: bool, shares: int) -> None:
    lines = [line.strip(" ").replace(" ", "\t").replace("d", "d ") if tabbed else line for line in LINES]
    texts = [Text("\n".join([*lines[:4], ""]).encode(), 1), Text("\n".join(lines[4:]).encode(), 5)]
    lines_read = list(RUN.together(texts, tabbed, shares))
    rows = {
        number: line
        for text in lines_read
        for number, line in zip(text.lines, text.content.split(b"\n"), strict=False)
    }
    assert rows == {number: line.encode() for number, line in enumerate(lines, 1) if line.strip()}
    queries = [line.split()[0] for text in lines_read for line in text.content.splitlines()]
    assert sorted(queries, key=queries.index) == queries


@pytest.mark.parametrize("wrong", ["q1 Q0 d9 1 1", "q1 Q0 d9 1 x t"])
def test_what_is_wrong_first_in_the_file_is_said_first(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "run"
    path.write_text(
        "".join(f"q{index % 3} Q0 d{index} 1 {index} t\n" for index in range(99))
        + f"{wrong}\nq2 Q0 d2 1 1 t\n"
    )
    with pytest.raises(InputError, match="run:100: expected"):
        EVALUATOR.evaluate(path)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("order", ["sorted", "scattered"])
def test_a_stream_is_read_once_and_kept(scattered: Path, order: str, packed: bool) -> None:
    if order == "sorted":
        scattered.write_text("".join(lines(60)))
    content = scattered.read_bytes()
    stream = io.BytesIO(gzip.compress(content) if packed else content)
    stream.name = "run"  # type: ignore[attr-defined]
    source = RunSource("run", path=stream)
    expected = numbers(EVALUATOR.evaluate(rageval.read_run(scattered)))
    assert numbers(EVALUATOR.evaluate(source)) == expected
    assert stream.read() == b""
    assert numbers(EVALUATOR.evaluate(source)) == expected
    assert list(source.run()) == list(rageval.read_run(scattered))


GENERATOR = """
import sys
for query in range({queries}):
    rows = [f"q{{query}} Q0 document-{{query * 1000 + at}} {{at}} {{1000 - at}} tag" for at in range(1000)]
    sys.stdout.write("\\n".join(rows) + "\\n")
"""
MEASURED = """
import resource, sys
from rageval.cli import main
try: main(["-", "qrels", "-m", "ndcg@10,ap"])
except SystemExit: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
def test_memory_is_flat_over_a_long_stream(tmp_path: Path) -> None:
    peak = {}
    for queries in (200, 2000):
        (tmp_path / "qrels").write_text(
            "".join(f"q{q} 0 document-{q * 1000 + 3} 1\n" for q in range(queries))
        )
        words = [sys.executable, "-c", GENERATOR.format(queries=queries)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as generator:
            process = subprocess.run(
                [sys.executable, "-c", MEASURED],
                stdin=generator.stdout,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
            )
        assert "all\t0.4307" in process.stdout
        peak[queries] = int(process.stdout.split()[-1])
    assert peak[2000] < peak[200] + 80
