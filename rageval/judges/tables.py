"""Tables of answers in place of judged answers: they are judged first, from files or from memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from rageval.core.remark import Remark
from rageval.errors import InputError, Place, UsageError
from rageval.files.answers import write_answers
from rageval.files.jsonl import named
from rageval.files.judgements import GRADED
from rageval.files.kinds import is_answer_table, kind_of_records
from rageval.files.objects import column_names, csv_of_table
from rageval.files.opening import DEFAULT, File, Source, name_of
from rageval.files.questions import write_questions
from rageval.files.start import ROWS
from rageval.files.synonyms import SYNONYMS, field_of
from rageval.judges.material import Material, gathered
from rageval.judges.panel import Settings, ask_all_judges, prepare_settings
from rageval.judges.rubric import Rubric, rubric_named
from rageval.logs.tables import only_system
from rageval.measures.scales import usual_measure
from rageval.records import is_frame
from rageval.scoring.arguments import as_source
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.judges.base import Model
    from rageval.options import Missing

SHORT, CRAG = "short", "crag"  # the judge and the rubric of tables for which none is named


class JudgedTables(NamedTuple):
    """Judgements of the answers of tables, with what is scored beside them.

    `on_missing` is how missing judgements count where nobody says it.
    """

    rows: list[dict[str, Any]]
    material: Material
    sources: Sequence[Source]
    measures: str  # where none is named
    is_asked: bool  # a judge, and not only the logs themselves
    remarks: list[Remark]
    on_missing: Missing

    @property
    def system_names(self) -> list[str]:
        """The one system of each table; `InputError` for a table of several."""
        return [
            only_system(source, names)
            for source, names in zip(self.sources, self.material.systems, strict=True)
        ]

    def answer_lines(self) -> Iterable[str]:
        """Return the answers as the lines of a file, as others read no tables."""
        return write_answers(self.material.answers, "plain")

    def question_lines(self) -> Iterable[str]:
        """Return the questions as the lines of a file; what a file of questions says is among them."""
        return write_questions(self.material.questions.values())

    def texts(self) -> dict[str, list[dict[str, Any]]]:
        """Return the answers and questions as records."""
        lines = {"answers": self.answer_lines(), "questions": self.question_lines()}
        return {name: [msgspec.json.decode(line) for line in texts] for name, texts in lines.items()}


def judged_tables(
    sources: Sequence[Source],
    questions: Any = None,
    judges: str | Model | Iterable[str | Model] | None = None,
    rubric: str | Rubric | None = None,
    settings: Settings | None = None,
) -> JudgedTables:
    """Judge the answers of tables; questions without a right answer are left out.

    Logs of tools that judged the answers themselves are not judged again, unless a judge or rubric is named.
    """
    material = gathered(sources, questions)
    if not judges and not rubric and (aspects := _aspects_of_all(material)):
        rows = [dict(row) for row in material.judgements if row["aspect"] in aspects]
        tools = list(dict.fromkeys(str(row["judge"]) for row in rows))
        judged_by = Remark("judged_by_logs", facts={"judges": tools, "aspects": aspects})
        rubrics = {str(row["aspect"]): str(row.get("rubric", "")) for row in rows}
        measures = ",".join(
            dict.fromkeys(usual_measure(rubrics[aspect]) or f"grade(aspect={aspect})" for aspect in aspects)
        )
        remarks = [*material.remarks, judged_by]
        return JudgedTables(rows, material, sources, measures, False, remarks, "skip")
    several = [judges] if isinstance(judges, str) or not isinstance(judges, Iterable) else list(judges)
    several = [judge for judge in several if judge] or [SHORT]
    chosen_rubric = rubric if isinstance(rubric, Rubric) else rubric_named(rubric or CRAG)
    # Of a question without a right answer no system can be judged.
    material = material.leave_out_without_gold(chosen_rubric)
    asked = {answer.query_id for answer in material.answers}
    if "gold" in chosen_rubric.file.sees and not any(
        material.questions[query].gold for query in asked if query in material.questions
    ):
        raise InputError(
            at=Place(", ".join(visible(name_of(source)) for source in sources)[:200]),
            problem="no right answers to judge by",
            remedy=f"add a column ({', '.join(SYNONYMS['gold'])}), pass --questions FILE, or map your"
            f" columns: rageval import {visible(name_of(sources[0]))} -o DIR",
        )
    settings, remarks = prepare_settings(several, chosen_rubric, material, settings or Settings())
    # Said with what should be known of the scores, so that it stands on pages and in JSON, too.
    names = [judge if isinstance(judge, str) else judge.name for judge in several]
    judged_by = Remark("judged_by", facts={"judges": names, "rubric": chosen_rubric.name})
    rows = ask_all_judges(several, chosen_rubric, material, settings)
    there = {(answer.run_id, answer.query_id) for answer in material.answers if not answer.error}
    has_failed_judge = any(
        row.get("status", "ok") not in GRADED and (row.get("run_id"), row["query_id"]) in there
        for row in rows
    )
    # What a table lacks can be judged by nobody: the rest is compared, unless the rest could mislead.
    on_missing: Missing = "error" if has_failed_judge else "skip"
    every_remark = [*material.remarks, judged_by, *remarks]
    usual = usual_measure(chosen_rubric.name)
    return JudgedTables(rows, material, sources, usual, True, every_remark, on_missing)


def _aspects_of_all(material: Material) -> list[str]:
    """Return what tools judged of every system, if they judged answers of each."""
    by_system: dict[str, dict[str, None]] = {answer.run_id: {} for answer in material.answers}
    for row in material.judgements:
        by_system.setdefault(str(row["run_id"]), {})[str(row["aspect"])] = None
    first, *others = by_system.values()
    return [aspect for aspect in first if all(aspect in aspects for aspects in others)]


def are_tables(given: Any) -> bool:
    """Return whether something is a table of answers, or several: paths, frames, lists of dicts, by name."""
    if isinstance(given, Mapping):
        return bool(given) and all(map(_is_table, given.values()))
    if _is_table(given):
        return True
    return isinstance(given, list | tuple) and bool(given) and all(map(_is_table, given))


def _is_table(given: Any) -> bool:
    if isinstance(given, str | os.PathLike):
        return os.path.exists(given) and is_answer_table(given)
    is_records = isinstance(given, list) and bool(given) and isinstance(given[0], Mapping)
    if is_frame(given) or is_records:
        # By the columns alone: a cell may be what no file could hold, which is refused where it is read.
        names = column_names(given) if is_frame(given) else given[0]
        kind = kind_of_records([dict.fromkeys(map(str, names), "")])
        return kind is not None and kind.holds == ROWS
    return hasattr(given, "read") and is_answer_table(given)


def table_sources(given: Any) -> list[Source]:
    """Return the tables of what `are_tables` accepts as files, each called by its name."""
    if isinstance(given, Mapping):
        return [_source(table, str(name)) for name, table in given.items()]
    several = given if isinstance(given, list | tuple) and not isinstance(given[0], Mapping) else [given]
    in_memory = [table for table in several if not isinstance(table, str | os.PathLike)]
    unnamed = [table for table in in_memory if not _names_run(table)]
    if unnamed and len(several) > 1:
        raise UsageError(
            f"answers: found {len(several)} tables, and nothing in them says of which system; expected"
            " {name: table}"
        )
    return [_source(table) for table in several]


def _names_run(table: Any) -> bool:
    names = column_names(table) if is_frame(table) else table[0] if isinstance(table, list) else ()
    return any(field_of(str(name)) == "run_id" for name in names)


def _source(table: Any, name: str = "") -> Source:
    """Return a table as a file; a frame and records are read as their file is, where a gap is a blank."""
    if is_frame(table) or isinstance(table, list):
        return named(csv_of_table(table, name or "answers"), name or "records")
    if name and isinstance(table, str | os.PathLike):
        return File(table, DEFAULT, name)
    source: Source = as_source(table, "answers")
    return source
