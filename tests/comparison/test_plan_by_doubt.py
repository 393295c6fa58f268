"""Plans that draw more of what the judge is unsure of: with the chances they say, and right means."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run_command
from rageval.comparison.plans import _weighted_order
from rageval.files.plans import read_plan
from rageval.scoring.gold import chances_of, drawn
from rageval.statistics.samples import in_proportion

SIZES = st.lists(st.floats(0.01, 100), min_size=1, max_size=40)


@given(SIZES, st.data())
def test_chances_in_proportion(sizes: list[float], data: st.DataObject) -> None:
    number = data.draw(st.integers(1, len(sizes)))
    chances = in_proportion(sizes, number)
    assert sum(chances) == pytest.approx(number, rel=1e-9)
    assert all(0 < chance <= 1 for chance in chances)
    free = [(size, chance) for size, chance in zip(sizes, chances, strict=True) if chance < 1]
    for size, chance in free:
        assert chance / size == pytest.approx(free[0][1] / free[0][0], rel=1e-9)
    # Whoever is drawn for certain is no smaller than who is not.
    certain = [size for size, chance in zip(sizes, chances, strict=True) if chance == 1]
    assert not certain or not free or min(certain) >= max(size for size, _ in free) * (1 - 1e-9)


def test_the_order_depends_on_the_seed_alone() -> None:
    sizes = {f"q{index}": 0.1 + index / 50 for index in range(50)}
    assert _weighted_order(sizes, random.Random(4)) == _weighted_order(dict(sizes), random.Random(4))
    assert _weighted_order(sizes, random.Random(4)) != _weighted_order(sizes, random.Random(5))


NUMBER = 400


def chance_of(index: int, system: str) -> float:
    """Sure of four queries of five."""
    return 0.55 if index % 5 == 0 else 0.99 if (index + (system == "a")) % 3 else 0.01


def is_right(index: int, system: str) -> bool:
    """Whether people call it right: as the judge where it is sure, and half of the rest."""
    return index % 10 != 0 if index % 5 == 0 else chance_of(index, system) > 0.5


def line(query: str, system: str, right: bool, **more: object) -> str:
    row = {"query_id": query, "run_id": system, "label": "perfect" if right else "incorrect"}
    return json.dumps({**row, "rubric": "crag", **more}) + "\n"


def files(folder: Path) -> Path:
    """Judgements of two systems."""
    path = folder / "judged.jsonl"
    places = [(index, system, chance_of(index, system)) for index in range(NUMBER) for system in ("a", "b")]
    path.write_text(
        "".join(line(f"q{index:03}", system, p > 0.5, p=p, judge="short@1234") for index, system, p in places)
    )
    return path


def plan(folder: Path, *words: object) -> Path:
    path = folder / "ask.jsonl"
    result = run_command(
        "label", "plan", files(folder), "--by", "doubt", "-n", 100, "-o", path, "--overwrite", *words
    )
    assert result.exit_code == 0, result.output
    return path


def labels(folder: Path, path: Path, number: int) -> Path:
    """Labels of the first queries of a plan."""
    plan = read_plan(str(path))
    asks = [(item.query_id, ask.run_id) for item in plan.asked[:number] for ask in item.asks]
    more = {"judge": "person:kim", "plan": plan.sha}
    gold = folder / "labels.jsonl"
    gold.write_text(
        "".join(line(query, system, is_right(int(query[1:]), system), **more) for query, system in asks)
    )
    return gold


def test_the_plan_asks_more_where_it_is_unsure_and_says_so(tmp_path: Path) -> None:
    drawn_plan = read_plan(str(plan(tmp_path)))
    unsure = sum(int(query[1:]) % 5 == 0 for query in drawn_plan.order)
    assert unsure > 40  # of 80 in 400; a uniform draw would have 20 of 100
    assert len(drawn_plan.sizes) == NUMBER
    draw = drawn(str(tmp_path / "ask.jsonl"))
    for number in (30, 100):
        chances = chances_of(replace(draw, labeled=number), drawn_plan.sizes, drawn_plan.order[:number])
        assert chances is not None
        assert sum(chances) == pytest.approx(number)


@pytest.mark.slow
@pytest.mark.some(5)
@pytest.mark.parametrize("number", [40, 100])
@pytest.mark.parametrize("seed", range(5))
def test_labels_by_doubt_correct_the_judge(tmp_path: Path, number: int, seed: int) -> None:
    path = plan(tmp_path, "--seed", seed)
    gold = labels(tmp_path, path, number)
    words = ("--gold", gold, "--gold-chosen", path, "-m", "crag_score", "--format", "json", "--level", 0.99)
    result = run_command("compare", tmp_path / "judged.jsonl", *words)
    assert result.exit_code == 0, result.output
    (pair,) = json.loads(result.stdout)["pairs"]
    means = [sum(is_right(index, pair[which]) for index in range(NUMBER)) for which in ("run", "other")]
    truth = 2 * (means[0] - means[1]) / NUMBER
    assert pair["low"] <= truth <= pair["high"]
    # The beginning of a plan has the wider interval of a look.
    assert pair["low"] < pair["high"] < pair["low"] + (1 if number == 100 else 3)
    assert (pair["labels"], pair["basis"]) == (number, "people")


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    judged = files(tmp_path)
    plain = tmp_path / "plain.jsonl"
    rows = [json.loads(line) for line in judged.read_text().splitlines()]
    plain.write_text("".join(json.dumps({k: v for k, v in row.items() if k != "p"}) + "\n" for row in rows))
    result = run_command("label", "plan", plain, "--by", "doubt", "-n", 50, "-o", tmp_path / "x.jsonl")
    assert result.exit_code == 2
    assert "the judgements have no probabilities" in result.stderr
    claim = ("--decide", "a>b", "-m", "crag_score")
    result = run_command(
        "label", "plan", judged, "--by", "doubt", "-n", 100, *claim, "-o", tmp_path / "x.jsonl"
    )
    assert result.exit_code == 2
    assert "are not supported" in result.stderr


@pytest.mark.parametrize("chance", [-0.1, 1.5, "high"])
def test_a_chance_is_one(tmp_path: Path, chance: object) -> None:
    path = tmp_path / "judged.jsonl"
    row = {"query_id": "q", "run_id": "a", "label": "perfect", "rubric": "crag", "p": chance}
    path.write_text(json.dumps(row) + "\n")
    result = run_command(path, "-m", "crag_score")
    assert result.exit_code == 2
    assert f"{path}:1" in result.stderr


def test_what_is_left_to_people_comes_first(tmp_path: Path) -> None:
    path = files(tmp_path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    left = {f"q{index:03}" for index in range(0, 60, 2)}
    for row in rows:
        if row["query_id"] in left and row["run_id"] == "a":
            del row["label"]
            row["status"] = "error"
    judged = tmp_path / "kept.jsonl"
    judged.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "plan.jsonl"
    result = run_command("label", "plan", judged, "--by", "doubt", "-n", 40, "-o", out)
    assert result.exit_code == 0, result.output
    assert "are left out" not in result.stderr
    assert set(read_plan(str(out)).order[:30]) == left
    # An answer that failed has no chance, and is left to nobody.
    del rows[1]["label"], rows[1]["p"]
    rows[1]["status"] = "error"
    judged.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run_command("label", "plan", judged, "--by", "doubt", "-n", 40, "-o", out, "--overwrite")
    assert "1 queries lack a system or a verdict, and are left out" in result.stderr
