"""How much worse is still good enough: a number in a measure's units, or a share of the baseline's value.

With a margin of δ of the baseline, the difference that is tested is candidate − (1 + δ) · baseline where low
is good, and candidate − (1 − δ) · baseline where high is good, question by question. So the bound accounts
for the noise of the baseline, which a margin of δ times its mean would take for known.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from rageval.errors import MeasureError, UsageError
from rageval.measures.parsing import parse_measure
from rageval.text import visible

EXPECTED = "a number from 0, or a percentage of the baseline's value such as 10%, after NAME= for one measure"


class Margin(NamedTuple):
    """A number in the measure's units, or with `is_share` a share of the baseline's value."""

    size: float
    is_share: bool = False

    def __str__(self) -> str:
        return f"{100 * self.size:.12g}%" if self.is_share else f"{self.size:g}"

    def factor(self, sign: float) -> float:
        """Return by what a baseline is multiplied to be just good enough; `sign` is −1 where low is good."""
        return 1 - sign * self.size


@dataclass(frozen=True)
class Margins:
    """The margin of each measure that is named, and that of all others, if there is one."""

    others: Margin | None = None
    named: Mapping[str, Margin] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, given: MarginLike, option: str = "margin") -> Margins:
        """Read margins, one or several: `0.03`, `"10%"`, `"cost=10%"`; `UsageError` names the option.

        >>> print(Margins.of([0.03, "cost=10%"]), Margins.of("accuracy=.05,5%"))
        0.03,cost=10% 5%,crag_share=0.05
        """
        if isinstance(given, Margins):
            return given
        others, named = None, dict[str, Margin]()
        for name, margin in _parsed(given, option):
            before = named.get(name) if name else others
            if before not in (None, margin):
                raise UsageError(f"{option}: {name or 'all others'}: given twice, {before} and {margin}")
            if name:
                named[name] = margin
            else:
                others = margin
        return cls(others, named)

    def of_measure(self, measure: str) -> Margin:
        """Return the margin of a measure, which `require` has shown to be there."""
        margin = self.named.get(measure, self.others)
        assert margin is not None
        return margin

    def require(self, measures: Collection[str], option: str = "margin") -> None:
        """Raise `UsageError` for a name that is none of these measures, and a measure without a margin."""
        there = ", ".join(measures)
        for name in self.named:
            if name not in measures:
                raise UsageError(f"{option}: {visible(name)} is not gated; use one of {there}")
        lacking = [name for name in measures if name not in self.named]
        if self.others is None and lacking:
            raise UsageError(
                f"{option}: there is none for {', '.join(lacking)}; give one without a name, which is that of"
                f" all other measures, or {lacking[0]}=M"
            )

    def doubled(self) -> Margins:
        """Return margins that are twice as large."""
        others = self.others and self.others._replace(size=2 * self.others.size)
        return Margins(others, {name: m._replace(size=2 * m.size) for name, m in self.named.items()})

    def __str__(self) -> str:
        named = (f"{name}={margin}" for name, margin in self.named.items())
        return ",".join([*([] if self.others is None else [str(self.others)]), *named])


MarginLike: TypeAlias = float | str | Sequence[float | str] | Margins


def _parsed(given: float | str | Sequence[float | str], option: str) -> Iterator[tuple[str, Margin]]:
    """Yield name and margin of each that is given; the name is empty where none is."""
    items = given.split(",") if isinstance(given, str) and "(" not in given else [given]
    for item in items if not isinstance(given, list | tuple) else given:
        name, _, text = item.rpartition("=") if isinstance(item, str) else ("", "", item)
        try:
            is_share = isinstance(text, str) and text.strip().endswith("%")
            number = float(str(text).strip().removesuffix("%"))
            if isinstance(text, bool) or not 0 <= number < math.inf:
                raise ValueError
        except ValueError:
            raise UsageError(f"{option}={item!r:.80}: expected {EXPECTED}") from None
        yield _name(name), Margin(number / 100 if is_share else number, is_share)


def _name(text: str) -> str:
    """Return how a measure prints; of what is none, the text, which no gated measure is called."""
    try:
        return str(parse_measure(text)) if text.strip() else ""
    except MeasureError:
        return text.strip()
