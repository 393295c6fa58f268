"""Sides of a gate, out of plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rageval.comparison.gate import GateReport, GateSettings, GateSide, gate
from rageval.files.scores import BaselineHeader
from rageval.measures.parsing import parse_measure
from rageval.scoring.scores import Score, Scores

Values = Mapping[str, Sequence[float]]


def side(values: Values | Sequence[float], **options: Any) -> GateSide:
    """Values by measure, or of coverage; None is undefined. `between` is {place: ends}, of every measure."""
    named = values if isinstance(values, Mapping) else {"coverage": values}
    between = {f"q{index:03}": ends for index, ends in options.pop("between", {}).items()}
    scores = []
    for name, numbers in named.items():
        ids = [f"q{index:03}" for index in range(len(numbers))]
        values_of = [math.nan if number is None else float(number) for number in numbers]
        scores.append(Score(parse_measure(name), ids, values_of, 0, f"{name}|v:1", between=between))
    header = BaselineHeader(measures={str(score.measure): score.signature for score in scores}, questions=0)
    for name in list(options):
        if name in BaselineHeader.__struct_fields__:
            setattr(header, name, options.pop(name))
    return GateSide(Scores("system", tuple(scores)), header, **options)


def gate_values(
    candidate: Any, baseline: Any, margin: float = 0.03, slices: Any = None, **settings: Any
) -> GateReport:
    """What a gate says of values, or of sides."""
    sides = [scores if isinstance(scores, GateSide) else side(scores) for scores in (candidate, baseline)]
    return gate(sides[0], sides[1], GateSettings(margin, **settings), slices)
