"""Golden logs of other tools, loaded to be spoilt, and read again."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rageval import logs
from rageval.logs import Log
from rageval.logs.outputs import LogFiles

LOGS = Path(__file__).parents[1] / "golden" / "logs"


def loaded(name: str) -> Any:
    """A log of the golden ones, to be spoilt."""
    text = (LOGS / name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else list(map(json.loads, text.splitlines()))


def files_of(log: Log) -> dict[str, list[str]]:
    """The lines of each file that a log becomes."""
    with TemporaryDirectory() as folder, LogFiles(Path(folder)) as files:
        log.pour(files)
        return {name: list(file.lines()) for name, file in files.files.items()}


def log_of(tmp_path: Path, value: Any, **options: Any) -> Log:
    """What is read of such a log."""
    path = tmp_path / "log"
    lines = value if isinstance(value, list) else [value]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return logs.read(str(path), **options)
