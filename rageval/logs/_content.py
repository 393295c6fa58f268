"""What a log holds, whatever its form: records of JSON lines, of one JSON value, of CSV, Parquet or a zip.

A log is told by its content, and what lies in it is decoded as far as somebody looks. Nothing of it is run,
and nothing of a zip is unpacked to the disk.
"""

from __future__ import annotations

import csv
import io
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import IO, Any, cast

import msgspec

from rageval.errors import InputError, MissingPackage, Place
from rageval.files import columnar
from rageval.files.jsonl import explained, plain_json, read_values, repeated_in, repeated_key
from rageval.files.opening import (
    BOM,
    COPY_AGAIN,
    ZSTD,
    Limits,
    Source,
    chunks,
    head,
    is_columnar,
    kept,
    limits_of,
    name_of,
    unpacked,
)
from rageval.text import visible

_BLANKS = b" \t\r\n"
_NULL = b"null"  # for numbers that JSON does not know
_ZIP = b"PK\x03\x04"
_ENTRY = b"PK\x01\x02"  # what each entry of a list of members begins with
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_LOCAL = struct.Struct("<4s22xHH")  # of a member: signature, lengths of its name and of what else is said
_ENCRYPTED = 1
_MARKS = {",": "commas", ";": "semicolons", "\t": "tabs"}  # between the cells of a table
_LOOK = 2**10  # bytes in which a value begins
_LENIENT = 2**20  # bytes that a member may unpack to whatever its ratio
_levels = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Record:
    """A value of a log and where it stands, decoded as far as somebody looks.

    >>> record = Record.of({"a": {"b": [1, 2]}}, Place("log.json"))
    >>> [each.value() for each in record.get("a").get("b").each()], record.get("c")
    ([1, 2], None)
    """

    __slots__ = ("_is_checked", "_raw", "_value", "where")

    def __init__(self, raw: bytes | msgspec.Raw, where: Place, is_checked: bool = False) -> None:
        """Take a value of JSON; `is_checked`, if it is known that no object in it names a key twice."""
        self._is_checked = is_checked
        self._raw = memoryview(raw)  # so that what is within copies nothing
        self._value: Any = msgspec.UNSET
        self.where = where

    @classmethod
    def of(cls, value: Any, where: Place) -> Record:
        """Return a record of what is decoded already."""
        record = cls.__new__(cls)  # has no text
        record._value, record.where = value, where
        return record

    def keys(self) -> list[str]:
        """Return the names of an object's fields; none of anything else."""
        return list(self._fields())

    def get(self, name: str) -> Record | None:
        """Return a field of an object; None where there is none."""
        field = self._fields().get(name, msgspec.UNSET)
        if field is msgspec.UNSET:
            return None
        # `log.json: a.b`: the first name stands behind the file, the further ones behind dots.
        where = replace(self.where, inside=f"{self.where.inside}.{name}" if self.where.inside else name)
        is_raw = isinstance(field, msgspec.Raw)
        return Record(field, where, self._is_checked) if is_raw else Record.of(field, where)

    def at(self, *names: str) -> Record | None:
        """Return a field of a field …; None where there is none."""
        record: Record | None = self
        for name in names:
            record = record.get(name) if record is not None else None
        return record

    def each(self) -> Iterator[Record]:
        """Yield what a list holds; nothing of anything else."""
        if self._value is not msgspec.UNSET:
            items = self._value if isinstance(self._value, list) else []
        else:
            items = self._decoded(_items) if self._begins(b"[") else []
        for number, item in enumerate(items):
            where = replace(self.where, inside=f"{self.where.inside}[{number}]")
            is_raw = isinstance(item, msgspec.Raw)
            yield Record(item, where, self._is_checked) if is_raw else Record.of(item, where)

    def object(self) -> dict[str, Any]:
        """Return the fields of an object; `InputError` where it is anything else."""
        fields = self.value()
        if not isinstance(fields, dict):
            raise InputError(at=self.where, expected="an object as a record", found=f"{fields!r:.60}")
        return fields

    def value(self) -> Any:
        """Return the whole value; `InputError` where it is no JSON, or an object names a key twice."""
        if self._value is msgspec.UNSET:
            value = self._decoded(msgspec.json.decode)
            if not self._is_checked and (key := repeated_in(bytes(self._raw), [value])) is not None:
                raise repeated_key(visible(key)[:80]).located(self.where)
            return value  # not kept: records are many, and each is looked at once
        return self._value

    def _fields(self) -> dict[str, Any]:
        if self._value is not msgspec.UNSET:
            return self._value if isinstance(self._value, dict) else {}
        return self._decoded(_levels) if self._begins(b"{") else {}

    def _begins(self, bracket: bytes) -> bool:
        return bytes(self._raw[:_LOOK]).lstrip(_BLANKS)[:1] == bracket

    def _decoded(self, decode: Callable[[Any], Any]) -> Any:
        try:
            return decode(self._raw)
        except (ValueError, RecursionError) as error:
            raise explained(error, bytes(self._raw), "JSON").located(self.where) from None


@dataclass
class Content:
    """A log that is open: how it is written, its first record, and all of them."""

    name: str
    form: str  # lines, value, csv, parquet, zip
    first: Record
    records: Callable[[], Iterator[Record]]
    members: list[str] = field(default_factory=list)  # of a zip
    member: Callable[[str], Record] | None = None

    @property
    def is_table(self) -> bool:
        """Whether the records are rows of a table, whose cells are texts and numbers."""
        return self.form in ("csv", "parquet")


def opened(source: Source) -> Content:
    """Tell how a log is written by its first bytes, and look at its first record."""
    name, source = visible(name_of(source)), kept(source)
    if is_columnar(source):
        return _table_content(name, "parquet", lambda: columnar.plain_rows(source))
    start = head(source, limits_of(source).record).removeprefix(BOM)
    if start.startswith(_ZIP):
        return _zip(source, name)
    first = start.lstrip(_BLANKS)[:1]
    if first == b"{":
        try:
            _raw(start.lstrip(_BLANKS).partition(b"\n")[0])
        except (ValueError, RecursionError):
            pass  # an object that goes on in the next line
        else:

            def records() -> Iterator[Record]:
                for line, value in read_values(source, _raw, "a record of a log"):
                    where = Place(name, line)
                    if isinstance(value, dict):
                        yield Record.of(value, where)
                    else:
                        yield Record(value.copy(), where, is_checked=True)

            one = next(records())
            return (
                _value_content(source, name)
                if set(one.keys()) in _SPLIT
                else Content(name, "lines", one, records)
            )
    if first == b"{" and _are_several(source):

        def objects() -> Iterator[Record]:
            for line, text in _objects(source):
                try:
                    yield Record(_raw(text).copy(), Place(name, line))
                except (ValueError, RecursionError) as error:
                    problem = explained(error, text[:400], "a record of a log")
                    raise problem.located(Place(name, line)) from None

        return Content(name, "lines", next(objects()), objects)
    if first in (b"{", b"["):
        return _value_content(source, name)
    if not start.strip():
        raise InputError(at=Place(name), problem="is empty", expected="a log")
    return _table_content(name, "csv", lambda: _csv_rows(source, name))


def _raw(line: bytes) -> msgspec.Raw:
    # Numbers that are none become null; "NaN" within a text is a word, and stays.
    return msgspec.json.decode(plain_json(line, _NULL), type=msgspec.Raw)


# What ends an object that is written over several lines: a bracket that begins a line, alone.
_END = re.compile(rb"^\}[ \t\r]*$", re.MULTILINE)


def _objects(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield (line, text) of objects over several lines, one after another, as OpenTelemetry prints spans."""
    most = limits_of(source).record
    parts: list[bytes] = []  # of an object that is not yet whole
    line = 1
    for chunk in chunks(source, most):
        begin = 0
        for end in _END.finditer(chunk):
            text = b"".join([*parts, chunk[begin : end.end()]])
            body = text.removeprefix(BOM).lstrip()
            yield line + text[: len(text) - len(body)].count(b"\n"), body
            line += text.count(b"\n")
            parts, begin = [], end.end()
        parts.append(chunk[begin:])
        if sum(map(len, parts)) > most:
            break
    if body := b"".join(parts).strip():
        yield line + 1, body


def _are_several(source: Source) -> bool:
    """Tell whether another object follows the first; brackets of one that is not indented end no object."""
    objects = _objects(source)
    try:
        _raw(next(objects)[1])
    except (ValueError, RecursionError):
        return False
    return next(objects, None) is not None


def _value_content(source: Source, name: str) -> Content:
    """Read one value of JSON that fills the file; an array is its records, and so are rows of a table."""
    text = plain_json(_all_of(source, name, limits_of(source).record), _NULL)
    whole = Record(text, Place(name))
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (ValueError, RecursionError) as error:
        # Only in its words does the error say at which byte; people look for a line.
        digits = str(error).rpartition("(byte ")[2].rstrip(")")
        place = int(digits) if digits.isascii() and digits.isdigit() else len(text)
        begin = text.rfind(b"\n", 0, place) + 1
        line, number = text[begin : begin + 400].partition(b"\n")[0], text.count(b"\n", 0, place) + 1
        raise explained(error, line, "a log").located(Place(name, number)) from None
    is_list = text.lstrip(_BLANKS)[:1] == b"["
    first = next(whole.each(), None) if is_list else whole
    if first is None:
        raise InputError(at=Place(name), problem="holds no record", expected="a log")
    if not is_list and set(whole.keys()) in _SPLIT:
        # A table that names its columns once.
        rows: list[Record] = []
        columns, data = whole.get("columns"), whole.get("data")
        names = columns.value() if columns else None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InputError(at=whole.where, expected="column names", found=f"{names!r:.80}")
        for row in data.each() if data else ():
            cells = row.value()
            if not isinstance(cells, list) or len(cells) != len(names):
                raise InputError(at=row.where, expected=f"{len(names)} cells", found=f"{cells!r:.80}")
            rows.append(Record.of(dict(zip(names, cells, strict=True)), row.where))
        return Content(name, "value", rows[0] if rows else whole, lambda: iter(rows))
    return Content(name, "value", first, whole.each if is_list else lambda: iter([whole]))


_SPLIT = ({"columns", "data"}, {"columns", "index", "data"})  # what pandas calls `orient="split"`


def _all_of(source: Source, name: str, most: int) -> bytes:
    parts, size = [], 0
    for part in chunks(source, most):
        size += len(part)
        if size > most:
            raise InputError(
                at=Place(name),
                problem=f"is one value of more than {most:,} bytes",
                remedy="raise the limit with --limit record=… (it must fit into memory), or log as JSON"
                " lines",
            )
        parts.append(part)
    return b"".join(parts).removeprefix(BOM)


def _table_content(name: str, form: str, rows: Callable[[], Iterator[tuple[int, dict[str, Any]]]]) -> Content:
    def records() -> Iterator[Record]:
        for number, row in rows():
            yield Record.of(row, Place(name, number))

    first = next(records(), None)
    if first is None:
        raise InputError(at=Place(name), problem="holds no rows", expected="a log")
    return Content(name, form, first, records)


def _csv_rows(source: Source, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, row) of a CSV file with a header; rows without anything in them are none."""
    limits = limits_of(source)
    csv.field_size_limit(limits.record)  # the module's own is 131,072 characters a cell
    lines = _text_lines(source, name)
    first = next(lines, "")
    # Where Excel writes decimal commas it parts cells by semicolons: what parts the most cells of the header,
    # and the first of equal ones. A header that is none is refused when it is read.
    mark = next(iter(_MARKS))
    with suppress(csv.Error):
        counts = {separator: len(next(csv.reader([first], delimiter=separator), [])) for separator in _MARKS}
        mark = max(counts, key=lambda separator: counts[separator])
    reader = csv.reader(chain([first], lines), delimiter=mark, strict=True)
    line = 1
    try:
        header = [cell.strip() for cell in next(reader, [])]
        columnar.refuse_columns(name, len(header), limits)
        if not _REPEATING.isdisjoint(header):
            # What stands there again gets a number behind it, as pandas reads it.
            seen: Counter[str] = Counter()
            for index, cell in enumerate(header):
                header[index] = f"{cell}.{seen[cell]}" if cell and seen[cell] else cell
                seen[cell] += 1
        named = [cell for cell in header if cell]
        if len(set(named)) < len(named):
            raise InputError(
                at=Place(name, 1), problem=f"a column appears twice in the header: {', '.join(header)[:200]}"
            )
        # A cell may hold line ends: a row begins behind the last line of the one before.
        line = reader.line_num + 1
        for row in reader:
            if row and len(row) != len(header):
                between = f"(cells are separated by {_MARKS[mark]}, as in the header)"
                raise InputError(
                    at=Place(name, line), expected=f"{len(header)} cells", found=f"{len(row)} {between}"
                )
            if any(map(str.strip, row)):
                yield line, dict(zip(header, row, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            # A quote that stays open is told by its row, not by the end of the file.
            at=Place(name, line),
            problem=f"is not CSV ({error}), nor any other known log",
            remedy="write it again, as CSV, JSON or JSON lines",
        ) from None


# Columns of tools whose tables repeat names: promptfoo's for each system, and the index of Phoenix's frames.
_REPEATING = frozenset(("Named Scores", "context.span_id"))


def _text_lines(source: Source, name: str) -> Iterator[str]:
    number = 1
    for part in chunks(source, limits_of(source).record):
        part = part.removeprefix(BOM) if number == 1 else part
        try:
            # Within quotes, line ends are a part of the cell, and stay as they are.
            yield from io.StringIO(part.decode(), newline="\n")
        except UnicodeDecodeError as error:
            line = number + part.count(b"\n", 0, error.start)
            raise InputError(
                at=Place(name, line),
                problem="is neither JSON nor text in UTF-8",
                expected="a log (JSON, JSON lines, CSV, Parquet or .eval)",
                remedy="of a table, save it as CSV in UTF-8, or convert it (iconv -t UTF-8)",
            ) from None
        number += part.count(b"\n")


def _zip(source: Source, name: str) -> Content:
    """Look into a zip; its members are read one by one, in memory, and their names are no paths to us."""
    limits = limits_of(source)
    content = _all_of(source, name, limits.unpacked)
    # Counted by their marks before they are listed, as a list takes many times the memory.
    number = content.count(_ENTRY)
    if number > limits.entries:
        raise InputError(
            at=Place(name),
            expected=f"a zip of at most {limits.entries:,} entries",
            found=f"{number:,}",
            remedy="raise the limit with --limit entries=…",
        )
    packed = io.BytesIO(content)
    try:
        infos = {info.filename: info for info in zipfile.ZipFile(packed).infolist()}
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise InputError(
            at=Place(name), problem=f"is not a complete zip ({error})", remedy=COPY_AGAIN
        ) from None
    for member in infos:
        parts = member.replace("\\", "/").split("/")
        if ".." in parts or member.startswith(("/", "\\")) or ":" in parts[0]:
            raise InputError(
                at=Place(name),
                problem=f"a member is called {visible(member)[:80]!r}, which leads out of the zip",
            )

    def read(member: str) -> Record:
        where = Place(name, inside=visible(member)[:120])
        if member not in infos:
            raise InputError(at=Place(name), problem=f"holds no {member}", expected="one")
        return Record(plain_json(_member(packed, infos[member], where, limits), _NULL), where)

    return Content(name, "zip", Record.of({}, Place(name)), lambda: iter(()), list(infos), read)


def _member(packed: IO[bytes], info: zipfile.ZipInfo, where: Place, limits: Limits) -> bytes:
    """Return a member's content. `zipfile` itself knows Zstandard from Python 3.14 on only."""
    # Of a damaged directory the offset may be before the file.
    packed.seek(max(info.header_offset, 0))
    local = packed.read(_LOCAL.size)
    if (
        info.header_offset < 0
        or len(local) < _LOCAL.size
        or not local.startswith(_ZIP)
        or info.flag_bits & _ENCRYPTED
    ):
        raise InputError(at=where, problem="is damaged or encrypted", remedy=COPY_AGAIN)
    _, name, extra = _LOCAL.unpack(local)
    packed.seek(name + extra, io.SEEK_CUR)
    raw = packed.read(info.compress_size)
    most = min(limits.record, max(_LENIENT, len(raw) * limits.ratio))
    # A byte more than is allowed, to be told from as many as are.
    try:
        if info.compress_type == _STORED:
            content = raw
        elif info.compress_type == _DEFLATED:
            content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(raw, most + 1)
        elif info.compress_type == _ZSTANDARD:
            content = unpacked(cast("IO[bytes]", io.BytesIO(raw)), ZSTD).read(most + 1)
        else:
            content = None  # a method that is none of these
    except MissingPackage as error:
        raise InputError(at=where, problem=str(error), remedy="or log as JSON") from None
    except Exception as error:  # each of the packages has errors of its own
        raise InputError(
            at=where, problem=f"cannot be unpacked ({error!s:.200})", remedy=COPY_AGAIN
        ) from None
    if content is None:
        raise InputError(
            at=where,
            problem=f"is compressed with method {info.compress_type}",
            expected="deflate or Zstandard",
        )
    if len(content) > most:
        raise InputError(
            at=where,
            problem=f"unpacks to more than {most:,} bytes, {limits.ratio} times its size or the limit"
            " of a record",
            remedy="if it is no attack, raise --limit ratio=… and record=…",
        )
    if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
        raise InputError(
            at=where, problem="is damaged: its checksum is not that of its content", remedy=COPY_AGAIN
        )
    return content
