"""Score runs or judged answers by the options of the command line, and say what should be known of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval.cli._inputs import Inputs, judgements, run_sources
from rageval.errors import NothingJudged, UsageError
from rageval.files.trec import Reading
from rageval.measures.base import LOWER, Measure
from rageval.measures.parsing import SETS
from rageval.scoring.evaluation import EXPECTED, Evaluator, bounds_of, lowest_grade
from rageval.scoring.scores import Score, Scores
from rageval.scoring.sources import RunSource
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.files.judgements import JudgementTable
    from rageval.scoring.answers import AnswerRules


_BY_NAME = "run"  # of --sort
_ORDERS = "over all orders of equal scores"
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
        found.said.extend(f"{visible(scores.run)}: {remark}" for remark in _said_of(scores, evaluator))
    found.said.extend(_said_of_rules(evaluator))
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
    return evaluator, run_sources(inputs.runs, reading, options["dedup"], options["names"])


def refuse_bounds_of_spans(evaluator: Evaluator) -> None:
    """Refuse --bounds where the gold is spans and runs are compared: ranges are of one run alone."""
    if evaluator.rules.bounds and evaluator.qrels.spans is not None:
        raise UsageError("--bounds of spans are of single runs (rageval score); leave them out here")


def _said_of(scores: Scores, evaluator: Evaluator) -> Iterator[str]:
    """Say what should be known of one run."""
    yield from remarks(scores, evaluator)
    for score in scores.scores:
        if score.bounds:
            low, high = score.bounds
            what = "whatever the unjudged documents are" if evaluator.rules.bounds else _ORDERS
            if evaluator.qrels.spans is not None and evaluator.rules.bounds:
                what = "whatever the undecided chunks hold"
            if evaluator.rules.bounds and bounds_of(score.measure).graded:
                what += f", with no grade above {max(1, evaluator.qrels.highest):,}"
            yield f"{score.measure}: from {low:.4f} to {high:.4f} {what}"
        elif evaluator.rules.ties == EXPECTED:
            yield f"{score.measure}: there are too many orders of equal scores to say between what it lies"


def _said_of_rules(evaluator: Evaluator) -> Iterator[str]:
    """Say once what should be known of all runs."""
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
_OF_THE_ANSWERS = ("nuggetizer", "crag", "ragdoll")  # their means are over the answers that are there


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
    return read_judgements(
        inputs.answers,
        answers=options["answers"],
        nuggets=options["nuggets"],
        questions=options["questions"],
        limits=reading.limits,
    )


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
    said = [*_of_answers(results, grades), *_of_left_out(results, grades, rules)]
    if not is_gold_given(options):
        return results, said
    from rageval.scoring.answers import read_judgements
    from rageval.scoring.gold import beside_answers, drawn, gold_of_answers

    files = list(options["gold"])
    people = read_judgements(files, answers=options["answers"], nuggets=options["nuggets"])
    gold = gold_of_answers(people, files, drawn(options["gold_chosen"]))
    results, more = beside_answers(results, grades, gold)
    return results, [*said, *more]


def _of_answers(results: Sequence[Scores], grades: JudgementTable) -> Iterator[str]:
    """Yield what a careful reader would ask about."""
    from rageval.scoring.banks import differences

    yield from grades.remarks
    yield from differences(grades)
    yield from _passed_over(grades)
    for scores in results:
        yield from (f"{visible(scores.run)}: {said}" for said in undefined(scores))
        for score in scores.scores:
            yield from (f"{visible(scores.run)}: {score.measure}: {said}" for said in _of_answer_score(score))


def _of_left_out(results: Sequence[Scores], grades: JudgementTable, rules: AnswerRules) -> Iterator[str]:
    """Say of which systems some answers are not there, and what becomes of these queries."""
    from rageval.scoring.assessing import left_out

    total = len(grades.queries.words)
    what = "score 0 where others were judged; --intersection leaves them out"
    if rules.intersection or rules.compat in _OF_THE_ANSWERS:
        what = "are left out"
    if not any(score.said_by for scores in results for score in scores.scores):
        return
    for scores in results:
        if number := left_out(grades, grades.runs.find(scores.run)):
            yield f"{visible(scores.run)}: no answer to {number:,} of {total:,} queries ({what})"


def _passed_over(grades: JudgementTable) -> Iterator[str]:
    """Judgements that were left out for their rubric, and say what others do."""
    from rageval.measures.scales import ALL
    from rageval.scoring.assessing import passed_over

    for scale in ALL:
        for rubric, number in passed_over(grades, scale).items():
            named = f"the rubric {visible(rubric)!r}, which is not known," if rubric else "no rubric"
            yield (
                f"{number:,} judgements have {named} and are left out: others with labels of {scale.name}"
                f" name theirs; expected one of {', '.join(scale.rubrics)} for each"
            )


def _of_answer_score(score: Score) -> Iterator[str]:
    if score.missing:
        counts = ", ".join(f"{count:,} {status}" for status, count in sorted(score.lost.items()))
        bounds = f"; from {score.bounds[0]:.4f} to {score.bounds[1]:.4f}" if score.bounds else ""
        yield f"{score.missing:,} judgements are missing ({counts}){bounds}"
    if score.judges:
        yield "by judge: " + ", ".join(f"{visible(name)} {value:.4f}" for name, value in score.judges.items())


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


_FEW_QUERIES = 0.05  # of the queries have nothing that is judged: fewer are not worth a word
_MANY_HOLES = 0.2  # of the top documents unjudged
_POSITIVES_ONLY = 0.01  # judgements below the grade that counts: with fewer, holes say nothing


def said_of_sets(typed: Iterable[str]) -> Iterator[str]:
    """Say what sets of trec_eval's lack here."""
    # Measures may come in one word, parted by commas or blanks.
    for part in (part for text in typed for part in text.replace(",", " ").split()):
        name = part.removeprefix("official:").replace("trec_eval", "official")
        if name.lower() in SETS:
            from rageval.measures.official import left_out

            yield left_out(name)
        elif part.lower().startswith("official:"):
            from rageval.measures.official import SAID_OF

            if (said := SAID_OF.get(name.lower())) is not None:
                yield f"{part}: {said}"


def remarks(scores: Scores, evaluator: Evaluator) -> Iterator[str]:
    """Yield one sentence for each thing a careful reader would ask about."""
    notes = scores.notes
    if notes is None:
        return
    if notes.read_here:
        yield f"could not be read {visible(notes.read_here)}; read by this process, in one piece, instead"
    total = len(evaluator.qrels.query_ids)
    if notes.queries_missing:
        what = "score 0; --intersection leaves them out"
        if evaluator.rules.leaves_out:
            way = f", as {evaluator.rules.compat} does; -c counts them" if evaluator.rules.compat else ""
            what = f"are left out{way}"
        yield f"{notes.queries_missing:,} of {total:,} judged queries are not in the run ({what})"
    if evaluator.rules.zero_rel == "skip" and notes.queries_without_relevant:
        number = notes.queries_without_relevant
        yield f"{number:,} of {total:,} judged queries have nothing that is relevant (are left out)"
    elif notes.nothing_relevant and not (evaluator.qrels.spans and evaluator.qrels.spans.undecided):
        yield "no judged query has anything that is relevant: no run can find anything"
    yield from undefined(scores)
    yield from _unjudged(scores, evaluator)
    if notes.queries_only_in_run:
        yield f"{notes.queries_only_in_run:,} queries of the run are not judged (ignored)"
    tied = [f"{count:,} at rank {cutoff}" for cutoff, count in sorted(notes.tied_at.items()) if count]
    if tied and evaluator.rules.compat is None:
        ties = evaluator.rules.ties
        yield f"queries with equal scores on both sides of a cut-off: {', '.join(tied)} (ties: {ties})"
    if notes.rank_conflicts:
        what = "ranks" if evaluator.rules.compat == "ndeval" else "scores"
        yield f"the rank column contradicts the scores in {notes.rank_conflicts:,} queries ({what} count)"
    yield from _above_one(scores)
    yield from _without_grade(scores, evaluator.rules.rel)
    of_nuggets = any(score.measure.wants_nuggets for score in scores.scores)
    is_told = evaluator.qrels.spans is not None or evaluator.rules.nuggets_in_qrels is not None
    if of_nuggets and not evaluator.qrels.has_nuggets and not is_told:
        yield "the judgements have one nugget a query everywhere; are these plain qrels?"


def undefined(scores: Scores) -> Iterator[str]:
    """Say on how many queries means rest that do not rest on all of them."""
    names: dict[tuple[int, int], list[str]] = {}
    for score in scores.scores:
        if score.undefined:
            names.setdefault((score.queries, score.undefined), []).append(str(score.measure))
    for (queries, number), measures in names.items():
        which, verb = ", ".join(measures), "rests" if len(measures) == 1 else "rest"
        if queries:
            yield f"{which} {verb} on {queries:,} of {queries + number:,} queries; on the others undefined"
        else:
            yield f"{which}: undefined on each of {number:,} queries"
    yield from _groups_without(scores)


def _groups_without(scores: Scores) -> Iterator[str]:
    """Which groups have no value, of a mean over groups."""
    from rageval.scoring.scores import combined

    for score in scores.scores:
        if score.groups is None or not score.queries:
            continue
        found = score.numbers_by(score.groups)
        means = {group: combined(score.measure, values) for group, values in found.items()}
        empty = [visible(group) for group, value in means.items() if math.isnan(value)]
        if empty:
            of = f"{len(empty):,} of {len(found):,} groups have no value ({', '.join(empty[:3])}"
            then = "there is no weighted mean" if score.weights else "the mean is over the others"
            yield f"{score.measure}: {of}{', …' if len(empty) > 3 else ''}), so {then}"


def _unjudged(scores: Scores, evaluator: Evaluator) -> Iterator[str]:
    """How many queries, and what share of the top documents, nobody judged."""
    notes, rules = scores.notes, evaluator.rules
    if notes is None or not scores.judged or evaluator.qrels.spans is not None:
        return
    without = [query for query, number in scores.judged_by_query.items() if not number]
    total = len(scores.judged_by_query)
    # A few queries without judgements are usual in pooled collections.
    if len(without) >= _FEW_QUERIES * total and without:
        first = ", ".join(map(visible, without[:3])) + (", …" if len(without) > 3 else "")
        yield f"no document is judged in {len(without):,} of {total:,} queries: {first}"
    holes = notes.shown - notes.shown_judged
    rel = rules.rel if rules.rel is not None else 1
    # Where only relevant documents were kept, everything else is unjudged by design.
    are_meant = rules.judged_only or evaluator.qrels.share_below(rel) < _POSITIVES_ONLY
    if not are_meant and holes and holes >= _MANY_HOLES * notes.shown:
        cutoffs = [measure.k for measure in evaluator.measures if measure.k]
        # What is looked at is not deeper than --depth.
        top = min(max(cutoffs), rules.depth or max(cutoffs))
        way = "" if rules.bounds else "; --bounds says between what values a measure lies"
        yield f"{holes / notes.shown:.0%} of the top {top:,} is unjudged, and counts as not relevant{way}"


def _above_one(scores: Scores) -> Iterator[str]:
    for score in scores.scores:
        why = score.measure.about.above_1
        above = sum(value > 1 + 1e-9 for value in score.numbers) if why else 0
        if above:
            yield f"{score.measure} is above 1 in {above:,} queries: {why}"


def _without_grade(scores: Scores, rel: int | None) -> Iterator[str]:
    """Which measures a lowest grade says nothing to."""
    deaf = [str(score.measure) for score in scores.scores if score.measure.rel is None]
    if rel is not None and deaf:
        yield f"--rel {rel} changes nothing in {', '.join(deaf)}, which have no lowest grade"
