"""Batches of messages: requests handed over in one body, results as lines of JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rageval.judges.base import Unclear
from rageval.judges.models.remote_batches import RemoteBatches, Result
from rageval.judges.models.responses import Response, count, mapping, words

PATH = "/v1/messages/batches"
_PAGE = 100
_RAW = {"headers": {"X-Stainless-Raw-Response": "true", "Accept": "application/binary"}}
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicBatches(RemoteBatches):
    """A model that takes batches as Anthropic does."""

    batch_limit = 100_000
    batch_bytes = 256 * 10**6

    def _entry(self, key: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {"custom_id": key, "params": dict(arguments)}

    async def _handed_over(self, requests: list[dict[str, Any]], tag: str) -> str:
        """The API has no place for a tag."""
        return await self._created(
            lambda client: client.messages.batches.with_raw_response.create(requests=requests)
        )

    async def _found(
        self, tag: str, keys: Sequence[str], earliest: float, known: Collection[str]
    ) -> str | None:
        """By its keys, which a batch tells when it has ended; until then one of the same size may be it."""
        working = []
        async for batch in self._listed(_list, earliest):
            name = self._checked_id(batch.get("id"))
            if name in known or _size(batch) != len(keys):
                continue
            if not self._has_ended(batch):
                working.append(name)
            elif {result.key for result in await self._fetched(name, batch)} == {*keys}:
                return name
        if working:
            raise Unclear(f"{', '.join(working)} may be it, and tells when it has ended", later=True)
        return None

    async def _looked_up(self, batch: str) -> dict[str, Any]:
        return await self._body(
            lambda client: client.messages.batches.with_raw_response.retrieve(batch), batch
        )

    def _has_ended(self, body: Mapping[str, Any]) -> bool:
        return body.get("processing_status") == "ended"

    async def _fetched(self, batch: str, body: Mapping[str, Any]) -> list[Result]:
        """Asked for by its path: `results_url` may lead to a host that this key is not for."""
        path = f"{PATH}/{batch}/results"
        lines = await self._records(lambda client: client.get(path, cast_to=object, options=_RAW))
        return [_result(record) for record in lines]


async def _list(client: Any, after: str) -> Any:
    how = {"after_id": after} if after else {}
    return await client.messages.batches.with_raw_response.list(limit=_PAGE, **how)


def _size(batch: Mapping[str, Any]) -> int:
    return sum(map(count, mapping(batch.get("request_counts")).values()))


def _result(record: Mapping[str, Any]) -> Result:
    key, result = record["custom_id"], mapping(record.get("result"))
    kind = words(result.get("type"))
    if kind == "succeeded":
        return Result(key, Response.made(200, result.get("message")))
    error = mapping(result.get("error"))
    if kind == "errored" and error:
        said = mapping(error.get("error")) or error
        return Result(key, Response.made(_STATUS.get(words(said.get("type")), 500), error))
    return Result(key, detail=f"this request of the batch is {kind or 'without a result'}")
