"""A comparison as tables: for people, for programs, and for a paper in LaTeX."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval.core.basis import Basis
from rageval.core.remark import Remark
from rageval.core.ruling import Ruling
from rageval.errors import UsageError
from rageval.measures.base import LOWER, NEITHER
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
from rageval.views.bases import (
    IF_DRAWN,
    NO_JUDGE_ERROR,
    NO_WINNER,
    attribution,
    correction_notes,
    name_labels,
    uncorrected_notes,
)
from rageval.views.remarks import describe_reasons

if TYPE_CHECKING:
    from rageval.comparison.results import Cell, Comparison, Pair, Settings
    from rageval.scoring.scores import Scores


# What stands beside the numbers of a comparison, and beneath them: letters, counts, and what they mean.

TESTS = {"randomization": "sign-flip randomization with mid-p", "t": "paired t-test"}
ADJUSTMENTS = {"holm": "Holm", "max_t": "max-T"}


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
    """Return how many queries a mean is over, if not all, or not the same as the others."""
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
    # What is first is why; the same may be so of other runs.
    first = found.remarks[0].code if found.remarks else ""
    why = (f"{remark}." for remark in found.remarks if remark.code == first)
    return " ".join(["Nothing was tested.", *why])


def without_mean(found: Comparison) -> list[Remark]:
    """Return of which runs labels allow no mean, and why, where that is not why nothing was tested."""
    refused = [remark for remark in found.remarks if remark.code == "labels_of_mean"]
    return [] if untested(found) else [remark for remark in refused if not remark.facts["has_value"]]


def family_of(settings: Settings, runs: int, measures: int) -> str:
    """Say which comparisons p is adjusted over.

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
    return pairs + over_measures(measures)


def over_measures(measures: int) -> str:
    """Say that p is adjusted for each measure by itself, where there are several."""
    return ", each measure by itself" if measures > 1 else ""


def adjusted_over(found: Comparison) -> str:
    """Say how p is adjusted, and over which comparisons."""
    how = ADJUSTMENTS[found.settings.adjust]
    family = next((pair.family for pair in found.pairs if pair.family), "")
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


def by_basis(found: Comparison) -> dict[Basis, list[str]]:
    """Return the measures by the basis of their claims, without text matches, which make none."""
    groups: dict[Basis, list[str]] = {}
    for measure, basis in found.bases.items():
        if not basis.is_of_texts:
            groups.setdefault(basis, []).append(measure)
    return groups


def _whose(basis: Basis) -> str:
    """Return by whom claims are, behind a blank; nothing where that need not be said."""
    whose = attribution(basis)
    return f" {whose}" if whose else ""


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
    for basis, measures in groups.items():
        of = f"by {', '.join(map(name, measures))}, " if len(groups) > 1 else ""
        which = compared(found, measures)
        pairs = [pair for pair in found.pairs if pair.measure in measures]
        whose = _whose(basis)
        if any(pair.better_run for pair in pairs):
            came_out = f"{marks} the runs that are significantly worse{whose}"
        elif any(pair.is_significant for pair in pairs):
            came_out = f"differences are significant{whose}, but neither high nor low is good"
        else:
            came_out = f"no difference is significant{whose}"
        refused = sum(pair.ruling is Ruling.REFUSED for pair in pairs)
        if refused:
            came_out += f"; {refused:,} of {len(pairs):,} pairs are refused"
        said.append((bool(basis.corrected), of + text(f"{which}: {came_out}" if which else came_out)))
    return said


def said_beneath(found: Comparison) -> list[str]:
    """Return the notes under the tables: why pairs have no verdict, and what the marks mean."""
    reasons = [
        f"{pair.run} and {pair.other}, {pair.measure}: {describe_reasons(pair.reasons)}"
        for pair in found.pairs
        if pair.reasons
    ]
    return [*reasons, *legend(found)]


def legend(found: Comparison) -> Iterator[str]:
    """Return what the marks mean, the basis of the numbers, and measures where high values are not good."""
    settings = found.settings
    if said := untested(found):
        yield said
    for basis, measures in by_basis(found).items():
        if basis.corrected:
            yield gold_legend(found, basis, measures)
    plain = {basis for basis in by_basis(found) if not basis.corrected}
    if plain and not untested(found):
        whose = _whose(*plain) if len(plain) == 1 else ""
        which = compared(found)
        yield (
            f"'> a' means significantly better than a{whose} ({TESTS[settings.test]},"
            f" {adjusted_over(found)}, {1 - settings.level:.3g}){f'; {which}' if which else ''}; intervals"
            f" {settings.level:.4g}; detectable and needed at power {settings.power:g}"
        )
    yield from uncorrected_notes(found.bases, bool(found.gold))
    for way, said in ((LOWER, "low is good"), (NEITHER, "neither high nor low is good")):
        names = [measure for measure, better in found.better.items() if better == way]
        if names:
            yield f"{said}: {', '.join(names)}"


def gold_legend(found: Comparison, basis: Basis, measures: Collection[str]) -> str:
    """Describe numbers that labels correct."""
    settings = found.settings
    what = "queries of this kind" if settings.population == "kind" else "exactly this set of queries"
    by = name_labels(basis)
    whose = _whose(basis)
    which = compared(found)
    return (
        f"{', '.join(measures)}: corrected by {by}, for {what}: 'judge' is the judge's difference, 'gain'"
        " how many labels would tell as much without a judge; '> a' means significantly better than"
        f" a{whose} (Student's t, {adjusted_over(found)},"
        f" {1 - settings.level:.3g}){f'; {which}' if which else ''}; intervals {settings.level:.4g}"
    )


def said_of_claims(found: Comparison) -> list[str]:
    """Say how pairs were tested, how p is adjusted, the results, and their basis."""
    settings = found.settings
    if said := untested(found):
        return [said, *uncorrected_notes(found.bases, bool(found.gold))]
    tests = " and ".join(dict.fromkeys(pair.test for pair in found.pairs if pair.test))
    said_of_all = [f"intervals {settings.level:.3g}, p by {tests}, {adjusted_over(found)}"]
    said_of_all += [said for _, said in sentences(found, "verdicts name")]
    said_of_all += correction_notes(found.bases)
    return said_of_all + uncorrected_notes(found.bases, bool(found.gold))


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
            "show='p' cannot be combined with all_pairs; leave out all_pairs, or use csv or json"
        )
    label = label_of("tab:comparison", label, caption)
    notes = list(_said_of_bases(found))
    said = list(_explained(found, show))
    if caption is None:
        least, most = (end(cell.queries for cell in found.cells) for end in (min, max))
        best = ", the best in bold" if any(cell.is_best for cell in found.cells) else ""
        means = f"Means over {f'{least:,} to ' * (least < most)}{most:,} queries{best}."
        caption = " ".join([means, *said])
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
    small = ""
    if show == "p":
        # Adjusted, of the run against the one that it is compared with; none of that one itself.
        # By the first pair of each run and measure.
        adjusted = found.once(
            "adjusted",
            lambda found: {(each.run, each.measure): each.adjusted for each in reversed(found.pairs)},
        )
        p = adjusted.get((cell.run, cell.measure), math.nan)
        if not math.isnan(p):
            small = f"($p<{_LEAST_P}$)" if p < _LEAST_P else f"($p={p:.3f}$)"
    return Marked(cell.value, interval, small, note, beaten_by(cell, found), cell.is_best)


def pairs_of(found: Comparison, places: int = 4) -> Table:
    """Return a row a pair and measure: the difference, its test, and the verdict."""
    by_labels = bool(found.gold)
    difference = partial(Column, kind=NUMBER, places=places, sign="+", nan="-" if by_labels else None)
    p = partial(Column, kind=P, nan="-" if by_labels else None)
    tested = [difference("low"), difference("high"), p("p"), p(f"p ({ADJUSTMENTS[found.settings.adjust]})")]
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
    columns += map(Column, ("corrected_from", "test", "family", "ruling", "drawn"))
    rows = []
    for pair in found.pairs:
        one, other = (found.cell(run, pair.measure) for run in (pair.run, pair.other))
        known = {"value": one.value, "other_value": other.value, "adjusted_p": pair.adjusted}
        known |= {"undefined": one.undefined, "other_undefined": other.undefined}
        record = pair.record() | known | {"why": describe_reasons(pair.reasons)}
        rows.append([record[column.name] for column in columns])
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
    for basis, measures in by_basis(found).items():
        names = ", ".join(map(found.typeset, measures))
        if basis.is_judge and not basis.corrected:
            yield f"Values {_plain(attribution(basis))}: {names} ({NO_JUDGE_ERROR})."
        cells = [cell for cell in found.cells if cell.measure in measures]
        pairs = [pair for pair in found.pairs if pair.measure in measures]
        lows = [*(cell.low for cell in cells), *(pair.low for pair in pairs)]
        if basis.corrected and not all(map(math.isnan, lows)):
            # A plan to compare two systems corrects differences, and no mean.
            known = [cell for cell in cells if not math.isnan(cell.value)] or cells
            labels = [cell.labels or 0 for cell in known]
            of = f"{f'{min(labels):,} to ' * (min(labels) < max(labels))}{max(labels):,} queries"
            what = "queries of this kind" if settings.population == "kind" else "exactly this set of queries"
            condition = f", {IF_DRAWN}" if basis.is_draw_unstated else ""
            yield f"Corrected by {_plain(name_labels(basis))} of {of}{condition}, for {what}: {names}."
    yield from (f"--: {_plain(str(remark))}." for remark in without_mean(found))
    if not untested(found):
        yield from _significant(found, corrected=True)
    words = [found.typeset(name) for name, basis in found.bases.items() if basis.is_of_texts]
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
