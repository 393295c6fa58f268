"""Were all systems judged by the same nuggets? If not, their scores are not comparable."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rageval.files.judgements import JudgementTable
from rageval.measures.scales import OUTCOME, POSITION, SUPPORT, Scale
from rageval.scoring.assessing import on
from rageval.text import visible

_SHOWN = 60
_JudgedBy = Mapping[str, frozenset[Any]]


class _Nugget(NamedTuple):
    """What a system was judged by; equal if its name, its importance and its weight are."""

    aspect: int
    importance: str | None
    weight: float | None


def differences(table: JudgementTable) -> Iterator[str]:
    """Yield a sentence on nuggets that only some systems were judged by, and on importances and weights."""
    systems: dict[int, int] = {}
    judged: Counter[tuple[int, int]] = Counter()
    said: dict[tuple[int, int], set[_Nugget]] = {}
    for query, by_run in _nuggets(table).items():
        systems[query] = len(by_run)
        for nuggets in by_run.values():
            judged.update({(query, nugget.aspect) for nugget in nuggets})
            for nugget in nuggets:
                said.setdefault((query, nugget.aspect), set()).add(nugget)
    some = sorted(place for place, number in judged.items() if number < systems[place[0]])
    if some:
        query, aspect = some[0]
        name = visible(table.aspects.words[aspect])[:_SHOWN]
        yield (
            f"the systems were judged by different nuggets in {len({query for query, _ in some}):,} queries:"
            f" in {visible(table.queries.words[query])}, {judged[query, aspect]} of"
            f" {systems[query]} systems by {name!r}; their scores are not comparable there"
        )
    unlike = sum(len({nugget.importance for nugget in nuggets}) > 1 for nuggets in said.values())
    if unlike:
        yield f"{unlike:,} nuggets are vital for some systems and okay, or nothing, for others"
    unlike = sum(len({nugget.weight for nugget in nuggets}) > 1 for nuggets in said.values())
    if unlike:
        yield f"{unlike:,} criteria have another weight, or none, for some systems than for others"


def _judged_by(table: JudgementTable, run: int, scales: Iterable[Scale]) -> _JudgedBy:
    """Return by what a system was judged (nuggets, opponents) where not all were judged by the same."""
    found: dict[str, frozenset[Any]] = {}
    words = table.queries.words
    for scale in scales:
        if scale is SUPPORT:
            by_query = _nuggets(table).items()
            found |= {words[query]: by_run[run] for query, by_run in by_query if run in by_run}
        elif scale in (OUTCOME, POSITION):
            met = _met(table, scale).get(run, {})
            found |= {words[query]: frozenset(names) for query, names in met.items()}
    return found


def _nuggets(table: JudgementTable) -> dict[int, dict[int, frozenset[_Nugget]]]:
    """Return the nuggets of each system in queries where not all systems were judged by the same."""
    if "nuggets" not in table.kept:
        several = len(table.runs.words) > 1 and _speaks_of_nuggets(table)
        # The cheap look first: of millions of judgements nearly all tables are alike.
        alike = not several or _all_alike(table)
        table.kept["nuggets"] = {} if alike else dict(_unlike(table))
    found: dict[int, dict[int, frozenset[_Nugget]]] = table.kept["nuggets"]
    return found


def _all_alike(table: JudgementTable) -> bool:
    """Return whether it is plain that all answers to a query were judged by the same, with all their rows."""
    first: dict[int, int] = {}
    numbers: dict[tuple[str | None, float | None], int] = {}
    of_code = [numbers.setdefault((said.importance, said.weight), len(numbers)) for said in table.said.words]
    # Numbers in an array compare at once, where records would be compared one by one.
    kind = array("i", map(of_code.__getitem__, table.row_said))  # rows that speak of nuggets alike
    for answer, query in enumerate(table.query):
        other = first.setdefault(query, answer)
        here, there = (slice(table.begin[at], table.end[at]) for at in (answer, other))
        if table.row_aspect[here] == table.row_aspect[there] and kind[here] == kind[there]:
            continue
        ours, theirs = ({*zip(table.row_aspect[at], kind[at], strict=True)} for at in (here, there))
        if ours != theirs:
            return False
    return True


def _unlike(table: JudgementTable) -> Iterator[tuple[int, dict[int, frozenset[_Nugget]]]]:
    support = on(table, SUPPORT)
    answers: dict[int, list[int]] = {}
    for answer, query in enumerate(table.query):
        answers.setdefault(query, []).append(answer)
    for query, those in sorted(answers.items()):
        by_run: dict[int, set[_Nugget]] = {}
        for answer in those:
            for row in filter(support.holds, table.rows(answer)):
                said = table.said_in(row)
                nugget = _Nugget(table.row_aspect[row], said.importance, said.weight)
                by_run.setdefault(table.run[answer], set()).add(nugget)
        everything = set().union(*by_run.values())
        # An aspect that is there twice has two importances or weights.
        once = len({nugget.aspect for nugget in everything}) == len(everything)
        if not once or any(nuggets != everything for nuggets in by_run.values()):
            yield query, {run: frozenset(nuggets) for run, nuggets in by_run.items()}


def _met(table: JudgementTable, scale: Scale) -> dict[int, dict[int, set[str]]]:
    """Return the systems beside which each was judged, by query."""
    key = ("met", scale)
    if key not in table.kept:
        groups: dict[tuple[int, int, int], set[int]] = {}
        for answer, row in on(table, scale).rows():
            place = table.query[answer], table.row_aspect[row], table.judge[answer]
            groups.setdefault(place, set()).add(table.run[answer])
        met: dict[int, dict[int, set[str]]] = {}
        for (query, _, _), runs in groups.items():
            names = {table.runs.words[run] for run in runs}
            for run in runs:
                met.setdefault(run, {}).setdefault(query, set()).update(names)
        table.kept[key] = met
    found: dict[int, dict[int, set[str]]] = table.kept[key]
    return found


def _speaks_of_nuggets(table: JudgementTable) -> bool:
    labels = set(table.labels())
    named = bool(set(SUPPORT.rubrics) & table.rubrics())
    return bool(labels & SUPPORT.labels.keys()) and (named or not labels - SUPPORT.labels.keys())


def lists_of_nuggets(table: JudgementTable, run: int) -> dict[str, list[tuple[str, str, str]]]:
    """Return by which nuggets (and their importance and weight) a system was judged; {} if by none."""
    if not _speaks_of_nuggets(table):
        return {}
    support = on(table, SUPPORT)
    found: dict[str, set[tuple[str, str, str]]] = {}
    for answer, query in enumerate(table.query):
        if table.run[answer] != run:
            continue
        for row in filter(support.holds, table.rows(answer)):
            said, aspect = table.said_in(row), str(table.aspects.words[table.row_aspect[row]])
            nugget = aspect, said.importance or "", str(said.weight)
            found.setdefault(str(table.queries.words[query]), set()).add(nugget)
    return {query: sorted(nuggets) for query, nuggets in found.items()}
