"""What must hold of every measure of answers on any table of judgements.

Tables are drawn from a `random.Random`, a kind at a time. That these laws can fail is shown by mutants of the
package (`tests/mutation.py`).
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import answers_oracle as oracle
import rageval
from answers_oracle import Row, Table
from our_measures import OF_ANSWERS
from rageval.cli import main
from rageval.scoring.assessments import ScaleJudgements

# Drawn systems answer a part of the queries, which is said.
pytestmark = pytest.mark.filterwarnings("ignore:.*answered")

# Compared with oracles of their own, in test_abstention, test_claim_measures, test_ragas, test_alce,
# test_confidence, test_amounts and test_conversation_measures.
OF_SETS = {
    *("turn_truthfulness", "conversation_score", "all_turns", "conditioned"),
    *("answer_rate", "over_refusal", "false_answer_rate", "refusal_f1", "answerable_f1", "grounded_refusal"),
    *(
        *("answer_precision", "answer_recall", "answer_f1", "claim_recall", "context_precision"),
        "self_knowledge",
    ),
    *("context_utilization", "noise_relevant", "noise_irrelevant", "claim_hallucination", "all_supported"),
    *("claim_faithfulness", "alce_recall", "alce_precision", "alce_f1", "trust_score", "healthbench_score"),
    *("ragas_faithfulness", "ragas_answer_correctness", "ragas_factual_correctness"),
    *("ragas_context_precision", "ragas_context_recall"),
    *("brier", "calibration_error", "selective", "cost_per_correct"),
    *("input_tokens", "output_tokens", "cost", "seconds"),
}
SLACK = 1e-9
CASES = 200 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 15
COMPLETIONS = 6
FAILED = ("refused", "truncated", "filtered", "invalid", "error")
RECALLS = [
    f"nugget_recall(importance={importance},credit={credit})"
    for importance in ("all", "vital", "okay", "weighted")
    for credit in ("strict", "partial")
]
SUPPORT_LABELS = ("support", "partial_support", "not_support")
CRAG_LABELS = ("incorrect", "missing", "acceptable", "perfect")
SHARES = [f"crag_share(label={label})" for label in CRAG_LABELS]
PRECISIONS = [f"citation_precision(citations={which})" for which in ("first", "all", "micro", "every")]
CITATION_RECALLS = [f"citation_recall(citations={which})" for which in ("first", "all", "every")]
HARD = [f"citation_{name}(citations={which},credit=full)" for name in ("precision", "recall")
        for which in ("first", "every")]  # fmt: skip
LEVELS = [f"correctness_share(level={level})" for level in (-1, 0, 1, 2)]
LEVELS += [f"faithfulness_share(level={level})" for level in (-1, 0, 1)]
LENGTHS = [f"length(rule={rule})" for rule in ("nfkc", "split", "nonspace", "characters")]
COUNTS = ["citations", "citations(count=all)"]
MEASURES: dict[str, list[str]] = {
    "nuggets": [
        *RECALLS,
        *("nugget_density", "nugget_density(rule=split)", "nugget_f", "nugget_f(beta=1)", "nugget_f(beta=0)"),
        *("rubric_score", "rubric_score(floor=zero)", "rubric_score(credit=strict)"),
        *LENGTHS,
    ],
    "crag": ["crag_score", "crag_share", *SHARES, "pass_any", "pass_all", "agreement"],
    "liverag": ["correctness", "faithfulness", *LEVELS],
    "citations": [*PRECISIONS, *CITATION_RECALLS, *HARD],
    "cited answers": [*PRECISIONS, *CITATION_RECALLS, *HARD, *LENGTHS, *COUNTS],
    "rankings": ["rank_score", "rank_score(invalid=query)"],
    "games": ["win_rate"],
    "quality": ["bank_precision", "bank_recall", "bank_groundedness"],
    "proxies": ["lexical_recall", "lexical_recall(importance=weighted)"],
    "short answers": ["token_f1"],
    "tools": ["grade", "pass_rate"],
    "reports": [
        *("citation_relevance", "sentence_support", "sentence_count", "nugget_count"),
        *(
            f"{name}(importance={importance},attested={attested})"
            for name in ("nugget_coverage", "argue_f1")
            for importance in ("all", "weighted")
            for attested in ("any", "only")
        ),
    ],
    "stances": ["dragun_support", "dragun_contradiction"],
    "questions": ["dragun_questions", "dragun_questions(compound=counted)"],
    "medical answers": [
        *("answer_accuracy", "citation_coverage", "document_precision", "document_recall"),
        *(f"sentence_share(label={label})" for label in oracle.SENTENCE.worth),
        *(f"citation_share(label={label})" for label in oracle.CITED.worth),
    ],
    "audits": [f"audit_share(label={label})" for label in oracle.AUDIT.worth],
}
KINDS = tuple(MEASURES)
RUBRIC = {
    "nuggets": "nugget-assignment",
    "crag": "crag@v2",
    "liverag": "liverag",
    "citations": "citation-support",
    "cited answers": "citation-support",
    "rankings": "listwise",
    "games": "pairwise",
    "quality": "nugget-quality",
    "audits": "audit",
    "reports": "nugget-support",
    "stances": "stance",
    "questions": "question-similarity",
    "medical answers": "citation-stance",
    "proxies": "lexical",
    "short answers": "token-f1",
    "tools": "deepeval/faithfulness",
}
NUMBERS = (-1, 0, 1, 2, 0.1, 0.3, 0.7, -0.2, 0.5, 1.9)
TEXTS = ("", "a b", "It is safe.", "ten\u2009km to\tgo", "rock\u00b4n roll", "文 ½", "x" * 30, "y " * 90)


def spelled(rng: random.Random, scale: oracle.Scale, label: str) -> Row:
    """A label in one of its spellings, or its grade, or both."""
    worth = float(scale.worth[label])
    spellings: list[Row] = [
        {"label": label},
        {"label": label, "status": "repaired"},
        {"label": f" {label.replace('_', rng.choice(' -')).title()}"},
        {"label": label, "grade": worth},
    ]
    first = next(name for name in scale.worth if scale.worth[name] == scale.worth[label])
    return rng.choice(spellings + ([{"grade": worth}] if first == label else []))


def judgement(
    rng: random.Random, scale: oracle.Scale, labels: Iterable[str] = (), failing: float = 0.1
) -> Row:
    if rng.random() < failing:
        return {"status": rng.choice(FAILED)}
    return spelled(rng, scale, rng.choice(list(labels) or list(scale.worth)))


class World(NamedTuple):
    """Who is judged, by whom, on what."""

    rng: random.Random
    systems: list[str]
    judges: list[str]
    queries: list[str]

    def cells(self, absent: float = 0.1) -> Iterable[tuple[Row, str]]:
        """The ids of every answer and judge; a system may lack a query, the first never does."""
        for query, system in product(self.queries, self.systems):
            if system != self.systems[0] and self.rng.random() < absent:
                continue
            for judge in self.judges:
                yield (
                    {"query_id": query, "run_id": system} | ({"judge": judge} if judge else {}),
                    query,
                )


def world(rng: random.Random) -> World:
    judges = rng.choice(([""], [""], ["A"], ["A", "B"], ["C", "A", "B"]))
    systems = ["ours", "theirs", "=1+1"][: rng.randint(1, 3)]
    return World(rng, systems, judges, [f"q{index}" for index in range(rng.randint(1, 3))])


def nuggets(w: World) -> Table:
    rng = w.rng
    banks: dict[str, list[Row]] = {
        query: [
            {"aspect": f"n{index}", "weight": rng.choice(NUMBERS)}
            | rng.choice(({"importance": "vital"}, {"importance": "okay"}, {"importance": "vital"}))
            for index in range(rng.randint(1, 6))
        ]
        for query in w.queries
    }
    rows = [
        ids | nugget | judgement(rng, oracle.NUGGET) for ids, query in w.cells() for nugget in banks[query]
    ]
    answers = {
        (system, query): [(rng.choice(TEXTS), ()) for _ in range(rng.choice((0, 1, 1, 2, 5)))]
        for system, query in product(w.systems, w.queries)
        if rng.random() < 0.9
    }
    answers[w.systems[0], w.queries[0]] = [("It is safe to drink.", ())]
    return Table(rows, answers)


def crag(w: World) -> Table:
    labels = w.rng.choice((CRAG_LABELS, ("accurate", "missing", "incorrect")))
    return Table([ids | judgement(w.rng, oracle.CRAG, labels) for ids, _ in w.cells()])


def liverag(w: World) -> Table:
    def graded(aspect: str, high: int) -> Row:
        if w.rng.random() < 0.1:
            return {"aspect": aspect, "status": w.rng.choice(FAILED)}
        grades = [grade for grade in NUMBERS if -1 <= grade <= high]
        return {"aspect": aspect, "grade": w.rng.choice(grades)}

    aspects = (("correctness", 2), ("faithfulness", 1))
    return Table([ids | graded(*aspect) for ids, _ in w.cells() for aspect in aspects])


DOCS = ("d1", "d2", "d3")


def citations(w: World) -> Table:
    """Judgements alone: they know how many sentences there are, and every answer cites something."""
    rng, rows = w.rng, []
    shape: dict[tuple[str, str], list[tuple[str, ...]]] = {
        (system, query): [("d1",), *(cited(rng) for _ in range(rng.randint(0, 3)))]
        for system, query in product(w.systems, w.queries)
    }
    for ids, query in w.cells(absent=0):
        sentences = shape[ids["run_id"], query]
        for number, docs in enumerate(sentences):
            for doc in docs:
                row: Row = {"aspect": str(number), "item_id": doc, "sentences": len(sentences)}
                rows.append(ids | row | judgement(rng, oracle.CITATION))
    return Table(rows)


def cited_answers(w: World) -> Table:
    rng, rows = w.rng, []
    answers = {
        (system, query): [
            (rng.choice(TEXTS), (*cited(rng), *rng.choice(((), (), (None,)))))
            for _ in range(rng.choice((0, 1, 2, 3)))
        ]
        for system, query in product(w.systems, w.queries)
    }
    answers[w.systems[0], w.queries[0]] = [("first", ("d1",))]
    for ids, query in w.cells(absent=0):
        for number, (_, docs) in enumerate(answers[ids["run_id"], query]):
            for doc in docs:
                if doc is not None and (rng.random() < 0.9 or ids["run_id"] == w.systems[0]):
                    rows.append(
                        ids | {"aspect": str(number), "item_id": doc} | judgement(rng, oracle.CITATION)
                    )
    return Table(rows, answers)


def cited(rng: random.Random) -> tuple[str, ...]:
    return tuple(rng.sample(DOCS, rng.choice((0, 1, 1, 2, 3))))


def rankings(w: World) -> Table:
    rng, rows = w.rng, []
    for query, judge, order in product(w.queries, w.judges, range(rng.randint(1, 3))):
        places = rng.sample(range(1, len(w.systems) + 1), len(w.systems))
        if rng.random() < 0.15:
            places[0] = rng.choice((1, 2, 9))
        for system, place in zip(w.systems, places, strict=True):
            row: Row = {"query_id": query, "run_id": system, "aspect": f"order {order}", "judge": judge}
            rows.append(row | ({"status": "invalid"} if rng.random() < 0.05 else {"grade": place}))
    return Table(rows)


def games(w: World) -> Table:
    rng, rows = w.rng, []
    other = {"win": "loss", "loss": "win", "tie": "tie"}
    systems = [*w.systems, "last"]
    for query, judge, number in product(w.queries, w.judges, range(rng.randint(1, 4))):
        label = rng.choice(list(other))
        for system, outcome in zip(rng.sample(systems, 2), (label, other[label]), strict=True):
            row: Row = {"query_id": query, "run_id": system, "aspect": f"game {number}", "judge": judge}
            rows.append(row | judgement(rng, oracle.GAME, [outcome]))
    return Table(rows)


def quality(w: World) -> Table:
    rng, rows = w.rng, []
    number = {key: rng.randint(1, 5) for key in product(w.systems, w.queries)}
    for ids, query in w.cells(absent=0):
        rows.append(ids | {"aspect": "lacking", "grade": rng.randint(0, 3)})
        for index, aspect in product(range(number[ids["run_id"], query]), ("redundant", "hallucinated")):
            row: Row = {"item_id": f"n{index}", "aspect": aspect}
            failed = rng.random() < 0.1
            said_of_it = {"status": "error"} if failed else {"grade": rng.randint(0, 1)}
            rows.append(ids | row | said_of_it)
    return Table(rows)


def audits(w: World) -> Table:
    return Table(
        [
            ids | {"item_id": doc, "aspect": f"n{nugget}"} | judgement(w.rng, oracle.AUDIT)
            for ids, query in w.cells()
            for doc, nugget in product(DOCS, range(2))
        ]
    )


def proxies(w: World) -> Table:
    grades = [grade for grade in NUMBERS if 0 <= grade <= 1]
    importance: tuple[Row, ...] = ({"importance": "vital"}, {"importance": "okay"}, {})
    return Table(
        [
            ids | {"aspect": f"n{nugget}", "grade": w.rng.choice(grades)} | importance[nugget]
            for ids, _ in w.cells()
            for nugget in range(3)
        ]
    )


def short_answers(w: World) -> Table:
    return Table([ids | {"grade": w.rng.choice((0, 0.3, 0.5, 0.7, 1))} for ids, _ in w.cells()])


def tools(w: World) -> Table:
    """A grade of the tool's own beside what the tool made of it; a row that failed has neither."""

    def judgement_of_tool() -> Row:
        if w.rng.random() < 0.1:
            return {"status": w.rng.choice(FAILED)}
        return {"grade": w.rng.choice((0, 0.3, 0.5, 0.7, 1)), "label": w.rng.choice(("pass", "fail"))}

    return Table([ids | {"aspect": "score"} | judgement_of_tool() for ids, _ in w.cells()])


def reports(w: World) -> Table:
    """Sentences that cite nothing may need to; nuggets are judged twice."""
    given = cited_answers(w)
    rows = [row | {"rubric": "citation-support"} for row in given.rows]
    rows += [
        {key: row[key] for key in ("query_id", "run_id", "judge", "aspect", "item_id") if key in row}
        | {"rubric": "citation-relevance"}
        | judgement(w.rng, oracle.RELEVANT)
        for row in given.rows
    ]
    for ids, query in w.cells(absent=0):
        for number, (_, docs) in enumerate(given.answers[ids["run_id"], query]):
            if not docs and w.rng.random() < 0.85:
                sentence = {"rubric": "citation-need", "aspect": str(number)}
                rows.append(ids | sentence | judgement(w.rng, oracle.NEED))
    importance: tuple[Row, ...] = ({"importance": "vital"}, {"importance": "okay"}, {}, {"weight": 3})
    for (ids, _), rubric in product(w.cells(), ("nugget-support", "attested-nugget")):
        for sentence, weight in enumerate(importance):
            rows.append(
                ids | {"rubric": rubric, "aspect": f"n{sentence}"} | weight | judgement(w.rng, oracle.STATED)
            )
    return Table(rows, given.answers)


def stances(w: World) -> Table:
    weights = [w.rng.choice((4, 2, 1, 4 / 3, 0.5)) for _ in range(4)]
    rows = [
        ids | {"rubric": "stance", "aspect": f"a{index}", "weight": weight} | judgement(w.rng, oracle.STANCE)
        for ids, _ in w.cells()
        for index, weight in enumerate(weights)
    ]
    answers = {
        (system, query): [("It is safe.", ())]
        for system, query in product(w.systems, w.queries)
        if w.rng.random() < 0.7
    }
    return Table(rows, answers)


def questions(w: World) -> Table:
    rng, rows = w.rng, []
    for ids, _ in w.cells():
        for own in range(rng.randint(1, 3)):
            item = {"item_id": str(own + 1)}
            if rng.random() < 0.9 or not rows:
                rows.append(ids | item | {"rubric": "compound-question"} | judgement(rng, oracle.COMPOUND))
            rows += [
                ids | item | {"rubric": "question-similarity", "aspect": str(asked), "weight": weight}
                | judgement(rng, oracle.SIMILAR)
                for asked, weight in enumerate((4, 2, 1))
            ]  # fmt: skip
    for judge in w.judges:  # who says something on both scales
        ids = {"query_id": w.queries[0], "run_id": "all", "judge": judge, "item_id": "1"}
        rows.append(ids | {"rubric": "compound-question", "label": "single"})
        rows.append(ids | {"rubric": "question-similarity", "aspect": "0", "weight": 4, "label": "similar"})
    return Table(rows)


def medical_answers(w: World) -> Table:
    given = cited_answers(w)
    rows = [
        {key: row[key] for key in ("query_id", "run_id", "judge", "aspect", "item_id") if key in row}
        | {"rubric": "citation-stance"}
        | judgement(w.rng, oracle.CITED)
        for row in given.rows
    ]
    for ids, query in w.cells(absent=0):
        rows.append(ids | {"rubric": "answer-accuracy"} | judgement(w.rng, oracle.ACCURATE))
        for number in range(len(given.answers[ids["run_id"], query])):
            if w.rng.random() < 0.9 or not number:
                sentence = {"rubric": "sentence-relevance", "aspect": str(number)}
                rows.append(ids | sentence | judgement(w.rng, oracle.SENTENCE))
    return Table(rows, given.answers)


DRAW: dict[str, Callable[[World], Table]] = {
    "reports": reports,
    "stances": stances,
    "questions": questions,
    "medical answers": medical_answers,
    "nuggets": nuggets,
    "crag": crag,
    "liverag": liverag,
    "citations": citations,
    "cited answers": cited_answers,
    "rankings": rankings,
    "games": games,
    "quality": quality,
    "audits": audits,
    "proxies": proxies,
    "short answers": short_answers,
    "tools": tools,
}


def table(rng: random.Random, kind: str) -> Table:
    drawn = DRAW[kind](world(rng))
    rng.shuffle(drawn.rows)
    return drawn


class Found(NamedTuple):
    """A value a query (None where it is undefined), and the mean."""

    by_query: dict[str, float | None]
    value: float | None


Evaluate = Callable[[list[str], Table, str], dict[tuple[str, str], Found]]  # by system and measure


def package(measures: list[str], given: Table, on_missing: str = "skip") -> dict[tuple[str, str], Found]:
    table = rageval.evaluate_answers(measures, given.rows, answers=answer_lines(given), on_missing=on_missing)
    return {
        (run, measure): Found(
            {query: none_if_nan(value) for query, value in scores[measure].by_query.items()},
            none_if_nan(scores[measure].value),
        )
        for run, scores in table.items()
        for measure in measures
    }


def none_if_nan(value: float) -> float | None:
    return None if value != value else value


def answer_lines(given: Table) -> list[Row]:
    return [
        {
            "query_id": query,
            "run_id": run,
            "references": list(DOCS),
            "answer": [
                {"text": text, "citations": ["nowhere" if doc is None else doc for doc in docs]}
                for text, docs in sentences
            ],
        }
        for (run, query), sentences in given.answers.items()
    ]


def slowly(measures: list[str], given: Table, on_missing: str = "skip") -> dict[tuple[str, str], Found]:
    """What the oracle finds."""
    scores = {}
    for run in systems_of(given):
        for name in measures:
            measure = rageval.parse_measure(name)
            values = oracle.evaluate(measure.name, given, run, on_missing, **measure.arguments)
            mean = oracle.average(values.values())
            scores[run, name] = Found(
                {query: None if value is None else float(value) for query, value in values.items()},
                None if mean is None else float(mean),
            )
    return scores


def systems_of(given: Table) -> list[str]:
    return list(dict.fromkeys([row["run_id"] for row in given.rows] + [run for run, _ in given.answers]))


def agree(one: dict[Any, Found], other: dict[Any, Found]) -> bool:
    return one.keys() == other.keys() and all(
        one[key].by_query.keys() == other[key].by_query.keys()
        and all(near(one[key].by_query[query], other[key].by_query[query]) for query in one[key].by_query)
        and near(one[key].value, other[key].value)
        for key in one
    )


def near(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= SLACK * max(1.0, abs(one))


randoms = st.randoms(use_true_random=False)
policies = st.sampled_from(("skip", "worst", "best"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(rng=randoms, on_missing=policies)
def test_every_value_equals_the_oracles(kind: str, rng: random.Random, on_missing: str) -> None:
    drawn = table(rng, kind)
    measures = MEASURES[kind]
    right, ours = slowly(measures, drawn, on_missing), package(measures, drawn, on_missing)
    for key in right:
        assert agree({key: ours[key]}, {key: right[key]}), (key, ours[key], right[key])
    assert right.keys() == ours.keys()


def test_every_measure_of_answers_is_compared() -> None:
    compared = {rageval.parse_measure(name).name for names in MEASURES.values() for name in names}
    assert compared | OF_SETS == set(OF_ANSWERS)
    assert compared == set(oracle.MEASURES)


Law = Callable[[Evaluate, str, random.Random], bool]
LAWS: dict[str, Law] = {}
OF_KINDS: dict[str, tuple[str, ...]] = {}


def law(*kinds: str) -> Callable[[Law], Law]:
    def listed(function: Law) -> Law:
        LAWS[function.__name__] = function
        OF_KINDS[function.__name__] = kinds
        return function

    return listed


def changed(given: Table, change: Callable[[Row], Row]) -> Table:
    return replace(given, rows=[change(row) for row in given.rows])


def without_failures(given: Table) -> Table:
    """Every judgement is there; whole queries may still lack."""
    return replace(given, rows=[row for row in given.rows if not failed(row)] or given.rows)


def failed(row: Row) -> bool:
    return row.get("status") in FAILED


def label_of(row: Row) -> str | None:
    label = row.get("label")
    return None if label is None else label.strip().lower().replace(" ", "_").replace("-", "_")


def never_lower(after: dict[Any, Found], before: dict[Any, Found]) -> bool:
    return all(
        (later := after[key].by_query[query]) is not None and later >= value - SLACK
        for key in before
        for query, value in before[key].by_query.items()
        if value is not None
    )


TRACKS = ("reports", "stances", "questions", "medical answers")


@law("nuggets", "crag", "liverag", "cited answers", "rankings", "games", "quality", "audits", *TRACKS)
def row_order_changes_no_digit(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    """Of citations without their answers the order says which is the first."""
    drawn = table(rng, kind)
    before = evaluate(MEASURES[kind], drawn, "skip")
    mixed = replace(drawn, rows=rng.sample(drawn.rows, len(drawn.rows)))
    return evaluate(MEASURES[kind], mixed, "skip") == before


@law(*KINDS)
def names_of_systems_and_judges_do_not_matter(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    drawn = table(rng, kind)
    runs = dict(zip(systems_of(drawn), rng.sample("zyxwvu", 6), strict=False))
    judges = dict(zip(dict.fromkeys(map(oracle.judge_of, drawn.rows)), rng.sample("zyxwvu", 6), strict=False))
    renamed = Table(
        [row | {"run_id": runs[row["run_id"]], "judge": judges[oracle.judge_of(row)]} for row in drawn.rows],
        {(runs[run], query): answer for (run, query), answer in drawn.answers.items()},
    )
    before = evaluate(MEASURES[kind], drawn, "skip")
    after = evaluate(MEASURES[kind], renamed, "skip")
    return agree(after, {(runs[run], measure): score for (run, measure), score in before.items()})


@law("nuggets")
def full_support_for_partial_never_lowers(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    drawn = changed(table(rng, kind), lambda row: row if row.get("label") else row | {"status": "error"})
    drawn = changed(drawn, lambda row: {k: v for k, v in row.items() if not (failed(row) and k == "grade")})
    measures = [*RECALLS, "nugget_density", "nugget_f"]

    def raised(row: Row) -> Row:
        if label_of(row) != "partial_support" or rng.random() < 0.3:
            return row
        return {key: value for key, value in row.items() if key != "grade"} | {"label": "support"}

    return never_lower(evaluate(measures, changed(drawn, raised), "skip"), evaluate(measures, drawn, "skip"))


@law("crag")
def a_better_label_never_lowers_the_score(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    drawn = table(rng, kind)

    def raised(row: Row) -> Row:
        label = label_of(row)
        if label not in CRAG_LABELS:
            return row
        better = rng.choice(CRAG_LABELS[CRAG_LABELS.index(label) :])
        return {key: value for key, value in row.items() if key != "grade"} | {"label": better}

    before, after = (evaluate(["crag_score"], rows, "skip") for rows in (drawn, changed(drawn, raised)))
    return never_lower(after, before)


@law("crag")
def the_score_is_perfect_and_half_of_acceptable_less_incorrect(
    evaluate: Evaluate, kind: str, rng: random.Random
) -> bool:
    scores = evaluate(["crag_score", "crag_share", *SHARES], table(rng, kind), "skip")
    for run in {run for run, _ in scores}:
        score, accurate, *shares = (scores[run, name].value for name in ("crag_score", "crag_share", *SHARES))
        if score is None or accurate is None:
            continue
        incorrect, missing, acceptable, perfect = (share or 0.0 for share in shares)
        three_way = accurate - acceptable - perfect
        sums = (perfect + acceptable / 2 - incorrect + three_way, accurate + missing + incorrect)
        if not (near(sums[0], score) and near(sums[1], 1.0)):
            return False
    return True


@law("liverag", "audits")
def shares_of_whole_levels_sum_to_1(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    drawn = table(rng, kind)
    whole = changed(
        drawn,
        lambda row: row | ({"grade": round(row["grade"])} if kind == "liverag" and "grade" in row else {}),
    )
    parts = [LEVELS[:4], LEVELS[4:]] if kind == "liverag" else [MEASURES["audits"]]
    for measures in parts:
        scores = evaluate(measures, whole, "skip")
        for run in {run for run, _ in scores}:
            values = [scores[run, name].value for name in measures]
            if None not in values and not near(sum(value or 0 for value in values), 1.0):
                return False
    return True


# Of a label in the middle neither end is the most there can be: what that does is pinned elsewhere.
OF_TEXTS = ("length", "citations")  # which no judgement changes
MONOTONE = {
    kind: [name for name in names if not name.startswith(OF_TEXTS)] for kind, names in MEASURES.items()
} | {
    "crag": ["crag_score", "crag_share", "crag_share(label=perfect)", "crag_share(label=incorrect)"],
    "liverag": ["correctness", "faithfulness", LEVELS[0], LEVELS[3], LEVELS[4], LEVELS[6]],
    "audits": ["audit_share(label=relevant)", "audit_share(label=non_relevant)"],
}


@law("nuggets", "crag", "liverag", "citations", "cited answers", "games", "quality", "audits")
def no_completion_is_outside_of_worst_and_best(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    """Brute force: whatever up to three failed judgements would have said."""
    drawn = table(rng, kind)
    lost = [row for row in drawn.rows if failed(row)]
    for row in lost[3:]:
        drawn.rows[drawn.rows.index(row)] = rng.choice(completions(row, kind))
    measures = MONOTONE[kind]
    worst, best = (evaluate(measures, drawn, end) for end in ("worst", "best"))
    choices = list(product(*(completions(row, kind) for row in lost[:3])))
    for choice in rng.sample(choices, min(COMPLETIONS, len(choices))):
        filled = {id(row): completion for row, completion in zip(lost, choice, strict=False)}
        complete = replace(drawn, rows=[filled.get(id(row), row) for row in drawn.rows])
        for key, score in evaluate(measures, complete, "worst").items():
            ends = (worst[key].value, best[key].value)
            if score.value is None or ends[0] is None or ends[1] is None:
                continue
            if not min(ends) - SLACK <= score.value <= max(ends) + SLACK:
                return False
    return True


def completions(row: Row, kind: str) -> list[Row]:
    bare = {key: value for key, value in row.items() if key != "status"}
    scale = {"nuggets": oracle.NUGGET, "crag": oracle.CRAG, "games": oracle.GAME, "audits": oracle.AUDIT}
    if kind in ("citations", "cited answers"):
        scale[kind] = oracle.CITATION
    if kind in scale:
        return [bare | {"label": label} for label in scale[kind].worth]
    grades = (0, 1) if kind == "quality" else (-1, 0, 1)
    return [bare | {"grade": grade} for grade in grades]


@law("nuggets", "crag", "liverag", "cited answers", "games", "quality", "audits")
def to_skip_is_to_drop_the_rows(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    drawn = table(rng, kind)
    dropped = replace(drawn, rows=[row for row in drawn.rows if not failed(row)])
    measures = [name for name in MEASURES[kind] if not name.startswith(OF_TEXTS)]
    if len(set(map(spoken_for, dropped.rows))) < len(set(map(spoken_for, drawn.rows))):
        return True  # somebody has nothing left to say
    before, after = evaluate(measures, drawn, "skip"), evaluate(measures, dropped, "skip")
    return all(
        near(score.value, before[key].value)
        and all(near(value, before[key].by_query[query]) for query, value in score.by_query.items())
        for key, score in after.items()
    )


def spoken_for(row: Row) -> tuple[str, str, str]:
    return row["run_id"], oracle.judge_of(row), oracle.aspect_of(row) if "grade" in row else ""


@law(*KINDS)
def adding_queries_averages(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    one, two = (with_queries(table(rng, kind), tag) for tag in ("x", "y"))
    both = Table(one.rows + two.rows, {**one.answers, **two.answers})
    who = [({spoken_for(row)[:2] for row in part.rows}, set(systems_of(part))) for part in (one, two)]
    if who[0] != who[1]:
        return True  # a judge or a system of one table alone is missing in the other
    if len(one.rows) != len(without_failures(one).rows):
        return True
    parts = [evaluate(MEASURES[kind], part, "skip") for part in (one, two)]
    for key, score in evaluate(MEASURES[kind], both, "skip").items():
        values = [value for part in parts for value in part[key].by_query.values() if value is not None]
        if not near(score.value, sum(values) / len(values) if values else None):
            return False
    return True


def with_queries(given: Table, tag: str) -> Table:
    return Table(
        [row | {"query_id": row["query_id"] + tag} for row in given.rows],
        {(run, query + tag): answer for (run, query), answer in given.answers.items()},
    )


@law("nuggets")
def strict_recall_is_coverage_at_1(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    """An answer is a run that retrieves one document, judged on these nuggets."""
    drawn = table(rng, kind)
    rows = [
        row for row in drawn.rows if "label" in row and oracle.judge_of(row) == oracle.judge_of(drawn.rows[0])
    ]
    rows = [row for row in rows if row["run_id"] == "ours"]
    if not rows:
        return True
    qrels: dict[str, dict[str, dict[str, int]]] = {}
    for row in rows:
        qrels.setdefault(row["query_id"], {})[row["aspect"]] = {"answer": int(label_of(row) == "support")}
    coverage = rageval.evaluate("coverage@1", {query: {"answer": 1.0} for query in qrels}, qrels)[
        "coverage@1"
    ]
    (recall,) = evaluate(["nugget_recall"], Table(rows), "skip").values()
    return recall.by_query == coverage.by_query


@law("rankings")
def points_of_all_systems_sum_to_half_of_one_more(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    scores = evaluate(MEASURES[kind], drawn := table(rng, kind), "skip")
    runs = systems_of(drawn)
    for name in MEASURES[kind]:
        for query in scores[runs[0], name].by_query:
            values = [scores[run, name].by_query[query] for run in runs]
            if None not in values and not near(sum(value or 0 for value in values), (len(runs) + 1) / 2):
                return False
    return True


@law("cited answers", "citations")
def precisions_coincide_where_sentences_cite_once(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    drawn = table(rng, kind)
    answers = {key: [(text, docs[:1]) for text, docs in answer] for key, answer in drawn.answers.items()}
    rows = {
        (row["run_id"], row["query_id"], oracle.judge_of(row), row["aspect"]): row
        for row in reversed(drawn.rows)
    }
    if kind == "cited answers":
        first = {
            (run, query, str(number), docs[0])
            for (run, query), answer in answers.items()
            for number, (_, docs) in enumerate(answer)
            if docs
        }
        kept = [r for r in drawn.rows if (r["run_id"], r["query_id"], r["aspect"], r["item_id"]) in first]
    else:
        kept = list(rows.values())
    if not kept:
        return True
    scores = evaluate(PRECISIONS, Table(kept, answers), "skip")
    return all(
        scores[run, name] == scores[run, PRECISIONS[0]] for run, _ in scores for name in PRECISIONS
    ) and all(
        near(scores[run, name].value, scores[run, PRECISIONS[0]].value)
        for run, _ in scores
        for name in PRECISIONS
    )


@law("cited answers", "citations")
def recall_is_at_most_precision(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    scores = evaluate([*PRECISIONS[:2], *CITATION_RECALLS], table(rng, kind), "skip")
    for run in {run for run, _ in scores}:
        for precision, recall in zip(PRECISIONS[:2], CITATION_RECALLS[:2], strict=True):
            precisions, below = scores[run, precision].by_query, scores[run, recall].by_query
            for query in precisions:
                least, most = below[query], precisions[query]
                if most is None and least not in (0.0, None):
                    return False
                if most is not None and (least is None or least > most + SLACK):
                    return False
    return True


RANGES: dict[str, tuple[float, float]] = {
    "crag_score": (-1, 1),
    "correctness": (-1, 2),
    "faithfulness": (-1, 1),
    "rubric_score": (-float("inf"), 1),
    "nugget_density": (0, float("inf")),
    "length": (0, float("inf")),
    "citations": (0, float("inf")),
    "sentence_count": (0, float("inf")),
    "nugget_count": (0, float("inf")),
}


@law(*KINDS)
def values_stay_in_their_range(evaluate: Evaluate, kind: str, rng: random.Random) -> bool:
    drawn = table(rng, kind)
    for on_missing in ("skip", "worst", "best"):
        for (_, name), score in evaluate(MEASURES[kind], drawn, on_missing).items():
            low, high = RANGES.get(name.partition("(")[0], (0, 1))
            if not all(low <= v <= high + SLACK for v in score.by_query.values() if v is not None):
                return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in LAWS for kind in OF_KINDS[name]])
def test_the_laws_hold(name: str, kind: str) -> None:
    for seed in range(CASES):
        assert LAWS[name](package, kind, random.Random(seed)), seed


@pytest.mark.slow
@given(rng=randoms)
def test_judgements_of_several_kinds_do_not_disturb_each_other(rng: random.Random) -> None:
    kinds = rng.sample([kind for kind in KINDS if kind != "citations"], 3)
    tables = {kind: table(rng, kind) for kind in kinds}
    rows = [{"rubric": RUBRIC[kind]} | row for kind in kinds for row in tables[kind].rows]
    # Each system answers each question: whether one was left out is told by all kinds together.
    pairs = product({row["run_id"] for row in rows}, {row["query_id"] for row in rows})
    answers: dict[Any, Any] = {key: [("So it is.", ())] for key in pairs}
    answers |= {key: answer_rows for drawn in tables.values() for key, answer_rows in drawn.answers.items()}
    keys = [(*map(row.get, ("query_id", "run_id", "judge", "item_id", "aspect")),) for row in rows]
    if len(set(keys)) < len(keys) or sum(bool(tables[kind].answers) for kind in kinds) > 1:
        return
    rng.shuffle(rows)
    for kind in kinds:
        measures = [name for name in MEASURES[kind] if not name.startswith(OF_TEXTS)]
        alone = package(measures, replace(tables[kind], answers=answers))
        together = package(measures, Table(rows, answers))
        for key, answer_rows in alone.items():
            assert near(answer_rows.value, together[key].value), (kind, key)


@given(rng=st.randoms(use_true_random=False), failure=st.sampled_from([0.0, 0.05]))
def test_judgements_are_worth_the_same_counted_as_one_by_one(rng: random.Random, failure: float) -> None:
    rows = [
        {"query_id": query, "run_id": run, "aspect": aspect}
        | {"importance": ("vital", "okay")[int(aspect) % 2]}
        | ({"status": "error"} if rng.random() < failure else {"label": rng.choice(SUPPORT_LABELS)})
        for query, run, aspect in product("qrs", "ab", map(str, range(rng.randint(1, 6))))
        if rng.random() >= failure  # what is not there others have
    ]
    if not any("label" in row for row in rows):
        return  # nothing to score
    counted = rageval.evaluate_answers(RECALLS, rows, on_missing="worst")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScaleJudgements, "counted", lambda *_: None)
        one_by_one = rageval.evaluate_answers(RECALLS, rows, on_missing="worst")
    assert str(counted) == str(one_by_one)
    for run, scores in counted.items():
        for name, score in scores.items():
            assert repr(score.by_query) == repr(one_by_one[run][name].by_query)
            assert score.missing == one_by_one[run][name].missing


def written(folder: Path, given: Table) -> tuple[Path, Path]:
    judged, answers = folder / "judged.jsonl", folder / "answers.jsonl"
    judged.write_text("".join(json.dumps(row) + "\n" for row in given.rows), encoding="utf-8")
    answers.write_text("".join(json.dumps(row) + "\n" for row in answer_lines(given)), encoding="utf-8")
    return judged, answers


@pytest.mark.slow
@pytest.mark.some(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_files_in_is_dicts_in_and_the_command_is_the_function(kind: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    drawn, on_missing = table(rng, kind), rng.choice(("skip", "worst", "best"))
    judged, answers = written(tmp_path, drawn)
    options = {"on_missing": on_missing}
    answer_files = [answers] if drawn.answers else []
    from_dicts = rageval.evaluate_answers(MEASURES[kind], drawn.rows, answers=answer_lines(drawn), **options)
    from_files = rageval.evaluate_answers(MEASURES[kind], judged, answers=answer_files, **options)
    assert str(from_dicts) == str(from_files)
    words = [str(judged), *(word for path in answer_files for word in ("--answers", str(path)))]
    words += ["-m", " ".join(MEASURES[kind]), "--on-missing", on_missing, "-q", "--format", "json"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)["results"]
    assert len(printed) == sum(map(len, from_dicts.values()))
    for record in printed:
        score = from_dicts[record["run"]][record["measure"]]
        assert record["by_query"] == {query: none_if_nan(value) for query, value in score.by_query.items()}
        assert record["value"] == none_if_nan(score.value)
        assert record["signature"] == score.signature
        assert record["missing"] == score.missing
