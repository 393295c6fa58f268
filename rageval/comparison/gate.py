"""Ship, block, or say that it is not known: a candidate beside a baseline, question by question.

With d the mean difference over the questions of both, low and high its one-sided bounds (both as `compare`
has them, at twice the risk), and m the margin, all turned so that more is better
(for a margin that is a share of the baseline see `margins`):
    ship           low > −m
    block          high < 0 and d < −m; or, if so asked, high < −m (beyond-margin)
    inconclusive   everything else
Of several measures all have to ship, which needs no correction (intersection and union), and any blocks after
Holm over measures and slices. Slices can only block. What was not compared is said, and never passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from rageval import hooks
from rageval.comparison.comparisons import why_untestable
from rageval.comparison.estimates import estimate_value
from rageval.comparison.intervals import FEW, draw_of_pair, with_conversations
from rageval.comparison.margins import Margin, MarginLike, Margins
from rageval.comparison.pairs import (
    RunFacts,
    corrected_pairs,
    failures,
    is_corrected,
    pairs_of,
    tables,
)
from rageval.comparison.resampling import is_joint
from rageval.comparison.results import Clusters, Pair, Settings, require_clusters
from rageval.core.basis import UNSTATED, Basis, DrawKind
from rageval.core.estimate import Estimate
from rageval.core.record import plain_fields
from rageval.core.remark import Remark, Scope
from rageval.core.ruling import Ruling
from rageval.core.signature import join_signature
from rageval.errors import (
    InputError,
    MeasureError,
    MissingJudgements,
    OptionError,
    Place,
    RagevalError,
    UsageError,
)
from rageval.files.kinds import WrongKind, kind_of, wrong_kind
from rageval.files.opening import Source, as_local_file, name_of
from rageval.files.plans import Look
from rageval.files.scores import Baseline, BaselineDraw, BaselineHeader, BaselineLine, read_baseline
from rageval.files.start import JUDGED_ANSWERS, RUNS
from rageval.measures.base import LOWER, NEITHER, Measure
from rageval.options import Block, JudgeChanged, Population, refuse_other_words
from rageval.records import Question
from rageval.scoring.answers import without_value
from rageval.scoring.assessments import MOST_MISSING
from rageval.scoring.gold import UNIFORM, Draw, People, why_lost
from rageval.scoring.scores import EXAMPLES, Score, Scores, filled
from rageval.scoring.subject import Subject
from rageval.statistics import SEED
from rageval.statistics.bootstrap import RESAMPLES
from rageval.statistics.power import fewest, needed
from rageval.statistics.samples import FEWEST_CLUSTERS, SLACK
from rageval.statistics.significance import holm
from rageval.table import Displayed, finite
from rageval.text import some, visible
from rageval.version import __version__

# What a gate is asked, what it is given, and what it says.

SHIP, BLOCK, INCONCLUSIVE, INFORMS = "ship", "block", "inconclusive", "informs"
WORSE: Final = "worse"
BEYOND: Final = "beyond-margin"  # of `block`
REFUSE: Final = "error"
ALLOW: Final = "allow"  # of `judge_changed`
ANCHOR: Final = "anchor"  # of `Decision.against`


@dataclass(frozen=True, slots=True)
class GateSettings:
    """The rules of a gate.

    Parameters
    ----------
    margin
        How much worse is still good enough, in the measures' own units, or as a share of the baseline's value
        (`"10%"`). Of several, `[0.03, "cost=10%"]`, one with a name is that of one measure, and one without a
        name that of all others.
    slice_margin
        The same for slices, which can only block; twice the margin if nothing is said.
    anchor_margin
        The same for a fixed baseline beside the one that moves; twice the margin if nothing is said.
    block
        `worse`: what is surely worse, and by more than the margin as far as is seen; `beyond-margin`: what is
        surely worse by more than the margin.
    judge_changed
        Another judge or rubric than the baseline's is an `error`; with `allow` nothing is claimed.
    fail_under
        {measure: least mean of the candidate, as human labels correct it}, whatever the baseline has.
    level
        Of the one-sided bounds.
    clusters, clustered_by, resamples, seed, population
        As for a comparison.
    """

    margin: MarginLike = field(hash=False)
    slice_margin: MarginLike | None = field(default=None, hash=False)
    anchor_margin: MarginLike | None = field(default=None, hash=False)
    block: Block = WORSE
    judge_changed: JudgeChanged = REFUSE
    fail_under: Mapping[str, float] = field(default_factory=dict, hash=False)
    level: float = 0.95
    clusters: Clusters | None = field(default=None, hash=False)
    clustered_by: str = "clusters"
    resamples: int = RESAMPLES
    seed: int = SEED
    population: Population = "kind"

    def __post_init__(self) -> None:
        for name in ("margin", "slice_margin", "anchor_margin"):
            given = getattr(self, name)
            # What is read once is not read again for every measure and slice.
            object.__setattr__(self, name, None if given is None else Margins.of(given, name))
        refuse_other_words(self)
        require_clusters(self.clusters)
        if not 0.5 < self.level < 1:
            raise UsageError(f"level={self.level!r}: expected a number between 0.5 and 1")

    @property
    def units(self) -> Mapping[str, str] | None:
        """The cluster of every query; None where queries are independent."""
        return None if self.clusters == "none" else self.clusters

    @property
    def of_all(self) -> Margins:
        """The margins over all questions."""
        return Margins.of(self.margin)

    @property
    def of_slices(self) -> Margins:
        """The margins of slices."""
        # Slices are small, and with the margin of the whole nearly all would be inconclusive.
        return self.of_all.doubled() if self.slice_margin is None else Margins.of(self.slice_margin)

    @property
    def of_anchor(self) -> Margins:
        """The margins beside the anchor."""
        return self.of_all.doubled() if self.anchor_margin is None else Margins.of(self.anchor_margin)

    def comparison(self, baseline: str) -> Settings:
        """Return how `compare` has the same numbers: two bounds of 95 % each are an interval of 90 %.

        The test is Student's: where few questions differ, flipped signs hardly ever tell, and the question is
        by how much the means differ. The bounds are those of `compare`: studentized for graded values.
        """
        names = ("clusters", "clustered_by", "resamples", "seed", "population")
        same = {name: getattr(self, name) for name in names}
        # Rounded, as 2·0.95 − 1 is not 0.9 in floating point, and signatures show it.
        level = round(2 * self.level - 1, 12)
        return Settings(baseline=baseline, test="t", adjust="holm", level=level, **same)

    def signed(self, has_slices: bool, has_anchor: bool = False) -> str:
        """Return everything needed to repeat the verdict."""
        # Everything that could have made the verdict another one; nothing that only changes how it is shown.
        parts: dict[str, object] = {"margin": visible(str(self.of_all))}
        parts |= {"slices": visible(str(self.of_slices))} if has_slices else {}
        parts |= {"anchor": visible(str(self.of_anchor))} if has_anchor else {}
        parts |= {"block": self.block, "level": f"{self.level:g}", "test": "t"}
        parts |= {"resamples": self.resamples}
        parts |= {"units": visible(self.clustered_by)} if self.units is not None else {}
        return join_signature("gate", parts | {"seed": self.seed, "v": __version__})


class GateSide(NamedTuple):
    """One of the two systems: its scores, what they were made with, and what else is known of questions.

    `absent` are questions of which it says nothing, `lacking` those of them of which no value is known.
    `same` tells what is the same as elsewhere, question by question, `nuggets` lists of nuggets. Of a run
    `unseen` is the share of its questions of which nothing retrieved is judged; None where nothing can be
    said of that. With `intersection`, questions that only one of the two has are left out.
    """

    scores: Scores
    header: BaselineHeader
    absent: frozenset[str] = frozenset()
    same: Mapping[str, str] = {}
    nuggets: Mapping[str, str] = {}
    facts: Mapping[str, Mapping[str, str]] = {}
    repeats: Mapping[str, int] = {}
    unseen: float | None = None
    lacking: frozenset[str] = frozenset()
    intersection: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict by one measure, over all questions or those of a slice.

    `difference` is candidate − baseline; `low` and `high` are its one-sided bounds, each of this `level` by
    itself. Human labels correct the difference and both means, each by itself; a mean with too few labels is
    NaN. `p` is that of no loss, `adjusted` for all measures and slices. `margin` is in the measure's units;
    of one that is a share of the baseline's value, `margin_share` is that share, and `margin` is that of the
    mean, while the verdict accounts for the noise of the baseline, too. `needed` questions (`needed_of`: or
    clusters, or labels) would decide it with power 0.8, if the difference stayed the same. `basis` is the
    basis of the verdict. `against` is empty for a comparison with the baseline, and `anchor` for one with the
    anchor. `reasons` say why, or what else to know.
    """

    measure: str
    field: str
    name: str
    questions: int
    baseline: float
    candidate: float
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    margin: float
    verdict: str
    needed: int | None = None
    needed_of: str = "questions"
    reasons: tuple[Remark, ...] = ()
    basis: Basis = UNSTATED
    against: str = ""
    level: float = 0.95
    margin_share: float | None = None

    def record(self) -> dict[str, Any]:
        """Return everything, for a program."""
        return plain_fields({name: getattr(self, name) for name in self.__slots__} | {"sides": 1})

    @property
    def estimate(self) -> Estimate:
        """The difference, with a bound on each side."""
        numbers = self.difference, self.low, self.high, self.level
        return Estimate(*numbers, sides=1, queries=self.questions, basis=self.basis)

    @property
    def place(self) -> str:
        """The slice, the anchor, or `all`."""
        return self.against or (f"{self.field} {self.name}" if self.field else "all")

    @property
    def is_part(self) -> bool:
        """Whether it is of a slice, or against the anchor: shown below the measure."""
        return bool(self.field or self.against)


class Fallen(NamedTuple):
    """A question that scores less than it did; labels correct means, so `basis` is that of these values.

    `question` is its text, where that is known.
    """

    query_id: str
    measure: str
    baseline: float
    candidate: float
    basis: Basis = UNSTATED
    question: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class GateReport(Displayed):
    """The result of a gate: the verdict, what it is based on, and remarks."""

    _display = hooks.display_of_gate

    verdict: str
    decisions: Sequence[Decision]
    fell: Sequence[Fallen]
    counts: Mapping[str, int] = field(hash=False)
    remarks: Sequence[Remark]
    floors: Sequence[Remark]
    candidate: str
    baseline: str
    signature: str
    signatures: Mapping[str, str] = field(hash=False)

    @property
    def blocking(self) -> list[Decision]:
        """What blocks."""
        return [decision for decision in self.decisions if decision.verdict == BLOCK]

    @property
    def p_of_losses(self) -> list[float]:
        """The p of all that can block."""
        return [decision.p for decision in self.decisions if not math.isnan(decision.adjusted)]

    @property
    def overall(self) -> list[Decision]:
        """The decisions over all questions against the baseline, one a measure."""
        return [decision for decision in self.decisions if not decision.is_part]

    @property
    def level(self) -> float:
        """The level of each one-sided bound."""
        return self.decisions[0].level

    def with_texts(self, questions: Mapping[str, Question]) -> GateReport:
        """Return the report with the texts of the questions that fell."""
        texts = {query: question.text for query, question in questions.items()}
        fell = [fallen._replace(question=texts.get(fallen.query_id, "")) for fallen in self.fell]
        return replace(self, fell=fell)

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for a program; what is undefined is None."""
        texts = {name: getattr(self, name) for name in ("verdict", "candidate", "baseline", "signature")}
        return {
            **texts,
            "measures": dict(self.signatures),
            "counts": dict(self.counts),
            "decisions": [finite(decision.record()) for decision in self.decisions],
            "fell": [finite(fallen._asdict() | {"basis": str(fallen.basis)}) for fallen in self.fell],
            "floors": list(map(str, self.floors)),
            "remarks": [remark.as_record() for remark in self.remarks],
        }

    def sentences(self) -> list[str]:
        """Return which floors are missed, and what should be known besides."""
        sentences: list[str] = self._display(self).sentences()
        return sentences

    @property
    def headline(self) -> str:
        """The verdict in a line, with what it has to say of its basis."""
        headline: str = self._display(self).headline()
        return headline

    def _records(self) -> list[dict[str, Any]]:
        return [decision.record() for decision in self.decisions]


_LEAST_COMPARED = 0.9  # of the baseline's questions
_MOST_UNSEEN = 0.1  # questions of which nothing retrieved is judged
_HOLES, _HOLES_APART = 0.2, 0.05  # of the top documents, and between two runs
_SHOWN = 5  # questions that fell most
_ROUNDED = 1e-6  # by which one value may differ between machines
_ALONE = "candidate", "baseline"
_UNSTATED_DRAW = BaselineDraw(how=DrawKind.UNSTATED)  # also of baselines from before it was saved


def gate(
    candidate: GateSide,
    baseline: GateSide,
    settings: GateSettings,
    slices: Mapping[str, Mapping[str, str]] | None = None,
    anchor: GateSide | None = None,
) -> GateReport:
    """Say whether a candidate may pass.

    `slices` are groups of questions, {field: {question: value}}. An `anchor` is a fixed baseline beside one
    that moves with each version: many small losses against the moving one are a large loss against the
    anchor. Raises `InputError` where the sides cannot be compared, `MissingJudgements` where too many of the
    candidate's failed.
    """
    settings = with_conversations(settings, [candidate.scores])
    if anchor is None:
        return _gate_against(candidate, baseline, settings, slices)
    far_settings = replace(settings, margin=settings.of_anchor, fail_under={})
    try:
        far = _gate_against(candidate, anchor, far_settings)
        near = _gate_against(candidate, baseline, settings, slices, far.p_of_losses, has_anchor=True)
        if far.blocking:  # what blocks, blocks after Holm over all of both
            far = _gate_against(candidate, anchor, far_settings, None, near.p_of_losses)
    except InputError as error:
        raise error.located(Place("with --anchor")) from None
    except OptionError:
        raise  # of what was asked for, whatever it is compared with
    except RagevalError as error:
        raise type(error)(f"with --anchor: {error}") from None
    verdicts = {near.verdict, far.verdict}
    also = [
        replace(remark, about=replace(remark.about, is_of_anchor=True))
        for remark in far.remarks
        if remark not in near.remarks
    ]
    named = f"anchor of {anchor.header.date}" if anchor.header.date else anchor.scores.run
    return replace(
        near,
        verdict=next((verdict for verdict in (BLOCK, INCONCLUSIVE) if verdict in verdicts), SHIP),
        decisions=[*near.decisions, *(replace(decision, against=ANCHOR) for decision in far.decisions)],
        remarks=[*near.remarks, *also],
        baseline=f"{near.baseline} and {named}",
    )


def _gate_against(
    candidate: GateSide,
    baseline: GateSide,
    settings: GateSettings,
    slices: Mapping[str, Mapping[str, str]] | None = None,
    others: Sequence[float] = (),
    *,
    has_anchor: bool = False,
) -> GateReport:
    """Hold a candidate against one baseline; `others` are p of what else may block it, as an anchor may."""
    _check_measures(candidate, settings)
    _check_comparable(candidate.header, baseline.header, settings)
    _check_values(candidate, baseline)
    common = _Common(candidate, baseline)
    common.check()
    _check_labels(common)
    parts = list(_parts(common, slices or {}))
    if settings.units is not None:
        # A question that is gone is a cluster by itself.
        clusters = {**{query: query for query in common.queries}, **settings.units}
        settings = replace(settings, clusters=clusters)
    decisions = _stable_decisions(common, parts, settings, others)
    for index, decision in enumerate(decisions):
        doubts = tuple(_doubts(decision, common, settings)) if decision.verdict in (SHIP, BLOCK) else ()
        if doubts:
            decisions[index] = replace(decision, verdict=INCONCLUSIVE, reasons=doubts[:1])
    # The means are estimated as those of a comparison of the two.
    how = settings.comparison(baseline.scores.run)
    estimates = {name: estimate_value(pair[0], how) for name, pair in common.scores.items()}
    floors = list(_missed_floors(estimates, settings.fail_under))
    # A slice can block, but only measures over all questions can ship, and all of them have to.
    if floors or any(decision.verdict == BLOCK for decision in decisions):
        verdict = BLOCK
    else:
        verdict = (
            SHIP
            if all(decision.verdict == SHIP for decision in decisions if not decision.field)
            else INCONCLUSIVE
        )
    # By which labels the gate decides, and how these were drawn; nothing without labels.
    header = candidate.header
    by_labels = f"|gold:{header.gold}|chosen:{(header.draw or _UNSTATED_DRAW).how}" if header.gold else ""
    return GateReport(
        verdict,
        decisions,
        _largest_losses(common),
        common.counts,
        list(_gate_remarks(common, decisions, settings)),
        floors,
        candidate.scores.run,
        f"baseline of {baseline.header.date}" if baseline.header.date else baseline.scores.run,
        settings.signed(bool(slices), has_anchor) + by_labels,
        header.measures,
    )


# --- what can be held against one another


def _check_measures(candidate: GateSide, settings: GateSettings) -> None:
    names = [str(score.measure) for score in candidate.scores.scores]
    for score in candidate.scores.scores:
        if why := why_untestable(score):
            raise MeasureError(f"{score.measure} {why}; leave it out")
        if is_joint(score):
            raise MeasureError(
                f"{score.measure} is computed from all questions together, and a baseline keeps the value of"
                " each; gate what it is made of, such as accuracy and cost, or brier"
            )
        if score.measure.better == NEITHER:
            raise UsageError(f"{score.measure}: neither high nor low is good, so it cannot be gated")
    for option, margins in (
        *(("margin", settings.of_all), ("slice_margin", settings.of_slices)),
        ("anchor_margin", settings.of_anchor),
    ):
        margins.require(names, option)
        for score in candidate.scores.scores:
            margin = margins.of_measure(str(score.measure))
            if margin.is_share and _ends(score)[0] < 0:
                raise UsageError(
                    f"{option}: {score.measure}={margin}: its values may be below 0, and a share of such a"
                    " value is no margin; use a number"
                )
    for name in settings.fail_under:
        if name not in names:
            raise OptionError(
                "{fail_under} {found}: is not gated; use one of {names}",
                {"found": visible(name), "names": ", ".join(names)},
            )


def _check_comparable(ours: BaselineHeader, theirs: BaselineHeader, settings: GateSettings) -> None:
    """Refuse a baseline that was made otherwise."""
    # The baseline may have more: measures that are no longer gated.
    lacking = [name for name in ours.measures if name not in theirs.measures]
    if lacking:
        raise InputError(
            problem=f"the baseline has no values of {', '.join(map(visible, lacking))}; it has"
            f" {', '.join(map(visible, theirs.measures))}",
            remedy="save it again, with all measures",
        )
    for name, signature in ours.measures.items():
        if _rules_in(signature) != _rules_in(theirs.measures[name]):
            raise InputError(
                at=Place(name),
                problem=f"the baseline was scored by other rules: {visible(theirs.measures[name])}; the"
                f" candidate by {signature}",
                remedy="save the baseline again",
            )
    if ours.judgements != theirs.judgements:
        raise InputError(
            problem="the baseline was scored with other judgements (sha256"
            f" {theirs.judgements[:12] or 'none'}, now {ours.judgements[:12] or 'none'})",
            remedy="save it again",
        )
    if ours.gold and (not theirs.gold or (ours.judgements and ours.gold != theirs.gold)):
        raise InputError(
            problem=f"the baseline {'has other' if theirs.gold else 'has no'} human labels",
            remedy="save it again with"
            f" {'the same --gold' if ours.judgements else '--gold, labels of its own answers'}",
        )
    if theirs.gold and not ours.gold:
        # Without the labels the judge alone would decide, which they may contradict.
        raise InputError(
            problem="the baseline has human labels, the candidate has none",
            remedy="give labels of the candidate's answers (--gold), or save the baseline again without"
            " --gold",
        )
    if ours.gold and not _share_draw(ours.draw or _UNSTATED_DRAW, theirs.draw or _UNSTATED_DRAW):
        how = [_describe_draw(header.draw or _UNSTATED_DRAW) for header in (theirs, ours)]
        raise InputError(
            problem=f"the baseline's labels were drawn {how[0]}, the candidate's {how[1]}, so nobody knows"
            " how likely a question was to be labeled in both",
            remedy="draw both alike, and save the baseline again with the same --gold-chosen",
        )
    if _has_other_judge(ours, theirs) and settings.judge_changed != ALLOW:
        raise InputError(
            problem=f"the baseline was judged by {_describe_judges(theirs)}, the candidate by"
            f" {_describe_judges(ours)}, so a difference could come from the judge",
            remedy="judge the baseline again and save it, or use --judge-changed allow, which makes no claim",
        )


def _share_draw(ours: BaselineDraw, theirs: BaselineDraw) -> bool:
    """Return whether it is known how the questions were drawn that are labeled on both sides."""
    # What is in two uniform draws is one itself; where one is not stated, the verdict says so.
    if {ours.how, theirs.how} <= {DrawKind.UNIFORM, DrawKind.UNSTATED}:
        return True
    return ours.how == theirs.how and theirs.sha in (ours.sha, ours.extends)


def _describe_draw(draw: BaselineDraw) -> str:
    words = {
        str(DrawKind.UNIFORM): "uniformly at random",
        str(DrawKind.PLAN): f"by the plan {visible(draw.sha[:8])}",
        str(DrawKind.CHANCES): f"with the chances {visible(draw.sha[:8])}",
    }
    return words.get(draw.how, "in a way that nobody stated")


def _check_values(ours: GateSide, theirs: GateSide) -> None:
    """Refuse a baseline with values that its measure cannot have, or others of what is the same."""
    candidate_values = {str(score.measure): score.by_query for score in ours.scores.scores}
    for score in theirs.scores.scores:
        own = candidate_values.get(str(score.measure), {})
        low, high = _ends(score)
        # Limits that the candidate's own values break are none, as a measure of one's own may say none.
        is_sure = all(low - SLACK <= value <= high + SLACK for value in own.values() if value == value)
        for query, value in score.by_query.items():
            if is_sure and not (value != value or low - SLACK <= value <= high + SLACK):
                raise InputError(
                    problem=f"the baseline has {value:g} as {score.measure} of question {visible(query)}",
                    expected=f"{low:g} to {high:g}",
                    remedy="save it again",
                )
            # One ranking has one value by the same judgements and rules; what is said of answers may rest
            # on what others' are.
            is_same = theirs.header.judgements and ours.same.get(query, "") == theirs.same.get(query)
            if is_same and abs(value - own.get(query, math.nan)) > _ROUNDED:
                raise InputError(
                    problem=f"the baseline has {value:g} as {score.measure} of question {visible(query)}, and"
                    f" the same ranking has {own[query]:g} now",
                    remedy="save it again",
                )


def _rules_in(signature: str) -> list[str]:
    """Return a signature without its judge, and without the chunks: gold in spans does not depend on them."""
    return [part for part in signature.split("|") if not part.startswith(("judge:", "chunks:"))]


def _has_other_judge(ours: BaselineHeader, theirs: BaselineHeader) -> bool:
    return set(ours.judges) != set(theirs.judges) or set(ours.rubrics) != set(theirs.rubrics)


def _judges_and_rubrics(header: BaselineHeader) -> dict[str, list[str]]:
    return {"judges": list(filter(None, header.judges)), "rubrics": list(filter(None, header.rubrics))}


def _describe_judges(header: BaselineHeader) -> str:
    names = {key: list(map(visible, values)) for key, values in _judges_and_rubrics(header).items()}
    judges = ", ".join(names["judges"]) or "no named judge"
    return f"{judges} by {', '.join(names['rubrics'])}" if names["rubrics"] else judges


def _check_labels(common: _Common) -> None:
    """Refuse people's labels of answers of which nobody can tell whether they are the baseline's."""
    ours, theirs = common.candidate, common.baseline
    alike = ours.scores.run == theirs.scores.run and not common.is_same(common.queries)
    if ours.header.gold and not ours.header.judgements and alike:
        raise InputError(
            problem=f"candidate and baseline are both called {visible(ours.scores.run)}, so human"
            " labels may be for the answers of either",
            remedy="give each its own run_id",
        )


def _with_fewer_answers(side: GateSide, *others: GateSide) -> list[str]:
    """Return the questions to which a side has fewer answers (repeat) than it or the others have to some."""
    number = max((count for gate_side in (side, *others) for count in gate_side.repeats.values()), default=1)
    return [query for query, count in side.repeats.items() if count < number and query not in side.absent]


class _Common:
    """The questions of both sides, and what is there of each.

    Of judged answers those of either side count: where one of the two has no value of a question, or another
    list of nuggets, its judgements are missing. Of runs both have the questions that are judged.
    """

    def __init__(self, candidate: GateSide, baseline: GateSide) -> None:
        self.candidate, self.baseline = candidate, baseline
        ours = {str(score.measure): score for score in candidate.scores.scores}
        theirs = {str(score.measure): score for score in baseline.scores.scores}
        candidate_queries = dict.fromkeys(candidate.scores.scores[0].query_ids)
        baseline_queries = dict.fromkeys(baseline.scores.scores[0].query_ids)
        both = [query for query in baseline_queries if query in candidate_queries]
        self.relisted = [q for q in both if candidate.nuggets.get(q, "") != baseline.nuggets.get(q, "")]
        # Answers that are not there may have been worse. More than the baseline has are fine, if to all.
        fewer = _with_fewer_answers(candidate, baseline), _with_fewer_answers(baseline)
        self.fewer = list(
            dict.fromkeys(query for queries in fewer for query in queries if query in candidate_queries)
        )
        # What has neither an answer nor a judgement is gone, be it that somebody expected it.
        lacks = candidate.lacking
        self.removed = [
            q
            for q in baseline_queries
            if q not in baseline.lacking and (q not in candidate_queries or q in lacks)
        ]
        self.new = [
            q
            for q in candidate_queries
            if q not in lacks and (q not in baseline_queries or q in baseline.lacking)
        ]
        self.left_out = {*self.removed, *self.new} if candidate.intersection else set()
        if self.left_out:
            self.removed, self.new = [], []
        self.queries = sorted({**baseline_queries, **candidate_queries}.keys() - self.left_out)
        lost = {*self.removed, *self.relisted, *fewer[0]}, {*self.new, *fewer[1]}
        self.scores = {
            name: (
                _score_over(score, self.queries, lost[0]),
                _score_over(theirs[name], self.queries, lost[1]),
            )
            for name, score in ours.items()
        }
        self.of_baseline = [query for query in baseline_queries if query not in baseline.absent]
        self.of_candidate = [query for query in candidate_queries if query not in candidate.absent]
        self.lost = [q for q in both if q in candidate.absent - lacks and q not in baseline.absent]
        theirs_lost = baseline.absent - baseline.lacking
        self.newly_answered = {q for q in both if q in theirs_lost and q not in candidate.absent}
        self.one_only = {q for q in both if (q in candidate.absent) != (q in baseline.absent)}
        self.one_only -= candidate.lacking | baseline.lacking
        self.missing = {q for pair in self.scores.values() for score in pair for q in score.between}

    def is_same(self, queries: Sequence[str]) -> bool:
        """Return whether both give the same rankings, or answers judged alike, to all these questions."""
        ours, theirs = self.candidate.same, self.baseline.same
        return all(query in ours and ours[query] == theirs.get(query) for query in queries)

    @property
    def counts(self) -> dict[str, int]:
        """How many questions are compared, and of which not."""
        lists = {"gone": self.removed, "new": self.new, "not answered": self.lost}
        numbers = {name: len(queries) for name, queries in lists.items()}
        more = {"other nuggets": len(self.relisted), "judgements missing": len(self.missing)}
        more |= {"fewer answers": len(self.fewer)} if self.fewer else {}
        undefined = max((len(self.undefined(name)) for name in self.scores), default=0)
        compared = len(self.queries) - len({*self.removed, *self.new, *self.relisted, *self.fewer})
        more |= {"left out": len(self.left_out)} if self.left_out else {}
        return {"compared": compared, **numbers, **more, "undefined in one": undefined}

    def undefined(self, measure: str) -> list[str]:
        """Return the questions on which only one of the two has a value."""
        ours, theirs = (score.by_query for score in self.scores[measure])
        queries = [query for query in self.queries if query not in self.missing]
        return [q for q in queries if math.isnan(ours[q]) != math.isnan(theirs[q])]

    def check(self) -> None:
        """Refuse to compare few of the questions of either side, or what failed in either."""
        fewer = "have fewer answers (repeat) than others", self.fewer
        advice = ", or leave out questions that only one of the two has: --intersection (intersection=True)"
        sides = (
            ("", [("are gone", self.removed), ("are judged by other nuggets", self.relisted), fewer]),
            (" of the baseline", [("are new", self.new), fewer]),
        )
        for name, pair in self.scores.items():
            for score, (whose, lists) in zip(pair, sides, strict=True):
                missing = sum(query in score.between for query in self.queries)
                if missing > MOST_MISSING * len(self.queries):
                    how = ", ".join(
                        f"{len(queries):,} {what} ({some(queries)})" for what, queries in lists if queries
                    ) or some([query for query in self.queries if query in score.between])
                    raise MissingJudgements(
                        f"{name}: judgements{whose} are missing in {missing:,} of {len(self.queries):,}"
                        f" questions, more than {MOST_MISSING:.0%}: {how}; answer or"
                        f" judge them again{' and save it again' if whose else ''}"
                        f"{advice if self.removed or self.new else ''}"
                    )
        total = len(self.of_baseline)
        there = total - len(self.lost) - len(self.left_out.intersection(self.of_baseline))
        self._require_enough(there, total, "questions are in both")
        total = len(self.of_candidate)
        there = total - len(self.newly_answered) - len(self.left_out.intersection(self.of_candidate))
        self._require_enough(there, total, "questions have an answer in both", "candidate")
        for name, pair in self.scores.items():
            # A value that is missing is one: between its ends.
            valued = [
                {q for q, x in score.by_query.items() if x == x or q in score.between} for score in pair
            ]
            both = len(valued[0] & valued[1])
            for own, whose in zip(valued, _ALONE, strict=True):
                self._require_enough(both, len(own), f"questions have a value of {name} in both", whose)
        alone = [replace(self.candidate.scores, run=_ALONE[0]), replace(self.baseline.scores, run=_ALONE[1])]
        for why in failures(alone).values():
            raise InputError(f"the {why}", remedy="nothing was compared")

    def _require_enough(self, number: int, total: int, what: str, whose: str = "baseline") -> None:
        if not number or number < _LEAST_COMPARED * total:
            raise InputError(
                problem=f"{number:,} of the {whose}'s {total:,} {what}",
                expected=f"{_LEAST_COMPARED:.0%}",
                remedy="nothing was gated",
            )


def _score_over(score: Score, queries: Sequence[str], lost: Collection[str]) -> Score:
    """Return the score on these questions: where it has none, or it is lost, it may be whatever it can be."""
    values = score.by_query
    numbers = dict(zip(score.query_ids, score.numbers, strict=True))
    # What a side knows to be missing has its own ends, which may be narrower.
    open_to = {q: score.between.get(q, _ends(score)) for q in queries if q in lost or q not in values}
    return replace(
        score,
        query_ids=queries,
        numbers=[math.nan if query in open_to else numbers[query] for query in queries],
        between={**score.between, **open_to},
    )


def _ends(score: Score) -> tuple[float, float]:
    """Return the least and the greatest value there can be; a measure of ir_measures says none."""
    return score.measure.ends if isinstance(score.measure, Measure) else (-math.inf, math.inf)


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
    basis: Basis
    tolerance: Margin
    scaled: Pair | None = None  # beside the baseline times what is just good enough, for a share of it
    look: Look | None = None  # at the labels of a plan
    is_same: bool = False
    clusters: int | None = None  # of the questions on which both have a value

    @property
    def oriented(self) -> tuple[float, float, float]:
        """Difference and bounds, so that more is better."""
        return self._orient(self.pair)

    @property
    def beyond(self) -> tuple[float, float, float]:
        """The same of what is gained beyond a loss of the margin: above 0, it is good enough."""
        if self.scaled is not None:
            return self._orient(self.scaled)
        difference, low, high = (number + self.loss for number in self.oriented)
        return difference, low, high

    @property
    def loss(self) -> float:
        """The margin in the measure's units, by the baseline's mean."""
        return self.tolerance.size * (self.values[0] if self.tolerance.is_share else 1)

    def _orient(self, pair: Pair) -> tuple[float, float, float]:
        ends = (pair.low, pair.high) if self.sign > 0 else (-pair.high, -pair.low)
        return self.sign * pair.difference, *ends


def _parts(common: _Common, slices: Mapping[str, Mapping[str, str]]) -> Iterator[_Part]:
    yield _Part("", "", common.queries)
    for name, groups in slices.items():
        by_value: dict[str, list[str]] = {}
        for query in common.queries:
            # Of a question that is gone only the baseline may know it.
            value = groups.get(query, common.baseline.facts.get(query, {}).get(name))
            if value is not None:
                by_value.setdefault(value, []).append(query)
        yield from (_Part(name, value, by_value[value]) for value in sorted(by_value))


def _stable_decisions(
    common: _Common, parts: Sequence[_Part], settings: GateSettings, others: Sequence[float]
) -> list[Decision]:
    """Return the decisions that stand, whatever the missing judgements are."""
    decisions = _decide_all(common, parts, settings, _as_judged, others)
    if common.missing:
        for fill in (_at_worst, _at_best, _at_widest):
            other = _decide_all(common, parts, settings, fill, others)
            reason = Remark("missing_may_change", facts={"number": len(common.missing)})
            decisions = [_require_agreement(*pair, reason) for pair in zip(decisions, other, strict=True)]
    if common.one_only:
        kept = [
            part._replace(queries=[q for q in part.queries if q not in common.one_only]) for part in parts
        ]
        other = _decide_all(common, kept, settings, _as_judged, others)
        reason = Remark("one_sided_may_change", facts={"number": len(common.one_only)})
        decisions = [_require_agreement(*pair, reason) for pair in zip(decisions, other, strict=True)]
    if common.newly_answered:
        # Where the baseline has no answer it had nothing to lose.
        other = _decide_all(common, parts, settings, _with_best_baseline(common.newly_answered), others)
        reason = Remark("unanswered_may_change", facts={"number": len(common.newly_answered)})
        decisions = [_require_agreement(*pair, reason) for pair in zip(decisions, other, strict=True)]
    return decisions


def _require_agreement(one: Decision, other: Decision, reason: Remark) -> Decision:
    """Return a decision if the other is the same, else none."""
    if one.verdict == other.verdict or INFORMS in (one.verdict, other.verdict):
        return one
    # What was said of a verdict that does not stand is no reason.
    own = one.reasons if one.verdict == INCONCLUSIVE else ()
    return replace(one, verdict=INCONCLUSIVE, reasons=own or (reason,))


_Fill = Callable[[Score, Score], tuple[Sequence[float], Sequence[float]]]


def _as_judged(ours: Score, theirs: Score) -> tuple[Sequence[float], Sequence[float]]:
    return ours.numbers, theirs.numbers


def _at_worst(ours: Score, theirs: Score) -> tuple[Sequence[float], Sequence[float]]:
    return filled(ours, 0).numbers, filled(theirs, 1).numbers


def _at_best(ours: Score, theirs: Score) -> tuple[Sequence[float], Sequence[float]]:
    return filled(ours, 1).numbers, filled(theirs, 0).numbers


def _with_best_baseline(queries: Collection[str]) -> _Fill:
    """Return values of which the baseline's are the best there are on these questions."""

    def best(ours: Score, theirs: Score) -> tuple[Sequence[float], Sequence[float]]:
        end = _ends(theirs)[0 if theirs.measure.better == LOWER else 1]  # not finite, it fills nothing in
        pairs = zip(theirs.query_ids, theirs.numbers, strict=True)
        return ours.numbers, [
            end if query in queries and math.isfinite(end) else value for query, value in pairs
        ]

    return best


def _at_widest(ours: Score, theirs: Score) -> tuple[Sequence[float], Sequence[float]]:
    """Return the values with each question's difference as far from the others' as it may be."""
    low, high = _at_worst(ours, theirs), _at_best(ours, theirs)
    least, most = (np.array(pair[0]) - np.array(pair[1]) for pair in (low, high))
    middle = np.nanmean(np.array(ours.numbers) - np.array(theirs.numbers))
    is_low = np.abs(least - middle) > np.abs(most - middle)
    chosen = [np.where(is_low, low[side], high[side]).tolist() for side in (0, 1)]
    return chosen[0], chosen[1]


def _decide_all(
    common: _Common, parts: Sequence[_Part], settings: GateSettings, fill: _Fill, others: Sequence[float]
) -> list[Decision]:
    """Test every measure over every part, and decide after Holm over all that can block."""
    ours, theirs = common.candidate.scores.run, common.baseline.scores.run
    names = (ours, theirs) if ours != theirs else _ALONE
    tested = []
    for measure, pair in common.scores.items():
        scores = _pair_on(pair, common.queries)
        # Both ends of what is missing are decided here: what is tested lacks nothing.
        values = [
            replace(score, numbers=list(numbers), between={})
            for score, numbers in zip(scores, fill(*scores), strict=True)
        ]
        for part in parts:
            few = _pair_on((values[0], values[1]), part.queries)
            tested.append(_test_part(measure, part, few, names, settings, common.is_same(part.queries)))
    p = [_p_of_loss(test, settings) for test in tested]
    able = [index for index, test in enumerate(tested) if test.can_block]
    adjusted = [math.nan] * len(tested)
    family = holm(np.array([*(p[index] for index in able), *others]))[: len(able)]
    for index, value in zip(able, family.tolist(), strict=True):
        adjusted[index] = value
    return [_decide(*row, settings) for row in zip(tested, p, adjusted, strict=True)]


def _pair_on(pair: tuple[Score, Score], queries: Sequence[str]) -> tuple[Score, Score]:
    """Return both scores on these questions alone."""
    return _score_on(pair[0], queries), _score_on(pair[1], queries)


def _score_on(score: Score, queries: Sequence[str]) -> Score:
    numbers = dict(zip(score.query_ids, score.numbers, strict=True))
    people = score.people
    if people is not None:
        labels = {query: people.values[query] for query in queries if query in people.values}
        people = replace(people, values=labels)
    return replace(score, query_ids=queries, numbers=[numbers[query] for query in queries], people=people)


def _test_part(
    measure: str,
    part: _Part,
    scores: tuple[Score, Score],
    names: tuple[str, str],
    settings: GateSettings,
    is_same: bool,
) -> _Tested:
    basis, own = scores[0].claim_basis, scores
    if is_same:  # nobody's labels can make a difference of what is none
        scores = replace(scores[0], people=None), replace(scores[1], people=None)
    how = settings.comparison(names[1])
    pair = _pair_of(scores, names, how, is_same)
    sign = -1.0 if scores[0].measure.better == LOWER else 1.0
    margin = (settings.of_slices if part.field else settings.of_all).of_measure(measure)
    scaled = None
    if margin.is_share and not is_same:
        scaled = _pair_of((scores[0], _times(scores[1], margin.factor(sign))), names, how)
    can_block = not part.field or (pair.queries >= FEW and not math.isnan(pair.low))
    # The questions on which both have a value: what the difference is of.
    pairs = zip(scores[0].query_ids, scores[0].numbers, scores[1].numbers, strict=True)
    both = [query for query, ours, theirs in pairs if ours == ours and theirs == theirs]
    values = (
        estimate_value(_score_on(own[1], both), how).value,
        estimate_value(_score_on(own[0], both), how).value,
    )
    look = draw_of_pair(*scores).look
    clusters = len({settings.units[query] for query in both}) if settings.units is not None else None
    return _Tested(
        part, measure, pair, values, sign, can_block, basis, margin, scaled, look, is_same, clusters
    )


def _pair_of(
    scores: tuple[Score, Score], names: tuple[str, str], how: Settings, is_same: bool = False
) -> Pair:
    """Return what `compare` says of two scores."""
    results = [Scores(name, (score,)) for name, score in zip(names, scores, strict=True)]
    (table,) = tables(results, how)
    run_facts = RunFacts(likenesses={frozenset(names): Ruling.IDENTICAL} if is_same else {})
    with np.errstate(invalid="ignore"):
        make_pairs = corrected_pairs if is_corrected(table) else pairs_of
        (pair,) = make_pairs(table, list(names), how, run_facts)
    return pair


def _times(score: Score, factor: float) -> Score:
    """Return a score whose values, by whoever said them, are multiplied."""
    people = score.people
    if people is not None:
        people = replace(people, values={query: factor * value for query, value in people.values.items()})
    return replace(score, numbers=[factor * value for value in score.numbers], people=people)


def _p_of_loss(tested: _Tested, settings: GateSettings) -> float:
    """Return the one-sided p of what is claimed where something blocks; 1 where nothing is known."""
    difference, low, high = tested.oriented
    if math.isnan(difference) or math.isnan(tested.pair.p):
        return 1.0
    if settings.block == WORSE:
        return tested.pair.p / 2 if difference < 0 else 1 - tested.pair.p / 2
    from scipy.special import stdtr

    beyond, low, high = tested.beyond
    units, error = _error(tested, low, high, settings)
    return float(stdtr(units - 1, beyond / error)) if error else float(beyond >= 0)


def _error(tested: _Tested, low: float, high: float, settings: GateSettings) -> tuple[int, float]:
    """Return how many independent units there are, and the standard error that the bounds amount to."""
    from scipy.special import stdtrit

    units = tested.pair.queries
    if tested.pair.labels is not None:
        units = tested.pair.labels
    elif tested.clusters is not None:
        units = tested.clusters
    return units, (high - low) / 2 / float(stdtrit(max(units - 1, 1), settings.level))


def _why_open(tested: _Tested, settings: GateSettings) -> Remark | None:
    """Return why nothing may be decided, wherever the bounds lie; None if it may."""
    if tested.is_same:
        return None
    # Bounds from fewer units are too narrow far too often.
    least = max(fewest(settings.level), FEWEST_CLUSTERS)
    if tested.clusters is not None and tested.clusters < least:
        return Remark("few_clusters", facts={"number": tested.clusters, "needed": least})
    look = tested.look
    if look is not None and not look.is_last:
        return Remark("plan_not_labeled", facts={"labeled": look.labeled, "total": look.of})
    return None


def _decide(tested: _Tested, p: float, adjusted: float, settings: GateSettings) -> Decision:
    _, low, high = tested.oriented
    gained, least, most = tested.beyond
    is_worse = (most if settings.block == BEYOND else high) < 0 and gained < 0
    blocks = is_worse and adjusted <= 1 - settings.level + SLACK
    ships = least > 0 or low == high == 0
    verdict = BLOCK if blocks else SHIP if ships else INCONCLUSIVE
    reasons: tuple[Remark, ...] = ()
    if math.isnan(low):
        reasons = tested.pair.reasons or (Remark("few_independent_questions"),)
    elif verdict == INCONCLUSIVE and is_worse:
        reasons = (Remark("worse_by_itself", facts={"p": p, "adjusted": adjusted}),)
    elif verdict == SHIP and high < 0:
        reasons = (Remark("worse_within_margin"),)
    if not math.isnan(low):
        if still := _why_open(tested, settings):
            verdict, reasons = INCONCLUSIVE, (still,)
        if tested.pair.labels is not None:
            # What the pair says of its labels, but for the looks, at which another claim is decided.
            reasons += tuple(reason for reason in tested.pair.reasons if reason.code != "look_at_plan")
    if not tested.can_block:
        verdict = INFORMS
        if tested.pair.queries < FEW:
            reasons = (Remark("few_questions", facts={"needed": FEW}),)
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
        tested.loss,
        verdict,
        number,
        of,
        reasons,
        # Of what is the same on both sides a pair says no basis.
        tested.basis if tested.pair.basis == UNSTATED else tested.pair.basis,
        level=settings.level,
        margin_share=tested.tolerance.size if tested.tolerance.is_share else None,
    )


def _needed(tested: _Tested, settings: GateSettings) -> tuple[int | None, str]:
    """Return how many would decide it: to ship what is within the margin, to block what is not."""
    difference, low, high = tested.oriented
    of = "labels" if tested.pair.labels is not None else "clusters" if settings.units else "questions"
    if math.isnan(low):
        return None, of
    gap, least, most = tested.beyond
    if gap < 0 and settings.block == WORSE:
        gap, least, most = difference, low, high
    units, error = _error(tested, least, most, settings)
    return needed(gap, error, units, 2 * settings.level - 1), of


# --- what forbids a claim, and what should be said


def _doubts(decision: Decision, common: _Common, settings: GateSettings) -> Iterator[Remark]:
    """Yield what else than the system may have made the difference."""
    ours, theirs = common.candidate.header, common.baseline.header
    if _has_other_judge(ours, theirs):
        baseline = _judges_and_rubrics(theirs)
        facts = {"baseline_judges": baseline["judges"], "baseline_rubrics": baseline["rubrics"]}
        yield Remark("other_judges", facts={**_judges_and_rubrics(ours), **facts})
    unseen = common.candidate.unseen
    if unseen is not None and unseen > _MOST_UNSEEN:
        yield Remark("questions_without_judged", facts={"share": unseen})
    if ours.unjudged is not None and theirs.unjudged is not None and _have_same_depth(ours, theirs):
        shares = ours.unjudged, theirs.unjudged
        far = max(shares) >= _HOLES and abs(shares[0] - shares[1]) > _HOLES_APART
        if far and not decision.field and not _holds_for_any_judging(decision, ours, theirs, settings):
            yield Remark("other_share_unjudged", facts={"share": shares[0], "baseline": shares[1]})


def _have_same_depth(ours: BaselineHeader, theirs: BaselineHeader) -> bool:
    """Return whether the shares of unjudged documents are of the same top: by the same measures."""
    return ours.measures.keys() == theirs.measures.keys()


def _holds_for_any_judging(
    decision: Decision, ours: BaselineHeader, theirs: BaselineHeader, settings: GateSettings
) -> bool:
    """Return whether the verdict is the same wherever the means lie, whatever the unjudged documents are."""
    if decision.measure not in ours.bounds or decision.measure not in theirs.bounds:
        return False
    (low, high), (other_low, other_high) = ours.bounds[decision.measure], theirs.bounds[decision.measure]
    least, most = low - other_high, high - other_low
    margin = settings.of_all.of_measure(decision.measure)
    # The share of the least that the baseline may have is the least margin, that of the most the largest.
    least_margin, margin_at_most = (
        margin.size * (end if margin.is_share else 1) for end in (other_low, other_high)
    )
    if decision.verdict == SHIP:
        return min(least, -most) > -least_margin
    return most < -margin_at_most or least > margin_at_most


def _missed_floors(estimates: Mapping[str, Estimate], limits: Mapping[str, float]) -> Iterator[Remark]:
    for name, limit in limits.items():
        estimate = estimates[name]
        if estimate.meets(lambda value, limit=limit: value >= limit):  # type: ignore[misc]
            continue
        about, facts = Scope(measure=name), dict[str, Any](limit=limit, is_corrected=estimate.is_corrected)
        if not estimate.is_defined:
            yield Remark("no_value_for_floor", about, facts | {"reasons": estimate.reasons})
            continue
        facts |= {"mean": estimate.value, **estimate.basis.texts}
        if not estimate.value >= limit or estimate.bounds is None:
            yield Remark("below_floor", about, facts)
        else:
            lowest = {"lowest": estimate.bounds[0], "number": estimate.missing}
            yield Remark("could_be_below_floor", about, facts | lowest)


def _largest_losses(common: _Common) -> list[Fallen]:
    """Return the questions that fell most, each by the measure that fell farthest."""
    largest: dict[str, tuple[float, Fallen]] = {}
    for name, (ours, theirs) in common.scores.items():
        sign = -1.0 if ours.measure.better == LOWER else 1.0
        for query in common.queries:
            before, now = theirs.by_query[query], ours.by_query[query]
            fall = sign * (before - now)
            if fall > SLACK and fall > largest.get(query, (0.0,))[0]:
                largest[query] = fall, Fallen(query, name, before, now, ours.basis)
    worst = sorted(largest.values(), key=lambda item: (-item[0], item[1].query_id))
    return [fallen for _, fallen in worst[:_SHOWN]]


def _gate_remarks(common: _Common, decisions: Sequence[Decision], settings: GateSettings) -> Iterator[Remark]:
    """Yield what should be known beside the verdicts."""
    if any(not settings.of_all.of_measure(name).size for name in common.scores):
        yield Remark("zero_margin")
    are_runs = bool(common.candidate.header.judgements)
    if common.is_same(common.queries):
        yield Remark("same_everywhere", facts={"are_runs": are_runs, "places": ()})
    # Nothing is uncertain there, so the bounds have no width.
    elif alike := dict.fromkeys(
        decision.place for decision in decisions if decision.low == decision.high == 0
    ):
        yield Remark("same_everywhere", facts={"are_runs": are_runs, "places": list(alike)})
    yield from _question_remarks(common, decisions)
    defined = [
        decision for decision in decisions if decision.basis.corrected and decision.estimate.is_defined
    ]
    if corrected := dict.fromkeys(decision.measure for decision in defined):
        yield Remark("corrected_differences", facts={"measures": list(corrected)})
    are_labels_passed = any(pair[0].people is not None for pair in common.scores.values())
    for basis in dict.fromkeys(decision.basis for decision in decisions if decision.basis.is_judge):
        yield Remark(
            "judges_of_verdict",
            facts={
                "measures": list(
                    dict.fromkeys(decision.measure for decision in decisions if decision.basis == basis)
                ),
                **basis.texts,
                "are_labels_passed": are_labels_passed,
            },
        )
    words = [name for name, pair in common.scores.items() if pair[0].basis.is_of_texts]
    if words:
        yield Remark("values_of_texts", facts={"measures": words})
    ours, theirs = common.candidate.header.known, common.baseline.header.known
    if ours and theirs and ours != theirs:
        yield Remark("other_questions_file")
    header = common.baseline.header
    if header.unjudged and not _have_same_depth(common.candidate.header, header):
        yield Remark("other_depth")
    for decision in decisions:
        if decision.reasons and decision.verdict != INFORMS:
            about, facts = (
                Scope(measure=decision.measure),
                {"place": decision.place, "reasons": decision.reasons},
            )
            yield Remark("reasons_of_decision", about, facts)


def _question_remarks(common: _Common, decisions: Sequence[Decision]) -> Iterator[Remark]:
    """Yield which questions are compared with nothing, or only in part."""

    def some(queries: Sequence[str]) -> dict[str, Any]:
        return {"number": len(queries), "examples": list(queries[:EXAMPLES])}

    if common.removed:
        yield Remark("gone_questions", facts=some(common.removed))
    if common.new:
        yield Remark("new_questions", facts=some(common.new))
    if common.lost:
        yield Remark("lost_answers", facts=some(common.lost))
    if common.newly_answered:
        yield Remark("new_answers", facts=some(sorted(common.newly_answered)))
    if common.relisted:
        yield Remark("other_nuggets", facts=some(common.relisted))
    if common.fewer:
        yield Remark("fewer_answers_to_questions", facts=some(common.fewer))
    if common.left_out:
        yield Remark("one_sided_questions", facts=some(sorted(common.left_out)))
    if common.missing:
        changes = any(
            reason.code == "missing_may_change" for decision in decisions for reason in decision.reasons
        )
        facts = {"number": len(common.missing), "could_change": changes}
        yield Remark("missing_in_questions", facts=facts)
    for name in common.scores:
        undefined = common.undefined(name)
        if undefined:
            yield Remark("one_sided_values", Scope(measure=name), {"number": len(undefined)})


# The two sides of a gate: a run or judged answers that were scored, and a baseline as a file keeps it.

Facts = Mapping[str, Mapping[str, str]]  # question -> field -> value


def chosen_system(results: Sequence[Scores], system: str | None) -> Scores:
    """Return the scores of the gated system: the only one, or the named one."""
    names = [scores.run for scores in results]
    name = names[0] if system is None and len(names) == 1 else system
    if name not in names:
        choices = ", ".join(map(visible, names))
        raise UsageError(
            f"expected one system, the candidate, found {choices}; choose one with --system RUN_ID"
        )
    return results[names.index(name)]


def side_of(
    subject: Subject, scores: Scores, facts: Facts | None = None, questions_hash: str = ""
) -> GateSide:
    """Return a system as one side; `questions_hash` is that of the file of the questions."""
    if scores.is_adaptive:
        raise UsageError(
            f"{visible(scores.run)}: {Remark('adaptive_judgements')}; gate judgements of what was fixed"
            " before"
        )
    context = subject.fingerprint(scores)
    people = [score.people for score in scores.scores if score.people is not None]
    said_by = {judge for score in scores.scores for judge in score.said_by}
    header = BaselineHeader(
        measures={str(score.measure): score.signature for score in scores.scores},
        questions=len(scores.scores[0].query_ids),
        run=scores.run,
        version=__version__,
        judges=sorted(said_by),
        gold=people[0].draw.sha if people else "",
        draw=_baseline_draw(people[0].draw) if people else None,
        labelled_by=sorted({who for values in people for who in values.by}),
        known=questions_hash,
        judgements=context.judgements,
        rubrics=list(context.rubrics),
        unjudged=context.unjudged,
        bounds=dict(context.bounds),
    )
    given = (
        context.absent,
        context.same,
        context.nuggets,
        facts or {},
        context.repeats,
        context.unseen,
        context.lacking,
    )
    return GateSide(scores, header, *given, intersection=subject.rules.intersection)


# --- the file


def baseline_of(side: GateSide, date: str) -> Baseline:
    """Return a side as a baseline; raise `MissingJudgements` if too many of its judgements are missing."""
    scores = side.scores.scores
    queries = list(scores[0].query_ids)
    _refuse_missing(scores, len(queries))
    header = msgspec.structs.replace(side.header, date=date, questions=len(queries))
    by_name = {str(score.measure): score for score in scores}
    return Baseline(header, [_baseline_line(side, by_name, query) for query in queries])


def _refuse_missing(scores: Sequence[Score], number: int) -> None:
    """Refuse scores of this number of questions if too many judgements or human labels are missing."""
    missing = {query for score in scores for query in score.between}
    if len(missing) > MOST_MISSING * number:
        raise MissingJudgements(
            f"judgements are missing in {len(missing):,} of {number:,} questions, more than"
            f" {MOST_MISSING:.0%}; judge them again before this becomes a baseline"
        )
    for people in (score.people for score in scores if score.people is not None):
        if why := why_lost(len(people.failed), len(people.values)):
            raise MissingJudgements(f"{why} before this becomes a baseline")


def _baseline_line(side: GateSide, by_name: Mapping[str, Score], query: str) -> BaselineLine:
    values = {name: score.by_query[query] for name, score in by_name.items()}
    # Shares are numbers, but no file holds their parts.
    bounds = {
        name: (float(score.between[query][0]), float(score.between[query][1]))
        for name, score in by_name.items()
        if query in score.between
    }
    human_values = {
        name: score.people.values[query]
        for name, score in by_name.items()
        if score.people is not None and query in score.people.values
    }
    return BaselineLine(
        query_id=query,
        values={name: value if value == value else None for name, value in values.items()},
        between=bounds,
        people=human_values,
        facts=dict(side.facts.get(query, {})),
        repeats=side.repeats.get(query, 1),
        absent=query in side.absent,
        same=side.same.get(query, ""),
        nuggets=side.nuggets.get(query, ""),
    )


def baseline_in(source: Source) -> Baseline:
    """Read a baseline; `InputError` for judgements and runs in its place says what takes them."""
    source = as_local_file(source)
    kind = kind_of(source)
    if kind is not None and kind.holds in (JUDGED_ANSWERS, RUNS):
        name = visible(name_of(source))
        others = "" if kind.holds == JUDGED_ANSWERS else " QRELS"
        raise WrongKind(
            at=Place(name),
            problem=f"has {kind.noun}, not a baseline",
            remedy=f"to compare the two: rageval compare {name} CANDIDATE{others}; to gate with it,"
            f" save it first: rageval gate {name}{others} -m MEASURES --save-baseline FILE",
        )
    if kind is not None and kind.name != "baseline":
        raise wrong_kind(source, kind, "a baseline, which rageval gate --save-baseline writes")
    return read_baseline(source)


def baseline_side(baseline: Baseline, candidate: GateSide) -> GateSide:
    """Return a baseline as the side to compare a candidate with, by the candidate's measures."""
    header, lines = baseline
    ids = [line.query_id for line in lines]
    scores = []
    for ours in candidate.scores.scores:
        name = str(ours.measure)
        if name in header.measures:
            scores.append(_score(ours, name, ids, baseline))
    baseline_scores = Scores(header.run or "baseline", tuple(scores))
    absent = frozenset(line.query_id for line in lines if line.absent)
    return GateSide(
        baseline_scores,
        header,
        absent,
        {line.query_id: line.same for line in lines if line.same},
        {line.query_id: line.nuggets for line in lines if line.nuggets},
        {line.query_id: line.facts for line in lines},
        {line.query_id: line.repeats for line in lines},
        None,
        frozenset() if header.judgements else without_value(baseline_scores, absent),
    )


def _baseline_draw(draw: Draw) -> BaselineDraw:
    extends = draw.plan.extends if draw.plan is not None else ""
    # Not of all questions, of which it does not matter how they were drawn.
    how = draw.kind(unlabeled=1)
    return BaselineDraw(how=how, sha=draw.origin, extends=extends, labeled=draw.labeled)


def _draw_of_baseline(saved: BaselineDraw, ours: Draw) -> Draw:
    """Return the draw of a baseline's labels; by a plan or by chances they were drawn as the candidate's."""
    if saved.how == DrawKind.UNIFORM:
        return Draw(how=UNIFORM)
    if ours.plan is not None and saved.sha:
        return replace(ours, labeled=max(1, min(saved.labeled, len(ours.plan.asked))))
    return ours if saved.sha else Draw()


def _score(ours: Score, name: str, ids: Sequence[str], baseline: Baseline) -> Score:
    numbers = [line.values[name] for line in baseline.lines]
    people = None
    if ours.people is not None:
        human_values = {line.query_id: line.people[name] for line in baseline.lines if name in line.people}
        by = tuple(baseline.header.labelled_by)
        draw = _draw_of_baseline(baseline.header.draw or _UNSTATED_DRAW, ours.people.draw)
        people = People(human_values, draw, by=by, tests=ours.people.tests)
    return Score(
        ours.measure,
        ids,
        [math.nan if number is None else number for number in numbers],
        0,
        baseline.header.measures[name],
        said_by=ours.said_by,
        of_words=ours.of_words,
        people=people,
        between={line.query_id: line.between[name] for line in baseline.lines if name in line.between},
    )
