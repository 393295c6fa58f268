"""Runs whose documents a judge grades, question by question, until it is known by how much they differ.

Of a question those documents come first whose grade moves the difference of two runs whatever the others are;
then, one at a time, the one that may move it most. Where the bounds of all differences meet
(`measures.bounds`) the question is done: the differences are what judging all of them would give, so that no
rule for stopping sees which documents were left out. What stands in both tops of a precision is never judged,
nor what is below the first relevant document of both rankings, for a reciprocal rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rageval.comparison.turning import Grades, Pools, open_documents, run_values
from rageval.errors import UsageError
from rageval.judges.rubric import Rubric
from rageval.judges.votes import GRADED
from rageval.measures.base import Measure

Rows = Sequence[Mapping[str, Any]]
Wanted = dict[str, list[str]]  # by query the documents to judge next
End = Literal["worst", "best"]  # what a judgement that failed is taken for


class JudgedRuns:
    """Runs, the measure that compares them, and the rubric by which documents are graded."""

    def __init__(self, measure: Measure, rubric: Rubric, pools: Pools) -> None:
        """Take what is known before anybody judges."""
        self.measure, self.rubric, self.pools = measure, rubric, pools
        labels = rubric.file.labels.values()
        # Where a call is a document, and it is known how good one can be, a call can be left out.
        self.is_one_by_one = rubric.file.unit == "passage" and measure.bounds is not None and bool(labels)
        self._highest = max(1, int(max(labels, default=1)))

    def pooled(self, block: Sequence[str], systems: Sequence[str]) -> Wanted:
        """Return all documents of these systems."""
        return {
            query: list(dict.fromkeys(doc for system in systems for doc in self.pools[system][query]))
            for query in block
        }

    def wanted(self, rows: Rows | None, block: Sequence[str], systems: Sequence[str]) -> Wanted:
        """Return the documents to judge after these judgements (None: nobody was asked), if any."""
        if not self.is_one_by_one:
            return self.pooled(block, systems) if rows is None else {}
        pools = {system: {query: self.pools[system][query] for query in block} for system in systems}
        tried = {(str(row["query_id"]), str(row["item_id"])) for row in rows or ()}
        return open_documents(self.measure, pools, self._grades(rows or (), block), self._highest, tried)

    def values(
        self, rows: Rows, block: Sequence[str], systems: Sequence[str], end: End
    ) -> dict[str, dict[str, float]]:
        """Return the values of each run; a question with a judgement that failed has none at one end.

        They are those of a completion: where bounds meet differences are right, and values need not be.
        """
        failed = {str(row["query_id"]) for row in rows if row["status"] not in GRADED}
        grades = self._grades(rows, block)
        return {
            system: {
                query: value
                for query, value in run_values(self.measure, self.pools[system], grades).items()
                if end == "worst" or query not in failed
            }
            for system in systems
        }

    def _grades(self, rows: Rows, block: Sequence[str]) -> Grades:
        found: Grades = {query: {} for query in block}
        for row in rows:
            by_doc = found[str(row["query_id"])].setdefault(str(row["aspect"]), {})
            if row["status"] not in GRADED:
                continue
            grade = row.get("grade", self.rubric.file.labels.get(row.get("label", "")))
            if grade is None or grade != int(grade):
                raise UsageError(
                    f"until: {self.rubric.name} gives grades such as {grade}; expected whole ones"
                )
            by_doc[str(row["item_id"])] = int(grade)
        return {query: by_aspect or {"0": {}} for query, by_aspect in found.items()}
