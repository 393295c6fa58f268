"""A comparison in every format, word by word; run as a script, this file writes it anew."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from declared import require_golden
from rageval.comparison import Comparison, Settings, compare
from rageval.comparison.citations import cite
from rageval.measures.parsing import parse_measure
from rageval.scoring.scores import Score, Scores
from rageval.table import FORMATS
from rageval.version import __version__
from rageval.views.comparisons import latex_of, lines_of

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parents[1] / "golden" / "compare"
# The best run is as noisy as its mean is high; the second beats the third on every query.
RUNS = {"noisy": (0.1, 0.9), "second": (0.5, 0.5), "third": (0.4, 0.4)}


def comparison() -> Comparison:
    results = []
    for run, (low, high) in RUNS.items():
        rr = [high if index % 13 < 7 else low for index in range(40)]
        crag = [1.0 if index % 4 < len(run) % 4 else -1.0 for index in range(40)]
        queries = [f"q{index}" for index in range(40)]
        scores = (
            Score(parse_measure("rr"), queries, rr, 0, "rr|v:0"),
            Score(parse_measure("crag_score"), queries, crag, 0, "crag|v:0", said_by=("openai:m@3f2a",)),
            Score(parse_measure("token_f1"), queries, rr, 0, "token_f1|v:0", of_words=True),
        )
        results.append(Scores(run, scores))
    return compare(results, Settings(resamples=200))


PRINTERS = {
    **{
        style: partial(lambda style, comparison, places: lines_of(comparison, style, places), style)
        for style in FORMATS
        if style != "latex"
    },
    "latex": lambda comparison, places: latex_of(comparison, places=places),
    "cite": lambda comparison, places: [str(cite(comparison))],
    "text": lambda comparison, places: [str(comparison)],
    "notebook": lambda comparison, places: [comparison._repr_html_()],
}


def printed(style: str) -> str:
    return "\n".join(PRINTERS[style](comparison(), 4)).replace(__version__, "VERSION") + "\n"


@pytest.mark.some(3)
@pytest.mark.parametrize("style", PRINTERS)
def test_a_comparison_is_printed_as_it_was(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    require_golden(printed(style), GOLDEN / f"{style}.txt")


if __name__ == "__main__":
    import os

    os.environ["COLUMNS"] = "160"
    GOLDEN.mkdir(exist_ok=True)
    for printer in PRINTERS:
        (GOLDEN / f"{printer}.txt").write_text(printed(printer), encoding="utf-8")
