"""What is known of an answer beside its judgements."""

from __future__ import annotations

from collections.abc import Mapping


class AnswerFacts:
    """What is known of an answer beside the judgements; a new fact is one more attribute.

    `lengths` are its lengths by each counting rule. `cited` is what each sentence cites, strongest first,
    with None for what leads nowhere; it is None itself where the answer is not known. `sentences` is their
    number, which a judgement may say of an answer that is not known. `assigned` is set where a record holds
    its nuggets, and be it that there are none. `amounts` are the numbers that its record states: what it cost
    (`cost`, `seconds`, `input_tokens`, `output_tokens`) and its `confidence`.
    """

    __slots__ = ("amounts", "assigned", "cited", "lengths", "sentences")

    def __init__(self) -> None:
        """Know nothing yet."""
        self.lengths: Mapping[str, float] = {}
        self.cited: tuple[tuple[str | None, ...], ...] | None = None
        self.sentences: int | None = None
        self.assigned = False
        self.amounts: Mapping[str, float] = {}
