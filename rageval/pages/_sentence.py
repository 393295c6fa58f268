"""The first sentence of a report: what a reader in a hurry takes away, in plain words.

Nothing is claimed here: who is better, and whether that may be said, stands in the pairs of the comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rageval.comparison.results import BEST, ruling_of
from rageval.measures.base import LOWER, NEITHER
from rageval.scoring.basis import NO_WINNER, in_words

_Record = Mapping[str, Any]
_NAMED = 3  # runs that a sentence names
_LEVEL = 0.95
_OPEN = ("undecided", "ties only", "identical")


def first_sentence(report: _Record, places: int = 4) -> str:
    """Return who is better by how much, or that so many queries cannot tell; of one run, what it reaches.

    >>> cell = {"run": "ours", "measure": "rr", "value": 0.5, "low": 0.25, "high": 0.75, "queries": 8}
    >>> first_sentence({"runs": ["ours"], "measures": ["rr"], "cells": [cell]}, 2)
    'ours reaches 0.50 by rr (95 % interval 0.25 to 0.75, 8 queries).'
    """
    parts = (_verdict(report, places), _elsewhere(report), _lacking(report, places))
    return " ".join(filter(None, parts))


def ranked(runs: Sequence[str], measures: Sequence[str], report: _Record) -> list[str]:
    """Return the runs by the first measure, the best first; those without a value last."""
    if not measures:
        return list(runs)
    values = {run: cell["value"] for run, cell in _cells_by(report, measures[0]).items()}
    sign = 1 if _better(report, measures[0]) == LOWER else -1

    def place(run: str) -> tuple[bool, float]:
        value = values.get(run)
        return value is None, sign * (value or 0.0)

    return sorted(runs, key=place)


def _verdict(report: _Record, places: int) -> str:
    if not report.get("cells"):
        return _of_judges(report, places) or _of_diagnoses(report, places)
    pairs = (report.get("comparison") or {}).get("pairs") or []
    named = {pair["measure"] for pair in pairs}
    measure = next((name for name in report["measures"] if name in named), report["measures"][0])
    mine = [pair for pair in pairs if pair["measure"] == measure]
    if len(mine) == 1:
        return _of_pair(report, mine[0], places)
    return _of_many(report, measure, mine, places) if mine else _of_values(report, measure, places)


def _of_pair(report: _Record, pair: _Record, places: int) -> str:
    run, other, measure = pair["run"], pair["other"], pair["measure"]
    first, second = (other, run) if pair["better_run"] == other else (run, other)
    gap = _gap(report, pair, turned=first == other, places=places)
    verdict, rests = ruling_of(pair["verdict"]), _rests(pair)
    if pair["better_run"]:
        shared = _count(pair["queries"], "query", "queries")
        values = [_value(report, name, measure, places) for name in (first, second)]
        counts = [_cells_by(report, measure)[name]["queries"] for name in (first, second)]
        on = f" on {shared}, "
        if {*counts} != {pair["queries"]}:  # a mean rests on queries that the difference does not rest on
            values = [
                f"{value} ({_count(number, 'query', 'queries')})"
                for value, number in zip(values, counts, strict=True)
            ]
            on = f"; on the {shared} that both have, "
        return f"{first} is better than {second}{rests}: {measure} {values[0]} against {values[1]}{on}{gap}."
    if verdict in ("higher", "lower"):
        return (
            f"{first} is {verdict} than {second} by {measure}{rests}, {gap}; neither way is the better one."
        )
    if verdict == "ties only":
        return (
            f"{first} and {second} differ by {measure} only in the order of documents that one of them ties;"
            " nothing is claimed."
        )
    if verdict == "undecided":
        return (
            f"{_count(pair['queries'], 'query', 'queries')} cannot tell whether {first} or {second} is"
            f" {'higher' if _better(report, measure) == NEITHER else 'better'} by {measure}: {gap}."
        )
    if verdict == "no winner":
        return f"{run} − {other} by {measure}: {gap}, {NO_WINNER}."
    certain = ruling_of(pair.get("every_completion") or "undecided")
    if verdict == "refused" and certain != "undecided":
        return f"{run} is {certain} than {other} by {measure}{rests}, whatever the unjudged documents are."
    said = "are identical" if verdict == "identical" else "cannot be compared"
    return f"{first} and {second} {said} by {measure}{': ' + pair['why'] if pair.get('why') else ''}."


def _rests(pair: _Record) -> str:
    """Return what a claim rests on, behind a comma; nothing where that need not be said."""
    said = in_words(pair.get("basis") or "", pair.get("corrected_from") or "")
    return f", {said}" if said and said != "by human labels" else ""


def _gap(report: _Record, pair: _Record, turned: bool, places: int) -> str:
    """Return the difference with interval and p, from the side of the run that is named first."""
    sign = -1 if turned else 1
    if pair["difference"] is None:
        return "no difference is known"
    gap = f"a difference of {sign * pair['difference']:+.{places}f}"
    more = []
    if pair["low"] is not None and pair["high"] is not None:
        low, high = sorted((sign * pair["low"], sign * pair["high"]))
        more.append(f"{level_of(report)} interval {low:+.{places}f} to {high:+.{places}f}")
    if pair["adjusted"] is not None:
        more.append(f"p = {pair['adjusted']:.4f}" if pair["adjusted"] >= 0.0001 else "p < 0.0001")
    return f"{gap} ({', '.join(more)})" if more else gap


def _of_many(report: _Record, measure: str, pairs: Sequence[_Record], places: int) -> str:
    """Return what is said of the run that all others were compared with, or of the best one."""
    order = ranked(report["runs"], [measure], report)
    baseline = (report.get("comparison") or {}).get("baseline")
    chosen = baseline if baseline not in (None, BEST) and baseline in report["runs"] else order[0]
    with_it = [pair for pair in pairs if chosen in (pair["run"], pair["other"])]
    better = [_other(pair, chosen) for pair in with_it if pair["better_run"] not in (None, chosen)]
    worse = [_other(pair, chosen) for pair in with_it if pair["better_run"] == chosen]
    unknown = [pair for pair in with_it if pair["better_run"] is None]
    open_ = [_other(pair, chosen) for pair in unknown if pair["verdict"] in _OPEN]
    rest = len(unknown) - len(open_)  # refused, or of a measure that has no better way
    rests = next(map(_rests, with_it), "")
    unsaid = f"; nothing is claimed of {_count(rest, 'pair')}" if rest else ""
    if chosen == order[0]:
        claims = [
            f"better than {_listed(worse)}{rests}" if worse else "",
            f"worse than {_listed(better)}{rests}" if better else "",
            f"not to be told from {_listed(open_)}" if open_ else "",
        ]
        said = " and ".join(filter(None, claims))
        return f"{_leading(report, chosen, measure, places)}{f'; it is {said}' if said else ''}{unsaid}."
    top = next((pair for pair in with_it if order[0] in (pair["run"], pair["other"])), None)
    ahead = f", {_gap(report, top, turned=top['other'] == order[0], places=places)}" if top else ""
    return (
        f"Of {len(with_it):,} runs {len(better):,} {'is' if len(better) == 1 else 'are'} better than"
        f" {chosen} by {measure}{rests}, {len(worse):,} worse, and {len(open_):,} cannot be told from it"
        f"{unsaid}. The {_extreme(report, measure)} is {order[0]}{ahead}."
    )


def _leading(report: _Record, run: str, measure: str, places: int) -> str:
    """Return that the run is the best, alone or with others, and with what value."""
    values = {name: cell["value"] for name, cell in _cells_by(report, measure).items()}
    alike = list(values.values()).count(values[run]) - 1
    shared = f" with {_count(alike, 'other')}" if alike else ""
    return (
        f"{run} is{shared} the {_extreme(report, measure)} of {len(report['runs']):,} runs by {measure},"
        f" {_value_with_interval(report, run, measure, places)}"
    )


def _of_values(report: _Record, measure: str, places: int) -> str:
    # Files of earlier commands may know other measures of other runs.
    order = ranked(list(_cells_by(report, measure)), [measure], report)
    first = _value_with_interval(report, order[0], measure, places)
    if len(order) == 1:
        cell = _cells_by(report, measure)[order[0]]
        if cell["value"] is None:
            return f"{order[0]} has no value by {measure}{': ' + cell['why'] if cell.get('why') else ''}."
        return f"{order[0]} reaches {first.replace('at ', '', 1)}."
    unknown = "whether that is more than chance is not known here"
    return f"{_leading(report, order[0], measure, places)}; {unknown}."


def _value_with_interval(report: _Record, run: str, measure: str, places: int) -> str:
    cell = _cells_by(report, measure)[run]
    more = [_count(cell["queries"], "query", "queries")]
    if cell["low"] is not None and cell["high"] is not None:
        more.insert(0, f"{level_of(report)} interval {cell['low']:.{places}f} to {cell['high']:.{places}f}")
    said = _value(report, run, measure, places)
    by = f" by {measure}" if len(report["runs"]) == 1 else ""
    return f"at {said}{by} ({', '.join(more)})"


def _elsewhere(report: _Record) -> str:
    """Return what the other measures say of the same two runs."""
    pairs = (report.get("comparison") or {}).get("pairs") or []
    if len(report.get("runs") or ()) != 2 or len(pairs) < 2:
        return ""
    found: dict[str, list[str]] = {}
    for pair in pairs[1:]:
        who = f"{pair['better_run']} is better" if pair["better_run"] else f"{pair['verdict']}"
        found.setdefault(who, []).append(pair["measure"])
    return f"By the other measures: {'; '.join(f'{who} ({_listed(names)})' for who, names in found.items())}."


def _lacking(report: _Record, places: int) -> str:
    """Return what is missing: judgements that failed, queries that a run lacks, undefined values."""
    said = []
    failed = sum(row["failed"] for row in report.get("spending") or ())
    if failed:
        said.append(f"{_count(failed, 'judgement')} failed and {'is' if failed == 1 else 'are'} missing")
    lacking = {row["run"]: row["lacking"] for row in report.get("topics") or () if row.get("lacking")}
    said += [
        f"{run} lacks {_count(number, 'judged query', 'judged queries')}" for run, number in lacking.items()
    ][:_NAMED]
    cells = report.get("cells") or ()
    if len(report.get("runs") or ()) == 1 and cells:
        cell = cells[0]
        if cell.get("undefined"):
            said.append(f"{_count(cell['undefined'], 'query has', 'queries have')} no value")
        if cell.get("bounds") and None not in cell["bounds"]:
            low, high = cell["bounds"]
            said.append(f"whatever they are, the mean lies between {low:.{places}f} and {high:.{places}f}")
    return f"{'; '.join(said)[:1].upper()}{'; '.join(said)[1:]}." if said else ""


def _of_judges(report: _Record, places: int) -> str:
    for found in report.get("judging") or ():
        known = ((name, each) for name, each in found["coefficients"].items() if each["value"] is not None)
        name, value = next(known, ("", None))
        how = f"{name} {value['value']:.{places}f}, " if value else ""
        one, other = found["judge"] or "the judge", found["other"] or "another"
        return f"{one} beside {other}: {how}{_count(found['compared'], 'judgement')} compared."
    return ""


def _of_diagnoses(report: _Record, places: int) -> str:
    for found in report.get("diagnoses") or ():
        return (
            f"The answers of {found['run']} hold {found['in_answers']:.{places}f} of the nuggets, the"
            f" passages they were made from {found['in_passages']:.{places}f}."
        )
    return ""


def _cells_by(report: _Record, measure: str) -> dict[str, _Record]:
    return {cell["run"]: cell for cell in report["cells"] if cell["measure"] == measure}


def _better(report: _Record, measure: str) -> str | None:
    return (report.get("better") or {}).get(measure)


def _extreme(report: _Record, measure: str) -> str:
    way = _better(report, measure)
    return {LOWER: "lowest (low is good)", NEITHER: "highest"}.get(way or "", "highest")


def _value(report: _Record, run: str, measure: str, places: int) -> str:
    value = _cells_by(report, measure)[run]["value"]
    return "–" if value is None else f"{value:.{places}f}"


def level_of(report: _Record) -> str:
    """Return of what level the intervals are.

    >>> level_of({"level": 0.9})
    '90 %'
    """
    level = report.get("level") or (report.get("comparison") or {}).get("level") or _LEVEL
    return f"{100 * level:g} %"


def _other(pair: _Record, run: str) -> str:
    return str(pair["other"] if pair["run"] == run else pair["run"])


def _listed(names: Sequence[str]) -> str:
    """Return the names, or how many there are.

    >>> _listed(["a", "b"]), _listed(["a", "b", "c", "d"])
    ('a and b', '4 others')
    """
    if len(names) > _NAMED:
        return f"{len(names):,} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
