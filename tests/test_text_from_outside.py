"""What models, servers and files may say: nothing of it makes a traceback, a broken file, or a long wait."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fair_judge import fair
from llm_server import LlmServer, Saying, openai_reply
from model_checks import environment
from rageval.judges import _exact
from rageval.judges._exact import first_stage
from rageval.judges.judge import _is_quoted
from rageval.judges.offline import _lexical_evidence
from rageval.text import compatible, length
from test_bad_input import command


def test_long_runs_that_hold_no_marks_are_left_as_they_are() -> None:
    assert compatible("–" * 100 + "\U0001f642" * 100) == "–" * 100 + "\U0001f642" * 100


# Texts that take a reader the square of their length who is not careful, by what they are made of.
HOSTILE: dict[str, Callable[[int], str]] = {
    "marks": lambda size: "a" + "\u0301" * (size // 2) + "\u0323" * (size // 2),
    "half-width marks": lambda size: "a" + "\uff9e" * (size // 2) + "\u0323" * (size // 2),
    "alternating marks": lambda size: "\u0301\u0323" * (size // 2),
    "long ligatures": lambda size: "\ufdfa" * (size // 18),
    "pieces": lambda size: "a…" * (size // 2),
    "blanks": lambda size: "a" + " " * size + "b",
    "digits": lambda size: "1," * (size // 2),
    "one number": lambda size: "9" * size,
    "dashes": lambda size: "1-" * (size // 2),
    "ends": lambda size: "." * size,
    "quotes": lambda size: "'" * size,
    "hyphens": lambda size: "a-" * (size // 2),
    "one word": lambda size: "ings" * (size // 4),
}
READERS: dict[str, Callable[[str], Any]] = {
    "evidence": lambda text: _is_quoted(text, text + "x"),
    "evidence in pieces": lambda text: _is_quoted(text, text[::-1]),
    "first stage": lambda text: first_stage(text, [text + "x", "y"]),
    "exact": lambda text: _exact.exact(text, [text + "x"]),
    "contains": lambda text: _exact.contains(text, ["ab", text[: len(text) // 2] + "z"]),
    "number": lambda text: _exact.number(text, ["1", text[:100]]),
    "token_f1": lambda text: _exact.token_f1(text, [text, "x"]),
    "lexical": lambda text: _lexical_evidence("a fact of 1 kind", text),
    "nugget": lambda text: _lexical_evidence(text, "a fact of 1 kind"),
    "length": lambda text: [length([text], rule) for rule in ("nfkc", "split")],
}
SIZE = 160_000


def seconds(read: Callable[[str], Any], text: str) -> float:
    before = time.process_time()
    read(text)
    return time.process_time() - before


@pytest.mark.nightly
@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("reader", READERS)
def test_eight_times_the_text_takes_about_eight_times_as_long(reader: str, text: str) -> None:
    """Sixty-four times if it were the square; what is done in a blink needs no comparison."""
    seconds(READERS[reader], "")  # what is imported at the first call is no part of it
    long = seconds(READERS[reader], HOSTILE[text](SIZE))
    if long > 0.5:
        short = HOSTILE[text](SIZE // 8)
        # Another text each time: what was read once may be remembered.
        assert long < 24 * min(seconds(READERS[reader], short + "x" * index) for index in range(3))


# What files may hold as JSON writes it, and what no text can be.
HALF = r"\ud800"
ODD = {
    "half": HALF,
    "NUL": r"\u0000",
    "turned": r"\u202e",
    "lines": r"\u2028\u0085\u000b",
    "tags": r"\udb40\udc41",
}
LABEL = '{"evidence": "", "reason": "so %s it is", "label": "incorrect"}'
PLACES = ("question", "gold", "answer", "passage", "nugget", "ids")
CRAG = ("judge", "crag", "answers", "--questions", "questions")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    monkeypatch.chdir(tmp_path)
    environment(monkeypatch, tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))
    write_files()
    with LlmServer(fair) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.openai)
        yield running


def write_files(**odd: str) -> None:
    """Material for any rubric, with something odd in some places."""
    odd = dict.fromkeys(PLACES, "") | odd
    q = f'"q1{odd["ids"]}"'
    for name, line in {
        "questions": f'{{"query_id": {q}, "question": "O{odd["question"]}?", "answer": "P{odd["gold"]}"}}',
        "answers": f'{{"query_id": {q}, "run_id": "r", "answer": "It is{odd["answer"]} Lyon."}}',
        "passages": f'{{"id": "d1", "text": "Lyon{odd["passage"]} is a town."}}',
        "nuggets": f'{{"query": "", "qid": {q}, "nuggets": [{{"text": "Paris{odd["nugget"]}"}}]}}',
    }.items():
        Path(name).write_text(line + "\n")
    Path("run").write_text("q1 Q0 d1 1 1 r\n")


@pytest.mark.slow
@pytest.mark.parametrize("text", [LABEL % text for text in (*ODD.values(), "\ud800", "\udfff\ud800")])
@pytest.mark.parametrize("batch", [False, True])
def test_odd_text_in_a_reply_is_written_and_read_again(server: LlmServer, text: str, batch: bool) -> None:
    """Live, in a batch, and from the store; the judgements are UTF-8 and can be scored."""
    server.default = lambda asked: Saying(body=openai_reply(text))
    words = (
        *CRAG,
        "--judge",
        "openai:m",
        "--quiet",
        *(("--batch", "--poll-every", "0.01") if batch else ()),
    )
    for _ in range(2):
        outcome = command(*words, "-o", "judged")
        assert (outcome.code, outcome.err) == (0, "")
        (row,) = map(json.loads, Path("judged").read_text(encoding="utf-8").strip().split("\n"))
        assert row["label"] == "incorrect"
        row["reason"].encode()
    assert command("judged", "-m", "crag_score").code == 0
    assert command("store", "export", "-o", "replies").code == 0
    assert command("store", "import", "replies", "--store", "other").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("place", PLACES)
def test_odd_text_in_a_file_is_judged_or_refused_with_its_line(
    server: LlmServer, place: str, what: str
) -> None:
    write_files(**{place: ODD[what]})
    common = ("--questions", "questions", "--judge", "openai:m", "--quiet", "-o", "judged", "--canaries", "0")
    for words in (
        ("judge", "crag", "answers"),
        ("judge", "nugget-assignment", "answers", "--nuggets", "nuggets"),
        ("judge", "relevance", "--run", "run", "--passages", "passages"),
    ):
        outcome = command(*words, *common)
        assert outcome.code in (0, 2)
        if outcome.code == 0:
            assert what != "half" or place not in ("question", "ids")
            Path("judged").read_text(encoding="utf-8")
        else:
            assert what == "half" or place == "ids"
            assert re.match(r"rageval: \w+:1: |rageval: query ", outcome.err)
            assert not re.search("[\x00-\x09\x7f-\x9f\u2028-\u202e\ud800-\udfff\U000e0041]", outcome.err)
            assert outcome.err.count("\n") == 1
    for asked in server.requests:
        assert all(line.isprintable() for line in asked.body["messages"][-1]["content"].split("\n"))
