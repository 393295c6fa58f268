"""What the tools do otherwise, and why nobody should be surprised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
