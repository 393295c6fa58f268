"""What a file is, by its first line: a run, qrels, a corpus, topics, nuggets, answers, judgements, ….

>>> kind_of(b'{"query_id": "q", "run_id": "r", "label": "perfect"}'), kind_of(b"q1 0 d1 1")
('judgements', 'qrels')
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from rageval.errors import InputError
from rageval.files import retrieved
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import BOM, head
from rageval.files.trec import QRELS, RUN, is_tabbed

RUNS, JUDGED, CORPUS, TOPICS, NUGGETS = "run", "qrels", "corpus", "topics", "nuggets"
ANSWERS, JUDGEMENTS, ASSIGNMENTS = "answers", "judgements", "assignments"
POOL, MANIFEST, LEADERBOARD, RETRIEVED = "pool", "manifest", "leaderboard", "retrieved"
_OF_ALL = {b"all", b"amean"}  # what a leaderboard has in place of a topic
_FRACTION = re.compile(rb"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
_VERDICT = {"label", "grade", "status"}
_DOCUMENT_IDS = {"_id", "id", "docid", "doc_id"}
_ASKED = {"question", "title", "query_text"}
_OF_ANSWERS = {"run_id", "references", "metadata", "passages"}
_DOCUMENT_TEXTS = {"text", "segment", "passage"}


def kind_of_file(path: str, limits: Limits = DEFAULT) -> str:
    """Return the kind of a file; `InputError` if it is none that is known here."""
    start = head(path, limits.for_records()).removeprefix(BOM)
    lines = [line for line in start.replace(b"\r", b"\n").split(b"\n") if line.strip()]
    line = lines[0] if lines else b""
    if retrieved.kind_of(start) == retrieved.RUN:
        kind: str | None = RETRIEVED
    elif line.strip() == b"{":
        kind = MANIFEST if b'"rageval"' in start else _kind_of_object(start)
    else:
        kind = LEADERBOARD if _is_leaderboard(lines) else kind_of(line)
    if kind is None:
        raise InputError(
            f"{path}:1: cannot tell what this is; expected a run, qrels, nuggets, answers, judgements,"
            " topics (--topics FILE) or a corpus (--corpus FILE)"
        )
    return kind


def kind_of(line: bytes) -> str | None:
    """Return the kind of a file that begins with this line, None if it is unknown."""
    if line.lstrip().startswith(b"{"):
        try:
            return _kind_of_record(msgspec.json.decode(line, type=dict[str, Any]))
        except (ValueError, RecursionError):
            return None
    for kind in (RUN, QRELS):
        if is_tabbed(line, kind.width):
            return kind.name
    if line.count(b"\t") == 1:
        return TOPICS
    return {RUN.width: RUNS, QRELS.width: JUDGED}.get(len(line.split()))


def _is_leaderboard(lines: Sequence[bytes]) -> bool:
    """Tell whether lines of four columns are values of runs, by topic and measure, and no judgements.

    They begin with names of columns, hold means over all topics, or fractions of few measures of many runs.
    """
    rows = [line.split() for line in lines]
    rows = rows[:-1] if len(rows) > 1 and len(rows[-1]) != QRELS.width else rows  # cut off behind so much
    if not rows or any(len(row) != QRELS.width for row in rows):
        return False
    if rows[0][-1].lower() in (b"value", b"score") or any(_OF_ALL & set(row[1:3]) for row in rows):
        return True
    fractions = sum(_FRACTION.fullmatch(row[-1]) is not None for row in rows)
    return 2 * fractions >= len(rows) and 2 * len({row[2] for row in rows}) <= len(rows)


def _kind_of_object(start: bytes) -> str | None:
    """Return the kind of one object over many lines: FreshStack's leaderboard is one."""
    try:
        record = msgspec.json.decode(start, type=dict[str, Any])
    except (ValueError, RecursionError):
        return LEADERBOARD if b'"info"' in start and b'"datasets"' in start else None
    return _kind_of_record(record)


def _kind_of_record(record: dict[str, Any]) -> str | None:
    keys = set(record)
    if {"info", "datasets"} <= keys and isinstance(record["datasets"], dict):
        return LEADERBOARD
    nuggets = record.get("nuggets")
    if isinstance(nuggets, list):
        assigned = any(isinstance(nugget, dict) and "assignment" in nugget for nugget in nuggets)
        return ASSIGNMENTS if assigned else NUGGETS
    if "rubrics" in keys:
        return NUGGETS
    if {"query_id", "doc_id", "from"} <= keys:
        return POOL
    if "query_id" in keys and (keys & _VERDICT):
        return JUDGEMENTS
    if _is_answer(record, keys):
        return ANSWERS
    if "interaction_id" in keys or (keys & _ASKED and not keys & _DOCUMENT_TEXTS):
        return TOPICS
    return CORPUS if keys & _DOCUMENT_IDS and keys & _DOCUMENT_TEXTS else None


def _is_answer(record: dict[str, Any], keys: set[str]) -> bool:
    """Questions have answers, too: gold ones; an answer is of a run, or cites, or has seen passages."""
    if "answer" not in keys:
        return False
    parts = record["answer"] if isinstance(record["answer"], list) else []
    cites = any(isinstance(part, dict) and "citations" in part for part in parts)
    return cites or bool(keys & _OF_ANSWERS)
