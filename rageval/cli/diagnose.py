"""`rageval diagnose`: where what answers lack was lost, by the retriever or by the generator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from rageval.cli._options import ANSWERS, DOCUMENTS, METAVAR, QRELS, Command, reading_of, shared
from rageval.cli._output import md_lines, on_terminal, print_lines, table_lines, wrapped
from rageval.errors import UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison import Diagnosis
    from rageval.comparison.losses import Range
    from rageval.files.trec import Reading
    from rageval.scoring.qrels import Qrels

_FORMATS = ("table", "md", "json")
_SHOWN = 60  # characters of a nugget
_NUGGETS = 3  # of a question


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
    "--format", "style", type=click.Choice(_FORMATS), help="Default: table on a terminal, else json."
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
    if style == "json":
        print_lines([json.dumps(found.as_dict(), indent=2, ensure_ascii=True, allow_nan=False)])
    else:
        print_lines(_lines(found, md_lines if style == "md" else table_lines))


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


def _lines(found: Diagnosis, draw: Callable[..., Iterator[str]]) -> Iterator[str]:
    """Yield the shares, what could be gained, slices, refusals and the worst questions."""
    yield f"{visible(found.run)}: recall {found.recall:.4f}, {found.in_passages:.4f} in the passages"
    yield ""
    rows = [["share of the nuggets", "value", "at least", "at most", "nuggets"]]
    rows += [
        [_named(kind), *(f"{number:.4f}" for number in share), f"{found.counts[kind]:,}"]
        for kind, share in found.shares.items()
    ]
    yield from draw(rows, 1)
    yield ""
    rows = [["if it were perfect", "recall would grow by", "low", "high"]]
    rows += [[f"the {name}", *_numbers(gain)] for name, gain in found.what_if.items()]
    yield from draw(rows, 1)
    for name, groups in found.by.items():
        yield ""
        kinds = list(found.shares)
        rows = [[name, "questions", *map(_named, kinds)]]
        rows += [
            [group, f"{of['questions']:.0f}", *(f"{of[kind]:.4f}" for kind in kinds)]
            for group, of in groups.items()
        ]
        yield from draw(rows, 1)
    if found.abstention:
        yield ""
        rows = [["refusals", "value"]]
        rows += [[_named(name), f"{value:.4f}"] for name, value in found.abstention.items()]
        yield from draw(rows, 1)
    yield ""
    if draw is md_lines:
        yield from draw([["worst questions", "in the answer", "lost"], *_worst(found)], 3)
        return
    yield "the questions of which most was lost:"
    for query, recall, lost in _worst(found):
        yield from wrapped(visible(f"{query} (recall {recall}): {lost}"))
    yield ""
    yield from wrapped(visible(found.signature), "|")


def _named(kind: str) -> str:
    return kind.replace("_", " ")


def _numbers(gain: Range | None) -> list[str]:
    return ["too few nuggets", "", ""] if gain is None else [f"{number:.4f}" for number in gain]


def _worst(found: Diagnosis) -> Iterator[list[str]]:
    for each in found.worst():
        said = [
            f"{_named(how)}: {_short(found.texts.get((each.query_id, nugget), nugget))}"
            for nugget, how in each.lost[:_NUGGETS]
        ]
        more = [f"and {len(each.lost) - _NUGGETS:,} more"] if len(each.lost) > _NUGGETS else []
        yield [each.query_id, f"{each.recall:.4f}", "; ".join([*said, *more])]


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
