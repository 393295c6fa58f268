"""`rageval validate`: check that a file is what the track takes, and repair it if it can be repaired."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import click

from rageval import options as opt
from rageval.checking.checks import validation
from rageval.checking.repairs import write_repaired
from rageval.checking.tables import topics_in
from rageval.checking.tracks import OF_RUNS, OF_STEPS, OF_TABLES, TRACKS
from rageval.cli._options import Command, reading_of, takes_options
from rageval.cli._output import FindingFormat, finding_lines, print_lines, say
from rageval.errors import FAULTS, WRONG, InputError, UsageError
from rageval.files.opening import limits_of, with_limits
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.checking.findings import Finding


_CHOICES = (*TRACKS, OF_STEPS)
_UNREPAIRED = {OF_RUNS: "a run", OF_STEPS: "steps", OF_TABLES: "a table of answers"}


class Options(opt.Options):
    """The options of `rageval validate`."""

    track: Annotated[str, opt.Option(f"The track: {', '.join(_CHOICES)}.", metavar="TRACK", choices=_CHOICES)]
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
    style: FindingFormat = "text"
    limits: Annotated[
        opt.Limits, "Raise a safety limit: line, record, id, grade, ratio, unpacked (as in record=128M)."
    ] = ()


@click.command(cls=Command, first=("track", "topics", "strict_length", "out", "comments", "style", "limits"))
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

    if options.out is not None and len(files) > 1:
        raise UsageError(f"--fix: repairs one file, found {len(files)}")
    codes: list[int] = []
    results = _results(files, options, codes)
    print_lines(finding_lines(results, options.style))
    for _ in results:  # whoever reads the lines may have had enough; the exit code is of all
        pass
    ctx.exit(max(codes))


def _results(files: tuple[str, ...], options: Options, codes: list[int]) -> Iterator[Finding | str]:
    """Yield the repairs and findings of the files, and what is said of each file; add its exit code."""
    if options.out is not None:
        broken, out = files[0], options.out
        if (what := _UNREPAIRED.get(options.track)) is not None:
            raise UsageError(f"--fix: nothing of {what} can be repaired without inventing data")
        if str(out) == "-":
            raise UsageError("--fix -: standard output is used for findings; give a file")
        if os.path.exists(out) and not os.path.isfile(out):
            raise UsageError(f"--fix {visible(str(out))}: must be an ordinary file, because it is read again")
        changes, shown = write_repaired(broken, out, options.track), "<stdin>" if broken == "-" else broken
        # The copy is whole only after the last change.
        yield from (change.in_file(shown) for change in changes)
        files = (with_limits(str(out), limits_of(broken)),)
    topics = None
    if options.topics:  # read once, and what is wrong with them is said once
        topics = topics_in(options.topics, options.track)
    reading = reading_of(options.comments)
    for file in files:
        shown = "<stdin>" if file == "-" else file
        try:
            result = validation(file, options.track, topics, reading, options.strict_length)
            yield from (finding.in_file(shown) for finding in result)
            codes.append(FAULTS if result.errors else 0)
            yield f"{shown}: {result.summary}"
        except InputError as error:
            if len(files) == 1:
                raise
            say(*map(visible, map(str, error.problems)))
            codes.append(WRONG)
    if len(codes) > 1:
        yield f"{codes.count(0):,} of {len(codes):,} files have no errors"
