"""Judgements replayed from a file: what makes a judged number reproducible, and the judge of tests."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from rageval.errors import InputError, MissingJudgements
from rageval.files.jsonl import read_records
from rageval.files.opening import Complaints, quoted
from rageval.judges.base import OK, Fatal, Reply, Request
from rageval.names import near_misses
from rageval.text import problem_of_id, visible

_EXPECTED = "a judgement {query_id, run_id, item_id, aspect, …}"
_Key = tuple[str, ...]
_DEFAULTS = {"query_id": None, "run_id": None, "item_id": "answer", "aspect": "0", "repeat": ""}
_VERDICT = ("label", "grade", "status", "importance", "weight")


class FrozenJudgements:
    """The judgements of a file, found by what was judged and the rubric. It asks nobody.

    `judge` picks one judge's, which a file of several needs. A judgement without a rubric answers for any,
    one whose rubric has no version (as people write it) for any version of it.
    """

    def __init__(self, path: str | os.PathLike[str], judge: str | None = None) -> None:
        self.path = str(path)
        self.name = f"frozen:{Path(path).name}"
        self.endpoint = ""
        self._records: dict[_Key, dict[str, Any]] = {}
        self._rubrics: dict[_Key, list[str]] = defaultdict(list)
        self._read(judge)

    @property
    def judge(self) -> str:
        """Whose judgements these are; the file, where they are of several or of nobody who is named."""
        names = {str(record.get("judge") or "") for record in self._records.values()} - {""}
        return names.pop() if len(names) == 1 else self.name

    @property
    def remarks(self) -> list[str]:
        """What should be said of the file before it is replayed."""
        if any(record.get("judged_sha") for record in self._records.values()):
            return []
        return [
            f"{visible(self.name)}: the judgements say nothing of what was judged (judged_sha): nobody can"
            " tell whether the answers changed since"
        ]

    def __len__(self) -> int:
        return len(self._records)

    def find(
        self, query_id: str, run_id: str, item_id: str, aspect: str, rubric: str, repeat: str = ""
    ) -> dict[str, Any]:
        """Find the judgement as it stands in the file, also if it says that judging failed."""
        key = (query_id, run_id, item_id, aspect, repeat)
        for name in (rubric, rubric.partition("@")[0], ""):
            if (*key, name) in self._records:
                unsaid = dict(zip(_DEFAULTS, key, strict=True)) | {"status": OK}
                found = self._records[*key, name]
                return found | {
                    field: value for field, value in unsaid.items() if field not in found and value
                }
        self._miss(key, rubric)

    async def ask(self, request: Request) -> Reply:
        """Raise `Fatal`: judgements are found by what was judged, not by how a model was asked."""
        raise Fatal(f"{self.name} holds judgements and no model's replies: look them up with find()")

    def _read(self, judge: str | None) -> None:
        findings = Complaints()
        for line, record in read_records(self.path, dict, _EXPECTED):
            place = f"{self.path}:{line}"
            key = _key(record)
            if key is None:
                findings.add(
                    f"{place}: expected {_EXPECTED}, ids as text; found {quoted(repr(record).encode())}"
                )
            elif (problem := next(filter(None, map(problem_of_id, key[:3])), None)) is not None:
                findings.add(f"{place}: expected {problem}")
            elif judge is None or record.get("judge") == judge:
                self._add(key, record, place, findings)
        findings.raise_if_any()
        if not self._records:
            raise InputError(f"{self.path}: no judgement by the judge {judge!r}; expected at least one")

    def _add(self, key: _Key, record: dict[str, Any], place: str, findings: Complaints) -> None:
        first = self._records.setdefault(key, record)
        if first is record:
            self._rubrics[key[:-1]].append(key[-1])
        elif first.get("judge") != record.get("judge"):
            judges = f"{first.get('judge')!r} and {record.get('judge')!r}"
            findings.add(f"{place}: judged by {judges}; name the one to replay: judge=…")
        elif any(first.get(field) != record.get(field) for field in _VERDICT):
            findings.add(
                f"{place}: judged before, with another verdict: {_shown(key)}; expected one judgement"
            )

    def _miss(self, key: _Key, rubric: str) -> NoReturn:
        """Say what is missing: the first part of the key that the file does not have."""
        raise MissingJudgements(
            f"{self.path}: no judgement of {_shown((*key, rubric))}: {self._reason(key)};"
            " judge it with a model, or replay a file that holds it"
        )

    def _reason(self, key: _Key) -> str:
        if key in self._rubrics:
            return f"the file has it for the rubric {' and '.join(map(repr, self._rubrics[key]))} only"
        known: Iterable[_Key] = self._rubrics
        for at, field in enumerate(_DEFAULTS):
            ids = {other[at] for other in known}
            if key[at] not in ids:
                return f"the {field} {visible(key[at])!r} is not there" + near_misses([key[at]], ids)
            known = [other for other in known if other[at] == key[at]]
        raise AssertionError("the key is there")  # a bug: it was looked up before


def _key(record: dict[str, Any]) -> _Key | None:
    """Return what a record is found by, None if an id is missing or is no text."""
    given = ((record.get(field), default) for field, default in _DEFAULTS.items())
    ids = [default if value is None else value for value, default in given]
    ids.append(record.get("rubric") or "")
    if not all(isinstance(value, str | int) and not isinstance(value, bool) for value in ids):
        return None
    return tuple(map(str, ids))


def _shown(key: _Key) -> str:
    named = zip((*_DEFAULTS, "rubric"), key, strict=True)
    return ", ".join(f"{field} {visible(value)[:80]!r}" for field, value in named if value)
