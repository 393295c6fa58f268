"""The words for remarks: one template or function for each code.

The parameters of a function, and the fields of a template, are the facts of the remark. They may also be
`systems`, `measure` and `file`, which are what the remark is about; what the words do not name of these
stands before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypeAlias

from rageval.core.basis import Basis, BasisKind
from rageval.core.remark import Remark
from rageval.names import UnlikeIds, describe_unlike_ids
from rageval.text import visible
from rageval.views.bases import NO_WINNER, attribution, conditions_of, describe_basis, name_judges
from rageval.views.templates import SHOWN, Choice, Each, Template, facts_in, fill

Words: TypeAlias = Template | Callable[..., str]

ADAPTIVE = (
    "what was judged was chosen by earlier judgements, so means may be biased: nothing is tested or corrected"
)
SCOPE = frozenset({"systems", "measure", "file"})


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
    text = words(**facts) if callable(words) else fill(words, facts)
    return ": ".join([*head, text])


def brief(remarks: Iterable[Remark]) -> list[str]:
    """Return a line for each kind of remark: the first, and how many there are more of it.

    >>> from rageval.core.remark import Scope
    >>> brief(Remark("unjudged_queries_of_run", Scope((run,)), {"number": 3}) for run in "abc")
    ['a: 3 queries of the run are not judged (ignored) (and 2 more such remarks: --details)']
    """
    kinds: dict[str, list[Remark]] = {}
    for remark in remarks:
        kinds.setdefault(remark.code, []).append(remark)
    return [
        str(first) + (f" (and {len(others):,} more such remarks: --details)" if others else "")
        for first, *others in kinds.values()
    ]


@cache
def names_in(words: Words) -> frozenset[str]:
    """Return what the words need: facts, and what the remark is about.

    >>> sorted(names_in("{number:,} of {total:,}"))
    ['number', 'total']
    """
    if callable(words):
        code: Any = words.__code__
        return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    return frozenset(facts_in(words))


def _visible(value: Any) -> Any:
    if isinstance(value, Remark):
        return remark_text(value)
    if isinstance(value, str):
        return visible(value)
    return tuple(map(_visible, value)) if isinstance(value, tuple) else value


def _undefined_queries(*, measures: Sequence[str], queries: int, number: int) -> str:
    names = ", ".join(measures)
    if not queries:
        return f"{names}: undefined on each of {number:,} queries"
    verb = "rests" if len(measures) == 1 else "rest"
    return f"{names} {verb} on {queries:,} of {queries + number:,} queries; on the others undefined"


# --- scores of answers


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
    names = fill("{examples:… {number}}", {"examples": examples, "number": total - answered})
    others = f"the others ({names})"
    effects = [f"are missing in {', '.join(missing_in)}"] * bool(missing_in)
    effects += [f"score 0 in {', '.join(zero_in)}"] * bool(zero_in)
    what = f"{' and '.join(effects)} (--intersection leaves them out)"
    return f"answered {answered:,} of {total:,} queries; {others} {'are left out' if is_left_out else what}"


# --- labels


def _labels_of_judges(*, labelers: Sequence[str]) -> str:
    # Of several labelers one may be a person: then it is not true that none is.
    some = any(Basis.of_labels([labeler]).kind is BasisKind.PEOPLE for labeler in labelers)
    return (
        f"{'not human labels alone' if some else 'no human labels'}: claims are by"
        f" {name_judges(Basis.of_labels(labelers))}, and include its errors; people are called person:NAME"
    )


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


# --- diagnosis


_EFFECTS_OF_MISSING = {
    "error": "judge them again, or use --on-missing skip, worst or best",
    "skip": "left out",
    "worst": "counted as not in the answer",
    "best": "counted as in the answer",
}


def _missing_nuggets(*, by_status: Sequence[tuple[str, int]], on_missing: str) -> str:
    missing = f"{sum(number for _, number in by_status):,} judgements of nuggets in answers are missing"
    counts = ", ".join(f"{number:,} {status}" for status, number in by_status)
    return f"{missing} ({counts}); {_EFFECTS_OF_MISSING[on_missing]}"


# --- judging


def _answered_in_part(*, systems: Sequence[str], answered: int, total: int, failed: int, lacking: int) -> str:
    parts = [f"{failed:,} failed"] * bool(failed) + [f"{lacking:,} not in the file"] * bool(lacking)
    restrict = "; if it was asked only these, give --questions with these alone" if lacking else ""
    return (
        f"{', '.join(systems)} answered {answered:,} of {total:,} questions ({', '.join(parts)}); the others"
        f" count as failed judgements and are missing{restrict}"
    )


# --- reasons: of a verdict on two systems


def _p_at_least(
    *, p: float, draws: int, differ: int, is_clustered: bool, pairs: int, adjusted: float | None
) -> str:
    unit = "clusters" if is_clustered else "queries"
    if draws:
        # Below 1 in all draws there is nothing; above it p is a bound.
        floor = f"1/{draws + 1:,}" if p * (draws + 1) > 1 - 1e-9 else f"{p:.2g}, a bound"
        text = f"p is at its floor of {floor}: none of {draws:,} draws reached the difference"
    else:
        text = f"p cannot be below {p:.2g} where no more than {differ:,} {unit} differ"
    if adjusted is not None:
        text += f"; Holm over {pairs:,} pairs makes it {adjusted:.2g}"
    return f"{text}; {'more --draws' if draws else f'more {unit}'} can help"


# --- reasons: of a corrected value


_NO_INTERVAL = " (no interval: too few queries, or all alike)"
_VALUES_DIFFER = "the judge's values of labeled queries differ from those of the others (p {p:.1e})"


# --- reasons: of a gate's decision


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


# --- sets of measures


def _measures_not_offered(*, name: str, missing: Sequence[str]) -> str:
    listed = (" and " if len(missing) == 2 else ", ").join(missing)
    return f"{name}: without {listed}, which are not offered"


# --- the order in which answers were shown


_Lead: TypeAlias = tuple[float, float | None, float | None]


def _order_in_lists(
    *, judge: str, number: int, different: int, known: int, first: _Lead, place: int | None, farthest: _Lead
) -> str:
    rankings = f"{number:,} rankings" + (f" ({different:,} different)" if different < known else "")
    rest = "" if place is None else f", shown at {place}, {_describe_lead(farthest)}"
    by = f"{judge}: " if judge else ""
    return f"{by}in {rankings} an answer shown first is ranked {_describe_lead(first)}{rest}"


def _describe_lead(place: _Lead) -> str:
    lead, low, high = place
    interval = _NO_INTERVAL if low is None else f" [{low:.2f}, {high:.2f}]"
    return f"{abs(lead):.2f} places {'behind' if lead < 0 else 'ahead'}{interval}"


# --- logs and tables of answers


def _columns_of_table(
    *, columns: Sequence[tuple[str, str]], others: Sequence[str], ids: str | None, repeats: int
) -> str:
    parts = [", ".join(f"{field} = {column}" for field, column in columns)]
    parts += [f"kept as fields: {', '.join(others)}"] * bool(others)
    parts += [ids] if ids else []
    parts += [f"{repeats:,} rows answer the same question again and count as repeats"] * bool(repeats)
    return "; ".join(parts)


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
        f"{conditions_of(Basis.parse(basis, corrected_from, drawn))}"
        f"{'' if is_changed else '; the packed curve is kept'}"
    )


# --- bundles


def _judgements_without_reply(*, judges: Sequence[tuple[str, int]], number: int) -> str:
    names = ", ".join(f"{name or 'an unnamed judge'} ({count:,})" for name, count in judges)
    more = f" and {number - len(judges):,} more" if number > len(judges) else ""
    return f"judgements without a reply, by {names}{more}"


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


# Parts of several templates.
_RANGE = (
    "from {low:.4f} to {high:.4f} ",
    Choice(
        "over",
        {
            "orders": "over all orders of equal scores",
            "grades": "for any grades of the unjudged documents",
            "chunks": "for any content of the undecided chunks",
        },
    ),
    Choice("highest", {None: ""}, ", with no grade above {highest:,}"),
)
_JUDGE = Choice("judge", {"": ""}, "{judge}: ")
_NO_TEST = ", so there {is_of_test:is no test|are no intervals}"

WORDS: dict[str, Words] = {
    # scores of runs
    "adaptive_judgements": ADAPTIVE,
    "ignored_columns": "ignored columns: {columns}",
    "weights_of_unjudged_nuggets": (
        "{number:,} weights of {file} {number:is|are} for unjudged nuggets (ignored)"
    ),
    "needs_nuggets": (
        "needs nuggets, but {file} names none",
        Choice("unread", {(): ""}, " (ignored columns: {unread})"),
        "; use judgements with a nugget in every row, a measure of documents (ndcg@10), or"
        " --nuggets-in-qrels no"
        " to count all documents for one nugget (nuggets_in_qrels=False in Python)",
    ),
    "plain_second_column": (
        "every document has only one number in the second column, which nugget measures read as its nugget;"
        " if it is not a nugget, use --nuggets-in-qrels no (nuggets_in_qrels=False in Python), otherwise yes"
        " (True)"
    ),
    "one_nugget_per_query": ("the judgements have one nugget per query everywhere; are these plain qrels?"),
    "not_read_by_workers": (
        "could not be read ",
        Choice("by", {"workers": "by the workers", "parts": "in parts"}),
        " ({error}); read in one piece by this process instead",
    ),
    "nothing_judged_of_run": _nothing_judged_of_run,
    "measures_not_offered": _measures_not_offered,
    "set_of_track": "{name}: {description}",
    "figures_of_program": (
        "{name}: its program's figures are those under --compat {program} (compat={program!r} in Python)"
    ),
    "missing_queries": (
        "{number:,} of {total:,} judged queries are not in the run (",
        Choice(
            "is_left_out",
            {False: "score 0; --intersection leaves them out)"},
            Choice("compat", {None: "are left out)"}, "are left out, as {compat} does; -c counts them)"),
        ),
    ),
    "queries_without_relevant": (
        "{number:,} of {total:,} judged queries have no relevant documents (they are left out)"
    ),
    "nothing_relevant": "no judged query has a relevant document: no run can find any",
    "undefined_queries": _undefined_queries,
    "undefined_groups": (
        "{number:,} of {total:,} groups have no value ({examples:… {number}}), so"
        " {is_weighted:there is no weighted mean|the mean is over the others}"
    ),
    "unjudged_queries": ("no document is judged in {number:,} of {total:,} queries: {examples:… {number}}"),
    "unjudged_queries_of_run": "{number:,} queries of the run are not judged (ignored)",
    "unjudged_documents": (
        "{share:.0%} of the top {depth:,} is unjudged, counted as not relevant",
        Choice("has_bounds", {False: "; use --bounds to see the possible range"}),
    ),
    "tied_cutoffs": (
        "queries with equal scores on both sides of a cut-off: ",
        Each("queries", "{1:,} at rank {0}"),
        " (ties: {ties})",
    ),
    "rank_conflicts": "the rank column contradicts the scores in {number:,} queries ({used} are used)",
    "above_1": "{measure} is above 1 in {number:,} queries: {reason}",
    "rel_without_effect": "--rel {rel} has no effect on {measures}, which have no lowest grade",
    "range_of_value": _RANGE,
    "range_of_judge": ("the judge's mean, uncorrected: ", *_RANGE),
    "too_many_orders": "too many orders of equal scores to compute its range",
    "ndeval_order": (
        "--compat ndeval orders by the rank column, as the C program does; for equal scores by"
        " ascending document id, use --compat pyndeval"
    ),
    "gap_to_greedy": (
        "the greedy ideal is not the best ranking in {number:,} of {total:,} queries",
        Choice("number", {0: ""}, ", by up to {largest:.2%}"),
    ),
    # scores of answers
    "unknown_rubric": (
        "{number:,} judgements have ",
        Choice("rubric", {"": "no rubric"}, "the rubric {rubric!r}, which is unknown,"),
        " and are left out: labels of {scale} in other rows name their rubric; expected one of {rubrics} for"
        " each",
    ),
    "uncertain_verdicts": _uncertain_verdicts,
    "unanswered_queries": _unanswered_queries,
    "fewer_answers": (
        "{number:,} of {total:,} queries have fewer than {answers:,} answers (repeat), as many as others"
        " have:"
        " {examples:… {number}}; the answers that they lack are missing"
    ),
    "questions_without_gold": (
        "{number:,} of {total:,} questions have no gold answer and are left out: {examples:… {number}}"
    ),
    "missing_judgements": (
        "{number:,} judgements are missing (",
        Each("by_status", "{1:,} {0}"),
        ")",
        Choice("low", {None: ""}, "; from {low:.4f} to {high:.4f}"),
    ),
    "spread_of_answers": (
        "standard deviation of answers {answers:.3f} (",
        Choice("judges", {None: "including the judge: see gate --aa"}, "judges of one answer {judges:.3f}"),
        "), of questions {questions:.3f}; {advice}",
    ),
    "values_by_judge": ("by judge: ", Each("values", "{0} {1:.4f}")),
    "unlike_nuggets": (
        "the systems were judged by different nuggets in {number:,} queries: in {query}, {judged} of {total}"
        " systems by {nugget:'.60'}; their scores are not comparable there"
    ),
    "unlike_importance": "{number:,} nuggets are vital for some systems, but okay or unrated for others",
    "unlike_weights": "{number:,} criteria have different weights, or none, for different systems",
    "matched_questions_not_in_file": "{number:,} matched questions are not in {file}; they are ignored",
    "judged_nuggets_not_in_file": (
        "{number:,} judged nuggets are not in {file}, the first {nugget:'.60'} of query {query!r}; they"
        " keep the"
        " importance in the judgements"
    ),
    "unjudged_nuggets": (
        "{number:,} nuggets of {file} {number:was|were} not judged, the first {nugget:'.60'} of query"
        " {query!r}; no measure counts them"
    ),
    "unrated_nuggets": "{number:,} judged nuggets have neither importance nor weight in {file}",
    "answers_without_reference": (
        "{answers:,} answers without a reference are left out",
        Choice("questions", {0: ""}, ", and with them {questions:,} questions that have no other answer"),
        ", as Auto-ARGUE does",
    ),
    "unused_kinds": ("judgements of kinds that no measure uses: ", Each("kinds", "{1:,} {0:.80}")),
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
    "labels_of_unjudged": "{number:,} {kind} are not among the judged ones: {examples:… {number}}",
    "partly_labeled": (
        "{number:,} queries were labeled only in part, or by another list ({examples:… {number}});"
        " these"
        " do not count as labels"
    ),
    "failed_labels": "{number:,} of {total:,} labels failed ({examples:… {number}})",
    "not_correctable": "cannot correct {measures}: {reason}",
    "computed_from_texts": "it is computed from the texts alone, not from judgements",
    "no_mean_over_queries": "it is not a mean over queries",
    # comparisons
    "no_value": (
        "{systems} has no value for any query: {is_hopeless:no judged query has anything relevant|it"
        " failed, or"
        " the measure is defined nowhere}"
    ),
    "nothing_judged": "none of its {number:,} documents is judged",
    "zero_everywhere": (
        "{systems} scores 0 on every query: {is_hopeless:no judged query has anything relevant|it failed, or"
        " found nothing that counts}"
    ),
    "no_best_run": (
        "{is_of_texts:a text match names no winner|neither high nor low is good}, so no run is the best; the"
        " others are compared with {base}"
    ),
    "queries_without_value": (
        "{number:,} queries have no value for some run; pairs use those with both values"
    ),
    "resampled_differences": (
        "computed from all answers together, so differences are tested by a paired bootstrap"
    ),
    "unlike_signatures": "the runs were scored by different rules; their signatures differ",
    "clusters": "{queries:,} queries in {clusters:,} clusters ({by})",
    "few_units": Choice(
        "number",
        {1: "1 independent query or cluster: no interval or test is possible"},
        "only {number:,} independent queries or clusters; the intervals are rough",
    ),
    "baseline_named_best": (
        "the others are compared with the best run of each measure, not with the run called {name!r}; rename"
        " that run to compare with it"
    ),
    "coarse_values": (
        "coarse, so intervals are widened: fewer than {fewest} values of {examples:{number} in all} differ"
        " from"
        " the most common one"
    ),
    "coarse_pairs": (
        "coarse, so intervals are widened: in {number:,} of {total:,} pairs fewer than {fewest} queries"
        " differ"
    ),
    "no_small_p": "p cannot be small enough in {number:,} of {total:,} pairs; see why",
    "repeats_help": (
        "{share:.0%} of the variance is between answers to one question: more of them (repeat) help ",
        Choice("most", {None: "most"}, "at most as much as {most:.1f} times the questions"),
    ),
    "not_detectable": (
        "no difference is detectable in {number:,} of {total:,} pairs: {differ:,}"
        " {is_clustered:clusters|queries} differ",
        Choice("number", {0: "", 1: ""}, " at most"),
        ", {needed} are needed",
    ),
    "skewed_differences": (
        "differences are skewed in {number:,} of {total:,} pairs: few large, many small. Of fewer than 50"
        " queries, verdicts on such differences are wrong too often"
    ),
    "labels_of_mean": Choice("has_value", {True: "{reason}"}, "no corrected mean: {reason}"),
    "labels_cover_all": "labels cover every query of this set, so nothing is uncertain",
    "swapped_pairs": (
        Choice("change", {"nugget": "one nugget less", "judge": "another judge", "vote": "one vote less"}),
        ": {share:.1%} of the pairs swap places",
        Choice("most_often", {(): ""}, ", most often {most_often:and}"),
    ),
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
    "judged_differently": (
        "the two were judged {are_opponents:against different systems|by different nuggets} in {number:,}"
        " queries"
    ),
    "queries_of_one_run": "{number:,} queries are in one run only",
    "not_on_others": "{reason}, and on the others the difference is not shown",
    "no_common_query": "there is no query on which both are defined",
    "difference_may_be_missing": "{number:,} judgements are missing, which could make a difference",
    "missing_may_reverse": "{number:,} judgements are missing, which could reverse it",
    "missing_queries_may_reverse": "judgements are missing in {number:,} queries, which could reverse it",
    "skewed": (
        "differences are skewed: few are large, many small; the test alone would decide, but the interval"
        " includes 0"
    ),
    "interval_includes_zero": "the test alone would decide, but the interval includes 0",
    "interval_of_pair_alone": (
        "the interval is of this pair alone, where p is {p:.2g}; among {pairs:,} pairs it is {adjusted:.2g}"
        " ({adjust})"
    ),
    "no_winner": NO_WINNER,
    "one_differs": (
        "only one of the {is_clustered:clusters|queries} differs, so no test can decide; more"
        " {is_clustered:clusters|queries} can"
    ),
    "p_at_least": _p_at_least,
    "coarse_difference": "coarse: {number:,} of {total:,} labels differ",
    "look_at_plan": (
        "{labeled:,} of {total:,} queries of the plan are labeled (p < {p:.2g}): ",
        Choice("is_decided", {True: "stop, it is clear"}, "{is_last:stop, it stays undecided|go on}"),
    ),
    # reasons: of a corrected value
    "any_value": "they may have any value",
    "correction_with_missing": "judgements are missing in {number:,} queries: {reason}",
    "labels_to_compare": "the labels were drawn to compare {names:and}, so they cannot correct a mean",
    "labels_of_other_pair": "the labels were drawn to compare only {names:and}",
    "labels_of_other_measure": "the plan decides only by {decides}",
    "many_labels_failed": ("{number:,} of {total:,} labels failed, more than {most:.0%}; label them again"),
    "few_labels": "labels for {number:,} of {is_of_pair:both|it} (≥ {needed} needed)",
    "no_other_value": "no rank: none of the other runs ({number:,}) has a value",
    "few_labels_of_queries": "labels for {number:,} of {total:,} ({needed} are needed)",
    "unequal_labels": "{number:,} labels count as {count:.1f} drawn alike (10 are needed)",
    "labels_in_few_clusters": "labels in {number:,} clusters ({needed} are needed)",
    "different_annotators": (
        "different annotators labeled the two systems in {number:,} of {total:,} queries",
        Choice("is_refused", {True: "; let the same annotators label both"}),
    ),
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
    "other_judges": (
        "judged by ",
        Choice("judges", {(): "no named judge"}, "{judges}"),
        Choice("rubrics", {(): ""}, " by {rubrics}"),
        ", the baseline by ",
        Choice("baseline_judges", {(): "no named judge"}, "{baseline_judges}"),
        Choice("baseline_rubrics", {(): ""}, " by {baseline_rubrics}"),
    ),
    "questions_without_judged": "no document is judged in {share:.0%} of the questions",
    "other_share_unjudged": "{share:.0%} of the top is unjudged, and {baseline:.0%} of the baseline's",
    # gates
    "zero_margin": (
        "with --margin 0 only a significantly better system ships, and an equal one only by luck; set the"
        " largest loss you accept"
    ),
    "same_everywhere": (
        "candidate and baseline {are_runs:rank the same|are judged alike} in every question",
        Choice("places", {(): ""}, " of {places}"),
    ),
    "gone_questions": (
        "{number:,} questions of the baseline are gone, and count as missing: {examples:… {number}}"
    ),
    "new_questions": (
        "{number:,} questions are new, and count as missing in the baseline; save it again:"
        " {examples:… {number}}"
    ),
    "lost_answers": (
        "{number:,} questions have no answer now, and count as nothing found: {examples:… {number}}"
    ),
    "new_answers": (
        "{number:,} questions have no answer in the baseline, and count as nothing found there:"
        " {examples:… {number}}"
    ),
    "other_nuggets": (
        "{number:,} questions are judged by other nuggets, and count as missing: {examples:… {number}}"
    ),
    "fewer_answers_to_questions": (
        "{number:,} questions have fewer answers (repeat) than others, and count as missing:"
        " {examples:… {number}}"
    ),
    "one_sided_questions": (
        "{number:,} questions are in one of the two only, and are left out (--intersection):"
        " {examples:… {number}}"
    ),
    "missing_in_questions": (
        "judgements are missing in {number:,} questions; verdicts {could_change:depend on them|hold for any"
        " values}"
    ),
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
    "no_value_for_floor": (
        "{measure} has no ",
        Choice("is_corrected", {True: "corrected value: {reasons:;}"}, "defined value"),
        "; expected {limit:g} or more (--fail-under)",
    ),
    "below_floor": _below_floor,
    "could_be_below_floor": _could_be_below_floor,
    "reasons_of_decision": "{measure}, {place}: {reasons:;}",
    "judged_again": _judged_twice,
    # corrections
    "systems_without_labels": "no human labels for {names}: left out",
    "missing_of_judge": (
        "{number:,} of the judge's judgements are missing",
        Choice("low", {None: ""}, "; with them its mean lies between {low:.4f} and {high:.4f}"),
    ),
    "not_corrected": "not corrected: {reason}",
    "labels_failed": "{number:,} labels failed",
    "coarse_labels": (
        "coarse: fewer than 6 of the labeled values differ from the most common one, or the judge's"
    ),
    "labels_of_parts": (
        "{number:,} answers have labels for a part only, ",
        Choice(
            "labels",
            {None: "and are left out"},
            "{labels:,} of {total:,} judgements in all; this assumes they were drawn at random",
        ),
    ),
    # diagnosis
    "gold_as_nuggets": (
        "each right answer is a nugget: passages are matched by words, answers by their labels"
    ),
    "gold_without_words": (
        "{number:,} of {total:,} questions have no right answer, or one such as yes that cannot be matched by"
        " words (left out)"
    ),
    "run_of_another": (
        "the run is tagged {tag!r}, but the answers are from {system!r}: check that {system} used this run"
    ),
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
    "rows_twice_in_table": (
        "{number:,} questions have several rows with the same answer, which counts once:"
        " {examples:… {number}}"
    ),
    "answers_differ_in_table": (
        "{number:,} questions have several rows with different answers, which count as missing; keep one row:"
        " {examples:… {number}}"
    ),
    "error_messages_in_table": (
        "{number:,} answers are error messages and count as missing (as wrong with --on-missing worst):"
        " {examples:… {number}}"
    ),
    "judged_by_logs": "judged by {judges}, as the logs say: {aspects}; --judge judges the answers again",
    "judged_by": "judged by {judges}, rubric {rubric}",
    "usual_measure": "no measure named, so {measures}",
    "no_digests": (
        "the judgements have no digests of what was judged (judged_sha), so changes to the answers cannot be"
        " detected"
    ),
    "error_of_short": (
        "short: was wrong on ",
        Each("percents", "{0:.1f}", " and "),
        " of 100 human-labeled answers on the two sets measured ({datasets}: English, short facts). It may"
        " err more on other data, and accepts wrong answers that name the right one (see the page short of"
        " the documentation)",
    ),
    "not_english": (
        "short: {number:,} of {total:,} questions {number:does|do} not look English; it was fitted and"
        " measured on English, so its error rate here is unknown"
    ),
    "long_answers": (
        "short: {number:,} of {total:,} answers are longer than any it was fitted on ({words:,} words)"
    ),
    "fitted_short": _fitted_short,
    "judge_without_fence": (
        "{judge} was asked without a fence, like its source; of attacks on it, ",
        Choice(
            "total",
            {0: "none was tried"},
            "{number:,} of {total:,} verdicts on attacks were the best possible",
        ),
    ),
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
    "order_in_pairs": (
        _JUDGE,
        "of {number:,} pairs ",
        Choice(
            "consistent",
            {None: "that were each shown in one order,"},
            "shown in both orders {consistent:.1%} keep their verdict;",
        ),
        " the answer shown first wins {first_wins:.1%}",
        Choice("low", {None: _NO_INTERVAL}, " [{low:.1%}, {high:.1%}]"),
    ),
    "order_in_lists": _order_in_lists,
    "order_not_recorded": (
        _JUDGE,
        "{number:,} of {total:,} rankings and games do not record the order in which answers were shown"
        " (`shown`)",
    ),
    "order_unvaried": (
        _JUDGE,
        "the effect of position is unknown: each answer was shown at one position only",
    ),
    "no_order_recorded": "the order in which answers were shown is not recorded",
    "position_moves_answers": "position moves an answer by {places:.2f} places",
    # strengths
    "pair_met_in_part": ("{systems:and} met in {number:,} of {total:,} queries; the others are left out"),
    "pairs_met_in_part": "{number:,} pairs of systems met in {least:,} to {most:,} of {total:,} queries",
    "never_lost": "{systems} never lost: no strength, only the lower end of its interval",
    "never_won": "{systems} never won: no strength, only the upper end of its interval",
    "not_comparable": "{systems} met none of the systems that have strengths, and has none",
    "no_strength_intervals": "no intervals: they need comparisons of two or more queries or clusters",
    "missing_comparisons": (
        "{systems:and}: the judge's comparison is missing in {number:,} of {total:,} queries"
    ),
    "failed_comparisons": "{systems:and}: human comparisons failed in {number:,} queries",
    "pair_left_out": "{systems:and}: left out: {reason}",
    "many_comparisons_missing": "more than {most:.0%} is missing; judge these again",
    "labels_of_other_systems": "the labels were drawn to compare other systems",
    "labels_cover_all_comparisons": ("labels cover every comparison of this set, so nothing is uncertain"),
    # leaderboards
    "only_in_board": "only in the {board}, and left out: {examples:{number} in all}",
    "not_in_all_others": "in {board}, but not in all others, so left out: {examples:{number} in all}",
    "lower_is_better": "{measure}: lower is better",
    "runs_without_value": "left out, without a value: {examples:{number} in all}",
    "means_of_topics": (
        "the {board} has no row {row!r} for ",
        Choice("number", {0: "all runs"}, "{examples:{number} in all}"),
        "; using means of topics",
    ),
    "constant_board": "the {board} is constant: no correlation is defined",
    "equal_runs": "equal in the {board}, for RBO by name: {examples:{number} in all}",
    "equal_at_place": "equal at place {place} of the truth: tau_b@{place} takes the first by name",
    "no_topics": (Choice("boards", {2: "neither"}, "none"), " has rows of topics", _NO_TEST),
    "board_without_topics": ("the {board} has no rows of topics that all runs share", _NO_TEST),
    "few_topics": (
        "topics that all runs have in ",
        Choice("boards", {2: "both"}, "all"),
        ": {number}, fewer than {needed}",
        _NO_TEST,
    ),
    "topics_without_value": ("some topics have no value for some runs", _NO_TEST),
    "not_mean_of_topics": ("in the {board}, {row!r} is not the mean of the topics", _NO_TEST),
    "shared_topics": (
        "{is_of_test:the test is|intervals are} over the {number:,} topics that ",
        Choice("boards", {2: "both"}, "all"),
        " have, of ",
        Each("totals", "{0:,}", " and "),
    ),
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
    "list_read_as_passage": (
        "{name}={path}: a list written as text was read as one passage; to read it as a list: --map"
        " '{name}={path}{way}'"
    ),
    "mapped_ids_not_unique": (
        "--map query_id: an id stands for several questions, or a question has several"
    ),
    "no_passages": "no passages: if the log has them, set their paths: --map contexts=…,context_ids=…",
    "no_searches": "no tool is a search; name those that are with --search-tool: {tools}",
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
    "ids_not_unique": (
        "the ids do not identify questions (",
        Choice("row", {None: "{id} stands for several questions"}, "{row} has none"),
        "), so they are made from the questions",
    ),
    "id_of_two_questions": "id {id} is {first:'.60'} in one file and {second:'.60'} in another",
    "tables_joined_by_questions": (
        Choice("clash", {None: "the tables share no ids"}, "{clash}"),
        ", so they are joined by their questions",
    ),
    "file_joined_by_questions": (
        Choice("clash", {None: "shares no ids with the answers"}, "{clash}"),
        ", so it is joined by the questions",
    ),
    "systems_named_alike": "several tables call their system {name}: they are {names} here",
    "lost_in_reports": "{number:,} reports written as {form} {number:loses|lose} {lost}",
    "dataset_not_compared": "{name}: not compared ({error})",
    # bundles
    "bundle_without_digest": "that this is the bundle you were given; check it with --sha256",
    "cannot_be_recomputed": "cannot be recomputed: {reason}",
    "datasets_not_here": ("of datasets that are not on this computer: ", Each("datasets", "{0} ({1})")),
    "digests_checked": ("{number:,} files", Choice("has_digest", {True: " and the bundle itself"})),
    "judge_not_of_rubric": "{judge}: expected {expected} by its rubric",
    "judgements_read_again": Choice(
        "has_replies", {True: "{number:,} judgements"}, "no judgement has a reply"
    ),
    "judgements_without_reply": _judgements_without_reply,
    "labels_of_bundle": (
        "that {labels} holds human labels, and how these were chosen (",
        Choice("chosen", {"": "not said"}, "{chosen}"),
        ")",
    ),
    "line_differs": (
        "line {number} (",
        Each("place", "{0:.60}"),
        "): ",
        Each("changes", "{0} {1}, recomputed {2}", "; "),
    ),
    "line_not_in_both": "line {number}: {is_published:does not follow|is not published}",
    "line_not_json": "line {number}: expected {expected}",
    "line_of_another_format": "line {number}: has another format",
    "no_such_reply": "{sha256:.64}: no reply has this SHA-256",
    "no_values_to_recompute": "there are no values to recompute them from",
    "not_as_in_manifest": "differs from {manifest}",
    "not_in_bundle": "is not in the bundle",
    "not_in_manifest": "is not in {manifest}",
    "not_in_reply": "{judgement}: the reply does not mention it",
    "not_recomputed": "{reason}",
    "other_bundle": "the bundle has the SHA-256 {sha256}, expected {expected:.64}",
    "other_intervals": "intervals {published:.120}, recomputed {recomputed}",
    "other_row": "{published:.120}, recomputed {recomputed}",
    "other_rubric": "is {version}, judgements were made by {rubric}",
    "other_verdict_in_reply": "{judgement}: the reply says {reply}, the judgement says {verdict}",
    "places_recomputed": (
        "{number:,} places on the leaderboard",
        Choice("rounded", {0: ""}, "; {rounded:,} ends of intervals to 9 digits"),
    ),
    "replies_not_in_bundle": (
        "the replies of {number:,} judgements are not in the bundle; pass them with --inputs FOLDER (from a"
        " full bundle, or judgements with replies)"
    ),
    "replies_of_judge": (
        "that the judge gave these replies to these prompts, and that quotes are in the passages"
    ),
    "reply_not_readable": "{judgement}: the reply cannot be read ({reason})",
    "rubric_not_in_bundle": "{rubric}: the rubric is not in the bundle",
    "rubric_not_readable": "{reason:.200}",
    "title_and_rules": "the title {title:'.200'}, and that files follow the rules of {track:.40}",
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
    "unheld_nuggets": (
        "no chunk holds {number:,} of {total:,} nuggets by {overlap}; they count as not found"
        " ({examples:… {number}})"
    ),
    "undecided_pairs": (
        "{number:,} pairs of a nugget and a chunk are undecided ({chunks:,} chunks hold a part of a wide"
        " span,"
        " and the nugget may be in the other part)"
    ),
}
