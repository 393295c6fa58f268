"""The numbers in a text, as numbers: 1,000 is 1000, 3.50 is 3.5, 1.2 million is 1200000."""

from __future__ import annotations

import re
from decimal import Decimal

from rageval.text import compatible

_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_NUMERAL = re.compile(
    r"(?<![\w.,])(?P<sign>-)?(?P<digits>\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?P<decimals>\.\d+)?"
    rf"(?:[ -](?P<scale>{'|'.join(_SCALES)})s?\b)?",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(?<=\d)\s?[–—-]\s?(?=\d)")
_RAISED = re.compile("[¼-¾⅐-⅞²³¹⁰⁴-⁹₀-₉]+")  # 10² is not 102, nor 2½ 21/2
_LONGEST = 40  # digits; more are an id, compared as text


def numbers_in(text: str) -> list[Decimal]:
    """All numbers written in digits, in order; a dash between two numbers is no minus.

    >>> [str(number) for number in numbers_in("1,000 of 3.5 million in 1998-2003, at -4 °C")]
    ['1000', '3500000', '1998', '2003', '-4']
    """
    text = compatible(_RAISED.sub(r" \g<0> ", text)).replace("−", "-")
    text = _RANGE.sub(" to ", text)
    return [_value(match) for match in _NUMERAL.finditer(text) if len(match["digits"]) <= _LONGEST]


def _value(match: re.Match[str]) -> Decimal:
    plain = (match["sign"] or "") + match["digits"].replace(",", "") + (match["decimals"] or "")
    scale = _SCALES.get((match["scale"] or "").lower(), 0)
    return Decimal(f"{Decimal(f'{plain}E{scale}'):f}")  # exact, however long
