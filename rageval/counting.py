"""How long an answer is, by the rules of the tracks. A length is only comparable under one rule.

>>> length(["It costs \u00bd\u00a0euro.", "Children pay nothing."], "nfkc")
7
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rageval.errors import UsageError
from rageval.text import compatible


def _nfkc(text: str) -> int:
    """Words as TREC RAG 2024 and 2025 count them: after compatibility normalisation, at white space.

    An acute accent that stands alone normalises to a space and an accent, so it parts words here.

    >>> _nfkc("ten\u2009km"), _nfkc("rock\u00b4n roll"), _nfkc("  ")
    (2, 3, 0)
    """
    return len(compatible(text.strip()).split())


def _split(text: str) -> int:
    """Words as TREC RAG 2026 counts them: at white space, nothing normalised.

    >>> _split("ten\u2009km"), _split("rock\u00b4n roll"), _split("  ")
    (2, 2, 0)
    """
    return len(text.split())


def _nonspace(text: str) -> int:
    """Characters that are not white space, as TREC QA 2003 counts its length allowance.

    >>> _nonspace(" two words\\n")
    8
    """
    return sum(map(len, text.split()))


def _characters(text: str) -> int:
    """All characters (code points).

    >>> _characters(" two words\\n")
    11
    """
    return len(text)


RULES: dict[str, Callable[[str], int]] = {
    "nfkc": _nfkc,
    "split": _split,
    "nonspace": _nonspace,
    "characters": _characters,
}


def length(sentences: Iterable[str], rule: str = "nfkc") -> int:
    """Return the length of an answer: the sum over its sentences."""
    if rule not in RULES:
        raise UsageError(f"counting rule {rule!r}: expected one of {', '.join(RULES)}")
    return sum(map(RULES[rule], sentences))
