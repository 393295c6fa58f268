"""What is published of a track: pages to look at, and an archive whose bytes can be made again."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rageval.comparison.leaderboards import HOW, Standing
from rageval.errors import InputError
from rageval.files.jsonl import read_records
from rageval.files.judgements import GRADED
from rageval.files.nuggets import read_nuggets
from rageval.files.scores import ALL, LeaderboardRow, read_leaderboard
from rageval.files.whole import open_regular
from rageval.files.writing import file_names, write_lines
from rageval.judges.rubric import rubric_named
from rageval.measures.parsing import parse_measure
from rageval.pages.page import track_page
from rageval.records import Nugget
from rageval.scoring.basis import in_words
from rageval.table import finite, or_none
from rageval.text import visible
from rageval.track.bundle import Board, given_away, write_bundle
from rageval.track.leaderboard import read_standings
from rageval.track.plan import ANSWERS, TrackPlan, questions_of, source_of
from rageval.track.submissions import Submission
from rageval.track.values import STANDINGS, VALUES, ScoringInputs, System
from rageval.version import __version__

ARCHIVE = "board.tar.gz"
_PAGES = "pages"
_MOST = 300  # characters of what was asked in a table
_MARKS = {
    **dict.fromkeys(("support", "full", "full_support", "supports", "yes", "met"), "✓"),
    **dict.fromkeys(("partial", "partial_support", "partly"), "◐"),
    **dict.fromkeys(("not_support", "no_support", "none", "no", "not"), "–"),
    **dict.fromkeys(("contradicts", "contradiction"), "✗"),
}
# What is known where no citation was named.
_CITATION = """\
cff-version: 1.2.0
message: If you use these runs, judgements or scores, please cite them.
title: {}
type: dataset
authors:
  - name: "The organizers"
"""
_SIGNS = frozenset(_MARKS.values())
_Say = Callable[[str], None]
_Values = dict[str, dict[str, dict[str, float]]]  # measure -> run -> topic -> value


def write_pages(plan: TrackPlan, submissions: Sequence[Submission], judged: Mapping[str, str]) -> list[str]:
    """Write the page of the leaderboard, a page a topic and a page a run."""
    made = [("track", plan.track), ("rageval", __version__), ("intervals", HOW)]
    made += [("rubric", f"{name}@{rubric_named(name).digest}") for name in dict.fromkeys(plan.rubrics)]
    made += [("judge", _without_folder(judge)) for judge in plan.judges]
    if plan.gold:
        made += [("human labels", f"chosen: {_chosen(plan)}")]
    shown = LeaderboardPages(
        plan.heading,
        read_standings(plan.out / STANDINGS),
        read_leaderboard(plan.out / VALUES),
        made,
        texts={name: asked.text for name, asked in (questions_of(plan) or {}).items()},
        nuggets=read_nuggets(source_of(plan, "nuggets")) if plan.nuggets is not None else (),
        judged=[str(plan.out / name) for name in judged],
    )
    pages = shown.pages(submissions)
    for name, text in pages.items():
        write_lines(plan.out / _PAGES / name, [text])
    return [f"{_PAGES}/{name}" for name in pages]


class LeaderboardPages:
    """The contents of the pages of a leaderboard, looked up in the scores.

    Parameters
    ----------
    title
        What it is called.
    standings, values
        Where runs stand, and the values of every topic.
    made
        How it was made, as names and texts.
    texts, nuggets, judged
        What was asked by topic, what was to be said, and files of judgements of it, where these are known.
    """

    def __init__(
        self,
        title: str,
        standings: Sequence[Standing],
        values: Iterable[LeaderboardRow],
        made: Sequence[tuple[str, str]],
        *,
        texts: Mapping[str, str],
        nuggets: Iterable[Nugget],
        judged: Iterable[str],
    ) -> None:
        self.title, self.standings, self.made = title, standings, made
        self.measures = list(dict.fromkeys(row.measure for row in self.standings))
        self.runs = [row.run for row in self.standings if row.measure == self.measures[0]]
        self.values: _Values = {}
        for value in values:
            if value.query_id != ALL:
                of_run = self.values.setdefault(value.measure, {}).setdefault(value.run_id, {})
                of_run[value.query_id] = value.value
        found = self.values.get(self.measures[0], {})
        self.topics = list(dict.fromkeys(topic for of_run in found.values() for topic in of_run))
        self.page_of_topic = _pages_of("topic", self.topics)
        self.page_of_run = _pages_of("run", self.runs)
        # Looked up once: a page a run, each of which looked through all runs, would take their square.
        self.beside_topic = _neighbours(self.topics, self.page_of_topic)
        self.beside_run = _neighbours(self.runs, self.page_of_run)
        self.places: dict[str, list[dict[str, Any]]] = {run: [] for run in self.runs}
        for standing in self.standings:
            self.places[standing.run].append(finite(standing._asdict()))
        self.texts = texts
        self.nuggets: dict[str, list[Nugget]] = {}
        for nugget in nuggets:
            self.nuggets.setdefault(nugget.query_id, []).append(nugget)
        # What was said of every nugget in every answer, as a sign: by topic, run and nugget.
        self.marks: dict[tuple[str, str, str], str] = {}
        for path in judged if self.nuggets else ():
            for _, row in read_records(path, dict[str, Any], "judgements"):
                if row.get("item_id", "answer") == "answer":
                    place = str(row.get("query_id")), str(row.get("run_id")), str(row.get("aspect", "0"))
                    label, grade = row.get("label"), row.get("grade")
                    if row.get("status", "ok") not in GRADED:
                        mark = "?"
                    elif isinstance(label, str):
                        mark = _MARKS.get(label.lower().replace(" ", "_"), label[:8])
                    else:
                        # A number is no verdict: a proxy that counts words says nothing of support.
                        mark = f"{grade:.1f}" if isinstance(grade, int | float) else ""
                    self.marks[place] = mark

    def pages(
        self, submissions: Sequence[Submission], check: Mapping[str, Any] | None = None
    ) -> dict[str, str]:
        """Return the page of the leaderboard, a page a topic and a page a run, by the names of their files.

        `check` is what the first page says of how to recompute it.
        """
        pages = {"index.html": track_page("index", {**self.index(submissions), "check": check})}
        for topic in self.topics:
            pages[self.page_of_topic[topic]] = track_page("topic", self.topic(topic))
        for run in self.runs:
            pages[self.page_of_run[run]] = track_page("run", self.run(run))
        return pages

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
            known = [value for value in values if value == value]
            means[topic] = math.fsum(known) / len(known) if known else math.nan
        sign = -1.0 if parse_measure(first).better == "lower" else 1.0

        def hardness(topic: str) -> tuple[float, str]:
            # NaN has no place in an order: it is taken for infinite.
            return sign * (means[topic] if means[topic] == means[topic] else math.inf), topic

        tables = []
        for measure in self.measures:
            rows = [row for row in self.standings if row.measure == measure]
            cells = [{**finite(row._asdict()), "href": self.page_of_run[row.run]} for row in rows]
            basis = in_words(rows[0].basis, rows[0].corrected_from)
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
            "made": self.made,
            "signatures": list(dict.fromkeys(row.signature for row in self.standings)),
        }

    def topic(self, topic: str) -> dict[str, Any]:
        """Return the contents of a topic page: the runs by their values, and which run has which nugget."""
        rows = [
            {
                "name": run,
                "href": self.page_of_run[run],
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
            **self.beside_topic[topic],
        }

    def run(self, run: str) -> dict[str, Any]:
        """Return the contents of a run page: its rank, and its value of every topic."""
        rows = [
            {
                "name": topic,
                "href": self.page_of_topic[topic],
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
            **self.beside_run[run],
        }


def _pages_of(kind: str, names: Iterable[str]) -> dict[str, str]:
    return {name: f"{kind}-{plain}.html" for name, plain in file_names(names).items()}


def _neighbours(names: Sequence[str], pages: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return for each name which stand before and after it, with their pages."""
    links = [{"name": name, "href": pages[name]} for name in names]
    places = [None, *links, None]
    return {name: {"before": places[at], "after": places[at + 2]} for at, name in enumerate(names)}


def _chosen(plan: TrackPlan) -> str:
    """Return how people's labels were chosen: a word, or the name of a file."""
    return Path(plan.gold_chosen).name or "not said"


def _without_folder(judge: str) -> str:
    kind, colon, rest = judge.partition(":")
    return f"{kind}:{Path(rest).name}" if kind == "frozen" and colon else judge


def write_archive(
    plan: TrackPlan, submissions: Sequence[Submission], judged: Sequence[str], made: Sequence[str], say: _Say
) -> list[str]:
    """Write everything that others need to recompute the leaderboard, as a bundle."""
    for each in submissions:
        try:
            with open_regular(plan.folder / each.file) as handed_in:
                sha256 = hashlib.file_digest(handed_in, "sha256").hexdigest()
        except OSError as error:
            raise InputError(f"{visible(each.file)}: cannot be read: {error.strerror or error}") from None
        # What is published has to be what was validated.
        if sha256 != each.sha256:
            raise InputError(f"{visible(each.file)}: changed after it was validated; run the command again")
    topics = questions_of(plan)
    labels = [str(plan.out / name) for name in made if name.startswith("labels/gold-")]
    chosen = next((str(plan.out / name) for name in made if name.startswith("labels/chosen")), "")
    inputs = ScoringInputs(
        plan.measures,
        plan.is_of_runs,
        [System(each.run, each.file, str(plan.folder / each.file)) for each in submissions],
        judged=judged,
        topics=None if topics is None else list(topics),
        gold=labels,
        gold_chosen=chosen or plan.gold_chosen,
        on_missing=plan.on_missing,
    )
    signatures = dict.fromkeys(row.signature for row in read_standings(plan.out / STANDINGS))
    # A title in quotes is JSON, which YAML reads.
    citation = _CITATION.format(json.dumps(visible(plan.heading), ensure_ascii=False))
    board = Board(
        plan.heading,
        plan.track,
        {name: source_of(plan, name) for name in ("qrels", "nuggets", "topics", "passages")},
        HOW,
        answers=[plan.out / ANSWERS] if plan.is_of_tables else [],
        rubrics=plan.rubrics,
        judges=list(map(_without_folder, plan.judges)),
        contents={
            **{name: plan.out / name for name in made},
            "signatures.txt": "".join(f"{line}\n" for line in signatures).encode(),
            "CITATION.cff": plan.citation if plan.citation is not None else citation.encode(),
        },
    )
    for line in given_away(inputs, board, plan.bundle):
        say(f"archive: {line}")
    write_bundle(plan.out / ARCHIVE, inputs, board, plan.bundle)
    return [ARCHIVE]
