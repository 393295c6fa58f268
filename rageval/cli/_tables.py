"""Tables of answers where judged answers are expected: they are judged first, and go on as files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rageval.cli._acting import is_typed
from rageval.files.answers import write_answers
from rageval.files.judgements import judgement_line
from rageval.files.opening import File, limits_of, name_of
from rageval.judges.panel import Settings
from rageval.judges.tables import judged_tables
from rageval.logs.tables import only_system
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.cli._inputs import Inputs
    from rageval.cli._options import Scoring
    from rageval.judges.material import Material

_Options = TypeVar("_Options", bound="Scoring")


def judged(
    inputs: Inputs,
    options: _Options,
    judges: Sequence[str] = (),
    rubric: str | None = None,
    settings: Settings | None = None,
) -> _Options:
    """Judge the tables of the inputs, which are judged answers then; return the options with their texts."""
    tables = judged_tables(inputs.unjudged, options.questions, judges, rubric, settings)
    inputs.systems = list(tables.material.systems)
    inputs.remarks, inputs.usual_measures = tables.remarks, tables.measures
    inputs.is_judge_asked = tables.is_asked
    judgements = _temporary_file("judgements", inputs.unjudged, map(judgement_line, tables.rows))
    inputs.files["judgements"] = [judgements]
    if options.on_missing == "error" and not is_typed("on_missing"):
        options = options.replaced(on_missing=tables.on_missing)
    answers, questions = (
        _temporary_file(what, inputs.unjudged, lines)
        for what, lines in (("answers", tables.answer_lines()), ("questions", tables.question_lines()))
    )
    # What a file of questions says is in ours, with what the tables say.
    return options.replaced(answers=(*options.answers, answers), questions=questions)


def answers_of(material: Material, tables: Sequence[Any]) -> File:
    """Return the answers of all that is judged as a file, as others read no tables."""
    return _temporary_file("answers", tables, write_answers(material.answers, "plain"))


def system_of(table: Any, inputs: Inputs) -> str:
    """Return what the one system of a table is called."""
    return only_system(table, inputs.systems[inputs.unjudged.index(table)])


def system_named(name: str, inputs: Inputs) -> str:
    """Return what the one system of a table is called by whose name it is meant, else the name itself."""
    table = next((table for table in inputs.unjudged if str(table) == name), None)
    return name if table is None else system_of(table, inputs)


def _temporary_file(what: str, tables: Sequence[Any], lines: Iterable[str]) -> File:
    """Return lines as a file that is removed when the command ends."""
    folder = TemporaryDirectory(prefix="rageval-")
    click.get_current_context().call_on_close(folder.cleanup)
    path = os.path.join(folder.name, f"{what}.jsonl")
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)
    return File(path, limits_of(tables[0]), f"{what} of {_names(tables)}")


def _names(tables: Sequence[Any]) -> str:
    return ", ".join(visible(name_of(table)) for table in tables)[:200]
