"""Everything a report shows, gathered into one structure."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np

from rageval import hooks
from rageval.comparison import Comparison, Settings, cite, compare
from rageval.comparison.arena import position_remarks, positions_of
from rageval.comparison.comparisons import cell_of, compare_subject, why_untestable
from rageval.comparison.estimates import slices
from rageval.comparison.reliability import reliability_bins
from rageval.comparison.trajectories import LOSSES, estimates_of, recall_curves
from rageval.core.remark import Remark, Scope, unique
from rageval.errors import UsageError
from rageval.files.answers import read_answers
from rageval.files.judgements import JudgementTable
from rageval.files.nuggets import read_nuggets
from rageval.files.opening import Source, can_read_again, name_of
from rageval.measures.base import LOWER, Measure
from rageval.pages._parts import FORMAT, packed, pairs_packed, plain
from rageval.pages.evidence import (
    DEPTH,
    MOST_PAIRS,
    TEXTS,
    Texts,
    add_trajectories,
    by_judge,
    fitting,
    judging,
    listed,
    of_answers,
    of_documents,
    of_qrels,
    paired_judges,
    rankings,
    read_notes,
    shortened,
    spending,
    traces,
    without_fence,
)
from rageval.records import Question
from rageval.scoring.answers import Answers, read_judgements
from rageval.scoring.arguments import items_of
from rageval.scoring.evaluation import Evaluator, Runs
from rageval.scoring.gold import Draw, gold_of_documents
from rageval.scoring.rules import Rules
from rageval.scoring.scores import Scored, Scores
from rageval.scoring.sources import named_sources, whole_qrels
from rageval.scoring.subject import Subject
from rageval.scoring.trajectories import AgentRun, Trajectories
from rageval.text import visible
from rageval.version import __version__
from rageval.views.verdicts import ranked

Report = dict[str, Any]
_DETAILS = 100  # queries
_ASKED = 240  # characters of a question in a table
_PAGE, _LEAST = 1_300_000, 100_000  # bytes of a whole page without its scripts, and for details at least


@dataclass(frozen=True)
class PageInputs:
    """The inputs of a report besides scores.

    `groups`: {field: {query: value}} for slices. `details`: for how many queries to show evidence, None for
    as many as fit. `nuggets`, `questions`: files with their texts. `evidence`: files of judgements with
    quotes and reasons. `gold`: files of human labels, with which judges are compared. `answers`: files of the
    judged answers, and `passages` of what they cite, for their texts. `texts`: for how many queries these are
    shown, None for all. `store`: where replies are. `settings`: of slices that human labels correct.
    """

    title: str = "Evaluation report"
    groups: _Groups = field(default_factory=dict)
    details: int | None = None
    nuggets: Source | None = None
    questions: Source | None = None
    evidence: Sequence[Source] = ()
    gold: Sequence[Any] = ()
    answers: Sequence[Source] = ()
    passages: Source | None = None
    texts: int | None = TEXTS
    store: str | None = None
    settings: Settings | None = None


def report_of(
    results: Sequence[Scores],
    settings: Settings,
    extra: PageInputs,
    subject: Subject | None = None,
    comparison: Comparison | None = None,
) -> Report:
    """Return the report on scores, and on their inputs where these are given.

    A `comparison` that is given is not made again.
    """
    report = measured(results, settings, subject, comparison)
    if isinstance(subject, Trajectories):
        report |= _found_and_lost(subject, results, settings)
    if subject is None or subject.kind.page is None:
        return finished(report, results, extra)
    whole: Report = subject.kind.page(report, results, extra, subject)
    return whole


def with_documents(report: Report, results: Sequence[Scores], extra: PageInputs, runs: Runs) -> Report:
    """Return the report with what runs found, and what was judged of it."""
    qrels, orders = runs.evaluator.qrels, runs.evaluator.orders
    queries = _most_telling(results, _DETAILS if extra.details is None else extra.details)
    # As deep as the measures look, but no deeper than a page can show.
    measures = [score.measure for scores in results for score in scores.scores]
    cutoffs = [measure.k for measure in measures if isinstance(measure, Measure) and measure.k]
    depth = min(max(cutoffs, default=DEPTH), DEPTH)
    # The order of the first measure: a page shows one.
    ranked = {scores.run: rankings(runs.sources[scores.run], queries, orders[0], depth) for scores in results}
    # Reasons are long: only those that are shown are kept.
    needed = set(queries)
    notes = read_notes(extra.evidence, lambda key: key[0] in needed)
    matrices = of_documents(queries, qrels, ranked, _nuggets_by_place(extra), notes)
    if isinstance(runs, Trajectories):
        agents = {scores.run: runs.agents[scores.run] for scores in results}
        topics, rel = whole_qrels(qrels).topics, 1 if runs.rules.rel is None else runs.rules.rel
        add_trajectories(matrices, agents, topics, rel, _answer_texts(extra, needed))
    pairs, draw, left_out = [], None, 0
    if extra.gold:  # the judge of documents beside people who judged the same
        gold = runs.gold or gold_of_documents(extra.gold, Draw())
        people, draw = gold.documents, gold.draw
        judged_by_person = {person: of_qrels(whole_qrels(source)) for person, source in people.items()}
        places = {place for judgements in judged_by_person.values() for place in judgements}
        judge = "+".join(qrels.judges) or visible(qrels.name)
        left_out = len(of_qrels(whole_qrels(qrels)).keys() - places)
        pairs = paired_judges({judge: of_qrels(whole_qrels(qrels), places)}, judged_by_person)
    report["judging"] = judging(pairs, notes, draw=draw, left_out=left_out)
    report["topics"] = [
        {
            "run": scores.run,
            "in_run": scores.notes.queries_in_run,
            "lacking": scores.notes.queries_missing,
            "not_judged": scores.notes.queries_only_in_run,
            "without_relevant": scores.notes.queries_without_relevant,
            "tied": {str(cutoff): count for cutoff, count in sorted(scores.notes.tied_at.items())},
            "rank_conflicts": scores.notes.rank_conflicts,
        }
        for scores in results
        if scores.notes is not None
    ]
    whole = finished(report, results, extra)
    return {**whole, "matrices": _fitting_matrices(matrices, whole, extra)}


def _answer_texts(extra: PageInputs, queries: Collection[str]) -> dict[tuple[str, str, str], str]:
    """Return the answers to some queries by query, run and repeat."""
    kept = (source for source in extra.answers if can_read_again(source))
    return {
        (answer.query_id, answer.run_id, answer.repeat): shortened(answer.text)
        for source in kept
        for answer in read_answers(source)
        if answer.query_id in queries
    }


def _found_and_lost(subject: Trajectories, results: Sequence[Scores], settings: Settings) -> Report:
    """Return the recall curves of agents, and in which shares relevant documents were lost or used."""
    curves = [
        {
            "run": curve.run,
            "by": curve.by,
            "budgets": list(curve.budgets),
            "value": [estimate.value for estimate in curve.estimates],
            "low": [plain(estimate.low) for estimate in curve.estimates],
            "high": [plain(estimate.high) for estimate in curve.estimates],
            **curve.estimates[0].basis.texts,
        }
        for curve in recall_curves(subject, results, settings)
    ]
    # Without citations nobody knows what was used.
    runs = [scores.run for scores in results if subject.agents[scores.run].replies is not None]
    losses = [
        {
            "run": run,
            "measure": str(measure),
            "value": estimate.value,
            "low": plain(estimate.low),
            "high": plain(estimate.high),
            "queries": estimate.queries,
            **estimate.basis.texts,
        }
        for run, estimates in estimates_of(subject, runs, LOSSES, settings).items()
        for measure, estimate in zip(LOSSES, estimates, strict=True)
    ]
    return {"curves": curves, "losses": losses}


def _reliability(table: JudgementTable, results: Sequence[Scores]) -> list[Report]:
    """Return how often the answers of each system are correct, by their confidence."""
    return [
        {
            "run": bins.run,
            "answers": list(bins.answers),
            "confidence": list(bins.confidence),
            "value": list(bins.correct),
            "low": [low for low, _ in bins.intervals],
            "high": [high for _, high in bins.intervals],
            **bins.basis.texts,
        }
        for bins in reliability_bins(table, [scores.run for scores in results])
    ]


def with_answers(report: Report, results: Sequence[Scores], extra: PageInputs, subject: Answers) -> Report:
    """Return the report with what was judged of answers, and with their texts."""
    table = subject.table
    doubts: dict[str, float] = {}
    for doubt, query, _, _ in table.doubts():
        doubts[query] = max(doubt, doubts.get(query, 0.0))
    order = sorted(_worst_queries(results), key=lambda query: -doubts.get(query, 0.0))
    kept = [source for source in extra.answers if can_read_again(source)]
    streams = [name_of(source) for source in extra.answers if not can_read_again(source)]
    extra = replace(extra, answers=kept)
    texts = Texts(extra.texts, extra.answers, extra.passages, subject.files, extra.store)
    traced = texts.some(order)
    queries = order[: max(len(traced), _DETAILS if extra.details is None else extra.details)]
    gold = by_judge(read_judgements(extra.gold)) if extra.gold else None
    # With one judge and no people there is nobody to compare.
    several = gold is not None or len(table.judges.words) > 1
    pairs = paired_judges(by_judge(table), gold) if several else []
    needed, places = set(queries), listed(pairs)
    sources = [*subject.files, *extra.gold, *extra.evidence]
    notes = read_notes(sources, lambda key: key[0] in needed or key in places, set(traced))
    # The texts of answers that judges and people disagree on.
    disputed = {place[:2] for place in places}
    shown: dict[tuple[str, str], str] = {}
    for source in extra.answers:
        for answer in read_answers(source):
            if (answer.query_id, answer.run_id) in disputed:
                text = " ".join(sentence.text for sentence in answer.sentences)
                shown[answer.query_id, answer.run_id] = shortened(text)
    draw = subject.gold.draw if subject.gold is not None else None
    report["judging"] = judging(pairs, notes, shown, draw)
    report["spending"] = list(spending(table, notes))
    if bins := _reliability(table, results):
        report["reliability"] = bins
    positions = [judge.as_dict() for judge in positions_of(table)]
    remarks: list[Remark] = []
    if positions:  # nobody else is asked where an answer was shown
        report["positions"] = positions
        for judge in positions:
            remarks += position_remarks(judge, judge["judge"] or "the judge")
    if len(pairs) == MOST_PAIRS:
        remarks.append(Remark("some_pairs_of_judges", facts={"number": MOST_PAIRS}))
    # Scoring has read it to its end.
    remarks += [Remark("stream_not_shown", Scope(file=name)) for name in streams]
    remarks += without_fence(table, notes)
    report["remarks"] = [*report.get("remarks", ()), *remarks]
    query_traces = traces(traced, texts, _questions_by_id(extra), notes.calls)
    # Judgements alone, of people for instance, have no texts to be shown.
    if any(query_traces["queries"].values()):
        first = "least sure" if table.has_chances else "worst"
        report["traces"] = {**query_traces, "of": len(order), "first": first}
    matrices = of_answers(queries, table, _nuggets_by_place(extra), notes)
    whole = finished(report, results, extra)
    return {**whole, "matrices": _fitting_matrices(matrices, whole, extra, len(traced))}


def report_of_scores(
    results: Sequence[Scores],
    settings: Settings,
    extra: PageInputs,
    judgements: Any = None,
    answers: Any = None,
    runs: Any = None,
    qrels: Any = None,
    compared: Comparison | None = None,
) -> Report:
    """Return the report on scores that were made before, of judged answers, or of runs and qrels."""
    if runs is not None:
        return report_of(results, settings, extra, _same_runs(results, runs, qrels), comparison=compared)
    if judgements is None:
        return report_of(results, settings, extra, comparison=compared)
    with TemporaryDirectory() as folder:
        files = _as_files(judgements, Path(folder) / "judgements.jsonl")
        extra = replace(extra, answers=_as_files(answers, Path(folder) / "answers.jsonl"))
        # A table is read already, and knows neither quotes nor replies.
        is_table = isinstance(judgements, JudgementTable)
        table: JudgementTable = judgements if is_table else read_judgements([*files])  # type: ignore[arg-type]
        unknown = [scores.run for scores in results if scores.run not in table.runs.words]
        if unknown:
            raise UsageError(f"report: the judgements have no run {', '.join(map(visible, unknown))!s:.200}")
        subject = Answers([], table, Rules(), files=files)
        return report_of(results, settings, extra, subject, compared)


def _same_runs(results: Sequence[Scores], given: Any, qrels: Any) -> Runs:
    """Return the runs that scores were made from; `UsageError` if they were made from others."""
    sources = named_sources(given)
    are_agents = all(isinstance(source, AgentRun) for source in sources)
    evaluator = Evaluator([score.measure for score in results[0].scores], qrels)
    runs = Trajectories(evaluator, sources) if are_agents else Runs(evaluator, sources)
    rescored = {scores.run: scores for scores in runs.score().results}
    for scores in results:
        repeat = rescored.get(scores.run)
        # What was found is ranked by the usual rules; beside scores by others it would explain nothing.
        if repeat is None or not all(
            (one.signature, [*one.query_ids]) == (other.signature, [*other.query_ids])
            and np.array_equal(one.values, other.values, equal_nan=True)
            for one, other in zip(scores.scores, repeat.scores, strict=False)
        ):
            raise UsageError(
                f"report: the scores of {visible(scores.run)} do not match these runs and judgements by the"
                " default rules; the command rageval report takes rules too"
            )
    return runs


def _as_files(given: Any, place: Path) -> list[Source]:
    """Return files as they are, and records as a file at this place, so that all are read alike."""
    if given is None or isinstance(given, JudgementTable):
        return []
    items = items_of(given)
    files: list[Source] = [item for item in items if not isinstance(item, Mapping)]
    records = [item for item in items if isinstance(item, Mapping)]
    if records:
        place.write_bytes(b"".join(msgspec.json.encode(item) + b"\n" for item in records))
        files.append(place)
    return files


_OF_READING = {"columns_of_table", "log_of_tool", "judged_by", "usual_measure"}


def finished(report: Mapping[str, Any], results: Sequence[Scores], extra: PageInputs) -> Report:
    """Return the report with a title, the texts of the questions, and slices."""
    whole: Report = {"format": FORMAT, "title": extra.title, "comparison": None, "remarks": [], **report}
    whole["runs"] = ranked(whole["runs"], whole["measures"], whole)
    # What may change the verdict first, how files were read last.
    whole["remarks"] = sorted(whole["remarks"], key=lambda remark: remark.code in _OF_READING)
    if extra.questions is not None:
        texts = {query: question.text for query, question in _questions_by_id(extra).items()}
        ids = [
            *whole["queries"]["ids"],
            *(difference["query"] for pair in whole.get("judging") or () for difference in pair["listed"]),
        ]
        question_texts = {query: shortened(texts[query], _ASKED) for query in ids if texts.get(query)}
        whole["queries"] = {**whole["queries"], "texts": question_texts}
    if extra.groups:
        sliced = [
            {
                "run": scores.run,
                "measure": str(score.measure),
                "field": slice_value.field,
                "name": slice_value.name,
                "value": plain(slice_value.value),
                "low": plain(slice_value.low),
                "high": plain(slice_value.high),
                "queries": slice_value.queries,
                "undefined": slice_value.undefined,
                "small": slice_value.is_small,
                **slice_value.basis.texts,
                "reasons": [reason.as_record() for reason in slice_value.reasons],
                **(
                    {}
                    if slice_value.judged is None
                    else {"judged": plain(slice_value.judged), "labels": slice_value.labels}
                ),
            }
            for scores in results
            for score in scores.scores
            for field, of_query in extra.groups.items()
            for slice_value in slices(score, field, of_query, extra.settings)
        ]
        whole["slices"] = sliced
    return whole


def _questions_by_id(extra: PageInputs) -> dict[str, Question]:
    if extra.questions is None:
        return {}
    asked: dict[str, Question] = hooks.questions_in(extra.questions, [])
    return asked


def _fitting_matrices(matrices: Report, report: Report, extra: PageInputs, least: int = 1) -> Report:
    """Return as many as were asked for, or as fit into a page beside everything else."""
    if extra.details is not None:
        return matrices
    taken = len(json.dumps(pairs_packed(report), default=Remark.as_record))
    return fitting(matrices, max(_PAGE - taken, _LEAST), least)


def _nuggets_by_place(extra: PageInputs) -> dict[tuple[str, str], Any]:
    """Return the nuggets by place."""
    if extra.nuggets is None:
        return {}
    return {(n.query_id, n.nugget_id): n for n in read_nuggets(extra.nuggets)}


_Record = dict[str, Any]


def measured(
    results: Sequence[Scores],
    settings: Settings,
    subject: Subject | None = None,
    comparison: Comparison | None = None,
) -> _Record:
    """Return runs, measures, cells, the comparison (the one given, or made here) and columns of values."""
    if comparison is None:
        comparison = comparison_of(results, settings, subject)
    report: _Record = {
        "runs": [scores.run for scores in results],
        "measures": list(dict.fromkeys(str(score.measure) for scores in results for score in scores.scores)),
        "better": {str(score.measure): score.measure.better for scores in results for score in scores.scores},
        "cells": list(_cells(results, settings, comparison)),
        "level": settings.level,
        "queries": _packed_columns(results),
        "citing": str(cite(results if comparison is None else comparison)),
    }
    if comparison is not None:
        report["comparison"] = comparison_record(comparison.as_dict(), settings)
        left_out = (score for scores in results for score in scores.scores if why_untestable(score))
        remarks = [
            Remark("not_compared", Scope(measure=str(score.measure)), {"reason": why_untestable(score)})
            for score in left_out
        ]
        report["remarks"] = unique([*comparison.remarks, *remarks])
    return report


def comparison_of(
    results: Sequence[Scores], settings: Settings, subject: Subject | None = None
) -> Comparison | None:
    """Return the comparison of several systems by the measures that can be compared, or None."""
    # Scores that Python hands over may be of other measures for other runs.
    names = [
        {str(score.measure) for score in scores.scores if not why_untestable(score)} for scores in results
    ]
    shared = set.intersection(*names) if names else set()
    comparable = [
        replace(scores, scores=tuple(score for score in scores.scores if str(score.measure) in shared))
        for scores in (results if shared else ())
    ]
    if len(comparable) < 2:
        return None
    return (
        compare(comparable, settings)
        if subject is None
        else compare_subject(subject, Scored(comparable, []), settings)
    )


def comparison_record(comparison: Mapping[str, Any], settings: Settings) -> _Record:
    """Return the pairs of a comparison and how they were tested."""
    record = {
        "signature": comparison["signature"],
        "pairs": comparison["pairs"],
        "said": comparison.get("said", []),
    }
    return record | {"baseline": settings.baseline, "level": settings.level, "test": settings.test}


def beaten(pairs: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """Return for each run and measure the runs that are significantly worse.

    >>> beaten([{"run": "a", "other": "b", "measure": "rr", "verdict": "lower", "better_run": "b"}])
    {('b', 'rr'): ['a']}
    """
    worse_runs: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        better = pair["better_run"]
        if better is not None:
            worse = pair["other"] if better == pair["run"] else pair["run"]
            worse_runs.setdefault((better, pair["measure"]), []).append(worse)
    return worse_runs


def _packed_columns(results: Sequence[Scores]) -> _Record:
    """Return the values of every query, a packed column a measure and run."""
    ids = dict.fromkeys(query for scores in results for score in scores.scores for query in score.query_ids)
    place = {query: index for index, query in enumerate(ids)}
    values: dict[str, dict[str, str]] = {}
    # Of the values, which labels do not correct.
    bases: dict[str, dict[str, str]] = {}
    for scores in results:
        for score in scores.scores:
            # Runs may lack queries that others have.
            column = np.full(len(ids), np.nan)
            column[[place[query] for query in score.query_ids]] = score.values
            values.setdefault(str(score.measure), {})[scores.run] = packed(column)
            bases.setdefault(str(score.measure), {})[scores.run] = str(score.basis)
    return {"ids": list(ids), "values": values, "basis": bases}


def _cells(results: Sequence[Scores], settings: Settings, comparison: Comparison | None) -> Iterator[_Record]:
    compared = {(cell.run, cell.measure): cell for cell in comparison.cells} if comparison else {}
    worse = beaten(comparison.as_dict()["pairs"]) if comparison else {}
    for scores in results:
        for score in scores.scores:
            key = scores.run, str(score.measure)
            # What is not compared, such as a pooled share, still has its mean and interval.
            cell = compared.get(key) or cell_of(scores.run, score, settings)
            # What is known of some cells only: of a corrected mean, and of judged answers.
            also: _Record = {}
            if cell.judged is not None:
                gain = plain(cell.gain or 0.0)
                also = {"judged": plain(cell.judged), "labels": cell.labels, "gain": gain}
                if cell.reasons:
                    also["reasons"] = [reason.as_record() for reason in cell.reasons]
            if score.bounds:
                also["bounds"] = [plain(bound) for bound in score.bounds]
            if score.lost:
                also["lost"] = dict(score.lost)
            if score.judges:
                also["judges"] = {judge: plain(value) for judge, value in score.judges.items()}
            yield {
                "run": scores.run,
                "measure": str(score.measure),
                "value": plain(cell.value),
                "low": plain(cell.low),
                "high": plain(cell.high),
                "queries": score.queries,
                "undefined": score.undefined,
                "missing": score.missing,
                "best": cell.is_best,
                "better_than": worse.get(key, []),
                "signature": score.signature,
                **cell.basis.texts,
                **also,
            }


_Groups = Mapping[str, Mapping[str, str]]  # field -> query -> value


def _most_telling(results: Sequence[Scores], number: int) -> list[str]:
    """Return the queries on which runs differ most by the first measure; of one run, its worst queries."""
    scores = [run_scores.scores[0] for run_scores in results if run_scores.scores]
    queries = list(dict.fromkeys(query for score in scores for query in score.query_ids))
    values = np.array([[score.by_query.get(query, np.nan) for query in queries] for score in scores])
    # An undefined value is shown as such, and only for this choice counts as 0.
    defined = np.where(np.isnan(values), 0.0, values)
    if len(scores) > 1:
        spread = defined.max(axis=0) - defined.min(axis=0)
    else:
        spread = defined[0] if scores[0].measure.better == LOWER else -defined[0]
    # Stable: of equal ones the first, so that the same inputs give the same page.
    return [queries[index] for index in np.argsort(-spread, kind="stable")[:number].tolist()]


def _worst_queries(results: Sequence[Scores]) -> list[str]:
    """Return all queries, by the mean of all runs by the first measure, the worst first."""
    scores = [run_scores.scores[0] for run_scores in results if run_scores.scores]
    queries = list(dict.fromkeys(query for score in scores for query in score.query_ids))
    sign = -1 if scores and scores[0].measure.better == LOWER else 1
    by_query = [score.by_query for score in scores]

    def worst_first(query: str) -> tuple[bool, float]:
        defined = [value[query] for value in by_query if query in value and not math.isnan(value[query])]
        # What has no value is no worse than others, and comes last.
        return not defined, sign * math.fsum(defined) / max(1, len(defined))

    return sorted(queries, key=worst_first)


_Input = tuple[str, Source]  # what it is, and where


def provenance(command: Sequence[str], inputs: Iterable[_Input]) -> dict[str, Any]:
    """Return everything needed to make this report again."""
    # Reproducible builds set the time.
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() else datetime.now(UTC)
    records = []
    for role, source in inputs:
        record: dict[str, Any] = {"role": role, "name": name_of(source), "bytes": None, "sha256": None}
        # Of what was read from a pipe nothing can be said any more.
        if can_read_again(source) and isinstance(source, str | os.PathLike):
            with open(source, "rb") as stream:
                record["sha256"] = hashlib.file_digest(stream, "sha256").hexdigest()
                record["bytes"] = stream.tell()
        records.append(record)
    return {
        "made": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": shlex.join(command),
        "versions": {
            "rageval": __version__,
            "Python": platform.python_version(),
            "numpy": np.__version__,
        },
        "inputs": records,
    }
