"""Several judgements of the same answers: how much of the uncertainty is of queries, how much of judges.

With values x_{qj} of Q queries by J judges, x = μ + query + judge + rest, from the analysis of variance:
    rest  = MS_rest      query = (MS_query − MS_rest)/J      judge = (MS_judge − MS_rest)/Q
    Var(mean of Q queries by J judges) = query/Q + judge/J + rest/(Q·J)
Repeated votes of one judge have no judge of their own: then `judge` is 0, and `rest` varies within queries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval import answers
from rageval.errors import InputError
from rageval.files.judgements import Judgements
from rageval.measures.base import Measure

Float = NDArray[np.float64]


class Components(NamedTuple):
    """Variances of queries, judges and the rest, and how many queries and judges they rest on."""

    query: float
    judge: float
    rest: float
    queries: int
    judges: int

    def standard_error(self, more_queries: int = 0, more_judges: int = 0) -> float:
        """Of the mean, with so many more of either."""
        queries, judges = self.queries + more_queries, self.judges + more_judges
        return math.sqrt(self.query / queries + self.judge / judges + self.rest / (queries * judges))

    def advice(self, more_queries: int = 40, more_judges: int = 2) -> str:
        """What helps more, in a sentence.

        >>> Components(query=0.09, judge=0.0, rest=0.01, queries=50, judges=3).advice()
        'standard error 0.0432 now, 0.0322 with 40 more queries, 0.0429 with 2 more votes: more queries'
        """
        queries, votes = self.standard_error(more_queries), self.standard_error(0, more_judges)
        better = "more queries" if queries < votes else "more votes" if votes < queries else "neither"
        return (
            f"standard error {self.standard_error():.4f} now, {queries:.4f} with {more_queries:,} more"
            f" queries, {votes:.4f} with {more_judges:,} more votes: {better}"
        )


def components(values: Float, repeated: bool = False) -> Components:
    """The components of a table of values, a row a query and a column a judge; rows with a gap are left out.

    With `repeated` the columns are votes of one judge, in no order.

    >>> components(np.array([[1.0, 1.0], [0.0, 0.0], [0.5, 0.5]]))
    Components(query=0.25, judge=0.0, rest=0.0, queries=3, judges=2)
    """
    table = values[~np.isnan(values).any(axis=1)]
    queries, judges = table.shape
    if queries < 2 or judges < 2:
        raise InputError(
            "expected two or more queries with two or more judgements each, found"
            f" {queries:,} with {judges:,}"
        )
    mean, of_query, of_judge = table.mean(), table.mean(axis=1), table.mean(axis=0)
    between = judges * float(((of_query - mean) ** 2).sum()) / (queries - 1)
    if repeated:
        rest = float(((table - of_query[:, None]) ** 2).sum()) / (queries * (judges - 1))
        return Components(max(between - rest, 0.0) / judges, 0.0, rest, queries, judges)
    apart = table - of_query[:, None] - of_judge[None] + mean
    rest = float((apart**2).sum()) / ((queries - 1) * (judges - 1))
    of_judges = queries * float(((of_judge - mean) ** 2).sum()) / (judges - 1)
    return Components(
        max(between - rest, 0.0) / judges, max(of_judges - rest, 0.0) / queries, rest, queries, judges
    )


def by_judge(measure: Measure, grades: Judgements, run: str) -> Mapping[str, Float]:
    """The values of a system by each judge who said anything on the scale, NaN where undefined."""
    found = answers.by_judge([measure], grades, grades.runs[run])[0]
    return {judge: np.array(values, np.float64) for judge, values in found.values.items()}
