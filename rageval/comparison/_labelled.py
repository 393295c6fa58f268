"""A judge's values beside people's labels of some: means and differences as people would have them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rageval.errors import TooFewLabels
from rageval.files.plans import Look
from rageval.scoring.gold import Draw, People, chances_of
from rageval.scoring.scores import Score
from rageval.statistics import LEVEL
from rageval.statistics.bootstrap import Limits, ranges_of
from rageval.statistics.correction import FEWEST, Corrected, corrected
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.results import Settings

_APART = 0.01  # p below which labelled queries are no random draw


class Labelled(NamedTuple):
    """The judge's values, people's of some by place, and the queries; or `why` nothing can be corrected.

    `how` is what else `corrected` takes; a claim at a `look` needs more than one that is made once.
    """

    queries: tuple[str, ...] = ()
    judged: Sequence[float] = ()
    people: Mapping[int, float] = {}
    found: Corrected | None = None
    why: str = ""
    how: Mapping[str, Any] = {}
    look: Look | None = None

    @property
    def mean(self) -> float:
        """The judge's mean."""
        return math.fsum(self.judged) / len(self.judged) if len(self.judged) else math.nan


def people_of(score: Score) -> People:
    """Return what people said of a score, and be it nothing."""
    return score.people if score.people is not None else People({}, Draw())


FEWEST_OF_SLICE, _FEWEST_TELL = 10, 15  # labels: for an interval, and for a slope of its own


def corrected_slice(
    score: Score, settings: Settings | None, queries: Collection[str], whole: Labelled
) -> Labelled:
    """Return a system's mean over some queries, corrected; with few labels as far as all labels tell."""
    labels = sum(query in queries for query in people_of(score).values)
    if labels >= _FEWEST_TELL or whole.found is None:
        return corrected_score(score, settings, queries, _FEWEST_TELL)
    return corrected_score(score, settings, queries, FEWEST_OF_SLICE, whole.found.slope)


def corrected_score(
    score: Score,
    settings: Settings | None,
    only: Collection[str] | None = None,
    fewest: int = FEWEST,
    slope: float | None = None,
) -> Labelled:
    """Return a system's mean by a measure, corrected; over some of the queries only, if these are named."""
    people = people_of(score)
    queries = tuple(sorted(q for q, v in score.by_query.items() if v == v and (only is None or q in only)))
    judged = [score.by_query[query] for query in queries]
    labels = {at: people.values[query] for at, query in enumerate(queries) if query in people.values}
    found = Labelled(queries, judged, labels)
    if people.draw.compares:
        names = " and ".join(sorted(map(visible, people.draw.compares)))
        return found._replace(why=f"the labels were drawn to compare {names}, and tell nothing of a mean")
    if len(labels) < fewest:
        return found._replace(why=f"people judged {len(labels):,} of it (≥ {fewest} needed)")
    low, high, span = scale_of([*judged, *labels.values()], score.measure.limits)
    width = high - low if math.isfinite(high - low) else span
    how = {"fewest": fewest, "slope": slope, "paired": False, "within": (low, high), "span": width}
    return _estimated(found, people.draw, settings, how)


def scale_of(values: Sequence[float], limits: Limits | None) -> tuple[float, float, float]:
    """Return the ends of a measure's scale, not of what was seen on it, and how far a difference may be off.

    >>> scale_of([0.0, 0.0], None), scale_of([0.5], (-1.0, 1.0)), scale_of([12.0], None)
    ((0.0, 1.0, 1.0), (-1.0, 1.0, 1.0), (-inf, inf, 12.0))
    """
    scale = ranges_of(np.array(values, np.float64)[:, None], limits)
    return float(scale.low[0]), float(scale.high[0]), float(scale.span[0])


def corrected_pair(
    one: Score, other: Score, names: tuple[str, str], settings: Settings | None, lacking: Collection[str] = ()
) -> Labelled:
    """Return the difference of two systems by a measure, corrected, on the queries that neither lacks."""
    ours, theirs = one.by_query, other.by_query
    queries = tuple(
        sorted(
            q
            for q, v in ours.items()
            if v == v and theirs.get(q, math.nan) == theirs.get(q) and q not in lacking
        )
    )
    judged = [ours[query] - theirs[query] for query in queries]
    mine, yours = people_of(one), people_of(other)
    both = mine.values.keys() & yours.values.keys()
    draw = mine.draw if one.people is not None else yours.draw
    look = draw.look
    seen = both if look is None else both & set(look.queries)
    labels = {at: mine.values[q] - yours.values[q] for at, q in enumerate(queries) if q in seen}
    found = Labelled(queries, judged, labels, look=look)
    if why := _no_labels(draw, names, one, len(labels)):
        return found._replace(why=why)
    values = [side[query] for side in (ours, theirs) for query in queries]
    values += [side.values[query] for side in (mine, yours) for query in both]
    low, high, span = scale_of(values, one.measure.limits)
    within = (low - high, high - low)
    same = [at for at, query in enumerate(queries) if draw.compares and query in draw.same]
    how = {"paired": True, "within": within, "span": span, "same": same}
    return _estimated(found, draw, settings, how)


def _no_labels(draw: Draw, names: Collection[str], score: Score, labels: int) -> str:
    """Return why labels say nothing of a pair by this measure, or nothing yet."""
    look = draw.look
    if draw.compares and draw.compares != set(names):
        compared = " and ".join(sorted(map(visible, draw.compares)))
        return f"the labels were drawn to compare {compared}, and no others"
    if look is not None and draw.plan is not None and str(score.measure) != draw.plan.measure:
        return f"the plan decides by {draw.plan.measure}, and looks at nothing else"
    if look is not None and not look.number:
        return (
            f"people labelled {draw.labelled:,} queries of the plan, which looks at them from {look.next} on"
        )
    return f"people judged {labels:,} of both (≥ {FEWEST} needed)" if labels < FEWEST else ""


def _estimated(found: Labelled, draw: Draw, settings: Settings | None, how: Mapping[str, Any]) -> Labelled:
    """Return the values with what labels make of them, or why they make nothing."""
    labelled = [found.queries[at] for at in found.people]
    chosen = chances_of(draw, found.queries, labelled)
    level, population, of_query = LEVEL, "kind", None
    if settings is not None:
        level, population, of_query = settings.level, settings.population, settings.clusters
    clusters = None if of_query is None else [of_query[query] for query in found.queries]
    try:
        estimate = corrected(
            found.judged,
            found.people,
            level=level,
            population=population,  # type: ignore[arg-type]  # checked by Settings
            chosen=chosen,
            clusters=clusters,
            **how,
        )
    except TooFewLabels as error:
        return found._replace(why=str(error))
    return found._replace(found=estimate, how=how)


def said_of_draw(p: float) -> str:
    """Say of labels of whose choice nothing was said that they seem to be chosen; empty if they do not."""
    if not p < _APART:
        return ""
    return (
        f"the judge's values of labelled queries differ from those of the others (p {p:.1e}), so the labels"
        " seem to be no random draw; say how they were chosen (--gold-chosen FILE), or draw them by rageval"
        " label-plan"
    )
