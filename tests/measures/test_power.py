"""Could these tests fail? Faults are planted into the oracle, and the inputs and laws must find them all.

A comparison finds a fault when some value of some measure differs; a law, when it breaks without knowing
the right value. Found means: within 2,000 inputs, from each of five seeds.
"""

from __future__ import annotations

import math
import random
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

import oracle
import rageval
from oracle import NOVELTY, RIGHT, Rules
from rageval.testing import _run_cases
from strategies import ALPHAS, NON_DYADIC, RUN_LAWS, case, mask_case

pytestmark = pytest.mark.slow

EXAMPLES, SEEDS, TOLERANCE = 2000, range(5), 1e-9
TELLING = ("alpha_ndcg", "alpha_dcg", "coverage", "recall", "ndcg", "map_ia")
WITH_ALPHA = {function.__name__ for function in NOVELTY}
RunRow = tuple[str, str, float]


@dataclass(frozen=True)
class Instance:
    """Data with its rows in any order, and the parameters to score them with."""

    rows: list[RunRow]
    qrels: oracle.Qrels
    k: int | None
    alpha: str
    rel: int


def instance(rng: random.Random) -> Instance:
    draw = rng.choice((case, mask_case))
    drawn = draw(rng)
    rows = [(query, doc, score) for query, docs in drawn.run.items() for doc, score in docs.items()]
    rng.shuffle(rows)
    return Instance(
        rows,
        drawn.qrels,
        k=rng.choice((1, 2, 3, 5, 10, None)),
        alpha=rng.choice(ALPHAS if draw is case else NON_DYADIC),
        rel=rng.choice((1, 1, 1, 1, 2)),
    )


Evaluate = Callable[[Instance, str], dict[str, float]]


def gathered(rows: list[RunRow]) -> oracle.Run:
    run: oracle.Run = {}
    for query, doc, score in rows:
        run.setdefault(query, {})[doc] = score
    return run


def under(rules: Rules, read: Callable[[list[RunRow]], oracle.Run] = gathered) -> Evaluate:
    """The oracle under these rules, reading rows in this way."""

    def evaluate(given: Instance, name: str) -> dict[str, float]:
        parameters = {"alpha": Fraction(given.alpha)} if name in WITH_ALPHA else {}
        run = read(given.rows)
        return oracle.evaluate(name, run, given.qrels, given.k, rules, given.rel, **parameters)

    return evaluate


right = under(RIGHT)


def only_the_last_block(rows: list[RunRow]) -> oracle.Run:
    """A query that comes back later starts anew (as itertools.groupby into a dict does)."""
    run: oracle.Run = {}
    before = None
    for query, doc, score in rows:
        if query != before:
            run[query] = {}
        run[query][doc] = score
        before = query
    return run


def with_names(renamed: Callable[[str], str]) -> Evaluate:
    """Ids are folded before they are compared; what falls together is overwritten."""

    def evaluate(given: Instance, name: str) -> dict[str, float]:
        rows = [(query, renamed(doc), score) for query, doc, score in given.rows]
        qrels = {
            query: {
                n: {renamed(doc): grade for doc, grade in sorted(docs.items())} for n, docs in judged.items()
            }
            for query, judged in given.qrels.items()
        }
        return right(replace(given, rows=rows, qrels=qrels), name)

    return evaluate


def with_scores(score_of: Callable[[float], float]) -> Evaluate:
    def evaluate(given: Instance, name: str) -> dict[str, float]:
        return right(replace(given, rows=[(q, doc, score_of(score)) for q, doc, score in given.rows]), name)

    return evaluate


def without_missing_queries(given: Instance, name: str) -> dict[str, float]:
    present = {query for query, _, _ in given.rows}
    return {query: value for query, value in right(given, name).items() if query in present}


def blind_to_rel(given: Instance, name: str) -> dict[str, float]:
    return right(replace(given, rel=1), name)


def ideal_no_deeper_than_the_run(given: Instance, name: str) -> dict[str, float]:
    run = gathered(given.rows)
    values = {}
    for query, judged in given.qrels.items():
        depth = max(len(run.get(query, ())), 1)
        alone = replace(given, qrels={query: judged}, k=min(given.k or depth, depth))
        values |= right(alone, name)
    return values


def ascending(doc: str) -> bytes:
    return doc.encode()


FAULTS: dict[str, Evaluate] = {
    "gains summed as floats by nugget": under(Rules(gain_sum=lambda t: sum(map(float, t)))),
    "a nugget gains once": under(Rules(gain_sum=lambda terms: max(terms, default=Fraction(0)))),
    "scattered rows: the last block only": under(RIGHT, only_the_last_block),
    "no decay in the ideal": under(Rules(ideal_decay=lambda alpha: Fraction(1))),
    "alpha for 1 - alpha in the ideal": under(Rules(ideal_decay=lambda alpha: alpha)),
    "alpha ½ in the ideal, always": under(Rules(ideal_decay=lambda alpha: Fraction(1, 2))),
    "ties by id ascending": under(Rules(tie=ascending)),
    "ties by input order": under(Rules(tie=lambda doc: 0)),
    "ties by the first eight bytes": under(Rules(tie=lambda doc: oracle.bytes_descending(doc)[:8])),
    "ties by UTF-16": under(Rules(tie=lambda doc: (*(-b for b in doc.encode("utf-16-be")), 1))),
    "ideal ties by id ascending": under(Rules(ideal_tie=ascending)),
    "ideal ties by input order": under(Rules(ideal_tie=lambda doc: 0)),
    "ideal ties by the length of ids": under(Rules(ideal_tie=len)),
    "the ideal stops where the run does": ideal_no_deeper_than_the_run,
    "discount off by one": under(Rules(first_discount_rank=3)),
    "the last grade of a document": under(Rules(document_grade=lambda grades: grades[-1])),
    "the first grade of a document": under(Rules(document_grade=lambda grades: grades[0])),
    "the lowest grade of a document": under(Rules(document_grade=min)),
    "the sum of a document's grades": under(Rules(document_grade=sum)),
    "grades without their sign": under(Rules(document_grade=lambda grades: max(map(abs, grades)))),
    "coverage of attainable nuggets only": under(Rules(listed=False)),
    "rel is ignored": blind_to_rel,
    "queries missing from the run are left out": without_missing_queries,
    "ids composed before comparing": with_names(lambda doc: unicodedata.normalize("NFC", doc)),
    "ids cut after 24 bytes": with_names(lambda doc: doc.encode()[:24].decode(errors="ignore")),
    "ids in lower case": with_names(str.lower),
    "scores as whole numbers": with_scores(round),
    "scores without their sign": with_scores(abs),
}


def differ(one: dict[str, float], other: dict[str, float]) -> bool:
    return one.keys() != other.keys() or any(abs(one[query] - other[query]) > TOLERANCE for query in one)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_comparing_finds_every_planted_fault(fault: str, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(EXAMPLES):
        given = instance(rng)
        if any(differ(FAULTS[fault](given, name), right(given, name)) for name in TELLING):
            return
    pytest.fail(f"{fault}: not found")


# A fault, a measure that suffers from it, and the law that it breaks: no right value is needed to see it.
BROKEN_LAWS = [
    ("gains summed as floats by nugget", "alpha_ndcg(alpha=0.3)", "nugget_names_change_no_digit"),
    ("the last grade of a document", "recall", "row_order_changes_no_digit"),
    ("the first grade of a document", "ndcg", "nugget_names_change_no_digit"),
    ("ties by input order", "rr", "row_order_changes_no_digit"),
    ("ideal ties by input order", "alpha_ndcg", "row_order_changes_no_digit"),
    ("ties by the first eight bytes", "ap", "row_order_changes_no_digit"),
    ("ties by UTF-16", "map_ia", "renaming_documents_in_order_changes_no_digit"),
    ("ideal ties by the length of ids", "alpha_ndcg", "renaming_documents_in_order_changes_no_digit"),
    ("ids composed before comparing", "coverage", "renaming_documents_in_order_changes_no_digit"),
    ("ids cut after 24 bytes", "map_ia", "renaming_documents_in_order_changes_no_digit"),
    ("ids in lower case", "recall", "renaming_documents_in_order_changes_no_digit"),
    ("scores as whole numbers", "ndcg", "increasing_maps_of_scores_change_no_digit"),
    ("scores without their sign", "ndcg", "increasing_maps_of_scores_change_no_digit"),
    ("queries missing from the run are left out", "recall", "an_absent_query_scores_0"),
]


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("fault", "measure", "law"), BROKEN_LAWS)
def test_laws_find_faults(
    fault: str, measure: str, law: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(_run_cases, "evaluate", InsteadOfThePackage(FAULTS[fault]).evaluate)
    assert not all(law_holds(law, measure, rng) for _ in range(EXAMPLES)), f"{fault}: not found"


@pytest.mark.some(4)
@pytest.mark.parametrize(("measure", "law"), sorted({(measure, law) for _, measure, law in BROKEN_LAWS}))
def test_the_same_laws_hold_without_a_fault(measure: str, law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(0)
    monkeypatch.setattr(_run_cases, "evaluate", InsteadOfThePackage(right).evaluate)
    assert all(law_holds(law, measure, rng) for _ in range(50))


def law_holds(law: str, measure: str, rng: random.Random) -> bool:
    drawn = rng.choice((case, mask_case))(rng)
    try:
        return RUN_LAWS[law](rageval.parse_measure(measure), drawn, rng)
    except KeyError:  # a query is gone
        return False


@dataclass(frozen=True)
class InsteadOfThePackage:
    """What the laws use of rageval, computed by the oracle."""

    oracle: Evaluate

    def evaluate(
        self, measures: list[rageval.Measure], run: oracle.Run, qrels: oracle.Qrels, **_: object
    ) -> dict[rageval.Measure, SimpleNamespace]:
        (measure,) = measures
        rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
        given = Instance(rows, qrels, measure.k, str(measure.parameters.get("alpha")), measure.rel or 1)
        by_query = self.oracle(given, measure.name)
        return {measure: SimpleNamespace(by_query=by_query, value=math.fsum(by_query.values()))}
