"""The column of the nugget is found under any of its names, and columns that are not read are named."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import rageval
from rageval.files.objects import NUGGET_COLUMNS

RUN = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
ROWS = [("q", "a", 1, "n1"), ("q", "b", 1, "n1"), ("q", "c", 1, "n2")]
RIGHT = rageval.evaluate(
    "alpha_ndcg@3", RUN, {"q": {"n1": {"a": 1, "b": 1}, "n2": {"c": 1}}}
)["alpha_ndcg@3"].value  # fmt: skip


def dicts(column: str, **more: Any) -> list[dict[str, Any]]:
    return [{"query_id": q, "doc_id": d, "relevance": g, column: n, **more} for q, d, g, n in ROWS]


def tuples(column: str) -> Any:
    kind = NamedTuple("Row", [("query_id", str), ("doc_id", str), ("relevance", int), (column, str)])  # type: ignore[misc]
    return [kind(*row) for row in ROWS]


def objects(column: str) -> Any:
    return [SimpleNamespace(**row) for row in dicts(column)]


def frame(column: str) -> Any:
    return pytest.importorskip("pandas").DataFrame(dicts(column))


def of_pyterrier(column: str) -> Any:
    return frame(column).rename(columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"})


def ir_datasets(column: str) -> Any:
    return SimpleNamespace(qrels_iter=lambda: iter(tuples(column)))


WAYS: dict[str, Callable[[str], Any]] = {
    "dicts": dicts,
    "tuples": tuples,
    "objects": objects,
    "frame": frame,
    "PyTerrier": of_pyterrier,
    "ir_datasets": ir_datasets,
}


@pytest.mark.some(4)
@pytest.mark.parametrize("way", WAYS)
def test_the_nugget_under_any_of_its_names(way: str) -> None:
    for column in NUGGET_COLUMNS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scores = rageval.evaluate("alpha_ndcg@3", RUN, WAYS[way](column))["alpha_ndcg@3"].value
        assert scores == RIGHT, column
        assert (
            rageval.Evaluator("alpha_ndcg@3", WAYS[way](column)).evaluate(RUN)["alpha_ndcg@3"].value == RIGHT
        )


def test_in_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for column in NUGGET_COLUMNS:
        frame(column).to_parquet(tmp_path / column)
        assert rageval.evaluate("alpha_ndcg@3", RUN, tmp_path / column)["alpha_ndcg@3"].value == RIGHT
    frame("nugget").assign(why="x").to_parquet(tmp_path / "more")
    with pytest.warns(UserWarning, match="more: ignored columns: why"):
        rageval.evaluate("alpha_ndcg@3", RUN, tmp_path / "more")


@pytest.mark.parametrize(
    "make", [dicts, lambda *a, **k: pytest.importorskip("pandas").DataFrame(dicts(*a, **k))]
)
def test_columns_that_are_not_read_are_named(make: Callable[..., Any]) -> None:
    with pytest.warns(UserWarning, match="ignored columns: why, text"):
        rageval.evaluate("ndcg", RUN, make("nugget_id", why="x", text="y"))


def test_an_unknown_name_is_named_where_nuggets_are_asked_for() -> None:
    message = r"names none \(ignored columns: facet\)|ignored columns"
    with pytest.warns(UserWarning, match=message) as caught:
        rageval.evaluate("alpha_ndcg@3", RUN, dicts("facet"))
    assert len(caught) == 2
    evaluator = rageval.Evaluator("alpha_ndcg@3", dicts("facet"))
    with pytest.raises(rageval.MeasureError, match="names none"):
        evaluator.refuse_without_nuggets()


def test_polars_frames() -> None:
    polars = pytest.importorskip("polars")
    for column in NUGGET_COLUMNS:
        given = polars.DataFrame(dicts(column))
        assert rageval.evaluate("alpha_ndcg@3", RUN, given)["alpha_ndcg@3"].value == RIGHT


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_a_column_without_anything_in_it_is_as_if_it_were_not_there(nothing: Any, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = [row | {"aspect": nothing} for row in dicts("unused")]
    plain = [{name: row[name] for name in ("query_id", "doc_id", "relevance")} for row in rows]
    expected = rageval.evaluate("ndcg", RUN, plain)["ndcg"].value
    pandas.DataFrame(rows).drop(columns="unused").to_parquet(tmp_path / "rows")
    for way in (rows, pandas.DataFrame(rows).drop(columns="unused"), tmp_path / "rows"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*unused")
            assert rageval.evaluate("ndcg", RUN, way)["ndcg"].value == expected
    # A gap among nuggets names none: the document is judged, and supports the nugget of plain judgements.
    gap = [row | {"aspect": None if row["doc_id"] == "c" else "n1"} for row in plain]
    assert {row.iteration for row in rageval.Qrels.from_records(gap)} == {"n1", "0"}
