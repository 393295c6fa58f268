"""Read what the words of a command line name: runs, judgements, measures, and the groups of queries."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rageval.core.remark import Remark
from rageval.errors import InputError, Place, UsageError
from rageval.files.kinds import is_answer_table, kind_of, start_of_file, tag_of, unlike, wrong_kind
from rageval.files.opening import (
    STDIN,
    File,
    can_read_again,
    is_columnar,
    is_remote,
    limits_of,
    name_of,
    quoted,
    with_limits,
)
from rageval.files.start import ANSWERS, EITHER, JUDGED_ANSWERS, JUDGED_DOCUMENTS, OTHER, RUNS
from rageval.files.trec import Reading, kind_of_line
from rageval.scoring.sources import RunSource, read_qrels, run_name, source_of_run
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.cli._options import Measuring, OfSpans, Scoring


class Inputs:
    """What the positional words were found to be."""

    def __init__(self) -> None:
        self.runs: list[Any] = []
        self.qrels: list[Any] = []
        self.answers: list[Any] = []
        self.measures: list[str] = []
        self.tables: list[Any] = []  # of answers that nobody judged yet
        self.systems: list[Sequence[str]] = []  # those of each table
        self.remarks: list[Remark] = []  # how these were read and judged

    @property
    def datasets(self) -> list[Any]:
        """Return the datasets whose judgements these are."""
        return [found.dataset for found in self.qrels if isinstance(found, _QrelsOfDataset)]

    @property
    def telling(self) -> list[Any]:
        """Return what may tell the fields of questions, where no file of questions is given."""
        return [*self.answers, *self.datasets]


def ids_of_datasets(inputs: Inputs, options: Scoring) -> list[str]:
    """Return the ids of all datasets that were named, as judgements or for an option."""
    from rageval.datasets.dataset import Dataset

    named = [
        each for value in vars(options).values() for each in (value if isinstance(value, tuple) else [value])
    ]
    return [each.id for each in [*inputs.datasets, *named] if isinstance(each, Dataset)]


def sorted_out(words: tuple[str, ...], reading: Reading, tables: bool = False) -> Inputs:
    """Put every word in its place; a stream that cannot be looked into is what is still missing.

    Where a command judges `tables` of answers, they have a place, too.
    """
    inputs = Inputs()
    unknown: list[Any] = []
    for word in words:
        source = source_named(word)
        if source is None:
            _place_name(word, inputs)
            continue
        is_table = tables and is_answer_table(source, reading, _PLACES)
        places = ["tables"] if is_table else _placed(source, reading)
        if len(places) > 1:
            unknown.append(source)
        else:
            getattr(inputs, places[0]).append(source)
    if inputs.tables and (inputs.runs or inputs.qrels or inputs.answers):
        kind = kind_of(inputs.tables[0], reading)
        noun = "a table of answers" if kind is None else kind.noun
        raise UsageError(
            f"{visible(name_of(inputs.tables[0]))}: {noun}, which must be judged first; pass"
            " tables alone, or judge it with rageval judge and pass the judged answers"
        )
    if inputs.answers and (inputs.runs or inputs.qrels):
        from rageval.files.jsonl import read_records

        for source in inputs.answers:
            # Of a record that is broken, or cut off, nobody can tell the kind: reading it says where.
            if kind_of(source, reading) is None and start_of_file(source, reading).piece:
                next(read_records(source, dict[str, Any], "one JSON object a line"), None)
        raise InputError(
            problem="found both runs with judgements of documents and judged answers (JSON lines)",
            remedy="score them in two commands (to pass answers with judged answers, use --answers FILE)",
        )
    # One file that cannot be told is whatever is missing; of two nobody knows which.
    if len(unknown) > 1 and not inputs.qrels:
        raise UsageError(
            f"{' and '.join(map(name_of, unknown))}: cannot tell which of them holds the judgements (a"
            " stream, or JSON with whole numbers, which may be scores or grades); unpack streams first"
            " (zcat), pass files, write scores with a decimal point (2.0), or use lines"
        )
    for source in unknown:
        # Runs can be many, judgements are one file: what is not known yet fills the gap.
        (inputs.runs if inputs.qrels else inputs.qrels).append(source)
    return inputs


def _is_named(source: Any) -> bool:
    """Return whether this is a file with a name, and no stream."""
    return isinstance(source, str | os.PathLike)


_TAG = "tag"  # of --names: what runs call themselves


def run_sources(
    runs: list[Any], reading: Reading, dedup: str | None, said: Sequence[str] = ()
) -> list[RunSource]:
    """Return the runs, each with a name of its own: what --names says, else after its file."""
    names = [run_name(run) for run in runs]
    if len(set(names)) < len(names):
        # Two files of one name in two folders are told apart by their paths.
        names = [str(run) if _is_named(run) else name for run, name in zip(runs, names, strict=True)]
    if said:
        names = _named(runs, names, said, reading)
    return [source_of_run(name, run, reading, dedup) for name, run in zip(names, runs, strict=True)]


def _named(runs: list[Any], names: list[str], said: Sequence[str], reading: Reading) -> list[str]:
    """Return the names of runs as --names has them: names of single files, else the tags if asked for."""
    found = list(names)
    if _TAG in said:
        found = [tag_of(run, reading) or name for run, name in zip(runs, found, strict=True)]
    for text in said:
        name, _, file = text.partition("=")
        at = [at for at, run in enumerate(runs) if _is_named(run) and str(run) == file]
        if text != _TAG and (not name or not at):
            known = ", ".join(visible(str(run)) for run in runs if _is_named(run))
            raise UsageError(f"--names {visible(text)}: expected {_TAG}, or NAME=FILE, of the runs {known}")
        for place in at:
            found[place] = name
    twice = {name for name in found if found.count(name) > 1}
    if twice:
        raise UsageError(
            f"--names: two runs would be called {visible(min(twice))!r}; give each a name with NAME=FILE"
        )
    return found


_OF_SPANS = ("chunks", "sources", "overlap", "stale")


def judgements(inputs: Inputs, reading: Reading, floor: int, options: OfSpans) -> Any:
    """Read the one set of judgements; `options` are what is said of spans and chunks."""
    if len(inputs.qrels) != 1 or not inputs.runs:
        found_runs = ", ".join(visible(name_of(run)) for run in inputs.runs) or "none"
        found_qrels = ", ".join(visible(name_of(qrels)) for qrels in inputs.qrels) or "none"
        raise InputError(
            expected="one or more runs (lines of 6 columns) and one file of judgements (4 columns), or"
            " judged answers (JSON lines)",
            found=f"runs: {found_runs}; judgements: {found_qrels}",
        )
    (qrels,) = inputs.qrels
    if isinstance(qrels, _QrelsOfDataset):
        found = qrels.load()
    elif (kind := kind_of(qrels, reading)) is not None and kind.name == "spans":
        from rageval.spans import project

        if options.chunks is None or options.sources is None:
            raise UsageError(
                f"{visible(name_of(qrels))}: holds spans of sources; add --chunks FILE and --sources DIR to"
                " match chunks to them"
            )
        given: dict[str, Any] = {"overlap": options.overlap, "stale": options.stale}
        rules = {name: value for name, value in given.items() if value is not None}
        return project(qrels, options.chunks, options.sources, **rules)
    else:
        found = read_qrels(qrels, reading=reading, floor=floor)
    said = [name for name in _OF_SPANS[1:] if getattr(options, name) is not None]
    if said:
        raise UsageError(f"--{said[0]} applies to spans; leave it out for judgements of documents")
    if options.chunks is not None:
        from rageval.spans.projection import require_judged_chunks

        require_judged_chunks(options.chunks, found)
    return found


class _QrelsOfDataset:
    """Judgements of an ir_datasets id."""

    def __init__(self, dataset: Any) -> None:
        self.name, self.dataset = dataset.name, dataset

    def load(self) -> Any:
        from rageval.scoring.qrels import Qrels

        found = Qrels.from_records(self.dataset.qrels_iter(), self.name)
        found.judges = tuple(getattr(self.dataset, "judges", ()))
        return found


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


def _place_name(word: str, inputs: Inputs) -> None:
    """Take a word that is no file for a measure, or for the id of a data set."""
    from rageval.datasets.ids import labels_of, looks_like_id
    from rageval.errors import MeasureError
    from rageval.measures.parsing import spelled

    try:
        # Parsed without importing ir_measures: a mistyped name of a file should be told at once.
        spelled(word)
    except MeasureError as error:
        if not looks_like_id(word):
            raise InputError(at=Place(word), problem=f"no such file or measure ({error})") from None
        found = labels_of(word)
        if hasattr(found, "qrels"):
            inputs.qrels.append(_QrelsOfDataset(found))
        else:
            inputs.answers.append(found)
    else:
        inputs.measures.append(word)


def _placed(source: Any, reading: Reading) -> list[str]:
    """Return the lists of inputs in which a file may stand; `InputError` if it holds something else."""
    kind = kind_of(source, reading, _PLACES)
    if kind is not None and kind.holds in _PLACES:
        return _PLACES[kind.holds]
    if is_columnar(source):
        from rageval.files.columnar import unlike_ours

        raise unlike_ours(source)
    start = start_of_file(source, reading)
    if kind is None and not start.line:
        if isinstance(source, File):
            raise InputError(
                at=Place(start.name),
                problem="is empty",
                expected="a run (lines of 6 columns) or judgements (4 columns)",
            )
        return ["runs", "qrels"]  # a stream that cannot be looked into
    if kind is not None and not kind.is_json and kind.holds != OTHER:
        raise wrong_kind(source, kind, _RUNS_OR_QRELS)
    if not start.text.lstrip().startswith(b"{"):
        raise _odd(start.line, start.name, start.text)
    if kind is not None and kind.name == "rows":
        raise InputError(
            at=Place(start.name, 1),
            problem=f"looks like a run with a record a document: {quoted(start.line)}",
            expected="lines of 6 columns (qid Q0 docid rank score tag), or one object {query: {docid:"
            " score}}",
        )
    if kind is None and start.piece:
        return ["answers"]  # broken, or cut off: the reader says where
    raise unlike(start, kind)


_RUNS_OR_QRELS = "a run (qid Q0 docid rank score tag) or judgements (qid nugget docid grade)"
_PLACES = {
    RUNS: ["runs"],
    JUDGED_DOCUMENTS: ["qrels"],
    EITHER: ["runs", "qrels"],
    JUDGED_ANSWERS: ["answers"],
    ANSWERS: ["answers"],
}


def _odd(line: bytes, name: str, start: bytes) -> InputError:
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
        remedy=_way_out(line, name),
    )


_OF_RUNS = re.compile("q(uery)?_?id|q0|doc(_?id|no)", re.IGNORECASE)  # as columns of runs and judgements


def _way_out(line: bytes, name: str) -> str:
    """Return how a table becomes a file that is read, by its first line; nothing of anything else."""
    from rageval.files.jsonl import table_columns

    columns = table_columns(line)
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


def named_measures(options: Measuring, inputs: Inputs, also: Sequence[Any] = ()) -> list[Any]:
    """Return the measures of -m and among the words, and `also` these, each once; refuse to do with none."""
    from rageval.measures.parsing import parse_measures

    measures = dict.fromkeys([*parse_measures([*options.measures, *inputs.measures]), *also])
    if not measures and inputs.answers and (usual := _usual_measure(inputs.answers)):
        from rageval.cli._output import say

        say(f"no measure named, so {usual}, the rubric's own")
        measures = dict.fromkeys(parse_measures(usual))
    if not measures:
        raise UsageError(f"no measure named; use {_measures_to_say(inputs)} (see: rageval measures)")
    return list(measures)


def _usual_measure(answers: Sequence[Any]) -> str:
    """Return the measure of the one rubric by which answers were judged, nothing where there is none."""
    from rageval.measures.scales import usual_measure

    rubrics = set(map(_rubric_of, answers))
    return usual_measure(rubrics.pop()) if len(rubrics) == 1 else ""


def _rubric_of(source: Any) -> str:
    """Return the rubric by which answers were judged, as their first record says it, or what it is."""
    kind = kind_of(source)
    if kind is not None and kind.name == "assignments":
        return "nugget-assignment"
    return str(start_of_file(source).record.get("rubric", ""))


def _measures_to_say(inputs: Inputs) -> str:
    """Return what -m could say of these files; of judged answers, what their rubric is scored by."""
    if not inputs.answers:
        return "-m ndcg@10, with nuggets -m alpha_ndcg@10"
    from rageval.measures.scales import usual_measure

    record = start_of_file(inputs.answers[0]).record
    usual = usual_measure(str(record.get("rubric", "")))
    aspect = visible(str(record.get("aspect", "NAME")))[:80]
    return f"-m {usual}" if usual else f"-m 'grade(aspect={aspect})'"


def slices_of(
    by: str | None, queries: Sequence[str], questions: Any, sources: Sequence[Any]
) -> dict[str, dict[str, str]]:
    """Return the groups of queries by each of the fields, or files of groups, that --by names."""
    fields = [name.strip() for name in (by or "").split(",") if name.strip()]
    named = [with_limits(name, limits_of(by)) for name in fields]
    return {str(name): groups_of(name, queries, questions, sources) for name in named}


def groups_of(field: str, queries: Sequence[str], questions: Any, sources: Sequence[Any]) -> dict[str, str]:
    """Return the group of every query: from a file of lines `query_id group`, or a field of the questions.

    Without questions, the field is looked up in the judgements themselves, or in their dataset. The id of a
    dataset in place of the field means the one field that its questions have.
    """
    from rageval.files.questions import fields_of, read_facts, read_groups
    from rageval.scoring.scores import groups_by, require_groups

    if os.path.isfile(field):
        groups = read_groups(field)
        require_groups(groups, queries, field)
        return groups
    known = [questions]
    if not questions:
        # Files that can be read once more, and data sets with questions.
        known = [
            each for each in sources if can_read_again(each) or "questions" in getattr(each, "holds", ())
        ]
    from rageval.datasets.ids import dataset_of, looks_like_id

    # A field may hold a slash, too: only where no file has it is the word an id.
    if not questions and looks_like_id(field) and not any(field in fields_of(source) for source in known):
        known = [dataset_of(field, "questions")]
        fields = fields_of(known[0])
        if len(fields) != 1:
            raise UsageError(
                f"{field}: which field of its questions? Name one with --questions {field}; it has:"
                f" {', '.join(fields) or 'none'}"
            )
        (field,) = fields
    if not known:
        raise UsageError(
            f"the {field!r} of the queries is unknown; give --questions FILE (JSON lines with query_id and"
            f" {field}), or a file of lines 'query_id {field}' in place of the name"
        )
    facts: dict[str, dict[str, str]] = {}
    for source in known:
        for query, found in read_facts(source, (field,)).items():
            facts.setdefault(query, {}).update(found)
    fields = list(dict.fromkeys(name for source in known for name in fields_of(source)))
    return groups_by(facts, field, queries, ", ".join(map(name_of, known)), fields)
