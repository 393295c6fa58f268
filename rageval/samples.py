"""The example files that rageval brings: as bytes, which `rageval demo` writes, and as DataFrames."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from rageval.table import frame

if TYPE_CHECKING:
    import pandas

_FILES = ("run.trec", "baseline.trec", "qrels.nugget", "v1.csv", "v2.csv")
_COLUMNS = {  # of the files whose lines do not name them
    ".trec": ("query_id", "iteration", "doc_id", "rank", "score", "run_id"),
    ".nugget": ("query_id", "nugget_id", "doc_id", "relevance"),
}


def sample_files() -> dict[str, bytes]:
    """Return the example files, by name."""
    folder = files("rageval").joinpath("demo")
    return {name: folder.joinpath(name).read_bytes() for name in _FILES}


def demo() -> dict[str, pandas.DataFrame]:
    """Return the example files as DataFrames of pandas.

    Returns
    -------
    dict
        `run` and `baseline`, two runs; `qrels`, nugget judgements of both; `v1` and `v2`, the answers of two
        versions of a system to 28 made-up questions, with gold answers.

    Examples
    --------
    >>> import rageval
    >>> data = rageval.demo()
    >>> round(rageval.evaluate("alpha_ndcg@5", data["run"], data["qrels"])["alpha_ndcg@5"].value, 4)
    0.8467
    """
    return {name.partition(".")[0]: _frame_of(name, content) for name, content in sample_files().items()}


def _frame_of(name: str, content: bytes) -> pandas.DataFrame:
    from csv import DictReader

    lines = content.decode("utf-8").splitlines()
    columns = next((columns for end, columns in _COLUMNS.items() if name.endswith(end)), None)
    if columns is None:
        return frame(DictReader(lines))
    table = frame(dict(zip(columns, line.split(), strict=True)) for line in lines)
    numbers = [column for column in ("rank", "score", "relevance") if column in table]
    return table.astype(dict.fromkeys(numbers, float))
