"""Convert span judgements to judgements of chunks, with a rule for spans that are cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval import hooks
from rageval.core.remark import Remark, Scope
from rageval.errors import InputError, Place, UsageError
from rageval.files.objects import ids, whole
from rageval.files.opening import LARGEST_GRADE, Limits, Source, name_of, with_limits
from rageval.files.spans import SpanFile, read_chunks, read_spans, write_spans
from rageval.files.trec import QrelsRows
from rageval.measures.covering import Covering, Region
from rageval.names import near_misses
from rageval.records import Span
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import Order, Run
from rageval.scoring.scores import EXAMPLES
from rageval.spans.quotes import SourceText
from rageval.spans.sources import Chunks, Sources, SourcesLike, as_file, digest, require_ids
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.measures.base import Measure
    from rageval.typing import Frame, RecordsLike


_SHARE = re.compile(r"share\s*>=\s*(\d*\.?\d+)")
USUAL_OVERLAP = "share>=0.5"
STALE = ("error", "drop")


class Overlap(NamedTuple):
    """How much of a span must be in a chunk for the chunk to hold it: the least share, 0 for any part."""

    word: str
    share: float

    @classmethod
    def of(cls, text: str) -> Overlap:
        """Return the rule of this name.

        >>> Overlap.of("whole"), Overlap.of("share>=.5").word
        (Overlap(word='whole', share=1.0), 'share>=0.5')
        """
        rules = {"whole": cls("whole", 1.0), "any": cls("any", 0.0)}
        match = _SHARE.fullmatch(text.strip())
        if text not in rules and (match is None or not 0 < float(match[1]) <= 1):
            raise UsageError(
                f"--overlap {visible(text)!r}: expected whole, any, or the share of a span that a chunk must"
                " hold, as in 'share>=0.5' (above 0, at most 1)"
            )
        return rules[text] if match is None else cls(f"share>={float(match[1]):g}", float(match[1]))

    def holds(self, overlap: int, length: int) -> bool:
        """Return whether a chunk with so much of a span of this length holds it."""
        # "any" has a least share of 0, which without the first half would hold of chunks elsewhere.
        return overlap > 0 and overlap / length >= self.share


@dataclass(frozen=True)
class Projected:
    """Span judgements converted for these chunks.

    `grades` is {query: {nugget: {chunk: grade}}}. A nugget in no chunk has a grade of 0 there, for the chunk
    with most of it, and is among `unheld`, unless a chunk may contain it. `undecided` are the chunks that
    have a part of a wide span: {query: {chunk: nuggets}}. `spans` are those that stand in the sources as
    these are now, `stale` the others, `moved` how many were found again at another place.
    """

    name: str
    spans: Sequence[Span]
    chunks: Chunks
    overlap: Overlap
    sha: str
    grades: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    undecided: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    unheld: list[tuple[str, str]] = field(default_factory=list)
    stale: Sequence[Span] = ()
    moved: int = 0

    @property
    def signature(self) -> dict[str, str]:
        """The signature of numbers made with it: the gold, the rule and the chunks."""
        parts = {"gold": f"spans@{self.sha[:8]}", "overlap": self.overlap.word, "chunks": self.chunks.sha[:8]}
        return parts | ({"stale": f"{len(self.stale)}-dropped"} if self.stale else {})

    @property
    def nuggets(self) -> int:
        """How many nuggets there are."""
        return sum(map(len, self.grades.values()))

    @property
    def open_pairs(self) -> int:
        """How many pairs of a nugget and a chunk are undecided."""
        return sum(len(nuggets) for chunks in self.undecided.values() for nuggets in chunks.values())

    def remarks(self) -> Iterator[Remark]:
        """Yield the remarks on the spans and chunks."""
        about = Scope(file=self.name)
        if self.stale:
            total = len(self.stale) + len(self.spans)
            examples = _span_examples(self.stale)
            facts = {"number": len(self.stale), "total": total, "examples": examples}
            yield Remark("stale_spans", about, facts)
        if self.moved:
            yield Remark("moved_spans", about, {"number": self.moved})
        if self.unheld:
            yield Remark(
                "unheld_nuggets",
                about,
                {
                    "number": len(self.unheld),
                    "total": self.nuggets,
                    "overlap": self.overlap.word,
                    "examples": [f"{query}/{nugget}" for query, nugget in self.unheld[:EXAMPLES]],
                },
            )
        if self.undecided:
            yield Remark("undecided_pairs", about, self._open_facts)

    @property
    def _open_facts(self) -> dict[str, int]:
        return {"number": self.open_pairs, "chunks": sum(map(len, self.undecided.values()))}

    def require_chunks(self, run: str, retrieved: Sequence[str]) -> None:
        """Raise `InputError` if a run holds documents that are none of the chunks."""
        unknown = [doc for doc in retrieved if doc not in self.chunks]
        if unknown:
            raise InputError(
                at=Place(visible(run)),
                problem=f"{len(unknown):,} of the {len(retrieved):,} chunks it retrieved are not in"
                f" {visible(self.chunks.name)}, such as {visible(unknown[0])!r}",
                expected="a run over these chunks: was it made with another chunking?",
                remedy=near_misses(unknown[:1000], self.chunks.ids),
            )

    def refuse_open(self, way: str) -> None:
        """Raise `InputError` where pairs are undecided: what is made of them is no number but a range."""
        if self.undecided:
            pairs = str(Remark("undecided_pairs", facts=self._open_facts))
            raise InputError(
                at=Place(self.name),
                problem=pairs,
                remedy=f"{way} anchor with --quotes, or use chunks that hold the old ones whole",
            )

    def coverings(self, rankings: Mapping[str, Iterable[str]]) -> Iterator[Covering]:
        """Yield what each query's ranked chunks cover of the sources, beside its spans."""
        gold: dict[str, list[tuple[int, tuple[Region, ...]]]] = {}
        for span in self.spans:
            if span.doc_id:
                places = tuple((span.doc_id, *place) for place in span.places)
                gold.setdefault(span.query_id, []).append((span.grade, places))
        for query, docs in rankings.items():
            regions = [
                tuple((self.chunks.doc_of(doc), *place) for place in self.chunks.located(doc).places)
                for doc in docs
            ]
            yield Covering(query, regions, gold.get(query, []))


def projected(
    gold: SpanFile, chunks: Chunks, sources: Sources, overlap: str = USUAL_OVERLAP, stale: str = "error"
) -> Projected:
    """Return span judgements converted for these chunks.

    Spans of a source that has changed are looked for by their quotes first. One whose text is gone is an
    error, or left out with `stale="drop"`, and its nugget, too, unless it has another span.
    """
    if stale not in STALE:
        raise UsageError(f"stale={stale!r}: expected one of {', '.join(STALE)}")
    rule = Overlap.of(overlap)
    current_spans, stale_spans, relocated = _relocate_spans(gold, sources)
    if stale_spans and stale == "error":
        stale_text = hooks.stale_spans(len(stale_spans), len(gold.spans), _span_examples(stale_spans))
        raise InputError(
            at=Place(gold.name),
            problem=stale_text,
            remedy="judge and anchor the changed text again, or use --stale drop (stale='drop' in"
            " Python) to leave them out",
        )
    # Nuggets without a span stand in no source, and are found in no chunk.
    cut = {span.doc_id for span in current_spans if span.doc_id}
    if cut and not cut & set(chunks.docs):
        raise InputError(
            at=Place(chunks.name),
            problem=f"none of its {len(chunks):,} chunks is of a source that a span is in, such as"
            f" {visible(min(cut))!r}",
            expected="doc_id to name the same sources",
        )
    # Of all spans, also of those that are left out: it names the gold, and not what became of it.
    sha = sha256("\n".join(sorted(write_spans(gold.spans, gold.sources))).encode()).hexdigest()
    projection = Projected(gold.name, current_spans, chunks, rule, sha, stale=stale_spans, moved=relocated)
    of_nugget: dict[tuple[str, str], list[Span]] = {}
    for span in current_spans:
        of_nugget.setdefault((span.query_id, span.nugget_id), []).append(span)
    for (query, nugget), spans in of_nugget.items():
        _project_nugget(projection, query, nugget, spans)
    return projection


def _project_nugget(projection: Projected, query: str, nugget: str, spans: Sequence[Span]) -> None:
    """Add to a projection which chunks hold one nugget, and which may."""
    chunk_grades: dict[str, int] = {}
    may: set[str] = set()
    most, nearest = 0.0, ""
    for span in spans:
        length = span.end - span.start
        # Sorted, so that of two chunks with as much of it the same one is nearest in every order of a file.
        for chunk, overlap in sorted(_overlapping_chunks(span, projection.chunks)):
            if overlap / length > most:
                most, nearest = overlap / length, chunk
            # Of a wide span nobody knows the place within: a chunk surely holds it only if it has all.
            if overlap == length if span.wide else projection.overlap.holds(overlap, length):
                chunk_grades[chunk] = max(chunk_grades.get(chunk, span.grade), span.grade)
            elif span.wide:
                may.add(chunk)
    grades = projection.grades.setdefault(query, {})
    # A nugget that no chunk holds must still be known, or recall would leave it out of what there is.
    grades[nugget] = chunk_grades or {nearest or projection.chunks.ids[0]: 0}
    for chunk in may - chunk_grades.keys():
        projection.undecided.setdefault(query, {}).setdefault(chunk, set()).add(nugget)
    if not chunk_grades and not may:
        projection.unheld.append((query, nugget))


def _overlapping_chunks(span: Span, chunks: Chunks) -> Iterable[tuple[str, int]]:
    """Return the chunks that hold a part of a span, wherever it stands, and the most that each has of it."""
    most: dict[str, int] = {}
    length = span.end - span.start
    for start, end in span.places if span.doc_id else ():
        for chunk, overlap in chunks.overlapping(span.doc_id, start, end):
            # A copy may be longer by a blank or a sign: what counts is the share.
            share = overlap if end - start == length else overlap * length // (end - start)
            most[chunk] = max(most.get(chunk, 0), share)
    return most.items()


def _relocate_spans(gold: SpanFile, sources: Sources) -> tuple[list[Span], list[Span], int]:
    """Return the spans as they stand now, those whose text is gone, and how many stand at another place."""
    current_spans: list[Span] = []
    stale_spans: list[Span] = []
    relocated = 0
    for span in gold.spans:
        current = _current(span, gold.sources.get(span.doc_id), sources)
        if current is None:
            stale_spans.append(span)
        else:
            current_spans.append(current)
            relocated += (current.start, current.end) != (span.start, span.end)
    return current_spans, stale_spans, relocated


def _current(span: Span, recorded_digest: str | None, sources: Sources) -> Span | None:
    """Return a span as it stands in the sources now; None if its text is gone."""
    if not span.doc_id:
        return span
    if span.doc_id not in sources:
        return None
    text = sources.text(span.doc_id)
    # In a source that has changed, copies of the text may stand at other places, also if the span does not.
    is_same = recorded_digest is None or recorded_digest == sources.digest(span.doc_id)
    if is_same and _is_in_place(span, text) and _are_copies_within(span, text):
        return span
    return _relocate(span, text)


def _is_in_place(span: Span, text: SourceText) -> bool:
    """Return whether a span's text stands at its offsets."""
    there = text.text[span.start : span.end]
    # Slices that reach beyond the end are cut off without an error.
    if len(there) < span.end - span.start:
        return False
    # Where texts may not be passed on, a span holds only the digest of its quote.
    return digest(there) == span.sha256 if span.sha256 else there == span.quote


def _are_copies_within(span: Span, text: SourceText) -> bool:
    """Return whether the source is long enough for all copies of a span."""
    return all(end <= len(text.text) for _, end in span.also)


def _relocate(span: Span, text: SourceText) -> Span | None:
    """Return a span at the place nearest to its old one where its quote stands; None if it stands nowhere."""
    if not span.quote:
        if not _is_in_place(span, text):
            return None
        if span.wide:
            return span if _are_copies_within(span, text) else None
        return span._replace(also=text.copies((span.start, span.end)))
    places = text.places(span.quote)
    if not places:
        return None
    # Edits before it move a text a little; a copy of it stands far away.
    nearest = min(places, key=lambda place: (abs(place.start - span.start), place.start))
    return spanning(span, text, nearest.start, nearest.end)


def spanning(span: Span, text: SourceText, start: int, end: int) -> Span:
    """Return the span at a place of a text, with what stands there, and where that stands besides."""
    quote = text.text[start:end]
    also = () if span.wide else text.copies((start, end))
    return span._replace(start=start, end=end, quote=quote, sha256=digest(quote), also=also)


def _span_examples(spans: Sequence[Span]) -> list[tuple[str, str, str, str]]:
    return [(span.query_id, span.nugget_id, span.doc_id, span.quote) for span in spans[:EXAMPLES]]


class SpanQrels(Qrels):
    """Judgements of chunks that were made from spans of their sources.

    What is not judged is known: its ids are of these chunks, and what is no gold there is no hole.
    """

    projected: Projected
    is_complete = True
    looks_at_run = True

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"projected": self.projected}

    @property
    def undecided(self) -> Mapping[str, Mapping[str, Collection[str]]]:  # type: ignore[override]  # of all others it is empty
        """The chunks of each query that have a part of a wide span."""
        return self.projected.undecided

    @property
    def provenance(self) -> Mapping[str, str]:  # type: ignore[override]  # of all others it is empty
        """The gold, the rule and the chunks."""
        return self.projected.signature

    def remarks(self) -> Iterable[Remark]:
        """Return what should be known of how they were made."""
        return self.projected.remarks()

    def refuse_undecided(self, way: str) -> None:
        """Raise `InputError` where chunks have a part of a wide span."""
        self.projected.refuse_open(way)

    def refuse_other_documents(self, name: str, read: Callable[[], Run]) -> None:
        """Raise `InputError` for a run that holds documents which are none of the chunks."""
        judged = set(self.query_ids)
        retrieved = [doc for query, docs in read().ranked(Order()) if query in judged for doc in docs]
        self.projected.require_chunks(name, list(dict.fromkeys(retrieved)))

    def require_spans(self, measure: Measure) -> None:
        """Do nothing: these are made of spans."""

    def supporting(self, rel: int) -> dict[str, dict[str, set[str]]]:
        """Return the chunks that support each nugget, also those that may hold another one."""
        return {
            query: {
                nugget: {chunk for chunk, grade in chunks.items() if grade >= rel}
                for nugget, chunks in nuggets.items()
            }
            for query, nuggets in self.projected.grades.items()
        }

    def coverings(self, rankings: Mapping[str, Iterable[str]]) -> Iterable[Covering]:
        """Return what each query's ranked chunks cover of the sources, beside its spans."""
        return self.projected.coverings(rankings)

    def fingerprint(self) -> None:
        """Return nothing: these judgements are put on the chunks of each run, and differ by run."""

    def share_below(self, rel: int) -> float:
        """Return 0: spans say all that is relevant."""
        return 0.0

    def digest(self) -> str:
        """Return the digest of the spans, whatever the chunks."""
        return self.projected.sha


def qrel_rows(projection: Projected) -> Iterator[tuple[str, str, str, int]]:
    """Yield (query, nugget, chunk, grade): what chunks hold, and a grade of 0 for what none does."""
    for query, nuggets in projection.grades.items():
        for nugget, chunks in nuggets.items():
            for chunk, grade in sorted(chunks.items()):
                yield query, nugget, chunk, grade


def project(
    spans: RecordsLike | Frame,
    chunks: RecordsLike | Frame,
    sources: SourcesLike,
    *,
    overlap: str = USUAL_OVERLAP,
    stale: str = "error",
    limits: Limits | None = None,
) -> SpanQrels:
    """Make judgements of chunks from spans of their sources.

    Parameters
    ----------
    spans
        A file of spans, such as `rageval spans anchor` writes, or one of LegalBench-RAG; or dicts, or a
        DataFrame.
    chunks
        A file of chunks: lines {id, doc_id, start, end}, or {id, doc_id, text}; or dicts, or a DataFrame.
    sources
        A folder with the texts, a file of lines {id, text}, or {id: text}.
    overlap
        How much of a span a chunk must contain: `share>=0.5`, another share, `whole` or `any`.
    stale
        What to do with a span whose text is no longer in the source: `error`, or leave it out (`drop`).
    limits
        How large a line, a record or an id may be.

    Returns
    -------
    SpanQrels
        The judgements. Their signature names their inputs, and they include nuggets that no chunk contains.

    Examples
    --------
    >>> import json, pathlib, tempfile, rageval.spans
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (place / "speech.txt").write_text("It rained. Nobody came.")
    >>> gold = {"query_id": "q", "nugget_id": "n", "doc_id": "speech", "start": 0, "end": 10}
    >>> _ = (place / "gold.jsonl").write_text(json.dumps({**gold, "quote": "It rained."}))
    >>> chunk = {"id": "c1", "doc_id": "speech", "start": 0, "end": 12}
    >>> _ = (place / "chunks.jsonl").write_text(json.dumps(chunk))
    >>> list(rageval.spans.project(place / "gold.jsonl", place / "chunks.jsonl", place))
    [Qrel(query_id='q', doc_id='c1', relevance=1, iteration='n')]
    """
    gold = read_spans(with_limits(as_file(spans, "spans"), limits))
    if not gold.spans:
        raise InputError(at=Place(gold.name), problem="holds no spans", expected="spans of sources")
    texts = Sources(with_limits(sources, limits))
    cut = Chunks(with_limits(as_file(chunks, "chunks"), limits), texts)
    return qrels_of(projected(gold, cut, texts, overlap, stale))


def qrels_of(projection: Projected) -> SpanQrels:
    """Return the judgements of chunks made from spans; an undecided chunk is not judged."""
    # Of a chunk that may hold one nugget nothing is said at all: judged by halves it would count as judged.
    rows = [row for row in qrel_rows(projection) if row[2] not in projection.undecided.get(row[0], ())]
    there = {(query, nugget) for query, nugget, _, _ in rows}
    listed = [(query, nugget) for query, nuggets in projection.grades.items() for nugget in nuggets]
    lost = [pair for pair in listed if pair not in there]
    name = projection.name
    query, nugget, chunk, grade = zip(*rows, strict=True) if rows else ((), (), (), ())
    columns = QrelsRows(
        name,
        range(1, len(rows) + 1),
        ids(query, name, "query_id"),
        ids(chunk, name, "id"),
        ids(nugget, name, "nugget_id"),
        whole(grade, name, "grade", LARGEST_GRADE),
    )
    unsupported = list(
        zip(
            ids([q for q, _ in lost], name, "query_id"),
            ids([n for _, n in lost], name, "nugget_id"),
            strict=True,
        )
    )
    qrels = SpanQrels.of_rows(name, [columns] if rows else [], unsupported=unsupported)
    qrels.declared, qrels.projected = True, projection
    return qrels


def require_judged_chunks(chunks: Source, qrels: Qrels) -> None:
    """Raise `InputError` if judged documents are none of the chunks of a file."""
    judged = (doc for _, docs, _ in qrels.documents() for doc in docs)
    require_ids([chunk.chunk_id for chunk in read_chunks(chunks)], judged, name_of(chunks))
