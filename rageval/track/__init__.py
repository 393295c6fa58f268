"""Run a track: from a folder of submissions to a leaderboard, pages and an archive.

    from pathlib import Path

    from rageval.track import TrackPlan, organise

    plan = TrackPlan(Path("submissions"), Path("out"), "rag26", topics="topics.tsv", nuggets="nuggets.jsonl",
                     rubrics=("nugget-assignment",), judges=("openai:MODEL",), measures="v_strict")
    found = organise(plan)

Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rageval.track.stages import EntryLimits, Organised, TrackPlan, leaderboard_of, organise

__all__ = ["EntryLimits", "Organised", "TrackPlan", "leaderboard_of", "organise"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.stages"), name)
    return found
