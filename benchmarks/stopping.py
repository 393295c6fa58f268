"""How often a claim that stops the judging is false, and how many calls it saves, where the truth is known.

    python benchmarks/stopping.py [--replays 1000] [ROW…]
    python benchmarks/stopping.py --judged FILE -m MEASURE

Two systems in the worlds of worlds.py, a good judge: all N questions and Student's t; O'Brien and Fleming's
looks; the e-process for questions of this kind (at any time) and for this very set; and, as a warning, a
t-test at .05 after every ten questions. Then skewed differences whose mean
is 0, sets whose mean is exactly 0, margins, the best of five,
judgements that fail, and runs of which those documents are judged that can still turn a question. Ends with 1
when a figure is outside its limits. With 1,000 replays the error of a figure is about .007. Takes two minutes
of one core.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

import rageval
from rageval.comparison.next_documents import open_documents, run_values
from rageval.statistics.stopping import Rule, best_of, p_at_looks, replayed, stopped
from timing import markdown
from worlds import NULLS, RATES, WORLDS, Float, said

ALPHA = 0.05
FALSE = 0.065  # α and the error of simulation
PAIRS = (  # world, questions, δ
    ("none", "binary", 500, 0.0),
    ("none", "binary", 2000, 0.0),
    ("none", "crag", 500, 0.0),
    ("weak", "binary", 500, 0.1),
    ("weak", "binary", 2000, 0.05),
    ("weak", "crag", 500, 0.2),
    ("strong", "binary", 500, 0.2),
    ("strong", "binary", 2000, 0.1),
)
FIELDS = {  # how often each of five is right
    "clear best": (0.65, 0.5, 0.5, 0.5, 0.5),
    "ladder": (0.6, 0.55, 0.5, 0.45, 0.4),
    "near tie": (0.6, 0.57, 0.5, 0.5, 0.5),
    "all equal": (0.5,) * 5,
}


class Found(NamedTuple):
    """A row: in what share of replays one was claimed, the share of calls, what was false, its limit."""

    row: str
    claimed: float
    calls: float
    false: float
    limit: float = 1.0


def claims(x: Float, truth: Float, rule: Rule) -> tuple[float, float, float]:
    """Claimed, share of calls, false (a side that is not the truth's; any, where there is no difference)."""
    side, when = replayed(x, rule)
    return (
        float((side != 0).mean()),
        float(when.mean()) / x.shape[1],
        float((side * np.sign(truth) < side**2).mean()),
    )


def rules(x: Float, truth: Float) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """What each rule makes of the replays, differences in −1 … 1; the set's truth is its own mean."""
    total = x.shape[1]
    for row, looks in (
        ("all N, Student's t", 1),
        ("5 looks", 5),
        ("looks every ten", total // 10),
        ("at any time (e)", None),
    ):
        yield row, claims(x, truth, Rule(total, "kind", looks))
    yield "this very set (e)", claims(x, x.sum(axis=1), Rule(total, "set", None))
    sizes = list(range(10, total + 1, 10))
    over = [2 * p_at_looks(sign * x, sizes) <= ALPHA for sign in (1, -1)]
    first = np.minimum(*(np.where(each.any(axis=1), each.argmax(axis=1), len(sizes) - 1) for each in over))
    wrong = [each & (sign * truth <= 0)[:, None] for each, sign in zip(over, (1, -1), strict=True)]
    at_first = [each[np.arange(len(x)), first] for each in (*over, *wrong)]
    claimed, false = at_first[0] | at_first[1], at_first[2] | at_first[3]
    yield (
        "every ten at .05",
        (float(claimed.mean()), float((first + 1).mean()) * 10 / total, float(false.mean())),
    )


def pairs(replays: int) -> Iterator[Found]:
    for number, (kind, world, total, delta) in enumerate(PAIRS):
        drawn = WORLDS[world](np.random.default_rng([21, number]), (replays, total), delta, "good")
        span = 2.0 if world == "crag" else 1.0
        for row, (claimed, calls, false) in rules(drawn.judge / span, np.full(replays, delta)):
            limit = 1.0 if row == "every ten at .05" else FALSE
            yield Found(f"{kind}: {world} {total:,}, δ = {delta:g}: {row}", claimed, calls, false, limit)


def skewed(replays: int) -> Iterator[Found]:
    """Nothing to find in skewed differences: false in .055 at most, and 1.5 errors of simulation."""
    limit = 0.055 + 1.5 * float(np.sqrt(0.05 * 0.95 / replays))
    for number, (world, draw) in enumerate(NULLS.items()):
        for total in (50, 120, 200, 500):
            x = draw(np.random.default_rng([32, number, total]), (replays, total))
            for row, looks in (
                ("5 looks", 5),
                ("looks every ten", total // 10),
                ("at any time (e)", None),
            ):
                claimed, calls, _ = claims(x, np.zeros(replays), Rule(total, "kind", looks))
                yield Found(f"none: {world} {total}: {row}", claimed, calls, claimed, limit)


def even_sets(replays: int) -> Iterator[Found]:
    """Sets whose mean is exactly 0: of one half the other has the opposite, in any order."""
    for number, (world, total) in enumerate(
        (("binary", 100), ("binary", 500), ("crag", 200), ("ratio", 200))
    ):
        rng = np.random.default_rng([22, number])
        half = WORLDS[world](rng, (replays, total // 2), 0.1, "good").judge / (
            2.0 if world == "crag" else 1.0
        )
        x = rng.permuted(np.concatenate([half, -half], axis=1), axis=1)
        claimed, calls, _ = claims(x, np.zeros(replays), Rule(total, "set", None))
        yield Found(f"sets of mean 0: {world} {total}", claimed, calls, claimed, FALSE)


def margins(replays: int) -> Iterator[Found]:
    """True or false that two systems differ by less than .1."""
    replays = max(replays // 4, 50)
    for delta in (0.0, 0.1, 0.25):
        drawn = WORLDS["binary"](
            np.random.default_rng([23, int(100 * delta)]), (replays, 1000), delta, "perfect"
        )
        for row, looks in (("5 looks", 5), ("at any time", None)):
            found = [stopped(x, Rule(1000, "kind", looks, within=0.1)) for x in drawn.judge]
            words = [stop.word if stop else "" for stop in found]
            calls = float(np.mean([stop.questions / 1000 if stop else 1.0 for stop in found]))
            for word in ("within", "apart"):
                share = words.count(word) / replays
                is_false = delta >= 0.1 if word == "within" else delta <= 0.1
                yield Found(f"margin .1, true difference {delta:g}, {row}: {word}", share, calls,
                            share if is_false else 0.0, FALSE)  # fmt: skip


def fields(replays: int) -> Iterator[Found]:
    """The best of five, of 1,000 questions."""
    replays = max(replays * 3 // 10, 30)
    for number, (row, rates) in enumerate(FIELDS.items()):
        rng = np.random.default_rng([24, number])
        for claim in ("kind", "set"):
            named = wrong = calls = 0.0
            for _ in range(replays):
                ease = rng.normal(size=1000)
                level = (ease + rng.normal(size=(5, 1000))) / np.sqrt(2)
                right = (level > np.array([[NormalDist().inv_cdf(1 - rate)] for rate in rates])).astype(float)
                right = np.stack([said(rng, each, RATES["good"][0]) for each in right])
                race = best_of(right, Rule(1000, "set" if claim == "set" else "kind", None))
                sums = right.sum(axis=1)
                best = sums == sums.max() if claim == "set" else np.array(rates) == max(rates)
                gone = dict(race.dropped)
                last = max(gone.values(), default=0) if race.best is not None else 1000
                calls += sum(min(gone.get(one, last), 1000) for one in range(5)) / 5000
                named += race.best is not None
                # a best one that was dropped is a false claim; of equals in kind, any that is dropped
                wrong += any(best[one] and (best.sum() == 1 or claim == "kind" or not best[race.left[0]])
                             for one in gone)  # fmt: skip
            limit = 1.0 if row == "all equal" else FALSE
            yield Found(
                f"best of 5, {row}, {claim}", named / replays, calls / replays, wrong / replays, limit
            )


def failures(replays: int) -> Iterator[Found]:
    """One judgement in twenty fails, where there is no difference and where there is."""
    for delta in (0.0, 0.2):
        drawn = WORLDS["binary"](np.random.default_rng([25, int(100 * delta)]), (replays, 500), delta, "good")
        failed = np.random.default_rng(26).random((replays, 500)) < 0.05
        stops = [stopped(x, Rule(500, looks=None)) for x in np.where(failed, np.nan, drawn.judge)]
        words = [stop.word if stop else "" for stop in stops]
        calls = float(np.mean([stop.questions / 500 if stop else 1.0 for stop in stops]))
        false = words.count("lower") + (words.count("higher") if not delta else 0)
        claimed = 1 - words.count("") / replays
        yield Found(f"5 % failed, δ = {delta:g}: at any time", claimed, calls, false / replays, FALSE)


class Runs(NamedTuple):
    """By question: what two runs differ by, how many documents were judged to know it, of how many."""

    differences: Float
    judged: Float
    there: Float


def judged_runs(measure: rageval.Measure, luck: float) -> Runs:
    """Judge documents of 300 questions until it is known what two runs differ by."""
    rng = np.random.default_rng(30)
    truth = rng.choice([0] * 7 + [1, 2, 3], size=(300, 40))
    common = 0.7 * rng.random(truth.shape) + 0.1 * truth
    pools = {}
    for run, more in (("one", luck), ("other", 0.0)):
        order = np.argsort(-(common + 0.5 * rng.random(truth.shape) + more * truth), axis=1)[:, :10]
        pools[run] = {f"{q}": [f"{doc}" for doc in docs] for q, docs in enumerate(order.tolist())}

    def graded(docs: dict[str, list[str]]) -> dict[str, dict[str, int]]:
        return {q: {doc: int(truth[int(q), int(doc)]) for doc in found} for q, found in docs.items()}

    def differences(known: dict[str, dict[str, int]]) -> Float:
        grades = {q: {"0": found} for q, found in known.items()}
        one, other = (list(run_values(measure, docs, grades).values()) for docs in pools.values())
        return np.subtract(one, other)

    known: dict[str, dict[str, int]] = {q: {} for q in pools["one"]}
    while wanted := open_documents(measure, pools, {q: {"0": found} for q, found in known.items()}, 3):
        for q, found in graded(wanted).items():
            known[q] |= found
    there = graded({q: [*docs, *pools["other"][q]] for q, docs in pools["one"].items()})
    if np.abs(differences(known) - differences(there)).max() > 1e-12:
        raise SystemExit(f"{measure}: what was left out makes a difference")
    judged, all_ = (np.array([len(docs) for docs in found.values()]) for found in (known, there))
    return Runs(differences(known), judged, all_)


def documents(replays: int) -> Iterator[Found]:
    """Runs judged by document; without a difference every question is there with its opposite."""
    for name in ("p@10", "rr@10", "ndcg@10", "ap@10"):
        for kind, luck in (("none", 0.0), ("strong", 0.05)):
            x, judged, there = judged_runs(rageval.parse_measure(name), luck)
            if kind == "none":
                x, judged, there = np.concatenate([x, -x]), np.tile(judged, 2), np.tile(there, 2)
            chosen = np.random.default_rng([31, len(x)]).integers(len(x), size=(replays, 200))
            truth = np.full(replays, 0.0 if kind == "none" else x.mean())
            for row, looks in (("5 looks", 5), ("at any time", None)):
                rule = Rule(200, "kind", looks)
                claimed, _, false = claims(x[chosen], truth, rule)
                _, when = replayed(x[chosen], rule)
                asked = np.where(np.arange(200) < when[:, None], judged[chosen], 0).sum(axis=1)
                calls = float((asked / there[chosen].sum(axis=1)).mean())
                yield Found(f"documents, {kind}: {name}, {row}", claimed, calls, false, FALSE)


ROWS: dict[str, Callable[[int], Iterator[Found]]] = {
    "pairs": pairs, "skewed": skewed, "even_sets": even_sets, "margins": margins, "fields": fields,
    "failures": failures, "documents": documents,
}  # fmt: skip


def replayed_file(path: str, measure: str, orders: int) -> Iterator[Found]:
    """Every two systems of a file of judgements, in many orders of its questions; false against the file."""
    scores = {
        run: np.array(list(found.scores[0].by_query.values()))
        for run, found in rageval.evaluate_answers(measure, path, on_missing="skip").items()
    }
    low, high = rageval.parse_measure(measure).limits or (0.0, 1.0)
    for one, other in combinations(scores, 2):
        x = (scores[one] - scores[other]) / (high - low)
        x = x[~np.isnan(x)]
        many = np.random.default_rng(28).permuted(np.tile(x, (orders, 1)), axis=1)
        for row, (claimed, calls, false) in rules(many, np.full(orders, x.sum())):
            if row != "every ten at .05":
                yield Found(
                    f"{one} − {other} = {x.mean():+.3f} of {len(x)}: {row}", claimed, calls, false, FALSE
                )

    table = np.array(list(scores.values())) / (high - low)
    table = table[:, ~np.isnan(table).any(axis=0)]
    rng, total = np.random.default_rng(29), table.shape[1]
    best = np.isclose(table.sum(axis=1), table.sum(axis=1).max())
    for claim, row in (("kind", "at any time (e)"), ("set", "this very set (e)")):
        rule = Rule(total, "set" if claim == "set" else "kind", None)
        races = [best_of(table[:, rng.permutation(total)], rule) for _ in range(orders // 10)]
        wrong = [any(best[one] for one, _ in race.dropped) and best.sum() == 1 for race in races]
        ends = [dict(race.dropped) for race in races]
        calls = [
            sum(
                gone.get(one, max(gone.values()) if race.best is not None else total)
                for one in range(len(table))
            )
            for race, gone in zip(races, ends, strict=True)
        ]
        named = float(np.mean([race.best is not None for race in races]))
        shares = float(np.mean(calls)) / table.size
        yield Found(f"best of {len(table)}: {row}", named, shares, float(np.mean(wrong)), FALSE)


def drawn(path: str, replays: int) -> None:
    """Draw what share of the calls each rule makes, and how often it decides, by the true difference."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "rageval", "font.size": 9})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(7.2, 2.9), layout="constrained", sharey=True)
    deltas = np.linspace(0, 0.3, 13)
    for label, colour, claim, looks in (
        ("all 500, then a test", "#888888", "kind", 1),
        ("every ten questions", "#1f77b4", "kind", 500 // 10),
        ("anytime", "#d95f02", "kind", None),
        ("this set", "#1b9e77", "set", None),
    ):
        rows = [
            claims(
                WORLDS["binary"](np.random.default_rng([27, at]), (replays, 500), delta, "good").judge,
                np.full(replays, delta),
                Rule(500, "set" if claim == "set" else "kind", looks),
            )
            for at, delta in enumerate(deltas.tolist())
        ]
        for panel, place in zip(panels, (1, 0), strict=True):
            panel.plot(deltas, [row[place] for row in rows], color=colour, label=label, linewidth=1.6)
    for panel, title in zip(panels, ("calls made", "decided"), strict=True):
        panel.set(title=title, xlabel="true difference of two systems", ylim=(0, 1.04))
        panel.grid(alpha=0.25, linewidth=0.6)
    panels[0].set_ylabel("share")
    panels[1].legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    """Print the table, and tell whether every figure is within its limits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replays", type=int, default=1000)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--judged", metavar="FILE", help="replay every two systems of this file instead")
    parser.add_argument("-m", "--measure", default="crag_score", help="by this measure")
    parser.add_argument("--svg", metavar="FILE", help="draw the picture of the documentation instead")
    given = parser.parse_args()
    if given.svg:
        drawn(given.svg, given.replays)
        return 0
    if given.judged:
        found = list(replayed_file(given.judged, given.measure, given.replays))
    else:
        found = [each for name in given.rows or ROWS for each in ROWS[name](given.replays)]
    table = [(each.row, f"{each.claimed:.3f}", f"{each.calls:.2f}", f"{each.false:.3f}") for each in found]
    print(markdown(("", "claimed", "calls", "false"), table))
    beyond = [each for each in found if each.false > each.limit]
    for each in beyond:
        print(f"outside: {each.row}: false {each.false:.3f}, at most {each.limit}", file=sys.stderr)
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
