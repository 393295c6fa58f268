"""What is suspicious in nuggets, and in lists of nuggets that were assigned to answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rageval.checking.findings import WARNING, Finding, Known, in_query, named, once
from rageval.files.jsonl import read_forms, read_records
from rageval.files.judgements import EXPECTED_ASSIGNMENT, Assignment
from rageval.files.limits import Limits
from rageval.files.nuggets import FRESHSTACK, LISTS, RUBRICS
from rageval.records import Nugget

_Listed = Iterable[tuple[int, list[Nugget]]]


def diagnose_nuggets(path: str, limits: Limits) -> tuple[list[Finding], Known]:
    """Return the findings of a file of nuggets, and what it holds."""
    lines = list(read_forms(path, (LISTS, RUBRICS, FRESHSTACK), "nuggets", limits))
    known = Known(path, "nuggets")
    for line, nuggets in lines:
        for nugget in nuggets:
            known.queries.setdefault(nugget.query_id, line)
            known.nuggets.setdefault((nugget.query_id, nugget.nugget_id), line)
            known.texts[nugget.query_id, nugget.nugget_id] = nugget.text
    return [*_of_lists(path, lines), *_of_importance(path, lines)], known


def _of_lists(path: str, lines: _Listed) -> Iterator[Finding]:
    repeated: dict[str, int] = {}
    questions: dict[str, int] = {}
    empty: dict[str, int] = {}
    for line, nuggets in lines:
        seen: set[str] = set()
        for nugget in nuggets:
            text = " ".join(nugget.text.casefold().split())
            if not text:
                empty.setdefault(in_query(nugget.nugget_id, nugget.query_id), line)
            elif text in seen:
                repeated.setdefault(in_query(nugget.nugget_id, nugget.query_id), line)
            elif text.endswith("?"):
                questions.setdefault(in_query(nugget.nugget_id, nugget.query_id), line)
            seen.add(text)
        if not nuggets:
            empty.setdefault(f"line {line}", line)
    effect = "nugget_recall and coverage count what it says twice"
    yield from once(
        path, repeated, WARNING, "nuggets that repeat one of their query: {n}, first {name}", effect
    )
    effect = "no answer can hold a question: nugget_recall is too low"
    yield from once(path, questions, WARNING, "nuggets that are questions: {n}, first {name}", effect)
    effect = "nugget_recall is undefined where there is no nugget, and meaningless where one says nothing"
    yield from once(path, empty, WARNING, "empty nuggets or lists: {n}, first {name}", effect)


def _of_importance(path: str, lines: _Listed) -> Iterator[Finding]:
    """Where some nuggets are rated, those that are not, and queries that have no vital one."""
    rated = [nugget.importance for _, nuggets in lines for nugget in nuggets]
    if not any(rated):
        return
    unrated: dict[str, int] = {}
    without: dict[str, int] = {}
    for line, nuggets in lines:
        for nugget in nuggets:
            if nugget.importance is None and nugget.weight is None:
                unrated.setdefault(in_query(nugget.nugget_id, nugget.query_id), line)
        if nuggets and not any(nugget.importance == "vital" for nugget in nuggets):
            without.setdefault(nuggets[0].query_id, line)
    effect = "v_strict and w leave them out: rating them failed"
    yield from once(path, unrated, WARNING, "nuggets without an importance: {n}, first {name}", effect)
    effect = "v_strict and v are undefined there, and their means are over fewer queries"
    yield from once(path, without, WARNING, "queries without a vital nugget: {n}, first {name}", effect)


def diagnose_assignments(path: str, limits: Limits) -> tuple[list[Finding], Known]:
    """Return the findings of AutoNuggetizer's assignments, and what they hold."""
    known = Known(path, "assignments")
    banks: dict[str, tuple[str, frozenset[str]]] = {}
    different: dict[str, int] = {}
    failed: dict[str, int] = {}
    for line, answer in read_records(path, Assignment, EXPECTED_ASSIGNMENT, limits):
        query, texts = str(answer.qid), frozenset(nugget.text for nugget in answer.nuggets)
        known.queries.setdefault(query, line)
        for text in texts:
            known.nuggets.setdefault((query, text), line)
        run, first = banks.setdefault(query, (str(answer.run_id), texts))
        if first != texts:
            different.setdefault(f"{query}' (runs '{run}' and '{answer.run_id}", line)
        if any(nugget.assignment == "failed" for nugget in answer.nuggets):
            failed.setdefault(query, line)
    findings = [
        *once(
            path, different, WARNING, "answers with another nugget bank: {n}, first to query {name}", BANKS
        ),
        *once(path, failed, WARNING, "queries with failed assignments: {n}, first {name}", FAILED),
    ]
    return findings, known


BANKS = "nugget_recall divides by other nuggets: these systems cannot be compared"
FAILED = "they are missing: scoring wants --on-missing, and says between what values the measure lies"


def different_banks(one: Known, other: Known) -> Iterator[Finding]:
    """Two files that have other nuggets for the same query."""
    texts: list[dict[str, set[Any]]] = []
    for known in (one, other):
        found: dict[str, set[Any]] = {}
        for (query, nugget), _ in known.nuggets.items():
            found.setdefault(query, set()).add(known.texts.get((query, nugget), nugget))
        texts.append(found)
    places = {
        query: other.queries[query]
        for query in texts[1]
        if query in texts[0] and texts[0][query] != texts[1][query]
    }
    message = f"queries with other nuggets than {named(one.source)}: {{n}}, first {{name}}"
    yield from once(other.source, places, WARNING, message, BANKS)
