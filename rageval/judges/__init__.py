"""Judges, which label answers by a rubric. They make judgements and never compute a score.

    from rageval.judges import gathered, judged_by, rubric_named

    material = gathered(["answers.jsonl"], questions="crag.jsonl")
    judgements = list(judged_by(["openai:MODEL"], rubric_named("crag"), material))

Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rageval.judges.base import Fatal, Mark, Model, Reply, Request, Transient, as_data
    from rageval.judges.material import Material, gathered
    from rageval.judges.models import model_named
    from rageval.judges.offline import gold_in_top
    from rageval.judges.panel import Settings, judged_by
    from rageval.judges.rubric import Prompt, Rubric, RubricFile, rubric_named
    from rageval.judges.verdicts import Invalid, Verdict

_HOME = {
    **dict.fromkeys(("Fatal", "Mark", "Model", "Reply", "Request", "Transient", "as_data"), "base"),
    **dict.fromkeys(("Invalid", "Verdict"), "verdicts"),
    **dict.fromkeys(("Prompt", "Rubric", "RubricFile", "rubric_named"), "rubric"),
    "Material": "material",
    "Settings": "panel",
    "gathered": "material",
    "gold_in_top": "offline",
    "judged_by": "panel",
    "model_named": "models",
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
