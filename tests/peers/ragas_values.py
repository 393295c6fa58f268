"""What ragas itself says of drawn records, by a judge that follows simple rules.

    python tests/peers/ragas_values.py > tests/golden/ragas/values.jsonl

needs ragas 0.4.3 (with langchain-community below 0.4, which it imports). The rules: the claims of a text are
its sentences that begin with "Fact"; a text supports the claims that it repeats, be it without "today".
"""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

RECORDS = 60


def claims_of(text: str) -> list[str]:
    """Return the claims of a text."""
    return [f"{sentence}." for sentence in text.split(". ") if sentence.startswith("Fact")]


def plain(text: str) -> str:
    """Return a text without what the rules ignore."""
    return text.replace(" today", "")


def repeats(claim: str, text: str) -> bool:
    """Return whether a text holds a claim."""
    return plain(claim) in plain(text)


def record(number: int) -> dict[str, Any]:
    """Return a drawn record of ragas' data; the last four lack claims on one side, or contexts of use."""
    rng = random.Random(number)

    def text(most: int, least: int = 1) -> str:
        facts = [f"Fact {fact} holds{day}." for fact in range(4) for day in ("", " today")]
        return " ".join(rng.sample(facts, rng.randint(least, most)))

    drawn = {
        "user_input": f"What is known of subject {number}?",
        "response": text(6),
        "reference": text(5),
        "retrieved_contexts": [text(3) for _ in range(rng.randint(1, 5))],
    }
    if number == RECORDS - 1:
        drawn["response"] = "I don't know."
    elif number == RECORDS - 2:
        drawn["reference"] = "Nobody knows."
    elif number == RECORDS - 3:
        drawn["retrieved_contexts"] = ["Nothing is said here."]
    elif number == RECORDS - 4:
        drawn["response"] = "Fact 99 holds."
    return drawn


def replies(data: dict[str, Any], fields: set[str]) -> dict[str, Any]:
    """Return the reply to a prompt of ragas: by what it shows and what it wants."""

    def verdict(claim: str, text: str) -> dict[str, Any]:
        return {"statement": claim, "reason": "", "verdict": int(repeats(claim, text))}

    if "claims" in fields:
        return {"claims": claims_of(data["response"])}
    if "TP" in fields:
        own, gold = data["answer"], data["ground_truth"]
        named = {
            "TP": [claim for claim in own if repeats(claim, " ".join(gold))],
            "FP": [claim for claim in own if not repeats(claim, " ".join(gold))],
            "FN": [claim for claim in gold if not repeats(claim, " ".join(own))],
        }
        return {
            name: [{"statement": claim, "reason": ""} for claim in claims] for name, claims in named.items()
        }
    if "classifications" in fields:
        attributed = {claim: int(repeats(claim, data["context"])) for claim in claims_of(data["answer"])}
        rows = [
            {"statement": claim, "reason": "", "attributed": is_there}
            for claim, is_there in attributed.items()
        ]
        return {"classifications": rows}
    if "verdict" in fields:
        is_useful = any(repeats(claim, data["context"]) for claim in claims_of(data["answer"]))
        return {"reason": "", "verdict": int(is_useful)}
    if "statements" in data:
        return {"statements": [verdict(claim, data["context"]) for claim in data["statements"]]}
    return {"statements": claims_of(data["answer"])}


def values() -> list[dict[str, Any]]:
    """Return each record with what ragas says of it."""
    from ragas.llms.base import InstructorBaseRagasLLM
    from ragas.metrics.collections import (
        AnswerCorrectness,
        ContextPrecision,
        ContextRecall,
        FactualCorrectness,
        Faithfulness,
    )

    class Rules(InstructorBaseRagasLLM):  # type: ignore[misc]
        """A model that follows the rules."""

        def generate(self, prompt: str, response_model: Any) -> Any:
            data = json.loads(prompt.rpartition("\ninput: ")[2].rpartition("\nOutput:")[0])
            return response_model.model_validate(replies(data, {*response_model.model_fields}))

        async def agenerate(self, prompt: str, response_model: Any) -> Any:
            return self.generate(prompt, response_model)

    llm = Rules()
    metrics = {
        "faithfulness": Faithfulness(llm=llm),
        "answer_correctness": AnswerCorrectness(llm=llm, weights=[1.0, 0.0]),
        "factual_correctness": FactualCorrectness(llm=llm),
        "factual_precision": FactualCorrectness(llm=llm, mode="precision"),
        "factual_recall": FactualCorrectness(llm=llm, mode="recall"),
        "context_precision": ContextPrecision(llm=llm),
        "context_recall": ContextRecall(llm=llm),
    }
    needs = {
        "faithfulness": ("user_input", "response", "retrieved_contexts"),
        "answer_correctness": ("user_input", "response", "reference"),
        **dict.fromkeys(
            ("factual_correctness", "factual_precision", "factual_recall"), ("response", "reference")
        ),
        **dict.fromkeys(
            ("context_precision", "context_recall"), ("user_input", "reference", "retrieved_contexts")
        ),
    }

    async def scored(row: dict[str, Any]) -> dict[str, Any]:
        scores = {
            name: (await metric.ascore(**{field: row[field] for field in needs[name]})).value
            for name, metric in metrics.items()
        }
        return row | {name: None if value != value else value for name, value in scores.items()}

    async def all_scored() -> list[dict[str, Any]]:
        return [await scored(record(number)) for number in range(RECORDS)]

    return asyncio.run(all_scored())


if __name__ == "__main__":
    for row in values():
        print(json.dumps(row))
