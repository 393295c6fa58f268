"""The first sentence on a result: what a reader in a hurry takes away, in plain words.

Nothing is claimed here: who is better, and whether that may be said, stands in the pairs of the comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rageval.comparison.results import BEST
from rageval.core.basis import Basis, BasisKind
from rageval.core.ruling import Ruling
from rageval.measures.base import LOWER, NEITHER
from rageval.table import finite
from rageval.text import count_noun
from rageval.views.bases import NO_WINNER, describe_basis

if TYPE_CHECKING:
    from rageval.comparison.results import Comparison

_Record = Mapping[str, Any]

_NAMED = 3  # runs that a sentence names
_LEVEL = 0.95
_TWO = 2
_LEAST_P = 0.0001  # what is smaller is said to be so
_OPEN = (Ruling.UNDECIDED, Ruling.TIES_ONLY, Ruling.IDENTICAL)


def first_sentence(report: _Record, places: int = 4) -> str:
    """Return who is better by how much, or that the queries are too few to tell; for one run, its value.

    >>> cell = {"run": "ours", "measure": "rr", "value": 0.5, "low": 0.25, "high": 0.75, "queries": 8}
    >>> first_sentence({"runs": ["ours"], "measures": ["rr"], "cells": [cell]}, 2)
    'ours reaches 0.50 by rr (95 % interval 0.25 to 0.75, 8 queries).'
    """
    parts = (
        _verdict_sentence(report, places),
        _other_measures_sentence(report),
        _missing_sentence(report, places),
    )
    return " ".join(filter(None, parts))


def verdict_of(comparison: Comparison, places: int = 4) -> str:
    """Return the first sentence on a comparison."""
    runs = comparison.runs
    first = next((pair.measure for pair in comparison.pairs), "")
    pairs = comparison.pairs if len(runs) == _TWO else comparison.of(first)
    shown = {pair.measure for pair in pairs}
    return first_sentence(
        {
            "runs": runs,
            "measures": comparison.measures,
            "better": comparison.better,
            "cells": [finite(cell.record()) for cell in comparison.cells if cell.measure in shown],
            "level": comparison.settings.level,
            "comparison": {
                "pairs": [finite(pair.record()) for pair in pairs],
                "baseline": comparison.settings.baseline,
            },
        },
        places,
    )


def ranked(runs: Sequence[str], measures: Sequence[str], report: _Record) -> list[str]:
    """Return the runs by the first measure, the best first; those without a value last."""
    if not measures:
        return list(runs)
    values = {run: cell["value"] for run, cell in _cells_by(report, measures[0]).items()}
    sign = 1 if (report.get("better") or {}).get(measures[0]) == LOWER else -1

    return sorted(runs, key=lambda run: (values.get(run) is None, sign * (values.get(run) or 0.0)))


def _verdict_sentence(report: _Record, places: int) -> str:
    pairs = (report.get("comparison") or {}).get("pairs") or []
    named = {pair["measure"] for pair in pairs}
    measure = next((name for name in report["measures"] if name in named), report["measures"][0])
    measure_pairs = [pair for pair in pairs if pair["measure"] == measure]
    if len(measure_pairs) == 1:
        return _pair_sentence(report, measure_pairs[0], places)
    if measure_pairs:
        return _comparison_sentence(report, measure, measure_pairs, places)
    order = ranked(list(_cells_by(report, measure)), [measure], report)
    first = order[0]
    if len(order) > 1:
        unknown = "the significance is unknown"
        return f"{_leading(report, first, measure, places)}; {unknown}."
    cell = _cells_by(report, measure)[first]
    if cell["value"] is None:
        return f"{first} has no value by {measure}{_because(cell)}."
    return f"{first} reaches {_value_with_interval(report, first, measure, places).replace('at ', '', 1)}."


def _pair_sentence(report: _Record, pair: _Record, places: int) -> str:
    run, other, measure = pair["run"], pair["other"], pair["measure"]
    gap, ruling, rests = _gap(report, pair, places), Ruling(pair["ruling"]), _rests(pair)
    if pair["better_run"]:
        relation = "better" if pair["better_run"] == run else "worse"
        return f"{run} is {relation} than {other}{rests}: {measure} {gap}."
    if ruling.is_direction:
        return f"{run} is {ruling} than {other}{rests}: {measure} {gap}; neither direction is better."
    if ruling is Ruling.TIES_ONLY:
        return (
            f"{run} and {other} differ by {measure} only in the order of documents that one of them ties;"
            " there is no claim."
        )
    if ruling is Ruling.UNDECIDED:
        return (
            f"Undecided whether {run} or {other} is"
            f" {'higher' if (report.get('better') or {}).get(measure) == NEITHER else 'better'}:"
            f" {measure} {gap}."
        )
    if ruling is Ruling.NO_WINNER:
        return f"{run} against {other}: {measure} {gap}; {NO_WINNER}."
    certain = Ruling(pair["every_completion_ruling"] or Ruling.UNDECIDED)
    if ruling is Ruling.REFUSED and certain is not Ruling.UNDECIDED:
        return (
            f"{run} is {certain} than {other} by {measure}{rests}, however the unjudged documents are judged."
        )
    outcome = "are identical" if ruling is Ruling.IDENTICAL else "cannot be compared"
    return f"{run} and {other} {outcome} by {measure}{_because(pair)}."


def _because(record: _Record) -> str:
    """Return the reasons of a value or a pair, behind a colon; nothing without any."""
    texts = [reason["text"] for reason in record.get("reasons") or ()]
    return f": {'; '.join(texts)}" if texts else ""


def _rests(pair: _Record) -> str:
    """Return what a claim rests on, behind a comma; nothing where that need not be said."""
    basis = basis_of(pair)
    if basis.kind is BasisKind.PEOPLE and not basis.corrected:
        return ""
    words = describe_basis(basis)
    return f", {words}" if words else ""


def basis_of(record: _Record) -> Basis:
    """Return on what the claim of a record depends."""
    return Basis.parse(*(record.get(name) or "" for name in ("basis", "corrected_from", "drawn")))


def _gap(report: _Record, pair: _Record, places: int) -> str:
    """Return the means of a pair, their difference with interval, over how many queries, and p.

    Labels of a plan that compares two systems correct their difference, and no mean.
    """
    shared = count_noun(pair["queries"], "query")
    cells = [_cells_by(report, pair["measure"])[pair[name]] for name in ("other", "run")]
    means, over = "", f" over {shared}"
    if all(cell["value"] is not None for cell in cells):
        values = [f"{cell['value']:.{places}f}" for cell in cells]
        if {cell["queries"] for cell in cells} != {pair["queries"]}:
            # A mean rests on queries that the difference does not rest on.
            counts = [count_noun(cell["queries"], "query") for cell in cells]
            values = [f"{value} ({count})" for value, count in zip(values, counts, strict=True)]
            over = f" over the {shared} that both have"
        means = f"{' → '.join(values)}, "
    return f"{means}{_difference(report, pair, places, over)}"


def _difference(report: _Record, pair: _Record, places: int, over: str = "", *, turned: bool = False) -> str:
    """Return the difference with its interval and p; `turned`, from the side of the other run."""
    sign = -1 if turned else 1
    if pair["difference"] is None:
        return f"no known difference{over}"
    difference = f"{sign * pair['difference']:+.{places}f}"
    if pair["low"] is not None and pair["high"] is not None:
        low, high = sorted((sign * pair["low"], sign * pair["high"]))
        level = "" if report.get("level", _LEVEL) == _LEVEL else f" ({level_of(report)})"
        difference += f" [{low:+.{places}f}, {high:+.{places}f}]{level}"
    difference += over
    if pair["adjusted"] is None:
        return difference
    p = f"p = {pair['adjusted']:.4f}" if pair["adjusted"] >= _LEAST_P else f"p < {_LEAST_P:.4f}"
    return f"{difference}, {p}"


def _comparison_sentence(report: _Record, measure: str, pairs: Sequence[_Record], places: int) -> str:
    """Return what is said of the run that all others were compared with, or of the best one."""
    order = ranked(report["runs"], [measure], report)
    baseline = (report.get("comparison") or {}).get("baseline")
    chosen = baseline if baseline not in (None, BEST) and baseline in report["runs"] else order[0]
    chosen_pairs = [pair for pair in pairs if chosen in (pair["run"], pair["other"])]
    better = [_other(pair, chosen) for pair in chosen_pairs if pair["better_run"] not in (None, chosen)]
    worse = [_other(pair, chosen) for pair in chosen_pairs if pair["better_run"] == chosen]
    unknown = [pair for pair in chosen_pairs if pair["better_run"] is None]
    open_ = [_other(pair, chosen) for pair in unknown if pair["ruling"] in _OPEN]
    rest = len(unknown) - len(open_)  # refused, or of a measure that has no better way
    rests = next(map(_rests, chosen_pairs), "")
    unsaid = f"; no claim about {count_noun(rest, 'pair')}" if rest else ""
    if chosen == order[0]:
        claims = [
            f"better than {_listed(worse)}{rests}" if worse else "",
            f"worse than {_listed(better)}{rests}" if better else "",
            f"not distinguishable from {_listed(open_)}" if open_ else "",
        ]
        claim = " and ".join(filter(None, claims))
        return f"{_leading(report, chosen, measure, places)}{f'; it is {claim}' if claim else ''}{unsaid}."
    top = next((pair for pair in chosen_pairs if order[0] in (pair["run"], pair["other"])), None)
    ahead = f", {_difference(report, top, places, turned=top['other'] == order[0])}" if top else ""
    return (
        f"Of {len(chosen_pairs):,} runs {len(better):,} {'is' if len(better) == 1 else 'are'} better than"
        f" {chosen} by {measure}{rests}, {len(worse):,} worse, and {len(open_):,} not distinguishable from"
        f" it{unsaid}. The {_extreme(report, measure)} is {order[0]}{ahead}."
    )


def _leading(report: _Record, run: str, measure: str, places: int) -> str:
    """Return that the run is the best, alone or with others, and with what value."""
    values = {name: cell["value"] for name, cell in _cells_by(report, measure).items()}
    alike = list(values.values()).count(values[run]) - 1
    shared = f" with {count_noun(alike, 'other')}" if alike else ""
    return (
        f"{run} is{shared} the {_extreme(report, measure)} of {len(report['runs']):,} runs by {measure},"
        f" {_value_with_interval(report, run, measure, places)}"
    )


def _value_with_interval(report: _Record, run: str, measure: str, places: int) -> str:
    cell = _cells_by(report, measure)[run]
    more = [count_noun(cell["queries"], "query")]
    if cell["low"] is not None and cell["high"] is not None:
        more.insert(0, f"{level_of(report)} interval {cell['low']:.{places}f} to {cell['high']:.{places}f}")
    value = "–" if cell["value"] is None else f"{cell['value']:.{places}f}"
    measure_clause = f" by {measure}" if len(report["runs"]) == 1 else ""
    return f"at {value}{measure_clause} ({', '.join(more)})"


def _other_measures_sentence(report: _Record) -> str:
    """Return what the other measures say of the same two runs."""
    pairs = (report.get("comparison") or {}).get("pairs") or []
    if len(report.get("runs") or ()) != _TWO or len(pairs) < 2:
        return ""
    measures_by_verdict: dict[str, list[str]] = {}
    for pair in pairs[1:]:
        verdict = f"{pair['better_run']} is better" if pair["better_run"] else f"{pair['verdict']}"
        measures_by_verdict.setdefault(verdict, []).append(pair["measure"])
    verdicts = (f"{verdict} ({_listed(names)})" for verdict, names in measures_by_verdict.items())
    return f"By the other measures: {'; '.join(verdicts)}."


def _missing_sentence(report: _Record, places: int) -> str:
    """Return what is missing: judgements that failed, queries that a run lacks, undefined values."""
    notes = []
    failed = sum(row["failed"] for row in report.get("spending") or ())
    if failed:
        notes.append(f"{count_noun(failed, 'judgement')} failed and {'is' if failed == 1 else 'are'} missing")
    lacking = {row["run"]: row["lacking"] for row in report.get("topics") or () if row.get("lacking")}
    notes += [f"{run} lacks {count_noun(number, 'judged query')}" for run, number in lacking.items()][:_NAMED]
    cells = report.get("cells") or ()
    if len(report.get("runs") or ()) == 1 and cells:
        cell = cells[0]
        if cell.get("undefined"):
            has = "has" if cell["undefined"] == 1 else "have"
            notes.append(f"{count_noun(cell['undefined'], 'query')} {has} no value")
        if cell.get("bounds") and None not in cell["bounds"]:
            low, high = cell["bounds"]
            notes.append(f"the mean is between {low:.{places}f} and {high:.{places}f} in any case")
    return f"{'; '.join(notes)[:1].upper()}{'; '.join(notes)[1:]}." if notes else ""


def _cells_by(report: _Record, measure: str) -> dict[str, _Record]:
    return {cell["run"]: cell for cell in report["cells"] if cell["measure"] == measure}


def _extreme(report: _Record, measure: str) -> str:
    is_low_good = (report.get("better") or {}).get(measure) == LOWER
    return "lowest (low is good)" if is_low_good else "highest"


def level_of(report: _Record) -> str:
    """Return the confidence level of the intervals.

    >>> level_of({"level": 0.9})
    '90 %'
    """
    return f"{100 * report.get('level', _LEVEL):g} %"


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
