"""Helpers for tests of measures, judges, rubrics and plug-ins.

`check_measure` checks a measure against the laws of all measures, on random topics or tables of judgements.

`LlmServer` is a local server that answers the real SDKs, correctly or with faults that you script.
`ScriptedModel` needs neither network nor SDK.

>>> import asyncio
>>> from rageval.judges.base import Request, Transient
>>> from rageval.judges.models import model_named
>>> async def ask_twice(model):
...     try:
...         await model.ask(Request("Judge.", "Is it so?", {"type": "object"}))
...     except Transient as busy:
...         print(f"again in {busy.retry_after:g} seconds")
...     reply = await model.ask(Request("Judge.", "Is it so?", {"type": "object"}))
...     await model.aclose()
...     return reply.text
>>> with LlmServer() as server:
...     server.say(Saying(429, headers={"retry-after": "3"}))
...     asyncio.run(ask_twice(model_named(f"openai:some-model@{server.openai}")))
again in 3 seconds
'{"label": "support"}'
>>> [asked.path for asked in server.requests]
['/v1/chat/completions', '/v1/chat/completions']
"""

from __future__ import annotations

from rageval.testing._laws import check_measure
from rageval.testing._server import (
    VERDICT,
    Asked,
    LlmServer,
    Saying,
    ScriptedModel,
    anthropic_error,
    anthropic_reply,
    openai_decision,
    openai_error,
    openai_reply,
    usual,
)

__all__ = [
    "VERDICT",
    "Asked",
    "LlmServer",
    "Saying",
    "ScriptedModel",
    "anthropic_error",
    "anthropic_reply",
    "check_measure",
    "openai_decision",
    "openai_error",
    "openai_reply",
    "usual",
]
