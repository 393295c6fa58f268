"""`rageval track`: from a folder of submissions to a leaderboard, pages and an archive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click

from rageval import options as opt
from rageval.checking.tracks import TRACKS
from rageval.cli._options import (
    Asking,
    Command,
    takes_options,
)
from rageval.cli._output import print_lines, say
from rageval.judges.panel import Settings
from rageval.options import settings_from
from rageval.table import COUNT, NUMBER, PRINTERS, Column, Table
from rageval.text import visible
from rageval.track import EntryLimits, TrackPlan, leaderboard_of, organize
from rageval.views.bases import describe_basis

if TYPE_CHECKING:
    from rageval.track import Organized
    from rageval.track.submissions import Submission

_STAGES = ("validate", "pool", "judge", "score", "pages", "archive")


class Options(Asking):
    """The options of `rageval track`."""

    track: Annotated[
        str,
        opt.Option(
            "The rules: run (rankings), answers (tables), or a track of rageval validate.",
            metavar="TRACK",
            choices=TRACKS,
        ),
    ]
    stage: Annotated[
        str,
        opt.Option(
            "Last stage to run; stages run again only if their inputs changed.",
            choices=_STAGES,
        ),
    ] = _STAGES[-1]
    teams: Annotated[
        opt.File | None,
        opt.Option(
            "Names for files: lines with a file, a tab and the name to list it under.",
            metavar="FILE",
            kind="file",
        ),
    ] = None
    strict: Annotated[bool, opt.Option("Stop if a file is not valid (exit 2).")] = False
    citation: Annotated[
        opt.File | None,
        opt.Option("A CITATION.cff for the archive.", metavar="FILE", kind="file"),
    ] = None
    measures: Annotated[
        opt.Measures,
        "Measures of the leaderboard (default: the rubric's own); the first one orders the pages.",
    ] = ()
    gold: Annotated[opt.Gold, "Human labels for some answers; corrects the leaderboard."] = ()
    gold_chosen: opt.GoldChosen | None = None
    on_missing: opt.OnMissing = "error"
    topics: Annotated[
        opt.Topics, "The topics, with right answers if there are any; for validation, judges and pages."
    ] = None
    nuggets: Annotated[opt.Nuggets, "The nuggets of a good answer."] = None
    passages: opt.Passages = None
    qrels: opt.Qrels = None
    judgements: Annotated[
        tuple[str, ...],
        opt.read(
            "Existing judgements of answers, such as human labels.",
            metavar="FILE",
            kind="file",
        ),
    ] = ()
    depth: Annotated[opt.Depth, "Documents of each run to pool."] = 20
    limits: Annotated[
        tuple[str, ...],
        opt.read(
            "Raise the limits for one file: size, seconds, memory (as in memory=8G).",
            ("--limit",),
            metavar="NAME=NUMBER",
        ),
    ] = ()
    rubrics: Annotated[
        tuple[str, ...],
        opt.asked(
            "Rubrics for the judges (for tables: crag).", ("--rubric",), metavar="RUBRIC", completes="rubrics"
        ),
    ] = ()
    judges: opt.Judges = ()
    bundle: Annotated[
        Literal["digests", "full"],
        opt.printed("Whether the archive contains topics, passages and replies, or only their hashes."),
    ] = "digests"
    title: Annotated[str | None, opt.printed("Title of pages and archive.", metavar="TEXT")] = None
    label: Annotated[
        int | None, opt.printed("Also draw a plan of N random topics to label.", metavar="N", least=1)
    ] = None
    output: Annotated[opt.Folder, "Folder for everything."]
    seed: Annotated[opt.Seed, "Seed of that draw."] = 0


@click.command(
    cls=Command,
    first=("track", "output", "measures", "topics", "rubrics", "judges", "gold", "qrels", "label", "stage"),
)
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@takes_options
def track(folder: Path, options: Options) -> None:
    """Run a track: turn a FOLDER of runs into a leaderboard, pages and an archive.

    Validates every file, pools documents and citations, runs judges, and scores with intervals of values and
    ranks. Writes one page for each topic and each run, and an archive for others. Files that are not valid
    are listed and left out. Run the same command again to continue, or after a change.

    \b
    rageval track runs --track rag26 --topics topics.tsv --stage validate -o out
    rageval track runs --track rag26 --topics topics.tsv --nuggets nuggets.jsonl --rubric nugget-assignment
        --judge openai:MODEL -m v_strict,a_strict -o out
    rageval track runs --track run --qrels qrels.txt -m ndcg@10,recall@100 -o out
    rageval track tables --track answers --topics questions.csv --judge openai:MODEL
        --gold labels.jsonl -o out
    """
    plan = settings_from(
        TrackPlan,
        options,
        folder=folder,
        out=options.output,
        measures=",".join(options.measures),
        gold_chosen=options.gold_chosen or "",
        title=options.title or "",
        limits=EntryLimits().changed(options.limits),
        # Its labels are for the leaderboard, and bound no error of a first judge.
        settings=settings_from(Settings, options.replaced(gold=())),
    )
    outcome = organize(
        plan,
        lambda line: say(visible(line)),
        # What is not valid is worth knowing whatever comes of the rest.
        lambda submissions: print_lines(_table_of_files(submissions)),
    )
    print_lines(_outcome_lines(plan, outcome))


def _table_of_files(submissions: Sequence[Submission]) -> Iterator[str]:
    columns = [*map(Column, ("file", "run", "valid"))]
    columns += [Column(name, COUNT) for name in ("topics", "errors", "warnings")]
    rows = [
        [
            submission.file,
            submission.run,
            "yes" if submission.valid else "no",
            submission.topics,
            submission.errors,
            submission.warnings,
        ]
        for submission in submissions
    ]
    yield from PRINTERS["table"].table(Table(columns, rows, 3))
    yield ""
    for submission in submissions:
        if not submission.valid:
            yield f"{visible(submission.file)}: {visible(submission.first)}"
    valid = sum(submission.valid for submission in submissions)
    yield f"{valid:,} of {len(submissions):,} files are valid"


def _outcome_lines(plan: TrackPlan, outcome: Organized) -> Iterator[str]:
    """Yield the leaderboard, and what was done."""
    if "score" in (*outcome.done, *outcome.kept):
        yield ""
        rows = leaderboard_of(plan)
        for measure in dict.fromkeys(row.measure for row in rows):
            columns = [Column("run"), *(Column(name, NUMBER, nan="-") for name in (measure, "low", "high"))]
            columns += [Column(name, NUMBER, 0, none="-") for name in ("rank", "from", "to")]
            of_measure = [row for row in rows if row.measure == measure]
            judge_columns = [Column("judged", NUMBER), Column("labels", COUNT)]
            judge_columns = judge_columns if any(row.judged is not None for row in of_measure) else []
            standing = [
                [row.run, row.value, row.low, row.high, row.rank, row.rank_low, row.rank_high]
                + [row.judged, row.labels] * bool(judge_columns)
                for row in of_measure
            ]
            yield from PRINTERS["table"].table(Table([*columns, *judge_columns], standing))
            yield ""
        if first := next((row for row in rows if row.basis), None):
            yield describe_basis(first.claim_basis)
    done = f"done: {', '.join(outcome.done)}" if outcome.done else "nothing to do"
    before = f"; unchanged: {', '.join(outcome.kept)}" if outcome.kept else ""
    yield f"{done}{before}; in {visible(str(plan.out))}"
