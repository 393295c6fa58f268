"""Ship, block, or say that it is not known: a candidate beside a baseline, question by question.

With d the mean difference over the questions of both, low and high its one-sided bounds (both as `compare`
has them, at twice the risk), and m the margin, all turned so that more is better:
    ship           low > −m
    block          high < 0 and d < −m; or, if so asked, high < −m (beyond-margin)
    inconclusive   everything else
Of several measures all have to ship, which needs no correction (intersection and union), and any blocks after
Holm over measures and slices. Slices can only block. What was not compared is said, and never passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rageval.comparison._corrected import check_gold, corrected_pairs, is_corrected
from rageval.comparison._pairs import KnownOfRuns, pairs_of, tables
from rageval.comparison._verdicts import SLACK, failures
from rageval.comparison.comparing import why_not
from rageval.comparison.gate_results import (
    ALLOW,
    BEYOND,
    BLOCK,
    INCONCLUSIVE,
    INFORMS,
    SHIP,
    WORSE,
    Decision,
    Fallen,
    GateReport,
    GateSettings,
    GateSide,
)
from rageval.comparison.intervals import FEW
from rageval.comparison.results import IDENTICAL, Pair
from rageval.errors import InputError, MeasureError, MissingJudgements, UsageError
from rageval.files.baselines import BaselineHeader
from rageval.measures.base import LOWER, NEITHER
from rageval.scoring.scores import BY_THIS_JUDGE, Score, Scores
from rageval.statistics.power import needed
from rageval.statistics.significance import holm
from rageval.text import visible

_LEAST_COMPARED = 0.9  # of the baseline's questions
_MOST_MISSING = 0.02  # of the questions
_MOST_UNSEEN = 0.1  # questions of which nothing retrieved is judged
_HOLES, _HOLES_APART = 0.2, 0.05  # of the top documents, and between two runs
_SHOWN = 5  # questions that fell most
_ALONE = "candidate", "baseline"


def gate(
    candidate: GateSide,
    baseline: GateSide,
    settings: GateSettings,
    slices: Mapping[str, Mapping[str, str]] | None = None,
) -> GateReport:
    """Say whether a candidate may pass.

    `slices` are groups of questions, {field: {question: value}}. `InputError` where the two cannot be held
    against one another, `MissingJudgements` where too many of the candidate's failed.
    """
    _check_measures(candidate, settings)
    _check_alike(candidate.header, baseline.header, settings)
    common = _Common(candidate, baseline)
    common.check()
    _check_labels(common)
    parts = list(_parts(common.queries, slices or {}))
    found = _decided(common, parts, settings)
    found = [_capped(each, common, settings) for each in found]
    floors = list(_floors(candidate.scores, settings.fail_under))
    return GateReport(
        _overall(found, floors),
        found,
        _fallen(common),
        common.counts,
        [*_said(common, found, settings)],
        floors,
        candidate.scores.run,
        f"baseline of {baseline.header.date}" if baseline.header.date else baseline.scores.run,
        settings.signed(bool(slices)) + (f"|gold:{candidate.header.gold}" if candidate.header.gold else ""),
        candidate.header.measures,
    )


def _overall(found: Sequence[Decision], floors: Sequence[str]) -> str:
    """Ship needs every measure; anything blocks."""
    # A slice can block, but only measures over all questions can ship.
    if floors or any(each.verdict == BLOCK for each in found):
        return BLOCK
    return SHIP if all(each.verdict == SHIP for each in found if not each.field) else INCONCLUSIVE


# --- what can be held against one another


def _check_measures(candidate: GateSide, settings: GateSettings) -> None:
    names = [str(score.measure) for score in candidate.scores.scores]
    for score in candidate.scores.scores:
        if why := why_not(score):
            raise MeasureError(f"{score.measure} {why}; leave it out")
        if score.measure.better == NEITHER:
            raise UsageError(f"{score.measure}: neither high nor low is good, so nothing can be gated by it")
    for name in settings.fail_under:
        if name not in names:
            raise UsageError(
                f"--fail-under {visible(name)}: is not gated; expected one of {', '.join(names)}"
            )


def _check_alike(ours: BaselineHeader, theirs: BaselineHeader, settings: GateSettings) -> None:
    """Refuse a baseline that was made otherwise."""
    # The baseline may have more: measures that are no longer gated.
    lacking = [name for name in ours.measures if name not in theirs.measures]
    if lacking:
        raise InputError(
            f"the baseline knows nothing of {', '.join(map(visible, lacking))}; it has"
            f" {', '.join(map(visible, theirs.measures))}: save it again, with all measures"
        )
    for name, signature in ours.measures.items():
        if _rules_in(signature) != _rules_in(theirs.measures[name]):
            raise InputError(
                f"{name}: the baseline was scored by other rules: {visible(theirs.measures[name])}; the"
                f" candidate by {signature}; save the baseline again"
            )
    if ours.judgements != theirs.judgements:
        raise InputError(
            f"the baseline was scored with other judgements (sha256 {theirs.judgements[:12] or 'none'}, now"
            f" {ours.judgements[:12] or 'none'}); save it again"
        )
    if ours.gold and (not theirs.gold or (ours.judgements and ours.gold != theirs.gold)):
        raise InputError(
            f"the baseline {'has other' if theirs.gold else 'knows no'} labels of people; save it again with"
            f" {'the same --gold' if ours.judgements else '--gold, labels of its own answers'}"
        )
    if _has_other_judge(ours, theirs) and settings.judge_changed != ALLOW:
        raise InputError(
            f"the baseline was judged by {_judged_by(theirs)}, the candidate by {_judged_by(ours)}: a"
            " difference would be the judge's, too; judge the baseline again and save it, or say"
            " --judge-changed allow, which claims nothing"
        )


def _rules_in(signature: str) -> list[str]:
    """Return a signature without its judge, and the chunks, which gold at spans outlives."""
    return [part for part in signature.split("|") if not part.startswith(("judge:", "chunks:"))]


def _has_other_judge(ours: BaselineHeader, theirs: BaselineHeader) -> bool:
    named = [_judges_named(header) for header in (ours, theirs)]
    return named[0] != named[1] or set(ours.rubrics) != set(theirs.rubrics)


def _judges_named(header: BaselineHeader) -> set[str]:
    return set(header.judges)


def _judged_by(header: BaselineHeader) -> str:
    judges = ", ".join(map(visible, filter(None, header.judges))) or "nobody that is named"
    rubrics = ", ".join(map(visible, filter(None, header.rubrics)))
    return f"{judges} by {rubrics}" if rubrics else judges


def _check_labels(common: _Common) -> None:
    """Refuse people's labels of answers of which nobody can tell whether they are the baseline's."""
    ours, theirs = common.candidate, common.baseline
    alike = ours.scores.run == theirs.scores.run and not common.is_same(common.queries)
    if ours.header.gold and not ours.header.judgements and alike:
        raise InputError(
            f"candidate and baseline are both called {visible(ours.scores.run)}, so that labels of people may"
            " be of the answers of either; expected a run_id of its own for each"
        )


class _Common:
    """The questions of both sides, and what is there of each."""

    def __init__(self, candidate: GateSide, baseline: GateSide) -> None:
        self.candidate, self.baseline = candidate, baseline
        ours = {str(score.measure): score for score in candidate.scores.scores}
        theirs = {str(score.measure): score for score in baseline.scores.scores}
        self.scores = {name: (score, theirs[name]) for name, score in ours.items()}
        there = dict.fromkeys(candidate.scores.scores[0].query_ids)
        known = dict.fromkeys(baseline.scores.scores[0].query_ids)
        both = [query for query in known if query in there]
        self.relisted = [q for q in both if candidate.nuggets.get(q, "") != baseline.nuggets.get(q, "")]
        other = set(self.relisted)
        self.queries = sorted(query for query in both if query not in other)
        self.of_baseline = [query for query in known if query not in baseline.absent]
        self.gone = [query for query in known if query not in there]
        self.new = [query for query in there if query not in known]
        self.lost = [q for q in both if q in candidate.absent and q not in baseline.absent]
        self.one_only = {q for q in both if (q in candidate.absent) != (q in baseline.absent)}
        self.missing = {q for pair in self.scores.values() for each in pair for q in each.between} & set(both)

    def is_same(self, queries: Sequence[str]) -> bool:
        """Return whether both give the same rankings, or answers judged alike, to all these questions."""
        ours, theirs = self.candidate.same, self.baseline.same
        return all(query in ours and ours[query] == theirs.get(query) for query in queries)

    @property
    def counts(self) -> dict[str, int]:
        """How many questions are compared, and of which not."""
        lists = {"gone": self.gone, "new": self.new, "not answered": self.lost}
        numbers = {name: len(found) for name, found in lists.items()}
        more = {"other nuggets": len(self.relisted), "judgements missing": len(self.missing)}
        undefined = max((len(self.undefined(name)) for name in self.scores), default=0)
        return {"compared": len(self.queries), **numbers, **more, "undefined in one": undefined}

    def undefined(self, measure: str) -> list[str]:
        """Return the questions on which only one of the two has a value."""
        ours, theirs = (score.by_query for score in self.scores[measure])
        return [q for q in self.queries if math.isnan(ours[q]) != math.isnan(theirs[q])]

    def check(self) -> None:
        """Refuse to compare few of the baseline's questions, or what failed."""
        total = len(self.of_baseline)
        left = (
            total - len(self.lost) - sum(q not in self.baseline.absent for q in (*self.gone, *self.relisted))
        )
        self._enough(left, total, "questions are in both")
        for name, (ours, theirs) in self.scores.items():
            values = ours.by_query
            defined = [q for q, value in theirs.by_query.items() if value == value]
            there = [q for q in defined if not math.isnan(values.get(q, math.nan)) or q in ours.between]
            self._enough(len(there), len(defined), f"questions have a value of {name} in both")
            missing = sum(query in ours.between for query in self.queries)
            if missing > _MOST_MISSING * len(self.queries):
                raise MissingJudgements(
                    f"{name}: judgements are missing in {missing:,} of {len(self.queries):,} questions, more"
                    f" than {_MOST_MISSING:.0%}; judge them again"
                )
        sides = [replace(self.candidate.scores, run=_ALONE[0]), replace(self.baseline.scores, run=_ALONE[1])]
        for why in failures(sides).values():
            raise InputError(f"the {why}: nothing was compared")

    def _enough(self, number: int, total: int, what: str) -> None:
        if not number or number < _LEAST_COMPARED * total:
            raise InputError(
                f"{number:,} of the baseline's {total:,} {what}, expected {_LEAST_COMPARED:.0%}: nothing was"
                " gated"
            )


# --- differences


class _Part(NamedTuple):
    """Some of the questions: all of them, or those of a slice."""

    field: str
    name: str
    queries: Sequence[str]


class _Tested(NamedTuple):
    """What `compare` says of a part by a measure; `sign` is −1 where low is good."""

    part: _Part
    measure: str
    pair: Pair
    values: tuple[float, float]
    sign: float
    can_block: bool

    @property
    def turned(self) -> tuple[float, float, float]:
        """Difference and bounds, so that more is better."""
        pair = self.pair
        ends = (pair.low, pair.high) if self.sign > 0 else (-pair.high, -pair.low)
        return self.sign * pair.difference, *ends


def _parts(queries: Sequence[str], slices: Mapping[str, Mapping[str, str]]) -> Iterator[_Part]:
    yield _Part("", "", queries)
    for name, groups in slices.items():
        found: dict[str, list[str]] = {}
        for query in queries:
            found.setdefault(groups[query], []).append(query)
        yield from (_Part(name, value, found[value]) for value in sorted(found))


def _decided(common: _Common, parts: Sequence[_Part], settings: GateSettings) -> list[Decision]:
    """Return the decisions that stand, whatever the missing judgements are."""
    found = _decisions(common, parts, settings, _as_judged)
    if common.missing:
        for way in (_at_worst, _at_best, _apart):
            other = _decisions(common, parts, settings, way)
            why = f"judgements are missing in {len(common.missing):,} questions, which could change it"
            found = [_agreed(*pair, why) for pair in zip(found, other, strict=True)]
    if common.one_only:
        kept = [
            each._replace(queries=[q for q in each.queries if q not in common.one_only]) for each in parts
        ]
        other = _decisions(common, kept, settings, _as_judged)
        why = f"{len(common.one_only):,} questions are in one of the two only, and on the others it is not so"
        found = [_agreed(*pair, why) for pair in zip(found, other, strict=True)]
    return found


def _agreed(one: Decision, other: Decision, why: str) -> Decision:
    """Return a decision if the other is the same, else none."""
    if one.verdict == other.verdict or INFORMS in (one.verdict, other.verdict):
        return one
    return replace(one, verdict=INCONCLUSIVE, why=one.why or why)


_Way = Callable[[Score, Score], tuple[Sequence[float], Sequence[float]]]


def _as_judged(ours: Score, theirs: Score) -> tuple[Sequence[float], Sequence[float]]:
    return ours.numbers, theirs.numbers


def _filled(score: Score, end: int) -> list[float]:
    """Return the values with the missing judgements at one end of what they may be."""
    pairs = zip(score.query_ids, score.numbers, strict=True)
    return [score.between[query][end] if query in score.between else value for query, value in pairs]


def _at_worst(ours: Score, theirs: Score) -> tuple[Sequence[float], Sequence[float]]:
    return _filled(ours, 0), _filled(theirs, 1)


def _at_best(ours: Score, theirs: Score) -> tuple[Sequence[float], Sequence[float]]:
    return _filled(ours, 1), _filled(theirs, 0)


def _apart(ours: Score, theirs: Score) -> tuple[Sequence[float], Sequence[float]]:
    """Return the values with each question's difference as far from the others' as it may be."""
    low, high = _at_worst(ours, theirs), _at_best(ours, theirs)
    least, most = (np.array(each[0]) - np.array(each[1]) for each in (low, high))
    middle = np.nanmean(np.array(ours.numbers) - np.array(theirs.numbers))
    is_low = np.abs(least - middle) > np.abs(most - middle)
    chosen = [np.where(is_low, low[side], high[side]).tolist() for side in (0, 1)]
    return chosen[0], chosen[1]


def _decisions(common: _Common, parts: Sequence[_Part], settings: GateSettings, way: _Way) -> list[Decision]:
    """Test every measure over every part, and decide after Holm over all that can block."""
    ours, theirs = common.candidate.scores.run, common.baseline.scores.run
    names = (ours, theirs) if ours != theirs else _ALONE
    tested = []
    for measure, pair in common.scores.items():
        scores = _on(pair, common.queries)
        filled = [
            replace(score, numbers=list(values)) for score, values in zip(scores, way(*scores), strict=True)
        ]
        for part in parts:
            few = _on((filled[0], filled[1]), part.queries)
            tested.append(_test(measure, part, few, names, settings, common.is_same(part.queries)))
    p = [_p_of_loss(each, settings) for each in tested]
    able = [at for at, each in enumerate(tested) if each.can_block]
    adjusted = [math.nan] * len(tested)
    for at, value in zip(able, holm(np.array([p[at] for at in able])).tolist(), strict=True):
        adjusted[at] = value
    return [_decision(*each, settings) for each in zip(tested, p, adjusted, strict=True)]


def _on(pair: tuple[Score, Score], queries: Sequence[str]) -> tuple[Score, Score]:
    """Return both scores on these questions alone."""
    return _only(pair[0], queries), _only(pair[1], queries)


def _only(score: Score, queries: Sequence[str]) -> Score:
    numbers = dict(zip(score.query_ids, score.numbers, strict=True))
    people = score.people
    if people is not None:
        labels = {query: people.values[query] for query in queries if query in people.values}
        people = replace(people, values=labels)
    return replace(score, query_ids=queries, numbers=[numbers[query] for query in queries], people=people)


def _test(
    measure: str,
    part: _Part,
    scores: tuple[Score, Score],
    names: tuple[str, str],
    settings: GateSettings,
    is_same: bool,
) -> _Tested:
    if is_same:  # nobody's labels can make a difference of what is none
        scores = replace(scores[0], people=None), replace(scores[1], people=None)
    results = [Scores(name, (score,)) for name, score in zip(names, scores, strict=True)]
    how = settings.comparison(names[1])
    (table,) = tables(results, how)
    check_gold([table], how)
    known = KnownOfRuns(alike={frozenset(names): IDENTICAL} if is_same else {})
    with np.errstate(invalid="ignore"):
        tell = corrected_pairs if is_corrected(table) else pairs_of
        (pair,) = tell(table, list(names), how, known)
    sign = -1.0 if table.better == LOWER else 1.0
    can_block = not part.field or (pair.queries >= FEW and not math.isnan(pair.low))
    values = scores[1].value, scores[0].value
    return _Tested(part, measure, pair, values, sign, can_block)


def _p_of_loss(tested: _Tested, settings: GateSettings) -> float:
    """Return the one-sided p of what is claimed where something blocks; 1 where nothing is known."""
    difference, low, high = tested.turned
    if math.isnan(difference) or math.isnan(tested.pair.p):
        return 1.0
    if settings.block == WORSE:
        return tested.pair.p / 2 if difference < 0 else 1 - tested.pair.p / 2
    from scipy.special import stdtr

    units, error = _error(tested, low, high, settings)
    beyond = difference + _margin(tested, settings)
    return float(stdtr(units - 1, beyond / error)) if error else float(beyond >= 0)


def _margin(tested: _Tested, settings: GateSettings) -> float:
    return settings.of_slices if tested.part.field else settings.margin


def _error(tested: _Tested, low: float, high: float, settings: GateSettings) -> tuple[int, float]:
    """Return how many independent units there are, and the standard error that the bounds amount to."""
    from scipy.special import stdtrit

    units = tested.pair.queries
    if tested.pair.labels is not None:
        units = tested.pair.labels
    elif settings.clusters is not None:
        units = len({settings.clusters[query] for query in tested.part.queries})
    return units, (high - low) / 2 / float(stdtrit(max(units - 1, 1), settings.level))


def _decision(tested: _Tested, p: float, adjusted: float, settings: GateSettings) -> Decision:
    difference, low, high = tested.turned
    margin = _margin(tested, settings)
    edge = -margin if settings.block == BEYOND else 0.0
    blocks = high < edge and difference < -margin and adjusted <= 1 - settings.level + SLACK
    ships, why = low > -margin or low == high == 0, ""
    verdict = BLOCK if blocks else SHIP if ships else INCONCLUSIVE
    if math.isnan(low):
        why = tested.pair.why or "too few independent questions"
    elif verdict == INCONCLUSIVE and high < edge and difference < -margin:
        why = f"worse by itself (p {p:.2g}), not among all measures and slices ({adjusted:.2g}, Holm)"
    elif verdict == SHIP and high < 0:
        why = "worse, but surely by less than the margin"
    if not tested.can_block:
        verdict, why = INFORMS, f"under {FEW} questions" if tested.pair.queries < FEW else why
    number, of = _needed(tested, settings) if verdict == INCONCLUSIVE else (None, "questions")
    return Decision(
        tested.measure,
        tested.part.field,
        tested.part.name,
        tested.pair.queries,
        *tested.values,
        tested.pair.difference,
        tested.pair.low,
        tested.pair.high,
        p,
        adjusted,
        margin,
        verdict,
        number,
        of,
        why,
    )


def _needed(tested: _Tested, settings: GateSettings) -> tuple[int | None, str]:
    """Return how many would decide it: to ship what is within the margin, to block what is not."""
    difference, low, high = tested.turned
    of = "labels" if tested.pair.labels is not None else "clusters" if settings.clusters else "questions"
    if math.isnan(low):
        return None, of
    margin = _margin(tested, settings)
    units, error = _error(tested, low, high, settings)
    gap = difference + margin
    if gap < 0 and settings.block == WORSE:
        gap = difference
    return needed(gap, error, units, 2 * settings.level - 1), of


# --- what forbids a claim, and what should be said


def _capped(found: Decision, common: _Common, settings: GateSettings) -> Decision:
    """Return the decision, or none where something else than the system may have made the difference."""
    if found.verdict not in (SHIP, BLOCK):
        return found
    why = next(filter(None, _doubts(found, common, settings)), "")
    return replace(found, verdict=INCONCLUSIVE, why=why) if why else found


def _doubts(found: Decision, common: _Common, settings: GateSettings) -> Iterator[str]:
    ours, theirs = common.candidate.header, common.baseline.header
    if _has_other_judge(ours, theirs):
        yield f"judged by {_judged_by(ours)}, the baseline by {_judged_by(theirs)}"
    unseen = common.candidate.unseen
    if unseen is not None and unseen > _MOST_UNSEEN:
        yield f"no document is judged in {unseen:.0%} of the questions"
    if ours.unjudged is not None and theirs.unjudged is not None and _look_as_deep(ours, theirs):
        shares = ours.unjudged, theirs.unjudged
        far = max(shares) >= _HOLES and abs(shares[0] - shares[1]) > _HOLES_APART
        if far and not found.field and not _holds_whatever(found, ours, theirs, settings):
            yield f"{shares[0]:.0%} of the top is unjudged, and {shares[1]:.0%} of the baseline's"


def _look_as_deep(ours: BaselineHeader, theirs: BaselineHeader) -> bool:
    """Return whether the shares of unjudged documents are of the same top: by the same measures."""
    return ours.measures.keys() == theirs.measures.keys()


def _holds_whatever(
    found: Decision, ours: BaselineHeader, theirs: BaselineHeader, settings: GateSettings
) -> bool:
    """Return whether the verdict is the same wherever the means lie, whatever the unjudged documents are."""
    if found.measure not in ours.bounds or found.measure not in theirs.bounds:
        return False
    (low, high), (other_low, other_high) = ours.bounds[found.measure], theirs.bounds[found.measure]
    least, most = low - other_high, high - other_low
    if found.verdict == SHIP:
        return min(least, -most) > -settings.margin
    return most < -settings.margin or least > settings.margin


def _floors(scores: Scores, limits: Mapping[str, float]) -> Iterator[str]:
    for name, limit in limits.items():
        value = scores[name].value
        if not value >= limit:
            yield f"{name} is {value:.4f}, below {limit:g} (--fail-under)"


def _fallen(common: _Common) -> list[Fallen]:
    """Return the questions that fell most, each by the measure that fell farthest."""
    found: dict[str, tuple[float, Fallen]] = {}
    for name, (ours, theirs) in common.scores.items():
        sign = -1.0 if ours.measure.better == LOWER else 1.0
        for query in common.queries:
            before, now = theirs.by_query[query], ours.by_query[query]
            fall = sign * (before - now)
            if fall > SLACK and fall > found.get(query, (0.0,))[0]:
                found[query] = fall, Fallen(query, name, before, now)
    worst = sorted(found.values(), key=lambda each: (-each[0], each[1].query_id))
    return [each for _, each in worst[:_SHOWN]]


def _said(common: _Common, found: Sequence[Decision], settings: GateSettings) -> Iterator[str]:
    """Yield what should be known beside the verdicts."""
    if not settings.margin:
        yield (
            "--margin 0 lets nothing ship that is not surely better, and an equal system only with luck; say"
            " how much worse would be good enough"
        )
    if common.is_same(common.queries):
        how = "rank the same" if common.candidate.header.judgements else "are judged alike"
        yield f"candidate and baseline {how} in every question"
    yield from _said_of_questions(common)
    judged = [name for name, pair in common.scores.items() if pair[0].basis and pair[0].people is None]
    if judged:
        said = f"{', '.join(judged)} {BY_THIS_JUDGE} (--gold, people's labels, puts it in)"
        yield f"judge error not included: {said}"
    ours, theirs = common.candidate.header.known, common.baseline.header.known
    if ours and theirs and ours != theirs:
        yield "the file of the questions is another one than the baseline's"
    header = common.baseline.header
    if header.unjudged and not _look_as_deep(common.candidate.header, header):
        yield "the baseline has other measures, too, so its share of unjudged documents says nothing here"
    for each in found:
        if each.why and each.verdict != INFORMS:
            yield f"{each.measure}, {visible(each.place)}: {each.why}"


def _said_of_questions(common: _Common) -> Iterator[str]:
    """Yield which questions are compared with nothing, or only in part."""
    for what, queries in (
        ("of the baseline are gone", common.gone),
        ("are new, and compared with nothing", common.new),
        ("have no answer now, and count as nothing found", common.lost),
        ("are judged by other nuggets, and are not compared", common.relisted),
    ):
        if queries:
            first = ", ".join(map(visible, queries[:3])) + (", …" if len(queries) > 3 else "")
            yield f"{len(queries):,} questions {what}: {first}"
    if common.missing:
        yield f"judgements are missing in {len(common.missing):,} questions; verdicts hold whatever they are"
    for name in common.scores:
        undefined = common.undefined(name)
        if undefined:
            yield f"{name}: {len(undefined):,} questions have a value in one of the two only"
