"""Who decides a number: people, a judge, the texts alone, or nobody whom the files name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum

from rageval.core.judge import AnyJudge, Judge, join_judges, parse_judge, split_judges

PEOPLE = "people"


class BasisKind(Enum):
    """What sort of basis it is."""

    PEOPLE = "people"
    JUDGE = "judge"
    TEXTS = "words"
    UNSTATED = ""


class DrawKind(StrEnum):
    """How the labels behind a number were drawn: `ALL` if nothing was left without a label."""

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

        Who passes labels says what they are, so labels without a name are people's. A name that does not say
        that it is a person's (`person:NAME`) stands for itself.
        """
        of_labels = cls.of([name or PEOPLE for name in labelers] or [PEOPLE])
        # Values by nobody who is named, as of plain qrels, are corrected all the same.
        sources = () if corrected is None else corrected.judges or (Judge(),)
        return cls(of_labels.judges, sources, drawn=drawn)

    @classmethod
    def parse(cls, text: str, corrected: str = "", drawn: str = "") -> Basis:
        """Return the basis that a file names, that of the values it corrects, and how labels were drawn.

        >>> [str(Basis.parse(text)) for text in ("people", "judge:openai:m", "judge", "words", "")]
        ['people', 'judge:openai:m', 'judge', 'words', '']
        """
        kind, _, names = text.partition(":")
        if kind == BasisKind.TEXTS.value:
            return cls(is_of_texts=True)
        judges: tuple[AnyJudge, ...] = ()
        if kind == BasisKind.PEOPLE.value:
            judges = (Judge(PEOPLE),)
        elif kind == BasisKind.JUDGE.value:
            judges = split_judges(names)
        source = cls.parse(corrected).judges if corrected else ()
        # A word that is none of ours states nothing.
        kinds = {kind.value: kind for kind in DrawKind}
        how = kinds.get(drawn, DrawKind.UNSTATED) if drawn else None
        return cls(judges, source, drawn=how)

    @property
    def kind(self) -> BasisKind:
        """What sort of basis it is; a judge without a name is no person."""
        if self.is_of_texts:
            return BasisKind.TEXTS
        if not self.judges:
            return BasisKind.UNSTATED
        return BasisKind.PEOPLE if all(judge.is_person for judge in self.judges) else BasisKind.JUDGE

    @property
    def is_judge(self) -> bool:
        """Whether all depends on what a judge says that is no person."""
        return self.kind is BasisKind.JUDGE

    @property
    def source(self) -> Basis:
        """The basis of the values that are corrected; without judges if none are."""
        return Basis(self.corrected)

    @property
    def is_unchecked(self) -> bool:
        """Whether judges said it, all or most, that compare texts, and that nobody checked."""
        return self.is_judge and all(judge.is_unchecked for judge in self.judges)

    @property
    def is_draw_unstated(self) -> bool:
        """Whether it holds only if the labels are a random draw, which nobody states."""
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
            return str(self.kind.value)
        named = [judge for judge in self.judges if judge != Judge()]
        return f"judge:{join_judges(named)}" if named else "judge"


UNSTATED = Basis()
