"""infAP, where judgements say of some documents that they were pooled but not judged (grade -1).

ir_measures leaves it to pytrec_eval, which takes -1 for an index; so this one is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping

POOLED = -1  # the grade of a document that was in the pool, but not in the sample that was judged
_SMOOTHING = 1e-5


def inferred_ap(grades: Mapping[str, int], ranking: Mapping[str, float]) -> float:
    """Inferred average precision of one query (Yilmaz and Aslam, CIKM 2006), smoothed as in trec_eval.

    `grades` are 1, 0 or -1, `ranking` holds the documents best first. The precision above a relevant
    document at rank j+1 is the share of the j documents that were pooled times the share of the judged ones
    that are relevant.
    """
    relevant = judged = pooled = 0
    total = 0.0
    for above, doc in enumerate(ranking):
        grade = grades.get(doc)
        if grade is None:
            continue
        if grade == 1:
            share = (relevant + _SMOOTHING) / (judged + 2 * _SMOOTHING)
            total += (1 + pooled * share) / (above + 1)
        pooled += 1
        judged += grade != POOLED
        relevant += grade == 1
    wanted = sum(grade == 1 for grade in grades.values())
    return total / wanted if wanted else 0.0
