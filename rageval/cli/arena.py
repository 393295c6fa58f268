"""`rageval arena`: systems compared side by side, pairwise or listwise."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from rageval.cli._options import Command, shared
from rageval.cli._output import beneath, csv_line, md_lines, on_terminal, print_lines, table_lines
from rageval.scoring.scores import NOT_IN_IT, basis_of
from rageval.showing import latex_lines

if TYPE_CHECKING:
    from rageval.files.judgements import JudgementTable

_Grid = list[list[str]]
_STYLES = ("table", "md", "latex", "csv", "json")


@click.command(cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="JUDGED.jsonl...")
@click.option("--format", "style", type=click.Choice(_STYLES), help="Default: table on a terminal, else csv.")
@click.option(
    "--compat", type=click.Choice(("ragnarok",)), help="Elo ratings as Ragnarök's arena keeps them."
)
@click.option("--matrix", is_flag=True, help="Wins, ties and losses of each pair of systems.")
@shared(
    "--nuggets",
    help="The nuggets by which answers were compared: says where the judgements differ from them.",
)
def arena(files: tuple[str, ...], style: str | None, compat: str | None, matrix: bool, nuggets: Any) -> None:
    """Rank systems by judgements that compare their answers.

    Pairwise judgements (labels win, tie, loss) give Bradley-Terry strengths with ties and 95 % intervals over
    queries; listwise ones (grades are places) give mean points. Judgements that share query, aspect and judge
    are sides of one comparison.

    \b
    rageval arena judged.jsonl
    rageval arena judged.jsonl --matrix --format md
    """
    from rageval.scoring.answers import read_judgements

    grades = read_judgements(list(files), nuggets=nuggets)
    for remark in grades.remarks:
        click.echo(f"rageval: {remark}", err=True)
    _say_what_failed(grades)
    if matrix:
        grid, labels = _matrix(grades), 1
    elif compat:
        grid, labels = _elo(grades), 1
    else:
        grid, labels = _standing(grades), 1
    basis = basis_of(grades.judges.words)
    print_lines(_lines(grid, labels, style or ("table" if on_terminal() else "csv"), basis))


def _say_what_failed(grades: JudgementTable) -> None:
    from rageval.comparison.arena import failed_sides, has_rankings

    if not has_rankings(grades) and (number := failed_sides(grades)):
        click.echo(f"rageval: {number:,} judgements failed; their comparisons are left out", err=True)


def _standing(grades: JudgementTable) -> _Grid:
    from rageval.comparison.arena import games, has_rankings, strengths

    if has_rankings(grades):
        points = _values(grades)
        rows = sorted(points.items(), key=lambda item: (item[1][1] == 0, -item[1][0]))  # those without last
        return [["system", "rank_score", "queries"], *([name, f"{v:.4f}", str(n)] for name, (v, n) in rows)]
    found = strengths(games(grades))
    if any(math.isnan(each.low) for each in found):
        click.echo(
            "rageval: no interval where samples of the queries all give the same strengths, or infinite ones",
            err=True,
        )
    head = ["system", "strength", "low", "high", "win_rate", "games"]
    return [
        head,
        *([s.system, *map(_shown, (s.strength, s.low, s.high, s.win_rate)), str(s.games)] for s in found),
    ]


def _shown(value: float) -> str:
    return f"{round(value, 4) + 0.0:.4f}"  # no minus before zero


def _elo(grades: JudgementTable) -> _Grid:
    from rageval.comparison.arena import elo, games

    ratings = sorted(elo(games(grades)).items(), key=lambda item: -item[1])
    return [["system", "elo"], *([name, str(rating)] for name, rating in ratings)]


def _values(grades: JudgementTable) -> dict[str, tuple[float, int]]:
    from rageval.scoring.answers import evaluate_answers

    found = evaluate_answers("rank_score", grades)
    return {run: (scores["rank_score"].value, scores["rank_score"].queries) for run, scores in found.items()}


def _matrix(grades: JudgementTable) -> _Grid:
    from rageval.comparison.arena import games, has_rankings, outcome_matrix
    from rageval.scoring.answers import evaluate_answers

    names = grades.runs.words
    if has_rankings(grades):
        found = evaluate_answers("rank_score", grades)
        table = outcome_matrix([scores["rank_score"].values for scores in found.values()])
    else:
        table = games(grades).outcomes()
    cells: list[list[Any]] = [
        [name, *("-".join(map(str, table[i, j].tolist())) if i != j else "" for j in range(len(names)))]
        for i, name in enumerate(names)
    ]
    return [["wins-ties-losses", *names], *cells]


def _lines(grid: _Grid, labels: int, style: str, basis: str) -> Iterator[str]:
    """Yield the grid, with what its claims have to say of themselves (`basis`)."""
    if style == "json":
        head, *body = grid
        values = [[*row[:labels], *map(_number, row[labels:]), basis] for row in body]
        yield json.dumps([dict(zip([*head, "basis"], row, strict=True)) for row in values], indent=2)
    elif style == "csv":
        yield csv_line([*grid[0], "basis"])
        yield from (csv_line(row[:labels], [*row[labels:], csv_line([basis])]) for row in grid[1:])
    else:
        draw = {"md": md_lines, "latex": latex_lines, "table": table_lines}[style]
        yield from draw(grid, labels)
        yield from beneath([f"{basis}: {NOT_IN_IT}"] if basis else [], style)


def _number(cell: str) -> str | float | None:
    try:
        number = float(cell)
    except ValueError:
        return cell
    return number if number == number else None
