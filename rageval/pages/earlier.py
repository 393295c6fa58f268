"""The JSON that earlier commands printed (`score`, `compare`, `label agree`, `diagnose`, …), as a report."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rageval.comparison import Settings
from rageval.comparison.results import better_of, worded
from rageval.errors import InputError, MeasureError, UsageError
from rageval.files.jsonl import refuse_long
from rageval.files.opening import Source, chunks, limits_of, name_of
from rageval.measures.base import NEITHER, checked_direction
from rageval.measures.parsing import parse_measure
from rageval.measures.ranking import Blend, Share
from rageval.pages._parts import FORMAT, plain, repacked, unpacked, with_columns
from rageval.pages.evidence import OF_PASSPORT
from rageval.pages.report import Beside, Report, beaten, comparison_record, finished, measured
from rageval.scoring.basis import JUDGE, PEOPLE, WORDS, judges_in
from rageval.scoring.qrels import Fingerprint
from rageval.scoring.scores import Score, Scores
from rageval.text import visible

_SAID = ("value", "missing", "bounds", "lost", "judges", "basis")
_EXPECTED = "the output of rageval score, compare, label agree, diagnose or report show with --format json"
_LEVEL = re.compile(r"\|level:(0\.\d+)\|")
_ONLY_MEANS = (
    "{}: has means only; with the values of every query (rageval score -q --format json) the report has"
    " intervals, tests and differences"
)


def earlier_report(files: Sequence[Source], settings: Settings, extra: Beside) -> Report:
    """Return one report on all files."""
    report: Report = {"runs": [], "measures": [], "cells": [], "remarks": [], "better": {}}
    results: list[Scores] = []
    for file in files:
        longest = limits_of(file).record
        text = b"".join(chunks(file, longest))
        refuse_long(text, f"{name_of(file)}:1", longest)
        try:
            # Python reads NaN and Infinity, which no JSON may hold.
            found = json.loads(text, parse_constant=_refused)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{name_of(file)}: expected {_EXPECTED}, found no valid JSON ({error})"
            ) from None
        if not isinstance(found, dict):
            raise InputError(f"{name_of(file)}: expected {_EXPECTED}, found {type(found).__name__}")
        try:
            results += _taken(found, report, name_of(file), settings)
        # JSON of anybody's may have any shape: whatever does not fit ends in one message, not in a traceback.
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, InputError | UsageError):
                raise
            raise InputError(f"{name_of(file)}: expected {_EXPECTED}; {error!r:.200}") from None
    if not report["cells"] and not report.get("judging") and not report.get("diagnoses"):
        raise InputError(f"{', '.join(map(name_of, files))}: nothing to report; expected {_EXPECTED}")
    return finished(report, results, extra)


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _taken(found: dict[str, Any], report: Report, name: str, settings: Settings) -> list[Scores]:
    """Put what was found into the report; the scores whose values a query are known."""
    if "results" in found:
        return _take_scores(found, report, name, settings)
    if "pairs" in found:
        _take_comparison(found, report)
    elif "coefficients" in found:
        record = {key: found[key] for key in OF_PASSPORT}
        # What `label agree` prints has no list of what the two disagree on.
        record = {"judge": name, "other": "gold", **record, "disagreements": None, "listed": []}
        report.setdefault("judging", []).append(record)
        if found.get("positions"):
            report.setdefault("positions", []).append({**found["positions"], "judge": name})
    elif "diagnosis" in found:
        report.setdefault("diagnoses", []).append(_diagnosis(found))
    elif found.get("format") == FORMAT:
        # A whole report has its own comparison and slices, which could contradict those of other files.
        if report["cells"]:
            raise UsageError(f"{name}: is a whole report; pass it alone")
        report |= with_columns(found, repacked)
        if report.get("comparison"):
            pairs, _ = _with_better_runs({**found, **report["comparison"]})
            report["comparison"] = {**report["comparison"], "pairs": pairs}
        report["better"] = {name: _direction(name, found.get("better", {})) for name in found["measures"]}
    else:
        raise InputError(f"{name}: expected {_EXPECTED}, found the keys {', '.join(map(str, found)):.200}")
    return []


def _diagnosis(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a diagnosis says, as far as a page shows it; numbers are numbers, and texts texts."""

    def numbers(said: Mapping[str, Any] | None, ends: tuple[str, str]) -> dict[str, float | None] | None:
        if said is None:
            return None
        return {n: None if said[n] is None else float(said[n]) for n in ("value", *ends)}

    return {
        "run": str(found["run"]),
        "depth": int(found["depth"]),
        "in_answers": float(found["in_answers"]),
        "in_passages": float(found["in_passages"]),
        "shares": {str(kind): numbers(share, ("least", "most")) for kind, share in found["shares"].items()},
        "counts": {str(kind): int(found["counts"][kind]) for kind in found["shares"]},
        "what_if": {str(name): numbers(gain, ("low", "high")) for name, gain in found["what_if"].items()},
        "worst": [
            {
                "query_id": str(each["query_id"]),
                "in_answer": float(each["in_answer"]),
                "lost": [{"how": str(lost["how"]), "text": str(lost["text"])} for lost in each["lost"]],
            }
            for each in found["worst"]
        ],
        "signature": str(found["signature"]),
    }


def _take_scores(found: Mapping[str, Any], report: Report, name: str, settings: Settings) -> list[Scores]:
    records = found["results"]
    results = _scores(records)
    if results:
        _add(report, measured(results, settings))
    else:
        _add(report, {"cells": [_cell(record) for record in records]})
        report["remarks"].append(_ONLY_MEANS.format(name))
        said = {record["measure"]: record["better"] for record in records if "better" in record}
        report["better"] |= {name: _direction(name, said) for name in report["measures"]}
    given = {(record["run"], record["measure"]): record for record in records}
    for cell in report["cells"]:
        record = given.get((cell["run"], cell["measure"]), {})
        cell |= {key: record[key] for key in _SAID if key in record}
    slices = [
        {"run": record["run"], "measure": record["measure"], **found}
        for record in records
        for found in record.get("slices", ())
    ]
    if slices:
        report.setdefault("slices", []).extend(slices)
    return results


def _scores(records: Sequence[Mapping[str, Any]]) -> list[Scores]:
    """Scores as they were before they were printed; nothing unless all have their values a query."""
    # Without values by query there is nothing to test: the means alone are shown.
    if not all(record.get("by_query") for record in records):
        return []
    by_run: dict[str, list[Score]] = {}
    for record in records:
        # Shares, where they are pooled and their values alone do not tell all.
        shares = record.get("shares") or {}
        values = [
            _share(shares[query]) if query in shares else math.nan if value is None else float(value)
            for query, value in record["by_query"].items()
        ]
        queries, signature = list(record["by_query"]), str(record["signature"])
        # The groups themselves are not in the file; that there were any forbids tests over single queries.
        groups = dict.fromkeys(queries, "") if "|mean:" in signature else None
        measure = parse_measure(record["measure"])
        # Files of 0.1 do not say whose word a value is; for answers it is a judge's.
        basis = record.get("basis", _basis(str(measure)))
        known = _BASES.get(basis, basis)
        judges = (judges_in(known),) if judges_in(known) else ()
        said_by = {JUDGE: ("",), PEOPLE: (PEOPLE,)}.get(known, judges)
        bounds = record.get("bounds")
        if bounds is not None:
            bounds = tuple(math.nan if end is None else float(end) for end in bounds)
        score = Score(
            measure,
            queries,
            values,
            int(record["missing"]),
            signature,
            groups,
            bounds=bounds,
            lost={str(status): int(count) for status, count in record.get("lost", {}).items()},
            judged_by={
                str(query): frozenset([(by,)] if isinstance(by, str) else map(str, by))
                for query, by in record.get("judged_by", {}).items()
            },
            said_by=said_by,
            of_words=record.get("basis") == WORDS,
        )
        by_run.setdefault(str(record["run"]), []).append(score)
    said = {str(record["run"]): record for record in records}
    return [Scores(run, tuple(scores), **_known_of_run(said[run])) for run, scores in by_run.items()]


def _known_of_run(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of a run beside its scores."""
    known: dict[str, Any] = {}
    if "absent" in record or not int(record["missing"]):
        known["absent"] = frozenset(map(str, record.get("absent", ())))
    if "judgements" in record:
        known["made_by"] = Fingerprint(text=str(record["judgements"]))
    # A score that must not be tested says so in its signature alone.
    signature = str(record["signature"])
    known["is_adaptive"] = any(mark in signature for mark in ("|pool:adaptive", "|stopped:"))
    return known


def _share(parts: Sequence[Any] | None) -> float:
    """Return a share of its part and whole, or a blend of its rule and the parts of its shares."""
    if parts is None:
        return math.nan
    return Blend(parts[0], *map(_share, parts[1:])) if isinstance(parts[0], str) else Share(*parts)


def _take_comparison(found: Mapping[str, Any], report: Report) -> None:
    pairs, better = _with_better_runs(found)
    worse = beaten(pairs)
    cells = [
        {
            **_cell(value),
            "low": plain(value["low"]),
            "high": plain(value["high"]),
            "best": value["is_best"],
            "better_than": worse.get((value["run"], value["measure"]), []),
        }
        for value in found["values"]
    ]
    compared = comparison_record({**found, "pairs": pairs})
    # The one place where an earlier comparison says of what level its intervals are.
    if level := _LEVEL.search(str(found["signature"])):
        report["level"] = float(level[1])
    _add(report, {"cells": cells, "comparison": compared, "remarks": found["remarks"], "better": better})


def _with_better_runs(found: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the pairs as they are printed today, and which values are good by each measure."""
    better = {name: _direction(name, found.get("better", {})) for name in found["measures"]}
    pairs = []
    for pair in found["pairs"]:
        way = better.get(pair["measure"], NEITHER)
        basis = pair.get("basis", _basis(pair["measure"]))
        # Verdicts of older versions are brought into today's words, by the direction that the measure
        # declares.
        source = _BASES.get(pair.get("corrected_from", ""), pair.get("corrected_from", ""))
        basis = _BASES.get(basis, basis)
        verdict = worded(pair["verdict"], way, basis, source)
        winner = better_of(pair["run"], pair["other"], verdict, way)
        pairs.append({**pair, "verdict": verdict, "better_run": winner, "basis": basis})
    return pairs, better


_BASES = {"by this judge": JUDGE, "human labels": PEOPLE}  # as earlier versions wrote them


def _direction(name: str, said: Mapping[str, str]) -> str:
    """Which values are good, as the file says or the measure; of a measure that is not known, neither are."""
    try:
        return checked_direction(said[name], name) if name in said else parse_measure(name).better
    except MeasureError:
        return NEITHER


def _basis(name: str) -> str:
    """Return what claims by a measure rest on, where the file is of a version that does not say it."""
    try:
        return JUDGE if getattr(parse_measure(name), "of_answers", False) else ""
    except MeasureError:
        return ""


def _cell(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "run": str(record["run"]),
        "measure": str(record["measure"]),
        "value": plain(record["value"]),
        "low": None,
        "high": None,
        "queries": int(record["queries"]),
        "undefined": int(record["undefined"]),
        "missing": int(record.get("missing", 0)),
        "best": False,
        "better_than": [],
        "signature": str(record["signature"]),
        "basis": _BASES.get(basis := str(record.get("basis", _basis(str(record["measure"])))), basis),
    }


def _add(report: Report, found: Mapping[str, Any]) -> None:
    """Add what another file says; of a run and measure that are there already it must say the same."""
    cells = {(cell["run"], cell["measure"]): cell for cell in report["cells"]}
    for cell in found["cells"]:
        name = cell["run"], cell["measure"]
        before = cells.get(name, cell)
        # Two runs of one name would be mixed in one column.
        if (before["signature"], before["value"]) != (cell["signature"], cell["value"]):
            raise InputError(
                f"{visible(name[0])}: {name[1]} is {before['value']} in one file ({before['signature']}) and"
                f" {cell['value']} in another ({cell['signature']}); give each run its own name"
            )
        cells[name] = cell
    kept = {key: value for key, value in found.items() if key not in ("cells", "remarks", "better")}
    if "queries" in kept and "queries" in report:
        parts = report["queries"], kept["queries"]
        ids = list(dict.fromkeys(query for part in parts for query in part["ids"]))
        values: dict[str, dict[str, str]] = {}
        for part in parts:
            # Files may know different queries; what one does not know is undefined there.
            for measure, columns in part["values"].items():
                for run, column in columns.items():
                    known = dict(zip(part["ids"], unpacked(column), strict=True))
                    values.setdefault(measure, {})[run] = repacked([known.get(query) for query in ids])
        kept["queries"] = {"ids": ids, "values": values}
    runs, measures = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    report |= {
        **kept,
        "cells": [cells[run, measure] for run in runs for measure in measures if (run, measure) in cells],
        "runs": runs,
        "measures": measures,
        "better": {**report["better"], **found.get("better", {})},
        "remarks": [*report["remarks"], *found.get("remarks", ())],
    }
    for measure in measures:
        signatures = {cell["signature"] for cell in report["cells"] if cell["measure"] == measure}
        said = f"{measure}: the runs were scored by different rules; their signatures differ"
        if len(signatures) > 1 and said not in report["remarks"]:
            report["remarks"].append(said)
