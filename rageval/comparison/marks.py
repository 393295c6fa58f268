"""What stands beside the numbers of a comparison, and beneath them: letters, counts, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rageval.measures.base import LOWER, NEITHER
from rageval.scoring.scores import BY_PEOPLE, BY_THIS_JUDGE, NOT_IN_IT
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.results import Cell, Comparison

TESTS = {"randomisation": "sign-flip randomisation", "t": "paired t-test", "wilcoxon": "Wilcoxon's test"}
ADJUSTMENTS = {"holm": "Holm", "max_t": "max-T", "tukey": "Tukey HSD", "none": "not adjusted"}


def letters_of(found: Comparison) -> dict[str, str]:
    """Return a, b, …, z, aa, … for the runs."""
    letters = {}
    for at, run in enumerate(found.runs):
        letter = ""
        while at >= 0:
            # As spreadsheets count columns: there is no zero, so one is taken off at each place.
            at, rest = divmod(at, 26)
            letter, at = chr(ord("a") + rest) + letter, at - 1
        letters[run] = letter
    return letters


def beaten_by(cell: Cell, found: Comparison) -> list[str]:
    """Return the letters of the runs that are significantly worse by this measure."""
    letters = letters_of(found)
    beaten = []
    for pair in found.of(cell.measure):
        if pair.better_run == cell.run:
            beaten.append(letters[pair.other if cell.run == pair.run else pair.run])
    # By length first: aa comes after z.
    return sorted(beaten, key=lambda letter: (len(letter), letter))


def rests_on(cell: Cell, found: Comparison) -> str:
    """On how many queries a mean rests, where that is not all of them, or not what the others rest on."""
    beside = {pair.queries for pair in found.of(cell.measure)}
    # Said only where it differs: the usual n stands once beneath the table.
    beside |= {each.queries for each in found.cells if each.measure == cell.measure}
    return f" (n={cell.queries:,})" if cell.undefined or beside - {cell.queries} else ""


def untested(found: Comparison) -> str:
    """Say that no pair was tested, and why; nothing, where some pair was."""
    if not all(math.isnan(pair.p) for pair in found.pairs):
        return ""
    return " ".join(["Nothing was tested.", *(f"{visible(said)}." for said in found.remarks[:1])])


def shown_p(value: float) -> str:
    """Return p with four places, or two digits where it is small."""
    return f"{value:.1e}" if value < 0.001 else f"{value:.4f}"


def legend(found: Comparison) -> Iterator[str]:
    """Say what the marks mean, what the numbers rest on, and of which measures high values are not good."""
    settings, by_judges = found.settings, said_of_judges(found.bases)
    if found.gold:
        yield gold_legend(found)
    if found.gold and set(found.bases.values()) == {BY_PEOPLE}:
        yield from _said_of_directions(found)
        return
    whose = f" {BY_THIS_JUDGE}" if all(found.bases.values()) else ""
    yield (
        f"'> a' means significantly better than a{whose} ({TESTS[settings.test]},"
        f" {ADJUSTMENTS[settings.adjust]}, {1 - settings.level:.3g}); intervals {settings.level:.4g};"
        f" detectable and needed at power {settings.power:g}"
    )
    if by_judges:
        yield by_judges
    yield from _said_of_directions(found)


def gold_legend(found: Comparison) -> str:
    """Say what corrected numbers are."""
    settings = found.settings
    names = ", ".join(measure for measure, basis in found.bases.items() if basis == BY_PEOPLE)
    what = "queries of this kind" if settings.population == "kind" else "this very set of queries"
    return (
        f"{names}: corrected by people's labels, for {what}: 'judge' is the judge's difference, 'gain' how"
        " many labels would tell as much without a judge; '> a' means significantly better than a (Student's"
        f" t, {ADJUSTMENTS[settings.adjust]}, {1 - settings.level:.3g}); intervals {settings.level:.4g}"
    )


def _said_of_directions(found: Comparison) -> Iterator[str]:
    """Say of which measures low values are good, or none."""
    for way, said in ((LOWER, "low is good"), (NEITHER, "neither high nor low is good")):
        names = [measure for measure, better in found.better.items() if better == way]
        if names:
            yield f"{said}: {', '.join(names)}"


def said_of_judges(bases: Mapping[str, str]) -> str:
    """Say which measures are a judge's word alone, from {measure: basis}; empty if none is.

    >>> said_of_judges({"crag_score": "by this judge", "length": ""})
    "by this judge: crag_score (the judge's error is not in it; --gold, people's labels, puts it in)"
    """
    names = [measure for measure, basis in bases.items() if basis == BY_THIS_JUDGE]
    if not names:
        return ""
    return f"{BY_THIS_JUDGE}: {', '.join(names)} ({NOT_IN_IT}; --gold, people's labels, puts it in)"
