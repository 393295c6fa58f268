"""`rageval datasets`: what there is, what is known of it, and its files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import click
import msgspec

from rageval import options as opt
from rageval.cli._options import Group, completing, takes_options
from rageval.cli._output import print_lines
from rageval.datasets import catalogue, home
from rageval.datasets.dataset import ids_at_ir_datasets, import_files, import_ir_datasets, load
from rageval.datasets.exports import checked, compared, exported
from rageval.datasets.home import amount, is_accepted, is_on_disk, place_of, size_on_disk
from rageval.errors import FAULTS, InputError, Place, UsageError
from rageval.files.whole import read_whole
from rageval.plugins import plugin_names
from rageval.table import columns
from rageval.text import visible
from rageval.views.scores import freshstack_measures

if TYPE_CHECKING:
    from rageval.datasets.catalogue import Benchmark, Spec


_Accepted: TypeAlias = Annotated[bool, opt.Option("Accept the terms of a dataset that has some (CRAG).")]
_Role: TypeAlias = Literal["questions", "documents", "qrels", "nuggets", "judgements"]
_TOPICS = ("langchain", "yolo", "laravel", "angular", "godot")  # of FreshStack
_WHAT = ("docs", "queries", "qrels", "nuggets", "answers", "responses", "judgements")


@click.group(invoke_without_command=True, cls=Group)
@click.pass_context
def datasets(ctx: click.Context, /) -> None:
    """List datasets, or SHOW, FETCH, IMPORT, EXPORT or CHECK one.

    Files are kept where ir_datasets keeps them (IR_DATASETS_HOME, or ~/.ir_datasets). HF_ENDPOINT, HF_TOKEN
    and the usual proxy variables are respected. Every ir_datasets id works too.

    \b
    rageval datasets fetch freshstack/langchain/oct-2024
    rageval datasets export freshstack/langchain/oct-2024 qrels > qrels.nugget
    rageval run.trec freshstack/langchain/oct-2024 -m official:freshstack
    """
    if ctx.invoked_subcommand is None:
        print_lines(_dataset_listing())


@datasets.command("show")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
def _show_dataset(dataset: str) -> None:
    """Show the content, license and citation of ID, and where its files come from."""

    pair = catalogue.find(dataset)
    if pair is None:
        loaded = load(dataset)
        ours = [spec.id for _, spec in catalogue.all_datasets() if dataset in spec.also]
        print_lines(
            [
                loaded.id,
                f"holds      {', '.join(loaded.holds)}",
                *(f"also       {name}, of rageval" for name in ours),
            ]
        )
        return
    print_lines(_dataset_page(*pair))


@datasets.command("fetch")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
@takes_options
def _fetch(
    dataset: str,
    only: Annotated[
        tuple[_Role, ...],
        opt.Option("Only the files with this role."),
    ] = (),
    again: Annotated[bool, opt.Option("Fetch again what is already there.")] = False,
    accept_license: _Accepted = False,
    allow_http: Annotated[bool, opt.Option("Allow unencrypted addresses.")] = False,
) -> None:
    """Download ID. An interrupted download continues."""

    accept = accept_license or _accepted_here(dataset)
    home.fetch(dataset, only or None, accept_license=accept, again=again, allow_http=allow_http)
    print_lines([f"{dataset}: {home.place_of(catalogue.find_listed(dataset)[1])}"])


@datasets.command("import")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@takes_options
def _import(
    dataset: str,
    paths: tuple[Path, ...],
    role: Annotated[
        _Role | None,
        opt.Option("What the files contain, if their names do not show it.", ("--as",)),
    ] = None,
    limits: opt.Limits = (),
) -> None:
    """Import files you have: official ones, Hugging Face parquet, JSON lines."""
    taken = import_files(dataset, paths, role=role, limits=limits)
    print_lines(f"{dataset}: {name}: {path}" for name, files in taken.items() for path in files)


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
    accept_license: _Accepted = False,
    limits: opt.Limits = (),
) -> None:
    """Print one part of ID in the format of ir_datasets; nuggets as AutoNuggetizer, answers as questions."""
    loaded = load(dataset, accept_license=accept_license or _accepted_here(dataset), limits=limits)
    print_lines(exported(loaded, what, style))


@datasets.command("check")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
@takes_options
@click.pass_context
def _check_dataset(
    ctx: click.Context,
    /,
    dataset: str,
    accept_license: _Accepted = False,
    limits: opt.Limits = (),
) -> None:
    """Compare the size of ID with the numbers its publishers give.

    Exits 1 if they differ. If ir_datasets has the same dataset, its topics and judgements are compared too.
    """
    loaded = load(dataset, accept_license=accept_license or _accepted_here(dataset), limits=limits)
    counts = checked(loaded)
    others, remarks = compared(loaded)
    counts += others
    rows = [["count", "expected", "found", ""]]
    for count in counts:
        expected = "" if count.expected is None else f"{count.expected:,.10g}"
        actual = f"{count.value:,}" if isinstance(count.value, int) else f"{count.value:,.2f}"
        differs = "" if count.agrees else "differs"
        rows.append([visible(count.what.replace("_", " ")), expected, actual, differs])
    print_lines(columns(rows))
    print_lines(map(str, remarks))
    ctx.exit(0 if all(count.agrees for count in counts) else FAULTS)


@datasets.command("leaderboard")
@click.argument("files", metavar="ENTRY...", nargs=-1, required=True)
def _leaderboard(files: tuple[str, ...]) -> None:
    """Merge FreshStack leaderboard entries for single topics into one with the average."""
    names = [*freshstack_measures()]
    entries: dict[str, dict[str, Any]] = {}
    for file in files:
        for entry in _leaderboard_entries(file, names):
            merged = entries.setdefault(entry["info"]["name"], {"info": entry["info"], "datasets": {}})
            for topic, values in entry["datasets"].items():
                if topic in merged["datasets"]:
                    raise InputError(
                        at=Place(file), problem=f"a second entry of {entry['info']['name']!r} for {topic}"
                    )
                merged["datasets"][topic] = values
    for entry in entries.values():
        of_topics = entry["datasets"]
        of_topics.pop("average", None)
        if all(topic in of_topics for topic in _TOPICS):
            sums = {name: sum(of_topics[topic][name] for topic in _TOPICS) for name in names}
            of_topics["average"] = {name: total / len(_TOPICS) for name, total in sums.items()}
    # Values of others' files, of which one may be NaN, stand as they were.
    print_lines([json.dumps({"leaderboardData": list(entries.values())}, indent=2, ensure_ascii=True)])


class _LeaderboardInfo(msgspec.Struct):
    name: str


class _LeaderboardEntry(msgspec.Struct):
    info: _LeaderboardInfo
    datasets: dict[str, dict[str, int | float]]


class _Leaderboard(msgspec.Struct, rename="camel"):
    """A file of FreshStack's leaderboard."""

    leaderboard_data: list[_LeaderboardEntry]


def _leaderboard_entries(file: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the entries of a file of FreshStack's leaderboard; refuse values by other names."""
    expected = f"{{leaderboardData: [{{info: {{name}}, datasets: {{topic: {{{', '.join(names)}}}}}}}]}}"
    try:
        content = json.loads(read_whole(file, "a leaderboard", 2**30))
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(at=Place(file), expected=expected, found=f"no JSON ({error})") from None
    try:
        read = msgspec.convert(content, _Leaderboard)
    except ValueError:  # msgspec's, or of half a character that the file names
        raise InputError(at=Place(file), expected=expected) from None
    values = [values for entry in read.leaderboard_data for values in entry.datasets.values()]
    if any(set(of_topic) != set(names) for of_topic in values):
        raise InputError(at=Place(file), expected=expected)
    # As they were in the file: what else it says of a system is kept.
    entries: list[dict[str, Any]] = content["leaderboardData"]
    return entries


def _accepted_here(dataset: str) -> bool:
    """Return whether somebody at a terminal accepts the terms, where there are some."""
    pair = catalogue.find(dataset)
    if pair is None or not pair[0].terms or is_accepted(pair[0]) or is_on_disk(dataset):
        return False
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    click.echo(pair[0].terms.strip(), err=True)
    if not click.confirm("Accept these terms?", err=True):
        raise UsageError(f"{dataset}: not fetched, because its terms were not accepted")
    return True


_LONGEST = 24  # of a licence in the list


def _dataset_listing() -> Iterator[str]:

    rows = [("id", "size", "licence", "holds", "on disk")]
    for benchmark, spec in catalogue.all_datasets():
        on_disk = "yes" if is_on_disk(spec.id) else "no"
        licence = benchmark.licence
        if len(licence) > _LONGEST:
            licence = licence.partition(",")[0][: _LONGEST - 1] + "…"
        rows.append((spec.id, _size(spec), licence, ", ".join(spec.holds), on_disk))
    yield from columns(rows)
    yield ""
    for benchmark in catalogue.benchmarks():
        if benchmark.pattern:
            yield f"{benchmark.pattern.id}: later ones of this pattern too."
    for name in plugin_names("datasets"):
        yield f"{visible(name)}/…: from another package."
    yield "Every ir_datasets id works too (ir_datasets list)."


def _dataset_page(benchmark: Benchmark, spec: Spec) -> Iterator[str]:
    yield spec.id
    yield f"what       {spec.summary}"
    yield f"part of    {benchmark.title}, {benchmark.homepage}"
    yield f"holds      {', '.join(spec.holds)}"
    yield f"license    {benchmark.licence}"
    yield f"size       {_size(spec)}"
    yield f"on disk    {'yes' if is_on_disk(spec.id) else 'no'}, {place_of(spec)}"
    for name in ids_at_ir_datasets(spec):
        try:
            is_there = name in import_ir_datasets().registry
        except ImportError:
            is_there = False
        yield f"also       {name}, of ir_datasets{'' if is_there else ' (not in the version here)'}"
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
    yield f"to cite\n{benchmark.cited_for(spec)}"


def _size(spec: Spec) -> str:
    """Return what is on disk, else what its publishers say."""
    if is_on_disk(spec.id):
        return amount(size_on_disk(spec))
    return amount(spec.size) if spec.size is not None else "not known"
