"""Prompts as parts: what we say, where a fence stands, what others wrote; and templates that make such parts.

Nothing is ever searched and replaced in text that holds data. A prompt has two forms: as it is sent, and as
stores and keys know it, which says `{{fence}}` where a call has random digits.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

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


# --- Templates: an author's words with named fields. A template is taken apart once, when the rubric is
# read; a value is a part beside its parts, and never text in which anything is looked for, so that no value
# can become a field, whatever braces it holds. Where a rubric is fenced a value is shown as data, between
# two lines of digits of its own; where it says that it is `unfenced`, as in others' prompts, it stands
# there as it is.


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a value goes, by its name in the template."""

    name: str


Template = tuple[str | Slot, ...]


def template_of(text: str) -> Template:
    """Take a template apart; `ValueError` with the reason if it is none.

    >>> template_of("Say {{x}} of {query}.")
    ('Say {x} of ', Slot(name='query'), '.')
    """
    found: list[str | Slot] = []
    for literal, name, form, conversion in Formatter().parse(text):
        found += [literal] if literal else []
        if name is None:
            continue
        if form or conversion or not name.isidentifier():
            raise ValueError(f"expected fields as in {{name}}, found {{{name}}}; a brace itself is doubled")
        found.append(Slot(name))
    return _joined(found)


def _joined(parts: Sequence[str | Slot]) -> Template:
    """Return the same with neighbouring texts as one: a doubled brace parts them."""
    found: list[str | Slot] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return tuple(found)


def names_in(template: Template) -> list[str]:
    """List the fields, each once."""
    return list(dict.fromkeys(part.name for part in template if isinstance(part, Slot)))


def plain_prompt(template: Template, values: Mapping[str, Prompt]) -> Prompt:
    """Put the values where their fields stand, as they are."""
    return tuple(
        piece for part in template for piece in ((part,) if isinstance(part, str) else values[part.name])
    )


def fenced_prompt(template: Template, values: Mapping[str, Any], own: Mapping[str, Prompt]) -> Prompt:
    """Put the values where their fields stand, as data, each between two lines of digits of its own.

    What is the author's `own` stands there as it is.
    """
    found: list[Part] = []
    marks = iter(_marks(template, own))
    for part in template:
        if isinstance(part, str):
            found.append(part)
        elif part.name in own:
            found += own[part.name]
        else:
            mark = next(marks)
            found += ["\n", mark, "\n", as_data(values[part.name]), "\n", mark, "\n"]
    return tuple(found)


def _marks(template: Template, own: Collection[str]) -> list[Mark]:
    """Return a fence for each place where data stand, also of the same field."""
    places = [part for part in template if isinstance(part, Slot) and part.name not in own]
    return [Mark(number) for number in range(len(places))]


def fences_said(template: Template, own: Collection[str], rest: str) -> Prompt:
    """Say between which lines data stand."""
    found: list[Part] = ["Between the two lines "]
    for number, mark in enumerate(_marks(template, own)):
        found += [", and between the two lines "] * bool(number) + [mark]
    return (*found, rest)


def texts_of(value: Any) -> list[str]:
    """Return the texts of a list that may hold them with their ids."""
    items = value if isinstance(value, list | tuple) else [value]
    return [str(item["text"] if isinstance(item, dict) else item) for item in items]


def _lines(value: Any) -> Prompt:
    return ("\n".join(texts_of(value)),)


def _numbered(value: Any) -> Prompt:
    return ("\n".join(f"[{at}] {text}" for at, text in enumerate(texts_of(value), 1)),)


# How a value is written where a field stands; the way of each is its source's.
WAYS: dict[str, Callable[[Any], Prompt]] = {
    "text": lambda value: ("\n\n".join(texts_of(value)),),
    "lines": _lines,
    "numbered": _numbered,
    "first": lambda value: ((texts_of(value) or [""])[0],),
    "python": lambda value: (repr(texts_of(value)),),
    "json": lambda value: (json.dumps(value, ensure_ascii=False),),
    "count": lambda value: (str(len(texts_of(value))),),
}
ITEMS = "items"  # each by the template of an item


def item_prompt(template: Template, value: Any) -> Prompt:
    """Write each item by its own template, in which `rank` counts from 1 and `text` is the item."""
    return tuple(
        piece
        for at, text in enumerate(texts_of(value), 1)
        for piece in plain_prompt(template, {"rank": (str(at),), "text": (text,), "candidate": (text,)})
    )
