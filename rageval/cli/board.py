"""`rageval board`: a leaderboard that anybody can recompute."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from rageval import hooks
from rageval import options as opt
from rageval.cli._inputs import sort_words
from rageval.cli._options import Group, takes_options
from rageval.cli._output import TableFormat, print_lines, say
from rageval.errors import UsageError
from rageval.files.opening import name_of
from rageval.files.trec import PLAIN
from rageval.scoring.runs_from_files import run_sources
from rageval.subjects import RUNS
from rageval.table import lines
from rageval.text import visible
from rageval.track.bundle import Board
from rageval.track.leaderboard import bundled
from rageval.track.publication import publish
from rageval.track.values import ScoringInputs, System, conversations_of
from rageval.track.verification import verify


@click.group(cls=Group)
def board() -> None:
    """Bundle, recompute or publish a leaderboard.

    \b
    rageval board bundle a.trec b.trec qrels.txt -m ndcg@10 -o board.tar.gz
    rageval board verify board.tar.gz
    rageval board publish board.tar.gz -o site
    """


class Options(opt.Options):
    """The options of `rageval board bundle`."""

    measures: Annotated[opt.Measures, "Measures of the leaderboard."]
    answers: opt.Answers = ()
    nuggets: Annotated[opt.Nuggets, "The judged nuggets."] = None
    topics: Annotated[opt.Topics, "The questions."] = None
    passages: opt.Passages = None
    gold: Annotated[opt.Gold, "Human labels for some answers; corrects the leaderboard."] = ()
    gold_chosen: opt.GoldChosen | None = None
    on_missing: opt.OnMissing = "error"
    rubrics: Annotated[
        tuple[str, ...],
        opt.asked(
            "A custom rubric that judges used.",
            ("--rubric",),
            metavar="RUBRIC",
            completes="rubrics",
        ),
    ] = ()
    mode: Annotated[
        Literal["digests", "full"],
        opt.printed(
            "Whether the bundle contains topics, passages and replies, or only their hashes.", ("--bundle",)
        ),
    ] = "digests"
    title: Annotated[str, opt.printed("Title of the leaderboard.", metavar="TEXT")] = "Leaderboard"
    output: Annotated[
        opt.File,
        opt.printed("The bundle to write.", ("-o", "--output"), metavar="FILE.tar.gz", kind="output"),
    ]


@board.command(
    "bundle",
    first=(
        "measures",
        "answers",
        "nuggets",
        "topics",
        "passages",
        "gold",
        "rubrics",
        "mode",
        "title",
        "output",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@takes_options
def _bundle(files: tuple[str, ...], options: Options) -> None:
    """Bundle runs and qrels, or judged answers, with the leaderboard that follows from them.

    Formats of FILES are detected. The same files give the same bytes. rageval track writes such a bundle too.

    \b
    rageval board bundle a.trec b.trec qrels.txt -m ndcg@10 -o board.tar.gz
    rageval board bundle judged.jsonl --answers answers.jsonl -m crag_score -o board.tar.gz --bundle full
    """
    sources = sort_words(files, PLAIN)
    if sources.unjudged:
        raise UsageError(
            f"{visible(name_of(sources.unjudged[0]))}: is not judged yet; expected judged answers"
        )
    runs, qrels = sources.files["run"], sources.files["qrels"]
    if sources.kind is RUNS and not (runs and len(qrels) == 1):
        raise UsageError("expected runs and one file of qrels, or judged answers")
    named = zip(run_sources(runs, PLAIN, None), runs, strict=True)
    questions = None if options.topics is None else hooks.questions_in(options.topics, [])
    inputs = ScoringInputs(
        ",".join(options.measures or sources.measures),
        sources.kind,
        [System(run.name, Path(_file(file)).name, _file(file)) for run, file in named],
        judged=list(map(_file, sources.files["judgements"])),
        qrels=qrels[0] if qrels else None,
        nuggets=options.nuggets,
        topics=None if questions is None else list(questions),
        conversations=conversations_of(questions),
        gold=list(map(_file, options.gold)),
        gold_chosen=options.gold_chosen or "",
        on_missing=options.on_missing,
    )
    about = Board(
        options.title,
        "run" if inputs.kind is RUNS else "answers",
        {
            "qrels": inputs.qrels,
            "nuggets": options.nuggets,
            "topics": options.topics,
            "passages": options.passages,
        },
        answers=list(map(_file, options.answers)),
        rubrics=options.rubrics,
    )
    sha256 = bundled(Path(options.output), inputs, about, options.mode, lambda line: say(visible(line)))
    say(f"wrote {visible(str(options.output))}, SHA-256 {sha256}")


def _file(source: Any) -> str:
    """Return the name of a file; what comes from a dataset or a stream has none that could be packed."""
    if not isinstance(source, str | os.PathLike):
        shown = visible(name_of(source))
        raise UsageError(f"{shown}: expected a file; export it first (rageval datasets export)")
    return os.fspath(source)


@board.command("verify")
@click.argument("bundle", metavar="BOARD.tar.gz")
@takes_options
def _verify(
    bundle: str,
    inputs: Annotated[
        opt.File | None,
        opt.Option(
            "A folder with the contents that the bundle withholds: replies, and judgements with replies.",
            metavar="FOLDER",
            kind="path",
        ),
    ] = None,
    sha256: Annotated[
        str, opt.Option("The expected SHA-256 of the bundle, as shown on its page.", metavar="DIGEST")
    ] = "",
    style: TableFormat = "table",
) -> None:
    """Recompute a leaderboard: every digest, judgements from replies, values, claims.

    Lists what was recomputed, and what could not be verified. Exit codes: 0 if all bits are the
    same, 1 if something differs (with row and step), 3 if a step lacks something that it needs.

    \b
    rageval board verify board.tar.gz
    rageval board verify board.tar.gz --inputs withheld --sha256 3fa9…
    """
    verification = verify(bundle, inputs, sha256)
    print_lines(
        lines(
            style,
            lambda: [verification.table(), *map(visible, verification.sentences())],
            verification.table,
            lambda: verification.as_dict()["steps"],
            verification.as_dict,
        )
    )
    if verification.exit_code:
        raise click.exceptions.Exit(verification.exit_code)


@board.command("publish")
@click.argument("bundle", metavar="BOARD.tar.gz", type=click.Path(path_type=Path))
@takes_options
def _publish(
    bundle: Path,
    output: Annotated[opt.Folder, "Folder for the site."],
) -> None:
    """Write a static site: the leaderboard, a page a system and a topic, downloads, and how to verify.

    The bundle is verified first: if something differs, nothing is written (exit 1), and also if values
    cannot be recomputed (exit 3). Put the folder on any server. It also has records for every_eval_ever.

    \b
    rageval board publish board.tar.gz -o site
    """
    verification, written = publish(bundle, Path(output))
    if not written:
        for line in verification.sentences():
            say(visible(line))
        say("nothing was published")
        raise click.exceptions.Exit(verification.exit_code)
    say(f"wrote {len(written):,} files to {visible(str(output))}")
