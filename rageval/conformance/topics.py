"""What can be special about an input, and what of it can be seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rageval.conformance.vectors import QrelsRow, RunRow

TOPICS = {
    "ties": "equal scores",
    "single": "scores that 32 bits cannot tell apart",
    "twice": "a document ranked twice",
    "scattered": "rows of a query apart",
    "no_number": "a score that is no finite number",
    "prefix": "an id that begins with another query's",
    "missing": "a judged query that the run lacks",
    "nothing": "no query in common",
    "irrelevant": "a query without relevant documents",
    "negative": "a grade below 0",
    "conflict": "two judgements of one thing",
    "documents": "a document judged for several nuggets",
    "unsupported": "a nugget that no document supports",
    "deep": "a cut-off beyond 20",
    "first": "the first rank alone",
    "together": "two values of alpha in one call",
    "judged_only": "unjudged documents left out",
    "holes": "a document that only another query judged",
    "column": "nuggets under another name",
    "graded": "grades of several nuggets added up",
    "vitalless": "an answer without vital nuggets",
    "failed": "a judgement that failed",
    "spelled": "a label in another spelling, or a grade without one",
    "judges": "several judges",
}


def topics_in(run: Sequence[RunRow], qrels: Sequence[QrelsRow]) -> list[str]:
    """The topics that rows show by themselves."""
    scores: dict[str, list[float]] = defaultdict(list)
    by_nugget: dict[tuple[str, str], list[int]] = defaultdict(list)
    by_doc: dict[tuple[str, str], list[int]] = defaultdict(list)
    best: dict[str, int] = {}
    for query, _, score in run:
        scores[query].append(float(score))
    for query, nugget, doc, grade in qrels:
        by_nugget[query, nugget].append(grade)
        by_doc[query, doc].append(grade)
        best[query] = max(grade, best.get(query, grade))
    seen = {
        "ties": any(len(set(found)) < len(found) for query, found in scores.items() if query in best),
        "missing": any(query not in scores for query in best),
        "irrelevant": min(best.values()) < 1,
        "negative": any(grade < 0 for *_, grade in qrels),
        "unsupported": any(max(grades) < 1 for grades in by_nugget.values()),
        "graded": any(sum(grades) != max(0, *grades) for grades in by_doc.values()),
    }
    return [topic for topic, is_so in seen.items() if is_so]
