"""The score command as a script meets it: a case for each exit code, numbers on one stream only."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from rageval.cli import main

DATA = Path(__file__).parents[2] / "examples/data"
RUN, QRELS = str(DATA / "run.trec"), str(DATA / "qrels.nugget")
ANSWERS = DATA / "answers"
JUDGED = [str(ANSWERS / "rubrics.judged.jsonl"), "-m", "rubric_score"]
NUGGETS = ["--nuggets", str(ANSWERS / "rubrics.jsonl")]

CASES = {
    "a run": ([RUN, QRELS, "-m", "alpha_ndcg@10"], 0, "0.5283", ""),
    "a gate that fails": ([RUN, QRELS, "-m", "rr", "--fail-under", "rr=1.1"], 1, "rr", "below 1.1"),
    "no such file": (["nowhere.trec", QRELS, "-m", "rr"], 2, "", "nowhere.trec: no such file"),
    "no measure": ([RUN, QRELS], 2, "", "no measure named"),
    "answers with their nuggets": ([*JUDGED, *NUGGETS], 0, "1.0000", ""),
    "answers without": (JUDGED, 2, "", "--nuggets FILE"),
    "nuggets of a run": ([RUN, QRELS, "-m", "rr", *NUGGETS], 2, "", "leave it out for runs"),
}


@pytest.mark.parametrize("case", CASES)
def test_exit_codes_and_streams(case: str) -> None:
    words, code, out, err = CASES[case]
    result = CliRunner().invoke(main, words, prog_name="rageval")
    assert result.exit_code == code, result.output
    assert out in result.stdout
    assert bool(result.stdout) == bool(out)
    assert err in result.stderr


def test_a_judgement_that_failed_is_exit_3(tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text(json.dumps({"query_id": "q", "run_id": "r", "status": "refused", "rubric": "crag"}))
    result = CliRunner().invoke(main, [str(path), "-m", "crag_score"], prog_name="rageval")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "1 refused" in result.stderr


@pytest.mark.parametrize(
    ("style", "means", "of_query"),
    [
        ("table", "0.7803 (0.7803 to 0.8974)", r"run\.trec +7640 +\S+$"),
        ("md", "0.7803 (0.7803 to 0.8974) |", r"\| run\.trec \| 7640 \| \S+ \|$"),
        ("latex", "0.7803 (0.7803 to 0.8974) \\\\", r"run\.trec & 7640 & \S+ \\\\$"),
        ("csv", "0.7803,12,0,0.7803,0.8974", r"run\.trec,7640,recall@50,\S+,1,0,,$"),
    ],
)
def test_a_mean_stands_beside_what_it_lies_between(style: str, means: str, of_query: str) -> None:
    words = [RUN, QRELS, "-m", "recall@50", "--format", style, "-q"]
    result = CliRunner().invoke(main, [*words, "--bounds"])
    assert means in result.stdout
    assert re.search(of_query, result.stdout, re.MULTILINE)
    assert not re.search(r" to |least|parenth", CliRunner().invoke(main, words).stdout)
