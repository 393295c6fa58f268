"""Models behind OpenAI's API, and every server that speaks it (vLLM, Ollama, …).

Chat completions, live or in batches: the schema is sent strictly; a server that refuses it is asked for any
JSON object, and then in words only. Which key goes to which address is told by `home_of` in `_remote`.

Experimental: the Decisions API, which chooses among labels and says how sure it is. It suits rubrics whose
reply is a label, or a label an item, such as the assignment of nuggets: each item is a question of its own.
It quotes no evidence, and what it is not sure of stands in the verdict's reason. It is young and may change;
the installed SDK has to know it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rageval.judges.base import (
    ERROR,
    FILTERED,
    JSON_FORM,
    OK,
    REFUSED,
    SAMPLING,
    SCHEMA_FORM,
    TEXT_FORM,
    TRUNCATED,
    Fatal,
    Reply,
    Request,
    Transient,
    Usage,
)
from rageval.judges.models._direct import Direct, NotReached, is_direct
from rageval.judges.models._remote import (
    SCHEMA,
    TEXT,
    Call,
    RemoteBatches,
    RemoteModel,
    RequestForm,
    Response,
    Result,
    as_line,
    count,
    mapping,
    messages_of,
    sendable,
    with_schema,
    words,
)
from rageval.judges.models.providers import OPENAI, OPENAI_DECISIONS

_OBJECT = "json_object"
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
_LIMITS = {"max_tokens", "max_completion_tokens"}
_CHAT = "/chat/completions"
_PATH = f"/v1{_CHAT}"
_TAG = "rageval"  # what the tag is called in the batch's metadata
_PAGE = 100
_ENDED = ("completed", "failed", "expired", "cancelled")
_MODE = "decisions"
_MOST_QUESTIONS = 400
_RULES = "by the rules in the system message"


class OpenAIChat(RemoteBatches):
    """A model that answers chat completions, asked through the openai SDK."""

    usual_provider = OPENAI
    client = "AsyncOpenAI"
    modes = ((SCHEMA, _OF_SCHEMAS), (_OBJECT, _OF_OBJECTS), (TEXT, ()))
    request_id = "x-request-id"
    optional = ("temperature", "max_tokens", "max_completion_tokens", *SAMPLING)
    batch_limit = 50_000
    batch_bytes = 200 * 10**6
    state_key = "status"

    def __init__(self, model: str, url: str | None = None, **options: Any) -> None:
        super().__init__(model, url, **options)
        self._direct = Direct(self.home, _CHAT, self.timeout) if is_direct(self.home) else None

    async def _request_response(self, arguments: Mapping[str, Any]) -> Response:
        if self._direct is None or not self._direct.is_understood:
            return await super()._request_response(arguments)
        try:
            return await self._direct.post(arguments)
        except NotReached as error:
            failed = self._connection_error(error.error, error.is_unconnected)
        raise failed  # here, so that no traceback leads to the headers

    async def aclose(self) -> None:
        """Close the connections made in the running loop."""
        await super().aclose()
        if self._direct is not None:
            await self._direct.aclose()

    async def _create(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        # `chat.completions.create` would compare the arguments with its types, a quarter of all its time.
        return await client.post(_CHAT, cast_to=object, body=dict(arguments))

    def _call(self, request: Request, form: RequestForm) -> Call:
        is_told = form.mode != SCHEMA and request.form == SCHEMA_FORM
        messages = messages_of(request, with_schema(request) if is_told else sendable(request.system))
        call = Call({"model": self.model, "messages": messages, **_format(request, form)})
        call.sent["mode"] = form.mode if request.form == SCHEMA_FORM else request.form
        if not _LIMITS & request.sampling.keys():
            # OpenAI's newer models know only the newer name, many other servers only the older; `trusted` is
            # OpenAI's own address.
            names = ["max_tokens", "max_completion_tokens"]
            order = reversed(names) if self.home.trusted else names
            limit = next((name for name in order if name not in form.refused), None)
            call.add(limit or "max_tokens", request.max_tokens, taken=bool(limit))
        if request.temperature is not None:
            call.add("temperature", request.temperature, taken="temperature" not in form.refused)
        for name, value in request.sampling.items():
            call.add(name, value, taken=name not in form.refused)
        return call

    def _holds_reply(self, body: Mapping[str, Any]) -> bool:
        choices = body.get("choices")
        return (
            isinstance(choices, list)
            # Anything else is no reply of this API, and is asked for again.
            and len(choices) == 1  # of two, nobody knows which was meant
            and isinstance(mapping(choices[0]).get("message"), dict)
            and _message_text(choices[0]["message"].get("content")) is not None
        )

    def _read_body(self, body: Mapping[str, Any]) -> Reply:
        choice = body["choices"][0]
        message = choice["message"]
        finished = words(choice.get("finish_reason"))
        # Reasons that are not known are taken for an end: what was said is then read, and checked.
        status, detail = _FINISHED.get(finished, OK), ""
        refusal = words(message.get("refusal"))
        if refusal:
            status, detail = REFUSED, refusal
        elif status != OK:
            detail = f"finish_reason {finished}"
        return Reply(
            status, _message_text(message.get("content")) or "", detail, _usage(mapping(body.get("usage")))
        )

    def _entry(self, key: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {"custom_id": key, "method": "POST", "url": _PATH, "body": dict(arguments)}

    def _read_result(self, record: Mapping[str, Any]) -> Result:
        key, response, error = (
            record["custom_id"],
            mapping(record.get("response")),
            mapping(record.get("error")),
        )
        status = response.get("status_code")
        if error or not isinstance(status, int):
            return Result(key, detail=words(error.get("message")) or words(error.get("code")) or "no reply")
        return Result(
            key,
            Response.from_batch(
                status, response.get("body"), {"x-request-id": words(response.get("request_id"))}
            ),
        )

    async def _submit_batch(self, requests: list[dict[str, Any]], tag: str) -> str:
        text = "".join(as_line(request) for request in requests).encode()
        file = await self._body(
            lambda client: client.files.with_raw_response.create(file=(f"{tag}.jsonl", text), purpose="batch")
        )
        return await self._create_once(
            lambda client: client.batches.with_raw_response.create(
                input_file_id=file["id"], endpoint=_PATH, completion_window="24h", metadata={_TAG: tag}
            )
        )

    async def _find_batch(
        self, tag: str, keys: Sequence[str], earliest: float, known_ids: Collection[str]
    ) -> str | None:
        """By its tag, or by the file it was made of where a server keeps no tags."""
        files = await self._files(tag)
        async for batch in self._list_batches(
            lambda client, after: client.batches.with_raw_response.list(
                limit=_PAGE, **({"after": after} if after else {})
            ),
            earliest,
        ):
            # A tag in the metadata is ours alone; some servers drop metadata and keep the name of the file.
            if mapping(batch.get("metadata")).get(_TAG) == tag or batch.get("input_file_id") in files:
                return self._checked_id(batch.get("id"))
        return None

    async def abandon(self, intent: str) -> None:
        """Delete the files of requests that no batch was made of."""
        for name in await self._files(intent.partition("?")[0]):
            await self._send(partial(_delete, file=name))

    async def _files(self, tag: str) -> list[str]:
        """Return the ids of the files of requests with this tag; none where the server lists no files."""
        response = await self._send(lambda client: client.files.with_raw_response.list(purpose="batch"))
        listed = response.json().get("data") if response.status == 200 else None
        files = map(mapping, listed if isinstance(listed, list) else [])
        return [self._checked_id(file.get("id")) for file in files if file.get("filename") == f"{tag}.jsonl"]

    async def _fetch_batch(self, batch: str) -> dict[str, Any]:
        return await self._body(lambda client: client.batches.with_raw_response.retrieve(batch), batch)

    def _has_ended(self, body: Mapping[str, Any]) -> bool:
        return body.get(self.state_key) in _ENDED

    async def _fetch_results(self, batch: str, body: Mapping[str, Any]) -> list[Result]:
        # Every request has failed then, and each gets the reason.
        if body.get("status") == "failed":  # before it was begun: there is nothing but the requests
            errors = mapping(body.get("errors")).get("data")
            first = mapping(errors[0]) if isinstance(errors, list) and errors else {}
            reason = words(first.get("message")) or words(first.get("code")) or "no reason given"
            requests = await self._file(body.get("input_file_id"))
            return [Result(record["custom_id"], detail=f"the batch failed: {reason}") for record in requests]
        # What failed stands in a file of its own, which is lacking if nothing did.
        files = [await self._file(body.get(name)) for name in ("output_file_id", "error_file_id")]
        return [self._read_result(record) for file in files for record in file]

    async def forget(self, batch: str) -> None:
        """Delete the file of requests that was handed over, which would be kept for good."""
        body = await self._fetch_batch(self._checked_id(batch.partition("?")[0]))
        name = self._checked_id(body.get("input_file_id"))
        await self._send(partial(_delete, file=name))

    async def _file(self, file: object) -> list[dict[str, Any]]:
        """Return the lines of a file, none if there is no such file."""
        if not file:
            return []
        name = self._checked_id(file)
        return await self._file_records(lambda client: client.files.with_raw_response.content(name))


def _format(request: Request, form: RequestForm) -> dict[str, Any]:
    """How the API is told the form of the reply."""
    if request.form == TEXT_FORM or form.mode == TEXT:
        return {}
    if form.mode == _OBJECT or request.form == JSON_FORM:
        return {"response_format": {"type": _OBJECT}}
    # Without `strict` a schema is a wish.
    schema = {"name": request.name, "strict": True, "schema": dict(request.schema)}
    return {"response_format": {"type": SCHEMA, SCHEMA: schema}}


def _message_text(content: object) -> str | None:
    """Return the text of a message, whole or in parts as some servers send it; None if there is no text."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return "".join(words(mapping(part).get("text")) for part in content)
    return None


def _usage(usage: Mapping[str, Any], before: str = "prompt", behind: str = "completion") -> Usage:
    """Read what a call took; the two interfaces have different words for what went in and what came out."""
    return Usage(
        count(usage.get(f"{before}_tokens")),
        count(usage.get(f"{behind}_tokens")),
        count(mapping(usage.get(f"{before}_tokens_details")).get("cached_tokens")),
        count(mapping(usage.get(f"{behind}_tokens_details")).get("reasoning_tokens")),
    )


async def _delete(client: Any, file: str) -> Any:
    return await client.files.with_raw_response.delete(file)


@dataclass(frozen=True)
class _Choices:
    """What a reply of the rubric is made of: the labels, and the items if there are several."""

    labels: Sequence[str]
    ids: Sequence[str] | None

    @property
    def questions(self) -> list[str]:
        """What is asked, in words."""
        if self.ids is None:
            return [f"Which label is right, {_RULES}?"]
        return [
            f"Which label does the item with the id {json.dumps(name)} get, {_RULES}?" for name in self.ids
        ]


class OpenAIDecisions(RemoteModel):
    """A model that makes decisions, asked through the openai SDK."""

    usual_provider = OPENAI_DECISIONS
    client = "AsyncOpenAI"
    modes = ((SCHEMA, ()),)
    request_id = "x-request-id"
    optional = ()

    async def _create(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        if not hasattr(client, "decisions"):
            raise Fatal(f"{self.name}: the installed SDK has no decisions: pip install --upgrade openai")
        return await client.decisions.with_raw_response.create(**arguments)

    def _call(self, request: Request, form: RequestForm) -> Call:
        choices = _choices(request, self.name)
        options = [{"value": label} for label in choices.labels]
        messages = [
            {"type": "message", "role": "system", "content": sendable(request.system)},
            {"type": "message", "role": "user", "content": sendable(request.user)},
        ]
        questions = [
            {"type": "choice", "instructions": sendable(text), "choices": options}
            for text in choices.questions
        ]
        arguments = {"model": self.model, "input": messages, "questions": questions}
        return Call(arguments, {"mode": _MODE}, dropped=("max_tokens", "temperature"))

    async def _negotiate(self, request: Request) -> Reply:
        """Return the reply in the form that the rubric reads."""
        choices = _choices(request, self.name)
        if len(choices.questions) > _MOST_QUESTIONS:
            detail = f"{len(choices.questions)} items at once, expected {_MOST_QUESTIONS} at most"
            return Reply(ERROR, detail=f"{self.name}: {detail}")
        reply = await super()._negotiate(request)
        if reply.status != OK:
            return reply
        answers = json.loads(reply.text)
        if len(answers) != len(choices.questions):
            # Answers have no ids: with one too few nobody knows whose they are.
            raise Transient(f"{self.name}: {len(answers)} answers to {len(choices.questions)} questions")
        refused = sum(answer.get("type") == "refusal" for answer in answers)
        if refused:
            return replace(reply, status=REFUSED, detail=f"refused {refused} of {len(answers)} questions")
        verdicts: list[dict[str, Any]] = []
        for answer in answers:
            probabilities = answer.get("probabilities")
            shares = map(mapping, probabilities if isinstance(probabilities, list) else [])
            sure = (f"{words(share.get('value'))} {words(share.get('probability'))}" for share in shares)
            reason = f"probabilities: {', '.join(sure)}"
            # A label that is none is for the rubric to refuse.
            verdicts.append({"evidence": "", "reason": reason, "label": answer.get("choice")})
        if choices.ids is None:
            return replace(reply, text=json.dumps(verdicts[0]))
        named = [{"id": name, **verdict} for name, verdict in zip(choices.ids, verdicts, strict=True)]
        return replace(reply, text=json.dumps({"verdicts": named}))

    def _holds_reply(self, body: Mapping[str, Any]) -> bool:
        answers = body.get("answers")
        return isinstance(answers, list) and all(isinstance(answer, dict) for answer in answers)

    def _read_body(self, body: Mapping[str, Any]) -> Reply:
        return Reply(
            OK, json.dumps(body["answers"]), usage=_usage(mapping(body.get("usage")), "input", "output")
        )


def _choices(request: Request, who: str) -> _Choices:
    """Read from the schema of the reply; `Fatal` if no choice among labels would do."""
    properties = mapping(request.schema.get("properties"))
    items = mapping(mapping(properties.get("verdicts")).get("items"))
    inner = mapping(items.get("properties"))
    labels = _enum(properties, "label")
    if labels:
        return _Choices(labels, None)
    labels, ids = _enum(inner, "label"), _enum(inner, "id")
    if labels and ids:
        return _Choices(labels, ids)
    raise Fatal(f"{who} only chooses among labels, {request.name} asks for something else; use openai:MODEL")


def _enum(properties: Mapping[str, Any], name: str) -> list[str]:
    values = mapping(properties.get(name)).get("enum")
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
