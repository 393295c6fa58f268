"""`rageval diagnose`: where what answers lack was lost, by the retriever or by the generator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import click

from rageval import options as opt
from rageval.cli._inputs import sort_words
from rageval.cli._options import Command, FileOrId, OfSpans, reading_of, takes_options
from rageval.cli._output import TableFormat, deliver, say
from rageval.comparison import diagnose as diagnosed
from rageval.errors import UsageError
from rageval.scoring.answers import read_judgements
from rageval.scoring.query_groups import clusters_of, slices_of
from rageval.scoring.runs import EVERYTHING
from rageval.scoring.runs_from_files import judgements_of, run_sources
from rageval.table import NUMBER, Code, Column, Prose, Table, lines
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison import Diagnosis
    from rageval.files.trec import Reading
    from rageval.scoring.qrels import Qrels


class Options(OfSpans):
    """The options of `rageval diagnose`."""

    rel: Annotated[opt.Rel, "Lowest grade that counts as support."] = 1
    on_missing: opt.OnMissing = "error"
    questions: Annotated[
        opt.Questions, "The questions, with fields for --by, right answers, and whether they can be answered."
    ] = None
    nuggets: Annotated[opt.Nuggets, "The nuggets: their texts, and which are vital."] = None
    passages: Annotated[
        opt.Passages, "Without --qrels: texts of the retrieved documents, JSON lines with an id and a text."
    ] = None
    runs: Annotated[str, opt.read("The run retrieved for these answers.", ("--run",), metavar="FILE")]
    qrels: Annotated[
        opt.Qrels,
        "Which documents support which nuggets, or spans. Default: documents with the words of the right"
        " answer; needs --questions and --passages.",
    ] = None
    depth: Annotated[
        opt.Depth | None, "Number of passages each answer was made from (default: all retrieved ones)."
    ] = None
    comments: opt.Comments = "error"
    limits: opt.Limits = ()
    level: Annotated[opt.Level, "Confidence level of the intervals."] = 0.95
    resamples: opt.Resamples = 4000
    system: Annotated[
        str | None, opt.gated("Which judged system, if there are several.", metavar="RUN_ID")
    ] = None
    cluster: opt.Cluster | None = None
    by: Annotated[opt.By | None, "Print one row for each value of a field, such as domain,question_type."] = (
        None
    )
    style: Annotated[
        TableFormat,
        "Output format; CSV, TSV and JSON lines contain only the shares, or those of --by.",
    ] = "table"
    output: opt.Output | None = None
    seed: opt.Seed = 20130


@click.command(
    cls=Command,
    first=("runs", "qrels", "depth", "questions", "passages", "nuggets", "by", "system", "style", "output"),
)
@click.argument("judged", nargs=-1, required=True, metavar="JUDGED.jsonl...", type=FileOrId("answers"))
@takes_options
def diagnose(judged: tuple[str, ...], options: Options) -> None:
    """Show whether the retriever or the generator lost the nuggets that answers lack.

    Prints six shares of the nuggets that add up to 1: used, lost by the generator, from memory, cut, missed,
    gap. Each comes with its range given unjudged passages. Also prints what a perfect retriever and a perfect
    generator would add, and the ten questions with the largest losses. Without --qrels, the right answer is
    the only nugget.

    \b
    rageval diagnose judged.jsonl --run run.trec --qrels qrels.nugget --depth 10
    rageval diagnose judged.jsonl --run run.trec --qrels spans.jsonl --chunks new.jsonl --sources docs
    rageval diagnose crag.jsonl --run run.trec --questions questions.jsonl --passages passages.jsonl
    """
    reading = reading_of(options.comments)
    run, gold = _read_run_and_gold(options, reading)
    table = read_judgements(list(judged))
    queries = list(map(str, table.queries.words))
    clusters, clustered_by = clusters_of(options.cluster, queries, options.questions, judged)
    diagnosis = diagnosed(
        table,
        run,
        gold,
        groups=slices_of(options.by, queries, options.questions, judged),
        passages=options.passages,
        depth=options.depth,
        rel=options.rel,
        system=options.system,
        nuggets=options.nuggets,
        questions=options.questions,
        on_missing=options.on_missing,
        level=options.level,
        resamples=options.resamples,
        seed=options.seed,
        clusters=clusters,
        clustered_by=clustered_by,
    )
    say(*diagnosis.remarks)
    style = options.style
    deliver(
        lines(
            style,
            lambda: _diagnosis_parts(diagnosis, style),
            lambda: _diagnosis_table(diagnosis),
            record=diagnosis.as_dict,
        ),
        options.output,
    )


def _read_run_and_gold(options: Options, reading: Reading) -> tuple[Any, Qrels | None]:
    """Return the run and the judgements, or what the spans come to."""
    run, qrels = options.runs, options.qrels
    # What is about judgements of documents says nothing where there are none, and the other way round.
    of_spans = {name: getattr(options, name) for name in ("chunks", "sources", "overlap", "stale")}
    no_use = {"passages": options.passages} if qrels is not None else {"nuggets": options.nuggets} | of_spans
    for name, value in no_use.items():
        if value is not None:
            other = "without" if qrels is not None else "with"
            raise UsageError(f"--{name} applies only {other} --qrels")
    inputs = sort_words((run,) if qrels is None else (run, qrels), reading)
    if not inputs.files["run"]:
        raise UsageError(f"--run {visible(run)}: expected a run")
    gold = None if qrels is None else judgements_of(inputs, EVERYTHING, options)
    return run_sources(inputs.files["run"], reading, None)[0], gold


def _diagnosis_table(diagnosis: Diagnosis) -> Table:
    """Return the shares, or with --by those of every slice."""
    shares, *_ = diagnosis.tables()
    if not diagnosis.by:
        return shares
    kinds = list(diagnosis.shares)
    columns = [Column("field"), Column("slice"), Column("questions", NUMBER, 0)]
    rows = [
        [field, name, slice_shares["questions"], *map(slice_shares.__getitem__, kinds)]
        for field, slices in diagnosis.by.items()
        for name, slice_shares in slices.items()
    ]
    return Table([*columns, *(Column(kind, NUMBER) for kind in kinds)], rows, 2)


def _diagnosis_parts(diagnosis: Diagnosis, style: str) -> Iterator[Table | str]:
    """Yield the shares, what could be gained, slices, refusals and the worst questions."""
    yield f"{diagnosis.run}: recall {diagnosis.recall:.4f}, {diagnosis.in_passages:.4f} in the passages"
    *tables, worst = diagnosis.tables()
    for table in tables:
        yield from ("", table)
    yield ""
    if style != "table":
        yield worst
        return
    # What was lost is too long for a column of a terminal.
    yield "the questions with the largest losses:"
    for query, recall, lost in worst.rows:
        yield Prose(f"{query} (recall {recall:.4f}): {lost}")
    yield from ("", Code(diagnosis.signature))
