"""What is scored, compared, gated or reported: runs or judged answers, as one thing, beside its gold.

A subject is a number of systems and the judgements that they are scored by. `Runs` (evaluation.py) are
rankings beside judgements of documents, `Answers` (answers.py) a table of judged answers. What scores,
compares, gates or reports takes a subject, and asks it what is of its kind alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from rageval import hooks
from rageval.scoring.likeness import Likenesses
from rageval.scoring.rules import Rules
from rageval.scoring.scores import RunFingerprint, Scored, Scores
from rageval.subjects import SubjectKind

if TYPE_CHECKING:
    from rageval.scoring.gold import Draw, Gold


class Subject(Protocol):
    """Systems, and the judgements that they are scored by."""

    gold: Gold | None

    @property
    def kind(self) -> SubjectKind:
        """The kind of subject that it is."""

    @property
    def rules(self) -> Rules:
        """Everything besides measures and data that a number depends on."""

    @property
    def systems(self) -> Sequence[str]:
        """The systems, by name, whether they could be scored or not."""

    @property
    def queries(self) -> Sequence[str]:
        """The queries that count, whichever of them a system answered."""

    def judged_by(self, run: str) -> tuple[set[str], set[str]]:
        """Return who judged a system, and by which rubrics, as far as the judgements say."""

    def require_comparable(self) -> None:
        """Raise `UsageError` where its systems cannot be compared under its rules."""

    def read_gold(self, sources: Sequence[Any], draw: Draw) -> Gold:
        """Return what people said of the same systems and documents."""

    def with_gold(self, gold: Gold) -> Self:
        """Return the subject whose scores know people's values, too."""

    def score(self, run_all: Callable[..., Iterable[Scores]] = map) -> Scored:
        """Score every system; `run_all` lets others do a part of the work."""

    def likenesses(self, results: Sequence[Scores]) -> Likenesses:
        """Return which of the systems are the same, or the same but for the order of equal scores."""

    def fingerprint(self, scores: Scores) -> RunFingerprint:
        """Return what a system gave to each query."""


AnySubject = TypeVar("AnySubject", bound=Subject)


def with_labels(subject: AnySubject, options: Any) -> AnySubject:
    """Return the subject with the human labels that the options of a command name, if they name any."""
    if not options.gold:
        return subject
    return subject.with_gold(subject.read_gold(list(options.gold), hooks.drawn(options.gold_chosen)))
