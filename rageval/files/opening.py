"""Bytes out of a path, standard input or an open file: unpacked, in chunks that end at a line end.

A stream that can be read once is kept where it has to be read again. What is wrong with the bytes of a text,
whatever its format, is said here, too, and how much a file may ask of us: its limits, which a source carries.
"""

from __future__ import annotations

import io
import os
import re
import stat
import sys
import weakref
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any, NamedTuple, cast

from rageval.errors import InputError, MissingPackage, Place, UsageError, missing_file
from rageval.files import _remote
from rageval.files._remote import Stamp
from rageval.text import visible

# So that no input can eat the machine; every limit can be raised.
LARGEST_GRADE = 10**6
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


class Limits(NamedTuple):
    """Bytes of a line, of a line of JSON and of an id, the largest grade, what a file may unpack to.

    `columns` are those of a table, `entries` those of a zip.
    """

    line: int = 2**20
    record: int = 64 * 2**20
    id: int = 1024
    grade: int = LARGEST_GRADE
    ratio: int = 200
    unpacked: int = 32 * 2**30
    columns: int = 2**18
    entries: int = 2**20

    def changed(self, assignments: tuple[str, ...]) -> Limits:
        """Return the limits after `NAME=VALUE` words, as typed on the command line (`line=4M`)."""
        return self._replace(**assigned(assignments, self._fields))


def assigned(assignments: Iterable[str], names: Collection[str]) -> dict[str, int]:
    """Return the numbers of `NAME=NUMBER` words, as typed on the command line.

    >>> assigned(["line=4M", "id=200"], ["line", "id"])
    {'line': 4194304, 'id': 200}
    """
    numbers = {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        number = value.strip().lower().removesuffix("ib").removesuffix("b")
        unit = number[-1:] if number[-1:] in _UNITS else ""
        digits = number.removesuffix(unit)
        if name not in names or not (digits.isascii() and digits.isdigit() and int(digits)):
            raise UsageError(
                f"--limit {visible(assignment[:80])!r}: expected NAME=NUMBER "
                f"with a NAME of {', '.join(names)}"
            )
        numbers[name] = int(digits) * _UNITS[unit]
    return numbers


DEFAULT = Limits()


CHUNK = 2**18  # fits the processor's cache with all that is computed from it
STDIN = "-"
_SCHEMES = ("s3", "gs", "hf", "http", "https")  # only a name with one of these ever reaches a network
BOM = b"\xef\xbb\xbf"
ASKED_FOR = ".adaptive.jsonl"  # of the file beside judgements that lists what was asked for by earlier ones
_LENIENT = 64 * 2**20  # small files may unpack at any ratio: long runs of equal lines are no attack
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_SHOWN_ERRORS = 10
_LONGEST_SHOWN = 80  # characters of a line in a message
COPY_AGAIN = "copy or write it again"  # the remedy for a damaged file
_BLOCK = 2**17  # packed bytes read at a time
_XZ_MEMORY = 2**27  # bytes
_IN_MEMORY = 2**26  # bytes of a stream that are kept without a file
LOOK = 10  # bytes that tell
_HEAD = 2**16  # bytes in which the first lines are looked for
_MOST_WAITING = 64  # open files are few in a process, and runs can be thousands
_PARQUET = b"PAR1"
GZIP, BZIP2, XZ, ZSTD = "gzip", "bzip2", "xz", "zstd"
# bzip2 begins with letters, as an id may: what tells is that a block follows, or the end.
# A zstd file may begin with a frame to be skipped, as those of pzstd do.
_BEGINNINGS = {
    GZIP: re.compile(rb"\x1f\x8b"),
    BZIP2: re.compile(rb"BZh[1-9](?:\x31\x41\x59\x26\x53\x59|\x17\x72\x45\x38\x50\x90)"),
    XZ: re.compile(rb"\xfd7zXZ\x00"),
    ZSTD: re.compile(rb"(?:\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)"),
}


def _packing_of(start: bytes) -> str | None:
    """Return how content that begins like this is compressed, if it is."""
    return next((name for name, begins in _BEGINNINGS.items() if begins.match(start)), None)


def unpacked(raw: IO[bytes], packing: str) -> IO[bytes]:
    """Return the content, every member or frame of it."""
    if packing == GZIP:
        import gzip

        # GzipFile itself reports damage in any member.
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw, mode="rb"))
    if packing == BZIP2:
        import bz2

        return cast("IO[bytes]", _MultiStreamReader(raw, bz2.BZ2Decompressor))
    if packing == XZ:
        import lzma

        # A header states how much memory its content needs: 65 MiB is what `xz -9` takes.
        begin = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        return cast("IO[bytes]", _MultiStreamReader(raw, begin, padding=4))
    return cast("IO[bytes]", _MultiStreamReader(raw, _zstandard().ZstdDecompressor))


def _zstandard() -> Any:
    """Return the module that knows Zstandard."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise MissingPackage("backports.zstd", "a .zst file", extra="zst") from None
    return zstd


class _MultiStreamReader(io.RawIOBase):
    """Reads compressed streams that follow one another as one; damage in any of them is an error.

    The standard library ignores a damaged stream after the first, as if it were trailing garbage.
    """

    def __init__(self, raw: IO[bytes], new_decompressor: Callable[[], Any], padding: int = 0) -> None:
        self._raw, self._new_decompressor, self._padding = raw, new_decompressor, padding
        self._decompressor: Any = None
        self._rest = b""  # packed bytes after the stream that ended
        self._padded = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        blocks = []
        while size:
            block = self._next_block(size if size > 0 else _BLOCK)
            if not block:
                break
            blocks.append(block)
            size -= len(block) if size > 0 else 0
        return b"".join(blocks)

    def _next_block(self, size: int) -> bytes:
        """Return up to `size` unpacked bytes; nothing at the end of the last stream."""
        while True:
            if self._decompressor is None or self._decompressor.eof:
                packed = self._rest or self._raw.read(_BLOCK)
                self._rest = b""
                # Between its streams, xz allows zero bytes in multiples of four; no other byte is padding.
                while self._padding and self._decompressor is not None and packed[:1] == b"\0":
                    after_zeros = packed.lstrip(b"\0")
                    self._padded += len(packed) - len(after_zeros)
                    packed = after_zeros or self._raw.read(_BLOCK)
                if self._padding and self._padded % self._padding:
                    raise ValueError(
                        f"{self._padded} zero bytes after a stream, not a multiple of {self._padding}"
                    )
                self._padded = 0
                if not packed:
                    return b""
                self._decompressor = self._new_decompressor()
            else:
                # One packed block can unpack to many: read more only when the decompressor needs it.
                packed = self._raw.read(_BLOCK) if self._decompressor.needs_input else b""
                if self._decompressor.needs_input and not packed:
                    raise EOFError("the last stream is truncated")
            block: bytes = self._decompressor.decompress(packed, size)
            if self._decompressor.eof:
                self._rest = self._decompressor.unused_data
            if block:
                return block


class _KeptStream:
    """What was read of a stream is kept, in memory while it is little and in a temporary file then."""

    def __init__(self, stream: IO[bytes], name: str, limits: Limits = DEFAULT) -> None:
        self.name, self.limits = name, limits
        self._stream = stream
        from tempfile import SpooledTemporaryFile

        # Closed by the finalizer, because nobody knows when the stream is read for the last time.
        self._kept = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        self._size = 0
        weakref.finalize(self, self._kept.close)

    def opened(self) -> io.RawIOBase:
        """Return the stream from its beginning."""
        return _FromStart(self)

    def __len__(self) -> int:
        """Return the bytes read so far."""
        return self._size

    def read_at(self, offset: int, size: int) -> bytes:
        """Return bytes from a place that was reached before; the stream goes on behind the last."""
        self._kept.seek(offset)
        # Kept already, up to where the stream was read; a short answer is fine, the next one goes on.
        if offset < self._size:
            return self._kept.read(size)
        block = _taken(self._stream, size, self.name)
        self._kept.write(block)
        self._size += len(block)
        return block


class _FromStart(io.RawIOBase):
    def __init__(self, kept: _KeptStream) -> None:
        self._kept, self._position = kept, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block = self._kept.read_at(self._position, size)
        self._position += len(block)
        return block


def _taken(stream: Any, size: int, name: str) -> bytes:
    """Return up to `size` bytes of whatever was handed over as a file; nothing at its end."""
    read = getattr(stream, "read", None)
    if not callable(read):
        raise InputError(
            at=Place(name), expected="a path or a file open in binary mode", found=f"{stream!r:.80}"
        )
    block = read(size)
    if block is None:  # a pipe that does not wait
        return b""
    if not isinstance(block, bytes | bytearray | memoryview):
        kind = type(block).__name__
        raise InputError(
            at=Place(name), expected="bytes from read()", found=kind, remedy="open it with mode 'rb'"
        )
    return bytes(block)


class File(os.PathLike[str]):
    """A file of this machine that is opened once: it is read on by the stream by which it was looked into.

    It stands wherever a path may, and keeps what the file begins with. `kinds` is what it was told to be,
    by how it is read; `limits` is how much it may ask of us. A file that we made ourselves has a `label`, by
    which messages call it.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/run.trec"
    >>> with open(path, "wb") as stream:
    ...     _ = stream.write(b"q Q0 d 1 2.5 r")
    >>> file = File(path)
    >>> head(file), str(file) == path
    (b'q Q0 d 1 2.5 r', True)
    """

    _waiting = 0  # streams of all files that were looked into and not read yet

    def __init__(self, path: str | os.PathLike[str], limits: Limits = DEFAULT, label: str = "") -> None:
        """Name the file; it is opened when somebody looks."""
        self._path = str(os.fspath(path))
        self.label = label
        self.limits = limits
        self._heads: dict[int, bytes] = {}
        self._first: bytes | None = None
        self.kinds: dict[Any, Any] = {}
        self._stream: tuple[IO[bytes], int, weakref.finalize[Any, Any]] | None = None

    def __fspath__(self) -> str:
        return self._path

    def __str__(self) -> str:
        return self._path

    def __repr__(self) -> str:
        return f"File({self._path!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, File) and other._path == self._path

    def __hash__(self) -> int:
        return hash(self._path)

    def __reduce__(self) -> tuple[type[File], tuple[str, Limits]]:
        return File, (self._path, self.limits)

    def opened(self) -> IO[bytes]:
        """Return a stream at the beginning of the file, which the caller closes."""
        if self._stream is not None:
            stream, process, closed = self._stream
            self._stream = None
            # A process that was forked shares the place in its parent's stream: it opens one of its own.
            if process == os.getpid():
                # A new object for the same open file: one that is older than the generator which reads it
                # may be collected before it, and would complain that nobody closed it.
                duplicate = open(os.dup(stream.fileno()), "rb", buffering=0)  # noqa: SIM115
                closed()
                return cast("IO[bytes]", duplicate)
        with _explained(self._path):
            # Unbuffered: whole chunks are read anyway, and a buffer would copy each of them.
            return cast("IO[bytes]", open(self._path, "rb", buffering=0))

    def _looked_into(self, look: Callable[[IO[bytes]], bytes]) -> bytes:
        """Return what is seen in the file, whose stream is kept for whoever reads it."""
        stream = self.opened()
        try:
            seen = look(stream)
            stream.seek(0)
        except BaseException:
            stream.close()
            raise
        # Of more files than that none is kept open: they are opened again to be read.
        if File._waiting >= _MOST_WAITING:
            stream.close()
            return seen
        File._waiting += 1
        closed = weakref.finalize(self, _closed, stream)
        self._stream = stream, os.getpid(), closed
        return seen

    def first(self) -> bytes:
        """Return the bytes that it begins with, as they lie there."""
        if self._first is None:
            self._first = self._looked_into(lambda stream: stream.read(LOOK))
        return self._first

    def head(self, longest: int) -> bytes:
        """Return the first lines, unpacked."""
        if longest not in self._heads:
            self._heads[longest] = self._looked_into(
                lambda stream: next(_whole_line_chunks(stream, self._path, self.limits, longest, _HEAD), b"")
            )
        return self._heads[longest]


def _closed(stream: IO[bytes]) -> None:
    File._waiting -= 1
    stream.close()


class LimitedName(str):
    """A path, a URL or `-` that carries limits, and is text wherever text is wanted."""

    __slots__ = ("limits",)
    limits: Limits

    def __new__(cls, name: str, limits: Limits) -> LimitedName:
        """Make it of a name."""
        named = super().__new__(cls, name)
        named.limits = limits
        return named

    def __reduce__(self) -> tuple[type[LimitedName], tuple[str, Limits]]:
        return LimitedName, (str(self), self.limits)


class _LimitedStream:
    """A stream that carries limits; what else it knows and does is the stream's."""

    def __init__(self, stream: IO[bytes], name: str, limits: Limits) -> None:
        self._stream, self.name, self.limits = stream, name, limits

    def __getattr__(self, name: str) -> Any:
        if name == "_stream":  # of a copy that is being made
            raise AttributeError(name)
        return getattr(self._stream, name)


Source = str | os.PathLike[str] | IO[bytes] | _KeptStream


def limits_of(source: Any) -> Limits:
    """Return how much a source may ask of us: what it carries, else the defaults."""
    limits = getattr(source, "limits", None)
    return limits if isinstance(limits, Limits) else DEFAULT


def with_limits(source: Any, limits: Limits | None) -> Any:
    """Return the source, or each of several, as one that carries these limits; None leaves them as they are.

    What is in memory, or a dataset, asks for nothing and is returned as it is.

    >>> limits_of(with_limits("run.trec", Limits(id=20))).id, with_limits("run.trec", DEFAULT)
    (20, 'run.trec')
    """
    if limits is None:
        return source
    # Records may be tuples of some kind, which are no several sources.
    if type(source) in (list, tuple):
        return [_one_with_limits(item, limits) for item in source]
    return _one_with_limits(source, limits)


def _one_with_limits(source: Any, limits: Limits) -> Any:
    if limits_of(source) == limits:
        return source
    if isinstance(source, str):
        return LimitedName(source, limits)
    if isinstance(source, os.PathLike):
        return File(source, limits)
    if isinstance(source, _KeptStream):
        source.limits = limits
        return source
    # A stream of text is refused where it is read; what nobody can read asks for nothing.
    if isinstance(source, io.TextIOBase) or not callable(getattr(source, "read", None)):
        return source
    return _LimitedStream(source, name_of(source), limits)


class FileChanged(InputError):
    """A file is not what it was when the work began."""


def is_remote(source: object) -> bool:
    """Return whether this names a file on another machine."""
    return isinstance(source, str) and source.partition("://")[0] in _SCHEMES and "://" in source


def is_local_file(source: object) -> bool:
    """Return whether this names an ordinary file of this machine."""
    named = isinstance(source, str | os.PathLike) and source != STDIN and not is_remote(source)
    return named and os.path.isfile(cast("str", source))


class RowRange(NamedTuple):
    """Some rows of a file, counted from 0."""

    path: str | os.PathLike[str]
    rows: range

    @property
    def limits(self) -> Limits:
        """How much the file may ask of us."""
        return limits_of(self.path)


def is_columnar(source: Source | RowRange) -> bool:
    """Return whether this is Parquet: by its first bytes, or by its name where looking needs a network."""
    if isinstance(source, RowRange):
        return True
    if is_remote(source):
        return str(source).partition("?")[0].endswith((".parquet", ".pq"))
    if not isinstance(source, str | os.PathLike) or source == STDIN or not os.path.isfile(source):
        return False
    return (source if isinstance(source, File) else File(source)).first().startswith(_PARQUET)


def as_local_file(source: Any) -> Any:
    """Return a file of this machine as a `File`, which is opened once; anything else as it is."""
    is_path = isinstance(source, str | os.PathLike) and not isinstance(source, File)
    return File(source, limits_of(source)) if is_path and is_local_file(source) else source


def name_of(source: Source) -> str:
    """Return what error messages call this source."""
    if isinstance(source, str | os.PathLike):
        label = source.label if isinstance(source, File) else ""
        return "<stdin>" if source == STDIN else label or str(source)
    name = str(getattr(source, "name", "<stream>"))
    return "<stdin>" if source is getattr(sys.stdin, "buffer", None) else name


def can_read_again(source: Source) -> bool:
    """Return whether the source can be opened a second time from its beginning."""
    if is_remote(source) or isinstance(source, _KeptStream):
        return True
    return isinstance(source, str | os.PathLike) and source != STDIN and os.path.isfile(source)


def kept(source: Source) -> Source:
    """Return the source; if it is a stream, or a pipe with a name, one that can be read again."""
    if source == STDIN:
        return _KeptStream(sys.stdin.buffer, name_of(source), limits_of(source))
    if (
        isinstance(source, str | os.PathLike)
        and os.path.exists(source)
        and stat.S_ISFIFO(os.stat(source).st_mode)  # a pipe with a name, as `<(…)` of a shell is
    ):
        stream = open(source, "rb", buffering=0)  # noqa: SIM115
        pipe = _KeptStream(cast("IO[bytes]", stream), name_of(source), limits_of(source))
        weakref.finalize(pipe, stream.close)
        return pipe
    if isinstance(source, str | os.PathLike | _KeptStream | io.TextIOBase):
        return source
    return _KeptStream(source, name_of(source), limits_of(source))


def size_of(source: Source) -> int:
    """Return the bytes of a source that was read."""
    return len(source) if isinstance(source, _KeptStream) else _stamp_of(cast("str", source))[0]


def is_packed(source: Source) -> bool:
    """Return whether the content is compressed."""
    with _raw(source, name_of(source)) as raw:
        return _packing_of(_taken(raw, LOOK, name_of(source))) is not None


def chunks(source: Source, longest: int | None = None, size: int = CHUNK) -> Iterator[bytes]:
    """Yield the unpacked content, cut only after line ends; the last chunk may lack its line end.

    `longest` is the most bytes that a line may have; by default, the limit of `source`.
    """
    name, limits = name_of(source), limits_of(source)
    with _raw(source, name) as raw:
        yield from _whole_line_chunks(raw, name, limits, limits.line if longest is None else longest, size)


def _whole_line_chunks(
    raw: IO[bytes], name: str, limits: Limits, max_line: int, block_size: int
) -> Iterator[bytes]:
    """Yield the unpacked content, cut after line ends; stop after a line of more than `max_line` bytes."""
    partial_line: list[bytes] = []
    partial_size = 0
    for block in _unpacked(raw, name, limits, block_size):
        cut = block.rfind(b"\n") + 1
        if not cut:
            partial_line.append(block)
            partial_size += len(block)
            if partial_size > max_line:
                yield b"".join(partial_line)  # the reader reports the line as too long, with its number
                return
            continue
        # A memoryview is joined without a copy of its own.
        yield b"".join([*partial_line, memoryview(block)[:cut]])
        partial_line = [block[cut:]]
        partial_size = len(block) - cut
    if partial_size:
        yield b"".join(partial_line)


def head(source: Source, longest: int | None = None) -> bytes:
    """Return the first lines, for telling one kind of file from another; `longest` is as for `chunks`."""
    longest = limits_of(source).line if longest is None else longest
    return source.head(longest) if isinstance(source, File) else next(chunks(source, longest, _HEAD), b"")


def start_of_stream(stream: Any) -> bytes:
    """Return what an open stream begins with, unpacked, and leave it there; nothing if unknown."""
    start: bytes = stream.peek(2**16) if hasattr(stream, "peek") else b""
    packing = _packing_of(start)
    if packing == GZIP:
        try:
            # 31: a gzip header, and the largest window. Only the beginning is there, so an object, not
            # zlib.decompress.
            return zlib.decompressobj(wbits=31).decompress(start)
        except zlib.error:  # told in full when it is read
            return b""
    return b"" if packing else start


def start_of(source: Source) -> bytes:
    """Return what a source of JSON begins with, as far as that can be told without taking it away."""
    return first_bytes(source, limits_of(source).record)


def first_bytes(source: Source, longest: int | None = None) -> bytes:
    """Return what a source of lines begins with, as far as that can be told without taking it away."""
    if isinstance(source, File) or can_read_again(source):
        return head(source, longest).removeprefix(BOM)
    stream: Any = getattr(sys.stdin, "buffer", None) if source == STDIN else source
    if not hasattr(stream, "peek") and hasattr(stream, "seekable") and stream.seekable():
        # A stream that can be moved loses nothing by being read and put back.
        position = stream.tell()
        start = stream.read(2**16)
        stream.seek(position)
        return bytes(start).removeprefix(BOM) if isinstance(start, bytes) else b""
    return start_of_stream(stream).removeprefix(BOM) if hasattr(stream, "peek") else b""


def is_ended(source: Source) -> bool:
    """Tell whether a stream holds nothing more, where that can be told without taking anything away."""
    stream: Any = getattr(sys.stdin, "buffer", None) if source == STDIN else source
    if hasattr(stream, "peek"):
        return not stream.peek(1)
    return bool(hasattr(stream, "seekable") and stream.seekable() and not first_bytes(source))


@contextmanager
def _opened(path: str | os.PathLike[str], until: int | None = None) -> Iterator[IO[bytes]]:
    """Open a file, as it lies there, to be read anywhere in it; if it lies far away, up to `until`."""
    if is_remote(path):
        far = _remote.RemoteFile(str(path), until)
        yield cast("IO[bytes]", far)
        # Ranges of it were fetched one by one, and it may have been replaced meanwhile.
        _refuse_changes(path, far.stamp)
        return
    with (path if isinstance(path, File) else File(path)).opened() as stream:
        yield stream


def _stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """Return the size of a file, and what else tells one version of it from another."""
    if is_remote(path):
        return _remote.stamp_of(str(path))
    with _explained(path):
        status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def _refuse_changes(path: str | os.PathLike[str], stamp: Stamp) -> None:
    """Raise `FileChanged` if the file is not what it was."""
    if _stamp_of(path) != stamp:
        raise FileChanged(
            at=Place(name_of(path)),
            problem="changed while it was scored",
            remedy="score it again when it is complete",
        )


@contextmanager
def _unchanged(path: str | os.PathLike[str], stamp: Stamp) -> Iterator[None]:
    """Raise `FileChanged` if the file is another one before or after what is done, even if that fails."""
    _refuse_changes(path, stamp)
    try:
        yield
    except InputError:
        _refuse_changes(path, stamp)
        raise
    _refuse_changes(path, stamp)


@contextmanager
def _explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say the errors of opening a file as ours."""
    name = name_of(path)
    try:
        yield
    except FileNotFoundError:
        raise missing_file(name) from None
    except IsADirectoryError:
        raise InputError(at=Place(name), problem="is a directory", expected="a file") from None
    except OSError as error:
        if os.path.isdir(path):  # for which Windows says that it is not permitted
            raise InputError(at=Place(name), problem="is a directory", expected="a file") from None
        raise InputError(at=Place(name), problem=f"cannot be opened: {error.strerror}") from error


@contextmanager
def _raw(source: Source, name: str) -> Iterator[IO[bytes]]:
    if source == STDIN:
        yield sys.stdin.buffer
    elif isinstance(source, str | os.PathLike):
        with _opened(source) as stream:
            yield stream
    elif isinstance(source, _KeptStream):
        yield cast("IO[bytes]", source.opened())
    elif isinstance(source, io.TextIOBase):
        raise InputError(
            at=Place(name), problem="is open in text mode", expected="a file opened with mode 'rb'"
        )
    else:
        yield source


def _unpacked(raw: IO[bytes], name: str, limits: Limits, size: int) -> Iterator[bytes]:
    """Yield blocks of the content; a compressed stream that breaks or swells is refused."""
    counted = _Counted(raw, name)
    packing = _packing_of(counted.peek(LOOK))
    stream = unpacked(cast("IO[bytes]", counted), packing) if packing else counted
    total = 0
    while True:
        try:
            block = stream.read(size)
        except InputError:
            raise
        except MemoryError:
            raise
        # gzip, bz2, lzma and zstd raise EOFError, OSError, ValueError, LZMAError, ZstdError, …; all mean the
        # same here.
        except Exception as error:  # each of the decompressors has its own errors
            raise InputError(
                at=Place(name),
                problem=f"is truncated or damaged after {total:,} unpacked bytes: {error}",
                remedy=COPY_AGAIN,
            ) from error
        if not block:
            return
        total += len(block)
        if stream is not counted:
            refuse_bombs(name, total, counted.count, limits)
        yield block


def refuse_bombs(name: str, total: int, packed: int, limits: Limits) -> None:
    """Raise `InputError` if so many bytes are more than a file of this size may unpack to."""
    if total > limits.unpacked:
        raise InputError(
            at=Place(name),
            problem=f"unpacks to more than {limits.unpacked:,} bytes",
            remedy="raise it with --limit unpacked=…",
        )
    if _is_bomb(total, packed, limits):
        raise InputError(
            at=Place(name),
            problem=f"unpacks to more than {limits.ratio} times its size (a decompression bomb?)",
            remedy="raise it with --limit ratio=…",
        )


def _is_bomb(total: int, packed: int, limits: Limits) -> bool:
    """Return whether this is more than so many bytes may unpack to."""
    return total > _LENIENT and total > limits.ratio * packed


class _Counted(io.RawIOBase):
    """A raw stream that knows how many bytes were taken from it, and can be looked into first."""

    def __init__(self, raw: IO[bytes], name: str) -> None:
        self._raw, self._name = raw, name
        self._ahead = b""
        self.count = 0

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size:
            more = _taken(self._raw, size - len(self._ahead), self._name)
            if not more:
                break
            self._ahead += more
        return self._ahead

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        # First what was only looked at, then the stream.
        block, self._ahead = (self._ahead, b"") if size < 0 else (self._ahead[:size], self._ahead[size:])
        if size < 0 or len(block) < size:
            block += _taken(self._raw, size - len(block) if size >= 0 else -1, self._name)
        self.count += len(block)
        return block

    def readinto(self, target: Any) -> int:
        block = self.read(len(target))
        target[: len(block)] = block
        return len(block)


class Complaints:
    """What is wrong with a file: the first ten in full, the others as a count."""

    def __init__(self) -> None:
        self.shown: list[InputError] = []
        self.count = 0

    def add(self, problem: InputError) -> None:
        """Add a complaint; keep the first ones in full and count the others."""
        self.count += 1
        if len(self.shown) < _SHOWN_ERRORS:
            self.shown.append(problem)

    def error(self) -> InputError:
        """Return all complaints as one error."""
        more = self.count - len(self.shown)
        others = [InputError(problem=f"… and {more:,} more such lines")] if more else []
        return InputError.joined([*self.shown, *others])

    def raise_if_any(self) -> None:
        """Raise `InputError` with all complaints, if there are any."""
        if self.count:
            raise self.error()


def _without_bom(text: bytes, name: str) -> bytes:
    """Return the beginning of a text without its byte-order mark; `InputError` if that is one of UTF-16."""
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(
            at=Place(name, 1),
            problem="the file is UTF-16",
            expected="UTF-8",
            remedy="convert it: iconv -f UTF-16 -t UTF-8",
        )
    return text.removeprefix(BOM)


def _refuse_bom(text: bytes, name: str, first_line: int) -> None:
    """Raise `InputError` if a line begins with a byte-order mark, which would become part of an id."""
    if BOM[:1] not in text:  # looked for first, being one byte: that is ten times as fast
        return
    position = 0 if text.startswith(BOM) else text.find(b"\n" + BOM) + 1
    if position or text.startswith(BOM):
        line = first_line + text.count(b"\n", 0, position)
        raise InputError(
            at=Place(name, line),
            problem="begins with a byte-order mark",
            expected="one only at the start of the file (were files joined by cat?)",
            remedy="remove it: sed -i '2,$s/^\\xEF\\xBB\\xBF//'",
        )


def long_line(limits: Limits) -> InputError:
    """Return the error for a line that is longer than the limit."""
    return InputError(
        f"a line of more than {limits.line:,} bytes", remedy="raise the limit with --limit line=…"
    )


def _bad_bytes(content: bytes, limits: Limits) -> InputError | None:
    """Return what is wrong with the bytes of a line: too many, control bytes, not UTF-8."""
    if len(content) > limits.line:
        return long_line(limits)
    control = _CONTROL.search(content)
    if control:
        position, byte = control.start() + 1, control.group()[0]
        if byte == 13:
            return InputError(
                f"byte {position} is a carriage return inside the line",
                expected="lines that end in \\n or \\r\\n",
            )
        return InputError(
            f"byte {position} is the control byte 0x{byte:02x}",
            expected="text (is the file binary, or UTF-16?)",
        )
    try:
        content.decode()
    except UnicodeDecodeError as error:
        byte = content[error.start]
        return InputError(
            f"byte {error.start + 1} is 0x{byte:02x}, which is not UTF-8",
            remedy="convert the file (iconv -t UTF-8)",
        )
    return None


def quoted(content: bytes) -> str:
    """Return the text as an error message may show it: short, and with nothing a terminal would obey."""
    # A character has up to four bytes, and one byte more tells that there is more.
    text = content[: 4 * _LONGEST_SHOWN + 1].decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…")
