"""A log as files: answers, questions, a run each, passages, judgements, gold, and the manifest of it all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rageval.files.answers import write_answers
from rageval.files.jsonl import as_line
from rageval.files.opening import STDIN
from rageval.files.questions import write_questions
from rageval.files.writing import file_names
from rageval.logs.parting import PERSON, Log
from rageval.version import __version__

Lines = Callable[[], Iterator[str]]


def outputs(log: Log) -> dict[str, Lines]:
    """Return what each file holds; what the log does not hold has no file."""
    files: dict[str, Lines] = {}
    if log.answers:
        files["answers.jsonl"] = lambda: _answers(log)
    if log.questions:
        files["questions.jsonl"] = lambda: write_questions(log.questions)
    for name, plain in file_names(log.run).items():
        # One run is run.trec; of several each bears its name.
        file = "run.trec" if len(log.run) == 1 else f"run.{plain}.trec"
        files[file] = lambda name=name: _run(log, name)  # type: ignore[misc]
    if log.passages:
        files["passages.jsonl"] = lambda: (
            as_line({"id": doc, "text": text}) for doc, text in log.passages.items()
        )
    tools, people = (_judged(log, of_people) for of_people in (False, True))
    if tools:
        files["judged.jsonl"] = lambda: map(as_line, tools)
    if people:
        files["people.jsonl"] = lambda: map(as_line, people)
    if log.gold:
        files["gold.qrels"] = lambda: (
            f"{q.query_id} {q.iteration} {q.doc_id} {q.relevance}" for q in log.gold
        )
    return files


def counts_of(log: Log) -> dict[str, int]:
    """Return how much of everything a log holds."""
    judged = [said for said in log.judgements if not said["judge"].startswith(PERSON)]
    counts = {
        "answers": sum(not answer.error for answer in log.answers),
        "failed answers": sum(bool(answer.error) for answer in log.answers),
        "questions": len(log.questions),
        "runs": len({answer.run_id for answer in log.answers} | set(log.run)),
        "retrieved": sum(map(len, log.run.values())),
        "passages": len(log.passages),
        "judgements": len(judged),
        "failed judgements": sum(said["status"] == "error" for said in judged),
        "judgements by people": len(log.judgements) - len(judged),
        "gold documents": len(log.gold),
    }
    always = ("answers", "questions", "retrieved", "judgements")
    return {name: number for name, number in counts.items() if number or name in always}


def manifest(log: Log, paths: Sequence[str], settings: Mapping[str, Any]) -> Iterator[str]:
    """Return what was read, how, and what was left out, as JSON."""
    said = {
        "tool": log.tool,
        "tool_version": log.version,
        "imported_by": f"rageval {__version__}",
        "settings": {name: value for name, value in settings.items() if value},
        "logs": [_input(path) for path in paths],
        "counts": counts_of(log),
        "left_out": log.left_out,
        "remarks": log.remarks,
    }
    yield from json.dumps(said, indent=1, sort_keys=True, ensure_ascii=True).splitlines()


def _input(path: str) -> dict[str, Any]:
    if path == STDIN or not os.path.isfile(path):
        return {"name": os.path.basename(path)}
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(2**20):
            digest.update(block)
    return {"name": os.path.basename(path), "bytes": os.path.getsize(path), "sha256": digest.hexdigest()}


def _answers(log: Log) -> Iterator[str]:
    for answer in log.answers:
        trace = log.traces.get((answer.run_id, answer.query_id, answer.repeat))
        yield next(write_answers([answer], "plain", **({"trace_id": trace} if trace else {})))


def _run(log: Log, name: str) -> Iterator[str]:
    rank, query = 0, ""
    for found in log.run[name]:
        rank = rank + 1 if found.query_id == query else 1
        query = found.query_id
        yield f"{query} Q0 {found.doc_id} {rank} {found.score!r} {name}"


def _judged(log: Log, of_people: bool) -> list[dict[str, Any]]:
    return [said for said in log.judgements if said["judge"].startswith(PERSON) == of_people]
