"""The stages of a track, each done once: validation, pool, judgements, scores, pages, an archive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from rageval.checking.tracks import track_named
from rageval.comparison.leaderboards import Standing
from rageval.errors import InputError, UsageError
from rageval.files.whole import read_whole
from rageval.files.writing import write_lines
from rageval.judges.panel import Settings
from rageval.text import mended, visible
from rageval.track import _judging, _scoring
from rageval.track._ledger import NAME, DoneStages, key_of, source_of, stamp
from rageval.track._listing import EntryLimits, entries_in
from rageval.track._reader import OF_RUNS
from rageval.track._submissions import (
    Submission,
    checked,
    finding_lines,
    lines_of,
    read_submissions,
)
from rageval.version import __version__

OnMissing = Literal["error", "skip", "worst", "best"]
__all__ = ["EntryLimits", "Organised", "TrackPlan", "leaderboard_of", "organise"]
Stage = Literal["validate", "pool", "judge", "score", "pages", "archive"]
STAGES: tuple[Stage, ...] = ("validate", "pool", "judge", "score", "pages", "archive")
_SUBMISSIONS, _FINDINGS = "submissions.jsonl", "findings.jsonl"
_Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TrackPlan:
    """Everything that makes a difference to what comes of a track.

    Parameters
    ----------
    folder
        The runs, a file each, in folders or not.
    out
        Where everything is written.
    track
        Whose rules they must keep: `run` for rankings, else a track of answers or reports.
    topics, nuggets, passages
        Files, or data sets, of what was asked, of what a good answer holds, and of texts of documents.
    qrels
        Judgements of documents that are there already.
    judgements
        Files of judgements that are there already, such as people's.
    rubrics, judges
        What is judged, and by whom; none of them where judgements are there.
    measures
        What the leaderboard is by.
    depth
        How many documents of each run are pooled.
    label
        For how many topics a plan of labels is drawn, which `rageval annotate` takes.
    seed
        Of what is drawn.
    teams
        A file that says under which names files are listed: a file, a tab and a name a line.
    limits
        What one file may cost; one that costs more is not valid.
    strict
        Whether a run that is not valid ends everything.
    on_missing
        What failed judgements are in scores: an `error`, or `skip`, `worst`, `best`.
    stage
        The last stage to be done.
    title
        What the pages and the archive are called.
    citation
        A file CITATION.cff for the archive; one is made if none is named.
    settings
        How judges are asked.
    """

    folder: Path
    out: Path
    track: str
    topics: str | Path | None = None
    nuggets: str | Path | None = None
    passages: str | Path | None = None
    qrels: str | Path | None = None
    judgements: tuple[str, ...] = ()
    rubrics: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    measures: str = ""
    depth: int = 20
    label: int | None = None
    seed: int = 0
    teams: Path | None = None
    limits: EntryLimits = field(default_factory=EntryLimits)
    strict: bool = False
    on_missing: OnMissing = "error"
    stage: Stage = "archive"
    title: str = ""
    citation: Path | None = None
    settings: Settings = field(default_factory=Settings)

    @property
    def inputs(self) -> dict[str, str]:
        """What tells one version of these from another."""
        return {name: stamp(source_of(self, name)) for name in ("topics", "nuggets", "passages", "qrels")}

    @property
    def is_of_runs(self) -> bool:
        """Whether rankings were handed in, not answers."""
        return self.track == OF_RUNS

    @property
    def heading(self) -> str:
        """What it is called."""
        return mended(self.title or f"{self.folder.resolve().name}: {self.track}")


@dataclass
class Organised:
    """What came of a track: every file that was handed in; the stages done, and those that were as before."""

    submissions: list[Submission] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    @property
    def valid(self) -> list[Submission]:
        """The runs that are scored."""
        return [each for each in self.submissions if each.valid]


def organise(
    plan: TrackPlan,
    say: _Say = lambda message: None,
    listed: Callable[[Sequence[Submission]], None] = lambda submissions: None,
) -> Organised:
    """Do the stages up to the plan's last one, but for those that were done of the same.

    Parameters
    ----------
    plan
        The plan.
    say
        Called with what people should know meanwhile, a line at a time.
    listed
        Called with every file that was handed in, once it is known which are valid.

    Returns
    -------
    Organised
        The submissions and the stages.
    """
    _check(plan)
    ledger = DoneStages(plan.out)
    found = Organised()
    for stage in STAGES[: STAGES.index(plan.stage) + 1]:
        key = key_of({"stage": stage, "rageval": __version__, **_parts(plan, stage, ledger)})
        if ledger.is_done(stage, key):
            found.kept.append(stage)
        else:
            ledger.forget(stage)
            ledger.keep(stage, key, _WORK[stage](plan, ledger, say))
            found.done.append(stage)
        if stage == "validate":
            found.submissions = read_submissions(plan.out / _SUBMISSIONS)
            listed(found.submissions)
            _require_valid(plan, found)
    return found


def leaderboard_of(plan: TrackPlan) -> list[Standing]:
    """Return where the runs stand.

    Parameters
    ----------
    plan
        A plan that was carried out to the stage `score`, or farther.

    Returns
    -------
    list of Standing
        By each measure, the best run first.
    """
    return _scoring.read_standings(plan.out / _scoring.STANDINGS)


def _check(plan: TrackPlan) -> None:
    """Refuse a plan that cannot be carried out before anything is written, or paid for."""
    if plan.stage not in STAGES:
        raise UsageError(f"stage {plan.stage!r}: expected one of {', '.join(STAGES)}")
    if not plan.is_of_runs and track_named(plan.track).columns and plan.stage != "validate":
        raise UsageError(f"--track {plan.track}: is of questions, not of answers; expected --stage validate")
    try:
        _check_folders(plan)
    except (OSError, RuntimeError, ValueError) as error:  # a name too long, links in a circle, a NUL
        if isinstance(error, UsageError):
            raise
        shown = f"{visible(str(plan.folder)[:80])}, {visible(str(plan.out)[:80])}"
        raise UsageError(f"{shown}: cannot be looked at ({visible(str(error))[:80]})") from None
    if STAGES.index(plan.stage) >= STAGES.index("pages"):
        from rageval.pages.page import require_engine

        require_engine()  # now, and not when everything is judged
    for option, is_used, stage in (("--label", plan.label, "pool"), ("--rubric", plan.rubrics, "judge")):
        if is_used and plan.topics is None and STAGES.index(plan.stage) >= STAGES.index(stage):
            # Answers repeat what was asked, but it is the same question for all, and not theirs to say.
            raise UsageError(f"{option}: expected --topics FILE, what was asked")
    if bool(plan.rubrics) != bool(plan.judges):
        raise UsageError("expected --rubric and --judge together: what is judged, and by whom")
    if plan.is_of_runs and plan.judgements:
        raise UsageError("judgements of documents are named by --qrels; --judgements are of answers")
    if not plan.is_of_runs and plan.qrels is not None:
        raise UsageError(f"--qrels: a track of answers ({plan.track}) expects --judgements FILE")
    if plan.measures:
        _scoring.parsed(plan)
    elif STAGES.index(plan.stage) >= STAGES.index("score"):
        raise UsageError("expected -m MEASURES for the leaderboard, or --stage judge to end before it")


def _check_folders(plan: TrackPlan) -> None:
    """Refuse to write among the runs, or among files that nobody knows."""
    inside, out = plan.folder.resolve(), plan.out.resolve()
    shown = visible(str(plan.out))
    if out == inside or inside in out.parents or out in inside.parents:
        raise UsageError(f"{shown}: expected a folder beside that of the runs, not one in it")
    # All that stands there may be written again by a later stage; an input among it would be gone then.
    for path in _read(plan):
        if out in path.resolve().parents:
            raise UsageError(f"{visible(str(path))}: is read from, expected another folder to write to")
    if plan.out.exists() and not plan.out.is_dir():
        raise UsageError(f"{shown}: is a file, expected a folder to write to")
    if plan.out.is_dir() and any(plan.out.iterdir()) and not (plan.out / NAME).is_file():
        raise UsageError(f"{shown}: holds other files; expected a new folder, or this track's")


def _read(plan: TrackPlan) -> list[Path]:
    """Return the files that are read besides the runs."""
    known = (plan.topics, plan.nuggets, plan.passages, plan.qrels, plan.teams, plan.citation)
    frozen = (judge.partition("frozen:")[2] for judge in plan.judges)
    every = (*known, *plan.judgements, *frozen)
    named = [Path(path) for path in every if isinstance(path, str | Path) and str(path)]
    return [path for path in named if path.is_file()]


def _require_valid(plan: TrackPlan, found: Organised) -> None:
    lost = [each for each in found.submissions if not each.valid]
    if lost and plan.strict:
        raise InputError(
            f"{len(lost)} of {len(found.submissions)} files are not valid, such as {visible(lost[0].file)}:"
            f" {visible(lost[0].first)} (--strict)"
        )
    if not found.valid and plan.stage != "validate":
        raise InputError(f"{visible(str(plan.folder))}: none of {len(found.submissions)} files is valid")


def _parts(plan: TrackPlan, stage: Stage, ledger: DoneStages) -> dict[str, Any]:
    """Return everything that a stage is made of; what earlier stages made is known by its digests."""
    inputs = plan.inputs
    if stage == "validate":
        entries = entries_in(plan.folder, plan.limits)
        teams = "" if plan.teams is None else sha256(read_whole(plan.teams, "a list of teams")).hexdigest()
        rules = {"track": plan.track, "teams": teams, "limits": plan.limits}
        return {"entries": entries, **rules, **{name: inputs[name] for name in ("topics", "qrels")}}
    # What is not valid changes the pages and the archive, and nothing that is judged or scored.
    first = 0 if stage in ("pages", "archive") else 1
    valid = [(each.file, each.run, each.sha256) for each in _submissions(plan)]
    before = {"valid": valid, **ledger.files(*STAGES[first : STAGES.index(stage)])}
    if stage == "pool":
        if plan.label is None:
            return {"before": before, "depth": plan.depth}
        drawn = {"label": plan.label, "seed": plan.seed, "rubric": _judging.asked_of_people(plan).digest}
        return {"before": before, "depth": plan.depth, **drawn, **inputs}
    judged = {"rubrics": _rubrics(plan), "judges": _judges(plan), "vote": plan.settings.vote}
    if stage == "judge":
        given = [stamp(path) for path in plan.judgements]
        return {"before": before, **inputs, **judged, "given": given, "refresh": plan.settings.refresh}
    scored = {"measures": plan.measures, "on_missing": plan.on_missing, "nuggets": inputs["nuggets"]}
    if stage == "score":
        return {"before": before, "qrels": inputs["qrels"], "topics": inputs["topics"], **scored}
    cited = stamp(plan.citation) if plan.citation is not None else ""
    return {"before": before, "title": plan.heading, "citation": cited, **inputs, **judged}


def _rubrics(plan: TrackPlan) -> list[str]:
    from rageval.judges.rubric import rubric_named

    return [f"{name}@{rubric_named(name).digest}" for name in plan.rubrics]


def _judges(plan: TrackPlan) -> list[str]:
    """Return the judges; of one that replays a file, also what is in it."""
    named = [judge.partition("frozen:")[2] for judge in plan.judges]
    return [
        judge + (f"@{stamp(file)}" if file else "") for judge, file in zip(plan.judges, named, strict=True)
    ]


def _validate(plan: TrackPlan, ledger: DoneStages, say: _Say) -> list[str]:
    found, said = checked(
        plan.folder,
        plan.track,
        source_of(plan, "topics"),
        None if plan.qrels is None else _scoring.judged_topics(plan),
        plan.teams,
        plan.limits,
    )
    write_lines(plan.out / _SUBMISSIONS, lines_of(found))
    write_lines(plan.out / _FINDINGS, finding_lines(said))
    return [_SUBMISSIONS, _FINDINGS]


def _submissions(plan: TrackPlan) -> list[Submission]:
    return [each for each in read_submissions(plan.out / _SUBMISSIONS) if each.valid]


def _pool(plan: TrackPlan, ledger: DoneStages, say: _Say) -> list[str]:
    return _judging.pool(plan, _submissions(plan), say)


def _judge(plan: TrackPlan, ledger: DoneStages, say: _Say) -> list[str]:
    return _judging.judge(plan, _submissions(plan), say)


def _score(plan: TrackPlan, ledger: DoneStages, say: _Say) -> list[str]:
    return _scoring.score(plan, _submissions(plan), ledger.files("judge"), say)


def _pages(plan: TrackPlan, ledger: DoneStages, say: _Say) -> list[str]:
    from rageval.track._publishing import write_pages

    return write_pages(plan, read_submissions(plan.out / _SUBMISSIONS), ledger.files("judge"))


def _archive(plan: TrackPlan, ledger: DoneStages, say: _Say) -> list[str]:
    from rageval.track._publishing import write_archive

    return write_archive(plan, _submissions(plan), ledger.files(*STAGES[:-1]))


_WORK: Mapping[str, Callable[[TrackPlan, DoneStages, _Say], list[str]]] = {
    "validate": _validate,
    "pool": _pool,
    "judge": _judge,
    "score": _score,
    "pages": _pages,
    "archive": _archive,
}
