"""Say whether one run is better than another, by how much, and whether these queries could have shown it.

`compare_runs` scores runs and compares them; `compare` takes scores that are there already, such as those of
judged answers. `Settings` says how. Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rageval.comparison.comparing import compare, compare_runs
    from rageval.comparison.results import Cell, Comparison, Pair, Settings

__all__ = ["Cell", "Comparison", "Pair", "Settings", "compare", "compare_runs"]


if not TYPE_CHECKING:  # a type checker is not to believe that every name is there

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = "comparing" if name.startswith("compare") else "results"
        found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return found
