"""What is asked of a file on another machine, and what is not taken from it, without a network."""

from __future__ import annotations

import io
from typing import Any

import pytest

from rageval.errors import InputError
from rageval.files import _remote
from rageval.files._remote import RemoteFile, stamp_of

URL, CONTENT = "https://here/file", bytes(range(256)) * 2048  # half a mebibyte


class Files:
    """A file system of fsspec's kind, which notes what it was asked for."""

    def __init__(self, content: bytes = CONTENT, **info: Any) -> None:
        self.content, self.asked = content, []  # type: tuple[bytes, list[tuple[int, int]]]
        self.about = {"size": len(CONTENT), "ETag": "one", **info}
        self.breaks: list[Exception] = []

    def invalidate_cache(self) -> None:
        pass

    def info(self, path: str) -> dict[str, Any]:
        return self.about

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        self.asked.append((start, end))
        if self.breaks:
            raise self.breaks.pop()
        return self.content[start:end]


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    files = Files()
    monkeypatch.setattr(_remote, "_found", lambda url: (files, "file"))
    return files


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    return waited


def test_any_place_may_be_read_next(files: Files) -> None:
    file = RemoteFile(URL)
    assert file.seek(-3, io.SEEK_END) == len(CONTENT) - 3
    assert file.read() == CONTENT[-3:]
    assert file.seek(5) == 5
    assert file.seek(2, io.SEEK_CUR) == file.tell() == 7
    assert file.read(2) == CONTENT[7:9]
    assert (file.readable(), file.seekable()) == (True, True)


def test_without_a_size_it_is_refused_and_a_version_is_kept(files: Files) -> None:
    assert stamp_of(URL) == (len(CONTENT), "one")
    files.about["size"] = None
    with pytest.raises(InputError, match="does not report its size"):
        stamp_of(URL)


def test_a_file_that_ends_early_or_comes_whole_is_refused(files: Files) -> None:
    files.content = CONTENT[:10]
    file = RemoteFile(URL)
    assert file.read(10) == CONTENT[:10]
    with pytest.raises(InputError, match="ends after 10 of 524,288 bytes"):
        file.read(1)
    files.cat_file = lambda path, start, end: CONTENT  # type: ignore[method-assign]
    with pytest.raises(InputError, match="cannot send parts of it"):
        RemoteFile(URL, until=9).read(5)
