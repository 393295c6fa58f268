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


def side(values: Values | Sequence[float], **known: Any) -> GateSide:
    """Values by measure, or of coverage; None is undefined. `between` is {place: ends}, of every measure."""
    named = values if isinstance(values, Mapping) else {"coverage": values}
    between = {f"q{at:03}": ends for at, ends in known.pop("between", {}).items()}
    scores = []
    for name, numbers in named.items():
        ids = [f"q{at:03}" for at in range(len(numbers))]
        values_of = [math.nan if number is None else float(number) for number in numbers]
        scores.append(Score(parse_measure(name), ids, values_of, 0, f"{name}|v:1", between=between))
    header = BaselineHeader(measures={str(each.measure): each.signature for each in scores}, questions=0)
    for name in list(known):
        if name in BaselineHeader.__struct_fields__:
            setattr(header, name, known.pop(name))
    return GateSide(Scores("system", tuple(scores)), header, **known)


def told(
    candidate: Any, baseline: Any, margin: float = 0.03, slices: Any = None, **settings: Any
) -> GateReport:
    """What a gate says of values, or of sides."""
    sides = [each if isinstance(each, GateSide) else side(each) for each in (candidate, baseline)]
    return gate(sides[0], sides[1], GateSettings(margin, **settings), slices)
