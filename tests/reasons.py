"""The reasons of a verdict, of a value or of its record in JSON, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def why(verdict: Any) -> str:
    """Return the texts of the reasons."""
    if isinstance(verdict, Mapping):
        return "; ".join(reason["text"] for reason in verdict["reasons"])
    return "; ".join(map(str, verdict.reasons))
