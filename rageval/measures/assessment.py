"""What a measure of answers sees: one answer, as one judge saw it.

    @rageval.measure
    def supported(answer: Assessment):
        "Share of the nuggets that the answer supports in full."
        nuggets = answer.judged("nugget support")
        return sum(nugget.label == "support" for nugget in nuggets) / len(nuggets) if nuggets else math.nan

A judgement that failed, or is not there where other systems have one, is missing: it is counted, and left
out or taken for the worst or the best, as whoever asks for the score decides. A measure need not care.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, Self

from rageval.core.answer import AnswerFacts
from rageval.errors import UsageError
from rageval.measures.ranking import Share
from rageval.measures.scales import POSITION, Scale, _scale_named

_Citations = tuple[tuple[str | None, ...], ...]  # what each sentence cites; None for what leads nowhere
Needs = Literal["importance", "weight", "answerable", "open"]
_UNDEFINED: Any = math.nan  # which is a float, where a share is expected
AnswerPlace = tuple[int, int]  # numbers of the query and of the repeat


class Judgement(NamedTuple):
    """The judgement of one aspect of an answer (a nugget, a sentence) or of one item (a cited document).

    `grade` is what the label is worth on its scale, or the number that was given; NaN where the judgement is
    missing and a measure asked for it anyway. `weight` is NaN where nothing says it.
    """

    grade: float
    label: str | None
    importance: str | None
    weight: float
    aspect: str
    item: str

    @property
    def is_missing(self) -> bool:
        """Whether the judgement has no grade."""
        return self.grade != self.grade


class RankingPlace(NamedTuple):
    """Where an answer stands in one ranking of several answers to a query.

    `is_valid` where the places of that ranking are 1 to `among`; `all_valid` where those of every ranking of
    the query are.
    """

    place: float
    among: int
    is_valid: bool
    all_valid: bool


class Seen:
    """The judgements on a scale, those that are missing with what stands for them (NaN if nothing does).

    `lost` counts those by status; `own` where the judge said anything of this answer. It is `open` where
    the answer is missing and nobody knows on what it would have been judged. `counted` says how often each
    judgement is there, whatever aspect it is of, where that is known before any judgement is made.
    """

    __slots__ = ("_judgements", "counted", "lost", "open", "own")

    def __init__(
        self,
        judgements: list[Judgement] | Callable[[], list[Judgement]],
        lost: Mapping[str, int],
        own: bool,
        open: bool = False,
        counted: list[tuple[Judgement, int]] | None = None,
    ) -> None:
        """Take the judgements, or what makes them when somebody asks for them."""
        self._judgements, self.lost, self.own, self.open, self.counted = judgements, lost, own, open, counted

    @property
    def judgements(self) -> list[Judgement]:
        """The judgements, in the order of the file."""
        if not isinstance(self._judgements, list):
            self._judgements = self._judgements()
        return self._judgements


class _Sight(Protocol):
    """What one judge said of one system's answers: where an `Assessment` looks things up."""

    skips: bool

    def seen(self, scale: Scale, place: AnswerPlace, needs: Needs | None, asker: object) -> Seen:
        """Return what was said on a scale."""

    def others(self, scale: Scale, place: AnswerPlace, needs: Needs | None, asker: object) -> Seen:
        """Return what was said on a scale of all other systems' answers."""

    def taken_for(self, scale: Scale) -> tuple[str | None, float] | None:
        """Return label and grade that a missing judgement is taken for; None if it is left out."""

    def places(self, place: AnswerPlace, asker: object) -> list[RankingPlace]:
        """Return the places in all rankings."""

    def knows(self, scale: Scale) -> bool:
        """Return whether the judge made any judgement on a scale, for any system."""

    def stand_in(self) -> float:
        """Return what a missing judgement is taken for, from 0 to 1."""

    def turns(self, answer: Assessment) -> list[Assessment]:
        """Return the answers to all turns of a conversation, in their order, this one among them."""

    def is_left_out(self, query: int) -> bool:
        """Return whether the system left a query out that others answered."""

    def knows_answers(self) -> bool:
        """Return whether the text of any answer is known."""

    def answerable(self, place: AnswerPlace, asker: object) -> bool:
        """Return whether the question can be answered."""


class Assessment:
    """One answer as one judge saw it: the argument of a measure of answers.

    >>> import math, rageval
    >>> @rageval.measure
    ... def supported(answer: rageval.Assessment):
    ...     "Share of the nuggets that the answer supports in full."
    ...     nuggets = answer.judged("nugget support")
    ...     return sum(n.label == "support" for n in nuggets) / len(nuggets) if nuggets else math.nan
    >>> judged = [{"query_id": "q", "run_id": "r", "aspect": nugget, "label": label}
    ...           for nugget, label in [("n1", "support"), ("n2", "partial_support")]]
    >>> rageval.evaluate_answers(supported, judged)["r"]["supported"].value
    0.5
    """

    __slots__ = (
        *("_asker", "_seen", "_sight", "facts", "is_open", "is_settled", "judge", "lost", "place"),
        *("query_id", "reads_amounts", "run_id", "scales", "was_judged"),
    )

    def __init__(
        self,
        query_id: str,
        run_id: str,
        judge: str,
        sight: _Sight,
        place: AnswerPlace,
        facts: AnswerFacts,
    ) -> None:
        """Take what is known of the answer, and where to look for what the judge said of it."""
        self.query_id = query_id
        self.run_id = run_id
        self.judge = judge
        self.facts = facts
        self.lost: dict[str, int] = {}  # by status: judgements the measure asked for and that are missing
        self.scales: list[Scale] = []  # that the measure asked for
        self.was_judged = False  # the judge said something on them
        self.is_open = False  # it is missing, and nobody knows on what it would have been judged
        self.is_settled = False  # its value is known, whatever was answered
        self.reads_amounts = False  # the measure asked for what the answer states of its cost or confidence
        self._sight = sight
        self.place = place
        self._asker: object = ""
        self._seen: dict[tuple[Scale, Needs | None], Seen] = {}

    @property
    def cited(self) -> _Citations | None:
        """What each sentence cites, strongest first; None where the answer is not known."""
        return self.facts.cited

    @property
    def sentences(self) -> int | None:
        """How many sentences the answer has, where that is known."""
        cited = self.facts.cited
        return self.facts.sentences if cited is None else len(cited)

    def asked_by(self, measure: object) -> Self:
        """Return it for one measure, what others asked for forgotten."""
        # One answer serves all measures of a query: what was looked up stays, what is counted does not.
        self._asker = measure
        self.lost, self.scales, self.was_judged, self.is_open = {}, [], False, False
        self.is_settled = False
        self.reads_amounts = False
        return self

    def judged(
        self, scale: Scale | str, *, needs: Needs | None = None, failed: bool = False
    ) -> list[Judgement]:
        """Return the judgements on one scale, given by its name, its rubric or its aspect.

        A measure that `needs` the importance or the weight of every judgement gets an error where nothing
        says it; one that needs what is `answerable` takes the right decision for the best, and with `open`
        what is missing is NaN between worst and best, too, for the measure to find its ends. With `failed`
        the judgements that are left out are there, too, with NaN for a grade.
        """
        scale = _scale_named(scale) if isinstance(scale, str) else scale
        seen = self._look_up(scale, needs)
        if failed or not seen.lost or not self.skips:
            return seen.judgements[:]  # a list of one's own: the other measures look at the same
        return [judgement for judgement in seen.judgements if judgement.grade == judgement.grade]

    def counted(self, scale: Scale, *, needs: Needs | None = None) -> list[tuple[Judgement, int]]:
        """Return the judgements as `judged` does, with how often each is there; nobody may change the list.

        Where they can be told by what they say alone, equal ones of several aspects are one without aspect
        and item.
        """
        seen = self._look_up(scale, needs)
        if seen.counted is not None:
            return seen.counted
        return [(judgement, 1) for judgement in self.judged(scale, needs=needs)]

    def _look_up(self, scale: Scale, needs: Needs | None) -> Seen:
        seen = self._seen.get((scale, needs))
        if seen is None:
            seen = self._seen[scale, needs] = self._sight.seen(scale, self.place, needs, self._asker)
        # Once a measure, however often it asks, or what is missing would be counted twice.
        if scale not in self.scales:
            self.scales.append(scale)
            self.was_judged = self.was_judged or seen.own
            self.is_open = self.is_open or seen.open
            for status, number in seen.lost.items():
                self.lost[status] = self.lost.get(status, 0) + number
        return seen

    def knows(self, scale: Scale) -> bool:
        """Return whether the judge made any judgement on a scale, for any system."""
        return self._sight.knows(scale)

    def of_others(self, scale: Scale) -> list[Judgement]:
        """Return the judgements on a scale for all other systems' answers to this query."""
        seen = self._sight.others(scale, self.place, None, self._asker)
        for status, number in seen.lost.items():
            self.lost[status] = self.lost.get(status, 0) + number
        return [judgement for judgement in seen.judgements if judgement.grade == judgement.grade]

    def absent(self, scale: Scale, aspect: str, item: str = "answer") -> Judgement:
        """Count a judgement that a measure looked for but is missing; return its substitute value, or NaN."""
        self.lost["absent"] = self.lost.get("absent", 0) + 1
        label, grade = self._sight.taken_for(scale) or (None, math.nan)
        return Judgement(grade, label, None, math.nan, aspect, item)

    def length(self, rule: str = "nfkc") -> float:
        """Return the length of the answer by a counting rule (see the measure `length`); NaN if not known."""
        # Of an answer that is not there, and whose judgements are missing, the length is missing, too.
        self.is_open = self.is_open or (self.place[1] < 0 and bool(self.lost))
        return self.facts.lengths.get(rule, math.nan)

    def total(self, quantity: str) -> float:
        """Return what the answer states of a quantity, such as its cost; NaN where it states nothing."""
        self.require_answers()
        self.reads_amounts = True
        return self.facts.amounts.get(quantity, math.nan)

    def places(self) -> list[RankingPlace]:
        """Return the place of the answer in each ranking of the answers to this query."""
        self.scales.append(POSITION)
        return self._sight.places(self.place, self._asker)

    def conversation(self) -> list[Assessment]:
        """Return the answers to all turns of the conversation, in their order, this one among them.

        Each is asked by the same measure; what it misses of another turn is not counted here.
        """
        return self._sight.turns(self)

    @property
    def is_left_out(self) -> bool:
        """Whether the system has no answer, and other answers of it are known."""
        return self._sight.is_left_out(self.place[0])

    def answerable(self) -> bool:
        """Return whether the question can be answered; raise `UsageError` if that is unknown."""
        return self._sight.answerable(self.place, self._asker)

    def require_answers(self) -> None:
        """Raise an error if the answers are unknown."""
        if not self._sight.knows_answers():
            raise UsageError(f"{self._asker}: needs the answers; give them (--answers FILE)")

    @property
    def asker(self) -> object:
        """The measure that asks."""
        return self._asker

    def stand_in(self) -> float:
        """Return what stands for what a measure leaves open: 0 or 1, the worst or best; NaN leaves it out."""
        return self._sight.stand_in()

    @property
    def skips(self) -> bool:
        """Whether what is missing is left out, rather than taken for something."""
        return self._sight.skips

    def missing(self, status: str) -> float:
        """Count a judgement that a measure misses by itself; return what stands for it: 0 to 1, or NaN."""
        self.lost[status] = self.lost.get(status, 0) + 1
        return self._sight.stand_in()


def share(part: float, whole: float) -> Share:
    """Return the share; NaN where there is no whole, for then it is undefined."""
    return Share(part, whole) if whole else _UNDEFINED


def mean(values: Sequence[float]) -> float:
    """Return the mean, the exact sum rounded once: equal values in any order have equal bits."""
    return math.fsum(values) / len(values) if values else math.nan


def grades(judgements: Iterable[Judgement]) -> list[float]:
    """Return the grades."""
    return [judgement.grade for judgement in judgements]
