"""Batches of chat completions: a file of requests, a file of replies, and a file of what failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rageval.judges.models.remote_batches import RemoteBatches, Result, as_line
from rageval.judges.models.responses import Response, mapping, words

PATH = "/v1/chat/completions"
_ENDED = ("completed", "failed", "expired", "cancelled")


class OpenAIBatches(RemoteBatches):
    """A model that takes batches as OpenAI does."""

    batch_limit = 50_000
    batch_bytes = 200 * 10**6

    def _entry(self, key: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {"custom_id": key, "method": "POST", "url": PATH, "body": dict(arguments)}

    async def _handed_over(self, requests: list[dict[str, Any]]) -> str:
        text = "".join(as_line(request) for request in requests).encode()
        file = await self._body(
            lambda client: client.files.with_raw_response.create(
                file=("requests.jsonl", text), purpose="batch"
            )
        )
        batch = await self._body(
            lambda client: client.batches.with_raw_response.create(
                input_file_id=file["id"], endpoint=PATH, completion_window="24h"
            )
        )
        return words(batch["id"])

    async def _looked_up(self, batch: str) -> dict[str, Any]:
        return await self._body(lambda client: client.batches.with_raw_response.retrieve(batch), batch)

    def _has_ended(self, body: Mapping[str, Any]) -> bool:
        return body.get("status") in _ENDED

    async def _fetched(self, batch: str, body: Mapping[str, Any]) -> list[Result]:
        if body.get("status") == "failed":  # before it was begun: there is nothing but the requests
            requests = await self._file(body.get("input_file_id"))
            return [Result(record["custom_id"], detail=_why(body)) for record in requests]
        files = [await self._file(body.get(name)) for name in ("output_file_id", "error_file_id")]
        return [_result(record) for file in files for record in file]

    async def forget(self, batch: str) -> None:
        """Delete the file of requests that was handed over, which would be kept for good."""
        body = await self._looked_up(self._checked_id(batch.partition("?")[0]))
        name = self._checked_id(body.get("input_file_id"))
        await self._sent(lambda client: client.files.with_raw_response.delete(name))

    async def _file(self, file: object) -> list[dict[str, Any]]:
        """The lines of a file, none if there is no such file."""
        if not file:
            return []
        name = self._checked_id(file)
        return await self._records(lambda client: client.files.with_raw_response.content(name))


def _result(record: Mapping[str, Any]) -> Result:
    key, response, error = record["custom_id"], mapping(record.get("response")), mapping(record.get("error"))
    status = response.get("status_code")
    if error or not isinstance(status, int):
        return Result(key, detail=words(error.get("message")) or words(error.get("code")) or "no reply")
    return Result(
        key, Response.made(status, response.get("body"), {"x-request-id": words(response.get("request_id"))})
    )


def _why(body: Mapping[str, Any]) -> str:
    errors = mapping(body.get("errors")).get("data")
    first = mapping(errors[0]) if isinstance(errors, list) and errors else {}
    return f"the batch failed: {words(first.get('message')) or words(first.get('code')) or 'no reason given'}"
