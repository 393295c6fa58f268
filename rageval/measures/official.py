"""Named sets of measures: what a benchmark or a tool reports, as `-m official:NAME`; and trec_eval's names.

Every name that trec_eval 10 prints (`P.5,10`, `ndcg_cut_10`, `num_ret`) either stands here for a measure of
ours or of ir_measures, or is in the table of what is not offered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_LEVELS = tuple(f"{level / 10:.1f}" for level in range(11))
# Without a cut-off.
NAMES: Mapping[str, str] = {
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "map": "ap",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "recip_rank": "rr",
    "infAP": "infAP",
    "ndcg": "ndcg",
    "set_P": "p",
    "set_relative_P": "SetP(relative=True)",
    "set_recall": "recall",
    "set_map": "SetAP",
    "set_F": "SetF",
}
# With one: what it is here, and where trec_eval cuts if nothing is said.
FAMILIES: Mapping[str, tuple[str, tuple[int | str, ...]]] = {
    "iprec_at_recall": ("IPrec@{}", _LEVELS),
    "P": ("p@{}", _CUTOFFS),
    "recall": ("recall@{}", _CUTOFFS),
    "ndcg_cut": ("ndcg@{}", _CUTOFFS),
    "map_cut": ("ap@{}", _CUTOFFS),
    "success": ("success@{}", (1, 5, 10)),
    "unj": ("hole@{}", (5, 10, 20)),
}
NOT_OFFERED: Mapping[str, str] = {
    "runid": "it is no measure; json, csv and other formats name the run",
    "gm_map": "means over queries are arithmetic here (map); -q prints the value of every query",
    "gm_bpref": "means over queries are arithmetic here (bpref); -q prints the value of every query",
    "Rprec_mult": "it is precision at multiples of the number of relevant documents; Rprec is that at 1.00",
    "utility": "it counts documents with weights; num_rel_ret and num_ret are its parts",
    "11pt_avg": "it is the mean of iprec_at_recall at 0.0, 0.1, …, 1.0, which is offered",
    "binG": "ndcg and map_cut are near to it",
    "G": "ndcg and map_cut are near to it",
    "ndcg_rel": "ndcg_cut_K is at a fixed rank",
    "Rndcg": "ndcg_cut_K is at a fixed rank",
    "relative_P": "it is P_K over what can be had in K documents; P_K and recall_K are its parts",
    "num_nonrel_judged_ret": "unj_K is the share that nobody judged; num_rel_ret counts relevant documents",
    "rbp": "for grades 0 and 1 it is ir_measures' RBP(p=0.9,rel=1), which needs cwl_eval",
    "rbp_resid": "use --bounds to see the possible range of a measure",
    "relstring": "`rageval report` shows the grades of every ranking",
}
_ONE = re.compile(r"(?P<name>[A-Za-z]\w*?)[_.](?P<at>\d+|\d*\.\d+)")
_WITH_GAINS = r"(?s)(ndcg|G|Rndcg|ndcg_rel)[_.][\d.]+=.*"  # and below: compiled where a name is not known
_WITH_BETA = re.compile(r"set_F[_.](\d+|\d*\.\d+)", re.IGNORECASE)
_PRINTED = r"(?P<name>\w+)(?:\((?P<parameters>.*)\))?(?:@(?P<at>[\d.]+))?"  # a measure as it is printed here
_PARAMETER = r"[_.]?[\d.][\d.,=-]*$"
# What trec_eval prints without being asked, but for gm_map and its two families.
_PRINTED_UNASKED = ("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "Rprec", "bpref", "recip_rank")


def of_trec_eval(text: str) -> str | None:
    """Return what one name with one cut-off, or with none, is here: `P_5` is `p@5`."""
    exact = NAMES.get(text)
    if exact is not None:
        return exact
    beta = _WITH_BETA.fullmatch(text)
    if beta:
        return f"SetF(beta={float(beta[1])})"
    match = _ONE.fullmatch(text)
    family = _family(match["name"]) if match else None
    if match is None or family is None or (family != "iprec_at_recall" and not match["at"].isdigit()):
        return None
    cutoff = str(float(match["at"])) if family == "iprec_at_recall" else match["at"]
    return FAMILIES[family][0].format(cutoff)


def in_trec_eval(measure: str, rel: int | None = None) -> str | None:
    """Return trec_eval's own name for a measure as it is printed here; None where it has none.

    `rel` is the lowest relevant grade of all measures (`-l`), which trec_eval's names do not say.

    >>> in_trec_eval("p@5"), in_trec_eval("ap(rel=2)", rel=2), in_trec_eval("IPrec@0.1")
    ('P_5', 'map', 'iprec_at_recall_0.10')
    >>> in_trec_eval("ap(rel=2)"), in_trec_eval("alpha_ndcg@10")
    (None, None)
    """
    match = re.fullmatch(_PRINTED, measure)
    if match is None:
        return None
    name, cutoff = match["name"], match["at"]
    parameters = [part for part in (match["parameters"] or "").split(",") if part]
    level = f"rel={1 if rel is None else rel}"
    if name == "NumRet" and parameters == [level]:
        return "num_rel_ret"  # the level alone tells it from num_ret, so it is no level to leave out
    if level in parameters and name != "NumRet":
        parameters.remove(level)
    plain = name + (f"({','.join(parameters)})" if parameters else "")
    if cutoff is None:
        return {here: theirs for theirs, here in NAMES.items()}.get(plain)
    families = {pattern: theirs for theirs, (pattern, _) in FAMILIES.items()}
    theirs = families.get(f"{plain}@{{}}")
    number = f"{float(cutoff):.2f}" if theirs == "iprec_at_recall" else cutoff
    return None if theirs is None else f"{theirs}_{number}"


def every_cutoff(text: str) -> list[str]:
    """Return what `ndcg_cut`, `map_cut`, `unj` or `iprec_at_recall` mean here; `P` and others are ours."""
    family = _family(text)
    if family is None or family in ("P", "recall", "success"):
        return []
    pattern, cutoffs = FAMILIES[family]
    return [pattern.format(cutoff) for cutoff in cutoffs]


def not_offered(text: str) -> list[str]:
    """Return what a set of trec_eval's, `official` or `all_trec`, is without here."""
    return ["runid", "gm_map"] if text.lower() == "official" else list(NOT_OFFERED)


def why_not(text: str) -> str | None:
    """Why a name of trec_eval's is not offered, and what is; None for a name that is not one of these."""
    if re.fullmatch(_WITH_GAINS, text):
        return "gains are a parameter of ir_measures' nDCG, whole numbers by grade: nDCG(gains={1:3,2:9})@10"
    name = "11pt_avg" if text.startswith("11pt_avg") else re.sub(_PARAMETER, "", text)
    return NOT_OFFERED.get(name)


def _family(name: str) -> str | None:
    return {family.lower(): family for family in FAMILIES}.get(name.lower())


def _all_of(family: str) -> Iterator[str]:
    pattern, cutoffs = FAMILIES[family]
    return (pattern.format(cutoff) for cutoff in cutoffs)


OFFICIAL: dict[str, tuple[str, ...]] = {
    # FreshStack's leaderboard (paper, section 6)
    "freshstack": ("alpha_ndcg@10", "coverage@20", "recall@50"),
    # the columns that ndeval prints
    "ndeval": tuple(
        [f"{name}@{k}" for name in ("err_ia", "nerr_ia") for k in (5, 10, 20)]
        + [f"{name}@{k}" for name in ("alpha_dcg(normalize=independent)", "alpha_ndcg") for k in (5, 10, 20)]
        + ["nrbp", "nnrbp", "map_ia"]
        + [f"{name}@{k}" for name in ("p_ia", "strec") for k in (5, 10, 20)]
    ),
    # the retrieval task of TREC 2024 RAG
    "rag24": ("ndcg@20", "ndcg@100", "recall@100"),
    # what trec_eval prints, and what it knows, as far as it is offered
    "trec_eval": (*(NAMES[name] for name in _PRINTED_UNASKED), *_all_of("iprec_at_recall"), *_all_of("P")),
    "all_trec": (*NAMES.values(), *(spelling for family in FAMILIES for spelling in _all_of(family))),
    # what nuggetizer prints of answers, and what CRAG's and LiveRAG's papers report
    "nuggetizer": ("v_strict", "a_strict", "v", "a"),
    "crag": ("crag_score", "accuracy", "hallucination", "missing"),
    "liverag": ("correctness", "faithfulness"),
    # RAGTIME's reports, by ARGUE
    "ragtime": (
        *("citation_relevance", "citation_support", "sentence_support", "nugget_coverage"),
        *("nugget_coverage_weighted", "argue_f1", "argue_f1(importance=weighted)"),
    ),
    # DRAGUN 2025, reports; its questions are dragun_questions
    "dragun": ("dragun_support", "dragun_contradiction"),
    # BioGen, task B, and MedAESQA: accuracy; precision, redundancy, harmfulness; citations; documents
    "biogen": (
        *("answer_accuracy", "sentence_share"),
        *("sentence_share(label=unnecessary)", "sentence_share(label=inappropriate)", "citation_coverage"),
        *("citation_share", "citation_share(label=contradicts)", "document_recall", "document_precision"),
    ),
    # ALCE's two measures of citations; what Trust-Eval makes of refusals; HealthBench
    "alce": ("alce_recall", "alce_precision"),
    "trust": (
        *("answer_rate", "refusal_f1(part=recall)", "refusal_f1(part=precision)", "refusal_f1"),
        *("answerable_f1(part=recall)", "answerable_f1(part=precision)", "answerable_f1"),
        *("grounded_refusal(part=recall)", "grounded_refusal"),
    ),
    "healthbench": ("healthbench_score",),
    # what RAGChecker prints: overall, of retrieval, of generation
    "ragchecker": (
        *("answer_precision", "answer_recall", "answer_f1", "claim_recall", "context_precision"),
        *("context_utilization", "noise_relevant", "noise_irrelevant", "claim_hallucination"),
        *("self_knowledge", "claim_faithfulness"),
    ),
    # ragas' measures of answers and of what was retrieved for them
    "ragas": (
        *("ragas_faithfulness", "ragas_answer_correctness", "ragas_factual_correctness"),
        *("ragas_context_precision", "ragas_context_recall"),
    ),
    # TREC RAG, answers: support of citations, nuggets; in 2026 criteria, too (guidelines of 2026-07-29)
    "rag25": ("citation_precision", "citation_recall", "v_strict", "a_strict", "v", "a"),
    "rag26": ("citation_precision", "citation_recall", "v_strict", "a_strict", "rubric_score"),
    # TREC RAG 2026, retrieval of all that is relevant and nothing else; never cut at a depth
    "rag26-retrieval": ("SetP", "SetR", "SetF"),
    # the support task of TREC RAG
    "support": ("citation_precision", "citation_recall"),
}
# What should be known of a set beside its measures.
_AFTER = "after the track's guidelines of 2026-07-29, before anything was printed officially"
# Under which rules (`--compat`) a set of measures of answers has its program's figures, where something is
# undefined or missing.
COMPAT_OF: Mapping[str, str] = {
    "nuggetizer": "nuggetizer",
    "crag": "crag",
    "ragtime": "auto-argue",
    "biogen": "medaesqa",
    "ragchecker": "ragchecker",
}
SAID_OF = {
    "rag25": "after the track's description; the set of the overview may hold more",
    "rag26": _AFTER + "; win rates are those of `rageval arena`",
    "rag26-retrieval": _AFTER,
}
