"""`rageval import`: another tool's log, parted into rageval's own files."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import click

from rageval import options as opt
from rageval.cli._options import Command, takes_options
from rageval.cli._output import print_lines, say
from rageval.errors import InputError, UsageError
from rageval.files.folders import filled_folder, refuse_others, remove, require_folder, unchanged
from rageval.files.line_tables import PARQUET, STEP_COLUMNS, write_line_table
from rageval.files.whole import read_whole
from rageval.files.writing import refuse_place, write_lines
from rageval.logs import read
from rageval.logs.log import together
from rageval.logs.outputs import USUAL_FILES, LogFiles, manifest
from rageval.logs.paths import FIELDS, mapping_of
from rageval.logs.readers import read_into
from rageval.policy import find_policy
from rageval.text import visible

_STDOUT = "-"
_MANIFEST = "manifest.json"
_TO_JUDGE = ("answers.jsonl", "questions.jsonl")
_SEPARATOR = "contexts=TEXT or context_ids=TEXT"
_SETTINGS = ("tool", "records", "run", "hop", "split")  # of a policy's [logs.NAME], beside fields


class Options(opt.Options):
    """The options of `rageval import`."""

    output: Annotated[
        str | None,
        opt.printed(
            "Folder to write answers.jsonl, questions.jsonl, run.trec, passages.jsonl, judged.jsonl,"
            " steps.jsonl and manifest.json to. With --only: a file, or - for standard output.",
            ("-o", "--output"),
            metavar="DIR",
        ),
    ] = None
    maps: Annotated[
        tuple[str, ...],
        opt.Option(
            "Where fields are: question=vars.q,contexts=docs[].text; or NAME, for [logs.NAME] in the policy.",
            ("--map",),
            metavar="FIELD=PATH,...",
        ),
    ] = ()
    tool: Annotated[
        str | None, opt.Option("The tool that wrote the log (default: detected).", metavar="TOOL")
    ] = None
    records: Annotated[
        str | None, opt.Option("Path to the list of records, for logs in an unknown format.", metavar="PATH")
    ] = None
    runs: Annotated[
        tuple[str, ...],
        opt.read("Name of the run; for several logs, one name each.", ("--run",), metavar="NAME"),
    ] = ()
    only: Annotated[
        Literal["answers", "questions", "run", "judged", "steps"] | None,
        opt.Option("Write only this, as one file (default: to standard output)."),
    ] = None
    hop: Annotated[
        Literal["first", "last", "union", "none"] | None,
        opt.Option(
            "Which retrieval gives the ranking, if a trace has several; none writes only steps of it."
        ),
    ] = None
    split: Annotated[
        tuple[str, ...],
        opt.Option("Separator of passages joined in one text: 'contexts=|'.", metavar="FIELD=TEXT"),
    ] = ()
    search_tools: Annotated[
        tuple[str, ...],
        opt.Option("Tool of an agent that searches, such as 'search_*'.", ("--search-tool",), metavar="NAME"),
    ] = ()
    overwrite: Annotated[
        opt.Overwrite, "Write to a folder that holds other files, replacing those with the same names."
    ] = False
    dry_run: Annotated[opt.DryRun, "Print what the log contains, and write nothing."] = False
    limits: opt.Limits = ()


@click.command(
    "import",
    cls=Command,
    first=("output", "maps", "only", "runs", "tool", "records", "hop", "split", "search_tools", "dry_run"),
)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@takes_options
def import_(logs: tuple[str, ...], options: Options) -> None:
    """Split another tool's log into answers, questions, run, judgements and steps of agents.

    Detects logs of promptfoo, inspect_ai, ragas, deepeval, lm-eval, OpenTelemetry (GenAI), Phoenix, MLflow,
    langfuse, LangSmith, AutoRAG, open-rag-eval, τ-bench, BrowseComp-Plus, Every Eval Ever, MT-RAG, iKAT,
    CRAG-MM, and messages with calls of tools. Other JSON and CSV need --map. What failed in the log is
    missing here, never 0. Runs nothing from the log, and uses no network.

    \b
    rageval import results.json -o prod
    rageval import log.jsonl --map question=input,answer=output,contexts=docs[].text -o prod
    rageval import old.csv new.csv --map 'question=question,answer=our_answer,gold=expected' -o both
    rageval import traces.jsonl --only run -o - | rageval - qrels -m recall@10
    rageval import traces.jsonl --only steps -o steps.jsonl
    """
    settings = _mapping_and_settings(options)
    run = settings.get("run", ())
    names = [run] if isinstance(run, str) else list(run)
    if len(names) > 1 and len(names) != len(logs):
        raise UsageError(f"--run: expected a name for each of {len(logs)} logs, found {len(names)}")
    if len(names) != len(logs):  # one name, or none, for all of them
        names = (names or [""]) * len(logs)
    how: dict[str, Any] = {
        "tool": settings.get("tool"),
        "records": settings.get("records"),
        # Steps keep each retrieval, so that nobody has to choose one.
        "hop": settings.get("hop") or ("none" if options.only == "steps" else ""),
        "split": settings["split"],
        "search_tools": settings.get("search_tools", ()),
    }

    def fill(output: LogFiles) -> None:
        if len(logs) == 1:
            read_into(output, logs[0], settings["map"], run=names[0], **how)
            return
        read_logs = [
            (path, read(path, settings["map"], run=name, **how))
            for path, name in zip(logs, names, strict=True)
        ]
        together(read_logs).pour(output)

    if options.dry_run:
        log = LogFiles(None)
        fill(log)
        print_lines(_summary(log))
    elif options.only:
        log = _write_one(fill, options.only, options.output or _STDOUT, logs)
        if options.only == "steps":
            click.echo("".join(f"{line}\n" for line in _left_out(log)), err=True, nl=False)
    else:
        log = _write_all(fill, logs, settings, options)
        click.echo("\n".join(_summary(log)), err=True)
    say(*log.remarks)
    # How answers that nobody judged become a number, where there are right answers for it.
    is_written = options.output and not options.only and not options.dry_run
    if is_written and log.has_answers and not log.has_judgements and log.has_gold:
        paths = (os.path.join(options.output or "", name) for name in _TO_JUDGE)
        answers, questions = (shlex.quote(visible(path)) for path in paths)
        click.echo(
            f"next, for example: rageval judge crag {answers} --questions {questions} --judge contains -o"
            " judged.jsonl -m crag_score",
            err=True,
        )


def _mapping_and_settings(options: Options) -> dict[str, Any]:
    """Return mapping and settings: those of the named sections of the policy, overridden by the options."""
    assignments = [word for word in options.maps if "=" in word]
    section: dict[str, Any] = {}
    for name in options.maps:
        if "=" not in name:
            section |= _policy_section(name)
    mapping = {key: path for key, path in section.items() if key not in _SETTINGS}
    mapping |= {field: path.text for field, path in mapping_of(assignments).items()}
    from_policy = {key: section[key] for key in _SETTINGS if key in section}
    from_options = {
        "tool": options.tool,
        "records": options.records,
        "run": options.runs,
        "hop": options.hop,
        "split": _separators(options.split),
        "search_tools": options.search_tools,
    }
    settings = from_policy | {name: value for name, value in from_options.items() if value}
    return {"split": {}} | settings | {"map": mapping}


def _separators(words: Iterable[str]) -> dict[str, str]:
    """Return the separator of each field; raise `UsageError` for a word that is not FIELD=TEXT."""
    separators: dict[str, str] = {}
    for word in words:
        field, equals, separator = word.partition("=")
        if field not in ("contexts", "context_ids") or not equals or not separator:
            raise UsageError(f"--split {visible(word)!r:.80}: expected {_SEPARATOR}")
        if field in separators:
            raise UsageError(f"--split {field}: is given twice; expected one separator")
        separators[field] = separator
    return separators


def _policy_section(name: str) -> dict[str, Any]:
    """Return the section [logs.NAME] of the policy, with `split` as separators by field."""
    policy = find_policy()
    if name not in policy.section("logs"):
        where = (
            f"{visible(policy.path)} has no {policy.title('logs', name)}"
            if policy.path
            else "there is no policy"
        )
        raise UsageError(f"--map {visible(name)}: {where}; expected FIELD=PATH, or the name of a [logs.NAME]")
    settings = policy.section("logs", name)
    keys = {*FIELDS, *_SETTINGS, *(key for key in settings if key.startswith(("fact:", "grade:")))}
    settings = policy.section("logs", name, allowed=keys)
    for key, value in settings.items():
        if not isinstance(value, str):
            raise InputError(
                at=policy.place("logs", name), expected=f"a text for {key}", found=f"{value!r:.80}"
            )
    if "split" in settings:
        try:
            settings["split"] = _separators([settings["split"]])
        except UsageError:
            raise InputError(
                at=policy.place("logs", name).below("split"),
                expected=_SEPARATOR,
                found=f"{visible(settings['split'])!r:.80}",
            ) from None
    return settings


def _summary(log: LogFiles) -> Iterator[str]:
    version = f" {visible(log.version)}" if log.version else ""
    counted = ", ".join(
        f"{number:,} {what.removesuffix('s') if number == 1 else what}" for what, number in log.counts.items()
    )
    yield f"{log.tool}{version}: {counted}"
    yield from _left_out(log)


def _left_out(log: LogFiles) -> Iterator[str]:
    for why, number in log.left_out.items():
        yield f"left out: {number:,} {why}"


def _write_one(fill: Callable[[LogFiles], None], kind: str, output: str, logs: tuple[str, ...]) -> LogFiles:
    # Nothing is printed before the whole log was read, as an error may come late.
    with TemporaryDirectory() as folder:
        log = LogFiles(Path(folder), kind)
        fill(log)
        files = log.files
        if len(files) > 1:
            names = ", ".join(map(visible, log.runs))
            raise UsageError(
                f"--only {kind}: the log has several runs ({names}); write them to a folder: -o DIR"
            )
        if not files:
            raise UsageError(f"--only {kind}: not in this log")
        (file,) = files.values()
        if output == _STDOUT:
            print_lines(file.lines())
            return log
        refuse_place(Path(output), *logs)
        if kind == "steps" and output.endswith(PARQUET):
            write_line_table(Path(output), STEP_COLUMNS, file.lines())
        else:
            write_lines(Path(output), file.lines(), makes_folder=False)
    return log


def _write_all(
    fill: Callable[[LogFiles], None], logs: tuple[str, ...], settings: Mapping[str, Any], options: Options
) -> LogFiles:
    """Write every file of a log, the manifest last; first remove what only an earlier import wrote.

    What is left of an earlier import would be taken for a part of this one: a run beside answers that were
    made from other passages.
    """
    if not options.output or options.output == _STDOUT:
        raise UsageError("expected -o DIR, a folder for the files; or --only KIND, or --dry-run")
    folder: Path = Path(options.output)
    require_folder(folder)
    earlier = None
    with suppress(InputError, ValueError, RecursionError):
        earlier = json.loads(read_whole(folder / _MANIFEST, "a manifest"))
    # What an earlier import wrote and nobody changed may be removed.
    own: list[str] = []
    if isinstance(earlier, dict) and "imported_by" in earlier:
        own = [*unchanged(folder, earlier.get("files")), _MANIFEST]
    for name in (*USUAL_FILES, _MANIFEST, *own):
        refuse_place(folder / name, *logs)
    if not options.overwrite:
        refuse_others(folder, own, "a new folder, or that of an earlier import, or --overwrite")
    with filled_folder(folder), LogFiles(folder) as log:
        fill(log)
        files = log.files
        for name in files:
            refuse_place(folder / name, *logs)
        remove(folder, set(own) - {*files, _MANIFEST})
        sha256 = {name: file.digest for name, file in files.items()}
        for name, file in files.items():
            file.name_as(folder / name)
        write_lines(folder / _MANIFEST, manifest(log, logs, settings, sha256))
    return log
