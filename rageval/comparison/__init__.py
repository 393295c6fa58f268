"""Is one run better than another, by how much, and could these queries have shown it?

`compare_runs` scores runs and compares them; `compare` takes scores that are there already, such as those of
judged answers. `Settings` says how.
"""

from __future__ import annotations

from rageval.comparison.comparing import compare, compare_runs
from rageval.comparison.results import Cell, Comparison, Pair, Settings

__all__ = ["Cell", "Comparison", "Pair", "Settings", "compare", "compare_runs"]
