"""Reports as their files have them: read and written with every key, and turned into answers of TREC RAG.

>>> import io
>>> line = b'{"metadata":{"topic_id":"7","team":"us"},"responses":[{"text":"x","citations":{"d":0.5}}]}'
>>> (report,) = read_reports(io.BytesIO(line))
>>> next(iter(write_reports([report]))) == line.decode()
True
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rageval.errors import InputError, UsageError
from rageval.files.answers import FORMS, TOPIC_KEYS, topic_of
from rageval.files.jsonl import RecordForm, Unfit, read_forms
from rageval.files.opening import DEFAULT, Source
from rageval.records import Answer, Sentence

__all__ = ["Report", "read_reports", "write_reports"]

_Record = dict[str, Any]
_FORMS = ("report", "rag26", "rag25")  # those with `metadata`, which can be turned into one another


@dataclass(frozen=True)
class Report:
    """A report, or an answer of TREC RAG 2025 or 2026: the whole record, and which of the forms it has."""

    record: Mapping[str, Any]
    form: str

    @property
    def answer(self) -> Answer:
        """The answer that it is; `InputError` if the record cannot be scored."""
        form = FORMS[self.form]
        try:
            return form.build(msgspec.convert(self.record, form.struct), DEFAULT)
        except (Unfit, RecursionError) as error:
            raise InputError(f"expected {form.expected}; {error}") from None


def read_reports(source: Source) -> Iterator[Report]:
    """Read reports, and answers of TREC RAG 2025 and 2026, with all that stands in their lines.

    Nothing but the form is checked, so that a file can be read that its track would refuse.
    """
    forms = tuple(_as_it_is(name) for name in _FORMS)
    for _, report in read_forms(source, forms, "reports"):
        yield report


def _as_it_is(name: str) -> RecordForm[Report]:
    known = FORMS[name]
    return RecordForm(known.name, known.shape, known.fits, _Record, lambda record, _: Report(record, name))


def write_reports(
    reports: Iterable[Report], form: str | None = None, remarks: list[str] | None = None
) -> Iterator[str]:
    """Write reports as JSON lines with every key that was read, or in another `form`: report, rag25, rag26.

    What the other form has no place for is left out, and said in `remarks`, or warned of, at the end.
    """
    if form is not None and form not in _FORMS:
        raise UsageError(f"form {form!r}: expected one of {', '.join(_FORMS)}")
    lost: dict[str, int] = {}
    for report in reports:
        record, gone = (report.record, []) if form in (None, report.form) else _turned(report, str(form))
        for what in gone:
            lost[what] = lost.get(what, 0) + 1
        yield msgspec.json.encode(record).decode()
    for what, number in lost.items():
        said = f"{number:,} reports written as {form} lose {what}"
        if remarks is None:
            warnings.warn(said, stacklevel=2)
        else:
            remarks.append(said)


def _turned(report: Report, form: str) -> tuple[_Record, list[str]]:
    """Return the record in another form, and what it loses by that."""
    answer = report.answer  # which tells that all is of the right shape
    record = dict(report.record)
    metadata, gone = _metadata(record.pop("metadata"), form)
    parts = record.pop("responses", None)
    parts = record.pop("answer", None) if parts is None else parts
    if "report" in (form, report.form):  # else both cite in the same ways
        cited = list(map(_cited, parts, answer.sentences))
        parts = [{**part, "citations": ids} for part, (ids, _) in zip(parts, cited, strict=True)]
        gone += dict.fromkeys(what for _, what in cited if what)
    whole = {"metadata": metadata, "responses" if form == "report" else "answer": parts}
    return whole | record | {"references": answer.references}, gone


def _metadata(said: _Record, form: str) -> tuple[_Record, list[str]]:
    """Return the metadata under the names of another form, and what has none there."""
    topic = topic_of(said)
    metadata = {key: value for key, value in said.items() if key not in TOPIC_KEYS}
    metadata["topic_id" if form == "report" else "narrative_id"] = topic
    gone = ["`run_desc`, by which 2026 is told"] if form == "rag25" and metadata.pop("run_desc", "") else []
    asked = {"narrative": "", "run_desc": ""} if form == "rag26" else {}
    return asked | metadata, gone


def _cited(part: _Record, sentence: Sentence) -> tuple[list[str], str]:
    """Return the ids of what a sentence cites, and what ids do not say."""
    ids = [doc for doc in sentence.citations if doc is not None]
    if len(ids) < len(sentence.citations):
        return ids, "citations that lead nowhere"
    return ids, "the confidences of citations" if isinstance(part.get("citations"), dict) and ids else ""
