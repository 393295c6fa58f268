"""Judgements of answers as columns: who said what of which part of whose answer to which question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval.errors import InputError, UsageError
from rageval.tables.codes import NONE, Codes, FoldedCodes
from rageval.tables.scales import ASPECTS, RUBRICS, Scale
from rageval.text import visible

Int = NDArray[np.int64]
Bool = NDArray[np.bool_]
GRADED = ("ok", "repaired")
FAILED = ("refused", "truncated", "filtered", "invalid", "error")
ABSENT = "absent"  # no row at all, where other systems have one
IMPORTANCE = ("vital", "okay")
_WORDS = ("query", "run", "judge", "item", "aspect", "label", "status", "rubric", "importance")
COLUMNS = (*_WORDS, "grade", "weight", "line", "source")


@dataclass(slots=True)
class Rows:
    """A stretch of rows, a list a column; None where nothing is said."""

    source: str
    line: Sequence[int]
    query: Sequence[str]
    run: Sequence[str]
    judge: Sequence[str]
    item: Sequence[str]
    aspect: Sequence[str]
    label: Sequence[str | None]
    grade: Sequence[float | None]
    status: Sequence[str]
    rubric: Sequence[str]
    importance: Sequence[str | None]
    weight: Sequence[float | None]


@dataclass(slots=True)
class AnswerFacts:
    """What is known of an answer beside the judgements: its length by each rule, what each sentence cites.

    `assigned` is set where a record holds its nuggets, and be it that there are none.
    """

    lengths: dict[str, float] = field(default_factory=dict)
    cited: tuple[tuple[str | None, ...], ...] | None = None
    sentences: int | None = None
    assigned: bool = False


class Grades:
    """All judgements of some answers. Made by `read_judgements`; a system is a `run`.

    The columns `query run judge item aspect label status rubric importance` hold numbers that stand for the
    words in `queries runs judges items …`; `grade` and `weight` are NaN where nothing is said. Rows are
    sorted by run, judge and query, and otherwise as they stand in the file.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.queries, self.runs, self.judges, self.items, self.aspects = (Codes() for _ in range(5))
        self.labels, self.rubrics = Codes(), Codes()
        self._label = FoldedCodes(self.labels, folded)
        self._rubric = FoldedCodes(self.rubrics, _rubric_name)
        self.statuses = Codes([*GRADED, *FAILED, ABSENT])
        self.importances = Codes(IMPORTANCE)
        self.facts: dict[tuple[int, int], AnswerFacts] = {}  # by run and query
        self.sources: list[str] = []
        self.by_text: set[int] = set()  # sources whose aspects are texts of nuggets, for want of ids
        self.remarks: list[str] = []  # what should be said of the table
        self._parts: list[dict[str, NDArray[Any]]] = []
        self._kept: dict[Any, Any] = {}

    def add(self, rows: Rows) -> None:
        """Take in a stretch of rows."""
        if not self.sources or self.sources[-1] != rows.source:
            self.sources.append(rows.source)
        number = len(rows.line)
        self._parts.append(
            {
                "query": self.queries.column(rows.query),
                "run": self.runs.column(rows.run),
                "judge": self.judges.column(rows.judge),
                "item": self.items.column(rows.item),
                "aspect": self.aspects.column(rows.aspect),
                "label": self._label.column(rows.label),
                "grade": np.array(rows.grade, np.float64),  # None becomes NaN
                "status": self.statuses.column(rows.status),
                "rubric": self._rubric.column(rows.rubric),
                "importance": self.importances.column(rows.importance),
                "weight": np.array(rows.weight, np.float64),
                "line": np.array(rows.line, np.int64),
                "source": np.full(number, len(self.sources) - 1, np.int32),
            }
        )

    def finish(self) -> Grades:
        """Sort the rows, and refuse a judgement that is there twice."""
        parts = self._parts or [{name: np.zeros(0, np.int32) for name in COLUMNS}]
        self._parts = []

        def taken(name: str) -> NDArray[Any]:  # each column once, so that two copies never meet
            return np.concatenate([part.pop(name) for part in parts])

        for name in ("run", "judge", "query"):
            setattr(self, name, taken(name))
        slot = self.run.astype(np.int64) * len(self.judges) + self.judge
        order = np.argsort(slot * len(self.queries) + self.query, kind="stable")
        for name in COLUMNS:
            setattr(self, name, (taken(name) if name in parts[0] else getattr(self, name))[order])
        self._refuse_duplicates()
        return self

    query: NDArray[np.int32]
    run: NDArray[np.int32]
    judge: NDArray[np.int32]
    item: NDArray[np.int32]
    aspect: NDArray[np.int32]
    label: NDArray[np.int32]
    grade: NDArray[np.float64]
    status: NDArray[np.int32]
    rubric: NDArray[np.int32]
    importance: NDArray[np.int32]
    weight: NDArray[np.float64]
    line: Int
    source: Int

    def __len__(self) -> int:
        return len(self.query)

    def where(self, row: int) -> str:
        """File and line of a row."""
        return f"{self.sources[int(self.source[row])]}:{int(self.line[row])}"

    @property
    def is_graded(self) -> Bool:
        """Rows that carry a grade: those that did not fail."""
        return self.status < len(GRADED)

    def facts_of(self, run: str, query: str) -> AnswerFacts:
        """What is known of an answer; made when first asked for."""
        return self.facts.setdefault((self.runs[run], self.queries[query]), AnswerFacts())

    def rows_of(self, scale: Scale) -> Int:
        """The rows of this scale, their labels and grades checked."""
        found: Int = self.keep(("rows", scale.name, scale.aspects), lambda: self._checked_rows(scale))
        return found

    def belonging(self, scale: Scale) -> Int:
        """The rows of this scale, whatever they say."""
        return np.flatnonzero(self._belongs(scale))

    def passed_over(self, scale: Scale) -> dict[str, int]:
        """Rubrics that nobody knows, or none, whose rows say nothing but labels of this scale: how many each.

        They do not belong to it where others name its rubric, and may have been meant to.
        """
        if not scale.labels or not len(self.belonging(scale)):
            return {}
        others = np.flatnonzero(~self._belongs(scale) & (self.label != NONE))
        known = {self.rubrics.find(word) for word in RUBRICS if word in self.rubrics}
        labels = [self.labels.find(word) for word in scale.labels if word in self.labels]
        aspects = [self.aspects.find(word) for word in ASPECTS if word in self.aspects]
        found = {}
        for rubric in sorted(set(self.rubric[others].tolist()) - known):
            rows = others[self.rubric[others] == rubric]
            rows = rows[~np.isin(self.aspect[rows], aspects)]
            if len(rows) and np.isin(self.label[rows], labels).all():
                found[self.rubrics.words[rubric]] = len(rows)
        return found

    def rows_for(self, scale: Scale, run: int, judge: int) -> Int:
        """The rows of this scale that one judge gave one system."""
        rows = self.rows_of(scale)
        slot = self.keep(
            ("slot", scale.name, scale.aspects),
            lambda: self.run[rows].astype(np.int64) * len(self.judges) + self.judge[rows],
        )
        here = run * len(self.judges) + judge
        return rows[np.searchsorted(slot, here) : np.searchsorted(slot, here + 1)]

    def grade_on(self, scale: Scale) -> NDArray[np.float64]:
        """The grade of every row, taken from its label where the scale has labels."""

        def from_labels() -> NDArray[np.float64]:
            worth = np.array([scale.labels.get(word, np.nan) for word in self.labels] + [np.nan])
            return np.where(self.label == NONE, self.grade, worth[self.label])

        found: NDArray[np.float64] = (
            self.keep(("grade", scale.name), from_labels) if scale.labels else self.grade
        )
        return found

    def label_on(self, scale: Scale) -> NDArray[np.int32]:
        """The label of every row, taken from its grade where there is none and the scale has labels."""

        def from_grades() -> NDArray[np.int32]:
            label = self.label.copy()
            for word, worth in scale.labels.items():
                label[(label == NONE) & (self.grade == worth)] = self.labels[word]
            return label

        found: NDArray[np.int32] = (
            self.keep(("label", scale.name), from_grades) if scale.labels else self.label
        )
        return found

    def judges_on(self, scale: Scale) -> set[int]:
        """The judges who said anything on this scale, of any system."""
        found: set[int] = self.keep(
            ("judges", scale.name, scale.aspects),
            lambda: set(np.unique(self.judge[self.rows_of(scale)]).tolist()),
        )
        return found

    def bank(self, scale: Scale) -> Int:
        """One row for each query and aspect that any system was judged on."""

        def first_of_each() -> Int:
            rows = self.rows_of(scale)
            key = self.query[rows].astype(np.int64) * len(self.aspects) + self.aspect[rows]
            return rows[np.unique(key, return_index=True)[1]]

        found: Int = self.keep(("bank", scale.name, scale.aspects), first_of_each)
        return found

    def says_importance(self, scale: Scale) -> bool:
        """Whether anything says which aspects are vital."""
        return bool((self.importance[self.rows_of(scale)] != NONE).any())

    def first_without_weight(self, scale: Scale) -> int | None:
        """The first row whose aspect has no weight; None if all have one."""
        rows = self.rows_of(scale)
        lacking = rows[np.isnan(self.weight[rows])]
        return int(lacking[0]) if len(lacking) else None

    def keep(self, key: Any, make: Callable[[], Any]) -> Any:
        """A value computed from the table, once."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def _refuse_duplicates(self) -> None:
        key = (self.run.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        identity = (self.judge, self.query, self.item, self.aspect)
        for column in identity:
            key = (key ^ column.astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
            key ^= key >> np.uint64(29)
        order = np.argsort(key, kind="stable")
        same = np.flatnonzero(key[order[1:]] == key[order[:-1]])
        for first, second in zip(order[same].tolist(), order[same + 1].tolist(), strict=True):
            if self.run[first] == self.run[second] and all(c[first] == c[second] for c in identity):
                raise InputError(self._twice(first, second))

    def _twice(self, first: int, second: int) -> str:
        words = (self.queries.words[self.query[first]], self.runs.words[self.run[first]])
        query, run = map(visible, words)
        item, aspect = (
            visible(self.items.words[self.item[first]])[:80],
            visible(self.aspects.words[self.aspect[first]])[:80],
        )
        return (
            f"{self.where(second)}: query {query}, run {run}, item {item}, aspect {aspect} was judged before,"
            f" in {self.where(first)}; expected one judgement by each judge"
        )

    def _checked_rows(self, scale: Scale) -> Int:
        rows = self.belonging(scale)
        labelled = self.label[rows] != NONE
        graded = self.is_graded[rows]
        if scale.labels:
            known = np.array([word in scale.labels for word in self.labels] + [True])
            self._refuse(rows[graded & ~known[self.label[rows]]], scale)
            worth, said = self.grade_on(scale)[rows], self.grade[rows]
            self._refuse(rows[labelled & ~np.isnan(said) & (worth != said)], scale)
            allowed = np.isin(said, sorted(set(scale.labels.values())))
            self._refuse(rows[graded & ~labelled & ~allowed], scale)
        else:
            said = self.grade[rows]
            inside = (said >= scale.low) & (said <= scale.high)
            self._refuse(rows[graded & ~inside], scale)
            if scale.whole:
                self._refuse(rows[graded & (said != np.trunc(said))], scale)
        return rows

    def _belongs(self, scale: Scale) -> Bool:
        def rows_with(column: NDArray[np.int32], codes: Codes, words: Any) -> Bool:
            return np.isin(column, [codes.find(word) for word in words if word in codes])

        if scale.aspects:
            return rows_with(self.aspect, self.aspects, scale.aspects)
        if any(rubric in self.rubrics for rubric in scale.rubrics):
            return rows_with(self.rubric, self.rubrics, scale.rubrics)
        others = rows_with(self.rubric, self.rubrics, RUBRICS)
        return ~others & ~rows_with(self.aspect, self.aspects, ASPECTS)

    def _refuse(self, rows: Int, scale: Scale) -> None:
        if not len(rows):
            return
        row = int(rows[0])
        label = self.labels.words[self.label[row]] if self.label[row] != NONE else None
        grade = None if np.isnan(self.grade[row]) else float(self.grade[row])
        found = f"label {visible(label)!r}" if label is not None else f"grade {grade}"
        if label is not None and label in scale.labels:
            found = f"label {label!r} with grade {grade:g}, which is worth {scale.labels[label]:g}"
        more = f" ({len(rows):,} such rows)" if len(rows) > 1 else ""
        raise InputError(
            f"{self.where(row)}: expected {scale.expected} for {scale.name}, found {found}{more}"
        )


def folded(label: str) -> str:
    """Labels are compared in lower case, with _ for blanks and hyphens."""
    return label.strip().lower().replace(" ", "_").replace("-", "_")


def _rubric_name(rubric: str) -> str:
    """The rubric without its version: `crag@3f2a`, `crag/2` and `crag:v1` are all `crag`."""
    return rubric.partition("@")[0].partition("/")[0].partition(":")[0].strip().lower().replace("_", "-")


def require_rows(grades: Grades, scale: Scale, measure: str) -> None:
    """`UsageError` if there is nothing this measure could be computed from."""
    if not len(grades.rows_of(scale)):
        there = ", ".join(map(visible, [*grades.labels.words][:8])) or "none"
        raise UsageError(
            f"{measure}: {grades.name} holds no judgements of {scale.name} ({scale.expected});"
            f" labels there: {there}"
        )
