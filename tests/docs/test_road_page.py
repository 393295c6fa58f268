"""The whole way, from the log of a tool to a gate in pytest and in the action, as the page has it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from rageval.cli import main
from snippets import blocks
from test_action import scripts
from test_readme import ROOT
from walking import Walk

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/road.md").read_text(encoding="utf-8")


def test_step_by_step(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    walk = Walk(tmp_path, {"SOURCE_DATE_EPOCH": "1767225600"})
    walk.along(PAGE)
    assert "1 passed" in walk.out
    assert "ship: v2 against v1" in walk.out
    assert walk.commands < 10
    assert "### rageval gate: ✅ ship" in (walk.folder / "summary.md").read_text()
    in_the_action(walk.folder, walk.environment)


def in_the_action(folder: Path, environment: dict[str, str]) -> None:
    """The script of the action, with the words that the page gives it."""
    args = re.search(r"^    args: (.*)$", PAGE, re.MULTILINE)
    assert args
    files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "job.md"}
    environment |= {name: str(folder / file) for name, file in files.items()} | {"RUNNER_TEMP": str(folder)}
    environment |= {"RAGEVAL_COMMAND": "gate", "RAGEVAL_ARGS": args[1], "RAGEVAL_BASELINE": ""}
    process = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", scripts()["Gate"]],
        cwd=folder,
        env={**environment, "RAGEVAL_INCONCLUSIVE": "pass"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "verdict=ship" in (folder / "output").read_text()
    assert (folder / "job.md").read_text() == (folder / "summary.md").read_text()


@pytest.mark.parametrize(
    ("tool", "log"),
    [
        ("mlflow", "mlflow/traces.jsonl"),
        ("langfuse", "langfuse/traces.jsonl"),
        ("langsmith", "langsmith/runs.jsonl"),
        ("opentelemetry", "otel/spans.jsonl"),
    ],
)
def test_judgements_go_back_to_the_traces_they_are_about(
    tool: str, log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = ROOT / "tests/golden/logs" / log
    assert CliRunner().invoke(main, ["import", str(path), "-o", "prod"]).exit_code == 0
    answers = [json.loads(line) for line in Path("prod/answers.jsonl").read_text().splitlines()]
    place = ("query_id", "run_id", "repeat")
    rows = [
        {**{key: row[key] for key in place if key in row}, "rubric": "crag", "judge": "j", "status": "ok"}
        | {"label": row["trace_id"]}
        for row in answers
    ]
    rows[-1] = {**rows[-1], "status": "error"}
    Path("judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sent: list[dict[str, Any]] = []

    class Client:
        def create_score(self, **fields: Any) -> None:
            sent.append(fields)

        def create_feedback(self, *, run_id: str, key: str, **fields: Any) -> None:
            assert run_id == fields["trace_id"]
            sent.append(fields)

        def emit(self, event: dict[str, Any]) -> None:
            assert event["event_name"] == "gen_ai.evaluation.result"
            assert event["attributes"]["gen_ai.evaluation.name"] == "crag"
            value = event["attributes"]["gen_ai.evaluation.score.label"]
            sent.append({"trace_id": f"{event['trace_id']:032x}", "value": value})

        def flush(self) -> None:
            sent.sort(key=str)

    stub, entities = ModuleType(tool), ModuleType(f"{tool}.entities")
    stub.Client = Client  # type: ignore[attr-defined]
    stub.get_client = Client  # type: ignore[attr-defined]
    stub.log_feedback = lambda **fields: sent.append(fields)  # type: ignore[attr-defined]
    entities.AssessmentSource = dict  # type: ignore[attr-defined]
    events = ModuleType(f"{tool}._logs")
    events.LogRecord = dict  # type: ignore[attr-defined]
    events.get_logger = lambda _: Client()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, tool, stub)
    monkeypatch.setitem(sys.modules, f"{tool}._logs", events)
    monkeypatch.setitem(sys.modules, f"{tool}.entities", entities)
    (recipe,) = [block for block in blocks("py", PAGE) if tool in block]
    assert len([line for line in recipe.splitlines() if line]) <= 12
    exec(recipe, {})
    assert sorted(row["trace_id"] for row in sent) == sorted(row["trace_id"] for row in answers[:-1])
    assert all(row["value"] == row["trace_id"] for row in sent)  # each its own
