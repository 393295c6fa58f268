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
from hypothesis import given
from hypothesis import strategies as st

from rageval.checking.repairs import _repaired
from rageval.checking.tracks import Allowed, track_named, validate_answers
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


def bounds(track: str) -> Allowed:
    limits = track_named(track).bounds
    assert limits is not None
    return limits


def cited(record: Json) -> list[list[Any]]:
    return [sentence["citations"] for sentence in record["answer"]]


@pytest.mark.parametrize("track", TREC)
def test_a_file_without_fault_stays_as_it_is(fix: Fixer, track: str) -> None:
    line = json.dumps(record(track, 2), indent=None).replace(", ", " ,\t").encode() + b"\r"
    outcome = fix(track, record(track, 1), b"", line)
    assert outcome == Outcome(0, "out: 2 answers, fine\n", "")
    assert Path("out").read_bytes() == Path("file").read_bytes()


def test_duplicate_references_go_and_citations_are_turned(fix: Fixer) -> None:
    a, b, c = map(segment, range(3))
    parts = reply([{"text": "x", "citations": [3, 1]}, {"text": "y", "citations": [4, 0]}])
    outcome = fix(
        "rag24",
        record("rag24", 1, references=[a, a, b, b, c], response_length=2, **parts),
        record("rag24", 2),
    )
    assert fixed()["references"] == [a, b, c]
    assert cited(fixed()) == [[1, 0], [2, 0]]
    assert outcome.out == (
        "file:1: fixed: dropped 2 references that appear twice\n"
        "file:1: fixed: turned 3 citations to the new positions of their documents\n"
        "out: 2 answers, fine\n"
    )
    assert outcome.code == 0


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


def test_whole_sentences_go_from_the_end(fix: Fixer) -> None:
    parts = reply([{"text": "word " * count, "citations": [0, 1]} for count in (150, 250, 1, 100)])
    outcome = fix("rag24", record("rag24", 1, **parts), record("rag24", 2))
    assert [len(sentence["text"].split()) for sentence in fixed()["answer"]] == [150, 250]
    assert fixed()["response_length"] == 400
    assert outcome.out.startswith("file:1: fixed: dropped answer[3], leaving 401 words: 'word word")
    assert "file:1: fixed: set `response_length` to 400\n" in outcome.out
    assert outcome.code == 0


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


def test_the_length_is_put_right_or_added(fix: Fixer) -> None:
    for said_length in (9, "3", None, 3.0, True):
        fix("rag24", record("rag24", 1, response_length=said_length), record("rag24", 2))
        assert fixed()["response_length"] == 3
        assert isinstance(fixed()["response_length"], int)


def test_what_is_not_repaired_stays_byte_for_byte(fix: Fixer) -> None:
    line = (
        b'{"extra": {"n": 1.50,  "s":"\\u00e9"}, "run_id":"r","topic_id":1, "topic": "one",'
        b' "references": ["%b", "%b"], "response_length": 1, "answer": [{"z": 1e2, "text":  "\\u0061",'
        b' "citations": [1, 1], "more": [ ]}], "last": 100000000000000000000000}'
    ) % (segment(0).encode(), segment(1).encode())
    fix("rag24", line, record("rag24", 2))
    expected = line.replace(b"[1, 1]", b"[1]")
    changed = Path("out").read_bytes().splitlines()[0]
    assert json.loads(changed) == json.loads(expected)
    for kept in (b'{"n": 1.50,  "s":"\\u00e9"}', b'"\\u0061"', b"1e2", b"[ ]", b"100000000000000000000000"):
        assert kept in changed
    assert list(json.loads(changed)) == list(json.loads(expected))
    assert list(json.loads(changed)["answer"][0]) == ["z", "text", "citations", "more"]


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


def test_a_copy_is_there_whole_or_not_at_all(fix: Fixer) -> None:
    Path("out").write_text("before")
    good = json.dumps(record("rag24")).encode()
    Path("file").write_bytes(good + b"\n" + b"x" * 2**21)
    outcome = command("validate", "file", "--track", "rag24", "--fix", "out", "--limit", "record=1M")
    assert outcome.code == 2
    assert Path("out").read_text() == "before"
    assert sorted(map(str, Path().iterdir())) == ["file", "out", "topics"]
    assert fix("rag24", good).code == 1
    assert Path("out").read_bytes() == good + b"\n"


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


def test_a_stream_is_repaired_too(fix: Fixer) -> None:
    line = json.dumps(record("rag24", response_length=9)).encode()
    outcome = command("validate", "-", "--track", "rag24", "--fix", "copy", stdin=line)
    assert outcome.out.startswith("<stdin>:1: fixed: set `response_length` to 3\n")
    assert json.loads(Path("copy").read_text()) == record("rag24")


# --- whatever is repaired

DOCS = [segment(index) for index in range(4)]
CITATIONS = st.lists(st.one_of(st.integers(-1, 7), st.sampled_from([*DOCS, "x"])), max_size=6)
SENTENCES = st.lists(
    st.tuples(st.sampled_from(["one", "two words", "word " * 399]), CITATIONS), min_size=1, max_size=5
)


@pytest.mark.parametrize("track", TREC)
@given(references=st.lists(st.sampled_from(DOCS), max_size=7), sentences=SENTENCES)
def test_citations_lead_where_they_led(track: str, references: list[str], sentences: list[Any]) -> None:
    parts = [{"text": text, "citations": cited} for text, cited in sentences]
    line = json.dumps(record(track, 1, references=references, answer=parts)).encode()
    second, _ = _repaired(line, bounds(track))
    assert _repaired(second, bounds(track)) == (second, [])  # a second repair finds nothing to do
    before, after = answer(line), answer(second)
    assert sorted(after.references) == sorted(set(before.references))
    assert 1 <= len(after.sentences) <= len(before.sentences)
    for old, new in zip(before.sentences, after.sentences, strict=False):
        docs = list(dict.fromkeys(doc for doc in old.citations if doc is not None))
        assert (new.text, new.citations) == (old.text, tuple(docs[: bounds(track).citations]))
    left = [
        finding.message
        for finding in validate_answers(io.BytesIO(second), track_named(track))
        if finding.level == "error"
    ]
    assert left == []


def answer(line: bytes) -> Answer:
    (parsed,) = read_answers(io.BytesIO(line))
    return parsed
