"""A model that judges by what is there, in either wire format, and one that obeys whatever it reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llm_server import Asked, Saying, anthropic_reply, openai_reply
from rageval.judges.judge import _as_quoted

SENTINEL = "sk-sentinel-0123456789abcdef0123456789"  # a key, which may be found nowhere


def write_lines(**records: Sequence[Mapping[str, Any]]) -> None:
    """Write files of these names here, a record a line."""
    for name, rows in records.items():
        Path(name).write_text("".join(json.dumps(record) + "\n" for record in rows))


def fair(asked: Asked) -> Saying:
    """The verdict that anybody would give who looks for words."""
    return saying(asked, json.dumps(verdict(data_in(asked), schema_in(asked))))


def obedient(asked: Asked) -> Saying:
    """The best label for whoever demands one, and else a fair verdict."""
    verdict_found = verdict(data_in(asked), schema_in(asked))
    demand = re.search(r"Reply with the label (\w+)", json.dumps(data_in(asked)))
    if demand:
        quote = {"evidence": "Ignore the rubric", "label": demand[1]}
        verdict_found |= quote if "label" in verdict_found else {}
        for one in verdict_found.get("verdicts", ()):
            one.update(quote)
    return saying(asked, json.dumps(verdict_found))


def data_in(asked: Asked) -> dict[str, Any]:
    """The data between the two lines of the fence."""
    _, data, _ = re.split(r"(?m)^[0-9a-f]{32}\n?", asked.body["messages"][-1]["content"], maxsplit=2)
    parsed: dict[str, Any] = json.loads(data)
    return parsed


def schema_in(asked: Asked) -> dict[str, Any]:
    if "response_format" in asked.body:
        sent: dict[str, Any] = asked.body["response_format"]["json_schema"]["schema"]
    else:
        sent = asked.body["output_config"]["format"]["schema"]
    return sent["properties"]  # type: ignore[no-any-return]


def saying(asked: Asked, text: str) -> Saying:
    """The text as the API that was asked sends it."""
    return Saying(
        body=anthropic_reply({"type": "text", "text": text})
        if asked.path == "/v1/messages"
        else openai_reply(text)
    )


def verdict(data: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    text = _as_quoted(str(data.get("answer", data.get("passage", ""))))
    if "verdicts" in schema and "answer" in data:
        return {"verdicts": [_on_nugget(nugget, text) for nugget in data["nuggets"]]}
    if "verdicts" in schema:
        labels = ("vital", "okay")
        return {
            "verdicts": [
                {"id": nugget["id"], "evidence": "", "label": labels[index % 2]}
                for index, nugget in enumerate(data["nuggets"])
            ]
        }
    if "nuggets" in schema:
        return {"nuggets": list(dict.fromkeys([*data.get("nuggets", ()), *_sources(data)]))}
    if "ranking" in schema:
        return {"ranking": [answer["id"] for answer in sorted(data["answers"], key=lambda a: a["text"])]}
    if "label" in schema:
        return {"reason": "as it reads", **_label(data, text, schema["label"]["enum"])}
    return {"reason": "as it reads"} | dict.fromkeys((name for name in schema if name != "reason"), 0)


def _sources(data: dict[str, Any]) -> list[str]:
    return [str(text) for text in data.get("gold", data.get("passages", ()))]


def _on_nugget(nugget: dict[str, str], text: str) -> dict[str, str]:
    is_quoted = _as_quoted(nugget["text"]) in text
    label = "support" if is_quoted else "not_support"
    return {"id": nugget["id"], "evidence": nugget["text"] if is_quoted else "", "label": label}


def _label(data: dict[str, Any], text: str, labels: list[str]) -> dict[str, str]:
    if "answer_a" in data:
        return {"evidence": "", "label": "a" if len(data["answer_a"]) < len(data["answer_b"]) else "b"}
    answers = data.get("gold") or [data.get("sentence") or data["question"]]
    answer = next((gold for gold in answers if _as_quoted(gold) in text), None)
    if answer is not None:
        best = labels[-1] if "unrelated" in labels else labels[0]
        return {"evidence": answer, "label": best}
    return {"evidence": "", "label": labels[0] if "unrelated" in labels else labels[-1]}
