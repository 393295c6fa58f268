"""One way to write a file: whole or as it was, whatever fails, and the error names what failed."""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from rageval.errors import InputError, OutputError, UsageError
from rageval.files.writing import refuse_place, whole_file

OLD, NEW = b"old " * 40_000, b"new " * 50_000


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str = "file", content: bytes = NEW) -> None:
    with whole_file(Path(path)) as stream:
        for index in range(0, len(content), 1000):
            stream.write(content[index : index + 1000])


def error_of_writing() -> str:
    try:
        write()
    except OutputError as error:
        return str(error)
    return ""


def names() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


@pytest.mark.parametrize("error", [RuntimeError(), KeyboardInterrupt(), SystemExit(1), InputError("x")])
@pytest.mark.parametrize("there", [True, False])
def test_an_error_of_the_writer_passes_through_and_changes_nothing(error: BaseException, there: bool) -> None:
    if there:
        Path("file").write_bytes(OLD)

    def spoilt() -> None:
        with whole_file(Path("file")) as stream:
            stream.write(NEW)
            raise error

    with pytest.raises(type(error)):
        spoilt()
    assert names() == (["file"] if there else [])
    assert not there or Path("file").read_bytes() == OLD


def test_an_error_of_another_file_is_not_said_of_this_one() -> None:
    error = OutputError("store.sqlite: the disk is full")
    with pytest.raises(OutputError) as raised, whole_file(Path("file")):
        raise error
    assert raised.value is error
    with pytest.raises(FileNotFoundError), whole_file(Path("file")):
        Path("no-such-input").read_bytes()


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, name: str, step: int, code: int) -> Iterator[list[int]]:
    """Let the so-manieth call of a function of `os` fail; how many there were."""
    real: Callable[..., Any] = getattr(os, name)
    calls = [0]

    def sometimes(*words: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == step:
            raise OSError(code, os.strerror(code))
        return real(*words, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, name, sometimes)
        yield calls


@pytest.mark.slow
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("links", [0, 1, 2])
@pytest.mark.parametrize("name", ["fsync", "rename", "replace", "posix_fallocate", "fchmod", "open"])
def test_whatever_fails_the_file_is_whole_or_as_it_was(
    monkeypatch: pytest.MonkeyPatch, name: str, links: int, code: int
) -> None:
    step, calls = 0, 1
    while step < calls:
        step += 1
        for path in map(Path, names()):
            path.unlink()
        for twin in ("file", "twin")[:links]:
            if twin == "file":
                Path(twin).write_bytes(OLD)
            else:
                os.link("file", twin)
        before = names()
        with failing(monkeypatch, name, step, code) as counted:
            error = error_of_writing()
        calls = counted[0]
        left = set(names()) - {"file", *before}
        reason = f"file: cannot be written: {os.strerror(code)}"
        if left:  # written over, which failed: the whole content is in the file that the error names
            (copy,) = left
            assert links == 2
            assert error.endswith(f"{reason}; the complete content is in {Path.cwd() / copy}")
            assert Path(copy).read_bytes() == NEW
        else:
            assert error == (reason if calls >= step else "")
        content = Path("file").read_bytes() if Path("file").exists() else None
        assert content in (NEW, OLD if links else None)
        assert error or content == NEW
        assert set(before) <= {"file", *names()}


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.EACCES])
def test_a_disk_that_cannot_sync_is_written_to(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    for step in (1, 2):
        with failing(monkeypatch, "fsync", step, code):
            write()
        assert Path("file").read_bytes() == NEW


def test_a_file_that_is_mounted_alone_is_written_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `docker run -v out.jsonl:/out.jsonl` does: nothing can be moved there."""
    Path("file").write_bytes(OLD)
    number = Path("file").stat().st_ino
    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, lambda *_: (_ for _ in ()).throw(OSError(errno.EBUSY, "busy")))
    write()
    assert (Path("file").read_bytes(), Path("file").stat().st_ino, names()) == (NEW, number, ["file"])


def test_a_copy_is_on_disk_before_a_file_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with two names is written over: the copy beside it is whole, and synced with its name."""
    Path("file").write_bytes(OLD)
    os.link("file", "twin")
    synced: list[bool] = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: synced.append(os.path.isdir(f"/proc/self/fd/{descriptor}"))
    )

    def broken(source: IO[bytes], sink: IO[bytes]) -> None:
        assert synced == [False, True]  # the copy, and the folder it is in
        sink.write(b"half")
        sink.flush()
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(shutil, "copyfileobj", broken)
    with pytest.raises(
        OutputError, match=r"file: cannot be written: .*; the complete content is in .*\.part$"
    ):
        write()
    (copy,) = set(names()) - {"file", "twin"}
    assert Path(copy).read_bytes() == NEW


def test_a_full_disk_is_named_with_its_file() -> None:
    Path("full").symlink_to("/dev/full")
    for there in ("full", "/dev/full"):
        with pytest.raises(OutputError, match=f"^{there}: cannot be written: No space left on device$"):
            write(there)
    assert Path("/dev/full").is_char_device()


def test_a_reader_that_leaves_is_an_error_of_a_pipe() -> None:
    os.mkfifo("pipe")
    with (
        subprocess.Popen(["head", "-c", "5", "pipe"], stdout=subprocess.DEVNULL),
        pytest.raises(OutputError, match=r"^pipe: cannot be written: Broken pipe$"),
    ):
        write("pipe", NEW * 10)


def test_files_with_unusual_names_are_written_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("é" * 120, "a" * 255, " ", "\udcff", "a\x1b[31m", "-x", ".part"):
        write(name)
        assert Path(name).read_bytes() == NEW
        Path(name).unlink()
    assert names() == []
    with pytest.raises(OutputError, match=r"^a\\x1b\[31m/b: no such folder"):
        write("a\x1b[31m/b")
    Path("loop").symlink_to("loop")
    with pytest.raises(OutputError, match="symbolic links"):
        write("loop")
    for name in ("", ".", "..", "/"):
        with pytest.raises(UsageError, match="is a folder, expected a file to write to"):
            write(name)
        with pytest.raises(UsageError, match="is a folder"):
            refuse_place(Path(name))


def test_a_descriptor_that_is_not_open_is_an_error() -> None:
    with pytest.raises(OutputError, match=r"^/dev/fd/987: cannot be written: Bad file descriptor$"):
        write("/dev/fd/987")


def test_standard_output_that_somebody_collects(monkeypatch: pytest.MonkeyPatch) -> None:
    collected = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", collected)
    print("before")
    write("-", b"new\n")
    print("after")
    collected.flush()
    assert collected.buffer.getvalue() == b"before\nnew\nafter\n"  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OutputError, match="standard output is closed"):
        write("-")


def test_a_protected_file_is_not_replaced() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "file")
        place.write_bytes(OLD)
        place.chmod(0o444)
        Path(folder).chmod(0o777)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            with pytest.raises(OutputError, match="cannot be written: Permission denied"):
                write(str(place))
        finally:
            if root:
                os.seteuid(0)
        assert place.read_bytes() == OLD
        assert [path.name for path in Path(folder).iterdir()] == ["file"]


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root may give files away")
def test_owner_and_group_are_kept() -> None:
    Path("file").write_bytes(OLD)
    os.chown("file", 65534, 65533)
    Path("file").chmod(0o640)
    write()
    status = Path("file").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (65534, 65533, 0o640)


def test_a_part_that_is_being_written_is_read_by_nobody_else() -> None:
    Path("file").write_bytes(OLD)
    Path("file").chmod(0o600)
    with whole_file(Path("file")) as stream:
        stream.write(NEW)
        assert {stat.S_IMODE(path.stat().st_mode) for path in Path().iterdir()} == {0o600}
