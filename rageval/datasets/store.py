"""Documents by id, out of a database that is made when it is first needed."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec

from rageval.datasets import home
from rageval.errors import OutputError

_AT_ONCE = 500  # ids a question to the database may name


class DocumentStore:
    """The documents of a data set by id, made of the files that are there, and anew when these change."""

    def __init__(
        self, folder: Path, role: str, documents: Callable[[], Iterator[Any]], kind: type[Any] | None
    ) -> None:
        kept = home.manifest_of(folder).get(role, [])
        version = zlib.crc32("".join(file.sha256 for file in kept).encode())
        self._path = folder / f"documents-{version:08x}.sqlite"
        self._folder, self._documents, self._kind = folder, documents, kind

    def path(self) -> str:
        return str(self._path)

    def built(self) -> bool:
        return self._path.is_file()

    def build(self) -> None:
        """Make the database, unless it is there; of several processes one does."""
        if self.built():
            return
        with home.locked(self._folder):
            if self.built():
                return
            for old in self._folder.glob("*documents-*.sqlite*"):
                with suppress(OSError):
                    old.unlink()
            beside = self._path.with_name(f".{self._path.name}.part")
            try:
                self._write(beside)
                beside.replace(self._path)
            except (sqlite3.Error, OSError) as error:
                raise OutputError(f"{self._path}: cannot be written: {error}") from error
            finally:
                with suppress(OSError):
                    beside.unlink()

    def _write(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("PRAGMA synchronous = OFF")
            database.execute("CREATE TABLE document (id TEXT PRIMARY KEY, fields BLOB)")
            rows = ((document.doc_id, _packed(document)) for document in self._documents())
            database.executemany("INSERT OR REPLACE INTO document VALUES (?, ?)", rows)
            database.commit()

    def get(self, doc_id: str, field: str | None = None) -> Any:
        """The document, or one of its fields; a KeyError if there is none of this id."""
        found = self.get_many([doc_id], field)
        if doc_id not in found:
            raise KeyError(doc_id)
        return found[doc_id]

    def get_many(self, doc_ids: Iterable[str], field: str | None = None) -> dict[str, Any]:
        """Those that there are, by id."""
        found = {document.doc_id: document for document in self.get_many_iter(doc_ids)}
        return {name: getattr(document, field) for name, document in found.items()} if field else found

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[Any]:
        """Those that there are."""
        self.build()
        names = list(doc_ids)
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as database:
            for start in range(0, len(names), _AT_ONCE):
                some = names[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"SELECT fields FROM document WHERE id IN ({marks})"
                for (packed,) in database.execute(query, some):
                    yield self._unpacked(packed)

    def count(self) -> int:
        self.build()
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as database:
            found: int = database.execute("SELECT count(*) FROM document").fetchone()[0]
            return found

    def __iter__(self) -> Iterator[Any]:
        return self._documents()

    def _unpacked(self, packed: bytes) -> Any:
        fields = msgspec.json.decode(zlib.decompress(packed))
        return self._kind(*fields) if self._kind else fields


def _packed(document: Any) -> bytes:
    return zlib.compress(msgspec.json.encode(tuple(document)), 1)
