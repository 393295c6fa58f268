"""Each vector put to rageval and to the peers, what comes of it, and that as a table for people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from string import ascii_lowercase
from typing import NamedTuple

from rageval.conformance._process import PeerProcess, PeerReply
from rageval.conformance._vectors import AnswerVector, RunVector, Values
from rageval.conformance.peers import Peer, peer_named, reasons_of
from rageval.errors import RagevalError
from rageval.measures.base import Measure
from rageval.measures.parsing import parse_measure
from rageval.table import Column, Table
from rageval.version import __version__

_RAGEVAL = "rageval"
_TOLERANCE = 1e-12
_DEEPEST = 20
AGREES, COMPATIBLE, DIFFERS, FAILS, WRONG = "agrees", "compat", "differs", "fails", "wrong"
Vector = RunVector | AnswerVector


class ToolVerdict(NamedTuple):
    """How one tool did on one measure of one vector.

    `agrees`; `compat`: as rageval by that tool's rules; `differs` on purpose; `fails`; or `wrong`, which
    nobody can explain: a fault, and of rageval if that is the tool.
    """

    tool: str
    measure: str
    vector: str
    verdict: str
    why: str = ""
    values: Mapping[str, float | None] | None = None


def of_rageval(vector: Vector) -> Iterator[ToolVerdict]:
    """Tell whether rageval finds what the vector says."""
    # One measure at a time: a refusal of one must not hide the values of another.
    together = isinstance(vector, RunVector) and vector.together
    every = vector.found(list(vector.expected)) if together else {}
    for measure, expected in vector.expected.items():
        found = every[measure] if together else vector.found([measure])[measure]
        fault, values = "", None
        if not isinstance(found, RagevalError):
            values = found
            if isinstance(expected, str):
                fault = f"expected to be refused: {expected}"
            elif not _same(found, expected):
                fault = f"expected {dict(expected)}, found {dict(found)}"
        elif not isinstance(expected, str) or expected not in str(found):
            fault = f"refused: {found}"
        yield ToolVerdict(_RAGEVAL, measure, vector.name, WRONG if fault else AGREES, fault, values)


def of_peer(name: str, vectors: Sequence[Vector]) -> Iterator[ToolVerdict]:
    """Yield how a peer does, asked for one measure at a time unless the vector is about asking for more."""
    peer = peer_named(name)
    with PeerProcess(name) as process:
        for vector in vectors:
            if not set(vector.options) <= set(peer.options):
                continue
            known = [measure for measure in vector.expected if has(peer, measure)]
            together = isinstance(vector, RunVector) and vector.together
            # One at a time, as one that fails takes those that were asked with it along.
            for measures in [known] if together and known else [[measure] for measure in known]:
                reply = process.ask(measures, vector)
                for measure in () if reply.lacks else measures:
                    yield verdict_of(name, peer, vector, measure, reply)


def has(peer: Peer, name: str) -> bool:
    """Tell whether a peer computes this measure of ours."""
    measure = parse_measure(name)
    return isinstance(measure, Measure) and peer.has(measure)


def verdict_of(name: str, peer: Peer, vector: Vector, measure: str, reply: PeerReply) -> ToolVerdict:
    """Return what comes of a reply. A topic for which rageval knows the tool's rule excuses nothing else."""
    if reply.values is None:
        return ToolVerdict(name, measure, vector.name, FAILS, reply.failure)
    said, expected = reply.values[measure], vector.expected[measure]
    reasons = reasons_of(name, parse_measure(measure).name, topics_of(vector, measure))
    if not isinstance(expected, str):
        if _same(said, expected, peer.tolerance):
            return ToolVerdict(name, measure, vector.name, AGREES, values=said)
        # Where its rule is known, only the same digits by that rule excuse a difference.
        known = [why for key, why in reasons.items() if key in peer.reproduced]
        if known and _as_in(peer, vector, measure, said, expected):
            return ToolVerdict(name, measure, vector.name, COMPATIBLE, known[0], said)
    # Without a reason that fits the input it is nobody's habit, but a fault.
    why = next((why for key, why in reasons.items() if key not in peer.reproduced), "")
    return ToolVerdict(name, measure, vector.name, DIFFERS if why else WRONG, why, said)


def topics_of(vector: Vector, measure: str) -> list[str]:
    """Return what makes an input special: its own topics, and those of the cut-off."""
    k = parse_measure(measure).k
    of_cutoff = ["deep"] if k and k > _DEEPEST else ["first"] if k == 1 else []
    return [*of_cutoff, *vector.topics]


def _same(left: Values, right: Values, tolerance: float = _TOLERANCE) -> bool:
    """Tell whether two tools say the same of the same queries; undefined (None, nan) is a value, too."""
    if left.keys() != right.keys():
        return False
    for key in left:
        one, other = (math.nan if value is None else value for value in (left[key], right[key]))
        # NaN differs from itself, and both tools may rightly have it.
        if not (abs(one - other) <= tolerance or (math.isnan(one) and math.isnan(other))):
            return False
    return True


def _as_in(peer: Peer, vector: Vector, measure: str, said: Values, expected: Values) -> bool:
    """Tell whether rageval says the same by this tool's rules."""
    if isinstance(vector, RunVector) and vector.options:
        return False
    rules = dict(peer.rules)
    # Tools that leave out queries which a run lacks say so by their keys.
    if said.keys() != expected.keys():
        rules = {**rules, "intersection": True, "complete": False} if isinstance(vector, RunVector) else rules
    found = vector.found([measure], rules)[measure]
    return not isinstance(found, RagevalError) and _same(said, found, peer.tolerance)


_Reason = tuple[str, str, str]  # tool, kind of verdict, words
_UNEXPLAINED = "?"
_SHOWN = 20
_LETTERS = (*ascii_lowercase, *map("".join, product(ascii_lowercase, repeat=2)))


class VerdictsTable:
    """What there is to say of the verdicts."""

    def __init__(self, verdicts: Sequence[ToolVerdict], versions: Mapping[str, str]) -> None:
        self._verdicts, self._versions = verdicts, versions
        # A letter for each reason of each tool, from `a` for every tool.
        self._letters: dict[_Reason, str] = {}
        used = Counter[str]()
        for verdict in verdicts:
            reason = _reason(verdict)
            if verdict.verdict not in (AGREES, WRONG) and reason not in self._letters:
                self._letters[reason] = _LETTERS[used[verdict.tool] % len(_LETTERS)]
                used[verdict.tool] += 1

    def own(self) -> str:
        """Return how rageval itself did."""
        found = [verdict for verdict in self._verdicts if verdict.tool == _RAGEVAL]
        right = sum(verdict.verdict == AGREES for verdict in found)
        vectors = len({verdict.vector for verdict in found})
        return f"rageval {__version__}: {right:,} of {len(found):,} right, on {vectors:,} golden vectors"

    def table(self) -> Table:
        """Return a row a measure that some tool has, besides rageval."""
        cells = self._cells()
        shared = dict.fromkeys(name for name, tool in cells if tool != _RAGEVAL)
        rows = [[name, *(_cell(cells.get((name, tool))) for tool in self._versions)] for name in shared]
        return Table([Column("measure"), *map(Column, self._versions)], rows, 1 + len(self._versions))

    def alone(self) -> Iterator[str]:
        """Yield the measures that no tool here has, besides rageval."""
        cells = self._cells()
        shared = {name for name, tool in cells if tool != _RAGEVAL}
        lonely = [name for name, tool in cells if tool == _RAGEVAL and name not in shared]
        if lonely:
            yield f"Of rageval alone, as far as these tools go: {', '.join(lonely)}."

    def reasons(self) -> Iterator[str]:
        """Yield what the letters mean, tool by tool."""
        for tool, version in self._versions.items():
            known = {why: letter for why, letter in self._letters.items() if why[0] == tool}
            if known:
                yield ""
                yield f"{tool} {version}"
            for (_, kind, why), letter in known.items():
                if kind == COMPATIBLE:
                    given = peer_named(tool).rules.items()
                    words = (f"--{name}" if value is True else f"--{name} {value}" for name, value in given)
                    means = f"{why} ({' '.join(words)} says the same)"
                else:
                    means = f"fails: {why}" if kind == FAILS else why
                yield f"  {letter}  {means}"

    def _cells(self) -> dict[tuple[str, str], Counter[str]]:
        """By measure and tool, how often which letter; none stands for agreement."""
        cells: dict[tuple[str, str], Counter[str]] = {}
        for verdict in self._verdicts:
            name = parse_measure(verdict.measure).name
            sign = "" if verdict.verdict == AGREES else _UNEXPLAINED
            if verdict.verdict not in (AGREES, WRONG):
                sign = self._letters[_reason(verdict)]
            cells.setdefault((name, verdict.tool), Counter())[sign] += 1
        return cells

    def faults(self) -> Iterator[str]:
        """Yield what nobody can explain."""
        found = [verdict for verdict in self._verdicts if verdict.verdict == WRONG]
        if found:
            yield ""
            yield f"{_UNEXPLAINED}  cannot be explained, which makes it a fault; please report it:"
        for verdict in found[:_SHOWN]:
            said = verdict.why or dict(verdict.values or {})
            yield f"   {verdict.tool}, {verdict.measure} of {verdict.vector}: {said}"
        if len(found) > _SHOWN:
            yield f"   … and {len(found) - _SHOWN:,} more (--format jsonl shows all)"


def _reason(verdict: ToolVerdict) -> _Reason:
    return verdict.tool, verdict.verdict, verdict.why


def _cell(counts: Counter[str] | None) -> str:
    if counts is None:
        return "–"
    letters = [f"{letter}{'' if count == 1 else count}" for letter, count in sorted(counts.items()) if letter]
    return " ".join([str(counts[""]), *letters])
