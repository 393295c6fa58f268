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
from rageval import sources
from rageval.errors import InputError
from rageval.files import keeping
from rageval.files.keeping import Kept
from rageval.sources import RunSource
from rageval.tables import spilling
from test_parallel import MEASURES, QRELS, lines, numbers

EVALUATOR = rageval.Evaluator(MEASURES, QRELS)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little counts as much."""
    monkeypatch.setattr(sources, "SHARE", 300)
    monkeypatch.setattr(spilling, "ROWS", 50)
    monkeypatch.setattr(keeping, "_IN_MEMORY", 100)


@pytest.fixture
def scattered(tmp_path: Path) -> Path:
    rows = lines(60)
    random.Random(5).shuffle(rows)
    (tmp_path / "run").write_text("".join(rows))
    return tmp_path / "run"


@pytest.mark.parametrize("ties", ["trec", "input", "rank"])
def test_on_disk_as_in_memory(scattered: Path, ties: str, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = rageval.Evaluator(MEASURES, QRELS, ties=ties)
    expected = numbers(evaluator.evaluate(rageval.read_run(scattered)))
    shares: list[int] = []
    monkeypatch.setattr(sources, "spilled", lambda b, n: shares.append(n) or spilling.spilled(b, n))
    assert numbers(evaluator.evaluate(scattered)) == expected
    assert shares[0] > 5


def test_nothing_is_left_behind(scattered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    EVALUATOR.evaluate(scattered)
    scattered.write_text(scattered.read_text() + "q1 Q0 d9 1 1\n")
    with pytest.raises(InputError, match="expected 6 columns"):
        EVALUATOR.evaluate(scattered)
    assert list(folder.iterdir()) == []


def test_what_is_wrong_is_said_with_its_line(scattered: Path) -> None:
    rows = scattered.read_text().splitlines()
    scattered.write_text("\n".join([*rows, rows[0]]) + "\n")
    with pytest.raises(InputError) as found:
        EVALUATOR.evaluate(scattered)
    with pytest.raises(InputError) as expected:
        EVALUATOR.evaluate(rageval.read_run(scattered))
    assert str(found.value) == str(expected.value)
    assert f"run:{len(rows) + 1}: document" in str(found.value)
    numbers(EVALUATOR.evaluate(RunSource("run", None, scattered, dedup="first")))


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


def test_readers_of_a_kept_stream_do_not_disturb_one_another() -> None:
    kept = Kept(io.BytesIO(bytes(range(200))), "numbers")
    one, other = kept.opened(), kept.opened()
    assert one.read(3) == bytes([0, 1, 2])
    assert other.read(2) == bytes([0, 1])
    assert other.read(9) == bytes([2])
    assert other.read(7) == one.read(7) == bytes(range(3, 10))
    assert one.read() == bytes(range(10, 200))
    assert other.read() == bytes(range(10, 200))


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


def test_memory_is_flat_over_a_long_stream(tmp_path: Path) -> None:
    peak = {}
    for queries in (200, 2000):
        (tmp_path / "qrels").write_text(
            "".join(f"q{q} 0 document-{q * 1000 + 3} 1\n" for q in range(queries))
        )
        words = [sys.executable, "-c", GENERATOR.format(queries=queries)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as generator:
            found = subprocess.run(
                [sys.executable, "-c", MEASURED],
                stdin=generator.stdout,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
            )
        assert "all\t0.4307" in found.stdout
        peak[queries] = int(found.stdout.split()[-1])
    assert peak[2000] < peak[200] + 80
