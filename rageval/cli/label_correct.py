"""`rageval label correct`: a judge's scores, corrected by what people said of some of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import click

from rageval import options as opt
from rageval.cli._options import Command, takes_options
from rageval.cli._output import TableFormat, deliver, say
from rageval.comparison.corrections import correct as corrected
from rageval.comparison.corrections import correction_remarks
from rageval.comparison.intervals import cluster_remarks
from rageval.core.basis import BasisKind
from rageval.core.record import plain_fields
from rageval.scoring.answers import measures_of_answers, read_judgements
from rageval.scoring.gold import drawn, gold_of, label_remarks
from rageval.scoring.query_groups import clusters_of
from rageval.scoring.rules import Rules
from rageval.table import NUMBER, Column, Table, finite, lines
from rageval.views.bases import correction_notes

if TYPE_CHECKING:
    from rageval.comparison.corrections import CorrectedMeasure


class Options(opt.Options):
    """The options of `rageval label correct`."""

    gold: Annotated[opt.Gold, "Human labels for some of the answers."]
    gold_chosen: opt.GoldChosen | None = None
    population: opt.Population = "kind"
    measures: Annotated[opt.Measures, "Measures to compute."]
    answers: Annotated[opt.Answers, "The answers, for measures that need them."] = ()
    nuggets: opt.Nuggets = None
    on_missing: Annotated[opt.OnMissing, "What to do with failed or missing judgements of the judge."] = (
        "error"
    )
    level: Annotated[opt.Level, "Confidence level of the intervals."] = 0.95
    cluster: opt.Cluster | None = None
    places: opt.Places = 4
    style: TableFormat = "table"
    output: opt.Output | None = None


@click.command(
    "correct",
    cls=Command,
    first=(
        "gold",
        "gold_chosen",
        "population",
        "measures",
        "answers",
        "nuggets",
        "on_missing",
        "cluster",
        "style",
        "output",
    ),
)
@click.argument("judged", nargs=-1, required=True, metavar="JUDGED.jsonl...")
@takes_options
def label_correct(judged: tuple[str, ...], options: Options) -> None:
    """Correct a judge's scores with human labels of some of the same answers.

    The labels must be of a random sample of the answers, or of their nuggets. Prints the judge's mean, the
    mean of the human labels, and the corrected mean with its interval (regression of human values on the
    judge's). Also prints how many judgements have human labels, and the gain: how many queries would tell as
    much without a judge. A useless judge changes nothing; fewer than 20 queries are not enough.

    \b
    rageval label correct judged.jsonl --gold human.jsonl -m crag_score,hallucination
    rageval label correct judged.jsonl --gold human.jsonl -m v_strict --format md
    """
    measures = measures_of_answers(options.measures)
    answers = list(options.answers)
    nuggets = options.nuggets
    judgements = read_judgements(list(judged), answers=answers, nuggets=nuggets)
    gold = read_judgements(list(options.gold), answers=answers, nuggets=nuggets)
    rules = Rules(on_missing=options.on_missing)
    labels = gold_of(gold, list(options.gold), drawn(options.gold_chosen))
    queries = list(map(str, judgements.queries.words))
    clusters, by = clusters_of(options.cluster, queries, None, [*judged, *answers])
    how = options.level, options.population, labels.draw, clusters
    results = corrected(measures, judgements, gold, rules, *how)
    bases = correction_notes({result.measure: result.basis for result in results})
    say(*judgements.remarks, *label_remarks(labels), *bases, *correction_remarks(results, judgements))
    say(*cluster_remarks(None if clusters == "none" else clusters, by, queries))
    table = _correction_table(results, options.places)
    shown = table
    # Where no people labeled, nothing that is read calls it theirs.
    if not all(result.basis.kind is BasisKind.PEOPLE for result in results):
        columns = [column._replace(name=column.name.replace("people", "labeled")) for column in table.columns]
        shown = table._replace(columns=columns)
    records = [finite(plain_fields(result._asdict())) for result in results]
    found_as = lines(
        options.style, lambda: [shown], lambda: table, lambda: records, lambda: {"results": records}
    )
    deliver(found_as, options.output)


def _correction_table(results: Sequence[CorrectedMeasure], places: int) -> Table:
    number = partial(Column, kind=NUMBER, places=places, nan="")
    columns = [Column("run"), Column("measure"), Column("population")]
    columns += map(number, ("judge", "people", "people_low", "people_high", "corrected", "low", "high"))
    columns += [Column(name, NUMBER, 0) for name in ("queries", "checked", "labels", "of")]
    columns += [Column("slope", NUMBER, 3, nan=""), Column("gain", NUMBER, 0, nan="")]
    columns += map(Column, ("basis", "corrected_from", "drawn"))
    records = [plain_fields(result._asdict()) for result in results]
    rows = [
        [record["value" if column.name == "corrected" else column.name] for column in columns]
        for record in records
    ]
    return Table(columns, rows, 3)
