"""A comparison in a paper: its table in LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rageval.comparison.marks import (
    TESTS,
    adjusted_over,
    beaten_by,
    by_basis,
    legend,
    letters_of,
    rests_on,
    sentences,
    untested,
)
from rageval.errors import UsageError
from rageval.scoring.basis import NO_WINNER, NOT_IN_IT, PEOPLE, WORDS, by_whom, is_judge, named
from rageval.showing import Latex, label_of, latex_lines, latex_table, latex_typeset
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.results import Cell, Comparison

SHOWN = ("interval", "p")  # what may stand beside the values
LOW_IS_GOOD = r"$\downarrow$"  # what stands behind the name of a measure
_STUDENT = "Student's $t$"
_LEAST_P = 0.001  # what is smaller is said to be so


def latex_of(
    found: Comparison, caption: str | None = None, label: str | None = None, show: str = "", places: int = 4
) -> Iterator[str]:
    """Yield the table of runs and measures: the best in bold, superscripts for runs significantly worse."""
    if show not in ("", *SHOWN):
        raise UsageError(f"show={show!r:.80}: expected one of {', '.join(SHOWN)}")
    if show == "p" and found.settings.all_pairs:
        raise UsageError(
            "the p of all pairs have no place in a table of runs; leave out all_pairs, or take csv or json"
        )
    label = label_of("tab:comparison", label, caption)
    notes = list(_said_of_bases(found))
    said = list(_explained(found, show))
    if caption is None:
        caption = " ".join([_counted(found), *said])
    elif caption and said:
        notes.insert(0, " ".join(said))
    # As a comment: it is for whoever edits the paper, and far too long for its table.
    yield f"% {visible(found.signature)}"
    yield from (f"% {visible(line)}" for line in legend(found))
    yield r"% needs \usepackage{booktabs}"
    tabular = latex_lines(_grid(found, show, places), 2)
    yield from latex_table(tabular, caption, label, notes)


def _grid(found: Comparison, show: str, places: int) -> list[list[str]]:
    """Return a row a run and a column a measure, with a letter for each run."""
    heads = [
        latex_typeset(found.typeset(name) + f" {LOW_IS_GOOD}" * found.lower_is_better(name))
        for name in found.measures
    ]
    grid = [["", "run", *heads]]
    for run, letter in letters_of(found).items():
        cells = [found.cell(run, measure) for measure in found.measures]
        grid.append([letter, run, *(_latex_cell(cell, found, show, places) for cell in cells)])
    return grid


def _latex_cell(cell: Cell, found: Comparison, show: str, places: int) -> Latex:
    if math.isnan(cell.value):
        return Latex("--")  # nothing is defined, or people labelled too few
    value = f"{cell.value:.{places}f}"
    beaten = beaten_by(cell, found)
    marks = f"$^{{\\mathrm{{{','.join(beaten)}}}}}$" if beaten else ""
    said = {"interval": _interval, "p": _p}[show](cell, found, places) if show else ""
    beside = f" {{\\footnotesize {said}}}" if said else ""
    return Latex((f"\\textbf{{{value}}}" if cell.is_best else value) + marks + beside + rests_on(cell, found))


def _interval(cell: Cell, found: Comparison, places: int) -> str:
    return "" if math.isnan(cell.low + cell.high) else f"[{cell.low:.{places}f}, {cell.high:.{places}f}]"


def _p(cell: Cell, found: Comparison, places: int) -> str:
    """Return the adjusted p of the run against the one that it is compared with, if it is another."""
    p = found.once("adjusted", _adjusted).get((cell.run, cell.measure), math.nan)
    if math.isnan(p):
        return ""
    return f"($p<{_LEAST_P}$)" if p < _LEAST_P else f"($p={p:.3f}$)"


def _adjusted(found: Comparison) -> dict[tuple[str, str], float]:
    """Return the adjusted p of the first pair of each run and measure."""
    return {(pair.run, pair.measure): pair.adjusted for pair in reversed(found.pairs)}


def _counted(found: Comparison) -> str:
    """Say over how many queries the means are."""
    least, most = (end(cell.queries for cell in found.cells) for end in (min, max))
    best = ", the best in bold" if any(cell.is_best for cell in found.cells) else ""
    return f"Means over {f'{least:,} to ' * (least < most)}{most:,} queries{best}."


def _explained(found: Comparison, show: str) -> Iterator[str]:
    """Say what superscripts, brackets and arrows mean, in sentences with formulas."""
    settings = found.settings
    if said := untested(found):
        yield _plain(said)
    else:
        # Of corrected measures another test holds, which is said with them.
        yield from _significant(found, corrected=False)
    if show == "interval":
        yield f"In brackets: {100 * settings.level:.4g}% intervals."
    if show == "p":
        yield "In parentheses: adjusted $p$ against " + (
            "the best run by the measure." if settings.baseline == "best" else f"{_plain(settings.baseline)}."
        )
    if any(map(found.lower_is_better, found.measures)):
        yield f"{LOW_IS_GOOD}: low values are good."


def _said_of_bases(found: Comparison) -> Iterator[str]:
    """Say of which measures all rests on a judge alone, on words, or on labels as well."""
    settings = found.settings
    for (basis, source), measures in by_basis(found).items():
        names = ", ".join(map(found.typeset, measures))
        if is_judge(basis) and not source:
            yield f"Values {_plain(by_whom(basis))}: {names} ({NOT_IN_IT})."
        if source:
            labels = [cell.labels or 0 for cell in found.cells if cell.measure in measures]
            of = f"{f'{min(labels):,} to ' * (min(labels) < max(labels))}{max(labels):,} queries"
            what = "queries of this kind" if settings.population == "kind" else "this very set of queries"
            by = "human labels" if basis == PEOPLE else f"labels of {_plain(named(basis))}"
            yield f"Corrected by {by} of {of}, for {what}: {names}."
    if not untested(found):
        yield from _significant(found, corrected=True)
    words = [found.typeset(name) for name, basis in found.bases.items() if basis == WORDS]
    if words:
        yield f"{', '.join(words)}: {NO_WINNER}."


def _significant(found: Comparison, *, corrected: bool) -> Iterator[str]:
    """Say what superscripts mean, or that there are none, of pairs by corrected measures or by others."""
    test = _STUDENT if corrected else TESTS[found.settings.test]
    how = f"({test}, {_plain(adjusted_over(found))}, $p<{1 - found.settings.level:.3g}$)"
    for is_corrected, text in sentences(found, "superscripts name", found.typeset, _plain):
        if is_corrected == corrected:
            yield f"{text[:1].upper()}{text[1:]} {how}."


def _plain(text: str) -> str:
    """Return text in which no dollar begins a formula."""
    return text.replace("$", r"\$")
