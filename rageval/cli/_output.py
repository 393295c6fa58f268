"""Write results to standard output, to files and to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import click

from rageval import options as opt
from rageval.core.remark import Remark
from rageval.errors import FAULTS, JudgeFailed, OutputError, UsageError
from rageval.files.columnar import write_values
from rageval.files.writing import reader_left, whole_file, write_lines
from rageval.table import FORMATS, into_file, lines
from rageval.text import visible

if TYPE_CHECKING:
    from pathlib import Path

    from rageval.checking.findings import Finding
    from rageval.scoring.scores import Scores


def print_lines(lines: Iterable[str]) -> None:
    """Print, and be done once the reader has seen enough (`| head`); a full disk is an error."""
    if sys.stdout is None:
        raise OutputError("standard output is closed; nowhere to print the result")
    try:
        for line in lines:
            _print(line)
        _print()
    except _StdoutClosed:
        return


def say(*lines: object) -> None:
    """Say on standard error what is no result."""
    for line in lines:
        click.echo(f"rageval: {line}", err=True)


# The format of what a command prints; the same on a terminal and off it.
TableFormat: TypeAlias = Annotated[
    str, opt.printed("Output format; table is for reading.", ("--format",), choices=FORMATS)
]


# The format of what a command finds in files.
FindingFormat: TypeAlias = Annotated[
    str, opt.printed("Output format; text is for reading.", ("--format",), choices=("text", "json", "jsonl"))
]


def finding_lines(results: Iterable[Finding | str], style: str) -> Iterator[str]:
    """Yield the lines of findings, and of what is said of them as a whole, which JSON leaves out."""
    if style == "text":
        yield from (visible(result if isinstance(result, str) else result.text) for result in results)
        return
    findings = (result for result in results if not isinstance(result, str))
    yield from lines(style, list, records=lambda: (finding.as_record() for finding in findings))


def places_of(typed: int | None, usual: int = 4) -> int:
    """Return how many decimal places are printed."""
    return usual if typed is None else typed


def deliver(lines: Iterable[str], output: Path | None) -> None:
    """Print the lines of a result, or write them to a file."""
    if output is None:
        print_lines(lines)
        return
    with into_file():
        write_lines(output, lines, makes_folder=False)


def write_page(text: str, output: Path, remarks: Iterable[object] = (), more: str = "") -> None:
    """Write a page; say what is to be known of it, and how large it is."""
    content = text.encode()
    with whole_file(output) as stream:
        stream.write(content)
    say(
        *(visible(str(remark)) for remark in remarks),
        f"wrote {visible(str(output))} ({len(content):,} bytes{more})",
    )


def end_if_biased(biases: Mapping[str, Remark | None], limit: float) -> None:
    """End with exit code 1 where a judge's bias by position is too large, or not known: a reason each."""
    biased = {judge: reason for judge, reason in biases.items() if reason is not None}
    for judge, reason in biased.items():
        say(f"{visible(judge)}: {reason}, so --max-bias {limit:g} is not met")
    if biased:
        raise click.exceptions.Exit(FAULTS)


def end_if_failed(failed: int, what: str = "judgements") -> None:
    """End with exit code 3 where something is missing because judging failed."""
    if failed:
        say(f"{failed:,} {what} failed and are missing; run the same command again to retry them")
        raise click.exceptions.Exit(JudgeFailed.exit_code)


class _StdoutClosed(Exception):
    """Nobody reads any further."""


def _print(line: str | None = None) -> None:
    """Print a line, or what is still buffered; only errors of printing are caught here."""
    try:
        if line is None:
            sys.stdout.flush()
        else:
            click.echo(line)
    except UnicodeEncodeError:  # a name of a file, or a word of the command, that is not UTF-8
        click.echo((line or "").encode("utf-8", "backslashreplace").decode())
    except OSError as error:
        _mute()
        if reader_left(error):
            raise _StdoutClosed from None
        raise OutputError(f"standard output cannot be written: {error.strerror}") from error


def _mute() -> None:
    """Let what is still buffered go nowhere, so that leaving the process does not fail once more."""
    # Python flushes standard output once more when it ends, and would print a second error.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def checked_values(path: Path) -> Path:
    """Return the path, if its name says a format that can be written."""
    if path.suffix != ".parquet":
        raise UsageError(
            f"--values {visible(str(path))}: must end in .parquet; for other formats use --format and -o FILE"
        )
    return path


def write_scores(results: list[Scores], path: Path) -> None:
    """Write a row a run, measure and query: run, query_id, measure, value, signature, basis.

    Labels correct means, so the basis is that of the values, whatever decides their mean.
    """
    columns: Iterator[dict[str, Sequence[Any]]] = (
        {
            "run": [scores.run] * len(score.numbers),
            "query_id": list(score.query_ids),
            "measure": [str(score.measure)] * len(score.numbers),
            "value": list(map(float, score.numbers)),
            "signature": [score.signature] * len(score.numbers),
            "basis": [str(score.basis)] * len(score.numbers),
        }
        for scores in results
        for score in scores.scores
    )
    write_values(path, columns)
