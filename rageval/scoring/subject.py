"""What is scored, compared, gated or reported: runs or judged answers, as one thing.

A subject is a number of systems and the judgements that they are scored by. `Runs` (evaluation.py) are
rankings beside judgements of documents, `Answers` (answers.py) a table of judged answers. What scores,
compares, gates or reports takes a subject, and asks it what is of its kind alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from rageval.scoring.rules import Rules
from rageval.scoring.scores import Scores
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.scoring.gold import Draw, Gold
    from rageval.scoring.likeness import Alike


class Scored(NamedTuple):
    """The scores of systems, what should be said of them, and why other systems have none."""

    results: list[Scores]
    remarks: list[str]
    refused: Sequence[str] = ()

    @property
    def unsaid(self) -> list[str]:
        """The remarks that stand in the scores of no system."""
        said = {text for scores in self.results for own in scores.remarks for text in _with_name(scores, own)}
        return [remark for remark in self.remarks if remark not in said]


def _with_name(scores: Scores, remark: str) -> tuple[str, str]:
    return remark, f"{visible(scores.run)}: {remark}"


class Labels(NamedTuple):
    """What people said of one system, by one measure: a value a query, None of what they judged in part.

    `failed` are the queries of which a label was asked for and failed.
    """

    by_labeller: Sequence[tuple[str, Mapping[str, float | None]]]
    failed: Collection[str]


class Held(NamedTuple):
    """What a system gave to each query, as far as two times of it can be told apart.

    `absent` are queries of which it says nothing, `lacking` those of them of which no value is known. `same`
    has a digest of what was given and judged, `nuggets` one of the list that it was judged by. `judgements`
    is the digest of judgements of documents. Of a run, `unjudged` is the share of what it shows that nobody
    judged, `unseen` that of its queries of which nothing is judged, and `bounds` are the ends of its means.
    """

    absent: frozenset[str]
    same: Mapping[str, str]
    lacking: frozenset[str] = frozenset()
    nuggets: Mapping[str, str] = {}
    repeats: Mapping[str, int] = {}
    judgements: str = ""
    rubrics: Sequence[str] = ()
    unjudged: float | None = None
    unseen: float | None = None
    bounds: Mapping[str, tuple[float, float]] = {}


class Subject(Protocol):
    """Systems, and the judgements that they are scored by."""

    gold: Gold | None

    @property
    def rules(self) -> Rules:
        """Everything besides measures and data that a number depends on."""

    @property
    def queries(self) -> Sequence[str]:
        """The queries that count, whichever of them a system answered."""

    def judged_by(self, run: str) -> tuple[set[str], set[str]]:
        """Return who judged a system, and by which rubrics, as far as the judgements say."""

    def read_gold(self, sources: Sequence[Any], draw: Draw) -> Gold:
        """Return what people said of the same systems and documents."""

    def beside(self, gold: Gold) -> Self:
        """Return the subject whose scores know people's values, too."""

    def score(self, each: Callable[..., Iterable[Scores]] = map) -> Scored:
        """Score every system; `each` lets others do a part of the work."""

    def alike(self, results: Sequence[Scores]) -> Alike:
        """Return which of the systems are the same, or the same but for the order of equal scores."""

    def held(self, scores: Scores) -> Held:
        """Return what a system gave to each query."""

    # How it meets its gold: `rageval.scoring.gold.beside` asks.

    def refuse_gold(self, gold: Gold) -> None:
        """Refuse labels that cannot tell the judge's errors."""

    def strangers(self, gold: Gold) -> Iterable[tuple[str, Sequence[str]]]:
        """Yield what people labelled and the judge knows nothing of: what these are, and which."""

    def labels(self, gold: Gold, scores: Scores) -> Iterable[Labels]:
        """Yield what people said of a system, for each of its scores."""


def digest(lines: Iterable[str]) -> str:
    """Return the SHA-256 of lines."""
    import hashlib

    found = hashlib.sha256()
    for line in lines:
        found.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return found.hexdigest()


def short_digest(lines: Iterable[str]) -> str:
    """Return as much of a digest as tells rankings and answers apart."""
    return digest(lines)[:16]
