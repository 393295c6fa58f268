"""Scores as text: a function a format, each yielding lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval.text import visible

if TYPE_CHECKING:
    from rageval.scores import Score, Scores


class Layout(NamedTuple):
    """How to print: decimal places, a row a query or not, the means or not."""

    places: int = 4
    by_query: bool = False
    summary: bool = True

    def number(self, value: float) -> str:
        return f"{value:.{self.places}f}"


class Row(NamedTuple):
    """A value of a query, or a mean, and on how many queries it rests."""

    run: str
    measure: str
    query: str
    value: float
    queries: int
    undefined: int


def rests_on(scores: Scores, score: Score) -> str:
    """On how many queries a mean rests, where that is not all of the judged ones."""
    notes = scores.notes
    total = len(score.query_ids)
    if notes is not None:
        total = notes.queries_in_run - notes.queries_only_in_run + notes.queries_missing
    return f" (n={score.queries:,})" if score.queries < total else ""


def trec(results: list[Scores], layout: Layout) -> Iterator[str]:
    """trec_eval's line: measure, query, value; in front the run, if there are several."""
    for run, measure, query, value, *_ in _rows(results, layout):
        head = f"{visible(run)}\t" if len(results) > 1 else ""
        yield f"{head}{measure:<22}\t{visible(query)}\t{value:6.{layout.places}f}"


def ir_measures(results: list[Scores], layout: Layout) -> Iterator[str]:
    """ir_measures' line: measure and value, or query, measure and value."""
    for run, measure, query, value, *_ in _rows(results, layout):
        head = f"{visible(run)}\t" if len(results) > 1 else ""
        middle = f"{visible(query)}\t" if layout.by_query else ""
        yield f"{head}{middle}{measure}\t{layout.number(value)}"


def ndeval(results: list[Scores], layout: Layout) -> Iterator[str]:
    """ndeval's table, with its names: a row a topic, then the mean as `amean`."""
    from rageval.cli.grids import csv_line

    names = [_ndeval_name(score) for score in results[0].scores]
    yield csv_line(["runid", "topic", *names])
    for scores in results:
        if layout.by_query:
            for at, query in enumerate(scores.scores[0].query_ids):
                values = [layout.number(score.numbers[at]) for score in scores.scores]
                yield csv_line([scores.run, query], values)
        if layout.summary:
            yield csv_line([scores.run, "amean"], [layout.number(score.value) for score in scores.scores])


def as_json(results: list[Scores], layout: Layout) -> Iterator[str]:
    """One object with everything, at full precision."""
    import json

    found = [record_of(scores, score, layout) for scores in results for score in scores.scores]
    topics = {scores.run: _topics(scores) for scores in results if scores.notes is not None}
    yield json.dumps(
        {"results": found, **({"topics": topics} if topics else {})},
        indent=2,
        ensure_ascii=True,
        allow_nan=False,
    )


def jsonl(results: list[Scores], layout: Layout) -> Iterator[str]:
    """One object a line, for each run and measure."""
    import json

    for scores in results:
        for score in scores.scores:
            yield json.dumps(record_of(scores, score, layout), ensure_ascii=True, allow_nan=False)


def csv(results: list[Scores], layout: Layout) -> Iterator[str]:
    """A row a value, and on how many queries it rests; cells that a spreadsheet would compute are quoted."""
    from rageval.cli.grids import csv_line

    yield "run,query_id,measure,value,queries,undefined"
    for row in _rows(results, layout):
        numbers = [layout.number(row.value), str(row.queries), str(row.undefined)]
        yield csv_line([row.run, row.query, row.measure], numbers)


def md(results: list[Scores], layout: Layout) -> Iterator[str]:
    """A Markdown table, a column a measure."""
    from rageval.cli.grids import md_lines

    yield from md_lines(_grid(results, layout, rests_on), _labels(layout))


def latex(results: list[Scores], layout: Layout) -> Iterator[str]:
    """A LaTeX tabular for booktabs, a column a measure."""
    from rageval.cli.grids import latex_lines

    yield from latex_lines(_grid(results, layout, rests_on), _labels(layout))


def table(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Columns for reading; a row a measure where a column each would not fit the terminal."""
    import shutil

    from rageval.cli.grids import table_lines, table_width

    grid = _grid(results, layout)
    if table_width(grid) > shutil.get_terminal_size((100, 24)).columns:
        rows = _rows(results, layout)
        grid = [[row.run, row.measure, row.query, layout.number(row.value)] for row in rows]
        yield from table_lines([["run", "measure", "query", "value"], *grid], 3)
    else:
        yield from table_lines(grid, _labels(layout))
    yield from _footnote(results)


def leaderboard(results: list[Scores], layout: Layout) -> Iterator[str]:
    """The entries of FreshStack's leaderboard."""
    from rageval.cli.leaderboard import entries

    yield from entries(results)


FORMATS: dict[str, Callable[[list[Scores], Layout], Iterator[str]]] = {
    "trec": trec,
    "ir_measures": ir_measures,
    "ndeval": ndeval,
    "json": as_json,
    "jsonl": jsonl,
    "csv": csv,
    "md": md,
    "latex": latex,
    "table": table,
    "freshstack-leaderboard": leaderboard,
}


def _ndeval_name(score: Score) -> str:
    """ndeval's name, for the very measure that ndeval prints; else ours."""
    measure = score.measure
    name = measure.called_by("ndeval")
    how = measure.changed.get("normalise")
    if name is None or set(measure.changed) - {"normalise"} or how == "none":
        return str(measure)
    return name + (f"@{measure.k}" if measure.k else "")


def _rows(results: list[Scores], layout: Layout) -> Iterator[Row]:
    for scores in results:
        for score in scores.scores:
            if layout.by_query:
                for query, value in score.by_query.items():
                    undefined = int(math.isnan(value))
                    yield Row(scores.run, str(score.measure), query, value, 1 - undefined, undefined)
            if layout.summary:
                value, counts = score.value, (score.queries, score.undefined)
                yield Row(scores.run, str(score.measure), "all", value, *counts)


def _labels(layout: Layout) -> int:
    """How many columns of the grid are text: the run, and the query where there is a row for each."""
    return 2 if layout.by_query else 1


def _grid(
    results: list[Scores], layout: Layout, beside: Callable[[Scores, Score], str] = lambda *_: ""
) -> list[list[str]]:
    """Rows of cells: a run (and query) and its value by each measure, with a header."""
    names = [str(score.measure) for score in results[0].scores]
    grid = [["run", *(["query"] if layout.by_query else []), *names]]
    for scores in results:
        if layout.by_query:
            for at, query in enumerate(scores.scores[0].query_ids):
                grid.append([scores.run, query, *(layout.number(s.numbers[at]) for s in scores.scores)])
        if layout.summary:
            label = ["all"] if layout.by_query else []
            means = (layout.number(score.value) + beside(scores, score) for score in scores.scores)
            grid.append([scores.run, *label, *means])
    return grid


def _footnote(results: list[Scores]) -> Iterator[str]:
    """How many queries the means rest on, said once if it is the same everywhere."""
    counts = {(score.queries, score.undefined) for scores in results for score in scores.scores}
    if len(counts) == 1:
        queries, undefined = counts.pop()
        yield f"n={queries:,}" + (f", undefined={undefined:,}" if undefined else "")
        return
    for scores in results:
        for score in scores.scores:
            yield f"{visible(scores.run)} {score.measure}: n={score.queries:,}, undefined={score.undefined:,}"


def record_of(scores: Scores, score: Score, layout: Layout) -> dict[str, Any]:
    """Everything there is to say of one score."""
    record: dict[str, Any] = {
        "run": scores.run,
        "measure": str(score.measure),
        "value": _json_number(score.value),
        "better": score.measure.better,
        "queries": score.queries,
        "undefined": score.undefined,
        "missing": score.missing,
        "signature": score.signature,
    }
    if score.lost:
        record["lost"] = dict(score.lost)
    if score.bounds:
        record["bounds"] = [_json_number(bound) for bound in score.bounds]
    if score.judges:
        record["judges"] = {judge: _json_number(value) for judge, value in score.judges.items()}
    if layout.by_query:
        record["by_query"] = {query: _json_number(value) for query, value in score.by_query.items()}
        if score.measure.aggregate == "pool":
            shares = zip(score.query_ids, map(_parts, score.numbers), strict=True)
            record["shares"] = {query: share for query, share in shares if share}
    return record


def _parts(value: float) -> list[float] | None:
    """Return part and whole of a share, of which the value alone would not do to pool it."""
    from rageval.measures.ranking import Share

    return [value.part, value.whole] if isinstance(value, Share) else None


def _topics(scores: Scores) -> dict[str, Any]:
    notes = scores.notes
    if notes is None:
        return {}
    in_both = notes.queries_in_run - notes.queries_only_in_run
    return {
        "in_qrels": in_both + notes.queries_missing,
        "in_run": notes.queries_in_run,
        "in_both": in_both,
        "only_in_qrels": notes.queries_missing,
        "only_in_run": notes.queries_only_in_run,
        "without_relevant": notes.queries_without_relevant,
        "tied_at_cutoff": {str(cutoff): count for cutoff, count in sorted(notes.tied_at.items())},
        "rank_conflicts": notes.rank_conflicts,
        "retrieved": notes.retrieved,
        "judged": scores.judged,
        "nothing_judged": sum(not number for number in scores.judged_by_query.values()),
    }


def _json_number(value: float) -> float | None:
    return None if math.isnan(value) else value
