"""rageval's own judgements: JSON lines, one judgement a line; the archive and exchange format.

`JudgementTable` is what was read of any files that say something of answers (judgements, AutoNuggetizer's
assignments, the answers themselves): small numbers that stand for words, in plain arrays, so that a million
lines take some twenty megabytes.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache, wraps
from itertools import accumulate, chain, compress, count, islice, repeat
from operator import attrgetter, gt, itemgetter, ne, sub
from typing import TYPE_CHECKING, Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar

import msgspec

from rageval import hooks
from rageval.core.answer import AnswerFacts
from rageval.core.remark import Remark, Scope
from rageval.core.turn import ConversationTurn
from rageval.errors import InputError, Place, UsageError
from rageval.files.answers import read_answers
from rageval.files.jsonl import as_line, problem_of_record, read_batches, without_nulls
from rageval.files.kinds import kind_of_start, start_of_file, unlike
from rageval.files.opening import DEFAULT, Complaints, Limits, Source, limits_of, name_of, quoted
from rageval.files.start import ANSWERS, JUDGED_ANSWERS, Start
from rageval.text import RULES, problem_of_id, visible

if TYPE_CHECKING:
    from rageval.files.foreign_judgements import Match

EXPECTED = "a judgement {query_id, run_id, item_id, aspect, label or grade, …}"
GRADED = ("ok", "repaired")
FAILED = ("refused", "truncated", "filtered", "invalid", "error")
_LONGEST_WORD = 200  # of a label, a judge, a rubric
_BYTES_A_CHARACTER = 4  # at most, in UTF-8
_ANSWER = attrgetter("run_id", "judge", "query_id", "repeat")
_SAID = attrgetter("label", "status", "rubric", "importance", "weight")
_IDS = ("query_id", "run_id", "item_id", "repeat")
_ITEM, _ASPECT = map(attrgetter, ("item_id", "aspect"))
_Text = str | int
_Arguments = ParamSpec("_Arguments")
_Made = TypeVar("_Made")


class JudgementLine(msgspec.Struct, gc=False):
    """What is read of a line; whatever else stands there is kept by those who copy lines."""

    query_id: _Text
    run_id: _Text
    item_id: _Text = "answer"
    aspect: _Text = "0"
    label: str | None = None
    grade: float | None = None
    status: Literal["ok", "repaired", "refused", "truncated", "filtered", "invalid", "error"] = "ok"
    judge: str = ""
    rubric: str = ""
    importance: Literal["vital", "okay"] | None = None
    weight: float | None = None
    sentences: int | None = None
    answerable: bool | None = None  # whether the question can be answered
    p: float | None = None  # the chance that people would call the answer right, where a judge says it
    shown: list[_Text] | None = None  # the systems whose answers were shown together, in their order
    repeat: _Text = ""  # which of several answers of the system to the query
    claim: str | None = None  # that earlier judgements were to decide
    battles: str | None = None  # how the pairs were drawn that were judged, where not all were
    conversation_id: _Text | None = None  # whose turn the query is
    place: Any = msgspec.field(default=None, name="turn")  # of the query in its conversation


class Statement(NamedTuple):
    """What a row says beside its grade; labels and rubrics are folded, so that spellings are one."""

    label: str | None
    status: str
    rubric: str
    importance: str | None
    weight: float | None

    @property
    def is_graded(self) -> bool:
        """Return whether the judgement did not fail."""
        return self.status in GRADED


class AskedNugget(NamedTuple):
    """A nugget by which answers to a query are judged."""

    aspect: str
    importance: str | None
    weight: float | None


class _Words(dict[Any, int]):
    """Words as numbers: each distinct one gets the next, in order of first appearance, once it is folded.

    >>> words = _Words(str.lower)
    >>> [words[word] for word in ("No", "yes", "no")], words.words, words.find("never")
    ([0, 1, 0], ['no', 'yes'], -1)
    """

    def __init__(self, fold: Callable[[Any], Any] = str) -> None:
        """Fold each spelling once, with this function."""
        super().__init__()
        self.words: list[Any] = []
        self.new: list[Any] = []  # spellings that nobody has checked yet
        self._fold = fold

    def __missing__(self, spelling: Any) -> int:
        word = self._fold(spelling)
        code = self.get(word)
        if code is None:
            self[word] = code = len(self.words)
            self.words.append(word)
        # The spelling itself is kept as a key, too: the next time, it is found without folding.
        self[spelling] = code
        self.new.append(spelling)
        return code

    def find(self, word: Any) -> int:
        """Return the number of a word, -1 if it is not known."""
        return self.get(word, -1)

    def copy(self) -> _Words:
        """Return the same words with the same numbers, to which others can be added."""
        copied = _Words(self._fold)
        copied.update(self)
        copied.words, copied.new = self.words[:], self.new[:]
        return copied


class JudgedTwice(InputError):
    """A judge judged the same twice."""


def kept_in_table(
    make: Callable[Concatenate[JudgementTable, _Arguments], _Made],
) -> Callable[Concatenate[JudgementTable, _Arguments], _Made]:
    """Let the table keep what is made of its rows: it is made once, by its arguments."""

    @wraps(make)
    def look_up(table: JudgementTable, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Made:
        key = (make.__qualname__, *args, *kwargs.items())
        if key not in table.kept:
            table.kept[key] = make(table, *args, **kwargs)
        value: _Made = table.kept[key]
        return value

    return look_up


class JudgementTable:
    """All judgements of some answers, grouped by answer. Made by `read_judgements`; a system is a `run`.

    Answers are numbered by run, judge, query and repeat, each in order of first appearance, and rows as they
    are stored: those of an answer stand together, in the order of the file.
    """

    def __init__(self, name: str) -> None:
        """Begin with nothing; `finish` comes after all rows."""
        self.name = name
        self.queries, self.runs, self.judges, self.items, self.aspects = (_Words() for _ in range(5))
        self.repeats = _Words()
        self.said = _Words(_fold_statement)
        self.facts: dict[tuple[int, int, int], AnswerFacts] = {}  # by run, query and repeat
        self.sources: list[str] = []
        self.by_text: set[int] = set()  # sources whose aspects are texts of nuggets, for want of ids
        self.answerable: dict[int, bool] = {}  # by query, where judgements say it
        self.turns: dict[int, ConversationTurn] = {}  # by query, where judgements or answers say it
        self.questions: Any = None  # who else can be asked
        self.expected: frozenset[int] = frozenset()  # queries that count, whether or not anything is judged
        self.remarks: list[Remark] = []  # what should be said of the table
        self.kept: dict[Any, Any] = {}  # what was made of the rows (`kept_in_table`)
        self.is_adaptive = False  # whether earlier judgements chose what was judged
        self.draws: set[str] = set()  # how pairs were drawn that were judged, where not all were
        self.matched: dict[tuple[str, str], tuple[int, tuple[Match, ...]]] = {}  # by run and query, with line
        self.asked: dict[int, list[AskedNugget]] = {}  # by query, where a bank says it
        self.row_item, self.row_aspect, self.row_statement = array("i"), array("i"), array("i")
        self._grade: array[float] | None = None  # as soon as anybody gives one
        self._chance: array[float] | None = None  # as soon as a judge says how sure it is
        self._shown: array[int] | None = None  # as soon as anybody says where: places from 1, 0 if not known
        # Whose each answer is, and its rows; until all is read, which answer each row is of.
        self.run, self.judge, self.query, self.repeat = (array("i") for _ in range(4))
        self.begin, self.end = array("i"), array("i")
        self._answers, self._answer = _Words(tuple), array("i")
        self._stretches: list[tuple[int, int, Sequence[int]]] = []  # first row, source, lines
        self._order: array[int] | None = None  # of rows, by now, as they were read

    def __len__(self) -> int:
        return len(self.row_statement)

    def __repr__(self) -> str:
        return f"<Judgements {self.name}: {len(self):,} of {len(self.runs.words):,} systems>"

    def add(
        self,
        source: str,
        lines: Sequence[int],
        records: Sequence[JudgementLine],
        limits: Limits,
        absent: Collection[str] = (),
    ) -> None:
        """Take in a stretch of rows; `absent` are fields that no row has."""
        first, number = len(self), len(records)

        def column(field: str) -> list[Any] | None:
            # map with an attrgetter runs in C: a million rows are read here, and a loop in Python would be
            # most of the time.
            values = None if field in absent else list(map(attrgetter(field), records))
            return None if values is None or values.count(None) == number else values

        # Stretches of one file come one after the other.
        if not self.sources or self.sources[-1] != source:
            self.sources.append(source)
        self._stretches.append((first, len(self.sources) - 1, lines))
        self.row_item.extend(map(self.items.__getitem__, map(_ITEM, records)))
        self.row_aspect.extend(map(self.aspects.__getitem__, map(_ASPECT, records)))
        self.row_statement.extend(map(self.said.__getitem__, map(_SAID, records)))
        grades = column("grade")
        # Files of labels alone have no column of grades; it begins with the first grade, with NaN for all
        # rows before.
        if self._grade is None and grades is not None:
            self._grade = array("d", repeat(math.nan, first))
        if self._grade is not None:
            own = grades or repeat(None, number)
            self._grade.extend([math.nan if grade is None else grade for grade in own])
        chances = column("p")
        if self._chance is None and chances is not None:
            self._chance = array("d", repeat(math.nan, first))
        if self._chance is not None:
            self._chance.extend(_checked_chances(source, lines, chances or [None] * number))
        if self._shown is None and column("shown") is not None:
            # As with grades: the column is there as soon as one row says it.
            self._shown = array("i", repeat(0, first))
        if self._shown is not None:
            self._shown.extend(_places_shown(source, lines, records))
        answers = list(map(_ANSWER, records))
        # Rows of one answer mostly stand together: whose they are is looked up where another answer begins.
        differ = map(ne, answers, islice(answers, 1, None))
        begins = [*range(min(number, 1)), *compress(count(1), differ)]
        lengths = map(sub, [*begins[1:], number], begins)
        first_of = [answers[index] for index in begins]
        words = enumerate((self.runs, self.judges, self.queries, self.repeats))
        whose = zip(
            *(map(of.__getitem__, map(itemgetter(index), first_of)) for index, of in words), strict=True
        )
        numbers = map(self._answers.__getitem__, whose)
        self._answer.extend(chain.from_iterable(map(repeat, numbers, lengths)))
        self._answers.new.clear()
        # Checked word by word, each once; only if something is odd are rows looked at singly, to name the
        # line.
        if self._needs_row_checks(first, limits):
            _refuse_contradictions(source, lines, records, limits)
        self.is_adaptive |= column("claim") is not None
        self.draws.update(filter(None, column("battles") or ()))
        if column("conversation_id") is not None:
            for line, record in zip(lines, records, strict=True):
                self.add_turn(Place(source, line), record.query_id, record.conversation_id, record.place)
        if column("sentences") is not None:
            for line, record in zip(lines, records, strict=True):
                if record.sentences is not None:
                    facts = self.facts_of(str(record.run_id), str(record.query_id), str(record.repeat))
                    where = Place(source, line)
                    if record.sentences < 1:
                        raise InputError(
                            at=where, expected="1 or more sentences", found=f"{record.sentences}"
                        )
                    if facts.sentences not in (None, record.sentences):
                        raise InputError(
                            at=where,
                            expected=f"an answer of {facts.sentences} sentences, as before",
                            found=f"{record.sentences}",
                        )
                    facts.sentences = record.sentences
        if column("answerable") is not None:
            for line, record in zip(lines, records, strict=True):
                answerable = record.answerable
                if (
                    answerable is None
                    or self.answerable.setdefault(self.queries[record.query_id], answerable) == answerable
                ):
                    continue
                raise InputError(
                    at=Place(source, line),
                    expected="one value for each query",
                    found=f"answerable={answerable} for query {visible(str(record.query_id))}, but the"
                    " opposite before",
                )

    def add_turn(self, where: Place, query: _Text, conversation: _Text | None, place: Any = None) -> None:
        """Note of which conversation a query is a turn; refuse a second one."""
        if conversation in (None, ""):
            return
        turn = ConversationTurn(str(conversation), "" if place is None else str(place))
        first = self.turns.setdefault(self.queries[query], turn)
        if first.conversation != turn.conversation or (turn.place and first.place not in ("", turn.place)):
            raise InputError(
                at=where,
                expected="one conversation_id and one turn for each query",
                found=f"{_turn_text(turn)} for query {visible(str(query))}, and {_turn_text(first)} before",
            )
        if turn.place and not first.place:
            self.turns[self.queries[query]] = turn

    def _needs_row_checks(self, first: int, limits: Limits) -> bool:
        """Return whether any of the rows from here on must be looked at one by one, for it may be refused.

        Each distinct word, and each distinct thing that rows say, is looked at once.
        """
        needs_checks = any(word != "" and problem_of_id(str(word)) for word in self.repeats.new)
        # `new` are the words since the last look.
        ids = self.queries, self.runs, self.items
        needs_checks = needs_checks or any(problem_of_id(str(word)) for words in ids for word in words.new)
        for words, longest in (
            *((words, limits.id) for words in (*ids, self.repeats)),
            (self.aspects, limits.line),
            (self.judges, _LONGEST_WORD),
        ):
            needs_checks = needs_checks or any(_is_long(str(word), longest) for word in words.new)
            words.new = []
        for label, _, rubric, _, weight in self.said.new:
            needs_checks = needs_checks or any(
                _is_long(word or "", _LONGEST_WORD) for word in (label, rubric)
            )
            needs_checks = needs_checks or (weight is not None and not math.isfinite(weight))
        self.said.new = []
        codes, kinds = self.row_statement[first:], self.said.words
        if self._grade is None:
            return needs_checks or any(
                (kinds[code].label is not None) != kinds[code].is_graded for code in set(codes)
            )
        grades = self._grade[first:]
        # A million rows say few different things: a status, a label, and whether there is a grade.
        pairs = set(zip(codes, map(math.isnan, grades), strict=True))
        needs_checks = needs_checks or any(
            (kinds[code].label is not None or not nothing) != kinds[code].is_graded for code, nothing in pairs
        )
        return needs_checks or any(abs(grade) > limits.grade for grade in grades)

    def finish(self) -> JudgementTable:
        """Bring the rows of each answer together, and refuse a judgement that is there twice."""
        self.kept.clear()
        if self.is_adaptive:
            self.remarks.append(Remark("adaptive_judgements", Scope(file=self.name)))
        self._bring_together()
        for answer in range(len(self.run)):
            begin, end = self.begin[answer], self.end[answer]
            # Every aspect once, whatever the items: nothing can be there twice.
            if len(set(self.row_aspect[begin:end])) == end - begin:
                continue
            seen: dict[tuple[int, int], dict[str, int]] = {}
            for row in range(begin, end):
                rubrics = seen.setdefault((self.row_item[row], self.row_aspect[row]), {})
                rubric = self.said.words[self.row_statement[row]].rubric
                # Two kinds of judgement may be of one thing; whoever names no kind may mean any.
                first = rubrics.get(rubric, rubrics.get("") if rubric else next(iter(rubrics.values()), None))
                if first is not None:
                    raise self._twice(first, row)
                rubrics[rubric] = row
        return self

    def _bring_together(self) -> None:
        """Put answers in order, by run, judge, query and repeat, and their rows, where they lie apart."""
        answers, of_row = self._answers.words, self._answer
        self._answers, self._answer = _Words(tuple), array("i")  # which takes memory, and is used up
        order = sorted(range(len(answers)), key=answers.__getitem__)
        places = zip(*map(answers.__getitem__, order), strict=True)
        self.run, self.judge, self.query, self.repeat = (
            array("i", column) for column in (places if answers else [()] * 4)
        )
        number = Counter(of_row)
        # Answers are numbered as they come: where no number falls, the rows of each stand together.
        is_apart = any(map(gt, of_row, islice(of_row, 1, None)))
        begins = [0] * len(answers)
        last = 0
        for answer in order if is_apart else range(len(answers)):
            begins[answer], last = last, last + number[answer]
        self.begin = array("i", map(begins.__getitem__, order))
        self.end = array("i", [begins[answer] + number[answer] for answer in order])
        if not is_apart:
            return
        # A counting sort: each row is put behind those of its answer that came before.
        rows = array("i", bytes(4 * len(of_row)))
        for row, answer in enumerate(of_row):
            rows[begins[answer]] = row
            begins[answer] += 1
        self._order = rows
        for name in ("row_item", "row_aspect", "row_statement"):
            setattr(self, name, array("i", map(getattr(self, name).__getitem__, rows)))
        if self._grade is not None:
            self._grade = array("d", map(self._grade.__getitem__, rows))
        if self._chance is not None:
            self._chance = array("d", map(self._chance.__getitem__, rows))
        if self._shown is not None:
            self._shown = array("i", map(self._shown.__getitem__, rows))

    def _twice(self, first: int, second: int) -> InputError:
        # Only for a message, so that it may take long.
        answer = next(
            number for number in range(len(self.run)) if self.begin[number] <= first < self.end[number]
        )
        line = self.line(answer, first)
        repeat = f", repeat {visible(str(line.repeat))}" if line.repeat else ""
        query, run, item, aspect = (
            visible(str(word)) for word in (line.query_id, line.run_id, line.item_id, line.aspect)
        )
        # Two files that a tool wrote of two systems call them by one name.
        same_file = self._stretch(first)[1] == self._stretch(second)[1]
        return JudgedTwice(
            at=self.where(second),
            problem=f"query {query}, run {run}{repeat}, item {item[:80]}, aspect {aspect[:80]}"
            f" was judged before, in {self.where(first)}",
            expected="one judgement by each judge",
            remedy="" if same_file else "give each system its own run_id (rageval import --run NAME)",
        )

    def position(self, row: int) -> int:
        """Return how many rows were read before this one."""
        return row if self._order is None else self._order[row]

    def where(self, row: int) -> Place:
        """Return file and line of a row."""
        first, source, lines = self._stretch(row)
        return Place(self.sources[source], lines[self.position(row) - first])

    def is_by_text(self, row: int) -> bool:
        """Return whether the aspect of a row is the text of a nugget, because it has no id."""
        return self._stretch(row)[1] in self.by_text

    def _stretch(self, row: int) -> tuple[int, int, Sequence[int]]:
        # Stretches are in the order of reading, by their first row.
        index = bisect_right(self._stretches, self.position(row), key=lambda stretch: stretch[0])
        return self._stretches[index - 1]

    def answers_of(self, run: int, judge: int) -> range:
        """Return the numbers of the answers of a system that a judge said something of, by query."""
        return range(self._first((run, judge, 0)), self._first((run, judge + 1, 0)))

    def judged_of(self, run: int) -> range:
        """Return the numbers of the answers of a system that were judged, by judge and query."""
        return range(self._first((run, 0, 0)), self._first((run + 1, 0, 0)))

    def judged_to(self, query: int) -> list[int]:
        """Return the numbers of all systems' answers to a query, by system, judge and repeat."""
        by_query = self._judged_by_query()
        return by_query[query] if query < len(by_query) else []

    @kept_in_table
    def _judged_by_query(self) -> list[list[int]]:
        # One pass for all queries: looking for each by itself would take their number squared.
        by_query: list[list[int]] = [[] for _ in self.queries.words]
        for answer, number in enumerate(self.query):
            by_query[number].append(answer)
        return by_query

    def facts_of_run(self, run: int) -> Mapping[tuple[int, int], AnswerFacts]:
        """Return what is known of the answers of a system, by query and repeat."""
        return self._facts_by_run().get(run, {})

    @kept_in_table
    def _facts_by_run(self) -> dict[int, dict[tuple[int, int], AnswerFacts]]:
        by_run: dict[int, dict[tuple[int, int], AnswerFacts]] = {}
        for (run, query, repeated), facts in self.facts.items():
            by_run.setdefault(run, {})[query, repeated] = facts
        return by_run

    @kept_in_table
    def repeats_by_query(self, run: int) -> dict[int, list[int]]:
        """Return which repeats a system has to each query, from all that is known of them."""
        # Also answers that were judged and whose texts nobody gave.
        places = set(self.facts_of_run(run))
        places |= {(self.query[answer], self.repeat[answer]) for answer in self.judged_of(run)}
        repeats: dict[int, list[int]] = {}
        for query, number in sorted(places):
            repeats.setdefault(query, []).append(number)
        return repeats

    @property
    def answers_to_each(self) -> int:
        """How many answers every system should have to every query: as many as any has to any."""
        if len(self.repeats.words) < 2:
            return 1
        runs = range(len(self.runs.words))
        return max(
            (len(repeats) for run in runs for repeats in self.repeats_by_query(run).values()), default=1
        )

    def require_no_repeats(self, asker: str) -> None:
        """Refuse several answers of a system to one query."""
        for run, name in enumerate(self.runs.words):
            of_query = self.repeats_by_query(run) if len(self.repeats.words) > 1 else {}
            several = next((query for query, repeats in of_query.items() if len(repeats) > 1), None)
            if several is not None:
                repeats = ", ".join(
                    visible(self.repeats.words[code]) or "none" for code in of_query[several][:5]
                )
                raise UsageError(
                    f"{visible(self.name)}: {visible(name)} has {len(of_query[several])} answers to query"
                    f" {visible(self.queries.words[several])} (repeat {repeats}), but {asker} uses one;"
                    " keep one repeat of each"
                )

    def _first(self, place: tuple[int, int, int]) -> int:
        # Answers are sorted by run, judge and query, so that those of one lie together.
        return bisect_left(
            range(len(self.run)),
            place,
            key=lambda answer: (self.run[answer], self.judge[answer], self.query[answer]),
        )

    def rows(self, answer: int) -> range:
        """Return the rows of an answer."""
        return range(self.begin[answer], self.end[answer])

    def statement_of(self, row: int) -> Statement:
        """Return what a row says beside its grade."""
        statement: Statement = self.said.words[self.row_statement[row]]
        return statement

    def grade_in(self, row: int) -> float:
        """Return the grade that a row gives, NaN if it gives none."""
        return math.nan if self._grade is None else self._grade[row]

    def grades(self, answer: int) -> Iterable[float]:
        """Return the grades that the rows of an answer give, NaN where they give none."""
        begin, end = self.begin[answer], self.end[answer]
        return repeat(math.nan, end - begin) if self._grade is None else self._grade[begin:end]

    def chance_in(self, row: int) -> float:
        """Return the chance that people would call the answer right, NaN if the row does not say it."""
        return math.nan if self._chance is None else self._chance[row]

    @property
    def has_chances(self) -> bool:
        """Return whether any row says how sure its judge is."""
        return self._chance is not None

    def doubts(self) -> Iterator[tuple[float, str, str, float]]:
        """Yield (doubt, query, run, chance) of what is judged with a chance; doubt is that it is wrong."""
        for answer in range(len(self.run)) if self._chance is not None else ():
            query, run = self.queries.words[self.query[answer]], self.runs.words[self.run[answer]]
            for row in self.rows(answer):
                chance = self._chance[row] if self._chance is not None else math.nan
                if chance == chance and self.statement_of(row).is_graded:
                    yield min(chance, 1 - chance), query, run, chance

    def shown_at(self, row: int) -> int:
        """Return at which place, from 1, the answer of a row was shown among others; 0 if nothing says it."""
        return 0 if self._shown is None else self._shown[row]

    @property
    def says_order(self) -> bool:
        """Return whether any row says in which order answers were shown."""
        return self._shown is not None

    @property
    def has_grades(self) -> bool:
        """Return whether any row gives a grade."""
        return self._grade is not None

    def line(self, answer: int, row: int) -> JudgementLine:
        """Return a row as a record, its label and rubric folded."""
        statement, grade = self.statement_of(row), self.grade_in(row)
        return JudgementLine(
            query_id=self.queries.words[self.query[answer]],
            run_id=self.runs.words[self.run[answer]],
            judge=self.judges.words[self.judge[answer]],
            item_id=self.items.words[self.row_item[row]],
            aspect=self.aspects.words[self.row_aspect[row]],
            repeat=self.repeats.words[self.repeat[answer]],
            grade=None if math.isnan(grade) else grade,
            **statement._asdict(),
        )

    def each(self) -> Iterator[tuple[int, JudgementLine]]:
        """Yield (row, record) of all rows, by run, judge and query."""
        for answer in range(len(self.run)):
            for row in self.rows(answer):
                yield row, self.line(answer, row)

    def only(self, is_kept: Callable[[JudgementLine], bool]) -> JudgementTable:
        """Return the table with some of its rows alone."""
        part = copy(self)
        # What was made of all rows is not right for some of them, which nobody expects to be whole.
        part.kept, part.expected = {}, frozenset()
        kept = [
            [row for row in self.rows(answer) if is_kept(self.line(answer, row))]
            for answer in range(len(self.run))
        ]
        rows = [row for some in kept for row in some]
        answers = [answer for answer, some in enumerate(kept) if some]
        ends = list(accumulate(len(kept[answer]) for answer in answers))
        part.run, part.judge, part.query, part.repeat = (
            array("i", map(column.__getitem__, answers))
            for column in (self.run, self.judge, self.query, self.repeat)
        )
        part.begin, part.end = array("i", [0, *ends][: len(ends)]), array("i", ends)
        # So that messages name the lines of the file, not of the part.
        part._order = array("i", map(self.position, rows))
        part.row_item, part.row_aspect, part.row_statement = (
            array("i", map(column.__getitem__, rows))
            for column in (self.row_item, self.row_aspect, self.row_statement)
        )
        part._grade = None if self._grade is None else array("d", map(self._grade.__getitem__, rows))
        part._chance = None if self._chance is None else array("d", map(self._chance.__getitem__, rows))
        part._shown = None if self._shown is None else array("i", map(self._shown.__getitem__, rows))
        return part

    def expecting(self, queries: Iterable[str]) -> JudgementTable:
        """Return the table in which these queries count, too, whether or not anything of them is judged."""
        whole = copy(self)
        # The table that was given may be used again, without these queries.
        whole.queries, whole.kept = self.queries.copy(), dict(self.kept)
        whole.expected = self.expected | {whole.queries[str(query)] for query in queries}
        return whole

    def with_questions(self, asked: Iterable[str], questions: Any) -> JudgementTable:
        """Return the table in which the queries that were asked count; the questions say more of them."""
        whole = self.expecting(asked)
        # What was made without these questions says less.
        whole.questions, whole.kept, whole.turns = questions, {}, dict(self.turns)
        return whole

    def facts_of(self, run: str, query: str, repeat: str = "") -> AnswerFacts:
        """Return what is known of an answer; made when first asked for."""
        # Looking a word up numbers it: answers of which nobody judged anything become known here.
        place = self.runs[run], self.queries[query], self.repeats[repeat]
        if place not in self.facts:
            self.facts[place] = AnswerFacts()
        return self.facts[place]

    @kept_in_table  # asked for each system
    def failed(self) -> int:
        """Return how many judgements failed."""
        counts = Counter(self.row_statement)
        return sum(number for code, number in counts.items() if not self.said.words[code].is_graded)

    def labels(self) -> list[str]:
        """Return the labels that rows give."""
        return list(
            dict.fromkeys(
                statement.label for statement in self.distinct_statements() if statement.label is not None
            )
        )

    def rubrics(self) -> set[str]:
        """Return the rubrics that any row names, and nothing for rows that name none."""
        return {statement.rubric for statement in self.distinct_statements()}

    @kept_in_table
    def distinct_statements(self) -> tuple[Statement, ...]:
        """Return all that any row says, each once, by first appearance."""
        return tuple(self.said.words[code] for code in sorted(set(self.row_statement)))

    def add_file(self, source: Source) -> None:
        """Read a file of any of these kinds, distinguished by its first record."""
        # A dataset that stands for a file, whose judgements are of documents.
        if callable(content := getattr(source, "qrels", None)):
            self.add_dicts(
                {
                    "query_id": qrel.query_id,
                    "run_id": "documents",
                    "item_id": qrel.doc_id,
                    "aspect": qrel.iteration,
                    "grade": float(qrel.relevance),
                }
                for qrel in content()
            )
            return
        start = start_of_file(source)
        kind = _form_of(start)
        if kind == "judged":
            self._add_judged(source, start.text)
        elif kind == "judgements":
            for lines, records in read_batches(source, JudgementLine, EXPECTED):
                self.add(name_of(source), lines, records, limits_of(source), records.absent)
        elif kind == "assignments":
            name = name_of(source)
            for lines, answers in read_batches(source, Assignment, EXPECTED_ASSIGNMENT):
                rows = [list(_assigned_rows(answer)) for answer in answers]
                of_row = [line for line, some in zip(lines, rows, strict=True) for _ in some]
                self.add(name, of_row, list(chain.from_iterable(rows)), limits_of(source))
                # Measures must know that these aspects are texts, which no bank has as ids.
                self.by_text.add(len(self.sources) - 1)
                for answer in answers:
                    facts = self.facts_of(str(answer.run_id), str(answer.qid))
                    facts.assigned = True
                    if answer.answer_text is not None:
                        facts.lengths = _lengths([answer.answer_text])
                    elif answer.response_length is not None:
                        facts.lengths = {"nfkc": float(answer.response_length)}
        else:
            self.add_answers(source)

    def add_dicts(self, judgements: Iterable[Mapping[str, Any]]) -> None:
        """Take in judgements that are already in memory, as dicts with the keys of the file."""
        given = list(judgements)
        if not given:
            return
        try:
            records = msgspec.convert(given, list[JudgementLine])
        except (msgspec.ValidationError, UnicodeEncodeError):
            # Only then: most records have no nulls, and to look for them takes as long as to read them.
            records = []
            for number, record in enumerate(given, 1):
                fewer = without_nulls(record) or record
                try:
                    records.append(msgspec.convert(fewer, JudgementLine))
                except (msgspec.ValidationError, UnicodeEncodeError) as error:
                    problem = problem_of_record(error, fewer, EXPECTED)
                    raise problem.located(Place("judgements", number)) from None
        self.add(self.name, range(1, len(given) + 1), records, DEFAULT)

    def add_answers(self, source: Source) -> None:
        """Read a file of answers: how long they are, and what they cite."""
        for answer in read_answers(source):
            facts = self.facts_of(answer.run_id, answer.query_id, answer.repeat)
            self.add_turn(
                Place(name_of(source)), answer.query_id, answer.conversation_id, answer.turn or None
            )
            facts.amounts = answer.amounts
            # Of one that failed it is known that it was asked for, and what it cost.
            if answer.error:
                continue
            facts.lengths = _lengths([sentence.text for sentence in answer.sentences])
            # An answer of no characters has no sentences.
            has_text = any(sentence.text.strip() or sentence.citations for sentence in answer.sentences)
            facts.cited = tuple(sentence.citations for sentence in answer.sentences) if has_text else ()

    def _add_judged(self, source: Source, start: bytes) -> None:
        """Read a file of judgements in another tool's form."""
        name, unknown = name_of(source), Counter[str]()
        for lines, judged in hooks.read_judged(source, start):
            if judged.rows:
                self.add(name, lines, [JudgementLine(**row) for row in judged.rows], limits_of(source))
            for (run, query), cited in judged.cited.items():
                facts = self.facts_of(run, query)
                facts.cited, facts.sentences = cited, len(cited)
                if (run, query) in judged.texts:
                    facts.lengths = _lengths(judged.texts[run, query])
            for run, query in judged.recorded:
                self.facts_of(run, query).assigned = True
            for run, query in judged.matched:
                self.facts_of(run, query)
                if (run, query) in self.matched:
                    raise InputError(
                        at=Place(name, inside=f"run {visible(run)}, query {visible(query)}"),
                        problem="a second report, judged before",
                        expected="one",
                    )
            self.matched.update({place: (lines[0] if lines else 0, matches)
                                 for place, matches in judged.matched.items()})  # fmt: skip
            unknown.update(judged.unknown)
        if unknown:
            kinds = {"kinds": sorted(unknown.items())}
            self.remarks.append(Remark("unused_kinds", Scope(file=name), kinds))


def judgement_line(judgement: Mapping[str, Any]) -> str:
    """Return a judgement as its line in a file: keys sorted, nothing that is None."""
    return as_line({key: value for key, value in judgement.items() if value is not None})


_VERSION = re.compile(r"/v?\d.*|/\s*$", re.IGNORECASE | re.DOTALL)  # of a rubric


@lru_cache(1024)  # labels are few, and each is that of many rows
def folded(label: str) -> str:
    """Return a label as labels are compared: in lower case, with _ for blanks and hyphens."""
    return label.strip().lower().replace(" ", "_").replace("-", "_")


def _fold_statement(statement: Statement) -> Statement:
    label, status, rubric, importance, weight = statement
    # Without its version: `crag@3f2a`, `crag/2` and `crag:v1` are all `crag`. After a stroke it may also be
    # the metric of a tool, `ragas/faithfulness`, which is no version of something.
    rubric = _VERSION.sub("", rubric.partition("@")[0].partition(":")[0])
    rubric = rubric.strip().lower().replace("_", "-")
    return Statement(None if label is None else folded(label), status, rubric, importance, weight)


def _turn_text(one: ConversationTurn) -> str:
    more = f", turn {visible(one.place)}" if one.place else ""
    return f"conversation_id {visible(one.conversation)!r}{more}"


def _checked_chances(source: str, lines: Sequence[int], chances: Sequence[float | None]) -> Iterator[float]:
    """Yield the chances that rows say, NaN where they say none."""
    for line, chance in zip(lines, chances, strict=True):
        if chance is not None and not 0 <= chance <= 1:
            raise InputError(
                at=Place(source, line), expected="a probability from 0 to 1 as p", found=f"{chance:g}"
            )
        yield math.nan if chance is None else chance


def _places_shown(source: str, lines: Sequence[int], records: Sequence[JudgementLine]) -> Iterator[int]:
    """Yield at which place each row's system was shown; refuse orders that do not hold it once."""
    for line, record in zip(lines, records, strict=True):
        if record.shown is None:
            yield 0
            continue
        # Ids may be numbers in JSON.
        names = list(map(str, record.shown))
        if str(record.run_id) not in names or len(set(names)) < len(names):
            raise InputError(
                at=Place(source, line),
                expected="as shown the systems in the order of their answers, each once, with"
                f" {visible(str(record.run_id))!r} among them",
                found=f"{visible(str(names)):.120}",
            )
        yield names.index(str(record.run_id)) + 1


def _refuse_contradictions(
    source: str, lines: Sequence[int], records: Sequence[JudgementLine], limits: Limits
) -> None:
    """Refuse odd ids, statuses and grades that contradict each other, numbers and names beyond the limits."""
    findings = Complaints()
    # Ids first, all of them: with an odd one no other message could name its row.
    for name in _IDS:  # the text of a nugget, an aspect, may have blanks around it
        for line, record in zip(lines, records, strict=True):
            given = str(getattr(record, name))
            problem = problem_of_id(given) if given or name != "repeat" else None
            if problem is not None:
                expected = f"as {name} {problem.expected}"
                findings.add(InputError(at=Place(source, line), expected=expected, found=problem.found))
    findings.raise_if_any()
    for line, record in zip(lines, records, strict=True):
        contradiction = _contradiction(record, limits)
        if contradiction is not None:
            findings.add(contradiction.located(Place(source, line)))
    for name, longest in (
        *((name, limits.id) for name in _IDS),
        ("aspect", limits.line),
        *((name, _LONGEST_WORD) for name in ("label", "judge", "rubric")),
    ):
        for line, record in zip(lines, records, strict=True):
            word = str(getattr(record, name) or "").encode()
            if len(word) > longest:
                shown = f"{len(word):,}: {quoted(word)}"
                findings.add(
                    InputError(at=Place(source, line), expected=f"at most {longest:,} bytes", found=shown)
                )
    findings.raise_if_any()


def _is_long(word: str, longest: int) -> bool:
    # A short text cannot be too long in bytes either, which spares encoding it.
    return len(word) * _BYTES_A_CHARACTER > longest and len(word.encode()) > longest


def _contradiction(record: JudgementLine, limits: Limits) -> InputError | None:
    """Return what cannot be about a record, None if it is in order."""
    status, label, grade, weight = record.status, record.label, record.grade, record.weight
    is_said = label is not None or (grade is not None and not math.isnan(grade))
    if status in FAILED and is_said:
        return InputError(
            f"status {status!r} with a grade; a failed judgement is missing",
            expected="no label and no grade",
        )
    if weight is not None and math.isinf(weight):
        return InputError(expected="a finite weight", found=f"{weight}")
    if status in GRADED and not is_said:
        return InputError(
            f"status {status!r} without a grade",
            expected="a label or a grade",
            remedy="if the judgement failed, say so: status 'error'",
        )
    if grade is not None and abs(grade) > limits.grade:
        return InputError(expected=f"a grade from -{limits.grade:,} to {limits.grade:,}", found=f"{grade:g}")
    return None


EXPECTED_ASSIGNMENT = "an assignment {qid, run_id, nuggets: [{text, importance, assignment}], …}"


class _AssignedNugget(msgspec.Struct):
    """A nugget of an answer's list."""

    text: str
    assignment: Literal["support", "partial_support", "not_support", "failed"]
    importance: Literal["vital", "okay", "failed"] | None = None


class Assignment(msgspec.Struct):
    """A line of the file."""

    qid: str | int
    nuggets: list[_AssignedNugget]
    run_id: str | int = "run"
    answer_text: str | None = None
    response_length: int | None = None


def _assigned_rows(answer: Assignment) -> Iterator[JudgementLine]:
    """Yield a row a nugget; nuggetizer's `failed` is a judgement that is missing."""
    # Nuggets have no ids here; two of the same text are told apart by a number.
    texts = distinct([nugget.text for nugget in answer.nuggets])
    for text, nugget in zip(texts, answer.nuggets, strict=True):
        failed = nugget.assignment == "failed"
        yield JudgementLine(
            answer.qid,
            answer.run_id,
            aspect=text,
            label=None if nugget.assignment == "failed" else nugget.assignment,
            status="error" if failed else "ok",
            rubric="nugget-assignment",
            importance=None if nugget.importance == "failed" else nugget.importance,
        )


def distinct(texts: list[str]) -> list[str]:
    """Return the texts, a repeated one with a number behind it."""
    if len(set(texts)) == len(texts):
        return texts
    names: dict[str, None] = {}
    for text in texts:
        numbered = (f"{text} #{number}" for number in count(2))
        # Also not a name that another text bears by itself.
        names[text if text not in names else next(n for n in numbered if n not in {*names, *texts})] = None
    return list(names)


def _lengths(texts: Sequence[str]) -> dict[str, float]:
    return {name: float(sum(map(count, texts))) for name, count in RULES.items()}


def form_of_judgements(source: Source) -> str:
    """Return `judgements`, `judged` (by another tool), `assignments` or `answers`."""
    return _form_of(start_of_file(source))


def _form_of(start: Start) -> str:
    kind = kind_of_start(start)
    if kind is None and (start.piece or not start.text.lstrip().startswith(b"{")):
        return "judgements"  # no JSON, or broken: what is wrong is told when it is read
    if kind is None or kind.holds not in (JUDGED_ANSWERS, ANSWERS):
        raise unlike(start, kind)
    return kind.name
