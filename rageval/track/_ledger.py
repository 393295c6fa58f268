"""What was done, of what: a stage is not done again unless what it was made of, or what it made, changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rageval.files.whole import opened_file
from rageval.files.writing import write_lines
from rageval.plugins import above

if TYPE_CHECKING:
    from rageval.track.organising import TrackPlan

NAME = "stages.json"


def digest(path: Path) -> str:
    """Return the sha256 of a file."""
    with opened_file(path, "a file of a track") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stamp(source: Any) -> str:
    """Return what tells one version of an input from another: a file's digest, or the id of a data set."""
    if source is None:
        return ""
    name = getattr(source, "id", None)
    return f"id:{name}" if name is not None else digest(Path(source))


def source_of(plan: TrackPlan, what: str) -> Any:
    """Return a file that the plan names (`topics`, …), or the data set of an id; None if it names none."""
    holds = {
        "topics": (plan.topics, "questions"),
        "nuggets": (plan.nuggets, "nuggets"),
        "passages": (plan.passages, "documents"),
        "qrels": (plan.qrels, "qrels"),
    }
    named, content = holds[what]
    return None if named is None else above("data set")(named, content)


class DoneStages:
    """The stages that are done, in a file beside what they made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._done: dict[str, dict[str, Any]] = {}
        # A ledger that cannot be read knows of nothing: the stages are done once more, and it is written
        # anew.
        with suppress(OSError, ValueError, RecursionError):
            found = json.loads((folder / NAME).read_bytes())
            found = found if isinstance(found, dict) else {}
            self._done = {
                name: done
                for name, done in found.items()
                if isinstance(done, dict) and isinstance(done.get("files"), dict)
            }

    def is_done(self, stage: str, key: str) -> bool:
        """Return whether the stage was done of the same, and what it made is as it was."""
        done = self._done.get(stage)
        # The key is of what a stage is made of, the digests of what it made: both must be as they were.
        if done is None or done.get("key") != key:
            return False
        return all(
            (self.folder / name).is_file() and digest(self.folder / name) == sha256
            for name, sha256 in done["files"].items()
        )

    def forget(self, stage: str) -> None:
        """Take the stage for not done, while it is done anew."""
        if stage in self._done:
            # Its files stay listed, so that what is left over can be removed when it is done.
            self._done[stage]["key"] = ""
            self._write()

    def keep(self, stage: str, key: str, files: Iterable[str]) -> None:
        """Note that the stage is done; remove what it made before and makes no more."""
        made = {name: digest(self.folder / name) for name in files}
        for name in self._done.get(stage, {}).get("files", {}):
            # The ledger is a file that anybody can edit: nothing outside of the folder is removed for it.
            if name not in made and _is_inside(name):
                with suppress(OSError):
                    (self.folder / name).unlink()
        self._done[stage] = {"key": key, "files": made}
        self._write()

    def files(self, *stages: str) -> dict[str, str]:
        """Return what the stages made, with digests."""
        return {
            name: sha256
            for stage in stages
            for name, sha256 in self._done.get(stage, {}).get("files", {}).items()
        }

    def _write(self) -> None:
        write_lines(self.folder / NAME, json.dumps(self._done, indent=1, sort_keys=True).splitlines())


def _is_inside(name: str) -> bool:
    return not Path(name).is_absolute() and ".." not in Path(name).parts


def key_of(parts: Mapping[str, Any]) -> str:
    """Return a digest of everything that a stage is made of."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
