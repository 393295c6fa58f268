"""What one way of comparing refuses, no other claims: the command, saved scores, and Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rageval
from commands import run_command, write_jsonl
from rageval.comparison import Comparison

Claims = set[tuple[str, str, str, str | None]]
QUERIES = 20


def _judged(query: int, run: str, is_right: bool, **more: Any) -> dict[str, Any]:
    label = {} if "status" in more else {"label": "perfect" if is_right else "incorrect"}
    return {"query_id": f"q{query}", "run_id": run, "judge": "m", **label, **more}


def _answers(folder: Path, kind: str) -> tuple[str, list[str]]:
    """Return a measure, and the judged answers of each system in a file of its own."""
    ours, theirs, measure = [], [], "crag_score"
    if kind == "plain":
        ours = [_judged(number, "A", number % 3 > 0) for number in range(60)]
        theirs = [_judged(number, "B", number % 10 > 0) for number in range(60)]
    elif kind == "failed":
        ours = [_judged(number, "A", number % 3 > 0) for number in range(60)]
        theirs = [_judged(number, "B", True) if number % 2 else _judged(number, "B", True, status="error")
                  for number in range(60)]  # fmt: skip
    elif kind == "fewer":
        ours = [_judged(number, "A", number % 3 > 0) for number in range(60)]
        theirs = [_judged(number, "B", True) for number in range(32)]
    else:  # other nuggets
        measure = "v_strict"
        for number in range(30):
            for nugget in range(3):
                row = {"query_id": f"q{number}", "aspect": f"n{nugget}", "importance": "vital"}
                row |= {"judge": "m", "item_id": "answer"}
                ours.append({**row, "run_id": "A", "label": "support" if nugget == 0 else "not_support"})
                if nugget == 0:
                    theirs.append({**row, "run_id": "B", "label": "support"})
    files = [write_jsonl(folder / f"{run}.jsonl", rows) for run, rows in (("A", ours), ("B", theirs))]
    return measure, files


def _runs(folder: Path, kind: str) -> list[str]:
    """Return two runs and judgements, of which the second run may lack queries."""
    judged = QUERIES // 2 if kind == "half" else QUERIES
    good = [f"q{number} Q0 r 1 2 A" for number in range(QUERIES)]
    bad = [f"q{number} Q0 {'r' if kind == 'half' else 'x'} 1 2 B" for number in range(judged)]
    bad += [f"q{number} Q0 r 2 1 B" for number in range(judged) if kind != "half"]
    texts = {"a.run": good, "b.run": bad, "qrels": [f"q{number} 0 r 1" for number in range(QUERIES)]}
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return [str(folder / name) for name in texts]


def _claims_of_pairs(pairs: list[dict[str, Any]]) -> Claims:
    """Return what is said of each pair, whichever run stands first."""
    claims: Claims = set()
    for pair in pairs:
        ruling = "better" if pair["better_run"] else pair["verdict"]
        claims.add((*sorted((pair["run"], pair["other"])), ruling, pair["better_run"]))  # type: ignore[arg-type]
    return claims


def _claims_of(comparison: Comparison) -> Claims:
    return _claims_of_pairs(comparison.as_dict()["pairs"])


def _command(*words: str) -> dict[str, Any]:
    result = run_command(*words, "--format", "json")
    assert result.exit_code in (0, 3), result.output
    output: dict[str, Any] = json.loads(result.stdout)
    return output


@pytest.mark.parametrize(("kind", "verdict"), [("whole", "better"), ("half", "refused")])
def test_claims_of_runs_are_the_same_in_every_way_to_compare(kind: str, verdict: str, tmp_path: Path) -> None:
    one, other, qrels = _runs(tmp_path, kind)
    claims = _claims_of_pairs(_command("compare", one, other, qrels, "-m", "rr")["pairs"])
    assert {ruling for _, _, ruling, _ in claims} == {verdict}
    scored = rageval.evaluate("rr", {"a.run": one, "b.run": other}, qrels)
    assert _claims_of(rageval.compare("rr", {"a.run": one, "b.run": other}, qrels)) == claims
    assert _claims_of(rageval.compare(scored)) == claims
    scores = [rageval.evaluate("rr", rageval.read_run(path), qrels) for path in (one, other)]
    assert {claim[2] for claim in _claims_of(rageval.compare(scores))} == {verdict}


@pytest.mark.some(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("plain", "better"), ("failed", "refused"), ("fewer", "refused"), ("nuggets", "refused")],
)
def test_claims_of_answers_are_the_same_in_every_way_to_compare(
    kind: str, verdict: str, tmp_path: Path
) -> None:
    measure, files = _answers(tmp_path, kind)
    skip = ("--on-missing", "skip")
    claims = _claims_of_pairs(_command("compare", *files, "-m", measure, *skip)["pairs"])
    assert {claim[2] for claim in claims} == {verdict}
    together = rageval.evaluate_answers(measure, files, on_missing="skip")
    assert _claims_of(rageval.compare(together)) == claims


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("plain", "better"), ("failed", "refused"), ("fewer", "refused"), ("nuggets", "refused")],
)
def test_answers_scored_apart(kind: str, verdict: str, tmp_path: Path) -> None:
    measure, files = _answers(tmp_path, kind)
    scores = [rageval.evaluate_answers(measure, file, on_missing="skip") for file in files]
    assert {claim[2] for claim in _claims_of(rageval.compare({**scores[0], **scores[1]}))} == {verdict}


@pytest.mark.parametrize("kind", ["failed", "nuggets"])
def test_none_is_best_where_the_best_cannot_be_compared(kind: str, tmp_path: Path) -> None:
    measure, files = _answers(tmp_path, kind)
    words = (*files, "-m", measure, "--on-missing", "skip")
    assert not any(cell["is_best"] for cell in _command("compare", *words)["values"])
    for command in ("score", "compare"):
        result = run_command(command, *words, "--format", "latex")
        assert result.exit_code in (0, 3), result.output
        assert "\\textbf" not in result.stdout


def test_one_is_best_where_all_can_be_compared(tmp_path: Path) -> None:
    measure, files = _answers(tmp_path, "plain")
    third = [_judged(number, "C", False, status="error") for number in range(60)]
    files.append(write_jsonl(tmp_path / "C.jsonl", third))  # a run that failed takes nothing from the others
    output = _command("compare", *files, "-m", measure, "--on-missing", "skip")
    assert [cell["run"] for cell in output["values"] if cell["is_best"]] == ["B"]
    result = run_command("score", *files, "-m", measure, "--on-missing", "skip", "--format", "latex")
    assert "\\textbf{0.8" in result.stdout


def test_other_judgements_are_refused(tmp_path: Path) -> None:
    one, other, qrels = _runs(tmp_path, "whole")
    text = Path(qrels).read_text().splitlines()
    changed, turned = tmp_path / "changed", tmp_path / "turned"
    changed.write_text("\n".join([*text[:-1], text[-1].replace(" r ", " s ")]) + "\n")
    turned.write_text("\n".join(text[::-1]) + "\n")
    verdicts = {}
    for name in (changed, turned):
        comparison = rageval.compare(
            [rageval.evaluate("rr", one, qrels), rageval.evaluate("rr", other, name)]
        )
        verdicts[name.name] = comparison.pairs[0].ruling
    assert verdicts == {"changed": "refused", "turned": "lower"}
