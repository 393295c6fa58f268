"""Tables of answers, read as they are: one row an answer, columns called as people call them.

A log of a tool is read by its reader. Of anything else that is a table (CSV, TSV, Parquet, JSON lines, a JSON
array) the names of the columns say what they hold.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from rageval.core.remark import Remark, Scope
from rageval.errors import InputError, Place
from rageval.files.jsonl import named
from rageval.files.opening import Source, chunks, limits_of, name_of, with_limits
from rageval.files.synonyms import SYNONYMS, ColumnsRead, columns_of
from rageval.logs._content import Content, opened
from rageval.logs.log import Log
from rageval.logs.mapped import one_text, word
from rageval.logs.parting import part
from rageval.logs.paths import AMOUNT_COLUMNS, list_in, path_of, value_at_path
from rageval.logs.readers import GENERIC, read, stem_of, tool_of
from rageval.logs.rows import PERSON, LogReading, Passage, Row, folded, spent_as
from rageval.records import Answer, Question
from rageval.text import is_error_message, visible

_SHOWN = 3  # ids in an error
ERROR_MESSAGE = "error message"
_GAPS = ("", "nan", "NaN", "<NA>")
_DIGITS = 12  # of an id that is made from a question


@dataclass
class Tables:
    """What tables of answers hold together, and what is to be said of how they were read.

    `systems` are the names of those in each table, and `judgements` what the tools of logs judged themselves.
    """

    answers: list[Answer] = field(default_factory=list)
    questions: dict[str, Question] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    systems: list[list[str]] = field(default_factory=list)
    judgements: list[dict[str, Any]] = field(default_factory=list)

    def merge_questions(
        self, file_questions: dict[str, Question], source: Source
    ) -> tuple[dict[str, Question], list[Remark]]:
        """Return the questions with those of a file of questions before them, by ids, else by their texts."""
        clash = _clash([self.questions.values(), file_questions.values()])
        if not file_questions or (not clash and file_questions.keys() & self.questions):
            return self._with_file_questions(file_questions), []
        ids = {
            _question_key(question.text): query for query, question in self.questions.items() if question.text
        }
        name = visible(name_of(source))
        called = {_question_key(question.text): question for question in file_questions.values()}
        if not called.keys() & ids.keys():
            shown = (
                f"{_some_ids(file_questions.values())}; of the answers: {_some_ids(self.questions.values())}"
            )
            raise InputError(
                at=Place(name),
                problem="no question in common with the answers, by id or by text",
                remedy=f"ids there: {shown}",
            )
        pairs = ((ids.get(key) or _id_of(key), question) for key, question in called.items())
        joined = {query: question._replace(query_id=query) for query, question in pairs}
        about = Scope(file=name_of(source))
        return self._with_file_questions(joined), [
            Remark("file_joined_by_questions", about, {"clash": clash})
        ]

    def _with_file_questions(self, file_questions: Mapping[str, Question]) -> dict[str, Question]:
        """Return the questions, as they are known elsewhere; what is said of them nowhere else stays."""
        gold = {query: question.gold for query, question in self.questions.items()}
        return self.questions | {
            query: question if question.gold else question._replace(gold=gold.get(query, ()))
            for query, question in file_questions.items()
        }


def read_table(source: Source, *, gold_alone: bool = False) -> tuple[Log, list[Remark]]:
    """Return what a table holds, and how it was read; `gold_alone`: its answers are the right ones.

    InputError where there is no question and no id, or neither an answer nor a right one.
    """
    name = visible(name_of(source))
    opened_again = _make_rereader(source)
    if (tool := tool_of(opened_again())) is not None and not gold_alone:
        # A column that people added to what the tool writes, or that we did to a frame.
        names = opened(opened_again()).first.keys()
        log = read(opened_again(), {"run_id": "run_id"} if "run_id" in names else None, tool=tool)
        # A tool that names no run: two files of it are two systems.
        if {answer.run_id for answer in log.answers} == {tool}:
            log = read(opened_again(), tool=tool, run=_system_named(source) or tool)
        return log, [Remark("log_of_tool", Scope(file=name_of(source)), {"tool": tool})]
    content = opened(opened_again())
    # All columns that any row has, as records may lack some.
    keys = dict.fromkeys(key for record in content.records() for key in record.object())
    columns = columns_of(list(keys), gold_alone)
    required = "gold" if gold_alone else "answer"
    if not columns.fields.keys() & {"question", "query_id"} or required not in columns.fields:
        what = "a right answer" if gold_alone else "an answer of a system"
        shown = ", ".join(map(visible, keys))[:200]
        raise InputError(
            at=Place(content.name),
            problem=f"of the columns {shown} none is called as a question and as {what} are",
            expected=f"{', '.join(SYNONYMS['question'])}, and {', '.join(SYNONYMS[required])}",
            remedy=f"or set their columns: rageval import {content.name} -o DIR",
        )
    columns = columns.with_systems(record.value() for record in content.records())
    ids = _why_no_ids(_table_rows(content, columns), columns)

    def keyed() -> Iterator[Row]:
        for row in _table_rows(content, columns):
            # Ids are kept where each row has one, and none has two questions.
            if ids is None:
                row.key = row.ids["query_id"]
            else:
                row.ids = {}
            yield row

    # Rows are read several times, so that none need be kept until all are known.
    doubled, errors, others = _doubled_rows(keyed()), list[str](), set[str]()
    first_gold: dict[str, tuple[Place, list[str]]] = {}
    for row in keyed():
        errors += [_shown_key(row)] * _is_error_message(row)
        others.update(row.facts)
        # Which of two sets of right answers is meant would be a guess.
        where, gold = first_gold.setdefault(row.key, (row.where, row.gold))
        if row.gold and _gold(row.gold) != _gold(gold):
            raise _other_gold(row.where, row.gold, str(where), gold)

    def rows(_: LogReading) -> Iterator[Row]:
        second = set[tuple[str, str]]()
        for row in keyed():
            place = row.run, row.key
            if place in second:
                continue
            if place in doubled:
                second.add(place)
                row.failed = "" if doubled[place].are_same else "different answers"
            if _is_error_message(row):
                row.failed = f"{ERROR_MESSAGE}: {row.answer}"
            yield row

    reading = LogReading(limits_of(source), form=content.form)
    otherwise = "stdin" if name == "<stdin>" else _system_named(source)
    log = Log("")
    part(GENERIC, rows, {}, reading, log, otherwise=otherwise)
    facts = {
        "columns": list(columns.fields.items()),
        "others": [column for column in columns.others if column in others],
        "ids": ids,
        "repeats": sum(answer.repeat not in ("", "1") for answer in log.answers),
    }
    about = Scope(file=name_of(source))
    remarks = [Remark("columns_of_table", about, facts)]
    same, different = (
        [group.shown for group in doubled.values() if group.are_same is are_same]
        for are_same in (True, False)
    )
    if same:
        remarks.append(Remark("rows_twice_in_table", about, _counted(same)))
    if different:
        remarks.append(Remark("answers_differ_in_table", about, _counted(different)))
    if errors:
        remarks.append(Remark("error_messages_in_table", about, _counted(errors)))
    return log, remarks


def _system_named(source: Source) -> str:
    """Return what the system of a table is called; nothing for a stream, but for one made of a frame."""
    name = name_of(source)
    return "" if name.startswith("<") else stem_of(name)


def _counted(queries: Sequence[str]) -> dict[str, Any]:
    return {"number": len(queries), "examples": queries[:_SHOWN]}


@dataclass
class _Group:
    """The rows of one system to one question, as it is shown; `are_same` are their answers."""

    shown: str
    answer: int  # the hash of the first
    number: int = 1
    are_same: bool = True


def _doubled_rows(rows: Iterable[Row]) -> dict[tuple[str, str], _Group]:
    """Return the questions that have a second row of the same system.

    Where a system has several rows to most questions, these are repeats. Else a second row is a mistake: the
    same answer counts once, and of different ones none, as which one is meant would be a guess.
    """
    groups: dict[tuple[str, str], _Group] = {}
    for row in rows:
        group = groups.get((row.run, row.key))
        if group is None:
            groups[row.run, row.key] = _Group(_shown_key(row), hash(row.answer))
        else:
            group.number += 1
            group.are_same = group.are_same and hash(row.answer) == group.answer
    doubled = {place: group for place, group in groups.items() if group.number > 1}
    return {} if 2 * len(doubled) > len(groups) else doubled


def _is_error_message(row: Row) -> bool:
    """Return whether the answer is an error message, and no right answer is."""
    return bool(row.answer and is_error_message(row.answer)) and not any(map(is_error_message, row.gold))


def _shown_key(row: Row) -> str:
    return row.ids.get("query_id") or row.question or row.key


def _table_rows(content: Content, columns: ColumnsRead) -> Iterator[Row]:
    for record in content.records():
        cells, where = record.value(), record.where
        values = {name: _filled(cells.get(column)) for name, column in columns.fields.items()}
        question, identifier, run = (
            one_text(values.get(name), name, where) for name in ("question", "query_id", "run_id")
        )
        gold, contexts = (_cell_texts(values.get(name), name, where) for name in ("gold", "contexts"))
        yield Row(
            where,
            question,
            one_text(values.get("answer"), "answer", where),
            gold,
            run=run,
            contexts=list(map(Passage, contexts)),
            ids={"query_id": word(identifier)} if identifier.strip() else {},
            key=_question_key(question),
            spent=spent_as(**_amounts(cells, columns.others)),
            # What is nested is no field of a question.
            facts={
                name: cells[name] for name in columns.others if isinstance(cells.get(name), str | int | float)
            },
        )


def _amounts(cells: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return what columns say an answer cost: cost, seconds and tokens, by the names of these measures."""
    fields: dict[str, Any] = {}
    for name in names:
        amount = AMOUNT_COLUMNS.get(name.lower())
        if amount and _filled(cells.get(name)) is not None:
            fields.setdefault(amount, cells[name])
    return fields


def _filled(cell: Any) -> Any:
    """Return a cell; None for a gap, also as pandas writes it, for which every other program has a blank."""
    is_gap = cell != cell if isinstance(cell, float) else isinstance(cell, str) and cell.strip() in _GAPS
    return None if is_gap else cell


def _cell_texts(cell: Any, name: str, where: Place) -> list[str]:
    """Return the texts of a cell: of a list, also one that is written as text, all; else the cell's."""
    if isinstance(cell, str) and (way := list_in(cell)):
        cell = value_at_path({"cell": cell}, path_of(f"cell{way}"), where)
    elif cell == "[]":
        cell = []
    items = cell if isinstance(cell, list) else [cell]
    return [text for item in items if (text := one_text(item, name, where)).strip()]


def _why_no_ids(rows: Iterable[Row], columns: ColumnsRead) -> Remark | None:
    """Return why no ids are kept, if not each row has one, or one has two questions."""
    if "query_id" not in columns.fields:
        return Remark("ids_of_questions")
    asked: dict[str, set[str]] = {}
    lacking: Place | None = None
    for row in rows:
        for identifier in row.ids.values():
            asked.setdefault(identifier, set()).add(row.key)
        if not row.ids and lacking is None:
            lacking = row.where
    several = next((name for name, keys in asked.items() if len(keys - {""}) > 1), None)
    if several is None and lacking is None:
        return None
    return Remark("ids_not_unique", facts={"row": lacking, "id": several or ""})


def _gold(texts: Sequence[str]) -> set[str]:
    return {folded(text) for text in texts}


def _other_gold(where: Place, gold: Sequence[str], first: str, other: Sequence[str]) -> InputError:
    shown = " and ".join(visible("; ".join(golds))[:80] for golds in (other, gold))
    return InputError(
        at=where,
        problem=f"the right answers to this question differ from those in {first} ({shown})",
        expected="the same in all rows of a question",
        remedy="several right answers are a list in one cell",
    )


def _make_rereader(source: Source) -> Callable[[], Source]:
    """Return what gives the source to whoever reads it next; of a stream, whose bytes are kept, a copy."""
    if isinstance(source, str | os.PathLike):
        return lambda: source
    content = b"".join(chunks(source, limits_of(source).unpacked))

    def copied() -> Source:
        copy: Source = with_limits(named(content, name_of(source)), limits_of(source))
        return copy

    return copied


def read_tables(sources: Sequence[Source], gold: bool = True) -> Tables:
    """Return tables of several systems as one: joined by ids, else by questions.

    InputError where two tables have neither in common, or (with `gold`) not the same right answers.
    """
    tables = Tables()
    logs: list[Log] = []
    for source in sources:
        log, remarks = read_table(source)
        logs.append(log)
        tables.remarks += remarks
    names = [visible(name_of(source)) for source in sources]
    clash = _clash([log.questions for log in logs])
    if not clash and not _share_no_question(logs):
        logs, remarks = logs, []
    else:
        joined = list(map(_with_question_ids, logs))
        if _share_no_question(joined):
            if clash:
                raise InputError(
                    f"{clash}, and the tables have no question in common by its text",
                    expected="the same ids for the same questions in all tables",
                )
            shown = "; ".join(
                f"{name}: {_some_ids(log.questions)}" for name, log in zip(names, logs, strict=True)
            )
            raise InputError(problem=f"the tables have no question in common, by id or by text: {shown}")
        logs, remarks = joined, [Remark("tables_joined_by_questions", facts={"clash": clash})]
    tables.remarks += remarks
    logs, remarks = _rename_same_systems(sources, logs)
    tables.remarks += remarks
    places: dict[str, str] = {}
    for name, log in zip(names, logs, strict=True):
        tables.answers += log.answers
        tables.judgements += (
            judgement for judgement in log.judgements if not judgement["judge"].startswith(PERSON)
        )
        tables.systems.append(_systems(log))
        for question in log.questions:
            earlier = tables.questions.setdefault(question.query_id, question)
            if not question.gold:
                continue
            first = places.setdefault(question.query_id, name)
            if not earlier.gold:
                tables.questions[question.query_id] = question
            elif gold and _gold(earlier.gold) != _gold(question.gold):
                where = Place(name, inside=f"question {visible(question.text or question.query_id)[:80]!r}")
                raise _other_gold(where, question.gold, first, earlier.gold)
    return tables


def only_system(source: Source, names: Sequence[str]) -> str:
    """Return the one system whose answers a table holds; `InputError` for several."""
    if len(names) != 1:
        raise InputError(
            at=Place(visible(name_of(source))),
            expected="the answers of one system",
            found=f"{len(names)}: {', '.join(map(visible, names))[:200]}",
        )
    return names[0]


def _clash(tables: Iterable[Iterable[Question]]) -> Remark | None:
    """Return which id means one question in one table and another one in another; None if none does."""
    first_texts: dict[str, str] = {}
    for question in chain.from_iterable(tables):
        first = first_texts.setdefault(question.query_id, question.text)
        if question.text and first and _question_key(first) != _question_key(question.text):
            facts = {"id": question.query_id, "first": first, "second": question.text}
            return Remark("id_of_two_questions", facts=facts)
    return None


def _question_key(question: str) -> str:
    """Return a question as it is compared: neither case nor white space tells two apart."""
    return folded(question).casefold()


def _share_no_question(logs: Sequence[Log]) -> bool:
    """Tell whether two tables have no question in common."""
    if len(logs) < 2:
        return False
    ids = [{question.query_id for question in log.questions} for log in logs]
    return not set.intersection(*ids)


def _with_question_ids(log: Log) -> Log:
    """Return the log with ids that are made from the questions; where there is no text the id stays."""
    new_ids = {
        question.query_id: _id_of(_question_key(question.text)) for question in log.questions if question.text
    }

    def called(record: Any) -> Any:
        return record._replace(query_id=new_ids.get(record.query_id, record.query_id))

    return Log(
        log.tool,
        answers=[called(answer) for answer in log.answers],
        questions=[called(question) for question in log.questions],
        judgements=[
            judgement | {"query_id": new_ids.get(judgement["query_id"], judgement["query_id"])}
            for judgement in log.judgements
        ],
    )


def _id_of(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _systems(log: Log) -> list[str]:
    return list(dict.fromkeys(answer.run_id for answer in log.answers))


def _rename_same_systems(sources: Sequence[Source], logs: list[Log]) -> tuple[list[Log], list[Remark]]:
    """Return the tables, of which two that call their systems the same are called after their files."""
    counts = Counter(name for log in logs for name in _systems(log))
    twice = [name for name, count in counts.items() if count > 1]
    if not twice:
        return logs, []
    # As many folders stand before the names of files as tell them apart.
    ways = []
    for source in sources:
        path = os.fspath(source) if isinstance(source, str | os.PathLike) else name_of(source)
        *folders, _ = path.replace("\\", "/").split("/")
        ways.append([*folders, _system_named(source)])
    longest = max(map(len, ways))
    for length in range(1, longest + 1):
        files = [word("/".join(way[-length:])) for way in ways]
        if len(set(files)) == len(files):
            break
    if len(set(files)) < len(files) or not all(files):
        raise InputError(
            problem=f"two tables call their system {visible(twice[0])}, and nothing else distinguishes them",
            expected=f"names in a column ({', '.join(SYNONYMS['run_id'])}), or files of different names",
        )
    renamed, new_names = [], []
    for file, log in zip(files, logs, strict=True):
        own = _systems(log)
        names = {
            name: (file if len(own) == 1 else f"{file}/{name}") if name in twice else name for name in own
        }
        answers = [answer._replace(run_id=names[answer.run_id]) for answer in log.answers]
        judgements = [
            judgement | {"run_id": names.get(judgement["run_id"], judgement["run_id"])}
            for judgement in log.judgements
        ]
        renamed.append(replace(log, answers=answers, judgements=judgements))
        new_names += [name for old, name in names.items() if name != old]
    return renamed, [Remark("systems_named_alike", facts={"name": twice[0], "names": new_names})]


def _some_ids(questions: Iterable[Question]) -> str:
    return ", ".join(visible(question.query_id) for question in islice(questions, _SHOWN))
