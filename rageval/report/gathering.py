"""Everything a report shows, gathered into one structure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rageval.agreement.passport import read
from rageval.comparison import Comparison, Settings
from rageval.comparison.likeness import absent, alike
from rageval.files.judgements import Judgements
from rageval.files.limits import DEFAULT, Limits
from rageval.files.nuggets import read_nuggets
from rageval.files.opening import Source
from rageval.files.questions import read_questions
from rageval.measures.base import Measure
from rageval.report.judging import beside, by_judge, judging, listed, spending
from rageval.report.matrices import DEPTH, fitting, of_answers, of_documents, rankings
from rageval.report.measured import measured
from rageval.report.notes import read_notes, shortened
from rageval.report.slicing import Groups, most_telling, sliced
from rageval.scores import Scores
from rageval.scoring.ordering import Order
from rageval.scoring.qrels import Qrels
from rageval.sources import RunSource

FORMAT = "rageval-report/1"
Report = dict[str, Any]
_DETAILS = 100  # queries
_PAGE, _LEAST = 1_600_000, 100_000  # bytes of a whole page without its scripts, and for details at least
_PAIR = 600  # bytes that a compared pair takes in its table


@dataclass(frozen=True)
class Beside:
    """What a report is made of besides scores.

    `groups`: {field: {query: value}} for slices; `details`: for how many queries to show what was found, None
    for as many as a page can well hold; `nuggets`, `questions`: files with their texts; `evidence`: files of
    judgements with quotes and reasons; `gold`: a file of judgements that the judges are held against.
    """

    title: str = "Evaluation report"
    groups: Groups = field(default_factory=dict)
    details: int | None = None
    nuggets: Source | None = None
    questions: Source | None = None
    evidence: Sequence[Source] = ()
    gold: Source | None = None
    limits: Limits = DEFAULT


def report_of_runs(
    results: Sequence[Scores],
    settings: Settings,
    sources: Sequence[RunSource],
    qrels: Qrels,
    orders: Sequence[Order],
    extra: Beside,
    refined: Callable[[Comparison], Comparison] = lambda found: found,
) -> Report:
    """The report on runs that were just scored; `refined` has the last word on what may be claimed."""
    lacking = absent(sources, qrels.query_ids)
    report = measured(results, settings, lacking, alike(sources, orders), refined)
    queries = most_telling(results, _DETAILS if extra.details is None else extra.details)
    depth = _depth(results)
    ranked = {source.name: rankings(source, queries, orders[0], depth) for source in sources}
    notes = read_notes(extra.evidence, lambda key: key[0] in set(queries), extra.limits)
    matrices = of_documents(queries, qrels, ranked, _bank(extra), notes)
    report["matrices"] = _kept(matrices, report, extra)
    report["topics"] = [_topics(scores) for scores in results if scores.notes is not None]
    return finished(report, results, extra)


def report_of_answers(
    results: Sequence[Scores], settings: Settings, grades: Judgements, files: Sequence[Source], extra: Beside
) -> Report:
    """The report on judged answers that were just scored."""
    report = measured(results, settings)
    queries = most_telling(results, _DETAILS if extra.details is None else extra.details)
    gold = read(extra.gold) if extra.gold is not None else None
    several = gold is not None or len(grades.judges.words) > 1
    pairs = beside(by_judge(grades), gold) if several else []
    wanted, places = set(queries), listed(pairs)
    notes = read_notes([*files, *extra.evidence], lambda key: key[0] in wanted or key in places, extra.limits)
    report["judging"] = judging(pairs, notes)
    report["spending"] = list(spending(grades, notes))
    report["matrices"] = _kept(of_answers(queries, grades, _bank(extra), notes), report, extra)
    return finished(report, results, extra)


def finished(report: Mapping[str, Any], results: Sequence[Scores], extra: Beside) -> Report:
    """With a title, the texts of the questions, slices."""
    whole: Report = {"format": FORMAT, "title": extra.title, "comparison": None, "remarks": [], **report}
    if extra.questions is not None and whole.get("queries"):
        texts = {found.query_id: found.text for found in read_questions(extra.questions, extra.limits)}
        ids = whole["queries"]["ids"]
        known = {query: shortened(texts[query]) for query in ids if texts.get(query)}
        whole["queries"] = {**whole["queries"], "texts": known}
    if extra.groups:
        whole["slices"] = [*whole.get("slices", []), *sliced(results, extra.groups)]
    return whole


def _kept(matrices: Report, report: Report, extra: Beside) -> Report:
    """As many as were asked for, or as fit into a page beside everything else."""
    if extra.details is not None:
        return matrices
    pairs = report["comparison"]["pairs"] if "comparison" in report else []
    taken = len(json.dumps(report)) + _PAIR * len(pairs)
    return fitting(matrices, max(_PAGE - taken, _LEAST))


def _bank(extra: Beside) -> dict[tuple[str, str], Any]:
    if extra.nuggets is None:
        return {}
    return {(n.query_id, n.nugget_id): n for n in read_nuggets(extra.nuggets, extra.limits)}


def _depth(results: Sequence[Scores]) -> int:
    """As deep as the measures look, but no deeper than a page can show."""
    measures = [score.measure for scores in results for score in scores.scores]
    cutoffs = [measure.k for measure in measures if isinstance(measure, Measure) and measure.k]
    return min(max(cutoffs, default=DEPTH), DEPTH)


def _topics(scores: Scores) -> dict[str, Any]:
    notes = scores.notes
    if notes is None:
        return {"run": scores.run}
    return {
        "run": scores.run,
        "in_run": notes.queries_in_run,
        "lacking": notes.queries_missing,
        "not_judged": notes.queries_only_in_run,
        "without_relevant": notes.queries_without_relevant,
        "tied": {str(cutoff): count for cutoff, count in sorted(notes.tied_at.items())},
        "rank_conflicts": notes.rank_conflicts,
    }
