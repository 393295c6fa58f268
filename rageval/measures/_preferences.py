"""Measures of answers judged side by side: points for the place in a ranking, shares of comparisons won."""

from __future__ import annotations

import math
from typing import Literal

from rageval.measures.assessment import Assessment, Place, grades, mean, share
from rageval.measures.base import measure
from rageval.measures.ranking import Share
from rageval.measures.scales import OUTCOME


@measure(papers=("alessio2024improving",))
def rank_score(answer: Assessment, *, invalid: Literal["permutation", "query"] = "permutation") -> float:
    """Mean points for the answer's place among N answers ranked together (sentence-ordering paper).

    Formula:
        rank_score = mean of (N + 1 − place) / N over the permutations of the query

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
    places = answer.places()
    points = [_points(answer, place) for place in places]
    if invalid == "query" and answer.skips and not all(place.all_valid for place in places):
        return math.nan
    return mean([value for value in points if not math.isnan(value)])


@measure(weighs=lambda *_: 1.0)
def win_rate(answer: Assessment) -> Share:
    """Share of the comparisons with other answers that the answer wins, a tie being half a win.

    Formula:
        win_rate = mean of v over the comparisons of the query

        v: win 1, tie ½, loss 0

    Range: 0 to 1. Ask in both orders: a judge who prefers the first answer then cancels out. Strengths with
    intervals, from the same judgements: `rageval arena`.

    >>> import rageval
    >>> judged = [{"query_id": "q", "run_id": run, "aspect": "a-b", "label": label}
    ...           for run, label in [("a", "win"), ("b", "loss")]]
    >>> scores = rageval.evaluate_answers("win_rate", judged)
    >>> scores["a"]["win_rate"].value, scores["b"]["win_rate"].value
    (1.0, 0.0)
    """
    won = grades(answer.judged(OUTCOME))
    return share(sum(won), len(won))


def _points(answer: Assessment, place: Place) -> float:
    """Return the points for a place; for an invalid ranking what stands in for them, from 1/N to 1."""
    if place.is_valid:
        return (place.among + 1 - place.place) / place.among
    last = 1 / place.among
    return last + answer.missing("invalid") * (1 - last)
