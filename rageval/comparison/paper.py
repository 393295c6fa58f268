"""A comparison in a paper: its table in LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rageval.comparison.marks import (
    ADJUSTMENTS,
    TESTS,
    beaten_by,
    gold_legend,
    legend,
    letters_of,
    rests_on,
    said_of_judges,
    untested,
)
from rageval.errors import UsageError
from rageval.scoring.scores import BY_PEOPLE, BY_THIS_JUDGE
from rageval.showing import Latex, label_of, latex_lines, latex_table, latex_typeset
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.results import Cell, Comparison

SHOWN = ("interval", "p")  # what may stand beside the values
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
    notes = [gold_legend(found)] if found.gold else []
    notes += filter(None, [said_of_judges(found.bases)])
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
        latex_typeset(found.typeset(name) + r" $\downarrow$" * found.lower_is_better(name))
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
    marked = [cell for cell in found.cells if beaten_by(cell, found)]
    if said := untested(found):
        yield _plain(said)
    # Of corrected measures the legend of people's labels says it.
    elif any(cell.basis != BY_PEOPLE for cell in (marked or found.cells)):
        whose = f" {BY_THIS_JUDGE}" if all(found.bases.values()) else ""
        test = f"({TESTS[settings.test]}, {ADJUSTMENTS[settings.adjust]}, $p<{1 - settings.level:.3g}$)"
        if marked:
            yield f"Superscripts name the runs that are significantly worse{whose} {test}."
        else:
            yield f"No difference is significant{whose} {test}."
    if show == "interval":
        yield f"In brackets: {100 * settings.level:.4g}% intervals."
    if show == "p":
        yield "In parentheses: adjusted $p$ against " + (
            "the best run by the measure." if settings.baseline == "best" else f"{_plain(settings.baseline)}."
        )
    if any(map(found.lower_is_better, found.measures)):
        yield r"$\downarrow$: low values are good."


def _plain(text: str) -> str:
    """Return text in which no dollar begins a formula."""
    return text.replace("$", r"\$")
