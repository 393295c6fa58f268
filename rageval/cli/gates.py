"""Gates of `rageval score`: what the mean of every run must reach, or may not pass.

A gate is `MEASURE>=NUMBER` (or `<=`, `>`, `<`). Each measure knows which of its values are good, so a gate
that would stop the best run and pass the worst is refused. A value that is not defined passes no gate.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rageval.errors import UsageError
from rageval.measures.base import HIGHER, LOWER, NEITHER
from rageval.measures.parsing import parse_measure
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.scores import Score, Scores

_HOLDS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_MISSED = {">=": "below", "<=": "above", ">": "not above", "<": "not below"}
_GATE = re.compile(r"\s*(?P<measure>[^<>]*[^<>=\s])\s*(?P<sign>[<>]=?)(?P<limit>[^<>=]+)")
_COMMA = re.compile(r",(?![^()]*\))")  # outside parentheses
_TURNED = str.maketrans("<>", "><")


@dataclass(frozen=True)
class Gate:
    """A measure, and on which side of which number its mean must lie; `text` is the gate as it was typed."""

    text: str
    measure: Any
    sign: str
    limit: float

    @property
    def keeps(self) -> str:
        """Which values it lets through."""
        return HIGHER if self.sign[0] == ">" else LOWER

    @property
    def is_backwards(self) -> bool:
        """Whether it lets the bad values through and stops the good ones."""
        return self.measure.better not in (self.keeps, NEITHER)

    def holds(self, value: float) -> bool:
        """Whether this value passes; NaN never does."""
        return bool(_HOLDS[self.sign](value, self.limit))

    def missed(self) -> str:
        """What is said of a value that does not pass."""
        return f"{_MISSED[self.sign]} {self.limit:g}"


def gates(required: Sequence[str], fail_under: Sequence[str]) -> list[Gate]:
    """The gates of the command line; those that would stop the good runs are refused."""
    wanted = [_required(part, text) for text in required for part in _COMMA.split(text)]
    found = [*wanted, *map(_least, fail_under)]
    for gate in wanted:
        if gate.is_backwards and all(other.is_backwards for other in found if other.measure == gate.measure):
            good, only = ("low", "lower") if gate.keeps == HIGHER else ("high", "upper")
            raise UsageError(
                f"--require {gate.text!r}: of {gate.measure} {good} values are good, so this would stop the"
                f" good runs and pass the bad ones; expected {gate.text.translate(_TURNED)!r} (the {only}"
                " limit counts only where there is one on the other side, too)"
            )
    return found


def passed(results: Iterable[Scores], wanted: Sequence[Gate], queries: int) -> tuple[bool, list[str]]:
    """Whether every run passes every gate, and what should be said of them; there are so many queries."""
    every, said = True, []
    for scores in results:
        for gate in wanted:
            counted = _counted_as_good(scores[gate.measure], queries)
            every = every and gate.holds(scores[gate.measure].value) and not counted
            said += [f"{visible(scores.run)}: {text}" for text in _said(scores, gate, queries)]
    return every, said


def _said(scores: Scores, gate: Gate, queries: int) -> Iterator[str]:
    score = scores[gate.measure]
    rests = "" if score.queries == queries else f" (over {score.queries:,} of {queries:,} queries)"
    if math.isnan(score.value):
        yield f"{gate.measure} has no defined value{rests}, so {gate.text!r} is not passed"
    elif _counted_as_good(score, queries):
        yield (
            f"{gate.measure} is {_shown(score.value, gate)}, but {score.missing:,} of {queries:,} queries are"
            f" not in the run and count as 0, the best there is, so {gate.text!r} is not passed;"
            " --intersection leaves them out"
        )
    elif not gate.holds(score.value):
        yield f"{gate.measure} is {_shown(score.value, gate)}, {gate.missed()}{rests}"
    elif rests:
        yield f"{gate.measure} is {_shown(score.value, gate)}, which passes {gate.text!r}{rests}"


def _counted_as_good(score: Score, queries: int) -> bool:
    """Whether queries that a run lacks count as 0 where 0 is the best value."""
    measure: Any = score.measure
    if measure.better != LOWER or getattr(measure, "of_answers", False):
        return False
    return score.missing > 0 and len(score.numbers) == queries


def _shown(value: float, gate: Gate) -> str:
    """The value with four places; with all of them where four would say the opposite."""
    text = f"{value:.4f}"
    return text if gate.holds(float(text)) == gate.holds(value) else repr(value)


def _required(part: str, text: str) -> Gate:
    found = _GATE.fullmatch(part)
    if found is None:
        raise UsageError(
            f"--require {text!r}: expected MEASURE>=NUMBER or MEASURE<=NUMBER, as in 'hallucination<=0.1'"
            + (f"; found {part.strip()!r}" if part != text else "")
        )
    limit = _number(found["limit"], f"--require {text!r}: expected a number after {found['sign']}")
    return Gate(part.strip(), parse_measure(found["measure"]), found["sign"], limit)


def _least(text: str) -> Gate:
    expected = f"--fail-under {text!r}: expected MEASURE=VALUE, as in alpha_ndcg@10=0.5"
    name, equals, value = text.rpartition("=")
    if not equals or name.endswith(("<", ">")) or not name.strip():
        raise UsageError(expected + ("; other limits are --require's" if equals else ""))
    limit = _number(value, expected)
    gate = Gate(f"{name.strip()}>={value.strip()}", parse_measure(name), ">=", limit)
    if gate.is_backwards:
        raise UsageError(
            f"--fail-under {text!r}: of {gate.measure} low values are good, so this would pass the bad runs;"
            f" say --require '{name.strip()}<={value.strip()}'"
        )
    return gate


def _number(text: str, expected: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise UsageError(expected) from None
    if not math.isfinite(number):
        raise UsageError(expected)
    return number
