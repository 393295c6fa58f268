"""`rageval report` from what earlier commands printed, and what a user can get wrong."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import rageval
from rageval.comparison import Settings
from rageval.files.kinds import told
from rageval.pages._parts import CLOSING, OPENING
from rageval.pages.earlier import earlier_report
from rageval.pages.report import Beside
from test_readme import ROOT
from test_report import CRAG, MEASURES, RUNS, judgement, lines, rageval_, reported


@pytest.mark.slow
@pytest.mark.parametrize("command", ["score", "compare", "both"])
def test_a_report_from_the_json_of_earlier_commands_says_the_same(tmp_path: Path, command: str) -> None:
    files = []
    if command in ("score", "both"):
        files.append(tmp_path / "scores.json")
        files[-1].write_text(rageval_(*RUNS, "-m", MEASURES, "-q", "--format", "json").stdout)
    if command in ("compare", "both"):
        files.append(tmp_path / "compared.json")
        files[-1].write_text(rageval_("compare", *RUNS, "-m", MEASURES, "--format", "json").stdout)
    found = reported(tmp_path, *map(str, files))
    direct = reported(tmp_path, *RUNS, "-m", MEASURES)
    assert found["runs"] == direct["runs"]
    assert found["comparison"]["pairs"] == direct["comparison"]["pairs"]
    shown = [{key: cell[key] for key in ("value", "low", "high", "best")} for cell in direct["cells"]]
    assert [{key: cell[key] for key in ("value", "low", "high", "best")} for cell in found["cells"]] == shown
    if command != "compare":
        assert found["queries"] == direct["queries"]
    assert [each["role"] for each in found["provenance"]["inputs"]] == ["earlier result"] * len(files)


def test_means_alone_make_a_report_too_and_it_says_what_is_lacking(tmp_path: Path) -> None:
    file = tmp_path / "scores.json"
    file.write_text(rageval_(*RUNS, "-m", MEASURES, "--format", "json").stdout)
    found = reported(tmp_path, str(file))
    assert found["cells"][0]["low"] is None
    assert "score -q --format json" in found["remarks"][0]


@pytest.mark.slow
def test_a_passport_alone_and_a_report_read_back_make_reports(tmp_path: Path) -> None:
    file = tmp_path / "agreed.json"
    file.write_text(rageval_("label", "agree", CRAG, CRAG, "--format", "json").stdout)
    assert reported(tmp_path, str(file))["judging"][0]["compared"] == 10
    first = reported(tmp_path, *RUNS, "-m", MEASURES)
    file.write_text(rageval_("report", "show", str(tmp_path / "report.html"), "--format", "json").stdout)
    again = reported(tmp_path, str(file))
    assert {key: again[key] for key in first if key != "provenance"} == {
        key: value for key, value in first.items() if key != "provenance"
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*RUNS, "-m", MEASURES], "-o FILE.html"),
        ([*RUNS, "-o", "{}/r.html"], "no measure named"),
        ([*RUNS, "-m", MEASURES, "--format", "json", "-o", "{}/r.html"], "rageval report show"),
        ([*RUNS, "-m", MEASURES, "--gold", CRAG, "-o", "{}/r.html"], "expected a judgement of a document"),
        (["{}/earlier.json", "-m", MEASURES, "-o", "{}/r.html"], "alone"),
        (["{}/earlier.json", "--by", "x", "-o", "{}/r.html"], "need the runs"),
        (["{}/earlier.json", "-o", "{}/r.html"], "expected the output of rageval score"),
        (["{}/earlier.json", "-o", "{}/earlier.json"], "is also an input"),
        (["show"], "found 0"),
        (["show", "{}/earlier.json"], "has no report"),
        (["show", "{}/nothing.html"], "cannot be read"),
        (["show", "{}/damaged.html"], "damaged"),
        (["show", "{}/other.html"], "expected a report of format"),
        (
            [CRAG, "-m", "crag_score", "--gold", "{}/strangers.jsonl", "-o", "{}/r.html"],
            "has no labels for the",
        ),
        ([*RUNS, "-m", MEASURES, "-o", "{}/nowhere/r.html"], "cannot be written"),
    ],
)
def test_what_a_user_can_get_wrong_is_told_with_the_way_out(
    tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "earlier.json").write_text('{"results": [{"run": 1}]}')
    (tmp_path / "damaged.html").write_text(OPENING + '{"format":' + CLOSING)
    (tmp_path / "other.html").write_text(OPENING + '{"format": "other"}' + CLOSING)
    lines(tmp_path, "strangers.jsonl", [judgement("nobody", "knows", "perfect")])
    done = rageval_("report", *(word.format(tmp_path) for word in words), code=2)
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    "text",
    [
        "[1]",
        "{",
        '{"results": NaN}',
        '{"results": 5}',
        '{"results": []}',
        '{"pairs": 1, "signature": 2}',
        '{"format": "x"}',
    ],
)
def test_odd_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(rageval.errors.RagevalError, match=r"odd\.json"):
        earlier_report([str(tmp_path / "odd.json")], Settings(), Beside())


def test_earlier_results_are_told_from_judgements_by_their_first_key() -> None:
    assert str(told(io.BytesIO(b'\xef\xbb\xbf{\n  "compared": 4'))) == "results"
    assert told(io.BytesIO(b'{"query_id": "q", "results": 1}')) is None


def test_a_file_that_lacks_what_a_page_shows_is_told_by_name(tmp_path: Path) -> None:
    said = json.loads(rageval_("compare", *RUNS, "-m", MEASURES, "--format", "json").stdout)
    for pair in (
        said["pairs"][0] | {"p": "small"},
        {"verdict": "higher", "run": "a", "other": "b", "measure": "m"},
    ):
        (tmp_path / "said.json").write_text(json.dumps({**said, "pairs": [pair]}))
        done = rageval_("report", str(tmp_path / "said.json"), "-o", str(tmp_path / "r.html"), code=2)
        assert "said.json: has only a part" in done.stderr


def test_slices_that_were_printed_are_shown(tmp_path: Path) -> None:
    options = ["--by", "domain", "--questions", str(ROOT / "examples/data/answers/crag.jsonl")]
    file = tmp_path / "slices.json"
    file.write_text(rageval_(CRAG, "-m", "crag_score", *options, "--format", "json").stdout)
    found = reported(tmp_path, str(file))
    assert found["slices"] == reported(tmp_path, CRAG, "-m", "crag_score", *options)["slices"]
    assert 'class="heat"' in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_of_a_measure_that_is_good_when_low_the_lower_run_is_the_better_one(tmp_path: Path) -> None:
    file = tmp_path / "compared.json"
    shared = [*RUNS, "-m", "hole@10,recall@10", "--test", "t", "--level", "0.1"]
    file.write_text(rageval_("compare", *shared, "--format", "json").stdout)
    direct = reported(tmp_path, *shared)
    assert any(cell["better_than"] for cell in direct["cells"] if cell["measure"] == "hole@10")
    found = reported(tmp_path, str(file))
    assert [c["better_than"] for c in found["cells"]] == [c["better_than"] for c in direct["cells"]]
