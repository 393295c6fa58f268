"""What is not there, empty, or no file, and where nothing can be written, is told by all commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rageval.errors import InputError, RagevalError
from rageval.files.opening import DEFAULT
from rageval.logs import read as read_log
from test_bad_input import command
from test_odd_words import LINES, OUTPUTS, _odd, replaced  # noqa: F401
from test_outputs import _files, _server  # noqa: F401


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize(
    "name", [name for name, line in LINES.items() if "run" in line or "runs/one" in line]
)
def test_a_missing_file_is_told_with_what_to_do(name: str) -> None:
    line = LINES[name]
    for index in replaced(line):
        if Path(line[index]).is_file() and line[index - 1] not in OUTPUTS:
            result = command(*line[:index], "nowhere", *line[index + 1 :])
            if "no such file" in result.err:
                assert "check the path" in result.err or "; " in result.err, result.err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # pipes close with the process
@pytest.mark.skipif(os.name == "nt", reason="there is no /dev/null")
@pytest.mark.parametrize(
    "words",
    [
        ("score", "/dev/null", "-m", "ndcg@10"),
        ("score", "-", "-m", "accuracy"),
        ("compare", "/dev/null", "-m", "accuracy"),
        ("judge", "crag", "/dev/null", "--judge", "exact"),
        ("doctor", "/dev/null"),
        ("validate", "/dev/null", "--track", "run"),
        ("label", "agree", "/dev/null", "/dev/null"),
        ("arena", "/dev/null"),
    ],
)
def test_nothing_is_called_empty(words: tuple[str, ...]) -> None:
    result = command(*words)
    assert result.code == 2
    assert "is empty; expected " in result.err, result.err


def test_doctor_tells_a_folder() -> None:
    Path("some").mkdir()
    result = command("doctor", "some")
    assert "some: is an empty folder; expected " in result.err
    Path("some/file").write_text("x")
    assert "some: is a folder without manifest.json" in command("doctor", "some").err


def test_a_line_that_is_too_long_is_told_by_its_limit(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q1 Q0 " + "d" * 3 * DEFAULT.line)
    (tmp_path / "qrels").write_text("q1 0 d 1\n")
    result = command("score", str(tmp_path / "run"), str(tmp_path / "qrels"), "-m", "ndcg@10")
    assert "a line of more than 1,048,576 bytes; raise the limit with --limit" in result.err


def test_a_quote_that_stays_open_is_told_by_its_row(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('question,answer\nq1,a\nq2,"open\nq3,b\nq4,c\n')
    with pytest.raises(RagevalError) as raised:
        read_log(str(path))
    assert isinstance(raised.value, InputError)
    assert raised.value.at is not None
    assert raised.value.at.line == 3


@pytest.mark.slow
@pytest.mark.some(4)
@pytest.mark.parametrize("name", [name for name, line in LINES.items() if set(line) & set(OUTPUTS)])
def test_no_command_makes_the_folder_of_a_file(name: str) -> None:
    line = LINES[name]
    for index, word in enumerate(line):
        is_file = line[index - 1] in OUTPUTS and Path(word).suffix and not Path(word).is_dir()
        if index and is_file:
            result = command(*line[:index], f"absent/{word}", *line[index + 1 :])
            assert not Path("absent").exists(), line[index - 1]
            assert result.code == 2
            assert "no such folder" in result.err, (line, result.err)
