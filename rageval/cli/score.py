"""`rageval score`, the default command: runs and judgements in, a value a measure out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval.errors import InputError, MeasureError, UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.evaluation import Evaluator
    from rageval.scores import Scores
    from rageval.sources import RunSource

FORMATS = ("trec", "ir_measures", "ndeval", "json", "jsonl", "csv", "md", "latex", "table")
GATE_FAILED = 1
TIES = ("trec", "rank", "docid_asc", "input", "error")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("words", nargs=-1, metavar="RUN... QRELS [MEASURE...]")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURES",
    help="What to measure: alpha_ndcg@10, 'nDCG@10 AP', official:freshstack. See: rageval measures.",
)
@click.option("-q", "--by-query", is_flag=True, help="Also print the value of every query.")
@click.option("-n", "--no-summary", is_flag=True, help="Do not print the means.")
@click.option(
    "--format", "style", type=click.Choice(FORMATS), help="Default: table on a terminal, else trec."
)
@click.option(
    "-p",
    "--places",
    type=click.IntRange(0, 17),
    help="Decimal places to print (default 4; 6 in ndeval's format).",
)
@click.option("-l", "--rel", type=int, help="The lowest grade that counts as relevant (default 1).")
@click.option("-M", "--depth", type=click.IntRange(1), help="Only the first N documents of each ranking.")
@click.option("-J", "--judged-only", is_flag=True, help="Take unjudged documents out first.")
@click.option(
    "--ties",
    type=click.Choice(TIES),
    default="trec",
    show_default=True,
    help="Order of equal scores: docid descending (trec), ascending, rank column, file; or refuse.",
)
@click.option(
    "--intersection",
    is_flag=True,
    help="Average over queries in both run and judgements (default: all judged; a missing one scores 0).",
)
@click.option(
    "-c",
    "--complete",
    is_flag=True,
    hidden=True,
    help="Average over all judged queries, as trec_eval -c: the default here.",
)
@click.option(
    "--zero-rel",
    type=click.Choice(("zero", "skip", "nan")),
    default="zero",
    show_default=True,
    help="A query with nothing relevant: counts as 0, is left out, is undefined.",
)
@click.option(
    "--dedup", type=click.Choice(("first",)), help="Accept documents ranked twice, and keep the first."
)
@click.option(
    "--group-by",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Mean of the means over groups; FILE has lines 'query_id group'.",
)
@click.option("--provider", metavar="NAME", help="Let this provider of ir_measures compute.")
@click.option(
    "--compat",
    type=click.Choice(("ndeval", "freshstack", "trec_eval")),
    help="Another tool's rules, to match its numbers.",
)
@click.option(
    "--fail-under", multiple=True, metavar="MEASURE=VALUE", help="Exit 1 if the mean of any run is lower."
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Score this many runs at a time.",
)
@click.option(
    "--comments",
    type=click.Choice(("error", "skip", "data")),
    default="error",
    show_default=True,
    help="Lines that begin with '#'.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=NUMBER",
    help="Raise a safety limit: line, record, id, grade, ratio, unpacked (as in line=4M).",
)
@click.pass_context
def score(ctx: click.Context, /, words: tuple[str, ...], **options: Any) -> None:
    """Score runs against judgements.

    Files are told apart by content: runs have 6 columns, judgements 4. '-' is standard input, and
    compressed files are read as they are. A word that is no file is a measure or an ir_datasets id.

    \b
    rageval run.trec qrels.nugget -m alpha_ndcg@10
    rageval a.run b.run qrels -m coverage@20,recall@50 -q
    zcat run.gz | rageval - qrels -m 'nDCG@10 AP'
    """
    from rageval.cli import output, printing

    gates = [_gate(text) for text in options["fail_under"]]
    evaluator, sources = _prepared(words, options, gates)
    style = options["style"] or ("table" if printing.on_terminal() else "trec")
    results = []
    for scores in _evaluated(evaluator, sources, options["jobs"]):
        _tell(scores, evaluator)
        results.append(scores)
    passed = _gates_passed(results, gates)
    places = options["places"] if options["places"] is not None else (6 if style == "ndeval" else 4)
    layout = output.Layout(places, options["by_query"], not options["no_summary"])
    printing.print_lines(output.FORMATS[style](results, layout))
    ctx.exit(0 if passed else GATE_FAILED)


def _prepared(
    words: tuple[str, ...], options: dict[str, Any], gates: list[tuple[Any, float]]
) -> tuple[Evaluator, list[RunSource]]:
    """The judgements read and prepared, and the runs still to be read."""
    from rageval.cli.inputs import judgements, run_sources, sorted_out
    from rageval.evaluation import Evaluator, lowest_grade
    from rageval.files.limits import Limits
    from rageval.files.trec import Reading
    from rageval.measures.parsing import parse_measures

    reading = Reading(options["comments"], Limits().changed(options["limits"]))
    inputs = sorted_out(words, reading)
    typed = [*options["measures"], *inputs.measures]
    if not typed and not gates:
        raise UsageError(
            "no measure named; say -m alpha_ndcg@10, or -m official:freshstack (see: rageval measures)"
        )
    measures = list(dict.fromkeys([*parse_measures(typed), *(measure for measure, _ in gates)]))
    rules = {
        name: options[name]
        for name in ("ties", "depth", "judged_only", "intersection", "zero_rel", "rel", "compat", "provider")
    }
    groups = _groups(options["group_by"]) if options["group_by"] else None
    floor = lowest_grade(measures, options["rel"], options["judged_only"] or bool(options["provider"]))
    qrels = judgements(inputs, reading, floor)
    return Evaluator(measures, qrels, groups=groups, **rules), run_sources(
        inputs.runs, reading, options["dedup"]
    )


def _evaluated(evaluator: Evaluator, sources: list[RunSource], jobs: int) -> Iterator[Scores]:
    if jobs == 1 or len(sources) == 1:
        yield from map(evaluator.evaluate, sources)
        return
    from rageval.parallel import each_in_a_process

    sources = [source.in_memory() if source.is_stream else source for source in sources]
    yield from each_in_a_process(evaluator.evaluate, sources, jobs)


def _groups(path: Path) -> dict[str, str]:
    groups: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text: {error}") from None
    for number, line in enumerate(lines, 1):
        words = line.split("\t") if "\t" in line else line.split()
        if not words:
            continue
        if len(words) != 2:
            raise InputError(f"{path}:{number}: expected 2 columns (query_id group), found {len(words)}")
        if groups.setdefault(words[0], words[1]) != words[1]:
            raise InputError(
                f"{path}:{number}: query {visible(words[0])} has a group already: {visible(groups[words[0]])}"
            )
    return groups


def _gate(text: str) -> tuple[Any, float]:
    from rageval.measures.parsing import parse_measure

    name, equals, value = text.rpartition("=")
    try:
        least = float(value)
        if not equals or math.isnan(least):
            raise ValueError
        return parse_measure(name), least
    except MeasureError:
        raise
    except ValueError:
        raise UsageError(f"--fail-under {text!r}: expected MEASURE=VALUE, as in alpha_ndcg@10=0.5") from None


def _gates_passed(results: list[Scores], gates: list[tuple[Any, float]]) -> bool:
    """Whether every run passed every gate; a word on each that failed."""
    passed = True
    for scores in results:
        for measure, least in gates:
            value = scores[measure].value
            if not value >= least:
                passed = False
                click.echo(
                    f"rageval: {visible(scores.run)}: {measure} is {value:.4f}, below {least:g}", err=True
                )
    return passed


def _tell(scores: Scores, evaluator: Evaluator) -> None:
    from rageval.cli.remarks import remarks

    for remark in remarks(scores, evaluator):
        click.echo(f"rageval: {visible(scores.run)}: {remark}", err=True)
