"""Where a report comes from: versions, inputs with their hashes, the command."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from rageval.files.opening import Source, can_read_again, name_of
from rageval.version import __version__

Input = tuple[str, Source]  # what it is, and where


def provenance(command: Sequence[str], inputs: Iterable[Input]) -> dict[str, Any]:
    """Everything a stranger needs to make this report again."""
    return {
        "made": _now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": shlex.join(command),
        "versions": {
            "rageval": __version__,
            "Python": platform.python_version(),
            "numpy": np.__version__,
        },
        "inputs": [_input(role, source) for role, source in inputs],
    }


def _now() -> datetime:
    """The time, or the one that reproducible builds set."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() else datetime.now(UTC)


def _input(role: str, source: Source) -> dict[str, Any]:
    record: dict[str, Any] = {"role": role, "name": name_of(source), "bytes": None, "sha256": None}
    if can_read_again(source) and isinstance(source, str | os.PathLike):
        with open(source, "rb") as stream:
            record["sha256"] = hashlib.file_digest(stream, "sha256").hexdigest()
            record["bytes"] = stream.tell()
    return record
