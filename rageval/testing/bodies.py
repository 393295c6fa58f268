"""What the two APIs send: replies and errors, as their documentation shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

VERDICT = '{"label": "support"}'


def openai_reply(content: Any = VERDICT, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model-1",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
    }


def openai_decision(questions: Iterable[Mapping[str, Any]], choice: int = 0) -> dict[str, Any]:
    """Answers of the Decisions API: to each question the choice at this place."""
    answers = []
    for question in questions:
        values = [option["value"] for option in question["choices"]]
        shares = [0.9 if place == choice else 0.1 / (len(values) - 1) for place in range(len(values))]
        answers.append(
            {
                "type": "choice",
                "name": question.get("name"),
                "choice": values[choice],
                "confidence": 0.9,
                "probabilities": [
                    {"value": value, "probability": share}
                    for value, share in zip(values, shares, strict=True)
                ],
            }
        )
    usage = {
        "input_tokens": 100,
        "output_tokens": 20,
        "total_tokens": 120,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 5},
    }
    return {"model": "served-model-1", "answers": answers, "usage": usage}


def anthropic_reply(*blocks: dict[str, Any], stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    """A message; without blocks, a verdict as text."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served-model-1",
        "content": list(blocks) or [{"type": "text", "text": VERDICT}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 30,
            "output_tokens": 20,
            "cache_creation_input_tokens": 10,
            "cache_read_input_tokens": 60,
        },
        **more,
    }


def openai_error(message: str, **more: Any) -> dict[str, Any]:
    """An error as OpenAI words it: `type`, `param`, `code`."""
    return {"error": {"message": message, "type": None, "param": None, "code": None, **more}}


def anthropic_error(message: str, type: str = "invalid_request_error") -> dict[str, Any]:
    """An error as Anthropic words it."""
    return {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_2"}
