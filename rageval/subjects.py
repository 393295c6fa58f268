"""The kinds of subjects: what can be scored, compared, gated and reported, one object each.

This is the one table of them. All that is of one kind alone is declared here, and what takes more than a word
is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

from rageval.core.remark import Remark
from rageval.errors import MeasureError, UsageError
from rageval.hooks import Hook


class CommandFiles(Protocol):
    """The files of a command line."""

    reading: Any  # how lines of columns are read: a `Reading`
    remarks: list[Remark]  # how the files were read and judged

    @property
    def kind(self) -> SubjectKind:
        """The kind of subject that the files are."""

    @property
    def files(self) -> Mapping[str, list[Any]]:
        """The files by their role."""

    @property
    def question_sources(self) -> list[Any]:
        """What may have the fields of questions, where no file of questions is given."""


class Argument(NamedTuple):
    """What measures take of one query: the head of these measures in lists, and what scores one of them.

    `scorer` makes the `Scorer` of a measure: (measure, view). There is none for what is no run.
    """

    head: str
    scorer: Hook[..., Any] | None = None


@dataclass(frozen=True, eq=False)  # a kind is itself, and no other is equal to it
class SubjectKind:
    """A kind of subject.

    Parameters
    ----------
    noun
        What it is called, in the plural.
    gives
        What its measures score, with the form of these files, for messages.
    arguments
        The classes of what its measures take of one query, as their first parameter is annotated.
    roles
        The roles of its files; the first one is what is scored.
    takes
        The role of a file by what that holds (`rageval.files.start`).
    options
        The options of commands that are of this kind, and not of all.
    rules
        The names of the `Rules` of scoring that hold for it.
    example
        Measures to name, where nobody named one.
    suggestion
        What to score files by, where nobody named a measure: (files that are scored) → the measure that they
        ask for themselves, if they do, and else measures to name.
    subject
        Makes the subject of files: (inputs, measures, options, whether streams are looked at again).
    gated
        Makes the subject that Python's `gate` compares: (candidate, measures, rules, its other inputs).
    population
        What people may label of it: (inputs, systems to compare, options).
    page
        Adds what it is made of to a report: (report, results, inputs of the page, subject).
    standings
        Scores the systems of a leaderboard: (`ScoringInputs` of a track or a bundle, what prints a remark).
    also
        The kind that it is, too: its measures and its judgements are those of this one as well.
    completions
        Adds the verdict under every completion of what is not known: (comparison, subject, results).
    sensitivity
        How often two systems would change places: (subject, results).
    curves
        The recall of its systems within budgets: (subject, results, settings of a comparison).
    """

    noun: str
    gives: str
    arguments: Mapping[str, Argument]
    roles: tuple[str, ...]
    takes: Mapping[str, str]
    options: frozenset[str]
    rules: tuple[str, ...]
    example: str
    subject: Hook[..., Any]
    gated: Hook[..., Any]
    suggestion: Hook[..., tuple[str, str]] | None = None
    population: Hook[..., Any] | None = None
    page: Hook[..., Any] | None = None
    standings: Hook[..., list[Any]] | None = None
    also: SubjectKind | None = None
    completions: Hook[..., Any] | None = None
    sensitivity: Hook[..., Any] | None = None
    curves: Hook[..., list[Any]] | None = None

    def is_a(self, kind: SubjectKind) -> bool:
        """Return whether it is of this kind, or of this kind as well."""
        return kind in (self, self.also)


RUNS = SubjectKind(
    noun="runs",
    gives="a run and judgements of documents",
    arguments={
        "Ranking": Argument("Of runs (RUN... QRELS)", Hook("rageval.scoring.scorers:OwnScorer")),
        "Covering": Argument(
            "Of runs and spans (RUN... SPANS.jsonl --chunks FILE --sources DIR)",
            Hook("rageval.scoring.scorers:SpanScorer"),
        ),
    },
    roles=("run", "qrels"),
    takes={"runs": "run", "judged documents": "qrels"},
    options=frozenset(
        {
            *("chunks", "sources", "overlap", "stale", "rel", "depth", "judged_only", "dedup", "provider"),
            *("nuggets_in_qrels", "nothing_judged", "ties", "complete", "intent_weights", "names"),
            "zero_rel",
        }
    ),
    rules=(
        *("ties", "depth", "judged_only", "intersection", "complete", "zero_rel", "rel", "groups", "compat"),
        *("provider", "bounds", "nuggets_in_qrels", "intent_weights", "nothing_judged"),
    ),
    example="-m ndcg@10, with nuggets -m alpha_ndcg@10",
    subject=Hook("rageval.scoring.runs_from_files:subject_of_runs"),
    population=Hook("rageval.cli.label_plan:population_of_runs"),
    page=Hook("rageval.pages.report:with_documents"),
    gated=Hook("rageval.scoring.runs_from_files:gated_run"),
    standings=Hook("rageval.track.values:score_runs"),
    completions=Hook("rageval.comparison.comparisons:under_every_completion"),
    sensitivity=Hook("rageval.comparison.comparisons:sensitivity_of_runs"),
)
ANSWERS = SubjectKind(
    noun="judged answers",
    gives="judged answers (JSON lines)",
    arguments={"Assessment": Argument("Of judged answers (JUDGED.jsonl...)")},
    roles=("judgements",),
    takes={"judged answers": "judgements", "answers": "judgements"},
    options=frozenset({"nuggets", "on_missing", "answers", "weights", "system", "passages", "aa"}),
    rules=("on_missing", "groups", "weights", "compat", "intersection"),
    example="-m crag_score",
    suggestion=Hook("rageval.scoring.answers_from_files:suggest_measure"),
    subject=Hook("rageval.scoring.answers_from_files:subject_of_answers"),
    population=Hook("rageval.cli.label_plan:population_of_answers"),
    page=Hook("rageval.pages.report:with_answers"),
    gated=Hook("rageval.scoring.answers_from_files:gated_answers"),
    standings=Hook("rageval.track.values:score_answers"),
    sensitivity=Hook("rageval.comparison.comparisons:sensitivity_of_answers"),
)
TRAJECTORIES = SubjectKind(
    noun="trajectories",
    gives="trajectories (steps.jsonl) and judgements of documents",
    arguments={
        "Trajectory": Argument(
            "Of trajectories (STEPS.jsonl... QRELS)", Hook("rageval.scoring.trajectories:TrajectoryScorer")
        )
    },
    roles=("steps", "qrels"),
    takes={"steps": "steps", "judged documents": "qrels"},
    options=(RUNS.options - {"dedup", "names"}) | {"answers", "system"},
    rules=RUNS.rules,
    example="-m seen_recall@5,kept,cited_recall",
    also=RUNS,
    subject=Hook("rageval.scoring.trajectories:subject_of_trajectories"),
    gated=RUNS.gated,
    page=RUNS.page,
    completions=RUNS.completions,
    sensitivity=RUNS.sensitivity,
    curves=Hook("rageval.comparison.trajectories:recall_curves"),
)
KINDS = (RUNS, TRAJECTORIES, ANSWERS)


def kind_of_files(roles: Iterable[str]) -> SubjectKind:
    """Return the kind of subject that files with these roles make; runs, where there are none.

    >>> kind_of_files(["qrels"]).noun, kind_of_files(["judgements"]).noun
    ('runs', 'judged answers')
    """
    present = set(roles)
    scored = (kind for kind in KINDS if kind.roles[0] in present)
    return next(scored, None) or next((kind for kind in KINDS if present & {*kind.roles}), RUNS)


def kinds_of_measure(measure: Any) -> list[SubjectKind]:
    """Return the kinds of subjects that a measure scores; a measure of another library's scores runs."""
    arguments = getattr(measure, "takes", tuple(RUNS.arguments)[:1])
    return [kind for name in arguments for kind in KINDS if name in kind.arguments] or [RUNS]


def kind_of_measure(measure: Any) -> SubjectKind:
    """Return the kind of subject that a measure scores, of several the first."""
    return kinds_of_measure(measure)[0]


def scorer_of(measure: Any, view: Any) -> Any:
    """Return what scores a measure of runs, by what it takes of one query."""
    arguments = kind_of_measure(measure).arguments
    # A measure whose argument is annotated as something else takes a ranking, as one of runs does.
    argument = arguments.get(measure.argument, arguments[next(iter(arguments))])
    return cast("Hook[..., Any]", argument.scorer)(measure, view)


def require_kind(kind: SubjectKind, measures: Iterable[Any], or_narrower: bool = False) -> None:
    """Raise `MeasureError` for a measure that scores another kind of subject.

    A measure of a narrower kind, which is of this kind as well, is one of another kind unless asked for.
    """
    for measure in measures:
        others = kinds_of_measure(measure)
        if not any(kind.is_a(other) or (or_narrower and other.is_a(kind)) for other in others):
            is_ours = not hasattr(measure, "function") or measure.function.__module__.startswith("rageval.")
            way = f"; for these, annotate its first argument as rageval.{next(iter(kind.arguments))}"
            way = "" if is_ours else way
            gives = " or ".join(other.gives for other in others)
            raise MeasureError(f"{measure} scores {gives}, not {kind.noun}{way}")


def refuse_other_options(kind: SubjectKind, typed: Iterable[str]) -> None:
    """Raise `UsageError` for an option that is of another kind of subject."""
    for name in typed:
        others = [other.noun for other in KINDS if name in other.options]
        if others and name not in kind.options:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} applies to {' and '.join(others)}; leave it out for {kind.noun}")
