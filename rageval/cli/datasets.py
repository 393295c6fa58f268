"""`rageval datasets`: what there is, what is known of it, and its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from rageval import options as opt
from rageval.cli._leaderboard import merged
from rageval.cli._options import Group, completing, takes_options
from rageval.cli._output import print_lines
from rageval.errors import FAULTS, UsageError
from rageval.table import columns
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.datasets.catalogue import Benchmark, Spec
    from rageval.datasets.dataset import Dataset


_WHAT = ("docs", "queries", "qrels", "nuggets", "answers")


@click.group(invoke_without_command=True, cls=Group)
@click.pass_context
def datasets(ctx: click.Context, /) -> None:
    """List the data sets, or SHOW, FETCH, IMPORT, EXPORT or CHECK one.

    Files are kept in the home of ir_datasets (IR_DATASETS_HOME, or ~/.ir_datasets). HF_ENDPOINT, HF_TOKEN and
    the usual proxy variables are honoured. Every id of ir_datasets works, too.

    \b
    rageval datasets fetch freshstack/langchain/oct-2024
    rageval datasets export freshstack/langchain/oct-2024 qrels > qrels.nugget
    rageval run.trec freshstack/langchain/oct-2024 -m official:freshstack
    """
    if ctx.invoked_subcommand is None:
        print_lines(_listing())


@datasets.command("show")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
def _show(dataset: str) -> None:
    """Show what ID is: its content, licence, citation, and where its files come from."""
    from rageval.datasets.catalogue import find, known
    from rageval.datasets.dataset import load

    pair = find(dataset)
    if pair is None:
        found = load(dataset)
        ours = [spec.id for _, spec in known() if dataset in spec.also]
        print_lines(
            [
                found.id,
                f"holds      {', '.join(found.holds)}",
                *(f"also       {name}, of rageval" for name in ours),
            ]
        )
        return
    print_lines(_page(*pair))


@datasets.command("fetch")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
@takes_options
def _fetch(
    dataset: str,
    only: Annotated[
        tuple[Literal["questions", "documents", "qrels", "nuggets", "judgements"], ...],
        opt.Option("Only the files of this role."),
    ] = (),
    again: Annotated[bool, opt.Option("Also what is there already.")] = False,
    accept_license: Annotated[
        bool, opt.Option("Accept the terms of a data set that has some (CRAG).")
    ] = False,
    allow_http: Annotated[bool, opt.Option("Allow addresses without encryption.")] = False,
) -> None:
    """Download ID ahead of time. A download that was interrupted continues."""
    from rageval.datasets import home
    from rageval.datasets.catalogue import found

    accept = accept_license or _accepted_here(dataset)
    home.fetch(dataset, only or None, accept_license=accept, again=again, transport=_transport(allow_http))
    print_lines([f"{dataset}: {home.place_of(found(dataset)[1])}"])


@datasets.command("import")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@takes_options
def _import(
    dataset: str,
    paths: tuple[Path, ...],
    role: Annotated[
        Literal["questions", "documents", "qrels", "nuggets", "judgements"] | None,
        opt.Option("What the files hold, if not told by their names.", ("--as",)),
    ] = None,
    limits: opt.Limits = (),
) -> None:
    """Take over files that you have: official ones, Hugging Face parquet, JSON lines."""
    from rageval.datasets.dataset import import_files

    taken = import_files(dataset, paths, role=role, limits=limits)
    print_lines(f"{dataset}: {name}: {path}" for name, found in taken.items() for path in found)


@datasets.command("export")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
@click.argument("what", type=click.Choice(_WHAT))
@takes_options
def _export(
    dataset: str,
    what: str,
    style: Annotated[
        Literal["trec", "tsv", "jsonl"] | None, opt.printed("Default: the usual one.", ("--format",))
    ] = None,
    accept_license: Annotated[
        bool, opt.Option("Accept the terms of a data set that has some (CRAG).")
    ] = False,
    limits: opt.Limits = (),
) -> None:
    """Print a part of ID as ir_datasets exports it, nuggets as AutoNuggetizer, answers as questions."""
    from rageval.datasets.exports import exported

    print_lines(exported(_loaded(dataset, accept_license, limits), what, style))


@datasets.command("check")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
@takes_options
@click.pass_context
def _check(
    ctx: click.Context,
    /,
    dataset: str,
    accept_license: Annotated[
        bool, opt.Option("Accept the terms of a data set that has some (CRAG).")
    ] = False,
    limits: opt.Limits = (),
) -> None:
    """Count what ID holds, beside what its publishers say. Exit code 1 if they differ.

    Where ir_datasets has the same set under an id of its own, topics and judgements are compared.
    """
    from rageval.datasets.exports import checked, compared

    loaded = _loaded(dataset, accept_license, limits)
    counts = checked(loaded)
    others, remarks = compared(loaded)
    counts += others
    rows = [["count", "expected", "found", ""]]
    for count in counts:
        expected = "" if count.expected is None else f"{count.expected:,.10g}"
        found = f"{count.found:,}" if isinstance(count.found, int) else f"{count.found:,.2f}"
        differs = "" if count.agrees else "differs"
        rows.append([visible(count.what.replace("_", " ")), expected, found, differs])
    print_lines(columns(rows))
    print_lines(remarks)
    ctx.exit(0 if all(count.agrees for count in counts) else FAULTS)


@datasets.command("leaderboard")
@click.argument("files", metavar="ENTRY...", nargs=-1, required=True)
def _leaderboard(files: tuple[str, ...]) -> None:
    """Put entries of FreshStack's leaderboard together: one a topic becomes one with the average."""
    print_lines([merged(files)])


def _loaded(dataset: str, accept_license: bool, limits: tuple[str, ...]) -> Dataset:
    from rageval.datasets.dataset import load

    return load(dataset, accept_license=accept_license or _accepted_here(dataset), limits=limits)


def _transport(allow_http: bool) -> Any:
    from rageval.datasets.download import Transport

    return Transport(allow_http=True) if allow_http else Transport()


def _accepted_here(dataset: str) -> bool:
    """Whether somebody at a terminal accepts the terms, where there are some."""
    import sys

    from rageval.datasets.catalogue import find
    from rageval.datasets.home import is_accepted, is_on_disk

    pair = find(dataset)
    if pair is None or not pair[0].terms or is_accepted(pair[0]) or is_on_disk(dataset):
        return False
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    click.echo(pair[0].terms.strip(), err=True)
    if not click.confirm("Accept these terms?", err=True):
        raise UsageError(f"{dataset}: not fetched, because its terms were not accepted")
    return True


def _listing() -> Iterator[str]:
    from rageval.datasets.catalogue import benchmarks, known
    from rageval.datasets.home import is_on_disk
    from rageval.plugins import plugin_names

    rows = [("id", "size", "licence", "holds", "on disk")]
    for benchmark, spec in known():
        on_disk = "yes" if is_on_disk(spec.id) else "no"
        rows.append((spec.id, _size(spec), _shortened(benchmark.licence), ", ".join(spec.holds), on_disk))
    yield from columns(rows)
    yield ""
    for benchmark in benchmarks():
        if benchmark.pattern:
            yield f"{benchmark.pattern.id}: later ones of this pattern, too."
    for name in plugin_names("datasets"):
        yield f"{visible(name)}/…: of another package."
    yield "Every id of ir_datasets works, too (ir_datasets list)."


def _page(benchmark: Benchmark, spec: Spec) -> Iterator[str]:
    from rageval.datasets.dataset import known_there
    from rageval.datasets.home import is_on_disk, place_of

    yield spec.id
    yield f"what       {spec.summary}"
    yield f"part of    {benchmark.title}, {benchmark.homepage}"
    yield f"holds      {', '.join(spec.holds)}"
    yield f"licence    {benchmark.licence}"
    yield f"size       {_size(spec)}"
    yield f"on disk    {'yes' if is_on_disk(spec.id) else 'no'}, {place_of(spec)}"
    for name in known_there(spec):
        yield f"also       {name}, of ir_datasets{'' if _is_there(name) else ' (not in the version here)'}"
    if spec.note:
        yield f"note       {spec.note}"
    if spec.documents_from:
        yield f"documents  {spec.documents_from}, of ir_datasets"
    for source in spec.files:
        on_the_hub = f"{source.repo}/{source.folder}/{source.match} on the hub"
        importing = f"rageval datasets import {spec.id} PATH --as {source.role}"
        yield f"{source.role:<10} {source.url or (on_the_hub if source.is_published else importing)}"
        if source.sha256:
            yield f"{'sha256':<10} {source.sha256}"
    for count, expected in spec.expected.items():
        yield f"{'expected':<10} {count.replace('_', ' ')} {expected:g}"
    yield f"terms      {benchmark.terms.strip() or 'none to be accepted'}"
    yield f"to cite\n{benchmark.citation.strip()}"


def _is_there(dataset: str) -> bool:
    """Whether ir_datasets has this id, where it is installed."""
    try:
        import ir_datasets
    except ImportError:
        return False
    return dataset in ir_datasets.registry


def _size(spec: Spec) -> str:
    """Return what is on disk, else what its publishers say."""
    from rageval.datasets.home import amount, is_on_disk, size_on_disk

    if is_on_disk(spec.id):
        return amount(size_on_disk(spec))
    return amount(spec.size) if spec.size is not None else "not known"


def _shortened(licence: str, width: int = 24) -> str:
    return licence if len(licence) <= width else licence.partition(",")[0][: width - 1] + "…"
