"""The scores that the nuggetizer printed for a run, to compare with."""

from __future__ import annotations

import msgspec

from rageval.files.forms import Form, Id, has, identifier, once, read_forms
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source

SCORES = ("strict_vital_score", "strict_all_score", "vital_score", "all_score")


class Metrics(msgspec.Struct):
    """A line: the four scores of a query, or of `all`."""

    qid: Id
    strict_vital_score: float
    strict_all_score: float
    vital_score: float
    all_score: float


Named = tuple[str, dict[str, float]]


def _from_line(line: Metrics, limits: Limits) -> Named:
    return identifier(line.qid, "qid", limits), {name: getattr(line, name) for name in SCORES}


_FORM: Form[Named] = Form(
    "metrics", f"{{qid, {', '.join(SCORES)}}}", has("qid", "strict_vital_score"), Metrics, _from_line
)


def read_metrics(source: Source, limits: Limits = DEFAULT) -> dict[str, dict[str, float]]:
    """{query: {score: value}} of one run, with the means under `all`."""
    records = read_forms(source, (_FORM,), "metrics of the nuggetizer", limits)
    return dict(item for _, item in once(records, source, lambda item: f"line for query {item[0]}"))
