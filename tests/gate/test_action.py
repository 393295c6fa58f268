"""The action and the hooks: their scripts run as a runner would run them, and what they call is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rageval.precommit import main as hook
from snippets import ROOT

ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
FOLDER = ROOT / "examples" / "data" / "gate"


def scripts() -> dict[str, str]:
    """The `run:` blocks, by the names of their steps."""
    texts = {}
    for step in ACTION.split("    - name: ")[1:]:
        name, _, rest = step.partition("\n")
        block = rest.partition("      run: |\n")[2]
        if block:
            lines = [line[8:] for line in block.splitlines() if not line or line.startswith(" " * 8)]
            texts[name] = "\n".join(lines)
    return texts


@pytest.fixture(name="runner")
def runner_(tmp_path: Path) -> dict[str, str]:
    """The environment of a runner, with programs that write down how they are called."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    programs = {
        "rageval": f'exec "{sys.executable}" -I -m rageval "$@"',
        "gh": 'echo "$@" >> "$RUNNER_TEMP/gh.txt"; [ -z "$GH_FAILS" ] || exit 1\n'
        'case "$*" in *--jq*) printf "%s" "$GH_FOUND" ;; esac',
    }
    for name, script in programs.items():
        (bin_ / name).write_text(f"#!/bin/bash\n{script}\n")
        (bin_ / name).chmod(0o755)
    environment = {
        "PATH": f"{bin_}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_REPOSITORY": "org/repo",
        "GITHUB_SERVER_URL": "https://github.test",
        "GITHUB_RUN_ID": "5",
        "GITHUB_ACTION_PATH": str(ROOT),
        "RAGEVAL_COMMAND": "gate",
        "RAGEVAL_BASELINE": str(FOLDER / "baseline.jsonl"),
        "RAGEVAL_INCONCLUSIVE": "pass",
        "GH_FAILS": "",
        "GH_FOUND": "",
    }
    (tmp_path / "summary").write_text("")
    return environment


def run(name: str, environment: dict[str, str]) -> tuple[int, str, dict[str, str]]:
    """Exit code, what is printed, and the outputs of a step, run as `shell: bash` is."""
    output = Path(environment["GITHUB_OUTPUT"])
    output.write_text("")
    script = Path(environment["RUNNER_TEMP"], "step.sh")
    script.write_text(scripts()[name])
    process = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        env=environment,
        cwd=environment["RUNNER_TEMP"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    return process.returncode, process.stdout + process.stderr, outputs


def words(name: str, margin: float = 0.03, more: str = "") -> str:
    return f"'{FOLDER}/{name}.run' '{FOLDER}/qrels.nugget' -m recall@5 --margin {margin} {more}"


def test_values_never_stand_in_a_script() -> None:
    assert set(scripts()) == {"Install rageval", "Gate", "Comment"}
    for script in scripts().values():
        assert "${{" not in script
        assert "pipefail" in script
        assert "eval" not in re.sub("rageval", "", script.lower())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "margin", "more", "code", "outputs"),
    [
        ("same", 0.03, "", 0, ("ship", "0")),
        ("worse", 0.03, "", 1, ("block", "1")),
        ("same", 0.001, "", 0, ("inconclusive", "5")),
        ("same", 0.001, "--inconclusive pass", 0, ("inconclusive", "0")),
        ("same", 0.03, "--nonsense '$(touch pwned)'", 2, ("error", "2")),
        ("same", 0.03, "--baseline none --first-run pass", 0, ("none", "0")),
    ],
)
def test_the_gate_step(
    runner: dict[str, str], name: str, margin: float, more: str, code: int, outputs: tuple[str, str]
) -> None:
    baseline = "" if "--baseline" in more else runner["RAGEVAL_BASELINE"]
    output = run("Gate", {**runner, "RAGEVAL_ARGS": words(name, margin, more), "RAGEVAL_BASELINE": baseline})
    assert output[0] == code, output[1]
    assert (output[2]["verdict"], output[2]["exit-code"]) == outputs
    summary = Path(runner["GITHUB_STEP_SUMMARY"]).read_text()
    assert ("### rageval gate" in summary) == (outputs[1] != "2" or "--nonsense" not in more)
    assert ("::warning" in output[1]) == (outputs == ("inconclusive", "5"))
    assert not Path(runner["RUNNER_TEMP"], "pwned").exists()
    lines = output[1].splitlines()
    stop = next(line for line in lines if line.startswith("::stop-commands::"))
    assert f"::{stop.removeprefix('::stop-commands::')}::" in lines


@pytest.mark.slow
def test_inconclusive_may_fail_and_what_is_neither_is_refused(runner: dict[str, str]) -> None:
    asked = {**runner, "RAGEVAL_ARGS": words("same", 0.001)}
    assert run("Gate", {**asked, "RAGEVAL_INCONCLUSIVE": "fail"})[0] == 5
    assert run("Gate", {**asked, "RAGEVAL_INCONCLUSIVE": "maybe"})[0] == 2
    assert run("Gate", {**asked, "RAGEVAL_ARGS": "'no end"})[0] == 2


def test_a_comment_is_one_and_a_fork_without_permission_has_the_summary(runner: dict[str, str]) -> None:
    report = Path(runner["RUNNER_TEMP"], "report.md")
    report.write_text("### rageval gate\n")
    asked = {**runner, "RAGEVAL_REPORT": str(report), "RAGEVAL_NUMBER": "7"}
    called = Path(runner["RUNNER_TEMP"], "gh.txt")
    assert run("Comment", asked)[0] == 0
    assert "--method POST repos/org/repo/issues/7/comments" in called.read_text()
    comment = Path(runner["RUNNER_TEMP"], "rageval-comment.md").read_text()
    assert comment.startswith("<!-- rageval gate -->\n### rageval gate\n")
    assert comment.endswith("[The run, with its files](https://github.test/org/repo/actions/runs/5)\n")
    called.write_text("")
    assert run("Comment", {**asked, "GH_FOUND": "12\n13"})[0] == 0
    assert "--method PATCH repos/org/repo/issues/comments/12" in called.read_text()
    assert "POST" not in called.read_text()
    code, output, _ = run("Comment", {**asked, "GH_FAILS": "1"})
    assert (code, "::notice" in output) == (0, True)
    assert run("Comment", {**asked, "RAGEVAL_REPORT": ""})[0] == 0


def test_what_is_installed_is_the_source_of_the_tag_or_a_release(runner: dict[str, str]) -> None:
    python = Path(runner["PATH"].partition(":")[0], "python")
    python.write_text('#!/bin/bash\necho "$@"\n')
    python.chmod(0o755)
    assert f" {ROOT}\n" in run("Install rageval", {**runner, "RAGEVAL_VERSION": ""})[1]
    assert " rageval==0.1.0\n" in run("Install rageval", {**runner, "RAGEVAL_VERSION": "0.1.0"})[1]


def test_inputs_and_outputs_are_those_that_the_steps_use() -> None:
    head, _, steps = ACTION.partition("\nruns:\n")
    inputs = set(
        re.findall(r"^  ([\w-]+):$", head.partition("\noutputs:")[0].partition("inputs:")[2], re.MULTILINE)
    )
    assert inputs == {"command", "args", "baseline", "inconclusive", "comment", "python-version", "version"}
    assert set(re.findall(r"inputs\.([\w-]+)", steps)) == inputs
    written = set(re.findall(r'echo "([\w-]+)=', steps))
    assert written == set(re.findall(r"steps\.gate\.outputs\.([\w-]+)", head))
    assert re.search(r'comment:\n    description: [^\n]+\n    default: "false"', head)


def test_hooks_name_what_is_there() -> None:
    assert re.findall(r"^- id: (\S+)", HOOKS, re.MULTILINE) == ["rageval-validate", "rageval-baseline"]
    assert re.findall(r"entry: rageval-hook (\w+)", HOOKS) == ["validate", "baseline"]
    patterns = [re.compile(text) for text in re.findall(r"files: (.*)", HOOKS)]
    names = [
        "run.trec",
        "gold/qrels.nugget",
        "gold/baseline.jsonl",
        "gold/base.jsonl",
        "data/answers_1.jsonl",
    ]
    assert [[bool(pattern.search(name)) for pattern in patterns] for name in names] == [
        [True, False],
        [True, False],
        [False, True],
        [False, True],
        [True, False],
    ]


def test_the_hook_for_files_finds_what_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    good = [str(FOLDER / name) for name in ("main.run", "qrels.nugget", "questions.jsonl")]
    assert hook(["validate", *good]) == 0
    Path("bad.run").write_text("q Q0 d 1 x r\n")
    Path("questions.jsonl").write_text('{"query_id": 1, "question": \n')
    assert hook(["validate", *good, "bad.run", "questions.jsonl"]) == 1
    stderr = capsys.readouterr().err
    assert "bad.run:1:" in stderr
    assert "questions.jsonl:1" in stderr
    assert hook(["no"]) == 2


def test_the_hook_for_baselines_holds_them_against_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    base = str(FOLDER / "baseline.jsonl")
    assert hook(["baseline", base]) == 0  # without a policy, that it is whole
    for text, code, message in (
        ('measures = ["recall@5", "alpha_ndcg@5"]', 0, ""),
        ('measures = "recall@10"', 1, "does not have recall@10"),
        ('measures = "recall@5"\ndepth = 3', 1, "scored by other rules than"),
    ):
        Path("rageval.toml").write_text(f"[gate]\n{text}\n")
        assert hook(["baseline", base]) == code
        assert message in capsys.readouterr().err
    cut = Path(base).read_text().splitlines(keepends=True)[:50]
    Path("base.jsonl").write_text("".join(cut))
    assert hook(["baseline", "base.jsonl"]) == 1
    assert "base.jsonl: holds 49 questions; expected 120" in capsys.readouterr().err


@pytest.mark.slow
def test_the_gate_step_does_not_ship_what_is_gone(runner: dict[str, str], tmp_path: Path) -> None:
    rows = [
        f'{{"query_id": "q{index}", "run_id": "r", "label": "perfect", "rubric": "crag"}}\n'
        for index in range(50)
    ]
    (tmp_path / "whole.jsonl").write_text("".join(rows))
    (tmp_path / "short.jsonl").write_text("".join(rows[:46]))
    words = "-m crag_score --margin 0.1"
    save = "whole.jsonl -m crag_score --save-baseline base.jsonl"
    assert run("Gate", {**runner, "RAGEVAL_BASELINE": "", "RAGEVAL_ARGS": save})[0] == 0
    gated = {**runner, "RAGEVAL_BASELINE": "base.jsonl"}
    assert run("Gate", {**gated, "RAGEVAL_ARGS": f"whole.jsonl {words}"})[2]["verdict"] == "ship"
    code, output, outputs = run("Gate", {**gated, "RAGEVAL_ARGS": f"short.jsonl {words}"})
    assert (code, outputs["verdict"]) == (3, "error")
    assert "missing in 4 of 50 questions" in output
