"""What there is to judge, gathered from the files that hold it, and cut into tasks, one call each.

A task is an answer, some of its nuggets, a citation, two answers, …. What is shown gets short ids (n1, d1,
a1) that the reply must echo; a task knows what they stand for.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from types import MappingProxyType
from typing import Any

import msgspec

from rageval.core.remark import Remark, Scope
from rageval.core.turn import CONVERSATION, TURN
from rageval.errors import InputError, Place, UsageError
from rageval.files import retrieved
from rageval.files.answers import NO_ANSWER, read_answers, read_claims
from rageval.files.jsonl import pair_aspect, read_records
from rageval.files.kinds import is_answer_table, is_gold_table, kind_of, wrong_kind
from rageval.files.nuggets import read_nuggets
from rageval.files.opening import Limits, Source, name_of, start_of, with_limits
from rageval.files.places import PLACES
from rageval.files.questions import read_questions
from rageval.files.synonyms import SYNONYMS
from rageval.judges.rubric import Rubric
from rageval.logs.tables import read_table, read_tables
from rageval.records import BESIDE, Answer, Nugget, PassageParts, Question, Sentence
from rageval.statistics.battles import BattleDraw, Pairing, pairs_among
from rageval.text import problem_of_id, some, visible

UNITS = ("question", "passages")  # of rubrics that write nuggets
SPLITS = "claims"  # of one that takes answers apart
JOINED = "claim-joined"  # of one that sees all passages as one text
_EVERY = "*"  # the item of what is judged beside all passages, or citations, together


_Talk = tuple[str, str, str]  # a conversation as a system led it: its id, the system, the repeat
DOCUMENTS, _NUGGETS, _GOLD = "documents", "nuggets", "gold"  # run ids of judgements that are of no system


@dataclass(frozen=True, slots=True)
class Material:
    """Everything to judge, and the data that judging needs."""

    answers: Sequence[Answer] = ()
    questions: Mapping[str, Question] = field(default_factory=dict)
    nuggets: Mapping[str, Sequence[Nugget]] = field(default_factory=dict)
    passages: Mapping[str, str | PassageParts] = field(default_factory=dict)  # by document id
    candidates: Mapping[str, Sequence[str]] = field(default_factory=dict)  # documents to judge, by query
    permutations: int = 10
    balanced: bool = False
    seed: int = 0
    claims: Mapping[tuple[str, str], Sequence[str]] | None = None  # by query and run
    remarks: Sequence[Remark] = ()  # what should be said of it
    systems: Sequence[Sequence[str]] = ()  # those of each table of answers
    judgements: Sequence[Mapping[str, Any]] = ()  # of the tools whose logs hold the answers
    drawn_pairs: BattleDraw | None = None  # to compare, each once; else all, in both orders
    _talks: dict[_Talk, list[tuple[float, str, Answer | None]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def question(self, query: str) -> Question:
        """Return the question; `InputError` names what is missing."""
        if query not in self.questions:
            raise InputError(
                at=Place(f"query {visible(query)!r}"),
                problem="no such question",
                expected=f"it in --questions FILE ({len(self.questions):,} questions there)",
            )
        return self.questions[query]

    def gold(self, query: str) -> list[str]:
        """Return the gold answers to a question; `InputError` says of how many there are none."""
        question = self.question(query)
        if question.gold:
            return list(question.gold)
        asked, lacking = self._without_gold()
        text = f" ({visible(question.text)[:60]!r})" if question.text else ""
        raise InputError(
            at=Place(f"query {visible(query)!r}{text}"),
            problem=f"has no gold answer, which this rubric needs (missing for {len(lacking):,} of"
            f" {len(asked):,} questions: {some(lacking)})",
            remedy="add one for every question, next to the answers (a column"
            f" {', '.join(SYNONYMS['gold'][:4])}, …) or in --questions FILE; rageval compare, gate, report"
            " and score leave such questions of tables out",
        )

    def _without_gold(self) -> tuple[list[str], list[str]]:
        """Return the questions that were asked, and those of them without a gold answer."""
        asked = dict.fromkeys(answer.query_id for answer in self.answers) or dict.fromkeys(self.questions)
        return list(asked), [
            query for query in asked if query in self.questions and not self.questions[query].gold
        ]

    def leave_out_without_gold(self, rubric: Rubric) -> Material:
        """Return the material without questions that a rubric cannot judge for lack of a gold answer."""
        asked, lacking = self._without_gold()
        if "gold" not in rubric.file.sees or not lacking or len(lacking) == len(asked):
            return self
        excluded = frozenset(lacking)
        return replace(
            self,
            answers=[answer for answer in self.answers if answer.query_id not in excluded],
            questions={
                query: question for query, question in self.questions.items() if query not in excluded
            },
            remarks=[
                *self.remarks,
                Remark(
                    "questions_without_gold",
                    facts={"number": len(excluded), "total": len(asked), "examples": lacking[:_EXAMPLES]},
                ),
            ],
        )

    def history(self, answer: Answer) -> str:
        """Return the earlier turns of the conversation of an answer: questions, and what the system answered.

        Empty for a first turn, and for a question of no conversation.
        """
        conversation, _ = self._turn_of(answer)
        if not conversation:
            return ""
        talk = conversation, answer.run_id, answer.repeat
        if not self._talks:
            self._gather_talks()
        place = next(number for number, query, _ in self._talks[talk] if query == answer.query_id)
        earlier = [(query, other) for number, query, other in self._talks[talk] if number < place]
        texts = (
            (self.question(query).text, other.text if other is not None else "") for query, other in earlier
        )
        return "\n\n".join(f"Question: {asked}\nAnswer: {text or '(none)'}" for asked, text in texts)

    def _turn_of(self, answer: Answer) -> tuple[str, str]:
        """Return the conversation of an answer, and its turn as it is written; "" where nothing says it."""
        if answer.conversation_id:
            return answer.conversation_id, answer.turn
        facts = dict(self.questions[answer.query_id].facts) if answer.query_id in self.questions else {}
        return facts.get(CONVERSATION, ""), facts.get(TURN, "")

    def _gather_talks(self) -> None:
        """Put the turns of every conversation in order, as each system answered them."""
        turns: dict[str, dict[str, float]] = {}
        for answer in (*self.answers, *(Answer(query, "", ()) for query in self.questions)):
            conversation, turn = self._turn_of(answer)
            if conversation:
                turns.setdefault(conversation, {})[answer.query_id] = _turn_number(answer.query_id, turn)
        answers = {(answer.query_id, answer.run_id, answer.repeat): answer for answer in self.answers}
        for answer in self.answers:
            conversation, _ = self._turn_of(answer)
            talk = conversation, answer.run_id, answer.repeat
            if conversation and talk not in self._talks:
                queries = sorted((number, query) for query, number in turns[conversation].items())
                self._talks[talk] = [
                    (number, query, answers.get((query, *talk[1:]))) for number, query in queries
                ]

    def sub_narratives(self, query: str) -> list[str]:
        """Return the smaller needs in a question; `InputError` if it has none."""
        question = self.question(query)
        if not question.sub_narratives:
            raise InputError(
                at=Place(f"query {visible(query)!r}"),
                problem="has no sub-narratives, which this rubric needs",
                remedy="add sub_narratives (a list of texts) to every question in --questions FILE",
            )
        return list(question.sub_narratives)

    def bank(self, query: str) -> Sequence[Nugget]:
        """Return the nuggets of a query."""
        if not self.nuggets.get(query):
            runs = dict.fromkeys(
                visible(answer.run_id) for answer in self.answers if answer.query_id == query
            )
            of = f", and {', '.join(list(runs)[:3])} answered it" if runs else ""
            raise InputError(
                at=Place(f"query {visible(query)!r}"),
                problem=f"has no nuggets{of}",
                expected="them in --nuggets FILE",
            )
        return self.nuggets[query]

    def claims_of(self, query: str, run: str) -> Sequence[str]:
        """Return the claims of an answer, or of the gold answer; `InputError` if they are unknown."""
        if self.claims is None or (query, run) not in self.claims:
            raise InputError(
                at=Place(f"run {visible(run)}, query {visible(query)}"),
                problem="its claims are not known",
                expected="them in --claims FILE (rageval judge claims writes it)",
            )
        return self.claims[query, run]

    def passage(self, doc: str) -> str:
        """Return the text of a document, below its title if it has one."""
        return _part(self.known_passage(doc), "passage")

    def known_passage(self, doc: str) -> str | PassageParts:
        """Return the text of a document, in its parts where these are known."""
        if doc not in self.passages:
            raise InputError(
                at=Place(f"document {visible(doc)!r}"),
                problem="its text is not known",
                expected="it in --passages FILE, or in the answers",
            )
        return self.passages[doc]

    def rated(self, judgements: Iterable[Mapping[str, Any]]) -> Iterator[Nugget]:
        """Yield the nuggets with the importance that judgements of them say; None where judging failed."""
        importance = {
            (judgement["query_id"], judgement["item_id"]): judgement.get("label") for judgement in judgements
        }
        for query, bank in self.nuggets.items():
            for nugget in bank:
                yield nugget._replace(importance=importance.get((query, nugget.nugget_id)))


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """Where a verdict goes: the judgement it becomes but for what is said; `also` keeps a nugget's weight.

    `shown` are the systems of a pair or a list in the order in which their answers were shown.
    """

    query: str
    run: str
    item: str = "answer"
    aspect: str = "0"
    also: Mapping[str, Any] = field(default_factory=dict)
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One call: what is shown, the ids to be echoed, and the rows that each verdict (by its id) becomes.

    Of one that `failed` says why: what it is about has no text, so that nobody can be asked.
    """

    data: Mapping[str, Any]
    rows: Mapping[str, tuple[VerdictRow, ...]]
    ids: tuple[str, ...] = ()
    failed: str = ""

    @property
    def judged_sha(self) -> str:
        """A short hash of the texts that are judged, and judged by: what tells that they changed since.

        Lists are left out that are cut into windows: a judgement of one item does not depend on the others.
        """
        texts = sorted(_texts_in([value for name, value in self.data.items() if name not in _WINDOWED]))
        return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:_SHA]


_WINDOWED = ("nuggets", "documents", "claims")
_SHA = 16  # digits
_EXAMPLES = 3  # names in a remark


def _texts_in(value: Any) -> Iterator[str]:
    """Yield all texts of a value; in whatever order answers are shown, they are the same."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_in(item)


def tasks(rubric: Rubric, material: Material) -> Iterator[Task]:
    """Yield everything the rubric has to judge."""
    yield from _UNITS[rubric.file.unit](rubric, material)


def _answer_tasks(rubric: Rubric, material: Material) -> Iterator[Task]:
    for answer in material.answers:
        # A rubric of several numbers says all of them in one call; each becomes a judgement of its own
        # aspect.
        names = tuple(rubric.file.ranges) or ("",)
        rows = {
            name: (VerdictRow(answer.query_id, answer.run_id, aspect=name or "0", also=repeat_of(answer)),)
            for name in names
        }
        yield Task(_answer_data(answer, material, rubric.file.sees), rows, failed=answer.error)


def _answer_data(answer: Answer, material: Material, sees: Collection[str]) -> dict[str, Any]:
    """Return what the rubric wants to see of an answer and its question; nothing of one that failed."""
    if answer.error:
        return {}
    shown = _of_question(answer.query_id, material, sees)
    if "answer" in sees:
        shown["answer"] = answer.text
    if "history" in sees:
        shown["history"] = material.history(answer)
    for name in _parts_named("passages", sees):
        shown[name] = [_part(_shown_text(text, doc, material), name) for doc, text in answer.passages]
    return shown


def _turn_number(query: str, turn: str) -> float:
    """Return the place of a turn in its conversation; `InputError` where that is no number."""
    try:
        return float(turn)
    except ValueError:
        raise InputError(
            at=Place(f"query {visible(query)!r}"),
            expected="a number as turn, which orders the turns of its conversation",
            found=f"{visible(turn)!r}" if turn else "none",
        ) from None


def _of_question(query: str, material: Material, sees: Iterable[str]) -> dict[str, Any]:
    """Return what the rubric wants to see of a question."""
    # Made when asked for: a rubric that sees no gold answer must not be refused for want of one.
    show: dict[str, Callable[[], Any]] = {
        "question": lambda: material.question(query).text,
        "request": lambda: material.question(query).request or material.question(query).text,
        "time": lambda: dict(material.question(query).facts).get("query_time", ""),
        "sub_narratives": lambda: material.sub_narratives(query),
        "gold": lambda: material.gold(query),
        "gold_passages": lambda: [text for _, text in material.question(query).documents],
    }
    return {name: show[name]() for name in sees if name in show}


def _parts_named(name: str, sees: Iterable[str]) -> list[str]:
    """Return which of these is this, as a whole or one of its parts."""
    return [part for part in sees if part.partition(".")[0] == name]


def _shown_text(text: str | None, doc: str, material: Material) -> str | PassageParts:
    """Return what a system saw of a document, else what the corpus has: it may have been cut.

    Where both are the same the corpus knows its parts.
    """
    if not text:
        return material.known_passage(doc)
    passage = material.passages.get(doc)
    return passage if isinstance(passage, PassageParts) and passage.whole == text else text


def _part(passage: str | PassageParts, name: str) -> str:
    """Return what stands under this name of a passage: all of it, or one of its parts."""
    part = name.partition(".")[2]
    parts = PassageParts(passage) if isinstance(passage, str) else passage
    return str(getattr(parts, part)) if part else parts.whole


def _passage(rubric: Rubric, passage: str | PassageParts) -> dict[str, str]:
    """Return what the rubric shows of a passage; all of it, where it does not say."""
    names = _parts_named("passage", rubric.file.sees) or ("passage",)
    return {name: _part(passage, name) for name in names}


def _several(rubric: Rubric, passages: Sequence[str | PassageParts]) -> dict[str, list[str]]:
    """Return what the rubric shows of several passages; all of them, where it does not say."""
    names = _parts_named("passages", rubric.file.sees) or ("passages",)
    return {name: [_part(passage, name) for passage in passages] for name in names}


def _nugget_tasks(rubric: Rubric, material: Material) -> Iterator[Task]:
    for answer in material.answers:
        data = _answer_data(answer, material, rubric.file.sees)
        # Many nuggets in one call are judged less well, and a reply that fails loses fewer of them.
        for window in _windows(material.bank(answer.query_id), rubric.file.window):
            yield _of_nuggets(data, window, answer)


def _bank(rubric: Rubric, material: Material) -> Iterator[Task]:
    for query in material.nuggets:
        data = {"question": material.question(query).text}
        for window in _windows(material.bank(query), rubric.file.window):
            names = _short("n", window)
            rows = {
                name: (VerdictRow(query, _NUGGETS, item=nugget.nugget_id, aspect="importance"),)
                for name, nugget in zip(names, window, strict=True)
            }
            yield Task(data | {"nuggets": _as_items(names, [n.statement for n in window])}, rows, names)


def repeat_of(answer: Answer) -> dict[str, Any]:
    """Return what tells a judgement of an answer from those of its repeats."""
    return {"repeat": answer.repeat} if answer.repeat else {}


def _of_nuggets(data: Mapping[str, Any], window: Sequence[Nugget], answer: Answer) -> Task:
    names = _short("n", window)
    query, run, repeat = answer.query_id, answer.run_id, repeat_of(answer)
    rows = {
        name: (VerdictRow(query, run, aspect=nugget.nugget_id, also=repeat | weight_of(nugget)),)
        for name, nugget in zip(names, window, strict=True)
    }
    listed = _as_items(names, [nugget.statement for nugget in window])
    return Task({**data, "nuggets": listed}, rows, names, answer.error)


def weight_of(nugget: Nugget) -> dict[str, Any]:
    """Return what a judgement repeats of its nugget; DRAGUN's A, B and C stay in the rubric."""
    importance = nugget.importance if nugget.importance in ("vital", "okay") else None
    also = {"importance": importance, "weight": nugget.weight}
    return {key: value for key, value in also.items() if value is not None}


def _document_tasks(rubric: Rubric, material: Material) -> Iterator[Task]:
    for query, docs in material.candidates.items():
        bank = material.bank(query)
        nuggets = _short("n", bank)
        for window in _windows(docs, rubric.file.window):
            names = _short("d", window)
            rows = {
                # A tab stands in no short name, so that both can be told from the joined one.
                f"{name}\t{short}": (VerdictRow(query, DOCUMENTS, item=doc, aspect=nugget.nugget_id),)
                for name, doc in zip(names, window, strict=True)
                for short, nugget in zip(nuggets, bank, strict=True)
            }
            data = {
                "question": material.question(query).text,
                "nuggets": _as_items(nuggets, [nugget.statement for nugget in bank]),
                "documents": _as_items(names, map(material.passage, window)),
            }
            # The empty name is the border between documents and nuggets; see `_split_ids` in `verdicts.py`.
            yield Task(data, rows, (*names, "", *nuggets))


def _passages(rubric: Rubric, material: Material) -> Iterator[Task]:
    for query, docs in material.candidates.items():
        asked = _of_question(query, material, rubric.file.sees)
        for doc in docs:
            data = asked | _passage(rubric, material.known_passage(doc))
            yield Task(data, {"": (VerdictRow(query, DOCUMENTS, item=doc),)})


def _citations(rubric: Rubric, material: Material) -> Iterator[Task]:
    for answer in material.answers:
        if answer.error:
            yield _of_a_sentence(answer, "answer")
        texts = dict(answer.passages)
        for number, sentence in enumerate(answer.sentences):
            # A document that a sentence cites twice is judged once.
            for doc in dict.fromkeys(sentence.citations):
                if doc is None:
                    continue  # leads nowhere: no text to judge, and worth nothing anyway
                passage = _shown_text(texts.get(doc), doc, material)
                also = repeat_of(answer) | {"sentences": len(answer.sentences)}
                row = VerdictRow(answer.query_id, answer.run_id, doc, str(number), also)
                yield Task({"sentence": sentence.text, **_passage(rubric, passage)}, {"": (row,)})


def _of_a_sentence(answer: Answer, item: str) -> Task:
    """Return the task of an answer that failed, of which nobody knows the sentences: as if it had one."""
    row = VerdictRow(answer.query_id, answer.run_id, item, "0", repeat_of(answer))
    return Task({}, {"": (row,)}, failed=answer.error)


def _cited_together(rubric: Rubric, material: Material) -> Iterator[Task]:
    """Yield for each sentence all that it cites together; of several, each alone and all but each, too."""
    for answer in material.answers:
        if answer.error:
            yield _of_a_sentence(answer, _EVERY)
        texts = dict(answer.passages)
        for number, sentence in enumerate(answer.sentences):
            docs = [doc for doc in dict.fromkeys(sentence.citations) if doc is not None]
            if not docs or None in sentence.citations:
                continue  # supported by nothing, whatever the others say
            shown = {_EVERY: docs}
            if len(docs) > 1:
                shown |= {doc: [doc] for doc in docs}
                shown |= {f"-{doc}": [other for other in docs if other != doc] for doc in docs}
            for item, cited in shown.items():
                passages = [_shown_text(texts.get(doc), doc, material) for doc in cited]
                row = VerdictRow(answer.query_id, answer.run_id, item, str(number), repeat_of(answer))
                yield Task({"sentence": sentence.text, **_several(rubric, passages)}, {"": (row,)})


def _passage_nuggets(rubric: Rubric, material: Material) -> Iterator[Task]:
    for query, docs in material.candidates.items():
        asked = _of_question(query, material, rubric.file.sees)
        for doc in docs:
            data = asked | _passage(rubric, material.known_passage(doc))
            for window in _windows(material.bank(query), rubric.file.window):
                names = _short("n", window)
                rows = {
                    name: (VerdictRow(query, DOCUMENTS, item=doc, aspect=nugget.nugget_id),)
                    for name, nugget in zip(names, window, strict=True)
                }
                yield Task(data | {"nuggets": _as_items(names, [n.text for n in window])}, rows, names)


def _claim_tasks(rubric: Rubric, material: Material) -> Iterator[Task]:
    """Yield each answer, and the gold answer of each question, to be taken apart into claims."""
    for answer in material.answers:
        if answer.run_id == _GOLD:
            raise InputError(
                at=Place(f"run {_GOLD}"),
                problem="this name is reserved for gold answers",
                remedy="use another one",
            )
        if answer.repeat:
            raise InputError(
                at=Place(f"run {visible(answer.run_id)}, query {visible(answer.query_id)}"),
                problem="claims need one answer per system and question",
                remedy="remove the repeats",
            )
        data = (
            {} if answer.error else {"question": material.question(answer.query_id).text, "text": answer.text}
        )
        yield Task(data, {"": (VerdictRow(answer.query_id, answer.run_id),)}, failed=answer.error)
    for query in dict.fromkeys(answer.query_id for answer in material.answers if not answer.error):
        question = material.question(query)
        if question.gold:
            yield Task(
                {"question": question.text, "text": question.gold[0]}, {"": (VerdictRow(query, _GOLD),)}
            )


def _claims(rubric: Rubric, material: Material) -> Iterator[Task]:
    """Yield claims beside what may entail them: the answer's, beside gold and passages, and gold's."""
    is_joined = rubric.file.unit == JOINED
    for answer in material.answers:
        if answer.error:
            # Nobody knows how many claims and passages there would be: as if one of each.
            passage = _EVERY if is_joined else _UNKNOWN_PASSAGE
            for item, aspect in (*_UNKNOWN_CLAIMS, *((passage, of) for _, of in _UNKNOWN_CLAIMS)):
                row = VerdictRow(answer.query_id, answer.run_id, item, aspect)
                yield Task({}, {"": (row,)}, failed=answer.error)
            continue
        question = material.question(answer.query_id)
        texts_behind = _texts_behind(answer, material)
        passages = dict(texts_behind)
        if is_joined and texts_behind:
            passages = {_EVERY: "\n".join(text for _, text in texts_behind)}
        if strange := {_GOLD, "answer"} & set(passages):
            raise InputError(
                at=Place(f"document {min(strange)}"),
                problem="this id is reserved for answers",
                remedy="use another one",
            )
        premises = {"response": dict(passages), _GOLD: {"answer": answer.text, **passages}}
        if question.gold:
            premises["response"] = {_GOLD: question.gold[0], **passages}
        for kind, texts in premises.items():
            run = _GOLD if kind == _GOLD else answer.run_id
            if run == _GOLD and not question.gold:
                continue
            numbered = _numbered_claims(kind, material.claims_of(answer.query_id, run))
            for item, text in texts.items():
                for window in _windows(numbered, rubric.file.window):
                    names = _short("c", window)
                    rows = {
                        name: (VerdictRow(answer.query_id, answer.run_id, item, aspect),)
                        for name, (aspect, _) in zip(names, window, strict=True)
                    }
                    listed = _as_items(names, [claim for _, claim in window])
                    data = {"question": question.text, "claims": listed, "text": text}
                    yield Task(data, rows, names)


_UNKNOWN_CLAIMS = ((_GOLD, "response:0"), ("answer", "gold:0"))  # what is said of which
_UNKNOWN_PASSAGE = "passage"


def _texts_behind(answer: Answer, material: Material) -> list[tuple[str, str]]:
    """Return the passages that were retrieved for an answer; those it cites, where it does not say."""
    if answer.passages:
        return [(doc, text or material.passage(doc)) for doc, text in answer.passages]
    cited = (doc for sentence in answer.sentences for doc in sentence.citations if doc is not None)
    return [(doc, material.passage(doc)) for doc in dict.fromkeys(cited)]


def _numbered_claims(kind: str, claims: Sequence[str]) -> list[tuple[str, str]]:
    """Return the claims of an answer, or of gold, with the aspects of their judgements."""
    return [(f"{kind}:{number}", claim) for number, claim in enumerate(claims)]


def _claim_lists(rubric: Rubric, material: Material) -> Iterator[Task]:
    """Yield the claims of each answer beside those of the gold answer, where both have some."""
    for answer in material.answers:
        query, run = answer.query_id, answer.run_id
        if answer.error:
            for item, aspect in _UNKNOWN_CLAIMS:
                yield Task({}, {"": (VerdictRow(query, run, item, aspect),)}, failed=answer.error)
            continue
        question = material.question(query)
        if not question.gold:
            continue
        own = _numbered_claims("response", material.claims_of(query, run))
        gold = _numbered_claims(_GOLD, material.claims_of(query, _GOLD))
        if not own or not gold:
            continue
        names = _short("c", [*own, *gold])
        rows = {
            name: (VerdictRow(query, run, _GOLD if number < len(own) else "answer", aspect),)
            for number, (name, (aspect, _)) in enumerate(zip(names, [*own, *gold], strict=True))
        }
        data = {
            "question": question.text,
            "answer_claims": _as_items(names[: len(own)], [claim for _, claim in own]),
            "gold_claims": _as_items(names[len(own) :], [claim for _, claim in gold]),
        }
        yield Task(data, rows, names)


def _contexts(rubric: Rubric, material: Material) -> Iterator[Task]:
    """Yield each passage that was retrieved for an answer, at its place, beside the gold answer."""
    for answer in material.answers:
        if answer.error:
            yield _of_a_sentence(answer, _UNKNOWN_PASSAGE)
            continue
        for place, (doc, text) in enumerate(answer.passages):
            asked = _of_question(answer.query_id, material, rubric.file.sees)
            row = VerdictRow(answer.query_id, answer.run_id, doc, str(place), repeat_of(answer))
            passage = _shown_text(text, doc, material)
            yield Task(asked | _passage(rubric, passage), {"": (row,)})


_BEFORE = 3  # sentences that are shown before one


def _uncited(rubric: Rubric, material: Material) -> Iterator[Task]:
    """Yield each sentence that cites nothing, with those before it and what the bank asks."""
    for answer in material.answers:
        if answer.error:
            yield _of_a_sentence(answer, "answer")
        texts = [sentence.text for sentence in answer.sentences]
        for number, sentence in enumerate(answer.sentences):
            if sentence.citations:
                continue
            data = _answer_data(answer, material, rubric.file.sees)
            data |= {"sentence": sentence.text, "before": texts[max(0, number - _BEFORE) : number]}
            if "nuggets" in rubric.file.sees:
                bank = material.nuggets.get(answer.query_id, ())
                data["nuggets"] = [nugget.statement for nugget in bank]
            also = repeat_of(answer) | {"sentences": len(answer.sentences)}
            yield Task(data, {"": (VerdictRow(answer.query_id, answer.run_id, "answer", str(number), also),)})


def _expected(rubric: Rubric, material: Material) -> Iterator[Task]:
    """Yield the short answers that a report is expected to give, some at a time; else the nuggets."""
    for answer in material.answers:
        data = _answer_data(answer, material, rubric.file.sees)
        bank: list[Nugget] = []
        for nugget in material.bank(answer.query_id):
            # Each answer to a question is judged by its own id; where they have none, the nugget is.
            bank += [
                nugget._replace(
                    nugget_id=short.answer_id,
                    text=f"{nugget.text} {short.text}",
                    answers=(),
                    importance=None,
                    weight=None,
                )
                for short in nugget.answers
                if short.answer_id
            ] or [nugget]
        for window in _windows(bank, rubric.file.window):
            yield _of_nuggets(data, window, answer)


def _question_tasks(rubric: Rubric, material: Material) -> Iterator[Task]:
    for query, question in material.questions.items():
        gold = {"gold": material.gold(query)} if "gold" in rubric.file.sees else {}
        yield Task({"question": question.text, **gold}, {"": (VerdictRow(query, _NUGGETS),)})


def _passage_windows(rubric: Rubric, material: Material) -> Iterator[Task]:
    """Yield a few passages each; the list so far is still to be filled in."""
    for query, docs in material.candidates.items():
        for window in _windows(docs, rubric.file.window):
            data = {"question": material.question(query).text, "nuggets": []}
            yield Task(
                data | _several(rubric, [material.known_passage(doc) for doc in window]),
                {"": (VerdictRow(query, _NUGGETS),)},
            )


def _pairs(rubric: Rubric, material: Material) -> Iterator[Task]:
    if material.drawn_pairs is None:
        for answers in _by_query(material.answers).values():
            for one, other in combinations(answers, 2):
                yield from _both_orders(material, one, other)
        return
    by_place = {(answer.query_id, answer.run_id): answer for answer in _refuse_repeats(material.answers)}
    also = {"battles": str(material.drawn_pairs)}
    for query, *shown in material.drawn_pairs.order:
        first, second = (by_place[query, system] for system in shown)
        yield _comparison(material, first, second, also)


def with_battles(
    rubric: Rubric, material: Material, drawn: Callable[[Mapping[str, list[Pairing]]], BattleDraw]
) -> Material:
    """Return the material with the pairs of answers that are drawn from all of them, by query."""
    if rubric.file.unit != "pair":
        raise UsageError(
            f"battles are pairs of answers, but {rubric.name} judges {rubric.file.unit}; use a rubric that"
            " compares two answers, such as pairwise"
        )
    answered = _by_query(material.answers)
    pairs = {query: pairs_among(answer.run_id for answer in some) for query, some in answered.items()}
    return replace(material, drawn_pairs=drawn(pairs))


def _against_gold(rubric: Rubric, material: Material) -> Iterator[Task]:
    for answer in _refuse_repeats(material.answers):
        gold = "" if answer.error else material.gold(answer.query_id)[0]
        yield from _both_orders(material, answer, Answer(answer.query_id, _GOLD, (Sentence(gold),)))


def _both_orders(material: Material, one: Answer, other: Answer) -> Iterator[Task]:
    # Both orders, as judges favour a place: what only holds in one of them is no preference.
    for first, second in ((one, other), (other, one)):
        yield _comparison(material, first, second)


def _comparison(
    material: Material, one: Answer, other: Answer, also: Mapping[str, Any] = MappingProxyType({})
) -> Task:
    query, shown = one.query_id, (one.run_id, other.run_id)
    aspect = pair_aspect(*shown)
    rows = {"": tuple(VerdictRow(query, system, aspect=aspect, also=also, shown=shown) for system in shown)}
    if failed := _why(one, other):
        return Task({}, rows, failed=failed)
    question = material.question(query).text  # it need not be known where nobody is asked
    return Task({"question": question, "answer_a": one.text, "answer_b": other.text}, rows)


def _why(*answers: Answer) -> str:
    """Return why answers cannot be compared: those among them that failed."""
    return "; ".join(f"{answer.run_id}: {answer.error}" for answer in answers if answer.error)


def _lists(rubric: Rubric, material: Material) -> Iterator[Task]:
    for query, answers in _by_query(material.answers).items():
        for number, order in enumerate(_orders(len(answers), material, query)):
            # Short names in the order shown: a judge could be moved by the names of systems.
            names = _short("a", order)
            shown = [answers[place] for place in order]
            runs = tuple(answer.run_id for answer in shown)
            rows = {
                name: (VerdictRow(query, run, aspect=str(number), shown=runs),)
                for name, run in zip(names, runs, strict=True)
            }
            if failed := _why(*answers):
                yield Task({}, rows, names, failed)
                continue
            listed = _as_items(names, [answer.text for answer in shown])
            yield Task({"question": material.question(query).text, "answers": listed}, rows, names)


# How material is cut into tasks for rubrics of a unit.
_UNITS: dict[str, Callable[[Rubric, Material], Iterator[Task]]] = {
    "answer": _answer_tasks,
    "nuggets": _nugget_tasks,
    "bank": _bank,
    "documents": _document_tasks,
    "passage": _passages,
    "citation": _citations,
    "citations": _cited_together,
    "passage-nuggets": _passage_nuggets,
    SPLITS: _claim_tasks,
    "claim": _claims,
    JOINED: _claims,
    "claim-lists": _claim_lists,
    "contexts": _contexts,
    "uncited": _uncited,
    "expected": _expected,
    "question": _question_tasks,
    "passages": _passage_windows,
    "pair": _pairs,
    "against-gold": _against_gold,
    "list": _lists,
}


def _orders(number: int, material: Material, query: str) -> list[list[int]]:
    """Different random orders, or a balanced design: a Latin square in which each follows each equally often.

    A square is balanced for an even number of answers; for an odd one its mirror image is added. Which answer
    is which in it is drawn for each query: else the same ones would always stand next to one another.
    """
    # Seeded by the query, so that another query more or less changes no other's orders.
    rng = random.Random(f"{material.seed}/{query}")
    if not material.balanced:
        # All of them, where there are no more than were asked for.
        count = min(math.factorial(number), material.permutations)
        drawn: dict[tuple[int, ...], None] = {}
        while len(drawn) < count:
            drawn.setdefault(tuple(rng.sample(range(number), number)))
        return [list(order) for order in drawn]
    names = rng.sample(range(number), number)
    # Williams' design: 0, 1, n−1, 2, n−2, …; each shift of it is a row of the square.
    first = [(index + 1) // 2 if index % 2 else (number - index // 2) % number for index in range(number)]
    square = [[names[(place + shift) % number] for place in first] for shift in range(number)]
    # For an odd number one square cannot be balanced, and it needs its mirror image.
    return square + [row[::-1] for row in square] if number % 2 else square


def _refuse_repeats(answers: Iterable[Answer]) -> Iterator[Answer]:
    """Yield the answers; `UsageError` for two answers of one system to a query."""
    seen: set[tuple[str, str]] = set()
    for answer in answers:
        place = answer.run_id, answer.query_id
        if place in seen:
            run, query = map(visible, place)
            raise UsageError(
                f"answers of run {run} to query {query}: there are several (repeat"
                f" {visible(answer.repeat)} is one), but a comparison takes one answer of each system; keep"
                " one repeat of each"
            )
        seen.add(place)
        yield answer


def _by_query(answers: Iterable[Answer]) -> dict[str, list[Answer]]:
    """Return the answers to each query; `UsageError` for two of one system."""
    groups: dict[str, list[Answer]] = {}
    for answer in _refuse_repeats(answers):
        groups.setdefault(answer.query_id, []).append(answer)
    return groups


def _windows(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Yield the items, so many at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _short(letter: str, items: Sequence[Any]) -> tuple[str, ...]:
    return tuple(f"{letter}{number}" for number in range(1, len(items) + 1))


def _as_items(names: Sequence[str], texts: Iterable[str]) -> list[dict[str, str]]:
    return [{"id": name, "text": text} for name, text in zip(names, texts, strict=True)]


class _Passage(msgspec.Struct):
    """A text by its id, as corpora and retrieval results name it."""

    text: str = ""
    id: str | int | None = None
    docid: str | int | None = None
    doc_id: str | int | None = None
    corpus_id: str | None = msgspec.field(default=None, name="_id")
    title: str = ""
    segment: str = ""
    passage: str = ""
    url: Any = None  # a text, if it is to be shown
    headings: Any = None


def gathered(
    answers: Sequence[Source],
    questions: Source | None = None,
    nuggets: Source | None = None,
    passages: Source | None = None,
    candidates: Iterable[tuple[str, str]] = (),
    limits: Limits | None = None,
    *,
    claims: Source | None = None,
    permutations: int = 10,
    balanced: bool = False,
    seed: int = 0,
    every_question: bool = True,
) -> Material:
    """Gather what is to be judged from files.

    Parameters
    ----------
    answers
        Files of answers.
    questions, nuggets, passages
        Files of further data.
    candidates
        (query, document) pairs to judge, such as the top of a run.
    limits
        How large a line, a record or an id may be.
    claims
        A file of what answers and gold answers claim.
    permutations, balanced, seed
        In how many orders answers are shown together, whether each is first equally often, and the seed.
    every_question
        Whether a question of `questions` that a system has no answer to is one that it failed to answer.

    Returns
    -------
    Material
        What `judged_by` takes.
    """
    answers = with_limits(list(answers), limits)
    questions, nuggets, passages, claims = (
        with_limits(source, limits) for source in (questions, nuggets, passages, claims)
    )
    for source in answers:
        # What stands where answers do is refused once, and by its kind.
        kind = kind_of(source) if isinstance(source, str | os.PathLike) else None
        if kind is not None and not PLACES["answers"].takes(kind) and not is_answer_table(source):
            raise wrong_kind(source, kind, PLACES["answers"].noun)
    remarks: list[Remark] = []
    tables = [source for source in answers if is_answer_table(source)]
    given = [answer for source in answers if source not in tables for answer in read_answers(source)]
    known_questions = questions_in(questions, remarks) if questions is not None else {}
    systems: list[list[str]] = []
    judgements: list[dict[str, Any]] = []
    if tables:
        # What a file of questions says goes before what stands beside the answers.
        log_tables = read_tables(tables, gold=not any(question.gold for question in known_questions.values()))
        given += log_tables.answers
        remarks += log_tables.remarks
        systems, judgements = log_tables.systems, log_tables.judgements
        known_questions, merge_remarks = log_tables.merge_questions(known_questions, questions)
        remarks += merge_remarks
    for answer in given:  # some files of answers hold the question, too
        # A file of questions goes before what answers repeat of it.
        if answer.query_id not in known_questions and answer.question:
            known_questions[answer.query_id] = Question(answer.query_id, answer.question)
    texts: dict[str, str | PassageParts] = dict(passage for answer in given for passage in answer.passages)
    pools: dict[str, list[str]] = {}
    for query, doc in candidates:
        pools.setdefault(query, []).append(doc)
    if passages:
        for doc, passage in _shown_passages(passages, given, pools):
            texts[doc] = passage if any(passage[1:]) else passage.segment
    split = None
    if claims:
        split = {
            (claims_of_answer.query_id, claims_of_answer.run_id): claims_of_answer.texts
            for claims_of_answer in read_claims(claims)
        }
    banks: dict[str, list[Nugget]] = {}
    for nugget in read_nuggets(nuggets) if nuggets else ():
        banks.setdefault(nugget.query_id, []).append(nugget)
    if questions is not None and every_question:
        # Where answers are judged by nuggets, only of questions that have some.
        asked = [query for query in known_questions if query in banks or not banks]
        by_run: dict[str, list[Answer]] = {}
        for answer in given:
            by_run.setdefault(answer.run_id, []).append(answer)
        for answers_of_run in by_run.values():
            given += _unanswered(answers_of_run, asked, remarks)
    return Material(
        given,
        known_questions,
        banks,
        texts,
        pools,
        permutations,
        balanced,
        seed,
        split,
        remarks,
        systems,
        judgements,
    )


def questions_in(questions: Source, remarks: list[Remark]) -> dict[str, Question]:
    """Return the questions of a file; of a table, whose answers are the right ones here."""
    is_file = isinstance(questions, str | os.PathLike) or hasattr(questions, "read")
    if is_file and is_gold_table(questions):
        log, table_remarks = read_table(questions, gold_alone=True)
        remarks += table_remarks
        return {question.query_id: question for question in log.questions}
    return {question.query_id: question for question in read_questions(questions)}


def _unanswered(answers: Sequence[Answer], asked: Sequence[str], remarks: list[Remark]) -> list[Answer]:
    """Return as failed what a system did not answer, each repeat; note how much it answered, if not all."""
    run = answers[0].run_id
    there = {answer.query_id for answer in answers}
    repeats = dict.fromkeys(answer.repeat for answer in answers)
    missing = [query for query in asked if query not in there]
    whole = len(there.union(asked))
    answered = len({answer.query_id for answer in answers if not answer.error})
    if answered < whole:
        lacking = len(set(missing))
        facts = {"answered": answered, "total": whole, "failed": whole - answered - lacking}
        remarks.append(Remark("answered_in_part", Scope((run,)), facts | {"lacking": lacking}))
    return [Answer(query, run, (), repeat=repeat, error=NO_ANSWER) for query in missing for repeat in repeats]


def _shown_passages(
    passages: Any, answers: Iterable[Answer], pools: Mapping[str, Iterable[str]]
) -> Iterator[tuple[str, PassageParts]]:
    """Yield the passages of a file; of a dataset, which may exceed memory, only those that will be shown."""
    if not hasattr(passages, "document_store"):
        yield from _in_parts(passages)
        return
    doc_ids = {doc for docs in pools.values() for doc in docs}
    doc_ids |= {doc for answer in answers for part in answer.sentences for doc in part.citations if doc}
    for doc, document in passages.document_store().get_many(sorted(doc_ids)).items():
        yield doc, _passage_of(document)


def _passage_of(document: Any) -> PassageParts:
    # Segments of MS MARCO have their text as `segment`.
    texts = (getattr(document, name, None) for name in ("text", "segment"))
    text = next((text for text in texts if text is not None), None)
    if text is None:
        return PassageParts(str(document.default_text()))
    return PassageParts(str(text), *(_as_text(getattr(document, name, None)) for name in BESIDE))


def passages_in(source: Source) -> Iterator[tuple[str, str]]:
    """Read (document, text) of a corpus of JSON lines, whatever it calls them, or of a dataset.

    A text stands below its title, if it has one.
    """
    for doc, passage in _in_parts(source):
        yield doc, passage.whole


def _in_parts(source: Source) -> Iterator[tuple[str, PassageParts]]:
    """Read the passages of a corpus, each in its parts."""
    if callable(content := getattr(source, "documents", None)):
        for document in content():
            yield document.doc_id, _passage_of(document)
        return
    if retrieved.is_candidates(start_of(source)):
        passages: dict[str, PassageParts] = {}
        for number, retrieval in retrieved.read_candidates(source):
            for candidate in retrieval.candidates:
                name, passage = str(candidate.docid), candidate.passage()
                if not passage.segment:
                    raise InputError(
                        at=Place(name_of(source), number),
                        expected=f"a text of candidate {visible(name)!r}",
                    )
                # A document may have been retrieved for several queries, and is yielded once. `is`: the text
                # was not there before; equal copies are not the same object.
                if passages.setdefault(name, passage) is passage:
                    yield name, passage
                elif passages[name] != passage:
                    raise InputError(
                        at=Place(name_of(source), number),
                        problem=f"document {visible(name)!r} has a different text than before",
                        expected="one",
                    )
        return
    for line, record in read_records(source, _Passage, "a passage {id, text}"):
        names = (record.id, record.docid, record.doc_id, record.corpus_id)
        doc = next((str(name) for name in names if name is not None), None)
        text = record.text or record.segment or record.passage
        if doc is None or not text:
            raise InputError(at=Place(name_of(source), line), expected="a passage with an id and a text")
        if (problem := problem_of_id(doc)) is not None:
            raise problem.located(Place(name_of(source), line))
        yield doc, PassageParts(text, record.title, *map(_as_text, (record.url, record.headings)))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""
