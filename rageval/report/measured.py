"""Scores of several runs as cells with intervals, as compared pairs, and as columns by query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rageval.comparison import Comparison, Settings, compare
from rageval.comparison.comparing import why_not
from rageval.comparison.intervals import has_interval, sample
from rageval.comparison.verdicts import Absent, Alike
from rageval.report.columns import packed, plain
from rageval.scores import Score, Scores
from rageval.statistics.bootstrap import ends_of, intervals

Record = dict[str, Any]


def measured(
    results: Sequence[Scores],
    settings: Settings,
    absent: Absent | None = None,
    alike: Alike | None = None,
    refined: Callable[[Comparison], Comparison] = lambda found: found,
) -> Record:
    """Runs, measures, cells, the comparison and the columns of values."""
    known = _comparable(results)
    found = refined(compare(known, settings, absent=absent, alike=alike)) if len(known) > 1 else None
    report: Record = {
        "runs": [scores.run for scores in results],
        "measures": list(dict.fromkeys(str(score.measure) for scores in results for score in scores.scores)),
        "better": {str(score.measure): score.measure.better for scores in results for score in scores.scores},
        "cells": list(_cells(results, settings, found)),
        "queries": columns(results),
    }
    if found is not None:
        report["comparison"] = comparison_record(found.as_dict(), settings)
        left_out = (score for scores in results for score in scores.scores if why_not(score))
        said = dict.fromkeys(f"{score.measure}: not compared: it {why_not(score)}" for score in left_out)
        report["remarks"] = [*found.remarks, *said]
    return report


def comparison_record(found: Mapping[str, Any], settings: Settings | None = None) -> Record:
    """The pairs of a comparison and how they were tested."""
    record = {"signature": found["signature"], "pairs": found["pairs"]}
    if settings is not None:
        record |= {"baseline": settings.baseline, "level": settings.level, "test": settings.test}
    return record


def beaten(pairs: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """For each run and measure, the runs that are significantly worse.

    >>> beaten([{"run": "a", "other": "b", "measure": "rr", "verdict": "lower", "better_run": "b"}])
    {('b', 'rr'): ['a']}
    """
    found: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        better = pair["better_run"]
        if better is not None:
            worse = pair["other"] if better == pair["run"] else pair["run"]
            found.setdefault((better, pair["measure"]), []).append(worse)
    return found


def columns(results: Sequence[Scores]) -> Record:
    """The values of every query, a packed column a measure and run."""
    ids = dict.fromkeys(query for scores in results for score in scores.scores for query in score.query_ids)
    place = {query: at for at, query in enumerate(ids)}
    values: dict[str, dict[str, str]] = {}
    for scores in results:
        for score in scores.scores:
            column = np.full(len(ids), np.nan)
            column[[place[query] for query in score.query_ids]] = score.values
            values.setdefault(str(score.measure), {})[scores.run] = packed(column)
    return {"ids": list(ids), "values": values}


def _comparable(results: Sequence[Scores]) -> list[Scores]:
    """The runs with the measures that can be compared: scored for each, and averaged over queries."""
    names = [{str(score.measure) for score in scores.scores if not why_not(score)} for scores in results]
    shared = set.intersection(*names) if names else set()
    if not shared:
        return []
    return [
        replace(scores, scores=tuple(score for score in scores.scores if str(score.measure) in shared))
        for scores in results
    ]


def _cells(results: Sequence[Scores], settings: Settings, found: Comparison | None) -> Iterator[Record]:
    compared = {(cell.run, cell.measure): cell for cell in found.cells} if found else {}
    worse = beaten(found.as_dict()["pairs"]) if found else {}
    for scores in results:
        for score in scores.scores:
            key = scores.run, str(score.measure)
            cell = compared.get(key)
            low, high = (cell.low, cell.high) if cell else _interval(score, settings)
            yield {
                "run": scores.run,
                "measure": str(score.measure),
                "value": plain(score.value),
                "low": plain(low),
                "high": plain(high),
                "queries": score.queries,
                "undefined": score.undefined,
                "missing": score.missing,
                "best": bool(cell and cell.is_best),
                "better_than": worse.get(key, []),
                "signature": score.signature,
                **_said_of(score),
            }


def _interval(score: Score, settings: Settings) -> tuple[float, float]:
    """The interval of a run that is compared with none."""
    if score.groups is not None or not has_interval(score.measure):
        return float("nan"), float("nan")
    drawn = sample([score], settings.clusters)
    scale = ends_of(drawn.values, score.measure.limits)
    low, high = intervals(drawn, settings.interval, settings.level, settings.resamples, settings.seed, scale)
    return float(low[0]), float(high[0])


def _said_of(score: Score) -> Record:
    """What is known of some scores only."""
    record: Record = {}
    if score.bounds:
        record["bounds"] = [plain(bound) for bound in score.bounds]
    if score.lost:
        record["lost"] = dict(score.lost)
    if score.judges:
        record["judges"] = {judge: plain(value) for judge, value in score.judges.items()}
    return record
