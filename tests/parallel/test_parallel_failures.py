"""Engines that fail: results lost or doubled; workers that find no file, lack a package or are killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval.errors import InputError, MissingPackage, RagevalError, UsageError, missing_file
from rageval.parallel import Forked, OnDask, OnExecutor, scored
from rageval.scoring.run_remarks import run_remarks
from test_parallel import MEASURES, QRELS, Here, divided, lines, numbers


class Wrong(Here):
    """An engine that loses results, has one twice, or gives one in the place of another."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def results(self, task: Any, shared: Any, units: Sequence[Any]) -> Iterator[Any]:
        results_there = list(super().results(task, shared, units))
        yield from {
            "loses": results_there[1:],
            "repeats": [results_there[0], *results_there],
            "replaces": [results_there[0], results_there[0], *results_there[2:]],
        }[self.how]


@pytest.mark.parametrize("how", ["loses", "repeats", "replaces"])
def test_no_part_counts_twice_or_not_at_all(tmp_path: Path, how: str) -> None:
    path = tmp_path / "run"
    path.write_text("".join(lines(40)))
    evaluator = rageval.Evaluator(MEASURES, QRELS)
    if how == "replaces":  # found out by the queries, and read in one piece
        assert numbers(evaluator.evaluate(divided(path, Wrong(how)))) == numbers(evaluator.evaluate(path))
        return
    message = f"the engine gave {'fewer' if how == 'loses' else 'more'} results than there are units"
    with pytest.raises(UsageError, match=message):
        evaluator.evaluate(divided(path, Wrong(how)))
    with pytest.raises(UsageError, match=message):
        list(scored(evaluator, [path] * 3, Wrong(how)))


class Blind(Here):
    """An engine whose workers do not find the file."""

    def results(self, task: Any, shared: Any, units: Sequence[Any]) -> Iterator[Any]:
        for unit in units:
            if hasattr(unit, "stretch"):
                missing = missing_file("/there/run")
                raise InputError.joined([missing, InputError("and more of that")])
            yield task(shared, replace(unit, path="/there/run"))


@pytest.mark.parametrize("runs", [1, 3])
def test_what_workers_do_not_find_is_read_here_and_said(tmp_path: Path, runs: int) -> None:
    path = tmp_path / "run"
    path.write_text("".join(lines(40)))
    evaluator = rageval.Evaluator(MEASURES, QRELS)
    results = map(evaluator.evaluate, [divided(path, Blind())])
    for scores in results if runs == 1 else scored(evaluator, [path] * runs, Blind()):
        assert scores.notes is not None
        message = (
            f"{scores.run}: could not be read by the workers (/there/run: no such file; check the path);"
            " read in one piece by this process instead"
        )
        assert any(str(remark).startswith(message) for remark in run_remarks(scores, evaluator))
        scores.notes.read_here = None
        assert numbers(scores) == numbers(evaluator.evaluate(path))
    path.write_text("".join(lines(40)) + "q1 Q0 d 1 1\n")
    with pytest.raises(InputError, match=f"^{path}:{len(lines(40)) + 1}: expected 6 columns"):
        list(scored(evaluator, [path] * runs, Blind()))


def die(shared: Any, unit: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_is_told_of_with_its_part(tmp_path: Path) -> None:
    with pytest.raises(RagevalError, match=r"the part: a process that scored this.*was ended from outside"):
        list(Forked(2).results(die, None, ["the part"]))
    with (
        ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool,
        pytest.raises(RagevalError, match="the part: a process that scored this"),
    ):
        list(OnExecutor(pool).results(die, None, ["the part"]))


def lack(shared: Any, unit: Any) -> Any:
    raise MissingPackage("numba", "speed", "fast")


class Client:
    """A client of a cluster, which may not close in time."""

    def __init__(self, closes: bool) -> None:
        self.closes = closes

    def close(self, timeout: float) -> None:
        if not self.closes:
            raise TimeoutError(f"timed out after {timeout} s.")

    def wait_for_workers(self, number: int, timeout: float) -> None:
        assert number == 1


def test_a_client_that_does_not_close_in_time_is_left_for_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, new = OnDask.__new__(OnDask), Client(closes=True)
    engine._client = Client(closes=False)
    monkeypatch.setattr(engine, "_connect", lambda seconds: new)
    engine._await_return("run 1")
    assert engine._client is new
