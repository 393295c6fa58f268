"""Short gold answers, compared by form: the free first stage before a model is asked."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from rageval.judges.exact import folded
from rageval.judges.models.numerals import numbers_in

_WORD, _NO_WORD = re.compile(r"\w"), re.compile(r"\W")
_ARTICLES = {"a", "an", "the"}


def exact(answer: str, gold: Iterable[str]) -> bool:
    """Whether the answer is a gold answer, but for case, quotes, blanks and a full stop.

    >>> exact("paris.", ["Paris"]), exact("In Paris", ["Paris"]), exact("", [""])
    (True, False, False)
    """
    said = folded(answer)
    return bool(said) and any(said == folded(text) for text in gold)


def contains(answer: str, gold: Iterable[str]) -> bool:
    """Whether a gold answer stands in the answer as whole words; an answer that names everything passes too.

    >>> contains("It is in Paris, I think.", ["paris"]), contains("A comparison", ["Paris"])
    (True, False)
    """
    said = folded(answer)
    wanted = filter(None, map(folded, gold))
    return any(_has_words(said, text) for text in wanted)


def _has_words(said: str, wanted: str) -> bool:
    """Whether the text stands there with no letter or digit right before or behind it."""
    at = said.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (_WORD.match(said, at - 1) if at else None) and not _WORD.match(said, end):
            return True
        border = _NO_WORD.search(said, at)
        at = said.find(wanted, border.end()) if border else -1
    return False


def number(answer: str, gold: Iterable[str], within: float = 0.0) -> bool:
    """Whether the numbers of the answer are those of a gold answer, each within this share of it.

    >>> number("About 1,500 people", ["1500"]), number("1400 or 1500", ["1500"]), number("none", ["none"])
    (True, False, False)
    """
    said = sorted(set(numbers_in(answer)))
    wanted = (sorted(set(numbers_in(text))) for text in gold)
    return any(
        len(said) == len(numbers) > 0
        and all(abs(a - b) <= abs(float(b)) * within for a, b in zip(said, numbers, strict=True))
        for numbers in wanted
    )


def token_f1(answer: str, gold: Iterable[str]) -> float:
    """The F1 of the answer's words and those of the nearest gold answer, without articles, as in SQuAD.

    >>> token_f1("the tall tower", ["Tower"]), token_f1("", ["x"])
    (0.6666666666666666, 0.0)
    """
    said = _words(answer)
    return max((_f1(said, _words(text)) for text in gold), default=0.0)


def _words(text: str) -> Counter[str]:
    characters = (" " if unicodedata.category(c)[0] in "PS" else c for c in folded(text))
    return Counter(word for word in "".join(characters).split() if word not in _ARTICLES)


def _f1(said: Counter[str], wanted: Counter[str]) -> float:
    shared = (said & wanted).total()
    return 2 * shared / (said.total() + wanted.total()) if shared else 0.0
