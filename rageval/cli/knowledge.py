"""Where `--by` and `--group-by` learn what kind of query a query is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rageval.errors import UsageError
from rageval.files.opening import can_read_again, name_of
from rageval.files.questions import fields_of, read_facts, read_groups
from rageval.scoring.groups import groups_by, require_groups


def groups_of(field: str, queries: Sequence[str], questions: Any, sources: Sequence[Any]) -> dict[str, str]:
    """The group of every query: from a file of lines `query_id group`, or from a field of the questions.

    Without questions, the field is looked for in the judgements themselves, or in the data set they are of.
    The id of a data set in place of the field means the one field that its questions have.
    """
    if os.path.isfile(field):
        groups = read_groups(Path(field))
        require_groups(groups, queries, field)
        return groups
    known = [questions] if questions else [source for source in sources if _tells(source)]
    from rageval.datasets.standing import dataset_of, looks_like_id

    if not questions and looks_like_id(field) and not any(field in fields_of(source) for source in known):
        known = [dataset_of(field, "questions")]
        field = _only_field(field, fields_of(known[0]))
    if not known:
        raise UsageError(
            f"nothing says what the {field!r} of a query is; give --questions FILE (JSON lines with query_id"
            f" and {field}), or a file of lines 'query_id {field}' in place of the name"
        )
    facts: dict[str, dict[str, str]] = {}
    for source in known:
        for query, found in read_facts(source, (field,)).items():
            facts.setdefault(query, {}).update(found)
    fields = list(dict.fromkeys(name for source in known for name in fields_of(source)))
    return groups_by(facts, field, queries, ", ".join(map(name_of, known)), fields)


def _tells(source: Any) -> bool:
    """Whether it can be asked for facts: a file that can be read once more, or a data set with questions."""
    return can_read_again(source) or "questions" in getattr(source, "holds", ())


def _only_field(dataset: str, fields: Sequence[str]) -> str:
    if len(fields) != 1:
        there = ", ".join(fields) or "none"
        raise UsageError(
            f"{dataset}: which field of its questions? name one, with --questions {dataset}; it has: {there}"
        )
    return fields[0]
