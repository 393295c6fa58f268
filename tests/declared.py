"""What stands in one table must stand in another: the message of a change that is half done."""

from __future__ import annotations

from collections.abc import Iterable


def require_same(present: Iterable[str], expected: Iterable[str], where: str, why: str = "") -> None:
    """Fail with the names that are lacking in, or too many in, the place that `where` names."""
    present, expected = set(present), set(expected)
    lacking, more = ", ".join(sorted(expected - present)), ", ".join(sorted(present - expected))
    reason = f", {why}" if why else ""
    assert not lacking, f"{lacking}: add to {where}{reason}"
    assert not more, f"{more}: remove from {where}, or add to what it lists"
