"""A job in two shards, one of which is killed and run again: every item is paid for once."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from fair_judge import data_in, fair
from llm_server import Asked, LlmServer, Saying
from snippets import ROOT, blocks
from test_bad_input import command as done

pytestmark = pytest.mark.slow

ITEMS = 60
KILLED_AT = 12


def command(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "rageval", *words], cwd=folder)


def finished(folder: Path, *words: str) -> None:
    with command(folder, *words) as process:
        assert process.wait(60) == 0


@pytest.mark.nightly
def test_a_shard_that_is_lost_is_run_again_and_nothing_is_paid_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [
        {"query_id": f"q{number}", "question": f"Fact {number}?", "answer": f"fact {number}!"}
        for number in range(ITEMS)
    ]
    answers = [
        {"query_id": f"q{number}", "run_id": "r", "answer": f"fact {number}"} for number in range(ITEMS)
    ]
    for name, records in (("questions", asked), ("answers", answers)):
        (tmp_path / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    paid: Counter[str] = Counter()
    reached, is_lost = threading.Event(), threading.Event()

    def say(request: Asked) -> Saying:
        if sum(paid.values()) == KILLED_AT and not is_lost.is_set():
            reached.set()  # a call is under way, and nobody will ever read the answer
            is_lost.wait(60)
            return Saying(500)
        paid[data_in(request)["answer"]] += 1
        return fair(request)

    common = ["judge", "crag", "answers", "--questions", "questions", "--judge", "openai:m", "--quiet"]
    common += ["--canaries", "0", "--concurrency", "1"]
    one, two = (
        [*common, "--shard", f"{number}/2", "--store", f"{number}.sqlite", "-o", f"{number}"]
        for number in (1, 2)
    )
    with LlmServer(say) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-sentinel")
        with command(tmp_path, *one) as lost:
            assert reached.wait(60)
            os.kill(lost.pid, signal.SIGKILL)
        is_lost.set()
        assert not (tmp_path / "1").exists()
        finished(tmp_path, *one)
        finished(tmp_path, *two)
        finished(tmp_path, "store", "merge", "1.sqlite", "2.sqlite", "-o", "all.sqlite")
        finished(tmp_path, *common, "--store", "all.sqlite", "-o", "judged")
    assert set(paid.values()) == {1}
    assert len(paid) == sum(paid.values()) == ITEMS
    parts = [line for name in "12" for line in (tmp_path / name).read_text().splitlines()]
    assert sorted((tmp_path / "judged").read_text().splitlines()) == sorted(parts)
    assert len(parts) == ITEMS


def test_the_commands_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four shards that have parted the limits say what one job says, and ask what it asks."""
    _, _, section = (ROOT / "docs/scale.md").read_text(encoding="utf-8").partition("\n### Several machines")
    shard, merge = "".join(blocks("sh", section)).splitlines()
    questions = [
        {"query_id": f"q{number}", "question": f"Fact {number}?", "answer": f"fact {number}!"}
        for number in range(8)
    ]
    answers = [{"query_id": f"q{number}", "run_id": "r", "answer": f"number {number}"} for number in range(8)]
    for name, records in (("questions", questions), ("answers", answers)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    monkeypatch.chdir(tmp_path)
    Path("prices").write_text('[models]\n"openai:MODEL" = { input = 1, output = 1 }')
    monkeypatch.setenv("RAGEVAL_PRICES", str(tmp_path / "prices"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-process-0123456789")
    with LlmServer(fair) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
        whole = re.sub(r"--shard \S+ ", "", shard).replace("1.sqlite", "one.sqlite")
        assert done(*whole.replace("1.jsonl", "whole.jsonl").split()[1:]).code == 0
        for part in "1234":
            words = re.sub(r"\b1(?=/4|\.)", part, shard)
            assert f"shard {part}/4 may spend $25 of $100" in done(*words.split()[1:]).err
        assert done(*merge.split()[1:]).code == 0
        parts = [line for part in "1234" for line in Path(f"{part}.jsonl").read_text().splitlines()]
        assert sorted(parts) == sorted(Path("whole.jsonl").read_text().splitlines())
        assert len(server.requests) == 2 * (8 + 6) + 3 * 6, "six canaries for every shard"
