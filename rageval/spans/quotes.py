"""Where a quote stands in a text: as it is, but for blanks and signs, or but for some words.

Offsets count code points. Three ways are tried, the strictest first: the very text; the text without regard
to white space, case, the shape of quotation marks and composed letters; and the words, of which some may be
lost or spelled otherwise, where enough of them follow one another. What reaches no such share is not found:
a place that is probably right would be gold that nobody said.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

THRESHOLD = 0.7  # of the words of a quote, that stand there in their order
_GRAM = 3
_WINDOWS = 8  # that most 3-grams vote for
_GAIN = 4  # words that may be skipped for one that agrees
_LONG = 100  # words from which on runs of words are compared, and not every word with every other
_FEWEST = 3  # words of a quote that is looked for elsewhere, too: "yes" stands everywhere
_WALK = 500  # characters that are walked through in the time in which one place is looked up
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′´ʼ＇", "'"),
        **dict.fromkeys("“”„‟″«»＂", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        "…": "...",
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff"),
    }
)
# Scripts that are written without blanks: each letter is a word.
_WORD = "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|\\w+"
_RUN = re.compile(r"\w+")


class QuotePlace(NamedTuple):
    """A stretch of a text, and how much of the quote stands there."""

    start: int
    end: int
    score: float = 1.0


class _Indexed:
    """A text, and where each of its words stands.

    Thousands of chunks are looked for in one source: to walk through all of it for each would take time with
    the square of its length.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def starts(self, sought: str, start: int, end: int) -> Iterator[int]:
        """Yield where a text begins, in order and without overlaps, between two offsets."""
        places = self._candidate_positions(sought) if end - start > _WALK else None
        if places is None or len(places) * _WALK > end - start:
            position = self.text.find(sought, start, end) if sought else -1
            while position >= 0:
                yield position
                position = self.text.find(sought, position + len(sought), end)
            return
        for position in places:
            if start <= position <= end - len(sought) and self.text.startswith(sought, position):
                yield position
                start = position + len(sought)

    def _candidate_positions(self, sought: str) -> list[int] | None:
        """Return where a text may begin, by its rarest word; None if it has none that is certainly whole."""
        # The first and the last may be parts of words of this text.
        words = list(_RUN.finditer(sought))[1:-1]
        if not words:
            return None
        rarest = min(words, key=lambda word: len(self._words.get(word[0], ())))
        return [position - rarest.start() for position in self._words.get(rarest[0], ())]

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        positions: dict[str, list[int]] = {}
        for word in _RUN.finditer(self.text):
            positions.setdefault(word[0], []).append(word.start())
        return positions


class SourceText:
    """A text in which quotes are looked for; what is made of it for this is made once."""

    def __init__(self, text: str) -> None:
        """Take the text as it is."""
        self.text = text
        self._indexed = _Indexed(text)

    def places(self, quote: str, start: int = 0, end: int | None = None) -> list[QuotePlace]:
        """Return where the quote stands between two offsets, in order; all equally well.

        >>> text = SourceText("He said:  “Go on”. Then he went on, and on.")
        >>> text.places("went on"), text.places('"go on"'), text.places("He left")
        ([QuotePlace(start=27, end=34, score=1.0)], [QuotePlace(start=10, end=17, score=1.0)], [])
        """
        end = len(self.text) if end is None else min(end, len(self.text))
        return (
            # The strictest way that finds anything: a looser one would only add places that are worse.
            list(self._exact(quote, start, end))
            or list(self._folded(quote, start, end))
            or self._by_words(quote, start, end)
        )

    def copies(self, place: tuple[int, int]) -> tuple[tuple[int, int], ...]:
        """Return where else the text of a place stands, but for blanks and signs."""
        start, end = place
        quote = self.text[start:end]
        if len(words_of(quote)) < _FEWEST:
            return ()
        matches = ((match.start, match.end) for match in self._folded(quote, 0, len(self.text)))
        return tuple(match for match in matches if match[1] <= start or end <= match[0])

    def _exact(self, quote: str, start: int, end: int) -> Iterator[QuotePlace]:
        """Yield where the very text stands; places do not overlap."""
        quote = quote.strip()
        for position in self._indexed.starts(quote, start, end):
            yield QuotePlace(position, position + len(quote))

    def _folded(self, quote: str, start: int, end: int) -> Iterator[QuotePlace]:
        """Yield where the text stands but for white space, case and the shape of signs."""
        folded_quote = folded(quote)[0].strip()
        shape, origin = self._shape
        # Offsets of the text become those of the folded one, which may be shorter or longer.
        first, last = bisect_left(origin, start), bisect_left(origin, end)
        for position in shape.starts(folded_quote, first, last):
            to = position + len(folded_quote)
            # Behind the last letter, not before the next: folded blanks lie between. And behind the marks
            # that sit on it.
            behind = origin[to - 1] + 1
            while behind < len(self.text) and unicodedata.combining(self.text[behind]):
                behind += 1
            yield QuotePlace(origin[position], behind)

    @cached_property
    def _shape(self) -> tuple[_Indexed, Sequence[int]]:
        text, origin = folded(self.text)
        return _Indexed(text), origin

    @cached_property
    def _words(self) -> tuple[list[str], Sequence[int], Sequence[int]]:
        matches = list(re.finditer(_WORD, self.text))
        words = [_fold_word(match.group()) for match in matches]
        return words, [match.start() for match in matches], [match.end() for match in matches]

    @cached_property
    def _grams(self) -> dict[tuple[str, ...], list[int]]:
        """Where each three words that follow one another stand."""
        words = self._words[0]
        positions: dict[tuple[str, ...], list[int]] = {}
        for index in range(len(words) - _GRAM + 1):
            positions.setdefault(tuple(words[index : index + _GRAM]), []).append(index)
        return positions

    def _by_words(self, quote: str, start: int, end: int) -> list[QuotePlace]:
        """Return the place where most of the words stand, if these are enough."""
        quote_words = words_of(quote)
        _, begins, ends = self._words
        first, last = bisect_left(begins, start), bisect_left(ends, end + 1)
        best: dict[tuple[int, int], float] = {}
        # Every word with every other takes time with the square of the length.
        align = _align if len(quote_words) <= _LONG else _align_by_grams
        for low, high in self._windows(quote_words, first, last):
            alignment = align(quote_words, self._words[0][low:high])
            if alignment is not None and alignment[2] >= THRESHOLD * len(quote_words):
                place = begins[low + alignment[0]], ends[low + alignment[1]]
                best[place] = max(best.get(place, 0.0), alignment[2] / len(quote_words))
        highest = max(best.values(), default=0.0)
        # Several places that are equally good are all told: to choose one would be a guess.
        return [QuotePlace(*place, highest) for place, score in sorted(best.items()) if score == highest]

    def _windows(self, quote_words: Sequence[str], first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the stretches of words that most 3-grams of the quote vote for."""
        votes: Counter[int] = Counter()
        # Words left out or put in move the votes, so nearby ones count together.
        slack = max(_GRAM, len(quote_words) // 4)
        for index in range(len(quote_words) - _GRAM + 1):
            for place in self._grams.get(tuple(quote_words[index : index + _GRAM]), ()):
                if first <= place and place + _GRAM <= last:
                    votes[(place - index) // slack] += 1
        for stretch, _ in votes.most_common(_WINDOWS):
            begin = stretch * slack
            yield max(first, begin - slack), min(last, begin + len(quote_words) + 3 * slack)


def _align(quote_words: Sequence[str], window: Sequence[str]) -> tuple[int, int, int] | None:
    """Return the first and the last word of the window that agree, and how many do, in the same order.

    Words before the first and behind the last cost nothing, those skipped between them little: a lone word
    far away is not worth the way to it.
    """
    if not quote_words or not window:
        return None
    # A cell is (value, words that agree, first word): the best that ends at this word of the window.
    row: list[tuple[int, int, int]] = [(0, 0, index) for index in range(len(window) + 1)]
    best = (0, 0, 0, 0)
    for word in quote_words:
        previous, row = row, [(0, 0, 0)]
        for index, other in enumerate(window, 1):
            value, number, begin = row[index - 1]
            # A word skipped on either side costs one; with nothing agreed yet it is free, as the place begins
            # later.
            cell = max(
                previous[index], (value - 1, number, begin) if number else (0, 0, index), key=_cell_value
            )
            if word == other:
                value, number, begin = previous[index - 1]
                fresh = number == 0
                cell = max(cell, (value + _GAIN, number + 1, index - 1 if fresh else begin), key=_cell_value)
                best = max(best, (*cell, index - 1), key=_cell_value) if cell[1] else best
            row.append(cell)
    return None if not best[1] else (best[2], best[3], best[1])


def _align_by_grams(quote_words: Sequence[str], window: Sequence[str]) -> tuple[int, int, int] | None:
    """Return the same by the longest chain of 3-grams that both have, in time that hardly grows with both."""
    there: dict[tuple[str, ...], list[int]] = {}
    for index in range(len(window) - _GRAM + 1):
        there.setdefault(tuple(window[index : index + _GRAM]), []).append(index)
    ends: list[int] = []  # the least place at which a chain of each length ends
    tops: list[tuple[int, int]] = []  # the link at which it ends: its number among all, and the place
    links: list[tuple[int, int, int]] = []  # place in the quote, in the window, and the link before
    for index in range(len(quote_words) - _GRAM + 1):
        # From the last place to the first, so that no chain takes two places for one 3-gram.
        for place in reversed(there.get(tuple(quote_words[index : index + _GRAM]), ())):
            # The longest chain by patience sorting, as for a longest rising subsequence.
            length = bisect_left(ends, place)
            links.append((index, place, tops[length - 1][0] if length else -1))
            ends[length : length + 1] = [place]
            tops[length : length + 1] = [(len(links) - 1, place)]
    if not tops:
        return None
    chain = []
    link = tops[-1][0]
    while link >= 0:
        index, place, link = links[link]
        chain.append((index, place))
    # 3-grams overlap; each word of the quote counts once.
    covered = {word for index, _ in chain for word in range(index, index + _GRAM)}
    return chain[-1][1], chain[0][1] + _GRAM - 1, len(covered)


def _cell_value(cell: tuple[int, ...]) -> int:
    return cell[0]


def folded(text: str) -> tuple[str, Sequence[int]]:
    """Return a text without what spellings differ in, and where each of its letters comes from.

    >>> folded("A  “b”")[0]
    'a "b"'
    """
    letters: list[str] = []
    origin = array("q")
    was_blank = False
    for index, letter in enumerate(text):
        if letter.isspace():
            if not was_blank:
                letters.append(" ")
                origin.append(index)
            was_blank = True
            continue
        # Nearly all letters are ASCII, and normalizing each would take ten times as long.
        new = letter.lower() if letter.isascii() else _plain_letter(letter)
        letters.extend(new)
        origin.extend([index] * len(new))
        # A sign that vanishes between blanks does not part them into two.
        was_blank = was_blank and not new
    return "".join(letters), origin


def _plain_letter(letter: str) -> str:
    """Return a letter without marks, in lower case; nothing, for what nobody sees."""
    parts = unicodedata.normalize("NFKD", letter.translate(_SIGNS))
    return "".join(
        part for part in parts.casefold() if not unicodedata.combining(part) and not part.isspace()
    )


def _fold_word(text: str) -> str:
    return text.lower() if text.isascii() else "".join(map(_plain_letter, text))


def words_of(text: str) -> list[str]:
    """Return the words of a text as they are compared.

    >>> words_of("It’s  Über-easy, 東京")
    ['it', 's', 'uber', 'easy', '東', '京']
    """
    return [_fold_word(match.group()) for match in re.finditer(_WORD, text)]
