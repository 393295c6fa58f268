"""The second column of judgements: a nugget, or a number that means something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rageval
from rageval.cli import main
from rageval.datasets.catalogue import all_datasets, benchmarks
from rageval.datasets.dataset import own
from rageval.errors import InputError

# Of two assessors or rounds, 1 and 2; no document stands under both.
ROUNDS = [
    ("q1", "1", "a", 1),
    ("q1", "2", "b", 1),
    ("q1", "2", "c", 0),
    ("q2", "1", "d", 2),
    ("q2", "2", "e", 1),
]
# Documents that support several nuggets, or nuggets that are no numbers.
NUGGETS = {
    "two nuggets of one document": [("q1", "1", "a", 1), ("q1", "2", "a", 0), ("q1", "2", "b", 1)],
    "names": [("q1", "n1", "a", 1), ("q1", "n2", "b", 1)],
}
RUN = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"x": 2.0, "e": 1.0}}


def qrels_file(folder: Path, rows: list[tuple[Any, ...]]) -> str:
    path = folder / "qrels"
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
    return str(path)


def run_file(folder: Path) -> str:
    path = folder / "run"
    path.write_text(
        "".join(
            f"{q} Q0 {d} {rank} {s} t\n"
            for q, docs in RUN.items()
            for rank, (d, s) in enumerate(docs.items(), 1)
        )
    )
    return str(path)


def rageval_says(folder: Path, rows: list[tuple[Any, ...]], *words: str) -> Result:
    return CliRunner().invoke(main, [run_file(folder), qrels_file(folder, rows), *words], prog_name="rageval")


def test_grades_that_differ_are_an_error_where_there_are_no_nuggets(tmp_path: Path) -> None:
    rows = NUGGETS["two nuggets of one document"]
    result = rageval_says(tmp_path, rows, "-m", "rr", "--nuggets-in-qrels", "no")
    assert result.exit_code == 2
    assert "document 'a' of query 'q1' has the grades 0 and 1" in result.stderr
    with pytest.raises(InputError, match="has the grades 0 and 1"):
        rageval.evaluate("rr", RUN, qrels_file(tmp_path, rows), nuggets_in_qrels=False)


def test_judgements_of_trec_rag_name_no_nuggets(tmp_path: Path) -> None:
    """NIST's qrels of 2024 hold 1 to 5 in column two."""
    path = Path(qrels_file(tmp_path, ROUNDS))
    judged = [(benchmark, spec) for benchmark, spec in all_datasets() if "qrels" in spec.holds]
    for benchmark, spec in judged:
        if benchmark.name == "trec-rag":
            rows = list(own(benchmark, spec, lambda _: [path]).qrels())
            assert [qrel.iteration for qrel in rows] == ["0"] * len(ROUNDS)
    assert [b.name for b in benchmarks() if not b.nuggets_in_qrels] == [
        "trec-dragun",
        "trec-rag",
        "trec-ragtime",
    ]
