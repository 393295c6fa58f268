"""What commands print, as files: `tests/golden/outputs/NAME.txt` has commands, and below each what it prints.

    $ rageval run.trec qrels -m rr          a command line; another program than rageval prepares files
    | rr  all  0.5                          a line on standard output
    ! run.trec: one query has no line       a line on standard error
    = 2                                     the exit code, if it is not 0

`python tests/outputs.py` runs the commands of all files and writes anew what they print.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner

from rageval.cli import main

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "golden" / "outputs"
_LINKED = ("examples", "rageval", "tests")  # what commands name


def output_files() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def printed_anew(text: str) -> str:
    """The same commands, with what they print now; they run one after the other, in a folder of their own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for linked in _LINKED:
            (folder / linked).symlink_to(ROOT / linked)
        environment = {
            "COLUMNS": "110",
            "RAGEVAL_STORE": str(folder / "store.sqlite"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "SOURCE_DATE_EPOCH": "1767225600",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }
        with chdir(folder), patch.dict(os.environ, environment):
            os.environ.pop("RAGEVAL_POLICY", None)
            lines = [line for kept in _kept_lines(text) for line in _run(kept)]
    return "".join(line.replace(str(folder), "FOLDER") + "\n" for line in lines)


def _kept_lines(text: str) -> Iterator[str]:
    """Yield what a person wrote: commands, comments and blank lines."""
    yield from (line for line in text.splitlines() if not line.startswith(("|", "!", "=")))


def _run(line: str) -> Iterator[str]:
    yield line
    if not line.startswith("$ "):
        return
    words = shlex.split(line[2:])
    if words[0] != "rageval":
        command = subprocess.run(line[2:], shell=True, check=True, capture_output=True, text=True)
        yield from _marked("|", command.stdout)
        return
    result = CliRunner().invoke(main, words[1:], prog_name="rageval")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    yield from _marked("|", result.stdout)
    yield from _marked("!", result.stderr)
    if result.exit_code:
        yield f"= {result.exit_code}"


def _marked(sign: str, stream: str) -> Iterator[str]:
    # Machines and versions of numpy differ in the last digits.
    short = re.sub(r"\d+\.\d{12,}(?:e-?\d+)?", lambda number: f"{float(number[0]):.10g}", stream)
    return (f"{sign} {line}" if line else sign for line in short.splitlines())


if __name__ == "__main__":
    for path in output_files():
        if len(sys.argv) == 1 or path.stem in sys.argv[1:]:
            path.write_text(printed_anew(path.read_text(encoding="utf-8")), encoding="utf-8")
