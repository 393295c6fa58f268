"""`rageval compare`: runs, or systems that were judged, beside one another."""

from __future__ import annotations

import math
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
from rageval.cli._output import print_lines
from rageval.errors import UsageError
from rageval.options import settings_from
from rageval.table import FORMATS, lines, on_terminal, records_of

if TYPE_CHECKING:
    from rageval.comparison import Comparison, Pair, Settings


_FORMATS = (*FORMATS, "cite")


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
        "Also print the values of every query, those that the run lost most first (as CSV, TSV or JSON lines"
        " these alone).",
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
    from rageval.comparison.citations import cite
    from rageval.comparison.comparisons import compared, sensitivity
    from rageval.comparison.plots import figure_of_comparison, save
    from rageval.comparison.tables import ByQuery, latex_of, lines_of, parts_of
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
        values = ByQuery(found, results)
        print_lines(
            lines(
                style,
                lambda: [*parts_of(found, places), *values.parts(places)],
                # In rows the values of each query stand alone, as their columns are others.
                lambda: values.data(places),
                record=lambda: found.as_dict() | {"by_query": list(records_of(values.data()))},
            )
        )
    else:
        print_lines(lines_of(found, style, places))
    refuse(refused)


def _refuse_by_query(style: str, options: Options) -> None:
    if options.by_query and style in ("latex", "cite"):
        others = ", ".join(each for each in FORMATS if each != "latex")
        raise UsageError(f"--by-query is no part of --format {style}; expected one of {others}")
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
