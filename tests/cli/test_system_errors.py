"""What the system refuses ends with a line and the exit code of bad input, whichever command meets it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from every_command import leaves, walked
from rageval.cli import main

pytestmark = pytest.mark.slow

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no full device")
@pytest.mark.parametrize("words", ["--help", "--help-all", "--version", "measures", "datasets"])
def test_a_full_disk_is_told(words: str) -> None:
    command = [sys.executable, "-m", "rageval", words]
    with FULL.open("w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 2
    assert "No space left on device" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("name", sorted(leaves()))
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EIO, "Input/output error"), "refused to read or write: Input/output error"),
        (OSError(errno.EIO, "Input/output error", "a.trec"), "a.trec: Input/output error"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), "No such file or directory"),
        (MemoryError(), "out of memory"),
    ],
    ids=["read", "file", "folder", "memory"],
)
def test_every_command_tells_what_the_system_refused(
    name: str, error: Exception, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = dict(walked())[name]

    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(command, "invoke", refuse)
    monkeypatch.setattr(command, "parse_args", lambda *_: [])
    result = CliRunner().invoke(main, name.split())
    assert (result.exit_code, words in result.stderr) == (2, True), result.output


@pytest.mark.skipif(os.name != "posix", reason="a folder in use cannot be removed there")
@pytest.mark.parametrize("words", ["init", "gate x", "judge crag x --judge contains"])
def test_a_folder_that_is_gone_is_told(words: str, tmp_path: Path) -> None:
    code = "import os, sys; os.rmdir(os.getcwd()); from rageval.cli import main; main(sys.argv[1:])"
    folder = tmp_path / "gone"
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", code, *words.split()]
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (result.returncode, "Traceback" in result.stderr) == (2, False), result.stderr
