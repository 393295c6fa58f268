"""The papers of the measures, which declare what to cite: keys of `papers.bib`, or BibTeX of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from rageval.errors import MeasureError
from rageval.text import visible

_KEY = r"@\w+\s*\{\s*([^\s,{}\"#%~\\]+)\s*,"  # of an entry, and where it begins


@cache
def bibliography() -> dict[str, str]:
    """Return the entries of `papers.bib` by their keys, in its order."""
    text = (files("rageval.measures") / "papers.bib").read_text(encoding="utf-8")
    return {key_of(entry): entry.strip() for entry in text.split("\n\n") if entry.startswith("@")}


def key_of(entry: str) -> str:
    """Return the key by which an entry of BibTeX is cited.

    >>> key_of("@article{smith2020some, title = {Some} }")
    'smith2020some'
    """
    key = re.match(_KEY, entry.lstrip())
    if key is None:
        raise MeasureError(
            f"papers: expected BibTeX such as '@article{{key, …}}', found {visible(entry[:80])!r}"
        )
    return key[1]


def entries(papers: Iterable[str]) -> dict[str, str]:
    """Return the entries that a measure declares, by their keys.

    >>> list(entries(["jarvelin2002cumulated", "@misc{me, title = {Mine} }"]))
    ['jarvelin2002cumulated', 'me']
    """
    by_key = {}
    for paper in papers:
        # No key has an @, and every entry begins with one.
        entry = paper.strip() if "@" in paper else bibliography().get(paper, "")
        if not entry:
            raise MeasureError(
                f"papers: {visible(paper[:80])!r} is not a key of papers.bib; expected one, or a whole entry"
            )
        by_key[key_of(entry)] = entry
    return by_key
