"""Did you mean …?"""

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
