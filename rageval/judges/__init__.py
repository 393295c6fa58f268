"""Judges: who says how well an answer does. They make judgements and never compute a score.

    from rageval.judges import gathered, judged_by, rubric_named

    material = gathered(["answers.jsonl"], questions="crag.jsonl")
    judgements = list(judged_by(["openai:MODEL"], rubric_named("crag"), material))

Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rageval.judges._prompts import Mark, as_data
    from rageval.judges._rubric_file import Prompt, RubricFile
    from rageval.judges._verdicts import Invalid, Verdict
    from rageval.judges.base import Fatal, Model, Reply, Request, Transient
    from rageval.judges.material import Material, gathered
    from rageval.judges.models import model_named
    from rageval.judges.offline import gold_in_top
    from rageval.judges.panel import Settings, judged_by
    from rageval.judges.rubric import Rubric, rubric_named

_HOME = {
    **dict.fromkeys(("Fatal", "Model", "Reply", "Request", "Transient"), "base"),
    **dict.fromkeys(("Invalid", "Verdict"), "_verdicts"),
    **dict.fromkeys(("Mark", "as_data"), "_prompts"),
    **dict.fromkeys(("Prompt", "RubricFile"), "_rubric_file"),
    "Material": "material",
    "Rubric": "rubric",
    "Settings": "panel",
    "gathered": "material",
    "gold_in_top": "offline",
    "judged_by": "panel",
    "model_named": "models",
    "rubric_named": "rubric",
}

__all__ = [
    "Fatal",
    "Invalid",
    "Mark",
    "Material",
    "Model",
    "Prompt",
    "Reply",
    "Request",
    "Rubric",
    "RubricFile",
    "Settings",
    "Transient",
    "Verdict",
    "as_data",
    "gathered",
    "gold_in_top",
    "judged_by",
    "model_named",
    "rubric_named",
]


if not TYPE_CHECKING:  # a type checker is not to believe that every name is there

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        return found
