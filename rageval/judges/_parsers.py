"""How the sources of imported prompts read what a model replied, warts and all.

Each says what the source's own program would have understood; what that program could not read is `Invalid`
here, whatever grade the source makes of it. All of them go over a reply once: what a model says is hostile,
too, and no pattern here can be made to go back over it again and again.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isqrt
from typing import Any

from rageval.judges._verdicts import LONGEST, Invalid, RubricScale, Verdict
from rageval.text import mended

_LONGEST_LIST = 50_000  # characters of a list as Python writes it
_LONGEST_SEARCHED = 10_000  # characters that a pattern of the user's is looked for in
_MOST_CHOICES = 64  # ways through such a pattern
_MOST_STEPS = 10**9  # of a search, about half a second
_FEW = 8  # times that something in a pattern may be repeated and still be tried again
_Ids = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplyRules:
    """What a parser is to know: the scale, what the words of a reply mean on it, and where they stand.

    With `lenient` the source's rules hold also where they drop or replace what a reply lacks.
    """

    scale: RubricScale
    values: Mapping[str, str] = field(default_factory=dict)
    tags: Sequence[str] = ("", "")
    patterns: Sequence[str] = ()
    is_list: bool = False
    unreadable: str | None = None
    lenient: bool = False

    def verdict(self, said: str, name: str = "", reason: str | None = None) -> Verdict:
        """Make a verdict of one word; `Invalid` if it is none that the rubric knows."""
        label = self.values.get(said, said)
        if label not in self.scale.labels:
            known = ", ".join(self.values or self.scale.labels)
            raise Invalid(f"expected one of {known}, found {said[:80]!r}")
        return Verdict(name, label, self.scale.labels[label], None, reason)


# What UMBRELA looks for before a digit from 0 to 3: of the first that is there its last place decides.
# A sign between them may be any of : ; < = (which is what a range from : to = in its source comes to).
_SIGN = r"\s*+[:;<=]?\s*+"
_PHRASES = (
    *(f'"o"{_SIGN}', f"'o'{_SIGN}", f"o{_SIGN}"),
    *(f'"{name}"{_SIGN}' for name in ("overall_score", "overall", "overall score", "final score")),
    *(f"final score{_SIGN}", "final score is "),
    *(f'"{name}"{_SIGN}' for name in ("final_score", "score", "o_score")),
    *("output score is ", "score is ", r"score of\s++", r"score:\s*+", r"[a-z]\s++is\s++(?=[0-3]\s)"),
    *(f"relevance category{_SIGN}", "relevance category is ", "it falls into the category "),
    *(r"category\s*+", "relevance category for this passage would be ", "the relevance category would be "),
    "",  # any such digit
)


@cache
def _phrases(most: int) -> list[re.Pattern[str]]:
    digits = f"[0-{most}]"
    return [re.compile(f"{p.replace('[0-3]', digits)}({digits})", re.IGNORECASE) for p in _PHRASES]


def _score_line(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read the last number behind the first known phrase."""
    text = text.strip().lower()
    most = len(reading.scale.labels) - 1
    for pattern in _phrases(most):
        found = _last(pattern.finditer(text))
        if found is not None:
            return [reading.verdict(found[1])]
    raise Invalid(f"expected a score from 0 to {most}")


def _last(found: Iterator[re.Match[str]]) -> re.Match[str] | None:
    return next(iter(deque(found, maxlen=1)), None)


_SCORE = re.compile(r'"score"\s*+:\s*+(\d+)')
_EXPLANATION = re.compile(r'"explanation"\s*+:\s*+"(.+)"')


def _last_object(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read the score in the last pair of braces, as CRAG's script finds it: no JSON is needed."""
    *closed, _ = text.split("}")
    last = next((piece.partition("{")[2] for piece in reversed(closed) if "{" in piece), "")
    found = _SCORE.search(last)
    if found is None or len(found[1]) > _FEW:
        raise Invalid('expected {"score": 0 or 1}')
    why = _EXPLANATION.search(last)
    return [reading.verdict(str(int(found[1])), reason=why[1] if why else None)]


def _python_list(text: str, most: int | None = None, lenient: bool = False) -> list[Any]:
    """Read the list that the nuggetizer understands, code fences taken off wherever they stand."""
    text = text.replace("```python", "").replace("```", "").strip()
    if len(text) > _LONGEST_LIST:
        raise Invalid(f"the reply is {len(text):,} characters long, expected at most {_LONGEST_LIST:,}")
    try:
        found = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise Invalid(f"expected a list as Python writes it, found {text[:80]!r}") from error
    if lenient and isinstance(found, str | dict):  # its letters, or its keys, as the nuggetizer goes over it
        found = list(found)
    items: Sequence[Any] = found[:most] if isinstance(found, list | tuple) else [None]
    if not all(isinstance(item, str) for item in items):
        raise Invalid(f"expected a list of texts, found {text[:80]!r}")
    return [mended(item) for item in items]


def _json_list(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read labels in the order in which items were shown, or texts."""
    if reading.is_list:
        return [Verdict(item) for item in _python_list(text, reading.scale.most)]
    if reading.lenient:  # what is too much is dropped, and so is what has no label
        pairs = zip(ids, _python_list(text, len(ids), lenient=True), strict=False)
        return [_label_or_worst(label.lower(), reading, name) for name, label in pairs]
    found = _python_list(text)
    if len(found) != len(ids):
        raise Invalid(f"expected {len(ids)} labels, found {len(found)}")
    return [reading.verdict(label.lower(), name) for name, label in zip(ids, found, strict=True)]


def _label_or_worst(label: str, reading: ReplyRules, name: str) -> Verdict:
    try:
        return reading.verdict(label, name)
    except Invalid:
        return reading.verdict(reading.unreadable or label, name)


def _tagged(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read the first of the values, in the rubric's order, that stands in the reply between its tags."""
    opening, closing = reading.tags
    folded = " ".join(text.split()).casefold()
    for value in reading.values or reading.scale.labels:
        for inner in (value, f" {value} "):
            if f"{opening}{inner}{closing}".casefold() in folded:
                return [reading.verdict(value)]
    known = ", ".join(f"{opening}{value}{closing}" for value in reading.values or reading.scale.labels)
    raise Invalid(f"expected one of {known}")


def _ranking(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read the numbers of the answers, best first, as RankLLM finds them; digits of any kind."""
    text = text.rpartition("</think>")[2]
    if len(text) > LONGEST:
        raise Invalid(f"the reply is {len(text):,} characters long, expected at most {LONGEST:,}")
    digits = (unicodedata.digit(letter, None) for letter in text)
    numbers = "".join(" " if digit is None else str(digit) for digit in digits).split()
    places = [int(number) - 1 for number in numbers if len(number) <= _FEW]
    if reading.lenient:
        places = [at for at in dict.fromkeys(places) if at in range(len(ids))]
        places += [at for at in range(len(ids)) if at not in places]
    elif len(numbers) != len(places) or sorted(places) != list(range(len(ids))):
        raise Invalid(f"expected each number from 1 to {len(ids)} once, found {' '.join(numbers)[:80]!r}")
    return [Verdict(ids[at], None, float(place)) for place, at in enumerate(places, 1)]


def _by_pattern(text: str, reading: ReplyRules, ids: _Ids) -> list[Verdict]:
    """Read what stands in the first group of the first pattern that is found, at its last place."""
    # From each place a pattern may go through the rest of the text in each of its ways.
    longest = min(_LONGEST_SEARCHED, isqrt(_MOST_STEPS // sum(map(_ways_through, reading.patterns))))
    if len(text) > longest:
        raise Invalid(f"the reply is {len(text):,} characters long, expected at most {longest:,}")
    for pattern in reading.patterns:
        found = _last(re.finditer(pattern, text))
        if found is not None:
            return [reading.verdict((found[1] or "").strip())]
    raise Invalid("none of the rubric's patterns is in the reply")


@dataclass(frozen=True, slots=True)
class Parser:
    """A way of reading, and the kinds of reply it is for."""

    read: Callable[[str, ReplyRules, _Ids], list[Verdict]]
    kinds: tuple[str, ...]


PARSERS: dict[str, Parser] = {
    "score-line": Parser(_score_line, ("label",)),
    "last-object": Parser(_last_object, ("label",)),
    "json-list": Parser(_json_list, ("labels", "texts")),
    "tagged": Parser(_tagged, ("label",)),
    "ranking": Parser(_ranking, ("permutation",)),
    "pattern": Parser(_by_pattern, ("label",)),
}
SCHEMA, JSON = "schema", "json"  # what every kind of reply can be read as
READS = (SCHEMA, JSON, *PARSERS)


def require_quick(pattern: str) -> None:
    """`ValueError` for a pattern that a reply could keep busy, or that holds nothing to read.

    A time limit would make what a reply says depend on the machine, so it is the work that is bounded: what
    is repeated without end gives nothing back (`*+`, `++`), nothing is repeated within it, and there are few
    ways to go through the rest.
    """
    if len(pattern) > 500:
        raise ValueError("expected at most 500 characters")
    try:
        compiled = re.compile(pattern)
        parsed = re._parser.parse(pattern)  # type: ignore[attr-defined]
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"no regular expression: {error}") from None
    if compiled.groups != 1:
        raise ValueError(f"expected one group, which is what is read, found {compiled.groups}")
    if _ways(parsed) > _MOST_CHOICES:
        raise ValueError(f"more than {_MOST_CHOICES} ways to go through it; expected fewer alternatives")


@cache
def _ways_through(pattern: str) -> int:
    return _ways(re._parser.parse(pattern))  # type: ignore[attr-defined]


def _ways(parsed: Any) -> int:
    """How many ways there are to go through a part of a pattern; `ValueError` for what has no bound."""
    ways = 1
    for operation, argument in parsed:
        name = str(operation)
        if name in ("LITERAL", "NOT_LITERAL", "IN", "ANY", "AT"):
            continue
        if name == "SUBPATTERN":
            ways *= _ways(argument[3])
        elif name == "BRANCH":
            ways *= sum(map(_ways, argument[1]))
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            ways *= _ways_to_repeat(name, *argument)
        else:
            raise ValueError(f"{name.lower().replace('_', ' ')} is not allowed here")
        if ways > _MOST_CHOICES:
            return ways
    return ways


def _ways_to_repeat(name: str, least: int, most: int, parsed: Any) -> int:
    within = _ways(parsed)
    single = len(parsed) == 1 and str(parsed[0][0]) in ("LITERAL", "NOT_LITERAL", "IN", "ANY")
    if name == "POSSESSIVE_REPEAT" and single:
        return 1
    if most > _FEW:
        raise ValueError(
            "what is repeated often has to be one character and to give nothing back: write *+ or ++ for it"
        )
    return int((most - least + 1) * within ** min(int(most), _FEW))
