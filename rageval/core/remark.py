"""What should be known beside a result, as facts; its words are made where it is printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from rageval import hooks


@dataclass(frozen=True)
class Scope:
    """What a remark is about: one system or two that are compared, a measure, a file; without these, all.

    `line` is a line of the file. `is_of_anchor` marks what is about the comparison of a gate with its anchor.

    >>> Scope(("a",), "rr").as_record(), Scope(file="gold.jsonl", line=7).as_record(), Scope().as_record()
    ({'systems': ['a'], 'measure': 'rr'}, {'file': 'gold.jsonl', 'line': 7}, {})
    """

    systems: tuple[str, ...] = ()
    measure: str | None = None
    file: str | None = None
    is_of_anchor: bool = False
    line: int | None = None

    def includes(self, system: str) -> bool:
        """Whether a remark of this scope should be read beside the results of a system."""
        return not self.systems or system in self.systems

    def as_record(self) -> dict[str, Any]:
        """Return the scope as JSON has it, without what it does not name."""
        record: dict[str, Any] = {"systems": list(self.systems)} if self.systems else {}
        record |= {} if self.measure is None else {"measure": self.measure}
        record |= {} if self.file is None else {"file": self.file}
        record |= {} if self.line is None else {"line": self.line}
        return record | ({"anchor": True} if self.is_of_anchor else {})


EVERYTHING = Scope()


@dataclass(frozen=True, repr=False)
class Remark:
    """What should be known beside a result: a code, what it is about, and facts.

    Two remarks are the same if all three are. `facts` holds numbers, texts, remarks (the reason for what a
    remark says), and tuples of these. The `str` of a remark is its text.

    >>> remark = Remark("unjudged_queries_of_run", Scope(("a",)), {"number": 3})
    >>> print(remark)
    a: 3 queries of the run are not judged (ignored)
    >>> remark == Remark("unjudged_queries_of_run", Scope(("a",)), {"number": 3}), remark.facts["number"]
    (True, 3)
    """

    code: str
    about: Scope = EVERYTHING
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        facts = {name: _frozen(value) for name, value in self.facts.items()}
        object.__setattr__(self, "facts", MappingProxyType(facts))

    def __hash__(self) -> int:
        return hash((self.code, self.about, frozenset(self.facts.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        # A view of a dict cannot be pickled.
        return Remark, (self.code, self.about, dict(self.facts))

    def __str__(self) -> str:
        text: str = hooks.remark_text(self)
        return text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.code}: {self}>"

    def with_measure_called(self, names: Mapping[str, str]) -> Remark:
        """Return the remark with another name of the measure that it is about.

        >>> print(Remark("lower_is_better", Scope(measure="hole@5")).with_measure_called({"hole@5": "unj@5"}))
        unj@5: lower is better
        """
        measure = self.about.measure
        return (
            self
            if measure is None
            else replace(self, about=replace(self.about, measure=names.get(measure, measure)))
        )

    def as_record(self) -> dict[str, Any]:
        """Return the remark as JSON has it: code, about, facts, text."""
        facts = {name: _json_fact(value) for name, value in self.facts.items()}
        return {"code": self.code, "about": self.about.as_record(), "facts": facts, "text": str(self)}


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _json_fact(value: Any) -> Any:
    """Return a fact as JSON can hold it, which has no NaN."""
    if isinstance(value, Remark):
        return value.as_record()
    if isinstance(value, tuple):
        return [_json_fact(part) for part in value]
    return None if isinstance(value, float) and value - value != 0 else value


def unique(remarks: Iterable[Remark]) -> list[Remark]:
    """Return each remark once, in order."""
    return list(dict.fromkeys(remarks))


def joined_text(remarks: Iterable[Remark]) -> str:
    """Return remarks as one text, in order; empty without any."""
    return "; ".join(map(str, remarks))
