"""What is published of a track: pages to look at, and an archive whose bytes can be made again."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rageval.comparison.leaderboards import HOW, Standing
from rageval.errors import InputError
from rageval.files.jsonl import read_records
from rageval.files.nuggets import read_nuggets
from rageval.files.questions import read_questions
from rageval.files.scores import ALL
from rageval.files.whole import open_regular
from rageval.files.writing import file_names, whole_file, write_lines
from rageval.judges.rubric import rubric_named
from rageval.measures.parsing import parse_measure
from rageval.pages.track import track_page
from rageval.records import Nugget
from rageval.scoring.basis import in_words
from rageval.text import visible
from rageval.track._ledger import digest, source_of
from rageval.track._scoring import STANDINGS, VALUES, read_standings, read_values
from rageval.track._submissions import Submission
from rageval.version import __version__

if TYPE_CHECKING:
    from rageval.track.organising import TrackPlan

ARCHIVE = "track.tar.gz"
_PAGES = "pages"
_MOST = 300  # characters of what was asked in a table
_MARKS = {
    **dict.fromkeys(("support", "full", "full_support", "supports", "yes", "met"), "✓"),
    **dict.fromkeys(("partial", "partial_support", "partly"), "◐"),
    **dict.fromkeys(("not_support", "no_support", "none", "no", "not"), "–"),
    **dict.fromkeys(("contradicts", "contradiction"), "✗"),
}
_SIGNS = frozenset(_MARKS.values())
_Values = dict[str, dict[str, dict[str, float]]]  # measure -> run -> topic -> value


def write_pages(plan: TrackPlan, submissions: Sequence[Submission], judged: Mapping[str, str]) -> list[str]:
    """Write the page of the leaderboard, a page a topic and a page a run."""
    shown = _Shown(plan, judged)
    pages = {"index.html": track_page("index", shown.index(submissions))}
    for topic in shown.topics:
        pages[shown.page_of_topic[topic]] = track_page("topic", shown.topic(topic))
    for run in shown.runs:
        pages[shown.page_of_run[run]] = track_page("run", shown.run(run))
    for name, text in pages.items():
        write_lines(plan.out / _PAGES / name, [text])
    return [f"{_PAGES}/{name}" for name in pages]


class _Shown:
    """What the pages show, looked up in what the earlier stages wrote."""

    def __init__(self, plan: TrackPlan, judged: Mapping[str, str]) -> None:
        self.plan = plan
        self.standings = read_standings(plan.out / STANDINGS)
        self.measures = list(dict.fromkeys(row.measure for row in self.standings))
        self.runs = [row.run for row in self.standings if row.measure == self.measures[0]]
        self.values: _Values = {}
        for row in read_values(plan.out / VALUES):
            if row.query_id != ALL:
                self.values.setdefault(row.measure, {}).setdefault(row.run_id, {})[row.query_id] = row.value
        found = self.values.get(self.measures[0], {})
        self.topics = list(dict.fromkeys(topic for of_run in found.values() for topic in of_run))
        self.page_of_topic = _pages_of("topic", self.topics)
        self.page_of_run = _pages_of("run", self.runs)
        # Looked up once: a page a run, each of which looked through all runs, would take their square.
        self.beside_topic = _neighbours(self.topics, self.page_of_topic)
        self.beside_run = _neighbours(self.runs, self.page_of_run)
        self.places: dict[str, list[dict[str, Any]]] = {run: [] for run in self.runs}
        for standing in self.standings:
            self.places[standing.run].append(_cells(standing))
        self.texts = _texts(plan)
        self.nuggets: dict[str, list[Nugget]] = {}
        for nugget in read_nuggets(source_of(plan, "nuggets")) if plan.nuggets is not None else ():
            self.nuggets.setdefault(nugget.query_id, []).append(nugget)
        self.marks = _marks(plan, judged) if self.nuggets else {}

    def value(self, measure: str, run: str, topic: str) -> float | None:
        """Return a value, None where it is not defined."""
        return _plain(self.values.get(measure, {}).get(run, {}).get(topic, math.nan))

    def index(self, submissions: Sequence[Submission]) -> dict[str, Any]:
        """Return what the page of the leaderboard shows."""
        first = self.measures[0]
        means = {
            topic: _mean(self.values[first][run].get(topic, math.nan) for run in self.runs)
            for topic in self.topics
        }
        sign = -1.0 if parse_measure(first).better == "lower" else 1.0
        hardest = sorted(self.topics, key=lambda topic: (sign * _or_last(means[topic]), topic))
        return {
            "title": self.plan.heading,
            "lead": f"{len(self.runs):,} runs · {len(self.topics):,} topics",
            "first": first,
            "tables": [self._table(measure) for measure in self.measures],
            "topics": [
                {
                    "name": topic,
                    "href": self.page_of_topic[topic],
                    "text": self.texts.get(topic, "")[:_MOST],
                    "mean": _plain(means[topic]),
                }
                for topic in hardest
            ],
            "submissions": submissions,
            "made": list(_made(self.plan)),
            "signatures": list(dict.fromkeys(row.signature for row in self.standings)),
        }

    def _table(self, measure: str) -> dict[str, Any]:
        rows = [row for row in self.standings if row.measure == measure]
        return {
            "measure": measure,
            "basis": in_words(rows[0].basis),
            "rows": [{**_cells(row), "href": self.page_of_run[row.run]} for row in rows],
        }

    def topic(self, topic: str) -> dict[str, Any]:
        """Return what the page of a topic shows: the runs by their values, and who has which nugget."""
        rows = [
            {
                "name": run,
                "href": self.page_of_run[run],
                "numbers": [self.value(measure, run, topic) for measure in self.measures],
            }
            for run in self.runs
        ]
        return {
            "title": f"Topic {topic}",
            "lead": self.texts.get(topic, ""),
            "measures": self.measures,
            "rows": rows,
            "places": [],
            "columns": self.runs,
            "marks": [self._nugget(topic, nugget) for nugget in self.nuggets.get(topic, ())],
            **self.beside_topic[topic],
        }

    def _nugget(self, topic: str, nugget: Nugget) -> dict[str, Any]:
        marks = [self.marks.get((topic, run, nugget.nugget_id), "") for run in self.runs]
        return {
            "text": nugget.text,
            "importance": nugget.importance,
            "runs": sum(mark in ("✓", "◐") for mark in marks) if _SIGNS & set(marks) else None,
            "marks": marks,
        }

    def run(self, run: str) -> dict[str, Any]:
        """Return what the page of a run shows: where it stands, and its value of every topic."""
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
            "lead": self.plan.heading,
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


def _cells(row: Standing) -> dict[str, Any]:
    return {**row._asdict(), **{name: _plain(getattr(row, name)) for name in ("value", "low", "high")}}


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if value == value]
    return math.fsum(known) / len(known) if known else math.nan


def _or_last(value: float) -> float:
    return value if value == value else math.inf


def _texts(plan: TrackPlan) -> dict[str, str]:
    if plan.topics is None:
        return {}
    return {question.query_id: question.text for question in read_questions(source_of(plan, "topics"))}


def _marks(plan: TrackPlan, judged: Mapping[str, str]) -> dict[tuple[str, str, str], str]:
    """Return what was said of every nugget in every answer, as a sign."""
    found: dict[tuple[str, str, str], str] = {}
    for name in judged:
        for _, row in read_records(str(plan.out / name), dict[str, Any], "judgements"):
            if row.get("item_id", "answer") == "answer":
                place = str(row.get("query_id")), str(row.get("run_id")), str(row.get("aspect", "0"))
                found[place] = _mark(row)
    return found


def _mark(row: Mapping[str, Any]) -> str:
    if row.get("status", "ok") not in ("ok", "repaired"):
        return "?"
    label, grade = row.get("label"), row.get("grade")
    if isinstance(label, str):
        return _MARKS.get(label.lower().replace(" ", "_"), label[:8])
    # A number is no verdict: a proxy that counts words says nothing of support.
    return f"{grade:.1f}" if isinstance(grade, int | float) else ""


def _made(plan: TrackPlan) -> Iterator[tuple[str, str]]:
    yield "track", plan.track
    yield "rageval", __version__
    yield "intervals", HOW
    for name in dict.fromkeys(plan.rubrics):
        yield "rubric", f"{name}@{rubric_named(name).digest}"
    for judge in plan.judges:
        yield "judge", _without_folder(judge)


def _without_folder(judge: str) -> str:
    kind, colon, rest = judge.partition(":")
    return f"{kind}:{Path(rest).name}" if kind == "frozen" and colon else judge


def write_archive(plan: TrackPlan, submissions: Sequence[Submission], made: Mapping[str, str]) -> list[str]:
    """Write everything that others need as one archive; the same content gives the same bytes."""
    contents: dict[str, bytes | Path] = {name: plan.out / name for name in made}
    for each, name in zip(submissions, _names_of([each.file for each in submissions]), strict=True):
        contents[f"runs/{name}"] = _handed_in(plan, each)
    for name in dict.fromkeys(plan.rubrics):
        contents[f"prompts/{rubric_named(name).name}.txt"] = _prompt(name).encode()
    signatures = dict.fromkeys(row.signature for row in read_standings(plan.out / STANDINGS))
    contents["signatures.txt"] = "".join(f"{line}\n" for line in signatures).encode()
    contents["CITATION.cff"] = plan.citation if plan.citation is not None else _citation(plan).encode()
    contents["manifest.json"] = _manifest(plan, contents).encode()
    with (
        whole_file(plan.out / ARCHIVE) as stream,
        gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(contents):
            _add(archive, f"track/{name}", contents[name])
    return [ARCHIVE]


def _names_of(files: Sequence[str]) -> list[str]:
    """Return names in the archive: folders stay folders, and no two files meet under one name."""
    safe = file_names(part for file in files for part in file.split("/"))
    return ["/".join(safe[part] for part in file.split("/")) for file in files]


def _handed_in(plan: TrackPlan, one: Submission) -> bytes:
    """Return what was handed in, which has to be what was validated."""
    try:
        with open_regular(plan.folder / one.file) as stream:
            content = stream.read()
    except OSError as error:
        raise InputError(f"{visible(one.file)}: cannot be read: {error.strerror or error}") from None
    if hashlib.sha256(content).hexdigest() != one.sha256:
        raise InputError(f"{visible(one.file)}: changed after it was validated; give the command again")
    return content


def _add(archive: tarfile.TarFile, name: str, content: bytes | Path) -> None:
    """Add a file of no owner and no date."""
    data = content if isinstance(content, bytes) else content.read_bytes()
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(data), 0o644, 0
    archive.addfile(member, io.BytesIO(data))


def _prompt(name: str) -> str:
    rubric = rubric_named(name)
    prompt = rubric.file.prompt
    return f"{rubric.name}@{rubric.digest}\n\n# system\n\n{prompt.system}\n\n# ask\n\n{prompt.ask}\n"


def _manifest(plan: TrackPlan, contents: Mapping[str, bytes | Path]) -> str:
    """Return what the archive holds, with digests, and what it was made of."""
    files = {
        name: hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else digest(content)
        for name, content in sorted(contents.items())
    }
    record = {
        "title": plan.heading,
        "rageval": __version__,
        "track": plan.track,
        "measures": plan.measures,
        "intervals": HOW,
        "rubrics": {name: rubric_named(name).digest for name in plan.rubrics},
        "judges": list(map(_without_folder, plan.judges)),
        "inputs": {name: sha256 for name, sha256 in plan.inputs.items() if sha256},
        "files": files,
    }
    return json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _citation(plan: TrackPlan) -> str:
    """Return a citation file that says what is known; a name in quotes is JSON, which YAML reads."""
    title = json.dumps(visible(plan.heading), ensure_ascii=False)
    return (
        "cff-version: 1.2.0\n"
        "message: If you use these runs, judgements or scores, please cite them.\n"
        f"title: {title}\n"
        "type: dataset\n"
        "authors:\n"
        '  - name: "The organisers"\n'
    )
