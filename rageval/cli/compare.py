"""`rageval compare`: runs, or systems that were judged, beside one another."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import click

from rageval import hooks
from rageval import options as opt
from rageval.cli._inputs import Inputs, ids_of_datasets, named_measures, sort_words, typed_names
from rageval.cli._options import (
    Command,
    ComparingTables,
    checked_plot,
    completing,
    reading_of,
    takes_options,
)
from rageval.cli._output import deliver, places_of, say
from rageval.cli._scoring import (
    best_first,
    refuse,
    refuse_bounds_of_labels,
    refuse_single_values_of_labels,
    scored,
    set_remarks,
    settings_of_claims,
    subject_of,
    with_judged_tables,
)
from rageval.comparison import comparisons
from rageval.comparison.citations import cite
from rageval.core.remark import unique
from rageval.errors import UsageError
from rageval.measures.parsing import parse_measure
from rageval.table import FORMATS, lines, records_of
from rageval.views.comparisons import ByQuery, BySlice, latex_of, lines_of, parts_of
from rageval.views.plots import figure_of_comparison, save
from rageval.views.remarks import brief

if TYPE_CHECKING:
    from rageval.comparison import Comparison, Pair
    from rageval.scoring.scores import Scores


_FORMATS = (*FORMATS, "cite")
_FOR_PEOPLE = ("table", "md", "html", "latex")  # where measures are called as they were typed


class Options(ComparingTables):
    """The options of `rageval compare`."""

    against: Annotated[
        str,
        opt.claimed(
            "Also say which runs no other is better than by this measure of cost and by the others (with CSV,"
            " TSV or JSON lines: only this).",
            metavar="MEASURE",
            shows=False,
        ),
    ] = ""
    gold: Annotated[opt.Gold, "Human labels for a sample; means and claims are corrected with them."] = ()
    sensitivity: Annotated[
        bool,
        opt.claimed(
            "Also print how often two runs would swap places with one nugget less, another judge, or one"
            " vote less."
        ),
    ] = False
    by_query: Annotated[
        opt.ByQuery,
        "Also print the values of each query, largest losses first (with CSV, TSV or JSON lines: only"
        " these).",
    ] = False
    by: Annotated[
        opt.By | None,
        "Also print each difference by the values of a field, such as domain,turn, with an interval (with"
        " CSV, TSV or JSON lines: only these).",
    ] = None
    sort: opt.Sort | None = None
    style: Annotated[
        str,
        opt.printed(
            "Output format: latex is a table for a paper, cite says how to cite the numbers.",
            ("--format",),
            choices=_FORMATS,
        ),
    ] = "table"
    details: Annotated[
        bool,
        opt.printed(
            "Also print effect sizes, wins and losses, the smallest difference these queries could detect,"
            " how many queries the observed one needs, the signature, and every remark."
        ),
    ] = False
    output: opt.Output | None = None
    show: Annotated[
        Literal["interval", "p"] | None,
        opt.printed(
            "With --format latex: what to print beside the means: intervals, or p against the baseline."
        ),
    ] = None
    caption: opt.Caption | None = None
    label: opt.LatexLabel | None = None
    plot: Annotated[
        opt.Plot | None, "Also draw intervals, differences and recall curves: .png, .svg or .pdf."
    ] = None
    size: opt.Size | None = None


@click.command(
    cls=Command,
    first=(
        "measures",
        "baseline",
        "judge",
        "by_query",
        "gold",
        "cluster",
        "questions",
        "details",
        "style",
        "output",
    ),
)
@click.argument(
    "words", nargs=-1, metavar="RUN RUN... QRELS [MEASURE...]", shell_complete=completing("scored")
)
@takes_options
def compare(words: tuple[str, ...], options: Options) -> None:
    """Compare runs, judged answers of several systems, or tables of answers.

    Prints the verdict in a sentence, each run's mean with a bootstrap interval, and paired differences with
    intervals and p: of two runs the second minus the first, of several each against the best, or --baseline.
    A run whose judgements failed is not called worse, and equal runs are called equal.

    \b
    rageval compare v1.csv v2.csv
    rageval compare a.run b.run c.run qrels -m alpha_ndcg@10
    rageval compare a.run b.run qrels -m 'nDCG@10 AP' --baseline a.run --format latex
    rageval compare a.run b.run qrels -m nDCG@10 --baseline a.run -q
    rageval compare judged.jsonl -m crag_score --all-pairs --adjust max_t --cluster domain
    rageval compare steps.jsonl qrels -m seen_recall --against cost
    """

    _refuse_combinations(options)
    plot = checked_plot(options.plot, options.size)
    inputs = sort_words(words, reading_of(options.comments, options.compat), tables=True)
    options = with_judged_tables(inputs, options)
    against = parse_measure(options.against) if options.against else None
    measures = named_measures(options, inputs, [] if against is None else [against])
    options = options.replaced(against="" if against is None else str(against))
    refuse_bounds_of_labels(inputs, options)
    subject = subject_of(inputs, measures, options)
    subject.require_comparable()
    settings = settings_of_claims(options, list(subject.queries), inputs.question_sources)
    results, remarks, refused = systems = scored(subject, options.baseline, least=2)
    comparison = comparisons.compare_subject(subject, systems, settings)
    if options.sensitivity:
        remarks = [*remarks, *comparisons.sensitivity(subject, results)]
    if options.sort:
        results = best_first(results, options.sort)
        comparison = _sort_comparison(comparison, [scores.run for scores in results], options.sort)
    typed = set_remarks([*options.measures, *inputs.measures], options.compat)
    # Scoring and comparing may say the same of a run; once is enough.
    every_remark = unique([*typed, *remarks, *comparison.remarks])
    # What Python shows beneath a comparison stands in JSON, too.
    comparison = replace(comparison, remarks=unique([*comparison.remarks, *remarks]))
    if options.style in _FOR_PEOPLE:
        names = typed_names(options, inputs)
        comparison = comparison.with_measures_called(names)
        every_remark = [remark.with_measure_called(names) for remark in every_remark]
    if plot is not None:
        curves = subject.kind.curves(subject, results, settings) if subject.kind.curves is not None else []
        save(figure_of_comparison(comparison, results, options.size, curves), plot)
    deliver(_comparison_lines(comparison, results, inputs, options), options.output)
    say(*(every_remark if options.details else brief(every_remark)))
    refuse(refused)


def _refuse_combinations(options: Options) -> None:
    """Refuse options that do not go together."""
    if options.by and (options.by_query or options.gold):
        other = "-q" if options.by_query else "--gold"
        raise UsageError(f"--by prints differences of the values as they are; leave out {other}")
    for name, value in (("by-query", options.by_query), ("against", options.against), ("by", options.by)):
        if value and options.style in ("latex", "cite"):
            others = ", ".join(name for name in FORMATS if name != "latex")
            raise UsageError(f"--{name} is not available with --format {options.style}; use one of {others}")
    refuse_single_values_of_labels(options.by_query, options.gold)


def _comparison_lines(
    comparison: Comparison, results: list[Scores], inputs: Inputs, options: Options
) -> Iterable[str]:
    """Return the lines of a comparison in a format, with what -q or --by asks for."""
    style, places = options.style, places_of(options.places)
    if style == "cite":
        return [str(cite(comparison, ids_of_datasets(inputs, options)))]
    if style == "latex":
        return latex_of(comparison, options.caption, options.label, options.show or "", places)
    if not options.by_query and not options.by:
        return lines_of(comparison, style, places, options.details)
    values: ByQuery | BySlice = ByQuery(comparison, results)
    if options.by:
        sources = results[0].scores[0].query_ids, options.questions, inputs.question_sources
        values = BySlice(comparison, results, hooks.slices_of(options.by, *sources))
    key = "slices" if options.by else "by_query"
    return lines(
        style,
        lambda: [*parts_of(comparison, places, options.details), *values.parts(places)],
        # In rows the values of each query stand alone, as their columns are others.
        lambda: values.data(places),
        record=lambda: comparison.as_dict() | {key: list(records_of(values.data()))},
    )


def _sort_comparison(comparison: Comparison, runs: list[str], sort: str) -> Comparison:
    """Return the comparison with its runs, and the pairs by each measure, in this order.

    Where people's labels correct a measure, the order of the judge's means is not that of the table: the best
    by their labels stand first.
    """
    if comparison.gold and sort != "run":
        measure = str(parse_measure(sort))
        sign = 1 if comparison.lower_is_better(measure) else -1
        values = {run: comparison.cell(run, measure).value for run in runs}
        # NaN has no place in an order; what is not known stands at the end.
        defined = [run for run in runs if not math.isnan(values[run])]
        undefined = [run for run in runs if math.isnan(values[run])]
        runs = [*sorted(defined, key=lambda run: sign * values[run]), *undefined]
    measures = list(comparison.measures)

    def place(pair: Pair) -> tuple[int, int, int]:
        return measures.index(pair.measure), runs.index(pair.run), runs.index(pair.other)

    return replace(comparison, runs=runs, pairs=sorted(comparison.pairs, key=place))
