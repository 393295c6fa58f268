"""JSON lines: each line read into the type a format declares, or explained with file and line.

A format is a `msgspec.Struct`: fields that are not declared are skipped without being built, which is what
keeps a file of large records small in memory and fast to read.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, TypeVar

import msgspec

from rageval.errors import InputError
from rageval.files.keys import REPEATED, Shape, repeated_keys
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Findings, Source, chunks, name_of, quoted, refuse_bom, without_bom
from rageval.text import visible

Record = TypeVar("Record")
_HALF = re.compile(rb"\\u[dD][89abAB]\w\w(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]\w\w)\\u[dD][c-fC-F]\w\w")
_UTF8_BOM = b"\xef\xbb\xbf"


def read_records(
    source: Source, form: type[Record], expected: str, limits: Limits = DEFAULT
) -> Iterator[tuple[int, Record]]:
    """(line number, record) of every line that is not blank; `expected` names the format in errors.

    The bad lines of a stretch of the file are reported together, the first ten in full.
    """
    decode = msgspec.json.Decoder(form).decode
    return decoded(source, decode, lambda error, line: explained(error, line, expected), limits)


def decoded(
    source: Source,
    decode: Callable[[bytes], Record],
    explain: Callable[[Exception, bytes], str],
    limits: Limits = DEFAULT,
) -> Iterator[tuple[int, Record]]:
    """What `decode` makes of every line that is not blank; `explain` says what is wrong with one."""
    name = name_of(source)
    for first_line, text in stretches(source, limits):
        refuse_repeated_keys(name, first_line, text)
        yield from _one_by_one(name, first_line, text, decode, explain)


def read_batches(
    source: Source, form: type[Record], expected: str, limits: Limits = DEFAULT
) -> Iterator[tuple[Sequence[int], Sequence[Record]]]:
    """(line numbers, records) of stretches of the file: what `read_records` gives, faster for small ones.

    A stretch is decoded at once; unless that gives one record a line, it is read again line by line.
    """
    decoder, shape = msgspec.json.Decoder(form), Shape(form)
    name = name_of(source)
    for first_line, text in stretches(source, limits):
        plain = shape.records(text)
        if plain is not None:
            yield range(first_line, first_line + len(plain)), plain
            continue
        try:
            records = decoder.decode_lines(text)
        except (ValueError, RecursionError):
            records = []
        refuse_repeated_keys(name, first_line, text, records if form == dict[str, Any] else ())
        shape.learn(text)
        lines = text.count(b"\n") + (not text.endswith(b"\n"))
        if len(records) == lines == text.count(b"\n{") + text.startswith(b"{"):
            yield range(first_line, first_line + lines), records
            continue
        found = _one_by_one(
            name, first_line, text, decoder.decode, lambda error, line: explained(error, line, expected)
        )
        pairs = list(found)
        if not pairs:
            continue
        yield [number for number, _ in pairs], [record for _, record in pairs]


def refuse_repeated_keys(name: str, first_line: int, text: bytes, records: Sequence[Any] = ()) -> None:
    """`InputError` for lines with an object that names a key twice: nobody knows which one is meant."""
    findings = Findings()
    for number, key in repeated_keys(text, records):
        findings.add(f"{name}:{first_line + number}: {REPEATED.format(visible(key)[:80])}")
    findings.raise_if_any()


def _one_by_one(
    name: str,
    first_line: int,
    text: bytes,
    decode: Callable[[bytes], Record],
    explain: Callable[[Exception, bytes], str],
) -> Iterator[tuple[int, Record]]:
    findings = Findings()
    for number, line in enumerate(text.split(b"\n"), first_line):
        try:
            record = decode(line)
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            if line.strip():
                findings.add(f"{name}:{number}: {explain(error, line)}")
            continue
        if not findings.count:
            yield number, record
    findings.raise_if_any()


def in_memory(records: Iterable[Any], name: str) -> IO[bytes]:
    """Records as a file of this name."""
    return _Named(b"\n".join(map(msgspec.json.encode, records)), name)


def first_record(text: bytes) -> dict[str, Any] | None:
    """The first line's JSON object, for telling formats apart; None if it is something else."""
    line = text.removeprefix(_UTF8_BOM).lstrip().partition(b"\n")[0]
    try:
        found = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def as_line(record: Any) -> str:
    """The record as one line of JSON, keys sorted where it is a dict."""
    return msgspec.json.encode(record, order="sorted" if isinstance(record, dict) else None).decode()


class _Named(io.BytesIO):
    """Bytes that errors can name."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self.name = name


def stretches(source: Source, limits: Limits, expected: str = "JSON lines") -> Iterator[tuple[int, bytes]]:
    """(number of the first line, whole lines), without a byte order mark."""
    name = name_of(source)
    limits = limits.for_records()
    line = 1
    empty = True
    for text in chunks(source, limits):
        if line == 1:
            text = without_bom(text, name)
        refuse_bom(text, name, line)
        if len(text) > limits.line and text.find(b"\n", 0, limits.line) < 0:
            raise InputError(
                f"{name}:{line}: a line of more than {limits.line:,} bytes;"
                " raise the limit with --limit record=…"
            )
        empty = empty and not text.strip()
        yield line, text
        line += text.count(b"\n")
    if empty:
        raise InputError(f"{name}: is empty, expected {expected}")


def explained(error: Exception, line: bytes, expected: str) -> str:
    """What is wrong with a line, in the words of somebody who looks at the file."""
    if isinstance(error, RecursionError):
        return f"JSON nested too deeply to be {expected}"
    if isinstance(error, UnicodeDecodeError):
        return _not_utf8(line)
    if half := _HALF.search(line):
        found = f"half a character ({half[0].decode()}), which no text holds"
        return f"expected {expected}, found {found}: {quoted(line)}"
    message = str(error)
    if isinstance(error, msgspec.ValidationError):
        what, _, where = message.partition(" - at `$")
        place = f" in {where.rstrip('`').lstrip('.')}" if where.rstrip("`") else ""
        return f"expected {expected}; {_lower(what)}{place}: {quoted(line)}"
    return f"expected {expected}, found no valid JSON ({_lower(message)}): {quoted(line)}"


def _not_utf8(line: bytes) -> str:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        byte = line[error.start]
        return f"byte {error.start + 1} is 0x{byte:02x}, which is not UTF-8; convert it (iconv -t UTF-8)"
    return f"text that UTF-8 cannot hold: {quoted(line)}"


def _lower(text: str) -> str:
    return text if text[:2].isupper() else text[:1].lower() + text[1:]
