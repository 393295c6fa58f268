"""Rules on what the sentences of an answer cite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rageval.validation.findings import ERROR, Record, Remark, Rule, error, is_number, shown, warning
from rageval.validation.references import references_of
from rageval.validation.sentences import citations_of


def document(citation: Any, references: list[Any], known: frozenset[str]) -> str | None:
    """The document that a citation, a position or an id, leads to; None if it leads nowhere."""
    if is_number(citation):
        found = references[citation] if 0 <= citation < len(references) else None
        return found if isinstance(found, str) else None
    return citation if isinstance(citation, str) and citation in known else None


def known_documents(references: list[Any]) -> frozenset[str]:
    """The references that are ids."""
    return frozenset(found for found in references if isinstance(found, str))


def cited_documents(record: Record) -> set[str]:
    """Every document that some sentence cites."""
    references = references_of(record)
    known = known_documents(references)
    found = (document(citation, references, known) for _, cited in citations_of(record) for citation in cited)
    return {doc for doc in found if doc is not None}


def lead_somewhere(ids: bool) -> Rule:
    """Each citation is a position in the references, or (where the track takes `ids`) one of them."""

    def rule(record: Record) -> Iterator[Remark]:
        references = references_of(record)
        known = known_documents(references)
        for at, cited in citations_of(record):
            for citation in cited:
                problem = _nowhere(citation, references, known, ids)
                if problem:
                    yield error(f"answer[{at}] cites {shown(citation)}, {problem}")

    return rule


def _nowhere(citation: Any, references: list[Any], known: frozenset[str], ids: bool) -> str | None:
    """Why a citation leads nowhere, or None."""
    count = len(references)
    if is_number(citation):
        if 0 <= citation < count:
            return None
        return f"expected a position from 0 to {count - 1}" if count else "and there are no references"
    if not ids or not isinstance(citation, str):
        return "expected a position in the references" + (", or an id out of them" if ids else ", a number")
    return None if citation in known else "which is not among the references"


def not_repeated(level: str = ERROR) -> Rule:
    """No sentence cites a document twice."""

    def rule(record: Record) -> Iterator[Remark]:
        references = references_of(record)
        known = known_documents(references)
        for at, cited in citations_of(record):
            seen: set[str] = set()
            for citation in cited:
                doc = document(citation, references, known)
                if doc in seen:
                    yield Remark(level, f"answer[{at}] cites {shown(doc)} more than once")
                    break
                seen |= {doc} if doc is not None else set()

    return rule


def at_most(limit: int) -> Rule:
    """No sentence cites more documents than the track takes."""

    def rule(record: Record) -> Iterator[Remark]:
        for at, cited in citations_of(record):
            if len(cited) > limit:
                yield error(f"answer[{at}] has {len(cited):,} citations, expected at most {limit}")

    return rule


def use_all_references(record: Record) -> Iterator[Remark]:
    """References that no sentence cites are a warning."""
    references = known_documents(references_of(record))
    idle = len(references - cited_documents(record))
    if idle:
        yield warning(f"{idle:,} of {len(references):,} references are cited by no sentence")
