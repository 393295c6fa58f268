"""How often what people's labels let be said is false, simulated where the truth is known.

    python benchmarks/claims.py [--replays 1000] [--workers 2] [--peers FOLDER] [ROW…]

Intervals, tests, families, clusters, unequal draws, looks and plans of `rageval.statistics.correction` and
`.planning`, a row each, in the worlds of worlds.py, from fixed seeds, and what is said of runs and of queries
without labels; beside ppi_py and truescore, where they are installed (or in FOLDER: `pip install --target
FOLDER ppi-python truescore`). Ends with 1 when a figure is outside its limits. With 1,000 replays the error
of a figure is about .007. Takes eight minutes on two
cores, with the peers.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import contests
import significance
from rageval.statistics.agreement import agreement
from rageval.statistics.bootstrap import intervals as bootstrap_intervals
from rageval.statistics.correction import Corrected, Part, corrected, max_t
from rageval.statistics.looks import bound_at
from rageval.statistics.power import labels_needed, needed, needed_between, saving
from rageval.statistics.preferences import corrected_strengths
from rageval.statistics.significance import holm, sign_flip
from timing import markdown
from worlds import (
    JUDGES,
    NUGGETS,
    NULLS,
    RATES,
    SELDOM,
    WORLDS,
    Drawn,
    Float,
    binary,
    clustered,
    judge_values,
)

LABELS = (30, 50, 100, 200)
PLANNED = (
    ("binary", "good", 0.1),
    ("binary", "biased", 0.11),
    ("binary", "noisy", 0.12),
    ("crag", "good", 0.15),
    ("ratio", "good", 0.05),
)
QUERIES, DELTA = 1000, 0.08
Estimator = Callable[..., Corrected]


class Limits(NamedTuple):
    """Between what a cell must lie, and the mean of a row."""

    cell: tuple[float, float]
    row: tuple[float, float]


NONE = Limits((-math.inf, math.inf), (-math.inf, math.inf))
COVERAGE = Limits((0.925, 0.975), (0.93, 0.97))
FLOOR = Limits((0.94, 1.0), (0.94, 1.0))
PARTS = Limits((0.925, 1.0), (0.93, 0.99))
NEAR = Limits((0.9, 1.1), (0.9, 1.1))
SIMULTANEOUS = Limits((0.94, 1.0), (0.95, 1.0))
REPEATED = Limits((0.935, 1.0), (0.94, 1.0))
WRONG = Limits((0.0, 0.065), (0.0, 0.065))


class Figures(NamedTuple):
    """A row's figures by column: of each cell one."""

    row: str
    column: str
    values: list[float]
    limits: Limits = NONE


class Outcome(NamedTuple):
    """How often intervals held the truth and a difference was claimed, and how wide they were on average."""

    coverage: float
    claimed: float
    width: float


def outcome(corrections: Sequence[Corrected], truth: float | Float) -> Outcome:
    low, high, p = (
        np.array([getattr(correction, name) for correction in corrections]) for name in ("low", "high", "p")
    )
    return Outcome(
        float(((low <= truth) & (truth <= high)).mean()), float((p < 0.05).mean()), float((high - low).mean())
    )


def estimated(drawn: Drawn, labels: int, estimate: Estimator = corrected, **options: Any) -> list[Corrected]:
    """Each replay's first so many queries are labeled: all are drawn alike."""
    options = {"paired": True, "span": 0.0, **options}
    return [estimate(judge, list(enumerate(people[:labels].tolist())), **options)
            for people, judge in zip(*drawn[:2], strict=True)]  # fmt: skip


def simulated(
    name: str, judge: str, labels: int, replays: int, *, delta: float = DELTA, queries: int = QUERIES,
    estimate: Estimator = corrected, **options: Any,
) -> Outcome:  # fmt: skip
    """One cell: a world, a judge, so many labels."""
    worlds = WORLDS | SELDOM
    seed = [sorted(worlds).index(name), JUDGES.index(judge), labels, int(1000 * delta), queries]
    drawn = worlds[name](np.random.default_rng(seed), (replays, queries), delta, judge)
    truth = drawn.people.mean(axis=1) if options.get("population") == "set" else drawn.mean
    return outcome(estimated(drawn, labels, estimate, **options), truth)


def students(people: Float, truth: float) -> tuple[float, float]:
    """Coverage of Student's interval of labels alone, and its width."""
    from scipy.stats import t

    number = people.shape[1]
    half = t.ppf(0.975, number - 1) * people.std(axis=1, ddof=1) / math.sqrt(number)
    return float((np.abs(people.mean(axis=1) - truth) <= half).mean()), float(2 * half.mean())


def settled(figure: Callable[[int], float], replays: int, limits: Limits) -> float:
    """A cell; of many one or two lie outside by chance, and are drawn anew, four times as often."""
    value = figure(replays)
    return value if limits.cell[0] <= value <= limits.cell[1] else figure(4 * replays)


def everywhere(
    replays: int,
    labels: int,
    what: str,
    limits: Limits = NONE,
    judges: Sequence[str] = JUDGES,
    **options: Any,
) -> list[float]:
    """One figure in all the worlds, by all judges."""
    cells = [(world, judge) for world in WORLDS for judge in judges]

    def figure(world: str, judge: str, replays: int) -> float:
        return float(getattr(simulated(world, judge, labels, replays, **options), what))

    return [settled(partial(figure, *cell), replays, limits) for cell in cells]


def intervals(replays: int) -> Iterator[Figures]:
    for labels in LABELS:
        without = everywhere(replays, labels, "coverage", COVERAGE)
        yield Figures("95 % coverage, no floor", str(labels), without, COVERAGE)
        with_floor = everywhere(replays, labels, "coverage", span=1.0)
        yield Figures(
            "95 % coverage as claimed, with the floor", str(labels), with_floor, Limits((0.92, 1), (0.93, 1))
        )
        yield Figures("power at δ = .08", str(labels), everywhere(replays, labels, "claimed"))
    for queries in (400, 2000):
        some = everywhere(replays, 100, "coverage", COVERAGE, queries=queries)
        yield Figures(f"the same of {queries:,} queries", "100", some, COVERAGE)


def of_the_set(replays: int) -> Iterator[Figures]:
    """Without the perfect judge, of whom nothing is left to be known."""
    for labels in LABELS:
        values = everywhere(replays, labels, "coverage", COVERAGE, JUDGES[1:], population="set")
        yield Figures("coverage of the set's mean", str(labels), values, COVERAGE)


def no_difference(replays: int) -> Iterator[Figures]:
    for labels in LABELS:
        values = everywhere(replays, labels, "claimed", WRONG, delta=0.0)
        yield Figures("claims where there is no difference", str(labels), values, WRONG)


def widths(replays: int) -> Iterator[Figures]:
    for judge in JUDGES:
        widths_by_row = []
        for world in WORLDS:
            rng = np.random.default_rng([3, JUDGES.index(judge)])
            drawn = WORLDS[world](rng, (replays, QUERIES), DELTA, judge)
            widths_by_row.append(
                outcome(estimated(drawn, 100), drawn.mean).width / students(drawn.people[:, :100], 0)[1]
            )
        yield Figures(f"width against labels alone, 100 labels, {judge}", "100", widths_by_row)


def seldom(replays: int) -> Iterator[Figures]:
    cells = [("three", judge, delta) for judge in ("perfect", "good", "noisy") for delta in (0.0, 0.02)]
    cells += [("rare", judge, 0.0) for judge in ("perfect", "good", "noisy")]
    for labels in LABELS:
        for row, span, limits in (("with the floor", 1.0, FLOOR), ("without", 0.0, NONE)):
            coverages = [simulated(world, judge, labels, replays, delta=delta, span=span).coverage
                     for world, judge, delta in cells]  # fmt: skip
            yield Figures(f"systems that differ on 3 % or fewer, {row}", str(labels), coverages, limits)
        alone = []
        for world, judge, delta in cells:
            drawn = SELDOM[world](np.random.default_rng(labels), (replays, QUERIES), delta, judge)
            alone.append(students(drawn.people[:, :labels], delta)[0])
        yield Figures("systems that differ on 3 % or fewer, labels alone (t)", str(labels), alone)


def one_mean(replays: int) -> Iterator[Figures]:
    """A mean of .96 (and .6), not a difference."""
    for labels in LABELS:
        coverages = []
        for share in (0.96, 0.6):
            rng = np.random.default_rng([labels, int(share * 100)])
            people = (rng.random((replays, QUERIES)) < share).astype(float)
            drawn = Drawn(people, judge_values(rng, people, RATES["good"][0]), share)
            options: dict[str, Any] = {"paired": False, "span": 1.0, "within": (0, 1)}
            coverages.append(outcome(estimated(drawn, labels, **options), share).coverage)
        yield Figures(
            "coverage of one system's mean (.96, .6)", str(labels), coverages, Limits((0.925, 1), (0.93, 1))
        )


def families(replays: int) -> Iterator[Figures]:
    """Nine systems against one, none better, four of which the judge favours."""
    rng = np.random.default_rng(9)
    wrong = dict.fromkeys(("holm", "max_t", "judge"), 0)
    for _ in range(replays):
        z = rng.normal(size=QUERIES)
        truth = [((z + rng.normal(size=QUERIES)) > math.sqrt(2) * -0.2533).astype(float) for _ in range(10)]
        judge = [
            judge_values(rng, people, RATES["biased"][int(index > 4)]) for index, people in enumerate(truth)
        ]
        corrections = [
            corrected(judge[index] - judge[9], list(enumerate((truth[index] - truth[9])[:100])), paired=True)
            for index in range(9)
        ]
        wrong["holm"] += bool((holm(np.array([correction.p for correction in corrections])) < 0.05).any())
        wrong["max_t"] += min(max_t(corrections, draws=300)) < 0.05
        whole = [corrected(judge[index] - judge[9], list(enumerate(judge[index] - judge[9])), paired=True).p
                 for index in range(9)]  # fmt: skip
        wrong["judge"] += bool((holm(np.array(whole)) < 0.05).any())
    rates = {name: count / replays for name, count in wrong.items()}
    yield Figures("anything claimed of 9 equal systems, Holm", "100", [rates["holm"]], WRONG)
    yield Figures("anything claimed of 9 equal systems, max-T", "100", [rates["max_t"]], WRONG)
    yield Figures("anything claimed of 9 equal systems, by the judge alone (Holm)", "100", [rates["judge"]])


def in_clusters(replays: int, estimate: Estimator = corrected) -> Iterator[Figures]:
    shapes = ((100, 10), (200, 5), (50, 20))
    coverages: dict[str, list[float]] = {
        "scattered": [],
        "scattered, ignored": [],
        "whole": [],
        "whole, ignored": [],
    }
    for clusters, size in shapes:
        drawn, names = clustered(np.random.default_rng([clusters, size]), replays, clusters, size)
        orders = {"scattered": np.arange(clusters * size).reshape(clusters, size).T.ravel()[: 2 * clusters],
                  "whole": np.arange(clusters * size)[: 20 * size]}  # fmt: skip
        for way, places in orders.items():
            for row, options in ((way, {"clusters": names.tolist()}), (f"{way}, ignored", {})):
                estimates = [
                    estimate(
                        judge,
                        [(index, people[index]) for index in places.tolist()],
                        paired=True,
                        span=0,
                        **options,
                    )
                    for people, judge in zip(drawn.people, drawn.judge, strict=True)
                ]
                coverages[row].append(outcome(estimates, 0.0).coverage)
    for row, values in coverages.items():
        limits = NONE if "ignored" in row else Limits((0.925, 0.99), (0.93, 0.99))
        yield Figures(f"labels in clusters, {row}", "", values, limits)


def strengths(replays: int) -> Iterator[Figures]:
    """Four systems of which the judge favours the first; their errors on a query hang together."""
    for labels in (50, 100):
        rng, covered = np.random.default_rng([4, labels]), np.zeros(4)
        true = np.array([0.0, 0.4, -0.2, -0.2])
        for _ in range(replays):
            draw, pairs = rng.logistic(size=400), {}
            for one, other in combinations(range(4), 2):
                alone = np.where(rng.random(400) < 0.5, draw, rng.logistic(size=400))
                people = np.where(alone < true[one] - true[other], 0.5, -0.5)
                judge = np.where(rng.random(400) < 0.2, -people, people)
                judge = np.where((rng.random(400) < 0.4) & (one == 0), 0.5, judge)
                some = list(enumerate(people[:labels].tolist()))
                pairs[one, other] = corrected(judge, some, paired=True)
            fitted = corrected_strengths(pairs, 4)
            covered += [
                strength.low <= s <= strength.high for strength, s in zip(fitted, true.tolist(), strict=True)
            ]
        yield Figures(
            "coverage of strengths in the arena", str(labels), (covered / replays).tolist(), COVERAGE
        )


def unequal(replays: int) -> Iterator[Figures]:
    for labels in (50, 100, 200):
        coverages: dict[str, list[float]] = {"weighted": [], "as if drawn alike": []}
        for world in WORLDS:
            for judge in ("good", "biased"):
                seed = [labels, JUDGES.index(judge), list(WORLDS).index(world)]
                rng = np.random.default_rng(seed)
                drawn = WORLDS[world](rng, (replays, QUERIES), DELTA, judge)
                ends: dict[str, list[Corrected]] = {name: [] for name in coverages}
                for people, values in zip(*drawn[:2], strict=True):
                    weight = np.where(values != 0, 4.0, 1.0)
                    chance = np.minimum(labels * weight / weight.sum(), 1)
                    taken = np.flatnonzero(rng.random(QUERIES) < chance)
                    some = list(zip(taken.tolist(), people[taken].tolist(), strict=True))
                    ends["weighted"].append(corrected(values, some, paired=True, span=0, chosen=chance))
                    ends["as if drawn alike"].append(corrected(values, some, paired=True, span=0))
                for row, corrections in ends.items():
                    coverages[row].append(outcome(corrections, drawn.mean).coverage)
        for row, values in coverages.items():
            limits = COVERAGE if row == "weighted" else NONE
            yield Figures(
                f"4 × as many labels where the judge sees a difference, {row}", str(labels), values, limits
            )


def of_parts(replays: int) -> Iterator[Figures]:
    """People judged some nuggets of answers, a mean of .5 (common) or .05 (rare ones): how drawn, by row.

    Answers of four to twelve nuggets; in clusters three answers are alike.
    """
    for row, limits in (
        ("nuggets drawn", PARTS),
        ("answers drawn, then two nuggets of each", PARTS),
        ("answers drawn with unequal chances, a third of each", PARTS),
        ("answers in clusters, nuggets drawn", PARTS),
        ("answers in clusters, ignored", NONE),
        ("rare, nuggets drawn", FLOOR),
    ):
        for answers in (40, 120):
            cells = []
            for judge in ("good", "biased"):
                rng = np.random.default_rng([answers, JUDGES.index(judge), len(row)])
                parts = [of_part(rng, row, answers, judge) for _ in range(replays)]
                cells.append(outcome(parts, 0.05 if row.startswith("rare") else 0.5).coverage)
            yield Figures(f"labels of parts: {row}", f"{answers} answers", cells, limits)


def of_part(rng: np.random.Generator, row: str, answers: int, judge: str) -> Corrected:
    """The mean of one replay, corrected."""
    sizes = rng.integers(4, 13, answers)
    level = rng.random(answers if "clusters" not in row else answers // 3 + 1)
    level = np.repeat(level, 3)[:answers] if "clusters" in row else level
    if row.startswith("rare"):
        level = level / 10
    if "unequal" in row:
        chance = np.where(level > 0.5, 0.8, 0.4)  # as of a judge who is unsure of some
    elif row.startswith("answers drawn"):
        chance = np.full(answers, 0.6)
    else:
        chance = None
    full, people, parts = np.empty(answers), {}, {}
    for index, size in enumerate(sizes.tolist()):
        truth = (rng.random(size) < level[index]).astype(float)
        seen = judge_values(rng, truth, NUGGETS[judge][0])
        full[index] = seen.mean()
        if chance is None:
            drawn = rng.random(size) < 0.3
        else:
            number = 2 if "two" in row else round(size / 3)
            drawn = np.arange(size) < number * (rng.random() < chance[index])
        if drawn.any():
            people[index] = float(truth[drawn].mean())
            # Two of each whatever its size: then answers count alike, not by their share.
            share = 0.2 if "two" in row else float(drawn.mean())
            parts[index] = Part(float(seen[drawn].mean()), share)
    clusters = (np.arange(answers) // 3).tolist() if "clusters, nuggets" in row else None
    chances = chance if "unequal" in row else None
    how: dict[str, Any] = {"paired": False, "within": (0, 1), "chosen": chances, "clusters": clusters}
    return corrected(full, people, parts=parts, fewest=10, **how)


def looks(replays: int) -> Iterator[Figures]:
    """Up to 200 labels, looked at 19 times, from 20 on: a plan may be looked at whenever one likes."""
    sizes = range(20, 201, 10)
    bounds = [bound_at(size, 200) for size in sizes]
    skewed = [(name, draw) for name, draw in NULLS.items()]
    for delta in (0.0, 0.08, 0.15, 0.2):
        columns: dict[str, list[float]] = {
            name: [] for name in ("looks", "fixed", "at .05", "labels", "coverage")
        }
        worlds = [(judge, None) for judge in ("good", "biased")] + ([] if delta else skewed)
        for world, draw in worlds:
            seed = [4, int(100 * delta), len(world)]
            if draw is None:
                drawn = binary(np.random.default_rng(seed), (replays, QUERIES), delta, world)
            else:  # a judge who says what people say, but for noise
                people = draw(np.random.default_rng(seed), (replays, QUERIES))
                noise = np.random.default_rng([*seed, 1]).normal(0, people.std(), people.shape)
                drawn = Drawn(people, people + noise, 0.0)
            # The last look is none before all labels are there, and has the interval of these.
            at_each_look = [
                estimated(drawn, size, span=1.0, look=1 - max(bound, 1e-12) if size < 200 else None)
                for size, bound in zip(sizes, bounds, strict=True)
            ]
            ends = np.array(
                [[(correction.low, correction.high) for correction in at_look] for at_look in at_each_look]
            )
            covered = (ends[:, :, 0] <= drawn.mean) & (drawn.mean <= ends[:, :, 1])
            columns["coverage"].append(float(covered[:-1].all(axis=0).mean()))
            p = np.array([[correction.p for correction in at_look] for at_look in at_each_look])
            over = p < np.array(bounds)[:, None]
            stop = np.where(over.any(axis=0), over.argmax(axis=0), len(sizes) - 1)
            columns["looks"].append(float(over.any(axis=0).mean()))
            columns["fixed"].append(float((p[-1] < 0.05).mean()))
            columns["at .05"].append(float((p < 0.05).any(axis=0).mean()))
            columns["labels"].append(float(np.array(sizes)[stop].mean()))
        limits = NONE if delta else WRONG
        yield Figures("claimed at any of 19 looks", f"δ = {delta:g}", columns["looks"], limits)
        yield Figures("claimed from all 200 labels", f"δ = {delta:g}", columns["fixed"])
        yield Figures("claimed by looking each time at .05", f"δ = {delta:g}", columns["at .05"])
        yield Figures("mean labels of 200", f"δ = {delta:g}", columns["labels"])
        yield Figures(
            "intervals of 18 looks before the last, all hold",
            f"δ = {delta:g}",
            columns["coverage"],
            SIMULTANEOUS,
        )


def by_strong_judges(replays: int) -> Iterator[Figures]:
    """A strong judge in people's place, and a cheap one whose differences correlate .47 or .65 with its."""
    for labels in (50, 100, 200):
        coverages, wrong, cost = [], [], []
        for follows in (0.47, 0.65):
            for delta in (0.0, DELTA):
                rng = np.random.default_rng([labels, int(100 * follows), int(100 * delta)])
                strong = binary(rng, (replays, QUERIES), delta, "good").people
                other = binary(rng, (replays, QUERIES), delta, "good").people
                cheap = np.where(rng.random(strong.shape) < follows, strong, other)
                result = outcome(estimated(Drawn(strong, cheap, delta), labels, span=1.0), delta)
                coverages.append(result.coverage)
                if not delta:
                    wrong.append(result.claimed)
                expected = 1 - saving(0.0, follows)[0] * (1 - labels / QUERIES)
                cost.append((result.width / students(strong[:, :labels], delta)[1]) ** 2 / expected)
        yield Figures("a strong judge as gold, coverage", str(labels), coverages, COVERAGE)
        yield Figures("a strong judge as gold, claims without a difference", str(labels), wrong, WRONG)
        yield Figures("a strong judge as gold, variance against what is said", str(labels), cost, NEAR)


def plans(replays: int) -> Iterator[Figures]:
    """A plan from a pilot, and the width that the labels then give."""
    for pilot in (30, 50):
        met, plain = [], []
        for world, judge, width in PLANNED:
            seed = [pilot, JUDGES.index(judge), list(WORLDS).index(world)]
            drawn = WORLDS[world](np.random.default_rng(seed), (replays, QUERIES), DELTA, judge)
            reached = []
            for people, values in zip(*drawn[:2], strict=True):
                some = list(enumerate(people.tolist()))
                number = labels_needed(values, some[:pilot], width, paired=True, span=0)
                if number is not None:
                    then = corrected(values, some[:number], paired=True, span=0)
                    reached.append((then.high - then.low) / 2 <= 1.1 * width)
            met.append(float(np.mean(reached)))
            plain.append(len(reached) / replays)
        yield Figures(
            "plans that attain ≤ 1.1 of the width", f"pilot {pilot}", met, Limits((0.8, 1), (0.85, 1))
        )
        yield Figures("plans that are possible", f"pilot {pilot}", plain)


def where_they_differ(replays: int) -> Iterator[Figures]:
    """80 % the same answers: 100 labels among the others, against 100 anywhere."""
    ratio, coverages = [], []
    for judge in ("good", "noisy", "biased"):
        rng = np.random.default_rng([10, JUDGES.index(judge)])
        drawn = binary(rng, (replays, QUERIES), DELTA, judge)
        same = rng.random((replays, QUERIES)) < 0.8
        people, values = (np.where(same, 0.0, item) for item in drawn[:2])
        anywhere = estimated(Drawn(people, values, 0.0), 100)
        corrections = []
        for truth, judged, alike in zip(people, values, same, strict=True):
            differing = np.flatnonzero(~alike)[:100]
            some = list(zip(differing.tolist(), truth[differing].tolist(), strict=True))
            corrections.append(
                corrected(
                    judged, some, paired=True, span=0, same=np.flatnonzero(alike).tolist(), population="set"
                )
            )
        truths = people.mean(axis=1)
        coverages.append(outcome(corrections, truths).coverage)
        wide = np.array([item.value for item in anywhere]) - truths
        near = np.array([item.value for item in corrections]) - truths
        ratio.append(float((near**2).mean() / (wide**2).mean()))
    yield Figures("labels only where answers differ, coverage", "100", coverages, COVERAGE)
    yield Figures(
        "labels only where answers differ, variance against anywhere",
        "100",
        ratio,
        Limits((0, 0.3), (0, 0.25)),
    )


def lenient(replays: int) -> Iterator[Figures]:
    """Two equally good systems, a judge lenient to one of them: how many of 20 seeds give a winner."""
    seeds = [binary(np.random.default_rng(seed), (1, 200), 0.0, "biased") for seed in range(20)]
    claims = sum(correction.p < 0.05 for drawn in seeds for correction in estimated(drawn, 60, span=1.0))
    alone = [corrected(drawn.judge[0], list(enumerate(drawn.judge[0])), paired=True).p for drawn in seeds]
    yield Figures(
        "winners of 20 contests of equals, 60 labels of 200", "", [float(claims)], Limits((0, 1), (0, 1))
    )
    yield Figures(
        "winners of 20 contests of equals, by the judge alone", "", [float(np.sum(np.array(alone) < 0.05))]
    )


def of_runs(replays: int) -> Iterator[Figures]:
    """Ten runs, none better: alike, and eight of them near-copies (`significance.py` has more)."""
    for copies, others in ((0, 10), (8, 2)):
        for queries in (25, 100):
            name = "8 near-copies and 2" if copies else "10 alike"
            world = partial(significance.world, queries=queries, copies=copies, others=others)
            for way, rate in significance.errors(world, (queries, copies, others), replays).items():
                yield Figures(
                    f"anything claimed of 10 equal runs, {name}, {way}", f"{queries} queries", [rate], WRONG
                )


def of_values(replays: int) -> Iterator[Figures]:
    """Intervals of rare events, and verdicts in worlds of differences."""
    for values, queries, share, alone, printed, _ in significance.coverage(replays):
        row, column = f"{values} at {share}", f"{queries} queries"
        yield Figures(f"{row}: BCa alone", column, [float(alone)])
        yield Figures(f"{row}: as printed", column, [float(printed)], Limits((0.9, 1), (0.9, 1)))
    for world, queries, false, *_ in significance.verdicts(replays):
        yield Figures(f"false verdicts ({world})", f"{queries} queries", [float(false)])


def of_numbers(replays: int) -> Iterator[Figures]:
    """How many queries are needed (in truth 90), and how far two judges agree on ten queries."""
    rng = np.random.default_rng(90)
    needs, alone = [], []
    for drawn in rng.normal(0.3, 1, (replays, 50)):
        error = float(drawn.std(ddof=1)) / math.sqrt(50)
        half, mean = 2.0095752344892093 * error, float(drawn.mean())
        least, most = needed_between(mean - half, mean + half, error, 50)
        needs.append(least is not None and least <= 90 and (most is None or most >= 90))
        alone.append(needed(mean, error, 50) or 10**9)
    yield Figures(
        "needed, a range, holds the true 90",
        "50 queries",
        [float(np.mean(needs))],
        Limits((0.93, 0.99), (0.93, 0.99)),
    )
    for share in (0.05, 0.95):
        yield Figures(
            f"needed, a number, {share:.0%} of samples below",
            "50 queries",
            [float(np.quantile(alone, share))],
        )
    names, covered = [f"q{index // 12}" for index in range(120)], []
    for _ in range(replays):
        easy = np.repeat(rng.beta(6, 2, 10), 12)  # how often two judges agree differs by query
        same, one = rng.random(120) < easy, rng.integers(0, 2, 120).astype(float)
        kappa = agreement(one, np.where(same, one, 1 - one), names, resamples=500)[0]
        covered.append(kappa.low <= 0.75 <= kappa.high)
    yield Figures(
        "coverage of how far two judges agree",
        "10 queries",
        [float(np.mean(covered))],
        Limits((0.91, 0.98), (0.91, 0.98)),
    )


# Chances that a question's answers pass ~ Beta(a, b).
CHANCES = {
    "usual": (2.0, 1.0),
    "either": (0.3, 0.3),
    "seldom fails": (20.0, 1.0),
    "seldom passes": (0.3, 3.0),
}
ANSWERS, DRAWN = 5, 3  # answers to each question, and k of pass@k and pass^k


def of_repeats(replays: int) -> Iterator[Figures]:
    """Several answers to each question: intervals of pass@3 and pass^3, and how often equals differ."""
    from rageval.measures import pass_all, pass_any

    for name, measure in (("pass@3", pass_any @ DRAWN), ("pass^3", pass_all @ DRAWN)):
        over = measure.about.repeats
        assert over is not None
        value_of = np.array([over([1.0] * c + [0.0] * (ANSWERS - c), DRAWN) for c in range(ANSWERS + 1)])
        for questions in (25, 50, 100):
            covered, wrong = [], []
            for chances, (a, b) in CHANCES.items():
                rng = np.random.default_rng([questions, len(chances)])
                shape = questions, replays
                p = rng.beta(a, b, shape)
                values, others = (value_of[rng.binomial(ANSWERS, p)] for _ in range(2))
                low, high = bootstrap_intervals(significance.column(values), resamples=2000, seed=1)
                one, other = (b, a) if name == "pass@3" else (a, b)
                truth = math.prod((one + index) / (one + other + index) for index in range(DRAWN))
                truth = 1 - truth if name == "pass@3" else truth
                covered.append(float(((low <= truth) & (truth <= high)).mean()))
                pairs = np.stack((np.arange(replays), np.full(replays, replays)), axis=1)
                sums = np.column_stack((values - others, np.zeros(questions)))
                wrong.append(float((sign_flip(sums, pairs, 999).p <= 0.05).mean()))
            yield Figures(f"{name} of {ANSWERS} answers: coverage", str(questions), covered, REPEATED)
            yield Figures(f"{name} of {ANSWERS} answers: equal systems differ", str(questions), wrong, WRONG)


def of_commands(replays: int) -> Iterator[Figures]:
    """Contests of equal systems by every command, with people's labels and without."""
    outcomes: dict[str, list[float]] = {}
    contests_of = {"report": max(replays // 25, 1)}
    for kind, commands in contests.COMMANDS.items():
        for command in commands:
            for with_gold in (True, False):
                number = contests_of.get(command, max(replays // 10, 1)) // (1 if with_gold else 5) or 1
                outcomes.setdefault(f"{command}{'' if with_gold else ', by the judge alone'}", []).append(
                    _of_a_command(kind, command, number, with_gold)
                )
    for row, values in outcomes.items():
        defined = [value for value in values if not math.isnan(value)]
        limits = NONE if "alone" in row else Limits((0, 0.13), (0, 0.065))
        if defined:
            yield Figures(f"wrong of what equals are said to be: {row}", "40 of 120", defined, limits)


def _of_a_command(kind: str, command: str, number: int, with_gold: bool) -> float:
    wrong = of = 0
    for seed in range(number):
        with tempfile.TemporaryDirectory() as folder:
            asked = contests.asked(Path(folder), kind, command, seed, with_gold)
        if not asked.is_said:
            raise SystemExit(f"{command}, {kind}, seed {seed}: a claim does not say what it rests on")
        wrong, of = wrong + asked.wrong, of + asked.of
    return wrong / of if of else math.nan


def peers(replays: int) -> Iterator[Figures]:
    """The same cells by ppi_py and truescore: normal quantile, λ within 0 … 1, no floor."""
    ways: dict[str, Callable[[Float, Float, int], tuple[float, float]]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from ppi_py import ppi_mean_ci  # type: ignore[import-not-found]

            def by_ppi(people: Float, judge: Float, n: int) -> tuple[float, float]:
                low, high = ppi_mean_ci(people[:n], judge[:n], judge[n:], alpha=0.05)
                return float(np.squeeze(low)), float(np.squeeze(high))

            ways["ppi_py"] = by_ppi
        except ImportError as error:
            print(f"ppi_py is left out: {error}", file=sys.stderr)
        try:
            from truescore.correct import ppi_estimate  # type: ignore[import-not-found]

            def by_truescore(people: Float, judge: Float, n: int) -> tuple[float, float]:
                estimate = ppi_estimate(judge, people[:n], np.arange(n))
                return estimate.low, estimate.high

            ways["truescore"] = by_truescore
        except ImportError as error:
            print(f"truescore is left out: {error}", file=sys.stderr)
        for labels in LABELS if ways else ():
            for name, way in ways.items():
                usual = [
                    _peer(way, WORLDS, world, judge, labels, replays, DELTA)
                    for world in WORLDS
                    for judge in JUDGES
                ]
                yield Figures(f"95 % coverage, {name}", str(labels), usual)
                few = [
                    _peer(way, SELDOM, "three", judge, labels, replays, 0.02)
                    for judge in ("perfect", "good", "noisy")
                ]
                yield Figures(f"systems that differ on 3 % by .02, {name}", str(labels), few)


def _peer(way: Any, worlds: Any, world: str, judge: str, labels: int, replays: int, delta: float) -> float:
    seed = [sorted(WORLDS | SELDOM).index(world), JUDGES.index(judge), labels, int(1000 * delta), QUERIES]
    drawn = worlds[world](np.random.default_rng(seed), (replays, QUERIES), delta, judge)
    ends = np.array([way(people, values, labels) for people, values in zip(*drawn[:2], strict=True)])
    return float(((ends[:, 0] <= drawn.mean) & (drawn.mean <= ends[:, 1])).mean())


ROWS: dict[str, Callable[[int], Iterator[Figures]]] = {
    "intervals": intervals, "set": of_the_set, "none": no_difference, "widths": widths, "seldom": seldom,
    "means": one_mean, "families": families, "clusters": in_clusters, "unequal": unequal, "parts": of_parts,
    "looks": looks, "strong": by_strong_judges,
    "plans": plans, "differ": where_they_differ, "runs": of_runs, "values": of_values,
    "numbers": of_numbers, "commands": of_commands, "strengths": strengths, "lenient": lenient,
    "peers": peers, "repeats": of_repeats,
}  # fmt: skip


def run(name: str, replays: int, folder: str | None) -> list[Figures]:
    if folder:
        sys.path.append(folder)
    figures = list(ROWS[name](replays))
    print(f"{name} is done", file=sys.stderr)
    return figures


def is_within(figure: Figures) -> bool:
    mean = sum(figure.values) / len(figure.values)
    return (
        all(figure.limits.cell[0] <= value <= figure.limits.cell[1] for value in figure.values)
        and figure.limits.row[0] <= mean <= figure.limits.row[1]
    )


def shown(figure: Figures) -> tuple[str, ...]:
    places = 3 if max(figure.values) <= 1 else 0
    numbers = min(figure.values), max(figure.values), sum(figure.values) / len(figure.values)
    low, high, mean = (f"{number:.{places}f}" for number in numbers)
    spread = low if low == high else f"{low} – {high}"
    return (
        figure.row,
        figure.column,
        str(len(figure.values)),
        spread,
        mean,
        "" if is_within(figure) else "outside",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Simulate what people's labels let be said.")
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS])
    parser.add_argument("--replays", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--peers", help="where ppi_py and truescore are, if not installed")
    asked = parser.parse_args()
    with ProcessPoolExecutor(asked.workers) as pool:
        work = partial(run, replays=asked.replays, folder=asked.peers)
        figures = [figure for rows in pool.map(work, asked.rows or list(ROWS)) for figure in rows]
    order = list(dict.fromkeys(figure.row for figure in figures))
    figures.sort(key=lambda figure: order.index(figure.row))
    print(
        markdown(("", "labels", "cells", "least – most", "mean", ""), [shown(figure) for figure in figures])
    )
    print(f"\n{asked.replays:,} replays a cell.")
    return int(not all(map(is_within, figures)))


if __name__ == "__main__":
    sys.exit(main())
