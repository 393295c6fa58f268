"""Measures of answers judged side by side: points for the place in a ranking, shares of comparisons won."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from rageval.measures.base import Values, measure
from rageval.tables.graded import Bool, Float, Graded, Int
from rageval.tables.grades import Grades, require_rows
from rageval.tables.scales import OUTCOME, POSITION


@measure
def rank_score(graded: Graded, *, invalid: Literal["permutation", "query"] = "permutation") -> Values:
    """Mean points for the answer's place among N answers ranked together (sentence-ordering paper).

    Formula:
        rank_score = mean over the permutations of the query of  (N + 1 − place) / N

    Range: 1/N to 1. The scores of all answers to a query sum to (N + 1) / 2. A permutation is one ranking of
    the answers, presented in one order: judgements that share query, aspect and judge, their grades being
    the places.

    Parameters:
        invalid: a ranking whose places are not 1 to N (or are missing) is discarded, alone (`permutation`) or
            with all others of its query (`query`)

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": run, "aspect": order, "grade": int(place)}
    ...           for order, places in [("1", "123"), ("2", "213")] for run, place in zip("abc", places)]
    >>> scores = rageval.evaluate_answers("rank_score", judged)
    >>> [round(scores[run]["rank_score"].value, 4) for run in "abc"]
    [0.8333, 0.8333, 0.3333]
    """
    require_rows(graded.grades, POSITION, "rank_score")
    graded.beside.append(POSITION)
    rankings = rankings_of(graded.grades)
    mine = (rankings.run == graded.run) & (rankings.judge == graded.judge)
    query, size, valid = rankings.query[mine], rankings.size[mine], rankings.is_valid[mine]
    points = (size + 1 - rankings.place[mine]) / size
    for at in np.flatnonzero(~valid).tolist():
        last = 1 / size[at]
        points[at] = last + graded.fill("invalid") * (1 - last)
    if invalid == "query" and graded.leaves_out:
        points[np.isin(query, rankings.query[~rankings.is_valid])] = np.nan
    known = ~np.isnan(points)
    return graded.ratio(query[known], points[known])


@measure
def win_rate(graded: Graded) -> Values:
    """Share of the comparisons with other answers that the answer wins, a tie being half a win.

    Formula:
        win_rate = mean over the comparisons of the query of  win 1, tie ½, loss 0

    Range: 0 to 1. Ask in both orders: a judge who prefers the first answer then cancels out. Strengths with
    intervals, from the same judgements: `rageval arena`.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": run, "aspect": "a-b", "label": label}
    ...           for run, label in [("a", "win"), ("b", "loss")]]
    >>> scores = rageval.evaluate_answers("win_rate", judged)
    >>> scores["a"]["win_rate"].value, scores["b"]["win_rate"].value
    (1.0, 0.0)
    """
    found = graded.on(OUTCOME, "win_rate")
    return graded.ratio(found.query, found.grade)


class Rankings(NamedTuple):
    """Rows of rankings: whose answer stood where among how many, and whether the places were 1 to N."""

    query: Int
    run: Int
    judge: Int
    place: Float
    size: Int
    is_valid: Bool


def rankings_of(grades: Grades) -> Rankings:
    """All rankings; the place is NaN where the judgement failed."""

    def find() -> Rankings:
        rows = grades.rows_of(POSITION)
        query, run, judge = (
            column[rows].astype(np.int64) for column in (grades.query, grades.run, grades.judge)
        )
        key = (query * len(grades.aspects) + grades.aspect[rows]) * len(grades.judges) + judge
        place = np.where(grades.is_graded[rows], grades.grade[rows], np.nan)
        _, permutation, size = np.unique(key, return_inverse=True, return_counts=True)
        good = _are_permutations(permutation, place, size)
        return Rankings(query, run, judge, place, size[permutation], good[permutation])

    found: Rankings = grades.keep("rankings", find)
    return found


def _are_permutations(group: Int, place: Float, size: Int) -> Bool:
    """Whether the places of each group are 1 to N, each once."""
    order = np.lexsort((place, group))
    begin = np.cumsum(size) - size
    expected = np.arange(len(place)) - np.repeat(begin, size) + 1
    wrong = place[order] != expected  # NaN differs from everything
    good: Bool = np.bincount(group[order], wrong, len(size)) == 0
    return good
