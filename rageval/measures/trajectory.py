"""What a measure of agents sees: the steps of one trajectory, and the judgements of its query.

@rageval.measure
def found_at_once(trajectory: Trajectory) -> float:
    "1 if the first search finds a relevant document."
    return float(bool(trajectory.seen(1) & trajectory.relevant()))
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Self

from rageval.errors import MeasureError
from rageval.measures.ranking import Topic
from rageval.records import Step

_CALLS = ("search", "read", "tool")
_EMPTY: frozenset[str] = frozenset()
_NOTHING: Mapping[str, float] = {}
_SLACK = 1 + 1e-12  # costs such as 0.1 are no binary fractions, and their sums are off by a little


class Trajectory:
    """The steps of an agent that answers one query, beside the query's judgements: the argument of measures.

    Where the system has no trajectory for the query, `is_absent` is set: nothing was seen, and what it cost
    is not known. `attempts` are all its trajectories for the query, this one among them.

    >>> steps = [Step("search", docs=("a", "b")), Step("search", docs=("b", "c"))]
    >>> trajectory = Trajectory.of(steps, {"c": 1, "d": 1}, cited=["c"])
    >>> sorted(trajectory.seen(1)), sorted(trajectory.seen()), sorted(trajectory.relevant())
    (['a', 'b'], ['a', 'b', 'c'], ['c', 'd'])
    """

    def __init__(
        self,
        topic: Topic,
        steps: Sequence[Step],
        cited: Iterable[str] | None = None,
        expected: Sequence[Step] | None = None,
        is_absent: bool = False,
        stated: Mapping[str, float] = _NOTHING,
    ) -> None:
        """Take the judgements of the query and the steps in their order.

        `cited` is what the answer cites, and `expected` the calls that are right, as far as they are known.
        `stated` is what the answer itself states that it cost, by quantity.
        """
        self._topic = topic
        self.steps = steps
        self.is_judged = True  # whether anybody judged documents, of whatever query
        self.is_absent = is_absent
        self.attempts: Sequence[Trajectory] = (self,)
        self._cited = cited
        self._stated = stated
        self._expected = expected
        self._relevant: dict[int, frozenset[str]] = {}
        self._running: dict[str, list[float]] = {}  # totals, for several limits of one quantity

    @classmethod
    def of(
        cls,
        steps: Iterable[Step],
        grades: Mapping[str, int | float],
        cited: Iterable[str] | None = None,
        expected: Sequence[Step] | None = None,
    ) -> Self:
        """Make a trajectory of steps and of `{document: grade}`."""
        return cls(Topic.of({"0": grades}), list(steps), cited, expected)

    @property
    def query_id(self) -> str:
        """The query."""
        return self._topic.query_id

    @property
    def topic(self) -> Topic:
        """The judgements of the query; `MeasureError` where nobody judged documents of any query."""
        if not self.is_judged:
            raise MeasureError(
                f"query {self.query_id!r}: the measure needs judgements of documents; pass them behind the"
                " steps (qid nugget docid grade)"
            )
        return self._topic

    @cached_property
    def cited(self) -> frozenset[str]:
        """The documents that the answer cites; `MeasureError` where no answers are known."""
        if self._cited is None:
            raise MeasureError(
                f"query {self.query_id!r}: the measure needs what the answer cites, and no answers of the"
                " system are known; pass them with --answers (in Python, read_trajectories(steps, answers))"
            )
        return frozenset(self._cited)

    @property
    def expected(self) -> Sequence[Step]:
        """The calls that are right; `MeasureError` where none of any query are known."""
        if self._expected is None:
            raise MeasureError(
                f"query {self.query_id!r}: the measure needs the expected calls; pass questions with the"
                " field expected_calls as --questions (in Python, read_trajectories(steps, questions=…))"
            )
        return self._expected

    @cached_property
    def searches(self) -> list[frozenset[str]]:
        """The documents of each search, each once; of one that failed, what it returned all the same."""
        return [frozenset(step.docs) for step in self.steps if step.kind == "search"]

    @cached_property
    def calls(self) -> list[Step]:
        """The steps that call a tool: searches, reads and other tools."""
        return [step for step in self.steps if step.kind in _CALLS]

    @cached_property
    def _seen(self) -> frozenset[str]:
        return _EMPTY.union(*(step.docs for step in self.steps))

    def seen(self, searches: int | None = None) -> frozenset[str]:
        """Return what the first searches saw; without a number, all that was seen, by reading as well."""
        return self._seen if searches is None else _EMPTY.union(*self.searches[:searches])

    def seen_within(self, quantity: str, limit: float) -> frozenset[str]:
        """Return what the longest beginning of the steps saw whose total of a quantity is within a limit.

        `tokens` are input and output tokens together. `MeasureError` for a model step that does not state it.
        """
        totals = self._totals(quantity)
        within = bisect_right(totals, limit * _SLACK)
        if within == len(totals) < len(self.steps):
            lacking = next(name for name in _names_of(quantity) if getattr(self.steps[within], name) is None)
            raise MeasureError(
                f"query {self.query_id!r}: step {within + 1}, a model step, has no {lacking}, which a limit"
                f" of {quantity} needs; add it, or leave out the limit"
            )
        return _EMPTY.union(*(step.docs for step in self.steps[:within]))

    def _totals(self, quantity: str) -> list[float]:
        """Return what the steps take in all after each one, up to a model step that does not state it."""
        if quantity not in self._running:
            amounts: list[float] = []
            totals = self._running[quantity] = []
            for step in self.steps:
                stated = [getattr(step, name) for name in _names_of(quantity)]
                if step.kind == "model" and None in stated:
                    break
                amounts += (amount or 0 for amount in stated)
                totals.append(math.fsum(amounts))
        return self._running[quantity]

    def relevant(self, rel: int = 1) -> frozenset[str]:
        """Return the documents of this grade or better."""
        if rel not in self._relevant:
            grades = zip(self.topic.ids, self.topic.grades, strict=True)
            self._relevant[rel] = frozenset(doc for doc, grade in grades if grade >= rel)
        return self._relevant[rel]

    def nuggets(self, docs: Iterable[str], rel: int = 1) -> frozenset[int]:
        """Return the nuggets that these documents support."""
        numbers = self.topic.numbers
        judged = [numbers[doc] for doc in docs if doc in numbers]
        return frozenset(nugget for number in judged for nugget in self.topic.nuggets_of(number, rel))

    def recall_curve(self, rel: int = 1) -> list[float]:
        """Return the recall after each search; where something is relevant."""
        relevant = self.relevant(rel)
        docs: set[str] = set()
        curve = []
        for search in self.searches:
            docs |= search & relevant
            curve.append(len(docs) / len(relevant))
        return curve

    def total(self, quantity: str) -> float:
        """Return the sum of a quantity over the steps, else what the answer states; NaN if neither is known.

        Traces state tokens, cost and time at the steps of the model: another step that states none adds
        nothing. The sum is not known where a model step, or every step, states none.
        """
        whole = self._stated.get(quantity, math.nan)
        stated = [(step.kind, getattr(step, quantity)) for step in self.steps]
        if any(kind == "model" and amount is None for kind, amount in stated):
            return whole
        amounts = [amount for _, amount in stated if amount is not None]
        return math.fsum(amounts) if amounts else whole

    def repeats(self) -> Iterator[bool]:
        """Yield for each call whether an earlier one was the same: the tool, and what it was asked."""
        before: set[tuple[str, str, str]] = set()
        for step in self.calls:
            call = step.kind, step.tool, step.request
            yield call in before
            before.add(call)

    def matches(self, arguments: str) -> int:
        """Return how many expected calls are matched, each by a call of its own: as many as can be."""
        calls, expected = self.calls, self.expected
        call_of: dict[int, int] = {}  # expected call -> call
        expected_of: dict[int, int] = {}  # and the other way round
        for start in range(len(calls)):
            reached_from: dict[int, int] = {}
            waiting = [start]
            # A path from an unmatched call to an unmatched expected one, along matches that can be changed.
            for number in waiting:
                for place, right in enumerate(expected):
                    if place in reached_from or not _is_match(calls[number], right, arguments):
                        continue
                    reached_from[place] = number
                    if place in call_of:
                        waiting.append(call_of[place])
                        continue
                    end: int | None = place
                    while end is not None:
                        caller = reached_from[end]
                        before = expected_of.get(caller)
                        call_of[end], expected_of[caller] = caller, end
                        end = before
                    waiting.clear()
                    break
        return len(call_of)

    def matches_in_order(self, arguments: str) -> int:
        """Return how many expected calls are matched in their order: the longest common subsequence."""
        longest = [0] * (len(self.expected) + 1)
        for call in self.calls:
            before = longest[:]
            for place, right in enumerate(self.expected, 1):
                if _is_match(call, right, arguments):
                    longest[place] = before[place - 1] + 1
                else:
                    longest[place] = max(before[place], longest[place - 1])
        return longest[-1]


def _names_of(quantity: str) -> tuple[str, ...]:
    return ("input_tokens", "output_tokens") if quantity == "tokens" else (quantity,)


def _is_match(call: Step, expected: Step, arguments: str) -> bool:
    if (call.tool or call.kind) != (expected.tool or expected.kind):
        return False
    if arguments == "ignore" or call.request == expected.request:
        return True
    return arguments == "subset" and _entries(expected.request) <= _entries(call.request)


@lru_cache(maxsize=1024)
def _entries(request: str) -> frozenset[tuple[str, str]]:
    """Return the arguments of a call by name, each as JSON; a query is one without a name."""
    try:
        arguments = json.loads(request)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        return frozenset([("", request)])
    return frozenset((name, json.dumps(value, sort_keys=True)) for name, value in arguments.items())
