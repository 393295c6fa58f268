"""`rageval agree`: a judge beside people, or beside another judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from rageval import options as opt
from rageval.cli._options import Command, FileOrId, end_if_biased, takes_options
from rageval.cli._output import md_line, md_lines, on_terminal, print_lines, table_lines, wrapped
from rageval.errors import UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.passport import Judged, OneJudge, Parting, Passport
    from rageval.files.scores import Form

_STYLES = ("table", "md", "json")
_LONGEST = 120  # characters of reasons in a table


@click.command(cls=Command)
@click.argument("judged", type=FileOrId("qrels"), required=False)
@click.argument("gold", type=FileOrId("qrels"), required=False)
@takes_options
@click.pass_context
def agree(
    ctx: click.Context,
    /,
    judged: Any,
    gold: Any,
    leaderboards: Annotated[
        tuple[str, str] | None,
        opt.Option(
            "Compare how two leaderboards rank the same runs, in place of judgements.",
            metavar="TRUTH JUDGE",
        ),
    ] = None,
    forms: Annotated[
        tuple[Literal["trec_eval", "tot", "ir_measures", "jsonl"], ...],
        opt.Option(
            "The form of a leaderboard, where it cannot be told; twice: of the truth, of the judge.",
            ("--form",),
        ),
    ] = (),
    cutoffs: Annotated[
        str | None,
        opt.Option("Leaderboards: tau_b also of the K best runs (default: 4,10).", ("--at",), metavar="K,…"),
    ] = None,
    near_misses: Annotated[
        Literal["none", "linear", "quadratic"],
        opt.Option("How much grades that are near count as agreement: kappa's weights."),
    ] = "none",
    max_bias: opt.MaxBias | None = None,
    parting: Annotated[
        int | None,
        opt.Option(
            "Also show what each of the two did and cost, and the N judgements on which they differ most.",
            metavar="N",
            least=1,
        ),
    ] = None,
    measures: Annotated[
        opt.Measure | None,
        "Rank systems by this, instead of by mean grades; of leaderboards, this measure only.",
    ] = None,
    nuggets: Annotated[
        opt.Nuggets, "The nuggets that were judged, for a measure that needs their importance or weight."
    ] = None,
    answers: Annotated[
        Any, opt.read("The answers, to see whether the judge leans on their length.", reads="answers")
    ] = None,
    nuggets_in_qrels: Annotated[
        opt.NuggetsInQrels | None,
        "Whether the second column of qrels names nuggets (default: where it looks so).",
    ] = None,
    style: Annotated[
        Literal["table", "md", "json"] | None,
        opt.printed("Default: table on a terminal, else md.", ("--format",)),
    ] = None,
) -> None:
    """Show how far a judge agrees with people: JUDGED against GOLD, beyond chance.

    Both are judgements: rageval's, qrels, UMBRELA's, the nuggetizer's assignments, or a data set's by its id;
    the things that both judged are compared. Prints agreement, Cohen's kappa,
    Gwet's AC and Krippendorff's alpha with 95 % intervals over queries, the confusion of labels, in which
    direction the judge errs, whether systems are ranked alike, what it leans on besides quality (length,
    order, its own family of models), how many judgements failed, what they cost.

    \b
    rageval agree judged.jsonl human.jsonl --near-misses quadratic
    rageval agree umbrela.qrels nist.qrels --near-misses quadratic
    rageval agree ours.jsonl originals.jsonl --parting 20
    rageval agree judged.jsonl human.jsonl -m v_strict --answers answers.jsonl --format json
    rageval agree --leaderboards truth.txt judge.txt
    """
    if leaderboards:
        way_out = "of leaderboards expected --leaderboards TRUTH JUDGE, -m, --form, --at and --format only"
        # Options of the other kind would be taken and do nothing, which is worse than an error.
        _refuse_others(ctx, _OF_BOARDS | _OF_BOTH, way_out)
        print_lines(_alike(leaderboards, forms, cutoffs, measures, style))
        return
    _refuse_others(
        ctx, set(ctx.params) - _OF_BOARDS, "is of leaderboards; expected --leaderboards TRUTH JUDGE, too"
    )
    if judged is None or gold is None:
        raise UsageError("expected JUDGED and GOLD, two files of judgements (or --leaderboards TRUTH JUDGE)")
    from rageval.comparison.passport import between, passport, read, read_people, together

    lengths = _lengths(answers) if answers else None
    named = {None: None, "yes": True, "no": False}[nuggets_in_qrels]
    people, mine = read_people(gold, named), read(judged, named)
    # Several annotators are gold as a majority; how far they agree says how good gold is.
    theirs, among = together(people), between(people, near_misses)
    found = passport(mine, theirs, near_misses, measures, lengths, nuggets, among)
    print_lines(passport_lines(found, (mine, theirs) if parting else None, parting or 0, style))
    end_if_biased([("the judge", found.facts["positions"])], max_bias)


_OF_BOARDS = {"leaderboards", "forms", "cutoffs"}
_OF_BOTH = {"measures", "style"}


def _refuse_others(ctx: click.Context, known: set[str], way_out: str) -> None:
    """Refuse what says nothing of what is compared: leaderboards, or judgements."""
    from click.core import ParameterSource

    for param in ctx.command.params:
        name = str(param.name)
        if name not in known and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            word = param.opts[0] if param.opts[0].startswith("-") else visible(str(ctx.params[name]))
            raise UsageError(f"{word}: {way_out}")


def _alike(
    files: tuple[str, str],
    forms: tuple[Form, ...],
    cutoffs: str | None,
    measure: str | None,
    style: str | None,
) -> Iterator[str]:
    """Yield how alike two leaderboards rank runs, in any style."""
    from rageval.comparison.leaderboards import CUTOFFS, compare_leaderboards

    truth, judge = _boards(files, forms)
    at = CUTOFFS if cutoffs is None else _whole_numbers(cutoffs)
    found = compare_leaderboards(truth, judge, (measure,) if measure else (), at)
    style = style or ("table" if on_terminal() else "md")
    if style == "json":
        yield json.dumps([each.as_dict() for each in found], indent=2)
        return
    draw = {"md": md_lines, "table": table_lines}[style]
    say = md_line if style == "md" else visible
    for number, each in enumerate(found):
        if number:
            yield ""
        yield say(each._title())
        if style == "md":
            yield ""
        cells = [["", "value", "low", "high"]]
        for one in each.coefficients:
            numbers = (one.value, one.low, one.high)
            cells.append([one.name, *("-" if value != value else f"{value:.4f}" for value in numbers)])
        yield from draw(cells, 1)
        yield ""
        if each.topics:
            yield say(f"95 % intervals over {each.topics:,} topics, the same drawn for both")
        yield from (line for note in each.notes for line in wrapped(say(note)))


def _boards(files: tuple[str, str], forms: tuple[Form, ...]) -> tuple[Any, Any]:
    """Read both leaderboards; topics of one that can be told tell those of the other."""
    from rageval.files.scores import ALL, UntoldForm, read_leaderboard

    if len(forms) > 2:
        raise UsageError("--form: expected it once for both leaderboards, or twice")
    first, second = (*forms, *forms)[:2] if forms else (None, None)
    try:
        truth = read_leaderboard(files[0], first)
    # Some files look the same in two forms; the topics of the other leaderboard tell which it is.
    except UntoldForm:
        judge = read_leaderboard(files[1], second)
        return read_leaderboard(files[0], first, {row.query_id for row in judge} - {ALL}), judge
    return truth, read_leaderboard(files[1], second, {row.query_id for row in truth} - {ALL})


def _whole_numbers(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) >= 3 for word in words):
        raise UsageError(f"--at {visible(text)!r}: expected whole numbers from 3, such as 4,10")
    return [int(word) for word in words]


def passport_lines(
    found: Passport, both: tuple[Judged, Judged] | None, most: int, style: str | None
) -> Iterator[str]:
    """Yield a passport in any style, with `both` judges side by side and where they part."""
    style = style or ("table" if on_terminal() else "md")
    if both is None:
        yield from [json.dumps(found.as_dict(), indent=2)] if style == "json" else _lines(found, style)
        return
    from rageval.comparison.passport import one_judge, parting

    sides, differing = list(map(one_judge, both)), parting(*both)
    if style == "json":
        record = {
            **found.as_dict(),
            "judges": [side._asdict() for side in sides],
            "differing": len(differing),
            "parting": [each._asdict() for each in differing[:most]],
        }
        yield json.dumps(record, indent=2)
        return
    draw = {"md": md_lines, "table": table_lines}[style]
    yield from draw(list(_side_by_side(sides)), 1)
    yield ""
    yield from _lines(found, style)
    yield ""
    yield from draw(list(_apart(differing[:most])), 6)
    if len(differing) > most:
        yield f"{len(differing) - most:,} more, nearer to one another"


def _side_by_side(sides: list[OneJudge]) -> Iterator[list[str]]:
    yield ["", "first", "second"]
    for name in sides[0]._fields[:-1]:
        values = [getattr(side, name) for side in sides]
        yield [name.replace("_", " "), *map(_cell, values)]
    for label in dict.fromkeys(label for side in sides for label in side.labels):
        yield [visible(label), *(f"{side.labels.get(label, 0):,}" for side in sides)]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return visible(value) if isinstance(value, str) else f"{value:,.4f}".rstrip("0").rstrip(".")


def _apart(differing: list[Parting]) -> Iterator[list[str]]:
    yield ["query", "run", "what", "first", "second", "why", "apart"]
    for each in differing:
        what = " ".join(part for part in (each.item, each.aspect) if part not in ("answer", "0"))
        why = " | ".join(filter(None, (each.reason, each.other_reason)))
        texts = (each.query, each.run, what, each.first, each.second, why[:_LONGEST])
        yield [*map(visible, texts), f"{each.gap:g}"]


def _lines(found: Passport, style: str) -> Iterator[str]:
    draw = {"md": md_lines, "table": table_lines}[style]
    yield from draw([["", "value", "low", "high"], *_coefficients(found)], 1)
    yield ""
    labels = [visible(label) for label in found.labels]
    rows = [[label, *map(str, row)] for label, row in zip(labels, found.confusion, strict=True)]
    yield from draw([["judge \\ gold", *labels], *rows], 1)
    yield ""
    yield from draw(list(_by_label(found.as_dict())), 1)
    yield ""
    if found.facts["by_system"]:
        yield from draw(list(_by_system(found.facts["by_system"])), 1)
        yield ""
    if found.facts["positions"] and found.facts["positions"]["lists"]:
        yield from draw(list(_by_place(found.facts["positions"]["lists"])), 0)
        yield ""
    yield from map(md_line if style == "md" else visible, _sentences(found.as_dict()))


def _lengths(answers: Any) -> dict[tuple[str, str], float]:
    from rageval.files.answers import read_answers

    return {
        (answer.query_id, answer.run_id): float(len(answer.text.split()))
        for answer in read_answers(answers)
        if not answer.error
    }


def _coefficients(found: Passport) -> Iterator[list[str]]:
    for each in found.coefficients:
        yield [each.name, *(f"{number:.3f}" for number in (each.value, each.low, each.high))]


def _by_label(facts: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["label", "judge", "gold", "agreement"]
    for label, shares in facts["by_label"].items():
        yield [visible(label), *(f"{shares[name]:.3f}" for name in ("judge", "gold", "agreement"))]


def _by_system(facts: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["system", *next(iter(facts.values()))]
    for system, found in facts.items():
        number, *shares = found.values()
        yield [visible(system), f"{number:,}", *(f"{share:.3f}" for share in shares)]


def _by_place(places: list[dict[str, Any]]) -> Iterator[list[str]]:
    yield ["shown at", "times", "mean place given", "places ahead", "low", "high"]
    for each in places:
        numbers = (each[name] for name in ("given", "lead", "low", "high"))
        shown = ("" if number is None else f"{number:.3f}" for number in numbers)
        yield [str(each["place"]), f"{each['times']:,}", *shown]


def _sentences(facts: Mapping[str, Any]) -> Iterator[str]:
    from rageval.statistics.bootstrap import few_differ

    counts = f"{facts['queries']:,} queries and {facts['systems']:,} systems"
    yield f"{facts['compared']:,} judgements compared, of {counts}"
    if facts["partly"]:
        yield (
            f"{facts['answers']:,} answers, {facts['partly']:,} of which were judged in part:"
            f" {facts['compared']:,} of their {facts['of']:,} judgements are in both files"
        )
    if few_differ(facts["queries_that_differ"], facts["queries"]):
        yield f"coarse: they differ in {facts['queries_that_differ']:,} of {facts['queries']:,} queries"
    if facts["bias"]:
        direction = "more generous" if facts["bias"] > 0 else "stricter"
        yield f"the judge is {direction} by {abs(facts['bias']):.3f} on average"
    if facts["tau_b"] is not None:
        yield (
            f"systems by {facts['ranked_by']}: tau_b {facts['tau_b']:.3f}, tau_AP {facts['tau_ap']:.3f}"
            + (f", mean tau_b of a query {facts['tau_per_topic']:.3f}" if facts["topics"] else "")
        )
    for pair in facts["annotators"]:
        numbers = (pair[name] for name in ("kappa", "low", "high"))
        kappa, low, high = ("-" if number is None else f"{number:.3f}" for number in numbers)
        yield (
            f"{visible(pair['one'])} and {visible(pair['other'])}, whose majority is gold, agree with kappa"
            f" {kappa} [{low}, {high}] on {pair['compared']:,} judgements"
        )
    yield from _leanings(facts)
    if facts["failed"]:
        yield f"{facts['failed']:,} of the judge's judgements failed ({facts['failure_rate']:.1%})"
    if facts["missing"]:
        total, ends = (
            facts["compared"] + facts["missing"],
            (facts["agreement_least"], facts["agreement_most"]),
        )
        yield (
            f"{facts['missing']:,} of the {total:,} labels have no judgement of the judge: agreement lies"
            f" between {ends[0]:.3f} and {ends[1]:.3f}, whatever these are"
        )
    if facts["only_judged"] or facts["only_gold"]:
        first, second = facts["only_judged"], facts["only_gold"]
        yield f"not compared: {first:,} only in the first file, {second:,} only in the second"
    for judge in facts["unfenced"]:
        yield f"{visible(judge)}: asked without a fence, as its source asks: what it judges can speak to it"
    if facts["canaries"]:
        best, shown = map(sum, zip(*facts["canaries"].values(), strict=True))
        each = ", ".join(f"{visible(name)} {of[0]} of {of[1]}" for name, of in facts["canaries"].items())
        yield f"attacks on the judge: {best:,} of {shown:,} verdicts were the best there is ({each})"
    if facts["tokens"]:
        money = f", {facts['cost']:,.4f} USD" if facts["cost"] is not None else ""
        yield f"{facts['tokens']:,} tokens were spent{money}"


def _leanings(facts: Mapping[str, Any]) -> Iterator[str]:
    from rageval.comparison.positions import said_of

    if facts["length_tau"] is not None:
        yield f"how much too good it finds an answer, and its length: tau_b {facts['length_tau']:.3f}"
    if facts["positions"]:
        yield from said_of(facts["positions"])
    if facts["kin"]:
        yield f"of the judge's own family, which it may prefer: {', '.join(map(visible, facts['kin']))}"
