"""What a gate does not decide yet, and what its row is of."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.errors import InputError
from rageval.files.plans import read_plan
from reasons import why
from sides import gate_values

LABELS = ("perfect", "acceptable", "missing", "incorrect")


def _clusters(number: int, of: int = 60) -> dict[str, str]:
    return {f"q{index:03}": str(index % number) for index in range(of)}


def _noisy(shift: float) -> list[float]:
    chance = random.Random(4)
    return [0.5 + shift + chance.uniform(-0.02, 0.02) for _ in range(60)]


@pytest.mark.parametrize("number", [2, 5, 9, 10])
@pytest.mark.parametrize("shift", [0.05, -0.2])
def test_few_clusters_decide_nothing(number: int, shift: float) -> None:
    report = gate_values(_noisy(shift), [0.5] * 60, clusters=_clusters(number))
    (decision,) = report.decisions
    if number < 10:
        assert report.verdict == "inconclusive"
        assert why(decision) == f"{number} clusters, 10 are needed"
        assert any("10 are needed" in remark for remark in map(str, report.remarks))
    else:
        assert report.verdict == ("ship" if shift > 0 else "block")


def test_clusters_without_a_shared_question_do_not_count() -> None:
    values: list[Any] = [0.6] * 58
    clusters = _clusters(2, 58) | {f"q{index:03}": str(index) for index in range(52, 58)}
    values[52:] = [None] * 6
    assert gate_values([*_noisy(0.1)[:52], *values[52:]], values, clusters=clusters).verdict == "inconclusive"


def test_the_row_adds_up() -> None:
    ours: list[Any] = [None, None, *[0.4 + index % 3 / 10 for index in range(78)]]
    theirs: list[Any] = [*[0.5] * 76, 0.0, 0.0, None, None]
    (decision,) = gate_values(ours, theirs).decisions
    assert decision.questions == 76
    assert decision.candidate - decision.baseline == pytest.approx(decision.difference)


def _judged(path: Path, run: str, labels: list[str]) -> None:
    rows = [
        {"query_id": f"q{index:03}", "run_id": run, "label": label, "judge": "j", "rubric": "crag"}
        for index, label in enumerate(labels)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _gate(*words: Any) -> Any:
    return CliRunner().invoke(main, ["gate", *map(str, words)])


def test_a_pending_look_decides_nothing(tmp_path: Path) -> None:
    chance = random.Random(3)
    base = [chance.choice(LABELS) for _ in range(120)]
    both, ask, gold = tmp_path / "both", tmp_path / "ask", tmp_path / "gold"
    _judged(tmp_path / "base", "base", base)
    _judged(tmp_path / "now", "now", ["perfect" if index % 3 else label for index, label in enumerate(base)])
    both.write_text((tmp_path / "base").read_text() + (tmp_path / "now").read_text())
    words = ["label", "plan", both, "--decide", "now>base", "-m", "crag_score", "-n", "80", "-o", ask]
    planned = CliRunner().invoke(main, list(map(str, words)))
    assert planned.exit_code == 0, planned.output
    plan = read_plan(str(ask))
    judged_rows = {
        (row["run_id"], row["query_id"]): row for row in map(json.loads, both.read_text().splitlines())
    }

    def verdict(number: int) -> tuple[str, str, str]:
        rows = [
            judged_rows[run, query] | {"judge": "person:kim", "plan": plan.sha}
            for query in plan.order[:number]
            for run in ("base", "now")
        ]
        gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
        how = ("-m", "crag_score", "--gold", gold, "--gold-chosen", ask)
        saved = tmp_path / f"saved-{number}"
        result = _gate(tmp_path / "base", *how, "--save-baseline", saved)
        assert result.exit_code == 0, result.output
        result = _gate(
            tmp_path / "now", *how, "--baseline", saved, "--margin", "0.05", "--json", tmp_path / "j"
        )
        (decision,) = (report := json.loads((tmp_path / "j").read_text()))["decisions"]
        return report["verdict"], why(decision), result.stderr

    first, reasons, stderr = verdict(20)
    assert first == "inconclusive"
    assert "20 of 80 queries of the plan are labeled: a gate needs all" in reasons
    assert reasons in stderr
    last, reasons, stderr = verdict(80)
    assert last == "ship"
    assert "of the plan" not in reasons
    assert "corrected by human labels" in stderr


def test_a_doubt_about_the_draw_is_said(tmp_path: Path) -> None:
    base = [LABELS[index % 4] for index in range(160)]
    _judged(tmp_path / "base", "base", base)
    _judged(tmp_path / "now", "now", ["perfect" if index % 2 else value for index, value in enumerate(base)])
    rows = [
        json.loads(line) | {"judge": "person:kim"}
        for name in ("base", "now")
        for line in (tmp_path / name).read_text().splitlines()
    ]
    rows = [row for row in rows if int(row["query_id"][1:]) % 4 == 3 or int(row["query_id"][1:]) < 8]
    (tmp_path / "gold").write_text("".join(json.dumps(row) + "\n" for row in rows))
    how = ("-m", "crag_score", "--gold", tmp_path / "gold", "--gold-chosen", "uniform")
    _gate(tmp_path / "base", *how, "--save-baseline", tmp_path / "saved")
    result = _gate(tmp_path / "now", *how, "--baseline", tmp_path / "saved", "--margin", "0.05")
    assert "the judge's values of labeled queries differ from those of the others" in result.stderr


def test_clusters_are_read_and_checked_as_by_the_command(tmp_path: Path) -> None:
    _judged(tmp_path / "now", "now", [LABELS[index % 4] for index in range(60)])
    saved = tmp_path / "saved"
    _gate(tmp_path / "now", "-m", "crag_score", "--save-baseline", saved)
    clusters = _clusters(10)
    (tmp_path / "clusters").write_text("".join(f"{query} {name}\n" for query, name in clusters.items()))
    given: dict[str, Any] = {"measures": "crag_score", "baseline": saved, "margin": 0.05}
    by_file = rageval.gate(tmp_path / "now", clusters=str(tmp_path / "clusters"), **given)
    assert by_file.as_dict() == rageval.gate(tmp_path / "now", clusters=clusters, **given).as_dict()
    half = dict(list(clusters.items())[:30])
    with pytest.raises(InputError, match="30 judged queries have no group"):
        rageval.gate(tmp_path / "now", clusters=half, **given)
    assert not math.isnan(by_file.decisions[0].low)
