"""`rageval compare`: runs, or systems that were judged, beside one another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval.cli.places import output_option
from rageval.cli.score import score
from rageval.errors import UsageError

if TYPE_CHECKING:
    from rageval.cli.inputs import Inputs
    from rageval.comparison import Comparison, Settings
    from rageval.files.trec import Reading
    from rageval.scores import Scores

FORMATS = ("table", "md", "latex", "csv", "json")
# What `score` takes, too; its other options stay at what they are when nothing is said.
_SHARED = {"measures", "places", "rel", "depth", "judged_only", "ties", "intersection", "zero_rel", "dedup"}
_SHARED |= {"provider", "compat", "complete", "bounds", "answers", "on_missing", "questions", "comments"}
_SHARED |= {"limits", "nuggets", "nuggets_in_qrels", "nothing_judged"}
_UNSAID = {"group_by": None, "weights": None, "jobs": 1}


def _with_options_of_score(command: click.Command) -> click.Command:
    command.params += [param for param in score.params if param.name in _SHARED]
    return command


@_with_options_of_score
@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("words", nargs=-1, metavar="RUN RUN... QRELS [MEASURE...]")
@click.option(
    "--baseline", default="best", metavar="RUN", help="Compare with this run (default: the best, by measure)."
)
@click.option("--all-pairs", is_flag=True, help="Compare every run with every other.")
@click.option(
    "--test",
    type=click.Choice(("randomisation", "t", "wilcoxon")),
    default="randomisation",
    show_default=True,
    help="Sign-flip randomisation (exact up to 30 queries), Student's t, Wilcoxon's signed ranks.",
)
@click.option(
    "--adjust",
    type=click.Choice(("holm", "max_t", "tukey", "none")),
    default="holm",
    show_default=True,
    help="For several comparisons: Holm; max-T (signs flipped together: sharper, most of all for runs that"
    " resemble one another); Tukey's HSD by shuffling (only where all runs' values are distributed alike).",
)
@click.option(
    "--interval",
    type=click.Choice(("bca", "percentile")),
    default="bca",
    show_default=True,
    help="Which bootstrap interval; measures of two values have Wilson's.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Of intervals and tests.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Of the detectable difference.")
@click.option(
    "--cluster",
    metavar="FIELD|FILE",
    help="Queries of one cluster are not independent: a field of the questions, or lines 'query_id cluster'.",
)
@click.option(
    "--sensitivity",
    is_flag=True,
    help="Also how often two runs would change places with one nugget less, another judge, one vote less.",
)
@output_option("--plot", metavar="FILE", help="Also draw intervals and differences: .png, .svg or .pdf.")
@click.option(
    "--draws",
    type=int,
    default=10_000,
    show_default=True,
    help="Of the randomisation, at least: many comparisons get more.",
)
@click.option("--resamples", type=int, default=4000, show_default=True, help="Of the bootstrap.")
@click.option("--seed", type=int, default=20130, show_default=True, help="The same seed, the same numbers.")
@click.option("--format", "style", type=click.Choice(FORMATS), help="Default: table on a terminal, else csv.")
def compare(words: tuple[str, ...], **options: Any) -> None:
    """Compare runs, or judged answers of several systems.

    Prints each run's mean with its bootstrap interval, the paired difference to the baseline with interval, p
    and effect size, wins, ties and losses, the smallest difference these queries could show and how many
    queries the observed one needs. A run that failed is not called worse, and equal runs are called equal.

    \b
    rageval compare a.run b.run c.run qrels -m alpha_ndcg@10
    rageval compare a.run b.run qrels -m 'nDCG@10 AP' --baseline a.run --format latex
    rageval compare judged.jsonl -m crag_score --all-pairs --adjust max_t --cluster domain
    """
    from rageval.cli import comparing, printing
    from rageval.cli.inputs import sorted_out
    from rageval.cli.remarks import said_of_sets
    from rageval.cli.running import refuse
    from rageval.files.limits import Limits
    from rageval.files.trec import Reading
    from rageval.measures.parsing import parse_measures
    from rageval.plots import checked_path, plot_comparison

    reading = Reading(options["comments"], Limits().changed(options["limits"]))
    inputs = sorted_out(words, reading)
    measures = parse_measures([*options["measures"], *inputs.measures])
    if not measures:
        raise UsageError("no measure named; say -m alpha_ndcg@10 (see: rageval measures)")
    options |= _UNSAID
    compared = _answers_compared if inputs.answers else _runs_compared
    plot = checked_path(options["plot"]) if options["plot"] else None
    found, results, remarks, refused = compared(inputs, measures, options, reading)
    typed = said_of_sets([*options["measures"], *inputs.measures])
    for remark in [*typed, *remarks, *found.remarks]:
        click.echo(f"rageval: {remark}", err=True)
    if plot is not None:
        plot_comparison(found, results, plot)
    places = options["places"] if options["places"] is not None else 4
    style = options["style"] or ("table" if printing.on_terminal() else "csv")
    printing.print_lines(comparing.FORMATS[style](found, places))
    refuse(refused)


def _runs_compared(
    inputs: Inputs, measures: list[Any], options: dict[str, Any], reading: Reading
) -> tuple[Comparison, list[Scores], list[str], list[str]]:
    from rageval.cli.running import compared as scored
    from rageval.cli.running import prepared, refuse, refuse_nuggets
    from rageval.cli.whatifs import under_every_completion, without_nuggets
    from rageval.comparison import compare
    from rageval.comparison.likeness import absent, alike

    refuse_nuggets(options)
    evaluator, given = prepared(inputs, measures, options, reading)
    settings = _settings(options, evaluator.qrels.query_ids, inputs.datasets)
    results, sources, said, refused = scored(evaluator, given, options)
    if len(results) < 2:
        refuse(refused)
    lacking = absent(sources, evaluator.qrels.query_ids)
    compared = compare(results, settings, absent=lacking, alike=alike(sources, evaluator.orders))
    if options["sensitivity"]:
        said += without_nuggets(evaluator, results, sources)
    if options["bounds"]:
        compared = under_every_completion(compared, evaluator, results, sources)
    return compared, results, said, refused


def _answers_compared(
    inputs: Inputs, measures: list[Any], options: dict[str, Any], reading: Reading
) -> tuple[Comparison, list[Scores], list[str], list[str]]:
    from rageval.cli.answering import judgements_of, scored
    from rageval.cli.whatifs import among_judges
    from rageval.comparison import compare

    grades = judgements_of(inputs, options, reading)
    results, said = scored(inputs, measures, options, grades)
    if options["sensitivity"]:
        said += among_judges(results, grades)
    return compare(results, _settings(options, grades.queries.words, inputs.answers)), results, said, []


def _settings(options: dict[str, Any], queries: list[str], sources: list[Any]) -> Settings:
    from rageval.cli.knowledge import groups_of
    from rageval.comparison import Settings

    names = ("baseline", "all_pairs", "test", "adjust", "interval", "level", "power", "draws", "resamples")
    clusters = None
    if options["cluster"]:
        clusters = groups_of(options["cluster"], queries, options["questions"], sources)
    chosen = {name: options[name] for name in (*names, "seed")}
    return Settings(clusters=clusters, clustered_by=Path(options["cluster"] or "").name, **chosen)
