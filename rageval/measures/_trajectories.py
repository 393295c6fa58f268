"""Measures of agents: what was found, when, at what cost, and how much of it the answer uses."""

from __future__ import annotations

import math
from operator import mul
from typing import Annotated, Any, Literal

from rageval.errors import MeasureError
from rageval.measures.assessment import Assessment
from rageval.measures.base import LOWER, Between, Grade, measure
from rageval.measures.ranking import Share
from rageval.measures.trajectory import Trajectory

_Budget = Annotated[float, Between(0.0, math.inf)]
_Portion = Annotated[float, Between(0.0, 1.0)]
_Base = Annotated[float, Between(1.001, 1e6)]
_UNDEFINED: Any = math.nan  # where a share is expected
_FROM_0 = (0.0, math.inf)
_Arguments = Literal["exact", "subset", "ignore"]


@measure
def seen_recall(
    trajectory: Trajectory,
    *,
    k: int | None = None,
    rel: Grade = 1,
    tokens: _Budget = math.inf,
    cost: _Budget = math.inf,
    seconds: _Budget = math.inf,
) -> Share:
    """Share of the relevant documents that the agent saw, in its first k searches or within a budget.

    Formula:
        seen_recall@k = |relevant documents in the first k searches| / |relevant documents|

    Without k, all documents count that any step returned. After the last search its value holds. A budget
    takes the longest beginning of the steps, of every kind, whose total is within it. Every model step must
    state the quantity.

    Range: 0 to 1; grows with k and with the budget.

    Parameters:
        tokens: input and output tokens together
        cost: in the unit of the file
        seconds: the time of the steps

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import seen_recall
    >>> steps = [Step("search", docs=("a",), cost=1.0), Step("search", docs=("b",), cost=1.0)]
    >>> trajectory = Trajectory.of(steps, {"a": 1, "b": 1})
    >>> (seen_recall @ 1).value(trajectory), seen_recall(cost=2).value(trajectory)
    (0.5, 1.0)
    """
    limits = {"tokens": tokens, "cost": cost, "seconds": seconds}
    budgets = [(name, limit) for name, limit in limits.items() if limit != math.inf]
    if len(budgets) + (k is not None) > 1:
        raise MeasureError("seen_recall: expected one of @k, tokens, cost and seconds, not several")
    seen = trajectory.seen_within(*budgets[0]) if budgets else trajectory.seen(k)
    relevant = trajectory.relevant(rel)
    return Share(len(seen & relevant), len(relevant))


@measure
def recall_area(trajectory: Trajectory, *, k: int | None = None, rel: Grade = 1) -> float:
    """Mean recall over the first k searches: high where relevant documents are found early.

    Formula:
        recall_area@k = 1/k · Σ_{b≤k} seen_recall@b

    After the last search its recall holds. Without k, the mean is over the searches that there are. 0 without
    a search.

    Range: 0 to 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import recall_area
    >>> steps = [Step("search", docs=("x",)), Step("search", docs=("a",))]
    >>> trajectory = Trajectory.of(steps, {"a": 1})
    >>> (recall_area @ 4).value(trajectory)
    0.75
    """
    if not trajectory.relevant(rel) or not trajectory.searches:
        return 0.0
    curve = trajectory.recall_curve(rel)
    k = len(curve) if k is None else k
    rest = max(k - len(curve), 0)
    return math.fsum([*curve[:k], rest * curve[-1]]) / k


@measure
def first_useful(trajectory: Trajectory, *, rel: Grade = 1) -> float:
    """Reciprocal of the first search that finds a relevant document; 0 if none does.

    Formula:
        first_useful = 1 / number of the first search that returns a relevant document

    Range: 0 to 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import first_useful
    >>> steps = [Step("search", docs=("x",)), Step("search", docs=("a",))]
    >>> trajectory = Trajectory.of(steps, {"a": 1})
    >>> first_useful.value(trajectory)
    0.5
    """
    relevant = trajectory.relevant(rel)
    return next((1 / number for number, docs in enumerate(trajectory.searches, 1) if docs & relevant), 0.0)


@measure(better=LOWER, limits=_FROM_0)
def searches_to(
    trajectory: Trajectory, *, k: int | None = None, recall: _Portion = 1.0, rel: Grade = 1
) -> float:
    """How many searches it takes to reach a recall, k at most.

    Formula:
        searches_to@k = min(k, the first t with seen_recall@t ≥ recall)

    The cut-off is required, as in `searches_to(recall=0.5)@10`: without one, an agent that never reaches the
    recall would have no value. Undefined for a query without a trajectory or relevant documents.

    Range: 0 upwards; 1 to k.

    Parameters:
        recall: the recall to reach

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import searches_to
    >>> steps = [Step("search", docs=("x",)), Step("search", docs=("a",))]
    >>> trajectory = Trajectory.of(steps, {"a": 1})
    >>> (searches_to @ 10).value(trajectory)
    2.0
    """
    if k is None:
        raise MeasureError("searches_to: expected a cut-off, as in searches_to(recall=0.5)@10")
    if trajectory.is_absent or not trajectory.relevant(rel):
        return math.nan
    curve = trajectory.recall_curve(rel)
    return float(next((t for t, value in enumerate(curve[:k], 1) if value >= recall), k))


@measure(sees="nuggets")
def nuggets_seen(trajectory: Trajectory, *, k: int | None = None, rel: Grade = 1) -> Share:
    """Share of the nuggets that a document of the first k searches supports.

    Formula:
        nuggets_seen@k = |nuggets with a relevant document seen| / |nuggets with a relevant document|

    Without k, all documents count that any step returned.

    Range: 0 to 1; grows with k.

    >>> from rageval.trajectories import Step, Topic, Trajectory
    >>> from rageval.measures import nuggets_seen
    >>> topic = Topic.of({"n1": {"a": 1}, "n2": {"b": 1}})
    >>> nuggets_seen.value(Trajectory(topic, [Step("search", docs=("a",))]))
    0.5
    """
    return Share(len(trajectory.nuggets(trajectory.seen(k), rel)), trajectory.topic.attainable(rel))


@measure(sees="nuggets", limits=_FROM_0)
def nugget_gain(trajectory: Trajectory, *, rel: Grade = 1) -> float:
    """Nuggets found for each search.

    Formula:
        nugget_gain = |nuggets with a relevant document seen| / |searches|

    Undefined without a search.

    Range: 0 upwards.

    >>> from rageval.trajectories import Step, Topic, Trajectory
    >>> from rageval.measures import nugget_gain
    >>> topic = Topic.of({"n1": {"a": 1}, "n2": {"b": 1}})
    >>> steps = [Step("search", docs=("a", "b")), Step("search", docs=("b",))]
    >>> nugget_gain.value(Trajectory(topic, steps))
    1.0
    """
    if not trajectory.searches:
        return math.nan
    return len(trajectory.nuggets(trajectory.seen(), rel)) / len(trajectory.searches)


@measure
def session_dcg(
    trajectory: Trajectory, *, k: int | None = None, b: _Base = 2.0, bq: _Base = 4.0, rel: Grade = 1
) -> float:
    """Session DCG, normalized: gains of documents seen first, discounted by rank and by search.

    Formula:
        session_dcg@k = Σ_t Σ_{r≤k} gain(t, r) / (log_b(r + b − 1) · (1 + log_bq t)) / ideal

    The gain is the grade, 0 below `rel`, and 0 of a document that an earlier search returned to rank k. The
    ideal fills the places (t, r) of the same searches, r ≤ k, by falling discount with the documents of the
    query, greatest gain first, each once. 0 without a search.

    Range: 0 to 1.

    Parameters:
        b: base of the discount of ranks
        bq: base of the discount of searches

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import session_dcg
    >>> steps = [Step("search", docs=("x",)), Step("search", docs=("a",))]
    >>> trajectory = Trajectory.of(steps, {"a": 1})
    >>> round(session_dcg.value(trajectory), 4)
    0.6667
    """
    relevant = trajectory.relevant(rel)
    grades = zip(trajectory.topic.ids, trajectory.topic.grades, strict=True)
    gain = {doc: float(max(grade, 0)) for doc, grade in grades if doc in relevant}
    best = sorted(filter(None, gain.values()), reverse=True)
    searches = [list(dict.fromkeys(step.docs)) for step in trajectory.steps if step.kind == "search"]

    def discount(t: int, r: int) -> float:
        return 1 / (math.log(r + b - 1, b) * (1 + math.log(t, bq)))

    gained: list[float] = []
    for t, docs in enumerate(searches, 1):
        gained += (gain.pop(doc, 0.0) * discount(t, r) for r, doc in enumerate(docs[:k], 1))
    # A search can return as many documents as there are gains, whatever it returned.
    depth = len(best) if k is None else min(k, len(best))
    discounts = [discount(t, r) for t in range(1, len(searches) + 1) for r in range(1, depth + 1)]
    ideal = math.fsum(map(mul, best, sorted(discounts, reverse=True)))
    return math.fsum(gained) / ideal if ideal else 0.0


@measure(better=LOWER)
def redundancy(trajectory: Trajectory) -> float:
    """Share of the returned documents that an earlier search had returned.

    Formula:
        redundancy = 1 − |distinct documents of the searches| / |documents of the searches|

    Undefined without any document.

    Range: 0 to 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import redundancy
    >>> steps = [Step("search", docs=("x", "a")), Step("search", docs=("a", "b"))]
    >>> trajectory = Trajectory.of(steps, {"a": 1, "b": 1})
    >>> redundancy.value(trajectory)
    0.25
    """
    returned = sum(map(len, trajectory.searches))
    distinct = len(trajectory.seen(len(trajectory.searches)))
    return (returned - distinct) / returned if returned else math.nan


@measure(better=LOWER)
def idle_searches(trajectory: Trajectory, *, rel: Grade = 1) -> float:
    """Share of the searches that find no relevant document that was not seen before.

    Formula:
        idle_searches = |searches that add no relevant document| / |searches|

    What reads and other steps returned does not count as seen before. Undefined without a search.

    Range: 0 to 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import idle_searches
    >>> steps = [Step("search", docs=("x", "a")), Step("search", docs=("a",))]
    >>> trajectory = Trajectory.of(steps, {"a": 1, "b": 1})
    >>> idle_searches.value(trajectory)
    0.5
    """
    relevant, before, idle = trajectory.relevant(rel), frozenset[str](), 0
    for docs in trajectory.searches:
        new = docs & relevant - before
        idle += not new
        before |= new
    return idle / len(trajectory.searches) if trajectory.searches else math.nan


@measure(better=LOWER)
def repeated_calls(trajectory: Trajectory) -> float:
    """Share of the calls of tools that are the same as an earlier one.

    Formula:
        repeated_calls = |calls equal to an earlier one| / |calls|

    Calls are searches, reads and other tools. They are equal if the tool and its arguments, or the query, are
    equal. Undefined without a call.

    Range: 0 to 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import repeated_calls
    >>> steps = [Step("search", request="x"), Step("search", request="y"), Step("search", request="x")]
    >>> round(repeated_calls.value(Trajectory.of(steps, {})), 4)
    0.3333
    """
    repeats = list(trajectory.repeats())
    return sum(repeats) / len(repeats) if repeats else math.nan


@measure
def cited_recall(trajectory: Trajectory, *, rel: Grade = 1) -> Share:
    """Share of the relevant documents that the answer cites.

    Formula:
        cited_recall = |cited and relevant| / |relevant documents|

    0 without citations.

    Range: 0 to 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import cited_recall
    >>> steps = [Step("search", docs=("x", "a")), Step("search", docs=("a", "b"))]
    >>> trajectory = Trajectory.of(steps, {"a": 1, "b": 1}, cited=["a", "z"])
    >>> cited_recall.value(trajectory)
    0.5
    """
    relevant = trajectory.relevant(rel)
    return Share(len(trajectory.cited & relevant), len(relevant))


@measure
def cited_precision(trajectory: Trajectory, *, rel: Grade = 1) -> Share:
    """Share of the cited documents that are relevant.

    Formula:
        cited_precision = |cited and relevant| / |cited documents|

    Undefined without citations.

    Range: 0 to 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import cited_precision
    >>> steps = [Step("search", docs=("x", "a")), Step("search", docs=("a", "b"))]
    >>> trajectory = Trajectory.of(steps, {"a": 1, "b": 1}, cited=["a", "z"])
    >>> cited_precision.value(trajectory)
    0.5
    """
    cited = trajectory.cited
    return Share(len(cited & trajectory.relevant(rel)), len(cited)) if cited else _UNDEFINED


@measure
def cited_seen(trajectory: Trajectory) -> Share:
    """Share of the cited documents that the agent saw; the others were never retrieved.

    Formula:
        cited_seen = |cited and seen| / |cited documents|

    Undefined without citations.

    Range: 0 to 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import cited_seen
    >>> steps = [Step("search", docs=("x", "a")), Step("search", docs=("a", "b"))]
    >>> trajectory = Trajectory.of(steps, {"a": 1, "b": 1}, cited=["a", "z"])
    >>> cited_seen.value(trajectory)
    0.5
    """
    cited = trajectory.cited
    return Share(len(cited & trajectory.seen()), len(cited)) if cited else _UNDEFINED


@measure
def used_recall(trajectory: Trajectory, *, rel: Grade = 1) -> Share:
    """Share of the relevant documents that were seen and are cited.

    Formula:
        used_recall = |cited, seen and relevant| / |relevant documents|

    With it, 1 = unseen + uncited + used_recall: relevant documents are lost in searching, lost in answering,
    or used.

    Range: 0 to 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import used_recall
    >>> steps = [Step("search", docs=("x", "a")), Step("search", docs=("a", "b"))]
    >>> trajectory = Trajectory.of(steps, {"a": 1, "b": 1}, cited=["a", "z"])
    >>> used_recall.value(trajectory)
    0.5
    """
    relevant = trajectory.relevant(rel)
    return Share(len(trajectory.cited & trajectory.seen() & relevant), len(relevant))


@measure(better=LOWER)
def unseen(trajectory: Trajectory, *, rel: Grade = 1) -> Share:
    """Share of the relevant documents that the agent never saw: lost in searching.

    Formula:
        unseen = |relevant and not seen| / |relevant documents|

    It is 1 − seen_recall.

    Range: 0 to 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import unseen
    >>> steps = [Step("search", docs=("x", "a")), Step("search", docs=("a", "b"))]
    >>> trajectory = Trajectory.of(steps, {"a": 1, "c": 1})
    >>> unseen.value(trajectory)
    0.5
    """
    relevant = trajectory.relevant(rel)
    return Share(len(relevant - trajectory.seen()), len(relevant))


@measure(better=LOWER)
def uncited(trajectory: Trajectory, *, rel: Grade = 1) -> Share:
    """Share of the relevant documents that were seen and are not cited: lost in answering.

    Formula:
        uncited = |seen, relevant and not cited| / |relevant documents|

    It is seen_recall − used_recall.

    Range: 0 to 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import uncited
    >>> steps = [Step("search", docs=("x", "a")), Step("search", docs=("a", "b"))]
    >>> trajectory = Trajectory.of(steps, {"a": 1, "b": 1}, cited=["a", "z"])
    >>> uncited.value(trajectory)
    0.5
    """
    relevant = trajectory.relevant(rel)
    return Share(len(trajectory.seen() & relevant - trajectory.cited), len(relevant))


@measure
def kept(trajectory: Trajectory, *, rel: Grade = 1) -> Share:
    """Share of the relevant documents that were seen that the answer cites.

    Formula:
        kept = |cited, seen and relevant| / |seen and relevant|

    It is used_recall / seen_recall. Undefined where nothing relevant was seen.

    Range: 0 to 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import kept
    >>> steps = [Step("search", docs=("x", "a")), Step("search", docs=("a", "b"))]
    >>> trajectory = Trajectory.of(steps, {"a": 1, "b": 1}, cited=["a", "z"])
    >>> kept.value(trajectory)
    0.5
    """
    relevant = trajectory.seen() & trajectory.relevant(rel)
    return Share(len(trajectory.cited & relevant), len(relevant)) if relevant else _UNDEFINED


@measure
def completed(trajectory: Trajectory) -> float:
    """Whether the trajectory ended well: it has steps, and the last one did not fail.

    Formula:
        completed = 1 if the last step did not fail, else 0

    Range: 0 or 1.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import completed
    >>> completed.value(Trajectory.of([Step("search", status="error"), Step("answer")], {}))
    1.0
    """
    return float(bool(trajectory.steps) and trajectory.steps[-1].status == "ok")


@measure
def seen_agreement(trajectory: Trajectory) -> float:
    """How alike the documents are that several trajectories for a query see.

    Formula:
        seen_agreement = mean over the pairs of trajectories of c / (n + m − c)

        n, m: documents that each of the two saw
        c: documents that both saw

    Range: 0 to 1. A query has several trajectories (by `repeat`). Two that saw nothing are alike: 1.
    Undefined for a query with one trajectory.

    >>> import rageval
    >>> from rageval.trajectories import read_trajectories
    >>> steps = [{"query_id": "q", "run_id": "a", "repeat": at, "kind": "search", "docs": docs}
    ...          for at, docs in enumerate([["d1", "d2"], ["d2"], ["d2"]])]
    >>> round(rageval.evaluate("seen_agreement", read_trajectories(steps), {"q": {}})["a"].scores[0].value, 4)
    0.6667
    """
    # Of each with the others: the mean over the trajectories is that over the pairs.
    seen = trajectory.seen()
    shares = []
    for other in trajectory.attempts:
        if other is trajectory:
            continue
        union = seen | other.seen()
        shares.append(len(seen & other.seen()) / len(union) if union else 1.0)
    return math.fsum(shares) / len(shares) if shares else math.nan


@measure(better=LOWER, limits=_FROM_0)
def calls(trajectory: Trajectory) -> float:
    """How many calls of tools there are: searches, reads and others.

    Formula:
        calls = |steps of kind search, read or tool|

    Undefined for a query without a trajectory.

    Range: 0 upwards.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import calls
    >>> calls.value(Trajectory.of([Step("search"), Step("model"), Step("answer")], {}))
    1.0
    """
    return math.nan if trajectory.is_absent else float(len(trajectory.calls))


@measure(better=LOWER, limits=_FROM_0)
def searches(trajectory: Trajectory) -> float:
    """How many searches there are.

    Formula:
        searches = |steps of kind search|

    Undefined for a query without a trajectory.

    Range: 0 upwards.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import searches
    >>> searches.value(Trajectory.of([Step("search"), Step("model"), Step("answer")], {}))
    1.0
    """
    return math.nan if trajectory.is_absent else float(len(trajectory.searches))


@measure(better=LOWER, limits=_FROM_0)
def input_tokens(answer: Trajectory | Assessment) -> float:
    """Input tokens that an answer took.

    Formula:
        input_tokens = Σ over the steps; without steps, what the answer states

    Another step than one of the model that does not state it adds nothing. If a model step does not state it,
    or no step does, the field `input_tokens` of the answer counts. Undefined where that is missing, too.

    Range: 0 upwards.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import input_tokens
    >>> steps = [Step("model", input_tokens=2), Step("search"), Step("answer", input_tokens=1)]
    >>> input_tokens.value(Trajectory.of(steps, {}))
    3.0
    """
    return answer.total("input_tokens")


@measure(better=LOWER, limits=_FROM_0)
def output_tokens(answer: Trajectory | Assessment) -> float:
    """Output tokens that an answer took.

    Formula:
        output_tokens = Σ over the steps; without steps, what the answer states

    Another step than one of the model that does not state it adds nothing. If a model step does not state it,
    or no step does, the field `output_tokens` of the answer counts. Undefined where that is missing, too.

    Range: 0 upwards.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import output_tokens
    >>> steps = [Step("model", output_tokens=2), Step("search"), Step("answer", output_tokens=1)]
    >>> output_tokens.value(Trajectory.of(steps, {}))
    3.0
    """
    return answer.total("output_tokens")


@measure(better=LOWER, limits=_FROM_0)
def cost(answer: Trajectory | Assessment) -> float:
    """Cost of an answer, in the unit of the file.

    Formula:
        cost = Σ over the steps; without steps, what the answer states

    Another step than one of the model that does not state it adds nothing. If a model step does not state it,
    or no step does, the field `cost` of the answer counts. Undefined where that is missing, too.

    Range: 0 upwards.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import cost
    >>> steps = [Step("model", cost=2), Step("search"), Step("answer", cost=1)]
    >>> cost.value(Trajectory.of(steps, {}))
    3.0
    """
    return answer.total("cost")


@measure(better=LOWER, limits=_FROM_0)
def seconds(answer: Trajectory | Assessment) -> float:
    """Seconds that an answer took.

    Formula:
        seconds = Σ over the steps; without steps, what the answer states

    Another step than one of the model that does not state it adds nothing. If a model step does not state it,
    or no step does, the field `seconds` of the answer counts. Undefined where that is missing, too.

    Range: 0 upwards.

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import seconds
    >>> steps = [Step("model", seconds=2), Step("search"), Step("answer", seconds=1)]
    >>> seconds.value(Trajectory.of(steps, {}))
    3.0
    """
    return answer.total("seconds")


@measure
def calls_precision(trajectory: Trajectory, *, arguments: _Arguments = "exact") -> Share:
    """Share of the calls of tools that are expected.

    Formula:
        calls_precision = |calls that match an expected call| / |calls|

    Calls match if the tool is the same, or without tools the kind, and the arguments match. Each call matches
    one expected call at most, and as many match as can. Undefined without expected calls. 0 without a call.

    Range: 0 to 1.

    Parameters:
        arguments: when the arguments of two calls match: `exact` if they are equal, `subset` if the call has
            all expected ones, `ignore` always

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import calls_precision
    >>> steps = [Step("tool", tool="find"), Step("tool", tool="book"), Step("tool", tool="find")]
    >>> expected = [Step("tool", tool="book"), Step("tool", tool="find"), Step("tool", tool="pay")]
    >>> trajectory = Trajectory.of(steps, {}, expected=expected)
    >>> round(calls_precision.value(trajectory), 4)
    0.6667
    """
    matches = trajectory.matches(arguments)
    return Share(matches, len(trajectory.calls)) if trajectory.expected else _UNDEFINED


@measure
def calls_recall(trajectory: Trajectory, *, arguments: _Arguments = "exact") -> Share:
    """Share of the expected calls of tools that were made.

    Formula:
        calls_recall = |expected calls that a call matches| / |expected calls|

    Calls match if the tool is the same, or without tools the kind, and the arguments match. Each call matches
    one expected call at most, and as many match as can. Undefined without expected calls.

    Range: 0 to 1.

    Parameters:
        arguments: when the arguments of two calls match: `exact` if they are equal, `subset` if the call has
            all expected ones, `ignore` always

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import calls_recall
    >>> steps = [Step("tool", tool="find"), Step("tool", tool="book"), Step("tool", tool="find")]
    >>> expected = [Step("tool", tool="book"), Step("tool", tool="find"), Step("tool", tool="pay")]
    >>> trajectory = Trajectory.of(steps, {}, expected=expected)
    >>> round(calls_recall.value(trajectory), 4)
    0.6667
    """
    expected = trajectory.expected
    return Share(trajectory.matches(arguments), len(expected)) if expected else _UNDEFINED


@measure
def calls_f1(trajectory: Trajectory, *, arguments: _Arguments = "exact") -> float:
    """F1 of the calls of tools: the harmonic mean of calls_precision and calls_recall.

    Formula:
        calls_f1 = 2 · |matches| / (|calls| + |expected calls|)

    Calls match if the tool is the same, or without tools the kind, and the arguments match. Each call matches
    one expected call at most, and as many match as can. Undefined without expected calls.

    Range: 0 to 1.

    Parameters:
        arguments: when the arguments of two calls match: `exact` if they are equal, `subset` if the call has
            all expected ones, `ignore` always

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import calls_f1
    >>> steps = [Step("tool", tool="find"), Step("tool", tool="book"), Step("tool", tool="find")]
    >>> expected = [Step("tool", tool="book"), Step("tool", tool="find"), Step("tool", tool="pay")]
    >>> trajectory = Trajectory.of(steps, {}, expected=expected)
    >>> round(calls_f1.value(trajectory), 4)
    0.6667
    """
    expected = trajectory.expected
    if not expected:
        return math.nan
    return 2 * trajectory.matches(arguments) / (len(trajectory.calls) + len(expected))


@measure
def calls_order(trajectory: Trajectory, *, arguments: _Arguments = "exact") -> Share:
    """Share of the expected calls of tools that were made in the expected order.

    Formula:
        calls_order = |longest common subsequence of calls and expected calls| / |expected calls|

    Calls match if the tool is the same, or without tools the kind, and the arguments match. Undefined without
    expected calls.

    Range: 0 to 1.

    Parameters:
        arguments: when the arguments of two calls match: `exact` if they are equal, `subset` if the call has
            all expected ones, `ignore` always

    >>> from rageval.trajectories import Step, Trajectory
    >>> from rageval.measures import calls_order
    >>> steps = [Step("tool", tool="find"), Step("tool", tool="book"), Step("tool", tool="find")]
    >>> expected = [Step("tool", tool="book"), Step("tool", tool="find"), Step("tool", tool="pay")]
    >>> trajectory = Trajectory.of(steps, {}, expected=expected)
    >>> round(calls_order.value(trajectory), 4)
    0.6667
    """
    expected = trajectory.expected
    return Share(trajectory.matches_in_order(arguments), len(expected)) if expected else _UNDEFINED
