"""What a tool beside rageval is, its input made of a vector's rows, and how a program is run."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rageval.conformance._vectors import RunVector
from rageval.errors import RagevalError
from rageval.measures.base import Measure

ByMeasure = dict[str, dict[str, float]]
_Run = dict[str, dict[str, float]]
_Grades = dict[str, dict[str, int]]


def run_rows(vector: RunVector) -> list[tuple[str, str, float]]:
    """Query, document, score."""
    return [(query, doc, float(score)) for query, doc, score in vector.run]


def run_of(vector: RunVector) -> _Run:
    """Return the run as a mapping, which holds a document once."""
    found: _Run = {}
    for query, doc, score in run_rows(vector):
        found.setdefault(query, {})[doc] = score
    return found


def document_grades(vector: RunVector) -> _Grades:
    """Return the highest grade of each document over the nuggets; what is below 0 is worth 0."""
    found: _Grades = {}
    for query, _, doc, grade in vector.qrels:
        grades = found.setdefault(query, {})
        grades[doc] = max(grade, grades.get(doc, 0))
    return found


def queries_of(vector: RunVector) -> list[str]:
    """Return the judged queries."""
    return list(dict.fromkeys(query for query, *_ in vector.qrels))


def only(values: Iterable[tuple[str, float]], vector: RunVector) -> dict[str, float]:
    """Return the values of judged queries."""
    judged = set(queries_of(vector))
    return {query: float(value) for query, value in values if query in judged}


class NotAsked(RagevalError):
    """A question that cannot be put to this tool as a whole."""


class Lacks(RagevalError):
    """A measure that this tool would have if more of it were installed."""


@dataclass(frozen=True)
class Peer:
    """A tool: which measures it has, what it says of a vector, and by which rules.

    `package` is what it is installed as, a `program` is looked for on the PATH in its place, and says its
    version itself. `rules` are options with which rageval goes by its rules, `reproduced` the topics (see
    `reasons`) that these are about, `tolerance` is what it rounds away; `options` are those of a vector that
    it knows, too.
    """

    package: str
    has: Callable[[Measure], bool]
    values: Callable[[Sequence[Measure], Any], ByMeasure]
    rules: Mapping[str, Any]
    reproduced: Collection[str]
    tolerance: float = 1e-12
    options: Collection[str] = ()
    program: str = ""
    version: Callable[[], str] | None = None


def with_cutoff(names: Mapping[str, str], measure: Measure, pattern: str) -> str | None:
    """Return the tool's name for a measure of ours at its cut-off, if it has one."""
    name = names.get(measure.name)
    return None if name is None or measure.k is None else pattern.format(name, measure.k)


class ProgramFailed(Exception):
    """It ended with another code than 0; what it said last."""


def output(words: Sequence[str], files: Iterable[Iterable[str]]) -> str:
    """Return what the program prints, asked with these words and then the paths of files with these lines."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for at, lines in enumerate(files):
            paths.append(os.path.join(folder, str(at)))
            with open(paths[-1], "w", encoding="utf-8", newline="\n") as file:
                file.writelines(line + "\n" for line in lines)
        done = subprocess.run([*words, *paths], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        last = said[-1].replace(folder, "") if said else "nothing said"
        raise ProgramFailed(f"exit code {done.returncode}: {last}")
    return done.stdout.decode(errors="replace")
