"""Tables of answers where judged answers are expected: they are judged first, and go on as files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rageval.errors import InputError
from rageval.files.opening import File, limits_of, name_of
from rageval.files.synonyms import SYNONYMS
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.cli._inputs import Inputs
    from rageval.cli._options import Scoring
    from rageval.judges.panel import Settings

_RUBRIC, _JUDGE = "crag", "short"
_Options = TypeVar("_Options", bound="Scoring")


def judged(
    inputs: Inputs,
    options: _Options,
    judges: Sequence[str] = (_JUDGE,),
    rubric: str | None = None,
    settings: Settings | None = None,
) -> _Options:
    """Judge the tables among the inputs, which are judged answers then; return the options with their texts.

    Where there is no table, nothing changes.
    """
    if not inputs.tables:
        return options
    from rageval.files.answers import write_answers
    from rageval.files.judgements import judgement_line
    from rageval.files.questions import write_questions
    from rageval.judges.material import gathered
    from rageval.judges.panel import Settings, prepared, said_by_all
    from rageval.judges.rubric import rubric_named

    found = rubric_named(rubric or _RUBRIC)
    material = gathered(inputs.tables, options.questions)
    asked = {answer.query_id for answer in material.answers}
    if not any(material.questions[query].gold for query in asked if query in material.questions):
        names = " ".join(visible(name_of(table)) for table in inputs.tables)
        raise InputError(
            f"{names}: no right answers, by which answers are judged; expected a column of them"
            f" ({', '.join(SYNONYMS['gold'])}), a file beside (--questions FILE), or a mapping of your own:"
            f" rageval import {names} -o DIR"
        )
    settings, remarks = prepared(judges, found, material, settings or Settings())
    # Said with what should be known of the scores, so that it stands on pages and in JSON, too.
    inputs.remarks = [*material.remarks, f"judged by {', '.join(judges)}, rubric {found.name}", *remarks]
    rows = said_by_all(judges, found, material, settings)
    folder = _kept_until_the_end()
    answers = _written(folder, "answers.jsonl", write_answers(material.answers, "plain"), inputs)
    questions = _written(folder, "questions.jsonl", write_questions(material.questions.values()), inputs)
    inputs.answers = [_written(folder, "judged.jsonl", map(judgement_line, rows), inputs)]
    beside = {"answers": (*options.answers, answers), "questions": options.questions or questions}
    return options.replaced(**beside)


def run_of(table: Any) -> str:
    """Return what the one system of a table is called."""
    from rageval.logs.tables import read_table

    log, _ = read_table(table)
    names = list(dict.fromkeys(answer.run_id for answer in log.answers))
    if len(names) != 1:
        raise InputError(
            f"{visible(name_of(table))}: expected the answers of one system, found {len(names)}:"
            f" {', '.join(map(visible, names))[:200]}"
        )
    return names[0]


def _kept_until_the_end() -> str:
    """Return a folder that is removed when the command ends."""
    folder = TemporaryDirectory(prefix="rageval-")
    click.get_current_context().call_on_close(folder.cleanup)
    return folder.name


def _written(folder: str, name: str, lines: Iterable[str], inputs: Inputs) -> Any:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)
    return File(path, limits_of(inputs.tables[0]))
