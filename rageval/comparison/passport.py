"""A judge's passport: everything that says how far its judgements can be trusted, beside those of people.

Judgements come in whatever form the field keeps them. Those of documents (qrels, UMBRELA's, a dataset's) are
of the system `documents`, as a judge of relevance or support writes them; assignments of the nuggetizer are
known by the text of the nugget.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, repeat
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from rageval import hooks
from rageval.comparison.arena import compares_answers, positions_in
from rageval.core.basis import Basis
from rageval.core.judge import parse_judge
from rageval.errors import InputError, Place
from rageval.files.foreign_judgements import read_judged
from rageval.files.jsonl import Batch, read_batches, read_records
from rageval.files.judgements import EXPECTED, Assignment, JudgementLine, distinct, folded
from rageval.files.judgements import EXPECTED_ASSIGNMENT as ASSIGNMENTS
from rageval.files.kinds import kind_of_start, start_of_file, wrong_kind
from rageval.files.opening import Source, name_of
from rageval.files.start import EITHER, JUDGED_DOCUMENTS
from rageval.judges.base import Usage
from rageval.judges.budget import cost
from rageval.judges.material import DOCUMENTS
from rageval.judges.votes import GRADED, JudgementKey, place, voted
from rageval.measures.scales import ALL, CRAG, FAULTS
from rageval.records import Qrel
from rageval.scoring.answers import scored as scored_answers
from rageval.scoring.gold import Draw
from rageval.scoring.scores import mean
from rageval.scoring.sources import read_qrels
from rageval.statistics.agreement import Agreement, agreement, alpha, correctness, table_of
from rageval.statistics.rankings import tau_ap, tau_b
from rageval.statistics.samples import Float
from rageval.table import Displayed, or_none
from rageval.text import problem_of_id, visible

# Whether two judges rank systems alike, and what a judge leans on besides quality.
#
# It may lean on long answers, on its own family of models; on where an answer was shown: see `arena`.

_FAMILIES = {
    "claude": r"claude|anthropic",
    "command": r"command-?r|cohere",
    "deepseek": r"deepseek",
    "gemini": r"gemini|gemma|google",
    "gpt": r"gpt|openai|chatgpt|\bo[134]\b",
    "llama": r"llama",
    "mistral": r"mistral|mixtral|ministral",
    "phi": r"\bphi-?\d",
    "qwen": r"qwen|qwq",
}


def length_bias(errors: Mapping[tuple[str, str], float], lengths: Mapping[tuple[str, str], float]) -> float:
    """Return Kendall's τ_b between answer length and how much too well answers were judged, or NaN."""
    keys = [key for key in errors if key in lengths]
    columns = (np.array([column[key] for key in keys], np.float64) for column in (errors, lengths))
    return tau_b(*columns)


def _families_of(name: str) -> set[str]:
    """Return the families of models that a name speaks of.

    >>> _families_of("anthropic:claude-sonnet"), _families_of("baseline-bm25")
    ({'claude'}, set())
    """
    return {family for family, words in _FAMILIES.items() if re.search(words, name.lower())}


def kin(judges: Iterable[str], systems: Iterable[str]) -> list[str]:
    """Return systems whose names contain a judge's family: a judge tends to prefer its own family."""
    own = set().union(*map(_families_of, judges))
    return [system for system in systems if _families_of(system) & own]


def retest_agreement(pairs: Sequence[tuple[str, float, float]]) -> list[tuple[float, float, float]]:
    """Return how far verdicts agree with those of the same judge asked again: the share of equal grades, κ.

    `pairs` are the query, the first grade and the second; each coefficient has its value and the ends of its
    interval over queries, at 95 %. Empty without pairs.
    """
    if not pairs:
        return []
    queries, one, other = zip(*pairs, strict=True)
    named = {
        row.name: (row.value, row.low, row.high)
        for row in agreement(np.array(one, np.float64), np.array(other, np.float64), queries)
    }
    return [named["agreement"], named["kappa"]]


Values = Mapping[str, Mapping[str, float]]  # system -> query -> value


class RankingAgreement(NamedTuple):
    """Kendall's τ_b and τ_AP of the systems' means; the mean τ_b over the queries where it is defined."""

    systems: int
    tau_b: float
    tau_ap: float
    tau_per_topic: float
    topics: int


_Weights = Mapping[str, float] | None  # by query; None if all count alike


def _mean_of(values: Mapping[str, float], weights: _Weights) -> float:
    if weights is None or not values:
        return mean(values.values())
    counted = [(value, weights[query]) for query, value in values.items()]
    return math.fsum(value * weight for value, weight in counted) / math.fsum(w for _, w in counted)


def compare_rankings(judged: Values, gold: Values, weights: _Weights = None) -> RankingAgreement:
    """Return how far two judges agree on which systems are better."""
    systems = sorted(judged.keys() & gold.keys())
    mine, theirs = (
        np.array([_mean_of(values[name], weights) for name in systems]) for values in (judged, gold)
    )
    is_defined = ~(np.isnan(mine) | np.isnan(theirs))
    mine, theirs = mine[is_defined], theirs[is_defined]
    if len(mine) < 2:
        return RankingAgreement(len(mine), math.nan, math.nan, math.nan, 0)
    of_topics = {}
    for query in dict.fromkeys(query for name in systems for query in judged[name]):
        values = [
            (judged[name][query], gold[name][query])
            for name in systems
            if query in judged[name] and query in gold[name]
        ]
        table = np.array(values, np.float64).reshape(-1, 2)
        table = table[~np.isnan(table).any(axis=1)]
        tau = tau_b(table[:, 0], table[:, 1]) if len(table) > 1 else math.nan
        # Undefined where one of the two finds all systems alike there.
        if not math.isnan(tau):
            of_topics[query] = tau
    of_topic = _mean_of(of_topics, weights)
    return RankingAgreement(len(mine), tau_b(mine, theirs), tau_ap(theirs, mine), of_topic, len(of_topics))


def mean_grades(judgements: Iterable[tuple[str, str, float]]) -> Values:
    """Return the mean grade of every system and query, from (query, system, grade)."""
    of_answer: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for query, system, grade in judgements:
        of_answer[query, system].append(grade)
    means: dict[str, dict[str, float]] = {}
    for (query, system), grades in of_answer.items():
        means.setdefault(system, {})[query] = mean(grades)
    return means


def scored(measure: str, judgements: Iterable[Mapping[str, Any]], nuggets: Any = None) -> Values:
    """Return the values of a measure, turned so that high is good; what is missing is left out."""
    results = scored_answers(measure, list(judgements), nuggets=nuggets, on_missing="skip")
    oriented = {}
    for run, scores in results.items():
        score = next(iter(scores.values()))
        sign = -1.0 if score.measure.better == "lower" else 1.0
        oriented[run] = {query: sign * value for query, value in score.by_query.items()}
    return oriented


# What is said of each place; equal sayings of a file are one object, so that each is looked at once.
Judged = Mapping[JudgementKey, Mapping[str, Any]]
_PLACE = ("query_id", "run_id", "item_id", "aspect")
_ALWAYS = ("status", "judge")  # what a saying has in any case
_ANSWER = itemgetter(0, 1)  # of a place: query and run


@dataclass(frozen=True, slots=True, repr=False)
class Passport(Displayed):
    """The comparison of a judge with gold judgements; `confusion[i][j]` counts judge's label i, gold's j."""

    _display = hooks.display_of_passport

    coefficients: Sequence[Agreement]
    labels: Sequence[str]
    confusion: Sequence[Sequence[int]]
    facts: Mapping[str, Any]

    def sentences(self) -> list[str]:
        """Return what was compared, the direction of the judge's errors, and its biases."""
        sentences: list[str] = self._display(self).sentences()
        return sentences

    def _records(self) -> list[dict[str, Any]]:
        return [
            {
                "coefficient": coefficient.name,
                "value": coefficient.value,
                "low": coefficient.low,
                "high": coefficient.high,
            }
            | {"drawn": self.facts["drawn"]}
            for coefficient in self.coefficients
        ]

    def plot(self) -> Any:
        """Return a figure of matplotlib's: the coefficients with their intervals, and the confusion."""
        return hooks.figure_of_passport(self)

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for a program."""
        coefficients = {
            coefficient.name: {
                "value": or_none(coefficient.value),
                "low": or_none(coefficient.low),
                "high": or_none(coefficient.high),
            }
            for coefficient in self.coefficients
        }
        confusion = [list(row) for row in self.confusion]
        return {
            **self.facts,
            "coefficients": coefficients,
            "labels": list(self.labels),
            "confusion": confusion,
        }


def read(source: Source, nuggets_in_qrels: bool | None = None) -> Judged:
    """Return the judgements of a file, by what they are about; a second judge's are refused.

    They may be rageval's, qrels, UMBRELA's, the nuggetizer's assignments or a dataset's; `nuggets_in_qrels`
    says whether the second column of qrels names a nugget (None: if it looks so).
    """
    judged: dict[JudgementKey, Mapping[str, Any]] = {}
    for name, lines, places, judgements in _checked_batches(source, nuggets_in_qrels):
        for line, key, judgement in zip(lines, places, judgements, strict=False):
            # Two judges under one name would be averaged away; whose the disagreement is could not be seen.
            if key in judged:
                raise InputError(
                    at=_where(name, line),
                    problem=f"already judged by {judged[key]['judge']!r}",
                    expected=f"one judge a file{_repeat_hint(judgement)}",
                )
            judged[key] = judgement
    return judged


def read_people(source: Source, nuggets_in_qrels: bool | None = None) -> dict[str, Judged]:
    """Return the judgements of a file by annotator; a repeated judgement by the same annotator is refused."""
    people: dict[str, dict[JudgementKey, Mapping[str, Any]]] = {}
    for name, lines, places, judgements in _checked_batches(source, nuggets_in_qrels):
        for line, key, judgement in zip(lines, places, judgements, strict=False):
            # People may stand in one file, told apart by the field; without it they are one.
            own = people.setdefault(judgement["judge"], {})
            if key in own:
                judge = visible(judgement["judge"])
                raise InputError(
                    at=_where(name, line), problem=f"already judged by {judge!r}{_repeat_hint(judgement)}"
                )
            own[key] = judgement
    return dict(people)


def _repeat_hint(judgement: Mapping[str, Any]) -> str:
    """Return the way out where several answers of a system to a query were judged."""
    return ", and one repeat of each answer" if "repeat" in judgement else ""


def together(people: Mapping[str, Judged]) -> Judged:
    """Return the majority of several annotators for each item; without a majority, none."""
    if len(people) == 1:
        # One person needs no vote, and keeps grades that no vote could give.
        return next(iter(people.values()))
    judgements = (judgement for own in people.values() for judgement in records_of(own.items()))
    return {place(judgement): judgement for judgement in voted(judgements, "majority")}


def records_of(judgements: Iterable[tuple[JudgementKey, Mapping[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield judgements with what they are about."""
    return ({**dict(zip(_PLACE, key, strict=True)), **judgement} for key, judgement in judgements)


class _Content(NamedTuple):
    """What is said of one place or of several."""

    fields: Mapping[str, Any]
    number: int
    first: JudgementKey


def _distinct_contents(judged: Judged) -> list[_Content]:
    """Return everything that is said, each once, by first appearance."""
    number = Counter(map(id, judged.values()))
    firsts: dict[int, JudgementKey] = {}
    for key, judgement in judged.items():
        firsts.setdefault(id(judgement), key)
    return [_Content(judged[key], number[which], key) for which, key in firsts.items()]


def between(
    people: Mapping[str, Judged],
    kind: str = "none",
    draw: Draw | None = None,
    clusters: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Return the agreement of each two annotators who judged the same: kappa, its interval, how many."""
    weights = None if draw is None else draw.weights({key[0] for own in people.values() for key in own})
    agreements = []
    for (one, mine), (other, theirs) in combinations(people.items(), 2):
        # What failed for either is no disagreement.
        both = [key for key in mine if key in theirs and _is_graded(mine[key]) and _is_graded(theirs[key])]
        if not both:
            continue
        first, second = (_grades_of(both, judged) for judged in (mine, theirs))
        queries = [key[0] for key in both]
        coefficients = agreement(first, second, queries, kind, weights=weights, clusters=clusters)
        estimate = next(coefficient for coefficient in coefficients if coefficient.name == "kappa")
        kappa = {
            "kappa": or_none(estimate.value),
            "low": or_none(estimate.low),
            "high": or_none(estimate.high),
        }
        agreements.append({"one": one, "other": other, "compared": len(both), **kappa})
    return agreements


def agreement_of_several(
    people: Mapping[str, Judged],
    kind: str = "none",
    draw: Draw | None = None,
    clusters: Mapping[str, str] | None = None,
) -> dict[str, Any] | None:
    """Return α of three annotators or more, its interval, and of how many judgements; None of fewer."""
    if len(people) < 3:
        return None
    items = list(dict.fromkeys(key for judged in people.values() for key in judged))
    grades = np.array(
        [
            [
                _grade_of(judged[key], key) if key in judged and _is_graded(judged[key]) else math.nan
                for judged in people.values()
            ]
            for key in items
        ]
    )
    weights = None if draw is None else draw.weights({key[0] for key in items})
    estimate = alpha(grades, [key[0] for key in items], kind, weights=weights, clusters=clusters)
    several = int(((~np.isnan(grades)).sum(axis=1) > 1).sum())
    numbers = {"alpha": or_none(estimate.value), "low": or_none(estimate.low), "high": or_none(estimate.high)}
    return {"annotators": list(people), "compared": several, **numbers}


def _where(name: str, line: int) -> Place:
    return Place(name, line or None)


class _Texts(dict[Any, str]):
    """Ids as texts: equal ones are one object, as a hundred thousand lines hold few different ones."""

    def __init__(self) -> None:
        self.new: list[str] = []  # those that nobody has checked yet

    def __missing__(self, given: str | int) -> str:
        text = self[given] = str(given)
        self.new.append(text)
        return text


class _ContentCache(dict[bytes, dict[str, Any]]):
    """What lines say beside their place, by the JSON of some fields: equal sayings are one object."""

    def __init__(self, absent: Collection[str], contents: dict[bytes, dict[str, Any]]) -> None:
        """Leave out the fields that no line has; `contents` are shared with lines that have others."""
        self._contents = contents
        names = [f.name for f in _CONTENT_FIELDS if f.name not in absent or f.name in _ALWAYS]
        self._names, self.content_of = names, attrgetter(*names)

    def __missing__(self, encoded: bytes) -> dict[str, Any]:
        values = dict(zip(self._names, msgspec.json.decode(encoded), strict=True))
        pairs = ((f, values.get(f.name, f.default)) for f in _CONTENT_FIELDS)
        content = {f.name: value for f, value in pairs if value != f.default or f.name in _ALWAYS}
        self[encoded] = content = self._contents.setdefault(msgspec.json.encode(content), content)
        return content


def _checked_batches(
    source: Source, nuggets_in_qrels: bool | None
) -> Iterator[tuple[str, Iterable[int], list[JudgementKey], list[dict[str, Any]]]]:
    """Yield stretches of a file: its name, the lines, what judgements are about, and what they say."""
    texts, aspects, contents = _Texts(), _Texts(), dict[bytes, dict[str, Any]]()
    caches: dict[frozenset[str], _ContentCache] = {}
    encode = msgspec.json.Encoder().encode
    for name, lines, records in _judgements_in(source, nuggets_in_qrels):
        absent = records.absent if isinstance(records, Batch) else frozenset[str]()
        kept = caches.get(absent)
        if kept is None:
            kept = caches[absent] = _ContentCache(absent, contents)
        # Maps of getters run in C, where a loop over lines would be most of the time.
        ids = [list(map(texts.__getitem__, map(attrgetter(field), records))) for field in _PLACE[:-1]]
        if any(map(problem_of_id, texts.new)):
            for line, *those in zip(lines, *ids, strict=False):
                if problem := next(filter(None, map(problem_of_id, those)), None):
                    raise problem.located(_where(name, line))
        texts.new.clear()
        # The aspect may be a text, such as a nugget's; the other three are ids.
        places = list(zip(*ids, map(aspects.__getitem__, map(attrgetter(_PLACE[-1]), records)), strict=True))
        sayings = map(kept.__getitem__, map(encode, map(kept.content_of, records)))
        yield name, lines, places, list(sayings)


def passport(
    judged: Judged,
    gold: Judged,
    kind: str = "none",
    measure: str | None = None,
    lengths: Mapping[tuple[str, str], float] | None = None,
    nuggets: Any = None,
    people: Sequence[Mapping[str, Any]] = (),
    several: Mapping[str, Any] | None = None,
    draw: Draw | None = None,
    left_out: int = 0,
    clusters: Mapping[str, str] | None = None,
) -> Passport:
    """Return the agreement of the judge with gold on what both judged.

    `draw` is how the labels of gold were drawn, None if gold is another judge, and not labels of some;
    `left_out` are judgements without a label that `judged` does not have.
    Systems are ranked by `measure`, for which `nuggets` give importance and weights, or by their mean grade.
    `lengths` are those of the answers, by query and system, to check for length bias. `people` is the
    agreement between the annotators of gold, see `between`; `several` is that of three or more. Intervals are
    over queries, or over `clusters` of these.
    """
    mine, theirs = map(_distinct_contents, (judged, gold))
    graded = [
        sum(content.number for content in side if _is_graded(content.fields)) for side in (mine, theirs)
    ]
    both = [
        key
        for key, judgement in judged.items()
        if key in gold and _is_graded(judgement) and _is_graded(gold[key])
    ]
    if not both:
        none = [len(side) - count for side, count in zip((judged, gold), graded, strict=True)]
        why = f", of which {none[0]:,} and {none[1]:,} failed" if any(none) else ""
        raise InputError(
            problem=f"no judgement is in both files ({len(judged):,} and {len(gold):,} judgements{why})",
            expected="the same query_id, run_id, item_id and aspect",
        )
    sides = [list(map(side.__getitem__, both)) for side in (judged, gold)]
    one, other = (_grades_of(both, side) for side in (judged, gold))
    # Queries, not judgements: intervals are over queries.
    differing = {key[0] for key, differs in zip(both, (one != other).tolist(), strict=True) if differs}
    good = np.array([-1.0 if key[3] in FAULTS else 1.0 for key in both])  # a high count of faults is bad
    # Columns and rows are all grades that either used, so that the table is square.
    weights = None if draw is None else draw.weights({key[0] for key in gold})
    counts: Float = np.array([1.0 if weights is None else weights[key[0]] for key in both])
    levels, table = table_of(one, other)
    _, weighted = table_of(one, other, counts)
    names = _grade_names([*mine, *theirs])
    labels = [names.get(level, f"{level:g}") for level in levels.tolist()]
    failed, shared = len(judged) - graded[0], sum(map(gold.__contains__, judged))
    # Labels without a judgement of the judge: agreement lies between what it is if none of these would
    # agree, and if all would.
    lacking = graded[1] - len(both)
    alike, whole = float(counts @ (one == other)), float(counts.sum())
    lost = float(lacking)
    if weights is not None:
        lost = math.fsum(weights[key[0]] for key, judgement in gold.items() if _is_graded(judgement)) - whole
    facts = {
        **_count_compared(judged, both, len(differing)),
        "only_judged": len(judged) - shared,
        "only_gold": len(gold) - shared,
        "failed": failed,
        "failure_rate": failed / len(judged),
        "missing": lacking,
        "agreement_least": alike / (whole + lost),
        "agreement_most": (alike + lost) / (whole + lost),
        "bias": float(np.average(good * (one - other), weights=counts)),
        "by_label": _by_label(labels, weighted),
        "by_system": _by_system(both, sides, counts),
        **_ranking_facts(sides, both, good * one, good * other, measure, nuggets, weights),
        **_bias_facts(mine, judged, both, good * (one - other), lengths),
        **_cost_of(mine),
        "canaries": _canary_counts(mine),
        "annotators": list(people),
        "several_annotators": several,
        "unfenced": sorted(judge for judge in _judges_of(mine) if parse_judge(judge).is_unfenced),
        "drawn": "" if draw is None else str(draw.kind(len(judged) - shared + left_out)),
        "is_weighted": weights is not None,
        # Whose labels they are is of interest where they are taken for labels of people.
        "gold_basis": "" if draw is None else str(Basis.of_labels(sorted(_judges_of(theirs)))),
        "of_pair": [] if draw is None else sorted(draw.compares),
    }
    coefficients = agreement(one, other, [key[0] for key in both], kind, weights=weights, clusters=clusters)
    return Passport(coefficients, labels, table.astype(int).tolist(), facts)


def _count_compared(judged: Judged, both: list[JudgementKey], differing: int) -> dict[str, Any]:
    compared = Counter(map(_ANSWER, both))
    there = Counter(filter(compared.__contains__, map(_ANSWER, judged)))
    return {
        "compared": len(both),
        "queries": len({key[0] for key in both}),
        "queries_that_differ": differing,
        "systems": len({key[1] for key in both}),
        "answers": len(compared),
        "partly": sum(compared[answer] < there[answer] for answer in compared),
        "of": there.total(),
    }


def _by_label(labels: Sequence[str], table: Float) -> dict[str, dict[str, float]]:
    """Return how often each judge gives a label, and how far they agree on it: 2·n_kk / (n_k. + n_.k)."""
    mine, theirs, both = table.sum(axis=1), table.sum(axis=0), table.diagonal()
    return {
        label: {
            "judge": float(mine[index] / table.sum()),
            "gold": float(theirs[index] / table.sum()),
            "agreement": float(2 * both[index] / (mine[index] + theirs[index])),
        }
        for index, label in enumerate(labels)
    }


_ACCURATE = {"perfect": "accurate", "acceptable": "accurate"}


def _by_system(both: list[JudgementKey], sides: list[list[Any]], counts: Float) -> dict[str, dict[str, Any]]:
    """Return how right CRAG's automatic judge is of each system's answers, as its paper has it.

    Of people's four labels perfect and acceptable are accurate. {} where the labels are others.
    """
    judgements = {id(judgement): judgement for judgement in chain(*sides)}
    folds = {which: folded(str(judgement.get("label"))) for which, judgement in judgements.items()}
    label_of = {which: _ACCURATE.get(label, label) for which, label in folds.items()}
    levels = sorted(set(label_of.values()))
    if not set(levels) <= set(CRAG.labels):
        return {}
    labels = [[label_of[id(judgement)] for judgement in side] for side in sides]
    number = {label: index for index, label in enumerate(levels)}
    tables: dict[str, Float] = {}
    for key, mine, theirs, count in zip(both, *labels, counts.tolist(), strict=True):
        table = tables.setdefault(key[1], np.zeros((len(levels), len(levels))))
        table[number[mine], number[theirs]] += count
    compared = Counter(key[1] for key in both)
    return {run: {"compared": compared[run], **correctness(t)._asdict()} for run, t in tables.items()}


def _ranking_facts(
    sides: list[list[Any]],
    both: list[JudgementKey],
    one: Float,
    other: Float,
    measure: str | None,
    nuggets: Any,
    weights: _Weights,
) -> dict[str, Any]:
    """Return how alike the two rank systems, on what both judged; high grades are good ones."""
    if measure is not None:
        values = [scored(measure, records_of(zip(both, side, strict=True)), nuggets) for side in sides]
    else:
        values = [
            mean_grades((key[0], key[1], grade) for key, grade in zip(both, grades.tolist(), strict=True))
            for grades in (one, other)
        ]
    agreement_of_ranks = compare_rankings(values[0], values[1], weights)
    return {
        "ranked_by": measure or "mean grade",
        "tau_b": or_none(agreement_of_ranks.tau_b),
        "tau_ap": or_none(agreement_of_ranks.tau_ap),
        "tau_per_topic": or_none(agreement_of_ranks.tau_per_topic),
        "topics": agreement_of_ranks.topics,
    }


def _bias_facts(
    mine: list[_Content],
    judged: Judged,
    both: list[JudgementKey],
    error: Float,
    lengths: Mapping[tuple[str, str], float] | None,
) -> dict[str, Any]:
    shows = {id(content.fields) for content in mine if compares_answers(content.fields)}
    positions = positions_in(records_of(item for item in judged.items() if id(item[1]) in shows))
    order = positions and positions.as_dict()
    length = None
    if lengths is not None:
        too_good = mean_grades((key[0], key[1], gap) for key, gap in zip(both, error.tolist(), strict=True))
        of_answer = {(query, run): gap for run, gaps in too_good.items() for query, gap in gaps.items()}
        length = or_none(length_bias(of_answer, lengths))
    return {
        "length_tau": length,
        "order": order and order["pairs"],
        "positions": order,
        "kin": kin(_judges_of(mine), dict.fromkeys(key[1] for key in judged)),
    }


def _judges_of(contents: list[_Content]) -> set[str]:
    return {str(content.fields.get("judge", "")) for content in contents}


def _cost_of(contents: list[_Content]) -> dict[str, Any]:
    """Return tokens, and money where all prices are known."""
    tokens = 0
    costs: list[tuple[float | None, int]] = []
    priced = cache(lambda read, written, judge: cost(Usage(read, written), judge))  # few differ
    for judgement, number, _ in contents:
        usage = judgement.get("usage")
        if isinstance(usage, dict):
            spent = int(usage.get("input", 0)), int(usage.get("output", 0))
            tokens += sum(spent) * number
            judge = str(judgement.get("judge", "")).partition("@")[0]
            costs.append((priced(*spent, judge), number))
    prices = [repeat(price, number) for price, number in costs if price is not None]
    has_all = prices and len(prices) == len(costs)
    return {"tokens": tokens, "cost": math.fsum(chain.from_iterable(prices)) if has_all else None}


def _canary_counts(contents: list[_Content]) -> dict[str, list[int]]:
    """Return, by attack, how many verdicts on canaries were the best there is, of how many in all jobs."""
    counts: dict[str, list[int]] = {}
    for judgement, number, _ in contents:
        canaries = judgement.get("canaries")
        for name, rate in canaries.items() if isinstance(canaries, dict) else ():
            if isinstance(rate, list) and len(rate) == 2 and all(type(count) is int for count in rate):
                best, shown = counts.get(name, (0, 0))
                counts[name] = [best + rate[0] * number, shown + rate[1] * number]
    return counts


def _is_graded(judgement: Mapping[str, Any]) -> bool:
    return judgement["status"] in GRADED


_NUMBERS = (int, float)
_WORTH = {label: grade for scale in ALL for label, grade in scale.labels.items()}


def _grades_of(places: Sequence[JudgementKey], judged: Judged) -> Float:
    """Return the grades of these places; each saying is looked at once."""
    judgements = list(map(judged.__getitem__, places))
    which = list(map(id, judgements))
    grades: dict[int, float] = {}
    for number, key, judgement in zip(which, places, judgements, strict=True):
        if number not in grades:
            grades[number] = _grade_of(judgement, key)
    return np.array(list(map(grades.__getitem__, which)))


def _grade_of(judgement: Mapping[str, Any], about: JudgementKey) -> float:
    """Return the grade, or what the label is worth."""
    grade = judgement.get("grade")
    if grade is None and (worth := _WORTH.get(folded(str(judgement.get("label"))))) is not None:
        return worth
    if not isinstance(grade, _NUMBERS) or isinstance(grade, bool) or not math.isfinite(grade):
        raise InputError(
            at=Place(f"query {about[0]!r}"),
            expected="a label of a known scale or a grade",
            found=f"{grade!r}",
        )
    return float(grade)


def _grade_names(contents: Sequence[_Content]) -> dict[float, str]:
    """Return what each grade is called, where it has a name."""
    names: dict[float, str] = {}
    for judgement, _, about in contents:
        label = judgement.get("label")
        if label and _is_graded(judgement):
            names.setdefault(_grade_of(judgement, about), str(label))
    return names


class _JudgedLine(JudgementLine, gc=False):
    """What is read of a line beside what measures read of it."""

    usage: Any = None
    canaries: Any = None
    attempts: Any = None
    reason: Any = None
    evidence: Any = None


_CONTENT_FIELDS = [field for field in msgspec.structs.fields(_JudgedLine) if field.name not in _PLACE]
_Batch = tuple[str, Iterable[int], Sequence[_JudgedLine]]  # a file, line numbers (0: it has none), judgements


def _judgements_in(source: Source, nuggets_in_qrels: bool | None = None) -> Iterator[_Batch]:
    """Yield the judgements of a file or a dataset, with where they stand."""
    if callable(content := getattr(source, "qrels", None)):
        yield _document_rows(content(), name_of(source))
        return
    start = start_of_file(source)
    kind, name = kind_of_start(start), name_of(source)
    if kind is not None and kind.name == "judged":
        for lines, judged in read_judged(source, start.text):
            yield name, lines, [_JudgedLine(**row) for row in judged.rows]
    elif not start.is_json or (kind is not None and kind.holds in (JUDGED_DOCUMENTS, EITHER)):
        yield _qrels_rows(source, nuggets_in_qrels)
    elif kind is not None and kind.name == "assignments":
        yield from _assignment_rows(source)
    elif kind is not None and kind.name != "judgements":
        raise wrong_kind(source, kind, "judgements")
    else:
        for lines, records in read_batches(source, _JudgedLine, EXPECTED):
            yield name, lines, records


def _qrels_rows(source: Source, nuggets_in_qrels: bool | None) -> _Batch:
    """Return rows of qrels; a second column that is no nugget says nothing."""
    qrels = read_qrels(source)
    named = qrels.has_nuggets and not qrels.looks_plain if nuggets_in_qrels is None else nuggets_in_qrels
    return _document_rows(qrels if named else qrels.without_nuggets(), qrels.name)


def _document_rows(qrels: Iterable[Qrel], name: str) -> _Batch:
    rows = [
        _JudgedLine(q.query_id, DOCUMENTS, q.doc_id, q.iteration, grade=float(q.relevance)) for q in qrels
    ]
    return name, repeat(0), rows


def _assignment_rows(source: Source) -> Iterator[_Batch]:
    for line, answer in read_records(source, Assignment, ASSIGNMENTS):
        names = distinct([nugget.text for nugget in answer.nuggets])
        rows = []
        for name, nugget in zip(names, answer.nuggets, strict=True):
            row = _JudgedLine(answer.qid, answer.run_id, aspect=name)
            if nugget.importance != "failed":
                row.importance = nugget.importance
            if nugget.assignment == "failed":
                row.status = "error"
            else:
                row.label = nugget.assignment
            rows.append(row)
        yield name_of(source), repeat(line), rows


class OneJudge(NamedTuple):
    """What one judge did: who it is, what it said how often, what failed, what it took."""

    judge: str
    rubric: str
    judgements: int
    failed: int
    mean_grade: float | None
    calls: int
    tokens: int
    cost: float | None
    labels: Mapping[str, int]


class Parting(NamedTuple):
    """What two judges disagree on: their verdicts, how far these are apart, and their reasons."""

    query: str
    run: str
    item: str
    aspect: str
    first: str
    second: str
    gap: float
    reason: str
    other_reason: str

    @property
    def place(self) -> JudgementKey:
        """What both judged."""
        return self[:4]


def one_judge(judged: Judged) -> OneJudge:
    """Return what a judge did."""
    judgements = list(judged.values())
    graded = [(row, about) for about, row in judged.items() if _is_graded(row)]
    grades = [_grade_of(*item) for item in graded]
    spent = _cost_of(_distinct_contents(judged))
    judges, rubrics = (
        ", ".join(dict.fromkeys(str(row[key]) for row in judgements if row.get(key)))
        for key in ("judge", "rubric")
    )
    return OneJudge(
        judges,
        rubrics,
        len(judgements),
        len(judgements) - len(graded),
        sum(grades) / len(grades) if grades else None,
        sum(int(row.get("attempts") or 0) for row in judgements),
        spent["tokens"],
        spent["cost"],
        Counter(_verdict_name(*item) for item in graded),
    )


def parting(one: Judged, other: Judged) -> list[Parting]:
    """Return what both judged but graded differently, the largest difference first."""
    partings = []
    for about, mine in one.items():
        theirs = other.get(about)
        if theirs is None or not (_is_graded(mine) and _is_graded(theirs)):
            continue
        gap = abs(_grade_of(mine, about) - _grade_of(theirs, about))
        if gap:
            reasons = (str(row.get("reason") or row.get("evidence") or "") for row in (mine, theirs))
            partings.append(
                Parting(*about, _verdict_name(mine, about), _verdict_name(theirs, about), gap, *reasons)
            )
    return sorted(partings, key=lambda item: (-item.gap, item.place))


def _verdict_name(judgement: Mapping[str, Any], about: JudgementKey) -> str:
    label = judgement.get("label")
    return str(label) if label is not None else f"{_grade_of(judgement, about):g}"
