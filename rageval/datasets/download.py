"""A file from the network: continued where it broke off, verified, and there only when it is whole."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path

from rageval.datasets.home import Kept
from rageval.datasets.transport import Again, Reply, Transport, shown, whole_number
from rageval.errors import InputError, OutputError
from rageval.text import visible

BLOCK = 2**18
_LONGEST_PAUSE = 30.0
_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
Watch = Callable[[int, int | None], None]


def download(
    urls: Sequence[str],
    target: Path,
    transport: Transport,
    *,
    size: int | None = None,
    sha256: str | None = None,
    watch: Watch = lambda done, total: None,
) -> Kept:
    """Fetch a file to `target` from the first address that has it; what was there stays until then."""
    failed: list[str] = []
    for url in urls:
        with _Part(target) as part:
            try:
                kept = _Fetch(url, part, transport, size, sha256, watch).run()
                part.move_to(target)
            except InputError as error:
                failed.append(str(error))
            else:
                return kept
    raise InputError("\n".join(failed))


class _Part:
    """What has arrived of a file, beside its place, with its hash so far and what tells its version."""

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(f".{target.name}.part")
        self._version = target.with_name(f".{target.name}.etag")
        self.size = 0
        self.digest = hashlib.sha256()
        self._stream: FileIO | None = None

    def __enter__(self) -> _Part:
        try:
            self._stream = self.path.open("ab+", buffering=0)
            self._stream.seek(0)
            while block := self._stream.read(BLOCK):
                self.digest.update(block)
                self.size += len(block)
        except OSError as error:
            raise self._unwritable(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            with suppress(OSError):
                self._stream.close()
        if not self.size:
            self._remove()

    @property
    def etag(self) -> str:
        try:
            return self._version.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return ""

    def start(self, etag: str) -> None:
        """From the beginning, of the version with this tag."""
        self.clear()
        try:
            self._version.write_text(etag, encoding="utf-8")
        except OSError as error:
            raise self._unwritable(error) from error

    def clear(self) -> None:
        stream = self._open()
        stream.seek(0)
        stream.truncate()
        self.size, self.digest = 0, hashlib.sha256()

    def write(self, block: bytes) -> None:
        rest = memoryview(block)
        while rest:  # a disk that fills up takes a piece first
            try:
                count = self._open().write(rest)
            except OSError as error:
                raise self._unwritable(error) from error
            self.digest.update(rest[:count])
            self.size += count
            rest = rest[count:]

    def head(self) -> bytes:
        stream = self._open()
        stream.seek(0)
        return stream.read(len(_LFS_POINTER))

    def require_room(self, total: int | None) -> None:
        free = shutil.disk_usage(self.path.parent).free
        if total is not None and total - self.size > free:
            raise OutputError(
                f"{self.path.parent}: {total - self.size:,} bytes are to come and {free:,} are free;"
                " make room, or keep data sets elsewhere: IR_DATASETS_HOME=…"
            )

    def move_to(self, target: Path) -> None:
        stream = self._open()
        try:
            os.fsync(stream.fileno())
            stream.close()
            self.path.replace(target)
        except OSError as error:
            raise self._unwritable(error) from error
        self._remove()

    def _remove(self) -> None:
        for path in (self.path, self._version):
            with suppress(OSError):
                path.unlink()

    def _open(self) -> FileIO:
        if self._stream is None:
            raise ValueError("the part is used outside of its with-statement")
        return self._stream

    def _unwritable(self, error: OSError) -> OutputError:
        return OutputError(
            f"{self.path}: cannot be written: {error.strerror}; make room, or keep data sets elsewhere"
            " (IR_DATASETS_HOME=…). What has arrived is kept and continued next time"
        )


class _Fetch:
    """One file from one address, with as many connections as it takes."""

    def __init__(
        self, url: str, part: _Part, transport: Transport, size: int | None, sha256: str | None, watch: Watch
    ) -> None:
        self.url, self.part, self.transport = url, part, transport
        self.size, self.sha256, self.watch = size, sha256, watch

    def run(self) -> Kept:
        continued = self.part.size > 0
        self._until_whole()
        found = self.part.digest.hexdigest()
        if self.sha256 not in (None, found) and continued:  # the piece from last time may be of another file
            self.part.clear()
            self._until_whole()
            found = self.part.digest.hexdigest()
        if self.sha256 not in (None, found):
            raise self._wrong_hash(found)
        return Kept(self.part.path.name[1 : -len(".part")], self.part.size, found)

    def _until_whole(self) -> None:
        failures = 0
        while True:
            before = self.part.size
            try:
                self._connect()
                return
            except Again as again:
                failures = 1 if self.part.size > before else failures + 1
                if failures >= self.transport.attempts:
                    raise InputError(
                        f"{shown(self.url)}: {again} ({failures} times, after {self.part.size:,} bytes, which"
                        " are kept); say the same again to continue"
                    ) from None
                wait = again.wait if again.wait is not None else min(2.0**failures / 2, _LONGEST_PAUSE)
                self.transport.pause(wait)

    def _connect(self) -> None:
        """Ask for what is missing, and write it down."""
        etag = self.part.etag
        if self.part.size and not (self.sha256 or etag):
            self.part.clear()  # nothing would tell whether the pieces belong together
        headers = {}
        if self.part.size:
            headers["Range"] = f"bytes={self.part.size}-"
            if etag and not self.sha256:
                headers["If-Range"] = etag
        reply = self.transport.open(self.url, headers)
        try:
            self.sha256 = self.sha256 or reply.linked_sha256
            total = self._begin(reply)
            if total is None or self.part.size < total:
                self._take(reply, total)
        finally:
            reply.close()

    def _begin(self, reply: Reply) -> int | None:
        """Make the part fit the reply; how large the file will be, if that is known."""
        if reply.status == 200:
            self.part.start(reply.etag)
            total = reply.length
        else:
            match = _RANGE.fullmatch(reply.headers.get("Content-Range", "").strip())
            start, total = (whole_number(match[1]), whole_number(match[2])) if match else (None, None)
            done = reply.status == 416 and total == self.part.size
            if not done and (reply.status == 416 or start != self.part.size):
                self.part.clear()
                raise Again("the server does not continue where it broke off")
        linked = whole_number(reply.linked.get("X-Linked-Size"))
        expected = self.size if self.size is not None else linked
        if expected is not None and total not in (None, expected):
            self.part.clear()
            raise InputError(f"{shown(self.url)}: has {total:,} bytes, expected {expected:,}")
        total = total if total is not None else expected
        if total is not None and total > (expected if expected is not None else self.transport.limit):
            raise InputError(
                f"{shown(self.url)}: has {total:,} bytes, expected at most {self.transport.limit:,}"
            )
        self.part.require_room(total)
        return total

    def _take(self, reply: Reply, total: int | None) -> None:
        most = total if total is not None else self.transport.limit
        while block := reply.read(BLOCK):
            if self.part.size + len(block) > most:
                self.part.clear()
                raise InputError(f"{shown(self.url)}: sends more than the {most:,} bytes that were expected")
            self.part.write(block)
            self.watch(self.part.size, total)
        if total is not None and self.part.size < total:
            raise Again(f"broke off after {self.part.size:,} of {total:,} bytes")

    def _wrong_hash(self, found: str) -> InputError:
        pointer = self.part.head() == _LFS_POINTER
        hint = "; the server sent a Git LFS pointer instead of the file" if pointer else ""
        self.part.clear()
        return InputError(
            f"{shown(self.url)}: sha256 {found}, expected {visible(str(self.sha256))}{hint}; the file was not"
            " taken, and what was there before is kept"
        )
