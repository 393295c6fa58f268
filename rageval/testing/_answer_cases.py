"""A case of answers, and the laws of measures of answers (`LAWS`).

Which judgements a measure asks for is found by letting it ask: a case holds what it wants, drawn at random,
some of it failed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

from rageval.core.answer import AnswerFacts
from rageval.errors import RagevalError
from rageval.measures.assessment import Assessment, Judgement, RankingPlace, Seen
from rageval.measures.base import NEITHER, Measure
from rageval.measures.base import measure as declared
from rageval.measures.scales import (
    ABSTENTION,
    ALL,
    CONTEXT,
    ENTAILMENT,
    MATCH,
    OUTCOME,
    POSITION,
    SENTENCE,
    TEXT_SUPPORT,
    TOGETHER,
    Scale,
)
from rageval.scoring.answers import scored
from rageval.scoring.scores import Score
from rageval.testing._cases import Law, comparable, listed_in, never_worse

Row = dict[str, Any]
End = Literal["skip", "worst", "best"]
_ENDS: tuple[End, End] = ("best", "worst")
LAWS: dict[str, Law] = {}
law = listed_in(LAWS)
_SLACK = 1e-9
_DOCS = ("d1", "d2", "d3")
_TEXTS = ("", "a b", "It is safe.", "x" * 30, "y " * 90)
_FIRST = {"text": "It is safe to drink.", "citations": ["d1"]}  # so that something is said and cited
_HIGHEST = 3.0  # that is drawn on a scale without an end
_DECIMALS = 2
_WEIGHTS = (1, 2, 0.5, -1)
_LENGTHS = dict.fromkeys(("nfkc", "split", "nonspace", "characters"), 10.0)


class AnswerCase(NamedTuple):
    """Judgements, the answers they are of, and the scales that the measure asked for."""

    rows: tuple[Row, ...]
    answers: tuple[Row, ...]
    scales: tuple[Scale, ...]

    @classmethod
    def draw(cls, measure: Measure, rng: random.Random) -> AnswerCase:
        """Return a table of what a measure asks for, some of it failed, and answers to most queries."""
        scales = asked_for(measure, rng)
        systems = ["ours", "theirs", "=1+1"][: rng.randint(1, 3)]
        queries = ["q1", "q2", "q3"][: rng.randint(1, 3)]
        judges = rng.choice(([""], [""], ["A", "B"]))
        answers: list[Row] = []
        for run, query in product(systems, queries):
            sentences = [
                {"text": rng.choice(_TEXTS), "citations": rng.sample(_DOCS, rng.choice((0, 1, 1, 2)))}
                for _ in range(rng.choice((0, 1, 2, 3)))
            ]
            answers.append({"query_id": query, "run_id": run, "references": list(_DOCS), "answer": sentences})
        # The first answer always says something; of the others some are lacking, as in real files.
        others = [answer for answer in answers[1:] if rng.random() < 0.9]
        answers = [answers[0] | {"answer": [_FIRST]}, *others]
        rows: list[Row] = []
        for scale, query, judge in product(scales, queries, judges):
            same = {"query_id": query, "rubric": scale.rubrics[0]} | ({"judge": judge} if judge else {})
            rows += [same | row for row in judgements_on(scale, systems, query, answers, rng)]
        # Files come in any order, and no measure may depend on it.
        rng.shuffle(rows)
        return cls(tuple(rows), tuple(answers), scales)

    def scores(self, measure: Measure, *others: Measure, end: End = "skip") -> dict[str, Score]:
        """Return each system's score; what is missing is left out, or taken for the worst or the best."""
        measures = [*others, measure]
        systems = scored(measures, list(self.rows), answers=list(self.answers), on_missing=end)
        return {run: scores[measure] for run, scores in systems.items()}

    def values(self, measure: Measure, *others: Measure, end: End = "skip") -> dict[tuple[str, str], float]:
        """Return the value of every system's answer to every query."""
        scores = self.scores(measure, *others, end=end)
        return comparable({(run, q): value for run in scores for q, value in scores[run].by_query.items()})

    def others(self) -> list[Measure]:
        """Return one measure that asks for the same judgements, those that failed too."""

        @declared(better=NEITHER)
        def asks_for_all(answer: Assessment) -> float:
            scales = [scale for scale in self.scales if scale is not POSITION]
            return float(sum(len(answer.judged(scale, failed=True)) for scale in scales))

        return [asks_for_all]

    def each_query(self) -> Iterator[AnswerCase]:
        """Yield the judgements of each query and the answers to it, alone."""
        for query in sorted({row["query_id"] for row in (*self.rows, *self.answers)}):
            rows, answers = (
                tuple(row for row in table if row["query_id"] == query) for table in (self.rows, self.answers)
            )
            yield AnswerCase(rows, answers, self.scales)

    def in_another_order(self, rng: random.Random) -> AnswerCase:
        """Return the case with other orders of judgements and of answers."""
        rows, answers = (tuple(rng.sample(table, len(table))) for table in (self.rows, self.answers))
        return AnswerCase(rows, answers, self.scales)

    def without_one(self) -> Iterator[AnswerCase]:
        """Yield the case without each judgement, and without each answer."""
        for index in range(len(self.rows)):
            yield self._replace(rows=self.rows[:index] + self.rows[index + 1 :])
        for index in range(len(self.answers)):
            yield self._replace(answers=self.answers[:index] + self.answers[index + 1 :])

    def lines(self) -> list[str]:
        """Return the judgements and the answers as Python."""
        return [f"judged = {list(self.rows)}", f"answers = {list(self.answers)}"]


class _Asked:
    """Judgements of any kind, so that a measure asks for what it wants."""

    skips = True

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.scales: dict[Scale, None] = {}

    def seen(self, scale: Scale, place: object, needs: object, asker: object) -> Seen:
        self.scales[scale] = None
        rows = [_draw_verdict(scale, self._rng) for _ in range(3)]
        judgements = [_judgement(scale, row | {"aspect": f"n{index}"}) for index, row in enumerate(rows)]
        return Seen(
            [judgement._replace(importance="vital", weight=1.0) for judgement in judgements], {}, True
        )

    def others(self, scale: Scale, place: object, needs: object, asker: object) -> Seen:
        return Seen([], {}, True)

    def knows(self, scale: Scale) -> bool:
        return True

    def taken_for(self, scale: Scale) -> None:
        return None

    def places(self, place: object, asker: object) -> list[RankingPlace]:
        self.scales[POSITION] = None
        return [RankingPlace(1.0, 2, True, True)]

    def stand_in(self) -> float:
        return math.nan

    def turns(self, answer: Assessment) -> list[Assessment]:
        return [answer]

    def is_left_out(self, query: int) -> bool:
        return False

    def answerable(self, place: object, asker: object) -> bool:
        return True

    def knows_answers(self) -> bool:
        return True


def asked_for(measure: Measure, rng: random.Random) -> tuple[Scale, ...]:
    """Return the scales of the judgements that a measure asks for, whatever it then makes of them."""
    asked = _Asked(rng)
    # An answer that cites and one that does not: a measure may ask for more only where there are citations.
    for cited in ((("d1",), ()), ()):
        facts = AnswerFacts()
        facts.lengths, facts.cited = _LENGTHS, cited
        answer = Assessment("q", "r", "", asked, (0, 0), facts)
        try:
            measure.value(answer.asked_by(measure))
        # Some measures refuse what is drawn here; what they asked for is known by then.
        except RagevalError:  # the laws tell
            continue
    return tuple(asked.scales)


def _of_aspects(
    scale: Scale, systems: Sequence[str], query: str, answers: object, rng: random.Random
) -> Iterator[Row]:
    """Yield what is said of every system on the same aspects; nothing, for some."""
    bank = [
        {"aspect": f"n{number}", "importance": rng.choice(("vital", "okay")), "weight": rng.choice(_WEIGHTS)}
        for number in range(rng.randint(1, 5))
    ]
    if scale.aspects:
        bank = [
            {"aspect": aspect, "item_id": f"i{number}"} for number in range(2) for aspect in scale.aspects
        ]
    for system in systems:
        # The first system is judged on everything: others may then lack what it has.
        if system == systems[0] or rng.random() < 0.9:
            yield from ({"run_id": system} | row | _draw_outcome(scale, rng) for row in bank)


def _of_citations(
    scale: Scale, systems: object, query: str, answers: Sequence[Row], rng: random.Random
) -> Iterator[Row]:
    for answer in answers:
        if answer["query_id"] == query:
            for number, sentence in enumerate(answer["answer"]):
                for doc in sentence["citations"]:
                    row = {"run_id": answer["run_id"], "aspect": str(number), "item_id": doc}
                    yield row | _draw_outcome(scale, rng)


def _of_sentences(
    scale: Scale, systems: object, query: str, answers: Sequence[Row], rng: random.Random
) -> Iterator[Row]:
    for answer in answers:
        if answer["query_id"] == query:
            for number in range(len(answer["answer"])):
                yield {"run_id": answer["run_id"], "aspect": str(number)} | _draw_outcome(scale, rng)


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
        yield {"run_id": system, "aspect": "0", "answerable": answerable} | _draw_outcome(scale, rng)


def _of_claims(
    scale: Scale, systems: Sequence[str], query: str, answers: object, rng: random.Random
) -> Iterator[Row]:
    gold, passages = rng.randint(1, 2), _DOCS[: rng.randint(1, 2)]
    passages = {TEXT_SUPPORT: ("*",), MATCH: ()}.get(scale, passages)
    for system in systems:
        claims = [(f"response:{number}", "gold") for number in range(rng.randint(1, 3))]
        claims += [(f"gold:{number}", "answer") for number in range(gold)]
        for claim, other in claims:
            for item in (other, *passages):
                yield {"run_id": system, "aspect": claim, "item_id": item} | _draw_outcome(scale, rng)


def _of_contexts(
    scale: Scale, systems: Sequence[str], query: str, answers: object, rng: random.Random
) -> Iterator[Row]:
    for system in systems:
        for place in range(rng.randint(1, len(_DOCS))):
            row = {"run_id": system, "aspect": str(place), "item_id": _DOCS[place]}
            yield row | _draw_outcome(scale, rng)


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
                    yield row | _draw_outcome(scale, rng)


_WAYS: Mapping[Scale, Callable[..., Iterator[Row]]] = {
    **{scale: _of_citations for scale in ALL if scale.of_citations},
    SENTENCE: _of_sentences,
    ABSTENTION: _of_decisions,
    **dict.fromkeys((ENTAILMENT, TEXT_SUPPORT, MATCH), _of_claims),
    CONTEXT: _of_contexts,
    TOGETHER: _of_unions,
    POSITION: _of_places,
    OUTCOME: _of_games,
}


def judgements_on(
    scale: Scale, systems: Sequence[str], query: str, answers: Sequence[Row], rng: random.Random
) -> Iterator[Row]:
    """Yield random judgements of answers to a query on a scale; some failed, and some are lacking."""
    yield from _WAYS.get(scale, _of_aspects)(scale, systems, query, answers, rng)


def _draw_verdict(scale: Scale, rng: random.Random) -> Row:
    if scale.labels:
        return {"label": rng.choice(list(scale.labels))}
    low, high = scale.low, min(scale.high, scale.low + _HIGHEST)
    return {
        "grade": rng.randint(int(low), int(high))
        if scale.whole
        else round(rng.choice((low, high, rng.uniform(low, high))), _DECIMALS)
    }


def _draw_outcome(scale: Scale, rng: random.Random) -> Row:
    # So often that most tables have some, and so seldom that few have nothing else.
    return {"status": "error"} if rng.random() < 0.1 else _draw_verdict(scale, rng)


def _judgement(scale: Scale, row: Row) -> Judgement:
    label = row.get("label")
    grade = row["grade"] if label is None else scale.labels[label]
    weight = row.get("weight", math.nan)
    return Judgement(
        float(grade), label, row.get("importance"), weight, row["aspect"], row.get("item_id", "answer")
    )


@law
def names_change_nothing(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    """Of systems, queries and judges, and of aspects where any will do."""
    names: dict[tuple[str, str], str] = {}

    def renamed(row: Row) -> Row:
        keys = ["query_id", "run_id", "judge"]
        # Aspects that a scale names, or that number an answer's sentences, mean something.
        scales = [scale for scale in case.scales if row.get("rubric") in scale.rubrics]
        if any(not scale.aspects and not _is_of_sentences(scale) for scale in scales):
            keys.append("aspect")
        for key in (key for key in keys if key in row):
            if (key, row[key]) not in names:
                names[key, row[key]] = f"{rng.choice('zyx')}{len(names)}"
        return row | {key: names[key, row[key]] for key in keys if key in row}

    new = AnswerCase(tuple(map(renamed, case.rows)), tuple(map(renamed, case.answers)), case.scales)
    before, after = case.values(measure), new.values(measure)
    return all(
        _is_close(value, after[names["run_id", run], names["query_id", query]])
        for (run, query), value in before.items()
    )


def _is_of_sentences(scale: Scale) -> bool:
    """Return whether what is judged is told by the answers: their sentences, and what these cite."""
    return scale.of_citations or scale is SENTENCE


def _is_close(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= _SLACK * max(1.0, abs(one))


@law
def a_judgement_that_failed_is_as_one_that_was_left_out(
    measure: Measure, case: AnswerCase, rng: random.Random
) -> bool:
    """Missing, and no grade: where other judgements of the answer are left, theirs is the value."""
    if set(case.scales) & _WAYS.keys():
        return True  # a place, a game or a citation that failed leaves a trace: others stand beside it
    kept = {_judgement_place(row) for row in case.rows if "status" not in row}
    rows = tuple(row for row in case.rows if "status" not in row or _judgement_place(row) not in kept)
    before, after = case.values(measure), case._replace(rows=rows).values(measure)
    return all(_is_close(before[key], value) for key, value in after.items())


def _judgement_place(row: Row) -> tuple[str, ...]:
    return tuple(str(row.get(key, "")) for key in ("query_id", "run_id", "judge", "rubric"))


@law
def where_nothing_is_judged_it_is_undefined(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    """NaN, not 0: nobody said that the answer is bad."""
    if not case.scales or any(map(_is_of_sentences, case.scales)):
        return True  # what an answer cites, or how long it is, is known without any judgement
    judged_fields = ("label", "grade")
    rows = [{key: value for key, value in row.items() if key not in judged_fields} for row in case.rows]
    failed = tuple(row | {"status": "error"} for row in rows)
    values = case._replace(rows=failed).values(measure)
    # Not where a system gave no answer and others did: nothing is worse, whatever is judged.
    asked = {(row["run_id"], row["query_id"]) for row in rows}
    return all(value == math.inf for place, value in values.items() if place in asked)


@law
def what_is_missing_taken_for_the_best_is_never_worse_than_for_the_worst(
    measure: Measure, case: AnswerCase, rng: random.Random
) -> bool:
    """In the way that it declares (`better`)."""
    best, worst = (case.values(measure, end=end) for end in _ENDS)
    return never_worse(measure, best, worst)


@law
def the_best_judgements_are_never_worse_than_the_worst(
    measure: Measure, case: AnswerCase, rng: random.Random
) -> bool:
    """All that is said of an answer as good as can be against all as bad, in the way that is `better`."""
    if POSITION in case.scales or ABSTENTION in case.scales:
        return True  # not every system can have the first place, and not every question can be answered
    best, worst = (_replace_all(case, end).values(measure) for end in _ENDS)
    return never_worse(measure, best, worst)


def _replace_all(case: AnswerCase, end: End) -> AnswerCase:
    rows = []
    for row in case.rows:
        scale = _scale_of(row, case.scales)
        label, grade = scale.taken_for(end)
        verdict = {"grade": min(grade, _HIGHEST)} if label is None else {"label": label}
        bare = {key: value for key, value in row.items() if key not in ("label", "grade", "status")}
        rows.append(bare | verdict | ({"weight": abs(row["weight"])} if "weight" in row else {}))
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

    kept = {_judgement_place(row) for row in case.rows if counts(row)}
    rows = tuple(row for row in case.rows if counts(row) or _judgement_place(row) not in kept)
    before, after = case.values(measure), case._replace(rows=rows).values(measure)
    return all(_is_close(before[key], value) for key, value in after.items())


@law
def it_is_the_share_of_the_labels_it_declares(measure: Measure, case: AnswerCase, rng: random.Random) -> bool:
    """Of a measure that declares which `labels` it counts."""
    labels = measure.about.labels
    if labels is None or len({row.get("judge") for row in case.rows}) > 1:
        return True
    flags_by_place: dict[tuple[str, str], list[bool]] = {}
    for row in case.rows:
        if "label" in row:
            counted = row["label"] in labels(measure.parameters)
            flags_by_place.setdefault((row["run_id"], row["query_id"]), []).append(counted)
    values = case.values(measure)
    return all(_is_close(values[key], sum(flags) / len(flags)) for key, flags in flags_by_place.items())
