"""What a file begins with, and what a kind of file is: the words in which all of `kinds` is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from rageval import hooks
from rageval.files.opening import BOM

# What kinds hold: what they can be used as.
RUNS, JUDGED_DOCUMENTS, EITHER, JUDGED_ANSWERS = "runs", "judged documents", "either", "judged answers"
ANSWERS, QUESTIONS, NUGGETS, PASSAGES, OTHER = "answers", "questions", "nuggets", "passages", "other"
_RECORDS = 20  # of which the keys are looked at
_BETWEEN = " \t\r\n,"  # records of a list
STEPS = "steps"  # of agents
ROWS = "rows"  # of a table of answers, whose columns are called as people call them


class Start:
    """What a file begins with, decoded once for all kinds that it may be of."""

    def __init__(self, text: bytes, name: str = "<stream>", comments: str = "error") -> None:
        """Take the first lines of a text, unpacked."""
        self.text, self.name = text.removeprefix(BOM), name
        # Old Macs ended lines with \r alone.
        self.lines = list(filter(bytes.strip, self.text.replace(b"\r", b"\n").split(b"\n")))
        if comments == "skip":
            self.lines = [line for line in self.lines if not line.startswith(b"#")]
        self.line = self.lines[0] if self.lines else b""

    @cached_property
    def is_json(self) -> bool:
        """Whether it begins as JSON does."""
        return self.text.lstrip().startswith((b"{", b"["))

    @cached_property
    def is_list(self) -> bool:
        """Whether it begins as a list of JSON does."""
        return self.text.lstrip().startswith(b"[")

    @cached_property
    def piece(self) -> bytes:
        """The text of an object that is longer than what was looked at, or broken; else nothing."""
        return self.text if not self.record and self._is_piece else b""

    @cached_property
    def record(self) -> dict[str, Any]:
        """The object in the first line, or the only one over many lines; nothing of anything else."""
        record = hooks.first_record(self.text)
        if record is None and self.line.strip() == b"{":
            record = hooks.first_record(self.text.replace(b"\r", b" ").replace(b"\n", b" "))
        # One object over many lines is none of the records of which answers and judgements are.
        self._is_piece = record is None and self.text.lstrip().startswith(b"{") and self.line.strip() != b"{"
        return record or {}

    @cached_property
    def names(self) -> list[str]:
        """The keys of the first records, in lines or in a list: what one of them lacks, another may have."""
        return list(dict.fromkeys(key for record in self._first_records() for key in record))

    def _first_records(self) -> Iterator[dict[str, Any]]:
        import json

        if not self.is_list:
            for line in self.lines[:_RECORDS]:
                yield hooks.first_record(line) or {}
            return
        decoder, rest = json.JSONDecoder(), self.text.decode("utf-8", "replace").lstrip()[1:]
        for _ in range(_RECORDS):
            rest = rest.lstrip(_BETWEEN)
            try:
                record, end = decoder.raw_decode(rest)
            except (ValueError, RecursionError):
                return
            yield record if isinstance(record, dict) else {}
            rest = rest[end:]

    def has(self, *keys: str) -> bool:
        """Return whether the record has all of these keys."""
        return all(key in self.record for key in keys)


class Kind(NamedTuple):
    """A kind of file: what it holds, in words for people, and how its beginning is known.

    `rows` reads judgements of documents that are no lines of columns, and `judges` are whose they always are.
    `may_be` knows a beginning that only the place of a file distinguishes from that of another kind. `remedy`
    is what to do with a file that is read nowhere as it is.
    """

    name: str
    holds: str
    noun: str
    fits: Callable[[Start], bool]
    way: str = ""  # what takes such a file
    is_json: bool = False
    rows: Callable[..., Iterable[Any]] | None = None
    judges: tuple[str, ...] = ()
    may_be: Callable[[Start], bool] | None = None
    remedy: str = ""

    def __str__(self) -> str:
        return self.name

    @property
    def description(self) -> str:
        """What the file holds, and what takes it, in a message."""
        return f"{self.noun}, which {self.way or 'no command'} takes"

    def fits_place(self, among: Collection[str]) -> bool:
        """Return whether a place that takes what these kinds hold takes this kind."""
        is_either = self.holds == EITHER or self.name == "scores"
        return self.holds in among or (is_either and not {RUNS, JUDGED_DOCUMENTS}.isdisjoint(among))
