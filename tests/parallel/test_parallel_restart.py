"""A Dask scheduler that is killed in the middle of a job and started again: the same bits, or a clear end."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rageval
from rageval.errors import RagevalError
from rageval.parallel import _engines
from rageval.parallel._engines import OnDask
from test_parallel import MEASURES, QRELS, divided, lines, numbers

pytest.importorskip("distributed", reason="--dask needs the extra 'dask'")
from test_parallel_dask import through

pytestmark = pytest.mark.slow

EVALUATOR = rageval.Evaluator(MEASURES, QRELS)


class Machines:
    """A scheduler and its workers, as processes of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: list[subprocess.Popen[bytes]] = []
        self.address = f"tcp://127.0.0.1:{free_port()}"

    def start(self, workers: int = 2) -> None:
        """A scheduler, always at the same address, and workers of it."""
        self._start("dask_scheduler", "--host", self.address, "--no-dashboard")
        for _ in range(workers):
            self._start("dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def kill(self) -> None:
        """All of them, at once and without a word."""
        for process in self._running:
            process.send_signal(signal.SIGKILL)
        for process in self._running:
            process.wait()
        self._running.clear()

    def kill_scheduler(self) -> None:
        """The workers are left to find out for themselves."""
        self._running[0].send_signal(signal.SIGKILL)
        self._running.pop(0).wait()

    def _start(self, program: str, *words: str) -> None:
        path = os.pathsep.join(sys.path)
        with (self._folder / "log").open("ab") as log:
            self._running.append(
                subprocess.Popen(
                    [sys.executable, "-m", f"distributed.cli.{program}", *words],
                    cwd=self._folder,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, "PYTHONPATH": path},
                )
            )


def free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    cluster = Machines(tmp_path)
    cluster.start()
    try:
        wait_for_answer(cluster.address)
        yield cluster
    finally:
        cluster.kill()


def wait_for_answer(address: str) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with suppress(RagevalError), OnDask(address) as engine:
            engine._client.wait_for_workers(2, timeout=60)
            return
    raise TimeoutError(address)


def as_local_file(folder: Path, task: Callable[..., Any], shared: Any, unit: Any) -> Any:
    """A unit takes its time, and leaves a mark each time it is done."""
    time.sleep(0.2)
    (folder / f"{unit.stretch.begin}-{time.monotonic_ns()}").touch()
    return task(shared, unit)


class Heard(logging.Handler):
    """What would be on standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.mark.parametrize(
    "fate",
    [
        "all of it is lost",
        pytest.param("workers outlive the scheduler", marks=pytest.mark.nightly),
        pytest.param("it does not come back", marks=pytest.mark.nightly),
    ],
)
def test_a_cluster_that_is_lost_in_the_middle(
    machines: Machines, tmp_path: Path, fate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, marks = tmp_path / "run", tmp_path / "marks"
    run.write_text("".join(lines(200)))
    marks.mkdir()

    def strike() -> None:
        while len(list(marks.iterdir())) < 5:
            time.sleep(0.02)
        (machines.kill_scheduler if "outlive" in fate else machines.kill)()
        finished.extend(marks.iterdir())
        machines.start(workers=0 if "not" in fate else 2)

    finished: list[Path] = []
    logging.getLogger("distributed.client").addHandler(heard := Heard())
    striking = threading.Thread(target=strike)
    with through(machines.address, partial(as_local_file, marks)) as engine:
        engine.width = 20
        striking.start()
        if "not" in fate:
            monkeypatch.setattr(_engines, "RETURN", 3)
            message = rf"run, bytes [\d,]+ to [\d,]+: the cluster at {machines.address} was lost before this"
            with pytest.raises(RagevalError, match=message):
                EVALUATOR.evaluate(divided(run, engine))
        else:
            scores = EVALUATOR.evaluate(divided(run, engine))
            assert numbers(scores) == numbers(EVALUATOR.evaluate(run))
        striking.join()
    started = {path.name.split("-")[0] for path in marks.iterdir()}
    assert len(engine.units) == 20
    assert 5 <= len(finished) < 20
    if "not" not in fate:
        assert started == {str(unit.stretch.begin) for unit in engine.units}
    assert not heard.records


def test_a_result_that_was_lost_on_its_way_is_one_that_was_forgotten() -> None:
    from distributed.comm import CommClosedError

    def result() -> Any:
        raise CommClosedError("Stream is closed")

    assert _engines._outcome(SimpleNamespace(result=result)) is _engines._FORGOTTEN
