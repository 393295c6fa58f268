"""Scores and grades out of a buffer: ordinary ones converted in vectors, the rest one at a time.

A decimal of at most 15 digits and at most 22 places is an exact integer divided by an exact power of
ten, so that one correctly rounded division gives the very float that `float()` gives.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from rageval.tables.ids import Ids

SCORE = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
GRADE = re.compile(rb"[+-]?\d{1,7}", re.ASCII)

_DIGITS_EXACT = 15
_POWERS = 10.0 ** np.arange(23)
_POINT, _PLUS, _MINUS, _ZERO = b".+-0"


def scores(ids: Ids) -> NDArray[np.float64] | None:
    """Every field as a finite float, or None if one of them is not a score."""
    aligned = _aligned_decimals(ids)
    if aligned is not None:
        return aligned
    value, ordinary = _decimals(ids)
    for row in np.flatnonzero(~ordinary).tolist():
        number = score(ids[row])
        if number is None:
            return None
        value[row] = number
    return value


def score(text: bytes) -> float | None:
    """One score, or None if it is no finite decimal number in ASCII."""
    if not SCORE.fullmatch(text):
        return None
    number = float(text)
    return number if abs(number) != float("inf") else None


def grades(ids: Ids, largest: int) -> NDArray[np.int32] | None:
    """Every field as a whole number, or None if one of them is not a grade."""
    if len(ids) and ids.length.max() == 1:
        digit = ids.buffer[ids.start] - np.uint8(_ZERO)
        return digit.astype(np.int32) if digit.max() <= 9 else None
    digits = ids.length - np.isin(ids.buffer[ids.start], (_PLUS, _MINUS))
    if (digits < 1).any() or (digits > 7).any():
        return None
    value, ordinary = _decimals(ids)
    whole = ordinary & (value == np.trunc(value)) & (np.abs(value) <= largest)
    if not whole.all() or _has_point(ids):
        return None
    return value.astype(np.int32)


def grade(text: bytes, largest: int) -> int | None:
    """One grade, or None."""
    if not GRADE.fullmatch(text):
        return None
    number = int(text)
    return number if abs(number) <= largest else None


def _aligned_decimals(ids: Ids) -> NDArray[np.float64] | None:
    """Values of fields that all have the same number of places, such as `12.50` and `9.25`; else None."""
    longest, shortest = (int(ids.length.max()), int(ids.length.min())) if len(ids) else (0, 0)
    places = ids[0][::-1].find(b".") if len(ids) else -1
    if places < 1 or shortest < places + 2 or longest > _DIGITS_EXACT + 1:
        return None
    last = ids.start + ids.length - 1
    if (ids.buffer[last - places] != _POINT).any():
        return None
    mantissa = np.zeros(len(ids), np.int64)
    worth = 1
    for back in [*range(places), *range(places + 1, longest)]:
        digit = ids.buffer[np.maximum(last - back, 0)] - np.uint8(_ZERO)
        if back >= shortest:
            digit[ids.length <= back] = 0
        if digit.max() > 9:
            return None
        mantissa += digit.astype(np.int64) * worth  # numpy 1 would multiply in bytes
        worth *= 10
    value: NDArray[np.float64] = mantissa / _POWERS[places]
    return value


def _has_point(ids: Ids) -> bool:
    return any(
        bool((ids.buffer[ids.start[rows] + at] == _POINT).any())
        for at in range(int(ids.length.max(initial=0)))
        for rows in (np.flatnonzero(ids.length > at),)
    )


def _decimals(ids: Ids) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Values of fields such as `-12.50`, and which fields are of that shape and exact."""
    first = ids.buffer[ids.start]
    signed = (first == _MINUS) | (first == _PLUS)
    mantissa = np.zeros(len(ids), np.int64)
    digits = np.zeros(len(ids), np.int64)
    places = np.zeros(len(ids), np.int64)
    seen_point = np.zeros(len(ids), bool)
    ordinary = ids.length <= _DIGITS_EXACT + 2
    start = ids.start + signed
    left = np.where(ordinary, ids.length - signed, 0)
    shortest = int(left.min()) if len(left) else 0
    for at in range(int(left.max(initial=0))):
        byte = ids.buffer[start + at]  # the padding behind the buffer allows for the longest ordinary field
        digit = byte - np.uint8(_ZERO)
        is_digit, is_point = digit <= 9, byte == _POINT
        if at >= shortest:
            inside = left > at
            is_digit &= inside
            is_point &= inside
            ordinary &= is_digit | ~inside | (is_point & ~seen_point)
        else:
            ordinary &= is_digit | (is_point & ~seen_point)
        seen_point |= is_point
        mantissa = np.where(is_digit, mantissa * 10 + digit, mantissa)
        digits += is_digit
        places += is_digit & seen_point
    ordinary &= (digits > 0) & (digits <= _DIGITS_EXACT)
    value = mantissa / _POWERS[np.minimum(places, 22)]
    value[first == _MINUS] *= -1.0
    return value, ordinary
