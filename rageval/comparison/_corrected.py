"""Claims that rest on people's labels: every mean and difference corrected, or refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from rageval.comparison._labelled import Labelled, corrected_pair, corrected_score, people_of, said_of_draw
from rageval.comparison._pairs import KnownOfRuns, Table
from rageval.comparison._verdicts import Ruling, outcomes, refused, ruling, said_of_unlike, unlike
from rageval.comparison.results import (
    IDENTICAL,
    TIES_ONLY,
    UNDECIDED,
    Cell,
    Pair,
    Settings,
    better_of,
    worded,
)
from rageval.errors import UsageError
from rageval.files.plans import Look
from rageval.measures.base import LOWER, NEITHER
from rageval.scoring.gold import UNSAID
from rageval.scoring.scores import BY_PEOPLE, Score
from rageval.statistics.correction import drawn_apart, max_t
from rageval.statistics.planning import look_bounds
from rageval.statistics.power import detectable
from rageval.statistics.significance import holm
from rageval.text import visible

_ESTIMATOR = "reg"


def is_corrected(table: Table) -> bool:
    """Return whether people's labels of what the measure rests on are at hand."""
    return any(score.people is not None for score in table.scores)


def check_gold(tables: Sequence[Table], settings: Settings) -> None:
    """Refuse what is no test of corrected differences."""
    if not any(map(is_corrected, tables)):
        return
    if settings.adjust == "tukey":
        raise UsageError("adjust='tukey' shuffles values, and corrected ones are none; choose holm or max_t")
    if settings.test == "wilcoxon":
        raise UsageError(
            "test='wilcoxon' knows no corrected differences, which Student's t tests; leave it out"
        )


def best_of(table: Table, cells: Sequence[Cell], able: Sequence[bool]) -> Table:
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
        basis=BY_PEOPLE,
        judged=score.value,
        labels=len(labelled.people),
        gain=found.gain if found else math.nan,
        why=labelled.why,
    )


def corrected_pairs(table: Table, runs: list[str], settings: Settings, known: KnownOfRuns) -> list[Pair]:
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
    table: Table,
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
    verdict = worded(ruled.verdict, better)
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
        if found
        else math.nan,
        needed_least=None,
        needed_most=None,
        verdict=verdict,
        why=ruled.why,
        better_run=better_of(*names, verdict, better),
        basis=BY_PEOPLE,
        judged=difference.mean,
        people=float(labels.mean()) if len(labels) else math.nan,
        labels=len(labels),
        gain=found.gain if found else math.nan,
    )


def _ruled(
    table: Table,
    pair: tuple[int, int],
    difference: Labelled,
    p: float,
    names: tuple[str, str],
    settings: Settings,
    known: KnownOfRuns,
) -> Ruling:
    """Return what may be claimed of one pair; never what the judge alone says of it."""
    why = next((known.failed[name] for name in names if name in known.failed), "")
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
    found = ruling(p, difference.found.value, level)
    coarse = difference.found.coarse
    said = [f"coarse: {coarse:,} of {len(difference.people):,} labels differ"] if coarse is not None else []
    said += [_said_of_look(look, level, found.verdict)] if look is not None else []
    return found._replace(why="; ".join(said))


def _said_of_look(look: Look, level: float, verdict: str) -> str:
    """Say whether to label on: p is held against O'Brien and Fleming's bound of this look."""
    begun = (
        f"look {look.number} of {look.of}, at {len(look.queries):,} labelled queries (p < {1 - level:.2g})"
    )
    if verdict != UNDECIDED:
        return f"{begun}: stop, it is clear"
    return f"{begun}: go on to {look.next:,}" if look.next else f"{begun}: stop, it stays undecided"


def said_of_gold(tables: Sequence[Table], cells: Sequence[Cell], pairs: Sequence[Pair]) -> Iterator[str]:
    """Say where labels are few, where they seem to be no random draw, and whether to label on."""
    looked = {str(t.measure) for table in tables for t in table.scores if t.people and t.people.draw.look}
    for pair in pairs:
        if pair.measure in looked and pair.why:
            yield f"{visible(pair.run)} against {visible(pair.other)}: {pair.measure}: {pair.why}"
    for table in filter(is_corrected, tables):
        name = str(table.scores[0].measure)
        for cell in (cell for cell in cells if cell.measure == name and cell.why):
            yield f"{visible(cell.run)}: {name}: no corrected mean: {cell.why}"
        draws = [score.people.draw for score in table.scores if score.people is not None]
        if draws and draws[0].how != UNSAID:
            continue
        for score, cell in zip(table.scores, [cell for cell in cells if cell.measure == name], strict=True):
            if said := said_of_draw(_p_of_draw(score)):
                yield f"{visible(cell.run)}: {name}: {said}"


def _p_of_draw(score: Score) -> float:
    known = [(query, value) for query, value in score.by_query.items() if value == value]
    places = {at for at, (query, _) in enumerate(known) if query in people_of(score).values}
    return drawn_apart([value for _, value in known], places) if places else 1.0


def gold_signature(tables: Sequence[Table], pairs: Sequence[Pair]) -> str:
    """Return what labels the claims rest on: `gold:SHA8|labels:n|chosen:uniform|estimator:reg`."""
    draws = [score.people.draw for table in tables for score in table.scores if score.people is not None]
    if not draws:
        return ""
    counts = sorted({pair.labels for pair in pairs if pair.labels is not None})
    labels = "-".join(str(count) for count in dict.fromkeys((counts[0], counts[-1]))) if counts else "0"
    return f"gold:{draws[0].sha}|labels:{labels}|chosen:{draws[0].how}|estimator:{_ESTIMATOR}"
