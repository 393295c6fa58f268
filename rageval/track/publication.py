"""The publisher of leaderboards: pages of a track, and the site of a bundle."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rageval.comparison.leaderboards import Standing, intervals_of_standings
from rageval.core.estimate import Estimate
from rageval.core.judge import parse_judge
from rageval.errors import InputError, Place, UsageError
from rageval.files.folders import refuse_others, require_folder
from rageval.files.jsonl import read_records
from rageval.files.judgements import GRADED
from rageval.files.nuggets import read_nuggets
from rageval.files.questions import read_questions
from rageval.files.scores import ALL, LeaderboardRow, read_leaderboard
from rageval.files.writing import file_names, make_folder, whole_file, write_lines
from rageval.judges.rubric import rubric_named
from rageval.measures.parsing import parse_measure
from rageval.pages.every_eval_ever import Evaluation, Interactions, MeasureResult, prompt_text, record_files
from rageval.pages.page import size_of, track_page
from rageval.records import Nugget, Question
from rageval.subjects import ANSWERS, RUNS
from rageval.table import finite, or_none
from rageval.text import visible
from rageval.track.bundle import Bundle, opened_bundle
from rageval.track.leaderboard import ARCHIVE, read_standings
from rageval.track.plan import DoneStages, TrackPlan, questions_of, source_of
from rageval.track.submissions import Submission
from rageval.track.values import STANDINGS, TABLE, VALUES, equal_runs, some_of
from rageval.track.verification import Verified, verified
from rageval.version import __version__
from rageval.views.bases import describe_basis

_PAGES = "pages"
_SITE = "site"
_RECORDS = "every_eval_ever"
_MOST = 300  # characters of what was asked in a table
_MARKS = {
    **dict.fromkeys(("support", "full", "full_support", "supports", "yes", "met"), "✓"),
    **dict.fromkeys(("partial", "partial_support", "partly"), "◐"),
    **dict.fromkeys(("not_support", "no_support", "none", "no", "not"), "–"),
    **dict.fromkeys(("contradicts", "contradiction"), "✗"),
}
_SIGNS = frozenset(_MARKS.values())
_MOST_NAMES = 20  # of rubrics, and of judges
_Values = dict[str, dict[str, dict[str, float]]]  # measure -> run -> topic -> value


def write_pages(
    plan: TrackPlan, submissions: Sequence[Submission], judgement_files: Iterable[str]
) -> list[str]:
    """Write the pages of a track; return their names in its folder."""
    provenance = [("track", plan.track)]
    if plan.gold:
        provenance.append(("human labels", f"chosen: {Path(plan.gold_chosen).name or 'not said'}"))
    pages = LeaderboardPages(
        plan.heading,
        read_standings(plan.out / STANDINGS),
        read_leaderboard(plan.out / VALUES),
        provenance,
        texts={name: asked.text for name, asked in (questions_of(plan) or {}).items()},
        nuggets=read_nuggets(source_of(plan, "nuggets")) if plan.nuggets is not None else (),
        judgement_files=[str(plan.out / name) for name in judgement_files],
    )
    return [f"{_PAGES}/{name}" for name in pages.write(plan.out / _PAGES, submissions)]


def publish(path: Path, folder: Path) -> tuple[Verified, list[str]]:
    """Write the site of a bundle that recomputes: pages, downloads, and records of every_eval_ever.

    Parameters
    ----------
    path
        The bundle.
    folder
        Folder for the site: a new folder, or the site of a bundle.

    Returns
    -------
    Verified
        What recomputing gave.
    list of str
        The names of the files; none where something differs, or values cannot be recomputed.
    """
    require_folder(folder)
    if os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep):
        raise UsageError(f"{visible(str(path))}: is read from, expected another folder to write to")
    ledger = DoneStages(folder)
    if not ledger.files(_SITE):
        refuse_others(folder, (), "a new folder, or the site of a board")
    with opened_bundle(path) as bundle:
        verification = verified(bundle)
        if not verification.is_recomputed:
            return verification, []
        manifest = bundle.manifest
        topics, nuggets = bundle.paths.get(manifest.topics), bundle.paths.get(manifest.nuggets)
        questions = () if topics is None else read_questions(str(topics))
        asked = {question.query_id: question for question in questions}
        provenance = []
        if manifest.labels:
            provenance.append(("human labels", f"chosen: {Path(manifest.labels_chosen).name or 'not said'}"))
        pages = LeaderboardPages(
            manifest.title,
            read_standings(bundle.path(STANDINGS)),
            read_leaderboard(str(bundle.path(VALUES))),
            provenance,
            texts={query: question.text for query, question in asked.items()},
            nuggets=() if nuggets is None else read_nuggets(str(nuggets)),
            judgement_files=[str(bundle.path(file.file)) for file in manifest.judgements],
        )
        content: dict[str, bytes | Path] = {ARCHIVE: path}
        content |= {name: bundle.path(name) for name in (TABLE, STANDINGS, VALUES)}
        content |= {f"{_RECORDS}/{name}": data for name, data in _records(bundle, asked).items()}
        check = {
            "size": size_of(path.stat().st_size),
            "command": [
                f"pip install rageval=={__version__}",
                f"rageval board verify {ARCHIVE} \\",
                f"    --sha256 {bundle.sha256}",
            ],
            "steps": verification.as_dict()["steps"],
            "believed": verification.believed,
        }
        written = pages.write(folder, check=check)
        for name, source in content.items():
            place = folder / name
            make_folder(place.parent)
            with whole_file(place) as stream:
                if isinstance(source, bytes):
                    stream.write(source)
                else:
                    with source.open("rb") as content_stream:
                        shutil.copyfileobj(content_stream, stream)
            written.append(name)
    # What an earlier bundle had, and this one has not, is removed.
    ledger.keep(_SITE, bundle.sha256, written)
    return verification, written


def _records(bundle: Bundle, asked: Mapping[str, Question]) -> dict[str, bytes]:
    """Return the records of every_eval_ever of the systems of a bundle that recomputes."""
    by_query: dict[tuple[str, str], dict[str, float]] = {}
    for row in read_leaderboard(str(bundle.path(VALUES))):
        if row.query_id != ALL:
            by_query.setdefault((row.run_id, row.measure), {})[row.query_id] = row.value
    results: dict[str, list[MeasureResult]] = {}
    for standing in read_standings(bundle.path(STANDINGS)):
        estimate = Estimate(
            standing.value,
            standing.low,
            standing.high,
            queries=standing.queries,
            basis=standing.claim_basis,
            judged=standing.judged,
        )
        values = by_query.get((standing.run, standing.measure), {})
        result = MeasureResult(parse_measure(standing.measure), estimate, standing.signature, values)
        results.setdefault(standing.run, []).append(result)
    manifest = bundle.manifest
    is_run = manifest.track == "run"
    evaluation = Evaluation(
        manifest.title,
        (RUNS if is_run else ANSWERS).noun,
        [prompt_text(rubric_named(str(bundle.path(name)))) for name in manifest.rubrics.values()],
        {"bundle_sha256": bundle.sha256},
        Interactions(asked, () if is_run else bundle.read_answers()),
    )
    return record_files(evaluation, results)


class _ShownJudgement(msgspec.Struct):
    """What pages show of a judgement."""

    query_id: str | int = ""
    run_id: str | int = ""
    item_id: str | int = "answer"
    aspect: str | int = "0"
    label: str | None = None
    grade: float | None = None
    status: str = "ok"
    judge: str = ""
    rubric: str = ""


class LeaderboardPages:
    """The contents of the pages of a leaderboard, looked up in the scores.

    Parameters
    ----------
    title
        Title of the leaderboard.
    standings
        Rank, value and interval of each run, by measure.
    values
        Value of each run and topic, by measure.
    provenance
        Further rows of the table of provenance, as (name, text).
    texts
        Text of each topic; topics without a text show only their name.
    nuggets
        Nuggets of the topics, if there are any.
    judgement_files
        Paths of the files of judgements, for the marks of nuggets and the names of judges and rubrics.
    """

    def __init__(
        self,
        title: str,
        standings: Sequence[Standing],
        values: Iterable[LeaderboardRow],
        provenance: Sequence[tuple[str, str]],
        *,
        texts: Mapping[str, str],
        nuggets: Iterable[Nugget],
        judgement_files: Iterable[str],
    ) -> None:
        self.title, self.standings = title, standings
        self.measures = list(dict.fromkeys(row.measure for row in self.standings))
        self.runs = [row.run for row in self.standings if row.measure == self.measures[0]]
        self.values: _Values = {}
        values = list(values)
        # Runs that are the same are all listed, and each says so.
        self.same = {run: some_of(runs) for runs in equal_runs(values) for run in runs}
        for value in values:
            if value.query_id != ALL:
                of_run = self.values.setdefault(value.measure, {}).setdefault(value.run_id, {})
                of_run[value.query_id] = value.value
        runs_of_measure = self.values.get(self.measures[0], {})
        runs = runs_of_measure.keys() & set(self.runs)
        strange = next((row.run for row in standings if row.run not in runs), None)
        if strange is not None:  # one of the files was changed since both were written
            raise InputError(
                at=Place(STANDINGS),
                problem=f"ranks the run {visible(strange)[:80]!r}, of which {VALUES} has no values",
                remedy="remove both files, and run the command again",
            )
        self.topics = list(dict.fromkeys(topic for of_run in runs_of_measure.values() for topic in of_run))
        self.page_of_topic = {name: f"topic-{file}.html" for name, file in file_names(self.topics).items()}
        self.page_of_run = {name: f"run-{file}.html" for name, file in file_names(self.runs).items()}
        # Looked up once: a page a run, each of which looked through all runs, would take their square.
        self.topic_neighbours = _neighbours(self.topics, self.page_of_topic)
        self.run_neighbours = _neighbours(self.runs, self.page_of_run)
        self.places: dict[str, list[dict[str, Any]]] = {run: [] for run in self.runs}
        for standing in self.standings:
            self.places[standing.run].append(finite(standing._asdict()))
        self.texts = texts
        self.nuggets: dict[str, list[Nugget]] = {}
        for nugget in nuggets:
            self.nuggets.setdefault(nugget.query_id, []).append(nugget)
        # What was said of every nugget in every answer, as a sign: by topic, run and nugget.
        self.marks: dict[tuple[str, str, str], str] = {}
        rubrics: dict[str, None] = {}
        judges: dict[str, None] = {}
        for path in judgement_files:
            for _, row in read_records(path, _ShownJudgement, "judgements"):
                rubrics.setdefault(row.rubric)
                judges.setdefault(row.judge)
                if self.nuggets and row.item_id == "answer":
                    place = str(row.query_id), str(row.run_id), str(row.aspect)
                    if row.status not in GRADED:
                        mark = "?"
                    elif row.label is not None:
                        mark = _MARKS.get(row.label.lower().replace(" ", "_"), row.label[:8])
                    else:
                        # A number is no verdict: a proxy that counts words says nothing of support.
                        mark = "" if row.grade is None else f"{row.grade:.1f}"
                    self.marks[place] = mark
        # All that can be known from what is shown: nothing that somebody states is repeated.
        self.provenance = [
            *provenance,
            ("rageval", __version__),
            ("intervals", intervals_of_standings(self.standings)),
        ]
        self.provenance += [("rubric", name) for name in list(rubrics)[:_MOST_NAMES] if name]
        self.provenance += [
            ("judge", name) for name in list(judges)[:_MOST_NAMES] if name and not parse_judge(name).is_person
        ]

    def write(
        self,
        folder: Path,
        submissions: Sequence[Submission] = (),
        check: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Write the page of the leaderboard, a page a topic and a page a run; return their names.

        `submissions` are all files of a track; `check` is what the first page says of how to recompute it.
        """
        pages = {"index.html": track_page("index", {**self.index(submissions), "check": check})}
        for topic in self.topics:
            pages[self.page_of_topic[topic]] = track_page("topic", self.topic(topic))
        for run in self.runs:
            pages[self.page_of_run[run]] = track_page("run", self.run(run))
        for name, text in pages.items():
            write_lines(folder / name, [text])
        return list(pages)

    def value(self, measure: str, run: str, topic: str) -> float | None:
        """Return a value, None where it is undefined."""
        value: float | None = or_none(self.values.get(measure, {}).get(run, {}).get(topic))
        return value

    def index(self, submissions: Sequence[Submission]) -> dict[str, Any]:
        """Return the contents of the leaderboard page."""
        first = self.measures[0]
        means: dict[str, float] = {}
        for topic in self.topics:
            values = [self.values[first][run].get(topic, math.nan) for run in self.runs]
            defined = [value for value in values if value == value]
            means[topic] = math.fsum(defined) / len(defined) if defined else math.nan
        sign = -1.0 if parse_measure(first).better == "lower" else 1.0

        def hardness(topic: str) -> tuple[float, str]:
            # NaN has no place in an order: it is taken for infinite.
            return sign * (means[topic] if means[topic] == means[topic] else math.inf), topic

        tables = []
        for measure in self.measures:
            rows = [row for row in self.standings if row.measure == measure]
            cells = [
                {
                    **finite(row._asdict()),
                    "href": self.page_of_run[row.run],
                    "same": self.same.get(row.run, ""),
                }
                for row in rows
            ]
            basis = describe_basis(rows[0].claim_basis)
            ends = [end for row in rows for end in (row.low, row.value, row.high) if end == end]
            tables.append(
                {
                    "measure": measure,
                    "basis": basis,
                    "judged": any(row.judged is not None for row in rows),
                    "rows": cells,
                    "least": min(ends, default=0.0),
                    "width": (max(ends, default=0.0) - min(ends, default=0.0)) or 1.0,
                }
            )
        return {
            "title": self.title,
            "lead": f"{len(self.runs):,} runs · {len(self.topics):,} topics",
            "first": first,
            "tables": tables,
            "topics": [
                {
                    "name": topic,
                    "href": self.page_of_topic[topic],
                    "text": self.texts.get(topic, "")[:_MOST],
                    "mean": or_none(means[topic]),
                }
                for topic in sorted(self.topics, key=hardness)
            ],
            "submissions": submissions,
            "made": self.provenance,
            "signatures": list(dict.fromkeys(row.signature for row in self.standings)),
        }

    def topic(self, topic: str) -> dict[str, Any]:
        """Return the contents of a topic page: the runs by their values, and which run has which nugget."""
        rows = [
            {
                "name": run,
                "href": self.page_of_run[run],
                "text": "",
                "numbers": [self.value(measure, run, topic) for measure in self.measures],
            }
            for run in self.runs
        ]
        nuggets = []
        for nugget in self.nuggets.get(topic, ()):
            marks = [self.marks.get((topic, run, nugget.nugget_id), "") for run in self.runs]
            # Only where a mark is a verdict can it be counted how many runs have the nugget.
            having = sum(mark in ("✓", "◐") for mark in marks) if _SIGNS & set(marks) else None
            nuggets.append(
                {"text": nugget.text, "importance": nugget.importance, "runs": having, "marks": marks}
            )
        return {
            "title": f"Topic {topic}",
            "lead": self.texts.get(topic, ""),
            "measures": self.measures,
            "rows": rows,
            "places": [],
            "columns": self.runs,
            "marks": nuggets,
            **self.topic_neighbours[topic],
        }

    def run(self, run: str) -> dict[str, Any]:
        """Return the contents of a run page: its rank, and its value of every topic."""
        rows = [
            {
                "name": topic,
                "href": self.page_of_topic[topic],
                "text": self.texts.get(topic, "")[:_MOST],
                "numbers": [self.value(measure, run, topic) for measure in self.measures],
            }
            for topic in self.topics
        ]
        return {
            "title": f"Run {run}",
            "lead": self.title,
            "measures": self.measures,
            "rows": rows,
            "places": self.places[run],
            "columns": [],
            "marks": [],
            **self.run_neighbours[run],
        }


def _neighbours(names: Sequence[str], pages: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return for each name which stand before and after it, with their pages."""
    links = [{"name": name, "href": pages[name]} for name in names]
    places = [None, *links, None]
    return {name: {"before": places[index], "after": places[index + 2]} for index, name in enumerate(names)}
