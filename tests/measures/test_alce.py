"""ALCE's citations, Trust-Score, HealthBench: the peers' numbers, a slow oracle, what is missing, never 0."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rageval
from rageval.errors import InputError, MissingJudgements, UsageError

CASES = json.loads((Path(__file__).parents[1] / "golden/trec/alce.cases.json").read_bytes())
MEASURES = ("alce_recall", "alce_precision")
Cited = Sequence[Sequence[str | None]]  # by each sentence; None for what leads nowhere
Suffices = Callable[[int, frozenset[str]], bool]  # (sentence, documents)


def answer_of(cited: Cited) -> dict[str, Any]:
    documents = sorted({doc for docs in cited for doc in docs if doc is not None})
    sentences = [
        {"text": "So.", "citations": ["nowhere" if doc is None else doc for doc in docs]} for docs in cited
    ]
    return {"query_id": "q", "run_id": "r", "answer": sentences, "references": documents}


def places(cited: Cited) -> list[tuple[int, str]]:
    """Everything that could be judged: all citations of a sentence, each alone, and all but each."""
    aspects: list[tuple[int, str]] = []
    for index, docs in enumerate(cited):
        documents = list(dict.fromkeys(doc for doc in docs if doc is not None))
        aspects += [(index, "*")] if documents else []
        if len(documents) > 1:
            aspects += [(index, item) for doc in documents for item in (doc, f"-{doc}")]
    return aspects


def meant(cited: Cited, index: int, item: str) -> frozenset[str]:
    docs = frozenset(doc for doc in cited[index] if doc is not None)
    return docs if item == "*" else docs - {item[1:]} if item.startswith("-") else frozenset({item})


def rows_of(labels: Mapping[tuple[int, str], str]) -> list[dict[str, Any]]:
    return [
        {
            "query_id": "q",
            "run_id": "r",
            "rubric": "citations-together",
            "aspect": str(sentence),
            "item_id": item,
        }
        | ({"label": label} if label else {"status": "error"})
        for (sentence, item), label in labels.items()
    ]


def labeled(cited: Cited, suffices: Suffices) -> dict[tuple[int, str], str]:
    return {
        (sentence, item): "yes" if suffices(sentence, meant(cited, sentence, item)) else "no"
        for sentence, item in places(cited)
    }


def values(cited: Cited, labels: Mapping[tuple[int, str], str], on_missing: Any = "error") -> list[float]:
    """The values of the answer; another one is judged in any case, so that there are judgements."""
    other = rows_of({(0, "*"): "yes"})[0] | {"query_id": "other"}
    answers = [answer_of(cited), answer_of([["d"]]) | {"query_id": "other"}]
    scores = rageval.evaluate_answers(
        MEASURES, [*rows_of(labels), other], answers=answers, on_missing=on_missing
    )["r"]
    return [scores[name].by_query["q"] for name in MEASURES]


def test_f1_is_that_of_recall_and_precision() -> None:
    cited: Cited = [["a", "b"], ["c"], ["a"]]
    labels = {
        (0, "*"): "yes",
        (0, "a"): "yes",
        (0, "-a"): "yes",
        (0, "b"): "no",
        (0, "-b"): "yes",
        (1, "*"): "no",
    }
    judged = rows_of(labels | {(2, "*"): "yes"})
    names = [*MEASURES, "alce_f1"]
    scores = rageval.evaluate_answers(names, judged, answers=[answer_of(cited)])["r"]
    recall, precision, f1 = (scores[name].value for name in names)
    assert (recall, precision) == (2 / 3, 2 / 4)
    assert f1 == pytest.approx(2 * recall * precision / (recall + precision), abs=1e-15)


def slowly(cited: Cited, suffices: Suffices) -> list[Fraction]:
    """Recall and precision by eval.py's words, over sentences with distinct citations."""
    recall, precise, counted = 0, 0, 0
    for index, docs in enumerate(cited):
        if not docs or None in docs:
            continue
        documents = frozenset(doc for doc in docs if doc is not None)
        whole = suffices(index, documents)
        recall, counted = recall + whole, counted + len(documents)
        for doc in documents:
            superfluous = (
                len(documents) > 1
                and not suffices(index, frozenset({doc}))
                and suffices(index, documents - {doc})
            )
            precise += whole and not superfluous
    return [Fraction(recall, len(cited)), Fraction(precise, counted) if counted else Fraction(0)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["case"]))
def test_alces_own_numbers(case: dict[str, Any]) -> None:
    sentences = [(text.partition(" [")[0], re.findall(r"\[(\d+)\]", text)) for text in case["output"]]
    cited = [[doc if int(doc) <= 3 else None for doc in docs] for _, docs in sentences]
    entailed = {(sentence, frozenset(docs)) for docs, sentence in case["entailed"]}
    labels = labeled(cited, lambda sentence, docs: (sentences[sentence][0], docs) in entailed)
    expected = [case["citation_rec"], case["citation_prec"]]
    assert [100 * value for value in values(cited, labels)] == pytest.approx(expected, abs=1e-12)


def drawn(rng: random.Random, most: int = 3) -> Cited:
    def cites() -> list[str | None]:
        docs: list[str | None] = list(rng.sample("abc", rng.choice((0, 1, 2, 3))))
        return [*docs, None] if rng.random() < 0.15 else docs

    return [cites() for _ in range(rng.randint(1, most))]


def world(rng: random.Random) -> Suffices:
    """Any truth, not only one in which more documents support more."""
    table: dict[tuple[int, frozenset[str]], bool] = {}
    return lambda sentence, docs: table.setdefault((sentence, docs), rng.random() < 0.5)


@pytest.mark.slow
@given(st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_every_value_is_the_oracles(rng: random.Random) -> None:
    cited, suffices = drawn(rng), world(rng)
    labels = labeled(cited, suffices)
    assert values(cited, labels) == pytest.approx(list(map(float, slowly(cited, suffices))), abs=1e-12)


@pytest.mark.slow
@given(st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_the_order_of_sentences_and_citations_changes_nothing(rng: random.Random) -> None:
    cited, suffices = drawn(rng), world(rng)
    order = rng.sample(range(len(cited)), len(cited))
    mixed = [rng.sample(list(cited[sentence]), len(cited[sentence])) for sentence in order]
    other = labeled(mixed, lambda sentence, docs: suffices(order[sentence], docs))
    assert values(mixed, other) == values(cited, labeled(cited, suffices))


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(40))
def test_every_completion_lies_within_the_bounds(seed: int) -> None:
    rng = random.Random(seed)
    cited = drawn(rng, most=2)
    labels = labeled(cited, world(rng))
    sets = {place: (place[0], meant(cited, *place)) for place in labels}
    # Of two citations, one alone is all but the other: both names mean one judgement, and fail together.
    failed = rng.sample(list(dict.fromkeys(sets.values())), min(3, len(set(sets.values()))))
    open_ = {place: "" if sets[place] in failed else label for place, label in labels.items()}
    ends = list(zip(values(cited, open_, "worst"), values(cited, open_, "best"), strict=True))
    for way in product(("yes", "no"), repeat=len(failed)):
        filled = dict(zip(failed, way, strict=True))
        complete = {place: filled.get(sets[place], label) for place, label in labels.items()}
        for (low, high), value in zip(ends, values(cited, complete), strict=True):
            assert min(low, high) - 1e-12 <= value <= max(low, high) + 1e-12


def test_a_sentence_that_nobody_judged_together_is_missing_and_no_0() -> None:
    cited = [["a", "b"], ["a"]]
    labels = {(0, "a"): "yes", (0, "b"): "no", (1, "a"): "yes"}
    with pytest.raises(MissingJudgements, match=r"1 absent.*lies between 0\.7500 and 1\.0000"):
        values(cited, labels)
    assert values(cited, labels, "skip")[0] == 1.0
    assert values(cited, labels, "worst")[0] == 0.5


def test_what_nothing_hangs_on_need_not_be_judged() -> None:
    # a alone suffices, so nobody asks what b does without it; of one citation, all together is that one.
    assert values(
        [["a", "b"], ["c"]], {(0, "*"): "yes", (0, "a"): "yes", (0, "b"): "yes", (1, "c"): "no"}
    ) == [0.5, 2 / 3]
    # Of two citations, all but one is the other alone.
    assert values([["a", "b"]], {(0, "*"): "yes", (0, "a"): "yes", (0, "b"): "no"}) == [1.0, 0.5]


def test_what_the_answer_does_not_cite_is_refused() -> None:
    with pytest.raises(InputError, match="hold sentence '0' and 'z', which the answer does not cite there"):
        values([["a"]], {(0, "z"): "yes"})
    with pytest.raises(UsageError, match="needs the answers"):
        rageval.evaluate_answers("alce_recall", rows_of({(0, "*"): "yes"}))


# --- Trust-Score ---


def trust(
    correct: str = "crag", on_missing: Any = "error", failing: int = -1
) -> rageval.scoring.scores.Score:
    """Ten questions, 5 answered of 7 answerable ones; recall 3/5 and precision 2.5/5 of what is answered."""
    judged: list[dict[str, Any]] = []
    answers = []
    sentence: list[Mapping[str, str]] = [
        {"*": "yes", "a": "yes", "b": "yes"},
        {"*": "yes", "a": "yes", "b": "yes"},
        {"*": "yes", "a": "yes", "b": "no"},
        {"*": "no"},
        {"*": "no"},
    ]
    for index in range(10):
        place = {"query_id": str(index), "run_id": "r"}
        label = {"label": "perfect" if index < 5 else "missing"} if index != failing else {"status": "error"}
        judged.append(place | {"rubric": "crag", "answerable": index < 7} | label)
        sentences = (
            [{"text": "So.", "citations": ["a", "b"]}]
            if index < 5
            else [{"text": "I do not know.", "citations": []}]
        )
        answers.append(place | {"answer": sentences, "references": ["a", "b"]})
        judged += [
            place | {"rubric": "citations-together", "aspect": "0", "item_id": item, "label": label}
            for item, label in (sentence[index] if index < 5 else {}).items()
        ]
        nugget = {"rubric": "nugget-assignment", "aspect": "n", "label": "support"}
        judged += [place | nugget] if correct == "nuggets" else []
    name = f"trust_score(correct={correct})"
    return rageval.evaluate_answers(name, judged, answers=answers, on_missing=on_missing)["r"].scores[0]


@pytest.mark.parametrize("correct", ["crag", "nuggets"])
def test_trust_evals_trust_score(correct: str) -> None:
    # From its three F1: refusals 79.17, calibrated correctness 83.33, citations 54.55.
    assert 100 * trust(correct).value == pytest.approx(72.34848484848484, abs=1e-10)
    assert trust(correct).queries == 10


def test_kinds_of_judgements_by_different_judges_are_no_score() -> None:
    answers = [
        {"query_id": "q", "run_id": "r", "answer": [{"text": "So.", "citations": ["a"]}], "references": ["a"]}
    ]
    place = {"query_id": "q", "run_id": "r"}
    judged = [
        place | {"rubric": "crag", "label": "perfect", "answerable": True, "judge": "A"},
        place | {"rubric": "citations-together", "aspect": "0", "item_id": "*", "label": "yes", "judge": "B"},
    ]
    with pytest.raises(
        UsageError, match=r"no judge \(A, B\) made all of them; expected all kinds from one judge"
    ):
        rageval.evaluate_answers("trust_score(correct=crag)", judged, answers=answers)


def test_a_failed_judgement_of_a_refusal_gives_bounds() -> None:
    score = trust("crag", "skip", failing=9)
    assert score.bounds is not None
    low, high = score.bounds
    assert low < trust().value == pytest.approx(high, abs=1e-12)


def test_a_failed_judgement_is_worst_as_an_answer_where_there_is_none() -> None:
    """Question 9 has no answer: at best it was refused, at worst answered."""
    worst, best = (trust("crag", end, failing=9).value for end in ("worst", "best"))
    assert worst < best == pytest.approx(trust().value, abs=1e-12)


# --- HealthBench ---


def examples(*scores: Sequence[tuple[float, str]]) -> list[dict[str, Any]]:
    return [
        {"query_id": str(query), "run_id": "r", "aspect": str(index), "weight": weight, "label": label}
        for query, criteria in enumerate(scores)
        for index, (weight, label) in enumerate(criteria)
    ]


def test_healthbench_clips_after_the_mean() -> None:
    # Examples of -0.5 and 0.9.
    judged = examples(
        [(10, "not_support"), (-5, "support")], [(9, "support"), (1, "not_support"), (-3, "not_support")]
    )
    names = "official:healthbench, rubric_score(floor=zero)"
    scores = rageval.evaluate_answers(names, judged)["r"]
    assert [score.value for score in scores.scores] == pytest.approx([0.2, 0.45], abs=1e-12)
    assert scores["healthbench_score"].by_query == {"0": -0.5, "1": 0.9}


@pytest.mark.parametrize(("met", "value"), [("support", 0.0), ("not_support", 1.0)])
def test_the_clipped_mean_is_from_0_to_1(met: str, value: float) -> None:
    judged = examples([(1, "support"), (-9, met)], [(2, "support"), (-9, met)])
    assert rageval.evaluate_answers("healthbench_score", judged)["r"]["healthbench_score"].value == value


def test_what_is_partly_met_is_not_met_unless_half_of_it_is_asked_for() -> None:
    judged = examples([(4, "partial_support"), (4, "support"), (-4, "partial_support")])
    scores = rageval.evaluate_answers("healthbench_score, healthbench_score(credit=partial)", judged)["r"]
    assert [score.value for score in scores.scores] == [0.5, 0.5]
    judged = examples([(4, "partial_support"), (4, "support")])
    scores = rageval.evaluate_answers("healthbench_score, healthbench_score(credit=partial)", judged)["r"]
    assert [score.value for score in scores.scores] == [0.5, 0.75]


def test_a_failed_criterion_of_healthbench_lies_between_its_ends() -> None:
    judged = examples([(4, "support"), (4, "support")])
    del judged[1]["label"]
    judged[1] |= {"status": "error", "weight": -2}
    with pytest.raises(MissingJudgements, match=r"lies between 0\.5000 and 1\.0000"):
        rageval.evaluate_answers("healthbench_score", judged)
    assert math.isclose(
        rageval.evaluate_answers("healthbench_score", judged, on_missing="skip")["r"].scores[0].value, 1
    )
