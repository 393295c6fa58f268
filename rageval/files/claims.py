"""Claims of answers and of gold answers: JSON lines `{query_id, run_id, claims}`; gold's run is `gold`.

>>> print(*write_claims([ClaimList("q", "ours", ("It rains.",)), ClaimList("q", "gold", ())]), sep="\\n")
{"query_id":"q","run_id":"ours","claims":["It rains."]}
{"query_id":"q","run_id":"gold","claims":[]}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rageval.files.jsonl import Id, RecordForm, has, identifier, once, read_forms
from rageval.files.opening import Limits, Source
from rageval.records import ClaimList

__all__ = ["ClaimList", "read_claims", "write_claims"]


class _ClaimLine(msgspec.Struct):
    """The claims of one answer, in their order."""

    query_id: Id
    claims: list[str]
    run_id: Id = "run"


def _from_line(line: _ClaimLine, limits: Limits) -> ClaimList:
    query, run = identifier(line.query_id, "query_id", limits), identifier(line.run_id, "run_id", limits)
    return ClaimList(query, run, tuple(line.claims))


_CLAIMS: RecordForm[ClaimList] = RecordForm(
    "claims", "{query_id, run_id, claims: [text]}", has("query_id", "claims"), _ClaimLine, _from_line
)


def read_claims(source: Source) -> Iterator[ClaimList]:
    """Read the claims of answers and of gold answers, one list each."""
    records = read_forms(source, (_CLAIMS,), "claims")
    for _, found in once(
        records, source, lambda found: f"list for run {found.run_id}, query {found.query_id}"
    ):
        yield found


def write_claims(claims: Iterable[ClaimList]) -> Iterator[str]:
    """Write lines of claims."""
    for found in claims:
        record = {"query_id": found.query_id, "run_id": found.run_id, "claims": found.texts}
        yield msgspec.json.encode(record).decode()
