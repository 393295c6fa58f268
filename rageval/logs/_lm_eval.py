"""Samples of lm-evaluation-harness (`--log_samples`): one file a task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rageval.logs._content import Content
from rageval.logs.rows import LogReader, LogReading, Row, graded, ids_in, list_of, read_as

_ASKED = ("question", "query")


class _LmEvalSample(msgspec.Struct):
    doc_id: int
    filtered_resps: list[Any]
    doc: dict[str, Any] = {}
    target: Any = None
    arguments: Any = None
    resps: list[Any] = []
    filter: str = ""
    metrics: list[str] = []


def _fits(content: Content) -> bool:
    return {"doc_id", "filtered_resps", "doc_hash"} <= set(content.first.keys())


def _rows(content: Content, reading: LogReading) -> Iterator[Row]:
    for record in content.records():
        value = record.value()
        sample = read_as(_LmEvalSample, value, record.where)
        answers = _answers(sample)
        if answers is None:
            reading.left_out["log-likelihoods, which are no answers"] += 1
            continue
        scores = {name: value.get(name) for name in sample.metrics}
        # What an aggregate is made of later, such as pairs of a prediction and its target, is no score.
        lists = [name for name, found in scores.items() if isinstance(found, list | dict)]
        reading.left_out["metrics that are no numbers"] += len(lists)
        scores = {name: found for name, found in scores.items() if name not in lists}
        for answer in answers:
            yield Row(
                record.where,
                _question(sample),
                answer,
                [str(sample.target)] if isinstance(sample.target, int | float) else list_of(sample.target),
                variant=sample.filter,  # each filter makes another answer of the same response
                grades=[graded(name, found, "") for name, found in scores.items()],
                ids=ids_in(sample.doc),
                record=value,
            )


def _answers(sample: _LmEvalSample) -> list[str | None] | None:
    """Return the answers that the metrics are of: one, or all repeats where the filter keeps them.

    One that is null is none; None in place of all are log-likelihoods.
    """
    first = sample.filtered_resps[0] if sample.filtered_resps else None
    found = first if isinstance(first, list) else [first]
    is_said = all(each is None or isinstance(each, str) for each in found)
    return found or [None] if is_said else None


def _question(sample: _LmEvalSample) -> str:
    named = (sample.doc.get(name) for name in _ASKED)
    question = next((text for text in named if isinstance(text, str)), None)
    if question is not None:
        return question
    arguments = sample.arguments
    first = arguments.get("gen_args_0") if isinstance(arguments, dict) else None
    prompt = first.get("arg_0") if isinstance(first, dict) else None
    return prompt if isinstance(prompt, str) else ""


LM_EVAL = LogReader("lm-eval", _fits, _rows)
