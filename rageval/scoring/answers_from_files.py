"""Judged answers from the files and options of a command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rageval.errors import UsageError
from rageval.files.questions import read_weights
from rageval.scoring.answers import Answers, measures_of_answers, read_judgements
from rageval.scoring.query_groups import groups_of
from rageval.scoring.rules import COMPAT_OF_ANSWERS, Rules
from rageval.scoring.scores import checked_weights
from rageval.scoring.subject import with_labels
from rageval.subjects import CommandFiles

_USUAL_TYPE = "question_type"  # CRAG's traffic weights are by type


def subject_of_answers(inputs: CommandFiles, measures: Sequence[Any], options: Any, again: bool) -> Answers:
    """Return judged answers, in memory already."""
    if options.compat not in (None, *COMPAT_OF_ANSWERS):
        known = " and ".join(COMPAT_OF_ANSWERS)
        raise UsageError(f"--compat {options.compat} applies to runs; for answers there are {known}")
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
