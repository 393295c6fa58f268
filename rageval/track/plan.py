"""The plan of a track, and what of it was done: a stage is not done again unless something of it changed.

That is what it was made of, or what it made, both known by their digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from rageval import hooks
from rageval.checking.tracks import OF_RUNS, OF_TABLES
from rageval.errors import InputError
from rageval.files.whole import digest_of, read_whole
from rageval.files.writing import write_lines
from rageval.judges.panel import Settings
from rageval.records import Question
from rageval.subjects import ANSWERS, RUNS, SubjectKind
from rageval.text import replace_surrogates
from rageval.track.bundle import Mode
from rageval.track.entries import EntryLimits
from rageval.track.values import OnMissing

NAME = "stages.json"
# What tables hold together, as lines: answers under the names of runs, and what was asked.
ANSWERS_FILE, QUESTIONS_FILE = "answers.jsonl", "questions.jsonl"
_PART = "a file of a track"
Stage = Literal["validate", "pool", "judge", "score", "pages", "archive"]
STAGES: tuple[Stage, ...] = ("validate", "pool", "judge", "score", "pages", "archive")


@dataclass(frozen=True, slots=True)
class TrackPlan:
    """Everything that can change the result of a track.

    Parameters
    ----------
    folder
        The runs, one file each, in folders or not.
    out
        Folder for everything that is written.
    track
        The rules for files: `run` for rankings, `answers` for tables of answers and plain ones, else a track
        of answers or reports.
    topics, nuggets, passages
        Files or datasets of the topics, of the nuggets of a good answer, and of document texts.
    qrels
        Existing judgements of documents.
    judgements
        Files of existing judgements, such as human labels.
    rubrics, judges
        What to judge, and by which judges; empty if there are judgements already.
    measures
        Measures of the leaderboard.
    gold, gold_chosen
        Files of human labels for some of the answers, which correct the leaderboard, and how these answers
        were chosen: `uniform`, a plan, or a file of chances.
    depth
        Documents of each run to pool.
    label
        For how many topics to draw a plan of labels, which `rageval label page` takes.
    seed
        Seed of what is drawn.
    teams
        A file with the names to list files under: a file, a tab and a name in each line.
    limits
        Limits for one file; a file above them is not valid.
    strict
        Whether a run that is not valid stops everything.
    on_missing
        What to do with failed judgements in scores: an `error`, or `skip`, `worst`, `best`.
    stage
        The last stage to run.
    title
        Title of the pages and the archive.
    citation
        A file CITATION.cff for the archive; one is made if none is named.
    bundle
        Whether the archive contains topics, passages and replies (`full`), or only their hashes.
    settings
        How judges are asked.
    """

    folder: Path
    out: Path
    track: str
    topics: str | Path | None = None
    nuggets: str | Path | None = None
    passages: str | Path | None = None
    qrels: str | Path | None = None
    judgements: tuple[str, ...] = ()
    rubrics: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    measures: str = ""
    gold: tuple[str, ...] = ()
    gold_chosen: str = ""
    depth: int = 20
    label: int | None = None
    seed: int = 0
    teams: Path | None = None
    limits: EntryLimits = field(default_factory=EntryLimits)
    strict: bool = False
    on_missing: OnMissing = "error"
    stage: Stage = "archive"
    title: str = ""
    citation: Path | None = None
    bundle: Mode = "digests"
    settings: Settings = field(default_factory=Settings)

    @property
    def inputs(self) -> dict[str, str]:
        """The inputs whose versions are tracked."""
        return {name: stamp(source_of(self, name)) for name in ("topics", "nuggets", "passages", "qrels")}

    @property
    def is_of_runs(self) -> bool:
        """Whether rankings were handed in, not answers."""
        return self.track == OF_RUNS

    @property
    def kind(self) -> SubjectKind:
        """What its measures score."""
        return RUNS if self.is_of_runs else ANSWERS

    @property
    def is_of_tables(self) -> bool:
        """Whether tables of answers, or plain ones, were handed in."""
        return self.track == OF_TABLES

    @property
    def heading(self) -> str:
        """The title."""
        return replace_surrogates(self.title or f"{self.folder.resolve().name}: {self.track}")


def stamp(source: Any) -> str:
    """Return what identifies the version of an input: a file's digest, or the id of a dataset."""
    if source is None:
        return ""
    name = getattr(source, "id", None)
    return f"id:{name}" if name is not None else digest_of(source, _PART)


def source_of(plan: TrackPlan, what: str) -> Any:
    """Return a file that the plan names (`topics`, …), or the dataset of an id; None if it names none."""
    holds = {
        "topics": (plan.topics, "questions"),
        "nuggets": (plan.nuggets, "nuggets"),
        "passages": (plan.passages, "documents"),
        "qrels": (plan.qrels, "qrels"),
    }
    named, content = holds[what]
    return None if named is None else hooks.dataset_or_file(named, content)


def questions_of(plan: TrackPlan) -> dict[str, Question] | None:
    """Return the questions, by id; None if no file has them."""
    # Tables may say it themselves, or topics be a table: what came of it was written.
    source = plan.out / QUESTIONS_FILE if plan.is_of_tables else source_of(plan, "topics")
    return None if source is None else hooks.questions_in(source, [])


class _DoneStage(msgspec.Struct):
    """What is kept of a stage: a digest of what it was made of, and the digests of its files."""

    key: str
    files: dict[str, str]

    def __post_init__(self) -> None:
        # The ledger is a file that anybody can edit: nothing outside of its folder is read or removed.
        if any(Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name for name in self.files):
            raise ValueError("a name leads out of the folder")


class DoneStages:
    """The finished stages, recorded in a file beside their output."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._done: dict[str, _DoneStage] = {}
        # A ledger that cannot be read knows of nothing: the stages are done once more, and it is written
        # anew.
        with suppress(OSError, ValueError, RecursionError, InputError):
            content = read_whole(folder / NAME, "a ledger of stages")
            for name, raw in msgspec.json.decode(content, type=dict[str, msgspec.Raw]).items():
                with suppress(msgspec.ValidationError):
                    self._done[name] = msgspec.json.decode(raw, type=_DoneStage)

    def is_done(self, stage: str, key: str) -> bool:
        """Return whether the stage was run on the same inputs, and its output is unchanged."""
        done = self._done.get(stage)
        # The key is of what a stage is made of, the digests of what it made: both must be as they were.
        if done is None or done.key != key:
            return False
        return all(
            (self.folder / name).is_file() and digest_of(self.folder / name, _PART) == sha256
            for name, sha256 in done.files.items()
        )

    def forget(self, stage: str) -> None:
        """Mark the stage as not done, while it runs again."""
        if stage in self._done:
            # Its files stay listed, so that what is left over can be removed when it is done.
            self._done[stage].key = ""
            self._save()

    def keep(self, stage: str, key: str, files: Iterable[str]) -> None:
        """Record that the stage is done; remove earlier output that it no longer makes."""
        digests = {name: digest_of(self.folder / name, _PART) for name in files}
        for name in self.files(stage):
            if name not in digests:
                with suppress(OSError):
                    (self.folder / name).unlink()
        self._done[stage] = _DoneStage(key, digests)
        self._save()

    def files(self, *stages: str) -> dict[str, str]:
        """Return the files that the stages made, with digests."""
        return {
            name: sha256
            for stage in stages
            if stage in self._done
            for name, sha256 in self._done[stage].files.items()
        }

    def _save(self) -> None:
        stages = msgspec.to_builtins(self._done)
        write_lines(self.folder / NAME, json.dumps(stages, indent=1, sort_keys=True).splitlines())


def key_of(parts: Mapping[str, Any]) -> str:
    """Return a digest of all inputs of a stage."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
