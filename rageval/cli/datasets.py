"""`rageval datasets`: what there is, what is known of it, and its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval.cli._options import Group, completing, shared
from rageval.cli._output import print_lines
from rageval.errors import InputError, UsageError
from rageval.measures.official import OFFICIAL
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.datasets.catalogue import Benchmark, Spec
    from rageval.datasets.loading import Dataset
    from rageval.scoring.scores import Scores


_DISAGREES = 1
_WHAT = ("docs", "queries", "qrels", "nuggets", "answers")
_ROLES = ("questions", "documents", "qrels", "nuggets")

_limits = shared("--limit")
_licence = click.option(
    "--accept-license", is_flag=True, help="Accept the terms of a data set that has some (CRAG)."
)
_http = click.option("--allow-http", is_flag=True, help="Allow addresses without encryption.")


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
    from rageval.datasets.catalogue import find
    from rageval.datasets.loading import load

    pair = find(dataset)
    if pair is None:
        found = load(dataset)
        print_lines([found.id, f"holds      {', '.join(found.holds)}"])
        return
    print_lines(_page(*pair))


@datasets.command("fetch")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
@click.option("--only", type=click.Choice(_ROLES), multiple=True, help="Only the files of this role.")
@click.option("--again", is_flag=True, help="Also what is there already.")
@_licence
@_http
def _fetch(dataset: str, only: tuple[str, ...], again: bool, accept_license: bool, allow_http: bool) -> None:
    """Download ID ahead of time. A download that was interrupted continues."""
    from rageval.datasets import fetching
    from rageval.datasets.catalogue import found
    from rageval.datasets.home import folder_of

    accept = accept_license or _accepted_here(dataset)
    fetching.fetch(
        dataset, only or None, accept_license=accept, again=again, transport=_transport(allow_http)
    )
    print_lines([f"{dataset}: {folder_of(found(dataset)[1].folder)}"])


@datasets.command("import")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--as", "role", type=click.Choice(_ROLES), help="What the files hold, if not told by their names."
)
@_limits
def _import(dataset: str, paths: tuple[Path, ...], role: str | None, limits: tuple[str, ...]) -> None:
    """Take over files that you have: official ones, Hugging Face parquet, JSON lines."""
    from rageval.datasets.importing import import_files

    taken = import_files(dataset, paths, role=role, limits=limits)
    print_lines(f"{dataset}: {name}: {path}" for name, found in taken.items() for path in found)


@datasets.command("export")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
@click.argument("what", type=click.Choice(_WHAT))
@click.option(
    "--format", "style", type=click.Choice(("trec", "tsv", "jsonl")), help="Default: the usual one."
)
@_licence
@_limits
def _export(
    dataset: str, what: str, style: str | None, accept_license: bool, limits: tuple[str, ...]
) -> None:
    """Print a part of ID as ir_datasets exports it, nuggets as AutoNuggetizer, answers as questions."""
    from rageval.datasets.exporting import exported

    print_lines(exported(_loaded(dataset, accept_license, limits), what, style))


@datasets.command("check")
@click.argument("dataset", metavar="ID", shell_complete=completing("ids"))
@_licence
@_limits
@click.pass_context
def _check(ctx: click.Context, /, dataset: str, accept_license: bool, limits: tuple[str, ...]) -> None:
    """Count what ID holds, beside what its publishers say. Exit code 1 if they differ."""
    from rageval.datasets.exporting import checked

    counts = checked(_loaded(dataset, accept_license, limits))
    print_lines(_columns([("count", "expected", "found", ""), *map(_row, counts)]))
    ctx.exit(0 if all(count.agrees for count in counts) else _DISAGREES)


@datasets.command("leaderboard")
@click.argument("files", metavar="ENTRY...", nargs=-1, required=True)
def _leaderboard(files: tuple[str, ...]) -> None:
    """Put entries of FreshStack's leaderboard together: one a topic becomes one with the average."""

    print_lines([_merged(files)])


def _loaded(dataset: str, accept_license: bool, limits: tuple[str, ...]) -> Dataset:
    from rageval.datasets.loading import load

    return load(dataset, accept_license=accept_license or _accepted_here(dataset), limits=limits)


def _transport(allow_http: bool) -> Any:
    from rageval.datasets.download import Transport

    return Transport(allow_http=True) if allow_http else Transport()


def _accepted_here(dataset: str) -> bool:
    """Whether somebody at a terminal accepts the terms, where there are some."""
    import sys

    from rageval.datasets.catalogue import find
    from rageval.datasets.fetching import is_accepted, is_on_disk

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
    from rageval.datasets.fetching import is_on_disk
    from rageval.plugins import plugin_names

    rows = [("id", "size", "licence", "holds", "on disk")]
    for benchmark, spec in known():
        on_disk = "yes" if is_on_disk(spec.id) else "no"
        rows.append((spec.id, _size(spec), _shortened(benchmark.licence), ", ".join(spec.holds), on_disk))
    yield from _columns(rows)
    yield ""
    for benchmark in benchmarks():
        if benchmark.pattern:
            yield f"{benchmark.pattern.id}: later ones of this pattern, too."
    for name in plugin_names("datasets"):
        yield f"{visible(name)}/…: of another package."
    yield "Every id of ir_datasets works, too (ir_datasets list)."


def _page(benchmark: Benchmark, spec: Spec) -> Iterator[str]:
    from rageval.datasets.fetching import is_on_disk
    from rageval.datasets.home import folder_of

    yield spec.id
    yield f"what       {spec.summary}"
    yield f"part of    {benchmark.title}, {benchmark.homepage}"
    yield f"holds      {', '.join(spec.holds)}"
    yield f"licence    {benchmark.licence}"
    yield f"size       {_size(spec)}"
    yield f"on disk    {'yes' if is_on_disk(spec.id) else 'no'}, {folder_of(spec.folder)}"
    if spec.documents_from:
        yield f"documents  {spec.documents_from}, of ir_datasets"
    for source in spec.files:
        yield f"{source.role:<10} {source.url or f'{source.repo}/{source.folder}/{source.match} on the hub'}"
        if source.sha256:
            yield f"{'sha256':<10} {source.sha256}"
    for count, expected in spec.expected.items():
        yield f"{'expected':<10} {count.replace('_', ' ')} {expected:g}"
    yield f"terms      {benchmark.terms.strip() or 'none to be accepted'}"
    yield f"to cite\n{benchmark.citation.strip()}"


def _size(spec: Spec) -> str:
    """Return what is on disk, else what its publishers say."""
    from rageval.datasets.fetching import amount, is_on_disk
    from rageval.datasets.home import folder_of, manifest_of

    if is_on_disk(spec.id):
        manifest = manifest_of(folder_of(spec.folder))
        return amount(sum(file.size for kept in manifest.values() for file in kept))
    return amount(spec.size) if spec.size is not None else "not known"


def _shortened(licence: str, width: int = 24) -> str:
    return licence if len(licence) <= width else licence.partition(",")[0][: width - 1] + "…"


def _row(count: Any) -> tuple[str, str, str, str]:
    expected = "" if count.expected is None else f"{count.expected:,.10g}"
    found = f"{count.found:,}" if isinstance(count.found, int) else f"{count.found:,.2f}"
    return visible(count.what.replace("_", " ")), expected, found, "" if count.agrees else "differs"


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pad: Callable[[str, int], str] = str.ljust
    for row in rows:
        yield "  ".join(map(pad, row, widths)).rstrip()


_MEASURES = {measure.replace("@", "_"): measure for measure in OFFICIAL["freshstack"]}  # as it calls them
_TOPICS = ("langchain", "yolo", "laravel", "angular", "godot")
_UNKNOWN = "-"
_EXPECTED = (
    f"expected {{leaderboardData: [{{info: {{name}}, datasets: {{topic: {{{', '.join(_MEASURES)}}}}}}}]}}"
)


def entries(results: list[Scores]) -> Iterator[str]:
    """Write the entries of FreshStack's leaderboard_data.json: one a run, where - is for you to fill in."""
    topic = _topic()
    found = [_entry(scores, topic) for scores in results]
    yield json.dumps({"leaderboardData": found}, indent=2, ensure_ascii=True, allow_nan=False)


def _entry(scores: Scores, topic: str) -> dict[str, Any]:
    found = {}
    for name, measure in _MEASURES.items():
        try:
            found[name] = scores[measure].value
        except KeyError:
            raise UsageError(
                f"--format freshstack-leaderboard: expected -m official:freshstack, found no {measure}"
            ) from None
    info = {"name": scores.run, "size": _UNKNOWN, "type": _UNKNOWN, "date": _UNKNOWN, "link": _UNKNOWN}
    return {"info": info, "datasets": {topic: found}}


def _topic() -> str:
    """Return the topic of the data set on the command line."""
    for word in click.get_current_context().params.get("words", ()):
        parts = word.split("/")
        if len(parts) == 3 and parts[0] == "freshstack":
            return str(parts[1])
    raise UsageError(
        "--format freshstack-leaderboard: expected an id such as freshstack/langchain/oct-2024 as judgements"
    )


def _merged(files: Sequence[str]) -> str:
    """Merge the entries of these files, those of one name as one; add the average of all five topics."""
    entries: dict[str, dict[str, Any]] = {}
    for file in files:
        for entry in _entries(file):
            known = entries.setdefault(entry["info"]["name"], {"info": entry["info"], "datasets": {}})
            for topic, values in entry["datasets"].items():
                if topic in known["datasets"]:
                    raise InputError(f"{file}: a second entry of {entry['info']['name']!r} for {topic}")
                known["datasets"][topic] = values
    for entry in entries.values():
        _average(entry["datasets"])
    return json.dumps({"leaderboardData": list(entries.values())}, indent=2, ensure_ascii=True)


def _average(datasets: dict[str, dict[str, float]]) -> None:
    datasets.pop("average", None)
    if all(topic in datasets for topic in _TOPICS):
        means = {name: sum(datasets[topic][name] for topic in _TOPICS) / len(_TOPICS) for name in _MEASURES}
        datasets["average"] = means


def _entries(file: str) -> list[dict[str, Any]]:
    try:
        with open(file, "rb") as stream:
            found = json.load(stream)
    except OSError as error:
        raise InputError(f"{file}: cannot be opened: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: {_EXPECTED}, found no JSON ({error})") from None
    entries = found.get("leaderboardData") if isinstance(found, dict) else None
    if not isinstance(entries, list) or not all(map(_is_entry, entries)):
        raise InputError(f"{file}: {_EXPECTED}")
    return entries


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("info"), dict):
        return False
    datasets = entry.get("datasets")
    return (
        isinstance(entry["info"].get("name"), str)
        and isinstance(datasets, dict)
        and all(isinstance(values, dict) and set(values) == set(_MEASURES) for values in datasets.values())
        and all(type(value) in (int, float) for values in datasets.values() for value in values.values())
    )
