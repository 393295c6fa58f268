"""A comparison as text: a function a format, each yielding lines."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence

from rageval.cli.grids import csv_line, latex_text, md_code, md_line, md_lines, table_lines
from rageval.comparison import Cell, Comparison, Pair
from rageval.measures.base import LOWER, NEITHER
from rageval.text import visible

_TESTS = {"randomisation": "sign-flip randomisation", "t": "paired t-test", "wilcoxon": "Wilcoxon's test"}
_WAYS = {LOWER: "low is good", NEITHER: "neither high nor low is good"}
_ADJUSTMENTS = {"holm": "Holm", "max_t": "max-T", "tukey": "Tukey HSD", "none": "not adjusted"}


def table(found: Comparison, places: int) -> Iterator[str]:
    """Two tables for reading: the values, and the differences."""
    yield from _two_tables(found, places, table_lines, visible)


def md(found: Comparison, places: int) -> Iterator[str]:
    """The same two tables in Markdown."""
    yield from _two_tables(found, places, md_lines, md_line)


def latex(found: Comparison, places: int) -> Iterator[str]:
    """A LaTeX tabular for booktabs: best in bold, superscripts name the runs that are significantly worse."""
    yield f"% {visible(found.signature)}"
    yield from (f"% {visible(line)}" for line in _legend(found))
    yield f"\\begin{{tabular}}{{ll{'r' * len(found.measures)}}}"
    yield "\\toprule"
    yield " & ".join(["", "run", *map(latex_text, found.measures)]) + r" \\"
    yield "\\midrule"
    for run, letter in _letters(found).items():
        cells = [found.cell(run, measure) for measure in found.measures]
        yield " & ".join([letter, latex_text(run), *(_latex_cell(c, found, places) for c in cells)]) + r" \\"
    yield "\\bottomrule"
    yield "\\end{tabular}"


def csv(found: Comparison, places: int) -> Iterator[str]:
    """A row a pair and measure, at full precision of p."""
    head = "run,other,measure,value,other_value,queries,difference,low,high,p,adjusted_p,effect,"
    head += "wins,ties,losses,detectable,needed,verdict,why,every_completion,better_run,"
    yield head + "undefined,other_undefined"
    for pair in found.pairs:
        cells = [found.cell(run, pair.measure) for run in (pair.run, pair.other)]
        numbers = [f"{cell.value:.{places}f}" for cell in cells] + [str(pair.queries)]
        numbers += [f"{value:.{places}f}" for value in (pair.difference, pair.low, pair.high)]
        numbers += [f"{pair.p:.6g}", f"{pair.adjusted:.6g}", f"{pair.effect:.4f}"]
        numbers += [str(pair.wins), str(pair.ties), str(pair.losses), f"{pair.detectable:.{places}f}"]
        words = [pair.verdict, pair.why, pair.every_completion or "", pair.better_run or ""]
        number = str(pair.needed) if pair.needed is not None else ""
        rest = [number, csv_line(words), *(str(cell.undefined) for cell in cells)]
        yield csv_line([pair.run, pair.other, pair.measure], [*numbers, *rest])


def as_json(found: Comparison, places: int) -> Iterator[str]:
    """One object with everything, at full precision."""
    yield json.dumps(found.as_dict(), indent=2, ensure_ascii=True, allow_nan=False)


FORMATS: dict[str, Callable[[Comparison, int], Iterator[str]]] = {
    "table": table,
    "md": md,
    "latex": latex,
    "csv": csv,
    "json": as_json,
}


def _two_tables(
    found: Comparison,
    places: int,
    draw: Callable[[Sequence[Sequence[str]], int], Iterator[str]],
    text: Callable[[str], str],
) -> Iterator[str]:
    letters = _letters(found)
    values = [["", "run", *found.measures]]
    for run, letter in letters.items():
        cells = [found.cell(run, measure) for measure in found.measures]
        values.append([letter, run, *(_shown(cell, found, places) for cell in cells)])
    yield from draw(values, 2)
    yield ""
    yield from draw([_head(found), *(_row(pair, found, places) for pair in found.pairs)], 3)
    yield ""
    for pair in found.pairs:
        if pair.why:
            yield text(f"{pair.run} and {pair.other}, {pair.measure}: {pair.why}")
    yield from map(text, _legend(found))
    yield md_code(found.signature) if draw is md_lines else visible(found.signature)


def _letters(found: Comparison) -> dict[str, str]:
    """a, b, …, z, aa, … for the runs."""
    letters = {}
    for at, run in enumerate(found.runs):
        letter = ""
        while at >= 0:
            at, rest = divmod(at, 26)
            letter, at = chr(ord("a") + rest) + letter, at - 1
        letters[run] = letter
    return letters


def _beaten(cell: Cell, found: Comparison) -> list[str]:
    """The letters of the runs that are significantly worse by this measure."""
    letters = _letters(found)
    beaten = []
    for pair in found.of(cell.measure):
        if pair.better_run == cell.run:
            beaten.append(letters[pair.other if cell.run == pair.run else pair.run])
    return sorted(beaten, key=lambda letter: (len(letter), letter))


def _shown(cell: Cell, found: Comparison, places: int) -> str:
    beaten = _beaten(cell, found)
    value, low, high = (f"{number:.{places}f}" for number in (cell.value, cell.low, cell.high))
    return f"{value} [{low}, {high}]{_rests_on(cell, found)}" + (f" > {','.join(beaten)}" if beaten else "")


def _rests_on(cell: Cell, found: Comparison) -> str:
    """On how many queries a mean rests, where that is not all of them, or not what the others rest on."""
    beside = {pair.queries for pair in found.of(cell.measure)}
    beside |= {each.queries for each in found.cells if each.measure == cell.measure}
    return f" (n={cell.queries:,})" if cell.undefined or beside - {cell.queries} else ""


def _latex_cell(cell: Cell, found: Comparison, places: int) -> str:
    value = f"{cell.value:.{places}f}"
    beaten = _beaten(cell, found)
    marks = f"$^{{\\mathrm{{{','.join(beaten)}}}}}$" if beaten else ""
    return (f"\\textbf{{{value}}}" if cell.is_best else value) + marks + _rests_on(cell, found)


def _head(found: Comparison) -> list[str]:
    adjusted = {"holm": "p (Holm)", "max_t": "p (max-T)", "tukey": "p (Tukey)", "none": "p (as is)"}[
        found.settings.adjust
    ]
    head = ["measure", "run", "against", "difference", "low", "high", "p", adjusted, "effect"]
    head += ["won-tied-lost", "detectable", "needed", "verdict"]
    return [*head, "every completion"] if any(pair.every_completion for pair in found.pairs) else head


def _row(pair: Pair, found: Comparison, places: int) -> list[str]:
    numbers = [f"{value:+.{places}f}" for value in (pair.difference, pair.low, pair.high)]
    row = [pair.measure, pair.run, pair.other, *numbers, _p(pair.p), _p(pair.adjusted)]
    row += [f"{pair.effect:+.2f}", f"{pair.wins}-{pair.ties}-{pair.losses}", f"{pair.detectable:.{places}f}"]
    row += [f"{pair.needed:,}" if pair.needed is not None else "-", pair.verdict]
    with_bounds = any(each.every_completion for each in found.pairs)
    return [*row, pair.every_completion or "-"] if with_bounds else row


def _p(value: float) -> str:
    return f"{value:.1e}" if value < 0.001 and not math.isnan(value) else f"{value:.4f}"


def _legend(found: Comparison) -> Iterator[str]:
    settings = found.settings
    yield (
        f"'> a' means significantly better than a ({_TESTS[settings.test]}, {_ADJUSTMENTS[settings.adjust]},"
        f" {1 - settings.level:.3g}); intervals {settings.level:.4g}; detectable and needed at power"
        f" {settings.power:g}"
    )
    for way, said in _WAYS.items():
        names = [measure for measure, better in found.better.items() if better == way]
        if names:
            yield f"{said}: {', '.join(names)}"
