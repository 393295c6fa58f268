"""Names that nearly agree: what did you mean."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from string import ascii_letters
from typing import NamedTuple

_MARKS = "#_/:."
_SLIGHT = "case, leading zeros, %-escapes or Unicode composition"
_BUT_SLIGHTLY = f"but for {_SLIGHT}"
_LETTERS = "but for letters in front,"
_MANY = 0.25  # of the judged ids, or of those retrieved: a cause explains so many, and chance fewer


def suggestion(typed: str, names: Iterable[object]) -> str:
    """Return a hint at the known names closest to what was typed, or nothing.

    >>> suggestion("covarage", ["coverage", "recall"])
    '; did you mean coverage?'
    """
    question = did_you_mean(typed, names)
    return f"; {question}" if question else ""


def did_you_mean(typed: str, names: Iterable[object]) -> str:
    """Return a question for the known names closest to what was typed, or nothing."""
    import difflib

    close = difflib.get_close_matches(typed.lower(), [str(name) for name in names], n=3, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else ""


def near_misses(ids: Iterable[str], others: Iterable[str]) -> str:
    """Return a hint at ids that differ only in case, composed characters, escapes, zeros or letters in front.

    >>> near_misses(["Q01"], ["q1"])
    "'Q01' would be 'q1' but for case, leading zeros, %-escapes or Unicode composition"
    >>> near_misses(["1", "2"], ["q1", "q3"])
    "but for letters in front, '1' would be 'q1'"
    """
    folded = {_folded(name): name for name in others}
    for name in ids:
        other = folded.get(_folded(name))
        if other is not None and other != name:
            return f"{name!r} would be {other!r} but for {_SLIGHT}"
    ids, others = dict.fromkeys(ids), dict.fromkeys(others)
    for words, cut in (*_cuts(), (_LETTERS, _without_letters)):
        ours, theirs = ({cut(name): name for name in names} for names in (ids, others))
        both = [name for name in ours if name in theirs]
        if words == _LETTERS:  # p1 is no misspelt q1, but 1 may be
            both = [name for name in both if name in (ours[name], theirs[name])]
        if len(ours) == len(ids) and len(theirs) == len(others) and both:
            return f"{words} {ours[both[0]]!r} would be {theirs[both[0]]!r}"
    return ""


def _agreement_but_for(
    ours: Mapping[str, Collection[str]], theirs: Mapping[str, Collection[str]]
) -> tuple[str, int]:
    """Return what the ids of the same queries differ by, if so read many of theirs, or of ours, are met.

    A run that is deep meets few of the judged documents with most of what it holds, and a short one few of
    many judged ones: it is enough if either side agrees in a quarter of its ids. Where the ids of both sides
    are cut, which makes many alike, it is a quarter of the judged ones, or of as many as were retrieved.
    What has to be cut off the ids of one side only is a better reason than what has to be cut off both. Of
    several ways the one counts by which most agree, and by which twice as many agree with the ids of the same
    query as with those of another.

    >>> _agreement_but_for({"q": ["a#1", "b#7"]}, {"q": ["a", "c"]})
    ('without "#…" at the end', 1)
    """
    total, judged = (sum(map(len, ids.values())) for ids in (ours, theirs))
    following = pairwise([*ours, *ours][: len(ours) + 1])  # no other where there is one query
    others = {query: theirs[other] for query, other in following if query != other}
    slightly = (_BUT_SLIGHTLY, partial(_count_shared, _folded))
    of_one = [(words, partial(_count_shared_cut, cut)) for words, cut in _cuts()]
    of_both = [(words, partial(_count_shared, cut)) for words, cut in _cuts()]
    for candidates in ((slightly, *of_one), of_both):
        best, reason = 0, ""
        for words, alike in candidates:
            agree = sum(alike(names, theirs[query]) for query, names in ours.items())
            chance = sum(alike(names, others[query]) for query, names in ours.items()) if others else 0
            if agree <= best or agree < 2 * chance:
                continue
            met = sum(alike(theirs[query], names) for query, names in ours.items())
            of_ours = candidates is not of_both and agree >= _MANY * total
            if of_ours or met >= _MANY * (min(total, judged) if candidates is of_both else judged):
                best, reason = agree, words
        if reason:
            return reason, best
    return "", 0


def _count_shared_cut(cut: Callable[[str], str], ours: Collection[str], theirs: Collection[str]) -> int:
    """How many of our ids are among theirs if either are cut."""
    plain, shorter = set(theirs), set(map(cut, theirs))
    return sum(name in shorter or cut(name) in plain for name in ours)


def _count_shared(read: Callable[[str], str], ours: Collection[str], theirs: Collection[str]) -> int:
    """How many of our ids are among theirs if both are read in this way; none if all of theirs are alike."""
    folded = set(map(read, theirs))
    return sum(read(name) in folded for name in ours) if len(folded) > 1 or len(theirs) == 1 else 0


class UnlikeIds(NamedTuple):
    """How the ids of what a run retrieved and those of the judged documents differ, where none is in both.

    Of `retrieved` documents `seen` were looked at. In one `way` of reading ids `agreeing` of these are
    judged; `elsewhere` are judged for other queries.
    """

    queries: int
    retrieved: int
    judged: int
    seen: int
    way: str
    agreeing: int
    elsewhere: int


def unlike_ids(
    retrieved: int, ours: Mapping[str, Collection[str]], theirs: Mapping[str, Collection[str]]
) -> UnlikeIds:
    """Return how ids differ: `ours` of each query, perhaps not all of them, `theirs` of the judged ones."""
    difference, agreeing = _agreement_but_for(ours, theirs)
    elsewhere = len({name for names in ours.values() for name in names} & set().union(*theirs.values()))
    judged, seen = (sum(map(len, ids.values())) for ids in (theirs, ours))
    return UnlikeIds(len(theirs), retrieved, judged, seen, difference, agreeing, elsewhere)


def describe_unlike_ids(run: str, ids: UnlikeIds) -> str:
    """Say that no document of a run is judged, with a cause, if there seems to be one."""
    where = f"any of {ids.queries:,} queries" if ids.queries > 1 else "its one query"
    counts = f"{ids.retrieved:,} retrieved, {ids.judged:,} judged"
    first = "" if ids.seen == ids.retrieved else "first "
    if ids.way:
        cause = "spelling" if ids.way == _BUT_SLIGHTLY else "chunking"
        difference = f"{ids.way[0].upper()}{ids.way[1:]}"
        hint = f"{difference} {ids.agreeing:,} of the {first}{ids.seen:,} are judged: another {cause}?"
    elif ids.elsewhere:
        hint = f"{ids.elsewhere:,} are judged for other queries: are the queries numbered alike?"
    else:
        hint = "Are run and judgements of one collection?"
    return f"no document of {run} is judged in {where} ({counts}). {hint}"


def unlike(
    run: str, retrieved: int, ours: Mapping[str, Collection[str]], theirs: Mapping[str, Collection[str]]
) -> str:
    """Say how the ids of a run differ from the judged ones."""
    return describe_unlike_ids(run, unlike_ids(retrieved, ours, theirs))


def _cuts() -> Iterator[tuple[str, Callable[[str], str]]]:
    """Ways to leave out what stands in front of, or behind, a mark; an id without the mark stays whole."""
    for mark in _MARKS:
        yield f'without "{mark}…" at the end', partial(_part, mark, str.rpartition, 0)
        yield f'cut at the first "{mark}"', partial(_part, mark, str.partition, 0)
        yield f'without "…{mark}" at the beginning', partial(_part, mark, str.rpartition, 2)


def _without_letters(name: str) -> str:
    """Return the number behind letters; any other name as it is."""
    number = name.lstrip(ascii_letters)
    return number if number.isascii() and number.isdigit() else name


def _part(mark: str, parted: Callable[[str, str], tuple[str, str, str]], index: int, name: str) -> str:
    return parted(name, mark)[index] or name


def _folded(name: str) -> str:
    from urllib.parse import unquote

    return re.sub(r"(?<!\d)0+(?=\d)", "", unicodedata.normalize("NFKC", unquote(name)).casefold().strip())


def looks_like_id(word: str) -> bool:
    """Return whether a word that names no file may be the id of a dataset."""
    return "/" in word and not word.startswith(("/", ".")) and "@" not in word
