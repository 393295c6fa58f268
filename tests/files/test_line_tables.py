"""Judgements and steps as tables: the lines come back as they went in, and other tools read them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from hypothesis import given
from hypothesis import strategies as some

from rageval.errors import InputError
from rageval.files.line_tables import JUDGEMENT_COLUMNS, STEP_COLUMNS, lines_of_table, write_line_table
from test_bad_input import command

DATA = Path(__file__).parents[2] / "examples/data"
pytestmark = pytest.mark.slow
_VALUES = some.recursive(
    some.none()
    | some.booleans()
    | some.integers(-(2**60), 2**60)
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=5,
)


def lines_back(path: Path) -> list[dict[str, Any]]:
    source: Any = lines_of_table(str(path))
    return [json.loads(line) for line in source.read().splitlines()]


@pytest.mark.parametrize("columns", [JUDGEMENT_COLUMNS, STEP_COLUMNS], ids=["judgements", "steps"])
@given(data=some.data())
def test_lines_come_back(columns: dict[str, str], data: some.DataObject, tmp_path_factory: Any) -> None:
    names = some.sampled_from([*columns, "usage", "mood"])
    records = data.draw(some.lists(some.dictionaries(names, _VALUES.filter(lambda value: value is not None))))
    path = tmp_path_factory.mktemp("tables") / "table.parquet"
    write_line_table(path, columns, map(json.dumps, records))
    assert lines_back(path) == records


def test_judgements_of_a_command_are_queried_and_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answers = DATA / "answers"
    words = ("judge", "crag-auto", answers / "crag.answers.jsonl", "--questions", answers / "crag.jsonl")
    words = (*words, "--judge", "contains", "-m", "crag_score", "-o")
    lines, table = command(*map(str, words), "judged.jsonl"), command(*map(str, words), "judged.parquet")
    assert (lines.code, lines.out) == (table.code, table.out) == (0, lines.out)
    assert lines_back(Path("judged.parquet")) == [
        json.loads(line) for line in Path("judged.jsonl").read_text().splitlines()
    ]
    polars = pytest.importorskip("polars")
    counts = polars.read_parquet("judged.parquet").group_by("run_id", "label").len().sort("run_id", "label")
    assert {row["run_id"] for row in counts.to_dicts()} == {"ours", "theirs"}
    assert sum(row["len"] for row in counts.to_dicts()) == len(lines_back(Path("judged.parquet")))


def test_steps_are_scored_from_a_table(tmp_path: Path) -> None:
    steps, qrels = DATA / "agents/steps.jsonl", str(DATA / "agents/qrels")
    path = tmp_path / "steps.parquet"
    write_line_table(path, STEP_COLUMNS, steps.read_text().splitlines())
    if not Path(qrels).exists():
        qrels = str(next((DATA / "agents").glob("qrels*")))
    words = (qrels, "-m", "seen_recall@5")
    assert command("score", str(path), *words).out == command("score", str(steps), *words).out != ""


def test_a_table_with_a_broken_rest_is_refused(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    for text in ("{", "[1]", "7"):
        parquet.write_table(
            pyarrow.table({"query_id": ["q"], "label": ["a"], "more": [text]}), tmp_path / "t"
        )
        with pytest.raises(InputError, match="a JSON object as text"):
            lines_of_table(str(tmp_path / "t"))


def test_the_queries_of_the_page_are_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from snippets import blocks

    monkeypatch.chdir(tmp_path)
    answers, agents = DATA / "answers", DATA / "agents"
    words = ("judge", "crag-auto", answers / "crag.answers.jsonl", "--questions", answers / "crag.jsonl")
    assert command(*map(str, words), "--judge", "contains", "-o", "judged.parquet").code == 0
    write_line_table(Path("steps.parquet"), STEP_COLUMNS, (agents / "steps.jsonl").read_text().splitlines())
    words = (agents / "steps.jsonl", agents / "qrels.nugget", "-m", "seen_recall@5", "--values")
    assert command("score", *map(str, words), "values.parquet").code == 0
    page = (DATA.parents[1] / "docs/files.md").read_text("utf-8")
    queries, programs = blocks("sql", page), blocks("py", page)
    assert (len(queries), len(programs)) == (2, 1)
    if importlib.util.find_spec("polars"):
        exec(programs[0], {})
    duckdb = pytest.importorskip("duckdb")
    counts, values = (duckdb.sql(query).fetchall() for query in queries)
    assert sum(count for *_, count in counts) == len(lines_back(Path("judged.parquet")))
    assert len(values) == len({record["run_id"] for record in lines_back(Path("steps.parquet"))})
    assert all(cost > 0 for _, _, cost in values)
