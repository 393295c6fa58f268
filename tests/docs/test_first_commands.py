"""People's first ten commands are no dead ends; tests/try_packages.sh plays them with a wheel, too."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from first_commands import NEEDS, PEOPLE, Done, lacking, play
from rageval.cli import main

pytestmark = pytest.mark.slow


def here(folder: Path, words: Sequence[str]) -> Done:
    """Do what is typed in this process."""
    if words[0] == "rageval":
        result = CliRunner().invoke(main, list(words[1:]), prog_name="rageval")
        return Done(result.exit_code, result.stdout, result.stderr)
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exec(words[2], {})
        except Exception as error:
            code = 1
            print(error, file=err)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "person",
    [pytest.param(person, marks=pytest.mark.slow) if person in NEEDS else person for person in PEOPLE],
)
def test_first_commands(person: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if packages := lacking(person):
        pytest.skip(f"needs {', '.join(packages)}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "patience", raising=False)
    assert len(PEOPLE[person][1]) == 10
    assert not play(person, tmp_path, here)
