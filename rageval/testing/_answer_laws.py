"""Laws that every measure of answers must obey, and the tables of judgements on which they are tried.

Which judgements a measure asks for is found by letting it ask: a table holds what it wants, drawn at random,
some of it failed. A law is True if it holds of a measure on a table.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

from rageval.errors import RagevalError
from rageval.measures import builtin
from rageval.measures.assessment import Assessment, Judgement, Place, Seen
from rageval.measures.base import HIGHER, LOWER, NEITHER, POOL, Measure
from rageval.measures.base import measure as declared
from rageval.measures.parsing import parse_measure
from rageval.measures.scales import ABSTENTION, ALL, ENTAILMENT, OUTCOME, POSITION, SENTENCE, TOGETHER, Scale
from rageval.plugins import plugin_names
from rageval.scoring.answers import scored as scored_answers
from rageval.scoring.scores import Scores

Row = dict[str, Any]
End = Literal["skip", "worst", "best"]
_ENDS: tuple[End, End] = ("best", "worst")
SLACK = 1e-9
_DOCS = ("d1", "d2", "d3")
_TEXTS = ("", "a b", "It is safe.", "x" * 30, "y " * 90)
_FIRST = {"text": "It is safe to drink.", "citations": ["d1"]}  # so that something is said and cited
_HIGHEST = 3.0  # that is drawn on a scale without an end
_DECIMALS = 2
_WEIGHTS = (1, 2, 0.5, -1)
_LENGTHS = dict.fromkeys(("nfkc", "split", "nonspace", "characters"), 10.0)


class AnswerCase(NamedTuple):
    """A case: judgements, the answers they are of, and the scales that the measure asked for."""

    rows: tuple[Row, ...]
    answers: tuple[Row, ...]
    scales: tuple[Scale, ...]


Law = Callable[[Measure, AnswerCase, random.Random], bool]
LAWS: dict[str, Law] = {}


def is_spelled_as_it_prints(measure: Measure) -> bool:
    """Return whether a measure that has a name on the command line is read from what it prints."""
    if measure.name not in (*builtin(), *plugin_names("measures")):
        return True
    return parse_measure(str(measure)) == measure


def law(function: Law) -> Law:
    """Put a law in the table that every measure of answers must obey, or all that declare its subject."""
    LAWS[function.__name__] = function
    return function


class _Asked:
    """Judgements of any kind, so that a measure asks for what it wants."""

    skips = True

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.scales: dict[Scale, None] = {}

    def seen(self, scale: Scale, place: object, needs: object, asker: object) -> Seen:
        self.scales[scale] = None
        rows = [_said(scale, self._rng) for _ in range(3)]
        found = [_judgement(scale, row | {"aspect": f"n{at}"}) for at, row in enumerate(rows)]
        return Seen([each._replace(importance="vital", weight=1.0) for each in found], {}, True)

    def others(self, scale: Scale, place: object, needs: object, asker: object) -> Seen:
        return Seen([], {}, True)

    def knows(self, scale: Scale) -> bool:
        return True

    def taken_for(self, scale: Scale) -> None:
        return None

    def places(self, place: object, asker: object) -> list[Place]:
        self.scales[POSITION] = None
        return [Place(1.0, 2, True, True)]

    def stand_in(self) -> float:
        return math.nan

    def answerable(self, place: object, asker: object) -> bool:
        return True

    def knows_answers(self) -> bool:
        return True


def asked_for(measure: Measure, rng: random.Random) -> tuple[Scale, ...]:
    """Return the scales of the judgements that a measure asks for, whatever it then makes of them."""
    asked = _Asked(rng)
    # An answer that cites and one that does not: a measure may ask for more only where there are citations.
    for cited in ((("d1",), ()), ()):
        answer = Assessment("q", "r", "", asked, (0, 0), _LENGTHS, cited, None)
        try:
            measure.value(answer.asked_by(measure))
        except RagevalError:  # the laws tell
            continue
    return tuple(asked.scales)


def drawn(measure: Measure, rng: random.Random) -> AnswerCase:
    """Return a table of what a measure asks for, some of it failed, and answers to most queries."""
    scales = asked_for(measure, rng)
    systems = ["ours", "theirs", "=1+1"][: rng.randint(1, 3)]
    queries = ["q1", "q2", "q3"][: rng.randint(1, 3)]
    judges = rng.choice(([""], [""], ["A", "B"]))
    answers = [_answer(run, query, rng) for run, query in product(systems, queries)]
    # The first answer always says something; of the others some are lacking, as in real files.
    answers = [answers[0] | {"answer": [_FIRST]}, *(answer for answer in answers[1:] if rng.random() < 0.9)]
    rows: list[Row] = []
    for scale, query, judge in product(scales, queries, judges):
        said = {"query_id": query, "rubric": scale.rubrics[0]} | ({"judge": judge} if judge else {})
        rows += [said | row for row in _DRAW.get(scale, _of_aspects)(scale, systems, query, answers, rng)]
    rng.shuffle(rows)
    return AnswerCase(tuple(rows), tuple(answers), scales)


def _answer(run: str, query: str, rng: random.Random) -> Row:
    sentences = [
        {"text": rng.choice(_TEXTS), "citations": rng.sample(_DOCS, rng.choice((0, 1, 1, 2)))}
        for _ in range(rng.choice((0, 1, 2, 3)))
    ]
    return {"query_id": query, "run_id": run, "references": list(_DOCS), "answer": sentences}


def _of_aspects(
    scale: Scale, systems: Sequence[str], query: str, answers: object, rng: random.Random
) -> Iterator[Row]:
    """Yield what is said of every system on the same aspects; nothing, for some."""
    bank = [
        {"aspect": f"n{at}", "importance": rng.choice(("vital", "okay")), "weight": rng.choice(_WEIGHTS)}
        for at in range(rng.randint(1, 5))
    ]
    if scale.aspects:
        bank = [{"aspect": aspect, "item_id": f"i{at}"} for at in range(2) for aspect in scale.aspects]
    for system in systems:
        # The first system is judged on everything: others may then lack what it has.
        if system == systems[0] or rng.random() < 0.9:
            yield from ({"run_id": system} | row | _said_or_failed(scale, rng) for row in bank)


def _of_citations(
    scale: Scale, systems: object, query: str, answers: Sequence[Row], rng: random.Random
) -> Iterator[Row]:
    for answer in answers:
        if answer["query_id"] == query:
            for number, sentence in enumerate(answer["answer"]):
                for doc in sentence["citations"]:
                    row = {"run_id": answer["run_id"], "aspect": str(number), "item_id": doc}
                    yield row | _said_or_failed(scale, rng)


def _of_sentences(
    scale: Scale, systems: object, query: str, answers: Sequence[Row], rng: random.Random
) -> Iterator[Row]:
    for answer in answers:
        if answer["query_id"] == query:
            for number in range(len(answer["answer"])):
                yield {"run_id": answer["run_id"], "aspect": str(number)} | _said_or_failed(scale, rng)


def _of_places(
    scale: Scale, systems: Sequence[str], query: str, answers: object, rng: random.Random
) -> Iterator[Row]:
    for order in range(rng.randint(1, 2)):
        places = rng.sample(range(1, len(systems) + 1), len(systems))
        for system, place in zip(systems, places, strict=True):
            row = {"run_id": system, "aspect": f"order {order}"}
            yield row | ({"status": "invalid"} if rng.random() < 0.05 else {"grade": place})


def _of_games(
    scale: Scale, systems: Sequence[str], query: str, answers: object, rng: random.Random
) -> Iterator[Row]:
    turned = {"win": "loss", "loss": "win", "tie": "tie"}
    for number in range(rng.randint(1, 3)):
        label = rng.choice(list(turned))
        for system, outcome in zip(rng.sample([*systems, "last"], 2), (label, turned[label]), strict=True):
            row = {"run_id": system, "aspect": f"game {number}"}
            yield row | ({"status": "error"} if rng.random() < 0.1 else {"label": outcome})


def _of_decisions(
    scale: Scale, systems: Sequence[str], query: str, answers: object, rng: random.Random
) -> Iterator[Row]:
    answerable = rng.random() < 0.6
    for system in systems:
        yield {"run_id": system, "aspect": "0", "answerable": answerable} | _said_or_failed(scale, rng)


def _of_claims(
    scale: Scale, systems: Sequence[str], query: str, answers: object, rng: random.Random
) -> Iterator[Row]:
    gold, passages = rng.randint(1, 2), _DOCS[: rng.randint(1, 2)]
    for system in systems:
        claims = [(f"response:{at}", "gold") for at in range(rng.randint(1, 3))]
        claims += [(f"gold:{at}", "answer") for at in range(gold)]
        for claim, other in claims:
            for item in (other, *passages):
                yield {"run_id": system, "aspect": claim, "item_id": item} | _said_or_failed(scale, rng)


def _of_unions(
    scale: Scale, systems: object, query: str, answers: Sequence[Row], rng: random.Random
) -> Iterator[Row]:
    for answer in answers:
        if answer["query_id"] == query:
            for number, sentence in enumerate(answer["answer"]):
                docs = sentence["citations"]
                items = ["*", *docs, *(f"-{doc}" for doc in docs if len(docs) > 1)] if docs else []
                for item in items:
                    row = {"run_id": answer["run_id"], "aspect": str(number), "item_id": item}
                    yield row | _said_or_failed(scale, rng)


_DRAW: Mapping[Scale, Callable[..., Iterator[Row]]] = {
    **{scale: _of_citations for scale in ALL if scale.of_citations},
    SENTENCE: _of_sentences,
    ABSTENTION: _of_decisions,
    ENTAILMENT: _of_claims,
    TOGETHER: _of_unions,
    POSITION: _of_places,
    OUTCOME: _of_games,
}


def _said(scale: Scale, rng: random.Random) -> Row:
    if scale.labels:
        return {"label": rng.choice(list(scale.labels))}
    low, high = scale.low, min(scale.high, scale.low + _HIGHEST)
    return {
        "grade": rng.randint(int(low), int(high))
        if scale.whole
        else round(rng.choice((low, high, rng.uniform(low, high))), _DECIMALS)
    }


def _said_or_failed(scale: Scale, rng: random.Random) -> Row:
    return {"status": "error"} if rng.random() < 0.1 else _said(scale, rng)


def _judgement(scale: Scale, row: Row) -> Judgement:
    label = row.get("label")
    grade = row["grade"] if label is None else scale.labels[label]
    weight = row.get("weight", math.nan)
    return Judgement(
        float(grade), label, row.get("importance"), weight, row["aspect"], row.get("item_id", "answer")
    )


def without_one(case: AnswerCase) -> Iterator[AnswerCase]:
    """Yield the case without each row, and without each answer."""
    for at in range(len(case.rows)):
        yield case._replace(rows=case.rows[:at] + case.rows[at + 1 :])
    for at in range(len(case.answers)):
        yield case._replace(answers=case.answers[:at] + case.answers[at + 1 :])


def by_answer(measure: Measure, case: AnswerCase, end: End = "skip") -> dict[tuple[str, str], float]:
    """Return the value of every system's answer to every query; inf where it is undefined."""
    return _by_answer(measure, scored([measure], case, end))


def scored(measures: Sequence[Measure], case: AnswerCase, end: End = "skip") -> Mapping[str, Scores]:
    """Return every system's scores; what is missing is left out, or taken for the worst or the best."""
    return scored_answers(list(measures), list(case.rows), answers=list(case.answers), on_missing=end)


def _by_answer(measure: Measure, found: Mapping[str, Scores]) -> dict[tuple[str, str], float]:
    return {
        (run, query): math.inf if value != value else value
        for run, scores in found.items()
        for query, value in scores[measure].by_query.items()
    }


def _never_worse(measure: Measure, good: Mapping[Any, float], bad: Mapping[Any, float]) -> bool:
    """Return whether no value is worse, in the way that the measure declares, where both are defined."""
    sign = {HIGHER: 1, LOWER: -1, NEITHER: 0}[measure.better]
    pairs = [(good[key], bad[key]) for key in good if math.inf not in (good[key], bad[key])]
    return all(sign * (above - below) >= -SLACK for above, below in pairs)


@law
def is_between_its_limits(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    """From the least to the greatest value that it declares as its `limits`."""
    low, high = measure.limits or (-math.inf, math.inf)
    values = [value for value in by_answer(measure, case).values() if value != math.inf]
    return all(low - SLACK <= value <= high + SLACK for value in values)


@law
def the_order_of_judgements_changes_no_digit(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    """Nor does that of the answers: a sum is the exact one, rounded once (`math.fsum`)."""
    rows, answers = list(case.rows), list(case.answers)
    rng.shuffle(rows)
    rng.shuffle(answers)
    return by_answer(measure, AnswerCase(tuple(rows), tuple(answers), case.scales)) == by_answer(
        measure, case
    )


@law
def names_change_nothing(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    """Of systems, queries and judges, and of aspects where any will do."""
    names: dict[tuple[str, str], str] = {}

    def renamed(row: Row) -> Row:
        keys = ["query_id", "run_id", "judge"]
        keys += ["aspect"] if any(_is_free(scale, row) for scale in case.scales) else []
        for key in (key for key in keys if key in row):
            if (key, row[key]) not in names:
                names[key, row[key]] = f"{rng.choice('zyx')}{len(names)}"
        return row | {key: names[key, row[key]] for key in keys if key in row}

    new = AnswerCase(tuple(map(renamed, case.rows)), tuple(map(renamed, case.answers)), case.scales)
    before, after = by_answer(measure, case), by_answer(measure, new)
    return all(
        _alike(value, after[names["run_id", run], names["query_id", query]])
        for (run, query), value in before.items()
    )


def _is_of_sentences(scale: Scale) -> bool:
    """Return whether what is judged is told by the answers: their sentences, and what these cite."""
    return scale.of_citations or scale is SENTENCE


def _is_free(scale: Scale, row: Row) -> bool:
    """Return whether the aspects of this row's scale may be called anything."""
    return row.get("rubric") in scale.rubrics and not scale.aspects and not _is_of_sentences(scale)


def _alike(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= SLACK * max(1.0, abs(one))


@law
def each_query_is_scored_alone(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    together = by_answer(measure, case)
    for query in sorted({query for _, query in together}):
        rows = tuple(row for row in case.rows if row["query_id"] == query)
        answers = tuple(row for row in case.answers if row["query_id"] == query)
        alone = by_answer(measure, AnswerCase(rows, answers, case.scales))
        if any(together.get(key) != value for key, value in alone.items()):
            return False
    return True


@law
def it_is_the_same_beside_other_measures(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    """Beside one that asks for the same judgements, those that failed too."""

    @declared(better=NEITHER)
    def asks_for_all(answer: Assessment) -> float:
        scales = [scale for scale in case.scales if scale is not POSITION]
        return float(sum(len(answer.judged(scale, failed=True)) for scale in scales))

    return _by_answer(measure, scored([asks_for_all, measure], case)) == by_answer(measure, case)


@law
def a_judgement_that_failed_is_as_one_that_was_left_out(
    measure: Measure, case: AnswerCase, rng: random.Random
) -> bool:
    """Missing, and no grade: where other judgements of the answer are left, theirs is the value."""
    if set(case.scales) & _DRAW.keys():
        return True  # a place, a game or a citation that failed leaves a trace: others stand beside it
    kept = {_whose(row) for row in case.rows if "status" not in row}
    rows = tuple(row for row in case.rows if "status" not in row or _whose(row) not in kept)
    before, after = by_answer(measure, case), by_answer(measure, case._replace(rows=rows))
    return all(_alike(before[key], value) for key, value in after.items())


def _whose(row: Row) -> tuple[str, ...]:
    return tuple(str(row.get(key, "")) for key in ("query_id", "run_id", "judge", "rubric"))


@law
def where_nothing_is_judged_it_is_undefined(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    """NaN, not 0: nobody said that the answer is bad."""
    if not case.scales or any(map(_is_of_sentences, case.scales)):
        return True  # what an answer cites, or how long it is, is known without any judgement
    said = ("label", "grade")
    rows = [{key: value for key, value in row.items() if key not in said} for row in case.rows]
    failed = tuple(row | {"status": "error"} for row in rows)
    return all(value == math.inf for value in by_answer(measure, case._replace(rows=failed)).values())


@law
def what_is_missing_taken_for_the_best_is_never_worse_than_for_the_worst(
    measure: Measure, case: AnswerCase, rng: random.Random
) -> bool:
    """In the way that it declares (`better`)."""
    best, worst = (by_answer(measure, case, end) for end in _ENDS)
    return _never_worse(measure, best, worst)


@law
def the_best_judgements_are_never_worse_than_the_worst(
    measure: Measure, case: AnswerCase, rng: random.Random
) -> bool:
    """All that is said of an answer as good as can be against all as bad, in the way that is `better`."""
    if POSITION in case.scales or ABSTENTION in case.scales:
        return True  # not every system can have the first place, and not every question can be answered
    best, worst = (by_answer(measure, _all_taken_for(case, end)) for end in _ENDS)
    return _never_worse(measure, best, worst)


def _all_taken_for(case: AnswerCase, end: End) -> AnswerCase:
    rows = []
    for row in case.rows:
        scale = _scale_of(row, case.scales)
        label, grade = scale.taken_for(end)
        said = {"grade": min(grade, _HIGHEST)} if label is None else {"label": label}
        bare = {key: value for key, value in row.items() if key not in ("label", "grade", "status")}
        rows.append(bare | said | ({"weight": abs(row["weight"])} if "weight" in row else {}))
    return case._replace(rows=tuple(rows))


def _scale_of(row: Row, scales: Sequence[Scale]) -> Scale:
    """Return the scale of a row: by its aspect where a scale has some, else by its rubric."""
    of_rubric = [scale for scale in scales if row["rubric"] in scale.rubrics]
    return next((scale for scale in of_rubric if row["aspect"] in scale.aspects), of_rubric[0])


@law
def what_weighs_nothing_changes_nothing(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    """Of a measure that declares what each judgement `weighs`; a weight below 0 is a fault's, and counts."""
    weighs = measure.about.weighs
    if weighs is None:
        return True
    case = case._replace(rows=tuple(row for row in case.rows if row.get("weight", 0) >= 0))

    def counts(row: Row) -> bool:
        judged = _judgement(_scale_of(row, case.scales), row | ({"grade": 0.0} if "status" in row else {}))
        return weighs(measure.parameters, judged) != 0

    kept = {_whose(row) for row in case.rows if counts(row)}
    rows = tuple(row for row in case.rows if counts(row) or _whose(row) not in kept)
    before, after = by_answer(measure, case), by_answer(measure, case._replace(rows=rows))
    return all(_alike(before[key], value) for key, value in after.items())


@law
def it_is_the_share_of_the_labels_it_declares(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    """Of a measure that declares which `labels` it counts."""
    labels = measure.about.labels
    if labels is None or len({row.get("judge") for row in case.rows}) > 1:
        return True
    said: dict[tuple[str, str], list[bool]] = {}
    for row in case.rows:
        if "label" in row:
            counted = row["label"] in labels(measure.parameters)
            said.setdefault((row["run_id"], row["query_id"]), []).append(counted)
    values = by_answer(measure, case)
    return all(_alike(values[key], sum(found) / len(found)) for key, found in said.items())


@law
def parses_back(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    return is_spelled_as_it_prints(measure)


@law
def a_pooled_share_is_between_the_shares(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    """Σ parts / Σ wholes of shares that have a whole."""
    if not measure.gives_shares:
        return True
    pooled = measure(over=POOL)
    for scores in scored([pooled], case).values():
        shares = [share for share in scores[pooled].numbers if getattr(share, "whole", 0)]
        if shares and not min(shares) - SLACK <= scores[pooled].value <= max(shares) + SLACK:
            return False
    return True
