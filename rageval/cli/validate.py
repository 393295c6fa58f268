"""`rageval validate`: check that a file is what the track takes, and repair it if it can be repaired."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import click

from rageval import options as opt
from rageval.checking.tracks import OF_RUNS, OF_TABLES, TRACKS
from rageval.cli._options import Command, reading_of, takes_options
from rageval.cli._output import print_lines, say
from rageval.errors import FAULTS, WRONG, InputError, UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.checking.findings import Finding
    from rageval.files.trec import Reading
    from rageval.records import Question


class Options(opt.Options):
    """The options of `rageval validate`."""

    track: Annotated[str, opt.Option(f"The track: {', '.join(TRACKS)}.", metavar="TRACK", choices=TRACKS)]
    topics: Annotated[opt.Topics, "The topics that must be answered (id<TAB>text, or JSON lines)."] = None
    strict_length: Annotated[
        bool, opt.Option("Treat reports over their topic's length limit as errors (default: warnings).")
    ] = False
    out: Annotated[
        opt.File | None,
        opt.Option(
            "Write a repaired copy to OUT, and validate that.", ("--fix",), metavar="OUT", kind="output"
        ),
    ] = None
    comments: Annotated[opt.Comments, "What to do with lines of a run that begin with '#'."] = "error"
    limits: Annotated[
        opt.Limits, "Raise a safety limit: line, record, id, grade, ratio, unpacked (as in record=128M)."
    ] = ()


@click.command(cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@takes_options
@click.pass_context
def validate(ctx: click.Context, /, files: tuple[str, ...], options: Options) -> None:
    """Check files against the rules of a track, and print what is wrong in each line.

    Exit codes: 0 no errors (there may be warnings); 1 errors; 2 a file or the command cannot be read.

    \b
    rageval validate answers.jsonl --track rag25 --topics topics.jsonl
    rageval validate answers.jsonl --track rag24 --fix repaired.jsonl
    rageval validate reports.jsonl --track ragtime25 --topics topics.jsonl
    rageval validate runs/* --track run --topics topics.tsv
    rageval validate answers.csv --track answers --topics questions.csv
    """

    reading = reading_of(options.comments)
    if options.out is not None:
        if len(files) > 1:
            raise UsageError(f"--fix: repairs one file, found {len(files)}")
        _fix(files[0], options.out, options.track)
        from rageval.files.opening import limits_of, with_limits

        files = (with_limits(str(options.out), limits_of(files[0])),)
    known = None
    if options.topics:  # read once, and what is wrong with them is said once
        from rageval.checking.tables import topics_in

        known = topics_in(options.topics, options.track)
    codes = []
    for file in files:
        try:
            codes.append(_validated(file, options.track, known, reading, options.strict_length))
        except InputError as error:
            if len(files) == 1:
                raise
            say(*map(visible, str(error).splitlines()))
            codes.append(WRONG)
    if len(codes) > 1:
        print_lines([f"{codes.count(0):,} of {len(codes):,} files have no errors"])
    ctx.exit(max(codes))


def _validated(
    file: str, track: str, topics: Mapping[str, Question] | None, reading: Reading, strict_length: bool
) -> int:
    """Print what is found in a file, and return the exit code."""
    from rageval.checking import validation

    found = validation(file, track, topics, reading, strict_length)
    print_lines(_lines(found, file))
    for _ in found:  # whoever reads the lines may have had enough; the exit code is of all
        pass
    print_lines([f"{visible(_name(file))}: {found.summary}"])
    return FAULTS if found.errors else 0


def _fix(file: str, out: opt.File, track: str) -> None:
    """Write the repaired copy, and say what was changed."""
    from rageval.checking.repairs import write_repaired

    if track in (OF_RUNS, OF_TABLES):
        what = "a run" if track == OF_RUNS else "a table of answers"
        raise UsageError(f"--fix: nothing of {what} can be repaired without inventing data")
    if str(out) == "-":
        raise UsageError("--fix -: standard output is used for findings; give a file")
    if os.path.exists(out) and not os.path.isfile(out):
        raise UsageError(f"--fix {visible(str(out))}: must be an ordinary file, because it is read again")
    changes = write_repaired(file, out, track)
    print_lines(_lines(changes, file))
    for _ in changes:  # the copy is whole only after the last of them
        pass


def _lines(findings: Iterable[Finding], file: str) -> Iterator[str]:
    for finding in findings:
        yield visible(finding.in_file(_name(file)).text)


def _name(file: str) -> str:
    return "<stdin>" if file == "-" else file
