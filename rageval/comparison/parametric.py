"""Student's t and Wilcoxon's signed ranks, for people who are asked for them."""

from __future__ import annotations

import math

import numpy as np

from rageval.intervals.samples import Float, Sample, standard_error

_TINY = float(np.finfo(np.float64).tiny)  # a p-value is never 0


def t_test(differences: Sample) -> Float:
    """Two-sided p of the mean of each column by Student's t; NaN where all differences are the same."""
    from scipy.special import stdtr

    sums, sizes = differences.sums(), differences.sizes()
    mean = sums.sum(axis=0) / np.maximum(sizes.sum(axis=0), 1)
    error = standard_error(differences)
    freedom = np.maximum((sizes > 0).sum(axis=0) - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * stdtr(freedom, -np.abs(mean / error))
    p = np.where(error > 0, np.maximum(p, _TINY), np.nan)
    p[(mean == 0) & (error == 0)] = 1.0
    return p


def wilcoxon(differences: Sample) -> Float:
    """Two-sided p of each column by Wilcoxon's signed ranks, zeros left out, as scipy has it."""
    from scipy.stats import wilcoxon as signed_ranks

    p = np.full(differences.values.shape[1], np.nan)
    for at, column in enumerate(differences.values.T):
        found = column[~np.isnan(column)]
        if len(found) and not found.any():
            p[at] = 1.0
        elif len(found):
            p[at] = max(float(signed_ranks(found).pvalue), _TINY)
    return p


def cohens_d(differences: Sample) -> Float:
    """Effect size of each column: the mean difference in standard deviations of the differences (d_z).

    0.2 is called small, 0.5 medium, 0.8 large. NaN where all differences are the same and not 0.
    """
    found = []
    for column in differences.values.T:
        known = column[~np.isnan(column)]
        spread = float(np.std(known, ddof=1)) if len(known) > 1 else math.nan
        mean = float(known.mean()) if len(known) else math.nan
        if mean == 0:
            found.append(0.0)
        else:
            found.append(mean / spread if spread > 1e-12 * abs(mean) else math.nan)
    return np.array(found)
