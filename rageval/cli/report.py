"""`rageval report`: everything there is to say of some runs or answers, as one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import click

from rageval import options as opt
from rageval.cli._inputs import named_measures, sort_words
from rageval.cli._options import Command, ComparingTables, reading_of, takes_options
from rageval.cli._output import TableFormat, deliver, places_of, write_page
from rageval.cli._scoring import (
    refuse_bounds_of_labels,
    scored,
    settings_of_claims,
    subject_of,
    with_judged_tables,
)
from rageval.core.remark import unique
from rageval.errors import NothingJudged, UsageError
from rageval.pages.evidence import TEXTS
from rageval.pages.page import page as page_of
from rageval.pages.page import read_report, require_engine
from rageval.pages.report import PageInputs, provenance, report_of
from rageval.scoring.query_groups import slices_of
from rageval.table import NUMBER, Column, Table, lines
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.cli._inputs import Inputs
    from rageval.pages.report import Report

_SHOW = "show"
_ALL = "all"
_TYPED = "rageval.pages.typed"


class _NumberOrAll(click.ParamType):  # type: ignore[type-arg]
    """A whole number from 0, or `all`."""

    name = "number or all"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Return the number, or the word."""
        if value == _ALL:
            return _ALL
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
            return int(value)
        self.fail(f"expected a whole number from 0, or {_ALL}, found {visible(str(value))!r:.40}", param, ctx)


class _Remembering(Command):
    """Keeps the words of the command line, which the page shows."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Before click takes them apart: the page shows what was typed.
        ctx.meta[_TYPED] = list(args)
        return super().parse_args(ctx, args)


class Options(ComparingTables):
    """The options of `rageval report`."""

    nuggets: Annotated[opt.Nuggets, "The nuggets: their texts, which are vital, their weights."] = None
    passages: Annotated[
        opt.Passages, "Texts of what judged answers cite: JSON lines with an id and a text."
    ] = None
    gold: Annotated[
        opt.Gold, "Human labels for a sample; claims are corrected with them, and judges compared with them."
    ] = ()
    evidence: Annotated[
        tuple[str, ...], opt.read("Judgements of documents, for quotes and reasons.", metavar="FILE")
    ] = ()
    store: Annotated[opt.Store | None, "The store of replies, for prompts (default: the user's cache)."] = (
        None
    )
    by: Annotated[opt.By | None, "Slices by fields of the questions: domain,question_type."] = None
    title: Annotated[str, opt.printed("Title of the page.")] = "Evaluation report"
    queries: Annotated[
        int | None,
        opt.printed(
            "Number of queries with evidence. For answers: the worst first; else those on which runs differ"
            " most. Default: up to 100, as many as fit into 1.5 MB.",
            metavar="N",
            least=0,
        ),
    ] = None
    texts: Annotated[
        int | str | None,
        opt.printed(
            "Number of queries with full answers, passages, prompts and replies, the worst first (default:"
            " 50).",
            metavar="N|all",
            parses=_NumberOrAll(),
        ),
    ] = None
    style: Annotated[TableFormat | None, "With show: the means (table, …), or everything (json)."] = None
    output: Annotated[opt.Page | None, "The page; with show: the file to write."] = None


@click.command(
    cls=_Remembering,
    first=(
        "measures",
        "output",
        "baseline",
        "by",
        "gold",
        "answers",
        "questions",
        "passages",
        "store",
        "title",
    ),
)
@click.argument("words", nargs=-1, metavar="RUN... QRELS | JUDGED.jsonl | show PAGE.html")
@takes_options
@click.pass_context
def report(ctx: click.Context, /, words: tuple[str, ...], options: Options) -> None:
    """Write a self-contained HTML report that needs no network.

    Takes runs and judgements, or judged answers. The report starts with the verdict. It shows means with
    intervals and tests, differences by query, slices, evidence, judge agreement, cost, failures and the
    source of every number. With --answers it highlights the text the judge quoted in the worst answers,
    beside gold, passages, prompt and reply. The other options are those of rageval compare.

    \b
    rageval report v1.csv v2.csv -o report.html
    rageval report a.run b.run qrels.nugget -m alpha_ndcg@10,recall@50 -o report.html
    rageval report judged.jsonl -m crag_score --answers a.jsonl --questions q.jsonl -o report.html
    rageval report judged.jsonl -m crag_score --by domain --gold human.jsonl -o report.html
    rageval report show report.html --format json
    """
    if words[:1] == (_SHOW,):
        _show_report(words[1:], options)
        return
    if options.style:
        raise UsageError(f"--format applies to rageval report {_SHOW}; a page is always HTML (-o FILE)")
    if options.output is None:
        raise UsageError("expected -o FILE.html for the page")
    contents = _report_contents(words, options, ctx.meta[_TYPED])
    page = page_of(contents, places_of(options.places))
    kept = ""
    traces = contents.get("traces")
    if traces and len(traces["queries"]) < traces["of"]:
        count = len(traces["queries"])
        extent = f"{count:,} of {traces['of']:,} queries, the {traces['first']} first"
        kept = f"; texts of {extent}; --texts {_ALL} keeps all"
    write_page(page, options.output, contents["remarks"], kept)
    ctx.exit(NothingJudged.exit_code if contents.get("unjudged") else 0)


def _report_contents(words: tuple[str, ...], options: Options, typed: Sequence[str]) -> Report:
    """Return the report, with where it comes from."""
    require_engine()
    reading = reading_of(options.comments, options.compat)
    inputs = sort_words(words, reading, tables=True)
    roles = list(_inputs_with_roles(inputs, options))
    options = with_judged_tables(inputs, options)
    measures = named_measures(options, inputs)
    refuse_bounds_of_labels(inputs, options)
    # Where they are of no measure, nuggets are texts for the page alone.
    own = options if "nuggets" in inputs.kind.options else options.replaced(nuggets=None)
    subject = subject_of(inputs, measures, own)
    subject.require_comparable()
    queries = list(subject.queries)
    groups = slices_of(options.by, queries, options.questions, inputs.question_sources)
    texts = TEXTS if options.texts is None else options.texts
    settings = settings_of_claims(options, queries, inputs.question_sources)
    extra = PageInputs(
        title=options.title,
        groups=groups,
        details=options.queries,
        nuggets=options.nuggets,
        questions=options.questions,
        evidence=options.evidence,
        gold=options.gold,
        answers=options.answers,
        passages=options.passages,
        texts=texts if isinstance(texts, int) else None,
        store=options.store,
        settings=settings,
    )
    results, remarks, refused = scored(subject, options.baseline)
    contents = report_of(results, settings, extra, subject)
    contents = {**contents, "remarks": unique([*refused, *remarks, *contents["remarks"]])}
    systems = {scores.run for scores in results}
    if unjudged := [name for name in subject.systems if name not in systems]:
        contents["unjudged"] = unjudged
    return {**contents, "provenance": provenance(["rageval", "report", *typed], roles)}


def _inputs_with_roles(inputs: Inputs, options: Options) -> Iterator[tuple[str, Any]]:
    """Yield what each input is, and the input."""
    nouns = {"qrels": "judgements"}
    yield from ((nouns.get(role, role), source) for role, files in inputs.files.items() for source in files)
    yield from (("answers", source) for source in inputs.unjudged)
    yield from (("answers", source) for source in options.answers)
    yield from (("passages", source) for source in [options.passages] if source is not None)
    yield from (("evidence", source) for source in options.evidence)
    yield from (("nuggets", source) for source in [options.nuggets] if source)
    yield from (("questions", source) for source in [options.questions] if source)
    yield from (("human labels", source) for source in options.gold)


def _show_report(words: tuple[str, ...], options: Options) -> None:
    if len(words) != 1:
        raise UsageError(f"expected one page written by rageval report, found {len(words)}")
    contents = read_report(words[0])
    places = places_of(options.places)
    cells = {(cell["run"], cell["measure"]): cell["value"] for cell in contents["cells"]}
    columns = [Column("run"), *(Column(name, NUMBER, places, none="-") for name in contents["measures"])]
    rows = [[run, *(cells.get((run, name)) for name in contents["measures"])] for run in contents["runs"]]
    table = Table(columns, rows, title=contents["title"])
    style = options.style or "table"
    deliver(lines(style, lambda: [table], lambda: table, record=lambda: contents), options.output)
