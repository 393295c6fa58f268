"""Logs of inspect_ai: JSON, or `.eval`, which is a zip."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from rageval.logs._content import Content, Record
from rageval.logs.rows import (
    Grade,
    LogReader,
    LogReading,
    Row,
    facts_in,
    graded,
    ids_in,
    last_said,
    list_of,
    read_as,
)

_SAMPLE = re.compile(r"samples/(?P<id>[^/]+)_epoch_(?P<epoch>\d{1,9})\.json")
_WORTH = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # correct, partial, incorrect, no answer
_ATTACHED = "attachment://"


class _InspectScore(msgspec.Struct):
    value: Any = None
    explanation: str | None = None


class _Output(msgspec.Struct):
    completion: str | None = None
    choices: list[Any] = []
    error: str | None = None


class _InspectSample(msgspec.Struct):
    id: str | int
    epoch: int
    input: str | list[Any]
    target: str | list[str] = ""
    output: _Output | None = None
    scores: dict[str, _InspectScore] | None = None
    metadata: dict[str, Any] | None = None
    error: Any = None
    attachments: dict[str, str] = {}
    uuid: str | None = None


def _fits(content: Content) -> bool:
    if content.form == "zip":
        return "header.json" in content.members
    version = content.first.get("version")
    return content.first.at("eval", "task") is not None and version is not None and version.value() == 2


def _rows(content: Content, reading: LogReading) -> Iterator[Row]:
    header, samples = _parts(content)
    version = header.at("eval", "packages", "inspect_ai")
    reading.version = str(version.value()) if version else ""
    task, model = (_said(header.at("eval", name)) for name in ("task", "model"))
    judges = _judges(header)
    for record in samples:
        yield _row(record, f"{model}+{task}", judges)
    status = _said(header.get("status"))
    if status not in ("success", ""):
        reading.remarks.append(f"inspect says of this log that it is no success, but {status!r}")


def _parts(content: Content) -> tuple[Record, Iterator[Record]]:
    """Return the header, and the samples in the data set's order: a zip has them as they were finished."""
    if content.form != "zip" or content.member is None:
        samples = content.first.get("samples")
        found = list(samples.each()) if samples else []
        places = _places(content.first)
        found.sort(key=lambda each: (_epoch(each), places(_said(each.get("id")))))
        return content.first, iter(found)
    header, read = content.member("header.json"), content.member
    places = _places(header)
    members = [told for name in content.members if (told := _SAMPLE.fullmatch(name))]
    members.sort(key=lambda each: (int(each["epoch"]), places(each["id"])))
    return header, (read(each[0]) for each in members)


def _epoch(sample: Record) -> int:
    said = _said(sample.get("epoch"))
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else 0  # refused when it is read


def _places(header: Record) -> Callable[[str], int]:
    order = header.at("eval", "dataset", "sample_ids")
    places = {_said(name): at for at, name in enumerate(order.each() if order else ())}
    return lambda name: places.get(name, len(places))


def _said(record: Record | None) -> str:
    value = record.value() if record else ""
    return str(value) if isinstance(value, str | int) else ""


def _judges(header: Record) -> dict[str, str]:
    """Return the model that a scorer asks, by the scorer's name; none where it asks none."""
    scorers = header.at("eval", "scorers")
    found = {}
    for scorer in scorers.each() if scorers else ():
        model = _said(scorer.at("options", "model"))
        if model:
            found[_said(scorer.get("name"))] = f"inspect:{model}"
    return found


def _row(record: Record, run: str, judges: Mapping[str, str]) -> Row:
    value = record.value()
    if isinstance(value, dict) and value.get("attachments"):
        value = _put_back(value, value["attachments"])
    sample = read_as(_InspectSample, value, record.where)
    output = sample.output or _Output()
    failed = (
        _error(sample.error) or output.error or ("" if output.choices or output.completion else "no output")
    )
    question = sample.input if isinstance(sample.input, str) else last_said(sample.input, "user") or ""
    return Row(
        record.where,
        question,
        None if failed else output.completion or "",
        list_of(sample.target),
        run=run,
        repeat=str(sample.epoch),
        grades=list(_grades(judges, sample.scores or {})),
        facts=facts_in(sample.metadata),
        ids={"id": str(sample.id)} | ids_in(sample.metadata),
        failed=failed,
        lacks_failed=True,  # every scorer is asked about every sample
        record=value,
    )


def _error(error: Any) -> str:
    if isinstance(error, dict):
        return str(error.get("message") or "error")[:200]
    return str(error)[:200] if error else ""


def _put_back(value: Any, attached: Any) -> Any:
    """Return a value with its long texts, which inspect keeps apart, back in their places."""
    if isinstance(value, str):
        return attached.get(value.removeprefix(_ATTACHED), value) if value.startswith(_ATTACHED) else value
    if isinstance(value, list):
        return [_put_back(item, attached) for item in value]
    if isinstance(value, dict):
        return {
            name: item if name == "attachments" else _put_back(item, attached) for name, item in value.items()
        }
    return value


def _grades(judges: Mapping[str, str], scores: Mapping[str, _InspectScore]) -> Iterator[Grade]:
    for name, score in scores.items():
        judge, reason = judges.get(name, ""), score.explanation or ""
        values = score.value if isinstance(score.value, dict) else {name: score.value}
        for aspect, value in values.items():
            if isinstance(value, str) and value in _WORTH:  # the letter stays beside what it is worth
                yield Grade(aspect, _WORTH[value], value, judge, reason)
            elif isinstance(value, list):
                yield Grade(aspect, None, None, judge, "a list of values, expected one")
            else:
                yield graded(aspect, value, judge, reason)


INSPECT = LogReader("inspect", _fits, _rows)
