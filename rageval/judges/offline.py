"""Judges that need no network: judgements of a file, the form of short answers, and a lexical proxy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rageval.errors import InputError, UsageError
from rageval.judges.exact import first_stage
from rageval.judges.models import short
from rageval.judges.models.frozen import FrozenJudgements
from rageval.judges.models.lexical import lexical_evidence
from rageval.judges.rubric import Rubric
from rageval.judges.tasks import Material, gold_of, tasks
from rageval.records import Answer

# Scales of their own: a proxy ranks systems, and never says that anything is supported or right.
LEXICAL_RUBRIC, F1_RUBRIC = "lexical", "token-f1"
_MATCHERS = {"exact": short.exact, "contains": short.contains, "number": short.number}
NAMES = (*_MATCHERS, "token_f1", "lexical")
_SHORT_ANSWERS = ("crag", "crag-auto")
Row = dict[str, Any]


def judge_offline(spec: str, rubric: Rubric, material: Material) -> Iterator[Row]:
    """The judgements of an offline judge: one of `NAMES`, or `frozen:FILE`."""
    if spec in NAMES and not material.answers:
        raise InputError(f"nothing to judge: the judge {spec!r} expects files of answers")
    if spec.startswith("frozen:"):
        yield from _replayed(FrozenJudgements(spec.removeprefix("frozen:")), rubric, material)
    elif spec == LEXICAL_RUBRIC:
        yield from _lexical(rubric, material)
    else:
        if rubric.name not in _SHORT_ANSWERS:
            raise UsageError(
                f"the judge {spec!r} compares short answers with gold ones: it knows the rubrics"
                f" {' and '.join(_SHORT_ANSWERS)}, not {rubric.name}"
            )
        yield from _by_form(spec, rubric, material)


def is_offline(spec: str) -> bool:
    """Whether this judge asks nobody."""
    return spec in NAMES or spec.startswith("frozen:")


def _replayed(frozen: FrozenJudgements, rubric: Rubric, material: Material) -> Iterator[Row]:
    name = f"{rubric.judged_as}@{rubric.digest}"
    for task in tasks(rubric, material):
        for rows in task.rows.values():
            for row in rows:
                yield frozen.find(row.query, row.run, row.item, row.aspect, name)


def _by_form(spec: str, rubric: Rubric, material: Material) -> Iterator[Row]:
    """Short answers beside gold ones: what is no match is incorrect, an abstention is missing."""
    right = next(iter(rubric.file.labels))  # perfect, or accurate
    for answer in material.answers:
        gold = gold_of(material.question(answer.query_id))
        if spec == "token_f1":
            said: Mapping[str, Any] = {"grade": short.token_f1(answer.text, gold), "rubric": F1_RUBRIC}
        else:
            said = {"label": _label(_MATCHERS[spec], answer.text, gold, right), "rubric": rubric.judged_as}
        yield _row(answer, "0", spec, said)


def _label(matches: Callable[[str, list[str]], bool], text: str, gold: list[str], right: str) -> str:
    if first_stage(text, gold) == "missing":
        return "missing"
    return right if matches(text, gold) else "incorrect"


def _lexical(rubric: Rubric, material: Material) -> Iterator[Row]:
    if rubric.file.unit != "nuggets":
        raise UsageError(f"the judge 'lexical' looks for nuggets in answers; it cannot judge {rubric.name}")
    for answer in material.answers:
        for nugget in material.bank(answer.query_id):
            grade, evidence = lexical_evidence(nugget.text, answer.text)
            also = {"importance": nugget.importance, "weight": nugget.weight, "evidence": evidence or None}
            said: Row = {"grade": grade, "rubric": LEXICAL_RUBRIC}
            said |= {name: value for name, value in also.items() if value is not None}
            yield _row(answer, nugget.nugget_id, "lexical", said)


def _row(answer: Answer, aspect: str, judge: str, said: Mapping[str, Any]) -> Row:
    place = {"query_id": answer.query_id, "run_id": answer.run_id, "item_id": "answer", "aspect": aspect}
    return {**place, **said, "status": "ok", "judge": judge}
