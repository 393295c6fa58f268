"""What one place of questions reads, each of them reads: lines of text, JSON of any kind, and tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from rageval.cli import main
from rageval.errors import RagevalError
from rageval.files.questions import read_facts
from rageval.judges.material import questions_in
from test_one_kind import SAMPLES

pytestmark = pytest.mark.slow

IDS = ("q1", "q2")
RECORDS = [{"query_id": name, "question": f"Where is {name}?", "answer": "Oslo"} for name in IDS]
FORMS = {
    "topics": "".join(f"{name}\tWhere is {name}?\n" for name in IDS),
    "one word": "".join(f"{name}\tfirst\n" for name in IDS),
    "lines": "".join(json.dumps(record) + "\n" for record in RECORDS),
    "list": json.dumps(RECORDS),
    "table": "query_id,question,answer\n" + "".join(f"{name},Where is {name}?,Oslo\n" for name in IDS),
}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_facts_are_read_of_all_questions(path: Path) -> None:
    try:
        asked = list(questions_in(str(path), []))
    except (RagevalError, OSError):
        return
    assert list(read_facts(str(path), ())) == asked


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answers = [{"query_id": name, "run_id": run, "answer": "In Oslo."} for name in IDS for run in "rs"]
    Path("answers").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    label = {"rubric": "crag", "label": "accurate", "judge": "openai:m"}
    rows = [{**label, "query_id": name, "run_id": run} for name in IDS for run in "rs"]
    Path("judged").write_text("".join(json.dumps(row) + "\n" for row in rows))


COMMANDS = {
    "judge": ["judge", "crag", "answers", "--judge", "contains"],
    "score": ["score", "judged", "-m", "accuracy"],
    "compare": ["compare", "judged", "-m", "accuracy"],
    "report": ["report", "judged", "-m", "accuracy", "-o", "page.html"],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_reads_questions_in_any_form(name: str, form: str) -> None:
    Path("asked").write_text(FORMS[form])
    result = CliRunner().invoke(main, [*COMMANDS[name], "--questions", "asked"])
    # A judge of texts needs right answers, which topics have not.
    assert result.exit_code == 0 or (name == "judge" and "has no gold answer" in result.stderr), result.output
