"""Requests out, replies in: what any engine makes of the files is what a live job would have judged."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from fair_judge import fair, write_lines
from llm_server import Asked, LlmServer, Saying, openai_reply
from rageval.judges.exchange import engine_of
from rageval.judges.store import Store
from test_bad_input import Outcome, assert_refused, command
from test_judge_command import ANSWERS, CALLS, CRAG, NUGGETS, PASSAGES, QUESTIONS, labels

Line = dict[str, Any]
ENGINE = "vllm,version=0.11.0,dtype=bfloat16,parallelism=tp2"


@pytest.fixture(autouse=True)
def _files(place: Path) -> None:
    write_lines(questions=QUESTIONS, answers=ANSWERS, nuggets=NUGGETS, passages=PASSAGES)
    Path("run").write_text("".join(f"q1 Q0 d{number} {number} {99 - number} r\n" for number in range(12)))


def handed_out(path: str = "out.jsonl") -> list[Line]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def answered(lines: Iterable[Line], say: Callable[[Asked], Saying] = fair) -> list[Line]:
    """What an engine that reads such files writes."""
    results = []
    for line in lines:
        if "params" in line:
            saying = say(Asked("/v1/messages", {}, line["params"]))
            results.append(
                {"custom_id": line["custom_id"], "result": {"type": "succeeded", "message": saying.body}}
            )
            continue
        saying = say(Asked("/v1/chat/completions", {}, line["body"]))
        response = {"status_code": saying.status, "request_id": "r", "body": saying.body}
        results.append({"id": "v", "custom_id": line["custom_id"], "response": response, "error": None})
    return results


def write(name: str, lines: Iterable[Line]) -> None:
    Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines))


def out(*more: str) -> Outcome:
    return command(*CRAG, "--requests-out", "out.jsonl", *more)


def test_in_parts_in_any_order_and_twice_it_is_what_a_live_job_judges(server: LlmServer) -> None:
    for model in ("openai:m", "anthropic:m"):
        store = ("--judge", model, "--store", f"{model[:4]}.sqlite")
        outcome = out(*store)
        assert (outcome.code, outcome.out) == (0, "")
        assert f"{CALLS} requests without a reply are in out.jsonl" in outcome.err
        replies = answered(handed_out())
        random.Random(1).shuffle(replies)
        assert {line["custom_id"] for line in replies} == {line["custom_id"] for line in handed_out()}
        write("first", replies[:4])
        # Some are missing, which is said, and only they are handed out.
        outcome = out(*store, "--replies-in", "first", "-o", "judged")
        assert outcome.code == 3
        assert f"4 lines of replies: 4 are new in the store\nrageval: {CALLS - 4} requests" in outcome.err
        assert {line["custom_id"] for line in handed_out()} == {line["custom_id"] for line in replies[4:]}
        write("second", [*replies[2:7], *replies[2:4]])
        write("third", replies[6:])
        outcome = command(*CRAG, *store, "--replies-in", "second", "--replies-in", "third", "-o", "judged")
        assert outcome.code == 0
        assert "11 lines of replies: 6 are new in the store" in outcome.err
        assert "3 are further replies to the same request" in outcome.err
        assert "2 were stored before" in outcome.err
        outcome = out(*store)
        assert "0 requests" in outcome.err
        assert handed_out() == []
    assert not server.requests
    live = command(*CRAG, "--judge", "openai:m", "-o", "live", "--store", "live.sqlite")
    assert live.code == 0
    assert labels() == labels("live")


def test_what_is_no_reply_of_this_job_is_counted_and_named(server: LlmServer) -> None:
    out("--judge", "openai:m")
    lines = handed_out()
    replies = answered(lines)
    error = {"custom_id": lines[1]["custom_id"], "response": None, "error": {"message": "out of memory"}}
    cut = {**replies[2], "response": {"status_code": 200, "body": openai_reply('{"label', "length")}}
    strangers = [{**replies[3], "custom_id": name} for name in ("f" * 64, "\ud800")]
    write("bad", [replies[0], error, cut, *strangers, {"who": 1}])
    with Path("bad").open("a") as file:
        file.write(json.dumps(replies[4])[:50])
    outcome = command(*CRAG, "--judge", "openai:m", "--replies-in", "bad", "-o", "judged")
    assert outcome.code == 3
    for line in (
        "7 lines of replies: 2 are new in the store",
        "2 lines hold no reply: bad, line 6: no custom_id or key, bad, line 7: not JSON, or cut off",
        f"2 answer no request of this job: \\ud800, {'f' * 64}",
        "1 replies are truncated",
        "1 replies are error",
        "out of memory",
    ):
        assert line in outcome.err
    # Of several engines' replies the first that is one counts; what failed elsewhere goes out again.
    write("more", answered(lines[1:2]))
    outcome = command(*CRAG, "--judge", "openai:m", "--replies-in", "bad", "--replies-in", "more")
    assert "8 lines of replies: 1 are new in the store" in outcome.err


def test_second_tries_and_next_steps_go_out_in_the_next_round(server: LlmServer) -> None:
    def mumbles(asked: Asked) -> Saying:
        is_told = "could not be used" in asked.body["messages"][-1]["content"]
        return fair(asked) if is_told else Saying(body=openai_reply("Well."))

    for canaries, rounds in (("0", 2), ("6", 2)):
        store = ("--judge", "openai:m", "--store", f"{canaries}.sqlite", "--canaries", canaries)
        write("replies", [])
        for _ in range(rounds):
            out(*store, "--replies-in", "replies")
            write("replies", answered(handed_out(), mumbles))
        assert out(*store, "--replies-in", "replies", "-o", "judged").code == 0
        assert handed_out() == []
        assert set(labels().values()) == {"accurate", "incorrect", "missing"}
    # A rubric of several steps: each needs the list that the one before made.
    words = ("judge", "nuggetize-iterative", "--questions", "questions", "--passages", "passages")
    words = (*words, "--run", "run", "--judge", "openai:m", "--requests-out", "out.jsonl")
    write("replies", [])
    while command(*words, "--replies-in", "replies", "-o", "nuggets").code == 3:
        write("replies", answered(handed_out()))
    command(*words[:-2], "-o", "live", "--store", "live.sqlite")
    assert Path("nuggets").read_text() == Path("live").read_text()


def test_a_table_of_requests_and_rows_of_replies(server: LlmServer) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    out("--judge", "openai:m")
    lines = {line["custom_id"]: line["body"] for line in handed_out()}
    assert out("--judge", "openai:m", "--requests-out", "out.parquet").code == 2  # twice, differently
    command(*CRAG, "--judge", "openai:m", "--requests-out", "out.parquet")
    rows = parquet.read_table("out.parquet").to_pylist()
    assert {row["key"] for row in rows} == lines.keys()
    replies = []
    for row in rows:
        body = {"model": row["model"], "messages": row["messages"], **json.loads(row["parameters"])}
        # Fences are drawn for each writing; all else is what the lines hold.
        assert {**body, "messages": 0} == {**lines[row["key"]], "messages": 0}
        text = fair(Asked("", {}, body)).body["choices"][0]["message"]["content"]
        facts = {"engine": "sglang", "version": "0.6", "finish_reason": "stop", "output_tokens": 7}
        replies.append({"key": row["key"], "text": text, **facts})
    parquet.write_table(pyarrow.Table.from_pylist(replies[:5]), "one.parquet")
    write("two", [{"key": row["key"], "text": row["text"]} for row in replies[5:]])
    files = ("--replies-in", "one.parquet", "--replies-in", "two", "--made-by", ENGINE)
    assert command(*CRAG, "--judge", "openai:m", *files, "-o", "judged").code == 0
    with Store("store.sqlite", read_only=True) as store:
        assert store.stats()["engines"] == {"sglang 0.6": 5, "vllm 0.11.0 bfloat16 tp2": CALLS - 5}
        assert sorted(row.reply.usage.output for row in store.rows()) == [0] * (CALLS - 5) + [7] * 5
    # Cells of other types are no replies, and no reason to stop.
    odd = {"key": [replies[0]["key"]], "text": [b"\xff"], "input_tokens": [float("nan")]}
    parquet.write_table(pyarrow.table(odd), "odd.parquet")
    odd_words = ("--replies-in", "odd.parquet", "--store", "odd.sqlite", "-o", "odd")
    assert command(*CRAG, "--judge", "openai:m", *odd_words).code == 3
    parquet.write_table(pyarrow.table({"text": ["x"]}), "none.parquet")
    assert_refused(command(*CRAG, "--judge", "openai:m", "--replies-in", "none.parquet"))


@pytest.mark.slow
def test_a_sample_is_judged_twice(server: LlmServer) -> None:
    count = 400
    write_lines(
        questions=[
            {"query_id": f"q{n}", "question": f"What is {n}?", "answer": f"n{n}"} for n in range(count)
        ],
        answers=[
            {"query_id": f"q{n}", "run_id": "ours", "answer": f"It is n{n}." if n % 2 else "It is m."}
            for n in range(count)
        ],
    )
    draws = random.Random(2)

    def moody(asked: Asked) -> Saying:
        reply = fair(asked)
        return (
            reply
            if draws.random() < 0.8
            else Saying(body=openai_reply('{"evidence": "", "reason": "", "label": "incorrect"}'))
        )

    more = ("--judge", "openai:m", "--again", "25%")
    out(*more)
    lines = handed_out()
    assert len({line["custom_id"] for line in lines}) == len(lines)
    twice = len(lines) - count - 6
    assert 70 <= twice <= 130
    write("replies", answered(lines, moody))
    outcome = command(*CRAG, *more, "--replies-in", "replies", "-o", "judged")
    assert outcome.code == 0
    assert len(labels()) == count
    assert f"asked again: {twice} of {twice} judgements have two verdicts; " in outcome.err
    share = float(outcome.err.partition("two verdicts; ")[2].partition(" %")[0])
    # A fifth of the verdicts on half of the items is wrong: 0.5 + 0.5 · 0.68 of the pairs agree.
    assert 72 < share < 94
    # The same items are asked each time.
    assert "0 requests" in out(*more).err


def test_what_cannot_be_is_refused(server: LlmServer) -> None:
    for words in (
        ("--requests-out", "o", "--batch"),
        ("--requests-out", "o", "--max-calls", "5"),
        ("--made-by", "vllm"),
        ("--replies-in", "questions", "--made-by", "vllm,color=red"),
        ("--replies-in", "missing"),
        ("--requests-out", "o", "--then", "openai:n", "--ask", "0.5"),
        ("--again", "0"),
        ("--again", "many"),
        ("--again", "0.5", "--against", "crag"),
    ):
        assert_refused(command(*CRAG, "--judge", "openai:m", *words))
    assert engine_of("vllm, parallelism=tp2") == {"engine": "vllm", "parallelism": "tp2"}
