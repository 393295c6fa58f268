"""What is found by name: what other packages add, and what a room of ours leaves to one above it.

Others add entry points in the groups `rageval.measures`, `rageval.models`, …; they are looked up only when a
name is not built in.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

# What is asked for below and made above: imports go one way, and nothing else points the other way.
_ABOVE = {
    "advice": "rageval.statistics.agreement:advice_on_repeats",  # whether more questions or answers help
    "data set": "rageval.datasets.ids:standing_for",  # scoring takes the id of one for nuggets
    "figure": "rageval.comparison.plots:figure_of_scores",  # of scores
    "figure of findings": "rageval.comparison.plots:_figure_of_findings",
    "guest": "rageval.interop:_guest",  # a measure of ours as one of ir_measures'
    "log": "rageval.logs.readers:tool_of",  # whose log a file is that is of no kind of ours
    "papers of a data set": "rageval.datasets.dataset:papers_of",
    "text of a remark": "rageval.views.remarks:remark_text",  # its words
    "parts": "rageval.parallel._divided:in_parts",  # a run that an executor's workers read
}


def above(what: str) -> Any:
    """Return the function of a higher package that does this, imported when it is needed."""
    module, _, name = _ABOVE[what].partition(":")
    return getattr(import_module(module), name)


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
                from rageval.errors import UsageError

                package = f" of {entry.dist.name} {entry.dist.version}" if entry.dist else ""
                raise UsageError(
                    f"the plug-in {entry.name!r}{package} cannot be loaded from {entry.value}"
                    f" ({type(error).__name__}: {error!s:.200})"
                ) from error
    return None


def plugin_names(group: str) -> list[str]:
    """All names that packages add to the group."""
    return sorted(entry.name for entry in _entries(group))
