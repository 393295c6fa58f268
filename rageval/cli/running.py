"""`rageval run.trec qrels.nugget -m alpha_ndcg@10`: scores of runs, for the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rageval.cli.inputs import Inputs, judgements, run_sources
from rageval.cli.remarks import remarks
from rageval.errors import NothingJudged, UsageError
from rageval.evaluation import EXPECTED, Evaluator, lowest_grade
from rageval.files.trec import Reading
from rageval.measures.base import Measure
from rageval.scores import Scores
from rageval.sources import RunSource
from rageval.text import visible

_ORDERS = "over all orders of equal scores"
_RULES = (
    *("ties", "depth", "judged_only", "intersection", "complete", "zero_rel"),
    *("rel", "compat", "provider", "bounds"),
)


class Found(NamedTuple):
    """Runs that were scored, what should be said of them, and why the others have no numbers."""

    results: list[Scores]
    sources: list[RunSource]
    said: list[str]
    refused: list[str]


def run_scores(
    inputs: Inputs, measures: list[Any], options: dict[str, Any], reading: Reading
) -> tuple[list[Scores], list[str], list[str], list[str]]:
    """The scores of every run, what should be said of them, the judged queries, and why runs have none."""
    refuse_nuggets(options)
    evaluator, sources = prepared(inputs, measures, options, reading)
    all_scores = _evaluated(evaluator, sources, options["jobs"], options["dask"])
    found = sorted_by_judged(all_scores, sources, evaluator, options)
    if not found.results:
        refuse(found.refused)
    return found.results, found.said, evaluator.qrels.query_ids, found.refused


def sorted_by_judged(
    all_scores: Iterable[Scores],
    sources: Sequence[RunSource],
    evaluator: Evaluator,
    options: dict[str, Any],
) -> Found:
    """The runs of which some document is judged, and what to say of those of which none is."""
    found = Found([], [], list(evaluator.remarks), [])
    for scores, source in zip(all_scores, sources, strict=True):
        if options["nothing_judged"] != "zero" and not scores.judged and scores.notes is not None:
            found.refused.append(evaluator.why_nothing_judged(source, scores.notes))
            continue
        found.results.append(scores)
        found.sources.append(source)
        found.said.extend(f"{visible(scores.run)}: {remark}" for remark in said_of(scores, evaluator))
    found.said.extend(said_of_rules(evaluator))
    return found


def compared(evaluator: Evaluator, given: list[RunSource], options: dict[str, Any]) -> Found:
    """Runs that are to be compared; refused if the baseline has nothing that is judged, or none is left."""
    sources = [source.in_memory() if source.is_stream else source for source in given]
    found = sorted_by_judged(map(evaluator.evaluate, sources), sources, evaluator, options)
    known = {source.name for source in found.sources}
    is_lost = options["baseline"] in {source.name for source in sources} - known
    if found.refused and (is_lost or not found.results):
        refuse(found.refused)
    return found


def refuse(reasons: Sequence[str]) -> None:
    """End with an error for the runs of which nothing is judged, if there are any."""
    if reasons:
        raise NothingJudged("\n".join(reasons))


def refuse_nuggets(options: dict[str, Any]) -> None:
    """Runs are scored by judgements of documents, which name the nuggets."""
    if options["nuggets"]:
        raise UsageError("--nuggets is about judged answers (JSON lines); leave it out for runs")


def prepared(
    inputs: Inputs, measures: list[Any], options: dict[str, Any], reading: Reading
) -> tuple[Evaluator, list[RunSource]]:
    """The evaluator, with the judgements read, and the runs, not read yet."""
    if options["on_missing"] != "error":
        raise UsageError("--on-missing is about judged answers (JSON lines); leave it out for runs")
    if options["compat"] == "nuggetizer" or options["answers"] or options["weights"]:
        raise UsageError("--compat nuggetizer, --answers and --weights are about judged answers (JSON lines)")
    named = {None: None, "yes": True, "no": False}[options["nuggets_in_qrels"]]
    everything = options["judged_only"] or options["bounds"] or bool(options["provider"]) or named is False
    floor = lowest_grade(measures, options["rel"], everything)
    qrels = judgements(inputs, reading, floor)
    groups = None
    if options["group_by"]:
        from rageval.cli.knowledge import groups_of

        groups = groups_of(options["group_by"], qrels.query_ids, options["questions"], inputs.datasets)
    rules: dict[str, Any] = {name: options[name] for name in _RULES if options[name] is not None}
    rules |= {"nuggets_in_qrels": named, "nothing_judged": "zero"}
    evaluator = Evaluator(measures, qrels, groups=groups, **rules)
    return evaluator, run_sources(inputs.runs, reading, options["dedup"])


def said_of(scores: Scores, evaluator: Evaluator) -> Iterator[str]:
    """What should be said of one run."""
    yield from remarks(scores, evaluator)
    for score in scores.scores:
        if score.bounds:
            low, high = score.bounds
            what = "whatever the unjudged documents are" if evaluator.rules.bounds else _ORDERS
            yield f"{score.measure}: from {low:.4f} to {high:.4f} {what}"
        elif evaluator.rules.ties == EXPECTED:
            yield f"{score.measure}: there are too many orders of equal scores to say between what it lies"


def said_of_rules(evaluator: Evaluator) -> Iterator[str]:
    """What should be said once of all runs."""
    if evaluator.rules.compat == "ndeval":
        yield (
            "--compat ndeval goes by the rank column, as the C program does; what it meant before, equal"
            " scores by document id ascending, is --compat pyndeval"
        )
    yield from _said_of_ideals(evaluator)


def _said_of_ideals(evaluator: Evaluator) -> Iterator[str]:
    """How far the greedy ideal is from the best ranking, where that one was asked for."""
    for measure in evaluator.measures:
        if isinstance(measure, Measure) and measure.parameters.get("ideal") == "exact":
            queries, most = evaluator.gap_to_greedy(measure)
            total = len(evaluator.qrels.query_ids)
            yield (
                f"{measure}: the greedy ideal is not the best ranking in {queries:,} of {total:,} queries"
                + (f", by up to {most:.2%}" if queries else "")
            )


def _evaluated(
    evaluator: Evaluator, sources: list[RunSource], jobs: int, cluster: str | None
) -> Iterator[Scores]:
    if cluster is None and jobs == 1:
        yield from map(evaluator.evaluate, sources)
        return
    from rageval.parallel import Forked, scored

    if cluster is None:
        yield from scored(evaluator, sources, Forked(jobs))
        return
    from rageval.parallel.cluster import OnDask

    with OnDask(cluster) as engine:
        yield from scored(evaluator, sources, engine)
