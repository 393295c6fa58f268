"""Score runs or judged answers by the options of the command line, and say what should be known of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rageval import hooks
from rageval.cli._inputs import Inputs
from rageval.comparison.estimates import estimate_value
from rageval.core.remark import Remark
from rageval.errors import NothingJudged, UsageError
from rageval.measures.base import LOWER
from rageval.measures.official import COMPAT_OF, SAID_OF, not_offered
from rageval.measures.parsing import SETS, parse_measure
from rageval.options import settings_from
from rageval.scoring.scores import Scores
from rageval.subjects import refuse_other_options
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.cli._options import Comparing, ComparingTables, Scoring
    from rageval.comparison import Settings
    from rageval.scoring.scores import Scored
    from rageval.scoring.subject import Subject


_Subject = TypeVar("_Subject", bound="Subject")
_Tables = TypeVar("_Tables", bound="ComparingTables")
_BY_NAME = "run"  # of --sort


def with_judged_tables(inputs: Inputs, options: _Tables) -> _Tables:
    """Return the options with the texts of tables of answers, which are judged; refuse a judge of others."""
    if inputs.unjudged:
        options = hooks.judge_tables(inputs, options, options.judge, options.rubric)
        return options.replaced(baseline=hooks.system_named(options.baseline, inputs))
    if options.judge or options.rubric:
        raise UsageError("--judge and --rubric are for tables of answers, and there is none; leave them out")
    return options


def subject_of(inputs: Inputs, measures: list[Any], options: Scoring, keep_streams: bool = True) -> Subject:
    """Return what is scored, with human labels (--gold) if given; options of other kinds are refused.

    Where files are read twice, as whatever compares does, streams are kept.
    """
    kind = inputs.kind
    refuse_other_options(kind, options.changed())
    for name, rule in (("compat", "compat"), ("group_by", "groups")):
        if getattr(options, name, None) and rule not in kind.rules:
            raise UsageError(f"--{name.replace('_', '-')} is not available for {kind.noun}; leave it out")
    subject: Subject = kind.subject(inputs, measures, options, keep_streams)
    # A kind that forgets its labels would print the judge's values as if they were corrected.
    if options.gold and subject.gold is None:
        raise UsageError(f"--gold is not available for {kind.noun}; leave it out")
    return subject


def scored(subject: Subject, baseline: str | None = None, least: int = 1) -> Scored:
    """Score systems of which so many are needed; refuse if they, or the baseline, have nothing judged."""
    outcome = subject.score()
    results, systems = outcome.results, {scores.run for scores in outcome.results}
    # Without its baseline a comparison would silently be one with another run.
    is_lost = baseline in set(subject.systems) - systems
    # Said with the reasons for the runs that are left out, not as a lack of runs.
    if is_lost or len(results) < least:
        refuse(outcome.refused)
    return outcome


def best_first(results: list[Scores], sort: str | None) -> list[Scores]:
    """Return the runs in the order that --sort asks for: the best by a measure first, or by their names."""
    if sort is None or not results:
        return results
    if sort == _BY_NAME:
        return sorted(results, key=lambda scores: scores.run)
    measure = parse_measure(sort)
    if measure not in [score.measure for score in results[0].scores]:
        names = ", ".join(str(score.measure) for score in results[0].scores)
        raise UsageError(f"--sort {visible(sort)}: is not measured; use {_BY_NAME} or one of {names}")
    sign = 1 if measure.better == LOWER else -1

    def place(scores: Scores) -> tuple[bool, float]:
        value = estimate_value(scores[measure]).value
        # False sorts before True: undefined values come last, whichever way is better.
        return math.isnan(value), 0.0 if math.isnan(value) else sign * value

    return sorted(results, key=place)


def refuse(remarks: Sequence[Remark]) -> None:
    """End with an error for the runs of which nothing is judged, if there are any."""
    if remarks:
        raise NothingJudged.joined([NothingJudged(problem=str(remark)) for remark in remarks])


def refuse_bounds_of_labels(inputs: Inputs, options: Comparing) -> None:
    """Refuse --bounds with human labels where they are of unjudged documents, before anything is read."""
    if options.gold and options.bounds and inputs.kind.completions is not None:
        raise UsageError("--bounds is for one set of judgements; leave out --gold or --bounds")


def refuse_single_values_of_labels(by_query: bool, gold: Sequence[Any]) -> None:
    """Refuse -q with human labels, which correct means, and no value of a single query."""
    if by_query and gold:
        raise UsageError(
            "--by-query shows the judge's values of each query, but --gold corrects means; leave one out"
        )


def settings_of_claims(options: Comparing, queries: Sequence[str], sources: Sequence[Any]) -> Settings:
    """Return the settings of a comparison; `sources` may tell the clusters of queries."""
    clusters, by = hooks.clusters_of(options.cluster, queries, options.questions, sources)
    kind = cast("type[Settings]", hooks.comparison_settings.load())
    return settings_from(kind, options, clusters=clusters, clustered_by=by)


def on_workers(options: Scoring) -> Callable[..., Iterable[Scores]]:
    """Return what scores many runs, as `map` does: here, in processes (--jobs), or on a cluster (--dask)."""
    jobs, cluster = options.jobs, options.dask
    # For small files starting another process takes longer than scoring.
    if cluster is None and jobs == 1:
        return map
    return partial(hooks.score_on_workers, jobs, cluster)


def set_remarks(typed: Iterable[str], compat: str | None = None) -> Iterator[Remark]:
    """Say what sets of trec_eval's lack here, and under which rules others have their program's figures."""
    # Measures may come in one word, parted by commas or blanks.
    for part in (part for text in typed for part in text.replace(",", " ").split()):
        name = part.removeprefix("official:").replace("trec_eval", "official")
        if name.lower() in SETS:
            yield Remark("measures_not_offered", facts={"name": name, "missing": not_offered(name)})
        elif part.lower().startswith("official:"):
            if name.lower() in SAID_OF:
                yield Remark("set_of_track", facts={"name": part, "description": SAID_OF[name.lower()]})
            program = COMPAT_OF.get(name.lower())
            if program is not None and compat != program:
                yield Remark("figures_of_program", facts={"name": part, "program": program})
