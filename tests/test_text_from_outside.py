"""What models, servers and files may say: nothing of it makes a traceback, a broken file, or a long wait."""

from __future__ import annotations

import json
import re
import sqlite3
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fair_judge import fair
from llm_server import LlmServer, Saying, openai_reply
from model_checks import environment
from rageval.judges import _exact
from rageval.judges._exact import first_stage, folded
from rageval.judges.judge import _is_quoted
from rageval.judges.offline import _lexical_evidence
from rageval.judges.store import _checksum
from rageval.text import compatible, length, replace_surrogates
from test_bad_input import command

MARKS = st.text(
    st.sampled_from("a\u0301\u0323\u3099\uff9e\u0344\u1100\u1161\u11a8\u00bd\U0001f642\u034f–"), max_size=30
)


@given(MARKS)
def test_compatible_forms_are_unicodes_own(text: str) -> None:
    assert compatible(text) == unicodedata.normalize("NFKC", text)


def test_long_runs_that_hold_no_marks_are_left_as_they_are() -> None:
    assert compatible("–" * 100 + "\U0001f642" * 100) == "–" * 100 + "\U0001f642" * 100


@given(st.text(st.characters() | st.characters(categories=["Cs"])))
def test_what_is_mended_can_be_written_and_nothing_else_changes(text: str) -> None:
    assert replace_surrogates(text).encode().decode() == replace_surrogates(text)
    assert len(replace_surrogates(text)) == len(text)
    assert all(
        a == b or "\ud800" <= b <= "\udfff" for a, b in zip(replace_surrogates(text), text, strict=True)
    )


@given(st.text("ab -.", max_size=8), st.text("ab -.", min_size=1, max_size=3))
def test_whole_words_are_what_a_pattern_finds(text: str, expected: str) -> None:
    if folded(expected):
        pattern = rf"(?<!\w){re.escape(folded(expected))}(?!\w)"
        assert _exact.contains(text, [expected]) == bool(re.search(pattern, folded(text)))


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


def test_a_store_that_holds_half_a_character_is_read(server: LlmServer) -> None:
    """As a version wrote it that kept replies as they came."""
    server.default = lambda asked: Saying(body=openai_reply(LABEL % HALF))
    assert command(*CRAG, "--judge", "openai:m", "--quiet", "-o", "judged").code == 0
    with sqlite3.connect("store.sqlite") as connection:
        for key, reply, *more in connection.execute(
            "SELECT key, reply, created, job FROM replies"
        ).fetchall():
            spoilt = json.dumps(json.loads(reply) | {"detail": "\ud800", "served": "\udfff"})
            connection.execute(
                "UPDATE replies SET reply = ?, checksum = ? WHERE key = ?",
                (spoilt, _checksum(key, spoilt, *more), key),
            )
    connection.close()
    calls = len(server.requests)
    outcome = command(*CRAG, "--judge", "openai:m", "--quiet", "-o", "judged")
    assert (outcome.code, outcome.err) == (0, "")
    assert len(server.requests) == calls
    assert command("store", "export", "-o", "replies").code == 0


@pytest.mark.parametrize("rubric", ["nuggetize", "nuggetize-iterative"])
def test_nuggets_of_odd_texts_are_written(server: LlmServer, rubric: str) -> None:
    pytest.importorskip("openai")
    reply = json.dumps({"nuggets": [f"one {text}." for text in ("\ud800", "\x00", "\u2028", "\u202e")]})
    server.default = lambda asked: Saying(body=openai_reply(reply))
    words = ("judge", rubric, "--questions", "questions", "--run", "run", "--passages", "passages", "--quiet")
    outcome = command(*words, "--judge", "openai:m", "-o", "written")
    assert (outcome.code, outcome.err) == (0, "")
    written = json.loads(Path("written").read_text(encoding="utf-8"))
    texts = [nugget["text"] for nugget in written["nuggets"]]
    assert texts == ["one \ufffd.", "one \x00.", "one \u2028.", "one \u202e."]


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
