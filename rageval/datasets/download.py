"""Fetch a file: https only, continued where it broke off, verified, there only when it is whole."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import shutil
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from fnmatch import fnmatchcase
from io import FileIO
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from rageval.datasets.catalogue import HUB, KeptFile, Source, plain
from rageval.errors import InputError, OutputError, Place
from rageval.files.writing import opener_of, put
from rageval.text import visible
from rageval.version import __version__

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10
_LONGEST_WAIT = 120.0
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class _Again(Exception):
    """It did not work this time; `wait` is for how many seconds the server asks to be left alone."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass
class _HttpAnswer:
    """An open answer: 200, 206 or 416. `linked` is what the hub says of the file before it redirects."""

    status: int
    headers: Mapping[str, str]
    stream: Any
    linked: dict[str, str]

    @property
    def length(self) -> int | None:
        """The bytes in the answer, None if the server does not say."""
        return _whole_number(self.headers.get("Content-Length"))

    @property
    def etag(self) -> str:
        """What changes with the content; empty if nothing is sure to."""
        etag = self.headers.get("ETag") or ""
        return "" if etag.startswith("W/") else etag

    @property
    def linked_sha256(self) -> str | None:
        """The checksum that the hub gives, None if it gives none."""
        etag = self.linked.get("X-Linked-Etag", "").strip('"')
        return etag if _SHA256.fullmatch(etag) else None

    def read(self, size: int) -> bytes:
        """Return what has arrived, up to this many bytes; nothing at the end."""
        try:
            block: bytes = self.stream.read1(size)
        except (OSError, http.client.HTTPException) as error:
            raise _Again(_reason(error)) from error
        return block

    def close(self) -> None:
        """Close the connection."""
        self.stream.close()


@dataclass(frozen=True)
class Transport:
    """How downloads are made. `limit` is for files whose size nobody has published."""

    # The environment is asked when a transport is made, not when this is imported.
    allow_http: bool = field(
        default_factory=lambda: os.environ.get("RAGEVAL_ALLOW_HTTP", "") not in ("", "0")
    )
    timeout: float = 30.0
    attempts: int = 5
    limit: int = 64 * 2**30
    pause: Callable[[float], None] = time.sleep

    def open(self, url: str, headers: Mapping[str, str] | None = None) -> _HttpAnswer:
        """Return the answer to a GET, after redirects; raise `InputError` for none, `Again` for not yet."""
        url = _at_hub(url)
        linked: dict[str, str] = {}
        for _ in range(_MOST_REDIRECTS):
            scheme = urlsplit(url).scheme
            if scheme != "https" and not (scheme == "http" and self.allow_http):
                raise InputError(
                    at=Place(_shown_url(url)),
                    expected="https",
                    remedy="--allow-http (or RAGEVAL_ALLOW_HTTP=1) allows plain http",
                )
            answer = self._answer(url, {**(headers or {}), **_authorization(url)})
            for name in ("X-Linked-Etag", "X-Linked-Size"):
                # The hub names hash and size on its own answer, before it sends us on to a store that knows
                # neither; only the hub's word counts.
                if name in answer.headers and _origin(url) == _origin(_endpoint()):
                    linked[name] = answer.headers[name]
            if answer.status in _REDIRECTS and "Location" in answer.headers:
                answer.close()
                url = urljoin(url, answer.headers["Location"])
                continue
            # 416 means that nothing is left to send: what arrived may be whole, which the caller checks.
            if answer.status in (200, 206, 416):
                encoding = answer.headers.get("Content-Encoding", "identity")
                if encoding.lower() != "identity":
                    raise InputError(
                        at=Place(_shown_url(url)),
                        problem=f"arrives as {visible(encoding)}",
                        expected="the file as it is",
                    )
                return _HttpAnswer(answer.status, answer.headers, answer, linked)
            answer.close()
            raise _error_of_status(answer.status, answer.headers, url)
        raise InputError(at=Place(_shown_url(url)), problem=f"redirects more than {_MOST_REDIRECTS} times")

    def _answer(self, url: str, headers: dict[str, str]) -> Any:
        # Packed on the way, the bytes would not be those that the hash and the size are of.
        agent = {"User-Agent": f"rageval/{__version__}", "Accept-Encoding": "identity"}
        try:
            request = urllib.request.Request(url, headers={**agent, **headers})
            return urllib.request.build_opener(_AsIs).open(request, timeout=self.timeout)
        except (OSError, http.client.HTTPException, ValueError) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            # What may be otherwise in a moment is tried again; what will not be ends here.
            if isinstance(cause, TimeoutError | ConnectionResetError | http.client.HTTPException):
                raise _Again(_reason(error)) from error
            raise InputError(
                at=Place(_shown_url(url)), problem=f"cannot be reached: {_reason(error)}"
            ) from None


class _AsIs(urllib.request.HTTPErrorProcessor):
    """Every answer is an answer: redirects and errors are looked at by us."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


def _endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")


def _at_hub(url: str) -> str:
    """Return the address, at the hub that `HF_ENDPOINT` names if it is one of the hub's."""
    return _endpoint() + url.removeprefix(HUB) if url.startswith(f"{HUB}/") else url


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    default = {"https": 443, "http": 80}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or default


def _authorization(url: str) -> dict[str, str]:
    """Return the hub's token, for the hub alone, and never in clear over a network."""
    token = os.environ.get("HF_TOKEN", "").strip()
    # A token in clear can be read by whoever carries it.
    private = url.startswith("https://") or urlsplit(url).hostname in _LOOPBACK
    if not token or not private or _origin(url) != _origin(_endpoint()):
        return {}
    # A line end in it would begin a header of somebody else's making.
    if not token.isascii() or not token.isprintable():
        raise InputError(at=Place("HF_TOKEN"), expected="a token of printable ASCII characters")
    return {"Authorization": f"Bearer {token}"}


def _shown_url(url: str) -> str:
    """Return the address for messages: without user, password and query, which may be secrets."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return visible(f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}")


def _whole_number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() else None


def _error_of_status(status: int, headers: Mapping[str, str], url: str) -> Exception:
    if status in (408, 425, 429) or status >= 500:
        return _Again(f"the server answers {status}", _retry_after(headers.get("Retry-After")))
    if status in (401, 403):
        # Of the hub the way out is known; another server may refuse for any reason.
        way = "set HF_TOKEN, and accept its terms on its page" if _origin(url) == _origin(_endpoint()) else ""
        return InputError(
            at=Place(_shown_url(url)), problem=f"the server answers {status}, no permission", remedy=way
        )
    reason = {404: ", there is no such file", 410: ", the file is gone"}.get(status, "")
    return InputError(
        f"the server answers {status}{reason}",
        at=Place(_shown_url(url)),
        expected="" if reason else "the file",
    )


def _retry_after(text: str | None) -> float | None:
    """Seconds, from a number or a date, at most two minutes; None if it is neither."""
    if text is None:
        return None
    seconds: float | None = _whole_number(text.strip())
    if seconds is None:
        try:
            # Retry-After is a number of seconds or a date; both are allowed by the standard.
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    # A server may ask for a day, and nobody is to sit before a command that does nothing.
    return min(max(seconds, 0.0), _LONGEST_WAIT)


def _reason(error: Exception) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return "no byte arrived in time"
    if isinstance(cause, socket.gaierror):
        return "the name of the server is not known (no network?)"
    if isinstance(cause, ssl.SSLError):
        return f"no safe connection ({cause.reason})"
    if isinstance(cause, http.client.IncompleteRead):
        return "the connection broke off"
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return visible(str(text))


_LONGEST_LISTING = 16 * 2**20


class _Stored(msgspec.Struct):
    oid: str
    size: int


class _Listed(msgspec.Struct):
    type: str
    path: str
    size: int = 0
    lfs: _Stored | None = None


def shards(source: Source, transport: Transport) -> list[Source]:
    """Return the files that a source means, in order, with address, size and (if large) sha256."""
    folder = f"/{quote(source.folder)}" if source.folder else ""
    url = f"{HUB}/api/datasets/{source.repo}/tree/main{folder}"
    listed = _listing(url, transport)
    # Paths come from a server: only the last part may become the name of a file here.
    names = {file.path.rpartition("/")[2]: file for file in listed if file.type == "file"}
    matching = sorted((name, file) for name, file in names.items() if fnmatchcase(name, source.match))
    if not matching:
        shown = ", ".join(sorted(names)[:5]) or "none"
        raise InputError(at=Place(_shown_url(url)), expected=f"files {source.match}", found=shown)
    return [
        Source(
            source.role,
            f"{HUB}/datasets/{source.repo}/resolve/main{folder}/{plain(name, name)}",
            # Of a file in LFS the plain size is that of its pointer.
            size=file.lfs.size if file.lfs else file.size,
            sha256=file.lfs.oid if file.lfs else None,
        )
        for name, file in matching
    ]


def _listing(url: str, transport: Transport) -> list[_Listed]:
    for failures in range(1, transport.attempts + 1):
        try:
            reply = transport.open(url)
            try:
                text = b""
                while block := reply.read(2**16):
                    text += block
                    # A list has no size known before, and must not fill the memory.
                    if len(text) > _LONGEST_LISTING:
                        raise InputError(
                            at=Place(_shown_url(url)),
                            problem=f"a list of files of more than {_LONGEST_LISTING:,} bytes",
                        )
            finally:
                reply.close()
            return msgspec.json.decode(text, type=list[_Listed])
        except _Again as again:
            if failures == transport.attempts:
                raise InputError(at=Place(_shown_url(url)), problem=f"{again} ({failures} times)") from None
            # Twice as long each time: many clients that come back at once would keep the server down.
            transport.pause(again.wait if again.wait is not None else 2.0**failures / 2)
        except ValueError as error:
            # Our own errors are ValueErrors, too, and are right as they are.
            if isinstance(error, InputError):
                raise
            raise InputError(
                at=Place(_shown_url(url)), expected="the hub's list of files", cause=str(error)
            ) from None
    raise InputError(
        at=Place(_shown_url(url)), expected="at least one attempt", found=f"{transport.attempts}"
    )


_BLOCK = 2**18
_LONGEST_PAUSE = 30.0
_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_Watch = Callable[[int, int | None], None]


def download(
    urls: Sequence[str],
    target: Path,
    transport: Transport,
    *,
    size: int | None = None,
    sha256: str | None = None,
    watch: _Watch = lambda done, total: None,
) -> KeptFile:
    """Fetch a file to `target` from the first address that has it; what was there stays until then."""
    failed: list[InputError] = []
    for url in urls:
        # Each address goes on with what another one brought; a hash or a version tells whether it may.
        with _PartialFile(target) as part:
            try:
                kept = _Fetch(url, part, transport, size, sha256, watch).run()
                part.move_to(target)
            except InputError as error:
                # Its traceback would keep the connection open.
                failed.append(error.with_traceback(None))
            else:
                return kept
    raise InputError.joined(failed)


class _PartialFile:
    """What has arrived of a file, beside its place, with its hash so far and what tells its version."""

    def __init__(self, target: Path) -> None:
        # In the same folder: only there can it take its place in one step.
        self.path = target.with_name(f".{target.name}.part")
        self._version = target.with_name(f".{target.name}.etag")
        self.size = 0
        self.digest = hashlib.sha256()
        self._stream: FileIO | None = None

    def __enter__(self) -> _PartialFile:
        try:
            # Appending, unbuffered: what is written is on its way to the disk, and is continued after a
            # crash.
            self._stream = open(self.path, "ab+", buffering=0, opener=opener_of(0o644))
            self._stream.seek(0)
            # The hash goes on from what is there, which has to be read once for it.
            while block := self._stream.read(_BLOCK):
                self.digest.update(block)
                self.size += len(block)
        except OSError as error:
            raise self._unwritable(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            with suppress(OSError):
                self._stream.close()
        # An empty part is nothing to continue.
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
            self._version.write_text(etag, encoding="utf-8", newline="\n")
        except OSError as error:
            raise self._unwritable(error) from error

    def clear(self) -> None:
        stream = self._open()
        stream.seek(0)
        stream.truncate()
        self.size, self.digest = 0, hashlib.sha256()

    def write(self, block: bytes) -> None:
        rest = memoryview(block)
        # Unbuffered writes may take less than they were given.
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
        # Better said now than after hours, when the disk is full for everybody else as well.
        if total is not None and total - self.size > free:
            raise OutputError(
                f"{self.path.parent}: {total - self.size:,} more bytes are needed and {free:,} are free;"
                " free some space, or keep datasets elsewhere with IR_DATASETS_HOME=…"
            )

    def move_to(self, target: Path) -> None:
        stream = self._open()
        try:
            # First the content, then the name: after a power cut there is the old file or the whole new one.
            os.fsync(stream.fileno())
            stream.close()
            put(self.path, target)
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
            f"{self.path}: cannot be written: {error.strerror}; free some space, or keep datasets elsewhere"
            " (IR_DATASETS_HOME=…). The part that arrived is kept; the next run continues it"
        )


class _Fetch:
    """One file from one address, with as many connections as it takes."""

    def __init__(
        self,
        url: str,
        part: _PartialFile,
        transport: Transport,
        size: int | None,
        sha256: str | None,
        watch: _Watch,
    ) -> None:
        self.url, self.part, self.transport = url, part, transport
        self.size, self.sha256, self.watch = size, sha256, watch

    def run(self) -> KeptFile:
        continued = self.part.size > 0
        self._download_all()
        digest = self.part.digest.hexdigest()
        if self.sha256 not in (None, digest) and continued:  # the piece from last time may be of another file
            self.part.clear()
            self._download_all()
            digest = self.part.digest.hexdigest()
        if self.sha256 not in (None, digest):
            # A mirror without LFS serves a small text in place of each large file: the most common cause.
            pointer = self.part.head() == _LFS_POINTER
            hint = "; the server sent a Git LFS pointer instead of the file" if pointer else ""
            self.part.clear()
            raise InputError(
                at=Place(_shown_url(self.url)),
                problem=f"sha256 {digest}",
                expected=f"{visible(str(self.sha256))}{hint}",
                remedy="the file was rejected and the existing one is kept",
            )
        return KeptFile(self.part.path.name[1 : -len(".part")], self.part.size, digest)

    def _download_all(self) -> None:
        failures = 0
        while True:
            before = self.part.size
            try:
                self._connect()
                return
            except _Again as again:
                # A connection that brought something counts as success: a bad line may break a thousand times
                # on a large file.
                failures = 1 if self.part.size > before else failures + 1
                if failures >= self.transport.attempts:
                    raise InputError(
                        at=Place(_shown_url(self.url)),
                        problem=f"{again} ({failures} times, after {self.part.size:,} bytes, which are kept)",
                        remedy="run the same command to continue",
                    ) from None
                wait = again.wait if again.wait is not None else min(2.0**failures / 2, _LONGEST_PAUSE)
                self.transport.pause(wait)

    def _connect(self) -> None:
        """Ask for what is missing, and write it down."""
        etag = self.part.etag
        # Without a hash or a version two pieces of different files could be joined and nobody would know.
        if self.part.size and not (self.sha256 or etag):
            self.part.clear()  # nothing would tell whether the pieces belong together
        headers = {}
        if self.part.size:
            headers["Range"] = f"bytes={self.part.size}-"
            # If-Range makes the server send the whole of a changed file; with a hash we find out ourselves.
            if etag and not self.sha256:
                headers["If-Range"] = etag
        reply = self.transport.open(self.url, headers)
        try:
            # What we were told before goes before what the server says of itself.
            self.sha256 = self.sha256 or reply.linked_sha256
            total = self._start_part(reply)
            if total is None or self.part.size < total:
                most = total if total is not None else self.transport.limit
                while block := reply.read(_BLOCK):
                    # A server that does not stop must not fill the disk.
                    if self.part.size + len(block) > most:
                        self.part.clear()
                        raise InputError(
                            at=Place(_shown_url(self.url)),
                            problem=f"sends more than the {most:,} bytes that were expected",
                        )
                    self.part.write(block)
                    self.watch(self.part.size, total)
                # A connection that ends early looks like the end of a file, but for the size.
                if total is not None and self.part.size < total:
                    raise _Again(f"broke off after {self.part.size:,} of {total:,} bytes")
        finally:
            reply.close()

    def _start_part(self, reply: _HttpAnswer) -> int | None:
        """Make the part fit the reply; how large the file will be, if that is known."""
        # The whole file, though a part may have been asked for: begin anew.
        if reply.status == 200:
            self.part.start(reply.etag)
            total = reply.length
        else:
            match = _RANGE.fullmatch(reply.headers.get("Content-Range", "").strip())
            start, total = (_whole_number(match[1]), _whole_number(match[2])) if match else (None, None)
            done = reply.status == 416 and total == self.part.size
            # Another place than asked for: its bytes would be put in the wrong place.
            if not done and (reply.status == 416 or start != self.part.size):
                self.part.clear()
                raise _Again("the server does not resume the download")
        linked = _whole_number(reply.linked.get("X-Linked-Size"))
        expected = self.size if self.size is not None else linked
        if expected is not None and total not in (None, expected):
            self.part.clear()
            raise InputError(
                at=Place(_shown_url(self.url)), problem=f"has {total:,} bytes", expected=f"{expected:,}"
            )
        total = total if total is not None else expected
        if total is not None and total > (expected if expected is not None else self.transport.limit):
            raise InputError(
                at=Place(_shown_url(self.url)),
                problem=f"has {total:,} bytes",
                expected=f"at most {self.transport.limit:,}",
            )
        self.part.require_room(total)
        return total
