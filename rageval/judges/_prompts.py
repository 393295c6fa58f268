"""Prompts as parts: what we say, where a fence stands, and what others wrote; put together once, when sent.

Nothing is ever searched and replaced in text that holds data. A prompt has two forms: as it is sent, and as
stores and keys know it, which says `{{fence}}` where a call has random digits.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FENCE = "{{fence}}"  # stands in stored requests where a call has its random fence
_FENCE_BYTES = 16
# What JSON leaves as it is, but some reader takes for the end of a line, hides, or turns around.
_UNSEEN = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
_TWO_BRACES = re.compile(r"\{(?=\{)")


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a call has a fence: the same one wherever the number is the same."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
    """Parts that stores and keys know by another text, in which no fence can be mistaken."""

    parts: tuple[str | Mark, ...]
    stored: str


Part = str | Mark | Shown
Prompt = tuple[Part, ...]


class Fences:
    """The fences of one call, drawn when all that is sent is known: they stand nowhere in it."""

    def __init__(self, prompts: Iterable[Prompt], first: str | None = None) -> None:
        self._text = "\n".join(
            piece for prompt in prompts for piece in _flat(prompt) if isinstance(piece, str)
        )
        self._drawn = {} if first is None else {0: first}

    def sent(self, prompt: Prompt) -> str:
        """Return the prompt as it is sent."""
        return "".join(piece if isinstance(piece, str) else self._of(piece) for piece in _flat(prompt))

    def _of(self, mark: Mark) -> str:
        while mark.number not in self._drawn:
            fence = secrets.token_hex(_FENCE_BYTES)
            if fence not in self._text and fence not in self._drawn.values():
                self._drawn[mark.number] = fence
        return self._drawn[mark.number]


def stored(prompt: Prompt) -> str:
    """Return the prompt as stores and keys know it."""
    return "".join(
        part.stored if isinstance(part, Shown) else part if isinstance(part, str) else FENCE
        for part in prompt
    )


def by_author(text: str) -> Prompt:
    """Read the words of a rubric's author, who may speak of the fence."""
    first, *others = text.split(FENCE)
    return (first, *(part for other in others for part in (Mark(), other)))


def as_data(data: object) -> Shown:
    """Write data as one line of JSON that shows all it holds and can end neither its string nor its line.

    Parameters
    ----------
    data
        What JSON can hold.

    Returns
    -------
    Shown
        A part of a prompt.

    Examples
    --------
    >>> as_data({"answer": 'say "{{fence}}"\\u2028'}).parts
    ('{"answer": "say \\\\"{{fence}}\\\\"\\\\u2028"}',)
    """
    text = json.dumps(data, ensure_ascii=False)
    sent = _UNSEEN.sub(_escaped, text)
    known = text.replace("{{", "\\u007b{")  # as requests are stored since the first version
    if FENCE in known:  # which forgets the third of three braces
        known = _TWO_BRACES.sub(r"\\u007b", text)
    return Shown((sent,), known)


def as_note(words: Sequence[str | Mark | Shown], known: str) -> Shown:
    """Make parts to add to a prompt; stores know them by this text unless a fence could be read in it."""
    parts = tuple(_flat(words))
    if FENCE in known:
        known = stored(tuple(words))
    return Shown(parts, known)


def _flat(prompt: Iterable[Part]) -> Iterable[str | Mark]:
    for part in prompt:
        if isinstance(part, Shown):
            yield from part.parts
        else:
            yield part


def _escaped(match: re.Match[str]) -> str:
    return json.dumps(match.group())[1:-1]
