"""Read what the words of a command line name: files of a kind of subject, and measures."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from rageval import hooks
from rageval.core.remark import Remark
from rageval.errors import InputError, MeasureError, Place, UsageError
from rageval.files.columnar import unlike_ours
from rageval.files.kinds import (
    LINE_TABLES,
    is_answer_table,
    is_log,
    kind_of,
    start_of_file,
    unlike,
    wrong_kind,
)
from rageval.files.opening import (
    STDIN,
    File,
    is_columnar,
    is_ended,
    is_remote,
    limits_of,
    long_line,
    name_of,
    quoted,
    with_limits,
)
from rageval.files.start import EITHER, QUESTIONS
from rageval.files.trec import Reading, kind_of_line
from rageval.measures.parsing import parse_measures, spelled
from rageval.names import looks_like_id
from rageval.scoring.runs_from_files import QrelsOfDataset
from rageval.subjects import KINDS, SubjectKind, kind_of_files
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.cli._options import Measuring, Scoring


class Inputs:
    """The files and measures that the words of a command line name."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.files: dict[str, list[Any]] = {role: [] for kind in KINDS for role in kind.roles}
        self.measures: list[str] = []
        self.unjudged: list[Any] = []  # tables of answers that nobody judged yet
        self.systems: list[Sequence[str]] = []  # those of each table
        self.remarks: list[Remark] = []  # how these were read and judged
        self.usual_measures = ""  # of tables that were judged
        self.is_judge_asked = False  # about tables, and not only their logs

    @property
    def kind(self) -> SubjectKind:
        """The kind of subject that the files are."""
        return kind_of_files(role for role, files in self.files.items() if files)

    @property
    def question_sources(self) -> list[Any]:
        """What may have the fields of questions, where no file of questions is given."""
        datasets = [getattr(file, "dataset", None) for files in self.files.values() for file in files]
        steps = [file for file in self.files["steps"] if not is_log(file, self.reading)]
        return [*self.files["judgements"], *steps, *(dataset for dataset in datasets if dataset is not None)]


def ids_of_datasets(inputs: Inputs, options: Scoring) -> list[str]:
    """Return the ids of all datasets that were named, as judgements or for an option."""
    named = [
        source
        for value in vars(options).values()
        for source in (value if isinstance(value, tuple) else [value])
    ]
    return [source.id for source in [*inputs.question_sources, *named] if hasattr(source, "holds")]


def sort_words(words: tuple[str, ...], reading: Reading, tables: bool = False) -> Inputs:
    """Sort words into files by role, and measures; raise an error for a word that is neither.

    A stream whose format cannot be detected takes the role that is missing. `tables` of answers are accepted
    where a command judges them.
    """
    inputs = Inputs(reading)
    unknown: list[Any] = []
    for word in words:
        source = source_named(word)
        if source is None:
            _add_measure_or_dataset(word, inputs)
            continue
        if tables and is_answer_table(source, reading, _PLACES):
            inputs.unjudged.append(source)
            continue
        kind = kind_of(source, reading) if is_columnar(source) else None
        if kind is not None and kind.name in LINE_TABLES:
            source = hooks.lines_of_table(source)
        roles = _roles_of(source, reading)
        if len(roles) > 1:
            unknown.append(source)
        else:
            inputs.files[roles[0]].append(source)
    present = [role for role, files in inputs.files.items() if files]
    if present == ["qrels"] and all(is_log(source, reading) for source in inputs.unjudged):
        # Beside judgements of documents, a log is what agents did.
        inputs.files["steps"], inputs.unjudged = inputs.unjudged, []
    if inputs.unjudged and present:
        kind = kind_of(inputs.unjudged[0], reading)
        if kind is not None and kind.holds == QUESTIONS:
            raise wrong_kind(inputs.unjudged[0], kind, _RUNS_OR_QRELS)
        noun = "a table of answers" if kind is None else kind.noun
        raise UsageError(
            f"{visible(name_of(inputs.unjudged[0]))}: {noun}, which must be judged first; pass"
            " tables alone, or judge it with rageval judge and pass the judged answers"
        )
    if not {*present} <= {*inputs.kind.roles}:
        _refuse_two_kinds(inputs)
    # One file of an unknown format takes the role that is missing. Of two, nobody knows which is which.
    runs, qrels = inputs.files["run"], inputs.files["qrels"]
    if len(unknown) > 1 and not qrels:
        raise UsageError(
            f"{' and '.join(map(name_of, unknown))}: cannot tell which of them holds the judgements (a"
            " stream, or JSON with whole numbers, which may be scores or grades); unpack streams first"
            " (zcat), pass files, write scores with a decimal point (2.0), or use lines"
        )
    for source in unknown:
        # There may be several runs, but only one file of judgements.
        (runs if qrels else qrels).append(source)
    return inputs


def _refuse_two_kinds(inputs: Inputs) -> NoReturn:
    """Raise an error for files of two kinds of subjects."""
    from rageval.files.jsonl import read_records

    for source in inputs.files["judgements"]:
        # Of a record that is broken, or cut off, nobody can tell the kind: reading it says where.
        if kind_of(source, inputs.reading) is None and start_of_file(source, inputs.reading).piece:
            next(read_records(source, dict[str, Any], "one JSON object a line"), None)
    present = {role for role, files in inputs.files.items() if files}
    nouns = ", and ".join(kind.gives for kind in KINDS if present & {*kind.roles})
    raise InputError(
        problem=f"found both {nouns}",
        remedy="score them in two commands (to pass answers with judged answers, use --answers FILE)",
    )


def source_named(word: str) -> Any:
    """Return what can be read under this word: a path, or an open stream; None if nothing can."""
    if word == STDIN:
        return with_limits(sys.stdin.buffer, limits_of(word)) if sys.stdin is not None else None
    if is_remote(word):
        return word
    if not os.path.exists(word):  # also what is too long for a name, as a list of measures may be
        return None
    mode = os.stat(word).st_mode
    # A pipe such as <(zcat run.gz) can be opened once only: it is looked into as a stream.
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        return with_limits(open(word, "rb"), limits_of(word))
    return File(word, limits_of(word))


def _add_measure_or_dataset(word: str, inputs: Inputs) -> None:
    """Add a word that is no file as a measure, or as the judgements of the dataset with this id."""
    try:
        # Parsed without importing ir_measures: a mistyped name of a file should be told at once.
        spelled(word)
    except MeasureError as error:
        if not looks_like_id(word):
            raise InputError(
                f"no such file or measure ({error})", at=Place(word), expected="a file, a measure or an id"
            ) from None
        labels = hooks.labels_of_dataset(word)
        if hasattr(labels, "qrels"):
            inputs.files["qrels"].append(QrelsOfDataset(labels))
        else:
            inputs.files["judgements"].append(labels)
    else:
        inputs.measures.append(word)


def _roles_of(source: Any, reading: Reading) -> list[str]:
    """Return the lists of inputs in which a file may stand; `InputError` if it holds something else."""
    kind = kind_of(source, reading, _PLACES)
    if kind is not None and kind.holds in _PLACES:
        return _PLACES[kind.holds]
    if is_columnar(source) and (kind is None or not kind.remedy):
        raise unlike_ours(source)
    start = start_of_file(source, reading)
    if kind is None and not start.line:
        if isinstance(source, File):
            raise InputError(
                at=Place(start.name),
                problem="is empty",
                expected=_EITHER,
            )
        if is_ended(source):
            raise InputError("is empty", at=Place(start.name), expected=_EITHER)
        return ["run", "qrels"]  # a stream that cannot be looked into
    if kind is not None and not kind.is_json and kind.name != "table":
        raise wrong_kind(source, kind, _RUNS_OR_QRELS)
    limits = limits_of(source)
    if len(start.line) > limits.line and not start.text.lstrip().startswith(b"{"):
        raise long_line(limits).located(Place(start.name, 1))
    if not start.text.lstrip().startswith(b"{"):
        raise _unknown_format(start.line, start.name, start.text)
    if kind is not None and kind.name == "rows":
        raise InputError(
            at=Place(start.name, 1),
            problem=f"looks like a run with a record a document: {quoted(start.line)}",
            expected="lines of 6 columns (qid Q0 docid rank score tag), or one object {query: {docid:"
            " score}}",
        )
    if kind is None and start.piece:
        return ["judgements"]  # broken, or cut off: the reader says where
    raise unlike(start, kind)


_EITHER = "a run (lines of 6 columns) or judgements (4 columns)"
_RUNS_OR_QRELS = "a run (qid Q0 docid rank score tag) or judgements (qid nugget docid grade)"
# The roles that a file may have, by what it holds.
_PLACES = {holds: [role] for kind in KINDS for holds, role in kind.takes.items()} | {EITHER: ["run", "qrels"]}


def _unknown_format(line: bytes, name: str, start: bytes) -> InputError:
    # What PowerShell's > writes.
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return InputError(
            at=Place(name, 1),
            problem="the file is UTF-16",
            expected="UTF-8",
            remedy="convert it: iconv -f UTF-16 -t UTF-8",
        )
    if b"\x00" in line:
        return InputError(
            at=Place(name, 1), problem="the file holds NUL bytes", expected="text (is it UTF-16?)"
        )
    if line.lstrip().startswith(b"["):
        return InputError(
            at=Place(name, 1), problem="looks like a JSON array", expected="JSON lines, one object a line"
        )
    if line.startswith(b"#"):
        return InputError(
            at=Place(name, 1),
            problem="begins with '#'",
            expected=_RUNS_OR_QRELS,
            remedy="use --comments skip if this is a comment",
        )
    noun = "column" if len(line.split()) == 1 else "columns"
    return InputError(
        f"found {len(line.split())} {noun}: {quoted(line)}",
        at=Place(name, 1),
        expected=_RUNS_OR_QRELS,
        remedy=_conversion_hint(line, name),
    )


_OF_RUNS = re.compile("q(uery)?_?id|q0|doc(_?id|no)", re.IGNORECASE)  # as columns of runs and judgements


def _conversion_hint(line: bytes, name: str) -> str:
    """Return how a table becomes a file that is read, by its first line; nothing of anything else."""
    columns = hooks.table_columns(line)
    if columns and not any(map(_OF_RUNS.fullmatch, columns)):
        return f"if it is a table of questions and answers: rageval import {name} -o DIR"
    for mark in (b",", b";"):
        # The header shows the columns as well as a row does.
        row = line.strip().replace(mark, b" ")
        if mark in line and (kind_of_line(row) or columns):
            first = "sed 1d" if columns else "cat"
            return (
                f"to read it, replace the separators with blanks: {first} {name} | tr '{mark.decode()}' ' '"
            )
    return ""


def typed_names(options: Measuring, inputs: Inputs) -> dict[str, str]:
    """Return what measures were called when they were typed, by their names: `accuracy` is `crag_share`."""
    typed = [pair for text in (*options.measures, *inputs.measures) for pair in spelled(text)]
    return {str(measure): spelling for spelling, measure in reversed(typed) if str(measure) != spelling}


def named_measures(options: Measuring, inputs: Inputs, also: Sequence[Any] = ()) -> list[Any]:
    """Return the measures of -m and among the words, and `also` these, each once; refuse to do with none."""
    measures = dict.fromkeys([*parse_measures([*options.measures, *inputs.measures]), *also])
    if measures:
        return list(measures)
    kind = inputs.kind
    files = inputs.files[kind.roles[0]]
    usual, example = inputs.usual_measures, kind.example
    if not usual and kind.suggestion and files:
        usual, example = kind.suggestion(files)
    if not usual:
        raise UsageError(f"no measure named; use {example} (see: rageval measures)")
    inputs.remarks.append(Remark("usual_measure", facts={"measures": usual}))
    return parse_measures(usual)
