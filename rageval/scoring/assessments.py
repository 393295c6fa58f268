"""Judgements of answers as measures see them: which queries count, and what is on a scale, failed, or absent.

The queries that count are those of the judgements and of the answers, of the questions that were given, of
the human labels of a judged system, and of the plan of these labels. A query that counts and of which a
system has neither an answer nor a judgement is a missing judgement: it has no value, but bounds
(`Score.between`). A system whose other answers are known scores 0 there, where no value is worse.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval.core.answer import AnswerFacts
from rageval.core.turn import CONVERSATION, TURN
from rageval.errors import InputError, Place, UsageError
from rageval.files.judgements import JudgementTable, Statement, kept_in_table
from rageval.files.opening import name_of
from rageval.files.questions import read_answerable, read_facts
from rageval.measures.assessment import AnswerPlace, Assessment, Judgement, Needs, RankingPlace, Seen
from rageval.measures.base import LOWER, POOL, Measure
from rageval.measures.scales import ASPECTS, ATTESTED, OUTCOME, POSITION, RUBRICS, SUPPORT, Scale, is_of_tool
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.files.plans import LabelPlan


MOST_MISSING = 0.02  # of the queries: with more, no verdict is given
ABSENT = "absent"  # no row at all, where other systems have one
UNRATED = "unrated"  # nobody says whether the nugget is vital, and a measure counts it by that
GIVE_NUGGETS = (
    "give the nuggets that were judged (--nuggets FILE, or the id of a dataset; nuggets= in Python)"
)
_OF_NUGGETS = SUPPORT, ATTESTED  # every answer is judged by all nuggets of its query
_OTHER_END: dict[str | float, str] = {"worst": "best", "best": "worst"}
_STANDS_IN = {"skip": math.nan, "best": 1.0}  # anything else is worth 0
_judgement: Any = partial(tuple.__new__, Judgement)  # as Judgement(...), twice as fast


class NotThisJudge(Exception):
    """Raised where a judge said nothing, of any system, on the scale a measure asks for."""


class _ScaledStatement(NamedTuple):
    """What a statement means on a scale. Without a grade here, each row of it has its own or none.

    The first four fields are those of a `Judgement`, in its order. `failure` is the status of a judgement
    that failed.
    """

    grade: float | None
    label: str | None
    importance: str | None
    weight: float
    failure: str | None


class ScaleJudgements:
    """The judgements on one scale, their labels and grades checked."""

    def __init__(self, table: JudgementTable, scale: Scale, check: bool = True) -> None:
        """Find the rows on this scale; raise `InputError` for a row whose label or grade is not on it."""
        self.scale = scale
        self._table = table
        self._only_aspects: set[int] | None = None  # only rows of these aspects, by number
        self._excluded_aspects: set[int] = set()  # no rows of these
        named = any(rubric in scale.rubrics for rubric in table.rubrics())
        if scale.aspects:
            self._only_aspects = {table.aspects[word] for word in scale.aspects if word in table.aspects}
        elif not named:
            self._excluded_aspects = {table.aspects[word] for word in ASPECTS if word in table.aspects}

        def is_on(statement: Statement) -> bool:
            # Where nothing names a rubric of the scale, rows without a known rubric are taken for it.
            return statement.rubric in scale.rubrics if named else statement.rubric not in RUBRICS

        self._has_all_aspects = self._only_aspects is None and not self._excluded_aspects
        self._label_by_grade = {grade: label for label, grade in reversed(list(scale.labels.items()))}
        self._by_statement = [
            self._place_on_scale(statement) if scale.aspects or is_on(statement) else None
            for statement in table.said.words
        ]
        # Of statements that did not fail and have a label of the scale: the first fields of a `Judgement`.
        self._ready_fields = {
            code: scaled[:-1]
            for code, scaled in enumerate(self._by_statement)
            if self._has_all_aspects
            and scaled is not None
            and not scaled.failure
            and scaled.grade is not None
        }
        # Where these are all that is said, an answer's judgements can be counted before they are made.
        self._is_plain = self._ready_fields.keys() >= set(table.row_statement)
        self._without_aspect = {
            code: _judgement((*fields, "", "")) for code, fields in self._ready_fields.items()
        }
        self._unrated = {code for code, fields in self._ready_fields.items() if fields[2] is None}
        self._whole: dict[tuple[int, int], array[int]] = {}  # aspects that are all of a bank
        self._banks: dict[tuple[int, int | None], list[Judgement]] = {}
        self._active_judges: set[int] = (
            set()
        )  # judges who said something on the scale, as far as the rows were read
        self._judges = (table.judge[answer] for answer, _ in self.rows())
        if check:
            self._check()

    def _place_on_scale(self, statement: Statement) -> _ScaledStatement:
        weight = math.nan if statement.weight is None else statement.weight
        grade = (
            self.scale.labels.get(statement.label, math.nan)
            if self.scale.labels and statement.label is not None
            else None
        )
        return _ScaledStatement(
            grade,
            statement.label,
            statement.importance,
            weight,
            None if statement.is_graded else statement.status,
        )

    def holds(self, row: int) -> bool:
        """Return whether a row is on this scale."""
        scaled = self._by_statement[self._table.row_statement[row]]
        return scaled is not None and self._includes_aspect(self._table.row_aspect[row])

    def _includes_aspect(self, aspect: int) -> bool:
        if self._only_aspects is not None:
            return aspect in self._only_aspects
        return aspect not in self._excluded_aspects

    def rows(self) -> Iterator[tuple[int, int]]:
        """Yield (answer, row) of all rows on this scale, by run, judge and query."""
        table, by_statement, has_all = self._table, self._by_statement, self._has_all_aspects
        codes, aspects = table.row_statement, table.row_aspect
        for answer, (begin, end) in enumerate(zip(table.begin, table.end, strict=True)):
            for row in range(begin, end):
                if by_statement[codes[row]] is not None and (has_all or self._includes_aspect(aspects[row])):
                    yield answer, row

    def worth(self, row: int) -> float:
        """Return what a row is worth: its label's worth, or the grade it gives; NaN if it failed."""
        scaled = self._by_statement[self._table.row_statement[row]]
        grade = None if scaled is None else scaled.grade
        return self._table.grade_in(row) if grade is None else grade

    def __bool__(self) -> bool:
        return any(self.is_by(judge) for judge in range(len(self._table.judges.words)))

    def is_by(self, judge: int) -> bool:
        """Return whether this judge said anything of any system."""
        # Every row is read once for all judges, and only as far as somebody asks.
        while judge not in self._active_judges and (other := next(self._judges, None)) is not None:
            self._active_judges.add(other)
        return judge in self._active_judges

    @cached_property
    def says_importance(self) -> bool:
        """Whether anything says which aspects are vital."""
        return any(self._table.statement_of(row).importance is not None for _, row in self.rows())

    @cached_property
    def first_without_weight(self) -> int | None:
        """The first row whose aspect has no weight; None if all have one."""
        lacking = {code for code, statement in enumerate(self._table.said.words) if statement.weight is None}
        if not lacking.intersection(self._table.row_statement):
            return None
        return next((row for _, row in self.rows() if self._table.row_statement[row] in lacking), None)

    def judgements_of(self, answer: int) -> tuple[list[Judgement], list[tuple[int, str]]]:
        """Return an answer's judgements, and (index in that list, status) of each that failed."""
        table, ready_fields = self._table, self._ready_fields
        rows = slice(table.begin[answer], table.end[answer])
        codes, aspect_of, item_of = table.row_statement[rows], table.row_aspect[rows], table.row_item[rows]
        aspects, items = table.aspects.words, table.items.words
        if ready_fields and ready_fields.keys() >= set(codes):
            places = zip(codes, aspect_of, item_of, strict=True)
            return [
                _judgement((*ready_fields[code], aspects[aspect], items[item]))
                for code, aspect, item in places
            ], []
        by_statement, has_all = self._by_statement, self._has_all_aspects
        columns = zip(codes, aspect_of, item_of, table.grades(answer), strict=True)
        judgements: list[Judgement] = []
        failed: list[tuple[int, str]] = []
        for code, aspect, item, own in columns:
            scaled = by_statement[code]
            if scaled is None or not (has_all or self._includes_aspect(aspect)):
                continue
            grade, label, importance, weight, status = scaled
            if status is not None:
                failed.append((len(judgements), status))
                grade = math.nan
            elif grade is None:
                grade = own
                label = self._label_by_grade[own] if self.scale.labels else label
            judgements.append(_judgement((grade, label, importance, weight, aspects[aspect], items[item])))
        return judgements, failed

    def counted(self, answer: int, by_importance: bool, of_bank: bool) -> list[tuple[Judgement, int]] | None:
        """Return how often an answer has each judgement, of any aspect; None if one may be missing.

        That is told from the numbers of rows alone: none failed, all have an importance if it counts, and
        with `of_bank` they are of all nuggets of the query.
        """
        table = self._table
        begin, end = table.begin[answer], table.end[answer]
        if not self._is_plain or begin == end:
            return None
        if of_bank:
            place, aspects = (table.query[answer], table.judge[answer]), table.row_aspect[begin:end]
            # Answers to one query are mostly judged on the same.
            if self._whole.get(place) != aspects:
                if len(self.bank(*place)) > len(set(aspects)):
                    return None
                self._whole[place] = aspects
        counts = Counter(table.row_statement[begin:end])
        if by_importance and self._unrated and not self._unrated.isdisjoint(counts):
            return None
        without_aspect = self._without_aspect
        return [(without_aspect[code], number) for code, number in counts.items()]

    def bank(self, query: int, judge: int | None = None) -> list[Judgement]:
        """Return a judgement without a grade for each aspect of a query that anybody was judged on.

        With a judge, by that one alone.
        """
        key = query, judge
        if key not in self._banks:
            table, judgements, aspects = self._table, dict[str, Judgement](), set[int]()
            for answer in table.judged_to(query):
                if judge not in (None, table.judge[answer]):
                    continue
                # Answers to one query are mostly judged on the same.
                if aspects.issuperset(table.row_aspect[table.begin[answer] : table.end[answer]]):
                    continue
                for judgement in self.judgements_of(answer)[0]:
                    if judgement.aspect not in judgements:
                        judgements[judgement.aspect] = judgement._replace(grade=math.nan, label=None)
                        aspects.add(table.aspects[judgement.aspect])
            # The nuggets that a bank has for a query, whether anybody was judged by them or not.
            for nugget in table.asked.get(query, ()) if self.scale in _OF_NUGGETS else ():
                weight = math.nan if nugget.weight is None else nugget.weight
                unjudged = Judgement(math.nan, None, nugget.importance, weight, nugget.aspect, "answer")
                judgements.setdefault(nugget.aspect, unjudged)
            self._banks[key] = list(judgements.values())
        return self._banks[key]

    def _check(self) -> None:
        """Refuse the first row that says what the scale does not know, of the worst kind there is."""
        self._refuse_metrics_of_tools()
        used = set(self._table.row_statement)
        labels = {
            scaled.label
            for code, scaled in enumerate(self._by_statement)
            if scaled is not None and code in used
        }
        if (
            not self._table.has_grades
            and self.scale.labels
            and not labels - self.scale.labels.keys() - {None}
        ):
            return
        wrong: dict[int, list[tuple[int, int]]] = {}
        grade_in, codes = self._table.grade_in, self._table.row_statement
        for answer, row in self.rows():
            kind = self._fault(self._by_statement[codes[row]], grade_in(row))
            if kind:
                wrong.setdefault(kind, []).append((answer, row))
        if wrong:
            self._refuse(wrong[min(wrong)])

    def _refuse_metrics_of_tools(self) -> None:
        """Refuse an aspect of a known rubric by which another tool, with other grades, judged.

        Its grades may well be within the limits here, and would silently mean something else; where they
        are missing, the worst grade here is none of that tool's.
        """
        scale, rubric_of = self.scale, [statement.rubric for statement in self._table.said.words]
        if not scale.aspects or not RUBRICS.issuperset(scale.rubrics) or not any(map(is_of_tool, rubric_of)):
            return
        for _, row in self.rows():
            rubric = rubric_of[self._table.row_statement[row]]
            if is_of_tool(rubric):
                raise InputError(
                    at=self._table.where(row),
                    problem=f"judged by {visible(rubric)}, which is a metric of another tool",
                    expected=f"{scale.expected} for {scale.name}",
                    remedy=f"use grade(aspect={scale.aspects[0]}) for the tool's own grades",
                )

    def _fault(self, scaled: _ScaledStatement | None, grade: float) -> int:
        """Return what is wrong with a row: 1, 2 or 3; 0 if nothing is."""
        if scaled is None or scaled.failure:
            return 0
        scale, worth = self.scale, scaled.grade
        if not scale.labels:
            return 1 if not scale.low <= grade <= scale.high else 2 if scale.whole and grade % 1 else 0
        if worth is not None:
            differs = grade == grade and grade != worth and not scale.own_grades
            return 1 if worth != worth else 2 if differs else 0
        if scale.own_grades:
            return 3
        return 0 if grade in self._label_by_grade else 3

    def _refuse(self, rows: list[tuple[int, int]]) -> None:
        scale, (answer, row) = self.scale, rows[0]
        line = self._table.line(answer, row)
        label, grade = line.label, line.grade
        shown = f"label {visible(label)!r}" if label is not None else f"grade {grade}"
        if label is not None and label in scale.labels:
            shown = f"label {label!r} with grade {grade:g}, which is worth {scale.labels[label]:g}"
        more = f" ({len(rows):,} such rows)" if len(rows) > 1 else ""
        if label is None and scale.labels:
            # What lies between levels has no label; the mean of any grades needs none.
            more += f"; for the mean of any numbers: grade(aspect={visible(str(line.aspect))[:80]})"
        raise InputError(
            at=self._table.where(row), expected=f"{scale.expected} for {scale.name}", found=f"{shown}{more}"
        )


@kept_in_table
def on(table: JudgementTable, scale: Scale) -> ScaleJudgements:
    """Return the judgements on a scale."""
    return ScaleJudgements(table, scale)


def required(table: JudgementTable, scale: Scale, asker: object) -> ScaleJudgements:
    """Return the judgements on a scale; `UsageError` if there are none that `asker` could use."""
    judgements = on(table, scale)
    if not judgements:
        there = ", ".join(map(visible, table.labels()[:8])) or "none"
        bank = (
            f"; only the bank shows which questions reports answer: {GIVE_NUGGETS}" if table.matched else ""
        )
        raise UsageError(
            f"{asker}: {table.name} holds no judgements of {scale.name} ({scale.expected});"
            f" labels there: {there}{bank if scale in (SUPPORT, ATTESTED) else ''}"
        )
    return judgements


def unknown_rubrics(table: JudgementTable, scale: Scale) -> dict[str, int]:
    """Return how many rows have a rubric that nobody knows, or none, and say labels of this scale alone.

    They do not belong to it where others name its rubric, and may have been meant to.
    """
    # Only where the scale goes by rubrics here does a strange rubric keep rows out of it.
    if not scale.labels or scale.aspects or not table.rubrics() & set(scale.rubrics):
        return {}
    aspects = {table.aspects[word] for word in ASPECTS if word in table.aspects}
    # What was said is kept once for many rows: whether any row matters is asked of few codes, not of all
    # rows.
    others = {
        code
        for code, statement in enumerate(table.said.words)
        if statement.rubric not in RUBRICS and statement.label
    }
    rows = (
        zip(table.row_statement, table.row_aspect, strict=True)
        if others.intersection(table.row_statement)
        else ()
    )
    labels: dict[str, Counter[str]] = {}
    for code, aspect in rows:
        if code in others and aspect not in aspects:
            statement = table.said.words[code]
            labels.setdefault(statement.rubric, Counter())[statement.label] += 1
    return {
        # Only where every label is one of the scale's: a single other label shows that something else was
        # meant.
        rubric: counts.total()
        for rubric, counts in labels.items()
        if counts.keys() <= scale.labels.keys()
    }


@kept_in_table
def answerable_in(table: JudgementTable) -> dict[int, bool]:
    """Return which questions can be answered, by number: what judgements or questions say."""
    answerability = dict(table.answerable)
    if table.questions is not None:
        for query, answerable in read_answerable(table.questions).items():
            number = table.queries.find(query)
            # Judgements and questions may both say it; when they differ, nobody knows which is right.
            if answerability.setdefault(number, answerable) != answerable:
                raise InputError(
                    at=Place(visible(name_of(table.questions))),
                    expected="the same in both",
                    found=f"answerable={str(answerable).lower()} for query {visible(query)}, and the"
                    " judgements the opposite",
                )
    return answerability


@kept_in_table
def conversations_in(table: JudgementTable) -> dict[str, str]:
    """Return the conversation of every query that is a turn."""
    return {table.queries.words[query]: turn.conversation for query, turn in table.turns.items()}


@kept_in_table
def turns_in_order(table: JudgementTable, asker: str) -> dict[int, list[int]]:
    """Return the queries of the conversation of each query, in the order of its turns."""
    if not table.turns:
        raise UsageError(
            f"{asker}: needs conversations, and {visible(table.name)} names none; give every query a"
            " conversation_id and a turn, in the judgements, the answers (--answers) or the questions"
            " (--questions)"
        )
    numbered: dict[str, list[tuple[float, int]]] = {}
    for query, turn in table.turns.items():
        try:
            number = float(turn.place)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            name = visible(str(table.queries.words[query]))
            raise InputError(
                at=Place(visible(table.name)),
                expected=f"a number as turn of query {name}, which orders the turns of its conversation",
                found=f"{visible(turn.place)!r}" if turn.place else "none",
            )
        numbered.setdefault(turn.conversation, []).append((number, query))
    in_order: dict[int, list[int]] = {}
    for conversation, turns in numbered.items():
        turns.sort()
        if len({number for number, _ in turns}) < len(turns):
            raise InputError(
                at=Place(visible(table.name)),
                expected=f"another turn for each query of conversation {visible(conversation)}",
                found="two with the same",
            )
        in_order.update((query, [other for _, other in turns]) for _, query in turns)
    return in_order


class JudgeOfRun:
    """What one judge said of one system's answers.

    `missing` says what becomes of judgements that failed or are not there: they are left out (`skip`), or
    taken for the `worst`, the `best`, or any label or grade of the scale. With `only_here` it is no concern
    what other systems were judged on.
    """

    def __init__(
        self,
        table: JudgementTable,
        run: int,
        judge: int,
        missing: str | float = "skip",
        only_here: bool = False,
    ) -> None:
        """Look up numbers of runs and judges in the table."""
        self.skips = missing == "skip"
        self._table, self._run, self._judge = table, run, judge
        self._missing, self._only_here = missing, only_here
        # Found when it is first asked for: most measures never ask.
        self._present: set[int] | None = None  # queries of which there is anything of the system
        self._scales: dict[tuple[Scale, Needs | None], ScaleJudgements] = {}
        self._judged_on: dict[ScaleJudgements, dict[int, bool]] = {}
        answers = table.answers_of(run, judge)
        self._answers = {(table.query[answer], table.repeat[answer]): answer for answer in answers}

    def answers(self, number: int = 1) -> Iterator[list[Assessment]]:
        """Yield those of each query, in their order: one a repeat, and one for each that lacks to a `number`.

        Who answers some queries several times does so for all: a repeat that a query lacks is missing.
        """
        table = self._table
        run = table.runs.words[self._run]
        # Answers alone have no judge.
        judge = table.judges.words[self._judge] if table.judges.words else ""
        repeats = table.repeats_by_query(self._run)
        for index, query in enumerate(table.queries.words):
            there = repeats.get(index, [])
            lacking = [NO_ANSWER if there else _NO_REPEAT] * (number - len(there))
            places = [(index, repeat) for repeat in [*there, *lacking]]
            answers = ((place, self.facts(place)) for place in places)
            yield [Assessment(query, run, judge, self, place, facts) for place, facts in answers]

    def assessments(self) -> Iterator[Assessment]:
        """Yield one for each query, in their order, of a table without repeats."""
        return chain.from_iterable(self.answers())

    def facts(self, place: AnswerPlace) -> AnswerFacts:
        """Return what is known of an answer beside the judgements."""
        return self._table.facts.get((self._run, *place), _NOTHING)

    def seen(self, scale: Scale, place: AnswerPlace, needs: Needs | None, asker: object) -> Seen:
        """Return what was said on a scale of an answer."""
        judged = self._scales.get((scale, needs))
        if judged is None:
            judged = self._required(scale, needs, asker)
        answer = self._answers.get(place)
        if answer is not None:
            by_importance = needs == "importance" and not self._only_here
            counted = judged.counted(answer, by_importance, scale in _OF_NUGGETS and not self._only_here)
            if counted is not None:
                # The usual case: nothing is missing.
                return Seen(lambda: judged.judgements_of(answer)[0], _NONE, True, counted=counted)
        judgements, failed = judged.judgements_of(answer) if answer is not None else ([], [])
        if not judgements:
            return self._of_none(judged, place, needs, asker)
        if scale in _OF_NUGGETS and not self._only_here:
            there, bank = {judgement.aspect for judgement in judgements}, judged.bank(place[0], self._judge)
            if len(bank) > len(there):
                lacking = [lost for lost in bank if lost.aspect not in there]
                failed += [
                    (index, ABSENT) for index in range(len(judgements), len(judgements) + len(lacking))
                ]
                judgements += lacking
        if needs == "importance" and not self._only_here:
            lost = {index for index, _ in failed}
            unrated = (
                index
                for index, judgement in enumerate(judgements)
                if judgement.importance is None and index not in lost
            )
            failed += [(index, UNRATED) for index in unrated]
        # The usual case, and asked for of every answer: nothing is missing.
        if not failed:
            return Seen(judgements, _NONE, True)
        return self._with_lost(judgements, failed, scale, needs, place, True, asker)

    def _of_none(
        self, judged: ScaleJudgements, place: AnswerPlace, needs: Needs | None, asker: object
    ) -> Seen:
        """Return what holds of an answer of which nothing was said on a scale.

        It is known (there is nothing to be judged, or there is no answer and nothing is worse), or missing.
        """
        scale, query = judged.scale, place[0]
        if self._only_here or (scale.of_citations and self.facts(place).cited is not None):
            return _SEEN_NOTHING  # what an answer is known to cite, the measure looks for by itself
        bank = judged.bank(query)
        if self.is_left_out(query) and _is_worst_without(asker, scale, needs):
            if not scale.by_all or scale.of_citations or scale.nothing is None:
                return _SEEN_NOTHING
            # An answer that there is not has the label of nothing on each aspect of the bank.
            label, grade = scale.taken_for("nothing")
            return Seen([judgement._replace(label=label, grade=grade) for judgement in bank], _NONE, False)
        # Others were judged on these aspects, this answer was not: each of them is a missing judgement.
        if scale.by_all and bank and not scale.of_citations:
            judgements = bank[:]
            failed = [(number, ABSENT) for number in range(len(judgements))]
            return self._with_lost(judgements, failed, scale, needs, place, False, asker)
        return _SEEN_OPEN if self._is_asked(judged, place) else _SEEN_NOTHING

    def _is_asked(self, judged: ScaleJudgements, place: AnswerPlace) -> bool:
        """Return whether an answer of which nothing was said on a scale counts all the same."""
        scale, query = judged.scale, place[0]
        if scale is OUTCOME:
            return False  # nobody meets everybody
        # What others cite does not say what this answer would have cited.
        is_judged = bool(judged.bank(query))
        if self.is_unanswered(query):
            return query in self._table.expected or is_judged
        if scale.of_whole and self._lacks(judged, query):
            return True
        if scale.of_citations and is_judged:
            return True
        return scale.by_all and query in self._table.expected and not self.has_record(place)

    def _lacks(self, judged: ScaleJudgements, query: int) -> bool:
        """Return whether a query was judged on other scales alone, and other queries on this one."""
        if judged not in self._judged_on:
            table, run = self._table, self._run
            on_it: dict[int, bool] = {}  # by query: whether anybody said anything of it on this scale
            for answer in table.judged_of(run):
                if not on_it.get(asked := table.query[answer]):
                    on_it[asked] = any(judged.holds(row) for row in table.rows(answer))
            self._judged_on[judged] = on_it
        on_it = self._judged_on[judged]
        return not on_it.get(query, True) and any(on_it.values())

    def _with_lost(
        self,
        judgements: list[Judgement],
        failed: list[tuple[int, str]],
        scale: Scale,
        needs: Needs | None,
        place: AnswerPlace,
        own: bool,
        asker: object,
    ) -> Seen:
        """Return judgements of which some are missing, with what these are taken for in their place."""
        is_filled = not self.skips and not (needs == "open" and self._missing in _OTHER_END)
        for number, _ in failed if is_filled else ():
            # A criterion of negative weight speaks of a fault: that it is there is the worst.
            is_reversed = needs == "weight" and judgements[number].weight < 0
            if needs == "answerable":  # refusing is right where there is no answer
                is_reversed = not self.answerable(place, "")
            # A label or a grade that was named has no other end, and is taken as it is.
            end = _OTHER_END.get(self._missing, self._missing) if is_reversed else self._missing
            label, grade = scale.taken_for(end)
            judgements[number] = judgements[number]._replace(label=label, grade=grade)
            if needs == "importance" and judgements[number].importance is None:
                # As the importance that the measure counts in full: farther than that no value goes.
                is_of_okay = isinstance(asker, Measure) and asker.parameters.get("importance") == "okay"
                counted = "okay" if is_of_okay else "vital"
                judgements[number] = judgements[number]._replace(importance=counted)
        return Seen(judgements, Counter(status for _, status in failed), own)

    def is_unanswered(self, query: int) -> bool:
        """Return whether there is nothing at all of the system to a query: no answer, and no judgement."""
        if self._present is None:
            table, run = self._table, self._run
            self._present = {of for of, _ in table.facts_of_run(run)}
            self._present.update(map(table.query.__getitem__, table.judged_of(run)))
        return query not in self._present

    def is_left_out(self, query: int) -> bool:
        """Return whether the system left a query out: its other answers are known, and nobody judged this."""
        return self.is_unanswered(query) and self._tells_answers

    @cached_property
    def _tells_answers(self) -> bool:
        # Only of a system whose answers are known can anybody say that one is not there.
        return any(facts.cited is not None for facts in self._table.facts_of_run(self._run).values())

    def has_record(self, place: AnswerPlace) -> bool:
        """Return whether there is a record of the answer, be it that it has nothing to be judged."""
        facts = self.facts(place)
        return facts.assigned or facts.cited is not None

    def is_judged(self, scale: Scale, query: int) -> bool:
        """Return whether answers to a query are to be judged on a scale by which every answer is."""
        of_all = scale.nothing is not None or scale.of_citations
        return of_all and (query in self._table.expected or bool(on(self._table, scale).bank(query)))

    def others(self, scale: Scale, place: AnswerPlace, needs: Needs | None, asker: object) -> Seen:
        """Return what was said on a scale of all other systems' answers to a query.

        What is missing there is taken for the other end than what is missing here.
        """
        judged = self._scales.get((scale, needs)) or self._required(scale, needs, asker)
        judgements: list[Judgement] = []
        lost: Counter[str] = Counter()
        table = self._table
        for answer in table.judged_to(place[0]):
            # Its own answer is no rival of itself.
            if table.judge[answer] != self._judge or table.run[answer] == self._run:
                continue
            theirs, failed = judged.judgements_of(answer)
            if failed and not self.skips:
                # The best for this system is the worst for its rivals: so the ends enclose what could have
                # been.
                label, grade = scale.taken_for("nothing" if self._missing == "best" else "best")
                for number, _ in failed:
                    theirs[number] = theirs[number]._replace(label=label, grade=grade)
            judgements += theirs
            lost.update(status for _, status in failed)
        return Seen(judgements, lost, True)

    def knows(self, scale: Scale) -> bool:
        """Return whether the judge made any judgement on a scale, for any system."""
        return on(self._table, scale).is_by(self._judge)

    def taken_for(self, scale: Scale) -> tuple[str | None, float] | None:
        """Return label and grade that a judgement is taken for that is missing; None if it is left out."""
        return None if self.skips else scale.taken_for(self._missing)

    def _required(self, scale: Scale, needs: Needs | None, asker: object) -> ScaleJudgements:
        """Return the judgements on a scale, where all is said of them that a measure needs."""
        judged = required(self._table, scale, asker)
        # The scale was used by other judges only; who said nothing must not be taken for one who said no.
        if not judged.is_by(self._judge):
            raise NotThisJudge
        if needs == "importance" and not self._only_here and not judged.says_importance:
            raise UsageError(
                f"{asker}: needs the importance of nuggets (vital or okay), which is not in"
                f" {visible(self._table.name)}: {GIVE_NUGGETS}"
            )
        row = judged.first_without_weight if needs == "weight" else None
        if row is not None:
            aspect = self._table.aspects.words[self._table.row_aspect[row]]
            raise UsageError(
                f"{self._table.where(row)}: {asker} needs the weight of every criterion, but there is none"
                f" for {visible(aspect)[:60]!r}: {GIVE_NUGGETS}"
            )
        self._scales[scale, needs] = judged
        return judged

    def turns(self, answer: Assessment) -> list[Assessment]:
        """Return the answers to all turns of a conversation, in their order, this one among them."""
        query, repeat = answer.place
        queries = turns_in_order(self._table, str(answer.asker)).get(query, [query])
        repeats = self._table.repeats_by_query(self._run)
        turns = []
        for number in queries:
            if number == query:
                turns.append(answer)
                continue
            there = repeats.get(number, [])
            # Who has no such repeat of another turn lacks it; one who has none of this turn is asked for any.
            same = repeat if repeat in there else there[0] if there and repeat < 0 else _NO_REPEAT
            place = number, same if there else NO_ANSWER
            turn = Assessment(
                self._table.queries.words[number], answer.run_id, answer.judge, self, place, self.facts(place)
            )
            turns.append(turn.asked_by(answer.asker))
        return turns

    def stand_in(self) -> float:
        """Return what a missing judgement is taken for, from 0 to 1."""
        return _STANDS_IN.get(str(self._missing), 0.0)

    def knows_answers(self) -> bool:
        """Return whether anything is known of any answer."""
        return bool(self._table.facts)

    def answerable(self, place: AnswerPlace, asker: object) -> bool:
        """Return whether a question can be answered; `UsageError` where nothing says it."""
        table = self._table
        is_answerable = answerable_in(table).get(place[0])
        if is_answerable is None:
            raise UsageError(
                f"{asker}: it is unknown whether query {visible(table.queries.words[place[0]])} can be"
                " answered; give the questions with a field answerable, true or false (--questions FILE,"
                " questions= in Python), or the key in the judgements"
            )
        return is_answerable

    def places(self, place: AnswerPlace, asker: object) -> list[RankingPlace]:
        """Return where an answer stands in the rankings by this judge."""
        if not required(self._table, POSITION, asker).is_by(self._judge):
            raise NotThisJudge
        query, repeat = place
        rankings = _standings_of(self._table, query)
        all_valid = all(ranking.is_valid for ranking in rankings)
        ranking_places = []
        for judge, ranking_repeat, number, is_valid, places in rankings:
            # An answer that is not there is in no repeat, and so missing in each.
            if judge != self._judge or repeat not in (ranking_repeat, _NO_REPEAT):
                continue
            own = places.get(self._run, ())
            ranking_places += [RankingPlace(rank, number, is_valid, all_valid) for rank in own]
            if not own:  # the others were ranked, and this answer was not
                ranking_places.append(RankingPlace(math.nan, number + 1, False, False))
        return ranking_places


def _is_worst_without(asker: object, scale: Scale, needs: Needs | None) -> bool:
    """Return whether a measure has its worst value, 0, for an answer that is not there.

    Only then is such an answer known by itself; else leaving out the bad ones would pay.
    """
    if not isinstance(asker, Measure) or asker.better == LOWER or asker.ends[0] != 0:
        return False
    if needs == "answerable":  # to refuse is right where there is no answer
        return False
    # Where shares are pooled, an answer of which no part is known has no weight.
    return asker.aggregate != POOL or (scale.by_all and not scale.of_citations)


_NOTHING = AnswerFacts()
# In place of the number of a repeat: of a query without an answer, and of one that has fewer than others.
_NO_REPEAT, NO_ANSWER = -1, -2
_NONE: dict[str, int] = {}
_SEEN_NOTHING = Seen([], _NONE, False)
_SEEN_OPEN = Seen([], {ABSENT: 1}, False, True)
_Ranking = list[tuple[int, float]]  # (run, place), by run; NaN where the judgement failed


@kept_in_table
def rankings_of(table: JudgementTable, query: int) -> dict[tuple[int, int, int], _Ranking]:
    """Return the rankings of the answers to a query, by judge, aspect and repeat."""
    positions = on(table, POSITION)
    rankings: dict[tuple[int, int, int], _Ranking] = {}
    for answer in table.judged_to(query):
        for row in filter(positions.holds, table.rows(answer)):
            # A failed position keeps its row, so that the ranking is seen to be incomplete.
            place = table.grade_in(row) if table.statement_of(row).is_graded else math.nan
            ranking = table.judge[answer], table.row_aspect[row], table.repeat[answer]
            rankings.setdefault(ranking, []).append((table.run[answer], place))
    return rankings


class _Standing(NamedTuple):
    """A ranking of the answers to a query: whose it is, of how many, and the places of each run in it."""

    judge: int
    repeat: int
    number: int
    is_valid: bool
    places: dict[int, list[float]]


@kept_in_table
def _standings_of(table: JudgementTable, query: int) -> list[_Standing]:
    """Return the rankings of the answers to a query, with each run's places."""
    standings = []
    for (judge, _, repeat), ranking in rankings_of(table, query).items():
        places: dict[int, list[float]] = {}
        for run, place in ranking:
            places.setdefault(run, []).append(place)
        standings.append(_Standing(judge, repeat, len(ranking), is_permutation(ranking), places))
    return standings


def is_permutation(ranking: _Ranking) -> bool:
    """Return whether the places are 1 to N, each once."""
    places = [place for _, place in ranking]
    # NaN compares unequal to everything: a ranking with a failed place is none.
    return sorted(places) == list(range(1, len(places) + 1))


# --- which queries count


def with_questions(table: JudgementTable, questions: Any) -> JudgementTable:
    """Return the table in which all these questions count."""
    asked = read_facts(questions, (CONVERSATION, TURN))
    judged = table.queries.words
    if not any(query in asked for query in judged):
        raise InputError(
            at=Place(visible(name_of(questions))),
            problem=f"has none of the {len(judged):,} queries, such as {visible(str(judged[0]))!r}",
            expected="the questions that were asked (queries there:"
            f" {', '.join(map(visible, list(asked)[:3]))}{', …' if len(asked) > 3 else ''})",
        )
    expanded = table.with_questions(asked, questions)
    for query, facts in asked.items():
        expanded.add_turn(Place(visible(name_of(questions))), query, facts.get(CONVERSATION), facts.get(TURN))
    if hasattr(questions, "seek"):
        questions.seek(0)  # others read it, too
    return expanded


def with_labeled(
    table: JudgementTable, people: JudgementTable, plan: LabelPlan | None = None
) -> JudgementTable:
    """Return the table in which the labeled queries of its systems count, and those of the plan."""
    labeled = [(run, query) for run, query in answers_in(people) if run in table.runs]
    if not set(labeled) & set(answers_in(table)):
        return table  # labels of something else, which are refused as such
    queries = [query for _, query in labeled]
    if plan is not None:
        queries += [*plan.order, *plan.same]
    # Of a query of which anybody was judged it is known by what, and so what the others lack.
    judged = set(table.query)
    new = dict.fromkeys(query for query in queries if table.queries.find(query) not in judged)
    return table.expecting(new) if new else table


def answers_in(table: JudgementTable) -> Iterator[tuple[str, str]]:
    """Yield system and query of what was judged."""
    for run, query in zip(table.run, table.query, strict=True):
        yield table.runs.words[run], table.queries.words[query]


def unanswered(table: JudgementTable, run: int) -> list[str]:
    """Return the queries that count and of which a system has neither an answer nor a judgement."""
    sight = JudgeOfRun(table, run, 0)
    words = table.queries.words
    return [query for number, query in enumerate(words) if sight.is_unanswered(number)]
