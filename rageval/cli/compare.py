"""`rageval compare`: runs, or systems that were judged, beside one another."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from rageval import options as opt
from rageval.cli._acting import refuse_idle_for
from rageval.cli._options import (
    Command,
    Comparing,
    checked_plot,
    completing,
    reading_of,
    takes_options,
)
from rageval.cli._output import (
    md_code,
    md_line,
    md_lines,
    on_terminal,
    print_lines,
    table_lines,
    table_width,
    terminal_width,
    wrapped,
)
from rageval.errors import UsageError
from rageval.options import settings_from
from rageval.showing import csv_line
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison import Cell, Comparison, Pair, Settings
    from rageval.scoring.scores import Scores


_FORMATS = ("table", "md", "latex", "csv", "json", "cite")


@dataclass(frozen=True, kw_only=True)
class Options(Comparing):
    """The options of `rageval compare`."""

    gold: Annotated[opt.Gold, "People's judgements of a part, which correct the values of --by."] = ()
    sensitivity: Annotated[
        bool,
        opt.claimed(
            "Also how often two runs would change places with one nugget less, another judge, one vote less."
        ),
    ] = False
    by_query: Annotated[
        opt.ByQuery,
        "Also print the values of every query, those that the run lost most first (as CSV these alone).",
    ] = False
    sort: opt.Sort | None = None
    style: Annotated[
        str | None,
        opt.printed(
            "Default: table on a terminal, else csv; latex is a table for a paper, cite says how to cite the"
            " numbers.",
            ("--format",),
            choices=_FORMATS,
        ),
    ] = None
    show: Annotated[
        Literal["interval", "p"] | None,
        opt.printed(
            "Of --format latex: what stands beside the means, their intervals or p against the baseline."
        ),
    ] = None
    caption: opt.Caption | None = None
    label: opt.LatexLabel | None = None
    plot: Annotated[opt.Plot | None, "Also draw intervals and differences: .png, .svg or .pdf."] = None
    size: opt.Size | None = None


@click.command(cls=Command)
@click.argument(
    "words", nargs=-1, metavar="RUN RUN... QRELS [MEASURE...]", shell_complete=completing("scored")
)
@takes_options
def compare(words: tuple[str, ...], options: Options) -> None:
    """Compare runs, or judged answers of several systems.

    Prints each run's mean with its bootstrap interval, the paired difference to the baseline with interval, p
    and effect size, wins, ties and losses, the smallest difference these queries could show and how many
    queries the observed one needs. A run that failed is not called worse, and equal runs are called equal.

    \b
    rageval compare a.run b.run c.run qrels -m alpha_ndcg@10
    rageval compare a.run b.run qrels -m 'nDCG@10 AP' --baseline a.run --format latex
    rageval compare a.run b.run qrels -m nDCG@10 --baseline a.run -q
    rageval compare judged.jsonl -m crag_score --all-pairs --adjust max_t --cluster domain
    """
    from rageval.cli._inputs import ids_of_datasets, sorted_out
    from rageval.cli._scoring import (
        best_first,
        refuse,
        refuse_bounds_of_spans,
        said_of_sets,
        scored,
        subject_of,
    )
    from rageval.comparison.citing import cite
    from rageval.comparison.comparing import compared
    from rageval.comparison.paper import latex_of
    from rageval.comparison.plots import figure_of_comparison, save
    from rageval.comparison.sensitivity import sensitivity
    from rageval.measures.parsing import parse_measures

    reading = reading_of(options.comments)
    inputs = sorted_out(words, reading)
    refuse_idle_for(bool(inputs.answers))
    measures = parse_measures([*options.measures, *inputs.measures])
    if not measures:
        raise UsageError(
            "no measure named; say -m ndcg@10, with nuggets -m alpha_ndcg@10 (see: rageval measures)"
        )
    if options.gold and options.bounds and not inputs.answers:
        raise UsageError("--bounds are of one set of judgements; leave out --gold, or --bounds")
    style = options.style or ("table" if on_terminal() else "csv")
    _refuse_by_query(style, options)
    plot = checked_plot(options.plot, options.size)
    subject = subject_of(inputs, measures, options, reading)
    refuse_bounds_of_spans(subject)
    settings = _settings(options, list(subject.queries), inputs.telling)
    results, remarks, refused = systems = scored(subject, options.baseline, least=2)
    found = compared(subject, systems, settings)
    if options.sensitivity:
        remarks = [*remarks, *sensitivity(subject, results)]
    if options.sort:
        results = best_first(results, options.sort)
        found = _in_order(found, _by_people(found, [scores.run for scores in results], options.sort))
    typed = said_of_sets([*options.measures, *inputs.measures], options.compat)
    # Scoring and comparing may say the same of a run; once is enough.
    for remark in dict.fromkeys([*typed, *remarks, *found.remarks]):
        click.echo(f"rageval: {remark}", err=True)
    # What Python shows beneath a comparison stands in JSON, too.
    found = replace(found, remarks=list(dict.fromkeys([*found.remarks, *remarks])))
    if plot is not None:
        save(figure_of_comparison(found, results, options.size), plot)
    places = options.places if options.places is not None else 4
    if style == "latex":
        print_lines(latex_of(found, options.caption, options.label, options.show or "", places))
    elif style == "cite":
        print_lines([str(cite(found, ids_of_datasets(inputs, options)))])
    elif options.by_query:
        print_lines(_with_queries(found, results, style, places))
    else:
        print_lines(_DRAWN[style](found, places))
    refuse(refused)


def _refuse_by_query(style: str, options: Options) -> None:
    if options.by_query and style in ("latex", "cite"):
        raise UsageError(f"--by-query is no part of --format {style}; expected table, md, csv or json")
    if options.by_query and options.gold:
        raise UsageError(
            "--by-query shows the judge's values of each query, and --gold corrects means; leave one out"
        )


def _by_people(found: Comparison, runs: list[str], wanted: str) -> list[str]:
    """Return the runs, the best by people's labels first where these correct the measure."""
    # Where people's labels correct a measure, the order of the judge's means is not that of the table.
    if not found.gold or wanted == "run":
        return runs
    from rageval.measures.parsing import parse_measure

    measure = str(parse_measure(wanted))
    sign = 1 if found.lower_is_better(measure) else -1
    values = {run: found.cell(run, measure).value for run in runs}
    # NaN has no place in an order; what is not known stands at the end.
    known = sorted((run for run in runs if not math.isnan(values[run])), key=lambda run: sign * values[run])
    return [*known, *(run for run in runs if math.isnan(values[run]))]


def _in_order(found: Comparison, runs: list[str]) -> Comparison:
    """Return the comparison with its runs, and the pairs by each measure, in this order."""

    def place(pair: Pair) -> tuple[int, int, int]:
        return measures.index(pair.measure), runs.index(pair.run), runs.index(pair.other)

    measures = list(found.measures)
    return replace(found, runs=runs, pairs=sorted(found.pairs, key=place))


def _settings(options: Options, queries: list[str], sources: list[Any]) -> Settings:

    from rageval.cli._inputs import groups_of
    from rageval.comparison import Settings

    clusters = None
    if options.cluster:
        clusters = groups_of(options.cluster, queries, options.questions, sources)
    # The name of the file alone: paths of a machine do not belong into what is published.
    by = Path(options.cluster or "").name
    return settings_from(Settings, options, clusters=clusters, clustered_by=by)


def _table(found: Comparison, places: int) -> Iterator[str]:
    """Two tables for reading: the values, and the differences."""
    yield from _two_tables(found, places, table_lines)


def _md(found: Comparison, places: int) -> Iterator[str]:
    """Yield the same two tables in Markdown."""
    yield from _two_tables(found, places, md_lines)


def _csv(found: Comparison, places: int) -> Iterator[str]:
    """Yield a row a pair and measure, at full precision of p."""
    # New columns come at the end, so that scripts that count columns still work.
    head = "run,other,measure,value,other_value,queries,difference,low,high,p,adjusted_p,effect,"
    head += "wins,ties,losses,detectable,needed_least,needed_most,verdict,why,every_completion,better_run,"
    yield head + "undefined,other_undefined,basis,judged,people,labels,gain,corrected_from,test,family,ruling"
    for pair in found.pairs:
        cells = [found.cell(run, pair.measure) for run in (pair.run, pair.other)]
        numbers = [f"{cell.value:.{places}f}" for cell in cells] + [str(pair.queries)]
        numbers += [f"{value:.{places}f}" for value in (pair.difference, pair.low, pair.high)]
        numbers += [f"{pair.p:.6g}", f"{pair.adjusted:.6g}", f"{pair.effect:.4f}"]
        least = "" if math.isnan(pair.detectable) else f"{pair.detectable:.{places}f}"
        numbers += [str(pair.wins), str(pair.ties), str(pair.losses), least]
        words = [pair.verdict, pair.why, pair.every_completion or "", pair.better_run or ""]
        needed = ["" if number is None else str(number) for number in (pair.needed_least, pair.needed_most)]
        rest = [*needed, csv_line(words), *(str(cell.undefined) for cell in cells), csv_line([pair.basis])]
        rest += ["" if each is None else f"{each:.{places}f}" for each in (pair.judged, pair.people)]
        rest += ["" if each is None else f"{each:.0f}" for each in (pair.labels, pair.gain)]
        rest.append(csv_line([pair.corrected_from, pair.test, pair.family, pair.ruling]))
        yield csv_line([pair.run, pair.other, pair.measure], [*numbers, *rest])


def _json(found: Comparison, places: int) -> Iterator[str]:
    """One object with everything, at full precision."""
    yield json.dumps(found.as_dict(), indent=2, ensure_ascii=True, allow_nan=False)


def _lost_first(
    found: Comparison, results: Sequence[Scores]
) -> Iterator[tuple[Pair, list[tuple[str, float, float]]]]:
    """Yield the values of each query for each pair, those first that its run lost most."""
    of_run = {scores.run: scores for scores in results}
    for pair in found.pairs:
        ours, theirs = (of_run[run][pair.measure].by_query for run in (pair.run, pair.other))
        both = [(query, ours[query], theirs[query]) for query in ours if query in theirs]
        defined = [row for row in both if not math.isnan(row[1] - row[2])]
        sign = -1 if found.lower_is_better(pair.measure) else 1
        yield pair, sorted(defined, key=lambda row: sign * (row[1] - row[2]))


def _with_queries(found: Comparison, results: Sequence[Scores], style: str, places: int) -> Iterator[str]:
    """Yield the comparison and each query's values; as CSV these alone, as their columns are others."""
    pairs = _lost_first(found, results)
    if style == "json":
        queries = [
            {"run": pair.run, "other": pair.other, "measure": pair.measure}
            | {"query_id": query, "value": value, "other_value": other, "difference": value - other}
            for pair, rows in pairs
            for query, value, other in rows
        ]
        whole = found.as_dict() | {"by_query": queries}
        yield json.dumps(whole, indent=2, ensure_ascii=True, allow_nan=False)
    elif style == "csv":
        yield "run,other,measure,query_id,value,other_value,difference"
        for pair, rows in pairs:
            for query, *values in rows:
                numbers = [f"{number:.{places}f}" for number in (*values, values[0] - values[1])]
                yield csv_line([pair.run, pair.other, pair.measure, query], numbers)
    else:
        yield from _DRAWN[style](found, places)
        for pair, rows in pairs:
            yield ""
            head = [pair.measure, pair.run, pair.other, "difference"]
            lines = [
                [query, f"{value:.{places}f}", f"{other:.{places}f}", f"{value - other:+.{places}f}"]
                for query, value, other in rows
            ]
            yield from (md_lines if style == "md" else table_lines)([head, *lines], 1)


_DRAWN: dict[str, Callable[[Comparison, int], Iterator[str]]] = {
    "table": _table,
    "md": _md,
    "csv": _csv,
    "json": _json,
}


def _two_tables(
    found: Comparison,
    places: int,
    draw: Callable[[Sequence[Sequence[str]], int], Iterator[str]],
) -> Iterator[str]:
    from rageval.comparison.marks import legend, letters_of

    letters = letters_of(found)
    values = [["", "run", *found.measures]]
    for run, letter in letters.items():
        cells = [found.cell(run, measure) for measure in found.measures]
        values.append([letter, run, *(_shown(cell, found, places) for cell in cells)])
    yield from draw(values, 2)
    yield ""
    pairs = [_head(found), *(_row(pair, found, places) for pair in found.pairs)]
    width = terminal_width()
    if found.gold:
        pairs = [_gold_head(found), *(_gold_row(pair, places) for pair in found.pairs)]
    # Names of runs are long; the table above has a letter for each.
    is_narrow = draw is table_lines and width is not None and table_width(pairs) > width
    yield from draw(_by_letters(pairs, letters) if is_narrow else pairs, 2 if is_narrow else 3)
    yield ""
    said = [f"{pair.run} and {pair.other}, {pair.measure}: {pair.why}" for pair in found.pairs if pair.why]
    said += legend(found)
    if draw is md_lines:
        yield from map(md_line, said)
        yield md_code(found.signature)
    else:
        yield from (line for sentence in said for line in wrapped(visible(sentence)))
        yield from wrapped(visible(found.signature), "|")


def _by_letters(pairs: list[list[str]], letters: dict[str, str]) -> list[list[str]]:
    """Return the differences with the letters of the runs in place of their names."""
    rows = [[measure, f"{letters[run]} - {letters[other]}", *row] for measure, run, other, *row in pairs[1:]]
    return [[pairs[0][0], "runs", *pairs[0][3:]], *rows]


def _shown(cell: Cell, found: Comparison, places: int) -> str:
    from rageval.comparison.marks import beaten_by, rests_on

    beaten = beaten_by(cell, found)
    if cell.judged is not None and math.isnan(cell.value):
        return f"- (judge {cell.judged:.{places}f}, {cell.labels:,} labels)"
    value, low, high = (f"{number:.{places}f}" for number in (cell.value, cell.low, cell.high))
    beside = f" (judge {cell.judged:.{places}f}, {cell.labels:,} labels)" if cell.judged is not None else ""
    better = f" > {','.join(beaten)}" if beaten else ""
    return f"{value} [{low}, {high}]{beside or rests_on(cell, found)}{better}"


def _head(found: Comparison) -> list[str]:
    adjusted = {"holm": "p (Holm)", "max_t": "p (max-T)", "none": "p (as is)"}[found.settings.adjust]
    head = ["measure", "run", "against", "difference", "low", "high", "p", adjusted, "effect"]
    head += ["won-tied-lost", "detectable", "needed", "verdict"]
    return [*head, "every completion"] if found.once("every completion", _has_completions) else head


def _has_completions(found: Comparison) -> bool:
    return any(pair.every_completion for pair in found.pairs)


def _row(pair: Pair, found: Comparison, places: int) -> list[str]:
    from rageval.comparison.marks import shown_p

    numbers = [f"{value:+.{places}f}" for value in (pair.difference, pair.low, pair.high)]
    row = [pair.measure, pair.run, pair.other, *numbers, shown_p(pair.p), shown_p(pair.adjusted)]
    shown = f"{pair.detectable:.{places}f}"
    if math.isnan(pair.detectable):
        # NaN with a p: so few queries differ that no difference could be found.
        shown = "-" if math.isnan(pair.p) else "not reachable"
    row += [f"{pair.effect:+.2f}", f"{pair.wins}-{pair.ties}-{pair.losses}", shown, pair.needed, pair.verdict]
    with_bounds = found.once("every completion", _has_completions)
    return [*row, pair.every_completion or "-"] if with_bounds else row


def _gold_head(found: Comparison) -> list[str]:
    head = ["measure", "run", "against", "judge", "corrected", "low", "high", "p", _head(found)[7]]
    return [*head, "labels", "gain", "verdict"]


def _gold_row(pair: Pair, places: int) -> list[str]:
    """Return the judge's difference and the corrected one, with what the latter rests on."""
    from rageval.comparison.marks import shown_p

    if pair.labels is None:
        judged, rest = "-", ["-", "-"]
    else:
        judged, rest = f"{pair.judged:+.{places}f}", [f"{pair.labels:,}", f"{pair.gain:.0f}"]
    numbers = [f"{value:+.{places}f}" for value in (pair.difference, pair.low, pair.high)]
    numbers += [shown_p(pair.p), shown_p(pair.adjusted), *rest]
    shown = ["-" if "nan" in number else number for number in [judged, *numbers]]
    return [pair.measure, pair.run, pair.other, *shown, pair.verdict]
