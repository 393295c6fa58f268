"""The plug-in for pytest, in suites of somebody's: gates in tests, recorded answers, workers, crashes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import scipy.special  # noqa: F401  # here once, for suites within this process
from click.testing import CliRunner

import rageval.cli.gate
import rageval.comparison.gate
import rageval.judges.panel  # noqa: F401
from rageval.cli import main
from snippets import ROOT

pytestmark = pytest.mark.slow
pytest_plugins = ["pytester"]

FOLDER = ROOT / "examples" / "data" / "gate"
IS_INSTALLED = bool(entry_points(group="pytest11", name="rageval"))
ANSWERS = """
import os, pytest

@pytest.mark.rageval(questions="questions.jsonl"{repeats})
def test_answer(question, rageval):
    number = int(question.query_id[1:])
    rageval.record("Oslo." if number >= {wrong} else "Bergen.", ["a passage"])
    {more}
"""
POLICY = '[gate]\njudge = "contains"\nmeasures = "crag_score"\nmargin = 0.1\nbaseline = "gold/base.jsonl"\n'


@pytest.fixture(autouse=True)
def here(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / ".git").mkdir()
    (pytester.path / "gold").mkdir()
    rows = [{"query_id": f"q{index}", "question": "Where?", "answer": "Oslo"} for index in range(40)]
    Path("questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return pytester


Suite = Callable[..., str]


@pytest.fixture
def suite(here: pytest.Pytester) -> Suite:
    """What pytest prints of a suite of one file, in this process."""

    def printed(test: str, *words: str, code: int, ini: str = "") -> str:
        Path("test_it.py").write_text(test)
        Path("pytest.ini").write_text(f"[pytest]\n{ini}")
        plugin = [] if IS_INSTALLED else ["-p", "rageval.pytest_plugin"]
        result = here.runpytest_inprocess("-q", "-ra", *plugin, *words)
        output = result.stdout.str() + result.stderr.str()
        assert result.ret == code, output
        return output

    return printed


def recording(wrong: int = 0, more: str = "", repeats: str = "") -> str:
    return ANSWERS.format(wrong=wrong, more=more, repeats=repeats)


@pytest.fixture
def saved(suite: Suite) -> None:
    """A baseline of right answers, made as the summary says."""
    Path("rageval.toml").write_text(POLICY)
    output = suite(recording(), code=0)
    command = re.search(r"rageval (gate \S+judged.jsonl --save-baseline gold/base.jsonl)", output)
    assert command, output
    assert CliRunner().invoke(main, command[1].split()).exit_code == 0


GATE = """
def test_it(rageval):
    report = rageval.gate({run!r}, {qrels!r}, "recall@5", baseline={base!r}, margin={margin})
    assert report.verdict == "ship"
"""


def gating(name: str, margin: float = 0.03) -> str:
    paths = {
        "run": FOLDER / f"{name}.run",
        "qrels": FOLDER / "qrels.nugget",
        "base": FOLDER / "baseline.jsonl",
    }
    return GATE.format(margin=margin, **{key: str(path) for key, path in paths.items()})


def test_a_gate_in_a_test_ships_blocks_or_is_skipped(suite: Suite) -> None:
    assert "ship: same.run against baseline of 2026-01-01" in suite(gating("same"), code=0)
    output = suite(gating("worse"), code=1)
    assert "GateBlocked: block: worse.run" in output
    assert output.index("= rageval =") < output.index("short test summary")
    for how, code, shown in (
        ("skip", 0, "1 skipped"),
        ("fail", 1, "1 failed"),
        ("pass", 1, "AssertionError"),
    ):
        output = suite(gating("same", 0.0), code=code, ini=f"rageval_inconclusive = {how}\n")
        assert shown in output
        assert "inconclusive: same.run" in output
    assert "expected skip, fail or pass" in suite(
        gating("same", 0.0), code=1, ini="rageval_inconclusive = x\n"
    )


def test_a_judge_that_nobody_names_is_not_asked(suite: Suite) -> None:
    Path("rageval.toml").write_text(POLICY.replace('judge = "contains"\n', ""))
    output = suite(recording(), code=1)
    assert "error, nothing was gated: the policy names no judge; write judge = " in output
    assert "40 passed" in output


@pytest.mark.usefixtures("saved")
def test_answers_are_recorded_judged_once_and_gated_by_the_policy(suite: Suite) -> None:
    output = suite(recording(), code=0)
    assert "40 passed" in output
    assert "ship: pytest against baseline of" in output
    output = suite(recording(wrong=12), code=1)
    assert "40 passed" in output
    assert "block: pytest against" in output
    assert "block" in suite(recording(wrong=12), "-p", "no:cacheprovider", code=1)


@pytest.mark.usefixtures("saved")
def test_the_verdict_is_the_same_with_workers_and_a_crash_is_not_passed(suite: Suite) -> None:
    tables = []
    for words in ((), ("-n", "2")):
        output = suite(recording(12), *words, code=1)
        tables.append(re.findall(r"^block: .*|^crag_score.*|^gate\|.*", output, re.MULTILINE))
    assert tables[0] == tables[1]
    assert len(tables[0]) == 3
    crash = 'os._exit(1) if number == 7 and os.environ.get("PYTEST_XDIST_WORKER") else None'
    output = suite(recording(more=crash), "-n", "2", code=1)
    assert "not gated: a worker crashed" in output


@pytest.mark.usefixtures("saved")
def test_a_part_of_the_questions_is_not_gated_and_fails_if_that_is_required(suite: Suite) -> None:
    output = suite(recording(wrong=40), "-k", "q1", code=0)
    assert "not gated: 11 of the baseline's 40 questions were asked" in output
    suite(recording(wrong=40), "-k", "q1", code=1, ini="rageval_required = true\n")
    failing = "assert number % 8"  # a plain assert is still possible; what was recorded before counts
    output = suite(recording(more=failing), code=1)
    assert "5 failed, 35 passed" in output
    assert "ship: pytest" in output


@pytest.mark.usefixtures("saved")
def test_what_is_run_again_replaces_and_two_tests_of_one_question_do_not(suite: Suite) -> None:
    second = "\n    rageval.record('Oslo.')"
    assert "ship: pytest" in suite(recording(wrong=40, more=second), code=0)
    twice = recording() + recording().replace("def test_answer", "def test_other")
    assert "was answered in test_it.py::test_answer[q0] and in" in suite(twice, code=1)


def test_repeats_are_answers_to_one_question(suite: Suite) -> None:
    Path("rageval.toml").write_text(POLICY)
    output = suite(recording(repeats=", repeats=3"), "--collect-only", code=0)
    assert "test_answer[q0-3]" in output
    output = suite(recording(repeats=", repeats=3"), code=0)
    assert "120 answers judged" in output
    judged = next(Path(".pytest_cache").rglob("judged.jsonl")).read_text().splitlines()
    assert {json.loads(line)["repeat"] for line in judged} == {"1", "2", "3"}


@pytest.mark.parametrize(
    ("test", "policy", "message", "code"),
    [
        (recording().replace("questions=", "question="), "", "expected questions=FILE", 2),
        (recording().replace("questions.jsonl", "none.jsonl"), "", "none.jsonl", 2),
        (recording(repeats=", repeats=0"), "", "repeats=0: expected a whole number from 1", 2),
        ("def test_it(rageval):\n    rageval.record('x')", "", "no question; mark the test", 1),
        ("def test_it(rageval):\n    rageval.gate('x', 'y')", "", "expected measures, in the test or in", 1),
        (gating("same"), "[gate]\nby = 'domain'\n", "[gate]: by: is for the command", 1),
        (gating("same"), "[gate]\nfail-under = 'recall@5=high'\n", "expected MEASURE=VALUE", 1),
        (
            gating("same"),
            "[gate]\nfail-under = 'R@5=0.9'\n",
            "recall@5 is 0.7139, below 0.9 (--fail-under)",
            1,
        ),
        (
            recording(),
            "[gate]\njudge = 'contains'\nmargn = 1\nbaseline = 'gold/base.jsonl'\n",
            "unknown key 'margn'",
            1,
        ),
    ],
    ids=range(9),
)
def test_mistakes_are_said(suite: Suite, test: str, policy: str, message: str, code: int) -> None:
    Path("rageval.toml").write_text(policy)
    Path("gold/base.jsonl").write_text('{"baseline":1,"measures":{"a":"a"},"questions":0}\n')
    assert message in suite(test, code=code)


def test_a_suite_without_our_marks_pays_nothing() -> None:
    """What is imported is counted, not timed: rageval's own modules and what pytest has imported anyway."""
    code = (
        "import sys, pytest, _pytest.config; before = set(sys.modules); import rageval.pytest_plugin;"
        "print(*sorted(set(sys.modules) - before))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(process.stdout.split()) <= {
        "rageval",
        "rageval.lazy_names",
        "rageval.hooks",
        "rageval.version",
        "rageval.pytest_plugin",
    }


@pytest.mark.usefixtures("saved")
def test_a_test_that_records_nothing_leaves_its_question_missing(suite: Suite) -> None:
    """Not that the verdict is over the others: who fails half-way must not ship."""
    silent = recording().replace("    rageval.record(", "    if number >= 8:\n        rageval.record(")
    output = suite(silent, code=1)
    assert "judgements are missing in 8 of 40 questions, more than 2%: 8 are gone" in output


@pytest.mark.usefixtures("saved")
def test_a_gate_in_a_test_does_not_pass_with_questions_gone(suite: Suite) -> None:
    rows = [
        {"query_id": f"q{index}", "run_id": "pytest", "judge": "contains", "rubric": "crag"}
        for index in range(39)
    ]
    Path("short.jsonl").write_text("".join(json.dumps(row | {"label": "perfect"}) + "\n" for row in rows))
    test = "def test_it(rageval):\n    rageval.gate('short.jsonl', judge_changed='allow')"
    assert "judgements are missing in 1 of 40 questions, more than 2%: 1 are gone" in suite(test, code=1)


@pytest.mark.parametrize("baseline", ['"gold/none.jsonl"', '"broken"', "None"])
def test_what_is_wrong_with_a_file_is_said_in_a_line(suite: Suite, baseline: str) -> None:
    Path("broken").write_text("{}\n")
    Path("rageval.toml").write_text("[gate]\nmargin = 0.1\n")
    given = "" if baseline == "None" else f", baseline={baseline}"
    output = suite(
        f"def test_it(rageval):\n    rageval.gate('x.jsonl', measures='crag_score'{given})\n", code=1
    )
    assert "verbs.py" not in output
    assert "Error" not in output
    assert len(output.splitlines()) < 12
    expected = {
        '"gold/none.jsonl"': "gold/none.jsonl: there is no baseline yet; save one: rageval gate",
        '"broken"': "x.jsonl",
        "None": "expected baseline, in the test or in rageval.toml under [gate]",
    }[baseline]
    assert expected in output
