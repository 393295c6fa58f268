"""Rules on the list of references."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rageval.validation.findings import ERROR, Record, Remark, Rule, error, shown


def references_of(record: Record) -> list[Any]:
    """The list as it is; empty if there is none."""
    found = record.get("references")
    return found if isinstance(found, list) else []


def are_texts(record: Record) -> Iterator[Remark]:
    """Every reference is an id in a text."""
    for at, reference in enumerate(references_of(record)):
        if not isinstance(reference, str) or not reference.strip():
            yield error(f"expected the id of a document as references[{at}], found {shown(reference)}")


def at_most(limit: int) -> Rule:
    """No more references than the track takes."""

    def rule(record: Record) -> Iterator[Remark]:
        count = len(references_of(record))
        if count > limit:
            yield error(f"expected at most {limit} references, found {count:,}")

    return rule


def match(pattern: str, what: str, level: str = ERROR) -> Rule:
    """References look like ids of the track's collection; those that do not are told together."""
    fits = re.compile(pattern).fullmatch

    def rule(record: Record) -> Iterator[Remark]:
        odd = [found for found in references_of(record) if isinstance(found, str) and not fits(found)]
        if odd:
            more = f" and {len(odd) - 1:,} more" if len(odd) > 1 else ""
            yield Remark(level, f"expected {what} as references, found {shown(odd[0])}{more}")

    return rule


def no_duplicates(record: Record) -> Iterator[Remark]:
    """No document stands in the list twice."""
    first: dict[str, int] = {}
    for at, reference in enumerate(references_of(record)):
        if isinstance(reference, str) and first.setdefault(reference, at) != at:
            yield error(
                f"references[{at}] is references[{first[reference]}] again: {shown(reference)};"
                " --fix removes it and re-indexes the citations"
            )
