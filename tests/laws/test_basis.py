"""What a claim rests on is named the same by every command, whatever the measure and whoever judged."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from commands import write_jsonl
from rageval.cli import main
from rageval.measures import builtin
from rageval.measures.base import MEAN, NEITHER
from rageval.measures.parsing import parse_measure
from rageval.measures.scales import OUTCOME, POSITION, Scale
from rageval.scoring.answers import evaluate_answers
from rageval.subjects import ANSWERS, kind_of_measure
from rageval.testing._answer_cases import asked_for, judgements_on

pytestmark = pytest.mark.slow

Row = dict[str, Any]
SYSTEMS, QUERIES = ("good", "bad"), [f"q{number:02d}" for number in range(24)]
# Two scales of one aspect would contradict each other in one file.
SPELLED = {"pass_rate": "pass_rate(aspect=passed)"}
MEASURES = [
    parse_measure(SPELLED.get(name, name))
    for name, measure in builtin().items()
    if kind_of_measure(measure) is ANSWERS
]
BY_NAME = {str(measure): measure for measure in MEASURES}
MEANS = [name for name, measure in BY_NAME.items() if measure.aggregate == MEAN]
WORDS = {"length", "citations", "sentence_count", "lexical_recall", "token_f1"}  # written down once more
# Judge as it is named in a file -> basis of what it says, and what its claims say behind the verdict.
JUDGES = {
    "person:ann": ("people", ""),
    "majority:person:ann+person:bob": ("people", ""),
    "openai:m@3f2a": ("judge:openai:m", " by openai:m"),
    "contains": ("judge:contains", " by contains, not checked against people"),
    "": ("judge", " by an unnamed judge"),
}
# The same of those who labeled what `openai:m` judged.
LABELLERS = {
    "person:ann": ("people", ""),
    "annotator:ann": ("people", ""),
    "": ("people", ""),
    "anthropic:big@9bc1": ("judge:anthropic:big", " by anthropic:big, corrected from openai:m"),
    "contains": (
        "judge:contains",
        " by contains, corrected from openai:m, not checked against people",
    ),
}
DIRECTIONS = ("higher", "lower", "better", "worse")


def command(*words: object, codes: tuple[int, ...] = (0,)) -> str:
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exit_code in codes, (result.exception, result.stderr[-300:])
    return result.stdout


def verdict_of(scale: Scale, run: str) -> Row:
    """Return what the judge says of a system that is right, or of one that is wrong."""
    label, grade = scale.taken_for("best" if run == "good" else "worst")
    return {"label": label} if label is not None else {"grade": min(grade, 3.0)}


class Halves(random.Random):
    """Draws the middle always, so that every system is judged on everything."""

    def random(self) -> float:
        return 0.5


def rows() -> Iterator[Row]:
    rng = Halves()
    scales = dict.fromkeys(scale for measure in MEASURES for scale in asked_for(measure, rng))
    answers = list(texts())
    for scale, query in product(scales, QUERIES):
        if scale in (OUTCOME, POSITION):
            yield from side_by_side(scale, query)
            continue
        for row in judgements_on(scale, list(SYSTEMS), query, answers, rng):
            # Each query is a conversation of its own, as measures of conversations need one.
            same = {"query_id": query, "rubric": scale.rubrics[0], "domain": "ab"[int(query[1:]) % 2]}
            same |= {"conversation_id": query, "turn": 1}
            row = {name: value for name, value in row.items() if name != "status"}
            # Some worse ones are right all the same, so that intervals have a width.
            is_odd = row["run_id"] == "bad" and query.endswith("7")
            fixed = verdict_of(scale, "good" if is_odd else row["run_id"])
            row = {name: value for name, value in row.items() if name not in ("label", "grade")}
            yield {**same, **row, **fixed}


def side_by_side(scale: Scale, query: str) -> Iterator[Row]:
    order = SYSTEMS if not query.endswith("7") else SYSTEMS[::-1]
    for place, (run, label) in enumerate(zip(order, ("win", "loss"), strict=True), 1):
        what = {"label": label} if scale is OUTCOME else {"grade": place}
        same = {"query_id": query, "run_id": run, "rubric": scale.rubrics[0], "aspect": f"{scale.name} 1"}
        yield same | what | {"domain": "ab"[int(query[1:]) % 2]}


def texts() -> Iterator[Row]:
    for run, query in product(SYSTEMS, QUERIES):
        sentences = [{"text": "It is safe to drink.", "citations": ["d1"]}] * (3 if run == "good" else 1)
        yield {"query_id": query, "run_id": run, "references": ["d1", "d2"], "answer": sentences}


ROWS = list(rows())


@cache
def gated() -> list[str]:
    """Return the measures that a gate takes: with a better way, and a value for all questions."""
    scores = evaluate_answers(list(BY_NAME.values()), ROWS, answers=list(texts()), on_missing="worst")
    by_measure = zip(*(result.scores for result in scores.values()), strict=True)
    whole = [pair[0].measure for pair in by_measure if not any(score.undefined for score in pair)]
    return [str(measure) for measure in whole if measure.aggregate == MEAN and measure.better != NEITHER]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "answers.jsonl", texts())
    return tmp_path


def judged(folder: Path, judge: str) -> str:
    named = {"judge": judge} if judge else {}
    return write_jsonl(folder / f"{abs(hash(judge))}.jsonl", (row | named for row in ROWS))


def words_for(*files_: object, folder: Path, measures: list[str]) -> list[object]:
    return [*files_, "--answers", folder / "answers.jsonl", "-m", " ".join(measures)]


def expected(measure: str, basis: tuple[str, str]) -> tuple[str, str]:
    return ("words", "") if measure in WORDS else basis


def holds_of_pairs(pairs: list[Row], basis: tuple[str, str], source: str = "") -> None:
    assert {pair["measure"] for pair in pairs} == set(MEANS)
    claims = 0
    for pair in pairs:
        code, whose = expected(pair["measure"], basis)
        assert pair["basis"] == code, pair["measure"]
        assert pair["corrected_from"] == ("" if code == "words" else source)
        if code == "words":
            assert pair["ruling"] not in DIRECTIONS
            assert pair["better_run"] is None
        elif pair["ruling"] in DIRECTIONS:
            claims += 1
            assert pair["verdict"] == pair["ruling"] + whose
    assert claims > 20  # so that it is tried


@pytest.mark.some(5)
@pytest.mark.parametrize("judge", JUDGES)
def test_comparisons_and_reports(judge: str, files: Path) -> None:
    file = judged(files, judge)
    words = words_for(file, folder=files, measures=MEANS)
    output = json.loads(command("compare", *words, "--on-missing", "worst", "--format", "json"))
    holds_of_pairs(output["pairs"], JUDGES[judge])
    crowned = [value for value in output["values"] if value["measure"] in WORDS and value["is_best"]]
    assert not crowned
    page = files / "page.html"
    command("report", *words, "--on-missing", "worst", "-o", page)
    shown = json.loads(command("report", "show", page, "--format", "json"))
    holds_of_pairs(shown["comparison"]["pairs"], JUDGES[judge])


@pytest.mark.some(5)
@pytest.mark.parametrize("labeller", LABELLERS)
def test_comparisons_and_means_with_labels(labeller: str, files: Path) -> None:
    gold = judged(files, labeller)
    words = [*words_for(judged(files, "openai:m@3f2a"), folder=files, measures=MEANS), "--gold", gold]
    words += ["--on-missing", "worst"]
    output = json.loads(command("compare", *words, "--format", "json"))
    holds_of_pairs(output["pairs"], LABELLERS[labeller], "judge:openai:m")
    texts_ = json.dumps(output | {"remarks": []})
    assert LABELLERS[labeller][0] == "people" or "human labels" not in texts_
    corrected = [name for name in MEANS if name not in WORDS]
    words[words.index(" ".join(MEANS))] = " ".join(corrected)
    means = json.loads(command("label", "correct", *words, "--format", "json"))["results"]
    assert {(mean["basis"], mean["corrected_from"]) for mean in means} == {
        (LABELLERS[labeller][0], "judge:openai:m")
    }
    assert {mean["measure"] for mean in means} == set(corrected)


@pytest.mark.some(3)
@pytest.mark.parametrize("judge", JUDGES)
def test_scores_and_slices(judge: str, files: Path) -> None:
    words = words_for(judged(files, judge), folder=files, measures=list(BY_NAME))
    words += ["--on-missing", "worst", "--by", "domain", "--format", "json"]
    output = json.loads(command("score", *words))["results"]
    assert {result["measure"] for result in output} == set(BY_NAME)
    for result in output:
        basis = expected(result["measure"], JUDGES[judge])[0]
        assert result["basis"] == basis
        assert {part["basis"] for part in result["slices"]} == {basis}


@pytest.mark.some(5)
@pytest.mark.parametrize("labeller", LABELLERS)
def test_slices_with_labels(labeller: str, files: Path) -> None:
    words = words_for(judged(files, "openai:m@3f2a"), folder=files, measures=list(BY_NAME))
    words += ["--on-missing", "worst", "--by", "domain", "--format", "json"]
    words += ["--gold", judged(files, labeller)]
    for result in json.loads(command("score", *words))["results"]:
        is_mean = BY_NAME[result["measure"]].aggregate == MEAN
        basis = LABELLERS[labeller][0] if is_mean else "judge:openai:m"
        basis = expected(result["measure"], (basis, ""))[0]
        assert {part["basis"] for part in result["slices"]} == {basis}, result["measure"]


@pytest.mark.some(6)
@pytest.mark.parametrize("labeller", [None, *LABELLERS])
def test_gates_have_the_basis_of_their_scores(labeller: str | None, files: Path) -> None:
    basis = JUDGES["openai:m@3f2a"] if labeller is None else LABELLERS[labeller]
    for run, more in (("bad", ("--save-baseline",)), ("good", ("--margin", "0.05", "--json"))):
        kept = judged(files, "openai:m@3f2a")
        words = words_for(kept, folder=files, measures=gated())
        if labeller is not None:
            words += ["--gold", judged(files, labeller)]
        out = files / f"{run}.out"
        words += ["--system", run, *(["--baseline", files / "bad.out"] if run == "good" else [])]
        command("gate", *words, *more, out, codes=(0, 1, 5))
    assert len(gated()) > 40
    decisions = json.loads((files / "good.out").read_text())["decisions"]
    assert {decision["measure"] for decision in decisions} == set(gated())
    for decision in decisions:
        assert decision["basis"] == expected(decision["measure"], basis)[0], decision["measure"]


@pytest.mark.nightly
def test_strengths_have_the_basis_of_their_games(files: Path) -> None:
    games = [row for row in ROWS if row["rubric"] == OUTCOME.rubrics[0]]

    def strengths(judge: str, *more: object) -> set[str]:
        file = write_jsonl(files / f"games{judge[:1]}.jsonl", (row | {"judge": judge} for row in games))
        return {row["basis"] for row in json.loads(command("arena", file, *more, "--format", "json"))}

    for judge, (basis, _) in JUDGES.items():
        assert strengths(judge) == {basis}
    for labeller, (basis, _) in LABELLERS.items():
        gold = write_jsonl(files / "gold.jsonl", (row | {"judge": labeller} for row in games))
        assert strengths("openai:m@3f2a", "--gold", gold) == {basis}


def test_labels_that_correct_nothing_are_refused(files: Path) -> None:
    """By each command that takes them, where all measures are of words, or are no means."""
    gold, file = judged(files, "person:ann"), judged(files, "openai:m")
    pooled = [name for name, measure in BY_NAME.items() if measure.aggregate != MEAN]
    save = files / "baseline"
    for measures in (sorted(WORDS), pooled, ["length"]):
        words = [*words_for(file, folder=files, measures=measures), "--gold", gold, "--on-missing", "worst"]
        page = files / "page.html"
        for more in (["compare"], ["label", "correct"], ["score", "--by", "domain"], ["report", "-o", page]):
            command(*more, *words, codes=(2,))
        words.remove("--on-missing")
        words.remove("worst")
        command("gate", *words, "--system", "good", "--save-baseline", save, codes=(2,))
        assert not page.exists()
        assert not save.exists()
