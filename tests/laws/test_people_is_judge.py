"""Human labels that are the judge's own, on everything, change no value, at every command that takes gold.

The corrected value is then the judge's, and the interval is that of the human labels alone: Student's.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from commands import run_command, write_jsonl
from every_command import leaves
from rageval.comparison.arena import strengths_by_people
from rageval.scoring.answers import read_judgements
from rageval.scoring.gold import drawn, gold_of

pytestmark = pytest.mark.slow

NUMBER = 90
VALUES = {"perfect": 1.0, "acceptable": 0.5, "missing": 0.0, "incorrect": -1.0}
CHOSEN = ("--gold-chosen", "uniform")


def takers() -> set[str]:
    """The commands that take human labels to correct by."""
    return {
        name
        for name, command in leaves().items()
        if any("--gold" in option.opts for option in command.params)
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same judgements by a judge and by people: of answers, of pairs, and what the values are."""
    folder, rng = tmp_path_factory.mktemp("people"), random.Random(5)
    labels = {
        (f"q{number:02d}", run): rng.choice(list(VALUES))
        for number in range(NUMBER)
        for run in ("one", "other")
    }
    fields = {f"q{number:02d}": "ab"[number % 2] for number in range(NUMBER)}
    fixture_files: dict[str, Any] = {
        "values": {key: VALUES[label] for key, label in labels.items()},
        "kind": fields,
    }
    # Three in five are ties, which models of strengths treat differently.
    games = {f"q{number:02d}": rng.choice(("tie", "tie", "tie", "win", "loss")) for number in range(NUMBER)}
    turned = {"tie": "tie", "win": "loss", "loss": "win"}
    for judge in ("gpt", "people"):
        rows = [
            {"query_id": query, "run_id": run, "label": label, "rubric": "crag", "judge": judge,
             "kind": fields[query]}
            for (query, run), label in labels.items()
        ]  # fmt: skip
        fixture_files[judge] = write_jsonl(folder / f"{judge}.jsonl", rows)
        for run in ("one", "other"):
            alone = [row for row in rows if row["run_id"] == run]
            fixture_files[f"{judge}-{run}"] = write_jsonl(folder / f"{judge}-{run}.jsonl", alone)
        rows = [
            {"query_id": query, "run_id": run, "aspect": "one|other", "judge": judge, "label": label}
            for query, outcome in games.items()
            for run, label in (("one", outcome), ("other", turned[outcome]))
        ]
        fixture_files[f"{judge}-pairs"] = write_jsonl(folder / f"{judge}-pairs.jsonl", rows)
    fixture_files["folder"] = folder
    return fixture_files


def command(*words: str, codes: tuple[int, ...] = (0,)) -> str:
    result = run_command(*words)
    assert result.exit_code in codes, result.output
    return result.stdout


def student(values: list[float]) -> tuple[float, float, float]:
    """Mean and interval of the human labels alone."""
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
    return float(np.mean(values)), float(np.mean(values) - half), float(np.mean(values) + half)


def of_run(files: dict[str, Any], run: str, kind: str | None = None) -> list[float]:
    return [value for (query, of), value in files["values"].items()
            if of == run and kind in (None, files["kind"][query])]  # fmt: skip


def differences(files: dict[str, Any]) -> list[float]:
    return [one - other for one, other in zip(of_run(files, "one"), of_run(files, "other"), strict=True)]


def holds(estimate: dict[str, Any], expected: tuple[float, float, float], value: str = "value") -> None:
    assert [estimate[value], estimate["low"], estimate["high"]] == pytest.approx(expected, abs=1e-9)


def compared(comparison: dict[str, Any], files: dict[str, Any]) -> None:
    for cell in comparison["values"]:
        holds(cell, student(of_run(files, cell["run"])))
        assert cell["judged"] == pytest.approx(cell["value"], abs=1e-9)
    (pair,) = comparison["pairs"]
    mean, low, high = student(differences(files))
    ends = (mean, low, high) if pair["run"] == "one" else (-mean, -high, -low)
    holds(pair, ends, "difference")
    assert pair["judged"] == pytest.approx(pair["difference"], abs=1e-9)


def by_compare(files: dict[str, Any]) -> None:
    words = (files["gpt"], "-m", "crag_score", "--gold", files["people"], *CHOSEN, "--format", "json")
    compared(json.loads(command("compare", *words)), files)


def by_report(files: dict[str, Any]) -> None:
    page = str(files["folder"] / "page.html")
    command("report", files["gpt"], "-m", "crag_score", "--gold", files["people"], *CHOSEN, "-o", page)
    output = json.loads(command("report", "show", page, "--format", "json"))
    compared({**output, "values": output["cells"], "pairs": output["comparison"]["pairs"]}, files)


def by_score(files: dict[str, Any]) -> None:
    words = (files["gpt"], "-m", "crag_score", "--by", "kind", "--gold", files["people"], *CHOSEN)
    output = json.loads(command("score", *words, "--format", "json"))
    for entry in output["results"]:
        for part in entry["slices"]:
            holds(part, student(of_run(files, entry["run"], part["name"])))
            assert part["judged"] == pytest.approx(part["value"], abs=1e-9)


def by_correct(files: dict[str, Any]) -> None:
    words = (files["gpt"], "--gold", files["people"], "-m", "crag_score", *CHOSEN, "--format", "json")
    output = json.loads(command("label", "correct", *words))
    for entry in output["results"]:
        holds(entry, student(of_run(files, entry["run"])))
        assert entry["judge"] == pytest.approx(entry["value"], abs=1e-9)
        assert not entry["coarse"]


def by_gate(files: dict[str, Any]) -> None:
    """The baseline is one system, the candidate the other, under one name."""
    folder = files["folder"]
    sides = {}
    for side, run in (("base", "other"), ("now", "one")):
        for judge in ("gpt", "people"):
            rows = [json.loads(line) for line in Path(files[f"{judge}-{run}"]).read_text().splitlines()]
            sides[judge, side] = write_jsonl(
                folder / f"{judge}-{side}.jsonl", [{**row, "run_id": side} for row in rows]
            )
    people = folder / "both.jsonl"
    people.write_text("".join(Path(sides["people", side]).read_text() for side in ("base", "now")))
    how = ("-m", "crag_score", "--gold", str(people), *CHOSEN)
    base, out = str(folder / "base.json"), str(folder / "gate.json")
    command("gate", sides["gpt", "base"], *how, "--save-baseline", base)
    words = (sides["gpt", "now"], *how, "--baseline", base, "--margin", "0.05", "--json", out)
    command("gate", *words, codes=(0, 1, 5))
    (decision,) = json.loads(Path(out).read_text())["decisions"]
    assert decision["difference"] == pytest.approx(float(np.mean(differences(files))), abs=1e-9)


def by_arena(files: dict[str, Any]) -> None:
    given, gold = ([files[f"{judge}-pairs"]] for judge in ("gpt", "people"))
    strengths, _ = strengths_by_people(
        read_judgements(given), gold_of(read_judgements(gold), gold, drawn("uniform"))
    )
    for strength in strengths:
        assert strength.strength == pytest.approx(strength.judged, abs=1e-9)
    words = ("arena", *given, "--gold", *gold, *CHOSEN, "--format", "json")
    for row in json.loads(command(*words)):
        assert row["strength"] == row["judge"]
    # The interval is that of the share of wins, by what a strength grows with it.
    rows = [json.loads(line) for line in Path(gold[0]).read_text().splitlines()]
    won = [{"win": 0.5, "tie": 0.0, "loss": -0.5}[row["label"]] for row in rows if row["run_id"] == "one"]
    mean, low, high = student(won)
    (one,) = (strength for strength in strengths if strength.system == "one")
    share = 0.5 + mean
    assert one.strength == pytest.approx(math.log(share / (1 - share)) / 2, abs=1e-9)
    assert one.high - one.low == pytest.approx((high - low) / (share * (1 - share)) / 2, abs=1e-9)


def by_track(files: dict[str, Any]) -> None:
    tables, out = files["folder"] / "tables", files["folder"] / "track"
    tables.mkdir()
    for run in ("one", "other"):
        rows = [
            {"query_id": query, "run_id": run, "answer": "x"} for query, of in files["values"] if of == run
        ]
        write_jsonl(tables / f"{run}.jsonl", rows)
    words = ("track", str(tables), "--track", "answers", "--judgements", files["gpt"], "-m", "crag_score")
    # Questions have a text, which nothing but judges needs.
    topics = files["folder"] / "topics"
    topics.write_text("".join(f"{query}\tWhat is {query}?\n" for query in files["kind"]))
    how = ("--topics", str(topics), "--gold", files["people"], *CHOSEN, "--stage", "score", "-o", str(out))
    command(*words, *how)
    for row in map(json.loads, (out / "leaderboard.jsonl").read_text().splitlines()):
        holds(row, student(of_run(files, row["run"])))
        assert row["judged"] == pytest.approx(row["value"], abs=1e-9)


def by_board(files: dict[str, Any]) -> None:
    bundle, site = files["folder"] / "board.tar.gz", files["folder"] / "site"
    gold = ("--gold", files["people"], *CHOSEN)
    command("board", "bundle", files["gpt"], "-m", "crag_score", *gold, "-o", str(bundle))
    command("board", "publish", str(bundle), "-o", str(site))
    for row in map(json.loads, (site / "leaderboard.jsonl").read_text().splitlines()):
        holds(row, student(of_run(files, row["run"])))
        assert row["judged"] == pytest.approx(row["value"], abs=1e-9)


TAKERS = {"compare": by_compare, "report": by_report, "score": by_score, "label correct": by_correct,
          "gate": by_gate, "arena": by_arena, "track": by_track, "board bundle": by_board}  # fmt: skip


# `judge` bounds errors by labels, and corrects no value.
@pytest.mark.some(2)
@pytest.mark.parametrize("name", sorted(takers() - {"judge"}))
def test_labels_that_are_the_judges_change_nothing(name: str, files: dict[str, Any]) -> None:
    TAKERS[name](files)
