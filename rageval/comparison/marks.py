"""What stands beside the numbers of a comparison, and beneath them: letters, counts, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from rageval.measures.base import LOWER, NEITHER
from rageval.scoring.basis import PEOPLE, WORDS, by_whom, named, said_of_bases, said_of_corrected
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.results import Cell, Comparison, Settings

TESTS = {"randomisation": "sign-flip randomisation", "t": "paired t-test"}
ADJUSTMENTS = {"holm": "Holm", "max_t": "max-T", "none": "not adjusted"}


def letters_of(found: Comparison) -> dict[str, str]:
    """Return the letters of the runs."""
    return lettered(found.runs)


def lettered(runs: Iterable[str]) -> dict[str, str]:
    """Return a, b, …, z, aa, … for the runs, however many there are.

    >>> lettered(["one", "two"])
    {'one': 'a', 'two': 'b'}
    """
    letters = {}
    for at, run in enumerate(runs):
        letter = ""
        while at >= 0:
            # As spreadsheets count columns: there is no zero, so one is taken off at each place.
            at, rest = divmod(at, 26)
            letter, at = chr(ord("a") + rest) + letter, at - 1
        letters[run] = letter
    return letters


def beaten_by(cell: Cell, found: Comparison) -> list[str]:
    """Return the letters of the runs that are significantly worse by this measure."""
    return found.once("beaten", _beaten).get((cell.run, cell.measure), [])


def _beaten(found: Comparison) -> dict[tuple[str, str], list[str]]:
    letters = letters_of(found)
    beaten: dict[tuple[str, str], list[str]] = {}
    for pair in found.pairs:
        if pair.better_run:
            worse = pair.other if pair.better_run == pair.run else pair.run
            beaten.setdefault((pair.better_run, pair.measure), []).append(letters[worse])
    # By length first: aa comes after z.
    return {place: sorted(worse, key=lambda each: (len(each), each)) for place, worse in beaten.items()}


def rests_on(cell: Cell, found: Comparison) -> str:
    """On how many queries a mean rests, where that is not all of them, or not what the others rest on."""
    beside = found.once("queries", _queries)[cell.measure]
    # Said only where it differs: the usual n stands once beneath the table.
    return f" (n={cell.queries:,})" if cell.undefined or beside != {cell.queries} else ""


def _queries(found: Comparison) -> dict[str, set[int]]:
    """Return on how many queries the means and the pairs rest, by measure."""
    queries: dict[str, set[int]] = {}
    for cell in found.cells:
        queries.setdefault(cell.measure, set()).add(cell.queries)
    for pair in found.pairs:
        queries.setdefault(pair.measure, set()).add(pair.queries)
    return queries


def untested(found: Comparison) -> str:
    """Say that no pair was tested, and why; nothing, where some pair was."""
    if not all(math.isnan(pair.p) for pair in found.pairs):
        return ""
    return " ".join(["Nothing was tested.", *(f"{visible(said)}." for said in found.remarks[:1])])


def family_of(settings: Settings, runs: int, measures: int) -> str:
    """Say for which comparisons p is adjusted.

    >>> from rageval.comparison.results import Settings
    >>> family_of(Settings(), 3, 2), family_of(Settings(baseline="a"), 3, 1), family_of(Settings(), 2, 1)
    ('all pairs, each measure by itself', 'pairs with a', 'one pair')
    """
    # Who picks the best run has looked at all pairs.
    pairs = "all pairs"
    if runs == 2:
        pairs = "one pair"
    elif settings.baseline != "best" and not settings.all_pairs:
        pairs = f"pairs with {visible(settings.baseline)}"
    return pairs + (", each measure by itself" if measures > 1 else "")


def adjusted_over(found: Comparison) -> str:
    """Say how p is adjusted, and for which comparisons."""
    how = ADJUSTMENTS[found.settings.adjust]
    family = next((pair.family for pair in found.pairs if pair.family), "")
    if found.settings.adjust == "none":
        return how + ", each measure by itself" * family.endswith("each measure by itself")
    return f"{how} over {family}" if family else how


def compared(found: Comparison, measures: Collection[str] = ()) -> str:
    """Say which pairs are compared, by these measures or by all; nothing where there is only one."""
    settings = found.settings
    if len(found.runs) == 2:
        return ""
    if settings.all_pairs:
        return "all pairs of runs are compared"
    if settings.baseline != "best":
        return f"only pairs with {visible(settings.baseline)} are compared"
    others = {pair.other for pair in found.pairs if pair.measure in (measures or found.measures)}
    with_it = visible(others.pop()) if len(others) == 1 else "one run for each measure"
    return f"only pairs with {with_it} are shown"


def by_basis(found: Comparison) -> dict[tuple[str, str], list[str]]:
    """Return the measures by what their claims rest on, without those of words alone, which make none."""
    groups: dict[tuple[str, str], list[str]] = {}
    for measure, basis in found.claimed_by.items():
        if basis[0] != WORDS:
            groups.setdefault(basis, []).append(measure)
    return groups


def _whose(*basis: str) -> str:
    """Return by whom claims are, behind a blank; nothing where that need not be said."""
    said = by_whom(*basis)
    return f" {said}" if said else ""


def _came_out(found: Comparison, measures: Collection[str], marks: str) -> str:
    """Say what the tests of pairs by these measures found."""
    pairs = [pair for pair in found.pairs if pair.measure in measures]
    whose = _whose(*found.claimed_by[next(iter(measures))])
    refused = sum(pair.ruling == "refused" for pair in pairs)
    rest = f"; {refused:,} of {len(pairs):,} pairs are refused" if refused else ""
    if any(pair.better_run for pair in pairs):
        return f"{marks} the runs that are significantly worse{whose}{rest}"
    if any(pair.is_significant for pair in pairs):
        return f"differences are significant{whose}, but neither high nor low is good{rest}"
    return f"no difference is significant{whose}{rest}"


def sentences(
    found: Comparison,
    marks: str,
    name: Callable[[str], str] = str,
    text: Callable[[str], str] = str,
) -> list[tuple[bool, str]]:
    """Return a sentence for each basis of claims, and whether labels correct these.

    Each says which pairs are compared, and is true of just these; `marks` is what names the runs that are
    worse. Measures are written by `name`, all else by `text`.
    """
    groups = by_basis(found)
    said = []
    for (_, source), measures in groups.items():
        of = f"by {', '.join(map(name, measures))}, " if len(groups) > 1 else ""
        which = compared(found, measures)
        came_out = _came_out(found, measures, marks)
        said.append((bool(source), of + text(f"{which}: {came_out}" if which else came_out)))
    return said


def said_beneath(found: Comparison) -> list[str]:
    """Return what is said beneath the tables: why pairs have no verdict, and what the marks mean."""
    why = [f"{pair.run} and {pair.other}, {pair.measure}: {pair.why}" for pair in found.pairs if pair.why]
    return [*why, *legend(found)]


def legend(found: Comparison) -> Iterator[str]:
    """Say what the marks mean, what the numbers rest on, and of which measures high values are not good."""
    settings = found.settings
    if said := untested(found):
        yield said
    for (basis, source), measures in by_basis(found).items():
        if source:
            yield gold_legend(found, basis, source, measures)
    plain = {basis for basis, source in by_basis(found) if not source}
    if plain and not untested(found):
        whose = _whose(*plain) if len(plain) == 1 else ""
        which = compared(found)
        yield (
            f"'> a' means significantly better than a{whose} ({TESTS[settings.test]},"
            f" {adjusted_over(found)}, {1 - settings.level:.3g}){f'; {which}' if which else ''}; intervals"
            f" {settings.level:.4g}; detectable and needed at power {settings.power:g}"
        )
    yield from said_of_bases(
        {name: basis for name, (basis, source) in found.claimed_by.items() if not source}
    )
    yield from _said_of_directions(found)


def gold_legend(found: Comparison, basis: str, source: str, measures: Collection[str]) -> str:
    """Say what numbers are that labels correct."""
    settings = found.settings
    what = "queries of this kind" if settings.population == "kind" else "this very set of queries"
    by = "human labels" if basis == PEOPLE else f"labels of {named(basis)}"
    whose = _whose(basis, source)
    which = compared(found)
    return (
        f"{', '.join(measures)}: corrected by {by}, for {what}: 'judge' is the judge's difference, 'gain' how"
        f" many labels would tell as much without a judge; '> a' means significantly better than a{whose}"
        f" (Student's t, {adjusted_over(found)}, {1 - settings.level:.3g}){f'; {which}' if which else ''};"
        f" intervals {settings.level:.4g}"
    )


def said_of_claims(found: Comparison) -> list[str]:
    """Say how pairs were tested, over which p is adjusted, what came out, and what all rests on."""
    settings = found.settings
    if said := untested(found):
        return [said, *said_of_bases(found.bases)]
    tests = " and ".join(dict.fromkeys(pair.test for pair in found.pairs if pair.test))
    said_of_all = [f"intervals {settings.level:.3g}, p by {tests}, {adjusted_over(found)}"]
    said_of_all += [said for _, said in sentences(found, "verdicts name")]
    said_of_all += said_of_corrected(found.claimed_by)
    return said_of_all + said_of_bases(_uncorrected(found))


def _uncorrected(found: Comparison) -> dict[str, str]:
    """Return the basis of each measure that no labels correct."""
    return {name: basis for name, (basis, source) in found.claimed_by.items() if not source}


def _said_of_directions(found: Comparison) -> Iterator[str]:
    """Say of which measures low values are good, or none."""
    for way, said in ((LOWER, "low is good"), (NEITHER, "neither high nor low is good")):
        names = [measure for measure, better in found.better.items() if better == way]
        if names:
            yield f"{said}: {', '.join(names)}"
