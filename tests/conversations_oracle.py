"""Measures of conversations once more, slowly, from their definitions: a letter a turn, a value a turn."""

from __future__ import annotations

from fractions import Fraction

# What a turn is: correct, missing (refused) or hallucinated.
LABELS = {"c": "perfect", "m": "missing", "h": "incorrect"}
Values = list[Fraction | None]


def turn_truthfulness(talk: str, stop: int = 2) -> Values:
    """1, 0 or −1 a turn, until the user leaves after `stop` turns without a correct answer."""
    values: Values = []
    for turn, letter in enumerate(talk):
        has_ended = any("c" not in talk[first : first + stop] for first in range(turn - stop + 1))
        values.append(Fraction(0 if has_ended else {"c": 1, "m": 0, "h": -1}[letter]))
    return values


def at_the_end(talk: str, value: Fraction) -> Values:
    return [None] * (len(talk) - 1) + [value]


def conversation_score(talk: str, stop: int = 2) -> Values:
    values = [value for value in turn_truthfulness(talk, stop) if value is not None]
    return at_the_end(talk, sum(values, Fraction(0)) / len(values))


def all_turns(talk: str) -> Values:
    return at_the_end(talk, Fraction(set(talk) == {"c"}))


def conditioned(talk: str, answerable: list[bool]) -> Values:
    """A refusal is right where there is no answer, and an answer is right where there is one and it is."""
    return [
        Fraction(letter == "c") if can_be else Fraction(letter == "m")
        for letter, can_be in zip(talk, answerable, strict=True)
    ]
