"""Scores in words and tables: their own, and the lines and records of other tools."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval import hooks
from rageval.comparison.estimates import corrected_mean, estimate_value, slices
from rageval.core.basis import UNSTATED
from rageval.core.record import plain_fields
from rageval.core.remark import joined_text
from rageval.core.signature import split_version
from rageval.errors import UsageError
from rageval.measures.base import LOWER
from rageval.measures.official import OFFICIAL, in_trec_eval
from rageval.scoring.scores import Score, Scores, ScoresTable
from rageval.table import (
    COUNT,
    FORMATS,
    NUMBER,
    PRINTERS,
    Code,
    Column,
    Display,
    Latex,
    Marked,
    Parts,
    Table,
    as_json,
    finite,
    label_of,
    latex_table,
    lines,
    or_none,
)
from rageval.text import count_noun, visible
from rageval.version import __version__
from rageval.views.bases import correction_notes, describe_basis, uncorrected_notes

if TYPE_CHECKING:
    from rageval.comparison import Settings
    from rageval.comparison.estimates import Slice
    from rageval.files.scores import Form

LOW_IS_GOOD = r"$\downarrow$"  # what stands behind the name of a measure


def _estimate_cell(score: Score) -> float:
    """Return the value of a score, which is the corrected one where labels are beside a judge."""
    if score.people is None:
        return score.value
    return estimate_value(score).value


class ScoresDisplay(Display[Scores]):
    """The scores of one system as they show themselves: a row a measure."""

    def table(self) -> Table:
        """Return a row a measure, with its signature; beside labels, the judge's value is of the judge."""
        scores = self.shown.scores
        are_corrected = are_labels_passed([self.shown])
        columns = [Column("measure"), Column("value", NUMBER), Column("judge", NUMBER)]
        columns += [Column("queries", COUNT), Column("signature")]
        rows: list[list[Any]] = []
        for score in scores:
            name = Marked(str(score.measure), typeset=score.measure.typeset)
            judged = None if score.people is None else score.value
            rows.append([name, _estimate_cell(score), judged, score.queries, score.signature])
        if not are_corrected:
            del columns[2]
            rows = [row[:2] + row[3:] for row in rows]
        return Table(columns, rows, title=_titled(self.shown.run, are_corrected))

    def text(self) -> str:
        """Return a line a measure, and the remarks."""
        names = [str(score.measure) for score in self.shown.scores]
        width = max(map(len, names), default=0)
        count = max((score.queries for score in self.shown.scores), default=0)
        head = f"{visible(self.shown.run)}: {count_noun(count, 'query')}"
        rows = []
        for name, score in zip(names, self.shown.scores, strict=True):
            judged = "" if score.people is None else f"  (judge {score.value:.4f})"
            signature, _ = split_version(score.signature)
            rows.append(f"{name:<{width}}  {_estimate_cell(score):.4f}{judged}  {signature}")
        return "\n".join(
            [_titled(head, are_labels_passed([self.shown])), *rows, *map(str, self.shown.remarks)]
        )


class ScoresTableDisplay(Display[ScoresTable]):
    """The scores of several systems as they show themselves: a row a system, a column a measure."""

    def table(self) -> Table:
        """Return the means; of a measure that labels correct, those by the judge in a column of their own."""
        results = list(self.shown.values())
        measures = {str(score.measure): score.measure for scores in results for score in scores.scores}
        corrected = {
            str(score.measure)
            for run_scores in results
            for score in run_scores.scores
            if score.people is not None
        }
        columns = [Column("run")]
        for name, measure in measures.items():
            columns.append(Column(name, NUMBER, latex_head=measure.typeset))
            columns += [Column(f"{name} by the judge", NUMBER)] * (name in corrected)
        rows: list[list[Any]] = []
        for run, scores in self.shown.items():
            by_name = {str(score.measure): score for score in scores.scores}
            rows.append([run])
            for name in measures:
                score = by_name.get(name)
                rows[-1].append(None if score is None else _estimate_cell(score))
                rows[-1] += [None if score is None else score.value] * (name in corrected)
        count = max((len(score.query_ids) for scores in results for score in scores.scores), default=0)
        title = f"{count_noun(len(results), 'run')}, {count_noun(count, 'query')}"
        return Table(columns, rows, title=_titled(title, bool(corrected)))


def _titled(title: str, are_corrected: bool) -> str:
    return f"{title}, corrected by labels" if are_corrected else title


def typeset(name: str, better: str) -> str:
    """Return the name of a measure as a paper has it, and whether low values are good."""
    return f"{name} {LOW_IS_GOOD}" if better == LOWER else name


_USUAL_WIDTH = 100  # of a table that is not looked at


class Layout(NamedTuple):
    """How to print: decimal places, a row a query or not, the means or not; in LaTeX, beneath what words.

    `topic` is that of FreshStack that was scored, which its leaderboard names.
    """

    places: int = 4
    by_query: bool = False
    summary: bool = True
    caption: str | None = None
    label: str | None = None
    topic: str | None = None

    def number(self, value: float) -> str:
        """Return a number with as many places."""
        return f"{value:.{self.places}f}"


class _Printed(NamedTuple):
    """A value of a query, or a mean; on how many queries it rests, between what it lies if that is known."""

    run: str
    measure: str
    query: str
    value: float
    queries: int
    undefined: int
    bounds: tuple[float, ...] | None = None


def _bounds_note(score: Score | _Printed, layout: Layout) -> str:
    """Say between what a mean lies, where that is known."""
    return f" ({' to '.join(map(layout.number, score.bounds))})" if score.bounds else ""


def trec(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write trec_eval's line: measure, query, value; in front the run, if there are several."""
    for run, measure, query, value, *_ in _printed_values(results, layout):
        head = f"{visible(run)}\t" if len(results) > 1 else ""
        yield f"{head}{measure:<22}\t{visible(query)}\t{value:6.{layout.places}f}"


def trec_eval(results: list[Scores], layout: Layout, rel: int | None) -> Iterator[str]:
    """Write what trec_eval itself prints: its own names, counts without decimals, query by query.

    Measures that it does not have keep our names. It prints the number of queries once, and not for each.
    """
    for scores in results:
        head = f"{visible(scores.run)}\t" if len(results) > 1 else ""
        for index, query in enumerate(scores.scores[0].query_ids if layout.by_query else ()):
            for score in scores.scores:
                if in_trec_eval(str(score.measure)) != "num_q":
                    yield head + _line_of_trec_eval(score, query, score.numbers[index], layout, rel)
        for score in scores.scores if layout.summary else ():
            yield head + _line_of_trec_eval(score, "all", score.value, layout, rel)


def _line_of_trec_eval(score: Score, query: str, value: float, layout: Layout, rel: int | None) -> str:
    name = in_trec_eval(str(score.measure), rel) or str(score.measure)
    places = 0 if name.startswith("num_") else layout.places
    return f"{name:<22}\t{visible(query)}\t{value:.{places}f}"


def ir_measures(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write ir_measures' line: measure and value, or query, measure and value."""
    for run, measure, query, value, *_ in _printed_values(results, layout):
        head = f"{visible(run)}\t" if len(results) > 1 else ""
        middle = f"{visible(query)}\t" if layout.by_query else ""
        yield f"{head}{middle}{measure}\t{layout.number(value)}"


def ndeval(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write ndeval's table, with its names: a row a topic, then the mean as `amean`."""
    names = [_ndeval_name(score) for score in results[0].scores]
    columns = [Column("runid"), Column("topic"), *(Column(name, NUMBER, layout.places) for name in names)]
    rows: list[list[Any]] = []
    for scores in results:
        if layout.by_query:
            rows += _rows_of_queries(scores)
        if layout.summary:
            rows.append([scores.run, "amean", *(score.value for score in scores.scores)])
    yield from PRINTERS["csv"].table(Table(columns, rows, 2))


def _score_records(results: list[Scores], layout: Layout) -> Iterator[dict[str, Any]]:
    """Yield what there is to say of each run and measure."""
    return (_record_of(scores, score, layout) for scores in results for score in scores.scores)


def _data(results: list[Scores], layout: Layout) -> Table:
    """Return a row a value, with how many queries it rests on."""
    number = partial(Column, kind=NUMBER, places=layout.places)
    columns = [Column("run"), Column("query_id"), Column("measure"), number("value")]
    columns += [Column("queries", COUNT), Column("undefined", COUNT)]
    bounded = any(score.bounds for scores in results for score in scores.scores)
    columns += [number("least"), number("most")] * bounded
    rows = (
        [row.run, row.query, row.measure, row.value, row.queries, row.undefined]
        + list(row.bounds or (None, None)) * bounded
        for row in _printed_values(results, layout)
    )
    return Table(columns, rows, 3)


def _parts_for_people(results: list[Scores], layout: Layout, style: str) -> Parts:
    """Return what people read: a column a measure, or a row where these would not fit the terminal."""
    if style == "latex":
        return _latex_lines(results, layout)
    if style != "table":
        return [_means(results, layout, _best_runs(results, layout) if style == "html" else {}, with_n=True)]
    number = Column("value", NUMBER, layout.places)
    rows = (
        [row.run, row.measure, row.query, Marked(row.value, note=_bounds_note(row, layout))]
        for row in _printed_values(results, layout)
    )
    narrow = Table([Column("run"), Column("measure"), Column("query"), number], rows, 3)
    table = _means(results, layout)._replace(narrow=narrow, widest=_USUAL_WIDTH)
    return [table, *_footnote(results), *basis_notes(results)]


def _rows_of_queries(scores: Scores) -> Iterator[list[Any]]:
    """Yield a row a query: the run, the query, its value by each measure."""
    for index, query in enumerate(scores.scores[0].query_ids):
        yield [scores.run, query, *(score.numbers[index] for score in scores.scores)]


def _means(
    results: list[Scores], layout: Layout, best: Mapping[str, Collection[str]] = {}, *, with_n: bool = False
) -> Table:
    """Return a row a run (and query) and a column a measure; `best` are the runs in bold, by measure."""
    heads = [Column("run"), *([Column("query")] if layout.by_query else [])]
    names = [str(score.measure) for score in results[0].scores]
    rows: list[list[Any]] = []
    for scores in results:
        if layout.by_query:
            rows += _rows_of_queries(scores)
        if layout.summary:
            rows.append([scores.run, "all"][: len(heads)])
            notes = scores.notes
            for name, score in zip(names, scores.scores, strict=True):
                # All judged queries: those that the run has, and those that it lacks.
                total = len(score.query_ids)
                if notes is not None:
                    total = notes.queries_in_run - notes.queries_only_in_run + notes.queries_missing
                note = _bounds_note(score, layout)
                note += f" (n={score.queries:,})" if with_n and score.queries < total else ""
                rows[-1].append(Marked(score.value, note=note, is_bold=scores.run in best.get(name, ())))
    return Table([*heads, *(Column(name, NUMBER, layout.places) for name in names)], rows, len(heads))


def _best_runs(results: list[Scores], layout: Layout) -> Mapping[str, Collection[str]]:
    # A table of several runs for people: the plain command does without what compares them.
    return hooks.best_runs(results) if len(results) > 1 and layout.summary else {}


def _latex_lines(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Yield a table for booktabs, a column a measure."""
    best = _best_runs(results, layout)
    table = _means(results, layout, best, with_n=True)
    heads = [typeset(score.measure.typeset, score.measure.better) for score in results[0].scores]
    columns = [
        column._replace(latex_head=head)
        for column, head in zip(table.columns, [""] * table.label_columns + heads, strict=True)
    ]
    what = "Values of each query" if layout.by_query else "Values"
    notes = "; the best in bold" * any(best.values())
    notes += f"; {LOW_IS_GOOD}: low values are good" * any(LOW_IS_GOOD in head for head in heads)
    notes += "; in parentheses: the possible range" * any(
        score.bounds for scores in results for score in scores.scores
    )
    return _with_caption(table._replace(columns=columns), results, layout, what, notes)


def _with_caption(
    table: Table, results: Sequence[Scores], layout: Layout, what: str, additions: str = ""
) -> Iterator[str]:
    """Write a table with its caption: what it says, or else over how many queries these values are."""
    scores = [score for run_scores in results for score in run_scores.scores]
    least, most = (end(score.queries for score in scores) for end in (min, max))
    usual = (
        f"{what} over {f'{least:,} to ' * (least < most)}{most:,} queries{additions} (rageval {__version__})."
    )
    caption = usual if layout.caption is None else layout.caption
    label = label_of("tab:scores", layout.label, layout.caption)
    yield Latex(r"% needs \usepackage{booktabs}")
    yield from map(Code, dict.fromkeys(score.signature for score in scores))
    tabular = PRINTERS["latex"].table(table._replace(notes=()))
    notes = [note.replace("$", r"\$") for note in table.notes]
    yield from map(Latex, latex_table(tabular, caption, label, notes))


def freshstack_measures() -> dict[str, str]:
    """Return the measures of FreshStack's leaderboard, by the names that it has for them."""
    return {measure.replace("@", "_"): measure for measure in OFFICIAL["freshstack"]}


def freshstack_leaderboard(results: list[Scores], layout: Layout) -> Iterator[str]:
    """Write the entries of FreshStack's leaderboard_data.json: one a run, where - is for you to fill in."""
    if layout.topic is None:
        raise UsageError(
            "--format freshstack-leaderboard: expected an id such as freshstack/langchain/oct-2024 as"
            " judgements"
        )
    entries = []
    for scores in results:
        values = {}
        for name, measure in freshstack_measures().items():
            try:
                values[name] = scores[measure].value
            except KeyError:
                raise UsageError(
                    f"--format freshstack-leaderboard: expected -m official:freshstack, found no {measure}"
                ) from None
        info = {"name": scores.run, **dict.fromkeys(("size", "type", "date", "link"), "-")}
        entries.append({"info": info, "datasets": {layout.topic: values}})
    yield as_json({"leaderboardData": entries})


def _in_form(form: Form) -> Callable[[list[Scores], Layout], Iterator[str]]:
    """Return what writes a leaderboard in this form: values at full precision, whatever `--places`."""

    def lines(results: list[Scores], layout: Layout) -> Iterator[str]:
        from rageval.files.scores import LeaderboardRow, write_leaderboard

        values = _printed_values(results, layout)
        rows = (LeaderboardRow(row.run, row.query, row.measure, row.value) for row in values)
        yield from write_leaderboard(rows, form)

    return lines


_LINES: dict[str, Callable[[list[Scores], Layout], Iterator[str]]] = {
    "trec": trec,
    "ir_measures": ir_measures,
    "ndeval": ndeval,
    "freshstack-leaderboard": freshstack_leaderboard,
    "leaderboard-tot": _in_form("tot"),
    "leaderboard-ir_measures": _in_form("ir_measures"),
    "leaderboard-jsonl": _in_form("jsonl"),
}


def lines_of(results: list[Scores], layout: Layout, style: str) -> Iterator[str]:
    """Yield scores in a format of tables, or in one of another tool."""
    if style in _LINES:
        return _LINES[style](results, layout)

    def whole() -> dict[str, Any]:
        topics = {scores.run: _topics(scores) for scores in results if scores.notes is not None}
        return {"results": list(_score_records(results, layout)), **({"topics": topics} if topics else {})}

    return lines(
        style,
        lambda: _parts_for_people(results, layout, style),
        lambda: _data(results, layout),
        lambda: _score_records(results, layout),
        whole,
    )


def _ndeval_name(score: Score) -> str:
    """Return ndeval's name for the very measure that ndeval prints, else ours."""
    measure = score.measure
    name = measure.called_by("ndeval")
    how = measure.changed.get("normalize")
    # ndeval's name stands for one set of parameters; anything else keeps ours.
    if name is None or set(measure.changed) - {"normalize"} or how == "none":
        return str(measure)
    return name + (f"@{measure.k}" if measure.k else "")


def _printed_values(results: list[Scores], layout: Layout) -> Iterator[_Printed]:
    for scores in results:
        for score in scores.scores:
            if layout.by_query:
                for query, value in score.by_query.items():
                    undefined = int(math.isnan(value))
                    yield _Printed(scores.run, str(score.measure), query, value, 1 - undefined, undefined)
            if layout.summary:
                value, counts = score.value, (score.queries, score.undefined)
                yield _Printed(scores.run, str(score.measure), "all", value, *counts, score.bounds)


def _footnote(results: list[Scores]) -> Iterator[str]:
    """How many queries the means rest on, said once if it is the same everywhere."""
    counts = {(score.queries, score.undefined) for scores in results for score in scores.scores}
    if len(counts) == 1:
        queries, undefined = counts.pop()
        yield f"n={queries:,}" + (f", undefined={undefined:,}" if undefined else "")
        return
    for scores in results:
        for score in scores.scores:
            yield f"{scores.run} {score.measure}: n={score.queries:,}, undefined={score.undefined:,}"


def basis_notes(results: Sequence[Scores]) -> list[str]:
    """Say which measures are judged by a model alone, and which compare words."""
    return uncorrected_notes(
        {str(score.measure): score.basis for scores in results for score in scores.scores}
    )


def are_labels_passed(results: Iterable[Scores]) -> bool:
    """Return whether human labels correct any of the scores, or were passed for this and cannot."""
    return any(score.people is not None for scores in results for score in scores.scores)


def _record_of(
    scores: Scores, score: Score, layout: Layout, settings: Settings | None = None
) -> dict[str, Any]:
    """Return everything there is to say of one score."""
    record: dict[str, Any] = {
        "run": scores.run,
        "measure": str(score.measure),
        "value": or_none(score.value),
        "better": score.measure.better,
        "queries": score.queries,
        "undefined": score.undefined,
        "missing": score.missing,
        "signature": score.signature,
    }
    if score.basis != UNSTATED:
        record["basis"] = str(score.basis)
    if score.people is not None:
        estimate = estimate_value(score, settings)
        record["value"] = or_none(estimate.value)
        record |= plain_fields({"basis": estimate.basis})
        record |= {"judged": or_none(score.value), "labels": estimate.labels}
        record |= plain_fields({"reasons": estimate.reasons}) if estimate.reasons else {}
        # Of a corrected value: the judge's own bounds are not its.
        record |= {"bounds": list(estimate.bounds)} if estimate.bounds else {}
    if score.lost:
        record["lost"] = dict(score.lost)
    if score.bounds:
        record["bounds"] = [or_none(bound) for bound in score.bounds]
    if score.judges:
        record["judges"] = {judge: or_none(value) for judge, value in score.judges.items()}
    if layout.by_query:
        record["by_query"] = {query: or_none(value) for query, value in score.by_query.items()}
    return record


def _topics(scores: Scores) -> dict[str, Any]:
    notes = scores.notes
    if notes is None:
        return {}
    in_both = notes.queries_in_run - notes.queries_only_in_run
    return {
        "in_qrels": in_both + notes.queries_missing,
        "in_run": notes.queries_in_run,
        "in_both": in_both,
        "only_in_qrels": notes.queries_missing,
        "only_in_run": notes.queries_only_in_run,
        "without_relevant": notes.queries_without_relevant,
        "tied_at_cutoff": {str(cutoff): count for cutoff, count in sorted(notes.tied_at.items())},
        "rank_conflicts": notes.rank_conflicts,
        "retrieved": notes.retrieved,
        "judged": scores.judged,
        "nothing_judged": sum(not number for number in scores.judged_by_query.values()),
    }


SLICE_FORMATS = ("trec", *FORMATS)  # which can print slices
_Groups = Mapping[str, Mapping[str, str]]  # field -> query -> value


_Sliced = list[tuple["Scores", "Score", "Slice"]]


def slice_lines(
    results: list[Scores], groups: _Groups, layout: Layout, style: str, settings: Settings | None = None
) -> Iterator[str]:
    """Write the slices of every run and measure in this format; without groups, the corrected means."""
    sliced: _Sliced = []
    for scores in results:
        for score in scores.scores:
            if not groups:
                sliced.append((scores, score, corrected_mean(score, settings)))
            for field, of_query in groups.items():
                sliced += ((scores, score, one) for one in slices(score, field, of_query, settings))
    if style not in FORMATS:
        return _lines_of_slices(sliced, layout, len(results) > 1)

    def records() -> Iterator[dict[str, Any]]:
        for scores in results:
            for score in scores.scores:
                records_of_slices = [
                    finite(
                        {
                            name: value
                            for name, value in plain_fields(one._asdict()).items()
                            if value is not None
                        }
                    )
                    | {"small": one.is_small}
                    for _, sliced_score, one in sliced
                    if sliced_score is score
                ]
                yield _record_of(scores, score, layout, settings) | {"slices": records_of_slices}

    def parts() -> Parts:
        if style == "latex":
            table = _slices(sliced, layout, is_read=True)
            return _with_caption(table, results, layout, "Values with intervals by slice,")
        return [_slices(sliced, layout, is_read=True, is_starred=style == "table")]

    return lines(style, parts, lambda: _slices(sliced, layout), records, lambda: {"results": list(records())})


def _slices(sliced: _Sliced, layout: Layout, *, is_read: bool = False, is_starred: bool = False) -> Table:
    """Return a row a run, measure and slice; where people read, without columns that say nothing."""
    from rageval.comparison.intervals import FEW

    number, count = partial(Column, kind=NUMBER, places=layout.places), partial(Column, kind=NUMBER, places=0)
    # Where labels are too few, no value is there, and the row says why.
    nan = "-" if is_read and any(one.judged is not None for *_, one in sliced) else None
    values = (number(name, nan=nan) for name in ("value", "low", "high"))
    columns = [*map(Column, ("run", "measure", "slice")), *values, count("n")]
    if not is_read or any(one.undefined for *_, one in sliced):
        columns.append(count("undefined"))
    if not is_read or any(one.judged is not None for *_, one in sliced):
        columns.append(number("judge"))
    if not is_read or any(one.labels for *_, one in sliced):
        columns.append(count("labels"))
    columns += [Column(name, is_for_programs=True) for name in ("basis", "corrected_from", "drawn")]
    if not is_read or any(one.reasons for *_, one in sliced):
        columns.append(Column("why"))
    rows = []
    for scores, score, one in sliced:
        cells = plain_fields(one._asdict()) | {
            "run": scores.run,
            "slice": f"{one.field}={one.name}",
            "judge": one.judged,
            "why": joined_text(one.reasons),
        }
        cells["measure"] = Marked(str(score.measure), typeset=score.measure.typeset)
        cells["n"] = Marked(one.queries, note="*" * (is_starred and one.is_small))
        rows.append([cells[column.name] for column in columns])
    few = is_starred and any(one.is_small for *_, one in sliced)
    notes = [f"* fewer than {FEW} queries"] * few
    if is_read:
        # What the values rest on: a judge alone, words, or labels.
        of_measure = {str(score.measure): one.basis for _, score, one in sliced}
        corrected = correction_notes(
            {str(score.measure): one.basis for _, score, one in sliced if one.value == one.value}
        )
        notes += [f"{note}; 'judge' is the judge's value without correction" for note in corrected]
        notes += uncorrected_notes(of_measure, are_labels_passed(scores for scores, *_ in sliced))
    return Table(columns, rows, 3, notes=notes)


def _lines_of_slices(sliced: _Sliced, layout: Layout, with_run: bool) -> Iterator[str]:
    """Write a line a slice, as trec_eval's lines are."""
    columns, rows, *_ = _slices(sliced, layout, is_read=True, is_starred=True)
    for (*_, one), row in zip(sliced, rows, strict=True):
        shown = {column.name: column.read(value) for column, value in zip(columns, row, strict=True)}
        head = f"{visible(shown['run'])}\t" if with_run else ""
        names = (name for name in ("n", "undefined", "judge", "labels") if name in shown)
        rest = [f"{name}={shown[name]}" for name in names]
        # No value is by nobody.
        is_lacking = one.judged is not None and one.value != one.value
        whose = "no corrected value" if is_lacking else describe_basis(one.basis)
        rest += filter(None, [whose, shown.get("why")])
        numbers = f"{shown['value']}\t[{shown['low']}, {shown['high']}]\t{', '.join(rest)}"
        yield f"{head}{shown['measure']:<22}\t{visible(shown['slice'])}\t{numbers}"
