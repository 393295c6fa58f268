"""What a judge leans on besides quality: long answers, the answer shown first, its own family of models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rageval.agreement.coefficients import tau_b

Places = Mapping[tuple[str, str, str, str], Mapping[str, Any]]
_FAMILIES = {
    "claude": r"claude|anthropic",
    "command": r"command-?r|cohere",
    "deepseek": r"deepseek",
    "gemini": r"gemini|gemma|google",
    "gpt": r"gpt|openai|chatgpt|\bo[134]\b",
    "llama": r"llama",
    "mistral": r"mistral|mixtral|ministral",
    "phi": r"\bphi-?\d",
    "qwen": r"qwen|qwq",
}


class Order(NamedTuple):
    """Comparisons asked in both orders: how many, which share kept its verdict, which share the first won."""

    pairs: int
    consistent: float
    first_wins: float


def length_leaning(
    errors: Mapping[tuple[str, str], float], lengths: Mapping[tuple[str, str], float]
) -> float:
    """Kendall's τ_b of how much too well answers were judged and how long they are; NaN if undefined."""
    known = [key for key in errors if key in lengths]
    columns = (np.array([column[key] for key in known], np.float64) for column in (errors, lengths))
    return tau_b(*columns)


def order_leaning(judged: Places) -> Order | None:
    """Whether the order in which two answers were shown decides; None without comparisons in both orders.

    A comparison's aspect names its answers in the order in which they were shown: `ours | theirs`.

    >>> rows = {("q", run, "answer", aspect): {"label": label, "status": "ok"} for run, aspect, label in [
    ...     ("a", "a | b", "win"), ("b", "a | b", "loss"), ("a", "b | a", "loss"), ("b", "b | a", "win")]}
    >>> order_leaning(rows)
    Order(pairs=1, consistent=0.0, first_wins=1.0)
    """
    label = {key: str(row.get("label")) for key, row in judged.items() if row["status"] in ("ok", "repaired")}
    consistent, first_wins = [], []
    for (query, run, item, aspect), said in label.items():
        first, _, second = aspect.partition(" | ")
        turned = (query, run, item, f"{second} | {first}")
        if second and run == min(first, second) and run == first and turned in label:
            consistent.append(said == label[turned])
            first_wins += [said == "win", label[turned] == "loss"]
    if not consistent:
        return None
    return Order(len(consistent), float(np.mean(consistent)), float(np.mean(first_wins)))


def families_of(name: str) -> set[str]:
    """The families of models that a name speaks of.

    >>> families_of("anthropic:claude-sonnet"), families_of("baseline-bm25")
    ({'claude'}, set())
    """
    return {family for family, words in _FAMILIES.items() if re.search(words, name.lower())}


def kin(judges: Iterable[str], systems: Iterable[str]) -> list[str]:
    """Systems that bear the name of a judge's family: a judge tends to prefer its own kind."""
    own = set().union(*map(families_of, judges))
    return [system for system in systems if families_of(system) & own]
