"""What stands in one place must stand in another: the messages of a change that is half done."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff
from pathlib import Path


def require_same(present: Iterable[str], expected: Iterable[str], where: str, why: str = "") -> None:
    """Fail with the names that are lacking in, or too many in, the place that `where` names."""
    present, expected = set(present), set(expected)
    lacking, more = ", ".join(sorted(expected - present)), ", ".join(sorted(present - expected))
    reason = f", {why}" if why else ""
    assert not lacking, f"{lacking}: add to {where}{reason}"
    assert not more, f"{more}: remove from {where}, or add to what it lists"


def require_golden(printed: str, path: Path) -> None:
    """Fail with the difference from a file that is generated and kept."""
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = unified_diff(kept.splitlines(), printed.splitlines(), path.name, "now", lineterm="", n=1)
    assert printed == kept, "\n".join(
        [*lines, f"{path.name} is not up to date: if this is right, run make regenerate"]
    )
