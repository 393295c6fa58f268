"""`rageval validate --track run`: what cannot be scored is an error, what surprises is a warning."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from rageval.checking.runs import validate_run
from test_bad_input import BAD_SCORES, Outcome, command

GOOD = b"1 Q0 a 1 3.0 t\n1 Q0 b 2 2.0 t\n2 Q0 a 1 1e-3 t\n"
Checker = Callable[..., Outcome]


@pytest.fixture(name="check")
def checker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checker:
    monkeypatch.chdir(tmp_path)

    def check(content: bytes, *options: str) -> Outcome:
        Path("file").write_bytes(content)
        return command("validate", "file", "--track", "run", *options)

    return check


def test_documents_ranked_twice(check: Checker) -> None:
    outcome = check(GOOD[:30] + b"1 Q0 a 3 1 t\n")
    assert outcome.out.startswith(
        "file:3: error: document 'a' is ranked twice for topic '1', first in line 1\n"
    )
    scattered = check(GOOD + b"1 Q0 a 3 1 t\n")
    assert scattered.out.startswith(
        "file:4: warning: topic '1' continues, begun in line 1; put its rows together\n"
        "file:4: error: document a is ranked twice for query 1, first in line 1"
    )
    assert scattered.code == 1
    assert (
        "duplicate documents were not checked"
        in command("validate", "-", "--track", "run", stdin=GOOD + b"1 Q0 c 3 1 t\n").out
    )


@pytest.mark.parametrize("score", BAD_SCORES)
def test_scores_that_are_no_numbers_are_errors(check: Checker, score: str) -> None:
    outcome = check(GOOD + f"3 Q0 a 1 {score} t\n".encode())
    assert outcome.out.startswith("file:4: error: expected ")
    assert outcome.code == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (b"3 Q0 a 1 2 t\n3 Q0 b 2 2 t\n", "file:4: warning: equal scores in 1 topic, first in '3'"),
        (
            b"3 Q0 a 1 1 t\n3 Q0 b 2 2 t\n",
            "file:4: warning: the rank column contradicts the scores in 1 topic",
        ),
        (
            b"3 Q0 a 2 2 t\n3 Q0 b 1 1 t\n",
            "file:4: warning: the rank column contradicts the scores in 1 topic",
        ),
        (b"3 Q0 a 1 2 u\n4 Q0 b 2 1 v\n", "file:4: warning: run tag 'u', expected 't' as in the rows before"),
        (
            b"".join(b"3 Q0 d%d %d %d t\n" % (rank, rank, 2000 - rank) for rank in range(1001)),
            "file:4: warning: 1,001 documents for topic '3', TREC allows 1,000",
        ),
    ],
)
def test_what_a_run_may_do_and_its_author_should_know(check: Checker, rows: bytes, message: str) -> None:
    outcome = check(GOOD + rows)
    assert outcome.out.startswith(message)
    assert outcome.out.count("\n") == 2
    assert outcome.code == 0


def test_topics_that_differ_from_the_run_are_warned_of(check: Checker) -> None:
    Path("topics").write_text("1\tone\n9\tnine\n")
    outcome = check(GOOD, "--topics", "topics")
    assert outcome.out.splitlines()[:2] == [
        "file:3: warning: unknown topic '2'",
        "file:3: warning: no documents for 1 topic, such as '9'",
    ]
    assert outcome.code == 0


def test_a_run_of_other_topics_is_refused(check: Checker) -> None:
    Path("topics").write_text("2024-1\tone\n2024-2\ttwo\n")
    outcome = check(GOOD, "--topics", "topics")
    last = "error: none of 2 topics, such as '1', is among those asked; expected topics such as '2024-1'"
    assert outcome.out.splitlines()[-2] == f"file:3: {last}"
    assert outcome.code == 1


def test_several_files_are_checked_whatever_one_of_them_is(check: Checker) -> None:
    Path("topics").write_text("1\tone\n2\ttwo\n")
    Path("bad run").write_bytes(GOOD + b"1 Q0 x 5\n")
    outcome = check(GOOD, "bad run", "--topics", "topics")
    assert outcome.out.splitlines() == [
        "file: 3 rows, fine",
        "bad run:4: error: expected 6 columns (qid Q0 docid rank score tag), found 4: '1 Q0 x 5'",
        "bad run: 1 error and 0 warnings in 4 rows",
        "1 of 2 files have no errors",
    ]
    assert outcome.code == 1
    Path("empty").write_bytes(b"")
    outcome = check(GOOD, "empty", "nowhere", "bad run")
    assert outcome.code == 2
    assert [line.split(":")[1] for line in outcome.err.splitlines()] == [" empty", " nowhere"]
    assert outcome.out.endswith("1 of 4 files have no errors\n")
    assert "--fix: repairs one file, found 2" in check(GOOD, "bad run", "--fix", "out").err
    Path("topics").write_text("{")
    assert check(GOOD, "bad run", "--topics", "topics").err.count("topics") == 1


def test_comments_are_an_error_data_or_skipped(check: Checker) -> None:
    assert "file:1: error: begins with '#'; use --comments skip" in check(b"#1 Q0 a 1 1 t\n").out
    assert check(b"#1 Q0 a 1 1 t\n", "--comments", "data").out == "file: 1 row, fine\n"
    assert check(b"# a comment\n1 Q0 a 1 1 t\n", "--comments", "skip").out == "file: 1 row, fine\n"


@pytest.mark.nightly
def test_memory_is_that_of_one_topic(tmp_path: Path) -> None:
    rows = b"".join(b"topic Q0 document-%05d 1 %d t\n" % (index, 1000 - index) for index in range(500))
    with (tmp_path / "run").open("wb") as stream:
        for topic in range(500):
            stream.write(rows.replace(b"topic", b"%d" % topic))
    tracemalloc.start()
    assert list(validate_run(str(tmp_path / "run"))) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 24 * 2**20  # a stretch of the file, of which there are seven
