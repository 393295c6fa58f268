"""A comparison as tables: for people, for programs, and for a paper in LaTeX."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval.comparison.estimates import slices_of_difference
from rageval.core.basis import Basis
from rageval.core.remark import Remark, joined_text
from rageval.core.ruling import Ruling
from rageval.errors import UsageError
from rageval.measures.base import LOWER, NEITHER
from rageval.table import (
    COUNT,
    INTERVAL,
    NUMBER,
    PRINTERS,
    TALLY,
    Bad,
    Code,
    Column,
    Display,
    Good,
    Headline,
    Latex,
    Marked,
    P,
    Prose,
    Table,
    fitted,
    label_of,
    latex_table,
    lines,
    table_of,
)
from rageval.text import visible
from rageval.views.bases import (
    IF_DRAWN,
    NO_JUDGE_ERROR,
    NO_WINNER,
    attribution,
    correction_notes,
    name_labels,
    uncorrected_notes,
)
from rageval.views.scores import LOW_IS_GOOD, typeset
from rageval.views.verdicts import verdict_of

if TYPE_CHECKING:
    from rageval.comparison.results import Cell, Comparison, FrontierPoint, Pair, Settings
    from rageval.scoring.scores import Scores


# What stands beside the numbers of a comparison, and beneath them: letters, counts, and what they mean.

TESTS = {
    "auto": "the test that fits the values",
    "randomization": "sign-flip randomization with mid-p",
    "studentized": "studentized bootstrap and sign flips",
    "t": "paired t-test",
    "bootstrap": "paired bootstrap",
}
ONE_PAIR = "one pair"  # the family of a comparison of two, of which nothing is adjusted
ADJUSTMENTS = {"holm": "Holm", "max_t": "max-T"}


def letters_of(comparison: Comparison) -> dict[str, str]:
    """Return the letters of the runs."""
    return lettered(comparison.runs)


def tests_of(comparison: Comparison) -> list[str]:
    """Return the tests of pairs that labels do not correct; what no mean has is tested by another one."""
    return comparison.tests or [comparison.settings.test]


def lettered(runs: Iterable[str]) -> dict[str, str]:
    """Return a, b, …, z, aa, … for the runs, however many there are.

    >>> lettered(["one", "two"])
    {'one': 'a', 'two': 'b'}
    """
    letters = {}
    for number, run in enumerate(runs):
        letter = ""
        while number >= 0:
            # As spreadsheets count columns: there is no zero, so one is taken off at each place.
            number, rest = divmod(number, 26)
            letter, number = chr(ord("a") + rest) + letter, number - 1
        letters[run] = letter
    return letters


def beaten_by(cell: Cell, comparison: Comparison) -> list[str]:
    """Return the letters of the runs that are significantly worse by this measure."""
    return comparison.once("beaten", _letters_of_beaten).get((cell.run, cell.measure), [])


def _letters_of_beaten(comparison: Comparison) -> dict[tuple[str, str], list[str]]:
    letters = letters_of(comparison)
    beaten: dict[tuple[str, str], list[str]] = {}
    for pair in comparison.pairs:
        if pair.better_run:
            worse = pair.other if pair.better_run == pair.run else pair.run
            beaten.setdefault((pair.better_run, pair.measure), []).append(letters[worse])
    # By length first: aa comes after z.
    return {place: sorted(worse, key=lambda letter: (len(letter), letter)) for place, worse in beaten.items()}


def rests_on(cell: Cell, comparison: Comparison) -> str:
    """Return how many queries a mean is over, if not all, or not the same as the others."""
    query_counts = comparison.once("queries", _query_counts)[cell.measure]
    # Said only where it differs: the usual n stands once beneath the table.
    return f" (n={cell.queries:,})" if cell.undefined or query_counts != {cell.queries} else ""


def _query_counts(comparison: Comparison) -> dict[str, set[int]]:
    """Return on how many queries the means and the pairs rest, by measure."""
    queries: dict[str, set[int]] = {}
    for cell in comparison.cells:
        queries.setdefault(cell.measure, set()).add(cell.queries)
    for pair in comparison.pairs:
        queries.setdefault(pair.measure, set()).add(pair.queries)
    return queries


def untested(comparison: Comparison) -> str:
    """Say that no pair was tested, and why; nothing, where some pair was."""
    if not all(math.isnan(pair.p) for pair in comparison.pairs):
        return ""
    # What is first is why; the same may be so of other runs.
    first = comparison.remarks[0].code if comparison.remarks else ""
    why = (f"{remark}." for remark in comparison.remarks if remark.code == first)
    return " ".join(["Nothing was tested.", *why])


def without_mean(comparison: Comparison) -> list[Remark]:
    """Return of which runs labels allow no mean, and why, where that is not why nothing was tested."""
    refused = [remark for remark in comparison.remarks if remark.code == "labels_of_mean"]
    return [] if untested(comparison) else [remark for remark in refused if not remark.facts["has_value"]]


def family_of(settings: Settings, runs: int, measures: int) -> str:
    """Say which comparisons p is adjusted over.

    >>> from rageval.comparison.results import Settings
    >>> family_of(Settings(), 3, 2), family_of(Settings(baseline="a"), 3, 1), family_of(Settings(), 2, 1)
    ('all pairs, each measure by itself', 'pairs with a', 'one pair')
    """
    # Who picks the best run has looked at all pairs.
    pairs = "all pairs"
    if runs == 2:
        pairs = ONE_PAIR
    elif settings.baseline != "best" and not settings.all_pairs:
        pairs = f"pairs with {visible(settings.baseline)}"
    return pairs + over_measures(measures)


def over_measures(measures: int) -> str:
    """Say that p is adjusted for each measure by itself, where there are several."""
    return ", each measure by itself" if measures > 1 else ""


def adjusted_over(comparison: Comparison) -> str:
    """Say how p is adjusted, and over which comparisons."""
    how = ADJUSTMENTS[comparison.settings.adjust]
    family = next((pair.family for pair in comparison.pairs if pair.family), "")
    # Of one pair there is nothing to adjust for.
    if family.startswith(ONE_PAIR):
        return family
    return f"{how} over {family}" if family else how


def compared(comparison: Comparison, measures: Collection[str] = ()) -> str:
    """Say which pairs are compared, by these measures or by all; nothing where there is only one."""
    settings = comparison.settings
    if len(comparison.runs) == 2:
        return ""
    if settings.all_pairs:
        return "all pairs of runs are compared"
    if settings.baseline != "best":
        return f"only pairs with {visible(settings.baseline)} are compared"
    others = {pair.other for pair in comparison.pairs if pair.measure in (measures or comparison.measures)}
    baseline = visible(others.pop()) if len(others) == 1 else "one run for each measure"
    return f"only pairs with {baseline} are shown"


def by_basis(comparison: Comparison) -> dict[Basis, list[str]]:
    """Return the measures by the basis of their claims, without text matches, which make none."""
    groups: dict[Basis, list[str]] = {}
    for measure, basis in comparison.bases.items():
        if not basis.is_of_texts:
            groups.setdefault(basis, []).append(measure)
    return groups


def _whose(basis: Basis) -> str:
    """Return by whom claims are, behind a blank; nothing where that need not be said."""
    whose = attribution(basis)
    return f" {whose}" if whose else ""


def sentences(
    comparison: Comparison,
    marks: str,
    name: Callable[[str], str] = str,
    text: Callable[[str], str] = str,
) -> list[tuple[bool, str]]:
    """Return a sentence for each basis of claims, and whether labels correct these.

    Each says which pairs are compared, and is true of just these; `marks` is what names the runs that are
    worse. Measures are written by `name`, all else by `text`.
    """
    groups = by_basis(comparison)
    parts = []
    for basis, measures in groups.items():
        scope = f"by {', '.join(map(name, measures))}, " if len(groups) > 1 else ""
        compared_pairs = compared(comparison, measures)
        pairs = [pair for pair in comparison.pairs if pair.measure in measures]
        whose = _whose(basis)
        if any(pair.better_run for pair in pairs):
            outcome = f"{marks} the runs that are significantly worse{whose}"
        elif any(pair.is_significant for pair in pairs):
            outcome = f"differences are significant{whose}, but neither high nor low is good"
        else:
            outcome = f"no difference is significant{whose}"
        refused = sum(pair.ruling is Ruling.REFUSED for pair in pairs)
        if refused:
            outcome += f"; {refused:,} of {len(pairs):,} pairs are refused"
        parts.append(
            (
                bool(basis.corrected),
                scope + text(f"{compared_pairs}: {outcome}" if compared_pairs else outcome),
            )
        )
    return parts


def notes_of(comparison: Comparison, details: bool = False) -> list[str]:
    """Return the notes under the tables: why pairs have no verdict, and what the marks mean."""
    reasons = [
        f"{pair.run} and {pair.other}, {pair.measure}: {joined_text(pair.reasons)}"
        for pair in comparison.pairs
        if pair.reasons
    ]
    power = f"detectable and needed at power {comparison.settings.power:g}"
    return [*reasons, *legend(comparison), *([power] if details and not comparison.gold else [])]


def legend(comparison: Comparison) -> Iterator[str]:
    """Return what the marks mean, the basis of the numbers, and measures where high values are not good."""
    settings = comparison.settings
    if note := untested(comparison):
        yield note
    for basis, measures in by_basis(comparison).items():
        if basis.corrected:
            yield gold_legend(comparison, basis, measures)
    plain = {basis for basis in by_basis(comparison) if not basis.corrected}
    if plain and not untested(comparison):
        whose = _whose(*plain) if len(plain) == 1 else ""
        pairs, test = compared(comparison), " and ".join(map(TESTS.__getitem__, tests_of(comparison)))
        yield (
            f"'> a' means significantly better than a{whose} ({test},"
            f" {adjusted_over(comparison)}, {1 - settings.level:.3g}){f'; {pairs}' if pairs else ''};"
            f" intervals {settings.level:.4g}"
        )
    yield from uncorrected_notes(comparison.bases, bool(comparison.gold))
    if comparison.frontier:
        yield (
            "frontier: a run is 'on' it if it is significantly better than every other run by the measure or"
            f" by {settings.against}, and 'dominated' if another run is significantly better by one of the"
            " two and better or equal by the other; share: how often no run dominates it in the resamples"
        )
    for direction, note in ((LOWER, "low is good"), (NEITHER, "neither high nor low is good")):
        names = [measure for measure, better in comparison.better.items() if better == direction]
        if names:
            yield f"{note}: {', '.join(names)}"


def gold_legend(comparison: Comparison, basis: Basis, measures: Collection[str]) -> str:
    """Describe numbers that labels correct."""
    settings = comparison.settings
    what = "queries of this kind" if settings.population == "kind" else "exactly this set of queries"
    labelers = name_labels(basis)
    whose = _whose(basis)
    pairs = compared(comparison)
    return (
        f"{', '.join(measures)}: corrected by {labelers}, for {what}: 'judge' is the judge's difference,"
        " 'gain' how many labels would tell as much without a judge; '> a' means significantly better than"
        f" a{whose} (Student's t, {adjusted_over(comparison)},"
        f" {1 - settings.level:.3g}){f'; {pairs}' if pairs else ''}; intervals {settings.level:.4g}"
    )


def claim_notes(comparison: Comparison) -> list[str]:
    """Say how pairs were tested, how p is adjusted, the results, and their basis."""
    settings = comparison.settings
    if sentence := untested(comparison):
        return [sentence, *uncorrected_notes(comparison.bases, bool(comparison.gold))]
    tests = " and ".join(dict.fromkeys(pair.test for pair in comparison.pairs if pair.test))
    notes = [f"intervals {settings.level:.3g}, p by {tests}, {adjusted_over(comparison)}"]
    notes += [sentence for _, sentence in sentences(comparison, "verdicts name")]
    notes += correction_notes(comparison.bases)
    return notes + uncorrected_notes(comparison.bases, bool(comparison.gold))


SHOWN = (INTERVAL, "p")  # what may stand beside the values
_STUDENT = "Student's $t$"
_LEAST_P = 0.001  # what is smaller is said to be so


def latex_of(
    comparison: Comparison,
    caption: str | None = None,
    label: str | None = None,
    show: str = "",
    places: int = 4,
) -> Iterator[str]:
    """Yield the table of runs and measures: the best in bold, superscripts for runs significantly worse."""
    if show not in ("", *SHOWN):
        raise UsageError(f"show={show!r:.80}: expected one of {', '.join(SHOWN)}")
    if show == "p" and comparison.settings.all_pairs:
        raise UsageError(
            "show='p' cannot be combined with all_pairs; leave out all_pairs, or use csv or json"
        )
    label = label_of("tab:comparison", label, caption)
    notes = list(_basis_sentences(comparison))
    explanations = list(_explanations(comparison, show))
    if caption is None:
        least, most = (end(cell.queries for cell in comparison.cells) for end in (min, max))
        best = ", the best in bold" if any(cell.is_best for cell in comparison.cells) else ""
        means = f"Means over {f'{least:,} to ' * (least < most)}{most:,} queries{best}."
        caption = " ".join([means, *explanations])
    elif caption and explanations:
        notes.insert(0, " ".join(explanations))
    # As a comment: it is for whoever edits the paper, and far too long for its table.
    yield f"% {visible(comparison.signature)}"
    yield from (f"% {visible(line)}" for line in legend(comparison))
    yield r"% needs \usepackage{booktabs}"
    tabular = PRINTERS["latex"].table(values_of(comparison, places, show, for_latex=True))
    yield from latex_table(tabular, caption, label, notes)


def values_of(
    comparison: Comparison, places: int = 4, show: str = INTERVAL, *, for_latex: bool = False
) -> Table:
    """Return a row a run, with its letter, and a column a measure: means, and which runs are worse."""
    columns = [Column(""), Column("run")]
    for name in comparison.measures:
        head = typeset(comparison.typeset(name), comparison.better.get(name, ""))
        # In LaTeX, --: nothing is defined, or people labeled too few.
        columns.append(Column(name, NUMBER, places, none=Latex("--") if for_latex else "-", latex_head=head))
    rows: list[list[Any]] = []
    for run, letter in letters_of(comparison).items():
        cells = [comparison.cell(run, measure) for measure in comparison.measures]
        rows.append(
            [letter, run, *(_marked_cell(cell, comparison, places, show, for_latex) for cell in cells)]
        )
    return Table(columns, rows, 2)


def _marked_cell(cell: Cell, comparison: Comparison, places: int, show: str, for_latex: bool) -> Marked:
    """Return a mean with its marks; LaTeX says what labels correct beneath the table, others beside it."""
    note = rests_on(cell, comparison)
    if cell.judged is not None and not for_latex:
        note = f" (judge {cell.judged:.{places}f}, {cell.labels:,} labels)"
    if math.isnan(cell.value) and (for_latex or cell.judged is not None):
        return Marked(None, note="" if for_latex else note)
    interval = (cell.low, cell.high) if show == INTERVAL else None
    if for_latex and math.isnan(cell.low + cell.high):
        interval = None
    small = ""
    if show == "p":
        # Adjusted, of the run against the one that it is compared with; none of that one itself.
        # By the first pair of each run and measure.
        adjusted = comparison.once(
            "adjusted",
            lambda comparison: {
                (pair.run, pair.measure): pair.adjusted for pair in reversed(comparison.pairs)
            },
        )
        p = adjusted.get((cell.run, cell.measure), math.nan)
        if not math.isnan(p):
            small = f"($p<{_LEAST_P}$)" if p < _LEAST_P else f"($p={p:.3f}$)"
    return Marked(cell.value, interval, small, note, beaten_by(cell, comparison), cell.is_best)


_Cells = list[tuple[Column, Callable[["Pair"], Any]]]


def _pairs_table(comparison: Comparison, cells: _Cells, ruling: _Cells | None = None) -> Table:
    """Return a row a pair and measure: both, the ruling where it is wanted, and the cells."""
    ruling = ruling or []
    measure = Column("measure"), lambda pair: pair.measure
    names: _Cells = [(Column("run"), lambda pair: pair.run), (Column("against"), lambda pair: pair.other)]
    # Names of runs are long; the table of values has a letter for each.
    letters = letters_of(comparison)
    runs: _Cells = [(Column("runs"), lambda pair: f"{letters[pair.run]} - {letters[pair.other]}")]
    narrow = table_of([measure, *runs, *ruling, *cells], comparison.pairs, 2 + len(ruling))
    return table_of([measure, *names, *ruling, *cells], comparison.pairs, 3 + len(ruling))._replace(
        narrow=narrow
    )


def pairs_of(comparison: Comparison, places: int = 4) -> Table:
    """Return a row a pair and measure: the verdict, the difference with its interval, and p."""
    by_labels = bool(comparison.gold)
    difference = partial(Column, kind=NUMBER, places=places, sign="+", nan="-" if by_labels else None)
    cells: _Cells = []
    if by_labels:
        cells.append((difference("judge", none="-"), lambda pair: _of_labels(pair, pair.judged)))
    cells += [
        (difference("corrected" if by_labels else "difference"), lambda pair: pair.difference),
        (difference("low"), lambda pair: pair.low),
        (difference("high"), lambda pair: pair.high),
        (_p_column(comparison), lambda pair: pair.adjusted),
    ]
    if by_labels:
        cells.append((Column("labels", COUNT, none="-"), lambda pair: pair.labels))
    if not by_labels and any(pair.every_completion for pair in comparison.pairs):
        cells.append((Column("every completion", none="-"), lambda pair: pair.every_completion or None))
    return _pairs_table(comparison, cells, [(Column("verdict"), _toned_ruling)])


def _p_column(comparison: Comparison) -> Column:
    """Return the column of p, whose name says how it is adjusted, where there is anything to adjust for."""
    is_adjusted = not adjusted_over(comparison).startswith(ONE_PAIR)
    name = f"p ({ADJUSTMENTS[comparison.settings.adjust]})" if is_adjusted else "p"
    return Column(name, P, nan="-" if comparison.gold else None)


def _toned_ruling(pair: Pair) -> str:
    """Return what is claimed of a pair, good or bad for its first run; the first sentence names the basis."""
    if pair.better_run is None:
        return str(pair.ruling)
    return (Good if pair.better_run == pair.run else Bad)(pair.ruling)


def details_of(comparison: Comparison, places: int = 4) -> Table:
    """Return a row a pair and measure with what plans need: effect, p by itself, and how many queries."""
    if comparison.gold:
        gain = Column("gain", NUMBER, 0, none="-", nan="-")
        cells: _Cells = [(gain, lambda pair: _of_labels(pair, pair.gain))]
    else:
        cells = [
            (Column("effect", NUMBER, 2, "+", nan="-"), lambda pair: pair.effect),
            (Column("won-tied-lost", TALLY), lambda pair: (pair.wins, pair.ties, pair.losses)),
            (Column("detectable", NUMBER, places), _detectable),
            (Column("needed"), lambda pair: pair.needed),
        ]
    p = Column("p unadjusted", P, nan="-" if comparison.gold else None)
    return _pairs_table(comparison, [(p, lambda pair: pair.p), *cells])


def frontier_table(comparison: Comparison, places: int = 4) -> Table:
    """Return a row a system and measure: what it reaches, at what cost, and whether that is dominated."""
    number = partial(Column, kind=NUMBER, places=places, none="-", nan="-")
    letters = letters_of(comparison)
    cells: list[tuple[Column, Callable[[FrontierPoint], Any]]] = [
        (Column("measure"), lambda point: point.measure),
        (Column("run"), lambda point: point.run),
        (number("value"), lambda point: point.value),
        (number(comparison.settings.against), lambda point: point.against_value),
        (Column("share", NUMBER, 2, nan="-"), lambda point: point.share),
        (Column("frontier"), lambda point: point.status),
        (Column("by", none=""), lambda point: " ".join(letters[run] for run in point.dominators) or None),
    ]
    return table_of(cells, comparison.frontier, 2)


def frontier_data(comparison: Comparison, places: int = 4) -> Table:
    """Return a row a system and measure with all that is known of its place, for programs."""
    number = partial(Column, kind=NUMBER, places=places)
    columns = [*map(Column, ("run", "measure", "against")), number("value"), number("against_value")]
    columns += [number("share"), Column("status"), Column("dominators")]
    records = (point.record() | {"dominators": " ".join(point.dominators)} for point in comparison.frontier)
    return Table(columns, [[record[column.name] for column in columns] for record in records], 3)


def _of_labels(pair: Pair, value: float | None) -> float | None:
    """Return what is known by labels alone; None of a pair without labels."""
    return None if pair.labels is None else value


def _detectable(pair: Pair) -> float | str:
    if not math.isnan(pair.detectable):
        return pair.detectable
    # NaN with a p: so few queries differ that no difference could be found.
    return "-" if math.isnan(pair.p) else "not reachable"


def parts_of(comparison: Comparison, places: int = 4, details: bool = False) -> list[Table | str]:
    """Return what people read: the verdict, the tables, what the marks mean; with details, all the rest."""
    tables = [values_of(comparison, places), pairs_of(comparison, places)]
    if details:
        tables.append(details_of(comparison, places))
    if comparison.frontier:
        tables.append(frontier_table(comparison, places))
    shown = [part for table in tables for part in (table, "")]
    notes = [*map(Prose, notes_of(comparison, details))]
    return [
        Headline(verdict_of(comparison, places)),
        "",
        *shown,
        *notes,
        *([Code(comparison.signature)] if details else []),
    ]


def data_of(comparison: Comparison, places: int = 4) -> Table:
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
    columns += map(Column, ("corrected_from", "test", "family", "ruling", "drawn"))
    rows = []
    for pair in comparison.pairs:
        one, other = (comparison.cell(run, pair.measure) for run in (pair.run, pair.other))
        values = {"value": one.value, "other_value": other.value, "adjusted_p": pair.adjusted}
        values |= {"undefined": one.undefined, "other_undefined": other.undefined}
        record = pair.record() | values | {"why": joined_text(pair.reasons)}
        rows.append([record[column.name] for column in columns])
    return Table(columns, rows, 3)


class ComparisonDisplay(Display["Comparison"]):
    """A comparison as it shows itself: the pairs; its runs and pairs; the claims."""

    def table(self) -> Table:
        """Return a row a pair, with what was tested and the results above it."""
        columns = [Column("measure"), Column("run"), Column("against")]
        columns += [Column("difference", NUMBER, 3, "+"), Column("p", P), Column("verdict")]
        rows: list[list[Any]] = []
        for pair in self.shown.pairs:
            difference = Marked(pair.difference, (pair.low, pair.high))
            rows.append([pair.measure, pair.run, pair.other, difference, pair.adjusted, pair.verdict])
        title = " ".join([verdict_of(self.shown), *(f"{sentence}." for sentence in self.sentences())])
        return Table(columns, rows, 3, title)

    def text(self) -> str:
        """Return what the command prints, and all remarks."""
        return fitted([*parts_of(self.shown), "", *map(str, self.shown.remarks)])

    def tables(self, places: int = 4) -> list[Table]:
        """Return the means of the runs, and the pairs with their tests and verdicts."""
        tables = [values_of(self.shown, places), pairs_of(self.shown, places)]
        return [*tables, frontier_table(self.shown, places)] if self.shown.frontier else tables

    def sentences(self) -> list[str]:
        """Return what was tested, the results, and their basis."""
        return claim_notes(self.shown)

    def latex(self, caption: str | None, label: str | None, show: str, places: int) -> Iterator[str]:
        """Return the lines of a table of the runs for a paper."""
        return latex_of(self.shown, caption, label, show, places)


def lines_of(comparison: Comparison, style: str, places: int = 4, details: bool = False) -> Iterator[str]:
    """Yield the lines of a comparison in one of the formats of tables; in LaTeX, see `latex_of`."""
    return lines(
        style,
        lambda: parts_of(comparison, places, details),
        lambda: (frontier_data if comparison.frontier else data_of)(comparison, places),
        record=comparison.as_dict,
    )


class ByQuery(NamedTuple):
    """The values of each query for each pair, those first that its run lost most."""

    comparison: Comparison
    results: Sequence[Scores]

    def pairs(self) -> Iterator[tuple[Pair, list[tuple[str, float, float, float]]]]:
        """Yield each pair, and of each query both values and their difference."""
        of_run = {scores.run: scores for scores in self.results}
        for pair in self.comparison.pairs:
            ours, theirs = (of_run[run][pair.measure].by_query for run in (pair.run, pair.other))
            both = [
                (query, ours[query], theirs[query], ours[query] - theirs[query])
                for query in ours
                if query in theirs
            ]
            defined = [row for row in both if not math.isnan(row[3])]
            sign = -1 if self.comparison.lower_is_better(pair.measure) else 1
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


class BySlice(NamedTuple):
    """The difference of each pair on the queries of one kind, by one or several fields of these."""

    comparison: Comparison
    results: Sequence[Scores]
    groups: Mapping[str, Mapping[str, str]]

    def parts(self, places: int) -> Iterator[Table | str]:
        """Yield a table for people."""
        yield from ("", self.data(places))

    def data(self, places: int = 4) -> Table:
        """Return a row a pair and slice."""
        columns = [Column(name) for name in ("run", "other", "measure", "field", "name")]
        columns += [Column(name, NUMBER, places, "+") for name in ("difference", "low", "high")]
        of_run = {scores.run: scores for scores in self.results}
        rows = [
            (
                pair.run,
                pair.other,
                pair.measure,
                field,
                *(one.name, one.value, one.low, one.high, one.queries),
            )
            for pair in self.comparison.pairs
            for field, of_query in self.groups.items()
            for one in slices_of_difference(
                of_run[pair.run][pair.measure],
                of_run[pair.other][pair.measure],
                field,
                of_query,
                self.comparison.settings,
            )
        ]
        return Table([*columns, Column("queries", COUNT)], rows, 5)


def _explanations(comparison: Comparison, show: str) -> Iterator[str]:
    """Say what superscripts, brackets and arrows mean, in sentences with formulas."""
    settings = comparison.settings
    if reason := untested(comparison):
        yield _plain(reason)
    else:
        # Of corrected measures another test holds, which is said with them.
        yield from _significance_sentences(comparison, corrected=False)
    if show == INTERVAL:
        yield f"In brackets: {100 * settings.level:.4g}% intervals."
    if show == "p":
        yield "In parentheses: adjusted $p$ against " + (
            "the best run by the measure." if settings.baseline == "best" else f"{_plain(settings.baseline)}."
        )
    if any(map(comparison.lower_is_better, comparison.measures)):
        yield f"{LOW_IS_GOOD}: low values are good."


def _basis_sentences(comparison: Comparison) -> Iterator[str]:
    """Say of which measures all rests on a judge alone, on words, or on labels as well."""
    settings = comparison.settings
    for basis, measures in by_basis(comparison).items():
        names = ", ".join(map(comparison.typeset, measures))
        if basis.is_judge and not basis.corrected:
            yield f"Values {_plain(attribution(basis))}: {names} ({NO_JUDGE_ERROR})."
        cells = [cell for cell in comparison.cells if cell.measure in measures]
        pairs = [pair for pair in comparison.pairs if pair.measure in measures]
        lows = [*(cell.low for cell in cells), *(pair.low for pair in pairs)]
        if basis.corrected and not all(map(math.isnan, lows)):
            # A plan to compare two systems corrects differences, and no mean.
            with_mean = [cell for cell in cells if not math.isnan(cell.value)] or cells
            labels = [cell.labels or 0 for cell in with_mean]
            extent = f"{f'{min(labels):,} to ' * (min(labels) < max(labels))}{max(labels):,} queries"
            what = "queries of this kind" if settings.population == "kind" else "exactly this set of queries"
            condition = f", {IF_DRAWN}" if basis.is_draw_unstated else ""
            yield f"Corrected by {_plain(name_labels(basis))} of {extent}{condition}, for {what}: {names}."
    yield from (f"--: {_plain(str(remark))}." for remark in without_mean(comparison))
    if not untested(comparison):
        yield from _significance_sentences(comparison, corrected=True)
    words = [comparison.typeset(name) for name, basis in comparison.bases.items() if basis.is_of_texts]
    if words:
        yield f"{', '.join(words)}: {NO_WINNER}."


def _significance_sentences(comparison: Comparison, *, corrected: bool) -> Iterator[str]:
    """Say what superscripts mean, or that there are none, of pairs by corrected measures or by others."""
    test = _STUDENT if corrected else " and ".join(map(TESTS.__getitem__, tests_of(comparison)))
    how = f"({test}, {_plain(adjusted_over(comparison))}, $p<{1 - comparison.settings.level:.3g}$)"
    for is_corrected, text in sentences(comparison, "superscripts name", comparison.typeset, _plain):
        if is_corrected == corrected:
            yield f"{text[:1].upper()}{text[1:]} {how}."


def _plain(text: str) -> str:
    """Return text in which no dollar begins a formula."""
    return text.replace("$", r"\$")
