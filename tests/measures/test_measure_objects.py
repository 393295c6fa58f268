"""What a measure is as an object: equal or not, its limits, its signature, its way out of an error."""

from __future__ import annotations

import math
import pickle
from typing import Any

import ir_measures
import pytest

import rageval
from rageval.errors import MeasureError
from rageval.measures import Measure, alpha_ndcg, measure, ndcg, recall
from rageval.measures.foreign import _foreign_measure
from rageval.measures.parsing import parse_measures

RUN = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
GRADED = {"q": {"a": 1, "b": 2, "c": 0}}


def test_a_measure_equals_what_computes_the_same_and_nothing_else() -> None:
    assert recall @ 5 == recall(rel=1) @ 5
    assert recall @ 5 != recall(rel=2) @ 5
    assert recall @ 5 != recall @ 6
    for other in ("recall", None, 5, ir_measures.R):
        assert recall != other


def test_a_measure_of_ir_measures_equals_its_like() -> None:
    one, same, other = (_foreign_measure(name) for name in ("Rprec", "rprec", "Bpref"))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != "Rprec"


def test_how_deep_a_sum_without_the_collection_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rageval.measures._novelty._DEEPEST_INDEPENDENT", 3)
    name = "alpha_dcg(normalize=independent)"
    assert (
        rageval.evaluate(f"{name}@3", RUN, {query: {"n": docs} for query, docs in GRADED.items()})[
            f"{name}@3"
        ].value
        > 0
    )
    with pytest.raises(rageval.MeasureError, match="a cut-off of at most 3, found 4"):
        rageval.evaluate(f"{name}@4", RUN, {query: {"n": docs} for query, docs in GRADED.items()})


@pytest.mark.parametrize("grade", [-(10**6), 10**6])
def test_the_limits_of_grades(grade: int) -> None:
    assert recall(rel=grade).rel == grade
    with pytest.raises(rageval.MeasureError, match=r"expected a number from -1e\+06 to 1e\+06"):
        recall(rel=grade + (1 if grade > 0 else -1))


def test_exponential_gains_in_closed_form() -> None:
    dcg = 1 / math.log2(2) + 3 / math.log2(3)
    best = 3 / math.log2(2) + 1 / math.log2(3)
    scores = rageval.evaluate(ndcg(dcg="exp-log2"), RUN, GRADED)
    assert scores["ndcg(dcg=exp_log2)"].value == pytest.approx(dcg / best, abs=1e-15)


def test_a_parameter_without_annotation_has_the_type_of_its_default() -> None:
    @measure
    def weighed(ranking, *, k=None, weight=1.5):  # type: ignore[no-untyped-def]
        return len(ranking.hits(k)) * weight

    assert rageval.evaluate(weighed(weight="2"), RUN, GRADED)["weighed(weight=2.0)"].value == 4.0
    with pytest.raises(rageval.MeasureError, match="expected a number"):
        weighed(weight="heavy")


def test_parameters_reach_the_provider() -> None:
    pytest.importorskip("pyndeval")
    nuggets = {"q": {"n1": {"a": 1, "b": 1}, "n2": {"c": 1}}}
    names = ("alpha_ndcg(alpha=0.9)@3", "alpha_ndcg@3")
    ours, theirs = (
        [rageval.evaluate(name, RUN, nuggets, **rules)[name].value for name in names]
        for rules in ({}, {"provider": "pyndeval"})
    )
    assert ours == pytest.approx(theirs)
    assert ours[0] != pytest.approx(ours[1])


def test_a_measure_without_its_provider_says_what_to_install() -> None:
    missing = [p for p in ir_measures.providers.registry.values() if not p.is_available()]
    if not any(provider.supports(ir_measures.RBP(p=0.8) @ 10) for provider in missing):
        pytest.skip("every provider of RBP is installed")
    with pytest.raises(rageval.MeasureError, match="could, install it: pip install"):
        rageval.evaluate("RBP(p=0.8)@10", RUN, GRADED)


def test_a_name_of_another_is_spelt_as_ir_measures_spells_it() -> None:
    assert [str(_foreign_measure(name)) for name in ("rprec", "BPREF", "ipreC@0.1")] == [
        "Rprec",
        "Bpref",
        "IPrec@0.1",
    ]


def test_nothing_is_to_be_installed_where_a_provider_is_there_and_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(ir_measures, "iter_calc", fail)
    with pytest.raises(rageval.MeasureError, match=r"out of order$"):
        rageval.evaluate("Rprec", RUN, GRADED)


def test_an_object_of_ir_measures_is_ours_where_we_have_it() -> None:
    assert parse_measures(ir_measures.nDCG @ 5) == [ndcg @ 5]
    assert isinstance(parse_measures(ir_measures.nDCG @ 5)[0], Measure)
    assert parse_measures(ir_measures.Rprec) == [_foreign_measure("Rprec")]


TYPED = """
from __future__ import annotations
from typing import TYPE_CHECKING
import rageval
if TYPE_CHECKING:
    from rageval import Ranking
    from rageval.measures.base import Grade

@rageval.measure
def found(ranking: Ranking, *, k: int | None = None, rel: int = 1) -> float:
    return float(len(ranking.hits(k, rel)))

@rageval.measure
def lost(ranking: Ranking, *, rel: Grade = 1) -> float:
    return 0.0
"""


def test_types_that_only_checkers_import_may_annotate_what_is_no_parameter() -> None:
    names: dict[str, Any] = {"__name__": "somebodys"}
    exec(TYPED, names)
    assert str(names["found"](rel=2) @ 5) == "found(rel=2)@5"
    with pytest.raises(MeasureError, match="'Grade' of the parameter 'rel' cannot be evaluated"):
        names["lost"](rel=2)


@rageval.measure
def _first_of_own(ranking: rageval.Ranking, *, rel: int = 1, k: int | None = None) -> float:
    """Return 1 if the first document is relevant."""
    return float(len(ranking.hits(1, rel)))


@pytest.mark.parametrize(
    "measure", [_first_of_own, _first_of_own @ 3, _first_of_own(rel=1) @ 3, rageval.recall(rel=2) @ 5]
)
def test_a_measure_is_found_again_where_it_was_defined(measure: rageval.Measure) -> None:
    copy = pickle.loads(pickle.dumps(measure))
    assert (copy, copy.k, copy.given) == (measure, measure.k, measure.given)
    assert copy.about == measure.about


def test_a_measure_that_cannot_be_found_again_says_where_to_define_it() -> None:
    @rageval.measure
    def inner(ranking: rageval.Ranking) -> float:
        return 0.0

    with pytest.raises(rageval.MeasureError, match="inner: there is no measure of this name in"):
        pickle.loads(pickle.dumps(inner))


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        (
            (alpha_ndcg(alpha=0.7) @ 10).signature(ties="trec"),
            r"ask for alpha_ndcg\(alpha=0\.7\)@10, and compare",
        ),
        ("recall|rel:2|over:pool|ties:rank|depth:20|v:0.0.9", r"recall\(rel=2,over=pool\) .*\(ties, depth\)"),
        ("recall@10|ties:trec|v:0.0.9", "was made by rageval 0.0.9, and this is"),
        (
            "crag_share|label:incorrect|judge:openai:m, x@1a2b|v:0",
            r"crag_share\(label=incorrect\) .*\(judge\)",
        ),
        ("compare|test:randomization|p:mid|draws:10000|v:0.1.0", "its parts are options of rageval compare"),
        ("nonesuch@3|ties:trec", "unknown measure"),
        ("recall|rel:x", "expected a whole number"),
        ("|", "unknown measure"),
    ],
)
def test_a_signature_in_place_of_a_measure_says_what_to_ask_for(signature: str, message: str) -> None:
    with pytest.raises(rageval.MeasureError, match=message):
        rageval.parse_measure(signature)
