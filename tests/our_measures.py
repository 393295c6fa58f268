"""The measures of runs, and those of judged answers, by name."""

from __future__ import annotations

from rageval.measures import measures_taking

OF_RUNS = measures_taking("Ranking")
OF_ANSWERS = measures_taking("Assessment")
