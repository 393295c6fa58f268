"""When judging may stop: what is decided after some of N questions, looked at after each or at a few.

Differences x of two systems, in −1 … 1, come in an order that was drawn before. Two claims differ, and so
do their proofs. With S the sum of the t values before, the next is expected to be c = −S/(N − t) if the mean
of this very *set* of N questions is 0, and c = 0 if that of questions *of this kind* is. Bets on more,
    E = mean over g of Π (1 + λ(x − c)),    λ = g/(1 + c),    g = .02, .05, .1, .2, .3, .4, .5, .65, .8
grow to 2/α, at whatever question, in at most α/2 of cases in which the mean is not above 0 (an e-process; of
a set, betting without replacement), and the same with −x. Of a set more is *certain*: S > N − t is more than
the rest can undo. Of a kind, looks are the rule where differences are small (a bound on the p of Student's t
that holds whenever it is looked), the e-process that where they are large. At
a look the variance of the mean of n has 2.34/n² more, always; where differences have a skewness beyond ±2,
the e-process has to say so, too.

The *best* of several: E of a system is the mean of what each other has against it; at 1/α it is dropped, and
judged no more. Its pairs stay as they are in the means of the others. The last one left is the best.

A question on which judging failed counts −1 for either direction: it may delay a claim, and never helps one.

Who looks at questions, or at people's labels, before all are there, and would stop at a difference, must ask
for more at each look. O'Brien and Fleming's bound where it may be looked at any time: after k of n the p has
to be below 2Φ(−c√(n/k)), with c so that a sum that is always looked at crosses it in 1 − level of cases at
most (2.24 at 95 %). No looks have to be fixed before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rageval.errors import UsageError
from rageval.statistics import LEVEL
from rageval.statistics.correction import floor_of
from rageval.statistics.samples import Float, Int, settled
from rageval.statistics.significance import is_skewed

Claimed = Literal["set", "kind"]
Word = Literal["higher", "lower", "within", "apart", "equal"]
_BETS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8])
_NEAR = 0.999  # c is kept within: beyond, what is to come cannot undo what is there
_FLOOR = floor_of(LEVEL)  # of the variance of a mean, times n²


def bound_at(seen: int, of: int, level: float = LEVEL) -> float:
    """Return the p below which a difference is found after this many questions, with any number of looks.

    O'Brien and Fleming's bound without fixed looks: 2Φ(−c√(of/seen)), c = Φ⁻¹(1 − (1 − level)/4). A sum
    without a difference crosses it at some time in 1 − level of cases.

    >>> [round(bound_at(seen, 200), 6) for seen in (50, 100, 200)]
    [7e-06, 0.001525, 0.025]
    """
    normal = NormalDist()
    return 2 * normal.cdf(normal.inv_cdf((1 - level) / 4) * math.sqrt(of / max(min(seen, of), 1)))


def look_sizes(questions: int, looks: int) -> list[int]:
    """Return after how many questions each look is taken.

    >>> look_sizes(200, 4), look_sizes(50, 4)
    ([50, 100, 150, 200], [13, 25, 38, 50])
    """
    return [math.ceil(questions * look / looks) for look in range(1, looks + 1)]


def _bounds(rule: Rule, sizes: Sequence[int], level: float) -> list[float]:
    """Return the p below which a difference is found after each of these questions."""
    # Who looks once, at all of them, looks at no beginning.
    return [1 - level] if rule.looks == 1 else [bound_at(size, rule.total, level) for size in sizes]


@dataclass(frozen=True, slots=True)
class Rule:
    """The claim, its scope, and when to look; all fixed before the first question.

    `claim` is about this *set* of `total` questions or their *kind*; `looks` is the number of looks (None:
    after every question); `span` the largest possible difference; `within` a margin, for the claim that two
    systems do not differ by more.
    """

    total: int
    claim: Claimed = "kind"
    looks: int | None = 5
    alpha: float = 0.05
    span: float = 1.0
    within: float | None = None

    def __post_init__(self) -> None:
        """Refuse what would be no rule."""
        if self.claim == "set" and self.looks is not None:
            raise UsageError("a claim about exactly this set is tested after every question: leave out looks")
        if not 0 < self.alpha < 1:
            raise UsageError(f"alpha={self.alpha!r}: expected a number between 0 and 1")
        if self.within is not None and not 0 < self.within < self.span:
            raise UsageError(f"within={self.within!r}: expected more than 0, and less than {self.span:g}")
        if self.looks is not None and self.looks < 1:
            raise UsageError(f"looks={self.looks!r}: expected 1 or more")


@dataclass(frozen=True, slots=True)
class Stop:
    """What was decided after `questions` of them: `evidence` (an e-value, or a p) met its `bound`.

    `certain` says that the remaining questions cannot change it.
    """

    word: Word
    questions: int
    evidence: float
    bound: float
    certain: bool = False


def e_values(differences: Sequence[float] | Float, total: int | None = None) -> Float:
    """Return the evidence after each question that the mean is above 0.

    Parameters
    ----------
    differences
        In −1 … 1, in the order of judging along the last axis; NaN where judging failed.
    total
        How many questions the set has; None for a claim about their kind.

    Returns
    -------
    numpy.ndarray
        An e-value for each question; infinite where it is certain.

    Examples
    --------
    >>> [round(e, 6) for e in e_values([1, 0, 1, -1, 1], 20).tolist()]
    [1.335556, 1.364169, 1.957932, 1.088709, 1.482999]
    >>> e_values([1, 1, 1], 5).tolist()[-1]
    inf
    """
    x = np.nan_to_num(np.asarray(differences, np.float64), nan=-1.0)
    after = np.cumsum(x, axis=-1)
    if total is None:
        expected = np.zeros_like(x)
    else:
        left = total - np.arange(x.shape[-1])
        # Without replacement: where the mean of the set is 0, what is left makes up for what was drawn.
        expected = np.clip(-(after - x) / left, -_NEAR, _NEAR)
    # in logarithms, as a product of thousands leaves the range of numbers
    logs = np.full(x.shape, -np.inf)
    for bet in _BETS.tolist():
        grown = np.cumsum(np.log1p(bet / (1 + expected) * (x - expected)), axis=-1)
        logs = np.logaddexp(logs, grown)
    with np.errstate(over="ignore"):
        evidence: Float = np.exp(logs - math.log(len(_BETS)))
    if total is not None:
        evidence[after > total - 1 - np.arange(x.shape[-1])] = np.inf
    return evidence


def stopped(differences: Sequence[float] | Float, rule: Rule) -> Stop | None:
    """Return what the rule decides, at the first question at which it does; None while it does not.

    Parameters
    ----------
    differences
        Of the questions judged so far, in the order of judging; NaN where judging failed.
    rule
        What would be claimed, and when it is looked at.

    Examples
    --------
    >>> stopped([1.0] * 7, Rule(10, "set", None))
    Stop(word='higher', questions=6, evidence=inf, bound=40.0, certain=True)
    >>> stopped([1.0, 0.0, 1.0], Rule(10, "set", None)) is None
    True
    """
    values = _possible(np.asarray(differences, np.float64)[: rule.total], rule)
    if rule.within is not None:
        return _about_margin(values, rule, rule.within)
    half = rule.alpha / 2
    stop = _earliest(_above(values, rule, half, "higher"), _above(-values, rule, half, "lower"))
    is_whole = len(values) == rule.total and not np.isnan(values).any()
    if stop is None and rule.claim == "set" and is_whole:  # what is not above 0 nor below it
        return Stop("equal", rule.total, math.inf, 1 / half, certain=True)
    return stop


def replayed(differences: Float, rule: Rule) -> tuple[NDArray[np.int8], Int]:
    """Return for many orders of judging (rows, of all questions each) what `stopped` would: a side, and when.

    The side is 1, −1, or 0 where nothing is claimed after all questions.
    """
    total = differences.shape[1]
    if rule.within is not None or total != rule.total:
        raise UsageError("replays need a claim without a margin, and all questions")
    ends: Int
    if rule.looks is None:
        ends = np.arange(1, total + 1)
        of_set = total if rule.claim == "set" else None
        over = [e_values(sign * differences / rule.span, of_set) >= 2 / rule.alpha for sign in (1.0, -1.0)]
    else:
        ends = np.array(look_sizes(total, rule.looks))
        bounds = np.array(_bounds(rule, ends.tolist(), 1 - rule.alpha))
        over = []
        for sign in (1.0, -1.0):
            x = sign * differences / rule.span
            met = 2 * p_at_looks(x, ends.tolist()) <= bounds
            # The p of all orders is found at once; the dearer e-process is asked where p is small enough.
            for row, look in np.argwhere(met).tolist():
                met[row, look] = _is_borne_out(x[row, : ends[look]], rule.alpha / 2)
            over.append(met)
    up, down = (np.where(each.any(axis=1), ends[each.argmax(axis=1)], total + 1) for each in over)
    side = np.where(np.minimum(up, down) > total, 0, np.where(up <= down, 1, -1)).astype(np.int8)
    return side, np.minimum(np.minimum(up, down), total)


def nearest(differences: Sequence[float] | Float, rule: Rule) -> float:
    """Return the e-value so far of the claim of a pair that is closest to a decision."""
    values = np.asarray(differences, np.float64)
    total = rule.total if rule.claim == "set" else None
    shift = rule.within or 0.0
    evidence = []
    for sign in (1.0, -1.0):
        x = (np.nan_to_num(sign * values, nan=-rule.span) + shift) / (rule.span + shift)
        evidence.append(float(e_values(x, total)[-1]))
    return max(evidence) if rule.within is None else min(evidence)


def p_at_looks(differences: Float, sizes: Sequence[int]) -> Float:
    """Return the one-sided p of Student's t that the mean is above 0, after so many questions (last axis).

    Observed values say nothing certain about the rest: the variance of the mean of n always has 2.34/n²
    added, which gives n equal values the interval of the rule of three.
    """
    from scipy.special import stdtr

    p_of_looks = []
    for size in sizes:
        x = differences[..., :size]
        spread = x.var(axis=-1, ddof=1) if size > 1 else np.full(x.shape[:-1], np.inf)
        t = x.mean(axis=-1) / np.sqrt(spread / size + _FLOOR / size**2)
        p_of_looks.append(stdtr(max(size - 1, 1), -t))
    return np.stack(p_of_looks, axis=-1)


def _is_borne_out(seen: Float, alpha: float) -> bool:
    """Return whether what Student's t says may be claimed: of skewed values if the e-process says it, too."""
    return not is_skewed(settled(seen), None) or float(e_values(seen).max()) >= 1 / alpha


def _above(values: Float, rule: Rule, alpha: float, word: Word, margin: float = 0.0) -> Stop | None:
    """Return where it is first decided that the mean is above the margin, wrongly in `alpha` of cases."""
    x = (np.nan_to_num(values, nan=-rule.span) - margin) / (rule.span + abs(margin))
    if rule.looks is None:
        evidence = e_values(x, rule.total if rule.claim == "set" else None)
        met = np.flatnonzero(evidence >= 1 / alpha)
        if not met.size:
            return None
        value = float(evidence[met[0]])
        return Stop(word, int(met[0]) + 1, value, 1 / alpha, certain=math.isinf(value))
    sizes = [size for size in look_sizes(rule.total, rule.looks) if size <= len(x)]
    bounds = _bounds(rule, sizes, 1 - 2 * alpha)
    for size, p, bound in zip(sizes, p_at_looks(x, sizes).tolist() if sizes else (), bounds, strict=False):
        if 2 * p <= bound and _is_borne_out(x[:size], alpha):
            return Stop(word, size, 2 * p, bound)
    return None


def _possible(differences: Float, rule: Rule) -> Float:
    """Return differences none of which is larger than was said to be possible: no rule holds for others."""
    if np.abs(differences[~np.isnan(differences)]).max(initial=0.0) > rule.span * (1 + 1e-12):
        raise UsageError(f"a difference is beyond {rule.span:g}, the stated maximum")
    return differences


def _about_margin(values: Float, rule: Rule, margin: float) -> Stop | None:
    """Return where it is decided that the systems differ by less than the margin, or by more.

    That they differ by less is two claims, d > −margin and d < margin, and made where the later one is.
    """
    alpha = rule.alpha
    # Both are needed and at most one of them is false, so each is made at α; of the ways to be apart one is
    # enough, so each has half of it.
    lower, upper = (_above(sign * values, rule, alpha, "within", -margin) for sign in (1.0, -1.0))
    later = max((lower, upper), key=lambda stop: stop.questions) if lower and upper else None
    more = (_above(sign * values, rule, alpha / 2, "apart", margin) for sign in (1.0, -1.0))
    return _earliest(later, *more)


def _earliest(*stops: Stop | None) -> Stop | None:
    return min((stop for stop in stops if stop is not None), key=lambda stop: stop.questions, default=None)


@dataclass(frozen=True, slots=True)
class Race:
    """Who may still be the best of several: after how many questions each of the others was dropped."""

    left: tuple[int, ...]
    dropped: tuple[tuple[int, int], ...]  # system, questions

    @property
    def best(self) -> int | None:
        """The system that alone is left."""
        return self.left[0] if len(self.left) == 1 else None


def best_of(values: Sequence[Sequence[float]] | Float, rule: Rule) -> Race:
    """Return which systems may still be the best after these questions, and when the others were dropped.

    Parameters
    ----------
    values
        A row for each system, a column for each question in the order of judging; NaN where judging failed,
        and after a system was dropped.
    rule
        `looks` has to be None: every question is one.

    Examples
    --------
    >>> best_of([[1.0] * 6, [0.0] * 6], Rule(10, "set", None))
    Race(left=(0,), dropped=((1, 5),))
    """
    if rule.looks is not None or rule.within is not None:
        raise UsageError("'best' is tested after every question: leave out looks and margins")
    scores = np.asarray(values, np.float64)[:, : rule.total]
    left, dropped = list(range(len(scores))), list[tuple[int, int]]()
    total = rule.total if rule.claim == "set" else None
    against = np.stack(  # what j has against i after each question
        [[e_values(_possible(other - one, rule) / rule.span, total) for other in scores] for one in scores]
    )
    until = np.full(len(scores), scores.shape[1])  # how many questions of each count
    questions = np.arange(scores.shape[1])
    while len(left) > 1:
        met = []
        for one in left:
            others = [
                against[one, other, np.minimum(questions, until[other] - 1)]
                for other in range(len(scores))
                if other != one
            ]
            # A mean of e-values is one, however they hang together, so nothing is lost to how many there are.
            crossed = np.flatnonzero(np.mean(others, axis=0) >= 1 / rule.alpha)
            met += [(int(crossed[0]) + 1, one)] if crossed.size else []
        if not met:
            break
        when, worst = min(met)
        until[worst] = when
        left.remove(worst)
        dropped.append((worst, when))
    return Race(tuple(left), tuple(dropped))
