"""Traces of some queries, in full: what was asked, answered, cited and quoted, and what judges were asked.

A trace has the `question`, the `gold` answers, `passages` as [id, text] (None where the text is not known),
and `answers`: each of a `run`, with `sentences` as [text, passages that it cites by number, None where a
citation leads nowhere] and the numbers of the passages that were `given` to the system. `calls` are what a
judge was asked of a `run`: the `reply`, where it is known, and from the store of replies the prompt: `system`
(a number in the texts that many calls share), `user`, and in-context `turns`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rageval.errors import InputError, RagevalError
from rageval.files.answers import read_answers
from rageval.files.jsonl import read_batches
from rageval.files.judgements import EXPECTED_ASSIGNMENT, Assignment, kind_of
from rageval.files.opening import Source, can_read_again
from rageval.judges.material import passages_in
from rageval.pages._matrices import CallNote
from rageval.records import Answer, Question, Sentence

if TYPE_CHECKING:
    from rageval.judges.store import Store, StoredReply

Record = dict[str, Any]
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
    wanted = set(queries)
    found: dict[str, _Trace] = {query: _Trace() for query in queries}
    for answer in _answers(texts, wanted):
        found[answer.query_id].add(answer)
    if texts.passages is not None:
        _add_passages(found, texts)
    shared: dict[str, int] = {}
    replies = _Replies(texts.store)
    records: dict[str, Record] = {}
    try:
        for query in queries:
            asked = [replies.record(note, shared) for note in calls.get(query, ())]
            records[query] = found[query].record(questions.get(query), asked)
    finally:
        replies.close()
    return {"queries": records, "systems": list(shared), "replies": replies.said()}


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
                    [part.text, [None if doc is None else self._number(doc, texts) for doc in part.citations]]
                    for part in answer.sentences
                ],
                # References are what may be cited; not all files say what was shown beside.
                "given": [self._number(doc, texts) for doc in dict.fromkeys((*texts, *answer.references))],
            }
        )

    def _number(self, doc: str, texts: Mapping[str, str]) -> int:
        return self.passages.setdefault((doc, texts.get(doc)), len(self.passages))

    def record(self, question: Question | None, calls: list[Record]) -> Record:
        asked = question.text if question else self.question
        record: Record = {"question": asked} if asked else {}
        if question and question.gold:
            record["gold"] = list(question.gold)
        if self.answers:
            record |= {"passages": [list(passage) for passage in self.passages], "answers": self.answers}
        return record | ({"calls": calls} if calls else {})


def _answers(texts: Texts, wanted: set[str]) -> Iterator[Answer]:
    """Yield the answers to these queries; those of assignments unless a file of answers has them."""
    seen = set()
    for source in texts.answers:
        for answer in read_answers(source):
            if answer.query_id in wanted:
                seen.add((answer.query_id, answer.run_id))
                yield answer
    for source in texts.judged:
        if not can_read_again(source) or kind_of(source) != "assignments":
            continue
        for _, lines in read_batches(source, Assignment, EXPECTED_ASSIGNMENT):
            for line in lines:
                place = str(line.qid), str(line.run_id)
                if place[0] in wanted and place not in seen and line.answer_text:
                    yield Answer(*place, (Sentence(line.answer_text, ()),))


def _add_passages(found: Mapping[str, _Trace], texts: Texts) -> None:
    """Put in the texts of passages that the answers only name."""
    lacking = {doc for trace in found.values() for doc, text in trace.passages if text is None}
    known = {}
    if lacking and texts.passages is not None:
        known = {doc: text for doc, text in passages_in(texts.passages) if doc in lacking}
    for trace in found.values():
        trace.passages = {
            (doc, known.get(doc) if text is None else text): number
            for (doc, text), number in trace.passages.items()
        }


class _Replies:
    """What judges were asked and replied: from the store of replies, else from their files."""

    def __init__(self, path: str | None) -> None:
        self._asked, self._found = 0, 0
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
        stored = self._stored(note)
        if stored is None:
            return record
        self._found += 1
        request = stored.request
        record |= {
            "key": stored.key,
            "made": stored.created,
            "reply": stored.reply.text,
            "user": request.user,
        }
        record["system"] = shared.setdefault(request.system, len(shared))
        return record | ({"turns": [list(turn) for turn in request.turns]} if request.turns else {})

    def _stored(self, note: CallNote) -> StoredReply | None:
        # A file of judgements may be anybody's: it must not fetch another reply than its own.
        if len(note.reply) < _SHORTEST_KEY:
            return None
        store = self._opened()
        found = store.show(note.reply) if store is not None else None
        return found if found is not None and note.raw in ("", found.reply.text) else None

    def _opened(self) -> Store | None:
        """Return the store when it is first needed, if there is one."""
        if self._is_open:
            return self._store
        from rageval.judges.store import Store, default_path

        self._is_open = True
        path = str(self._path or default_path())
        if not os.path.isfile(path):
            self._why = f"there is no store of replies at {path}"
            if self._is_named:
                raise InputError(f"{self._why}; expected one that judging has made (--store FILE)")
            return None
        try:
            self._store = Store(path, read_only=True)
        except RagevalError as error:
            if self._is_named:
                raise
            self._why = f"the store of replies could not be read: {error}"
        return self._store

    def said(self) -> Record:
        """Return how many calls there were, how many of them the store knows, and why not all."""
        why = self._why
        if self._asked > self._found and not why:
            why = "the store does not hold them" if self._is_open else "the judgements name no stored reply"
        return {
            "asked": self._asked,
            "found": self._found,
            **({"why": why} if self._asked > self._found else {}),
        }

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
