"""Run a track: from a folder of submissions to a leaderboard, pages and an archive.

    from pathlib import Path

    from rageval.track import TrackPlan, organize

    plan = TrackPlan(Path("submissions"), Path("out"), "rag26", topics="topics.tsv", nuggets="nuggets.jsonl",
                     rubrics=("nugget-assignment",), judges=("openai:MODEL",), measures="v_strict")
    found = organize(plan)

Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rageval.track.stages import EntryLimits, Organized, TrackPlan, leaderboard_of, organize

__all__ = ["EntryLimits", "Organized", "TrackPlan", "leaderboard_of", "organize"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.stages"), name)
    return found
