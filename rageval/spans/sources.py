"""The texts that spans are of: a folder of text files, or a file of documents, by their ids."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from typing import Any
from unicodedata import normalize

from rageval.errors import InputError
from rageval.files.jsonl import in_memory, read_records
from rageval.files.opening import BOM, chunks, limits_of, with_limits
from rageval.files.spans import SourceLine
from rageval.names import near_misses
from rageval.spans.aligning import SourceText
from rageval.text import visible

SourcesLike = str | os.PathLike[str] | Mapping[str, str]


def as_file(given: Any, name: str) -> Any:
    """Return records, or a DataFrame, as a file of this name; a path or a file as it is."""
    if isinstance(given, str | os.PathLike) or hasattr(given, "read"):
        return given
    if hasattr(given, "columns"):
        from rageval.files.objects import records_of_frame

        return in_memory(records_of_frame(given), name)
    return in_memory(given, name)


def digest(text: str) -> str:
    """Return the sha256 of a text in UTF-8."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Sources:
    """The texts of documents, each read when it is first asked for.

    In a folder a document is called by the path of its file in it, with or without the suffix.
    """

    def __init__(self, place: SourcesLike) -> None:
        """Look at what there is, or take the texts; `InputError` if there is nothing."""
        self.name = "sources" if isinstance(place, Mapping) else os.fspath(place)
        self._limits = limits_of(place)
        self._texts: dict[str, SourceText] = {}
        self._paths: dict[str, list[str]] = {}
        if isinstance(place, Mapping):
            self._texts = {str(doc): SourceText(text) for doc, text in place.items()}
        elif os.path.isdir(place):
            self._paths = _listed(self.name)
        else:
            self._read(self.name)
        if not self._paths and not self._texts:
            raise InputError(f"{self.name}: holds no text, expected the sources of the chunks")

    def __contains__(self, doc: str) -> bool:
        return doc in self._texts or doc in self._paths

    def text(self, doc: str) -> SourceText:
        """Return the text of a document; `InputError` if there is none, or two of this name."""
        if doc not in self._texts:
            self._texts[doc] = SourceText(self._text_in(self._path(doc)))
        return self._texts[doc]

    def digest(self, doc: str) -> str:
        """Return the sha256 of a document's text."""
        return digest(self.text(doc).text)

    def require(self, docs: Iterable[str], what: str) -> None:
        """Raise `InputError` if any of these is not there; `what` names them."""
        names = list(dict.fromkeys(docs))
        lost = [doc for doc in names if doc not in self]
        if lost:
            raise InputError(
                f"{self.name}: {len(lost):,} of {len(names):,} sources of {what} are not there, such as"
                f" {visible(lost[0])!r}; expected a file of this name, with any suffix"
                + near_misses(lost, self.ids)
            )

    @property
    def ids(self) -> Collection[str]:
        """The names under which documents can be asked for."""
        return [*self._texts, *self._paths]

    def _path(self, doc: str) -> str:
        paths = self._paths.get(doc, ())
        if len(paths) != 1:
            found = "nothing" if not paths else " and ".join(map(visible, sorted(paths)[:2]))
            raise InputError(f"{self.name}: expected one file for the source {visible(doc)!r}, found {found}")
        return os.path.join(self.name, paths[0])

    def _text_in(self, path: str) -> str:
        """Return the text of a file as it stands there: line ends are kept, a byte order mark is not text."""
        # A text may well be one line.
        content = b"".join(chunks(with_limits(path, self._limits), self._limits.unpacked)).removeprefix(BOM)
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: byte {error.start + 1} is 0x{content[error.start]:02x}, which is not UTF-8;"
                " expected a text (convert it: iconv -t UTF-8)"
            ) from None

    def _read(self, path: str) -> None:
        for number, line in read_records(path, SourceLine, "a source {id, text}"):
            name = line.id if line.id is not None else line.doc_id
            if name is None or str(name) in self._texts:
                found = "none" if name is None else f"{visible(str(name))!r} twice"
                raise InputError(f"{path}:{number}: expected an id of its own for each source, found {found}")
            self._texts[str(name)] = SourceText(line.text)


def _listed(folder: str) -> dict[str, list[str]]:
    """Return the files of a folder by their names, with and without suffix; whole names go first."""
    names: dict[str, list[str]] = {}
    paths = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inside = os.path.relpath(place, folder)
        names_here = (name for name in files if not name.startswith("."))
        paths += [
            os.path.normpath(os.path.join(inside, name))
            for name in names_here
            if os.path.isfile(os.path.join(place, name))  # no pipe, from which nothing may ever come
        ]
    whole = {path.replace(os.sep, "/"): path for path in sorted(paths)}
    for name, path in whole.items():
        names.setdefault(os.path.splitext(name)[0], []).append(path)
    names |= {name: [path] for name, path in whole.items()}
    # Macs part é into e and its accent in names of files; ids are seldom written so.
    return {normalize("NFC", name): paths for name, paths in names.items()} | names
