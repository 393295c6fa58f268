"""Experimental: OpenAI's Decisions API, which chooses among labels and says how sure it is.

It suits rubrics whose reply is a label, or a label an item, such as the assignment of nuggets: each item is a
question of its own. It quotes no evidence, and what it is not sure of stands in the verdict's reason. The API
is young and may change; the installed SDK has to know it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rageval.judges.base import ERROR, OK, REFUSED, Fatal, Reply, Request, Transient, Usage
from rageval.judges.models.hosts import OPENAI
from rageval.judges.models.remote import SCHEMA, Call, Form, RemoteModel, sendable
from rageval.judges.models.responses import count, mapping, words

MODE = "decisions"
_MOST_QUESTIONS = 400
_RULES = "by the rules in the system message"


@dataclass(frozen=True)
class _Wanted:
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

    provider = OPENAI
    prefix = "openai-decisions"
    client = "AsyncOpenAI"
    modes = ((SCHEMA, ()),)
    request_id = "x-request-id"
    optional = ()

    async def _create(self, client: Any, arguments: Mapping[str, Any]) -> Any:
        if not hasattr(client, "decisions"):
            raise Fatal(f"{self.name}: the installed SDK has no decisions: pip install --upgrade openai")
        return await client.decisions.with_raw_response.create(**arguments)

    def _call(self, request: Request, form: Form) -> Call:
        wanted = _wanted(request, self.name)
        choices = [{"value": label} for label in wanted.labels]
        messages = [
            {"type": "message", "role": "system", "content": sendable(request.system)},
            {"type": "message", "role": "user", "content": sendable(request.user)},
        ]
        questions = [
            {"type": "choice", "instructions": sendable(text), "choices": choices}
            for text in wanted.questions
        ]
        arguments = {"model": self.model, "input": messages, "questions": questions}
        return Call(arguments, {"mode": MODE}, dropped=("max_tokens", "temperature"))

    async def _negotiated(self, request: Request) -> Reply:
        """The reply in the form that the rubric reads."""
        wanted = _wanted(request, self.name)
        if len(wanted.questions) > _MOST_QUESTIONS:
            said = f"{len(wanted.questions)} items at once, expected {_MOST_QUESTIONS} at most"
            return Reply(ERROR, detail=f"{self.name}: {said}")
        reply = await super()._negotiated(request)
        return self._with_verdicts(reply, wanted) if reply.status == OK else reply

    def _holds_reply(self, body: Mapping[str, Any]) -> bool:
        answers = body.get("answers")
        return isinstance(answers, list) and all(isinstance(answer, dict) for answer in answers)

    def _read(self, body: Mapping[str, Any]) -> Reply:
        return Reply(OK, json.dumps(body["answers"]), usage=_usage(mapping(body.get("usage"))))

    def _with_verdicts(self, reply: Reply, wanted: _Wanted) -> Reply:
        answers = json.loads(reply.text)
        if len(answers) != len(wanted.questions):
            raise Transient(f"{self.name}: {len(answers)} answers to {len(wanted.questions)} questions")
        refused = sum(answer.get("type") == "refusal" for answer in answers)
        if refused:
            return replace(reply, status=REFUSED, detail=f"refused {refused} of {len(answers)} questions")
        verdicts = [_verdict(answer) for answer in answers]
        if wanted.ids is None:
            return replace(reply, text=json.dumps(verdicts[0]))
        named = [{"id": name, **verdict} for name, verdict in zip(wanted.ids, verdicts, strict=True)]
        return replace(reply, text=json.dumps({"verdicts": named}))


def _wanted(request: Request, who: str) -> _Wanted:
    """Read from the schema of the reply; `Fatal` if no choice among labels would do."""
    properties = mapping(request.schema.get("properties"))
    items = mapping(mapping(properties.get("verdicts")).get("items"))
    inner = mapping(items.get("properties"))
    labels = _enum(properties, "label")
    if labels:
        return _Wanted(labels, None)
    labels, ids = _enum(inner, "label"), _enum(inner, "id")
    if labels and ids:
        return _Wanted(labels, ids)
    raise Fatal(f"{who} only chooses among labels, {request.name} asks for something else; use openai:MODEL")


def _enum(properties: Mapping[str, Any], name: str) -> list[str]:
    found = mapping(properties.get(name)).get("enum")
    return [value for value in found if isinstance(value, str)] if isinstance(found, list) else []


def _verdict(answer: Mapping[str, Any]) -> dict[str, Any]:
    """One answer as a rubric reads it; a label that is none is for the rubric to refuse."""
    found = answer.get("probabilities")
    shares = [mapping(share) for share in found] if isinstance(found, list) else []
    sure = ", ".join(f"{words(share.get('value'))} {words(share.get('probability'))}" for share in shares)
    return {"evidence": "", "reason": f"probabilities: {sure}", "label": answer.get("choice")}


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        count(usage.get("input_tokens")),
        count(usage.get("output_tokens")),
        count(mapping(usage.get("input_tokens_details")).get("cached_tokens")),
        count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )
