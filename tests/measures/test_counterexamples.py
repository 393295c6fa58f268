"""Toy cases in closed form, and every counter-example of the mathematics with its number."""

from __future__ import annotations

from itertools import permutations
from math import log2, nextafter

import pytest

import rageval
from rageval.scoring.soft import soft_scores

ABOVE_1 = {"1": {"dA": 1, "dZ": 1}, "2": {"dA": 1}, "3": {"dB": 1, "dZ": 1}, "4": {"dB": 1}}


def value(measure: str, run: dict[str, float] | str, qrels: dict) -> float:
    """The value for one query; a run may be written as documents in order."""
    if isinstance(run, str):
        run = {doc: -float(rank) for rank, doc in enumerate(run.split())}
    return rageval.evaluate(measure, {"q": run}, {"q": qrels})[measure].value


def test_alpha_ndcg_above_1_and_its_dependence_on_names() -> None:
    greedy = 2 + 1.5 / log2(3)
    best = 2 + 2 / log2(3)
    assert value("alpha_ndcg@2", "dA dB", ABOVE_1) == pytest.approx(best / greedy, abs=1e-15)
    assert value("alpha_ndcg@2", "dA dB", ABOVE_1) == pytest.approx(1.1070681006, abs=1e-10)
    assert value("nerr_ia@2", "dA dB", ABOVE_1) == pytest.approx(3 / 2.75, abs=1e-15)
    assert value("nnrbp", "dA dB dZ", ABOVE_1) == (2 + 2 / 2 + 1 / 4) / (2 + 1.5 / 2 + 1.5 / 4) == 1.04
    renamed = {
        n: {doc.replace("dZ", "d0"): grade for doc, grade in docs.items()} for n, docs in ABOVE_1.items()
    }
    assert value("alpha_ndcg@2", "dA dB", renamed) == 1.0


def test_adding_an_unretrieved_document_can_raise_alpha_ndcg() -> None:
    without = {n: {doc: grade for doc, grade in docs.items() if doc != "dZ"} for n, docs in ABOVE_1.items()}
    assert value("alpha_ndcg@2", "dA dB", without) == 1.0


def test_above_1_without_ties() -> None:
    sets = {"A": "01456", "B": "01567", "C": "267", "D": "0135"}
    qrels = {n: {doc: 1 for doc, documents in sets.items() if n in documents} for n in "01234567"}
    documents = max(value("alpha_ndcg@3", " ".join(order), qrels) for order in permutations("ABCD", 3))
    assert documents == pytest.approx(1.00766, abs=1e-5)


def test_the_three_document_case() -> None:
    qrels = {"0": {"b": 1, "c": 1}, "1": {"a": 1}, "2": {"b": 1}, "3": {"a": 1, "c": 1}}
    assert value("alpha_ndcg", "a b c", qrels) == pytest.approx(1.0177, abs=1e-4)


@pytest.mark.slow
def test_the_order_of_nuggets_cannot_decide_a_greedy_tie() -> None:
    sets = {"d0": "234", "d1": "0245", "d2": "124", "d3": "015"}
    values = set()
    for order in permutations("012345"):
        qrels = {n: {doc: 1 for doc, nuggets in sets.items() if n in nuggets} for n in order}
        values.add(value("alpha_ndcg(alpha=0.6)@3", "d0 d1 d2 d3", qrels))
    assert len(values) == 1
    assert round(values.pop(), 4) in (0.8991, 0.9363)


def test_alpha_0_with_a_nugget_a_document_is_plain_dcg() -> None:
    qrels = {"n1": {"a": 1}, "n2": {"c": 1}}
    assert value("alpha_dcg(alpha=0)", "a b c", qrels) == 1 + 1 / log2(4)


def test_alpha_1_with_one_nugget_is_the_discount_of_its_rank() -> None:
    assert value("alpha_dcg(alpha=1)", "x a b", {"n": {"a": 1, "b": 1}}) == 1 / log2(3)


def test_at_rank_1_it_is_a_share_of_nuggets() -> None:
    qrels = {"1": {"a": 1, "b": 1}, "2": {"a": 1}, "3": {"a": 1}}
    assert value("alpha_ndcg@1", "b a", qrels) == pytest.approx(1 / 3, abs=1e-15)


def test_a_repeated_nugget_is_worth_half() -> None:
    qrels = {"n": {"a": 1, "b": 1, "c": 1}}
    assert value("alpha_dcg@3", "a b c", qrels) == 1 + 0.5 / log2(3) + 0.25 / log2(4)


def test_alpha_ndcg_is_not_monotone_in_k() -> None:
    """The second document of the ideal is missing; the third place of the run makes up for some of it."""
    qrels = {"1": {"a": 1}, "2": {"b": 1}}
    assert value("alpha_ndcg@1", "a x b", qrels) == 1.0
    assert value("alpha_ndcg@2", "a x b", qrels) == 1 / (1 + 1 / log2(3))
    assert value("alpha_ndcg@3", "a x b", qrels) == (1 + 1 / log2(4)) / (1 + 1 / log2(3))


def test_alpha_ndcg_is_not_monotone_in_alpha() -> None:
    """A fixed gain over a falling ideal rises; where run and ideal lose the same, the share falls."""
    twice = {n: {"a": 1, "b": 1} for n in "012"}
    third = {"0": {"a": 1}, "1": {"a": 1, "b": 1}, "2": {"a": 1, "b": 1}}
    for alpha in (0, 0.25, 0.5, 0.75, 1):
        decay = 1 - alpha
        rising = value(f"alpha_ndcg(alpha={alpha})", "b", twice)
        falling = value(f"alpha_ndcg(alpha={alpha})", "b a", third)
        assert rising == pytest.approx(3 / (3 + 3 * decay / log2(3)), abs=1e-15)
        best = 3 + 2 * decay / log2(3)
        assert falling == pytest.approx((2 + (1 + 2 * decay) / log2(3)) / best, abs=1e-15)


def test_alpha_ndcg_goes_on_falling_below_the_end_of_the_run() -> None:
    qrels = {"1": {"a": 1}, "2": {"b": 1}}
    assert value("alpha_ndcg@1", "a", qrels) == 1.0
    assert value("alpha_ndcg@2", "a", qrels) == value("alpha_ndcg", "a", qrels) == 1 / (1 + 1 / log2(3))


def test_more_nuggets_above_fewer_can_hurt() -> None:
    """Below a and c the two nuggets of d are old: 1/4 and 1/2, against the 1 of b."""
    qrels = {"0": {"a": 1, "c": 1, "d": 1}, "1": {"b": 1}, "2": {"c": 1, "d": 1}}
    fewer_first = 1 + 1.5 / log2(3) + 1 / log2(4) + 0.75 / log2(5)
    more_first = 1 + 1.5 / log2(3) + 0.75 / log2(4) + 1 / log2(5)
    assert value("alpha_dcg", "a c b d", qrels) == pytest.approx(fewer_first, abs=1e-15)
    assert value("alpha_dcg", "a c d b", qrels) == pytest.approx(more_first, abs=1e-15)
    assert value("alpha_ndcg", "a c d b", qrels) < value("alpha_ndcg", "a c b d", qrels)


@pytest.mark.parametrize("rank", [25, 26, 27, 60, 300])
def test_a_discount_has_no_last_rank(rank: int) -> None:
    run = " ".join(["a", *(f"x{place}" for place in range(rank - 2)), "b"])
    last, one = {"n": {"b": 1}}, {"n": {"b": 1, "c": 1}}
    logarithmic, both = 1 / log2(1 + rank), 1 + 1 / log2(3)
    assert value("alpha_dcg", run, last) == value("ndcg", run, last) == logarithmic
    assert value("alpha_ndcg(alpha=0)", run, one) == pytest.approx(logarithmic / both, abs=1e-15)
    assert value("d_ndcg", run, last) == logarithmic
    assert value("err_ia(normalize=none)", run, last) == 1 / rank
    assert value("nnrbp", run, last) == 0.5 ** (rank - 1)
    assert value(f"ndcg@{rank}", run, last) == logarithmic
    assert value(f"ndcg@{rank - 1}", run, last) == 0.0
    scores = {"q": {doc: -float(place) for place, doc in enumerate(run.split())}}
    soft = soft_scores(scores, {"q": {"n": {"b": 1.0}}})["q"]
    assert soft.alpha_dcg == pytest.approx(logarithmic, rel=1e-12)


@pytest.mark.parametrize("number", [25, 26, 27, 60, 300])
def test_an_ideal_has_no_last_rank(number: int) -> None:
    """Of so many relevant documents the run has the first alone, and then all."""
    docs = [f"d{place}" for place in range(number)]
    qrels = {"n": dict.fromkeys(docs, 1)}
    best = sum(1 / log2(1 + rank) for rank in range(1, number + 1))
    for measure in ("ndcg", "alpha_ndcg(alpha=0)", "d_ndcg"):
        assert value(measure, docs[0], qrels) == pytest.approx(1 / best, rel=1e-12)
        assert value(measure, " ".join(docs), qrels) == pytest.approx(1.0, rel=1e-12)
    assert value("alpha_dcg(alpha=0)", " ".join(docs), qrels) == pytest.approx(best, rel=1e-12)
    independent = f"alpha_dcg(alpha=0, normalize=independent)@{number}"
    assert value(independent, docs[0], qrels) == pytest.approx(1 / best, rel=1e-12)


@pytest.mark.parametrize(("lower", "upper"), [(1.0, nextafter(1.0, 2.0)), (16777216.0, 16777217.0)])
def test_scores_that_32_bits_cannot_tell_apart(lower: float, upper: float) -> None:
    assert value("rr", {"a": upper, "b": lower}, {"n": {"a": 1}}) == 1.0
    assert value("rr", {"a": lower, "b": upper}, {"n": {"a": 1}}) == 1 / 2


@pytest.mark.parametrize("top", [1e39, 1.7e308])
def test_scores_that_32_bits_cannot_hold(top: float) -> None:
    run = {"a": top, "b": top / 2, "c": -top}
    assert [value("rr@1", run, {"n": {doc: 1}}) for doc in run] == [1.0, 0.0, 0.0]


def test_minus_0_is_0() -> None:
    assert value("rr", {"b": -0.0, "a": 0.0}, {"n": {"b": 1}}) == 1.0


@pytest.mark.parametrize(
    ("smaller", "larger"), [("d", "d0"), ("Z", "a"), ("e\u0301", "é"), ("～", "𝔘"), ("9", "~")]
)
def test_ties_go_to_the_larger_bytes(smaller: str, larger: str) -> None:
    """In runs and in the ideal; '～' and '𝔘' stand the other way round in UTF-16, as Java sorts them."""
    assert value("rr", {smaller: 1.0, larger: 1.0}, {"n": {smaller: 1}}) == 1 / 2
    above_1 = (2 + 2 / log2(3)) / (2 + 1.5 / log2(3))
    for first, third, expected in ((smaller, larger, above_1), (larger, smaller, 1.0)):
        names = {"dA": first, "dB": "!", "dZ": third}
        qrels = {n: {names[doc]: grade for doc, grade in docs.items()} for n, docs in ABOVE_1.items()}
        assert value("alpha_ndcg@2", f"{first} !", qrels) == pytest.approx(expected, abs=1e-15)


BASE_RUN = {
    "101": {"dA": 9.0, "dC": 8.0, "dB": 7.0, "dX": 6.0, "dD": 5.0},
    "102": {"dF": 9.0, "dE": 8.0},
    "103": {"dG": 5.0, "dY": 4.0, "dH": 3.0},
}
BASE_PLAIN = {
    "101": {"dA": 1, "dB": 1, "dC": 0, "dD": 1},
    "102": {"dE": 1, "dF": 0},
    "103": {"dG": 1, "dH": 1, "dZ": 1},
}
BASE_NUGGETS = {
    "101": {"n1": {"dA": 1, "dB": 1}, "n2": {"dA": 1}, "n3": {"dD": 1}},
    "102": {"n1": {"dE": 1}, "n2": {"dE": 1}},
    "103": {"n1": {"dG": 1}, "n2": {"dH": 1}, "n3": {"dZ": 1}},
}


def test_the_base_data() -> None:
    plain = rageval.evaluate("ndcg@5, recall@3", BASE_RUN, BASE_PLAIN)
    assert [round(score.value, 4) for score in plain.values()] == [0.7401, 0.7778]
    nuggets = rageval.evaluate("alpha_ndcg@5, strec@5", BASE_RUN, BASE_NUGGETS)
    assert [round(score.value, 4) for score in nuggets.values()] == [0.7500, 0.8889]


def test_normalizing_alpha_dcg_without_the_collection() -> None:
    qrels = {"n1": {"a": 1, "b": 1}, "n2": {"a": 1}}
    most = 2 + 2 * 0.5 / log2(3)  # a document with both nuggets at both ranks
    assert value("alpha_dcg(normalize=independent)@1", "a b", qrels) == 1.0
    assert value("alpha_dcg(normalize=independent)@2", "a b", qrels) == (2 + 0.5 / log2(3)) / most
    assert value("alpha_dcg(normalize=independent)", "a b", qrels) == (2 + 0.5 / log2(3)) / most
    assert value("alpha_dcg(normalize=ndeval)@1", "a b", qrels) == 2.0
    assert value("alpha_dcg(normalize=ndeval)@2", "a b", qrels) == (2 + 0.5 / log2(3)) / most
    assert value("err_ia(normalize=ndeval)@1", "a b", qrels) == 2.0
    assert value("err_ia(normalize=none)@2", "a b", qrels) == 2.25
