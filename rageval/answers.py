"""Measures meet judged answers: judgements in, a value a measure and query out, for every system."""

from __future__ import annotations

import math
import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rageval.errors import InputError, MeasureError, MissingJudgements, UsageError
from rageval.files.graded import add_answers, add_file
from rageval.files.jsonl import in_memory
from rageval.files.judgements import add_dicts
from rageval.files.limits import DEFAULT, Limits
from rageval.measures.base import Measure
from rageval.measures.parsing import parse_measures
from rageval.scores import Score, Scores, combined, require_groups
from rageval.slices import checked_weights
from rageval.tables.banks import judged_by
from rageval.tables.graded import Float, Graded, NotThisJudge, quotient
from rageval.tables.grades import ABSENT, Grades
from rageval.tables.scales import Scale
from rageval.text import visible
from rageval.version import __version__

ON_MISSING = ("error", "skip", "worst", "best")
COMPAT = ("nuggetizer",)
_SHOWN = 10
_WAYS_ON = "judge them again, or say --on-missing skip, worst or best (on_missing= in Python)"


@dataclass(frozen=True, slots=True)
class Rules:
    """Everything besides measures and data that a number depends on.

    `on_missing`: a judgement that failed, or is not there where other systems have one, is an `error`, is
    left out (`skip`), or is taken for the `worst` or the `best`; `groups` and `weights`: the (weighted) mean
    of means over groups of queries; `compat`: another tool's rules (`nuggetizer`).
    """

    on_missing: str = "error"
    groups: Mapping[str, str] | None = field(default=None, hash=False)
    weights: Mapping[str, float] | None = field(default=None, hash=False)
    compat: str | None = None

    def __post_init__(self) -> None:
        if self.on_missing not in ON_MISSING:
            raise UsageError(f"on_missing={self.on_missing!r}: expected one of {', '.join(ON_MISSING)}")
        if self.weights is not None and self.groups is None:
            raise UsageError("weights are of groups: expected groups={query: group}, too")
        if self.compat is not None and self.compat not in COMPAT:
            raise UsageError(f"compat={self.compat!r}: for answers, expected {', '.join(COMPAT)}")

    @property
    def filling(self) -> str:
        """What stands in for a missing judgement while counting how many there are."""
        if self.compat == "nuggetizer":
            return "worst"
        return "skip" if self.on_missing == "error" else self.on_missing


def evaluate_answers(
    measures: object, judgements: Any = None, *, answers: Any = None, nuggets: Any = None, **rules: Any
) -> dict[str, Scores]:
    """Score judged answers: `{run_id: Scores}`.

    `judgements` and `answers` are paths (or several), tables made by `read_judgements`, or dicts with the
    keys of the files; `nuggets` is a file, the id of a data set or records of `Nugget`, which know the
    importance and the weight that judgements do not say; the options are those of `Rules`.

    >>> judged = [{"query_id": "q", "run_id": "ours", "label": "perfect"},
    ...           {"query_id": "q", "run_id": "theirs", "label": "incorrect"}]
    >>> {run: scores["crag_score"].value for run, scores in evaluate_answers("crag_score", judged).items()}
    {'ours': 1.0, 'theirs': -1.0}
    """
    try:
        checked = Rules(**rules)
    except TypeError:
        known = list(Rules.__dataclass_fields__)
        unknown = next(name for name in rules if name not in known)
        raise UsageError(f"unknown option {unknown!r}; expected some of {', '.join(known)}") from None
    grades = read_judgements(judgements, answers=answers, nuggets=nuggets)
    if nuggets is not None:
        for remark in grades.remarks:
            warnings.warn(remark, stacklevel=2)
    if checked.groups is not None:
        require_groups(checked.groups, grades.queries, "groups")
        if checked.weights is not None:
            used = {query: checked.groups[query] for query in grades.queries}
            checked_weights(checked.weights, used, "weights")
    return {scores.run: scores for scores in evaluate_all(measures_of_answers(measures), grades, checked)}


def read_judgements(
    judgements: Any = None, *, answers: Any = None, nuggets: Any = None, limits: Limits = DEFAULT
) -> Grades:
    """The table of judgements in files or dicts, with the answers and nuggets they speak of, if given."""
    if isinstance(judgements, Grades):
        return _weighed(judgements, nuggets, limits)
    found = _listed(judgements)
    paths = [item for item in found if not isinstance(item, Mapping)]
    grades = Grades(", ".join(map(str, paths)) or "judgements")
    for path in paths:
        add_file(grades, path, limits)
    add_dicts(grades, [item for item in found if isinstance(item, Mapping)])
    found = _listed(answers)
    if any(isinstance(item, Mapping) for item in found):
        found = [in_memory(found, "answers")]
    for path in found:
        add_answers(grades, path, limits)
    if not grades.runs:
        raise InputError(f"{grades.name}: holds no judgements and no answers")
    return _weighed(grades.finish(), nuggets, limits)


def _weighed(grades: Grades, nuggets: Any, limits: Limits) -> Grades:
    if nuggets is not None:
        from rageval.datasets.standing import standing_for
        from rageval.files.weighing import weigh

        weigh(grades, standing_for(nuggets, "nuggets"), limits)
    return grades


def measures_of_answers(measures: object) -> list[Measure]:
    """The measures, all of them of answers."""
    found = parse_measures(measures)
    if not found:
        raise MeasureError("no measure named; expected something like v_strict or crag_score")
    for measure in found:
        if not isinstance(measure, Measure) or not measure.of_answers:
            raise MeasureError(f"{measure} scores runs; give a run and judgements of documents")
    return [measure for measure in found if isinstance(measure, Measure)]


def evaluate_all(measures: Sequence[Measure], grades: Grades, rules: Rules) -> list[Scores]:
    """The scores of every system; `MissingJudgements` tells of all that are missing, if that is an error."""
    results = []
    complaints: list[str] = []
    for run in grades.runs:
        scores = [_score(measure, grades, run, rules) for measure in measures]
        results.append(Scores(run, tuple(scores)))
        complaints += [_complaint(run, score) for score in scores if score.lost]
    if complaints and rules.on_missing == "error" and not rules.compat:
        more = [f"… and {len(complaints) - _SHOWN:,} more"] if len(complaints) > _SHOWN else []
        raise MissingJudgements("\n".join([*complaints[:_SHOWN], *more, _WAYS_ON]))
    return results


def _score(measure: Measure, grades: Grades, run: str, rules: Rules) -> Score:
    values, lost, scales = _by_judge(measure, grades, grades.runs[run], rules.filling, rules.compat)
    bounds = None
    if lost and not rules.compat:
        ends = [
            combined(measure, _over_judges(_by_judge(measure, grades, grades.runs[run], end)[0]).tolist())
            for end in _ends(measure)
        ]
        bounds = (min(ends), max(ends))
    queries = grades.queries.words
    several = values if len(values) > 1 else {}
    judges = {name: combined(measure, value.tolist()) for name, value in several.items()}
    return Score(
        measure,
        queries,
        _over_judges(values).tolist(),
        sum(lost.values()),
        _signature(measure, rules, list(values)),
        rules.groups,
        weights=rules.weights,
        bounds=bounds,
        judges=judges,
        lost=dict(lost),
        judged_by=judged_by(grades, grades.runs[run], scales),
    )


def _by_judge(
    measure: Measure, grades: Grades, run: int, filling: str | float, compat: str | None = None
) -> tuple[dict[str, Float], Counter[str], list[Scale]]:
    """The values by each judge, how many judgements are missing, by status, and the scales they are on."""
    values: dict[str, Float] = {}
    lost: Counter[str] = Counter()
    scales: list[Scale] = []
    for judge, number in (grades.judges or {"": 0}).items():
        graded = Graded(grades, run, number, filling, only_here=compat == "nuggetizer")
        try:
            value = np.asarray(measure.compute(graded), np.float64)
        except NotThisJudge:
            continue
        if compat == "nuggetizer":
            value = np.where((graded.answered | graded.assigned) & np.isnan(value), 0.0, value)
        values[judge] = value
        lost.update(graded.lost)
        scales += [scale for scale in [*graded.scales, *graded.beside] if scale not in scales]
    return values, lost, scales


def _over_judges(values: Mapping[str, Float]) -> Float:
    """The mean over the judges whose value is defined."""
    table = np.sort(np.array(list(values.values())), axis=0)  # the same digits in any order of judges
    known = ~np.isnan(table)
    count = known.sum(axis=0)
    total = np.where(known, table, 0.0).sum(axis=0)
    return quotient(total, count.astype(np.float64))


def _ends(measure: Measure) -> list[str | float]:
    """What all missing judgements are taken for, in turn, to see between what values the measure lies."""
    counted = measure.parameters.get("label", measure.parameters.get("level"))
    return ["worst", "best"] + ([] if counted in (None, "accurate") else [counted])


def _complaint(run: str, score: Score) -> str:
    counts = ", ".join(f"{count:,} {status}" for status, count in sorted(score.lost.items()))
    low, high = score.bounds or (math.nan, math.nan)
    return (
        f"{visible(run)}: {score.missing:,} judgements that {score.measure} needs are missing ({counts});"
        f" whatever they are, it lies between {low:.4f} and {high:.4f}"
        + (f"; {score.measure.about.lacking}" if score.measure.about.lacking and ABSENT in score.lost else "")
    )


def _signature(measure: Measure, rules: Rules, judges: list[str]) -> str:
    context: dict[str, object] = {}
    if rules.on_missing != "error":
        context["on_missing"] = rules.on_missing
    if rules.compat:
        context["compat"] = rules.compat
    if rules.groups is not None:
        context["mean"] = "weighted" if rules.weights else "of-groups"
    named = [visible(judge) for judge in judges if judge]
    if named:
        context["judge"] = "+".join(named)
    return measure.signature(**context, v=__version__)


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    single = isinstance(given, str | os.PathLike | Mapping) or hasattr(given, "read")
    return [given] if single else list(given)
