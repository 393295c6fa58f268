"""Entries of FreshStack's leaderboard: `--format freshstack-leaderboard`, `rageval datasets leaderboard`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from rageval.errors import InputError, UsageError
from rageval.files.whole import read_whole
from rageval.measures.official import OFFICIAL
from rageval.table import as_json

if TYPE_CHECKING:
    from rageval.scoring.scores import Scores

_MEASURES = {measure.replace("@", "_"): measure for measure in OFFICIAL["freshstack"]}  # as it calls them
_TOPICS = ("langchain", "yolo", "laravel", "angular", "godot")
_UNKNOWN = "-"
_EXPECTED = (
    f"expected {{leaderboardData: [{{info: {{name}}, datasets: {{topic: {{{', '.join(_MEASURES)}}}}}}}]}}"
)


def entries(results: list[Scores]) -> Iterator[str]:
    """Write the entries of FreshStack's leaderboard_data.json: one a run, where - is for you to fill in."""
    topic = _topic()
    found = [_entry(scores, topic) for scores in results]
    yield as_json({"leaderboardData": found})


def _entry(scores: Scores, topic: str) -> dict[str, Any]:
    found = {}
    for name, measure in _MEASURES.items():
        try:
            found[name] = scores[measure].value
        except KeyError:
            raise UsageError(
                f"--format freshstack-leaderboard: expected -m official:freshstack, found no {measure}"
            ) from None
    info = {"name": scores.run, "size": _UNKNOWN, "type": _UNKNOWN, "date": _UNKNOWN, "link": _UNKNOWN}
    return {"info": info, "datasets": {topic: found}}


def _topic() -> str:
    """Return the topic of the data set on the command line."""
    for word in click.get_current_context().params.get("words", ()):
        parts = word.split("/")
        if len(parts) == 3 and parts[0] == "freshstack":
            return str(parts[1])
    raise UsageError(
        "--format freshstack-leaderboard: expected an id such as freshstack/langchain/oct-2024 as judgements"
    )


def merged(files: Sequence[str]) -> str:
    """Merge the entries of these files, those of one name as one; add the average of all five topics."""
    entries: dict[str, dict[str, Any]] = {}
    for file in files:
        for entry in _entries(file):
            known = entries.setdefault(entry["info"]["name"], {"info": entry["info"], "datasets": {}})
            for topic, values in entry["datasets"].items():
                if topic in known["datasets"]:
                    raise InputError(f"{file}: a second entry of {entry['info']['name']!r} for {topic}")
                known["datasets"][topic] = values
    for entry in entries.values():
        _average(entry["datasets"])
    # Values of others' files, of which one may be NaN, stand as they were.
    return json.dumps({"leaderboardData": list(entries.values())}, indent=2, ensure_ascii=True)


def _average(datasets: dict[str, dict[str, float]]) -> None:
    datasets.pop("average", None)
    if all(topic in datasets for topic in _TOPICS):
        means = {name: sum(datasets[topic][name] for topic in _TOPICS) / len(_TOPICS) for name in _MEASURES}
        datasets["average"] = means


def _entries(file: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(read_whole(file, "a leaderboard", 2**30))
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: {_EXPECTED}, found no JSON ({error})") from None
    entries = found.get("leaderboardData") if isinstance(found, dict) else None
    if not isinstance(entries, list) or not all(map(_is_entry, entries)):
        raise InputError(f"{file}: {_EXPECTED}")
    return entries


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("info"), dict):
        return False
    datasets = entry.get("datasets")
    return (
        isinstance(entry["info"].get("name"), str)
        and isinstance(datasets, dict)
        and all(isinstance(values, dict) and set(values) == set(_MEASURES) for values in datasets.values())
        and all(type(value) in (int, float) for values in datasets.values() for value in values.values())
    )
