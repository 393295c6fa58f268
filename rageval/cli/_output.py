"""Print results: to whom, as which rows of cells, in which format."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rageval.errors import OutputError, UsageError
from rageval.scoring.basis import in_words, said_of_corrected
from rageval.scoring.basis import said_of_bases as said_by_measure
from rageval.showing import (
    Grid,
    Latex,
    csv_line,
    label_of,
    latex_lines,
    latex_table,
    latex_text,
    latex_typeset,
)
from rageval.showing import table_lines as drawn
from rageval.text import visible
from rageval.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from rageval.comparison import Settings
    from rageval.comparison.intervals import Slice
    from rageval.files.scores import Form
    from rageval.scoring.scores import Score, Scores


def on_terminal() -> bool:
    """Return whether somebody is looking."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_lines(lines: Iterable[str]) -> None:
    """Print, and be done once the reader has seen enough (`| head`); a full disk is an error."""
    if sys.stdout is None:
        raise OutputError("standard output is closed; nowhere to print the result")
    try:
        for line in lines:
            _print(line)
        _print()
    except _StdoutClosed:
        return


class _StdoutClosed(Exception):
    """Nobody reads any further."""


def _print(line: str | None = None) -> None:
    """Print a line, or what is still buffered; only errors of printing are caught here."""
    try:
        if line is None:
            sys.stdout.flush()
        else:
            click.echo(line)
    except UnicodeEncodeError:  # a name of a file, or a word of the command, that is not UTF-8
        click.echo((line or "").encode("utf-8", "backslashreplace").decode())
    except OSError as error:
        from rageval.files.writing import reader_left

        _mute()
        if reader_left(error):
            raise _StdoutClosed from None
        raise OutputError(f"standard output cannot be written: {error.strerror}") from error


def _mute() -> None:
    """Let what is still buffered go nowhere, so that leaving the process does not fail once more."""
    # Python flushes standard output once more when it ends, and would print a second error.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def terminal_width() -> int | None:
    """Return how many characters fit on a line, where somebody is looking or COLUMNS says it."""
    # In a pipe or a file no line is cut: whoever reads it there may search for whole names.
    if not os.environ.get("COLUMNS") and not on_terminal():
        return None
    import shutil

    # Some terminals say 0 or 1.
    return max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def table_lines(grid: Grid, labels: int) -> Iterator[str]:
    """Yield columns for reading; the first `labels` columns are text, the others numbers.

    What is wider than the terminal is cut into several tables, each with the text columns.
    """
    yield from drawn(grid, labels, terminal_width())


_USUAL_WIDTH = 100  # of a table that is not looked at
_NARROWEST = 40  # columns: a terminal that says it has fewer is not believed


def wrapped(text: str, between: str = " ") -> Iterator[str]:
    """Cut a line for the terminal, where `between` stands; what is not looked at stays one line."""
    width = terminal_width()
    line = ""
    for part in text.split(between):
        longer = f"{line}{between}{part}" if line else part
        # What parts the words stays at the end of the line, and needs its place there.
        if line and width is not None and len(longer) + len(between.strip()) > width:
            yield line + between.rstrip()
            line = part
        else:
            line = longer
    yield line


def table_width(grid: Grid) -> int:
    """Return how many characters wide the table is."""
    return sum(max(len(visible(cell)) for cell in column) + 2 for column in zip(*grid, strict=True)) - 2


def md_lines(grid: Grid, labels: int) -> Iterator[str]:
    """Yield a Markdown table."""
    head, *body = grid
    yield "| " + " | ".join(map(_md_text, head)) + " |"
    yield "|" + "|".join([" --- "] * labels + [" ---: "] * (len(head) - labels)) + "|"
    for row in body:
        yield "| " + " | ".join(map(_md_text, row)) + " |"


# An underscore within a word means nothing; an address is a link where it stands, even without brackets.
# Brackets mean something before what they are joined to: `[0.1, 0.2]` stays as it is.
_MD = r"[\\`*~|$^<&]|\](?=[(\[\]:{])|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=[wW])\."
_MD_BLOCK = r"([-+=#>])|(\d+)([.)])"
_MD_ENTITIES = {"<": "&lt;", "&": "&amp;"}


def _md_text(text: str) -> str:
    """Write text as Markdown shows it: no link, no picture, no HTML, no mark-up."""
    # Names of files and queries come from others, and must not become links or HTML in somebody's README.
    return re.sub(_MD, lambda found: _MD_ENTITIES.get(found[0], "\\" + found[0]), visible(text))


def md_code(text: str) -> str:
    """Write text as code, to be copied as it stands."""
    shown = visible(text)
    # A backtick would end the code early.
    return _md_text(shown) if "`" in shown else f"`{shown}`"


def md_line(text: str) -> str:
    """Write a line of text for itself, which begins no list, no heading and no quotation."""
    shown = _md_text(text).lstrip()
    block = re.match(_MD_BLOCK, shown)
    if block is None:
        return shown
    return "\\" + shown if block[1] else f"{block[2]}\\{shown[len(block[2]) :]}"


class Layout(NamedTuple):
    """How to print: decimal places, a row a query or not, the means or not; in LaTeX, beneath what words."""

    places: int = 4
    by_query: bool = False
    summary: bool = True
    caption: str | None = None
    label: str | None = None

    def number(self, value: float) -> str:
        return f"{value:.{self.places}f}"


class _Printed(NamedTuple):
    """A value of a query, or a mean; on how many queries it rests, between what it lies if that is known."""

    run: str
    measure: str
    query: str
    value: float
    queries: int
    undefined: int
    bounds: tuple[float, ...] | None = None


def _rests_on(scores: Scores, score: Score) -> str:
    """Say on how many queries a mean rests, where that is not all of the judged ones."""
    notes = scores.notes
    total = len(score.query_ids)
    if notes is not None:
        # All judged queries: those that the run has, and those that it lacks.
        total = notes.queries_in_run - notes.queries_only_in_run + notes.queries_missing
    return f" (n={score.queries:,})" if score.queries < total else ""


def _mean(score: Score | _Printed, layout: Layout) -> str:
    """Return a mean, and between what it lies where that is known."""
    return layout.number(score.value) + _between(score, layout)


def _between(score: Score | _Printed, layout: Layout) -> str:
    return f" ({' to '.join(map(layout.number, score.bounds))})" if score.bounds else ""


def trec(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write trec_eval's line: measure, query, value; in front the run, if there are several."""
    for run, measure, query, value, *_ in _values(results, layout):
        head = f"{visible(run)}\t" if len(results) > 1 else ""
        yield f"{head}{measure:<22}\t{visible(query)}\t{value:6.{layout.places}f}"


def ir_measures(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write ir_measures' line: measure and value, or query, measure and value."""
    for run, measure, query, value, *_ in _values(results, layout):
        head = f"{visible(run)}\t" if len(results) > 1 else ""
        middle = f"{visible(query)}\t" if layout.by_query else ""
        yield f"{head}{middle}{measure}\t{layout.number(value)}"


def ndeval(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write ndeval's table, with its names: a row a topic, then the mean as `amean`."""

    names = [_ndeval_name(score) for score in results[0].scores]
    yield csv_line(["runid", "topic", *names])
    for scores in results:
        if layout.by_query:
            for at, query in enumerate(scores.scores[0].query_ids):
                values = [layout.number(score.numbers[at]) for score in scores.scores]
                yield csv_line([scores.run, query], values)
        if layout.summary:
            yield csv_line([scores.run, "amean"], [layout.number(score.value) for score in scores.scores])


def _as_json(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write one object with everything, at full precision."""
    import json

    found = [_record_of(scores, score, layout) for scores in results for score in scores.scores]
    topics = {scores.run: _topics(scores) for scores in results if scores.notes is not None}
    yield json.dumps(
        {"results": found, **({"topics": topics} if topics else {})},
        indent=2,
        ensure_ascii=True,
        # NaN is not JSON; numbers that may be NaN were turned into null before.
        allow_nan=False,
    )


def jsonl(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write one object a line, for each run and measure."""
    import json

    for scores in results:
        for score in scores.scores:
            yield json.dumps(_record_of(scores, score, layout), ensure_ascii=True, allow_nan=False)


def csv(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write a row a value, with how many queries it rests on; quote what a spreadsheet would compute."""

    bounded = any(score.bounds for scores in results for score in scores.scores)
    yield "run,query_id,measure,value,queries,undefined" + ",least,most" * bounded
    for row in _values(results, layout):
        numbers = [layout.number(row.value), str(row.queries), str(row.undefined)]
        ends = list(map(layout.number, row.bounds or ())) or ["", ""]
        yield csv_line([row.run, row.query, row.measure], numbers + ends * bounded)


def md(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write a Markdown table, a column a measure."""

    def shown(scores: Scores, score: Score) -> str:
        return _mean(score, layout) + _rests_on(scores, score)

    yield from md_lines(_grid_of_means(results, layout, shown), _label_columns(layout))


def latex(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write a LaTeX table for booktabs, a column a measure."""

    from rageval.comparison.comparing import best_runs
    from rageval.comparison.paper import LOW_IS_GOOD
    from rageval.measures.base import LOWER

    best = best_runs(results) if len(results) > 1 and layout.summary else {}

    def shown(scores: Scores, score: Score) -> str:
        value = layout.number(score.value)
        if scores.run in best.get(str(score.measure), ()):
            value = f"\\textbf{{{value}}}"
        return Latex(value + _between(score, layout) + _rests_on(scores, score))

    (head, *rows) = _grid_of_means(results, layout, shown)
    labels = _label_columns(layout)
    measures = [score.measure for score in results[0].scores]
    low = [measure.better == LOWER for measure in measures]
    names = [
        latex_typeset(measure.typeset + f" {LOW_IS_GOOD}" * is_low)
        for measure, is_low in zip(measures, low, strict=True)
    ]
    what = "Values of each query" if layout.by_query else "Values"
    said = "; the best in bold" * any(best.values()) + f"; {LOW_IS_GOOD}: low values are good" * any(low)
    said += "; in parentheses, between what they lie" * any(
        score.bounds for scores in results for score in scores.scores
    )
    yield from _captioned([[*head[:labels], *names], *rows], labels, results, layout, what, said=said)


def _captioned(
    grid: Grid,
    labels: int,
    results: Sequence[Scores],
    layout: Layout,
    what: str,
    notes: Sequence[str] = (),
    said: str = "",
) -> Iterator[str]:
    """Write a table with its caption: what it says, or else over how many queries these values are."""
    scores = [score for each in results for score in each.scores]
    least, most = (end(score.queries for score in scores) for end in (min, max))
    usual = f"{what} over {f'{least:,} to ' * (least < most)}{most:,} queries{said} (rageval {__version__})."
    caption = usual if layout.caption is None else layout.caption
    label = label_of("tab:scores", layout.label, layout.caption)
    yield r"% needs \usepackage{booktabs}"
    yield from (f"% {visible(signature)}" for signature in dict.fromkeys(each.signature for each in scores))
    yield from latex_table(latex_lines(grid, labels), caption, label, notes)


def table(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write columns for reading; a row a measure where a column each would not fit the terminal."""
    grid = _grid_of_means(results, layout)
    if table_width(grid) > (terminal_width() or _USUAL_WIDTH):
        rows = _values(results, layout)
        grid = [[row.run, row.measure, row.query, _mean(row, layout)] for row in rows]
        yield from table_lines([["run", "measure", "query", "value"], *grid], 3)
    else:
        yield from table_lines(grid, _label_columns(layout))
    yield from _footnote(results)


def leaderboard(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write the entries of FreshStack's leaderboard."""
    from rageval.cli._leaderboard import entries

    yield from entries(results)


def _in_form(form: Form) -> Callable[[list[Scores], Layout], Iterator[str]]:
    """Return what writes a leaderboard in this form: values at full precision, whatever `--places`."""

    def lines(results: list[Scores], layout: Layout) -> Iterator[str]:
        from rageval.files.scores import LeaderboardRow, write_leaderboard

        values = _values(results, layout)
        rows = (LeaderboardRow(row.run, row.query, row.measure, row.value) for row in values)
        yield from write_leaderboard(rows, form)

    return lines


FORMATS: dict[str, Callable[[list[Scores], Layout], Iterator[str]]] = {
    "trec": trec,
    "ir_measures": ir_measures,
    "ndeval": ndeval,
    "json": _as_json,
    "jsonl": jsonl,
    "csv": csv,
    "md": md,
    "latex": latex,
    "table": table,
    "freshstack-leaderboard": leaderboard,
    "leaderboard-trec_eval": _in_form("trec_eval"),
    "leaderboard-tot": _in_form("tot"),
    "leaderboard-ir_measures": _in_form("ir_measures"),
    "leaderboard-jsonl": _in_form("jsonl"),
}


def _ndeval_name(score: Score) -> str:
    """Return ndeval's name for the very measure that ndeval prints, else ours."""
    measure = score.measure
    name = measure.called_by("ndeval")
    how = measure.changed.get("normalise")
    # ndeval's name stands for one set of parameters; anything else keeps ours.
    if name is None or set(measure.changed) - {"normalise"} or how == "none":
        return str(measure)
    return name + (f"@{measure.k}" if measure.k else "")


def _values(results: list[Scores], layout: Layout) -> Iterator[_Printed]:
    for scores in results:
        for score in scores.scores:
            if layout.by_query:
                for query, value in score.by_query.items():
                    undefined = int(math.isnan(value))
                    yield _Printed(scores.run, str(score.measure), query, value, 1 - undefined, undefined)
            if layout.summary:
                value, counts = score.value, (score.queries, score.undefined)
                yield _Printed(scores.run, str(score.measure), "all", value, *counts, score.bounds)


def _label_columns(layout: Layout) -> int:
    """How many columns of the grid are text: the run, and the query where there is a row for each."""
    return 2 if layout.by_query else 1


def _grid_of_means(
    results: list[Scores], layout: Layout, shown: Callable[[Scores, Score], str] | None = None
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
            means = (shown(scores, each) if shown else _mean(each, layout) for each in scores.scores)
            grid.append([scores.run, *label, *means])
    return grid


def _footnote(results: list[Scores]) -> Iterator[str]:
    """How many queries the means rest on, said once if it is the same everywhere."""
    counts = {(score.queries, score.undefined) for scores in results for score in scores.scores}
    if len(counts) == 1:
        queries, undefined = counts.pop()
        yield f"n={queries:,}" + (f", undefined={undefined:,}" if undefined else "")
        yield from said_of_bases(results)
        return
    for scores in results:
        for score in scores.scores:
            yield f"{visible(scores.run)} {score.measure}: n={score.queries:,}, undefined={score.undefined:,}"
    yield from said_of_bases(results)


def said_of_bases(results: Sequence[Scores]) -> list[str]:
    """Say which measures rest on a judge alone, and which on words."""
    return said_by_measure({str(score.measure): score.basis for each in results for score in each.scores})


def _record_of(scores: Scores, score: Score, layout: Layout) -> dict[str, Any]:
    """Return everything there is to say of one score."""
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
    if score.basis:
        record["basis"] = score.basis
    if score.lost:
        record["lost"] = dict(score.lost)
    if score.bounds:
        record["bounds"] = [_json_number(bound) for bound in score.bounds]
    if score.judges:
        record["judges"] = {judge: _json_number(value) for judge, value in score.judges.items()}
    if layout.by_query:
        record["by_query"] = {query: _json_number(value) for query, value in score.by_query.items()}
        record |= known_of_queries(scores, score)
        if score.measure.aggregate == "pool":
            shares = zip(score.query_ids, map(_parts, score.numbers), strict=True)
            # The quotients alone could not be pooled again by whoever reads the file.
            record["shares"] = {query: share for query, share in shares if share}
    return record


def _parts(value: float) -> list[Any] | None:
    """Return part and whole of a share, of which the value alone would not do to pool it; a blend's, too."""
    from rageval.measures.ranking import Blend, Share

    if isinstance(value, Blend):
        return [value.rule, *map(_parts, value.shares)]
    return [value.part, value.whole] if isinstance(value, Share) else None


def known_of_queries(scores: Scores, score: Score) -> dict[str, Any]:
    """Return what whoever compares these values has to know beside them, as far as there is anything."""
    known: dict[str, Any] = {}
    if scores.absent:
        known["absent"] = sorted(scores.absent)
    if scores.made_by is not None:
        known["judgements"] = scores.made_by.text
    if score.judged_by:
        known["judged_by"] = {query: _by_what(found) for query, found in score.judged_by.items()}
    return known


def _by_what(found: frozenset[Any]) -> list[str] | str:
    """Return the opponents by their names, as these matter, and nuggets as a digest."""
    from hashlib import sha256

    if all(isinstance(each, str) for each in found):
        return sorted(found)
    return sha256(repr(sorted(map(repr, found))).encode()).hexdigest()[:16]


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
    return value if math.isfinite(value) else None


_Groups = Mapping[str, Mapping[str, str]]  # field -> query -> value
_SLICE_LABELS, _SLICE_COUNT = 3, 6  # columns of text; the column of how many queries there are


def slice_lines(
    results: list[Scores], groups: _Groups, layout: Layout, style: str, settings: Settings | None = None
) -> Iterator[str]:
    """Write the slices of every run and measure in this format."""
    from rageval.comparison.intervals import FEW

    if style in ("json", "jsonl"):
        yield from _slices_as_json(results, groups, layout, style, settings)
        return
    grid = list(_grid_of_slices(results, groups, layout, settings))
    if style == "csv":
        yield from (csv_line(row[:_SLICE_LABELS], row[_SLICE_LABELS:]) for row in grid)
        return
    sources = [row.pop() for row in grid]
    bases = [row.pop() for row in grid]
    whose = _said_of_slices(grid, bases, sources)
    # The last columns are left out of tables for reading where they say nothing; CSV keeps them.
    empty = {at for at in (-1, -2, -3) if all(row[at] in ("", "0") for row in grid[1:])}
    grid = [[cell for at, cell in enumerate(row, -len(row)) if at not in empty] for row in grid]
    if style == "md":
        yield from md_lines(grid, _SLICE_LABELS)
    elif style == "latex":
        names = {str(each.measure): latex_typeset(each.measure.typeset) for each in results[0].scores}
        grid = [grid[0], *([row[0], names[row[1]], *row[2:]] for row in grid[1:])]
        notes = [each.replace("$", r"\$") for each in whose]
        yield from _captioned(grid, _SLICE_LABELS, results, layout, "Values with intervals by slice,", notes)
        return
    elif style == "table":
        marked = [
            [
                *row[:_SLICE_COUNT],
                row[_SLICE_COUNT] + _marked_small(row[_SLICE_COUNT]),
                *row[_SLICE_COUNT + 1 :],
            ]
            for row in grid
        ]
        yield from table_lines(marked, _SLICE_LABELS)
        if any(_marked_small(row[_SLICE_COUNT]) for row in grid[1:]):
            yield f"* fewer than {FEW} queries"
    else:
        for row, *basis in zip(grid[1:], bases[1:], sources[1:], strict=True):
            run, measure, name, value, low, high, number, *more = row
            head = f"{visible(run)}\t" if len(results) > 1 else ""
            rest = f"n={number}{_marked_small(number)}" + "".join(
                f", {what}={count}" for what, count in zip(grid[0][_SLICE_COUNT + 1 :], more, strict=True)
            )
            whose_row = in_words(*basis)
            rest += f", {whose_row}" if whose_row else ""
            yield f"{head}{measure:<22}\t{visible(name)}\t{value}\t[{low}, {high}]\t{rest}"
    yield from beneath(whose, style)


def beneath(said: Sequence[str], style: str) -> Iterator[str]:
    """Write what stands beneath a table that is for reading, in its format; nothing in others."""
    if said and style == "md":
        yield from ("", *map(md_line, said))
    elif style == "latex":  # not as a comment: who reads the paper is to see it
        yield from (f"\\par{{\\footnotesize {latex_text(each)}}}" for each in said)
    elif style == "table":
        yield from (line for each in said for line in wrapped(visible(each)))


def _said_of_slices(grid: Grid, bases: Sequence[str], sources: Sequence[str]) -> list[str]:
    """Say what the values rest on: a judge alone, words, or labels."""
    rows = zip(grid[1:], bases[1:], sources[1:], strict=True)
    of_measure = {row[1]: (basis, source) for row, basis, source in rows}
    corrected = [f"{said}; 'judge' is what the judge alone says" for said in said_of_corrected(of_measure)]
    alone = {name: basis for name, (basis, source) in of_measure.items() if not source}
    return [*corrected, *said_by_measure(alone)]


def _grid_of_slices(
    results: list[Scores], groups: _Groups, layout: Layout, settings: Settings | None
) -> Iterator[list[str]]:
    head = ["run", "measure", "slice", "value", "low", "high", "n", "undefined"]
    yield [*head, "judge", "labels", "basis", "corrected_from"]
    for scores in results:
        for score in scores.scores:
            for found in _slices_of(score, groups, settings):
                numbers = [layout.number(number) for number in (found.value, found.low, found.high)]
                name = f"{found.field}={found.name}"
                counts = str(found.queries), str(found.undefined)
                judged = "" if found.judged is None else layout.number(found.judged)
                labels = "" if found.labels is None else str(found.labels)
                beside = judged, labels, found.basis, found.corrected_from
                yield [scores.run, str(score.measure), name, *numbers, *counts, *beside]


def _slices_of(score: Score, groups: _Groups, settings: Settings | None) -> list[Slice]:
    """Return the slices of a score by every field."""
    from rageval.comparison.intervals import slices

    return [found for field, of_query in groups.items() for found in slices(score, field, of_query, settings)]


def _marked_small(number: str) -> str:
    from rageval.comparison.intervals import FEW

    return "*" if number.isdigit() and int(number) < FEW else ""


def _slices_as_json(
    results: list[Scores], groups: _Groups, layout: Layout, style: str, settings: Settings | None
) -> Iterator[str]:
    import json

    records = []
    for scores in results:
        for score in scores.scores:
            record = _record_of(scores, score, layout)
            record["slices"] = [
                {
                    name: None if isinstance(value, float) and not math.isfinite(value) else value
                    for name, value in found._asdict().items()
                    if value is not None
                }
                | {"small": found.is_small}
                for found in _slices_of(score, groups, settings)
            ]
            records.append(record)
    if style == "json":
        yield json.dumps({"results": records}, indent=2, ensure_ascii=True, allow_nan=False)
    else:
        yield from (json.dumps(record, ensure_ascii=True, allow_nan=False) for record in records)


def checked_output(path: Path) -> Path:
    """Return the path, if its name says a format that can be written."""
    if path.suffix != ".parquet":
        raise UsageError(
            f"--output {visible(str(path))}: expected a name that ends in .parquet; other formats: --format"
        )
    return path


def write_scores(results: list[Scores], path: Path) -> None:
    """Write a row a run, measure and query, with the columns run, query_id, measure, value, signature."""
    from rageval.files.columnar import write_values

    write_values(path, _columns_of(results))


def _columns_of(results: list[Scores]) -> Iterator[dict[str, Sequence[Any]]]:
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
