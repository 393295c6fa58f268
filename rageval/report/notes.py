"""What judges said besides their verdicts: evidence, reasons, and the tokens they took."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rageval.files.graded import kind_of
from rageval.files.jsonl import read_batches
from rageval.files.limits import DEFAULT, Limits
from rageval.files.opening import Source, can_read_again

Key = tuple[str, str, str, str]  # query, run, item, aspect
LONGEST = 600  # characters of a quote or a reason that are shown
Text = str | int


class Tokens(msgspec.Struct):
    """What a call took."""

    input: int = 0
    output: int = 0


class NoteLine(msgspec.Struct):
    """What is read of a judgement."""

    query_id: Text
    run_id: Text
    item_id: Text = "answer"
    aspect: Text = "0"
    judge: str = ""
    evidence: str | None = None
    reason: str | None = None
    detail: str | None = None
    usage: Tokens | None = None


@dataclass
class Notes:
    """Evidence and reasons by what they are about and whose they are, and the tokens of each judge."""

    said: dict[Key, dict[str, dict[str, str]]] = field(default_factory=dict)
    spent: dict[str, list[int]] = field(default_factory=dict)  # judge -> calls, input, output

    def said_of(self, key: Key, judge: str | None = None) -> dict[str, str]:
        """What this judge (or whoever did) said of it."""
        found = self.said.get(key, {})
        return found.get(judge, {}) if judge is not None else next(iter(found.values()), {})


def read_notes(
    sources: Iterable[Source], is_wanted: Callable[[Key], bool], limits: Limits = DEFAULT
) -> Notes:
    """What files of judgements say of the keys that are wanted; the tokens are those of all."""
    notes = Notes()
    for source in sources:
        if not can_read_again(source) or kind_of(source, limits) != "judgements":
            continue
        for _, lines in read_batches(source, NoteLine, "a judgement {query_id, run_id, …}", limits):
            for line in lines:
                _add(notes, line, is_wanted)
    return notes


def _add(notes: Notes, line: NoteLine, is_wanted: Callable[[Key], bool]) -> None:
    if line.usage is not None:
        spent = notes.spent.setdefault(line.judge, [0, 0, 0])
        for at, number in enumerate((1, line.usage.input, line.usage.output)):
            spent[at] += number
    key = str(line.query_id), str(line.run_id), str(line.item_id), str(line.aspect)
    said = said_in(line.evidence, line.reason, line.detail)
    if said and is_wanted(key):
        notes.said.setdefault(key, {})[line.judge] = said


def said_in(evidence: Any, reason: Any, detail: Any = None) -> dict[str, str]:
    """The texts that are there, shortened."""
    texts = {"evidence": evidence, "reason": reason, "detail": detail}
    return {name: shortened(str(text)) for name, text in texts.items() if text}


def shortened(text: str) -> str:
    """The text, cut where it is too long for a page."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
