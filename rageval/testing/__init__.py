"""Helpers for tests of measures, judges, rubrics and plug-ins.

`check_measure` checks a measure against the laws of all measures, on random topics or tables of judgements.
`ScriptedModel` is a model whose replies, and failures, you write down. It needs neither network nor SDK.
"""

from __future__ import annotations

from rageval.testing._laws import check_measure
from rageval.testing._scripted import ScriptedModel

__all__ = ["ScriptedModel", "check_measure"]
