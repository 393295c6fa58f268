"""Rules on the sentences of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rageval.counting import RULES
from rageval.validation.findings import Record, Remark, Rule, error, is_number, shown, warning

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def sentences_of(record: Record) -> Iterator[tuple[int, Record]]:
    """(place, sentence) of every sentence that is one."""
    found = record.get("answer")
    for at, sentence in enumerate(found if isinstance(found, list) else []):
        if isinstance(sentence, dict):
            yield at, sentence


def texts_of(record: Record) -> Iterator[tuple[int, str]]:
    """(place, text) of every sentence that has a text."""
    for at, sentence in sentences_of(record):
        if isinstance(sentence.get("text"), str):
            yield at, sentence["text"]


def citations_of(record: Record) -> Iterator[tuple[int, list[Any]]]:
    """(place, citations) of every sentence that has a list of them."""
    for at, sentence in sentences_of(record):
        if isinstance(sentence.get("citations"), list):
            yield at, sentence["citations"]


def are_sentences(record: Record) -> Iterator[Remark]:
    """The answer is a list of objects with a text and a list of citations."""
    found = record.get("answer")
    for at, sentence in enumerate(found if isinstance(found, list) else []):
        if not isinstance(sentence, dict):
            yield error(f"expected {{text, citations}} as answer[{at}], found {shown(sentence)}")
            continue
        for key, kind, name in (("text", str, "a text"), ("citations", list, "a list")):
            if key not in sentence:
                yield error(f"answer[{at}].{key} is missing, expected {name}")
            elif not isinstance(sentence[key], kind):
                yield error(f"expected {name} as answer[{at}].{key}, found {shown(sentence[key])}")


def says_something(record: Record) -> Iterator[Remark]:
    """The answer is not empty, and no sentence of it."""
    if not isinstance(record.get("answer"), list):
        return
    texts = list(texts_of(record))
    if not any(text.strip() for _, text in texts):
        yield error("the answer is empty")
        return
    for at, text in texts:
        if not text.strip():
            yield warning(f"answer[{at}].text is empty")


def length_of(record: Record, counting: str) -> int:
    """The words of the answer, by the rule of the track."""
    return sum(RULES[counting](text) for _, text in texts_of(record))


def within_length(limit: int, counting: str) -> Rule:
    """The answer is no longer than the track takes."""

    def rule(record: Record) -> Iterator[Remark]:
        words = length_of(record, counting)
        if words > limit:
            yield error(f"expected at most {limit:,} words ({counting}), found {words:,}")

    return rule


def response_length_agrees(counting: str) -> Rule:
    """What the record says of its length is what is counted; the track corrects it, so a warning."""

    def rule(record: Record) -> Iterator[Remark]:
        said, words = record.get("response_length"), length_of(record, counting)
        if is_number(said) and said != words:
            yield warning(f"`response_length` says {said}, counted {words} words ({counting})")

    return rule


def no_control_characters(record: Record) -> Iterator[Remark]:
    """Characters that only a terminal obeys do not belong in an answer."""
    for at, text in texts_of(record):
        found = _CONTROL.search(text)
        if found:
            yield warning(f"answer[{at}].text holds the control character U+{ord(found.group()):04X}")
