"""Models behind Anthropic's messages API, and servers that speak it.

The schema is sent as `output_config`; where that is refused it becomes the input of a tool the model must
use, and then words only. The system text, which all requests of a rubric share, is marked for the cache.
Which key goes to which address is told by `home_of` in `_remote`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from rageval.judges.base import (
    ERROR,
    OK,
    REFUSED,
    SAMPLING,
    SCHEMA_FORM,
    TRUNCATED,
    Reply,
    Request,
    Unclear,
    Usage,
)
from rageval.judges.models._remote import (
    SCHEMA,
    TEXT,
    Call,
    RemoteBatches,
    RequestForm,
    Response,
    Result,
    count,
    mapping,
    messages_of,
    sendable,
    with_schema,
    words,
)
from rageval.judges.models.providers import ANTHROPIC

_TOOL = "tool"
_OF_SCHEMAS = ("output_config", "output_format", "json_schema", "structured output", "schema", "grammar")
_OF_TOOLS = ("tool", "input_schema")
_STOPPED = {
    "max_tokens": TRUNCATED,
    "model_context_window_exceeded": TRUNCATED,
    "refusal": REFUSED,
    "pause_turn": ERROR,
}
# What output_config refuses in a schema. The rubric checks ranges and lengths itself.
_RANGES = {
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "$schema"),
}
_NAMED = ("properties", "$defs")  # below these stand names, not keywords
_LIMITS = ("max_completion_tokens", "max_tokens")
_PATH = "/v1/messages/batches"
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


class AnthropicMessages(RemoteBatches):
    """A model that answers messages, asked through the anthropic SDK."""

    usual_provider = ANTHROPIC
    client = "AsyncAnthropic"
    modes = ((SCHEMA, _OF_SCHEMAS), (_TOOL, _OF_TOOLS), (TEXT, ()))
    request_id = "request-id"
    optional = ("temperature", "cache_control", *SAMPLING)
    batch_limit = 100_000
    batch_bytes = 256 * 10**6
    state_key = "processing_status"

    async def _create(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        return await client.messages.with_raw_response.create(**arguments)

    def _call(self, request: Request, form: RequestForm) -> Call:
        is_free = request.form != SCHEMA_FORM
        format_fields = {} if is_free else _format(request, form.mode)
        call = Call({"model": self.model, "messages": messages_of(request), **format_fields})
        call.sent["mode"] = request.form if is_free else form.mode
        # This API has one name for it, prompts of other tools may have either of two.
        limits = [request.sampling[name] for name in _LIMITS if name in request.sampling]
        call.add("max_tokens", limits[0] if limits else request.max_tokens, taken=True)
        parameters = {} if request.temperature is None else {"temperature": request.temperature}
        parameters |= {name: value for name, value in request.sampling.items() if name not in _LIMITS}
        for name, value in parameters.items():
            # An argument that the SDK does not know is a TypeError before anything is sent.
            call.add(name, value, taken=name not in form.refused and name in _taken_by_sdk())
        is_told = form.mode == TEXT and request.form == SCHEMA_FORM
        system = with_schema(request) if is_told else sendable(request.system)
        if system:
            # Said to be dropped, as a call without it may cost more.
            if "cache_control" in form.refused:
                call.dropped += ("cache_control",)
                call.arguments["system"] = system
            else:
                call.sent["cache_control"] = "ephemeral"
                block = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
                call.arguments["system"] = [block]
        return call

    def _holds_reply(self, body: Mapping[str, Any]) -> bool:
        content = body.get("content")
        return isinstance(content, list) and all(isinstance(block, dict) for block in content)

    def _read_body(self, body: Mapping[str, Any]) -> Reply:
        stopped = words(body.get("stop_reason"))
        status, detail = _STOPPED.get(stopped, OK), ""
        if status != OK:
            explanation = words(mapping(body.get("stop_details")).get("explanation"))
            detail = f"stop_reason {stopped}" + (f": {explanation}" if explanation else "")
        # A use of the tool is the answer, else the text; thinking is none. Two uses of the tool give two
        # objects, which no rubric reads as one verdict.
        blocks = list(body["content"])
        used = [
            json.dumps(block.get("input"), ensure_ascii=False)
            for block in blocks
            if block.get("type") == "tool_use"
        ]
        texts = [words(block.get("text")) for block in blocks if block.get("type") == "text"]
        usage = mapping(body.get("usage"))
        cached = count(usage.get("cache_read_input_tokens"))
        written = count(usage.get("cache_creation_input_tokens"))
        # The provider counts what its cache read or wrote apart from the rest of the input. OpenAI counts
        # them within it; prices and budgets here do so, too.
        tokens = count(usage.get("input_tokens")) + cached + written
        return Reply(
            status,
            # What is said beside a use of the tool is talk.
            "\n".join(used) or "".join(texts),
            detail,
            Usage(tokens, count(usage.get("output_tokens")), cached),
        )

    def _entry(self, key: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {"custom_id": key, "params": dict(arguments)}

    def _read_result(self, record: Mapping[str, Any]) -> Result:
        key, result = record["custom_id"], mapping(record.get("result"))
        kind = words(result.get("type"))
        if kind == "succeeded":
            return Result(key, Response.from_batch(200, result.get("message")))
        error = mapping(result.get("error"))
        if kind == "errored" and error:
            cause = mapping(error.get("error")) or error
            return Result(key, Response.from_batch(_STATUS.get(words(cause.get("type")), 500), error))
        return Result(key, detail=f"this request of the batch is {kind or 'without a result'}")

    async def _submit_batch(self, requests: list[dict[str, Any]], tag: str) -> str:
        """Return nothing: the API has no place for a tag."""
        return await self._create_once(
            lambda client: client.messages.batches.with_raw_response.create(requests=requests)
        )

    async def _find_batch(
        self, tag: str, keys: Sequence[str], earliest: float, known_ids: Collection[str]
    ) -> str | None:
        """By its keys, which a batch tells when it has ended; until then one of the same size may be it."""
        working = []
        async for batch in self._list_batches(
            lambda client, after: client.messages.batches.with_raw_response.list(
                limit=_PAGE, **({"after_id": after} if after else {})
            ),
            earliest,
        ):
            name = self._checked_id(batch.get("id"))
            # The API keeps no tag; the number of requests is the first thing that tells batches apart.
            size = sum(map(count, mapping(batch.get("request_counts")).values()))
            if name in known_ids or size != len(keys):
                continue
            if not self._has_ended(batch):
                working.append(name)
            # Keys are digests of questions: equal sets of them are the same batch.
            elif {result.key for result in await self._fetch_results(name, batch)} == {*keys}:
                return name
        if working:
            raise Unclear(f"{', '.join(working)} may be it; this is known when it has ended", later=True)
        return None

    async def _fetch_batch(self, batch: str) -> dict[str, Any]:
        return await self._body(
            lambda client: client.messages.batches.with_raw_response.retrieve(batch), batch
        )

    def _has_ended(self, body: Mapping[str, Any]) -> bool:
        return body.get(self.state_key) == "ended"

    async def _fetch_results(self, batch: str, body: Mapping[str, Any]) -> list[Result]:
        """Asked for by its path: `results_url` may lead to a host that this key is not for."""
        # The key goes with every request, and a response must not choose where to.
        path = f"{_PATH}/{batch}/results"
        lines = await self._file_records(lambda client: client.get(path, cast_to=object, options=_RAW))
        return [self._read_result(record) for record in lines]


@cache
def _taken_by_sdk() -> frozenset[str]:
    """Return the arguments that the installed SDK knows: from 1.0 on it has no temperature."""
    messages = import_module("anthropic.resources.messages").AsyncMessages
    return frozenset(inspect.signature(messages.create).parameters)


def _format(request: Request, mode: str) -> dict[str, Any]:
    """How the API is told the schema."""
    if mode == TEXT:
        return {}
    if mode == SCHEMA:
        # This API refuses a schema with ranges; the rubric checks them when it reads the reply.
        return {"output_config": {"format": {"type": SCHEMA, "schema": _without_ranges(request.schema)}}}
    tool = {"name": request.name, "description": "Give the verdict.", "input_schema": dict(request.schema)}
    return {"tools": [tool], "tool_choice": {"type": _TOOL, "name": request.name}}


def _without_ranges(schema: Any) -> Any:
    """Return the schema without what the API refuses, its objects closed.

    >>> _without_ranges({"type": "object", "properties": {"maximum": {"type": "integer", "maximum": 3}}})
    {'type': 'object', 'properties': {'maximum': {'type': 'integer'}}, 'additionalProperties': False}
    """
    if isinstance(schema, list):
        return [_without_ranges(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {}
    for key, value in schema.items():
        # A property may be called `maximum`, which is then a name and no range.
        if key in _NAMED and isinstance(value, Mapping):
            kept[key] = {name: _without_ranges(item) for name, item in value.items()}
        elif key not in _RANGES:
            kept[key] = value if key in ("enum", "const", "default") else _without_ranges(value)
    return {**kept, "additionalProperties": False} if schema.get("type") == "object" else kept
