"""Judgements of chunks become spans of sources: once, so that they outlive the chunking."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rageval import hooks
from rageval.core.remark import Remark
from rageval.errors import InputError, MissingJudgements, Place, UsageError
from rageval.files.jsonl import Id, read_records
from rageval.files.judgements import GRADED
from rageval.files.nuggets import read_nuggets
from rageval.files.opening import Limits, Source, name_of, with_limits
from rageval.files.spans import write_spans
from rageval.files.writing import whole_file
from rageval.records import Qrel, Span
from rageval.scoring.scores import EXAMPLES
from rageval.scoring.sources import as_qrels
from rageval.spans.projection import spanning
from rageval.spans.quotes import SourceText
from rageval.spans.sources import Chunks, Sources, SourcesLike, as_file, require_ids
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.typing import FileLike, Frame, QrelsLike, RecordsLike


UNANCHORED = ("error", "drop")
_LEFT_OUT = re.compile(r"\s*(?:\.{3,}|…|\[\s*(?:\.{3}|…)\s*\])\s*")
_BEYOND = 50  # code points behind a chunk, in which a quote that it cuts may end
_Pair = tuple[str, str, str]  # query, nugget, chunk


class Quote(msgspec.Struct):
    """A judgement of a chunk with the words that decided it, or where they stand in the source."""

    query_id: Id
    item_id: Id
    aspect: Id = "0"
    evidence: str | None = None
    start: int | None = None
    end: int | None = None
    status: str = "ok"


@dataclass
class Anchored:
    """Spans, how they were found, and the judgements without one because their quotes were not found."""

    spans: list[Span] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    by_offsets: int = 0
    by_quote: int = 0
    by_nugget: int = 0
    wide: int = 0
    lost: list[tuple[_Pair, str]] = field(default_factory=list)

    def remarks(self) -> Iterator[Remark]:
        """Yield how spans were found, and what could not be."""
        ways = {"by_offsets": self.by_offsets, "by_quote": self.by_quote, "by_nugget": self.by_nugget}
        if any(ways.values()):
            yield Remark("anchored_judgements", facts=ways)
        if self.wide:
            yield Remark("wide_spans", facts={"number": self.wide})
        if self.lost:
            yield Remark("lost_quotes", facts={"number": len(self.lost), "examples": self.lost_examples})

    @property
    def lost_examples(self) -> tuple[tuple[str, str, str, str], ...]:
        """The query, nugget, chunk and quote of the first that were not found."""
        return tuple((*pair, quote) for pair, quote in self.lost[:EXAMPLES])

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the spans as JSON lines, below a header that names the sources; return where they are."""
        with whole_file(Path(path)) as stream:
            for line in write_spans(self.spans, self.sources):
                stream.write(f"{line}\n".encode())
        return Path(path)


def read_quotes(source: Source) -> dict[_Pair, Quote]:
    """Return what judges quoted for (query, nugget, chunk); judgements that failed have nothing to say."""
    quotes: dict[_Pair, Quote] = {}
    for line, quote in read_records(source, Quote, "a judgement {query_id, item_id, aspect, evidence}"):
        if (quote.start is None) != (quote.end is None):
            raise InputError(at=Place(name_of(source), line), expected="both start and end, or neither")
        if quote.status in GRADED and ((quote.evidence or "").strip() or quote.start is not None):
            # Of two judges' words the first's: either is a place where the nugget stands.
            quotes.setdefault((str(quote.query_id), str(quote.aspect), str(quote.item_id)), quote)
    return quotes


def anchored(
    judged: Iterable[Qrel],
    chunks: Chunks,
    sources: Sources,
    quotes: Mapping[_Pair, Quote],
    nuggets: Mapping[tuple[str, str], str],
    unanchored: str = "error",
    rel: int = 1,
) -> Anchored:
    """Return the spans of judgements: from offsets, quotes, or the nuggets' own texts, else whole chunks.

    `MissingJudgements` if a quote is not found, unless `unanchored` is `drop`.
    """
    if unanchored not in UNANCHORED:
        raise UsageError(f"unanchored={unanchored!r}: expected one of {', '.join(UNANCHORED)}")
    rows = list(judged)
    require_ids(chunks.ids, (row.doc_id for row in rows), chunks.name)
    result = Anchored()
    listed: dict[tuple[str, str], bool] = {}
    for row in rows:
        pair = row.query_id, row.iteration
        listed.setdefault(pair, False)
        if row.relevance < rel:
            continue
        key = (*pair, row.doc_id)
        span = _anchor(row, chunks, sources, quotes.get(key), nuggets.get(pair, ""), result)
        # One that was lost is left out with its nugget: nobody knows that no chunk holds it.
        listed[pair] = True
        if span is not None:
            result.spans.append(span)
    if result.lost and unanchored == "error":
        raise MissingJudgements(
            f"{hooks.lost_quotes(len(result.lost), result.lost_examples)}; expected words of the chunk: judge"
            " these again, or use --unanchored drop (unanchored='drop' in Python) to leave them out"
        )
    result.spans = _merge_spans(result.spans)
    # A nugget that no chunk held is listed all the same, or recall would not know of it.
    result.spans += [Span(*pair, grade=0) for pair, is_held in listed.items() if not is_held]
    result.sources = {
        doc: sources.digest(doc) for doc in dict.fromkeys(s.doc_id for s in result.spans) if doc
    }
    return result


def _anchor(
    row: Qrel, chunks: Chunks, sources: Sources, quote: Quote | None, nugget: str, result: Anchored
) -> Span | None:
    """Return the span of one judgement, and count how it was found; None if its quote stands nowhere."""
    doc = chunks.doc_of(row.doc_id)
    text = sources.text(doc)
    if not isinstance(row.relevance, int):
        raise InputError(
            at=Place(f"document {visible(row.doc_id)} of query {visible(row.query_id)}"),
            problem=f"is judged {row.relevance}",
            remedy="spans have whole grades",
        )
    span = Span(row.query_id, row.iteration, doc, grade=row.relevance)
    places = chunks.located(row.doc_id).places
    if quote is not None and quote.start is not None and quote.end is not None:
        if not 0 <= quote.start < quote.end <= len(text.text):
            raise InputError(
                at=Place(
                    f"offsets {quote.start} to {quote.end} of {visible(row.query_id)}"
                    f"/{visible(row.iteration)}"
                ),
                expected=f"some within the {len(text.text):,} code points of {visible(doc)}",
            )
        result.by_offsets += 1
        return spanning(span, text, quote.start, quote.end)
    words = "" if quote is None else quote.evidence or ""
    if words:
        place = _find_pieces(text, places, _LEFT_OUT.split(words))
        if place is None:
            result.lost.append(((row.query_id, row.iteration, row.doc_id), words))
            return None
        result.by_quote += 1
        return spanning(span, text, *place)
    place = _find_pieces(text, places, [nugget]) if nugget else None
    if place is not None:
        result.by_nugget += 1
        return spanning(span, text, *place)
    result.wide += 1
    (start, end), *others = places
    return spanning(span._replace(wide=True), text, start, end)._replace(also=tuple(others))


def _find_pieces(
    text: SourceText, places: Sequence[tuple[int, int]], pieces: Sequence[str]
) -> tuple[int, int] | None:
    """Return where the pieces of a quote stand in a chunk, from the first to the last; None if one does not.

    A quote may go on behind the chunk's edge, where the chunks of a judge overlapped.
    """
    for start, end in places:
        # The first piece may begin before the chunk; each further one stands behind the one before it.
        position, begin, last = start, -1, -1
        for piece in filter(str.strip, pieces):
            reach = len(piece) + _BEYOND
            matches = text.places(piece, position if begin >= 0 else max(0, start - reach), end + reach)
            inside = [place for place in matches if place.start < end and start < place.end]
            if not inside:
                begin = -1
                break
            # Of two places the one that the chunk holds whole, as the judge read no more than that.
            whole = [place for place in inside if start <= place.start and place.end <= end]
            place = (whole or inside)[0]
            begin = place.start if begin < 0 else begin
            position = last = place.end
        if begin >= 0:
            return begin, last
    return None


def _merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Return spans once each: two judgements may quote one place, or overlapping chunks may hold it."""
    merged: dict[tuple[str, str, str], list[Span]] = {}
    for span in spans:
        same = merged.setdefault(span[:3], [])
        index = next((index for index, other in enumerate(same) if span.places[0] in other.places), None)
        if index is None:
            same.append(span)
        else:  # quoted from two chunks, or where a copy of it stands
            grade, is_wide = max(span.grade, same[index].grade), span.wide and same[index].wide
            same[index] = same[index]._replace(grade=grade, wide=is_wide)
    return [span for same in merged.values() for span in same]


def anchor(
    qrels: QrelsLike,
    chunks: RecordsLike | Frame,
    sources: SourcesLike,
    *,
    quotes: RecordsLike | Frame | None = None,
    nuggets: FileLike | None = None,
    rel: int = 1,
    unanchored: str = "error",
    limits: Limits | None = None,
) -> Anchored:
    """Make spans of sources from judgements of chunks, so that they do not depend on the chunking.

    Parameters
    ----------
    qrels
        The judgements, as for `evaluate`.
    chunks
        The chunks that were judged: lines {id, doc_id, start, end}, or {id, doc_id, text}; or dicts, or a
        DataFrame.
    sources
        A folder with the texts, a file of lines {id, text}, or {id: text}.
    quotes
        Judgements {query_id, item_id, aspect, evidence} with the words that decided them, or their offsets in
        the source, `start` and `end`.
    nuggets
        The nuggets, whose texts may be in the chunks.
    rel
        The lowest grade that is support: only these judgements get spans.
    unanchored
        What to do with a quote that is not found: `error`, or leave it out (`drop`).
    limits
        How large a line, a record or an id may be.

    Returns
    -------
    Anchored
        `spans`, the sha256 of each source, and how the spans were found; `save(path)` writes them.

    Examples
    --------
    >>> import json, pathlib, tempfile, rageval.spans
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (place / "speech.txt").write_text("It rained. Nobody came.")
    >>> _ = (place / "old.jsonl").write_text('{"id": "c1", "doc_id": "speech", "start": 0, "end": 23}')
    >>> judgement = {"query_id": "q", "item_id": "c1", "aspect": "n", "evidence": "it rained", "grade": 1}
    >>> _ = (place / "judged.jsonl").write_text(json.dumps(judgement))
    >>> anchored = rageval.spans.anchor(
    ...     {"q": {"n": {"c1": 1}}}, place / "old.jsonl", place, quotes=place / "judged.jsonl"
    ... )
    >>> anchored.spans[0].start, anchored.spans[0].end, anchored.spans[0].quote
    (0, 9, 'It rained')
    """
    qrels, nuggets = with_limits(qrels, limits), with_limits(nuggets, limits)
    texts = Sources(with_limits(sources, limits))
    quoted = read_quotes(with_limits(as_file(quotes, "quotes"), limits)) if quotes is not None else {}
    nugget_texts = (
        {} if nuggets is None else {(n.query_id, n.nugget_id): n.text for n in read_nuggets(nuggets)}
    )
    cut = Chunks(with_limits(as_file(chunks, "chunks"), limits), texts)
    return anchored(as_qrels(qrels), cut, texts, quoted, nugget_texts, unanchored, rel)
