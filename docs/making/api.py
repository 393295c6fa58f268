"""A page an object of Python's: what can be imported, with its docstring, and its members below it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module

from making.marks import plain, table, toctree
from rageval.measures import Measure

# What has a page, by what it is for. `module.*` is all that a module exports, a page each.
SECTIONS = {
    "Score runs": ("evaluate", "Evaluator", "scoring.rules.Rules", "read_run", "read_qrels", "Run", "Qrels"),
    "Score answers": ("evaluate_answers", "read_judgements"),
    "Example data": ("demo",),
    "Score agents": ("trajectories.*",),
    "Scores": ("Scores", "scoring.scores.ScoresTable", "Score"),
    "Measures": ("parse_measure", "measure", "Measure"),
    "What a measure sees": (
        *("Ranking", "measures.ranking.Hit", "Share"),
        *("Assessment", "measures.assessment.Judgement"),
    ),
    "Compare and report": ("compare", "gate", "report", "comparison.*"),
    "Judge": ("judge", "judges.*"),
    "Check files": ("checking.*",),
    "Gold as spans of sources": ("spans.*",),
    "Datasets": ("datasets.*",),
    "Records": ("records.*",),
    "Logs of other tools": ("logs.*",),
    "Build collections": ("building.*",),
    "Run a track": ("track.*",),
    "Run in parallel": ("parallel.*",),
    "Test measures, judges and plugins": ("testing.*",),
    "Use in ir_measures": ("interop.install",),
    "Use in Auto-Judge": ("autojudge.RubricJudge",),
    "Types": ("typing",),
    "Errors": ("RagevalError", "InputError", "UsageError", "MeasureError", "errors"),
}
WHOLE = ("typing", "errors")  # one page for all of the module
MEMBERS = {
    "rageval.errors": ":members:\n   :exclude-members: RagevalError, InputError, UsageError, MeasureError",
    "rageval.Qrels": ":members: from_dict, from_records, from_pandas, query_ids, nuggets_listed, has_nuggets",
    "rageval.scoring.scores.ScoresTable": ":members:\n   :exclude-members: remarks",
}
_SAME = {"rageval.Measure": "Measure-class"}  # some systems do not distinguish it from `measure`


def file(name: str) -> str:
    """Return the name of the page of a name."""
    return _SAME.get(name, name.removeprefix("rageval."))


def names(section: str) -> Iterator[str]:
    """Yield what a section lists, with its module."""
    for name in SECTIONS[section]:
        module, star, _ = f"rageval.{name}".partition(".*")
        if star:
            yield from (f"{module}.{one}" for one in import_module(module).__all__)
        else:
            yield module


def found(name: str) -> object:
    """Return what a name with its module stands for."""
    if name.removeprefix("rageval.") in WHOLE:
        return import_module(name)
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def pages() -> dict[str, str]:
    """Every page's name and text."""
    return {file(name): page(name) for section in SECTIONS for name in names(section)}


def page(name: str) -> str:
    """Return the page of an object, or of a module that has one page."""
    thing = found(name)
    if inspect.ismodule(thing):
        directive, options = "automodule", MEMBERS.get(name, ":members:")
    elif inspect.isclass(thing):
        directive, options = "autoclass", MEMBERS.get(name, ":members:")
    else:
        directive, options = ("autofunction", "") if callable(thing) else ("autodata", "")
    module, _, last = name.rpartition(".")
    inside = [
        f".. {directive}:: {name if inspect.ismodule(thing) else last}",
        *[f"   {options}"] * bool(options),
    ]
    return "\n".join(
        [f"# `{name}`", "", "```{eval-rst}", f".. currentmodule:: {module}", "", *inside, "```", ""]
    )


def index() -> str:
    """Return the tables of the page on Python, a section each."""
    parts = []
    for section in SECTIONS:
        rows = [(f"[`{name}`](api/{file(name)}.md)", plain(summary(found(name)))) for name in names(section)]
        parts += [f"## {section}", table(("name", "what it does"), rows)]
    return "\n\n".join([*parts, toctree([f"api/{page}" for page in pages()], ":hidden:")])


def summary(thing: object) -> str:
    """Return the first sentence of a docstring."""
    if isinstance(thing, str | Measure):
        return ""
    first = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return first.partition(". ")[0].rstrip(":")
