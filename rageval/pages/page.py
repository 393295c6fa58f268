"""A report as a page: one file with its styles, scripts and numbers, which asks for nothing from outside.

The browser runs the script whose hash stands in the page's policy, and nothing else. A report is read
back from its page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

from rageval.comparison.results import ruling_of
from rageval.comparison.tables import lettered
from rageval.errors import InputError, MissingPackage
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
from rageval.pages._sentence import first_sentence, level_of
from rageval.scoring.basis import by_whom, said_of_bases, said_of_corrected
from rageval.text import visible

if TYPE_CHECKING:
    import jinja2


def read_report(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Return everything the page shows, columns of values as lists with None where nothing is defined."""
    text = text_of_whole(source, _EXPECTED, _LARGEST)
    # By its mark, without an HTML parser: the block is ours, and `<` is escaped in it.
    _, found, rest = text.partition(OPENING)
    block, closed, _ = rest.partition(CLOSING)
    if not found or not closed:
        raise InputError(f"{source}: holds no report; expected {_EXPECTED}")
    try:
        report = json.loads(block)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: its numbers are damaged ({error}); expected {_EXPECTED}") from None
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        raise InputError(f"{source}: expected a report of format {FORMAT}; make it again")
    return with_columns(pairs_unpacked(report), unpacked)


_EXPECTED = "a page that rageval report wrote"
_LARGEST = 2**30  # bytes of a page: it holds the values of every run and query


EARLIER = "earlier result"  # what an input is called that was printed by a command
_SCRIPTS = (
    "texts.js",
    "basics.js",
    "table.js",
    "charts.js",
    "differences.js",
    "matrix.js",
    "trace.js",
    "page.js",
)
_STYLES = ("page.css", "parts.css")
_TEMPLATE = "page.html.jinja"
_MOST_PAIRS = 60  # rows of pairs that stand there from the beginning
_OPTIONAL = dict.fromkeys(("comparison", "queries", "slices", "matrices", "traces", "judging", "positions"))
_OPTIONAL |= dict.fromkeys(("spending", "topics", "diagnoses"))


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


def page_of_others(report: Mapping[str, Any], places: int = 4) -> str:
    """Return the page of a report that may come from a file: `InputError` if that lacks what a page shows."""
    from jinja2 import UndefinedError

    # Numbers that we computed are whole; only what was read from a file can lack a part.
    read = [each["name"] for each in report["provenance"]["inputs"] if each["role"] == EARLIER]
    try:
        return page(report, places)
    except (UndefinedError, AttributeError, KeyError, TypeError, ValueError) as error:
        if not read:
            raise
        raise InputError(
            f"{', '.join(read)}: holds only a part of what rageval printed, or something else in its place"
            f" ({error!s:.200}); print it again with --format json"
        ) from None


def _environment(places: int) -> jinja2.Environment:
    """Templates that escape whatever is not known to be safe, and make hidden characters visible."""
    require_engine()
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        # A misspelt name fails in tests, in place of an empty cell that nobody misses.
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Every value passes here, so that no template can forget it.
        finalize=_shown,
    )
    environment.filters |= {
        "number": lambda value: "–" if value is None else f"{value:.{places}f}",
        "p": _p,
        "ruling": ruling_of,
        # What the claims of a cell rest on; nothing where that need not be said.
        "whose": lambda cell: by_whom(cell.get("basis") or "", cell.get("corrected_from") or ""),
    }
    return environment


def _shown(value: Any) -> Any:
    """Return what a template prints: nothing for None, and every hidden character of a text."""
    if value is None:
        return ""
    # `is`: Markup is a str, too, and trusted as it is.
    return visible(value) if type(value) is str else value


def _trusted(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1e}" if value < 0.001 else f"{value:.4f}"


def require_engine() -> None:
    """`MissingPackage` unless the template engine is installed."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise MissingPackage("jinja2", "a page of a report or a track", extra="report") from None


_SHADES = 8  # of the heat map
_Record = Mapping[str, Any]


def _tables(report: _Record) -> dict[str, Any]:
    """Letters for the runs, a row a run, which measures are good when low, heat maps, signatures."""
    cells = {(cell["run"], cell["measure"]): cell for cell in report["cells"]}
    queries = report.get("queries") or {}
    bases = {
        found["measure"]: (found.get("basis") or "", found.get("corrected_from") or "")
        for found in (*(report.get("slices") or ()), *cells.values())
    }
    alone = {name: basis for name, (basis, source) in bases.items() if not source}
    rests = [*said_of_bases(alone), *said_of_corrected(bases)]
    corrected = "; ".join(said_of_corrected(bases))
    if corrected:
        corrected = (
            f"{corrected[:1].upper()}{corrected[1:]}. These labels alone decide what is claimed. Beside"
            " stands what the judge alone says, and how many labels without a judge these are worth."
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
        "by_judges": "; ".join(said_of_bases(alone)),
        "by_people": corrected,
        # What all rests on stands there by itself, of slices, too.
        "said": [each for each in (report.get("comparison") or {}).get("said") or () if each not in rests],
        "texts": queries.get("texts") or {},
        "heat": _heat_maps(report.get("slices") or ()),
        "signatures": list(dict.fromkeys(cell["signature"] for cell in cells.values())),
        "lost": [cell for cell in cells.values() if cell.get("lost")],
        "by_judge": [cell for cell in cells.values() if cell.get("judges")],
        "judges": list(dict.fromkeys(judge for cell in cells.values() for judge in cell.get("judges") or ())),
        "coefficients": list(
            dict.fromkeys(name for pair in report.get("judging") or () for name in pair["coefficients"])
        ),
    }


def _heat_maps(slices: Sequence[_Record]) -> list[dict[str, Any]]:
    """Return a map a measure: a row a slice, a column a run, each cell with its shade from 0 to `SHADES`."""
    maps = []
    for measure in dict.fromkeys(found["measure"] for found in slices):
        of_measure = [found for found in slices if found["measure"] == measure]
        runs = list(dict.fromkeys(found["run"] for found in of_measure))
        values = [found["value"] for found in of_measure if found["value"] is not None]
        low, high = min(values, default=0.0), max(values, default=0.0)
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for found in of_measure:
            value = found["value"]
            # All the same: no shade, as there is no better or worse.
            is_flat = value is None or high <= low
            shade = 0 if is_flat else round(_SHADES * (value - low) / (high - low))
            rows.setdefault((found["field"], found["name"]), {})[found["run"]] = {**found, "shade": shade}
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
    """Return a page of this kind that shows the record; whatever is text in it is escaped."""
    found: str = _template().render(kind=kind, **record)
    return found


@cache
def _template() -> Any:
    """Return the template, compiled once for hundreds of pages."""
    style = "\n".join(map(asset, _TRACK_STYLES))
    environment = _environment(_TRACK_PLACES)
    environment.globals |= {"policy": policy([], style), "style": _trusted(style)}
    return environment.get_template("track.html.jinja")
