"""Text from files: as a terminal, a table or a message may show it, and how long it is.

A length is only comparable under one rule of counting; tracks have theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from unicodedata import combining, normalize

from rageval.errors import InputError, UsageError

AROUND = " \t\n\r\v\f"  # what no id begins or ends with
# Patterns are compiled when they are first needed: most commands see nothing that needs one.
# C0 and C1 controls, DEL, line separators, and what reorders text, hides it or hides in it.
_HOSTILE = (
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)

_HALF = "[\ud800-\udfff]"


def replace_surrogates(text: str) -> str:
    r"""Return the text as UTF-8 can hold it: each half of a character becomes U+FFFD.

    >>> replace_surrogates("a\ud800b")
    'a\ufffdb'
    """
    return text if text.isascii() else re.sub(_HALF, "\ufffd", text)


# What is no letter, and what becomes none: marks that sit on a letter are among it.
_MARKS = "(?:[^\\w\\s\x00-\x7f]|[\uff9e\uff9f]){31,}"
_MOST_MARKS = 30  # on one letter; Unicode's own bound for texts that come in a stream


def compatible(text: str) -> str:
    """Return the text in Unicode's form NFKC, in time that grows as the text does.

    Sorting the marks on one letter takes the square of their number, so more than anybody writes are parted.

    >>> compatible("ﬁne ²")
    'fine 2'
    """
    return text if text.isascii() else normalize("NFKC", re.sub(_MARKS, _split_marks, text))


def _split_marks(match: re.Match[str]) -> str:
    run = match.group()
    if sum(map(bool, map(combining, run))) <= _MOST_MARKS:
        return run
    return "\u034f".join(run[start : start + _MOST_MARKS] for start in range(0, len(run), _MOST_MARKS))


def parted_at_formulas(text: str) -> list[str]:
    r"""Return text, formula, text, …: formulas stand between dollar signs, and \$ is a dollar.

    >>> parted_at_formulas(r"$\alpha$-nDCG"), parted_at_formulas(r"5 \$, or $5"), parted_at_formulas("$x$$y$")
    (['', '\\alpha', '-nDCG'], ['5 $, or $5'], ['', 'x', '', 'y', ''])
    """
    parts = re.split(r"(?<!\\)\$", text)
    if len(parts) % 2 == 0:  # a formula that does not end is none
        parts[-2:] = ["$".join(parts[-2:])]
    return [part if index % 2 else part.replace(r"\$", "$") for index, part in enumerate(parts)]


# What programs write where an answer was to stand: a traceback, or the error of a model's server.
_ERRORS = (
    r"Traceback\s\(most\srecent\scall\slast\):"
    r"|Error\scode:\s\d{3}\b"
    r"|(?:HTTP\s)?(?:status\s|error\s)?(?:429|5\d\d):?\s(?:Too\sMany\sRequests|Internal\sServer\sError"
    r"|Bad\sGateway|Service\sUnavailable|Gateway\sTime-?out)"
    r"|(?:\w+\.)*(?:RateLimit|API|APITimeout|APIConnection|APIStatus|InternalServer|ServiceUnavailable"
    r"|BadRequest|Authentication|PermissionDenied|NotFound|Timeout|ReadTimeout|ConnectTimeout|Connection"
    r"|HTTP|HTTPStatus)Error\b\s?[:(]"
    r"|\{\s*[\"']error[\"']\s*:"
)


def is_error_message(text: str) -> bool:
    """Return whether a text is what a program writes when it fails, and no answer.

    >>> [*map(is_error_message, ("Error code: 429 - slow down", "Traceback (most recent call last):"))]
    [True, True]
    >>> [*map(is_error_message, ("Error code 429 means: too many requests.", "KeyError: 'a'"))]
    [False, False]
    """
    return re.match(_ERRORS, text.lstrip()) is not None


def written_out(name: str) -> str:
    r"""Return a name with bytes that are no UTF-8 written out, so that any file can hold it.

    >>> written_out("run\udcff"), written_out("run")
    ('run\\udcff', 'run')
    """
    return name.encode("utf-8", "backslashreplace").decode()


def visible(text: str | bytes) -> str:
    r"""Return the text with everything a terminal would obey written out.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    if text.isascii() and text.isprintable():  # most are, and need no pattern
        return text
    return re.sub(_HOSTILE, lambda match: _escape(match.group()), text)


def some(names: Sequence[str], number: int = 3) -> str:
    """Return the first few names, as messages show them.

    >>> print(some(["q1", "q2", "q3", "q4"]))
    q1, q2, q3, …
    """
    return ", ".join(map(visible, names[:number])) + (", …" if len(names) > number else "")


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_LOOKS_LIKE_A_KEY = r"\b(?:sk|pk|rk)-[\w*.-]{6,}|(?i:(?<=bearer ))[\w.~+/-]{8,}=*"
HIDDEN = "***"  # stands where a key was


def without_keys(text: str) -> str:
    """Strike out what looks like a key of a provider.

    >>> without_keys("401: Bearer abcdefgh is no key, nor is sk-1234567")
    '401: Bearer *** is no key, nor is ***'
    """
    return re.sub(_LOOKS_LIKE_A_KEY, HIDDEN, text)


def problem_of_id(text: str) -> InputError | None:
    """Return what is wrong with an id: it is empty, or has blanks around it, which no TREC file can hold.

    >>> print(problem_of_id("q1 ")), problem_of_id("q 1")
    expected an id without blanks around it, found 'q1 '
    (None, None)
    """
    if not text.strip(AROUND):
        return InputError(expected="an id", found="nothing" if not text else repr(text[:80]))
    if text.strip(AROUND) != text:
        return InputError(expected="an id without blanks around it", found=f"{visible(text[:80])!r}")
    return None


def _nfkc(text: str) -> int:
    """Words as TREC RAG 2024 and 2025 count them: after compatibility normalization, at white space.

    An acute accent that stands alone normalizes to a space and an accent, so it parts words here.

    >>> _nfkc("ten\u2009km"), _nfkc("rock\u00b4n roll"), _nfkc("  ")
    (2, 3, 0)
    """
    return len(compatible(text.strip()).split())


def _split(text: str) -> int:
    """Words as TREC RAG 2026 counts them: at white space, nothing normalized.

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


def count_noun(count: int, noun: str) -> str:
    """Return the number and its noun.

    >>> count_noun(1, "row"), count_noun(2000, "row"), count_noun(2, "judged query")
    ('1 row', '2,000 rows', '2 judged queries')
    """
    return f"{count:,} {noun if count == 1 else re.sub('(?<![aeiou])y$', 'ie', noun) + 's'}"


_VERBS = {"are": "is", "were": "was", "have": "has", "count": "counts", "differ": "differs"}
_VERB = "|".join(_VERBS)
_OF_NOUN = re.compile(  # the first verb, unless of another clause, and one that "and" joins to it
    rf"^((?:(?!\b(?:which|where)\b).)*?)\b({_VERB})\b(?:(.*?\band )({_VERB})\b)?"
)
_NO_NOUNS = {"is", "has", "was"}


def of_one(words: str) -> str:
    """Return words that follow a number, where it is 1: with a plural noun, and its verbs.

    >>> of_one("queries of the run are not judged, and count as missing"), of_one("is unjudged")
    ('query of the run is not judged, and counts as missing', 'is unjudged')
    >>> of_one("rankings lack the order in which answers were shown")
    'ranking lack the order in which answers were shown'
    """
    noun, blank, rest = words.partition(" ")
    if not noun.endswith("s") or noun in _NO_NOUNS:
        return words
    rest = _OF_NOUN.sub(
        lambda verbs: "".join(_VERBS.get(part or "", part or "") for part in verbs.groups()), rest
    )
    return re.sub("ie$", "y", noun[:-1]) + blank + rest
