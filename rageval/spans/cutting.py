"""How sources are cut: the chunks of a file, each at its place in its source."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import NamedTuple

from rageval.errors import InputError
from rageval.files.opening import Source, name_of
from rageval.files.spans import read_chunks
from rageval.names import near_misses
from rageval.records import Chunk
from rageval.spans.aligning import QuotePlace, SourceText, folded
from rageval.spans.sources import Sources, digest
from rageval.text import visible


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
            said = digest(chunk.text or "") if chunk.start is None else f"{chunk.start}-{chunk.end}"
            marks.append(f"{chunk.chunk_id}\t{chunk.doc_id}\t{said}\n")
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
            places = _placed(self.name, self._of_doc[doc], self._sources)
            self._located[doc] = _Shelf(places)
        return self._located[doc]


def require_ids(known: Collection[str], wanted: Iterable[str], chunks: str) -> None:
    """Raise `InputError` if some judged ids are none of the known ids of chunks."""
    there, names = frozenset(known), list(dict.fromkeys(wanted))
    lost = [name for name in names if name not in there]
    if lost:
        raise InputError(
            f"{chunks}: {len(lost):,} of {len(names):,} judged ids are in no chunk, such as"
            f" {visible(lost[0])!r}; expected the chunks that they are ids of: is it another chunking?"
            + near_misses(lost[:1000], known)
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
        at = bisect_left(self._starts, end) - 1
        while at >= 0 and self._furthest[at] > start:
            first, last, chunk = self._places[at]
            if last > start:
                yield chunk, min(last, end) - max(first, start)
            at -= 1


def _placed(name: str, chunks: Sequence[Chunk], sources: Sources) -> list[Located]:
    """Return the chunks of one source with their places; those that do not fit it are an error."""
    sources.require([chunks[0].doc_id], f"the chunks of {name}")
    text = sources.text(chunks[0].doc_id)
    found = [_places_of(chunk, text) for chunk in chunks]
    lost = [chunk for chunk, places in zip(chunks, found, strict=True) if not places]
    if lost:
        raise InputError(
            f"{name}: {len(lost):,} of {len(chunks):,} chunks of {visible(chunks[0].doc_id)!r} are not in its"
            f" text, such as {visible(lost[0].chunk_id)!r}{_why(lost[0], text.text)}; expected texts of this"
            " very source, or offsets in code points"
        )
    return [
        Located(chunk.chunk_id, places) for chunk, places in zip(chunks, _settled(chunks, found), strict=True)
    ]


def _places_of(chunk: Chunk, text: SourceText) -> list[QuotePlace]:
    """Return where a chunk may stand; nothing, where that is not what stands there."""
    if chunk.start is None or chunk.end is None:
        return text.places(chunk.text or "")
    there = text.text[chunk.start : chunk.end]
    if chunk.end > len(text.text):
        return []
    fits = chunk.text is None or chunk.text == there or _shape(chunk.text) == _shape(there)
    return [QuotePlace(chunk.start, chunk.end)] if fits else []


def _shape(text: str) -> str:
    return folded(text)[0].strip()


def _why(chunk: Chunk, text: str) -> str:
    """Return what may be the matter with offsets."""
    if chunk.end is None:
        return ""
    if chunk.end > len(text):
        size = len(text.encode("utf-8", "surrogatepass"))
        bytes_ = ": are its offsets bytes?" if chunk.end <= size else ""
        return f" (ends at {chunk.end:,}, the text has {len(text):,} code points{bytes_})"
    return f" (at {chunk.start:,} stands {text[chunk.start : chunk.end][:40]!r})"


def _settled(
    chunks: Sequence[Chunk], found: Sequence[list[QuotePlace]]
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the places of each chunk: of several the one between those of its neighbours in the file.

    Chunks of one text, as many as there are places, take them in their order.
    """
    twins: dict[str, list[int]] = {}
    for number, (chunk, places) in enumerate(zip(chunks, found, strict=True)):
        if len(places) > 1:
            twins.setdefault(chunk.text or "", []).append(number)
    certain = [places[0].start if len(places) == 1 else -1 for places in found]
    before = list(accumulate(certain, _last_known))
    after = list(accumulate(reversed(certain), _last_known))[::-1]
    for number, places in enumerate(found):
        alike = twins.get(chunks[number].text or "", []) if len(places) > 1 else []
        low, high = before[number], after[number]
        between = [place for place in places if low <= place.start and (high < 0 or place.start <= high)]
        if len(alike) == len(places):
            places = [places[alike.index(number)]]
        elif len(between) == 1:
            places = between
        yield tuple((place.start, place.end) for place in places)


def _last_known(known: int, new: int) -> int:
    return known if new < 0 else new
