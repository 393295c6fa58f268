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
    attribution,
    correction_notes,
    describe_basis,
    single_values_note,
    uncorrected_notes,
)
from rageval.views.comparisons import lettered
from rageval.views.verdicts import basis_of, first_sentence, level_of

if TYPE_CHECKING:
    import jinja2

_Record = Mapping[str, Any]

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
        "whose": lambda cell: attribution(basis_of(cell)),
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
    bases = {cell["measure"]: basis_of(cell) for cell in (*(report.get("slices") or ()), *cells.values())}
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
            dict.fromkeys(describe_basis(basis_of(share)) for share in report.get("losses") or ())
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
            "basis": describe_basis(basis_of(curves[0])),
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
            "basis": describe_basis(basis_of(bins)),
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
