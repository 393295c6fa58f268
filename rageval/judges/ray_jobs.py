"""Judging on a Ray cluster: an actor pool of Ray Data answers what the store lacks.

`map_batches` runs one class on every worker: vLLM in its own process, a client of any OpenAI-compatible
endpoint, or a class of the user's with one method, `generate(batch)`. The driver makes requests as workers
take them and stores replies as they come, so only a few batches are on their way, however many there are.

A batch has a number. Workers take it from an actor that keeps it until its replies are stored. If a worker
dies, Ray runs its task elsewhere, which takes the same batch again. If the driver dies, the store has all
replies but those of the batches under way.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import Any

from rageval.errors import BudgetReached, JudgeFailed, MissingPackage, UsageError
from rageval.judges.asking import JobProgress, JobTally, Patience, ask_all, refuse_unpayable
from rageval.judges.base import ENGINE_FACTS, ERROR, OK, Model, Reply, Request
from rageval.judges.budget import Budget, Reservation
from rageval.judges.exchange import ExchangeModel, chat_body, exchange_model
from rageval.judges.models import model_named
from rageval.judges.store import (
    BEAT,
    MEMORY,
    STORABLE,
    Store,
    Unstorable,
    reply_as_record,
    reply_of,
    request_as_record,
    request_of,
)
from rageval.text import visible

BATCH = 64  # requests that a worker gets at once, unless its class says how many
_AHEAD = 4  # batches under way for each worker
_BATCHES = 1_000, 10_000  # that the first pipeline may take, and each that is started after it
_FRUITLESS = 3  # looks in a row that bring nothing, after which there is none
_IDLE = 20.0  # seconds that a worker waits for a batch before its task ends
_GLANCE = 0.5  # seconds after which a waiting driver shows how far it is
_LONGEST_CALL = 5.0  # seconds that the driver's question for replies stays open
_CLOSING = 20.0  # seconds that a pool has to end
_Missing = Iterator[tuple[str, Request]]


# --- Engines: what runs on the workers.


class EndpointEngine:
    """Asks the model where it is served; each worker makes so many calls at a time."""

    num_cpus, num_gpus = 1.0, 0.0

    def __init__(self, spec: str, concurrency: int, patience: Patience) -> None:
        self._model = model_named(spec)
        self._concurrency, self._patience = concurrency, patience

    def replies(self, requests: Sequence[tuple[str, Request]]) -> list[Reply]:
        """Return the reply to each request, asked as a live job asks."""
        numbered = enumerate(request for _, request in requests)
        with Store(MEMORY) as store:
            asked = ask_all(
                numbered, self._model, store, concurrency=self._concurrency, patience=self._patience
            )
            return [reply for _, reply in asked]


class VLLMEngine:
    """Answers chat requests with vLLM in the worker's process, on one GPU."""

    num_cpus, num_gpus = 1.0, 1.0
    batch_size = 256  # it computes some of them at a time, and waits for the longest only at the end

    def __init__(self, model: str) -> None:
        import vllm

        self._llm = vllm.LLM(model=model)
        config = self._llm.llm_engine.vllm_config
        self.facts = {
            "engine": "vllm",
            "version": str(vllm.__version__),
            "dtype": str(config.model_config.dtype).removeprefix("torch."),
            "parallelism": f"tp{config.parallel_config.tensor_parallel_size}",
        }

    def generate(self, batch: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the body of a chat completion for each request."""
        outputs = self._llm.chat(
            [request["messages"] for request in batch],
            [self._parameters(request) for request in batch],
            use_tqdm=False,
        )
        return [
            chat_body(
                output.outputs[0].text,
                {"finish_reason": output.outputs[0].finish_reason, "model": request["model"]},
                {
                    "prompt_tokens": len(output.prompt_token_ids or ()),
                    "completion_tokens": len(output.outputs[0].token_ids),
                },
            )
            for request, output in zip(batch, outputs, strict=True)
        ]

    def _parameters(self, request: Mapping[str, Any]) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        parameters = {name: request[name] for name in _SAMPLED if name in request}
        form = request.get("response_format", {})
        if form.get("type") == "json_schema":
            schema = form["json_schema"]["schema"]
            parameters["structured_outputs"] = StructuredOutputsParams(json=schema)
        elif form.get("type") == "json_object":
            parameters["structured_outputs"] = StructuredOutputsParams(json_object=True)
        return SamplingParams(**parameters)


_SAMPLED = ("max_tokens", "temperature", "top_p", "frequency_penalty", "presence_penalty", "seed")


@dataclass(frozen=True)
class EngineChoice:
    """Which engine answers, and what its class needs.

    Parameters
    ----------
    spec
        The model, as `--judge` names it.
    name
        `module:Class` of the user's class; empty for ours.
    concurrency, patience
        For an endpoint: calls at a time for each worker, and how long to try.
    """

    spec: str
    name: str = ""
    concurrency: int = 16
    patience: Patience = field(default_factory=Patience)

    @property
    def factory(self) -> Any:
        """The class that runs on the workers."""
        if self.name:
            return _class_named(self.name)
        is_served = "@http" in self.spec or not self.spec.strip().lower().startswith("vllm:")
        return EndpointEngine if is_served else VLLMEngine

    @property
    def needs(self) -> tuple[float, float]:
        """CPUs and GPUs that a worker needs."""
        factory = self.factory
        return float(getattr(factory, "num_cpus", 1.0)), float(getattr(factory, "num_gpus", 0.0))

    def start(self) -> Any:
        """Return the engine, on a worker."""
        factory = self.factory
        if factory is EndpointEngine:
            return EndpointEngine(self.spec, self.concurrency, self.patience)
        return factory(self.spec.partition(":")[2])


def _class_named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # as `python -m` finds it; Ray tells its workers
    expected = "expected module:Class, a class with the method generate(batch) that Python can import"
    try:
        factory = getattr(import_module(module), attribute)
    except Exception as error:  # importing somebody's module may fail in any way
        raise UsageError(f"--engine-class {visible(name)!r}: {visible(str(error))}; {expected}") from error
    if not hasattr(factory, "generate"):
        raise UsageError(f"--engine-class {visible(name)!r}: has no method generate; {expected}")
    return factory


_COLUMNS = ("number", "key", "request", "reply")


class _Worker:
    """One actor of the pool: takes a batch by its number, and returns its replies as text."""

    def __init__(self, choice: EngineChoice, source: Any) -> None:
        self._source = source
        self._model = exchange_model(model_named(choice.spec))
        self._engine = choice.start()
        facts = getattr(self._engine, "facts", {})
        self._facts = {name: str(facts[name]) for name in ENGINE_FACTS if facts.get(name)}

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        import ray

        rows: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for task in map(int, batch["task"]):
            number, packed = ray.get(self._source.take.remote(task))
            for name, cells in self.answer(number, pickle.loads(packed) if packed else []).items():
                rows[name] += cells
        # A row in any case: the driver that ends a job waits for the next block, and an empty one is skipped.
        return rows if rows["key"] else {"number": [-1], "key": [""], "request": [""], "reply": [""]}

    def answer(self, number: int, requests: Sequence[tuple[str, Request]]) -> dict[str, list[Any]]:
        """Return the rows of a batch: requests and replies as a store keeps them."""
        rows: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for (key, request), reply in zip(requests, self._replies(requests), strict=True):
            record = reply_as_record(reply)
            record |= {"engine": self._facts} if self._facts else {}
            row = number, key, json.dumps(request_as_record(request)), json.dumps(record)
            for name, cell in zip(_COLUMNS, row, strict=True):
                rows[name].append(cell)
        return rows

    def _replies(self, requests: Sequence[tuple[str, Request]]) -> list[Reply]:
        """Return a reply for each request; what fails here is asked again later, and stops no other one."""
        if not requests:
            return []
        try:
            if isinstance(self._engine, EndpointEngine):
                return self._engine.replies(requests)
            bodies = self._engine.generate([self._model.body(request) for _, request in requests])
            if len(bodies) != len(requests):
                raise ValueError(f"generate() returned {len(bodies)} replies to {len(requests)} requests")
            return [
                _reply_of_body(self._model, key, body)
                for (key, _), body in zip(requests, bodies, strict=True)
            ]
        except Exception as error:  # an engine may fail in any way
            # A server that cannot be asked says nothing of single requests.
            if len(requests) == 1 or isinstance(error, JudgeFailed):
                detail = visible(f"{type(error).__name__}: {error}"[:300])
                return [Reply(ERROR, detail=detail)] * len(requests)
        # Halves of it, as one request that an engine cannot take must not cost the others their replies.
        half = len(requests) // 2
        return [*self._replies(requests[:half]), *self._replies(requests[half:])]


def _reply_of_body(partner: ExchangeModel, key: str, completion: Any) -> Reply:
    """Return the reply in what `generate` returned: a text, or the body of a chat completion."""
    if isinstance(completion, str):
        completion = chat_body(completion, {}, {})
    record = {"custom_id": key, "response": {"status_code": 200, "body": completion}}
    return partner.reply_in(record)


# --- The driver.


class _Pool:
    """An actor that runs Ray Data, and keeps batches until their replies are stored.

    It is on the cluster, because Ray Data does not run in a client of one; the driver only calls it.
    """

    def __init__(self, choice: EngineChoice, workers: int, tasks: int) -> None:
        self._choice, self._workers, self._tasks = choice, workers, tasks
        self._batches: dict[int, bytes] = {}
        self._new: deque[int] = deque()
        self._given: dict[int, int] = {}  # task -> batch
        self._arrived, self._answered = asyncio.Event(), asyncio.Event()
        self._rows: list[dict[str, list[Any]]] = []
        self._is_ended = False
        self._failure: str | None = None  # once nothing will come any more; empty if all tasks were used up

    async def start(self, own: Any) -> None:
        """Begin to compute; `own` is the handle of this actor, for the workers."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, args=(own,), daemon=True)
        self._thread.start()

    async def give(self, number: int, payload: bytes) -> None:
        self._batches[number] = payload
        self._new.append(number)
        self._arrived.set()

    async def take(self, task: int) -> tuple[int, bytes]:
        """Return a batch that no other task has, the same one to a task that runs again.

        Nothing if none comes soon. Behind a task that waits may stand one whose worker died with a batch.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(_IDLE):
                while task not in self._given and not self._is_ended:
                    if self._new:
                        self._given[task] = self._new.popleft()
                    else:
                        self._arrived.clear()
                        await self._arrived.wait()
        number = self._given.get(task, -1)
        return number, self._batches.get(number, b"")

    async def results(self, dropped: Sequence[int]) -> tuple[list[dict[str, list[Any]]], str | None]:
        """Return what has come since the last call, and why nothing will follow, if that is so.

        Waits a little if nothing has come. Of batches that are stored nothing is kept.
        """
        for number in dropped:
            self._batches.pop(number, None)
        if not self._rows and self._failure is None:
            self._answered.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LONGEST_CALL):
                    await self._answered.wait()
        rows, self._rows = self._rows, []
        return rows, self._failure

    async def finish(self) -> None:
        """Let no worker wait any longer, and end."""
        self._is_ended = True
        self._arrived.set()
        while self._thread.is_alive():
            await asyncio.sleep(0.05)

    def _run(self, own: Any) -> None:
        failure = ""
        try:
            import ray.data

            ray.data.DataContext.get_current().enable_progress_bars = False
            logging.getLogger("ray.data").setLevel(logging.ERROR)
            cpus, gpus = self._choice.needs
            items = [{"task": number} for number in range(self._tasks)]
            replies = ray.data.from_items(items, override_num_blocks=self._tasks).map_batches(
                _Worker,
                fn_constructor_args=(self._choice, own),
                batch_size=None,
                num_cpus=cpus,
                num_gpus=gpus or None,
                compute=ray.data.ActorPoolStrategy(min_size=1, max_size=self._workers),
            )
            batches = replies.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
            for batch in batches:
                if self._is_ended:
                    break
                self._loop.call_soon_threadsafe(self._keep, batch.to_pydict(), None)
        except BaseException as error:
            failure = _last_line(error)
        self._loop.call_soon_threadsafe(self._keep, None, failure)

    def _keep(self, rows: dict[str, list[Any]] | None, failure: str | None) -> None:
        if rows is not None:
            self._rows.append(rows)
        self._failure = failure
        self._answered.set()


class RayJob:
    """Asks through a pool of workers that lives as long as this is open."""

    def __init__(
        self, address: str, choice: EngineChoice, store: Store, budget: Budget, progress: JobProgress
    ):
        if find_spec("ray") is None:
            raise MissingPackage("ray", f"--engine {address}", "ray")
        self._choice, self._store, self._budget = choice, store, budget
        self._model: Model = model_named(choice.spec)
        exchange_model(self._model)
        refuse_unpayable(self._model, budget)
        self._size = int(getattr(choice.factory, "batch_size", BATCH))
        self._address, self._progress, self._tally = address, progress, JobTally(total=0)
        self._pipeline: _Pipeline | None = None
        self._pipelines = self._stored = 0
        self._fruitless = 0  # looks in a row after which nothing was stored
        # Two drivers on one store would pay for the same requests.
        self._claim = f"ray {self._model.name} {self._model.endpoint}"
        if not store.claim(self._claim):
            raise JudgeFailed(
                f"another process asks {self._model.name} through Ray on the store {store.path}"
            )
        budget.open(store)

    def ask(self, missing: _Missing) -> bool:
        """Ask all of these; tell whether what may be missing after that is worth another look."""
        stored, failed = 0, ""
        under_way: dict[int, dict[str, Reservation]] = {}
        no_money: BudgetReached | None = None
        last_beat = time.monotonic()
        is_done = False
        try:
            while not is_done or under_way:
                if time.monotonic() - last_beat > BEAT / 2:
                    self._store.beat()
                    last_beat = time.monotonic()
                pipeline, rows, seconds = self._pipeline, {}, _GLANCE
                if pipeline is not None and pipeline.has_ended:
                    # What no task took goes to the next pipeline.
                    lost, under_way = under_way, {}
                    for reservations in lost.values():
                        under_way[self._give(reservations)] = reservations
                elif not is_done and self._has_room(len(under_way)):
                    some, no_money = self._affordable(missing)
                    is_done, seconds = len(some) < self._size, 0.0
                    if some:
                        under_way[self._give(some)] = some
                        self._tally.calls += len(some)
                if under_way and self._pipeline is not None:
                    rows = self._pipeline.results(seconds)
                if rows:
                    more, why = self._keep(rows, under_way)
                    stored, failed = stored + more, why or failed
                self._show()
        finally:
            with self._store.together():
                for reservations in under_way.values():
                    for reservation in reservations.values():
                        self._budget.settle(reservation, None, self._model.name)
        if no_money is not None and not stored:
            raise no_money
        self._stored += stored
        self._fruitless = 0 if stored else self._fruitless + 1
        if failed and self._fruitless >= _FRUITLESS:
            if not self._stored:
                raise JudgeFailed(
                    f"{self._model.name}: no worker gave a reply; the last failure: {failed} (run the same"
                    " command to continue)"
                )
            self._progress.say(f"{self._model.name}: {failed}")
            return False
        return bool(stored or failed)

    def close(self) -> None:
        """End the pool."""
        try:
            if self._pipeline is not None:
                self._pipeline.close()
        finally:
            self._budget.close()
            self._store.release(self._claim)
            self._progress.close(self._tally)

    def _has_room(self, under_way: int) -> bool:
        """Whether a further batch may be on its way; a pipeline that took all it may has to end first."""
        if self._pipeline is None or not under_way:
            return True
        return not self._pipeline.is_full and under_way < _AHEAD * self._pipeline.workers

    def _give(self, some: Mapping[str, Reservation]) -> int:
        """Hand a batch to the workers; to new ones where there are none, or these have taken all they may."""
        if self._pipeline is not None and self._pipeline.is_full:
            self._pipeline.close()
            self._pipeline = None
        if self._pipeline is None:
            # Tasks cost time to hand over: a small job is not to wait for those of a large one.
            most = _BATCHES[min(self._pipelines, 1)]
            self._pipeline = _Pipeline(self._address, self._choice, most)
            self._pipelines += 1
        return self._pipeline.give([(key, reservation.request) for key, reservation in some.items()])

    def _affordable(self, missing: _Missing) -> tuple[dict[str, Reservation], BudgetReached | None]:
        """Return the next requests, as far as the budget reaches, with the leave for each call."""
        some: dict[str, Reservation] = {}
        try:
            for key, request in islice(missing, self._size):
                reservation = self._budget.reserve(request, self._model.name)
                if reservation is None:
                    break
                some[key] = reservation
        except BudgetReached as error:
            return some, error
        return some, None

    def _keep(
        self, rows: Mapping[str, list[Any]], under_way: dict[int, dict[str, Reservation]]
    ) -> tuple[int, str]:
        """Store replies; return how many, and why one of the others failed."""
        stored, failed = 0, ""
        with self._store.together(), self._budget.turn():
            for number, key, asked, answer in zip(*(rows[name] for name in _COLUMNS), strict=True):
                reservation = under_way.get(number, {}).pop(key, None)
                if reservation is None:  # a worker that died had answered it, too
                    continue
                reply = reply_of(json.loads(answer))
                self._budget.settle_reply(reservation, reply, self._model.name)
                if reply.status in STORABLE:
                    try:
                        who = self._model.name, self._model.endpoint, self._budget.job
                        self._store.put(key, request_of(json.loads(asked)), reply, *who)
                        stored += 1
                    except Unstorable as error:
                        reply = Reply(ERROR, detail=str(error))
                failed = reply.detail if reply.status == ERROR else failed
                self._tally.answered += 1
                if reply.status != OK:
                    self._tally.failed[reply.status] += 1
        for number in {*rows["number"]}:
            if number in under_way and not under_way[number]:
                del under_way[number]
                if self._pipeline is not None:
                    self._pipeline.drop(number)
        return stored, failed

    def _show(self) -> None:
        self._tally.spent, self._tally.unpriced = self._budget.spent, self._budget.unpriced
        self._tally.guessed = self._budget.guessed
        self._progress.update(self._tally)


class _Pipeline:
    """A pool on the cluster, as the driver sees it."""

    def __init__(self, address: str, choice: EngineChoice, most: int) -> None:
        import ray

        connect_to_ray(address)
        self.workers = _most_workers(ray.cluster_resources(), *choice.needs)
        self.has_ended = False
        self._given, self._most = 0, most
        self._stored: list[int] = []
        self._pending: Any = None
        self._pool = ray.remote(_Pool).options(num_cpus=0).remote(choice, self.workers, most)
        self._pool.start.remote(self._pool)

    @property
    def is_full(self) -> bool:
        """Whether it takes no further batch."""
        return self.has_ended or self._given >= self._most

    def give(self, requests: Sequence[tuple[str, Request]]) -> int:
        """Hand a batch to whichever worker is free."""
        number = self._given
        self._pool.give.remote(number, pickle.dumps(list(requests)))
        self._given += 1
        return number

    def drop(self, number: int) -> None:
        """Forget a batch whose replies are stored."""
        self._stored.append(number)

    def results(self, seconds: float) -> dict[str, list[Any]]:
        """Return replies that come within so many seconds; `JudgeFailed` if the workers cannot go on."""
        import ray

        if self._pending is None:
            self._pending, self._stored = self._pool.results.remote(self._stored), []
        try:
            if not ray.wait([self._pending], timeout=seconds)[0]:
                return {}
            batches, failure = ray.get(self._pending)
        except ray.exceptions.RayError as error:
            batches, failure = [], _last_line(error)
        self._pending = None
        if failure:
            raise JudgeFailed(
                f"Ray: {visible(failure)} (stored replies are kept; run the same command to continue)"
            )
        # Its tasks are used up, some of them by workers that waited for nothing.
        self.has_ended = failure is not None
        return (
            {name: [cell for rows in batches for cell in rows[name]] for name in _COLUMNS} if batches else {}
        )

    def close(self) -> None:
        """Let no worker wait any longer."""
        import ray

        with suppress(Exception):  # a cluster that is gone has nothing to end
            ray.get(self._pool.finish.remote(), timeout=_CLOSING)
            ray.kill(self._pool)


def connect_to_ray(address: str) -> None:
    """Connect to `ray://HOST:PORT`; for `ray` to the cluster that is there, or else start a local one."""
    import ray

    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    try:
        if address != "ray":
            ray.init(address=address, **quiet)
            return
        with suppress(ConnectionError):
            ray.init(address="auto", **quiet)
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster of ours reports to nobody
        ray.init(include_dashboard=False, **quiet)
    except (ConnectionError, ImportError, RuntimeError, ValueError) as error:
        raise JudgeFailed(f"no Ray cluster at {visible(address)}: {visible(_last_line(error))}") from error


def _most_workers(resources: Mapping[str, float], cpus: float, gpus: float) -> int:
    """Return how many workers a cluster has room for.

    >>> _most_workers({"CPU": 8.0, "GPU": 2.0}, 1.0, 1.0), _most_workers({"CPU": 8.0}, 2.0, 0.0)
    (2, 4)
    """
    rooms = [resources.get(name, 0.0) / need for name, need in (("CPU", cpus), ("GPU", gpus)) if need]
    most = int(min(rooms, default=1.0))
    if most < 1:
        raise JudgeFailed(
            f"the Ray cluster has no room for a worker that needs {cpus:g} CPUs and {gpus:g} GPUs: it has"
            f" {resources.get('CPU', 0):g} and {resources.get('GPU', 0):g}"
        )
    return most


def _last_line(error: BaseException | None) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else type(error).__name__


def missing_requests(
    work: Callable[[Callable[[str, ExchangeModel, Request], None]], Iterable[object]],
) -> _Missing:
    """Yield what the work lacks replies to, while it goes on; `work` gets what to call with each request."""
    lacking: list[tuple[str, Request]] = []
    for _ in work(lambda key, partner, request: lacking.append((key, request))):
        yield from lacking
        lacking.clear()
    yield from lacking
