"""Writes the golden vectors of the package: `python tests/golden_vectors.py`.

Inputs are the counter-examples of the field (`counter_examples`) and small random cases; right values come
from the oracles, which share no code with the package.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "measures"))
sys.path.insert(0, str(Path(__file__).parent / "peers"))

import answers_oracle as oracle_answers
import conversations_oracle as talks
import oracle
import strategies
import test_answer_laws as laws
import test_trajectories as agents
from counter_examples import ANSWERS, BASE_QRELS, BASE_RUN, COUNTER_EXAMPLES, QUESTIONABLE, USUAL, Qrels, Run
from peer_tools import topics_in
from rageval.measures import measures_taking
from rageval.measures.parsing import parse_measure
from rageval.records import Step
from vectors import AnswerVector, RunVector, TrajectoryVector

FOLDER = Path(__file__).parents[1] / "rageval/vectors"
RANDOM_RUNS, RANDOM_ANSWERS, RANDOM_TRAJECTORIES = 40, 3, 24
RANDOM_CONVERSATIONS, RANDOM_BATTLES = 12, 12
CUTOFFS = (1, 2, 3, 5, 10, 20)
ALPHAS = (0, 0.25, 0.5, 0.75, 1)


def right(measure: str, run: Run, qrels: Qrels, options: dict[str, Any]) -> dict[str, float]:
    """The oracle's values of a measure."""
    if options.get("judged_only"):
        run = {
            q: {d: s for d, s in docs.items() if any(d in n for n in qrels[q].values())}
            for q, docs in run.items()
        }
    if options.get("ties") == "expected":
        return {query: expected(measure, run, qrels, query) for query in qrels}
    ascending = options.get("ties") == "docid_asc"
    rules = replace(oracle.RIGHT, tie=lambda doc: doc.encode()) if ascending else oracle.RIGHT
    return values(measure, run, qrels, rules)


def expected(measure: str, run: Run, qrels: Qrels, query: str) -> float:
    """The mean over all orders of equal scores."""
    docs = run.get(query, {})
    levels = sorted(set(docs.values()), reverse=True)
    groups = [list(permutations(doc for doc in docs if docs[doc] == level)) for level in levels]
    orders = [[doc for group in order for doc in group] for order in product(*groups)]
    values_of_orders = [
        values(
            measure, {query: {doc: -float(rank) for rank, doc in enumerate(order)}}, {query: qrels[query]}
        )[query]
        for order in orders
    ]
    return float(sum(map(Fraction, values_of_orders)) / len(values_of_orders))


def values(measure: str, run: Run, qrels: Qrels, rules: oracle.Rules = oracle.RIGHT) -> dict[str, float]:
    """The oracle's values, whatever the parameters."""
    parsed = parse_measure(measure)
    parameters = {
        name: Fraction(str(value)) for name, value in parsed.parameters.items() if name in ("alpha", "beta")
    }
    rel = parsed.rel or 1
    chosen = {name: value for name, value in parsed.changed.items() if name not in ("alpha", "beta", "rel")}
    if chosen == {"ideal": "exact"}:
        return {query: exact(run.get(query, {}), qrels[query], parsed.k or 0) for query in qrels}
    if chosen == {"normalize": "ndeval"} and parsed.k == 1:
        return values(measure.replace("(normalize=ndeval)", ""), run, qrels, rules)
    compute: Callable[..., float] = oracle.MEASURES[parsed.name]
    if chosen:
        ((name, value),) = chosen.items()
        compute = oracle.VARIANTS[f"{parsed.name}({name}={value})"]
    return {
        query: float(
            compute(oracle.Query(run.get(query, {}), qrels[query], rel, rules), parsed.k, **parameters)
        )
        for query in qrels
    }


def exact(ranking: dict[str, float], judged: dict[str, dict[str, int]], k: int) -> float:
    query = oracle.Query(ranking, judged, 1, oracle.RIGHT)
    best = oracle.optimum(query, k)
    return float(oracle.alpha_dcg(query, k)) / best if best else 0.0


def rows(qrels: Qrels) -> list[tuple[str, str, str, int]]:
    return [
        (q, n, d, g) for q, nuggets in qrels.items() for n, docs in nuggets.items() for d, g in docs.items()
    ]


def ranks(run: Run) -> list[tuple[str, str, float]]:
    return [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]


def vector(name: str, about: str, run: Run, qrels: Qrels, measures: Iterable[str], **more: Any) -> RunVector:
    topics = list(dict.fromkeys([*more.pop("topics", []), *topics_in(ranks(run), rows(qrels))]))
    options = more.get("options", {})
    meant = [str(parse_measure(measure)) for measure in measures]
    values_by_measure = {measure: right(measure, run, qrels, options) for measure in meant}
    return RunVector(name, about, ranks(run), rows(qrels), values_by_measure, topics, **more)


def scattered() -> RunVector:
    """The everyday case, the first document of every query first."""
    whole = vector(
        "scattered", "rows of a query apart, as when a run is sorted by rank", BASE_RUN, BASE_QRELS, USUAL
    )
    place = {(query, doc): index for query, docs in BASE_RUN.items() for index, doc in enumerate(docs)}
    by_rank = sorted(whole.run, key=lambda row: place[row[0], row[1]])
    return msgspec.structs.replace(whole, run=by_rank, topics=["scattered", *whole.topics])


def drawn_runs() -> Iterator[RunVector]:
    """Small cases; every other one without ties, so that all can agree on it."""
    for number in range(RANDOM_RUNS):
        rng = random.Random(number)
        case = strategies.case(rng)
        run = case.run if number % 2 else {query: untied(rng, docs) for query, docs in case.run.items()}
        about = "a small case drawn at random, " + ("with ties" if number % 2 else "without ties")
        yield vector(f"random-{number:02}", about, run, case.qrels, drawn_measures(rng))


def untied(rng: random.Random, docs: dict[str, float]) -> dict[str, float]:
    return dict(zip(docs, rng.sample([score / 8 for score in range(-99, 99)], len(docs)), strict=True))


def drawn_measures(rng: random.Random) -> list[str]:
    """Every measure of runs once: at some cut-off, or at none; those with an alpha at some alpha."""
    measures = []
    for name, measure in measures_taking("Ranking").items():
        k = rng.choice((*CUTOFFS, *CUTOFFS, None)) if measure.takes_k else None
        alpha = rng.choice(ALPHAS) if "alpha" in measure.declared else 0.5
        beta = 0.8 if alpha or name not in ("nnrbp",) else 0.5
        chosen = measure(alpha=alpha) if alpha != 0.5 else measure
        chosen = chosen(beta=beta) if name == "nnrbp" and beta != 0.8 else chosen
        measures.append(str(chosen if k is None else chosen @ k))
    return measures


def run_vectors() -> list[RunVector]:
    """All of runs."""
    named = [
        vector(n, a, run, qrels, measures, **more) for n, a, run, qrels, measures, more in COUNTER_EXAMPLES
    ]
    return [*named, scattered(), *QUESTIONABLE, *drawn_runs()]


def answer_vector(name: str, about: str, given: laws.Table, measures: list[str], **more: Any) -> AnswerVector:
    on_missing = more.get("options", {}).get("on_missing", "skip")
    scores = laws.slowly(measures, given, on_missing)
    expected = {
        measure: {
            f"{run}/{query}": value
            for (run, name), values in scores.items()
            if name == measure
            for query, value in values.by_query.items()
        }
        for measure in measures
    }
    topics = list(dict.fromkeys([*more.pop("topics", []), *topics_of_answers(given)]))
    return AnswerVector(name, about, given.rows, expected, laws.answer_lines(given), topics, **more)


def topics_of_answers(given: laws.Table) -> list[str]:
    """What can be seen from judgements of nuggets; others have no peer."""
    rows = [row for row in given.rows if "importance" in row]
    vital = {(row["run_id"], row["query_id"]) for row in rows if row["importance"] == "vital"}
    labels = [row.get("label") for row in rows if row.get("status", "ok") in ("ok", "repaired")]
    seen = {
        "vitalless": {(row["run_id"], row["query_id"]) for row in rows} - vital,
        "failed": any(row.get("status", "ok") not in ("ok", "repaired") for row in rows),
        "spelled": any(label not in oracle_answers.NUGGET.worth for label in labels),
        "judges": len({row.get("judge", "") for row in rows}) > 1,
    }
    return [topic for topic, is_so in seen.items() if is_so]


def answer_vectors() -> Iterator[AnswerVector]:
    """All of answers."""
    for name, about, judged, measures, more in ANSWERS:
        meant = [str(parse_measure(measure)) for measure in measures]
        yield answer_vector(name, about, laws.Table(judged), meant, **more)
    for kind, number in product(laws.KINDS, range(RANDOM_ANSWERS)):
        given = laws.table(random.Random(number), kind)
        measures = [str(parse_measure(measure)) for measure in laws.MEASURES[kind]]
        name = f"{kind.replace(' ', '-')}-{number}"
        about = f"{kind} drawn at random; judgements that failed are left out"
        yield answer_vector(name, about, given, measures, options={"on_missing": "skip"})


def conversation_vectors() -> Iterator[AnswerVector]:
    """All of conversations: the turns of two systems, judged as CRAG's answers are."""
    for number in range(RANDOM_CONVERSATIONS):
        rng, stop = random.Random(number), 1 + number % 3
        measures = {
            f"turn_truthfulness(stop={stop})": lambda talk, _, stop=stop: talks.turn_truthfulness(talk, stop),
            f"conversation_score(stop={stop})": lambda talk, _, stop=stop: talks.conversation_score(
                talk, stop
            ),
            "all_turns": lambda talk, _: talks.all_turns(talk),
            "conditioned": talks.conditioned,
        }
        can_be_answered = [[rng.random() < 0.7 for _ in range(rng.randint(1, 6))] for _ in range(3)]
        rows_of_turns: list[dict[str, Any]] = []
        expected: dict[str, dict[str, float | None]] = {
            str(parse_measure(measure)): {} for measure in measures
        }
        for run, (talk, answerable) in product("ab", enumerate(can_be_answered)):
            letters = "".join(rng.choice("ccmh") for _ in answerable)
            places = [f"{talk}-{turn}" for turn in range(len(letters))]
            rows_of_turns += [
                {"query_id": place, "run_id": run, "rubric": "crag", "label": talks.LABELS[letter],
                 "conversation_id": str(talk), "turn": turn, "answerable": can_be}
                for turn, (place, letter, can_be) in enumerate(zip(places, letters, answerable, strict=True))
            ]  # fmt: skip
            for measure, compute in measures.items():
                for place, value in zip(places, compute(letters, answerable), strict=True):
                    key = None if value is None else float(value)
                    expected[str(parse_measure(measure))][f"{run}/{place}"] = key
        rng.shuffle(rows_of_turns)
        about = f"conversations drawn at random; the user leaves after {stop} turns without a right answer"
        yield AnswerVector(f"conversation-{number:02}", about, rows_of_turns, expected)


def battle_vectors() -> Iterator[AnswerVector]:
    """All of battles: a few pairs of systems a query, as tracks sample them; some battles failed."""
    for number in range(RANDOM_BATTLES):
        rng = random.Random(number)
        judged: list[dict[str, Any]] = []
        for query, battle in product(range(6), range(2)):
            shown = rng.sample("abcd", 2)
            labels = rng.choice([("win", "loss"), ("loss", "win"), ("tie", "tie"), None])
            for run, place in zip(shown, (0, 1), strict=True):
                verdict = {"status": "error"} if labels is None else {"label": labels[place]}
                judged.append(
                    {"query_id": str(query), "run_id": run, "aspect": f"battle {battle}",
                     "rubric": "pairwise", "shown": shown} | verdict
                )  # fmt: skip
        about = "battles of a few systems a query; a tie is half a win, and a failed battle is left out"
        yield answer_vector(
            f"battles-{number:02}", about, laws.Table(judged), ["win_rate"], options={"on_missing": "skip"}
        )


def trajectory_vectors() -> Iterator[TrajectoryVector]:
    """All of agents: small trajectories, each measure at a cut-off or at none."""
    for number in range(RANDOM_TRAJECTORIES):
        rng, case = random.Random(number), agents.Case(number)
        if not (case.steps and case.expected):
            continue  # of no steps, and of no expected calls, files say nothing
        values = {}
        for name, measure in measures_taking("Trajectory").items():
            k = rng.choice((1, 2, 5)) if name == "searches_to" or (measure.takes_k and number % 2) else None
            rel = rng.choice((1, 2)) if "rel" in measure.declared else 1
            chosen = measure(rel=rel) if rel > 1 else measure
            calls = [step for step in case.steps if step.kind in agents.CALLS]
            right = agents.oracle_of_calls(calls, case.expected)
            value = right[name] if name in right else agents.oracle(name, case, k, rel)
            values[str(chosen if k is None else chosen @ k)] = {"q": None if value != value else value}
        yield TrajectoryVector(
            f"agent-{number:02}",
            "a small trajectory drawn at random",
            [step_line(step) for step in case.steps],
            rows({"q": {nugget: dict(grades) for nugget, grades in case.gold.items()}}),
            [{"query_id": "q", "run_id": "a", "answer": [{"text": "?", "citations": case.cited}]}],
            [{"query_id": "q", "question": "?", "expected_calls": list(map(call_line, case.expected))}],
            values,
        )


def step_line(step: Step) -> dict[str, Any]:
    amounts = {name: getattr(step, name) for name in agents.QUANTITIES}
    stated = {name: amount for name, amount in amounts.items() if amount is not None}
    docs = {"docs": step.docs} if step.docs else {}
    place = {"query_id": "q", "run_id": "a", "step": (step.number or 0) + 1}
    return {**place, **call_line(step), "status": step.status, **docs, **stated}


def call_line(call: Step) -> dict[str, Any]:
    is_object = call.request.startswith("{")
    request = {"arguments": msgspec.json.decode(call.request)} if is_object else {"query": call.request}
    return {"kind": call.kind, "tool": call.tool, **request}


def encoded(vectors: Iterable[Any]) -> bytes:
    return b"".join(msgspec.json.encode(vector) + b"\n" for vector in vectors)


# What the files hold, by their names.
VECTORS: dict[str, Callable[[], Iterable[Any]]] = {
    "runs": run_vectors,
    "answers": answer_vectors,
    "conversations": conversation_vectors,
    "battles": battle_vectors,
    "trajectories": trajectory_vectors,
}


def main() -> None:
    for name, make in VECTORS.items():
        (FOLDER / f"{name}.jsonl").write_bytes(encoded(make()))


if __name__ == "__main__":
    main()
