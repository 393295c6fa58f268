"""A system that is worse on every query is never the best, bold, the baseline, "higher" or "better": nowhere.

The law is tried on every measure at every value of its documented parameters, on measures of ir_measures and
of a plug-in, in every format. Which way is better is written down here once more, by what a measure means; a
measure that stands in no table fails.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import rageval
from rageval import plugins
from rageval.cli import main
from rageval.comparison import Settings, compare, compare_runs
from rageval.comparison.passport import passport
from rageval.comparison.results import claimed as claimed_ruling
from rageval.core.basis import UNSTATED
from rageval.core.ruling import Ruling
from rageval.errors import MeasureError
from rageval.judges.votes import place
from rageval.measures import builtin
from rageval.measures.base import Measure
from rageval.measures.foreign import ForeignMeasure, _foreign_measure
from rageval.measures.parsing import parse_measure
from rageval.pages._parts import asset
from rageval.pages.page import _MOST_PAIRS, read_report
from rageval.pages.report import _most_telling
from rageval.scoring.scores import Score, Scores
from rageval.subjects import ANSWERS, kind_of_measure

SYSTEMS = ("bad", "good", "middle")  # the first one given is the worst
# So many that an interval of differences which are all the same excludes 0.
QUERIES = [str(query) for query in range(1, 41)]

# --- which way is better, by what the measures mean ---

RISING = {
    *("alpha_ndcg", "alpha_dcg", "coverage", "strec", "err_ia", "nerr_ia", "nrbp", "nnrbp", "map_ia", "p_ia"),
    *("d_ndcg", "i_rec", "d_sharp"),
    *("span_recall", "span_precision", "span_iou"),
    *("recall", "ndcg", "ap", "rr", "p", "success", "all_gold", "judged"),
    *("nugget_recall", "nugget_density", "nugget_f", "rubric_score", "crag_score", "correctness"),
    *("faithfulness", "citation_precision", "citation_recall", "rank_score", "win_rate"),
    *(
        *("bank_precision", "bank_recall", "bank_groundedness", "lexical_recall", "token_f1", "grade"),
        *("pass_any", "pass_all", "pass_rate"),
    ),
    *("refusal_f1", "answerable_f1", "grounded_refusal"),
    *("answer_precision", "answer_recall", "answer_f1", "claim_recall", "context_precision"),
    *("context_utilization", "claim_faithfulness", "all_supported"),
    *("alce_recall", "alce_precision", "alce_f1", "trust_score", "healthbench_score"),
}
RISING |= {"ragas_faithfulness", "ragas_answer_correctness", "ragas_factual_correctness"}
RISING |= {"ragas_context_precision", "ragas_context_recall"}
RISING |= {"citation_relevance", "sentence_support", "nugget_coverage", "argue_f1", "dragun_support"}
RISING |= {"dragun_questions", "answer_accuracy", "citation_coverage", "document_precision"}
RISING |= {"document_recall", "agreement", "seen_agreement", "selective"}
RISING |= {"seen_recall", "recall_area", "first_useful", "nuggets_seen", "nugget_gain", "session_dcg"}
RISING |= {"turn_truthfulness", "conversation_score", "all_turns", "conditioned"}
RISING |= {"calls_precision", "calls_recall", "calls_f1", "calls_order"}
RISING |= {"cited_recall", "cited_precision", "cited_seen", "used_recall", "kept", "completed"}
FALLING = {"dragun_contradiction", "hole", "over_refusal", "false_answer_rate"}
FALLING |= {"searches_to", "redundancy", "idle_searches", "repeated_calls", "calls", "searches"}
FALLING |= {"input_tokens", "output_tokens", "cost", "seconds", "unseen", "uncited"}
FALLING |= {"brier", "calibration_error", "cost_per_correct"}
FALLING |= {"noise_relevant", "noise_irrelevant", "claim_hallucination"}
NEITHER = {"length", "citations", "sentence_count", "nugget_count", "answer_rate", "self_knowledge"}
BY_LEVEL: dict[str, tuple[str, dict[Any, str]]] = {
    "crag_share": (
        "label",
        {
            "accurate": "higher",
            "perfect": "higher",
            "acceptable": "neither",
            "missing": "lower",
            "incorrect": "lower",
        },
    ),
    "correctness_share": ("level", {2: "higher", 1: "neither", 0: "lower", -1: "lower"}),
    "faithfulness_share": ("level", {1: "higher", 0: "neither", -1: "lower"}),
    "sentence_share": (
        "label",
        {
            "required": "higher",
            "borderline": "neither",
            "unnecessary": "lower",
            "inappropriate": "lower",
            "unlabelled": "neither",
        },
    ),
    "citation_share": (
        "label",
        {
            "supports": "higher",
            "partial": "neither",
            "neutral": "neither",
            "none": "lower",
            "contradicts": "lower",
        },
    ),
    "audit_share": (
        "label",
        {"relevant": "higher", "partially_relevant": "neither", "non_relevant": "lower"},
    ),
}
# Numbers that a parameter without a list of values is tried at.
TRIED = {"alpha": (0.0, 0.5, 1.0), "gamma": (0.0, 0.5, 1.0), "beta": (0.25, 0.75), "rel": (1, 2)}
TRIED |= {
    "recall": (0.5, 1.0),
    "b": (2.0, 10.0),
    "bq": (4.0,),
    **dict.fromkeys(("tokens", "cost", "seconds"), (20.0,)),
}
TRIED |= {"of": ("crag_share", "accuracy"), "least": (0.5, 1.0)}  # type: ignore[dict-item]
TRIED |= {"bin_size": (2, 100), "coverage": (0.5, 1.0)}
TRIED |= {"aspect": ("score",), "low": (0.0, -1.0), "high": (1.0, 5.0)}  # type: ignore[dict-item]
BUDGETS = {"tokens", "cost", "seconds"}
FOREIGN = {
    **dict.fromkeys(
        [
            *("AP", "AP_IA", "BPM", "BPref", "Bpref", "Compat", "ERR", "ERR_IA", "INSQ", "INST", "IPrec"),
            *("Accuracy", "Judged", "MAP", "MAP_IA", "MRR", "NDCG", "NERR10", "NERR11", "NERR8", "NERR9"),
            *("NRBP", "NumRelRet", "P", "P_IA", "Precision", "R", "RBP", "RPrec", "RR", "Recall", "Rprec"),
            *("SDCG", "SetAP", "SetF", "SetP", "SetR", "SetRelP", "StRecall", "Success", "alpha_DCG"),
            *("alpha_nDCG", "infAP", "nDCG", "nERR_IA", "nNRBP", "α_DCG", "α_nDCG"),
        ],
        "higher",
    ),
    **dict.fromkeys(["NumQ", "NumRel", "NumRet"], "neither"),
}
NEEDED = {"Accuracy": "", "IPrec": "@0.1", "RBP": "(rel=1)@5"}
NEEDED |= dict.fromkeys(("BPM", "SDCG", "NERR8", "NERR9"), "(max_rel=2)@5")
NEEDED |= dict.fromkeys(("INSQ", "INST", "NERR10", "NERR11"), "(max_rel=2)")


def expected(measure: Measure) -> str:
    if measure.name in BY_LEVEL:
        name, ways = BY_LEVEL[measure.name]
        return ways[measure.parameters[name]]
    tables = {"higher": RISING, "lower": FALLING, "neither": NEITHER}
    tables_with_it = [way for way, names in tables.items() if measure.name in names]
    where = "one of RISING, FALLING, NEITHER"
    assert len(tables_with_it) == 1, (
        f"{measure.name} stands in {len(tables_with_it)} tables; add it to {where}"
    )
    return tables_with_it[0]


def variants(measure: Measure) -> list[Measure]:
    """The measure at every value of each parameter, with a cut-off where it takes one."""
    options_tried = [measure]
    for parameter in measure.declared.values():
        values = parameter.choices or TRIED.get(parameter.name) or parameter.levels
        assert values, f"{measure.name}: say at which values of {parameter.name} it is tried"
        options_tried += [measure(**{parameter.name: value}) for value in values]
    # Of one answer to each question there are no more than one to draw.
    k = {"all_gold": 10, "pass_any": 1, "pass_all": 1}.get(measure.name, 5)
    # A budget takes the place of a cut-off.
    cut = [
        variant @ k if measure.takes_k and not variant.changed.keys() & BUDGETS else variant
        for variant in options_tried
    ]
    return list(dict.fromkeys(cut))


ALL = [variant for measure in builtin().values() for variant in variants(measure)]
OF_RUNS = [measure for measure in ALL if measure.argument == "Ranking"]
OF_TRAJECTORIES = [measure for measure in ALL if measure.argument == "Trajectory"]
OF_ANSWERS = [measure for measure in ALL if kind_of_measure(measure) is ANSWERS]


def test_every_measure_stands_in_one_table() -> None:
    names = [*RISING, *FALLING, *NEITHER, *BY_LEVEL]
    assert sorted(names) == sorted(builtin())


def test_a_measure_says_what_it_means() -> None:
    for measure in ALL:
        assert measure.better == expected(measure), measure
        assert parse_measure(str(measure)).better == expected(measure), measure


def test_a_measure_of_ir_measures_says_what_it_means() -> None:
    import ir_measures

    own = set(builtin())  # which another test may have installed there
    names = set(ir_measures.measures.registry) - own
    assert names <= set(FOREIGN)
    for name in names:
        measure = _foreign_measure(name + NEEDED.get(name, ""))
        assert measure is None or measure.better == FOREIGN[name], name


# --- three systems, one of which is worse on every query ---

RANKED = {
    "good": "r1 r3 r5 r2 r4 r6 z1 z2 z3 z4",
    "middle": "r1 z1 r3 u1 r2 z2 r5 u2 z3 z4",
    "bad": "u3 u4 z1 z2 u5 z3 r2 u6 z4 z5",
}
NUGGETS = {"n1": "r1 r2", "n2": "r3 r4", "n3": "r5 r6"}


@pytest.fixture(scope="module", name="runs")
def runs_(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three runs and the judgements."""
    folder = tmp_path_factory.mktemp("runs")
    for name, docs in RANKED.items():
        lines = [
            f"{q} Q0 {d} {index} {99 - index} {name}\n"
            for q in QUERIES
            for index, d in enumerate(docs.split(), 1)
        ]
        (folder / name).write_text("".join(lines))
    judged = [
        f"{q} {nugget} {doc} {2 if doc in docs.split() else 0}\n"
        for q in QUERIES
        for nugget, docs in NUGGETS.items()
        for doc in [*docs.split(), *(f"z{index}" for index in range(1, 6))]
    ]
    (folder / "qrels").write_text("".join(judged))
    return [str(folder / name) for name in (*SYSTEMS, "qrels")]


# What each system's searches return, and what its answers cite. The worst repeats its last search, and fails.
SEARCHED = {
    "good": ("r1 r3 r5", "r2 r4 r6"),
    "middle": ("z1 r1", "r3 z2", "z1 r5"),
    "bad": ("z1 z2", "z1 u1", "z2 u2", "z1 u1", "z2 r2 z1"),
}
CITES = {"good": "r1 r2 r3 r4 r5 r6", "middle": "r1 r3 z1", "bad": "u5 z3"}


def steps_of(system: str) -> Iterator[dict[str, Any]]:
    """The steps of a system for one question."""
    for number, docs in enumerate(SEARCHED[system]):
        price = {"good": 1, "middle": 2, "bad": 4}[system]
        used = dict.fromkeys(("input_tokens", "output_tokens", "cost", "seconds"), price)
        yield {"kind": "model", **used}
        tool = "dense" if system == "bad" or (system == "middle" and number) else "bm25"
        yield {"kind": "search", "tool": tool, "query": f"q{min(number, 3)}", "docs": docs.split()}
    if system == "bad":
        yield {"kind": "answer", "status": "error"}


# What each system is given: of ten judges, how many say what; of items, grades.
CRAG = {
    "good": {"perfect": 8, "acceptable": 1, "missing": 1, "incorrect": 0},
    "middle": {"perfect": 4, "acceptable": 2, "missing": 2, "incorrect": 2},
    "bad": {"perfect": 1, "acceptable": 1, "missing": 4, "incorrect": 4},
}
CORRECT = {"good": [8, 1, 1, 0], "middle": [4, 2, 2, 2], "bad": [1, 1, 4, 4]}  # of the levels 2, 1, 0, −1
FAITHFUL = {"good": [8, 2, 0], "middle": [4, 3, 3], "bad": [1, 3, 6]}  # of the levels 1, 0, −1
AUDIT = {"good": "rrrrrrrppn", "middle": "rrrrppppnn", "bad": "rppppnnnnn"}
SUPPORT = {  # of two vital nuggets and two okay ones
    "good": ("support", "support", "support", "support"),
    "middle": ("support", "partial_support", "support", "partial_support"),
    "bad": ("partial_support", "not_support", "partial_support", "not_support"),
}
CITED = {
    "good": (("full_support", "full_support"), ("full_support", "full_support")),
    "middle": (("full_support", "partial_support"), ("partial_support", "no_support")),
    "bad": (("partial_support", "no_support"), ("no_support", "no_support")),
}
PLACE = {"good": 1, "middle": 2, "bad": 3}
SHARE = {"good": 0.9, "middle": 0.5, "bad": 0.1}
FAULTS = {"good": 0, "middle": 2, "bad": 4}  # of five nuggets
TEXTS = {"good": "nine words are here and each is counted once", "middle": "six words are " + "here " * 9}
TEXTS["bad"] = "many " * 300


def rows_of(system: str) -> Iterator[dict[str, Any]]:
    """Everything that is said of a system's answer to one question."""
    labels = [label for label, count in CRAG[system].items() for _ in range(count)]
    levels = [level for level, n in zip((2, 1, 0, -1), CORRECT[system], strict=True) for _ in range(n)]
    faithful = [level for level, n in zip((1, 0, -1), FAITHFUL[system], strict=True) for _ in range(n)]
    for index in range(10):
        judge = f"judge {index}"
        yield {"aspect": "0", "label": labels[index], "rubric": "crag", "judge": judge, "answerable": True}
        yield {"aspect": "correctness", "grade": levels[index], "rubric": "liverag", "judge": judge}
        yield {"aspect": "faithfulness", "grade": faithful[index], "rubric": "liverag", "judge": judge}
    names = {"r": "relevant", "p": "partially_relevant", "n": "non_relevant"}
    for index, letter in enumerate(AUDIT[system]):
        yield {"item_id": f"d{index}", "aspect": "n1", "label": names[letter], "rubric": "audit"}
    for nugget in range(5):
        has = int(nugget < FAULTS[system])
        for aspect in ("redundant", "hallucinated"):
            yield {"item_id": f"n{nugget}", "aspect": aspect, "grade": has, "rubric": "nugget-quality"}
    yield {"aspect": "lacking", "grade": FAULTS[system], "rubric": "nugget-quality"}
    yield {"aspect": "order 1", "grade": PLACE[system], "rubric": "listwise"}
    for other in PLACE.keys() - {system}:
        label = "win" if PLACE[system] < PLACE[other] else "loss"
        yield {"aspect": "-".join(sorted((system, other))), "label": label, "rubric": "pairwise"}
    for nugget in range(4):
        facts = {"importance": "vital" if nugget < 2 else "okay", "rubric": "lexical", "judge": "lexical"}
        yield {"aspect": f"l{nugget}", "grade": SHARE[system], **facts}
    yield {"aspect": "f", "grade": SHARE[system], "rubric": "token-f1", "judge": "token_f1"}
    for index in range(5):
        label = "fail" if index < FAULTS[system] else "pass"
        yield {
            "aspect": "score",
            "grade": SHARE[system],
            "label": label,
            "rubric": "tool",
            "judge": f"j{index}",
        }


# What entails each claim of an answer, and of gold: `g` the gold answer, `a` the answer, 1 to 3 a passage.
CLAIMS = {
    "good": (["g1", "g1", "g1", "g12", "g12", "g1"], ["a12", "a12", "a1", "a1"], "12"),
    "middle": (["1", "2", "", "g1", "g1", "g1"], ["a1", "1", "a", ""], "12"),
    "bad": (["1", "1", "2", "2", "", ""], ["1", "", "", ""], "123"),
}

FIRST_USEFUL = {"good": 0, "middle": 1, "bad": 2}  # the place of the only useful context


def claimed(system: str) -> Iterator[dict[str, Any]]:
    own, gold, passages = CLAIMS[system]
    for kind, claims, other in (("response", own, "gold"), ("gold", gold, "answer")):
        for index, by in enumerate(claims):
            for item in (other, *passages):
                label = "entailment" if item[0] in by else "neutral"
                yield {"aspect": f"{kind}:{index}", "item_id": item, "label": label, "rubric": "entailment"}
            facts = {"aspect": f"{kind}:{index}", "rubric": "ragas-support"}
            for item, is_there in ((other, other[0] in by), ("*", bool({*by} & {*passages}))):
                yield facts | {"item_id": item, "label": "supported" if is_there else "not_supported"}
            label = "matched" if other[0] in by else "unmatched"
            yield facts | {"rubric": "ragas-match", "item_id": other, "label": label}
    for index in range(3):
        label = "useful" if index == FIRST_USEFUL[system] else "not_useful"
        yield {"aspect": str(index), "item_id": f"d{index}", "label": label, "rubric": "ragas-context"}


def supported(system: str) -> Iterator[dict[str, Any]]:
    for index, label in enumerate(SUPPORT[system]):
        importance = "vital" if index < 2 else "okay"
        yield {
            "aspect": f"s{index}",
            "label": label,
            "importance": importance,
            "weight": 2.0,
            "rubric": "rubric",
        }


def cited(system: str) -> Iterator[dict[str, Any]]:
    """What is said of the citations of an answer of two sentences, which knows no other text."""
    for sentence, labels in enumerate(CITED[system]):
        for index, label in enumerate(labels):
            facts = {"rubric": "citation-support", "sentences": 2}
            yield {"item_id": f"c{index}", "aspect": str(sentence), "label": label, **facts}


def decided(system: str, answerable: bool) -> Iterator[dict[str, Any]]:
    """What ten judges say of an answer to a question that can be answered, or cannot: was it refused?"""
    for index in range(10):
        label = "missing" if (index < FAULTS[system]) == answerable else "perfect"
        yield {"label": label, "answerable": answerable, "rubric": "crag", "judge": f"judge {index}"}


TOGETHER = {  # of two sentences that cite two documents each: what is said of both, of each, of all but each
    "good": ("yyynn", "yyynn"),
    "middle": ("yynyn", "nnnnn"),
    "bad": ("nnnnn", "nnnnn"),
}


def together(system: str) -> Iterator[dict[str, Any]]:
    for sentence, labels in enumerate(TOGETHER[system]):
        for item, label in zip(("*", "c0", "c1", "-c1", "-c0"), labels, strict=True):
            judgement = {"label": {"y": "yes", "n": "no"}[label], "rubric": "citations-together"}
            yield {"item_id": item, "aspect": str(sentence), **judgement}


# Of ten sentences, each citing a document: how many are what, best first; the rest is the last.
RELEVANT = {
    "required": (7, 4, 1),
    "unnecessary": (1, 2, 4),
    "inappropriate": (1, 2, 3),
    "borderline": (1, 2, 2),
}
STANCES = {"supports": (7, 4, 1), "none": (1, 2, 4), "contradicts": (1, 2, 3), "neutral": (1, 2, 2)}
ATTESTED = {"full_support": (8, 5, 2), "no_support": (2, 5, 8)}
OF_BANK = {"relevant": (9, 5, 1), "not_relevant": (1, 5, 9)}
ANSWERED = {"support": (8, 5, 2), "not_support": (2, 5, 8)}
SAID = {"supports": (7, 4, 2), "contradicts": (0, 2, 5), "none": (3, 4, 3)}
ASKED = {"very_similar": (6, 3, 0), "similar": (3, 4, 3), "different": (1, 3, 7)}
OF_TRACKS = {
    *(
        *("citation_relevance", "sentence_support", "nugget_coverage", "argue_f1", "sentence_count"),
        "nugget_count",
    ),
    *("dragun_support", "dragun_contradiction", "dragun_questions", "answer_accuracy", "sentence_share"),
    *("citation_coverage", "citation_share", "document_precision", "document_recall"),
}


def of_tracks(system: str) -> Iterator[dict[str, Any]]:
    """What assessors of tracks say of a report or an answer of ten sentences."""
    place = ("good", "middle", "bad").index(system)

    def ten(numbers: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[int, str]]:
        return enumerate(label for label, number in numbers.items() for _ in range(number[place]))

    cited = {"citation-stance": STANCES, "citation-support": ATTESTED, "citation-relevance": OF_BANK}
    for rubric, numbers in cited.items():
        for index, label in ten(numbers):
            facts = {"rubric": rubric, "sentences": 10}
            yield {"item_id": f"d{index}", "aspect": str(index), "label": label, **facts}
    for index, label in ten(RELEVANT):
        yield {"aspect": str(index), "label": label, "rubric": "sentence-relevance"}
    for rubric in ("nugget-support", "attested-nugget"):
        for index, label in ten(ANSWERED):
            yield {"aspect": f"n{index}", "label": label, "rubric": rubric}
    for index, label in ten(SAID):
        yield {"aspect": f"a{index}", "label": label, "weight": 1.0, "rubric": "stance"}
    for index, label in ten(ASKED):
        facts = {"weight": 1.0, "rubric": "question-similarity"}
        yield {"item_id": "1", "aspect": f"q{index}", "label": label, **facts}
    yield {"item_id": "1", "label": "single", "rubric": "compound-question"}
    for index in range(3):
        label = "accurate" if index < 3 - place else "inaccurate"
        yield {"aspect": "whole", "label": label, "rubric": "answer-accuracy", "judge": f"j{index}"}


Words = list[str]


@pytest.fixture(scope="module", name="inputs")
def inputs_(tmp_path_factory: pytest.TempPathFactory, runs: list[str]) -> dict[str, tuple[Words, list[Any]]]:
    """For each kind of data the words of the command line, and the measures that are tried on it."""
    folder = tmp_path_factory.mktemp("answers")
    answers = [{"query_id": q, "run_id": name, "answer": TEXTS[name]} for name in SYSTEMS for q in QUERIES]
    judged = written(folder / "judged.jsonl", lambda name: [*rows_of(name), *supported(name), *claimed(name)])
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    averaged = [measure for measure in OF_ANSWERS if measure.aggregate == "mean"]
    averaged = [measure for measure in averaged if measure.name not in OF_SEVERAL]
    tracks = [measure for measure in averaged if measure.name in OF_TRACKS]
    averaged = [measure for measure in averaged if measure not in tracks]
    citations = [measure for measure in averaged if measure.name.startswith("citation_")]
    decisions = {name: parse_measure(name) for name in ("over_refusal", "false_answer_rate")}
    alce = [measure for measure in averaged if measure.name.startswith("alce_")]
    others = [measure for measure in averaged if measure not in (*citations, *alce, *decisions.values())]
    sentences = [{"text": "So.", "citations": ["c0", "c1"]}] * 2
    citing = [
        {"query_id": q, "run_id": name, "answer": sentences, "references": ["c0", "c1"]}
        for name in SYSTEMS
        for q in QUERIES
    ]
    (folder / "citing.jsonl").write_text("".join(json.dumps(row) + "\n" for row in citing))
    of_alce = [written(folder / "together.jsonl", together), "--answers", str(folder / "citing.jsonl")]
    refused = {
        name: written(
            folder / f"{name}.jsonl", lambda system, is_negated=is_negated: decided(system, not is_negated)
        )
        for is_negated, name in enumerate(decisions)
    }
    citing_docs = [
        {"query_id": q, "run_id": name, "answer": [{"text": "So.", "citations": CITES[name].split()}]}
        for name in SYSTEMS
        for q in QUERIES
    ]
    (folder / "cites.jsonl").write_text("".join(json.dumps(row) + "\n" for row in citing_docs))
    agents = [written(folder / "steps.jsonl", steps_of), runs[-1], "--answers", str(folder / "cites.jsonl")]
    right = [{"tool": "bm25", "query": "q0"}, {"tool": "bm25", "query": "q1"}]
    asked = [{"query_id": q, "question": "?", "expected_calls": right} for q in QUERIES]
    (folder / "asked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    agents += ["--questions", str(folder / "asked.jsonl")]
    of_agents = [measure for measure in OF_TRAJECTORIES if measure.aggregate == "mean"]
    of_agents = [measure for measure in of_agents if measure.name not in OF_SEVERAL]
    return {
        "trajectories": (agents, of_agents),
        "runs": (runs, [measure for measure in OF_RUNS if measure.aggregate == "mean"]),
        "ir_measures": (runs, computed_by_ir_measures(runs)),
        "answers": ([judged, "--answers", str(folder / "answers.jsonl")], others),
        "citations": ([written(folder / "cited.jsonl", cited)], citations),
        "alce": (of_alce, alce),
        "tracks": ([written(folder / "tracks.jsonl", of_tracks)], tracks),
        **{name: ([refused[name]], [measure]) for name, measure in decisions.items()},
    }


def written(path: Path, rows: Callable[[str], Iterable[dict[str, Any]]]) -> str:
    written_rows = [
        {"query_id": q, "run_id": name, "conversation_id": q, "turn": 1, **row}
        for name in SYSTEMS
        for q in QUERIES
        for row in rows(name)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in written_rows))
    return str(path)


def computed_by_ir_measures(runs: Sequence[str]) -> list[ForeignMeasure]:
    """Every measure of ir_measures that is no mean of ours and that can be computed on this machine."""
    import ir_measures

    names = []
    for name in sorted(set(ir_measures.measures.registry) - set(builtin())):
        cutoff = "@5" if "cutoff" in ir_measures.measures.registry[name].SUPPORTED_PARAMS else ""
        measure = parse_measure(name + NEEDED.get(name, cutoff))
        if isinstance(measure, ForeignMeasure) and measure.aggregate == "mean" and can_compute(measure, runs):
            names.append(measure)
    assert {"Rprec", "Bpref", "SetP", "IPrec", "infAP"} <= {measure.name for measure in names}
    return list(dict.fromkeys(names))


def can_compute(measure: ForeignMeasure, runs: Sequence[str]) -> bool:
    try:
        rageval.evaluate([measure], runs[0], runs[-1])
    except MeasureError:
        return False
    return True


OF_SEVERAL = {"agreement", "seen_agreement"}  # undefined for one answer, or trajectory
OF_SEVERAL |= {"brier"}  # of answers that state a confidence: tests/measures/test_confidence.py


def direction_of(measure: Any) -> str:
    return FOREIGN[measure.name] if isinstance(measure, ForeignMeasure) else expected(measure)


BY_WORDS = {"lexical_recall", "token_f1"}  # of which more is more of the words, which names no winner


def is_known(measure: Any) -> bool:
    return direction_of(measure) != "neither" and measure.name not in BY_WORDS


KINDS = ("runs", "trajectories", "ir_measures", "answers", "citations", "alce", "tracks")
KINDS += ("over_refusal", "false_answer_rate")  # type: ignore[assignment]


def command(*words: str, code: int = 0) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ir_measures
        result = CliRunner().invoke(main, list(words), catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def compared(given: tuple[Words, list[Any]], style: str, *more: str) -> str:
    words, measures = given
    options = [word for measure in measures for word in ("-m", str(measure))]
    return command("compare", *words, *options, "--resamples", "100", "--format", style, *more).stdout


@pytest.mark.slow
@pytest.mark.some(2)
@pytest.mark.parametrize("kind", KINDS)
def test_the_worse_system_is_worse_on_every_query(inputs: Any, kind: str) -> None:
    """The data are what the law says, by every measure that has a direction."""
    words, measures = inputs[kind]
    options = [word for measure in measures for word in ("-m", str(measure))]
    results = json.loads(command(*words, *options, "-q", "--format", "json").stdout)["results"]
    values = {(row["run"], row["measure"]): row for row in results}
    for measure in filter(is_known, measures):
        bad, good = (values[name, str(measure)]["by_query"] for name in ("bad", "good"))
        sign = 1 if direction_of(measure) == "higher" else -1
        assert all(sign * bad[query] < sign * good[query] for query in QUERIES), measure
    assert all(row["better"] == direction_of(parse_measure(row["measure"])) for row in results)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("baseline", [[], ["--all-pairs"], ["--baseline", "good"], ["--baseline", "bad"]])
def test_json_says_which_way_is_better(inputs: Any, kind: str, baseline: list[str]) -> None:
    comparison = json.loads(compared(inputs[kind], "json", *baseline))
    check_record(comparison, inputs[kind][1], default=not baseline)


def check_record(record: Mapping[str, Any], measures: Iterable[Any], default: bool) -> None:
    """What a comparison says, as JSON has it."""
    cells = {(cell["run"], cell["measure"]): cell for cell in record["values"]}
    for measure in measures:
        name, way = str(measure), direction_of(measure)
        assert record["better"][name] == way
        best = {run for run in SYSTEMS if cells[run, name]["is_best"]}
        pairs = [pair for pair in record["pairs"] if pair["measure"] == name]
        if not is_known(measure):
            assert best == set()
            assert {pair["better_run"] for pair in pairs} == {None}
            assert not {pair["ruling"] for pair in pairs} & {"better", "worse"}
            assert not default or {pair["other"] for pair in pairs} == {SYSTEMS[0]}
            continue
        assert "bad" not in best
        assert "good" in best
        check_pairs(pairs, way, default)


def check_pairs(pairs: Sequence[Mapping[str, Any]], way: str, default: bool) -> None:
    assert not default or {pair["other"] for pair in pairs} == {"good"}
    both = [pair for pair in pairs if {pair["run"], pair["other"]} == {"bad", "good"}]
    assert len(both) == 1
    pair = both[0]
    names = {"higher": ("lower", "higher"), "lower": ("worse", "better")}[way]
    assert pair["ruling"] == names[pair["run"] == "good"]
    assert pair["better_run"] == "good"
    won, lost = (pair["wins"], pair["losses"]) if pair["run"] == "good" else (pair["losses"], pair["wins"])
    assert (won, lost) == (len(QUERIES), 0)
    assert all(pair["better_run"] != "bad" for pair in pairs)


@pytest.mark.slow
@pytest.mark.some(5)
@pytest.mark.parametrize("kind", KINDS)
def test_csv_says_which_way_is_better(inputs: Any, kind: str) -> None:
    head, *lines = csv.reader(compared(inputs[kind], "csv").splitlines())
    rows = [dict(zip(head, line, strict=True)) for line in lines]
    for measure in inputs[kind][1]:
        pairs = [row for row in rows if row["measure"] == str(measure)]
        counted = [
            {
                **row,
                "wins": int(row["wins"]),
                "losses": int(row["losses"]),
                "better_run": row["better_run"] or None,
            }
            for row in pairs
        ]
        if is_known(measure):
            check_pairs(counted, direction_of(measure), default=True)
        else:
            assert {row["better_run"] for row in pairs} == {""}


def cells_of(text: str, style: str) -> dict[str, list[str]]:
    """run -> the cells of its values, out of the first table in this format."""
    split = {
        "table": lambda line: re.split(r" {2,}", line.strip()),
        "md": lambda line: [cell.strip() for cell in line.strip("|").split(" | ")],
        "latex": lambda line: [cell.strip() for cell in line.removesuffix(r"\\").split(" & ")],
    }[style]
    by_measure: dict[str, list[str]] = {}
    for cells in map(split, text.splitlines()):
        if len(cells) > 2 and cells[1] in SYSTEMS and cells[0] in ("a", "b", "c"):
            by_measure.setdefault(cells[1], cells[2:])
    assert sorted(by_measure) == sorted(SYSTEMS)
    return by_measure


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("style", ["table", "md", "latex"])
def test_text_marks_the_better_system(inputs: Any, kind: str, style: str) -> None:
    text = compared(inputs[kind], style)
    cells, measures = cells_of(text, style), inputs[kind][1]
    for index, measure in enumerate(measures):
        bad, good = cells["bad"][index], cells["good"][index]
        marked = [run for run in SYSTEMS if " > " in cells[run][index] or r"\mathrm" in cells[run][index]]
        bold = [run for run in SYSTEMS if r"\textbf" in cells[run][index]]
        if not is_known(measure):
            assert (marked, bold) == ([], [])
            continue
        assert " > " not in bad.replace(r"$^{\mathrm{", " > ")
        assert " > a" in good.replace(r"$^{\mathrm{", " > ")
        assert style != "latex" or ("bad" not in bold and "good" in bold)
    low, neither = ([str(m) for m in measures if direction_of(m) == way] for way in ("lower", "neither"))
    lines = [line.removeprefix("% ") for line in text.splitlines()]
    assert not low or f"low is good: {', '.join(low)}" in lines
    assert not neither or f"neither high nor low is good: {', '.join(neither)}" in lines


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_in_a_report(inputs: Any, kind: str, tmp_path: Path) -> None:
    words, measures = inputs[kind]
    options = [word for measure in measures for word in ("-m", str(measure))]
    page = tmp_path / "page.html"
    command("report", *words, *options, "--resamples", "100", "-o", str(page))
    check_page(page, measures)


def check_page(path: Path, measures: Sequence[Any]) -> None:
    report, text = read_report(path), path.read_text(encoding="utf-8")
    cells = {(cell["run"], cell["measure"]): cell for cell in report["cells"]}
    rows = re.findall(r'<td class="letter">.*?</tr>', text, re.DOTALL)
    drawn = {
        re.search(r'<th scope="row">(\w+)<', row)[1]: re.findall(r'<td class="number.*?</td>', row, re.DOTALL)  # type: ignore[index]
        for row in rows
    }
    for index, measure in enumerate(measures):
        assert report["better"][str(measure)] == direction_of(measure)
        bad, good = (drawn[run][index] for run in ("bad", "good"))
        claims = {
            run: (cells[run, str(measure)]["best"], cells[run, str(measure)]["better_than"])
            for run in SYSTEMS
        }
        if is_known(measure):
            assert claims["bad"] == (False, [])
            assert claims["good"][0]
            assert "bad" in claims["good"][1]
            assert "significantly better" not in bad
            assert 'class="number best"' not in bad
            assert 'class="number best"' in good
            assert "significantly better" in good
        else:
            assert set(map(str, claims.values())) == {"(False, [])"}
            assert not any("better" in drawn[run][index] or "best" in drawn[run][index] for run in SYSTEMS)
    for phrase, way in (("Low is good", "lower"), ("Neither high nor low is good", "neither")):
        named = [str(measure) for measure in measures if direction_of(measure) == way]
        assert (f"{phrase}: {', '.join(named)}." in text) == bool(named)
    check_verdicts(report, text)


def check_verdicts(report: Mapping[str, Any], text: str) -> None:
    """The colour of a verdict is that of the claim; the page's script draws those that do not stand there."""
    spans = re.findall(r'<span class="verdict ([^"]*)">', text)
    pairs = report["comparison"]["pairs"]
    assert len(spans) == min(len(pairs), _MOST_PAIRS)
    for names, pair in zip(spans, pairs, strict=False):
        assert [name for name in names.split() if name in ("good", "bad")] == tone_of(pair)


def tone_of(pair: Mapping[str, Any]) -> list[str]:
    tone = {pair["run"]: "good", pair["other"]: "bad"}.get(pair["better_run"])
    return [tone] if tone else []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_gate_looks_the_right_way(inputs: Any, kind: str) -> None:
    """A limit between the two lets the good one through and stops the bad one."""
    words, measures = inputs[kind]
    options = [word for measure in measures for word in ("-m", str(measure))]
    results = json.loads(command(*words, *options, "--format", "json").stdout)["results"]
    value = {(row["run"], row["measure"]): row["value"] for row in results}
    for measure in measures:
        name, way = str(measure), direction_of(measure)
        limit = (value["good", name] + value["bad", name]) / 2
        code = {"higher": 1, "lower": 2, "neither": 1}[way]
        if way == "neither":
            continue
        under = command(*words, "--fail-under", f"{name}={limit!r}", code=code)
        assert "--require" in under.stderr or "bad: " in under.stderr
        good, wrong = (">=", "<=") if way == "higher" else ("<=", ">=")
        stderr = command(*words, "--require", f"{name}{good}{limit!r}", code=1).stderr
        assert f"bad: {name} is" in stderr
        assert f"good: {name} is" not in stderr
        command(*words, "--require", f"{name}{wrong}{limit!r}", code=2)


SCRIPT = """
const [given, scripts] = JSON.parse(require("fs").readFileSync(0, "utf8"));
const fields = { "diff-measure": {}, "diff-run": {}, "diff-base": {} };
global.document = {
  getElementById: (id) => fields[id] || { textContent: given },
  documentElement: { dataset: { places: "4" } },
};
(0, eval)(scripts + `
  fields["diff-run"].value = report.runs.indexOf("bad");
  fields["diff-base"].value = report.runs.indexOf("good");
  make = (tag, attributes, ...inside) => [attributes.class || "", ...inside.flat(9)];
  const { fields: names, rows: pairs } = report.comparison.pairs;
  const drawn = pairs.map((row) => pairRow(Object.fromEntries(names.map((name, at) => [name, row[at]]))));
  const tones = drawn.map((row) => row.find((each) => /^verdict/.test(each)).split(" ").slice(1));
  const said = report.measures.map((measure, at) => {
    document.getElementById("diff-measure").value = at;
    const rows = rowsOf(chosenColumns());
    const won = rows.filter((row) => isShown(row, "", "1")).length;
    return { measure, way: wayOf(measure), summary: summary(rows, false), won };
  });
  console.log(JSON.stringify([said, tones]));
`);
"""


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["runs", "answers"])
def test_in_the_scripts_of_a_report(inputs: Any, kind: str, tmp_path: Path) -> None:
    """What is won and lost query by query, as the page counts it."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node to run the page's scripts with")
    words, measures = inputs[kind]
    options = [word for measure in measures for word in ("-m", str(measure))]
    command("report", *words, *options, "--resamples", "100", "-o", str(tmp_path / "r.html"))
    block = re.search(r'id="report">(.*?)</script>', (tmp_path / "r.html").read_text(encoding="utf-8"))
    assert block is not None
    scripts = "\n".join(asset(name) for name in ("texts.js", "basics.js", "table.js", "differences.js"))
    given = json.dumps([block[1], scripts])
    process = subprocess.run([node, "-e", SCRIPT], input=given, capture_output=True, text=True, check=True)
    texts, tones = json.loads(process.stdout)
    pairs = read_report(tmp_path / "r.html")["comparison"]["pairs"]
    assert tones == [tone_of(pair) for pair in pairs]
    for text in texts:  # of bad minus good
        way = direction_of(parse_measure(text["measure"]))
        assert text["way"] == {"higher": 1, "lower": -1, "neither": 0}[way]
        if way != "neither":
            assert text["won"] == 0
            assert f"; 0 won, 0 tied, {len(QUERIES)} lost; " in text["summary"]
        else:
            assert " won" not in text["summary"]
            assert " higher, " in text["summary"]


def test_in_a_figure() -> None:
    """The colour of a query, and what stands above the panel."""
    from rageval.views.plots import _colour_of, _titled

    good, bad = _colour_of(0.1, "higher"), _colour_of(-0.1, "higher")
    assert good != bad
    assert (_colour_of(-0.1, "lower"), _colour_of(0.1, "lower")) == (good, bad)
    assert _colour_of(-0.1, "neither") == _colour_of(0.1, "neither")
    assert _colour_of(0.1, "neither") not in (good, bad)
    titles = [_titled("m", way, "") for way in ("higher", "lower", "neither")]
    assert titles == [["m"], ["m", "(low is good)"], ["m"]]
    assert _titled("m", "lower", "by this judge") == ["m", "(low is good, by this judge)"]


@pytest.mark.nightly
def test_a_fault_that_was_found_is_not_shown_as_something_good(inputs: Any, tmp_path: Path) -> None:
    """A nugget of which `hallucinated` is 1 is marked as wrong, not as fully supported."""
    command("report", *inputs["answers"][0], "-m", "bank_groundedness", "-o", str(tmp_path / "r.html"))
    rows = read_report(tmp_path / "r.html")["matrices"]["1"]["rows"]
    assert {row["id"] for row in rows if row.get("fault")} == {"hallucinated", "redundant", "lacking"}
    node = shutil.which("node")
    if node is not None:
        looks = "console.log([lookOf({grade: 1}, true), lookOf({grade: 0}, true), lookOf({grade: 1})].join())"
        process = subprocess.run(
            [node, "-e", asset("matrix.js") + looks], capture_output=True, text=True, check=True
        )
        assert process.stdout.split(",")[::3] == ["wrong", "full", "full"]


def test_of_one_run_the_queries_it_does_worst_on_are_shown_first() -> None:
    for measure, first in (("hole@5", "q1"), ("recall@5", "q0")):
        assert _most_telling(scored({"a": [0.1, 0.9, 0.5]}, measure), 1) == [first]


# --- measures of others ---

PLUGIN = """\
import rageval


@rageval.measure(better="lower")
def wasted(ranking, *, k=None):
    "Documents of the top k that are of no use."
    return k - len(ranking.hits(k, 1))


@rageval.measure(better=lambda parameters: "lower" if parameters["count"] == "wasted" else "higher")
def counted(ranking, *, k=None, count: rageval.typing.Literal["wasted", "useful"] = "useful"):
    "Documents of the top k that are of no use, or of some."
    useful = len(ranking.hits(k, 1))
    return useful if count == "useful" else k - useful
""".replace("rageval.typing.Literal", "Literal").replace(
    "import rageval\n", "from typing import Literal\n\nimport rageval\n"
)


@pytest.fixture(name="plugged")
def plugged_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with two measures, as pip would leave it."""
    (tmp_path / "wastes.py").write_text(PLUGIN)
    about = tmp_path / "wastes-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: wastes\nVersion: 1.0\n")
    entries = "wasted = wastes:wasted\ncounted = wastes:counted\n"
    (about / "entry_points.txt").write_text("[rageval.measures]\n" + entries)
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins._entries.cache_clear()
    yield
    plugins._entries.cache_clear()


WAYS = {"wasted@5": "lower", "counted@5": "higher", "counted(count=wasted)@5": "lower"}


@pytest.mark.slow
@pytest.mark.usefixtures("plugged")
def test_a_plug_in_says_which_way_is_better(runs: list[str], tmp_path: Path) -> None:
    measures = list(WAYS)
    comparison = json.loads(compared((runs, measures), "json"))
    assert comparison["better"] == WAYS
    for name, way in WAYS.items():
        assert [v["run"] for v in comparison["values"] if v["measure"] == name and v["is_best"]] == ["good"]
        check_pairs([pair for pair in comparison["pairs"] if pair["measure"] == name], way, default=True)
    latex = cells_of(compared((runs, measures), "latex"), "latex")
    assert [r"\textbf" in cell for cell in latex["good"]] == [True] * 3
    assert [r"\textbf" in cell for cell in latex["bad"]] == [False] * 3
    assert "use --require 'wasted@5<=2'" in command(*runs, "--fail-under", "wasted@5=2", code=2).stderr
    assert "bad: wasted@5 is 5.0000, above 2" in command(*runs, "--require", "wasted@5<=2", code=1).stderr
    assert "Better: higher; lower with count=wasted" in command("measures", "counted").stdout
    command("report", *runs, "-m", "wasted@5", "-o", str(tmp_path / "r.html"))
    assert read_report(tmp_path / "r.html")["better"] == {"wasted@5": "lower"}


def test_a_measure_defined_for_ir_measures_may_say_it_too(runs: list[str]) -> None:
    import ir_measures

    waste = ir_measures.define_byquery(
        lambda qrels, run: float(len(run) - qrels.relevance.sum()), name="waste"
    )
    assert _foreign_measure(waste).better == "higher"  # type: ignore[union-attr]
    waste.better = "lower"
    assert _foreign_measure(waste).better == "lower"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "better", ["up", None, 1, "", lambda parameters: "up", lambda parameters: parameters["no"]]
)
def test_a_way_that_is_none_is_refused(better: Any) -> None:
    def unknown(ranking: Any, *, k: int | None = None) -> Any:
        return float(ranking.retrieved)

    with pytest.raises(MeasureError, match="unknown: "):
        _ = rageval.measure(better=better)(unknown).better


def test_the_way_goes_with_the_measure() -> None:
    @rageval.measure(better="lower")
    def low(ranking: Any, *, k: int | None = None, rel: int = 1) -> Any:
        return float(ranking.retrieved)

    @rageval.measure()
    def plain(ranking: Any, *, k: int | None = None) -> Any:
        return float(ranking.retrieved)

    assert {low.better, (low @ 5).better, low(rel=2).better, (low(rel=2) @ 3)(rel=1).better} == {"lower"}
    assert plain.better == rageval.measure(low.function).better == "higher"


# --- of which there is no best ---


def scored(values: Mapping[str, Sequence[float]], measure: Any = "recall@5") -> list[Scores]:
    """Scores of a few systems."""
    parsed = parse_measure(measure) if isinstance(measure, str) else measure
    return [
        Scores(run, (Score(parsed, [f"q{index}" for index in range(len(column))], np.array(column), 0, "s"),))
        for run, column in values.items()
    ]


def best_of(values: Mapping[str, Sequence[float]], measure: str = "recall@5") -> tuple[list[str], str]:
    """The best runs, and the one that another is compared with: of two the first, of more the best."""
    comparison = compare(scored(values, measure), Settings(resamples=100))
    return [cell.run for cell in comparison.cells if cell.is_best], comparison.pairs[0].other


NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "best", "base"),
    [
        ({"a": [0.5, 0.5], "b": [0.5, 0.5]}, [], "a"),
        ({"a": [0.1, 0.9], "b": [0.5, 0.5], "c": [0.9, 0.1]}, [], "a"),
        ({"a": [0.1, 0.1], "b": [0.5, 0.5], "c": [0.9, 0.1]}, ["b", "c"], "b"),
        ({"a": [0.1, 0.2, 0.3], "b": [0.3, 0.2, 0.1], "c": [0.0, 0.2, 0.1]}, ["a", "b"], "a"),
        ({"a": [NAN, NAN], "b": [NAN, NAN]}, [], "a"),
        ({"a": [NAN, NAN], "b": [0.5, 0.5], "c": [0.5, 0.4]}, ["b"], "b"),
        ({"a": [0.0, 0.0], "b": [0.5, 0.5], "c": [0.5, 0.4]}, ["b"], "b"),
        ({"a": [NAN, NAN], "b": [0.5, 0.5]}, ["b"], "a"),  # of two runs the first
        ({"a": [0.0, 0.0], "b": [0.5, 0.5]}, ["b"], "a"),
        ({"a": [0.0, 0.0], "b": [0.0, 0.0]}, [], "a"),
    ],
)
def test_runs_that_share_the_best_value_are_all_best_but_not_all_there_are(
    values: dict[str, list[float]], best: list[str], base: str
) -> None:
    assert best_of(values) == (best, base)


def test_a_run_that_failed_is_not_the_best_though_it_has_no_fault() -> None:
    """Nothing of what it retrieved is unjudged, and nothing of it is relevant."""
    qrels = {f"q{index}": {"a": 1, "b": 1, "z": 0} for index in range(8)}
    runs = {name: {q: {doc: 2.0, "x": 1.0} for q in qrels} for name, doc in (("lost", "z"), ("full", "a"))}
    for docs in runs["lost"].values():
        del docs["x"]
    comparison = compare_runs("recall@2, hole@2", runs, qrels)
    assert {(cell.run, cell.measure) for cell in comparison.cells if cell.is_best} == {
        ("full", "recall@2"),
        ("full", "hole@2"),
    }
    assert {(pair.run, pair.other, pair.verdict, pair.better_run) for pair in comparison.pairs} == {
        ("full", "lost", "refused", None)
    }


def test_a_run_is_not_the_best_for_the_queries_that_it_lacks() -> None:
    """What was not retrieved is not unjudged either."""
    qrels = {f"q{index}": {"a": 1, "z": 0} for index in range(8)}
    runs = {"lazy": {"q0": {"z": 2.0, "x": 1.0}}, "busy": {query: {"a": 2.0, "x": 1.0} for query in qrels}}
    comparison = compare_runs("hole@2", runs, qrels)
    assert [cell.run for cell in comparison.cells if cell.is_best] == ["busy"]
    assert {(pair.run, pair.other, pair.better_run) for pair in comparison.pairs} == {("busy", "lazy", None)}


def test_answers_of_zero_are_better_than_those_below() -> None:
    """CRAG's score may be negative: to say on every question that one does not know is better than wrong."""
    below = [-1.0, -1.0, -0.5]
    assert best_of({"wrong": below, "careful": [0.0, 0.0, 0.0]}, "crag_score") == (["careful"], "wrong")
    comparison = compare(scored({"wrong": [-1.0] * 8, "careful": [0.0] * 8}, "crag_score"))
    assert [(pair.verdict, pair.better_run) for pair in comparison.pairs] == [("higher", "careful")]


def test_no_fault_at_all_is_no_failure() -> None:
    comparison = compare(scored({"clean": [0.0] * 8, "liar": [1.0] * 8}, "hallucination"))
    assert [cell.run for cell in comparison.cells if cell.is_best] == ["clean"]
    assert [(pair.verdict, pair.better_run) for pair in comparison.pairs] == [("worse", "clean")]


def test_every_completion_is_a_claim_like_the_verdict() -> None:
    rulings = (Ruling.HIGHER, Ruling.LOWER, Ruling.UNDECIDED)
    assert [claimed_ruling(ruling, "lower", UNSTATED) for ruling in rulings] == [
        "worse",
        "better",
        "undecided",
    ]
    assert [claimed_ruling(ruling, "neither", UNSTATED) for ruling in rulings] == [
        "higher",
        "lower",
        "undecided",
    ]


# --- the judge's passport ---


def test_what_people_call_a_fault_makes_a_judge_strict() -> None:
    """A judge that sees a fault in every nugget is not generous."""
    rows = [
        {"query_id": str(q), "run_id": "bank", "item_id": f"n{n}", "aspect": "hallucinated", "status": "ok"}
        for q in range(4)
        for n in range(2)
    ]
    judged, gold = ([{**row, "grade": grade} for row in rows] for grade in (1, 0))
    figures = passport(*({place(row): row for row in side} for side in (judged, gold)))
    assert figures.facts["bias"] == -1.0


def test_systems_are_ranked_from_the_best_whatever_the_measure() -> None:
    """τ_AP weighs the top most: by hallucination, too, the top are those with little of it."""
    counts = {"judge": {"a": 0, "b": 1, "c": 2, "d": 3}, "gold": {"a": 1, "b": 0, "c": 2, "d": 3}}
    sides = {
        side: {
            place(row): row
            for run, faults in systems.items()
            for q in range(3)
            for row in [
                {
                    **{"query_id": str(q), "run_id": run, "item_id": "answer", "aspect": "0", "status": "ok"},
                    "label": "incorrect" if q < faults else "perfect",
                }
            ]
        }
        for side, systems in counts.items()
    }
    by_faults, by_truth = (
        passport(sides["judge"], sides["gold"], measure=name).facts
        for name in ("hallucination", "crag_score")
    )
    assert by_faults["tau_b"] == by_truth["tau_b"]
    assert by_faults["tau_ap"] == by_truth["tau_ap"] < by_faults["tau_b"]


def test_an_arena_puts_systems_without_points_last(tmp_path: Path) -> None:
    rows = [
        {"query_id": "q1", "run_id": run, "aspect": "1", "grade": grade, "rubric": "listwise"}
        for run, grade in (("third", 3), ("first", 1), ("second", 2))
    ]
    assert [row["run_id"] for row in rows] != ["first", "second", "third"]
    (tmp_path / "judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = command("arena", str(tmp_path / "judged.jsonl"), "--format", "csv").stdout.splitlines()
    assert [line.partition(",")[0] for line in lines[1:]] == ["first", "second", "third"]
