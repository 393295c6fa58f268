"""`rageval track`: from a folder of submissions to a leaderboard, pages and an archive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval.cli._options import (
    DOCUMENTS,
    METAVAR,
    QRELS,
    Command,
    asking_options,
    completing,
    settings_of,
    shared,
)
from rageval.cli._output import print_lines
from rageval.cli.validate import TRACKS
from rageval.scoring.basis import in_words
from rageval.table import COUNT, NUMBER, PRINTERS, Column, Table, on_terminal
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.track import Organised, TrackPlan
    from rageval.track._submissions import Submission

_STAGES = ("validate", "pool", "judge", "score", "pages", "archive")


@click.command(cls=Command)
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Where everything is written.",
)
@click.option(
    "--track",
    type=click.Choice(TRACKS),
    required=True,
    metavar="TRACK",
    help="Whose rules: run (rankings), or one of those of rageval validate.",
)
@click.option(
    "--stage",
    type=click.Choice(_STAGES),
    default=_STAGES[-1],
    show_default=True,
    help="The last stage to do: each is done once, and again only if what it is made of changed.",
)
@click.option(
    "--teams",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Whose a file is: lines of a file, a tab and the name it is listed under.",
)
@click.option("--strict", is_flag=True, help="A file that is not valid ends it all (exit 2).")
@shared("--topics", help="What was asked: for validation, judges and pages.")
@shared("--nuggets", help="What a good answer holds.")
@click.option("--passages", type=DOCUMENTS, metavar=METAVAR, help="Texts of documents, by id.")
@click.option("--qrels", type=QRELS, metavar=METAVAR, help="Judgements of documents that are there.")
@click.option(
    "--judgements",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Judgements of answers that are there, such as people's.",
)
@click.option(
    "--rubric",
    "rubrics",
    multiple=True,
    metavar="RUBRIC",
    shell_complete=completing("rubrics"),
    help="What judges are asked.",
)
@click.option(
    "--judge", "judges", multiple=True, metavar="JUDGE", help="Who judges: openai:MODEL, lexical, …"
)
@shared("--measure", help="What the leaderboard is by; the first one orders the pages.")
@shared("--on-missing")
@shared("--depth", default=20, show_default=True, help="Documents of each run that are pooled.")
@click.option(
    "--label",
    type=click.IntRange(1),
    metavar="N",
    help="Also a plan of N topics for people, drawn at random.",
)
@shared("--seed", default=0, help="Of that draw.")
@click.option("--title", metavar="TEXT", help="What pages and archive are called.")
@click.option(
    "--citation",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A CITATION.cff for the archive.",
)
@shared(
    "--limit", cls=click.Option, help="Raise what one file may cost: size, seconds, memory (as in memory=8G)."
)
@asking_options
def track(folder: Path, output: Path, **options: Any) -> None:
    """Run a track: from a FOLDER of runs to a leaderboard, pages and an archive to publish.

    Validates every file, pools documents and citations, lets judges judge, scores with intervals of values
    and of ranks, writes a page a topic and a page a run, and packs what others need. Files that are not valid
    are listed and left out. Give the same command again to go on, or after something changed.

    \b
    rageval track runs --track rag26 --topics topics.tsv --stage validate -o out
    rageval track runs --track rag26 --topics topics.tsv --nuggets nuggets.jsonl --rubric nugget-assignment
        --judge openai:MODEL -m v_strict,a_strict -o out
    rageval track runs --track run --qrels qrels.txt -m ndcg@10,recall@100 -o out
    """
    from rageval.track import TrackPlan, organise

    plan = _plan(TrackPlan, folder, output, options)
    found = organise(
        plan,
        lambda line: click.echo(f"rageval: {visible(line)}", err=True),
        # What is not valid is worth knowing whatever comes of the rest.
        lambda submissions: print_lines(_table_of_files(submissions)),
    )
    print_lines(_lines(plan, found))


def _plan(make: type[TrackPlan], folder: Path, output: Path, options: dict[str, Any]) -> TrackPlan:
    from rageval.track import EntryLimits

    names = ("track", "topics", "nuggets", "passages", "qrels", "rubrics", "judges", "judgements", "depth")
    more = ("label", "seed", "strict", "on_missing", "stage", "citation", "teams")
    return make(
        folder,
        output,
        **{name: options[name] for name in (*names, *more)},
        measures=",".join(options["measures"]),
        title=options["title"] or "",
        limits=EntryLimits().changed(options["limits"]),
        settings=settings_of(options),
    )


def _drawn(table: Table) -> Iterator[str]:
    return PRINTERS["table" if on_terminal() else "md"].table(table)


def _table_of_files(found: Sequence[Submission]) -> Iterator[str]:
    columns = [*map(Column, ("file", "run", "valid"))]
    columns += [Column(name, COUNT) for name in ("topics", "errors", "warnings")]
    rows = [
        [each.file, each.run, "yes" if each.valid else "no", each.topics, each.errors, each.warnings]
        for each in found
    ]
    yield from _drawn(Table(columns, rows, 3))
    yield ""
    for each in found:
        if not each.valid:
            yield f"{visible(each.file)}: {visible(each.first)}"
    valid = sum(each.valid for each in found)
    yield f"{valid:,} of {len(found):,} files are valid"


def _lines(plan: TrackPlan, found: Organised) -> Iterator[str]:
    """Yield the leaderboard, and what was done."""
    if "score" in (*found.done, *found.kept):
        from rageval.track import leaderboard_of

        yield ""
        rows = leaderboard_of(plan)
        for measure in dict.fromkeys(row.measure for row in rows):
            columns = [Column("run"), *(Column(name, NUMBER, nan="-") for name in (measure, "low", "high"))]
            columns += [Column(name, NUMBER, 0, none="-") for name in ("rank", "from", "to")]
            standing = [
                [row.run, row.value, row.low, row.high, row.rank, row.rank_low, row.rank_high]
                for row in rows
                if row.measure == measure
            ]
            yield from _drawn(Table(columns, standing))
            yield ""
        if basis := next((row.basis for row in rows if row.basis), ""):
            yield in_words(basis)
    done = f"done: {', '.join(found.done)}" if found.done else "nothing to do"
    before = f"; as before: {', '.join(found.kept)}" if found.kept else ""
    yield f"{done}{before}; in {visible(str(plan.out))}"
