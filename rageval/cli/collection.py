"""`rageval collection`: a test collection, built at once or step by step, and what a new run would take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import click

from rageval import options as opt
from rageval.building.audit import figure_lines, sample_lines
from rageval.building.collection import (
    Plan,
    check_runs,
    filter_questions,
    forecast,
    forecast_pool,
    fuse,
    graded,
    judge_support,
    nuggetize,
    pool_files,
    setting_of,
    write_variants,
)
from rageval.building.collection import build as built_from
from rageval.cli._options import (
    Asking,
    Group,
    takes_options,
)
from rageval.cli._output import deliver, end_if_failed, print_lines, say
from rageval.errors import UsageError
from rageval.files.adaptive import note_asked
from rageval.files.trec import qrel_lines
from rageval.judges.panel import Settings
from rageval.options import settings_from


@click.group(cls=Group)
def collection() -> None:
    """Build a test collection from questions, answers and a corpus, at once or step by step, and extend it.

    \b
    rageval collection build questions.jsonl --corpus corpus.jsonl --judge openai:MODEL -o mine --dry-run
    rageval collection build questions.jsonl --corpus corpus.jsonl --judge openai:MODEL -o mine
    rageval collection fuse bm25.trec dense.trec -o fused.trec
    rageval collection audit mine --sample 60 --corpus corpus.jsonl -o audit.jsonl
    rageval collection check new.run --against mine
    """


class Fusing(opt.Options):
    """Options for fusing runs."""

    method: Annotated[Literal["minmax", "rrf"], opt.Option("Sum normalized scores, or reciprocal ranks.")] = (
        "minmax"
    )
    fuse_depth: Annotated[int, opt.Option("Documents of each run to fuse.", least=1)] = 100
    k: Annotated[int, opt.Option("The constant k of rrf: 1 / (k + rank).", least=0)] = 60


class Filtering(opt.Options):
    """Options for support and for which questions to keep."""

    threshold: Annotated[float, opt.Option("Lowest grade that counts as support.")] = 1.0
    rule: Annotated[
        Literal["strict", "documents", "none"],
        opt.Option(
            "Which questions to drop: those with an unsupported nugget, those without a document, or none.",
            ("--filter",),
        ),
    ] = "strict"


class Options(Fusing, Filtering, Asking):
    """The options of `rageval collection build`."""

    nuggets: Annotated[str | None, opt.read("Existing nuggets.", metavar="FILE")] = None
    corpus: Annotated[str, opt.read("The corpus: JSON lines with an id and a text.", metavar="FILE")]
    runs: Annotated[
        tuple[str, ...],
        opt.read(
            "A run to pool (default: BM25 results for the question, its variants, the answer and the"
            " nuggets).",
            ("--run",),
            metavar="[SETTING=]FILE",
        ),
    ] = ()
    depth: Annotated[opt.Depth, "Documents of each run to pool."] = 20
    judge: Annotated[
        opt.Judge | None, "The model that writes nuggets and query variants, and judges support."
    ] = None
    support_judges: Annotated[
        tuple[str, ...],
        opt.asked(
            "The model that judges support instead of --judge; several decide by majority.",
            ("--support-judge",),
            metavar="JUDGE",
        ),
    ] = ()
    dry_run: Annotated[opt.DryRun, "Show the pool by depth and breadth, and the cost of judging."] = False
    output: Annotated[
        opt.File,
        opt.printed("Folder for the new collection.", ("-o", "--output"), kind="path"),
    ]


@collection.command(
    "build",
    first=(
        "corpus",
        "output",
        "judge",
        "support_judges",
        "nuggets",
        "runs",
        "depth",
        "batch",
        "max_cost",
        "dry_run",
    ),
)
@click.argument("questions", metavar="QUESTIONS")
@takes_options
def _build(questions: str, options: Options) -> None:
    """Run all steps: nuggets, query variants, fusion, pool, support and filter.

    If it is stopped, run the same command again: it continues, and no reply is paid for twice.
    """
    runs, settings = tuple(map(setting_of, options.runs)), settings_from(Settings, options)
    plan = settings_from(
        Plan, options, questions=questions, folder=options.output, runs=runs, settings=settings
    )
    if options.dry_run:
        print_lines(forecast(plan))
        return
    built = built_from(plan, say)
    print_lines(built.lines(plan))
    end_if_failed(built.failed)


@collection.command(
    "nuggetize", first=("judge", "output", "batch", "price", "max_cost", "max_calls", "store", "retry")
)
@click.argument("questions", metavar="QUESTIONS")
@takes_options
def _nuggetize(questions: str, judge: opt.Judge, asking: Asking, output: opt.Output | None = None) -> None:
    """Write the nuggets of every question, from its accepted answer."""
    lines, failed = nuggetize(questions, judge, settings_from(Settings, asking), say)
    deliver(lines, output)
    end_if_failed(failed, "lists of nuggets")


@collection.command(
    "variants",
    first=("nuggets", "judge", "output", "batch", "price", "max_cost", "max_calls", "store", "retry"),
)
@click.argument("questions", metavar="QUESTIONS")
@takes_options
def _variants(
    questions: Any,
    nuggets: Annotated[opt.Nuggets, "The nuggets."],
    judge: opt.Judge,
    output: opt.Folder,
    asking: Asking,
) -> None:
    """Write the texts to search with, one file for each setting, for any retriever to read."""
    lost = write_variants(questions, nuggets, judge, output, settings_from(Settings, asking), say)
    end_if_failed(lost, "query variants")


@collection.command("fuse")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@takes_options
def _fuse(runs: tuple[str, ...], fusing: Fusing, output: opt.Output | None = None) -> None:
    """Fuse runs into one. Sums are exact and written in full, so only equal ones tie."""
    deliver(fuse(runs, fusing.method, fusing.fuse_depth, fusing.k), output)


class PoolOptions(opt.Options):
    """The options of `rageval collection pool`."""

    depth: Annotated[opt.Depth, "Documents of each run to pool."] = 20
    questions: Annotated[opt.Questions, "With --dry-run: the questions."] = None
    nuggets: Annotated[opt.Nuggets, "With --dry-run: the nuggets, if written."] = None
    corpus: Annotated[opt.Corpus, "With --dry-run: the texts, to count tokens."] = None
    judges: Annotated[opt.Judges, "With --dry-run: the model whose price to use."] = ()
    dry_run: Annotated[opt.DryRun, "Show depths and sources with calls, tokens and dollars."] = False
    output: opt.Output | None = None


@collection.command("pool")
@click.argument("runs", nargs=-1, required=True, metavar="[SETTING=]RUN...")
@takes_options
def _pool(runs: tuple[str, ...], options: PoolOptions) -> None:
    """Pool the top documents of runs for judging, with the runs and ranks they come from."""
    if options.dry_run:
        texts = {"questions": options.questions, "nuggets": options.nuggets, "corpus": options.corpus}
        print_lines(forecast_pool(runs, options.depth, **texts, judges=options.judges))
    else:
        deliver(pool_files(runs, options.depth), options.output)


@collection.command(
    "support",
    first=(
        "questions",
        "nuggets",
        "corpus",
        "judges",
        "output",
        "vote",
        "batch",
        "price",
        "max_cost",
        "store",
    ),
)
@click.argument("pooled", metavar="POOL")
@takes_options
def _support(
    pooled: str,
    questions: opt.Questions,
    nuggets: Annotated[opt.Nuggets, "The nuggets."],
    corpus: Annotated[opt.Corpus, "The texts."],
    judges: Annotated[opt.Judges, "The judge."],
    asking: Asking,
    output: opt.Output | None = None,
) -> None:
    """Judge which pooled documents support which nuggets, up to 20 documents and all nuggets per call."""
    lines, failed = judge_support(pooled, questions, nuggets, corpus, judges, settings_from(Settings, asking))
    deliver(lines, output)
    end_if_failed(failed)


@collection.command("filter")
@click.argument("judgements", metavar="SUPPORT.jsonl")
@takes_options
def _filter(
    judgements: str,
    questions: opt.Questions,
    nuggets: Annotated[opt.Nuggets, "The nuggets."],
    output: opt.Folder,
    filtering: Filtering,
) -> None:
    """Keep the questions whose nuggets are supported; print how many were dropped and why."""
    rule, threshold = filtering.rule, filtering.threshold
    print_lines(filter_questions(judgements, questions, nuggets, output, threshold, rule))


@collection.command("qrels")
@click.argument("judgements", metavar="JUDGED.jsonl")
@takes_options
def _qrels(
    judgements: str,
    form: Annotated[
        Literal["nuggets", "best", "count"],
        opt.Option(
            "Write one row for each nugget, or one for each document: its best grade, or how many nuggets"
            " it has with --rel or better.",
            ("--grade",),
        ),
    ] = "nuggets",
    rel: Annotated[opt.Rel, "Lowest grade that counts."] = 1,
    output: opt.Output | None = None,
) -> None:
    """Write judgements of documents as qrels, such as those of the rubric answerability (EXAM++)."""
    converted = graded(judgements, form, rel)
    if converted.failed:
        say(f"{converted.failed:,} judgements failed and are in no qrels")
    if converted.is_adaptive and output is None:
        raise UsageError(
            f"{judgements}: earlier judgements chose what was judged, which needs a note beside the qrels;"
            " add -o FILE"
        )
    deliver(qrel_lines(converted.qrels), output)
    if converted.is_adaptive and output is not None:
        note_asked(output, dict.fromkeys((row.query_id, row.doc_id) for row in converted.qrels))


@collection.command("audit")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@takes_options
def _audit(
    folder: Path | None,
    sample: Annotated[int, opt.Option("Number of questions to check.", least=1)] = 60,
    seed: Annotated[opt.Seed, "Random seed; the same seed draws the same sample."] = 1,
    corpus: opt.Corpus = None,
    labeled: Annotated[
        str | None, opt.Option("A labeled sample to read.", ("--read",), metavar="FILE")
    ] = None,
    output: opt.Output | None = None,
) -> None:
    """Write a sample of FOLDER's questions to label; --read the labels for FreshStack's Table 5."""
    if labeled is not None:
        lines, left_open = figure_lines(labeled)
        print_lines(lines)
        if left_open:
            say(f"{left_open:,} lines belong to questions that are not fully labeled; left out")
        return
    if folder is None or corpus is None:
        raise UsageError("expected the folder of a collection and --corpus FILE, or --read LABELED.jsonl")
    deliver(sample_lines(folder, corpus, sample, seed), output)


@collection.command("check")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@takes_options
def _check(
    runs: tuple[str, ...],
    against: Annotated[
        opt.File,
        opt.Option(
            "Judgements, a pool, or the folder of a collection (default: this folder).",
            kind="path",
            shows=False,
        ),
    ] = Path(),
    depth: Annotated[opt.Depth, "Documents of each run in the new pool."] = 20,
    output: Annotated[opt.Output | None, "The new pool."] = None,
) -> None:
    """Show how much of RUN is unjudged at several depths, and the cost of judging it.

    With -o, write the unjudged documents as a pool for `rageval collection support`.
    """
    print_lines(check_runs(runs, against, depth, output))
