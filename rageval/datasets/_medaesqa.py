"""MedAESQA, of which one file holds the questions and what was said of every system's answers."""

from __future__ import annotations

from rageval.datasets._reports import OF_JUDGEMENTS

READER = OF_JUDGEMENTS
