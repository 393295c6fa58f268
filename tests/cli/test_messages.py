"""Messages that once pointed the wrong way: each says what is wrong, and what to type instead."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import rageval
from rageval.cli import COMMANDS
from rageval.errors import InputError
from test_bad_input import command


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").write_text("".join(f"q{q} Q0 d{d} {d} {9 - d} r\n" for q in range(3) for d in range(3)))
    Path("qrels").write_text("".join(f"q{q} 0 d1 1\n" for q in range(3)))
    written("judged.jsonl", {"label": "perfect", "rubric": "crag@9f2c41aa", "judge": "contains"})
    written("support.jsonl", {"aspect": "n1", "label": "support", "rubric": "nugget-assignment"})
    written("theirs.jsonl", {"aspect": "tone", "grade": 0.5, "rubric": "tool/tone"})
    written("answers.jsonl", {"question": "Who?", "answer": "Me."})
    written("unasked.jsonl", {"answer": "Me."})
    assert command("gate", "run", "qrels", "-m", "recall@5", "--save-baseline", "base.jsonl").code == 0


def written(name: str, fields: dict[str, object]) -> None:
    rows = ({"query_id": f"q{number}", "run_id": "ours", **fields} for number in range(3))
    Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def refused(*words: str) -> str:
    outcome = command(*words)
    assert (outcome.code, outcome.out) == (2, ""), outcome
    return outcome.err


@pytest.mark.parametrize("typed", [("--margin", "five"), ("--margin=five",)])
def test_what_is_typed_wrong_is_not_the_policy_s_fault(typed: tuple[str, ...]) -> None:
    Path("rageval.toml").write_text("[gate]\nmargin = 0.03\n")
    stderr = refused("gate", "judged.jsonl", "--baseline", "base.jsonl", *typed)
    assert "--margin" in stderr
    assert "rageval.toml" not in stderr


def test_what_the_policy_says_wrong_is_its_fault() -> None:
    Path("rageval.toml").write_text('[gate]\nmargin = "five"\n')
    assert "rageval.toml: [gate]: margin" in refused("gate", "judged.jsonl", "--baseline", "base.jsonl")


@pytest.mark.parametrize(
    ("file", "measure"), [("judged.jsonl", "crag_score"), ("support.jsonl", "nugget_recall")]
)
def test_the_measure_of_judged_answers_is_their_rubric_s(file: str, measure: str) -> None:
    result = command(file)
    assert f"no measure named, so {measure}" in result.err
    assert (result.code, result.out) == (0, command(file, "-m", measure).out)
    assert "the baseline has no values" in refused(
        "gate", file, "--baseline", "base.jsonl", "--margin", "0.1"
    )


@pytest.mark.parametrize("judge", ["contains", "exact", "short"])
def test_a_judge_by_gold_answers_asks_for_the_questions(judge: str) -> None:
    for file, lacking in (
        ("answers.jsonl", "has no gold answer"),
        ("unasked.jsonl", "no such question; expected it in --questions"),
    ):
        stderr = refused("judge", "crag", file, "--judge", judge)
        assert lacking in stderr
        assert "--questions FILE" in stderr


@pytest.mark.parametrize("line", [("run", "qrels"), ("compare", "run", "run2", "qrels")])
def test_a_figure_that_cannot_be_drawn_is_refused_first(
    line: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("run2").write_text(Path("run").read_text())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    # Nothing was read yet, or the judgements would be refused.
    Path("qrels").write_text("q0 0 d1 1\nbroken\n")
    stderr = refused(*line, "-m", "recall@5", "--plot", "x.pdf")
    assert "matplotlib" in stderr
    assert "rageval[plots]" in stderr


def test_judgements_and_runs_are_no_baseline() -> None:
    gate = ("gate", "judged.jsonl", "-m", "crag_score", "--margin", "0.1", "--baseline")
    stderr = refused(*gate, "support.jsonl")
    assert "support.jsonl: has judgements, not a baseline" in stderr
    assert "rageval compare support.jsonl CANDIDATE" in stderr
    with pytest.raises(InputError, match=r"support\.jsonl: has judgements, not a baseline"):
        rageval.gate("judged.jsonl", measures="crag_score", baseline="support.jsonl", margin=0.1)
    assert "rageval gate support.jsonl -m MEASURES --save-baseline FILE" in stderr
    stderr = refused("gate", "run", "qrels", "-m", "recall@5", "--margin", "0.1", "--baseline", "run")
    assert "run: has a run, not a baseline" in stderr


@pytest.mark.parametrize("name", ["score", "compare", "import", "demo", "init"])
def test_a_file_of_a_command_s_name_is_told_from_it(name: str) -> None:
    assert name in COMMANDS
    Path(name).write_text(Path("run").read_text())
    message = f"rageval: {name}: read as the command; for the file of this name, type ./{name}\n"
    assert command(name, "qrels", "-m", "recall@5").err.startswith(message)
    assert message not in command(f"./{name}", "qrels", "-m", "recall@5").err
    # Where no file follows there is no doubt.
    assert message not in command(name, "--help").err
