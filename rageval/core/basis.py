"""The basis of a number: people, a judge, the texts alone, or unstated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from rageval.core.judge import AnyJudge, Judge, join_judges, parse_judge, split_judges

PEOPLE = "people"


class BasisKind(StrEnum):
    """The kind of a basis, as files name it."""

    PEOPLE = "people"
    JUDGE = "judge"
    WORDS = "words"
    UNSTATED = ""


class DrawKind(StrEnum):
    """How the labels behind a number were drawn: `ALL` if every item has a label."""

    UNSTATED = "unstated"
    UNIFORM = "uniform"
    PLAN = "plan"
    CHANCES = "chances"
    ALL = "all"


@dataclass(frozen=True)
class Basis:
    """The judges behind a number, and those whose values it corrects.

    `judges` are in the order of their first judgement. Of a value that labels correct, they are who labeled,
    `corrected` the judges whose values are corrected, and `drawn` how the labels were drawn. `is_of_texts`
    marks values that are computed from the texts alone. Without all of it nobody says who judged, as in plain
    qrels.

    Its `str` is a short text for programs, such as `people` or `judge:openai:m`. `texts` are all of it, which
    `parse` reads.

    >>> print(Basis.of(["person:ann"]), Basis.of(["person:ann", "exact"]), Basis.of([""]))
    people judge:person:ann+exact judge
    >>> print(Basis.of_labels(["person:ann", ""]), Basis.of_labels(["openai:gpt@3f2a"]))
    people judge:openai:gpt
    """

    judges: tuple[AnyJudge, ...] = ()
    corrected: tuple[AnyJudge, ...] = ()
    is_of_texts: bool = False
    drawn: DrawKind | None = None

    @classmethod
    def of(cls, judges: Iterable[str]) -> Basis:
        """Return the basis of judgements by these, as files name them."""
        # A model by another prompt is the same author.
        return cls(tuple(dict.fromkeys(parse_judge(judge).without_prompt for judge in judges)))

    @classmethod
    def of_labels(
        cls, labelers: Iterable[str], corrected: Basis | None = None, drawn: DrawKind | None = None
    ) -> Basis:
        """Return the basis of labels, and of what they correct.

        Labels without a name are people's. A name that is not a person's (`person:NAME`) is a judge's.
        """
        of_labels = cls.of([name or PEOPLE for name in labelers] or [PEOPLE])
        # Values by nobody who is named, as of plain qrels, are corrected all the same.
        sources = () if corrected is None else corrected.judges or (Judge(),)
        return cls(of_labels.judges, sources, drawn=drawn)

    @classmethod
    def parse(cls, text: str, corrected_from: str = "", drawn: str = "") -> Basis:
        """Return the basis that a file states in its fields `basis`, `corrected_from` and `drawn`.

        >>> [str(Basis.parse(text)) for text in ("people", "judge:openai:m", "judge", "words", "")]
        ['people', 'judge:openai:m', 'judge', 'words', '']
        """
        kind, _, names = text.partition(":")
        judges: tuple[AnyJudge, ...] = ()
        match kind:
            case BasisKind.WORDS:
                return cls(is_of_texts=True)
            case BasisKind.PEOPLE:
                judges = (Judge(PEOPLE),)
            case BasisKind.JUDGE:
                judges = split_judges(names)
        corrected_judges = cls.parse(corrected_from).judges if corrected_from else ()
        # An unknown word states nothing.
        draws = {draw.value: draw for draw in DrawKind}
        draw = draws.get(drawn, DrawKind.UNSTATED) if drawn else None
        return cls(judges, corrected_judges, drawn=draw)

    @property
    def kind(self) -> BasisKind:
        """The kind of the basis; a judge without a name is no person."""
        if self.is_of_texts:
            return BasisKind.WORDS
        if not self.judges:
            return BasisKind.UNSTATED
        return BasisKind.PEOPLE if all(judge.is_person for judge in self.judges) else BasisKind.JUDGE

    @property
    def is_judge(self) -> bool:
        """Whether the number depends on a judge that is no person."""
        return self.kind is BasisKind.JUDGE

    @property
    def source(self) -> Basis:
        """The basis of the values that are corrected; without judges if none are."""
        return Basis(self.corrected)

    @property
    def is_unchecked(self) -> bool:
        """Whether the judges compare texts, for all or most judgements, and nobody checked them."""
        return self.is_judge and all(judge.is_unchecked for judge in self.judges)

    @property
    def is_draw_unstated(self) -> bool:
        """Whether it holds only if the labels are a random draw, which is not stated."""
        return self.drawn is DrawKind.UNSTATED

    @property
    def texts(self) -> dict[str, str]:
        """The basis as files have it: what it is, what it corrects, and how labels were drawn."""
        return {"basis": str(self), "corrected_from": str(self.source), "drawn": str(self.drawn or "")}

    @property
    def names(self) -> tuple[str, ...]:
        """The judges that have a name, as a reader knows them, each once."""
        return tuple(dict.fromkeys(judge.title for judge in self.judges if judge != Judge()))

    def __str__(self) -> str:
        if self.kind is not BasisKind.JUDGE:
            return str(self.kind)
        named = [judge for judge in self.judges if judge != Judge()]
        return f"judge:{join_judges(named)}" if named else "judge"


UNSTATED = Basis()
