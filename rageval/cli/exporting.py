"""Values of queries to a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rageval.errors import UsageError
from rageval.scores import Scores
from rageval.text import visible


def checked_output(path: Path) -> Path:
    """The path, if its name says a format that can be written."""
    if path.suffix != ".parquet":
        raise UsageError(
            f"--output {visible(str(path))}: expected a name that ends in .parquet; other formats: --format"
        )
    return path


def write_scores(results: list[Scores], path: Path) -> None:
    """A row a run, measure and query, with the columns run, query_id, measure, value, signature."""
    from rageval.files.columnar import write_values

    write_values(path, _tables(results))


def _tables(results: list[Scores]) -> Iterator[dict[str, Sequence[Any]]]:
    for scores in results:
        for score in scores.scores:
            rows = len(score.numbers)
            yield {
                "run": [scores.run] * rows,
                "query_id": list(score.query_ids),
                "measure": [str(score.measure)] * rows,
                "value": list(map(float, score.numbers)),
                "signature": [score.signature] * rows,
            }
