"""Run a track: from a folder of submissions to a leaderboard, pages and an archive.

    from pathlib import Path

    from rageval.track import TrackPlan, organize

    plan = TrackPlan(Path("submissions"), Path("out"), "rag26", topics="topics.tsv", nuggets="nuggets.jsonl",
                     rubrics=("nugget-assignment",), judges=("openai:MODEL",), measures="v_strict")
    found = organize(plan)

Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval.lazy_names import lazy_names

if TYPE_CHECKING:
    from rageval.track.stages import EntryLimits, Organized, TrackPlan, leaderboard_of, organize

_HOMES = {"stages": "EntryLimits Organized TrackPlan leaderboard_of organize"}

__all__ = ["EntryLimits", "Organized", "TrackPlan", "leaderboard_of", "organize"]

if not TYPE_CHECKING:  # a type checker is not to believe that every name is there
    __getattr__ = lazy_names(__name__, _HOMES)
