"""A comparison as tables: for people, for programs, and for a paper in LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval.comparison.marks import (
    TESTS,
    adjusted_over,
    beaten_by,
    by_basis,
    legend,
    letters_of,
    rests_on,
    said_beneath,
    sentences,
    untested,
)
from rageval.errors import UsageError
from rageval.measures.base import LOWER
from rageval.scoring.basis import NO_WINNER, NOT_IN_IT, PEOPLE, WORDS, by_whom, is_judge, named
from rageval.table import (
    COUNT,
    INTERVAL,
    NUMBER,
    PRINTERS,
    TALLY,
    Code,
    Column,
    Latex,
    Marked,
    P,
    Prose,
    Table,
    label_of,
    latex_table,
    lines,
)
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison.results import Cell, Comparison, Pair
    from rageval.scoring.scores import Scores

SHOWN = (INTERVAL, "p")  # what may stand beside the values
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
    tabular = PRINTERS["latex"].table(values_of(found, places, show, for_latex=True))
    yield from latex_table(tabular, caption, label, notes)


def typeset(name: str, better: str) -> str:
    """Return the name of a measure as a paper has it, and whether low values are good."""
    return f"{name} {LOW_IS_GOOD}" if better == LOWER else name


def values_of(found: Comparison, places: int = 4, show: str = INTERVAL, *, for_latex: bool = False) -> Table:
    """Return a row a run, with its letter, and a column a measure: means, and which runs are worse."""
    columns = [Column(""), Column("run")]
    for name in found.measures:
        head = typeset(found.typeset(name), found.better.get(name, ""))
        # In LaTeX, --: nothing is defined, or people labelled too few.
        columns.append(Column(name, NUMBER, places, none=Latex("--") if for_latex else "-", typeset=head))
    rows: list[list[Any]] = []
    for run, letter in letters_of(found).items():
        cells = [found.cell(run, measure) for measure in found.measures]
        rows.append([letter, run, *(_marked(cell, found, places, show, for_latex) for cell in cells)])
    return Table(columns, rows, 2)


def _marked(cell: Cell, found: Comparison, places: int, show: str, for_latex: bool) -> Marked:
    """Return a mean with its marks; LaTeX says what labels correct beneath the table, others beside it."""
    note = rests_on(cell, found)
    if cell.judged is not None and not for_latex:
        note = f" (judge {cell.judged:.{places}f}, {cell.labels:,} labels)"
    if math.isnan(cell.value) and (for_latex or cell.judged is not None):
        return Marked(None, note="" if for_latex else note)
    interval = (cell.low, cell.high) if show == INTERVAL else None
    if for_latex and math.isnan(cell.low + cell.high):
        interval = None
    small = _p(cell, found) if show == "p" else ""
    return Marked(cell.value, interval, small, note, beaten_by(cell, found), cell.is_best)


def pairs_of(found: Comparison, places: int = 4) -> Table:
    """Return a row a pair and measure: the difference, its test, and the verdict."""
    by_labels = bool(found.gold)
    difference = partial(Column, kind=NUMBER, places=places, sign="+", nan="-" if by_labels else None)
    p = partial(Column, kind=P, nan="-" if by_labels else None)
    adjusted = {"holm": "p (Holm)", "max_t": "p (max-T)", "none": "p (as is)"}[found.settings.adjust]
    tested = [difference("low"), difference("high"), p("p"), p(adjusted)]
    columns = [Column("measure"), Column("run"), Column("against")]
    if by_labels:
        columns += [difference("judge", none="-"), difference("corrected"), *tested]
        columns += [Column("labels", COUNT, none="-"), Column("gain", NUMBER, 0, none="-", nan="-")]
        columns += [Column("verdict")]
        row = _corrected_row
    else:
        columns += [difference("difference"), *tested, Column("effect", NUMBER, 2, "+")]
        columns += [Column("won-tied-lost", TALLY), Column("detectable", NUMBER, places)]
        columns += [Column("needed"), Column("verdict")]
        row = _row
    rows = [row(pair) for pair in found.pairs]
    if not by_labels and any(pair.every_completion for pair in found.pairs):
        columns.append(Column("every completion", none="-"))
        rows = [[*row, pair.every_completion or None] for row, pair in zip(rows, found.pairs, strict=True)]
    # Names of runs are long; the table of values has a letter for each.
    letters = letters_of(found)
    short = [[measure, f"{letters[run]} - {letters[other]}", *rest] for measure, run, other, *rest in rows]
    narrow = Table([columns[0], Column("runs"), *columns[3:]], short, 2)
    return Table(columns, rows, 3, narrow=narrow)


def _row(pair: Pair) -> list[Any]:
    detectable: float | str = pair.detectable
    if math.isnan(pair.detectable):
        # NaN with a p: so few queries differ that no difference could be found.
        detectable = "-" if math.isnan(pair.p) else "not reachable"
    tested = [pair.difference, pair.low, pair.high, pair.p, pair.adjusted, pair.effect]
    counts = (pair.wins, pair.ties, pair.losses)
    return [pair.measure, pair.run, pair.other, *tested, counts, detectable, pair.needed, pair.verdict]


def _corrected_row(pair: Pair) -> list[Any]:
    """Return the judge's difference and the corrected one, with what the latter rests on."""
    judged, gain = (None, None) if pair.labels is None else (pair.judged, pair.gain)
    tested = [pair.difference, pair.low, pair.high, pair.p, pair.adjusted]
    return [pair.measure, pair.run, pair.other, judged, *tested, pair.labels, gain, pair.verdict]


def parts_of(found: Comparison, places: int = 4) -> list[Table | str]:
    """Return what people read: both tables, and what the marks mean."""
    values, pairs = values_of(found, places), pairs_of(found, places)
    return [values, "", pairs, "", *map(Prose, said_beneath(found)), Code(found.signature)]


def data_of(found: Comparison, places: int = 4) -> Table:
    """Return a row a pair and measure with all that is known of it, for programs."""
    number = partial(Column, kind=NUMBER, places=places)
    # New columns come at the end, so that scripts that count columns still work.
    columns = [*map(Column, ("run", "other", "measure")), number("value"), number("other_value")]
    columns += [Column("queries", COUNT), number("difference"), number("low"), number("high")]
    columns += [Column("p", P), Column("adjusted_p", P), Column("effect", NUMBER)]
    columns += [Column(name, COUNT) for name in ("wins", "ties", "losses")]
    columns += [number("detectable", nan=""), Column("needed_least", COUNT), Column("needed_most", COUNT)]
    columns += map(Column, ("verdict", "why", "every_completion", "better_run"))
    columns += [Column("undefined", COUNT), Column("other_undefined", COUNT), Column("basis")]
    columns += [number("judged"), number("people"), Column("labels", COUNT), Column("gain", COUNT)]
    columns += map(Column, ("corrected_from", "test", "family", "ruling"))
    rows = []
    for pair in found.pairs:
        one, other = (found.cell(run, pair.measure) for run in (pair.run, pair.other))
        known = {"value": one.value, "other_value": other.value, "adjusted_p": pair.adjusted}
        known |= {"undefined": one.undefined, "other_undefined": other.undefined}
        names = (column.name for column in columns)
        rows.append([known[name] if name in known else getattr(pair, name) for name in names])
    return Table(columns, rows, 3)


def lines_of(found: Comparison, style: str, places: int = 4) -> Iterator[str]:
    """Yield the lines of a comparison in one of the formats of tables; in LaTeX, see `latex_of`."""
    return lines(style, lambda: parts_of(found, places), lambda: data_of(found, places), record=found.as_dict)


class ByQuery(NamedTuple):
    """The values of each query for each pair, those first that its run lost most."""

    found: Comparison
    results: Sequence[Scores]

    def pairs(self) -> Iterator[tuple[Pair, list[tuple[str, float, float, float]]]]:
        """Yield each pair, and of each query both values and their difference."""
        of_run = {scores.run: scores for scores in self.results}
        for pair in self.found.pairs:
            ours, theirs = (of_run[run][pair.measure].by_query for run in (pair.run, pair.other))
            both = [
                (query, ours[query], theirs[query], ours[query] - theirs[query])
                for query in ours
                if query in theirs
            ]
            defined = [row for row in both if not math.isnan(row[3])]
            sign = -1 if self.found.lower_is_better(pair.measure) else 1
            yield pair, sorted(defined, key=lambda row: sign * row[3])

    def parts(self, places: int) -> Iterator[Table | str]:
        """Yield a table a pair, for people."""
        for pair, rows in self.pairs():
            values = (Column(run, NUMBER, places) for run in (pair.run, pair.other))
            yield ""
            yield Table([Column(pair.measure), *values, Column("difference", NUMBER, places, "+")], rows)

    def data(self, places: int = 4) -> Table:
        """Return a row a pair and query, for programs."""
        columns = [Column(name) for name in ("run", "other", "measure", "query_id")]
        columns += [Column(name, NUMBER, places) for name in ("value", "other_value", "difference")]
        pairs = ((pair.run, pair.other, pair.measure, *row) for pair, rows in self.pairs() for row in rows)
        return Table(columns, pairs, 4)


def _p(cell: Cell, found: Comparison) -> str:
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
    if show == INTERVAL:
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
