"""How tests run a command in their process, and write the files that it reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from rageval.cli import main


def run_command(*words: object, **options: Any) -> Result:
    """Run a command; an exception that is no exit is raised, as it is a bug."""
    result = CliRunner().invoke(main, [str(word) for word in words], prog_name="rageval", **options)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run_checked(*words: object, code: int = 0) -> Result:
    """Run a command that has to end with this code."""
    result = run_command(*words)
    assert result.exit_code == code, result.output
    return result


def write_jsonl(path: Path | str, records: Iterable[Mapping[str, Any]]) -> str:
    """Write a record a line, and return the path as a word of a command."""
    Path(path).write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)
