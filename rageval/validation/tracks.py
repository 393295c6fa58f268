"""What a track asks of a file of answers, as data: bounds, rules on each record and on all together."""

from __future__ import annotations

from dataclasses import dataclass

from rageval.validation.findings import Rule
from rageval.validation.watches import Watches

SEGMENT = r"msmarco_v2\.1_doc_\d+_\d+#\d+_\d+"
SEGMENTS = "ids of MS MARCO V2.1 segments (msmarco_v2.1_doc_00_1#2_3)"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What repairs aim at: how many references, words (by a rule of `counting`) and citations a sentence.

    `ids`: citations may be ids, not only positions; `says_length`: records hold their `response_length`.
    """

    references: int | None
    words: int
    counting: str
    citations: int | None = None
    ids: bool = True
    says_length: bool = False


@dataclass(frozen=True, slots=True)
class Track:
    """A track: its name, what its records are called, its rules; `bounds` where repairs are possible."""

    name: str
    title: str
    rules: tuple[Rule, ...]
    watches: Watches
    bounds: Bounds | None = None


def track_named(name: str) -> Track:
    """The track of this name."""
    from rageval.validation import liverag, rag24, rag25, rag26

    return {"rag24": rag24.TRACK, "rag25": rag25.TRACK, "rag26": rag26.TRACK, "liverag": liverag.TRACK}[name]
