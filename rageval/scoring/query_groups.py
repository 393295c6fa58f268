"""Groups of queries: slices, clusters and strata, by fields of questions or from files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from rageval import hooks
from rageval.core.turn import CONVERSATION, clusters_by_conversation
from rageval.errors import InputError, UsageError
from rageval.files.opening import can_read_again, limits_of, name_of, with_limits
from rageval.files.questions import fields_of, read_facts, read_groups
from rageval.names import looks_like_id
from rageval.scoring.scores import groups_by, require_groups


def slices_of(
    by: str | None, queries: Sequence[str], questions: Any, sources: Sequence[Any]
) -> dict[str, dict[str, str]]:
    """Return the groups of queries by each of the fields, or files of groups, that --by names."""
    fields = [name.strip() for name in (by or "").split(",") if name.strip()]
    named = [with_limits(name, limits_of(by)) for name in fields]
    return {str(name): groups_of(name, queries, questions, sources) for name in named}


def clusters_of(
    cluster: str | None, queries: Sequence[str], questions: Any, sources: Sequence[Any]
) -> tuple[dict[str, str] | Literal["none"] | None, str]:
    """Return the cluster of every query, and what it is: of turns their conversation, if nobody chose.

    None where the files do not say it: then scores may know the conversations of their queries.
    """
    if cluster == "none":
        return "none", ""
    if cluster is not None:
        # The name of the file alone: paths of a machine do not belong into what is published.
        return groups_of(cluster, queries, questions, sources), Path(cluster).name
    # Of datasets nothing is read, or fetched, that nobody named.
    files = [source for source in _searched(questions, sources) if not hasattr(source, "holds")]
    conversations: dict[str, str] = {}
    for source in files:
        if _has_conversations(source):
            facts = read_facts(source, (CONVERSATION,))
            conversations |= {query: values[CONVERSATION] for query, values in facts.items() if values}
    clusters = clusters_by_conversation(queries, conversations)
    return (None, "") if clusters is None else (clusters, CONVERSATION)


def _has_conversations(source: Any) -> bool:
    """Tell whether a file names the conversations of its queries; nobody asked it to be one of records."""
    try:
        return CONVERSATION in fields_of(source)
    except InputError:
        return False


def _searched(questions: Any, sources: Sequence[Any]) -> list[Any]:
    """Return what may have fields of queries: the questions, else files that can be read once more."""
    if questions:
        return [questions]
    return [
        source for source in sources if can_read_again(source) or "questions" in getattr(source, "holds", ())
    ]


def groups_of(field: str, queries: Sequence[str], questions: Any, sources: Sequence[Any]) -> dict[str, str]:
    """Return the group of every query: from a file of lines `query_id group`, or a field of the questions.

    Without questions, the field is looked up in the judgements themselves, or in their dataset. The id of a
    dataset in place of the field means the one field that its questions have.
    """
    if os.path.isfile(field):
        groups = read_groups(field)
        require_groups(groups, queries, field)
        return groups
    searched = _searched(questions, sources)
    # A field may hold a slash, too: only where no file has it is the word an id.
    if not questions and looks_like_id(field) and not any(field in fields_of(source) for source in searched):
        searched = [hooks.dataset_of(field, "questions")]
        fields = fields_of(searched[0])
        if len(fields) != 1:
            raise UsageError(
                f"{field}: which field of its questions? Name one with --questions {field}; it has:"
                f" {', '.join(fields) or 'none'}"
            )
        (field,) = fields
    if not searched:
        raise UsageError(
            f"the {field!r} of the queries is unknown; give --questions FILE (JSON lines with query_id and"
            f" {field}), or a file of lines 'query_id {field}' in place of the name"
        )
    facts: dict[str, dict[str, str]] = {}
    for source in searched:
        for query, values in read_facts(source, (field,)).items():
            facts.setdefault(query, {}).update(values)
    fields = list(dict.fromkeys(name for source in searched for name in fields_of(source)))
    return groups_by(facts, field, queries, ", ".join(map(name_of, searched)), fields)
