"""The counter-examples of the field, as inputs: what each shows, and the measures it shows it with."""

from __future__ import annotations

from typing import Any

from vectors import RunVector

Qrels = dict[str, dict[str, dict[str, int]]]
Run = dict[str, dict[str, float]]
IDEAL_IS_GREEDY = ["alpha_ndcg@2", "alpha_ndcg@3", "alpha_ndcg", "nerr_ia@2", "nnrbp"]


def supported(sets: dict[str, str]) -> Qrels:
    """Judgements of query q from documents and the nuggets they support, a letter each."""
    names = sorted(set("".join(sets.values())))
    return {"q": {f"n{name}": {doc: 1 for doc in sets if name in sets[doc]} for name in names}}


def ranked(docs: str) -> Run:
    """Query q's documents in this order."""
    words = docs.split()
    return {"q": {doc: float(len(words) - rank) for rank, doc in enumerate(words)}}


ABOVE_1 = {"dA": "12", "dB": "34", "dZ": "13"}
BASE_RUN = {
    "101": {"dA": 9.0, "dC": 8.0, "dB": 7.0, "dX": 6.0, "dD": 5.0},
    "102": {"dF": 9.0, "dE": 8.0},
    "103": {"dG": 5.0, "dY": 4.0, "dH": 3.0},
}
BASE_QRELS: Qrels = {
    "101": {"n1": {"dA": 1, "dB": 1}, "n2": {"dA": 1}, "n3": {"dD": 1}},
    "102": {"n1": {"dE": 1}, "n2": {"dE": 1}},
    "103": {"n1": {"dG": 1}, "n2": {"dH": 1}, "n3": {"dZ": 1}},
}
TIED: Run = {"q": {"d4": 1.0, "d3": 1.0, "d2": 1.0, "d1": 1.0}}
LONG: Run = {"q": {**{f"u{rank:02}": 99.0 - rank for rank in range(30)}, "a": 1.0}}
ONE: Qrels = {"q": {"n1": {"d1": 1}}}
USUAL = [
    *("alpha_ndcg@5", "alpha_dcg@5", "coverage@5", "strec@5", "err_ia@5", "nerr_ia@5", "nrbp", "nnrbp"),
    *("map_ia", "p_ia@5", "recall@3", "ndcg@5", "ap", "rr", "p@5", "success@1", "all_gold@5", "judged@5"),
    "hole@5",
]

# name, what it shows, run, judgements, measures, and what else a vector holds
COUNTER_EXAMPLES: list[tuple[str, str, Run, Qrels, list[str], dict[str, Any]]] = [
    ("everyday", "three queries as everybody scores them", BASE_RUN, BASE_QRELS, USUAL, {}),
    (
        "greedy-ideal",
        "greedy is not optimal: values above 1",
        ranked("dA dB dZ"),
        supported(ABOVE_1),
        IDEAL_IS_GREEDY,
        {},
    ),
    (
        "exact-ideal",
        "over the best ranking, 1 is the most",
        ranked("dA dB dZ"),
        supported(ABOVE_1),
        ["alpha_ndcg(ideal=exact)@2"],
        {},
    ),
    (
        "renamed",
        "the same with dZ called d0: ties of the ideal fall otherwise",
        ranked("dA dB d0"),
        supported({"dA": "12", "dB": "34", "d0": "13"}),
        IDEAL_IS_GREEDY,
        {},
    ),
    (
        "three-documents",
        "1.0177, without any tie in the run",
        ranked("a b c"),
        supported({"a": "13", "b": "02", "c": "03"}),
        ["alpha_ndcg", "alpha_ndcg@3", "alpha_ndcg@20"],
        {},
    ),
    (
        "untied-ideal",
        "1.0077, without any tie in the ideal",
        ranked("A D C B"),
        supported({"A": "01456", "B": "01567", "C": "267", "D": "0135"}),
        ["alpha_ndcg@3"],
        {},
    ),
    (
        "multisets",
        "equal multisets of counts gain the same, in whatever order nuggets are added",
        ranked("d0 d1 d2 d3"),
        supported({"d0": "234", "d1": "0245", "d2": "124", "d3": "015"}),
        ["alpha_ndcg(alpha=0.6)@3"],
        {},
    ),
    (
        "plain-dcg",
        "alpha 0 and a nugget a document: plain DCG",
        ranked("a b c"),
        supported({"a": "1", "c": "2"}),
        ["alpha_dcg(alpha=0)", "alpha_dcg(alpha=0)@2"],
        {},
    ),
    (
        "repeated",
        "a repeated nugget is worth half, then a quarter",
        ranked("a b c"),
        supported({"a": "1", "b": "1", "c": "1"}),
        ["alpha_dcg@3", "alpha_dcg(alpha=1)@3", "nrbp(alpha=0.5,beta=0.8)"],
        {},
    ),
    (
        "beyond-the-run",
        "alpha-nDCG goes on falling below the end of the run; coverage does not",
        ranked("a"),
        supported({"a": "1", "b": "2"}),
        ["alpha_ndcg@1", "alpha_ndcg@2", "coverage@1", "coverage@2"],
        {},
    ),
    (
        "old-nuggets",
        "more nuggets above fewer can hurt",
        ranked("a c d b"),
        supported({"a": "0", "b": "1", "c": "02", "d": "02"}),
        ["alpha_dcg", "alpha_ndcg"],
        {},
    ),
    (
        "ties",
        "four equal scores, the lowest id relevant",
        TIED,
        ONE,
        [
            *("alpha_ndcg@1", "alpha_ndcg@4", "coverage@1", "recall@1", "rr", "rr@10", "ndcg@5", "ap"),
            *("nerr_ia@4", "strec@2"),
        ],
        {},
    ),
    (
        "ties-ascending",
        "the same by document id ascending",
        TIED,
        ONE,
        ["alpha_ndcg@1", "coverage@1", "recall@1", "rr"],
        {"options": {"ties": "docid_asc"}},
    ),
    (
        "ties-expected",
        "the same as the mean over all orders",
        TIED,
        ONE,
        ["alpha_ndcg@2", "coverage@1", "recall@1", "ndcg@5"],
        {"options": {"ties": "expected"}},
    ),
    (
        "ties-partial",
        "ties across the cut-off, two nuggets in the tied group",
        {"q": {"a": 3.0, "b": 1.0, "c": 1.0, "d": 1.0, "e": 1.0}},
        supported({"b": "1", "c": "12", "e": "2"}),
        ["alpha_ndcg@2", "alpha_ndcg@4", "coverage@3", "recall@2"],
        {"options": {"ties": "expected"}},
    ),
    (
        "bytes",
        "equal scores go by the bytes of ids, not by code points of UTF-16",
        {"q": {"～": 1.0, "𝔘": 1.0, "e\u0301": 1.0, "é": 1.0, "Z": 1.0, "a": 1.0}},
        {"q": {"n": {"～": 1, "e\u0301": 1}}},
        ["rr", "ap", "ndcg@3"],
        {},
    ),
    (
        "32-bits",
        "scores that differ in the 25th bit",
        {"q": {"a": 16777217.0, "b": 16777216.0}},
        {"q": {"n": {"a": 1}}},
        ["rr", "ndcg@1", "alpha_ndcg@1", "recall@1"],
        {"topics": ["single"]},
    ),
    ("minus-zero", "-0 is 0: a tie", {"q": {"b": -0.0, "a": 0.0}}, {"q": {"n": {"b": 1}}}, ["rr"], {}),
    (
        "prefix",
        "query 7 and query 70: each has its own nuggets",
        {"7": {"a": 1.0}, "70": {"b": 1.0}},
        {"7": {"0": {"a": 1}}, "70": {"0": {"b": 1}}},
        ["coverage@5", "alpha_ndcg@5", "recall@5"],
        {"topics": ["prefix"]},
    ),
    (
        "missing-query",
        "a judged query that the run lacks is worth 0",
        {"p": {"a": 1.0}},
        {"p": {"n": {"a": 1}}, "q": {"n": {"a": 1}}},
        ["alpha_ndcg@5", "coverage@5", "recall@5", "ndcg@5", "rr"],
        {},
    ),
    (
        "unjudged-query",
        "a query that only the run has changes nothing",
        {"p": {"a": 1.0}, "z": {"a": 1.0}},
        {"p": {"n": {"a": 1}}},
        ["alpha_ndcg@5", "coverage@5", "recall@5", "ndcg@5", "rr"],
        {},
    ),
    (
        "irrelevant",
        "judged, and nothing relevant: 0, not 0 divided by 0",
        {"q": {"a": 1.0}, "p": {"a": 1.0}},
        {"q": {"n": {"a": 0}}, "p": {"n": {"a": 1}}},
        ["alpha_ndcg@5", "nnrbp", "nrbp", "map_ia", "nerr_ia@5", "recall@5", "ndcg@5", "ap"],
        {},
    ),
    (
        "negative",
        "spam (-2) is judged, and worth as much as 0",
        {"q": {"a": 3.0, "b": 2.0, "c": 1.0}},
        {"q": {"n1": {"a": -2, "b": 1}, "n2": {"c": 2}}},
        ["alpha_ndcg@5", "ndcg@5", "ap", "judged@2", "recall@2"],
        {},
    ),
    (
        "graded",
        "nDCG is of grades, and a document has its highest",
        {"q": {"a": 3.0, "b": 2.0, "c": 1.0}},
        {"q": {"n1": {"a": 1, "b": 3}, "n2": {"a": 2, "b": 1, "c": 1}}},
        ["ndcg@2", "ndcg", "ndcg(dcg=exp_log2)@3", "ap(rel=2)", "alpha_ndcg(rel=2)@3"],
        {},
    ),
    (
        "last-nugget",
        "relevant for one nugget, not for the next: relevant",
        {"q": {"a": 2.0, "b": 1.0}},
        {"q": {"n1": {"a": 1}, "n2": {"a": 0}}},
        ["recall@2", "ndcg@10", "ap"],
        {"topics": ["documents"]},
    ),
    (
        "unsupported",
        "a nugget that no document supports counts for coverage, not for strec",
        ranked("a b"),
        {"q": {"n1": {"a": 1}, "n2": {"a": 0, "b": 0}}},
        ["coverage@1", "coverage(denominator=attainable)@1", "strec@1", "alpha_ndcg@2"],
        {},
    ),
    (
        "holes",
        "a document that only another query judged is not judged",
        {"p": {"a": 2.0, "b": 1.0}, "q": {"b": 1.0}},
        {"p": {"n": {"a": 1}}, "q": {"n": {"b": 1}}},
        ["hole@2", "judged@2", "hole@1"],
        {"topics": ["holes"]},
    ),
    (
        "deep",
        "cut-offs beyond 20",
        LONG,
        {"q": {"n": {"a": 1}}},
        ["alpha_ndcg@20", "alpha_ndcg@31", "alpha_ndcg@50", "coverage@50", "strec@50", "nerr_ia@50"],
        {},
    ),
    (
        "first-rank",
        "normalized without the collection, at the first rank, too",
        ranked("a b"),
        supported({"a": "123", "b": "1"}),
        [
            *("alpha_dcg(normalize=independent)@1", "err_ia@1", "alpha_dcg(normalize=independent)@2"),
            *("err_ia@2", "alpha_dcg@1", "alpha_dcg(normalize=ndeval)@1"),
        ],
        {},
    ),
    (
        "two-alphas",
        "two values of alpha in one call",
        BASE_RUN,
        BASE_QRELS,
        ["alpha_ndcg@5", "alpha_ndcg(alpha=0.25)@5"],
        {"topics": ["together"], "together": True},
    ),
    (
        "judged-only",
        "the unjudged document is taken out first",
        {"q": {"unjudged": 2.0, "a": 1.0}},
        {"q": {"n": {"a": 1}}},
        ["alpha_ndcg@1", "recall@1", "ndcg@1"],
        {"topics": ["judged_only"], "options": {"judged_only": True}},
    ),
    (
        "subtopic-id",
        "nuggets in a column called subtopic_id",
        {"q": {"a": 2.0, "b": 1.0}},
        supported({"a": "1", "b": "1", "c": "2"}),
        ["alpha_ndcg@2"],
        {"topics": ["column"], "column": "subtopic_id"},
    ),
    (
        "topic-numbers",
        "MB-7 and DL-7 are two topics",
        {"MB-7": {"a": 1.0}, "DL-7": {"a": 1.0}},
        {"MB-7": {"n": {"a": 1}}, "DL-7": {"n": {"b": 1}}},
        ["rr", "alpha_ndcg@5"],
        {},
    ),
]

# Inputs as rows, where a mapping could not hold them, with words of the refusal.
A_B = [("q", "a", 2.0), ("q", "b", 1.0)]
QUESTIONABLE: list[RunVector] = [
    RunVector(
        "twice",
        "a document ranked twice",
        [("q", "a", 3.0), *A_B],
        [("q", "n1", "a", 1), ("q", "n2", "b", 1)],
        dict.fromkeys(("alpha_ndcg@2", "recall@2", "ndcg@2"), "ranked twice"),
        ["twice"],
    ),
    RunVector(
        "no-number",
        "a score that is no number",
        [("q", "b", 2.0), ("q", "a", "nan")],
        [("q", "n", "a", 1)],
        dict.fromkeys(("rr", "ndcg@2", "alpha_ndcg@2"), "finite decimal number"),
        ["no_number"],
    ),
    RunVector(
        "infinite",
        "a score without end",
        [("q", "b", "inf"), ("q", "a", 2.0)],
        [("q", "n", "a", 1)],
        dict.fromkeys(("rr", "ndcg@2"), "finite decimal number"),
        ["no_number"],
    ),
    RunVector(
        "conflict",
        "two judgements of one document for one nugget",
        A_B,
        [("q", "n", "a", 1), ("q", "n", "a", 0), ("q", "n", "b", 1)],
        dict.fromkeys(("ndcg@5", "alpha_ndcg@5", "recall@1"), "remove the wrong one"),
        ["conflict"],
    ),
    RunVector(
        "nothing-in-common",
        "no query in common",
        [("xq", "a", 1.0)],
        [("q", "n", "a", 1)],
        dict.fromkeys(("ndcg@10", "alpha_ndcg@10", "recall@10"), "is judged"),
        ["nothing"],
    ),
]


def answer(run: str = "r", query: str = "q", **more: Any) -> dict[str, Any]:
    return {"query_id": query, "run_id": run} | more


def nuggets(*labels: tuple[str, str | None]) -> list[dict[str, Any]]:
    return [
        answer(aspect=f"n{index}", importance=importance)
        | ({"label": label} if label else {"status": "error"})
        for index, (importance, label) in enumerate(labels)
    ]


V_AND_A = ["v_strict", "a_strict", "v", "a", "w"]
CITED = [
    f"citation_{what}(citations={which})"
    for what, which in (
        ("precision", "first"),
        ("precision", "all"),
        ("precision", "micro"),
        ("recall", "first"),
        ("recall", "all"),
    )
]


def cited_rows() -> list[dict[str, Any]]:
    """The first sentence cites what supports it and what does not, the second support, the third nothing."""
    labels = (("0", "a", "full_support"), ("0", "b", "no_support"), ("1", "a", "full_support"))
    return [answer(aspect=sentence, item_id=doc, sentences=3, label=label) for sentence, doc, label in labels]


def rows_of_places(**places: int) -> list[dict[str, Any]]:
    return [answer(run, aspect="order 0", grade=place) for run, place in places.items()]


ANSWERS: list[tuple[str, str, list[dict[str, Any]], list[str], dict[str, Any]]] = [
    (
        "nuggets",
        "vital, okay; support, partial and none",
        nuggets(
            ("vital", "support"),
            ("vital", "partial_support"),
            ("vital", "not_support"),
            ("okay", "support"),
            ("okay", "partial_support"),
        ),
        V_AND_A,
        {},
    ),
    (
        "no-okay",
        "a perfect answer to a question without okay nuggets scores 1",
        nuggets(("vital", "support"), ("vital", "support")),
        V_AND_A,
        {},
    ),
    (
        "no-vital",
        "without vital nuggets vital recall is undefined, not 0",
        nuggets(("okay", "support"), ("okay", "not_support")),
        V_AND_A,
        {"topics": ["vitalless"]},
    ),
    (
        "failed",
        "a judgement that failed is left out, not counted as not supported",
        nuggets(("vital", "support"), ("vital", None), ("okay", "support")),
        V_AND_A,
        {"topics": ["failed"], "options": {"on_missing": "skip"}},
    ),
    ("citations", "three ways to count citations: 1, 0.75, 0.667", cited_rows(), CITED, {}),
    (
        "crag",
        "the four grades",
        [answer(query=label, label=label) for label in ("perfect", "acceptable", "missing", "incorrect")],
        ["crag_score", "accuracy", "hallucination", "missing"],
        {},
    ),
    (
        "liverag",
        "grades need not be whole",
        [answer(aspect="correctness", grade=1.5), answer(aspect="faithfulness", grade=-0.5)],
        ["correctness", "faithfulness"],
        {},
    ),
    ("listwise", "the i-th of four gets (5 - i) / 4", rows_of_places(a=1, b=2, c=3, d=4), ["rank_score"], {}),
    (
        "listwise-invalid",
        "an order that is no permutation is discarded",
        [*rows_of_places(a=1, b=2), *({**row, "aspect": "order 1"} for row in rows_of_places(a=1, b=1))],
        ["rank_score", "rank_score(invalid=query)"],
        {"options": {"on_missing": "skip"}},
    ),
]
