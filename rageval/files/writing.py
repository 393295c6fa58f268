"""The one way a file is written: it is there whole or not at all, and never takes an input's place.

The exception is a file that cannot be replaced: see `whole_file`. Where several processes would write, the
lock of an open file goes with the process that holds it, even when that is killed.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from rageval.errors import OutputError, UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from pathlib import Path


_STDOUT = "-"
_LINKS = 40  # symbolic links followed to see whether one of them names an open file
_OPEN_FILE = r"/(?:dev|proc/(?:self|thread-self|\d+))/fd/(\d+)"
_LONGEST_START = 40  # characters of a name with which the file begins that will take its place
_WAITS = (0.05, 0.1, 0.2, 0.3, 0.4)  # seconds
# What a disk says that cannot do what was asked, and need not.
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}


def refuse_place(path: Path, *inputs: str | os.PathLike[str]) -> None:
    """Raise `UsageError` if this is a folder, or a file that is read from."""
    _look(path)
    if not os.path.exists(path):
        return
    for other in inputs:
        if os.path.isfile(other) and os.path.samefile(path, other):
            raise UsageError(f"{visible(str(path))}: is also an input; write to another file")


def require_folder(path: Path) -> None:
    """Raise `OutputError` if a file that is to be written would lie in a folder that is not there."""
    if str(path) != _STDOUT and not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        raise OutputError(
            f"{visible(str(path))}: no such folder: {visible(os.path.dirname(path) or '.')}; make it first"
            " (mkdir -p), or write to another one"
        )


# What Windows takes for a device, whatever suffix follows.
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))]
)


_DIGITS = 8  # of the digest in a name


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return a name for a file for each id: itself where any system takes it, else what is left and a digest.

    No two ids have one name, whatever they are.

    >>> list(file_names(["bm25", "../x", "BM25", "aux.1"]).values())
    ['bm25', 'x-d6b96a97', 'BM25-9aecf153', '352597b0-aux.1']
    """
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        if name in chosen:
            continue
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60]
        is_device = plain.lower().partition(".")[0] in _DEVICES
        whole, digits = "" if is_device or plain != name else plain, 0
        # In lower case: some disks take A and a for the same name. Somebody may have chosen an id that is
        # what another one's name would be: then there is more of the digest.
        while not whole or whole.lower() in taken:
            from hashlib import sha256

            digits += _DIGITS
            digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:digits]
            whole = f"{digest}-{plain}" if is_device else f"{plain}-{digest}".strip("-")
        taken.add(whole.lower())
        chosen[name] = whole
    return chosen


@contextmanager
def whole_file(path: Path | str, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Yield a stream whose content appears under `path` when all is written, and not at all after an error.

    What is no ordinary file (`-`, `/dev/stdout`, a pipe, a device) is written to as it comes. Symbolic links
    are followed; the mode of a file that is there is kept, and so are its other names (hard links). An error
    of the file is an `OutputError` that names it; errors of whoever writes pass through as they are. A new
    file gets `mode`, but for what the umask takes away.

    A file with several names, or one that is mounted by itself (`docker run -v FILE:FILE`), cannot be
    replaced and is written over. Whoever reads it meanwhile may see a part of the new content. The new
    content is on disk in a file beside it before the first byte is overwritten. That file stays if the
    copying fails, and the error names it; after a kill or a loss of power it is there as `.NAME.….part`.
    """
    from pathlib import Path

    path = Path(path)
    present = _look(path)
    descriptor = _descriptor(path)
    if str(path) == _STDOUT or descriptor is not None or (present and not stat.S_ISREG(present.st_mode)):
        with _through(path, descriptor) as stream:
            yield stream
        return
    require_folder(path)
    with _explained(path):
        target = Path(os.path.realpath(path))
        part, raw = _begun(target, present, mode)
    stream = io.BufferedWriter(_NamedSink(raw, path))
    is_needed = False
    try:
        yield stream
        with _explained(path):
            stream.flush()
            _synced(raw.fileno())
            raw.close()
            _put(part, target, present)
    except _HalfWritten:
        is_needed = True
        raise
    finally:
        stream.raw.close()  # what is still buffered is of no use any more
        if not is_needed:
            with suppress(OSError):
                part.unlink()


def today() -> str:
    """Return the date that a file says it was written on."""
    # A build that is to be repeated says which day it is.
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return time.strftime("%Y-%m-%d", time.gmtime(int(epoch) if epoch.isdecimal() else None))


def make_folder(folder: Path) -> None:
    """Make a folder, and those it is to lie in."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{visible(str(folder))}: cannot be created: {error.strerror}") from error


def make_kept_folder(folder: Path, mode: int) -> None:
    """Make a folder of a store or a cache, and those it is to lie in, all with this mode; `OSError` if not.

    With `mkdir(parents=True)` those it is to lie in would be everybody's to write under a lax umask.
    """
    for needed in reversed([folder, *folder.parents]):
        if not needed.is_dir():
            needed.mkdir(mode=mode, exist_ok=True)


@contextmanager
def others_cannot_write() -> Iterator[None]:
    """Let no other user write what is made meanwhile, however lax the umask: the caches of a library."""
    if os.name != "posix":  # only there a file has such rights
        yield
        return
    before = os.umask(0o022)
    os.umask(before | 0o022)
    try:
        yield
    finally:
        os.umask(before)


def opener_of(mode: int) -> Callable[[str, int], int]:
    """Return an `opener` for `open` that makes files with this mode, but for what the umask takes away."""
    return lambda name, flags: os.open(name, flags, mode)


def write_lines(path: Path, lines: Iterable[str], *, makes_folder: bool = True) -> None:
    """Write lines to a file, whole or not at all; by default make the folders it is to lie in."""
    if makes_folder:
        make_folder(path.parent)
    with whole_file(path) as stream:
        for line in lines:
            stream.write(line.encode() + b"\n")


class _NamedSink(io.RawIOBase):
    """A stream whose errors name the file, so that nobody takes them for those of another."""

    def __init__(self, raw: Any, path: Path, owned: bool = True) -> None:
        self._raw, self._path, self._owned = raw, path, owned

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        with _explained(self._path):
            return int(self._raw.write(data))

    def close(self) -> None:
        super().close()
        if self._owned:
            with suppress(OSError):
                self._raw.close()


class _HalfWritten(OutputError):
    """A file could not be written over to its end; the complete content is in another one."""


class _PipeClosed(OutputError):
    """Whoever read from standard output has seen enough (`| head`)."""


def reader_left(error: OSError) -> bool:
    """Tell whether this is the error of a pipe that nobody reads any more, for which Windows has another."""
    return error.errno == errno.EPIPE or (sys.platform == "win32" and error.errno == errno.EINVAL)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        kind = _PipeClosed if reader_left(error) else OutputError
        raise kind(f"{visible(str(path))}: cannot be written: {error.strerror or error}") from error


def _look(path: Path) -> os.stat_result | None:
    """Return what is there now; a folder is refused."""
    with _explained(path):
        try:
            present = path.stat()
        except FileNotFoundError:
            return None
    if stat.S_ISDIR(present.st_mode):
        raise UsageError(f"{visible(str(path))}: is a folder, expected a file to write to")
    return present


def _descriptor(path: Path) -> int | None:
    """Return the open file that such as /dev/stdout stands for: opened again, it would begin at its start."""
    place = os.path.abspath(path)
    for _ in range(_LINKS):
        if match := re.fullmatch(_OPEN_FILE, place):
            return int(match[1])
        try:
            # Step by step: a name on the way may be an open file, which no further path leads to.
            link = os.readlink(place)
        except OSError:
            return None
        place = os.path.normpath(os.path.join(os.path.dirname(place), link))
    return None


@contextmanager
def _through(path: Path, descriptor: int | None) -> Iterator[IO[bytes]]:
    """Yield a stream to what is no ordinary file; standard output may be closed by its reader early."""
    with _explained(path):
        raw, standard = _opened(path, descriptor)
    stream = io.BufferedWriter(_NamedSink(raw, path, owned=raw is not getattr(sys.stdout, "buffer", None)))
    try:
        yield stream
        stream.flush()
    except _PipeClosed:
        if not standard:
            raise
    finally:
        stream.raw.close()


def _opened(path: Path, descriptor: int | None) -> tuple[Any, bool]:
    """Open it; return whether it is standard output, too, with what was printed before in front."""
    if str(path) != _STDOUT and descriptor is None:
        return path.open("wb", buffering=0), False
    if sys.stdout is not None:
        sys.stdout.flush()
    elif str(path) == _STDOUT:
        raise OutputError("standard output is closed; cannot print the result")
    if str(path) == _STDOUT:
        try:
            descriptor = sys.stdout.fileno()
        except OSError:  # somebody collects it
            return sys.stdout.buffer, True
    return os.fdopen(os.dup(descriptor or 0), "wb", buffering=0), descriptor == 1


def _begun(target: Path, present: os.stat_result | None, mode: int) -> tuple[Path, io.FileIO]:
    """Begin a new file beside the target, under a name that no other run has."""
    if present is not None:
        os.close(os.open(target, os.O_WRONLY))  # what is protected may not be replaced either
    part = target.with_name(f"{_start_of_part(target)}{os.urandom(8).hex()}.part")
    # Private until it has the mode of the file that it replaces: who opens it before could read on.
    raw = open(part, "xb", buffering=0, opener=opener_of(mode if present is None else 0o600))  # noqa: SIM115
    if present is not None:
        try:
            _take_mode(raw, present, mode)
        except BaseException:
            raw.close()
            part.unlink()
            raise
    return part, raw


def _take_mode(raw: io.FileIO, present: os.stat_result | None, mode: int) -> None:
    """Give a file owner, group and mode of the one that it will replace; Windows knows none of them."""
    if hasattr(os, "fchown"):
        if present is not None:
            with suppress(PermissionError):  # only root may give files away
                os.fchown(raw.fileno(), present.st_uid, present.st_gid)
            mode = stat.S_IMODE(present.st_mode)
        os.fchmod(raw.fileno(), mode)


def _start_of_part(target: Path) -> str:
    return f".{target.name[:_LONGEST_START]}."


def remove_parts(target: Path) -> None:
    """Remove what writers of this file left half written when they were killed.

    Only who knows that nobody else writes the file may do so.
    """
    # Of longer names the start may be that of another file, whose writer is at work.
    if len(target.name) > _LONGEST_START:
        return
    pattern = re.compile(re.escape(_start_of_part(target)) + r"[0-9a-f]{16}\.part")
    with suppress(OSError):
        for name in os.listdir(target.parent):
            if pattern.fullmatch(name):
                (target.parent / name).unlink()


def _put(part: Path, target: Path, present: os.stat_result | None) -> None:
    """Move what is written into its place, or copy it there where moving would part two names of one file."""
    if present is not None and present.st_nlink > 1:
        _copy_over(part, target)
        return
    try:
        put(part, target)
    except OSError as error:
        if error.errno != errno.EBUSY:  # a single file that is mounted into a container
            raise
        _copy_over(part, target)
        return
    _sync_folder(target.parent)


def put(part: Path, target: Path) -> None:
    """Move a file that is whole into its place.

    On Windows nobody may have it open meanwhile, and virus scanners and indexers open what is new: there it
    is tried for a second.
    """
    for wait in _WAITS if sys.platform == "win32" else ():
        try:
            part.replace(target)
        except PermissionError:
            time.sleep(wait)
        else:
            return
    part.replace(target)


def _copy_over(part: Path, target: Path) -> None:
    """Copy into a file that stays the same file; room is made first, so that a full disk changes nothing."""
    from shutil import copyfileobj

    # The content is synced, and now the name of the copy is: it is found after whatever happens below.
    _sync_folder(target.parent)

    with part.open("rb") as source, target.open("r+b") as sink:
        before, size = os.fstat(sink.fileno()).st_size, os.fstat(source.fileno()).st_size
        if size > before and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(sink.fileno(), 0, size)
            except OSError:
                sink.truncate(before)
                raise
        try:
            copyfileobj(source, sink)
            sink.truncate(size)
            sink.flush()
            _synced(sink.fileno())
        except OSError as error:
            raise _HalfWritten(
                f"{visible(str(target))}: cannot be written: {error.strerror or error};"
                f" the complete content is in {visible(str(part))}"
            ) from error


def _synced(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def _sync_folder(folder: Path) -> None:
    """Let the new name outlive a loss of power, where folders can be synced."""
    if os.name != "posix":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        _synced(descriptor)
    finally:
        os.close(descriptor)


_LOCK_PAUSE = 0.2  # seconds between two tries to take a lock
_TAKEN = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}


def lock(descriptor: int, wait: bool) -> bool:
    """Take the lock of an open file; return whether it is taken, or another process has it.

    Any other `OSError` says that this disk has no locks.
    """
    if sys.platform == "win32":
        import msvcrt

        while True:
            try:
                os.lseek(descriptor, 0, os.SEEK_SET)  # a byte is locked there, the one that is next
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
                if not wait:
                    return False
                time.sleep(_LOCK_PAUSE)
            else:
                return True
    else:
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as error:
            if wait or error.errno not in _TAKEN:
                raise
            return False
        return True


def unlock(descriptor: int) -> None:
    """Give the lock of an open file back."""
    if sys.platform == "win32":
        import msvcrt

        # The byte that was locked.
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)
