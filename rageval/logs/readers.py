"""Read a log: tell its tool, let that tool's reader yield rows, and part them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib import import_module
from itertools import islice, takewhile
from typing import Any

from rageval.errors import InputError, Place, RagevalError, UsageError
from rageval.files.kinds import kind_of
from rageval.files.opening import STDIN, Limits, Source, can_read_again, limits_of, with_limits
from rageval.logs._content import Content, Record, opened
from rageval.logs.log import Log
from rageval.logs.parting import LogOutput, part
from rageval.logs.paths import LIKELY, Path, fields_of, mapping_of, path_of, suggested
from rageval.logs.rows import LogReader, LogReading, Row
from rageval.names import suggestion
from rageval.plugins import plugin, plugin_names
from rageval.text import replace_surrogates, visible

# Each tool's module and its reader there, in the order in which errors list them.
_READERS = {
    "promptfoo": "_evaluation_tools:promptfoo",
    "inspect": "_evaluation_tools:inspect",
    "ragas": "_evaluation_tools:ragas",
    "deepeval": "_evaluation_tools:deepeval",
    "lm-eval": "_evaluation_tools:lm_eval",
    "otel": "_tracing_tools:otel",
    "mlflow": "_tracing_tools:mlflow",
    "langfuse": "_tracing_tools:langfuse",
    "langsmith": "_tracing_tools:langsmith",
    "autorag": "_evaluation_tools:autorag",
    "open-rag-eval": "_evaluation_tools:open_rag_eval",
    "messages": "_agent_tools:messages",
    "tau-bench": "_agent_tools:tau_bench",
    "browsecomp-plus": "_agent_tools:browsecomp_plus",
    "every-eval-ever": "_agent_tools:every_eval_ever",
    "mt-rag": "_conversation_tools:mt_rag",
    "ikat": "_conversation_tools:ikat",
    "crag-mm": "_conversation_tools:crag_mm",
}
TOOLS = tuple(_READERS)
GENERIC = "records"  # a log that no reader knows, of which `--map` says where everything stands
_NAMELESS = (GENERIC, "mt-rag", "crag-mm")  # logs that do not say which system it is
_ENDING = re.compile(r"(?<=.)(\.(csv|tsv|txt|json|jsonl|ndjson|parquet|eval))?(\.(gz|bz2|xz|zst))?$", re.I)
_LISTED = 24  # fields in an error
_DEEP = 4  # levels in which a list of records is looked for
_ASKED = {"question", "query_id", "answer"}


def read(
    path: Source,
    map: str | Mapping[str, str] | None = None,
    *,
    tool: str | None = None,
    records: str | None = None,
    run: str = "",
    hop: str = "",
    split: Mapping[str, str] | None = None,
    search_tools: Sequence[str] = (),
    limits: Limits | None = None,
) -> Log:
    """Read a log of promptfoo, inspect_ai, ragas, deepeval, lm-eval, MLflow, … or, with `map`, any other.

    Parameters
    ----------
    path
        The log: a path, or a file open in binary mode.
    map
        The paths of fields that the tool has no place for, as {field: path} or `"field=path,…"`; fields are
        query_id, question, answer, gold, contexts, context_ids, context_scores, run_id, repeat, trace_id,
        conversation_id, turn, cost, fact:NAME and grade:NAME.
    tool
        The tool of the log, in place of detecting it.
    records
        The path of the list of records in one that no reader knows.
    run
        The name of the run, in place of the log's own. For an unknown log the default is the file name
        without its suffix.
    hop
        Of several retrievals in a trace: `first`, `last` or `union`; `none` for no ranking, only steps.
    split
        The separator of passages that are joined in one text: `{"contexts": "|"}`.
    search_tools
        Names of an agent's tools that search, such as `("search_*",)`; their calls are searches, with the
        documents of their results.
    limits
        How large a record may be.

    Returns
    -------
    Log
        Answers, questions, rankings, passages, judgements, steps of agents, and remarks.

    Raises
    ------
    InputError
        No reader knows the log, or two do; the log is broken; a path fits no record.

    Examples
    --------
    >>> import io
    >>> line = b'{"user_input": "Where?", "response": "In Oslo.", "faithfulness": 0.5}'
    >>> log = read(io.BytesIO(line))
    >>> log.tool, log.answers[0].text, log.judgements[0]["grade"]
    ('ragas', 'In Oslo.', 0.5)
    """
    log = Log("")
    read_into(
        log,
        path,
        map,
        tool=tool,
        records=records,
        run=run,
        hop=hop,
        split=split,
        search_tools=search_tools,
        limits=limits,
    )
    return log


def read_into(
    output: LogOutput,
    path: Source,
    map: str | Mapping[str, str] | None = None,
    *,
    tool: str | None = None,
    records: str | None = None,
    run: str = "",
    hop: str = "",
    split: Mapping[str, str] | None = None,
    search_tools: Sequence[str] = (),
    limits: Limits | None = None,
) -> None:
    """Read a log as `read` does, to wherever its content shall go."""
    if hop not in ("", "first", "last", "union", "none"):
        raise UsageError(f"hop={hop!r:.80}: expected first, last, union or none")
    mapping = mapping_of(map)
    path = with_limits(path, limits)
    reading = LogReading(limits_of(path), hop, split or {}, search_tools=search_tools)
    content = opened(path)
    reader = _reader(content, mapping, tool, records, path)
    reading.form = content.form
    # Only lines can be of several tools; what is generic is whatever `map` says it is.
    if content.form == "lines" and reader.tool != GENERIC:
        content = replace(content, records=lambda of=content: _of_one_tool(of, reader))  # type: ignore[misc]
    # Two tables of two systems have nothing else by which they are told apart.
    otherwise = stem_of(path) if reader.tool in _NAMELESS else ""
    own = part(reader.tool, lambda own: reader.rows(content, own), mapping, reading, output, run, otherwise)
    # An agent may answer without any tool.
    for pattern in search_tools if own.tools or not output.has_steps else ():
        if not any(fnmatchcase(name, pattern) for name in own.tools):
            there = ", ".join(visible(name) for name in sorted(own.tools)[:_LISTED]) or "none"
            raise UsageError(f"--search-tool {visible(pattern)}: no tool has this name; tools are: {there}")


def stem_of(path: Source) -> str:
    """Return the name of a file without what is said of its form; nothing for a stream."""
    if not isinstance(path, str | os.PathLike) or path == STDIN:
        return ""
    return replace_surrogates(_ENDING.sub("", re.split(r"[/\\]", os.fspath(path))[-1]))


def tool_of(path: Source) -> str | None:
    """Return whose log a file is; None if no reader knows it, or several do."""
    try:
        content = opened(path)
        fitting = [reader.tool for reader in _all() if reader.fits(content)]
    except RagevalError:
        return None
    return fitting[0] if len(fitting) == 1 else None


def _of_one_tool(content: Content, reader: LogReader) -> Iterator[Record]:
    """Yield the records; one that another tool's reader knows, and this one does not, is out of place."""
    alone = replace(content)
    for record in content.records():
        # Readers look at the first record alone, so each record is shown as if it were the first.
        alone.first = record
        if not reader.fits(alone):
            other = next((other_reader.tool for other_reader in _all() if other_reader.fits(alone)), None)
            if other is not None:
                raise InputError(
                    at=record.where,
                    expected=f"records of one tool, {reader.tool} as in line 1",
                    found=f"one of {other}",
                    remedy="split them into two files",
                )
        yield record


def _reader(
    content: Content,
    mapping: Mapping[str, Path],
    tool: str | None,
    records: str | None,
    path: Source,
) -> LogReader:
    """Return the one reader that knows the content."""
    if tool is not None and tool != GENERIC:
        reader = _reader_named(tool)
        if not reader.fits(content):
            fields, way = _describe_fields(content, records)
            raise InputError(
                at=Place(content.name),
                problem=f"is not a log of {tool}; {fields}",
                remedy=way,
            )
        return reader
    if tool is None and records is None:
        fitting = [reader for reader in _all() if reader.fits(content)]
        # Two readers that know it: whichever we took would be a guess.
        if len(fitting) > 1:
            names = ", ".join(reader.tool for reader in fitting)
            raise InputError(
                at=Place(content.name),
                problem=f"may be a log of {names}",
                remedy=f"choose with: --tool {fitting[0].tool}",
            )
        if fitting:
            return fitting[0]
    if not mapping.keys() & _ASKED:
        kind = kind_of(path) if can_read_again(path) else None
        ours = (
            f"holds {kind.noun}, and as a log "
            if kind is not None and kind.name not in ("table", "answer rows")
            else ""
        )
        fields, way = _describe_fields(content, records)
        raise InputError(
            at=Place(content.name),
            problem=f"{ours}no reader knows this. {fields}",
            remedy=way,
        )

    # Without a question, id or answer named there is nothing to import, so a map of other fields does not
    # suffice.
    def rows(content: Content, _: LogReading) -> Iterator[Row]:
        for where, value in _record_values(content, _path_to_records(content, mapping, records)):
            yield Row(where, record=value)

    return LogReader(GENERIC, lambda _: True, rows)


def _all() -> Iterator[LogReader]:
    # Ours first; a plug-in that knows the same logs makes them ambiguous, not its own.
    for name in (*_READERS, *plugin_names("logs")):
        yield _reader_named(name)


def _reader_named(name: str) -> LogReader:
    if name in _READERS:
        module, _, attribute = _READERS[name].partition(":")
        return getattr(import_module(f"rageval.logs.{module}"), attribute)  # type: ignore[no-any-return]
    reader = plugin("logs", name.lower().replace("-", "_"))
    if reader is None:
        names = [*_READERS, *plugin_names("logs"), GENERIC]
        raise UsageError(
            f"tool {visible(name)!r:.80}: expected one of {', '.join(names)}" + suggestion(name, names)
        )
    if not isinstance(reader, LogReader):
        raise UsageError(
            f"the plug-in {visible(name)!r} is a {type(reader).__name__}, expected a rageval.logs.LogReader"
        )
    return reader


def _path_to_records(content: Content, mapping: Mapping[str, Path], records: str | None) -> tuple[str, ...]:
    """Return the names on the way to the records: they are said, or the longest list of a lone value."""
    if records is not None:
        steps = path_of(records.removesuffix("[]")).steps if records not in ("", "[]") else ()
        return tuple(map(str, steps))
    if content.is_table or len(list(islice(content.records(), 2))) != 1:
        return ()
    asked = [path.steps for name, path in mapping.items() if name in _ASKED]
    plain = [list(takewhile(lambda step: isinstance(step, str), steps)) for steps in asked]
    # What is mapped stands in the lone object itself, so that is the record.
    if any(content.first.at(*map(str, names)) is not None for names in plain):
        return ()
    # One object may be the one record, or the envelope of many: of the longest list of objects in it.
    if not mapping and _is_asked(content.first):
        return ()
    best: tuple[int, tuple[str, ...]] = (0, ())
    waiting: list[tuple[Record, tuple[str, ...]]] = [(content.first, ())]
    # A stack of its own, as logs are nested as deep as somebody's agent went.
    while waiting:
        value, way = waiting.pop()
        items = sum(bool(item.keys()) for item in value.each())
        if items > best[0]:
            best = items, way
        if len(way) < _DEEP:
            inner = [(value.get(name), (*way, name)) for name in value.keys()]  # noqa: SIM118
            waiting += [(record, names) for record, names in inner if record is not None]
    return best[1]


def _is_asked(record: Record, depth: int = 0) -> bool:
    """Return whether a field of an object, or of one within it, is called as questions or answers are."""
    inner = [(name, record.get(name)) for name in record.keys()]  # noqa: SIM118
    names = {*LIKELY["question"], *LIKELY["answer"]}
    hits = (name.lower() in names and not field.keys() for name, field in inner if field is not None)
    return any(hits) or (
        depth < _DEEP and any(_is_asked(field, depth + 1) for _, field in inner if field is not None)
    )


def _record_values(content: Content, names: tuple[str, ...]) -> Iterator[tuple[Place, Any]]:
    """Yield the records of a log that no reader knows, decoded."""
    number = 0
    for whole in content.records():
        inner = whole.at(*names)
        for record in [whole] if not names else inner.each() if inner else ():
            number += 1
            yield record.where, record.object()
    if not number and names:
        raise UsageError(f"--records {visible('.'.join(names))}: there is no list of records")


def _describe_fields(content: Content, records: str | None) -> tuple[str, str]:
    """Say which fields the records have, and what might be told of them."""
    names = _path_to_records(content, {}, records)
    fields, number = fields_of(value for _, value in _record_values(content, names))
    place = f" at {'.'.join(names)}[]" if names else ""
    lines = []
    for path, seen in fields.items():
        text = visible(seen.example) if "text" in seen.kinds else ""
        example = f' "{text[:24]}{"…" if len(text) > 24 else ""}"' if text else ""
        lines.append(f"{path} {' or '.join(seen.kinds)} {len(seen.records)}/{number}{example}")
    more = [f"… and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    noun = "record" if number == 1 else "records"
    say = suggested(fields)
    return (
        f"{number:,} {noun}{place}: {', '.join(lines[:_LISTED] + more) or 'no fields'}.",
        f"Say for instance {say}" if say else "Set their paths: --map question=…,answer=…",
    )
