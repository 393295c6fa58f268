"""JSON in which one field has another type: in files, archives, pages, stores, and replies of servers.

A file that is changed stays whole otherwise: digests of it in other files, in its own head and in manifests
are those of what it holds now. So what reads it sees the field, and not only that the file was changed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from boards import archive_of, members
from rageval.files.plans import AskedQuery, LabelPlan, is_head, plan_lines, sealed
from rageval.judges.store import _checksum
from rageval.pages.page import CLOSING, OPENING

# In place of what stands there.
KINDS: dict[str, str] = {
    "null": "null",
    "true": "true",
    "number": "1",
    "fraction": "0.5",
    "negative": "-1",
    "huge": "9" * 400,
    "beyond 64 bits": str(2**64),
    "infinite": "1e999",
    "nan": "NaN",
    "string": '"x"',
    "empty": '""',
    "path": '"../../etc/passwd"',
    "half a pair": '"\\ud800"',
    "zero byte": '"\\u0000"',
    "list": "[]",
    "lists": "[[]]",
    "strings": '["x", "x"]',
    "nothings": "[null]",
    "object": "{}",
    "objects": '[{"a": {}}]',
    "named": '{"": null}',
    "deep": "[" * 5000 + "]" * 5000,
}
MARK = "\u0001 what changes \u0001"
_SQLITE = b"SQLite format 3\0"
_GZIP = b"\x1f\x8b"
_MOST = 4  # records of a file, the first ones and the last


def places(value: Any, most: int = 2) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all fields; of lists, the first elements."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = list(enumerate(value))[:most]
    for key, of in items:
        yield (key,)
        yield from ((key, *rest) for rest in places(of, most))


def changed(value: Any, path: tuple[Any, ...], to: str) -> bytes:
    """Return JSON in which something else stands at a place; with an empty path, in place of it all."""
    value = [json.loads(json.dumps(value))]
    holder, *keys = value, 0, *path
    for key in keys[:-1]:
        holder = holder[key]
    holder[keys[-1]] = MARK
    text = json.dumps(value[0]).replace(json.dumps(MARK), to)
    return text.encode("utf-8", "surrogatepass")


class Field(NamedTuple):
    """A field: the file within an archive, if it is one, the number of the record, and the path in it."""

    inside: str
    record: int
    path: tuple[Any, ...]


def fields_of(content: bytes) -> list[Field]:
    """Return the fields of all JSON in a file; none if it holds none."""
    if content.startswith(_SQLITE):
        return list(_fields_of_store(content))
    if content.startswith(_GZIP):
        try:
            files = members(content)
        except (tarfile.TarError, OSError):
            return []
        return [Field(name, *each[1:]) for name, inner in files.items() for each in fields_of(inner)]
    records = _records(content)
    some = sorted({*range(min(len(records), _MOST - 1)), len(records) - 1}) if records else []
    return [Field("", at, path) for at in some for path in ((), *places(records[at]))]


def with_another(content: bytes, field: Field, to: str) -> bytes:
    """Return the file with another value in a field, and digests in it as they are now."""
    if content.startswith(_SQLITE):
        return _with_row(content, field, to)
    if content.startswith(_GZIP):
        files = members(content)
        before = files[field.inside]
        files[field.inside] = after = with_another(before, field._replace(inside=""), to)
        return archive_of(refit(files, before, after, field.inside))
    if OPENING.encode() in content:
        head, _, rest = content.partition(OPENING.encode())
        block, _, foot = rest.partition(CLOSING.encode())
        text = changed(json.loads(block), field.path, to)
        return head + OPENING.encode() + text + CLOSING.encode() + foot
    value = _whole(content)
    if value is not None:
        return changed(value[0], field.path, to)
    lines = content.splitlines()
    numbers = [at for at, line in enumerate(lines) if line.strip()]
    at = numbers[field.record]
    lines[at] = changed(json.loads(lines[at]), field.path, to)
    return _resealed(b"".join(line + b"\n" for line in lines))


def refit(files: Mapping[str, bytes], before: bytes, after: bytes, but: str) -> dict[str, bytes]:
    """Return files in which the digest of one is as it is now."""
    old, new = (hashlib.sha256(content).hexdigest().encode() for content in (before, after))
    return {
        name: content.replace(old, new)
        if name != but and not content.startswith((_SQLITE, _GZIP))
        else content
        for name, content in files.items()
    }


def refit_folder(folder: Path, target: Path, before: bytes, after: bytes) -> None:
    """Write the digest of a file as it is now to the other files of its folder."""
    old, new = (hashlib.sha256(content).hexdigest().encode() for content in (before, after))
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != target:
            content = path.read_bytes()
            if old in content:
                path.write_bytes(content.replace(old, new))


def _whole(content: bytes) -> tuple[Any] | None:
    try:
        return (json.loads(content),)
    except (ValueError, RecursionError):
        return None


def _records(content: bytes) -> list[Any]:
    if OPENING.encode() in content:
        block = content.partition(OPENING.encode())[2].partition(CLOSING.encode())[0]
        return [json.loads(block)]
    if content.lstrip()[:1] not in (b"{", b"["):
        return []
    value = _whole(content)
    if value is not None:
        return [value[0]]
    try:
        return [json.loads(line) for line in content.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return []


def _resealed(content: bytes) -> bytes:
    """Return a plan with the digest of what it holds; anything else as it is."""
    try:
        head, *rest = map(json.loads, content.splitlines())
        if not isinstance(head, dict) or not is_head(head):
            return content
        plan = msgspec.convert({**head, "sha": ""}, LabelPlan)
        asked = tuple(msgspec.convert(record, AskedQuery) for record in rest)
        lines = plan_lines(sealed(msgspec.structs.replace(plan, asked=asked)))
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
    except (ValueError, TypeError, RecursionError):  # of other types: refused, whatever its digest
        return content


def _connected(content: bytes) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    # A journal beside the file cannot be taken into memory: the file is made one without.
    connection.deserialize(content[:18] + b"\x01\x01" + content[20:])
    connection.row_factory = sqlite3.Row
    return connection


def _rows(connection: sqlite3.Connection, table: str) -> list[sqlite3.Row]:
    return connection.execute(f"SELECT rowid AS number, * FROM {table} LIMIT {_MOST}").fetchall()


def _fields_of_store(content: bytes) -> Iterator[Field]:
    """Yield the columns of a store, and the fields of JSON in them; `inside` is the table."""
    try:
        connection = _connected(content)
        for table in ("replies", "batches"):
            for at, row in enumerate(_rows(connection, table)):
                for column in row.keys()[1:]:
                    yield Field(table, at, (column,))
                    if column in ("request", "reply", "keys"):
                        value = json.loads(row[column])
                        yield from (Field(table, at, (column, *path)) for path in ((), *places(value)))
    except sqlite3.DatabaseError:
        return


def _with_row(content: bytes, field: Field, to: str) -> bytes:
    connection = _connected(content)
    row = _rows(connection, field.inside)[field.record]
    column, *path = field.path
    new: dict[str, Any] = dict(row)
    if path:
        new[column] = changed(json.loads(row[column]), tuple(path), to).decode("utf-8", "replace")
    else:  # of another type than the column's
        value = json.loads(to.replace("\\ud800", "")) if len(to) < 5000 else to
        is_plain = isinstance(value, str | float | None) or (isinstance(value, int) and value < 2**63)
        new[column] = value if is_plain else to.encode()
    with connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        if field.inside == "replies":
            parts = (new["key"], new["reply"], new["created"], new["job"])
            if all(isinstance(part, str) for part in parts):
                new["checksum"] = new["checksum"] if column == "checksum" else _checksum(*parts)
        columns = [name for name in new if name != "number"]
        sets = ", ".join(f"{name} = ?" for name in columns)
        connection.execute(
            f"UPDATE OR IGNORE {field.inside} SET {sets} WHERE rowid = ?",
            [*(new[name] for name in columns), new["number"]],
        )
    return connection.serialize()
