"""The values that several judges give the same answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rageval import answers
from rageval.files.judgements import Judgements
from rageval.measures.base import Measure
from rageval.statistics.samples import Float


def by_judge(measure: Measure, grades: Judgements, run: str) -> Mapping[str, Float]:
    """The values of a system by each judge who said anything on the scale, NaN where undefined."""
    found = answers.by_judge([measure], grades, grades.runs[run])[0]
    return {judge: np.array(values, np.float64) for judge, values in found.values.items()}
