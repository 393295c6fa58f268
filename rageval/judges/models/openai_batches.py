"""Batches of chat completions: a file of requests, a file of replies, and a file of what failed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from rageval.judges.models.remote_batches import RemoteBatches, Result, as_line
from rageval.judges.models.responses import Response, mapping, words

PATH = "/v1/chat/completions"
TAG = "rageval"  # what the tag is called in the batch's metadata
_PAGE = 100
_ENDED = ("completed", "failed", "expired", "cancelled")


class OpenAIBatches(RemoteBatches):
    """A model that takes batches as OpenAI does."""

    batch_limit = 50_000
    batch_bytes = 200 * 10**6

    def _entry(self, key: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {"custom_id": key, "method": "POST", "url": PATH, "body": dict(arguments)}

    async def _handed_over(self, requests: list[dict[str, Any]], tag: str) -> str:
        text = "".join(as_line(request) for request in requests).encode()
        file = await self._body(
            lambda client: client.files.with_raw_response.create(file=(f"{tag}.jsonl", text), purpose="batch")
        )
        return await self._created(
            lambda client: client.batches.with_raw_response.create(
                input_file_id=file["id"], endpoint=PATH, completion_window="24h", metadata={TAG: tag}
            )
        )

    async def _found(
        self, tag: str, keys: Sequence[str], earliest: float, known: Collection[str]
    ) -> str | None:
        """By its tag, or by the file it was made of where a server keeps no tags."""
        files = await self._files(tag)
        async for batch in self._listed(_list, earliest):
            if mapping(batch.get("metadata")).get(TAG) == tag or batch.get("input_file_id") in files:
                return self._checked_id(batch.get("id"))
        return None

    async def abandon(self, intent: str) -> None:
        """Delete the files of requests that no batch was made of."""
        for name in await self._files(intent.partition("?")[0]):
            await self._sent(partial(_delete, file=name))

    async def _files(self, tag: str) -> list[str]:
        """The ids of the files of requests with this tag; none where the server lists no files."""
        response = await self._sent(lambda client: client.files.with_raw_response.list(purpose="batch"))
        found = response.json().get("data") if response.status == 200 else None
        files = map(mapping, found if isinstance(found, list) else [])
        return [self._checked_id(file.get("id")) for file in files if file.get("filename") == f"{tag}.jsonl"]

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
        await self._sent(partial(_delete, file=name))

    async def _file(self, file: object) -> list[dict[str, Any]]:
        """The lines of a file, none if there is no such file."""
        if not file:
            return []
        name = self._checked_id(file)
        return await self._records(lambda client: client.files.with_raw_response.content(name))


async def _list(client: Any, after: str) -> Any:
    how = {"after": after} if after else {}
    return await client.batches.with_raw_response.list(limit=_PAGE, **how)


async def _delete(client: Any, file: str) -> Any:
    return await client.files.with_raw_response.delete(file)


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
