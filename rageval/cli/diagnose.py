"""`rageval diagnose`: where what answers lack was lost, by the retriever or by the generator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from rageval import options as opt
from rageval.cli._options import Command, FileOrId, OfSpans, reading_of, takes_options
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


@dataclass(frozen=True, kw_only=True)
class Options(OfSpans):
    """The options of `rageval diagnose`."""

    rel: Annotated[opt.Rel, "The lowest grade that is support."] = 1
    on_missing: opt.OnMissing = "error"
    questions: Annotated[
        opt.Questions, "What knows the fields for --by, which questions can be answered, and right answers."
    ] = None
    nuggets: Annotated[opt.Nuggets, "The nuggets: their texts, and which of them are vital."] = None
    passages: Annotated[
        opt.Passages, "Without --qrels: texts of what was retrieved, JSON lines with an id and a text."
    ] = None
    runs: Annotated[str, opt.read("What was retrieved for these answers.", ("--run",), metavar="FILE")]
    qrels: Annotated[
        opt.Qrels,
        "Which documents support which nuggets, or spans (default: those that hold the words"
        " of the right answer; needs --questions and --passages).",
    ] = None
    depth: Annotated[
        opt.Depth | None, "How many passages an answer was made from (default: all that were retrieved)."
    ] = None
    comments: opt.Comments = "error"
    limits: opt.Limits = ()
    level: Annotated[opt.Level, "Of the intervals."] = 0.95
    resamples: opt.Resamples = 4000
    system: Annotated[str | None, opt.gated("Which of several judged systems.", metavar="RUN_ID")] = None
    by: Annotated[opt.By | None, "A row for each value of a field, such as domain,question_type."] = None
    style: Annotated[
        Literal["table", "md", "json"] | None,
        opt.printed("Default: table on a terminal, else json.", ("--format",)),
    ] = None
    seed: opt.Seed = 20130


@click.command(cls=Command)
@click.argument("judged", nargs=-1, required=True, metavar="JUDGED.jsonl...", type=FileOrId("answers"))
@takes_options
def diagnose(judged: tuple[str, ...], options: Options) -> None:
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

    reading = reading_of(options.comments)
    run, gold = _read(options.runs, options.qrels, options, reading)
    table = read_judgements(list(judged))
    found = diagnosed(
        table,
        run,
        gold,
        groups=_groups(options, list(map(str, table.queries.words)), list(judged)),
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
    )
    for remark in found.remarks:
        click.echo(f"rageval: {visible(remark)}", err=True)
    style = options.style or ("table" if on_terminal() else "json")
    if style == "json":
        print_lines([json.dumps(found.as_dict(), indent=2, ensure_ascii=True, allow_nan=False)])
    else:
        print_lines(_lines(found, md_lines if style == "md" else table_lines))


def _read(run: str, qrels: str | None, options: Options, reading: Reading) -> tuple[Any, Qrels | None]:
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


def _refuse_unused(qrels: str | None, options: Options) -> None:
    """Refuse what is about judgements of documents where there are none, and the other way round."""
    of_spans = {"chunks": options.chunks, "sources": options.sources}
    of_spans |= {"overlap": options.overlap, "stale": options.stale}
    no_use = {"passages": options.passages} if qrels is not None else {"nuggets": options.nuggets} | of_spans
    for name, value in no_use.items():
        if value is not None:
            other = "without" if qrels is not None else "with"
            raise UsageError(f"--{name} has a meaning only {other} --qrels")


def _groups(options: Options, queries: list[str], sources: list[Any]) -> dict[str, dict[str, str]]:
    from rageval.cli._inputs import fields_in, groups_of

    fields = fields_in(options.by)
    return {str(name): groups_of(name, queries, options.questions, sources) for name in fields}


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
