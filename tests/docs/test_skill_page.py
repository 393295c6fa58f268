"""The page for coding agents: its form, every command that it names, and its exit codes."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from fair_judge import saying
from llm_server import Asked, LlmServer, Saying
from rageval.errors import EXIT_CODES
from snippets import ROOT, blocks, run
from test_bad_input import command

PAGE = (ROOT / "docs/skill/SKILL.md").read_text(encoding="utf-8")
FAILING = {"gate": {0, 1, 5}, "doctor": {0, 1}, "validate": {0, 1}}  # what ends well with another code than 0


def accurate(asked: Asked) -> Saying:
    return saying(asked, json.dumps({"evidence": "", "reason": "", "label": "missing"}))


def commands() -> list[str]:
    """Every command of the page, in its order."""
    matches = re.findall(r"^```sh\n(.*?)^```|(?<!`)`(rageval [^`]+)`", PAGE, re.DOTALL | re.MULTILINE)
    return [line for block, named in matches for line in (block or named).splitlines()]


def test_it_is_a_skill_and_short() -> None:
    _, front, text = PAGE.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert fields.keys() == {"name", "description"}
    assert re.fullmatch(r"[a-z]+", fields["name"])
    assert len(fields["description"]) < 1024
    assert len(PAGE.split()) <= 1200
    assert command("skill").out == PAGE
    assert text.startswith("\n# ")


def test_it_has_all_exit_codes() -> None:
    assert set(map(int, re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE))) == {*EXIT_CODES}


@pytest.mark.slow
def test_its_python_runs() -> None:
    (block,) = blocks("python", PAGE)
    result = run(["-c", block], {"PYTHONWARNINGS": "ignore"})  # short says how often it errs
    assert (result.returncode, result.stdout, result.stderr) == (0, "1.0\n", "")


@pytest.mark.slow
def test_every_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("demo").code == 0
    monkeypatch.chdir("rageval-demo")
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "0" * 30)
    agents = ROOT / "examples/data/agents"
    shutil.copy(agents / "steps.jsonl", "steps.jsonl")
    shutil.copy(agents / "qrels.nugget", "agents.qrels")
    with Path("chat.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "conversation_id", "turn", "question", "answer", "gold"])
        turns = [(talk, turn) for talk in "ab" for turn in (1, 2)]
        writer.writerows([f"{talk}{turn}", talk, turn, "Who?", "Ann.", "Ann"] for talk, turn in turns)
    ran: set[str] = set()
    with LlmServer(accurate) as server:
        for line in commands():
            words = shlex.split(line.replace("openai:MODEL", f"openai:m@{server.openai}"))[1:]
            *named, last = words
            is_named = not named and last not in ("init", "skill")
            if is_named or last in ("page", "agree") or re.search(r"\b[A-Z]{3,}\b", " ".join(words)):
                # It is named, without files of its own.
                words = [*(word for word in words if re.fullmatch(r"[a-z]+", word)), "--help"]
            outcome = command(*words)
            assert outcome.code in FAILING.get(words[0], {0}), (line, outcome.err)
            ran.add(words[0] if words[-1] != "--help" else "")
    assert {"compare", "judge", "gate", "report", "init"} <= ran
