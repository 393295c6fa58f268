"""Judging through Ray: what its driver does of batches, whoever answers, loses or repeats them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import rageval
from fair_judge import write_lines
from llm_server import LlmServer
from rageval.errors import JudgeFailed
from rageval.judges import ray_jobs
from rageval.judges.asking import JobProgress
from rageval.judges.base import Request
from rageval.judges.budget import Budget
from rageval.judges.ray_jobs import EndpointEngine, EngineChoice, RayJob, VLLMEngine, _Worker
from rageval.judges.store import Store
from stub_engine import many_answers
from test_bad_input import assert_refused, command
from test_judge_command import ANSWERS, CRAG, QUESTIONS, labels

pytest.importorskip("openai")  # whose models are asked here

pytestmark = pytest.mark.slow

COUNT = 300
RAY = ("--judge", "vllm:m", "--engine", "ray", "--engine-class")


@pytest.fixture(autouse=True)
def _files(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(questions=QUESTIONS, answers=ANSWERS)
    write_lines(many=many_answers(COUNT))
    monkeypatch.setattr(ray_jobs, "find_spec", lambda name: True)


class Pool:
    """Two workers in this process, in place of a pipeline: in any order, some batches twice, some late."""

    batches: ClassVar[Counter[int]] = Counter()
    started: ClassVar[int] = 0

    def __init__(self, address: str, choice: EngineChoice, most: int) -> None:
        type(self).started += 1
        self.workers, self._most, self._given = 2, most, 0
        self.has_ended = self._lost = False
        self._workers = [_Worker(choice, None) for _ in range(2)]
        self._rows: list[dict[str, list[Any]]] = []

    @property
    def is_full(self) -> bool:
        return self._given >= self._most

    def give(self, requests: Sequence[tuple[str, Request]]) -> int:
        number = self._given
        self._given += 1
        assert number < self._most
        self.batches[len(requests)] += 1
        if number == 2 and self.started == 2:  # its tasks were used up by workers that waited
            self._lost = True
            return number
        rows = self._workers[number % 2].answer(number, requests)
        self._rows = [rows, *self._rows] if number % 3 else [*self._rows, rows]
        if number % 5 == 0:  # a worker that died had answered it before another one did
            self._rows.append(rows)
        return number

    def drop(self, number: int) -> None: ...

    def results(self, seconds: float) -> dict[str, list[Any]]:
        self.has_ended = self._lost and not self._rows
        return self._rows.pop() if self._rows and (seconds or len(self._rows) > 3) else {}

    def close(self) -> None: ...


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> type[Pool]:
    monkeypatch.setattr(ray_jobs, "_Pipeline", Pool)
    monkeypatch.setattr(ray_jobs, "_BATCHES", (3, 7))
    monkeypatch.setattr(Pool, "batches", Counter())
    monkeypatch.setattr(Pool, "started", 0)
    return Pool


def test_workers_give_what_a_live_job_gives(pool: type[Pool], server: LlmServer) -> None:
    outcome = command(*CRAG, *RAY, "stub_engine:FairEngine", "-o", "judged")
    assert outcome.code == 0, outcome
    assert not server.requests
    assert command(*CRAG, "--judge", "openai:m", "-o", "live", "--store", "live.sqlite").code == 0
    assert labels() == labels("live")
    with Store("store.sqlite", read_only=True) as store:
        assert store.stats()["engines"] == {"fair 1 none 1": 10}
        assert store.stats()["claims"] == 0
    # Nothing is asked twice, and nothing waits for a pool that has nothing to do.
    started = pool.started
    assert command(*CRAG, *RAY, "stub_engine:FairEngine", "-o", "again").code == 0
    assert Path("again").read_text() == Path("judged").read_text()
    assert pool.started == started


@pytest.mark.slow
def test_an_endpoint_is_asked_by_every_worker(pool: type[Pool], server: LlmServer) -> None:
    words = ("judge", "crag", "many", "--quiet", "--engine", "ray", "--judge", "openai:m", "-o", "judged")
    assert command(*words).code == 0
    assert len(labels()) == COUNT
    assert len(server.requests) == COUNT + 6


def test_what_fails_or_cannot_be_read_is_asked_again_and_costs_no_other(pool: type[Pool]) -> None:
    words = ("judge", "crag", "many", "--quiet", *RAY, "stub_engine:MoodyEngine", "-o", "judged")
    outcome = command(*words, "--canaries", "0")
    assert (outcome.code, "1 judgements failed and are missing (1 error)" in outcome.err) == (3, True)
    assert Counter(labels().values()) == {"perfect": 199, "incorrect": 100, None: 1}
    rows = [json.loads(line) for line in Path("judged").read_text().splitlines()]
    assert Counter(row["attempts"] for row in rows) == {2: COUNT - 1, 1: 1}
    assert pool.started > COUNT // 16 // 7  # a pipeline takes so many batches, then another one does


def test_limits_hold_and_the_same_command_continues(pool: type[Pool]) -> None:
    words = ("judge", "crag", "many", "--quiet", *RAY, "stub_engine:FairEngine", "-o", "judged")
    outcome = command(*words, "--max-calls", "100")
    assert (outcome.code, "limit of 100 calls" in outcome.err) == (4, True), outcome
    with Store("store.sqlite", read_only=True) as store:
        assert store.stats()["replies"] == 100
    assert command(*words, "--max-cost", "1").code == 2  # no price
    assert command(*words, "--max-cost", "1", "--price", "0").code == 0
    assert len(labels()) == COUNT
    calls = sum(size * count for size, count in pool.batches.items())
    assert COUNT + 6 <= calls <= COUNT + 6 + 16  # one batch went to a pipeline that no worker took it from


def test_no_worker_that_answers_ends_the_job(pool: type[Pool]) -> None:
    outcome = command(*CRAG, *RAY, "stub_engine:BrokenEngine", "-o", "judged")
    assert outcome.code == 3
    assert "no worker gave a reply; the last failure: ValueError: generate() returned 0" in outcome.err
    assert not Path("judged").exists()


def test_two_drivers_do_not_pay_for_the_same(pool: type[Pool]) -> None:
    choice = EngineChoice("vllm:m", "stub_engine:FairEngine")
    with Store("one.sqlite") as one, Store("one.sqlite") as other:
        job = RayJob("ray", choice, one, Budget(), JobProgress(quiet=True))
        with pytest.raises(JudgeFailed, match="another process asks"):
            RayJob("ray", choice, other, Budget(), JobProgress(quiet=True))
        job.close()
        RayJob("ray", choice, other, Budget(), JobProgress(quiet=True)).close()


@pytest.mark.filterwarnings("ignore:many")
def test_python_asks_through_it_too(pool: type[Pool]) -> None:
    judged = rageval.judge(
        "crag", "many", "vllm:m", "crag_score", engine="ray", engine_class="stub_engine:FairEngine"
    )
    assert judged.scores["ours"]["crag_score"].value == pytest.approx(1 / 3)


def test_what_cannot_be_is_refused(pool: type[Pool], monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (
        ("--engine", "dask"),
        ("--engine", "ray", "--batch"),
        ("--engine", "ray", "--requests-out", "o"),
        ("--engine-class", "stub_engine:FairEngine"),
        ("--engine", "ray", "--engine-class", "stub_engine:NoEngine"),
        ("--engine", "ray", "--engine-class", "stub_engine:Missing"),
        ("--engine", "ray", "--engine-class", "no_module"),
        ("--engine", "ray", "--judge", "openai-decisions:m"),
    ):
        judge = () if "--judge" in words else ("--judge", "vllm:m")
        assert_refused(command(*CRAG, *judge, *words))
    monkeypatch.setattr(ray_jobs, "find_spec", lambda name: None)
    assert "rageval[ray]" in command(*CRAG, "--judge", "vllm:m", "--engine", "ray").err
    assert EngineChoice("vllm:m").factory is VLLMEngine
    assert EngineChoice("vllm:m@http://127.0.0.1:9/v1").factory is EndpointEngine
    assert EngineChoice("openai:m").factory is EndpointEngine


class FakeLLM:
    """Has the documented interface of `vllm.LLM` that is used: `chat`, and the configuration."""

    def __init__(self, model: str) -> None:
        parallel = SimpleNamespace(tensor_parallel_size=2)
        config = SimpleNamespace(
            model_config=SimpleNamespace(dtype="torch.bfloat16"), parallel_config=parallel
        )
        self.model, self.llm_engine = model, SimpleNamespace(vllm_config=config)

    def chat(self, messages: list[Any], sampling_params: list[Any], *, use_tqdm: bool) -> list[Any]:
        assert use_tqdm is False
        outputs = []
        for conversation, parameters in zip(messages, sampling_params, strict=True):
            assert [message["role"] for message in conversation] == ["system", "user"]
            label = parameters.structured_outputs.json["properties"]["label"]["enum"][-1]
            text = json.dumps({"evidence": "", "reason": self.model, "label": label})
            output = SimpleNamespace(text=text, finish_reason="stop", token_ids=[1, 2, 3])
            outputs.append(SimpleNamespace(outputs=[output], prompt_token_ids=[0] * 9))
        return outputs


def test_vllm_is_asked_by_its_documented_interface(pool: type[Pool], monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for vLLM, which needs a GPU: nothing here shows that vLLM itself answers."""
    sampled: list[dict[str, Any]] = []

    def parameters(**given: Any) -> SimpleNamespace:
        sampled.append(given)
        return SimpleNamespace(**given)

    sampling = SimpleNamespace(StructuredOutputsParams=SimpleNamespace)
    fake = SimpleNamespace(
        LLM=FakeLLM, SamplingParams=parameters, __version__="0.11.0", sampling_params=sampling
    )
    monkeypatch.setitem(sys.modules, "vllm", fake)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", sampling)  # type: ignore[arg-type]
    assert (
        command(
            "judge", "crag", "many", "--quiet", "--judge", "vllm:org/m", "--engine", "ray", "-o", "judged"
        ).code
        == 0
    )
    assert set(labels().values()) == {"incorrect"}
    assert {given["temperature"] for given in sampled} == {0.0}
    assert {given["max_tokens"] for given in sampled} == {1024}
    with Store("store.sqlite", read_only=True) as store:
        assert list(store.stats()["engines"]) == ["vllm 0.11.0 bfloat16 tp2"]
        reply = next(store.rows()).reply
    assert (reply.usage.input, reply.usage.output, reply.served) == (9, 3, "org/m")


def test_there_is_room_for_so_many_workers() -> None:
    with pytest.raises(JudgeFailed, match="needs 1 CPUs and 1 GPUs: it has 8 and 0"):
        ray_jobs._most_workers({"CPU": 8.0}, 1.0, 1.0)
