"""The right answer as the one nugget of its question, for those who have no nuggets.

Whether a passage has it is told by its words, as the judge `contains` does; whether the answer has it, by its
label. What stands in a passage may mean something else, and what is put in other words is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval.errors import InputError, UsageError
from rageval.files.jsonl import in_memory
from rageval.files.judgements import JudgementTable
from rageval.files.questions import read_questions
from rageval.judges.material import passages_in
from rageval.judges.offline import holding_gold
from rageval.measures.scales import CRAG
from rageval.records import Nugget, Qrel, Question
from rageval.scoring.assessments import required
from rageval.scoring.qrels import Qrels
from rageval.scoring.runs import Order, Run

if TYPE_CHECKING:
    from rageval.typing import JudgementsLike, QuestionsLike, RecordsLike

_NUGGET = "answer"
_NOTHING = "nothing retrieved"  # stands for the passages of a question that has none
_WORDLESS = frozenset(("yes", "no", "true", "false", "invalid question"))


class RightAnswers(NamedTuple):
    """Judgements of answers and of passages by one nugget a question, its texts, and what to say of it."""

    judgements: JudgementsLike
    qrels: Qrels
    nuggets: list[Nugget]
    remarks: list[str]


def by_right_answers(
    table: JudgementTable, run: Run, questions: QuestionsLike | None, passages: RecordsLike | None
) -> RightAnswers:
    """Return which answers and which passages have the right answer."""
    if questions is None or passages is None:
        raise UsageError(
            "expected judgements of documents by nuggets (--qrels); or the questions with right answers"
            " (--questions) and the texts of passages (--passages), by which each right answer is a nugget"
        )
    asked = {question.query_id: question for question in read_questions(_file(questions, "questions"))}
    texts = dict(passages_in(_file(passages, "passages")))
    retrieved = dict(run.ranked(Order()))
    said = list(_said(table))
    known = [query for query in dict.fromkeys(row["query_id"] for row in said) if query in asked]
    told = [asked[query] for query in known if _is_told_by_words(asked[query])]
    if not told:
        raise InputError(
            f"{table.name}: none of its questions has a right answer of which words could be found"
        )
    remarks = ["each right answer is a nugget: passages have it by their words, answers by their labels"]
    if len(told) < len(known):
        remarks.append(
            f"{len(known) - len(told):,} of {len(known):,} questions have no right answer, or one such as yes"
            " that no words in a passage show (left out)"
        )
    is_told = {question.query_id for question in told}
    return RightAnswers(
        [row for row in said if row["query_id"] in is_told],
        Qrels.from_records(_supporting(told, retrieved, texts), "the right answers"),
        [Nugget(each.query_id, _NUGGET, " / ".join(each.gold)) for each in told],
        remarks,
    )


def _file(records: Any, name: str) -> Any:
    return in_memory(records, name) if isinstance(records, list | tuple) else records


def _said(table: JudgementTable) -> Iterator[dict[str, Any]]:
    """Yield a judgement of the nugget for each of an answer: what is right in part has it."""
    crag = required(table, CRAG, "diagnose without --qrels")
    for answer, row in crag.rows():
        line = table.line(answer, row)
        place = {
            "query_id": str(line.query_id),
            "run_id": line.run_id,
            "aspect": _NUGGET,
            "repeat": line.repeat,
        }
        label = None if line.label is None else "support" if CRAG.labels[line.label] > 0 else "not_support"
        yield place | {"label": label, "status": line.status, "rubric": "nugget-assignment"}


def _is_told_by_words(question: Question) -> bool:
    return any(gold.strip().lower().rstrip(".") not in _WORDLESS for gold in question.gold if gold.strip())


def _supporting(
    questions: Sequence[Question], retrieved: Mapping[str, Sequence[str]], texts: Mapping[str, str]
) -> Iterator[Qrel]:
    for question in questions:
        documents = retrieved.get(question.query_id, ())
        known = {doc: texts[doc] for doc in documents if doc in texts}
        holding = holding_gold(question, known)
        for doc in known:
            yield Qrel(question.query_id, doc, int(doc in holding), _NUGGET)
        if not known:
            yield Qrel(question.query_id, _NOTHING, 0, _NUGGET)
