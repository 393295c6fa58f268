"""A log: its rows, parted into answers, questions, runs, passages and judgements, and these as files."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from operator import attrgetter
from typing import Any

from rageval.core.remark import Remark, Scope
from rageval.core.turn import BETWEEN, CONVERSATION, TURN
from rageval.errors import InputError, Place, UsageError
from rageval.files.answers import NO_ANSWER, write_answers
from rageval.files.jsonl import as_line
from rageval.files.opening import STDIN
from rageval.files.questions import write_questions
from rageval.files.whole import digest_of
from rageval.files.writing import file_names
from rageval.logs.paths import Path, fields_of, list_in, value_at_path
from rageval.logs.rows import (
    PERSON,
    SPENT,
    Grade,
    LogReading,
    Passage,
    Row,
    conversation_of,
    folded,
    graded,
    handed_over,
    is_mostly,
    number_of,
    parse_json_text,
    spent_as,
)
from rageval.records import Answer, Qrel, Question, ScoredDoc, Sentence
from rageval.text import replace_surrogates, visible
from rageval.version import __version__

_LISTED = 24  # fields in an error
_MAPPED = "--map"  # who says where an id stands, among the fields of a log
_LONGEST_ID = 200  # of those that nobody has asked for
_QUERY, _DOCUMENT = 12, 16  # digits of an id that is made
_EXACT = 2**53  # whole numbers below this are what floats say
_REASON = 200  # characters of why there is no answer
# [1], [1, 2] or, as gpt-oss writes it, 【1】.
_CITED = re.compile(r"\s*((?:[\[【]\d+(?:\s*,\s*\d+)*[\]】](?:\s*,\s*(?=[\[【])|[ \t]*))+)([.;:!?]*)")
_ASPECT = re.compile(r"[^\w.\-]+")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")


@dataclass
class Log:
    """The content of a log: answers, questions, rankings, passages by id, judgements, right documents, steps.

    `traces` keeps the tool's own id of each answer, by run, query and repeat, and `confidences` how sure the
    system was of it; `left_out` counts what was left out, by reason. What an answer cost stands in it.
    """

    tool: str
    version: str = ""
    answers: list[Answer] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    run: dict[str, list[ScoredDoc]] = field(default_factory=dict)
    passages: dict[str, str] = field(default_factory=dict)
    judgements: list[dict[str, Any]] = field(default_factory=list)
    gold: list[Qrel] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    traces: dict[tuple[str, str, str], str] = field(default_factory=dict)
    confidences: dict[tuple[str, str, str], float] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)


def parted(
    tool: str,
    rows: Iterable[Row],
    mapping: Mapping[str, Path],
    reading: LogReading,
    run: str = "",
    otherwise: str = "",
) -> Log:
    """Return the rows parted; `mapping` says where fields stand that the reader does not know.

    `run` is what the run shall be called, `otherwise` what it is called if the log does not say.
    """
    kept = list(_map_rows(rows, mapping, reading))
    if not kept:
        raise InputError(at=Place(tool), problem="the log holds no answers and no questions")
    # In this order: which rows failed is told by their grades, of which those that are no numbers fail first;
    # repeats are told apart within a run.
    _name_runs(kept, otherwise or tool, run)
    # N/A is no label of a metric of numbers, but a failure. A number that has a label, as that of
    # yes and no, stands among labels.
    counts: Counter[tuple[str, str]] = Counter()
    numbers: Counter[tuple[str, str]] = Counter()
    for row in kept:
        for grade in filter(_has_value, row.grades):
            counts[grade.aspect, grade.judge] += 1
            numbers[grade.aspect, grade.judge] += grade.grade is not None and grade.label is None
    odd = {key for key, count in counts.items() if numbers[key] < count and is_mostly(numbers[key], count)}
    if odd:
        for row in kept:
            row.grades = [
                grade._replace(label=None, reason=grade.reason or grade.label or "")
                if grade.grade is None and (grade.aspect, grade.judge) in odd
                else grade
                for grade in row.grades
            ]
    _mark_failures(kept, reading)
    # Columns that neither the reader nor `--map` reads are named, so that nothing is lost in silence.
    mapped = {path.steps[0] for path in mapping.values() if path.steps}
    unread = {name: count for name, count in reading.unread.items() if name not in mapped}
    reading.left_out.update({f"cells of the column {name!r}": count for name, count in unread.items()})
    if unread:
        reading.remarks.append(Remark("ignored_columns_of_log", facts={"columns": sorted(unread)}))
    queries = _query_ids(kept, reading)
    _number_repeats(kept, queries)
    log = Log(tool, reading.version)
    _Parting(log, reading).take(kept, queries)
    log.remarks += reading.remarks
    log.left_out = {why: number for why, number in sorted(reading.left_out.items()) if number}
    return log


def _mark_failures(rows: list[Row], reading: LogReading) -> None:
    """Say of each row whether the system failed there, which the log need not say in words.

    Among answers, one that is null is none. The empty cell of a CSV is either: there a row that the tool
    scored was answered, and in a log without scores it is an answer of no characters.
    """
    scored = [any(_has_value(grade) for grade in row.grades) for row in rows]
    if reading.form == "csv" and any(scored):
        for row, is_scored in zip(rows, scored, strict=True):
            if row.answer == "" and not is_scored:
                row.answer = None
    answering = {row.run for row in rows if row.answer is not None or row.failed}
    for row in rows:
        if row.answer is None and not row.failed and row.run in answering:
            row.missing = NO_ANSWER
        elif row.failed:
            row.missing = row.failed


def _has_value(grade: Grade) -> bool:
    is_number = grade.grade is not None and math.isfinite(grade.grade)
    return is_number or bool(grade.label)


def _map_rows(rows: Iterable[Row], mapping: Mapping[str, Path], reading: LogReading) -> Iterator[Row]:
    fits = dict.fromkeys(mapping, 0)
    lists: dict[str, str] = {}  # what would read the text of a field as the list that it is
    number, first = 0, None
    for row in rows:
        number += 1
        first = first or row.record
        values = {name: value_at_path(row.record, path, row.where) for name, path in mapping.items()}
        for name, value in values.items():
            fits[name] += value is not None
            if name in ("contexts", "context_ids") and isinstance(value, str) and name not in lists:
                lists |= {name: how} if (how := list_in(value)) and name not in reading.split else {}
        row.before = _asked_before(row.record, mapping.get("question"), row.where)
        row.record = None  # a record may be much larger than what is kept of it
        for of_turn, values_of_turn in _turns_mapped(row, values, mapping):
            _set_mapped_fields(of_turn, values_of_turn, reading)
            yield of_turn
    for name, path in mapping.items():
        if number and not fits[name]:
            there = ", ".join(islice(fields_of([first])[0], _LISTED))
            raise UsageError(
                f"--map {name}={visible(path.text)}: fits none of {number:,} records; there are"
                f" {visible(there)}"
            )
        if fits[name] < number:
            counts = {"number": fits[name], "total": number}
            facts = {"name": name, "path": path.text, **counts}
            reading.remarks.append(Remark("path_fits_some", facts=facts))
        if name in lists:
            facts = {"name": name, "path": path.text, "way": lists[name]}
            reading.remarks.append(Remark("list_read_as_passage", facts=facts))


def _asked_before(record: Any, path: Path | None, where: Place) -> str:
    """Return a digest of what stands before one turn of several, where a path leads to this one."""
    numbers = [step for step in path.steps if isinstance(step, int)] if path is not None else []
    if path is None or not numbers:
        return ""
    place = path.steps.index(numbers[0])
    turns = value_at_path(record, path._replace(steps=path.steps[:place], filters=()), where)
    earlier = turns[: numbers[0]] if isinstance(turns, list) else []
    return conversation_of(map(repr, earlier)) if earlier else ""


def _turns_mapped(
    row: Row, values: dict[str, Any], mapping: Mapping[str, Path]
) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Yield a row, or one for each of its turns, where the path of the question leads to several."""
    path = mapping.get("question")
    questions = values.get("question")
    if path is None or not path.is_many or not isinstance(questions, list):
        yield row, values
        return
    # A field whose path goes through the same list has a value in each turn.
    way = path.steps[: path.steps.index(None)] if None in path.steps else path.steps
    by_turn = {name for name, other in mapping.items() if other.is_many and other.steps[: len(way)] == way}
    for name in by_turn:
        value = values[name]
        if value is not None and (not isinstance(value, list) or len(value) != len(questions)):
            raise InputError(
                at=row.where, expected=f"as many values of {name} as questions", found=f"{len(value or ())}"
            )
    texts = [one_text(question, "question", row.where) for question in questions]
    for number in range(len(questions)):
        of_turn = {
            name: value[number] if name in by_turn and value is not None else value
            for name, value in values.items()
        }
        yield replace(row, conversation=conversation_of(texts), turn=str(number + 1)), of_turn


def _set_mapped_fields(row: Row, values: Mapping[str, Any], reading: LogReading) -> None:
    for name, value in values.items():
        if name == "question":
            row.question = one_text(value, name, row.where) or row.question
        elif name == "run_id":
            row.run = one_text(value, name, row.where)
        elif name == "repeat":
            row.repeat = one_text(value, name, row.where)
        elif name == CONVERSATION:
            row.conversation = one_text(value, name, row.where)
        elif name == TURN:
            row.turn = one_text(value, name, row.where)
        elif name == "trace_id":
            row.trace = one_text(value, name, row.where)
        elif name == "query_id":
            row.ids = {_MAPPED: one_text(value, name, row.where)}
        elif name == "answer":
            row.answer = None if value is None else one_text(value, name, row.where)
        elif name == "gold":
            row.gold = [one_text(text, name, row.where) for text in _as_list(value) if text is not None]
        elif name in SPENT:
            row.spent |= spent_as(**{name: value})
        elif name.startswith("fact:"):
            row.facts[name.removeprefix("fact:")] = one_text(value, name, row.where)
        elif name.startswith("grade:"):
            row.grades.append(graded(name.removeprefix("grade:"), value, ""))
    if values.keys() & {"contexts", "context_ids", "context_scores"}:
        row.contexts = _mapped_contexts(row, values, reading)


def _mapped_contexts(row: Row, values: Mapping[str, Any], reading: LogReading) -> list[Passage]:
    """Return passages of columns, each of which may come from the reader instead."""
    own = row.contexts
    columns: dict[str, list[Any]] = {
        "contexts": [passage.text for passage in own],
        "context_ids": [passage.id for passage in own],
        "context_scores": [passage.score for passage in own],
    }
    for name in columns.keys() & values.keys():
        value = values[name]
        if isinstance(value, str) and (mark := reading.split.get(name)):
            value = [part for part in value.split(mark) if part.strip()]
        elif isinstance(value, str) and not value.strip():
            value = None  # an empty cell of a table
        columns[name] = _as_list(value)
    most = max(map(len, columns.values()))
    for name, column in columns.items():
        if not column:
            columns[name] = [None] * most
        elif len(column) != most:
            counts = ", ".join(f"{len(column)} {name}" for name, column in columns.items() if column)
            raise InputError(at=row.where, expected="as many texts as ids and scores", found=f"{counts}")
    return [
        Passage(
            one_text(text, "contexts", row.where), one_text(doc, "context_ids", row.where), number_of(score)
        )
        for text, doc, score in zip(*columns.values(), strict=True)
    ]


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def one_text(value: Any, name: str, where: Place) -> str:
    """Return a value as text; `InputError` for a list or an object, which is none."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, int | float):
        # A gap in a column of whole numbers makes fractions of all of them.
        is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXACT
        return str(value).lower() if isinstance(value, bool) else str(int(value) if is_whole else value)
    kind = "a list: end the path in [] or [0]" if isinstance(value, list) else "an object: name a field of it"
    raise InputError(at=where, expected=f"a text for {name}", found=kind)


def word(text: str) -> str:
    """Return a name without white space, which files of TREC cannot hold: %20 for a blank.

    >>> word(" returns policy.md#0")
    'returns%20policy.md#0'
    """
    if text.isprintable() and " " not in text:  # as nearly all are
        return text
    # As URLs write them, so that they can be told from names with another mark in their place.
    return _BLANK.sub(lambda match: f"%{ord(match[0]):02X}", text.strip())


def _name_runs(rows: list[Row], otherwise: str, run: str) -> None:
    # A prompt or a filter that all answers share tells nothing apart.
    several = len({row.variant for row in rows}) > 1
    for row in rows:
        row.run = word(f"{row.run or otherwise}/{row.variant}" if several and row.variant else row.run)
    named = dict.fromkeys(row.run for row in rows)
    if run and len(named) > 1:
        raise UsageError(
            f"--run {visible(run)}: names one run, and the log holds {', '.join(map(visible, named))}"
        )
    name = word(replace_surrogates(run))  # what is typed may be no text that a file holds
    for row in rows:
        row.run = name or row.run or otherwise


def _query_ids(rows: list[Row], reading: LogReading) -> list[str]:
    """Return the id of each row's question; of a turn, that of its conversation and its number."""
    if any(_MAPPED in row.ids for row in rows):
        return _single_ids(rows, reading)
    others = [row for row in rows if not (row.conversation and row.turn)]
    single = iter(_single_ids(others, reading) if others else ())
    ids = [
        word(row.key or f"{row.conversation}{BETWEEN}{row.turn}")
        if row.conversation and row.turn
        else next(single)
        for row in rows
    ]
    asked: dict[tuple[str, str], Row] = {}
    for row, query in zip(rows, ids, strict=True):
        first = asked.setdefault((row.run, query), row)
        if row.conversation and row.turn and folded(first.question) != folded(row.question):
            raise InputError(
                at=row.where,
                problem=f"turn {row.turn} of the conversation {visible(row.conversation)[:60]!r} has another"
                f" question than in {first.where}",
                remedy="tell the conversations apart: --map conversation_id=…",
            )
    return ids


def _single_ids(rows: list[Row], reading: LogReading) -> list[str]:
    """Return the id of each row's question: the first that all rows give and that tells questions apart."""
    keys = [row.key or folded(row.question) for row in rows]
    names = dict.fromkeys(name for row in rows for name in row.ids)
    for name in names:
        given = [word(row.ids.get(name, "")) for row in rows]
        # It does where each id has one question, and each question has one id.
        pairs = set(zip(given, keys, strict=True))
        tells_apart = len({given_id for given_id, _ in pairs}) == len(pairs) == len({key for _, key in pairs})
        if name == _MAPPED:
            for row, query in zip(rows, given, strict=True):
                if not query:
                    raise InputError(
                        at=row.where,
                        expected="an id of the question at the path of --map query_id",
                        found="none",
                    )
            if not tells_apart:
                reading.remarks.append(Remark("mapped_ids_not_unique"))
            return given
        if all(given) and tells_apart and max(map(len, given)) <= _LONGEST_ID:
            return given
    for row, key in zip(rows, keys, strict=True):
        if not key:
            raise InputError(
                at=row.where,
                expected="a question, to identify answers",
                remedy="set its path: --map question=… or --map query_id=…",
            )
    # Made from the question, so that logs of two systems that were asked the same meet.
    return [hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_QUERY] for key in keys]


def _number_repeats(rows: list[Row], queries: list[str]) -> None:
    """Give each of several answers of a run to a query its own repeat, and none where there is only one."""
    seen: dict[tuple[str, str], list[Row]] = {}
    for row, query in zip(rows, queries, strict=True):
        seen.setdefault((row.run, query), []).append(row)
    for (run, query), answers in seen.items():
        if len({row.before for row in answers}) > 1:
            raise InputError(
                at=answers[1].where,
                problem=f"{visible(run)[:60]!r} answers {visible(query)[:60]!r} in several conversations,"
                " with other turns before it",
                remedy="import all turns (--map question=turns[].…), or tell them apart: --map query_id=…",
            )
    # Of a run with repeats every answer has one, also to a query that was asked once.
    several = {run for (run, _), answers in seen.items() if len(answers) > 1}
    for (run, _), answers in seen.items():
        given = [word(row.repeat) for row in answers]
        is_given = all(given) and len(set(given)) == len(given)
        for number, row in enumerate(answers, 1):
            row.repeat = "" if run not in several else given[number - 1] if is_given else str(number)


def _place_in_conversation(row: Row) -> dict[str, str]:
    places = {CONVERSATION: row.conversation, TURN: row.turn}
    return {name: value for name, value in places.items() if value}


class _Parting:
    """Puts each row where it belongs."""

    def __init__(self, log: Log, reading: LogReading) -> None:
        self.log, self._reading, self._out = log, reading, reading.left_out
        self._questions: dict[str, dict[str, Any]] = {}
        self._aspects: dict[str, str] = {}  # names of metrics -> what they are called in measures
        self._metrics: dict[str, str] = {}  # the other way round
        self._alike: Counter[str] = Counter()  # names of metrics that would be called the same
        self._graded_pairs: dict[tuple[str, str], None] = {}  # aspect and judge of all grades
        self._rankings: dict[tuple[str, str], list[ScoredDoc]] = {}  # the first of a run to a query
        self._has_gold: set[str] = set()
        self._other_texts = self._made_ids = self._other_rankings = 0

    def take(self, rows: list[Row], queries: list[str]) -> None:
        """Part all rows; of the list none is left, as a row and its answer need not both be in memory."""
        # Grades of all rows first: an answer that failed has none, and lacks those that others have.
        for row in rows:
            self._graded_pairs.update(dict.fromkeys(map(self._aspect_and_judge, row.grades)))
        scores = [[passage.score for passage in row.contexts] for row in rows if row.contexts]
        given = [score for ranking in scores for score in ranking if score is not None]
        # A run has scores of one kind: with 1/rank for some, documents would be ordered by two.
        if len(given) < sum(map(len, scores)):
            if given:
                self._reading.remarks.append(Remark("passages_without_score"))
            by_rank = True
        else:
            rising = any(
                one < other  # type: ignore[operator]
                for ranking in scores
                for one, other in pairwise(ranking)
            )
            if rising:
                self._reading.remarks.append(Remark("scores_do_not_fall"))
            by_rank = rising
        most = self._reading.limits.id
        for query, row in zip(queries, handed_over(rows), strict=True):
            docs = [
                passage.id
                for passages in (row.contexts, *map(attrgetter("docs"), row.steps))
                for passage in passages
            ]
            for name in (query, row.run, row.repeat, *docs):
                # Few are long enough to be encoded for this: a character takes four bytes at most.
                if len(name) * 4 > most and len(word(name).encode("utf-8", "surrogatepass")) > most:
                    raise InputError(
                        at=row.where,
                        expected=f"ids of at most {most:,} bytes",
                        found=f"{visible(name)[:60]!r}…",
                    )
            self._question(row, query)
            passages = self._passages(row, query, by_rank)
            self._answer(row, query, passages)
            self.log.judgements += self._row_judgements(row, query)
            self.log.steps += self._steps(row, query)
            if row.trace:
                self.log.traces[row.run, query, row.repeat] = row.trace
            if row.confidence is not None:
                self.log.confidences[row.run, query, row.repeat] = row.confidence
        self.log.questions = [
            Question(query, question["text"], tuple(question["gold"]), tuple(question["facts"].items()))
            for query, question in self._questions.items()
        ]
        remarks = self._reading.remarks
        searches = any(step["kind"] == "search" for step in self.log.steps)
        if not self.log.passages and not any(self.log.run.values()) and not searches:
            tools = sorted(self._reading.tools)[:_LISTED]
            remarks.append(Remark("no_searches", facts={"tools": tools}) if tools else Remark("no_passages"))
        if self._made_ids:
            remarks.append(Remark("passages_without_id", facts={"number": self._made_ids}))
        if self._other_texts:
            remarks.append(Remark("passages_of_one_id", facts={"number": self._other_texts}))
        if self._other_rankings:
            remarks.append(Remark("other_rankings", facts={"number": self._other_rankings}))
        self.log.run = {run: ranking for run, ranking in self.log.run.items() if ranking}

    def _question(self, row: Row, query: str) -> None:
        question = self._questions.setdefault(query, {"text": row.question, "gold": {}, "facts": {}})
        if row.relevant and query not in self._has_gold:
            self._has_gold.add(query)
            for number, documents in enumerate(row.relevant):
                nugget = str(number) if len(row.relevant) > 1 or len(documents) > 1 else "0"
                self.log.gold += [Qrel(query, word(doc), 1, nugget) for doc in documents]
        question["gold"].update(dict.fromkeys(row.gold))
        for name, value in (row.facts | _place_in_conversation(row)).items():
            text = one_text(value, name, row.where)
            if question["facts"].setdefault(name, text) != text:
                question["facts"][name] = ""  # not a fact of the question

    def _passages(self, row: Row, query: str, by_rank: bool) -> list[Passage]:
        """Return what was retrieved, each document once, with an id; keep the first ranking of a query."""
        passages: dict[str, Passage] = {}
        for passage in row.contexts:
            if not passage.id and not passage.text:
                raise InputError(at=row.where, expected="a text or an id of every passage", found="neither")
            doc = self._document(passage)
            self._made_ids += not word(passage.id)
            if doc in passages:
                self._out["passages that appear twice in a ranking"] += 1
                continue
            # Of two texts under one id the first is kept among the passages; the answer had its own.
            kept_text = self.log.passages.setdefault(doc, passage.text) if passage.text else ""
            self._other_texts += bool(passage.text) and kept_text != passage.text
            # Equal texts become one in memory: logs hold a passage as often as it was retrieved.
            passages[doc] = Passage(
                kept_text if kept_text == passage.text else passage.text, doc, passage.score
            )
        run = self.log.run.setdefault(row.run, [])
        ranking = [
            ScoredDoc(query, passage.id, 1 / rank if by_rank else float(passage.score or 0))
            for rank, passage in enumerate(passages.values(), 1)
        ]
        # Repeats retrieve for themselves, and a run has one ranking a query.
        first = self._rankings.setdefault((row.run, query), ranking)
        if first is ranking:
            run += ranking
        else:
            self._other_rankings += [scored_doc.doc_id for scored_doc in first] != [
                scored_doc.doc_id for scored_doc in ranking
            ]
        return list(passages.values())

    def _document(self, passage: Passage) -> str:
        """Return the id that is given, or one that is made from the text."""
        text = passage.text.encode("utf-8", "surrogatepass")
        return word(passage.id) or hashlib.sha256(text).hexdigest()[:_DOCUMENT]

    def _answer(self, row: Row, query: str, passages: list[Passage]) -> None:
        if row.answer is None and not row.missing:
            self._out["records without an answer"] += 1  # as all of the run: it only retrieved, or asked
            return
        documents = tuple(passage.id for passage in passages)
        texts = tuple((passage.id, passage.text) for passage in passages if passage.text)
        cites = {
            number: self._document(row.contexts[cited]) if isinstance(cited, int) else word(cited)
            for number, cited in row.cites.items()
        }
        error = " ".join(row.missing.split())[:_REASON] or (NO_ANSWER if row.missing else "")
        text = "" if error else row.answer or ""
        amounts: dict[str, Any] = {**row.spent}
        sentences = tuple(_cited_sentences(text, cites)) if row.cites else (Sentence(text),)
        self.log.answers.append(
            Answer(
                query,
                row.run,
                () if error else sentences,
                documents,
                texts,
                row.question,
                repeat=row.repeat,
                error=error,
            )._replace(**amounts)
        )

    def _steps(self, row: Row, query: str) -> Iterator[dict[str, Any]]:
        """Yield the steps of an agent; the last is its answer, if it gave one or failed to."""
        place = {"query_id": query, "run_id": row.run} | ({"repeat": row.repeat} if row.repeat else {})
        for span in row.steps:
            fields: dict[str, Any] = {"tool": span.tool, "query": span.query}
            passages = [passage for passage in span.docs if passage.id or passage.text]
            self._out["unidentified documents"] += len(span.docs) - len(passages)
            fields["docs"] = list(dict.fromkeys(map(self._document, passages)))
            fields["status"] = "error" if span.is_failed else ""
            step = place | {"step": span.number, "kind": span.step}
            step |= {name: value for name, value in fields.items() if value}
            arguments = parse_json_text(span.arguments)
            yield step | ({} if arguments is None else {"arguments": arguments}) | span.spent
            for passage in filter(attrgetter("text"), passages):
                self.log.passages.setdefault(self._document(passage), passage.text)
        if row.steps and (row.missing or row.answer is not None):
            status = {"status": "error"} if row.missing or row.stopped else {}
            yield place | {"step": row.steps[-1].number + 1, "kind": "answer"} | status

    def _row_judgements(self, row: Row, query: str) -> Iterator[dict[str, Any]]:
        place: dict[str, Any] = {"query_id": query, "run_id": row.run, "item_id": "answer"}
        place |= {"repeat": row.repeat} if row.repeat else {}
        place |= {"trace_id": row.trace} if row.trace else {}
        place |= _place_in_conversation(row)
        graded_by: set[tuple[str, str]] = set()
        for grade in () if row.missing else row.grades:  # what a tool says of no answer is no judgement
            key = self._aspect_and_judge(grade)
            if key in graded_by:
                self._out["second grades of one aspect by one judge"] += 1
                continue
            graded_by.add(key)
            reason = {"reason": grade.reason} if grade.reason else {}
            value = None if grade.grade is None or not math.isfinite(grade.grade) else grade.grade
            most = self._reading.limits.grade
            if value is not None and abs(value) > most:
                raise InputError(
                    at=row.where,
                    expected=f"as {visible(grade.aspect)} a number from -{most:,} to {most:,}",
                    found=f"{value:g}",
                )
            grading: dict[str, Any] = {} if value is None else {"grade": value}
            grading |= {"label": grade.label} if grade.label else {}
            yield (
                place
                | self._judgement_names(*key)
                | {"status": "ok" if grading else "error"}
                | grading
                | reason
            )
        # Another judge may have graded the same aspect here: then it did not fail.
        aspects = {aspect for aspect, judge in graded_by if not judge.startswith(PERSON)}
        for key in self._graded_pairs if row.missing or row.lacks_failed else ():
            if key[0] not in aspects and not key[1].startswith(PERSON):
                why = {"detail": row.missing[:_REASON]} if row.missing else {}
                yield place | self._judgement_names(*key) | {"status": "error"} | why

    def _judgement_names(self, aspect: str, judge: str) -> dict[str, str]:
        metric = self._metrics[aspect]
        rubric = self._reading.rubrics.get(metric, f"{self.log.tool}/{metric}"[:200])
        return {"aspect": aspect, "judge": judge, "rubric": rubric}

    def _aspect_and_judge(self, grade: Grade) -> tuple[str, str]:
        """Return the metric as `grade(aspect=…)` names it, where not every character can stand; its judge."""
        if grade.aspect not in self._aspects:
            plain = _ASPECT.sub("_", grade.aspect).strip("_")[:80] or "score"
            name = plain
            while name in self._metrics:
                self._alike[plain] += 1
                name = f"{plain}_{self._alike[plain] + 1}"
            self._aspects[grade.aspect] = name
            self._metrics[name] = grade.aspect
        return self._aspects[grade.aspect], word(grade.judge or self.log.tool)[:200]


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


def together(logs: Sequence[tuple[str, Log]]) -> Log:
    """Return named logs as one; a run's answers to a query must stand in one of them.

    The same file may be there twice, under two names of its run.
    """
    whole = Log("+".join(dict.fromkeys(log.tool for _, log in logs)), logs[0][1].version)
    where: dict[tuple[str, str], str] = {}
    questions: dict[str, Question] = {}
    left_out: Counter[str] = Counter()
    for name, log in logs:
        places = {(answer.run_id, answer.query_id) for answer in log.answers}
        places |= {(judgement["run_id"], judgement["query_id"]) for judgement in log.judgements}
        for place in sorted(places):
            if place in where:
                run, query = map(visible, place)
                raise InputError(
                    at=Place(visible(name)),
                    problem=f"run {run} has an answer to query {query} in {visible(where[place])}, too",
                    remedy="import each with its own --run, or repeats in one file",
                )
            where[place] = name
        for question in log.questions:
            merged = questions.setdefault(question.query_id, question)
            if not merged.gold:
                questions[question.query_id] = merged._replace(gold=question.gold)
        whole.answers += log.answers
        whole.judgements += log.judgements
        known_gold = set(whole.gold)  # two systems that were asked the same have the same gold
        whole.gold += [qrel for qrel in log.gold if qrel not in known_gold]
        for run, ranking in log.run.items():
            whole.run.setdefault(run, []).extend(ranking)
        whole.steps += log.steps
        whole.passages = log.passages | whole.passages  # the first log's text of an id stays
        whole.traces |= log.traces
        whole.confidences |= log.confidences
        whole.remarks += [replace(remark, about=Scope(file=name)) for remark in log.remarks]
        left_out.update(log.left_out)
    whole.questions, whole.left_out = list(questions.values()), dict(sorted(left_out.items()))
    return whole


Lines = Callable[[], Iterator[str]]


def outputs(log: Log) -> dict[str, Lines]:
    """Return what each file holds; what the log does not hold has no file."""

    def answers() -> Iterator[str]:
        for answer in log.answers:
            place = answer.run_id, answer.query_id, answer.repeat
            trace = log.traces.get(place)
            more: dict[str, Any] = {"trace_id": trace} if trace else {}
            more |= {"confidence": log.confidences[place]} if place in log.confidences else {}
            yield next(write_answers([answer], "plain", **more))

    def run(name: str) -> Iterator[str]:
        rank, query = 0, ""
        for scored in log.run[name]:
            rank = rank + 1 if scored.query_id == query else 1
            query = scored.query_id
            yield f"{query} Q0 {scored.doc_id} {rank} {scored.score!r} {name}"

    files: dict[str, Lines] = {}
    if log.answers:
        files["answers.jsonl"] = answers
    if log.questions:
        files["questions.jsonl"] = lambda: write_questions(log.questions)
    for name, plain in file_names(log.run).items():
        # One run is run.trec; of several each bears its name.
        file = "run.trec" if len(log.run) == 1 else f"run.{plain}.trec"
        files[file] = lambda name=name: run(name)  # type: ignore[misc]
    if log.passages:
        files["passages.jsonl"] = lambda: (
            as_line({"id": doc, "text": text}) for doc, text in log.passages.items()
        )
    # People's judgements are what others are held against, so they lie in a file of their own.
    people = [judgement for judgement in log.judgements if judgement["judge"].startswith(PERSON)]
    tools = [judgement for judgement in log.judgements if not judgement["judge"].startswith(PERSON)]
    if tools:
        files["judged.jsonl"] = lambda: map(as_line, tools)
    if people:
        files["people.jsonl"] = lambda: map(as_line, people)
    if log.steps:
        files["steps.jsonl"] = lambda: map(as_line, log.steps)
    if log.gold:
        files["gold.qrels"] = lambda: (
            f"{q.query_id} {q.iteration} {q.doc_id} {q.relevance}" for q in log.gold
        )
    return files


def counts_of(log: Log) -> dict[str, int]:
    """Return how much of everything a log holds."""
    judged = [judgement for judgement in log.judgements if not judgement["judge"].startswith(PERSON)]
    counts = {
        "answers": sum(not answer.error for answer in log.answers),
        "failed answers": sum(bool(answer.error) for answer in log.answers),
        "questions": len(log.questions),
        "runs": len({answer.run_id for answer in log.answers} | set(log.run)),
        "retrieved": sum(map(len, log.run.values())),
        "passages": len(log.passages),
        "judgements": len(judged),
        "failed judgements": sum(judgement["status"] == "error" for judgement in judged),
        "human labels": len(log.judgements) - len(judged),
        "gold documents": len(log.gold),
        "steps": len(log.steps),
    }
    always = ("answers", "questions", "retrieved", "judgements")
    return {name: number for name, number in counts.items() if number or name in always}


def manifest(
    log: Log, paths: Sequence[str], settings: Mapping[str, Any], files: Mapping[str, str]
) -> Iterator[str]:
    """Return what was read, how, what was left out, and the sha256 of the files written, as JSON."""
    logs: list[dict[str, Any]] = []
    for path in paths:
        read: dict[str, Any] = {"name": os.path.basename(path)}
        if path != STDIN and os.path.isfile(path):
            read |= {"bytes": os.path.getsize(path), "sha256": digest_of(path, "a log")}
        logs.append(read)
    entries = {
        "tool": log.tool,
        "tool_version": log.version,
        "imported_by": f"rageval {__version__}",
        "settings": {name: value for name, value in settings.items() if value},
        "logs": logs,
        "counts": counts_of(log),
        "files": files,
        "left_out": log.left_out,
        "remarks": [remark.as_record() for remark in log.remarks],
    }
    yield from json.dumps(entries, indent=1, sort_keys=True, ensure_ascii=True).splitlines()
