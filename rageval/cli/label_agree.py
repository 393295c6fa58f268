"""`rageval label agree`: a judge beside people, or beside another judge."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from click.core import ParameterSource

from rageval import options as opt
from rageval.cli._options import YES_OR_NO, Command, FileOrId, takes_options
from rageval.cli._output import TableFormat, deliver, end_if_biased, say
from rageval.comparison import passport as passports
from rageval.comparison.arena import why_biased
from rageval.comparison.clusters import clusters_with_labels
from rageval.comparison.intervals import cluster_remarks
from rageval.comparison.leaderboards import CUTOFFS, JudgesComparison, compare_judges, compare_leaderboards
from rageval.comparison.passport import agreement_of_several, between, passport, read, read_people, together
from rageval.errors import UsageError
from rageval.files.answers import read_answers
from rageval.files.opening import name_of
from rageval.files.scores import ALL, UntoldForm, read_leaderboard
from rageval.scoring.gold import draw_of_labels, drawn
from rageval.scoring.query_groups import clusters_of
from rageval.table import BRIEF, NUMBER, Column, Prose, Table, lines
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.leaderboards import LeaderboardAgreement
    from rageval.comparison.passport import Judged, OneJudge, Parting, Passport
    from rageval.files.scores import Form, LeaderboardRow

_LONGEST = 120  # characters of reasons in a table


@click.command(
    "agree",
    cls=Command,
    first=(
        "near_misses",
        "measures",
        "answers",
        "nuggets",
        "gold_chosen",
        "max_bias",
        "parting",
        "leaderboards",
        "style",
        "output",
    ),
)
@click.argument("labels", type=FileOrId("labels"), nargs=-1, metavar="[JUDGED GOLD]")
@takes_options
@click.pass_context
def label_agree(
    ctx: click.Context,
    /,
    labels: tuple[Any, ...],
    leaderboards: Annotated[
        tuple[tuple[str, str], ...],
        opt.Option(
            "Instead of judgements, compare how leaderboards rank the same runs: the true one, and one or"
            " more by judges.",
            metavar="TRUTH JUDGE [JUDGE...]",
        ),
    ] = (),
    forms: Annotated[
        tuple[Literal["tot", "ir_measures", "jsonl"], ...],
        opt.Option(
            "Format of a leaderboard, if not detected. Give it twice for two: the truth's, then the judges'.",
            ("--form",),
        ),
    ] = (),
    cutoffs: Annotated[
        str | None,
        opt.Option(
            "With --leaderboards: also tau_b of the K best runs (default: 4,10).", ("--at",), metavar="K,…"
        ),
    ] = None,
    gold_chosen: opt.GoldChosen | None = None,
    cluster: opt.Cluster | None = None,
    near_misses: Annotated[
        Literal["none", "linear", "quadratic"],
        opt.Option("How much near grades count as agreement: the weights of kappa."),
    ] = "none",
    max_bias: opt.MaxBias | None = None,
    parting: Annotated[
        int | None,
        opt.Option(
            "Also show the replies and costs of both, and the N judgements on which they differ most.",
            metavar="N",
            least=1,
        ),
    ] = None,
    measures: Annotated[
        opt.Measure | None,
        "Rank systems by this instead of mean grades; with --leaderboards, use only this measure.",
    ] = None,
    nuggets: Annotated[
        opt.Nuggets, "The judged nuggets, for measures that need their importance or weight."
    ] = None,
    answers: Annotated[
        Any, opt.read("The answers, to check whether the judge is biased by length.", reads="answers")
    ] = None,
    nuggets_in_qrels: Annotated[
        opt.NuggetsInQrels | None,
        "Whether the second column of qrels names nuggets (default: if it looks so).",
    ] = None,
    style: Annotated[
        TableFormat, "Output format; CSV, TSV and JSON lines contain only the coefficients."
    ] = "table",
    output: opt.Output | None = None,
) -> None:
    """Compare a judge with human labels: JUDGED with GOLD, beyond chance.

    Both are judgements: rageval's, qrels, UMBRELA's, the nuggetizer's assignments, or a dataset id. Items
    judged by both are compared. Prints agreement, Cohen's kappa and Gwet's AC with 95 % intervals over
    queries, and the confusion of labels. Also prints the direction of the judge's errors, whether systems
    rank alike, biases (length, order, its own family of models), failures and cost.

    \b
    rageval label agree judged.jsonl human.jsonl --near-misses quadratic
    rageval label agree umbrela.qrels nist.qrels --near-misses quadratic
    rageval label agree ours.jsonl originals.jsonl --parting 20
    rageval label agree judged.jsonl human.jsonl -m v_strict --answers answers.jsonl --format json
    rageval label agree --leaderboards truth.txt judge.txt
    rageval label agree --leaderboards truth.txt a.txt b.txt c.txt
    """
    if leaderboards:
        way_out = "--leaderboards takes only TRUTH JUDGE, -m, --form, --at and --format"
        # Options of the other kind would be taken and do nothing, which is worse than an error.
        _refuse_others(ctx, _OF_BOARDS | _OF_BOTH, way_out)
        if len(leaderboards) > 1:
            raise UsageError(
                "--leaderboards: given twice; name all judges after one truth: --leaderboards TRUTH JUDGE"
                " JUDGE…"
            )
        truth, judge = leaderboards[0]
        boards = _boards([truth, judge, *map(str, labels)], forms)
        deliver(_ranking_lines(boards, cutoffs, measures, style), output)
        return
    _refuse_others(
        ctx,
        set(ctx.params) - _OF_BOARDS | {"labels"},
        "applies to leaderboards; add --leaderboards TRUTH JUDGE",
    )
    if len(labels) != 2:
        raise UsageError("expected JUDGED and GOLD, two files of judgements (or --leaderboards TRUTH JUDGE)")
    judged, gold = labels
    lengths: dict[tuple[str, str], float] | None = None
    if answers:
        given = [answer for answer in read_answers(answers) if not answer.error]
        lengths = {(answer.query_id, answer.run_id): float(len(answer.text.split())) for answer in given}
    named = YES_OR_NO[nuggets_in_qrels]
    people, judgements = read_people(gold, named), read(judged, named)
    # Several annotators are gold as a majority; how far they agree says how good gold is.
    things = [key for own in people.values() for key in own]
    draw = draw_of_labels(things, [gold], drawn(gold_chosen), name_of(gold))
    gold_labels = together(people)
    queries = sorted({key[0] for own in (judgements, *people.values()) for key in own})
    units, by = clusters_of(cluster, queries, None, labels)
    chosen = clusters_with_labels(units, [draw], queries)
    clusters = None if chosen == "none" else chosen
    by = by if draw.plan is None or not draw.clusters or cluster is not None else draw.plan.clustered_by
    say(*cluster_remarks(clusters, by, queries))
    pairs = between(people, near_misses, draw, clusters)
    several = agreement_of_several(people, near_misses, draw, clusters)
    judge_passport = passport(
        judgements,
        gold_labels,
        near_misses,
        measures,
        lengths,
        nuggets,
        pairs,
        several,
        draw,
        clusters=clusters,
    )
    deliver(
        passport_lines(judge_passport, (judgements, gold_labels) if parting else None, parting or 0, style),
        output,
    )
    if max_bias is not None:
        end_if_biased({"the judge": why_biased(judge_passport.facts["positions"], max_bias)}, max_bias)


_OF_BOARDS = {"leaderboards", "forms", "cutoffs", "labels"}
_OF_BOTH = {"measures", "style", "output"}


def _refuse_others(ctx: click.Context, allowed: set[str], way_out: str) -> None:
    """Refuse what says nothing of what is compared: leaderboards, or judgements."""
    for param in ctx.command.params:
        name = str(param.name)
        if name not in allowed and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            word = param.opts[0] if param.opts[0].startswith("-") else visible(str(ctx.params[name]))
            raise UsageError(f"{word}: {way_out}")


def _ranking_lines(
    boards: Sequence[tuple[str, list[LeaderboardRow]]],
    cutoffs: str | None,
    measure: str | None,
    style: str,
) -> Iterator[str]:
    """Yield how alike leaderboards rank runs, the truth first, in any style."""
    numbers: Sequence[int] = CUTOFFS
    if cutoffs is not None:
        words = [word.strip() for word in cutoffs.split(",")]
        if not all(word.isascii() and word.isdigit() and int(word) >= 3 for word in words):
            raise UsageError(f"--at {visible(cutoffs)!r}: expected whole numbers from 3, such as 4,10")
        numbers = [int(word) for word in words]
    measures = (measure,) if measure else ()
    (_, truth), *judges = boards
    agreements: list[LeaderboardAgreement | JudgesComparison]
    if len(judges) == 1:
        agreements = [*compare_leaderboards(truth, judges[0][1], measures, numbers)]
    else:
        agreements = [*compare_judges(truth, dict(judges), measures, numbers)]

    def parts() -> Iterator[Table | str]:
        for number, agreement in enumerate(agreements):
            if number:
                yield ""
            for table in agreement.tables():
                yield table
                yield ""
            yield from map(Prose, agreement.sentences())

    def data() -> Table:
        columns = [*map(Column, ("truth", "judge", "coefficient"))]
        columns += [Column(name, NUMBER, sign="z", nan="") for name in ("value", "low", "high")]
        rows = [
            [one.truth, name, *row]
            for agreement in agreements
            for name, one in (
                agreement.judges if isinstance(agreement, JudgesComparison) else {agreement.judge: agreement}
            ).items()
            for row in one._table().rows
        ]
        return Table(columns, rows, 3)

    yield from lines(style, parts, data, record=lambda: [agreement.as_dict() for agreement in agreements])


def _boards(files: Sequence[str], forms: tuple[Form, ...]) -> list[tuple[str, list[LeaderboardRow]]]:
    """Read all leaderboards, by the names of their files; topics of one that can be told tell the others'."""
    if len(forms) > 2:
        raise UsageError("--form: give it once for all leaderboards, or twice")
    of_truth, of_judges = (*forms, *forms)[:2] if forms else (None, None)
    twice = next((name for name in files if files.count(name) > 1), None)
    # One judge beside itself, or a truth taken for a judge, is a slip where several are compared.
    if twice is not None and len(files) > 2:
        raise UsageError(f"{visible(twice)}: is named twice; give each leaderboard once")
    rows_by_place: dict[int, list[LeaderboardRow]] = {}
    undetected: list[int] = []
    topics: set[str] = set()
    for place, name in enumerate(files):
        try:
            rows_by_place[place] = read_leaderboard(name, of_judges if place else of_truth, topics)
        # Some files look the same in two forms; the topics of another leaderboard tell which it is.
        except UntoldForm:
            undetected.append(place)
        else:
            topics |= {row.query_id for row in rows_by_place[place]} - {ALL}
    for place in undetected:
        rows_by_place[place] = read_leaderboard(files[place], of_judges if place else of_truth, topics)
    short = list(map(os.path.basename, files))
    names = short if len(set(short)) == len(short) else files
    return [(names[place], rows_by_place[place]) for place in range(len(files))]


def passport_lines(
    judge_passport: Passport, both: tuple[Judged, Judged] | None, most: int, style: str
) -> Iterator[str]:
    """Yield a passport in any style, with `both` judges side by side and where they part."""

    parts = [part for table in judge_passport.tables() for part in (table, "")] + judge_passport.sentences()
    coefficients, *_ = judge_passport.tables()
    ends = (column._replace(nan="") for column in coefficients.columns[1:])
    rows = [[*row, judge_passport.facts["drawn"]] for row in coefficients.rows]
    data = coefficients._replace(columns=[Column("coefficient"), *ends, Column("drawn")], rows=rows)
    if both is None:
        yield from lines(style, lambda: parts, lambda: data, record=judge_passport.as_dict)
        return
    sides, differing = list(map(passports.one_judge, both)), passports.parting(*both)
    more = len(differing) - most
    shown_parts = [_side_by_side(sides), "", *parts, "", _differences_table(differing[:most])]
    shown_parts += [f"{more:,} more with smaller differences"] * (more > 0)
    both_judges = {
        "judges": [side._asdict() for side in sides],
        "differing": len(differing),
        "parting": [pair._asdict() for pair in differing[:most]],
    }
    yield from lines(
        style, lambda: shown_parts, lambda: data, record=lambda: judge_passport.as_dict() | both_judges
    )


def _side_by_side(sides: list[OneJudge]) -> Table:
    names = sides[0]._fields[:-1]
    rows: list[list[Any]] = [
        [name.replace("_", " "), *(getattr(side, name) for side in sides)] for name in names
    ]
    labels = dict.fromkeys(label for side in sides for label in side.labels)
    rows += [[label, *(side.labels.get(label, 0) for side in sides)] for label in labels]
    return Table([Column(""), Column("first", BRIEF, none="-"), Column("second", BRIEF, none="-")], rows)


def _differences_table(differing: list[Parting]) -> Table:
    rows = []
    for parting in differing:
        what = " ".join(part for part in (parting.item, parting.aspect) if part not in ("answer", "0"))
        why = " | ".join(filter(None, (parting.reason, parting.other_reason)))
        rows.append(
            [
                parting.query,
                parting.run,
                what,
                parting.first,
                parting.second,
                why[:_LONGEST],
                f"{parting.gap:g}",
            ]
        )
    names = ("query", "run", "what", "first", "second", "why", "apart")
    return Table([*map(Column, names)], rows, 6)
