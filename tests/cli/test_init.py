"""`rageval init`: a policy that `rageval gate` takes, of whatever files lie in the folder."""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rageval.policy import EFFECTS, find_policy
from test_bad_input import command

RUN = "".join(f"q{q} Q0 d{d} {d} {9 - d} r\n" for q in range(30) for d in range(3))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(name: str, runs: tuple[str, ...] = ("ours",), **fields: object) -> None:
    rows = ({"query_id": f"q{number}", "run_id": run, **fields} for run in runs for number in range(30))
    Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def settled(*words: str) -> tuple[dict[str, Any], list[list[str]]]:
    """The section [gate], and the commands that are printed."""
    outcome = command("init", *words)
    assert (outcome.code, outcome.err) == (0, ""), outcome
    first, *lines = outcome.out.splitlines()
    assert first == "wrote rageval.toml"
    gate = tomllib.loads(Path("rageval.toml").read_text(encoding="utf-8"))["gate"]
    assert find_policy().gate_settings().keys() == gate.keys()
    assert not gate.keys() & EFFECTS.keys()
    return gate, [shlex.split(line.partition("rageval ")[2]) for line in lines]


def test_of_runs_the_gate_has_a_measure_of_their_judgements() -> None:
    for name in ("new.trec", "a.trec"):
        Path(name).write_text(RUN)
    Path("qrels").write_text("".join(f"q{q} n{n} d{n} 1\n" for q in range(30) for n in (0, 1)))
    gate, lines = settled()
    assert gate == {"measures": ["alpha_ndcg@10"], "margin": 0.05, "baseline": "baseline.jsonl"}
    save, then = lines
    assert save == ["gate", "a.trec", "qrels", "--save-baseline", "baseline.jsonl"]
    assert then == ["gate", "new.trec", "qrels"]
    for line in lines:
        assert command(*line).code == 0
    # By the baseline that is there now, the gate needs nothing else.
    gate, lines = settled("--overwrite")
    assert gate["measures"] == ["alpha_ndcg@10"]
    assert lines == [then]
    Path("qrels").write_text("".join(f"q{q} 0 d1 1\n" for q in range(30)))
    Path("baseline.jsonl").unlink()
    assert settled("--overwrite")[0]["measures"] == ["ndcg@10"]


def test_two_systems_in_one_file() -> None:
    written("judged.jsonl", ("old", "my new"), label="perfect", rubric="crag", judge="short")
    _, lines = settled()
    assert lines[-1] == ["gate", "judged.jsonl", "--system", "my new"]
    for line in lines:
        assert command(*line).code == 0


def test_answers_that_nobody_judged() -> None:
    written("answers.jsonl", answer="Oslo")
    rows = ({"query_id": f"q{number}", "question": "Where?", "answer": "Oslo"} for number in range(30))
    Path("questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    gate, lines = settled()
    assert gate == {
        "measures": ["crag_score"],
        "margin": 0.05,
        "baseline": "baseline.jsonl",
        "rubric": "crag",
        "judge": "short",
    }
    for line in lines:
        assert command(*line).code == 0
    assert '# questions = "questions.jsonl"' in Path("rageval.toml").read_text()


def test_an_empty_folder_and_odd_files() -> None:
    assert settled()[0] == {"margin": 0.05, "baseline": "baseline.jsonl"}
    Path("noise").write_bytes(bytes(range(256)))
    Path("empty").write_bytes(b"")
    Path("x.parquet").write_bytes(b"PAR1" + bytes(40) + b"PAR1")
    Path("\x1b[31m").write_text(RUN)
    Path("a\nb = 1").write_text(RUN)
    Path('"quoted".trec').write_text(RUN)
    Path("qrels 'of' me").write_text("q0 0 d1 1\n")
    Path("folder.trec").mkdir()
    Path("broken.jsonl").write_text('{"baseline": 1, "measures": {}}\n')
    os.mkfifo("pipe")
    gate, lines = settled("--overwrite")
    assert gate["measures"] == ["ndcg@10"]
    assert lines[-1] == ["gate", '"quoted".trec', "qrels 'of' me"]


def test_names_that_data_say_are_text_and_no_settings() -> None:
    evil = '"\nmd = "../x'
    written("judged.jsonl", label="perfect", rubric=evil, judge=evil)
    assert settled()[0].keys() == {"margin", "baseline"}
    written("judged.jsonl", label="perfect", rubric="evil.py", judge="openai:m@http://127.0.0.1/")
    assert settled("--overwrite")[0].keys() == {"margin", "baseline"}


def test_a_policy_that_is_there_stays() -> None:
    Path("rageval.toml").write_text("mine")
    outcome = command("init")
    assert (outcome.code, outcome.out) == (2, "")
    assert "rageval.toml: already exists" in outcome.err
    assert Path("rageval.toml").read_text() == "mine"
    settled("--overwrite")
    Path("rageval.toml").unlink()
    Path("pyproject.toml").write_text("[tool.rageval.gate]\nmargin = 0.1\n")
    outcome = command("init")
    assert outcome.code == 2
    assert "pyproject.toml: has [tool.rageval]" in outcome.err
    assert not Path("rageval.toml").exists()


def test_a_name_that_is_taken_is_no_baseline_to_be() -> None:
    written("baseline.jsonl", label="perfect", rubric="crag", judge="short")
    gate, lines = settled()
    assert gate["baseline"] == "gate-baseline.jsonl"
    for line in lines:
        assert command(*line).code == 0


def test_of_two_tables_the_first_is_the_baseline_and_nothing_is_saved() -> None:
    rows = [f"{number},Who was number {number}?,{{}},Name{number}" for number in range(12)]
    for name, answer in (("v1", "Somebody"), ("v2", "Name{}")):
        lines = [row.format(answer.format(number)) for number, row in enumerate(rows)]
        Path(f"{name}.csv").write_text("\n".join(["id,question,answer,gold", *lines]) + "\n")
    assert command("init").out == "wrote rageval.toml\nthen: rageval gate v2.csv\n"
    assert 'baseline = "v1.csv"' in Path("rageval.toml").read_text()
    outcome = command("gate", "v2.csv")
    assert (outcome.code, outcome.out.partition(":")[0]) == (0, "ship"), outcome.err
    # Of one alone there is nothing before it.
    Path("v1.csv").unlink()
    assert "next: rageval gate v2.csv --save-baseline baseline.jsonl" in command("init", "--overwrite").out
    assert command("gate", "v2.csv", "--save-baseline", "baseline.jsonl").code == 0
    assert command("gate", "v2.csv").code == 0


def test_what_was_before_is_told_by_its_name() -> None:
    for name in ("after", "before"):
        Path(f"{name}.csv").write_text("id,question,answer,gold\n1,Who?,Me,Me\n")
    assert command("init").out == "wrote rageval.toml\nthen: rageval gate after.csv\n"
    assert 'baseline = "before.csv"' in Path("rageval.toml").read_text()
