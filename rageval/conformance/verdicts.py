"""Each vector put to rageval and to the peers, and what comes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rageval.conformance.asking import PeerProcess, Reply
from rageval.conformance.peers import Peer, peer_named
from rageval.conformance.reasons import reasons_of
from rageval.conformance.vectors import AnswerVector, Expected, Found, RunVector, Values
from rageval.errors import RagevalError
from rageval.measures.base import Measure
from rageval.measures.parsing import parse_measure

RAGEVAL = "rageval"
TOLERANCE = 1e-12
DEEPEST = 20
AGREES, COMPATIBLE, DIFFERS, FAILS, WRONG = "agrees", "compat", "differs", "fails", "wrong"
Vector = RunVector | AnswerVector


class Verdict(NamedTuple):
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


def of_rageval(vector: Vector) -> Iterator[Verdict]:
    """Whether rageval finds what the vector says."""
    found = _found(vector)
    for measure, expected in vector.expected.items():
        said = found[measure]
        fault = _fault(expected, said)
        values = None if isinstance(said, RagevalError) else said
        yield Verdict(RAGEVAL, measure, vector.name, WRONG if fault else AGREES, fault, values)


def of_peer(name: str, vectors: Sequence[Vector]) -> Iterator[Verdict]:
    """How a peer does, asked for one measure at a time unless the vector is about asking for more."""
    peer = peer_named(name)
    with PeerProcess(name) as process:
        for vector in vectors:
            if not set(vector.options) <= set(peer.OPTIONS):
                continue
            known = [measure for measure in vector.expected if has(peer, measure)]
            together = isinstance(vector, RunVector) and vector.together
            for measures in [known] if together and known else [[measure] for measure in known]:
                reply = process.ask(measures, vector)
                for measure in () if reply.lacks else measures:
                    yield verdict(name, peer, vector, measure, reply)


def has(peer: Peer, name: str) -> bool:
    """Whether a peer computes this measure of ours."""
    measure = parse_measure(name)
    return isinstance(measure, Measure) and peer.has(measure)


def verdict(name: str, peer: Peer, vector: Vector, measure: str, reply: Reply) -> Verdict:
    """What comes of a reply. A topic for which rageval knows the tool's rule excuses nothing else."""
    if reply.values is None:
        return Verdict(name, measure, vector.name, FAILS, reply.failure)
    said, expected = reply.values[measure], vector.expected[measure]
    reasons = reasons_of(name, parse_measure(measure).name, topics_of(vector, measure))
    if not isinstance(expected, str):
        if same(said, expected, peer.TOLERANCE):
            return Verdict(name, measure, vector.name, AGREES, values=said)
        known = [why for key, why in reasons.items() if key in peer.REPRODUCED]
        if known and _as_in(peer, vector, measure, said, expected):
            return Verdict(name, measure, vector.name, COMPATIBLE, known[0], said)
    why = next((why for key, why in reasons.items() if key not in peer.REPRODUCED), "")
    return Verdict(name, measure, vector.name, DIFFERS if why else WRONG, why, said)


def topics_of(vector: Vector, measure: str) -> list[str]:
    """What makes an input special: its own topics, and those of the cut-off."""
    k = parse_measure(measure).k
    of_cutoff = ["deep"] if k and k > DEEPEST else ["first"] if k == 1 else []
    return [*of_cutoff, *vector.topics]


def same(left: Values, right: Values, tolerance: float = TOLERANCE) -> bool:
    """Whether two tools say the same of the same queries; undefined (None, nan) is a value, too."""
    return left.keys() == right.keys() and all(_near(left[key], right[key], tolerance) for key in left)


def _as_in(peer: Peer, vector: Vector, measure: str, said: Values, expected: Values) -> bool:
    """Whether rageval says the same by this tool's rules."""
    if isinstance(vector, RunVector) and vector.options:
        return False
    rules = dict(peer.AS)
    if said.keys() != expected.keys():
        rules = {**rules, "intersection": True, "complete": False} if isinstance(vector, RunVector) else rules
    found = vector.found([measure], rules)[measure]
    return not isinstance(found, RagevalError) and same(said, found, peer.TOLERANCE)


def _near(left: float | None, right: float | None, tolerance: float) -> bool:
    one, other = (math.nan if value is None else value for value in (left, right))
    return abs(one - other) <= tolerance or (math.isnan(one) and math.isnan(other))


def _found(vector: Vector) -> Mapping[str, Found]:
    """One measure at a time: a refusal of one must not hide the values of another."""
    if isinstance(vector, RunVector) and vector.together:
        return vector.found(list(vector.expected))
    return {measure: vector.found([measure])[measure] for measure in vector.expected}


def _fault(expected: Expected, found: Found) -> str:
    """What is wrong with what rageval found; nothing if nothing is."""
    if isinstance(found, RagevalError):
        refused = isinstance(expected, str) and expected in str(found)
        return "" if refused else f"refused: {found}"
    if isinstance(expected, str):
        return f"expected to be refused: {expected}"
    return "" if same(found, expected) else f"expected {dict(expected)}, found {dict(found)}"
