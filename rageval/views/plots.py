"""Figures for papers: intervals, per-query differences, curves over the cut-off. Needs matplotlib.

A panel a measure, side by side, in the width of a column or of a page; the runs stand in one order in all of
them, and are named once a row. Colours can be told apart by people who are colour-blind, and in grey.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

import numpy as np

from rageval.comparison.estimates import estimate_mean, estimate_value
from rageval.comparison.results import FrontierStatus
from rageval.errors import MissingPackage, UsageError
from rageval.files.writing import others_cannot_write, whole_file
from rageval.table import shortened
from rageval.text import parted_at_formulas, visible
from rageval.views.bases import describe_basis, single_values_note

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rageval.checking.findings import Findings
    from rageval.comparison.passport import Passport
    from rageval.comparison.results import Comparison, Pair
    from rageval.comparison.trajectories import RecallCurve
    from rageval.scoring.scores import Scores

    SizeLike = str | tuple[float, float] | None

_Given = ParamSpec("_Given")
_SUFFIXES = (".png", ".svg", ".pdf")
_CURVE = 3  # cut-offs of one measure that make a curve
_MOST_PAIRS = 3  # by a measure, whose differences are drawn
# What is drawn depends on nobody's settings. Text is never given to TeX: names of runs could be commands. The
# fonts of a PDF are embedded as TrueType, which publishers ask for; an SVG holds the outlines of its letters.
_DRAWN: dict[Any, Any] = {
    "text.usetex": False,
    "font.family": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "axes.linewidth": 0.6,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "rageval",
}
# Inches.
_WIDTHS = {"column": 3.3, "page": 7.0}  # of most journals and proceedings
_PANEL = 2.3  # where nobody says how wide
_NARROWEST = 0.7  # of a panel
_NUMBERS = 0.3  # what the numbers of an axis take
_NAMED = 0.28  # of the width, at most, for the names of runs; what is longer is cut in the middle
_ROW, _AROUND, _LOWEST, _CURVES = 0.16, 0.55, 0.7, 1.9  # heights: of a run, around a panel, of a panel
_LEAST, _MOST = 1.0, 40.0  # of a figure, where somebody says it
_HIGHEST = 300.0  # else: matplotlib draws no more than 2^16 dots
_SCREEN = 120  # dots per inch in a notebook, which gets twice as many for sharp screens
# Points.
_FONT, _SMALLEST = 7.0, 4.0
_LETTER = 0.58 / 72  # inches that a letter is wide, a point of its font
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#999999")
_FLATTEST = 0.1  # of the height that panels want: with less they collapse
_GRID = "#BBBBBB"
_LINES, _MARKERS = ("-", "--", ":", "-."), "os^vDP*X"


def _by_our_rules(draw: Callable[_Given, Figure]) -> Callable[_Given, Figure]:
    """Make a function that draws independent of what somebody set in matplotlib."""

    @wraps(draw)
    def drawn(*args: _Given.args, **options: _Given.kwargs) -> Figure:
        try:
            with others_cannot_write():  # its cache of fonts
                from matplotlib import rc_context
                from matplotlib.figure import Figure  # noqa: F401
        except ImportError:
            raise _missing() from None
        # What text is, is decided where it is made; fonts, where it is saved.
        with rc_context(_DRAWN):
            return draw(*args, **options)

    return drawn


def require_matplotlib() -> None:
    """Raise `MissingPackage` where figures cannot be drawn; without importing what draws them."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise _missing()


def _missing() -> MissingPackage:
    return MissingPackage("matplotlib", "--plot", extra="plots")


def checked_plot(path: Path, size: SizeLike) -> Path:
    """Return where a figure shall be; refuse, before an hour of scoring, what could not be drawn after it."""
    require_matplotlib()
    checked_size(size)
    return checked_path(path)


class Size(NamedTuple):
    """How wide and high a figure is, in inches; None where it is as its panels need."""

    width: float | None = None
    height: float | None = None


def checked_size(size: SizeLike) -> Size:
    """Return the size of a figure: `column`, `page`, `5x3` or (5, 3), in inches.

    >>> checked_size("column"), checked_size("5x3.5")
    (Size(width=3.3, height=None), Size(width=5.0, height=3.5))
    """
    if size is None:
        return Size()
    if isinstance(size, str):
        if size in _WIDTHS:
            return Size(_WIDTHS[size])
        match = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)x(\d{1,3}(?:\.\d+)?)", size, re.ASCII)
        width, height = map(float, match.groups()) if match else (math.nan, math.nan)
    else:
        width, height = size if len(size) == 2 else (math.nan, math.nan)
    if not all(_LEAST <= side <= _MOST for side in (width, height)):
        raise UsageError(
            f"size {visible(str(size))!r:.80}: expected {', '.join(_WIDTHS)}, or width and height in inches"
            f" from {_LEAST:g} to {_MOST:g}, as in 5x3"
        )
    return Size(width, height)


def checked_path(path: str | Path) -> Path:
    """Return a path whose suffix says which kind of figure is wanted."""
    plot_path = Path(path)
    if plot_path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--plot {visible(str(path))}: expected a file that ends in {', '.join(_SUFFIXES)}")
    return plot_path


class _Block(NamedTuple):
    """Panels that stand in rows of their own: how many there are, and how high each wants to be."""

    panels: int
    height: float
    is_shared: bool = True  # what stands to the left of a panel is that of the one beside it


class _Sheet:
    """A figure with blocks of panels, one below the other, and what room is in them."""

    def __init__(self, blocks: Sequence[_Block], size: SizeLike, labels: Sequence[str] = ()) -> None:
        requested = checked_size(size)
        most = max(block.panels for block in blocks)
        widest = max((len(visible(label)) for label in labels), default=0) * _LETTER * _FONT
        self.width = requested.width or min(_WIDTHS["page"], widest + _PANEL * most + 0.2)
        self.letters = max(12, int(_NAMED * self.width / (_LETTER * _FONT)))
        names_width = min(widest, self.letters * _LETTER * _FONT) + 0.2
        # Panels with an axis of their own need room for its numbers.
        narrowest = _NARROWEST if all(block.is_shared for block in blocks) else _NARROWEST + _NUMBERS
        columns = max(1, min(most, int((self.width - names_width) / narrowest)))
        self.columns = math.ceil(most / math.ceil(most / columns))  # rows as full as one another
        self.panel = (self.width - names_width) / self.columns
        rows = [math.ceil(block.panels / self.columns) for block in blocks]
        heights = [block.height for block, count in zip(blocks, rows, strict=True) for _ in range(count)]
        usual = sum(heights) + _AROUND * len(heights)
        self.height = requested.height or min(usual, _HIGHEST)
        # What is left for the panels; the runs' names shrink with it.
        scale = (self.height - _AROUND * len(heights)) / sum(heights)
        self.font = min(_FONT, 72 * _ROW * scale / 1.15)
        if self.font < _SMALLEST:
            named = (
                f"{self.width:g}x{self.height:g}: this many runs and panels need {usual:.1f} inches of height"
            )
            if scale < _FLATTEST:
                raise UsageError(f"size {named}; expected a higher figure, or only a width (column, page)")
            warnings.warn(f"{named}; names of runs are {self.font:.1f} points high", stacklevel=2)
        self.figure = _figure(self.width, self.height)
        self._grid = self.figure.add_gridspec(len(heights), self.columns, height_ratios=heights)
        self._rows, self._blocks = rows, blocks

    def panels(self, block: int) -> list[Any]:
        """Return the panels of a block."""
        panels, _, shared = self._blocks[block]
        first = sum(self._rows[:block])
        axes: list[Any] = []
        for number in range(panels):
            row, column = divmod(number, self.columns)
            axis = self.figure.add_subplot(
                self._grid[first + row, column], sharey=axes[-1] if shared and column else None
            )
            axis.tick_params(labelsize=_FONT - 0.5, labelleft=not shared or column == 0, length=2)
            axis.locator_params(axis="x", nbins=max(1, int((self.panel - 0.2) / 0.4)))
            axes.append(axis)
        return axes

    def title(self, axis: Any, lines: Sequence[str]) -> None:
        """Write lines above a panel, cut where it is too narrow for them."""
        room = self.room
        cut = [part for line in lines for part in textwrap.wrap(line, room, break_long_words=False)]
        axis.set_title("\n".join(cut), fontsize=_FONT)

    @property
    def room(self) -> int:
        """How many letters stand in a line above a panel."""
        return max(8, int(self.panel / (_LETTER * _FONT)))

    def name(self, text: str) -> str:
        """Return the name of a run, with as many letters as fit."""
        return _plain_text(shortened(visible(text), self.letters))


@_by_our_rules
def figure_of_scores(results: Sequence[Scores], size: SizeLike = None) -> Figure:
    """Draw means with 95 % intervals; a curve where a measure has three or more cut-offs."""
    families: dict[str, list[int]] = {}
    for index, score in enumerate(results[0].scores):
        # Measures that differ by their cut-off only are points of one curve.
        name = str(score.measure).rpartition("@")[0] if score.measure.k else str(score.measure)
        families.setdefault(name, []).append(index)
    curves = {name: columns for name, columns in families.items() if len(columns) >= _CURVE}
    drawn = {index for columns in curves.values() for index in columns}
    means = [index for index in range(len(results[0].scores)) if index not in drawn]
    runs = [scores.run for scores in results]
    blocks = [_Block(len(means), max(_LOWEST, _ROW * len(runs)))] * bool(means)
    blocks += [_Block(len(curves), _CURVES + _legend_height(len(runs)), False)] * bool(curves)
    sheet = _Sheet(blocks, size, runs if means else ())
    for axis, index in zip(sheet.panels(0) if means else (), means, strict=True):
        scores = [run_scores.scores[index] for run_scores in results]
        estimates = [estimate_mean(score) for score in scores]
        values = [(estimate.value, estimate.low, estimate.high) for estimate in estimates]
        _intervals(axis, [sheet.name(run) for run in runs], values, sheet.font)
        measure = scores[0].measure
        sheet.title(axis, _titled(measure.typeset, measure.better, describe_basis(estimates[0].basis)))
    axes = sheet.panels(len(blocks) - 1) if curves else []
    for axis, columns in zip(axes, curves.values(), strict=True):
        first = results[0].scores[columns[0]]
        measure = first.measure
        name = measure.typeset.replace(f"@{measure.k}", "@$k$", 1)
        sheet.title(axis, _titled(name, measure.better, describe_basis(first.claim_basis)))
        _curves(axis, results, columns, sheet)
    if curves:
        _legend(axes, sheet)
    return sheet.figure


@_by_our_rules
def figure_of_comparison(
    comparison: Comparison,
    results: Sequence[Scores] = (),
    size: SizeLike = None,
    curves: Sequence[RecallCurve] = (),
) -> Figure:
    """Draw means with intervals, a panel a measure; beneath, of scores, the differences of few pairs.

    What runs reach at what cost, and recall curves of agents, stand beneath these.
    """
    pairs = {measure: comparison.of(measure) for measure in comparison.measures}
    most = max(map(len, pairs.values()), default=0)
    is_drawn = 0 < most <= _MOST_PAIRS and bool(results)
    blocks = [_Block(len(comparison.measures), max(_LOWEST, _ROW * len(comparison.runs)))]
    blocks += [_Block(len(comparison.measures), _LOWEST, False)] * (most * is_drawn)
    differing = len(blocks)
    by = list(dict.fromkeys(curve.by for curve in curves))
    of_frontier = list(dict.fromkeys(point.measure for point in comparison.frontier))
    legend_height = _legend_height(len(comparison.runs))
    blocks += [_Block(len(of_frontier), _CURVES + legend_height * (not by), False)] * bool(of_frontier)
    blocks += [_Block(len(by), _CURVES + legend_height, False)] * bool(by)
    sheet = _Sheet(blocks, size, comparison.runs)
    for axis, measure in zip(sheet.panels(0), comparison.measures, strict=True):
        cells = [comparison.cell(run, measure) for run in comparison.runs]
        names = [sheet.name(run) for run in comparison.runs]
        _intervals(axis, names, [(cell.value, cell.low, cell.high) for cell in cells], sheet.font)
        title = _titled(
            comparison.typeset(measure), comparison.better[measure], describe_basis(comparison.bases[measure])
        )
        sheet.title(axis, title)
    scored = {scores.run: scores for scores in results}
    for row in range(1, differing):
        axes = sheet.panels(row)
        for axis, measure in zip(axes, comparison.measures, strict=True):
            if row <= len(pairs[measure]):
                # Where panels take several rows, none stands beneath that of its measure.
                named = _typeset(comparison.typeset(measure)) * (sheet.columns < len(axes))
                _differences(axis, pairs[measure][row - 1], scored, comparison.better[measure], sheet, named)
            else:
                axis.set_axis_off()
    axes = sheet.panels(differing) if of_frontier else []
    for axis, measure in zip(axes, of_frontier, strict=True):
        _frontier(axis, comparison, measure, sheet)
    if axes and not by:
        _legend(axes, sheet)
    axes = sheet.panels(differing + bool(of_frontier)) if by else []
    for axis, name in zip(axes, by, strict=True):
        _bands(axis, [curve for curve in curves if curve.by == name], comparison.runs, sheet)
    if axes:
        _legend(axes, sheet)
    return sheet.figure


def _differences(
    axis: Any, pair: Pair, scored: Mapping[str, Scores], better: str, sheet: _Sheet, named: str
) -> None:
    """Draw a bar a query, the largest difference first."""
    one, other = (scored[run][pair.measure].by_query for run in (pair.run, pair.other))
    gaps = np.array([one[query] - other[query] for query in one if query in other])
    gaps = np.sort(gaps[~np.isnan(gaps)])[::-1]
    axis.bar(np.arange(len(gaps)), gaps, width=1.0, color=[_colour_of(gap, better) for gap in gaps.tolist()])
    axis.axhline(0, color="black", linewidth=0.6)
    axis.set_xticks([])
    axis.set_xlabel(f"{len(gaps):,} queries", fontsize=_FONT)
    run, other_run = (
        _plain_text(shortened(visible(name), sheet.room - 2)) for name in (pair.run, pair.other)
    )
    # The bars are the values as they are, whatever labels make of their mean.
    whose = single_values_note(pair.basis)
    title = [named, f"{run} − {other_run}", whose or describe_basis(pair.basis)]
    title.append(f"{pair.verdict} {describe_basis(pair.basis)}" if whose else pair.verdict)
    sheet.title(axis, list(filter(None, title)))


@_by_our_rules
def figure_of_passport(passport: Passport) -> Figure:
    """Draw the coefficients with their intervals, and the judge's labels against human labels."""
    figure, (upper, lower) = _stacked(2)
    _intervals(
        upper,
        [coefficient.name for coefficient in passport.coefficients],
        [(coefficient.value, coefficient.low, coefficient.high) for coefficient in passport.coefficients],
    )
    upper.set_title("agreement", fontsize=9)
    counts = np.array(passport.confusion)
    lower.imshow(counts, cmap="Blues", aspect="auto")
    labels = [_plain_text(label) for label in passport.labels]
    lower.set_xticks(range(len(labels)), labels, fontsize=8)
    lower.set_yticks(range(len(labels)), labels, fontsize=8)
    lower.set_xlabel("gold", fontsize=8)
    lower.set_ylabel("judge", fontsize=8)
    for (row, column), count in np.ndenumerate(counts):
        colour = "white" if count > counts.max() / 2 else "black"
        lower.text(column, row, f"{count:,}", ha="center", va="center", color=colour, fontsize=8)
    return figure


@_by_our_rules
def figure_of_findings(findings: Findings) -> Figure:
    """Draw a dot a finding at its line, a row a file and level."""
    rows = list(dict.fromkeys((finding.source, finding.level) for finding in findings))
    figure, (axis,) = _stacked(1)
    for height, row in enumerate(rows[::-1]):
        lines = [finding.line for finding in findings if (finding.source, finding.level) == row]
        colour = _COLOURS[1] if row[1] == "error" else _COLOURS[0]
        axis.plot(lines, [height] * len(lines), "|", color=colour, markersize=10)
    axis.set_yticks(
        range(len(rows)), [_plain_text(f"{name}: {level}") for name, level in rows[::-1]], fontsize=8
    )
    axis.set_ylim(-0.7, len(rows) - 0.3)
    axis.set_xlabel("line", fontsize=8)
    axis.set_title(_plain_text(findings.summary), fontsize=9)
    return figure


def _titled(measure: str, better: str, basis: str) -> list[str]:
    """Return the measure as it is typeset, that low is good where it is, and whose word it is."""
    notes = ["low is good"] * (better == "lower") + [basis] * bool(basis)
    return [_typeset(measure), *([f"({', '.join(notes)})"] if notes else [])]


def _typeset(text: str) -> str:
    """Return text with formulas as matplotlib draws it; as it stands, where it knows no such formula."""
    from matplotlib.mathtext import MathTextParser

    parts = parted_at_formulas(text)
    drawn = "".join(f"${part}$" if index % 2 else _plain_text(part) for index, part in enumerate(parts))
    try:
        MathTextParser("path").parse(drawn)
    except ValueError:
        return _plain_text(text)
    return drawn


def _colour_of(gap: float, better: str) -> str:
    """Return a colour where the first run is the better one, another where it is not, grey for neither."""
    if better == "neither":
        return _COLOURS[-1]
    return _COLOURS[0] if (gap <= 0 if better == "lower" else gap >= 0) else _COLOURS[1]


def _intervals(
    axis: Any, labels: Sequence[str], values: Sequence[tuple[float, float, float]], font: float = _FONT
) -> None:
    """Draw a dot and a bar a row, the first on top."""
    value, low, high = (np.array(column) for column in zip(*values, strict=True))
    rows = np.arange(len(labels))[::-1]
    reach = np.nan_to_num(np.array([value - low, high - value])).clip(min=0)
    axis.errorbar(
        value, rows, xerr=reach, fmt="o", color=_COLOURS[0], markersize=3, capsize=1.5, linewidth=0.9
    )
    axis.set_yticks(rows, labels, fontsize=font)
    axis.set_ylim(-0.7, len(labels) - 0.3)
    axis.grid(axis="x", linewidth=0.3, color=_GRID)
    axis.set_axisbelow(True)


def _curves(axis: Any, results: Sequence[Scores], columns: Sequence[int], sheet: _Sheet) -> None:
    """Draw a line a run over the cut-offs; colour, marker and dashes tell it from the others."""
    for number, scores in enumerate(results):
        curve = [scores.scores[index] for index in columns]
        points = sorted((score.measure.k or 0, estimate_value(score).value) for score in curve)
        cutoffs, values = zip(*points, strict=True)
        axis.plot(cutoffs, values, **_look_of_curve(number), label=sheet.name(scores.run))
    axis.set_xscale("log")
    axis.set_xticks(cutoffs, [str(cutoff) for cutoff in cutoffs])
    axis.minorticks_off()
    axis.set_xlabel("$k$", fontsize=_FONT)
    axis.grid(linewidth=0.3, color=_GRID)


def _bands(axis: Any, curves: Sequence[RecallCurve], runs: Sequence[str], sheet: _Sheet) -> None:
    """Draw a line a system over the budgets, in the band of its intervals."""
    for curve in curves:
        look = _look_of_curve(runs.index(curve.run))
        values, low, high = (
            [getattr(estimate, name) for estimate in curve.estimates] for name in ("value", "low", "high")
        )
        axis.fill_between(curve.budgets, low, high, color=look["color"], alpha=0.15, linewidth=0)
        axis.plot(curve.budgets, values, **look, label=sheet.name(curve.run))
    axis.set_ylim(0, 1.02)
    axis.set_xlim(left=0)
    if curves[0].by == "searches":
        axis.locator_params(axis="x", integer=True)
    axis.set_xlabel(curves[0].by, fontsize=_FONT)
    axis.grid(linewidth=0.3, color=_GRID)
    basis = describe_basis(curves[0].estimates[0].basis)
    sheet.title(axis, _titled(f"Recall by {curves[0].by}", "higher", basis))


def _frontier(axis: Any, comparison: Comparison, measure: str, sheet: _Sheet) -> None:
    """Draw a point a run, with intervals in both directions; one that is dominated is hollow."""
    against = comparison.settings.against
    for point in comparison.frontier:
        if point.measure != measure:
            continue
        look = _look_of_curve(comparison.runs.index(point.run)) | {"linestyle": ""}
        if point.status is FrontierStatus.DOMINATED:
            look["markerfacecolor"] = "white"
        reaches = []
        for name in (against, measure):
            cell = comparison.cell(point.run, name)
            reach = np.nan_to_num(np.array([[cell.value - cell.low], [cell.high - cell.value]]))
            reaches.append(reach.clip(min=0))
        axis.errorbar(
            [point.against_value],
            [point.value],
            xerr=reaches[0],
            yerr=reaches[1],
            **look,
            elinewidth=0.6,
            label=sheet.name(point.run),
        )
    axis.set_xlabel(_typeset(comparison.typeset(against)), fontsize=_FONT)
    axis.grid(linewidth=0.3, color=_GRID)
    basis = describe_basis(comparison.bases[measure])
    title = f"{comparison.typeset(measure)} by {comparison.typeset(against)}"
    sheet.title(axis, _titled(title, "higher", basis))


def _look_of_curve(number: int) -> dict[str, Any]:
    """Return the colour, the dashes and the marker that tell a curve from the others."""
    return {
        "linestyle": _LINES[number // len(_COLOURS) % len(_LINES)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "color": _COLOURS[number % len(_COLOURS)],
        "markersize": 3,
        "linewidth": 0.9,
    }


def _legend_height(runs: int) -> float:
    return 0.14 * math.ceil(runs / 3)


def _legend(axes: Sequence[Any], sheet: _Sheet) -> None:
    """Name the runs of the curves beneath all panels."""
    handles, labels = axes[0].get_legend_handles_labels()
    room = max(1, int(sheet.width / (_LETTER * _FONT * (max(map(len, labels)) + 8))))
    sheet.figure.legend(
        handles, labels, loc="outside lower center", ncols=room, fontsize=sheet.font, frameon=False
    )


def _figure(width: float, height: float) -> Figure:
    """Return a figure without a window, which is saved with our fonts, also by whoever calls `savefig`."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    class Drawn(Figure):
        """A figure that notebooks show by itself, and that `savefig` writes as `save` does."""

        def savefig(self, *args: Any, **options: Any) -> None:
            with rc_context(_DRAWN), warnings.catch_warnings():
                # A sign that our font lacks is a box; the other formats have it.
                warnings.filterwarnings("ignore", "Glyph .* missing from")
                super().savefig(*args, **options)

        def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
            stream = io.BytesIO()
            self.savefig(stream, dpi=2 * _SCREEN, format="png")
            inches = zip(("width", "height"), self.get_size_inches(), strict=True)
            return stream.getvalue(), {name: round(_SCREEN * length) for name, length in inches}

    return Drawn(figsize=(width, height), layout="constrained")


def _stacked(panels: int) -> tuple[Figure, list[Any]]:
    """Return a figure and its panels, one below the other."""
    figure = _figure(6.4, 2.4 * panels)
    return figure, list(figure.subplots(panels, 1, squeeze=False)[:, 0])


def _plain_text(text: str) -> str:
    """Return text as it stands: neither control characters nor formulas."""
    return visible(text).replace("$", r"\$")


def save(figure: Figure, path: Path) -> None:
    """Write the file; the same numbers give the same bytes."""
    kind = path.suffix.lower()
    undated = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[kind]
    with whole_file(path) as stream:
        figure.savefig(stream, dpi=200, metadata=undated, format=kind[1:])
