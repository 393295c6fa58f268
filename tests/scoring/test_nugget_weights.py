"""Importance and weights come from judgements or nuggets; a measure that needs them is refused without."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rageval
from commands import run_command
from rageval.cli import main
from rageval.datasets import dataset
from rageval.datasets.dataset import Dataset
from rageval.errors import MissingJudgements, UsageError
from rageval.files.nuggets import read_nuggets, write_nuggets
from rageval.measures import measures_taking
from rageval.records import Nugget

SUPPORT, NOT = "support", "not_support"
QUERIES = tuple(f"q{number}" for number in range(1, 23))  # people must label 20
RUBRICS = [
    {
        "qid": query,
        "rubrics": [{"criterion": "says it", "weight": 3}, {"criterion": "invents", "weight": -2}],
    }
    for query in QUERIES
]
NUGGETS = [
    {
        "qid": query,
        "nuggets": [{"text": "a", "importance": "vital"}, {"text": "b", "importance": "okay"}],
    }
    for query in QUERIES
]
NEEDS_IMPORTANCE = ("v_strict", "v", "w", "nugget_recall(importance=okay)", "nugget_f")
WAY_OUT = "--nuggets FILE"


def judged(**more: Any) -> list[dict[str, Any]]:
    """`good` says it and invents nothing; `bad` only invents."""
    labels_by_system = {"good": (SUPPORT, NOT), "bad": (NOT, SUPPORT)}
    return [
        {"query_id": query, "run_id": run, "aspect": str(index), "label": label, "rubric": "rubric", **more}
        for query in QUERIES
        for run, labels in labels_by_system.items()
        for index, label in enumerate(labels)
    ]


def lines(path: Path, records: list[Any]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def people(path: str, place: Path) -> str:
    """The same labels, as people give them."""
    records = map(json.loads, Path(path).read_text(encoding="utf-8").splitlines())
    return lines(place / "people.jsonl", [record | {"judge": "person:kim"} for record in records])


def refused(result: Result, *expected: str) -> None:
    assert result.exit_code == 2, result.output
    for text in expected:
        assert text in result.stderr


@pytest.fixture(name="files")
def _files(tmp_path: Path) -> Callable[[str], str]:
    named = {"judged": judged(), "rubrics": RUBRICS, "nuggets": NUGGETS}
    return lambda name: lines(tmp_path / f"{name}.jsonl", named[name])


COMMANDS: dict[str, Callable[[str, Path], list[str]]] = {
    "score": lambda path, _: ["score", path],
    "compare": lambda path, _: ["compare", path],
    "report": lambda path, place: ["report", path, "-o", str(place / "page.html")],
    "label correct": lambda path, place: ["label", "correct", path, "--gold", people(path, place)],
    "label agree": lambda path, _: ["label", "agree", path, path],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("measure", ["rubric_score", "v_strict"])
def test_without_weights_there_is_no_score_and_with_the_nuggets_there_is(
    command: str, measure: str, files: Callable[[str], str], tmp_path: Path
) -> None:
    words = [*COMMANDS[command](files("judged"), tmp_path), "-m", measure]
    refused(run_command(*words), measure if measure == "rubric_score" else "nugget_recall", WAY_OUT)
    file = files("rubrics" if measure == "rubric_score" else "nuggets")
    result = run_command(*words, "--nuggets", file)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("measure", NEEDS_IMPORTANCE)
def test_every_measure_that_needs_importance_is_refused_without(measure: str) -> None:
    with pytest.raises(UsageError, match=WAY_OUT):
        rageval.evaluate_answers(measure, judged())


def test_so_is_one_of_what_no_model_judged() -> None:
    rows = [{"query_id": "q", "run_id": "r", "aspect": "n", "grade": 0.5, "rubric": "lexical"}]
    with pytest.raises(UsageError, match=WAY_OUT):
        rageval.evaluate_answers("lexical_recall(importance=vital)", rows)
    nuggets_of_bank = [Nugget("q", "n", "a", "vital")]
    scores = rageval.evaluate_answers("lexical_recall(importance=vital)", rows, nuggets=nuggets_of_bank)
    assert scores["r"].scores[0].value == 0.5


def test_one_criterion_without_a_weight_is_enough_to_refuse(files: Callable[[str], str]) -> None:
    rows = judged(weight=1.0)
    del rows[-1]["weight"]
    with pytest.raises(UsageError, match=r"judgements:88: rubric_score .*'1'"):
        rageval.evaluate_answers("rubric_score", rows)


def test_a_file_and_judgements_that_say_the_same_score_the_same(files: Callable[[str], str]) -> None:
    """Joining is the same as writing importance and weight into every judgement."""
    weight = {"0": 3, "1": -2}
    own = [row | {"weight": weight[row["aspect"]]} for row in judged()]
    joined = rageval.evaluate_answers("rubric_score", judged(), nuggets=files("rubrics"))
    for name, scores in rageval.evaluate_answers("rubric_score", own).items():
        assert scores["rubric_score"].by_query == joined[name]["rubric_score"].by_query
    both = rageval.evaluate_answers("rubric_score", own, nuggets=files("rubrics"))
    assert both["bad"]["rubric_score"].value == joined["bad"]["rubric_score"].value


def test_nuggets_may_be_records(files: Callable[[str], str]) -> None:
    nuggets = [
        Nugget(query, str(index), "…", weight=w) for query in QUERIES for index, w in ((0, 3), (1, -2))
    ]
    scores = rageval.evaluate_answers("rubric_score", judged(), nuggets=nuggets)
    assert scores["good"]["rubric_score"].value == 1.0


@pytest.mark.parametrize(
    ("own", "file", "words"),
    [
        ({"importance": "okay"}, "nuggets", ("is okay here", "vital in")),
        ({"weight": 1.0}, "rubrics", ("of weight 1 here", "of weight 3 in")),
    ],
)
def test_a_conflict_names_both(
    own: dict[str, Any], file: str, words: tuple[str, str], files: Callable[[str], str], tmp_path: Path
) -> None:
    path = lines(tmp_path / "own.jsonl", judged(**own))
    result = run_command(path, "-m", "a_strict", "--nuggets", files(file))
    refused(result, f"{path}:", f"{file}.jsonl", "nugget '0' of query 'q1'", *words)


def test_what_only_one_side_knows_is_said(files: Callable[[str], str], tmp_path: Path) -> None:
    extra = [
        record | {"nuggets": [*record["nuggets"], {"text": "c", "importance": "vital"}]} for record in NUGGETS
    ]
    strange = [
        *judged(),
        {"query_id": "q1", "run_id": "good", "aspect": "x9", "label": SUPPORT, "rubric": "rubric"},
    ]
    path = lines(tmp_path / "judged.jsonl", strange)
    nuggets = lines(tmp_path / "more.jsonl", extra)
    result = run_command(path, "-m", "v_strict", "--nuggets", nuggets, "--on-missing", "skip")
    assert result.exit_code == 0, result.stderr
    assert "1 judged nuggets are not in" in result.stderr
    assert "'x9' of query 'q1'" in result.stderr
    assert "2 nuggets of" in result.stderr
    assert "'2' of query 'q1'" in result.stderr
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rageval.evaluate_answers("v_strict", path, nuggets=nuggets, on_missing="skip")
    assert ["x9" in str(warning.message) for warning in caught] == [True, False]


def test_of_the_first_nugget_that_was_not_judged_sixty_characters_are_named() -> None:
    rows = [{"query_id": "q", "run_id": "r", "aspect": "1", "label": SUPPORT, "rubric": "rubric"}]
    nuggets = [Nugget("q", name, "…", "vital") for name in ("1", "x" * 61)]
    with pytest.warns(UserWarning, match=f"not judged, the first '{'x' * 60}' of query 'q';"):
        rageval.evaluate_answers("v_strict", rows, nuggets=nuggets)


def test_nuggets_of_other_queries_are_refused(files: Callable[[str], str], tmp_path: Path) -> None:
    other = lines(tmp_path / "other.jsonl", [NUGGETS[0] | {"qid": "q99"}])
    refused(
        run_command(files("judged"), "-m", "a_strict", "--nuggets", other),
        "none of its nuggets was judged",
        "q99",
    )


def test_assignments_are_joined_by_text(tmp_path: Path) -> None:
    """Nuggetizer's files have no ids; '1' is a text here, and the id of another nugget."""
    listed = [{"text": "1", "importance": "vital"}, {"text": "two", "importance": "okay"}]
    nuggets = lines(tmp_path / "nuggets.jsonl", [{"qid": "q", "nuggets": listed}])
    assigned = [{"text": "1", "assignment": "support"}, {"text": "two", "assignment": "not_support"}]
    path = lines(tmp_path / "assigned.jsonl", [{"qid": "q", "run_id": "r", "nuggets": assigned}])
    refused(run_command(path, "-m", "v_strict"), WAY_OUT)
    result = run_command(path, "-m", "v_strict", "--nuggets", nuggets)
    assert result.stdout.split()[-1] == "1.0000", result.output


def test_an_id_without_nuggets_is_refused(
    files: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = Dataset("my/bench", ("questions",), lambda _: iter(()))
    monkeypatch.setattr(dataset, "load", lambda _: bare)
    refused(
        run_command(files("judged"), "-m", "w", "--nuggets", "my/bench"), "has no nuggets; it has questions"
    )


def test_the_arena_says_where_its_judgements_differ(files: Callable[[str], str], tmp_path: Path) -> None:
    sides = [("good", "win"), ("bad", "loss")]
    rows = [
        {"query_id": "q1", "run_id": run, "aspect": aspect, "label": label, "rubric": "pairwise"}
        for aspect in ("0", "7")
        for run, label in sides
    ]
    path = lines(tmp_path / "pairs.jsonl", rows)
    result = run_command("arena", path, "--matrix", "--nuggets", files("nuggets"))
    assert result.exit_code == 0
    assert "1 judged nuggets are not in" in result.stderr
    whole = lines(tmp_path / "whole.jsonl", [row | {"aspect": "ours-theirs"} for row in rows[:2]])
    refused(run_command("arena", whole, "--nuggets", files("nuggets")), "none of its nuggets was judged")


def test_no_importance_is_written_where_there_is_none() -> None:
    bank = [Nugget("q", "0", "a", "vital"), Nugget("q", "1", "b")]
    (line,) = write_nuggets(bank)
    assert "failed" not in line
    assert json.loads(line)["nuggets"][1] == {"text": "b"}


def test_failed_importance_as_0_1_wrote_it_is_missing(tmp_path: Path) -> None:
    old = {
        "qid": "q",
        "nuggets": [{"text": "a", "importance": "failed"}, {"text": "b", "importance": "vital"}],
    }
    path = lines(tmp_path / "old.jsonl", [old])
    assert [nugget.importance for nugget in read_nuggets(path)] == [None, "vital"]
    rows = [{"query_id": "q", "run_id": "r", "aspect": str(index), "label": SUPPORT} for index in range(2)]
    result = run_command(lines(tmp_path / "judged.jsonl", rows), "-m", "v_strict", "--nuggets", path)
    assert (result.exit_code, "(1 unrated); its value lies between 0.5000 and 1.0000" in result.stderr) == (
        3,
        True,
    )


def test_of_what_is_missing_only_a_negative_weight_turns_the_worst_round() -> None:
    """A fault that may be there is there at worst; a merit of any positive weight is not."""
    rows = [
        {"query_id": "q", "run_id": "r", "aspect": "merit", "weight": 0.5, "status": "invalid"},
        {"query_id": "q", "run_id": "r", "aspect": "fault", "weight": -0.25, "status": "invalid"},
    ]
    for end, value in (("worst", -0.5), ("best", 1.0)):
        score = rageval.evaluate_answers("rubric_score", rows, on_missing=end)["r"]["rubric_score"]
        assert score.value == value


def by_importance() -> list[str]:
    """Every measure that counts nuggets by their importance, as far as its parameters say so."""
    names = [
        str(measure(importance=which))
        for measure in measures_taking("Assessment").values()
        if (parameter := measure.declared.get("importance")) and "vital" in parameter.choices
        for which in parameter.choices
        if which != "all"
    ]
    return [*names, "nugget_recall(importance=weighted,credit=partial)", "nugget_f"]


@pytest.mark.slow
@pytest.mark.parametrize("measure", by_importance())
@pytest.mark.parametrize("shown", ["lost", "rated"])
def test_a_nugget_without_importance_is_missing(measure: str, shown: str) -> None:
    """Whatever the importance is, the value lies within the bounds; what is missing is counted."""
    labels = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}
    rubric = "lexical" if measure.startswith("lexical") else "nugget-assignment"
    verdicts = [("a", "support"), ("b", "partial_support"), ("c", "not_support"), ("d", "support")]

    def judged(rated: dict[str, str]) -> list[dict[str, Any]]:
        place = {"query_id": "q", "run_id": "r", "rubric": rubric}
        rows = [
            place
            | {"aspect": aspect}
            | ({"grade": labels[label]} if rubric == "lexical" else {"label": label})
            for aspect, label in verdicts
        ]
        return [
            row | ({"importance": rated[row["aspect"]]} if row["aspect"] in rated else {}) for row in rows
        ]

    def score(rated: dict[str, str]) -> Any:
        answers = [{"query_id": "q", "run_id": "r", "answer": "word " * 60}]
        return rageval.evaluate_answers(measure, judged(rated), answers=answers, on_missing="skip")[
            "r"
        ].scores[0]

    importance = {"a": "vital", "b": "okay"} if shown == "rated" else {"c": "okay"}
    lacking = score(importance)
    assert lacking.lost == {"unrated": 4 - len(importance)}
    low, high = lacking.bounds
    others = [aspect for aspect, _ in verdicts if aspect not in importance]
    for chosen in itertools.product(("vital", "okay"), repeat=len(others)):
        value = score(importance | dict(zip(others, chosen, strict=True))).value
        assert not low - 1e-12 > value, (chosen, value)
        assert not high + 1e-12 < value, (chosen, value)
    with pytest.raises(
        MissingJudgements, match=r"unrated\).*it needs the importance of each nugget.*--nuggets"
    ):
        rageval.evaluate_answers(
            measure, judged(importance), answers=[{"query_id": "q", "run_id": "r", "answer": "w"}]
        )


def test_doctor_finds_nuggets_without_importance(tmp_path: Path) -> None:
    rows = [
        {"query_id": "q", "run_id": "r", "aspect": "a", "importance": "vital", "label": "support"},
        {"query_id": "q", "run_id": "r", "aspect": "b", "label": "not_support"},
    ]
    nuggets = [{"text": "a", "importance": "vital"}, {"text": "b", "importance": "failed"}]
    assigned = [{**nugget, "assignment": "support"} for nugget in nuggets]
    files: dict[str, list[dict[str, Any]]] = {
        "judged": rows,
        "nuggets": [{"qid": "q", "query": "?", "nuggets": nuggets}],
        "assigned": [{"qid": "q", "run_id": "r", "nuggets": assigned, "answer_text": "so"}],
    }
    for name, records in files.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        result = CliRunner().invoke(main, ["doctor", str(path)])
        assert "nuggets without an importance: 1, first" in result.stdout, (name, result.output)
