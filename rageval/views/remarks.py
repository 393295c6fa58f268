"""The words for remarks: one template or function for each code.

The parameters of a function, and the fields of a template, are the facts of the remark. They may also be
`systems`, `measure` and `file`, which are what the remark is about; what the words do not name of these
stands before them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from string import Formatter
from typing import Any, TypeAlias

from rageval.core.basis import Basis, BasisKind
from rageval.core.remark import Remark
from rageval.names import UnlikeIds, describe_unlike_ids
from rageval.text import visible
from rageval.views.bases import NO_WINNER, attribution, conditions_of, describe_basis, name_judges

Words: TypeAlias = str | Callable[..., str]

ADAPTIVE = (
    "what was judged was chosen by earlier judgements, so means may be biased: nothing is tested or corrected"
)
SCOPE = frozenset({"systems", "measure", "file"})
SHOWN = 3  # examples in a text


def remark_text(remark: Remark) -> str:
    """Return a remark in words."""
    words, about = WORDS[remark.code], remark.about
    named = names_in(words)
    scope = {"systems": about.systems, "measure": about.measure, "file": about.file}
    head = ["against the anchor"] if about.is_of_anchor else []
    if about.systems and "systems" not in named:
        head.append(" against ".join(map(visible, about.systems)))
    if about.measure is not None and "measure" not in named:
        head.append(visible(about.measure))
    if about.file is not None and "file" not in named:
        head.append(visible(about.file))
    values = {**remark.facts, **{name: value for name, value in scope.items() if name in named}}
    facts = {name: _visible(value) for name, value in values.items()}
    if callable(words):
        text = words(**facts)
    else:
        text = words.format(**{name: _joined(value) for name, value in facts.items()})
    return ": ".join([*head, text])


@cache
def names_in(words: Words) -> frozenset[str]:
    """Return what the words need: facts, and what the remark is about.

    >>> sorted(names_in("{number:,} of {total:,}"))
    ['number', 'total']
    """
    if callable(words):
        code: Any = words.__code__
        return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    return frozenset(name for _, name, _, _ in Formatter().parse(words) if name)


def _visible(value: Any) -> Any:
    if isinstance(value, Remark):
        return remark_text(value)
    if isinstance(value, str):
        return visible(value)
    return tuple(map(_visible, value)) if isinstance(value, tuple) else value


def _joined(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


def _examples(names: Sequence[str], number: int) -> str:
    """Return the first few of a number of names."""
    return ", ".join(names[:SHOWN]) + (", …" if number > SHOWN else "")


def _counts(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts)


# --- scores of runs


def _missing_queries(*, number: int, total: int, is_left_out: bool, compat: str | None) -> str:
    what = "score 0; --intersection leaves them out"
    if is_left_out:
        what = "are left out" + (f", as {compat} does; -c counts them" if compat else "")
    return f"{number:,} of {total:,} judged queries are not in the run ({what})"


def _undefined_queries(*, measures: Sequence[str], queries: int, number: int) -> str:
    names = ", ".join(measures)
    if not queries:
        return f"{names}: undefined on each of {number:,} queries"
    verb = "rests" if len(measures) == 1 else "rest"
    return f"{names} {verb} on {queries:,} of {queries + number:,} queries; on the others undefined"


def _undefined_groups(*, number: int, total: int, examples: Sequence[str], is_weighted: bool) -> str:
    then = "there is no weighted mean" if is_weighted else "the mean is over the others"
    return f"{number:,} of {total:,} groups have no value ({_examples(examples, number)}), so {then}"


def _unjudged_queries(*, number: int, total: int, examples: Sequence[str]) -> str:
    return f"no document is judged in {number:,} of {total:,} queries: {_examples(examples, number)}"


def _unjudged_documents(*, share: float, depth: int, has_bounds: bool) -> str:
    hint = "" if has_bounds else "; use --bounds to see the possible range"
    return f"{share:.0%} of the top {depth:,} is unjudged, counted as not relevant{hint}"


def _tied_cutoffs(*, queries: Sequence[tuple[int, int]], ties: str) -> str:
    tied = ", ".join(f"{number:,} at rank {cutoff}" for cutoff, number in queries)
    return f"queries with equal scores on both sides of a cut-off: {tied} (ties: {ties})"


_UNKNOWN_PARTS = {
    "orders": "over all orders of equal scores",
    "grades": "for any grades of the unjudged documents",
    "chunks": "for any content of the undecided chunks",
}


def _range_of_value(*, low: float, high: float, over: str, highest: int | None) -> str:
    limit = "" if highest is None else f", with no grade above {highest:,}"
    return f"from {low:.4f} to {high:.4f} {_UNKNOWN_PARTS[over]}{limit}"


def _range_of_judge(*, low: float, high: float, over: str, highest: int | None) -> str:
    ends = _range_of_value(low=low, high=high, over=over, highest=highest)
    return f"the judge's mean, uncorrected: {ends}"


def _gap_to_greedy(*, number: int, total: int, largest: float) -> str:
    most = f", by up to {largest:.2%}" if number else ""
    return f"the greedy ideal is not the best ranking in {number:,} of {total:,} queries{most}"


def _needs_nuggets(*, file: str, unread: Sequence[str]) -> str:
    ignored = f" (ignored columns: {', '.join(unread)})" if unread else ""
    return (
        f"needs nuggets, but {file} names none{ignored}; use judgements with a nugget in every row, a measure"
        " of documents (ndcg@10), or --nuggets-in-qrels no to count all documents for one nugget"
        " (nuggets_in_qrels=False in Python)"
    )


# --- scores of answers


def _unknown_rubric(*, number: int, rubric: str, scale: str, rubrics: Sequence[str]) -> str:
    named = f"the rubric {rubric!r}, which is unknown," if rubric else "no rubric"
    return (
        f"{number:,} judgements have {named} and are left out: labels of {scale} in other rows"
        f" name their rubric; expected one of {', '.join(rubrics)} for each"
    )


def _uncertain_verdicts(
    *, number: int, total: int, limit: float, examples: Sequence[tuple[str, str, float]]
) -> str:
    first = ", ".join(f"{query} of {run} ({p:.2f})" for query, run, p in examples)
    return (
        f"{number:,} of {total:,} verdicts are uncertain (a probability from {limit:g} to"
        f" {1 - limit:g} that the answer is right); most uncertain: {first}. Check these first, or"
        " choose what to label with rageval label plan --by doubt"
    )


def _unanswered_queries(
    *,
    answered: int,
    total: int,
    examples: Sequence[str],
    is_left_out: bool,
    missing_in: Sequence[str],
    zero_in: Sequence[str],
) -> str:
    others = f"the others ({_examples(examples, total - answered)})"
    effects = [f"are missing in {', '.join(missing_in)}"] * bool(missing_in)
    effects += [f"score 0 in {', '.join(zero_in)}"] * bool(zero_in)
    what = f"{' and '.join(effects)} (--intersection leaves them out)"
    return f"answered {answered:,} of {total:,} queries; {others} {'are left out' if is_left_out else what}"


def _questions_without_gold(*, number: int, total: int, examples: Sequence[str]) -> str:
    return (
        f"{number:,} of {total:,} questions have no gold answer and are left out (--intersection):"
        f" {_examples(examples, number)}"
    )


def _fewer_answers(*, number: int, total: int, answers: int, examples: Sequence[str]) -> str:
    return (
        f"{number:,} of {total:,} queries have fewer than {answers:,} answers (repeat), as many as others"
        f" have: {_examples(examples, number)}; the answers that they lack are missing"
    )


def _missing_judgements(
    *, number: int, by_status: Sequence[tuple[str, int]], low: float | None, high: float | None
) -> str:
    bounds = "" if low is None else f"; from {low:.4f} to {high:.4f}"
    return f"{number:,} judgements are missing ({_counts(by_status)}){bounds}"


def _spread_of_answers(*, answers: float, judges: float | None, questions: float, advice: str) -> str:
    judged = "including the judge: see gate --aa"
    if judges is not None:
        judged = f"judges of one answer {judges:.3f}"
    return f"standard deviation of answers {answers:.3f} ({judged}), of questions {questions:.3f}; {advice}"


def _values_by_judge(*, values: Sequence[tuple[str, float]]) -> str:
    return "by judge: " + ", ".join(f"{judge} {value:.4f}" for judge, value in values)


def _unlike_nuggets(*, number: int, query: str, nugget: str, judged: int, total: int) -> str:
    return (
        f"the systems were judged by different nuggets in {number:,} queries: in {query}, {judged} of {total}"
        f" systems by {nugget[:60]!r}; their scores are not comparable there"
    )


def _judged_nuggets_not_in_file(*, file: str, number: int, query: str, nugget: str) -> str:
    return (
        f"{number:,} judged nuggets are not in {file}, the first {nugget[:60]!r} of query {query!r}; they"
        " keep the importance in the judgements"
    )


def _unjudged_nuggets(*, file: str, number: int, query: str, nugget: str) -> str:
    return (
        f"{number:,} nuggets of {file} were not judged, the first {nugget[:60]!r} of query {query!r}; no"
        " measure counts them"
    )


def _answers_without_reference(*, answers: int, questions: int) -> str:
    more = f", and with them {questions:,} questions that have no other answer" if questions else ""
    return f"{answers:,} answers without a reference are left out{more}, as Auto-ARGUE does"


def _unused_kinds(*, kinds: Sequence[tuple[str, int]]) -> str:
    counts = ", ".join(f"{number:,} {kind[:80]}" for kind, number in kinds)
    return f"judgements of kinds that no measure uses: {counts}"


# --- labels


def _labels_of_judges(*, labelers: Sequence[str]) -> str:
    # Of several labelers one may be a person: then it is not true that none is.
    some = any(Basis.of_labels([labeler]).kind is BasisKind.PEOPLE for labeler in labelers)
    return (
        f"{'not human labels alone' if some else 'no human labels'}: claims are by"
        f" {name_judges(Basis.of_labels(labelers))}, and include its errors; people are called person:NAME"
    )


def _labels_of_unjudged(*, number: int, kind: str, examples: Sequence[str]) -> str:
    return f"{number:,} {kind} are not among the judged ones: {_examples(examples, number)}"


def _partly_labeled(*, number: int, examples: Sequence[str]) -> str:
    return (
        f"{number:,} queries were labeled only in part, or by another list ({_examples(examples, number)});"
        " these do not count as labels"
    )


def _failed_labels(*, number: int, total: int, examples: Sequence[str]) -> str:
    return f"{number:,} of {total:,} labels failed ({_examples(examples, number)})"


# --- spans


def _stale_spans(*, number: int, total: int, examples: Sequence[tuple[str, str, str, str]]) -> str:
    return f"{stale_spans(number, total, examples)}; they are left out"


def stale_spans(number: int, total: int, examples: Sequence[tuple[str, str, str, str]]) -> str:
    """Say which spans are no longer in their sources: the query, nugget, document and quote of a few."""
    first = "; ".join(
        f"{visible(query)}/{visible(nugget)} in {visible(doc)}"
        f" ({visible(quote[:40])!r}{'…' if len(quote) > 40 else ''})"
        for query, nugget, doc, quote in examples[:SHOWN]
    )
    more = f"; and {number - SHOWN:,} more" if number > SHOWN else ""
    return f"{number:,} of {total:,} spans are stale (not found in their sources): {first}{more}"


def _unheld_nuggets(*, number: int, total: int, overlap: str, examples: Sequence[str]) -> str:
    return (
        f"no chunk holds {number:,} of {total:,} nuggets by {overlap}; they count as not found"
        f" ({_examples(examples, number)})"
    )


def _undecided_pairs(number: int, chunks: int) -> str:
    return (
        f"{number:,} pairs of a nugget and a chunk are undecided ({chunks:,} chunks hold a part of a wide"
        " span, and the nugget may be in the other part)"
    )


# --- comparisons


_NOTHING_RELEVANT = "no judged query has anything relevant"


def _no_value(*, systems: Sequence[str], is_hopeless: bool) -> str:
    reason = _NOTHING_RELEVANT if is_hopeless else "it failed, or the measure is defined nowhere"
    return f"{', '.join(systems)} has no value for any query: {reason}"


def _zero_everywhere(*, systems: Sequence[str], is_hopeless: bool) -> str:
    reason = _NOTHING_RELEVANT if is_hopeless else "it failed, or found nothing that counts"
    return f"{', '.join(systems)} scores 0 on every query: {reason}"


def _no_best_run(*, is_of_texts: bool, base: str) -> str:
    reason = "a text match names no winner" if is_of_texts else "neither high nor low is good"
    return f"{reason}, so no run is the best; the others are compared with {base}"


def _few_units(*, number: int) -> str:
    if number == 1:
        return "1 independent query or cluster: no interval or test is possible"
    return f"only {number:,} independent queries or clusters; the intervals are rough"


def _baseline_named_best(*, name: str) -> str:
    return (
        f"the others are compared with the best run of each measure, not with the run called {name!r}; rename"
        " that run to compare with it"
    )


def _coarse_values(*, number: int, examples: Sequence[str], fewest: int) -> str:
    names = ", ".join(examples[:SHOWN]) + (f" and {number - SHOWN:,} more" if number > SHOWN else "")
    return (
        f"coarse, so intervals are widened: fewer than {fewest} values of {names} differ from the most common"
        " one"
    )


def _coarse_pairs(*, number: int, total: int, fewest: int) -> str:
    return (
        f"coarse, so intervals are widened: in {number:,} of {total:,} pairs fewer than {fewest} queries"
        " differ"
    )


def _repeats_help(*, share: float, most: float | None) -> str:
    much = "most" if most is None else f"at most as much as {most:.1f} times the questions"
    return (
        f"{share:.0%} of the variance is between answers to one question: more of them (repeat) help {much}"
    )


def _not_detectable(*, number: int, total: int, differ: int, is_clustered: bool, needed: int) -> str:
    unit = "clusters" if is_clustered else "queries"
    return (
        f"no difference is detectable in {number:,} of {total:,} pairs: {differ:,} {unit}"
        f" differ{' at most' if number > 1 else ''}, {needed} are needed"
    )


def _skewed_differences(*, number: int, total: int) -> str:
    return (
        f"differences are skewed in {number:,} of {total:,} pairs: few large, many small. Sign flips assume"
        " symmetry, and claim too often without it"
    )


def _labels_of_mean(*, has_value: bool, reason: str) -> str:
    return reason if has_value else f"no corrected mean: {reason}"


_CHANGES = {"nugget": "one nugget less", "judge": "another judge", "vote": "one vote less"}


def _swapped_pairs(*, change: str, share: float, most_often: Sequence[str]) -> str:
    worst = f", most often {' and '.join(most_often)}" if most_often else ""
    return f"{_CHANGES[change]}: {share:.1%} of the pairs swap places{worst}"


def _what_helps(
    *,
    now: tuple[float, float, float],
    with_queries: tuple[float, float, float],
    with_others: tuple[float, float, float],
    queries: int,
    others: int,
    what: str,
    better: str,
) -> str:
    named = {"queries": "more queries", what: f"more {what}", "neither": "neither", "unknown": "not known"}
    errors = now, with_queries, with_others
    first, second, third = ("{:.4f} ({:.4f} to {:.4f})".format(*error) for error in errors)
    return (
        f"standard error {first} now, {second} with {queries:,} more queries, {third} with {others:,} more"
        f" {what}: {named[better]}"
    )


# --- gates


def _same_everywhere(*, are_runs: bool, places: Sequence[str]) -> str:
    how = "rank the same" if are_runs else "are judged alike"
    where = f" of {', '.join(places)}" if places else ""
    return f"candidate and baseline {how} in every question{where}"


def _questions(what: str) -> Callable[..., str]:
    def words(*, number: int, examples: Sequence[str]) -> str:
        return f"{number:,} questions {what}: {_examples(examples, number)}"

    return words


def _missing_in_questions(*, number: int, could_change: bool) -> str:
    what = "verdicts depend on them" if could_change else "verdicts hold for any values"
    return f"judgements are missing in {number:,} questions; {what}"


def _judges_of_verdict(
    *, measures: Sequence[str], basis: str, corrected_from: str, drawn: str, are_labels_passed: bool
) -> str:
    named = f"{', '.join(measures)} {attribution(Basis.parse(basis, corrected_from, drawn))}"
    if corrected_from:
        return f"no human labels: {named}"
    return f"judge error not included: {named}" + (
        "" if are_labels_passed else " (human labels, --gold, add it)"
    )


def _judged_twice(
    *,
    measure: str,
    flips: int,
    total: int,
    judge: float | None,
    answers: float | None,
    lost: float | None,
    questions: int,
) -> str:
    if not total:
        return f"A/A: {measure}: nothing was judged again"
    text = (
        f"A/A: {measure}: {flips:,} of {total:,} unchanged answers got another verdict ({flips / total:.0%})"
    )
    if judge is not None:
        text += f"; standard deviation of the judge {judge:.3f}, of answers {answers:.3f}"
    return text if lost is None else f"{text}; this costs up to {lost:,.0f} of {questions:,} questions"


# --- corrections


def _missing_of_judge(*, number: int, low: float | None, high: float | None) -> str:
    ends = "" if low is None else f"; with them its mean lies between {low:.4f} and {high:.4f}"
    return f"{number:,} of the judge's judgements are missing{ends}"


def _labels_of_parts(*, number: int, labels: int | None, total: int) -> str:
    if labels is None:
        return f"{number:,} answers have labels for a part only, and are left out"
    return (
        f"{number:,} answers have labels for a part only, {labels:,} of {total:,} judgements in all; this"
        " assumes they were drawn at random"
    )


# --- diagnosis


def _run_of_another(*, tag: str, system: str) -> str:
    return (
        f"the run is tagged {tag!r}, but the answers are from {system!r}: check that {system} used this run"
    )


_EFFECTS_OF_MISSING = {
    "error": "judge them again, or use --on-missing skip, worst or best",
    "skip": "left out",
    "worst": "counted as not in the answer",
    "best": "counted as in the answer",
}


def _missing_nuggets(*, by_status: Sequence[tuple[str, int]], on_missing: str) -> str:
    missing = f"{sum(number for _, number in by_status):,} judgements of nuggets in answers are missing"
    return f"{missing} ({_counts(by_status)}); {_EFFECTS_OF_MISSING[on_missing]}"


# --- judging


def _answered_in_part(*, systems: Sequence[str], answered: int, total: int, failed: int, lacking: int) -> str:
    parts = [f"{failed:,} failed"] * bool(failed) + [f"{lacking:,} not in the file"] * bool(lacking)
    restrict = "; if it was asked only these, give --questions with these alone" if lacking else ""
    return (
        f"{', '.join(systems)} answered {answered:,} of {total:,} questions ({', '.join(parts)}); the others"
        f" count as failed judgements and are missing{restrict}"
    )


def _error_of_short(*, percent: float, dataset: str) -> str:
    return (
        f"short: was wrong on {percent:.1f} of 100 human-labeled answers to held-out questions ({dataset}:"
        " English, short facts). It errs more on other data, and accepts wrong answers that name the right"
        " one (docs/short.md)"
    )


# --- reasons: of a verdict on two systems


def _judged_differently(*, number: int, are_opponents: bool) -> str:
    how = "against different systems" if are_opponents else "by different nuggets"
    return f"the two were judged {how} in {number:,} queries"


def _one_differs(*, is_clustered: bool) -> str:
    unit = _unit(is_clustered)
    return f"only one of the {unit} differs, so no test can decide; more {unit} can"


def _p_at_least(
    *, p: float, draws: int, differ: int, is_clustered: bool, pairs: int, adjusted: float | None
) -> str:
    unit = _unit(is_clustered)
    if draws:
        # Below 1 in all draws there is nothing; above it p is a bound.
        floor = f"1/{draws + 1:,}" if p * (draws + 1) > 1 - 1e-9 else f"{p:.2g}, a bound"
        text = f"p is at its floor of {floor}: none of {draws:,} draws reached the difference"
    else:
        text = f"p cannot be below {p:.2g} where no more than {differ:,} {unit} differ"
    if adjusted is not None:
        text += f"; Holm over {pairs:,} pairs makes it {adjusted:.2g}"
    return f"{text}; {'more --draws' if draws else f'more {unit}'} can help"


def _unit(is_clustered: bool) -> str:
    return "clusters" if is_clustered else "queries"


def _look_at_plan(*, labeled: int, total: int, p: float, is_decided: bool, is_last: bool) -> str:
    advice = "stop, it is clear" if is_decided else "stop, it stays undecided" if is_last else "go on"
    return f"{labeled:,} of {total:,} queries of the plan are labeled (p < {p:.2g}): {advice}"


# --- reasons: of a corrected value


def _labels_to_compare(*, names: Sequence[str]) -> str:
    return f"the labels were drawn to compare {' and '.join(names)}, so they cannot correct a mean"


def _labels_of_other_pair(*, names: Sequence[str]) -> str:
    return f"the labels were drawn to compare only {' and '.join(names)}"


def _few_labels(*, number: int, needed: int, is_of_pair: bool) -> str:
    return f"labels for {number:,} of {'both' if is_of_pair else 'it'} (≥ {needed} needed)"


def _different_annotators(*, number: int, total: int, is_refused: bool) -> str:
    remedy = "; let the same annotators label both" if is_refused else ""
    return f"different annotators labeled the two systems in {number:,} of {total:,} queries{remedy}"


_VALUES_DIFFER = "the judge's values of labeled queries differ from those of the others (p {p:.1e})"


# --- reasons: of a gate's decision


def _other_judges(
    *,
    judges: Sequence[str],
    rubrics: Sequence[str],
    baseline_judges: Sequence[str],
    baseline_rubrics: Sequence[str],
) -> str:
    ours, theirs = _judged_by(judges, rubrics), _judged_by(baseline_judges, baseline_rubrics)
    return f"judged by {ours}, the baseline by {theirs}"


def _judged_by(judges: Sequence[str], rubrics: Sequence[str]) -> str:
    names = ", ".join(judges) or "no named judge"
    return f"{names} by {', '.join(rubrics)}" if rubrics else names


def _no_value_for_floor(*, measure: str, limit: float, is_corrected: bool, reasons: Sequence[str]) -> str:
    what = f"corrected value: {'; '.join(reasons)}" if is_corrected else "defined value"
    return f"{measure} has no {what}; expected {limit:g} or more (--fail-under)"


def _mean_and_basis(measure: str, mean: float, is_corrected: bool, basis: Basis) -> str:
    return f"{measure} is {mean:.4f}" + (f" {describe_basis(basis)}" if is_corrected else "")


def _below_floor(
    *,
    measure: str,
    mean: float,
    limit: float,
    is_corrected: bool,
    basis: str,
    corrected_from: str,
    drawn: str,
) -> str:
    described_mean = _mean_and_basis(measure, mean, is_corrected, Basis.parse(basis, corrected_from, drawn))
    return f"{described_mean}, below {limit:g} (--fail-under)"


def _could_be_below_floor(
    *,
    measure: str,
    mean: float,
    limit: float,
    lowest: float,
    number: int,
    is_corrected: bool,
    basis: str,
    corrected_from: str,
    drawn: str,
) -> str:
    described_mean = _mean_and_basis(measure, mean, is_corrected, Basis.parse(basis, corrected_from, drawn))
    return (
        f"{described_mean}, and {lowest:.4f} if the missing judgements in {number:,} questions are the"
        f" worst, below {limit:g} (--fail-under)"
    )


def _reasons_of_decision(*, measure: str, place: str, reasons: Sequence[str]) -> str:
    return f"{measure}, {place}: {'; '.join(reasons)}"


# --- runs of which nothing is judged


def _nothing_judged_of_run(
    *,
    systems: Sequence[str],
    queries: int,
    retrieved: int,
    judged: int,
    seen: int,
    way: str,
    agreeing: int,
    elsewhere: int,
) -> str:
    ids = UnlikeIds(queries, retrieved, judged, seen, way, agreeing, elsewhere)
    remedy = "--nothing-judged zero (nothing_judged='zero' in Python) scores it all the same"
    return f"{describe_unlike_ids(systems[0], ids)} {remedy}"


_READERS = {"workers": "by the workers", "parts": "in parts"}


def _not_read_by_workers(*, by: str, error: str) -> str:
    return f"could not be read {_READERS[by]} ({error}); read in one piece by this process instead"


# --- sets of measures


def _measures_not_offered(*, name: str, missing: Sequence[str]) -> str:
    listed = (" and " if len(missing) == 2 else ", ").join(missing)
    return f"{name}: without {listed}, which are not offered"


# --- the order in which answers were shown


_Lead: TypeAlias = tuple[float, float | None, float | None]


def _order_in_pairs(
    *, judge: str, number: int, consistent: float, first_wins: float, low: float | None, high: float | None
) -> str:
    return (
        f"{_by(judge)}of {number:,} pairs shown in both orders {consistent:.1%} keep their verdict; the"
        f" answer shown first wins {first_wins:.1%}{_within(low, high, '.1%')}"
    )


def _order_in_lists(
    *, judge: str, number: int, different: int, known: int, first: _Lead, place: int | None, farthest: _Lead
) -> str:
    rankings = f"{number:,} rankings" + (f" ({different:,} different)" if different < known else "")
    rest = "" if place is None else f", shown at {place}, {_describe_lead(farthest)}"
    return f"{_by(judge)}in {rankings} an answer shown first is ranked {_describe_lead(first)}{rest}"


def _order_not_recorded(*, judge: str, number: int, total: int) -> str:
    return (
        f"{_by(judge)}{number:,} of {total:,} rankings and games do not record the order in which answers"
        " were shown (`shown`)"
    )


def _order_unvaried(*, judge: str) -> str:
    return f"{_by(judge)}the effect of position is unknown: each answer was shown at one position only"


def _by(judge: str) -> str:
    return f"{judge}: " if judge else ""


def _describe_lead(place: _Lead) -> str:
    lead, low, high = place
    return f"{abs(lead):.2f} places {'behind' if lead < 0 else 'ahead'}{_within(low, high, '.2f')}"


def _within(low: float | None, high: float | None, places: str) -> str:
    if low is None:
        return " (no interval: too few queries, or all alike)"
    return f" [{low:{places}}, {high:{places}}]"


# --- strengths


def _missing_comparisons(*, systems: Sequence[str], number: int, total: int) -> str:
    return f"{' and '.join(systems)}: the judge's comparison is missing in {number:,} of {total:,} queries"


def _failed_comparisons(*, systems: Sequence[str], number: int) -> str:
    return f"{' and '.join(systems)}: human comparisons failed in {number:,} queries"


def _pair_left_out(*, systems: Sequence[str], reason: str) -> str:
    return f"{' and '.join(systems)}: left out: {reason}"


# --- leaderboards


def _listed(names: Sequence[str], number: int) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {number - SHOWN:,} more" if number > SHOWN else "")


def _only_in_board(*, board: str, number: int, examples: Sequence[str]) -> str:
    return f"only in the {board}, and left out: {_listed(examples, number)}"


def _not_in_all_others(*, board: str, number: int, examples: Sequence[str]) -> str:
    return f"in {board}, but not in all others, so left out: {_listed(examples, number)}"


def _runs_without_value(*, number: int, examples: Sequence[str]) -> str:
    return f"left out, without a value: {_listed(examples, number)}"


def _means_of_topics(*, board: str, row: str, number: int, examples: Sequence[str]) -> str:
    runs = _listed(examples, number) if number else "all runs"
    return f"the {board} has no row {row!r} for {runs}; using means of topics"


def _equal_runs(*, board: str, number: int, examples: Sequence[str]) -> str:
    return f"equal in the {board}, for RBO by name: {_listed(examples, number)}"


def _without(is_of_test: bool) -> str:
    return "so there is no test" if is_of_test else "so there are no intervals"


def _no_topics(*, boards: int, is_of_test: bool) -> str:
    return f"{'neither' if boards == 2 else 'none'} has rows of topics, {_without(is_of_test)}"


def _board_without_topics(*, board: str, is_of_test: bool) -> str:
    return f"the {board} has no rows of topics that all runs share, {_without(is_of_test)}"


def _few_topics(*, boards: int, number: int, needed: int, is_of_test: bool) -> str:
    both = "both" if boards == 2 else "all"
    return f"topics that all runs have in {both}: {number}, fewer than {needed}, {_without(is_of_test)}"


def _topics_without_value(*, is_of_test: bool) -> str:
    return f"some topics have no value for some runs, {_without(is_of_test)}"


def _not_mean_of_topics(*, board: str, row: str, is_of_test: bool) -> str:
    return f"in the {board}, {row!r} is not the mean of the topics, {_without(is_of_test)}"


def _shared_topics(*, boards: int, number: int, totals: Sequence[int], is_of_test: bool) -> str:
    what = "the test is" if is_of_test else "intervals are"
    both = "both" if boards == 2 else "all"
    every = " and ".join(f"{total:,}" for total in totals)
    return f"{what} over the {number:,} topics that {both} have, of {every}"


# --- logs and tables of answers


def _list_read_as_passage(*, name: str, path: str, way: str) -> str:
    return (
        f"{name}={path}: a list written as text was read as one passage; to read it as a list: --map"
        f" '{name}={path}{way}'"
    )


def _columns_of_table(
    *, columns: Sequence[tuple[str, str]], others: Sequence[str], ids: str | None, repeats: int
) -> str:
    parts = [", ".join(f"{field} = {column}" for field, column in columns)]
    parts += [f"kept as fields: {', '.join(others)}"] * bool(others)
    parts += [ids] if ids else []
    parts += [f"{repeats:,} rows answer the same question again and count as repeats"] * bool(repeats)
    return "; ".join(parts)


def _ids_not_unique(*, row: str | None, id: str) -> str:
    why = f"{row} has none" if row else f"{id} stands for several questions"
    return f"the ids do not identify questions ({why}), so they are made from the questions"


def _id_of_two_questions(*, id: str, first: str, second: str) -> str:
    return f"id {id} is {first[:60]!r} in one file and {second[:60]!r} in another"


def _tables_joined_by_questions(*, clash: str | None) -> str:
    return f"{clash or 'the tables share no ids'}, so they are joined by their questions"


def _file_joined_by_questions(*, clash: str | None) -> str:
    return f"{clash or 'shares no ids with the answers'}, so it is joined by the questions"


# --- judges


def _fitted_short(
    *,
    labels: int,
    before: float,
    after: float,
    loss_before: float,
    loss_after: float,
    is_changed: bool,
    basis: str,
    corrected_from: str,
    drawn: str,
) -> str:
    return (
        f"short: cross-validated on {labels:,} labels, the fitted judge errs on {after:.1%} of them"
        f" ({before:.1%} before), at {loss_after:.3f} bits a label ({loss_before:.3f} before)"
        f"{'' if is_changed else '; not changed'}{conditions_of(Basis.parse(basis, corrected_from, drawn))}"
    )


def _judge_without_fence(*, judge: str, number: int, total: int) -> str:
    outcome = f"{number:,} of {total:,} verdicts on attacks were the best possible"
    return (
        f"{judge} was asked without a fence, like its source; of attacks on it,"
        f" {outcome if total else 'none was tried'}"
    )


# --- bundles


def _other_bundle(*, sha256: str, expected: str) -> str:
    return f"the bundle has the SHA-256 {sha256}, expected {expected[:64]}"


def _title_and_rules(*, title: str, track: str) -> str:
    return f"the title {title[:200]!r}, and that files follow the rules of {track[:40]}"


def _labels_of_bundle(*, labels: Sequence[str], chosen: str) -> str:
    how = chosen or "not said"
    return f"that {', '.join(labels)} holds human labels, and how these were chosen ({how})"


def _digests_checked(*, number: int, has_digest: bool) -> str:
    return f"{number:,} files" + (" and the bundle itself" if has_digest else "")


def _no_such_reply(*, sha256: str) -> str:
    return f"{sha256[:64]}: no reply has this SHA-256"


def _reread_judgements(*, number: int, has_replies: bool) -> str:
    return f"{number:,} judgements" if has_replies else "no judgement has a reply"


def _judgements_without_reply(*, judges: Sequence[tuple[str, int]], number: int) -> str:
    names = ", ".join(f"{name or 'an unnamed judge'} ({count:,})" for name, count in judges)
    more = f" and {number - len(judges):,} more" if number > len(judges) else ""
    return f"judgements without a reply, by {names}{more}"


def _rubric_not_readable(*, reason: str) -> str:
    return reason[:200]


def _datasets_not_here(*, datasets: Sequence[tuple[str, str]]) -> str:
    names = ", ".join(f"{what} ({name})" for what, name in datasets)
    return f"of datasets that are not on this computer: {names}"


def _other_intervals(*, published: str, recomputed: str) -> str:
    return f"intervals {published[:120]}, recomputed {recomputed}"


def _other_row(*, published: str, recomputed: str) -> str:
    return f"{published[:120]}, recomputed {recomputed}"


def _places_recomputed(*, number: int, rounded: int) -> str:
    more = f"; {rounded:,} ends of intervals to 9 digits" if rounded else ""
    return f"{number:,} places on the leaderboard{more}"


def _line_not_in_both(*, number: int, is_published: bool) -> str:
    return f"line {number}: {'does not follow' if is_published else 'is not published'}"


def _line_differs(*, number: int, place: Sequence[str], changes: Sequence[tuple[str, str, str]]) -> str:
    how = "; ".join(f"{name} {published}, recomputed {recomputed}" for name, published, recomputed in changes)
    return f"line {number} ({', '.join(name[:60] for name in place)}): {how}"


# --- spans from quotes


def _anchored_judgements(*, by_offsets: int, by_quote: int, by_nugget: int) -> str:
    counts_by_method = {
        "by their offsets": by_offsets,
        "by their quotes": by_quote,
        "by the texts of their nuggets": by_nugget,
    }
    counts = ", ".join(f"{number:,} {method}" for method, number in counts_by_method.items() if number)
    return f"{sum(counts_by_method.values()):,} judgements anchored: {counts}"


def _lost_quotes(*, number: int, examples: Sequence[tuple[str, str, str, str]]) -> str:
    return f"{lost_quotes(number, examples)}; left out"


def lost_quotes(number: int, examples: Sequence[tuple[str, str, str, str]]) -> str:
    """Say which quotes were not found: the query, nugget, chunk and quote of a few."""
    first = "; ".join(
        f"{visible(query)}/{visible(nugget)} in {visible(chunk)} ({visible(quote[:60])!r})"
        for query, nugget, chunk, quote in examples[:SHOWN]
    )
    more = f"; and {number - SHOWN:,} more" if number > SHOWN else ""
    return f"{number:,} quotes were not found in their chunks: {first}{more}"


WORDS: dict[str, Words] = {
    # scores of runs
    "adaptive_judgements": ADAPTIVE,
    "ignored_columns": "ignored columns: {columns}",
    "weights_of_unjudged_nuggets": "{number:,} weights of {file} are for unjudged nuggets (ignored)",
    "needs_nuggets": _needs_nuggets,
    "plain_second_column": (
        "every document has only one number in the second column, which nugget measures read as its nugget;"
        " if it is not a nugget, use --nuggets-in-qrels no (nuggets_in_qrels=False in Python), otherwise yes"
        " (True)"
    ),
    "one_nugget_per_query": ("the judgements have one nugget per query everywhere; are these plain qrels?"),
    "not_read_by_workers": _not_read_by_workers,
    "nothing_judged_of_run": _nothing_judged_of_run,
    "measures_not_offered": _measures_not_offered,
    "set_of_track": "{name}: {description}",
    "figures_of_program": (
        "{name}: its program's figures are those under --compat {program} (compat={program!r} in Python)"
    ),
    "missing_queries": _missing_queries,
    "queries_without_relevant": (
        "{number:,} of {total:,} judged queries have no relevant documents (they are left out)"
    ),
    "nothing_relevant": "no judged query has a relevant document: no run can find any",
    "undefined_queries": _undefined_queries,
    "undefined_groups": _undefined_groups,
    "unjudged_queries": _unjudged_queries,
    "unjudged_queries_of_run": "{number:,} queries of the run are not judged (ignored)",
    "unjudged_documents": _unjudged_documents,
    "tied_cutoffs": _tied_cutoffs,
    "rank_conflicts": "the rank column contradicts the scores in {number:,} queries ({used} are used)",
    "above_1": "{measure} is above 1 in {number:,} queries: {reason}",
    "rel_without_effect": "--rel {rel} has no effect on {measures}, which have no lowest grade",
    "range_of_value": _range_of_value,
    "range_of_judge": _range_of_judge,
    "too_many_orders": "too many orders of equal scores to compute its range",
    "ndeval_order": (
        "--compat ndeval orders by the rank column, as the C program does; for equal scores by"
        " ascending document id, use --compat pyndeval"
    ),
    "gap_to_greedy": _gap_to_greedy,
    # scores of answers
    "unknown_rubric": _unknown_rubric,
    "uncertain_verdicts": _uncertain_verdicts,
    "unanswered_queries": _unanswered_queries,
    "fewer_answers": _fewer_answers,
    "questions_without_gold": _questions_without_gold,
    "missing_judgements": _missing_judgements,
    "spread_of_answers": _spread_of_answers,
    "values_by_judge": _values_by_judge,
    "unlike_nuggets": _unlike_nuggets,
    "unlike_importance": "{number:,} nuggets are vital for some systems, but okay or unrated for others",
    "unlike_weights": "{number:,} criteria have different weights, or none, for different systems",
    "matched_questions_not_in_file": "{number:,} matched questions are not in {file}; they are ignored",
    "judged_nuggets_not_in_file": _judged_nuggets_not_in_file,
    "unjudged_nuggets": _unjudged_nuggets,
    "unrated_nuggets": "{number:,} judged nuggets have neither importance nor weight in {file}",
    "answers_without_reference": _answers_without_reference,
    "unused_kinds": _unused_kinds,
    # labels
    "doubtful_chances": (
        "the probabilities add up to {expected:.4g} labels, but there are {number:,} (p {p:.1e}): the"
        " probabilities may be wrong, and so may every interval"
    ),
    "plan_in_part": (
        "{labeled:,} of {total:,} queries of the plan are labeled: intervals are wider, to hold whenever you"
        " look"
    ),
    "labels_of_judges": _labels_of_judges,
    "labels_of_unjudged": _labels_of_unjudged,
    "partly_labeled": _partly_labeled,
    "failed_labels": _failed_labels,
    "not_correctable": "cannot correct {measures}: {reason}",
    "computed_from_texts": "it is computed from the texts alone, not from judgements",
    "no_mean_over_queries": "it is not a mean over queries",
    # comparisons
    "no_value": _no_value,
    "nothing_judged": "none of its {number:,} documents is judged",
    "zero_everywhere": _zero_everywhere,
    "no_best_run": _no_best_run,
    "queries_without_value": (
        "{number:,} queries have no value for some run; pairs use those with both values"
    ),
    "unlike_signatures": "the runs were scored by different rules; their signatures differ",
    "clusters": "{queries:,} queries in {clusters:,} clusters ({by})",
    "few_units": _few_units,
    "baseline_named_best": _baseline_named_best,
    "coarse_values": _coarse_values,
    "coarse_pairs": _coarse_pairs,
    "no_small_p": "p cannot be small enough in {number:,} of {total:,} pairs; see why",
    "repeats_help": _repeats_help,
    "not_detectable": _not_detectable,
    "skewed_differences": _skewed_differences,
    "labels_of_mean": _labels_of_mean,
    "labels_cover_all": "labels cover every query of this set, so nothing is uncertain",
    "swapped_pairs": _swapped_pairs,
    "few_judges": (
        "{number:,} judges are too few to tell what more votes would help; at least {needed} are needed"
    ),
    "what_helps": _what_helps,
    # reasons: of a verdict on two systems
    "opposite_directions": "the test and the mean difference point in different directions",
    "same_rankings": "the runs rank the same documents in the same order",
    "same_but_for_ties": "the runs differ only in the order of documents that one of them ties",
    "same_values": "the values are the same on every query",
    "same_values_of_both": (
        "the values are the same on the {number:,} queries where both have one; on {one_sided:,} only one has"
    ),
    "other_judgements": "they were scored with different judgements; score both with the same",
    "other_queries": "{number:,} queries are in one of them only; score both on the same queries",
    "other_rules": ("they were scored by different rules: their signatures differ; score both by the same"),
    "judged_differently": _judged_differently,
    "queries_of_one_run": "{number:,} queries are in one run only",
    "not_on_others": "{reason}, and on the others the difference is not shown",
    "no_common_query": "there is no query on which both are defined",
    "difference_may_be_missing": "{number:,} judgements are missing, which could make a difference",
    "missing_may_reverse": "{number:,} judgements are missing, which could reverse it",
    "missing_queries_may_reverse": "judgements are missing in {number:,} queries, which could reverse it",
    "skewed": (
        "differences are skewed: few are large, many small; sign flips decide, and the interval includes 0"
    ),
    "interval_includes_zero": "the test alone would decide, but the interval includes 0",
    "interval_of_pair_alone": (
        "the interval is of this pair alone, where p is {p:.2g}; among {pairs:,} pairs it is {adjusted:.2g}"
        " ({adjust})"
    ),
    "no_winner": NO_WINNER,
    "one_differs": _one_differs,
    "p_at_least": _p_at_least,
    "coarse_difference": "coarse: {number:,} of {total:,} labels differ",
    "look_at_plan": _look_at_plan,
    # reasons: of a corrected value
    "any_value": "they may have any value",
    "correction_with_missing": "judgements are missing in {number:,} queries: {reason}",
    "labels_to_compare": _labels_to_compare,
    "labels_of_other_pair": _labels_of_other_pair,
    "labels_of_other_measure": "the plan decides only by {decides}",
    "many_labels_failed": ("{number:,} of {total:,} labels failed, more than {most:.0%}; label them again"),
    "few_labels": _few_labels,
    "no_other_value": "no rank: none of the other runs ({number:,}) has a value",
    "few_labels_of_queries": "labels for {number:,} of {total:,} ({needed} are needed)",
    "unequal_labels": "{number:,} labels count as {count:.1f} drawn alike (10 are needed)",
    "labels_in_few_clusters": "labels in {number:,} clusters ({needed} are needed)",
    "different_annotators": _different_annotators,
    "labels_not_random": _VALUES_DIFFER
    + (
        ", so the labels are not a random draw; say how they were chosen (--gold-chosen), or draw them with"
        " rageval label plan"
    ),
    "labels_hardly_uniform": _VALUES_DIFFER + ", which is unlikely for a uniform draw",
    "groups_not_corrected": "labels correct no mean of means over groups",
    # reasons: of a gate's decision
    "few_independent_questions": "too few independent questions",
    "few_questions": "under {needed} questions",
    "few_clusters": "{number:,} clusters, {needed} are needed",
    "worse_by_itself": (
        "worse by itself (p {p:.2g}), but not among all measures and slices ({adjusted:.2g}, Holm)"
    ),
    "worse_within_margin": "significantly worse, but by less than the margin",
    "plan_not_labeled": "{labeled:,} of {total:,} queries of the plan are labeled: a gate needs all",
    "missing_may_change": "judgements are missing in {number:,} questions, which could change it",
    "one_sided_may_change": (
        "{number:,} questions are in one of the two only, and on the others this is not so"
    ),
    "unanswered_may_change": "{number:,} questions have no answer in the baseline, which could change it",
    "other_judges": _other_judges,
    "questions_without_judged": "no document is judged in {share:.0%} of the questions",
    "other_share_unjudged": "{share:.0%} of the top is unjudged, and {baseline:.0%} of the baseline's",
    # gates
    "zero_margin": (
        "with --margin 0 only a significantly better system ships, and an equal one only by luck; set the"
        " largest loss you accept"
    ),
    "same_everywhere": _same_everywhere,
    "gone_questions": _questions("of the baseline are gone, and count as missing"),
    "new_questions": _questions("are new, and count as missing in the baseline; save it again"),
    "lost_answers": _questions("have no answer now, and count as nothing found"),
    "new_answers": _questions("have no answer in the baseline, and count as nothing found there"),
    "other_nuggets": _questions("are judged by other nuggets, and count as missing"),
    "fewer_answers_to_questions": _questions("have fewer answers (repeat) than others, and count as missing"),
    "one_sided_questions": _questions("are in one of the two only, and are left out (--intersection)"),
    "missing_in_questions": _missing_in_questions,
    "one_sided_values": "{number:,} questions have a value in one of the two only",
    "corrected_differences": (
        "{measures}: corrected by human labels, the difference by itself: it may differ a little from that of"
        " the two means"
    ),
    "judges_of_verdict": _judges_of_verdict,
    "values_of_texts": "{measures}: " + NO_WINNER,
    "other_questions_file": "the questions file differs from the baseline's",
    "other_depth": (
        "the baseline has other measures too, so its share of unjudged documents does not apply here"
    ),
    "no_value_for_floor": _no_value_for_floor,
    "below_floor": _below_floor,
    "could_be_below_floor": _could_be_below_floor,
    "reasons_of_decision": _reasons_of_decision,
    "judged_again": _judged_twice,
    # corrections
    "systems_without_labels": "no human labels for {names}: left out",
    "missing_of_judge": _missing_of_judge,
    "not_corrected": "not corrected: {reason}",
    "labels_failed": "{number:,} labels failed",
    "coarse_labels": (
        "coarse: fewer than 6 of the labeled values differ from the most common one, or the judge's"
    ),
    "labels_of_parts": _labels_of_parts,
    # diagnosis
    "gold_as_nuggets": (
        "each right answer is a nugget: passages are matched by words, answers by their labels"
    ),
    "gold_without_words": (
        "{number:,} of {total:,} questions have no right answer, or one such as yes that cannot be matched by"
        " words (left out)"
    ),
    "run_of_another": _run_of_another,
    "questions_without_documents": ("{number:,} of {total:,} questions have no judged documents (left out)"),
    "questions_without_answer": (
        "{number:,} of {total:,} questions with judged documents have no judged answer (left out)"
    ),
    "nothing_retrieved": "for {number:,} of {total:,} questions nothing was retrieved",
    "unjudged_passages": (
        "{number:,} of the passages of {questions:,} questions are unjudged, and count as supporting nothing;"
        " the bounds show their possible effect"
    ),
    "missing_nuggets": _missing_nuggets,
    # judging
    "answered_in_part": _answered_in_part,
    "judged_by": "judged by {judges}, rubric {rubric}",
    "no_digests": (
        "the judgements have no digests of what was judged (judged_sha), so changes to the answers cannot be"
        " detected"
    ),
    "error_of_short": _error_of_short,
    "not_english": (
        "short: {number:,} of {total:,} questions do not look English; it was fitted and measured on English,"
        " so its error rate here is unknown"
    ),
    "long_answers": (
        "short: {number:,} of {total:,} answers are longer than any it was measured on ({words:,} words)"
    ),
    "fitted_short": _fitted_short,
    "judge_without_fence": _judge_without_fence,
    "some_pairs_of_judges": "only {number} pairs of judges are compared",
    "stream_not_shown": "texts of streams are not shown",
    "labels_not_locked": "cannot be locked on this disk; do not serve it twice",
    "last_label_cut": (
        "the last line was cut off and is removed; the {number:,} labels before it are complete"
    ),
    "not_compared": "not compared: it {reason}",
    "sum_over_queries": "is a sum over queries, not a mean",
    "pooled_over_queries": "is pooled over queries, and has no test",
    "function_of_all_queries": "is computed by a function over all queries, and has no test",
    "mean_of_groups": "is a mean of means over groups",
    # the order in which answers were shown
    "order_in_pairs": _order_in_pairs,
    "order_in_lists": _order_in_lists,
    "order_not_recorded": _order_not_recorded,
    "order_unvaried": _order_unvaried,
    "no_order_recorded": "the order in which answers were shown is not recorded",
    "position_moves_answers": "position moves an answer by {places:.2f} places",
    # strengths
    "missing_comparisons": _missing_comparisons,
    "failed_comparisons": _failed_comparisons,
    "pair_left_out": _pair_left_out,
    "many_comparisons_missing": "more than {most:.0%} is missing; judge these again",
    "labels_of_other_systems": "the labels were drawn to compare other systems",
    "labels_cover_all_comparisons": ("labels cover every comparison of this set, so nothing is uncertain"),
    # leaderboards
    "only_in_board": _only_in_board,
    "not_in_all_others": _not_in_all_others,
    "lower_is_better": "{measure}: lower is better",
    "runs_without_value": _runs_without_value,
    "means_of_topics": _means_of_topics,
    "constant_board": "the {board} is constant: no correlation is defined",
    "equal_runs": _equal_runs,
    "equal_at_place": "equal at place {place} of the truth: tau_b@{place} takes the first by name",
    "no_topics": _no_topics,
    "board_without_topics": _board_without_topics,
    "few_topics": _few_topics,
    "topics_without_value": _topics_without_value,
    "not_mean_of_topics": _not_mean_of_topics,
    "shared_topics": _shared_topics,
    "intervals_of_topics": (
        "the intervals are about these {number:,} topics, not new ones: they show how much a coefficient"
        " depends on the choice of topics"
    ),
    "equal_boards": "both have the same value for every topic and run, so the intervals have no width",
    "no_interval": "no interval, because all samples of the topics give the same value: {names}",
    "one_difference_of_samples": ("all samples of the topics give the same difference, so there is no test"),
    # logs and tables of answers
    "ignored_columns_of_log": (
        "ignored columns: {columns}; to read one: --map grade:NAME=COLUMN or fact:NAME=COLUMN"
    ),
    "path_fits_some": "{name}={path} fits {number:,} of {total:,} records",
    "list_read_as_passage": _list_read_as_passage,
    "mapped_ids_not_unique": (
        "--map query_id: an id stands for several questions, or a question has several"
    ),
    "no_passages": "no passages: if the log has them, set their paths: --map contexts=…,context_ids=…",
    "passages_without_id": "{number:,} passages had no id; using a hash of their text",
    "passages_of_one_id": (
        "{number:,} passages have a different text than one with the same id; the first is kept"
    ),
    "other_rankings": "{number:,} repeats retrieved other passages; the run has the first ranking",
    "passages_without_score": "some passages have no score: 1/rank is used for all",
    "scores_do_not_fall": "scores do not fall with the rank (are they distances?): 1/rank is used",
    "later_turns": (
        "{number:,} answers are later turns of a conversation; their questions do not include the earlier"
        " turns"
    ),
    "means_of_feedback": "feedback_stats ({names}) are means over feedback, and no judgements: left out",
    "log_without_success": "inspect marks this log not as a success, but as {status!r}",
    "references_without_ids": "{number:,} reference_contexts have no ids and are left out",
    "log_of_tool": "a log of {tool}",
    "columns_of_table": _columns_of_table,
    "ids_of_questions": "ids are made from the questions",
    "ids_not_unique": _ids_not_unique,
    "id_of_two_questions": _id_of_two_questions,
    "tables_joined_by_questions": _tables_joined_by_questions,
    "file_joined_by_questions": _file_joined_by_questions,
    "systems_named_alike": "several tables call their system {name}: they are {names} here",
    "lost_in_reports": "{number:,} reports written as {form} lose {lost}",
    "dataset_not_compared": "{name}: not compared ({error})",
    # bundles
    "bundle_without_digest": "that this is the bundle you were given; check it with --sha256",
    "cannot_be_recomputed": "cannot be recomputed: {reason}",
    "datasets_not_here": _datasets_not_here,
    "digests_checked": _digests_checked,
    "judge_not_of_rubric": "{judge}: expected {expected} by its rubric",
    "judgements_read_again": _reread_judgements,
    "judgements_without_reply": _judgements_without_reply,
    "labels_of_bundle": _labels_of_bundle,
    "line_differs": _line_differs,
    "line_not_in_both": _line_not_in_both,
    "line_not_json": "line {number}: expected {expected}",
    "line_of_another_format": "line {number}: has another format",
    "no_such_reply": _no_such_reply,
    "no_values_to_recompute": "there are no values to recompute them from",
    "not_as_in_manifest": "differs from {manifest}",
    "not_in_bundle": "is not in the bundle",
    "not_in_manifest": "is not in {manifest}",
    "not_in_reply": "{judgement}: the reply does not mention it",
    "not_recomputed": "{reason}",
    "other_bundle": _other_bundle,
    "other_intervals": _other_intervals,
    "other_row": _other_row,
    "other_rubric": "is {version}, judgements were made by {rubric}",
    "other_verdict_in_reply": "{judgement}: the reply says {reply}, the judgement says {verdict}",
    "places_recomputed": _places_recomputed,
    "replies_not_in_bundle": (
        "the replies of {number:,} judgements are not in the bundle; pass them with --inputs FOLDER (from a"
        " full bundle, or judgements with replies)"
    ),
    "replies_of_judge": (
        "that the judge gave these replies to these prompts, and that quotes are in the passages"
    ),
    "reply_not_readable": "{judgement}: the reply cannot be read ({reason})",
    "rubric_not_in_bundle": "{rubric}: the rubric is not in the bundle",
    "rubric_not_readable": _rubric_not_readable,
    "title_and_rules": _title_and_rules,
    "values_recomputed": "{number:,} values of {runs:,} systems",
    "withheld_and_unneeded": "is withheld, and no step needs it",
    "other_version": (
        "the bundle was made by rageval {bundle}, this is {here}: signatures and values may differ for this"
        " reason"
    ),
    # spans
    "anchored_judgements": _anchored_judgements,
    "wide_spans": (
        "{number:,} judgements have no quote, so their whole chunk is a wide span: in chunks with only a part"
        " of it, it is undecided whether the nugget is there"
    ),
    "lost_quotes": _lost_quotes,
    "stale_spans": _stale_spans,
    "moved_spans": "{number:,} spans were found again by their quotes: the sources have changed",
    "unheld_nuggets": _unheld_nuggets,
    "undecided_pairs": _undecided_pairs,
}
