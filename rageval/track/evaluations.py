"""Records of every_eval_ever, the exchange format of evaluations, for the systems of a leaderboard."""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from rageval.comparison.leaderboards import Standing
from rageval.files.jsonl import as_line
from rageval.files.scores import ALL, read_leaderboard
from rageval.files.writing import file_names
from rageval.measures.base import LOWER
from rageval.measures.parsing import parse_measure
from rageval.statistics import LEVEL
from rageval.table import or_none
from rageval.track.bundle import Bundle
from rageval.track.leaderboard import read_standings
from rageval.track.values import STANDINGS, VALUES
from rageval.version import __version__

SCHEMA = "0.3.0"
_BY = "rageval"
_WHOLE_SCALE = 1.0


def record_files(bundle: Bundle) -> dict[str, bytes]:
    """Return a record a system and its values of topics, by the names of files that the format asks for."""
    rows: dict[str, list[Standing]] = {}
    for row in read_standings(bundle.path(STANDINGS)):
        rows.setdefault(row.run, []).append(row)
    values: dict[str, list[Any]] = {}
    for value in read_leaderboard(str(bundle.path(VALUES))):
        if value.query_id != ALL and value.value == value.value:
            values.setdefault(value.run_id, []).append(value)
    # Records say when they were made; a build that shall be repeated sets the time.
    now = str(os.environ.get("SOURCE_DATE_EPOCH") or int(time.time()))
    (board,) = file_names([bundle.manifest.title]).values()
    names = file_names(rows)
    files = {}
    for run, standings in rows.items():
        folder = f"data/{board}/{_BY}/{names[run]}"
        digest = hashlib.sha256(f"{bundle.sha256}/{run}".encode()).digest()
        # The format asks for a random one; this one is the same for the same bundle.
        name = f"{folder}/{uuid.UUID(bytes=digest[:16], version=4)}"
        about = f"{board}/{names[run]}/{now}"
        samples = "".join(f"{line}\n" for line in _sample_lines(about, run, values.get(run, ()))).encode()
        record = _evaluation_record(bundle, about, run, standings, now)
        if samples:
            files[f"{name}_samples.jsonl"] = samples
            record["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": f"{name}_samples.jsonl",
                "hash_algorithm": "sha256",
                "checksum": hashlib.sha256(samples).hexdigest(),
                "total_rows": samples.count(b"\n"),
            }
        files[f"{name}.json"] = json.dumps(record, indent=1, ensure_ascii=False).encode() + b"\n"
    return files


def _evaluation_record(
    bundle: Bundle, about: str, run: str, standings: Sequence[Standing], now: str
) -> dict[str, Any]:
    manifest = bundle.manifest
    return {
        "schema_version": SCHEMA,
        "evaluation_id": about,
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_name": manifest.title,
            "source_type": "evaluation_run",
            "source_organization_name": manifest.title,
            "evaluator_relationship": "third_party",
        },
        "eval_library": {"name": _BY, "version": __version__},
        "model_info": {
            "name": run,
            "id": f"{_BY}/{run}",
            "additional_details": {
                "kind": "retrieval run" if manifest.track == "run" else "answers",
                "deployment_type": "unknown",
                "model_availability": "unknown",
            },
        },
        "evaluation_results": [
            _result_of(bundle, standing) for standing in standings if standing.value == standing.value
        ],
    }


def _result_of(bundle: Bundle, standing: Standing) -> dict[str, Any]:
    measure = parse_measure(standing.measure)
    low, high = getattr(measure, "limits", None) or (0.0, _WHOLE_SCALE)
    details: dict[str, Any] = {"score": standing.value}
    if or_none(standing.low) is not None and or_none(standing.high) is not None:
        interval = {"lower": standing.low, "upper": standing.high, "confidence_level": LEVEL}
        how = {"method": "bootstrap over topics" if standing.labels is None else "corrected by human labels"}
        details["uncertainty"] = {"confidence_interval": interval | how, "num_samples": standing.queries}
    return {
        "evaluation_result_id": standing.measure,
        "evaluation_name": standing.measure,
        "source_data": {
            "dataset_name": bundle.manifest.title,
            "source_type": "other",
            "additional_details": {"bundle_sha256": bundle.sha256},
        },
        "metric_config": {
            "metric_id": standing.measure,
            "lower_is_better": measure.better == LOWER,
            "score_type": "continuous",
            "min_score": low,
            "max_score": high,
            "additional_details": {"signature": standing.signature},
        },
        "score_details": details,
    }


def _sample_lines(about: str, run: str, values: Sequence[Any]) -> Iterator[str]:
    """Yield the value of each topic; the format wants what was asked and said, of which a bundle has ids."""
    for value in values:
        yield as_line(
            {
                "schema_version": SCHEMA,
                "evaluation_id": about,
                "model_id": f"{_BY}/{run}",
                "evaluation_name": value.measure,
                "evaluation_result_id": value.measure,
                "sample_id": value.query_id,
                "interaction_type": "single_turn",
                "input": {"raw": value.query_id, "reference": ["(judgements)"]},
                "output": {"raw": ["(answer)"]},
                "answer_attribution": [
                    {
                        "turn_idx": 0,
                        "source": "output.raw",
                        "extracted_value": "(answer)",
                        "extraction_method": "none",
                        "is_terminal": True,
                    }
                ],
                "evaluation": {"score": value.value, "is_correct": value.value >= _WHOLE_SCALE},
            }
        )
