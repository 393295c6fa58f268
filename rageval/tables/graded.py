"""One system's answers as one judge saw them: all that a measure of answers gets to see."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval.errors import UsageError
from rageval.tables.codes import NONE
from rageval.tables.grades import ABSENT, Grades, require_rows
from rageval.tables.scales import CITATION, OUTCOME, Scale
from rageval.text import visible

Int = NDArray[np.int64]
Bool = NDArray[np.bool_]
Float = NDArray[np.float64]


_GIVE = "give the nuggets that were judged (--nuggets FILE, or the id of a data set; nuggets= in Python)"


class Selection(NamedTuple):
    """Judgements on one scale, by query and otherwise as in the file; ids and labels are numbers."""

    query: Int
    item: Int
    aspect: Int
    grade: Float
    label: Int
    importance: Int
    weight: Float


class NotThisJudge(Exception):
    """This judge said nothing, of any system, on the scale a measure asks for."""


class Graded:
    """The judgements of one system by one judge.

    A measure takes one of these and returns an array with a value a query, in the order of
    `grades.queries`; NaN where the value is undefined. `missing` says what becomes of judgements that
    failed or are not there: they are left out (`skip`), or taken for the `worst`, the `best`, or any label
    or grade of the scale.
    """

    def __init__(
        self, grades: Grades, run: int, judge: int, missing: str | float = "skip", only_here: bool = False
    ) -> None:
        self.grades = grades
        self.run = run
        self.judge = judge
        self.n_queries = len(grades.queries)
        self.scales: list[Scale] = []  # that were asked for
        self.beside: list[Scale] = []  # that order answers judged together, and are not asked for by rows
        self.lost: Counter[str] = Counter()  # by status: judgements asked for and not there
        self.answered = np.zeros(self.n_queries, bool)
        self._missing = missing
        self._only_here = only_here  # what other systems were judged on is no concern

    def on(self, scale: Scale, measure: str, *, whole: bool = False, weighed: bool = False) -> Selection:
        """The judgements on this scale; `measure` is named in the error if the table has none at all.

        With `whole` even those that are left out keep their row, with NaN for a grade. Where they are
        `weighed` the worst that can be said of a fault, whose weight is negative, is that it is there.
        """
        require_rows(self.grades, scale, measure)
        self.scales += [scale] if scale not in self.scales else []
        g = self.grades
        if self.judge not in g.judges_on(scale):
            raise NotThisJudge
        rows = g.rows_for(scale, self.run, self.judge)
        self.answered[g.query[rows]] = True
        absent = self._absent(scale, rows)
        everything = np.concatenate((rows, absent))
        everything = everything[np.argsort(g.query[everything], kind="stable")]
        is_absent = np.isin(everything, absent) if len(absent) else np.zeros(len(everything), bool)
        failed = ~g.is_graded[everything] | is_absent
        self._count(everything[failed], is_absent[failed])
        if self.leaves_out and not whole:
            everything, failed = everything[~failed], failed[~failed]
        return self._filled(scale, everything, failed, weighed)

    def require_importance(self, scale: Scale, measure: str) -> None:
        """`UsageError` if no judgement of any system says which nuggets are vital."""
        if not self._only_here and not self.grades.says_importance(scale):
            raise UsageError(
                f"{measure}: needs to know which nuggets are vital and which okay; nothing says so in"
                f" {visible(self.grades.name)}: {_GIVE}"
            )

    def require_weights(self, scale: Scale, measure: str) -> None:
        """`UsageError` if a judgement of any system has no weight."""
        row = self.grades.first_without_weight(scale)
        if row is not None:
            aspect = self.grades.aspects.words[self.grades.aspect[row]]
            raise UsageError(
                f"{self.grades.where(row)}: {measure} needs the weight of every criterion, and nothing says"
                f" that of {visible(aspect)[:60]!r}: {_GIVE}"
            )

    @property
    def leaves_out(self) -> bool:
        """Whether what is missing is left out, rather than taken for something."""
        return self._missing == "skip"

    def sum(self, query: Int, value: Float | Int | Bool | None = None) -> Float:
        """Add up a value a row (1 without) over each query, with the same digits in any order of rows."""
        if value is not None and value.dtype == np.float64 and (value * 4 != np.rint(value * 4)).any():
            order = np.argsort(value, kind="stable")  # quarters add up exactly as they stand
            query, value = query[order], value[order]
        return np.bincount(query, value, self.n_queries).astype(np.float64)

    def ratio(self, query: Int, above: Float | Bool, below: Float | Bool | None = None) -> Float:
        """Σ above / Σ below over each query (the mean without `below`), NaN where there is nothing below."""
        return quotient(self.sum(query, above), self.sum(query, below))

    def lengths(self, rule: str) -> Float:
        """The length of each answer by this counting rule, NaN where it is not known."""
        known = np.full(self.n_queries, np.nan)
        for (run, query), facts in self.grades.facts.items():
            if run == self.run:
                known[query] = facts.lengths.get(rule, np.nan)
        return known

    @property
    def assigned(self) -> Bool:
        """Queries for which there is a record of nuggets, and be it without any."""
        found = np.zeros(self.n_queries, bool)
        for (run, query), facts in self.grades.facts.items():
            found[query] |= run == self.run and facts.assigned
        return found

    def cited(self) -> dict[int, tuple[tuple[str | None, ...], ...]]:
        """What each sentence of each answer cites, by query, where the answers are known."""
        return {
            query: facts.cited
            for (run, query), facts in self.grades.facts.items()
            if run == self.run and facts.cited is not None
        }

    def label_is(self, label: Int, *names: str) -> Bool:
        """Where a label is one of these."""
        return np.isin(label, [self.grades.labels.find(name) for name in names if name in self.grades.labels])

    def fill(self, status: str) -> float:
        """Count a judgement that a measure misses by itself; what stands in for it, from 0 to 1."""
        self.lost[status] += 1
        return {"skip": np.nan, "worst": 0.0, "best": 1.0}[str(self._missing)]

    def _absent(self, scale: Scale, rows: Int) -> Int:
        """A row of another system for each aspect of a query on which this one was not judged at all."""
        g = self.grades
        bank = g.bank(scale)
        here = np.zeros(self.n_queries, bool)
        here[g.query[rows]] = True
        if self._only_here or scale is OUTCOME:  # nobody meets everybody
            return bank[:0]
        if scale is CITATION:  # an answer that cites nothing has nothing to be judged
            here[list(self.cited())] = True
        return bank[~here[g.query[bank]]]

    def _count(self, rows: Int, is_absent: Bool) -> None:
        names = self.grades.statuses.words
        statuses = np.where(is_absent, self.grades.statuses[ABSENT], self.grades.status[rows])
        numbers, counts = np.unique(statuses, return_counts=True)
        self.lost.update({names[n]: c for n, c in zip(numbers.tolist(), counts.tolist(), strict=True)})

    def _filled(self, scale: Scale, rows: Int, failed: Bool, weighed: bool) -> Selection:
        g = self.grades
        grade, label = g.grade_on(scale)[rows], g.label_on(scale)[rows].astype(np.int64)
        if self.leaves_out:
            grade[failed], label[failed] = np.nan, NONE
        else:
            faults = failed & (g.weight[rows] < 0) if weighed else np.zeros(len(rows), bool)
            for here, end in ((failed, self._missing), (faults, _OTHER_END.get(self._missing))):
                if end is not None and here.any():
                    word, grade[here] = scale.taken_for(end)
                    label[here] = g.labels[word] if word else NONE
        query, item, aspect, importance = (
            column[rows].astype(np.int64) for column in (g.query, g.item, g.aspect, g.importance)
        )
        return Selection(query, item, aspect, grade, label, importance, g.weight[rows])


_OTHER_END: dict[str | float, str] = {"worst": "best", "best": "worst"}


def quotient(above: Float, below: Float) -> Float:
    """above / below, NaN where there is nothing below."""
    out = np.full(len(above), np.nan)
    np.divide(above, below, out=out, where=below != 0)
    return out
