"""`rageval demo`: small example files, and commands to try on them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import click

from rageval import options as opt
from rageval.cli._options import Command, takes_options
from rageval.cli._output import print_lines
from rageval.files.folders import refuse_others, require_folder
from rageval.files.writing import make_folder, refuse_place, whole_file
from rageval.samples import sample_files
from rageval.text import visible


class Options(opt.Options):
    """The options of `rageval demo`."""

    overwrite: Annotated[
        opt.Overwrite, "Write to a folder that holds other files, replacing those with the same names."
    ] = False


@click.command(cls=Command)
@click.argument("folder", metavar="[DIR]", default="rageval-demo", type=click.Path(path_type=Path))
@takes_options
def demo(folder: Path, options: Options) -> None:
    """Write example files to DIR (default: rageval-demo), and print commands to try.

    The files are a run and a baseline with nugget judgements, and the answers of two versions of a system to
    28 made-up questions, as tables. Uses no network and no model.

    \b
    rageval demo
    rageval demo examples
    """
    require_folder(folder)
    contents = sample_files()
    if not options.overwrite:
        own = [name for name, content in contents.items() if _holds(folder / name, content)]
        refuse_others(folder, own, "a new folder, or --overwrite")
    for name in contents:
        refuse_place(folder / name)
    for name, content in contents.items():
        if not _holds(folder / name, content):
            make_folder(folder)
            with whole_file(folder / name) as stream:
                stream.write(content)
    print_lines(_commands(folder, len(contents)))


def _holds(path: Path, content: bytes) -> bool:
    """Return whether a file holds just this; what somebody changed is theirs."""
    return os.path.isfile(path) and path.stat().st_size == len(content) and path.read_bytes() == content


def _commands(folder: Path, number: int) -> Iterator[str]:
    """Yield the lines that say what to type."""

    def named(name: str) -> str:
        return shlex.quote(visible(str(folder / name)))

    run, baseline, qrels = map(named, ("run.trec", "baseline.trec", "qrels.nugget"))
    first, second = map(named, ("v1.csv", "v2.csv"))
    yield f"{number} files are in {visible(str(folder))}. Try:"
    yield f"rageval {run} {qrels} -m alpha_ndcg@5"
    yield f"rageval compare {run} {baseline} {qrels} -m alpha_ndcg@5"
    yield f"rageval compare {first} {second}"
    yield f"rageval gate {second} --baseline {first} --margin 0.05 --judge short"
