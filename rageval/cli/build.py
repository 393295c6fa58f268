"""`rageval build`: a test collection from questions, answers and a corpus, at once or step by step."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval.cli import build_steps
from rageval.cli.asking import asking_options, end_if_failed, settings_of
from rageval.cli.printing import print_lines
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.building.plan import Plan

ALL = "all"


class Steps(click.Group):
    """Sub-commands; what names none of them is the whole way."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [ALL, *args]
        return super().parse_args(ctx, args)


@click.group(cls=Steps, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
def build() -> None:
    """Build a test collection: `rageval build QUESTIONS`, or step by step.

    \b
    rageval build questions.jsonl --corpus corpus.jsonl --judge openai:MODEL -o collection
    rageval build questions.jsonl --corpus corpus.jsonl --judge openai:MODEL -o collection --dry-run
    rageval build fuse bm25.trec dense.trec -o fused.trec
    rageval build audit collection --sample 60 --corpus corpus.jsonl -o audit.jsonl
    """


@build.command(name=ALL)
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
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="[SETTING=]FILE",
    help="A run to pool (default: what BM25 finds for the question, its variants, the answer, the nuggets).",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The new collection.")
@build_steps.fusion_options
@build_steps.depth_option
@click.option("--unfused", is_flag=True, help="Pool each run besides the fusion of each setting.")
@build_steps.filter_options
@asking_options
@click.option("--dry-run", is_flag=True, help="Show the pool by depth and breadth, and what judging costs.")
def everything(output: Path, **options: Any) -> None:
    """Nuggets, query variants, fusion, pool, support and filter: all of it.

    Whatever stops it, the same command goes on where it was: replies are stored and never paid for twice.
    """
    from rageval.building.collection import build as build_all
    from rageval.building.filtering import counts, report
    from rageval.building.manifest import spent

    plan = _plan(output, options)
    if options["dry_run"]:
        print_lines(_forecast(plan))
        return
    built = build_all(plan, lambda message: click.echo(f"rageval: {message}", err=True))
    where = f"written to {visible(str(output))}; {spent(built.steps.values())}"
    print_lines([*report(counts(built.fates, plan.rule)), where])
    end_if_failed(built.failed)


def _plan(folder: Path, options: dict[str, Any]) -> Plan:
    from rageval.building.plan import Plan
    from rageval.building.variants import setting_of

    names = ("questions", "corpus", "judge", "support_judges", "nuggets", "method", "fuse_depth", "k")
    return Plan(
        folder=folder,
        runs=tuple(map(setting_of, options["runs"])),
        settings=settings_of(options),
        **{name: options[name] for name in (*names, "depth", "unfused", "threshold", "rule")},
    )


def _forecast(plan: Plan) -> Iterable[str]:
    """What is known before a model is asked: variants that it would write can only add to the pool."""
    from rageval.building import support, variants
    from rageval.building.forecasting import forecast
    from rageval.building.pools import pooled
    from rageval.building.retrieving import fusions, pooled_runs, runs_of
    from rageval.files.questions import read_questions

    questions = {question.query_id: question for question in read_questions(plan.questions)}
    banks = build_steps.banks_in(plan.nuggets)
    topics = variants.topics(questions.values(), banks, {})
    runs = runs_of(plan, topics)
    every = pooled_runs(plan, runs, fusions(plan, runs))
    deepest = pooled(every, max(100, plan.depth))
    texts = support.texts_of(plan.corpus, support.documents_of(deepest))
    judges = plan.support_judges or tuple(filter(None, [plan.judge]))
    yield from forecast(every, questions, banks, texts, judges, plan.depth)
    unknown = [setting for setting, found in topics.items() if not found and not plan.runs]
    if unknown:
        calls = (len(variants.WRITTEN) + (plan.nuggets is None)) * len(questions)
        yield ""
        yield f"to be written first, in {calls:,} calls: {', '.join(unknown)}; each of them adds at most"
        yield f"{plan.depth} documents to the pool of a question"


for step in build_steps.STEPS:
    build.add_command(step)
