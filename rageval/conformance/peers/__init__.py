"""The tools beside rageval: which measures they have, and what they say of a vector. A file a tool."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module, metadata
from importlib.util import find_spec
from shutil import which
from typing import Any, Protocol

from rageval.errors import RagevalError
from rageval.measures.base import Measure

PROGRAMS = {"ndeval": "ndeval", "ndeval_traditional": "ndeval", "trec_eval": "trec_eval"}  # on the PATH
PEERS = ("pyndeval", "pytrec_eval", "ir_measures", "ranx", "freshstack", "nuggetizer", *PROGRAMS)
OF_ANSWERS = ("nuggetizer",)
ByMeasure = dict[str, dict[str, float]]


class NotAsked(RagevalError):
    """A question that cannot be put to this tool as a whole."""


class Lacks(RagevalError):
    """A measure that this tool would have if more of it were installed."""


class Peer(Protocol):
    """A module of this package."""

    PACKAGE: str  # as it is installed
    AS: Mapping[str, Any]  # options with which rageval goes by its rules
    REPRODUCED: Collection[str]  # topics (`reasons`) that these rules are about
    TOLERANCE: float  # what it rounds away
    OPTIONS: Collection[str]  # those of a vector that it knows, too

    @staticmethod
    def has(measure: Measure) -> bool:
        """Whether it computes this measure."""

    @staticmethod
    def values(measures: Sequence[Measure], vector: Any) -> ByMeasure:
        """What it says, by measure and query."""


def peer_named(name: str) -> Peer:
    """The tool's module; it imports the tool only when asked for values."""
    return import_module(f"rageval.conformance.peers.{name}")  # type: ignore[return-value]


def installed() -> dict[str, str]:
    """The tools that are there, and their versions."""
    found = {}
    for name in PEERS:
        if name in PROGRAMS:
            if which(PROGRAMS[name]):
                found[name] = peer_named(name).version()  # type: ignore[attr-defined]
        elif find_spec(name) is not None:
            package = peer_named(name).PACKAGE
            try:
                found[name] = metadata.version(package)
            except metadata.PackageNotFoundError:
                found[name] = "?"
    return found


def with_cutoff(names: Mapping[str, str], measure: Measure, pattern: str) -> str | None:
    """The tool's name for a measure of ours at its cut-off, if it has one."""
    name = names.get(measure.name)
    return None if name is None or measure.k is None else pattern.format(name, measure.k)
