"""How alike leaderboards rank the same runs: a judge's, or several judges', beside the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from rageval import hooks
from rageval.comparison.clusters import clusters_among
from rageval.comparison.estimates import estimate_means
from rageval.comparison.intervals import _has_interval, _sample, corrected_pair
from rageval.core.basis import Basis
from rageval.core.remark import Remark, Scope, joined_text, unique
from rageval.core.signature import split_version
from rageval.core.turn import CONVERSATION
from rageval.errors import InputError, MeasureError, MissingPackage, Place, UsageError
from rageval.files.scores import ALL, LeaderboardRow
from rageval.measures.base import HIGHER, LOWER
from rageval.measures.parsing import parse_measure
from rageval.scoring.scores import EXAMPLES, Scores
from rageval.statistics import LEVEL, SEED
from rageval.statistics.agreement import Agreement
from rageval.statistics.bootstrap import FEW, RESAMPLES, draws, ends_of
from rageval.statistics.rankings import (
    RBO_P,
    Nearer,
    corrected_rank_intervals,
    nearer,
    pearson,
    rank_intervals,
    rbo,
    spearman,
    tau_ap,
    tau_b,
    tau_gap,
)
from rageval.statistics.samples import SLACK, Float
from rageval.statistics.significance import holm
from rageval.table import Displayed, finite, or_none
from rageval.text import visible

CUTOFFS = (4, 10)
# What intervals of standings are made with, for whoever wants to make them again.
_UNITS = f"units:{CONVERSATION}"
_HOW = f"{LEVEL:.0%} from {RESAMPLES:,} resamples of {{}}, seed {SEED}"
_FEWEST_RUNS = 3
_RESAMPLES = 1000
_ROUNDED = 1e-3  # what means of rounded values may be off by
_Values = Mapping[str, Mapping[str, float]]  # run -> topic -> value
_Figure = Callable[[Float, Float], float]
_Rank = tuple[int | None, int | None, int | None]  # and between which it lies


@dataclass(frozen=True)
class LeaderboardAgreement(Displayed):
    """How alike a measure of the truth and one of the judge rank the runs that both have.

    `coefficients` have NaN for undefined values and missing interval ends; `remarks` say why. `topics` is how
    many topics the intervals are over, 0 without any.
    """

    _display = hooks.display_of_leaderboards

    truth: str
    judge: str
    runs: int
    topics: int
    coefficients: tuple[Agreement, ...]
    remarks: tuple[Remark, ...] = field(default=())

    def __getitem__(self, name: str) -> Agreement:
        return next(agreement for agreement in self.coefficients if agreement.name == name)

    def sentences(self) -> list[str]:
        """Return over how many topics intervals are, and the remarks."""
        sentences: list[str] = self._display(self).sentences()
        return sentences

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for a program; None for what is not defined."""
        numbers = {
            agreement.name: {name: or_none(getattr(agreement, name)) for name in ("value", "low", "high")}
            for agreement in self.coefficients
        }
        return {
            "truth": self.truth,
            "judge": self.judge,
            "runs": self.runs,
            "topics": self.topics,
            "coefficients": numbers,
            "remarks": [remark.as_record() for remark in self.remarks],
        }


def compare_leaderboards(
    truth: Iterable[LeaderboardRow],
    judge: Iterable[LeaderboardRow],
    measures: Collection[str] = (),
    at: Sequence[int] = CUTOFFS,
) -> list[LeaderboardAgreement]:
    """Say how alike two leaderboards rank the runs that both have, for each pair of measures.

    Parameters
    ----------
    truth, judge
        Rows of `rageval.files.scores.read_leaderboard`.
    measures
        Only pairs in which one of these occurs. Without: measures that both have, each with itself; if there
        are none, each of one with each of the other.
    at
        For each k also τ_b on the k runs that are best by the truth, where there are more than k.

    Returns
    -------
    list of LeaderboardAgreement
        Kendall's τ_b, Spearman's ρ, Pearson's correlation, τ_AP with either as the truth and their mean,
        τ_GAP, τ@k, and RBO; with intervals where both have the values of topics.

    Examples
    --------
    >>> board = [LeaderboardRow(run, "all", "ndcg", value) for run, value in zip("abc", (0.3, 0.2, 0.1))]
    >>> compare_leaderboards(board, board)[0]["tau_b"].value
    1.0
    """
    truth_values, judge_values = _values_by_measure(truth), _values_by_measure(judge)
    pairs = _measure_pairs(truth_values, judge_values, measures)
    return [_compare_boards(one, truth_values[one], other, judge_values[other], at) for one, other in pairs]


class JudgePair(NamedTuple):
    """Two judges, and which of them ranks the runs more like the truth, by `tau_b`.

    `difference` is `one` minus `other`, with a 95 % interval; `p` is adjusted by Holm's method over the
    pairs. NaN for unknown values; `nearer` is empty where no difference is shown.
    """

    one: str
    other: str
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    topics: int
    nearer: str


@dataclass(frozen=True)
class JudgesComparison(Displayed):
    """Several judges beside one measure of the truth, on the runs that all of them have."""

    _display = hooks.display_of_judges

    truth: str
    runs: int
    judges: Mapping[str, LeaderboardAgreement]
    pairs: tuple[JudgePair, ...]
    remarks: tuple[Remark, ...] = ()

    def sentences(self) -> list[str]:
        """Return what was tested, and the remarks."""
        sentences: list[str] = self._display(self).sentences()
        return sentences

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for a program; None for what is not defined."""
        return {
            "truth": self.truth,
            "runs": self.runs,
            "judges": {name: agreement.as_dict() for name, agreement in self.judges.items()},
            "pairs": [finite(pair._asdict()) for pair in self.pairs],
            "remarks": [remark.as_record() for remark in self.remarks],
        }


def compare_judges(
    truth: Iterable[LeaderboardRow],
    judges: Mapping[str, Iterable[LeaderboardRow]],
    measures: Collection[str] = (),
    at: Sequence[int] = CUTOFFS,
) -> list[JudgesComparison]:
    """Say how alike several judges and the truth rank the runs that all have, and which judge is nearer.

    Parameters
    ----------
    truth
        Rows of `rageval.files.scores.read_leaderboard`.
    judges
        The rows of each judge, by its name.
    measures, at
        As of `compare_leaderboards`.

    Returns
    -------
    list of JudgesBeside
        For each measure of the truth the coefficients of every judge, and for each pair of judges a test of
        the difference of their τ_b, bootstrapped over topics (`rageval.statistics.rankings.nearer`).

    Examples
    --------
    >>> board = [LeaderboardRow(run, "all", "ndcg", value) for run, value in zip("abc", (0.3, 0.2, 0.1))]
    >>> reversed_board = [row._replace(value=-row.value) for row in board]
    >>> comparison = compare_judges(board, {"A": board, "B": reversed_board})[0]
    >>> comparison.judges["A"]["tau_b"].value, comparison.judges["B"]["tau_b"].value
    (1.0, -1.0)
    """
    truth_values = _values_by_measure(truth)
    boards = {name: _values_by_measure(rows) for name, rows in judges.items()}
    judges_by_measure: dict[str, dict[str, tuple[str, _Values]]] = {}
    for name, board in boards.items():
        pairs = _measure_pairs(truth_values, board, measures)
        repeated = {one for one, _ in pairs if sum(one == measure for measure, _ in pairs) > 1}
        for one, other in pairs:
            # A judge with several measures beside one of the truth is a judge by each of them.
            called = f"{name} {other}" if one in repeated else name
            judges_by_measure.setdefault(one, {})[called] = other, board[other]
    return [_compare_on_shared_runs(one, truth_values[one], of, at) for one, of in judges_by_measure.items()]


def _compare_on_shared_runs(
    one: str, truth: _Values, judges: Mapping[str, tuple[str, _Values]], cutoffs: Sequence[int]
) -> JudgesComparison:
    """Compare the judges on the runs that all have, so that their coefficients are of the same runs."""
    shared = set.intersection(set(truth), *(set(values) for _, values in judges.values()))
    remarks = []
    for name, values in (("the truth", truth), *((judge, of) for judge, (_, of) in judges.items())):
        if lost := sorted(values.keys() - shared):
            remarks.append(Remark("not_in_all_others", facts={"board": name, **_number_and_examples(lost)}))
    kept = {run: truth[run] for run in truth if run in shared}
    boards = {name: {run: of[run] for run in kept} for name, (_, of) in judges.items()}
    agreements = {
        name: _compare_boards(one, kept, other, boards[name], cutoffs, what=visible(name))
        for name, (other, _) in judges.items()
    }
    for name, agreement in agreements.items():
        # Without intervals in this table, what is said of them would be of nothing.
        own = (remark for remark in agreement.remarks if remark.code not in _OF_INTERVALS)
        remarks += [replace(remark, about=replace(remark.about, systems=(name,))) for remark in own]
    signed = {name: -1.0 if is_lower_better(other) else 1.0 for name, (other, _) in judges.items()}
    sign = -1.0 if is_lower_better(one) else 1.0
    pairs = []
    for first, second in combinations(judges, 2):
        sides = {"truth": kept, first: boards[first], second: boards[second]}
        about = Scope((first, second))
        reasons: list[Remark] = []
        runs = sorted(kept)
        means = [_run_means(values, runs, name, []) for name, values in sides.items()]
        topics, tables = _topic_tables(sides, runs, means, reasons, is_of_test=True)
        remarks += [replace(reason, about=about) for reason in reasons]
        tested = Nearer(agreements[first]["tau_b"].value - agreements[second]["tau_b"].value)
        if topics:
            tested = nearer(sign * tables[0], signed[first] * tables[1], signed[second] * tables[2])
            if tested.p != tested.p:
                remarks.append(Remark("one_difference_of_samples", about))
        pairs.append((first, second, tested, topics))
    adjusted = holm(np.array([tested.p for *_, tested, _ in pairs])).tolist()
    rows = []
    for (first, second, tested, topics), p in zip(pairs, adjusted, strict=True):
        better = (first if tested.difference > 0 else second) if p < 1 - LEVEL else ""
        rows.append(JudgePair(first, second, *tested, p, topics, better))
    return JudgesComparison(one, len(kept), agreements, tuple(rows), tuple(unique(remarks)))


class Standing(NamedTuple):
    """Where a run stands by a measure: its value and its rank (1: the best), each with its 95 % interval.

    NaN and None stand for unknown values: a measure without a better direction gives no ranks, nor does a
    value where no other run has one (`why`). Human labels correct all values, with NaN and None where there
    are too few (`why`); `judged` is then the judge's value, and `corrected_from` its basis. It is a line of a
    file, so that bases and reasons are written as texts.
    """

    measure: str
    run: str
    value: float
    low: float
    high: float
    queries: int
    undefined: int
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    signature: str
    basis: str
    judged: float | None = None
    labels: int | None = None
    corrected_from: str = ""
    why: str = ""
    drawn: str = ""

    @property
    def claim_basis(self) -> Basis:
        """The basis of the value."""
        return Basis.parse(self.basis, self.corrected_from, self.drawn)


def intervals_of_standings(rows: Iterable[Standing]) -> str:
    """Return what the intervals of standings are made with: resamples of topics, or of conversations."""
    units = {_UNITS in row.signature.split("|") for row in rows}
    return _HOW.format("conversations" if True in units else "topics")


def standings(results: Sequence[Scores]) -> list[Standing]:
    """Return the values and ranks of runs, the best first by each measure.

    Intervals of values and ranks are bootstrapped over topics, or over the conversations that these are turns
    of, from the same resamples for all runs. With human labels they are those of the corrected means and
    their differences. Runs with the same value share the better rank.
    """
    return [row for number in range(len(results[0].scores)) for row in _standings(results, number)]


def _standings(results: Sequence[Scores], number: int) -> list[Standing]:
    names, scores = [result.run for result in results], [result.scores[number] for result in results]
    sign = {HIGHER: 1.0, LOWER: -1.0}.get(str(scores[0].measure.better))
    estimates, units = estimate_means(scores), clusters_among(scores)
    ranks: list[_Rank] = [(None, None, None)] * len(scores)
    if sign is not None:
        values = sign * np.array([estimate.value for estimate in estimates])
        if any(estimate.is_corrected for estimate in estimates):
            differences = {}
            for first, second in combinations(range(len(scores)), 2):
                pair = corrected_pair(scores[first], scores[second], (names[first], names[second]), None)
                if pair.estimate is not None:
                    # By name, as two pairs may have other queries.
                    differences[first, second] = replace(pair.estimate, units=pair.queries)
            ranks = _rank_with_intervals(values, *corrected_rank_intervals(len(scores), differences, sign))
        elif _has_interval(scores[0].measure):
            columns = _sample(scores, units)
            least, most = rank_intervals(replace(columns, values=sign * columns.values))
            ranks = _rank_with_intervals(values, least.tolist(), most.tolist())
    # A rank says how many are better: of a single value beside runs without one it says nothing.
    is_alone = len(scores) > 1 and sum(estimate.is_defined for estimate in estimates) == 1
    if is_alone and sign is not None:
        ranks = [(None, None, None)] * len(scores)
        no_rank = Remark("no_other_value", facts={"number": len(scores) - 1})
        estimates = [
            replace(estimate, reasons=(*estimate.reasons, no_rank)) if estimate.is_defined else estimate
            for estimate in estimates
        ]
    rows = [
        Standing(
            str(score.measure),
            name,
            estimate.value,
            estimate.low,
            estimate.high,
            estimate.queries,
            estimate.undefined,
            *rank,
            _signature(score.signature, units),
            str(estimate.basis),
            judged=estimate.judged,
            labels=estimate.labels,
            corrected_from=str(estimate.basis.source),
            why=joined_text(estimate.reasons),
            drawn=estimate.basis.texts["drawn"],
        )
        for name, score, estimate, rank in zip(names, scores, estimates, ranks, strict=True)
    ]
    return sorted(
        rows, key=lambda row: (_or_infinity(row.rank), -(sign or 1.0) * _or_infinity(row.value), row.run)
    )


def _signature(signature: str, units: Mapping[str, str] | None) -> str:
    """Return the signature of a value with what its interval is over, where that is not topics."""
    rules, version = split_version(signature)
    return signature if units is None else f"{rules}|{_UNITS}{version}"


def _rank_with_intervals(values: Float, least: Sequence[int], most: Sequence[int]) -> list[_Rank]:
    """Return the rank of each value with its interval, the highest first; none where there is no value."""
    ranks = [1 + int((values > value).sum()) for value in values]
    # Means and differences that labels correct are estimates of their own, and may order two runs otherwise.
    return [
        (rank, min(rank, first), max(rank, last)) if value == value else (None, None, None)
        for rank, value, first, last in zip(ranks, values, least, most, strict=True)
    ]


def _or_infinity(number: float | None) -> float:
    return math.inf if number is None or number != number else number


def _values_by_measure(rows: Iterable[LeaderboardRow]) -> dict[str, dict[str, dict[str, float]]]:
    values: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        values.setdefault(row.measure, {}).setdefault(row.run_id, {})[row.query_id] = row.value
    return values


def _measure_pairs(
    truth: Mapping[str, Any], judge: Mapping[str, Any], measures: Collection[str]
) -> list[tuple[str, str]]:
    lost = [name for name in measures if name not in truth and name not in judge]
    if lost:
        there = ", ".join(visible(name) for name in dict.fromkeys([*truth, *judge]))
        raise UsageError(f"{visible(lost[0])}: is in neither leaderboard; expected one of {there}")
    shared = [(name, name) for name in truth if name in judge]
    every = [(one, other) for one in truth for other in judge]
    if measures:
        chosen = [pair for pair in shared if pair[0] in measures]
        return chosen or [pair for pair in every if set(pair) & set(measures)]
    return shared or every


def _compare_boards(
    one: str, truth: _Values, other: str, judge: _Values, cutoffs: Sequence[int], what: str = ""
) -> LeaderboardAgreement:
    runs = sorted(truth.keys() & judge.keys())
    name = visible(one) if one == other else f"{visible(one)} and {visible(other)}"
    name = f"{what}: {name}" if what else name
    if len(runs) < _FEWEST_RUNS:
        raise InputError(
            at=Place(name),
            problem=f"{len(runs)} runs are in both leaderboards",
            expected=f"{_FEWEST_RUNS} or more",
            remedy="check that both use the same run names",
        )
    remarks = []
    for which, mine, others in (("truth", truth, judge), ("judge", judge, truth)):
        lost = sorted(mine.keys() - others.keys())
        if lost:
            remarks.append(Remark("only_in_board", facts={"board": which, **_number_and_examples(lost)}))
    signs = [-1.0 if is_lower_better(measure) else 1.0 for measure in (one, other)]
    remarks += [
        Remark("lower_is_better", Scope(measure=measure))
        for measure in dict.fromkeys((one, other))
        if is_lower_better(measure)
    ]
    sides = [
        sign * _run_means(values, runs, which, remarks)
        for sign, values, which in zip(signs, (truth, judge), ("truth", "judge"), strict=True)
    ]
    defined = ~(np.isnan(sides[0]) | np.isnan(sides[1]))
    if int(defined.sum()) < _FEWEST_RUNS:
        raise InputError(
            at=Place(name),
            problem=f"{int(defined.sum())} runs have a value in both",
            expected=f"{_FEWEST_RUNS}",
        )
    if not defined.all():
        lacking = np.array(runs)[~defined].tolist()
        remarks.append(Remark("runs_without_value", facts=_number_and_examples(lacking)))
        runs = np.array(runs)[defined].tolist()
        sides = [side[defined] for side in sides]
    remarks += _tie_remarks(runs, sides, cutoffs)
    figures = _coefficient_functions(runs, cutoffs)
    values = {figure: of(*sides) for figure, of in figures.items()}
    topics, tables = _topic_tables(
        {"truth": truth, "judge": judge},
        runs,
        [sign * side for sign, side in zip(signs, sides, strict=True)],
        remarks,
    )
    tables = [sign * table for sign, table in zip(signs, tables, strict=False)]
    ends = _bootstrap_intervals(tables, figures, values, remarks) if topics else {}
    nothing = (math.nan, math.nan)
    agreements = tuple(
        Agreement(figure, value, *ends.get(figure, nothing)) for figure, value in values.items()
    )
    return LeaderboardAgreement(one, other, len(runs), topics, agreements, tuple(remarks))


def is_lower_better(measure: str) -> bool:
    """Return whether this is a measure of ours of which less is better; others are taken for the contrary."""
    try:
        return parse_measure(measure).better == "lower"
    except (MeasureError, MissingPackage):
        return False


def _number_and_examples(names: Sequence[str]) -> dict[str, Any]:
    return {"number": len(names), "examples": list(names[:EXAMPLES])}


def _run_means(values: _Values, runs: Sequence[str], which: str, remarks: list[Remark]) -> Float:
    """Return what each run has for all topics; where no row says it, the mean of its topics."""
    computed = [run for run in runs if ALL not in values[run]]
    if computed:
        facts = {
            "board": which,
            "row": ALL,
            **_number_and_examples([] if len(computed) == len(runs) else computed),
        }
        remarks.append(Remark("means_of_topics", facts=facts))
    return np.array([values[run].get(ALL, _mean_of_topics(values[run])) for run in runs], np.float64)


def _mean_of_topics(values: Mapping[str, float]) -> float:
    defined = [value for topic, value in values.items() if topic != ALL and value == value]
    return math.fsum(defined) / len(defined) if defined else math.nan


def _tie_remarks(runs: Sequence[str], sides: Sequence[Float], cutoffs: Sequence[int]) -> Iterator[Remark]:
    for side, which in zip(sides, ("truth", "judge"), strict=True):
        number = len(side) - len(set(side.tolist()))
        if number == len(side) - 1:
            yield Remark("constant_board", facts={"board": which})
        elif number:
            equal = [run for run, value in zip(runs, side, strict=True) if (side == value).sum() > 1]
            yield Remark("equal_runs", facts={"board": which, **_number_and_examples(equal)})
    ordered = sorted(sides[0].tolist(), reverse=True)
    for k in cutoffs:
        if k < len(runs) and ordered[k - 1] == ordered[k]:
            yield Remark("equal_at_place", facts={"place": k})


def _run_order(runs: Sequence[str], scores: Float) -> list[int]:
    """Return the places of the runs, the best first, equal ones by name (`runs` are in that order)."""
    return sorted(range(len(runs)), key=lambda index: -scores[index])


def _coefficient_functions(runs: Sequence[str], cutoffs: Sequence[int]) -> dict[str, _Figure]:
    """Return every coefficient, as a function of the scores of the truth and of the judge."""

    def overlap(truth: Float, judge: Float) -> float:
        if any((side == side[0]).all() for side in (truth, judge)):
            return math.nan
        ranked, other = ([runs[place] for place in _run_order(runs, side)] for side in (truth, judge))
        return rbo(ranked, other)

    def of_best(k: int) -> _Figure:
        def tau_of_best(truth: Float, judge: Float) -> float:
            best = _run_order(runs, truth)[:k]
            return tau_b(truth[best], judge[best])

        return tau_of_best

    return {
        "tau_b": tau_b,
        "rho": spearman,
        "pearson": pearson,
        "tau_ap": tau_ap,
        "tau_ap of the judge": lambda truth, judge: tau_ap(judge, truth),
        "tau_ap mean": lambda truth, judge: (tau_ap(truth, judge) + tau_ap(judge, truth)) / 2,
        "tau_gap": tau_gap,
        **{f"tau_b@{k}": of_best(k) for k in sorted(set(cutoffs)) if _FEWEST_RUNS <= k < len(runs)},
        f"rbo(p={RBO_P})": overlap,
    }


def _topic_tables(
    boards: Mapping[str, _Values],
    runs: Sequence[str],
    sides: Sequence[Float],
    remarks: list[Remark],
    *,
    is_of_test: bool = False,
) -> tuple[int, list[Float]]:
    """Return tables of the topics (rows) that all runs have on all sides; none with a remark that says why.

    `boards` are by what they are called, and `sides` what each says of all topics. Without topics there is no
    test (`is_of_test`), or there are no intervals.
    """
    topics = [set.intersection(*(set(board[run]) - {ALL} for run in runs)) for board in boards.values()]
    shared = sorted(set.intersection(*topics))
    counts = {"is_of_test": is_of_test, "boards": len(boards)}
    lacking = [name for name, there in zip(boards, topics, strict=True) if not there]
    if len(lacking) == len(boards):
        remarks.append(Remark("no_topics", facts=counts))
        return 0, []
    if lacking:
        remarks.append(Remark("board_without_topics", facts={"board": lacking[0], "is_of_test": is_of_test}))
        return 0, []
    if len(shared) < FEW:
        remarks.append(Remark("few_topics", facts={**counts, "number": len(shared), "needed": FEW}))
        return 0, []
    tables = [
        np.array([[board[run][topic] for run in runs] for topic in shared]) for board in boards.values()
    ]
    if any(np.isnan(table).any() for table in tables):
        remarks.append(Remark("topics_without_value", facts={"is_of_test": is_of_test}))
        return 0, []
    for (which, board), side in zip(boards.items(), sides, strict=True):
        means = np.array([_mean_of_topics(board[run]) for run in runs])
        if not np.allclose(means, side, rtol=_ROUNDED, atol=_ROUNDED):
            facts = {"board": which, "row": ALL, "is_of_test": is_of_test}
            remarks.append(Remark("not_mean_of_topics", facts=facts))
            return 0, []
    if len(shared) < max(map(len, topics)):
        totals = list(map(len, topics))
        remarks.append(Remark("shared_topics", facts={**counts, "number": len(shared), "totals": totals}))
    return len(shared), tables


# What is said of intervals.
_OF_INTERVALS = {
    "no_topics",
    "board_without_topics",
    "few_topics",
    "topics_without_value",
    "not_mean_of_topics",
    "shared_topics",
    "intervals_of_topics",
    "equal_boards",
    "no_interval",
}


def _bootstrap_intervals(
    tables: Sequence[Float],
    figures: Mapping[str, _Figure],
    values: Mapping[str, float],
    remarks: list[Remark],
) -> dict[str, tuple[float, float]]:
    """Return bootstrap intervals over topics, the same topics drawn for both leaderboards.

    They are of what a coefficient is on average over samples of as many topics. A resample scatters around
    what was seen, so rankings mostly agree less in it: the interval holds its quantiles as they are, and
    moved by as much as its mean is off. Where every sample gives the same there is none, as `remarks` say.
    """
    number = len(tables[0])
    remarks.append(Remark("intervals_of_topics", facts={"number": number}))
    if np.array_equal(tables[0], tables[1]):
        remarks.append(Remark("equal_boards"))
    same = []
    samples = [[table[rows].mean(axis=0) for table in tables] for rows in draws(number, _RESAMPLES, SEED)]
    intervals = {}
    for name, figure in figures.items():
        resampled = np.array([figure(*sample) for sample in samples])
        resampled = resampled[~np.isnan(resampled)]
        # If half of the samples have no value, those that have are no fair sample.
        if len(resampled) > _RESAMPLES / 2:
            first, last = map(float, ends_of(resampled, LEVEL, number))
            off = values[name] - float(resampled.mean())
            least = 0.0 if name.startswith("rbo") else -1.0
            intervals[name] = (max(min(first, first + off), least), min(max(last, last + off), 1.0))
            if intervals[name][1] - intervals[name][0] <= SLACK and not np.array_equal(tables[0], tables[1]):
                del intervals[name]
                same.append(name)
    if same:
        remarks.append(Remark("no_interval", facts={"names": same}))
    return intervals
