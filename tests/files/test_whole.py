"""Files that are read whole, tables and zips: what is not a file, or far too large, is refused."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from rageval.cli import main
from rageval.errors import InputError
from rageval.files.opening import DEFAULT
from rageval.files.whole import read_whole, text_of_whole
from rageval.logs.readers import read

ANSWER = {"query_id": "q", "run_id": "s", "question": "What?", "answer": "Fact."}
# Each has a file that somebody names, {}, which is read whole.
COMMANDS = {
    "rubric": "judge {}.toml answers --judge contains",
    "shown rubric": "rubrics show {}.toml",
    "prompt": "rubrics import {} --as umbrela",
    "policy": "gate answers -m length --policy {}",
    "page": "report show {}.html",
    "teams": "track runs --track run --qrels qrels -m recall@5 -o made --teams {}",
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answers").write_text(json.dumps(ANSWER) + "\n")
    Path("qrels").write_text("q 0 d 1\n")
    Path("runs").mkdir()
    Path("runs/one").write_text("q Q0 d 1 1 one\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("what", COMMANDS)
def test_a_pipe_or_a_device_is_refused_and_not_waited_for(what: str) -> None:
    for make in (os.mkfifo, lambda name: os.symlink("/dev/zero", name)):
        words = COMMANDS[what].format("file").split()
        name = next(word for word in words if word.startswith("file"))
        make(name)
        result = CliRunner().invoke(main, words, prog_name="rageval")
        assert result.exit_code == 2, result.output
        assert re.search("pipe or a device|no such file|holds no policy", result.stderr), result.stderr
        os.unlink(name)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["rubric", "prompt", "policy", "teams"])
def test_a_file_that_is_too_large_is_refused(what: str) -> None:
    words = COMMANDS[what].format("file").split()
    name = next(word for word in words if word.startswith("file"))
    with open(name, "wb") as stream:
        stream.truncate(2**40)  # holds nothing, and takes no place
    result = CliRunner().invoke(main, words, prog_name="rageval")
    assert result.exit_code == 2, result.output
    assert re.search(r"has more than [\d,]+ bytes", result.stderr)


def test_lines_end_as_in_files_of_text_and_what_is_no_file_is_said() -> None:
    Path("text").write_bytes(b"a\r\nb\rc\n")
    assert text_of_whole("text", "a prompt") == Path("text").read_text(encoding="utf-8") == "a\nb\nc\n"
    assert read_whole("text", "a prompt", most=7) == b"a\r\nb\rc\n"
    for name, message in (("nowhere", "No such file"), ("runs", "directory"), ("a\0b", "null")):
        with pytest.raises(InputError, match=f"cannot be read as a prompt: .*{message}"):
            read_whole(name, "a prompt")
    Path("bytes").write_bytes(b"\xff")
    with pytest.raises(InputError, match="cannot be read as a prompt: 'utf-8'"):
        text_of_whole("bytes", "a prompt")


def test_a_table_of_too_many_columns_is_refused() -> None:
    names = ["user_input", "response", *(f"m{index}" for index in range(8))]
    table = ",".join(names) + "\n" + ",".join(["q", "a", *["0.5"] * 8]) + "\n"
    limits = DEFAULT._replace(columns=9)
    with pytest.raises(
        InputError, match=r"at most 9 columns, found 10; raise the limit with --limit columns="
    ):
        read(io.BytesIO(table.encode()), limits=limits)
    assert read(io.BytesIO(table.encode()), limits=limits._replace(columns=10)).answers
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({name: ["0.5"] for name in names}), "log.parquet")
    with pytest.raises(InputError, match="at most 9 columns, found 10"):
        read("log.parquet", limits=limits)


def test_a_zip_of_too_many_entries_is_refused_before_it_is_listed() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as log:
        for index in range(30):
            log.writestr(f"samples/{index}_epoch_1.json", "{}")
    with pytest.raises(InputError, match=r"at most 29 entries, found 30; raise .* --limit entries="):
        read(io.BytesIO(packed.getvalue()), limits=DEFAULT._replace(entries=29))
