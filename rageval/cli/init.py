"""`rageval init`: a policy for the files of a folder, which says what `rageval gate` need not be told."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import click

from rageval import options as opt
from rageval.cli._options import Command, takes_options
from rageval.cli._output import print_lines
from rageval.errors import RagevalError, UsageError
from rageval.files.jsonl import read_records
from rageval.files.kinds import kind_of, start_of_file
from rageval.files.opening import File
from rageval.files.scores import read_baseline
from rageval.files.start import ANSWERS, EITHER, JUDGED_ANSWERS, JUDGED_DOCUMENTS, QUESTIONS, ROWS, RUNS
from rageval.files.whole import NamedInFile, resolve_sibling_path
from rageval.files.writing import write_lines
from rageval.judges.offline import NAMES
from rageval.judges.rubric import rubric_names
from rageval.measures.scales import OF_RUNS, usual_measure
from rageval.policy import read_policy
from rageval.text import visible

if TYPE_CHECKING:
    from rageval.files.start import Start

_POLICY = "rageval.toml"
_NEW_BASELINES = ("baseline.jsonl", "gate-baseline.jsonl")  # the first one that is free
_MARGIN = 0.05
_OF_ANSWERS = "crag"  # the rubric of answers that nobody judged yet
_JUDGE = "short"
# What people call what there was before a change; else the order of names decides.
_BEFORE = re.compile(
    r"(?:^|[^a-z])(?:base(?:line)?|before|old|main|prod(?:uction)?|prev(?:ious)?|control)", re.I
)
_JUDGED = "judged.jsonl"  # where their judgements will be


class Options(opt.Options):
    """The options of `rageval init`."""

    overwrite: Annotated[opt.Overwrite, "Replace an existing rageval.toml."] = False


class _FilesHere(NamedTuple):
    """The names of the files in a folder, by what they hold, each with what it begins with."""

    runs: dict[str, Start]
    qrels: dict[str, Start]
    judged: dict[str, Start]
    answers: dict[str, Start]
    tables: dict[str, Start]
    questions: dict[str, Start]
    baselines: dict[str, Start]


@click.command(cls=Command)
@takes_options
def init(options: Options) -> None:
    """Write a rageval.toml for the files in this folder.

    It sets what rageval gate needs: measures, margin, baseline and judge. Kinds of files are detected. Every
    line has a comment. Change what you need, and keep the file in your repository.

    \b
    rageval init
    rageval gate judged.jsonl
    """
    if os.path.lexists(_POLICY) and not options.overwrite:
        raise UsageError(f"{_POLICY}: already exists; use another folder, or --overwrite")
    if read_policy(os.path.abspath("pyproject.toml")) is not None:
        raise UsageError("pyproject.toml: has [tool.rageval], which is the policy here; change it there")
    files = _files_here()
    settings = _Settings(files)
    write_lines(Path(_POLICY), settings.lines())
    print_lines([f"wrote {_POLICY}", *settings.next_lines()])


def _files_here() -> _FilesHere:
    """Tell the files of this folder by their content; what cannot be read, or named in TOML, is left out."""
    files = _FilesHere({}, {}, {}, {}, {}, {}, {})
    places = {
        **{RUNS: files.runs, EITHER: files.runs, JUDGED_DOCUMENTS: files.qrels},
        **{JUDGED_ANSWERS: files.judged, ANSWERS: files.answers, ROWS: files.tables},
        QUESTIONS: files.questions,
    }
    for name in sorted(os.listdir(), key=lambda name: (not _BEFORE.search(name), name)):
        if name.startswith(".") or visible(name) != name or not os.path.isfile(name):
            continue
        with suppress(RagevalError, OSError):
            source = File(name)
            kind = kind_of(source)
            if kind is None:
                continue
            place = files.baselines if kind.name == "baseline" else places.get(kind.holds)
            if place is not None:
                place[name] = start_of_file(source)
    return files


class _Settings:
    """What the policy says of the files, line by line."""

    def __init__(self, files: _FilesHere) -> None:
        self.files = files
        self.baseline, self.measures = self._existing_baseline()
        self.is_saved = bool(self.baseline)
        self.rubric, self.judge = (_OF_ANSWERS, _JUDGE) if files.answers or self.tables else ("", "")
        if files.judged:
            start = next(iter(files.judged.values()))
            names = (str(start.record.get(key, "")) for key in ("rubric", "judge"))
            self.rubric, self.judge = (name.partition("@")[0] for name in names)
        self.before, self.candidate = self._candidates()
        if not self.measures and (self.files.judged or self.files.answers or self.tables):
            usual = usual_measure(self.rubric)
            self.measures = [usual] if usual else []
        elif not self.measures and self.files.qrels:
            self.measures = [OF_RUNS[any(map(_has_nuggets, self.files.qrels.values()))]]
        if not self.baseline and len(self.tables) > 1:
            # A table is judged wherever it stands, so the one before needs not be saved.
            self.baseline, self.is_saved = self.tables[0], True
        if not self.baseline:
            self.baseline = next((name for name in _NEW_BASELINES if not os.path.lexists(name)), "")
        self.saving = f"rageval gate {self.before} --save-baseline {quote(self.baseline or 'FILE')}"

    @property
    def tables(self) -> list[str]:
        """The tables of answers that count: where answers stand in files of ours, these do."""
        return [] if self.files.judged or self.files.answers else list(self.files.tables)

    def _existing_baseline(self) -> tuple[str, list[str]]:
        """Return the baseline that is there, and what it was measured by."""
        for name in self.files.baselines:
            with suppress(RagevalError):
                # One that a policy may not name would be refused by every gate.
                resolve_sibling_path(NamedInFile(name, os.path.abspath(_POLICY)))
                measures = read_baseline(name).header.measures
                return name, [measure for measure in measures if visible(measure) == measure]
        return "", []

    def _candidates(self) -> tuple[str, str]:
        """Return what is saved as the baseline, and what is held against it, as they are typed.

        Of several files, or systems in one file, the first is what there was before, and the last is new.
        """
        if self.files.judged:
            files = [*map(quote, self.files.judged)]
            systems = _systems_in(next(iter(self.files.judged))) if len(files) == 1 else []
            if len(systems) > 1:
                files = [f"{files[0]} --system {quote(visible(system))}" for system in systems]
        elif self.files.answers:
            files = [_JUDGED]
        elif self.tables:
            files = [*map(quote, self.tables)]
        elif self.files.runs and self.files.qrels:
            qrels = quote(next(iter(self.files.qrels)))
            files = [f"{quote(run)} {qrels}" for run in self.files.runs]
        else:
            files = ["CANDIDATE"]
        return files[0], files[-1]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the policy."""
        yield from (
            "# The policy of this project: settings for `rageval gate` and pytest.",
            "# Command-line options override it. `rageval gate --show-policy` prints the settings in use.",
            "",
            "[gate]",
            "# Measures; each of them must pass. `rageval measures` lists them.",
            _setting("measures", self.measures or ["NAME"], is_set=bool(self.measures)),
            "",
            "# Largest loss against the baseline that you accept, in the measures' units.",
            _setting("margin", _MARGIN),
            "",
        )
        if self.is_saved:
            yield "# The baseline to compare a candidate with."
        else:
            yield "# The baseline to compare a candidate with. It does not exist yet; save what you have now:"
            yield f"#   {self.saving}"
        yield _setting("baseline", self.baseline or "NAME", is_set=bool(self.baseline))
        if self.rubric in rubric_names():
            yield from (
                "",
                "# The rubric with which pytest has answers judged.",
                _setting("rubric", self.rubric),
            )
        if self.judge in NAMES:
            yield from (
                "",
                "# The judge that the gate accepts, and that judges what pytest records.",
                _setting("judge", self.judge),
            )
        elif self.judge and visible(self.judge) == self.judge:
            yield from (
                "",
                "# The judge that the gate accepts. It also judges what pytest records, and its calls may",
                "# cost money: uncomment it if you want that.",
                _setting("judge", self.judge, is_set=False),
            )
        if self.files.questions:
            yield from (
                "",
                "# The questions. With this file, a question without a judged answer counts as missing.",
                _setting("questions", next(iter(self.files.questions)), is_set=False),
            )

    def next_lines(self) -> Iterator[str]:
        """Yield what to type next."""
        if self.files.answers and not self.files.judged:
            answers = quote(next(iter(self.files.answers)))
            questions = quote(next(iter(self.files.questions), "FILE"))
            yield (
                f"next: rageval judge {_OF_ANSWERS} {answers} --questions {questions} --judge {_JUDGE}"
                f" -o {_JUDGED}"
            )
        if not self.is_saved:
            yield f"next: {self.saving}"
        yield f"then: rageval gate {self.candidate}"


def _setting(key: str, value: Any, is_set: bool = True) -> str:
    """Return a line of TOML; one that is a comment where nothing is set."""
    # Texts, numbers and lists of texts are written in TOML as in JSON.
    return f"{'' if is_set else '# '}{key} = {json.dumps(value, ensure_ascii=False)}"


def _systems_in(path: str) -> list[str]:
    """Return the systems that were judged in a file, in its order; as far as it can be read."""
    systems: dict[str, None] = {}
    with suppress(RagevalError):
        for _, record in read_records(path, dict[str, Any], "judgements"):
            systems.setdefault(str(record.get("run_id", "")))
    return list(systems)


def _has_nuggets(start: Start) -> bool:
    """Return whether the first judgements name several nuggets of a query."""
    rows: Iterable[list[bytes]] = (line.split() for line in start.lines)
    nuggets: dict[bytes, set[bytes]] = {}
    for row in rows:
        if len(row) == 4:
            nuggets.setdefault(row[0], set()).add(row[1])
    return any(len(named) > 1 for named in nuggets.values())
