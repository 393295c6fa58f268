"""Say whether one run is better than another, by how much, and whether these queries could have shown it.

`compare_runs` scores runs and compares them; `compare` takes scores that are there already, such as those of
judged answers. `Settings` says how. `compare_leaderboards` says how alike two leaderboards rank the runs that
both have; `cite` says how to cite numbers. Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval.lazy_names import lazy_names

if TYPE_CHECKING:
    from rageval.comparison.citations import Citation, cite
    from rageval.comparison.comparisons import compare, compare_runs
    from rageval.comparison.gate import Decision, GateReport, GateSettings
    from rageval.comparison.leaderboards import LeaderboardAgreement, compare_leaderboards
    from rageval.comparison.losses import Diagnosis, diagnose
    from rageval.comparison.results import Cell, Comparison, FrontierPoint, FrontierStatus, Pair, Settings

_HOMES = {
    "citations": "Citation cite",
    "comparisons": "compare compare_runs",
    "gate": "Decision GateReport GateSettings",
    "losses": "Diagnosis diagnose",
    "leaderboards": "LeaderboardAgreement compare_leaderboards",
    "results": "Cell Comparison FrontierPoint FrontierStatus Pair Settings",
}

__all__ = [
    "Cell",
    "Citation",
    "Comparison",
    "Decision",
    "Diagnosis",
    "FrontierPoint",
    "FrontierStatus",
    "GateReport",
    "GateSettings",
    "LeaderboardAgreement",
    "Pair",
    "Settings",
    "cite",
    "compare",
    "compare_leaderboards",
    "compare_runs",
    "diagnose",
]

if not TYPE_CHECKING:  # a type checker is not to believe that every name is there
    __getattr__ = lazy_names(__name__, _HOMES)
