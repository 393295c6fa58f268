"""The tools beside rageval: which measures they have, and what they say of a vector. A file a tool."""

from __future__ import annotations

from importlib import import_module, metadata
from importlib.util import find_spec
from shutil import which

from rageval.conformance.peers._base import Peer

_HOME = {
    "pyndeval": "ndeval",
    "pytrec_eval": "trec_eval",
    "ir_measures": "ir_measures",
    "ranx": "ranx",
    "freshstack": "freshstack",
    "nuggetizer": "nuggetizer",
    "ndeval": "ndeval",
    "ndeval_traditional": "ndeval",
    "trec_eval": "trec_eval",
}
PEERS = tuple(_HOME)
OF_ANSWERS = ("nuggetizer",)


def peer_named(name: str) -> Peer:
    """Return the tool, which is imported only when it is asked for values."""
    peer: Peer = getattr(import_module(f"rageval.conformance.peers._{_HOME[name]}"), name.upper())
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
