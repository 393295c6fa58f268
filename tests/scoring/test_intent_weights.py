"""Weights of intents: D♯-nDCG is pyNTCIREVAL's, equal weights are none, others are what the oracle says."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import rageval
from rageval.cli import main
from rageval.measures import measures_taking
from rageval.measures.exact_ideal import exact_ideal
from rageval.measures.ranking import Topic, discounted, logarithmic
from strategies import RunCase, case, cases, cutoffs

WEIGHED = [name for name, measure in measures_taking("Ranking").items() if measure.about.intents]
QRELS = {"q": {"i1": {"a": 1, "b": 2}, "i2": {"b": 1, "c": 3}, "i3": {"d": 1}}}
RUN = {"q": {"a": 10.0, "e": 9.0, "c": 8.0, "d": 7.0, "b": 6.0}}
WEIGHTS = {"q": {"i1": 0.6, "i2": 0.3, "i3": 0.1}}
# By pyNTCIREVAL 0.0.3: MSnDCG over the gains GG.
EXPECTED = {
    3: (0.4434427278, 0.6666666667, 0.5550546973),
    5: (0.6940743246, 1.0, 0.8470371623),
}


def drawn_weights(qrels: oracle.Qrels, rng: random.Random) -> dict[str, dict[str, Fraction]]:
    """Weights in tenths, of which one a query counts at least."""
    weights = {}
    for query, nuggets in qrels.items():
        weights[query] = {nugget: Fraction(rng.randint(0, 9), 10) for nugget in nuggets}
        if nuggets and not any(weights[query].values()):
            weights[query][next(iter(nuggets))] = Fraction(1)
    return weights


def as_floats(weights: dict[str, dict[str, Fraction]]) -> dict[str, dict[str, float]]:
    return {query: {nugget: float(w) for nugget, w in of.items()} for query, of in weights.items()}


@pytest.mark.parametrize("k", EXPECTED)
def test_d_sharp_is_that_of_ntcir(k: int) -> None:
    names = [f"{name}@{k}" for name in ("d_ndcg", "i_rec", "d_sharp")]
    scores = rageval.evaluate(names, RUN, QRELS, intent_weights=WEIGHTS)
    assert [score.value for score in scores.values()] == pytest.approx(EXPECTED[k], abs=1e-9)


def test_ntcirs_names_are_known() -> None:
    names = ["D-nDCG@3", "I-rec@3", "D#-nDCG@3", "D♯-nDCG@3", "D-MSnDCG@3", "d_sharp(γ=0.2)@3"]
    parsed = [str(rageval.parse_measure(name)) for name in names]
    assert parsed == ["d_ndcg@3", "i_rec@3", "d_sharp@3", "d_sharp@3", "d_ndcg@3", "d_sharp(gamma=0.2)@3"]


@pytest.mark.parametrize("weight", [1, 0.1, 1 / 3, 7e5])
@given(cases, cutoffs)
@settings(max_examples=20)
@pytest.mark.slow
def test_equal_weights_change_nothing_to_the_last_bit(weight: float, drawn: RunCase, k: int | None) -> None:
    names = [name if k is None else f"{name}@{k}" for name in WEIGHED]
    equal = {query: dict.fromkeys(nuggets, weight) for query, nuggets in drawn.qrels.items()}
    plain = rageval.evaluate(names, drawn.run, drawn.qrels)
    scores = rageval.evaluate(names, drawn.run, drawn.qrels, intent_weights=equal)
    for one, other in zip(plain.scores, scores.scores, strict=True):
        assert list(map(float.hex, one.numbers)) == list(map(float.hex, other.numbers))
        assert one.signature == other.signature


@pytest.mark.slow
@given(cases, cutoffs, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_weights_are_what_the_oracle_says(drawn: RunCase, k: int | None, rng: random.Random) -> None:
    weights = drawn_weights(drawn.qrels, rng)
    names = [name if k is None else f"{name}@{k}" for name in WEIGHED]
    scores = rageval.evaluate(names, drawn.run, drawn.qrels, intent_weights=as_floats(weights))
    for name, score in zip(WEIGHED, scores.values(), strict=True):
        right = oracle.evaluate(name, drawn.run, drawn.qrels, k, weights=weights)
        assert score.by_query == pytest.approx(right, abs=1e-9), name


def test_times_a_number_weights_are_the_same() -> None:
    one, other = (
        rageval.evaluate(
            WEIGHED, RUN, QRELS, intent_weights={"q": {n: w * by for n, w in WEIGHTS["q"].items()}}
        )
        for by in (1, 4096)
    )
    assert [score.value for score in one.scores] == [score.value for score in other.scores]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_over_all_orders_of_equal_scores_the_mean_is_that_of_the_orders(seed: int) -> None:
    rng = random.Random(seed)
    drawn = case(rng)
    query = next(iter(drawn.qrels))
    docs = list(drawn.run.get(query, {"x": 1.0}))[:5]
    qrels = {query: drawn.qrels[query]}
    weights = as_floats(drawn_weights(qrels, rng))
    names = [f"{name}@3" for name in WEIGHED]
    tied = rageval.evaluate(
        names, {query: dict.fromkeys(docs, 1.0)}, qrels, ties="expected", intent_weights=weights
    )
    orders = [
        {query: {doc: -float(index) for index, doc in enumerate(order)}} for order in permutations(docs)
    ]
    every = [rageval.evaluate(names, run, qrels, intent_weights=weights) for run in orders]
    for name in names:
        values = [scores[name].value for scores in every]
        assert tied[name].value == pytest.approx(sum(values) / len(values), abs=1e-12), name
        assert tied[name].bounds == pytest.approx((min(values), max(values)), abs=1e-12), name


@pytest.mark.parametrize("seed", range(10))
def test_the_exact_ideal_is_the_best_of_all_orders(seed: int) -> None:
    rng = random.Random(seed)
    drawn = case(rng)
    for query, judged in drawn.qrels.items():
        weights = drawn_weights({query: judged}, rng)[query]
        slow = oracle.Query({}, judged, 1, oracle.RIGHT, weights)
        if len(slow.relevant) > 5:
            continue
        topic = Topic.of(judged, {nugget: float(w) for nugget, w in weights.items()})
        assert discounted(exact_ideal(topic, 3, 0.5, 1), logarithmic) == pytest.approx(
            oracle.optimum(slow, 3)
        )


# --- the command, and what is refused ---


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"q {nugget} {doc} {grade}\n" for nugget, of in QRELS["q"].items() for doc, grade in of.items()]
    (tmp_path / "qrels").write_text("".join(rows))
    ranked = enumerate(RUN["q"].items(), 1)
    (tmp_path / "run").write_text("".join(f"q Q0 {doc} {rank} {score} t\n" for rank, (doc, score) in ranked))
    return tmp_path


def command(*words: str) -> Any:
    return CliRunner().invoke(main, ["run", "qrels", *words])


FORMS = {
    "blanks": "q i1 6\nq i2 3\nq i3 1\n",
    "tabs, and a query that nobody judged": "q\ti1\t0.6\nq\ti2\t0.3\nq\ti3\t0.1\nother\ti1\t1\n",
    "rubrics": '{"qid": "q", "rubrics": [{"criterion": "a", "weight": 1}]}\n',
}


@pytest.mark.parametrize("form", ["blanks", "tabs, and a query that nobody judged"])
def test_the_command_reads_a_table(folder: Path, form: str) -> None:
    (folder / "weights").write_text(FORMS[form])
    result = command("-m", "d_sharp@3", "--intent-weights", "weights")
    assert result.stdout.split() == ["d_sharp@3", "all", "0.5551"]
    assert ("1 weight of weights is for unjudged nuggets" in result.stderr) == ("other" in FORMS[form])


def test_the_command_reads_the_importance_of_nuggets(folder: Path) -> None:
    nuggets = [
        {"text": name, "nugget_id": name, "importance": importance}
        for name, importance in (("i1", "vital"), ("i2", "okay"), ("i3", "okay"))
    ]
    (folder / "nuggets.jsonl").write_text(f'{{"qid": "q", "nuggets": {nuggets}}}'.replace("'", '"'))
    printed = command("-m", "alpha_ndcg@3", "-p", "12", "--intent-weights", "nuggets.jsonl").stdout.split()[
        -1
    ]
    given = {"q": {"i1": 1, "i2": 0.5, "i3": 0.5}}
    value = rageval.evaluate("alpha_ndcg@3", RUN, QRELS, intent_weights=given)["alpha_ndcg@3"].value
    assert printed == f"{value:.12f}"


def test_several_processes_weigh_alike(folder: Path) -> None:
    (folder / "weights").write_text(FORMS["blanks"])
    (folder / "copy").write_text((folder / "run").read_text())
    alone, two = (
        command("copy", "-m", "alpha_ndcg@3", "-j", jobs, "--intent-weights", "weights").stdout
        for jobs in "12"
    )
    assert alone == two
    assert "alpha_ndcg@3" in two


REFUSED = [
    ("q i1 1\nq i2 1\n", "no weight for nugget 'i3' of query 'q' (1 of its 3 have none)"),
    ("q i1 1\nq i2\n", "weights:2: expected 3 columns (query_id nugget weight), found 2"),
    ("q i1 -1\n", "weights:1: expected a weight from 0 to 1,000,000, found '-1'"),
    ("q i1 nan\n", "weights:1: expected a weight from 0 to 1,000,000, found 'nan'"),
    ("q i1 1\nq i1 1\n", "weights:2: nugget i1 of query q already has a weight"),
    ("q i1 0\nq i2 0\nq i3 0\n", "every nugget of query 'q' weighs 0"),
    ('{"qid": "q", "nuggets": [{"text": "a", "id": "i1"}]}', "expected a weight, or an importance"),
    ("", "no weight for nugget 'i1'"),
]


@pytest.mark.parametrize(("content", "message"), REFUSED)
def test_weights_that_can_be_none_are_refused(folder: Path, content: str, message: str) -> None:
    (folder / "weights").write_text(content)
    result = command("-m", "d_sharp@3", "--intent-weights", "weights")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "ndcg@3"], "ndcg@3: has no intents to weight"),
        (["-m", "nDCG@3 RBP(p=0.9)"], "has no intents"),
        (["-m", "alpha_ndcg@3", "--bounds"], "no bounds are known; leave out bounds"),
        (
            ["-m", "alpha_ndcg@3", "--compat", "ndeval"],
            "no other tool's rules have weights; leave out compat",
        ),
        (["-m", "alpha_ndcg@3", "--nuggets-in-qrels", "no"], "intent_weights need nuggets"),
    ],
)
def test_what_weights_do_not_go_with_is_refused(folder: Path, words: list[str], message: str) -> None:
    (folder / "weights").write_text(FORMS["blanks"])
    result = command(*words, "--intent-weights", "weights")
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    "given", [{"q": 3}, {"q": {"i1": "x", "i2": 1, "i3": 1}}, {"q": {"i1": float("inf")}}]
)
def test_mappings_that_are_no_weights_are_refused(given: Any) -> None:
    with pytest.raises(rageval.errors.InputError, match=r"intent_weights: .*expected"):
        rageval.evaluate("alpha_ndcg@3", RUN, QRELS, intent_weights=given)
