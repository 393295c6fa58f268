"""Values that all answers have together, from a number of each answer and whether it is right.

Each function takes the numbers (a confidence, a cost), what is right (1, 0), and how much each answer counts,
a row a resample. One row of ones gives the value itself; how often a bootstrap drew each gives the resamples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from rageval.statistics.samples import Float, Int

Statistic: TypeAlias = Callable[[Float, Float, Float], Float]  # (numbers, hits, weights) → a value a row
_SLACK = 1e-9  # sums of weights such as ⅓ are off by less


def ratio(numbers: Float, hits: Float, weights: Float) -> Float:
    """Return Σ numbers / Σ right; NaN where nothing is right.

    >>> ratio(np.array([2.0, 4.0]), np.array([1.0, 0.0]), np.array([[1.0, 1.0], [2.0, 0.0]])).tolist()
    [6.0, 2.0]
    """
    return _divided(weights @ numbers, weights @ hits)


def calibration_error(
    numbers: Float, hits: Float, weights: Float, bin_size: int, norm: int, debiased: bool
) -> Float:
    """Return (Σ w · |share right − mean confidence|^norm)^(1/norm) over all bins of so many answers.

    Answers are in the order of confidence, and those of one confidence in the bin of the first of them. The
    last bin has what is left over, too.

    >>> confidence, right = np.array([0.2, 0.6, 0.6, 0.9]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> calibration_error(confidence, right, np.ones((1, 4)), 2, 1, False).round(3).tolist()
    [0.125]
    """
    order = np.argsort(numbers, kind="stable")
    numbers, hits, weights = numbers[order], hits[order], weights[:, order]
    before, _ = _around_ties(numbers, weights)
    sizes, shares, means = _bins(numbers, hits, weights, before, bin_size)
    gaps = np.abs(shares - means) ** norm
    if debiased:
        with np.errstate(invalid="ignore", divide="ignore"):
            bias = shares * (1 - shares) / (sizes - 1)
        gaps = gaps - np.where(sizes > 1 + _SLACK, bias, 0.0)
    total = np.nansum(np.where(sizes > 0, sizes * gaps, 0.0), axis=1)
    error: Float = np.maximum(_divided(total, weights.sum(axis=1)), 0.0) ** (1 / norm)
    return error


def without_last_bin(numbers: Float, hits: Float, weights: Float, bin_size: int, norm: int) -> Float:
    """Return the error in percent as BrowseComp-Plus computes it: all bins but the last.

    Answers of one confidence are in the order given, wherever bins part them.

    >>> confidence, right = np.array([0.2, 0.6, 0.6, 0.9, 0.9]), np.array([0.0, 0.0, 1.0, 1.0, 0.0])
    >>> without_last_bin(confidence, right, np.ones((1, 5)), 2, 1).round(3).tolist()
    [16.0]
    """
    order = np.argsort(numbers, kind="stable")
    numbers, hits, weights = numbers[order], hits[order], weights[:, order]
    before = np.cumsum(weights, axis=1) - weights
    sizes, shares, means = _bins(numbers, hits, weights, before, bin_size)
    whole = weights.sum(axis=1)
    number = np.floor(whole / bin_size + _SLACK)
    is_counted = (np.arange(sizes.shape[1]) < number[:, None] - 1) & (sizes > 0)
    total = np.where(is_counted, sizes * np.abs(shares - means) ** norm, 0.0).sum(axis=1)
    error = 100 * _divided(total, whole) ** (1 / norm)
    return np.where(number > 0, error, np.nan)


def selective_accuracy(numbers: Float, hits: Float, weights: Float, coverage: float) -> Float:
    """Return the share of right ones among the most confident, so large a share of all.

    Of answers of one confidence some count, on average over their orders.

    >>> confidence, right = np.array([0.9, 0.5, 0.5, 0.1]), np.array([1.0, 1.0, 0.0, 0.0])
    >>> selective_accuracy(confidence, right, np.ones((1, 4)), 0.5).tolist()
    [0.75]
    """
    order = np.argsort(-numbers, kind="stable")
    numbers, hits, weights = numbers[order], hits[order], weights[:, order]
    before, tied = _around_ties(numbers, weights)
    among = coverage * weights.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        taken = np.clip((among[:, None] - before) / tied, 0.0, 1.0)
    return _divided((weights * np.where(tied > 0, taken, 0.0)) @ hits, among)


def reliability(numbers: Float, hits: Float, weights: Float, bin_size: int) -> tuple[Float, Float, Float]:
    """Return sizes, shares of right ones and mean confidences of the bins of `calibration_error`."""
    order = np.argsort(numbers, kind="stable")
    numbers, hits, weights = numbers[order], hits[order], weights[:, order]
    return _bins(numbers, hits, weights, _around_ties(numbers, weights)[0], bin_size)


def _around_ties(ordered: Float, weights: Float) -> tuple[Float, Float]:
    """Return for each answer how many stand before the first of its confidence, and how many share it."""
    until = np.cumsum(weights, axis=1)
    is_first = np.append(True, ordered[1:] != ordered[:-1])
    first: Int = np.maximum.accumulate(np.where(is_first, np.arange(len(ordered)), 0))
    last = np.append(np.flatnonzero(is_first)[1:] - 1, len(ordered) - 1)[np.cumsum(is_first) - 1]
    before = until[:, first] - weights[:, first]
    return before, until[:, last] - before


def _bins(
    ordered: Float, hits: Float, weights: Float, before: Float, bin_size: int
) -> tuple[Float, Float, Float]:
    """Return sizes, shares of right ones and mean confidences of bins, a row a resample, a column a bin.

    What is left over, too few for a bin, is in the last one.
    """
    number = np.maximum(np.floor(weights.sum(axis=1) / bin_size + _SLACK), 1)
    place = np.minimum(np.floor(before / bin_size + _SLACK), number[:, None] - 1).astype(np.int64)
    columns = int(number.max(initial=1))
    place += columns * np.arange(len(weights))[:, None]
    cells = columns * len(weights)

    def summed(values: Float) -> Float:
        sums = np.bincount(place.ravel(), values.ravel(), cells).astype(np.float64)
        return sums.reshape(len(weights), columns)

    sizes = summed(weights)
    return sizes, _divided(summed(weights * hits), sizes), _divided(summed(weights * ordered), sizes)


def _divided(part: Float, whole: Float) -> Float:
    quotient: Float = np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0)
    return quotient
