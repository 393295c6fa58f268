"""A judge's passport: everything that says how far its judgements can be trusted, beside those of people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval.agreement import Agreement, agreement, table_of, tau_ap, tau_b
from rageval.errors import InputError
from rageval.files.jsonl import read_records
from rageval.files.opening import Source
from rageval.judges.votes import GRADED, Place, place
from rageval.tables.scales import ALL

Float = NDArray[np.float64]
Judged = Mapping[Place, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Passport:
    """The comparison of a judge with gold judgements; `confusion[i][j]` counts judge's label i, gold's j."""

    coefficients: Sequence[Agreement]
    labels: Sequence[str]
    confusion: Sequence[Sequence[int]]
    facts: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Everything, for a program."""
        coefficients = {
            each.name: {"value": _plain(each.value), "low": _plain(each.low), "high": _plain(each.high)}
            for each in self.coefficients
        }
        confusion = [list(row) for row in self.confusion]
        return {
            **self.facts,
            "coefficients": coefficients,
            "labels": list(self.labels),
            "confusion": confusion,
        }


def read(source: Source) -> Judged:
    """The judgements of a file, by what they are about; a second judge's are refused."""
    found: dict[Place, Mapping[str, Any]] = {}
    for line, judgement in read_records(source, dict[str, Any], "a judgement {query_id, run_id, …}"):
        whole = {"item_id": "answer", "aspect": "0", "status": "ok", **judgement}
        missing = [name for name in ("query_id", "run_id") if name not in whole]
        if missing:
            raise InputError(f"{source}:{line}: expected a judgement, found no {' and no '.join(missing)}")
        if place(whole) in found:
            raise InputError(
                f"{source}:{line}: judged before by {found[place(whole)].get('judge', '')!r};"
                " expected one judge a file"
            )
        found[place(whole)] = whole
    return found


def passport(judged: Judged, gold: Judged, kind: str = "none") -> Passport:
    """How far the judge agrees with gold on what both judged."""
    both = [key for key in judged if key in gold and _is_graded(judged[key]) and _is_graded(gold[key])]
    if not both:
        raise InputError(
            f"nothing was judged in both files ({len(judged):,} and {len(gold):,} judgements);"
            " expected the same query_id, run_id, item_id and aspect"
        )
    one, other = (np.array([_grade(source[key]) for key in both]) for source in (judged, gold))
    levels = np.unique(np.concatenate((one, other)))
    names = _names([*judged.values(), *gold.values()])
    return Passport(
        agreement(one, other, [key[0] for key in both], kind),
        [names.get(level, f"{level:g}") for level in levels.tolist()],
        table_of(one, other, levels).astype(int).tolist(),
        _facts(judged, gold, both, one, other),
    )


def _facts(judged: Judged, gold: Judged, both: list[Place], one: Float, other: Float) -> dict[str, Any]:
    failed = sum(not _is_graded(judgement) for judgement in judged.values())
    systems = sorted({key[1] for key in both})
    of_system = np.array([systems.index(key[1]) for key in both])
    count = np.bincount(of_system, minlength=len(systems))
    mine, theirs = (np.bincount(of_system, grades, len(systems)) / count for grades in (one, other))
    usage = [judgement["usage"] for judgement in judged.values() if isinstance(judgement.get("usage"), dict)]
    return {
        "compared": len(both),
        "queries": len({key[0] for key in both}),
        "systems": len(systems),
        "only_judged": len(judged.keys() - gold.keys()),
        "only_gold": len(gold.keys() - judged.keys()),
        "failed": failed,
        "failure_rate": failed / len(judged),
        "bias": float((one - other).mean()),
        "tau_b": _plain(tau_b(mine, theirs)) if len(systems) > 1 else None,
        "tau_ap": _plain(tau_ap(theirs, mine)) if len(systems) > 1 else None,
        "tokens": sum(int(spent.get("input", 0)) + int(spent.get("output", 0)) for spent in usage),
    }


def _is_graded(judgement: Mapping[str, Any]) -> bool:
    return judgement["status"] in GRADED


_WORTH = {label: grade for scale in ALL for label, grade in scale.labels.items()}


def _grade(judgement: Mapping[str, Any]) -> float:
    """The grade, or what the label is worth."""
    grade = judgement.get("grade")
    if grade is None:
        grade = _WORTH.get(str(judgement.get("label")))
    if not isinstance(grade, int | float) or isinstance(grade, bool) or not math.isfinite(grade):
        raise InputError(
            f"query {judgement['query_id']!r}: expected a label of a known scale or a grade, found {grade!r}"
        )
    return float(grade)


def _names(judgements: Sequence[Mapping[str, Any]]) -> dict[float, str]:
    """What each grade is called, where it has a name."""
    names: dict[float, str] = {}
    for judgement in judgements:
        if _is_graded(judgement) and judgement.get("label"):
            names.setdefault(_grade(judgement), str(judgement["label"]))
    return names


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
