"""Runs and their judgements from the files and options of a command line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from rageval import hooks
from rageval.errors import InputError, UsageError
from rageval.files.kinds import kind_of, tag_of
from rageval.files.opening import name_of
from rageval.files.trec import Reading
from rageval.scoring.evaluation import Evaluator, Runs, lowest_grade
from rageval.scoring.qrels import Qrels
from rageval.scoring.rules import COMPAT_OF_ANSWERS
from rageval.scoring.sources import RunSource, one_run, read_qrels, run_name, source_of_run
from rageval.scoring.subject import with_labels
from rageval.subjects import RUNS, CommandFiles
from rageval.text import visible


def subject_of_runs(inputs: CommandFiles, measures: Sequence[Any], options: Any, is_reread: bool) -> Runs:
    """Return runs, not read yet, and their judgements; what `is_reread` is kept in memory."""
    if options.compat in COMPAT_OF_ANSWERS:
        names = " and ".join(f"--compat {name}" for name in COMPAT_OF_ANSWERS)
        raise UsageError(f"{names} apply to judged answers; leave them out for runs")
    evaluator = evaluator_of(inputs, measures, options)
    run_files = run_sources(inputs.files["run"], inputs.reading, options.dedup, options.names)
    kept = [source.in_memory() if source.is_stream and is_reread else source for source in run_files]
    return with_labels(Runs(evaluator, kept, refuses=options.nothing_judged != "zero"), options)


def evaluator_of(
    inputs: CommandFiles, measures: Sequence[Any], options: Any, qrels: Qrels | None = None
) -> Evaluator:
    """Return the measures with the judgements, by default of the files, and the rules of a command line."""
    are_nuggets = {"yes": True, "no": False}.get(options.nuggets_in_qrels)
    # These look at judgements of any grade, so that none may be left out when reading.
    everything = options.judged_only or options.bounds or bool(options.provider) or are_nuggets is False
    if qrels is None:
        qrels = judgements_of(inputs, lowest_grade(measures, options.rel, everything), options)
    groups = None
    if options.group_by:
        groups = hooks.groups_of(
            options.group_by, qrels.query_ids, options.questions, inputs.question_sources
        )
    rules = {name: value for name in RUNS.rules if (value := getattr(options, name, None)) is not None}
    # The evaluator would warn by itself; here the run is refused with all others, in one message.
    rules |= {"nuggets_in_qrels": are_nuggets, "nothing_judged": "zero"}
    evaluator = Evaluator(measures, qrels, groups=groups, **rules)
    evaluator.refuse_without_nuggets()
    return evaluator


def gated_run(candidate: Any, measures: Any, rules: Mapping[str, Any], inputs: Mapping[str, Any]) -> Runs:
    """Return the run that Python's `gate` compares, with the judgements of documents."""
    if inputs["questions"] is not None:
        raise UsageError("questions= is for judged answers; for a run, the judged queries count")
    evaluator = Evaluator(measures, inputs["qrels"], **{**rules, "nothing_judged": "error"})
    evaluator.refuse_without_nuggets()
    return Runs(evaluator, [one_run(candidate).in_memory()])


def _is_named(source: Any) -> bool:
    """Return whether this is a file with a name, and no stream."""
    return isinstance(source, str | os.PathLike)


_TAG = "tag"  # of --names: what runs call themselves


def run_sources(
    runs: list[Any], reading: Reading, dedup: str | None, requested: Sequence[str] = ()
) -> list[RunSource]:
    """Return the runs, each with a name of its own: what --names says, else after its file."""
    names = [run_name(run) for run in runs]
    if len(set(names)) < len(names):
        # Two files of one name in two folders are told apart by their paths.
        names = [str(run) if _is_named(run) else name for run, name in zip(runs, names, strict=True)]
    if requested:
        names = _run_names(runs, names, requested, reading)
    return [source_of_run(name, run, reading, dedup) for name, run in zip(names, runs, strict=True)]


def _run_names(runs: list[Any], names: list[str], requested: Sequence[str], reading: Reading) -> list[str]:
    """Return the names of runs as --names has them: names of single files, else the tags if asked for."""
    new_names = list(names)
    if _TAG in requested:
        new_names = [tag_of(run, reading) or name for run, name in zip(runs, new_names, strict=True)]
    for text in requested:
        name, _, file = text.partition("=")
        places = [place for place, run in enumerate(runs) if _is_named(run) and str(run) == file]
        if text != _TAG and (not name or not places):
            paths = ", ".join(visible(str(run)) for run in runs if _is_named(run))
            raise UsageError(f"--names {visible(text)}: expected {_TAG}, or NAME=FILE, of the runs {paths}")
        for place in places:
            new_names[place] = name
    twice = {name for name in new_names if new_names.count(name) > 1}
    if twice:
        raise UsageError(
            f"--names: two runs would be called {visible(min(twice))!r}; give each a name with NAME=FILE"
        )
    return new_names


_OF_SPANS = ("chunks", "sources", "overlap", "stale")


def judgements_of(inputs: CommandFiles, floor: int, options: Any) -> Qrels:
    """Read the one set of judgements; `options` are what is said of spans and chunks."""
    role = inputs.kind.roles[0]
    if len(inputs.files["qrels"]) != 1 or not inputs.files[role]:
        found_runs = ", ".join(visible(name_of(run)) for run in inputs.files[role]) or "none"
        found_qrels = ", ".join(visible(name_of(qrels)) for qrels in inputs.files["qrels"]) or "none"
        raise InputError(
            expected="one or more runs (lines of 6 columns) and one file of judgements (4 columns), or"
            " judged answers (JSON lines)",
            found=f"{inputs.kind.noun}: {found_runs}; judgements: {found_qrels}",
        )
    (qrels,) = inputs.files["qrels"]
    if isinstance(qrels, QrelsOfDataset):
        judgements = qrels.load()
    elif (kind := kind_of(qrels, inputs.reading)) is not None and kind.name == "spans":
        if options.chunks is None or options.sources is None:
            raise UsageError(
                f"{visible(name_of(qrels))}: holds spans of sources; add --chunks FILE and --sources DIR to"
                " match chunks to them"
            )
        given: dict[str, Any] = {"overlap": options.overlap, "stale": options.stale}
        rules = {name: value for name, value in given.items() if value is not None}
        projected: Qrels = hooks.project_spans(qrels, options.chunks, options.sources, **rules)
        return projected
    else:
        judgements = read_qrels(qrels, reading=inputs.reading, floor=floor)
    unused = [name for name in _OF_SPANS[1:] if getattr(options, name) is not None]
    if unused:
        raise UsageError(f"--{unused[0]} applies to spans; leave it out for judgements of documents")
    if options.chunks is not None:
        hooks.require_judged_chunks(options.chunks, judgements)
    return judgements


class QrelsOfDataset:
    """Judgements of an ir_datasets id."""

    def __init__(self, dataset: Any) -> None:
        self.name, self.dataset = dataset.name, dataset

    def load(self) -> Qrels:
        """Return the judgements, with their judges."""
        qrels = Qrels.from_records(self.dataset.qrels_iter(), self.name)
        qrels.judges = tuple(getattr(self.dataset, "judges", ()))
        return qrels
