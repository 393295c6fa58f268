"""Judges, which label answers by a rubric. They make judgements and never compute a score.

    from rageval.judges import gathered, judged_by, rubric_named

    material = gathered(["answers.jsonl"], questions="crag.jsonl")
    judgements = list(judged_by(["openai:MODEL"], rubric_named("crag"), material))

Nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval.lazy_names import lazy_names

if TYPE_CHECKING:
    from rageval.judges.base import Fatal, Mark, Model, Reply, Request, Transient, as_data
    from rageval.judges.material import Material, gathered
    from rageval.judges.models import model_named
    from rageval.judges.offline import gold_in_top
    from rageval.judges.panel import Settings, judged_by
    from rageval.judges.rubric import Prompt, Rubric, RubricFile, rubric_named
    from rageval.judges.verdicts import Invalid, Verdict

_HOMES = {
    "base": "Fatal Mark Model Reply Request Transient as_data",
    "material": "Material gathered",
    "models": "model_named",
    "offline": "gold_in_top",
    "panel": "Settings judged_by",
    "rubric": "Prompt Rubric RubricFile rubric_named",
    "verdicts": "Invalid Verdict",
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
    __getattr__ = lazy_names(__name__, _HOMES)
