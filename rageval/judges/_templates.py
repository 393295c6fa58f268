"""Templates: an author's words with named fields, and what is put where a field stands.

A template is taken apart once, when the rubric is read; a value is a part beside its parts and never text in
which anything is looked for. So no value can become a field, whatever braces it holds. Where a rubric is
fenced a value is shown as data, between two lines of digits of its own; where it says that it is `unfenced`,
as in the prompts of others, it stands there as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

from rageval.judges._prompts import Mark, Part, Prompt, as_data


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
