"""`rageval correct`: a judge's scores, corrected by what people said of some of the answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from rageval import options as opt
from rageval.cli._options import Command, takes_options
from rageval.cli._output import md_lines, on_terminal, print_lines, table_lines
from rageval.showing import csv_line

if TYPE_CHECKING:
    from rageval.comparison.correcting import CorrectedMeasure

_STYLES = ("table", "md", "csv", "json")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `rageval correct`."""

    gold: Annotated[opt.Gold, "What people said of some of the answers."]
    gold_chosen: opt.GoldChosen | None = None
    population: opt.Population = "kind"
    measures: Annotated[opt.Measures, "What to measure."]
    answers: Annotated[opt.Answers, "The answers, for measures that need them."] = ()
    nuggets: opt.Nuggets = None
    on_missing: Annotated[opt.OnMissing, "The judge's judgements that failed or are not there."] = "error"
    level: Annotated[opt.Level, "The confidence level of the intervals."] = 0.95
    places: opt.Places = 4
    style: Annotated[
        Literal["table", "md", "csv", "json"] | None,
        opt.printed("Default: table on a terminal, else csv.", ("--format",)),
    ] = None


@click.command(cls=Command)
@click.argument("judged", nargs=-1, required=True, metavar="JUDGED.jsonl...")
@takes_options
def correct(judged: tuple[str, ...], options: Options) -> None:
    """Correct a judge's scores by what people said of some of the same answers.

    People need to have judged a random part of the answers, or of their nuggets. Prints the judge's mean,
    people's mean on their part, and the corrected mean with its interval (regression of people's values on
    the judge's), how many of the judgements are people's, and how many queries would tell as much without a
    judge (gain). A useless judge changes nothing; fewer than 20 queries are not enough.

    \b
    rageval correct judged.jsonl --gold human.jsonl -m crag_score,hallucination
    rageval correct judged.jsonl --gold human.jsonl -m v_strict --format md
    """
    from rageval.comparison.correcting import correct as corrected
    from rageval.comparison.correcting import remarks
    from rageval.scoring.answers import measures_of_answers, read_judgements
    from rageval.scoring.basis import said_of_corrected
    from rageval.scoring.gold import drawn, gold_of, said_of_labels
    from rageval.scoring.rules import Rules

    measures = measures_of_answers(options.measures)
    answers = list(options.answers)
    nuggets = options.nuggets
    judgements = read_judgements(list(judged), answers=answers, nuggets=nuggets)
    gold = read_judgements(list(options.gold), answers=answers, nuggets=nuggets)
    rules = Rules(on_missing=options.on_missing)
    labels = gold_of(gold, list(options.gold), drawn(options.gold_chosen))
    found = corrected(measures, judgements, gold, rules, options.level, options.population, labels.draw)
    bases = said_of_corrected({each.measure: (each.basis, each.corrected_from) for each in found})
    for remark in [*judgements.remarks, *said_of_labels(labels), *bases, *remarks(found, judgements)]:
        click.echo(f"rageval: {remark}", err=True)
    style = options.style or ("table" if on_terminal() else "csv")
    print_lines(_lines(found, style, options.places))


def _lines(found: Sequence[CorrectedMeasure], style: str, places: int) -> Iterator[str]:
    if style == "json":
        yield json.dumps({"results": [_record(each) for each in found]}, indent=2, allow_nan=False)
        return
    grid = [_HEAD, *(_row(each, places) for each in found)]
    if style == "csv":
        yield from (csv_line(row[:3], [*row[3:-2], csv_line(row[-2:])]) for row in grid)
    else:
        yield from {"md": md_lines, "table": table_lines}[style](grid, 3)


_HEAD = ["run", "measure", "population", "judge", "people", "people_low", "people_high", "corrected", "low"]
_HEAD += ["high", "queries", "checked", "labels", "of", "slope", "gain", "basis", "corrected_from"]


def _row(each: CorrectedMeasure, places: int) -> list[str]:
    numbers = (each.judge, each.people, each.people_low, each.people_high, each.value, each.low, each.high)
    shown = ["" if math.isnan(number) else f"{number:.{places}f}" for number in numbers]
    counts = map(str, (each.queries, each.checked, each.labels, each.of))
    slope = "" if math.isnan(each.slope) else f"{each.slope:.3f}"
    gain = "" if math.isnan(each.gain) else f"{each.gain:.0f}"
    return [
        each.run,
        each.measure,
        each.population,
        *shown,
        *counts,
        slope,
        gain,
        each.basis,
        each.corrected_from,
    ]


def _record(each: CorrectedMeasure) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in each._asdict().items()
    }
