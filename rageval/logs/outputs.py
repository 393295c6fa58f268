"""The content of a log as files, which are written while the log is read and take their names when it is."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rageval.core.remark import Remark
from rageval.files.answers import FORMS
from rageval.files.opening import STDIN
from rageval.files.questions import question_record
from rageval.files.unnamed import UnnamedFile
from rageval.files.whole import digest_of
from rageval.files.writing import file_names
from rageval.logs.parting import LoggedAnswer
from rageval.logs.rows import PERSON
from rageval.records import Qrel, Question
from rageval.version import __version__

_NOTHING = ""  # no kind of file
_BATCH = 256  # records that are encoded at once
_KEPT = 256  # rankings whose ends of lines are kept
_SORTED = msgspec.json.Encoder(order="sorted").encode_lines
_AS_THEY_ARE = msgspec.json.Encoder().encode_lines
_ALWAYS = ("answers", "questions", "retrieved", "judgements")  # counted where there are none, too


class LogFiles:
    """The files of a log, in a folder; without one the content is counted only.

    `only` is the one kind of file that is written. Of what the log does not hold there is no file.
    """

    def __init__(self, folder: Path | None, only: str | None = None) -> None:
        self._folder, self._only = folder or Path(), (only if folder is not None else _NOTHING)
        self._write_answer = FORMS["plain"].write
        self._files: dict[str, UnnamedFile] = {}  # all but the runs, by kind
        self._run_files: dict[str, UnnamedFile] = {}
        self.begin("")

    def __enter__(self) -> LogFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def discard(self) -> None:
        """Remove what has no name yet."""
        for file in (*self._files.values(), *self._run_files.values()):
            file.discard()

    def begin(self, tool: str) -> None:
        """Forget all, and take the log of a tool."""
        self.discard()
        self._files, self._run_files = {}, {}
        self.tool, self.version = tool, ""
        self.remarks: list[Remark] = []
        self.left_out: dict[str, int] = {}
        self.has_gold = False  # right answers to a question
        self._waiting: dict[str, list[Any]] = {}  # records that are not yet encoded, by kind
        self._retrieved: dict[str, int] = {}  # documents, by run
        self._ends: dict[tuple[object, ...], list[str]] = {}  # of lines of a run
        self._systems: set[str] = set()  # that answer
        self._counts: Counter[str] = Counter()

    def add_answer(self, logged: LoggedAnswer) -> None:
        """Write an answer, with what is known of its place."""
        answer = logged.answer
        if answer is None:
            return
        self._counts["failed answers" if answer.error else "answers"] += 1
        self._systems.add(logged.run)
        if self._is_written("answers"):
            record = self._write_answer(answer)  # type: ignore[misc]
            if logged.trace:
                record["trace_id"] = logged.trace
            if logged.confidence is not None:
                record["confidence"] = logged.confidence
            self._add("answers", record)

    def add_question(self, question: Question) -> None:
        """Write a question."""
        self._counts["questions"] += 1
        self.has_gold = self.has_gold or bool(question.gold)
        if self._is_written("questions"):
            self._add("questions", question_record(question))

    def add_ranking(self, run: str, query: str, docs: list[str], scores: list[float]) -> None:
        """Write a ranking into the file of its run."""
        self._retrieved[run] = self._retrieved.get(run, 0) + len(docs)
        if not docs or not self._is_written("run"):
            return
        if run not in self._run_files:
            self._run_files[run] = UnnamedFile(self._folder)
        # Where the score is 1/rank the ends of lines are the same in all rankings.
        key = run, *scores
        ends = self._ends.get(key)
        if ends is None:
            ends = [f" {rank} {score!r} {run}\n" for rank, score in enumerate(scores, 1)]
            if len(self._ends) < _KEPT and 0.0 not in scores:  # it equals -0.0
                self._ends[key] = ends
        begin = f"{query} Q0 "
        self._run_files[run].write(
            "".join([begin + doc + end for doc, end in zip(docs, ends, strict=True)]).encode()
        )

    def add_passage(self, doc: str, text: str) -> None:
        """Write a passage."""
        self._counts["passages"] += 1
        if self._is_written("passages"):
            self._add("passages", {"id": doc, "text": text})

    def add_judgement(self, judgement: dict[str, Any]) -> None:
        """Write a judgement; people's, against which others are held, into a file of their own."""
        if judgement["judge"].startswith(PERSON):
            self._counts["human labels"] += 1
            kind = "people"
        else:
            self._counts["judgements"] += 1
            self._counts["failed judgements"] += judgement["status"] == "error"
            kind = "judged"
        if self._is_written(kind):
            self._add(kind, judgement)

    def add_step(self, record: dict[str, Any]) -> None:
        """Write a step of an agent."""
        self._counts["steps"] += 1
        if self._is_written("steps"):
            self._add("steps", record)

    def add_gold(self, qrel: Qrel) -> None:
        """Write a right document."""
        self._counts["gold documents"] += 1
        if self._is_written("gold"):
            line = f"{qrel.query_id} {qrel.iteration} {qrel.doc_id} {qrel.relevance}\n"
            self._file("gold").write(line.encode())

    def finish(self, version: str, remarks: list[Remark], left_out: dict[str, int]) -> None:
        """Take what is known at the end, and write what waits."""
        self.version, self.remarks, self.left_out = version, remarks, left_out
        for kind in self._waiting:
            self._encode(kind)

    @property
    def has_steps(self) -> bool:
        """Whether there are steps of agents."""
        return self._counts["steps"] > 0

    @property
    def has_answers(self) -> bool:
        """Whether there are answers, be it failed ones."""
        return bool(self._systems)

    @property
    def has_judgements(self) -> bool:
        """Whether somebody has judged an answer."""
        return self._counts["judgements"] + self._counts["human labels"] > 0

    @property
    def runs(self) -> list[str]:
        """The runs that retrieved something."""
        return [run for run, number in self._retrieved.items() if number]

    @property
    def counts(self) -> dict[str, int]:
        """How much of everything the log holds."""
        self._counts["runs"] = len(self._systems | set(self.runs))
        self._counts["retrieved"] = sum(self._retrieved.values())
        counts = {name: self._counts[name] for name in _COUNTED}
        return {name: number for name, number in counts.items() if number or name in _ALWAYS}

    @property
    def files(self) -> dict[str, UnnamedFile]:
        """The files by the names that they shall have."""
        named = {f"{kind}{_ENDINGS[kind]}": self._files[kind] for kind in _ENDINGS if kind in self._files}
        for run, plain in file_names(self.runs).items():
            if run in self._run_files:
                # One run is run.trec; of several each bears its name.
                named["run.trec" if len(self.runs) == 1 else f"run.{plain}.trec"] = self._run_files[run]
        return named

    def _is_written(self, kind: str) -> bool:
        return self._only is None or self._only == kind

    def _file(self, kind: str) -> UnnamedFile:
        if kind not in self._files:
            self._files[kind] = UnnamedFile(self._folder)
        return self._files[kind]

    def _add(self, kind: str, record: dict[str, Any]) -> None:
        waiting = self._waiting.get(kind)
        if waiting is None:
            waiting = self._waiting[kind] = []
        waiting.append(record)
        if len(waiting) >= _BATCH:
            self._encode(kind)

    def _encode(self, kind: str) -> None:
        encode = _AS_THEY_ARE if kind == "answers" else _SORTED
        self._file(kind).write(encode(self._waiting[kind]))
        self._waiting[kind].clear()


_COUNTED = (
    *("answers", "failed answers", "questions", "runs", "retrieved", "passages", "judgements"),
    *("failed judgements", "human labels", "gold documents", "steps"),
)
_ENDINGS = {
    **dict.fromkeys(("answers", "questions", "passages", "judged", "people", "steps"), ".jsonl"),
    "gold": ".qrels",
}
USUAL_FILES = (*(f"{kind}{ending}" for kind, ending in _ENDINGS.items()), "run.trec")


def manifest(
    files: LogFiles, paths: Sequence[str], settings: Mapping[str, Any], digests: Mapping[str, str]
) -> Iterator[str]:
    """Return what was read, how, what was left out, and the sha256 of the files written, as JSON."""
    logs: list[dict[str, Any]] = []
    for path in paths:
        read: dict[str, Any] = {"name": os.path.basename(path)}
        if path != STDIN and os.path.isfile(path):
            read |= {"bytes": os.path.getsize(path), "sha256": digest_of(path, "a log")}
        logs.append(read)
    entries = {
        "tool": files.tool,
        "tool_version": files.version,
        "imported_by": f"rageval {__version__}",
        "settings": {name: value for name, value in settings.items() if value},
        "logs": logs,
        "counts": files.counts,
        "files": digests,
        "left_out": files.left_out,
        "remarks": [remark.as_record() for remark in files.remarks],
    }
    yield from json.dumps(entries, indent=1, sort_keys=True, ensure_ascii=True).splitlines()
