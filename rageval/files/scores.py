"""Files of scores: leaderboards, and baselines, which a gate compares with.

Leaderboards hold values of runs by measure and topic, in three forms:

tot           run measure topic value     the default of TREC's Auto-Judge kit
ir_measures   run topic measure value
jsonl         {"run_id": …, "topic_id": …, "measure": …, "value": …}

Columns are parted by tabs or blanks. A header is known by its names, and says which form it is. Without one,
that column holds the topics in which `all` stands, or a topic that is known otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from rageval.errors import InputError, Place, UsageError
from rageval.files.jsonl import (
    Id,
    Unfit,
    as_line,
    explained,
    identifier,
    input_error_of,
    plain_json,
    read_records,
    stretches,
)
from rageval.files.opening import Complaints, Limits, Source, _bad_bytes, limits_of, name_of, quoted
from rageval.text import problem_of_id, visible

Form = Literal["tot", "ir_measures", "jsonl"]
FORMS: tuple[Form, ...] = ("tot", "ir_measures", "jsonl")
ALL = "all"  # what a mean has in place of a topic
_WIDTH = 4
_COLUMNS: dict[Form, tuple[str, ...]] = {
    "tot": ("run", "measure", "topic", "value"),
    "ir_measures": ("run", "topic", "measure", "value"),
}
_NAMES = {
    "run": {"run", "run_id", "runid", "run_tag", "system"},
    "topic": {"topic", "topic_id", "query_id", "qid", "query", "request_id", "narrative_id"},
    "measure": {"measure", "metric"},
    "value": {"value", "score"},
}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_TRUTH = {"true": 1.0, "false": 0.0, "nan": math.nan}


class UntoldForm(InputError):
    """Nothing says which column holds the topics."""


class LeaderboardRow(NamedTuple):
    """The value of a run by a measure, on a topic or (`all`) on all of them; NaN where it is undefined."""

    run_id: str
    query_id: str
    measure: str
    value: float


class _Line(msgspec.Struct):
    run_id: Id
    measure: str
    value: float | bool | None
    topic_id: Id | None = None
    query_id: Id | None = None


def read_leaderboard(
    source: Source, form: Form | None = None, topics: Collection[str] = ()
) -> list[LeaderboardRow]:
    """Read a leaderboard in any of the three forms.

    Parameters
    ----------
    source
        A path or a file open in binary mode.
    form
        Which form it is, where nothing in it says so. `InputError` if what is there is another one.
    topics
        Topics that are known otherwise, which tell the column of topics from that of measures.

    Returns
    -------
    list of LeaderboardRow
        In the order of the file. A second value for the same run, topic and measure is an `InputError`.
    """
    if form is not None and form not in FORMS:
        raise UsageError(f"form {form!r}: expected one of {', '.join(FORMS)}")
    lines = [
        (first + index, line.strip(b" \t\r"))
        for first, text in stretches(source, "a leaderboard")
        for index, line in enumerate(text.split(b"\n"))
    ]
    lines = [(number, line) for number, line in lines if line and not line.startswith(b"#")]
    name = name_of(source)
    if not lines:
        raise InputError(at=Place(name), problem="holds comments only", expected="a leaderboard")
    if lines[0][1].startswith(b"{"):
        if form not in (None, "jsonl"):
            raise InputError(at=Place(name, lines[0][0]), expected=f"lines of the form {form}", found="JSON")
        rows = _from_json(name, lines, limits_of(source))
    else:
        rows = _from_columns(name, lines, form, topics, limits_of(source))
    first: dict[tuple[str, str, str], int] = {}
    distinct = []
    for number, row in rows:
        before = first.setdefault(row[:3], number)
        if before != number:
            what = ", ".join(map(visible, row[:3]))
            raise InputError(
                at=Place(name, number),
                problem=f"a second value for {what}, the first is in line {before}",
                expected="one",
            )
        distinct.append(row)
    if not distinct:
        raise InputError(at=Place(name), problem="holds no value", expected="a leaderboard")
    return distinct


def _from_json(
    name: str, lines: Sequence[tuple[int, bytes]], limits: Limits
) -> Iterator[tuple[int, LeaderboardRow]]:
    decode = msgspec.json.Decoder(_Line).decode
    complaints = Complaints()
    for number, text in lines:
        try:
            line = decode(plain_json(text))
            # Either name will do, or both where they agree.
            given = [topic for topic in (line.topic_id, line.query_id) if topic is not None]
            if len(set(map(str, given))) != 1:
                problem = "neither" if not given else "two that differ"
                raise Unfit(expected="a topic_id (or query_id)", found=problem)
            value = math.nan if line.value is None else float(line.value)
            if math.isinf(value):
                raise Unfit(expected="a finite value", found="one that is too large")
            yield (
                number,
                LeaderboardRow(
                    identifier(line.run_id, "run_id", limits),
                    identifier(given[0], "topic_id", limits),
                    identifier(line.measure, "measure", limits),
                    value,
                ),
            )
        except (ValueError, RecursionError) as error:
            expected = "{run_id, topic_id, measure, value}"
            complaints.add(explained(error, text, expected).located(Place(name, number)))
    complaints.raise_if_any()


def _from_columns(
    name: str,
    lines: Sequence[tuple[int, bytes]],
    form: Form | None,
    topics: Collection[str],
    limits: Limits,
) -> Iterator[tuple[int, LeaderboardRow]]:
    rows, complaints = [], Complaints()
    for number, line in lines:
        problem = _bad_bytes(line.replace(b"\t", b" "), limits)
        fields = [] if problem else _fields(line)
        if not problem and len(fields) != _WIDTH:
            problem = InputError(
                expected=f"{_WIDTH} columns of a leaderboard", found=f"{len(fields)}: {quoted(line)}"
            )
        if problem:
            complaints.add(problem.located(Place(name, number)))
        else:
            rows.append((number, fields))
    complaints.raise_if_any()
    if form == "jsonl":
        raise InputError(at=Place(name, lines[0][0]), expected="JSON lines (--form jsonl)", found="columns")
    header = form_of_header(rows[0][1])
    if header is not None:
        if form not in (None, header):
            raise InputError(
                at=Place(name, rows[0][0]),
                problem=f"the header is {' '.join(_COLUMNS[header])}, which is not the form {form}",
                remedy="leave out --form",
            )
        rows = rows[1:]
    columns_form = header or form or form_of([fields for _, fields in rows], topics)
    if columns_form is None:
        raise UntoldForm(
            at=Place(name),
            problem=f"cannot tell which column holds the topics: {ALL!r} or a known topic is in neither"
            " or in both of columns 2 and 3",
            remedy="use --form tot (run measure topic value) or --form ir_measures (run topic measure value)",
        )
    columns = _COLUMNS[columns_form]
    complaints = Complaints()
    for number, fields in rows:
        cells = dict(zip(columns, fields, strict=True))
        text = cells["value"]
        value = number_in(text)
        too_long = next((field for field in fields if len(field.encode()) > limits.id), None)
        if value is None or math.isinf(value):
            problem = InputError(expected="a number, True or False", found=f"{visible(text[:80])!r}")
            complaints.add(problem.located(Place(name, number)))
        elif too_long is not None:
            complaints.add(InputError(at=Place(name, number), expected=f"an id of up to {limits.id:,} bytes"))
        else:
            yield number, LeaderboardRow(cells["run"], cells["topic"], cells["measure"], value)
    complaints.raise_if_any()


def _fields(line: bytes) -> list[str]:
    """Return the fields of a line: split at tabs where that makes enough of them, else at spaces."""
    text = line.decode("utf-8", "replace")
    parts = [part.strip(" ") for part in text.split("\t")]
    return parts if len(parts) == _WIDTH and all(parts) else re.findall(r"[^ \t]+", text)


def form_of_header(fields: Sequence[str]) -> Form | None:
    """Return the form whose columns are named so, or None.

    >>> form_of_header(["run_id", "request_id", "metric", "value"])
    'ir_measures'
    >>> form_of_header(["run1", "all", "ndcg", "0.5"])
    """
    words = [field.lower() for field in fields]
    columns = tuple(next((what for what, names in _NAMES.items() if word in names), "") for word in words)
    return next((form for form, named in _COLUMNS.items() if columns == named), None)


def form_of(rows: Iterable[Sequence[str]], topics: Collection[str] = ()) -> Form | None:
    """Return the form of lines of four columns: topics stand where `all` or a known topic does, or None.

    >>> form_of([["r", "q1", "ndcg", "1"], ["r", "all", "ndcg", "1"]]), form_of([["r", "ndcg", "q1", "1"]])
    ('ir_measures', None)
    """
    second, third = set(), set()
    for row in rows:
        second.add(row[1])
        third.add(row[2])
    for group in ({ALL}, set(topics)):
        if bool(second & group) != bool(third & group):
            return "ir_measures" if second & group else "tot"
    return None


def number_in(text: str) -> float | None:
    """Return a number, or a truth value as one; NaN for `nan`, None for anything else.

    >>> number_in("True"), number_in("1e-3"), number_in("1_000")
    (1.0, 0.001, None)
    """
    if _NUMBER.fullmatch(text):
        return float(text)
    return _TRUTH.get(text.lower())


def write_leaderboard(rows: Iterable[LeaderboardRow], form: Form = "tot") -> Iterator[str]:
    r"""Yield the lines of a leaderboard; what `read_leaderboard` reads of them is the same, bit for bit.

    Tabs separate columns; an id with a tab is rejected, and so is one with a space, because other tools split
    columns there; use `jsonl` for these.

    >>> list(write_leaderboard([LeaderboardRow("r", "all", "ndcg", 0.1)]))
    ['r\tndcg\tall\t0.1']
    """
    if form not in FORMS:
        raise UsageError(f"form {form!r}: expected one of {', '.join(FORMS)}")
    columns = _COLUMNS.get(form, ())
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        if row[:3] in seen:
            hint = f"; a topic cannot be called {ALL!r} there" if row.query_id == ALL else ""
            raise InputError(
                problem=f"a leaderboard has one value for {', '.join(map(visible, row[:3]))}{hint}"
            )
        seen.add(row[:3])
        place = Place(f"a leaderboard cannot hold {', '.join(map(visible, row[:3]))}")
        if math.isinf(row.value):
            raise InputError(at=place, problem=f"{row.value}")
        try:
            for field, name in zip(("run_id", "topic_id", "measure"), row[:3], strict=True):
                identifier(name, field)
                name.encode()
        except (Unfit, UnicodeEncodeError) as error:
            raise input_error_of(error).located(place) from None
        if form == "jsonl":
            value = None if math.isnan(row.value) else float(row.value)
            record = {"run_id": row.run_id, "topic_id": row.query_id, "measure": row.measure, "value": value}
            yield msgspec.json.encode(record).decode()
            continue
        cells = {
            "run": row.run_id,
            "topic": row.query_id,
            "measure": row.measure,
            "value": repr(float(row.value)),
        }
        yield "\t".join(_unbroken(cells[what]) for what in columns)


def _unbroken(text: str) -> str:
    """Return a cell that no tool takes for two, nor for a remark or something else than a cell."""
    if not text or re.search(r"[\s\x00-\x1f\x7f\ud800-\udfff]", text) or text[0] in "#{\ufeff":
        raise InputError(
            at=Place(f"{visible(text)!r}"),
            problem="a leaderboard in columns cannot hold an id with a space, or one that begins with"
            " '#' or '{'",
            remedy="use the form jsonl",
        )
    return text


# Baselines: what a system scored when somebody was content with it, a line a question.
#
# A header says what the values were made with, and how many lines follow. Lines are sorted by question, and
# keys by name, so that a diff shows which questions changed; there are ids, and no texts.

_FORM = 1
_EXPECTED = "a baseline: a header {baseline, measures, questions, …}, then lines {query_id, values}"
_Ends = tuple[float, float]


class BaselineDraw(msgspec.Struct, omit_defaults=True, kw_only=True):
    """How a baseline's labels were drawn: `how` is a kind of draw, `sha` the digest of the plan or chances.

    Of a plan, `extends` is the digest of the one that it extends, and `labeled` how many of its queries were
    labeled whole.
    """

    how: str
    sha: str = ""
    extends: str = ""
    labeled: int = 0


class BaselineHeader(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What the values of a baseline were made with.

    `measures` are signatures by name, `judgements` is the SHA-256 of the judgements of documents, `gold` says
    which labels of people stand beside the judge's, and `draw` how these were drawn, if it was saved. `known`
    is the SHA-256 of the questions. `unjudged` is the share of the top documents that nobody judged, `bounds`
    between what the means lie whatever these are.
    """

    baseline: int = _FORM
    measures: dict[str, str]
    questions: int
    run: str = ""
    version: str = ""
    date: str = ""
    judges: list[str] = []
    rubrics: list[str] = []
    judgements: str = ""
    gold: str = ""
    draw: BaselineDraw | None = None
    labelled_by: list[str] = []
    known: str = ""
    unjudged: float | None = None
    bounds: dict[str, _Ends] = {}


class BaselineLine(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What one question scored: a value a measure, None where it is not defined.

    `between` is where judgements are missing, `people` the values from human labels. `same` tells rankings,
    or judged answers, that are the same from others, `nuggets` lists of nuggets. An `absent` question is one
    of which the run said nothing.
    """

    query_id: str
    values: dict[str, float | None]
    between: dict[str, _Ends] = {}
    people: dict[str, float] = {}
    facts: dict[str, str] = {}
    repeats: int = 1
    absent: bool = False
    same: str = ""
    nuggets: str = ""


class Baseline(NamedTuple):
    """A baseline as its file has it."""

    header: BaselineHeader
    lines: Sequence[BaselineLine]


def baseline_lines(baseline: Baseline) -> Iterator[str]:
    """Yield the lines of the file."""
    yield _line(baseline.header)
    for line in sorted(baseline.lines, key=lambda line: line.query_id):
        yield _line(line)


def _line(record: Any) -> str:
    fields = msgspec.to_builtins(record)
    return as_line({"baseline": _FORM, **fields} if "measures" in fields else fields)


def read_baseline(source: Source) -> Baseline:
    """Read a baseline; InputError where it is none, is cut off, or contradicts itself."""
    name = name_of(source)
    records = read_records(source, dict[str, msgspec.Raw], _EXPECTED)
    first = next(records, None)
    if first is None or "baseline" not in first[1]:
        raise InputError(
            at=Place(name, 1), expected=_EXPECTED, remedy="write one with rageval gate … --save-baseline"
        )
    header = _converted(first, BaselineHeader, name)
    if header.baseline != _FORM:
        raise InputError(
            at=Place(name, 1),
            problem=f"is a baseline of form {header.baseline}",
            expected=f"{_FORM}",
            remedy="save it again",
        )
    lines = []
    seen: dict[str, int] = {}
    for number, record in records:
        line = _converted((number, record), BaselineLine, name)
        if (problem := problem_of_id(line.query_id)) is not None:
            raise InputError(
                at=Place(name, number), expected=f"as query_id {problem.expected}", found=problem.found
            )
        before = seen.setdefault(line.query_id, number)
        if before != number:
            raise InputError(
                at=Place(name, number),
                problem=f"question {visible(line.query_id)} is in line {before}, too",
                expected="it once",
            )
        if line.values.keys() != header.measures.keys():
            raise InputError(
                at=Place(name, number),
                expected=f"values of {', '.join(map(visible, header.measures))}",
                found=", ".join(map(visible, line.values)) or "none",
            )
        numbers = [*line.values.values(), *line.people.values(), *sum(line.between.values(), ())]
        if any(value is not None and not math.isfinite(value) for value in numbers):
            raise InputError(at=Place(name, number), expected="finite numbers, or null")
        lines.append(line)
    # A gate would pass on what is left of a file that was cut off.
    if len(lines) != header.questions:
        raise InputError(
            at=Place(name),
            problem=f"holds {len(lines):,} questions",
            expected=f"{header.questions:,}, as line 1 says",
        )
    return Baseline(header, lines)


def _converted(record: tuple[int, dict[str, msgspec.Raw]], form: Any, name: str) -> Any:
    number, fields = record
    try:
        return msgspec.convert({key: msgspec.json.decode(raw) for key, raw in fields.items()}, form)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise InputError(
            at=Place(name, number), expected=_EXPECTED, cause=visible(str(error))[:200]
        ) from None
