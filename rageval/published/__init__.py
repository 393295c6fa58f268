"""Tables that papers published, each a declaration: systems, datasets, measures, and what came out.

A declaration (`tables/*.toml`) is made again from the files of a folder: runs and judgements by nuggets, or
judgements of answers. What was published stands beside what comes out.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from rageval import hooks
from rageval.building import fused
from rageval.comparison.arena import outcome_matrix
from rageval.errors import InputError, Place, UsageError
from rageval.files.questions import read_facts
from rageval.names import suggestion
from rageval.scoring.answers import evaluate_answers
from rageval.scoring.evaluation import evaluate
from rageval.scoring.runs import Run
from rageval.scoring.scores import combined
from rageval.scoring.sources import read_run
from rageval.table import NUMBER, Column, Marked, Table
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.scoring.scores import Score, Scores

AVERAGE = "average"
FUSED_DEPTH = 100  # how much of each run is fused (FreshStack, section 5)
LEAD, DUELS = "lead", "duels"  # what may stand behind the measures
_FOLDER = Path(__file__).parent / "tables"

Row = tuple[str, ...]  # the labels, and the column
Cells = dict[str, Any]  # a value for each measure; of duels a text


class RunFiles(msgspec.Struct, forbid_unknown_fields=True):
    """Runs and judgements by nuggets: patterns of file names."""

    file: str  # with {column}, {method} and {model}
    qrels: str  # with {column}
    measures: list[str]
    fusion: str  # the label of all models of a method fused, `{}` being how many


class JudgedFile(msgspec.Struct, forbid_unknown_fields=True):
    """A file of judgements, or the dataset that contains them, and measures of the systems in it."""

    file: str
    measures: list[str]
    dataset: str = ""
    beside: list[str] = []


class PublishedTable(msgspec.Struct, forbid_unknown_fields=True):
    """A published table.

    A row of `published` begins with its `labels`; behind them is for each of the `columns` what was published
    of each measure, as the paper has it, "" for nothing. A column of runs is a topic, with the id of its
    dataset; of judgements, a value of the field `by` of the file `questions`. `lead` is by how many percent
    of a row's value the best is better, `duels` on how many questions the best is better, equal, worse.
    """

    title: str
    where: str
    labels: list[str]
    get: str  # how to come by the files
    published: list[list[str | float]] = []
    about: str = ""
    columns: dict[str, str] = {}
    by: str = ""
    questions: str = ""
    runs: RunFiles | None = None
    judged: list[JudgedFile] = []
    percent: bool = False
    places: int = 3

    @property
    def measures(self) -> list[str]:
        """The measures, and what stands beside them."""
        if self.runs:
            return self.runs.measures
        return [name for source in self.judged for name in (*source.measures, *source.beside)]

    @property
    def heads(self) -> list[str]:
        """What stands above the labels, and above the column."""
        return [*self.labels, *([self.by or "topic"] if self.columns else [])]

    @property
    def values(self) -> dict[Row, Cells]:
        """What was published."""
        values: dict[Row, Cells] = {}
        for row in self.published:
            labels = tuple(map(str, row[: len(self.labels)]))
            names = product(self.columns or [""], self.measures)
            for (column, measure), value in zip(names, row[len(self.labels) :], strict=False):
                cells = values.setdefault((*labels, column), {})
                if value != "":
                    cells[measure] = value
            values.setdefault((*labels, next(iter(self.columns), "")), {})
        return values

    def label(self, words: Row) -> Row:
        """Return labels as the paper writes them, each by itself."""
        spelled = [
            {_normalize_label(row[index]): row[index] for row in self.values} for index in range(len(words))
        ]
        return tuple(spelled[index].get(_normalize_label(word), word) for index, word in enumerate(words))


class Reproduced(NamedTuple):
    """A published table made again: the rows that came out, in the paper's order, and what was not there."""

    declared: PublishedTable
    found: dict[Row, Cells]
    missing: list[str]

    @property
    def absent(self) -> list[str]:
        """The published rows of which nothing came out."""
        here = {row[:-1] for row in self.found}
        return [
            ", ".join(labels)
            for labels in {row[:-1]: 0 for row in self.declared.values}
            if labels not in here
        ]

    def table(self) -> Table:
        """Return what people read: what came out, and behind each value in brackets what was published."""
        published, measures = self.declared.values, self.declared.measures
        columns = [Column(name, NUMBER, self.declared.places) for name in measures]
        rows: list[list[Any]] = []
        for row, cells in self.found.items():
            theirs = published.get(row, {})
            shown: list[Any] = []
            for name, column in zip(measures, columns, strict=True):
                small = f"({column.written(theirs[name])})" if name in theirs else ""
                shown.append(Marked(cells.get(name), small=small))
            rows.append([*(row if self.declared.columns else row[:-1]), *shown])
        heads = self.declared.heads
        return Table([*map(Column, heads), *columns], rows, len(heads))

    def records(self) -> Table:
        """Return what programs read: a row for each value."""
        published, rows = self.declared.values, []
        for row, cells in self.found.items():
            theirs = published.get(row, {})
            for name in self.declared.measures:
                value, other = cells.get(name), theirs.get(name)
                both = isinstance(value, float) and isinstance(other, float)
                shown = row if self.declared.columns else row[:-1]
                rows.append([*shown, name, value, other, value - other if both else None])  # type: ignore[operator]
        heads = self.declared.heads
        numbers = [Column(name, NUMBER, 6) for name in ("value", "published", "difference")]
        return Table([*map(Column, heads), Column("measure"), *numbers], rows, len(heads) + 1)


def _normalize_label(label: str) -> str:
    """Return what two spellings of a label have in common.

    >>> _normalize_label("BGE (Gemma-2)") == _normalize_label("bge-gemma-2")
    True
    """
    return "".join(letter for letter in label.casefold() if letter.isalnum())


def names() -> list[str]:
    """Return the names of all tables."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def declared(name: str) -> PublishedTable:
    """Return the table of this name; `UsageError` if there is none."""
    if name not in names():
        hint = suggestion(name, names())
        raise UsageError(f"{visible(name)}: no such table{hint}; there are {', '.join(names())}")
    return msgspec.toml.decode((_FOLDER / f"{name}.toml").read_bytes(), type=PublishedTable)


def reproduce(name: str, folder: str | os.PathLike[str] = ".") -> Reproduced:
    """Make a published table again from the files of a folder.

    Labels of files and systems are those of the paper if they have the same letters and digits: bge-gemma-2
    is BGE (Gemma-2).

    >>> table = reproduce("freshstack-4", "examples/data/published")
    >>> round(table.found["Stack Overflow Nuggets", "BM25", "langchain"]["alpha_ndcg@10"], 3)
    0.659
    """
    table, place, missing = declared(name), Path(folder), list[str]()
    if not os.path.isdir(folder):
        raise InputError(at=Place(visible(str(folder))), expected=f"a folder with the files of {name}")
    compute = _values_of_judgements if table.runs is None else _values_of_runs
    values: dict[Row, Cells] = {}
    for row, cells in compute(table, place, missing):
        values.setdefault(row, {}).update(cells)
    if not values:
        raise InputError(at=Place(visible(str(folder))), problem=f"{'; '.join(missing)}.", remedy=table.get)
    labels = list(dict.fromkeys(row[:-1] for row in table.values))
    columns = [*table.columns, AVERAGE]

    def place_of(row: Row) -> tuple[int, Row, int]:
        position = labels.index(row[:-1]) if row[:-1] in labels else len(labels)
        return position, row[:-1], columns.index(row[-1]) if row[-1] else 0

    ordered = {row: values[row] for row in sorted(values, key=place_of)}
    return Reproduced(table, ordered, missing)


def _values_of_runs(table: PublishedTable, folder: Path, missing: list[str]) -> Iterator[tuple[Row, Cells]]:
    """Yield the values of every run of the folder, and of the runs of each method fused."""
    runs = table.runs
    assert runs is not None
    pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^.]+)", re.escape(runs.file))
    files: dict[str, dict[str, dict[str, Path]]] = {}  # by column, by method, of each model
    for path in sorted(folder.iterdir()):
        if (parts := re.fullmatch(pattern, path.name)) and parts["column"] in table.columns:
            files.setdefault(parts["column"], {}).setdefault(parts["method"], {})[parts["model"]] = path
    of_all: dict[Row, list[Cells]] = {}
    for column, dataset in table.columns.items():
        if column not in files:
            missing.append(f"no run of {column} ({runs.file.replace('{column}', column)})")
            continue
        qrels: Any = folder / runs.qrels.format(column=column)
        if not qrels.exists():
            qrels = hooks.dataset_or_file(dataset, "qrels")
        for method, models in files[column].items():
            read = [Run.from_records(read_run(path), model) for model, path in models.items()]
            if len(read) > 1:
                read.append(fused(read, depth=FUSED_DEPTH, name=runs.fusion.format(len(read))))
            for run in read:
                scores = evaluate(",".join(runs.measures), run, qrels)
                cells = {
                    name: score.value for name, score in zip(runs.measures, scores.values(), strict=True)
                }
                labels = table.label((method, run.name))
                of_all.setdefault(labels, []).append(cells)
                yield (*labels, column), cells
    for labels, cells_of_columns in of_all.items():
        if len(cells_of_columns) == len(table.columns):  # as FreshStack's leaderboard has it
            yield (
                (*labels, AVERAGE),
                {
                    m: math.fsum(of[m] for of in cells_of_columns) / len(cells_of_columns)
                    for m in runs.measures
                },
            )


def _values_of_judgements(
    table: PublishedTable, folder: Path, missing: list[str]
) -> Iterator[tuple[Row, Cells]]:
    """Yield the values of every system that is judged."""
    groups: dict[str, str] = {}  # of the questions, where columns are of a field of theirs
    if table.by and not (folder / table.questions).exists():
        missing.append(f"no {table.questions}")
    elif table.by:
        facts = read_facts(folder / table.questions, (table.by,))
        groups = {query: fields[table.by] for query, fields in facts.items() if table.by in fields}
    for source in table.judged:
        judged: Any = folder / source.file
        if not judged.exists():
            if not source.dataset:
                missing.append(f"no {source.file}")
                continue
            try:
                judged = hooks.dataset_or_file(source.dataset, "labels")
            except InputError as error:
                missing.append(f"no {source.file}, nor the dataset ({error})")
                continue
        results = evaluate_answers(",".join(source.measures), judged)
        for run, scores in results.items():
            for name, score in zip(source.measures, scores.values(), strict=True):
                for column, value in _column_values(table, score, groups):
                    yield (*table.label((run,)), column), {name: value * (100 if table.percent else 1)}
        if source.beside:
            for run, cells in _paired_outcomes(results):
                yield (*table.label((run,)), ""), cells


def _column_values(
    table: PublishedTable, score: Score, groups: dict[str, str]
) -> Iterator[tuple[str, float]]:
    """Yield the value of each column: of all questions, or of those whose field has one of its values."""
    if not table.by:
        yield "", score.value
        return
    group_of = {query: groups.get(query, "") for query in score.query_ids}
    for column, values in score.numbers_by(group_of).items():
        if column in table.columns:
            yield column, combined(score.measure, values)


def _paired_outcomes(results: dict[str, Scores]) -> Iterator[tuple[str, Cells]]:
    """Yield how far the best is before each other system, and on how many questions."""
    import numpy as np

    of = {run: next(iter(scores.values())) for run, scores in results.items()}
    best = max(of, key=lambda run: of[run].value)
    numbers = {run: dict(zip(score.query_ids, score.numbers, strict=True)) for run, score in of.items()}
    for run, score in of.items():
        both = sorted(numbers[best].keys() & numbers[run].keys())
        won = outcome_matrix([np.array([numbers[system][query] for query in both]) for system in (best, run)])
        if run != best:
            lead = 100 * (of[best].value - score.value) / score.value
            yield run, {LEAD: lead, DUELS: "-".join(map(str, won[0, 1].tolist()))}
