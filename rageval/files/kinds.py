"""What a file is, by what it begins with: the one place that every command and Python ask.

Lines of columns are here. Records of JSON are in `_records`, by the forms that their readers declare, and are
imported only where a file begins as JSON does. A kind `holds` what it can be used as: judgements of documents
come as lines, as a table of BEIR's, as UMBRELA's records, or as spans.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from rageval import hooks
from rageval.errors import InputError, Place
from rageval.files.columnar import kind_of_columns
from rageval.files.opening import (
    BOM,
    File,
    Source,
    as_local_file,
    first_bytes,
    is_columnar,
    is_local_file,
    limits_of,
    name_of,
    start_of,
)
from rageval.files.start import JUDGED_ANSWERS, JUDGED_DOCUMENTS, OTHER, QUESTIONS, ROWS, RUNS, Kind, Start
from rageval.files.synonyms import columns_of, is_answered
from rageval.files.trec import (
    PLAIN,
    QRELS,
    RUN,
    LineForm,
    Reading,
    grade_of,
    is_number,
    kind_of_line,
    read_columns,
)
from rageval.records import Qrel
from rageval.text import visible

# Judgements as BEIR's datasets have them are a table with this header.
_BEIR_HEADER = ["query-id", "corpus-id", "score"]


def is_beir(start: bytes) -> bool:
    r"""Return whether a file begins with that header.

    >>> is_beir(b"query-id\tcorpus-id\tscore\n1\td\t1\n"), is_beir(b"1\t0\td\t1\n")
    (True, False)
    """
    line = start.removeprefix(BOM).lstrip().partition(b"\n")[0]
    return line.decode("ascii", "replace").split() == _BEIR_HEADER


def read_beir(source: Source) -> Iterator[Qrel]:
    """Read the judgements; `InputError` names the line that holds none."""
    name = name_of(source)
    limits = limits_of(source)
    for line, words in read_columns(source, " ".join(_BEIR_HEADER)):
        # It stands in the middle, too, where the files of several splits were joined.
        if words == _BEIR_HEADER:
            continue
        query, doc, grade = words
        number = grade_of(grade.encode(), limits.grade)
        if number is None:
            raise InputError(
                at=Place(name, line),
                expected=f"a number from -{limits.grade:,} to {limits.grade:,} as score",
                found=f"{visible(grade)[:80]!r}",
            )
        yield Qrel(query, doc, number)


def _has_rows(form: LineForm) -> Callable[[Start], bool]:
    """Return what tells whether the first line is a row of this form: its columns, a number among them."""

    def fits(start: Start) -> bool:
        return _is_row(start.line, form)

    return fits


def _is_row(line: bytes, form: LineForm) -> bool:
    words = line.split(b"\t") if form.is_tabbed(line) else line.split()
    return len(words) == form.width and is_number(words[form.number].strip())


def _is_topic(start: Start) -> bool:
    # Two columns with a tab: an id, and a text that may hold anything but tabs.
    line = start.line
    if line.count(b"\t") != 1:
        return False
    # Columns may have a tab among blanks, too: then an iteration stands second, or all lines are rows.
    words = line.split()
    is_iteration = words[1:2] in ([b"0"], [b"Q0"], [b"q0"])
    lines = start.lines[:_ROWS] if len(start.lines) > 1 else []
    return not any(
        (_is_row(line, form) and is_iteration) or (lines and all(_is_row(other, form) for other in lines))
        for form in (RUN, QRELS)
    )


def _has_width(width: int) -> Callable[[Start], bool]:
    def fits(start: Start) -> bool:
        form = kind_of_line(start.line)
        # A line of runs and judgements has a number; what has tabs and none is the header of some table.
        is_header = b"\t" in start.line and not _DIGIT.search(start.line)
        return form is not None and form.width == width and not is_header

    return fits


_LIST = re.compile(rb"\s*\[\s*\{")  # a list of records


def _is_answer_table(start: Start) -> bool:
    line = start.line
    # Nothing is imported for runs and judgements: their columns have blanks or tabs between them, and digits.
    is_plain = kind_of_line(line) is not None and _DIGIT.search(line) is not None
    if is_plain or not any(mark in line for mark in (b",", b";", b"\t")):
        return False
    return is_answered(hooks.table_columns(start.line))


_DIGIT = re.compile(rb"\d")
_ROWS = 20  # that are looked at, where one does not tell
_ASKED_BY_RUN = re.compile(rb"[^\t]+\t[^\t]+\t[^\t]+\t\d+\t[^\t]+$")


def _begins_with(*signs: bytes) -> Callable[[Start], bool]:
    """Return what tells whether a file begins so."""

    def fits(start: Start) -> bool:
        return start.text.startswith(signs)

    return fits


# A section, or a key with a value, as in policies and rubrics; no list of JSON begins so.
_TOML = re.compile(
    rb"\[\[?(?!(?:true|false|null)\s*[\],])[A-Za-z_][\w.-]*\]\]?\s*(?:#.*)?$"
    rb"|[A-Za-z_][\w.-]*\s*=\s*(?:[\"'\[{\d+-]|true\b|false\b)"
)
_PAGE = re.compile(rb"\s*(?:<!doctype html|<html\b)", re.IGNORECASE)
_TAR_SIGN, _TAR_PLACE = b"ustar", 257
_UNPACK = "unpack it, and pass the files in it"

# What is no data, by its first bytes.
NO_DATA = (
    Kind(
        "tar",
        OTHER,
        "an archive (tar)",
        lambda start: start.text[_TAR_PLACE:].startswith(_TAR_SIGN),
        "rageval board verify",
        remedy=_UNPACK,
    ),
    Kind("zip", OTHER, "an archive (zip)", _begins_with(b"PK\x03\x04", b"PK\x05\x06"), remedy=_UNPACK),
    Kind(
        "picture",
        OTHER,
        "a picture",
        _begins_with(b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"),
    ),
    Kind("pdf", OTHER, "a PDF document", _begins_with(b"%PDF-")),
    Kind("database", OTHER, "a database (SQLite)", _begins_with(b"SQLite format 3\0"), "--store"),
    Kind(
        "page", OTHER, "a web page", lambda start: _PAGE.match(start.text) is not None, "rageval report show"
    ),
    Kind(
        "settings",
        OTHER,
        "settings (TOML)",
        lambda start: _TOML.match(start.line) is not None,
        "--policy or --rubric",
    ),
)

LINES = (
    Kind(
        "judged",
        JUDGED_ANSWERS,
        "judgements in another tool's form",
        lambda start: b"topic_id" in start.line and hooks.is_judged_table(start.line),
        "rageval score",
    ),
    Kind(
        "beir",
        JUDGED_DOCUMENTS,
        "judgements of documents",
        lambda start: is_beir(start.line),
        "rageval score",
        rows=read_beir,
    ),
    Kind(
        "asked",
        QUESTIONS,
        "questions that a run asks (DRAGUN)",
        lambda start: _ASKED_BY_RUN.match(start.line) is not None,
        "rageval validate --track dragun25-questions",
    ),
    Kind("answer rows", ROWS, "a table of answers", _is_answer_table, "rageval judge or compare"),
    Kind("topics", QUESTIONS, "topics", _is_topic, "--questions"),
    Kind("run", RUNS, "a run", _has_width(RUN.width), "rageval score", may_be=_has_rows(RUN)),
    Kind(
        "qrels",
        JUDGED_DOCUMENTS,
        "judgements of documents",
        _has_width(QRELS.width),
        "rageval score",
        may_be=_has_rows(QRELS),
    ),
    Kind("table", OTHER, "a table", lambda start: bool(hooks.table_columns(start.line)), "rageval import"),
)
_JUDGED_COLUMNS = Kind(
    "judged columns",
    OTHER,
    "judgements of answers in Parquet",
    lambda _: False,
    remedy="write them as JSON lines",
)
_STEP_COLUMNS = _JUDGED_COLUMNS._replace(name="step columns", noun="steps in Parquet")
_NAMED = {kind.name: kind for kind in (*LINES, _JUDGED_COLUMNS, _STEP_COLUMNS)}
LINE_TABLES = (_JUDGED_COLUMNS.name, _STEP_COLUMNS.name)  # which are read as the lines that they hold
# Files that a log of some tool may look like; its reader knows better.
_MAYBE_LOGS = ("table", "answer rows", "zip")


def kind_of(source: Source, reading: Reading = PLAIN, among: Collection[str] = ()) -> Kind | None:
    """Return of what kind a file is, without taking anything of it away; None if that cannot be told.

    `among` is what a file in its place may hold. Lines that can be read as one of these are, whatever else
    they look like; a file that holds none of these is of the kind that it would be anywhere.
    """
    source = as_local_file(source)
    if not isinstance(source, File):
        return _kind_of(source, reading, among)
    # Several ask what a file is, and each look goes through the whole table.
    asked = reading, frozenset(among)
    if asked not in source.kinds:
        source.kinds[asked] = _kind_of(source, reading, among)
    kind: Kind | None = source.kinds[asked]
    return kind


def _kind_of(source: Source, reading: Reading, among: Collection[str]) -> Kind | None:
    if is_columnar(source):
        kind: Kind | None = _NAMED[kind_of_columns(source)]
    else:
        kind = kind_of_start(start_of_file(source, reading), among)
    if (kind is None or kind.name in _MAYBE_LOGS) and is_local_file(source):
        tool = hooks.tool_of_log(source)
        if tool is not None:
            return Kind("log", ROWS, f"a log of {tool}", lambda _: False, "rageval import")
    if kind is None and not is_columnar(source):
        start = start_of_file(source, reading)
        if _LIST.match(start.text) is not None and is_answered(start.names):
            return _NAMED["answer rows"]
    return kind


def all_rows(start: Start, kind: Kind) -> bool:
    """Tell whether all lines that a file begins with are rows of this kind, a number among their columns."""
    form = {"run": RUN, "qrels": QRELS}.get(kind.name)
    lines = start.lines[:-1] or start.lines  # the last one may be cut off
    return form is not None and all(_is_row(line, form) for line in lines[:_ROWS])


def is_table(source: Source, reading: Reading = PLAIN) -> bool:
    """Tell whether a file is a table of answers, or a log, which is read as one."""
    kind = kind_of(source, reading)
    return kind is not None and kind.holds == ROWS


def is_log(source: Source, reading: Reading = PLAIN) -> bool:
    """Tell whether a file is what another tool wrote of its own work."""
    kind = kind_of(source, reading)
    return kind is not None and kind.name == "log"


def is_answer_table(source: Source, reading: Reading = PLAIN, among: Collection[str] = ()) -> bool:
    """Tell whether a file in the place of answers is a table of them: there no answer is a right one."""
    kind = kind_of(source, reading, among)
    if kind is not None and kind.holds == ROWS:
        return True
    if is_columnar(source) or (kind is not None and kind.holds != QUESTIONS):
        return False
    names = start_of_file(source, reading).names
    # CRAG's questions, whose answers are the right ones wherever they stand.
    return {"question", "answer"} <= columns_of(names).fields.keys() and "interaction_id" not in names


def is_gold_table(source: Source, reading: Reading = PLAIN) -> bool:
    """Tell whether a file in the place of questions is a table of them, with right answers."""
    if is_table(source, reading):
        return True
    if is_columnar(source) or kind_of(source, reading) is not None:
        return False
    return is_answered(start_of_file(source, reading).names)


def start_of_file(source: Source, reading: Reading = PLAIN) -> Start:
    """Return what a file begins with, as far as that is known without taking it away."""
    source = as_local_file(source)
    text = first_bytes(source)
    if text.lstrip()[:1] in (b"{", b"["):  # records are longer than lines
        text = start_of(source)
    return Start(text, name_of(source), reading.comments)


def kind_of_start(start: Start, among: Collection[str] = ()) -> Kind | None:
    """Return of what kind a file is that begins so, in a place that takes what `among` names."""
    no_data = next((kind for kind in NO_DATA if kind.fits(start)), None)
    if no_data is not None:
        return no_data
    if start.is_json:
        return next((kind for kind in hooks.kinds_of_records() if kind.fits(start)), None)
    if not start.line or b"\0" in start.line:
        return None
    in_place = (kind for kind in LINES if kind.may_be and kind.holds in among and kind.may_be(start))
    return next(in_place, None) or next((kind for kind in LINES if kind.fits(start)), None)


def kind_of_records(records: Sequence[Mapping[str, Any]]) -> Kind | None:
    """Return of what kind records in memory are, as a file of them would be; None if that cannot be told."""
    try:
        return kind_of_start(Start(hooks.record_line(dict(records[0])).encode())) if records else None
    except (TypeError, ValueError):  # what no file could hold, which the reader refuses
        return None


def tag_of(source: Source, reading: Reading = PLAIN) -> str:
    """Return what a run calls itself: the last column of its first line, if that has one."""
    line = b"" if is_columnar(source) else start_of_file(source, reading).line
    columns = line.split(b"\t") if RUN.is_tabbed(line) else line.split()
    return columns[-1].strip().decode("utf-8", "surrogateescape") if len(columns) == RUN.width else ""


# What scores tables of answers in Python, for messages.
JUDGED_FIRST = (
    "in Python: rageval.judge(rubric, tables, judges, measures).scores, which rageval.compare takes"
)


class WrongKind(InputError):
    """A file holds something else than what its place takes."""


_EXPECTED = (
    "judgements {query_id, run_id, aspect, label or grade}, nugget assignments"
    " {qid, run_id, nuggets: [{text, assignment}]} or answers"
)


def wrong_kind(source: Source, kind: Kind, expected: str) -> WrongKind:
    """Return the error for a file of a kind that its place does not take."""
    return WrongKind(
        at=Place(name_of(source), 1),
        problem=f"holds {kind.description}",
        expected=expected,
        remedy=kind.remedy,
    )


def _no_number(record: Mapping[str, Any]) -> InputError | None:
    """Return the error for the first value of {query: {document: number}} that is no number."""
    if not record or not all(isinstance(of_query, dict) for of_query in record.values()):
        return None
    values = [(query, doc, value) for query, docs in record.items() for doc, value in docs.items()]
    numbers = [value for *_, value in values if isinstance(value, int | float) and value is not True]
    for query, doc, value in values:
        if value is None or (isinstance(value, str | bool) and (numbers or len(values) == 1)):
            return InputError(
                f"document {visible(doc)[:80]!r} of query {visible(query)[:80]!r} has"
                f" {'null' if value is None else visible(hooks.record_line(value))[:80]}",
                expected="a number for each document (its score in a run, its grade in judgements)",
                remedy="give it one, or remove the document",
            )
    return None


def unlike(start: Start, kind: Kind | None) -> InputError:
    """Return the error for a file that is of another kind than judged answers."""
    keys = f" (keys {', '.join(map(str, start.record)):.200})" if start.record else ""
    if kind is None and (lacking := _no_number(start.record)) is not None:
        return lacking.located(Place(start.name, 1))
    if kind is None:
        return InputError(at=Place(start.name, 1), problem=f"holds something else{keys}", expected=_EXPECTED)
    way = f" ({JUDGED_FIRST})" if kind.holds == ROWS else ""
    return WrongKind(
        at=Place(start.name, 1),
        problem=f"holds {kind.description}{way}{keys}",
        expected=_EXPECTED,
        remedy=kind.remedy,
    )
