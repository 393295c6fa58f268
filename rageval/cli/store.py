"""`rageval store`: the store of replies, looked into, copied and merged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import click

from rageval import options as opt
from rageval.cli._options import Group, takes_options
from rageval.cli._output import deliver, print_lines, say
from rageval.errors import InputError, JudgeFailed, Place
from rageval.files.opening import chunks
from rageval.files.writing import require_folder
from rageval.judges.base import FENCE
from rageval.judges.store import Store, default_path
from rageval.table import as_json
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.judges.store import Imported, StoredReply


_Store: TypeAlias = Annotated[opt.Store | None, "The store (default: the user's cache)."]


@click.group(cls=Group)
def store() -> None:
    """Inspect the store of model replies, which makes judgements repeatable.

    \b
    rageval store stats
    rageval store export -o replies.jsonl        a file that others can import
    rageval store merge shard1.sqlite shard2.sqlite -o all.sqlite
    rageval store show 3fa9                      the prompt as it was sent, and the raw reply
    """


@store.command("export")
@takes_options
def _export(
    store: _Store = None,
    output: Annotated[opt.Output | None, "File to write (default: print)."] = None,
) -> None:
    """Write every reply as one line of JSON, sorted by key."""

    with Store(_existing(store), read_only=True) as source:
        deliver(source.export(), output)
        if source.damaged:
            say(f"{source.damaged:,} damaged rows were left out")


@store.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE.jsonl...")
@takes_options
def _import(
    files: tuple[str, ...],
    store: _Store = None,
) -> None:
    """Import exported replies; existing ones are not overwritten."""

    with Store(store) as target:
        for path in files:
            texts = (chunk.decode("utf-8", "surrogateescape") for chunk in chunks(path))
            _report(path, target.import_(line for text in texts for line in text.splitlines()))


@store.command("merge")
@click.argument("stores", nargs=-1, required=True, metavar="STORE.sqlite...")
@takes_options
def _merge(
    stores: tuple[str, ...],
    output: Annotated[str, opt.printed("The merged store.", ("-o", "--output"), metavar="FILE")],
) -> None:
    """Merge several stores into one; conflicts are listed, and nothing is overwritten."""
    require_folder(Path(output))
    with Store(output) as target:
        for path in stores:
            _report(path, target.merge(_existing(path)))


@store.command("stats")
@takes_options
def _stats(store: _Store = None) -> None:
    """Count the replies, by model and status."""

    with Store(_existing(store), read_only=True) as source:
        print_lines([as_json(source.stats())])


@store.command("show")
@click.argument("key")
@takes_options
def _show_reply(key: str, store: _Store = None) -> None:
    """Show the prompt as it was sent, and the raw reply.

    KEY can be any prefix that only one key has.
    """

    with Store(_existing(store), read_only=True) as source:
        reply = source.show(key)
    if reply is None:
        raise InputError(
            at=Place(visible(str(_existing(store)))),
            problem=f"no reply, or more than one, whose key begins with {visible(key)}",
            expected="the key of a judgement made with this store (--store FILE)",
        )
    print_lines(_reply_lines(reply))


def _reply_lines(stored: StoredReply) -> Iterator[str]:
    reply = stored.reply
    yield f"key      {stored.key}"
    yield f"model    {visible(stored.model)} at {visible(stored.endpoint)}, {stored.created}"
    yield f"status   {reply.status}" + (f": {visible(reply.detail)}" if reply.detail else "")
    yield f"tokens   {reply.usage.input:,} in, {reply.usage.output:,} out"
    if FENCE in stored.request.user:
        yield f"fence    {FENCE} stands where random digits were sent"
    for title, text in (
        ("system", stored.request.system),
        ("user", stored.request.user),
        ("reply", reply.text),
    ):
        yield f"\n--- {title}"
        yield from map(visible, text.split("\n"))


def _existing(store: str | None) -> str:
    path = str(store or default_path())
    if not os.path.isfile(path):
        raise InputError(
            at=Place(path), problem="no such store", expected="one written by rageval judge (--store FILE)"
        )
    return path


def _report(path: str, imported: Imported) -> None:
    """Say what became of the replies of a file; conflicts and damage are failures."""
    click.echo(f"{path}: {imported.added:,} added, {imported.same:,} already there", err=True)
    for key in imported.conflicts:
        click.echo(f"{path}: {key} has another reply here, which was kept", err=True)
    for what in imported.damaged:
        click.echo(f"{path}: left out: {visible(what)}", err=True)
    if imported.torn:
        click.echo(f"{path}: the last line is cut off and was left out", err=True)
    if imported.conflicts or imported.damaged or imported.torn:
        raise click.exceptions.Exit(JudgeFailed.exit_code)
