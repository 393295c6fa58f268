"""Is one run better than another, by how much, and could these queries have shown it?

`compare_runs` scores runs and compares them; `compare` takes scores that are there already, such as those of
judged answers. `Settings` says how.
"""

from __future__ import annotations

from rageval.comparison.comparing import compare
from rageval.comparison.results import Cell, Comparison, Pair
from rageval.comparison.runs import compare_runs
from rageval.comparison.settings import Settings

__all__ = ["Cell", "Comparison", "Pair", "Settings", "compare", "compare_runs"]
