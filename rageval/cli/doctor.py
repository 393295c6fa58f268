"""`rageval doctor`: everything suspicious in files, and what it does to which measure."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import click

from rageval import options as opt
from rageval.cli._options import Command, reading_of, takes_options
from rageval.cli._output import print_lines
from rageval.errors import FAULTS, InputError, UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.checking.findings import Finding

_COLLECTION = ("manifest.json", "queries.tsv", "nuggets.jsonl", "qrels.nugget")


@click.command(cls=Command)
@click.argument("files", nargs=-1, metavar="FILE...")
@takes_options
@click.pass_context
def doctor(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    corpus: Annotated[tuple[Any, ...], opt.read("The documents of the collection.", reads="documents")] = (),
    topics: opt.AllTopics = (),
    at: Annotated[str, opt.Option("Cut-offs to look for ties at.", metavar="K,K")] = "10,20,50",
    comments: opt.Comments = "error",
    limits: Annotated[opt.Limits, "Raise a safety limit."] = (),
) -> None:
    """Report what is suspicious in FILES (runs, qrels, nuggets, answers, judgements, …), alone and together.

    Exit codes: 0 no errors (there may be warnings); 1 errors; 2 the kind of a file cannot be told (the
    others are still checked), or the command is wrong.

    \b
    rageval doctor run.trec qrels.nugget --topics topics.tsv --corpus corpus.jsonl
    rageval doctor judged.jsonl nuggets.jsonl
    rageval doctor collection
    """

    from rageval.checking.doctor import CORPUS, TOPICS, diagnose

    named = [*((path, TOPICS) for path in topics), *((path, CORPUS) for path in corpus)]
    every: list[tuple[Any, str | None]] = [*((path, None) for path in _expanded(files)), *named]
    if not every:
        raise UsageError("no file named; expected runs, qrels, nuggets, answers or judgements")
    _require(path for path, _ in every)
    counts = Counter[str]()
    reading = reading_of(comments)
    unknown: list[str] = []
    found = diagnose(every, _cutoffs(at), reading, unknown)
    print_lines(_lines(found, counts))
    for finding in found:  # whoever reads the lines may have had enough; the exit code is of all
        counts[finding.level] += 1
    print_lines([_summary(counts, len(every))])
    ctx.exit(InputError.exit_code if unknown else FAULTS if counts["error"] else 0)


def _expanded(files: Iterable[str]) -> Iterator[str]:
    """Yield the files; in place of the folder of a collection, what it consists of."""
    from pathlib import Path

    from rageval.files.opening import limits_of, with_limits

    for path in files:
        if os.path.isfile(Path(path) / "manifest.json"):
            yield from (with_limits(str(Path(path) / name), limits_of(path)) for name in _COLLECTION)
        else:
            yield path


def _require(paths: Iterable[Any]) -> None:
    for path in paths:
        if isinstance(path, str) and not os.path.isfile(path):
            raise InputError(f"{path}: no such file")


def _cutoffs(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise UsageError(f"--at {text!r}: expected whole numbers from 1, such as 10,20")
    return sorted({int(word) for word in words})


def _lines(found: Iterable[Finding], counts: Counter[str]) -> Iterator[str]:
    for finding in found:
        counts[finding.level] += 1
        yield visible(finding.text)


def _summary(counts: Counter[str], files: int) -> str:
    if not counts:
        return f"nothing suspicious in {files} file{'' if files == 1 else 's'}"
    parts = [
        f"{counts[level]:,} {level}{'' if counts[level] == 1 else 's'}" for level in ("error", "warning")
    ]
    return f"{' and '.join(parts)} in {files} file{'' if files == 1 else 's'}"
