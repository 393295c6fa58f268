"""Claims: RAGChecker's 22 values, a slow oracle over every completion, order laws, what its files may say."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import rageval
from rageval.cli import main
from rageval.errors import InputError, MissingJudgements
from rageval.measures.official import OFFICIAL

GOLDEN = Path(__file__).parents[1] / "golden/trec/ragchecker.labels.json"
THEIRS = {
    "answer_precision": "precision",
    "answer_recall": "recall",
    "answer_f1": "f1",
    "claim_recall": "claim_recall",
    "context_precision": "context_precision",
    "context_utilization": "context_utilization",
    "noise_relevant": "noise_sensitivity_in_relevant",
    "noise_irrelevant": "noise_sensitivity_in_irrelevant",
    "claim_hallucination": "hallucination",
    "self_knowledge": "self_knowledge",
    "claim_faithfulness": "faithfulness",
}
MEASURES = [*THEIRS, "all_supported"]
Labels = Mapping[tuple[str, str], str]  # (claim, what may entail it) -> its label, "" where judging failed


@pytest.mark.parametrize("compat", [None, "ragchecker"])
def test_all_22_values_are_ragcheckers_to_the_last_bit(compat: Any) -> None:
    scores = rageval.evaluate_answers("official:ragchecker", GOLDEN, compat=compat)["run"]
    for result in json.loads(GOLDEN.read_bytes())["results"]:
        for name, theirs in THEIRS.items():
            assert scores[name].by_query[result["query_id"]] == result["metrics"][theirs], name


def test_the_values_of_the_set_are_ragcheckers() -> None:
    printed = json.loads(GOLDEN.read_bytes())["metrics"]
    theirs = {name: value for group in printed.values() for name, value in group.items()}
    scores = rageval.evaluate_answers("official:ragchecker", GOLDEN)["run"]
    assert {THEIRS[name]: round(100 * score.value, 1) for name, score in scores.items()} == theirs
    assert [str(measure) for measure in OFFICIAL["ragchecker"]] == list(THEIRS)


@given(st.randoms(use_true_random=False))
@settings(max_examples=15)
@pytest.mark.slow
def test_where_all_wholes_are_equal_pooling_is_the_mean_whatever_the_order(rng: random.Random) -> None:
    names = ["answer_precision", "answer_recall", "claim_hallucination", "claim_faithfulness"]
    claims = [(f"response:{index}", "gold") for index in range(3)] + [
        (f"gold:{index}", "answer") for index in range(3)
    ]
    places = [(claim, item) for claim, other in claims for item in (other, "d")]
    labels = ("Entailment", "Neutral")
    rows = [row for query in "abc" for row in rows_of({place: rng.choice(labels) for place in places}, query)]
    measures = [*names, *(f"{name}(over=pool)" for name in names)]
    scores, mixed = (
        rageval.evaluate_answers(measures, given)["r"] for given in (rows, rng.sample(rows, len(rows)))
    )
    assert [score.value for score in scores.scores] == [score.value for score in mixed.scores]
    mean, pool = ([score.value for score in half] for half in (scores.scores[:4], scores.scores[4:]))
    assert pool == pytest.approx(mean, abs=1e-12)


def test_other_commands_take_the_file_too(tmp_path: Path) -> None:
    path = str(GOLDEN)
    assert "nothing suspicious" in CliRunner().invoke(main, ["doctor", path]).output
    agreed = CliRunner().invoke(main, ["label", "agree", path, path, "--format", "md"]).stdout
    assert "| judge \\\\ gold | contradiction | neutral | entailment |" in agreed
    page = tmp_path / "page.html"
    result = CliRunner().invoke(main, ["report", path, "-m", "official:ragchecker", "-o", str(page)])
    assert result.exit_code == 0, result.output
    assert "claim_hallucination" in page.read_text(encoding="utf-8")


def rows_of(labels: Labels, query: str = "q", run: str = "r") -> list[dict[str, Any]]:
    return [
        {"query_id": query, "run_id": run, "rubric": "entailment", "aspect": claim, "item_id": item}
        | ({"label": label} if label else {"status": "error"})
        for (claim, item), label in labels.items()
    ]


def values(labels: Labels, on_missing: Any = "skip", measures: list[str] = MEASURES) -> dict[str, float]:
    scores = rageval.evaluate_answers(measures, rows_of(labels), on_missing=on_missing)["r"]
    return {name: scores[name].value for name in measures}


def slowly(labels: Labels) -> dict[str, Fraction | None]:
    """All values from the formulas, of labels none of which is missing; None where they are undefined."""
    is_so = {place: label.lower() == "entailment" for place, label in labels.items()}
    own = sorted({claim for claim, _ in labels if claim.startswith("response:")})
    gold = sorted({claim for claim, _ in labels if claim.startswith("gold:")})
    passages = sorted({item for _, item in labels if item not in ("gold", "answer")})
    relevant = {p for p in passages if any(is_so[g, p] for g in gold)}

    def mean(flags: Iterator[bool]) -> Fraction | None:
        flag = list(flags)
        return Fraction(sum(flag), len(flag)) if flag else None

    def over(is_counted: Callable[[str, set[str]], bool]) -> Fraction | None:
        """The share of the answer's claims, by what entails them among the passages."""
        by = {c: {p for p in passages if is_so[c, p]} for c in own}
        return mean(is_counted(c, by[c]) for c in own) if passages else None

    right = {c: is_so[c, "gold"] for c in own}
    precision, recall = mean(iter(right.values())), mean(is_so[g, "answer"] for g in gold)
    f1 = None
    if precision is not None and recall is not None:
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else Fraction(0)
    covered = [g for g in gold if any(is_so[g, p] for p in passages)]
    faithful = over(lambda c, by: bool(by))
    return {
        "answer_precision": precision,
        "answer_recall": recall,
        "answer_f1": f1,
        "claim_recall": mean(g in covered for g in gold) if passages else None,
        "context_precision": mean(p in relevant for p in passages) if gold else None,
        "context_utilization": mean(is_so[g, "answer"] for g in covered),
        "noise_relevant": over(lambda c, by: not right[c] and bool(by & relevant)) if gold else None,
        "noise_irrelevant": over(lambda c, by: not right[c] and bool(by) and not by & relevant)
        if gold
        else None,
        "claim_hallucination": over(lambda c, by: not right[c] and not by),
        "self_knowledge": over(lambda c, by: right[c] and not by),
        "claim_faithfulness": faithful,
        "all_supported": None if faithful is None else Fraction(faithful == 1),
    }


def drawn(rng: random.Random, failing: float = 0.0, most: int = 3) -> dict[tuple[str, str], str]:
    own, gold = (rng.randint(1, most) for _ in range(2))
    passages = [f"d{index}" for index in range(rng.randint(1, 2))]
    claims = [(f"response:{index}", "gold") for index in range(own)] + [
        (f"gold:{index}", "answer") for index in range(gold)
    ]
    places = [(claim, item) for claim, other in claims for item in (other, *passages)]
    labels = ("Entailment", "Entailment", "Neutral", "Contradiction")
    return {place: "" if rng.random() < failing else rng.choice(labels) for place in places}


def same(value: float, right: Fraction | None) -> bool:
    return math.isnan(value) if right is None else value == pytest.approx(float(right), abs=1e-12)


randoms = st.randoms(use_true_random=False)


@given(randoms)
@settings(max_examples=60)
@pytest.mark.slow
def test_every_value_is_the_oracles(rng: random.Random) -> None:
    labels = drawn(rng)
    right = slowly(labels)
    scores = values(labels)
    assert all(same(scores[name], right[name]) for name in MEASURES)


@given(randoms)
@settings(max_examples=20)
@pytest.mark.slow
def test_order_and_ids_change_nothing(rng: random.Random) -> None:
    labels = drawn(rng, 0.2)
    numbers = rng.sample(range(50), 4)
    renamed = {
        (
            f"{claim.partition(':')[0]}:{numbers[int(claim[-1])]}",
            {"d0": "x9", "d1": "a"}.get(item, item),
        ): label
        for (claim, item), label in rng.sample(list(labels.items()), len(labels))
    }
    for end in ("skip", "worst", "best"):
        assert json.dumps(values(renamed, end)) == json.dumps(values(labels, end))


@pytest.mark.some(9)
@pytest.mark.parametrize("seed", range(60))
def test_the_bounds_are_the_ends_of_all_completions(seed: int) -> None:
    """And what is certain whatever the failed judgements are is counted; a failed one is never a no."""
    rng = random.Random(seed)
    labels = drawn(rng, most=2)
    failed = rng.sample(list(labels), min(3, len(labels)))
    labels = {place: "" if place in failed else label for place, label in labels.items()}
    ways = product(("Entailment", "Neutral"), repeat=len(failed))
    complete = [slowly({**labels, **dict(zip(failed, way, strict=True))}) for way in ways]
    worst, best = values(labels, "worst"), values(labels, "best")
    for name in set(MEASURES) - {"answer_f1"}:
        reached = [completion[name] for completion in complete]
        if None in reached:
            continue
        low, high = sorted((worst[name], best[name]))
        assert (low, high) == pytest.approx(
            (min(map(float, reached)), max(map(float, reached))), abs=1e-12
        ), name  # type: ignore[arg-type]


def test_what_rests_on_a_failed_judgement_is_left_out() -> None:
    labels = {("response:0", "d0"): "", ("response:0", "d1"): "Entailment", ("response:1", "d0"): ""}
    labels |= {("response:1", "d1"): "Neutral"}
    # A passage entails the first claim, whatever the other one does; of the second nothing is known.
    assert values(labels, measures=["claim_faithfulness"]) == {"claim_faithfulness": 1.0}
    with pytest.raises(MissingJudgements, match=r"2 error.*lies between 0\.5000 and 1\.0000"):
        values(labels, "error", ["claim_faithfulness"])


def test_ragchecker_takes_what_failed_for_a_no_and_what_is_undefined_for_0(tmp_path: Path) -> None:
    result = {"query_id": "q", "answer2response": [None, "Entailment"], "response2answer": []}
    (tmp_path / "checked.json").write_text(json.dumps({"results": [result | {"retrieved2answer": []}]}))
    names = "answer_precision, answer_recall, claim_faithfulness"
    theirs = rageval.evaluate_answers(
        "answer_precision, answer_recall", tmp_path / "checked.json", compat="ragchecker"
    )
    assert [score.value for score in theirs["run"].scores] == [0.5, 0.0]
    ours = rageval.evaluate_answers(names, tmp_path / "checked.json", on_missing="skip")["run"]
    assert ours["answer_precision"].value == 1.0
    assert [ours[name].undefined for name in ("answer_recall", "claim_faithfulness")] == [1, 1]
    assert "|compat:ragchecker|" in theirs["run"].scores[0].signature


def test_an_answer_without_any_claim_is_known_all_the_same(tmp_path: Path) -> None:
    labels = {"answer2response": ["Entailment"], "response2answer": ["Neutral"]}
    results = [{"query_id": "1", **labels}, {"query_id": "2", "answer2response": [], "response2answer": []}]
    (tmp_path / "checked.json").write_text(json.dumps({"results": results}, indent=1))
    for compat, value in ((None, 1.0), ("ragchecker", 0.5)):
        scores = rageval.evaluate_answers("answer_precision", tmp_path / "checked.json", compat=compat)  # type: ignore[arg-type]
        assert scores["run"]["answer_precision"].value == value


def test_passages_have_their_ids_where_they_are_said(tmp_path: Path) -> None:
    result = {"query_id": "q", "answer2response": ["Entailment"], "response2answer": []}
    result |= {
        "retrieved2response": [["Neutral", "Entailment"]],
        "retrieved_context": [{"doc_id": "d7"}, {"doc_id": 8}],
    }
    (tmp_path / "checked.json").write_text(json.dumps({"results": [result]}))
    table = rageval.read_judgements(tmp_path / "checked.json")
    assert {str(line.item_id) for _, line in table.each()} == {"gold", "d7", "8"}


CHECKED = {"query_id": "q", "answer2response": ["Neutral"], "response2answer": ["Neutral"]}
REFUSED = {
    "not checked": ({"query_id": "q", "gt_answer": "x"}, "missing required field `answer2response`"),
    "another label": (
        CHECKED | {"answer2response": ["perhaps"]},
        "expected one of entailment, neutral, contradiction",
    ),
    "no list": (CHECKED | {"answer2response": "Neutral"}, "results[0].answer2response"),
    "twice": (None, "expected each query once, found it twice"),
    "passages": (
        CHECKED | {"retrieved2response": [["Neutral"]], "retrieved_context": [{"doc_id": 1}, {"doc_id": 2}]},
        "expected 2 labels, one per passage, found 1",
    ),
    "a passage called gold": (
        CHECKED | {"retrieved2response": [["Neutral"]], "retrieved_context": [{"doc_id": "gold"}]},
        "passage ids other than 'gold'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, case: str) -> None:
    result, message = REFUSED[case]
    path = tmp_path / "checked.json"
    path.write_text(json.dumps({"results": [CHECKED, CHECKED] if result is None else [result]}))
    refusal = CliRunner().invoke(main, [str(path), "-m", "official:ragchecker"])
    assert (refusal.exit_code, refusal.stdout) == (2, "")
    assert message in refusal.stderr
    assert f"{path}:1:" in refusal.stderr


@pytest.mark.parametrize(
    "content", ['{"results": [{"answer2response": ' + "[" * 100_000, '{"results": ["gt_answer"]']
)
def test_broken_files_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "checked.json").write_text(content)
    result = CliRunner().invoke(main, [str(tmp_path / "checked.json"), "-m", "answer_precision"])
    assert result.exit_code == 2
    assert "RAGChecker's results" in result.stderr


def test_an_aspect_that_is_no_claim_is_refused() -> None:
    with pytest.raises(InputError, match="is about aspect 'n1' of item 'answer'; expected a claim"):
        rageval.evaluate_answers("answer_precision", rows_of({("n1", "answer"): "Neutral"}))
