"""Logs of other tools, detected by their content and split into files that rageval reads."""

from __future__ import annotations

from rageval.logs.log import Log
from rageval.logs.readers import read
from rageval.logs.rows import Grade, LogReader, LogReading, Passage, Row

__all__ = ["Grade", "Log", "LogReader", "LogReading", "Passage", "Row", "read"]
