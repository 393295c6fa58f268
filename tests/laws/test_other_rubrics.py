"""A query that lacks its judgement counts as missing, whatever else was judged of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main

pytestmark = pytest.mark.slow

_MEASURES = {
    "crag_score": {"rubric": "crag", "label": "perfect"},
    "grade(aspect=score)": {"aspect": "score", "grade": 1.0},
}


def _rows(verdict: dict[str, Any], lost: int) -> list[dict[str, Any]]:
    """Return rows of 60 questions, each with one of another rubric; the first ones lack their own."""
    rows = []
    for number in range(60):
        place = {"query_id": f"q{number:02}", "run_id": "r", "judge": "j"}
        rows += [place | verdict] if number >= lost else []
        rows.append(place | {"rubric": "tone", "aspect": "tone", "grade": 0.5})
    return rows


def _gated(tmp_path: Path, measure: str, rows: Any, base: str) -> Any:
    (tmp_path / "now.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["gate", str(tmp_path / "now.jsonl"), "-m", measure]
    more = ["--save-baseline", base] if not Path(base).exists() else ["--baseline", base, "--margin", "0.03"]
    return CliRunner().invoke(main, [*words, *more])


@pytest.mark.parametrize("measure", _MEASURES)
def test_rows_of_another_rubric_hide_no_missing_judgement(tmp_path: Path, measure: str) -> None:
    verdict, base = _MEASURES[measure], str(tmp_path / "base.jsonl")
    whole = _rows(verdict, 0)
    assert _gated(tmp_path, measure, whole, base).exit_code == 0
    assert _gated(tmp_path, measure, whole, base).exit_code == 0
    assert _gated(tmp_path, measure, _rows(verdict, 6), base).exit_code == 3
    # One of 60 is no more than may be missing: the verdict has to hold whatever it is.
    assert _gated(tmp_path, measure, _rows(verdict, 1), base).exit_code in (0, 5)
    (score,) = rageval.evaluate_answers(measure, _rows(verdict, 6), on_missing="skip")["r"].scores
    assert len(score.between) == 6
    scored = CliRunner().invoke(main, ["score", str(tmp_path / "now.jsonl"), "-m", measure])
    assert scored.exit_code == 3
