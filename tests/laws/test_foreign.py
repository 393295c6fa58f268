"""A measure of ir_measures has the values that its provider gives the user's own rows.

The measures are those of ir_measures' registry; the rows are what trips providers up: negative grades as in
TREC Web ad hoc, equal scores, scores that 32-bit floats cannot tell apart, several nuggets a document, a
second column that holds no nugget, queries that are missing on either side.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from typing import Any

import ir_measures
import pytest
from ir_measures import Qrel, ScoredDoc

import rageval
from rageval.measures.parsing import parse_measure
from rageval.subjects import ANSWERS, kind_of_measure

# Without those of ours that other tests may have added.
REGISTRY = {
    name: measure
    for name, measure in ir_measures.measures.registry.items()
    if type(measure).__module__.startswith("ir_measures")
}
PROVIDERS = ir_measures.DefaultPipeline.providers
NOT_INSTALLED = {"BPM", "INST", "INSQ", "NERR8", "NERR9", "NERR10", "NERR11", "RBP", "SDCG"}  # of cwl_eval
# Of a topic that the run lacks: ir_measures says 0, trec_eval -c counts what is relevant, and so do we.
COUNTED_BY_THE_COMMAND = {"NumQ", "NumRel"}
PRECISE = 1e-12
PRINTED = 6e-6  # gdeval prints five places

GRADES = {
    "1": {"a": 2, "b": 0, "c": -2, "d": 1, "e": -2, "f": 1, "z": 3, "y": 0, "g": -1},
    "2": {"a": -2, "b": 1, "c": 0, "d": 4},
    "3": {"a": -2, "b": -1},  # nothing from 0
    "4": {"a": 0, "b": 0},
    "5": {"q": 1, "r": -2, "s": 2},  # the run lacks it
    "7": {"a": 1, "b": 1, "c": -2, "d": 2},
}
RANKED = [
    *[("1", "b", 3.0), ("1", "a", 3.0), ("1", "c", 5.0), ("1", "x", 4.0), ("1", "d", 3.0), ("1", "e", 1.0)],
    *[("1", "f", 0.5), ("1", "g", 0.5), ("2", "c", 2.0), ("2", "a", 1.9), ("2", "b", 1.5), ("2", "w", 1.5)],
    *[("3", "a", 2.0), ("3", "c", 1.0), ("4", "b", 2.0), ("4", "a", 1.0), ("9", "x", 1.0)],
    *[("7", "a", -1.0), ("7", "c", -1.0), ("7", "d", -2.0), ("7", "u", -0.5), ("7", "b", -3.0)],
]
RUN = [ScoredDoc(*row) for row in RANKED]
NEAR = [
    row._replace(score=16777216.0 + index) for index, row in enumerate(RUN)
]  # half of them equal in 32 bits


def plain(column: str = "0") -> list[Qrel]:
    return [Qrel(query, doc, grade, column) for query, docs in GRADES.items() for doc, grade in docs.items()]


def of_nuggets() -> list[Qrel]:
    """Some documents under several nuggets, with grades that differ; the highest does not come last."""
    lower = [row._replace(relevance=min(0, row.relevance), iteration="n2") for row in plain()[::2]]
    return [*plain("n1"), *lower]


WORLDS = {
    "negative grades": (plain(), RUN),
    "scores of 32 bits": (plain(), NEAR),
    "the second column of NIST": (plain("Q0"), RUN),
    "several nuggets": (of_nuggets(), RUN),
    "one relevant document": ([Qrel("1", "a", 1, "0"), Qrel("1", "b", 0, "0")], RUN[:2]),
}


def forms(measure: Any) -> Iterator[Any]:
    """A measure with the parameters that it has, as far as they are valid."""
    given = measure.SUPPORTED_PARAMS
    cut = [measure(cutoff=k) for k in (1, 3, 10)] if "cutoff" in given else []
    cut += [measure(recall=0.5)] if "recall" in given else []
    for form in (measure, *cut):
        yield form
        yield from [form(judged_only=True)] if "judged_only" in given else []
        yield from [form(rel=2)] if "rel" in given else []


def provider_of(form: Any) -> Any:
    try:
        return next(
            (provider for provider in PROVIDERS if provider.is_available() and provider.supports(form)), None
        )
    except AssertionError:  # a parameter that it needs is not given
        return None


OF_DOCUMENTS, OF_NUGGETS = [], []
for _name, _measure in sorted(REGISTRY.items()):
    _of = OF_NUGGETS if _measure.NAME in rageval.measures.foreign._OF_NUGGETS else OF_DOCUMENTS
    _of += [(_name, form) for form in forms(_measure) if provider_of(form)]


def theirs(form: Any, qrels: list[Qrel], run: list[ScoredDoc]) -> tuple[dict[str, float], float]:
    try:
        results = provider_of(form).calc([form], qrels, run)
    except ZeroDivisionError:  # of one topic: the others are asked alone
        names = list(dict.fromkeys(row.query_id for row in qrels))
        if len(names) == 1:
            return {}, math.nan
        alone = [theirs(form, [row for row in qrels if row.query_id == name], run)[0] for name in names]
        values = {query: value for results in alone for query, value in results.items()}
        return values, math.fsum(values.values()) / max(len(values), 1)
    return {metric.query_id: metric.value for metric in results.per_query}, results.aggregated[form]


def judged_once(qrels: list[Qrel]) -> list[Qrel]:
    """The rows with the highest grade of each document, which is what rageval says of nuggets."""
    best: dict[tuple[str, str], Qrel] = {}
    for row in qrels:
        kept = best.setdefault((row.query_id, row.doc_id), row)
        if row.relevance > kept.relevance:
            best[row.query_id, row.doc_id] = kept._replace(relevance=row.relevance)
    return list(best.values())


def differences(values: dict[str, float], expected: dict[str, float], places: float) -> list[str]:
    return [
        query
        for query, value in values.items()
        if not math.isclose(value, expected.get(query, math.nan), rel_tol=0, abs_tol=places)
        and not (math.isnan(value) and math.isnan(expected.get(query, math.nan)))
    ]


def test_every_measure_is_tried() -> None:
    pytest.importorskip("pyndeval")
    tried = {name for name, _ in (*OF_DOCUMENTS, *OF_NUGGETS)}
    perl = set() if ir_measures.gdeval.is_available() else {"ERR"}
    assert set(REGISTRY) - tried - NOT_INSTALLED - perl == set()
    assert len({str(form) for _, form in (*OF_DOCUMENTS, *OF_NUGGETS)}) > 100


@pytest.mark.slow
@pytest.mark.some(5)
@pytest.mark.parametrize("world", WORLDS)
def test_measures_of_documents_equal_their_provider(world: str) -> None:
    qrels, run = WORLDS[world]
    # A Perl script: a process each, and once is enough.
    forms = [
        form for _, form in OF_DOCUMENTS if form.NAME != "ERR" or (form["cutoff"], world[:3]) == (3, "neg")
    ]
    # Ours have one order of equal scores for all measures; the provider's is an option.
    ascending = [form for form in forms if provider_of(form).NAME in ("msmarco", "judged")]
    scores = rageval.evaluate([str(form) for form in forms if form not in ascending], run, qrels)
    others = rageval.evaluate([str(form) for form in ascending], run, qrels, ties="docid_asc")
    judged = [row for row in judged_once(qrels) if row.query_id != "3"]  # which ends pytrec_eval, and Python
    wrong = []
    for form in dict.fromkeys(forms):
        measure = parse_measure(str(form))
        score = (others if form in ascending else scores)[measure]
        if isinstance(measure, rageval.Measure) and world == "scores of 32 bits":
            continue  # ours compare scores as 64-bit floats (--compat trec_eval has the other rule)
        expected, mean = theirs(form, judged, run)
        ours = {query: value for query, value in score.by_query.items() if query in expected}
        places = PRINTED if form.NAME == "ERR" or form.params.get("dcg") == "exp-log2" else PRECISE
        if form.NAME in COUNTED_BY_THE_COMMAND:
            assert expected.pop("5", 0.0) == 0.0
            assert ours.pop("5", 2.0 - (form.NAME == "NumQ")) >= 1.0
        elif form.NAME == "Accuracy":  # leaves out topics of which nothing relevant was found
            rel = form["rel"]
            some = {row.query_id for row in judged if row.relevance >= rel}
            left_out = {query for query in score.by_query if query in some & {*"127"} - expected.keys()}
            assert {query for query, value in score.by_query.items() if math.isnan(value)} == left_out
            assert score.undefined == len(left_out)
        elif "3" not in score.by_query and not math.isclose(score.value, mean, rel_tol=0, abs_tol=places):
            wrong.append(f"{form}: mean {score.value}, {mean}")
        bad = differences(ours, expected, places)
        wrong += [f"{form}: {query}: {ours[query]}, {expected[query]}" for query in bad]
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("world", [world for world in WORLDS if world != "scores of 32 bits"])
def test_measures_of_nuggets_equal_their_provider(world: str) -> None:
    """Those that are ours follow --compat pyndeval; the provider cannot compute judged_only."""
    pytest.importorskip("pyndeval")
    qrels, run = WORLDS[world]
    forms = [form for _, form in OF_NUGGETS if not form.params.get("judged_only")]
    forms = [form for form in forms if "cutoff" not in form.SUPPORTED_PARAMS or "cutoff" in form.params]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the second column may hold no nugget
        scores = rageval.evaluate([str(form) for form in forms], run, qrels, compat="pyndeval")
        direct = rageval.evaluate([str(form) for form in forms], run, qrels, provider="pyndeval")
    wrong = []
    for form, ours, given in zip(dict.fromkeys(forms), scores.values(), direct.values(), strict=True):
        expected, _ = theirs(form, qrels, run)
        zeros = {query: 0.0 if math.isnan(value) else value for query, value in expected.items()}
        for score in (ours, given):
            bad = differences(score.by_query, zeros, PRECISE)
            wrong += [f"{score.measure}: {query}: {score.by_query[query]}, {zeros[query]}" for query in bad]
    assert wrong == []


@pytest.mark.parametrize("name", ["ap", "ndcg@3", "p@3", "rr", "recall@3", "success@1", "Bpref", "Rprec"])
def test_judged_only_takes_out_what_trec_eval_takes_out(name: str) -> None:
    """trec_eval -J takes negative grades for documents that nobody judged."""
    theirs_ = {"ap": "map", "ndcg@3": "ndcg_cut_3", "p@3": "P_3", "rr": "recip_rank", "recall@3": "recall_3"}
    theirs_ |= {"success@1": "success_1", "Bpref": "bpref"}
    import pytrec_eval

    qrels = {query: docs for query, docs in GRADES.items() if query != "3"}
    run: dict[str, dict[str, float]] = {}
    for query, doc, score in RANKED:
        run.setdefault(query, {})[doc] = score
    name_there = theirs_.get(name, name)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {name_there}, judged_docs_only_flag=1)
    expected = {query: values[name_there] for query, values in evaluator.evaluate(run).items()}
    scores = rageval.evaluate(name, run, GRADES, judged_only=True)[name].by_query
    assert {query: scores[query] for query in expected} == pytest.approx(expected, abs=PRECISE)
    assert scores["3"] == scores["5"] == 0.0


def test_the_names_of_ir_measures_are_its_measures() -> None:
    """Even where ours has a short name of the same letters, for a measure of answers."""
    assert str(parse_measure("Accuracy")) == "Accuracy"
    assert str(parse_measure("accuracy")) == "crag_share"
    for _, form in (*OF_DOCUMENTS, *OF_NUGGETS):
        measure = parse_measure(str(form))
        assert not (isinstance(measure, rageval.Measure) and kind_of_measure(measure) is ANSWERS), form


def test_gains_by_grade_are_read() -> None:
    """As the message about trec_eval's gains suggests."""
    name = "nDCG(gains={1:3,2:9})@10"
    with pytest.raises(rageval.MeasureError, match=re.escape(name)):
        parse_measure("ndcg.1=3")
    assert str(parse_measure(name)) == name
    qrels = judged_once(plain())
    run = [row for row in RUN if row.query_id in ("1", "2", "7")]
    expected, _ = theirs(ir_measures.parse_measure(name), [row for row in qrels if row.query_id != "3"], run)
    scores = rageval.evaluate(name, run, qrels)[name].by_query
    assert {query: scores[query] for query in expected} == pytest.approx(expected, abs=PRECISE)
