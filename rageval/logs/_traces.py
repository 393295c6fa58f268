"""What the readers of traces share: spans by trace, and which of several retrievals is the one."""

from __future__ import annotations

from collections.abc import Sequence

from rageval.errors import InputError
from rageval.logs.rows import LogReading, Passage


def one_hop(hops: Sequence[Sequence[Passage]], reading: LogReading, where: str) -> list[Passage]:
    """Return what was retrieved in a trace; of several retrievals the one that was asked for."""
    if len(hops) < 2:
        return list(hops[0]) if hops else []
    if not reading.hop:
        raise InputError(
            f"{where}: {len(hops)} retrievals in one trace, expected one; say which makes the ranking:"
            " --hop first, --hop last, or --hop union (all, one behind the other)"
        )
    if reading.hop == "union":
        return [Passage(passage.text, passage.id) for hop in hops for passage in hop]
    return list(hops[0 if reading.hop == "first" else -1])
