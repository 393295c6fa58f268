"""`rageval conformance`: rageval and the tools beside it on the golden vectors, and against each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from rageval import options as opt
from rageval.cli._options import Command, takes_options
from rageval.cli._output import TableFormat, deliver, print_lines, say
from rageval.errors import FAULTS, UsageError
from rageval.names import suggestion
from rageval.table import Column, Table, finite, lines

if TYPE_CHECKING:
    from rageval.conformance.verdicts import ToolVerdict, Vector

_LEGEND = (
    "How many inputs a tool scores as rageval does; then, by letter, how often it differs or fails, and why:"
)
_COLUMNS = ("tool", "measure", "vector", "verdict", "why")


@click.command(cls=Command)
@takes_options
def conformance(
    peers: Annotated[
        tuple[str, ...],
        opt.Option("Compare with this tool only; may be repeated.", ("--peer",), metavar="TOOL"),
    ] = (),
    style: Annotated[TableFormat, "Output format; CSV, TSV and JSON contain every comparison."] = "table",
    output: opt.Output | None = None,
    vectors: Annotated[
        Literal["runs", "answers"] | None, opt.Option("Print the reference inputs instead.")
    ] = None,
    fuzz: Annotated[
        float | None, opt.Option("Compare random inputs for this many seconds.", metavar="SECONDS", least=0)
    ] = None,
    seed: Annotated[opt.Seed, "Random seed; the same seed draws the same inputs."] = 0,
) -> None:
    """Compare rageval with each installed peer on the golden vectors, measure by measure.

    Shows where a tool agrees, where it differs on purpose and why, whether --compat gives the same result,
    and where it fails. Exits 1 if a difference cannot be explained.

    \b
    rageval conformance
    rageval conformance --fuzz 60 --peer pyndeval
    rageval conformance --vectors runs > golden.jsonl    # to try your own tool on
    """
    if vectors:
        from rageval.conformance import text_of

        deliver(text_of(vectors).splitlines(), output)
        return
    versions = _chosen(peers)
    faults = _fuzzed(versions, fuzz, seed) if fuzz is not None else _compared(versions, style, output)
    if faults:
        raise click.exceptions.Exit(FAULTS)


def _chosen(names: tuple[str, ...]) -> dict[str, str]:
    """Return the peers that are asked, with their versions."""
    from rageval.conformance.peers import PEERS, installed

    found = installed()
    for name in names:
        if name not in PEERS:
            raise UsageError(f"--peer {name}: expected one of {', '.join(PEERS)}" + suggestion(name, PEERS))
        if name not in found:
            raise UsageError(f"--peer {name}: not installed; found {', '.join(found) or 'none'}")
    return {name: version for name, version in found.items() if not names or name in names}


def _compared(versions: dict[str, str], style: str, output: opt.File | None) -> int:
    """Print or write how all did; the number of what nobody can explain."""
    from rageval.conformance import answer_vectors, run_vectors
    from rageval.conformance.verdicts import WRONG, of_peer, of_rageval

    every: list[Vector] = [*run_vectors(), *answer_vectors()]
    found = [verdict for vector in every for verdict in of_rageval(vector)]
    for name in versions:
        say(f"asking {name} …")
        found += of_peer(name, every)
    faults = [verdict for verdict in found if verdict.verdict == WRONG]

    def records() -> Iterator[dict[str, Any]]:
        for verdict in found:
            yield verdict._asdict() | {"values": verdict.values and finite(verdict.values)}

    def data() -> Table:
        return Table([*map(Column, _COLUMNS)], [[getattr(each, name) for name in _COLUMNS] for each in found])

    deliver(lines(style, lambda: _report(found, versions), data, records), output)
    return len(faults)


def _report(found: list[ToolVerdict], versions: dict[str, str]) -> Iterator[Table | str]:
    """Yield what people read: how rageval did, the table of tools, reasons, faults, who was not asked."""
    from rageval.conformance.peers import PEERS
    from rageval.conformance.verdicts import VerdictsTable

    comparison = VerdictsTable(found, versions)
    yield comparison.own()
    if versions:
        yield from ["", _LEGEND, ""]
        yield comparison.table()
        yield from comparison.reasons()
        yield ""
    yield from comparison.alone()
    yield from comparison.faults()
    others = [name for name in PEERS if name not in versions]
    if others:
        yield f"Not asked, or not installed: {', '.join(others)}."


def _fuzzed(versions: dict[str, str], seconds: float, seed: int) -> int:
    """Print every difference found, as a vector; their number."""
    import msgspec

    from rageval.conformance.fuzzer import fuzz
    from rageval.conformance.peers import OF_ANSWERS

    differences = Counter[str]()
    of_runs = [name for name in versions if name not in OF_ANSWERS]
    for name in of_runs:
        values = 0
        for done in fuzz(name, seconds / len(of_runs), seed):
            values += done.values
            for verdict, vector in done.differences:
                differences[name] += 1
                said = verdict.why or dict(verdict.values or {})
                say(f"{name}: {verdict.measure}: {said}")
                print_lines([msgspec.json.encode(vector).decode()])
        how = f"{values:,} values compared, {differences[name]:,} differ"
        say(f"{name} {versions[name]}: {how}")
    return differences.total()
