"""Models behind the chat completions API: OpenAI's own, and every server that speaks it (vLLM, Ollama, …).

The schema is sent strictly; a server that refuses it is asked for any JSON object, and then in words only.
Which key goes to which address is told in `rageval.judges.models.hosts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rageval.judges.base import ERROR, FILTERED, OK, REFUSED, TRUNCATED, Reply, Request, Usage
from rageval.judges.models.hosts import OPENAI
from rageval.judges.models.openai_batches import OpenAIBatches
from rageval.judges.models.remote import SCHEMA, TEXT, Call, Form, sendable, with_schema
from rageval.judges.models.responses import count, mapping, words

OBJECT = "json_object"
_OF_SCHEMAS = ("response_format", "json_schema", "structured output", "schema", "guided", "grammar")
_OF_OBJECTS = ("response_format", "json_object", "json mode")
_FINISHED = {
    "length": TRUNCATED,
    "max_tokens": TRUNCATED,
    "model_length": TRUNCATED,
    "content_filter": FILTERED,
    "safety": FILTERED,
    "sensitive": FILTERED,
    "error": ERROR,
    "insufficient_system_resource": ERROR,
}


class OpenAIChat(OpenAIBatches):
    """A model that answers chat completions, asked through the openai SDK."""

    provider = OPENAI
    prefix = "openai"
    client = "AsyncOpenAI"
    modes = ((SCHEMA, _OF_SCHEMAS), (OBJECT, _OF_OBJECTS), (TEXT, ()))
    request_id = "x-request-id"
    optional = ("temperature", "max_tokens", "max_completion_tokens")

    async def _create(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        return await client.chat.completions.with_raw_response.create(**arguments)

    def _call(self, request: Request, form: Form) -> Call:
        system = sendable(request.system) if form.mode == SCHEMA else with_schema(request)
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": sendable(request.user)},
        ]
        call = Call({"model": self.model, "messages": messages, **_format(request, form.mode)})
        call.sent["mode"] = form.mode
        limit = self._name_of_limit(form)
        call.add(limit or "max_tokens", request.max_tokens, taken=bool(limit))
        if request.temperature is not None:
            call.add("temperature", request.temperature, taken="temperature" not in form.refused)
        return call

    def _name_of_limit(self, form: Form) -> str | None:
        """OpenAI's newer models know only the newer name, many other servers only the older."""
        names = ["max_tokens", "max_completion_tokens"]
        order = reversed(names) if self.home.trusted else names
        return next((name for name in order if name not in form.refused), None)

    def _holds_reply(self, body: Mapping[str, Any]) -> bool:
        choices = body.get("choices")
        return (
            isinstance(choices, list)
            and len(choices) == 1  # of two, nobody knows which was meant
            and isinstance(mapping(choices[0]).get("message"), dict)
            and _text(choices[0]["message"].get("content")) is not None
        )

    def _read(self, body: Mapping[str, Any]) -> Reply:
        choice = body["choices"][0]
        message = choice["message"]
        finished = words(choice.get("finish_reason"))
        status, detail = _FINISHED.get(finished, OK), ""
        refusal = words(message.get("refusal"))
        if refusal:
            status, detail = REFUSED, refusal
        elif status != OK:
            detail = f"finish_reason {finished}"
        return Reply(status, _text(message.get("content")) or "", detail, _usage(mapping(body.get("usage"))))


def _format(request: Request, mode: str) -> dict[str, Any]:
    """How the API is told the schema."""
    if mode == TEXT:
        return {}
    if mode == OBJECT:
        return {"response_format": {"type": OBJECT}}
    schema = {"name": request.name, "strict": True, "schema": dict(request.schema)}
    return {"response_format": {"type": SCHEMA, SCHEMA: schema}}


def _text(content: object) -> str | None:
    """The text of a message: as such, or in parts as some servers send it; None if it is something else."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return "".join(words(mapping(part).get("text")) for part in content)
    return None


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        count(usage.get("prompt_tokens")),
        count(usage.get("completion_tokens")),
        count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
        count(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
    )
