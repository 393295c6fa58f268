"""The snippets of pages, and how they are run; the tests and the build of the site do it alike."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from forked import run_python

ROOT = Path(__file__).parents[1]


def blocks(language: str, text: str) -> list[str]:
    matches = re.findall(r"^```([^\n`]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [block for named, block in matches if named == language]


def run(words: list[str], more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with these words where what pages name is there, and what it writes is nobody's."""
    environment = os.environ | {"PYTHONWARNINGS": "error", "PYTHONPATH": str(ROOT), **(more or {})}
    with tempfile.TemporaryDirectory() as folder:
        for path in ROOT.iterdir():
            if not path.name.startswith("."):
                Path(folder, path.name).symlink_to(path)
        return run_python(words, folder, environment)


def rageval(arguments: str, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return run(["-m", "rageval", *shlex.split(arguments)], more)


def console_mistake(block: str) -> str | None:
    """What is wrong with a `console` block: it ends badly, or prints something else than it shows.

    A command may go on after a backslash. Tables are as wide as on a terminal of 80 columns, or as the widest
    line that is shown.
    """
    command, expected = re.split(r"(?<!\\)\n", block, maxsplit=1)
    command = command.replace("\\\n", " ")
    width = max([80, *map(len, expected.splitlines())])
    result = rageval(command.removeprefix("$ rageval"), {"COLUMNS": str(width)})
    if (result.returncode, result.stdout) == (0, expected):
        return None
    printed = result.stdout + result.stderr
    return f"{command}\nends with {result.returncode} and prints\n{printed}in place of\n{expected}"


def python_mistake(block: str) -> str | None:
    """What is wrong with a `python` block: it ends badly."""
    result = run(["-c", block])
    return None if result.returncode == 0 else f"{block}{result.stderr}"


def lacks(program: Path) -> str | None:
    """A package that an example needs and that is not installed here."""
    tree = ast.parse(program.read_text(encoding="utf-8"))
    named = [name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names]
    return next((name for name in named if find_spec(name.partition(".")[0]) is None), None)


def program_mistake(program: Path) -> str | None:
    """What is wrong with an example program: it ends badly, or prints something else than it should."""
    expected = (program.parent / "expected" / f"{program.stem}.txt").read_text(encoding="utf-8")
    result = run([str(program)])
    if (result.returncode, result.stdout) == (0, expected):
        return None
    return f"{program.name} ends with {result.returncode} and prints\n{result.stdout}{result.stderr}"
