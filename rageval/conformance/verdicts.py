"""Each vector put to rageval and to the peers, what comes of it, and that as a table for people.

And a differential fuzzer: random inputs to rageval and to a peer, until they disagree or time is up. They
are such that a peer ought to give our numbers, plainly or by its own rules (`--compat`). What disagrees is
made as small as it goes and handed over as a golden vector.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, product
from string import ascii_lowercase
from typing import NamedTuple

import msgspec

from rageval.conformance._asking import PeerProcess, PeerReply
from rageval.conformance._reasons import reasons_of, topics_in
from rageval.conformance._tools import Peer
from rageval.conformance._vectors import AnswerVector, Expected, Found, QrelsRow, RunRow, RunVector, Values
from rageval.conformance.drawing import run_and_qrels
from rageval.conformance.peers import peer_named
from rageval.errors import RagevalError
from rageval.measures import run_measures
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
    found = _found(vector)
    for measure, expected in vector.expected.items():
        said = found[measure]
        fault = _fault(expected, said)
        values = None if isinstance(said, RagevalError) else said
        yield ToolVerdict(_RAGEVAL, measure, vector.name, WRONG if fault else AGREES, fault, values)


def of_peer(name: str, vectors: Sequence[Vector]) -> Iterator[ToolVerdict]:
    """Yield how a peer does, asked for one measure at a time unless the vector is about asking for more."""
    peer = peer_named(name)
    with PeerProcess(name) as process:
        for vector in vectors:
            if not set(vector.options) <= set(peer.options):
                continue
            known = [measure for measure in vector.expected if _has(peer, measure)]
            together = isinstance(vector, RunVector) and vector.together
            for measures in [known] if together and known else [[measure] for measure in known]:
                reply = process.ask(measures, vector)
                for measure in () if reply.lacks else measures:
                    yield _verdict(name, peer, vector, measure, reply)


def _has(peer: Peer, name: str) -> bool:
    """Tell whether a peer computes this measure of ours."""
    measure = parse_measure(name)
    return isinstance(measure, Measure) and peer.has(measure)


def _verdict(name: str, peer: Peer, vector: Vector, measure: str, reply: PeerReply) -> ToolVerdict:
    """Return what comes of a reply. A topic for which rageval knows the tool's rule excuses nothing else."""
    if reply.values is None:
        return ToolVerdict(name, measure, vector.name, FAILS, reply.failure)
    said, expected = reply.values[measure], vector.expected[measure]
    reasons = reasons_of(name, parse_measure(measure).name, _topics_of(vector, measure))
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


def _topics_of(vector: Vector, measure: str) -> list[str]:
    """Return what makes an input special: its own topics, and those of the cut-off."""
    k = parse_measure(measure).k
    of_cutoff = ["deep"] if k and k > _DEEPEST else ["first"] if k == 1 else []
    return [*of_cutoff, *vector.topics]


def _same(left: Values, right: Values, tolerance: float = _TOLERANCE) -> bool:
    """Tell whether two tools say the same of the same queries; undefined (None, nan) is a value, too."""
    return left.keys() == right.keys() and all(_near(left[key], right[key], tolerance) for key in left)


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


def _near(left: float | None, right: float | None, tolerance: float) -> bool:
    one, other = (math.nan if value is None else value for value in (left, right))
    # NaN differs from itself, and both tools may rightly have it.
    return abs(one - other) <= tolerance or (math.isnan(one) and math.isnan(other))


def _found(vector: Vector) -> Mapping[str, Found]:
    """One measure at a time: a refusal of one must not hide the values of another."""
    if isinstance(vector, RunVector) and vector.together:
        return vector.found(list(vector.expected))
    return {measure: vector.found([measure])[measure] for measure in vector.expected}


def _fault(expected: Expected, found: Found) -> str:
    """Return what is wrong with what rageval found; nothing if nothing is."""
    if isinstance(found, RagevalError):
        refused = isinstance(expected, str) and expected in str(found)
        return "" if refused else f"refused: {found}"
    if isinstance(expected, str):
        return f"expected to be refused: {expected}"
    return "" if _same(found, expected) else f"expected {dict(expected)}, found {dict(found)}"


_Reason = tuple[str, str, str]  # tool, kind of verdict, words
_UNEXPLAINED = "?"
_SHOWN = 20
_LETTERS = (*ascii_lowercase, *map("".join, product(ascii_lowercase, repeat=2)))


def _letters_of(verdicts: Sequence[ToolVerdict]) -> dict[_Reason, str]:
    """Return a letter for each reason of each tool, from `a` for every tool."""
    letters: dict[_Reason, str] = {}
    used = Counter[str]()
    for verdict in verdicts:
        reason = _reason(verdict)
        if verdict.verdict not in (AGREES, WRONG) and reason not in letters:
            letters[reason] = _LETTERS[used[verdict.tool] % len(_LETTERS)]
            used[verdict.tool] += 1
    return letters


class VerdictsTable:
    """What there is to say of the verdicts."""

    def __init__(self, verdicts: Sequence[ToolVerdict], versions: Mapping[str, str]) -> None:
        self._verdicts, self._letters, self._versions = verdicts, _letters_of(verdicts), versions

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
                yield f"  {letter}  {_means(tool, kind, why)}"

    def _cells(self) -> dict[tuple[str, str], Counter[str]]:
        """By measure and tool, how often which letter; none stands for agreement."""
        cells: dict[tuple[str, str], Counter[str]] = {}
        for verdict in self._verdicts:
            name = parse_measure(verdict.measure).name
            cells.setdefault((name, verdict.tool), Counter())[self._letter(verdict)] += 1
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

    def _letter(self, verdict: ToolVerdict) -> str:
        if verdict.verdict == AGREES:
            return ""
        return _UNEXPLAINED if verdict.verdict == WRONG else self._letters[_reason(verdict)]


def _reason(verdict: ToolVerdict) -> _Reason:
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
        given = peer_named(tool).rules.items()
        options = " ".join(f"--{name}" if value is True else f"--{name} {value}" for name, value in given)
        return f"{why} ({options} says the same)"
    return why


_QUERIES = 12  # cases a vector, so that a question is worth its way
_CUTOFFS = (1, 2, 3, 5, 10, 20, None)
_ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)  # with others, rounding decides which documents are tied in the ideal
_MEASURES = 4  # asked of each vector


class _Difference(NamedTuple):
    """What somebody has to look at: the smallest input found, and what the peer says of it."""

    verdict: ToolVerdict
    vector: RunVector


class _Fuzzed(NamedTuple):
    """One vector's worth of work: how many values were compared, and what disagreed."""

    values: int
    differences: list[_Difference]


def fuzz(name: str, seconds: float, seed: int = 0) -> Iterator[_Fuzzed]:
    """Compare with a peer for so long, or a little longer. The same seed draws the same inputs."""
    peer, until = peer_named(name), time.monotonic() + seconds
    with PeerProcess(name) as process:
        for number in count():
            if time.monotonic() > until:
                return
            vector = _drawn(random.Random(f"{seed}/{number}"), peer)
            yield _Fuzzed(
                len(vector.expected) * _QUERIES,
                [
                    _smallest(process, peer, name, vector, measure)
                    for measure in _wrong(process, peer, name, vector)
                ],
            )


def _drawn(rng: random.Random, peer: Peer) -> RunVector:
    """Draw queries that the run has, with something relevant, tied or not, and some measures of the peer."""
    run: list[RunRow] = []
    qrels: list[QrelsRow] = []
    single, tied, spam = (rng.random() < share for share in (0.2, 0.5, 0.2))
    for number in range(_QUERIES):
        query, (scores, judged) = f"{number}.q", _query(rng)
        # Half of the inputs without ties: there no rule for ties can excuse a difference.
        scores = scores if tied else dict(zip(scores, rng.sample(range(999), len(scores)), strict=True))
        run += [(query, doc, _score(rng, score, single)) for doc, score in scores.items()]
        qrels += [
            (query, nugget, doc, grade if spam else max(0, grade))
            for nugget, docs in judged.items()
            for doc, grade in docs.items()
        ]
    topics = [*(["single"] if single else []), *topics_in(run, qrels)]
    measures = [measure for measure in _measures(rng) if _has(peer, measure)][:_MEASURES]
    vector = RunVector("fuzzed", "drawn at random", run, qrels, {}, topics)
    return _with_values(vector, measures)


def _query(rng: random.Random) -> tuple[dict[str, float], dict[str, dict[str, int]]]:
    while True:
        run, qrels = run_and_qrels(rng)
        for query, judged in qrels.items():
            relevant = any(grade > 0 for docs in judged.values() for grade in docs.values())
            # Queries without either are the golden vectors' business; there most tools differ on purpose.
            if relevant and query in run:
                return run[query], judged


def _score(rng: random.Random, score: float, single: bool) -> float:
    """Return the score; or one that differs from another in bits that not every tool looks at."""
    return 1000 + score + rng.random() / 1e5 if single else float(score)


def _measures(rng: random.Random) -> list[str]:
    found = []
    for measure in run_measures().values():
        chosen = measure(normalise="independent") if "normalise" in measure.declared else measure
        if "alpha" in measure.declared:
            chosen = chosen(alpha=rng.choice(_ALPHAS))
        k = rng.choice(_CUTOFFS) if measure.takes_k else None
        found.append(str(chosen if k is None else chosen @ k))
    rng.shuffle(found)
    return found


def _with_values(vector: RunVector, measures: Sequence[str]) -> RunVector:
    """Return the vector with what rageval says; a refusal would be a difference, too."""
    found = vector.found(measures) if measures else {}
    values = {name: said if not isinstance(said, Exception) else str(said) for name, said in found.items()}
    return msgspec.structs.replace(vector, expected=values)


def _wrong(process: PeerProcess, peer: Peer, name: str, vector: RunVector) -> list[str]:
    """Return the measures on which the peer disagrees, or fails and nobody knows why."""
    asked = [(measure, process.ask([measure], vector)) for measure in vector.expected]
    verdicts = [_verdict(name, peer, vector, measure, reply) for measure, reply in asked if not reply.lacks]
    return [found.measure for found in verdicts if found.verdict == WRONG or _is_odd(found, vector)]


def _is_odd(found: ToolVerdict, vector: RunVector) -> bool:
    topics = _topics_of(vector, found.measure)
    return found.verdict == FAILS and not reasons_of(found.tool, parse_measure(found.measure).name, topics)


def _smallest(process: PeerProcess, peer: Peer, name: str, vector: RunVector, measure: str) -> _Difference:
    """Return the same difference with fewer queries, then with fewer rows."""

    def still_wrong(smaller: RunVector) -> bool:
        return bool(
            smaller.run and smaller.qrels and _wrong(process, peer, name, _with_values(smaller, [measure]))
        )

    # A difference is mostly that of one query: alone it is found fast, then rows are left out one by one.
    for query in {row[0] for row in vector.qrels}:
        alone = msgspec.structs.replace(
            vector,
            run=[row for row in vector.run if row[0] == query],
            qrels=[row for row in vector.qrels if row[0] == query],
        )
        if still_wrong(alone):
            vector = alone
            break
    for field in ("run", "qrels"):
        vector = _fewer(vector, field, still_wrong)
    vector = _with_values(vector, [measure])
    return _Difference(_verdict(name, peer, vector, measure, process.ask([measure], vector)), vector)


def _fewer(vector: RunVector, field: str, still_wrong: Callable[[RunVector], bool]) -> RunVector:
    """Without each row that is not needed."""
    for row in list(getattr(vector, field)):
        rows = [other for other in getattr(vector, field) if other != row]
        smaller = msgspec.structs.replace(vector, **{field: rows})
        if still_wrong(smaller):
            vector = smaller
    return vector
