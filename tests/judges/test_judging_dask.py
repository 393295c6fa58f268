"""Judging by two worker processes of a Dask cluster: one store, one budget, one gate, whoever dies."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fair_judge import data_in, fair, said
from rageval import clusters
from rageval.errors import UsageError
from rageval.judges import Settings, _cluster, gathered, judged_by, rubric_named
from rageval.judges._cluster import Worker
from rageval.judges.base import Reply, Request
from rageval.judges.store import Store
from rageval.testing import Asked, LlmServer, Saying, ScriptedModel, openai_error, openai_reply
from snippets import ROOT, blocks
from test_bad_input import Outcome, assert_refused, command

pytestmark = pytest.mark.slow

pytest.importorskip("distributed", reason="--dask needs the extra 'dask'")
pytest.importorskip("openai")

KEY = "sk-of-the-workers-0123456789abcdef0123456789"
ITEMS, CONCURRENCY = 40, 8
ANSWERS = [f"number {at}: " + ("none" if at % 3 else f"fact {at}") for at in range(ITEMS)]
COMMON = ("judge", "crag", "answers", "--questions", "questions", "--judge", "openai:m", "--quiet")
ALONE = (*COMMON, "--canaries", "0", "--concurrency", CONCURRENCY)


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[LlmServer, str]]:
    """A server, and a cluster whose workers alone have a key for it."""
    import dask
    from distributed import LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LlmServer(fair) as server, dask.config.set({"distributed.admin.log-format": "%(message)s"}):
        environment = {"OPENAI_BASE_URL": server.openai, "OPENAI_API_KEY": KEY}
        with LocalCluster(**options, env=environment) as local:
            yield server, local.scheduler_address


@pytest.fixture
def server(shared: tuple[LlmServer, str]) -> LlmServer:
    shared[0].default = fair
    shared[0].requests.clear()
    return shared[0]


@pytest.fixture
def dask(server: LlmServer, shared: tuple[LlmServer, str]) -> tuple[str, str]:
    return "--dask", shared[1]


@pytest.fixture(autouse=True)
def _job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: LlmServer) -> None:
    """A job of some items; every file that anything writes is free of the workers' key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(_cluster, "LOOK", 0.1)
    asked = [
        {"query_id": f"q{at}", "question": f"Fact {at}?", "answer": f"fact {at}!"} for at in range(ITEMS)
    ]
    answers = [{"query_id": f"q{at}", "run_id": "r", "answer": answer} for at, answer in enumerate(ANSWERS)]
    for name, records in (("questions", asked), ("answers", answers)):
        Path(name).write_text("".join(json.dumps(record) + "\n" for record in records))


def answers_in(requests: list[Asked]) -> Counter[str]:
    return Counter(data_in(asked)["answer"] for asked in requests)


def assert_fine(outcome: Outcome) -> None:
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def worker_processes() -> list[int]:
    """Of both workers, also after one was started again."""
    return [child.pid for child in multiprocessing.active_children() if child.pid]


def kill(*processes: int) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def by_worker(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each worker is asked from now on."""
    asked: Counter[str] = Counter()
    ask = Worker.ask

    async def counted(self: Worker, request: Request) -> Reply:
        asked[self.address] += 1
        return await ask(self, request)

    monkeypatch.setattr(Worker, "ask", counted)
    return asked


def test_the_bytes_are_those_of_one_process_and_every_item_is_asked_once(
    server: LlmServer, dask: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = by_worker(monkeypatch)
    assert_fine(command(*ALONE, *dask, "-o", "judged"))
    assert answers_in(server.requests) == Counter(ANSWERS)
    assert sum(asked.values()) == ITEMS
    assert len(asked) == 2, "both took part"
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert_fine(command(*ALONE, *dask, "-o", "again", "--max-calls", 0))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-process-0123456789")
    assert_fine(command(*ALONE, "-o", "single", "--store", "other.sqlite"))
    assert Path("judged").read_bytes() == Path("again").read_bytes() == Path("single").read_bytes()


@pytest.mark.parametrize(
    "words",
    [
        ("--judge", "openai:other", "--vote", "majority", "--canaries", "2"),
        ("--rubric", "nuggetize"),
        (
            *("--rubric", "crag-style", "--judge", "openai:other", "--vote", "majority"),
            *("--tiebreak", "openai:third"),
        ),
    ],
    ids=["several", "nuggets", "tiebreak"],
)
def test_whatever_one_process_can_do(words: tuple[str, ...], dask: tuple[str, str], monkeypatch: Any) -> None:
    job = ("judge", "answers", "--questions", "questions", "--judge", "openai:m", "--quiet", *words)
    job = job if "--rubric" in words else ("judge", "crag", *job[1:])
    job = tuple(word for word in job if word != "answers") if "nuggetize" in words else job
    far = command(*job, *dask, "-o", "far", "--store", "far.sqlite")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-process-0123456789")
    near = command(*job, "-o", "near")
    assert far == near
    assert near.code == 0, near
    assert Path("far").read_bytes() == Path("near").read_bytes() != b""


def test_the_commands_on_the_page(
    server: LlmServer, dask: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, section = (ROOT / "docs/scale.md").read_text(encoding="utf-8").partition("\n## Judging on several")
    far, near, merge = "".join(blocks("sh", section)).splitlines()
    for name in ("questions", "answers"):
        Path(name).rename(f"{name}.jsonl")
    far = far.replace("http://127.0.0.1:8000/v1", server.openai).replace("tcp://10.0.0.1:8786", dask[1])
    assert command(*far.split()[1:]).code == 0
    Path("prices").write_text('[models]\n"openai:MODEL" = { input = 1, output = 1 }')
    monkeypatch.setenv("RAGEVAL_PRICES", str(Path("prices").resolve()))
    for at in "1234":
        words = re.sub(r"\b1(?=/4|\.)", at, near)
        assert f"shard {at}/4 may spend $25 of $100" in command(*words.split()[1:]).err
    assert command(*merge.split()[1:]).code == 0
    parts = [line for at in "1234" for line in Path(f"{at}.jsonl").read_text().splitlines()]
    assert sorted(parts) == sorted(Path("judged.jsonl").read_text().splitlines())
    assert len(server.requests) == 2 * (ITEMS + 6) + 3 * 6, "six canaries for every shard"


def test_nothing_stays_on_the_workers(server: LlmServer, dask: tuple[str, str]) -> None:
    from distributed import Client

    def left() -> int:
        return [thread.name for thread in threading.enumerate()].count("rageval-asking")

    seen: list[int] = []
    with Client(dask[1], set_as_default=False) as client:
        server.say(lambda asked: seen.extend(client.run(left).values()) or fair(asked))
        assert_fine(command(*ALONE, *dask, "-o", "judged"))
        assert 1 in seen
        for _ in range(100):
            seen = [*client.run(left).values()]
            if not any(seen):
                break
            time.sleep(0.1)
    assert seen == [0, 0]


def test_a_canary_is_seen_by_the_workers(server: LlmServer, dask: tuple[str, str]) -> None:
    from fair_judge import obedient

    server.default = obedient
    outcome = command(*COMMON, *dask, "-o", "judged")
    assert outcome.code == 3
    assert "obeyed an instruction" in outcome.err
    assert len(server.requests) == 6 + 2  # it quotes the first attack, for which another is tried again


def test_of_a_worker_that_is_killed_only_calls_under_way_are_asked_again(
    server: LlmServer, dask: tuple[str, str]
) -> None:
    paid: Counter[str] = Counter()
    stored: set[str] = set()
    lock, gone = threading.Lock(), threading.Event()

    def say(asked: Asked) -> Saying:
        with lock:
            paid[data_in(asked)["answer"]] += 1
            last = sum(paid.values()) == ITEMS // 2 + CONCURRENCY
        if last:
            with Store("store.sqlite", read_only=True) as store:
                stored.update(json.loads(row.request.user.splitlines()[1])["answer"] for row in store.rows())
            kill(worker_processes()[0])
            gone.set()
        elif sum(paid.values()) > ITEMS // 2:
            assert gone.wait(30)
        return fair(asked)

    server.default = say
    assert_fine(command(*ALONE, *dask, "-o", "judged"))
    twice = {answer for answer, times in paid.items() if times > 1}
    assert len(paid) == ITEMS
    assert 0 < sum(paid.values()) - ITEMS <= CONCURRENCY
    assert len(stored) >= ITEMS // 2 - CONCURRENCY
    assert twice.isdisjoint(stored)
    assert_fine(command(*ALONE, *dask, "-o", "again", "--max-calls", 0))
    assert Path("judged").read_bytes() == Path("again").read_bytes()
    lines = Path("judged").read_text().splitlines()
    assert [json.loads(line)["query_id"] for line in lines] == [f"q{at}" for at in range(ITEMS)]


def test_all_workers_together_keep_the_limit_of_calls(server: LlmServer, dask: tuple[str, str]) -> None:
    for limit, asked in ((10, 10), (7, 17)):
        outcome = command(*ALONE, *dask, "-o", "judged", "--max-calls", limit)
        assert outcome.code == 4
        assert f"the limit of {limit} calls is reached" in outcome.err
        assert len(server.requests) == asked
        assert not Path("judged").exists()
    assert_fine(command(*ALONE, *dask, "-o", "judged"))
    assert set(answers_in(server.requests).values()) == {1}
    assert len(server.requests) == ITEMS


def test_all_workers_together_keep_the_limit_of_money(
    server: LlmServer, dask: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("prices").write_text('[models]\n"openai:m" = { input = 0, output = 1000 }')  # 20 tokens: 2 cents
    monkeypatch.setenv("RAGEVAL_PRICES", str(Path("prices").resolve()))
    outcome = command(*ALONE, *dask, "-o", "judged", "--max-cost", "1.5")
    assert outcome.code == 4
    assert "the limit of $1.5 is reached" in outcome.err
    assert 0 < len(server.requests) <= 1.5 / 0.02
    assert len(server.requests) < ITEMS
    assert_fine(command(*ALONE, *dask, "-o", "judged", "--max-cost", 100))
    assert set(answers_in(server.requests).values()) == {1}


def test_a_pause_that_one_worker_is_told_holds_the_other(
    server: LlmServer, dask: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_fine(command(*ALONE, *dask, "-o", "warm", "--store", "warm.sqlite"))  # the SDK is imported now
    asked_at_first: set[str] = set()
    by = by_worker(monkeypatch)
    begun: list[float] = []
    told: list[float] = []
    full, lock = threading.Event(), threading.Lock()

    def say(asked: Asked) -> Saying:
        with lock:
            begun.append(time.monotonic())
            number = len(begun)
        if number == CONCURRENCY:
            asked_at_first.update(by)
            full.set()
        assert full.wait(30)
        if number == 1:
            told.append(time.monotonic())
            return Saying(429, openai_error("slow down"), {"retry-after": "1"})
        if number <= CONCURRENCY:
            time.sleep(0.3)  # or they were answered before anybody has heard of the pause
        return fair(asked)

    server.default = say
    assert_fine(command(*ALONE, *dask, "-o", "judged"))
    later = sorted(begun)[CONCURRENCY:]
    assert len(begun) == ITEMS + 1
    assert len(asked_at_first) == 2
    assert later[0] >= told[0] + 0.95


def test_a_model_that_always_kills_is_told(
    server: LlmServer, dask: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cluster, "DEATHS", 2)

    def deadly(asked: Asked) -> Saying:
        kill(*worker_processes())
        return Saying(500)

    server.default = deadly
    outcome = command(*ALONE, *dask, "-o", "judged")
    assert outcome.code == 3
    assert "openai:m: its worker was lost (tcp://" in outcome.err
    assert "2 workers in a row were lost while they asked" in outcome.err
    assert "store.sqlite: the same command goes on" in outcome.err
    server.default = fair
    assert_fine(command(*ALONE, *dask, "-o", "judged"))


def test_what_no_worker_can_help_ends_the_job_and_names_the_worker_but_no_key(
    server: LlmServer, dask: tuple[str, str]
) -> None:
    server.default = lambda asked: Saying(401, openai_error(f"bad key {asked.headers['authorization']}"))
    outcome = command(*ALONE, *dask, "-o", "judged")
    assert outcome.code == 3
    assert "the key was refused: check the environment variable OPENAI_API_KEY" in outcome.err
    assert "so says the worker tcp://" in outcome.err
    assert KEY not in str(outcome)


def test_a_key_that_a_server_sends_back_is_kept_nowhere(server: LlmServer, dask: tuple[str, str]) -> None:
    said_back = json.dumps({"evidence": "", "reason": f"is it {KEY}?", "label": "incorrect"})
    server.default = lambda asked: said(asked, said_back)
    assert_fine(command(*ALONE, *dask, "-o", "judged"))
    assert "is it ***?" in Path("judged").read_text()
    assert [path.name for path in Path().iterdir() if KEY.encode() in path.read_bytes()] == []


def test_workers_that_mean_another_model(dask: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    outcome = command(*ALONE, *dask, "-o", "judged")
    assert_refused(outcome, "the worker tcp://", "and not openai:m at http://127.0.0.1:9/v1")
    monkeypatch.setattr(clusters, "__version__", "9.9")
    assert_refused(command(*ALONE, *dask, "-o", "judged"), "expected rageval 9.9 there as well, found 0.")


def test_clusters_that_are_none(dask: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr(_cluster, "PATIENCE", 0.5)
    monkeypatch.setattr(_cluster, "ALONE", 0.5)
    for address in ("nonsense://x:1", "tcp://127.0.0.1:1"):
        assert_refused(
            command(*ALONE, "--dask", address, "-o", "judged"), f"--dask {address}: no cluster answers there"
        )
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty:
        outcome = command(*ALONE, "--dask", empty.scheduler_address, "-o", "judged")
        assert_refused(outcome, "no worker there has begun within 0.5 s", "'dask worker inproc://")
    assert_refused(command(*ALONE, *dask, "--batch"), "leave out --dask")
    monkeypatch.setitem(sys.modules, "distributed.comm.addressing", None)
    assert_refused(command(*ALONE, *dask, "-o", "judged"), "pip install 'rageval[dask]'")


def test_a_model_of_this_process_cannot_travel(dask: tuple[str, str]) -> None:
    material = gathered(["answers"], questions="questions")
    with pytest.raises(UsageError, match="every worker makes its own: name the judge"):
        list(judged_by([ScriptedModel([])], rubric_named("crag"), material, Settings(dask=dask[1])))


def test_judges_that_ask_nobody_are_sent_to_no_cluster() -> None:
    job = ("judge", "crag-auto", "answers", "--questions", "questions", "--judge", "contains", "--quiet")
    outcome = command(*job, "-o", "judged", "--dask", "tcp://127.0.0.1:1")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--dask is about a model that is asked, and no --judge here is one" in outcome.err


def test_judging_that_stops_ends_at_the_same_question(
    server: LlmServer, dask: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process decides, workers ask: for the same answers, each once."""
    rows = [json.loads(line) for line in Path("answers").read_text().splitlines()]
    worse = [{**row, "run_id": "s", "answer": f"other {at}"} for at, row in enumerate(rows)]
    better = [{**row, "answer": f"number {at}: fact {at}"} for at, row in enumerate(rows)]
    Path("answers").write_text("".join(json.dumps(row) + "\n" for row in better + worse))
    until = (*ALONE, "-m", "crag_score", "--until", "r>s", "--looks", "anytime")
    said = command(*until, *dask, "-o", "judged").out
    calls = len(server.requests)
    assert ": r > s (after " in said
    assert f"; {calls} of {2 * ITEMS} calls; " in said
    assert calls < 2 * ITEMS
    assert max(answers_in(server.requests).values()) == 1
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-process-0123456789")
    assert command(*until, "-o", "single", "--store", "other.sqlite").out == said
    assert Path("judged").read_bytes() == Path("single").read_bytes()


def test_a_judge_whose_replies_are_no_use_is_stopped(server: LlmServer, dask: tuple[str, str]) -> None:
    server.default = lambda asked: Saying(body=openai_reply("I would say so."))
    outcome = command(*ALONE, *dask, "-o", "judged")
    assert outcome.code == 3
    assert "no reply about 20 items in a row could be read" in outcome.err
    assert len(server.requests) < 20 * 3 + CONCURRENCY
    server.default = fair
    before = len(server.requests)
    assert_fine(command(*ALONE, *dask, "-o", "judged", "--retry", "invalid"))
    assert len(server.requests) == before + ITEMS
