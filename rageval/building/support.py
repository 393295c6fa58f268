"""Which pooled documents support which nuggets: what a judge is shown, and the qrels that come of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from rageval.building.pools import Pool
from rageval.errors import InputError
from rageval.files.jsonl import read_records
from rageval.files.judgements import EXPECTED, JudgementLine
from rageval.files.opening import Source, name_of
from rageval.judges.gathering import passages_in
from rageval.judges.tasks import Material
from rageval.measures.scales import SUPPORT
from rageval.records import Nugget, Qrel, Question
from rageval.text import problem_of_id, visible

RUBRIC = "nugget-support"
THRESHOLD = 1.0
GRADED = ("ok", "repaired")
Banks = Mapping[str, Sequence[Nugget]]
Pair = tuple[str, str, str]  # query, nugget, document


def texts_of(corpus: Source, wanted: Set[str]) -> dict[str, str]:
    """The texts of these documents; `InputError` if the corpus lacks one."""
    texts = {doc: text for doc, text in passages_in(corpus) if doc in wanted}
    lost = sorted(wanted - set(texts))
    if lost:
        raise InputError(
            f"{corpus}: {len(lost):,} of {len(wanted):,} pooled documents are not there, such as"
            f" {visible(lost[0])!r}; expected the corpus that the runs are over"
        )
    return texts


def documents_of(pool: Pool) -> set[str]:
    """Every document of a pool."""
    return {doc for docs in pool.values() for doc in docs}


def material_of(
    pool: Pool, questions: Mapping[str, Question], banks: Banks, texts: Mapping[str, str]
) -> Material:
    """What there is to judge: the pooled documents of every question that has nuggets."""
    candidates = {query: list(pool[query]) for query in questions if banks.get(query) and pool.get(query)}
    return Material(questions=questions, nuggets=dict(banks), passages=texts, candidates=candidates)


def vote_of(judges: Sequence[object], vote: str) -> str:
    """How several judges are put together: support is a yes or a no, of which there is no mean."""
    return "majority" if len(judges) > 1 and vote == "mean" else vote


def read_support(source: Source) -> list[dict[str, Any]]:
    """The judgements of a file, as judges make them; a label that people wrote alone gets its grade."""
    found = []
    for line, said in read_records(source, JudgementLine, EXPECTED):
        grade = said.grade
        if grade is None and said.label is not None:
            grade = SUPPORT.labels.get(said.label)
        if said.status in GRADED and grade is None:
            labels = ", ".join(SUPPORT.labels)
            raise InputError(
                f"{name_of(source)}:{line}: expected a grade, or one of the labels {labels};"
                f" found {visible(str(said.label))!r:.80}"
            )
        place = {"query_id": str(said.query_id), "item_id": str(said.item_id), "aspect": str(said.aspect)}
        for problem in filter(None, map(problem_of_id, place.values())):
            raise InputError(f"{name_of(source)}:{line}: expected {problem}")
        found.append({**place, "grade": grade, "status": said.status})
    return found


def supported(judgements: Iterable[Mapping[str, Any]], threshold: float = THRESHOLD) -> Iterator[Qrel]:
    """A judgement of 1 where the grade reaches the threshold, else of 0; none where judging failed."""
    for said in judgements:
        if said.get("status", "ok") in GRADED:
            grade = int(float(said["grade"]) >= threshold)
            yield Qrel(str(said["query_id"]), str(said["item_id"]), grade, str(said["aspect"]))


def failed_pairs(judgements: Iterable[Mapping[str, Any]]) -> set[Pair]:
    """What nobody knows because judging failed."""
    return {
        (str(said["query_id"]), str(said["aspect"]), str(said["item_id"]))
        for said in judgements
        if said.get("status", "ok") not in GRADED
    }


def qrel_lines(qrels: Iterable[Qrel]) -> Iterator[str]:
    """Lines `query nugget document grade`; tabs part them where an id holds a space."""
    found = list(qrels)
    spaced = any(" " in name for row in found for name in (row.query_id, row.iteration, row.doc_id))
    separator = "\t" if spaced else " "
    for row in found:
        yield separator.join((row.query_id, row.iteration, row.doc_id, str(row.relevance)))
