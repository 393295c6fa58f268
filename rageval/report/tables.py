"""The structure of a report as rows and columns, for the template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any

from rageval.measures.base import LOWER, NEITHER

SHADES = 8  # of the heat map
Record = Mapping[str, Any]


def tables(report: Record) -> dict[str, Any]:
    """Letters for the runs, a row a run, which measures are good when low, heat maps, signatures."""
    cells = {(cell["run"], cell["measure"]): cell for cell in report["cells"]}
    queries = report.get("queries") or {}
    better = report.get("better") or {}
    return {
        "letters": letters(report["runs"]),
        "overview": [
            (run, [cells.get((run, measure)) for measure in report["measures"]]) for run in report["runs"]
        ],
        "queries": len(queries.get("ids", ()))
        or max((cell["queries"] for cell in cells.values()), default=0),
        "low": [measure for measure in report["measures"] if better.get(measure) == LOWER],
        "neither": [measure for measure in report["measures"] if better.get(measure) == NEITHER],
        "heat": heat_maps(report.get("slices") or ()),
        "signatures": list(dict.fromkeys(cell["signature"] for cell in cells.values())),
        "lost": [cell for cell in cells.values() if cell.get("lost")],
        "by_judge": [cell for cell in cells.values() if cell.get("judges")],
    }


def letters(runs: Sequence[str]) -> dict[str, str]:
    """a, b, …, z, aa, … for the runs.

    >>> letters(["one", "two"])
    {'one': 'a', 'two': 'b'}
    """
    found = {}
    for at, run in enumerate(runs):
        letter = ascii_lowercase[at % 26]
        found[run] = letter if at < 26 else ascii_lowercase[at // 26 - 1] + letter
    return found


def heat_maps(slices: Sequence[Record]) -> list[dict[str, Any]]:
    """A map a measure: a row a slice, a column a run, each cell with its shade from 0 to `SHADES`."""
    maps = []
    for measure in dict.fromkeys(found["measure"] for found in slices):
        of_measure = [found for found in slices if found["measure"] == measure]
        runs = list(dict.fromkeys(found["run"] for found in of_measure))
        values = [found["value"] for found in of_measure if found["value"] is not None]
        low, high = min(values, default=0.0), max(values, default=0.0)
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for found in of_measure:
            shaded = {**found, "shade": _shade(found["value"], low, high)}
            rows.setdefault((found["field"], found["name"]), {})[found["run"]] = shaded
        listed = [
            {"field": field, "name": name, "cells": [by_run.get(run) for run in runs]}
            for (field, name), by_run in rows.items()
        ]
        maps.append({"measure": measure, "runs": runs, "rows": listed, "low": low, "high": high})
    return maps


def _shade(value: float | None, low: float, high: float) -> int:
    if value is None or high <= low:
        return 0
    return round(SHADES * (value - low) / (high - low))
