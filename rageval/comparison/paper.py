"""A comparison in a paper: its table in LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rageval.comparison.marks import (
    ADJUSTMENTS,
    TESTS,
    beaten_by,
    legend,
    letters_of,
    rests_on,
    untested,
)
from rageval.errors import UsageError
from rageval.scoring.scores import BY_PEOPLE, BY_THIS_JUDGE, NOT_IN_IT
from rageval.showing import Latex, label_of, latex_lines, latex_table, latex_typeset
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.results import Cell, Comparison

SHOWN = ("interval", "p")  # what may stand beside the values
LOW_IS_GOOD = r"$\downarrow$"  # what stands behind the name of a measure
_BASES = (BY_THIS_JUDGE, BY_PEOPLE)
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
    p = next((pair.adjusted for pair in found.of(cell.measure) if pair.run == cell.run), math.nan)
    if math.isnan(p):
        return ""
    return f"($p<{_LEAST_P}$)" if p < _LEAST_P else f"($p={p:.3f}$)"


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
    # Of corrected measures another test holds, which is said with them.
    elif set(found.bases.values()) != {BY_PEOPLE}:
        cells = [cell for cell in found.cells if cell.basis != BY_PEOPLE]
        whose = f" {BY_THIS_JUDGE}" if all(cell.basis for cell in cells) else ""
        yield f"{_significant(cells, found, whose)} {_test(found, TESTS[settings.test])}."
    if show == "interval":
        yield f"In brackets: {100 * settings.level:.4g}% intervals."
    if show == "p":
        yield "In parentheses: adjusted $p$ against " + (
            "the best run by the measure." if settings.baseline == "best" else f"{_plain(settings.baseline)}."
        )
    if any(map(found.lower_is_better, found.measures)):
        yield f"{LOW_IS_GOOD}: low values are good."


def _said_of_bases(found: Comparison) -> Iterator[str]:
    """Say of which measures all rests on a judge alone, or on people's labels as well."""
    settings = found.settings
    names = {basis: ", ".join(found.typeset(name) for name in _by(basis, found)) for basis in _BASES}
    if names[BY_THIS_JUDGE]:
        yield f"Values {BY_THIS_JUDGE}: {names[BY_THIS_JUDGE]} ({NOT_IN_IT})."
    if names[BY_PEOPLE]:
        labels = [cell.labels or 0 for cell in found.cells if cell.basis == BY_PEOPLE]
        of = f"{f'{min(labels):,} to ' * (min(labels) < max(labels))}{max(labels):,} queries"
        what = "queries of this kind" if settings.population == "kind" else "this very set of queries"
        yield f"Corrected by {BY_PEOPLE} of {of}, for {what}: {names[BY_PEOPLE]}."
        if not untested(found):
            cells = [cell for cell in found.cells if cell.basis == BY_PEOPLE]
            yield f"{_significant(cells, found)} {_test(found, _STUDENT)}."


def _significant(cells: Sequence[Cell], found: Comparison, whose: str = "") -> str:
    """Say what the superscripts of these cells mean, or that there are none."""
    if any(beaten_by(cell, found) for cell in cells):
        return f"Superscripts name the runs that are significantly worse{whose}"
    return f"No difference is significant{whose}"


def _test(found: Comparison, name: str) -> str:
    return f"({name}, {ADJUSTMENTS[found.settings.adjust]}, $p<{1 - found.settings.level:.3g}$)"


def _by(basis: str, found: Comparison) -> list[str]:
    return [name for name, each in found.bases.items() if each == basis]


def _plain(text: str) -> str:
    """Return text in which no dollar begins a formula."""
    return text.replace("$", r"\$")
