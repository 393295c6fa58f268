"""Score runs or judged answers by the options of the command line, and say what should be known of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from rageval.cli._inputs import Inputs, groups_of, judgements, run_sources
from rageval.cli._options import YES_OR_NO, reading_of
from rageval.errors import NothingJudged, UsageError
from rageval.measures.base import LOWER
from rageval.measures.parsing import SETS
from rageval.options import settings_from
from rageval.scoring.evaluation import Evaluator, Runs, lowest_grade
from rageval.scoring.rules import COMPAT_OF_ANSWERS, NAMES, RUNS, Rules
from rageval.scoring.scores import Scores
from rageval.scoring.sources import RunSource
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.cli._options import Comparing, Scoring
    from rageval.comparison import Settings
    from rageval.scoring.answers import Answers
    from rageval.scoring.scores import Scored
    from rageval.scoring.subject import Subject


_Subject = TypeVar("_Subject", bound="Subject")
_BY_NAME = "run"  # of --sort


def subject_of(inputs: Inputs, measures: list[Any], options: Scoring, again: bool = True) -> Subject:
    """Return the named runs or judged answers, with human labels (--gold) if given.

    Where it is looked at `again`, as whatever compares does, streams are kept.
    """
    if not inputs.answers:
        return _beside_people(_runs(inputs, measures, options, again), options)
    answers = _beside_people(_answers(inputs, measures, options), options)
    # Of all that counts: people may have labelled more queries than were judged.
    by, path = options.group_by, options.weights
    if by is None and path is None:
        return answers
    groups = groups_of(by or _USUAL_TYPE, answers.queries, options.questions, inputs.answers)
    weights = None
    if path is not None:
        from rageval.files.questions import read_weights
        from rageval.scoring.scores import checked_weights

        weights = checked_weights(read_weights(path), groups, str(path))
    answers.rules = replace(answers.rules, groups=groups, weights=weights)
    return answers


def _beside_people(subject: _Subject, options: Scoring) -> _Subject:
    if not options.gold:
        return subject
    from rageval.scoring.gold import drawn

    draw = drawn(options.gold_chosen)
    return subject.beside(subject.read_gold(list(options.gold), draw))


def scored(subject: Subject, baseline: str | None = None, least: int = 1) -> Scored:
    """Score systems of which so many are needed; refuse if they, or the baseline, have nothing judged."""
    found = subject.score()
    results, systems = found.results, {scores.run for scores in found.results}
    # Without its baseline a comparison would silently be one with another run.
    is_lost = isinstance(subject, Runs) and baseline in subject.sources.keys() - systems
    # Said with the reasons for the runs that are left out, not as a lack of runs.
    if is_lost or len(results) < least:
        refuse(found.refused)
    return found


def best_first(results: list[Scores], wanted: str | None) -> list[Scores]:
    """Return the runs in the order that --sort asks for: the best by a measure first, or by their names."""
    if wanted is None or not results:
        return results
    if wanted == _BY_NAME:
        return sorted(results, key=lambda scores: scores.run)
    from rageval.comparison.estimates import estimate_value
    from rageval.measures.parsing import parse_measure

    measure = parse_measure(wanted)
    if measure not in [score.measure for score in results[0].scores]:
        known = ", ".join(str(score.measure) for score in results[0].scores)
        raise UsageError(f"--sort {visible(wanted)}: is not measured; use {_BY_NAME} or one of {known}")
    sign = 1 if measure.better == LOWER else -1

    def place(scores: Scores) -> tuple[bool, float]:
        value = estimate_value(scores[measure]).value
        # False sorts before True: undefined values come last, whichever way is better.
        return math.isnan(value), 0.0 if math.isnan(value) else sign * value

    return sorted(results, key=place)


def refuse(reasons: Sequence[NothingJudged]) -> None:
    """End with an error for the runs of which nothing is judged, if there are any."""
    if reasons:
        raise NothingJudged.joined(reasons)


def _runs(inputs: Inputs, measures: list[Any], options: Scoring, again: bool) -> Runs:
    """Return runs, not read yet, and their judgements; refuse options that are about judged answers."""
    if options.nuggets:
        raise UsageError("--nuggets applies to judged answers (JSON lines); leave it out for runs")
    if options.on_missing != "error":
        raise UsageError("--on-missing applies to judged answers (JSON lines); leave it out for runs")
    if options.compat in COMPAT_OF_ANSWERS or options.answers or options.weights:
        names = " and ".join(f"--compat {name}" for name in COMPAT_OF_ANSWERS)
        raise UsageError(f"{names}, --answers and --weights apply to judged answers (JSON lines)")
    named = YES_OR_NO[options.nuggets_in_qrels]
    # These look at judgements of any grade, so that none may be left out when reading.
    everything = options.judged_only or options.bounds or bool(options.provider) or named is False
    floor = lowest_grade(measures, options.rel, everything)
    reading = reading_of(options.comments, options.compat)
    qrels = judgements(inputs, reading, floor, options)
    groups = None
    if options.group_by:
        groups = groups_of(options.group_by, qrels.query_ids, options.questions, inputs.datasets)
    rules = {name: value for name in NAMES[RUNS] if (value := getattr(options, name, None)) is not None}
    # The evaluator would warn by itself; here the run is refused with all others, in one message.
    rules |= {"nuggets_in_qrels": named, "nothing_judged": "zero"}
    evaluator = Evaluator(measures, qrels, groups=groups, **rules)
    evaluator.refuse_without_nuggets()
    sources = run_sources(inputs.runs, reading, options.dedup, options.names)
    kept = [source.in_memory() if source.is_stream and again else source for source in sources]
    return Runs(evaluator, kept, refuses=options.nothing_judged != "zero")


def refuse_bounds_of_labels(inputs: Inputs, options: Comparing) -> None:
    """Refuse --bounds of runs with human labels, before anything is read."""
    if options.gold and options.bounds and not inputs.answers:
        raise UsageError("--bounds is for one set of judgements; leave out --gold or --bounds")


def settings_of_claims(options: Comparing, queries: Sequence[str], sources: Sequence[Any]) -> Settings:
    """Return the settings of a comparison; `sources` may tell the clusters of queries."""
    from pathlib import Path

    from rageval.comparison import Settings

    by, clusters = options.cluster, None
    if by:
        clusters = groups_of(by, queries, options.questions, sources)
    # The name of the file alone: paths of a machine do not belong into what is published.
    return settings_from(Settings, options, clusters=clusters, clustered_by=Path(by or "").name)


def refuse_bounds_of_spans(subject: Subject) -> None:
    """Refuse --bounds where the gold is spans and runs are compared: ranges are of one run alone."""
    if isinstance(subject, Runs) and subject.rules.bounds and subject.evaluator.qrels.spans is not None:
        raise UsageError("--bounds of spans works for single runs only (rageval score); leave it out here")


def on_workers(options: Scoring) -> Callable[..., Iterable[Scores]]:
    """Return what scores many runs, as `map` does: here, in processes (--jobs), or on a cluster (--dask)."""
    jobs, cluster = options.jobs, options.dask
    # For small files starting another process takes longer than scoring.
    if cluster is None and jobs == 1:
        return map
    from rageval.parallel import OnDask, processes, scored

    def divided(evaluate: Callable[..., Scores], sources: Iterable[RunSource]) -> Iterator[Scores]:
        evaluator: Evaluator = evaluate.__self__  # type: ignore[attr-defined]  # its method
        with OnDask(cluster) if cluster is not None else processes(jobs) as engine:
            yield from scored(evaluator, list(sources), engine)

    return divided


_FOR_RUNS = (
    *("chunks", "sources", "overlap", "stale"),
    *("rel", "depth", "judged_only", "dedup", "provider"),
    *("nuggets_in_qrels", "nothing_judged", "ties", "complete", "intent_weights"),
)
_USUAL_TYPE = "question_type"  # CRAG's traffic weights are by type


def _answers(inputs: Inputs, measures: list[Any], options: Scoring) -> Answers:
    """Return judged answers; refuse options that are about runs first."""
    from rageval.scoring.answers import Answers, measures_of_answers, read_judgements

    for name in _FOR_RUNS:
        # Flags are False when they are not given, other options None.
        value = getattr(options, name)
        if value is not None and value is not False:
            raise UsageError(f"--{name.replace('_', '-')} applies to runs; leave it out for judged answers")
    if options.names:
        raise UsageError("--names applies to runs; judged answers name their systems (run_id)")
    if options.zero_rel != "zero":
        raise UsageError("--zero-rel applies to runs; a judged answer without a value is always undefined")
    if options.compat not in (None, *COMPAT_OF_ANSWERS):
        known = " and ".join(COMPAT_OF_ANSWERS)
        raise UsageError(f"--compat {options.compat} applies to runs; for answers there are {known}")
    on_missing = options.on_missing
    if options.bounds and on_missing == "error" and not options.compat:
        # --bounds asks for the range, and would otherwise end with the error that it explains.
        on_missing = "skip"  # what is missing is said by the bounds
    rules = Rules(on_missing=on_missing, compat=options.compat, intersection=options.intersection)
    beside = {"answers": options.answers, "nuggets": options.nuggets}
    table = read_judgements(inputs.answers, **beside, questions=options.questions)
    table.remarks[:0] = inputs.remarks
    return Answers(measures_of_answers(measures), table, rules, beside)


def said_of_sets(typed: Iterable[str], compat: str | None = None) -> Iterator[str]:
    """Say what sets of trec_eval's lack here, and under which rules others have their program's figures."""
    # Measures may come in one word, parted by commas or blanks.
    for part in (part for text in typed for part in text.replace(",", " ").split()):
        name = part.removeprefix("official:").replace("trec_eval", "official")
        if name.lower() in SETS:
            from rageval.measures.official import left_out

            yield left_out(name)
        elif part.lower().startswith("official:"):
            from rageval.measures.official import said_of

            if said := said_of(name, compat):
                yield f"{part}: {said}"
