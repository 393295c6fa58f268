"""`rageval validate --fix`: nothing invented, citations lead where they led, the input untouched."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rageval.files.answers import read_answers
from rageval.records import Answer
from test_bad_input import Outcome, command
from test_validate import TREC, Json, cites, record, reply, segment

Fixer = Callable[..., Outcome]


@pytest.fixture(name="fix")
def fixer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fixer:
    """Repair `file`, made of these records (or raw bytes), into `out`."""
    monkeypatch.chdir(tmp_path)
    Path("topics").write_text("1\tone\n2\ttwo\n")

    def fix(track: str, *records: Any, out: str = "out") -> Outcome:
        lines = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
        Path("file").write_bytes(b"\n".join(lines) + b"\n")
        return command("validate", "file", "--track", track, "--topics", "topics", "--fix", out)

    return fix


def fixed(line: int = 0) -> Json:
    fixed_record: Json = json.loads(Path("out").read_text().splitlines()[line])
    return fixed_record


def cited(record: Json) -> list[list[Any]]:
    return [sentence["citations"] for sentence in record["answer"]]


def test_ids_as_citations_stay_ids_where_the_track_takes_them(fix: Fixer) -> None:
    a, b = map(segment, range(2))
    changes = {"references": [a, a, b]} | reply([{"text": "x", "citations": [b, 2, a]}])
    fix("rag25", record("rag25", 1, **changes), record("rag25", 2))
    assert cited(fixed()) == [[b, a]]
    fix("rag24", record("rag24", 1, **changes), record("rag24", 2))
    assert cited(fixed()) == [[1, 0]]


@pytest.mark.parametrize("track", TREC)
@pytest.mark.parametrize("nowhere", [2, -1, "x", None, True, 1.0, [0], {"a": 1}])
def test_citations_that_lead_nowhere_go_and_are_told(fix: Fixer, track: str, nowhere: Any) -> None:
    outcome = fix(track, record(track, 1, **cites(1, nowhere, 0)), record(track, 2))
    assert cited(fixed())[1] == [1, 0]
    shown = repr(nowhere) if isinstance(nowhere, str) else json.dumps(nowhere, separators=(",", ":"))
    assert outcome.out.startswith(
        f"file:1: fixed: answer[1]: dropped the citation {shown}, which has no reference\n"
    )
    assert outcome.code == 0


@pytest.mark.parametrize("track", TREC)
def test_repeated_citations_go(fix: Fixer, track: str) -> None:
    fix(track, record(track, 1, **cites(1, 1, 0, 1)), record(track, 2))
    assert cited(fixed())[1] == [1, 0]


def test_the_first_three_citations_are_the_strongest(fix: Fixer) -> None:
    shards = [f"shard_0_{index}" for index in range(5)]
    outcome = fix("rag26", record("rag26", 1, references=shards, **cites(4, 4, 1, 0, 2)), record("rag26", 2))
    assert cited(fixed())[1] == [4, 1, 0]
    assert "file:1: fixed: answer[1]: dropped the citation 2, beyond the limit of 3\n" in outcome.out


def test_a_first_sentence_that_just_fits_stays_alone(fix: Fixer) -> None:
    parts = reply([{"text": "word " * 400, "citations": [0, 1]}, {"text": "more", "citations": []}])
    fix("rag25", record("rag25", 1, **parts), record("rag25", 2))
    assert len(fixed()["answer"]) == 1


def test_no_answer_is_emptied(fix: Fixer) -> None:
    parts = reply([{"text": "word " * 401, "citations": [0, 1]}, {"text": "more", "citations": []}])
    outcome = fix("rag25", record("rag25", 1, **parts), record("rag25", 2))
    assert outcome.out.splitlines() == [
        "out:1: error: expected at most 400 words (nfkc), found 402",
        "out: 1 error and 0 warnings in 2 answers",
    ]
    assert outcome.code == 1
    assert fixed() == record("rag25", 1, **parts)


def test_of_too_many_references_those_go_that_nothing_cites(fix: Fixer) -> None:
    many = [segment(index) for index in range(25)]
    outcome = fix("rag24", record("rag24", 1, references=many, **cites(24, 20)), record("rag24", 2))
    assert fixed()["references"] == [*many[:18], many[20], many[24]]
    assert cited(fixed()) == [[0, 1], [19, 18]]
    assert "dropped 5 references that no sentence cites, as 20 are allowed" in outcome.out
    fix("rag24", record("rag24", 1, references=many[:21]), record("rag24", 2))
    assert fixed()["references"] == many[:20]
    every = reply([{"text": "x", "citations": list(range(25))}])
    outcome = fix("rag24", record("rag24", 1, references=many, **every), record("rag24", 2))
    assert "out:1: error: expected at most 20 references, found 25" in outcome.out


def test_broken_lines_stay_and_are_told(fix: Fixer) -> None:
    bad = [
        b"{",
        b"[1]",
        b'{"a": "\xe9"}',
        b'{"references": "x", "answer": []}',
        b'{"references": [], "answer": [3]}',
    ]
    outcome = fix("rag24", record("rag24", 1), *bad, record("rag24", 2, response_length=7))
    assert Path("out").read_bytes().splitlines()[1:6] == bad
    assert outcome.out.startswith("file:7: fixed: set `response_length` to 3\nout:2: error: ")
    assert outcome.code == 1


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("file", "file: is also an input"),
        ("link", "link: is also an input"),
        ("hard", "hard: is also an input"),
        ("./file", "is also an input"),
        ("topics", "topics: is also an input"),
        (".", ".: is a folder, expected a file"),
        ("/dev/null", "/dev/null: must be an ordinary file"),
        ("-", "--fix -: standard output is used for findings"),
        ("no/such/place", "no such folder: no/such"),
    ],
)
def test_places_that_are_not_written_to(fix: Fixer, out: str, message: str) -> None:
    line = json.dumps(record("rag24", response_length=9)).encode()
    Path("file").write_bytes(line + b"\n")
    Path("link").symlink_to("file")
    os.link("file", "hard")
    before = sorted(Path().iterdir())
    outcome = fix("rag24", line, out=out)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.out == ""
    assert Path("file").read_bytes() == line + b"\n"
    assert Path("topics").read_text() == "1\tone\n2\ttwo\n"
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("track", ["run", "liverag"])
def test_tracks_in_which_nothing_can_be_repaired(fix: Fixer, track: str) -> None:
    outcome = fix(track, b"1 Q0 d 1 1.0 t")
    assert (outcome.code, outcome.out) == (2, "")
    assert "can be repaired" in outcome.err
    assert not Path("out").exists()


@pytest.mark.slow
def test_the_copy_is_whole_even_if_nobody_reads_on(fix: Fixer) -> None:
    fix("rag24", *[record("rag24", response_length=9)] * 5000)
    Path("out").unlink()
    words = f"{sys.executable} -m rageval validate file --track rag24 --fix out | head -1"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.run(
        ["bash", "-c", words], capture_output=True, text=True, env=environment, timeout=60
    )
    assert (process.stdout.count("\n"), process.stderr) == (1, "")
    assert Path("out").read_text().count("\n") == 5000


# --- whatever is repaired


def answer(line: bytes) -> Answer:
    (parsed,) = read_answers(io.BytesIO(line))
    return parsed
