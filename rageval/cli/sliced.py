"""Scores by slices as text: a row a slice, with how many queries it rests on and how sure it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from rageval.cli.grids import csv_line, latex_lines, md_lines, table_lines
from rageval.cli.output import Layout, record_of
from rageval.comparison.slices import FEW, Slice, slices
from rageval.scores import Score, Scores
from rageval.text import visible

Groups = Mapping[str, Mapping[str, str]]  # field -> query -> value
_LABELS, _N = 3, 6  # columns of text; the column of how many queries there are


def lines(results: list[Scores], groups: Groups, layout: Layout, style: str) -> Iterator[str]:
    """The slices of every run and measure in this format."""
    if style in ("json", "jsonl"):
        yield from _json(results, groups, layout, style)
        return
    grid = list(_grid(results, groups, layout))
    if style == "csv":
        yield from (csv_line(row[:_LABELS], row[_LABELS:]) for row in grid)
        return
    if all(row[-1] == "0" for row in grid[1:]):
        grid = [row[:-1] for row in grid]
    if style == "md":
        yield from md_lines(grid, _LABELS)
    elif style == "latex":
        yield from latex_lines(grid, _LABELS)
    elif style == "table":
        marked = [[*row[:_N], row[_N] + _mark(row[_N]), *row[_N + 1 :]] for row in grid]
        yield from table_lines(marked, _LABELS)
        if any(_mark(row[_N]) for row in grid[1:]):
            yield f"* fewer than {FEW} queries"
    else:
        for run, measure, name, value, low, high, number, *undefined in grid[1:]:
            head = f"{visible(run)}\t" if len(results) > 1 else ""
            rest = f"n={number}{_mark(number)}" + "".join(f", undefined={count}" for count in undefined)
            yield f"{head}{measure:<22}\t{visible(name)}\t{value}\t[{low}, {high}]\t{rest}"


def _grid(results: list[Scores], groups: Groups, layout: Layout) -> Iterator[list[str]]:
    yield ["run", "measure", "slice", "value", "low", "high", "n", "undefined"]
    for scores in results:
        for score in scores.scores:
            for found in sliced(score, groups):
                numbers = [layout.number(number) for number in (found.value, found.low, found.high)]
                name = f"{found.field}={found.name}"
                counts = str(found.queries), str(found.undefined)
                yield [scores.run, str(score.measure), name, *numbers, *counts]


def sliced(score: Score, groups: Groups) -> list[Slice]:
    """The slices of a score by every field."""
    return [found for field, of_query in groups.items() for found in slices(score, field, of_query)]


def _mark(number: str) -> str:
    return "*" if number.isdigit() and int(number) < FEW else ""


def _json(results: list[Scores], groups: Groups, layout: Layout, style: str) -> Iterator[str]:
    records = []
    for scores in results:
        for score in scores.scores:
            record = record_of(scores, score, layout)
            record["slices"] = [
                {name: None if value != value else value for name, value in found._asdict().items()}
                | {"small": found.is_small}
                for found in sliced(score, groups)
            ]
            records.append(record)
    if style == "json":
        yield json.dumps({"results": records}, indent=2, ensure_ascii=True, allow_nan=False)
    else:
        yield from (json.dumps(record, ensure_ascii=True, allow_nan=False) for record in records)
