"""`rageval build`: a test collection from questions, answers and a corpus, at once or step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rageval.cli._options import (
    Command,
    Group,
    asking_options,
    end_if_failed,
    nearest_command,
    output_option,
    settings_of,
    shared,
)
from rageval.cli._output import print_lines
from rageval.errors import UsageError

if TYPE_CHECKING:
    from rageval.building.collection import Plan


_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])
_output = output_option("-o", "--output", metavar="FILE", help="The file to write (default: print).")
_questions = shared("--questions", required=True)
_nuggets = shared("--nuggets", required=True, help="The nuggets.")
_judge = click.option("--judge", metavar="JUDGE", required=True, help="The model that writes.")
_depth_option = shared(
    "--depth", default=20, show_default=True, help="How many documents of each run are pooled."
)


def _fusion_options(command: _Decorated) -> _Decorated:
    """How runs are fused."""
    for option in (
        click.option(
            "--k",
            type=click.IntRange(0),
            default=60,
            show_default=True,
            help="The constant k of rrf: 1 / (k + rank).",
        ),
        click.option(
            "--fuse-depth",
            type=click.IntRange(1),
            default=100,
            show_default=True,
            help="How many documents of each run are fused.",
        ),
        click.option(
            "--method",
            type=click.Choice(("minmax", "rrf")),
            default="minmax",
            show_default=True,
            help="Sum of normalised scores, or of reciprocal ranks.",
        ),
    ):
        command = option(command)
    return command


def _filter_options(command: _Decorated) -> _Decorated:
    """Add the options that say what support is, and which questions stay."""
    for option in (
        click.option(
            "--filter",
            "rule",
            type=click.Choice(("strict", "documents", "none")),
            default="strict",
            show_default=True,
            help=(
                "Which questions are dropped: those with an unsupported nugget, those without a"
                " document, none."
            ),
        ),
        click.option(
            "--threshold",
            type=float,
            default=1.0,
            show_default=True,
            help="The lowest grade that counts as support.",
        ),
    ):
        command = option(command)
    return command


@click.command("fuse", cls=Command)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@_fusion_options
@_output
def _fuse(runs: tuple[str, ...], output: Path | None, **options: Any) -> None:
    """Fuse runs into one. Sums are exact and written in full, so only equal ones tie."""
    from rageval.building.collection import fuse

    _deliver(fuse(runs, options["method"], options["fuse_depth"], options["k"]), output)


@click.command("nuggetize", cls=Command)
@click.argument("questions", metavar="QUESTIONS")
@_judge
@_output
@asking_options
def _nuggetize(questions: str, judge: str, output: Path | None, **options: Any) -> None:
    """Write the nuggets of every question, from its accepted answer."""
    from rageval.building.collection import nuggetize

    lines, failed = nuggetize(questions, judge, settings_of(options), _say)
    _deliver(lines, output)
    end_if_failed(failed, "lists of nuggets")


@click.command("variants", cls=Command)
@click.argument("questions", metavar="QUESTIONS")
@_nuggets
@_judge
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FOLDER")
@asking_options
def _variants(questions: Any, nuggets: Any, judge: str, output: Path, **options: Any) -> None:
    """Write the texts to search with, one file for each setting, for any retriever to read."""
    from rageval.building.collection import write_variants

    lost = write_variants(questions, nuggets, judge, output, settings_of(options), _say)
    end_if_failed(lost, "query variants")


@click.command("pool", cls=Command)
@click.argument("runs", nargs=-1, required=True, metavar="[SETTING=]RUN...")
@_depth_option
@shared("--questions", help="For --dry-run: the questions.")
@shared("--nuggets", help="For --dry-run: the nuggets, if they are written.")
@shared("--corpus", help="For --dry-run: the texts, to count tokens.")
@click.option("--judge", "judges", multiple=True, metavar="JUDGE", help="For --dry-run: whose price.")
@shared("--dry-run", help="Show depths and sources against calls, tokens and dollars.")
@_output
def _pool(runs: tuple[str, ...], depth: int, output: Path | None, **options: Any) -> None:
    """Pool the top of runs: the documents to judge, with the runs and ranks they come from."""
    from rageval.building.collection import forecast_pool, pool_files

    if options.pop("dry_run"):
        print_lines(forecast_pool(runs, depth, **options))
    else:
        _deliver(pool_files(runs, depth), output)


@click.command("support", cls=Command)
@click.argument("pooled", metavar="POOL")
@_questions
@_nuggets
@shared("--corpus", required=True, help="The texts.")
@click.option("--judge", "judges", multiple=True, required=True, metavar="JUDGE", help="Who judges.")
@_output
@asking_options
def _support(
    pooled: str,
    questions: Any,
    nuggets: Any,
    corpus: Any,
    judges: tuple[str, ...],
    output: Path | None,
    **options: Any,
) -> None:
    """Judge which pooled documents support which nuggets: up to 20 documents and all nuggets a call."""
    from rageval.building.collection import judge_support

    lines, failed = judge_support(pooled, questions, nuggets, corpus, judges, settings_of(options))
    _deliver(lines, output)
    end_if_failed(failed)


@click.command(name="filter", cls=Command)
@click.argument("judgements", metavar="SUPPORT.jsonl")
@_questions
@_nuggets
@_filter_options
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FOLDER")
def _filter(judgements: str, questions: Any, nuggets: Any, threshold: float, rule: str, output: Path) -> None:
    """Keep the questions whose nuggets are supported, and say how many were dropped and why."""
    from rageval.building.collection import filter_questions

    print_lines(filter_questions(judgements, questions, nuggets, output, threshold, rule))


@click.command("qrels", cls=Command)
@click.argument("judgements", metavar="JUDGED.jsonl")
@click.option(
    "--grade",
    "form",
    type=click.Choice(("nuggets", "best", "count")),
    default="nuggets",
    show_default=True,
    help="A row a nugget; or a document's best grade, or for how many nuggets it has --rel or better.",
)
@click.option("-l", "--rel", type=int, default=1, show_default=True, help="The lowest grade that counts.")
@_output
def _qrels(judgements: str, form: str, rel: int, output: Path | None) -> None:
    """Write judgements of documents as qrels, such as those of the rubric answerability (EXAM++)."""
    from rageval.building.collection import graded
    from rageval.files.trec import qrel_lines

    found = graded(judgements, form, rel)
    if found.failed:
        click.echo(f"rageval: {found.failed:,} judgements failed and are in no qrels", err=True)
    if found.stopped and output is None:
        raise UsageError(
            f"{judgements}: judging stopped at a claim, which is noted beside the qrels; expected -o FILE"
        )
    _deliver(qrel_lines(found.qrels), output)
    if found.stopped and output is not None:
        from rageval.files.plans import note_asked

        asked = {(row.query_id, row.doc_id): dict[str, int]() for row in found.qrels}
        note_asked(output, asked, "; ".join(found.stopped))


@click.command("audit", cls=Command)
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option(
    "--sample", type=click.IntRange(1), default=60, show_default=True, help="How many questions to look at."
)
@shared("--seed", default=1, help="The same seed draws the same sample.")
@shared("--corpus")
@click.option("--read", "labelled", metavar="FILE", help="A sample that people have labelled.")
@_output
def _audit(
    folder: Path | None, sample: int, seed: int, corpus: Any, labelled: str | None, output: Path | None
) -> None:
    """Write a sample of FOLDER's questions for people to label; or --read it, for FreshStack's Table 5."""
    from rageval.building.audit import figure_lines, sample_lines

    if labelled is not None:
        lines, left_open = figure_lines(labelled)
        print_lines(lines)
        if left_open:
            click.echo(f"rageval: {left_open:,} lines are of questions not labelled yet, left out", err=True)
        return
    if folder is None or corpus is None:
        raise UsageError("expected the folder of a collection and --corpus FILE, or --read LABELLED.jsonl")
    _deliver(sample_lines(folder, corpus, sample, seed), output)


_STEPS = (_fuse, _nuggetize, _variants, _pool, _support, _filter, _qrels, _audit)


def _say(message: str) -> None:
    click.echo(f"rageval: {message}", err=True)


def _deliver(lines: Iterable[str], output: Path | None) -> None:
    """Print the lines, or write them to a file."""
    if output is None:
        print_lines(lines)
    else:
        from rageval.files.writing import write_lines

        write_lines(output, lines)


_ALL = "all"


class _Steps(Group):
    """Sub-commands; what names none of them is the whole way."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            if hint := nearest_command(args[0], self.commands):
                raise UsageError(f"{args[0]}: no such step and no file{hint}")
            args = [_ALL, *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Steps, no_args_is_help=True)
def build() -> None:
    """Build a test collection: `rageval build QUESTIONS`, or step by step.

    \b
    rageval build questions.jsonl --corpus corpus.jsonl --judge openai:MODEL -o collection
    rageval build questions.jsonl --corpus corpus.jsonl --judge openai:MODEL -o collection --dry-run
    rageval build fuse bm25.trec dense.trec -o fused.trec
    rageval build audit collection --sample 60 --corpus corpus.jsonl -o audit.jsonl
    """


@build.command(name=_ALL)
@click.argument("questions", metavar="QUESTIONS")
@click.option("--corpus", metavar="FILE", required=True, help="JSON lines with an id and a text.")
@click.option("--judge", metavar="JUDGE", help="Who writes nuggets and query variants, and judges support.")
@click.option(
    "--support-judge",
    "support_judges",
    multiple=True,
    metavar="JUDGE",
    help="Who judges support in place of --judge; of several, the majority decides.",
)
@click.option("--nuggets", metavar="FILE", help="Nuggets that are there already.")
@shared(
    "--run",
    metavar="[SETTING=]FILE",
    help="A run to pool (default: what BM25 finds for the question, its variants, the answer, the nuggets).",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The new collection.")
@_fusion_options
@_depth_option
@click.option("--unfused", is_flag=True, help="Also pool each run, besides the fusion of each setting.")
@_filter_options
@asking_options
@shared("--dry-run", help="Show the pool by depth and breadth, and what judging costs.")
def _everything(output: Path, **options: Any) -> None:
    """Do all steps: nuggets, query variants, fusion, pool, support and filter.

    If it is stopped, run the same command again: it continues, and no reply is paid for twice.
    """
    from rageval.building.collection import build as build_all
    from rageval.building.collection import forecast

    plan = _plan(output, options)
    if options["dry_run"]:
        print_lines(forecast(plan))
        return
    built = build_all(plan, _say)
    print_lines(built.lines(plan))
    end_if_failed(built.failed)


def _plan(folder: Path, options: dict[str, Any]) -> Plan:
    from rageval.building.collection import Plan, setting_of

    names = ("questions", "corpus", "judge", "support_judges", "nuggets", "method", "fuse_depth", "k")
    return Plan(
        folder=folder,
        runs=tuple(map(setting_of, options["runs"])),
        settings=settings_of(options),
        **{name: options[name] for name in (*names, "depth", "unfused", "threshold", "rule")},
    )


for step in _STEPS:
    build.add_command(step)
