"""Show what was found where: the nuggets of a query by the documents retrieved, or by the answers.

A matrix has `rows` (nuggets, or whatever else was judged), `columns` (documents, or runs) and `cells`, which
name a row and a column by number and what was said there; in a row that is a `fault`, 1 is bad. A matrix of
documents has `rankings`, too: each run's documents by column number, best first. A matrix of answers has
`judges`, which cells name by number. Beside the verdicts stand the evidence and the reasons judges gave.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rageval.files.jsonl import read_batches
from rageval.files.judgements import FAILED, JudgementLine, JudgementTable, kind_of
from rageval.files.opening import Source, can_read_again
from rageval.measures.scales import FAULTS
from rageval.records import Nugget
from rageval.scoring.ordering import Documents, Order
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import documents_of
from rageval.scoring.sources import RunSource

Key = tuple[str, str, str, str]  # query, run, item, aspect
LONGEST = 600  # characters of a quote or a reason that are shown
_Text = str | int


class _Tokens(msgspec.Struct):
    """What a call took."""

    input: int = 0
    output: int = 0


class _NoteLine(msgspec.Struct):
    """What is read of a judgement."""

    query_id: _Text
    run_id: _Text
    item_id: _Text = "answer"
    aspect: _Text = "0"
    judge: str = ""
    evidence: str | None = None
    reason: str | None = None
    detail: str | None = None
    usage: _Tokens | None = None
    canaries: Any = None
    key: Any = None
    raw: Any = None


@dataclass(frozen=True, slots=True)
class CallNote:
    """A call, by the first thing that was judged in it: the key of its stored reply, and the reply itself."""

    key: Key
    judge: str
    reply: str
    raw: str


@dataclass
class JudgesNotes:
    """Evidence and reasons by what they are about and whose they are, and the tokens of each judge.

    Of the queries `in_full` texts are whole, and calls are kept.
    """

    in_full: Collection[str] = ()
    calls: dict[str, list[CallNote]] = field(default_factory=dict)  # by query

    said: dict[Key, dict[str, dict[str, str]]] = field(default_factory=dict)
    spent: dict[str, list[int]] = field(default_factory=dict)  # judge -> calls, input, output
    attacks: dict[str, list[int]] = field(default_factory=dict)  # judge -> verdicts that obeyed, and all

    def said_of(self, key: Key, judge: str | None = None) -> dict[str, str]:
        """Return what this judge (or whoever did) said of it."""
        found = self.said.get(key, {})
        return found.get(judge, {}) if judge is not None else next(iter(found.values()), {})


def read_notes(
    sources: Iterable[Source],
    is_wanted: Callable[[Key], bool],
    in_full: Collection[str] = (),
) -> JudgesNotes:
    """Return what files of judgements say of the keys that are wanted; the tokens are those of all."""
    notes = JudgesNotes(in_full)
    for source in sources:
        # A stream was read for the scores, and is gone.
        if not can_read_again(source) or kind_of(source) != "judgements":
            continue
        for _, lines in read_batches(source, _NoteLine, "a judgement {query_id, run_id, …}"):
            for line in lines:
                _add(notes, line, is_wanted)
    return notes


def _add(notes: JudgesNotes, line: _NoteLine, is_wanted: Callable[[Key], bool]) -> None:
    if line.usage is not None:
        spent = notes.spent.setdefault(line.judge, [0, 0, 0])
        for at, number in enumerate((1, line.usage.input, line.usage.output)):
            spent[at] += number
    for rate in line.canaries.values() if isinstance(line.canaries, dict) else ():
        # Files may be anybody's; what has another shape says nothing.
        if isinstance(rate, list) and [*map(type, rate)] == [int, int]:
            found = notes.attacks.setdefault(line.judge, [0, 0])
            found[:] = [found[0] + rate[0], found[1] + rate[1]]
    key = str(line.query_id), str(line.run_id), str(line.item_id), str(line.aspect)
    is_whole = key[0] in notes.in_full
    said = said_in(line.evidence, line.reason, line.detail, None if is_whole else LONGEST)
    raw = line.raw if isinstance(line.raw, str) else ""
    reply = line.key if isinstance(line.key, str) else ""
    if is_whole and (raw or reply):
        notes.calls.setdefault(key[0], []).append(CallNote(key, line.judge, reply, raw))
    if said and is_wanted(key):
        notes.said.setdefault(key, {})[line.judge] = said


def said_in(evidence: Any, reason: Any, detail: Any = None, most: int | None = LONGEST) -> dict[str, str]:
    """Return the texts that are there, shortened unless there is no most."""
    texts = {"evidence": evidence, "reason": reason, "detail": detail}
    return {
        name: str(text) if most is None else shortened(str(text), most)
        for name, text in texts.items()
        if text
    }


def shortened(text: str, most: int = LONGEST) -> str:
    """Return the text, cut where it is too long for a page."""
    return text if len(text) <= most else text[: most - 1] + "…"


Record = dict[str, Any]
Bank = Mapping[tuple[str, str], Nugget]  # by query and nugget id
DEPTH = 20  # documents of a ranking that are shown, at most
_ANSWER = "answer"


def rankings(
    source: RunSource, queries: Sequence[str], order: Order, depth: int
) -> Mapping[str, Sequence[str]]:
    """Return the first documents of some queries, best first; the file is read once more for it."""
    wanted = {query.encode("utf-8", "surrogatepass") for query in queries}

    def some(found: Iterator[Documents]) -> dict[str, Sequence[str]]:
        kept = (documents for documents in found if documents.query in wanted)
        return {query: docs[:depth] for query, docs in documents_of(kept, order)}

    return source.each(some)


def of_documents(
    queries: Sequence[str],
    qrels: Qrels,
    ranked: Mapping[str, Mapping[str, Sequence[str]]],
    bank: Bank,
    notes: JudgesNotes,
) -> dict[str, Record]:
    """For each query its nuggets by the documents that any run ranks high; `ranked` is by run and query."""
    nuggets, support = _support(queries, qrels)
    found = {}
    for query in queries:
        docs = {run: list(by_query.get(query, ())) for run, by_query in ranked.items()}
        # A document that several runs found has one column.
        distinct = dict.fromkeys(doc for ids in docs.values() for doc in ids)
        columns = {doc: at for at, doc in enumerate(distinct)}
        listed = {name: at for at, name in enumerate(nuggets.get(query, ()))}
        found[query] = {
            "kind": "documents",
            "rows": [_row(query, name, bank) for name in listed],
            "columns": list(columns),
            "rankings": {run: [columns[doc] for doc in ids] for run, ids in docs.items()},
            "cells": [
                {"row": listed[name], "column": columns[doc], "grade": grade}
                | notes.said_of((query, "documents", doc, name))
                for doc, name, grade in support.get(query, ())
                if doc in columns
            ],
        }
    return found


def of_answers(
    queries: Sequence[str], grades: JudgementTable, bank: Bank, notes: JudgesNotes
) -> dict[str, Record]:
    """For each query everything that was judged, by system."""
    found: dict[str, Record] = {query: _empty(grades) for query in queries}
    places: dict[str, dict[tuple[str, str], int]] = {query: {} for query in queries}
    for answer, number in enumerate(grades.query):
        query = grades.queries.words[number]
        for row in grades.rows(answer) if query in found else ():
            line = grades.line(answer, row)
            item, aspect, listed = str(line.item_id), str(line.aspect), places[query]
            if (item, aspect) not in listed:
                listed[item, aspect] = len(listed)
                shown = _row(query, aspect, bank, item, line.importance)
                found[query]["rows"].append(shown | ({"fault": True} if aspect in FAULTS else {}))
            found[query]["cells"].append(
                {
                    "row": listed[item, aspect],
                    "column": grades.run[answer],
                    **_verdict(line),
                    "judge": grades.judge[answer],
                    **notes.said_of((query, str(line.run_id), item, aspect), line.judge),
                }
            )
    return found


def fitting(matrices: Mapping[str, Record], most: int, least: int = 1) -> dict[str, Record]:
    """Return the first of them, as many as fit into so many characters of JSON, and at least so many."""
    kept: dict[str, Record] = {}
    for query, matrix in matrices.items():
        # As long as it will be in the page, where non-ASCII is escaped.
        most -= len(json.dumps(matrix, ensure_ascii=True, separators=(",", ":")))
        if most < 0 and len(kept) >= least:
            break
        kept[query] = matrix
    return kept


def _empty(grades: JudgementTable) -> Record:
    columns, judges = grades.runs.words, grades.judges.words
    return {"kind": "answers", "rows": [], "columns": columns, "judges": judges, "cells": []}


def _support(
    queries: Sequence[str], qrels: Qrels
) -> tuple[dict[str, list[str]], dict[str, list[tuple[str, str, int | float]]]]:
    """Return the nuggets of each query, and (document, nugget, grade) of everything that is supported."""
    nuggets = {query: qrels.nuggets(query) for query in queries}
    support: dict[str, list[tuple[str, str, int | float]]] = {}
    wanted = set(queries)
    for row in qrels:
        # In one pass over all judgements: looking up each query would go through them many times.
        if row.query_id in wanted and row.relevance > 0:
            support.setdefault(row.query_id, []).append((row.doc_id, row.iteration, row.relevance))
    return nuggets, support


def _row(query: str, name: str, bank: Bank, item: str = _ANSWER, importance: str | None = None) -> Record:
    nugget = bank.get((query, name))
    row: Record = {"id": name}
    if item != _ANSWER:
        row["item"] = item
    if nugget is not None:
        row["text"] = shortened(nugget.text)
        importance = importance or nugget.importance
    return row | ({"importance": importance} if importance else {})


def _verdict(line: JudgementLine) -> Record:
    """Return what was said, or why nothing was."""
    verdict: Record = {}
    if line.label is not None:
        verdict["label"] = line.label
    elif line.grade is not None:
        verdict["grade"] = line.grade
    if line.status in FAILED:
        verdict["status"] = line.status
    return verdict
