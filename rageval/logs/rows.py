"""What a reader yields: a row an answer, with all that the log says of it; and what a reader is."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import msgspec

from rageval.core.remark import Remark
from rageval.errors import InputError, Place
from rageval.files.jsonl import without_nulls
from rageval.files.opening import DEFAULT, Limits
from rageval.logs._content import Content, Record
from rageval.text import visible

PERSON = "person:"  # what a judge's name begins with who is somebody, and no model
_LONGEST_FACT = 100
_CONVERSATION = 12  # digits of an id that is made
# What tools call a span, and the step that it is.
_STEP_OF_KIND = {
    **dict.fromkeys(("RETRIEVER", "RETRIEVAL"), "search"),
    **dict.fromkeys(("TOOL", "EXECUTE_TOOL"), "tool"),
    "READ": "read",
    **dict.fromkeys(("LLM", "CHAT", "CHAT_MODEL", "GENERATION"), "model"),
    **dict.fromkeys(("COMPLETION", "TEXT_COMPLETION", "GENERATE_CONTENT"), "model"),
}
_Struct = TypeVar("_Struct")


class Passage(NamedTuple):
    """A retrieved text, with its id and score if the log has them."""

    text: str
    id: str = ""
    score: float | None = None


class Grade(NamedTuple):
    """The result of a metric of the tool; neither grade nor label if it failed."""

    aspect: str
    grade: float | None = None
    label: str | None = None
    judge: str = ""
    reason: str = ""


class TracedSpan(msgspec.Struct):
    """A span of a trace as all tools have it; the times are texts that sort as times do.

    Spans that are steps of an agent get numbers: those of one number ran in parallel.
    """

    id: str
    parent: str
    kind: str
    start: str = ""
    end: str = ""
    tool: str = ""
    query: str = ""
    arguments: Any = None
    result: Any = None  # of a tool
    docs: Sequence[Passage] = ()
    is_failed: bool = False
    spent: dict[str, float] = {}  # of `SPENT`, as far as the log says so
    number: int = 0

    @property
    def step(self) -> str:
        """The kind of step that the span is; nothing if it is none."""
        return _STEP_OF_KIND.get(self.kind, "")


class Row(msgspec.Struct):  # made quickly, as logs have many
    """One answer of a log. `failed` says why there is none.

    With `lacks_failed` a metric that other answers have, and this one lacks, has failed here.

    An answer of no characters is an answer, and None is none. A reader sets `failed` where the log says that
    the system failed; `missing`, why there is no answer among answers, is told of all rows together.

    `variant` (a prompt, a filter) belongs to the run's name where the log has several. `key` distinguishes
    questions where their text does not; `ids` are fields that may be the question's id, by preference;
    `relevant` are documents, by lists of which any one is enough; `record` is what `--map` looks into.
    """

    where: Place
    question: str = ""
    answer: str | None = None
    gold: list[str] = []
    conversation: str = ""
    turn: str = ""  # its number in the conversation
    run: str = ""
    variant: str = ""
    repeat: str = ""
    trace: str = ""
    contexts: list[Passage] = []
    grades: list[Grade] = []
    facts: dict[str, Any] = {}
    ids: dict[str, str] = {}
    key: str = ""
    relevant: list[list[str]] = []
    # What [1] in the answer cites: a place in `contexts`, or a document.
    cites: dict[str, int | str] = {}
    confidence: float | None = None  # of the system in its answer, from 0 to 1
    failed: str = ""
    missing: str = ""
    stopped: str = ""  # why an agent was stopped, whose result counts as it is
    lacks_failed: bool = False
    spent: dict[str, float] = {}  # of `SPENT`, as far as the log says so
    steps: list[TracedSpan] = []  # of an agent, up to the answer
    before: str = ""  # what tells the turns apart that were mapped out of conversations
    record: Any = None


@dataclass
class MetricColumns:
    """Which columns of a table are metrics: no fields, and numbers in most of their filled cells.

    That is known when all rows are. Until then the metrics are those that somebody found before (`assumed`),
    or the columns that hold numbers in the first row.
    """

    assumed: tuple[str, ...] | None = None
    _filled: dict[str, int] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _fields: dict[str, bool] = field(default_factory=dict)

    def grades(self, cells: Mapping[str, Any], is_field: Callable[[str], bool]) -> list[Grade]:
        """Return what the metrics gave in a row."""
        filled, numbers, fields = self._filled, self._numbers, self._fields
        graded_cells: dict[str, Grade] = {}
        for name, value in cells.items():
            if name not in fields:
                fields[name] = is_field(name)
            if fields[name] or value is None or value == "":
                continue
            is_plain = value.__class__ is float and math.isfinite(value)  # as nearly all are
            graded_cells[name] = Grade(name, value) if is_plain else grade_of_cell(name, value)
            filled[name] = filled.get(name, 0) + 1
            # A metric that failed is a NaN: a column of nothing else is a metric, too.
            if is_plain or _is_number_or_nan(value):
                numbers[name] = numbers.get(name, 0) + 1
        if self.assumed is None:
            self.assumed = self.metrics
        return [graded_cells.get(name) or Grade(name) for name in self.assumed]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The columns that are metrics by the rows so far."""
        return tuple(
            name for name, count in self._filled.items() if is_mostly(self._numbers.get(name, 0), count)
        )

    @property
    def unread(self) -> dict[str, int]:
        """The other columns that are no fields, and their filled cells."""
        metrics = self.metrics
        return {name: count for name, count in self._filled.items() if name not in metrics}


@dataclass
class LogReading:
    """How to read a log, and remarks on it afterward."""

    limits: Limits = DEFAULT
    hop: str = ""
    split: Mapping[str, str] = field(default_factory=dict)
    columns: MetricColumns = field(default_factory=MetricColumns)  # of a table
    form: str = ""  # how the log is written: lines, value, csv, parquet, zip
    remarks: list[Remark] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)  # columns that nobody reads, and their cells
    rubrics: dict[str, str] = field(default_factory=dict)  # of metrics whose labels are those of a rubric
    version: str = ""  # of the tool
    search_tools: Sequence[str] = ()  # patterns of names of an agent's tools that search
    tools: set[str] = field(default_factory=set)  # of agents


@dataclass(frozen=True)
class LogReader:
    """A reader of a tool's logs: `fits` detects them by content, `rows` yields their answers.

    `rows` may be called again, with a new `LogReading`: what all rows say together decides where each goes,
    and no row is kept until that is known.
    """

    tool: str
    fits: Callable[[Content], bool]
    rows: Callable[[Content, LogReading], Iterator[Row]]


def log_reader(
    tool: str, fits: Callable[[Content], bool]
) -> Callable[[Callable[[Content, LogReading], Iterator[Row]]], LogReader]:
    """Declare the function below, which yields the rows of a tool's logs, as that tool's reader."""
    return lambda rows: LogReader(tool, fits, rows)


def holding(*ways: str) -> Callable[[Content], bool]:
    """Return what tells a log by fields of its first record, in one of several ways.

    `meta.cursor data` are a field within `meta` and one beside it.
    """
    every = [way.split() for way in ways]

    def fits(content: Content) -> bool:
        fields = content.first.keys()  # once: each look decodes the record
        return any(
            all(
                name in fields if "." not in name else content.first.at(*name.split(".")) is not None
                for name in way
            )
            for way in every
        )

    return fits


def convert_to(struct_type: type[_Struct], value: Any, where: Place) -> _Struct:
    """Return a decoded value as a struct; `InputError` names the field that does not fit."""
    try:
        # Not strict: tables and some exporters write numbers as text.
        return msgspec.convert(value, struct_type, strict=False)
    except (ValueError, RecursionError) as error:
        # A null counts as a missing field.
        if (without_null_fields := without_nulls(value)) is not None:
            with suppress(ValueError, RecursionError):
                return msgspec.convert(without_null_fields, struct_type, strict=False)
        problem, _, path = str(error).partition(" - at `$")
        inside = f" in {path.rstrip('`').lstrip('.')}" if path.rstrip("`") else ""
        raise InputError(
            f"{visible(problem)[:200]}{inside}",
            at=where,
            remedy="if the tool changed its format, set the paths: --tool records --map question=…,answer=…",
        ) from None


SPENT = ("cost", "input_tokens", "output_tokens", "seconds")  # what an answer cost, by the tool's own count


def spent_as(**values: Any) -> dict[str, float]:
    """Return what an answer cost, as far as it is a number from 0; a frame has fractions of tokens, too.

    >>> spent_as(cost="0.002", input_tokens=27.0, seconds=None)
    {'cost': 0.002, 'input_tokens': 27}
    """
    numbers = ((name, number_of(value)) for name, value in values.items() if value is not None)
    return {
        name: int(number) if name.endswith("tokens") else number
        for name, number in numbers
        if number is not None and number >= 0
    }


def number_of(value: Any) -> float | None:
    """Return a number, or one that a text spells; None where there is none, or it is no finite one."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    # To Python, True is a whole number.
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:  # JSON's whole numbers have no end
        return None
    return number if math.isfinite(number) else None


def graded(aspect: str, value: Any, judge: str, reason: str = "", label: str | None = None) -> Grade:
    """Return what a metric gave: a number, yes or no, or a label; neither where it gave nothing."""
    if isinstance(value, bool):
        return Grade(aspect, float(value), label or ("pass" if value else "fail"), judge, reason)
    number = number_of(value)
    # "nan" is how a table writes that a metric failed, and no label.
    if number is None and isinstance(value, str) and value.strip() and value.strip().lower() != "nan":
        return Grade(aspect, None, label or value.strip()[:200], judge, reason)
    return Grade(aspect, number, label if number is not None else None, judge, reason)


def is_mostly(numbers: int, total: int) -> bool:
    """Return whether a metric is one of numbers, so that anything else that it said is a failure."""
    return 2 * numbers > total


def grade_of_cell(aspect: str, value: Any, reason: str = "") -> Grade:
    """Return what the cell of a metric of numbers holds; what is no number is why it failed."""
    grade = graded(aspect, _yes_or_no(value), "", reason)
    return grade if grade.grade is not None else Grade(aspect, reason=grade.label or "")


def _is_number_or_nan(value: Any) -> bool:
    cell = _yes_or_no(value)
    return isinstance(cell, bool) or number_of(cell) is not None or str(cell).strip().lower() == "nan"


def _yes_or_no(value: Any) -> Any:
    """Return a cell; a text that spells a verdict, as all cells of a CSV are texts, as true or false."""
    if not isinstance(value, str):
        return value
    return {"true": True, "false": False, "pass": True, "fail": False}.get(value.strip().lower(), value)


_TEXTS = ("text", "content", "page_content", "passage", "document", "chunk")


def passages_of(documents: Any, where: Place) -> list[Passage]:
    """Return documents as tools hold them: texts, or objects with a text, an id and a score."""
    if documents is None:
        return []
    if not isinstance(documents, list):
        raise InputError(at=where, expected="a list of documents", found=type(documents).__name__)
    passages = []
    for number, document in enumerate(documents):
        if isinstance(document, str):
            passages.append(Passage(document))
            continue
        if not isinstance(document, dict):
            kind = type(document).__name__
            raise InputError(
                at=replace(where, inside=f"{where.inside}[{number}]"),
                expected="a text or a document",
                found=kind,
            )
        about = document.get("metadata")
        about = about if isinstance(about, dict) else {}
        text = next((document[name] for name in _TEXTS if isinstance(document.get(name), str)), "")
        score = next(
            (value for value in (document.get("score"), about.get("score")) if value is not None), None
        )
        doc = text_of(document.get("id", about.get("doc_uri", "")))
        passages.append(Passage(text, doc, number_of(score)))
    return passages


def text_of(value: Any) -> str:
    """Return an id as text; nothing for what is none."""
    is_id = isinstance(value, str | int) and not isinstance(value, bool)
    return str(value).strip() if is_id else ""


QUESTIONS = ("question", "query", "user_input", "input", "prompt")  # what the field of one is called


def question_in(value: Any) -> str:
    """Return the question of an input: the text, a field that is called so, or the only text there is."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return last_text_of(value, "user") or ""
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("messages"), list):
        return last_text_of(value["messages"], "user") or ""
    # Of several texts, which is the question would be a guess.
    named = [value[name] for name in QUESTIONS if isinstance(value.get(name), str)]
    texts = named or [text for text in value.values() if isinstance(text, str)]
    return texts[0] if len(texts) == 1 else ""


def parse_json_text(value: Any) -> Any:
    """Return the object, or the objects, that a text holds as JSON; the text itself, where it holds none.

    >>> parse_json_text('{"question": "Who?"}'), parse_json_text("[1] says so.")
    ({'question': 'Who?'}, '[1] says so.')
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        decoded = msgspec.json.decode(value)
    except (ValueError, RecursionError):
        return value
    items = decoded if isinstance(decoded, list) and decoded else [decoded]
    return decoded if all(isinstance(item, dict) for item in items) else value


_ANSWERED = ("answer", "response", "output", "completion", "text", "content", "result")


def answer_in(value: Any) -> str | None:
    """Return the answer of an output: the text, a field that is called so, or the only text there is."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return last_text_of(value, "assistant")
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("messages"), list):
        return last_text_of(value["messages"], "assistant")
    if isinstance(value.get("choices"), list) and value["choices"]:  # as OpenAI's clients return it
        return answer_in(value["choices"][0])
    if isinstance(value.get("message"), dict):
        return answer_in(value["message"])
    named = next((value[name] for name in _ANSWERED if isinstance(value.get(name), str)), None)
    if named is None and any(name in value and value[name] is None for name in _ANSWERED):
        return None  # a field of an answer that is null: no other text is meant
    texts = [text for text in value.values() if isinstance(text, str)]
    return named if named is not None else texts[0] if len(texts) == 1 else None


def last_text_of(messages: Iterable[Any], role: str) -> str | None:
    """Return the last text of a role in a conversation, be it one of no characters; None if there is none.

    >>> messages = [{"role": "assistant", "content": "Hm."}, {"role": "assistant", "content": ""}]
    >>> last_text_of(messages, "assistant"), last_text_of(messages, "user")
    ('', None)
    >>> last_text_of([{"role": "assistant", "content": None}], "assistant")
    """
    last_text: str | None = None
    for message in messages:
        if isinstance(message, dict) and message.get("role") == role:
            parts = message.get("content", message.get("parts"))
            parts = parts if isinstance(parts, list) else [parts]
            texts = [
                part.get("text", part.get("content")) if isinstance(part, dict) else part for part in parts
            ]
            # Parts may be images or calls of tools, which have no text.
            text_parts = [text for text in texts if isinstance(text, str)]
            last_text = "\n".join(text_parts) if text_parts or not parts else None
    return last_text


class LoggedTurn(NamedTuple):
    """What a user asked, what was answered, and all messages from the question to the next one."""

    question: str
    answer: str | None
    messages: Sequence[dict[str, Any]]


def turns_in(messages: Iterable[Any]) -> list[LoggedTurn]:
    """Return the turns of a conversation; what stands before the first question is of none.

    >>> said = [("assistant", "Hi!"), ("user", "Who?"), ("assistant", "Ada."), ("user", "When?")]
    >>> [turn[:2] for turn in turns_in({"role": role, "content": text} for role, text in said)]
    [('Who?', 'Ada.'), ('When?', None)]
    """
    groups: list[list[dict[str, Any]]] = []
    is_asking = False
    for message in messages:
        if not isinstance(message, dict):
            continue
        was_asking, is_asking = is_asking, message.get("role") == "user"
        if is_asking and not was_asking:
            groups.append([])
        if groups:
            groups[-1].append(message)
    turns = []
    for group in groups:
        asked = [last_text_of([message], "user") for message in group]
        question = "\n".join(text for text in asked if text)
        replies = [message for message in group if message.get("role") == "assistant"]
        # One that ends with a call of a tool gives no answer.
        is_open = bool(replies) and bool(replies[-1].get("tool_calls"))
        turns.append(LoggedTurn(question, None if is_open else last_text_of(group, "assistant"), group))
    return turns


def conversation_of(questions: Iterable[str]) -> str:
    """Return what a conversation is called that has no id: a digest of its questions."""
    texts = "\0".join(map(folded, questions)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(texts).hexdigest()[:_CONVERSATION]


def rows_of_turns(
    row: Row, turns: Sequence[LoggedTurn], reading: LogReading
) -> Iterator[tuple[Row, LoggedTurn | None]]:
    """Yield a row for each turn of a conversation, of which this row knows all else; without turns itself.

    Scores of a whole conversation, and right answers to it, are of none of its turns.
    """
    if not turns:
        yield row, None
        return
    if len(turns) == 1:
        yield msgspec.structs.replace(row, question=turns[0].question, answer=turns[0].answer), turns[0]
        return
    conversation = row.conversation or conversation_of([turn.question for turn in turns])
    reading.left_out["conversation scores"] += len(row.grades)
    reading.left_out["conversation references"] += len(row.gold)
    for number, turn in enumerate(turns, 1):
        of_turn = Row(row.where, turn.question, turn.answer, run=row.run, facts=row.facts, record=row.record)
        of_turn.conversation, of_turn.turn = conversation, str(number)
        of_turn.variant, of_turn.repeat, of_turn.failed = row.variant, row.repeat, row.failed
        yield of_turn, turn


def ids_in(metadata: Any) -> dict[str, str]:
    """Return the fields of metadata that may be a question's id, those first whose names say so."""
    if not isinstance(metadata, dict):
        return {}
    ids = {name: text_of(metadata[name]) for name in _names_of_ids(tuple(metadata))}
    return {name: value for name, value in ids.items() if value}


@lru_cache(256)  # of columns, in each row
def _names_of_ids(names: tuple[str, ...]) -> list[str]:
    # Sorting is stable: among names that say as much, the log's order decides.
    first = sorted(
        filter(is_id, names), key=lambda name: not any(word in name.lower() for word in _OF_QUESTIONS)
    )
    return [name for name in first if not any(word in name.lower() for word in _OF_OTHERS)]


_ID = re.compile(r"(?:.*[_.\- ])?q?id|.*[a-z]I[dD]|.*_ID|ID", re.DOTALL)
_OF_QUESTIONS = ("query", "question", "qid")
# What such an id tells apart is another one in every run.
_OF_OTHERS = ("trace", "span", "session", "request", "run", "user", "message", "thread", "conversation")


def is_id(name: str) -> bool:
    """Return whether a field is an id, by its name.

    >>> [name for name in ("id", "qid", "question_id", "queryId", "app.id", "paid", "Grid") if is_id(name)]
    ['id', 'qid', 'question_id', 'queryId', 'app.id']
    """
    return _ID.fullmatch(name) is not None


def facts_in(metadata: Any) -> dict[str, Any]:
    """Return the fields of metadata that are one word or number, by which scores may be sliced."""
    if not isinstance(metadata, dict):
        return {}
    return {
        name: value
        for name, value in metadata.items()
        if isinstance(value, str | int | float)
        and not name.startswith("_")
        and not is_id(name)
        and len(str(value)) <= _LONGEST_FACT
    }


def folded(text: str) -> str:
    """Return a question as questions are compared: in Unicode's form NFC, runs of white space one blank."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def list_of(value: Any) -> list[str]:
    """Return a text, or texts, as a list without empty ones."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str) and item.strip()]


def each_of(content: Content, *names: str) -> Iterator[Record]:
    """Yield the records that stand in a list under these names, of each record of the content."""
    for record in content.records():
        field = record.at(*names)
        if field is not None:
            yield from field.each()
