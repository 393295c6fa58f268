"""Score runs or judged answers by the options of the command line, and say what should be known of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval.cli._inputs import Inputs, judgements, run_sources
from rageval.errors import NothingJudged, UsageError
from rageval.files.trec import Reading
from rageval.measures.base import LOWER
from rageval.measures.parsing import SETS
from rageval.scoring.evaluation import Evaluator, lowest_grade
from rageval.scoring.remarks import of_answers, of_rules, of_run
from rageval.scoring.scores import Scores
from rageval.scoring.sources import RunSource
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.files.judgements import JudgementTable


_BY_NAME = "run"  # of --sort
_RULES = (
    *("ties", "depth", "judged_only", "intersection", "complete", "zero_rel"),
    *("rel", "compat", "provider", "bounds", "intent_weights"),
)


class _ScoredRuns(NamedTuple):
    """Runs that were scored, what should be said of them, and why the others have no numbers."""

    results: list[Scores]
    sources: list[RunSource]
    said: list[str]
    refused: list[str]


def run_scores(
    inputs: Inputs, measures: list[Any], options: dict[str, Any], reading: Reading
) -> tuple[list[Scores], list[str], list[str], list[str]]:
    """Return the scores of runs, what should be said of them, the judged queries, and why runs have none."""
    refuse_nuggets(options)
    evaluator, sources = prepared(inputs, measures, options, reading)
    all_scores = _evaluated(evaluator, sources, options["jobs"], options["dask"])
    found = _sorted_by_judged(all_scores, sources, evaluator, options)
    if not found.results:
        refuse(found.refused)
    found = _beside_people(found, evaluator, options, reading)
    return found.results, found.said, evaluator.qrels.query_ids, found.refused


def _sorted_by_judged(
    all_scores: Iterable[Scores],
    sources: Sequence[RunSource],
    evaluator: Evaluator,
    options: dict[str, Any],
) -> _ScoredRuns:
    """Keep the runs of which some document is judged, and say why the others have no numbers."""
    found = _ScoredRuns([], [], list(evaluator.remarks), [])
    for scores, source in zip(all_scores, sources, strict=True):
        # Zeros of a run whose ids match nothing look like a bad system, and are mostly a wrong file.
        is_strange = not scores.judged and scores.notes is not None and evaluator.qrels.spans is None
        if options["nothing_judged"] != "zero" and is_strange and scores.notes is not None:
            found.refused.append(evaluator.why_nothing_judged(source, scores.notes))
            continue
        found.results.append(scores)
        found.sources.append(source)
        found.said.extend(f"{visible(scores.run)}: {remark}" for remark in of_run(scores, evaluator))
    found.said.extend(of_rules(evaluator))
    return found


def compared(
    evaluator: Evaluator, given: list[RunSource], options: dict[str, Any], reading: Reading
) -> _ScoredRuns:
    """Score runs to be compared; refuse if the baseline has nothing that is judged, or none is left."""
    # Comparing looks at runs again, which a stream does not allow.
    sources = [source.in_memory() if source.is_stream else source for source in given]
    found = _sorted_by_judged(map(evaluator.evaluate, sources), sources, evaluator, options)
    known = {source.name for source in found.sources}
    # Without its baseline a comparison would silently be one with another run.
    is_lost = options["baseline"] in {source.name for source in sources} - known
    if found.refused and (is_lost or not found.results):
        refuse(found.refused)
    return _beside_people(found, evaluator, options, reading)


def _beside_people(
    found: _ScoredRuns, evaluator: Evaluator, options: dict[str, Any], reading: Reading
) -> _ScoredRuns:
    """Return the runs with what people said of the same documents, if --gold says it."""
    if not is_gold_given(options):
        return found
    from rageval.scoring.gold import beside_runs, drawn, gold_of_documents

    draw = drawn(options["gold_chosen"], reading.limits)
    gold = gold_of_documents(options["gold"], draw, reading.limits)
    results, said = beside_runs(found.results, found.sources, evaluator, gold)
    return found._replace(results=results, said=[*found.said, *said])


def is_gold_given(options: Mapping[str, Any]) -> bool:
    """Return whether people's labels were given; refuse what is about them where they were not."""
    if not options["gold"] and (options["gold_chosen"] or options["population"] != "kind"):
        raise UsageError(
            "--gold-chosen and --population are about people's labels; expected --gold FILE, too"
        )
    return bool(options["gold"])


def best_first(results: list[Scores], wanted: str | None) -> list[Scores]:
    """Return the runs in the order that --sort asks for: the best by a measure first, or by their names."""
    if wanted is None or not results:
        return results
    if wanted == _BY_NAME:
        return sorted(results, key=lambda scores: scores.run)
    from rageval.measures.parsing import parse_measure

    measure = parse_measure(wanted)
    if measure not in [score.measure for score in results[0].scores]:
        known = ", ".join(str(score.measure) for score in results[0].scores)
        raise UsageError(f"--sort {visible(wanted)}: is not measured; expected {_BY_NAME} or one of {known}")
    sign = 1 if measure.better == LOWER else -1

    def place(scores: Scores) -> tuple[bool, float]:
        value = scores[measure].value
        # False sorts before True: undefined values come last, whichever way is better.
        return math.isnan(value), 0.0 if math.isnan(value) else sign * value

    return sorted(results, key=place)


def refuse(reasons: Sequence[str]) -> None:
    """End with an error for the runs of which nothing is judged, if there are any."""
    if reasons:
        raise NothingJudged("\n".join(reasons))


def refuse_nuggets(options: dict[str, Any]) -> None:
    """Refuse --nuggets: runs are scored by judgements of documents, which name the nuggets."""
    if options["nuggets"]:
        raise UsageError("--nuggets is about judged answers (JSON lines); leave it out for runs")


def prepared(
    inputs: Inputs, measures: list[Any], options: dict[str, Any], reading: Reading
) -> tuple[Evaluator, list[RunSource]]:
    """Return the evaluator, with the judgements read, and the runs, not read yet."""
    if options["on_missing"] != "error":
        raise UsageError("--on-missing is about judged answers (JSON lines); leave it out for runs")
    if options["compat"] in OF_ANSWERS or options["answers"] or options["weights"]:
        names = " and ".join(f"--compat {name}" for name in OF_ANSWERS)
        raise UsageError(f"{names}, --answers and --weights are about judged answers (JSON lines)")
    named = {None: None, "yes": True, "no": False}[options["nuggets_in_qrels"]]
    # These look at judgements of any grade, so that none may be left out when reading.
    everything = options["judged_only"] or options["bounds"] or bool(options["provider"]) or named is False
    floor = lowest_grade(measures, options["rel"], everything)
    qrels = judgements(inputs, reading, floor, options)
    groups = None
    if options["group_by"]:
        from rageval.cli._inputs import groups_of

        groups = groups_of(options["group_by"], qrels.query_ids, options["questions"], inputs.datasets)
    rules: dict[str, Any] = {name: options[name] for name in _RULES if options[name] is not None}
    # The evaluator would warn by itself; here the run is refused with all others, in one message.
    rules |= {"nuggets_in_qrels": named, "nothing_judged": "zero"}
    evaluator = Evaluator(measures, qrels, groups=groups, **rules)
    evaluator.refuse_without_nuggets()
    return evaluator, run_sources(inputs.runs, reading, options["dedup"], options["names"])


def refuse_bounds_of_spans(evaluator: Evaluator) -> None:
    """Refuse --bounds where the gold is spans and runs are compared: ranges are of one run alone."""
    if evaluator.rules.bounds and evaluator.qrels.spans is not None:
        raise UsageError("--bounds of spans are of single runs (rageval score); leave them out here")


def _evaluated(
    evaluator: Evaluator, sources: list[RunSource], jobs: int, cluster: str | None
) -> Iterator[Scores]:
    # In this process: for small files starting another one takes longer than scoring.
    if cluster is None and jobs == 1:
        yield from map(evaluator.evaluate, sources)
        return
    from rageval.parallel import OnDask, processes, scored

    with OnDask(cluster) if cluster is not None else processes(jobs) as engine:
        yield from scored(evaluator, sources, engine)


_FOR_RUNS = (
    *("chunks", "sources", "overlap", "stale"),
    *("rel", "depth", "judged_only", "dedup", "provider"),
    *("nuggets_in_qrels", "nothing_judged", "ties", "complete", "intent_weights"),
)
_USUAL_TYPE = "question_type"  # CRAG's traffic weights are by type


def answer_scores(
    inputs: Inputs, measures: list[Any], options: dict[str, Any], reading: Reading
) -> tuple[list[Scores], list[str], list[str], list[str]]:
    """Return the scores of systems, what should be said of them, the queries, and systems without scores."""
    grades = judgements_of(inputs, options, reading)
    results, said = scored_answers(inputs, measures, options, grades)
    return results, said, grades.queries.words, []


OF_ANSWERS = ("nuggetizer", "crag", "ragdoll", "auto-argue", "medaesqa", "ragchecker")  # of --compat
_GOLD = "gold"  # what people said, kept beside the judgements that were read with it


def judgements_of(inputs: Inputs, options: dict[str, Any], reading: Reading) -> JudgementTable:
    """Read the judgements; refuse options that are about runs first."""
    from rageval.scoring.answers import read_judgements

    for name in _FOR_RUNS:
        # Flags are False when they are not given, other options None.
        if options[name] is not None and options[name] is not False:
            raise UsageError(f"--{name.replace('_', '-')} is about runs; leave it out for judged answers")
    if options["names"]:
        raise UsageError("--names is about runs; judged answers name their systems themselves (run_id)")
    if options["zero_rel"] != "zero":
        raise UsageError("--zero-rel is about runs; a judged answer without a value is undefined anyway")
    if options["compat"] not in (None, *OF_ANSWERS):
        known = " and ".join(OF_ANSWERS)
        raise UsageError(f"--compat {options['compat']} is about runs; for answers there are {known}")
    beside = {"answers": options["answers"], "nuggets": options["nuggets"]}
    grades = read_judgements(inputs.answers, **beside, questions=options["questions"], limits=reading.limits)
    if not is_gold_given(options):
        return grades
    from rageval.scoring.gold import drawn, gold_of_answers
    from rageval.scoring.universe import with_labelled

    files = list(options["gold"])
    gold = gold_of_answers(read_judgements(files, **beside), files, drawn(options["gold_chosen"]))
    grades = with_labelled(grades, gold.labels, gold.draw)
    grades.kept[_GOLD] = gold  # a stream cannot be read again
    return grades


def scored_answers(
    inputs: Inputs, measures: list[Any], options: dict[str, Any], grades: JudgementTable
) -> tuple[list[Scores], list[str]]:
    """Return the scores of every system, and what should be said of them."""
    from rageval.scoring.answers import AnswerRules, evaluate_all, measures_of_answers

    chosen = measures_of_answers(measures)
    groups, weights = _groups(grades, inputs.answers, options)
    on_missing = options["on_missing"]
    if options["bounds"] and on_missing == "error" and not options["compat"]:
        # --bounds asks for the range, and would otherwise end with the error that it explains.
        on_missing = "skip"  # what is missing is said by the bounds
    rules = AnswerRules(on_missing, groups, weights, options["compat"], options["intersection"])
    results = evaluate_all(chosen, grades, rules)
    said = of_answers(results, grades, rules)
    gold = grades.kept.get(_GOLD)
    if gold is None:
        return results, said
    from rageval.scoring.gold import beside_answers

    results, more = beside_answers(results, grades, gold)
    return results, [*said, *more]


def _groups(grades: JudgementTable, sources: list[Any], options: dict[str, Any]) -> tuple[Any, Any]:
    from pathlib import Path

    from rageval.cli._inputs import groups_of
    from rageval.files.questions import read_weights
    from rageval.scoring.scores import checked_weights

    by, path = options["group_by"], options["weights"]
    if by is None and path is None:
        return None, None
    groups = groups_of(by or _USUAL_TYPE, grades.queries.words, options["questions"], sources)
    if path is None:
        return groups, None
    return groups, checked_weights(read_weights(Path(path)), groups, str(path))


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
