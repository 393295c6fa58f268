"""Judges that need no network: judgements of a file, the form of short answers, and a lexical proxy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rageval.errors import UsageError
from rageval.judges.exact import judge_exactly
from rageval.judges.models.frozen import FrozenJudgements
from rageval.judges.models.lexical import lexical_evidence
from rageval.judges.rubric import Rubric
from rageval.judges.tasks import Material, tasks

NAMES = ("exact", "lexical")
LEXICAL_RUBRIC = "lexical"  # a scale of its own: it ranks systems, and never says support


def judge_offline(spec: str, rubric: Rubric, material: Material) -> Iterator[dict[str, Any]]:
    """The judgements of an offline judge: `exact`, `lexical` or `frozen:FILE`."""
    if spec.startswith("frozen:"):
        yield from _replayed(FrozenJudgements(spec.removeprefix("frozen:")), rubric, material)
    elif spec == "exact":
        if rubric.name not in ("crag", "crag-auto"):
            raise UsageError(f"the judge 'exact' knows CRAG's rubrics (crag, crag-auto), not {rubric.name}")
        for judgement in judge_exactly(material.answers, material.questions.values(), "incorrect"):
            yield dict(judgement)
    else:
        yield from _lexical(rubric, material)


def is_offline(spec: str) -> bool:
    """Whether this judge asks nobody."""
    return spec in NAMES or spec.startswith("frozen:")


def _replayed(frozen: FrozenJudgements, rubric: Rubric, material: Material) -> Iterator[dict[str, Any]]:
    name = f"{rubric.judged_as}@{rubric.digest}"
    for task in tasks(rubric, material):
        for rows in task.rows.values():
            for row in rows:
                yield frozen.find(row.query, row.run, row.item, row.aspect, name)


def _lexical(rubric: Rubric, material: Material) -> Iterator[dict[str, Any]]:
    if rubric.file.unit != "nuggets":
        raise UsageError(f"the judge 'lexical' looks for nuggets in answers; it cannot judge {rubric.name}")
    for answer in material.answers:
        for nugget in material.bank(answer.query_id):
            grade, evidence = lexical_evidence(nugget.text, answer.text)
            yield {
                "query_id": answer.query_id,
                "run_id": answer.run_id,
                "item_id": "answer",
                "aspect": nugget.nugget_id,
                **({"importance": nugget.importance} if nugget.importance else {}),
                "grade": grade,
                **({"evidence": evidence} if evidence else {}),
                "status": "ok",
                "judge": "lexical",
                "rubric": LEXICAL_RUBRIC,
            }
