"""A Dask cluster of two processes, and what happens to the numbers when they die: nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval.errors import RagevalError, UsageError
from rageval.files.parts import Grain, cut
from rageval.files.trec import PLAIN
from rageval.parallel import Divided, _engines, scored
from rageval.parallel._engines import OnDask
from test_parallel import MEASURES, QRELS, lines, numbers

pytestmark = pytest.mark.slow

pytest.importorskip("distributed", reason="--dask needs the extra 'dask'")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    import dask
    from distributed import LocalCluster

    quiet = {"distributed.scheduler.allowed-failures": 1, "distributed.admin.log-format": "%(message)s"}
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with dask.config.set(quiet), LocalCluster(**options) as local:
        yield local.scheduler_address


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    path.write_text("".join(lines(200)))
    return path


EVALUATOR = rageval.Evaluator(MEASURES, QRELS)


def divided(path: Path, engine: Any) -> Divided:
    return Divided(path.name, None, path, workers=engine, smallest=1)


class Through(OnDask):
    """The cluster, with something that happens around each unit."""

    around: Callable[..., Any]

    def results(self, task: Callable[..., Any], shared: Any, units: Sequence[Any]) -> Iterator[Any]:
        self.units = units
        yield from super().results(partial(self.around, task), shared, units)


def through(address: str, around: Callable[..., Any]) -> Through:
    engine = Through(address)
    engine.around, engine.width = around, 8
    return engine


def die_once(flag: Path, task: Callable[..., Any], shared: Any, unit: Any) -> Any:
    if unit.stretch.begin and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return task(shared, unit)


def die_always(position: int, task: Callable[..., Any], shared: Any, unit: Any) -> Any:
    if unit.stretch.begin == position:
        os.kill(os.getpid(), signal.SIGKILL)
    return task(shared, unit)


def echo(shared: Any, unit: Any) -> Any:
    return shared, unit


def dawdle(task: Callable[..., Any], shared: Any, unit: Any) -> Any:
    time.sleep(0 if unit.stretch.begin else 1)
    return task(shared, unit)


def test_the_bits_are_those_of_one_process(address: str, run: Path) -> None:
    expected = numbers(EVALUATOR.evaluate(run))
    with OnDask(address) as engine:
        assert engine.width == 2
        assert numbers(EVALUATOR.evaluate(divided(run, engine))) == expected
        assert [numbers(scores) for scores in scored(EVALUATOR, [run] * 3, engine)] == [expected] * 3


def test_a_worker_killed_in_the_middle_changes_nothing(address: str, run: Path, tmp_path: Path) -> None:
    flag = tmp_path / "died"
    with through(address, partial(die_once, flag)) as engine:
        assert numbers(EVALUATOR.evaluate(divided(run, engine))) == numbers(EVALUATOR.evaluate(run))
    assert flag.exists()
    assert len(engine.units) == 8


def test_a_straggler_is_waited_for(address: str, run: Path) -> None:
    with through(address, dawdle) as engine:
        assert numbers(EVALUATOR.evaluate(divided(run, engine))) == numbers(EVALUATOR.evaluate(run))


class Forgetful(OnDask):
    """A cluster whose scheduler forgets, as one that was restarted."""

    times: int
    sent: list[list[Any]]

    def _submit_units(self, task: Callable[..., Any], shared: Any, units: Sequence[Any]) -> list[Any]:
        futures = super()._submit_units(task, shared, units)
        self.sent.append(list(units))
        if len(self.sent) <= self.times:
            self._client.cancel(futures[1:])
        return futures


@pytest.mark.parametrize("times", [1, 99])
def test_units_that_the_scheduler_forgot_are_sent_again_and_then_given_up(address: str, times: int) -> None:
    with Forgetful(address) as engine:
        engine.sent, engine.times = [], times
        results = engine.results(echo, "shared", [str(number) for number in range(9)])
        if times == 1:
            assert list(results) == [("shared", str(number)) for number in range(9)]
            assert [len(units) for units in engine.sent] == [9, 8]
        else:
            with pytest.raises(RagevalError, match=f"{_engines.ROUNDS}: a process that scored this"):
                list(results)


def test_a_part_that_always_kills_is_named(address: str, run: Path) -> None:
    span = cut(run, PLAIN, Grain(8, 1, 10**9))[5]
    with (
        through(address, partial(die_always, span.begin)) as engine,
        pytest.raises(
            RagevalError, match=rf"{run}, bytes {span.begin:,} to {span.end:,}: a process that scored"
        ),
    ):
        EVALUATOR.evaluate(divided(run, engine))


def test_the_command(address: str, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(
        "".join(
            f"{q} {n} {d} {g}\n" for q, ns in QRELS.items() for n, ds in ns.items() for d, g in ds.items()
        )
    )
    for name in "ab":
        (tmp_path / name).write_text("".join(lines(60)))
    words = [sys.executable, "-m", "rageval", "a", "b", "qrels", "-m", MEASURES, "-q", "-p", "17"]
    results = [
        subprocess.run([*words, *more], cwd=tmp_path, capture_output=True, text=True, check=True)
        for more in ([], ["--dask", address])
    ]
    assert (results[0].stdout, results[0].stderr) == (results[1].stdout, results[1].stderr)


def test_the_command_says_what_workers_did_not_find(address: str, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q0 n d0 1\n")
    (tmp_path / "run").write_text("".join(lines(60)))
    with (tmp_path / "run").open("rb") as file:
        import fcntl

        number = fcntl.fcntl(file.fileno(), fcntl.F_DUPFD, 500)  # the workers have files of low numbers
        here = f"/proc/self/fd/{number}"
        words = [sys.executable, "-m", "rageval", here, here, "qrels", "-m", MEASURES, "-q"]
        options: Any = {"cwd": tmp_path, "pass_fds": [number], "capture_output": True, "text": True}
        results = [
            subprocess.run([*words, *more], check=True, **options) for more in ([], ["--dask", address])
        ]
        os.close(number)
    assert results[0].stdout == results[1].stdout
    missing = f"{here}: no such file; check the path"
    message = f"could not be read by the workers ({missing}); read in one piece by this process"
    assert (results[0].stderr.count(message), results[1].stderr.count(message)) == (0, 2)


@pytest.mark.parametrize("place", ["nonsense://x:1", "tcp://127.0.0.1:1"])
def test_an_address_where_nobody_answers(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setattr(_engines, "PATIENCE", 0.5)
    with pytest.raises(UsageError, match=f"{place}: no cluster answers there"):
        OnDask(place)


def test_workers_with_another_rageval(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would die of tasks that they cannot unpack, and the units be blamed for it."""
    monkeypatch.setattr(_engines, "__version__", "9.9")
    with pytest.raises(
        UsageError, match=r"the worker tcp://.*: expected rageval 9\.9 there as well, found 0\."
    ):
        OnDask(address)
