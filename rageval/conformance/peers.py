"""Which tools there are beside rageval, and which of them are installed here."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from shutil import which

from rageval.conformance import _tools
from rageval.conformance._tools import Peer

PEERS = (
    "pyndeval",
    "pytrec_eval",
    "ir_measures",
    "ranx",
    "freshstack",
    "nuggetizer",
    "ndeval",
    "ndeval_traditional",
    "trec_eval",
)
OF_ANSWERS = ("nuggetizer",)


def peer_named(name: str) -> Peer:
    """Return the tool, which is imported only when it is asked for values."""
    peer: Peer = getattr(_tools, name.upper())
    return peer


def installed() -> dict[str, str]:
    """Return the tools that are there, and their versions."""
    found = {}
    for name in PEERS:
        peer = peer_named(name)
        if peer.version is not None:
            if which(peer.program):
                found[name] = peer.version()
        elif find_spec(name) is not None:
            try:
                found[name] = metadata.version(peer.package)
            except metadata.PackageNotFoundError:
                found[name] = "?"
    return found
