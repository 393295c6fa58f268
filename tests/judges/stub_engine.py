"""Engines for the workers of Ray, which need no model: a class with the method `generate(batch)`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from fair_judge import fair
from llm_server import Asked

SECONDS = "STUB_SECONDS"  # that a reply takes
LOG = "STUB_LOG"  # a file with a line for each reply that was computed
DIES = "STUB_DIES"  # a file: the worker that finds it deletes it, and dies in the middle of a batch


def many_answers(number: int) -> list[dict[str, str]]:
    """Answers of one system, two of three right."""
    return [
        {
            "query_id": f"q{n}",
            "run_id": "ours",
            "answer": f"It is n{n}." if n % 3 else "Who knows?",
            "question": f"What is {n}?",
            "gold": f"n{n}",
        }
        for n in range(number)
    ]


class FairEngine:
    """Judges as `fair` does."""

    facts: ClassVar[dict[str, Any]] = {
        "engine": "fair",
        "version": 1,
        "dtype": "none",
        "parallelism": "1",
        "color": "red",
    }
    batch_size = 16

    def __init__(self, model: str) -> None:
        self.model = model

    def generate(self, batch: Sequence[Mapping[str, Any]]) -> list[Any]:
        time.sleep(len(batch) * float(os.environ.get(SECONDS, "0")))
        replies = [fair(Asked("", {}, dict(request))).body for request in batch]
        if log := os.environ.get(LOG):
            with Path(log).open("a") as file:
                file.write("".join(f"{json.dumps(request['messages'][-1])[-60:]}\n" for request in batch))
        place = os.environ.get(DIES)
        if place and Path(place).exists():
            Path(place).unlink()
            os._exit(1)
        return replies


POISON = "What is 7?"


class MoodyEngine(FairEngine):
    """Says texts instead of bodies; mumbles first, and cannot take one of the questions."""

    facts: ClassVar[dict[str, Any]] = {}

    def generate(self, batch: Sequence[Mapping[str, Any]]) -> list[Any]:
        if any(POISON in request["messages"][-1]["content"] for request in batch):
            raise MemoryError("out of memory")
        bodies = super().generate(batch)
        texts = [body["choices"][0]["message"]["content"] for body in bodies]
        repeats = ["could not be used" in request["messages"][-1]["content"] for request in batch]
        return [text if is_repeat else "Well." for text, is_repeat in zip(texts, repeats, strict=True)]


class BrokenEngine:
    """Gives fewer replies than requests."""

    def __init__(self, model: str) -> None:
        self.calls = 0

    def generate(self, batch: Sequence[Mapping[str, Any]]) -> list[Any]:
        self.calls += 1
        return [json.dumps({})] * (len(batch) - 1)


class NoEngine:
    """Has no method to ask."""
