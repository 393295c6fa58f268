"""LiveRAG: a line for each of 500 questions, with the passages and the prompt the answer was made from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rageval.validation.fields import LIST, NUMBER, TEXT, field, fields, no_other_fields
from rageval.validation.findings import Record, Remark, error, shown, warning
from rageval.validation.tracks import Track
from rageval.validation.watches import OneAnswerATopic, Topics, Watch

QUESTIONS = 500
_URN = re.compile(r"<urn:uuid:[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}>")


def passages_are_whole(record: Record) -> Iterator[Remark]:
    """Every passage has its text and the documents it is from."""
    found = record.get("passages")
    if isinstance(found, list) and not found:
        yield warning("`passages` is empty: faithfulness cannot be judged")
    for at, passage in enumerate(found if isinstance(found, list) else []):
        if not isinstance(passage, dict):
            yield error(f"expected {{passage, doc_IDs}} as passages[{at}], found {shown(passage)}")
            continue
        text = passage.get("passage")
        if not isinstance(text, str) or not text.strip():
            yield error(f"expected a text as passages[{at}].passage, found {shown(text)}")
        yield from _documents(at, passage.get("doc_IDs"))


def _documents(at: int, docs: Any) -> Iterator[Remark]:
    if not isinstance(docs, list) or not docs:
        yield error(f"expected a list of ids as passages[{at}].doc_IDs, found {shown(docs)}")
        return
    for doc in docs:
        if not isinstance(doc, str):
            yield error(f"expected ids in texts as passages[{at}].doc_IDs, found {shown(doc)}")
        elif not _URN.fullmatch(doc):
            yield warning(f"expected <urn:uuid:…> as passages[{at}].doc_IDs, found {shown(doc)}")


RULES = (
    fields(
        field("id", NUMBER),
        field("question", TEXT),
        field("passages", LIST),
        field("final_prompt", TEXT),
        field("answer", TEXT),
    ),
    no_other_fields("", "id question passages final_prompt answer"),
    passages_are_whole,
)


def watches(topics: Topics | None) -> tuple[Watch, ...]:
    """The rules on all records together."""
    return (OneAnswerATopic(("id",), ("question",), topics, QUESTIONS),)


TRACK = Track("liverag", "LiveRAG answers", RULES, watches)
