"""Evidence: the words of a text that a verdict rests on must stand in it.

A model that was talked into a verdict, or made one up, seldom has a quote to show for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rageval.judges.kinds import Verdict
from rageval.judges.replies import Invalid
from rageval.judges.rubric import Rubric
from rageval.text import compatible

_MOST_PIECES = 50  # each is looked for in the whole text
_LEFT_OUT = re.compile(r"\[?(?:\.\.\.|…)\]?")


def require_evidence(rubric: Rubric, verdicts: Iterable[Verdict], data: Mapping[str, Any]) -> None:
    """`Invalid` if a verdict that needs a quote has none, or one that is nowhere in what was shown."""
    source = rubric.file.evidence_from
    if source is None:
        return
    for verdict in verdicts:
        if verdict.label in rubric.file.evidence_for and not is_quoted(verdict.evidence or "", data[source]):
            of = f" of {verdict.id}" if verdict.id else ""
            raise Invalid(
                f"evidence{of}: {verdict.label} needs words of the {source}, copied exactly;"
                f" found {verdict.evidence!r:.80}"
            )


def is_quoted(evidence: str, text: str) -> bool:
    """Whether the quote, or every piece of it where some is left out, stands in the text.

    >>> is_quoted("It’s safe … at 100 °C", "It's  SAFE, they say, at 100 °C.")
    True
    >>> is_quoted("perfectly safe", "It's safe."), is_quoted(" … ", "It's safe."), is_quoted("✓", "✓ (yes)")
    (False, False, True)
    """
    pieces = [piece.strip() for piece in _LEFT_OUT.split(evidence) if piece.strip()]
    shown = folded(text)
    return 0 < len(pieces) <= _MOST_PIECES and all(
        piece in text or (folded(piece) or "\n") in shown for piece in pieces
    )


def folded(text: str) -> str:
    """Text as quotes are compared: without case, marks and blanks that copying changes.

    >>> folded("It’s  SAFE.") == folded("it's safe")
    True
    """
    return re.sub(r"\W+", " ", compatible(text).casefold()).strip()
