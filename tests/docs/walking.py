"""A page that is gone through step by step, in a folder of its own, as its reader would."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from click.testing import CliRunner

from forked import run_line, run_python
from rageval.cli import main
from snippets import ROOT

INSTALL = ("install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--upgrade", "--target")
PLUGIN = () if entry_points(group="pytest11", name="rageval") else ("-p", "rageval.pytest_plugin")


class Step(NamedTuple):
    """A fenced block: its language, its text, and the file that it is, where one is named before it."""

    kind: str
    file: str | None
    text: str


def steps(page: str) -> Iterator[Step]:
    """The blocks of a page. `NAME`: as the last words before a block says that it is that file."""
    for block in re.finditer(r"^```(\w+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        named = re.search(r"`([\w.-]+\.(?:py|toml))`:\n\n$", page[: block.start()])
        yield Step(block[1], named and named[1], block[2])


class Walk:
    """What a reader types on the way, and what it printed."""

    def __init__(self, folder: Path, more: Mapping[str, str] | None = None, *, plugin: bool = False) -> None:
        """Go in a folder; with a plug-in that is installed on the way, in processes that find it."""
        self.folder, self.plugin = folder, plugin
        self.commands = 0
        self.out = self.err = ""
        for name in ("examples", "tests"):
            (folder / name).symlink_to(ROOT / name)
        installed = folder / "installed"
        for name, words in {
            "python": (),
            "rageval": ("-m", "rageval"),
            "pytest": ("-m", "pytest", "-p", "no:cacheprovider", *PLUGIN),
            "pip": ("-m", "pip", "--disable-pip-version-check", *INSTALL, str(installed)),
        }.items():
            shim = f'#!/bin/sh\n[ {name} = pip ] && shift\nexec {shlex.join([sys.executable, *words])} "$@"\n'
            (folder / "bin").mkdir(exist_ok=True)
            (folder / "bin" / name).write_text(shim)
            (folder / "bin" / name).chmod(0o755)
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, (installed, ROOT))),
            "COLUMNS": "80",
            "RAGEVAL_STORE": str(folder / "store.sqlite"),
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            **(more or {}),
        }

    def along(self, page: str) -> None:
        """Write the files of a page, type its commands, and compare what is printed with what it shows."""
        for kind, file, text in steps(page):
            if file is not None:
                (self.folder / file).write_text(text, encoding="utf-8")
            elif kind == "text":
                # Some commands say what else there is to know before their result, some after it.
                printed = self.err + self.out
                shown = (printed, self.out, self.out + self.err)
                assert text in shown, f"shown:\n{text}\nprinted:\n{printed}"
            elif kind == "sh":
                for line in text.replace("\\\n", "").splitlines():
                    self.type(line)
            elif kind == "python":
                self.ended(text, run_python(["-c", text], self.folder, self.environment))

    def type(self, line: str) -> None:
        """Type a line; a command of rageval's alone needs no process."""
        self.commands += 1
        words = shlex.split(line, comments=True)
        if words[0] == "cd":
            self.folder /= words[1]
            return
        if words[0] != "rageval" or self.plugin or {">", "|", "&&"} & set(words):
            self.ended(line, run_line(line, self.folder, self.environment))
            return
        with chdir(self.folder), patch.dict(os.environ, self.environment):
            result = CliRunner().invoke(main, words[1:], catch_exceptions=False)
        assert result.exit_code == 0, (line, result.stdout, result.stderr)
        self.out, self.err = result.stdout, result.stderr

    def ended(self, text: str, process: subprocess.CompletedProcess[str]) -> None:
        """Keep what a program printed, which has ended well."""
        assert process.returncode == 0, (text, process.stdout, process.stderr)
        self.out, self.err = process.stdout, process.stderr
