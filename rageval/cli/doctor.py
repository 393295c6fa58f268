"""`rageval doctor`: everything suspicious in files, and what it does to which measure."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from rageval import options as opt
from rageval.checking.doctor import CORPUS, TOPICS, diagnose
from rageval.cli._options import Command, reading_of, takes_options
from rageval.cli._output import FindingFormat, finding_lines, print_lines
from rageval.errors import FAULTS, InputError, Place, UsageError, missing_file
from rageval.files.opening import STDIN, limits_of, with_limits
from rageval.text import count_noun

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
    cutoffs: Annotated[str, opt.Option("Cut-offs to check for ties.", ("--at",), metavar="K,K")] = "10,20,50",
    comments: opt.Comments = "error",
    style: FindingFormat = "text",
    limits: Annotated[opt.Limits, "Raise a safety limit."] = (),
) -> None:
    """Check FILES (runs, qrels, nuggets, answers, judgements, …) for problems, each alone and together.

    Exit codes: 0 no errors (there may be warnings); 1 errors; 2 unknown kind of file (the others are still
    checked) or wrong usage.

    \b
    rageval doctor run.trec qrels.nugget --topics topics.tsv --corpus corpus.jsonl
    rageval doctor judged.jsonl nuggets.jsonl
    rageval doctor collection
    """

    named = [*((path, TOPICS) for path in topics), *((path, CORPUS) for path in corpus)]
    every: list[tuple[Any, str | None]] = [*((path, None) for path in _expand_collections(files)), *named]
    if not every:
        raise UsageError("no file given; expected runs, qrels, nuggets, answers or judgements")
    for path, _ in every:
        if isinstance(path, str) and not os.path.isfile(path):
            raise _no_file(path)
    words = [word.strip() for word in cutoffs.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise UsageError(f"--at {cutoffs!r}: expected whole numbers from 1, such as 10,20")
    counts = Counter[str]()
    unknown: list[str] = []
    findings = diagnose(every, sorted(set(map(int, words))), reading_of(comments), unknown)

    def results() -> Iterator[Finding | str]:
        for finding in findings:
            counts[finding.level] += 1
            yield finding
        numbers = " and ".join(count_noun(counts[level], level) for level in ("error", "warning"))
        yield f"{numbers if counts else 'nothing suspicious'} in {count_noun(len(every), 'file')}"

    results_read = results()
    print_lines(finding_lines(results_read, style))
    for _ in results_read:  # whoever reads the lines may have had enough; the exit code is of all
        pass
    ctx.exit(InputError.exit_code if unknown else FAULTS if counts["error"] else 0)


def _no_file(path: str) -> InputError:
    """Return the error for what is no file that can be read again."""
    if os.path.isdir(path):
        what = "is a folder without manifest.json" if os.listdir(path) else "is an empty folder"
        return InputError(
            what, at=Place(path), expected="a file, or the folder of a collection (rageval collection build)"
        )
    if path != STDIN and not os.path.exists(path):
        return missing_file(path)
    problem = "is empty" if path == os.devnull else "cannot be read again, as the checks do"
    return InputError(problem, at=Place(path), expected="a file")


def _expand_collections(files: Iterable[str]) -> Iterator[str]:
    """Yield the files; in place of the folder of a collection, what it consists of."""
    for path in files:
        if os.path.isfile(Path(path) / "manifest.json"):
            yield from (with_limits(str(Path(path) / name), limits_of(path)) for name in _COLLECTION)
        else:
            yield path
