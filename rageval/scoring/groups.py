"""Groups of queries: which query is in which, and how much each group weighs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rageval.errors import InputError
from rageval.names import suggestion
from rageval.text import visible

_Facts = Mapping[str, Mapping[str, str]]  # query -> field -> value


def require_groups(groups: Mapping[str, str], queries: Iterable[str], source: str) -> None:
    """Refuse groups that lack a query."""
    lost = [query for query in queries if query not in groups]
    if lost:
        raise InputError(
            f"{source}: {len(lost):,} judged queries have no group, such as {visible(lost[0])!r};"
            " expected one for each"
        )


def groups_by(
    facts: _Facts, field: str, queries: Iterable[str], source: str, fields: Sequence[str]
) -> dict[str, str]:
    """Return the value of the field for every query; `InputError` names the fields there are."""
    if not any(field in known for known in facts.values()):
        raise InputError(
            f"{source}: nothing is known of {field!r};"
            f" expected one of {', '.join(map(visible, fields)) or 'none'}" + suggestion(field, fields)
        )
    queries = list(queries)
    lost = [query for query in queries if field not in facts.get(query, {})]
    if lost:
        raise InputError(
            f"{source}: says nothing of {field} for {len(lost):,} of {len(queries):,} queries, such as"
            f" {visible(lost[0])!r}; expected it for each (queries there: {_some(facts)})"
        )
    return {query: facts[query][field] for query in queries}


def checked_weights(weights: Mapping[str, float], groups: Mapping[str, str], source: str) -> dict[str, float]:
    """Return weights that sum to 1, one for every group there is."""
    total = math.fsum(weights.values())
    if not abs(total - 1) <= 1e-6 or not min(weights.values(), default=-1.0) >= 0:
        raise InputError(f"{source}: expected weights from 0 that sum to 1, found a sum of {total:g}")
    there = set(groups.values())
    lost = sorted(there - set(weights)) + sorted(name for name in set(weights) - there if weights[name])
    if lost:
        raise InputError(
            f"{source}: {visible(lost[0])!r} has"
            f" {'no weight' if lost[0] in there else 'a weight but no query'};"
            f" expected a weight for each of {', '.join(map(visible, sorted(there)))}"
        )
    return dict(weights)


def _some(facts: _Facts, number: int = 3) -> str:
    names: Sequence[str] = [visible(query) for query in list(facts)[:number]]
    return ", ".join(names) + (", …" if len(facts) > number else "")
