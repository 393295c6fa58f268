"""How a judging command ends early: a judge that cannot be asked, and signals; in order, at once, said."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from fair_judge import fair, write_lines
from llm_server import Asked, LlmServer, Saying, openai_error
from rageval.errors import JudgeFailed
from rageval.judges import asking, panel
from rageval.judges.asking import Patience, ask_all
from rageval.judges.base import Reply, Request, Transient, Unreachable
from rageval.judges.budget import Budget
from rageval.judges.store import Store
from rageval.testing import ScriptedModel
from test_bad_input import command
from test_judge_command import ANSWERS, QUESTIONS
from test_scheduler import asked

CRAG = ("judge", "crag-auto", "answers", "--questions", "questions", "--canaries", "0")
CALLS = 4  # two of the six answers are decided by their form
RAGEVAL = (sys.executable, "-m", "rageval")
MODELS = ("openai:m", "anthropic:m")
HANGUP = getattr(signal, "SIGHUP", 1)  # Windows has none
STOPPING = [signal.SIGINT, signal.SIGTERM, HANGUP]

WITH_SDKS = pytest.mark.skipif(not all(map(find_spec, ("anthropic", "openai"))), reason="no SDKs here")


@pytest.fixture(autouse=True)
def _files(place: Path) -> None:
    write_lines(questions=QUESTIONS, answers=ANSWERS)


@pytest.mark.slow
@WITH_SDKS
@pytest.mark.parametrize("how", [(), ("--batch",)])
@pytest.mark.parametrize("model", MODELS)
def test_a_server_that_is_not_there_is_told_after_the_first_call(model: str, how: tuple[str, ...]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and never listens: whoever comes is refused
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        outcome = command(*CRAG, "--quiet", "--judge", f"{model}@{address}/v1", "-o", "judged", *how)
    assert (outcome.code, outcome.err.count("\n")) == (3, 1)
    assert outcome.err.startswith(f"rageval: {model}: no server at {address}")
    assert "(Connection refused); start it, or check the address" in outcome.err
    assert not Path("judged").exists()


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("--batch",)])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("status", "way_out"),
    [(401, "API_KEY"), (403, "may not use this model"), (404, "check the model's name")],
)
def test_a_key_or_a_model_that_is_refused_is_told_after_the_first_call(
    server: LlmServer, model: str, status: int, way_out: str, how: tuple[str, ...]
) -> None:
    server.default = server.otherwise = lambda asked: Saying(status, openai_error("no"))  # type: ignore[method-assign]
    outcome = command(*CRAG, "--quiet", "--judge", model, "--concurrency", "1", *how)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (3, "", 1)
    assert str(status) in outcome.err
    assert way_out in outcome.err
    assert len([request for request in server.requests if request.method == "POST"]) == 1


def test_an_outage_on_the_way_is_waited_out_and_costs_nothing(tmp_path: Path) -> None:
    away = range(20, 80)

    def say(request: Request) -> Any:
        return Unreachable("m: no server") if model.calls in away else Reply("ok", request.user)

    model, budget = ScriptedModel(say), Budget()
    hasty = Patience(tries=2, first_pause=0.001, longest_pause=0.002)
    with Store(tmp_path / "s.sqlite") as store:
        replies = list(ask_all(asked(50), model, store, concurrency=4, patience=hasty, budget=budget))
    assert [reply.status for _, reply in replies] == ["ok"] * 50
    assert model.calls == 50 + len(away)


def test_an_outage_that_lasts_ends_the_job_and_the_next_one_goes_on(tmp_path: Path) -> None:
    is_away = True

    def say(request: Request) -> Any:
        return Unreachable("m: no server") if is_away and model.calls > 20 else Reply("ok", request.user)

    model = ScriptedModel(say)
    short = Patience(first_pause=0.001, longest_pause=0.002, away=0.05)
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(JudgeFailed, match=r"no server \(only failures for 0 seconds; replies are"):
            list(ask_all(asked(50), model, store, concurrency=4, patience=short))
        assert store.stats()["replies"] == 20
        is_away = False
        assert len(list(ask_all(asked(50), model, store))) == 50


@WITH_SDKS
@pytest.mark.parametrize("how", [(), ("--batch", "--poll-every", "0.01")])
def test_a_server_that_goes_away_after_it_has_answered_is_given_the_patience_one_has(
    how: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with LlmServer(fair, polls=10**6) as server:

        def go_away(asked: Asked) -> Saying:
            threading.Thread(target=server.__exit__, args=(None,) * 3).start()
            server._http.socket.close()  # from now on nobody can connect
            return Saying(cut=0)

        server.say(*[server.otherwise] * (3 if how else 1), go_away)
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
        words = ("--judge", "openai:m", "--concurrency", "1", "--patience", "0", "--quiet", *how)
        monkeypatch.setattr(panel, "DEFAULT_PATIENCE", Patience(first_pause=0.001))
        outcome = command(*CRAG, *words)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (3, "", 1)
    assert "no server at" in outcome.err
    assert "run the same command to continue" in outcome.err


def test_the_time_of_one_call_can_be_told(server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panel, "DEFAULT_PATIENCE", Patience(tries=1))
    server.default = lambda asked: Saying(delay=3600)
    outcome = command(*CRAG, "--judge", "openai:m", "--timeout", "0.05", "--quiet", "-o", "judged")
    assert outcome.code == 3
    details = {row.get("detail") for row in map(json.loads, Path("judged").read_text().splitlines())}
    assert "openai:m: no answer within 0.05 seconds" in details


class RunFingerprint:
    """A server that answers nothing before it is told to; `arrived` when so many calls are under way."""

    def __init__(self, server: LlmServer, calls: int) -> None:
        self.arrived, self.released = threading.Semaphore(0), threading.Event()
        self.calls, self.seen = calls, Counter[str]()
        server.default = self._answer

    def _answer(self, asked: Asked) -> Saying:
        self.seen[json.dumps(asked.body["messages"][-1])] += 1
        self.arrived.release()
        self.released.wait(120)
        return fair(asked)

    def wait(self) -> None:
        for _ in range(self.calls):
            assert self.arrived.acquire(timeout=120)


def started(*words: str, **how: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([*RAGEVAL, *words], stderr=subprocess.PIPE, text=True, **how)


@pytest.mark.slow
@pytest.mark.parametrize("number", STOPPING)
def test_a_signal_ends_a_command_in_good_order(server: LlmServer, number: signal.Signals) -> None:
    fingerprint = RunFingerprint(server, 2)
    words = (*CRAG, "--judge", "openai:m", "--concurrency", "2", "-o", "judged")
    with started(*words, preexec_fn=_usual_signals) as process:
        fingerprint.wait()
        process.send_signal(number)
        assert process.stderr is not None
        assert "2 calls in progress may finish" in process.stderr.readline()
        fingerprint.released.set()
        stderr = process.stderr.read()
        assert process.wait(120) == 130
    assert stderr.endswith("rageval: interrupted\n")
    assert "Traceback" not in stderr
    assert {path.name for path in Path().iterdir()} <= {"questions", "answers", "store.sqlite"}
    with Store(read_only=True) as store:
        landed, claims = store.stats()["replies"], store.stats()["claims"]
    assert claims == 0
    assert command(*words).code == 0
    assert len(server.requests) == CALLS + 2 - landed


def _usual_signals() -> None:
    """A job in the background of a shell ignores Ctrl-C, and so would what it starts."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_DFL)


def _no_hang_up() -> None:
    _usual_signals()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@pytest.mark.slow
def test_who_is_to_survive_the_terminal_does(server: LlmServer) -> None:
    """As `nohup` has it."""
    fingerprint = RunFingerprint(server, 1)
    with started(*CRAG, "--quiet", "--judge", "openai:m", "-o", "judged", preexec_fn=_no_hang_up) as process:
        fingerprint.wait()
        process.send_signal(signal.SIGHUP)
        fingerprint.released.set()
        assert process.wait(120) == 0


UNHURRIED = """
import sys
from rageval.cli import main
from rageval.judges import asking
asking.GRACE = 3600
main(sys.argv[1:], prog_name="rageval")
"""


@pytest.mark.nightly
@pytest.mark.parametrize("number", STOPPING)
def test_a_second_signal_ends_at_once(server: LlmServer, number: signal.Signals) -> None:
    fingerprint = RunFingerprint(server, 1)
    arguments = [sys.executable, "-c", UNHURRIED, *CRAG, "--judge", "openai:m"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, preexec_fn=_usual_signals) as process:
        fingerprint.wait()
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert "may finish within" in process.stderr.readline()
        process.send_signal(number)
        assert process.wait(120) == -number
    fingerprint.released.set()


def test_calls_under_way_land_when_the_job_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "GRACE", 3600)
    started, released = threading.Semaphore(0), threading.Event()

    async def say(request: Request) -> Reply:
        import asyncio

        if request.user == "Text 0.":
            return Reply("ok", "first")
        started.release()
        while not released.is_set():
            await asyncio.sleep(0.005)
        return Reply("ok", request.user)

    with Store(tmp_path / "s.sqlite") as store:
        model = ScriptedModel(say)
        replies = ask_all(asked(100), model, store, concurrency=5)
        next(replies)
        for _ in range(5):
            started.acquire()
        threading.Timer(0.05, released.set).start()
        replies.close()  # type: ignore[attr-defined]
        assert (model.calls, store.stats()["replies"], store.stats()["claims"]) == (6, 6, 0)


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGTERM, HANGUP])
def test_a_signal_while_a_batch_is_worked_on_loses_nothing(server: LlmServer, number: signal.Signals) -> None:
    server.batches.polls = 10**9
    words = (*CRAG, "--judge", "openai:m", "--batch", "--poll-every", "0.02")
    with started(*words, preexec_fn=_usual_signals) as process:
        assert process.stderr is not None
        assert "it continues if this command stops" in process.stderr.readline()
        process.send_signal(number)
        assert process.wait(120) == 130
        assert "Traceback" not in process.stderr.read()
    server.batches.end()
    assert command(*words, "-o", "judged").code == 0
    assert len(server.batched) == CALLS


WAITING = """
import os, signal, sys, time
from rageval.parallel._engines import results_of_forked
signal.signal(signal.SIGINT, signal.default_int_handler)
def work(item):
    os.write(1, b"%d\\n" % item)  # at once, beside the other's
    time.sleep(3600)
list(results_of_forked(work, [1, 2], 2))
"""


@pytest.mark.slow
def test_processes_that_score_end_with_the_one_that_started_them() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert {process.stdout.readline(), process.stdout.readline()} == {"1\n", "2\n"}
        os.kill(process.pid, signal.SIGINT)
        try:
            stderr = process.communicate(timeout=120)[1]
        finally:
            process.kill()
    assert "KeyboardInterrupt" in stderr


STARTING = """
import multiprocessing.process, os, signal
from rageval.parallel._engines import results_of_forked
signal.signal(signal.SIGINT, signal.default_int_handler)
fork, started = os.fork, []
def forked():
    child = fork()
    if child:
        started.append(child)
        os.kill(os.getpid(), signal.SIGINT)  # before anybody has noted that the process is there
    return child
os.fork = forked
try:
    list(results_of_forked(lambda item: item, [1, 2], 2))
except KeyboardInterrupt:
    for child in started:
        try:
            os.waitpid(child, os.WNOHANG)
        except ChildProcessError:
            pass
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            continue
        print("still there")
    print("ended")
"""


@pytest.mark.slow
def test_no_process_is_left_by_a_signal_while_processes_start() -> None:
    result = subprocess.run([sys.executable, "-c", STARTING], capture_output=True, text=True, timeout=120)
    assert (result.stdout, result.returncode) == ("ended\n", 0), result.stderr


@pytest.mark.parametrize("number", [1, 2, 4, 5, 30])
def test_patience_ends_with_one_question_as_with_many(number: int, tmp_path: Path) -> None:
    """The server answers, and each reply is cut off: nothing is heard, however few questions there are."""
    model = ScriptedModel(lambda _: Transient("m: the reply was cut off"))
    short = Patience(tries=10**6, first_pause=0.001, longest_pause=0.002, away=0.05)
    with Store(tmp_path / "s") as store, pytest.raises(JudgeFailed, match="only failures for"):
        list(ask_all(asked(number), model, store, patience=short))


@pytest.mark.parametrize("number", [1, 2, 30])
def test_deadlines_hold_with_one_question_as_with_many(number: int, tmp_path: Path) -> None:
    """A model that never answers is left alone after the deadline of each try."""

    async def say(request: Request) -> str:
        await asyncio.sleep(3600)
        return "late"

    short = Patience(tries=2, deadline=0.02, first_pause=0.001, longest_pause=0.002)
    with Store(tmp_path / "s") as store:
        found = dict(ask_all(asked(number), ScriptedModel(say), store, patience=short))
    assert {reply.status for reply in found.values()} == {"error"}
    assert len(found) == number
