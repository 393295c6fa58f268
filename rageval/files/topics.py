"""Topics as lines of two columns, `id<TAB>text`, as TREC hands them out."""

from __future__ import annotations

from rageval.files.forms import Form, Unfit, identifier
from rageval.files.limits import Limits
from rageval.files.opening import bad_bytes
from rageval.records import Question


def _from_line(line: bytes, limits: Limits) -> Question:
    content = line.removesuffix(b"\r")
    problem = bad_bytes(content, limits)
    if problem:
        raise Unfit(problem)
    columns = [column.strip() for column in content.decode().split("\t")]
    if len(columns) != 2:
        raise Unfit(f"expected 2 columns with a tab between them, found {len(columns)}")
    if not all(columns):
        raise Unfit("expected 2 columns, found nothing in one")
    return Question(identifier(columns[0], "id", limits), columns[1])


def _bytes(line: bytes) -> bytes:
    if not line.strip():
        raise Unfit("nothing")  # blank lines are skipped
    return line


TOPICS: Form[Question] = Form("topics", "id<TAB>text", lambda _: False, bytes, _from_line, _bytes)
