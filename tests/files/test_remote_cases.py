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


def test_it_is_read_in_ranges_that_double(files: Files) -> None:
    file = RemoteFile(URL)
    read = b"".join(iter(lambda: file.read(1000), b""))
    assert read == CONTENT
    assert files.asked == [(0, 2**16), (2**16, 2**16 * 3), (2**16 * 3, 2**16 * 7), (2**16 * 7, 2**19)]


def test_nothing_behind_the_end_of_a_part_is_asked_for_unless_it_is_read(files: Files) -> None:
    file = RemoteFile(URL, until=1000)
    assert file.read(10) == CONTENT[:10]
    assert file.read(1000) == CONTENT[10:1010]
    assert files.asked == [(0, 1000), (1000, 1010)]


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


def test_what_breaks_is_asked_again_after_longer_and_longer_pauses(files: Files, pauses: list[float]) -> None:
    files.breaks = [OSError("gone")] * 4
    assert RemoteFile(URL).read(3) == CONTENT[:3]
    assert pauses == [0.2, 0.4, 0.8, 1.6]
    files.breaks = [OSError("gone")] * 5
    with pytest.raises(InputError, match="cannot be read: gone"):
        RemoteFile(URL).read(3)


@pytest.mark.parametrize(
    ("error", "message"),
    [(FileNotFoundError("x"), "no such file"), (PermissionError("no"), "cannot be read: no")],
)
def test_a_plain_no_is_not_asked_again(
    files: Files, pauses: list[float], error: Exception, message: str
) -> None:
    files.breaks = [error]
    with pytest.raises(InputError, match=message):
        RemoteFile(URL).read(3)
    assert (pauses, len(files.asked)) == ([], 1)


@pytest.mark.parametrize(("status", "tries"), [(404, 1), (403, 1), (408, 2), (429, 2), (503, 2)])
def test_a_status_says_whether_to_ask_again(
    files: Files, pauses: list[float], status: int, tries: int
) -> None:
    error = OSError("status")
    error.status = status  # type: ignore[attr-defined]
    files.breaks = [error]
    if tries == 1:
        with pytest.raises(InputError):
            RemoteFile(URL).read(3)
    else:
        assert RemoteFile(URL).read(3) == CONTENT[:3]
    assert len(files.asked) == tries
