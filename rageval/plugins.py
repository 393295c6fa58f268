"""What other packages add: entry points in the groups `rageval.measures`, `rageval.models`, ….

They are looked up only when a name is not built in.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


@cache
def _entries(group: str) -> EntryPoints:
    from importlib.metadata import entry_points

    return entry_points(group=f"rageval.{group}")


def plugin(group: str, name: str) -> Any:
    """Return the object that a package offers under this name, or None."""
    for entry in _entries(group):
        if entry.name.lower().replace("-", "_") == name:
            return entry.load()
    return None


def plugin_names(group: str) -> list[str]:
    """All names that packages add to the group."""
    return sorted(entry.name for entry in _entries(group))
