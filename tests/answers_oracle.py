"""Every measure of answers once more, slowly, straight from its formula, over plain rows and in fractions.

A row is a dict with the keys of a line of judgements; all rows of a `Table` are of one kind. Nothing here is
shared with the package.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

Row = dict[str, Any]
Value = Fraction | None  # None where a measure is undefined
Answer = Sequence[tuple[str, Sequence[str | None]]]  # sentences and what they cite
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Table:
    """Judgements of one kind, and the answers by run and query, where they are known."""

    rows: list[Row]
    answers: Mapping[tuple[str, str], Answer] = field(default_factory=dict)


class Scale(NamedTuple):
    """Labels and their worth, the two ends, and the one aspect or rubric it is about, if there is one.

    `nothing` holds of an answer that there is not. With `of_answers` the answers say what there is
    to be judged.
    """

    worth: dict[str, Fraction]
    worst: Any
    best: Any
    aspect: str | None = None
    rubric: str | None = None
    nothing: str | None = None
    of_answers: bool = False


def labeled(worst: str, best: str, **worth: Fraction | int) -> Scale:
    return Scale({label: Fraction(value) for label, value in worth.items()}, worst, best)


NUGGET = labeled("not_support", "support", support=1, partial_support=HALF, not_support=0)
NUGGET = NUGGET._replace(nothing="not_support")
CITATION = labeled("no_support", "full_support", full_support=1, partial_support=HALF, no_support=0)
CITATION = CITATION._replace(of_answers=True)
CRAG = labeled("incorrect", "perfect", perfect=1, acceptable=HALF, missing=0, incorrect=-1, accurate=1)
CRAG = CRAG._replace(nothing="missing")
GAME = labeled("loss", "win", win=1, tie=HALF, loss=0)
STANCE = labeled("contradicts", "supports", supports=1, partial=HALF, none=0, contradicts=-1)
STANCE = STANCE._replace(rubric="stance", nothing="none")
CITED = labeled("contradicts", "supports", supports=1, partial=HALF, neutral=0, none=0, contradicts=-1)
CITED = CITED._replace(rubric="citation-stance", of_answers=True)
SIMILAR = labeled(
    "very_different", "very_similar", very_similar=1, similar=HALF, different=0, very_different=0
)
SIMILAR = SIMILAR._replace(rubric="question-similarity", nothing="very_different")
COMPOUND = labeled("compound", "single", single=1, compound=0)._replace(rubric="compound-question")
ACCURATE = labeled("inaccurate", "accurate", accurate=1, inaccurate=0)
ACCURATE = ACCURATE._replace(rubric="answer-accuracy", nothing="inaccurate")
SENTENCE = labeled("inappropriate", "required", required=1, borderline=HALF, unnecessary=0, unlabelled=0)
SENTENCE.worth["inappropriate"] = Fraction(-1)
SENTENCE = SENTENCE._replace(rubric="sentence-relevance", of_answers=True)
STATED = NUGGET._replace(rubric="nugget-support")
ATTESTED = NUGGET._replace(rubric="attested-nugget")
ATTESTS = CITATION._replace(rubric="citation-support")
RELEVANT = labeled("not_relevant", "relevant", relevant=1, not_relevant=0)
RELEVANT = RELEVANT._replace(rubric="citation-relevance", of_answers=True)
NEED = labeled("required", "not_required", required=0, repeated=1, negative=1, not_required=1)
NEED = NEED._replace(rubric="citation-need")
NOT_BY_ALL = (NEED, GAME, COMPOUND, SENTENCE)
AUDIT = labeled("non_relevant", "relevant", relevant=1, partially_relevant=HALF, non_relevant=0)
CORRECTNESS = Scale({}, -1, 2, "correctness")
FAITHFULNESS = Scale({}, -1, 1, "faithfulness")
HALLUCINATED = Scale({}, 1, 0, "hallucinated")
REDUNDANT = Scale({}, 1, 0, "redundant")
LACKING = Scale({}, None, 0, "lacking")
SHARE = Scale({}, 0, 1)
GRADE = Scale({}, 0, 1, "score")
PASS = Scale({"pass": Fraction(1), "fail": Fraction(0)}, "fail", "pass", "score")


class Judged(NamedTuple):
    """A judgement as a measure sees it; the grade is None where it is missing."""

    item: str
    aspect: str
    label: str | None
    grade: Value
    importance: str | None
    weight: Fraction
    weighs: bool = True


class Part:
    """What one judge said of one system's answer to one query."""

    def __init__(self, table: Table, run: str, judge: str, query: str, end: str) -> None:
        self.table, self.run, self.judge, self.query = table, run, judge, query
        self.end = end
        self.answer = table.answers.get((run, query))
        self.pool: set[str] = set()

    def on(self, scale: Scale, weighed: bool = False) -> list[Judged]:
        """All judgements on this scale, those that are missing without a grade or with what stands for it.

        Where they are `weighed`, the worst to be said of a fault (a negative weight) is that it is there.
        """
        everybody = [row for row in of_scale(self.table.rows, scale) if row["query_id"] == self.query]
        mine = [row for row in everybody if row["run_id"] == self.run and judge_of(row) == self.judge]
        absent: dict[str, Row] = {}
        if not mine and scale not in NOT_BY_ALL and not (scale.of_answers and self.is_decided):
            for row in everybody:
                absent.setdefault(aspect_of(row), row)
        if self.left_out and scale.nothing and not weighed:  # with weights, nothing is not the worst
            absent = {
                aspect: {**row, "grade": None, "label": scale.nothing} for aspect, row in absent.items()
            }
            return [self.judged(row | {"status": "ok"}, scale, weighed) for row in absent.values()]
        return [self.judged(row, scale, weighed) for row in mine] + [
            self.judged(row | {"status": "absent"}, scale, weighed) for row in absent.values()
        ]

    @property
    def is_decided(self) -> bool:
        """Whether the answer is known, or it is known that there is none."""
        return self.answer is not None or self.left_out

    @property
    def left_out(self) -> bool:
        """Whether the system's other answers are known, and nobody said anything of this one."""
        place = (self.run, self.query)
        judged = any((row["run_id"], row["query_id"]) == place for row in self.table.rows)
        return self.answer is None and not judged and any(run == self.run for run, _ in self.table.answers)

    def was_judged(self, scale: Scale) -> bool:
        """Whether the judge said anything of this answer, and be it that the judgement failed."""
        mine = (row for row in of_scale(self.table.rows, scale) if row["run_id"] == self.run)
        return any(row["query_id"] == self.query and judge_of(row) == self.judge for row in mine)

    def judged(self, row: Row, scale: Scale, weighed: bool) -> Judged:
        weight = row.get("weight")
        turned = weighed and weight is not None and weight < 0
        label, grade = spoken(row, scale) if is_graded(row) else self.missing(scale, turned)
        if label == "partial_support" and grade is not None:
            grade = HALF
        return Judged(
            str(row.get("item_id", "answer")),
            aspect_of(row),
            label,
            grade,
            row.get("importance"),
            Fraction(1) if weight is None else Fraction(weight),
            weight is not None,
        )

    def missing(self, scale: Scale, turned: bool) -> tuple[str | None, Value]:
        if self.end == "skip":
            return None, None
        filling = scale.worst if (self.end == "worst") != turned else scale.best
        if scale.worth:
            return filling, scale.worth[filling]
        return None, Fraction(filling)

    def graded(self, scale: Scale, weighed: bool = False) -> list[Judged]:
        return [row for row in self.on(scale, weighed) if row.grade is not None]

    def length(self, rule: str) -> Value:
        if self.answer is None:
            return None
        return Fraction(sum(COUNTS[rule](text) for text, _ in self.answer))


COUNTS: dict[str, Callable[[str], int]] = {
    "nfkc": lambda text: len(unicodedata.normalize("NFKC", text.strip()).split()),
    "split": lambda text: len(text.split()),
    "nonspace": lambda text: sum(not character.isspace() for character in text),
    "characters": len,
}


def of_scale(rows: Iterable[Row], scale: Scale) -> list[Row]:
    return [
        row
        for row in rows
        if scale.aspect in (None, aspect_of(row)) and scale.rubric in (None, row.get("rubric"))
    ]


def aspect_of(row: Row) -> str:
    return str(row.get("aspect", "0"))


def judge_of(row: Row) -> str:
    return str(row.get("judge", ""))


def is_graded(row: Row) -> bool:
    return row.get("status", "ok") in ("ok", "repaired")


def spoken(row: Row, scale: Scale) -> tuple[str | None, Fraction]:
    """The label and the grade of a row that has one of them or both."""
    if not scale.worth:
        return None, Fraction(row["grade"])
    if row.get("label") is not None:
        label = row["label"].strip().lower().replace(" ", "_").replace("-", "_")
        return label, scale.worth[label]
    grade = Fraction(row["grade"])
    return next(label for label, worth in scale.worth.items() if worth == grade), grade


def share(part_sum: Fraction | int, below: Fraction | int) -> Value:
    return Fraction(part_sum) / Fraction(below) if below else None


def mean(values: Sequence[Fraction]) -> Value:
    return share(sum(values, Fraction(0)), len(values))


def nugget_recall(part: Part, importance: str, credit: str, scale: Scale = NUGGET) -> Value:
    weight = {
        "all": dict.fromkeys(("vital", "okay", None), Fraction(1)),
        "vital": {"vital": Fraction(1)},
        "okay": {"okay": Fraction(1)},
        "weighted": {"vital": Fraction(1), "okay": HALF},
    }[importance]
    credited = below = Fraction(0)
    for row in part.graded(scale):
        of_row, label, grade = weight.get(row.importance, Fraction(0)), row.label, row.grade
        if importance != "all" and row.importance is None:  # what it counts is not known: it is missing
            label, grade = part.missing(scale, turned=False)
            of_row = Fraction(grade is not None)
        full = label == "support"
        credited += of_row * (full if credit == "strict" else grade or 0)
        below += of_row
    return share(credited, below)


def nugget_density(part: Part, rule: str) -> Value:
    words, rows = part.length(rule), part.graded(NUGGET)
    if not words or not rows:
        return None
    return 100 * sum(row.label == "support" for row in rows) / words


def nugget_f(part: Part, beta: float) -> Value:
    rows = part.graded(NUGGET)
    vital = [row for row in rows if row.importance == "vital"]
    length = part.length("nonspace")
    # Of an answer of which nobody knows or said anything, the best or the worst is all that there is.
    is_open = length is None and not part.left_out and not part.was_judged(NUGGET)
    if is_open and rows and part.end != "skip":
        return Fraction(part.end == "best")
    if not vital or length is None:
        return None
    recall = Fraction(sum(row.label == "support" for row in vital), len(vital))
    allowance = 100 * sum(row.label == "support" for row in rows)
    precision = Fraction(1) if length <= allowance else 1 - (length - allowance) / length
    squared = Fraction(beta) ** 2
    below = squared * precision + recall
    return (squared + 1) * precision * recall / below if below else Fraction(0)


def rubric_score(part: Part, floor: str, credit: str) -> Value:
    rows = part.graded(NUGGET, weighed=True)
    value = share(
        sum(
            row.weight * (row.grade if credit == "partial" else row.grade == 1)
            for row in rows
            if row.grade is not None
        ),
        sum(max(row.weight, Fraction(0)) for row in rows),
    )
    return value if value is None or floor == "none" else max(value, Fraction(0))


def crag_score(part: Part) -> Value:
    return mean([CRAG.worth[row.label] if row.label else Fraction(0) for row in part.graded(CRAG)])


def crag_share(part: Part, label: str) -> Value:
    counted = ("perfect", "acceptable", "accurate") if label == "accurate" else (label,)
    return mean([Fraction(row.label in counted) for row in part.graded(CRAG)])


def correctness(part: Part) -> Value:
    return mean(grades(part.graded(CORRECTNESS)))


def faithfulness(part: Part) -> Value:
    return mean(grades(part.graded(FAITHFULNESS)))


def correctness_share(part: Part, level: int) -> Value:
    return mean([Fraction(grade == level) for grade in grades(part.graded(CORRECTNESS))])


def faithfulness_share(part: Part, level: int) -> Value:
    return mean([Fraction(grade == level) for grade in grades(part.graded(FAITHFULNESS))])


def grades(rows: Iterable[Judged]) -> list[Fraction]:
    return [row.grade for row in rows if row.grade is not None]


def cited_sentences(part: Part, credit: str) -> list[list[Value]]:
    grades = cited_grades(part)
    if credit == "full":
        return [[value if value is None else Fraction(value == 1) for value in values] for values in grades]
    return grades


def cited_grades(part: Part, scale: Scale = CITATION) -> list[list[Value]]:
    """For each sentence that cites, what its citations are worth, in order; None where that is missing."""
    rows = part.on(scale)
    if part.answer is None:
        sentences: dict[str, list[Value]] = {}
        for row in rows:
            sentences.setdefault(row.aspect, []).append(row.grade)
        return list(sentences.values())
    judged = {(row.aspect, row.item): row.grade for row in rows}
    unjudged = {"skip": None, "worst": Fraction(0), "best": Fraction(1)}[part.end]
    grades = []
    for number, (_, cited) in enumerate(part.answer):
        once = [doc for index, doc in enumerate(cited) if doc is None or doc not in cited[:index]]
        values = [Fraction(0) if doc is None else judged.get((str(number), doc), unjudged) for doc in once]
        if values:
            grades.append(values)
    return grades


def sentence_values(part: Part, citations: str, credit: str) -> list[Fraction]:
    """What each sentence that cites is worth, those left out for which that is not known."""
    values = []
    for sentence_grades in cited_sentences(part, credit):
        graded = [value for value in sentence_grades if value is not None]
        value: Value = sum(graded, Fraction(0)) / len(graded) if graded else None
        if citations == "first":
            value = sentence_grades[0]
        elif citations == "every":
            value = None if None in sentence_grades and Fraction(0) not in graded else min(graded)
        if value is not None:
            values.append(value)
    return values


def citation_precision(part: Part, citations: str, credit: str) -> Value:
    if citations == "micro":
        graded = [
            v for sentence_grades in cited_sentences(part, credit) for v in sentence_grades if v is not None
        ]
        return mean(graded)
    return mean(sentence_values(part, citations, credit))


def citation_recall(part: Part, citations: str, credit: str) -> Value:
    values = sentence_values(part, citations, credit)
    listed = sentences_in(part.answer) if part.answer is not None else listed_sentences(part)
    lost = len(cited_sentences(part, credit)) - len(values)
    return share(sum(values, Fraction(0)), listed - lost)


def listed_sentences(part: Part) -> int:
    return max(
        row.get("sentences", 0)
        for row in part.table.rows
        if (row["run_id"], row["query_id"]) == (part.run, part.query)
    )


def rank_score(part: Part, invalid: str) -> Value:
    rankings: dict[tuple[str, str], list[Row]] = {}
    for row in part.table.rows:
        if row["query_id"] == part.query:
            rankings.setdefault((aspect_of(row), judge_of(row)), []).append(row)
    if invalid == "query" and part.end == "skip" and not all(map(is_permutation, rankings.values())):
        return None
    points = []
    for (_, judge), rows in rankings.items():
        for row in rows if judge == part.judge else ():
            if row["run_id"] != part.run:
                continue
            if is_permutation(rows):
                points.append((len(rows) + 1 - Fraction(row["grade"])) / len(rows))
            elif part.end != "skip":
                points.append(Fraction(1, len(rows) if part.end == "worst" else 1))
    return mean(points)


def is_permutation(rows: Sequence[Row]) -> bool:
    places = [row["grade"] if is_graded(row) else 0 for row in rows]
    return sorted(places) == list(range(1, len(rows) + 1))


def win_rate(part: Part) -> Value:
    return mean([GAME.worth[row.label] if row.label else Fraction(0) for row in part.graded(GAME)])


def length(part: Part, rule: str) -> Value:
    return part.length(rule)


def citations(part: Part, count: str) -> Value:
    if part.answer is None:
        return None
    documents = [document for _, cited in part.answer for document in cited]
    return Fraction(
        len({document for document in documents if document} if count == "distinct" else documents)
    )


def bank_precision(part: Part) -> Value:
    return mean([1 - grade for grade in grades(part.graded(REDUNDANT))])


def bank_groundedness(part: Part) -> Value:
    return mean([1 - grade for grade in grades(part.graded(HALLUCINATED))])


def bank_recall(part: Part) -> Value:
    lacking = grades(part.graded(LACKING))
    if not lacking:
        return None
    good = sum((1 - grade for grade in grades(part.graded(REDUNDANT))), Fraction(0))
    return share(good, good + sum(lacking))


def audit_share(part: Part, label: str) -> Value:
    return mean([Fraction(row.label == label) for row in part.graded(AUDIT)])


def lexical_recall(part: Part, importance: str) -> Value:
    return nugget_recall(part, importance, "partial", SHARE)


def token_f1(part: Part) -> Value:
    return mean(grades(part.graded(SHARE)))


def grade(part: Part, aspect: str, low: float, high: float) -> Value:
    assert (aspect, low, high) == ("score", 0, 1)
    return mean(grades(part.graded(GRADE)))


def pass_rate(part: Part, aspect: str) -> Value:
    assert aspect == "score"
    return mean(grades(part.graded(PASS)))


def pass_any(part: Part, aspect: str) -> Value:
    """Of one answer: whether all its judgements are passes."""
    assert aspect == "crag"
    value = crag_share(part, "accurate")
    return value if value is None else Fraction(value >= 1)


pass_all = pass_any


def agreement(part: Part, aspect: str) -> Value:
    """Of one answer: there is no other that it could agree with."""
    return None


def citation_relevance(part: Part) -> Value:
    grade = cited_grades(part, RELEVANT)
    return mean([value for values in grade for value in values if value is not None])


def sentence_support(part: Part) -> Value:
    values = [
        None if None in grade and all(value in (None, 1) for value in grade) else Fraction(set(grade) == {1})
        for grade in cited_grades(part, ATTESTS)
    ]
    defined = [value for value in values if value is not None]
    need_labels = {row.aspect: row.label for row in part.on(NEED)}
    unjudged = {"skip": None, "worst": "required", "best": "not_required"}[part.end]
    sentences = part.answer if part.answer and sentences_in(part.answer) else []
    needs = [need_labels.get(str(index), unjudged) for index, (_, docs) in enumerate(sentences) if not docs]
    return share(sum(defined, Fraction(0)), len(defined) + needs.count("required"))


def nugget_coverage(part: Part, importance: str, attested: str) -> Value:
    credited = below = Fraction(0)
    for row in part.graded(ATTESTED if attested == "only" else STATED):
        weight = Fraction(1) if importance == "all" else max(row.weight, Fraction(0))
        if importance == "weighted" and not row.weighs:
            weight = Fraction(2 if row.importance == "vital" else 1)
        credited += weight * (row.grade == 1)
        below += weight
    return share(credited, below)


def argue_f1(part: Part, importance: str, attested: str) -> Value:
    precision, recall = sentence_support(part), nugget_coverage(part, importance, attested)
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else Fraction(0)


def sentence_count(part: Part) -> Value:
    return None if part.answer is None else Fraction(sentences_in(part.answer))


def sentences_in(answer: Answer) -> int:
    """How many sentences an answer has: none if it has no characters and cites nothing."""
    return len(answer) if any(text.strip() or cited for text, cited in answer) else 0


def nugget_count(part: Part) -> Value:
    return Fraction(len(part.on(STATED))) or None


def dragun_support(part: Part) -> Value:
    return stance(part, 1)


def dragun_contradiction(part: Part) -> Value:
    return stance(part, -1)


def stance(part: Part, sign: int) -> Value:
    rows = [(max(row.weight, Fraction(0)), row.grade) for row in part.graded(STANCE) if row.grade is not None]
    credited = sum(weight * max(sign * grade, Fraction(0)) for weight, grade in rows)
    return share(credited, sum(weight for weight, _ in rows))


def dragun_questions(part: Part, compound: str) -> Value:
    unjudged = {"skip": None, "worst": Fraction(0), "best": Fraction(1)}[part.end]
    single = {row.item: row.grade for row in part.on(COMPOUND)}
    best: dict[str, tuple[Fraction, Fraction]] = {}
    for row in part.on(SIMILAR):
        alone = single.get(row.item, unjudged) if compound == "zero" else Fraction(1)
        if row.grade is None or (row.grade and alone is None):
            continue
        value = row.grade * (alone or 0)
        before = best.get(row.aspect, (row.weight, Fraction(0)))[1]
        best[row.aspect] = max(row.weight, Fraction(0)), max(before, value)
    return share(sum(w * value for w, value in best.values()), sum(w for w, _ in best.values()))


def answer_accuracy(part: Part) -> Value:
    return mean(grades(part.graded(ACCURATE)))


def sentence_share(part: Part, label: str) -> Value:
    rows_by_aspect = {row.aspect: row for row in part.on(SENTENCE)}
    there = {str(number) for number in range(sentences_in(part.answer or []))} | rows_by_aspect.keys()
    unjudged = {"skip": None, "worst": "inappropriate", "best": "required"}[part.end]
    labels = [rows_by_aspect[aspect].label if aspect in rows_by_aspect else unjudged for aspect in there]
    return mean([Fraction(value == label) for value in labels if value is not None])


def stances(part: Part) -> list[list[tuple[str | None, str | None]]]:
    """For each sentence that cites, its documents, each once, with the label, None where that is missing."""
    labels_of_citations = {(row.aspect, row.item): row.label for row in part.on(CITED)}
    unjudged = {"skip": None, "worst": "contradicts", "best": "supports"}[part.end]
    stances_of_sentences = []
    for number, (_, docs) in enumerate(part.answer or ()):
        once = [doc for index, doc in enumerate(docs) if doc is None or doc not in docs[:index]]
        labels = [
            "none" if doc is None else labels_of_citations.get((str(number), doc), unjudged) for doc in once
        ]
        stances_of_sentences += [list(zip(once, labels, strict=True))] if once else []
    return stances_of_sentences


def citation_coverage(part: Part) -> Value:
    labels = [[label for _, label in sentence_stances] for sentence_stances in stances(part)]
    unknown = sum(
        "supports" not in sentence_stances and None in sentence_stances for sentence_stances in labels
    )
    sentences = sentences_in(part.answer or [])
    return share(sum("supports" in sentence_stances for sentence_stances in labels), sentences - unknown)


def citation_share(part: Part, label: str) -> Value:
    labels = [
        value for sentence_stances in stances(part) for _, value in sentence_stances if value is not None
    ]
    return mean([Fraction(value == label) for value in labels])


def document_precision(part: Part) -> Value:
    cited = [pair for sentence_stances in stances(part) for pair in sentence_stances]
    relevant = {doc for doc, label in cited if label not in (None, "none")}
    unknown = {doc for doc, label in cited if label is None} - relevant
    return share(len(relevant), len({doc for doc, _ in cited} - unknown))


def document_recall(part: Part) -> Value:
    relevant = {
        doc
        for sentence_stances in stances(part)
        for doc, label in sentence_stances
        if label not in (None, "none")
    }
    for row in of_scale(part.table.rows, CITED):
        if row["query_id"] == part.query and row["run_id"] != part.run and judge_of(row) == part.judge:
            spoken_label = spoken(row, CITED)[0] if is_graded(row) else {"worst": "supports"}.get(part.end)
            others = relevant if spoken_label in (None, "none") else relevant | {row["item_id"]}
            part.pool |= others - relevant
    return share(len(relevant), len(relevant | part.pool))


MEASURES: dict[str, Callable[..., Value]] = {
    function.__name__: function
    for function in (
        *(nugget_recall, nugget_density, nugget_f, rubric_score, crag_score, crag_share, correctness),
        *(correctness_share, faithfulness, faithfulness_share, citation_precision, citation_recall),
        *(
            *(rank_score, win_rate, length, citations, bank_precision, bank_recall, bank_groundedness),
            audit_share,
        ),
        *(citation_relevance, sentence_support, nugget_coverage, argue_f1, sentence_count, nugget_count),
        *(dragun_support, dragun_contradiction, dragun_questions, answer_accuracy, sentence_share),
        *(citation_coverage, citation_share, document_precision, document_recall),
        *(lexical_recall, token_f1, grade, pass_rate, pass_any, agreement),
    )
} | {"pass_all": pass_all}
SCALES: dict[str, tuple[Scale, ...]] = {
    "bank_recall": (REDUNDANT, LACKING),
    "bank_precision": (REDUNDANT,),
    "bank_groundedness": (HALLUCINATED,),
    "correctness": (CORRECTNESS,),
    "correctness_share": (CORRECTNESS,),
    "faithfulness": (FAITHFULNESS,),
    "faithfulness_share": (FAITHFULNESS,),
    "grade": (GRADE,),
    "pass_rate": (PASS,),
}


def evaluate(
    name: str, table: Table, run: str, on_missing: str = "skip", **parameters: Any
) -> dict[str, Value]:
    """One value a query: the mean over the judges who have one."""
    queries = dict.fromkeys([row["query_id"] for row in table.rows] + [query for _, query in table.answers])
    judges = dict.fromkeys(map(judge_of, table.rows)) or {"": None}
    for scale in SCALES.get(name, ()):
        speaking = {judge_of(row) for row in of_scale(table.rows, scale)}
        judges = {judge: None for judge in judges if judge in speaking}
    values: dict[str, Value] = {}
    for query in queries:
        of_judges = [
            of_left_out(name, Part(table, run, judge, query, on_missing), parameters) for judge in judges
        ]
        defined = [value for value in of_judges if value is not None]
        values[query] = sum(defined) / len(defined) if defined else None
    return values


def of_left_out(name: str, part: Part, parameters: Mapping[str, Any]) -> Value:
    """The value, 0 where a measure of judgements has none for an answer that the system does not have."""
    value = MEASURES[name](part, **parameters)
    rows = [row for scale in SCALES.get(name, (SHARE,)) for row in of_scale(part.table.rows, scale)]
    judged = any(row["query_id"] == part.query for row in rows)
    nothing = (
        value is None and part.left_out and judged and name not in ("length", "citations", "sentence_count")
    )
    return Fraction(0) if nothing and name not in OF_NUMBERS else value


OF_NUMBERS = ("correctness", "faithfulness", "correctness_share", "faithfulness_share", "lexical_recall")
OF_NUMBERS += ("rubric_score", "token_f1", "grade", "pass_rate", "rank_score", "win_rate", "audit_share")
OF_NUMBERS += ("bank_precision", "bank_recall", "bank_groundedness")


def average(values: Iterable[Value]) -> Value:
    """The mean of what is defined."""
    defined = [value for value in values if value is not None]
    return sum(defined, Fraction(0)) / len(defined) if defined else None
