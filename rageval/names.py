"""Names that nearly agree: did you mean …?"""

from __future__ import annotations

from collections.abc import Iterable


def suggestion(typed: str, known: Iterable[object]) -> str:
    """A hint at the known names closest to what was typed, or nothing.

    >>> suggestion("covarage", ["coverage", "recall"])
    '; did you mean coverage?'
    """
    import difflib

    close = difflib.get_close_matches(typed.lower(), [str(name) for name in known], n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def near_misses(ids: Iterable[str], known: Iterable[str]) -> str:
    """A hint at ids that would be the same but for case, composed characters, escapes or leading zeros.

    >>> near_misses(["Q01"], ["q1"])
    "; 'Q01' would be 'q1' but for case, leading zeros, %-escapes or Unicode composition"
    """
    folded = {_folded(name): name for name in known}
    for name in ids:
        other = folded.get(_folded(name))
        if other is not None and other != name:
            return (
                f"; {name!r} would be {other!r} but for case, leading zeros, %-escapes or Unicode composition"
            )
    return ""


def _folded(name: str) -> str:
    import re
    import unicodedata
    from urllib.parse import unquote

    return re.sub(r"(?<!\d)0+(?=\d)", "", unicodedata.normalize("NFKC", unquote(name)).casefold().strip())
