"""`rageval arena`: systems compared side by side, pairwise or listwise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from rageval import options as opt
from rageval.cli._options import Command, OfLabels, takes_options
from rageval.cli._output import TableFormat, deliver, end_if_biased, say
from rageval.comparison.arena import (
    failed_sides,
    games,
    has_rankings,
    incomplete,
    invalid_rankings,
    lacking_remarks,
    outcome_matrix,
    position_remarks,
    positions_of,
    signature_of,
    strength_remarks,
    strengths,
    strengths_by_people,
    why_biased,
)
from rageval.comparison.estimates import estimate_signature
from rageval.comparison.intervals import cluster_remarks
from rageval.core.basis import Basis, DrawKind
from rageval.errors import InputError, UsageError
from rageval.scoring.answers import read_judgements, scored
from rageval.scoring.gold import drawn, gold_of, label_remarks
from rageval.scoring.query_groups import clusters_of
from rageval.table import NUMBER, TALLY, Column, Table, lines
from rageval.text import visible
from rageval.views.bases import describe_basis, uncorrected_notes

if TYPE_CHECKING:
    from rageval.comparison.arena import Positions
    from rageval.comparison.results import Clusters
    from rageval.files.judgements import JudgementTable
    from rageval.scoring.scores import Score


class Options(OfLabels):
    """The options of `rageval arena`."""

    style: TableFormat = "table"
    output: opt.Output | None = None
    ties: Annotated[
        Literal["half", "davidson"],
        opt.measured(
            "What a tie is: half a win for each (as in RAGDoll's arena), or an outcome of its own with its"
            " own chance (Davidson)."
        ),
    ] = "half"
    compat: Annotated[
        Literal["ragnarok"] | None, opt.measured("Print Elo ratings, computed as in Ragnarök's arena.")
    ] = None
    matrix: Annotated[bool, opt.Option("Print wins, ties and losses of each pair of systems.")] = False
    nuggets: Annotated[
        opt.Nuggets, "The nuggets used to compare answers; shows where judgements differ from them."
    ] = None
    invalid: Annotated[
        Literal["permutation", "query", "refuse"],
        opt.Option(
            "Rankings whose places are not 1 to N: leave out the ranking, leave out its query, or refuse."
        ),
    ] = "permutation"
    max_bias: opt.MaxBias | None = None
    gold: Annotated[opt.Gold, "Human labels for some of the same pairs; corrects the strengths."] = ()
    cluster: opt.Cluster | None = None


@click.command(
    cls=Command,
    first=("matrix", "max_bias", "ties", "gold", "gold_chosen", "cluster", "nuggets", "style", "output"),
)
@click.argument("judged", nargs=-1, required=True, metavar="JUDGED.jsonl...")
@takes_options
def arena(judged: tuple[str, ...], options: Options) -> None:
    """Rank systems by judgements that compare their answers.

    Pairwise judgements (labels win, tie, loss) give Bradley-Terry strengths with 95 % intervals over queries,
    corrected for the order in which answers were shown if judgements record it. Listwise ones (grades are
    places) give mean points. Judgements with the same query, aspect and judge are the two sides of one
    comparison.

    \b
    rageval arena judged.jsonl
    rageval arena judged.jsonl --matrix --format md
    rageval arena judged.jsonl --max-bias 0.5
    rageval arena judged.jsonl --gold human.jsonl
    """
    grades = read_judgements(list(judged), nuggets=options.nuggets)
    say(*grades.remarks)
    _report_failures(grades, options.invalid)
    positions = positions_of(grades)
    basis = Basis.of(grades.judges.words)
    units, by = _units(grades, judged, options)
    signature = {"ties": options.ties, **({} if units is None else {"units": by})}
    if options.gold:
        if options.matrix or options.compat:
            raise UsageError("--gold corrects strengths; leave out --matrix and --compat")
        if options.ties != "half":
            raise UsageError(
                "--gold corrects shares of wins, in which a tie is half a win; leave out --ties davidson"
            )
        table, labelers, draw = _corrected_strengths(grades, units, signature, options)
        basis = Basis.of_labels(labelers, basis, draw)
    elif options.matrix:
        names = grades.runs.words
        if has_rankings(grades):
            outcomes = outcome_matrix(
                [score.values for score in _rank_points(grades, options.invalid).values()]
            )
        else:
            outcomes = games(grades).outcomes()
        rows = [
            [name, *(outcomes[i, j].tolist() if i != j else None for j in range(len(names)))]
            for i, name in enumerate(names)
        ]
        table = Table([Column("wins-ties-losses"), *(Column(name, TALLY) for name in names)], rows)
    elif options.compat:
        ratings = sorted(games(grades).elo().items(), key=lambda item: -item[1])
        table = _systems_table([], ["elo"], [[name, rating] for name, rating in ratings])
    else:
        table = _standings_table(grades, units, positions, signature, options)
    texts = basis.texts if basis.corrected else {"basis": str(basis)}
    columns = [*table.columns, *(Column(name, is_for_programs=True) for name in texts)]
    rows = [[*row, *texts.values()] for row in table.rows]
    if basis.corrected:
        notes = [f"{describe_basis(basis)}; 'judge' is the judge's strength without correction"]
    else:
        notes = [note.replace(": strength", "", 1) for note in uncorrected_notes({"strength": basis})]
    table = table._replace(columns=columns, rows=rows, notes=notes)
    deliver(lines(options.style, lambda: [table], lambda: table), options.output)
    for position in positions:
        say(*position_remarks(position.as_dict(), position.judge))
    if options.max_bias is not None:
        # Where nothing says an order there may be no judge of whom anything is known.
        of_judge: dict[str, dict[str, Any] | None]
        of_judge = {position.judge or "the judge": position.as_dict() for position in positions} or {
            "the judge": None
        }
        limit = options.max_bias
        end_if_biased({judge: why_biased(shown, limit) for judge, shown in of_judge.items()}, limit)


def _units(
    grades: JudgementTable, judged: Sequence[str], options: Options
) -> tuple[dict[str, str] | None, str]:
    """Return the cluster of every query, and what it is, and say so; None where queries are independent."""
    queries = list(map(str, grades.queries.words))
    clusters, by = clusters_of(options.cluster, queries, None, judged)
    units = None if clusters is None or clusters == "none" else clusters
    # Points of rankings, counts and Elo have no intervals.
    if not (options.matrix or options.compat or has_rankings(grades)):
        say(*cluster_remarks(units, by, queries))
    return units, by


def _report_failures(grades: JudgementTable, invalid: str) -> None:
    if not has_rankings(grades):
        if not grades.draws:
            say(*lacking_remarks(games(grades)))
        if number := failed_sides(grades):
            say(f"{number:,} judgements failed; their comparisons are left out")
        return
    wrong, total, queries = invalid_rankings(grades)
    if not wrong:
        return
    problem = (
        f"{wrong:,} of {total:,} rankings (of {queries:,} queries) failed or have places that are not 1 to N"
    )
    if invalid == "refuse":
        raise InputError(
            problem=problem, remedy="judge them again, or leave them out: --invalid permutation or query"
        )
    out = "they are" if invalid == "permutation" else "these queries are"
    say(f"{problem}; {out} left out")


def _standings_table(
    grades: JudgementTable,
    units: dict[str, str] | None,
    positions: Sequence[Positions],
    signature: Mapping[str, str],
    options: Options,
) -> Table:
    if has_rankings(grades):
        return _points_table(grades, positions, options.invalid)
    played = games(grades, units)
    ratings = strengths(played, options.ties)
    if grades.is_adaptive:  # no interval holds
        last = len(ratings)
        ratings = [replace(s, low=math.nan, high=math.nan, rank_low=1, rank_high=last) for s in ratings]
    say(*strength_remarks(ratings))
    standing = [
        [s.system, s.strength, s.low, s.high, s.rank_low, s.rank_high, s.win_rate, s.games] for s in ratings
    ]
    table = _systems_table(
        ["strength", "low", "high"], ["rank_low", "rank_high"], [row[:6] for row in standing]
    )
    columns = [*table.columns, Column("win_rate", NUMBER), Column("games", NUMBER, 0)]
    return _signed(table._replace(columns=columns, rows=standing), signature_of(played, signature))


def _points_table(grades: JudgementTable, positions: Sequence[Positions], invalid: str) -> Table:
    scores, few = _rank_points(grades, invalid), incomplete(grades)
    points = {run: (score.value, score.queries) for run, score in scores.items()}
    for name, (times, total) in few.items():
        click.echo(
            f"rageval: {visible(name)} is in {times:,} of {total:,} lists; its points are from these"
            " lists only and cannot be compared with the others",
            err=True,
        )
    # Those that are not in every list last, and after them those without points.
    rows = sorted(points.items(), key=lambda item: (item[1][1] == 0, item[0] in few, -item[1][0]))
    standing = [[name, value, queries] for name, (value, queries) in rows]
    of_judges: dict[str, list[float]] = {}
    for position in positions:
        for system, corrected in position.corrected.items():
            of_judges.setdefault(system, []).append(corrected)
    # The mean of what the judges' points come to without the place shown.
    means = {system: math.fsum(values) / len(values) for system, values in of_judges.items()}
    return _with_corrected(_systems_table(["rank_score"], ["queries"], standing), means)


def _signed(table: Table, signature: str) -> Table:
    """Add how the strengths were computed, in one line."""
    columns = [*table.columns, Column("signature", is_for_programs=True)]
    return table._replace(columns=columns, rows=[[*row, signature] for row in table.rows])


def _systems_table(numbers: Sequence[str], counts: Sequence[str], rows: list[list[Any]]) -> Table:
    """Return a row a system, with numbers that have places and whole ones."""
    columns = [Column("system"), *(Column(name, NUMBER, sign="z") for name in numbers)]
    return Table([*columns, *(Column(name, NUMBER, 0) for name in counts)], rows)


def _corrected_strengths(
    grades: JudgementTable, units: dict[str, str] | None, signature: Mapping[str, str], options: Options
) -> tuple[Table, tuple[str, ...], DrawKind]:
    """Return strengths that labels correct, who labeled, how labels were drawn; say what has too few."""
    if has_rankings(grades):
        raise UsageError(
            "--gold corrects pairwise comparisons; for rankings use compare -m rank_score --gold"
        )
    files = list(options.gold)
    gold = gold_of(read_judgements(files, nuggets=options.nuggets), files, drawn(options.gold_chosen))
    clusters: Clusters | None = "none" if options.cluster == "none" else units
    ratings, remarks = strengths_by_people(grades, gold, options.population, clusters)
    if gold.draw.plan is not None and gold.draw.clusters and units is None:
        signature = {**signature, "units": gold.draw.plan.clustered_by}
    say(*label_remarks(gold), *remarks, *strength_remarks(ratings))
    rows = [[s.system, s.strength, s.low, s.high, s.judged, s.games, s.labels] for s in ratings]
    drawn_how = gold.draw.kind(sum(s.games - s.labels for s in ratings))
    table = _systems_table(["strength", "low", "high", "judge"], ["games", "labels"], rows)
    labels = estimate_signature(gold.draw, str(max(s.labels for s in ratings)))
    return _signed(table, signature_of(games(grades), signature, labels)), gold.by, drawn_how


def _with_corrected(table: Table, corrected: Mapping[str, float]) -> Table:
    """Add what is left without what the place shown was worth, where that is known."""
    if not corrected:
        return table
    column = Column("order_corrected", NUMBER, sign="z")
    rows = [[*row, corrected.get(row[0])] for row in table.rows]
    return table._replace(columns=[*table.columns, column], rows=rows)


def _rank_points(grades: JudgementTable, invalid: str) -> dict[str, Score]:
    """Return each system's points for its places."""
    measure = f"rank_score(invalid={'query' if invalid == 'query' else 'permutation'})"
    scores_of_runs = scored(measure, grades, on_missing="skip")
    return {run: next(iter(scores.values())) for run, scores in scores_of_runs.items()}
