"""What other packages add: entry points in the groups `rageval.measures`, `rageval.models`, and others.

They are looked up only when a name is not built in.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from rageval.errors import UsageError

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
            try:
                return entry.load()
            except Exception as error:  # importing somebody's module may fail in any way
                package = f" of {entry.dist.name} {entry.dist.version}" if entry.dist else ""
                raise UsageError(
                    f"the plug-in {entry.name!r}{package} cannot be loaded from {entry.value}"
                    f" ({type(error).__name__}: {error!s:.200})"
                ) from error
    return None


def plugin_names(group: str) -> list[str]:
    """All names that packages add to the group."""
    return sorted(entry.name for entry in _entries(group))
