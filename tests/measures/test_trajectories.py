"""Measures of agents: each is its slow oracle on drawn trajectories, and obeys the laws of searching.

The oracle is written from the table of definitions alone, with sets and exact fractions. Drawn are failures,
repeats, steps in parallel, empty searches, no citations, and citations of documents that were never seen.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import pytest

import rageval
from rageval.errors import MeasureError
from rageval.measures import measures_taking
from rageval.measures.parsing import parse_measure
from rageval.measures.ranking import Topic
from rageval.trajectories import Step, Trajectory, read_trajectories

DRAWN = 500 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 40
CALLS = ("search", "read", "tool")
ARGUMENTS = ("x", "{}", '{"k":1}', '{"k":1,"q":"x"}', '{"q":"x"}')
QUANTITIES = ("input_tokens", "output_tokens", "cost", "seconds")
OWN = measures_taking("Trajectory")
Gold = Mapping[str, Mapping[str, int]]  # nugget -> document -> grade


class Case:
    """A drawn trajectory in plain data, from which the oracle and the measure are given the same."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        docs = [f"d{number}" for number in range(8)]
        self.gold: Gold = {
            f"n{number}": {doc: rng.choice((0, 1, 1, 2)) for doc in rng.sample(docs, rng.randint(0, 4))}
            for number in range(rng.randint(1, 3))
        }
        self.steps = [
            Step(
                kind,
                tuple(rng.sample(docs, rng.randint(0, 4))) if kind in ("search", "read") else (),
                rng.choice(ARGUMENTS),
                rng.choice(("bm25", "dense")),
                rng.choice(("ok", "ok", "error")),
                *(rng.choice((None, 1.0, 2.5)) for _ in QUANTITIES),
                number=place // 2,
            )
            for place, kind in enumerate(
                rng.choices(("search", "search", *CALLS, "model"), k=rng.randint(0, 7))
            )
        ]
        self.expected = [
            Step(rng.choice(CALLS), request=rng.choice(ARGUMENTS), tool=rng.choice(("bm25", "dense", "")))
            for _ in range(rng.randint(0, 4))
        ]
        self.cited: list[str] = rng.sample([*docs, "never seen"], rng.choice((0, 0, 1, 2, 3, 4)))

    @property
    def trajectory(self) -> Trajectory:
        return Trajectory(Topic.of(self.gold), self.steps, self.cited, self.expected)

    @property
    def searches(self) -> list[tuple[str, ...]]:
        return [step.docs for step in self.steps if step.kind == "search"]

    def after(self, searches: int) -> set[str]:
        return {doc for docs in self.searches[:searches] for doc in docs}

    @property
    def seen(self) -> set[str]:
        return {doc for step in self.steps for doc in step.docs}

    def relevant(self, rel: int) -> set[str]:
        return {doc for grades in self.gold.values() for doc, grade in grades.items() if grade >= rel}

    def values(self, *names: str) -> list[float]:
        return [float(parse_measure(name).value(self.trajectory)) for name in names]


CASES = [Case(seed) for seed in range(DRAWN)]


def share(part: int, whole: int, otherwise: float = math.nan) -> float:
    return float(Fraction(part, whole)) if whole else otherwise


def oracle(name: str, case: Case, k: int | None, rel: int) -> float:
    """The value by the definition, slowly; NaN where it is not defined."""
    gold, total, cited, seen = case.relevant(rel), len(case.searches), set(case.cited), case.seen
    supported = [{doc for doc, grade in grades.items() if grade >= rel} for grades in case.gold.values()]
    attainable = [docs for docs in supported if docs]
    reached = seen if k is None else case.after(k)
    calls = [(step.kind, step.tool, step.request) for step in case.steps if step.kind in CALLS]
    # The recall after each search, as many as there are, or k.
    curve = [share(len(case.after(t) & gold), len(gold), 0) for t in range(1, (k or total) + 1)]
    times = [t for t in range(1, total + 1) if case.after(t) & gold]
    idle = sum(not (case.after(t) & gold) - case.after(t - 1) for t in range(1, total + 1))
    returned = sum(map(len, case.searches))
    values: dict[str, float] = {
        "seen_recall": share(len(reached & gold), len(gold), 0),
        "recall_area": sum(curve) / len(curve) if total else 0,
        "first_useful": 1 / times[0] if times else 0,
        "searches_to": min([*(t for t, recall in enumerate(curve, 1) if recall == 1), k or 0])
        if gold
        else math.nan,
        "nuggets_seen": share(sum(bool(docs & reached) for docs in attainable), len(attainable), 0),
        "nugget_gain": share(sum(bool(docs & seen) for docs in attainable), total),
        "redundancy": share(returned - len(case.after(total)), returned),
        "idle_searches": share(idle, total),
        "repeated_calls": share(sum(call in calls[:place] for place, call in enumerate(calls)), len(calls)),
        "cited_recall": share(len(cited & gold), len(gold), 0),
        "cited_precision": share(len(cited & gold), len(cited)),
        "cited_seen": share(len(cited & seen), len(cited)),
        "used_recall": share(len(cited & seen & gold), len(gold), 0),
        "unseen": share(len(gold - seen), len(gold), 0),
        "uncited": share(len(gold & seen - cited), len(gold), 0),
        "kept": share(len(cited & seen & gold), len(seen & gold)),
        "completed": bool(case.steps) and case.steps[-1].status == "ok",
        "seen_agreement": math.nan,  # of several trajectories
        "calls": len(calls),
        "searches": total,
        "session_dcg": session_dcg(case, k, rel),
    }
    for quantity in QUANTITIES:
        amounts = [(step.kind, getattr(step, quantity)) for step in case.steps]
        stated = [amount for _, amount in amounts if amount is not None]
        is_known = ("model", None) not in amounts and stated
        values[quantity] = math.fsum(stated) if is_known else math.nan
    return float(values[name])


def session_dcg(case: Case, k: int | None, rel: int, b: float = 2, bq: float = 4) -> float:
    """Session DCG by its definition: every place of the session, and the best filling of these places."""
    gain = {
        doc: max(grades[doc] for grades in case.gold.values() if doc in grades) for doc in case.relevant(rel)
    }
    best = sorted(gain.values(), reverse=True)

    def discount(t: int, r: int) -> float:
        return 1 / (math.log(r + b - 1) / math.log(b)) / (1 + math.log(t) / math.log(bq))

    before: list[str] = []
    total = 0.0
    for t, docs in enumerate(case.searches, 1):
        for r, doc in enumerate(docs[:k], 1):
            total += 0 if doc in before else gain.get(doc, 0) * discount(t, r)
            before.append(doc)
    places = [(t, r) for t in range(1, len(case.searches) + 1) for r in range(1, (k or len(best)) + 1)]
    discounts = sorted((discount(*place) for place in places), reverse=True)
    ideal = sum(g * worth for g, worth in zip(best, discounts, strict=False))
    return total / ideal if ideal else 0.0


def is_match(call: Step, right: Step, arguments: str) -> bool:
    if (call.tool or call.kind) != (right.tool or right.kind):
        return False
    given, expected = (
        json.loads(step.request) if step.request.startswith("{") else {"": step.request}
        for step in (call, right)
    )
    return {
        "exact": given == expected,
        "subset": all(name in given and given[name] == value for name, value in expected.items()),
        "ignore": True,
    }[arguments]


CALL_MEASURES = ("calls_precision", "calls_recall", "calls_f1", "calls_order")


def oracle_of_calls(
    calls: Sequence[Step], expected: Sequence[Step], arguments: str = "exact"
) -> dict[str, float]:
    """The measures of calls, by trying all ways to match: in any order, and in the order of the calls."""
    anyhow, ordered = (
        max(
            size
            for size in range(min(len(calls), len(expected)) + 1)
            for chosen in choose(calls, size)
            for right in combinations(expected, size)
            if all(is_match(*pair, arguments) for pair in zip(chosen, right, strict=True))
        )
        for choose in (permutations, combinations)
    )
    whole = len(expected)
    if not whole:
        return dict.fromkeys(CALL_MEASURES, math.nan)
    values = [share(anyhow, len(calls), 0), share(anyhow, whole)]
    values += [share(2 * anyhow, len(calls) + whole), share(ordered, whole)]
    return dict(zip(CALL_MEASURES, values, strict=True))


@pytest.mark.parametrize("arguments", ["exact", "subset", "ignore"])
def test_measures_of_calls_are_the_best_of_all_ways_to_match(arguments: str) -> None:
    """By trying all of them: each way to leave out calls, in each order or in the order of the calls."""
    for number, case in enumerate(CASES):
        calls = [step for step in case.steps if step.kind in CALLS][:5]
        case = Case(number)
        case.steps = calls
        obtained = case.values(*(f"{name}(arguments={arguments})" for name in CALL_MEASURES))
        values = list(oracle_of_calls(calls, case.expected, arguments).values())
        assert obtained == pytest.approx(values, nan_ok=True), number


# Calls and expected calls by their letters, where another tool says something else.
DEPARTURES = [
    ("ccb", "b", "calls_f1", 0.5, "ragas ToolCallF1, of sets: a repeated call counts once", 0.6667),
    ("abc", "ab", "calls_order", 1.0, "ragas ToolCallAccuracy: one call more", 0.0),
    ("ba", "ab", "calls_order", 0.5, "ragas ToolCallAccuracy: another order", 0.0),
    ("ab", "ac", "calls_recall", 0.5, "ragas ToolCallAccuracy(strict_order=False): another name", 0.0),
    ("aa", "aa", "calls_recall", 1.0, "deepeval ToolCorrectness: of equal calls one counts", 0.5),
    ("", "a", "calls_precision", 0.0, "agentevals subset: no calls are a subset", 1.0),
]


@pytest.mark.parametrize(("called", "right", "name", "ours", "reason", "theirs"), DEPARTURES)
def test_a_departure_from_another_tool(
    called: str, right: str, name: str, ours: float, reason: str, theirs: float
) -> None:
    calls, expected = ([Step("tool", tool=letter) for letter in letters] for letters in (called, right))
    assert parse_measure(name).value(Trajectory.of(calls, {}, expected=expected)) == ours != theirs, reason


@pytest.mark.parametrize("name", [name for name in OWN if not name.startswith("calls_")])
def test_a_measure_is_its_oracle(name: str) -> None:
    measure = OWN[name]
    cutoffs = (1, 2, 5) if name == "searches_to" else (None, 1, 2, 5) if measure.takes_k else (None,)
    for number, case in enumerate(CASES):
        for rel in (1, 2) if "rel" in measure.declared else (1,):
            at_grade = measure(rel=rel) if "rel" in measure.declared else measure
            for k in cutoffs:
                value = (at_grade if k is None else at_grade @ k).value(case.trajectory)
                expected = pytest.approx(oracle(name, case, k, rel), abs=1e-12, nan_ok=True)
                assert value == expected, (number, k, rel)


# What holds of a drawn case that may be changed; a law returns False for one of which it says nothing.
Law = Callable[[Case], bool | None]
LAWS: dict[str, Law] = {}


def law(check: Law) -> Law:
    LAWS[check.__name__] = check
    return check


@law
def what_is_lost_and_used_adds_up(case: Case) -> bool | None:
    seen, used, unseen, uncited = case.values("seen_recall", "used_recall", "unseen", "uncited")
    if not case.relevant(1):
        return False
    assert unseen + uncited + used == pytest.approx(1, abs=1e-12)
    assert (unseen, uncited) == pytest.approx((1 - seen, seen - used), abs=1e-12)
    return True


@law
def cited_recall_is_seen_recall_times_kept_if_all_citations_were_seen(case: Case) -> bool | None:
    case.cited = [doc for doc in case.cited if doc in case.seen]
    seen, kept, cited = case.values("seen_recall", "kept", "cited_recall")
    if not seen:
        return False
    assert cited == pytest.approx(seen * kept, abs=1e-12)
    return True


@law
def a_search_that_finds_nothing_never_raises_recall(case: Case) -> None:
    names = ("seen_recall", "seen_recall@3", "nuggets_seen", "recall_area@5", "first_useful")
    before = case.values(*names)
    case.steps.insert(len(case.steps) // 2, Step("search", ("nowhere",), "new"))
    assert all(new <= old + 1e-12 for new, old in zip(case.values(*names), before, strict=True))


@law
def finding_documents_earlier_never_lowers_the_area(case: Case) -> bool | None:
    searches = [number for number, step in enumerate(case.steps) if step.kind == "search"]
    if len(searches) < 2:
        return False
    before = case.values("recall_area@4")
    docs = dict.fromkeys((*case.steps[searches[0]].docs, *case.steps[searches[-1]].docs))
    case.steps[searches[0]] = case.steps[searches[0]]._replace(docs=tuple(docs))
    assert case.values("recall_area@4") >= [before[0] - 1e-12]
    return True


@law
def names_of_documents_do_not_matter(case: Case) -> None:
    names = [f"{name}@5" if name == "searches_to" else name for name in OWN]
    before = case.values(*names)
    case.gold = {
        nugget: {f"other {doc}": grade for doc, grade in grades.items()}
        for nugget, grades in case.gold.items()
    }
    case.steps = [step._replace(docs=tuple(f"other {doc}" for doc in step.docs)) for step in case.steps]
    case.cited = [f"other {doc}" for doc in case.cited]
    assert case.values(*names) == pytest.approx(before, nan_ok=True)


@law
def splitting_a_search_leaves_what_is_seen_in_all(case: Case) -> bool | None:
    number = next((n for n, step in enumerate(case.steps) if step.kind == "search" and step.docs[1:]), None)
    if number is None:
        return False
    names = ("seen_recall", "nuggets_seen", "used_recall", "kept", "cited_seen", "completed")
    before, searches = case.values(*names), case.values("searches")
    whole = case.steps[number]
    case.steps[number : number + 1] = [whole._replace(docs=part) for part in (whole.docs[:1], whole.docs[1:])]
    assert case.values(*names) == pytest.approx(before, nan_ok=True)
    assert case.values("searches") == [searches[0] + 1]
    return True


@law
def repeating_a_search_adds_a_repeated_call_and_nothing_that_is_seen(case: Case) -> bool | None:
    number = next((n for n, step in enumerate(case.steps) if step.kind == "search"), None)
    if number is None:
        return False
    names = ("seen_recall", "nuggets_seen", "used_recall", "kept")
    before, (repeated, calls) = case.values(*names), case.values("repeated_calls", "calls")
    case.steps.insert(number + 1, case.steps[number])
    assert case.values(*names) == pytest.approx(before, nan_ok=True)
    assert case.values("repeated_calls") == pytest.approx([(repeated * calls + 1) / (calls + 1)])
    return True


@law
def more_searches_and_a_larger_budget_never_find_less(case: Case) -> bool | None:
    by_search = case.values(*(f"seen_recall@{k}" for k in (1, 2, 3, 4)))
    assert by_search == sorted(by_search)
    if any(step.kind == "model" and step.cost is None for step in case.steps):
        return False
    within = case.values(*(f"seen_recall(cost={cost})" for cost in (0, 1, 2.5, 5, 100)))
    assert within == sorted(within)
    assert within[-1:] == case.values("seen_recall")
    return True


@pytest.mark.parametrize("name", LAWS)
def test_a_law_of_searching(name: str) -> None:
    outcomes = [LAWS[name](Case(seed)) for seed in range(DRAWN)]
    assert sum(outcome is not False for outcome in outcomes) > DRAWN / 4, "it was hardly tried"


THINKING = [
    Step("model", input_tokens=100, output_tokens=20, cost=0.1),
    Step("search", ("a",)),
    Step("model", input_tokens=200, output_tokens=20, cost=0.2),
    Step("search", ("b",)),
]


@pytest.mark.parametrize("rank", [25, 26, 27, 60])
def test_the_discounts_of_a_session_have_no_last_rank_and_no_last_search(rank: int) -> None:
    """Of one search the rank alone counts; of many the last search is discounted by its number, too."""
    docs = (*(f"x{place}" for place in range(1, rank)), "a")
    deep = Trajectory.of([Step("search", docs)], {"a": 1})
    assert parse_measure("session_dcg").value(deep) == pytest.approx(1 / math.log2(1 + rank), rel=1e-12)
    late = Trajectory.of([*(Step("search", (doc,)) for doc in docs)], {"a": 1})
    expected = 1 / (1 + math.log(rank, 4))
    assert parse_measure("session_dcg").value(late) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        *(("tokens=119", 0), ("tokens=120", 0.5), ("tokens=339", 0.5), ("tokens=340", 1), ("cost=0.29", 0.5)),
        ("cost=0.3", 1),  # though as binary fractions 0.1 + 0.2 is more
    ],
)
def test_a_budget_takes_the_longest_beginning_of_the_steps(budget: str, expected: float) -> None:
    trajectory = Trajectory.of(THINKING, {"a": 1, "b": 1})
    assert parse_measure(f"seen_recall({budget})").value(trajectory) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("seen_recall(cost=1)", "step 2, a model step, has no cost, which a limit of cost needs"),
        ("seen_recall(cost=1,tokens=5)", "expected one of @k, tokens, cost and seconds"),
        ("seen_recall(cost=1)@2", "expected one of @k, tokens, cost and seconds"),
        ("searches_to", "expected a cut-off"),
        ("calls_f1", "needs the expected calls; pass questions with the field expected_calls"),
        ("kept", "no answers of the system are known; pass them with --answers"),
    ],
)
def test_what_cannot_be_computed_is_refused_with_the_remedy(name: str, message: str) -> None:
    trajectory = Trajectory.of([Step("search", ("a",)), Step("model")], {"a": 1})
    with pytest.raises(MeasureError, match=message):
        parse_measure(name).value(trajectory)


ZERO = {"seen_recall", "recall_area", "first_useful", "nuggets_seen", "session_dcg", "completed"}
ZERO |= {"cited_recall", "used_recall", "uncited"}


@pytest.mark.parametrize("name", OWN)
def test_a_query_without_a_trajectory_is_0_or_undefined(name: str) -> None:
    trajectory = Trajectory(Topic.of({"0": {"a": 1}}), (), (), (), is_absent=True)
    measure: Any = OWN[name] @ 5 if name == "searches_to" else OWN[name]
    expected = 1.0 if name == "unseen" else 0.0 if name in ZERO else math.nan
    assert measure.value(trajectory) == pytest.approx(expected, nan_ok=True)


def test_agreement_is_the_mean_over_pairs_of_trajectories() -> None:
    for seed in range(DRAWN):
        rng = random.Random(seed)
        lists = [rng.sample("abcde", rng.randint(0, 4)) for _ in range(rng.randint(2, 5))]
        steps = [
            {"query_id": "q", "run_id": "a", "repeat": number, "kind": "search", "docs": docs}
            for number, docs in enumerate(lists)
        ]
        pairs = [(set(one), set(other)) for one, other in combinations(lists, 2)]
        shares = [share(len(one & other), len(one | other), 1) for one, other in pairs]
        (score,) = rageval.evaluate("seen_agreement", read_trajectories(steps), {"q": {}})["a"].scores
        assert score.value == pytest.approx(sum(shares) / len(shares))
    # One attempt agrees with nobody, and a query without any is not known.
    scores = rageval.evaluate("seen_agreement", read_trajectories(steps[:1]), {"q": {}, "other": {}})
    assert math.isnan(scores["a"].scores[0].value)
