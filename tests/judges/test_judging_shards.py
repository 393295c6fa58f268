"""A job in two shards, one of which is killed and run again: every item is paid for once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from fair_judge import data_in, fair
from rageval.testing import Asked, LlmServer, Saying

pytestmark = pytest.mark.slow

ITEMS = 60
KILLED_AT = 12


def command(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "rageval", *words], cwd=folder)


def finished(folder: Path, *words: str) -> None:
    with command(folder, *words) as process:
        assert process.wait(60) == 0


def test_a_shard_that_is_lost_is_run_again_and_nothing_is_paid_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [
        {"query_id": f"q{at}", "question": f"Fact {at}?", "answer": f"fact {at}!"} for at in range(ITEMS)
    ]
    answers = [{"query_id": f"q{at}", "run_id": "r", "answer": f"fact {at}"} for at in range(ITEMS)]
    for name, records in (("questions", asked), ("answers", answers)):
        (tmp_path / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    paid: Counter[str] = Counter()
    reached, gone = threading.Event(), threading.Event()

    def say(request: Asked) -> Saying:
        if sum(paid.values()) == KILLED_AT and not gone.is_set():
            reached.set()  # a call is under way, and nobody will ever read the answer
            gone.wait(60)
            return Saying(500)
        paid[data_in(request)["answer"]] += 1
        return fair(request)

    common = ["judge", "crag", "answers", "--questions", "questions", "--judge", "openai:m", "--quiet"]
    common += ["--canaries", "0", "--concurrency", "1"]
    one, two = ([*common, "--shard", f"{at}/2", "--store", f"{at}.sqlite", "-o", f"{at}"] for at in (1, 2))
    with LlmServer(say) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-sentinel")
        with command(tmp_path, *one) as lost:
            assert reached.wait(60)
            os.kill(lost.pid, signal.SIGKILL)
        gone.set()
        assert not (tmp_path / "1").exists()
        finished(tmp_path, *one)
        finished(tmp_path, *two)
        finished(tmp_path, "replies", "merge", "1.sqlite", "2.sqlite", "-o", "all.sqlite")
        finished(tmp_path, *common, "--store", "all.sqlite", "-o", "judged")
    assert set(paid.values()) == {1}
    assert len(paid) == sum(paid.values()) == ITEMS
    parts = [line for name in "12" for line in (tmp_path / name).read_text().splitlines()]
    assert sorted((tmp_path / "judged").read_text().splitlines()) == sorted(parts)
    assert len(parts) == ITEMS
