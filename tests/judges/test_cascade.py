"""A judge and who comes after it: which answers go on, who decides, and what is refused."""

from __future__ import annotations

import json
import pickle
import random
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rageval
from rageval.cli import main
from rageval.core.basis import Basis
from rageval.core.judge import parse_judge
from rageval.errors import InputError, UsageError
from rageval.judges import Settings, short
from rageval.judges.cascade import number_in
from rageval.scoring.gold import refuse_same
from rageval.views.bases import attribution

pytestmark = pytest.mark.filterwarnings("ignore:short. was wrong on")
KINDS = ("It is {}.", "{}", "It may be {}x.", "It is something else.", "Never {0} but other", "I don't know.")


def world(number: int = 200, systems: tuple[str, ...] = ("ours",), seed: int = 1) -> tuple[list, list, list]:
    """Questions, answers, and labels by a person who calls right what holds the gold answer."""
    draw = random.Random(seed)
    asked, answers, labels = [], [], []
    for index in range(number):
        gold = f"name{index} word{index % 9}"
        asked.append({"query_id": f"q{index}", "question": "What is the name of it?", "answer": [gold]})
        for run in systems:
            text = draw.choice(KINDS).format(draw.choice([gold, gold.split()[0], gold.split()[1]]))
            place = {"query_id": f"q{index}", "run_id": run}
            answers.append({**place, "answer": text})
            label = "perfect" if gold in text else "incorrect"
            labels.append({**place, "label": label, "judge": "person:kim", "rubric": "crag"})
    return asked, answers, labels


def judged(asked: list, answers: list, **options: Any) -> list[dict[str, Any]]:
    return list(rageval.judge("crag", answers, "short", questions=asked, **options))


@pytest.mark.some(3)
@pytest.mark.parametrize("share", [0.05, 0.1, 0.333])
def test_the_least_sure_share_goes_on(share: float) -> None:
    asked, answers, _ = world()
    first = judged(asked, answers)
    rows = judged(asked, answers, then="contains", ask=share)
    number = -(-share * len(answers) // 1)
    went_on = [index for index, row in enumerate(rows) if row["decided_by"] == "contains"]
    assert len(went_on) == number == rows[0]["handed_on"]["to_next"]
    doubts = [min(row["p"], 1 - row["p"]) for row in first]
    stayed = [index for index in range(len(rows)) if index not in went_on]
    assert min(doubts[index] for index in went_on) >= max(doubts[index] for index in stayed)
    alone = {row["query_id"]: row for row in rageval.judge("crag", answers, "contains", questions=asked)}
    for index, row in enumerate(rows):
        assert row["label"] == (alone[row["query_id"]] if index in went_on else first[index])["label"]
        assert ("p" in row) == (index not in went_on)  # the chance is the first judge's
        assert row["judge"] == f"{short.packed().name},{100 * share:.3g}%:contains"
    assert [row["query_id"] for row in rows] == [row["query_id"] for row in first]


def test_what_the_next_judge_fails_at_is_missing_and_no_grade() -> None:
    asked, answers, _ = world(20)
    why = {"status": "error", "judge": "person:ann", "rubric": "crag", "detail": "lost"}
    failed = [{"query_id": f"q{number}", "run_id": "ours", **why} for number in range(20)]
    with pytest.warns(UserWarning, match="no digests of what was judged"):
        rows = judged(asked, answers, then=_frozen(failed), ask=0.5)
    lost = [row for row in rows if row["status"] == "error"]
    assert len(lost) == 10
    assert not any({"label", "grade", "p"} & row.keys() for row in lost)


@pytest.mark.filterwarnings("ignore")
def test_what_a_file_does_not_say_is_missing_and_not_the_unsure_verdict() -> None:
    asked, answers, labels = world(20)
    whole = judged(asked, answers, then=_frozen(labels), ask=0.5)
    decided = [row["query_id"] for row in whole if row["decided_by"] == "person:kim"]
    some = [row for row in labels if row["query_id"] not in decided[:4]]
    rows = judged(asked, answers, then=_frozen(some), ask=0.5)
    lost = [row for row in rows if row["status"] == "error"]
    assert [row["query_id"] for row in lost] == decided[:4]
    assert not any({"label", "grade"} & row.keys() for row in lost)
    assert [row["label"] for row in rows if row not in lost] == [
        row["label"] for row in whole if row["query_id"] not in decided[:4]
    ]


_FILES: list[Path] = []


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> None:
    _FILES[:] = [tmp_path]


def _frozen(rows: list[dict[str, Any]]) -> str:
    path = _FILES[0] / "frozen.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"frozen:{path}"


def test_people_decide_what_is_left() -> None:
    asked, answers, labels = world()
    some = random.Random(2).sample(labels, 150)
    left = judged(asked, answers, keep_error=0.05, gold=some)
    lost = [row for row in left if row["status"] == "error"]
    assert lost
    assert all("left to people" in row["detail"] for row in lost)
    assert not any({"label", "grade"} & row.keys() for row in lost)
    with pytest.warns(UserWarning, match="no digests of what was judged"):
        rows = judged(asked, answers, keep_error=0.05, gold=some, then=_frozen(labels))
    by_people = [row for row in rows if row["decided_by"] == "person:kim"]
    assert [row["query_id"] for row in by_people] == [row["query_id"] for row in lost]
    assert {row["judge"] for row in rows} == {f"{short.packed().name},rest[people]:person:kim"}


def test_what_is_kept_errs_no_more_than_is_said() -> None:
    asked, answers, labels = world(600)
    truth = {row["query_id"]: row["label"] == "perfect" for row in labels}
    rows = judged(asked, answers, keep_error=0.1, gold=random.Random(1).sample(labels, 300))
    kept = [row for row in rows if row["status"] == "ok"]
    wrong = sum((row["label"] == "perfect") != truth[row["query_id"]] for row in kept)
    assert wrong <= 0.1 * len(kept)
    assert rows[0]["handed_on"]["of"] - rows[0]["handed_on"]["to_next"] == len(kept)


def test_one_label_of_each_question_counts() -> None:
    """Errors on answers to one question go together, and would be taken for so many independent ones."""
    asked, answers, labels = world(150, ("a", "b", "c", "d"))
    rows = judged(asked, answers, keep_error=0.2, gold=labels)
    assert rows[0]["handed_on"]["labels"] <= 150


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"then": "contains"}, "what goes to it"),
        ({"then": "contains", "ask": 0.1, "keep_error": 0.1, "gold": [{}]}, "what goes to it"),
        ({"ask": 0.1}, "ask= needs then="),
        ({"ask": 1.5, "then": "contains"}, "a share above 0"),
        ({"keep_error": 0.6, "gold": [{}]}, "above 0 and below"),
        ({"keep_error": 0.05}, "need each other"),
        ({"gold": [{}]}, "need each other"),
        ({"then": "contains", "ask": 0.1, "vote": "majority"}, "votes or shards"),
        ({"then": "contains", "ask": 0.1, "shard": "1/2"}, "votes or shards"),
        ({"requests_out": "o", "batch": True}, "requests_out= and replies_in= ask nobody"),
        ({"then": "contains", "ask": 0.1, "requests_out": "o"}, "cannot be combined with requests_out="),
        ({"engine": "{ray}"}, "^engine= '{ray}': expected ray, or ray://HOST:PORT$"),
        ({"engine": "ray", "batch": True}, "engine= cannot be combined with batch="),
        ({"engine_class": "a:B"}, "engine_class= needs engine="),
        ({"engine": "ray", "engine_class": "a"}, "engine_class= 'a': expected module:Class"),
        ({"made_by": "vllm"}, "made_by= describes"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(options: dict[str, Any], what: str) -> None:
    """By the names that Python has for them, and on the command line by those there."""
    with pytest.raises(UsageError, match=what) as refused:
        Settings(**options)
    assert "--" not in str(refused.value)
    assert "= " not in refused.value.command_text()
    assert re.search("--[a-z]+", refused.value.command_text())
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


def test_a_judge_without_chances_and_several_judges_are_refused() -> None:
    asked, answers, _ = world(5)
    with pytest.raises(UsageError, match="only `short` gives"):
        rageval.judge("crag", answers, "contains", questions=asked, then="exact", ask=0.5)
    with pytest.raises(UsageError, match="take one judge, found 2"):
        rageval.judge("crag", answers, ["short", "exact"], questions=asked, then="contains", ask=0.5)


def test_labels_that_are_none_are_refused() -> None:
    asked, answers, labels = world()
    others = [{**row, "query_id": "other"} for row in labels]
    with pytest.raises(InputError, match="has no labels for the"):
        judged(asked, answers, keep_error=0.05, gold=others[:1])
    own = [{**row, "judge": "short@12345678"} for row in labels]
    with pytest.raises(UsageError, match="the judge itself"):
        judged(asked, answers, keep_error=0.05, gold=own)
    doubtful = sorted(judged(asked, answers), key=lambda row: -min(row["p"], 1 - row["p"]))[:80]
    chosen = {row["query_id"] for row in doubtful}
    with pytest.raises(UsageError, match="not a random sample"):
        judged(asked, answers, keep_error=0.05, gold=[row for row in labels if row["query_id"] in chosen])


def test_the_judge_itself_comes_not_after_itself() -> None:
    asked, answers, _ = world(5)
    with pytest.raises(UsageError, match="a different judge from the first"):
        judged(asked, answers, then="short", ask=0.5)


@pytest.mark.filterwarnings("ignore")
def test_labels_of_the_fit_show_no_errors() -> None:
    asked, answers, labels = world()
    with pytest.raises(UsageError, match="50 answers have a label in both"):
        judged(asked, answers, keep_error=0.2, gold=labels[50:], fit=labels[:100])
    assert judged(asked, answers, keep_error=0.2, gold=labels[100:], fit=labels[:100])


def command(folder: Path, *words: str) -> Result:
    asked, answers, labels = world()
    for name, rows in (("q", asked), ("a", answers), ("l", random.Random(2).sample(labels, 150))):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = [str(folder / "a.jsonl"), "--questions", str(folder / "q.jsonl"), "--judge", "short", "--quiet"]
    return CliRunner().invoke(main, ["judge", "crag", *files, *words])


def test_the_command_says_what_became_of_it(tmp_path: Path) -> None:
    result = command(tmp_path, "--then", "contains", "--ask", "0.1", "-o", str(tmp_path / "j.jsonl"))
    assert result.exit_code == 0, result.output
    assert "180 of 200 verdicts are kept; contains decided 20" in result.stderr
    result = command(tmp_path, "--keep-error", "0.3", "--gold", str(tmp_path / "l.jsonl"))
    assert result.exit_code == 3
    assert "are left to people" in result.stderr
    assert "at most 30 % of them are wrong, at 95 %" in result.stderr
    result = command(tmp_path, "--then", "openai:gpt-5.4-mini", "--ask", "0.1", "--dry-run")
    assert "then openai:gpt-5.4-mini: 20 of these calls" in result.stdout


def test_a_claim_says_who_decided_how_much(tmp_path: Path) -> None:
    asked, answers, _ = world(60, ("a", "b"))
    rows = judged(asked, answers, then="contains", ask=0.1)
    path = tmp_path / "j.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = CliRunner().invoke(main, ["compare", str(path), "-m", "crag_score", "--format", "table"])
    assert "by short, 10 % by contains, not checked against people" in result.output


@pytest.mark.parametrize(
    ("judge", "text"),
    [
        (
            "short@12345678,10%:openai:m@12345678",
            "by short, 10 % by openai:m, not checked against people",
        ),
        ("short,2%:person:ann", "by short, 2 % by person:ann, not checked against people"),
        ("short@12345678,rest:contains", "by short, the rest by contains, not checked against people"),
        ("short,rest[people]:majority:a+b", "by short, the rest by majority:a+b"),
        ("short,rest[contains]:openai:m", "by short, the rest by openai:m, not checked against people"),
        ("short,rest[openai:n]:openai:m", "by short, the rest by openai:m, not checked against people"),
        # An earlier version did not write whose labels they were.
        ("short,rest:openai:m", "by short, the rest by openai:m, not checked against people"),
    ],
)
def test_names_in_words(judge: str, text: str) -> None:
    assert attribution(Basis.of([judge])) == text
    assert not parse_judge(judge).is_person


def test_who_decided_a_part_is_no_gold_of_it() -> None:
    voices = parse_judge("short,10%:majority:a+b,tiebreak:c").voices
    assert [voice.name for voice in voices] == ["short", "a", "b", "c"]
    for judge, people in (
        ("short,10%:openai:m@1234", "openai:m"),
        ("majority:a@1234+b", "b"),
        ("a", "majority:a+c"),
    ):
        with pytest.raises(UsageError, match="the judge itself"):
            refuse_same([judge], [people], "gold")


def test_a_share_is_the_decimal_that_is_written() -> None:
    """Of the float, 0.07 of 400 is 28.000000000000004, and its ceiling 29."""
    for hundredths in range(101):
        for total in (1, 100, 400, 1000):
            assert number_in(hundredths / 100, total) == -(-hundredths * total // 100)


@pytest.mark.parametrize("reader", ["fit", "keep_error"])
def test_labels_of_what_the_judge_is_certain_of_are_refused_by_all(reader: str) -> None:
    asked, answers, labels = world()
    rows = judged(asked, answers)
    certain = sorted(rows, key=lambda row: -abs(row["p"] - 0.5))[:60]
    places = {(row["query_id"], row["run_id"]) for row in certain}
    chosen = [row for row in labels if (row["query_id"], row["run_id"]) in places]
    how: dict[str, Any] = {"fit": chosen} if reader == "fit" else {"gold": chosen, "keep_error": 0.2}
    with pytest.raises(UsageError, match="more or less certain of the labeled answers"):
        judged(asked, answers, **how)
