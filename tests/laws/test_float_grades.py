"""Grades that are no whole numbers: every reader takes them, measures of gains use them, others refuse."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval
from our_measures import OF_RUNS
from rageval.cli import main

GRADES: dict[str, dict[str, float]] = {"q": {"a": 0.73, "b": 0, "c": 1.5}, "r": {"x": 0.25}}
RUN = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"y": 2.0, "x": 1.0}}
GAINS = ("ndcg", "d_ndcg")


def rows() -> list[dict[str, Any]]:
    return [
        {"query_id": query, "doc_id": doc, "relevance": grade}
        for query, docs in GRADES.items()
        for doc, grade in docs.items()
    ]


def trec(folder: Path) -> str:
    path = folder / "qrels"
    path.write_text("".join(f"{row['query_id']} 0 {row['doc_id']} {row['relevance']}\n" for row in rows()))
    return str(path)


def scattered(folder: Path) -> str:
    path = folder / "qrels"
    kept = [f"{row['query_id']} 0 {row['doc_id']} {row['relevance']}\n" for row in rows()]
    path.write_text("".join([*kept[1:], kept[0]]))
    return str(path)


def beir(folder: Path) -> str:
    path = folder / "qrels.tsv"
    lines = [f"{row['query_id']}\t{row['doc_id']}\t{row['relevance']}\n" for row in rows()]
    path.write_text("".join(["query-id\tcorpus-id\tscore\n", *lines]))
    return str(path)


def parquet(folder: Path) -> str:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = folder / "qrels.parquet"
    pandas.DataFrame(rows()).to_parquet(path)
    return str(path)


def as_json(folder: Path) -> str:
    path = folder / "qrels.json"
    path.write_text(json.dumps(GRADES))
    return str(path)


def frame(_: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(rows())


WAYS: dict[str, Any] = {
    **{"TREC": trec, "TREC, scattered": scattered, "BEIR": beir, "Parquet": parquet, "JSON": as_json},
    **{"frame": frame, "dict": lambda _: GRADES, "records": lambda _: rows()},
}


def gain(grades: list[float]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


@pytest.mark.parametrize("way", WAYS)
def test_gains_are_the_grades_whatever_brings_them(way: str, tmp_path: Path) -> None:
    given = WAYS[way](tmp_path)
    scores = rageval.evaluate("ndcg", RUN, given)["ndcg"].by_query
    expected = {"q": gain([0.73, 0, 1.5]) / gain([1.5, 0.73]), "r": 1 / math.log2(3)}
    assert scores == pytest.approx(expected, abs=1e-15)
    assert rageval.evaluate("ap", RUN, given)["ap"].by_query == {"q": pytest.approx(1 / 3), "r": 0.0}


def test_every_measure_uses_them_or_says_what_it_needs() -> None:
    low = {query: {"n": {doc: grade / 2 for doc, grade in docs.items()}} for query, docs in GRADES.items()}
    for name, measure in OF_RUNS.items():
        if measure.argument == "Covering":
            continue
        if measure.rel is not None:
            with pytest.raises(
                rageval.MeasureError, match=r"graded 1 or more, but the highest grade .* 0.75"
            ):
                rageval.evaluate(measure, RUN, low)
        else:
            value = rageval.evaluate(measure, RUN, low)[name].value
            assert value > 0 or name not in GAINS, name
    for name in ("NumQ", "nDCG(gains={1:3})@3"):
        with pytest.raises(rageval.MeasureError, match="whole grades"):
            rageval.evaluate(name, RUN, low)


def test_the_command_says_it_with_exit_code_2(tmp_path: Path) -> None:
    lines = [f"{q} Q0 {d} 1 {s} t\n" for q, docs in RUN.items() for d, s in docs.items()]
    (tmp_path / "run").write_text("".join(lines))
    words = [str(tmp_path / "run"), trec(tmp_path)]
    assert CliRunner().invoke(main, [*words, "-m", "ndcg"]).exit_code == 0
    assert CliRunner().invoke(main, [*words, "-m", "ap(rel=2)"]).exit_code == 2


@pytest.mark.parametrize("grade", ["nan", "inf", "-inf", "1e9", "0x1", "1_0", "", "½"])
def test_what_is_no_finite_number_is_refused_with_its_line(grade: str, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(f"q\t0\ta\t0.5\nq\t0\tb\t{grade}\n", encoding="utf-8")
    with pytest.raises(rageval.InputError, match=r"qrels:2: "):
        rageval.read_qrels(tmp_path / "qrels")


@pytest.mark.parametrize("grade", [None, math.nan, math.inf, "1"])
def test_what_is_no_number_in_a_frame_is_refused_with_its_row(grade: Any) -> None:
    pandas = pytest.importorskip("pandas")
    given = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, grade]}
    with pytest.raises(rageval.InputError, match=r"qrels:2: expected a finite number as relevance"):
        rageval.evaluate("ndcg", RUN, pandas.DataFrame(given))


def test_whole_numbers_stay_whole() -> None:
    read = rageval.Qrels.from_dict({"q": {"a": 1.0, "b": 2}})
    assert [type(row.relevance) for row in read] == [int, int]
    assert not read.fractional
