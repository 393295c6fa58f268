"""The manifest: what a collection was made from, by whom, how and at what cost, so that it can be checked."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from rageval.errors import InputError
from rageval.files.whole import NamedInFile, beside, opened_file, read_whole
from rageval.judges.base import Usage
from rageval.judges.rubric import Rubric
from rageval.judges.spending import cost
from rageval.version import __version__

NAME = "manifest.json"


class _ManifestFile(msgspec.Struct):
    """What is read of a manifest."""

    rageval: str
    files: dict[str, str]
    inputs: dict[str, str] = {}
    steps: dict[str, Any] = {}
    thresholds: dict[str, Any] = {}
    questions: dict[str, int] = {}


@dataclass(slots=True)
class Step:
    """What a step that asks a model was: who was asked what, and what the replies cost it rests on."""

    rubric: Rubric
    models: list[str]
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    failed: int = 0

    def as_record(self) -> dict[str, Any]:
        """For the manifest: prompts in full; dollars where every price is known."""
        prompt = {"system": self.rubric.file.prompt.system, "ask": self.rubric.file.prompt.ask}
        price = cost(self.usage, self.models[0]) if len(self.models) == 1 else None
        spent = {"input": self.usage.input, "output": self.usage.output}
        return {
            "rubric": {"name": self.rubric.name, "digest": self.rubric.digest, "prompt": prompt},
            "models": self.models,
            "calls": self.calls,
            "tokens": spent,
            "usd": None if price is None else round(price, 6),
            "failed": self.failed,
        }


def spent(steps: Iterable[Step]) -> str:
    """Return what the replies took that the steps rest on, in words; whenever they were paid for.

    >>> from rageval.judges.rubric import rubric_named
    >>> spent([Step(rubric_named("nuggetize"), ["openai:gpt-4o-mini"], 12, Usage(1_000_000, 1_000))])
    'it took 12 calls, 1,000,000 tokens in, 1,000 out, 0.15 USD'
    """
    found = [step.as_record() for step in steps]
    calls, dollars = sum(step["calls"] for step in found), [step["usd"] for step in found if step["calls"]]
    tokens = [sum(step["tokens"][way] for step in found) for way in ("input", "output")]
    price = "price unknown" if None in dollars else f"{sum(dollars):,.2f} USD"
    return f"it took {calls:,} calls, {tokens[0]:,} tokens in, {tokens[1]:,} out, {price}"


def of_judgements(rubric: Rubric, judgements: Iterable[Mapping[str, Any]]) -> Step:
    """Return the step that made these judgements; a call's cost stands at its first one."""
    step = Step(rubric, [])
    used = [0, 0]
    for said in judgements:
        who = str(said.get("judge", "")).rpartition("@")[0] or str(said.get("judge", ""))
        if who and who not in step.models:
            step.models.append(who)
        step.calls += int(said.get("attempts", 0))
        usage = said.get("usage", {})
        used = [used[0] + int(usage.get("input", 0)), used[1] + int(usage.get("output", 0))]
        step.failed += said.get("status", "ok") not in ("ok", "repaired")
    step.usage = Usage(*used)
    return step


def _digest(path: Path | str) -> str:
    """Return the sha256 of a file."""
    with opened_file(path, "a part of a collection") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def manifest_text(
    folder: Path,
    files: Iterable[str],
    inputs: Iterable[Path | str],
    steps: Mapping[str, Step],
    thresholds: Mapping[str, Any],
    questions: Mapping[str, int],
) -> str:
    """Return the manifest of a folder; the same files and replies give the same text."""
    record = {
        "rageval": __version__,
        "files": {name: _digest(folder / name) for name in sorted(files)},
        "inputs": {str(path): _digest(path) for path in inputs},
        "steps": {name: step.as_record() for name, step in steps.items()},
        "thresholds": dict(thresholds),
        "questions": dict(questions),
    }
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def _read_manifest(path: Path) -> _ManifestFile:
    """Return a manifest; `InputError` if it is none."""
    try:
        return msgspec.json.decode(read_whole(path, "a manifest"), type=_ManifestFile)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: expected the manifest of a collection: {error}") from None


def changed(path: Path) -> list[str]:
    """Find the files of a collection that are not as they were when its manifest was written, or are gone.

    Parameters
    ----------
    path
        The manifest: `manifest.json` in the folder of the collection.

    Returns
    -------
    list
        The names of the files; none if the collection is as it was built.
    """
    known = _read_manifest(path)
    places = {name: beside(NamedInFile(name, os.fspath(path))) for name in known.files}
    return [
        name
        for name, sha256 in known.files.items()
        if not places[name].is_file() or _digest(places[name]) != sha256
    ]
