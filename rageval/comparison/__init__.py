"""Is one run better than another, by how much, and could these queries have shown it?

from rageval.comparison import Settings, compare
found = compare([evaluator.evaluate(run) for run in ("a.run", "b.run")], Settings(baseline="a.run"))
"""

from __future__ import annotations

from rageval.comparison.comparing import compare
from rageval.comparison.results import Cell, Comparison, Pair
from rageval.comparison.settings import Settings

__all__ = ["Cell", "Comparison", "Pair", "Settings", "compare"]
