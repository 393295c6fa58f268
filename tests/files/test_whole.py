"""Files that are read whole, tables and zips: what is not a file, or far too large, is refused."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.errors import InputError
from rageval.files.columnar import run_rows
from rageval.files.opening import DEFAULT, File
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
OURS = Path(rageval.__file__).parent
# What is read at once elsewhere: our own files, those of the package, and what was looked at before.
READ_AT_ONCE = {
    *("building/collection.py", "cli/demo.py", "cli/skill.py", "measures/papers.py", "samples.py"),
    "published/__init__.py",
    *(
        *("pages/_parts.py", "datasets/home.py", "datasets/_reader.py", "datasets/catalogue.py"),
        "datasets/download.py",
    ),
    *(
        *("datasets/dataset.py", "files/trec.py", "judges/store.py", "judges/rubric.py", "judges/short.py"),
        "pages/labels.py",
    ),
    *(
        *("scoring/sources.py", "track/stages.py", "track/plan.py", "track/publication.py"),
        "track/entries.py",
    ),
    *("track/leaderboard.py", "track/bundle.py"),
    "track/submissions.py",
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


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="no <(…)")
def test_what_a_shell_makes_is_read() -> None:
    code = "import sys; from rageval.files.whole import read_whole; print(read_whole(sys.argv[1], 'x'))"
    words = f"{sys.executable} -c {json.dumps(code)} <(echo said)"
    process = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=60)
    assert process.stdout == "b'said\\n'\n", process.stderr


def test_no_other_file_is_read_at_once_without_a_limit() -> None:
    readers = {
        path.relative_to(OURS).as_posix()
        for path in OURS.rglob("*.py")
        if re.search(
            r"\.read_(?:text|bytes)\(|json\.load\(|(?:stream|file|source)\.read\(\)",
            path.read_text(encoding="utf-8"),
        )
    }
    assert readers <= READ_AT_ONCE, readers - READ_AT_ONCE


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


def test_an_id_that_is_stored_once_and_is_far_too_long_is_not_written_out_in_each_row() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    long = "x" * 2**20
    rows = 20_000  # 20 GiB of ids
    table = {
        "query_id": pyarrow.DictionaryArray.from_arrays([0] * rows, [long]),
        "doc_id": [f"d{index}" for index in range(rows)],
        "score": [1.0] * rows,
    }
    parquet.write_table(pyarrow.table(table), "run.parquet")
    before = pyarrow.default_memory_pool().max_memory()
    with pytest.raises(InputError, match=r"run\.parquet:1: expected 1 to 1,024 bytes .* as query_id"):
        list(run_rows("run.parquet"))
    assert pyarrow.default_memory_pool().max_memory() < before + 2**28
    parquet.write_table(pyarrow.table({**table, "query_id": ["q" * 1025] * rows}), "run.parquet")
    file = File("run.parquet", DEFAULT._replace(id=1025))
    assert sum(len(row.docs) for row in run_rows(file)) == rows
