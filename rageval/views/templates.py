"""Templates of words: texts with facts in braces.

Numbers are formatted as `str.format` does it. Besides that there are these forms:

| in a template | a fact | its words |
| --- | --- | --- |
| `{name}` | a text, a remark | the text, with what a terminal would obey written out |
| `{name:'.60'}` | a text | its first 60 characters in quotes |
| `{are_clusters:clusters\\|queries}` | a flag | the first if it is true |
| `{number:topic\\|topics}` | a number | the first if it is 1 |
| `{number:,} topics are` | a number | the same, of 1 `1 topic is` |
| `{names:length}` | a list | how many it has |
| `{names}`, `{names:and}`, `{names:;}` | a list | joined by `, `, by ` and `, by `; ` |
| `{names:… {number}}` | the first of a number of names | `a, b, c, …` |
| `{names:{number} in all}` | the first of a number of names | `a, b, c and 2 more` |

A template may also be a `Choice`, an `Each`, or several templates in a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, TypeAlias

from rageval.text import of_one, visible

SHOWN = 3  # examples in a text
_COUNTED = re.compile(r"\{(\w+)(?::,)?\} ([a-z]+s\b[^{}.;:(]*)")  # a number, its noun, and a verb


@dataclass(frozen=True, eq=False)
class Choice:
    """A template that depends on the value of a fact.

    >>> words = ("judgements are missing", Choice("low", {None: ""}, "; from {low:.4f} to {high:.4f}"))
    >>> fill(words, {"low": None, "high": None}), fill(words, {"low": 0.25, "high": 0.5})
    ('judgements are missing', 'judgements are missing; from 0.2500 to 0.5000')
    """

    fact: str
    by_value: Mapping[Any, Template]
    otherwise: Template = ""


@dataclass(frozen=True, eq=False)
class Each:
    """The members of a list, each with its values in a template.

    >>> fill(Each("judges", "{1:,} by {0}"), {"judges": (("ann", 3), ("ben", 1))})
    '3 by ann, 1 by ben'
    """

    fact: str
    member: str
    between: str = ", "


Template: TypeAlias = str | Choice | Each | tuple[str | Choice | Each, ...]


def facts_in(template: Template) -> Iterator[str]:
    """Yield the names of the facts in a template.

    >>> sorted(facts_in("{names:… {number}} of {total:,}"))
    ['names', 'number', 'total']
    """
    match template:
        case str():
            for _, name, form, _ in Formatter().parse(template):
                yield from [name] if name else []
                yield from facts_in(form or "")
        case Each():
            yield template.fact
        case Choice():
            yield template.fact
            for part in (*template.by_value.values(), template.otherwise):
                yield from facts_in(part)
        case _:
            for part in template:
                yield from facts_in(part)


class WordFormatter(Formatter):
    """The forms of facts in templates."""

    def format_field(self, value: Any, form: str) -> str:
        """Return a fact in words."""
        match value:
            case str():
                return self.format_text(value, form)
            case tuple():
                return self.format_list(tuple(map(str, value)), form)
            case _ if "|" in form:
                one, _, other = form.partition("|")
                return one if value == 1 else other
            case _:
                return format(value, form) if form else visible(str(value))

    def format_text(self, text: str, form: str) -> str:
        """Return a text as a form says."""
        if form.startswith("'"):
            return repr(format(visible(text), form.strip("'")))
        return format(visible(text), form)

    def format_list(self, texts: tuple[str, ...], form: str) -> str:
        """Return a list as a form says."""
        texts = tuple(map(visible, texts))
        if form == "length":
            return f"{len(texts)}"
        if number := re.search(r"\d+", form):
            more = int(number[0]) - SHOWN
            rest = ", …" if form.startswith("…") else f" and {more:,} more"
            return ", ".join(texts[:SHOWN]) + (rest if more > 0 else "")
        return {"": ", ", ";": "; "}.get(form, f" {form} ").join(texts)


def fill(template: Template, facts: Mapping[str, Any], words: WordFormatter | None = None) -> str:
    """Return a template with its facts filled in.

    >>> fill("{number} {number:topic|topics}: {names:… {number}}", {"number": 1, "names": ("a",)})
    '1 topic: a'
    >>> fill("{number:,} queries of the run are not judged", {"number": 1})
    '1 query of the run is not judged'
    >>> fill("{names:4 in all}", {"names": ("a", "b", "c")})
    'a, b, c and 1 more'
    """
    words = words or WordFormatter()
    match template:
        case str():
            return words.vformat(_agreeing(template, facts), (), facts)
        case Choice():
            return fill(template.by_value.get(facts[template.fact], template.otherwise), facts, words)
        case Each():
            members = [member if isinstance(member, tuple) else (member,) for member in facts[template.fact]]
            return template.between.join(words.vformat(template.member, member, {}) for member in members)
        case _:
            return "".join(fill(part, facts, words) for part in template)


def _agreeing(template: str, facts: Mapping[str, Any]) -> str:
    """Return the template with the nouns and verbs of one where a number is 1."""

    def agree(counted: re.Match[str]) -> str:
        name, words = counted.groups()
        is_one = type(facts.get(name)) is int and facts[name] == 1
        return counted[0].removesuffix(words) + of_one(words) if is_one else counted[0]

    return _COUNTED.sub(agree, template)
