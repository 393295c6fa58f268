"""Figures for papers: intervals, per-query differences, curves over the cut-off. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rageval.errors import MissingPackage, UsageError
from rageval.files.writing import whole_file
from rageval.text import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rageval.checking.findings import Findings
    from rageval.comparison.passport import Passport
    from rageval.comparison.results import Comparison
    from rageval.scoring.scores import Score, Scores

_SUFFIXES = (".png", ".svg", ".pdf")
_CURVE = 3  # cut-offs of one measure that make a curve
_MOST_PAIRS = 4  # panels of differences
_WIDTH, _HEIGHT = 6.4, 2.4  # inches
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")


def checked_path(path: str | Path) -> Path:
    """Return a path whose suffix says which kind of figure is wanted."""
    found = Path(path)
    if found.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--plot {visible(str(path))}: expected a file that ends in {', '.join(_SUFFIXES)}")
    return found


def figure_of_scores(results: Sequence[Scores]) -> Figure:
    """Draw means with 95 % intervals; a curve where a measure has three or more cut-offs."""
    families: dict[str, list[int]] = {}
    for at, score in enumerate(results[0].scores):
        families.setdefault(_family(score), []).append(at)
    figure, axes = _figure(len(families))
    for axis, (name, columns) in zip(axes, families.items(), strict=True):
        first = results[0].scores[columns[0]].measure
        basis = results[0].scores[columns[0]].basis
        axis.set_title(_titled(name if len(columns) > 1 else str(first), first.better, basis), fontsize=9)
        if len(columns) >= _CURVE:
            _curves(axis, results, columns)
        else:
            _means(axis, results, columns)
    return figure


def figure_of_comparison(found: Comparison, results: Sequence[Scores] = ()) -> Figure:
    """Draw means with intervals, a panel a measure; then, of scores, the differences of the first pairs."""
    pairs = found.pairs[:_MOST_PAIRS] if results else []
    figure, axes = _figure(len(found.measures) + len(pairs))
    for axis, measure in zip(axes, found.measures, strict=False):
        cells = [found.cell(run, measure) for run in found.runs]
        _intervals(axis, list(found.runs), [(cell.value, cell.low, cell.high) for cell in cells])
        axis.set_title(_titled(measure, found.better[measure], found.bases[measure]), fontsize=9)
    scored = {scores.run: scores for scores in results}
    for axis, pair in zip(axes[len(found.measures) :], pairs, strict=True):
        one, other = (scored[run][pair.measure].by_query for run in (pair.run, pair.other))
        gaps = np.array([one[query] - other[query] for query in one if query in other])
        gaps = np.sort(gaps[~np.isnan(gaps)])[::-1]
        colours = [_colour_of(gap, found.better[pair.measure]) for gap in gaps.tolist()]
        axis.bar(np.arange(len(gaps)), gaps, width=1.0, color=colours)
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set_xticks([])
        axis.set_xlabel(f"{len(gaps):,} queries", fontsize=8)
        beside = f" ({pair.basis})" if pair.basis else ""
        axis.set_title(_text(f"{pair.measure}: {pair.run} − {pair.other}{beside}"), fontsize=9)
    return figure


def figure_of_passport(found: Passport) -> Any:
    """Draw the coefficients with their intervals, and what the judge said against what people said."""
    figure, (above, below) = _figure(2)
    _intervals(
        above,
        [each.name for each in found.coefficients],
        [(each.value, each.low, each.high) for each in found.coefficients],
    )
    above.set_title("agreement", fontsize=9)
    counts = np.array(found.confusion)
    below.imshow(counts, cmap="Blues", aspect="auto")
    labels = [_text(label) for label in found.labels]
    below.set_xticks(range(len(labels)), labels, fontsize=8)
    below.set_yticks(range(len(labels)), labels, fontsize=8)
    below.set_xlabel("gold", fontsize=8)
    below.set_ylabel("judge", fontsize=8)
    for (row, column), count in np.ndenumerate(counts):
        colour = "white" if count > counts.max() / 2 else "black"
        below.text(column, row, f"{count:,}", ha="center", va="center", color=colour, fontsize=8)
    return figure


def _figure_of_findings(found: Findings) -> Any:
    """Draw a dot a finding at its line, a row a file and level."""
    rows = list(dict.fromkeys((each.source, each.level) for each in found))
    figure, (axis,) = _figure(1)
    for at, row in enumerate(rows[::-1]):
        lines = [each.line for each in found if (each.source, each.level) == row]
        colour = _COLOURS[1] if row[1] == "error" else _COLOURS[0]
        axis.plot(lines, [at] * len(lines), "|", color=colour, markersize=10)
    axis.set_yticks(range(len(rows)), [_text(f"{name}: {level}") for name, level in rows[::-1]], fontsize=8)
    axis.set_ylim(-0.7, len(rows) - 0.3)
    axis.set_xlabel("line", fontsize=8)
    axis.set_title(_text(found.summary), fontsize=9)
    return figure


def _titled(measure: str, better: str, basis: str) -> str:
    """Return the measure, that low is good where it is, and whose word it is."""
    said = ["low is good"] * (better == "lower") + [basis] * bool(basis)
    return _text(measure) + (f" ({', '.join(said)})" if said else "")


def _colour_of(gap: float, better: str) -> str:
    """Return a colour where the first run is the better one, another where it is not, grey for neither."""
    if better == "neither":
        return _COLOURS[-1]
    return _COLOURS[0] if (gap <= 0 if better == "lower" else gap >= 0) else _COLOURS[1]


def _family(score: Score) -> str:
    return str(score.measure).rpartition("@")[0] if score.measure.k else str(score.measure)


def _means(axis: Any, results: Sequence[Scores], columns: Sequence[int]) -> None:
    from rageval.comparison.intervals import bootstrap

    labels, values = [], []
    for scores in results:
        for column in columns:
            score = scores.scores[column]
            labels.append(scores.run + (f" @{score.measure.k}" if len(columns) > 1 else ""))
            values.append((score.value, *bootstrap(score.measure, score.numbers)))
    _intervals(axis, labels, values)


def _intervals(axis: Any, labels: Sequence[str], values: Sequence[tuple[float, float, float]]) -> None:
    """Draw a dot and a bar a row, the first on top."""
    value, low, high = (np.array(column) for column in zip(*values, strict=True))
    rows = np.arange(len(labels))[::-1]
    reach = np.nan_to_num(np.array([value - low, high - value])).clip(min=0)
    axis.errorbar(value, rows, xerr=reach, fmt="o", color=_COLOURS[0], markersize=4, capsize=2)
    axis.set_yticks(rows, [_text(label) for label in labels], fontsize=8)
    axis.set_ylim(-0.7, len(labels) - 0.3)
    axis.grid(axis="x", linewidth=0.3)


def _curves(axis: Any, results: Sequence[Scores], columns: Sequence[int]) -> None:
    """Draw a line a run over the cut-offs."""
    for number, scores in enumerate(results):
        points = sorted((scores.scores[at].measure.k or 0, scores.scores[at].value) for at in columns)
        cutoffs, values = zip(*points, strict=True)
        style = "-" if number < len(_COLOURS) else "--"
        colour = _COLOURS[number % len(_COLOURS)]
        axis.plot(cutoffs, values, style, marker=".", color=colour, label=_text(scores.run))
    axis.set_xscale("log")
    axis.set_xticks(cutoffs, [str(cutoff) for cutoff in cutoffs], fontsize=8)
    axis.minorticks_off()
    axis.set_xlabel("k", fontsize=8)
    axis.grid(linewidth=0.3)
    axis.legend(fontsize=7)


def _figure(panels: int) -> tuple[Figure, list[Any]]:
    """Return a figure without a window, and its panels, one below the other."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackage("matplotlib", "--plot", extra="plots") from None
    figure = Figure(figsize=(_WIDTH, _HEIGHT * panels), layout="constrained")
    axes = list(figure.subplots(panels, 1, squeeze=False)[:, 0])
    for axis in axes:
        axis.tick_params(labelsize=8)
    return figure, axes


def _text(text: str) -> str:
    """Return text as it stands: neither control characters nor formulas."""
    return visible(text).replace("$", r"\$")


def save(figure: Any, path: Path) -> None:
    """Write the file; the same numbers give the same bytes."""
    import matplotlib

    kind = path.suffix.lower()
    undated = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[kind]
    with whole_file(path) as stream, matplotlib.rc_context({"svg.hashsalt": "rageval"}):
        figure.savefig(stream, dpi=200, metadata=undated, format=kind[1:])
