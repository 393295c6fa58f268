"""Compare, report and judge in one call each: what `rageval.compare`, `report` and `judge` are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack, overload

from rageval.errors import UsageError
from rageval.names import suggestion
from rageval.scoring.scores import Scores

if TYPE_CHECKING:
    from pathlib import Path

    from rageval.comparison import Comparison
    from rageval.judges import Model, Rubric
    from rageval.typing import (
        CompareOptions,
        ComparisonOptions,
        FileLike,
        JudgeOptions,
        MeasuresLike,
        QrelsLike,
        RecordsLike,
        RunLike,
    )


@overload
def compare(
    measures: MeasuresLike,
    runs: Mapping[str, RunLike] | Iterable[RunLike],
    qrels: QrelsLike,
    **options: Unpack[CompareOptions],
) -> Comparison: ...


@overload
def compare(
    measures: Mapping[str, Scores] | Iterable[Scores], /, **options: Unpack[ComparisonOptions]
) -> Comparison: ...


def compare(measures: Any, runs: Any = None, qrels: Any = None, **options: Any) -> Comparison:
    """Score runs and say which is better, by how much, and whether so many queries can show it.

    `runs` is `{name: run}`, or runs that have names, such as paths; the options are those of `evaluate` and
    of `rageval.comparison.Settings`. Scores that are there already, such as those of `evaluate_answers`, are
    compared as they are: `compare(scores)`.

    >>> import rageval
    >>> qrels = {str(query): {"a": 1} for query in range(8)}
    >>> good, bad = ({str(query): {"a": 1.0, "b": score} for query in range(8)} for score in (0.0, 2.0))
    >>> rageval.compare("rr", {"good": good, "bad": bad}, qrels).pairs[0].verdict
    'lower'
    """
    from rageval import comparison

    fields = comparison.Settings.__dataclass_fields__
    settings = comparison.Settings(**{name: options.pop(name) for name in list(options) if name in fields})
    if runs is not None or qrels is not None:
        from rageval.scoring.evaluation import Rules

        _refuse(options, [*Rules.__dataclass_fields__, *fields])
        return comparison.compare_runs(measures, runs, qrels, settings, **options)
    _refuse(options, fields)
    if isinstance(measures, str):
        raise UsageError("compare: expected measures, runs and judgements, or several Scores")
    return comparison.compare(_several(measures), settings)


def report(
    scores: Scores | Mapping[str, Scores] | Iterable[Scores],
    path: str | os.PathLike[str],
    *,
    title: str = "Evaluation report",
    questions: FileLike | None = None,
    groups: Mapping[str, Mapping[str, str]] | None = None,
    **options: Unpack[ComparisonOptions],
) -> Path:
    """Write a page with everything there is to say of scores, and return where it is.

    The page needs no network. `questions` is a file with their texts; `groups` are slices,
    `{field: {query: value}}`; the options are those of `rageval.comparison.Settings`. The command
    `rageval report` also shows what was found where, which takes the files themselves.

    >>> import rageval, tempfile
    >>> scores = rageval.evaluate("rr", {"q": {"a": 1.0}}, {"q": {"a": 1}})
    >>> rageval.report(scores, tempfile.mkdtemp() + "/report.html").name
    'report.html'
    """
    from pathlib import Path

    from rageval.comparison import Settings
    from rageval.files.writing import whole_file
    from rageval.pages.gathering import Beside, finished, measured, provenance
    from rageval.pages.page import page

    _refuse(options, Settings.__dataclass_fields__)
    extra = Beside(title=title, questions=questions, groups=groups or {})
    found = finished(measured(_several(scores), Settings(**options)), _several(scores), extra)
    found["provenance"] = provenance(["rageval.report(…)"], ())
    with whole_file(Path(path)) as stream:
        stream.write(page(found).encode())
    return Path(path)


def _several(scores: Any) -> list[Scores]:
    """Return the scores of all runs in any of the forms that they are handed over in."""
    if isinstance(scores, Scores):
        return [scores]
    found = list(scores.values() if isinstance(scores, Mapping) else scores)
    if not all(isinstance(each, Scores) for each in found):
        raise UsageError("expected Scores, such as evaluate returns, or several of them")
    return found


def judge(
    rubric: str | Rubric,
    answers: RecordsLike | Iterable[FileLike],
    judges: str | Model | Iterable[str | Model],
    *,
    questions: RecordsLike | None = None,
    nuggets: RecordsLike | None = None,
    passages: RecordsLike | None = None,
    **options: Unpack[JudgeOptions],
) -> list[dict[str, Any]]:
    """Judge answers by a rubric, and return judgements, which `evaluate_answers` scores.

    `rubric` is one of those that `rageval rubrics` lists, or a file; `judges` are models, such as
    `openai:MODEL`, or what needs none (`exact`, `lexical`); answers and what else is known are files, or
    dicts with the keys of the files; the options are those of `rageval.judges.Settings`. A judgement that
    failed is among them, with its status in place of a grade.

    >>> import rageval
    >>> answers = [{"query_id": "q", "run_id": "ours", "question": "Where?", "answer": "In Oslo."}]
    >>> gold = [{"query_id": "q", "question": "Where?", "answer": "Oslo"}]
    >>> judged = rageval.judge("crag", answers, "contains", questions=gold)
    >>> rageval.evaluate_answers("crag_score", judged)["ours"]["crag_score"].value
    1.0
    """
    from rageval import judges as room

    _refuse(options, room.Settings.__dataclass_fields__)
    given = _file(answers, "answers")
    found = room.rubric_named(rubric) if isinstance(rubric, str) else rubric
    several = judges if isinstance(judges, Iterable) and not isinstance(judges, str) else [judges]
    beside = {"questions": questions, "nuggets": nuggets, "passages": passages}
    material = room.gathered(
        given if isinstance(given, list) else [given],
        **{name: _file(source, name) for name, source in beside.items()},
    )
    return list(room.judged_by(list(several), found, material, room.Settings(**options)))


def _file(source: Any, name: str) -> Any:
    """Return records as a file, and anything else as it is."""
    if source is None or isinstance(source, str | os.PathLike) or not isinstance(source, Iterable):
        return source
    if hasattr(source, "read"):
        return source
    found = list(source)
    if any(isinstance(item, Mapping) for item in found):
        from rageval.files.jsonl import in_memory

        return in_memory(found, name)
    return found


def _refuse(options: Mapping[str, Any], known: Iterable[str]) -> None:
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        hint = suggestion(unknown, known) or f"; expected some of {', '.join(known)}"
        raise UsageError(f"unknown option {unknown!r}{hint}")
