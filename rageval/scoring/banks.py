"""Were all systems judged by the same nuggets? If not, their scores are not comparable."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from rageval.files.judgements import JudgementTable
from rageval.measures.scales import OUTCOME, POSITION, SUPPORT, Scale
from rageval.scoring.assessing import on
from rageval.scoring.scores import ANSWERS
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


def _judged_by(table: JudgementTable, run: int, scales: Collection[Scale]) -> _JudgedBy:
    """Return by what a system was judged, by query: nuggets, or opponents."""
    found: dict[str, frozenset[Any]] = {}
    words = table.queries.words
    for scale in scales:
        if scale is SUPPORT:
            apart = _nuggets(table)
            found |= _shared(table)
            for query, by_run in apart.items():
                found.pop(words[query], None)
                if run in by_run:
                    found[words[query]] = frozenset(_named(table, each) for each in by_run[run])
        elif scale in (OUTCOME, POSITION):
            met = _met(table, scale).get(run, {})
            found |= {words[query]: names for query, names in met.items()}
    if len(table.repeats.words) > 1 and not {OUTCOME, POSITION} & {*scales}:
        for name, number in _uneven_answers(table, run).items():
            found[name] = found.get(name, frozenset()) | {(ANSWERS, number)}
    return found


def _uneven_answers(table: JudgementTable, run: int) -> dict[str, int]:
    """Return how many answers a system has to each query; 0 where it has as many to all.

    Where wrong answers alone were asked for again, or good ones alone kept, the mean is no mean of answers.
    """
    numbers = {query: len(repeats) for query, repeats in table.repeats_by_query(run).items()}
    is_even = len({*numbers.values()}) < 2
    return {table.queries.words[query]: 0 if is_even else number for query, number in numbers.items()}


def _shared(table: JudgementTable) -> dict[str, frozenset[Any]]:
    """Return by which nuggets the first system was judged in each query, which is as good as any."""
    if "shared nuggets" not in table.kept:
        found: dict[int, frozenset[Any]] = {}
        support = on(table, SUPPORT) if _speaks_of_nuggets(table) else None
        for answer, query in enumerate(table.query):
            if support is not None and query not in found:
                nuggets = frozenset(
                    _named(table, _nugget(table, row)) for row in filter(support.holds, table.rows(answer))
                )
                if nuggets:
                    found[query] = nuggets
        table.kept["shared nuggets"] = {table.queries.words[query]: each for query, each in found.items()}
    shared: dict[str, frozenset[Any]] = table.kept["shared nuggets"]
    return shared


def _nugget(table: JudgementTable, row: int) -> _Nugget:
    said = table.said_in(row)
    return _Nugget(table.row_aspect[row], said.importance, said.weight)


def _named(table: JudgementTable, nugget: _Nugget) -> tuple[Any, ...]:
    """Return a nugget by its name, as other tables have other numbers."""
    return table.aspects.words[nugget.aspect], nugget.importance, nugget.weight


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
                by_run.setdefault(table.run[answer], set()).add(_nugget(table, row))
        everything = set().union(*by_run.values())
        # An aspect that is there twice has two importances or weights.
        once = len({nugget.aspect for nugget in everything}) == len(everything)
        if not once or any(nuggets != everything for nuggets in by_run.values()):
            yield query, {run: frozenset(nuggets) for run, nuggets in by_run.items()}


def _met(table: JudgementTable, scale: Scale) -> dict[int, dict[int, frozenset[str]]]:
    """Return the systems beside which each was judged, by query; systems of one ranking share a set."""
    key = ("met", scale)
    if key not in table.kept:
        groups: dict[tuple[int, int, int], set[int]] = {}
        for answer, row in on(table, scale).rows():
            place = table.query[answer], table.row_aspect[row], table.judge[answer]
            groups.setdefault(place, set()).add(table.run[answer])
        # The same systems in many orders are one set, once: else a ranking of n would hold n sets of n names.
        apart: dict[int, dict[frozenset[int], None]] = {}
        for (query, _, _), runs in groups.items():
            apart.setdefault(query, {})[frozenset(runs)] = None
        met: dict[int, dict[int, frozenset[str]]] = {}
        for query, sets in apart.items():
            named = [(runs, frozenset(map(table.runs.words.__getitem__, runs))) for runs in sets]
            beside: dict[int, list[frozenset[str]]] = {}
            for together, names in named:
                for run in together:
                    beside.setdefault(run, []).append(names)
            for run, several in beside.items():
                whole = several[0] if len(several) == 1 else frozenset().union(*several)
                met.setdefault(run, {})[query] = whole
        table.kept[key] = met
    found: dict[int, dict[int, frozenset[str]]] = table.kept[key]
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
    for answer in table.judged_of(run):
        query = table.query[answer]
        for row in filter(support.holds, table.rows(answer)):
            said, aspect = table.said_in(row), str(table.aspects.words[table.row_aspect[row]])
            nugget = aspect, said.importance or "", str(said.weight)
            found.setdefault(str(table.queries.words[query]), set()).add(nugget)
    return {query: sorted(nuggets) for query, nuggets in found.items()}
