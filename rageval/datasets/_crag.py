"""CRAG as it is published: JSON lines in bz2, for task 3 in a tar.bz2 that was cut into parts."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, Any, Self, cast

import msgspec

from rageval.datasets._reader import _LENIENT, Reader
from rageval.datasets._records import CragQuery, WebPage
from rageval.errors import InputError, Place
from rageval.files.jsonl import Id, read_records
from rageval.files.opening import BZIP2, COPY_AGAIN, File, Source, limits_of, unpacked, with_limits
from rageval.files.questions import read_questions, words
from rageval.records import Question

_EXPECTED = "CRAG questions {interaction_id, search_results: [{page_name, page_url, page_result, …}]}"


class _Page(msgspec.Struct):
    page_name: str | None = None
    page_url: str | None = None
    page_snippet: str | None = None
    page_result: str | None = None
    page_last_modified: str | int | float | None = None


class _Pages(msgspec.Struct):
    interaction_id: Id
    search_results: list[_Page] = []


def _sources(paths: Sequence[File], stack: ExitStack) -> Iterator[Source]:
    """Yield the JSON lines of these files: as they are, or out of an archive in one or more parts."""
    # Parts are called x.tar.bz2.part1 and so on; only together they are an archive.
    if ".tar" not in "".join(os.path.basename(path) for path in paths):
        yield from paths
        return
    packed = stack.enter_context(_open_joined(paths))
    # Nothing is extracted, so where a member says it belongs does not matter.
    has_member = False
    try:
        # "r|": in one pass, as the parts cannot be gone back in.
        with tarfile.open(fileobj=cast("Any", _Unpacked(packed)), mode="r|", tarinfo=_Member) as archive:
            for member in archive:
                if member.size < 0:  # said by a header of POSIX, which is read later
                    raise tarfile.ReadError(f"a member states a size of {member.size:,} bytes")
                name = member.name.rpartition("/")[2]
                # Archives made on a Mac hold twins "._name", which are no data.
                if member.isreg() and name.endswith(".jsonl") and not name.startswith("."):
                    has_member = True
                    stream = archive.extractfile(member)
                    if stream is None:
                        raise InputError(
                            at=Place(packed.name, inside=name), expected="a file", found=f"{member.type!r}"
                        )
                    yield with_limits(_NamedMember(stream, f"{packed.name}:{name}"), packed.limits)
    except (tarfile.TarError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            at=Place(packed.name),
            problem=f"is damaged or not a tar.bz2 file: {error}",
            remedy=COPY_AGAIN,
        ) from None
    if not has_member:
        raise InputError(at=Place(packed.name), expected="a file *.jsonl in the archive", found="none")


def questions(paths: Sequence[File]) -> Iterator[Question]:
    """Yield the questions; the web pages, nearly all of the bytes, are skipped without being built."""
    with ExitStack() as stack:
        for source in _sources(paths, stack):
            yield from read_questions(source)


def documents(paths: Sequence[File]) -> Iterator[WebPage]:
    """Yield the web pages, each called after its question and its place among the results, from 0."""
    with ExitStack() as stack:
        for source in _sources(paths, stack):
            for _, line in read_records(source, _Pages, _EXPECTED):
                for position, page in enumerate(line.search_results):
                    yield WebPage(
                        f"{line.interaction_id}/{position}",
                        page.page_result or "",
                        page.page_name or "",
                        page.page_url or "",
                        page.page_snippet or "",
                        "".join(words(page.page_last_modified)),
                    )


def query(question: Question) -> CragQuery:
    """Return the question as ir_datasets hands it out."""
    facts = dict(question.facts)
    values = [facts.get(name, "") for name in CragQuery._fields[4:]]
    return CragQuery(question.query_id, question.text, "".join(question.gold[:1]), question.gold[1:], *values)


READER = Reader(
    {"questions": questions, "documents": documents},
    {"documents": "questions"},
    WebPage,
    CragQuery,
    query,
    lambda page: str(page.doc_id.rpartition("/")[0]),
)


_CHUNK = 2**18
_MOST_ENDS = 100
_LONGEST_EXTENSION = 2**20  # bytes of a long name, or of other fields that a member has in an archive


class _JoinedParts(io.RawIOBase):
    """Files one after the other as if they were one."""

    def __init__(self, paths: Sequence[File]) -> None:
        self.name, self.limits = str(paths[0]), limits_of(paths[0])
        self.count = 0
        self._rest = list(paths)
        self._stream: IO[bytes] | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while self._stream is not None or self._rest:
            if self._stream is None:
                self._stream = open(self._rest.pop(0), "rb")  # noqa: SIM115
            # A short read is fine: whoever reads asks again.
            block = self._stream.read(len(target))
            if block:
                target[: len(block)] = block
                # How much was read so far, packed: what it unpacks to is held against it.
                self.count += len(block)
                return len(block)
            self._stream.close()
            self._stream = None
        return 0

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        super().close()


@contextmanager
def _open_joined(paths: Sequence[File]) -> Iterator[_JoinedParts]:
    """Open the parts of a file as one stream."""
    try:
        with _JoinedParts(paths) as stream:
            yield stream
    except OSError as error:
        # Errors of whoever consumes the stream come through here, and are not of our files.
        if isinstance(error, InputError) or error.filename is None:
            raise
        raise InputError(at=Place(error.filename), problem=f"cannot be read: {error.strerror}") from None


class _Unpacked:
    """What bz2 makes of a stream, refused when it swells beyond measure; all that tarfile needs of a file."""

    def __init__(self, packed: _JoinedParts) -> None:
        self._packed, self._limits = packed, packed.limits
        self._stream = unpacked(cast("IO[bytes]", packed), BZIP2)
        self._total = self._ends = 0

    def read(self, size: int) -> bytes:
        blocks = []
        while size > 0:
            try:
                block = self._stream.read(min(size, _CHUNK))
            except (OSError, EOFError, ValueError) as error:
                raise InputError(
                    at=Place(self._packed.name),
                    problem=f"is truncated or damaged after {self._total:,} unpacked bytes: {error}",
                    remedy=COPY_AGAIN,
                ) from error
            if not block:
                self._refuse_no_end()
                break
            self._total += len(block)
            size -= len(block)
            most = max(_LENIENT, self._limits.ratio * self._packed.count)
            if self._total > min(most, self._limits.unpacked):
                raise InputError(
                    at=Place(self._packed.name),
                    problem=f"unpacks to {self._total:,} bytes and more (a decompression bomb?)",
                    remedy="raise it with --limit ratio=… or unpacked=…",
                )
            blocks.append(block)
        return b"".join(blocks)

    def _refuse_no_end(self) -> None:
        """Raise `InputError` if the end is read again and again: tarfile skips any size that is stated."""
        self._ends += 1
        if self._ends > _MOST_ENDS:
            raise InputError(
                at=Place(self._packed.name),
                problem="is truncated or damaged: a member states more bytes than there are",
                remedy=COPY_AGAIN,
            )


class _Member(tarfile.TarInfo):
    """A member whose size is checked before it is used: a header can state any number, also one below 0."""

    @classmethod
    def frombuf(cls, *arguments: Any, **keywords: Any) -> Self:
        """Read a header; `TarError` for a size that no member has."""
        member = super().frombuf(*arguments, **keywords)
        # Long names and other extensions are read whole, whatever size they state.
        if member.size < 0 or (member.type not in tarfile.REGULAR_TYPES and member.size > _LONGEST_EXTENSION):
            raise tarfile.ReadError(f"a member states a size of {member.size:,} bytes")
        return member


class _MemberBytes(io.RawIOBase):
    """What a member holds; where the archive ends before it does is an error of the file."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream, self._name = stream, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return int(self._stream.readinto(buffer))
        except tarfile.TarError as error:
            raise InputError(
                at=Place(self._name), problem=f"is truncated or damaged: {error}", remedy=COPY_AGAIN
            ) from None


class _NamedMember(io.BufferedReader):
    """A member that errors can name."""

    def __init__(self, stream: Any, name: str) -> None:
        super().__init__(_MemberBytes(stream, name))
        self._name = name

    @property
    def name(self) -> str:
        return self._name
