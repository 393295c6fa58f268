"""Tables of answers are the same at every verb of Python in every form, and as on the command line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rageval
from commands import run_command
from rageval.pages.page import read_report
from rageval.table import as_json
from test_tables_of_answers import as_csv, rows

Rows = list[dict[str, Any]]


def spoiled(right: int, gap: object) -> Rows:
    """Return a table with a gap among the answers, and one among the right answers."""
    table = [{"id": f"q{number:02d}", **row} for number, row in enumerate(rows(right))]
    table[3]["answer"] = table[5]["gold"] = gap
    return table


TABLES = {"v1": 4, "v2": 22}
FORMS: dict[str, Callable[[Rows, Path], Any]] = {
    "path": lambda table, folder: written(table, folder),
    "text of a path": lambda table, folder: str(written(table, folder)),
    "dicts": lambda table, _: table,
    "pandas": lambda table, _: pytest.importorskip("pandas").DataFrame(table),
    "polars": lambda table, _: pytest.importorskip("polars").DataFrame(table),
    "arrow": lambda table, _: pytest.importorskip("pyarrow").Table.from_pylist(table),
}
GAPS = {"dicts": ("", None, math.nan), "pandas": ("", None, math.nan)}


def written(table: Rows, folder: Path) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.csv"
    path.write_text(
        as_csv([{name: "" if cell != cell else cell for name, cell in row.items()} for row in table])
    )
    return path


def judged_again(tables: Any, _: Path) -> Any:
    return [dict(row) for row in rageval.judge("crag", tables, "contains", questions=GOLD)]


GOLD = [
    {"query_id": row["id"], "question": row["question"], "answer": row["gold"]} for row in spoiled(0, "Oslo")
]
VERBS: dict[str, Callable[[Any, Path], Any]] = {
    "compare": lambda tables, _: rageval.compare("crag_score accuracy", tables, judge="short").as_dict(),
    "compare alone": lambda tables, _: rageval.compare(tables).as_dict(),
    "gate": lambda tables, _: rageval.gate(
        {"v2": tables["v2"]}, baseline={"v1": tables["v1"]}, margin=0.05, judge="short"
    ).as_dict(),
    "evaluate_answers": lambda tables, _: {
        run: scores["crag_score"].by_query
        for run, scores in rageval.evaluate_answers("crag_score", tables, judge="short").items()
    },
    "judge": judged_again,
    "report": lambda tables, folder: {
        name: part
        for name, part in read_report(rageval.report(tables, folder / "page.html")).items()
        if name in ("cells", "comparison", "remarks")
    },
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_form_of_a_table_has_the_same_json(verb: str, tmp_path: Path) -> None:
    outcomes: dict[str, list[str]] = {}
    for form, make in FORMS.items():
        for gap in GAPS.get(form, ("",)):
            folder = tmp_path / f"{form} {gap!r}"
            folder.mkdir()
            tables = {name: make(spoiled(right, gap), folder) for name, right in TABLES.items()}
            printed = as_json(VERBS[verb](tables, folder)).replace(str(folder), "")
            outcomes.setdefault(printed, []).append(f"{form} {gap!r}")
    assert len(outcomes) == 1, list(outcomes.values())


def test_python_says_what_the_command_line_prints(tmp_path: Path) -> None:
    paths = {}
    for name, right in TABLES.items():
        paths[name] = tmp_path / f"{name}.csv"
        paths[name].write_text(as_csv(spoiled(right, "")))
    printed = json.loads(
        run_command("compare", *paths.values(), "-m", "crag_score", "--format", "json").stdout
    )
    assert rageval.compare("crag_score", list(paths.values())).as_dict() == printed
