"""Puts each row of a log where it belongs, and learns what all rows say together, on which that depends.

A row is put in its place as it comes, by what is assumed of all rows: what an earlier reading learned, or
what most logs are like. Where the rows turn out to be otherwise, the log is read again with what was learned.
So no row is kept, and most logs are read once. Of each row only digests are kept: hashes of 64 bits, with
the seed of the process.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from rageval.core.remark import Remark
from rageval.core.turn import BETWEEN, CONVERSATION, TURN
from rageval.errors import InputError, Place, RagevalError, UsageError
from rageval.files.answers import NO_ANSWER
from rageval.logs.mapped import MAPPED, map_rows, one_text, word
from rageval.logs.paths import Path
from rageval.logs.rows import (
    PERSON,
    Grade,
    LogReading,
    MetricColumns,
    Passage,
    Row,
    folded,
    is_mostly,
    parse_json_text,
)
from rageval.records import Answer, Qrel, Question, Sentence
from rageval.text import replace_surrogates, visible

_READINGS = 8  # of one log, at most
_LISTED = 24  # tools in a remark
_LONGEST_ID = 200  # of those that nobody has asked for
_QUERY, _DOCUMENT = 12, 16  # digits of an id that is made
_REASON = 200  # characters of why there is no answer
# [1], [1, 2] or, as gpt-oss writes it, 【1】.
_CITED = re.compile(r"\s*((?:[\[【]\d+(?:\s*,\s*\d+)*[\]】](?:\s*,\s*(?=[\[【])|[ \t]*))+)([.;:!?]*)")
_ASPECT = re.compile(r"[^\w.\-]+")
# The order in which errors of rows are told that may not be errors, by what all rows say.
_OF_RUNS, _OF_IDS, _OF_TURNS, _OF_REPEATS, _OF_CONTENT = range(5)


class LoggedAnswer(NamedTuple):
    """An answer of a log, or what else is known of the place where one could be."""

    query: str
    run: str
    repeat: str
    answer: Answer | None
    trace: str
    confidence: float | None


class LogOutput(Protocol):
    """Where the content of a log goes: into memory, or into files."""

    def begin(self, tool: str) -> None:
        """Forget all that came before."""

    def add_answer(self, logged: LoggedAnswer) -> None:
        """Take an answer."""

    def add_question(self, question: Question) -> None:
        """Take a question."""

    def add_ranking(self, run: str, query: str, docs: list[str], scores: list[float]) -> None:
        """Take the ranking of a run, which may be empty."""

    def add_passage(self, doc: str, text: str) -> None:
        """Take a passage; each comes once."""

    def add_judgement(self, judgement: dict[str, Any]) -> None:
        """Take a judgement."""

    def add_step(self, record: dict[str, Any]) -> None:
        """Take a step of an agent."""

    def add_gold(self, qrel: Qrel) -> None:
        """Take a right document."""

    def finish(self, version: str, remarks: list[Remark], left_out: dict[str, int]) -> None:
        """Take what is known at the end."""

    @property
    def has_steps(self) -> bool:
        """Whether there are steps of agents."""


@dataclass(frozen=True)
class _Together:
    """What all rows of a log say together; None is what no row has said yet.

    `silent` are runs without any answer, `repeated` those with several answers to a query; `unnumbered` are
    the places where the log's own numbers of repeats do not tell these apart (None: everywhere). `pairs` are
    aspect, judge and metric of all grades, where a row needs them. `is_merged`: rows of one question say
    different things of it.
    """

    metrics: tuple[str, ...] | None = None
    has_variants: bool = False
    odd: frozenset[tuple[str, str]] = frozenset()
    is_scored: bool | None = None
    silent: frozenset[str] = frozenset()
    id_name: str | None = None
    repeated: frozenset[str] = frozenset()
    unnumbered: frozenset[int] | None = None
    by_rank: bool | None = None
    pairs: tuple[tuple[str, str, str], ...] | None = None
    is_merged: bool = False


def part(
    tool: str,
    rows: Callable[[LogReading], Iterable[Row]],
    mapping: Mapping[str, Path],
    reading: LogReading,
    output: LogOutput,
    run: str = "",
    otherwise: str = "",
) -> LogReading:
    """Part the rows, which are read as often as it takes, and return how they were read in the end.

    `mapping` says where fields stand that the reader does not know, `run` what the run shall be called,
    `otherwise` what it is called if the log does not say.
    """
    together = _Together()
    for _ in range(_READINGS):
        own = replace(
            reading,
            columns=MetricColumns(together.metrics),
            remarks=[],
            left_out=Counter(),
            unread=Counter(),
            rubrics={},
            tools=set(),
        )
        output.begin(tool)
        parting = _Parting(tool, mapping, own, output, together, run, otherwise)
        for row in map_rows(rows(own), mapping, own):
            parting.take(row)
        if not parting.number:
            raise InputError(at=Place(tool), problem="the log holds no answers and no questions")
        together = parting.together()
        if together == parting.assumed:
            parting.finish()
            return own
    # Each reading settles what depends on what the one before has settled, which are five things in a row.
    raise InputError(at=Place(tool), problem="the log changes while it is read", remedy="import a copy of it")


class _Parting:
    """One reading of the rows: each is put where it belongs by what is `assumed` of all."""

    def __init__(
        self,
        tool: str,
        mapping: Mapping[str, Path],
        reading: LogReading,
        output: LogOutput,
        assumed: _Together,
        run: str,
        otherwise: str,
    ) -> None:
        self.assumed, self.number = assumed, 0
        self._tool, self._reading, self._output = tool, reading, output
        self._out = reading.left_out
        self._mapping = mapping
        self._errors: dict[int, RagevalError] = {}  # the first of each kind
        # Runs.
        self._asked_run, self._otherwise = run, otherwise or tool
        self._run = word(replace_surrogates(run))  # what is typed may be no text that a file holds
        self._variants: set[str] = set()
        self._named: dict[str, None] = {}  # runs as the log names them
        self._runs: dict[str, str] = {}  # how the log names them -> what they are called
        self._answering: set[str] = set()
        # Grades.
        self._valued: dict[tuple[str, str], int] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._is_scored = False
        self._aspects: dict[str, str] = {}  # names of metrics -> what they are called in measures
        self._metrics: dict[str, str] = {}  # the other way round
        self._alike: Counter[str] = Counter()  # names of metrics that would be called the same
        self._keys: dict[tuple[str, str], tuple[str, str]] = {}  # metric, judge -> aspect, judge
        self._names: dict[tuple[str, str, str], dict[str, str]] = {}  # of aspect, judge and metric
        self._pairs: dict[tuple[str, str], str] = {}  # aspect and judge of all grades -> the metric
        self._least_pairs: int | None = None  # as were known where they were first needed
        # Ids and repeats.
        self._candidates: dict[str, _OneToOne] | None = None  # fields that may be the question's id
        self._turns: dict[int, tuple[int, Place]] = {}  # places -> the question there
        self._rankings: dict[int, int] = {}  # places -> the first ranking
        self._given: set[int] | None = None  # places with the log's own numbers of repeats
        self._unnumbered: set[int] = set()
        self._repeated: set[str] = set()
        self._repeats: Counter[int] = Counter()
        path = mapping.get("question")
        self._has_before = path is not None and any(isinstance(step, int) for step in path.steps)
        self._before: dict[int, tuple[str, Place | None]] = {}
        # Passages.
        self._lacks_score = self._has_score = self._is_rising = False
        self._ids_of_texts: dict[int, str] = {}  # texts -> ids that are made
        self._texts: dict[str, int] = {}  # ids -> texts
        self._other_texts = self._made_ids = self._other_rankings = 0
        self._has_ranking = self._has_search = False
        # Questions.
        self._questions: dict[str, Any] = {}
        self._is_merged = False
        self._has_gold: set[str] = set()

    def take(self, row: Row) -> None:
        """Put a row where it belongs."""
        self.number += 1
        self._name_run(row)
        self._weigh_grades(row)
        self._settle_answer(row)
        if row.contexts:
            self._weigh_scores(row.contexts)
        query = self._query_id(row)
        if query is None:
            return
        place = hash((row.run, query))
        is_first = place not in self._rankings
        self._number_repeat(row, query, place, is_first)
        if is_first:
            self._rankings[place] = 0
        if self._errors:
            return  # all that comes now only says whether it is an error
        try:
            self._put(row, query, place, is_first)
        except InputError as error:
            self._fail(_OF_CONTENT, error)

    def together(self) -> _Together:
        """Return what the rows say together."""
        columns = self._reading.columns
        self._assume(metrics=columns.assumed)
        assumed = self.assumed
        odd = {
            key
            for key, count in self._valued.items()
            if self._numbers.get(key, 0) < count and is_mostly(self._numbers.get(key, 0), count)
        }
        alive = self._candidates or {}
        names = (name for name, ids in alive.items() if ids.is_usable)
        needs_pairs = assumed.pairs is not None or self._least_pairs not in (None, len(self._pairs))
        is_known = self._lacks_score or self._has_score
        return _Together(
            metrics=None if columns.assumed is None else columns.metrics,
            has_variants=len(self._variants) > 1,
            odd=frozenset(odd),
            is_scored=None if assumed.is_scored is None else self._is_scored,
            silent=frozenset(self._runs.values()) - self._answering,
            id_name=None if assumed.id_name is None else next(names, ""),
            repeated=frozenset(self._repeated),
            unnumbered=None if self._given is None or not self._repeated else frozenset(self._unnumbered),
            by_rank=self._lacks_score or self._is_rising if is_known else None,
            pairs=tuple((*key, metric) for key, metric in self._pairs.items()) if needs_pairs else None,
            is_merged=self._is_merged,
        )

    def finish(self) -> None:
        """Put away what is known at the end; raise `InputError` for what is wrong with a row."""
        if self._asked_run and len(self._named) > 1:
            raise UsageError(
                f"--run {visible(self._asked_run)}: names one run, and the log holds"
                f" {', '.join(map(visible, self._named))}"
            )
        if self._errors:
            raise self._errors[min(self._errors)]
        reading, output = self._reading, self._output
        remarks = reading.remarks
        # Columns that neither the reader nor `--map` reads are named, so that nothing is lost in silence.
        mapped = {path.steps[0] for path in self._mapping.values() if path.steps}
        cells = reading.unread + Counter(reading.columns.unread)
        unread = {name: count for name, count in cells.items() if name not in mapped}
        reading.left_out.update({f"cells of the column {name!r}": count for name, count in unread.items()})
        if unread:
            remarks.append(Remark("ignored_columns_of_log", facts={"columns": sorted(unread)}))
        mapped_ids = (self._candidates or {}).get(MAPPED)
        if mapped_ids is not None and not mapped_ids.is_usable:
            remarks.append(Remark("mapped_ids_not_unique"))
        if self._lacks_score and self._has_score:
            remarks.append(Remark("passages_without_score"))
        elif self._is_rising and not self._lacks_score:
            remarks.append(Remark("scores_do_not_fall"))
        if self.assumed.is_merged:
            for question in map(_question_of, self._questions.items()):
                output.add_question(question)
        if not self._texts and not self._has_ranking and not self._has_search:
            tools = sorted(reading.tools)[:_LISTED]
            remarks.append(Remark("no_searches", facts={"tools": tools}) if tools else Remark("no_passages"))
        if self._made_ids:
            remarks.append(Remark("passages_without_id", facts={"number": self._made_ids}))
        if self._other_texts:
            remarks.append(Remark("passages_of_one_id", facts={"number": self._other_texts}))
        if self._other_rankings:
            remarks.append(Remark("other_rankings", facts={"number": self._other_rankings}))
        left_out = {why: count for why, count in sorted(reading.left_out.items()) if count}
        output.finish(reading.version, remarks, left_out)

    def _fail(self, kind: int, error: RagevalError) -> None:
        self._errors.setdefault(kind, error)

    def _assume(self, **values: Any) -> None:
        self.assumed = replace(self.assumed, **values)

    def _name_run(self, row: Row) -> None:
        self._variants.add(row.variant)
        # A prompt or a filter that all answers share tells nothing apart.
        name = row.run
        if self.assumed.has_variants and row.variant:
            name = f"{name or self._otherwise}/{row.variant}"
        if name not in self._runs:
            named = word(name)
            self._named[named] = None
            self._runs[name] = self._run or named or self._otherwise
        row.run = self._runs[name]

    def _weigh_grades(self, row: Row) -> None:
        """Count the grades of a metric that are numbers; among these N/A is no label, but a failure."""
        valued, numbers, odd = self._valued, self._numbers, self.assumed.odd
        for grade in row.grades:
            if _has_value(grade):
                # A number that has a label, as that of yes and no, stands among labels.
                key = grade.aspect, grade.judge
                valued[key] = valued.get(key, 0) + 1
                if grade.grade is not None and grade.label is None:
                    numbers[key] = numbers.get(key, 0) + 1
        if odd:
            row.grades = [
                grade._replace(label=None, reason=grade.reason or grade.label or "")
                if grade.grade is None and (grade.aspect, grade.judge) in odd
                else grade
                for grade in row.grades
            ]
        for grade in row.grades:
            self._pairs[self._aspect_and_judge(grade)] = grade.aspect

    def _settle_answer(self, row: Row) -> None:
        """Say whether the system failed, which the log need not say in words.

        Among answers, one that is null is none. The empty cell of a CSV is either: there a row that the tool
        scored was answered, and in a log without scores it is an answer of no characters.
        """
        if self._reading.form == "csv":
            is_scored = any(map(_has_value, row.grades))
            self._is_scored = self._is_scored or is_scored
            if self.assumed.is_scored is None:
                self._assume(is_scored=is_scored)
            if self.assumed.is_scored and row.answer == "" and not is_scored:
                row.answer = None
        if row.answer is not None or row.failed:
            self._answering.add(row.run)
            row.missing = row.failed
        elif row.run not in self.assumed.silent:
            row.missing = NO_ANSWER

    def _query_id(self, row: Row) -> str | None:
        """Return the id of the question: the log's where one tells questions apart, else one that is made."""
        if "query_id" in self._mapping:
            given = word(row.ids.get(MAPPED, ""))
            if not given:
                expected = "an id of the question at the path of --map query_id"
                self._fail(_OF_IDS, InputError(at=row.where, expected=expected, found="none"))
                return None
            self._candidates = self._candidates or {MAPPED: _OneToOne()}
            self._candidates[MAPPED].add(given, row.key or folded(row.question))
            return given
        if row.conversation and row.turn:
            query = word(row.key or f"{row.conversation}{BETWEEN}{row.turn}")
            asked = hash(folded(row.question))
            first, where = self._turns.setdefault(hash((row.run, query)), (asked, row.where))
            if first != asked:
                problem = (
                    f"turn {row.turn} of the conversation {visible(row.conversation)[:60]!r} has another"
                    f" question than in {where}"
                )
                remedy = "tell the conversations apart: --map conversation_id=…"
                self._fail(_OF_TURNS, InputError(at=row.where, problem=problem, remedy=remedy))
            return query
        key = row.key or folded(row.question)
        if self._candidates is None:
            # What the first row does not give, not all rows give.
            self._candidates = {name: _OneToOne(_LONGEST_ID) for name, value in row.ids.items() if value}
        for name, ids in self._candidates.items():
            ids.add(word(row.ids.get(name, "")), key)
        if self.assumed.id_name is None:
            names = (name for name, ids in self._candidates.items() if ids.is_usable)
            self._assume(id_name=next(names, ""))
        if self.assumed.id_name:
            return word(row.ids.get(self.assumed.id_name, "")) or None
        if not key:
            expected = "a question, to identify answers"
            remedy = "set its path: --map question=… or --map query_id=…"
            self._fail(_OF_IDS, InputError(at=row.where, expected=expected, remedy=remedy))
            return None
        # Made from the question, so that logs of two systems that were asked the same meet.
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_QUERY]

    def _number_repeat(self, row: Row, query: str, place: int, is_first: bool) -> None:
        """Give each of several answers of a run to a query its own repeat, and none to a lone one."""
        if not is_first:
            self._repeated.add(row.run)
        given = word(row.repeat)
        if given:
            if self._given is None:
                self._given, self._unnumbered = set(), set(self._rankings)
            if (numbered := hash((place, given))) in self._given:
                self._unnumbered.add(place)
            self._given.add(numbered)
        elif self._given is not None:
            self._unnumbered.add(place)
        if self._has_before:
            first, second = self._before.setdefault(place, (row.before, None))
            if not is_first and second is None:
                second = row.where
                self._before[place] = first, second
            if first != row.before:
                problem = (
                    f"{visible(row.run)[:60]!r} answers {visible(query)[:60]!r} in several conversations,"
                    " with other turns before it"
                )
                remedy = "import all turns (--map question=turns[].…), or tell them apart: --map query_id=…"
                self._fail(_OF_REPEATS, InputError(at=second, problem=problem, remedy=remedy))
        # Of a run with repeats every answer has one, also to a query that was asked once.
        row.repeat = ""
        if row.run in self.assumed.repeated:
            self._repeats[place] += 1
            is_given = self.assumed.unnumbered is not None and place not in self.assumed.unnumbered
            row.repeat = given if is_given else str(self._repeats[place])

    def _weigh_scores(self, passages: list[Passage]) -> None:
        # A run has scores of one kind: with 1/rank for some, documents would be ordered by two.
        scores = [passage.score for passage in passages]
        lacking = scores.count(None)
        self._lacks_score = self._lacks_score or lacking > 0
        if lacking < len(scores):
            self._has_score = True
            if not self._lacks_score and not self._is_rising:
                self._is_rising = any(one < other for one, other in pairwise(scores))  # type: ignore[operator]
        if self.assumed.by_rank is None:
            self._assume(by_rank=self._lacks_score or self._is_rising)

    def _put(self, row: Row, query: str, place: int, is_first: bool) -> None:
        self._refuse_long_ids(row, query)
        self._question(row, query)
        passages = self._passages(row, query, place, is_first)
        answer = self._answer(row, query, passages)
        if answer is not None or row.trace or row.confidence is not None:
            self._output.add_answer(
                LoggedAnswer(query, row.run, row.repeat, answer, row.trace, row.confidence)
            )
        self._judgements(row, query)
        if row.steps:
            self._steps(row, query)

    def _refuse_long_ids(self, row: Row, query: str) -> None:
        most = self._reading.limits.id
        ids = [query, row.run, row.repeat, *map(attrgetter("id"), row.contexts)]
        for span in row.steps:
            ids += map(attrgetter("id"), span.docs)
        # Few are long enough to be encoded for this: a character takes four bytes at most.
        if max(map(len, ids)) * 4 <= most:
            return
        for name in ids:
            if len(word(name).encode("utf-8", "surrogatepass")) > most:
                raise InputError(
                    at=row.where,
                    expected=f"ids of at most {most:,} bytes",
                    found=f"{visible(name)[:60]!r}…",
                )

    def _question(self, row: Row, query: str) -> None:
        if row.relevant and query not in self._has_gold:
            self._has_gold.add(query)
            for number, documents in enumerate(row.relevant):
                nugget = str(number) if len(row.relevant) > 1 or len(documents) > 1 else "0"
                for doc in documents:
                    self._output.add_gold(Qrel(query, word(doc), 1, nugget))
        facts: dict[str, str] = {}
        if row.facts or row.conversation or row.turn:
            values = (row.facts | _place_in_conversation(row)).items()
            facts = {name: one_text(value, name, row.where) for name, value in values}
        questions = self._questions
        if self.assumed.is_merged:
            self._is_merged = True
            question = questions.setdefault(query, (row.question, {}, {}))
            question[1].update(dict.fromkeys(row.gold))
            for name, text in facts.items():
                if question[2].setdefault(name, text) != text:
                    question[2][name] = ""  # not a fact of the question
            return
        gold = tuple(dict.fromkeys(row.gold))
        content = hash((gold, tuple(facts.items())))
        if query not in questions:
            questions[query] = content
            self._output.add_question(Question(query, row.question, gold, tuple(facts.items())))
        elif questions[query] != content:
            self._is_merged = True

    def _passages(self, row: Row, query: str, place: int, is_first: bool) -> dict[str, str]:
        """Return what was retrieved, each document once, with an id; keep the first ranking of a query."""
        passages: dict[str, str] = {}
        scores: list[float] = []
        by_rank = self.assumed.by_rank
        for passage in row.contexts:
            if not passage.id and not passage.text:
                raise InputError(at=row.where, expected="a text or an id of every passage", found="neither")
            doc, is_made = self._document(passage)
            self._made_ids += is_made
            if doc in passages:
                self._out["passages that appear twice in a ranking"] += 1
                continue
            # Of two texts under one id the first is kept among the passages; the answer had its own.
            if passage.text and self._keep_text(doc, passage.text, is_made):
                self._other_texts += 1
            passages[doc] = passage.text
            scores.append(1 / len(passages) if by_rank else float(passage.score or 0))
        # Repeats retrieve for themselves, and a run has one ranking a query.
        docs = list(passages)
        ranking = hash(tuple(docs))
        if is_first:
            self._rankings[place] = ranking
            self._has_ranking = self._has_ranking or bool(docs)
            self._output.add_ranking(row.run, query, docs, scores)
        else:
            self._other_rankings += self._rankings[place] != ranking
        return passages

    def _document(self, passage: Passage) -> tuple[str, bool]:
        """Return the id that is given, or one that is made from the text; and whether it is made."""
        if passage.id and (given := word(passage.id)):
            return given, False
        text = hash(passage.text)
        doc = self._ids_of_texts.get(text)
        if doc is None:
            content = passage.text.encode("utf-8", "surrogatepass")
            doc = self._ids_of_texts[text] = hashlib.sha256(content).hexdigest()[:_DOCUMENT]
            self._keep_text(doc, passage.text)
        return doc, True

    def _keep_text(self, doc: str, text: str, is_made: bool = False) -> bool:
        """Put a text among the passages unless there is one under its id; return whether that is another."""
        if is_made:
            return False
        content = hash(text)
        kept = self._texts.get(doc)
        if kept is None:
            self._texts[doc] = content
            self._output.add_passage(doc, text)
        return kept is not None and kept != content

    def _answer(self, row: Row, query: str, passages: Mapping[str, str]) -> Answer | None:
        if row.answer is None and not row.missing:
            self._out["records without an answer"] += 1  # as all of the run: it only retrieved, or asked
            return None
        texts = tuple((doc, text) for doc, text in passages.items() if text)
        error = " ".join(row.missing.split())[:_REASON] or (NO_ANSWER if row.missing else "")
        text = "" if error else row.answer or ""
        fields: dict[str, Any] = {**row.spent}
        sentences: tuple[Sentence, ...] = (Sentence(text),)
        if row.cites:
            cites = {
                number: self._document(row.contexts[cited])[0] if isinstance(cited, int) else word(cited)
                for number, cited in row.cites.items()
            }
            sentences = tuple(_cited_sentences(text, cites))
        return Answer(
            query,
            row.run,
            () if error else sentences,
            tuple(passages),
            texts,
            row.question,
            repeat=row.repeat,
            error=error,
        )._replace(**fields)

    def _steps(self, row: Row, query: str) -> None:
        """Put away the steps of an agent; the last is its answer, if it gave one or failed to."""
        place = {"query_id": query, "run_id": row.run} | ({"repeat": row.repeat} if row.repeat else {})
        for span in row.steps:
            fields: dict[str, Any] = {"tool": span.tool, "query": span.query}
            passages = [passage for passage in span.docs if passage.id or passage.text]
            self._out["unidentified documents"] += len(span.docs) - len(passages)
            docs = [self._document(passage)[0] for passage in passages]
            fields["docs"] = list(dict.fromkeys(docs))
            fields["status"] = "error" if span.is_failed else ""
            step = place | {"step": span.number, "kind": span.step}
            step |= {name: value for name, value in fields.items() if value}
            arguments = parse_json_text(span.arguments)
            self._has_search = self._has_search or span.step == "search"
            self._output.add_step(step | ({} if arguments is None else {"arguments": arguments}) | span.spent)
            for doc, passage in zip(docs, passages, strict=True):
                if passage.text:
                    self._keep_text(doc, passage.text)
        if row.missing or row.answer is not None:
            status = {"status": "error"} if row.missing or row.stopped else {}
            self._output.add_step(place | {"step": row.steps[-1].number + 1, "kind": "answer"} | status)

    def _judgements(self, row: Row, query: str) -> None:
        grades = () if row.missing else row.grades  # what a tool says of no answer is no judgement
        needs_pairs = bool(row.missing) or row.lacks_failed
        if not grades and not needs_pairs:
            return
        place: dict[str, Any] = {"query_id": query, "run_id": row.run, "item_id": "answer"}
        place |= {"repeat": row.repeat} if row.repeat else {}
        place |= {"trace_id": row.trace} if row.trace else {}
        if row.conversation or row.turn:
            place |= _place_in_conversation(row)
        graded_by: set[tuple[str, str]] = set()
        for grade in grades:
            key = self._aspect_and_judge(grade)
            if key in graded_by:
                self._out["second grades of one aspect by one judge"] += 1
                continue
            graded_by.add(key)
            value = None if grade.grade is None or not math.isfinite(grade.grade) else grade.grade
            most = self._reading.limits.grade
            if value is not None and abs(value) > most:
                raise InputError(
                    at=row.where,
                    expected=f"as {visible(grade.aspect)} a number from -{most:,} to {most:,}",
                    found=f"{value:g}",
                )
            judgement = place | self._judgement_names(*key, grade.aspect)
            if value is not None:
                judgement["grade"] = value
            if grade.label:
                judgement["label"] = grade.label
            judgement["status"] = "ok" if value is not None or grade.label else "error"
            if grade.reason:
                judgement["reason"] = grade.reason
            self._output.add_judgement(judgement)
        if not needs_pairs:
            return
        if self.assumed.pairs is None and self._least_pairs is None:
            self._least_pairs = len(self._pairs)
        # Another judge may have graded the same aspect here: then it did not fail.
        aspects = {aspect for aspect, judge in graded_by if not judge.startswith(PERSON)}
        pairs = self.assumed.pairs
        if pairs is None:
            pairs = tuple((*key, metric) for key, metric in self._pairs.items())
        for aspect, judge, metric in pairs:
            if aspect not in aspects and not judge.startswith(PERSON):
                why = {"detail": row.missing[:_REASON]} if row.missing else {}
                names = self._judgement_names(aspect, judge, metric)
                self._output.add_judgement(place | names | {"status": "error"} | why)

    def _judgement_names(self, aspect: str, judge: str, metric: str) -> dict[str, str]:
        names = self._names.get((aspect, judge, metric))
        if names is None:
            rubric = self._reading.rubrics.get(metric, f"{self._tool}/{metric}"[:200])
            names = {"aspect": aspect, "judge": judge, "rubric": rubric}
            self._names[aspect, judge, metric] = names
        return names

    def _aspect_and_judge(self, grade: Grade) -> tuple[str, str]:
        """Return the metric as `grade(aspect=…)` names it, where not every character can stand; its judge."""
        metric, judge = grade.aspect, grade.judge
        key = self._keys.get((metric, judge))
        if key is not None:
            return key
        if metric not in self._aspects:
            plain = _ASPECT.sub("_", metric).strip("_")[:80] or "score"
            name = plain
            while name in self._metrics:
                self._alike[plain] += 1
                name = f"{plain}_{self._alike[plain] + 1}"
            self._aspects[metric] = name
            self._metrics[name] = metric
        key = self._keys[metric, judge] = self._aspects[metric], word(judge or self._tool)[:200]
        return key


class _OneToOne:
    """Whether ids tell questions apart: each id has one question, and each question one id."""

    def __init__(self, longest: int | None = None) -> None:
        self.is_usable, self._longest = True, longest
        self._questions: dict[int, int] = {}
        self._ids: dict[int, int] = {}

    def add(self, given: str, key: str) -> None:
        """Take the id of a question; none, and one that is too long, cannot be used."""
        if not self.is_usable:
            return
        one, other = hash(given), hash(key)
        is_same = self._questions.setdefault(one, other) == other and self._ids.setdefault(other, one) == one
        if not given or not is_same or (self._longest is not None and len(given) > self._longest):
            self.is_usable, self._questions, self._ids = False, {}, {}


def _has_value(grade: Grade) -> bool:
    is_number = grade.grade is not None and math.isfinite(grade.grade)
    return is_number or bool(grade.label)


def _place_in_conversation(row: Row) -> dict[str, str]:
    places = {CONVERSATION: row.conversation, TURN: row.turn}
    return {name: value for name, value in places.items() if value}


def _question_of(asked: tuple[str, tuple[str, dict[str, None], dict[str, str]]]) -> Question:
    query, (text, gold, facts) = asked
    return Question(query, text, tuple(gold), tuple(facts.items()))


def _cited_sentences(answer: str, documents: Mapping[str, str]) -> Iterator[Sentence]:
    """Yield the pieces of an answer that [1] or [1, 2] follows, with the documents they cite."""
    begin = 0
    for match in _CITED.finditer(answer):
        cited = tuple(map(documents.get, re.findall(r"\d+", match[1])))
        text = answer[begin : match.start()].strip() + match[2]
        if text:
            yield Sentence(text, cited)
        begin = match.end()
    if rest := answer[begin:].strip():
        yield Sentence(rest)
