"""Claims that rest on labels: every mean and difference corrected, or refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from rageval.comparison._labelled import Labelled, corrected_pair, corrected_score
from rageval.comparison._pairs import KnownOfRuns, Tested
from rageval.comparison._verdicts import Ruling, outcomes, refused, ruling, said_of_unlike, unlike
from rageval.comparison.results import (
    UNDECIDED,
    Cell,
    Pair,
    Settings,
    better_of,
    worded,
)
from rageval.files.plans import Look
from rageval.measures.base import LOWER, NEITHER
from rageval.scoring.basis import basis_of_gold
from rageval.scoring.likeness import IDENTICAL, TIES_ONLY
from rageval.scoring.scores import Score
from rageval.statistics.correction import max_t
from rageval.statistics.power import detectable
from rageval.statistics.significance import holm
from rageval.statistics.stopping import look_bounds
from rageval.text import visible

_ESTIMATOR = "reg"


def is_corrected(table: Tested) -> bool:
    """Return whether people's labels of what the measure rests on are at hand."""
    return any(score.people is not None for score in table.scores)


def check_gold(tables: Sequence[Tested], settings: Settings) -> None:
    """Refuse what is no test of corrected differences."""
    if not any(map(is_corrected, tables)):
        return


def best_of(table: Tested, cells: Sequence[Cell], able: Sequence[bool]) -> Tested:
    """Return the table with the best runs by the corrected means, as far as these are known."""
    known = [at for at, cell in enumerate(cells) if able[at] and not math.isnan(cell.value)]
    if table.better == NEITHER or not known:
        return table._replace(best=frozenset())
    sign = -1.0 if table.better == LOWER else 1.0
    top = max(sign * cells[at].value for at in known)
    best = [at for at in known if sign * cells[at].value == top]
    return table._replace(best=frozenset(best), base=best[0])


def corrected_cell(run: str, score: Score, settings: Settings) -> Cell:
    """Return a run's corrected mean; NaN, beside the judge's, where people's labels are too few."""
    labelled = corrected_score(score, settings)
    found = labelled.found
    value, low, high = (found.value, found.low, found.high) if found else (math.nan,) * 3
    basis, source = score.claimed_by
    return Cell(
        run=run,
        measure=str(score.measure),
        value=value,
        low=low,
        high=high,
        queries=len(labelled.queries),
        undefined=score.undefined,
        is_best=False,
        signature=score.signature,
        basis=basis,
        corrected_from=source,
        judged=score.value,
        labels=len(labelled.people),
        gain=found.gain if found else math.nan,
        why=labelled.why or labelled.doubt,
    )


def corrected_pairs(table: Tested, runs: list[str], settings: Settings, known: KnownOfRuns) -> list[Pair]:
    """Return every pair that is shown, tested by what people's labels make of the judge's difference."""

    def difference(first: int, second: int) -> Labelled:
        names = runs[first], runs[second]
        lacking = set(known.absent.get(names[0], ())) | set(known.absent.get(names[1], ()))
        return corrected_pair(table.scores[first], table.scores[second], names, settings, lacking)

    family = [(first, second) for first, second in table.pairs.tolist()]
    tested = [difference(*pair) for pair in family]
    adjusted = dict(zip(map(frozenset, family), _adjusted(tested, settings), strict=True))
    return [
        _pair(table, (first, second), difference(first, second), adjusted, runs, settings, known)
        for first, second in table.shown(settings).pairs.tolist()
    ]


def _adjusted(tested: Sequence[Labelled], settings: Settings) -> list[float]:
    """Return p adjusted for all pairs that could be tested; NaN for others."""
    found = [(at, each.found) for at, each in enumerate(tested) if each.found is not None]
    p = [each.p for _, each in found]
    if settings.adjust == "holm":
        p = holm(np.array(p)).tolist()
    elif settings.adjust == "max_t" and found:
        units = [each.units if settings.clusters is not None else tested[at].queries for at, each in found]
        p = max_t([each for _, each in found], units=units, draws=settings.draws, seed=settings.seed)
    result = [math.nan] * len(tested)
    for (at, _), value in zip(found, p, strict=True):
        result[at] = value
    return result


def _pair(
    table: Tested,
    pair: tuple[int, int],
    difference: Labelled,
    adjusted: dict[frozenset[int], float],
    runs: list[str],
    settings: Settings,
    known: KnownOfRuns,
) -> Pair:
    found, better = difference.found, table.better
    names = runs[pair[0]], runs[pair[1]]
    p = adjusted[frozenset(pair)]
    ruled = _ruled(table, pair, difference, p, names, settings, known)
    labels = np.array(list(difference.people.values()), np.float64)
    won, tied, lost = outcomes(labels, better)
    labellers = [each.people.by for each in (table.scores[pair[0]], table.scores[pair[1]]) if each.people]
    basis, source = basis_of_gold(dict.fromkeys(chain.from_iterable(labellers))), table.scores[pair[0]].basis
    verdict = worded(ruled.verdict, better, basis, source)
    spread = float(labels.std(ddof=1)) if len(labels) > 1 else 0.0
    value, low, high = (found.value, found.low, found.high) if found else (math.nan,) * 3
    return Pair(
        run=names[0],
        other=names[1],
        measure=str(table.scores[0].measure),
        queries=len(difference.queries),
        difference=value,
        low=low,
        high=high,
        p=found.p if found else math.nan,
        adjusted=p,
        effect=value / spread if spread else math.nan,
        wins=won,
        ties=tied,
        losses=lost,
        detectable=detectable(found.error, len(labels), settings.level, settings.power)
        if found and found.error
        else math.nan,
        needed_least=None,
        needed_most=None,
        verdict=verdict,
        why=ruled.why,
        better_run=better_of(*names, verdict, better),
        basis=basis,
        corrected_from=source,
        judged=difference.mean,
        people=float(labels.mean()) if len(labels) else math.nan,
        labels=len(labels),
        gain=found.gain if found else math.nan,
    )


def _ruled(
    table: Tested,
    pair: tuple[int, int],
    difference: Labelled,
    p: float,
    names: tuple[str, str],
    settings: Settings,
    known: KnownOfRuns,
) -> Ruling:
    """Return what may be claimed of one pair; never what the judge alone says of it."""
    why = known.forbids(names, str(table.scores[pair[0]].measure))
    if why:
        return refused(why)
    likeness = known.alike.get(frozenset(names))
    if likeness == IDENTICAL:
        return Ruling(IDENTICAL, "the runs rank the same documents in the same order")
    if likeness == TIES_ONLY:
        return Ruling(TIES_ONLY, "the runs differ only in the order of documents that one of them ties")
    scores = table.scores[pair[0]], table.scores[pair[1]]
    if scores[0].signature != scores[1].signature:
        return refused("they were not scored alike: their signatures differ; score both by the same rules")
    by_others = said_of_unlike(scores[0], unlike(*scores, names))
    if by_others or difference.found is None:
        return refused(by_others or difference.why)
    level, look = settings.level, difference.look
    people = scores[0].people
    if look is not None and people is not None and people.draw.plan is not None:
        level = 1 - look_bounds(look.of, people.draw.plan.level)[look.number - 1]
    # Student's t of the corrected difference has its sign.
    value = difference.found.value
    found = ruling(p, (value > 0) - (value < 0), value, level)
    # As of a judge alone: what some values of missing judgements show and others do not is not claimed.
    if found.verdict == UNDECIDED and difference.least_p <= 1 - level:
        return refused(f"judgements are missing in {difference.lacks:,} queries, which could turn it round")
    coarse = difference.found.coarse
    said = [f"coarse: {coarse:,} of {len(difference.people):,} labels differ"] if coarse is not None else []
    said += [_said_of_look(look, level, found.verdict)] if look is not None else []
    said += [difference.doubt] if difference.doubt else []
    return found._replace(why="; ".join(said))


def _said_of_look(look: Look, level: float, verdict: str) -> str:
    """Say whether to label on: p is held against O'Brien and Fleming's bound of this look."""
    begun = (
        f"look {look.number} of {look.of}, at {len(look.queries):,} labelled queries (p < {1 - level:.2g})"
    )
    if verdict != UNDECIDED:
        return f"{begun}: stop, it is clear"
    return f"{begun}: go on to {look.next:,}" if look.next else f"{begun}: stop, it stays undecided"


def said_of_gold(tables: Sequence[Tested], cells: Sequence[Cell], pairs: Sequence[Pair]) -> Iterator[str]:
    """Say where labels are few, where they seem to be no random draw, and whether to label on."""
    looked = {str(t.measure) for table in tables for t in table.scores if t.people and t.people.draw.look}
    for pair in pairs:
        if pair.measure in looked and pair.why:
            yield f"{visible(pair.run)} against {visible(pair.other)}: {pair.measure}: {pair.why}"
    for table in filter(is_corrected, tables):
        name = str(table.scores[0].measure)
        for cell in (cell for cell in cells if cell.measure == name and cell.why):
            what = "no corrected mean: " if math.isnan(cell.value) else ""
            yield f"{visible(cell.run)}: {name}: {what}{cell.why}"
        if any(cell.low == cell.high for cell in cells if cell.measure == name) or any(
            pair.low == pair.high for pair in pairs if pair.measure == name
        ):
            yield f"{name}: human labels cover every query of this set: where they do, nothing is uncertain"


def gold_signature(tables: Sequence[Tested], pairs: Sequence[Pair]) -> str:
    """Return what labels the claims rest on: `gold:SHA8|labels:n|chosen:uniform|estimator:reg`."""
    draws = [score.people.draw for table in tables for score in table.scores if score.people is not None]
    if not draws:
        return ""
    counts = sorted({pair.labels for pair in pairs if pair.labels is not None})
    labels = "-".join(str(count) for count in dict.fromkeys((counts[0], counts[-1]))) if counts else "0"
    return f"gold:{draws[0].sha}|labels:{labels}|chosen:{draws[0].how}|estimator:{_ESTIMATOR}"
