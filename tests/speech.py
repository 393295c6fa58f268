"""A public speech with 76 questions and 95 spans (tests/golden/spans), chunks of it, and a plain BM25."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from functools import cache
from pathlib import Path

from rageval.files.spans import write_spans
from rageval.records import Span
from rageval.spans.sources import digest

GOLDEN = Path(__file__).parent / "golden" / "spans"
DOC = "state_of_the_union"
TEXT = (GOLDEN / f"{DOC}.md").read_bytes().decode()
_ROWS = list(csv.DictReader((GOLDEN / "questions.csv").read_text("utf-8").splitlines()))
QUESTIONS = {str(number): row["question"] for number, row in enumerate(_ROWS)}
SPANS = [
    Span(
        str(number),
        str(index),
        DOC,
        reference["start_index"],
        reference["end_index"],
        reference["content"],
        digest(reference["content"]),
    )
    for number, row in enumerate(_ROWS)
    for index, reference in enumerate(json.loads(row["references"]))
]
WORDS = [match.span() for match in re.finditer(r"\S+", TEXT)]
Cut = dict[str, tuple[int, int]]
CUTS = {(512, 0): 0.9282, (256, 0): 0.9152, (1024, 0): 0.9403, (512, 128): 0.9363}  # with α-nDCG@10 of BM25


def cut(size: int, overlap: int = 0) -> Cut:
    """Chunks of so many words, the next beginning so many before the end of the last."""
    begins = [
        index for index in range(0, len(WORDS), size - overlap) if not index or index + overlap < len(WORDS)
    ]
    last = len(WORDS) - 1
    return {
        f"c{n}": (WORDS[index][0], WORDS[min(index + size - 1, last)][1]) for n, index in enumerate(begins)
    }


@cache
def bm25(size: int, overlap: int = 0) -> dict[str, dict[str, float]]:
    """What BM25 (k1 0.9, b 0.4) finds for each question."""
    counts = {name: Counter(_words(TEXT[slice(*place)])) for name, place in cut(size, overlap).items()}
    lengths = {name: sum(count.values()) for name, count in counts.items()}
    usual, document_frequencies = (
        sum(lengths.values()) / len(lengths),
        Counter(word for c in counts.values() for word in c),
    )
    idf = {
        word: math.log(1 + (len(counts) - n + 0.5) / (n + 0.5)) for word, n in document_frequencies.items()
    }
    return {
        query: {
            name: sum(
                idf[word] * count[word] / (count[word] + 0.9 * (0.6 + 0.4 * lengths[name] / usual))
                for word in _words(question)
                if word in count
            )
            for name, count in counts.items()
        }
        for query, question in QUESTIONS.items()
    }


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def write(
    folder: Path, chunks: Cut, spans: list[Span] = SPANS, text: str = TEXT, as_texts: bool = False
) -> list[str]:
    """Write spans, chunks and the source; return their names."""
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / f"{DOC}.md").write_bytes(text.encode())
    (folder / "spans.jsonl").write_text("\n".join(write_spans(spans, {DOC: digest(TEXT)})), "utf-8")
    with (folder / "chunks.jsonl").open("w") as file:
        for name, (start, end) in chunks.items():
            where = {"text": TEXT[start:end]} if as_texts else {"start": start, "end": end}
            file.write(json.dumps({"id": name, "doc_id": DOC, **where}) + "\n")
    return [str(folder / name) for name in ("spans.jsonl", "chunks.jsonl", "docs")]


def brute(chunks: Cut, share: float = 0.5) -> dict[str, dict[str, set[str]]]:
    """Which chunks hold which spans, by looking at each pair."""
    scores: dict[str, dict[str, set[str]]] = {}
    for span in SPANS:
        least = share * (span.end - span.start)
        scores.setdefault(span.query_id, {})[span.nugget_id] = {
            name
            for name, (start, end) in chunks.items()
            if min(end, span.end) - max(start, span.start) >= least
        }
    return scores
