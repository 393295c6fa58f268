"""JSON lines: each line read into the type a format declares, or explained with file and line.

A format is a `msgspec.Struct`: fields that are not declared are skipped without being built, which is what
keeps a file of large records small in memory and fast to read. A key that stands twice in an object, of which
every decoder takes the last without a word, is an error. Of a kind of file that comes in several formats the
first record tells which one it is, and the others must agree.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import IO, Annotated, Any, Generic, TypeVar, get_args

import msgspec
from msgspec import UNSET

from rageval.errors import InputError, Place
from rageval.files.opening import (
    BOM,
    DEFAULT,
    Complaints,
    Limits,
    Source,
    _refuse_bom,
    _without_bom,
    chunks,
    kept,
    limits_of,
    name_of,
    quoted,
    start_of,
    with_limits,
)
from rageval.text import problem_of_id, visible

_Record = TypeVar("_Record")
_HALF = re.compile(rb"\\u[dD][89abAB]\w\w(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]\w\w)\\u[dD][c-fC-F]\w\w")


def read_records(source: Source, form: type[_Record], expected: str) -> Iterator[tuple[int, _Record]]:
    """Read (line number, record) of every line that is not blank; `expected` names the format in errors.

    The bad lines of a stretch of the file are reported together, the first ten in full.
    """
    explain = partial(explained, expected=expected)
    return _decoded(source, json_stretches(source), _decoder(form), explain)


def read_decoded(
    source: Source, decode: Callable[[bytes], _Record], expected: str
) -> Iterator[tuple[int, _Record]]:
    """Read the same with a decoder of one's own, which takes any line and raises what msgspec does."""
    return _decoded(source, stretches(source), decode, partial(explained, expected=expected))


def _decoder(form: Any) -> Callable[[bytes], Any]:
    """Return what decodes a line; a field that is null, as pandas writes gaps, is one that is not there."""
    plain = msgspec.json.Decoder(form).decode
    is_struct = isinstance(form, type) and issubclass(form, msgspec.Struct)
    fields = msgspec.structs.fields(form) if is_struct else ()
    # Where null is declared it means something of its own.
    declared = {field.encode_name for field in fields if type(None) in get_args(field.type)}

    def decode(line: bytes) -> Any:
        try:
            return plain(line)
        except msgspec.ValidationError:
            record = msgspec.json.decode(line) if b"null" in line else None
            if (fewer := without_nulls(record)) is not None and isinstance(record, dict):
                with suppress(msgspec.ValidationError):
                    kept = {key: None for key in declared if key in record and record[key] is None}
                    return msgspec.convert(fewer | kept, form)
            raise

    return decode


def without_nulls(record: Any) -> Any:
    """Return an object without fields that are null, in it and in what lies in it; None if there are none.

    >>> without_nulls({"aspect": None, "of": [{"id": 1, "text": None}, None]}), without_nulls({"aspect": "0"})
    ({'of': [{'id': 1}, None]}, None)
    """
    has_null = False

    def less(value: Any) -> Any:
        nonlocal has_null
        if isinstance(value, dict):
            has_null = has_null or any(item is None for item in value.values())
            return {key: less(item) for key, item in value.items() if item is not None}
        return list(map(less, value)) if isinstance(value, list) else value

    fewer = less(record)
    return fewer if has_null else None


def _decoded(
    source: Source,
    texts: Iterable[tuple[int, bytes]],
    decode: Callable[[bytes], _Record],
    explain: Callable[[Exception, bytes], InputError],
) -> Iterator[tuple[int, _Record]]:
    """Yield what `decode` makes of every line that is not blank; `explain` says what is wrong with one."""
    name = name_of(source)
    if isinstance(source, _Records):
        explain = partial(_explain_in_memory, explain)
    for first_line, text in texts:
        _refuse_repeated_keys(name, first_line, text)
        yield from _one_by_one(name, first_line, text, decode, explain)


class Batch(list[_Record]):
    """Records of a stretch of a file; `absent` are fields that certainly none of them has."""

    absent: frozenset[str] = frozenset()


def read_batches(
    source: Source, form: type[_Record], expected: str
) -> Iterator[tuple[Sequence[int], Batch[_Record]]]:
    """Read (line numbers, records) of stretches of a file: as `read_records`, and faster for small ones.

    A stretch is decoded at once; unless that gives one record a line, it is read again line by line.
    """
    decoder, shape = msgspec.json.Decoder(form), _Shape(form)
    name = name_of(source)
    for first_line, stretch in stretches(source):
        # What only Python writes is no JSON: then the shape does not fit, and it is looked for.
        text, plain = stretch, shape.records(stretch)
        if plain is None and stretch.lstrip().startswith((b"{", b"[")):
            text = plain_json(stretch)
            plain = None if text is stretch else shape.records(text)
        if plain is not None:
            yield range(first_line, first_line + len(plain)), plain
            continue
        try:
            records = decoder.decode_lines(text)
        except (ValueError, RecursionError):
            records = []
        _refuse_repeated_keys(name, first_line, text, records if form == dict[str, Any] else ())
        shape.learn(text)
        lines = text.count(b"\n") + (not text.endswith(b"\n"))
        # As many records as lines, and each line begins one: none is blank, and none holds two.
        if len(records) == lines == text.count(b"\n{") + text.startswith(b"{"):
            yield range(first_line, first_line + lines), Batch(records)
            continue
        singly = _one_by_one(
            name, first_line, text, _decoder(form), lambda error, line: explained(error, line, expected)
        )
        pairs = list(singly)
        if not pairs:
            continue
        yield [number for number, _ in pairs], Batch(record for _, record in pairs)


def read_values(
    source: Source, decode: Callable[[bytes], _Record], expected: str
) -> Iterator[tuple[int, _Record | dict[str, Any]]]:
    """Read the same as `read_decoded`, and faster: where lines are short, objects come as they are built.

    A stretch is decoded at once; unless that gives an object a line, it is read again line by line.
    """
    name = name_of(source)
    for first_line, text in stretches(source):
        lines = text.removesuffix(b"\n").split(b"\n")
        records: list[Any] = []
        # Of long lines few values are ever looked at. What only Python writes is no JSON, and is read singly.
        if len(text) <= _LARGE * len(lines):
            with suppress(ValueError, RecursionError):
                records = _built(text)
        _refuse_repeated_keys(name, first_line, text, records)
        # Each line begins an object, and there are no more objects than lines.
        if len(records) == len(lines) and all(line.startswith(b"{") for line in lines):
            yield from enumerate(records, first_line)
        else:
            explain = partial(explained, expected=expected)
            yield from _one_by_one(name, first_line, text, decode, explain)


def _refuse_repeated_keys(name: str, first_line: int, text: bytes, records: Sequence[Any] = ()) -> None:
    """Raise `InputError` for lines with an object that names a key twice: nobody knows which is meant."""
    findings = Complaints()
    for number, key in repeated_keys(text, records):
        findings.add(repeated_key(visible(key)[:80]).located(Place(name, first_line + number)))
    findings.raise_if_any()


def _one_by_one(
    name: str,
    first_line: int,
    text: bytes,
    decode: Callable[[bytes], _Record],
    explain: Callable[[Exception, bytes], InputError],
) -> Iterator[tuple[int, _Record]]:
    findings = Complaints()
    for number, line in enumerate(text.split(b"\n"), first_line):
        try:
            record = decode(line)
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            if number == 1 and (columns := table_columns(line)):
                raise InputError(
                    at=Place(name, 1),
                    expected="JSON lines",
                    found=f"a table with the columns {', '.join(columns):.120}",
                    remedy=f"split it into answers and questions first: rageval import {name} -o DIR",
                ) from None
            if line.strip():
                findings.add(explain(error, line).located(Place(name, number)))
            continue
        if not findings.count:
            yield number, record
    findings.raise_if_any()


def in_memory(records: Iterable[Any], name: str) -> IO[bytes]:
    """Return records as a file of this name."""

    def plain(value: Any) -> str:
        if isinstance(value, date):  # also of a class of its own, as pandas'
            return value.isoformat()
        raise InputError(
            at=Place(name),
            problem=f"a record holds an object of the class {type(value).__name__}",
            expected="texts, numbers, and lists and dicts of these",
            remedy="convert it to text, or remove it",
        )

    encode = msgspec.json.Encoder(enc_hook=plain).encode
    lines = []
    for number, record in enumerate(records, 1):
        try:
            lines.append(encode(record))
        except UnicodeEncodeError as error:
            problem = problem_of_record(error, record, "texts that can be encoded as UTF-8")
            raise problem.located(Place(name, number)) from None
    return _Records(b"\n".join(lines), name)


def named(content: bytes, name: str) -> IO[bytes]:
    """Return bytes as a file of this name."""
    return _NamedBytes(content, name)


def first_record(text: bytes) -> dict[str, Any] | None:
    """Return the first line's JSON object, for telling formats apart; None if it is something else."""
    line = text.removeprefix(BOM).lstrip().partition(b"\n")[0]
    try:
        record = msgspec.json.decode(plain_json(line))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


# What Python writes of numbers that JSON cannot, outside of texts.
_NO_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b', re.DOTALL)


def plain_json(text: bytes, infinity: bytes = b'"Infinity"') -> bytes:
    """Return JSON without the numbers that only Python writes: NaN is null, so that it is missing.

    Infinity is a text, which is refused where a number is read, and nowhere else.

    >>> plain_json(b'{"score": NaN, "NaN": "-Infinity", "low": -Infinity}')
    b'{"score": null, "NaN": "-Infinity", "low": "Infinity"}'
    """
    if b"NaN" not in text and b"Infinity" not in text:
        return text

    def plain(match: re.Match[bytes]) -> bytes:
        word = match[0]
        return word if word.startswith(b'"') else b"null" if word == b"NaN" else infinity

    return _NO_NUMBER.sub(plain, text)


def json_stretches(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield stretches of JSON lines, as `stretches`, in plain JSON; of other lines as they are."""
    for line, text in stretches(source):
        yield line, plain_json(text) if text.lstrip().startswith((b"{", b"[")) else text


def as_line(record: Any) -> str:
    """Return the record as one line of JSON, keys sorted where it is a dict."""
    return msgspec.json.encode(record, order="sorted" if isinstance(record, dict) else None).decode()


def pair_aspect(first: str, second: str) -> str:
    """Return the aspect of a comparison in which the answers of these systems were shown in this order."""
    plain = not any("|" in name for name in (first, second))  # else both orders might have one name
    return f"{first} | {second}" if plain else json.dumps((first, second), ensure_ascii=False)


class _NamedBytes(io.BytesIO):
    """Bytes that errors can name."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self.name = name


class _Records(_NamedBytes):
    """Records that Python passes, one a line."""


_ENDS = re.compile(rb"(?m)^[}\]][ \t\r]*$\n?")  # where an object that was written over many lines ends


def one_a_line(source: Source, expected: str) -> Source:
    """Return a source of JSON lines: what is JSON over many lines, once or several times, each in its first.

    JSON lines are returned as they are, unread. The other lines are left empty, so that numbers still hold.
    """
    if isinstance(source, _Records):
        return source
    readable = kept(source)
    # The first line tells: JSON that ends with its line is JSON lines, and most files are.
    if not _goes_on(start_of(readable).lstrip().partition(b"\n")[0]):
        return readable
    text, name = _whole_text(readable), name_of(source)
    lines, number, start = [], 1, 0
    # An object that was written prettily ends with a brace at the beginning of a line, where nothing within
    # it stands.
    for end in [*(match.end() for match in _ENDS.finditer(text)), len(text)]:
        piece, start = text[start:end], end
        if piece.strip():
            try:
                compact = msgspec.json.format(piece, indent=-1)
            except (ValueError, RecursionError) as error:
                raise explained(error, piece, expected).located(Place(name, number)) from None
            # As many empty lines behind it as it took, so that the next one stands in the line that messages
            # name.
            lines.append(compact + b"\n" * piece.count(b"\n"))
        number += piece.count(b"\n")
    rewritten: Source = with_limits(_NamedBytes(b"".join(lines), name), limits_of(source))
    return rewritten


_LIST = re.compile(rb"\s*\[\s*\{")


def unlisted(source: Source, expected: str) -> Source:
    """Return a source of JSON lines: the records of a list, each in the line in which it begins.

    Records that stand in one line are counted instead. JSON lines are returned as they are, unread.
    """
    if isinstance(source, _Records):
        return source
    readable = kept(source)
    if _LIST.match(start_of(readable).removeprefix(BOM)) is None:
        return readable
    text, name = _whole_text(readable), name_of(source)
    try:
        records = _items(text)
    except (ValueError, RecursionError) as error:
        raise explained(error, text, f"a list of {expected}").located(Place(name, 1)) from None
    lines: list[bytes] = []
    number, written, start = 1, 1, 0
    for record in map(bytes, records):
        begins = text.index(record, start)
        number += text.count(b"\n", start, begins)
        start = begins
        # As many empty lines before it as the file has, so that messages name its own line.
        empty = max(number - written, 0)
        lines.append(b"\n" * empty + msgspec.json.format(record, indent=-1))
        written += empty + 1
    rewritten: Source = with_limits(_NamedBytes(b"\n".join(lines), name), limits_of(source))
    return rewritten


def _whole_text(source: Source) -> bytes:
    """Return a file that can only be read whole, so that it may be no longer than one record may be."""
    limits, name = limits_of(source), name_of(source)
    parts: list[bytes] = []
    for part in chunks(source, limits.record):
        parts.append(part)
        if sum(map(len, parts)) > limits.record:
            raise InputError(
                at=Place(name, 1),
                problem=f"JSON over many lines of more than {limits.record:,} bytes",
                remedy="raise the limit with --limit record=…",
            )
    return plain_json(_without_bom(b"".join(parts), name))


def _goes_on(line: bytes) -> bool:
    """Return whether a line is the beginning of JSON, and no more."""
    try:
        msgspec.json.decode(plain_json(line))
    except msgspec.DecodeError as error:
        # Anything else that is wrong with the line is no sign of more to come, and is told when it is read.
        return line.startswith((b"{", b"[")) and "truncated" in str(error)
    except (ValueError, RecursionError):
        return False
    return False


def stretches(source: Source, expected: str = "JSON lines") -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, whole lines), without a byte order mark."""
    name = name_of(source)
    longest = limits_of(source).record
    line = 1
    empty = True
    for text in chunks(source, longest):
        if line == 1:
            text = _without_bom(text, name)
        _refuse_bom(text, name, line)
        # Asked of stretches only: looking for the end of every line would take as long as reading them.
        refuse_long(text, Place(name, line), longest)
        empty = empty and not text.strip()
        yield line, text
        line += text.count(b"\n")
    if empty:
        raise InputError(at=Place(name), problem="is empty", expected=expected)


def refuse_long(text: bytes, where: Place, longest: int) -> None:
    """Raise `InputError` if the first line of a text is longer than a record may be."""
    if len(text) > longest and text.find(b"\n", 0, longest) < 0:
        raise InputError(
            at=where,
            problem=f"a line of more than {longest:,} bytes",
            remedy="raise the limit with --limit record=…",
        )


_OPENED = (b"{", b"[", b"[{")  # a line of a list, or of one record over many lines
_MARKS = (b",", b";", b"\t")
_COLUMN = re.compile(r"[^\W\d][\w .#/-]{0,59}")


def table_columns(line: bytes) -> list[str]:
    """Return the names of columns, if a line is the header of a table (CSV); none if it looks otherwise.

    >>> table_columns(b"question;our answer\\r"), table_columns(b'{"question": "a, b"}')
    (['question', 'our answer'], [])
    """
    text = line.decode("utf-8", "replace")
    cells = max((text.split(mark.decode()) for mark in _MARKS), key=len)
    names = [cell.strip().strip('"') for cell in cells if cell.strip()]
    return names if len(names) > 1 and all(map(_COLUMN.fullmatch, names)) else []


def explained(error: Exception, line: bytes, expected: str) -> InputError:
    """Return what is wrong with a line, in the words of somebody who looks at the file."""
    if isinstance(error, RecursionError):
        return InputError(f"JSON nested too deeply to be {expected}")
    # msgspec before 0.23 raises a UnicodeDecodeError, and its own error since.
    if isinstance(error, UnicodeDecodeError) or str(error) == "Invalid UTF-8 encoded string":
        try:
            line.decode()
        except UnicodeDecodeError as fault:
            byte = line[fault.start]
            return InputError(
                f"byte {fault.start + 1} is 0x{byte:02x}, which is not UTF-8",
                remedy="convert it (iconv -t UTF-8)",
            )
        return InputError(f"text that cannot be encoded as UTF-8: {quoted(line)}")
    # JSON can name half a character (a lone surrogate), which no text that is stored or printed can hold.
    if half := _HALF.search(line):
        return InputError(expected=expected, found=f"{_half_named(half[0].decode())}: {quoted(line)}")
    message = str(error)
    if isinstance(error, msgspec.ValidationError):
        # msgspec ends its messages with a path such as `$.metadata.run_id`; people call that a field.
        what, _, where = message.partition(" - at `$")
        place = f" in {where.rstrip('`').lstrip('.')}" if where.rstrip("`") else ""
        # Infinity was made a text, which is how it comes to be refused.
        if "got `str`" in what and b'"Infinity"' in line:
            what = "expected a finite number, found Infinity"
        return InputError(expected=expected, cause=f"{_lower(what)}{place}: {quoted(line)}")
    # What a pretty printer made; each of its lines is told, and the first one says why.
    whole = "put one record on each line, not a list and not a record over several lines"
    return InputError(
        expected=expected,
        found=f"no valid JSON ({_lower(message)}): {quoted(line)}",
        remedy=whole if line.strip() in _OPENED else "",
    )


def _explain_in_memory(
    explain: Callable[[Exception, bytes], InputError], error: Exception, line: bytes
) -> InputError:
    """Return what is wrong with a record that Python passed: of a field that does not fit, its value."""
    usual = explain(error, line)
    if isinstance(error, Unfit) or not isinstance(error, msgspec.ValidationError) or usual.remedy:
        return usual
    return problem_of_record(error, msgspec.json.decode(line), usual.expected)


# What msgspec says of a record, and how a user of Python calls the types in it.
_UNLIKE_TYPE = re.compile(
    r"Expected `(?P<types>[^`]+)`, got `(?P<type>[^`]+)`(?: - at `\$(?P<place>[^`]*)`)?"
)
_LACKING = re.compile(r"Object missing required field `(?P<field>[^`]+)`(?: - at `\$(?P<place>[^`]*)`)?")
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


def _half_named(shown: str) -> str:
    return f"an unpaired surrogate ({shown}), which is not valid text"


def problem_of_record(
    error: msgspec.ValidationError | UnicodeEncodeError, record: Any, expected: str
) -> InputError:
    """Return what is wrong with a record in memory, without a place; `expected` is what it is to be.

    >>> from msgspec import ValidationError as Error
    >>> print(problem_of_record(Error("Object missing required field `id`"), {}, "a passage {id, text}"))
    lacks 'id'; expected a passage {id, text}; add it to the record
    >>> error = Error("Expected `int | str`, got `float` - at `$.repeat`")
    >>> print(problem_of_record(error, {"repeat": float("nan")}, "an answer"))
    'repeat' is nan; expected a whole number or a text; correct it, or leave it out
    """
    if isinstance(error, UnicodeEncodeError):
        return InputError(expected=expected, found=_half_named(ascii(error.object[error.start])[1:-1]))
    text = str(error)
    if (lacking := _LACKING.match(text)) is not None:
        inside = (lacking["place"] or "").lstrip(".")
        where = f" in {inside!r}" if inside else ""
        return InputError(
            f"lacks {lacking['field']!r}{where}", expected=expected, remedy="add it to the record"
        )
    unlike = _UNLIKE_TYPE.match(text)
    if unlike is None:
        return InputError(expected=expected, cause=_lower(text.partition(" - at `$")[0]))
    types = " or ".join(_TYPES.get(name, name) for name in unlike["types"].split(" | "))
    field = (unlike["place"] or "").lstrip(".")
    if not field:
        return InputError(expected=expected, found=f"{record!r:.80}")
    value = record.get(field) if isinstance(record, Mapping) else None
    shown = _TYPES.get(unlike["type"], unlike["type"]) if value is None else visible(f"{value!r:.80}")
    return InputError(f"{field!r} is {shown}", expected=types, remedy="correct it, or leave it out")


def _lower(text: str) -> str:
    # An abbreviation such as JSON keeps its capitals.
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def repeated_key(key: str) -> InputError:
    """Return the error for an object that names a key twice."""
    return InputError(f"the key {key!r} appears twice in one object", remedy="remove the wrong one")


_SPACED = re.compile(rb'(?<!\\)"[ \t]+:')
_LARGE = 2**14  # bytes of a line, on average, from which on its values are not built
_NESTED = {dict, list}
_LEARNED, _MOST_KEYS = 20, 100  # how often, and of how many keys, the shape of lines is learned
_SCALAR = str | int | float | bool | None
_FLAT = dict[str, _SCALAR]
_built = msgspec.json.Decoder().decode_lines
_raw = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode_lines
_record = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def repeated_keys(text: bytes, records: Iterable[Any] = ()) -> Iterator[tuple[int, str]]:
    """Yield (number of the line from 0, key) of every line of JSON that names a key twice in one object.

    `records` are all that stands there, where somebody has decoded it. Whether a key can stand twice is told
    by counting: the colons behind quotes are as many as different keys.
    """
    # Fast for a whole stretch; only where counting cannot rule it out are lines looked at singly.
    if _all_differ(text, records):
        return
    for number, line in enumerate(text.split(b"\n")):
        # Lines that are no JSON get another message elsewhere.
        key = _repeated(line) if line.lstrip().startswith((b"{", b"[")) else None
        if key is not None:
            yield number, key


class _Shape:
    """What the lines of a file look like: where they all look so it is cheap to see that no key stands twice.

    A line has as many different keys at least as fields that are always there, or that differ from their
    default, and as many keys at most as colons that are in no value, or that stand behind quotes. Where these
    are equal every key stands once.
    """

    def __init__(self, form: Any) -> None:
        """Know nothing yet of lines that are to be read as `form`; nothing ever where that is no struct."""
        self._form = form
        # Only a struct skips keys that it does not declare; what builds everything has nothing to learn.
        is_struct = isinstance(form, type) and issubclass(form, msgspec.Struct)
        fields = msgspec.structs.fields(form) if is_struct else ()
        self._fields = {field.encode_name: field for field in fields}
        self._always: set[str] | None = None  # keys that every line has
        self._is_nested: dict[str, bool] = {}  # of all keys
        self._left = _LEARNED if is_struct else 0
        self._decode: Callable[[bytes], Any] | None = None
        self._counted: list[tuple[Callable[[Any], Any], Any]] = []  # how to get a field, and its default
        self._nested: list[Callable[[Any], Any]] = []
        self._deep: set[str] = set()  # keys of values that are not plain objects of numbers and texts
        self._flat: list[Callable[[Any], Any]] = []
        self._colons: set[str] = set()  # keys of values with a colon
        self._with_colons: list[Callable[[Any], Any]] = []
        self._absent: frozenset[str] = frozenset()  # fields whose keys are in no line

    def records(self, text: bytes) -> Batch[Any] | None:
        """Return the records of a text, one a line; None if it is not plain to see that all is in order."""
        if self._decode is None or self._always is None:
            return None
        try:
            records = Batch(map(self._decode, text.removesuffix(b"\n").split(b"\n")))
        except (ValueError, RecursionError):
            return None
        records.absent = self._absent
        # From here on: keys that are certainly different, counted without looking at any key.
        different = len(self._always) * len(records)
        for get, default in self._counted:
            different += len(records) - list(map(get, records)).count(default)
        for get in self._flat:
            different += sum(map(len, map(get, records)))
        for get in self._nested:
            different += _different(map(get, records))
        # Without a backslash no quote is escaped, and every colon outside values belongs to a key.
        if b"\\" not in text:
            within = ("".join(map(str, map(get, records))).count(":") for get in self._with_colons)
            if different == text.count(b":") - sum(within):
                return records
        return records if different == _most_keys(text) else None

    def learn(self, text: bytes) -> None:
        """Look at lines that do not look like those before."""
        # Building every value of large records costs more than counting their keys each time.
        if not self._left or len(text) > _LARGE * (text.count(b"\n") + 1):
            return
        self._left -= 1
        try:
            records = _built(text)
        except (ValueError, RecursionError):
            return
        for record in records:
            # Files whose records differ that much have no shape to learn.
            if record.__class__ is not dict or len(self._is_nested) > _MOST_KEYS:
                self._left = 0
                return
            self._always = set(record) if self._always is None else self._always & record.keys()
            for key, value in record.items():
                self._is_nested[key] = self._is_nested.get(key, False) or value.__class__ in _NESTED
                if value.__class__ is not dict or _NESTED & set(map(type, value.values())):
                    self._deep.add(key)
                if value.__class__ is str and ":" in value:
                    self._colons.add(key)
        self._prepare()

    def _prepare(self) -> None:
        """Make a form of all keys, without a default for those that are always there."""
        fields: list[Any] = []
        names: dict[str, str] = {}
        self._counted, self._flat, self._nested, self._with_colons = [], [], [], []
        # A line with a key that is not known has more keys than are counted, and is not read by this shape.
        absent = (field.name for key, field in self._fields.items() if key not in self._is_nested)
        self._absent = frozenset(absent)
        for number, (key, is_nested) in enumerate(self._is_nested.items()):
            own, is_always = self._fields.get(key), key in (self._always or ())
            name = own.name if own else f"unknown_{number}"
            is_flat = is_nested and is_always and key not in self._deep
            # The declared type decides what is built of it, and what is not built cannot be counted.
            if own and is_nested and own.type is not Any:  # whose keys would be skipped without being counted
                self._left, self._decode = 0, None
                return
            kind = _FLAT if is_flat else Any if is_nested else _SCALAR
            if not own:
                names[name] = key
                fields.append((name, kind, *(() if is_always else (UNSET,))))
            elif is_always:
                fields.append((name, kind if is_nested else own.type))
            if not is_always:
                self._counted.append((attrgetter(name), own.default if own else UNSET))
            if is_nested:
                (self._flat if is_flat else self._nested).append(attrgetter(name))
            elif key in self._colons:
                self._with_colons.append(attrgetter(name))
        try:
            form: Any = msgspec.defstruct(
                # A struct of ours with all keys of the file: msgspec then decodes and type-checks in C, and
                # we count with attrgetter.
                "Line",
                fields,
                bases=(self._form,),
                rename=names,
                kw_only=True,
                gc=False,
            )
        except ValueError:  # a key that no field can have, with a quote or a backslash
            self._left, self._decode = 0, None
            return
        self._decode = msgspec.json.Decoder(form).decode


def _most_keys(text: bytes) -> int | None:
    """Return how many keys there are at most in lines of JSON; None if that is not plain to see."""
    # One pass in C. Blanks may stand between a key and its colon.
    tight = text.translate(None, b" \t\r")  # a blank less within a value makes no key less
    keys = tight.count(b'":')
    if b"\\" not in tight:
        return keys
    # `\":` is a quote within a text; behind two backslashes it is a real one, and counting cannot tell.
    return None if b'\\\\"' in tight else keys - tight.count(b'\\":')


def repeated_in(text: bytes, values: Iterable[Any] = ()) -> str | None:
    """Return a key that stands twice in one object of this text, be it many lines long.

    `values` are all that stands there, where somebody has decoded it: most texts need no second look then.
    """
    return None if values and _all_differ(text, values) else _repeated(text)


def _all_differ(text: bytes, records: Iterable[Any]) -> bool:
    """Return whether no key stands twice; False also if that is not plain to see."""
    if b"\\" in text and b'\\\\"' in text:  # a backslash at the end of a text, or of a key
        return False
    # Long values are kept raw: building texts of megabytes only to count keys would take most of the time.
    large = len(text) > _LARGE * (text.count(b"\n") + 1)
    try:
        if large:
            return _different_raw(text, _raw(text))
        # A key that stands twice is a text of the file that nothing decoded has.
        escaped = text.count(b'\\"') if b"\\" in text else 0
        return 2 * _number_of_texts(records or _built(text)) == text.count(b'"') - escaped
    except (ValueError, RecursionError):
        return False


def _number_of_texts(values: Iterable[Any]) -> int:
    """Return how many texts and different keys are in these values, and in what lies in them."""
    number = 0
    # Level by level instead of recursion: JSON may be nested deeper than Python's stack is.
    while values := list(values):
        kinds = [value.__class__ for value in values]
        number += kinds.count(str)
        dicts = [value for value, kind in zip(values, kinds, strict=True) if kind is dict]
        number += sum(map(len, dicts))
        lists = [value for value, kind in zip(values, kinds, strict=True) if kind is list]
        values = chain(chain.from_iterable(map(dict.values, dicts)), chain.from_iterable(lists))
    return number


def _different(values: Iterable[Any]) -> int:
    """Return how many different keys are in these objects and lists, and in what lies in them."""
    number = 0
    while values := list(values):
        dicts = [value for value in values if value.__class__ is dict]
        number += sum(map(len, dicts))
        inner = chain(
            chain.from_iterable(map(dict.values, dicts)), *(v for v in values if v.__class__ is list)
        )
        values = [value for value in inner if value.__class__ in _NESTED]
    return number


def _different_raw(text: bytes, records: Iterable[Any]) -> bool:
    """Return whether all keys differ, found without building the values, which are long."""
    keys = _keys(text)
    for record in records:
        values = list(record.values()) if isinstance(record, dict) else record
        keys -= len(record) if isinstance(record, dict) else 0
        for value in map(bytes, values):
            # A value without keys of its own, such as a list of numbers, needs no look.
            if value[:1] in b"{[" and (own := _keys(value)):
                keys -= own
                if not _different_raw(value, [(_record if value[:1] == b"{" else _items)(value)]):
                    return False
    return keys == 0


def _keys(text: bytes) -> int:
    """Return how many keys stand there: quotes, none of them within a text, that a colon follows."""
    spaced = len(_SPACED.findall(text)) if b" :" in text or b"\t" in text else 0
    escaped = text.count(b'\\":') if b"\\" in text else 0
    return text.count(b'":') - escaped + spaced


def _repeated(line: bytes) -> str | None:
    """Return the first key that stands twice in one object of this line."""

    def seen(pairs: list[tuple[str, Any]]) -> None:
        names: set[str] = set()
        for name, _ in pairs:
            if name in names:
                raise _Twice(name)
            names.add(name)

    try:
        # Python's own reader is slow, and the only one that shows every pair; it runs on lines under
        # suspicion only.
        json.loads(line, object_pairs_hook=seen)
    except _Twice as twice:
        return str(twice)
    except (ValueError, RecursionError):
        return None
    return None


class _Twice(Exception):
    """A key stands twice."""


_Item = TypeVar("_Item")
Id = str | int
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]  # of what a file says how many there are
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_UNKNOWN = "unknown keys"


class Unfit(msgspec.ValidationError):
    """What a form raises for a record that is not as it must be; `parts` is that as an error of input."""

    def __init__(self, problem: str = "", *, expected: str = "", found: str = "", remedy: str = "") -> None:
        self.parts = InputError(problem, expected=expected, found=found, remedy=remedy)
        super().__init__(self.parts.reason)


def input_error_of(error: Exception) -> InputError:
    """Return what a form, or msgspec, says of a record, as an error without a place."""
    return error.parts if isinstance(error, Unfit) else InputError(problem=str(error))


@dataclass(frozen=True, slots=True)
class RecordForm(Generic[_Item]):
    """One format of a kind of file.

    `fits` knows a record of it by its keys, `struct` declares the fields, `build` makes of them what is read.
    A form whose lines are no JSON has a `parse` of its own. `is_own`: what it fits is of no other kind of
    file. `write` makes a record of an item, for a form that is written, too.
    """

    name: str
    shape: str
    fits: Callable[[dict[str, Any]], bool]
    struct: Any
    build: Callable[[Any, Limits], _Item]
    parse: Callable[[bytes], Any] | None = None
    is_own: bool = False
    write: Callable[..., dict[str, Any]] | None = None

    @property
    def expected(self) -> str:
        """Return the form in error messages: its name, and what a record looks like."""
        return f"{self.name} {self.shape}"


def read_forms(source: Source, forms: Sequence[RecordForm[_Item]], kind: str) -> Iterator[tuple[int, _Item]]:
    """Read (line number, what the form of the file makes of the record); `kind` names the kind of file."""
    telling = _Telling(forms, kind, limits_of(source))
    return _decoded(source, json_stretches(source), telling.decode, telling.explain)


def has(*keys: str) -> Callable[[dict[str, Any]], bool]:
    """Return what fits records with all of these keys."""
    return lambda record: all(key in record for key in keys)


def identifier(value: Id, what: str, limits: Limits = DEFAULT) -> str:
    """Return an id as text; numbers stay as they are written."""
    text = str(value)
    # Blanks alone have a message of their own below.
    if (problem := problem_of_id(text)) is not None and text.strip():
        raise Unfit(expected=problem.expected, found=f"{problem.found} in `{what}`")
    # Half characters must not end in a traceback here: they are refused with the line, elsewhere.
    if not text.strip() or len(text.encode("utf-8", "surrogatepass")) > limits.id:
        size = f"{len(text):,} characters" if text.strip() else "nothing"
        raise Unfit(expected=f"an id of 1 to {limits.id:,} bytes in `{what}`", found=size)
    if _CONTROL.search(text):
        raise Unfit(expected=f"an id without control characters in `{what}`", found=f"{text[:80]!r}")
    return text


def once(
    records: Iterable[tuple[int, _Item]], source: Source, key: Callable[[_Item], str | None]
) -> Iterator[tuple[int, _Item]]:
    """Yield the same records; a key (in words for people) that was there is an error with both lines."""
    first: dict[str, int] = {}
    for line, item in records:
        name = key(item)
        # None is a key that does not exist, and two of these are no repetition.
        if name is not None and first.setdefault(name, line) != line:
            raise InputError(
                at=Place(name_of(source), line),
                problem=f"a second {visible(name)}, the first is in line {first[name]}",
                remedy="remove one of them",
            )
        yield line, item


class _Telling(Generic[_Item]):
    """Decodes with the form of the first record; what is of another form is named."""

    def __init__(self, forms: Sequence[RecordForm[_Item]], kind: str, limits: Limits) -> None:
        self.forms, self.kind, self.limits = forms, kind, limits
        self.form: RecordForm[_Item] | None = None

    def decode(self, line: bytes) -> _Item:
        if self.form is None:
            self.form = self._fitting(line)
            if self.form is None:
                # What is no JSON at all should be called that, and no unknown form.
                msgspec.json.decode(line)  # raises what is wrong with it
                raise Unfit(problem=_UNKNOWN)
            # Made once a file: a decoder takes longer to make than a line to read.
            self._decode = self.form.parse or _decoder(self.form.struct)
        return self.form.build(self._decode(line), self.limits)

    def explain(self, error: Exception, line: bytes) -> InputError:
        if self.form is None:
            expected = "; ".join(form.expected for form in self.forms)
            if str(error) == _UNKNOWN:
                return InputError(expected=f"{self.kind}, one of: {expected}", found=quoted(line))
            return explained(error, line, self.kind)
        other = self._fitting(line)
        # The line is right by another form: the user has put two files together.
        if isinstance(error, msgspec.ValidationError) and other is not None and other is not self.form:
            return InputError(
                expected=f"{self.form.name} as in the lines before",
                found=other.name,
                remedy=f"put each format in its own file: {quoted(line)}",
            )
        return explained(error, line, self.form.expected)

    def _fitting(self, line: bytes) -> RecordForm[_Item] | None:
        if not line.lstrip().startswith((b"{", b"[")):
            return next((form for form in self.forms if form.parse), None) if line.strip() else None
        try:
            record = msgspec.json.decode(line, type=dict[str, Any])
        except (ValueError, RecursionError):
            return None
        return next((form for form in self.forms if form.fits(record)), None)
