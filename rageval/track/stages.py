"""The stages of a track, each done once: validation, pool, judgements, scores, pages, an archive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from rageval.building import pool_lines, pooled, read_pool
from rageval.checking.tracks import columns_named
from rageval.comparison import plans
from rageval.comparison.leaderboards import Standing
from rageval.comparison.plans import Aim, Population
from rageval.errors import InputError, MissingJudgements, Place, UsageError
from rageval.files.folders import refuse_others, require_folder
from rageval.files.jsonl import first_record
from rageval.files.judgements import GRADED, judgement_line
from rageval.files.opening import BOM, DEFAULT, chunks
from rageval.files.plans import Ask, plan_lines
from rageval.files.whole import read_whole
from rageval.files.writing import whole_file, write_lines
from rageval.judges.material import Material, gathered, tasks
from rageval.judges.panel import judged_by, prepare_settings
from rageval.judges.rubric import Rubric, rubric_named
from rageval.measures.scales import usual_measure
from rageval.pages.page import require_engine
from rageval.scoring.answers import read_judgements
from rageval.scoring.gold import UNIFORM, drawn, gold_of
from rageval.scoring.sources import read_run
from rageval.statistics.correction import FEWEST
from rageval.text import visible
from rageval.track.entries import EntryLimits, entries_in
from rageval.track.leaderboard import judged_topics, parsed, read_standings, score, write_archive
from rageval.track.plan import (
    ANSWERS_FILE,
    NAME,
    QUESTIONS_FILE,
    STAGES,
    DoneStages,
    Stage,
    TrackPlan,
    key_of,
    source_of,
    stamp,
)
from rageval.track.publication import write_pages
from rageval.track.submissions import (
    OF_NO_RUN,
    Submission,
    answers_of,
    checked,
    finding_lines,
    lines_of,
    read_submissions,
    write_tables,
)
from rageval.track.values import STANDINGS, some_of
from rageval.version import __version__

POOL, LABEL = "pool.jsonl", "label.jsonl"
FOLDER = "judgements"
_LABELS = "labels"  # of people, which correct what is judged
_RUBRIC = "crag"  # of plain answers, where none is named
_Pool = dict[str, dict[str, dict[str, int]]]  # query -> document -> run -> rank


def _pool(plan: TrackPlan, submissions: Sequence[Submission], say: _Say) -> list[str]:
    """Write the documents to judge, with the runs that found or cite them; and a plan of labels if asked."""
    if plan.is_of_runs:
        runs = {submission.run: read_run(str(plan.folder / submission.file)) for submission in submissions}
        pool = pooled(runs, plan.depth)
    else:
        pool = {}
        for answer in answers_of(plan, submissions):
            # In the order of the text, which stands in for a rank where nothing was ranked.
            cited = dict.fromkeys(doc for part in answer.sentences for doc in part.citations if doc)
            docs = pool.setdefault(answer.query_id, {})
            for rank, doc in enumerate(cited, 1):
                docs.setdefault(doc, {})[answer.run_id] = rank
    write_lines(plan.out / POOL, pool_lines(pool))
    documents = sum(map(len, pool.values()))
    what = f"the top {plan.depth} of" if plan.is_of_runs else "cited by"
    # Tables seldom cite: nothing to pool is no news of them.
    if documents or not plan.is_of_tables:
        say(f"pool: {documents:,} documents of {len(pool):,} topics, {what} {len(submissions):,} runs")
    place = plan.out / LABEL
    if plan.label is not None:
        lines = list(_labels(plan, submissions, pool, say))
        # Byte for byte: labels name the plan by its digest, and those of another plan are refused.
        if place.is_file() and place.read_bytes() != "".join(f"{line}\n" for line in lines).encode():
            raise UsageError(
                f"{visible(str(place))}: is another plan, and a plan must not change once labeling starts;"
                " move it away for a new one, or leave out --label"
            )
        write_lines(place, lines)
    return [POOL, *([LABEL] if place.is_file() else [])]


def _labeling_rubric(plan: TrackPlan) -> Rubric:
    """Return the rubric of a plan of labels: the judges', or what suits what was handed in."""
    if len(plan.rubrics) > 1:
        raise UsageError("--label: expected one --rubric for the annotators")
    usual = "relevance" if plan.is_of_runs else _RUBRIC if plan.is_of_tables else "nugget-assignment"
    return rubric_named(plan.rubrics[0] if plan.rubrics else usual)


def _labels(plan: TrackPlan, submissions: Sequence[Submission], pool: _Pool, say: _Say) -> Iterator[str]:
    """Yield a plan of what people shall label: whole topics, drawn at random."""

    rubric = _labeling_rubric(plan)
    material = _material(plan, submissions, pool, say)
    asks: dict[str, list[Ask]] = {}
    for task in tasks(rubric, material):
        for rows in () if task.failed else task.rows.values():
            for row in rows:
                asks.setdefault(row.query, []).append(
                    Ask(
                        row.run,
                        row.item,
                        row.aspect,
                        importance=row.also.get("importance"),
                        weight=row.also.get("weight"),
                    )
                )
    systems = tuple(dict.fromkeys(ask.run_id for query_asks in asks.values() for ask in query_asks))
    # Fewer topics than were asked for: then all of them.
    number = min(plan.label or 0, len(asks))
    if not number:
        raise InputError(at=Place("--label"), problem=f"nothing to label with {rubric.name}")
    label_plan = plans.plan(Population(systems, asks), Aim(number, plan.seed), rubric, material)
    labels = sum(query.judgements for query in label_plan.asked)
    say(f"label: {number} of {len(asks)} topics, {labels:,} labels")
    return plan_lines(label_plan)


def _material(plan: TrackPlan, submissions: Sequence[Submission], pool: _Pool, say: _Say) -> Material:
    candidates = [(query, doc) for query, docs in pool.items() for doc in docs]
    topics, nuggets, passages = (source_of(plan, name) for name in ("topics", "nuggets", "passages"))
    if plan.is_of_tables:
        topics = plan.out / QUESTIONS_FILE
    # Without the answers: a question or a text that one of them holds would be taken for those of all.
    material = gathered([], topics, nuggets, passages, candidates, every_question=False)
    if plan.is_of_runs:
        return material
    answers = list(answers_of(plan, submissions))
    corpus = None if passages is None else {doc: material.passage(doc) for doc in material.passages}
    lost: dict[str, int] = {}
    # Where nobody has texts, a judge that needs some says so.
    if corpus is not None or any(answer.passages for answer in answers):
        for index, answer in enumerate(answers):
            own = answer.passages
            texts: Mapping[str, str] = dict(own)
            # The organizer's texts, where there are some, go before those that the answer brings.
            if corpus is not None:
                own, texts = tuple((doc, corpus[doc]) for doc in texts if doc in corpus), corpus
            citations = [doc for part in answer.sentences for doc in part.citations if doc is not None]
            missing = sum(doc not in texts for doc in citations)
            if missing:
                lost[answer.run_id] = lost.get(answer.run_id, 0) + missing
            sentences = tuple(
                part._replace(citations=tuple(doc if doc in texts else None for doc in part.citations))
                for part in answer.sentences
            )
            answers[index] = answer._replace(passages=own, sentences=sentences)
    if lost:
        shown = some_of([f"{visible(run)} ({number:,})" for run, number in lost.items()])
        say(f"judge: cited documents without a text cannot be judged: {shown}")
    return replace(material, answers=answers, candidates={})


def _judge(plan: TrackPlan, submissions: Sequence[Submission], say: _Say) -> list[str]:
    """Let the judges judge, a file a rubric; take over judgements that are there.

    A judgement that failed is written with its status, and the stage is not done: what failed is asked again
    when the command is given again.
    """
    files: list[str] = []
    material = Material()
    if plan.rubrics:
        place = plan.out / POOL
        pool = read_pool(place) if place.stat().st_size else {}  # of answers that cite nothing
        material = _material(plan, submissions, pool, say)
    lost = 0
    for name in dict.fromkeys(plan.rubrics):
        rubric = rubric_named(name)
        if "gold" in rubric.file.sees and not any(question.gold for question in material.questions.values()):
            raise InputError(
                problem=f"there are no right answers, which {rubric.name} needs",
                remedy="add them to --topics"
                f" FILE{' or to the tables' * (plan.is_of_tables and plan.topics is None)}",
            )
        settings, remarks = prepare_settings(plan.judges, rubric, material, plan.settings)
        for remark in remarks:
            say(f"judge: {remark}")
        judgements = list(judged_by(plan.judges, rubric, material, settings))
        files.append(f"{FOLDER}/{rubric.name}.jsonl")
        write_lines(plan.out / files[-1], map(judgement_line, judgements))
        failed = sum(row.get("status", "ok") not in GRADED for row in judgements)
        # Written all the same: what was paid for stays, and only what failed is asked again.
        lost += failed
        say(
            f"judge: {len(judgements):,} judgements by {rubric.name}"
            + (f", {failed:,} failed" if failed else "")
        )
    for number, path in enumerate(sorted(plan.judgements, key=stamp), 1):
        # Copied, so that the archive holds what the scores rest on; by number, as two files may have one
        # name.
        files.append(f"{FOLDER}/given-{number}.jsonl")
        write_lines(
            plan.out / files[-1], _copied_lines(path, {submission.run for submission in submissions}, say)
        )
    if not files and plan.qrels is None:
        option = "--qrels FILE" if plan.is_of_runs else "--judgements FILE"
        raise MissingJudgements(
            f"nothing is judged yet: use --rubric NAME with --judge JUDGE, or {option}; the pool to judge is"
            f" in {visible(str(plan.out / POOL))} (--label N draws topics to label)"
        )
    # After all rubrics: one command more asks again for everything that failed.
    if lost and plan.on_missing == "error":
        absent = sum(bool(answer.error) for answer in material.answers)
        absence = f" ({absent:,} answers are not there)" if absent else ""
        raise MissingJudgements(
            f"{lost:,} judgements failed{absence}: run the command again to ask for them again, or use"
            " --on-missing skip, worst or best"
        )
    return files


_RUN_KEYS = ("run_id", "assistant_a_run_id", "assistant_b_run_id")  # the last two of RAGDoll's battles


def _copied_lines(path: str | Path, runs: Collection[str], say: _Say) -> Iterator[str]:
    """Yield the lines of judgements that were made elsewhere, but for those of runs that are left out."""
    others, kept_runs = 0, {*runs, *OF_NO_RUN}
    for text in chunks(path, DEFAULT.record):
        for line in text.removeprefix(BOM).decode("utf-8", "replace").splitlines():
            record = (first_record(line.encode()) if 'run_id"' in line else None) or {}
            # A battle with a run that is left out is left out for its rival, too.
            if not {str(record[key]) for key in _RUN_KEYS if key in record} <= kept_runs:
                others += 1
            else:
                yield line
    if others:
        shown = visible(str(path))
        say(f"judge: {others:,} lines of {shown} are of runs that are not scored, and are left out")


# The stages of a track, each done once: validation, pool, judgements, scores, pages, an archive.

__all__ = ["EntryLimits", "Organized", "TrackPlan", "leaderboard_of", "organize"]
_SUBMISSIONS, _FINDINGS = "submissions.jsonl", "findings.jsonl"
_Say = Callable[[str], None]


@dataclass
class Organized:
    """The result of a track: every submitted file, the stages that ran, and those that were up to date."""

    submissions: list[Submission] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    @property
    def valid(self) -> list[Submission]:
        """The runs that are scored."""
        return [submission for submission in self.submissions if submission.valid]


def organize(
    plan: TrackPlan,
    say: _Say = lambda message: None,
    listed: Callable[[Sequence[Submission]], None] = lambda submissions: None,
) -> Organized:
    """Run the stages up to the plan's last one, skipping those that are up to date.

    Parameters
    ----------
    plan
        The plan.
    say
        Called with progress and remarks, one line at a time.
    listed
        Called with every submitted file, once it is known which are valid.

    Returns
    -------
    Organized
        The submissions and the stages.
    """
    rubrics = plan.rubrics or ((_RUBRIC,) if plan.is_of_tables and plan.judges else ())
    measures = filter(None, (usual_measure(rubric_named(name).name) for name in rubrics))
    named = replace(plan, rubrics=rubrics, measures=plan.measures or ",".join(dict.fromkeys(measures)))
    _check_plan(named)
    if named != plan:
        plan = named
        say(f"judged by {', '.join(plan.judges)}: rubric {', '.join(plan.rubrics)}, measure {plan.measures}")
    ledger = DoneStages(plan.out)
    organized = Organized()
    for stage in STAGES[: STAGES.index(plan.stage) + 1]:
        key = key_of({"stage": stage, "rageval": __version__, **_stage_inputs(plan, stage, ledger)})
        if ledger.is_done(stage, key):
            organized.kept.append(stage)
        else:
            ledger.forget(stage)
            ledger.keep(stage, key, _run_stage(plan, stage, ledger, say))
            organized.done.append(stage)
        if stage == "validate":
            organized.submissions = read_submissions(plan.out / _SUBMISSIONS)
            listed(organized.submissions)
            lost = [submission for submission in organized.submissions if not submission.valid]
            if lost and plan.strict:
                raise InputError(
                    f"{len(lost)} of {len(organized.submissions)} files are not valid, such as"
                    f" {visible(lost[0].file)} ({visible(lost[0].first)})",
                    at=Place(visible(str(plan.folder))),
                    expected="valid files (--strict)",
                )
            if not organized.valid and plan.stage != "validate":
                raise InputError(
                    at=Place(visible(str(plan.folder))),
                    problem=f"none of {len(organized.submissions)} files is valid",
                )
    return organized


def leaderboard_of(plan: TrackPlan) -> list[Standing]:
    """Return the standings of the runs.

    Parameters
    ----------
    plan
        A plan that was carried out to the stage `score`, or farther.

    Returns
    -------
    list of Standing
        By each measure, the best run first.
    """
    return read_standings(plan.out / STANDINGS)


def _check_plan(plan: TrackPlan) -> None:
    """Refuse a plan that cannot be carried out before anything is written, or paid for."""
    if plan.stage not in STAGES:
        raise UsageError(f"stage {plan.stage!r}: expected one of {', '.join(STAGES)}")
    if columns_named(plan.track) and plan.stage != "validate":
        raise UsageError(f"--track {plan.track}: has questions, not answers; use --stage validate")
    shown = visible(str(plan.out))
    try:
        # Nothing is written among the runs, or among files that nobody knows.
        inside, out = plan.folder.resolve(), plan.out.resolve()
        if out == inside or inside in out.parents or out in inside.parents:
            raise UsageError(f"{shown}: must not be inside the folder of runs; use one beside it")
        # All that stands there may be written again by a later stage; an input among it would be gone then.
        named = (plan.topics, plan.nuggets, plan.passages, plan.qrels, plan.teams, plan.citation)
        frozen = (judge.partition("frozen:")[2] for judge in plan.judges)
        every = (*named, *plan.judgements, *plan.gold, *frozen, _file_of_choice(plan))
        paths = [Path(path) for path in every if isinstance(path, str | Path) and str(path)]
        for path in [path for path in paths if path.is_file()]:
            if out in path.resolve().parents:
                raise UsageError(f"{visible(str(path))}: is read from, expected another folder to write to")
        require_folder(plan.out)
        # With its ledger a folder is the track's, whatever else lies there.
        if not (plan.out / NAME).is_file():
            refuse_others(plan.out, (), "a new folder, or this track's")
    except (OSError, RuntimeError, ValueError) as error:  # a name too long, links in a circle, a NUL
        if isinstance(error, UsageError):
            raise
        shown = f"{visible(str(plan.folder)[:80])}, {visible(str(plan.out)[:80])}"
        raise UsageError(f"{shown}: cannot be looked at ({visible(str(error))[:80]})") from None
    if STAGES.index(plan.stage) >= STAGES.index("pages"):
        require_engine()  # now, and not when everything is judged
    is_untold = plan.topics is None and not plan.is_of_tables
    for option, is_used, stage in (("--label", plan.label, "pool"), ("--rubric", plan.rubrics, "judge")):
        if is_used and is_untold and STAGES.index(plan.stage) >= STAGES.index(stage):
            # Answers repeat what was asked, but it is the same question for all, and not theirs to say.
            raise UsageError(f"{option}: add --topics FILE, the topics")
    is_judged = STAGES.index(plan.stage) >= STAGES.index("judge")
    if plan.is_of_tables and is_judged and not plan.judges and not plan.judgements:
        raise UsageError(
            "--track answers: add --judge JUDGE (short compares with right answers, and needs no model), or"
            " --judgements FILE"
        )
    if bool(plan.rubrics) != bool(plan.judges):
        raise UsageError("--rubric and --judge belong together; give both")
    if plan.is_of_runs and plan.judgements:
        raise UsageError("--judgements is for answers; for judgements of documents use --qrels")
    if not plan.is_of_runs and plan.qrels is not None:
        raise UsageError(f"--qrels: a track of answers ({plan.track}) takes --judgements FILE")
    if plan.gold:
        _check_gold(plan)
    elif plan.gold_chosen:
        raise UsageError("--gold-chosen says how human labels were chosen; add --gold FILE")
    if plan.measures:
        parsed(plan)
    elif STAGES.index(plan.stage) >= STAGES.index("score"):
        raise UsageError("add -m MEASURES for the leaderboard, or --stage judge to stop before it")


def _file_of_choice(plan: TrackPlan) -> Path | None:
    """Return the file that says how labels were chosen, unless it is the plan that this very track drew."""
    path = Path(plan.gold_chosen)
    is_own = path.resolve() == (plan.out / LABEL).resolve()
    return None if is_own or plan.gold_chosen in ("", UNIFORM) else path


def _check_gold(plan: TrackPlan) -> None:
    """Refuse labels that can correct no run, before anybody judges."""
    if plan.is_of_runs:
        raise UsageError("--gold corrects judged answers, but --track run has rankings")
    files = list(map(str, plan.gold))
    labels = gold_of(read_judgements(files), files, drawn(plan.gold_chosen or None)).answers
    queries = {(str(line.run_id), str(line.query_id)) for _, line in labels.each()}
    most = max(Counter(run for run, _ in queries).values(), default=0)
    if most < FEWEST:
        raise InputError(
            at=Place(visible(", ".join(files))),
            problem=f"labels of at most {most} questions a run, {FEWEST} are needed to correct it",
            remedy=f"label {FEWEST} questions of every run, or more",
        )


def _stage_inputs(plan: TrackPlan, stage: Stage, ledger: DoneStages) -> dict[str, Any]:
    """Return everything that a stage is made of; what earlier stages made is known by its digests."""
    inputs = plan.inputs
    if stage == "validate":
        entries = entries_in(plan.folder, plan.limits)
        teams = "" if plan.teams is None else sha256(read_whole(plan.teams, "a list of teams")).hexdigest()
        rules = {"track": plan.track, "teams": teams, "limits": plan.limits}
        return {"entries": entries, **rules, **{name: inputs[name] for name in ("topics", "qrels")}}
    # What is not valid changes the pages and the archive, and nothing that is judged or scored.
    first = 0 if stage in ("pages", "archive") else 1
    valid = [
        (submission.file, submission.run, submission.sha256)
        for submission in read_submissions(plan.out / _SUBMISSIONS)
        if submission.valid
    ]
    before = {"valid": valid, **ledger.files(*STAGES[first : STAGES.index(stage)])}
    tables = {
        name: digest
        for name, digest in ledger.files("validate").items()
        if name in (ANSWERS_FILE, QUESTIONS_FILE)
    }
    before |= tables
    if stage == "pool":
        if plan.label is None:
            return {"before": before, "depth": plan.depth}
        drawn = {"label": plan.label, "seed": plan.seed, "rubric": _labeling_rubric(plan).digest}
        return {"before": before, "depth": plan.depth, **drawn, **inputs}
    rubrics = [f"{name}@{rubric_named(name).digest}" for name in plan.rubrics]
    # Of a judge that replays a file, also what is in it.
    files = [judge.partition("frozen:")[2] for judge in plan.judges]
    judges = [
        judge + (f"@{stamp(file)}" if file else "") for judge, file in zip(plan.judges, files, strict=True)
    ]
    judged = {"rubrics": rubrics, "judges": judges, "vote": plan.settings.vote}
    if stage == "judge":
        given = [stamp(path) for path in plan.judgements]
        return {"before": before, **inputs, **judged, "given": given, "refresh": plan.settings.refresh}
    scored: dict[str, Any] = {"measures": plan.measures, "on_missing": plan.on_missing}
    # The plan that this track drew is among what was made before.
    chosen = _file_of_choice(plan)
    labels = [*map(stamp, plan.gold), plan.gold_chosen if chosen is None else stamp(chosen)]
    scored |= {"nuggets": inputs["nuggets"], "gold": labels}
    if stage == "score":
        return {"before": before, "qrels": inputs["qrels"], "topics": inputs["topics"], **scored}
    cited = stamp(plan.citation) if plan.citation is not None else ""
    named = {"title": plan.heading, "citation": cited, "chosen": plan.gold_chosen}
    if stage == "archive":
        named |= {"bundle": plan.bundle}
    return {"before": before, **named, **inputs, **judged}


def _run_stage(plan: TrackPlan, stage: Stage, ledger: DoneStages, say: _Say) -> list[str]:
    """Do a stage, and return what it made."""
    if stage == "validate":
        topics = source_of(plan, "topics")
        judged = None if plan.qrels is None else judged_topics(plan)
        entries, findings = checked(plan.folder, plan.track, topics, judged, plan.teams, plan.limits)
        write_lines(plan.out / _SUBMISSIONS, lines_of(entries))
        write_lines(plan.out / _FINDINGS, finding_lines(findings))
        valid = [submission for submission in entries if submission.valid]
        tables = write_tables(plan, valid, say) if plan.is_of_tables and valid else []
        return [_SUBMISSIONS, _FINDINGS, *tables]
    submissions = read_submissions(plan.out / _SUBMISSIONS)
    valid = [submission for submission in submissions if submission.valid]
    if stage == "pool":
        return _pool(plan, valid, say)
    if stage == "judge":
        return _judge(plan, valid, say)
    if stage == "score":
        # Scored by the copies, so that whoever scores again by what is published gets the same signatures.
        kept, runs = [], {submission.run for submission in valid}
        for number, path in enumerate(sorted(plan.gold, key=stamp), 1):
            kept.append(f"{_LABELS}/gold-{number}.jsonl")
            write_lines(plan.out / kept[-1], _copied_lines(path, runs, say))
        labels = [str(plan.out / name) for name in kept]
        chosen = _file_of_choice(plan)
        if chosen is not None:
            kept.append(f"{_LABELS}/chosen{chosen.suffix}")
            with whole_file(plan.out / kept[-1]) as stream:  # a plan is known by its digest
                stream.write(read_whole(chosen, "how labels were chosen"))
        return [*score(replace(plan, gold=tuple(labels)), valid, ledger.files("judge"), say), *kept]
    if stage == "pages":
        # Not imported for the stages before: pages need a package more.
        return write_pages(plan, submissions, ledger.files("judge"))
    # Pages are published beside, and show texts that a bundle of digests does not give away.
    published = list(ledger.files("validate", "pool", "score"))
    if plan.topics is not None:  # whose right answers are the organizer's to publish
        published = [name for name in published if name != QUESTIONS_FILE]
    return write_archive(plan, valid, ledger.files("judge"), published, say)
