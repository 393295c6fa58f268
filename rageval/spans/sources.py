"""The sources that spans are of, and how they are cut: chunks, each at its place in its source."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Any, NamedTuple
from unicodedata import normalize

from rageval.errors import InputError, Place
from rageval.files.jsonl import in_memory, read_records
from rageval.files.objects import records_of_frame
from rageval.files.opening import BOM, Source, chunks, limits_of, name_of, with_limits
from rageval.files.spans import SourceLine, read_chunks
from rageval.names import near_misses
from rageval.records import Chunk, is_frame
from rageval.spans.quotes import QuotePlace, SourceText, folded
from rageval.text import visible

SourcesLike = str | os.PathLike[str] | Mapping[str, str]


def as_file(given: Any, name: str) -> Any:
    """Return records, or a DataFrame, as a file of this name; a path or a file as it is."""
    if isinstance(given, str | os.PathLike) or hasattr(given, "read"):
        return given
    if is_frame(given):
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
        self._digests: dict[str, str] = {}
        self._paths: dict[str, list[str]] = {}
        if isinstance(place, Mapping):
            self._texts = {str(doc): SourceText(text) for doc, text in place.items()}
        elif os.path.isdir(place):
            self._paths = _list_files(self.name)
        else:
            for number, line in read_records(self.name, SourceLine, "a source {id, text}"):
                name = line.id if line.id is not None else line.doc_id
                if name is None or str(name) in self._texts:
                    problem = "none" if name is None else f"{visible(str(name))!r} twice"
                    raise InputError(
                        at=Place(self.name, number), expected="a different id for each source", found=problem
                    )
                self._texts[str(name)] = SourceText(line.text)
        if not self._paths and not self._texts:
            raise InputError(
                at=Place(self.name), problem="holds no text", expected="the sources of the chunks"
            )

    def __contains__(self, doc: str) -> bool:
        return doc in self._texts or doc in self._paths

    def text(self, doc: str) -> SourceText:
        """Return the text of a document; `InputError` if there is none, or two of this name."""
        if doc not in self._texts:
            paths = self._paths.get(doc, ())
            if len(paths) != 1:
                problem = "nothing" if not paths else " and ".join(map(visible, sorted(paths)[:2]))
                raise InputError(
                    at=Place(self.name), expected=f"one file for the source {visible(doc)!r}", found=problem
                )
            self._texts[doc] = SourceText(self._text_in(os.path.join(self.name, paths[0])))
        return self._texts[doc]

    def digest(self, doc: str) -> str:
        """Return the sha256 of a document's text."""
        if doc not in self._digests:
            self._digests[doc] = digest(self.text(doc).text)
        return self._digests[doc]

    def require(self, docs: Iterable[str], what: str) -> None:
        """Raise `InputError` if any of these is not there; `what` names them."""
        names = list(dict.fromkeys(docs))
        lost = [doc for doc in names if doc not in self]
        if lost:
            raise InputError(
                at=Place(self.name),
                problem=f"{len(lost):,} of {len(names):,} sources of {what} are not there, such as"
                f" {visible(lost[0])!r}",
                expected="a file of this name, with any suffix",
                remedy=near_misses(lost, self.ids),
            )

    @property
    def ids(self) -> Collection[str]:
        """The names under which documents can be asked for."""
        return [*self._texts, *self._paths]

    def _text_in(self, path: str) -> str:
        """Return the text of a file as it stands there: line ends are kept, a byte order mark is not text."""
        # A text may well be one line.
        content = b"".join(chunks(with_limits(path, self._limits), self._limits.unpacked)).removeprefix(BOM)
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                at=Place(path),
                problem=f"byte {error.start + 1} is 0x{content[error.start]:02x}, which is not UTF-8",
                expected="a text (convert it: iconv -t UTF-8)",
            ) from None


def _list_files(folder: str) -> dict[str, list[str]]:
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


class Located(NamedTuple):
    """A chunk where it stands: one place, or all where nothing tells which of several it is."""

    chunk_id: str
    places: tuple[tuple[int, int], ...]


class Chunks:
    """The chunks of a file. Those of a source are put in their places when somebody asks for them."""

    def __init__(self, source: Source, sources: Sources) -> None:
        """Read a file of chunks, whose texts stand in these sources."""
        self.name = name_of(source)
        self._sources = sources
        self._of_doc: dict[str, list[Chunk]] = {}
        self._doc_of: dict[str, str] = {}
        self._located: dict[str, _Shelf] = {}
        marks = []
        for chunk in read_chunks(source):
            self._of_doc.setdefault(chunk.doc_id, []).append(chunk)
            self._doc_of[chunk.chunk_id] = chunk.doc_id
            content = digest(chunk.text or "") if chunk.start is None else f"{chunk.start}-{chunk.end}"
            marks.append(f"{chunk.chunk_id}\t{chunk.doc_id}\t{content}\n")
        # Sorted: the same chunks in another order are the same chunking.
        self.sha = sha256("".join(sorted(marks)).encode("utf-8", "surrogatepass")).hexdigest()

    def __contains__(self, chunk: str) -> bool:
        return chunk in self._doc_of

    def __len__(self) -> int:
        return len(self._doc_of)

    @property
    def ids(self) -> Sequence[str]:
        """The ids of all chunks, in the order of the file."""
        return list(self._doc_of)

    @property
    def docs(self) -> Sequence[str]:
        """The sources that are cut."""
        return list(self._of_doc)

    def doc_of(self, chunk: str) -> str:
        """Return the source of a chunk."""
        return self._doc_of[chunk]

    def located(self, chunk: str) -> Located:
        """Return a chunk with its places."""
        return self._shelf(self._doc_of[chunk]).of_id[chunk]

    def overlapping(self, doc: str, start: int, end: int) -> Iterator[tuple[str, int]]:
        """Yield the chunks of a source that hold a part of a stretch, and how much of it."""
        if doc in self._of_doc:
            yield from self._shelf(doc).overlapping(start, end)

    def _shelf(self, doc: str) -> _Shelf:
        if doc not in self._located:
            self._located[doc] = _Shelf(_locate_chunks(self.name, self._of_doc[doc], self._sources))
        return self._located[doc]


def require_ids(chunk_ids: Collection[str], judged_ids: Iterable[str], chunks: str) -> None:
    """Raise `InputError` if some judged ids are none of the known ids of chunks."""
    there, names = frozenset(chunk_ids), list(dict.fromkeys(judged_ids))
    lost = [name for name in names if name not in there]
    if lost:
        raise InputError(
            at=Place(chunks),
            problem=f"{len(lost):,} of {len(names):,} judged ids are in no chunk, such as"
            f" {visible(lost[0])!r}",
            expected="the chunks with these ids: is it another chunking?"
            f"{near_misses(lost[:1000], chunk_ids)}",
        )


class _Shelf:
    """The chunks of one source by where they begin."""

    def __init__(self, chunks: Sequence[Located]) -> None:
        self.of_id = {chunk.chunk_id: chunk for chunk in chunks}
        places = sorted((*place, chunk.chunk_id) for chunk in chunks for place in chunk.places)
        self._places = places
        self._starts = [start for start, _, _ in places]
        self._furthest = list(accumulate((end for _, end, _ in places), max))

    def overlapping(self, start: int, end: int) -> Iterator[tuple[str, int]]:
        # From the last that begins before the end, back to where none before reaches any further.
        index = bisect_left(self._starts, end) - 1
        while index >= 0 and self._furthest[index] > start:
            first, last, chunk = self._places[index]
            if last > start:
                yield chunk, min(last, end) - max(first, start)
            index -= 1


def _locate_chunks(name: str, chunks: Sequence[Chunk], sources: Sources) -> list[Located]:
    """Return the chunks of one source with their places; those that do not fit it are an error."""
    sources.require([chunks[0].doc_id], f"the chunks of {name}")
    text = sources.text(chunks[0].doc_id)
    places_of_chunks = [_places_of(chunk, text) for chunk in chunks]
    lost = [chunk for chunk, places in zip(chunks, places_of_chunks, strict=True) if not places]
    if lost:
        raise InputError(
            at=Place(name),
            problem=f"{len(lost):,} of {len(chunks):,} chunks of {visible(chunks[0].doc_id)!r} are not"
            f" in its text, such as {visible(lost[0].chunk_id)!r}{_explain_mismatch(lost[0], text.text)}",
            expected="the text of this source, or offsets in code points",
        )
    return [
        Located(chunk.chunk_id, places)
        for chunk, places in zip(chunks, _resolve_places(chunks, places_of_chunks), strict=True)
    ]


def _places_of(chunk: Chunk, text: SourceText) -> list[QuotePlace]:
    """Return where a chunk may stand; nothing, where that is not what stands there."""
    if chunk.start is None or chunk.end is None:
        return text.places(chunk.text or "")
    there = text.text[chunk.start : chunk.end]
    # A slice beyond the end would be cut off without an error.
    if chunk.end > len(text.text):
        return []
    fits = chunk.text is None or chunk.text == there or _shape(chunk.text) == _shape(there)
    return [QuotePlace(chunk.start, chunk.end)] if fits else []


def _shape(text: str) -> str:
    return folded(text)[0].strip()


def _explain_mismatch(chunk: Chunk, text: str) -> str:
    """Return what may be the matter with offsets."""
    if chunk.end is None:
        return ""
    if chunk.end > len(text):
        size = len(text.encode("utf-8", "surrogatepass"))
        bytes_ = ": are its offsets bytes?" if chunk.end <= size else ""
        return f" (ends at {chunk.end:,}, the text has {len(text):,} code points{bytes_})"
    return f" (at {chunk.start:,} stands {text[chunk.start : chunk.end][:40]!r})"


def _resolve_places(
    chunks: Sequence[Chunk], places_of_chunks: Sequence[list[QuotePlace]]
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the places of each chunk: of several the one between those of its neighbors in the file.

    Chunks of one text, as many as there are places, take them in their order.
    """
    twins: dict[str, list[int]] = {}
    for number, (chunk, places) in enumerate(zip(chunks, places_of_chunks, strict=True)):
        if len(places) > 1:
            twins.setdefault(chunk.text or "", []).append(number)
    # The nearest chunks before and behind whose place is certain; -1 where there is none.
    certain = [places[0].start if len(places) == 1 else -1 for places in places_of_chunks]
    before = list(accumulate(certain, _carry_forward))
    after = list(accumulate(reversed(certain), _carry_forward))[::-1]
    for number, places in enumerate(places_of_chunks):
        alike = twins.get(chunks[number].text or "", []) if len(places) > 1 else []
        low, high = before[number], after[number]
        between = [place for place in places if low <= place.start and (high < 0 or place.start <= high)]
        if len(alike) == len(places):
            places = [places[alike.index(number)]]
        elif len(between) == 1:
            places = between
        yield tuple((place.start, place.end) for place in places)


def _carry_forward(last: int, new: int) -> int:
    return last if new < 0 else new
