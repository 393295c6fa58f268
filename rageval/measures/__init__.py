"""The measures: each a function of one query, a file a family; a family is imported when it is used."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rageval.measures._abstention import (
        answer_rate,
        answerable_f1,
        false_answer_rate,
        grounded_refusal,
        over_refusal,
        refusal_f1,
    )
    from rageval.measures._alce import alce_f1, alce_precision, alce_recall, trust_score
    from rageval.measures._citations import citation_precision, citation_recall, citations
    from rageval.measures._claims import (
        all_supported,
        answer_f1,
        answer_precision,
        answer_recall,
        claim_faithfulness,
        claim_hallucination,
        claim_recall,
        context_precision,
        context_utilization,
        noise_irrelevant,
        noise_relevant,
        self_knowledge,
    )
    from rageval.measures._grades import (
        correctness,
        correctness_share,
        crag_score,
        crag_share,
        faithfulness,
        faithfulness_share,
        grade,
        pass_all,
        pass_any,
        pass_rate,
        rank_score,
        win_rate,
    )
    from rageval.measures._intents import d_ndcg, d_sharp, i_rec
    from rageval.measures._novelty import alpha_dcg, alpha_ndcg, err_ia, nerr_ia, nnrbp, nrbp
    from rageval.measures._nuggets import (
        audit_share,
        bank_groundedness,
        bank_precision,
        bank_recall,
        healthbench_score,
        nugget_density,
        nugget_f,
        nugget_recall,
        rubric_score,
    )
    from rageval.measures._ranks import ap, map_ia, ndcg, rr
    from rageval.measures._reports import (
        answer_accuracy,
        argue_f1,
        citation_coverage,
        citation_relevance,
        citation_share,
        document_precision,
        document_recall,
        dragun_contradiction,
        dragun_questions,
        dragun_support,
        nugget_count,
        nugget_coverage,
        sentence_count,
        sentence_share,
        sentence_support,
    )
    from rageval.measures._sets import all_gold, coverage, hole, judged, p, p_ia, recall, strec, success
    from rageval.measures._words import length, lexical_recall, token_f1
    from rageval.measures.base import Measure, measure
    from rageval.measures.spans import span_iou, span_precision, span_recall

# The measures and their families, in the order in which they are listed.
_OF_RUNS = {
    **dict.fromkeys(("alpha_ndcg", "alpha_dcg"), "_novelty"),
    **dict.fromkeys(("coverage", "strec"), "_sets"),
    **dict.fromkeys(("err_ia", "nerr_ia", "nrbp", "nnrbp"), "_novelty"),
    **{"map_ia": "_ranks", "p_ia": "_sets", "recall": "_sets"},
    **dict.fromkeys(("ndcg", "ap", "rr"), "_ranks"),
    **dict.fromkeys(("p", "success", "all_gold", "judged", "hole"), "_sets"),
    **dict.fromkeys(("d_ndcg", "i_rec", "d_sharp"), "_intents"),
}
_OF_SPANS = dict.fromkeys(("span_recall", "span_precision", "span_iou"), "spans")
_OF_ANSWERS = {
    **dict.fromkeys(("nugget_recall", "nugget_density", "nugget_f", "rubric_score"), "_nuggets"),
    **dict.fromkeys(("crag_score", "crag_share"), "_grades"),
    **dict.fromkeys(("correctness", "correctness_share"), "_grades"),
    **dict.fromkeys(("faithfulness", "faithfulness_share"), "_grades"),
    **dict.fromkeys(("citation_precision", "citation_recall"), "_citations"),
    **dict.fromkeys(("citation_relevance", "sentence_support", "nugget_coverage", "argue_f1"), "_reports"),
    **dict.fromkeys(("sentence_count", "nugget_count"), "_reports"),
    **dict.fromkeys(("dragun_support", "dragun_contradiction", "dragun_questions"), "_reports"),
    **dict.fromkeys(("answer_accuracy", "sentence_share", "citation_coverage", "citation_share"), "_reports"),
    **dict.fromkeys(("document_precision", "document_recall"), "_reports"),
    **dict.fromkeys(("rank_score", "win_rate"), "_grades"),
    **{"length": "_words", "citations": "_citations"},
    **dict.fromkeys(("bank_precision", "bank_recall", "bank_groundedness", "audit_share"), "_nuggets"),
    **dict.fromkeys(("lexical_recall", "token_f1"), "_words"),
    **dict.fromkeys(("grade", "pass_rate", "pass_any", "pass_all"), "_grades"),
    **dict.fromkeys(("answer_rate", "over_refusal", "false_answer_rate"), "_abstention"),
    **dict.fromkeys(
        (
            "answer_precision",
            "answer_recall",
            "answer_f1",
            "claim_recall",
            "context_precision",
            "context_utilization",
            "noise_relevant",
            "noise_irrelevant",
            "claim_hallucination",
            "self_knowledge",
            "claim_faithfulness",
            "all_supported",
        ),
        "_claims",
    ),
    **dict.fromkeys(("alce_recall", "alce_precision", "alce_f1", "trust_score"), "_alce"),
    "healthbench_score": "_nuggets",
    **dict.fromkeys(("refusal_f1", "answerable_f1", "grounded_refusal"), "_abstention"),
}
_FAMILY = {**_OF_RUNS, **_OF_SPANS, **_OF_ANSWERS, "Measure": "base", "measure": "base"}

__all__ = [
    "Measure",
    "alce_f1",
    "alce_precision",
    "alce_recall",
    "all_gold",
    "all_supported",
    "alpha_dcg",
    "alpha_ndcg",
    "answer_accuracy",
    "answer_f1",
    "answer_precision",
    "answer_rate",
    "answer_recall",
    "answerable_f1",
    "ap",
    "argue_f1",
    "audit_share",
    "bank_groundedness",
    "bank_precision",
    "bank_recall",
    "builtin",
    "citation_coverage",
    "citation_precision",
    "citation_recall",
    "citation_relevance",
    "citation_share",
    "citations",
    "claim_faithfulness",
    "claim_hallucination",
    "claim_recall",
    "context_precision",
    "context_utilization",
    "correctness",
    "correctness_share",
    "coverage",
    "crag_score",
    "crag_share",
    "d_ndcg",
    "d_sharp",
    "document_precision",
    "document_recall",
    "dragun_contradiction",
    "dragun_questions",
    "dragun_support",
    "err_ia",
    "faithfulness",
    "faithfulness_share",
    "false_answer_rate",
    "grade",
    "grounded_refusal",
    "healthbench_score",
    "hole",
    "i_rec",
    "judged",
    "length",
    "lexical_recall",
    "map_ia",
    "measure",
    "ndcg",
    "nerr_ia",
    "nnrbp",
    "noise_irrelevant",
    "noise_relevant",
    "nrbp",
    "nugget_count",
    "nugget_coverage",
    "nugget_density",
    "nugget_f",
    "nugget_recall",
    "over_refusal",
    "p",
    "p_ia",
    "pass_all",
    "pass_any",
    "pass_rate",
    "rank_score",
    "recall",
    "refusal_f1",
    "rr",
    "rubric_score",
    "self_knowledge",
    "sentence_count",
    "sentence_share",
    "sentence_support",
    "span_iou",
    "span_precision",
    "span_recall",
    "strec",
    "success",
    "token_f1",
    "trust_score",
    "win_rate",
]


def _member(name: str) -> Any:
    if name not in _FAMILY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Kept as a name of this module: the next time Python finds it without asking here.
    value = globals()[name] = getattr(import_module(f"{__name__}.{_FAMILY[name]}"), name)
    return value


if not TYPE_CHECKING:  # a type checker is not to believe that every name is there
    __getattr__ = _member


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def known(name: str) -> Measure | None:
    """Return the measure that rageval brings under this name, if there is one."""
    return _member(name) if name in {**_OF_RUNS, **_OF_SPANS, **_OF_ANSWERS} else None


@cache
def builtin() -> dict[str, Measure]:
    """Every measure rageval brings, by name, in the order in which they are listed."""
    return run_measures() | span_measures() | answer_measures()


@cache
def run_measures() -> dict[str, Measure]:
    """Return the measures of runs."""
    return {name: _member(name) for name in _OF_RUNS}


@cache
def span_measures() -> dict[str, Measure]:
    """Return the measures of runs that take gold spans."""
    return {name: _member(name) for name in _OF_SPANS}


def family(name: str) -> list[str]:
    """Return the names of the measures of a family.

    >>> family("ranks")
    ['map_ia', 'ndcg', 'ap', 'rr']
    """
    return [known for known, of in {**_OF_RUNS, **_OF_SPANS, **_OF_ANSWERS}.items() if of == f"_{name}"]


@cache
def answer_measures() -> dict[str, Measure]:
    """Return the measures of judged answers."""
    return {name: _member(name) for name in _OF_ANSWERS}
