"""Running a program that somebody has on the PATH."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence


class ProgramFailed(Exception):
    """It ended with another code than 0; what it said last."""


def output(words: Sequence[str], files: Iterable[Iterable[str]]) -> str:
    """What the program prints, asked with these words and then the paths of files with these lines."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for at, lines in enumerate(files):
            paths.append(os.path.join(folder, str(at)))
            with open(paths[-1], "w", encoding="utf-8", newline="\n") as file:
                file.writelines(line + "\n" for line in lines)
        done = subprocess.run([*words, *paths], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        last = said[-1].replace(folder, "") if said else "nothing said"
        raise ProgramFailed(f"exit code {done.returncode}: {last}")
    return done.stdout.decode(errors="replace")
