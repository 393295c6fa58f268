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
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.building.collection import Plan
    from rageval.records import Nugget
    from rageval.scoring.runs import Run


_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])
_output = output_option("-o", "--output", metavar="FILE", help="Where to.")
_questions = shared("--questions", required=True)
_nuggets = shared("--nuggets", required=True, help="The nuggets.")
_judge = click.option("--judge", metavar="JUDGE", required=True, help="Who writes.")
_depth_option = shared("--depth", default=20, show_default=True, help="Documents of each run pooled.")


def _fusion_options(command: _Decorated) -> _Decorated:
    """How runs are fused."""
    for option in (
        click.option("--k", type=click.IntRange(0), default=60, show_default=True, help="Of rrf."),
        click.option(
            "--fuse-depth", type=click.IntRange(1), default=100, show_default=True, help="Of each run fused."
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
            help="Which questions fall: those with an unsupported nugget, those without a document, none.",
        ),
        click.option(
            "--threshold", type=float, default=1.0, show_default=True, help="Grade from which on is support."
        ),
    ):
        command = option(command)
    return command


@click.command("fuse", cls=Command)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@_fusion_options
@_output
def _fuse(runs: tuple[str, ...], output: Path | None, **options: Any) -> None:
    """Fuse runs into one. What ties is what is equal: sums are exact, and written in full."""
    from rageval.building.fusion import fused, run_lines
    from rageval.scoring.sources import read_run

    found = map(read_run, runs)
    _deliver(run_lines(fused(found, options["method"], options["fuse_depth"], options["k"])), output)


@click.command("nuggetize", cls=Command)
@click.argument("questions", metavar="QUESTIONS")
@_judge
@_output
@asking_options
def _nuggetize(questions: str, judge: str, output: Path | None, **options: Any) -> None:
    """Write the nuggets of every question, from its accepted answer."""
    from rageval.building.searching import require_answers
    from rageval.files.nuggets import write_nuggets
    from rageval.files.questions import read_questions

    asked = [question for question in read_questions(questions) if question.gold]
    require_answers(asked)
    found, failed = _written("nuggetize", judge, asked, options)
    texts = {question.query_id: question.text for question in asked}
    _deliver(write_nuggets(found, texts), output)
    end_if_failed(failed, "lists of nuggets")


@click.command("variants", cls=Command)
@click.argument("questions", metavar="QUESTIONS")
@_nuggets
@_judge
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FOLDER")
@asking_options
def _variants(questions: Any, nuggets: Any, judge: str, output: Path, **options: Any) -> None:
    """Write the texts to search with, one file for each setting, for any retriever to read."""
    from rageval.building import searching as known
    from rageval.building.collection import refuse_inputs, write
    from rageval.files.questions import read_questions

    refuse_inputs(output, _files(questions, nuggets), [f"{setting}.tsv" for setting in known.SETTINGS])
    asked = list(read_questions(questions))
    written: dict[str, dict[str, list[str]]] = {}
    lost = 0
    for setting in known.WRITTEN:
        texts, failed = _written(setting, judge, asked, options)
        lost += failed
        for text in texts:
            written.setdefault(setting, {}).setdefault(text.query_id, []).append(text.text)
    for setting, topics in known.topics(asked, _banks_in(nuggets), written).items():
        write(output / f"{setting}.tsv", known.topic_lines(topics))
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
    from rageval.building.pools import pool_lines, pooled

    found = _named(runs)
    if not options["dry_run"]:
        _deliver(pool_lines(pooled(found, depth)), output)
        return
    from rageval.building import support as supporting
    from rageval.building.collection import DEPTHS, forecast
    from rageval.files.questions import read_questions
    from rageval.records import Question

    deepest = pooled(found, max(*DEPTHS, depth))
    questions = {query: Question(query, "") for query in deepest}
    if options["questions"]:
        questions = {question.query_id: question for question in read_questions(options["questions"])}
    texts = None
    if options["corpus"]:
        texts = supporting.texts_of(options["corpus"], supporting.documents_of(deepest))
    banks = _banks_in(options["nuggets"])
    print_lines(forecast(found, questions, banks, texts, options["judges"], depth))


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
    from rageval.building import support as supporting
    from rageval.building.pools import read_pool
    from rageval.files.judgements import judgement_line
    from rageval.files.questions import read_questions
    from rageval.judges.panel import judged_by
    from rageval.judges.rubric import rubric_named

    known = {question.query_id: question for question in read_questions(questions)}
    found = {query: docs for query, docs in read_pool(pooled).items() if query in known}
    texts = supporting.texts_of(corpus, supporting.documents_of(found))
    material = supporting.material_of(found, known, _banks_in(nuggets), texts)
    options["vote"] = supporting.vote_of(judges, options["vote"])
    said = list(judged_by(judges, rubric_named(supporting.RUBRIC), material, settings_of(options)))
    _deliver(map(judgement_line, said), output)
    end_if_failed(len(supporting.failed_pairs(said)))


@click.command(name="filter", cls=Command)
@click.argument("judgements", metavar="SUPPORT.jsonl")
@_questions
@_nuggets
@_filter_options
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FOLDER")
def _filter(judgements: str, questions: Any, nuggets: Any, threshold: float, rule: str, output: Path) -> None:
    """Keep the questions whose nuggets are supported, and say how many fell and why."""
    from rageval.building.collection import refuse_inputs, write_collection
    from rageval.building.support import counts, read_support, report
    from rageval.files.questions import read_questions

    refuse_inputs(output, _files(judgements, questions, nuggets))
    said = read_support(judgements)
    known = {question.query_id: question for question in read_questions(questions)}
    fates = write_collection(output, known, _banks_in(nuggets), said, threshold, rule)
    print_lines(report(counts(fates, rule)))


@click.command("audit", cls=Command)
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--sample", type=click.IntRange(1), default=60, show_default=True, help="Questions to look at.")
@shared("--seed", default=1, help="Of the sample.")
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


_STEPS = (_fuse, _nuggetize, _variants, _pool, _support, _filter, _audit)


def _banks_in(source: Any) -> dict[str, list[Nugget]]:
    """Return the nuggets of a file, by query."""
    from rageval.files.nuggets import read_nuggets

    banks: dict[str, list[Nugget]] = {}
    for nugget in read_nuggets(source) if source else ():
        banks.setdefault(nugget.query_id, []).append(nugget)
    return banks


def _files(*sources: Any) -> list[str]:
    """Those that are files, and no data sets."""
    return [source for source in sources if isinstance(source, str)]


def _deliver(lines: Iterable[str], output: Path | None) -> None:
    """Print the lines, or write them to a file."""
    if output is None:
        print_lines(lines)
    else:
        from rageval.building.collection import write

        write(output, lines)


def _named(words: tuple[str, ...]) -> dict[str, Run]:
    """Return the runs by their names in a pool: the setting where one is named, else the file."""
    from rageval.building.collection import given
    from rageval.building.searching import QUESTION, setting_of

    runs: dict[str, Run] = {}
    for setting, named in given(tuple(map(setting_of, words))).items():
        for name, run in named.items():
            runs[name if setting == QUESTION else f"{setting}/{name}"] = run
    return runs


def _written(rubric: str, judge: str, questions: Any, options: dict[str, Any]) -> tuple[list[Nugget], int]:
    """Return the texts a judge writes, and for how many questions there are none."""
    from rageval.judges.material import Material
    from rageval.judges.panel import nuggets_by
    from rageval.judges.rubric import rubric_named

    known = {question.query_id: question for question in questions}
    found = nuggets_by(judge, rubric_named(rubric), Material(questions=known), settings_of(options))
    for query, why in found.failed.items():
        click.echo(f"rageval: {rubric}: nothing for query {visible(query)}: {why}", err=True)
    return found.nuggets, len(found.failed)


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
    help="Who judges support in place of --judge; of several, most count.",
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
@click.option("--unfused", is_flag=True, help="Pool each run besides the fusion of each setting.")
@_filter_options
@asking_options
@shared("--dry-run", help="Show the pool by depth and breadth, and what judging costs.")
def _everything(output: Path, **options: Any) -> None:
    """Nuggets, query variants, fusion, pool, support and filter: all of it.

    Whatever stops it, the same command goes on where it was: replies are stored and never paid for twice.
    """
    from rageval.building.collection import build as build_all
    from rageval.building.manifest import spent
    from rageval.building.support import counts, report

    plan = _plan(output, options)
    if options["dry_run"]:
        print_lines(_forecast(plan))
        return
    built = build_all(plan, lambda message: click.echo(f"rageval: {message}", err=True))
    where = f"written to {visible(str(output))}; {spent(built.steps.values())}"
    print_lines([*report(counts(built.fates, plan.rule)), where])
    end_if_failed(built.failed)


def _plan(folder: Path, options: dict[str, Any]) -> Plan:
    from rageval.building.collection import Plan
    from rageval.building.searching import setting_of

    names = ("questions", "corpus", "judge", "support_judges", "nuggets", "method", "fuse_depth", "k")
    return Plan(
        folder=folder,
        runs=tuple(map(setting_of, options["runs"])),
        settings=settings_of(options),
        **{name: options[name] for name in (*names, "depth", "unfused", "threshold", "rule")},
    )


def _forecast(plan: Plan) -> Iterable[str]:
    """Yield what is known before a model is asked: variants that it would write can only add to the pool."""
    from rageval.building import searching, support
    from rageval.building.collection import forecast, fusions, pooled_runs, runs_of
    from rageval.building.pools import pooled
    from rageval.files.questions import read_questions

    questions = {question.query_id: question for question in read_questions(plan.questions)}
    banks = _banks_in(plan.nuggets)
    topics = searching.topics(questions.values(), banks, {})
    runs = runs_of(plan, topics)
    every = pooled_runs(plan, runs, fusions(plan, runs))
    deepest = pooled(every, max(100, plan.depth))
    texts = support.texts_of(plan.corpus, support.documents_of(deepest))
    judges = plan.support_judges or tuple(filter(None, [plan.judge]))
    yield from forecast(every, questions, banks, texts, judges, plan.depth)
    unknown = [setting for setting, found in topics.items() if not found and not plan.runs]
    if unknown:
        calls = (len(searching.WRITTEN) + (plan.nuggets is None)) * len(questions)
        yield ""
        yield f"to be written first, in {calls:,} calls: {', '.join(unknown)}; each of them adds at most"
        yield f"{plan.depth} documents to the pool of a question"


for step in _STEPS:
    build.add_command(step)
