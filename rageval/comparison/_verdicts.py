"""What may be claimed of a pair of runs, and when nothing may be.

A run that failed, or produced nothing, is not "significantly worse": nothing was compared. And a difference
that rests on queries a run never answered, or on judgements that are missing, is not one of quality.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from rageval.comparison.results import HIGHER, LOWER, REFUSED, UNDECIDED
from rageval.files.judgements import STOPPED
from rageval.measures.base import HIGHER as HIGH_IS_GOOD
from rageval.measures.base import LOWER as LOW_IS_GOOD
from rageval.scoring.likeness import IDENTICAL, TIES_ONLY
from rageval.scoring.scores import ADAPTIVELY, HOW_MANY, Score, Scores
from rageval.statistics.samples import SLACK, Float
from rageval.text import visible

_NO_VALUE = "it failed, or the measure is defined nowhere"
_HOPELESS = "no judged query has anything that is relevant"
_NOTHING = "it failed, or found nothing that counts"


class Ruling(NamedTuple):
    """A verdict, and what else should be known."""

    verdict: str
    why: str = ""


def outcomes(differences: Float, better: str) -> tuple[int, int, int]:
    """Return queries won, tied and lost."""
    known = differences[~np.isnan(differences)] * (-1.0 if better == LOW_IS_GOOD else 1.0)
    won, lost = int((known > SLACK).sum()), int((known < -SLACK).sum())
    return won, len(known) - won - lost, lost


def failures(results: Sequence[Scores]) -> dict[str, str]:
    """Return runs with which nothing can be compared, and why."""
    found = {}
    for scores in results:
        values = [score.numbers for score in scores.scores]
        hopeless = scores.notes is not None and scores.notes.nothing_relevant
        if scores.stopped:
            found[scores.run] = f"{STOPPED}: {'; '.join(map(visible, scores.stopped))}"
        elif scores.adaptive:
            found[scores.run] = f"{ADAPTIVELY}: {'; '.join(map(visible, scores.adaptive))}"
        elif all(map(_is_undefined, values)):
            found[scores.run] = (
                f"{visible(scores.run)} has no value for any query: {_HOPELESS if hopeless else _NO_VALUE}"
            )
        elif scores.notes is not None and not scores.judged:
            number = scores.notes.retrieved
            found[scores.run] = f"{visible(scores.run)}: none of its {number:,} documents is judged"
        elif all(map(_is_nothing, values)) and any(map(_is_none_found, scores.scores)):
            found[scores.run] = (
                f"{visible(scores.run)} scores 0 on every query: {_HOPELESS if hopeless else _NOTHING}"
            )
    return found


def _is_undefined(values: Sequence[float]) -> bool:
    return all(value != value for value in values)


def _is_nothing(values: Sequence[float]) -> bool:
    return all(abs(value) <= SLACK for value in values)


def _is_none_found(score: Score) -> bool:
    """Return whether 0 on every query means that nothing was found; of judged answers it does not."""
    return score.measure.better == HIGH_IS_GOOD and not getattr(score.measure, "of_answers", False)


def ruling(adjusted: float, direction: int, difference: float, level: float) -> Ruling:
    """Return the plain verdict, in the test's direction: which is higher, if that is more than chance."""
    if not adjusted <= 1 - level:
        return Ruling(UNDECIDED)
    if direction * difference <= 0:
        return Ruling(UNDECIDED, "the test and the mean difference do not point the same way")
    return Ruling(HIGHER if direction > 0 else LOWER)


def without_difference(
    wins: int, ties: int, losses: int, alone: int, likeness: str | None, doubt: str = ""
) -> Ruling | None:
    """Return the verdict on runs that are the same, or the same but for the order of equal scores.

    On `alone` queries only one of the two has a value: then they are not the same, whatever the others say.
    Nor are equal values a likeness where there is a `doubt` of them.
    """
    if likeness == IDENTICAL:
        return Ruling(IDENTICAL, "the runs rank the same documents in the same order")
    if likeness == TIES_ONLY:
        return Ruling(TIES_ONLY, "the runs differ only in the order of documents that one of them ties")
    if not wins and not losses and doubt:
        return refused(doubt)
    if not wins and not losses and alone:
        return Ruling(
            UNDECIDED,
            f"the values are the same on the {ties:,} queries where both have one; on {alone:,} only one has",
        )
    if not wins and not losses:
        return Ruling(IDENTICAL, "the values are the same on every query")
    return None


def set_apart(one: Scores, other: Scores) -> dict[str, str]:
    """Return why two runs cannot be compared whatever their values are, by measure."""
    if one.made_by and other.made_by and one.made_by.differs(other.made_by):
        why = "they were scored by different judgements; score both by the same"
        return {str(score.measure): why for score in one.scores}
    found = {}
    for mine, theirs in zip(one.scores, other.scores, strict=True):
        why = _unknown(one, mine) or _unknown(other, theirs)
        asked, others = set(mine.query_ids), set(theirs.query_ids)
        # What the rules left out, as the run lacks it, is known; of any other query nobody said anything.
        alone = (asked - others - (other.absent or set())) | (others - asked - (one.absent or set()))
        if alone:
            why = why or f"{len(alone):,} queries are in one of them only; score both on the same queries"
        if why:
            found[str(mine.measure)] = why
    return found


def _unknown(scores: Scores, score: Score) -> str:
    if not score.missing or score.lost or scores.absent is not None:
        return ""
    return (
        f"which {score.missing:,} queries or judgements {visible(scores.run)} lacks is not known here;"
        " compare the files"
    )


def refused(why: str) -> Ruling:
    """Return no verdict."""
    return Ruling(REFUSED, why)


def doubt_of_losses(one: Score, other: Score, verdict: str) -> str:
    """Return why missing judgements forbid the verdict; empty if it holds whatever they are.

    That two are identical never does: equal values may be what stands for them.
    """
    missing = sum(one.lost.values()) + sum(other.lost.values())
    if not missing:
        return ""
    (low, high), (other_low, other_high) = (score.bounds or (score.value,) * 2 for score in (one, other))
    if verdict == IDENTICAL:
        return f"{missing:,} judgements are missing, which could make a difference"
    certain = low > other_high if verdict == HIGHER else high < other_low
    return "" if certain else f"{missing:,} judgements are missing, which could turn it round"


def doubt_of_best(best: Score, other: Score, names: tuple[str, str]) -> str:
    """Return why one value may not be called better than another; nothing is tested for that."""
    if best.signature != other.signature:
        return "they were not scored alike"
    verdict = LOWER if best.measure.better == LOW_IS_GOOD else HIGHER
    return said_of_unlike(best, unlike(best, other, names)) or doubt_of_losses(best, other, verdict)


def unlike(one: Score, other: Score, names: tuple[str, str]) -> set[str]:
    """Return the queries on which two were not judged by the same: by other nuggets, or against others."""
    mine, theirs = one.judged_by, other.judged_by
    found = {query for query in mine.keys() & theirs.keys() if (mine[query] ^ theirs[query]) - {*names}}
    # Of who gave each query one answer nothing stands there; it is the others' further answers that differ.
    apart = mine.keys() ^ theirs.keys()
    return found | {query for query in apart if any(map(_is_more, (mine.get(query) or theirs[query])))}


def _is_more(what: Any) -> bool:
    """Return whether this says that a system has more answers to some queries than to others."""
    return isinstance(what, tuple) and what[0] == HOW_MANY and what[1] > 0


def said_of_unlike(score: Score, queries: Collection[str]) -> str:
    """Say that two were not judged by the same; opponents are known by their names."""
    met = any(isinstance(what, str) for query in queries for what in score.judged_by.get(query, ()))
    how = "against different systems" if met else "by different nuggets"
    more = any(
        isinstance(what, tuple) and what[0] == HOW_MANY
        for query in queries
        for what in score.judged_by.get(query, ())
    )
    how += ", or gave different numbers of answers (repeat)," if more else ""
    return f"the two were judged {how} in {len(queries):,} queries" if queries else ""
