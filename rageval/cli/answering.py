"""`rageval judged.jsonl -m v_strict`: scores of judged answers, for the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rageval.answers import Rules, evaluate_all, measures_of_answers, read_judgements
from rageval.cli.inputs import Inputs
from rageval.cli.remarks import undefined
from rageval.errors import UsageError
from rageval.files.judgements import Judgements
from rageval.files.trec import Reading
from rageval.measures.scales import ALL
from rageval.scores import Score, Scores
from rageval.scoring.assessing import passed_over
from rageval.scoring.banks import differences
from rageval.scoring.groups import checked_weights
from rageval.text import visible

_FOR_RUNS = (
    *("rel", "depth", "judged_only", "intersection", "dedup", "provider", "bounds"),
    *("nuggets_in_qrels", "nothing_judged", "ties", "complete"),
)
_USUAL_TYPE = "question_type"  # CRAG's traffic weights are by type


def answer_scores(
    inputs: Inputs, measures: list[Any], options: dict[str, Any], reading: Reading
) -> tuple[list[Scores], list[str], list[str], list[str]]:
    """The scores of every system, what should be said of them, the queries, and systems without scores."""
    grades = judgements_of(inputs, options, reading)
    results, said = scored(inputs, measures, options, grades)
    return results, said, grades.queries.words, []


def judgements_of(inputs: Inputs, options: dict[str, Any], reading: Reading) -> Judgements:
    """The judgements; options that are about runs are refused first."""
    for name in _FOR_RUNS:
        if options[name] is not None and options[name] is not False:
            raise UsageError(f"--{name.replace('_', '-')} is about runs; leave it out for judged answers")
    if options["zero_rel"] != "zero":
        raise UsageError("--zero-rel is about runs; a judged answer without a value is undefined anyway")
    if options["compat"] not in (None, "nuggetizer"):
        raise UsageError(f"--compat {options['compat']} is about runs; for answers there is nuggetizer")
    return read_judgements(
        inputs.answers, answers=options["answers"], nuggets=options["nuggets"], limits=reading.limits
    )


def scored(
    inputs: Inputs, measures: list[Any], options: dict[str, Any], grades: Judgements
) -> tuple[list[Scores], list[str]]:
    """The scores of every system, and what should be said of them."""
    chosen = measures_of_answers(measures)
    groups, weights = _groups(grades, inputs.answers, options)
    results = evaluate_all(chosen, grades, Rules(options["on_missing"], groups, weights, options["compat"]))
    return results, list(_remarks(results, grades))


def _remarks(results: Sequence[Scores], grades: Judgements) -> Iterator[str]:
    """What a careful reader would ask about."""
    yield from grades.remarks
    yield from differences(grades)
    yield from _passed_over(grades)
    for scores in results:
        yield from (f"{visible(scores.run)}: {said}" for said in undefined(scores))
        for score in scores.scores:
            yield from (f"{visible(scores.run)}: {score.measure}: {said}" for said in _of_score(score))


def _passed_over(grades: Judgements) -> Iterator[str]:
    """Judgements that were left out for their rubric, and say what others do."""
    for scale in ALL:
        for rubric, number in passed_over(grades, scale).items():
            named = f"the rubric {visible(rubric)!r}, which is not known," if rubric else "no rubric"
            yield (
                f"{number:,} judgements have {named} and are left out: others with labels of {scale.name}"
                f" name theirs; expected one of {', '.join(scale.rubrics)} for each"
            )


def _of_score(score: Score) -> Iterator[str]:
    if score.missing:
        counts = ", ".join(f"{count:,} {status}" for status, count in sorted(score.lost.items()))
        bounds = f"; from {score.bounds[0]:.4f} to {score.bounds[1]:.4f}" if score.bounds else ""
        yield f"{score.missing:,} judgements are missing ({counts}){bounds}"
    if score.judges:
        yield "by judge: " + ", ".join(f"{visible(name)} {value:.4f}" for name, value in score.judges.items())


def _groups(grades: Judgements, sources: list[Any], options: dict[str, Any]) -> tuple[Any, Any]:
    from rageval.cli.knowledge import groups_of
    from rageval.files.questions import read_weights

    by, path = options["group_by"], options["weights"]
    if by is None and path is None:
        return None, None
    groups = groups_of(by or _USUAL_TYPE, grades.queries.words, options["questions"], sources)
    if path is None:
        return groups, None
    return groups, checked_weights(read_weights(Path(path)), groups, str(path))
