"""A proxy that needs no network: how much of a nugget's wording stands in one place of a text.

It gives a number and never says support or partial: of the TREC RAG nuggets that are absent from an answer on
the same topic, most still share half their words with it. It may rank systems; it replaces no judge, and its
name stays in the name of what is computed from it: `nugget_recall[lexical]`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from rageval.judges.models.numerals import numbers_in
from rageval.text import compatible

NAME = "lexical"
WINDOW = 2  # sentences; a fact is seldom spread over more

# A letter of a script without blanks is a word of its own.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")
_COMMON_WORDS = """
a about after also an and any are as at be been but by can could did do does for from had has have he her
his how if in into is it its may more most no not of on or other our over she should so some such than
that the their them then there these they this those to under up was we were what when where which who
will with would you your s t
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_ENDINGS = ("ations", "ation", "ingly", "edly", "ings", "ies", "ing", "ied", "ed", "es", "ly", "s")
_SHORTEST_STEM = 3


@dataclass(frozen=True)
class _Place:
    """A sentence, or what stands in several."""

    text: str
    stems: frozenset[str]
    numbers: frozenset[Decimal]


def lexical_support(nugget: str, text: str, weights: Mapping[str, float] | None = None) -> float:
    """From 0 to 1: the share of the nugget's words, by weight, in the best two neighbouring sentences.

    A place that lacks a number of the nugget counts for nothing. Rare words weigh more: `weights` come from
    `stem_weights` over a collection, by default from the sentences of the text.

    >>> text = "The Eiffel Tower stands in Paris. It was built in 1889. Millions visit the tower."
    >>> lexical_support("The tower was built in 1889", text)
    1.0
    >>> lexical_support("The tower was built in 1890", text)
    0.0
    >>> round(lexical_support("The tower is visited by tourists", text), 3)
    0.537
    """
    return lexical_evidence(nugget, text, weights)[0]


def lexical_evidence(nugget: str, text: str, weights: Mapping[str, float] | None = None) -> tuple[float, str]:
    """The support and the place in the text it was found in, empty if there is none."""
    wanted = _wanted_stems(nugget)
    numbers = frozenset(numbers_in(nugget))
    weigh = _weigher(text, weights)
    total = math.fsum(weigh(stem) for stem in wanted)
    best = (0.0, "")
    for place in _windows(text):
        if not numbers <= place.numbers:
            continue
        found = math.fsum(weigh(stem) for stem in wanted if stem in place.stems)
        share = found / total if total else float(bool(numbers))
        best = max(best, (share, place.text), key=lambda pair: pair[0])
    return best


def stem_weights(texts: Iterable[str]) -> dict[str, float]:
    """The inverse document frequency of each stem, log(1 + N / (1 + df)); what never occurs stands under "".

    >>> weights = stem_weights(["red apples", "green apples"])
    >>> weights["appl"] < weights["red"] < weights[""]
    True
    """
    frequency: Counter[str] = Counter()
    total = 0
    for text in texts:
        frequency.update(set(_stems(text)))
        total += 1
    weights = {stem: math.log(1 + total / (1 + count)) for stem, count in frequency.items()}
    return {**weights, "": math.log(1 + total)}


def stem(word: str) -> str:
    """The word without the ending that English inflects it by: crude, and alike for all forms of most words.

    >>> [stem(word) for word in ("towers", "visited", "visiting", "planned", "planning", "studies", "study")]
    ['tower', 'visit', 'visit', 'plan', 'plan', 'stud', 'stud']
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    if len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "aeiousl":
        word = word[:-1]
    return word[:-1] if len(word) > _SHORTEST_STEM and word[-1] in "eyi" else word


def _stems(text: str) -> Iterator[str]:
    text = compatible(text).casefold().replace("’", "'").replace("'s", "")
    return (stem(word) for word in _WORD.findall(text) if word not in _COMMON)


def _wanted_stems(nugget: str) -> list[str]:
    """The nugget's stems, each once, in the order that makes sums the same everywhere."""
    return sorted(set(_stems(nugget)))


@lru_cache(maxsize=64)
def _sentences(text: str) -> tuple[_Place, ...]:
    parts = (part.strip() for part in _SENTENCE_END.split(text))
    return tuple(_Place(part, frozenset(_stems(part)), frozenset(numbers_in(part))) for part in parts if part)


@lru_cache(maxsize=64)
def _own_weights(text: str) -> Mapping[str, float]:
    return stem_weights(place.text for place in _sentences(text))


def _weigher(text: str, weights: Mapping[str, float] | None) -> Callable[[str], float]:
    known = _own_weights(text) if weights is None else weights
    unknown = known.get("", 1.0)
    return lambda stem: known.get(stem, unknown)


def _windows(text: str) -> Iterator[_Place]:
    """Each stretch of neighbouring sentences, as one place."""
    sentences = _sentences(text)
    for at in range(max(len(sentences) - WINDOW, 0) + 1):
        near = sentences[at : at + WINDOW]
        yield _Place(
            " ".join(place.text for place in near),
            frozenset().union(*(place.stems for place in near)),
            frozenset().union(*(place.numbers for place in near)),
        )
