"""What `compare` is asked beside the comparison: other judgements, other judges, a nugget less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rageval.errors import UsageError
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.comparison import Comparison
    from rageval.evaluation import Evaluator
    from rageval.files.judgements import Judgements
    from rageval.scores import Scores
    from rageval.sources import RunSource


def without_nuggets(evaluator: Evaluator, results: list[Scores], sources: list[RunSource]) -> Iterator[str]:
    """How often two runs would change places with one nugget less."""
    from rageval.comparison.sensitivity import without_a_nugget
    from rageval.evaluation import EXPECTED

    rules = evaluator.rules
    if rules.ties == EXPECTED or rules.judged_only or rules.zero_rel != "zero" or rules.compat:
        raise UsageError(
            "--sensitivity scores again without a nugget, by the usual rules; leave out --ties expected,"
            " --judged-only, --zero-rel and --compat"
        )
    runs = {source.name: evaluator.rankings(source) for source in sources}
    for at, score in enumerate(results[0].scores):
        measure: Any = score.measure
        values = {scores.run: scores.scores[at].by_query for scores in results}
        yield f"{measure}: {without_a_nugget(measure, evaluator.qrels, runs, values)}"


def among_judges(results: list[Scores], grades: Judgements) -> Iterator[str]:
    """How often two systems would change places by another judge, and what more votes would help."""
    import numpy as np

    from rageval.comparison.sensitivity import of_judges
    from rageval.statistics.agreement import components
    from rageval.uncertainty.repeats import by_judge

    for score in results[0].scores:
        measure: Any = score.measure
        found = {scores.run: by_judge(measure, grades, scores.run) for scores in results}
        tables = [np.array(list(values.values())) for values in found.values()]
        if len(tables[0]) < 2:
            raise UsageError(f"{measure}: has one judge; --sensitivity asks what others would say")
        for changed in of_judges(list(found), tables):
            yield f"{measure}: {changed}"
        for run, table in zip(found, tables, strict=True):
            yield f"{visible(run)}: {measure}: {components(table.T).advice()}"


def under_every_completion(
    found: Comparison, evaluator: Evaluator, results: list[Scores], sources: list[RunSource]
) -> Comparison:
    """The comparison with what holds of each pair whatever the unjudged documents are."""
    from dataclasses import replace

    from rageval.comparison.results import REFUSED, UNDECIDED
    from rageval.comparison.verdicts import worded
    from rageval.uncertainty.dominance import verdict

    pairs = []
    documents = {source.name: evaluator.rankings(source) for source in sources}
    topics = evaluator.topics
    scored = {scores.run: scores for scores in results}
    for pair in found.pairs:
        if pair.verdict == REFUSED:
            pairs.append(replace(pair, every_completion=UNDECIDED))
            continue
        measure: Any = scored[pair.run][pair.measure].measure
        one, other = ((documents[run], scored[run][pair.measure].by_query) for run in (pair.run, pair.other))
        certain = verdict(measure, topics, one, other)
        pairs.append(replace(pair, every_completion=worded(certain, measure.better)))
    return replace(found, pairs=pairs)
