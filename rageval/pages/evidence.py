"""What stands behind the numbers of a report: what was found where, what judges said, traces of answers."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

import msgspec

from rageval.comparison.passport import Judged, parting, passport
from rageval.core.judge import parse_judge
from rageval.core.remark import Remark
from rageval.errors import InputError, RagevalError
from rageval.files.answers import read_answers
from rageval.files.jsonl import read_batches
from rageval.files.judgements import (
    EXPECTED_ASSIGNMENT,
    FAILED,
    GRADED,
    Assignment,
    JudgementTable,
    form_of_judgements,
)
from rageval.files.opening import Source, can_read_again
from rageval.judges.base import Usage
from rageval.judges.budget import cost
from rageval.judges.material import DOCUMENTS, passages_in
from rageval.judges.store import Store, default_path
from rageval.judges.votes import JudgementKey
from rageval.measures.ranking import Topic
from rageval.measures.scales import FAULTS
from rageval.measures.trajectory import Trajectory
from rageval.pages._parts import plain
from rageval.records import Answer, Nugget, Question, Sentence, Step
from rageval.scoring.gold import Draw
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import Documents, Order, documents_of
from rageval.scoring.sources import RunSource
from rageval.scoring.trajectories import AgentRun
from rageval.views.passports import sentences_on_draw

# Show what was found where: the nuggets of a query by the documents retrieved, or by the answers.
#
# A matrix has `rows` (nuggets, or whatever else was judged), `columns` (documents, or runs) and `cells`,
# which name a row and a column by number and what was said there; in a row that is a `fault`, 1 is bad. A
# matrix of documents has `rankings`, too: each run's documents by column number, best first. A matrix of
# answers has `judges`, which cells name by number. Beside the verdicts stand the evidence and the reasons
# judges gave.

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

    by_place: dict[Key, dict[str, dict[str, str]]] = field(default_factory=dict)
    spent: dict[str, list[int]] = field(default_factory=dict)  # judge -> calls, input, output
    attacks: dict[str, list[int]] = field(default_factory=dict)  # judge -> verdicts that obeyed, and all

    def note_on(self, key: Key, judge: str | None = None) -> dict[str, str]:
        """Return what this judge (or whoever did) said of it."""
        by_judge = self.by_place.get(key, {})
        return by_judge.get(judge, {}) if judge is not None else next(iter(by_judge.values()), {})


def read_notes(
    sources: Iterable[Source],
    is_wanted: Callable[[Key], bool],
    in_full: Collection[str] = (),
) -> JudgesNotes:
    """Return what files of judgements say of the keys that are wanted; the tokens are those of all."""
    notes = JudgesNotes(in_full)
    for source in sources:
        # A stream was read for the scores, and is gone.
        if not can_read_again(source) or form_of_judgements(source) != "judgements":
            continue
        for _, lines in read_batches(source, _NoteLine, "a judgement {query_id, run_id, …}"):
            for line in lines:
                if line.usage is not None:
                    spent = notes.spent.setdefault(line.judge, [0, 0, 0])
                    for index, number in enumerate((1, line.usage.input, line.usage.output)):
                        spent[index] += number
                for rate in line.canaries.values() if isinstance(line.canaries, dict) else ():
                    # Files may be anybody's; what has another shape says nothing.
                    if isinstance(rate, list) and [*map(type, rate)] == [int, int]:
                        attacks = notes.attacks.setdefault(line.judge, [0, 0])
                        attacks[:] = [attacks[0] + rate[0], attacks[1] + rate[1]]
                key = str(line.query_id), str(line.run_id), str(line.item_id), str(line.aspect)
                is_whole = key[0] in notes.in_full
                note = note_in(line.evidence, line.reason, line.detail, None if is_whole else LONGEST)
                raw = line.raw if isinstance(line.raw, str) else ""
                reply = line.key if isinstance(line.key, str) else ""
                if is_whole and (raw or reply):
                    notes.calls.setdefault(key[0], []).append(CallNote(key, line.judge, reply, raw))
                if note and is_wanted(key):
                    notes.by_place.setdefault(key, {})[line.judge] = note
    return notes


def note_in(evidence: Any, reason: Any, detail: Any = None, most: int | None = LONGEST) -> dict[str, str]:
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
    needed = {query.encode("utf-8", "surrogatepass") for query in queries}

    def some(all_documents: Iterator[Documents]) -> dict[str, Sequence[str]]:
        kept = (documents for documents in all_documents if documents.query in needed)
        return {query: docs[:depth] for query, docs in documents_of(kept, order)}

    return source.each(some, needed)


def of_documents(
    queries: Sequence[str],
    qrels: Qrels,
    ranked: Mapping[str, Mapping[str, Sequence[str]]],
    bank: Bank,
    notes: JudgesNotes,
) -> dict[str, Record]:
    """Return each query's nuggets by the documents any run ranks high; `ranked` is by run and query."""
    nuggets = {query: qrels.nuggets(query) for query in queries}
    support: dict[str, list[tuple[str, str, int | float]]] = {}  # document, nugget and grade
    needed = set(queries)
    for row in qrels:
        # In one pass over all judgements: looking up each query would go through them many times.
        if row.query_id in needed and row.relevance > 0:
            support.setdefault(row.query_id, []).append((row.doc_id, row.iteration, row.relevance))
    matrices = {}
    for query in queries:
        docs = {run: list(by_query.get(query, ())) for run, by_query in ranked.items()}
        # A document that several runs found has one column.
        distinct = dict.fromkeys(doc for ids in docs.values() for doc in ids)
        columns = {doc: index for index, doc in enumerate(distinct)}
        listed = {name: index for index, name in enumerate(nuggets.get(query, ()))}
        matrices[query] = {
            "kind": "documents",
            "rows": [_row(query, name, bank) for name in listed],
            "columns": list(columns),
            "rankings": {run: [columns[doc] for doc in ids] for run, ids in docs.items()},
            "cells": [
                {"row": listed[name], "column": columns[doc], "grade": grade}
                | notes.note_on((query, "documents", doc, name))
                for doc, name, grade in support.get(query, ())
                if doc in columns
            ],
        }
    return matrices


def of_answers(
    queries: Sequence[str], grades: JudgementTable, bank: Bank, notes: JudgesNotes
) -> dict[str, Record]:
    """Return for each query everything that was judged, by system."""
    runs, judges = grades.runs.words, grades.judges.words
    matrices: dict[str, Record] = {
        query: {"kind": "answers", "rows": [], "columns": runs, "judges": judges, "cells": []}
        for query in queries
    }
    places: dict[str, dict[tuple[str, str], int]] = {query: {} for query in queries}
    for answer, number in enumerate(grades.query):
        query = grades.queries.words[number]
        for row in grades.rows(answer) if query in matrices else ():
            line = grades.line(answer, row)
            item, aspect, listed = str(line.item_id), str(line.aspect), places[query]
            if (item, aspect) not in listed:
                listed[item, aspect] = len(listed)
                shown = _row(query, aspect, bank, item, line.importance)
                matrices[query]["rows"].append(shown | ({"fault": True} if aspect in FAULTS else {}))
            verdict: Record = {}
            if line.label is not None:
                verdict["label"] = line.label
            elif line.grade is not None:
                verdict["grade"] = line.grade
            if (chance := grades.chance_in(row)) == chance:
                verdict["p"] = chance
            if line.status in FAILED:  # why nothing was said
                verdict["status"] = line.status
            matrices[query]["cells"].append(
                {
                    "row": listed[item, aspect],
                    "column": grades.run[answer],
                    **verdict,
                    "judge": grades.judge[answer],
                    **notes.note_on((query, str(line.run_id), item, aspect), line.judge),
                }
            )
    return matrices


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


def _row(query: str, name: str, bank: Bank, item: str = _ANSWER, importance: str | None = None) -> Record:
    nugget = bank.get((query, name))
    row: Record = {"id": name}
    if item != _ANSWER:
        row["item"] = item
    if nugget is not None:
        row["text"] = shortened(nugget.text)
        importance = importance or nugget.importance
    return row | ({"importance": importance} if importance else {})


# The steps of agents, a part of a matrix of documents: `trajectories` by run, and the `relevant` documents.
#
# A trajectory has `steps`, and what is known of it as a whole: the relevant documents that were `seen`, those
# that are `cited`, totals, the `answer`. All documents are columns of the matrix, by number.

STEPS = 200  # of a trajectory that are shown
_QUERY = 240  # characters of a query that are shown
_AMOUNTS = ("input_tokens", "output_tokens", "cost", "seconds")


def add_trajectories(
    matrices: Mapping[str, Record],
    agents: Mapping[str, AgentRun],
    topics: Iterable[Topic],
    rel: int,
    answers: Mapping[tuple[str, str, str], str],
) -> None:
    """Add the first trajectory of each agent to the matrices; `answers` are by query, run and repeat."""
    for topic in topics:
        query = topic.query_id
        if query not in matrices:
            continue
        columns = {doc: number for number, doc in enumerate(matrices[query]["columns"])}
        trajectories = {}
        for run, agent in agents.items():
            trajectory, *others = agent.of_topic(topic)
            if trajectory.is_absent:
                continue
            record = _trajectory(trajectory, rel, columns, agent.replies is not None)
            answer = answers.get((query, run, agent.trajectories[query][0].repeat))
            record |= {"answer": answer} if answer else {}
            trajectories[run] = record | ({"others": len(others)} if others else {})
        relevant = Trajectory(topic, ()).relevant(rel)
        matrices[query]["relevant"] = _numbers((doc for doc in topic.ids if doc in relevant), columns)
        matrices[query] |= {"trajectories": trajectories, "columns": list(columns)}


def _trajectory(trajectory: Trajectory, rel: int, columns: dict[str, int], has_answers: bool) -> Record:
    relevant = trajectory.relevant(rel)
    totals = {name: trajectory.total(name) for name in _AMOUNTS}
    steps = [_step(step, relevant, columns) for step in trajectory.steps[:STEPS]]
    record: Record = {
        "steps": steps,
        "searches": len(trajectory.searches),
        "seen": sorted(_numbers(trajectory.seen() & relevant, columns)),
        **{name: total for name, total in totals.items() if total == total},
    }
    if has_answers:
        record["cited"] = sorted(_numbers(sorted(trajectory.cited), columns))
    more = len(trajectory.steps) - len(steps)
    return record | ({"more": more} if more else {})


def _step(step: Step, gold_docs: Collection[str], columns: dict[str, int]) -> Record:
    shown = [doc for rank, doc in enumerate(step.docs) if rank < DEPTH or doc in gold_docs]
    record: Record = {
        "kind": step.kind,
        "tool": step.tool,
        "query": shortened(step.request, _QUERY),
        "docs": _numbers(shown, columns),
        "more": len(step.docs) - len(shown),
        "failed": step.status == "error",
    }
    amounts = {name: getattr(step, name) for name in ("number", *_AMOUNTS)}
    stated = {name: amount for name, amount in amounts.items() if amount is not None}
    return {name: value for name, value in record.items() if value} | stated


def _numbers(docs: Iterable[str], columns: dict[str, int]) -> list[int]:
    """Return the columns of documents; those that have none get the next ones."""
    return [columns.setdefault(doc, len(columns)) for doc in docs]


# Judges beside people or beside one another: agreement, confusion, what they disagree on, what they cost.

_GOLD = "gold"
_MOST, _LEAST = 200, 20  # disagreements that are listed, of one pair and of each of many
OF_PASSPORT = (  # what a report shows of it
    *("compared", "queries", "systems", "bias", "coefficients", "labels", "confusion", "by_label"),
    *("tau_b", "ranked_by", "failed", "kin", "drawn", "is_weighted"),
)
MOST_PAIRS = 66  # those of twelve judges


def by_judge(grades: JudgementTable) -> dict[str, Judged]:
    """Return the judgements of each judge, by what they are about."""
    judgements: dict[str, dict[JudgementKey, Record]] = {}
    for _, line in grades.each():
        place = str(line.query_id), str(line.run_id), str(line.item_id), str(line.aspect)
        judgements.setdefault(line.judge, {})[place] = {
            "query_id": place[0],
            "run_id": place[1],
            "status": line.status,
            "judge": line.judge,
            "label": line.label,
            "grade": line.grade,
        }
    return dict(judgements)


def paired_judges(
    judged: Mapping[str, Judged], people: Mapping[str, Judged] | None
) -> list[tuple[str, Judged, str, Judged]]:
    """Return who is compared with whom: judges with people, and people with one another; else judges."""
    if people is None:
        return _shared(combinations(judged.items(), 2))
    # People's files often say no name.
    named = {person or _GOLD: judgements for person, judgements in people.items()}
    with_people = _shared((one, other) for one in judged.items() for other in named.items())
    return [*with_people, *_shared(combinations(named.items(), 2))]


def _shared(
    pairs: Iterable[tuple[tuple[str, Judged], tuple[str, Judged]]],
) -> list[tuple[str, Judged, str, Judged]]:
    shared = (
        (*one, *other)
        for one, other in pairs
        if any(
            place in other[1]
            and all(judged[place].get("status", "ok") in GRADED for judged in (one[1], other[1]))
            for place in one[1]
        )
    )
    # Thirty judges make 435 pairs; a page of all would be read by nobody.
    return list(islice(shared, MOST_PAIRS))


def of_qrels(qrels: Qrels, places: Collection[JudgementKey] | None = None) -> Judged:
    """Return judgements of documents by what they are about: at these places, if any are named."""
    judgements: dict[JudgementKey, Record] = {}
    for row in qrels:
        place = row.query_id, DOCUMENTS, row.doc_id, row.iteration
        if places is None or place in places:
            judgements[place] = {"query_id": row.query_id, "run_id": DOCUMENTS, "status": "ok", "judge": ""}
            judgements[place]["grade"] = float(row.relevance)
    return judgements


def judging(
    pairs: list[tuple[str, Judged, str, Judged]],
    notes: JudgesNotes,
    texts: Mapping[tuple[str, str], str] | None = None,
    draw: Draw | None = None,
    left_out: int = 0,
) -> list[Record]:
    """Return a record a pair of judges; `texts` are the answers, by query and system.

    `draw` is how the labels were drawn with which all are compared, None if there are none; so many
    judgements without a label are `left_out` of the pairs.
    """
    texts, most = texts or {}, _listed_of(pairs)
    records = []
    for name, one, other_name, other in pairs:
        judge_passport = passport(one, other, draw=draw, left_out=left_out)
        record = judge_passport.as_dict()
        differing = parting(one, other)
        records.append(
            {
                "judge": name,
                "other": other_name,
                **{key: record[key] for key in OF_PASSPORT},
                "on_draw": list(sentences_on_draw(judge_passport.facts)),
                # All are counted, though only some are listed.
                "disagreements": len(differing),
                "listed": [
                    {
                        **dict(zip(("query", "run", "item", "aspect"), difference.place, strict=True)),
                        "gap": difference.gap,
                        **({"answer": texts[difference.place[:2]]} if difference.place[:2] in texts else {}),
                        "judge": _verdict_of(one[difference.place], notes, difference.place),
                        "other": _verdict_of(other[difference.place], notes, difference.place),
                    }
                    for difference in differing[:most]
                ],
            }
        )
    return records


def listed(pairs: list[tuple[str, Judged, str, Judged]]) -> set[JudgementKey]:
    """Return the places whose notes are needed."""
    most = _listed_of(pairs)
    return {difference.place for _, one, _, other in pairs for difference in parting(one, other)[:most]}


def _listed_of(pairs: Sized) -> int:
    """Return how many disagreements of a pair are listed, where so many pairs are."""
    return max(_LEAST, _MOST // max(1, len(pairs)))


def _verdict_of(judgement: Mapping[str, Any], notes: JudgesNotes, place: JudgementKey) -> Record:
    """Return a verdict with its reason: the file's own, or what the notes know."""
    verdict: Record = {key: judgement[key] for key in ("label", "grade") if judgement.get(key) is not None}
    own = note_in(judgement.get("evidence"), judgement.get("reason"))
    return verdict | (own or notes.note_on(place, str(judgement.get("judge", ""))))


def spending(grades: JudgementTable, notes: JudgesNotes) -> Iterator[Record]:
    """Yield what each judge did, what failed, and what it took."""
    verdicts = grades.said.words
    counts: dict[int, Counter[str]] = {judge: Counter() for judge in range(len(grades.judges.words))}
    for answer, number in enumerate(grades.judge):
        counts[number].update([verdicts[grades.row_statement[row]].status for row in grades.rows(answer)])
    for number, judge in enumerate(grades.judges.words):
        statuses = {status: counts[number][status] for status in (*GRADED, *FAILED) if counts[number][status]}
        calls, read, written = notes.spent.get(judge, [0, 0, 0])
        # Without known calls nothing is said, rather than that it was free.
        price = cost(Usage(read, written), judge.partition("@")[0]) if calls else None
        yield {
            "judge": judge,
            "judgements": sum(statuses.values()),
            "failed": sum(statuses.get(status, 0) for status in FAILED),
            "statuses": statuses,
            "calls": calls,
            "input": read,
            "output": written,
            "cost": plain(price),
        }


def without_fence(grades: JudgementTable, notes: JudgesNotes) -> Iterator[Remark]:
    """Say of each judge that was asked by a prompt without a fence how many attacks on it succeeded."""
    for judge in (name for name in grades.judges.words if parse_judge(name).is_unfenced):
        best, shown = notes.attacks.get(judge, [0, 0])
        yield Remark("judge_without_fence", facts={"judge": judge, "number": best, "total": shown})


# Traces of some queries, in full: what was asked, answered, cited and quoted, and what judges were asked.
#
# A trace has the `question`, the `gold` answers, `passages` as [id, text] (None where the text is not
# known), and `answers`: each of a `run`, with `sentences` as [text, passages that it cites by number, None
# where a citation leads nowhere] and the numbers of the passages that were `given` to the system. `calls`
# are what a judge was asked of a `run`: the `reply`, where it is known, and from the store of replies the
# prompt: `system` (a number in the texts that many calls share), `user`, and in-context `turns`.

TEXTS = 50  # queries
_SHORTEST_KEY = 8  # fewer digits could be those of another reply


@dataclass(frozen=True)
class Texts:
    """Where the texts of traces are.

    `queries`: of how many, None for all; `answers`, `passages`: files; `judged`: files of judgements, some of
    which hold the answers, too; `store`: the store of replies, None for the usual one, if it is there.
    """

    queries: int | None = TEXTS
    answers: Sequence[Source] = ()
    passages: Source | None = None
    judged: Sequence[Source] = ()
    store: str | None = None

    def some(self, queries: Sequence[str]) -> list[str]:
        """Return the queries whose texts are kept: the first ones."""
        return list(queries if self.queries is None else queries[: self.queries])


def traces(
    queries: Sequence[str],
    texts: Texts,
    questions: Mapping[str, Question],
    calls: Mapping[str, Sequence[CallNote]],
) -> Record:
    """Return the traces of these queries by id, with what stands beside them."""
    needed = set(queries)
    traces_by_query: dict[str, _Trace] = {query: _Trace() for query in queries}
    for answer in _answers_to(texts, needed):
        traces_by_query[answer.query_id].add(answer)
    # The texts of passages that the answers only name are taken from the corpus.
    lacking = {doc for trace in traces_by_query.values() for doc, text in trace.passages if text is None}
    if lacking and texts.passages is not None:
        passage_texts = {doc: text for doc, text in passages_in(texts.passages) if doc in lacking}
        for trace in traces_by_query.values():
            trace.passages = {
                (doc, passage_texts.get(doc) if text is None else text): number
                for (doc, text), number in trace.passages.items()
            }
    shared: dict[str, int] = {}
    replies = _Replies(texts.store)
    records: dict[str, Record] = {}
    try:
        for query in queries:
            asked = [replies.record(note, shared) for note in calls.get(query, ())]
            records[query] = traces_by_query[query].record(questions.get(query), asked)
    finally:
        replies.close()
    return {"queries": records, "systems": list(shared), "replies": replies.summary()}


@dataclass
class _Trace:
    """A trace that is being put together; what two systems saw stands in it once."""

    answers: list[Record] = field(default_factory=list)
    passages: dict[tuple[str, str | None], int] = field(default_factory=dict)
    question: str = ""

    def add(self, answer: Answer) -> None:
        texts = dict(answer.passages)
        self.question = self.question or answer.question
        self.answers.append(
            {
                "run": answer.run_id,
                **({"repeat": answer.repeat} if answer.repeat else {}),
                "sentences": [
                    [
                        part.text,
                        [None if doc is None else self._passage_number(doc, texts) for doc in part.citations],
                    ]
                    for part in answer.sentences
                ],
                # References are what may be cited; not all files say what was shown beside.
                "given": [
                    self._passage_number(doc, texts) for doc in dict.fromkeys((*texts, *answer.references))
                ],
            }
        )

    def _passage_number(self, doc: str, texts: Mapping[str, str]) -> int:
        return self.passages.setdefault((doc, texts.get(doc)), len(self.passages))

    def record(self, question: Question | None, calls: list[Record]) -> Record:
        asked = question.text if question else self.question
        record: Record = {"question": asked} if asked else {}
        if question and question.gold:
            record["gold"] = list(question.gold)
        if self.answers:
            record |= {"passages": [list(passage) for passage in self.passages], "answers": self.answers}
        return record | ({"calls": calls} if calls else {})


def _answers_to(texts: Texts, needed: set[str]) -> Iterator[Answer]:
    """Yield the answers to these queries; those of assignments unless a file of answers has them."""
    seen = set()
    for source in texts.answers:
        for answer in read_answers(source):
            if answer.query_id in needed:
                seen.add((answer.query_id, answer.run_id))
                yield answer
    for source in texts.judged:
        if not can_read_again(source) or form_of_judgements(source) != "assignments":
            continue
        for _, lines in read_batches(source, Assignment, EXPECTED_ASSIGNMENT):
            for line in lines:
                place = str(line.qid), str(line.run_id)
                if place[0] in needed and place not in seen and line.answer_text:
                    yield Answer(*place, (Sentence(line.answer_text, ()),))


class _Replies:
    """What judges were asked and replied: from the store of replies, else from their files."""

    def __init__(self, path: str | None) -> None:
        self._asked, self._count_found = 0, 0
        self._why = ""
        self._path, self._is_named = path, path is not None
        self._store: Store | None = None
        self._is_open = False

    def record(self, note: CallNote, shared: dict[str, int]) -> Record:
        """Return a call; the system prompts of many are alike, and are kept in `shared`."""
        _, run, item, aspect = note.key
        place = {"run": run, "item": item, "aspect": aspect, "judge": note.judge, "reply": note.raw}
        record: Record = {name: value for name, value in place.items() if value}
        self._asked += 1
        # A file of judgements may be anybody's: it must not fetch another reply than its own.
        store = self._opened() if len(note.reply) >= _SHORTEST_KEY else None
        stored = store.show(note.reply) if store is not None else None
        if stored is None or note.raw not in ("", stored.reply.text):
            return record
        self._count_found += 1
        request = stored.request
        record |= {
            "key": stored.key,
            "made": stored.created,
            "reply": stored.reply.text,
            "user": request.user,
        }
        record["system"] = shared.setdefault(request.system, len(shared))
        return record | ({"turns": [list(turn) for turn in request.turns]} if request.turns else {})

    def _opened(self) -> Store | None:
        """Return the store when it is first needed, if there is one."""
        if self._is_open:
            return self._store
        self._is_open = True
        path = str(self._path or default_path())
        if not os.path.isfile(path):
            self._why = f"there is no store of replies at {path}"
            if self._is_named:
                raise InputError(problem=self._why, expected="one written by rageval judge (--store FILE)")
            return None
        try:
            self._store = Store(path, read_only=True)
        except RagevalError as error:
            if self._is_named:
                raise
            self._why = f"the store of replies could not be read: {error}"
        return self._store

    def summary(self) -> Record:
        """Return how many calls there were, how many of them the store knows, and why not all."""
        why = self._why
        if self._asked > self._count_found and not why:
            why = "the store does not have them" if self._is_open else "the judgements name no stored reply"
        return {
            "asked": self._asked,
            "found": self._count_found,
            **({"why": why} if self._asked > self._count_found else {}),
        }

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
