"""Each vector put to rageval and to the peers, and what comes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from peer_process import PeerProcess, PeerReply
from peer_tools import Peer, peer_named, reasons_of
from rageval.errors import RagevalError
from rageval.measures.base import Measure
from rageval.measures.parsing import parse_measure
from vectors import AnswerVector, RunVector, TrajectoryVector, Values

_TOLERANCE = 1e-12
_DEEPEST = 20
AGREES, COMPATIBLE, DIFFERS, FAILS, WRONG = "agrees", "compat", "differs", "fails", "wrong"
Vector = RunVector | AnswerVector


class ToolVerdict(NamedTuple):
    """How one tool did on one measure of one vector.

    `agrees`; `compat`: as rageval by that tool's rules; `differs` on purpose; `fails`; or `wrong`, which
    nobody can explain: a fault, and of rageval if that is the tool.
    """

    measure: str
    vector: str
    verdict: str
    why: str = ""
    values: Mapping[str, float | None] | None = None


def of_rageval(vector: Vector | TrajectoryVector) -> Iterator[ToolVerdict]:
    """Tell whether rageval finds what the vector says."""
    # One measure at a time: a refusal of one must not hide the values of another.
    together = isinstance(vector, RunVector) and vector.together
    every = vector.compute(list(vector.expected)) if together else {}
    for measure, expected in vector.expected.items():
        outcome = every[measure] if together else vector.compute([measure])[measure]
        fault, values = "", None
        if not isinstance(outcome, RagevalError):
            values = outcome
            if isinstance(expected, str):
                fault = f"expected to be refused: {expected}"
            elif not _same(outcome, expected):
                fault = f"expected {dict(expected)}, found {dict(outcome)}"
        elif not isinstance(expected, str) or expected not in str(outcome):
            fault = f"refused: {outcome}"
        yield ToolVerdict(measure, vector.name, WRONG if fault else AGREES, fault, values)


def of_peer(name: str, vectors: Sequence[Vector]) -> Iterator[ToolVerdict]:
    """Yield how a peer does, asked for one measure at a time unless the vector is about asking for more."""
    peer = peer_named(name)
    with PeerProcess(name) as process:
        for vector in vectors:
            if not set(vector.options) <= set(peer.options):
                continue
            supported = [measure for measure in vector.expected if has(peer, measure)]
            together = isinstance(vector, RunVector) and vector.together
            # One at a time, as one that fails takes those that were asked with it along.
            for measures in [supported] if together and supported else [[measure] for measure in supported]:
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
        return ToolVerdict(measure, vector.name, FAILS, reply.failure)
    peer_value, expected = reply.values[measure], vector.expected[measure]
    reasons = reasons_of(name, parse_measure(measure).name, topics_of(vector, measure))
    if not isinstance(expected, str):
        if _same(peer_value, expected, peer.tolerance):
            return ToolVerdict(measure, vector.name, AGREES, values=peer_value)
        # Where its rule is known, only the same digits by that rule excuse a difference.
        reproduced = [why for key, why in reasons.items() if key in peer.reproduced]
        if reproduced and _as_in(peer, vector, measure, peer_value, expected):
            return ToolVerdict(measure, vector.name, COMPATIBLE, reproduced[0], peer_value)
    # Without a reason that fits the input it is nobody's habit, but a fault.
    why = next((why for key, why in reasons.items() if key not in peer.reproduced), "")
    return ToolVerdict(measure, vector.name, DIFFERS if why else WRONG, why, peer_value)


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


def _as_in(peer: Peer, vector: Vector, measure: str, values: Values, expected: Values) -> bool:
    """Tell whether rageval says the same by this tool's rules."""
    if isinstance(vector, RunVector) and vector.options:
        return False
    rules = dict(peer.rules)
    # Tools that leave out queries which a run lacks say so by their keys.
    if values.keys() != expected.keys():
        rules = {**rules, "intersection": True, "complete": False} if isinstance(vector, RunVector) else rules
    value = vector.compute([measure], rules)[measure]
    return not isinstance(value, RagevalError) and _same(values, value, peer.tolerance)
