"""What the examples on real records make of them: systems, nuggets, passages; and how they print a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rageval.comparison.arena import positions_in
from rageval.files.answers import read_answers, write_answers
from rageval.records import Answer

Record = dict[str, Any]
PARTS = {"whole": slice(None), "first": slice(1), "last": slice(-1, None)}  # of an answer's sentences
_TEXTS = ("page_name", "page_snippet", "page_result")


def pages_of(record: Record) -> list[Record]:
    """What was found for one of CRAG's questions: an id and a text."""
    results = enumerate(record.get("search_results", ()))
    texts = ((number, "\n".join(page[name] or "" for name in _TEXTS)) for number, page in results)
    return [{"id": f"{record['interaction_id']}/{number}", "text": text} for number, text in texts]


def answers_of(record: Record) -> list[Record]:
    """What three systems say to it; two cite the first page."""
    results = record.get("search_results", [])
    answer = next((page["page_snippet"] or page["page_name"] for page in results), "") or "nothing"
    place = {"query_id": record["interaction_id"], "question": record["query"]}
    cited = [f"{record['interaction_id']}/0"] if results else []
    texts = {"snippet": [{"text": answer, "citations": cited}]}
    texts |= {"gold": [{"text": record["answer"], "citations": cited}], "silent": "I don't know."}
    return [{**place, "run_id": run, "answer": text} for run, text in texts.items()]


def parts_of(answers: Iterable[Answer]) -> list[Record]:
    """The answers of three systems: all of each answer, its first sentence, its last one."""
    parts = (
        answer._replace(run_id=name, sentences=answer.sentences[part])
        for answer in answers
        for name, part in PARTS.items()
    )
    return [json.loads(line) for line in write_answers(parts, "plain")]


def first_cited(answers: Iterable[Answer]) -> list[Record]:
    """For the text of each document the first sentence that cites it."""
    texts: dict[str, str] = {}
    for answer in answers:
        for sentence in answer.sentences:
            texts = {**dict.fromkeys(filter(None, sentence.citations), sentence.text), **texts}
    return [{"id": doc, "text": text} for doc, text in texts.items()]


def nuggets_of(query: str, texts: Iterable[str]) -> Record:
    """These texts as the vital nuggets of a question."""
    return {"qid": query, "nuggets": [{"text": text, "importance": "vital"} for text in texts]}


def is_kept(answers: Sequence[Answer], folder: str) -> bool:
    """Whether texts and citations are the same once they are written and read again."""
    copy = Path(folder) / "copy.jsonl"
    copy.write_text("".join(line + "\n" for line in write_answers(answers, "plain")), encoding="utf-8")
    return [answer.sentences for answer in read_answers(copy)] == [answer.sentences for answer in answers]


def show(names: Sequence[str], judged: Sequence[Any], duels: Any) -> None:
    """Print a row a system: its scores by all measures, and what the order in pairs was worth."""
    print(f"  {'':<8}" + "".join(f"{name:>11}" for name in names))
    scores: Mapping[str, Any] = {run: [row.scores[run] for row in judged] for run in judged[0].scores}
    for run, scores_of_run in scores.items():
        values = [score.value for row in scores_of_run for score in row.values()]
        print(f"  {run:<8}" + "".join(f"{value:>11.2f}" for value in values))
    order = positions_in(duels).pairs
    print(f"  of {order.pairs} pairs in both orders the first wins {order.first_wins:.0%}")
