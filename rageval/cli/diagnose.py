"""`rageval diagnose`: where what answers lack was lost, by the retriever or by the generator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from rageval.cli._options import ANSWERS, DOCUMENTS, METAVAR, QRELS, Command, reading_of, shared
from rageval.cli._output import print_lines
from rageval.errors import UsageError
from rageval.table import PEOPLE_READ, Code, Prose, Table, lines, on_terminal
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison import Diagnosis
    from rageval.files.trec import Reading
    from rageval.scoring.qrels import Qrels


@click.command(cls=Command)
@click.argument("judged", nargs=-1, required=True, metavar="JUDGED.jsonl...", type=ANSWERS)
@shared("--run", multiple=False, required=True, help="What was retrieved for these answers.")
@click.option(
    "--qrels",
    type=QRELS,
    metavar=METAVAR,
    help="Which documents support which nuggets, or spans (default: those that hold the words of the right"
    " answer; needs --questions and --passages).",
)
@click.option(
    "--passages",
    type=DOCUMENTS,
    metavar=METAVAR,
    help="Without --qrels: texts of what was retrieved, JSON lines with an id and a text.",
)
@shared("--depth", help="How many passages an answer was made from (default: all that were retrieved).")
@click.option("-l", "--rel", type=int, default=1, show_default=True, help="The lowest grade that is support.")
@click.option("--system", metavar="RUN_ID", help="Which of several judged systems.")
@shared("--chunks")
@shared("--sources")
@shared("--overlap")
@shared("--stale")
@shared("--nuggets", help="The nuggets: their texts, and which of them are vital.")
@shared(
    "--questions",
    help="What knows the fields for --by, which questions can be answered, and right answers.",
)
@shared("--by", help="A row for each value of a field, such as domain,question_type.")
@shared("--on-missing")
@shared("--level", help="Of the intervals.")
@shared("--resamples")
@shared("--seed", default=20130)
@click.option(
    "--format",
    "style",
    type=click.Choice((*PEOPLE_READ, "json")),
    help="Default: table on a terminal, else json.",
)
@shared("--comments")
@shared("--limit")
def diagnose(judged: tuple[str, ...], runs: str, qrels: str | None, **options: Any) -> None:
    """Say where the nuggets that answers lack were lost: by the retriever, or by the generator.

    Prints six shares of the nuggets that add up to 1 (used, lost by the generator, from memory, cut, missed,
    gap), each with what unjudged passages may change; what a perfect retriever and a perfect generator would
    add; and the ten questions of which most was lost. Without --qrels the right answer is the one nugget.

    \b
    rageval diagnose judged.jsonl --run run.trec --qrels qrels.nugget --depth 10
    rageval diagnose judged.jsonl --run run.trec --qrels spans.jsonl --chunks new.jsonl --sources docs
    rageval diagnose crag.jsonl --run run.trec --questions questions.jsonl --passages passages.jsonl
    """
    from rageval.comparison import diagnose as diagnosed
    from rageval.scoring.answers import read_judgements

    reading = reading_of(options["comments"])
    run, gold = _read(runs, qrels, options, reading)
    table = read_judgements(list(judged))
    found = diagnosed(
        table,
        run,
        gold,
        groups=_groups(options, list(map(str, table.queries.words)), list(judged)),
        **{name: options[name] for name in ("depth", "rel", "system", "nuggets", "questions", "passages")},
        **{name: options[name] for name in ("on_missing", "level", "resamples", "seed")},
    )
    for remark in found.remarks:
        click.echo(f"rageval: {visible(remark)}", err=True)
    style = options["style"] or ("table" if on_terminal() else "json")
    print_lines(lines(style, lambda: _parts(found, style), record=found.as_dict))


def _read(run: str, qrels: str | None, options: dict[str, Any], reading: Reading) -> tuple[Any, Qrels | None]:
    """Return the run and the judgements, or what the spans come to."""
    from rageval.cli._inputs import judgements, run_sources, sorted_out
    from rageval.scoring.ordering import EVERYTHING

    _refuse_unused(qrels, options)
    if qrels is None:
        inputs = sorted_out((run,), reading)
        if not inputs.runs:
            raise UsageError(f"--run {visible(run)}: expected a run")
        return run_sources(inputs.runs, reading, None)[0], None
    inputs = sorted_out((run, qrels), reading)
    gold = judgements(inputs, reading, EVERYTHING, options)
    (source,) = run_sources(inputs.runs, reading, None)
    return source, gold


def _refuse_unused(qrels: str | None, options: dict[str, Any]) -> None:
    """Refuse what is about judgements of documents where there are none, and the other way round."""
    given = ("passages",) if qrels is not None else ("nuggets", "chunks", "sources", "overlap", "stale")
    for name in given:
        if options[name] is not None:
            other = "without" if qrels is not None else "with"
            raise UsageError(f"--{name} has a meaning only {other} --qrels")


def _groups(options: dict[str, Any], queries: list[str], sources: list[Any]) -> dict[str, dict[str, str]]:
    from rageval.cli._inputs import fields_in, groups_of

    fields = fields_in(options["by"])
    return {str(name): groups_of(name, queries, options["questions"], sources) for name in fields}


def _parts(found: Diagnosis, style: str) -> Iterator[Table | str]:
    """Yield the shares, what could be gained, slices, refusals and the worst questions."""
    yield f"{found.run}: recall {found.recall:.4f}, {found.in_passages:.4f} in the passages"
    *tables, worst = found.tables()
    for table in tables:
        yield from ("", table)
    yield ""
    if style != "table":
        yield worst
        return
    # What was lost is too long for a column of a terminal.
    yield "the questions of which most was lost:"
    for query, recall, lost in worst.rows:
        yield Prose(f"{query} (recall {recall:.4f}): {lost}")
    yield from ("", Code(found.signature))
