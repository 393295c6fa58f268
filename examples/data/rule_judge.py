"""Judges by rule that stand for models, so that the examples need neither a network nor a key.

They look for the words of one text in another. In your own program a judge is a spec: "openai:MODEL".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rageval.judges import Request
from rageval.testing import ScriptedModel

Record = dict[str, Any]


def rule_judge(name: str = "rule", enough: float = 0.99) -> ScriptedModel:
    """A judge to whom a text says what it holds this share of the words of."""
    return ScriptedModel(lambda request: json.dumps(verdict(request, enough)), name)


def share(sought: str, text: str) -> float:
    """The share of the wanted words that stand in the text."""
    words, there = set(re.findall(r"\w+", sought.lower())), set(re.findall(r"\w+", text.lower()))
    return len(words & there) / max(1, len(words))


def verdict(request: Request, enough: float) -> Record:
    """What the judge replies, in the form that the request asks for."""
    _, shown, _ = re.split(r"(?m)^[0-9a-f]{32}\n?", request.user, maxsplit=2)
    data, properties = json.loads(shown), request.schema["properties"]
    if "verdicts" in properties:
        return {"verdicts": [on_nugget(nugget, data["answer"], enough) for nugget in data["nuggets"]]}
    if "ranking" in properties:
        return {"ranking": [answer["id"] for answer in sorted(data["answers"], key=lambda a: worth(a, data))]}
    if "label" in properties:
        return {"reason": "as it reads", **label(data, properties["label"]["enum"], enough)}
    return {
        "reason": "as it reads",
        **{name: grade(name, data, enough) for name in properties if name != "reason"},
    }


def on_nugget(nugget: Mapping[str, str], answer: str, enough: float) -> Record:
    share_found = share(nugget["text"], answer)
    label = "support" if share_found >= enough else "partial_support" if share_found >= 0.5 else "not_support"
    return {"id": nugget["id"], "evidence": answer if share_found >= 0.5 else "", "label": label}


def worth(answer: Mapping[str, str], data: Record) -> tuple[float, str]:
    """What was asked is wanted early: a word of the question counts the less, the later it comes."""
    words = re.findall(r"\w+", answer["text"].lower())
    asked = set(re.findall(r"\w{4,}", data["question"].lower()))
    return -sum(1 / index for index, word in enumerate(words, 1) if word in asked), answer["text"]


def label(data: Record, labels: list[str], enough: float) -> Record:
    if "answer_a" in data:
        one, other = (round(share(data[side], data["question"]), 2) for side in ("answer_a", "answer_b"))
        return {"evidence": "", "label": "tie" if one == other else "a" if one > other else "b"}
    if "passage" in data:
        share_found = share(data["sentence"], data["passage"])
        label = (
            "full_support"
            if share_found >= enough
            else "partial_support"
            if share_found >= 0.5
            else "no_support"
        )
        return {"evidence": data["passage"] if share_found >= 0.5 else "", "label": label}
    right = any(share(gold, data["answer"]) >= enough for gold in data["gold"])
    return {"evidence": data["answer"] if right else "", "label": labels[0] if right else "incorrect"}


def grade(name: str, data: Record, enough: float) -> float:
    """Numbers of LiveRAG's scales, and of the three of crag-style."""
    answer, gold = data["answer"], " ".join(data.get("gold", ()))
    grounded = share(answer, " ".join(data["passages"]))
    if name == "correctness":  # without a gold answer, whatever is to the point passes for right
        right = share(gold or data["question"], answer) >= (enough if gold else 0.3)
        return (2 if len(answer.split()) < 15 else 1) if right else -1
    if name == "faithfulness":
        return 1 if grounded >= enough else 0 if grounded >= 0.2 else -1
    return {"conciseness": float(len(answer.split()) < 15), "support": round(grounded, 2)}.get(name, 0.5)
