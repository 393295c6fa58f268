"""Verdicts as a table for people: a row a measure, a column a tool, letters for reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from string import ascii_lowercase

from rageval.conformance.peers import peer_named
from rageval.conformance.verdicts import AGREES, COMPATIBLE, FAILS, RAGEVAL, WRONG, Verdict
from rageval.measures.parsing import parse_measure
from rageval.version import __version__

Reason = tuple[str, str, str]  # tool, kind of verdict, words
UNEXPLAINED = "?"
_SHOWN = 20
_LETTERS = (*ascii_lowercase, *map("".join, product(ascii_lowercase, repeat=2)))


def letters_of(verdicts: Sequence[Verdict]) -> dict[Reason, str]:
    """A letter for each reason of each tool, from `a` for every tool."""
    letters: dict[Reason, str] = {}
    used = Counter[str]()
    for verdict in verdicts:
        reason = _reason(verdict)
        if verdict.verdict not in (AGREES, WRONG) and reason not in letters:
            letters[reason] = _LETTERS[used[verdict.tool] % len(_LETTERS)]
            used[verdict.tool] += 1
    return letters


class Comparison:
    """What there is to say of the verdicts."""

    def __init__(
        self, verdicts: Sequence[Verdict], letters: Mapping[Reason, str], versions: Mapping[str, str]
    ) -> None:
        self._verdicts, self._letters, self._versions = verdicts, letters, versions

    def own(self) -> str:
        """How rageval itself did."""
        found = [verdict for verdict in self._verdicts if verdict.tool == RAGEVAL]
        right = sum(verdict.verdict == AGREES for verdict in found)
        vectors = len({verdict.vector for verdict in found})
        return f"rageval {__version__}: {right:,} of {len(found):,} right, on {vectors:,} golden vectors"

    def grid(self) -> list[list[str]]:
        """A row a measure that some tool has, besides rageval."""
        cells = self._cells()
        shared = dict.fromkeys(name for name, tool in cells if tool != RAGEVAL)
        rows = [[name, *(_cell(cells.get((name, tool))) for tool in self._versions)] for name in shared]
        return [["measure", *self._versions], *rows]

    def alone(self) -> Iterator[str]:
        """The measures that no tool here has, besides rageval."""
        cells = self._cells()
        shared = {name for name, tool in cells if tool != RAGEVAL}
        lonely = [name for name, tool in cells if tool == RAGEVAL and name not in shared]
        if lonely:
            yield f"Of rageval alone, as far as these tools go: {', '.join(lonely)}."

    def reasons(self) -> Iterator[str]:
        """What the letters mean, tool by tool."""
        for tool, version in self._versions.items():
            known = {why: letter for why, letter in self._letters.items() if why[0] == tool}
            if known:
                yield ""
                yield f"{tool} {version}"
            for (_, kind, why), letter in known.items():
                yield f"  {letter}  {_means(tool, kind, why)}"

    def _cells(self) -> dict[tuple[str, str], Counter[str]]:
        """By measure and tool, how often which letter; none stands for agreement."""
        cells: dict[tuple[str, str], Counter[str]] = {}
        for verdict in self._verdicts:
            name = parse_measure(verdict.measure).name
            cells.setdefault((name, verdict.tool), Counter())[self._letter(verdict)] += 1
        return cells

    def faults(self) -> Iterator[str]:
        """What nobody can explain."""
        found = [verdict for verdict in self._verdicts if verdict.verdict == WRONG]
        if found:
            yield ""
            yield f"{UNEXPLAINED}  cannot be explained, which makes it a fault; please report it:"
        for verdict in found[:_SHOWN]:
            said = verdict.why or dict(verdict.values or {})
            yield f"   {verdict.tool}, {verdict.measure} of {verdict.vector}: {said}"
        if len(found) > _SHOWN:
            yield f"   … and {len(found) - _SHOWN:,} more (--format jsonl shows all)"

    def _letter(self, verdict: Verdict) -> str:
        if verdict.verdict == AGREES:
            return ""
        return UNEXPLAINED if verdict.verdict == WRONG else self._letters[_reason(verdict)]


def _reason(verdict: Verdict) -> Reason:
    return verdict.tool, verdict.verdict, verdict.why


def _cell(counts: Counter[str] | None) -> str:
    if counts is None:
        return "–"
    letters = [f"{letter}{'' if count == 1 else count}" for letter, count in sorted(counts.items()) if letter]
    return " ".join([str(counts[""]), *letters])


def _means(tool: str, kind: str, why: str) -> str:
    if kind == FAILS:
        return f"fails: {why}"
    if kind == COMPATIBLE:
        given = peer_named(tool).AS.items()
        options = " ".join(f"--{name}" if value is True else f"--{name} {value}" for name, value in given)
        return f"{why} ({options} says the same)"
    return why
