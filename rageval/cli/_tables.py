"""Tables of answers where judged answers are expected: they are judged first, and go on as files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rageval.cli._acting import is_typed
from rageval.core.remark import Remark
from rageval.errors import InputError, Place
from rageval.files.answers import write_answers
from rageval.files.judgements import GRADED, judgement_line
from rageval.files.opening import File, limits_of, name_of
from rageval.files.questions import write_questions
from rageval.files.synonyms import SYNONYMS
from rageval.judges.material import gathered
from rageval.judges.panel import Settings, ask_all_judges, prepare_settings
from rageval.judges.rubric import rubric_named
from rageval.logs.tables import only_system
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.cli._inputs import Inputs
    from rageval.cli._options import Scoring
    from rageval.judges.material import Material

_RUBRIC, _JUDGE = "crag", "short"
_Options = TypeVar("_Options", bound="Scoring")


def judged(
    inputs: Inputs,
    options: _Options,
    judges: Sequence[str] = (_JUDGE,),
    rubric: str | None = None,
    settings: Settings | None = None,
) -> _Options:
    """Judge the tables of the inputs, which are judged answers then; return the options with their texts."""
    chosen_rubric = rubric_named(rubric or _RUBRIC)
    # Of a question without a right answer no system can be judged.
    material = gathered(inputs.unjudged, options.questions).leave_out_without_gold(chosen_rubric)
    inputs.systems = list(material.systems)
    asked = {answer.query_id for answer in material.answers}
    if not any(material.questions[query].gold for query in asked if query in material.questions):
        raise InputError(
            at=Place(_names(inputs.unjudged)),
            problem="no right answers to judge by",
            remedy=f"add a column ({', '.join(SYNONYMS['gold'])}), pass --questions FILE, or map your"
            f" columns: rageval import {visible(name_of(inputs.unjudged[0]))} -o DIR",
        )
    settings, remarks = prepare_settings(judges, chosen_rubric, material, settings or Settings())
    # Said with what should be known of the scores, so that it stands on pages and in JSON, too.
    judged_by = Remark("judged_by", facts={"judges": list(judges), "rubric": chosen_rubric.name})
    inputs.remarks = [*material.remarks, judged_by, *remarks]
    rows = list(ask_all_judges(judges, chosen_rubric, material, settings))
    inputs.files["judgements"] = [_temporary_file("judgements", inputs.unjudged, map(judgement_line, rows))]
    if options.on_missing == "error" and not is_typed("on_missing") and not _has_failed_judge(rows, material):
        # What a table lacks can be judged by nobody: the rest is compared, unless the rest could mislead.
        options = options.replaced(on_missing="skip")
    questions = _temporary_file("questions", inputs.unjudged, write_questions(material.questions.values()))
    # What a file of questions says is in ours, with what the tables say.
    answers = answers_of(material, inputs.unjudged)
    return options.replaced(answers=(*options.answers, answers), questions=questions)


def _has_failed_judge(rows: Iterable[dict[str, Any]], material: Material) -> bool:
    """Return whether a judge failed on an answer that is there."""
    there = {(answer.run_id, answer.query_id) for answer in material.answers if not answer.error}
    return any(
        row.get("status", "ok") not in GRADED and (row.get("run_id"), row["query_id"]) in there
        for row in rows
    )


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
