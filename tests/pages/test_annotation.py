"""The page on which people label, as a file: what is in it, in which order, and what must not be."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from labeling import ANSWERS, plan_of, written
from rageval.cli import main
from rageval.files.plans import LabelPlan, read_plan
from rageval.pages.labels import _mask, _to_label


def annotate(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["label", "page", *map(str, words)], prog_name="rageval")
    assert result.exit_code == code, result.output
    return result


def opened(ask: dict[str, Any]) -> dict[str, Any]:
    from base64 import b64decode

    place: dict[str, Any] = json.loads(_mask(b64decode(ask["sealed"]), ask["salt"]))
    return place


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> LabelPlan:
    """50 answers of two systems to 25 questions."""
    return read_plan(str(plan_of(tmp_path_factory.mktemp("plan"), 25)))


def test_of_a_pair_each_is_a_equally_often_and_texts_go_with_their_systems(tmp_path: Path) -> None:
    items = _to_label(read_plan(str(plan_of(tmp_path, 24, "pairwise"))), "a")
    places = [opened(ask) for ask in items["asks"]]
    assert sorted(Counter(place["shown"][0] for place in places).values()) == [12, 12]
    for ask, place in zip(items["asks"], places, strict=True):
        context, (first, second) = items["contexts"][ask["context"]], place["shown"]
        assert context["answer_a"] == ANSWERS[place["query_id"], first]
        assert context["answer_b"] == ANSWERS[place["query_id"], second]
        assert place["aspect"] == f"{first} | {second}"


@pytest.mark.slow
def test_two_thousand_items_make_a_page_of_reasonable_size(tmp_path: Path) -> None:
    annotate(plan_of(tmp_path, 1000), "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 1_500_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ask.jsonl"], "expected -o FILE.html"),
        (["ask.jsonl", "-o", "a.html", "--serve", "b.jsonl"], "expected -o FILE.html"),
        (["ask.jsonl", "-o", "ask.jsonl"], "is also an input"),
        (["ask.jsonl", "-o", "a.html", "--annotator", ""], "expected a name of 1 to 60 letters"),
        (["ask.jsonl", "-o", "a.html", "--annotator", "a\nb"], "expected a name of 1 to 60 letters"),
        (["ask.jsonl", "-o", "a.html", "--annotator", "a" * 61], "expected a name of 1 to 60 letters"),
        (["judged.jsonl", "-o", "a.html"], "expected a labeling plan"),
        (["bare.jsonl", "-o", "a.html"], "the plan has no texts to label"),
        (["none.jsonl", "-o", "a.html"], "none.jsonl"),
    ],
)
def test_what_cannot_be_labeled_says_why(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_of(tmp_path, 2)
    written(tmp_path, "label", "plan", "judged.jsonl", "-n", "1", "-o", "bare.jsonl")
    monkeypatch.chdir(tmp_path)
    result = annotate(*words, code=2)
    assert message in result.stderr
    assert not (tmp_path / "a.html").exists()
