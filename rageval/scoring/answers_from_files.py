"""Judged answers from the files and options of a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rageval.errors import UsageError
from rageval.files.kinds import kind_of, start_of_file
from rageval.files.questions import read_weights
from rageval.measures.scales import usual_measure
from rageval.scoring.answers import Answers, measures_of_answers, read_judgements
from rageval.scoring.query_groups import groups_of
from rageval.scoring.rules import COMPAT_OF_ANSWERS, Rules, rules_of
from rageval.scoring.scores import checked_weights
from rageval.scoring.subject import with_labels
from rageval.subjects import ANSWERS, CommandFiles
from rageval.text import visible

_USUAL_TYPE = "question_type"  # CRAG's traffic weights are by type


def subject_of_answers(
    inputs: CommandFiles, measures: Sequence[Any], options: Any, is_reread: bool
) -> Answers:
    """Return judged answers, in memory already."""
    if options.compat not in (None, *COMPAT_OF_ANSWERS):
        names = " and ".join(COMPAT_OF_ANSWERS)
        raise UsageError(f"--compat {options.compat} applies to runs; for answers there are {names}")
    on_missing = options.on_missing
    if options.bounds and on_missing == "error" and not options.compat:
        # --bounds asks for the range, and would otherwise end with the error that it explains.
        on_missing = "skip"  # what is missing is said by the bounds
    rules = Rules(on_missing=on_missing, compat=options.compat, intersection=options.intersection)
    texts = {"answers": options.answers, "nuggets": options.nuggets}
    files = inputs.files["judgements"]
    table = read_judgements(files, **texts, questions=options.questions)
    table.remarks[:0] = inputs.remarks
    answers = with_labels(Answers(measures_of_answers(measures), table, rules, texts, files), options)
    # Of all that counts: people may have labeled more queries than were judged.
    by, path = options.group_by, options.weights
    if by is None and path is None:
        return answers
    groups = groups_of(by or _USUAL_TYPE, answers.queries, options.questions, files)
    weights = None if path is None else checked_weights(read_weights(path), groups, str(path))
    answers.rules = replace(answers.rules, groups=groups, weights=weights)
    return answers


def gated_answers(
    candidate: Any, measures: Any, rules: Mapping[str, Any], inputs: Mapping[str, Any]
) -> Answers:
    """Return the judged answers that Python's `gate`, and `compare` of tables, compare.

    What failed is missing, and the verdict of a gate then holds at both ends of its bounds.
    """
    texts = {"answers": inputs["answers"], "nuggets": inputs["nuggets"]}
    table = read_judgements(candidate, **texts, questions=inputs["questions"])
    how = rules_of(ANSWERS, {"on_missing": "skip", **rules})
    return Answers(measures_of_answers(measures), table, how, texts)


def suggest_measure(files: Sequence[Any]) -> tuple[str, str]:
    """Return the measure of the one rubric by which answers were judged, and else measures to name."""
    rubrics = set(map(_rubric_of, files))
    measure = usual_measure(rubrics.pop()) if len(rubrics) == 1 else ""
    record = start_of_file(files[0]).record
    usual = usual_measure(str(record.get("rubric", "")))
    aspect = visible(str(record.get("aspect", "NAME")))[:80]
    return measure, f"-m {usual}" if usual else f"-m 'grade(aspect={aspect})'"


def _rubric_of(source: Any) -> str:
    """Return the rubric by which answers were judged, as their first record says it, or what it is."""
    kind = kind_of(source)
    if kind is not None and kind.name == "assignments":
        return "nugget-assignment"
    return str(start_of_file(source).record.get("rubric", ""))
