"""What can be special about an input, what the tools do otherwise there, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rageval.conformance._vectors import QrelsRow, RunRow

_BY_PROVIDER = "equal scores go by whatever its provider does, which depends on the cut-off"
_FIRST = "it is not normalised at rank 1, so that it can exceed 1"
_SINGLE_BY_PROVIDER = "its provider compares 32-bit floats"
_LAST_NUGGET = "the last nugget's grade counts for the document"
_OF_DOCUMENTS = ("recall", "ndcg", "ap", "rr", "p", "success", "judged")

# What a tool does, by tool and topic, or topic/measure. Where it has done so for so long that people count on
# it, rageval has a mode for it: `--compat`.
REASONS: dict[str, dict[str, str]] = {
    "pyndeval": {
        "ties": "equal scores go by document id ascending",
        "first/alpha_dcg": _FIRST,
        "first/err_ia": _FIRST,
        "twice": "both rows count, and the copy takes a rank",
        "scattered": "a later block of a query replaces the earlier",
        "no_number": "a score that is nan is ranked where it stood",
        "missing": "queries that the run lacks are left out of the mean, as with --intersection",
        "nothing": "there are no values, and no word",
        "irrelevant/nnrbp": "0 is divided by 0: nan, and so is the mean",
        "conflict": "one of the two counts, without a word",
        "deep": "cut-offs beyond 20 are refused",
    },
    "pytrec_eval": {
        "single": "scores are compared as 32-bit floats",
        "twice": "a mapping holds a document once: the last score",
        "no_number": "a score that is nan is ranked last",
        "missing": "queries that the run lacks are left out of the mean, as with --intersection",
        "nothing": "there are no values, and no word",
        "conflict": "the caller decides; here the higher grade counts",
    },
    "ir_measures": {
        "ties": "equal scores go by document id ascending, as in pyndeval",
        **{f"ties/{name}": _BY_PROVIDER for name in _OF_DOCUMENTS},
        **{f"single/{name}": _SINGLE_BY_PROVIDER for name in _OF_DOCUMENTS},
        "first/alpha_dcg": _FIRST,
        "first/err_ia": _FIRST,
        "twice": "the provider keeps both rows, or the last, without a word",
        "scattered": "a later block of a query replaces the earlier",
        "no_number": "a score that is nan is ranked where it stood, or last",
        "nothing": "0.0, and no word",
        "irrelevant/nnrbp": "0 is divided by 0 where ndeval does: nan, and so is the mean",
        "conflict": "the last row counts, without a word",
        **{f"documents/{name}": _LAST_NUGGET for name in ("recall", "ndcg", "ap")},
        "deep": "no provider takes cut-offs beyond 20",
        "together/alpha_ndcg": "values of one alpha replace those of the other, which are 0",
        "judged_only": "refused with a TypeError",
        "column": "the column is not seen: all nuggets are taken for one",
    },
    "ranx": {
        "ties": "equal scores stay in the order of the input",
        "twice": "a mapping holds a document once: the last score",
        "no_number": "a score that is nan is ranked somewhere",
        "nothing": "0.0, and no word",
        "conflict": "the caller decides; here the higher grade counts",
    },
    "freshstack": {
        "ties": "three orders in one report: by id ascending, of the input, by id descending",
        "single": "recall is computed by trec_eval, from 32-bit floats",
        "twice": "a mapping holds a document once: the last score",
        "no_number": "a score that is nan is ranked somewhere",
        "scattered": "rows are a mapping by query",
        "prefix": "nuggets are found by the beginning of their id: query 7 takes those of 70",
        "nothing": "0.0, and no word",
        "conflict": "the last row counts, without a word",
        "deep": "alpha-nDCG beyond 20 is left out, without a word",
        "holes": "a document counts as judged if any query judged it",
        "graded/ndcg": "a document's grade is the sum over its nuggets",
        "negative/ndcg": "a document's grade is the sum over its nuggets, a negative one included",
        "negative/recall": "a document's grade is the sum over its nuggets, a negative one included",
    },
    "ndeval": {
        "ties": "documents are ordered by the rank column, whatever their scores are",
        "missing": "queries that the run lacks are left out of the mean, as with --intersection",
        "nothing": "there are no values, and no word",
        "irrelevant/nnrbp": "0 is divided by 0: nan, and so is the mean",
        "conflict": "one of the two counts, without a word",
    },
    "ndeval_traditional": {
        "missing": "queries that the run lacks are left out of the mean, as with --intersection",
        "nothing": "there are no values, and no word",
        "irrelevant/nnrbp": "0 is divided by 0: nan, and so is the mean",
        "conflict": "one of the two counts, without a word",
    },
    "trec_eval": {
        "single": "version 9 compares scores as 32-bit floats",
        "no_number": "a score that is nan is ranked somewhere",
        "missing": "queries that the run lacks are left out of the mean, as with --intersection",
        "nothing": "there are no values, and no word",
        "conflict": "the caller decides; here the higher grade counts",
    },
    "nuggetizer": {
        "vitalless": "0, though there is nothing that could be missing; rageval says undefined",
        "failed": "a judgement that failed counts as not supported",
        "spelled": "a label in another spelling counts as not supported",
        "judges": "judgements of several judges are one heap",
    },
}


def reasons_of(peer: str, measure: str, topics: Sequence[str]) -> Mapping[str, str]:
    """Why this tool may differ on an input with these topics; what is said of the measure comes first."""
    known = REASONS[peer]
    keys = [next((key for key in (f"{topic}/{measure}", topic) if key in known), "") for topic in topics]
    return {key: known[key] for key in keys if key}


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
    """Return the topics that rows show by themselves."""
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
