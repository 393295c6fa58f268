"""`rageval judge`: judgements by a model, a file or a matcher."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval.errors import UsageError

if TYPE_CHECKING:
    from rageval.judges.rubric import Rubric
    from rageval.judges.tasks import Material

WAYS_ON = (
    "no judge named; there are three ways on: a model (--judge openai:MODEL or anthropic:MODEL, or any"
    " OpenAI-compatible server: openai:MODEL@http://127.0.0.1:8000/v1), a file of judgements"
    " (--judge frozen:judged.jsonl), or a judge that needs no model (--judge exact, --judge lexical)"
)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("rubric")
@click.argument("answers", nargs=-1, metavar="ANSWERS.jsonl...")
@click.option("--judge", "judges", multiple=True, metavar="JUDGE", help="Who judges; may be repeated.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Where judgements go.")
@click.option(
    "--questions", metavar="FILE", help="The questions, with gold answers where the rubric needs them."
)
@click.option("--nuggets", metavar="FILE", help="The nuggets.")
@click.option("--passages", metavar="FILE", help="Texts of documents: JSON lines with an id and a text.")
@click.option(
    "--run", "runs", multiple=True, metavar="FILE", help="Judge the documents that a run retrieved."
)
@click.option(
    "--depth", type=click.IntRange(1), default=20, show_default=True, help="How many of each topic."
)
@click.option("--permutations", type=click.IntRange(1), default=10, show_default=True, help="Of a list.")
@click.option("--balanced", is_flag=True, help="Show lists in the orders of a balanced Latin square.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of random orders.")
@click.option("--vote", type=click.Choice(("mean", "median", "majority")), default="mean", show_default=True)
@click.option("--tiebreak", metavar="JUDGE", help="Asked only where two judges differ.")
@click.option("--dry-run", is_flag=True, help="Say what it would cost, and ask nobody.")
@click.option(
    "--max-cost", type=click.FloatRange(0), metavar="USD", help="Stop before spending more (exit 4)."
)
@click.option(
    "--max-calls", type=click.IntRange(0), metavar="N", help="Stop before asking more often (exit 4)."
)
@click.option("--concurrency", type=click.IntRange(1), default=16, show_default=True, help="Calls at a time.")
@click.option("--refresh", is_flag=True, help="Ask again what is in the store.")
@click.option("--shard", metavar="I/N", help="Only every N-th request, by its key: the I-th share (from 1).")
@click.option("--store", metavar="FILE", help="Where replies are kept (default: the user's cache).")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def judge(rubric: str, answers: tuple[str, ...], judges: tuple[str, ...], **options: Any) -> None:
    """Judge answers (or documents) by RUBRIC, and write judgements as JSON lines.

    RUBRIC is one of rageval's (see: rageval rubrics), of a plug-in, or a TOML file. What was asked before is
    in the store and costs nothing; a job that was stopped goes on where it was.

    \b
    rageval judge crag answers.jsonl --questions crag.jsonl --judge openai:MODEL -o judged.jsonl
    rageval judge nugget-assignment answers.jsonl --nuggets nuggets.jsonl --judge anthropic:MODEL --dry-run
    rageval judge relevance --run run.trec --passages corpus.jsonl --questions topics.jsonl --judge …
    """
    from rageval.judges.rubric import rubric_named

    if not judges:
        raise UsageError(WAYS_ON)
    found = rubric_named(rubric)
    material = _material(answers, options)
    if options["dry_run"]:
        from rageval.judges.panel import forecast

        for line in forecast(found, material, judges):
            click.echo(line)
        return
    _write(_panel(found, material, judges, options), options["output"])


def _material(answers: tuple[str, ...], options: dict[str, Any]) -> Material:
    from rageval.judges.gathering import gathered

    return gathered(
        answers,
        options["questions"],
        options["nuggets"],
        options["passages"],
        _candidates(options["runs"], options["depth"]),
        permutations=options["permutations"],
        balanced=options["balanced"],
        seed=options["seed"],
    )


def _candidates(runs: tuple[str, ...], depth: int) -> Iterator[tuple[str, str]]:
    """The documents that any of the runs has in its top ranks, each once."""
    if not runs:
        return
    from rageval.sources import read_run
    from rageval.tables.ranked import ranked_documents
    from rageval.tables.ranking import Order

    seen: dict[tuple[str, str], None] = {}
    for path in runs:
        for query, docs in ranked_documents(read_run(path), Order()):
            seen |= dict.fromkeys((query, doc) for doc in docs[:depth])
    yield from seen


def _panel(
    rubric: Rubric, material: Material, judges: tuple[str, ...], options: dict[str, Any]
) -> Iterator[str]:
    from rageval.files.judgements import judgement_line
    from rageval.judges.panel import Settings, judged_by

    names = ("store", "concurrency", "max_cost", "max_calls", "refresh", "shard", "quiet", "vote", "tiebreak")
    settings = Settings(**{name: options[name] for name in names})
    for judgement in judged_by(judges, rubric, material, settings):
        yield judgement_line(judgement)


def _write(lines: Iterator[str], output: Path | None) -> None:
    from rageval.cli.printing import print_lines

    if output is None:
        print_lines(lines)
        return
    from rageval.files.writing import whole_file

    with whole_file(output) as stream:
        for line in lines:
            stream.write(line.encode() + b"\n")
