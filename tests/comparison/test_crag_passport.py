"""The automatic judge's accuracy, precision, recall and F1 for each system, beside people's four labels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rageval.statistics.agreement import correctness
from test_bad_input import command

PEOPLE = ("perfect", "acceptable", "missing", "incorrect", "incorrect")
JUDGE = {"ours": ("accurate", "accurate", "missing", "incorrect", "accurate"), "theirs": ("incorrect",) * 5}


def written(path: Path, labels: dict[str, tuple[str, ...]], rubric: str) -> str:
    rows = [
        {"query_id": f"q{index}", "run_id": run, "label": label, "rubric": rubric, "judge": rubric}
        for run, given in labels.items()
        for index, label in enumerate(given)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(name="files")
def files_(tmp_path: Path) -> tuple[str, str]:
    people = dict.fromkeys(JUDGE, PEOPLE)
    return written(tmp_path / "auto", JUDGE, "crag-auto"), written(tmp_path / "people", people, "crag")


def test_figures_by_hand(files: tuple[str, str]) -> None:
    by_system = json.loads(command("label", "agree", *files, "--format", "json").out)["by_system"]
    ours = by_system["ours"]
    assert (ours["compared"], ours["accuracy"]) == (5, 4 / 5)
    # accurate: 2 of 3 said, 2 of 2 there; missing: 1 of 1, 1 of 1; incorrect: 1 of 1, 1 of 2
    assert ours["precision"] == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert ours["recall"] == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert ours["f1"] == pytest.approx((4 / 5 + 1 + 2 / 3) / 3)
    theirs = by_system["theirs"]
    assert theirs["accuracy"] == 2 / 5
    assert theirs["precision"] == pytest.approx(2 / 5 / 3)
    assert theirs["recall"] == pytest.approx(1 / 3)


def test_the_passport_shows_them(files: tuple[str, str]) -> None:
    passport = command("label", "agree", *files, "--format", "md")
    assert passport.code == 0
    assert "| system | compared | accuracy | precision | recall | f1 |" in passport.out
    assert "| ours | 5 | 0.800 | 0.889 | 0.833 | 0.822 |" in passport.out


def test_of_other_labels_there_are_none(tmp_path: Path) -> None:
    labels = {"ours": ("support", "not_support")}
    files = (written(tmp_path / name, labels, "nugget-assignment") for name in "ab")
    assert json.loads(command("label", "agree", *files, "--format", "json").out)["by_system"] == {}


def test_a_judge_that_is_always_right() -> None:
    assert correctness(np.diag([3.0, 1.0, 0.0])) == (1.0, 1.0, 1.0, 1.0)
