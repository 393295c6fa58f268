"""The page on which people label, as a file: what is in it, in which order, and what must not be."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from labeling import ANSWERS, NAMES, plan_of, write_plan, written
from rageval.cli import main
from rageval.files.plans import LabelPlan, read_plan
from rageval.pages.labels import _mask, _to_label, places_of
from snippets import ROOT

SAMPLES = ROOT / "examples/data/answers"


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


def test_neither_systems_nor_judges_nor_verdicts_are_in_the_page(tmp_path: Path) -> None:
    place = plan_of(tmp_path, 25)
    for kind in ("crag", "pairwise", "nugget-assignment"):
        place = plan_of(tmp_path, 25, kind)
        annotate(place, "-o", tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        for name in (
            *NAMES,
            "openai",
            "gpt-judge",
            "the judge's reason",
            "crag_score",
            str(tmp_path),
            "ask.jsonl",
        ):
            assert name.lower() not in page.lower(), (kind, name)
        assert "answer text of 7" in page  # what must be there


def test_what_is_sealed_says_nothing_by_its_length_and_opens_to_every_place_once(plan: LabelPlan) -> None:
    items = _to_label(plan, "a")
    assert len({len(ask["sealed"]) for ask in items["asks"]}) == 1
    assert len({ask["sealed"] for ask in items["asks"]}) == 50
    places = [opened(ask) for ask in items["asks"]]
    keys = ("query_id", "run_id", "item_id", "aspect")
    assert sorted(tuple(place[key] for key in keys) for place in places) == sorted(places_of(plan))
    for ask, place in zip(items["asks"], places, strict=True):
        text = items["contexts"][ask["context"]]["answer"]
        assert text == ANSWERS[place["query_id"], place["run_id"]]


def test_queries_come_in_the_order_of_the_plan_and_systems_first_equally_often(plan: LabelPlan) -> None:
    firsts = {}
    for name in "abcde":
        places = [opened(ask) for ask in _to_label(plan, name)["asks"]]
        assert tuple(place["query_id"] for place in places[::2]) == plan.order
        assert tuple(place["query_id"] for place in places[1::2]) == plan.order
        firsts[name] = tuple(place["run_id"] for place in places[::2])
        assert sorted(Counter(firsts[name]).values()) == [12, 13]
    assert len(set(firsts.values())) == 5  # an order of one's own
    assert _to_label(plan, "a") == _to_label(plan, "a")


def test_of_a_pair_each_is_a_equally_often_and_texts_go_with_their_systems(tmp_path: Path) -> None:
    items = _to_label(read_plan(str(plan_of(tmp_path, 24, "pairwise"))), "a")
    places = [opened(ask) for ask in items["asks"]]
    assert sorted(Counter(place["shown"][0] for place in places).values()) == [12, 12]
    for ask, place in zip(items["asks"], places, strict=True):
        context, (first, second) = items["contexts"][ask["context"]], place["shown"]
        assert context["answer_a"] == ANSWERS[place["query_id"], first]
        assert context["answer_b"] == ANSWERS[place["query_id"], second]
        assert place["aspect"] == f"{first} | {second}"


def test_nuggets_stay_together_with_the_answer_they_are_looked_for_in(tmp_path: Path) -> None:
    items = _to_label(read_plan(str(plan_of(tmp_path, 5, "nugget-assignment"))), "a")
    assert len(items["asks"]) == 5 * 2 * 3
    contexts = [ask["context"] for ask in items["asks"]]
    assert contexts == sorted(contexts)
    assert Counter(contexts) == dict.fromkeys(range(10), 3)
    assert {ask["text"] for ask in items["asks"]} == {"It rains.", "It snows.", "It blows."}
    assert {opened(ask)["importance"] for ask in items["asks"]} == {"vital", "okay"}
    assert "vital" not in json.dumps([items["contexts"], [ask["text"] for ask in items["asks"]]])


def test_labels_are_listed_best_first_whatever_their_names(plan: LabelPlan, tmp_path: Path) -> None:
    names = [label for label, _ in _to_label(plan, "a")["labels"]]
    assert names == ["perfect", "acceptable", "missing", "incorrect"]
    assert "missing: gives no answer" in _to_label(plan, "a")["instructions"].splitlines()[4]


def test_instructions_that_were_broken_for_their_length_are_shown_in_one_line(plan: LabelPlan) -> None:
    broken = msgspec.structs.replace(plan, instructions="It is so" + " so" * 30 + "\nlong.\nright: yes.")
    assert _to_label(broken, "a")["instructions"].endswith("so long.\nright: yes.")


@pytest.mark.slow
def test_two_thousand_items_make_a_page_of_reasonable_size(tmp_path: Path) -> None:
    annotate(plan_of(tmp_path, 1000), "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 1_500_000


def test_no_text_can_end_the_block_or_stand_for_another_part(tmp_path: Path) -> None:
    attack = "</script><script>hacked = 1</script>{{script}}{{policy}}<!--"
    place = write_plan(tmp_path, [("q1", run, run[0] + attack) for run in NAMES], question=attack)
    annotate(place, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script>") == 2
    assert page.count("default-src 'none'") == 1
    assert len(re.findall(r"\{\{(\w+)\}\}", page)) >= 4  # they stand in the texts, as text
    assert "connect-src" not in page


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


def test_labels_bear_the_names_that_the_rubric_has_for_people(tmp_path: Path) -> None:
    plan_of(tmp_path, 1, "nugget-assignment")
    judged = (tmp_path / "judged.jsonl").read_text().replace("nugget-assignment", "rubric")
    (tmp_path / "judged.jsonl").write_text(judged)
    words = ["--answers", "answers.jsonl", "--questions", "questions.jsonl", "--nuggets", "nuggets.jsonl"]
    written(tmp_path, "label", "plan", "judged.jsonl", *words, "-n", "1", "--overwrite", "-o", "ask.jsonl")
    items = _to_label(read_plan(str(tmp_path / "ask.jsonl")), "a")
    assert [items["names"][label] for label, _ in items["labels"]] == ["met", "partly", "not"]
