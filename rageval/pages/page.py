"""A report as a page: one file with its styles, scripts and numbers, which asks for nothing from outside.

The browser runs the script whose hash stands in the page's policy, and nothing else. A report is read
back from its page.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rageval.comparison.results import BEST
from rageval.core.basis import Basis, BasisKind
from rageval.core.ruling import Ruling
from rageval.errors import InputError, MissingPackage, Place
from rageval.files.whole import text_of_whole
from rageval.measures.base import LOWER, NEITHER
from rageval.pages._parts import (
    CLOSING,
    FORMAT,
    OPENING,
    as_block,
    asset,
    pairs_packed,
    pairs_unpacked,
    policy,
    unpacked,
    with_columns,
)
from rageval.text import visible
from rageval.views.bases import (
    NO_WINNER,
    attribution,
    correction_notes,
    describe_basis,
    single_values_note,
    uncorrected_notes,
)
from rageval.views.comparisons import lettered

if TYPE_CHECKING:
    import jinja2

_Record = Mapping[str, Any]

# The first sentence of a report: what a reader in a hurry takes away, in plain words.
#
# Nothing is claimed here: who is better, and whether that may be said, stands in the pairs of the comparison.

_NAMED = 3  # runs that a sentence names
_LEVEL = 0.95
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
    first, second = (other, run) if pair["better_run"] == other else (run, other)
    gap = _gap(report, pair, turned=first == other, places=places)
    ruling, rests = Ruling(pair["ruling"]), _rests(pair)
    if pair["better_run"]:
        shared = _count(pair["queries"], "query", "queries")
        cells = _cells_by(report, measure)
        if any(cells[name]["value"] is None for name in (first, second)):
            # Labels of a plan that compares two systems correct their difference, and no mean.
            return f"{first} is better than {second}{rests}: {measure}, on {shared}, {gap}."
        values = [f"{cells[name]['value']:.{places}f}" for name in (first, second)]
        counts = [cells[name]["queries"] for name in (first, second)]
        extent = f" on {shared}, "
        if {*counts} != {pair["queries"]}:  # a mean rests on queries that the difference does not rest on
            values = [
                f"{value} ({_count(number, 'query', 'queries')})"
                for value, number in zip(values, counts, strict=True)
            ]
            extent = f"; on the {shared} that both have, "
        return (
            f"{first} is better than {second}{rests}: {measure} {values[0]} against {values[1]}{extent}{gap}."
        )
    if ruling.is_direction:
        return f"{first} is {ruling} than {second} by {measure}{rests}, {gap}; neither direction is better."
    if ruling is Ruling.TIES_ONLY:
        return (
            f"{first} and {second} differ by {measure} only in the order of documents that one of them ties;"
            " there is no claim."
        )
    if ruling is Ruling.UNDECIDED:
        return (
            f"{_count(pair['queries'], 'query', 'queries')} cannot show whether {first} or {second} is"
            f" {'higher' if (report.get('better') or {}).get(measure) == NEITHER else 'better'} by {measure}:"
            f" {gap}."
        )
    if ruling is Ruling.NO_WINNER:
        return f"{run} − {other} by {measure}: {gap}, {NO_WINNER}."
    certain = Ruling(pair["every_completion_ruling"] or Ruling.UNDECIDED)
    if ruling is Ruling.REFUSED and certain is not Ruling.UNDECIDED:
        return (
            f"{run} is {certain} than {other} by {measure}{rests}, however the unjudged documents are judged."
        )
    outcome = "are identical" if ruling is Ruling.IDENTICAL else "cannot be compared"
    return f"{first} and {second} {outcome} by {measure}{_because(pair)}."


def _because(record: _Record) -> str:
    """Return the reasons of a value or a pair, behind a colon; nothing without any."""
    texts = [reason["text"] for reason in record.get("reasons") or ()]
    return f": {'; '.join(texts)}" if texts else ""


def _rests(pair: _Record) -> str:
    """Return what a claim rests on, behind a comma; nothing where that need not be said."""
    basis = _basis_of(pair)
    if basis.kind is BasisKind.PEOPLE and not basis.corrected:
        return ""
    words = describe_basis(basis)
    return f", {words}" if words else ""


def _basis_of(record: _Record) -> Basis:
    return Basis.parse(*(record.get(name) or "" for name in ("basis", "corrected_from", "drawn")))


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
    unsaid = f"; no claim about {_count(rest, 'pair')}" if rest else ""
    if chosen == order[0]:
        claims = [
            f"better than {_listed(worse)}{rests}" if worse else "",
            f"worse than {_listed(better)}{rests}" if better else "",
            f"not distinguishable from {_listed(open_)}" if open_ else "",
        ]
        claim = " and ".join(filter(None, claims))
        return f"{_leading(report, chosen, measure, places)}{f'; it is {claim}' if claim else ''}{unsaid}."
    top = next((pair for pair in chosen_pairs if order[0] in (pair["run"], pair["other"])), None)
    ahead = f", {_gap(report, top, turned=top['other'] == order[0], places=places)}" if top else ""
    return (
        f"Of {len(chosen_pairs):,} runs {len(better):,} {'is' if len(better) == 1 else 'are'} better than"
        f" {chosen} by {measure}{rests}, {len(worse):,} worse, and {len(open_):,} not distinguishable from"
        f" it{unsaid}. The {_extreme(report, measure)} is {order[0]}{ahead}."
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


def _value_with_interval(report: _Record, run: str, measure: str, places: int) -> str:
    cell = _cells_by(report, measure)[run]
    more = [_count(cell["queries"], "query", "queries")]
    if cell["low"] is not None and cell["high"] is not None:
        more.insert(0, f"{level_of(report)} interval {cell['low']:.{places}f} to {cell['high']:.{places}f}")
    value = "–" if cell["value"] is None else f"{cell['value']:.{places}f}"
    measure_clause = f" by {measure}" if len(report["runs"]) == 1 else ""
    return f"at {value}{measure_clause} ({', '.join(more)})"


def _other_measures_sentence(report: _Record) -> str:
    """Return what the other measures say of the same two runs."""
    pairs = (report.get("comparison") or {}).get("pairs") or []
    if len(report.get("runs") or ()) != 2 or len(pairs) < 2:
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
        notes.append(f"{_count(failed, 'judgement')} failed and {'is' if failed == 1 else 'are'} missing")
    lacking = {row["run"]: row["lacking"] for row in report.get("topics") or () if row.get("lacking")}
    notes += [
        f"{run} lacks {_count(number, 'judged query', 'judged queries')}" for run, number in lacking.items()
    ][:_NAMED]
    cells = report.get("cells") or ()
    if len(report.get("runs") or ()) == 1 and cells:
        cell = cells[0]
        if cell.get("undefined"):
            notes.append(f"{_count(cell['undefined'], 'query has', 'queries have')} no value")
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


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_EXPECTED = "a page that rageval report wrote"
_MAX_BYTES = 2**30  # of a page, which has the values of every run and query


class _Cell(msgspec.Struct):
    run: str
    measure: str
    value: float | None


class _PackedPairs(msgspec.Struct):
    fields: list[str]
    rows: list[list[Any]]


class _Comparison(msgspec.Struct):
    pairs: list[dict[str, Any]] | _PackedPairs


class _Queries(msgspec.Struct):
    values: dict[str, dict[str, str]]


class _EmbeddedReport(msgspec.Struct):
    """The fields of an embedded report that are read here, to check their types."""

    title: str
    runs: list[str]
    measures: list[str]
    cells: list[_Cell]
    comparison: _Comparison | None = None
    queries: _Queries | None = None


def read_report(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Return everything the page shows, columns of values as lists with None for undefined ones."""
    place = Place(str(source))
    text = text_of_whole(source, _EXPECTED, _MAX_BYTES)
    # The marks are found without an HTML parser: rageval wrote the block, and `<` is escaped in it.
    _, opening, rest = text.partition(OPENING)
    report_json, closing, _ = rest.partition(CLOSING)
    if not opening or not closing:
        raise InputError(at=place, problem="has no report", expected=_EXPECTED)
    try:
        report = json.loads(report_json, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _damaged(place, error) from None
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        raise InputError(at=place, expected=f"a report of format {FORMAT}", remedy="make it again")
    try:
        msgspec.convert(report, _EmbeddedReport)
        return with_columns(pairs_unpacked(report), unpacked)
    except InputError as error:
        raise error.located(place) from None
    except (ValueError, RecursionError) as error:
        raise _damaged(place, error) from None


def _refuse_constant(name: str) -> Any:
    """Refuse NaN and Infinity, which Python reads as numbers and JSON does not have."""
    raise ValueError(f"{name} is not a number in JSON")


def _damaged(place: Place, error: Exception) -> InputError:
    return InputError(at=place, problem=f"its numbers are damaged ({error})", expected=_EXPECTED)


_SCRIPTS = (
    "texts.js",
    "basics.js",
    "table.js",
    "charts.js",
    "differences.js",
    "matrix.js",
    "trace.js",
    "steps.js",
    "page.js",
)
_STYLES = ("page.css", "parts.css")
_TEMPLATE = "page.html.jinja"
_MOST_PAIRS = 60  # rows of pairs that stand there from the beginning
_FEW = 6  # rows in which nobody needs to search
_OPTIONAL = dict.fromkeys(("comparison", "queries", "slices", "matrices", "traces", "judging", "positions"))
_OPTIONAL |= dict.fromkeys(("spending", "topics", "curves", "losses", "reliability"))


def page(report: Mapping[str, Any], places: int = 4) -> str:
    """Return the page that shows this report."""
    environment = _environment(places)
    script = "\n".join(['"use strict";', *map(asset, _SCRIPTS)])
    style = "\n".join(map(asset, _STYLES))
    block = as_block(pairs_packed(report))
    # How large a page is can be said in it only when it is there; no text that it shows can be this one.
    unknown = sha256(block.encode()).hexdigest()
    text: str = environment.get_template(_TEMPLATE).render(
        # The templates are strict about names, so that what a report lacks is there as None.
        report={**_OPTIONAL, **report},
        tables={**_tables(report), "sentence": first_sentence(report, places), "level": level_of(report)},
        places=places,
        most_pairs=_MOST_PAIRS,
        few=_FEW,
        size=unknown,
        policy=policy([script], style),
        style=_trusted(style),
        script=_trusted(script),
        block=_trusted(OPENING + block + CLOSING),
    )
    return text.replace(unknown, size_of(len(text.encode())), 1)


def size_of(number: int) -> str:
    """Return how large something is, for people.

    >>> size_of(61_234), size_of(1_234_567)
    ('61 kB', '1.2 MB')
    """
    return f"{number / 1e6:.1f} MB" if number >= 1e6 else f"{number / 1e3:.0f} kB"


@lru_cache(maxsize=4)  # it keeps the templates, which take longer to compile than a page takes to fill
def _environment(places: int) -> jinja2.Environment:
    """Return templates that escape what is not known to be safe, and make hidden characters visible."""
    require_engine()
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        # A misspelt name fails in tests, in place of an empty cell that nobody misses.
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Every value passes here, so that no template can forget it: nothing stands for None, and no
        # character of a text stays hidden. `is`: Markup is a str, too, and trusted as it is.
        finalize=lambda value: "" if value is None else visible(value) if type(value) is str else value,
    )
    environment.filters |= {
        "breakable": _breakable,
        "number": lambda value: "–" if value is None else f"{value:.{places}f}",
        "p": lambda value: "–" if value is None else f"{value:.1e}" if value < 0.001 else f"{value:.4f}",
        # What the claims of a cell rest on; nothing where that need not be said.
        "whose": lambda cell: attribution(_basis_of(cell)),
    }
    return environment


def _breakable(text: str) -> Any:
    """Return a name in which a line may end after signs, and nowhere else."""
    from markupsafe import Markup

    return Markup("<wbr>").join(re.split(r"(?<=[_.(,=/|-])(?=.)|(?<=.)(?=@)", visible(text)))


def _trusted(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def require_engine() -> None:
    """Raise `MissingPackage` unless the template engine is installed."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise MissingPackage("jinja2", "a page of a report or a track", extra="report") from None


_SHADES = 8  # of the heat map


def _tables(report: _Record) -> dict[str, Any]:
    """Return the tables of a page: letters of runs, a row for each run, heat maps, signatures."""
    cells = {(cell["run"], cell["measure"]): cell for cell in report["cells"]}
    queries = report.get("queries") or {}
    bases = {cell["measure"]: _basis_of(cell) for cell in (*(report.get("slices") or ()), *cells.values())}
    are_labels_passed = any("judged" in cell for cell in cells.values())
    uncorrected = uncorrected_notes(bases, are_labels_passed)
    rests = [*uncorrected, *correction_notes(bases)]
    corrected = "; ".join(correction_notes(bases))
    if corrected:
        corrected = (
            f"{corrected[:1].upper()}{corrected[1:]}. Only the corrected values decide claims. Beside them"
            " are the judge's values, and how many labels without a judge these are worth."
        )
    better = report.get("better") or {}
    return {
        "letters": lettered(report["runs"]),
        "overview": [
            (run, [cells.get((run, measure)) for measure in report["measures"]]) for run in report["runs"]
        ],
        "queries": len(queries.get("ids", ()))
        or max((cell["queries"] for cell in cells.values()), default=0),
        "low": [measure for measure in report["measures"] if better.get(measure) == LOWER],
        "neither": [measure for measure in report["measures"] if better.get(measure) == NEITHER],
        "by_judges": "; ".join(uncorrected),
        "by_people": corrected,
        "of_single": "; ".join(dict.fromkeys(filter(None, map(single_values_note, bases.values())))),
        # What all rests on stands there by itself, of slices, too.
        "said": [
            sentence
            for sentence in (report.get("comparison") or {}).get("said") or ()
            if sentence not in rests
        ],
        "texts": queries.get("texts") or {},
        "heat": _heat_maps(report.get("slices") or ()),
        "curves": _curve_tables(report),
        "reliability": _reliability_tables(report),
        "losses": _losses_by_run(report),
        "losses_basis": "; ".join(
            dict.fromkeys(describe_basis(_basis_of(share)) for share in report.get("losses") or ())
        ),
        "signatures": list(dict.fromkeys(cell["signature"] for cell in cells.values())),
        "lost": [cell for cell in cells.values() if cell.get("lost")],
        "by_judge": [cell for cell in cells.values() if cell.get("judges")],
        "judges": list(dict.fromkeys(judge for cell in cells.values() for judge in cell.get("judges") or ())),
        "coefficients": list(
            dict.fromkeys(name for pair in report.get("judging") or () for name in pair["coefficients"])
        ),
    }


def _curve_tables(report: _Record) -> list[dict[str, Any]]:
    """Return a table a budget: a row for each amount, a column for each run that has a curve."""
    by_budget: dict[str, list[_Record]] = {}
    for curve in _in_order_of_runs(report, "curves"):
        by_budget.setdefault(curve["by"], []).append(curve)
    return [
        {
            "by": by,
            "basis": describe_basis(_basis_of(curves[0])),
            "runs": [curve["run"] for curve in curves],
            "rows": [
                (
                    f"{budget:.4g}",
                    [(curve["value"][i], curve["low"][i], curve["high"][i]) for curve in curves],
                )
                for i, budget in enumerate(curves[0]["budgets"])
            ],
        }
        for by, curves in by_budget.items()
    ]


def _reliability_tables(report: _Record) -> list[dict[str, Any]]:
    """Return a table a run: a row a bin."""
    keys = ("answers", "confidence", "value", "low", "high")
    return [
        {
            "run": bins["run"],
            "basis": describe_basis(_basis_of(bins)),
            "rows": list(zip(*map(bins.__getitem__, keys), strict=True)),
        }
        for bins in _in_order_of_runs(report, "reliability")
    ]


def _losses_by_run(report: _Record) -> dict[str, dict[str, _Record]]:
    by_run: dict[str, dict[str, _Record]] = {}
    for share in _in_order_of_runs(report, "losses"):
        by_run.setdefault(share["run"], {})[share["measure"]] = share
    return by_run


def _in_order_of_runs(report: _Record, name: str) -> list[_Record]:
    """Return records of runs, those of the best run first."""
    place = {run: number for number, run in enumerate(report["runs"])}
    return sorted(report.get(name) or (), key=lambda record: place[record["run"]])


def _heat_maps(slices: Sequence[_Record]) -> list[dict[str, Any]]:
    """Return a map a measure: a row a slice, a column a run, each cell with its shade from 0 to `SHADES`."""
    maps = []
    for measure in dict.fromkeys(cell["measure"] for cell in slices):
        of_measure = [cell for cell in slices if cell["measure"] == measure]
        runs = list(dict.fromkeys(cell["run"] for cell in of_measure))
        values = [cell["value"] for cell in of_measure if cell["value"] is not None]
        low, high = min(values, default=0.0), max(values, default=0.0)
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for cell in of_measure:
            value = cell["value"]
            # All the same: no shade, as there is no better or worse.
            is_flat = value is None or high <= low
            shade = 0 if is_flat else round(_SHADES * (value - low) / (high - low))
            rows.setdefault((cell["field"], cell["name"]), {})[cell["run"]] = {**cell, "shade": shade}
        listed = [
            {"field": field, "name": name, "cells": [by_run.get(run) for run in runs]}
            for (field, name), by_run in rows.items()
        ]
        maps.append({"measure": measure, "runs": runs, "rows": listed, "low": low, "high": high})
    return maps


# Pages of a track: one that has the leaderboard, a topic, or a run. Static, escaped, without scripts.

_TRACK_STYLES = ("page.css", "parts.css", "track.css")
_TRACK_PLACES = 4


def track_page(kind: Literal["index", "topic", "run"], record: Mapping[str, Any]) -> str:
    """Return a page of this kind that shows the record; all text in it is escaped."""
    html: str = _template().render(kind=kind, **record)
    return html


@cache
def _template() -> Any:
    """Return the template, compiled once for hundreds of pages."""
    style = "\n".join(map(asset, _TRACK_STYLES))
    every = {"policy": policy([], style), "style": _trusted(style)}
    return _environment(_TRACK_PLACES).get_template("track.html.jinja", globals=every)
